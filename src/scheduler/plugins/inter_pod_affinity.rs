//! InterPodAffinity: near to or far from other pods, required and preferred, in both directions.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo, Term, Terms};
use crate::verdict::Rejection;
use api::Str;
use api::core_v1::{Node, Pod};
use std::collections::BTreeMap;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 2,
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    pre_score: Some(pre_score),
    score: Some(score),
    normalize: Some(normalize),
    hints: &[
        Hint::when(
            &[Change::AssignedPodAdded, Change::AssignedPodLabels, Change::AssignedPodDeleted],
            after_pod_changed,
        ),
        Hint::always(&[Change::TargetPodLabels]),
        Hint::when(&[Change::NodeAdded, Change::NodeLabels], after_node_changed),
    ],
    ..Plugin::named("InterPodAffinity")
};

/// What a required term of a pod on a node counts for the one to be placed (`hardPodAffinityWeight`).
const HARD_WEIGHT: i64 = 1;

/// Matching pods by topology key and value.
type Counts = BTreeMap<(Str, Str), i64>;

/// Of the filter.
#[derive(Default)]
pub struct State {
    /// Pods that refuse the one to be placed.
    existing_anti: Counts,
    /// Pods that match all affinity terms.
    affinity: Counts,
    /// Pods that match an anti-affinity term.
    anti_affinity: Counts,
}

/// Of the score: weight by topology key and value.
#[derive(Default)]
pub struct ScoreState(Counts);

fn matches(cycle: &Cycle<'_>, term: &Term, pod: &PodInfo) -> bool {
    term.matches(&pod.pod, &|namespace| cycle.snapshot.namespace_labels(namespace))
}

fn count(counts: &mut Counts, node: &NodeInfo, key: &Str, by: i64) {
    if let Some(value) = node.node.metadata.labels.get(key) {
        *counts.entry((key.clone(), value.clone())).or_insert(0) += by;
    }
}

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    let terms = &cycle.pod.terms;
    let mut state = State::default();
    let any_own = !terms.affinity.is_empty() || !terms.anti_affinity.is_empty();
    for node in cycle.snapshot.nodes.iter().filter(|n| any_own || n.with_terms > 0) {
        for other in &node.pods {
            for term in &other.terms.anti_affinity {
                if matches(cycle, term, cycle.pod) {
                    count(&mut state.existing_anti, node, &term.key, 1);
                }
            }
            if !terms.affinity.is_empty() && terms.affinity.iter().all(|t| matches(cycle, t, other)) {
                terms.affinity.iter().for_each(|t| count(&mut state.affinity, node, &t.key, 1));
            }
            for term in &terms.anti_affinity {
                if matches(cycle, term, other) {
                    count(&mut state.anti_affinity, node, &term.key, 1);
                }
            }
        }
    }
    if state.existing_anti.is_empty() && terms.affinity.is_empty() && terms.anti_affinity.is_empty() {
        return PreFilter::Skip;
    }
    let _ = cycle.state.affinity.set(state);
    PreFilter::Go
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let state = cycle.state.affinity.get()?;
    let labels = &node.node.metadata.labels;
    let at = |counts: &Counts, key: &Str| {
        labels.get(key).and_then(|value| counts.get(&(key.clone(), value.clone()))).copied().unwrap_or(0)
    };
    let terms = &cycle.pod.terms;
    let missing = terms.affinity.iter().find(|t| !labels.contains_key(&t.key) || at(&state.affinity, &t.key) == 0);
    if let Some(term) = missing {
        // The first of a group that wants to be together may start it, on a node that has the labels.
        let first = state.affinity.is_empty()
            && terms.affinity.iter().all(|t| matches(cycle, t, cycle.pod))
            && terms.affinity.iter().all(|t| labels.contains_key(&t.key));
        if !first {
            let numbers = format!("no matching pod in this {}", term.key);
            return Some(Rejection::unresolvable("node(s) didn't match pod affinity rules").with(numbers));
        }
    }
    if let Some(term) = terms.anti_affinity.iter().find(|t| at(&state.anti_affinity, &t.key) > 0) {
        let numbers = format!("{} matching in this {}", at(&state.anti_affinity, &term.key), term.key);
        return Some(Rejection::unschedulable("node(s) didn't match pod anti-affinity rules").with(numbers));
    }
    let refused = state.existing_anti.iter().find(|((key, value), n)| **n > 0 && labels.get(key) == Some(value));
    refused.map(|((key, _), n)| {
        let numbers = format!("{n} refusing in this {key}");
        Rejection::unschedulable("node(s) didn't satisfy existing pods anti-affinity rules").with(numbers)
    })
}

