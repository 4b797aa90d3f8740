//! JSON kept as text: `runtime.RawExtension`, `metav1.FieldsV1`, `apiextensions.JSON`.
use std::fmt;
use std::rc::Rc;

/// A JSON value kept as compact text; nil when absent.
#[derive(Clone, Default, PartialEq)]
pub struct Raw {
    text: Option<Rc<str>>,
}

impl Raw {
    /// Nil.
    pub const fn new() -> Raw {
        Raw { text: None }
    }
    /// Keeps JSON text; the caller vouches that it is valid.
    pub fn from_json(text: &str) -> Raw {
        Raw { text: Some(Rc::from(text)) }
    }
    /// The JSON text.
    pub fn json(&self) -> Option<&str> {
        self.text.as_deref()
    }
    /// Whether it is nil.
    pub fn is_none(&self) -> bool {
        self.text.is_none()
    }
}
impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.json().unwrap_or("nil"))
    }
}
