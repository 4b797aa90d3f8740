//! The cluster as the map shows it.

use serde::{Deserialize, Serialize};

/// A node, numbered by the world from 0 in the order in which nodes appear; never reused.
pub type NodeId = u32;
/// A pod, numbered likewise.
pub type PodId = u32;

/// A thing on the map that sends or receives. Numbers count from 0: member 0 of etcd is `etcd-1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// The reader's kubectl or Apply.
    Kubectl,
    /// An etcd member.
    Etcd(u8),
    /// An API server.
    ApiServer(u8),
    /// A controller manager.
    ControllerManager(u8),
    /// A scheduler.
    Scheduler(u8),
    /// A cloud controller manager.
    CloudControllerManager(u8),
    /// A node: its kubelet, kube-proxy or DNS.
    Node(NodeId),
}

/// What the inspector can look at, and what log lines link to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// An API object. Nodes are objects.
    Object(ObjectRef),
    /// A process by its name: `kube-scheduler-1`, `etcd-2`, `kube-apiserver-1`, `kube-controller-manager-1`.
    Component {
        /// The name.
        name: String,
    },
    /// A loop of the controller manager by its short name (`replicaset`).
    Loop {
        /// The name.
        name: String,
    },
}

/// Names an API object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ObjectRef {
    /// `Pod`, `Node`, `Deployment`.
    pub kind: String,
    /// Empty for objects without one.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Everything above the nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ControlPlane {
    /// The members, by number.
    pub etcd: Vec<EtcdMemberView>,
    /// The API servers, by number.
    pub api_servers: Vec<ApiServerView>,
    /// The controller managers, by number.
    pub controller_managers: Vec<ProcessView>,
    /// Who holds `kube-system/kube-controller-manager`.
    pub controller_manager_lease: LeaseView,
    /// The loops of the one that leads: those that most readers meet first, then the others in the order of the table
    /// of controllers; those that are not built are not listed.
    pub loops: Vec<LoopView>,
    /// The schedulers, by number.
    pub schedulers: Vec<ProcessView>,
    /// Who holds `kube-system/kube-scheduler`.
    pub scheduler_lease: LeaseView,
    /// What the one that leads does.
    pub scheduling: SchedulingView,
    /// The cloud controller managers, by number; none when the cluster has no cloud.
    pub cloud_controller_managers: Vec<ProcessView>,
    /// Who holds their lease.
    pub cloud_controller_manager_lease: LeaseView,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessView {
    /// `kube-scheduler-1`: the name that faults and logs use.
    pub name: String,
    /// `cp-1`.
    pub host: String,
    /// Whether it runs.
    pub state: ProcessState,
}

/// Whether a process runs and is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ProcessState {
    /// Starts: not serving yet, or ended by itself and about to be started again.
    #[default]
    Starting,
    /// Runs.
    Running,
    /// Was stopped or killed.
    Stopped,
    /// Runs, but a cut keeps everybody from it.
    CutOff,
}

/// An etcd member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EtcdMemberView {
    /// The process.
    pub process: ProcessView,
    /// In raft.
    pub role: RaftRole,
    /// Its term.
    pub term: u64,
    /// The last entry of its log.
    pub last_index: u64,
    /// The last entry it knows to be committed.
    pub commit_index: u64,
    /// The store's revision, as applied by it.
    pub revision: u64,
    /// Its last fsync, in microseconds.
    pub fsync_micros: u32,
    /// Of its database.
    pub db_bytes: u64,
}

/// A member's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RaftRole {
    /// Follows.
    #[default]
    Follower,
    /// Asks whether it would win an election.
    PreCandidate,
    /// Stands for election.
    Candidate,
    /// Leads.
    Leader,
}

