//! What dynamic resource allocation adds: DeviceClasses, ResourceClaims and their templates, ResourceSlices,
//! DeviceTaintRules (resource's validation). What expressions may cost is not estimated.

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::tree::{self, Tree, Write};
use super::{conditions, labels, metadata, pod};
use crate::cel::CompileError;
use crate::json::Value;
use crate::object::Ref;
use crate::{field, names};

const SELECTORS_MAX: usize = 32;
const REQUESTS_MAX: usize = 32;
const SUBREQUESTS_MAX: usize = 8;
const EXPRESSION_MAX: usize = 10 * 1024;
const PARAMETERS_MAX: usize = 10 * 1024;
const DEVICES_MAX: usize = 128;
/// Where devices have taints, counters or lists of attributes.
const DEVICES_MAX_ADVANCED: usize = 64;
const ATTRIBUTES_MAX: usize = 32;
const TAINTS_MAX: usize = 16;
const TEXT_MAX: usize = 64;
const ID_MAX: usize = 32;
const POOL_MAX: usize = 253;
const CONDITIONS_MAX: usize = 8;
const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];
const MODES: [&str; 2] = ["All", "ExactCount"];
const NAME_OF_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/// A new or changed DeviceClass.
pub(super) fn class(write: &Write, errors: &mut Errors) {
    write.whole_metadata(metadata::subdomain, errors);
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    selectors(spec.get("selectors"), &at.child("selectors"), errors);
    each(spec.get("config"), REQUESTS_MAX, &at.child("config"), errors, |config, at, errors| {
        configuration(config, at, errors);
        declared_configuration(config, at, errors);
    });
    if let Some(name) = spec.get("extendedResourceName").optional_text() {
        extended_name(name, &at.child("extendedResourceName"), errors);
    }
}

/// `ExtendedResourceName`, a declared rule.
fn extended_name(name: &str, at: &At, errors: &mut Errors) {
    let mut wrong = |why: String| errors.declared(field::invalid(&at.path(), name, why));
    if !name.contains('/') {
        wrong("a name must be a domain-prefixed path, such as 'example.com/my-prop'".to_string());
    } else if name.contains("kubernetes.io/") {
        wrong("must not have \"kubernetes.io/\" domain".to_string());
    }
    if name.starts_with("requests.") {
        wrong("must not have \"requests.\" prefix".to_string());
    }
    for why in names::qualified_name(&format!("requests.{name}")) {
        wrong(why);
    }
}

/// At most so many items, each looked at.
fn each(list: Tree, max: usize, at: &At, errors: &mut Errors, check: fn(Tree, &At, &mut Errors)) {
    for (i, item) in list.items().enumerate() {
        check(item, &at.index(i), errors);
    }
    if list.len() > max {
        errors.declared(field::too_many(&at.path(), list.len(), max));
    }
}

fn selectors(list: Tree, at: &At, errors: &mut Errors) {
    each(list, SELECTORS_MAX, at, errors, |selector, at, errors| {
        let at = &at.child("cel");
        if !selector.get("cel").exists() {
            errors.required(at, "");
        } else if selector.get("cel").get("expression").text().len() > EXPRESSION_MAX {
            errors.too_long(&at.child("expression"), EXPRESSION_MAX);
        } else {
            let (text, at) = (selector.get("cel").get("expression").text(), &at.child("expression"));
            match crate::cel::device::estimated(text) {
                Ok(program) if program.most > crate::cel::device::MOST => {
                    errors.forbidden(at, "too complex, exceeds cost limit");
                }
                Ok(_) => {}
                Err(CompileError::Invalid(why)) => errors.invalid(at, text, &*why),
                Err(CompileError::Internal(why)) => errors.push(field::internal(&at.path(), why)),
            }
        }
    });
}

fn configuration(config: Tree, at: &At, errors: &mut Errors) {
    let (opaque, at) = (config.get("opaque"), &at.child("opaque"));
    if !opaque.exists() {
        return errors.required(at, "");
    }
    let (parameters, at_parameters) = (opaque.get("parameters"), &at.child("parameters"));
    match parameters.value() {
        Value::Null => errors.required(at_parameters, ""),
        Value::Object(_) if parameters.value().to_json().len() > PARAMETERS_MAX => {
            errors.too_long(at_parameters, PARAMETERS_MAX);
        }
        Value::Object(_) => {}
        _ => errors.invalid(at_parameters, "<value omitted>", "must be a valid JSON object"),
    }
}

