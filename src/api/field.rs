//! Validation errors of fields, in the words of apimachinery's `field` package.
use crate::go;
use crate::json::{Encoder, Order, Value};
use crate::object::{Object, Ref, Reflect};
use crate::value::{Bytes, IntOrString, List, Map, OStr, Ptr, Quantity, Shared, Str, Time};
use std::fmt;
use std::rc::Rc;

/// The path of a field: `spec.containers[0].name`. Cheap to clone and to extend.
#[derive(Clone, Default)]
pub struct Path {
    node: Option<Rc<Node>>,
}

struct Node {
    name: Str,
    subscript: bool,
    parent: Path,
}

impl Path {
    /// A path of one name.
    pub fn new(name: impl Into<Str>) -> Path {
        Path::none().child(name)
    }
    /// The nil path, which prints as `<nil>`.
    pub const fn none() -> Path {
        Path { node: None }
    }
    /// A field below this one.
    pub fn child(&self, name: impl Into<Str>) -> Path {
        Path { node: Some(Rc::new(Node { name: name.into(), subscript: false, parent: self.clone() })) }
    }
    /// An item of this list.
    pub fn index(&self, i: usize) -> Path {
        self.key(i.to_string())
    }
    /// An entry of this map.
    pub fn key(&self, key: impl Into<Str>) -> Path {
        Path { node: Some(Rc::new(Node { name: key.into(), subscript: true, parent: self.clone() })) }
    }
}
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nodes = Vec::new();
        let mut at = self.node.as_ref();
        while let Some(n) = at {
            nodes.push(n);
            at = n.parent.node.as_ref();
        }
        if nodes.is_empty() {
            return f.write_str("<nil>");
        }
        for (i, n) in nodes.iter().rev().enumerate() {
            match (n.subscript || n.name.is_empty(), i) {
                (true, _) => write!(f, "[{}]", n.name)?,
                (false, 0) => f.write_str(&n.name)?,
                (false, _) => write!(f, ".{}", n.name)?,
            }
        }
        Ok(())
    }
}
impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What kind of error it is; Display is the text, [`ErrorType::cause`] the cause's type in a Status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ErrorType {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TooFew,
    Internal,
    TypeInvalid,
    TooShort,
}
impl ErrorType {
    /// `FieldValueInvalid`
    pub fn cause(self) -> &'static str {
        match self {
            ErrorType::NotFound => "FieldValueNotFound",
            ErrorType::Required => "FieldValueRequired",
            ErrorType::Duplicate => "FieldValueDuplicate",
            ErrorType::Invalid => "FieldValueInvalid",
            ErrorType::NotSupported => "FieldValueNotSupported",
            ErrorType::Forbidden => "FieldValueForbidden",
            ErrorType::TooLong => "FieldValueTooLong",
            ErrorType::TooMany => "FieldValueTooMany",
            ErrorType::TooFew => "FieldValueTooFew",
            ErrorType::Internal => "InternalError",
            ErrorType::TypeInvalid => "FieldValueTypeInvalid",
            ErrorType::TooShort => "FieldValueTooShort",
        }
    }
}
impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorType::NotFound => "Not found",
            ErrorType::Required => "Required value",
            ErrorType::Duplicate => "Duplicate value",
            ErrorType::Invalid | ErrorType::TypeInvalid => "Invalid value",
            ErrorType::NotSupported => "Unsupported value",
            ErrorType::Forbidden => "Forbidden",
            ErrorType::TooLong => "Too long",
            ErrorType::TooMany => "Too many",
            ErrorType::TooFew => "Too few",
            ErrorType::Internal => "Internal error",
            ErrorType::TooShort => "Too short",
        })
    }
}