/// An API server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApiServerView {
    /// The process.
    pub process: ProcessView,
    /// Open watches.
    pub watches: u32,
    /// Requests being served.
    pub in_flight: u32,
    /// Requests in the last second of virtual time.
    pub requests_per_second: u32,
    /// The write that goes through it, or, at rest, `None`. Of several the newest.
    pub passing: Option<PassingRequest>,
    /// Its storage does not answer.
    pub storage: Option<StorageDown>,
}

/// An API server whose storage does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StorageDown {
    /// When it last stored something.
    pub stored_at: u64,
    /// The status code of its last answer that failed since then; 0 before the first.
    pub code: u16,
    /// What that answer said.
    pub message: String,
}

/// A request on its way through the door.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PassingRequest {
    /// `system:kube-scheduler`.
    pub user: String,
    /// `POST`.
    pub verb: String,
    /// `pods/web-5487f79886-gqslq/binding`.
    pub target: String,
    /// How far it is.
    pub stage: DoorStage,
    /// The status code, if it was refused (at `stage`).
    pub refused: Option<u16>,
}

/// The four stages, in order, and what comes after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum DoorStage {
    /// Who is it.
    #[default]
    Authentication,
    /// May they.
    Authorization,
    /// Should it be changed or refused.
    Admission,
    /// Is it well formed.
    Validation,
    /// On its way to etcd.
    Storing,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LeaseView {
    /// `cp-1` (the identity without its suffix); empty when nobody holds it.
    pub holder: String,
    /// When it runs out unless renewed.
    pub expires_at: u64,
    /// Its duration in milliseconds (15,000).
    pub duration_millis: u32,
}

/// A controller's loop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopView {
    /// The short name: `replicaset`, `node-lifecycle`.
    pub name: String,
    /// Keys waiting in its queue.
    pub queue: u32,
    /// Keys being worked on right now or within the last 200 ms of virtual time.
    pub working: u32,
    /// Keys that failed and wait with back-off.
    pub retrying: u32,
    /// Of the last key: what was wanted and what was there, where the loop counts something.
    pub wanted_actual: Option<(u32, u32)>,
    /// Of the last key, where it is a workload: pods that are ready. What is there may still be Pending.
    pub ready: Option<u32>,
    /// A count worth a warning: nodes lost, evictions timed. The words are the world's: `1 lost`, `2 timers`.
    pub warning: String,
    /// Share of loops skipped by a fault, in percent.
    pub skip_percent: u8,
}

/// What the scheduler does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SchedulingView {
    /// Of the last pod tried.
    pub phase: SchedulingPhase,
    /// The pod's name; empty when none was tried yet.
    pub pod: String,
    /// Its namespace.
    pub namespace: String,
    /// When it was last dealt with.
    pub at: u64,
    /// Nodes that were filtered.
    pub evaluated: u32,
    /// Nodes that passed.
    pub feasible: u32,
    /// The best three by score, best first.
    pub scores: Vec<NodeScore>,
    /// For an unschedulable pod: the first reason of up to three nodes.
    pub rejections: Vec<NodeRejection>,
    /// Pods that wait for a node, the longest waiting first, at most eight.
    pub waiting: Vec<WaitingPod>,
    /// Pods in the active queue.
    pub active: u32,
    /// In the back-off queue.
    pub backoff: u32,
    /// Unschedulable.
    pub unschedulable: u32,
    /// Binds in the last second of virtual time.
    pub binds_per_second: u32,
}

/// A pod that waits for a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WaitingPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Why, in the scheduler's words: `3 Insufficient cpu`. Empty before its first try.
    pub reason: String,
}

/// Where the last pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SchedulingPhase {
    /// No pod was tried yet.
    #[default]
    Idle,
    /// Filters and scores.
    Scheduling,
    /// Assumed, the binding is being written.
    Binding,
    /// Bound.
    Bound,
    /// No node fits.
    Unschedulable,
}

/// A node's score for the pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeScore {
    /// The node.
    pub node: String,
    /// Weighted sum.
    pub score: i64,
}

