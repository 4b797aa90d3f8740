//! Changes of pods: `ValidatePodUpdate`, and those through `ephemeralcontainers` and `resize`.

use super::super::at::{At, Errors};
use super::super::{internal, metadata};
use super::{Options, annotations};
use crate::core_v1::{Container, NodeAffinity, NodeSelectorTerm, Pod, PodSchedulingGate, PodSpec, Toleration};
use crate::pod::qos_class;
use crate::{List, Map, Quantity, go, names};

const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
`spec.tolerations` (only additions to existing tolerations),\
`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const MIRROR: &str = "kubernetes.io/config.mirror";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// A changed pod.
pub(in super::super) fn update(new: &Pod, old: &Pod, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if again(new, old, errors) {
        annotation_updates(new, old, errors);
    }
    if new.spec.same(&old.spec) {
        return;
    }
    let at = &At::new("spec");
    for (name, new, old) in [
        ("containers", &new.spec.containers, &old.spec.containers),
        ("initContainers", &new.spec.init_containers, &old.spec.init_containers),
    ] {
        if !images(new, old, &at.child(name), errors) {
            return;
        }
    }
    let deadline = &at.child("activeDeadlineSeconds");
    match (new.spec.active_deadline_seconds, old.spec.active_deadline_seconds) {
        (Some(new), old) => {
            if !(0..=i64::from(i32::MAX)).contains(&new) {
                return errors.invalid(deadline, new, names::range_error(0, i64::from(i32::MAX)));
            }
            if old.is_some_and(|old| old < new) {
                return errors.invalid(deadline, new, "must be less than or equal to previous value");
            }
        }
        (None, Some(_)) => {
            errors.invalid(deadline, None::<i64>, "must not update from a positive integer to nil value");
        }
        (None, None) => {}
    }
    only_added_tolerations(&new.spec.tolerations, &old.spec.tolerations, &at.child("tolerations"), errors);
    only_deleted_gates(&new.spec.scheduling_gates, &old.spec.scheduling_gates, &at.child("schedulingGates"), errors);
    if *new.spec == *old.spec {
        return;
    }
    let munged = munge(&new.spec, &old.spec, at, errors);
    if munged != *old.spec {
        let diff = super::super::unified::diff(&internal::pretty(&*old.spec), &internal::pretty(&munged));
        errors.forbidden(at, format!("{UPDATABLE}\n{diff}"));
    }
}

/// Everything that is checked of a new pod, where something of it changed. Says whether it was.
fn again(new: &Pod, old: &Pod, errors: &mut Errors) -> bool {
    let (meta, was) = (&new.metadata, &old.metadata);
    let same = meta.labels.same(&was.labels)
        && meta.annotations.same(&was.annotations)
        && meta.owner_references.same(&was.owner_references)
        && meta.finalizers.same(&was.finalizers);
    if same && new.spec.same(&old.spec) {
        return false;
    }
    let mut options = Options::of(&old.spec);
    options.bad_deletion_cost = annotations::has_bad_cost(&was.annotations);
    super::metadata_and_spec(new, &options, errors);
    true
}

fn annotation_updates(new: &Pod, old: &Pod, errors: &mut Errors) {
    let meta = At::new("metadata");
    let at = &meta.child("annotations");
    let (new_map, old_map) = (&new.metadata.annotations, &old.metadata.annotations);
    for (key, value) in old_map {
        if new_map.get(key) == Some(value) {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            errors.forbidden(&at.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&at.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for (key, _) in new_map {
        if old_map.contains_key(key) {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            errors.forbidden(&at.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&at.key(key), "may not add mirror pod annotation");
        }
    }
    let options = Options { bad_deletion_cost: annotations::has_bad_cost(old_map), ..Options::default() };
    annotations::annotations(new_map, &new.spec, &options, at, errors);
}

/// The images; says whether there are as many containers as before.
fn images(new: &[Container], old: &[Container], at: &At, errors: &mut Errors) -> bool {
    if new.len() != old.len() {
        errors.forbidden(at, "pod updates may not add or remove containers");
        return false;
    }
    for (i, container) in new.iter().enumerate() {
        errors.need(&at.index(i).child("image"), &container.image);
        super::containers::only_in_pod(&container.image, &at.index(i), errors);
    }
    true
}

fn only_added_tolerations(new: &List<Toleration>, old: &List<Toleration>, at: &At, errors: &mut Errors) {
    if new.same(old) {
        return;
    }
    let same = |a: &Toleration, b: &Toleration| {
        a.key == b.key && a.operator == b.operator && a.value == b.value && a.effect == b.effect
    };
    if old.iter().any(|old| !new.iter().any(|new| same(new, old))) {
        return errors.forbidden(at, "existing toleration can not be modified except its tolerationSeconds");
    }
    super::tolerations::tolerations(new, at, errors);
}

fn only_deleted_gates(new: &[PodSchedulingGate], old: &[PodSchedulingGate], at: &At, errors: &mut Errors) {
    for (i, gate) in new.iter().enumerate().filter(|(_, gate)| !old.iter().any(|o| o.name == gate.name)) {
        let why = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.name);
        errors.forbidden(&at.index(i).child("name"), why);
    }
}

/// The new spec with what may change as it was.
fn munge(new: &PodSpec, old: &PodSpec, at: &At, errors: &mut Errors) -> PodSpec {
    let mut spec = new.clone();
    for (list, old) in [(&mut spec.containers, &old.containers), (&mut spec.init_containers, &old.init_containers)] {
        if list.same(old) {
            continue;
        }
        for (container, old) in list.make().iter_mut().zip(old) {
            container.image = old.image.clone();
        }
    }
    spec.active_deadline_seconds = old.active_deadline_seconds;
    spec.scheduling_gates = old.scheduling_gates.clone();
    spec.tolerations = old.tolerations.clone();
    if old.termination_grace_period_seconds.is_some_and(|s| s < 0) && spec.termination_grace_period_seconds == Some(1) {
        spec.termination_grace_period_seconds = old.termination_grace_period_seconds;
    }
    if !old.scheduling_gates.is_empty() {
        gated(&mut spec, old, at, errors);
    }
    spec
}

/// A gated pod's node selector and node affinity may become narrower.
fn gated(spec: &mut PodSpec, old: &PodSpec, at: &At, errors: &mut Errors) {
    if spec.node_selector != old.node_selector {
        if old.node_selector.iter().any(|(k, v)| spec.node_selector.get(k) != Some(v)) {
            errors.invalid(
                &at.child("nodeSelector"),
                &spec.node_selector,
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            );
        }
        spec.node_selector = old.node_selector.clone();
    }
    let old_node = old.affinity.get().map(|a| a.node_affinity.clone()).unwrap_or_default();
    let new_node = spec.affinity.get().map(|a| a.node_affinity.clone()).unwrap_or_default();
    if old_node == new_node {
        return;
    }
    node_affinity(new_node.get(), old_node.get(), &at.child("affinity").child("nodeAffinity"), errors);
    let others = spec.affinity.get().is_some_and(|a| a.pod_affinity.is_some() || a.pod_anti_affinity.is_some());
    if spec.affinity.is_some() && old.affinity.is_none() && !others {
        spec.affinity.clear();
    } else {
        spec.affinity.make().node_affinity = old_node;
    }
}

fn node_affinity(new: Option<&NodeAffinity>, old: Option<&NodeAffinity>, at: &At, errors: &mut Errors) {
    let terms = |affinity: Option<&NodeAffinity>| {
        affinity
            .and_then(|a| a.required_during_scheduling_ignored_during_execution.get())
            .map(|s| s.node_selector_terms.clone())
    };
    let Some(old) = terms(old) else { return };
    let new = terms(new).unwrap_or_default();
    let at = at.child("requiredDuringSchedulingIgnoredDuringExecution");
    let at = &at.child("nodeSelectorTerms");
    if !old.is_empty() && old.len() != new.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return errors.invalid(at, internal::List(&new), why);
    }
    for (i, (new, old)) in new.iter().zip(&old).enumerate() {
        if !only_additions(new, old) {
            let why = "only additions are allowed (no mutations or deletions)";
            errors.invalid(&at.index(i), internal::Internal(new), why);
        }
    }
}

fn only_additions(new: &NodeSelectorTerm, old: &NodeSelectorTerm) -> bool {
    let empty = |t: &NodeSelectorTerm| t.match_expressions.is_empty() && t.match_fields.is_empty();
    if empty(old) && !empty(new) {
        return false;
    }
    new.match_expressions.starts_with(&old.match_expressions) && new.match_fields.starts_with(&old.match_fields)
}

/// A pod changed through `ephemeralcontainers`.
pub(in super::super) fn ephemeral_containers(new: &Pod, old: &Pod, errors: &mut Errors) {
    if old.metadata.annotations.contains_key(MIRROR) {
        return errors.forbidden(&At::new(""), "static pods do not support ephemeral containers");
    }
    metadata::update(&new.metadata, &old.metadata, errors);
    again(new, old, errors);
    annotation_updates(new, old, errors);
    let at_spec = At::new("spec");
    let at = &at_spec.child("ephemeralContainers");
    for old in &old.spec.ephemeral_containers {
        match new.spec.ephemeral_containers.iter().rev().find(|c| c.name == old.name) {
            None => errors
                .forbidden(at, format!("existing ephemeral containers {} may not be removed\n", go::quote(&old.name))),
            Some(new) if new != old => {
                let diff = super::super::unified::diff(&internal::pretty(old), &internal::pretty(new));
                let name = go::quote(&old.name);
                errors.forbidden(at, format!("existing ephemeral containers {name} may not be changed\n{diff}"));
            }
            Some(_) => {}
        }
    }
}

/// A pod changed through `resize`.
pub(in super::super) fn resize(new: &Pod, old: &Pod, errors: &mut Errors) {
    let nowhere = &At::new("");
    if old.metadata.annotations.contains_key(MIRROR) {
        return errors.forbidden(nowhere, "static pods cannot be resized");
    }
    if old.spec.os.get().is_some_and(|os| os.name == "windows") {
        return errors.forbidden(nowhere, "windows pods cannot be resized");
    }
    metadata::update(&new.metadata, &old.metadata, errors);
    again(new, old, errors);
    let at = &At::new("spec");
    if *qos_class(&new.spec) != *old.status.qos_class {
        let why = "Pod QOS Class may not change as a result of resizing";
        errors.invalid(at, &new.status.qos_class, why);
    }
    let running = old.status.container_statuses.iter().find(|c| c.state.running.is_some());
    if running.is_some_and(|c| c.resources.is_none()) {
        errors.forbidden(at, "Pod running on node without support for resize");
    }
    if let Some(was) = old.spec.resources.get() {
        let at = &at.child("resources");
        match new.spec.resources.get() {
            None => errors.forbidden(at, "pod-level resources cannot be removed"),
            Some(now) => {
                for (name, now, was) in
                    [("requests", &now.requests, &was.requests), ("limits", &now.limits, &was.limits)]
                {
                    if removed(now, was) {
                        errors.forbidden(&at.child(name), format!("pod-level resource {name} cannot be removed"));
                    }
                }
            }
        }
    }
    let before = errors.len();
    for (name, new, old) in [
        ("containers", &new.spec.containers, &old.spec.containers),
        ("initContainers", &new.spec.init_containers, &old.spec.init_containers),
    ] {
        let at = &at.child(name);
        if new.len() != old.len() {
            errors.forbidden(at, format!("{name} may not be added or removed on resize"));
            continue;
        }
        for (i, _) in new.iter().zip(old).enumerate().filter(|(_, (new, old))| new.name != old.name) {
            let why = format!("{name} may not be renamed or reordered on resize");
            errors.forbidden(&at.index(i).child("name"), why);
        }
    }
    if errors.len() > before {
        return;
    }
    resize_containers(new, old, at, errors);
    if !new.spec.volumes.same(&old.spec.volumes) && new.spec.volumes != old.spec.volumes {
        let why = "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled";
        errors.forbidden(&at.child("volumes"), why);
    }
}

fn resize_containers(new: &Pod, old: &Pod, at: &At, errors: &mut Errors) {
    let lists = [
        ("initContainers", &new.spec.init_containers, &old.spec.init_containers),
        ("containers", &new.spec.containers, &old.spec.containers),
    ];
    for (name, new, old) in lists {
        let at = at.child(name);
        for (i, (new, old)) in new.iter().zip(old).enumerate() {
            let (at, now, was) = (at.index(i), &new.resources, &old.resources);
            let at = at.child("resources");
            if removed(&now.requests, &was.requests) {
                errors.forbidden(&at.child("requests"), "resource requests cannot be removed");
            }
            if removed(&now.limits, &was.limits) {
                errors.forbidden(&at.child("limits"), "resource limits cannot be removed");
            }
        }
    }
    for (new, old) in new.spec.containers.iter().zip(&old.spec.containers) {
        if without_compute(new, old) != *old {
            errors.forbidden(at, "only cpu and memory resources are mutable");
        }
    }
    let list = at.child("initContainers");
    for (i, (new, old)) in new.spec.init_containers.iter().zip(&old.spec.init_containers).enumerate() {
        let at = list.index(i);
        if without_compute(new, old) != *old {
            errors.forbidden(&at, "only cpu and memory resources for init or sidecar containers are mutable");
        }
        let restarts = new.resize_policy.iter().filter(|p| p.restart_policy == *"RestartContainer");
        if new != old && !crate::pod::is_sidecar(new) {
            for _ in restarts {
                let why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                errors.forbidden(&at, why);
            }
        }
    }
}

/// The container with cpu and memory as they were.
fn without_compute(new: &Container, old: &Container) -> Container {
    let mut container = new.clone();
    let restore = |now: &mut Map<Quantity>, was: &Map<Quantity>| {
        for name in ["cpu", "memory"] {
            match was.get(name) {
                Some(amount) => drop(now.insert(name, amount.clone())),
                None => drop(now.remove(name)),
            }
        }
    };
    restore(&mut container.resources.limits, &old.resources.limits);
    restore(&mut container.resources.requests, &old.resources.requests);
    container
}

fn removed(now: &Map<Quantity>, was: &Map<Quantity>) -> bool {
    was.keys().any(|name| !now.contains_key(name))
}
