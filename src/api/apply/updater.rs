//! The two ways in which an object is written: an update (create, update, patch) and an apply.
use super::managers::{Conflict, Manager, Managers, Operation, Owned, conflict_message};
use super::merge::{merge, remove};
use super::set::Set;
use super::shape::Shape;
use super::validate::validate;
use super::walk::{Comparison, View, compare, field_set};
use crate::json::{Value, from_value, to_value};
use crate::meta_v1::ManagedFieldsEntry;
use crate::object::Object;
use crate::status::Status;
use crate::value::{List, Str, Time};

/// Who writes, and how.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The field manager, or the first part of the user agent; empty is `unknown`.
    pub manager: &'a str,
    /// The subresource written, empty for the object.
    pub subresource: &'a str,
    /// The API version of the request, `apps/v1`.
    pub api_version: &'a str,
    /// The present time.
    pub now: Time,
    /// Fields that this way of writing can't change (the strategy's reset fields).
    pub reset: &'a Set,
}

/// Why an apply failed.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyError {
    /// Fields belong to others and force wasn't asked for.
    Conflicts(Vec<Conflict>),
    /// The document is not of its type, or has what it must not have. Go's text.
    Invalid(String),
    /// The request makes no sense. Go's text.
    BadRequest(String),
}
impl From<ApplyError> for Status {
    fn from(e: ApplyError) -> Status {
        match e {
            ApplyError::Conflicts(c) => {
                Status::apply_conflict(c.iter().map(Conflict::cause).collect(), conflict_message(&c))
            }
            ApplyError::BadRequest(m) => Status::bad_request(m),
            // Errors without a reason answer 500 with their text alone.
            ApplyError::Invalid(m) => Status::unknown(m),
        }
    }
}

/// The fields that writes of most kinds can't change: the status by way of the object, the spec by way of the status.
pub fn reset_fields(subresource: &str) -> Set {
    match subresource {
        "" => Set::of(&[&["status"]]),
        "status" => Set::of(&[&["spec"]]),
        _ => Set::default(),
    }
}

/// Fields of nobody: identity, and what the server sets.
fn strip() -> Set {
    Set::of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}

fn identity(r: &Request<'_>, operation: Operation) -> Manager {
    Manager {
        name: if r.manager.is_empty() { "unknown".into() } else { r.manager.into() },
        operation,
        api_version: if operation == Operation::Apply { Str::new() } else { r.api_version.into() },
        subresource: r.subresource.into(),
    }
}

fn decoded(o: &dyn Object) -> Managers {
    o.metadata().and_then(|m| Managers::decode(&m.managed_fields).ok()).unwrap_or_default()
}

/// Whether a request resets the managed fields: `managedFields: []` or `managedFields: [{}]`.
fn is_reset(entries: &List<ManagedFieldsEntry>) -> bool {
    match entries.as_slice() {
        [] => !entries.is_nil(),
        [one] => *one == ManagedFieldsEntry::default(),
        _ => false,
    }
}

/// Sets `metadata.managedFields` of an object that is about to be written. `live` is what is stored, a zero object if
/// it is a create (it has no uid then).
pub fn update(live: &dyn Object, new: &mut dyn Object, r: &Request<'_>) {
    let Some(theirs) = new.metadata().map(|m| m.managed_fields.clone()) else { return };
    let mut managers = if !r.subresource.is_empty() {
        decoded(live)
    } else if is_reset(&theirs) {
        Managers::default()
    } else {
        match Managers::decode(&theirs) {
            Ok(m) if !m.is_empty() => m,
            _ => decoded(live),
        }
    };
    // An object without managed fields isn't tracked again, until it is applied.
    let created = live.metadata().is_none_or(|m| m.uid.is_empty());
    if !managers.is_empty() || created {
        track(live, new, &mut managers, r);
        managers.cap();
    }
    if let Some(m) = new.metadata_mut() {
        m.managed_fields = managers.encode();
    }
}

/// Gives what the write changed to the writer.
fn track(live: &dyn Object, new: &dyn Object, managers: &mut Managers, r: &Request<'_>) {
    let shape = Shape::of(new.desc());
    let c = compare(&View::of(live), &View::of(new), shape).without(r.reset);
    let changed = take(managers, &c, None);
    let set = changed.difference(&strip());
    if !set.is_empty() {
        let old = managers.owned.remove(&identity(r, Operation::Update));
        let set = old.map_or(set.clone(), |o| set.union(&o.set));
        let owned = Owned { set, api_version: r.api_version.into(), time: r.now };
        managers.owned.insert(identity(r, Operation::Update), owned);
    }
}

