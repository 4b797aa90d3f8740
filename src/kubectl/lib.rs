//! The command line.

pub mod flags;
pub mod jsonpath;
pub mod print;
pub mod value;
