//! Kinds that extend the API: custom resources' definitions and other servers' APIs (apiextensions-apiserver's and
//! kube-aggregator's strategies).

use api::Object;
use api::json::{self, Value};

use super::{Moment, SPEC, Strategy, only_status};

pub static STRATEGIES: &[Strategy] = &[
    Strategy {
        group: "apiextensions.k8s.io",
        resource: "customresourcedefinitions",
        key: "apiextensions.k8s.io/customresourcedefinitions",
        generation: SPEC,
        unconditional_update: false,
        prepare_create: definition_create,
        prepare_update: definition_update,
        prepare_status: only_status,
        ..Strategy::ORDINARY
    },
    Strategy {
        group: "apiregistration.k8s.io",
        resource: "apiservices",
        key: "apiregistration.k8s.io/apiservices",
        unconditional_update: false,
        prepare_create: service_create,
        ..Strategy::ORDINARY
    },
];

/// Takes a status, as JSON, over into the object.
fn set_status(object: &mut dyn Object, status: Value) {
    let mut value = Value::object();
    value.set("status", status);
    let mut changed = object.desc().new_object();
    if json::from_value(&value, &mut *changed, false).is_ok() {
        object.assign("status", &*changed);
    }
}

fn definition_create(object: &mut dyn Object, _: &Moment) {
    remember_storage(object);
}

fn definition_update(object: &mut dyn Object, _: &dyn Object, _: &Moment) {
    remember_storage(object);
}

/// Objects may be stored in the storage version from now on.
fn remember_storage(object: &mut dyn Object) {
    let value = json::to_value_bare(object);
    let versions = value.at(&["spec", "versions"]).and_then(Value::as_array);
    let mut versions = versions.into_iter().flat_map(|versions| versions.iter());
    let storage = versions.find(|version| version.get("storage").and_then(Value::as_bool) == Some(true));
    let Some(name) = storage.and_then(|version| version.get("name")) else { return };
    let mut status = value.get("status").cloned().unwrap_or_default();
    let stored = status.get("storedVersions").and_then(Value::as_array);
    let mut stored: Vec<Value> = stored.map(|stored| stored.iter().cloned().collect()).unwrap_or_default();
    if !stored.contains(name) {
        stored.push(name.clone());
        status.set("storedVersions", Value::from(stored));
        set_status(object, status);
    }
}

/// What this server serves itself is there at once.
fn service_create(object: &mut dyn Object, now: &Moment) {
    let value = json::to_value_bare(object);
    let is_local = value.at(&["spec", "service"]).is_none_or(Value::is_null);
    let has_status = value.at(&["status", "conditions"]).is_some();
    if !is_local || has_status {
        return;
    }
    let mut condition = Value::object();
    for (field, text) in [
        ("type", "Available"),
        ("status", "True"),
        ("reason", "Local"),
        ("message", "Local APIServices are always available"),
    ] {
        condition.set(field, Value::from(text));
    }
    condition.set("lastTransitionTime", Value::from(now.time().to_string()));
    let mut status = Value::object();
    status.set("conditions", Value::from(vec![condition]));
    set_status(object, status);
}
