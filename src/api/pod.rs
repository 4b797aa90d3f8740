//! What the scheduler, the kubelet and the API server read out of a pod alike.

use crate::core_v1::{Container, Pod, PodSpec, ResourceRequirements};
use crate::{Map, Quantity, Str};
use std::cmp::Ordering;

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

/// `Guaranteed`
pub const GUARANTEED: &str = "Guaranteed";
/// `Burstable`
pub const BURSTABLE: &str = "Burstable";
/// `BestEffort`
pub const BEST_EFFORT: &str = "BestEffort";

/// The quality of service class that a pod's requests and limits of CPU and memory come to (`ComputePodQOS`). What the
/// pod as a whole asks for, if it does, decides instead of its containers.
pub fn qos_class(spec: &PodSpec) -> &'static str {
    let whole = spec.resources.get().filter(|r| !r.requests.is_empty() || !r.limits.is_empty());
    let each = main_containers(spec).filter(|_| whole.is_none()).map(|c| &c.resources).chain(whole);
    let zero = Quantity::default();
    let of_one = |(resources, name): (&ResourceRequirements, &str)| {
        let of = |list: &Map<Quantity>| list.get(name).unwrap_or(&zero).clone();
        let (request, limit) = (of(&resources.requests), of(&resources.limits));
        match request.cmp(&limit) {
            Ordering::Equal if request.is_zero() => BEST_EFFORT,
            Ordering::Equal => GUARANTEED,
            _ => BURSTABLE,
        }
    };
    let classes = each.flat_map(|resources| [(resources, "cpu"), (resources, "memory")]).map(of_one);
    classes.reduce(|a, b| if a == b { a } else { BURSTABLE }).unwrap_or(BEST_EFFORT)
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
