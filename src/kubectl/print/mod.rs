//! Printers: tables, names, JSON, YAML, jsonpath, custom columns.

pub mod human;
pub mod tabwriter;
pub mod time;
