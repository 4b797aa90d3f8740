//! Server-side apply: who manages which fields (structured-merge-diff and apimachinery's managedfields).
//!
//! A [`Set`] of field paths is kept a manager; descriptors say which lists are keyed and what is atomic. Writes go
//! through [`update`] and applies through [`apply`]; both set `metadata.managedFields` of their result.
mod atomics;
mod managers;
mod merge;
mod set;
mod shape;
mod updater;
mod validate;
mod walk;

pub use atomics::atomics;
pub use managers::{Conflict, Manager, Managers, Operation};
pub use set::{Element, Path, Set};
pub use updater::{ApplyError, Request, apply, reset_fields, update};
pub use walk::Comparison;

use crate::json::Value;
use crate::object::Object;

/// The fields that an object has.
pub fn field_set(o: &dyn Object) -> Set {
    walk::field_set(&walk::View::of(o), shape::Shape::of(o.desc()))
}

/// The fields that a document of a type has.
pub fn field_set_of(v: &Value, desc: &'static crate::object::TypeDesc) -> Set {
    walk::field_set(&walk::View::Json(v.clone()), shape::Shape::of(desc))
}

/// What differs between two objects of one type.
pub fn compare(old: &dyn Object, new: &dyn Object) -> Comparison {
    walk::compare(&walk::View::of(old), &walk::View::of(new), shape::Shape::of(new.desc()))
}

#[cfg(test)]
mod tests;
