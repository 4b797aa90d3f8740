//! Go's slices.
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// Go `[]T`: shared and copy-on-write, nil and empty apart.
pub struct List<T> {
    items: Option<Rc<Vec<T>>>,
}

impl<T> List<T> {
    /// The nil slice.
    pub const fn new() -> Self {
        List { items: None }
    }
    /// The empty slice that is not nil (printed as `[]` where nil is `null`).
    pub fn empty() -> Self {
        List { items: Some(Rc::new(Vec::new())) }
    }
    /// Whether it is nil.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }
    /// The items.
    pub fn as_slice(&self) -> &[T] {
        match &self.items {
            Some(v) => v,
            None => &[],
        }
    }
    /// Whether both are one allocation (or both nil).
    pub fn same(&self, other: &Self) -> bool {
        match (&self.items, &other.items) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}
impl<T: Clone> List<T> {
    /// The items to change: copied first if shared, made empty if nil.
    pub fn make(&mut self) -> &mut Vec<T> {
        Rc::make_mut(self.items.get_or_insert_with(Default::default))
    }
    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.make().push(item)
    }
    /// Gives back unused room.
    pub(crate) fn fit(&mut self) {
        if let Some(v) = self.items.as_mut().and_then(Rc::get_mut) {
            v.shrink_to_fit()
        }
    }
}
impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        List { items: self.items.clone() }
    }
}
impl<T> Default for List<T> {
    fn default() -> Self {
        List::new()
    }
}
impl<T> Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}
impl<T> From<Vec<T>> for List<T> {
    fn from(v: Vec<T>) -> Self {
        List { items: Some(Rc::new(v)) }
    }
}
impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(v: [T; N]) -> Self {
        Vec::from(v).into()
    }
}
impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(i: I) -> Self {
        i.into_iter().collect::<Vec<_>>().into()
    }
}
impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}
impl<T: PartialEq> PartialEq for List<T> {
    /// As Kubernetes' semantic equality: nil equals empty.
    fn eq(&self, o: &Self) -> bool {
        self.same(o) || self.as_slice() == o.as_slice()
    }
}
impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
