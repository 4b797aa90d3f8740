//! JSON patch (RFC 6902), in the words of evanphx/json-patch v4.
use super::{Result, fail};
use crate::json::Value;

/// More operations than this the API server refuses.
pub const MAX_OPERATIONS: usize = 10_000;

/// Applies a JSON patch, an array of operations. Where evanphx/json-patch departs from the RFC (replacing what isn't
/// there, negative indexes, null equal to nothing) so does this.
///
/// # Errors
/// An operation that is none or can't be applied; the document is then unchanged.
pub fn json(document: &Value, patch: &Value) -> Result<Value> {
    let Some(operations) = patch.as_array() else {
        return fail(format!("json: cannot unmarshal {} into Go value of type jsonpatch.Patch", patch.type_name()));
    };
    let mut out = document.clone();
    for op in operations {
        operation(&mut out, op)?;
    }
    Ok(out)
}

fn operation(out: &mut Value, op: &Value) -> Result<()> {
    let kind = op.str_at(&["op"]);
    let (path, from) = (op.str_at(&["path"]), op.str_at(&["from"]));
    let value = op.get("value").cloned().unwrap_or_default();
    let missing =
        |what: &str, path: &str| fail(format!("{kind} operation does not apply: {what}{path}: missing value"));
    match kind {
        "add" | "remove" => {
            let Some((con, key)) = container(out, path) else {
                return missing("doc is missing path: ", &format!("\"{path}\""));
            };
            let done = if kind == "add" { add(con, &key, value) } else { remove(con, &key).map(|_| ()) };
            done.or_else(|e| fail(format!("error in {kind} for path: '{path}': {e}")))
        }
        "replace" if path.is_empty() => match value {
            Value::Object(_) | Value::Array(_) => {
                *out = value;
                Ok(())
            }
            _ => fail("replace operation value must be object or array: %!w(<nil>)"),
        },
        "replace" => {
            let Some((con, key)) = container(out, path) else { return missing("doc is missing path: ", path) };
            match con {
                Value::Object(m) => {
                    m.insert(key, value);
                    Ok(())
                }
                Value::Array(a) => match index(&key, a.len()).ok().and_then(|i| a.make().get_mut(i)) {
                    Some(slot) => {
                        *slot = value;
                        Ok(())
                    }
                    None => missing("doc is missing key: ", path),
                },
                _ => missing("doc is missing path: ", path),
            }
        }
        "move" => {
            let Some((con, key)) = container(out, from) else { return missing("doc is missing from path: ", from) };
            let wrong = |at: &str, e: String| fail(format!("error in move for path: '{at}': {e}"));
            let moved = match get(con, &key).and_then(|_| remove(con, &key)) {
                Ok(v) => v,
                Err(e) => return wrong(&key, e),
            };
            let Some((con, key)) = container(out, path) else {
                return missing("doc is missing destination path: ", path);
            };
            add(con, &key, moved).or_else(|e| wrong(path, e))
        }
        "copy" => {
            let Some((con, key)) = container(out, from) else { return missing("doc is missing from path: ", from) };
            let copied = match get(con, &key) {
                Ok(v) => v,
                Err(e) => return fail(format!("error in copy for from: '{from}': {e}")),
            };
            let Some((con, key)) = container(out, path) else {
                return missing("doc is missing destination path: ", path);
            };
            add(con, &key, copied).or_else(|e| fail(format!("error while adding value during copy: {e}")))
        }
        "test" => {
            let failed = || fail(format!("testing value {path} failed: test failed"));
            let found = if path.is_empty() {
                out.clone()
            } else {
                let Some((con, key)) = container(out, path) else { return missing("is missing path: ", path) };
                match get(con, &key) {
                    Ok(v) => v,
                    Err(e) => return fail(format!("error in test for path: '{path}': {e}")),
                }
            };
            if same(&found, &value) { Ok(()) } else { failed() }
        }
        kind => fail(format!("Unexpected kind: {kind}")),
    }
}

/// Equality that knows no difference between 1 and 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(i), Value::Float(f)) | (Value::Float(f), Value::Int(i)) => *i as f64 == *f,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, v), (l, w))| k == l && same(v, w))
        }
        (a, b) => a == b,
    }
}

/// The parts of a JSON pointer; none of the whole document's.
pub fn pointer(path: &str) -> impl Iterator<Item = String> + '_ {
    path.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
}

/// The object or array that holds what a path names, and the last part of the path.
fn container<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let parts: Vec<String> = pointer(path).collect();
    let [parents @ .., last] = parts.as_slice() else { return None };
    let con = parents.iter().try_fold(document, |v, t| match v {
        Value::Object(m) => m.get_mut(t),
        Value::Array(a) => {
            let i = index(t, a.len()).ok()?;
            a.make().get_mut(i)
        }
        _ => None,
    })?;
    matches!(con, Value::Object(_) | Value::Array(_)).then(|| (con, last.clone()))
}

type Done<T> = std::result::Result<T, String>;

fn invalid_index<T>(i: i64) -> Done<T> {
    Err(format!("Unable to access invalid index: {i}: invalid index referenced"))
}
fn number(key: &str) -> Done<i64> {
    // Go takes a sign.
    key.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", crate::go::quote(key)))
}
/// The place of an index below `len`; negative ones count from the end.
fn index(key: &str, len: usize) -> Done<usize> {
    let (i, len) = (number(key)?, len as i64);
    if i >= len || i < -len {
        return invalid_index(i);
    }
    Ok((if i < 0 { i + len } else { i }) as usize)
}
fn get(con: &Value, key: &str) -> Done<Value> {
    match con {
        Value::Array(a) => Ok(index(key, a.len()).map(|i| a.get(i).cloned().unwrap_or_default())?),
        v => Ok(v.get(key).cloned().unwrap_or_default()),
    }
}
fn add(con: &mut Value, key: &str, value: Value) -> Done<()> {
    match con {
        Value::Array(a) if key == "-" => a.push(value),
        Value::Array(a) => {
            let i = number(key).map_err(|e| format!("value was not a proper array index: '{key}': {e}"))?;
            let at = index(&i.to_string(), a.len() + 1)?;
            a.make().insert(at, value);
        }
        Value::Object(m) => {
            m.insert(key, value);
        }
        _ => {}
    }
    Ok(())
}
fn remove(con: &mut Value, key: &str) -> Done<Value> {
    match con {
        Value::Array(a) => {
            let i = index(key, a.len())?;
            Ok(a.make().remove(i))
        }
        Value::Object(m) => {
            m.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value"))
        }
        _ => Ok(Value::Null),
    }
}
