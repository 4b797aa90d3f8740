//! Defaulting, by group: what the server fills in when an object is decoded
//! (`pkg/apis/*/v1/defaults.go`, `zz_generated.defaults.go`).

mod apps;
mod autoscaling;
mod batch;
mod core;
mod networking;
mod policy;
mod service;
mod storage;
mod untyped;

#[cfg(test)]
mod tests;

use crate::Object;
use crate::{OStr, Str};

/// Fills in what the writer left out. Objects that are complete already are not touched, so they stay shared.
pub fn apply(object: &mut dyn Object) {
    type Default = fn(&mut dyn Object) -> bool;
    const ALL: [Default; 9] = [
        core::apply,
        apps::apply,
        service::apply,
        batch::apply,
        autoscaling::apply,
        networking::apply,
        policy::apply,
        storage::apply,
        untyped::apply,
    ];
    // The first group that knows the kind has done it.
    let _ = ALL.iter().any(|group| group(object));
}

/// Sets an empty string.
fn text(field: &mut Str, value: &str) {
    if field.is_empty() {
        *field = value.into();
    }
}

/// Sets an absent string.
fn optional_text(field: &mut OStr, value: &str) {
    if field.is_none() {
        *field = OStr::some(value);
    }
}
