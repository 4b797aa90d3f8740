//! Bad values that print as Kubernetes' internal types do.

use crate::field::BadValue;
use crate::object::Object;

/// A struct shown by its internal type.
pub(super) struct Internal<'a>(pub(super) &'a dyn Object);

impl BadValue for Internal<'_> {
    fn shown(&self) -> String {
        crate::internal::encode(self.0)
    }
}

/// A list of structs, each shown by its internal type.
pub(super) struct List<'a, T>(pub(super) &'a [T]);

impl<T: Object> BadValue for List<'_, T> {
    fn shown(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(|item| Internal(item).shown()).collect();
        format!("[{}]", parts.join(","))
    }
}

/// A struct in lines, indented by one blank a level.
pub(super) fn pretty(object: &dyn Object) -> String {
    crate::internal::encode_pretty(object)
}
