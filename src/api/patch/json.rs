//! JSON patch (RFC 6902), in the words of evanphx/json-patch v4.
use super::{Result, fail};
use crate::json::Value;

/// More operations than this the API server refuses.
pub const MAX_OPERATIONS: usize = 10_000;

/// Applies a JSON patch, an array of operations.
///
/// # Errors
/// An operation that is none or can't be applied; the document is then unchanged.
pub fn json(document: &Value, patch: &Value) -> Result<Value> {
    let Some(operations) = patch.as_array() else {
        return fail(format!("json: cannot unmarshal {} into Go value of type jsonpatch.Patch", patch.type_name()));
    };
    let mut out = document.clone();
    for op in operations {
        let path = op.str_at(&["path"]);
        let value = op.get("value");
        match op.str_at(&["op"]) {
            "add" => add(&mut out, path, value.cloned().unwrap_or_default(), "add")?,
            "remove" => {
                remove(&mut out, path, "remove")?;
            }
            "replace" => {
                let missing =
                    || fail(format!("replace operation does not apply: doc is missing key: {path}: missing value"));
                let new = value.cloned().unwrap_or_default();
                match find_mut(&mut out, &tokens(path)) {
                    Some(old) => *old = new,
                    None => return missing(),
                }
            }
            "move" => {
                let moved = remove(&mut out, op.str_at(&["from"]), "move")?;
                add(&mut out, path, moved, "move")?;
            }
            "copy" => {
                let from = op.str_at(&["from"]);
                match find(&out, &tokens(from)).cloned() {
                    Some(v) => add(&mut out, path, v, "copy")?,
                    None => {
                        return fail(format!(
                            "copy operation does not apply: doc is missing from path: {from}: missing value"
                        ));
                    }
                }
            }
            "test" => {
                // To evanphx a missing value equals null.
                let found = find(&out, &tokens(path)).cloned().unwrap_or_default();
                if !same(&found, &value.cloned().unwrap_or_default()) {
                    return fail(format!("testing value {path} failed: test failed"));
                }
            }
            kind => return fail(format!("Unexpected kind: {kind}")),
        }
    }
    Ok(out)
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

fn tokens(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|t| t.replace("~1", "/").replace("~0", "~")).collect()
}

/// The place of an index in a list; negative ones count from its end, as the API server allows.
fn index(token: &str, len: usize) -> Option<usize> {
    let i: i64 = token.parse().ok()?;
    let i = if i < 0 { i.checked_add(i64::try_from(len).ok()?)? } else { i };
    usize::try_from(i).ok()
}

fn find<'a>(v: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(v, |v, t| match v {
        Value::Object(m) => m.get(t),
        Value::Array(a) => a.get(index(t, a.len())?),
        _ => None,
    })
}

fn find_mut<'a>(v: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(v, |v, t| match v {
        Value::Object(m) => m.get_mut(t),
        Value::Array(a) => {
            let i = index(t, a.len())?;
            a.make().get_mut(i)
        }
        _ => None,
    })
}

fn add(document: &mut Value, path: &str, value: Value, op: &str) -> Result<()> {
    let missing = || fail(format!("{op} operation does not apply: doc is missing path: \"{path}\": missing value"));
    let tokens = tokens(path);
    let Some((last, parents)) = tokens.split_last() else {
        if path.is_empty() {
            *document = value;
            return Ok(());
        }
        return missing();
    };
    match find_mut(document, parents) {
        Some(Value::Object(m)) => {
            m.insert(last.as_str(), value);
            Ok(())
        }
        Some(Value::Array(a)) => {
            let len = a.len();
            let at = if last == "-" { Some(len) } else { index(last, len) };
            match at {
                Some(i) if i <= len => {
                    a.make().insert(i, value);
                    Ok(())
                }
                Some(i) => fail(format!("Unable to access invalid index: {i}: invalid index referenced")),
                None => fail(format!("value was not a proper array index: '{last}': invalid index referenced")),
            }
        }
        _ => missing(),
    }
}

fn remove(document: &mut Value, path: &str, op: &str) -> Result<Value> {
    let missing = || fail(format!("{op} operation does not apply: doc is missing path: \"{path}\": missing value"));
    let tokens = tokens(path);
    let Some((last, parents)) = tokens.split_last() else { return missing() };
    match find_mut(document, parents) {
        Some(Value::Object(m)) => match m.remove(last) {
            Some(v) => Ok(v),
            None => fail(format!(
                "error in {op} for path: '{path}': Unable to remove nonexistent key: {last}: missing value"
            )),
        },
        Some(Value::Array(a)) => match index(last, a.len()) {
            Some(i) if i < a.len() => Ok(a.make().remove(i)),
            _ => fail(format!("Unable to access invalid index: {last}: invalid index referenced")),
        },
        _ => missing(),
    }
}
