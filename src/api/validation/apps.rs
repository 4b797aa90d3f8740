//! Deployments and ReplicaSets (pkg/apis/apps/validation).

use super::at::{At, Errors};
use super::{labels, metadata, pod};
use crate::apps_v1::{
    Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus,
    RollingUpdateDeployment,
};
use crate::core_v1::PodTemplateSpec;
use crate::meta_v1::LabelSelector;
use crate::selector::LabelSelector as Selector;
use crate::{IntOrString, Ptr, names};

const MORE_THAN_REPLICAS: &str = "cannot be greater than status.replicas";

/// A new Deployment.
pub(super) fn create_deployment(deployment: &Deployment, errors: &mut Errors) {
    metadata::create(&deployment.metadata, true, metadata::subdomain, errors);
    deployment_spec(&deployment.spec, &pod::Options::default(), errors);
}

/// A changed Deployment.
pub(super) fn update_deployment(new: &Deployment, old: &Deployment, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    deployment_spec(&new.spec, &pod::Options::of(&old.spec.template.spec), errors);
    immutable_selector(&new.spec.selector, &old.spec.selector, errors);
}

/// A Deployment's status.
pub(super) fn update_deployment_status(new: &Deployment, old: &Deployment, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.status.same(&old.status) {
        return;
    }
    let at = &At::new("status");
    deployment_status(&new.status, at, errors);
    if decremented(new.status.collision_count, old.status.collision_count) {
        let value = new.status.collision_count.unwrap_or(0);
        errors.invalid(&at.child("collisionCount"), value, "cannot be decremented");
    }
}

fn immutable_selector(new: &Ptr<LabelSelector>, old: &Ptr<LabelSelector>, errors: &mut Errors) {
    errors.immutable(&At::new("spec").child("selector"), new, old);
}

/// Whether a counter went down or away (`IsDecremented`).
pub(super) fn decremented(new: Option<i32>, old: Option<i32>) -> bool {
    match (new, old) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(new), Some(old)) => new < old,
    }
}

fn deployment_spec(spec: &DeploymentSpec, options: &pod::Options, errors: &mut Errors) {
    let at = &At::new("spec");
    // Defaulted to 1.
    let replicas = spec.replicas.unwrap_or(1);
    errors.not_negative(&at.child("replicas"), replicas);
    let (at_selector, empty) = (&at.child("selector"), "empty selector is invalid for deployment");
    selector(&spec.selector, empty, at_selector, errors);
    match Selector::from_ptr(&spec.selector) {
        Err(_) => errors.invalid(at_selector, &spec.selector, "invalid label selector"),
        Ok(selector) => template(&spec.template, &selector, options, &at.child("template"), errors),
    }
    strategy(&spec.strategy, &at.child("strategy"), errors);
    errors.not_negative(&at.child("minReadySeconds"), spec.min_ready_seconds);
    if let Some(limit) = spec.revision_history_limit {
        errors.not_negative(&at.child("revisionHistoryLimit"), limit);
    }
    if let Some(deadline) = spec.progress_deadline_seconds {
        let at = &at.child("progressDeadlineSeconds");
        errors.not_negative(at, deadline);
        if deadline <= spec.min_ready_seconds {
            errors.invalid(at, deadline, "must be greater than minReadySeconds");
        }
    }
}

/// A workload's selector: there, good, not empty.
pub(super) fn selector(selector: &Ptr<LabelSelector>, empty: &str, at: &At, errors: &mut Errors) {
    let Some(s) = selector.get() else { return errors.required(at, "") };
    labels::selector(selector, at, errors);
    if s.match_labels.is_empty() && s.match_expressions.is_empty() {
        errors.invalid(at, selector, empty);
    }
}

