//! Strategic merge patch, with all its directives, as apimachinery's strategicpatch applies it.
use super::schema::{Schema, Strategy};
use super::{Error, Result, fail};
use crate::go;
use crate::json::Value;
use crate::object::TypeDesc;
use crate::value::{List, Map, Str};

pub(super) const DIRECTIVE: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Whether a patch is being applied to an object, or to another patch (the making of a three-way patch).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Onto {
    Object,
    Patch,
}

/// Applies a strategic merge patch to an object of a type.
///
/// # Errors
/// Go's text.
pub fn strategic(document: &Value, patch: &Value, desc: &'static TypeDesc) -> Result<Value> {
    let object = |v: &Value| match v {
        Value::Object(m) => Ok(m.clone()),
        // What the API server says of such a patch.
        v => fail(format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", v.type_name())),
    };
    merge_map(object(document)?, object(patch)?, Schema::Struct(desc), Onto::Object).map(Value::Object)
}

pub(super) fn merge_map(original: Map<Value>, patch: Map<Value>, schema: Schema, onto: Onto) -> Result<Map<Value>> {
    let (mut original, mut patch) = (original, patch);
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Map::empty()),
            _ => bad_patch_type(&directive.clone(), &patch),
        };
    }
    retain_keys(&mut original, &mut patch, onto)?;
    set_element_order(&mut original, &mut patch, schema, onto)?;
    for (key, value) in &patch {
        let mut key = key.as_str();
        let mut is_delete_list = false;
        if key.starts_with(DELETE_FROM_PRIMITIVE_LIST) {
            if onto == Onto::Patch {
                original.insert(key, value.clone());
                continue;
            }
            is_delete_list = true;
            key = field_of(key, DELETE_FROM_PRIMITIVE_LIST)?;
        }
        if value.is_null() {
            original.remove(key);
            if onto == Onto::Object {
                continue;
            }
        }
        let replaced = match original.get(key) {
            None => None,
            Some(old) if std::mem::discriminant(old) != std::mem::discriminant(value) => None,
            Some(old) => Some(old.clone()),
        };
        let merged = match (replaced, value) {
            (None, _) => {
                if is_delete_list {
                    continue;
                }
                let value = if onto == Onto::Object { without_nulls(value) } else { value.clone() };
                without_directives(&value)
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                let (sub, meta) = schema.object(key)?;
                Some(Value::Object(match meta.strategy {
                    Strategy::Replace => new.clone(),
                    _ => merge_map(old, new.clone(), sub, onto)?,
                }))
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let (sub, meta) = schema.list(key)?;
                Some(Value::Array(merge_lists(old, new, sub, meta, is_delete_list, onto)?))
            }
            (Some(_), value) => without_directives(value),
        };
        match merged {
            Some(v) => {
                original.insert(key, v);
            }
            None => {
                original.remove(key);
            }
        }
    }
    Ok(original)
}

fn bad_patch_type<T>(directive: &Value, patch: &Map<Value>) -> Result<T> {
    fail(format!("unknown patch type: {} in map: {}", go::plain(directive), go::plain_map(patch)))
}

fn no_merge_key<T>(m: &Map<Value>, key: &str) -> Result<T> {
    fail(format!("map: {} does not contain declared merge key: {key}", go::plain_map(m)))
}

/// The items as objects, each with the merge key.
pub(super) fn item<'a>(v: &'a Value, merge_key: &str) -> Result<(&'a Map<Value>, &'a Value)> {
    let Value::Object(m) = v else {
        return fail(format!("expected a map[string]interface {{}}, but received a {}", go_type(v)));
    };
    match m.get(merge_key) {
        Some(k) => Ok((m, k)),
        None => no_merge_key(m, merge_key),
    }
}
pub(super) fn go_type(v: &Value) -> &'static str {
    match v {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `$setElementOrder/containers` -> `containers`
fn field_of<'a>(key: &'a str, prefix: &str) -> Result<&'a str> {
    match key.split_once('/') {
        Some((p, field)) if p == prefix => Ok(field),
        _ if prefix == DELETE_FROM_PRIMITIVE_LIST => fail("invalid patch format of primitive list"),
        _ => fail("invalid patch format of setElementOrder list"),
    }
}

