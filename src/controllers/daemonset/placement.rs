//! On which nodes a daemon set's pods belong, and what makes them stay there.

use std::cmp::Ordering;

use api::apps_v1::DaemonSet;
use api::core_v1::{Affinity, Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodTemplateSpec};
use api::core_v1::{Taint, Toleration};
use api::{List, Ptr, Rev, Str};

use crate::controller_utils::matches_node;
use crate::history::HASH_LABEL;

/// Taints that daemon pods tolerate: key and effect.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
const GENERATION: &str = "deprecated.daemonset.template.generation";
const GENERATION_LABEL: &str = "pod-template-generation";

/// What decides where the pods of one set may run.
pub(super) struct Placement {
    template: PodTemplateSpec,
}

impl Placement {
    pub fn of(set: &DaemonSet) -> Placement {
        let mut template = (*set.spec.template).clone();
        let network = template.spec.host_network.then_some(("node.kubernetes.io/network-unavailable", "NoSchedule"));
        let tolerations = template.spec.make().tolerations.make();
        for (key, effect) in TOLERATED.into_iter().chain(network) {
            let own = Toleration {
                key: key.into(),
                operator: "Exists".into(),
                effect: effect.into(),
                ..Toleration::default()
            };
            let same = |t: &Toleration| {
                t.key == own.key && t.effect == own.effect && t.operator == own.operator && t.value == own.value
            };
            match tolerations.iter_mut().find(|t| same(t)) {
                Some(there) => *there = own,
                None => tolerations.push(own),
            }
        }
        Placement { template }
    }

    /// Whether a pod should run on the node, and whether one that runs there may stay.
    pub fn should_run(&self, node: &Node) -> (bool, bool) {
        let spec = &self.template.spec;
        if !spec.node_name.is_empty() && spec.node_name != node.metadata.name {
            return (false, false);
        }
        if !matches_node(&spec.node_selector, spec.affinity.get(), node) {
            return (false, false);
        }
        let untolerated = |effects: &[&str]| {
            let mut taints = node.spec.taints.iter().filter(|t| effects.contains(&&*t.effect));
            taints.any(|t| !spec.tolerations.iter().any(|own| tolerates(own, t)))
        };
        (!untolerated(&["NoExecute", "NoSchedule"]), !untolerated(&["NoExecute"]))
    }

    /// The template of the pod for one node.
    pub fn template(&self, set: &DaemonSet, hash: &Str, node: &Str) -> PodTemplateSpec {
        let mut template = self.template.clone();
        if let Some(generation) = set.metadata.annotations.get(GENERATION) {
            template.metadata.labels.insert(GENERATION_LABEL, generation.clone());
        }
        if !hash.is_empty() {
            template.metadata.labels.insert(HASH_LABEL, hash.clone());
        }
        let affinity = template.spec.make().affinity.make();
        pin(affinity, node);
        template
    }
}

/// Replaces the terms' fields by the node's name.
fn pin(affinity: &mut Affinity, node: &Str) {
    let by_name = NodeSelectorRequirement {
        key: "metadata.name".into(),
        operator: "In".into(),
        values: List::from(vec![node.clone()]),
    };
    let term = NodeSelectorTerm { match_fields: List::from(vec![by_name]), ..NodeSelectorTerm::default() };
    let required = &mut affinity.node_affinity.make().required_during_scheduling_ignored_during_execution;
    *required = Ptr::some(NodeSelector { node_selector_terms: List::from(vec![term]) });
}

fn tolerates(t: &Toleration, taint: &Taint) -> bool {
    (t.effect.is_empty() || t.effect == taint.effect)
        && (t.key.is_empty() || t.key == taint.key)
        && (t.operator == "Exists" || t.value == taint.value)
}

/// The node a pod is bound to, or pinned to by its affinity.
pub(super) fn target_node(pod: &Pod) -> Option<Str> {
    if !pod.spec.node_name.is_empty() {
        return Some(pod.spec.node_name.clone());
    }
    let affinity = pod.spec.affinity.get()?.node_affinity.get()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.get()?;
    let mut fields = required.node_selector_terms.iter().flat_map(|t| t.match_fields.iter());
    let by_name = fields.find(|f| f.key == "metadata.name" && f.operator == "In")?;
    by_name.values.first().cloned()
}

/// Pods bound to a node first, then the older.
pub(super) fn by_phase_and_age(a: &Rev<Pod>, b: &Rev<Pod>) -> Ordering {
    let key =
        |p: &Rev<Pod>| (p.spec.node_name.is_empty(), p.metadata.creation_timestamp.unix(), p.metadata.name.clone());
    key(a).cmp(&key(b))
}

/// Whether a pod is of the current revision.
pub(super) fn is_updated(pod: &Pod, set: &DaemonSet, hash: &str) -> bool {
    let generation = set.metadata.annotations.get(GENERATION);
    let same_generation = generation.is_some() && pod.metadata.labels.get(GENERATION_LABEL) == generation;
    same_generation || (!hash.is_empty() && pod.metadata.labels.get(HASH_LABEL).is_some_and(|h| *h == *hash))
}