/// A driver's name, which declared rules look at.
fn declared_configuration(config: Tree, at: &At, errors: &mut Errors) {
    let opaque = config.get("opaque");
    if !opaque.exists() {
        return;
    }
    let (name, at) = (opaque.get("driver").text(), at.child("opaque"));
    let at = &at.child("driver");
    if name.is_empty() {
        return errors.declared_required(at);
    }
    for why in names::dns1123_subdomain_caseless(name) {
        errors.declared(field::invalid(&at.path(), name, why));
    }
    if name.chars().count() > 63 {
        errors.declared(field::too_long_characters(&at.path(), 63));
    }
}

/// A new or changed ResourceClaim, or its status.
pub(super) fn claim(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        write.metadata(metadata::subdomain, errors);
        return status(write, errors);
    }
    write.whole_metadata(metadata::subdomain, errors);
    let at = &At::new("spec");
    if write.before.is_some() {
        errors.declared_immutable(at, &write.new.get("spec"), &write.old.get("spec"));
    } else {
        claim_spec(write.object.field("spec"), write.new.get("spec"), at, errors);
    }
}

/// A new or changed ResourceClaimTemplate.
pub(super) fn template(write: &Write, errors: &mut Errors) {
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let object = match write.object.field("spec") {
        Some(Ref::Struct(spec)) => Some(spec),
        _ => None,
    };
    write.whole_metadata(metadata::subdomain, errors);
    let at_metadata = &at.child("metadata");
    let meta: crate::meta_v1::ObjectMeta = spec.get("metadata").typed();
    labels::labels(&meta.labels, &at_metadata.child("labels"), errors);
    metadata::annotations(&meta.annotations, &at_metadata.child("annotations"), errors);
    claim_spec(object.and_then(|spec| spec.field("spec")), spec.get("spec"), &at.child("spec"), errors);
    if write.before.is_some()
        && spec != write.old.get("spec")
        && let Some(spec) = object
    {
        errors.invalid(at, Internal(spec), IMMUTABLE);
    }
}

/// `object` is the same as `spec`, to show it.
fn claim_spec(object: Option<Ref>, spec: Tree, at: &At, errors: &mut Errors) {
    let (devices, at) = (spec.get("devices"), &at.child("devices"));
    let shown = |i: usize| -> String { item(object, &["devices", "requests"], i) };
    let requests = devices.get("requests");
    let at_requests = &at.child("requests");
    for (i, request) in requests.items().enumerate() {
        device_request(request, &at_requests.index(i), errors);
    }
    let known: Vec<(&str, Vec<&str>)> = requests
        .items()
        .map(|request| {
            let subrequests = request.get("firstAvailable").items();
            (request.get("name").text(), subrequests.map(|sub| sub.get("name").text()).collect())
        })
        .collect();
    for (i, constraint) in devices.get("constraints").items().enumerate() {
        let at = at.child("constraints");
        let at = &at.index(i);
        references(constraint, &known, at, errors);
        if !constraint.get("matchAttribute").exists() && !constraint.get("distinctAttribute").exists() {
            // The words are Kubernetes' own, whatever they say.
            let why =
                "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
            errors.required(at, why);
        }
    }
    for (i, config) in devices.get("config").items().enumerate() {
        let at = at.child("config");
        let at = &at.index(i);
        references(config, &known, at, errors);
        configuration(config, at, errors);
    }
    declared_requests(requests, at_requests, &shown, object, errors);
    for (i, constraint) in devices.get("constraints").items().enumerate() {
        let at = at.child("constraints");
        let at = &at.index(i);
        unique(constraint.get("requests"), &at.child("requests"), errors);
        for attribute in ["matchAttribute", "distinctAttribute"] {
            if let Some(name) = constraint.get(attribute).optional_text() {
                fully_qualified(name, &at.child(attribute), errors);
            }
        }
    }
    for (i, config) in devices.get("config").items().enumerate() {
        let at = at.child("config");
        let at = &at.index(i);
        unique(config.get("requests"), &at.child("requests"), errors);
        declared_configuration(config, at, errors);
    }
    for (list, max) in [("requests", REQUESTS_MAX), ("constraints", REQUESTS_MAX), ("config", REQUESTS_MAX)] {
        if devices.get(list).len() > max {
            errors.declared(field::too_many(&at.child(list).path(), devices.get(list).len(), max));
        }
    }
}

