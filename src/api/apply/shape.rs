//! What the walks need to know of a value's type.
use super::set::{Element, Set};
use crate::SortSmall;
use crate::json::Value;
use crate::object::{FieldDesc, LIST_ATOMIC, LIST_MAP, LIST_SET, MAP_ATOMIC, PATCH_MERGE, Type, TypeDesc};

/// A value's type, with the field that says how its list or map is merged.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    ty: Ty,
    field: Option<&'static FieldDesc>,
}

#[derive(Clone, Copy)]
enum Ty {
    Root(&'static TypeDesc),
    Of(&'static Type),
    /// Not known: told from the value.
    Deduced,
}

/// How a list is merged.
#[derive(Clone, Copy)]
pub(super) enum Relation {
    Atomic,
    Set,
    Keys(&'static [&'static str]),
}

/// What a value is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Scalar(Scalar),
    List(Relation, Shape),
    Struct(&'static TypeDesc, bool),
    Map(Shape, bool),
    Deduced,
}

/// The kinds of scalars that OpenAPI tells apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    String,
    Number,
    Bool,
    Any,
}

impl Shape {
    pub const DEDUCED: Shape = Shape { ty: Ty::Deduced, field: None };

    pub fn of(desc: &'static TypeDesc) -> Shape {
        Shape { ty: Ty::Root(desc), field: None }
    }
    pub fn kind(self) -> Kind {
        let flag = |f: u16| self.field.is_some_and(|d| d.is(f));
        let ty = match self.ty {
            Ty::Root(d) => return Kind::Struct(d, d.atomic),
            Ty::Deduced => return Kind::Deduced,
            Ty::Of(t) => t,
        };
        match ty {
            Type::Struct(d) | Type::Ptr(d) => Kind::Struct(d, d.atomic || flag(MAP_ATOMIC)),
            Type::Map(e) => Kind::Map(Shape { ty: Ty::Of(e), field: None }, flag(MAP_ATOMIC)),
            Type::List(e) => {
                let relation = if flag(LIST_ATOMIC) {
                    Relation::Atomic
                } else if flag(LIST_SET) {
                    Relation::Set
                } else if flag(LIST_MAP) {
                    self.field.and_then(FieldDesc::keys).map_or(Relation::Atomic, Relation::Keys)
                } else if flag(PATCH_MERGE) {
                    match self.field.and_then(FieldDesc::merge_key_list) {
                        Some(keys) => Relation::Keys(keys),
                        None => Relation::Set,
                    }
                } else {
                    Relation::Atomic
                };
                Kind::List(relation, Shape { ty: Ty::Of(e), field: None })
            }
            Type::Raw => Kind::Deduced,
            Type::Str | Type::OStr | Type::Time | Type::MicroTime | Type::Bytes => Kind::Scalar(Scalar::String),
            Type::Bool | Type::OBool => Kind::Scalar(Scalar::Bool),
            Type::I32 | Type::OI32 | Type::I64 | Type::OI64 | Type::OF64 => Kind::Scalar(Scalar::Number),
            Type::Quantity | Type::OQuantity | Type::IntOrString | Type::OIntOrString => Kind::Scalar(Scalar::Any),
        }
    }
    /// The kind for a value, where the type doesn't say.
    pub fn kind_for(self, v: Told) -> Kind {
        match self.kind() {
            Kind::Deduced => match v {
                Told::Map => Kind::Map(Shape::DEDUCED, false),
                Told::List => Kind::List(Relation::Atomic, Shape::DEDUCED),
                Told::Other => Kind::Scalar(Scalar::Any),
            },
            k => k,
        }
    }
    /// A field of a struct.
    pub fn field(f: &'static FieldDesc) -> Shape {
        Shape { ty: Ty::Of(&f.ty), field: Some(f) }
    }
    /// What stands at a field or key; whether it is a declared field.
    pub fn child(self, name: &str) -> (Shape, bool) {
        match self.kind() {
            Kind::Struct(d, _) => match d.field(name) {
                Some(f) => (Shape::field(f), true),
                None => (Shape::DEDUCED, false),
            },
            Kind::Map(e, _) => (e, false),
            _ => (Shape::DEDUCED, false),
        }
    }

    /// The set with every declared field on the way to a member being one too (`EnsureNamedFieldsAreMembers`).
    pub fn with_named_fields(self, set: &Set) -> Set {
        let mut out = Set { members: set.members.clone(), ..Default::default() };
        for (e, child) in &set.children {
            let shape = match (e, self.kind()) {
                (Element::Field(name), _) => {
                    let (shape, declared) = self.child(name);
                    if declared {
                        out.members.insert(e.clone());
                    }
                    shape
                }
                (Element::Key(_), Kind::List(_, item)) => item,
                _ => Shape::DEDUCED,
            };
            out.children.insert(e.clone(), shape.with_named_fields(child));
        }
        out
    }
}

/// What a value tells of its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Map,
    List,
    Other,
}
impl Told {
    pub fn of(v: &Value) -> Told {
        match v {
            Value::Object(_) => Told::Map,
            Value::Array(_) => Told::List,
            _ => Told::Other,
        }
    }
}

/// The path element of a list's item.
///
/// # Errors
/// Go's text.
pub(super) fn element(
    relation: Relation,
    item: Shape,
    told: Told,
    is_null: bool,
    get: impl Fn(&str) -> Option<Value>,
    value: impl FnOnce() -> Value,
) -> Result<Element, String> {
    match relation {
        Relation::Atomic => Err("invalid indexing of non-associative list".to_string()),
        Relation::Set => match told {
            Told::Map => Err("associative list without keys has an element that's a map type".to_string()),
            Told::List => Err("not supported: associative list with lists as elements".to_string()),
            Told::Other if is_null => {
                Err("associative list without keys has an element that's an explicit null".to_string())
            }
            Told::Other => Ok(Element::Value(value())),
        },
        Relation::Keys(keys) => {
            if is_null {
                return Err("associative list with keys may not have a null element".to_string());
            }
            if told != Told::Map {
                return Err("associative list with keys may not have non-map elements".to_string());
            }
            let mut found = Vec::new();
            for key in keys {
                let default = || {
                    let Kind::Struct(d, _) = item.kind() else { return None };
                    d.field(key)?.default().and_then(|j| Value::parse(j).ok())
                };
                if let Some(v) = get(key).or_else(default) {
                    found.push((crate::value::Str::from(*key), v));
                }
            }
            if found.is_empty() {
                return Err(format!(
                    "associative list with keys has an element that omits all key fields {} (and doesn't have default values for any key fields)",
                    crate::go::quote_list(keys)
                ));
            }
            found.sort_small_by(|a, b| a.0.cmp(&b.0));
            Ok(Element::Key(found))
        }
    }
}
