//! Patches that kubectl works out: the difference of two objects, and apply's three-way merge
//! (`strategicpatch`, `jsonmergepatch`).

use crate::value::{Object, Value};
use api::object::{FieldDesc, PATCH_MERGE, PATCH_REPLACE, PATCH_RETAIN_KEYS, Type, TypeDesc};
use std::collections::BTreeSet;

/// What is known of the type of an object, for lists that are merged by a key.
pub type Schema = Option<&'static TypeDesc>;

/// The schema of a built-in kind; None for others, whose patches are JSON merge patches.
pub fn schema_of(api_version: &str, kind: &str) -> Schema {
    api::scheme::by_api_version(api_version, kind).map(|k| k.desc)
}

#[derive(Clone, Copy, Default)]
struct Diff {
    ignore_deletions: bool,
    ignore_changes: bool,
    retain_keys: bool,
}

fn field(schema: Schema, key: &str) -> Option<&'static FieldDesc> {
    schema.and_then(|d| d.field(key))
}

fn inner(field: Option<&'static FieldDesc>) -> Schema {
    field.and_then(|f| match &f.ty {
        Type::List(_) => f.ty.element_desc(),
        ty => ty.desc(),
    })
}

fn is(field: Option<&'static FieldDesc>, flag: u16) -> bool {
    field.is_some_and(|f| f.is(flag))
}

/// `CreateTwoWayMergePatch`.
pub fn two_way(original: &Value, modified: &Value, schema: Schema) -> Value {
    let empty = Object::new();
    let (o, m) = (map(original, &empty), map(modified, &empty));
    Value::Object(diff_maps(o, m, schema, Diff::default()))
}

/// `CreateThreeWayMergePatch` with overwrite.
pub fn three_way(original: &Value, modified: &Value, current: &Value, schema: Schema) -> Value {
    let empty = Object::new();
    let (o, m, c) = (map(original, &empty), map(modified, &empty), map(current, &empty));
    let delta = diff_maps(c, m, schema, Diff { ignore_deletions: true, ..Diff::default() });
    let deletions = diff_maps(o, m, schema, Diff { ignore_changes: true, ..Diff::default() });
    Value::Object(combine(deletions, delta, schema))
}

/// `CreateThreeWayJSONMergePatch`: for kinds without a schema.
pub fn three_way_json(original: &Value, modified: &Value, current: &Value) -> Value {
    three_way(original, modified, current, None)
}

fn map<'a>(v: &'a Value, empty: &'a Object) -> &'a Object {
    match v {
        Value::Object(m) => m,
        _ => empty,
    }
}

