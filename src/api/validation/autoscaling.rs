//! HorizontalPodAutoscalers.

use super::at::{At, Errors};
use super::{metadata, resources};
use crate::autoscaling_v2::{
    CrossVersionObjectReference, HPAScalingRules, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
    MetricIdentifier, MetricSpec, MetricTarget,
};
use crate::{field, names, scheme};

const PERIOD_MAX: i32 = 1800;
const WINDOW_MAX: i32 = 3600;
const SOURCES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// A new HorizontalPodAutoscaler.
pub(super) fn create(autoscaler: &HorizontalPodAutoscaler, errors: &mut Errors) {
    metadata::create(&autoscaler.metadata, true, metadata::subdomain, errors);
    spec(&autoscaler.spec, None, errors);
}

/// A changed HorizontalPodAutoscaler.
pub(super) fn update(new: &HorizontalPodAutoscaler, old: &HorizontalPodAutoscaler, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.spec.same(&old.spec) {
        spec(&new.spec, Some(&old.spec), errors);
    }
}

/// A HorizontalPodAutoscaler's status.
pub(super) fn update_status(new: &HorizontalPodAutoscaler, old: &HorizontalPodAutoscaler, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let at = At::new("status");
    errors.not_negative(&at.child("currentReplicas"), new.status.current_replicas);
    errors.not_negative(&at.child("desiredReplicas"), new.status.desired_replicas);
}

fn spec(spec: &HorizontalPodAutoscalerSpec, old: Option<&HorizontalPodAutoscalerSpec>, errors: &mut Errors) {
    let at = &At::new("spec");
    let at_max = &at.child("maxReplicas");
    let least = "must be greater than or equal to 1";
    if let Some(min) = spec.min_replicas.filter(|min| *min < 0) {
        let why = "must be greater than or equal to 0";
        errors.declared(field::invalid(&at.child("minReplicas").path(), min, why));
    }
    if spec.max_replicas == 0 {
        errors.declared_required(at_max);
    } else if spec.max_replicas < 0 {
        errors.declared(field::invalid(&at_max.path(), spec.max_replicas, least));
    }
    if spec.min_replicas.is_some_and(|min| spec.max_replicas < min) {
        errors.invalid(at_max, spec.max_replicas, "must be greater than or equal to `minReplicas`");
    }
    let to = &spec.scale_target_ref;
    let version = match old.map(|old| &old.scale_target_ref) {
        Some(old) if old.api_version == to.api_version && old.kind == to.kind => Version::Any,
        // The only kind of the core group that scales.
        _ if to.kind == "ReplicationController" => Version::AnyGroup,
        _ => Version::Grouped,
    };
    reference(to, version, &at.child("scaleTargetRef"), errors);
    let at_metrics = &at.child("metrics");
    for (i, metric) in spec.metrics.iter().enumerate() {
        self::metric(metric, &at_metrics.index(i), errors);
    }
    if spec.min_replicas == Some(0) && !spec.metrics.iter().any(|m| matches!(&*m.type_, "Object" | "External")) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(at_metrics, why);
    }
    if let Some(behavior) = spec.behavior.get() {
        let at = at.child("behavior");
        for (name, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
            if let Some(rules) = rules.get() {
                scaling(rules, &at.child(name), errors);
            }
        }
    }
}

/// What a reference's apiVersion must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Any,
    AnyGroup,
    Grouped,
}

fn reference(reference: &CrossVersionObjectReference, rule: Version, at: &At, errors: &mut Errors) {
    for (name, value) in [("kind", &reference.kind), ("name", &reference.name)] {
        if value.is_empty() {
            errors.required(&at.child(name), "");
        } else {
            errors.each(&at.child(name), value, names::path_segment(value));
        }
    }
    let version = &reference.api_version;
    let at = &at.child("apiVersion");
    if rule == Version::Any {
    } else if version.matches('/').count() > 1 {
        errors.invalid(at, version, format!("unexpected GroupVersion string: {version}"));
    } else if rule == Version::Grouped && scheme::group_version(version).0.is_empty() {
        errors.invalid(at, version, "apiVersion must specify API group");
    }
}

fn scaling(rules: &HPAScalingRules, at: &At, errors: &mut Errors) {
    if let Some(seconds) = rules.stabilization_window_seconds {
        let at = &at.child("stabilizationWindowSeconds");
        if seconds < 0 {
            errors.invalid(at, seconds, "must be greater than or equal to zero");
        }
        if seconds > WINDOW_MAX {
            errors.invalid(at, seconds, format!("must be less than or equal to {WINDOW_MAX}"));
        }
    }
    if let Some(policy) = rules.select_policy.get() {
        errors.one_of(&at.child("selectPolicy"), policy, &["Disabled", "Max", "Min"]);
    }
    let policies = &at.child("policies");
    if rules.policies.is_empty() {
        errors.required(policies, "must specify at least one Policy");
    }
    for (i, policy) in rules.policies.iter().enumerate() {
        let at = &policies.index(i);
        errors.one_of(&at.child("type"), &policy.type_, &["Percent", "Pods"]);
        errors.positive(&at.child("value"), policy.value);
        errors.positive(&at.child("periodSeconds"), policy.period_seconds);
        if policy.period_seconds > PERIOD_MAX {
            let why = format!("must be less than or equal to {PERIOD_MAX}");
            errors.invalid(&at.child("periodSeconds"), policy.period_seconds, why);
        }
    }
    if let Some(tolerance) = &rules.tolerance {
        resources::not_negative(tolerance, &at.child("tolerance"), errors);
    }
}

