//! The values that Kubernetes' types are made of. All are refcounted and copy-on-write where they allocate, and keep
//! Go's difference between nil and empty.

mod bytes;
mod int_or_string;
mod list;
mod map;
mod ptr;
pub mod quantity;
mod raw;
mod str;
pub mod time;

pub use bytes::{Bytes, base64, unbase64};
pub use int_or_string::IntOrString;
pub use list::List;
pub use map::Map;
pub use ptr::{Ptr, Shared};
pub use quantity::Quantity;
pub use raw::Raw;
pub use str::{OStr, Str};
pub use time::{MicroTime, Time, civil, days, parse_rfc3339, rfc3339};
