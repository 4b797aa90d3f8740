//! The kinds of storage.k8s.io that drivers and the attaching of volumes need (storage's validation).

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::{labels, metadata, pod, storage};
use crate::storage_v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSIStorageCapacity, VolumeAttachment, VolumeAttachmentSource,
    VolumeAttributesClass, VolumeError,
};
use crate::{Ptr, Str, names};

/// Most bytes of what an attachment says of itself.
const ATTACHMENT_METADATA_MAX: usize = 256 * 1024;
const ERROR_MESSAGE_MAX: usize = 1024;
const NODE_ID_MAX: usize = 256;
/// Shortest and longest life of a token for a driver, in seconds.
const TOKEN_SHORTEST: i64 = 600;
const TOKEN_LONGEST: i64 = 1 << 32;
/// Shortest time between two looks at what a node can attach, in seconds.
const ALLOCATABLE_PERIOD_MIN: i64 = 10;

/// A new CSIDriver.
pub(super) fn create_driver(driver: &CSIDriver, errors: &mut Errors) {
    metadata::create(&driver.metadata, false, metadata::subdomain, errors);
    driver_spec(&driver.spec, errors);
}

/// A changed CSIDriver.
pub(super) fn update_driver(new: &CSIDriver, old: &CSIDriver, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    driver_spec(&new.spec, errors);
    let at = At::new("spec");
    errors.immutable(&at.child("attachedRequired"), &new.spec.attach_required, &old.spec.attach_required);
    errors.immutable(
        &at.child("volumeLifecycleModes"),
        &new.spec.volume_lifecycle_modes,
        &old.spec.volume_lifecycle_modes,
    );
}

