//! Admission policies and their bindings (admissionregistration's validation).

use super::at::{At, Errors};
use super::tree::{self, Tree, Write};
use super::webhooks::{
    FAILURE_POLICIES, MATCH_POLICIES, REINVOCATION_POLICIES, compiled, match_conditions, optional_one_of,
    rule_with_operations,
};
use super::{labels, metadata};
use crate::cel::{Env, Type};
use crate::names;

const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
/// What mutating policies can be asked for.
const MUTATING_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const ANNOTATIONS_MAX: usize = 20;
/// Most bytes of an expression that gives an annotation's value.
const VALUE_MAX: usize = 5 * 1024;
/// Words that CEL keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A new or changed ValidatingAdmissionPolicy, or its status.
pub(super) fn validating(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        write.metadata(metadata::subdomain, errors);
        return status(write.new.get("status"), errors);
    }
    write.whole_metadata(metadata::subdomain, errors);
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    head(write, at, errors);
    let mut env = environment(spec);
    variables(spec.get("variables"), &mut env, &at.child("variables"), errors);
    let (validations, annotations) = (spec.get("validations"), spec.get("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        for field in ["validations", "auditAnnotations"] {
            errors.required(&at.child(field), "validations or auditAnnotations must contain at least one item");
        }
        return;
    }
    for (i, v) in validations.items().enumerate() {
        validation(v, &env, &at.child("validations").index(i), errors);
    }
    let at = &at.child("auditAnnotations");
    if annotations.len() > ANNOTATIONS_MAX {
        let why = format!("must not have more than {ANNOTATIONS_MAX} auditAnnotations");
        errors.invalid(at, annotations, why);
    }
    let name = write.new.get("metadata").get("name").text();
    let mut keys: Vec<&str> = Vec::new();
    for (i, annotation) in annotations.items().enumerate() {
        let at = &at.index(i);
        let (key, at_key) = (annotation.get("key").text(), &at.child("key"));
        if name.is_empty() {
            errors.invalid(at_key, key, "requires metadata.name be non-empty");
        } else {
            labels::key(&format!("{name}/{key}"), at_key, errors);
        }
        let (value, at_value) = (annotation.get("valueExpression").text().trim(), &at.child("valueExpression"));
        if value.is_empty() {
            errors.required(at_value, "valueExpression is not specified");
        } else if value.len() > VALUE_MAX {
            errors.required(at_value, format!("must not exceed {VALUE_MAX} bytes in length"));
        } else {
            compiled(&env, annotation.get("valueExpression").text(), value, &[Type::Str, Type::Null], at_value, errors);
        }
        if keys.contains(&key) {
            errors.duplicate(at_key, key);
        }
        keys.push(key);
    }
}

/// A new or changed MutatingAdmissionPolicy.
pub(super) fn mutating(write: &Write, errors: &mut Errors) {
    write.whole_metadata(metadata::subdomain, errors);
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    head(write, at, errors);
    let mut env = environment(spec);
    variables(spec.get("variables"), &mut env, &at.child("variables"), errors);
    env.patches = true;
    let mutations = spec.get("mutations");
    let at_mutations = &at.child("mutations");
    if mutations.is_empty() {
        errors.required(at_mutations, "mutations must contain at least one item");
    }
    for (i, m) in mutations.items().enumerate() {
        mutation(m, &env, &at_mutations.index(i), errors);
    }
    let policy = spec.get("reinvocationPolicy").text();
    errors.required_one_of(&at.child("reinvocationPolicy"), policy, &REINVOCATION_POLICIES);
}

/// What both kinds of policies begin with.
fn head(write: &Write, at: &At, errors: &mut Errors) {
    let (spec, old) = (write.new.get("spec"), write.old.get("spec"));
    if !spec.get("failurePolicy").exists() {
        errors.required(&at.child("failurePolicy"), "");
    }
    optional_one_of(spec, "failurePolicy", &FAILURE_POLICIES, at, errors);
    if spec.get("paramKind").exists() {
        param_kind(spec.get("paramKind"), &at.child("paramKind"), errors);
    }
    let (constraints, at_constraints) = (spec.get("matchConstraints"), &at.child("matchConstraints"));
    if constraints.exists() {
        match_resources(constraints, at_constraints, errors);
        if constraints.get("resourceRules").is_empty() {
            errors.required(&at_constraints.child("resourceRules"), "");
        }
        mutable_operations(write, constraints, at_constraints, errors);
    } else {
        errors.required(at_constraints, "");
    }
    let same = |field| spec.get(field) == old.get(field);
    if write.before.is_none() || !same("paramKind") || !same("matchConditions") {
        let env = Env { variables: None, ..environment(spec) };
        match_conditions(spec.get("matchConditions"), &env, &at.child("matchConditions"), errors);
    }
}