fn metric(metric: &MetricSpec, at: &At, errors: &mut Errors) {
    if metric.type_.is_empty() {
        errors.required(&at.child("type"), "must specify a metric source type");
    }
    errors.one_of(&at.child("type"), &metric.type_, &SOURCES);
    // In the order Kubernetes looks at them; the first that is there is checked.
    let present: Vec<(&str, &str)> = [
        ("object", "Object", metric.object.is_some()),
        ("external", "External", metric.external.is_some()),
        ("pods", "Pods", metric.pods.is_some()),
        ("resource", "Resource", metric.resource.is_some()),
        ("containerResource", "ContainerResource", metric.container_resource.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, kind, set)| set.then_some((name, kind)))
    .collect();
    if let Some((name, _)) = present.first() {
        source(metric, name, &at.child(name), errors);
    }
    let wanted = match &*metric.type_ {
        "Object" => "object",
        "External" => "external",
        "Pods" => "pods",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => "",
    };
    if !wanted.is_empty() && !present.iter().any(|(name, _)| *name == wanted) {
        errors.required(&at.child(wanted), "must populate information for the given metric source");
    }
    if present.len() != 1 {
        for (name, _) in present.iter().filter(|(name, _)| *name != wanted) {
            errors.forbidden(&at.child(name), "must populate the given metric source only");
        }
    }
}

fn source(metric: &MetricSpec, name: &str, at: &At, errors: &mut Errors) {
    let at_target = &at.child("target");
    match name {
        "object" => {
            let Some(s) = metric.object.get() else { return };
            reference(&s.described_object, Version::AnyGroup, &at.child("describedObject"), errors);
            identifier(&s.metric, &at.child("metric"), errors);
            target(&s.target, at_target, errors);
            if s.target.value.is_none() && s.target.average_value.is_none() {
                let why = "must set either a target value or averageValue";
                errors.required(&at_target.child("averageValue"), why);
            }
        }
        "external" => {
            let Some(s) = metric.external.get() else { return };
            identifier(&s.metric, &at.child("metric"), errors);
            target(&s.target, at_target, errors);
            match (&s.target.value, &s.target.average_value) {
                (None, None) => errors.required(
                    &at_target.child("averageValue"),
                    "must set either a target value for metric or a per-pod target",
                ),
                (Some(_), Some(_)) => errors.forbidden(
                    &at_target.child("value"),
                    "may not set both a target value for metric and a per-pod target",
                ),
                _ => {}
            }
        }
        "pods" => {
            let Some(s) = metric.pods.get() else { return };
            identifier(&s.metric, &at.child("metric"), errors);
            target(&s.target, at_target, errors);
            if s.target.average_value.is_none() {
                errors.required(&at_target.child("averageValue"), "must specify a positive target averageValue");
            }
        }
        "resource" => {
            let Some(s) = metric.resource.get() else { return };
            if s.name.is_empty() {
                errors.required(&at.child("name"), "must specify a resource name");
            }
            utilization(&s.target, at_target, errors);
        }
        _ => {
            let Some(s) = metric.container_resource.get() else { return };
            if s.name.is_empty() {
                errors.required(&at.child("name"), "must specify a resource name");
            } else {
                resources::container_name(&s.name, &at.child("name"), errors);
            }
            if s.container.is_empty() {
                errors.required(&at.child("container"), "must specify a container");
            } else {
                errors.each(&at.child("container"), &s.container, names::dns1123_label(&s.container));
            }
            utilization(&s.target, at_target, errors);
        }
    }
}

fn utilization(t: &MetricTarget, at: &At, errors: &mut Errors) {
    target(t, at, errors);
    match (&t.average_utilization, &t.average_value) {
        (None, None) => errors
            .required(&at.child("averageUtilization"), "must set either a target raw value or a target utilization"),
        (Some(_), Some(_)) => {
            let why = "may not set both a target raw value and a target utilization";
            errors.forbidden(&at.child("averageValue"), why);
        }
        _ => {}
    }
}

fn target(target: &MetricTarget, at: &At, errors: &mut Errors) {
    let at_type = &at.child("type");
    if target.type_.is_empty() {
        errors.required(at_type, "must specify a metric target type");
    }
    if !matches!(&*target.type_, "Utilization" | "Value" | "AverageValue") {
        errors.invalid(at_type, &target.type_, "must be either Utilization, Value, or AverageValue");
    }
    for (name, value) in [("value", &target.value), ("averageValue", &target.average_value)] {
        if let Some(value) = value.as_ref().filter(|v| v.sign() <= 0) {
            errors.invalid(&at.child(name), value, "must be positive");
        }
    }
    if let Some(percent) = target.average_utilization.filter(|p| *p < 1) {
        errors.invalid(&at.child("averageUtilization"), percent, "must be greater than 0");
    }
}

fn identifier(identifier: &MetricIdentifier, at: &At, errors: &mut Errors) {
    let name = &at.child("name");
    if identifier.name.is_empty() {
        errors.required(name, "must specify a metric name");
    } else {
        errors.each(name, &identifier.name, names::path_segment(&identifier.name));
    }
}
