//! Printers: tables, names, JSON, YAML, jsonpath, custom columns.

pub mod human;
pub mod kyaml;
pub mod object;
pub mod table;
pub mod tabwriter;
pub mod time;
