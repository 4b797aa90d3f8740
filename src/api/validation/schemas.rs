//! Schemas of custom resources: that they are structural, and what OpenAPI and Kubernetes' extensions ask of them
//! (apiextensions' `ValidateStructural` and `ValidateCustomResourceDefinitionOpenAPISchema`).

use super::at::{At, Errors};
use super::tree::Tree;
use crate::SortSmall;
use crate::field::Error;
use crate::json::Value;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const RULES: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
/// What OpenAPI knows and custom resources don't have, each with how a mistake calls it.
const UNSUPPORTED: [&str; 6] = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

/// Where in an object a schema is.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Whether a schema has a default anywhere.
pub(super) fn has_default(schema: Tree) -> bool {
    schema.get("default").exists() || inner(schema).any(|(_, _, inner)| has_default(inner))
}

/// The schemas right inside of a schema: the field, the key or index there.
fn inner<'a>(schema: Tree<'a>) -> impl Iterator<Item = (&'static str, Option<&'a str>, Tree<'a>)> {
    let one = ["items", "additionalProperties", "not"].into_iter().map(move |name| (name, None, schema.get(name)));
    let many = ["allOf", "oneOf", "anyOf"]
        .into_iter()
        .flat_map(move |name| schema.get(name).items().map(move |inner| (name, None, inner)));
    let keyed = schema.get("properties").entries().map(|(key, inner)| ("properties", Some(key), inner));
    one.chain(many).chain(keyed).filter(|(_, _, inner)| inner.value().as_object().is_some())
}

/// The schema that a path of fields leads to.
pub(super) fn at_path<'a>(schema: Tree<'a>, path: &str) -> Result<Tree<'a>, String> {
    let Some(rest) = path.strip_prefix('.') else { return Err(format!("expected [ or . but got: {path}")) };
    rest.split('.').try_fold(schema, |schema, step| {
        let found = schema.get("properties").get(step);
        found.exists().then_some(found).ok_or_else(|| "does not refer to a valid field".to_string())
    })
}

/// A version's schema, at its place.
pub(super) fn check(root: Tree, has_status: bool, at: &At, errors: &mut Errors) {
    let at = &at.child("openAPIV3Schema");
    if has_status && !matches!(root.get("type").text(), "" | "object") {
        let why =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.invalid(&at.child("type"), root.get("type"), why);
    }
    if root.get("nullable").is_true() {
        errors.forbidden(&at.child("nullable"), "nullable cannot be true at the root");
    }
    if !is_unsupported(root) {
        let mut found = Errors::default();
        invariants(root, Level::Root, at, &mut found);
        completeness(root, root, at, at, &mut found);
        let mut found: Vec<Error> = found.finish().into_iter().collect();
        found.sort_small_by_key(Error::to_string);
        if found.is_empty() {
            defaults(root, at, errors);
        }
        for error in found {
            errors.push(error);
        }
    }
    open_api(root, Inside { root: true, meta: false, no_defaults: None }, at, errors);
}

/// Whether a schema can't be made structural at all.
fn is_unsupported(schema: Tree) -> bool {
    UNSUPPORTED.iter().any(|name| schema.get(name).exists())
        || schema.get("items").value().as_array().is_some()
        || schema.get(PRESERVE).exists() && !schema.get(PRESERVE).is_true()
        || inner(schema).any(|(_, _, inner)| is_unsupported(inner))
}

