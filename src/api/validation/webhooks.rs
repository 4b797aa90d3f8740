//! Webhook configurations, and the rules that they share with admission policies (admissionregistration's validation).

use super::at::{At, Errors};
use super::tree::{self, Tree, Write, star};
use super::{labels, metadata};
use crate::cel::{self, Env, Type};
use crate::{SortSmall, names};

pub(super) const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
pub(super) const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const CONDITIONS_MAX: usize = 64;

/// What an update leaves as lax as the old object was.
struct Options {
    conditions: bool,
    no_side_effects: bool,
    known_version: bool,
    unique_names: bool,
    bad_values: bool,
}

/// A new or changed ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
pub(super) fn configuration(write: &Write, errors: &mut Errors) {
    let options = options(write);
    write.whole_metadata(metadata::subdomain, errors);
    let at = At::new("webhooks");
    let mut names: Vec<&str> = Vec::new();
    for (i, hook) in write.new.get("webhooks").items().enumerate() {
        let at = &at.index(i);
        webhook(hook, &options, at, errors);
        review_versions(hook.get("admissionReviewVersions"), options.known_version, at, errors);
        let name = hook.get("name").text();
        if options.unique_names && !name.is_empty() {
            if names.contains(&name) {
                errors.duplicate(&at.child("name"), name);
            }
            names.push(name);
        }
    }
}

fn options(write: &Write) -> Options {
    let (new, old) = (write.new.get("webhooks"), write.old.get("webhooks"));
    if write.before.is_none() {
        return Options {
            conditions: true,
            no_side_effects: true,
            known_version: true,
            unique_names: true,
            bad_values: false,
        };
    }
    let mut names: Vec<&str> = old.items().map(|hook| hook.get("name").text()).collect();
    names.sort_small();
    let bad = |selector: Tree| selector.exists() && labels::has_bad_value(&crate::Ptr::some(selector.typed()));
    Options {
        conditions: new.len() != old.len()
            || new.items().zip(old.items()).any(|(new, old)| new.get("matchConditions") != old.get("matchConditions")),
        no_side_effects: old.items().all(|hook| NO_SIDE_EFFECTS.contains(&hook.get("sideEffects").text())),
        known_version: old
            .items()
            .map(|hook| hook.get("admissionReviewVersions").texts())
            .all(|versions| versions.is_empty() || versions.iter().any(|version| REVIEW_VERSIONS.contains(version))),
        unique_names: names.windows(2).all(|pair| pair.first() != pair.last()),
        bad_values: old.items().any(|hook| bad(hook.get("namespaceSelector")) || bad(hook.get("objectSelector"))),
    }
}

fn webhook(hook: Tree, options: &Options, at: &At, errors: &mut Errors) {
    qualified(hook.get("name").text(), &at.child("name"), errors);
    for (i, rule) in hook.get("rules").items().enumerate() {
        rule_with_operations(rule, &at.child("rules").index(i), errors);
    }
    optional_one_of(hook, "failurePolicy", &FAILURE_POLICIES, at, errors);
    optional_one_of(hook, "matchPolicy", &MATCH_POLICIES, at, errors);
    let allowed: &[&str] = if options.no_side_effects { &NO_SIDE_EFFECTS } else { &SIDE_EFFECTS };
    if !hook.get("sideEffects").exists() {
        errors.required(&at.child("sideEffects"), format!("must specify one of {}", allowed.join(", ")));
    }
    optional_one_of(hook, "sideEffects", allowed, at, errors);
    if let Some(seconds) = hook.get("timeoutSeconds").optional_int()
        && !(1..=30).contains(&seconds)
    {
        errors.invalid(&at.child("timeoutSeconds"), seconds, "the timeout value must be between 1 and 30 seconds");
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if hook.get(field).exists() {
            tree::selector(hook.get(field), options.bad_values, &at.child(field), errors);
        }
    }
    optional_one_of(hook, "reinvocationPolicy", &REINVOCATION_POLICIES, at, errors);
    let (config, at_config) = (hook.get("clientConfig"), &at.child("clientConfig"));
    match (config.get("url").optional_text(), config.get("service").exists()) {
        (Some(url), false) => webhook_url(url, &at_config.child("url"), errors),
        (None, true) => webhook_service(config.get("service"), &at_config.child("service"), errors),
        _ => errors.required(at_config, "exactly one of url or service is required"),
    }
    if options.conditions {
        let env = Env { authorizer: true, ..Env::default() };
        match_conditions(hook.get("matchConditions"), &env, &at.child("matchConditions"), errors);
    }
}

