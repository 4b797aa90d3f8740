//! Authorization: who may do what (the union of the Node and RBAC authorizers, `--authorization-mode=Node,RBAC`).

pub mod node;
pub mod rbac;

use crate::Inner;
use crate::user::{MASTERS, User};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// `get`, `list`, ...
    pub verb: &'a str,
    /// The API group; with `path` empty.
    pub group: &'a str,
    /// The resource's plural name.
    pub resource: &'a str,
    /// The subresource.
    pub subresource: &'a str,
    /// The namespace, empty for all or none.
    pub namespace: &'a str,
    /// The object, empty for all.
    pub name: &'a str,
    /// The field selector of a list or watch, which the Node authorizer reads.
    pub field_selector: &'a str,
    /// The path of a request that is about no resource.
    pub path: &'a str,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// No; why, where an authorizer has more to say.
    Deny(String),
}

/// Asks the authorizers in order.
pub fn authorize(server: &Inner, user: &User, attributes: &Attributes) -> Decision {
    if user.is_in(MASTERS) {
        return Decision::Allow;
    }
    let mut reasons = Vec::new();
    match node::authorize(server, user, attributes) {
        node::Decision::Allow => return Decision::Allow,
        node::Decision::NoOpinion(reason) => reasons.extend(reason),
    }
    let mut rules = server.rbac.borrow_mut();
    rules.refresh(server);
    if rules.allows(user, attributes) {
        return Decision::Allow;
    }
    Decision::Deny(reasons.join("\n"))
}

/// What the refused user reads, after the name of the resource.
pub fn refusal(user: &User, attributes: &Attributes) -> String {
    if attributes.resource.is_empty() {
        return format!("User {:?} cannot {} path {:?}", &*user.name, attributes.verb, attributes.path);
    }
    let resource = if attributes.subresource.is_empty() {
        attributes.resource.to_string()
    } else {
        format!("{}/{}", attributes.resource, attributes.subresource)
    };
    let place = if attributes.namespace.is_empty() {
        "at the cluster scope".to_string()
    } else {
        format!("in the namespace {:?}", attributes.namespace)
    };
    format!(
        "User {:?} cannot {} resource {resource:?} in API group {:?} {place}",
        &*user.name, attributes.verb, attributes.group
    )
}
