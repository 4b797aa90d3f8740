//! VolumeBinding: claims must be bound, or be bound once the pod has its node, to volumes that the node can reach.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::storage::{Step, uses_claim, volume_limit};
use crate::verdict::Rejection;
use api::core_v1::{PersistentVolumeClaim, Pod};
use api::volume::claim_class;
use api::{Quantity, Str};
use std::collections::BTreeMap;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 1,
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    pre_score: Some(|cycle, _| has_claims(&cycle.pod.pod)),
    score: Some(score),
    hints: &[
        Hint::when(&[Change::StorageClassAdded, Change::StorageClassUpdated], after_class_changed),
        Hint::when(&[Change::ClaimAdded, Change::ClaimUpdated], after_claim_changed),
        Hint::always(&[Change::VolumeAdded, Change::VolumeUpdated, Change::NodeAdded, Change::NodeLabels]),
        Hint::always(&[Change::CsiNodeAdded]),
        Hint::when(&[Change::CsiNodeUpdated], after_csi_node_changed),
        Hint::when(&[Change::CsiDriverUpdated], after_driver_changed),
        Hint::when(&[Change::CsiStorageCapacityAdded, Change::CsiStorageCapacityUpdated], after_capacity_changed),
    ],
    ..Plugin::named("VolumeBinding")
};

fn has_claims(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|v| v.persistent_volume_claim.is_some() || v.ephemeral.is_some())
}

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    if !has_claims(&cycle.pod.pod) {
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

/// Prefers nodes whose storage would be filled less (`scorer.go`): of each class what is asked for against what there is,
/// of the volumes that are at hand, else of those that are to be made.
fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let plan = cycle.snapshot.storage.plan(&cycle.pod.pod, node).unwrap_or_default();
    let mut classes = BTreeMap::<Str, (i64, i64)>::new();
    let size = |claim: &PersistentVolumeClaim| claim.spec.resources.requests.get("storage").map_or(0, Quantity::value);
    for step in &plan {
        if let Step::Bind(volume, claim) = step {
            let (asked, has) = classes.entry(volume.spec.storage_class_name.clone()).or_default();
            *asked = asked.wrapping_add(size(claim));
            *has = has.wrapping_add(volume.spec.capacity.get("storage").map_or(0, Quantity::value));
        }
    }
    let any_bound = plan.iter().any(|step| matches!(step, Step::Bind(..)));
    for step in plan.iter().filter(|_| !any_bound) {
        if let Step::Provision(claim, Some(capacity)) = step {
            // Claims of one class are made out of the same capacity.
            let (asked, has) = classes.entry(claim_class(claim)).or_default();
            *asked = asked.wrapping_add(size(claim));
            *has = capacity.capacity.as_ref().map_or(0, Quantity::value);
        }
    }
    let free = |(asked, has): &(i64, i64)| match asked.saturating_mul(MAX_NODE_SCORE).checked_div(*has) {
        Some(used) if asked <= has => MAX_NODE_SCORE - used,
        _ => 0,
    };
    let (sum, count) = (classes.values().map(free).sum::<i64>(), i64::try_from(classes.len()).unwrap_or(i64::MAX));
    // Rounded to the nearest.
    (2 * sum + count).checked_div(2 * count).unwrap_or(0)
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

fn after_capacity_changed(_: &PodInfo, about: &About) -> bool {
    let About::Capacity(Some(old), new) = about else { return true };
    volume_limit(new).is_some_and(|limit| volume_limit(old).is_none_or(|before| limit > before))
}
