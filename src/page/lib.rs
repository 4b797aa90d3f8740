//! The page: what a visitor sees and touches. Pure logic (state, layout, formatting, editing) stands in plain modules
//! with tests that run natively; `ui` holds the thin components, and only `ui` and `link` speak to the browser.

pub mod cluster;
pub mod dense;
pub mod examples;
pub mod faults;
pub mod format;
pub mod klog;
pub mod lang;
pub mod layout;
pub mod model;
pub mod query;
pub mod term;
pub mod words;
pub mod yaml;
