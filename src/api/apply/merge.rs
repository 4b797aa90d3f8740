//! Merging an applied document into a live one, and taking fields out of one.
use super::set::{Element, Set};
use super::shape::{Kind, Relation, Shape, Told};
use super::walk::View;
use crate::json::Value;
use crate::value::{List, Map};

/// The live document with what is applied in it; what only the live one has stays.
///
/// # Errors
/// Go's text, where the items of a keyed list can't be told apart.
pub(super) fn merge(live: &Value, applied: &Value, shape: Shape) -> Result<Value, String> {
    Ok(both(Some(live), Some(applied), shape)?.unwrap_or(Value::Null))
}

fn both(live: Option<&Value>, applied: Option<&Value>, shape: Shape) -> Result<Option<Value>, String> {
    let told = match (live, applied) {
        (_, Some(v)) => Told::of(v),
        (Some(v), None) => Told::of(v),
        (None, None) => return Ok(None),
    };
    let leaf = || Ok(applied.or(live).cloned());
    let none = |v: Option<&Value>| match v {
        Some(Value::Object(m)) => m.is_empty(),
        Some(Value::Array(a)) => a.is_empty(),
        _ => true,
    };
    match shape.kind_for(told) {
        Kind::Scalar(_) | Kind::Deduced => leaf(),
        Kind::Struct(_, true) | Kind::Map(_, true) | Kind::List(Relation::Atomic, _) => leaf(),
        _ if none(live) && none(applied) => leaf(),
        Kind::Struct(..) | Kind::Map(..) => {
            let empty = Map::new();
            let a = live.and_then(Value::as_object).unwrap_or(&empty);
            let b = applied.and_then(Value::as_object).unwrap_or(&empty);
            let mut out = Map::empty();
            for k in a.keys().chain(b.keys().filter(|k| !a.contains_key(k))) {
                if let Some(v) = both(a.get(k), b.get(k), shape.child(k).0)? {
                    out.insert(k, v);
                }
            }
            Ok((!out.is_empty()).then_some(Value::Object(out)))
        }
        Kind::List(relation, item) => {
            let empty = List::new();
            let a = live.and_then(Value::as_array).unwrap_or(&empty);
            let b = applied.and_then(Value::as_array).unwrap_or(&empty);
            let out = lists(a, b, relation, item)?;
            Ok((!out.is_empty()).then(|| out.into()))
        }
    }
}

/// The items of a keyed list with their elements.
///
/// # Errors
/// Items without keys; duplicates unless they are allowed.
fn elements(
    list: &List<Value>,
    relation: Relation,
    item: Shape,
    duplicates: bool,
) -> Result<Vec<(Element, &Value)>, String> {
    let mut out: Vec<(Element, &Value)> = Vec::new();
    for (i, v) in list.iter().enumerate() {
        let e = View::Json(v.clone()).element(relation, item).map_err(|e| format!("element {i}: {e}"))?;
        if !duplicates && out.iter().any(|(o, _)| *o == e) {
            return Err(format!("duplicate entries for key {e}"));
        }
        out.push((e, v));
    }
    Ok(out)
}

/// structured-merge-diff's order: the applied order wins among shared items, live ones stay where they were.
fn lists(live: &List<Value>, applied: &List<Value>, relation: Relation, item: Shape) -> Result<Vec<Value>, String> {
    let right = elements(applied, relation, item, false)?;
    let left = elements(live, relation, item, true)?;
    let in_left = |e: &Element| left.iter().any(|(o, _)| o == e);
    let in_right = |e: &Element| right.iter().find(|(o, _)| o == e).map(|(_, v)| *v);
    // A duplicate in the live list is no item to merge with.
    let one_left = |e: &Element| {
        let mut found = left.iter().filter(|(o, _)| o == e);
        match (found.next(), found.next()) {
            (Some((_, v)), None) => Some(*v),
            _ => None,
        }
    };
    let mut shared = right.iter().map(|(e, _)| e).filter(|e| in_left(e));
    let mut next_shared = shared.next();
    let mut merged: Vec<&Element> = Vec::new();
    let mut out = Vec::new();
    let (mut l, mut r) = (0, 0);
    loop {
        match (left.get(l), right.get(r)) {
            (None, None) => return Ok(out),
            (Some((e, _)), Some((f, _))) => {
                if e == f {
                    merged.push(e);
                    out.extend(both(one_left(e), in_right(e), item)?);
                    l += 1;
                    r += 1;
                    next_shared = shared.next();
                    continue;
                }
                if in_right(e).is_some() && next_shared.is_some_and(|n| n != e) {
                    // It comes later, in the applied order.
                    l += 1;
                    continue;
                }
            }
            _ => {}
        }
        if let Some((e, v)) = left.get(l) {
            if in_right(e).is_none() {
                out.extend(both(Some(v), None, item)?);
                l += 1;
                continue;
            } else if merged.contains(&e) {
                l += 1;
            }
        }
        if let Some((e, v)) = right.get(r) {
            merged.push(e);
            out.extend(both(one_left(e), Some(v), item)?);
            r += 1;
            if next_shared == Some(e) {
                next_shared = shared.next();
            }
        }
    }
}

/// The document without the fields of a set; what becomes empty goes.
pub(super) fn remove(v: &Value, set: &Set, shape: Shape) -> Value {
    match (shape.kind_for(Told::of(v)), v) {
        (Kind::Struct(_, false) | Kind::Map(_, false), Value::Object(m)) => {
            let mut out = Map::empty();
            for (k, below) in m {
                let e = Element::Field(k.clone());
                if set.members.contains(&e) {
                    continue;
                }
                let kept = match set.children.get(&e) {
                    Some(c) if !c.is_empty() => remove(below, c, shape.child(k).0),
                    _ => below.clone(),
                };
                out.insert(k, kept);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        (Kind::List(Relation::Set | Relation::Keys(_), _), Value::Array(a)) => {
            let Kind::List(relation, item) = shape.kind_for(Told::of(v)) else { return Value::Null };
            let mut out = Vec::new();
            for below in a {
                let Ok(e) = View::Json(below.clone()).element(relation, item) else {
                    out.push(below.clone());
                    continue;
                };
                if set.members.contains(&e) {
                    continue;
                }
                out.push(match set.children.get(&e) {
                    Some(c) if !c.is_empty() => remove(below, c, item),
                    _ => below.clone(),
                });
            }
            if out.is_empty() { Value::Null } else { out.into() }
        }
        (Kind::Scalar(_), v) => v.clone(),
        // Atomic lists and maps that lose something lose all.
        _ => Value::Null,
    }
}