fn invariants(s: Tree, level: Level, at: &At, errors: &mut Errors) {
    let kind = s.get("type").text();
    if kind == "array" && !s.get("items").exists() {
        errors.required(&at.child("items"), "must be specified");
    }
    if s.get("items").exists() {
        invariants(s.get("items"), Level::Item, &at.child("items"), errors);
    }
    let at_properties = &at.child("properties");
    for (key, property) in s.get("properties").entries() {
        invariants(property, Level::Field, &at_properties.key(key), errors);
    }
    let (more, at_more) = (s.get("additionalProperties"), &at.child("additionalProperties"));
    if more.exists() && level == Level::Root {
        errors.forbidden(at_more, "must not be used at the root");
    }
    if more.value().as_object().is_some() {
        invariants(more, Level::Field, at_more, errors);
    }
    let (preserves, embedded, either) =
        (s.get(PRESERVE).is_true(), s.get(EMBEDDED).is_true(), s.get(INT_OR_STRING).is_true());
    for (wrong, name) in [(preserves, PRESERVE), (embedded, EMBEDDED)] {
        if either && wrong {
            errors.invalid(&at.child(name), true, "must be false if x-kubernetes-int-or-string is true");
        }
    }
    values(s, is_int_or_string(s), s.get("allOf").items().next().is_some_and(is_int_or_string), at, errors);
    let at_type = &at.child("type");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() { errors.required(at_type, why) } else { errors.invalid(at_type, kind, why) }
    } else if kind.is_empty() && !either && !preserves {
        errors.required(
            at_type,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        );
    }
    if embedded && more.exists() {
        errors.forbidden(at_more, "must not be used if x-kubernetes-embedded-resource is set");
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(at_type, kind, "must be object at the root");
    }
    let checks_metadata = level == Level::Root || embedded;
    for name in ["kind", "apiVersion"] {
        let property = s.get("properties").get(name);
        if checks_metadata && property.exists() && property.get("type").text() != "string" {
            let at = at_properties.key(name);
            errors.invalid(&at.child("type"), property.get("type").text(), "must be string");
        }
    }
    let metadata = s.get("properties").get("metadata");
    if metadata.exists() {
        let at = &at_properties.key("metadata");
        if checks_metadata && metadata.get("type").text() != "object" {
            errors.invalid(&at.child("type"), metadata.get("type").text(), "must be object");
        }
        let names = ["name", "generateName"];
        let only_names = metadata.get("properties").entries().all(|(key, _)| names.contains(&key));
        let nothing_else = metadata.entries().all(|(key, _)| matches!(key, "type" | "properties" | "default"));
        if level == Level::Root && !(only_names && nothing_else) {
            let why =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.forbidden(at, why);
        }
    }
    if embedded && !preserves && s.get("properties").is_empty() {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.required(at_properties, why);
    }
}

/// `anyOf: [{type: integer}, {type: string}]`
fn is_int_or_string(s: Tree) -> bool {
    let only = |schema: Tree, kind: &str| schema.len() == 1 && schema.get("type").text() == kind;
    let any: Vec<Tree> = s.get("anyOf").items().collect();
    matches!(any.as_slice(), [a, b] if only(*a, "integer") && only(*b, "string"))
}

/// The value validations of a schema.
fn values(s: Tree, skip_any: bool, skip_first_all: bool, at: &At, errors: &mut Errors) {
    for name in ["anyOf", "allOf", "oneOf"] {
        let at = at.child(name);
        for (i, junct) in s.get(name).items().enumerate().filter(|_| name != "anyOf" || !skip_any) {
            nested(junct, name == "allOf" && i == 0 && skip_first_all, &at.index(i), errors);
        }
    }
    if s.get("not").exists() {
        nested(s.get("not"), false, &at.child("not"), errors);
    }
    let pattern = s.get("pattern").text();
    if let Some(why) = wrong_pattern(pattern) {
        let why = format!("must be a valid regular expression, but isn't: error parsing regexp: {why}");
        errors.invalid(&at.child("pattern"), pattern, why);
    }
}

/// The mistakes in a regular expression that are seen without compiling it, in Go's words.
fn wrong_pattern(pattern: &str) -> Option<String> {
    let (mut open, mut chars) = (0_usize, pattern.char_indices());
    while let Some((start, c)) = chars.next() {
        match c {
            '\\' if chars.next().is_none() => {
                return Some("trailing backslash at end of expression: ``".to_string());
            }
            '\\' => {}
            '[' => {
                let (mut first, mut closed) = (true, false);
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => _ = chars.next(),
                        '^' if first => continue,
                        ']' if !first => closed = true,
                        _ => {}
                    }
                    first = false;
                    if closed {
                        break;
                    }
                }
                if !closed {
                    return Some(format!("missing closing ]: `{}`", pattern.get(start..).unwrap_or_default()));
                }
            }
            '(' => open += 1,
            ')' => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return Some(format!("unexpected ): `{pattern}`")),
            },
            '*' | '+' | '?' if start == 0 => return Some(format!("missing argument to repetition operator: `{c}`")),
            _ => {}
        }
    }
    (open > 0).then(|| format!("missing closing ): `{pattern}`"))
}