fn retain_keys(original: &mut Map<Value>, patch: &mut Map<Value>, onto: Onto) -> Result<()> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    if onto == Onto::Patch {
        match original.get(RETAIN_KEYS) {
            Some(old) if *old != keys => {
                return fail(format!(
                    "{} and {} are not deep equal: this may happen when calculating the 3-way diff patch",
                    go::plain(old),
                    go::plain(&keys)
                ));
            }
            Some(_) => {}
            None => {
                original.insert(RETAIN_KEYS, keys);
            }
        }
        return Ok(());
    }
    let bad = || fail("invalid patch format of retainKeys");
    let Value::Array(keys) = &keys else { return bad() };
    let kept = |k: &str| keys.iter().any(|v| v.as_str() == Some(k));
    let stray = patch.iter().any(|(k, v)| {
        !v.is_null() && !k.starts_with(DELETE_FROM_PRIMITIVE_LIST) && !k.starts_with(SET_ELEMENT_ORDER) && !kept(k)
    });
    if stray {
        return bad();
    }
    original.retain(|k, _| kept(k));
    Ok(())
}

/// Merges the lists that have a `$setElementOrder` in the patch and orders them; both leave the patch.
fn set_element_order(original: &mut Map<Value>, patch: &mut Map<Value>, schema: Schema, onto: Onto) -> Result<()> {
    let directives: Vec<Str> = patch.keys().filter(|k| k.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for key in directives {
        let Some(order) = patch.remove(&key) else { continue };
        let bad = || fail("invalid patch format of setElementOrder list");
        if onto == Onto::Patch {
            match original.get(&key) {
                Some(old) if *old != order => return bad(),
                Some(_) => {}
                None => {
                    original.insert(&key, order.clone());
                }
            }
        }
        let list = |v: &Value| match v {
            Value::Array(a) => Ok(a.clone()),
            v => fail(format!("expected a []interface {{}}, but received a {}", go_type(v))),
        };
        let order = list(&order)?;
        let field = field_of(&key, SET_ELEMENT_ORDER)?;
        let old = original.get(field).map(list).transpose()?;
        let new = patch.get(field).map(list).transpose()?;
        let (sub, meta) = schema.list(field)?;
        let empty = List::new();
        check_order(new.as_ref().unwrap_or(&empty), &order, meta.merge_key)?;
        let merged = match (&old, &new) {
            (Some(old), None) => old.clone(),
            (None, Some(new)) => match without_directives(&Value::Array(new.clone())) {
                Some(Value::Array(a)) => a,
                _ => continue,
            },
            (Some(old), Some(new)) => merge_lists(old.clone(), new, sub, meta, false, onto)?,
            (None, None) => continue,
        };
        let (ours, theirs) = partition(&merged, &order, meta.merge_key)?;
        let is_map = element_is_map(&[old.as_ref().unwrap_or(&empty), new.as_ref().unwrap_or(&empty)])?;
        let server = match (&old, &new) {
            (Some(old), Some(new)) if is_map && meta.strategy == Strategy::Merge => {
                order_after_merge(old, new, meta.merge_key)
            }
            (old, _) => old.clone().unwrap_or_default(),
        };
        let both = ordered(ours, theirs, &order, &server, meta.merge_key, is_map)?;
        original.insert(field, Value::Array(both));
        patch.remove(field);
    }
    Ok(())
}

/// The server's list as Go sees it after merging: its slice shares memory with the merged one, so that deleted items
/// are gone from it and new ones stand where there is room.
fn order_after_merge(old: &List<Value>, patch: &List<Value>, merge_key: &str) -> List<Value> {
    let mut view = old.to_vec();
    let mut len = view.len();
    let key = |v: &Value| v.get(merge_key).cloned();
    for v in patch.iter().filter(|v| v.str_at(&[DIRECTIVE]) == "delete") {
        while let Some(at) = view.iter().take(len).position(|o| key(o).is_some() && key(o) == key(v)) {
            for i in at..len - 1 {
                view[i] = view[i + 1].clone();
            }
            len -= 1;
        }
    }
    if patch.iter().any(|v| v.str_at(&[DIRECTIVE]) == "replace") {
        return view.into();
    }
    for v in patch.iter().filter(|v| v.get(DIRECTIVE).is_none()) {
        if view.iter().take(len).any(|o| key(o) == key(v)) {
            continue;
        }
        match view.get_mut(len) {
            Some(slot) => *slot = v.clone(),
            None => break,
        }
        len += 1;
    }
    view.into()
}

/// The patch's items must stand in the order of the order list.
fn check_order(patch: &List<Value>, order: &List<Value>, merge_key: &str) -> Result<()> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let keyed = !merge_key.is_empty();
    let kept: Vec<&Value> = patch.iter().filter(|v| !keyed || v.str_at(&[DIRECTIVE]) != "delete").collect();
    let (mut i, mut j) = (0, 0);
    while let (Some(v), Some(o)) = (kept.get(i), order.get(j)) {
        if v.get(DIRECTIVE).is_some() {
            i += 1;
            continue;
        }
        let equal = if keyed { item(v, merge_key)?.1 == item(o, merge_key)?.1 } else { *v == o };
        i += usize::from(equal);
        j += 1;
    }
    if i < kept.len() {
        return fail(format!(
            "The order in patch list:\n{}\n doesn't match {SET_ELEMENT_ORDER} list:\n{}\n",
            go::plain(&Value::Array(patch.clone())),
            go::plain(&Value::Array(order.clone()))
        ));
    }
    Ok(())
}

