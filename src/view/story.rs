//! What became of the applied objects: six steps of one of them, how all of them stand, and the story that holds at
//! each step.

use crate::ObjectRef;
use serde::{Deserialize, Serialize};

/// The way of the object that was applied last, from the door to ready pods. For an object that makes no pods only
/// the first step is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trip {
    /// Of this trip; rises with each Apply.
    pub id: u32,
    /// The object.
    pub object: ObjectRef,
    /// As kubectl names it: `deployment/web`.
    pub short: String,
    /// `spec.replicas` (1 for a pod).
    pub desired: u32,
    /// Ready now.
    pub ready: u32,
    /// When the request was sent.
    pub began_at: u64,
    /// The steps, in order; see [`TripStep::kind`]. They tell what is true now: a step is open again when pods are lost
    /// or crash.
    pub steps: Vec<TripStep>,
    /// Everything that was applied with it, in the text's order, itself included; at most 40.
    pub all: Vec<TripObject>,
    /// Objects that were applied beyond those.
    pub more: u32,
}

/// One of the objects that were applied together, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TripObject {
    /// The object.
    pub object: ObjectRef,
    /// As kubectl names it: `service/web`.
    pub short: String,
    /// Whether it is stored.
    pub state: TripState,
    /// Pods it wants; 0 for one that makes none.
    pub desired: u32,
    /// Pods that are ready, or for a Job have completed.
    pub ready: u32,
    /// Pods that are in trouble, by kubectl's STATUS word: `CrashLoopBackOff`.
    pub troubles: Vec<(String, u32)>,
}

/// Whether an applied object is in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TripState {
    /// Not yet, or it was refused.
    #[default]
    Missing,
    /// It is.
    Stored,
    /// It was, and is being deleted.
    Deleting,
    /// It was, and was deleted.
    Gone,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TripStep {
    /// Which.
    pub kind: TripKind,
    /// How far.
    pub progress: Progress,
    /// How many of `total` have done it.
    pub done: u32,
    /// How many should.
    pub total: u32,
    /// Revision of its (first) write; 0 before, or when it wrote nothing.
    pub revision: u64,
    /// From `began_at` to its completion, or to its latest advance.
    pub after: u64,
    /// The thing it is about: the ReplicaSet's name, the last pod bound, the last started.
    pub name: String,
    /// For binding and starting: the node.
    pub node: String,
}

/// The six steps of a Deployment. A ReplicaSet or a pod applied directly leaves out those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum TripKind {
    /// Through the door and into etcd.
    #[default]
    Stored,
    /// The deployment controller made a ReplicaSet.
    ReplicaSet,
    /// The ReplicaSet controller made pods, without a node.
    Pods,
    /// The scheduler bound them.
    Bound,
    /// The kubelets started them.
    Started,
    /// Status came back: ready.
    Ready,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Progress {
    /// Not begun.
    #[default]
    Todo,
    /// Under way.
    Now,
    /// Done.
    Done,
}

/// Where the story holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoryHold {
    /// [`Trip::id`].
    pub trip: u32,
    /// The step that has just been made; its facts are in the trip's step of this kind.
    pub step: TripKind,
    /// True while time stands for the reader; false while it creeps to the next step.
    pub holding: bool,
}
