//! A node: conditions, taints, requests against what it has, and what runs against it.

use super::look::Look;
use api::Quantity;
use api::coordination_v1::Lease;
use api::core_v1::{Node, Pod, Taint};
use scheduler::resources::{Resources, pod_requests};
use view::{ConditionRow, NodeState, NodeTimer, NodeTimerKind, ResourceRow};

/// How long a node may be silent (`--node-monitor-grace-period`), in nanoseconds.
const GRACE: u64 = 50_000_000_000;
/// Silence that is worth showing: a lease is renewed every 10 seconds.
const SILENT: u64 = 12_000_000_000;

/// A taint as kubectl prints it.
pub fn taint_text(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

/// When the node's lease was last renewed, in virtual time.
pub fn heartbeat(look: &Look<'_>, name: &str) -> u64 {
    let lease = look.typed::<Lease>("kube-node-lease", name);
    let micros = lease.and_then(|l| l.spec.renew_time.unix_micros());
    micros.map_or(0, |m| look.virtual_time_of_micros(m))
}

/// What runs against a node: silence until it is marked, and evictions.
pub fn timers(look: &Look<'_>, node: &Node, pods: &[&Pod]) -> Vec<NodeTimer> {
    let mut timers = Vec::new();
    let beat = heartbeat(look, &node.metadata.name);
    let ready = node.status.conditions.iter().find(|c| c.type_ == *"Ready");
    if beat > 0 && look.now().saturating_sub(beat) > SILENT && ready.is_some_and(|c| c.status == *"True") {
        timers.push(NodeTimer { what: NodeTimerKind::Silence, since: beat, at: beat + GRACE });
    }
    for taint in node.spec.taints.iter().filter(|t| t.effect == *"NoExecute") {
        let since = taint.time_added.unix().map_or(0, |t| look.virtual_time(t));
        let delay = |pod: &&&Pod| {
            let fits =
                pod.spec.tolerations.iter().filter(|t| scheduler::plugins::taint_toleration::tolerates(t, taint));
            let seconds: Vec<Option<i64>> = fits.map(|t| t.toleration_seconds).collect();
            // Tolerated without end, or not at all: no timer runs.
            if seconds.is_empty() { None } else { seconds.into_iter().flatten().min() }
        };
        let alive = |pod: &&&Pod| pod.metadata.deletion_timestamp.is_zero();
        let delays: Vec<i64> = pods.iter().filter(alive).filter_map(|p| delay(&p)).collect();
        if let Some(first) = delays.iter().min().and_then(|d| u64::try_from(*d).ok()) {
            timers.push(NodeTimer {
                what: NodeTimerKind::Eviction {
                    taint: taint.key.to_string(),
                    pods: u32::try_from(delays.len()).unwrap_or(u32::MAX),
                },
                since,
                at: since + first * 1_000_000_000,
            });
        }
    }
    timers
}

/// All of that.
pub fn state(look: &Look<'_>, node: &Node) -> NodeState {
    let name = &node.metadata.name;
    let all = look.list::<Pod>("");
    let here: Vec<&Pod> = all
        .iter()
        .filter(|p| p.spec.node_name == *name && p.status.phase != *"Succeeded" && p.status.phase != *"Failed")
        .map(|p| &**p)
        .collect();
    let conditions = node.status.conditions.iter().map(|c| ConditionRow {
        kind: c.type_.to_string(),
        status: c.status.to_string(),
        reason: c.reason.to_string(),
        message: c.message.to_string(),
        since: c.last_transition_time.unix().map_or(0, |t| look.virtual_time(t)),
        good: c.status == *(if c.type_ == *"Ready" { "True" } else { "False" }),
    });
    let has = Resources::of(&node.status.allocatable);
    let mut used = Resources::default();
    here.iter().for_each(|p| used.add(&pod_requests(p, false), 1));
    used.pods = i64::try_from(here.len()).unwrap_or(i64::MAX);
    let row = |name: &str, requested: String, part: i64, whole: i64| ResourceRow {
        name: name.into(),
        requested,
        allocatable: node.status.allocatable.get(name).map(Quantity::canonical).unwrap_or_default(),
        permille: u32::try_from(part.saturating_mul(1000).checked_div(whole).unwrap_or(0)).unwrap_or(0),
    };
    NodeState {
        conditions: conditions.collect(),
        taints: node.spec.taints.iter().map(taint_text).collect(),
        timers: timers(look, node, &here),
        heartbeat_at: heartbeat(look, name),
        resources: vec![
            row("cpu", format!("{}m", used.cpu), used.cpu, has.cpu),
            row("memory", format!("{}Mi", used.memory >> 20), used.memory, has.memory),
            row("pods", used.pods.to_string(), used.pods, has.pods),
        ],
    }
}
