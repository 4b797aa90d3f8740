//! Priority: a pod's priority class becomes its priority; one class may be the default.

use api::core_v1::Pod;
use api::scheduling_v1::PriorityClass;
use api::{Object, Status, Str};

use super::{Attributes, Need, Operation};
use crate::registry::cached;

/// The priority of pods without a class, where none is the default.
const DEFAULT_PRIORITY: i32 = 0;
const PREEMPT: &str = "PreemptLowerPriority";

pub fn needs(attributes: &Attributes, object: &dyn Object) -> Vec<Need> {
    match object.downcast_ref::<Pod>() {
        Some(pod) if attributes.is("", "pods", "") && !pod.spec.priority_class_name.is_empty() => {
            vec![(attributes.call.server.priority_classes, pod.spec.priority_class_name.to_string())]
        }
        _ => Vec::new(),
    }
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, old: Option<&dyn Object>) -> Result<(), Status> {
    if !attributes.is("", "pods", "") {
        return Ok(());
    }
    let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
    if attributes.operation == Operation::Update {
        if let Some(old) = old.and_then(|old| old.downcast_ref::<Pod>()) {
            if pod.spec.priority.is_none() && old.spec.priority.is_some() {
                pod.spec.make().priority = old.spec.priority;
            }
            if pod.spec.preemption_policy.get().is_none() && old.spec.preemption_policy.get().is_some() {
                pod.spec.make().preemption_policy = old.spec.preemption_policy.clone();
            }
        }
        return Ok(());
    }
    if attributes.operation != Operation::Create {
        return Ok(());
    }
    let server = &attributes.call.server;
    let class = if pod.spec.priority_class_name.is_empty() {
        default_class(attributes)
    } else {
        let name = &pod.spec.priority_class_name;
        let found = attributes.find(server.priority_classes, name);
        let Some(found) = found else {
            let reason = format!("no PriorityClass with name {name} was found");
            return Err(attributes.forbidden(Some(pod), &reason));
        };
        found.downcast::<PriorityClass>()
    };
    let (name, value, policy) = match &class {
        Some(class) => (class.metadata.name.clone(), class.value, class.preemption_policy.get().unwrap_or(PREEMPT)),
        None => (Str::default(), DEFAULT_PRIORITY, PREEMPT),
    };
    if let Some(given) = pod.spec.priority
        && given != value
    {
        let reason = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(Some(pod), &reason));
    }
    if let Some(given) = pod.spec.preemption_policy.get()
        && given != policy
    {
        let reason = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(Some(pod), &reason));
    }
    let spec = pod.spec.make();
    spec.priority_class_name = name;
    spec.priority = Some(value);
    spec.preemption_policy = policy.into();
    Ok(())
}

/// The default class; the lowest where several claim to be.
fn default_class(attributes: &Attributes) -> Option<api::Rev<PriorityClass>> {
    let server = &attributes.call.server;
    cached(server, server.priority_classes, "")
        .into_iter()
        .filter_map(|object| object.downcast::<PriorityClass>())
        .filter(|class| class.global_default)
        .min_by_key(|class| class.value)
}

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, _: Option<&dyn Object>) -> Result<(), Status> {
    let Some(class) = new.and_then(|new| new.downcast_ref::<PriorityClass>()) else { return Ok(()) };
    if !class.global_default {
        return Ok(());
    }
    match default_class(attributes) {
        Some(other) if other.metadata.name != class.metadata.name => {
            let reason = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                other.metadata.name
            );
            Err(attributes.forbidden(new, &reason))
        }
        _ => Ok(()),
    }
}
