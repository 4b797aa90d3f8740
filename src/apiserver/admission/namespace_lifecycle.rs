//! NamespaceLifecycle: nothing is created in a namespace that is missing or ending; some namespaces stay for ever.

use api::core_v1::Namespace;
use api::{Object, Status};

use super::{Attributes, Need, Operation};

/// Namespaces that may not be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

fn concerned(attributes: &Attributes) -> bool {
    let review = attributes.kind().group == "authorization.k8s.io";
    attributes.operation == Operation::Create && attributes.kind().namespaced && !review
}

pub fn needs(attributes: &Attributes, _: &dyn Object) -> Vec<Need> {
    if concerned(attributes) {
        vec![(attributes.call.server.namespaces, attributes.call.namespace.to_string())]
    } else {
        Vec::new()
    }
}

pub fn admit(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if !concerned(attributes) {
        return Ok(());
    }
    let name = attributes.call.namespace.clone();
    let server = &attributes.call.server;
    let Some(found) = attributes.find(server.namespaces, &name) else {
        return Err(Status::not_found(("", "namespaces"), &name));
    };
    let Some(namespace) = found.body.downcast_ref::<Namespace>() else { return Ok(()) };
    if &*namespace.status.phase != "Terminating" && namespace.metadata.deletion_timestamp.is_zero() {
        return Ok(());
    }
    let reason = format!("unable to create new content in namespace {name} because it is being terminated");
    let status = attributes.forbidden(Some(object), &reason);
    Err(status.with_cause(
        "NamespaceTerminating",
        &format!("namespace {name} is being terminated"),
        "metadata.namespace",
    ))
}

pub fn validate(attributes: &mut Attributes, _: Option<&dyn Object>, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation == Operation::Delete
        && attributes.is("", "namespaces", "")
        && IMMORTAL.contains(&&*attributes.name)
    {
        return Err(attributes.forbidden(None, "this namespace may not be deleted"));
    }
    Ok(())
}
