//! The types that the kinds of objects are to expressions (`SchemaDeclType`), for checking policies against what they
//! match.

use super::Type;
use crate::Str;
use crate::object::{self, TypeDesc};
use crate::scheme::KindInfo;

/// A kind under the name that its type has, which its parts' names begin with.
#[derive(Clone, Debug)]
pub struct Declared {
    /// `Pod106987075`
    pub name: Str,
    /// The kind.
    pub kind: &'static KindInfo,
}

impl Declared {
    /// The type of the whole object.
    pub fn whole(&self) -> Type {
        Type::Struct(self.name.clone())
    }

    /// The type of a part's field, where the part is one of this object. The outer none says that it is not.
    pub fn field(&self, of: &str, name: &str) -> Option<Option<Type>> {
        let path = match of.strip_prefix(&*self.name)? {
            "" => "",
            path => path.strip_prefix('.')?,
        };
        let mut desc: Option<&'static TypeDesc> = Some(self.kind.desc);
        let mut inner: Option<&'static object::Type> = None;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            inner = match step {
                "@idx" | "@elem" => inner.and_then(object::Type::element),
                _ => desc.and_then(|desc| desc.field(step)).map(|field| &field.ty),
            };
            desc = inner.and_then(object::Type::desc);
        }
        Some(
            desc.and_then(|desc| desc.field(name))
                .and_then(|field| declared(field, &field.ty, &format!("{of}.{name}"))),
        )
    }
}

/// What a field's type is. Quantities have none, as in the schema of the real server.
fn declared(field: &object::FieldDesc, of: &object::Type, path: &str) -> Option<Type> {
    use object::Type as T;
    Some(match of {
        T::Str | T::OStr => Type::Str,
        T::Bool | T::OBool => Type::Bool,
        T::I32 | T::OI32 | T::I64 | T::OI64 => Type::Int,
        T::OF64 => Type::Double,
        T::Time | T::MicroTime => Type::Timestamp,
        T::Quantity | T::OQuantity => return None,
        T::IntOrString | T::OIntOrString => Type::Dyn,
        T::Bytes => Type::Bytes,
        T::Raw => {
            let is_object = field.raw().is_none_or(|name| name.ends_with("RawExtension") || name.ends_with("FieldsV1"));
            return is_object.then(|| Type::Struct(path.into()));
        }
        T::Struct(_) | T::Ptr(_) => Type::Struct(path.into()),
        T::List(element) => Type::list(declared(field, element, &format!("{path}.@idx"))?),
        T::Map(element) => Type::map(Type::Str, declared(field, element, &format!("{path}.@elem"))?),
    })
}
