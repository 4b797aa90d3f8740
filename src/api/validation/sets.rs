//! StatefulSets, DaemonSets, ControllerRevisions and ReplicationControllers.

use super::apps::{self, always, at_most_100_percent, decremented, int_or_percent, matches, positive_int_or_percent};
use super::at::{At, Errors};
use super::internal::{Internal, List};
use super::{claims, labels, metadata, pod};
use crate::apps_v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus, DaemonSetUpdateStrategy, StatefulSet,
    StatefulSetSpec, StatefulSetStatus, StatefulSetUpdateStrategy,
};
use crate::core_v1::{PersistentVolumeClaimVolumeSource, PodTemplateSpec, ReplicationController, Volume};
use crate::selector::LabelSelector as Selector;
use crate::{IntOrString, Ptr, field, json, names};

const MORE_THAN_REPLICAS: &str = "cannot be greater than status.replicas";

/// A new StatefulSet.
pub(super) fn create_stateful_set(set: &StatefulSet, errors: &mut Errors) {
    metadata::create(&set.metadata, true, metadata::label, errors);
    stateful_set_spec(&set.spec, &pod::Options::default(), true, errors);
}

/// A changed StatefulSet.
pub(super) fn update_stateful_set(new: &StatefulSet, old: &StatefulSet, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    stateful_set_spec(&new.spec, &pod::Options::of(&old.spec.template.spec), false, errors);
    let at = At::new("spec");
    errors.immutable(&at.child("selector"), &new.spec.selector, &old.spec.selector);
    if new.spec.volume_claim_templates != old.spec.volume_claim_templates {
        let at = &at.child("volumeClaimTemplates");
        if new.spec.volume_claim_templates.is_empty() {
            errors.invalid(at, json::Value::Null, super::at::IMMUTABLE);
        } else {
            errors.invalid(at, List(&new.spec.volume_claim_templates), super::at::IMMUTABLE);
        }
    }
    errors.immutable(&at.child("serviceName"), &new.spec.service_name, &old.spec.service_name);
    let at = &at.child("podManagementPolicy");
    errors.immutable(at, &new.spec.pod_management_policy, &old.spec.pod_management_policy);
}

fn stateful_set_spec(spec: &StatefulSetSpec, options: &pod::Options, created: bool, errors: &mut Errors) {
    let at = &At::new("spec");
    let management = &at.child("podManagementPolicy");
    match &*spec.pod_management_policy {
        "" => errors.required(management, ""),
        "OrderedReady" | "Parallel" => {}
        policy => errors.invalid(management, policy, "must be 'OrderedReady' or 'Parallel'"),
    }
    stateful_strategy(&spec.update_strategy, &at.child("updateStrategy"), errors);
    if let Some(policy) = spec.persistent_volume_claim_retention_policy.get() {
        let at = &at.child("persistentVolumeClaimRetentionPolicy");
        errors.one_of(&at.child("whenDeleted"), &policy.when_deleted, &["Retain", "Delete"]);
        errors.one_of(&at.child("whenScaled"), &policy.when_scaled, &["Retain", "Delete"]);
    }
    let at_claims = at.child("volumeClaimTemplates");
    // Those of an existing set can't be changed.
    for (i, claim) in spec.volume_claim_templates.iter().enumerate().filter(|_| created) {
        claims::spec(&claim.spec, &at_claims.index(i).child("spec"), errors);
    }
    errors.not_negative(&at.child("replicas"), spec.replicas.unwrap_or(1));
    errors.not_negative(&at.child("minReadySeconds"), spec.min_ready_seconds);
    if let Some(ordinals) = spec.ordinals.get() {
        errors.not_negative(&at.child("ordinals.start"), ordinals.start);
    }
    if !spec.service_name.is_empty() {
        errors.each(&at.child("serviceName"), &spec.service_name, names::dns1123_label(&spec.service_name));
    }
    let at_selector = &at.child("selector");
    apps::selector(&spec.selector, "empty selector is invalid for statefulset", at_selector, errors);
    let at_template = &at.child("template");
    match Selector::from_ptr(&spec.selector) {
        Err(_) => errors.invalid(at_selector, &spec.selector, ""),
        Ok(selector) => {
            matches(&spec.template, &selector, at_template, errors);
            stateful_template(spec, options, at_template, errors);
        }
    }
    always(&spec.template, at_template, errors);
    if spec.template.spec.active_deadline_seconds.is_some() {
        let at = at_template.child("spec");
        let why = "activeDeadlineSeconds in StatefulSet is not Supported";
        errors.forbidden(&at.child("activeDeadlineSeconds"), why);
    }
}

