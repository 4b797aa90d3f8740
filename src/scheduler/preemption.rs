//! Makes room for a pod by removing pods of lower priority (`framework/preemption`, `plugins/defaultpreemption`).

use crate::cache::Snapshot;
use crate::cycle::{first_rejection, pre_filter_all};
use crate::framework::Cycle;
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::{Code, NodeVerdict};
use api::SortSmall;
use api::Str;
use api::policy_v1::PodDisruptionBudget;
use api::selector::LabelSelector;
use api::{Rev, Time};
use std::rc::Rc;

/// A node on which removing some pods would make room.
pub struct Candidate {
    /// The node.
    pub node: Str,
    /// The pods to remove, most important first.
    pub victims: Vec<Rc<PodInfo>>,
    /// How many of them a disruption budget protects.
    pub violations: usize,
}

/// What preemption found.
pub enum Outcome {
    /// Removing these pods makes room.
    Found(Candidate),
    /// Nothing can be done; why, for the pod's message.
    None(String),
}

/// More important first: higher priority, then longer running.
fn importance(pod: &PodInfo) -> (std::cmp::Reverse<i32>, i64, Str) {
    let start = pod.pod.status.start_time.unix().unwrap_or(i64::MAX);
    (std::cmp::Reverse(pod.priority()), start, pod.pod.metadata.name.clone())
}

/// Whether budgets let a pod go; those that do are drawn down.
fn violates(pod: &PodInfo, budgets: &mut [(Rev<PodDisruptionBudget>, i64)]) -> bool {
    let mut violated = false;
    if pod.pod.metadata.labels.is_empty() {
        return false;
    }
    for (budget, allowed) in budgets.iter_mut().filter(|(b, _)| b.metadata.namespace == pod.pod.metadata.namespace) {
        let Ok(selector) = LabelSelector::from_ptr(&budget.spec.selector) else { continue };
        if selector.is_empty() || !selector.matches(&pod.pod.metadata.labels) {
            continue;
        }
        let known = budget.status.disrupted_pods.contains_key(&pod.pod.metadata.name);
        if !known {
            *allowed -= 1;
            violated |= *allowed < 0;
        }
    }
    violated
}

/// Whether the pod would pass all filters on `node`, the other nodes being as they are.
fn fits(pod: &PodInfo, snapshot: &Snapshot, node: &NodeInfo) -> bool {
    let changed = Rc::new(node.clone());
    let swap = |n: &Rc<NodeInfo>| if n.name() == node.name() { changed.clone() } else { n.clone() };
    let nodes = Rc::new(snapshot.nodes.iter().map(swap).collect());
    let snapshot = Snapshot {
        nodes,
        images: snapshot.images.clone(),
        namespaces: snapshot.namespaces.clone(),
        storage: snapshot.storage.clone(),
    };
    let cycle = Cycle::new(pod, &snapshot, None);
    match pre_filter_all(&cycle) {
        Ok(filters) => first_rejection(&cycle, &filters, &changed).is_none(),
        Err(_) => false,
    }
}

/// The smallest set of pods to remove from a node: all lower ones go, then as many as fit come back.
fn select_victims(
    pod: &PodInfo,
    snapshot: &Snapshot,
    node: &NodeInfo,
    budgets: &[Rev<PodDisruptionBudget>],
) -> Option<Candidate> {
    let mut node_left = node.clone();
    let mut lower: Vec<Rc<PodInfo>> = node.pods.iter().filter(|p| p.priority() < pod.priority()).cloned().collect();
    if lower.is_empty() {
        return None;
    }
    for victim in &lower {
        node_left.remove(&victim.key());
    }
    if !fits(pod, snapshot, &node_left) {
        return None;
    }
    lower.sort_small_by_key(|p| importance(p));
    let mut budgets: Vec<_> = budgets.iter().map(|b| (b.clone(), i64::from(b.status.disruptions_allowed))).collect();
    let (protected, free): (Vec<_>, Vec<_>) = lower.into_iter().partition(|p| violates(p, &mut budgets));
    let (mut victims, mut violations) = (Vec::new(), 0);
    for (list, counts) in [(protected, 1), (free, 0)] {
        for victim in list {
            node_left.add(victim.clone());
            if !fits(pod, snapshot, &node_left) {
                node_left.remove(&victim.key());
                violations += counts;
                victims.push(victim);
            }
        }
    }
    victims.sort_small_by_key(|p| importance(p));
    Some(Candidate { node: node.name().clone(), victims, violations })
}

