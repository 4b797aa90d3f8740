//! A frame: what changed since the last one.

use crate::{ControlPlane, NodeId, NodeView, Place, PodId, PodView, StoryHold, Trip};
use serde::{Deserialize, Serialize};

/// What changed since the frame before. Empty lists and `None` mean "as it was", unless the field says otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Frame {
    /// Rises by one.
    pub number: u64,
    /// This frame is complete: the page forgets what it knew and takes every field as the whole. True for the first.
    pub full: bool,
    /// Time; always there.
    pub clock: Clock,
    /// The whole control plane, if anything of it changed. Countdowns are given as instants, so that a renewed lease
    /// changes it but passing time does not.
    pub control_plane: Option<ControlPlane>,
    /// Nodes that are new or changed, whole.
    pub nodes: Vec<NodeView>,
    /// Nodes that are gone.
    pub removed_nodes: Vec<NodeId>,
    /// Pods that are new or changed, whole. 1,000 pods starting within a frame are fine: about 60 bytes each.
    pub pods: Vec<PodView>,
    /// Pods that are gone.
    pub removed_pods: Vec<PodId>,
    /// Deployments (and later other workloads) that are new or changed, whole: what a screen reader hears, "web: 3 of
    /// 3 ready". One that is gone comes with `desired` and `ready` 0 and `gone` set.
    pub workloads: Vec<WorkloadView>,
    /// Messages sent since the last frame, merged by line and kind, in the order of the first; at most 64. Each
    /// becomes a light on its line.
    pub messages: Vec<MessageView>,
    /// Timers that will fire, soonest first, at most 8: those a reader would wait for, not heartbeats, renewals and
    /// resyncs. Always whole.
    pub timers: Vec<TimerView>,
    /// The steps of what was applied last. Whole, if it changed.
    pub trip: Option<Trip>,
    /// Where the story holds. Always whole: `None` when no story holds.
    pub story: Option<StoryHold>,
    /// Faults that stand. Whole, if they changed.
    pub faults: Option<Vec<FaultView>>,
    /// New entries of the timeline.
    pub timeline: Vec<TimelineEntry>,
    /// Events there are, for the tab's count.
    pub event_count: u32,
    /// Requests served since the start.
    pub request_count: u64,
}

/// Time and how it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    /// Virtual time since the start.
    pub now: u64,
    /// Speed that is set, in thousandths.
    pub speed_milli: u32,
    /// What it does.
    pub state: ClockState,
    /// Speed that is reached while the clock is [`ClockState::Behind`], in thousandths; 0 where it is not known.
    pub reached_milli: u32,
    /// Nothing is under way but heartbeats, renewals and resyncs.
    pub settled: bool,
    /// Of the store.
    pub revision: u64,
}

/// What the clock does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ClockState {
    /// The cluster boots: components start, nodes register.
    #[default]
    Booting,
    /// Goes at its speed.
    Running,
    /// Stands because the reader said so.
    Paused,
    /// Runs as fast as it can until settled or to the next timer.
    Hurrying,
    /// Stands because the story holds at a step.
    Holding,
    /// Goes at its speed but the machine can't keep up.
    Behind,
}

/// A workload's count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkloadView {
    /// `deployment`, as in `deployment/web`.
    pub resource: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `spec.replicas`.
    pub desired: u32,
    /// `status.readyReplicas`.
    pub ready: u32,
    /// It was deleted.
    pub gone: bool,
}

/// Messages that went over one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    /// Sender.
    pub from: Place,
    /// Receiver. One of the two is an API server, or both are etcd members.
    pub to: Place,
    /// What it was.
    pub kind: MessageKind,
    /// How many.
    pub count: u16,
    /// The last one in a few words, for the line's label: `PATCH pods/web-5487f79886-9xgbx/status`. Empty for watch
    /// events, heartbeats and answers.
    pub label: String,
    /// When the first was sent.
    pub at: u64,
}

