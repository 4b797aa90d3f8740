//! Why: the chain of causes, the scheduler's verdicts, what would let a pod in, a loop's state, a node's timers.

use super::cluster_view::node_timers;
use super::cluster_view::{Observer, list, server, since_start, taint_text};
use super::control_plane::{number, short_loop};
use crate::cluster::World;
use api::core_v1::{Node, Pod};
use api::{AnyRev, Quantity};
use scheduler::verdict::{Attempt, NodeVerdict};
use std::collections::BTreeSet;
use view::{
    Cause, CauseKind, ConditionRow, Fact, FactGroup, FilterCell, FilterRow, LoopRun, LoopState, NodeState, ObjectRef,
    Remedy, ResourceRow, SchedulerTable, ScoreRow, TableNode, Why,
};

/// Links of a chain.
const MAX_LINKS: usize = 12;
/// Columns of the scheduler's table.
const MAX_COLUMNS: usize = 12;

/// Of an object.
pub fn of_object(world: &World, observer: &Observer, stored: &AnyRev, object: &ObjectRef) -> Why {
    let mut why = Why { causes: chain(world, stored, object), ..Why::default() };
    if let Some(pod) = stored.downcast::<Pod>() {
        let schedulers = world.observed().schedulers.borrow();
        let attempts = schedulers.values().filter_map(|s| s.last_attempt(&object.namespace, &object.name));
        if let Some(attempt) = attempts.max_by_key(|a| a.at) {
            why.scheduling = Some(table(world, &attempt));
            if attempt.message.is_some() && pod.spec.node_name.is_empty() {
                let at = attempt.at;
                why.causes.push(Cause { at, revision: 0, what: CauseKind::Unschedulable { took_micros: 0 } });
                why.remedies = remedies(world, &pod, &attempt);
            }
        }
    }
    if let Some(node) = stored.downcast::<Node>() {
        why.node = Some(node_state(world, observer, &node, object));
    }
    why
}

/// From the reader's command to the object's creation: each write's own causes, the first of them followed.
fn chain(world: &World, stored: &AnyRev, object: &ObjectRef) -> Vec<Cause> {
    let Some(server) = server(world) else { return Vec::new() };
    let is = |c: &apiserver::causes::Cause, o: &ObjectRef| {
        c.kind.kind == o.kind && *c.name == *o.name && (*c.namespace == *o.namespace || !c.kind.namespaced)
    };
    let _ = stored;
    // The write that made it, or the oldest that is still known.
    let all = server.causes.since(0);
    let Some((mut revision, mut cause)) = all.iter().find(|(_, c)| is(c, object)).map(|(r, c)| (*r, c.clone())) else {
        return vec![Cause { at: 0, revision: 0, what: CauseKind::Boot }];
    };
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        seen.insert(revision);
        out.push(link(revision, &cause, &server));
        if out.len() >= MAX_LINKS {
            break;
        }
        if &*cause.user == "kubernetes-admin" {
            let line = command_of(&cause);
            out.push(Cause { at: cause.time.as_nanos(), revision: 0, what: CauseKind::Command { line } });
            break;
        }
        let more = cause.causes.len();
        let Some(next) = cause.causes.iter().copied().filter(|r| !seen.contains(r) && *r < revision).min() else {
            break;
        };
        let Some(found) = server.causes.of(next) else { break };
        if more > 1 {
            out.push(Cause {
                at: cause.time.as_nanos(),
                revision: 0,
                what: CauseKind::Also { more: u32::try_from(more - 1).unwrap_or(u32::MAX) },
            });
        }
        revision = next;
        cause = found;
    }
    out.reverse();
    out
}

fn command_of(cause: &apiserver::causes::Cause) -> String {
    let target = format!("{}/{}", cause.kind.singular, cause.name);
    match cause.verb {
        "create" | "patch" if cause.agent.starts_with("kubectl") => format!("kubectl apply: {target}"),
        verb => format!("kubectl {verb} {target}"),
    }
}