fn pre_score(cycle: &Cycle<'_>, _: &[&NodeInfo]) -> bool {
    let own = &cycle.pod.terms;
    let mut weights = Counts::new();
    let any_own = !own.preferred.is_empty() || !own.preferred_anti.is_empty();
    for node in cycle.snapshot.nodes.iter().filter(|n| any_own || n.with_terms > 0) {
        for other in node.pods.iter().filter(|p| any_own || p.has_terms) {
            for (list, sign) in [(&own.preferred, 1), (&own.preferred_anti, -1)] {
                for term in list.iter().filter(|t| matches(cycle, t, other)) {
                    count(&mut weights, node, &term.key, sign * i64::from(term.weight));
                }
            }
            for term in other.terms.affinity.iter().filter(|t| matches(cycle, t, cycle.pod)) {
                count(&mut weights, node, &term.key, HARD_WEIGHT);
            }
            for (list, sign) in [(&other.terms.preferred, 1), (&other.terms.preferred_anti, -1)] {
                for term in list.iter().filter(|t| matches(cycle, t, cycle.pod)) {
                    count(&mut weights, node, &term.key, sign * i64::from(term.weight));
                }
            }
        }
    }
    let some = !weights.is_empty();
    let _ = cycle.state.affinity_score.set(ScoreState(weights));
    some
}

fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let Some(state) = cycle.state.affinity_score.get() else { return 0 };
    let here = |key: &Str, value: &Str| node.node.metadata.labels.get(key) == Some(value);
    state.0.iter().filter(|((key, value), _)| here(key, value)).map(|(_, weight)| *weight).sum()
}

fn normalize(_: &Cycle<'_>, scores: &mut [i64], _: &[&NodeInfo]) {
    let (min, max) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
    for score in scores {
        *score = if max == min { 0 } else { MAX_NODE_SCORE * (*score - min) / (max - min) };
    }
}

/// Whether a term is about a pod, as hints ask: they know no labels of namespaces.
fn is_about(term: &Term, pod: &Pod) -> bool {
    term.matches(pod, &|_| api::Map::default())
}

fn after_pod_changed(info: &PodInfo, about: &About) -> bool {
    let terms = &info.terms;
    let wanted = |pod: &Pod| !terms.affinity.is_empty() && terms.affinity.iter().all(|t| is_about(t, pod));
    let avoided = |pod: &Pod| terms.anti_affinity.iter().any(|t| is_about(t, pod));
    match about.pod() {
        (Some(old), Some(new)) => (!wanted(old) && wanted(new)) || (avoided(old) && !avoided(new)),
        (None, Some(new)) => wanted(new),
        (Some(old), None) => avoided(old) || Terms::of(old).anti_affinity.iter().any(|t| is_about(t, &info.pod)),
        (None, None) => true,
    }
}

fn after_node_changed(info: &PodInfo, about: &About) -> bool {
    let (old, Some(new)) = about.node() else { return true };
    let label = |node: &Node, key: &Str| node.metadata.labels.get(key).cloned();
    let appears = |term: &Term| {
        let value = label(new, &term.key);
        value.is_some() && old.is_none_or(|old| label(old, &term.key) != value)
    };
    let moves =
        |term: &Term| old.is_none_or(|old| label(old, &term.key).is_some_and(|v| label(new, &term.key) != Some(v)));
    info.terms.affinity.iter().any(appears) || info.terms.anti_affinity.iter().any(moves)
}
