//! FlowSchemas and PriorityLevelConfigurations (flowcontrol's validation).

use super::at::{At, Errors};
use super::internal::Internal;
use super::metadata;
use super::tree::{Tree, Write, star};
use crate::json::Value;
use crate::object::Ref;
use crate::{field, names};

const PRECEDENCE_MAX: i64 = 10_000;
const QUEUES_MAX: i64 = 10_000_000;
/// Bits of the hash that deals queues to flows.
const HASH_BITS: u32 = 60;
const VERBS: [&str; 9] = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
/// Objects that the server keeps as they are.
const FIXED_SCHEMAS: [(&str, &str); 2] = [
    (
        "exempt",
        r#"{"matchingPrecedence":1,"priorityLevelConfiguration":{"name":"exempt"},"rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],"resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:masters"},"kind":"Group"}]}]}"#,
    ),
    (
        "catch-all",
        r#"{"distinguisherMethod":{"type":"ByUser"},"matchingPrecedence":10000,"priorityLevelConfiguration":{"name":"catch-all"},"rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],"resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:unauthenticated"},"kind":"Group"},{"group":{"name":"system:authenticated"},"kind":"Group"}]}]}"#,
    ),
];
const FIXED_CATCH_ALL_LEVEL: &str = r#"{"limited":{"lendablePercent":0,"limitResponse":{"type":"Reject"},"nominalConcurrencyShares":5},"type":"Limited"}"#;

fn differs(spec: Tree, fixed: &str) -> bool {
    Value::parse(fixed).is_ok_and(|fixed| *spec.value() != fixed)
}

/// `spec` as the server's own type shows it.
fn invalid_spec(write: &Write, why: String, errors: &mut Errors) {
    if let Some(Ref::Struct(spec)) = write.object.field("spec") {
        errors.invalid(&At::new("spec"), Internal(spec), why);
    }
}

