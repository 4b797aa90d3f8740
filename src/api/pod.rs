//! What the scheduler, the kubelet and the API server read out of a pod alike.

use crate::Str;
use crate::core_v1::{Container, Pod, PodSpec};

/// Whether an init container goes on beside the pod's others: one with `restartPolicy: Always`
/// (`podutil.IsRestartableInitContainer`).
pub fn is_sidecar(init_container: &Container) -> bool {
    init_container.restart_policy.get() == Some("Always")
}

/// The action of a container's restart rule that restarts all containers of the pod in place.
pub const RESTART_ALL: &str = "RestartAllContainers";

/// Init and regular containers.
pub fn main_containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().chain(spec.containers.iter())
}

/// Whether a container of the pod may have all restarted.
pub fn could_restart_all(spec: &PodSpec) -> bool {
    main_containers(spec).any(|c| c.restart_policy_rules.iter().any(|rule| rule.action == *RESTART_ALL))
}

/// A port of a node: address, protocol, number.
pub type HostPort = (Str, Str, i32);

const ANY_ADDRESS: &str = "0.0.0.0";

/// The ports of its node that a pod takes (`GetHostPorts`).
pub fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let sidecars = pod.spec.init_containers.iter().filter(|c| is_sidecar(c));
    let ports = pod.spec.containers.iter().chain(sidecars).flat_map(|c| c.ports.iter());
    let or = |text: &Str, default: &str| if text.is_empty() { default.into() } else { text.clone() };
    let taken = ports.filter(|port| port.host_port > 0);
    taken.map(|port| (or(&port.host_ip, ANY_ADDRESS), or(&port.protocol, "TCP"), port.host_port)).collect()
}

/// Whether two pods of one node can't both have these ports (`HostPortInfo.CheckConflict`).
pub fn host_ports_conflict(a: &HostPort, b: &HostPort) -> bool {
    a.1 == b.1 && a.2 == b.2 && (a.0 == b.0 || a.0 == ANY_ADDRESS || b.0 == ANY_ADDRESS)
}
