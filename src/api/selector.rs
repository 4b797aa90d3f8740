//! Label and field selectors.
mod fields;
mod labels;

pub use fields::{FieldRequirement, FieldSelector, escape_value};
pub use labels::{LabelSelector, Operator, Requirement};
