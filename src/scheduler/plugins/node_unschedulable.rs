//! NodeUnschedulable: cordoned nodes, unless the pod tolerates the taint of the same meaning.

use super::taint_toleration::tolerates;
use crate::framework::{Cycle, Plugin};
use crate::node_info::NodeInfo;
use crate::queue::{Change, Hint};
use crate::verdict::Rejection;
use api::core_v1::Taint;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    filter: Some(filter),
    hints: &[Hint { change: Change::NodeAddedOrTaintsOrSpec, helps: Some(|_, node| !node.node.spec.unschedulable) }],
    ..Plugin::named("NodeUnschedulable")
};

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    if !node.node.spec.unschedulable {
        return None;
    }
    let taint =
        Taint { key: "node.kubernetes.io/unschedulable".into(), effect: "NoSchedule".into(), ..Taint::default() };
    let tolerated = cycle.pod.pod.spec.tolerations.iter().any(|t| tolerates(t, &taint));
    (!tolerated).then(|| Rejection::unresolvable("node(s) were unschedulable").with("spec.unschedulable: true"))
}
