//! PodTopologySpread: keeps matching pods even over zones, hosts or any other domain.

use super::node_affinity;
use super::taint_toleration::tolerates;
use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin, PreFilter};
use crate::node_info::{GroupSelector, NodeInfo, PodInfo, ZONE};
use crate::verdict::Rejection;
use api::Str;
use api::core_v1::{Node, Pod, TopologySpreadConstraint};
use api::selector::{LabelSelector, Operator, Requirement};
use std::collections::{BTreeMap, BTreeSet};

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
        Hint::when(&[Change::TargetPodTolerations, Change::TargetPodLabels], after_own_change),
        Hint::when(
            &[Change::NodeAdded, Change::NodeLabels, Change::NodeTaints, Change::NodeDeleted],
            after_node_changed,
        ),
    ],
    ..Plugin::named("PodTopologySpread")
};

const HOSTNAME: &str = "kubernetes.io/hostname";
const UNEVEN: &str = "node(s) didn't match pod topology spread constraints";
const NO_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

struct Constraint {
    max_skew: i64,
    key: Str,
    selector: GroupSelector,
    min_domains: usize,
    honor_affinity: bool,
    honor_taints: bool,
}

/// Of the filter: constraints with the matching pods of each domain.
#[derive(Default)]
pub struct State {
    constraints: Vec<Constraint>,
    counts: Vec<BTreeMap<Str, i64>>,
}

/// Of the score.
#[derive(Default)]
pub struct ScoreState {
    constraints: Vec<Constraint>,
    counts: Vec<BTreeMap<Str, i64>>,
    weights: Vec<f64>,
    ignored: BTreeSet<Str>,
}

fn constraints(pod: &Pod, action: &str) -> Vec<Constraint> {
    let read = |c: &TopologySpreadConstraint| {
        let mut requirements = LabelSelector::from_ptr(&c.label_selector).ok()?.requirements().to_vec();
        for key in c.match_label_keys.iter() {
            if let Some(value) = pod.metadata.labels.get(key) {
                requirements.push(Requirement::new(key.clone(), Operator::In, vec![value.clone()]).ok()?);
            }
        }
        Some(Constraint {
            max_skew: i64::from(c.max_skew),
            key: c.topology_key.clone(),
            selector: GroupSelector::new(pod.metadata.namespace.clone(), LabelSelector::new(requirements)),
            min_domains: c.min_domains.and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
            honor_affinity: c.node_affinity_policy.get() != Some("Ignore"),
            honor_taints: c.node_taints_policy.get() == Some("Honor"),
        })
    };
    let own = pod.spec.topology_spread_constraints.iter().filter(|c| c.when_unsatisfiable == *action);
    own.filter_map(read).collect()
}

/// The system's defaults: hosts with a skew of 3, zones with 5, both only preferred.
fn default_constraints(cycle: &Cycle<'_>) -> Vec<Constraint> {
    let Some(selector) = cycle.default_selector.clone().filter(|s| !s.is_empty()) else { return Vec::new() };
    let make = |(key, max_skew): (&str, i64)| Constraint {
        max_skew,
        key: key.into(),
        selector: GroupSelector::new(cycle.pod.pod.metadata.namespace.clone(), selector.clone()),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    [(HOSTNAME, 3), (ZONE, 5)].map(make).into()
}

impl Constraint {
    fn includes(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> bool {
        if self.honor_affinity && !node_affinity::matches(cycle.pod, &node.node) {
            return false;
        }
        let hard = |t: &&api::core_v1::Taint| t.effect == *"NoSchedule" || t.effect == *"NoExecute";
        let tolerations = &cycle.pod.pod.spec.tolerations;
        !self.honor_taints
            || node.node.spec.taints.iter().filter(hard).all(|taint| tolerations.iter().any(|t| tolerates(t, taint)))
    }
    fn count(&self, node: &NodeInfo) -> i64 {
        if self.selector.labels().is_empty() { 0 } else { self.selector.count(node) }
    }
    fn takes(&self, pod: &Pod) -> bool {
        self.selector.labels().matches(&pod.metadata.labels)
    }
}

fn has_all(node: &Node, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|c| node.metadata.labels.contains_key(&c.key))
}

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    let constraints = constraints(&cycle.pod.pod, "DoNotSchedule");
    if constraints.is_empty() {
        return PreFilter::Skip;
    }
    let mut counts = vec![BTreeMap::new(); constraints.len()];
    for node in cycle.snapshot.nodes.iter().filter(|n| has_all(&n.node, &constraints)) {
        for (c, counts) in constraints.iter().zip(&mut counts) {
            if c.includes(cycle, node)
                && let Some(value) = node.label(&c.key)
            {
                *counts.entry(value.clone()).or_insert(0) += c.count(node);
            }
        }
    }
    let _ = cycle.state.spread.set(State { constraints, counts });
    PreFilter::Go
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let state = cycle.state.spread.get()?;
    for (c, counts) in state.constraints.iter().zip(&state.counts) {
        let Some(value) = node.label(&c.key) else {
            return Some(Rejection::unresolvable(NO_LABEL).with(format!("no label {}", c.key)));
        };
        let least = if counts.len() < c.min_domains { 0 } else { counts.values().copied().min().unwrap_or(0) };
        let own = i64::from(c.takes(&cycle.pod.pod));
        let here = counts.get(value).copied().unwrap_or(0);
        let skew = here + own - least;
        if skew > c.max_skew {
            let numbers = format!("{here} in {value}, fewest {least}: skew {skew} > {}", c.max_skew);
            return Some(Rejection::unschedulable(UNEVEN).with(numbers));
        }
    }
    None
}

