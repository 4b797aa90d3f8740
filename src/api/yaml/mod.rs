//! YAML as kubectl and the API server read and print it: sigs.k8s.io/yaml over go-yaml v2, which is a port of libyaml.
//!
//! Reading goes text -> [`Node`] (with positions) -> [`Value`], as Go goes text -> YAML nodes -> JSON. Errors have Go's
//! words and lines.
mod decode;
mod documents;
mod print;
mod read;
mod scalar;
mod scan;

pub use documents::{Document, Documents, documents};
pub use print::print;
pub use read::{Node, NodeKind, Position};

use crate::json::Value;
use std::fmt;

/// Text that is no YAML; Display is Go's text, `yaml: line 4: did not find expected key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Go's text.
    pub message: String,
    /// Where the trouble is, from 0; not the line in the message, which Go computes oddly.
    pub position: Position,
}
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Error {}

/// Reads the first document of a text, without resolving anything: None if there is none.
///
/// # Errors
/// Go's syntax errors.
pub fn read(text: &str) -> Result<Option<Node>, Error> {
    read::read(text)
}

/// Reads the first document of a text; a text without one is null (`yaml.Unmarshal`).
///
/// # Errors
/// Go's errors.
pub fn parse(text: &str) -> Result<Value, Error> {
    decode::decode(read::read(text)?.as_ref(), false)
}

/// As [`parse`], with duplicate keys an error (`yaml.UnmarshalStrict`).
///
/// # Errors
/// Go's errors.
pub fn parse_strict(text: &str) -> Result<Value, Error> {
    decode::decode(read::read(text)?.as_ref(), true)
}

/// Resolves a document that was read.
///
/// # Errors
/// Go's errors.
pub fn to_value(node: &Node) -> Result<Value, Error> {
    decode::decode(Some(node), false)
}

#[cfg(test)]
mod tests;