/// `replicaset controller`, `scheduler`, `kubelet node-1`.
fn actor(user: &str) -> String {
    if let Some(node) = user.strip_prefix("system:node:") {
        return format!("kubelet {node}");
    }
    if let Some(account) = user.strip_prefix("system:serviceaccount:kube-system:") {
        return format!("{} controller", short_loop(account));
    }
    match user {
        "kubernetes-admin" => "kube-apiserver".into(),
        "system:kube-scheduler" => "scheduler".into(),
        "system:kube-controller-manager" => "kube-controller-manager".into(),
        other => other.trim_start_matches("system:").to_string(),
    }
}

fn link(revision: u64, cause: &apiserver::causes::Cause, server: &apiserver::Inner) -> Cause {
    let at = cause.time.as_nanos();
    let entry = server.audit.since(0).into_iter().find(|e| e.revision.get() == revision);
    Cause {
        at,
        revision,
        what: CauseKind::Write {
            verb: if &*cause.subresource == "binding" { "bind".into() } else { cause.verb.to_string() },
            object: ObjectRef {
                kind: cause.kind.kind.to_string(),
                namespace: cause.namespace.to_string(),
                name: cause.name.to_string(),
            },
            subresource: cause.subresource.to_string(),
            by: actor(&cause.user),
            wanted_actual: None,
            reason: String::new(),
            code: entry.as_ref().map_or(0, |e| e.code.get()),
            latency_micros: entry
                .and_then(|e| e.latency())
                .map_or(0, |l| u32::try_from(l.as_micros()).unwrap_or(u32::MAX)),
        },
    }
}

/// The default filter plugins in the order they run.
const FILTERS: [&str; 10] = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "InterPodAffinity",
];

fn short(plugin: &str, reason: &str) -> String {
    match plugin {
        "TaintToleration" => "taint".into(),
        "NodeAffinity" => "selector".into(),
        "NodeUnschedulable" => "cordoned".into(),
        "NodePorts" => "port".into(),
        "PodTopologySpread" => "spread".into(),
        "InterPodAffinity" => "affinity".into(),
        "NodeName" => "name".into(),
        _ => reason.strip_prefix("Insufficient ").unwrap_or(reason).to_string(),
    }
}