/// What a policy's expressions may use; its variables are added as they are compiled.
fn environment(spec: Tree) -> Env {
    let composed = !spec.get("variables").is_empty() || spec.get("mutations").exists();
    Env {
        params: spec.get("paramKind").exists(),
        authorizer: true,
        variables: composed.then(Vec::new),
        ..Env::default()
    }
}

/// Mutating policies and their bindings have nothing to do with deletions.
fn mutable_operations(write: &Write, resources: Tree, at: &At, errors: &mut Errors) {
    if !write.object.kind_info().is_some_and(|kind| kind.kind.starts_with("Mutating")) {
        return;
    }
    let at = at.child("resourceRules");
    let at = &at.child("operations");
    for operation in resources.get("resourceRules").items().flat_map(|rule| rule.get("operations").texts()) {
        errors.one_of(at, operation, &MUTATING_OPERATIONS);
    }
}

fn param_kind(kind: Tree, at: &At, errors: &mut Errors) {
    let (version, at_version) = (kind.get("apiVersion").text(), &at.child("apiVersion"));
    let (group, short) = version.split_once('/').unwrap_or(("", version));
    if version.is_empty() {
        errors.required(at_version, "");
    } else if short.contains('/') {
        errors.invalid(at_version, version, format!("unexpected GroupVersion string: {version}"));
    } else {
        let wrong = names::dns1123_subdomain(group);
        if !group.is_empty() && !wrong.is_empty() {
            errors.invalid(at_version, group, wrong.join(","));
        }
        let wrong = names::dns1035_label(short);
        if short.is_empty() {
            errors.invalid(at_version, version, "version must be specified");
        } else if !wrong.is_empty() {
            errors.invalid(at_version, short, wrong.join(","));
        }
    }
    let (name, at) = (kind.get("kind").text(), &at.child("kind"));
    let wrong = names::dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.required(at, "");
    } else if !wrong.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        errors.invalid(at, name, why);
    }
}

