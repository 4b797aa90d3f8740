//! Where validation is: a path on the stack that costs nothing until an error is found.

use crate::field::{self, BadValue, Error, ErrorList, Path};

/// A field's path, borrowed step by step.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Child(&'a str),
    Index(usize),
    Key(&'a str),
    None,
}

impl<'a> At<'a> {
    /// The nil path.
    pub(super) const fn none() -> At<'static> {
        At { parent: None, step: Step::None }
    }
    /// A path of one name.
    pub(super) const fn new(name: &'a str) -> At<'a> {
        At { parent: None, step: Step::Child(name) }
    }
    /// A field below this one.
    pub(super) const fn child<'b>(&'b self, name: &'b str) -> At<'b> {
        At { parent: Some(self), step: Step::Child(name) }
    }
    /// A field of another name beside this one.
    pub(super) const fn sibling<'b>(&'b self, name: &'b str) -> At<'b>
    where
        'a: 'b,
    {
        At { parent: self.parent, step: Step::Child(name) }
    }
    /// An item of this list.
    pub(super) const fn index(&self, i: usize) -> At<'_> {
        At { parent: Some(self), step: Step::Index(i) }
    }
    /// An entry of this map.
    pub(super) const fn key<'b>(&'b self, key: &'b str) -> At<'b> {
        At { parent: Some(self), step: Step::Key(key) }
    }
    /// The path, to keep.
    pub(super) fn path(&self) -> Path {
        let parent = self.parent.map_or(Path::none(), At::path);
        match self.step {
            Step::Child(name) => parent.child(name),
            Step::Index(i) => parent.index(i),
            Step::Key(key) => parent.key(key),
            Step::None => parent,
        }
    }
}

/// The errors found so far.
#[derive(Default)]
pub(super) struct Errors {
    list: ErrorList,
    /// Those that Kubernetes finds by declared rules, which run after the others.
    declared: Vec<Error>,
}

impl Errors {
    /// The list.
    pub(super) fn finish(mut self) -> ErrorList {
        self.list.extend(self.declared);
        if self.list.len() < 2 {
            return self.list;
        }
        // What several rules find is said once.
        let mut once: Vec<Error> = Vec::with_capacity(self.list.len());
        for error in self.list {
            if !once.contains(&error) {
                once.push(error);
            }
        }
        once.into_iter().collect()
    }
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len() + self.declared.len()
    }
    /// `Required value` by a declared rule.
    pub(super) fn declared_required(&mut self, at: &At) {
        self.declared.push(field::required(&at.path(), ""));
    }
    /// `Unsupported value` by a declared rule.
    pub(super) fn declared_one_of(&mut self, at: &At, value: &str, valid: &[&str]) {
        if !valid.contains(&value) {
            self.declared.push(field::not_supported(&at.path(), value, valid));
        }
    }
    /// `field is immutable` by a declared rule, which shows no value.
    pub(super) fn declared_immutable<T: PartialEq>(&mut self, at: &At, new: &T, old: &T) {
        if new != old {
            self.declared.push(field::invalid(&at.path(), crate::json::Value::Null, IMMUTABLE));
        }
    }
    /// Any error by a declared rule.
    pub(super) fn declared(&mut self, error: Error) {
        self.declared.push(error);
    }
    /// Adds an error made elsewhere.
    pub(super) fn push(&mut self, error: Error) {
        self.list.push(error);
    }
    /// `Invalid value`
    pub(super) fn invalid(&mut self, at: &At, value: impl BadValue, detail: impl Into<String>) {
        self.list.push(field::invalid(&at.path(), value, detail));
    }
    /// One `Invalid value` a message.
    pub(super) fn each(&mut self, at: &At, value: &str, messages: Vec<String>) {
        for message in messages {
            self.invalid(at, value, message);
        }
    }
    /// `Required value`
    pub(super) fn required(&mut self, at: &At, detail: impl Into<String>) {
        self.list.push(field::required(&at.path(), detail));
    }
    /// `Required value` where a string is empty.
    pub(super) fn need(&mut self, at: &At, value: &str) {
        if value.is_empty() {
            self.required(at, "");
        }
    }
    /// `Forbidden`
    pub(super) fn forbidden(&mut self, at: &At, detail: impl Into<String>) {
        self.list.push(field::forbidden(&at.path(), detail));
    }
    /// `Duplicate value`
    pub(super) fn duplicate(&mut self, at: &At, value: impl BadValue) {
        self.list.push(field::duplicate(&at.path(), value));
    }
    /// `Not found`
    pub(super) fn not_found(&mut self, at: &At, value: impl BadValue) {
        self.list.push(field::not_found(&at.path(), value));
    }
    /// `Unsupported value`
    pub(super) fn not_supported(&mut self, at: &At, value: impl BadValue, valid: &[&str]) {
        self.list.push(field::not_supported(&at.path(), value, valid));
    }
    /// `Unsupported value` unless the string is one of those.
    pub(super) fn one_of(&mut self, at: &At, value: &str, valid: &[&str]) {
        if !valid.contains(&value) {
            self.not_supported(at, value, valid);
        }
    }
    /// `Required value` where it is empty, `Unsupported value` where it is none of those.
    pub(super) fn required_one_of(&mut self, at: &At, value: &str, valid: &[&str]) {
        if value.is_empty() {
            self.required(at, "");
        } else {
            self.one_of(at, value, valid);
        }
    }
    /// `Too long`
    pub(super) fn too_long(&mut self, at: &At, max: usize) {
        self.list.push(field::too_long(&at.path(), max));
    }
    /// `Too many`
    pub(super) fn too_many(&mut self, at: &At, actual: usize, max: usize) {
        self.list.push(field::too_many(&at.path(), actual, max));
    }
    /// `must be greater than or equal to 0`
    pub(super) fn not_negative(&mut self, at: &At, value: impl Into<i64>) {
        let value = value.into();
        if value < 0 {
            self.invalid(at, value, NEGATIVE);
        }
    }
    /// `must be greater than zero`
    pub(super) fn positive(&mut self, at: &At, value: impl Into<i64>) {
        let value = value.into();
        if value <= 0 {
            self.invalid(at, value, "must be greater than zero");
        }
    }
    /// `field is immutable`
    pub(super) fn immutable<T: PartialEq + BadValue>(&mut self, at: &At, new: &T, old: &T) {
        if new != old {
            self.invalid(at, new, IMMUTABLE);
        }
    }
}

/// `IsNegativeErrorMsg`
pub(super) const NEGATIVE: &str = "must be greater than or equal to 0";
/// `FieldImmutableErrorMsg`
pub(super) const IMMUTABLE: &str = "field is immutable";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let spec = At::new("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        let mut errors = Errors::default();
        errors.need(&first.child("name"), "");
        errors.invalid(&spec.child("limits").key("cpu"), 3, "no");
        assert_eq!(
            errors.finish().to_string(),
            "[spec.containers[0].name: Required value, spec.limits[cpu]: Invalid value: 3: no]"
        );
    }
}