/// The items that are in a list, and those that aren't.
fn partition(items: &List<Value>, by: &List<Value>, merge_key: &str) -> Result<(Vec<Value>, Vec<Value>)> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for v in items {
        let found = if merge_key.is_empty() {
            by.contains(v)
        } else {
            let key = item(v, merge_key)?.1;
            by.iter().any(|o| o.get(merge_key) == Some(key))
        };
        if found { inside.push(v.clone()) } else { outside.push(v.clone()) }
    }
    Ok((inside, outside))
}

/// Whether the items are objects; all must be of one kind.
pub(super) fn element_is_map(lists: &[&List<Value>]) -> Result<bool> {
    let mut kind = None;
    for v in lists.iter().flat_map(|l| l.iter()) {
        match kind {
            None if matches!(v, Value::Array(_)) => return fail("lists of lists are not supported"),
            None => kind = Some(v),
            Some(k) if std::mem::discriminant(k) != std::mem::discriminant(v) => {
                let shown: Vec<String> = lists.iter().map(|l| go::plain(&Value::Array((*l).clone()))).collect();
                return fail(format!("list element types are not identical: [{}]", shown.join(" ")));
            }
            Some(_) => {}
        }
    }
    match kind {
        Some(v) => Ok(matches!(v, Value::Object(_))),
        None => fail("no elements in any of the given slices"),
    }
}

fn position(list: &[Value], v: &Value, merge_key: &str, is_map: bool) -> Option<usize> {
    match is_map {
        true => {
            let key = v.get(merge_key);
            list.iter().position(|o| o.get(merge_key) == key)
        }
        false => list.contains(v).then(|| list.iter().position(|o| o == v)).flatten(),
    }
}

/// Sorts items by where they stand in a list; those to be deleted come last.
pub(super) fn sort_by_list(items: Vec<Value>, order: &[Value], merge_key: &str, is_map: bool) -> Result<Vec<Value>> {
    let (mut items, deleted): (Vec<_>, Vec<_>) = if is_map {
        for v in items.iter().chain(order) {
            item(v, merge_key)?;
        }
        items.into_iter().partition(|v| v.str_at(&[DIRECTIVE]) != "delete")
    } else {
        (items, Vec::new())
    };
    // Insertion sort, because the order is no total one: what isn't in the list goes before what precedes it.
    for i in 1..items.len() {
        for j in (1..=i).rev() {
            let places =
                (position(order, &items[j], merge_key, is_map), position(order, &items[j - 1], merge_key, is_map));
            let less = match places {
                (Some(a), Some(b)) => a < b,
                _ => true,
            };
            if !less {
                break;
            }
            items.swap(j, j - 1);
        }
    }
    items.extend(deleted);
    Ok(items)
}

/// The patch's items in the patch's order among the server's in the server's.
fn ordered(
    ours: Vec<Value>,
    theirs: Vec<Value>,
    order: &[Value],
    server_order: &[Value],
    merge_key: &str,
    is_map: bool,
) -> Result<List<Value>> {
    let ours = sort_by_list(ours, order, merge_key, is_map)?;
    let theirs = sort_by_list(theirs, server_order, merge_key, is_map)?;
    let (mut left, mut right) = (theirs.into_iter().peekable(), ours.into_iter().peekable());
    let mut out = Vec::new();
    loop {
        let take_left = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) => {
                let places =
                    (position(server_order, l, merge_key, is_map), position(server_order, r, merge_key, is_map));
                matches!(places, (Some(a), Some(b)) if a < b)
            }
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Ok(out.into()),
        };
        out.extend(if take_left { left.next() } else { right.next() });
    }
}

