//! PersistentVolumes, PersistentVolumeClaims and StorageClasses.

use super::at::{At, Errors};
use super::internal::Internal;
use super::{claims, labels, metadata, pod, resources};
use crate::core_v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, TopologySelectorTerm, VolumeNodeAffinity,
};
use crate::object::Object;
use crate::storage_v1::StorageClass;
use crate::{Map, Str, internal, names};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1024;
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flocker",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
    "flexVolume",
];

/// A new PersistentVolume.
pub(super) fn create_volume(volume: &PersistentVolume, errors: &mut Errors) {
    metadata::create(&volume.metadata, false, metadata::subdomain, errors);
    volume_spec(&volume.spec, errors);
}

/// A changed PersistentVolume.
pub(super) fn update_volume(new: &PersistentVolume, old: &PersistentVolume, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, false, metadata::subdomain, errors);
    }
    if new.spec.same(&old.spec) {
        return;
    }
    volume_spec(&new.spec, errors);
    let (now, was): (&dyn Object, &dyn Object) = (&*new.spec, &*old.spec);
    if SOURCES.iter().any(|name| !now.field_equal(name, was)) {
        let source = |spec: &dyn Object| internal::encode_part_pretty(spec, &SOURCES);
        let diff = super::unified::diff(&source(was), &source(now));
        let at = At::new("spec");
        let why = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        errors.forbidden(&at.child("persistentvolumesource"), why);
    }
    errors.immutable(&At::new("volumeMode"), &new.spec.volume_mode, &old.spec.volume_mode);
    if old.spec.node_affinity.get().is_some() && new.spec.node_affinity != old.spec.node_affinity {
        let why = format!("{}, except for updating from beta label to GA", super::at::IMMUTABLE);
        match new.spec.node_affinity.get() {
            Some(affinity) => errors.invalid(&At::new("nodeAffinity"), Internal(affinity), why),
            None => errors.invalid(&At::new("nodeAffinity"), crate::json::Value::Null, why),
        }
    }
}

fn volume_spec(spec: &PersistentVolumeSpec, errors: &mut Errors) {
    let at = &At::new("spec");
    let modes = &at.child("accessModes");
    if spec.access_modes.is_empty() {
        errors.required(modes, "");
    }
    claims::access_modes(&spec.access_modes, modes, errors);
    let capacity = &at.child("capacity");
    if spec.capacity.is_empty() {
        errors.required(capacity, "");
    }
    if !spec.capacity.contains_key("storage") || spec.capacity.len() > 1 {
        errors.not_supported(capacity, &spec.capacity, &["storage"]);
    }
    for (name, amount) in &spec.capacity {
        if amount.value() < 0 {
            errors.invalid(&capacity.key(name), amount.value(), "must be a valid resource quantity");
        }
        if amount.sign() <= 0 {
            errors.invalid(&capacity.key(name), amount.to_string(), "must be greater than zero");
        }
    }
    let policy = &spec.persistent_volume_reclaim_policy;
    let at_policy = &at.child("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        errors.one_of(at_policy, policy, &["Delete", "Recycle", "Retain"]);
    }
    if let Some(affinity) = spec.node_affinity.get() {
        node_affinity(affinity, &at.child("nodeAffinity"), errors);
    }
    source(spec, at, errors);
    if policy == "Recycle" && spec.host_path.get().is_some_and(|h| is_root(&h.path)) {
        errors.forbidden(at_policy, "may not be 'recycle' for a hostPath mount of '/'");
    }
    claims::class(&spec.storage_class_name, &at.child("storageClassName"), errors);
    if let Some(mode) = spec.volume_mode.get() {
        errors.one_of(&at.child("volumeMode"), mode, &claims::VOLUME_MODES);
    }
    if let Some(class) = spec.volume_attributes_class_name.get() {
        let at_class = &at.child("volumeAttributesClassName");
        if class.is_empty() {
            errors.required(at_class, "an empty string is disallowed");
        }
        claims::class(class, at_class, errors);
        if spec.csi.is_none() {
            errors.required(&at.child("csi"), "has to be specified when using volumeAttributesClassName");
        }
    }
}