/// A new or changed FlowSchema, or its status.
pub(super) fn schema(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        return conditions(write.new, errors);
    }
    write.whole_metadata(metadata::subdomain, errors);
    let name = write.new.get("metadata").get("name").text();
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let precedence = spec.get("matchingPrecedence").int();
    let at_precedence = &at.child("matchingPrecedence");
    if precedence <= 0 {
        errors.invalid(at_precedence, precedence, "must be a positive value");
    }
    if precedence > PRECEDENCE_MAX {
        errors.invalid(at_precedence, precedence, format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if precedence == 1 && name != "exempt" {
        errors.invalid(at_precedence, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    let method = spec.get("distinguisherMethod");
    if method.exists() && !matches!(method.get("type").text(), "ByNamespace" | "ByUser") {
        let at = at.child("distinguisherMethod");
        let shown = format!("{{\"Type\":{}}}", method.get("type").value().to_json());
        let valid = ["ByNamespace", "ByUser"];
        let mut error = field::not_supported(&at.child("type").path(), "", &valid);
        error.value = Some(shown);
        errors.push(error);
    }
    let level = spec.get("priorityLevelConfiguration").get("name").text();
    let at_level = at.child("priorityLevelConfiguration");
    if level.is_empty() {
        errors.required(&at_level.child("name"), "must reference a priority level");
    } else {
        errors.each(&at_level.child("name"), level, names::dns1123_subdomain(level));
    }
    for (i, rule) in spec.get("rules").items().enumerate() {
        rules(rule, &at.child("rules").index(i), errors);
    }
    if let Some((_, fixed)) = FIXED_SCHEMAS.iter().find(|(fixed, _)| *fixed == name)
        && differs(spec, fixed)
    {
        invalid_spec(write, format!("spec of '{name}' must equal the fixed value"), errors);
    }
    conditions(write.new, errors);
}

fn conditions(object: Tree, errors: &mut Errors) {
    let status = At::new("status");
    let at = status.child("conditions");
    let mut seen: Vec<&str> = Vec::new();
    for (i, condition) in object.get("status").get("conditions").items().enumerate() {
        let kind = condition.get("type").text();
        let at = at.index(i);
        let at = &at.child("type");
        if seen.contains(&kind) {
            errors.duplicate(at, kind);
        }
        seen.push(kind);
        errors.need(at, kind);
    }
}

fn rules(rule: Tree, at: &At, errors: &mut Errors) {
    let subjects = &at.child("subjects");
    if rule.get("subjects").is_empty() {
        errors.required(subjects, "subjects must contain at least one value");
    }
    for (i, s) in rule.get("subjects").items().enumerate() {
        subject(s, &subjects.index(i), errors);
    }
    if rule.get("resourceRules").is_empty() && rule.get("nonResourceRules").is_empty() {
        errors.required(at, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    for (i, r) in rule.get("resourceRules").items().enumerate() {
        resource_rule(r, &at.child("resourceRules").index(i), errors);
    }
    for (i, r) in rule.get("nonResourceRules").items().enumerate() {
        non_resource_rule(r, &at.child("nonResourceRules").index(i), errors);
    }
}

/// The kinds of subjects, the field that describes each, and whether its name must be given.
const SUBJECTS: [(&str, &str); 3] = [("Group", "group"), ("ServiceAccount", "serviceAccount"), ("User", "user")];

fn subject(subject: Tree, at: &At, errors: &mut Errors) {
    let kind = subject.get("kind").text();
    let Some((_, own)) = SUBJECTS.iter().find(|(k, _)| *k == kind) else {
        return errors.not_supported(&at.child("kind"), kind, &SUBJECTS.map(|(kind, _)| kind));
    };
    let (described, at_own) = (subject.get(own), &at.child(own));
    if !described.exists() {
        errors.required(at_own, format!("{own} is required when subject kind is '{kind}'"));
    } else {
        let (name, at_name) = (described.get("name").text(), &at_own.child("name"));
        errors.need(at_name, name);
        if kind == "ServiceAccount" {
            if !name.is_empty() && name != "*" {
                errors.each(at_name, name, names::dns1123_subdomain(name));
            }
            let (namespace, at) = (described.get("namespace").text(), &at_own.child("namespace"));
            if namespace.is_empty() {
                errors.required(at, "must specify namespace for service account");
            } else {
                errors.each(at, namespace, names::dns1123_label(namespace));
            }
        }
    }
    for other in ["serviceAccount", "user", "group"].into_iter().filter(|other| other != own) {
        if subject.get(other).exists() {
            let kind = SUBJECTS.iter().find(|(_, field)| *field == other).map_or("", |(kind, _)| kind);
            errors.forbidden(&at.child(other), format!("{other} is forbidden when subject kind is not '{kind}'"));
        }
    }
}

fn verbs(rule: Tree, at: &At, errors: &mut Errors) {
    let (verbs, at) = (rule.get("verbs"), &at.child("verbs"));
    if verbs.is_empty() {
        errors.required(at, "verbs must contain at least one value");
    } else if !star(verbs, "verbs", at, errors) && !verbs.texts().iter().all(|verb| VERBS.contains(verb)) {
        errors.not_supported(at, verbs, &VERBS);
    }
}

fn resource_rule(rule: Tree, at: &At, errors: &mut Errors) {
    verbs(rule, at, errors);
    for (field, one, many) in [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")] {
        let (values, at) = (rule.get(field), &at.child(field));
        if values.is_empty() {
            errors.required(at, format!("resource rules must supply at least one {one}"));
        }
        star(values, many, at, errors);
    }
    let (namespaces, at) = (rule.get("namespaces"), &at.child("namespaces"));
    if namespaces.is_empty() && !rule.get("clusterScope").is_true() {
        errors.required(at, "resource rules that are not cluster scoped must supply at least one namespace");
    } else if !star(namespaces, "namespaces", at, errors) {
        for (i, namespace) in namespaces.texts().into_iter().enumerate() {
            for why in names::dns1123_label(namespace) {
                let why = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                errors.invalid(&at.index(i), namespace, why);
            }
        }
    }
}

fn non_resource_rule(rule: Tree, at: &At, errors: &mut Errors) {
    verbs(rule, at, errors);
    let (urls, at) = (rule.get("nonResourceURLs"), &at.child("nonResourceURLs"));
    if urls.is_empty() {
        errors.required(at, "nonResourceURLs must contain at least one value");
    } else if !star(urls, "non-resource URLs", at, errors) {
        for (i, url) in urls.texts().into_iter().enumerate() {
            if let Some(why) = wrong_url(url) {
                errors.invalid(&at.index(i), url, why);
            }
        }
    }
}

/// `ValidateNonResourceURLPath`
fn wrong_url(url: &str) -> Option<&'static str> {
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !url.starts_with('/') => Some("must start with slash"),
        _ if url.contains(' ') => Some("must not contain white-space"),
        _ if url.contains("//") => Some("must not contain double slash"),
        _ => {
            let stars = url.matches('*').count();
            (stars > 1 || stars == 1 && !url.ends_with("/*")).then_some("wildcard can only do suffix matching")
        }
    }
}

/// A new or changed PriorityLevelConfiguration, or its status.
pub(super) fn level(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        return conditions(write.new, errors);
    }
    write.whole_metadata(metadata::subdomain, errors);
    let meta = write.new.get("metadata");
    if meta.get("annotations").get(PRESERVE_ZERO).exists() {
        let at = At::new("metadata");
        errors.forbidden(&at.child("annotations"), format!("annotation '{PRESERVE_ZERO}' is forbidden"));
    }
    let name = meta.get("name").text();
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let (kind, at_kind) = (spec.get("type").text(), &at.child("type"));
    if (name == "exempt") != (kind == "Exempt") {
        errors.invalid(at_kind, kind, "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    let (limited, exempt) = (spec.get("limited"), spec.get("exempt"));
    match kind {
        "Exempt" => shares(exempt, &at.child("exempt"), errors),
        "Limited" if limited.exists() => {
            let at = &at.child("limited");
            let number = limited.get("nominalConcurrencyShares");
            if number.int() < 0 {
                let why = "must be a non-negative integer";
                errors.invalid(&at.child("nominalConcurrencyShares"), number.int(), why);
            }
            queuing(limited.get("limitResponse"), &at.child("limitResponse"), errors);
            percent(limited, at, errors);
            let borrowing = limited.get("borrowingLimitPercent").int();
            if borrowing < 0 {
                let why = "if specified, must be a non-negative integer";
                errors.invalid(&at.child("borrowingLimitPercent"), borrowing, why);
            }
        }
        "" | "Limited" => {}
        _ => errors.not_supported(at_kind, kind, &["Exempt", "Limited"]),
    }
    if name == "exempt" {
        if limited.exists() || kind != "Exempt" {
            let why = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";
            invalid_spec(write, why.to_string(), errors);
        }
    } else if name == "catch-all" && differs(spec, FIXED_CATCH_ALL_LEVEL) {
        invalid_spec(write, "spec of 'catch-all' must equal the fixed value".to_string(), errors);
    }
    conditions(write.new, errors);
    if write.old.get("spec") != spec {
        declared_union(kind, "Limited", limited, &at.child("limited"), errors);
        if kind == "Limited" && exempt.exists() {
            errors.declared(field::forbidden(&at.child("exempt").path(), ""));
        }
        if kind.is_empty() {
            errors.declared_required(at_kind);
        }
        if limited.exists() && limited != write.old.get("spec").get("limited") {
            let at = at.child("limited");
            let at = &at.child("limitResponse");
            let response = limited.get("limitResponse");
            let kind = response.get("type").text();
            declared_union(kind, "Queue", response.get("queuing"), &at.child("queuing"), errors);
            if kind.is_empty() {
                errors.declared_required(&at.child("type"));
            }
        }
    }
}

/// A field that is required for one type and forbidden for all others.
fn declared_union(kind: &str, of: &str, member: Tree, at: &At, errors: &mut Errors) {
    if kind == of {
        if !member.exists() {
            errors.declared_required(at);
        }
    } else if member.exists() {
        errors.declared(field::forbidden(&at.path(), ""));
    }
}

fn percent(level: Tree, at: &At, errors: &mut Errors) {
    let lendable = level.get("lendablePercent").int();
    if !(0..=100).contains(&lendable) {
        errors.invalid(&at.child("lendablePercent"), lendable, "must be between 0 and 100, inclusive");
    }
}

fn shares(level: Tree, at: &At, errors: &mut Errors) {
    let shares = level.get("nominalConcurrencyShares").int();
    if shares < 0 {
        errors.invalid(&at.child("nominalConcurrencyShares"), shares, "must be a non-negative integer");
    }
    percent(level, at, errors);
}

fn queuing(response: Tree, at: &At, errors: &mut Errors) {
    match response.get("type").text() {
        "Queue" => {}
        "" | "Reject" => return,
        kind => return errors.not_supported(&at.child("type"), kind, &["Queue", "Reject"]),
    }
    let (queuing, at) = (response.get("queuing"), &at.child("queuing"));
    if !queuing.exists() {
        return;
    }
    let (length, queues, hand) =
        (queuing.get("queueLengthLimit").int(), queuing.get("queues").int(), queuing.get("handSize").int());
    if length <= 0 {
        errors.invalid(&at.child("queueLengthLimit"), length, "must be positive");
    }
    let at_queues = &at.child("queues");
    if queues <= 0 {
        errors.invalid(at_queues, queues, "must be positive");
    } else if queues > QUEUES_MAX {
        errors.invalid(at_queues, queues, format!("must not be greater than {QUEUES_MAX}"));
    }
    let at_hand = &at.child("handSize");
    if hand <= 0 {
        errors.invalid(at_hand, hand, "must be positive");
    } else if hand > queues {
        errors.invalid(at_hand, hand, format!("should not be greater than queues ({queues})"));
    } else if too_many_hands(queues, hand) {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        );
        errors.invalid(at_hand, hand, why);
    }
}

/// Whether the hands dealt from so many queues outnumber the hashes.
fn too_many_hands(queues: i64, hand: i64) -> bool {
    let hands = u128::try_from(queues).unwrap_or(0).saturating_pow(u32::try_from(hand).unwrap_or(u32::MAX));
    hands > 1 << HASH_BITS
}