fn table(world: &World, attempt: &Attempt) -> SchedulerTable {
    let mut columns: Vec<&NodeVerdict> = attempt.nodes.iter().collect();
    if columns.len() > MAX_COLUMNS {
        // One of each refusal first, then the best.
        let mut kinds = BTreeSet::new();
        columns.sort_by_key(|n| {
            let kind = n.rejected.as_ref().map(|(plugin, _)| *plugin);
            (!(kind.is_some() && kinds.insert(kind)), std::cmp::Reverse(n.total))
        });
        columns.truncate(MAX_COLUMNS);
    }
    columns.sort_by(|a, b| a.node.cmp(&b.node));
    let nodes = list::<Node>(world, "", "nodes");
    let zone = |name: &str| {
        let node = nodes.iter().find(|n| *n.metadata.name == *name);
        node.and_then(|n| n.metadata.labels.get("topology.kubernetes.io/zone").map(ToString::to_string))
            .unwrap_or_default()
    };
    let mut plugins: Vec<&str> = FILTERS.to_vec();
    for (plugin, _) in columns.iter().filter_map(|n| n.rejected.as_ref()) {
        if !plugins.contains(plugin) {
            plugins.push(plugin);
        }
    }
    let filters = plugins
        .iter()
        .map(|plugin| FilterRow {
            plugin: (*plugin).to_string(),
            cells: columns.iter().map(|n| cell(n, plugin, &plugins)).collect(),
        })
        .collect();
    let mut scorers: Vec<(&str, i64)> = Vec::new();
    for score in columns.iter().flat_map(|n| &n.scores) {
        if !scorers.iter().any(|(p, _)| *p == score.plugin) {
            scorers.push((score.plugin, score.weight));
        }
    }
    let scores = scorers
        .iter()
        .map(|(plugin, weight)| ScoreRow {
            plugin: (*plugin).to_string(),
            weight: u32::try_from(*weight).unwrap_or(0),
            cells: columns
                .iter()
                .map(|n| n.scores.iter().find(|s| s.plugin == *plugin).map(|s| s.normalized))
                .collect(),
        })
        .collect();
    let chosen = attempt.chosen.as_ref().and_then(|c| columns.iter().position(|n| n.node == *c));
    SchedulerTable {
        attempt: 1,
        at: attempt.at,
        more_nodes: u32::try_from(attempt.nodes.len().saturating_sub(columns.len())).unwrap_or(0),
        nodes: columns.iter().map(|n| TableNode { name: n.node.to_string(), zone: zone(&n.node) }).collect(),
        filters,
        scores,
        totals: columns.iter().map(|n| (!n.scores.is_empty()).then_some(n.total)).collect(),
        chosen: chosen.and_then(|c| u32::try_from(c).ok()),
        message: attempt.message.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

fn cell(node: &NodeVerdict, plugin: &str, order: &[&str]) -> FilterCell {
    let Some((refuser, rejection)) = &node.rejected else { return FilterCell::Passed { detail: String::new() } };
    let place = |name: &str| order.iter().position(|p| *p == name).unwrap_or(usize::MAX);
    match place(plugin).cmp(&place(refuser)) {
        std::cmp::Ordering::Less => FilterCell::Passed { detail: String::new() },
        std::cmp::Ordering::Greater => FilterCell::NotRun,
        std::cmp::Ordering::Equal => {
            let reason = rejection.reasons.first();
            let text = reason.map(|r| r.text.to_string()).unwrap_or_default();
            FilterCell::Rejected {
                short: short(plugin, &text),
                detail: reason.map(|r| r.numbers.clone()).unwrap_or_default(),
                reason: text,
            }
        }
    }
}

/// What would let a pending pod in, worked out from each node's first refusal.
fn remedies(world: &World, pod: &Pod, attempt: &Attempt) -> Vec<Remedy> {
    let nodes = list::<Node>(world, "", "nodes");
    let mut out: Vec<Remedy> = Vec::new();
    for verdict in &attempt.nodes {
        let Some((plugin, rejection)) = &verdict.rejected else { continue };
        let Some(node) = nodes.iter().find(|n| n.metadata.name == verdict.node) else { continue };
        let name = verdict.node.to_string();
        match *plugin {
            "NodeResourcesFit" => {
                for reason in &rejection.reasons {
                    let Some(resource) = reason.text.strip_prefix("Insufficient ") else { continue };
                    out.extend(free(world, pod, node, resource));
                }
            }
            "TaintToleration" => {
                if let Some(taint) = node.spec.taints.iter().find(|t| &*t.effect != "PreferNoSchedule") {
                    let taint = taint_text(taint);
                    let command = format!("kubectl taint node {name} {taint}-");
                    out.push(Remedy::Untaint { node: name, taint, command });
                }
            }
            "NodeAffinity" => {
                for (key, value) in pod.spec.node_selector.iter() {
                    if node.metadata.labels.get(key) != Some(value) {
                        let label = format!("{key}={value}");
                        let command = format!("kubectl label node {name} {label} --overwrite");
                        out.push(Remedy::Label { node: name.clone(), label, command });
                    }
                }
            }
            "NodeUnschedulable" => {
                out.push(Remedy::Uncordon { command: format!("kubectl uncordon {name}"), node: name });
            }
            _ => {}
        }
    }
    for gate in pod.spec.scheduling_gates.iter() {
        out.push(Remedy::Gate { name: gate.name.to_string() });
    }
    out.truncate(6);
    // Pods without a place are tried again after five minutes at the latest.
    out.push(Remedy::Retry { at: attempt.at.saturating_add(300_000_000_000) });
    out
}

fn request(pod: &Pod, resource: &str) -> i64 {
    let amounts = pod.spec.containers.iter().filter_map(|c| c.resources.requests.get(resource));
    amounts.map(Quantity::milli_value).fold(0, i64::saturating_add)
}

fn free(world: &World, pod: &Pod, node: &Node, resource: &str) -> Option<Remedy> {
    let name = node.metadata.name.to_string();
    let whole = node.status.allocatable.get(resource)?.milli_value();
    let there: Vec<_> = list::<Pod>(world, "", "pods").into_iter().filter(|p| *p.spec.node_name == *name).collect();
    let used = there.iter().map(|p| request(p, resource)).fold(0, i64::saturating_add);
    let wanted = request(pod, resource);
    // A request that exceeds the whole node is not met by making room.
    if wanted > whole {
        let text =
            format!("{name}: {} of {resource} wanted, {} in all", amount(resource, wanted), amount(resource, whole));
        return Some(Remedy::Other { text, command: String::new() });
    }
    let short = wanted.saturating_sub(whole.saturating_sub(used));
    let largest = there.iter().max_by_key(|p| request(p, resource)).filter(|p| request(p, resource) > 0);
    Some(Remedy::Free {
        resource: resource.to_string(),
        amount: amount(resource, short.max(0)),
        node: name,
        largest: largest.map(|p| p.metadata.name.to_string()).unwrap_or_default(),
        largest_amount: largest.map(|p| amount(resource, request(p, resource))).unwrap_or_default(),
    })
}

fn amount(resource: &str, milli: i64) -> String {
    match resource {
        "cpu" => format!("{milli}m"),
        "memory" | "ephemeral-storage" => format!("{}Mi", milli.saturating_add((1000 << 20) - 1) / (1000 << 20)),
        _ => (milli / 1000).to_string(),
    }
}

fn node_state(world: &World, observer: &Observer, node: &Node, object: &ObjectRef) -> NodeState {
    let (timers, heartbeat_at) = node_timers(observer, &object.name);
    let pods: Vec<_> =
        list::<Pod>(world, "", "pods").into_iter().filter(|p| *p.spec.node_name == *object.name).collect();
    let resources = ["cpu", "memory", "pods"]
        .into_iter()
        .filter_map(|resource| {
            let whole = node.status.allocatable.get(resource)?.milli_value();
            let used = match resource {
                "pods" => i64::try_from(pods.len()).unwrap_or(0).saturating_mul(1000),
                _ => pods.iter().map(|p| request(p, resource)).fold(0, i64::saturating_add),
            };
            let permille = if whole == 0 { 0 } else { used.saturating_mul(1000) / whole };
            Some(ResourceRow {
                name: resource.to_string(),
                requested: amount(resource, used),
                allocatable: amount(resource, whole),
                permille: u32::try_from(permille).unwrap_or(0),
            })
        })
        .collect();
    NodeState {
        conditions: node
            .status
            .conditions
            .iter()
            .map(|c| ConditionRow {
                kind: c.type_.to_string(),
                status: c.status.to_string(),
                reason: c.reason.to_string(),
                message: c.message.to_string(),
                since: since_start(world, c.last_transition_time.unix()),
                good: if &*c.type_ == "Ready" { &*c.status == "True" } else { &*c.status == "False" },
            })
            .collect(),
        taints: node.spec.taints.iter().map(taint_text).collect(),
        timers,
        heartbeat_at,
        resources,
    }
}

/// A controller's loop by its short name.
pub fn control_loop(world: &World, name: &str) -> LoopState {
    let managers = world.observed().managers.borrow();
    let leader = managers.values().find(|m| m.is_leading()).or_else(|| managers.values().next());
    let found = leader.and_then(|m| m.controllers().into_iter().find(|c| short_loop(c.name) == short_loop(name)));
    let Some(found) = found else { return LoopState { name: name.into(), ..LoopState::default() } };
    let queues = found.queues();
    let ready: Vec<String> = queues.iter().flat_map(|(_, q)| q.processing.iter().chain(&q.ready).cloned()).collect();
    let last = found.last_run();
    let mut runs = Vec::new();
    let text = last.key.to_string();
    if !text.is_empty() && text != "/" {
        runs.push(LoopRun {
            at: world.sim().now().as_nanos() / 1_000_000_000 * 1_000_000_000,
            key: text,
            wanted_actual: number(&last.desired).zip(number(&last.actual)),
            action: last.action.clone(),
            ..LoopRun::default()
        });
    }
    LoopState {
        name: short_loop(found.name),
        workers: 5,
        more: u32::try_from(ready.len().saturating_sub(20)).unwrap_or(0),
        queue: ready.into_iter().take(20).collect(),
        retrying: queues
            .iter()
            .flat_map(|(_, q)| &q.waiting)
            .take(20)
            .map(|(at, key)| view::RetryingKey { key: key.clone(), failures: 1, at: at.as_nanos() })
            .collect(),
        runs,
        ..LoopState::default()
    }
}

/// A component's facts.
pub fn component(world: &World, name: &str) -> Vec<FactGroup> {
    let fact = |name: &str, value: String| Fact { name: name.into(), value, link: None };
    let observed = world.observed();
    if let Some(status) = observed.etcd.borrow().get(name).and_then(|m| m.status()) {
        return vec![
            FactGroup {
                name: "raft".into(),
                facts: vec![
                    fact("role", status.role.to_string()),
                    fact("term", status.term.to_string()),
                    fact("commit index", status.commit_index.to_string()),
                    fact("applied index", status.applied_index.to_string()),
                ],
            },
            FactGroup {
                name: "store".into(),
                facts: vec![
                    fact("revision", status.revision.to_string()),
                    fact("compacted", status.compact_revision.to_string()),
                    fact("keys", status.keys.to_string()),
                    fact("watches", status.watchers.to_string()),
                    fact("size", format!("{} KiB", status.db_size / 1024)),
                ],
            },
        ];
    }
    if let Some(inner) = observed.api_servers.borrow().get(name) {
        let count = |plural: &str| {
            let found = inner.resources.iter().find(|r| r.kind.plural == plural);
            found.map_or(0, |r| inner.cache.resource(r.index).len()).to_string()
        };
        let watches: usize = inner.resources.iter().map(|r| inner.cache.resource(r.index).watchers()).sum();
        return vec![
            FactGroup {
                name: "requests".into(),
                facts: vec![fact("served", inner.audit.count().to_string()), fact("watches", watches.to_string())],
            },
            FactGroup {
                name: "objects".into(),
                facts: ["nodes", "pods", "deployments", "replicasets", "services", "events", "leases", "namespaces"]
                    .map(|p| fact(p, count(p)))
                    .into(),
            },
        ];
    }
    if let Some(scheduler) = observed.schedulers.borrow().get(name) {
        let (active, backoff, unschedulable) = scheduler.queue_lengths();
        return vec![FactGroup {
            name: "scheduler".into(),
            facts: vec![
                fact("leads", scheduler.leads().to_string()),
                fact("cycles", scheduler.cycles().to_string()),
                fact("active", active.to_string()),
                fact("backoff", backoff.to_string()),
                fact("unschedulable", unschedulable.to_string()),
            ],
        }];
    }
    if let Some(manager) = observed.managers.borrow().get(name) {
        return vec![FactGroup {
            name: "controllers".into(),
            facts: manager
                .controllers()
                .iter()
                .map(|c| {
                    let adds: u64 = c.queues().iter().map(|(_, q)| q.adds).sum();
                    fact(&short_loop(c.name), format!("{adds} keys"))
                })
                .collect(),
        }];
    }
    Vec::new()
}
