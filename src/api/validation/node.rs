//! Nodes.

use super::at::{At, Errors};
use super::internal::Internal;
use super::{addresses, labels, metadata, pod, resources};
use crate::core_v1::{Node, NodeStatus, Taint};
use crate::{field, names};

/// A new Node.
pub(super) fn create(node: &Node, errors: &mut Errors) {
    metadata::create(&node.metadata, false, metadata::subdomain, errors);
    let meta = At::new("metadata");
    taints(&node.spec.taints, &meta.child("taints"), errors);
    amounts(&node.status, errors);
    declared_features(&node.status, errors);
    let cidrs = &node.spec.pod_cidrs;
    let spec = At::new("spec");
    let at = &spec.child("podCIDRs");
    for (i, cidr) in cidrs.iter().enumerate() {
        addresses::legacy_cidr(cidr, &at.index(i), errors);
    }
    if let [a, b, rest @ ..] = cidrs.as_slice()
        && (a.contains(':') == b.contains(':') || !rest.is_empty())
    {
        errors.invalid(at, cidrs, "may specify no more than one CIDR for each IP family");
    }
}

/// A changed Node.
pub(super) fn update(new: &Node, old: &Node, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.status.same(&old.status) {
        status(&new.status, &old.status, errors);
    }
    if new.spec.same(&old.spec) {
        return;
    }
    let at = At::new("spec");
    let (now, was) = (&new.spec.pod_cidrs, &old.spec.pod_cidrs);
    if !was.is_empty() {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        let changed = if now.len() == was.len() { now.iter().zip(was).filter(|(n, w)| n != w).count() } else { 1 };
        for _ in 0..changed {
            errors.forbidden(&at.child("podCIDRs"), why);
        }
    }
    let (now, was) = (&new.spec.provider_id, &old.spec.provider_id);
    if !was.is_empty() && now != was {
        let why = if now.is_empty() { "field cannot be cleared once set" } else { "field cannot be modified once set" };
        errors.invalid(&at.child("providerID"), crate::json::Value::Null, why);
    }
    let meta = At::new("metadata");
    taints(&new.spec.taints, &meta.child("taints"), errors);
    if new.spec.external_id != old.spec.external_id {
        errors.forbidden(&at.child("externalID"), "may not be updated");
    }
}

fn status(new: &NodeStatus, old: &NodeStatus, errors: &mut Errors) {
    if !new.capacity.same(&old.capacity) || !new.allocatable.same(&old.allocatable) {
        amounts(new, errors);
    }
    if !new.declared_features.same(&old.declared_features) {
        declared_features(new, errors);
    }
    let at = At::new("status");
    let at = at.child("addresses");
    for (i, address) in new.addresses.iter().enumerate() {
        if new.addresses.iter().take(i).any(|a| a.type_ == address.type_ && a.address == address.address) {
            errors.duplicate(&at.index(i), Internal(address));
        }
    }
}

fn amounts(status: &NodeStatus, errors: &mut Errors) {
    let at = At::new("status");
    for (name, list) in [("capacity", &status.capacity), ("allocatable", &status.allocatable)] {
        let at = at.child(name);
        for (resource, quantity) in list {
            resources::amount(resource, quantity, &at.child(resource), errors);
        }
    }
}

fn declared_features(status: &NodeStatus, errors: &mut Errors) {
    let at = At::new("status");
    let at = at.child("declaredFeatures");
    for (i, feature) in status.declared_features.iter().enumerate() {
        if !feature_name(feature) {
            let name = crate::go::quote(feature);
            errors.invalid(
                &at.index(i),
                feature,
                format!(
                    "invalid feature name {name}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
                ),
            );
        }
        if let Some(next) = status.declared_features.get(i + 1) {
            if feature == next {
                errors.duplicate(&at.index(i + 1), next);
            } else if feature > next {
                errors.invalid(&at.index(i + 1), next, "list must be sorted alphabetically");
            }
        }
    }
}

fn feature_name(name: &str) -> bool {
    name.split('/').enumerate().all(|(i, part)| {
        part.bytes().next().is_some_and(|b| if i == 0 { b.is_ascii_uppercase() } else { b.is_ascii_alphabetic() })
            && part.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

fn taints(list: &[Taint], at: &At, errors: &mut Errors) {
    for (i, taint) in list.iter().enumerate() {
        let at = &at.index(i);
        labels::key(&taint.key, &at.child("key"), errors);
        let wrong = names::label_value(&taint.value);
        if !wrong.is_empty() {
            errors.invalid(&at.child("value"), &taint.value, wrong.join(";"));
        }
        pod::effect(&taint.effect, false, &at.child("effect"), errors);
        if list.iter().take(i).any(|t| t.key == taint.key && t.effect == taint.effect) {
            let mut error = field::duplicate(&at.path(), Internal(taint));
            error.detail = "taints must be unique by key and effect pair".to_string();
            errors.push(error);
        }
    }
}
