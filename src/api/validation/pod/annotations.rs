//! Annotations that pods give a meaning to.

use super::super::at::{At, Errors};
use super::{Options, paths};
use crate::core_v1::{Container, PodSpec};
use crate::{Map, Str, go};

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// `ValidatePodSpecificAnnotations`
pub(super) fn annotations(map: &Map<Str>, spec: &PodSpec, options: &Options, at: &At, errors: &mut Errors) {
    if map.is_empty() {
        return;
    }
    if let Some(value) = map.get(MIRROR)
        && spec.node_name.is_empty()
    {
        errors.invalid(&at.key(MIRROR), value, "must set spec.nodeName if mirror pod annotation is set");
    }
    if let Some(cost) = map.get(DELETION_COST)
        && !options.bad_deletion_cost
        && !is_cost(cost)
    {
        errors.invalid(&at.key(DELETION_COST), cost, "must be a 32bit integer");
    }
    if let Some(profile) = map.get(SECCOMP_POD) {
        seccomp(profile, &at.child(SECCOMP_POD), errors);
    }
    for (key, value) in map {
        if key.starts_with(SECCOMP_CONTAINER) {
            seccomp(value, &at.child(key), errors);
        }
    }
    for (key, value) in map {
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        if !names(spec).any(|name| name == container) {
            errors.invalid(&at.key(key), container, "container not found");
        }
        if !(value.is_empty()
            || matches!(&**value, "runtime/default" | "unconfined")
            || value.starts_with("localhost/"))
        {
            let why = format!("invalid AppArmor profile name: {}", go::quote(value));
            errors.invalid(&at.key(key), value, why);
        }
    }
}

/// Whether it is a number that ReplicaSets can sort pods by.
pub(super) fn is_cost(value: &str) -> bool {
    let first = match value.as_bytes() {
        [b'-', ..] | [b'1'..=b'9', ..] => true,
        other => other == b"0",
    };
    first && value.parse::<i32>().is_ok()
}

/// Whether the pod's cost can't be read.
pub(super) fn has_bad_cost(map: &Map<Str>) -> bool {
    map.get(DELETION_COST).is_some_and(|cost| !is_cost(cost))
}

fn names(spec: &PodSpec) -> impl Iterator<Item = &Str> {
    let containers = spec.init_containers.iter().chain(&spec.containers).map(|c| &c.name);
    containers.chain(spec.ephemeral_containers.iter().map(|c| &c.name))
}

fn seccomp(profile: &str, at: &At, errors: &mut Errors) {
    match profile {
        "runtime/default" | "docker/default" | "unconfined" => {}
        _ => match profile.strip_prefix("localhost/") {
            Some(path) => paths::descending(path, at, errors),
            None => errors.invalid(at, profile, "must be a valid seccomp profile"),
        },
    }
}

/// Old annotations and the fields that replaced them must agree.
pub(super) fn match_fields(map: &Map<Str>, spec: &PodSpec, at: &At, errors: &mut Errors) {
    if map.is_empty() || !map.keys().any(|k| k.contains("seccomp.security.alpha")) {
        return;
    }
    let why = "seccomp type in annotation and field must match";
    let mut compare = |annotation: &str, kind: &str, path: Option<&str>, at: &At| {
        let at = at.child("securityContext");
        let at = at.child("seccompProfile");
        match kind {
            "Unconfined" if annotation != "unconfined" => errors.forbidden(&at.child("type"), why),
            "RuntimeDefault" if !matches!(annotation, "runtime/default" | "docker/default") => {
                errors.forbidden(&at.child("type"), why);
            }
            "Localhost" => match annotation.strip_prefix("localhost/") {
                None => errors.forbidden(&at.child("type"), why),
                Some(other) if path != Some(other) => errors
                    .forbidden(&at.child("localhostProfile"), "seccomp profile in annotation and field must match"),
                Some(_) => {}
            },
            _ => {}
        }
    };
    if let Some(profile) = spec.security_context.get().and_then(|s| s.seccomp_profile.get())
        && let Some(annotation) = map.get(SECCOMP_POD)
    {
        compare(annotation, &profile.type_, profile.localhost_profile.get(), at);
    }
    let lists: [(&str, &[Container]); 2] =
        [("initContainers", &spec.init_containers), ("containers", &spec.containers)];
    for (name, list) in lists {
        let at = at.child(name);
        for (i, container) in list.iter().enumerate() {
            if let Some(profile) = container.security_context.get().and_then(|s| s.seccomp_profile.get())
                && let Some(annotation) = map.get(&format!("{SECCOMP_CONTAINER}{}", container.name))
            {
                compare(annotation, &profile.type_, profile.localhost_profile.get(), &at.index(i));
            }
        }
    }
}