/// Kinds of messages, by what they mean to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MessageKind {
    /// A request that reads.
    Read,
    /// A request that writes.
    Write,
    /// A node's lease or status, a leader's lease: it pulses rather than travels.
    Heartbeat,
    /// An answer to a request.
    Answer,
    /// A watch event.
    Watch,
    /// A call to etcd.
    Store,
    /// Raft between members.
    Raft,
    /// A call that failed: refused, timed out, cut.
    Failed,
}

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerView {
    /// When it fires.
    pub at: u64,
    /// What it does.
    pub what: TimerKind,
}

/// What a timer does when it fires; the page writes the sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimerKind {
    /// The image will have been pulled.
    ImagePulled {
        /// On this node.
        node: String,
        /// This image.
        image: String,
    },
    /// A pull that failed is tried again.
    PullBackOff {
        /// On this node.
        node: String,
        /// This image.
        image: String,
    },
    /// A container will have started, or a start-up step will have ended.
    ContainerStarts {
        /// On this node.
        node: String,
        /// Of this pod.
        pod: String,
    },
    /// A container that exited is started again.
    RestartBackOff {
        /// On this node.
        node: String,
        /// Of this pod.
        pod: String,
    },
    /// A probe that decides readiness runs next.
    Probe {
        /// On this node.
        node: String,
        /// Of this pod.
        pod: String,
    },
    /// The grace period ends, SIGKILL follows.
    GraceEnds {
        /// Of this pod.
        pod: String,
    },
    /// The node's silence becomes NotReady.
    NodeNotReady {
        /// The node.
        node: String,
    },
    /// Pods are evicted by a NoExecute taint.
    Eviction {
        /// The node.
        node: String,
        /// How many.
        pods: u32,
    },
    /// The scheduler tries a pod again.
    SchedulerRetry {
        /// The pod.
        pod: String,
    },
    /// A component that exited by itself is started again.
    ComponentRestarts {
        /// `kube-scheduler-1`.
        component: String,
    },
    /// A component asks once more for a lease that it failed to get or to renew.
    LeaseRetry {
        /// `kube-scheduler-1`.
        component: String,
        /// `kube-scheduler`.
        lease: String,
    },
    /// A lease runs out and another candidate may take it.
    LeaseExpires {
        /// `kube-scheduler`.
        lease: String,
    },
    /// etcd's members elect a leader.
    Election {
        /// The member that will stand.
        member: String,
    },
    /// A controller looks at an object again.
    Requeue {
        /// The controller.
        controller: String,
        /// The key.
        key: String,
    },
    /// The progress deadline of a rollout.
    ProgressDeadline {
        /// The deployment.
        deployment: String,
    },
    /// A command in the terminal wakes (`sleep`, `timeout`).
    Command {
        /// Its line.
        line: String,
    },
    /// Any other, by process and name.
    Other {
        /// `kube-controller-manager-1`.
        process: String,
        /// The timer's own name.
        name: String,
    },
}

/// A fault that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultView {
    /// What it is on: `node-2`, `etcd-2`, `replicaset`.
    pub target: String,
    /// The line that made it.
    pub line: String,
    /// The line that ends it.
    pub end_line: String,
    /// Since when.
    pub since: u64,
}

/// A mark on the run's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// When.
    pub at: u64,
    /// What.
    pub what: TimelineKind,
}

/// Kinds of marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimelineKind {
    /// A command or an Apply.
    Input {
        /// `kubectl apply -f -`, first line only.
        line: String,
    },
    /// A fault began.
    FaultBegan {
        /// What it is on.
        target: String,
        /// Its line.
        line: String,
    },
    /// A fault ended.
    FaultEnded {
        /// What it was on.
        target: String,
        /// The line that ended it.
        line: String,
    },
    /// A lane's state changed: of a node (`Ready`, `silent`, `NotReady`), a component (`running`, `stopped`), a lease
    /// (`cp-1`).
    State {
        /// The lane: `node-2`, `etcd-2`, `kube-scheduler`.
        lane: String,
        /// The state's word.
        state: String,
        /// How it is judged.
        health: LaneHealth,
    },
}

/// How a lane's state is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaneHealth {
    /// As it should be.
    Good,
    /// In doubt: silent, electing.
    Suspect,
    /// Down.
    Bad,
}