/// The template as its pods will be: with the claims' volumes, their own names left out.
fn stateful_template(spec: &StatefulSetSpec, options: &pod::Options, at: &At, errors: &mut Errors) {
    let of_pods = &spec.template.spec;
    if of_pods.subdomain.is_empty() && of_pods.hostname.is_empty() && spec.volume_claim_templates.is_empty() {
        return pod::template(&spec.template, options, at, errors);
    }
    let mut template: PodTemplateSpec = (*spec.template).clone();
    let of_pods = template.spec.make();
    of_pods.subdomain = Default::default();
    of_pods.hostname = Default::default();
    let claims = &spec.volume_claim_templates;
    if !claims.is_empty() {
        let volume = |claim: &crate::core_v1::PersistentVolumeClaim| Volume {
            name: claim.metadata.name.clone(),
            persistent_volume_claim: Ptr::some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.metadata.name.clone(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let others = of_pods.volumes.iter().filter(|v| !claims.iter().any(|c| c.metadata.name == v.name)).cloned();
        // Of two with one name the last counts.
        let last = |i: usize, name: &str| !claims.iter().skip(i + 1).any(|c| c.metadata.name == name);
        let claims = claims.iter().enumerate().filter(|(i, c)| last(*i, &c.metadata.name)).map(|(_, c)| volume(c));
        of_pods.volumes = claims.chain(others).collect();
    }
    pod::template(&template, options, at, errors);
}

fn stateful_strategy(strategy: &StatefulSetUpdateStrategy, at: &At, errors: &mut Errors) {
    let rolling_at = &at.child("rollingUpdate");
    match (&*strategy.type_, strategy.rolling_update.get()) {
        ("", _) => errors.required(at, ""),
        ("OnDelete", Some(rolling)) => {
            errors.invalid(rolling_at, Internal(rolling), "only allowed for updateStrategy 'RollingUpdate'");
        }
        ("OnDelete", None) | ("RollingUpdate", None) => {}
        ("RollingUpdate", Some(rolling)) => {
            errors.not_negative(&rolling_at.child("partition"), rolling.partition.unwrap_or(0));
            if let Some(unavailable) = &rolling.max_unavailable {
                let at = &rolling_at.child("maxUnavailable");
                positive_int_or_percent(unavailable, at, errors);
                if int_or_percent(unavailable) == 0 {
                    errors.invalid(at, unavailable, "cannot be 0");
                }
                at_most_100_percent(unavailable, at, errors);
            }
        }
        _ => errors.invalid(at, Internal(strategy), "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

/// A StatefulSet's status.
pub(super) fn update_stateful_set_status(new: &StatefulSet, old: &StatefulSet, errors: &mut Errors) {
    let at = &At::new("status");
    if !new.status.same(&old.status) {
        stateful_status(&new.status, at, errors);
    }
    metadata::update(&new.metadata, &old.metadata, errors);
    if decremented(new.status.collision_count, old.status.collision_count) {
        let value = new.status.collision_count.unwrap_or(0);
        errors.invalid(&at.child("collisionCount"), value, "cannot be decremented");
    }
}

fn stateful_status(status: &StatefulSetStatus, at: &At, errors: &mut Errors) {
    for (name, count) in [
        ("replicas", status.replicas),
        ("readyReplicas", status.ready_replicas),
        ("currentReplicas", status.current_replicas),
        ("updatedReplicas", status.updated_replicas),
        ("availableReplicas", status.available_replicas),
    ] {
        errors.not_negative(&at.child(name), count);
    }
    errors.not_negative(&at.child("observedGeneration"), status.observed_generation);
    errors.not_negative(&at.child("collisionCount"), status.collision_count.unwrap_or(0));
    for (name, count) in [
        ("readyReplicas", status.ready_replicas),
        ("currentReplicas", status.current_replicas),
        ("updatedReplicas", status.updated_replicas),
        ("availableReplicas", status.available_replicas),
    ] {
        if count > status.replicas {
            errors.invalid(&at.child(name), count, MORE_THAN_REPLICAS);
        }
    }
    if status.available_replicas > status.ready_replicas {
        let why = "cannot be greater than status.readyReplicas";
        errors.invalid(&at.child("availableReplicas"), status.available_replicas, why);
    }
}

/// A new DaemonSet.
pub(super) fn create_daemon_set(set: &DaemonSet, errors: &mut Errors) {
    metadata::create(&set.metadata, true, metadata::subdomain, errors);
    daemon_set_spec(&set.spec, &pod::Options::default(), errors);
}

/// A changed DaemonSet.
pub(super) fn update_daemon_set(new: &DaemonSet, old: &DaemonSet, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    errors.immutable(&At::new("spec").child("selector"), &new.spec.selector, &old.spec.selector);
    daemon_set_spec(&new.spec, &pod::Options::of(&old.spec.template.spec), errors);
}

fn daemon_set_spec(spec: &DaemonSetSpec, options: &pod::Options, errors: &mut Errors) {
    let at = &At::new("spec");
    let (at_selector, at_template) = (&at.child("selector"), &at.child("template"));
    labels::selector(&spec.selector, at_selector, errors);
    let labels = &spec.template.metadata.labels;
    if Selector::from_ptr(&spec.selector).is_ok_and(|s| !s.matches(labels)) {
        let why = "`selector` does not match template `labels`";
        errors.invalid(&at_template.child("metadata").child("labels"), labels, why);
    }
    if spec.selector.get().is_some_and(|s| s.match_labels.is_empty() && s.match_expressions.is_empty()) {
        errors.invalid(at_selector, &spec.selector, "empty selector is invalid for daemonset");
    }
    pod::template(&spec.template, options, at_template, errors);
    always(&spec.template, at_template, errors);
    if spec.template.spec.active_deadline_seconds.is_some() {
        let at = at_template.child("spec");
        errors.forbidden(&at.child("activeDeadlineSeconds"), "activeDeadlineSeconds in DaemonSet is not Supported");
    }
    errors.not_negative(&at.child("minReadySeconds"), spec.min_ready_seconds);
    daemon_strategy(&spec.update_strategy, &at.child("updateStrategy"), errors);
    if let Some(limit) = spec.revision_history_limit {
        errors.not_negative(&at.child("revisionHistoryLimit"), limit);
    }
}

fn daemon_strategy(strategy: &DaemonSetUpdateStrategy, at: &At, errors: &mut Errors) {
    let at_rolling = &at.child("rollingUpdate");
    let rolling = match (&*strategy.type_, strategy.rolling_update.get()) {
        ("OnDelete", _) => return,
        ("RollingUpdate", Some(rolling)) => rolling,
        ("RollingUpdate", None) => return errors.required(at_rolling, ""),
        _ => return errors.not_supported(at, Internal(strategy), &["RollingUpdate", "OnDelete"]),
    };
    let zero = IntOrString::Int(0);
    let unavailable = rolling.max_unavailable.as_ref().unwrap_or(&zero);
    let surge = rolling.max_surge.as_ref().unwrap_or(&zero);
    let (at_unavailable, at_surge) = (&at_rolling.child("maxUnavailable"), &at_rolling.child("maxSurge"));
    positive_int_or_percent(unavailable, at_unavailable, errors);
    positive_int_or_percent(surge, at_surge, errors);
    at_most_100_percent(unavailable, at_unavailable, errors);
    at_most_100_percent(surge, at_surge, errors);
    match (int_or_percent(unavailable) != 0, int_or_percent(surge) != 0) {
        (true, true) => errors.invalid(at_surge, surge, "may not be set when maxUnavailable is non-zero"),
        (false, false) => errors.required(at_unavailable, "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

/// A DaemonSet's status.
pub(super) fn update_daemon_set_status(new: &DaemonSet, old: &DaemonSet, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let at = &At::new("status");
    if !new.status.same(&old.status) {
        daemon_status(&new.status, at, errors);
    }
    if decremented(new.status.collision_count, old.status.collision_count) {
        let value = new.status.collision_count.unwrap_or(0);
        errors.invalid(&at.child("collisionCount"), value, "cannot be decremented");
    }
}

fn daemon_status(status: &DaemonSetStatus, at: &At, errors: &mut Errors) {
    for (name, count) in [
        ("currentNumberScheduled", i64::from(status.current_number_scheduled)),
        ("numberMisscheduled", i64::from(status.number_misscheduled)),
        ("desiredNumberScheduled", i64::from(status.desired_number_scheduled)),
        ("numberReady", i64::from(status.number_ready)),
        ("observedGeneration", status.observed_generation),
        ("updatedNumberScheduled", i64::from(status.updated_number_scheduled)),
        ("numberAvailable", i64::from(status.number_available)),
        ("numberUnavailable", i64::from(status.number_unavailable)),
        ("collisionCount", i64::from(status.collision_count.unwrap_or(0))),
    ] {
        errors.not_negative(&at.child(name), count);
    }
}

/// A new ControllerRevision.
pub(super) fn create_revision(revision: &ControllerRevision, errors: &mut Errors) {
    metadata::create(&revision.metadata, true, metadata::subdomain, errors);
    errors.not_negative(&At::new("revision"), revision.revision);
    let at = &At::new("data");
    match revision.data.json().map(json::Value::parse) {
        None | Some(Ok(json::Value::Null)) => errors.required(at, "data is mandatory"),
        Some(Err(error)) => errors.invalid(at, "<value omitted>", format!("error parsing data: {error}")),
        Some(Ok(json::Value::Object(_))) => {}
        Some(Ok(_)) => errors.required(at, "data must be a valid JSON object"),
    }
}

/// A changed ControllerRevision.
pub(super) fn update_revision(new: &ControllerRevision, old: &ControllerRevision, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, true, metadata::subdomain, errors);
    errors.not_negative(&At::new("revision"), new.revision);
    if new.data != old.data {
        let shown = new.data.json().and_then(|j| json::Value::parse(j).ok()).unwrap_or_default();
        errors.invalid(&At::new("data"), shown, super::at::IMMUTABLE);
    }
}

/// A new ReplicationController, whose name's form is declared.
pub(super) fn create_controller(controller: &ReplicationController, errors: &mut Errors) {
    let name = &controller.metadata.name;
    let wrong = if name.is_empty() { Vec::new() } else { names::dns1123_subdomain(name) };
    metadata::create(&controller.metadata, true, |_, _| Vec::new(), errors);
    for why in wrong {
        let at = At::new("metadata");
        errors.declared(field::invalid(&at.child("name").path(), name, why));
    }
    controller_spec(controller, &pod::Options::default(), errors);
}

/// A ReplicationController's status.
pub(super) fn update_controller_status(new: &ReplicationController, old: &ReplicationController, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let (status, at) = (&new.status, &At::new("status"));
    let counts = [
        ("fullyLabeledReplicas", status.fully_labeled_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
    ];
    errors.not_negative(&at.child("replicas"), status.replicas);
    for (name, count) in counts {
        errors.not_negative(&at.child(name), count);
    }
    errors.not_negative(&at.child("observedGeneration"), status.observed_generation);
    for (name, count) in counts {
        if count > status.replicas {
            errors.invalid(&at.child(name), count, MORE_THAN_REPLICAS);
        }
    }
    if status.available_replicas > status.ready_replicas {
        let why = "cannot be greater than readyReplicas";
        errors.invalid(&at.child("availableReplicas"), status.available_replicas, why);
    }
}

/// A changed ReplicationController.
pub(super) fn update_controller(new: &ReplicationController, old: &ReplicationController, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.spec.same(&old.spec) {
        let options = old.spec.template.get().map(|t| pod::Options::of(&t.spec)).unwrap_or_default();
        controller_spec(new, &options, errors);
    }
}

fn controller_spec(controller: &ReplicationController, options: &pod::Options, errors: &mut Errors) {
    let (spec, at) = (&controller.spec, &At::new("spec"));
    for (name, value) in [("replicas", spec.replicas.unwrap_or(1)), ("minReadySeconds", spec.min_ready_seconds)] {
        if value < 0 {
            errors.declared(field::invalid(&at.child(name).path(), value, super::at::NEGATIVE));
        }
    }
    if spec.selector.is_empty() {
        errors.required(&at.child("selector"), "");
    }
    let at = &at.child("template");
    let Some(template) = spec.template.get() else { return errors.required(at, "") };
    let labels = &template.metadata.labels;
    if spec.selector.iter().any(|(k, v)| labels.get(k) != Some(v)) {
        let why = "`selector` does not match template `labels`";
        errors.invalid(&at.child("metadata").child("labels"), labels, why);
    }
    pod::template(template, options, at, errors);
    always(template, at, errors);
    if template.spec.active_deadline_seconds.is_some() {
        let why = "activeDeadlineSeconds in ReplicationController is not Supported";
        errors.forbidden(&at.child("spec").child("activeDeadlineSeconds"), why);
    }
}
