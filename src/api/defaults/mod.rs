//! Defaulting, by group: what the server fills in when an object is decoded.

use crate::Object;

/// Fills in what the writer left out.
pub fn apply(_object: &mut dyn Object) {}
