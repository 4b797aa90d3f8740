//! What the inspector shows of the selected thing.

use crate::{EventRow, InspectorTab, LeaseView, NodeTimer, ObjectRef, PodState, ProcessView, Subject};
use serde::{Deserialize, Serialize};

/// The selected thing and the body of its open tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inspector {
    /// The thing. The page drops an answer for one that is no longer selected.
    pub subject: Subject,
    /// What stands above the tabs.
    pub head: InspectorHead,
    /// The tabs that have something for this thing.
    pub tabs: Vec<InspectorTab>,
    /// The open tab.
    pub body: InspectorBody,
}

/// Above the tabs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InspectorHead {
    /// `Pod`, `Node`, `kube-scheduler`, `controller`.
    pub kind: String,
    /// Namespace or host; may be empty.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// It is gone: what is shown is the last that was.
    pub gone: bool,
    /// kubectl's STATUS word, `Ready`, `NotReady`, `Running`, `leader`.
    pub status: String,
    /// For a pod: how it is drawn.
    pub pod_state: Option<PodState>,
    /// For others: whether the status is a good one.
    pub healthy: bool,
    /// Since when it is so.
    pub since: u64,
    /// Two or three facts: (`node`, `node-1`), (`QoS`, `Burstable`). The words are Kubernetes' own.
    pub facts: Vec<Fact>,
}

/// A label and its value, both as Kubernetes writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Fact {
    /// The label.
    pub name: String,
    /// The value.
    pub value: String,
    /// Where the value names an object: what a click on it selects.
    pub link: Option<Subject>,
}

/// The open tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum InspectorBody {
    /// Causes and numbers.
    Why(Box<Why>),
    /// Facts, in groups.
    Summary(Vec<FactGroup>),
    /// `kubectl describe`, to the byte.
    Describe(String),
    /// YAML, and what was folded away.
    Yaml {
        /// Without managed fields.
        text: String,
        /// The lines of `metadata.managedFields` by themselves; empty when there are none.
        managed_fields: String,
    },
    /// The object's events, oldest first.
    Events(Vec<EventRow>),
    /// Logs, a container each.
    Logs(Vec<ContainerLog>),
}

/// Facts under a heading.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FactGroup {
    /// `Containers`, `Conditions`, `Labels`: Kubernetes' words.
    pub name: String,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// A container's log; a component's log is one without a container.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContainerLog {
    /// Its name.
    pub container: String,
    /// Of the instance before (`--previous`).
    pub previous: bool,
    /// The newest lines, at most 64 KiB.
    pub text: String,
    /// Lines left out before them.
    pub skipped: u64,
}

/// Why it is as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Why {
    /// The chain from the reader's command (or the boot, or a timer) to this thing, first cause first.
    pub causes: Vec<Cause>,
    /// Work that somebody else should do on it and that nobody does at present.
    pub missing: Vec<Missing>,
    /// For a pod: `status.reason` and `status.message` (`Evicted`, `NodeLost`, `DeadlineExceeded`); empty for none.
    pub verdict: (String, String),
    /// For a pod: its containers that have ended or don't start, in the pod's order.
    pub containers: Vec<ContainerFacts>,
    /// For a pod: the last cycle of the scheduler.
    pub scheduling: Option<SchedulerTable>,
    /// For a pending pod: what would let it in.
    pub remedies: Vec<Remedy>,
    /// For a loop.
    pub control_loop: Option<LoopState>,
    /// For a node.
    pub node: Option<NodeState>,
    /// For a component: facts in groups (raft, watches, queues).
    pub component: Vec<FactGroup>,
}

/// Work that nobody does at present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Whose work.
    pub what: MissingKind,
    /// Who could do it, each with its state: a process that runs does not lead.
    pub processes: Vec<ProcessView>,
    /// Since when nobody does it; 0 where that is not known.
    pub since: u64,
    /// Where a lease that its last holder has not given back is waited for: holder and end.
    pub lease: LeaseView,
    /// When somebody tries next by itself (a component that is restarted); 0 for nobody.
    pub next_at: u64,
    /// The command that brings it back.
    pub command: String,
}

