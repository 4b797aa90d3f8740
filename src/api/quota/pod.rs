//! What a pod uses (pkg/quota/v1/evaluator/core/pods.go; component-helpers' resource/helpers.go).

use super::amounts::{self, ResourceList};
use super::one;
use crate::SortSmall;
use crate::core_v1::{Container, ContainerStatus, Pod, PodAffinityTerm, ScopedResourceSelectorRequirement};
use crate::resource_claim::CLASS_PREFIX as DEVICE_CLASS;
use crate::selector::{Operator, Requirement};
use crate::validation::{is_extended, is_native};
use crate::{Map, Str};

/// What quotas count of pods, sorted.
pub(super) const RESOURCES: [&str; 11] = [
    "count/pods",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
/// Of these a pod's containers must all ask for some, once a quota limits them.
const DEMANDED: [&str; 6] = ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

/// Whether a quota for this resource is about pods, beyond the names of `RESOURCES`.
pub(super) fn counts(name: &str) -> bool {
    let huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
    let asked = name.strip_prefix("requests.");
    huge || asked.is_some_and(|rest| !is_native(name) || rest.starts_with(DEVICE_CLASS))
}

/// A pod counts until it has ended, or should have (`QuotaV1Pod`). `now` is in nanoseconds since 1970.
pub fn is_charged(pod: &Pod, now: i64) -> bool {
    if matches!(&*pod.status.phase, "Failed" | "Succeeded") {
        return false;
    }
    match (pod.metadata.deletion_timestamp.unix(), pod.metadata.deletion_grace_period_seconds) {
        (Some(deleted), Some(grace)) => now <= deleted.saturating_add(grace).saturating_mul(1_000_000_000),
        _ => true,
    }
}

/// Whether the pod is to end by itself (`activeDeadlineSeconds`).
pub fn is_terminating(pod: &Pod) -> bool {
    pod.spec.active_deadline_seconds.is_some_and(|seconds| seconds >= 0)
}

/// What the pod uses at this time, in nanoseconds since 1970.
pub(super) fn usage(pod: &Pod, now: i64) -> ResourceList {
    let mut used = ResourceList::default();
    used.insert("count/pods", one());
    if is_charged(pod, now) {
        amounts::add_to(&mut used, &compute(&requests(pod), &limits(pod)));
    }
    used
}

/// Requests and limits under the names that quotas have for them (`podComputeUsageHelper`).
fn compute(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut used = ResourceList::default();
    used.insert("pods", one());
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            used.insert(name, request.clone());
            used.insert(format!("requests.{name}"), request.clone());
        }
        if let Some(limit) = limits.get(name) {
            used.insert(format!("limits.{name}"), limit.clone());
        }
    }
    for (name, request) in requests {
        if name.starts_with("hugepages-") {
            used.insert(name.clone(), request.clone());
            used.insert(format!("requests.{name}"), request.clone());
        } else if is_extended(name) || name.starts_with(DEVICE_CLASS) {
            used.insert(format!("requests.{name}"), request.clone());
        }
    }
    used
}

