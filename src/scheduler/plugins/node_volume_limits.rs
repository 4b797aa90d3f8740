//! NodeVolumeLimits: how many volumes of a storage driver a node can have attached, as its CSINode says.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::storage::Storage;
use crate::verdict::Rejection;
use api::Str;
use api::core_v1::{PersistentVolumeClaim, Pod, Volume};
use api::storage_v1::CSINode;
use api::volume::{claim_class, claim_name};
use std::collections::BTreeMap;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(|cycle| {
        let any = cycle.pod.pod.spec.volumes.iter().any(is_claimed);
        if any { PreFilter::Go } else { PreFilter::Skip }
    }),
    filter: Some(filter),
    hints: &[
        Hint::always(&[Change::CsiNodeAdded]),
        Hint::when(&[Change::CsiNodeUpdated], after_limits_changed),
        Hint::when(&[Change::AssignedPodDeleted], after_pod_deleted),
        Hint::when(&[Change::ClaimAdded], after_claim_added),
        Hint::when(&[Change::VolumeAttachmentDeleted], |info, _| {
            info.pod.spec.volumes.iter().any(|v| v.persistent_volume_claim.is_some())
        }),
    ],
    ..Plugin::named("NodeVolumeLimits")
};

const TOO_MANY: &str = "node(s) exceed max volume count";

fn is_claimed(volume: &Volume) -> bool {
    volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some()
}

/// A volume of a driver: the driver, and the driver's name for the volume.
type Attachable = (Str, String);

/// Driver and handle of a claim's volume, or what they will be once its class has made it.
fn driver_of(storage: &Storage, claim: &PersistentVolumeClaim) -> Option<Attachable> {
    let volume = Some(&claim.spec.volume_name).filter(|name| !name.is_empty());
    if let Some(volume) = volume.and_then(|name| storage.volumes.get("", name)) {
        let csi = volume.spec.csi.get()?;
        return Some((csi.driver.clone(), csi.volume_handle.to_string()));
    }
    let class = storage.classes.get("", &claim_class(claim))?;
    // A handle that no volume has.
    let handle = format!("claim {}/{}", claim.metadata.namespace, claim.metadata.name);
    (!class.provisioner.is_empty()).then(|| (class.provisioner.clone(), handle))
}

/// The attachable volumes of a pod (`filterAttachableVolumes`); the claim that is missing, where that matters.
fn attachable(storage: &Storage, pod: &Pod) -> (Vec<Attachable>, Option<String>) {
    let (mut all, mut missing) = (Vec::new(), None);
    for name in pod.spec.volumes.iter().filter_map(|v| claim_name(pod, v)) {
        match storage.claims.get(&pod.metadata.namespace, &name) {
            Some(claim) => all.extend(driver_of(storage, &claim)),
            None => missing = missing.or(Some(name.to_string())),
        }
    }
    (all, missing)
}

fn limits(node: &CSINode) -> BTreeMap<&Str, i32> {
    node.spec.drivers.iter().filter_map(|d| Some((&d.name, d.allocatable.get()?.count?))).collect()
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let (pod, storage) = (&cycle.pod.pod, &cycle.snapshot.storage);
    let (mut new, missing) = attachable(storage, pod);
    if let Some(name) = missing {
        let text = format!(
            "looking up PVC {}/{name}: persistentvolumeclaim {} not found",
            pod.metadata.namespace,
            api::go::quote(&name)
        );
        return Some(Rejection::unresolvable(text));
    }
    if new.is_empty() {
        return None;
    }
    let csi_node = storage.csi_nodes.get("", node.name());
    let installed = |driver: &Str| csi_node.as_ref().is_some_and(|n| n.spec.drivers.iter().any(|d| d.name == *driver));
    let wants_it = |driver: &Str| {
        storage.csi_drivers.get("", driver).is_some_and(|d| d.spec.prevent_pod_scheduling_if_missing == Some(true))
    };
    if let Some((driver, _)) = new.iter().find(|(driver, _)| wants_it(driver) && !installed(driver)) {
        let text = format!("{driver} CSI driver is not installed on the node");
        return Some(Rejection::unschedulable(text));
    }
    let csi_node = csi_node?;
    let limits = limits(&csi_node);
    if limits.is_empty() {
        return None;
    }
    let mut attached: Vec<Attachable> = node.pods.iter().flat_map(|p| attachable(storage, &p.pod).0).collect();
    for attachment in storage.attachments.list() {
        // What is attached counts, whether or not a pod uses it any more.
        let volume = attachment.spec.source.persistent_volume_name.get_str();
        let volume = volume.and_then(|name| storage.volumes.get("", name));
        if attachment.spec.node_name == *node.name()
            && let Some(csi) = volume.as_ref().and_then(|v| v.spec.csi.get())
        {
            attached.push((csi.driver.clone(), csi.volume_handle.to_string()));
        }
    }
    attached.sort();
    attached.dedup();
    new.sort();
    new.dedup();
    new.retain(|volume| !attached.contains(volume));
    let count = |list: &[Attachable], driver: &Str| list.iter().filter(|(d, _)| d == driver).count();
    let (driver, limit) = limits.iter().find(|(driver, limit)| {
        let wanted = count(&new, driver);
        wanted > 0 && count(&attached, driver) + wanted > usize::try_from(**limit).unwrap_or(0)
    })?;
    let numbers =
        format!("{driver}: {} attached, {} wanted, at most {limit}", count(&attached, driver), count(&new, driver));
    Some(Rejection::unschedulable(TOO_MANY).with(numbers))
}

fn after_limits_changed(_: &PodInfo, about: &About) -> bool {
    let About::CsiNode(Some(old), new) = about else { return true };
    let old = limits(old);
    limits(new).iter().any(|(driver, limit)| *limit > old.get(driver).copied().unwrap_or(0))
}

fn after_pod_deleted(_: &PodInfo, about: &About) -> bool {
    about.pod().0.is_none_or(|deleted| deleted.spec.volumes.iter().any(is_claimed))
}

fn after_claim_added(info: &PodInfo, about: &About) -> bool {
    about.claim().is_none_or(|c| crate::storage::uses_claim(&info.pod, &c.metadata.namespace, &c.metadata.name))
}