/// A schema in a junctor: it may say nothing of the structure.
fn nested(v: Tree, skip_any: bool, at: &At, errors: &mut Errors) {
    values(v, skip_any, false, at, errors);
    if v.get("items").exists() {
        nested(v.get("items"), false, &at.child("items"), errors);
    }
    let at_properties = &at.child("properties");
    for (key, property) in v.get("properties").entries() {
        nested(property, false, &at_properties.key(key), errors);
    }
    for name in ["type", "title", "description", LIST_KEYS, RULES] {
        if !v.get(name).is_empty() {
            errors.forbidden(&at.child(name), "must be empty to be structural");
        }
    }
    for name in ["additionalProperties", "default", LIST_TYPE, MAP_TYPE] {
        if v.get(name).exists() {
            errors.forbidden(&at.child(name), "must be undefined to be structural");
        }
    }
    for name in ["nullable", PRESERVE, EMBEDDED, INT_OR_STRING] {
        if v.get(name).is_true() {
            errors.forbidden(&at.child(name), "must be false to be structural");
        }
    }
    if v.get("properties").get("metadata").exists() {
        errors.forbidden(&at_properties.key("metadata"), "must not be specified in a nested context");
    }
}

/// What a junctor speaks of has to be in the structure, too.
fn completeness(v: Tree, s: Tree, s_at: &At, v_at: &At, errors: &mut Errors) {
    for name in ["not", "allOf", "anyOf", "oneOf"] {
        let at = &v_at.child(name);
        if v.get(name).value().as_object().is_some() {
            nested_completeness(v.get(name), s, s_at, at, errors);
        }
        for (i, junct) in v.get(name).items().enumerate() {
            nested_completeness(junct, s, s_at, &at.index(i), errors);
        }
    }
}

fn nested_completeness(v: Tree, s: Tree, s_at: &At, v_at: &At, errors: &mut Errors) {
    completeness(v, s, s_at, v_at, errors);
    let mut pair = |v: Tree, s: Tree, s_at: &At, v_at: &At| {
        if s.exists() {
            nested_completeness(v, s, s_at, v_at, errors);
        } else {
            errors.required(s_at, format!("because it is defined in {}", v_at.path()));
        }
    };
    if v.get("items").exists() {
        pair(v.get("items"), s.get("items"), &s_at.child("items"), &v_at.child("items"));
    }
    let (s_properties, v_properties) = (&s_at.child("properties"), &v_at.child("properties"));
    for (key, property) in v.get("properties").entries() {
        pair(property, s.get("properties").get(key), &s_properties.key(key), &v_properties.key(key));
    }
}

/// Defaults have to be valid themselves: of the right type, within bounds, one of the enumerated.
fn defaults(s: Tree, at: &At, errors: &mut Errors) {
    if s.get("default").exists() {
        let (value, at) = (s.get("default").value(), &at.child("default"));
        if let Some(why) = wrong_default(value, s) {
            // Of a wrong type only the type is shown.
            let shown = match why.starts_with(" in body must be of type") {
                true => crate::go::quote(type_name(value)),
                false => value.as_str().map_or_else(|| value.to_json(), crate::go::quote),
            };
            let mut error = crate::field::invalid(&at.path(), "", why);
            error.value = Some(shown);
            errors.push(error);
        }
    }
    for (name, key, schema) in
        inner(s).filter(|(name, ..)| matches!(*name, "items" | "additionalProperties" | "properties"))
    {
        let at = &at.child(name);
        match key {
            Some(key) => defaults(schema, &at.key(key), errors),
            None => defaults(schema, at, errors),
        }
    }
}

/// The type of a value as schemas name it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "integer",
        Value::Bool(_) => "boolean",
        value => value.type_name(),
    }
}

fn wrong_default(value: &Value, s: Tree) -> Option<String> {
    let (kind, either) = (s.get("type").text(), s.get(INT_OR_STRING).is_true());
    let number = match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    };
    let fits = match value {
        Value::Null => s.get("nullable").is_true(),
        Value::Bool(_) => kind == "boolean",
        Value::Int(_) => matches!(kind, "integer" | "number") || either,
        Value::Float(_) => kind == "number",
        Value::Str(_) => kind == "string" || either,
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    };
    if !fits && !kind.is_empty() {
        return Some(format!(" in body must be of type {kind}: {}", crate::go::quote(type_name(value))));
    }
    let bound = |name: &str| match s.get(name).value() {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    };
    let shown = |name: &str| s.get(name).value().to_json();
    match (number, bound("maximum"), bound("minimum")) {
        (Some(number), Some(most), _) if number > most => {
            return Some(format!(" in body should be less than or equal to {}", shown("maximum")));
        }
        (Some(number), _, Some(least)) if number < least => {
            return Some(format!(" in body should be greater than or equal to {}", shown("minimum")));
        }
        _ => {}
    }
    let allowed = s.get("enum");
    (!allowed.is_empty() && !allowed.items().any(|one| one.value() == value))
        .then(|| format!(" in body should be one of {}", allowed.value().to_json()))
}

