//! Go's `string` and `*string`.
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// Go `string`: refcounted and immutable. The empty string allocates nothing.
#[derive(Clone, Default)]
pub struct Str {
    text: Option<Rc<str>>,
}

impl Str {
    /// The empty string.
    pub const fn new() -> Str {
        Str { text: None }
    }
    /// The text.
    pub fn as_str(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }
    /// Whether both are one allocation (or both empty): a quick positive for equality.
    pub fn same(&self, other: &Str) -> bool {
        match (&self.text, &other.text) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Deref for Str {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}
impl AsRef<str> for Str {
    fn as_ref(&self) -> &str {
        self
    }
}
impl Borrow<str> for Str {
    fn borrow(&self) -> &str {
        self
    }
}
impl From<&str> for Str {
    fn from(s: &str) -> Self {
        Str { text: (!s.is_empty()).then(|| Rc::from(s)) }
    }
}
impl From<String> for Str {
    fn from(s: String) -> Self {
        Str::from(s.as_str())
    }
}
impl From<&String> for Str {
    fn from(s: &String) -> Self {
        Str::from(s.as_str())
    }
}
impl From<&Str> for Str {
    fn from(s: &Str) -> Self {
        s.clone()
    }
}
impl From<Rc<str>> for Str {
    fn from(s: Rc<str>) -> Self {
        Str { text: (!s.is_empty()).then_some(s) }
    }
}
impl From<fmt::Arguments<'_>> for Str {
    fn from(a: fmt::Arguments<'_>) -> Self {
        Str::from(a.to_string())
    }
}
impl From<Str> for String {
    fn from(s: Str) -> String {
        s.as_str().to_string()
    }
}
impl PartialEq for Str {
    fn eq(&self, o: &Str) -> bool {
        self.same(o) || self.as_str() == o.as_str()
    }
}
impl Eq for Str {}
impl PartialEq<str> for Str {
    fn eq(&self, o: &str) -> bool {
        self.as_str() == o
    }
}
impl PartialEq<&str> for Str {
    fn eq(&self, o: &&str) -> bool {
        self.as_str() == *o
    }
}
impl PartialEq<String> for Str {
    fn eq(&self, o: &String) -> bool {
        self.as_str() == o.as_str()
    }
}
impl PartialEq<Str> for str {
    fn eq(&self, o: &Str) -> bool {
        self == o.as_str()
    }
}
impl PartialEq<Str> for &str {
    fn eq(&self, o: &Str) -> bool {
        *self == o.as_str()
    }
}
impl PartialOrd for Str {
    fn partial_cmp(&self, o: &Str) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Str {
    fn cmp(&self, o: &Str) -> std::cmp::Ordering {
        self.as_str().cmp(o.as_str())
    }
}
impl std::hash::Hash for Str {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        self.as_str().hash(h)
    }
}
impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}
impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Go `*string`: nil and the empty string apart.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OStr {
    text: Option<Str>,
}

impl OStr {
    /// nil.
    pub const fn none() -> OStr {
        OStr { text: None }
    }
    /// A pointer to `s`.
    pub fn some(s: impl Into<Str>) -> OStr {
        OStr { text: Some(s.into()) }
    }
    /// The string pointed to.
    pub fn get(&self) -> Option<&str> {
        self.text.as_deref()
    }
    /// The string pointed to, as the refcounted value.
    pub fn get_str(&self) -> Option<&Str> {
        self.text.as_ref()
    }
    /// The string pointed to, empty for nil.
    pub fn or_empty(&self) -> &str {
        self.get().unwrap_or("")
    }
    /// Whether it is nil.
    pub fn is_none(&self) -> bool {
        self.text.is_none()
    }
    /// Whether it is not nil.
    pub fn is_some(&self) -> bool {
        self.text.is_some()
    }
}
impl From<&str> for OStr {
    fn from(s: &str) -> Self {
        OStr::some(s)
    }
}
impl From<Str> for OStr {
    fn from(s: Str) -> Self {
        OStr::some(s)
    }
}
impl From<String> for OStr {
    fn from(s: String) -> Self {
        OStr::some(s)
    }
}
impl<T: Into<Str>> From<Option<T>> for OStr {
    fn from(s: Option<T>) -> Self {
        OStr { text: s.map(Into::into) }
    }
}
impl PartialEq<&str> for OStr {
    fn eq(&self, o: &&str) -> bool {
        self.get() == Some(*o)
    }
}
impl fmt::Debug for OStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
