//! ValidatingAdmissionPolicy: refuses, warns of or notes what expressions are against
//! (admission/plugin/policy/validating).

use api::cel::{Activation, Val};
use api::json::Value;
use api::{Object, Status, Str};

use super::definition::{Definition, Validation};
use super::matching::{Matched, Matching};
use super::{Attributes, Judge, Kind, Seen, bindings, definitions, params};

/// Longest message that an expression may make.
const MESSAGE: usize = 5 * 1024;

/// A decision against the request.
struct Denial {
    policy: Str,
    binding: Option<Str>,
    message: String,
    reason: Str,
}

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    let policies = definitions(attributes, Kind::ValidatingPolicy);
    if policies.is_empty() {
        return Ok(());
    }
    let bindings = bindings(attributes, Kind::ValidatingBinding);
    let mut denials: Vec<Denial> = Vec::new();
    let seen = Seen { attributes, new, old };
    for policy in &policies {
        let own = bindings.iter().filter(|(_, b)| b.str_at(&["spec", "policyName"]) == &*policy.name);
        if own.clone().next().is_none() {
            continue;
        }
        let matched = match policy.matching.matches(&seen).and_then(|matched| policy.configured(matched)) {
            Ok(Some(matched)) => matched,
            Ok(None) => continue,
            Err(error) => {
                failed(&mut denials, policy, None, format!("failed to configure policy: {error}"));
                continue;
            }
        };
        for (name, binding) in own {
            let none = Value::Null;
            let spec = binding.get("spec").unwrap_or(&none);
            if let Some(resources) = spec.get("matchResources").filter(|resources| !resources.is_null()) {
                match Matching::new(resources, "resourceRules").matches(&seen) {
                    Ok(Some(_)) => {}
                    Ok(None) => continue,
                    Err(error) => {
                        failed(&mut denials, policy, Some(name), format!("failed to configure binding: {error}"));
                        continue;
                    }
                }
            }
            let found = match params(&seen, policy, spec.get("paramRef").unwrap_or(&none)) {
                Ok(found) => found,
                Err(error) => {
                    failed(&mut denials, policy, Some(name), format!("failed to configure binding: {error}"));
                    continue;
                }
            };
            for param in found {
                let (against, broken) = judge(&seen, policy, &matched, &param);
                let actions = spec.get("validationActions").and_then(Value::as_array);
                for (message, reason) in against {
                    for action in actions.into_iter().flat_map(|list| list.iter()).filter_map(Value::as_str) {
                        let (policy, binding) = (policy.name.clone(), name.clone());
                        match action {
                            "Deny" => {
                                let (message, reason) = (message.clone(), reason.clone());
                                denials.push(Denial { policy, binding: Some(binding), message, reason });
                            }
                            "Warn" => attributes.call.warn(format!(
                                "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {message}"
                            )),
                            _ => {}
                        }
                    }
                }
                for message in broken {
                    let (policy, binding) = (policy.name.clone(), Some(name.clone()));
                    denials.push(Denial { policy, binding, message, reason: Str::default() });
                }
            }
        }
    }
    match denials.into_iter().next() {
        Some(denial) => Err(refusal(&seen, &denial)),
        None => Ok(()),
    }
}

/// Notes what is wrong with a policy or its binding, if its failures count.
fn failed(denials: &mut Vec<Denial>, policy: &Definition, binding: Option<&Str>, message: String) {
    if policy.fails {
        let (policy, binding) = (policy.name.clone(), binding.cloned());
        denials.push(Denial { policy, binding, message, reason: Str::default() });
    }
}

fn refusal(seen: &Seen, denial: &Denial) -> Status {
    let Denial { policy, binding, message, reason } = denial;
    let with = binding.as_ref().map_or(String::new(), |binding| format!(" with binding '{binding}'"));
    let message = format!("ValidatingAdmissionPolicy '{policy}'{with} denied request: {message}");
    let mut status = seen.attributes.forbidden(seen.new.or(seen.old), &message).into_object();
    status.reason = if reason.is_empty() { "Invalid".into() } else { reason.clone() };
    status.code = match &*status.reason {
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    Status::from_object(status).with_cause("", &message, "")
}

/// What a policy has against a request, with reasons; and the audit annotations that could not be made.
fn judge(seen: &Seen, policy: &Definition, matched: &Matched, param: &Val) -> (Vec<(String, Str)>, Vec<String>) {
    let failed = |message: String| {
        let against = if policy.fails { vec![(message, Str::default())] } else { Vec::new() };
        (against, Vec::new())
    };
    let ask = |check: &api::cel::Check| seen.authorize(check);
    let activation = Activation::new(seen.values(matched, param), &policy.variables);
    let mut judge = Judge::new(activation.with_authorizer(&ask, seen.resource_check()));
    judge.left = api::cel::MATCH_CONDITIONS_BUDGET;
    match judge.matches(&policy.conditions, policy.fails) {
        Ok(true) => {}
        Ok(false) => return (Vec::new(), Vec::new()),
        Err(error) => return failed(error),
    }
    judge.left = api::cel::BUDGET;
    let mut results = Vec::with_capacity(policy.validations.len());
    for validation in &policy.validations {
        match judge.value(&validation.condition) {
            Ok(result) => results.push(result),
            Err(error) => return failed(error),
        }
    }
    let mut against = Vec::new();
    for (validation, result) in policy.validations.iter().zip(results) {
        match result {
            Err(error) if policy.fails => against.push((error, Str::default())),
            Err(_) | Ok(Val::Bool(true)) => {}
            Ok(_) => against.push((message(&mut judge, validation), validation.reason.clone())),
        }
    }
    judge.left = api::cel::BUDGET;
    let mut broken = Vec::new();
    for annotation in &policy.annotations {
        let why = match judge.value(annotation) {
            Err(error) => return failed(error),
            Ok(Err(error)) if policy.fails => error,
            Ok(Ok(value)) if !matches!(value, Val::Str(_) | Val::Null) => {
                let of = value.type_name().to_string();
                let expression = &annotation.expression;
                format!(
                    "valueExpression '{expression}' resulted in unsupported return type: {of}. Return type must be either string or null."
                )
            }
            _ => continue,
        };
        broken.push(why);
    }
    (against, broken)
}

/// What the refused user reads.
fn message(judge: &mut Judge, validation: &Validation) -> String {
    let made = match validation.message_expression.as_ref().map(|condition| judge.value(condition)) {
        Some(Err(error)) => return format!("failed messageExpression: {error}"),
        Some(Ok(Ok(Val::Str(text)))) => text.trim().to_string(),
        _ => String::new(),
    };
    if !made.is_empty() && made.len() <= MESSAGE && !made.contains('\n') {
        return made;
    }
    let message = validation.message.trim();
    if message.is_empty() {
        format!("failed expression: {}", validation.condition.expression.trim())
    } else {
        message.to_string()
    }
}
