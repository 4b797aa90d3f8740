//! Stored objects.
use crate::object::Object;
use crate::value::Str;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// An object as stored: its resourceVersion is `revision` and stands nowhere in the body, so that the store, the watch
/// cache and the informers share one body.
pub struct Rev<T: ?Sized> {
    /// The revision of the write that made it.
    pub revision: u64,
    /// The object, with metadata.resourceVersion empty.
    pub body: Rc<T>,
}

/// A stored object of any kind.
pub type AnyRev = Rev<dyn Object>;

impl<T: Object> Rev<T> {
    /// A stored object.
    pub fn new(revision: u64, body: T) -> Rev<T> {
        Rev { revision, body: Rc::new(body) }
    }
    /// The same without its type.
    pub fn any(&self) -> AnyRev {
        Rev { revision: self.revision, body: self.body.clone() }
    }
}
impl<T: ?Sized> Rev<T> {
    /// The resourceVersion as text.
    pub fn resource_version(&self) -> Str {
        Str::from(self.revision.to_string())
    }
    /// Whether both are one body.
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.body, &other.body)
    }
}
impl Rev<dyn Object> {
    /// The same with its type, if it is of that type.
    pub fn downcast<T: Object>(&self) -> Option<Rev<T>> {
        let body: Rc<dyn std::any::Any> = self.body.clone();
        Some(Rev { revision: self.revision, body: body.downcast().ok()? })
    }
}
impl<T: ?Sized> Clone for Rev<T> {
    fn clone(&self) -> Self {
        Rev { revision: self.revision, body: self.body.clone() }
    }
}
impl<T: ?Sized> Deref for Rev<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.body
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for Rev<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{} {:?}", self.revision, &*self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_v1::{Node, Pod};

    #[test]
    fn takes_fields() {
        let mut a = Pod::default();
        let mut b = Pod::default();
        b.spec.make().node_name = "n".into();
        b.metadata.name = "x".into();
        let to: &mut dyn Object = &mut a;
        assert!(!to.field_equal("spec", &b));
        assert!(to.assign("spec", &b) && !to.assign("spec", &Node::default()));
        assert!(to.field_equal("spec", &b) && !to.equal(&b));
        assert!(a.spec.same(&b.spec));
    }

    #[test]
    fn downcasts() {
        let pod = Rev::new(7, Pod::default());
        let any = pod.any();
        assert!(any.downcast::<Node>().is_none());
        assert!(any.downcast::<Pod>().is_some_and(|p| p.same(&pod) && p.revision == 7));
    }
}