fn driver_spec(spec: &CSIDriverSpec, errors: &mut Errors) {
    let at = &At::new("spec");
    // Defaulting gives all truth values but those that an update takes away.
    for (field, value) in [
        ("attachedRequired", spec.attach_required),
        ("podInfoOnMount", spec.pod_info_on_mount),
        ("storageCapacity", spec.storage_capacity),
    ] {
        if value.is_none() {
            errors.required(&at.child(field), "");
        }
    }
    if let Some(policy) = spec.fs_group_policy.get() {
        errors.one_of(&at.child("fsGroupPolicy"), policy, &["File", "None", "ReadWriteOnceWithFSType"]);
    }
    let requests = at.child("tokenRequests");
    for (i, request) in spec.token_requests.iter().enumerate() {
        let at = &requests.index(i);
        if spec.token_requests.iter().take(i).any(|before| before.audience == request.audience) {
            errors.duplicate(&at.child("audience"), &request.audience);
            continue;
        }
        let Some(seconds) = request.expiration_seconds else { continue };
        let at = &at.child("expirationSeconds");
        if seconds < TOKEN_SHORTEST {
            errors.invalid(at, seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > TOKEN_LONGEST {
            errors.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
    for mode in &spec.volume_lifecycle_modes {
        errors.one_of(&at.child("volumeLifecycleModes"), mode, &["Persistent", "Ephemeral"]);
    }
    if spec.se_linux_mount.is_none() {
        errors.required(&at.child("seLinuxMount"), "");
    }
    if let Some(seconds) = spec.node_allocatable_update_period_seconds
        && seconds < ALLOCATABLE_PERIOD_MIN
    {
        let why = "must be greater than or equal to 10 seconds";
        errors.invalid(&at.child("nodeAllocatableUpdatePeriodSeconds"), seconds, why);
    }
    if let Some(in_secrets) = spec.service_account_token_in_secrets
        && spec.token_requests.is_empty()
    {
        let why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid(&at.child("serviceAccountTokenInSecrets"), in_secrets, why);
    }
    if spec.prevent_pod_scheduling_if_missing.is_none() {
        errors.required(&at.child("preventPodSchedulingIfMissing"), "");
    }
}

/// A new CSINode.
pub(super) fn create_node(node: &CSINode, errors: &mut Errors) {
    metadata::create(&node.metadata, false, metadata::subdomain, errors);
    node_drivers(node, errors);
}

/// A changed CSINode: drivers come and go, and never change but for how much they can attach.
pub(super) fn update_node(new: &CSINode, old: &CSINode, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, false, metadata::subdomain, errors);
    node_drivers(new, errors);
    let at = At::new("spec");
    let at = at.child("drivers");
    for was in &old.spec.drivers {
        for now in new.spec.drivers.iter().filter(|now| now.name == was.name) {
            let (mut now, mut was) = (now.clone(), was.clone());
            (now.allocatable, was.allocatable) = (Ptr::default(), Ptr::default());
            if now != was {
                errors.invalid(&at, Internal(&now), IMMUTABLE);
            }
        }
    }
}

fn node_drivers(node: &CSINode, errors: &mut Errors) {
    let at = At::new("spec");
    let at = at.child("drivers");
    for (i, driver) in node.spec.drivers.iter().enumerate() {
        node_driver(driver, node.spec.drivers.iter().take(i).any(|d| d.name == driver.name), &at.index(i), errors);
    }
}

fn node_driver(driver: &CSINodeDriver, known: bool, at: &At, errors: &mut Errors) {
    pod::csi_driver(&driver.name, &at.child("name"), errors);
    let at_id = &at.child("nodeID");
    errors.need(at_id, &driver.node_id);
    if driver.node_id.len() > NODE_ID_MAX {
        errors.invalid(at_id, &driver.node_id, format!("must be {NODE_ID_MAX} characters or less"));
    }
    if let Some(count) = driver.allocatable.get().and_then(|allocatable| allocatable.count) {
        errors.not_negative(&at.child("allocatable").child("count"), count);
    }
    if known {
        errors.duplicate(&at.child("name"), &driver.name);
    }
    for (i, key) in driver.topology_keys.iter().enumerate() {
        errors.need(at, key);
        if driver.topology_keys.iter().take(i).any(|before| before == key) {
            errors.duplicate(at, key);
        }
        labels::key(key, at, errors);
    }
}

/// A new CSIStorageCapacity.
pub(super) fn create_capacity(capacity: &CSIStorageCapacity, errors: &mut Errors) {
    metadata::create(&capacity.metadata, true, metadata::subdomain, errors);
    capacity_rest(capacity, false, errors);
}

fn capacity_rest(capacity: &CSIStorageCapacity, bad_values: bool, errors: &mut Errors) {
    labels::selector_with(&capacity.node_topology, bad_values, &At::new("nodeTopology"), errors);
    let class = &capacity.storage_class_name;
    errors.each(&At::new("storageClassName"), class, names::dns1123_subdomain(class));
    if let Some(amount) = &capacity.capacity
        && amount.sign() < 0
    {
        errors.invalid(&At::new("capacity"), amount.to_string(), super::at::NEGATIVE);
    }
}

/// A changed CSIStorageCapacity: what it is about stays.
pub(super) fn update_capacity(new: &CSIStorageCapacity, old: &CSIStorageCapacity, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, true, metadata::subdomain, errors);
    capacity_rest(new, labels::has_bad_value(&old.node_topology), errors);
    errors.immutable(&At::new("nodeTopology"), &new.node_topology, &old.node_topology);
    errors.immutable(&At::new("storageClassName"), &new.storage_class_name, &old.storage_class_name);
}

/// A new VolumeAttachment.
pub(super) fn create_attachment(attachment: &VolumeAttachment, errors: &mut Errors) {
    attachment_rest(attachment, None, errors);
}

/// A changed VolumeAttachment, or a changed status of one: the spec stays.
pub(super) fn update_attachment(new: &VolumeAttachment, old: &VolumeAttachment, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    attachment_rest(new, Some(old), errors);
}

fn attachment_rest(attachment: &VolumeAttachment, old: Option<&VolumeAttachment>, errors: &mut Errors) {
    if old.is_none_or(|old| !metadata::unchanged(&attachment.metadata, &old.metadata)) {
        metadata::create(&attachment.metadata, false, metadata::subdomain, errors);
    }
    let spec = &attachment.spec;
    let at = At::new("spec");
    let at_attacher = &at.child("attacher");
    match old {
        // The declared rules say what is wrong with a new one; they look no further where an old one changed.
        None => declared_driver(&spec.attacher, at_attacher, errors),
        Some(old) if *spec != old.spec => pod::csi_driver(&spec.attacher, at_attacher, errors),
        Some(_) => {}
    }
    let at_source = &at.child("source");
    attachment_source(&spec.source, at_source, errors);
    errors.each(&at.child("nodeName"), &spec.node_name, names::dns1123_subdomain(&spec.node_name));
    let status = &attachment.status;
    let at_status = &At::new("status");
    let size: usize = status.attachment_metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > ATTACHMENT_METADATA_MAX {
        errors.too_long(&at_status.child("attachmentMetadata"), ATTACHMENT_METADATA_MAX);
    }
    volume_error(&status.attach_error, &at_status.child("attachError"), errors);
    volume_error(&status.detach_error, &at_status.child("detachError"), errors);
    if let Some(name) = spec.source.persistent_volume_name.get() {
        errors.each(&at_source.child("persistentVolumeName"), name, names::dns1123_subdomain(name));
    }
    if let Some(old) = old {
        errors.declared_immutable(&at, &spec, &&old.spec);
    }
}

/// An attacher's name as the declared rules have it.
fn declared_driver(name: &Str, at: &At, errors: &mut Errors) {
    if name.is_empty() {
        return errors.declared_required(at);
    }
    for why in names::dns1123_subdomain_caseless(name) {
        errors.declared(crate::field::invalid(&at.path(), name, why));
    }
    if name.chars().count() > 63 {
        errors.declared(crate::field::too_long_characters(&at.path(), 63));
    }
}

fn attachment_source(source: &VolumeAttachmentSource, at: &At, errors: &mut Errors) {
    const ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (source.inline_volume_spec.get(), source.persistent_volume_name.get()) {
        (None, None) => errors.required(at, ONE),
        (Some(_), Some(_)) => errors.forbidden(at, ONE),
        (None, Some(name)) => {
            if name.is_empty() {
                errors.required(&at.child("persistentVolumeName"), "must specify non empty persistentVolumeName");
            }
        }
        (Some(spec), None) => storage::inline_spec(spec, &at.child("inlineVolumeSpec"), errors),
    }
}

fn volume_error(error: &Ptr<VolumeError>, at: &At, errors: &mut Errors) {
    let Some(error) = error.get() else { return };
    if error.message.len() > ERROR_MESSAGE_MAX {
        errors.too_long(&at.child("message"), ERROR_MESSAGE_MAX);
    }
    if let Some(code) = error.error_code
        && code < 0
    {
        errors.invalid(&at.child("errorCode"), code, names::range_error(0, i64::from(i32::MAX)));
    }
}

/// A new VolumeAttributesClass.
pub(super) fn create_attributes_class(class: &VolumeAttributesClass, errors: &mut Errors) {
    metadata::create(&class.metadata, false, metadata::subdomain, errors);
    attributes_rest(class, errors);
}

/// A changed VolumeAttributesClass: nothing but metadata may change.
pub(super) fn update_attributes_class(new: &VolumeAttributesClass, old: &VolumeAttributesClass, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.driver_name != old.driver_name {
        errors.forbidden(&At::new("driverName"), "updates to driverName are forbidden.");
    }
    if new.parameters != old.parameters {
        errors.forbidden(&At::new("parameters"), "updates to parameters are forbidden.");
    }
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, false, metadata::subdomain, errors);
    }
    attributes_rest(new, errors);
}

fn attributes_rest(class: &VolumeAttributesClass, errors: &mut Errors) {
    let at = &At::new("driverName");
    if class.driver_name.is_empty() {
        errors.required(at, "");
    } else {
        let lower = class.driver_name.to_lowercase();
        errors.each(at, &lower, names::qualified_name(&lower));
    }
    let at = &At::new("parameters");
    storage::parameters(&class.parameters, at, errors);
    if class.parameters.is_empty() {
        errors.required(at, "must contain at least one key/value pair");
    }
}
