//! Validation, by group: what the server refuses to store, in Kubernetes' words and order.

use crate::Object;
use crate::field::ErrorList;

/// What is wrong with a new object.
pub fn create(_object: &dyn Object) -> ErrorList {
    ErrorList::default()
}

/// What is wrong with a new state of an object.
pub fn update(_new: &dyn Object, _old: &dyn Object) -> ErrorList {
    ErrorList::default()
}

/// What is wrong with a new status.
pub fn update_status(_new: &dyn Object, _old: &dyn Object) -> ErrorList {
    ErrorList::default()
}

/// What is wrong with a new state written through another subresource: `finalize`, `resize`, `ephemeralcontainers`,
/// `approval`.
pub fn update_subresource(_subresource: &str, _new: &dyn Object, _old: &dyn Object) -> ErrorList {
    ErrorList::default()
}