/// A volume that stands in a VolumeAttachment itself (`ValidatePersistentVolumeSpec` of an inline volume).
pub(super) fn inline_spec(spec: &PersistentVolumeSpec, at: &At, errors: &mut Errors) {
    const NOT_INLINE: &str = "may not be specified in the context of inline volumes";
    let mut not_inline = |field: &str, given: bool| {
        if given {
            errors.forbidden(&at.child(field), NOT_INLINE);
        }
    };
    not_inline("claimRef", spec.claim_ref.is_some());
    not_inline("capacity", !spec.capacity.is_empty());
    if spec.csi.is_none() {
        errors.required(&at.child("csi"), "has to be specified in the context of inline volumes");
    }
    let modes = &at.child("accessModes");
    if spec.access_modes.is_empty() {
        errors.required(modes, "");
    }
    claims::access_modes(&spec.access_modes, modes, errors);
    let policy = &spec.persistent_volume_reclaim_policy;
    if !policy.is_empty() && policy != "Retain" {
        let why = "may only be Retain in the context of inline volumes";
        errors.forbidden(&at.child("persistentVolumeReclaimPolicy"), why);
    }
    if spec.node_affinity.is_some() {
        errors.forbidden(&at.child("nodeAffinity"), NOT_INLINE);
    }
    source(spec, at, errors);
    if !spec.storage_class_name.is_empty() {
        errors.forbidden(&at.child("storageClassName"), NOT_INLINE);
    }
    if spec.volume_mode.get().is_some_and(|mode| mode != "Filesystem") {
        let why = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.forbidden(&at.child("volumeMode"), why);
    }
}

fn node_affinity(affinity: &VolumeNodeAffinity, at: &At, errors: &mut Errors) {
    let at = &at.child("required");
    match affinity.required.get() {
        Some(selector) => pod::node_selector(selector, false, at, errors),
        None => errors.required(at, "must specify required node constraints"),
    }
}

fn is_root(path: &str) -> bool {
    path.starts_with('/') && path.split('/').all(|part| matches!(part, "" | "."))
}

fn source(spec: &PersistentVolumeSpec, at: &At, errors: &mut Errors) {
    let object: &dyn Object = spec;
    let is_set = |name: &&&str| object.field(name).is_some_and(|value| !value.is_empty());
    let mut set = SOURCES.iter().filter(is_set);
    let Some(name) = set.next() else { return errors.required(at, "must specify a volume type") };
    let at_source = &at.child(name);
    if let ("hostPath", Some(host)) = (*name, spec.host_path.get()) {
        if host.path.is_empty() {
            errors.required(&at_source.child("path"), "");
        } else {
            pod::no_backsteps(&host.path, &at_source.child("path"), errors);
            if let Some(kind) = host.type_.get() {
                errors.one_of(&at_source.child("type"), kind, &pod::HOST_PATH_TYPES);
            }
        }
    } else if let ("nfs", Some(nfs)) = (*name, spec.nfs.get()) {
        pod::nfs(nfs, at_source, errors);
    } else if let ("local", Some(local)) = (*name, spec.local.get()) {
        if local.path.is_empty() {
            errors.required(&at_source.child("path"), "");
        } else {
            pod::no_backsteps(&local.path, &at_source.child("path"), errors);
        }
        if spec.node_affinity.is_none() {
            errors.required(&at.child("nodeAffinity"), "Local volume requires node affinity");
        }
    } else if let ("csi", Some(csi)) = (*name, spec.csi.get()) {
        pod::csi_driver(&csi.driver, &at_source.child("driver"), errors);
        errors.need(&at_source.child("volumeHandle"), &csi.volume_handle);
        for (field, secret) in [
            ("controllerPublishSecretRef", &csi.controller_publish_secret_ref),
            ("controllerExpandSecretRef", &csi.controller_expand_secret_ref),
            ("nodePublishSecretRef", &csi.node_publish_secret_ref),
            ("nodeExpandSecretRef", &csi.node_expand_secret_ref),
        ] {
            let Some(secret) = secret.get() else { continue };
            let at = at_source.child(field);
            if secret.name.is_empty() {
                errors.required(&at.child("name"), "");
            } else {
                errors.each(&at.child("name"), &secret.name, names::dns1123_subdomain(&secret.name));
            }
            if secret.namespace.is_empty() {
                errors.required(&at.child("namespace"), "");
            } else {
                errors.each(&at.child("namespace"), &secret.namespace, names::dns1123_label(&secret.namespace));
            }
        }
    }
    for name in set {
        errors.forbidden(&at.child(name), "may not specify more than 1 volume type");
    }
}