/// Whose work that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingKind {
    /// No member of etcd leads, or the API servers do not reach it: nothing is stored.
    Store {
        /// Members that must run.
        quorum: u32,
    },
    /// No API server runs.
    ApiServer,
    /// No controller manager leads.
    Manager {
        /// The controller that would deal with the object: `replicaset`; empty where all of them are meant.
        controller: String,
    },
    /// No scheduler leads.
    Scheduler,
    /// The kubelet of the pod's node does not work.
    Kubelet {
        /// The node.
        node: String,
    },
    /// The component itself does not run.
    Process {
        /// `kube-scheduler-2`.
        name: String,
    },
}

/// A container that has ended, or that does not start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContainerFacts {
    /// Its name.
    pub name: String,
    /// It runs before the others.
    pub init: bool,
    /// `CrashLoopBackOff`, `ImagePullBackOff`, `Completed`; `Running` for one that was started again.
    pub state: String,
    /// What kubelet, runtime or registry said of that; may be empty.
    pub message: String,
    /// Its image.
    pub image: String,
    /// Its last end.
    pub exit: Option<Exit>,
    /// Restarts so far.
    pub restarts: u32,
    /// The last line that the instance which ended has written; may be empty.
    pub last_line: String,
    /// Its limit of memory, where that is what ended it: `64Mi`.
    pub memory_limit: String,
    /// The back-off that is being waited for, in nanoseconds; 0 for none.
    pub back_off: u64,
    /// When the kubelet tries it again; 0 where it does not.
    pub next_at: u64,
    /// `Always`, `OnFailure`, `Never`.
    pub restart_policy: String,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code.
    pub code: i32,
    /// `Error`, `OOMKilled`, `Completed`.
    pub reason: String,
    /// Its termination message, or the runtime's; may be empty.
    pub message: String,
    /// When it started, 0 if it never did.
    pub started_at: u64,
    /// When it ended.
    pub ended_at: u64,
}

/// One link of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// When.
    pub at: u64,
    /// Revision it wrote; 0 for none.
    pub revision: u64,
    /// What it was.
    pub what: CauseKind,
    /// How often in a row: `at` and `revision` are the last one's.
    pub times: u32,
}

/// Kinds of links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CauseKind {
    /// The reader's command.
    Command {
        /// As typed; for Apply `kubectl apply -f -`.
        line: String,
    },
    /// A fault by the reader.
    Fault {
        /// As typed.
        line: String,
    },
    /// The cluster's own boot.
    Boot,
    /// Time: a timer fired.
    Timer {
        /// `tolerationSeconds`, `node-monitor-grace-period`.
        name: String,
    },
    /// Something was written.
    Write {
        /// `create`, `update`, `patch`, `delete`, `bind`.
        verb: String,
        /// The object.
        object: ObjectRef,
        /// Its subresource; may be empty.
        subresource: String,
        /// Who: `kube-apiserver` for a client outside, else the component or controller (`deployment controller`,
        /// `scheduler`, `kubelet node-1`).
        by: String,
        /// Wanted and actual, where it counts something.
        wanted_actual: Option<(u32, u32)>,
        /// Why, in a few words of the component; may be empty: `none matches this template`.
        reason: String,
        /// Status code.
        code: u16,
        /// How long the request took, in microseconds.
        latency_micros: u32,
    },
    /// The scheduler found no node.
    Unschedulable {
        /// How long the cycle took, in microseconds.
        took_micros: u32,
    },
    /// Several causes came together (a queue's key was added by all of them).
    Also {
        /// How many more there are.
        more: u32,
    },
}

/// The scheduler's last cycle for a pod: plugin by node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SchedulerTable {
    /// Attempts so far.
    pub attempt: u32,
    /// When.
    pub at: u64,
    /// Columns, at most 12: rejected ones of every kind first, then the best. See `more_nodes`.
    pub nodes: Vec<TableNode>,
    /// Nodes not listed.
    pub more_nodes: u32,
    /// Filter plugins in the order they run.
    pub filters: Vec<FilterRow>,
    /// Score plugins in order; none when no node passed, or one did.
    pub scores: Vec<ScoreRow>,
    /// Weighted sum by column; `None` for a node that was not scored.
    pub totals: Vec<Option<i64>>,
    /// Column of the node that was chosen.
    pub chosen: Option<u32>,
    /// The message of the FailedScheduling event; empty when it was bound.
    pub message: String,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableNode {
    /// Name.
    pub name: String,
    /// Zone.
    pub zone: String,
}

/// A filter plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FilterRow {
    /// `NodeResourcesFit`.
    pub plugin: String,
    /// By column.
    pub cells: Vec<FilterCell>,
}

