//! What stands above the nodes: members, doors, loops, the scheduler.

use super::cluster_view::{get, list, micro};
use super::pods;
use crate::cluster::World;
use api::apps_v1::{Deployment, ReplicaSet, StatefulSet};
use api::coordination_v1::Lease;
use api::core_v1::{Node, Pod};
use api::{Rev, SortSmall};
use apiserver::audit::{Entry, Stage};
use std::collections::BTreeMap;
use std::rc::Rc;
use view::{
    ApiServerView, ControlPlane, DoorStage, EtcdMemberView, LeaseView, LoopView, NodeRejection, NodeScore,
    PassingRequest, ProcessState, ProcessView, RaftRole, SchedulingPhase, SchedulingView, StorageDown, WaitingPod,
};

const MILLI: u64 = 1_000_000;
/// How long a finished write stays lit in the door, in virtual nanoseconds.
const LIT: u64 = 150 * MILLI;
/// How long the scheduler's card tells of a pod that was bound while others wait.
const TOLD: u64 = 3000 * MILLI;
/// Waiting pods that are named at most.
const WAITING: usize = 8;
/// How long a loop counts as working after its last run.
const WARM: u64 = 200 * MILLI;

/// What has to be remembered from look to look.
#[derive(Default)]
pub struct Looks {
    /// Keys ever added to a loop's queues, and when that last rose.
    loops: BTreeMap<&'static str, (u64, u64)>,
}

/// A component's process.
pub(crate) fn process(world: &World, name: &str) -> ProcessView {
    let components = world.machines().components();
    let host = components.iter().find(|c| *c.name == *name).map(|c| world.sim().host_name(c.host));
    let cut =
        world.sim().cuts().iter().any(|(a, b)| b.is_none() && matches!(a, sim::Scope::Process(n) if **n == *name));
    ProcessView {
        name: name.to_string(),
        host: host.map(|h| h.to_string()).unwrap_or_default(),
        state: match (world.machines().is_running(name), cut) {
            (false, _) if world.machines().restart_of(name).is_some() => ProcessState::Starting,
            (false, _) => ProcessState::Stopped,
            (true, true) => ProcessState::CutOff,
            (true, false) => ProcessState::Running,
        },
    }
}

pub(crate) fn of_kind(world: &World, kind: &str) -> Vec<ProcessView> {
    let components = world.machines().components();
    components.iter().filter(|c| c.kind == kind && c.node.is_none()).map(|c| process(world, &c.name)).collect()
}

/// A leader's lease.
pub(crate) fn lease_view(world: &World, lease: &Lease) -> LeaseView {
    let seconds = u32::try_from(lease.spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
    let holder = lease.spec.holder_identity.get().unwrap_or_default();
    LeaseView {
        holder: holder.split('_').next().unwrap_or_default().to_string(),
        expires_at: micro(world, &lease.spec.renew_time) + u64::from(seconds) * 1000 * MILLI,
        duration_millis: seconds.saturating_mul(1000),
    }
}

/// All of it.
pub fn view(world: &World, looks: &mut Looks) -> ControlPlane {
    let leases = list::<Lease>(world, "coordination.k8s.io", "leases");
    let lease = |name: &str| {
        let found = leases.iter().find(|l| &*l.metadata.namespace == "kube-system" && &*l.metadata.name == name);
        found.map_or_else(LeaseView::default, |l| lease_view(world, l))
    };
    ControlPlane {
        etcd: of_kind(world, "etcd").into_iter().map(|p| member(world, p)).collect(),
        api_servers: of_kind(world, "kube-apiserver").into_iter().map(|p| door(world, p)).collect(),
        controller_managers: of_kind(world, "kube-controller-manager"),
        controller_manager_lease: lease("kube-controller-manager"),
        loops: loops(world, looks),
        schedulers: of_kind(world, "kube-scheduler"),
        scheduler_lease: lease("kube-scheduler"),
        scheduling: scheduling(world),
        ..ControlPlane::default()
    }
}

fn member(world: &World, process: ProcessView) -> EtcdMemberView {
    let members = world.observed().etcd.borrow();
    let status = members.get(&process.name).and_then(|m| m.status());
    let Some(status) = status else { return EtcdMemberView { process, ..EtcdMemberView::default() } };
    let fsync = members.get(&process.name).map(|m| m.last_fsync()).unwrap_or_default();
    EtcdMemberView {
        process,
        role: match status.role {
            etcd::raft::Role::Leader => RaftRole::Leader,
            etcd::raft::Role::Candidate => RaftRole::Candidate,
            etcd::raft::Role::PreCandidate => RaftRole::PreCandidate,
            etcd::raft::Role::Follower => RaftRole::Follower,
        },
        term: status.term,
        last_index: status.commit_index.max(status.applied_index),
        commit_index: status.commit_index,
        revision: status.revision,
        fsync_micros: u32::try_from(fsync.as_micros()).unwrap_or(u32::MAX),
        db_bytes: status.db_size,
    }
}

/// A request's verb as HTTP has it.
pub fn http_verb(entry: &Entry) -> &'static str {
    match entry.verb {
        "create" => "POST",
        "update" => "PUT",
        "patch" => "PATCH",
        "delete" | "deletecollection" => "DELETE",
        _ => "GET",
    }
}