/// A new PersistentVolumeClaim.
pub(super) fn create_claim(claim: &PersistentVolumeClaim, errors: &mut Errors) {
    metadata::create(&claim.metadata, true, metadata::subdomain, errors);
    claims::spec(&claim.spec, &At::new("spec"), errors);
}

/// A changed PersistentVolumeClaim.
pub(super) fn update_claim(new: &PersistentVolumeClaim, old: &PersistentVolumeClaim, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, true, metadata::subdomain, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    claims::spec(&new.spec, &At::new("spec"), errors);
    let (mut now, mut was) = ((*new.spec).clone(), (*old.spec).clone());
    if was.volume_name.is_empty() {
        was.volume_name = now.volume_name.clone();
    }
    let beta = (new.metadata.annotations.get(BETA_CLASS), old.metadata.annotations.get(BETA_CLASS));
    if beta.0 != beta.1 {
        let at = At::new("metadata");
        let shown = beta.0.cloned().unwrap_or_default();
        errors.invalid(&at.child("annotations").child(BETA_CLASS), &shown, super::at::IMMUTABLE);
    }
    let class = now.storage_class_name.get();
    if was.storage_class_name.is_none() && class.is_some() && beta.1.is_none_or(|old| class == Some(&**old)) {
        now.storage_class_name = was.storage_class_name.clone();
    }
    if new.status.phase == "Bound" && now.resources != Default::default() {
        if let Some(size) = was.resources.requests.get("storage").cloned() {
            now.resources.requests.insert("storage", size);
        }
        now.volume_attributes_class_name = was.volume_attributes_class_name.clone();
    }
    let at = At::new("spec");
    if now != was {
        let diff = super::unified::diff(&internal::encode_pretty(&was), &internal::encode_pretty(&now));
        errors.forbidden(
            &at,
            format!(
                "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{diff}"
            ),
        );
    }
    let size =
        |claim: &PersistentVolumeClaim| claim.spec.resources.requests.get("storage").cloned().unwrap_or_default();
    let (now, was) = (size(new), size(old));
    let granted = old.status.capacity.get("storage").cloned().unwrap_or_default();
    if now < was && now <= granted {
        let at = at.child("resources");
        let at = at.child("requests");
        errors.forbidden(&at.child("storage"), "field can not be less than status.capacity");
    }
    errors.immutable(&At::new("volumeMode"), &new.spec.volume_mode, &old.spec.volume_mode);
}

/// A PersistentVolumeClaim's status.
pub(super) fn update_claim_status(new: &PersistentVolumeClaim, old: &PersistentVolumeClaim, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let at = At::new("status");
    let at = at.child("capacity");
    for (name, amount) in &new.status.capacity {
        if amount.value() < 0 {
            errors.invalid(&at.key(name), amount.value(), "must be a valid resource quantity");
        }
    }
    let (at, status) = (At::new("status"), &new.status);
    let resizes = &at.child("allocatedResourceStatuses");
    for (name, resize) in &status.allocated_resource_statuses {
        claim_resource(name, resizes, errors);
        if !RESIZES.contains(&&**resize) {
            errors.not_supported(resizes, name, &RESIZES);
        }
    }
    let allocated = &at.child("allocatedResources");
    for (name, amount) in &status.allocated_resources {
        if !claim_resource(name, allocated, errors) {
            continue;
        }
        if amount.value() < 0 {
            errors.invalid(&allocated.key(name), amount.value(), "must be a valid resource quantity");
        } else {
            resources::amount("storage", amount, &allocated.key(name), errors);
        }
    }
}

const RESIZES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// Whether a claim's status may speak of a resource: `storage`, or one with a domain of its own.
fn claim_resource(name: &str, at: &At, errors: &mut Errors) -> bool {
    let before = errors.len();
    errors.each(at, name, names::qualified_name(name));
    let own = name.split_once('/').is_some_and(|(domain, _)| !domain.ends_with("kubernetes.io"));
    if errors.len() == before && name != "storage" && !own {
        errors.not_supported(at, name, &["storage"]);
    }
    errors.len() == before
}

