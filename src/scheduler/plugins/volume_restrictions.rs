//! VolumeRestrictions: disks that only one pod of a node may have, and claims that only one pod at all may use.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::Str;
use api::core_v1::{Pod, Volume};
use api::json::Value;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    hints: &[
        Hint::when(&[Change::AssignedPodDeleted], after_pod_deleted),
        Hint::always(&[Change::NodeAdded]),
        Hint::when(&[Change::ClaimAdded], after_claim_added),
    ],
    ..Plugin::named("VolumeRestrictions")
};

const DISK: &str = "node(s) had no available disk";
const ONE_POD: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use \
                       by another pod";

/// Of the filter: the pod's claims that only one pod may use, and that one does.
#[derive(Default)]
pub struct State(Vec<Str>);

fn claims(pod: &Pod) -> impl Iterator<Item = &Str> {
    pod.spec.volumes.iter().filter_map(|v| v.persistent_volume_claim.get()).map(|c| &c.claim_name)
}

fn is_disk(volume: &Volume) -> bool {
    let sources = [&volume.gce_persistent_disk, &volume.aws_elastic_block_store, &volume.iscsi, &volume.rbd];
    sources.iter().any(|source| !source.is_none())
}

/// Whether two pods of a node can't both have this disk (`isVolumeConflict`). These kinds of volumes have no types of
/// their own, and are rare: they are compared as JSON.
fn conflicts(volume: &Volume, pod: &Pod) -> bool {
    let one = api::json::to_value_bare(volume);
    pod.spec.volumes.iter().filter(|other| is_disk(other)).any(|other| {
        let other = api::json::to_value_bare(other);
        let same = |source: &str, field: &str| {
            one.get(source).is_some()
                && other.get(source).is_some()
                && one.str_at(&[source, field]) == other.str_at(&[source, field])
        };
        let reads = |disk: &Value, source: &str| disk.at(&[source, "readOnly"]).and_then(Value::as_bool) == Some(true);
        let writes = |source: &str| !(reads(&one, source) && reads(&other, source));
        let monitors =
            |disk: &Value| disk.at(&["rbd", "monitors"]).and_then(Value::as_array).cloned().unwrap_or_default();
        let overlap = || monitors(&one).iter().any(|m| monitors(&other).iter().any(|n| n.as_str() == m.as_str()));
        (same("gcePersistentDisk", "pdName") && writes("gcePersistentDisk"))
            || same("awsElasticBlockStore", "volumeID")
            || (same("iscsi", "iqn") && writes("iscsi"))
            || (same("rbd", "image") && same("rbd", "pool") && overlap() && writes("rbd"))
    })
}

fn disk_conflict(pod: &Pod, other: &Pod) -> bool {
    pod.spec.volumes.iter().filter(|v| is_disk(v)).any(|v| conflicts(v, other))
}

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    let pod = &cycle.pod.pod;
    if pod.spec.volumes.is_empty() {
        return PreFilter::Skip;
    }
    let namespace = &pod.metadata.namespace;
    let mut single = Vec::new();
    for name in claims(pod) {
        let Some(claim) = cycle.snapshot.storage.claims.get(namespace, name) else {
            let text = format!("persistentvolumeclaim {} not found", api::go::quote(name));
            return PreFilter::Reject(Rejection::unresolvable(text));
        };
        if claim.spec.access_modes.iter().any(|mode| *mode == *"ReadWriteOncePod") {
            single.push(name.clone());
        }
    }
    if !single.is_empty() {
        let mut others = cycle.snapshot.nodes.iter().flat_map(|n| n.pods.iter()).map(|p| &p.pod);
        if !others.any(|other| other.metadata.namespace == *namespace && claims(other).any(|c| single.contains(c))) {
            single.clear();
        }
    }
    if single.is_empty() && !pod.spec.volumes.iter().any(is_disk) {
        return PreFilter::Skip;
    }
    let _ = cycle.state.restrictions.set(State(single));
    PreFilter::Go
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let pod = &cycle.pod.pod;
    if let Some(other) = node.pods.iter().find(|other| disk_conflict(pod, &other.pod)) {
        return Some(Rejection::unschedulable(DISK).with(format!("{} has it", other.key())));
    }
    let state = cycle.state.restrictions.get()?;
    let claim = state.0.first()?;
    Some(Rejection::unschedulable(ONE_POD).with(format!("claim {claim}")))
}

fn after_pod_deleted(info: &PodInfo, about: &About) -> bool {
    let (pod, (Some(deleted), _)) = (&info.pod, about.pod()) else { return true };
    deleted.metadata.namespace == pod.metadata.namespace
        && (disk_conflict(pod, deleted) || claims(deleted).any(|name| claims(pod).any(|own| own == name)))
}

fn after_claim_added(info: &PodInfo, about: &About) -> bool {
    let pod = &info.pod;
    about.claim().is_none_or(|claim| {
        claim.metadata.namespace == pod.metadata.namespace && claims(pod).any(|name| *name == claim.metadata.name)
    })
}
