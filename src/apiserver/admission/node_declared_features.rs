//! NodeDeclaredFeatureValidator: a pod on a node isn't changed in a way that the node does not declare it can follow.

use api::core_v1::{Node, Pod};
use api::{Object, Status, declared_features, go};

use super::{Attributes, Operation};

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    let concerned = attributes.is("", "pods", "") || attributes.is("", "pods", "resize");
    if attributes.operation != Operation::Update || !concerned {
        return Ok(());
    }
    let pod = |object: Option<&'_ dyn Object>| object.and_then(|object| object.downcast_ref::<Pod>()).cloned();
    let (Some(pod), Some(was)) = (pod(new), pod(old)) else { return Ok(()) };
    let name = &pod.spec.node_name;
    if name.is_empty() || was.metadata.generation == pod.metadata.generation {
        return Ok(());
    }
    let needed = declared_features::needed_by_change(&was.spec, &pod.spec);
    if needed.is_empty() {
        return Ok(());
    }
    let server = &attributes.call.server;
    let found = server.cache.resource(server.nodes).get(name).and_then(|node| node.downcast::<Node>());
    let Some(node) = found else {
        return Err(attributes.forbidden(new, &format!("node {} not found", go::quote(name))));
    };
    let declared = &node.status.declared_features;
    let missing: Vec<&str> = needed.into_iter().filter(|f| !declared.iter().any(|d| **d == **f)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (features, node) = (missing.join(", "), go::quote(name));
    let reason = format!("pod update requires features {features} which are not available on node {node}");
    Err(attributes.forbidden(new, &reason))
}
