//! Names of objects as work queues and caches hold them.

use std::fmt;

use api::Str;
use api::meta_v1::ObjectMeta;

/// `namespace/name`, or the name alone for cluster-scoped objects. Ordered by namespace, then name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Empty for cluster-scoped objects.
    pub namespace: Str,
    /// The object's name.
    pub name: Str,
}

impl Key {
    /// The key of these names.
    pub fn new(namespace: impl Into<Str>, name: impl Into<Str>) -> Key {
        Key { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object (`MetaNamespaceKeyFunc`).
    pub fn of(meta: &ObjectMeta) -> Key {
        Key { namespace: meta.namespace.clone(), name: meta.name.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}