/// What a request is about: `pods/web-1/status`.
pub fn target(entry: &Entry) -> String {
    let mut target = entry.resource.to_string();
    let name = entry.name.borrow();
    for part in [&**name, &*entry.subresource] {
        if !part.is_empty() {
            target.push('/');
            target.push_str(part);
        }
    }
    target
}

/// Whether a request writes something other than a beat.
pub fn is_step(entry: &Entry) -> bool {
    matches!(entry.verb, "create" | "update" | "patch" | "delete" | "deletecollection")
        && !matches!(&*entry.resource, "leases" | "events" | "tokenreviews" | "subjectaccessreviews")
        && !(&*entry.resource == "nodes" && &*entry.subresource == "status")
}

fn door(world: &World, process: ProcessView) -> ApiServerView {
    let servers = world.observed().api_servers.borrow();
    let Some(inner) = servers.get(&process.name) else { return ApiServerView { process, ..ApiServerView::default() } };
    let now = world.sim().now().as_nanos();
    let recent = inner.audit.since(inner.audit.count().saturating_sub(400));
    let per_second = recent.iter().filter(|e| now.saturating_sub(e.received.as_nanos()) < 1000 * MILLI).count();
    let in_flight = recent.iter().filter(|e| e.verb != "watch" && e.latency().is_none()).count();
    let passing = recent.iter().rev().find(|e| is_step(e) && is_lit(e, now)).map(|e| passing(e, now));
    let watches: usize = inner.resources.iter().map(|r| inner.cache.resource(r.index).watchers()).sum();
    let storage = storage_down(world, &process, inner);
    ApiServerView {
        process,
        watches: u32::try_from(watches).unwrap_or(u32::MAX),
        in_flight: u32::try_from(in_flight).unwrap_or(u32::MAX),
        requests_per_second: u32::try_from(per_second).unwrap_or(u32::MAX),
        passing,
        storage,
    }
}

/// Whether etcd leaves this API server without answers, and what it tells its clients meanwhile.
pub(crate) fn storage_down(world: &World, process: &ProcessView, inner: &apiserver::Inner) -> Option<StorageDown> {
    if !matches!(process.state, ProcessState::Running | ProcessState::CutOff) || world.store_answers(&process.name) {
        return None;
    }
    let entries = inner.audit.since(0);
    let stored = |e: &Rc<Entry>| e.stages.borrow().iter().find(|(s, _)| *s == Stage::Stored).map(|(_, at)| *at);
    let stored_at = entries.iter().rev().find_map(stored).map_or(0, sim::Instant::as_nanos);
    let failed = |e: &&Rc<Entry>| e.code.get() >= 500 && e.received.as_nanos() > stored_at;
    let last = entries.iter().rev().find(failed);
    Some(StorageDown {
        stored_at,
        code: last.map_or(0, |e| e.code.get()),
        message: last.map(|e| e.message.borrow().to_string()).unwrap_or_default(),
    })
}

fn is_lit(entry: &Rc<Entry>, now: u64) -> bool {
    let stages = entry.stages.borrow();
    let last = stages.last().map_or(entry.received, |(_, at)| *at);
    now.saturating_sub(last.as_nanos()) < LIT
}

fn passing(entry: &Rc<Entry>, _now: u64) -> PassingRequest {
    let code = entry.code.get();
    PassingRequest {
        user: entry.user.borrow().to_string(),
        verb: http_verb(entry).to_string(),
        target: target(entry),
        stage: match (entry.stage(), code >= 400) {
            (Stage::Answered, true) => refused_at(entry),
            (Stage::Received, _) => DoorStage::Authentication,
            (Stage::Authenticated, _) => DoorStage::Authorization,
            (Stage::Authorized, _) => DoorStage::Admission,
            (Stage::Admitted, _) => DoorStage::Validation,
            _ => DoorStage::Storing,
        },
        refused: (code >= 400).then_some(code),
    }
}