/// A verdict with its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FilterCell {
    /// Did not run: an earlier plugin refused, or there was nothing to look at (skipped by PreFilter).
    #[default]
    NotRun,
    /// Passed.
    Passed {
        /// What it saw, in short; may be empty: `disktype=ssd`.
        detail: String,
    },
    /// Refused.
    Rejected {
        /// In a word or two: `memory`, `taint`, `selector`.
        short: String,
        /// What it saw: `768 > 412 Mi`, `dedicated=batch`.
        detail: String,
        /// Kubernetes' reason: `Insufficient memory`.
        reason: String,
    },
}

/// A score plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScoreRow {
    /// `NodeResourcesBalancedAllocation`.
    pub plugin: String,
    /// Its weight.
    pub weight: u32,
    /// Normalised score (0 to 100) by column.
    pub cells: Vec<Option<i64>>,
}

/// What would let a pending pod in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remedy {
    /// Room on a node.
    Free {
        /// `memory`, `cpu`, `pods`.
        resource: String,
        /// How much, as Kubernetes writes it: `356Mi`.
        amount: String,
        /// On which node.
        node: String,
        /// The pod that takes most of it there, and how much; empty when there is none.
        largest: String,
        /// Its request.
        largest_amount: String,
    },
    /// A label.
    Label {
        /// On which node.
        node: String,
        /// `disktype=ssd`.
        label: String,
        /// The command that does it.
        command: String,
    },
    /// A taint away, or tolerated.
    Untaint {
        /// On which node.
        node: String,
        /// `dedicated=batch:NoSchedule`.
        taint: String,
        /// The command that does it.
        command: String,
    },
    /// A cordon ended.
    Uncordon {
        /// On which node.
        node: String,
        /// The command that does it.
        command: String,
    },
    /// A gate removed.
    Gate {
        /// Its name.
        name: String,
    },
    /// A node back, or added.
    NodeBack {
        /// The node.
        node: String,
        /// The command that does it.
        command: String,
    },
    /// Any other, in Kubernetes' words.
    Other {
        /// The text.
        text: String,
        /// The command that does it; may be empty.
        command: String,
    },
    /// Nothing: it is tried again at this time anyway.
    Retry {
        /// When.
        at: u64,
    },
}

/// A controller's loop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopState {
    /// Its short name.
    pub name: String,
    /// Workers side by side.
    pub workers: u32,
    /// Keys waiting, oldest first, at most 20.
    pub queue: Vec<String>,
    /// More than those.
    pub more: u32,
    /// Keys in back-off with their failures and when they come back.
    pub retrying: Vec<RetryingKey>,
    /// Runs, newest first, at most 20.
    pub runs: Vec<LoopRun>,
    /// Share of loops skipped by a fault, in percent.
    pub skip_percent: u8,
    /// Runs skipped so far.
    pub skipped: u32,
}

/// A key in back-off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RetryingKey {
    /// The key.
    pub key: String,
    /// Failures so far.
    pub failures: u32,
    /// When it comes back.
    pub at: u64,
}

/// One run of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopRun {
    /// When it began.
    pub at: u64,
    /// How long it took.
    pub took: u64,
    /// The key.
    pub key: String,
    /// Wanted and actual.
    pub wanted_actual: Option<(u32, u32)>,
    /// What it did, in a few words: `creating 3`, `deleting 1`; empty for nothing.
    pub action: String,
    /// The error it ended with; empty for none.
    pub error: String,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeState {
    /// Its conditions, in Kubernetes' order.
    pub conditions: Vec<ConditionRow>,
    /// Its taints, as kubectl prints them.
    pub taints: Vec<String>,
    /// What runs against it.
    pub timers: Vec<NodeTimer>,
    /// When its lease was last renewed.
    pub heartbeat_at: u64,
    /// Requests by resource: `cpu`, `memory`, `pods`.
    pub resources: Vec<ResourceRow>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConditionRow {
    /// `Ready`.
    pub kind: String,
    /// `True`, `False`, `Unknown`.
    pub status: String,
    /// `KubeletReady`.
    pub reason: String,
    /// The text.
    pub message: String,
    /// Since when.
    pub since: u64,
    /// Whether this status is the good one for this condition.
    pub good: bool,
}

/// A resource of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceRow {
    /// `memory`.
    pub name: String,
    /// Requested, as Kubernetes writes it.
    pub requested: String,
    /// Allocatable.
    pub allocatable: String,
    /// Requested in thousandths of allocatable.
    pub permille: u32,
}