/// `Unsupported value` of a field that may be left out.
pub(super) fn optional_one_of(object: Tree, field: &str, valid: &[&str], at: &At, errors: &mut Errors) {
    if let Some(value) = object.get(field).optional_text() {
        errors.one_of(&at.child(field), value, valid);
    }
}

/// `IsFullyQualifiedName`
fn qualified(name: &str, at: &At, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    let wrong = names::dns1123_subdomain(name);
    if !wrong.is_empty() {
        return errors.invalid(at, name, wrong.join(","));
    }
    if name.split('.').count() < 3 {
        errors.invalid(at, name, "should be a domain with at least three segments separated by dots");
    }
}

/// Operations, groups, versions and resources (`validateRuleWithOperations`).
pub(super) fn rule_with_operations(rule: Tree, at: &At, errors: &mut Errors) {
    let (operations, at_operations) = (rule.get("operations"), &at.child("operations"));
    if operations.is_empty() {
        errors.required(at_operations, "");
    }
    star(operations, "operations", at_operations, errors);
    for (i, operation) in operations.texts().into_iter().enumerate() {
        errors.one_of(&at_operations.index(i), operation, &OPERATIONS);
    }
    for (field, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let (values, at) = (rule.get(field), &at.child(field));
        if values.is_empty() {
            errors.required(at, "");
        }
        star(values, what, at, errors);
        if field == "apiVersions" {
            for (i, version) in values.texts().into_iter().enumerate() {
                errors.need(&at.index(i), version);
            }
        }
    }
    resources(rule.get("resources"), &at.child("resources"), errors);
    optional_one_of(rule, "scope", &SCOPES, at, errors);
}

/// `pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale` (`validateResources`).
fn resources(resources: Tree, at: &At, errors: &mut Errors) {
    if resources.is_empty() {
        errors.required(at, "");
    }
    let (mut all_of, mut of_all): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut without_subresource = false;
    let texts = resources.texts();
    for (i, resource) in texts.iter().enumerate() {
        let at = &at.index(i);
        if resource.is_empty() {
            errors.required(at, "");
            continue;
        }
        let Some((name, subresource)) = resource.split_once('/') else {
            without_subresource = *resource != "*";
            continue;
        };
        if all_of.contains(&name) {
            errors.invalid(at, *resource, format!("if '{name}/*' is present, must not specify {resource}"));
        }
        if of_all.contains(&subresource) {
            errors.invalid(at, *resource, format!("if '*/{subresource}' is present, must not specify {resource}"));
        }
        if subresource == "*" {
            all_of.push(name);
        }
        if name == "*" {
            of_all.push(subresource);
        }
    }
    if texts.len() > 1 && texts.contains(&"*/*") {
        errors.invalid(at, resources, "if '*/*' is present, must not specify other resources");
    }
    if texts.contains(&"*") && without_subresource {
        errors.invalid(at, resources, "if '*' is present, must not specify other resources without subresources");
    }
}

fn review_versions(versions: Tree, known: bool, at: &At, errors: &mut Errors) {
    let at = &at.child("admissionReviewVersions");
    let texts = versions.texts();
    if texts.is_empty() {
        return errors.required(at, format!("must specify one of {}", REVIEW_VERSIONS.join(", ")));
    }
    for (i, version) in texts.iter().enumerate() {
        if texts.iter().take(i).any(|before| before == version) {
            errors.invalid(&at.index(i), *version, "duplicate version");
        } else {
            errors.each(&at.index(i), version, names::dns1035_label(version));
        }
    }
    if known && !texts.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        errors.invalid(at, versions, format!("must include at least one of {}", REVIEW_VERSIONS.join(", ")));
    }
}

/// Compiles an expression, whose type it gives: what is shown, what is compiled.
pub(super) fn compiled(env: &Env, shown: &str, text: &str, wanted: &[Type], at: &At, errors: &mut Errors) -> Type {
    match cel::compile(env, text, wanted) {
        Ok(program) => return program.of,
        Err(cel::CompileError::Invalid(why)) => errors.invalid(at, shown, &*why),
        Err(cel::CompileError::Internal(why)) => errors.push(crate::field::internal(&at.path(), why)),
    }
    Type::Dyn
}

/// `matchConditions`
pub(super) fn match_conditions(conditions: Tree, env: &Env, at: &At, errors: &mut Errors) {
    if conditions.len() > CONDITIONS_MAX {
        errors.too_many(at, conditions.len(), CONDITIONS_MAX);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, condition) in conditions.items().enumerate() {
        let at = &at.index(i);
        let (expression, at_expression) = (condition.get("expression").text(), &at.child("expression"));
        let trimmed = expression.trim();
        errors.need(at_expression, trimmed);
        if !trimmed.is_empty() {
            compiled(env, trimmed, trimmed, &[Type::Bool], at_expression, errors);
        }
        let (name, at) = (condition.get("name").text(), &at.child("name"));
        if name.is_empty() {
            errors.required(at, "");
            continue;
        }
        labels::key(name, at, errors);
        if seen.contains(&name) {
            errors.duplicate(at, name);
        }
        seen.push(name);
    }
}

