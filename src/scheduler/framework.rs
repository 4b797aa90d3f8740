//! The framework: what a plugin is, and what it sees (`pkg/scheduler/framework`).

use crate::cache::Snapshot;
use crate::change::Hint;
use crate::devices::Devices;
use crate::executor::Preempting;
use crate::node_info::{NodeInfo, PodInfo};
use crate::plugins;
use crate::verdict::Rejection;
use api::core_v1::Pod;
use api::selector::LabelSelector;
use client::Lister;
use std::cell::OnceCell;

/// The highest score of a plugin.
pub const MAX_NODE_SCORE: i64 = 100;

/// What the plugins work out once for a pod and a set of nodes; each plugin has its own part.
#[derive(Default)]
pub struct CycleState {
    /// Of VolumeRestrictions' filter.
    pub restrictions: OnceCell<plugins::volume_restrictions::State>,
    /// Of VolumeZone's filter.
    pub zones: OnceCell<plugins::volume_zone::State>,
    /// Of PodTopologySpread's filter.
    pub spread: OnceCell<plugins::pod_topology_spread::State>,
    /// Of PodTopologySpread's score.
    pub spread_score: OnceCell<plugins::pod_topology_spread::ScoreState>,
    /// Of InterPodAffinity's filter.
    pub affinity: OnceCell<plugins::inter_pod_affinity::State>,
    /// Of DynamicResources' filter and score.
    pub devices: OnceCell<plugins::dynamic_resources::State>,
    /// Of ImageLocality's score.
    pub images: OnceCell<plugins::image_locality::State>,
    /// Of InterPodAffinity's score.
    pub affinity_score: OnceCell<plugins::inter_pod_affinity::ScoreState>,
}

/// One cycle: the pod and the nodes as they were when it began.
pub struct Cycle<'a> {
    /// The pod.
    pub pod: &'a PodInfo,
    /// All nodes.
    pub snapshot: &'a Snapshot,
    /// The pods of the services and the controller that the pod belongs to, for the default spreading.
    pub default_selector: Option<LabelSelector>,
    /// What plugins remember.
    pub state: CycleState,
}

impl<'a> Cycle<'a> {
    /// A cycle in which nothing has been worked out.
    pub fn new(pod: &'a PodInfo, snapshot: &'a Snapshot, default_selector: Option<LabelSelector>) -> Self {
        Self { pod, snapshot, default_selector, state: CycleState::default() }
    }
}

/// What PreEnqueue looks at besides the pod.
#[derive(Clone)]
pub struct Gates {
    /// All pods.
    pub pods: Lister<Pod>,
    /// Those for which others are being removed.
    pub preempting: Preempting,
    /// Claims of devices.
    pub devices: Devices,
}

impl Default for Gates {
    fn default() -> Self {
        Self { pods: Lister::of([]), preempting: Preempting::default(), devices: Devices::default() }
    }
}

/// What PreFilter says.
pub enum PreFilter {
    /// The filter is needed.
    Go,
    /// The filter has nothing to do for this pod.
    Skip,
    /// Only these nodes can do.
    Nodes(Vec<api::Str>),
    /// No node will do.
    Reject(Rejection),
}

/// A plugin: its name and what it does at each extension point. Pure functions.
pub struct Plugin {
    /// Its name in Kubernetes.
    pub name: &'static str,
    /// What its score counts; 0 if it has none.
    pub weight: i64,
    /// Keeps a pod out of the queue.
    pub pre_enqueue: Option<fn(&PodInfo, &Gates) -> Option<Rejection>>,
    /// Looks at the pod before any node.
    pub pre_filter: Option<fn(&Cycle<'_>) -> PreFilter>,
    /// Refuses nodes.
    pub filter: Option<fn(&Cycle<'_>, &NodeInfo) -> Option<Rejection>>,
    /// Looks at the nodes that passed; false if there is nothing to score.
    pub pre_score: Option<fn(&Cycle<'_>, &[&NodeInfo]) -> bool>,
    /// Scores a node.
    pub score: Option<fn(&Cycle<'_>, &NodeInfo) -> i64>,
    /// Brings the scores between 0 and [`MAX_NODE_SCORE`].
    pub normalize: Option<fn(&Cycle<'_>, &mut [i64], &[&NodeInfo])>,
    /// Which changes of the cluster may make a pod schedulable that it refused.
    pub hints: &'static [Hint],
}

impl Plugin {
    /// A plugin that does nothing, to be filled in.
    pub const fn named(name: &'static str) -> Self {
        Self {
            name,
            weight: 0,
            pre_enqueue: None,
            pre_filter: None,
            filter: None,
            pre_score: None,
            score: None,
            normalize: None,
            hints: &[],
        }
    }
}

/// Scales scores so that the highest is 100; with `reverse` the lowest is (`DefaultNormalizeScore`).
pub fn normalize_to_max(scores: &mut [i64], reverse: bool) {
    let max = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        *score = if max == 0 { 0 } else { MAX_NODE_SCORE * *score / max };
        if reverse {
            *score = MAX_NODE_SCORE - *score;
        }
    }
}
