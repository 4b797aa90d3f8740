//! RuntimeClass: a pod of a class carries its overhead and is placed where the class can run.

use api::core_v1::{Pod, Toleration};
use api::node_v1::RuntimeClass;
use api::{Object, Rev, Status};

use super::{Attributes, Need, Operation};

fn pod_class(object: &dyn Object) -> Option<&str> {
    object.downcast_ref::<Pod>().and_then(|pod| pod.spec.runtime_class_name.get())
}

fn concerned(attributes: &Attributes) -> bool {
    attributes.operation == Operation::Create && attributes.is("", "pods", "")
}

pub fn needs(attributes: &Attributes, object: &dyn Object) -> Vec<Need> {
    match pod_class(object) {
        Some(name) if concerned(attributes) => vec![(attributes.call.server.runtime_classes, name.to_string())],
        _ => Vec::new(),
    }
}

fn class(attributes: &Attributes, pod: &dyn Object) -> Result<Option<Rev<RuntimeClass>>, Status> {
    let Some(name) = pod_class(pod) else { return Ok(None) };
    match attributes.find(attributes.call.server.runtime_classes, name) {
        Some(found) => Ok(found.downcast::<RuntimeClass>()),
        None => {
            let reason = format!("pod rejected: RuntimeClass {} not found", api::go::quote(name));
            Err(attributes.forbidden(Some(pod), &reason))
        }
    }
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if !concerned(attributes) {
        return Ok(());
    }
    let Some(class) = class(attributes, object)? else { return Ok(()) };
    let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
    if let Some(overhead) = class.overhead.get() {
        if !pod.spec.overhead.is_empty() && pod.spec.overhead != overhead.pod_fixed {
            let reason = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(attributes.forbidden(Some(pod), reason));
        }
        pod.spec.make().overhead = overhead.pod_fixed.clone();
    }
    let Some(scheduling) = class.scheduling.get() else { return Ok(()) };
    for (key, value) in &scheduling.node_selector {
        if let Some(own) = pod.spec.node_selector.get(key).filter(|own| *own != value) {
            let reason = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            );
            return Err(attributes.forbidden(Some(pod), &reason));
        }
        pod.spec.make().node_selector.insert(key.clone(), value.clone());
    }
    let tolerations = merged(pod.spec.tolerations.iter().chain(scheduling.tolerations.iter()));
    pod.spec.make().tolerations = tolerations.into();
    Ok(())
}

/// All tolerations but those that another one covers.
fn merged<'a>(all: impl Iterator<Item = &'a Toleration>) -> Vec<Toleration> {
    let all: Vec<&Toleration> = all.collect();
    let mut kept: Vec<Toleration> = Vec::new();
    for (i, toleration) in all.iter().enumerate() {
        let later = all.iter().skip(i + 1).any(|other| other != toleration && covers(other, toleration));
        if !later && !kept.iter().any(|other| covers(other, toleration)) {
            kept.push((*toleration).clone());
        }
    }
    kept
}

fn covers(wide: &Toleration, toleration: &Toleration) -> bool {
    if wide == toleration {
        return true;
    }
    if toleration.key != wide.key && (!wide.key.is_empty() || &*wide.operator != "Exists") {
        return false;
    }
    if toleration.effect != wide.effect && !wide.effect.is_empty() {
        return false;
    }
    if &*wide.effect == "NoExecute"
        && let Some(most) = wide.toleration_seconds
        && toleration.toleration_seconds.is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    match &*wide.operator {
        "Equal" | "" => &*toleration.operator == "Equal" && toleration.value == wide.value,
        "Exists" => true,
        _ => false,
    }
}

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, _: Option<&dyn Object>) -> Result<(), Status> {
    let Some(object) = new.filter(|_| concerned(attributes)) else { return Ok(()) };
    let class = class(attributes, object)?;
    let Some(pod) = object.downcast_ref::<Pod>() else { return Ok(()) };
    let reason = match class.as_ref().and_then(|class| class.overhead.get()) {
        Some(overhead) if overhead.pod_fixed != pod.spec.overhead => {
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        }
        None if !pod.spec.overhead.is_nil() => {
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        }
        _ => return Ok(()),
    };
    Err(attributes.forbidden(new, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_covers_is_left_out() {
        let toleration = |key: &str, operator: &str, value: &str, effect: &str| Toleration {
            key: key.into(),
            operator: operator.into(),
            value: value.into(),
            effect: effect.into(),
            ..Default::default()
        };
        let narrow = toleration("a", "Equal", "1", "NoSchedule");
        let wide = toleration("a", "Exists", "", "");
        let other = toleration("b", "Equal", "1", "NoSchedule");
        assert_eq!(merged([&narrow, &other, &wide].into_iter()), [other.clone(), wide.clone()]);
        assert_eq!(merged([&narrow, &narrow].into_iter()), std::slice::from_ref(&narrow));
        let all = toleration("", "Exists", "", "");
        assert_eq!(merged([&all, &narrow, &wide].into_iter()), [all]);
    }
}
