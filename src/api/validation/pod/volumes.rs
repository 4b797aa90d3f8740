//! Volumes of pods.

use super::super::at::{At, Errors};
use super::super::claims;
use super::Options;
use super::env::{self, field_selector, resource_selector};
use super::{containers, paths};
use crate::core_v1::{
    CSIVolumeSource, DownwardAPIVolumeFile, EmptyDirVolumeSource, EphemeralVolumeSource, KeyToPath, NFSVolumeSource,
    ProjectedVolumeSource, ServiceAccountTokenProjection, Volume,
};
use crate::meta_v1::ObjectMeta;
use crate::object::{Object, Ref};
use crate::{List, Str, names};

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const EMPTY_DIR_MODE: &str = "must be a number between 0 and 01777 (octal), both inclusive";
const SECOND: &str = "may not specify more than 1 volume type";
/// What a path of the host may have to be.
pub(in super::super) const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Checks the volumes; the good ones, which mounts may name. `meta` is the pod's own metadata, absent in a template.
pub(super) fn volumes<'a>(
    list: &'a [Volume],
    meta: Option<&ObjectMeta>,
    options: &Options,
    at: &At,
    errors: &mut Errors,
) -> Vec<&'a Volume> {
    let mut good: Vec<&Volume> = Vec::with_capacity(list.len());
    let pod = meta.map_or("", |m| &*m.name);
    for (i, volume) in list.iter().enumerate() {
        let at = &at.index(i);
        let before = errors.len();
        source(volume, pod, options, at, errors);
        let at_name = &at.child("name");
        if volume.name.is_empty() {
            errors.required(at_name, "");
        } else {
            errors.each(at_name, &volume.name, names::dns1123_label(&volume.name));
        }
        if good.iter().any(|v| v.name == volume.name) {
            errors.duplicate(at_name, &volume.name);
        }
        if errors.len() == before {
            good.push(volume);
        }
        if let Some(claim) = volume.persistent_volume_claim.get()
            && !pod.is_empty()
            && list.iter().any(|v| v.ephemeral.is_some() && claim.claim_name == format!("{pod}-{}", v.name))
        {
            errors.invalid(
                &at.child("persistentVolumeClaim").child("claimName"),
                &claim.claim_name,
                "must not reference a PVC that gets created for an ephemeral volume",
            );
        }
    }
    good
}

/// Which source, by its field in the JSON.
fn source(volume: &Volume, pod: &str, options: &Options, at: &At, errors: &mut Errors) {
    // In the order Kubernetes looks at them.
    const ORDER: [&str; 30] = [
        "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
        "glusterfs",
        "flocker",
        "persistentVolumeClaim",
        "rbd",
        "cinder",
        "cephfs",
        "quobyte",
        "downwardAPI",
        "fc",
        "flexVolume",
        "configMap",
        "azureFile",
        "vsphereVolume",
        "photonPersistentDisk",
        "portworxVolume",
        "azureDisk",
        "storageos",
        "projected",
        "scaleIO",
        "csi",
        "ephemeral",
        "image",
    ];
    // Nearly every volume has one source only: find it without going through all by name.
    let set = |i: usize| !volume.get(i).is_empty();
    let fields = volume.desc().fields;
    let is_set = |name: &str| volume.desc().find(name).is_some_and(set);
    let count = fields.iter().enumerate().filter(|(i, f)| f.name != "name" && set(*i)).count();
    if count == 0 {
        return errors.required(at, "must specify a volume type");
    }
    if count == 1
        && let Some((_, field)) = fields.iter().enumerate().find(|(i, f)| f.name != "name" && set(*i))
    {
        return one(volume, field.name, pod, options, at, errors);
    }
    let mut any = false;
    for name in ORDER {
        if !is_set(name) {
            continue;
        }
        if any {
            // The names that Kubernetes' own messages have.
            let shown = match name {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                name => name,
            };
            errors.forbidden(&at.child(shown), SECOND);
        } else {
            one(volume, name, pod, options, at, errors);
        }
        any = true;
    }
}

