//! JSON as Kubernetes reads and writes it: one codec driven by descriptors, and a dynamic value.
mod decode;
mod encode;
mod lexer;
mod value;

pub use decode::{DecodeError, Decoded, StrictError, decode, from_value};
pub use encode::{
    Encoder, Order, encode, encode_bare, encode_pretty, encode_rev, reference_to_value, to_value, to_value_bare,
    write_string,
};
pub use lexer::{MAX_DEPTH, SyntaxError};
pub use value::Value;
