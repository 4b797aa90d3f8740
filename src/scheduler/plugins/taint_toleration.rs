//! TaintToleration: refuses nodes with taints that the pod doesn't tolerate, prefers those with fewer soft ones.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, normalize_to_max};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::core_v1::{Node, Taint, Toleration};

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 3,
    filter: Some(filter),
    pre_score: Some(|_, _| true),
    score: Some(score),
    normalize: Some(|_, scores, _| normalize_to_max(scores, true)),
    hints: &[
        Hint::when(&[Change::NodeAdded, Change::NodeTaints], after_node_changed),
        Hint::always(&[Change::TargetPodTolerations]),
    ],
    ..Plugin::named("TaintToleration")
};

/// Whether a toleration covers a taint (`Toleration.ToleratesTaint`).
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    if !toleration.effect.is_empty() && toleration.effect != taint.effect {
        return false;
    }
    if !toleration.key.is_empty() && toleration.key != taint.key {
        return false;
    }
    match &*toleration.operator {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    }
}

fn untolerated<'a>(pod: &PodInfo, node: &'a Node) -> Option<&'a Taint> {
    let hard = |t: &&Taint| t.effect == *"NoSchedule" || t.effect == *"NoExecute";
    let tolerated = |taint: &Taint| pod.pod.spec.tolerations.iter().any(|t| tolerates(t, taint));
    node.spec.taints.iter().filter(hard).find(|taint| !tolerated(taint))
}

fn after_node_changed(pod: &PodInfo, about: &About) -> bool {
    let (old, new) = about.node();
    old.is_none_or(|n| untolerated(pod, n).is_some()) && new.is_none_or(|n| untolerated(pod, n).is_none())
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let taint = untolerated(cycle.pod, &node.node)?;
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    let numbers = format!("{}{value}:{}", taint.key, taint.effect);
    Some(Rejection::unresolvable("node(s) had untolerated taint(s)").with(numbers))
}

fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let soft = |t: &&Toleration| t.effect.is_empty() || t.effect == *"PreferNoSchedule";
    let tolerated = |taint: &Taint| cycle.pod.pod.spec.tolerations.iter().filter(soft).any(|t| tolerates(t, taint));
    let taints = node.node.spec.taints.iter().filter(|t| t.effect == *"PreferNoSchedule");
    i64::try_from(taints.filter(|t| !tolerated(t)).count()).unwrap_or(i64::MAX)
}