/// How a bad value prints in an error: strings quoted as Go does, everything else as JSON.
pub trait BadValue {
    /// The text in the message.
    fn shown(&self) -> String;
}
impl<T: BadValue + ?Sized> BadValue for &T {
    fn shown(&self) -> String {
        (**self).shown()
    }
}
macro_rules! plain { ($($t:ty)*) => { $(impl BadValue for $t { fn shown(&self) -> String { self.to_string() } })* } }
plain! { i32 i64 u32 u64 usize bool }
impl BadValue for str {
    fn shown(&self) -> String {
        go::quote(self)
    }
}
impl BadValue for String {
    fn shown(&self) -> String {
        go::quote(self)
    }
}
impl BadValue for Str {
    fn shown(&self) -> String {
        go::quote(self)
    }
}
impl BadValue for f64 {
    fn shown(&self) -> String {
        go::float(*self)
    }
}
impl BadValue for Value {
    fn shown(&self) -> String {
        self.to_json()
    }
}
impl BadValue for dyn Object {
    fn shown(&self) -> String {
        let mut e = Encoder::new(Order::Go, 0);
        e.object(self);
        e.finish()
    }
}
/// A value of an object, in the order of the Go source.
pub(crate) fn reflected(r: Ref<'_>) -> String {
    let mut e = Encoder::new(Order::Go, 0);
    e.value(r);
    e.finish()
}
macro_rules! by_reflection {
    ($($t:ty)*) => { $(impl BadValue for $t { fn shown(&self) -> String { reflected(self.reflect()) } })* };
}
by_reflection! { OStr Quantity IntOrString Time Bytes Option<bool> Option<i32> Option<i64> Option<Quantity> Option<IntOrString> }
impl<T: Reflect + Clone + Default> BadValue for List<T> {
    fn shown(&self) -> String {
        reflected(self.reflect())
    }
}
impl<T: Reflect + Clone + Default> BadValue for Map<T> {
    fn shown(&self) -> String {
        reflected(self.reflect())
    }
}
impl<T: Object + Clone + Default> BadValue for Ptr<T> {
    fn shown(&self) -> String {
        reflected(self.reflect())
    }
}
impl<T: Object + Clone> BadValue for Shared<T> {
    fn shown(&self) -> String {
        reflected(self.reflect())
    }
}
impl<T: BadValue> BadValue for [T] {
    fn shown(&self) -> String {
        // A list of strings is JSON too, with JSON's quoting; the items here are scalars.
        format!("[{}]", self.iter().map(BadValue::shown).collect::<Vec<_>>().join(","))
    }
}

/// One error of one field; Display as Go's `Error()`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What kind of error.
    pub ty: ErrorType,
    /// The field's path.
    pub field: String,
    /// The bad value as printed; None where none is printed.
    pub value: Option<String>,
    /// What is wrong with it.
    pub detail: String,
}

impl Error {
    fn new(ty: ErrorType, path: &Path, value: Option<String>, detail: impl Into<String>) -> Error {
        Error { ty, field: path.to_string(), value, detail: detail.into() }
    }
    /// The text without the field.
    pub fn body(&self) -> String {
        let mut s = self.ty.to_string();
        if let Some(v) = &self.value {
            s = format!("{s}: {v}");
        }
        if !self.detail.is_empty() {
            s = format!("{s}: {}", self.detail);
        }
        s
    }
}
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}
impl std::error::Error for Error {}

/// `spec.x: Invalid value: "v": detail`
pub fn invalid(path: &Path, value: impl BadValue, detail: impl Into<String>) -> Error {
    Error::new(ErrorType::Invalid, path, Some(value.shown()), detail)
}
/// As [`invalid`], for a value of the wrong type.
pub fn type_invalid(path: &Path, value: impl BadValue, detail: impl Into<String>) -> Error {
    Error::new(ErrorType::TypeInvalid, path, Some(value.shown()), detail)
}
/// `spec.x: Required value: detail`
pub fn required(path: &Path, detail: impl Into<String>) -> Error {
    Error::new(ErrorType::Required, path, None, detail)
}
/// `spec.x: Duplicate value: "v"`
pub fn duplicate(path: &Path, value: impl BadValue) -> Error {
    Error::new(ErrorType::Duplicate, path, Some(value.shown()), "")
}
/// `spec.x: Not found: "v"`
pub fn not_found(path: &Path, value: impl BadValue) -> Error {
    Error::new(ErrorType::NotFound, path, Some(value.shown()), "")
}
/// `spec.x: Unsupported value: "v": supported values: "a", "b"`. The caller sorts, where Kubernetes does.
pub fn not_supported<S: AsRef<str>>(path: &Path, value: impl BadValue, valid: &[S]) -> Error {
    let quoted: Vec<String> = valid.iter().map(|v| go::quote(v.as_ref())).collect();
    let detail = if quoted.is_empty() { String::new() } else { format!("supported values: {}", quoted.join(", ")) };
    Error::new(ErrorType::NotSupported, path, Some(value.shown()), detail)
}
/// `spec.x: Forbidden: detail`
pub fn forbidden(path: &Path, detail: impl Into<String>) -> Error {
    Error::new(ErrorType::Forbidden, path, None, detail)
}
/// `spec.x: Too long: may not be more than 63 bytes`
pub fn too_long(path: &Path, max: usize) -> Error {
    Error::new(ErrorType::TooLong, path, None, format!("may not be more than {max} {}", plural(max, "byte")))
}
/// `spec.x: Too long: may not be more than 63 characters`
pub fn too_long_characters(path: &Path, max: usize) -> Error {
    Error::new(ErrorType::TooLong, path, None, format!("may not be more than {max} {}", plural(max, "character")))
}
/// `spec.x: Too many: 11: must have at most 10 items`
pub fn too_many(path: &Path, actual: usize, max: usize) -> Error {
    Error::new(
        ErrorType::TooMany,
        path,
        Some(actual.to_string()),
        format!("must have at most {max} {}", plural(max, "item")),
    )
}
/// `spec.x: Too short: must be at least 1 character`
pub fn too_short(path: &Path, min: usize) -> Error {
    Error::new(ErrorType::TooShort, path, None, format!("must be at least {min} {}", plural(min, "character")))
}
/// `spec.x: Internal error: detail`
pub fn internal(path: &Path, error: impl fmt::Display) -> Error {
    Error::new(ErrorType::Internal, path, None, error.to_string())
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { word.to_string() } else { format!("{word}s") }
}