/// Takes what changed from all managers but one; gives what changed or came.
fn take(managers: &mut Managers, c: &Comparison, but: Option<&Manager>) -> Set {
    let changed = c.modified.union(&c.added);
    if !c.is_same() {
        for (m, owned) in managers.owned.iter_mut() {
            if Some(m) != but {
                owned.set = owned.set.difference(&changed).difference(&c.removed);
            }
        }
        managers.drop_empty();
    }
    changed
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Applies a configuration to an object. `live` is what is stored, a zero object if there is none. The result has its
/// managed fields, and lacks defaults. It still has live's resourceVersion and so on.
///
/// # Errors
/// Conflicts, unless `force`; documents that are not of the object's type.
pub fn apply(live: &dyn Object, config: &Value, r: &Request<'_>, force: bool) -> Result<Box<dyn Object>, ApplyError> {
    let kind = live.kind_info();
    let of = |k: &str| config.str_at(&[k]).to_string();
    if let Some(k) = kind
        && (of("apiVersion") != r.api_version || of("kind") != k.kind)
    {
        return Err(ApplyError::BadRequest(format!("invalid object type: {}, Kind={}", of("apiVersion"), of("kind"))));
    }
    if config.at(&["metadata", "managedFields"]).is_some_and(|v| !v.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_string()));
    }
    let mut managers = decoded(live);
    if managers.is_empty() {
        // Whatever is there already belongs to whoever came before the first apply.
        let before = Request { manager: "before-first-apply", ..*r };
        let mut copy = live.boxed();
        if let Some(m) = copy.metadata_mut() {
            m.managed_fields = List::new();
        }
        track(&*live.desc().new_object(), &*copy, &mut managers, &before);
    }
    let result = match applied(live, config, managers.clone(), r, force) {
        Err(ApplyError::Conflicts(conflicts)) if r.manager == "kubectl" => {
            // What was last applied client-side may be taken over.
            let Some(allowed) = last_applied(live, r) else { return Err(ApplyError::Conflicts(conflicts)) };
            let left: Vec<Conflict> = conflicts.into_iter().filter(|c| !allowed.has(&c.path.0)).collect();
            if left.is_empty() {
                applied(live, config, managers, r, true)?
            } else {
                return Err(ApplyError::Conflicts(left));
            }
        }
        r => r?,
    };
    let (mut out, managers) = result;
    if let Some(m) = out.metadata_mut() {
        m.managed_fields = managers.encode();
        if r.manager == "kubectl" && live.metadata().is_some_and(|m| m.annotations.get(LAST_APPLIED).is_some()) {
            let mut config = config.clone();
            if let Some(Value::Object(a)) = config
                .as_object_mut()
                .and_then(|m| m.get_mut("metadata"))
                .and_then(|m| m.as_object_mut()?.get_mut("annotations"))
            {
                a.remove(LAST_APPLIED);
            }
            m.annotations.insert(LAST_APPLIED, Str::from(config.to_json() + "\n"));
        }
    }
    Ok(out)
}

/// The name that errors give the document: `default/web; apps/v1, Kind=Deployment`.
fn named(config: &Value) -> String {
    let (group, version) = crate::scheme::group_version(config.str_at(&["apiVersion"]));
    format!(
        "{}/{}; {group}/{version}, Kind={}",
        config.str_at(&["metadata", "namespace"]),
        config.str_at(&["metadata", "name"]),
        config.str_at(&["kind"])
    )
}

fn applied(
    live: &dyn Object,
    config: &Value,
    mut managers: Managers,
    r: &Request<'_>,
    force: bool,
) -> Result<(Box<dyn Object>, Managers), ApplyError> {
    let shape = Shape::of(live.desc());
    if let Some(e) = validate(config, shape) {
        return Err(ApplyError::Invalid(format!("failed to create typed patch object ({}): {e}", named(config))));
    }
    let me = identity(r, Operation::Apply);
    let before = managers.owned.get(&me).map(|o| o.set.clone()).unwrap_or_default();
    let mut current = to_value(live, None);
    if let Some(Value::Object(meta)) = current.as_object_mut().and_then(|m| m.get_mut("metadata")) {
        meta.remove("managedFields");
    }
    let mut merged =
        merge(&current, config, shape).map_err(|e| ApplyError::Invalid(format!("failed to merge config: {e}")))?;
    let set = field_set(&View::Json(config.clone()), shape).recursive_difference(r.reset);
    managers.owned.insert(me.clone(), Owned { set, api_version: r.api_version.into(), time: r.now });
    if !before.is_empty() {
        merged = prune(&merged, &managers, &before, shape);
    }
    let c = compare(&View::Json(current.clone()), &View::Json(merged.clone()), shape).without(r.reset);
    let changed = c.modified.union(&c.added);
    if !force {
        let conflicts: Vec<Conflict> = managers
            .owned
            .iter()
            .filter(|(m, _)| **m != me)
            .flat_map(|(m, o)| {
                let paths = o.set.intersection(&changed).paths();
                paths.into_iter().map(|path| Conflict { manager: m.clone(), path })
            })
            .collect();
        if !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
    }
    take(&mut managers, &c, Some(&me));
    if let Some(o) = managers.owned.get_mut(&me) {
        o.set = o.set.difference(&strip());
    }
    managers.drop_empty();
    let mut out = live.desc().new_object();
    from_value(&merged, &mut *out, false).map_err(|e| ApplyError::Invalid(e.message))?;
    Ok((out, managers))
}

/// Takes out what the manager applied before and applies no longer, unless somebody else has it.
fn prune(merged: &Value, managers: &Managers, before: &Set, shape: Shape) -> Value {
    let named = |s: &Set| shape.with_named_fields(s);
    let pruned = remove(merged, &named(before), shape);
    let fields = |v: &Value| named(&field_set(&View::Json(v.clone()), shape));
    // Add back what others, or the new configuration, own.
    let managed = managers.owned.values().fold(Set::default(), |all, o| all.union(&o.set));
    let merged_set = fields(merged);
    let pruned = remove(merged, &merged_set.difference(&fields(&pruned).union(&named(&managed))), shape);
    // Add back what nobody owned.
    remove(merged, &merged_set.difference(&fields(&pruned)).intersection(&named(before)), shape)
}

/// The fields of the last client-side configuration that are still as it had them.
fn last_applied(live: &dyn Object, r: &Request<'_>) -> Option<Set> {
    let text = live.metadata()?.annotations.get(LAST_APPLIED)?;
    let last = Value::parse(text).ok()?;
    if last.str_at(&["apiVersion"]) != r.api_version {
        return None;
    }
    let shape = Shape::of(live.desc());
    let last = View::Json(last);
    let c = compare(&last, &View::Json(to_value(live, None)), shape);
    Some(field_set(&last, shape).difference(&c.modified).difference(&c.added).difference(&c.removed))
}
