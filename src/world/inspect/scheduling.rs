//! The scheduler's table: plugin by node, with the numbers behind each verdict.

use super::look::Look;
use api::SortSmall;
use scheduler::verdict::{Attempt, NodeVerdict, Reason};
use scheduler::{Scheduler, plugins};
use view::{FilterCell, FilterRow, SchedulerTable, ScoreRow, TableNode};

/// Columns at most.
const COLUMNS: usize = 12;

/// The last try of a pod by any of the schedulers.
pub fn attempt(look: &Look<'_>, namespace: &str, name: &str) -> Option<Attempt> {
    let schedulers = look.world.observed().schedulers.borrow();
    schedulers.values().filter_map(|s: &Scheduler| s.last_attempt(namespace, name)).max_by_key(|a| a.at)
}

/// A reason in a word.
fn short(plugin: &str, reason: &Reason) -> String {
    match plugin {
        "NodeResourcesFit" => reason.text.strip_prefix("Insufficient ").unwrap_or("pods").into(),
        "TaintToleration" => "taint".into(),
        "NodeAffinity" => "selector".into(),
        "NodeUnschedulable" => "cordoned".into(),
        "NodeName" => "name".into(),
        "NodePorts" => "port".into(),
        "PodTopologySpread" => "spread".into(),
        "InterPodAffinity" => "affinity".into(),
        other => other.into(),
    }
}

/// Nodes to show: those refused, each kind of refusal in turn, then the best.
fn columns(attempt: &Attempt) -> Vec<&NodeVerdict> {
    let mut refused: Vec<&NodeVerdict> = attempt.nodes.iter().filter(|n| n.rejected.is_some()).collect();
    let mut passed: Vec<&NodeVerdict> = attempt.nodes.iter().filter(|n| n.rejected.is_none()).collect();
    passed.sort_small_by_key(|n| std::cmp::Reverse(n.total));
    if attempt.nodes.len() > COLUMNS {
        // One of each kind first, so that none is hidden by many of another.
        let kind = |n: &NodeVerdict| n.rejected.as_ref().map(|(p, r)| (*p, r.reasons.first().map(|r| r.text.clone())));
        let mut first = Vec::new();
        for node in &refused {
            if !first.iter().any(|f: &&NodeVerdict| kind(f) == kind(node)) {
                first.push(*node);
            }
        }
        let room = COLUMNS.saturating_sub(passed.len().min(COLUMNS / 2));
        first.extend(refused.iter().filter(|n| !first.iter().any(|f| f.node == n.node)).copied().collect::<Vec<_>>());
        first.truncate(room);
        refused = first;
    } else {
        refused.sort_small_by(|a, b| a.node.cmp(&b.node));
        passed.sort_small_by(|a, b| a.node.cmp(&b.node));
    }
    refused.extend(passed);
    refused.truncate(COLUMNS);
    if attempt.nodes.len() <= COLUMNS {
        refused.sort_small_by(|a, b| a.node.cmp(&b.node));
    }
    refused
}

/// The table of a try.
pub fn table(look: &Look<'_>, attempt: &Attempt) -> SchedulerTable {
    let shown = columns(attempt);
    let zone = |name: &str| {
        let node = look.typed::<api::core_v1::Node>("", name);
        node.and_then(|n| n.metadata.labels.get("topology.kubernetes.io/zone").map(ToString::to_string))
    };
    let place = |plugin: &str| plugins::ALL.iter().position(|p| p.name == plugin).unwrap_or(usize::MAX);
    let filters = plugins::ALL.iter().enumerate().filter(|(_, p)| p.filter.is_some()).map(|(at, plugin)| {
        let cell = |node: &&NodeVerdict| match &node.rejected {
            Some((by, _)) if place(by) < at => FilterCell::NotRun,
            Some((by, rejection)) if *by == plugin.name => {
                let reason = rejection.reasons.first().cloned().unwrap_or_else(|| Reason::plain(""));
                let all: Vec<&str> =
                    rejection.reasons.iter().map(|r| r.numbers.as_str()).filter(|n| !n.is_empty()).collect();
                FilterCell::Rejected {
                    short: short(by, &reason),
                    detail: all.join("; "),
                    reason: rejection.reasons.iter().map(|r| &*r.text).collect::<Vec<_>>().join(", "),
                }
            }
            _ => FilterCell::Passed { detail: String::new() },
        };
        FilterRow { plugin: plugin.name.into(), cells: shown.iter().map(cell).collect() }
    });
    let scored = |plugin: &&&'static scheduler::framework::Plugin| {
        shown.iter().any(|n| n.scores.iter().any(|s| s.plugin == plugin.name))
    };
    let scores = plugins::ALL.iter().filter(scored).map(|plugin| ScoreRow {
        plugin: plugin.name.into(),
        weight: u32::try_from(plugin.weight).unwrap_or(0),
        cells: shown.iter().map(|n| n.scores.iter().find(|s| s.plugin == plugin.name).map(|s| s.normalized)).collect(),
    });
    SchedulerTable {
        attempt: attempt.number,
        at: attempt.at,
        nodes: shown
            .iter()
            .map(|n| TableNode { name: n.node.to_string(), zone: zone(&n.node).unwrap_or_default() })
            .collect(),
        more_nodes: u32::try_from(attempt.nodes.len().saturating_sub(shown.len())).unwrap_or(u32::MAX),
        filters: filters.collect(),
        scores: scores.collect(),
        totals: shown.iter().map(|n| (!n.scores.is_empty()).then_some(n.total)).collect(),
        chosen: attempt
            .chosen
            .as_ref()
            .and_then(|c| shown.iter().position(|n| n.node == *c))
            .and_then(|i| u32::try_from(i).ok()),
        message: attempt.message.as_deref().unwrap_or_default().into(),
    }
}