/// A new StorageClass.
pub(super) fn create_class(class: &StorageClass, errors: &mut Errors) {
    metadata::create(&class.metadata, false, metadata::subdomain, errors);
    class_fields(class, errors);
}

fn class_fields(class: &StorageClass, errors: &mut Errors) {
    let provisioner = &At::new("provisioner");
    if class.provisioner.is_empty() {
        errors.declared_required(provisioner);
    } else {
        let lower = class.provisioner.to_lowercase();
        errors.each(provisioner, &lower, names::qualified_name(&lower));
    }
    parameters(&class.parameters, &At::new("parameters"), errors);
    if let Some(policy) = class.reclaim_policy.get().filter(|p| !p.is_empty()) {
        errors.one_of(&At::new("reclaimPolicy"), policy, &["Delete", "Retain"]);
    }
    let mode = &At::new("volumeBindingMode");
    match class.volume_binding_mode.get() {
        None => errors.required(mode, ""),
        Some(value) => errors.one_of(mode, value, &["Immediate", "WaitForFirstConsumer"]),
    }
    let at = At::new("allowedTopologies");
    for (i, term) in class.allowed_topologies.iter().enumerate() {
        let at = at.index(i);
        let at = &at.child("matchLabelExpressions");
        for (j, r) in term.match_label_expressions.iter().enumerate() {
            let at = &at.index(j);
            let values = &at.child("values");
            if r.values.is_empty() {
                errors.required(values, "");
            }
            for (k, value) in r.values.iter().enumerate() {
                if r.values.iter().take(k).any(|v| v == value) {
                    errors.duplicate(&values.index(k), value);
                }
            }
            labels::key(&r.key, &at.child("key"), errors);
            if term.match_label_expressions.iter().take(j).any(|other| other.key == r.key) {
                errors.duplicate(&at.child("key"), &r.key);
            }
        }
        let terms = &class.allowed_topologies;
        // A term that demands nothing is told from no other.
        if term.match_label_expressions.is_empty() || terms.iter().take(i).any(|other| same_topology(other, term)) {
            errors.duplicate(at, "");
        }
    }
}

/// Whether two terms demand the same, in whatever order.
fn same_topology(a: &TopologySelectorTerm, b: &TopologySelectorTerm) -> bool {
    let within = |a: &TopologySelectorTerm, b: &TopologySelectorTerm| {
        a.match_label_expressions.iter().all(|one| {
            b.match_label_expressions.iter().any(|other| {
                other.key == one.key
                    && one.values.iter().all(|value| other.values.contains(value))
                    && other.values.iter().all(|value| one.values.contains(value))
            })
        })
    };
    within(a, b) && within(b, a)
}

/// What a driver or provisioner is told (`validateParameters`).
pub(super) fn parameters(parameters: &Map<Str>, at: &At, errors: &mut Errors) {
    if parameters.len() > PARAMETERS_MAX {
        return errors.too_long(at, PARAMETERS_MAX);
    }
    for _ in parameters.keys().filter(|key| key.is_empty()) {
        errors.invalid(at, "", "field can not be empty.");
    }
    let total: usize = parameters.iter().map(|(key, value)| key.len() + value.len()).sum();
    if total > PARAMETERS_BYTES_MAX {
        errors.too_long(at, PARAMETERS_BYTES_MAX);
    }
}

/// A changed StorageClass.
pub(super) fn update_class(new: &StorageClass, old: &StorageClass, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, false, metadata::subdomain, errors);
    }
    class_fields(new, errors);
    metadata::update(&new.metadata, &old.metadata, errors);
    errors.declared_immutable(&At::new("provisioner"), &new.provisioner, &old.provisioner);
    errors.declared_immutable(&At::new("parameters"), &new.parameters, &old.parameters);
    errors.declared_immutable(&At::new("reclaimPolicy"), &new.reclaim_policy, &old.reclaim_policy);
    errors.declared_immutable(&At::new("volumeBindingMode"), &new.volume_binding_mode, &old.volume_binding_mode);
}