/// The template of a Deployment or ReplicaSet (`ValidatePodTemplateSpecForReplicaSet`).
fn template(template: &PodTemplateSpec, selector: &Selector, options: &pod::Options, at: &At, errors: &mut Errors) {
    matches(template, selector, at, errors);
    pod::template(template, options, at, errors);
    always(template, at, errors);
    if template.spec.active_deadline_seconds.is_some() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.forbidden(&at.child("spec").child("activeDeadlineSeconds"), why);
    }
}

/// The selector selects the template's pods.
pub(super) fn matches(template: &PodTemplateSpec, selector: &Selector, at: &At, errors: &mut Errors) {
    let labels = &template.metadata.labels;
    if !selector.is_empty() && !selector.matches(labels) {
        let why = "`selector` does not match template `labels`";
        errors.invalid(&at.child("metadata").child("labels"), labels, why);
    }
}

/// Pods that are kept running restart always.
pub(super) fn always(template: &PodTemplateSpec, at: &At, errors: &mut Errors) {
    let policy = &template.spec.restart_policy;
    errors.one_of(&at.child("spec").child("restartPolicy"), policy, &["Always"]);
}

fn strategy(strategy: &DeploymentStrategy, at: &At, errors: &mut Errors) {
    let at_rolling = &at.child("rollingUpdate");
    match (&*strategy.type_, strategy.rolling_update.get()) {
        ("Recreate", Some(_)) => {
            errors.forbidden(at_rolling, "may not be specified when strategy `type` is 'Recreate'");
        }
        ("Recreate", None) => {}
        ("RollingUpdate", Some(rolling)) => rolling_update(rolling, at_rolling, errors),
        ("RollingUpdate", None) => errors.required(at_rolling, "this should be defaulted and never be nil"),
        _ => errors.not_supported(at, super::internal::Internal(strategy), &["Recreate", "RollingUpdate"]),
    }
}

fn rolling_update(rolling: &RollingUpdateDeployment, at: &At, errors: &mut Errors) {
    let zero = IntOrString::Int(0);
    let unavailable = rolling.max_unavailable.as_ref().unwrap_or(&zero);
    let surge = rolling.max_surge.as_ref().unwrap_or(&zero);
    let at_unavailable = &at.child("maxUnavailable");
    positive_int_or_percent(unavailable, at_unavailable, errors);
    positive_int_or_percent(surge, &at.child("maxSurge"), errors);
    if int_or_percent(unavailable) == 0 && int_or_percent(surge) == 0 {
        errors.invalid(at_unavailable, unavailable, "may not be 0 when `maxSurge` is 0");
    }
    at_most_100_percent(unavailable, at_unavailable, errors);
}

/// A count or percentage that is not negative (`ValidatePositiveIntOrPercent`).
pub(super) fn positive_int_or_percent(value: &IntOrString, at: &At, errors: &mut Errors) {
    match value {
        IntOrString::Str(s) => {
            for why in names::percent(s) {
                errors.invalid(at, value, why);
            }
        }
        IntOrString::Int(n) => errors.not_negative(at, *n),
    }
}

/// A percentage's number.
fn percent(value: &IntOrString) -> Option<i64> {
    match value {
        IntOrString::Str(s) if names::percent(s).is_empty() => {
            Some(s.trim_end_matches('%').parse().unwrap_or(i64::MAX))
        }
        _ => None,
    }
}

/// The number or the percentage's number.
pub(super) fn int_or_percent(value: &IntOrString) -> i64 {
    percent(value).unwrap_or_else(|| i64::from(value.int_value()))
}

/// `IsNotMoreThan100Percent`
pub(super) fn at_most_100_percent(value: &IntOrString, at: &At, errors: &mut Errors) {
    if percent(value).is_some_and(|p| p > 100) {
        errors.invalid(at, value, "must not be greater than 100%");
    }
}

