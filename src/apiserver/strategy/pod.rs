//! Pods and their templates (pkg/registry/core/pod/strategy.go).

use api::core_v1::{Container, Pod, PodCondition};
use api::{Object, Str, Time};

use super::{Generation, Moment, SPEC, Strategy, only_status};

pub(super) static STRATEGIES: &[Strategy] = &[
    Strategy {
        resource: "pods",
        generation: SPEC,
        return_deleted: true,
        prepare_create,
        prepare_update,
        prepare_status,
        narrow,
        grace: Some(grace),
        ..Strategy::ORDINARY
    },
    Strategy {
        resource: "podtemplates",
        generation: Generation::On(&["template"]),
        return_deleted: true,
        ..Strategy::ORDINARY
    },
];

fn prepare_create(object: &mut dyn Object, moment: &Moment) {
    let Some(pod) = object.downcast_mut::<Pod>() else { return };
    let qos = api::pod::qos_class(&pod.spec);
    let gated = !pod.spec.scheduling_gates.is_empty();
    let status = pod.status.make();
    status.phase = "Pending".into();
    status.qos_class = qos.into();
    if gated {
        set_condition(
            pod,
            PodCondition {
                type_: "PodScheduled".into(),
                status: "False".into(),
                reason: "SchedulingGated".into(),
                message: "Scheduling is blocked due to non-empty scheduling gates".into(),
                ..Default::default()
            },
            moment.time(),
        );
    }
}

fn prepare_update(object: &mut dyn Object, old: &dyn Object, _: &Moment) {
    let (Some(new), Some(old)) = (object.downcast_mut::<Pod>(), old.downcast_ref::<Pod>()) else {
        return;
    };
    if new.spec.resources.is_none() && old.spec.resources.is_some() {
        new.spec.make().resources = old.spec.resources.clone();
    }
}

fn prepare_status(object: &mut dyn Object, old: &dyn Object) {
    let (Some(new), Some(old)) = (object.downcast_mut::<Pod>(), old.downcast_ref::<Pod>()) else {
        return;
    };
    // Old kubelets spoil owner references, which the garbage collector relies on.
    new.metadata.owner_references = old.metadata.owner_references.clone();
    new.metadata.deletion_timestamp = Time::default();
    if new.status.qos_class.is_empty() {
        new.status.make().qos_class = old.status.qos_class.clone();
    }
    if new.status.resource_claim_statuses.is_nil() && !old.status.resource_claim_statuses.is_nil() {
        new.status.make().resource_claim_statuses = old.status.resource_claim_statuses.clone();
    }
    if new.status.extended_resource_claim_status.is_none() && old.status.extended_resource_claim_status.is_some() {
        new.status.make().extended_resource_claim_status = old.status.extended_resource_claim_status.clone();
    }
    if new.status.observed_generation == 0 && old.status.observed_generation != 0 {
        new.status.make().observed_generation = old.status.observed_generation;
    }
}

/// Through `ephemeralcontainers` a pod changes its ephemeral containers, through `resize` its resources and resize
/// policies; the rest of what was sent is passed over.
fn narrow(subresource: &str, object: &mut dyn Object, old: &dyn Object) {
    let Some(before) = old.downcast_ref::<Pod>() else { return };
    let Some(pod) = object.downcast_mut::<Pod>() else { return };
    let mut spec = before.spec.clone();
    match subresource {
        "ephemeralcontainers" => spec.make().ephemeral_containers = pod.spec.ephemeral_containers.clone(),
        "resize" => {
            // Other containers than before are for validation to refuse.
            let lists = [
                (&pod.spec.containers, &before.spec.containers),
                (&pod.spec.init_containers, &before.spec.init_containers),
            ];
            if lists.iter().any(|(new, old)| new.len() != old.len()) {
                return;
            }
            let [containers, init_containers] = lists.map(|(new, old)| resized(new, old));
            let made = spec.make();
            (made.containers, made.init_containers) = (containers, init_containers);
            made.resources = pod.spec.resources.clone();
        }
        _ => return,
    }
    pod.spec = spec;
    only_status(pod, old);
}

/// The containers as they were, with the new resources and resize policies; as they are where one was renamed.
fn resized(new: &api::List<Container>, old: &api::List<Container>) -> api::List<Container> {
    if new.iter().zip(old.iter()).any(|(new, old)| new.name != old.name) {
        return new.clone();
    }
    let mut kept = old.clone();
    for (container, new) in kept.make().iter_mut().zip(new.iter()) {
        container.resources = new.resources.clone();
        container.resize_policy = new.resize_policy.clone();
    }
    kept
}

/// A pod gets the time asked for, or its own; one that runs nowhere or has ended goes at once.
fn grace(object: &dyn Object, asked: Option<i64>) -> i64 {
    let Some(pod) = object.downcast_ref::<Pod>() else { return 0 };
    if pod.spec.node_name.is_empty() || matches!(&*pod.status.phase, "Failed" | "Succeeded") {
        return 0;
    }
    let period = asked.or(pod.spec.termination_grace_period_seconds).unwrap_or(0);
    if period < 0 { 1 } else { period }
}

/// Sets a condition, keeping its transition time while its status stays (podutil.UpdatePodCondition).
pub fn set_condition(pod: &mut Pod, mut condition: PodCondition, now: Time) {
    condition.last_transition_time = now;
    let conditions = pod.status.make().conditions.make();
    match conditions.iter_mut().find(|old| old.type_ == condition.type_) {
        None => conditions.push(condition),
        Some(old) => {
            if old.status == condition.status {
                condition.last_transition_time = old.last_transition_time;
            }
            *old = condition;
        }
    }
}

/// Binds a pod to a node (BindingREST.setPodNodeAndMetadata). The error is the conflict's reason.
pub fn bind(
    pod: &mut Pod,
    node: &Str,
    annotations: &api::Map<Str>,
    labels: &api::Map<Str>,
    now: Time,
) -> Result<(), String> {
    if !pod.metadata.deletion_timestamp.is_zero() {
        return Err(format!("pod {} is being deleted, cannot be assigned to a host", pod.metadata.name));
    }
    if !pod.spec.node_name.is_empty() {
        return Err(format!("pod {} is already assigned to node {:?}", pod.metadata.name, &*pod.spec.node_name));
    }
    if !pod.spec.scheduling_gates.is_empty() {
        return Err(format!("pod {} has non-empty .spec.schedulingGates", pod.metadata.name));
    }
    pod.spec.make().node_name = node.clone();
    if !pod.status.nominated_node_name.is_empty() {
        pod.status.make().nominated_node_name = Str::default();
    }
    for (key, value) in annotations.iter() {
        pod.metadata.annotations.insert(key.clone(), value.clone());
    }
    for (key, value) in labels.iter() {
        pod.metadata.labels.insert(key.clone(), value.clone());
    }
    set_condition(pod, PodCondition { type_: "PodScheduled".into(), status: "True".into(), ..Default::default() }, now);
    Ok(())
}
