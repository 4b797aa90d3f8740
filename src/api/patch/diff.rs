//! The making of strategic merge patches, as apimachinery's strategicpatch does for `kubectl apply`.
use super::schema::{Schema, Strategy};
use super::strategic::{
    DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Onto, RETAIN_KEYS, SET_ELEMENT_ORDER, deduplicated, element_is_map, item,
    merge_map, sort_by_list,
};
use super::{Result, fail};
use crate::SortSmall;
use crate::go;
use crate::json::Value;
use crate::object::TypeDesc;
use crate::value::{List, Map, Str};

#[derive(Clone, Copy)]
struct Options {
    ignore_changes: bool,
    ignore_deletions: bool,
    build_retain_keys: bool,
}

/// The strategic merge patch from one object to another.
///
/// # Errors
/// Go's text.
pub fn create_two_way(original: &Value, modified: &Value, desc: &'static TypeDesc) -> Result<Value> {
    let options = Options { ignore_changes: false, ignore_deletions: false, build_retain_keys: false };
    maps(&object(original), &object(modified), Schema::Struct(desc), options).map(Value::Object)
}

/// The strategic merge patch that `kubectl apply` sends: what changed from `current` to `modified`, and what was there
/// in `original` (the last applied configuration) and no longer is in `modified`.
///
/// # Errors
/// Go's text.
pub fn create_three_way(original: &Value, modified: &Value, current: &Value, desc: &'static TypeDesc) -> Result<Value> {
    let schema = Schema::Struct(desc);
    let (original, modified, current) = (object(original), object(modified), object(current));
    let changes = Options { ignore_changes: false, ignore_deletions: true, build_retain_keys: false };
    let deletions = Options { ignore_changes: true, ignore_deletions: false, build_retain_keys: false };
    let delta = maps(&current, &modified, schema, changes)?;
    let deleted = maps(&original, &modified, schema, deletions)?;
    merge_map(deleted, delta, schema, Onto::Patch).map(Value::Object)
}

fn object(v: &Value) -> Map<Value> {
    v.as_object().cloned().unwrap_or_default()
}

