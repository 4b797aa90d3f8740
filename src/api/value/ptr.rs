//! Go's pointers to structs, and struct values shared between versions of an object.
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// Go `*Struct`: shared and copy-on-write.
pub struct Ptr<T> {
    to: Option<Rc<T>>,
}

impl<T> Ptr<T> {
    /// nil.
    pub const fn none() -> Self {
        Ptr { to: None }
    }
    /// A pointer to `t`.
    pub fn some(t: T) -> Self {
        Ptr { to: Some(Rc::new(t)) }
    }
    /// What it points to.
    pub fn get(&self) -> Option<&T> {
        self.to.as_deref()
    }
    /// Whether it is nil.
    pub fn is_none(&self) -> bool {
        self.to.is_none()
    }
    /// Whether it is not nil.
    pub fn is_some(&self) -> bool {
        self.to.is_some()
    }
    /// Sets it to nil.
    pub fn clear(&mut self) {
        self.to = None
    }
    /// Whether both point to one allocation (or are nil).
    pub fn same(&self, other: &Self) -> bool {
        match (&self.to, &other.to) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}
impl<T: Clone> Ptr<T> {
    /// What it points to, to change; None for nil.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.to.as_mut().map(Rc::make_mut)
    }
}
impl<T: Clone + Default> Ptr<T> {
    /// What it points to, to change: copied first if shared, made if nil.
    pub fn make(&mut self) -> &mut T {
        Rc::make_mut(self.to.get_or_insert_with(Default::default))
    }
}
impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        Ptr { to: self.to.clone() }
    }
}
impl<T> Default for Ptr<T> {
    fn default() -> Self {
        Ptr::none()
    }
}
impl<T> From<T> for Ptr<T> {
    fn from(t: T) -> Self {
        Ptr::some(t)
    }
}
impl<T> From<Option<T>> for Ptr<T> {
    fn from(t: Option<T>) -> Self {
        Ptr { to: t.map(Rc::new) }
    }
}
impl<T: PartialEq> PartialEq for Ptr<T> {
    fn eq(&self, o: &Self) -> bool {
        self.same(o) || self.get() == o.get()
    }
}
impl<T: fmt::Debug> fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A struct value (spec, status, template) shared between versions of an object, copy-on-write.
pub struct Shared<T> {
    value: Rc<T>,
}

impl<T> Shared<T> {
    /// Shares `t`.
    pub fn new(t: T) -> Self {
        Shared { value: Rc::new(t) }
    }
    /// Whether both are one allocation.
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.value, &other.value)
    }
}
impl<T: Clone> Shared<T> {
    /// The value to change: copied first if shared.
    pub fn make(&mut self) -> &mut T {
        Rc::make_mut(&mut self.value)
    }
}
impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared { value: self.value.clone() }
    }
}
impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Shared::new(T::default())
    }
}
impl<T> From<T> for Shared<T> {
    fn from(t: T) -> Self {
        Shared::new(t)
    }
}
impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, o: &Self) -> bool {
        self.same(o) || **self == **o
    }
}
impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