/// An item of a list in an object, as it shows in an error of a declared rule.
fn item(object: Option<Ref>, path: &[&str], i: usize) -> String {
    match tree::find(object, path) {
        Some(Ref::List(list)) if i < list.len() => field::BadValue::shown(&tree::Shown(Some(list.item(i)))),
        _ => String::new(),
    }
}

fn duplicate(at: &At, shown: String, errors: &mut Errors) {
    let mut error = field::duplicate(&at.path(), "");
    error.value = Some(shown);
    errors.declared(error);
}

/// What the declared rules say of requests.
fn declared_requests(
    requests: Tree,
    at: &At,
    shown: &dyn Fn(usize) -> String,
    object: Option<Ref>,
    errors: &mut Errors,
) {
    let name = |request: &Tree| request.get("name").value().clone();
    let all: Vec<Tree> = requests.items().collect();
    for (i, request) in all.iter().enumerate() {
        if all.iter().take(i).any(|before| name(before) == name(request)) {
            duplicate(&at.index(i), shown(i), errors);
        }
    }
    for (i, request) in all.iter().enumerate() {
        let at = &at.index(i);
        if request.get("exactly").exists() {
            declared_device(request.get("exactly"), &at.child("exactly"), errors);
        }
        let at = &at.child("firstAvailable");
        let subs: Vec<Tree> = request.get("firstAvailable").items().collect();
        if subs.len() > SUBREQUESTS_MAX {
            errors.declared(field::too_many(&at.path(), subs.len(), SUBREQUESTS_MAX));
            continue;
        }
        for (j, sub) in subs.iter().enumerate() {
            if subs.iter().take(j).any(|before| name(before) == name(sub)) {
                let request = requests_item(object, i);
                duplicate(&at.index(j), item(request, &["firstAvailable"], j), errors);
            }
        }
        for (j, sub) in subs.iter().enumerate() {
            let at = &at.index(j);
            let (class, at_class) = (sub.get("deviceClassName").text(), &at.child("deviceClassName"));
            if class.is_empty() {
                errors.declared_required(at_class);
            } else {
                for why in names::declared(names::dns1123_subdomain(class)) {
                    errors.declared(field::invalid(&at_class.path(), class, why));
                }
            }
            declared_device(*sub, at, errors);
        }
    }
}