/// What surrounds a schema.
#[derive(Clone, Copy)]
struct Inside {
    root: bool,
    meta: bool,
    no_defaults: Option<&'static str>,
}

fn open_api(s: Tree, inside: Inside, at: &At, errors: &mut Errors) {
    let kind = s.get("type").text();
    let at_type = &at.child("type");
    if !kind.is_empty() {
        errors.one_of(at_type, kind, &TYPES);
    }
    if s.get("default").exists()
        && let Some(reason) = inside.no_defaults
    {
        errors.forbidden(&at.child("default"), format!("must not be set {reason}"));
    }
    for name in UNSUPPORTED {
        if s.get(name).exists() {
            errors.forbidden(&at.child(name), format!("{name} is not supported"));
        }
    }
    if kind == "null" {
        errors.forbidden(at_type, "type cannot be set to null, use nullable as an alternative");
    }
    let (items, at_items) = (s.get("items"), &at.child("items"));
    if items.value().as_array().is_some() {
        errors.forbidden(at_items, "items must be a schema object and not an array");
    }
    if inside.meta && s.get(EMBEDDED).is_true() {
        errors.forbidden(&at.child(EMBEDDED), "must not be used inside of resource meta");
    }
    if s.get("uniqueItems").is_true() {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.forbidden(&at.child("uniqueItems"), why);
    }
    children(s, inside, at, errors);
    if s.get(PRESERVE).exists() && !s.get(PRESERVE).is_true() {
        errors.invalid(&at.child(PRESERVE), false, "must be true or undefined");
    }
    lists(s, at, errors);
    rules(s.get(RULES), &at.child(RULES), errors);
}

fn children(s: Tree, inside: Inside, at: &At, errors: &mut Errors) {
    let deeper = Inside { root: false, ..inside };
    let (more, at_more) = (s.get("additionalProperties"), &at.child("additionalProperties"));
    if more.exists() {
        if !s.get("properties").is_empty() && !more.is_true() {
            errors.forbidden(at_more, "additionalProperties and properties are mutual exclusive");
        }
        if more.value().as_object().is_some() {
            let reason = "inside additionalProperties applying to object metadata";
            let no_defaults = if inside.meta { Some(reason) } else { inside.no_defaults };
            open_api(more, Inside { no_defaults, ..deeper }, at_more, errors);
        }
    }
    let at_properties = &at.child("properties");
    for (key, property) in s.get("properties").entries() {
        let mut deeper = deeper;
        let meta = ["in top-level metadata", "in top-level kind", "in top-level apiVersion"];
        if let Some(reason) = meta.into_iter().find(|reason| reason.ends_with(&format!(" top-level {key}")))
            && (inside.root || s.get(EMBEDDED).is_true())
        {
            deeper.meta = true;
            if inside.root {
                deeper.no_defaults = Some(reason);
            }
        }
        open_api(property, deeper, &at_properties.key(key), errors);
    }
    if s.get("not").exists() {
        open_api(s.get("not"), deeper, &at.child("not"), errors);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        let at = at.child(name);
        for (i, junct) in s.get(name).items().enumerate() {
            open_api(junct, deeper, &at.index(i), errors);
        }
    }
    if s.get("items").value().as_object().is_some() {
        open_api(s.get("items"), deeper, &at.child("items"), errors);
    }
}