/// Lower is better: violations, top priority, sum of priorities, number, then the latest start of the most important.
fn cost(candidate: &Candidate) -> (usize, i32, i64, usize, std::cmp::Reverse<i64>) {
    let top = candidate.victims.first().map_or(i32::MIN, |p| p.priority());
    let sum = candidate.victims.iter().map(|p| i64::from(p.priority()) + (1 << 31)).sum();
    let highest = candidate.victims.iter().filter(|p| p.priority() == top);
    let earliest = highest.map(|p| p.pod.status.start_time.unix().unwrap_or(i64::MAX)).min().unwrap_or(i64::MAX);
    (candidate.violations, top, sum, candidate.victims.len(), std::cmp::Reverse(earliest))
}

/// Candidates that are enough: a tenth of the nodes, at least 100 (`minCandidateNodesPercentage`, `...Absolute`).
fn enough(nodes: usize) -> usize {
    (nodes / 10).max(100).min(nodes)
}

/// Looks for a node on which lower pods could make way; `offset` is where to begin among the nodes.
pub fn run(
    pod: &PodInfo,
    snapshot: &Snapshot,
    verdicts: &[NodeVerdict],
    budgets: &[Rev<PodDisruptionBudget>],
    offset: usize,
) -> Outcome {
    let all = snapshot.nodes.len();
    if pod.pod.spec.preemption_policy.get() == Some("Never") {
        return Outcome::None("not eligible due to preemptionPolicy=Never.".into());
    }
    let nominated = &pod.pod.status.nominated_node_name;
    if let Some(node) = snapshot.node(nominated).filter(|_| !nominated.is_empty()) {
        let leaving = |p: &Rc<PodInfo>| {
            let disrupted =
                p.pod.status.conditions.iter().any(|c| {
                    c.type_ == *"DisruptionTarget" && c.status == *"True" && c.reason == *"PreemptionByScheduler"
                });
            p.priority() < pod.priority() && p.pod.metadata.deletion_timestamp != Time::default() && disrupted
        };
        if node.pods.iter().any(leaving) {
            return Outcome::None("not eligible due to a terminating pod on the nominated node.".into());
        }
    }
    let code =
        |name: &Str| verdicts.iter().find(|v| v.node == *name).and_then(|v| v.rejected.as_ref()).map(|r| r.1.code);
    let hopeful: Vec<_> = snapshot.nodes.iter().filter(|n| code(n.name()) == Some(Code::Unschedulable)).collect();
    let mut candidates = Vec::new();
    let start = offset.checked_rem(hopeful.len()).unwrap_or(0);
    for node in hopeful.iter().cycle().skip(start).take(hopeful.len()) {
        // Candidates that violate a budget are not enough by themselves.
        let sound = candidates.iter().any(|c: &Candidate| c.violations == 0);
        if sound && candidates.len() >= enough(hopeful.len()) {
            break;
        }
        candidates.extend(select_victims(pod, snapshot, node, budgets));
    }
    match candidates.into_iter().min_by_key(cost) {
        Some(best) => Outcome::Found(best),
        None => {
            let unhelpful = std::iter::repeat_n("Preemption is not helpful for scheduling", all - hopeful.len());
            let none = std::iter::repeat_n("No preemption victims found for incoming pod", hopeful.len());
            Outcome::None(crate::message::fit_error(all, unhelpful.chain(none), None))
        }
    }
}
