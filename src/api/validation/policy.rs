//! PodDisruptionBudgets, PriorityClasses, LimitRanges and ResourceQuotas.

use super::apps::{at_most_100_percent, positive_int_or_percent};
use super::at::{At, Errors};
use super::internal::Internal;
use super::tree::Tree;
use super::{labels, metadata, resources};
use crate::SortSmall;
use crate::core_v1::{LimitRange, LimitRangeItem, ResourceQuota, ResourceQuotaSpec};
use crate::policy_v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use crate::scheduling_v1::PriorityClass;
use crate::{Map, Quantity, Str, names};

/// The highest priority that users may define.
const PRIORITY_MAX: i32 = 1_000_000_000;

/// A new PodDisruptionBudget.
pub(super) fn create_budget(budget: &PodDisruptionBudget, errors: &mut Errors) {
    budget_spec(&budget.spec, errors);
    metadata::create(&budget.metadata, true, metadata::rbac, errors);
}

/// A changed PodDisruptionBudget.
pub(super) fn update_budget(new: &PodDisruptionBudget, old: &PodDisruptionBudget, errors: &mut Errors) {
    if !new.spec.same(&old.spec) {
        budget_spec(&new.spec, errors);
    }
    metadata::update(&new.metadata, &old.metadata, errors);
}

fn budget_spec(spec: &PodDisruptionBudgetSpec, errors: &mut Errors) {
    let at = &At::new("spec");
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        errors.invalid(at, Internal(spec), "minAvailable and maxUnavailable cannot be both set");
    }
    for (name, value) in [("minAvailable", &spec.min_available), ("maxUnavailable", &spec.max_unavailable)] {
        if let Some(value) = value {
            positive_int_or_percent(value, &at.child(name), errors);
            at_most_100_percent(value, &at.child(name), errors);
        }
    }
    labels::selector(&spec.selector, &at.child("selector"), errors);
    if let Some(policy) = spec.unhealthy_pod_eviction_policy.get() {
        errors.one_of(&at.child("unhealthyPodEvictionPolicy"), policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
}

/// A PodDisruptionBudget's status.
pub(super) fn update_budget_status(new: &PodDisruptionBudget, old: &PodDisruptionBudget, errors: &mut Errors) {
    let (status, at) = (&new.status, &At::new("status"));
    for (name, count) in [
        ("disruptionsAllowed", status.disruptions_allowed),
        ("currentHealthy", status.current_healthy),
        ("desiredHealthy", status.desired_healthy),
        ("expectedPods", status.expected_pods),
    ] {
        errors.not_negative(&at.child(name), count);
    }
    if !status.conditions.is_empty() {
        let status = crate::json::to_value_bare(&**status);
        super::conditions::conditions(Tree::new(&status).get("conditions"), &at.child("conditions"), errors);
    }
    metadata::update(&new.metadata, &old.metadata, errors);
}

/// A new PriorityClass.
pub(super) fn create_priority_class(class: &PriorityClass, errors: &mut Errors) {
    metadata::create(&class.metadata, false, metadata::subdomain, errors);
    if class.metadata.name.starts_with("system-") {
        if let Err(why) = system_class(class) {
            errors.forbidden(
                &At::new("metadata").child("name"),
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}"),
            );
        }
    } else if class.value > PRIORITY_MAX {
        let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        errors.forbidden(&At::new("value"), why);
    }
    if let Some(policy) = class.preemption_policy.get() {
        errors.required_one_of(&At::new("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }
}

/// Whether it is one of the two classes that every cluster has.
fn system_class(class: &PriorityClass) -> Result<(), String> {
    let name = &class.metadata.name;
    let value = match &**name {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => return Err(format!("{name} is not a known system priority class")),
    };
    if class.value != value {
        return Err(format!("value of {name} PriorityClass must be {value}"));
    }
    if class.global_default {
        return Err(format!("globalDefault of {name} PriorityClass must be false"));
    }
    Ok(())
}

/// A changed PriorityClass.
pub(super) fn update_priority_class(new: &PriorityClass, old: &PriorityClass, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.value != old.value {
        errors.forbidden(&At::new("value"), "may not be changed in an update.");
    }
    errors.immutable(&At::new("preemptionPolicy"), &new.preemption_policy, &old.preemption_policy);
}

/// A new LimitRange.
pub(super) fn create_limit_range(range: &LimitRange, errors: &mut Errors) {
    metadata::create(&range.metadata, true, metadata::subdomain, errors);
    limits(&range.spec.limits, errors);
}

/// A changed LimitRange.
pub(super) fn update_limit_range(new: &LimitRange, old: &LimitRange, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, true, metadata::subdomain, errors);
    }
    if !new.spec.same(&old.spec) {
        limits(&new.spec.limits, errors);
    }
    metadata::update(&new.metadata, &old.metadata, errors);
}

fn limits(list: &[LimitRangeItem], errors: &mut Errors) {
    let spec = At::new("spec");
    let at = spec.child("limits");
    for (i, item) in list.iter().enumerate() {
        let at = &at.index(i);
        let wrong = names::qualified_name(&item.type_);
        let good = wrong.is_empty();
        errors.each(&at.child("type"), &item.type_, wrong);
        if good && !item.type_.contains('/') && !matches!(&*item.type_, "Pod" | "Container" | "PersistentVolumeClaim") {
            errors.invalid(&at.child("type"), &item.type_, "must be a standard limit type or fully qualified");
        }
        if list.iter().take(i).any(|other| other.type_ == item.type_) {
            errors.duplicate(&at.child("type"), &item.type_);
        }
        limit(item, at, errors);
    }
}

fn limit(item: &LimitRangeItem, at: &At, errors: &mut Errors) {
    let containers = matches!(&*item.type_, "Pod" | "Container");
    let check = |field: &str, map: &Map<Quantity>, errors: &mut Errors| {
        let at = at.child(field);
        for (name, _) in map {
            if containers {
                resources::container_name(name, &at.key(name), errors);
            } else {
                resources::name(name, &at.key(name), errors);
            }
        }
    };
    check("max", &item.max, errors);
    check("min", &item.min, errors);
    let none = Map::default();
    let (defaults, requests) = if item.type_ == "Pod" {
        for (name, map) in [("default", &item.default), ("defaultRequest", &item.default_request)] {
            if !map.is_empty() {
                errors.forbidden(&at.child(name), "may not be specified when `type` is 'Pod'");
            }
        }
        (&none, &none)
    } else {
        check("default", &item.default, errors);
        check("defaultRequest", &item.default_request, errors);
        (&item.default, &item.default_request)
    };
    if item.type_ == "PersistentVolumeClaim" && !item.min.contains_key("storage") && !item.max.contains_key("storage") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(&at.child("limits"), why);
    }
    check("maxLimitRequestRatio", &item.max_limit_request_ratio, errors);
    let mut keys: Vec<&Str> = [&item.max, &item.min, defaults, requests, &item.max_limit_request_ratio]
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    keys.sort_small();
    keys.dedup();
    for key in keys {
        let amounts = Amounts {
            min: item.min.get(key),
            max: item.max.get(key),
            default: defaults.get(key),
            request: requests.get(key),
            ratio: item.max_limit_request_ratio.get(key),
        };
        amounts.check(key, at, errors);
    }
}