fn deployment_status(status: &DeploymentStatus, at: &At, errors: &mut Errors) {
    errors.not_negative(&at.child("observedGeneration"), status.observed_generation);
    for (name, count) in [
        ("replicas", Some(status.replicas)),
        ("updatedReplicas", Some(status.updated_replicas)),
        ("readyReplicas", Some(status.ready_replicas)),
        ("availableReplicas", Some(status.available_replicas)),
        ("unavailableReplicas", Some(status.unavailable_replicas)),
        ("terminatingReplicas", status.terminating_replicas),
        ("collisionCount", status.collision_count),
    ] {
        errors.not_negative(&at.child(name), count.unwrap_or(0));
    }
    for (name, count) in [
        ("updatedReplicas", status.updated_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
    ] {
        if count > status.replicas {
            errors.invalid(&at.child(name), count, MORE_THAN_REPLICAS);
        }
    }
    if status.available_replicas > status.ready_replicas {
        let why = "cannot be greater than readyReplicas";
        errors.invalid(&at.child("availableReplicas"), status.available_replicas, why);
    }
}

/// A new ReplicaSet.
pub(super) fn create_replica_set(set: &ReplicaSet, errors: &mut Errors) {
    metadata::create(&set.metadata, true, metadata::subdomain, errors);
    replica_set_spec(&set.spec, &pod::Options::default(), errors);
}

/// A changed ReplicaSet.
pub(super) fn update_replica_set(new: &ReplicaSet, old: &ReplicaSet, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    if only_scaled(&new.spec, &old.spec) {
        // Scaling is what controllers do all the time: the rest was checked before.
        return errors.not_negative(&At::new("spec").child("replicas"), new.spec.replicas.unwrap_or(1));
    }
    replica_set_spec(&new.spec, &pod::Options::of(&old.spec.template.spec), errors);
    immutable_selector(&new.spec.selector, &old.spec.selector, errors);
}

fn only_scaled(new: &ReplicaSetSpec, old: &ReplicaSetSpec) -> bool {
    new.template.same(&old.template)
        && new.selector.same(&old.selector)
        && new.min_ready_seconds == old.min_ready_seconds
}

/// A ReplicaSet's status.
pub(super) fn update_replica_set_status(new: &ReplicaSet, old: &ReplicaSet, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.status.same(&old.status) {
        replica_set_status(&new.status, &At::new("status"), errors);
    }
}

fn replica_set_spec(spec: &ReplicaSetSpec, options: &pod::Options, errors: &mut Errors) {
    let at = &At::new("spec");
    errors.not_negative(&at.child("replicas"), spec.replicas.unwrap_or(1));
    errors.not_negative(&at.child("minReadySeconds"), spec.min_ready_seconds);
    let (at_selector, empty) = (&at.child("selector"), "empty selector is invalid for deployment");
    selector(&spec.selector, empty, at_selector, errors);
    match Selector::from_ptr(&spec.selector) {
        Err(_) => errors.invalid(at_selector, &spec.selector, "invalid label selector"),
        Ok(selector) => template(&spec.template, &selector, options, &at.child("template"), errors),
    }
}

fn replica_set_status(status: &ReplicaSetStatus, at: &At, errors: &mut Errors) {
    for (name, count) in [
        ("replicas", Some(status.replicas)),
        ("fullyLabeledReplicas", Some(status.fully_labeled_replicas)),
        ("readyReplicas", Some(status.ready_replicas)),
        ("availableReplicas", Some(status.available_replicas)),
    ] {
        errors.not_negative(&at.child(name), count.unwrap_or(0));
    }
    errors.not_negative(&at.child("observedGeneration"), status.observed_generation);
    if let Some(count) = status.terminating_replicas {
        errors.not_negative(&at.child("terminatingReplicas"), count);
    }
    for (name, count) in [
        ("fullyLabeledReplicas", status.fully_labeled_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
    ] {
        if count > status.replicas {
            errors.invalid(&at.child(name), count, MORE_THAN_REPLICAS);
        }
    }
    if status.available_replicas > status.ready_replicas {
        let why = "cannot be greater than readyReplicas";
        errors.invalid(&at.child("availableReplicas"), status.available_replicas, why);
    }
}