fn match_resources(resources: Tree, at: &At, errors: &mut Errors) {
    if !resources.get("matchPolicy").exists() {
        errors.required(&at.child("matchPolicy"), "");
    }
    optional_one_of(resources, "matchPolicy", &MATCH_POLICIES, at, errors);
    for field in ["namespaceSelector", "objectSelector"] {
        let at = &at.child(field);
        if resources.get(field).exists() {
            tree::selector(resources.get(field), false, at, errors);
        } else {
            errors.required(at, "");
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        let at = at.child(field);
        for (i, rule) in resources.get(field).items().enumerate() {
            let at = &at.index(i);
            let at_names = at.child("resourceNames");
            let names = rule.get("resourceNames").texts();
            for (j, name) in names.iter().enumerate() {
                let at = &at_names.index(j);
                errors.each(at, name, names::path_segment(name));
                if names.iter().take(j).any(|before| before == name) {
                    errors.duplicate(at, *name);
                }
            }
            rule_with_operations(rule, at, errors);
        }
    }
}

fn variables(variables: Tree, env: &mut Env, at: &At, errors: &mut Errors) {
    for (i, variable) in variables.items().enumerate() {
        let at = &at.index(i);
        let (name, at_name) = (variable.get("name").text(), &at.child("name"));
        if name.trim().is_empty() {
            errors.required(at_name, "name is not specified");
        } else if !is_identifier(name) {
            errors.invalid(at_name, name, "must be a valid CEL identifier");
        }
        let (expression, at) = (variable.get("expression").text(), &at.child("expression"));
        if expression.trim().is_empty() {
            errors.required(at, "expression is not specified");
        } else {
            let of = compiled(env, expression, expression, &[], at, errors);
            env.add_variable(&name.into(), &of);
        }
    }
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !RESERVED.contains(&name)
}

fn validation(validation: Tree, env: &Env, at: &At, errors: &mut Errors) {
    let (expression, at_expression) = (validation.get("expression").text(), &at.child("expression"));
    if expression.trim().is_empty() {
        errors.required(at_expression, "expression is not specified");
    } else {
        compiled(env, expression, expression, &[Type::Bool], at_expression, errors);
    }
    for field in ["messageExpression", "message"] {
        let (text, at) = (validation.get(field).text(), &at.child(field));
        let trimmed = text.trim();
        if !text.is_empty() && trimmed.is_empty() {
            errors.invalid(at, text, "must be non-empty if specified");
        } else if field == "messageExpression" && !text.is_empty() {
            let env = Env { authorizer: false, ..env.clone() };
            compiled(&env, text, text, &[Type::Str], at, errors);
        } else if field == "message" && trimmed.contains(['\n', '\r']) {
            errors.invalid(at, text, "must not contain line breaks");
        }
    }
    optional_one_of(validation, "reason", &REASONS, at, errors);
}

fn mutation(mutation: Tree, env: &Env, at: &At, errors: &mut Errors) {
    let kind = mutation.get("patchType").text();
    let (own, other) = match kind {
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => {
            let valid = ["ApplyConfiguration", "JSONPatch"];
            return errors.required_one_of(&at.child("patchType"), kind, &valid);
        }
    };
    let at_own = &at.child(own);
    if !mutation.get(own).exists() {
        errors.required(at_own, format!("must be specified when patchType is {kind}"));
    } else {
        let (expression, at) = (mutation.get(own).get("expression").text().trim(), &at_own.child("expression"));
        errors.need(at, expression);
        if !expression.is_empty() {
            let wanted = crate::cel::mutation_type(kind);
            compiled(env, expression, expression, &[wanted], at, errors);
        }
    }
    if mutation.get(other).exists() {
        let why = format!("must not be specified when patchType is {kind}");
        errors.invalid(&at.child(other), format!("{{{other}}}"), why);
    }
}

/// A new or changed ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding.
pub(super) fn binding(write: &Write, errors: &mut Errors) {
    write.whole_metadata(metadata::subdomain, errors);
    let validates = write.object.kind_info().is_some_and(|kind| kind.kind.starts_with("Validating"));
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let (policy, at_policy) = (spec.get("policyName").text(), &at.child("policyName"));
    if !policy.is_empty() {
        errors.each(at_policy, policy, names::dns1123_subdomain(policy));
    } else if validates {
        errors.declared_required(at_policy);
    } else {
        errors.required(at_policy, "");
    }
    if spec.get("paramRef").exists() {
        param_ref(spec.get("paramRef"), &at.child("paramRef"), errors);
    }
    let (resources, at_resources) = (spec.get("matchResources"), &at.child("matchResources"));
    if resources.exists() {
        match_resources(resources, at_resources, errors);
        mutable_operations(write, resources, at_resources, errors);
    }
    if validates {
        actions(spec.get("validationActions"), &at.child("validationActions"), errors);
    }
}

fn actions(actions: Tree, at: &At, errors: &mut Errors) {
    let texts = actions.texts();
    for (i, action) in texts.iter().enumerate() {
        errors.one_of(&at.index(i), action, &ACTIONS);
        if texts.iter().take(i).any(|before| before == action) {
            errors.duplicate(&at.index(i), *action);
        }
    }
    if texts.contains(&"Deny") && texts.contains(&"Warn") {
        errors.invalid(
            at,
            actions,
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
        );
    }
    if texts.is_empty() {
        errors.declared_required(at);
    }
}

fn param_ref(param: Tree, at: &At, errors: &mut Errors) {
    const EITHER: &str = "name and selector are mutually exclusive";
    let (name, selector) = (param.get("name").text(), param.get("selector"));
    errors.each(&at.child("name"), name, names::path_segment(name));
    let both = !name.is_empty() && selector.exists();
    if both {
        errors.forbidden(&at.child("name"), EITHER);
    }
    if selector.exists() {
        tree::selector(selector, false, &at.child("selector"), errors);
    }
    if both {
        errors.forbidden(&at.child("selector"), EITHER);
    }
    if name.is_empty() && !selector.exists() {
        errors.required(at, "one of name or selector must be specified");
    }
    let action = param.get("parameterNotFoundAction").text();
    errors.required_one_of(&at.child("parameterNotFoundAction"), action, &["Deny", "Allow"]);
}

fn status(status: Tree, errors: &mut Errors) {
    let at = &At::new("status");
    let at_checking = at.child("typeChecking");
    let at_warnings = at_checking.child("expressionWarnings");
    for (i, warning) in status.get("typeChecking").get("expressionWarnings").items().enumerate() {
        let at = &at_warnings.index(i);
        errors.need(&at.child("warning"), warning.get("warning").text());
        errors.need(&at.child("fieldRef"), warning.get("fieldRef").text().trim());
    }
    super::conditions::conditions(status.get("conditions"), &at.child("conditions"), errors);
}
