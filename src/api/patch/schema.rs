//! What strategic merge needs to know of a field.
use super::{Error, Result, fail};
use crate::object::{PATCH_MERGE, PATCH_REPLACE, PATCH_RETAIN_KEYS, Type, TypeDesc};

/// The type of a value.
#[derive(Clone, Copy)]
pub(super) enum Schema {
    Struct(&'static TypeDesc),
    Other(&'static Type),
}

/// How a field is merged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    Default,
    Merge,
    Replace,
}

/// A field's patch metadata.
#[derive(Clone, Copy)]
pub(super) struct Meta {
    pub retain_keys: bool,
    pub strategy: Strategy,
    pub merge_key: &'static str,
}

fn of(ty: &'static Type) -> Schema {
    match ty.desc() {
        Some(d) => Schema::Struct(d),
        None => Schema::Other(ty),
    }
}

fn kind(ty: &Type) -> &'static str {
    match ty {
        Type::Map(_) => "map",
        Type::List(_) | Type::Bytes | Type::Raw => "slice",
        Type::Bool | Type::OBool => "bool",
        Type::I32 | Type::OI32 => "int32",
        Type::I64 | Type::OI64 => "int64",
        Type::OF64 => "float64",
        Type::Str | Type::OStr => "string",
        _ => "struct",
    }
}

impl Schema {
    /// Go's name of the kind of type.
    pub fn name(self) -> &'static str {
        match self {
            Schema::Struct(_) => "struct",
            Schema::Other(t) => kind(t),
        }
    }
    fn field(self, key: &str) -> Result<(&'static Type, Meta)> {
        let desc = match self {
            Schema::Struct(d) => d,
            Schema::Other(t) => {
                return fail(format!("merging an object in json but data type is not struct, instead is: {}", kind(t)));
            }
        };
        let f = desc.field(key).ok_or_else(|| {
            let name = desc.name.rsplit('.').next().unwrap_or("");
            Error(format!("unable to find api field in struct {name} for the json field {}", crate::go::quote(key)))
        })?;
        let strategy = if f.is(PATCH_MERGE) {
            Strategy::Merge
        } else if f.is(PATCH_REPLACE) {
            Strategy::Replace
        } else {
            Strategy::Default
        };
        let meta = Meta { retain_keys: f.is(PATCH_RETAIN_KEYS), strategy, merge_key: f.merge_key().unwrap_or("") };
        Ok((&f.ty, meta))
    }
    /// A field that holds an object.
    pub fn object(self, key: &str) -> Result<(Schema, Meta)> {
        self.field(key).map(|(t, m)| (of(t), m))
    }
    /// A field that holds a list: the type of its items.
    pub fn list(self, key: &str) -> Result<(Schema, Meta)> {
        let (t, m) = self.field(key)?;
        match t {
            Type::List(e) => Ok((of(e), m)),
            Type::Bytes | Type::Raw => Ok((of(t), m)),
            _ => fail(format!("expected slice or array type, but got: {}", self.name())),
        }
    }
}
