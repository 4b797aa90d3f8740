//! Certificate signing requests: who asks is the server's word, and a request never changes; its subresources say what
//! becomes of it (pkg/registry/certificates/certificates/strategy.go).

use api::Object;
use api::json::{self, Value};

use super::{Moment, Strategy};

pub static STRATEGIES: &[Strategy] = &[Strategy {
    group: "certificates.k8s.io",
    resource: "certificatesigningrequests",
    prepare_create,
    prepare_update,
    prepare_status,
    prepare_approval,
    ..Strategy::ORDINARY
}];

/// Takes a top-level field from a changed copy, as JSON, of the object.
fn set(object: &mut dyn Object, field: &str, value: &Value) {
    let mut changed = object.desc().new_object();
    if json::from_value(value, &mut *changed, false).is_ok() {
        object.assign(field, &*changed);
    }
}

fn prepare_create(object: &mut dyn Object, now: &Moment) {
    let mut value = json::to_value_bare(object);
    let user = &now.user;
    let list = |list: &[api::Str]| Value::Array(list.iter().map(Value::from).collect());
    let optional = |text: &api::Str| if text.is_empty() { Value::Null } else { Value::from(text) };
    value.set_at(&["spec", "username"], optional(&user.name));
    value.set_at(&["spec", "uid"], optional(&user.uid));
    value.set_at(&["spec", "groups"], if user.groups.is_empty() { Value::Null } else { list(&user.groups) });
    let extra: api::Map<Value> = user.extra.iter().map(|(key, values)| (key.clone(), list(values))).collect();
    value.set_at(&["spec", "extra"], if extra.is_empty() { Value::Null } else { Value::Object(extra) });
    set(object, "spec", &value);
    object.reset("status");
}

fn prepare_update(object: &mut dyn Object, old: &dyn Object, _: &Moment) {
    object.assign("spec", old);
    object.assign("status", old);
}

/// Approval and denial stay as they are.
fn prepare_status(object: &mut dyn Object, old: &dyn Object) {
    let verdicts = |value: &Value| -> Vec<Value> {
        let all = value.at(&["status", "conditions"]).and_then(Value::as_array);
        let all = all.into_iter().flat_map(|all| all.iter());
        all.filter(|condition| matches!(condition.str_at(&["type"]), "Approved" | "Denied")).cloned().collect()
    };
    let was = verdicts(&json::to_value_bare(old));
    let mut value = json::to_value_bare(object);
    if verdicts(&value).len() != was.len() {
        return;
    }
    let mut kept = was.into_iter();
    let Some(all) = value.at(&["status", "conditions"]).and_then(Value::as_array) else { return };
    let conditions: Vec<Value> = all
        .iter()
        .map(|condition| match condition.str_at(&["type"]) {
            "Approved" | "Denied" => kept.next().unwrap_or_else(|| condition.clone()),
            _ => condition.clone(),
        })
        .collect();
    value.set_at(&["status", "conditions"], Value::from(conditions));
    set(object, "status", &value);
}

/// Only the conditions are of an approval; the server notes when.
fn prepare_approval(object: &mut dyn Object, old: &dyn Object, now: &Moment) {
    let time = now.time().to_string();
    let value = json::to_value_bare(object);
    let mut changed = json::to_value_bare(old);
    let list = |value: &Value| -> Vec<Value> {
        let all = value.at(&["status", "conditions"]).and_then(Value::as_array);
        all.map(|all| all.iter().cloned().collect()).unwrap_or_default()
    };
    let was = list(&changed);
    let mut conditions = list(&value);
    for condition in &mut conditions {
        if condition.str_at(&["lastUpdateTime"]).is_empty() {
            condition.set("lastUpdateTime", Value::from(time.as_str()));
        }
        if condition.str_at(&["lastTransitionTime"]).is_empty() {
            let same = was
                .iter()
                .find(|was| was.get("type") == condition.get("type") && was.get("status") == condition.get("status"));
            let before = same.map_or("", |was| was.str_at(&["lastTransitionTime"]));
            let at = if before.is_empty() { time.clone() } else { before.to_string() };
            condition.set("lastTransitionTime", Value::from(at));
        }
    }
    changed.set_at(&["status", "conditions"], Value::from(conditions));
    object.assign("spec", old);
    set(object, "status", &changed);
}