fn maps(original: &Map<Value>, modified: &Map<Value>, schema: Schema, options: Options) -> Result<Map<Value>> {
    let mut patch = Map::empty();
    for (key, new) in modified {
        let Some(old) = original.get(key) else {
            if !options.ignore_changes {
                patch.insert(key, new.clone());
            }
            continue;
        };
        if key == DIRECTIVE {
            match (old, new) {
                (Value::Str(a), Value::Str(b)) => {
                    if a != b {
                        patch.insert(key, new.clone());
                    }
                }
                _ => return fail(format!("invalid value for special key: {DIRECTIVE}")),
            }
            continue;
        }
        match (old, new) {
            (Value::Object(a), Value::Object(b)) => {
                let (sub, meta) = match schema.object(key) {
                    Ok(found) => found,
                    Err(_) if a == b => continue,
                    Err(e) => return Err(e),
                };
                match meta.strategy {
                    Strategy::Replace => {
                        if !options.ignore_changes {
                            patch.insert(key, new.clone());
                        }
                    }
                    _ => {
                        let options = Options { build_retain_keys: meta.retain_keys, ..options };
                        let below = maps(a, b, sub, options)?;
                        if !below.is_empty() {
                            patch.insert(key, Value::Object(below));
                        }
                    }
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                let (sub, meta) = match schema.list(key) {
                    Ok(found) => found,
                    Err(_) if a == b => continue,
                    Err(e) => return Err(e),
                };
                match meta.strategy {
                    Strategy::Merge => {
                        let options = Options { build_retain_keys: meta.retain_keys, ..options };
                        let d = lists(a, b, sub, meta.merge_key, options)?;
                        for (list, name) in [
                            (d.patch, key.to_string()),
                            (d.deleted, format!("{DELETE_FROM_PRIMITIVE_LIST}/{key}")),
                            (d.order, format!("{SET_ELEMENT_ORDER}/{key}")),
                        ] {
                            if !list.is_empty() {
                                patch.insert(name, list.into());
                            }
                        }
                    }
                    _ => replace(&mut patch, key, old, new, options),
                }
            }
            _ => replace(&mut patch, key, old, new, options),
        }
    }
    if !options.ignore_deletions {
        for key in original.keys().filter(|k| !modified.contains_key(k)) {
            patch.insert(key, Value::Null);
        }
    }
    if options.build_retain_keys {
        let mut keys: Vec<Str> = modified.iter().filter(|(_, v)| !v.is_null()).map(|(k, _)| k.clone()).collect();
        let gone = original.iter().any(|(k, v)| !v.is_null() && !modified.contains_key(k));
        if !keys.is_empty() && (!patch.is_empty() || gone) {
            keys.sort_small();
            patch.insert(RETAIN_KEYS, keys.into_iter().map(Value::Str).collect::<Vec<_>>().into());
        }
    }
    Ok(patch)
}

fn replace(patch: &mut Map<Value>, key: &Str, old: &Value, new: &Value, options: Options) {
    if !options.ignore_changes && old != new {
        patch.insert(key, new.clone());
    }
}

#[derive(Default)]
struct ListDiff {
    patch: Vec<Value>,
    deleted: Vec<Value>,
    order: Vec<Value>,
}

fn lists(a: &List<Value>, b: &List<Value>, schema: Schema, merge_key: &str, options: Options) -> Result<ListDiff> {
    if a.is_empty() {
        let patch = if options.ignore_changes { Vec::new() } else { b.to_vec() };
        return Ok(ListDiff { patch, ..Default::default() });
    }
    if element_is_map(&[a, b])? {
        let (patch, deleted) = lists_of_maps(a, b, schema, merge_key, options)?;
        let mut patch = sort_by_list(patch, b, merge_key, true)?;
        let mut same_order = a.len() == b.len();
        for (x, y) in a.iter().zip(b) {
            same_order = same_order && item(x, merge_key)?.1 == item(y, merge_key)?.1;
        }
        patch.extend(deleted);
        let order = if !options.ignore_changes && (!patch.is_empty() || !same_order)
            || !options.ignore_deletions && !patch.is_empty()
        {
            b.iter()
                .map(|v| item(v, merge_key).map(|(_, k)| Value::from_iter([(merge_key, k.clone())])))
                .collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        return Ok(ListDiff { patch, deleted: Vec::new(), order });
    }
    let (patch, deleted) = lists_of_scalars(a, b, options);
    let patch = sort_by_list(patch, b, merge_key, false)?;
    // Go has sorted the old list in place by now.
    let same = sorted(a, go::plain).into_iter().map(|(_, v)| v).eq(b.iter().cloned());
    let order = !options.ignore_deletions && !deleted.is_empty() || !options.ignore_changes && !same;
    let order = if order { b.to_vec() } else { Vec::new() };
    Ok(ListDiff { patch, deleted, order })
}

fn sorted(list: &[Value], key: impl Fn(&Value) -> String) -> Vec<(String, Value)> {
    let mut out: Vec<(String, Value)> = list.iter().map(|v| (key(v), v.clone())).collect();
    out.sort_small_by(|a, b| a.0.cmp(&b.0));
    out
}

fn lists_of_scalars(a: &List<Value>, b: &List<Value>, options: Options) -> (Vec<Value>, Vec<Value>) {
    let (old, new) = (sorted(a, go::plain), sorted(b, go::plain));
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    let (mut x, mut y) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        let (take_old, take_new) = match (x.peek(), y.peek()) {
            (Some(p), Some(q)) => (p.0 <= q.0, q.0 <= p.0),
            (p, q) => (p.is_some(), q.is_some()),
        };
        let (p, q) = (if take_old { x.next() } else { None }, if take_new { y.next() } else { None });
        match (p, q) {
            (None, None) => break,
            (Some(_), Some(_)) => {}
            (Some(p), None) if !options.ignore_deletions => deleted.push(p.1),
            (None, Some(q)) if !options.ignore_changes => added.push(q.1),
            _ => {}
        }
    }
    (added, deduplicated(deleted))
}

fn lists_of_maps(
    a: &List<Value>,
    b: &List<Value>,
    schema: Schema,
    merge_key: &str,
    options: Options,
) -> Result<(Vec<Value>, Vec<Value>)> {
    let keyed = |l: &List<Value>| sorted(l, |v| go::plain(v.get(merge_key).unwrap_or(&Value::Null)));
    let (mut x, mut y) = (keyed(a).into_iter().peekable(), keyed(b).into_iter().peekable());
    let (mut patch, mut deleted) = (Vec::new(), Vec::new());
    loop {
        if let Some(p) = x.peek() {
            item(&p.1, merge_key)?;
        }
        if let Some(q) = y.peek() {
            item(&q.1, merge_key)?;
        }
        let (take_old, take_new) = match (x.peek(), y.peek()) {
            (Some(p), Some(q)) => (p.0 <= q.0, q.0 <= p.0),
            (p, q) => (p.is_some(), q.is_some()),
        };
        let (p, q) = (if take_old { x.next() } else { None }, if take_new { y.next() } else { None });
        match (p, q) {
            (None, None) => return Ok((patch, deleted)),
            (Some((_, p)), Some((_, q))) => {
                let ((old, _), (new, key)) = (item(&p, merge_key)?, item(&q, merge_key)?);
                let mut below = maps(old, new, schema, options)?;
                if !below.is_empty() {
                    below.insert(merge_key, key.clone());
                    patch.push(Value::Object(below));
                }
            }
            (None, Some((_, q))) => {
                if !options.ignore_changes {
                    patch.push(q);
                }
            }
            (Some((_, p)), None) => {
                if !options.ignore_deletions {
                    let key = item(&p, merge_key)?.1.clone();
                    deleted.push(Value::from_iter([(merge_key, key), (DIRECTIVE, "delete".into())]));
                }
            }
        }
    }
}