fn same_kind(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

fn diff_maps(original: &Object, modified: &Object, schema: Schema, o: Diff) -> Object {
    let mut patch = Object::new();
    let mut retained = Vec::new();
    for (key, m) in modified {
        if o.retain_keys && !m.is_null() {
            retained.push(Value::String(key.clone()));
        }
        let Some(old) = original.get(key) else {
            if !o.ignore_changes {
                patch.insert(key.clone(), m.clone());
            }
            continue;
        };
        if !same_kind(old, m) {
            if !o.ignore_changes {
                patch.insert(key.clone(), m.clone());
            }
            continue;
        }
        let f = field(schema, key);
        match (old, m) {
            (Value::Object(a), Value::Object(b)) => {
                if is(f, PATCH_REPLACE) {
                    if !o.ignore_changes {
                        patch.insert(key.clone(), m.clone());
                    }
                    continue;
                }
                let inside = Diff { retain_keys: is(f, PATCH_RETAIN_KEYS), ..o };
                let d = diff_maps(a, b, inner(f), inside);
                if !d.is_empty() {
                    patch.insert(key.clone(), Value::Object(d));
                }
            }
            (Value::Array(a), Value::Array(b)) if is(f, PATCH_MERGE) => {
                let inside = Diff { retain_keys: is(f, PATCH_RETAIN_KEYS), ..o };
                diff_lists(key, a, b, f, inside, &mut patch);
            }
            _ => {
                if !o.ignore_changes && old != m {
                    patch.insert(key.clone(), m.clone());
                }
            }
        }
    }
    if !o.ignore_deletions {
        for key in original.keys() {
            if !modified.contains_key(key) {
                patch.insert(key.clone(), Value::Null);
            }
        }
    }
    let has_more = original.iter().any(|(k, v)| !v.is_null() && !modified.contains_key(k));
    if !retained.is_empty() && (!patch.is_empty() || has_more) {
        patch.insert("$retainKeys".into(), Value::Array(retained));
    }
    patch
}

fn diff_lists(
    key: &str,
    original: &[Value],
    modified: &[Value],
    f: Option<&'static FieldDesc>,
    o: Diff,
    patch: &mut Object,
) {
    if original.is_empty() {
        if !modified.is_empty() && !o.ignore_changes {
            patch.insert(key.to_string(), Value::Array(modified.to_vec()));
        }
        return;
    }
    let merge_key = f.and_then(FieldDesc::merge_key).unwrap_or("");
    if merge_key.is_empty() {
        let old: BTreeSet<String> = original.iter().map(Value::go_v).collect();
        let new: BTreeSet<String> = modified.iter().map(Value::go_v).collect();
        let pick = |list: &[Value], other: &BTreeSet<String>| -> Vec<Value> {
            list.iter().filter(|v| !other.contains(&v.go_v())).cloned().collect()
        };
        if !o.ignore_changes {
            let added = pick(modified, &old);
            if !added.is_empty() {
                patch.insert(key.to_string(), Value::Array(added));
            }
        }
        let removed = if o.ignore_deletions { Vec::new() } else { pick(original, &new) };
        let order = !removed.is_empty() || (!o.ignore_changes && original != modified);
        if !removed.is_empty() {
            patch.insert(format!("$deleteFromPrimitiveList/{key}"), Value::Array(removed));
        }
        if order && !modified.is_empty() {
            patch.insert(format!("$setElementOrder/{key}"), Value::Array(modified.to_vec()));
        }
        return;
    }
    let key_of = |v: &Value| v.key(merge_key).clone();
    let mut list = Vec::new();
    for m in modified {
        match original.iter().find(|x| key_of(x) == key_of(m)) {
            Some(old) => {
                let empty = Object::new();
                let mut d = diff_maps(map(old, &empty), map(m, &empty), inner(f), o);
                if !d.is_empty() {
                    d.insert(merge_key.to_string(), key_of(m));
                    list.push(Value::Object(d));
                }
            }
            None if !o.ignore_changes => list.push(m.clone()),
            None => {}
        }
    }
    if !o.ignore_deletions {
        for old in original {
            if !modified.iter().any(|m| key_of(m) == key_of(old)) {
                let mut d = Object::new();
                d.insert("$patch".into(), "delete".into());
                d.insert(merge_key.to_string(), key_of(old));
                list.push(Value::Object(d));
            }
        }
    }
    let same_order =
        original.len() == modified.len() && original.iter().zip(modified).all(|(a, b)| key_of(a) == key_of(b));
    let order = (!o.ignore_changes && (!list.is_empty() || !same_order)) || (!o.ignore_deletions && !list.is_empty());
    if !list.is_empty() {
        patch.insert(key.to_string(), Value::Array(list));
    }
    if order && !modified.is_empty() {
        let order = modified
            .iter()
            .map(|m| {
                let mut o = Object::new();
                o.insert(merge_key.to_string(), key_of(m));
                Value::Object(o)
            })
            .collect();
        patch.insert(format!("$setElementOrder/{key}"), Value::Array(order));
    }
}

/// The delta laid over the deletions.
fn combine(mut base: Object, over: Object, schema: Schema) -> Object {
    for (key, v) in over {
        let f = field(schema, &key);
        let merged = match (base.remove(&key), v) {
            (Some(Value::Object(a)), Value::Object(b)) if !is(f, PATCH_REPLACE) => {
                Value::Object(combine(a, b, inner(f)))
            }
            (Some(Value::Array(a)), Value::Array(b)) if is(f, PATCH_MERGE) => Value::Array(combine_lists(a, b, f)),
            (_, v) => v,
        };
        base.insert(key, merged);
    }
    base
}

fn combine_lists(a: Vec<Value>, b: Vec<Value>, f: Option<&'static FieldDesc>) -> Vec<Value> {
    let merge_key = f.and_then(FieldDesc::merge_key).unwrap_or("");
    if merge_key.is_empty() {
        let mut out = b;
        for v in a {
            if !out.contains(&v) {
                out.push(v);
            }
        }
        return out;
    }
    let (deletes, mut changes): (Vec<Value>, Vec<Value>) = a.into_iter().partition(|v| v.str("$patch") == "delete");
    for v in b {
        let at = changes.iter().position(|c| c.key(merge_key) == v.key(merge_key));
        match (at.and_then(|i| changes.get_mut(i)), v) {
            (Some(slot @ Value::Object(_)), Value::Object(over)) => {
                if let Value::Object(under) = std::mem::take(slot) {
                    *slot = Value::Object(combine(under, over, inner(f)));
                }
            }
            (_, v) => changes.push(v),
        }
    }
    changes.extend(deletes);
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::parse(text).unwrap_or_default()
    }

    #[test]
    fn three_way_merges() {
        let schema = schema_of("apps/v1", "Deployment");
        let original = json(
            r#"{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"x","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}]}}}}"#,
        );
        let modified = json(
            r#"{"metadata":{"labels":{"a":"1"}},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"y","env":[{"name":"B","value":"3"}]}]}}}}"#,
        );
        let mut current = original.clone();
        current.set("spec/paused", true);
        assert_eq!(
            three_way(&original, &modified, &current, schema).to_json(),
            r#"{"metadata":{"labels":{"b":null}},"spec":{"replicas":null,"template":{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"$setElementOrder/env":[{"name":"B"}],"env":[{"name":"B","value":"3"},{"$patch":"delete","name":"A"}],"image":"y","name":"c"}]}}}}"#
        );
        assert_eq!(three_way(&modified, &modified, &modified, schema).to_json(), "{}");
    }

    #[test]
    fn two_way_keeps_lists_without_key_whole() {
        let schema = schema_of("v1", "Pod");
        let a = json(r#"{"spec":{"tolerations":[{"key":"x"}],"containers":[{"name":"c","command":["a"]}]}}"#);
        let b = json(r#"{"spec":{"tolerations":[{"key":"y"}],"containers":[{"name":"c","command":["b"]}]}}"#);
        assert_eq!(
            two_way(&a, &b, schema).to_json(),
            r#"{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"command":["b"],"name":"c"}],"tolerations":[{"key":"y"}]}}"#
        );
    }
}
