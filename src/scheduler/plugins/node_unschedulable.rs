//! NodeUnschedulable: cordoned nodes, unless the pod tolerates the taint of the same meaning.

use super::taint_toleration::tolerates;
use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::core_v1::Taint;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    filter: Some(filter),
    hints: &[
        Hint::when(&[Change::NodeAdded, Change::NodeTaints], after_node_changed),
        Hint::when(&[Change::TargetPodTolerations], |pod, _| is_tolerated(pod)),
    ],
    ..Plugin::named("NodeUnschedulable")
};

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    if !node.node.spec.unschedulable {
        return None;
    }
    (!is_tolerated(cycle.pod))
        .then(|| Rejection::unresolvable("node(s) were unschedulable").with("spec.unschedulable: true"))
}

fn is_tolerated(pod: &PodInfo) -> bool {
    let taint =
        Taint { key: "node.kubernetes.io/unschedulable".into(), effect: "NoSchedule".into(), ..Taint::default() };
    pod.pod.spec.tolerations.iter().any(|t| tolerates(t, &taint))
}

fn after_node_changed(_: &PodInfo, about: &About) -> bool {
    let (old, new) = about.node();
    old.is_none_or(|n| n.spec.unschedulable) && new.is_none_or(|n| !n.spec.unschedulable)
}
