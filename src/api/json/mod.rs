//! JSON as Kubernetes reads and writes it: one codec driven by descriptors, and a dynamic value.
mod decode;
mod encode;
mod from_unstructured;
mod lexer;
mod value;

pub use decode::{DecodeError, Decoded, StrictError, decode, from_value, type_meta};
pub use encode::{
    Encoder, Order, encode, encode_bare, encode_pretty, encode_rev, patched_to_json, reference_to_value, to_value,
    to_value_bare, write_string,
};
pub use from_unstructured::from_unstructured;
pub use lexer::{MAX_DEPTH, SyntaxError, is_valid};
pub use value::Value;
