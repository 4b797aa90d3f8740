//! Pods as the map draws them.

use super::cluster_view::list;
use crate::cluster::World;
use api::core_v1::Pod;
use view::{PodState, PodView};

/// A pod's view; where it stands is filled in by the caller.
pub fn view(pod: &Pod, id: u32) -> PodView {
    let (ready, containers, status, restarts) = apiserver::table::pod_columns(pod);
    let owner = pod.metadata.owner_references.iter().find(|o| o.controller == Some(true));
    let sum = |resource: &str| {
        let own: i64 = pod
            .spec
            .containers
            .iter()
            .filter_map(|c| c.resources.requests.get(resource))
            .map(|q| if resource == "cpu" { q.milli_value() } else { q.value() >> 20 })
            .fold(0, i64::saturating_add);
        u32::try_from(own).unwrap_or(0)
    };
    PodView {
        id,
        name: pod.metadata.name.to_string(),
        namespace: pod.metadata.namespace.to_string(),
        node: None,
        assumed: None,
        state: state(pod, &status, ready, containers),
        pulling: false,
        ready: u8::try_from(ready).unwrap_or(u8::MAX),
        containers: u8::try_from(containers).unwrap_or(u8::MAX),
        restarts: u32::try_from(restarts).unwrap_or(0),
        owner: owner.map(|o| format!("{}/{}", o.kind.to_lowercase(), o.name)).unwrap_or_default(),
        cpu_milli: sum("cpu"),
        memory_mi: sum("memory"),
        status,
    }
}

fn state(pod: &Pod, status: &str, ready: usize, containers: usize) -> PodState {
    let bare = status.strip_prefix("Init:").unwrap_or(status);
    match bare {
        "Terminating" => PodState::Terminating,
        "CrashLoopBackOff" => PodState::CrashLoop,
        "Completed" => PodState::Succeeded,
        "Unknown" => PodState::Unknown,
        "Pending" | "SchedulingGated" if pod.spec.node_name.is_empty() => PodState::Pending,
        "Running" if ready >= containers && containers > 0 => PodState::Ready,
        "Running" | "NotReady" => PodState::Running,
        "Pending" | "ContainerCreating" | "PodInitializing" => PodState::Creating,
        _ if &*pod.status.phase == "Succeeded" => PodState::Succeeded,
        // `Init:0/1`
        other if other.contains('/') => PodState::Creating,
        _ => PodState::Failed,
    }
}

/// It is not on its way to another state.
pub fn is_steady(pod: &Pod) -> bool {
    let (ready, containers, status, _) = apiserver::table::pod_columns(pod);
    let unplaced = pod.spec.node_name.is_empty();
    let told = pod.status.conditions.iter().any(|c| &*c.type_ == "PodScheduled" && &*c.reason == "Unschedulable");
    match state(pod, &status, ready, containers) {
        PodState::Pending => !unplaced || told || status == "SchedulingGated",
        PodState::Creating | PodState::Running | PodState::Terminating => false,
        _ => true,
    }
}

/// After how many seconds a taint evicts pods of a node, and how many: the first to go.
pub fn evictions(world: &World, node: &str, taint: &str) -> Option<(u64, u32)> {
    let mut first: Option<u64> = None;
    let mut count = 0;
    for pod in list::<Pod>(world, "", "pods").iter().filter(|p| &*p.spec.node_name == node) {
        if pod.metadata.deletion_timestamp.unix().is_some() {
            continue;
        }
        let tolerated = pod
            .spec
            .tolerations
            .iter()
            .filter(|t| (t.key.is_empty() || &*t.key == taint) && (t.effect.is_empty() || &*t.effect == "NoExecute"))
            .map(|t| t.toleration_seconds)
            .min_by_key(|s| s.unwrap_or(i64::MAX));
        let Some(Some(seconds)) = tolerated else { continue };
        let seconds = u64::try_from(seconds).unwrap_or(0);
        if first.is_none_or(|f| seconds <= f) {
            first = Some(seconds);
        }
        count += 1;
    }
    first.map(|seconds| (seconds, count))
}