#[expect(clippy::cast_precision_loss, reason = "numbers of nodes")]
fn pre_score(cycle: &Cycle<'_>, passed: &[&NodeInfo]) -> bool {
    let own = !cycle.pod.pod.spec.topology_spread_constraints.is_empty();
    let constraints = if own { constraints(&cycle.pod.pod, "ScheduleAnyway") } else { default_constraints(cycle) };
    if constraints.is_empty() {
        return false;
    }
    let mut state = ScoreState { counts: vec![BTreeMap::new(); constraints.len()], ..ScoreState::default() };
    for node in passed {
        if own && !has_all(&node.node, &constraints) {
            state.ignored.insert(node.name().clone());
            continue;
        }
        for (c, counts) in constraints.iter().zip(&mut state.counts).filter(|(c, _)| c.key != *HOSTNAME) {
            // A node without the label is a domain of its own, named by the empty text.
            let value = node.label(&c.key).cloned().unwrap_or_default();
            counts.entry(value).or_insert(0);
        }
    }
    for (c, counts) in constraints.iter().zip(&state.counts) {
        let domains = if c.key == *HOSTNAME { passed.len() - state.ignored.len() } else { counts.len() };
        state.weights.push(libm::log((domains + 2) as f64));
    }
    for node in cycle.snapshot.nodes.iter().filter(|n| !own || has_all(&n.node, &constraints)) {
        // Hosts are counted one by one when they are scored.
        for (c, counts) in constraints.iter().zip(&mut state.counts).filter(|(c, _)| c.key != *HOSTNAME) {
            let value = node.label(&c.key).cloned().unwrap_or_default();
            if c.includes(cycle, node)
                && let Some(count) = counts.get_mut(&value)
            {
                *count += c.count(node);
            }
        }
    }
    state.constraints = constraints;
    let _ = cycle.state.spread_score.set(state);
    true
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "numbers of pods")]
fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let Some(state) = cycle.state.spread_score.get() else { return 0 };
    if state.ignored.contains(node.name()) {
        return 0;
    }
    let mut score = 0.0;
    for ((c, counts), weight) in state.constraints.iter().zip(&state.counts).zip(&state.weights) {
        let Some(value) = node.label(&c.key) else { continue };
        let count = if c.key == *HOSTNAME { c.count(node) } else { counts.get(value).copied().unwrap_or(0) };
        score += count as f64 * weight + (c.max_skew - 1) as f64;
    }
    libm::round(score) as i64
}

fn normalize(cycle: &Cycle<'_>, scores: &mut [i64], nodes: &[&NodeInfo]) {
    let Some(state) = cycle.state.spread_score.get() else { return };
    let counted = |node: &NodeInfo| !state.ignored.contains(node.name());
    let valid = || scores.iter().zip(nodes).filter(|(_, n)| counted(n)).map(|(s, _)| *s);
    let (min, max) = (valid().min().unwrap_or(0), valid().max().unwrap_or(0).max(0));
    for (score, node) in scores.iter_mut().zip(nodes) {
        *score = if !counted(node) {
            0
        } else if max == 0 {
            MAX_NODE_SCORE
        } else {
            MAX_NODE_SCORE * (max + min - *score) / max
        };
    }
}

fn after_pod_changed(info: &PodInfo, about: &About) -> bool {
    let (old, new) = about.pod();
    if old.or(new).is_some_and(|pod| pod.metadata.namespace != info.pod.metadata.namespace) {
        return false;
    }
    let constraints = constraints(&info.pod, "DoNotSchedule");
    match (old, new) {
        (Some(old), Some(new)) => labels_matter(&constraints, old, new),
        (Some(pod), None) | (None, Some(pod)) => constraints.iter().any(|c| c.takes(pod)),
        (None, None) => true,
    }
}

/// Whether a constraint counts the pod before or after a change of its labels only.
fn labels_matter(constraints: &[Constraint], old: &Pod, new: &Pod) -> bool {
    constraints.iter().any(|c| c.takes(old) != c.takes(new))
}

fn after_own_change(info: &PodInfo, about: &About) -> bool {
    let (Some(old), Some(new)) = about.pod() else { return true };
    let constraints = constraints(&info.pod, "DoNotSchedule");
    (old.spec.tolerations != new.spec.tolerations && constraints.iter().any(|c| c.honor_taints))
        || labels_matter(&constraints, old, new)
}

fn after_node_changed(info: &PodInfo, about: &About) -> bool {
    let constraints = constraints(&info.pod, "DoNotSchedule");
    match about.node() {
        (Some(old), Some(new)) => {
            let (was, is) = (has_all(old, &constraints), has_all(new, &constraints));
            let moved =
                || constraints.iter().any(|c| old.metadata.labels.get(&c.key) != new.metadata.labels.get(&c.key));
            was != is || (is && (moved() || old.spec.taints != new.spec.taints))
        }
        (Some(node), None) | (None, Some(node)) => has_all(node, &constraints),
        (None, None) => true,
    }
}