/// The errors of an object, in order. Display is Go's aggregate: one error as it is, several in brackets, each once.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ErrorList {
    errors: Vec<Error>,
}
impl ErrorList {
    /// No errors.
    pub const fn new() -> Self {
        ErrorList { errors: Vec::new() }
    }
    /// Adds an error.
    pub fn push(&mut self, e: Error) {
        self.errors.push(e);
    }
    /// Adds errors.
    pub fn extend(&mut self, other: impl IntoIterator<Item = Error>) {
        self.errors.extend(other);
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.errors.len()
    }
    /// The errors.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }
}
impl IntoIterator for ErrorList {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;
    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}
impl FromIterator<Error> for ErrorList {
    fn from_iter<I: IntoIterator<Item = Error>>(i: I) -> Self {
        ErrorList { errors: i.into_iter().collect() }
    }
}
impl From<Error> for ErrorList {
    fn from(e: Error) -> Self {
        ErrorList { errors: vec![e] }
    }
}
impl fmt::Display for ErrorList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&aggregate(self.errors.iter().map(Error::to_string)))
    }
}

/// Go's `NewAggregate(errs).Error()`.
pub fn aggregate(messages: impl IntoIterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for m in messages {
        if !seen.contains(&m) {
            seen.push(m);
        }
    }
    match seen.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta_v1::LabelSelector;

    #[test]
    fn prints_as_go() {
        let path = Path::new("spec").child("containers").index(0).child("name");
        assert_eq!(path.to_string(), "spec.containers[0].name");
        assert_eq!(Path::new("values").index(0).key("app").to_string(), "values[0][app]");
        assert_eq!(invalid(&path, "A\"", "bad").to_string(), r#"spec.containers[0].name: Invalid value: "A\"": bad"#);
        assert_eq!(required(&path, "").to_string(), "spec.containers[0].name: Required value");
        let labels: Map<Str> = Map::from([("app", Str::from("lantern"))]);
        assert_eq!(invalid(&Path::new("l"), &labels, "x").to_string(), r#"l: Invalid value: {"app":"lantern"}: x"#);
        let selector = LabelSelector { match_labels: labels, ..Default::default() };
        assert_eq!(
            invalid(&Path::new("s"), &selector as &dyn Object, "field is immutable").to_string(),
            r#"s: Invalid value: {"matchLabels":{"app":"lantern"}}: field is immutable"#
        );
        assert_eq!(
            not_supported(&Path::new("p"), "x", &["Always", "Never"]).to_string(),
            r#"p: Unsupported value: "x": supported values: "Always", "Never""#
        );
        assert_eq!(too_long(&Path::new("p"), 63).to_string(), "p: Too long: may not be more than 63 bytes");
        let list: ErrorList = [required(&Path::new("a"), ""), required(&Path::new("b"), "c")].into_iter().collect();
        assert_eq!(list.to_string(), "[a: Required value, b: Required value: c]");
    }
}