/// Every container must say what it needs of the cpu and memory that a quota limits.
pub(super) fn constraints(pod: &Pod, required: &[Str]) -> Result<(), String> {
    if has_own_resources(pod) {
        return Ok(());
    }
    let mut missing: Map<Vec<Str>> = Map::default();
    for container in pod.spec.containers.iter().chain(pod.spec.init_containers.iter()) {
        let said = compute(&container.resources.requests, &container.resources.limits);
        for name in required.iter().filter(|name| DEMANDED.contains(&&***name) && !said.contains_key(name)) {
            let containers = missing.entry(name.clone(), Vec::new);
            if !containers.contains(&container.name) {
                containers.push(container.name.clone());
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let parts = missing.iter().map(|(name, containers)| {
        let mut containers: Vec<&str> = containers.iter().map(Str::as_str).collect();
        containers.sort_small();
        format!("{name} for: {}", containers.join(","))
    });
    Err(format!("must specify {}", parts.collect::<Vec<_>>().join("; ")))
}

/// Whether the pod is within a scope.
pub(super) fn in_scope(pod: &Pod, selector: &ScopedResourceSelectorRequirement) -> Result<bool, String> {
    Ok(match &*selector.scope_name {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => quality(pod) == "BestEffort",
        "NotBestEffort" => quality(pod) != "BestEffort",
        "PriorityClass" if &*selector.operator == "Exists" => !pod.spec.priority_class_name.is_empty(),
        "PriorityClass" => {
            let mut labels: Map<Str> = Map::default();
            if !pod.spec.priority_class_name.is_empty() {
                labels.insert("PriorityClass", pod.spec.priority_class_name.clone());
            }
            requirement(selector)?.matches(&labels)
        }
        "CrossNamespacePodAffinity" => reaches_other_namespaces(pod),
        _ => false,
    })
}

/// A scope's selector as one of labels.
pub(super) fn requirement(selector: &ScopedResourceSelectorRequirement) -> Result<Requirement, String> {
    let operator = match &*selector.operator {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => return Err(format!("{} is not a valid scope selector operator", crate::go::quote(other))),
    };
    Requirement::new(selector.scope_name.clone(), operator, selector.values.to_vec())
        .map_err(|why| format!("failed to parse and convert selector: {why}"))
}

fn quality(pod: &Pod) -> &str {
    if pod.status.qos_class.is_empty() { crate::pod::qos_class(&pod.spec) } else { &pod.status.qos_class }
}

fn reaches_other_namespaces(pod: &Pod) -> bool {
    let far = |term: &PodAffinityTerm| !term.namespaces.is_empty() || term.namespace_selector.is_some();
    let Some(affinity) = pod.spec.affinity.get() else { return false };
    let to = affinity.pod_affinity.get().is_some_and(|affinity| {
        affinity.required_during_scheduling_ignored_during_execution.iter().any(far)
            || affinity.preferred_during_scheduling_ignored_during_execution.iter().any(|w| far(&w.pod_affinity_term))
    });
    let from = affinity.pod_anti_affinity.get().is_some_and(|affinity| {
        affinity.required_during_scheduling_ignored_during_execution.iter().any(far)
            || affinity.preferred_during_scheduling_ignored_during_execution.iter().any(|w| far(&w.pod_affinity_term))
    });
    to || from
}

fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Whether the pod has resources as a whole (`IsPodLevelResourcesSet`).
fn has_own_resources(pod: &Pod) -> bool {
    let own = pod.spec.resources.get();
    own.is_some_and(|own| own.requests.keys().chain(own.limits.keys()).any(|name| is_of_pods(name)))
}

fn status<'a>(pod: &'a Pod, container: &Container) -> Option<&'a ContainerStatus> {
    let all = pod.status.container_statuses.iter().chain(pod.status.init_container_statuses.iter());
    all.into_iter().find(|status| status.name == container.name)
}

fn is_infeasible(pod: &Pod) -> bool {
    let pending = pod.status.conditions.iter().find(|condition| &*condition.type_ == "PodResizePending");
    pending.is_some_and(|condition| &*condition.reason == "Infeasible")
}

/// The pod's amounts over its containers: the regular ones and sidecars together, or an init container with the
/// sidecars before it, whichever is more.
fn over_containers<'a>(pod: &'a Pod, of: &dyn Fn(&'a Container) -> &'a ResourceList) -> ResourceList {
    let mut sum = ResourceList::default();
    for container in pod.spec.containers.iter() {
        amounts::add_to(&mut sum, of(container));
    }
    let mut sidecars = ResourceList::default();
    let mut most = ResourceList::default();
    for container in pod.spec.init_containers.iter() {
        let own = of(container);
        if crate::pod::is_sidecar(container) {
            amounts::add_to(&mut sum, own);
            amounts::add_to(&mut sidecars, own);
            amounts::raise(&mut most, &sidecars);
        } else {
            amounts::raise(&mut most, &amounts::add(own, &sidecars));
        }
    }
    amounts::raise(&mut sum, &most);
    sum
}

/// What the pod requests in all (`PodRequests`): what is asked for, was allocated or is in force, whichever is most.
pub fn requests(pod: &Pod) -> ResourceList {
    let none = &ResourceList::default();
    let infeasible = is_infeasible(pod);
    let allocated = over_containers(pod, &|container| match status(pod, container) {
        Some(status) if !status.allocated_resources.is_nil() => &status.allocated_resources,
        _ if infeasible => none,
        _ => &container.resources.requests,
    });
    let actual = over_containers(pod, &|container| match status(pod, container) {
        Some(ContainerStatus { resources, .. }) if resources.get().is_some_and(|r| !r.requests.is_nil()) => {
            resources.get().map_or(none, |resources| &resources.requests)
        }
        Some(status) if !status.allocated_resources.is_nil() => &status.allocated_resources,
        _ if infeasible => none,
        _ => &container.resources.requests,
    });
    let mut total = if infeasible { ResourceList::default() } else { over_containers(pod, &|c| &c.resources.requests) };
    amounts::raise(&mut total, &actual);
    amounts::raise(&mut total, &allocated);
    if let Some(own) = pod.spec.resources.get() {
        for (name, quantity) in own.requests.iter().filter(|(name, _)| is_of_pods(name)) {
            total.insert(name.clone(), quantity.clone());
        }
    }
    amounts::add_to(&mut total, &pod.spec.overhead);
    total
}

/// What the pod is limited to in all (`PodLimits`).
pub fn limits(pod: &Pod) -> ResourceList {
    let none = &ResourceList::default();
    let infeasible = is_infeasible(pod);
    let actual = over_containers(pod, &|container| match status(pod, container).and_then(|s| s.resources.get()) {
        Some(resources) if !resources.limits.is_nil() => &resources.limits,
        _ if infeasible => none,
        _ => &container.resources.limits,
    });
    let mut total = if infeasible { ResourceList::default() } else { over_containers(pod, &|c| &c.resources.limits) };
    amounts::raise(&mut total, &actual);
    if let Some(own) = pod.spec.resources.get() {
        for (name, quantity) in own.limits.iter().filter(|(name, _)| is_of_pods(name)) {
            total.insert(name.clone(), quantity.clone());
        }
    }
    for (name, quantity) in &pod.spec.overhead {
        if let Some(limit) = total.get_mut(name).filter(|limit| !limit.is_zero()) {
            limit.add(quantity);
        }
    }
    total
}

/// Whether the resources in force of a container changed.
pub(super) fn has_resized(new: &Pod, old: &Pod) -> bool {
    let changed = |new: &[ContainerStatus], old: &[ContainerStatus]| {
        old.iter().any(|old| new.iter().any(|new| new.name == old.name && new.resources != old.resources))
    };
    changed(&new.status.container_statuses, &old.status.container_statuses)
        || changed(&new.status.init_container_statuses, &old.status.init_container_statuses)
}

/// What the pod requests by its specification alone.
pub fn asked(pod: &Pod) -> ResourceList {
    let mut total = over_containers(pod, &|container| &container.resources.requests);
    if let Some(own) = pod.spec.resources.get() {
        for (name, quantity) in own.requests.iter().filter(|(name, _)| is_of_pods(name)) {
            total.insert(name.clone(), quantity.clone());
        }
    }
    amounts::add_to(&mut total, &pod.spec.overhead);
    total
}
