//! NodeDeclaredFeatureValidator: a pod on a node isn't changed in a way that the node does not declare it can follow.

use api::{Object, Status, declared_features, go};

use super::{Attributes, Operation, changed_on_node};

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    let concerned = attributes.is("", "pods", "") || attributes.is("", "pods", "resize");
    if attributes.operation != Operation::Update || !concerned {
        return Ok(());
    }
    let Some((pod, was)) = changed_on_node(new, old) else { return Ok(()) };
    let needed = declared_features::needed_by_change(&was.spec, &pod.spec);
    if needed.is_empty() {
        return Ok(());
    }
    let missing = declared_features::missing(needed, &*attributes.node_of(pod)?);
    if missing.is_empty() {
        return Ok(());
    }
    let (features, node) = (missing.join(", "), go::quote(&pod.spec.node_name));
    let reason = format!("pod update requires features {features} which are not available on node {node}");
    Err(attributes.forbidden(new, &reason))
}