fn one(volume: &Volume, name: &str, pod: &str, options: &Options, parent: &At, errors: &mut Errors) {
    let at = &parent.child(name);
    if let Some(source) = volume.empty_dir.get() {
        empty_dir(source, at, errors);
    } else if let Some(source) = volume.host_path.get() {
        if source.path.is_empty() {
            return errors.required(&at.child("path"), "");
        }
        paths::no_backsteps(&source.path, &at.child("path"), errors);
        if let Some(kind) = source.type_.get() {
            errors.one_of(&at.child("type"), kind, &HOST_PATH_TYPES);
        }
    } else if let Some(source) = volume.secret.get() {
        errors.need(&at.child("secretName"), &source.secret_name);
        files(source.default_mode, source.default_user, &source.items, at, errors);
    } else if let Some(source) = volume.nfs.get() {
        nfs(source, at, errors);
    } else if let Some(source) = volume.persistent_volume_claim.get() {
        errors.need(&at.child("claimName"), &source.claim_name);
    } else if let Some(source) = volume.downward_api.get() {
        defaults(source.default_mode, source.default_user, at, errors);
        for file in &source.items {
            downward_file(file, at, errors);
        }
    } else if let Some(source) = volume.config_map.get() {
        errors.need(&at.child("name"), &source.name);
        files(source.default_mode, source.default_user, &source.items, at, errors);
    } else if let Some(source) = volume.projected.get() {
        projected(source, options, at, errors);
    } else if let Some(source) = volume.csi.get() {
        csi(source, at, errors);
    } else if let Some(source) = volume.ephemeral.get() {
        ephemeral(source, at, errors);
        if !pod.is_empty() && !volume.name.is_empty() {
            let claim = format!("{pod}-{}", volume.name);
            for why in names::dns1123_subdomain(&claim) {
                let why = format!("PVC name {}: {why}", crate::go::quote(&claim));
                errors.invalid(&parent.child("name"), &volume.name, why);
            }
        }
    } else if let Some(source) = volume.image.get() {
        if !options.empty_image_reference {
            errors.need(&at.child("reference"), &source.reference);
        }
        containers::pull_policy(&source.pull_policy, &at.child("pullPolicy"), errors);
    } else {
        in_tree(volume, name, at, errors);
    }
}

/// The sources of the past, which have no behaviour of their own: what they require.
fn in_tree(volume: &Volume, name: &str, at: &At, errors: &mut Errors) {
    let Some(Ref::Ptr(pointer)) = (volume as &dyn Object).field(name) else { return };
    let Some(object) = pointer.get() else { return };
    let required: &[&str] = match name {
        "gitRepo" => &["repository"],
        "gcePersistentDisk" => &["pdName"],
        "awsElasticBlockStore" | "cinder" => &["volumeID"],
        "iscsi" => &["targetPortal", "iqn"],
        "glusterfs" => &["endpoints", "path"],
        "rbd" => &["monitors", "image"],
        "cephfs" => &["monitors"],
        "flexVolume" => &["driver"],
        "azureFile" => &["secretName", "shareName"],
        "vsphereVolume" => &["volumePath"],
        "photonPersistentDisk" => &["pdID"],
        "portworxVolume" => &["volumeID"],
        "azureDisk" => &["diskName", "diskURI"],
        "scaleIO" => &["gateway", "system", "volumeName"],
        _ => &[],
    };
    // The path has a name of its own for this one.
    let at = &at.sibling(if name == "gcePersistentDisk" { "persistentDisk" } else { name });
    for field in required {
        if object.field(field).is_none_or(|value| value.is_empty()) {
            errors.required(&at.child(field), "");
        }
    }
}

