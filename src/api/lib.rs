//! The object model: Kubernetes' types, their codec, defaulting and validation. Pure functions.
//!
//! Types are generated from `data/schema-1.37.json` ([`types`], also reachable as `api::core_v1` and so on). Every
//! struct implements [`Object`]: a descriptor and access to its fields by number. One codec, one patch, one apply, one
//! validation of enums and required fields are driven by that.

pub mod apply;
pub mod cel;
pub mod certificate_request;
pub mod cidr;
pub mod cron;
pub mod declared_features;
pub mod defaults;
mod descriptions;
pub mod duration;
pub mod dynamic;
pub mod equality;
pub mod field;
pub mod go;
pub mod internal;
pub mod json;
pub mod names;
pub mod object;
pub mod openapi;
pub mod patch;
pub mod pod;
pub mod quota;
pub mod resource_claim;
pub mod rest;
mod rev;
pub mod scheme;
pub mod selector;
pub mod service_cidr;
pub mod sha256;
mod sort;
pub mod status;
pub mod table;
pub mod timezone;
#[rustfmt::skip]
pub mod types;
pub mod validation;
pub mod value;
pub mod volume;
pub mod yaml;

pub use object::{Object, Resource};
pub use rev::{AnyRev, Rev};
pub use scheme::KindInfo;
pub use sort::SortSmall;
pub use status::Status;
pub use types::*;
pub use value::{Bytes, IntOrString, List, Map, MicroTime, OStr, Ptr, Quantity, Raw, Shared, Str, Time};