/// `x-kubernetes-map-type`, `x-kubernetes-list-type` and the keys of lists that are maps.
fn lists(s: Tree, at: &At, errors: &mut Errors) {
    let (kind, items) = (s.get("type").text(), s.get("items"));
    let (at_type, at_items) = (&at.child("type"), &at.child("items"));
    let mut must_be = |what: &str, extension: &str| {
        let why = format!("must be {what} if {extension} is specified");
        if kind.is_empty() { errors.required(at_type, why) } else { errors.invalid(at_type, kind, why) }
    };
    let (list, map) = (s.get(LIST_TYPE).optional_text(), s.get(MAP_TYPE).optional_text());
    if map.is_some() && kind != "object" {
        must_be("object", MAP_TYPE);
    }
    if list.is_some() && kind != "array" {
        must_be("array", LIST_TYPE);
    }
    if let Some(map) = map {
        errors.one_of(&at.child(MAP_TYPE), map, &["atomic", "granular"]);
    }
    if list == Some("set") && kind == "array" {
        const ATOMIC: &str = "must be atomic as item of a list with x-kubernetes-list-type=set";
        // Kubernetes shows the list type in both cases.
        let shown = items.get(LIST_TYPE);
        match items.get("type").text() {
            "array" if shown.exists() && shown.text() != "atomic" => {
                errors.invalid(&at_items.child(LIST_TYPE), shown, ATOMIC);
            }
            "object" if items.get(MAP_TYPE).text() != "atomic" => {
                errors.invalid(&at_items.child(MAP_TYPE), shown, ATOMIC);
            }
            _ => {}
        }
    }
    let at_list = &at.child(LIST_TYPE);
    if let Some(list) = list {
        errors.one_of(at_list, list, &["atomic", "set", "map"]);
    }
    let keys = s.get(LIST_KEYS).texts();
    if !keys.is_empty() && list != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list {
            None => errors.required(at_list, why),
            Some(list) => errors.invalid(at_list, list, why),
        }
    }
    if list == Some("map") {
        map_keys(s, &keys, at, errors);
    }
    if matches!(list, Some("map" | "set")) && items.get("nullable").is_true() {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {}", list.unwrap_or_default());
        errors.forbidden(&at_items.child("nullable"), why);
    }
    for key in keys.iter().filter(|_| list == Some("map")) {
        let property = items.get("properties").get(key);
        if !property.exists() {
            continue;
        }
        let at = at_items.child("properties");
        let at = &at.key(key);
        if !items.get("required").texts().contains(key) && !property.get("default").exists() {
            let why =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.required(&at.child("default"), why);
        }
        if property.get("nullable").is_true() {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.forbidden(&at.child("nullable"), why);
        }
    }
}

fn map_keys(s: Tree, keys: &[&str], at: &At, errors: &mut Errors) {
    let (at_keys, items, at_items) = (&at.child(LIST_KEYS), s.get("items"), &at.child("items"));
    if keys.is_empty() {
        errors.required(at_keys, "must not be empty if x-kubernetes-list-type is map");
    }
    if !items.exists() {
        return errors.required(at_items, "must have a schema if x-kubernetes-list-type is map");
    }
    let kind = items.get("type").text();
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.invalid(&at_items.child("type"), kind, why);
    }
    let at_properties = &at_items.child("properties");
    for (i, key) in keys.iter().enumerate() {
        let property = items.get("properties").get(key);
        if !property.exists() {
            errors.invalid(at_keys, s.get(LIST_KEYS), "entries must all be names of item properties");
        } else if matches!(property.get("type").text(), "array" | "object") {
            let at = at_properties.key(key);
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.invalid(&at.child("type"), kind, why);
        }
        if keys.iter().take(i).any(|before| before == key) {
            errors.invalid(at_keys, s.get(LIST_KEYS), "must not contain duplicate entries");
        }
    }
}

fn rules(rules: Tree, at: &At, errors: &mut Errors) {
    for (i, rule) in rules.items().enumerate() {
        let at = &at.index(i);
        let lines = |text: &str| text.contains(['\n', '\r']);
        let (text, message) = (rule.get("rule").text().trim(), rule.get("message").text());
        let at_message = &at.child("message");
        if text.is_empty() {
            errors.required(&at.child("rule"), "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.invalid(at_message, message, "must be non-empty if specified");
        } else if lines(message.trim()) {
            errors.invalid(at_message, message, "must not contain line breaks");
        } else if lines(text) && message.is_empty() {
            errors.required(at_message, "message must be specified if rule contains line breaks");
        }
        let expression = rule.get("messageExpression").text();
        if !expression.is_empty() && expression.trim().is_empty() {
            errors.required(&at.child("messageExpression"), "messageExpression must be non-empty if specified");
        }
        if let Some(reason) = rule.get("reason").optional_text() {
            errors.one_of(&at.child("reason"), reason, &REASONS);
        }
        let (path, at) = (rule.get("fieldPath").text(), &at.child("fieldPath"));
        if !path.is_empty() && path.trim().is_empty() {
            errors.invalid(at, path, "must be non-empty if specified");
        }
        if lines(path) {
            errors.invalid(at, path, "must not contain line breaks");
        }
    }
}