fn empty_dir(source: &EmptyDirVolumeSource, at: &At, errors: &mut Errors) {
    if source.size_limit.as_ref().is_some_and(|limit| limit.sign() < 0) {
        errors.forbidden(&at.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
    if let Some(mode) = source.mode
        && !(0..=0o1777).contains(&mode)
    {
        errors.invalid(&at.child("mode"), mode, EMPTY_DIR_MODE);
    }
}

/// A network file system, of pods and of PersistentVolumes.
pub(in super::super) fn nfs(source: &NFSVolumeSource, at: &At, errors: &mut Errors) {
    errors.need(&at.child("server"), &source.server);
    errors.need(&at.child("path"), &source.path);
    if !source.path.starts_with('/') {
        errors.invalid(&at.child("path"), &source.path, "must be an absolute path");
    }
}

fn mode(mode: Option<i32>, at: &At, errors: &mut Errors) {
    if let Some(mode) = mode
        && !(0..=0o777).contains(&mode)
    {
        errors.invalid(at, mode, FILE_MODE);
    }
}

fn user(user: Option<i64>, at: &At, errors: &mut Errors) {
    if let Some(user) = user {
        for why in names::in_range(user, 0, i64::from(i32::MAX)) {
            errors.invalid(at, user, why);
        }
    }
}

fn defaults(default_mode: Option<i32>, default_user: Option<i64>, at: &At, errors: &mut Errors) {
    mode(default_mode, &at.child("defaultMode"), errors);
    user(default_user, &at.child("defaultUser"), errors);
}

fn files(default_mode: Option<i32>, default_user: Option<i64>, items: &List<KeyToPath>, at: &At, errors: &mut Errors) {
    defaults(default_mode, default_user, at, errors);
    let at = at.child("items");
    for (i, item) in items.iter().enumerate() {
        key_to_path(item, &at.index(i), errors);
    }
}

fn key_to_path(item: &KeyToPath, at: &At, errors: &mut Errors) {
    errors.need(&at.child("key"), &item.key);
    errors.need(&at.child("path"), &item.path);
    paths::not_reserved(&item.path, &at.child("path"), errors);
    mode(item.mode, &at.child("mode"), errors);
    user(item.user, &at.child("user"), errors);
}

fn downward_file(file: &DownwardAPIVolumeFile, at: &At, errors: &mut Errors) {
    errors.need(&at.child("path"), &file.path);
    paths::not_reserved(&file.path, &at.child("path"), errors);
    match (file.field_ref.get(), file.resource_field_ref.get()) {
        (Some(field), resource) => {
            field_selector(field, &env::VOLUME_FIELDS, &at.child("fieldRef"), errors);
            if resource.is_some() {
                errors.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
            }
        }
        (None, Some(resource)) => resource_selector(resource, true, &at.child("resourceFieldRef"), errors),
        (None, None) => errors.required(at, "one of fieldRef and resourceFieldRef is required"),
    }
    mode(file.mode, &at.child("mode"), errors);
    user(file.user, &at.child("user"), errors);
}

fn projected(volume: &ProjectedVolumeSource, options: &Options, at: &At, errors: &mut Errors) {
    defaults(volume.default_mode, volume.default_user, at, errors);
    let at_sources = at.child("sources");
    let mut seen: Vec<&str> = Vec::new();
    for (i, source) in volume.sources.iter().enumerate() {
        let at_source = &at_sources.index(i);
        let mut sources = 0;
        let secret = source.secret.get().map(|s| ("secret", &s.name, &s.items));
        let config_map = source.config_map.get().map(|s| ("configMap", &s.name, &s.items));
        for (field, name, items) in secret.into_iter().chain(config_map) {
            sources += 1;
            let at_field = at_source.child(field);
            errors.need(&at_field.child("name"), name);
            let at_items = at_field.child("items");
            for (i, item) in items.iter().enumerate() {
                key_to_path(item, &at_items.index(i), errors);
                unique(&mut seen, &item.path, name, at, errors);
            }
        }
        if let Some(downward) = source.downward_api.get() {
            sources += 1;
            for file in &downward.items {
                downward_file(file, &at_source.child("downwardAPI"), errors);
                unique(&mut seen, &file.path, &file.path, at, errors);
            }
        }
        if let Some(token) = source.service_account_token.get() {
            sources += 1;
            service_account_token(token, options, at, &at_source.child("serviceAccountToken"), errors);
        }
        for bundle in [&source.cluster_trust_bundle, &source.pod_certificate] {
            sources += usize::from(!bundle.is_none());
        }
        if sources > 1 {
            errors.forbidden(at_source, "may not specify more than 1 volume type per source");
        }
    }
}

fn unique<'a>(seen: &mut Vec<&'a str>, path: &'a str, shown: &str, at: &At, errors: &mut Errors) {
    if path.is_empty() {
    } else if seen.contains(&path) {
        errors.invalid(at, shown, "conflicting duplicate paths");
    } else {
        seen.push(path);
    }
}

fn service_account_token(
    token: &ServiceAccountTokenProjection,
    options: &Options,
    volume: &At,
    at: &At,
    errors: &mut Errors,
) {
    let expiration = &at.child("expirationSeconds");
    match token.expiration_seconds {
        None => errors.required(expiration, ""),
        Some(s) if s < 600 => errors.invalid(expiration, s, "may not specify a duration less than 10 minutes"),
        Some(s) if s > 1 << 32 => {
            errors.invalid(expiration, s, "may not specify a duration larger than 2^32 seconds");
        }
        Some(_) => {}
    }
    if token.path.is_empty() {
        errors.required(&volume.child("path"), "");
    } else if !options.non_local_token_path {
        paths::not_reserved(&token.path, &volume.child("path"), errors);
    }
    user(token.user, &at.child("user"), errors);
}

fn csi(source: &CSIVolumeSource, at: &At, errors: &mut Errors) {
    csi_driver(&source.driver, &at.child("driver"), errors);
    let Some(secret) = source.node_publish_secret_ref.get() else { return };
    if secret.name.is_empty() {
        errors.required(&at.child("nodePublishSecretRef").child("name"), "");
    } else {
        errors.each(&at.child("name"), &secret.name, names::dns1123_subdomain(&secret.name));
    }
}

/// The name of a CSI driver (`ValidateCSIDriverName`).
pub(in super::super) fn csi_driver(name: &Str, at: &At, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    if name.len() > 63 {
        errors.too_long(at, 63);
    }
    errors.each(at, name, names::dns1123_subdomain(&name.to_lowercase()));
}

fn ephemeral(source: &EphemeralVolumeSource, at: &At, errors: &mut Errors) {
    let at = &at.child("volumeClaimTemplate");
    let Some(template) = source.volume_claim_template.get() else { return errors.required(at, "") };
    claims::template_metadata(&template.metadata, &at.child("metadata"), errors);
    claims::spec(&template.spec, &at.child("spec"), errors);
}