/// A URL that a webhook is called at (`ValidateWebhookURL`).
pub(super) fn webhook_url(url: &str, at: &At, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(url) {
        Ok(url) => url,
        Err(why) => {
            let url = crate::go::quote(url);
            return errors.required(at, format!("url must be a valid URL: parse {url}: {why}{FORM}"));
        }
    };
    if url.scheme != "https" {
        errors.invalid(at, url.scheme.as_str(), format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        errors.invalid(at, url.host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = url.user {
        errors.invalid(at, user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        errors.invalid(at, url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        errors.invalid(at, url.query, "query parameters are not permitted in the URL");
    }
}

/// The parts of a URL, as far as they are looked at (Go's `net/url`).
struct Url<'a> {
    scheme: String,
    user: Option<&'a str>,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> Url<'a> {
    fn parse(url: &'a str) -> Result<Url<'a>, String> {
        if url.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_string());
        }
        let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
        let (scheme, rest) = Self::scheme(rest)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = Url { scheme, user: None, host: "", query, fragment };
        let Some(rest) = rest.strip_prefix("//") else {
            let first = rest.split('/').next().unwrap_or(rest);
            if parts.scheme.is_empty() && !rest.starts_with('/') && first.contains(':') {
                return Err("first path segment in URL cannot contain colon".to_string());
            }
            Self::escapes(rest)?;
            return Ok(parts);
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Self::escapes(path)?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if let Some(bad) =
            host.chars().find(|c| matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'))
        {
            return Err(format!("invalid character {} in host name", crate::go::quote(&bad.to_string())));
        }
        if !host.starts_with('[')
            && let Some((_, port)) = host.split_once(':')
        {
            let last = host.rsplit_once(':').map_or(port, |(_, port)| port);
            if !last.bytes().all(|b| b.is_ascii_digit()) {
                return Err(format!("invalid port {} after host", crate::go::quote(&format!(":{last}"))));
            }
        }
        (parts.user, parts.host) = (user, host);
        Ok(parts)
    }

    fn scheme(url: &str) -> Result<(String, &str), String> {
        for (i, c) in url.char_indices() {
            match c {
                'a'..='z' | 'A'..='Z' => {}
                '0'..='9' | '+' | '-' | '.' if i > 0 => {}
                ':' if i == 0 => return Err("missing protocol scheme".to_string()),
                ':' => {
                    let (scheme, rest) = url.split_at(i);
                    return Ok((scheme.to_ascii_lowercase(), rest.get(1..).unwrap_or_default()));
                }
                _ => break,
            }
        }
        Ok((String::new(), url))
    }

    fn escapes(path: &str) -> Result<(), String> {
        let bytes = path.as_bytes();
        for (i, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'%') {
            let escape = path.get(i..i + 3).unwrap_or_else(|| path.get(i..).unwrap_or_default());
            if escape.len() < 3 || !escape.bytes().skip(1).all(|b| b.is_ascii_hexdigit()) {
                return Err(format!("invalid URL escape {}", crate::go::quote(escape)));
            }
        }
        Ok(())
    }
}

/// A Service that is called (`ValidateWebhookService`).
pub(super) fn webhook_service(service: Tree, at: &At, errors: &mut Errors) {
    // Kubernetes hands the two over the other way around.
    let (name, namespace) = (service.get("namespace").text(), service.get("name").text());
    errors.need(&at.child("name"), name);
    errors.need(&at.child("namespace"), namespace);
    let port = service.get("port").int();
    let wrong = names::port_number(port);
    if !wrong.is_empty() {
        errors.invalid(&at.child("port"), port, format!("port is not valid: {}", wrong.join(", ")));
    }
    let Some(path) = service.get("path").optional_text() else { return };
    let at = &at.child("path");
    match path {
        "" | "/" => return,
        "//" => return errors.invalid(at, path, "segment[0] may not be empty"),
        _ => {}
    }
    if !path.starts_with('/') {
        errors.invalid(at, path, "must start with a '/'");
    }
    let mut rest = path.char_indices().nth(1).map_or("", |(i, _)| path.get(i..).unwrap_or_default());
    rest = rest.strip_suffix('/').unwrap_or(rest);
    for (i, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(at, path, format!("segment[{i}] may not be empty"));
        } else {
            for why in names::dns1123_subdomain(step) {
                errors.invalid(at, path, format!("segment[{i}]: {why}"));
            }
        }
    }
}