/// Why a node was refused, in a few of the plugin's words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeRejection {
    /// The node.
    pub node: String,
    /// `NodeResourcesFit`.
    pub plugin: String,
    /// The plugin's reason: `Insufficient memory`.
    pub reason: String,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeView {
    /// Its number.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// `za`; empty when it has none.
    pub zone: String,
    /// Status of the Ready condition, as stored.
    pub ready: Readiness,
    /// `spec.unschedulable`.
    pub cordoned: bool,
    /// The machine: running, powered off, cut off.
    pub machine: ProcessState,
    /// Its kubelet.
    pub kubelet: ProcessState,
    /// Conditions that are true and shouldn't be (`MemoryPressure`, `DiskPressure`, `PIDPressure`,
    /// `NetworkUnavailable`).
    pub pressures: Vec<String>,
    /// Taints as kubectl prints them: `node.kubernetes.io/unreachable:NoExecute`, `dedicated=batch:NoSchedule`.
    pub taints: Vec<String>,
    /// Labels beyond those that every node has: `disktype=ssd`.
    pub labels: Vec<String>,
    /// When its lease was last renewed.
    pub heartbeat_at: u64,
    /// Allocatable CPU in millicores.
    pub cpu_milli: u32,
    /// Allocatable memory in MiB.
    pub memory_mi: u32,
    /// `status.allocatable.pods`.
    pub max_pods: u32,
    /// What runs against it: silence becoming NotReady, evictions.
    pub timers: Vec<NodeTimer>,
    /// A fault stands on it or on a part of it.
    pub faulty: bool,
}

/// A condition's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Readiness {
    /// Registered, never ready, or no condition yet.
    #[default]
    False,
    /// Ready.
    True,
    /// Its kubelet stopped reporting.
    Unknown,
}

/// Something that runs against a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTimer {
    /// What.
    pub what: NodeTimerKind,
    /// When it began.
    pub since: u64,
    /// When it fires.
    pub at: u64,
}

/// Kinds of those.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeTimerKind {
    /// No heartbeat; at the end of the grace it is marked.
    Silence,
    /// A NoExecute taint evicts pods.
    Eviction {
        /// `node.kubernetes.io/unreachable`.
        taint: String,
        /// Pods to go when it fires.
        pods: u32,
    },
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PodView {
    /// Its number.
    pub id: PodId,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// `spec.nodeName`.
    pub node: Option<NodeId>,
    /// The node on which the scheduler assumed it, before the binding is written.
    pub assumed: Option<NodeId>,
    /// How it is drawn.
    pub state: PodState,
    /// kubectl's STATUS column: `Running`, `ContainerCreating`, `ErrImagePull`, `Terminating`. For a pod whose image
    /// is being pulled `ContainerCreating` too; see `pulling`.
    pub status: String,
    /// An image is being pulled for it.
    pub pulling: bool,
    /// Containers that are ready.
    pub ready: u8,
    /// Containers.
    pub containers: u8,
    /// Restarts, as kubectl counts them.
    pub restarts: u32,
    /// The owner's kind and name in short form (`replicaset/web-5487f79886`, `node/node-1`); empty when it has none.
    pub owner: String,
    /// Requested CPU in millicores.
    pub cpu_milli: u32,
    /// Requested memory in MiB.
    pub memory_mi: u32,
}

/// The nine states of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum PodState {
    /// No node yet.
    #[default]
    Pending,
    /// Bound; pulling, creating, starting.
    Creating,
    /// Running, not ready.
    Running,
    /// Running and ready.
    Ready,
    /// Asked to stop.
    Terminating,
    /// Finished, or waiting with an error (ErrImagePull, CreateContainerConfigError, Error, Evicted).
    Failed,
    /// CrashLoopBackOff.
    CrashLoop,
    /// Finished, exit 0.
    Succeeded,
    /// Its node no longer reports.
    Unknown,
}
