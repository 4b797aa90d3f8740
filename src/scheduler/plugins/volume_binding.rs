//! VolumeBinding: claims must be bound, or be bound once the pod has its node, to volumes that the node can reach.

use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::NodeInfo;
use crate::queue::{Change, Hint};
use crate::verdict::{Code, Reason, Rejection};

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    hints: &[
        Hint { change: Change::NodeAddedOrLabels, helps: None },
        Hint { change: Change::ClaimAddedOrUpdated, helps: None },
        Hint { change: Change::VolumeAddedOrUpdated, helps: None },
        Hint { change: Change::StorageClassAdded, helps: None },
    ],
    ..Plugin::named("VolumeBinding")
};

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    if !cycle.pod.pod.spec.volumes.iter().any(|v| v.persistent_volume_claim.is_some() || v.ephemeral.is_some()) {
        return PreFilter::Skip;
    }
    let reject = |text: String| {
        let reasons = vec![Reason { text: text.into(), numbers: String::new() }];
        PreFilter::Reject(Rejection { code: Code::Unresolvable, reasons })
    };
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