/// What a limit says of one resource.
struct Amounts<'a> {
    min: Option<&'a Quantity>,
    max: Option<&'a Quantity>,
    default: Option<&'a Quantity>,
    request: Option<&'a Quantity>,
    ratio: Option<&'a Quantity>,
}

impl Amounts<'_> {
    fn check(&self, key: &str, at: &At, errors: &mut Errors) {
        // The field the error is at, the value shown, what is too great, what it is greater than.
        let pairs = [
            ("min", self.min, "min value", self.min, "max value", self.max),
            ("defaultRequest", self.request, "min value", self.min, "default request value", self.request),
            ("defaultRequest", self.request, "default request value", self.request, "max value", self.max),
            (
                "defaultRequest",
                self.request,
                "default request value",
                self.request,
                "default limit value",
                self.default,
            ),
            ("default", self.min, "min value", self.min, "default value", self.default),
            ("default", self.max, "default value", self.default, "max value", self.max),
        ];
        for (field, shown, great, a, than, b) in pairs {
            if let (Some(a), Some(b), Some(shown)) = (a, b, shown)
                && a > b
            {
                errors.invalid(&at.child(field).key(key), shown, format!("{great} {a} is greater than {than} {b}"));
            }
        }
        let at_ratio = at.child("maxLimitRequestRatio");
        if let Some(ratio) = self.ratio {
            if ratio.milli_value() < 1000 {
                errors.invalid(&at_ratio.key(key), ratio, format!("ratio {ratio} is less than 1"));
            }
            if let (Some(min), Some(max)) = (self.min, self.max) {
                let most = max.as_f64() / min.as_f64();
                if ratio.as_f64() > most {
                    let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
                    errors.invalid(&at_ratio.key(key), ratio, why);
                }
            }
        }
    }
}

