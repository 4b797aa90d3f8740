//! Quality of service and what a pod asks for (pkg/apis/core/v1/helper/qos, component-helpers/resource).

use api::core_v1::{Container, Pod, PodSpec, ResourceRequirements};
pub use api::pod::{BEST_EFFORT, BURSTABLE, GUARANTEED};
use api::pod::{is_sidecar, qos_class};
use api::{Map, Ptr, Quantity};

/// The class of a pod: the one that it was created with; only what no API server has seen has none (`GetPodQOS`).
pub fn class(pod: &Pod) -> &str {
    if pod.status.qos_class.is_empty() { qos_class(&pod.spec) } else { &pod.status.qos_class }
}

fn add(into: &mut Map<Quantity>, more: &Map<Quantity>) {
    for (name, quantity) in more {
        match into.get_mut(name) {
            Some(sum) => sum.add(quantity),
            None => {
                into.insert(name.clone(), quantity.clone());
            }
        }
    }
}

fn raise(into: &mut Map<Quantity>, other: &Map<Quantity>) {
    for (name, quantity) in other {
        match into.get_mut(name) {
            Some(most) if *most < *quantity => *most = quantity.clone(),
            Some(_) => {}
            None => {
                into.insert(name.clone(), quantity.clone());
            }
        }
    }
}

/// What a pod requests in all: the regular containers and sidecars together, or an init container with the sidecars
/// before it, whichever is more; the overhead on top. Empty (nil) if it requests nothing.
pub fn pod_requests(spec: &PodSpec) -> Map<Quantity> {
    let mut sum: Map<Quantity> = Map::default();
    for container in spec.containers.iter() {
        add(&mut sum, &container.resources.requests);
    }
    let mut sidecars: Map<Quantity> = Map::default();
    let mut init_most: Map<Quantity> = Map::default();
    for container in spec.init_containers.iter() {
        if is_sidecar(container) {
            add(&mut sum, &container.resources.requests);
            add(&mut sidecars, &container.resources.requests);
            raise(&mut init_most, &sidecars);
        } else {
            let mut with: Map<Quantity> = sidecars.clone();
            add(&mut with, &container.resources.requests);
            raise(&mut init_most, &with);
        }
    }
    raise(&mut sum, &init_most);
    if let Some(own) = spec.resources.get() {
        for (name, quantity) in &own.requests {
            sum.insert(name.clone(), quantity.clone());
        }
    }
    if !spec.overhead.is_empty() {
        add(&mut sum, &spec.overhead);
    }
    sum
}

/// `status.resources`: what the pod has as a whole.
pub fn pod_level_resources(spec: &PodSpec) -> Ptr<ResourceRequirements> {
    let requests = pod_requests(spec);
    let mut limits: Map<Quantity> = Map::default();
    for container in spec.containers.iter().chain(spec.init_containers.iter().filter(|c| is_sidecar(c))) {
        add(&mut limits, &container.resources.limits);
    }
    if let Some(own) = spec.resources.get() {
        for (name, quantity) in &own.limits {
            limits.insert(name.clone(), quantity.clone());
        }
    }
    Ptr::some(ResourceRequirements { requests, limits, ..ResourceRequirements::default() })
}

/// The memory limit in bytes under which a container runs, 0 if none.
pub fn memory_limit(container: &Container) -> i64 {
    container.resources.limits.get("memory").map_or(0, Quantity::value)
}
