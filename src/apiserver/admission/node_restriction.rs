//! NodeRestriction: a kubelet writes its own node, its lease and the status of its pods.

use api::core_v1::{Node, Pod};
use api::{Object, Status};

use super::{Attributes, Operation};

pub fn admit(attributes: &mut Attributes, object: &mut dyn Object, old: Option<&dyn Object>) -> Result<(), Status> {
    let user = attributes.call.user.clone();
    let Some(node) = user.node() else { return Ok(()) };
    if attributes.kind().group == "coordination.k8s.io" && attributes.kind().plural == "leases" {
        return lease(attributes, object, node);
    }
    if !attributes.kind().group.is_empty() {
        return Ok(());
    }
    match (attributes.kind().plural, &*attributes.call.subresource) {
        ("pods", "") => pod(attributes, object, node),
        ("pods", "status") => {
            let bound = old.and_then(|old| old.downcast_ref::<Pod>()).map(|pod| pod.spec.node_name.clone());
            match bound {
                Some(bound) if &*bound != node => {
                    let reason =
                        format!("node {node:?} can only update pod status for pods with spec.nodeName set to itself");
                    Err(attributes.forbidden(Some(object), &reason))
                }
                _ => Ok(()),
            }
        }
        ("nodes", "" | "status") => own_node(attributes, object, old, node),
        _ => Ok(()),
    }
}

fn lease(attributes: &Attributes, object: &dyn Object, node: &str) -> Result<(), Status> {
    if &*attributes.call.namespace != "kube-node-lease" {
        let reason = format!("can only access leases in the {:?} system namespace", "kube-node-lease");
        return Err(attributes.forbidden(Some(object), &reason));
    }
    if object.metadata().is_some_and(|metadata| &*metadata.name != node) {
        let reason = "can only access node lease with the same name as the requesting node";
        return Err(attributes.forbidden(Some(object), reason));
    }
    Ok(())
}

fn pod(attributes: &Attributes, object: &dyn Object, node: &str) -> Result<(), Status> {
    if attributes.operation != Operation::Create {
        return Ok(());
    }
    let Some(pod) = object.downcast_ref::<Pod>() else { return Ok(()) };
    if !pod.metadata.annotations.contains_key("kubernetes.io/config.mirror") {
        let reason = format!(
            "pod does not have \"kubernetes.io/config.mirror\" annotation, node {node:?} can only create mirror pods"
        );
        return Err(attributes.forbidden(Some(object), &reason));
    }
    if &*pod.spec.node_name != node {
        let reason = format!("node {node:?} can only create pods with spec.nodeName set to itself");
        return Err(attributes.forbidden(Some(object), &reason));
    }
    Ok(())
}

fn own_node(attributes: &Attributes, object: &dyn Object, old: Option<&dyn Object>, node: &str) -> Result<(), Status> {
    let Some(new) = object.downcast_ref::<Node>() else { return Ok(()) };
    if &*new.metadata.name != node {
        let reason = format!("node {node:?} is not allowed to modify node {:?}", &*new.metadata.name);
        return Err(attributes.forbidden(Some(object), &reason));
    }
    let Some(old) = old.and_then(|old| old.downcast_ref::<Node>()) else { return Ok(()) };
    if new.spec.taints != old.spec.taints {
        let reason = format!("node {node:?} is not allowed to modify taints");
        return Err(attributes.forbidden(Some(object), &reason));
    }
    Ok(())
}
