//! Features that a node says it has and that a pod, or a change of one, may need
//! (KEP-5328, `component-helpers/nodedeclaredfeatures`).

use crate::core_v1::{Node, PodSpec};
use crate::equality;
use crate::pod::{could_restart_all, is_sidecar};

/// A feature by its name in `status.declaredFeatures`.
struct Feature {
    name: &'static str,
    /// Whether a pod needs it of its node.
    by_pod: fn(&PodSpec) -> bool,
    /// Whether this change, from the first to the second, needs it.
    by_change: fn(&PodSpec, &PodSpec) -> bool,
}

impl Feature {
    const fn named(name: &'static str) -> Feature {
        Feature { name, by_pod: |_| false, by_change: |_, _| false }
    }
}

/// Those that something can need, in the order in which a refusal names them. Others, such as
/// `ExtendWebSocketsToKubelet`, are only declared.
static FEATURES: [Feature; 4] = [
    Feature { by_change: pod_level_resources, ..Feature::named("InPlacePodLevelResourcesVerticalScaling") },
    Feature { by_change: init_containers, ..Feature::named("InPlacePodVerticalScalingInitContainers") },
    Feature { by_pod: could_restart_all, ..Feature::named("RestartAllContainersOnContainerExits") },
    Feature { by_pod: own_users_in_hosts_network, ..Feature::named("UserNamespacesHostNetworkSupport") },
];

/// What a pod needs of its node (`InferForPodScheduling`).
pub fn needed_by(spec: &PodSpec) -> Vec<&'static str> {
    FEATURES.iter().filter(|f| (f.by_pod)(spec)).map(|f| f.name).collect()
}

/// What a change of a pod needs of its node (`InferForPodUpdate`).
pub fn needed_by_change(old: &PodSpec, new: &PodSpec) -> Vec<&'static str> {
    FEATURES.iter().filter(|f| (f.by_change)(old, new)).map(|f| f.name).collect()
}

/// Of those, what a node does not declare.
pub fn missing(needed: Vec<&'static str>, node: &Node) -> Vec<&'static str> {
    let declared = &node.status.declared_features;
    needed.into_iter().filter(|feature| !declared.iter().any(|d| **d == **feature)).collect()
}

fn own_users_in_hosts_network(spec: &PodSpec) -> bool {
    spec.host_network && spec.host_users == Some(false)
}

fn pod_level_resources(old: &PodSpec, new: &PodSpec) -> bool {
    match (old.resources.get(), new.resources.get()) {
        (Some(old), Some(new)) => !equality::semantic(old, new),
        (old, new) => old.is_some() != new.is_some(),
    }
}

fn init_containers(old: &PodSpec, new: &PodSpec) -> bool {
    let pairs = old.init_containers.iter().zip(new.init_containers.iter());
    pairs.filter(|(old, _)| !is_sidecar(old)).any(|(old, new)| !equality::semantic(&old.resources, &new.resources))
}
