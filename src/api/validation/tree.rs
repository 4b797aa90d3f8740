//! Objects that no Rust struct describes, looked at as JSON: a place in it, whether or not something is there.

use super::at::At;
use crate::Object;
use crate::field::BadValue;
use crate::json::{self, Value};
use crate::object::Ref;

const NOTHING: &Value = &Value::Null;

/// A place in a JSON document; a missing field reads as Go's zero value.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a>(&'a Value);

impl<'a> Tree<'a> {
    /// The whole document.
    pub(super) const fn new(value: &'a Value) -> Tree<'a> {
        Tree(value)
    }
    /// A field of the object.
    pub(super) fn get(self, name: &str) -> Tree<'a> {
        Tree(self.0.get(name).unwrap_or(NOTHING))
    }
    /// Whether something is there.
    pub(super) fn exists(self) -> bool {
        !self.0.is_null()
    }
    /// Whether nothing is there, or an empty list or object.
    pub(super) fn is_empty(self) -> bool {
        match self.0 {
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::Str(text) => text.is_empty(),
            value => value.is_null(),
        }
    }
    /// The string; empty where there is none.
    pub(super) fn text(self) -> &'a str {
        self.0.as_str().unwrap_or_default()
    }
    /// The string, if there is one.
    pub(super) fn optional_text(self) -> Option<&'a str> {
        self.0.as_str()
    }
    /// The number; 0 where there is none.
    pub(super) fn int(self) -> i64 {
        self.0.as_i64().unwrap_or_default()
    }
    /// The number, if there is one.
    pub(super) fn optional_int(self) -> Option<i64> {
        self.0.as_i64()
    }
    /// Whether it is `true`.
    pub(super) fn is_true(self) -> bool {
        self.0.as_bool() == Some(true)
    }
    /// The items of the list.
    pub(super) fn items(self) -> impl Iterator<Item = Tree<'a>> {
        self.0.as_array().into_iter().flat_map(|list| list.iter()).map(Tree)
    }
    /// How many items the list, or entries the object, has.
    pub(super) fn len(self) -> usize {
        match self.0 {
            Value::Array(list) => list.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        }
    }
    /// The strings of the list.
    pub(super) fn texts(self) -> Vec<&'a str> {
        self.items().map(Tree::text).collect()
    }
    /// The entries of the object, sorted by key.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'a str, Tree<'a>)> {
        self.0.as_object().into_iter().flat_map(|map| map.iter()).map(|(key, value)| (&**key, Tree(value)))
    }
    /// The value itself; null where there is none.
    pub(super) const fn value(self) -> &'a Value {
        self.0
    }
    /// The same as a struct, for the rules that know it.
    pub(super) fn typed<T: Object + Default>(self) -> T {
        let mut object = T::default();
        // What was read into the object's own type reads into this one, too.
        let _ = json::from_value(self.0, &mut object, false);
        object
    }
}

impl PartialEq for Tree<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl BadValue for Tree<'_> {
    fn shown(&self) -> String {
        match self.0 {
            Value::Str(text) => text.shown(),
            value => value.to_json(),
        }
    }
}

/// A write to an object of such a kind.
pub(super) struct Write<'a> {
    /// The new state.
    pub(super) object: &'a dyn Object,
    /// The state before; None for a new object.
    pub(super) before: Option<&'a dyn Object>,
    /// As JSON.
    pub(super) new: Tree<'a>,
    /// As JSON; null for a new object.
    pub(super) old: Tree<'a>,
    /// `status` and so on; empty for the object itself.
    pub(super) subresource: &'a str,
}

impl Write<'_> {
    /// Whether the status alone is written.
    pub(super) fn is_status(&self) -> bool {
        self.subresource == "status"
    }
    /// Checks the metadata, of a new object or of a changed one.
    pub(super) fn metadata(&self, rule: super::metadata::NameRule, errors: &mut super::Errors) {
        let namespaced = self.object.kind_info().is_some_and(|kind| kind.namespaced);
        match (self.object.metadata(), self.before.map(|before| before.metadata())) {
            (Some(new), None) => super::metadata::create(new, namespaced, rule, errors),
            (Some(new), Some(Some(old))) => super::metadata::update(new, old, errors),
            _ => {}
        }
    }
    /// Checks the metadata as that of a new object, whichever it is, after what an update may not change.
    pub(super) fn whole_metadata(&self, rule: super::metadata::NameRule, errors: &mut super::Errors) {
        let namespaced = self.object.kind_info().is_some_and(|kind| kind.namespaced);
        if let Some(new) = self.object.metadata() {
            if let Some(old) = self.before.and_then(|before| before.metadata()) {
                super::metadata::update(new, old, errors);
            }
            super::metadata::create(new, namespaced, rule, errors);
        }
    }
}

/// `*` alone, or any of what there is; says whether `*` is there.
pub(super) fn star(values: Tree, what: &str, at: &At, errors: &mut super::Errors) -> bool {
    let has_star = values.texts().contains(&"*");
    if has_star && values.len() > 1 {
        errors.invalid(at, values, format!("if '*' is present, must not specify other {what}"));
    }
    has_star
}

/// A label selector.
pub(super) fn selector(selector: Tree, bad_values: bool, at: &At, errors: &mut super::Errors) {
    super::labels::plain(&selector.typed(), bad_values, at, errors);
}

/// What a path of fields leads to in an object.
pub(super) fn find<'a>(object: Option<Ref<'a>>, path: &[&str]) -> Option<Ref<'a>> {
    path.iter().try_fold(object?, |at, step| match at {
        Ref::Struct(object) => object.field(step),
        Ref::Ptr(pointer) => pointer.get()?.field(step),
        _ => None,
    })
}

/// A part of an object as it shows in an error, its fields in the order of the Go source.
pub(super) struct Shown<'a>(pub(super) Option<Ref<'a>>);

impl BadValue for Shown<'_> {
    fn shown(&self) -> String {
        self.0.map_or_else(|| Value::Null.to_json(), crate::field::reflected)
    }
}
