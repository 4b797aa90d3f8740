//! VolumeBinding: claims must be bound, or be bound once the pod has its node, to volumes that the node can reach.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::storage::uses_claim;
use crate::verdict::Rejection;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    hints: &[
        Hint::when(&[Change::StorageClassAdded, Change::StorageClassUpdated], after_class_changed),
        Hint::when(&[Change::ClaimAdded, Change::ClaimUpdated], after_claim_changed),
        Hint::always(&[Change::VolumeAdded, Change::VolumeUpdated, Change::NodeAdded, Change::NodeLabels]),
        Hint::always(&[Change::CsiNodeAdded]),
        Hint::when(&[Change::CsiNodeUpdated], after_csi_node_changed),
        Hint::when(&[Change::CsiDriverUpdated], after_driver_changed),
    ],
    ..Plugin::named("VolumeBinding")
};

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    if !cycle.pod.pod.spec.volumes.iter().any(|v| v.persistent_volume_claim.is_some() || v.ephemeral.is_some()) {
        return PreFilter::Skip;
    }
    let reject = |text: String| PreFilter::Reject(Rejection::unresolvable(text));
    match cycle.snapshot.storage.claims_of(&cycle.pod.pod) {
        Err(why) => reject(why),
        Ok(claims) if claims.is_empty() => PreFilter::Skip,
        Ok(claims) if !claims.immediate.is_empty() => {
            reject("pod has unbound immediate PersistentVolumeClaims".to_string())
        }
        Ok(_) => PreFilter::Go,
    }
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    cycle.snapshot.storage.plan(&cycle.pod.pod, node).err()
}

fn after_class_changed(_: &PodInfo, about: &About) -> bool {
    match about {
        About::Class(Some(old), new) => old.allowed_topologies != new.allowed_topologies,
        _ => true,
    }
}

fn after_claim_changed(pod: &PodInfo, about: &About) -> bool {
    about.claim().is_none_or(|c| uses_claim(&pod.pod, &c.metadata.namespace, &c.metadata.name))
}

fn after_csi_node_changed(_: &PodInfo, about: &About) -> bool {
    const MIGRATED: &str = "storage.alpha.kubernetes.io/migrated-plugins";
    match about {
        About::CsiNode(Some(old), new) => {
            old.metadata.annotations.get(MIGRATED) != new.metadata.annotations.get(MIGRATED)
        }
        _ => true,
    }
}

fn after_driver_changed(pod: &PodInfo, about: &About) -> bool {
    let About::CsiDriver(old, new) = about else { return true };
    let uses = pod.pod.spec.volumes.iter().any(|v| v.csi.get().is_some_and(|c| c.driver == new.metadata.name));
    uses && old.spec.storage_capacity == Some(true) && new.spec.storage_capacity != Some(true)
}