fn merge_lists(
    original: List<Value>,
    patch: &List<Value>,
    schema: Schema,
    meta: super::schema::Meta,
    is_delete_list: bool,
    onto: Onto,
) -> Result<List<Value>> {
    if meta.strategy != Strategy::Merge && !is_delete_list {
        return Ok(patch.clone());
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let key = meta.merge_key;
    let is_map = element_is_map(&[&original, patch])?;
    let (original, patch, merged) = if is_map {
        if key.is_empty() {
            return fail(format!("cannot merge lists without merge key for {}", schema.name()));
        }
        let (original, patch) = special_elements(original, patch, key)?;
        let merged = merge_elements(&original, &patch, key, schema, onto)?;
        (original, patch, merged)
    } else {
        if onto == Onto::Object && is_delete_list {
            return Ok(original.iter().filter(|v| !patch.contains(v)).cloned().collect());
        }
        let both: Vec<Value> = original.iter().chain(patch).cloned().collect();
        (original, patch.clone(), List::from(deduplicated(both)))
    };
    let (ours, theirs) = partition(&merged, &patch, key)?;
    ordered(ours, theirs, &patch, &original, key, is_map)
}

/// Does what items with `$patch` say; gives back the list and the patch without them.
fn special_elements(original: List<Value>, patch: &List<Value>, key: &str) -> Result<(List<Value>, List<Value>)> {
    let mut original = original;
    let mut rest = Vec::new();
    let mut replace = false;
    for v in patch {
        let Value::Object(m) = v else { continue };
        match m.get(DIRECTIVE) {
            None => rest.push(v.clone()),
            Some(d) => match d.as_str() {
                Some("delete") => match m.get(key) {
                    Some(k) => original = original.iter().filter(|o| o.get(key) != Some(k)).cloned().collect(),
                    None => return no_merge_key(m, key),
                },
                Some("replace") => replace = true,
                Some("merge") => return fail("merging lists cannot yet be specified in the patch"),
                _ => return bad_patch_type(d, m),
            },
        }
    }
    Ok(if replace { (rest.into(), List::new()) } else { (original, rest.into()) })
}

fn merge_elements(
    original: &List<Value>,
    patch: &List<Value>,
    key: &str,
    schema: Schema,
    onto: Onto,
) -> Result<List<Value>> {
    let mut out: Vec<Value> = original.to_vec();
    for v in patch {
        let (new, k) = item(v, key)?;
        match out.iter_mut().find(|o| o.get(key) == Some(k)) {
            Some(slot) => {
                let old = slot.as_object().cloned().unwrap_or_default();
                *slot = Value::Object(merge_map(old, new.clone(), schema, onto)?);
            }
            None => out.push(v.clone()),
        }
    }
    Ok(out.into())
}

/// Go's way: a duplicate is overwritten by the last item.
pub(super) fn deduplicated(mut v: Vec<Value>) -> Vec<Value> {
    let mut i = 0;
    while i + 1 < v.len() {
        let mut j = i + 1;
        while j < v.len() {
            if v[i] == v[j] {
                v.swap_remove(j);
            } else {
                j += 1;
            }
        }
        i += 1;
    }
    v
}

/// The value without what has a `$patch`; None if it has one itself.
fn without_directives(v: &Value) -> Option<Value> {
    match v {
        Value::Object(m) if m.contains_key(DIRECTIVE) => None,
        Value::Object(m) => Some(
            m.iter().filter_map(|(k, v)| without_directives(v).map(|v| (k.clone(), v))).collect::<Map<Value>>().into(),
        ),
        Value::Array(a) => Some(a.iter().filter_map(without_directives).collect::<Vec<_>>().into()),
        v => Some(v.clone()),
    }
}

fn without_nulls(v: &Value) -> Value {
    match v {
        Value::Object(m) => m
            .iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(k, v)| (k.clone(), without_nulls(v)))
            .collect::<Map<Value>>()
            .into(),
        Value::Array(a) => a.iter().map(without_nulls).collect::<Vec<_>>().into(),
        v => v.clone(),
    }
}

impl From<Error> for crate::Status {
    /// As the API server answers a patch that it can't apply.
    fn from(e: Error) -> Self {
        crate::Status::bad_request(e.0)
    }
}
