//! Makes room for a pod by removing pods of lower priority (`framework/preemption`, `plugins/defaultpreemption`).

use crate::cache::Snapshot;
use crate::cycle::{first_rejection, pre_filter_all};
use crate::framework::Cycle;
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::{Code, NodeVerdict, Rejection};
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
    /// The pod may not ask for room now; why, for its message. What it was promised stays.
    Ineligible(&'static str),
    /// Nothing can be done; why, for the pod's message. What it was promised is void.
    None(String),
}

/// More important first: higher priority, then longer running.
fn importance(pod: &PodInfo) -> (std::cmp::Reverse<i32>, i64, Str) {
    let start = pod.pod.status.start_time.unix().unwrap_or(i64::MAX);
    (std::cmp::Reverse(pod.priority()), start, pod.pod.metadata.name.clone())
}

/// Whether budgets let a pod go; those that do are drawn down.
fn violates(pod: &PodInfo, budgets: &mut [(Rev<PodDisruptionBudget>, i64)]) -> bool {
    if pod.pod.metadata.labels.is_empty() {
        return false;
    }
    for (budget, allowed) in budgets.iter_mut().filter(|(b, _)| b.metadata.namespace == pod.pod.metadata.namespace) {
        let Ok(selector) = LabelSelector::from_ptr(&budget.spec.selector) else { continue };
        if selector.is_empty() || !selector.matches(&pod.pod.metadata.labels) {
            continue;
        }
        if budget.status.disrupted_pods.contains_key(&pod.pod.metadata.name) {
            continue;
        }
        *allowed -= 1;
        // The first that is used up decides; those after it are not drawn down.
        if *allowed < 0 {
            return true;
        }
    }
    false
}

/// Gives a node as it will be once pods that were promised room there have come.
pub type Promised<'a> = &'a dyn Fn(&NodeInfo) -> Option<NodeInfo>;

/// Why the pod would not pass all filters on `node`, the other nodes being as they are; with the pods that were promised
/// room there and without.
fn refusal(pod: &PodInfo, snapshot: &Snapshot, node: &NodeInfo, promised: Promised<'_>) -> Option<Rejection> {
    let with = promised(node).and_then(|node| refusal_of(pod, snapshot, &node));
    with.or_else(|| refusal_of(pod, snapshot, node))
}

fn refusal_of(pod: &PodInfo, snapshot: &Snapshot, node: &NodeInfo) -> Option<Rejection> {
    let changed = Rc::new(node.clone());
    let swap = |n: &Rc<NodeInfo>| if n.name() == node.name() { changed.clone() } else { n.clone() };
    let nodes = Rc::new(snapshot.nodes.iter().map(swap).collect());
    let snapshot = Snapshot {
        nodes,
        images: snapshot.images.clone(),
        namespaces: snapshot.namespaces.clone(),
        storage: snapshot.storage.clone(),
        devices: snapshot.devices.clone(),
    };
    let cycle = Cycle::new(pod, &snapshot, None);
    match pre_filter_all(&cycle) {
        Ok(filters) => first_rejection(&cycle, &filters, &changed).map(|(_, rejection)| rejection),
        Err((_, rejection)) => Some(rejection),
    }
}

/// The smallest set of pods to remove from a node: all lower ones go, then as many as fit come back.
///
/// # Errors
/// Why the node won't do even so.
fn select_victims(
    pod: &PodInfo,
    snapshot: &Snapshot,
    node: &NodeInfo,
    budgets: &[Rev<PodDisruptionBudget>],
    promised: Promised<'_>,
) -> Result<Candidate, Rejection> {
    let mut node_left = node.clone();
    let mut lower: Vec<Rc<PodInfo>> = node.pods.iter().filter(|p| p.priority() < pod.priority()).cloned().collect();
    if lower.is_empty() {
        return Err(Rejection::unresolvable("No preemption victims found for incoming pod"));
    }
    for victim in &lower {
        node_left.remove(&victim.key());
    }
    if let Some(why) = refusal(pod, snapshot, &node_left, promised) {
        return Err(why);
    }
    lower.sort_small_by_key(|p| importance(p));
    let mut budgets: Vec<_> = budgets.iter().map(|b| (b.clone(), i64::from(b.status.disruptions_allowed))).collect();
    let (protected, free): (Vec<_>, Vec<_>) = lower.into_iter().partition(|p| violates(p, &mut budgets));
    let (mut victims, mut violations) = (Vec::new(), 0);
    for (list, counts) in [(protected, 1), (free, 0)] {
        for victim in list {
            node_left.add(victim.clone());
            if refusal(pod, snapshot, &node_left, promised).is_some() {
                node_left.remove(&victim.key());
                violations += counts;
                victims.push(victim);
            }
        }
    }
    victims.sort_small_by_key(|p| importance(p));
    Ok(Candidate { node: node.name().clone(), victims, violations })
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
    promised: Promised<'_>,
) -> Outcome {
    let all = snapshot.nodes.len();
    if pod.pod.spec.preemption_policy.get() == Some("Never") {
        return Outcome::Ineligible("not eligible due to preemptionPolicy=Never.");
    }
    let code =
        |name: &Str| verdicts.iter().find(|v| v.node == *name).and_then(|v| v.rejected.as_ref()).map(|r| r.1.code);
    let nominated = &pod.pod.status.nominated_node_name;
    // A node that won't do whoever leaves is given up for another.
    let waits = !nominated.is_empty() && code(nominated) != Some(Code::Unresolvable);
    if let Some(node) = snapshot.node(nominated).filter(|_| waits) {
        let leaving = |p: &Rc<PodInfo>| {
            let disrupted = p.pod.status.conditions.iter().find(|c| c.type_ == *"DisruptionTarget");
            p.priority() < pod.priority()
                && p.pod.metadata.deletion_timestamp != Time::default()
                && disrupted.is_some_and(|c| c.status == *"True" && c.reason == *"PreemptionByScheduler")
        };
        if node.pods.iter().any(leaving) {
            return Outcome::Ineligible("not eligible due to a terminating pod on the nominated node.");
        }
    }
    let hopeful: Vec<_> = snapshot.nodes.iter().filter(|n| code(n.name()) == Some(Code::Unschedulable)).collect();
    let (mut candidates, mut reasons) = (Vec::new(), Vec::new());
    let start = offset.checked_rem(hopeful.len()).unwrap_or(0);
    for node in hopeful.iter().cycle().skip(start).take(hopeful.len()) {
        // Candidates that violate a budget are not enough by themselves.
        let sound = candidates.iter().any(|c: &Candidate| c.violations == 0);
        if sound && candidates.len() >= enough(hopeful.len()) {
            break;
        }
        match select_victims(pod, snapshot, node, budgets, promised) {
            Ok(candidate) => candidates.push(candidate),
            Err(why) => reasons.extend(why.reasons.into_iter().map(|r| r.text)),
        }
    }
    match candidates.into_iter().min_by_key(cost) {
        Some(best) => Outcome::Found(best),
        None => {
            let unhelpful = std::iter::repeat_n("Preemption is not helpful for scheduling", all - hopeful.len());
            let reasons = reasons.iter().map(|r| &**r);
            Outcome::None(crate::message::fit_error(all, unhelpful.chain(reasons), None))
        }
    }
}
