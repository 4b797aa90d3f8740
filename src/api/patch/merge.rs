//! JSON merge patch (RFC 7386), and the making of one (apimachinery's jsonmergepatch over evanphx/json-patch).
use super::{Result, fail};
use crate::json::Value;
use crate::value::Map;

/// Applies a JSON merge patch: null removes, objects merge, everything else replaces.
pub fn merge(document: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut out = match document {
        Value::Object(m) => m.clone(),
        _ => Map::empty(),
    };
    for (k, v) in changes {
        match (v, out.get(k)) {
            (Value::Null, _) => {
                out.remove(k);
            }
            (Value::Object(_), old) => {
                let merged = merge(old.unwrap_or(&Value::Null), v);
                out.insert(k, merged);
            }
            (v, _) => {
                out.insert(k, v.clone());
            }
        }
    }
    Value::Object(out)
}

/// The merge patch from one object to another.
pub fn create_merge(from: &Value, to: &Value) -> Value {
    let empty = Map::new();
    let (a, b) = (from.as_object().unwrap_or(&empty), to.as_object().unwrap_or(&empty));
    let mut out = Map::empty();
    for (k, old) in a {
        match (old, b.get(k)) {
            (_, None) => {
                out.insert(k, Value::Null);
            }
            (Value::Object(_), Some(new @ Value::Object(_))) => {
                let patch = create_merge(old, new);
                if patch.as_object().is_some_and(|m| !m.is_empty()) {
                    out.insert(k, patch);
                }
            }
            (old, Some(new)) if old != new => {
                out.insert(k, new.clone());
            }
            _ => {}
        }
    }
    for (k, new) in b {
        if !a.contains_key(k) {
            out.insert(k, new.clone());
        }
    }
    Value::Object(out)
}

/// The merge patch that `kubectl apply` sends: what changed from `current` to `modified`, and what was there in
/// `original` and no longer is in `modified`.
///
/// # Errors
/// When the two contradict each other.
pub fn create_three_way_merge(original: &Value, modified: &Value, current: &Value) -> Result<Value> {
    let changes = filter(&create_merge(current, modified), false);
    let deletions = filter(&create_merge(original, modified), true);
    if conflicts(&changes, &deletions) {
        return fail(format!(
            "patch:\n{}\nconflicts with changes made from original to current:\n{}\n",
            crate::yaml::print(&changes),
            crate::yaml::print(&deletions)
        ));
    }
    Ok(combine(&deletions, &changes))
}

/// Keeps only the nulls, or everything else.
fn filter(patch: &Value, nulls: bool) -> Value {
    let mut out = Map::empty();
    for (k, v) in patch.as_object().unwrap_or(&Map::new()) {
        match v {
            Value::Null if nulls => {
                out.insert(k, Value::Null);
            }
            Value::Null => {}
            // An empty object is a value, not an empty patch.
            Value::Object(m) if m.is_empty() && !nulls => {
                out.insert(k, v.clone());
            }
            Value::Object(_) => {
                let kept = filter(v, nulls);
                if kept.as_object().is_some_and(|m| !m.is_empty()) {
                    out.insert(k, kept);
                }
            }
            v if !nulls => {
                out.insert(k, v.clone());
            }
            _ => {}
        }
    }
    Value::Object(out)
}

fn conflicts(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.iter().any(|(k, v)| b.get(k).is_some_and(|w| conflicts(v, w))),
        (Value::Array(a), Value::Array(b)) => a.len() != b.len() || a.iter().zip(b).any(|(a, b)| conflicts(a, b)),
        (a, b) => a != b,
    }
}

/// Joins two patches, nulls of the first included.
fn combine(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let mut out = x.clone();
            for (k, v) in y {
                let joined = x.get(k).map_or_else(|| v.clone(), |old| combine(old, v));
                out.insert(k, joined);
            }
            Value::Object(out)
        }
        (_, b) => b.clone(),
    }
}
