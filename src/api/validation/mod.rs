//! Validation: what the server refuses to store, in Kubernetes' words and order.
//!
//! Each kind has a row in `RULES`. Updates look only at what can have changed: what new and old share was checked
//! when the old object was written.

mod addresses;
mod apps;
mod at;
mod claims;
mod internal;
mod labels;
mod metadata;
mod pod;
mod resources;
mod unified;

#[cfg(test)]
mod tests;

use at::Errors;

use crate::field::ErrorList;
use crate::meta_v1::ObjectMeta;
use crate::{KindInfo, Object};

/// What is wrong with a new object.
pub fn create(object: &dyn Object) -> ErrorList {
    let mut errors = Errors::default();
    if !KINDS.iter().any(|kind| (kind.create)(object, &mut errors)) {
        other_create(object, &mut errors);
    }
    errors.finish()
}

/// What is wrong with a new state of an object.
pub fn update(new: &dyn Object, old: &dyn Object) -> ErrorList {
    run(new, old, |kind| kind.update)
}

/// What is wrong with a new status.
pub fn update_status(new: &dyn Object, old: &dyn Object) -> ErrorList {
    run(new, old, |kind| kind.status)
}

/// What is wrong with a new state written through another subresource: `finalize`, `resize`, `ephemeralcontainers`,
/// `approval`.
pub fn update_subresource(subresource: &str, new: &dyn Object, old: &dyn Object) -> ErrorList {
    use crate::core_v1::Pod;
    let mut errors = Errors::default();
    match (subresource, new.downcast_ref::<Pod>(), old.downcast_ref::<Pod>()) {
        ("resize", Some(new), Some(old)) => pod::resize(new, old, &mut errors),
        ("ephemeralcontainers", Some(new), Some(old)) => pod::ephemeral_containers(new, old, &mut errors),
        _ => other_update(new, old, &mut errors),
    }
    errors.finish()
}

type Create = fn(&dyn Object, &mut Errors) -> bool;
type Update = fn(&dyn Object, &dyn Object, &mut Errors) -> bool;

/// The rules of a kind. Each function says whether the object is of its kind.
struct Kind {
    create: Create,
    update: Update,
    status: Update,
}

macro_rules! kinds {
    ($($T:ty: $create:expr, $update:expr, $status:expr;)*) => { [$(Kind {
        create: |object, errors| match object.downcast_ref::<$T>() {
            Some(object) => { $create(object, errors); true }
            None => false,
        },
        update: |new, old, errors| match (new.downcast_ref::<$T>(), old.downcast_ref::<$T>()) {
            (Some(new), Some(old)) => { $update(new, old, errors); true }
            _ => false,
        },
        status: |new, old, errors| match (new.downcast_ref::<$T>(), old.downcast_ref::<$T>()) {
            (Some(new), Some(old)) => { $status(new, old, errors); true }
            _ => false,
        },
    }),*] };
}

/// Kinds with rules of their own, those that are written most first.
static KINDS: [Kind; 4] = kinds! {
    crate::core_v1::Pod: pod::create, pod::update, pod::update_status;
    crate::apps_v1::ReplicaSet: apps::create_replica_set, apps::update_replica_set, apps::update_replica_set_status;
    crate::apps_v1::Deployment: apps::create_deployment, apps::update_deployment, apps::update_deployment_status;
    crate::core_v1::PodTemplate: pod::create_template, pod::update_template, only_metadata;
};

fn run(new: &dyn Object, old: &dyn Object, rule: fn(&Kind) -> Update) -> ErrorList {
    let mut errors = Errors::default();
    if !KINDS.iter().any(|kind| rule(kind)(new, old, &mut errors)) {
        other_update(new, old, &mut errors);
    }
    errors.finish()
}

/// A status that has no rules, or a kind without one.
fn only_metadata<T: crate::Resource>(new: &T, old: &T, errors: &mut Errors) {
    metadata::update(new.metadata(), old.metadata(), errors);
}

/// Kinds without rules of their own: their metadata.
fn other_create(object: &dyn Object, errors: &mut Errors) {
    if let (Some(meta), Some(kind)) = (object.metadata(), object.kind_info()) {
        metadata::create(meta, kind.namespaced, name_rule(kind), errors);
    }
}

fn other_update(new: &dyn Object, old: &dyn Object, errors: &mut Errors) {
    let metas: (Option<&ObjectMeta>, Option<&ObjectMeta>) = (new.metadata(), old.metadata());
    if let (Some(new), Some(old)) = metas {
        metadata::update(new, old, errors);
    }
}

/// How objects of a kind may be called.
fn name_rule(kind: &KindInfo) -> metadata::NameRule {
    match (kind.group, kind.kind) {
        ("", "Namespace" | "Service") => metadata::label,
        ("rbac.authorization.k8s.io", _) => metadata::path_segment,
        _ => metadata::subdomain,
    }
}
