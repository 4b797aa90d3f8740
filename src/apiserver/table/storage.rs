//! Rows of the storage kinds.

use api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use api::storage_v1::{CSIDriver, CSINode, StorageClass, VolumeAttachment};
use api::table::{Cell, Column, Row};
use api::{List, Str};

use super::Env;

pub static PV: &[Column] = &[
    Column::name(),
    Column::new("Capacity", "string"),
    Column::new("Access Modes", "string"),
    Column::new("Reclaim Policy", "string"),
    Column::new("Status", "string"),
    Column::new("Claim", "string"),
    Column::new("StorageClass", "string"),
    Column::new("VolumeAttributesClass", "string"),
    Column::new("Reason", "string"),
    Column::new("Age", "string"),
    Column::wide("VolumeMode", "string"),
];
pub static PVC: &[Column] = &[
    Column::name(),
    Column::new("Status", "string"),
    Column::new("Volume", "string"),
    Column::new("Capacity", "string"),
    Column::new("Access Modes", "string"),
    Column::new("StorageClass", "string"),
    Column::new("VolumeAttributesClass", "string"),
    Column::new("Age", "string"),
    Column::wide("VolumeMode", "string"),
];
pub static STORAGE_CLASS: &[Column] = &[
    Column::name(),
    Column::new("Provisioner", "string"),
    Column::new("ReclaimPolicy", "string"),
    Column::new("VolumeBindingMode", "string"),
    Column::new("AllowVolumeExpansion", "string"),
    Column::new("Age", "string"),
];
pub static CSI_NODE: &[Column] = &[Column::name(), Column::new("Drivers", "integer"), Column::new("Age", "string")];
pub static CSI_DRIVER: &[Column] = &[
    Column::name(),
    Column::new("AttachRequired", "boolean"),
    Column::new("PodInfoOnMount", "boolean"),
    Column::new("StorageCapacity", "boolean"),
    Column::new("TokenRequests", "string"),
    Column::new("RequiresRepublish", "boolean"),
    Column::new("Modes", "string"),
    Column::new("Age", "string"),
];
pub static VOLUME_ATTACHMENT: &[Column] = &[
    Column::name(),
    Column::new("Attacher", "string"),
    Column::new("PV", "string"),
    Column::new("Node", "string"),
    Column::new("Attached", "boolean"),
    Column::new("Age", "string"),
];

/// Access modes in their short form, each once, in Kubernetes' order.
fn access_modes(modes: &List<Str>) -> String {
    let short =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let used = short.iter().filter(|(long, _)| modes.iter().any(|mode| &**mode == *long));
    used.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub fn pv(object: &PersistentVolume, env: &Env) -> Vec<Cell> {
    let spec = &*object.spec;
    let claim = spec.claim_ref.get().map_or(String::new(), |claim| format!("{}/{}", claim.namespace, claim.name));
    let phase = if object.metadata.deletion_timestamp.unix().is_some() { "Terminating" } else { &object.status.phase };
    let class = match object.metadata.annotations.get(BETA_CLASS) {
        Some(class) => Cell::from(class),
        None => Cell::from(&spec.storage_class_name),
    };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(spec.capacity.get("storage").cloned().unwrap_or_default().to_string()),
        Cell::from(access_modes(&spec.access_modes)),
        Cell::from(&spec.persistent_volume_reclaim_policy),
        Cell::from(phase),
        Cell::from(claim),
        class,
        Cell::from(spec.volume_attributes_class_name.get().unwrap_or("<unset>")),
        Cell::from(&object.status.reason),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        Cell::from(spec.volume_mode.get().unwrap_or("<unset>")),
    ]
}

pub fn pvc(object: &PersistentVolumeClaim, env: &Env) -> Vec<Cell> {
    let spec = &*object.spec;
    let phase = if object.metadata.deletion_timestamp.unix().is_some() { "Terminating" } else { &object.status.phase };
    let (capacity, modes) = if spec.volume_name.is_empty() {
        (String::new(), String::new())
    } else {
        let capacity = object.status.capacity.get("storage").cloned().unwrap_or_default().to_string();
        (capacity, access_modes(&object.status.access_modes))
    };
    let class = match object.metadata.annotations.get(BETA_CLASS) {
        Some(class) => Cell::from(class),
        None => Cell::from(spec.storage_class_name.get().unwrap_or_default()),
    };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(phase),
        Cell::from(&spec.volume_name),
        Cell::from(capacity),
        Cell::from(modes),
        class,
        Cell::from(spec.volume_attributes_class_name.get().unwrap_or("<unset>")),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        Cell::from(spec.volume_mode.get().unwrap_or("<unset>")),
    ]
}

pub fn storage_class(object: &StorageClass, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.provisioner),
        Cell::from(object.reclaim_policy.get().unwrap_or("Delete")),
        Cell::from(object.volume_binding_mode.get().unwrap_or("Immediate")),
        Cell::from(object.allow_volume_expansion.unwrap_or(false)),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

/// Marks the class that claims without one get: the newest with the default annotation,
/// by name where two are equally new.
pub fn mark_default(rows: &mut [Row]) {
    let default = rows
        .iter()
        .enumerate()
        .filter_map(|(i, row)| {
            let metadata = row.object.body.metadata()?;
            let marked =
                ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
                    .iter()
                    .any(|key| metadata.annotations.get(key).is_some_and(|value| &**value == "true"));
            let newest = std::cmp::Reverse(metadata.creation_timestamp.unix());
            marked.then(|| (newest, metadata.name.clone(), i))
        })
        .min();
    if let Some((_, name, i)) = default
        && let Some(cell) = rows.get_mut(i).and_then(|row| row.cells.first_mut())
    {
        *cell = Cell::from(format!("{name} (default)"));
    }
}

pub fn csi_node(object: &CSINode, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.spec.drivers.len()),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn csi_driver(object: &CSIDriver, env: &Env) -> Vec<Cell> {
    let spec = &*object.spec;
    let modes: Vec<&str> = spec.volume_lifecycle_modes.iter().map(|mode| &**mode).collect();
    let audiences: Vec<&str> = spec.token_requests.iter().map(|request| &*request.audience).collect();
    let tokens = if spec.token_requests.is_nil() { "<unset>".to_string() } else { audiences.join(",") };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(spec.attach_required.unwrap_or(true)),
        Cell::from(spec.pod_info_on_mount.unwrap_or(false)),
        Cell::from(spec.storage_capacity.unwrap_or(false)),
        Cell::from(tokens),
        Cell::from(spec.requires_republish.unwrap_or(false)),
        Cell::from(super::or_none(modes.join(","))),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn volume_attachment(object: &VolumeAttachment, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.spec.attacher),
        Cell::from(object.spec.source.persistent_volume_name.get().unwrap_or_default()),
        Cell::from(&object.spec.node_name),
        Cell::from(object.status.attached),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}
