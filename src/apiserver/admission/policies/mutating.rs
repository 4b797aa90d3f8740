//! MutatingAdmissionPolicy: changes objects by expressions (admission/plugin/policy/mutating).

use std::rc::Rc;

use api::cel::{Activation, Items, Val};
use api::json::Value;
use api::{Object, Status, Str};

use super::definition::{Definition, Mutation};
use super::matching::{Matched, Matching};
use super::{Attributes, Judge, Kind, Operation, Seen, bindings, definitions, params};
use crate::registry::convert;

/// What a policy could not do: message and reason.
struct Failure {
    message: String,
    invalid: bool,
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, old: Option<&dyn Object>) -> Result<(), Status> {
    let policies = definitions(attributes, Kind::MutatingPolicy);
    if policies.is_empty() || attributes.operation == Operation::Delete {
        return Ok(());
    }
    let bindings = bindings(attributes, Kind::MutatingBinding);
    let again = attributes.reinvoked;
    let mut failures: Vec<Failure> = Vec::new();
    let mut changed = false;
    for policy in &policies {
        if again && !policy.again {
            continue;
        }
        let bound = bindings.iter().filter(|(_, b)| b.str_at(&["spec", "policyName"]) == &*policy.name);
        if bound.clone().next().is_none() {
            continue;
        }
        let matched = {
            let seen = Seen { attributes, new: Some(object), old };
            match policy.matching.matches(&seen).and_then(|matched| policy.configured(matched)) {
                Ok(Some(matched)) => matched,
                Ok(None) => continue,
                Err(error) => {
                    if policy.fails {
                        let name = api::go::quote(&policy.name);
                        let message = format!("policy {name} denied request: failed to configure policy: {error}");
                        failures.push(Failure { message, invalid: false });
                    }
                    continue;
                }
            }
        };
        for (name, binding) in bound {
            match apply(attributes, policy, &matched, binding, object, old) {
                Ok(found) => changed |= found,
                Err((message, invalid)) if policy.fails => {
                    let configure = if invalid { "" } else { "failed to configure binding: " };
                    let message =
                        format!("policy '{}' with binding '{name}' denied request: {configure}{message}", policy.name);
                    failures.push(Failure { message, invalid });
                }
                Err(_) => {}
            }
        }
    }
    attributes.changed_by_policy |= changed;
    let Some(first) = failures.first() else { return Ok(()) };
    let mut status = attributes.forbidden(Some(object), "admission request denied by policy").into_object();
    status.message = first.message.as_str().into();
    if first.invalid {
        status.reason = "Invalid".into();
    }
    let status = Status::from_object(status);
    Err(failures.iter().fold(status, |status, failure| status.with_cause("", &failure.message, "")))
}

/// Applies a policy by one of its bindings; whether it changed the object. An error says whether it is the
/// expressions'.
fn apply(
    attributes: &Attributes,
    policy: &Definition,
    matched: &Matched,
    binding: &Value,
    object: &mut dyn Object,
    old: Option<&dyn Object>,
) -> Result<bool, (String, bool)> {
    let none = Value::Null;
    let spec = binding.get("spec").unwrap_or(&none);
    let mut changed = false;
    let params = {
        let seen = Seen { attributes, new: Some(object), old };
        if let Some(resources) = spec.get("matchResources").filter(|resources| !resources.is_null()) {
            let bound = Matching::new(resources, "resourceRules").matches(&seen).map_err(|e| (e, false))?;
            if bound.is_none() {
                return Ok(false);
            }
        }
        params(&seen, policy, spec.get("paramRef").unwrap_or(&none)).map_err(|e| (e, false))?
    };
    for param in params {
        let made = {
            let seen = Seen { attributes, new: Some(object), old };
            mutations(&seen, policy, matched, &param).map_err(|e| (e, true))?
        };
        if let Some(made) = made {
            changed = true;
            replace(object, &*made);
        }
    }
    Ok(changed)
}

/// Gives an object all fields of another of its kind.
fn replace(object: &mut dyn Object, with: &dyn Object) {
    let names: Vec<&str> = object.desc().fields.iter().map(|field| field.name).collect();
    for name in names {
        object.assign(name, with);
    }
}

/// What a policy's mutations make of the object; nothing where they change nothing.
fn mutations(
    seen: &Seen,
    policy: &Definition,
    matched: &Matched,
    param: &Val,
) -> Result<Option<Box<dyn Object>>, String> {
    let ask = |check: &api::cel::Check| seen.authorize(check);
    let activation = Activation::new(seen.values(matched, param), &policy.variables);
    let mut judge = Judge::new(activation.with_authorizer(&ask, seen.resource_check()));
    judge.left = api::cel::MATCH_CONDITIONS_BUDGET;
    if !judge.matches(&policy.conditions, policy.fails)? {
        return Ok(None);
    }
    let Some(object) = seen.new else { return Ok(None) };
    let call = seen.attributes.call;
    let versioned = |object: &dyn Object| -> Rc<dyn Object> {
        let body: Rc<dyn Object> = Rc::from(object.boxed());
        if !call.subresource.is_empty() || matched.kind == call.resource().kind {
            return body;
        }
        convert::outgoing(matched.kind, api::AnyRev { revision: 0, body }).body
    };
    let mut current = versioned(object);
    for mutation in &policy.mutations {
        judge.left = api::cel::BUDGET;
        judge.activation.set("object", Val::from(&api::json::to_value(&*current, None)));
        let value = judge.value(&mutation.condition)??;
        let mut made = patched(seen, mutation, &*current, &value)?;
        api::defaults::apply(&mut *made);
        current = Rc::from(made);
    }
    let made = convert::incoming(current.boxed());
    Ok((!api::equality::semantic(&*made, object)).then_some(made))
}