/// A new ResourceQuota.
pub(super) fn create_quota(quota: &ResourceQuota, errors: &mut Errors) {
    metadata::create(&quota.metadata, true, metadata::subdomain, errors);
    quota_spec(&quota.spec, errors);
}

/// A changed ResourceQuota.
pub(super) fn update_quota(new: &ResourceQuota, old: &ResourceQuota, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    quota_spec(&new.spec, errors);
    let (now, was) = (&new.spec.scopes, &old.spec.scopes);
    if now.iter().any(|s| !was.contains(s)) || was.iter().any(|s| !now.contains(s)) {
        errors.invalid(&At::new("spec").child("scopes"), now, super::at::IMMUTABLE);
    }
}

/// A ResourceQuota's status.
pub(super) fn update_quota_status(new: &ResourceQuota, old: &ResourceQuota, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.status.same(&old.status) {
        let at = At::new("status");
        amounts(&new.status.hard, &at.child("hard"), errors);
        amounts(&new.status.used, &at.child("used"), errors);
    }
}

fn amounts(map: &Map<Quantity>, at: &At, errors: &mut Errors) {
    for (name, amount) in map {
        let at = &at.key(name);
        resources::name(name, at, errors);
        if !name.contains('/') && !resources::is_quota(name) {
            errors.invalid(at, name, "must be a standard resource for quota");
        }
        resources::amount(name, amount, at, errors);
    }
}

fn quota_spec(spec: &ResourceQuotaSpec, errors: &mut Errors) {
    let at = &At::new("spec");
    amounts(&spec.hard, &at.child("hard"), errors);
    let at_scopes = &at.child("scopes");
    let counted = || spec.hard.keys().filter(|name| resources::is_quota(name));
    for scope in &spec.scopes {
        if !is_scope(scope) {
            errors.invalid(at_scopes, &spec.scopes, "unsupported scope");
        }
        for _ in counted().filter(|name| !scope_covers(scope, name)) {
            errors.invalid(at_scopes, &spec.scopes, "unsupported scope applied to resource");
        }
    }
    conflicts(&spec.scopes.iter().map(|s| &**s).collect::<Vec<_>>(), spec, at_scopes, errors);
    let Some(selector) = spec.scope_selector.get() else { return };
    let at = at.child("scopeSelector");
    let at = &at.child("matchExpressions");
    for r in &selector.match_expressions {
        let scope = &*r.scope_name;
        if !is_scope(scope) {
            errors.invalid(&at.child("scopeName"), scope, "unsupported scope");
        }
        for _ in counted().filter(|name| !scope_covers(scope, name)) {
            errors.invalid(at, Internal(selector), "unsupported scope applied to resource");
        }
        let plain = matches!(
            scope,
            "BestEffort" | "NotBestEffort" | "Terminating" | "NotTerminating" | "CrossNamespacePodAffinity"
        );
        if plain && r.operator != "Exists" {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.invalid(&at.child("operator"), &r.operator, why);
        }
        match &*r.operator {
            "In" | "NotIn" => {
                if r.values.is_empty() {
                    let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                    errors.required(&at.child("values"), why);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !r.values.is_empty() {
                    let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                    errors.invalid(&at.child("values"), &r.values, why);
                }
            }
            operator => errors.invalid(&at.child("operator"), operator, "not a valid selector operator"),
        }
    }
    let names: Vec<&str> = selector.match_expressions.iter().map(|r| &*r.scope_name).collect();
    conflicts(&names, spec, at, errors);
}

fn conflicts(scopes: &[&str], spec: &ResourceQuotaSpec, at: &At, errors: &mut Errors) {
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            errors.invalid(at, &spec.scopes, "conflicting scopes");
        }
    }
}

fn is_scope(scope: &str) -> bool {
    matches!(
        scope,
        "Terminating"
            | "NotTerminating"
            | "BestEffort"
            | "NotBestEffort"
            | "PriorityClass"
            | "CrossNamespacePodAffinity"
            | "VolumeAttributesClass"
    )
}

fn scope_covers(scope: &str, resource: &str) -> bool {
    let compute =
        ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"].contains(&resource);
    match scope {
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
            resource == "pods" || compute
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}
