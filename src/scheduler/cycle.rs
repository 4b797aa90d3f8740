//! One scheduling cycle: filter, score, choose (`schedule_one.go`). Pure but for the choice among equals.

use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin, PreFilter};
use crate::node_info::NodeInfo;
use crate::plugins;
use crate::verdict::{Code, NodeVerdict, Rejection, Score};
use api::Str;
use sim::Rng;
use std::rc::Rc;

/// The filters that have something to do, and the nodes to look at if not all.
pub(crate) struct Filters {
    plugins: Vec<&'static Plugin>,
    only: Option<(Vec<Str>, Vec<&'static str>)>,
}

/// Asks the PreFilter plugins; the one that refuses the pod altogether, if one does.
pub(crate) fn pre_filter_all(cycle: &Cycle<'_>) -> Result<Filters, (&'static str, Rejection)> {
    let mut filters = Filters { plugins: Vec::new(), only: None };
    for plugin in plugins::ALL {
        match plugin.pre_filter.map(|f| f(cycle)) {
            Some(PreFilter::Skip) => continue,
            Some(PreFilter::Reject(rejection)) => return Err((plugin.name, rejection)),
            Some(PreFilter::Nodes(names)) => {
                let (nodes, by) = filters.only.get_or_insert_with(|| (names.clone(), Vec::new()));
                nodes.retain(|n| names.contains(n));
                by.push(plugin.name);
            }
            Some(PreFilter::Go) | None => {}
        }
        if plugin.filter.is_some() {
            filters.plugins.push(plugin);
        }
    }
    Ok(filters)
}

/// The first plugin that refuses a node.
pub(crate) fn first_rejection(
    cycle: &Cycle<'_>,
    filters: &Filters,
    node: &NodeInfo,
) -> Option<(&'static str, Rejection)> {
    if let Some((names, by)) = &filters.only
        && !names.contains(node.name())
    {
        let text = format!("node(s) didn't satisfy plugin(s) [{}]", by.join(" "));
        let reason = crate::verdict::Reason { text: text.into(), numbers: String::new() };
        let rejection = Rejection { code: crate::verdict::Code::Unresolvable, reasons: vec![reason] };
        return Some((by.first().copied().unwrap_or("NodeAffinity"), rejection));
    }
    filters.plugins.iter().find_map(|p| Some((p.name, p.filter?(cycle, node)?)))
}

/// What came of a cycle.
pub(crate) struct Outcome {
    pub nodes: Vec<NodeVerdict>,
    pub pre_filter: Option<(&'static str, Rejection)>,
    pub chosen: Option<Str>,
    pub evaluated: usize,
    pub feasible: usize,
    /// Why a plugin had no answer.
    pub error: Option<String>,
}

/// How many feasible nodes are enough (`numFeasibleNodesToFind`).
pub(crate) fn enough_nodes(all: usize) -> usize {
    /// Up to here all are looked at.
    const MIN: usize = 100;
    if all < MIN {
        return all;
    }
    let percent = 50usize.saturating_sub(all / 125).max(5);
    (all * percent / 100).max(MIN)
}

/// Runs the cycle. `start` is the node to begin with and moves on, so that all nodes get their turn. `with_nominated`
/// gives a node as it will be once pods that were promised room there have come.
pub(crate) fn schedule(
    cycle: &Cycle<'_>,
    start: &mut usize,
    with_nominated: &dyn Fn(&NodeInfo) -> Option<NodeInfo>,
    rng: &mut Rng,
) -> Outcome {
    let all = &cycle.snapshot.nodes;
    let mut outcome =
        Outcome { nodes: Vec::new(), pre_filter: None, chosen: None, evaluated: 0, feasible: 0, error: None };
    let filters = match pre_filter_all(cycle) {
        Ok(filters) => filters,
        Err((plugin, rejection)) => {
            let reject = |n: &Rc<NodeInfo>| NodeVerdict {
                node: n.name().clone(),
                rejected: Some((plugin, rejection.clone())),
                scores: Vec::new(),
                total: 0,
            };
            outcome.nodes = all.iter().map(reject).collect();
            outcome.pre_filter = Some((plugin, rejection));
            return outcome;
        }
    };
    let refusal = |node: &NodeInfo| {
        with_nominated(node)
            .and_then(|promised| first_rejection(cycle, &filters, &promised))
            .or_else(|| first_rejection(cycle, &filters, node))
    };
    // The node on which preemption made room is taken if it will do, however good others are.
    let promised = cycle.snapshot.node(&cycle.pod.pod.status.nominated_node_name);
    if let Some(node) = promised.filter(|node| refusal(node).is_none()) {
        let name = node.name().clone();
        outcome.nodes.push(NodeVerdict { node: name.clone(), rejected: None, scores: Vec::new(), total: 0 });
        (outcome.evaluated, outcome.feasible, outcome.chosen) = (1, 1, Some(name));
        return outcome;
    }
    let (wanted, mut passed) = (enough_nodes(all.len()), Vec::<&NodeInfo>::new());
    let from = start.checked_rem(all.len()).unwrap_or(0);
    for node in all.iter().cycle().skip(from).take(all.len()) {
        outcome.evaluated += 1;
        let rejected = refusal(node);
        if let Some((plugin, why)) = rejected.as_ref().filter(|(_, r)| r.code == Code::Error) {
            let why = why.reasons.first().map(|r| &*r.text).unwrap_or_default();
            outcome.error = Some(format!("running \"{plugin}\" filter plugin: {why}"));
            return outcome;
        }
        if rejected.is_none() {
            passed.push(node);
        }
        outcome.nodes.push(NodeVerdict { node: node.name().clone(), rejected, scores: Vec::new(), total: 0 });
        if passed.len() >= wanted {
            break;
        }
    }
    *start = (from + outcome.evaluated).checked_rem(all.len()).unwrap_or(0);
    outcome.feasible = passed.len();
    match passed.as_slice() {
        [] => {}
        [one] => outcome.chosen = Some(one.name().clone()),
        many => {
            outcome.error = score(cycle, many, &mut outcome.nodes).err();
            outcome.chosen = choose(&outcome.nodes, rng);
        }
    }
    outcome
}

/// Scores the nodes that passed. What is asked for may be beyond what the plugins' numbers hold.
///
/// # Errors
/// A score that no plugin may give.
fn score(cycle: &Cycle<'_>, passed: &[&NodeInfo], verdicts: &mut [NodeVerdict]) -> Result<(), String> {
    let scoring: Vec<_> = plugins::ALL
        .iter()
        .filter_map(|plugin| Some((plugin, plugin.score?)))
        .filter(|(plugin, _)| plugin.pre_score.is_none_or(|f| f(cycle, passed)))
        .collect();
    for verdict in verdicts.iter_mut().filter(|v| v.rejected.is_none()) {
        verdict.scores.reserve_exact(scoring.len());
    }
    for (plugin, score) in scoring {
        let raw: Vec<i64> = passed.iter().map(|n| score(cycle, n)).collect();
        let mut normalized = raw.clone();
        if let Some(normalize) = plugin.normalize {
            normalize(cycle, &mut normalized, passed);
        }
        let feasible = verdicts.iter_mut().filter(|v| v.rejected.is_none());
        for ((verdict, raw), normalized) in feasible.zip(raw).zip(normalized) {
            verdict.scores.push(Score { plugin: plugin.name, raw, normalized, weight: plugin.weight });
            if !(0..=MAX_NODE_SCORE).contains(&normalized) {
                return Err(format!(
                    "applying score defaultWeights on Score plugins: plugin {:?} returns an invalid score {normalized}, it \
                     should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
                    plugin.name
                ));
            }
            verdict.total += normalized * plugin.weight;
        }
    }
    Ok(())
}

/// One of those with the highest score, each as likely as the others.
fn choose(verdicts: &[NodeVerdict], rng: &mut Rng) -> Option<Str> {
    let feasible = || verdicts.iter().filter(|v| v.rejected.is_none());
    let best = feasible().map(|v| v.total).max()?;
    let top: Vec<_> = feasible().filter(|v| v.total == best).collect();
    top.get(rng.index(top.len())).map(|v| v.node.clone())
}