/// `devices.requests[i]` of a claim's spec.
fn requests_item(object: Option<Ref<'_>>, i: usize) -> Option<Ref<'_>> {
    match tree::find(object, &["devices", "requests"]) {
        Some(Ref::List(list)) if i < list.len() => Some(list.item(i)),
        _ => None,
    }
}

fn declared_device(device: Tree, at: &At, errors: &mut Errors) {
    let mode = device.get("allocationMode").text();
    if !mode.is_empty() {
        errors.declared_one_of(&at.child("allocationMode"), mode, &MODES);
    }
    let at = at.child("tolerations");
    for (i, toleration) in device.get("tolerations").items().enumerate() {
        let at = &at.index(i);
        let (key, at_key) = (toleration.get("key").text(), &at.child("key"));
        if !key.is_empty() {
            for why in names::qualified_name(key) {
                errors.declared(field::invalid(&at_key.path(), key, why));
            }
        }
        let operator = toleration.get("operator").text();
        if operator.is_empty() {
            errors.declared_required(&at.child("operator"));
        } else {
            errors.declared_one_of(&at.child("operator"), operator, &["Equal", "Exists"]);
        }
        if let Some(effect) = toleration.get("effect").optional_text().filter(|effect| !effect.is_empty()) {
            errors.declared_one_of(&at.child("effect"), effect, &EFFECTS);
        }
    }
}

fn device_request(request: Tree, at: &At, errors: &mut Errors) {
    let name = request.get("name").text();
    errors.each(&at.child("name"), name, names::dns1123_label(name));
    let (exactly, first) = (request.get("exactly"), request.get("firstAvailable"));
    match (exactly.exists(), !first.is_empty()) {
        (false, false) => errors.required(at, "exactly one of `exactly` or `firstAvailable` is required"),
        (true, true) => {
            let why = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            errors.invalid(at, Value::Null, why);
        }
        (true, false) => {
            let at = &at.child("exactly");
            let (class, at_class) = (exactly.get("deviceClassName").text(), &at.child("deviceClassName"));
            if class.is_empty() {
                errors.required(at_class, "");
            } else {
                errors.each(at_class, class, names::dns1123_subdomain(class));
            }
            device(exactly, at, errors);
        }
        (false, true) => {
            let at = &at.child("firstAvailable");
            for (i, sub) in first.items().enumerate() {
                let at = &at.index(i);
                let name = sub.get("name").text();
                errors.each(&at.child("name"), name, names::dns1123_label(name));
                device(sub, at, errors);
            }
        }
    }
}

/// What is the same in a request and in a subrequest.
fn device(device: Tree, at: &At, errors: &mut Errors) {
    selectors(device.get("selectors"), &at.child("selectors"), errors);
    let count = device.get("count").int();
    let at_count = &at.child("count");
    match device.get("allocationMode").text() {
        "All" if count != 0 => {
            errors.invalid(at_count, count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" => errors.positive(at_count, count),
        _ => {}
    }
    let at = at.child("tolerations");
    for (i, toleration) in device.get("tolerations").items().enumerate() {
        let (value, at) = (toleration.get("value").text(), at.index(i));
        let at = &at.child("value");
        match toleration.get("operator").text() {
            "Exists" if !value.is_empty() => errors.invalid(at, value, "must be empty for operator `Exists`"),
            "Equal" => errors.each(at, value, names::label_value(value)),
            _ => {}
        }
    }
}

/// The requests that a constraint or a configuration is for.
fn references(of: Tree, known: &[(&str, Vec<&str>)], at: &At, errors: &mut Errors) {
    let at = &at.child("requests");
    for (i, name) in of.get("requests").texts().into_iter().enumerate() {
        let at = &at.index(i);
        let (request, sub) = name.split_once('/').map_or((name, None), |(request, sub)| (request, Some(sub)));
        if sub.is_some_and(|sub| sub.contains('/')) {
            errors.invalid(at, name, NAME_OF_REQUEST);
            continue;
        }
        for part in [Some(request), sub].into_iter().flatten() {
            errors.each(at, part, names::dns1123_label(part));
        }
        let found = known.iter().rfind(|(known, _)| *known == request);
        if !found.is_some_and(|(_, subs)| sub.is_none_or(|sub| subs.contains(&sub))) {
            errors.invalid(at, name, NAME_OF_REQUEST);
        }
    }
}

fn unique(list: Tree, at: &At, errors: &mut Errors) {
    let texts = list.texts();
    if texts.len() > REQUESTS_MAX {
        return errors.declared(field::too_many(&at.path(), texts.len(), REQUESTS_MAX));
    }
    for (i, text) in texts.iter().enumerate() {
        if texts.iter().take(i).any(|before| before == text) {
            errors.declared(field::duplicate(&at.index(i).path(), *text));
        }
    }
}

/// `domain/name`, a declared rule.
fn fully_qualified(name: &str, at: &At, errors: &mut Errors) {
    let mut wrong = |value: &str, why: String| errors.declared(field::invalid(&at.path(), value, why));
    match name.split_once('/') {
        None => {
            for why in names::c_identifier(name) {
                wrong(name, why);
            }
            wrong(name, "a fully qualified name must be a domain and a name separated by a slash".to_string());
        }
        Some((domain, name)) => {
            if domain.is_empty() {
                wrong("", "prefix must not be empty".to_string());
            } else {
                for why in names::declared(names::dns1123_subdomain(domain)) {
                    wrong(domain, format!("prefix: {why}"));
                }
            }
            if name.is_empty() {
                wrong("", "name must not be empty".to_string());
            } else {
                for why in names::c_identifier(name) {
                    wrong(name, why);
                }
            }
        }
    }
}

fn status(write: &Write, errors: &mut Errors) {
    let (new, old, at) = (write.new.get("status"), write.old.get("status"), &At::new("status"));
    let at_reserved = &at.child("reservedFor");
    for (i, user) in new.get("reservedFor").items().enumerate() {
        let at = &at_reserved.index(i);
        for field in ["resource", "name", "uid"] {
            errors.need(&at.child(field), user.get(field).text());
        }
    }
    if !new.get("reservedFor").is_empty() && !new.get("allocation").exists() {
        errors.forbidden(at_reserved, "may not be specified when `allocated` is not set");
    }
    let (now, before) = (new.get("allocation"), old.get("allocation"));
    if now.exists() && before.exists() {
        errors.declared_immutable(&at.child("allocation"), &now, &before);
    }
}

/// A new or changed ResourceSlice.
pub(super) fn slice(write: &Write, errors: &mut Errors) {
    if write.before.is_some() {
        write.metadata(metadata::subdomain, errors);
    } else {
        write.whole_metadata(metadata::subdomain, errors);
    }
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    pod::csi_driver(&spec.get("driver").text().into(), &at.child("driver"), errors);
    let (pool, at_pool) = (spec.get("pool"), &at.child("pool"));
    pool_name(pool.get("name").text(), &at_pool.child("name"), errors);
    errors.positive(&at_pool.child("resourceSliceCount"), pool.get("resourceSliceCount").int());
    let generation = pool.get("generation").int();
    if generation < 0 {
        errors.invalid(&at_pool.child("generation"), generation, "must be greater than or equal to zero");
    }
    if write.before.is_some() {
        let old = write.old.get("spec");
        let mut same = |now: Tree, before: Tree, at: &At| {
            if now != before {
                errors.invalid(at, now, IMMUTABLE);
            }
        };
        same(pool.get("name"), old.get("pool").get("name"), &at_pool.child("name"));
        same(spec.get("driver"), old.get("driver"), &at.child("driver"));
        same(spec.get("nodeName"), old.get("nodeName"), &at.child("nodeName"));
    }
    let mut set = node_choice(spec, "must be either unset or set to a non-empty string", at, errors);
    let selector = spec.get("nodeSelector");
    if selector.exists() && selector.get("nodeSelectorTerms").len() != 1 {
        let at = at.child("nodeSelector");
        let terms: crate::core_v1::NodeSelector = selector.typed();
        let shown = super::internal::List(&terms.node_selector_terms);
        errors.invalid(&at.child("nodeSelectorTerms"), shown, "must have exactly one node selector term");
    }
    truth(spec, "allNodes", &mut set, at, errors);
    truth(spec, "perDeviceNodeSelection", &mut set, at, errors);
    one_choice(
        &set,
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required",
        ", but multiple fields are set",
        at,
        errors,
    );
    if spec.get("sharedCounters").exists() && spec.get("devices").exists() {
        errors.invalid(at, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    devices(write, spec, at, errors);
}

fn pool_name(name: &str, at: &At, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    if name.len() > POOL_MAX {
        errors.too_long(at, POOL_MAX);
    }
    for part in name.split('/') {
        errors.each(at, part, names::dns1123_subdomain(part));
    }
}

/// The fields of these that are set: `nodeName`, `nodeSelector`.
fn node_choice(of: Tree, empty: &str, at: &At, errors: &mut Errors) -> Vec<&'static str> {
    let mut set = Vec::new();
    if let Some(name) = of.get("nodeName").optional_text() {
        let at = &at.child("nodeName");
        if name.is_empty() {
            errors.invalid(at, name, empty);
        } else {
            set.push("`nodeName`");
            errors.each(at, name, names::dns1123_subdomain(name));
        }
    }
    if of.get("nodeSelector").exists() {
        set.push("`nodeSelector`");
        let selector: crate::core_v1::NodeSelector = of.get("nodeSelector").typed();
        pod::node_selector(&selector, false, &at.child("nodeSelector"), errors);
    }
    set
}

fn truth(of: Tree, name: &'static str, set: &mut Vec<&'static str>, at: &At, errors: &mut Errors) {
    if of.get(name).is_true() {
        set.push(if name == "allNodes" { "`allNodes`" } else { "`perDeviceNodeSelection`" });
    } else if of.get(name).exists() {
        errors.invalid(&at.child(name), false, "must be either unset or set to true");
    }
}

fn one_choice(set: &[&str], why: &str, many: &str, at: &At, errors: &mut Errors) {
    match set {
        [] => errors.required(at, why),
        [_] => {}
        _ => errors.invalid(at, format!("{{{}}}", set.join(", ")), format!("{why}{many}")),
    }
}

fn devices(write: &Write, spec: Tree, at: &At, errors: &mut Errors) {
    let per_device = spec.get("perDeviceNodeSelection").is_true();
    let all: Vec<Tree> = spec.get("devices").items().collect();
    let lists = ["bools", "ints", "strings", "versions"];
    let advanced = all.iter().any(|device| {
        !device.get("taints").is_empty()
            || !device.get("consumesCounters").is_empty()
            || device.get("attributes").entries().any(|(_, a)| lists.iter().any(|list| a.get(list).exists()))
    });
    let most = if advanced { DEVICES_MAX_ADVANCED } else { DEVICES_MAX };
    let at = &at.child("devices");
    if all.len() > most {
        errors.too_many(at, all.len(), most);
    }
    for (i, device) in all.iter().enumerate() {
        let at = &at.index(i);
        let name = device.get("name").text();
        let before = write.old.get("spec").get("devices").items().find(|old| old.get("name").text() == name);
        one_device(*device, before, per_device, at, errors);
        if all.iter().take(i).any(|before| before.get("name").text() == name) {
            errors.duplicate(at, name);
        }
    }
    for (i, device) in all.iter().enumerate() {
        let at = at.index(i);
        for (name, attribute) in device.get("attributes").entries() {
            declared_attribute(attribute, &at.child("attributes").key(name), errors);
        }
        for (j, taint) in device.get("taints").items().enumerate() {
            declared_effect(taint, &at.child("taints").index(j), errors);
        }
    }
}

/// The values an attribute may have.
const VALUES: [&str; 8] = ["int", "bool", "string", "version", "ints", "bools", "strings", "versions"];

fn declared_attribute(attribute: Tree, at: &At, errors: &mut Errors) {
    let given: Vec<&str> = VALUES.into_iter().filter(|value| attribute.get(value).exists()).collect();
    let all = VALUES.map(|value| format!("`{value}`")).join(", ");
    match given.len() {
        1 => {}
        0 => errors.declared(field::invalid(&at.path(), "", format!("must specify one of: {all}"))),
        _ => {
            let shown = format!("{{{}}}", given.join(", "));
            errors.declared(field::invalid(&at.path(), shown, format!("must specify exactly one of: {all}")));
        }
    }
}

fn declared_effect(taint: Tree, at: &At, errors: &mut Errors) {
    let (effect, at) = (taint.get("effect").text(), &at.child("effect"));
    if effect.is_empty() {
        errors.declared_required(at);
    } else {
        errors.declared_one_of(at, effect, &EFFECTS);
    }
}

fn one_device(device: Tree, before: Option<Tree>, per_device: bool, at: &At, errors: &mut Errors) {
    let name = device.get("name").text();
    errors.each(&at.child("name"), name, names::dns1123_label(name));
    let (attributes, capacity) = (device.get("attributes"), device.get("capacity"));
    let count = attributes.len() + capacity.len();
    if count > ATTRIBUTES_MAX {
        let why = format!("the total number of attributes and capacities must not exceed {ATTRIBUTES_MAX}");
        errors.invalid(at, count, why);
    }
    let at_attributes = &at.child("attributes");
    for (name, attribute) in attributes.entries() {
        qualified(name, at_attributes, errors);
        let at = &at_attributes.key(name);
        for kind in ["string", "version"] {
            let Some(text) = attribute.get(kind).optional_text() else { continue };
            if kind == "version" && !is_version(text) {
                let why = "must be a string compatible with semver.org spec 2.0.0";
                errors.invalid(&at.child(kind), text, why);
            }
            if text.len() > TEXT_MAX {
                errors.too_long(&at.child(kind), TEXT_MAX);
            }
        }
        for list in ["bools", "ints", "strings", "versions"] {
            if attribute.get(list).exists() && attribute.get(list).is_empty() {
                errors.invalid(&at.child(list), attribute.get(list), "must not be empty if specified");
            }
        }
    }
    let at_capacity = &at.child("capacity");
    if before.is_none_or(|before| before.get("capacity") != capacity) {
        for (name, amount) in capacity.entries() {
            qualified(name, at_capacity, errors);
            if amount.get("requestPolicy").exists() && !device.get("allowMultipleAllocations").is_true() {
                let at = at_capacity.key(name);
                errors.forbidden(&at.child("requestPolicy"), "allowMultipleAllocations must be true");
            }
        }
    }
    let (taints, at_taints) = (device.get("taints"), &at.child("taints"));
    if before.is_none_or(|before| before.get("taints") != taints) {
        if taints.len() > TAINTS_MAX {
            errors.too_many(at_taints, taints.len(), TAINTS_MAX);
        }
        for (i, taint) in taints.items().enumerate() {
            self::taint(taint, &at_taints.index(i), errors);
        }
    }
    let choices = ["nodeName", "nodeSelector", "allNodes"];
    if per_device {
        let mut set = node_choice(device, "must not be empty", at, errors);
        truth(device, "allNodes", &mut set, at, errors);
        let why = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
        one_choice(&set, why, "", at, errors);
    } else if choices.iter().any(|choice| device.get(choice).exists()) {
        let why = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
        errors.invalid(at, Value::Null, why);
    }
}

/// `name` or `domain/name` (`validateQualifiedName`).
fn qualified(name: &str, at: &At, errors: &mut Errors) {
    let parts: Vec<&str> = name.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [domain, name] => {
            if domain.is_empty() {
                errors.invalid(at, "", "the domain must not be empty");
            } else {
                pod::csi_driver(&(*domain).into(), at, errors);
            }
            if name.is_empty() {
                return errors.invalid(at, "", "the name must not be empty");
            }
            name
        }
        _ => return,
    };
    if name.len() > ID_MAX {
        errors.too_long(at, ID_MAX);
    }
    errors.each(at, name, names::c_identifier(name));
}

/// `1.2.3-rc.1+build.5`
fn is_version(text: &str) -> bool {
    let number = |part: &str| {
        part == "0" || !part.is_empty() && !part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit())
    };
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (text, pre) = text.split_once('-').map_or((text, None), |(text, pre)| (text, Some(pre)));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == 3
        && text.split('.').all(number)
        && pre.is_none_or(|pre| pre.split('.').all(|part| word(part) && (!digits(part) || number(part))))
        && build.is_none_or(|build| build.split('.').all(word))
}

fn taint(taint: Tree, at: &At, errors: &mut Errors) {
    labels::key(taint.get("key").text(), &at.child("key"), errors);
    let value = taint.get("value").text();
    errors.each(&at.child("value"), value, names::label_value(value));
}

/// A new or changed DeviceTaintRule, or its status.
pub(super) fn taint_rule(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        write.metadata(metadata::subdomain, errors);
        let (list, at) = (write.new.get("status").get("conditions"), At::new("status"));
        conditions::conditions(list, &at.child("conditions"), errors);
        if list.len() > CONDITIONS_MAX {
            errors.too_many(&at.child("conditions"), list.len(), CONDITIONS_MAX);
        }
        return;
    }
    if write.before.is_some() {
        write.metadata(metadata::subdomain, errors);
    } else {
        write.whole_metadata(metadata::subdomain, errors);
    }
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let (selector, at_selector) = (spec.get("deviceSelector"), &at.child("deviceSelector"));
    if let Some(driver) = selector.get("driver").optional_text() {
        pod::csi_driver(&driver.into(), &at_selector.child("driver"), errors);
    }
    if let Some(pool) = selector.get("pool").optional_text() {
        pool_name(pool, &at_selector.child("pool"), errors);
    }
    if let Some(device) = selector.get("device").optional_text() {
        errors.each(&at_selector.child("device"), device, names::dns1123_label(device));
    }
    let at = &at.child("taint");
    taint(spec.get("taint"), at, errors);
    if write.old.get("spec").get("taint").get("effect") != spec.get("taint").get("effect") || write.before.is_none() {
        declared_effect(spec.get("taint"), at, errors);
    }
}