/// The stage after the last that was passed.
fn refused_at(entry: &Rc<Entry>) -> DoorStage {
    let stages = entry.stages.borrow();
    let passed = stages.iter().rev().find(|(s, _)| *s != Stage::Answered).map_or(Stage::Received, |(s, _)| *s);
    match passed {
        Stage::Received => DoorStage::Authentication,
        Stage::Authenticated => DoorStage::Authorization,
        Stage::Authorized => DoorStage::Admission,
        _ => DoorStage::Validation,
    }
}

/// A controller's short name: `replicaset`, `node-lifecycle`.
pub(super) fn short_loop(name: &str) -> String {
    name.strip_suffix("-controller").unwrap_or(name).to_string()
}

/// A number at the beginning of a loop's words.
fn number(text: &str) -> Option<u32> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The loops that most readers meet first; the others follow in the order of the table of controllers.
const FIRST: [&str; 11] = [
    "deployment",
    "replicaset",
    "endpointslice",
    "node-lifecycle",
    "taint-eviction",
    "job",
    "statefulset",
    "daemonset",
    "garbage-collector",
    "serviceaccount",
    "namespace",
];

/// Keys that failed and wait with back-off.
fn failed(queues: &[(&'static str, controllers::QueueState)]) -> usize {
    queues.iter().flat_map(|(_, q)| &q.waiting).filter(|(_, _, failures)| *failures > 0).count()
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    {
        (share.clamp(0.0, 1.0) * 100.0).round() as u8
    }
}

/// `1 lost`; empty for none.
fn counted(n: usize, word: &str) -> String {
    if n == 0 { String::new() } else { format!("{n} {word}") }
}

/// Nodes that no longer report, and pods whose eviction is timed.
fn troubles(world: &World) -> (usize, usize) {
    let (mut lost, mut timed) = (0, 0);
    for node in list::<Node>(world, "", "nodes") {
        let status = node.status.conditions.iter().find(|c| &*c.type_ == "Ready").map(|c| &*c.status);
        lost += usize::from(status == Some("Unknown"));
        for taint in node.spec.taints.iter().filter(|t| &*t.effect == "NoExecute") {
            timed += pods::evictions(world, &node.metadata.name, &taint.key).map_or(0, |(_, pods)| pods as usize);
        }
    }
    (lost, timed)
}

/// Pods of a workload that are ready, as its status has it.
fn ready(world: &World, controller: &str, namespace: &str, name: &str) -> Option<u32> {
    let kind = match controller {
        "deployment-controller" => "Deployment",
        "replicaset-controller" => "ReplicaSet",
        "statefulset-controller" => "StatefulSet",
        _ => return None,
    };
    let object = get(world, kind, namespace, name)?;
    let ready = object
        .downcast::<Deployment>()
        .map(|o| o.status.ready_replicas)
        .or_else(|| object.downcast::<ReplicaSet>().map(|o| o.status.ready_replicas))
        .or_else(|| object.downcast::<StatefulSet>().map(|o| o.status.ready_replicas));
    ready.and_then(|n| u32::try_from(n).ok())
}

fn loops(world: &World, looks: &mut Looks) -> Vec<LoopView> {
    let now = world.sim().now().as_nanos();
    let any = || world.observed().managers.borrow().values().next().cloned();
    let Some(manager) = world.leading_manager().or_else(any) else { return Vec::new() };
    let (lost, evictions) = troubles(world);
    let mut loops: Vec<LoopView> = manager
        .controllers()
        .iter()
        .map(|c| {
            let queues = c.queues();
            let adds: u64 = queues.iter().map(|(_, q)| q.adds).sum();
            let seen = looks.loops.entry(c.name).or_insert((adds, 0));
            if adds > seen.0 {
                *seen = (adds, now);
            }
            let processing: usize = queues.iter().map(|(_, q)| q.processing.len()).sum();
            let warm = seen.1 > 0 && now.saturating_sub(seen.1) < WARM;
            let last = c.last_run();
            let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            LoopView {
                name: short_loop(c.name),
                queue: count(queues.iter().map(|(_, q)| q.ready.len()).sum()),
                working: count(processing.max(usize::from(warm))),
                retrying: count(failed(&queues)),
                wanted_actual: number(&last.desired).zip(number(&last.actual)),
                ready: ready(world, c.name, &last.key.namespace, &last.key.name),
                warning: match c.name {
                    "node-lifecycle-controller" => counted(lost, "lost"),
                    "taint-eviction-controller" => counted(evictions, if evictions == 1 { "timer" } else { "timers" }),
                    _ => String::new(),
                },
                skip_percent: percent(c.skip()),
            }
        })
        .collect();
    loops.sort_small_by_key(|l| FIRST.iter().position(|name| *name == l.name).unwrap_or(FIRST.len()));
    loops
}

/// Pods that wait for a node, each with the scheduler's reason.
fn waiting(world: &World) -> Vec<WaitingPod> {
    let mut pods = list::<Pod>(world, "", "pods");
    pods.retain(|p| p.spec.node_name.is_empty() && p.metadata.deletion_timestamp.unix().is_none());
    pods.sort_small_by_key(|p| p.metadata.creation_timestamp.unix());
    pods.truncate(WAITING);
    let told = |pod: &Pod| {
        let condition = pod.status.conditions.iter().find(|c| &*c.type_ == "PodScheduled" && &*c.status == "False");
        condition.map(|c| reason(&c.message).to_string()).unwrap_or_default()
    };
    let row = |pod: &Rev<Pod>| WaitingPod {
        namespace: pod.metadata.namespace.to_string(),
        name: pod.metadata.name.to_string(),
        reason: told(pod),
    };
    pods.iter().map(row).collect()
}

/// `3 Insufficient cpu` out of `0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, ...`.
fn reason(message: &str) -> &str {
    let reasons = message.split_once(" nodes are available: ").map_or(message, |(_, reasons)| reasons);
    reasons.split_once(". ").map_or(reasons, |(reasons, _)| reasons).trim_end_matches('.')
}

fn scheduling(world: &World) -> SchedulingView {
    let waiting = waiting(world);
    let Some(scheduler) = world.leading_scheduler() else {
        return SchedulingView { waiting, ..SchedulingView::default() };
    };
    let (active, backoff, unschedulable) = scheduler.queue_lengths();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    // The newest try; once that is over and well, the last try of the pod that waits longest.
    let newest = scheduler.newest_attempt();
    let now = world.sim().now().as_nanos();
    let over = newest.as_ref().is_none_or(|a| a.message.is_none() && now.saturating_sub(a.at) > TOLD);
    let tried = waiting.first().filter(|_| over).and_then(|w| scheduler.last_attempt(&w.namespace, &w.name));
    let mut view = SchedulingView {
        waiting,
        active: count(active),
        backoff: count(backoff),
        unschedulable: count(unschedulable),
        ..SchedulingView::default()
    };
    let Some(attempt) = tried.or(newest) else { return view };
    let passed: Vec<_> = attempt.nodes.iter().filter(|n| n.rejected.is_none()).collect();
    view.pod = attempt.pod.1.to_string();
    view.namespace = attempt.pod.0.to_string();
    view.at = attempt.at;
    view.evaluated = count(attempt.nodes.len());
    view.feasible = count(passed.len());
    view.phase = match (attempt.chosen.is_some(), attempt.bound, attempt.message.is_some()) {
        (_, _, true) => SchedulingPhase::Unschedulable,
        (true, true, _) => SchedulingPhase::Bound,
        (true, false, _) => SchedulingPhase::Binding,
        _ => SchedulingPhase::Scheduling,
    };
    let mut scored: Vec<_> = passed.iter().filter(|n| !n.scores.is_empty()).collect();
    // The chosen node first where several have the best score.
    scored.sort_small_by_key(|n| (std::cmp::Reverse(n.total), attempt.chosen.as_ref() != Some(&n.node)));
    view.scores = scored.iter().take(3).map(|n| NodeScore { node: n.node.to_string(), score: n.total }).collect();
    let rejected = attempt.nodes.iter().filter_map(|n| n.rejected.as_ref().map(|r| (n, r)));
    view.rejections = rejected
        .take(3)
        .map(|(n, (plugin, rejection))| NodeRejection {
            node: n.node.to_string(),
            plugin: (*plugin).to_string(),
            reason: rejection.reasons.first().map(|r| r.text.to_string()).unwrap_or_default(),
        })
        .collect();
    view
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn a_waiting_pods_reason_is_the_schedulers_own() {
        let message = "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are \
                       available: 3 Preemption is not helpful for scheduling.";
        assert_eq!(reason(message), "3 Insufficient cpu");
        assert_eq!(
            reason("0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient memory. x"),
            "1 node(s) had untolerated taint {a: b}, 2 Insufficient memory"
        );
        assert_eq!(reason("no nodes available to schedule pods"), "no nodes available to schedule pods");
        assert_eq!(reason(""), "");
    }
}
