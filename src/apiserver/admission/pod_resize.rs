//! PodResizeValidator: a running pod can't be resized beyond its node, nor on a node that can't resize.

use api::{Object, Status};

use super::{Attributes, Operation, changed_on_node};

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Update || !attributes.is("", "pods", "resize") {
        return Ok(());
    }
    let Some((pod, _)) = changed_on_node(new, old) else { return Ok(()) };
    let node = attributes.node_of(pod)?;
    if let Some(os) = node.metadata.labels.get("kubernetes.io/os").filter(|os| &***os != "linux") {
        let (name, os) = (api::go::quote(&pod.spec.node_name), api::go::quote(os));
        let reason = format!("pod resize is only supported on linux nodes, node {name} is {os}");
        return Err(attributes.forbidden(new, &reason).with_cause("UnsupportedPlatform", "", ""));
    }
    let requests = api::quota::pod::asked(pod);
    let mut lacking = Vec::new();
    let zero = api::Quantity::default();
    let amount = |of: &api::Map<api::Quantity>, name: &str| of.get(name).unwrap_or(&zero).clone();
    let (cpu, cpus) = (amount(&requests, "cpu"), amount(&node.status.allocatable, "cpu"));
    if cpu > cpus {
        lacking.push(format!("cpu, requested: {}, allocatable: {}", cpu.milli_value(), cpus.milli_value()));
    }
    let (memory, all) = (amount(&requests, "memory"), amount(&node.status.allocatable, "memory"));
    if memory > all {
        lacking.push(format!("memory, requested: {}, allocatable: {}", memory.value(), all.value()));
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let reason = format!("node didn't have enough allocatable resources: {}", lacking.join("; "));
    Err(attributes.forbidden(new, &reason).with_cause("NodeCapacity", "", ""))
}