fn patched(seen: &Seen, mutation: &Mutation, current: &dyn Object, value: &Val) -> Result<Box<dyn Object>, String> {
    let kind = current.kind_info().unwrap_or(seen.attributes.call.kind);
    if mutation.json_patch {
        let Val::List(operations) = value else {
            return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_string());
        };
        let document = operations_of(operations)?;
        let before = api::json::to_value(current, None);
        let after = api::patch::json(&before, &document).map_err(|error| format!("JSON Patch: {}", error.0))?;
        let mut made = kind.new_object();
        api::json::from_value(&after, &mut *made, true).map_err(|error| error.message.to_string())?;
        made.clear_type_meta();
        return Ok(made);
    }
    names_fit(value, "Object")?;
    if seen.attributes.operation == Operation::Connect {
        // The options of connections are in no OpenAPI.
        return Err(format!(
            "error applying patch: failed to convert patch object to typed object: no corresponding type for /v1, \
             Kind={}",
            kind.kind
        ));
    }
    let unusable = || format!("invalid return type: {}", value.type_name());
    let mut config = value.to_json().ok_or_else(unusable)?;
    config.set("apiVersion", kind.api_version.into());
    config.set("kind", kind.kind.into());
    let reset = api::apply::Set::default();
    let call = seen.attributes.call;
    let request = api::apply::Request {
        manager: "mutating-admission-policy",
        subresource: &call.subresource,
        api_version: kind.api_version,
        now: call.moment().time(),
        reset: &reset,
    };
    // A merge as apply does it, in the name of nobody who owns anything.
    let mut live = current.boxed();
    let managed = live.metadata().map(|metadata| metadata.managed_fields.clone());
    if let Some(metadata) = live.metadata_mut() {
        metadata.managed_fields = Default::default();
    }
    let merged = api::apply::apply(&*live, &config, &request, true);
    let atomics = api::apply::atomics(&config, kind.desc);
    let mut made = merged.map_err(|error| match error {
        api::apply::ApplyError::Invalid(why) | api::apply::ApplyError::BadRequest(why) => {
            let of_object = why.strip_prefix("failed to create typed patch object (");
            let why = of_object.and_then(|rest| rest.split_once("): ")).map_or(&*why, |(_, why)| why);
            format!("error applying patch: failed to convert patch object to typed object: {why}")
        }
        api::apply::ApplyError::Conflicts(_) => "error applying patch: conflict".to_string(),
    })?;
    if !atomics.is_empty() {
        return Err(format!(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        ));
    }
    if let (Some(metadata), Some(managed)) = (made.metadata_mut(), managed) {
        metadata.managed_fields = managed;
    }
    Ok(made)
}

/// `[JSONPatch{op: "add", path: "/x", value: 1}]` as the patch's document.
fn operations_of(operations: &Items) -> Result<Value, String> {
    const NO_JSON: &str = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
    let mut document = Vec::with_capacity(operations.len());
    for operation in operations.to_vec() {
        let Val::Message(_, fields) = &operation else {
            return Err(format!(
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {}",
                operation.type_name()
            ));
        };
        let mut out = Value::object();
        for (name, value) in fields.iter() {
            names_of_value(value)?;
            out.set(name.clone(), value.to_json().ok_or(NO_JSON)?);
        }
        document.push(out);
    }
    Ok(Value::from(document))
}

/// Objects within a JSON patch's value may be of any type, and each must fit itself.
fn names_of_value(value: &Val) -> Result<(), String> {
    match value {
        Val::Message(name, _) => names_fit(value, &name.clone()),
        Val::List(items) => items.to_vec().iter().try_for_each(names_of_value),
        _ => Ok(()),
    }
}

/// `Object.spec{selector: Object.spec.wrong{}}` is not of the type that its place has.
fn names_fit(value: &Val, place: &str) -> Result<(), String> {
    match value {
        Val::Message(name, fields) => {
            if **name != *place {
                let (name, place) = (api::go::quote(name), api::go::quote(place));
                return Err(format!(
                    "type mismatch: unexpected type name {name}, expected {place}, which matches field name path from root Object type"
                ));
            }
            fields.iter().try_for_each(|(field, value): &(Str, Val)| names_fit(value, &format!("{place}.{field}")))
        }
        Val::List(items) => items.to_vec().iter().try_for_each(|item| names_fit(item, place)),
        _ => Ok(()),
    }
}
