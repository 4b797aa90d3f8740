//! Defaults of kinds that no Rust struct describes: `pkg/apis/{admissionregistration,flowcontrol}/v1/defaults.go`,
//! kube-aggregator's.

use crate::json::{self, Value};
use crate::{KindInfo, Object};

/// A kind's defaults: where, as a path whose `[]` stands for each item, and what in JSON. A path that leads through
/// something absent is left alone; one that ends in `!` is of a plain number, which is absent where it is 0.
type Defaults = (&'static str, &'static str, &'static [&'static [(&'static str, &'static str)]]);

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";

const RESOURCE: &str = "resource.k8s.io";

const WEBHOOKS: &[(&str, &str)] = &[
    ("webhooks.[].failurePolicy", r#""Fail""#),
    ("webhooks.[].matchPolicy", r#""Equivalent""#),
    ("webhooks.[].namespaceSelector", "{}"),
    ("webhooks.[].objectSelector", "{}"),
    ("webhooks.[].timeoutSeconds", "10"),
    ("webhooks.[].rules.[].scope", r#""*""#),
    ("webhooks.[].clientConfig.service.port", "443"),
];
const MUTATING_WEBHOOKS: &[(&str, &str)] = &[("webhooks.[].reinvocationPolicy", r#""Never""#)];
const POLICY: &[(&str, &str)] = &[
    ("spec.failurePolicy", r#""Fail""#),
    ("spec.matchConstraints.matchPolicy", r#""Equivalent""#),
    ("spec.matchConstraints.namespaceSelector", "{}"),
    ("spec.matchConstraints.objectSelector", "{}"),
    ("spec.matchConstraints.resourceRules.[].scope", r#""*""#),
    ("spec.matchConstraints.excludeResourceRules.[].scope", r#""*""#),
];
const BINDING: &[(&str, &str)] = &[
    ("spec.matchResources.matchPolicy", r#""Equivalent""#),
    ("spec.matchResources.namespaceSelector", "{}"),
    ("spec.matchResources.objectSelector", "{}"),
    ("spec.matchResources.resourceRules.[].scope", r#""*""#),
    ("spec.matchResources.excludeResourceRules.[].scope", r#""*""#),
];

const CLAIM: &[(&str, &str)] = &[
    ("devices.requests.[].exactly.allocationMode", r#""ExactCount""#),
    ("devices.requests.[].exactly.tolerations.[].operator", r#""Equal""#),
    ("devices.requests.[].firstAvailable.[].allocationMode", r#""ExactCount""#),
    ("devices.requests.[].firstAvailable.[].tolerations.[].operator", r#""Equal""#),
];

static DEFAULTS: &[Defaults] = &[
    (ADMISSION, "ValidatingWebhookConfiguration", &[WEBHOOKS]),
    (ADMISSION, "MutatingWebhookConfiguration", &[WEBHOOKS, MUTATING_WEBHOOKS]),
    (ADMISSION, "ValidatingAdmissionPolicy", &[POLICY]),
    (ADMISSION, "MutatingAdmissionPolicy", &[POLICY]),
    (ADMISSION, "ValidatingAdmissionPolicyBinding", &[BINDING]),
    (ADMISSION, "MutatingAdmissionPolicyBinding", &[BINDING]),
    (FLOW, "FlowSchema", &[&[("spec.matchingPrecedence!", "1000")]]),
    (
        FLOW,
        "PriorityLevelConfiguration",
        &[&[
            ("spec.exempt.nominalConcurrencyShares", "0"),
            ("spec.exempt.lendablePercent", "0"),
            ("spec.limited.nominalConcurrencyShares", "30"),
            ("spec.limited.lendablePercent", "0"),
            ("spec.limited.limitResponse.queuing.handSize!", "8"),
            ("spec.limited.limitResponse.queuing.queues!", "64"),
            ("spec.limited.limitResponse.queuing.queueLengthLimit!", "50"),
        ]],
    ),
    ("apiregistration.k8s.io", "APIService", &[&[("spec.service.port", "443")]]),
    ("certificates.k8s.io", "PodCertificateRequest", &[&[("spec.maxExpirationSeconds", "86400")]]),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &[&[
            ("spec.conversion", r#"{"strategy":"None"}"#),
            ("spec.conversion.webhook.clientConfig.service.port", "443"),
        ]],
    ),
    (RESOURCE, "ResourceClaim", &[CLAIM]),
    (RESOURCE, "ResourceClaimTemplate", &[CLAIM]),
];

pub(super) fn apply(object: &mut dyn Object) -> bool {
    let Some(kind) = object.kind_info() else { return false };
    let of = |kind: &KindInfo, (group, name, _): &&Defaults| *name == kind.kind && *group == kind.group;
    let Some((.., lists)) = DEFAULTS.iter().find(|row| of(kind, row)) else { return false };
    let mut value = json::to_value_bare(object);
    let mut changed = false;
    // A claim's spec stands in a spec, a template's one deeper.
    let inside: &[&str] = match kind.kind {
        "ResourceClaim" => &["spec"],
        "ResourceClaimTemplate" => &["spec", "spec"],
        _ => &[],
    };
    for (path, default) in lists.iter().flat_map(|list| list.iter()) {
        let steps: Vec<&str> = inside.iter().copied().chain(path.split('.')).collect();
        changed |= Value::parse(default).is_ok_and(|default| fill(&mut value, &steps, &default));
    }
    for list in ["exactly", "firstAvailable"].into_iter().filter(|_| !inside.is_empty()) {
        let path: Vec<&str> = inside.iter().copied().chain(["devices", "requests", "[]", list]).collect();
        changed |= count(&mut value, &path);
    }
    if kind.kind == "CustomResourceDefinition" {
        changed |= names(&mut value);
    }
    if changed {
        let mut filled = object.desc().new_object();
        if json::from_value(&value, &mut *filled, false).is_ok() {
            for field in ["spec", "webhooks"].into_iter() {
                // Assigning a field that the kind doesn't have does nothing.
                object.assign(field, &*filled);
            }
        }
    }
    true
}

/// Sets what is absent, and says whether it did.
fn fill(value: &mut Value, steps: &[&str], default: &Value) -> bool {
    match steps {
        ["[]", rest @ ..] => {
            let items = value.as_array_mut().map(|list| list.make().iter_mut());
            let mut changed = false;
            items.into_iter().flatten().for_each(|item| changed |= fill(item, rest, default));
            changed
        }
        [last] => {
            let (name, plain) = last.strip_suffix('!').map_or((*last, false), |name| (name, true));
            let Value::Object(map) = value else { return false };
            let absent = |value: &Value| value.is_null() || plain && *value == Value::Int(0);
            let fills = map.get(name).is_none_or(absent);
            if fills {
                map.insert(name, default.clone());
            }
            fills
        }
        [first, rest @ ..] => {
            let inner = value.as_object_mut().filter(|map| map.get(first).is_some());
            inner.is_some_and(|map| fill(map.entry(*first, || Value::Null), rest, default))
        }
        [] => false,
    }
}

/// A request for an exact count is for one device unless it says otherwise.
fn count(value: &mut Value, steps: &[&str]) -> bool {
    match (steps, value) {
        (_, Value::Array(list)) => {
            let rest = steps.strip_prefix(&["[]"]).unwrap_or(steps);
            let mut changed = false;
            list.make().iter_mut().for_each(|item| changed |= count(item, rest));
            changed
        }
        ([first, rest @ ..], Value::Object(map)) => {
            map.get(first).is_some() && count(map.entry(*first, || Value::Null), rest)
        }
        ([], Value::Object(map)) => {
            let exact = map.get("allocationMode").and_then(Value::as_str) == Some("ExactCount");
            let fills = exact && map.get("count").and_then(Value::as_i64).unwrap_or_default() == 0;
            if fills {
                map.insert("count", Value::Int(1));
            }
            fills
        }
        _ => false,
    }
}

/// A custom resource is called after its kind where it isn't said otherwise.
fn names(value: &mut Value) -> bool {
    let kind = value.str_at(&["spec", "names", "kind"]).to_string();
    let mut changed = false;
    for (name, default) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if !kind.is_empty() && value.str_at(&["spec", "names", name]).is_empty() {
            value.set_at(&["spec", "names", name], Value::from(default));
            changed = true;
        }
    }
    changed
}
