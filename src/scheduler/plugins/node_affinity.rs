//! NodeAffinity: nodeSelector and node affinity, required and preferred.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter, normalize_to_max};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::Str;
use api::core_v1::{Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use std::collections::BTreeSet;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 2,
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    pre_score: Some(pre_score),
    score: Some(score),
    normalize: Some(|_, scores, _| normalize_to_max(scores, false)),
    hints: &[Hint::when(&[Change::NodeAdded, Change::NodeLabels], after_node_changed)],
    ..Plugin::named("NodeAffinity")
};

const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
/// The only field that node selectors know.
const NAME_FIELD: &str = "metadata.name";

fn required(pod: &PodInfo) -> Option<&NodeSelector> {
    let affinity = pod.pod.spec.affinity.get()?.node_affinity.get()?;
    affinity.required_during_scheduling_ignored_during_execution.get()
}

/// Whether a requirement holds for a value that may be missing.
fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let listed = value.is_some_and(|v| requirement.values.iter().any(|w| **w == *v));
    let compare = |less: bool| {
        let (Some(a), Some(b)) = (value.and_then(|v| v.parse::<i64>().ok()), requirement.values.first()) else {
            return false;
        };
        b.parse::<i64>().is_ok_and(|b| if less { a < b } else { a > b })
    };
    match &*requirement.operator {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(false),
        "Lt" => compare(true),
        _ => false,
    }
}

/// Whether all of a term holds; an empty term matches nothing.
pub fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return false;
    }
    let label = |key: &str| node.metadata.labels.get(key).map(|v| &**v);
    term.match_expressions.iter().all(|r| holds(r, label(&r.key)))
        && term.match_fields.iter().all(|r| *r.key == *NAME_FIELD && holds(r, Some(&node.metadata.name)))
}

/// Whether the pod's selector and required affinity take the node.
pub fn matches(pod: &PodInfo, node: &Node) -> bool {
    let labels = &node.metadata.labels;
    pod.pod.spec.node_selector.iter().all(|(k, v)| labels.get(k) == Some(v))
        && required(pod).is_none_or(|s| s.node_selector_terms.iter().any(|t| term_matches(t, node)))
}

fn after_node_changed(pod: &PodInfo, about: &About) -> bool {
    let (old, new) = about.node();
    new.is_none_or(|n| matches(pod, n)) && old.is_none_or(|n| !matches(pod, n))
}

/// Nodes named by `metadata.name In [...]` in all terms, so that the others need not be looked at.
fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    let pod = cycle.pod;
    let Some(selector) = required(pod) else {
        return if pod.pod.spec.node_selector.is_empty() { PreFilter::Skip } else { PreFilter::Go };
    };
    let mut all = BTreeSet::<Str>::new();
    for term in selector.node_selector_terms.iter() {
        let mut named: Option<BTreeSet<Str>> = None;
        for field in term.match_fields.iter().filter(|r| *r.key == *NAME_FIELD && r.operator == *"In") {
            let names: BTreeSet<Str> = field.values.iter().cloned().collect();
            named = Some(match named {
                Some(before) => before.intersection(&names).cloned().collect(),
                None => names,
            });
        }
        match named {
            // One term that names no node lets all nodes in.
            None => return PreFilter::Go,
            Some(names) => all.extend(names),
        }
    }
    if all.is_empty() && !selector.node_selector_terms.is_empty() {
        return PreFilter::Reject(Rejection::unresolvable("pod affinity terms conflict"));
    }
    PreFilter::Nodes(all.into_iter().collect())
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    if matches(cycle.pod, &node.node) {
        return None;
    }
    let labels = &node.node.metadata.labels;
    let spec = &cycle.pod.pod.spec;
    let missing = spec.node_selector.iter().find(|(k, v)| labels.get(k) != Some(v)).map(|(k, v)| {
        let has = labels.get(k).map_or_else(|| "none".to_string(), |v| v.to_string());
        format!("wanted {k}={v}, node has {has}")
    });
    let numbers = missing.unwrap_or_else(|| "no term of the required node affinity matches".into());
    Some(Rejection::unresolvable(REASON).with(numbers))
}

fn pre_score(cycle: &Cycle<'_>, _: &[&NodeInfo]) -> bool {
    let affinity = cycle.pod.pod.spec.affinity.get().and_then(|a| a.node_affinity.get());
    affinity.is_some_and(|a| !a.preferred_during_scheduling_ignored_during_execution.is_empty())
}

fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let Some(affinity) = cycle.pod.pod.spec.affinity.get().and_then(|a| a.node_affinity.get()) else { return 0 };
    let preferred = affinity.preferred_during_scheduling_ignored_during_execution.iter();
    // A preferred term that is empty matches every node.
    let fits = |t: &NodeSelectorTerm| {
        t.match_expressions.is_empty() && t.match_fields.is_empty() || term_matches(t, &node.node)
    };
    preferred.filter(|t| t.weight != 0 && fits(&t.preference)).map(|t| i64::from(t.weight)).sum()
}
