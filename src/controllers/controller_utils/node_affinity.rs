//! Whether a node suits a pod's node selector and required node affinity (`component-helpers/scheduling/nodeaffinity`).

use api::core_v1::{Affinity, Node, NodeSelectorRequirement, NodeSelectorTerm};
use api::{Map, Str};

/// Whether a node has all selected labels and matches one of the required terms.
pub fn matches_node(selector: &Map<Str>, affinity: Option<&Affinity>, node: &Node) -> bool {
    if !selector.iter().all(|(k, v)| node.metadata.labels.get(k) == Some(v)) {
        return false;
    }
    let required = affinity
        .and_then(|a| a.node_affinity.get())
        .and_then(|a| a.required_during_scheduling_ignored_during_execution.get());
    required.is_none_or(|r| r.node_selector_terms.iter().any(|t| matches_term(t, node)))
}

fn matches_term(term: &NodeSelectorTerm, node: &Node) -> bool {
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return false;
    }
    let field = |r: &NodeSelectorRequirement| (r.key == "metadata.name").then_some(&node.metadata.name);
    term.match_expressions.iter().all(|r| matches_requirement(r, node.metadata.labels.get(&r.key)))
        && term.match_fields.iter().all(|r| matches_requirement(r, field(r)))
}

fn matches_requirement(r: &NodeSelectorRequirement, value: Option<&Str>) -> bool {
    let number = |s: &str| s.parse::<i64>().ok();
    let compare = |f: fn(i64, i64) -> bool| {
        let limit = r.values.first().and_then(|v| number(v));
        value.and_then(|v| number(v)).zip(limit).is_some_and(|(v, l)| f(v, l))
    };
    match &*r.operator {
        "In" => value.is_some_and(|v| r.values.contains(v)),
        "NotIn" => value.is_none_or(|v| !r.values.contains(v)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(|v, l| v > l),
        "Lt" => compare(|v, l| v < l),
        _ => false,
    }
}
