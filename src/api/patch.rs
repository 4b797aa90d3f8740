//! Patches of objects as JSON values: JSON patch, JSON merge patch, strategic merge patch, and the making of the latter
//! two, as `kubectl apply` does.
mod diff;
mod json;
mod merge;
mod schema;
mod strategic;

pub use diff::{create_three_way, create_two_way};
pub use json::{MAX_OPERATIONS, json, pointer};
pub use merge::{create_merge, create_three_way_merge, merge};
pub use strategic::strategic;

use std::fmt;

/// Why a patch can't be read, applied or made; Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Error {}

type Result<T> = std::result::Result<T, Error>;

fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(Error(message.into()))
}

#[cfg(test)]
mod tests;
