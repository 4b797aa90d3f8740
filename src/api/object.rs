//! Reflection: descriptors of types, and access to an object's fields by number.
use crate::dynamic::DynamicObject;
use crate::scheme::KindInfo;
use crate::types::meta_v1::{ListMeta, ObjectMeta};
use crate::value::*;
use std::any::Any;

/// What a field holds. `O` kinds are Go pointers to scalars.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Type {
    Str,
    OStr,
    Bool,
    OBool,
    I32,
    OI32,
    I64,
    OI64,
    OF64,
    Time,
    MicroTime,
    Quantity,
    OQuantity,
    IntOrString,
    OIntOrString,
    Bytes,
    Raw,
    Struct(&'static TypeDesc),
    Ptr(&'static TypeDesc),
    List(&'static Type),
    Map(&'static Type),
}

impl Type {
    /// The struct it is or points to.
    pub fn desc(&self) -> Option<&'static TypeDesc> {
        match self {
            Type::Struct(d) | Type::Ptr(d) => Some(d),
            _ => None,
        }
    }
    /// What a list or map holds.
    pub fn element(&self) -> Option<&'static Type> {
        match self {
            Type::List(e) | Type::Map(e) => Some(e),
            _ => None,
        }
    }
    /// The struct at the bottom of lists and maps.
    pub fn element_desc(&self) -> Option<&'static TypeDesc> {
        self.desc().or_else(|| self.element().and_then(|e| e.element_desc()))
    }
}

/// Left out of JSON when empty (Go's `omitempty`, or `omitzero`).
pub const OMIT: u16 = 1;
/// `+listType=atomic`
pub const LIST_ATOMIC: u16 = 2;
/// `+listType=set`
pub const LIST_SET: u16 = 4;
/// `+listType=map`, keyed by [`FieldDesc::keys`].
pub const LIST_MAP: u16 = 8;
/// `patchStrategy:"merge"`
pub const PATCH_MERGE: u16 = 16;
/// `patchStrategy:"retainKeys"`
pub const PATCH_RETAIN_KEYS: u16 = 32;
/// `patchStrategy:"replace"`
pub const PATCH_REPLACE: u16 = 64;
/// `+mapType=atomic` or `+structType=atomic`
pub const MAP_ATOMIC: u16 = 128;
/// Required by the OpenAPI schema.
pub const REQUIRED: u16 = 256;
/// `+mapType=granular` of a field whose type is atomic elsewhere.
pub const MAP_GRANULAR: u16 = 512;

/// What few fields have.
pub enum FieldMeta {
    /// The keys of a list that is a map.
    Keys(&'static [&'static str]),
    /// The key that strategic merge matches items by.
    MergeKey(&'static str),
    /// The values allowed.
    Enum(&'static [&'static str]),
    /// The default, as JSON.
    Default(&'static str),
    /// The named Go type, for type errors.
    Go(&'static str),
    /// The Go struct that is inlined here, for type errors.
    Inline(&'static str),
    /// What OpenAPI calls the type of a [`Type::Raw`].
    Raw(&'static str),
}

/// A field of a struct.
pub struct FieldDesc {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it holds.
    pub ty: Type,
    /// [`OMIT`] and so on.
    pub flags: u16,
    /// What few fields have.
    pub more: &'static [FieldMeta],
}

macro_rules! more {
    ($($(#[$doc:meta])* $name:ident $variant:ident -> $t:ty;)*) => { $(
        $(#[$doc])*
        pub fn $name(&self) -> Option<$t> {
            self.more.iter().find_map(|m| if let FieldMeta::$variant(v) = m { Some(*v) } else { None })
        }
    )* };
}

impl FieldDesc {
    /// Whether a flag is set.
    pub fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
    /// The merge key as a list of one.
    pub fn merge_key_list(&self) -> Option<&'static [&'static str]> {
        self.more.iter().find_map(|m| if let FieldMeta::MergeKey(k) = m { Some(std::slice::from_ref(k)) } else { None })
    }
    more! {
        /// The keys of a list that is a map.
        keys Keys -> &'static [&'static str];
        /// The key that strategic merge matches items by.
        merge_key MergeKey -> &'static str;
        /// The values allowed.
        enumeration Enum -> &'static [&'static str];
        /// The default, as JSON.
        default Default -> &'static str;
        /// The named Go type.
        go Go -> &'static str;
        /// The Go struct inlined here.
        inline Inline -> &'static str;
        /// The name of a type without a shape of its own.
        raw Raw -> &'static str;
    }
}

/// For the generated tables.
pub(crate) const fn f(name: &'static str, ty: Type, flags: u16, more: &'static [FieldMeta]) -> FieldDesc {
    FieldDesc { name, ty, flags, more }
}

/// A struct type.
pub struct TypeDesc {
    /// As OpenAPI names it: `io.k8s.api.core.v1.PodSpec`.
    pub name: &'static str,
    /// Sorted by name.
    pub fields: &'static [FieldDesc],
    /// The fields in Go's order, by number.
    pub order: &'static [u8],
    /// `+structType=atomic` on the type.
    pub atomic: bool,
    /// The kind, if it is one.
    pub kind: Option<&'static KindInfo>,
    /// Makes a typed value; None for types that only [`DynamicObject`] holds.
    pub typed: Option<fn() -> Box<dyn Object>>,
}

impl TypeDesc {
    /// As Go's errors name it: `v1.PodSpec`.
    pub fn go(&self) -> &'static str {
        let package = self.name.rsplit_once('.').and_then(|(path, _)| path.rfind('.'));
        package.and_then(|dot| self.name.get(dot + 1..)).unwrap_or(self.name)
    }
    /// The number of a field.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.fields.binary_search_by(|f| f.name.cmp(name)).ok()
    }
    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&'static FieldDesc> {
        self.find(name).and_then(|i| self.fields.get(i))
    }
    /// A zero value of the type.
    pub fn new_object(&'static self) -> Box<dyn Object> {
        match self.typed {
            Some(new) => new(),
            None => Box::new(DynamicObject::new(self)),
        }
    }
}

impl PartialEq for TypeDesc {
    fn eq(&self, o: &Self) -> bool {
        std::ptr::eq(self, o)
    }
}

/// For the generated tables.
pub(crate) fn new<T: Object + Default>() -> Box<dyn Object> {
    Box::new(T::default())
}

/// Any struct of Kubernetes' API, by reflection.
pub trait Object: Any {
    /// The type's descriptor.
    fn desc(&self) -> &'static TypeDesc;
    /// Field number `i`; [`Ref::Nil`] if there is none.
    fn get(&self, i: usize) -> Ref<'_>;
    /// Field number `i`, to change.
    fn get_mut(&mut self, i: usize) -> Option<Mut<'_>>;
    /// Takes field `i` of another object of the same type, shared where it can be. Kinds can; other types cannot.
    /// Says whether it was done.
    fn assign_field(&mut self, i: usize, from: &dyn Object) -> bool;
    /// A copy (which shares what can be shared).
    fn boxed(&self) -> Box<dyn Object>;
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
    /// For downcasts.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl dyn Object {
    /// The typed value.
    pub fn downcast_ref<T: Object>(&self) -> Option<&T> {
        self.as_any().downcast_ref()
    }
    /// The typed value, to change.
    pub fn downcast_mut<T: Object>(&mut self) -> Option<&mut T> {
        self.as_any_mut().downcast_mut()
    }
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<Ref<'_>> {
        self.desc().find(name).map(|i| self.get(i))
    }
    /// The field of that name, to change.
    pub fn field_mut(&mut self, name: &str) -> Option<Mut<'_>> {
        let i = self.desc().find(name)?;
        self.get_mut(i)
    }
    /// The metadata, if it is an object with some.
    pub fn metadata(&self) -> Option<&ObjectMeta> {
        match self.field("metadata") {
            Some(Ref::Struct(m)) => m.downcast_ref(),
            _ => None,
        }
    }
    /// The metadata, to change.
    pub fn metadata_mut(&mut self) -> Option<&mut ObjectMeta> {
        match self.field_mut("metadata") {
            Some(Mut::Struct(m)) => m.downcast_mut(),
            _ => None,
        }
    }
    /// The metadata of a list.
    pub fn list_metadata_mut(&mut self) -> Option<&mut ListMeta> {
        match self.field_mut("metadata") {
            Some(Mut::Struct(m)) => m.downcast_mut(),
            _ => None,
        }
    }
    /// Takes a top-level field (`spec`, `status`, `metadata`) of another object of the same kind, sharing it. Says
    /// whether it was done.
    pub fn assign(&mut self, field: &str, from: &dyn Object) -> bool {
        self.desc() == from.desc() && self.desc().find(field).is_some_and(|i| self.assign_field(i, from))
    }
    /// Makes a field zero.
    pub fn reset(&mut self, field: &str) {
        if let Some(m) = self.field_mut(field) {
            m.set_zero();
        }
    }
    /// Whether a field is semantically equal in another object of the same type. Shared fields are without a look.
    pub fn field_equal(&self, field: &str, other: &dyn Object) -> bool {
        match (self.field(field), other.field(field)) {
            (Some(a), Some(b)) => crate::equality::values(a, b),
            (None, None) => true,
            _ => false,
        }
    }
    /// Semantic equality ([`crate::equality::semantic`]).
    pub fn equal(&self, other: &dyn Object) -> bool {
        crate::equality::semantic(self, other)
    }
    /// The kind, if the type is one.
    pub fn kind_info(&self) -> Option<&'static KindInfo> {
        self.desc().kind
    }
    /// Empties `apiVersion` and `kind`, as objects are kept: their type says it.
    pub fn clear_type_meta(&mut self) {
        for name in ["apiVersion", "kind"] {
            if let Some(Mut::Str(s)) = self.field_mut(name) {
                *s = Str::new();
            }
        }
    }
}

/// A kind with a Rust type and object metadata.
pub trait Resource: Object + Clone + Default {
    /// The row in the table of kinds.
    const KIND: &'static KindInfo;
    /// The metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// The metadata, to change.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

/// A pointer to a struct, by reflection.
pub trait Pointer {
    /// What it points to.
    fn get(&self) -> Option<&dyn Object>;
    /// What it points to, made if nil.
    fn make(&mut self) -> &mut dyn Object;
    /// Sets it to nil.
    fn clear(&mut self);
    /// The type it points to.
    fn desc(&self) -> &'static TypeDesc;
    /// Where it points, to notice shared values quickly.
    fn address(&self) -> usize;
}

/// A list, by reflection.
pub trait Items {
    /// Whether it is nil.
    fn is_nil(&self) -> bool;
    /// How many items.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Item `i`; [`Ref::Nil`] beyond the end.
    fn item(&self, i: usize) -> Ref<'_>;
    /// Item `i`, to change.
    fn item_mut(&mut self, i: usize) -> Option<Mut<'_>>;
    /// Appends a zero value.
    fn push(&mut self) -> Mut<'_>;
    /// Removes item `i`.
    fn remove(&mut self, i: usize);
    /// Empties it: to nil or to the empty list.
    fn reset(&mut self, nil: bool);
    /// Gives back unused room.
    fn fit(&mut self);
    /// Where it is, to notice shared values quickly.
    fn address(&self) -> usize;
}

/// A map, by reflection.
pub trait Entries {
    /// Whether it is nil.
    fn is_nil(&self) -> bool;
    /// How many entries.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Entry `i` in the order of keys.
    fn entry(&self, i: usize) -> Option<(&Str, Ref<'_>)>;
    /// The value of a key.
    fn get(&self, key: &str) -> Option<Ref<'_>>;
    /// The value of a key, to change; a zero value is inserted. Says whether the key was there.
    fn make(&mut self, key: Str) -> (bool, Mut<'_>);
    /// Removes a key.
    fn remove(&mut self, key: &str);
    /// Empties it: to nil or to the empty map.
    fn reset(&mut self, nil: bool);
    /// Gives back unused room.
    fn fit(&mut self);
    /// Where it is, to notice shared values quickly.
    fn address(&self) -> usize;
}

macro_rules! reflected {
    ($($variant:ident $t:ty),* $(,)?) => {
        /// A field's value.
        #[allow(missing_docs)]
        #[derive(Clone, Copy)]
        pub enum Ref<'a> {
            $($variant(&'a $t),)*
            Struct(&'a dyn Object),
            Ptr(&'a dyn Pointer),
            List(&'a dyn Items),
            Map(&'a dyn Entries),
            /// An absent pointer, list or map of a dynamic type.
            Nil,
        }
        /// A field's value, to change.
        #[allow(missing_docs)]
        pub enum Mut<'a> {
            $($variant(&'a mut $t),)*
            Struct(&'a mut dyn Object),
            Ptr(&'a mut dyn Pointer),
            List(&'a mut dyn Items),
            Map(&'a mut dyn Entries),
        }
        $(impl Reflect for $t {
            #[inline]
            fn reflect(&self) -> Ref<'_> { Ref::$variant(self) }
            #[inline]
            fn reflect_mut(&mut self) -> Mut<'_> { Mut::$variant(self) }
        })*
    };
}
reflected! {
    Str Str, OStr OStr, Bool bool, OBool Option<bool>, I32 i32, OI32 Option<i32>, I64 i64, OI64 Option<i64>,
    OF64 Option<f64>, Time Time, MicroTime MicroTime, Quantity Quantity, OQuantity Option<Quantity>,
    IntOrString IntOrString, OIntOrString Option<IntOrString>, Bytes Bytes, Raw Raw,
}

/// A value that a field can hold.
pub trait Reflect {
    /// The value.
    fn reflect(&self) -> Ref<'_>;
    /// The value, to change.
    fn reflect_mut(&mut self) -> Mut<'_>;
}

impl<T: Object + Clone> Reflect for Shared<T> {
    fn reflect(&self) -> Ref<'_> {
        Ref::Struct(&**self)
    }
    fn reflect_mut(&mut self) -> Mut<'_> {
        Mut::Struct(self.make())
    }
}
impl<T: Object + Clone + Default> Reflect for Ptr<T> {
    fn reflect(&self) -> Ref<'_> {
        Ref::Ptr(self)
    }
    fn reflect_mut(&mut self) -> Mut<'_> {
        Mut::Ptr(self)
    }
}
impl<T: Reflect + Clone + Default> Reflect for List<T> {
    fn reflect(&self) -> Ref<'_> {
        Ref::List(self)
    }
    fn reflect_mut(&mut self) -> Mut<'_> {
        Mut::List(self)
    }
}
impl<T: Reflect + Clone + Default> Reflect for Map<T> {
    fn reflect(&self) -> Ref<'_> {
        Ref::Map(self)
    }
    fn reflect_mut(&mut self) -> Mut<'_> {
        Mut::Map(self)
    }
}
impl<T: Object + Clone + Default> Pointer for Ptr<T> {
    fn get(&self) -> Option<&dyn Object> {
        Ptr::get(self).map(|t| t as &dyn Object)
    }
    fn make(&mut self) -> &mut dyn Object {
        let to: &mut T = Ptr::<T>::make(self);
        to
    }
    fn clear(&mut self) {
        Ptr::clear(self)
    }
    fn desc(&self) -> &'static TypeDesc {
        match Ptr::get(self) {
            Some(t) => t.desc(),
            None => T::default().desc(),
        }
    }
    fn address(&self) -> usize {
        Ptr::get(self).map_or(0, |t| std::ptr::from_ref(t).addr())
    }
}
impl<T: Reflect + Clone + Default> Items for List<T> {
    fn is_nil(&self) -> bool {
        List::is_nil(self)
    }
    fn len(&self) -> usize {
        self.as_slice().len()
    }
    fn item(&self, i: usize) -> Ref<'_> {
        self.as_slice().get(i).map_or(Ref::Nil, T::reflect)
    }
    fn item_mut(&mut self, i: usize) -> Option<Mut<'_>> {
        self.make().get_mut(i).map(T::reflect_mut)
    }
    fn push(&mut self) -> Mut<'_> {
        let v = self.make();
        if v.len() == v.capacity() {
            v.reserve_exact((v.len() / 2).max(1));
        }
        let i = v.len();
        v.push(T::default());
        v[i].reflect_mut()
    }
    fn remove(&mut self, i: usize) {
        if i < self.as_slice().len() {
            self.make().remove(i);
        }
    }
    fn reset(&mut self, nil: bool) {
        *self = if nil { List::new() } else { List::empty() }
    }
    fn fit(&mut self) {
        List::fit(self)
    }
    fn address(&self) -> usize {
        self.as_slice().as_ptr().addr()
    }
}
impl<T: Reflect + Clone + Default> Entries for Map<T> {
    fn is_nil(&self) -> bool {
        Map::is_nil(self)
    }
    fn len(&self) -> usize {
        Map::len(self)
    }
    fn entry(&self, i: usize) -> Option<(&Str, Ref<'_>)> {
        self.entries().get(i).map(|(k, v)| (k, v.reflect()))
    }
    fn get(&self, key: &str) -> Option<Ref<'_>> {
        Map::get(self, key).map(T::reflect)
    }
    fn make(&mut self, key: Str) -> (bool, Mut<'_>) {
        let mut there = true;
        let v = Map::entry(self, key, || {
            there = false;
            T::default()
        });
        (there, v.reflect_mut())
    }
    fn remove(&mut self, key: &str) {
        Map::remove(self, key);
    }
    fn reset(&mut self, nil: bool) {
        *self = if nil { Map::new() } else { Map::empty() }
    }
    fn fit(&mut self) {
        Map::fit(self)
    }
    fn address(&self) -> usize {
        self.entries().as_ptr().addr()
    }
}

impl Ref<'_> {
    /// Whether Go's `omitempty` leaves it out (Time: `omitzero`).
    pub fn is_empty(&self) -> bool {
        match self {
            Ref::Str(s) => s.is_empty(),
            Ref::OStr(s) => s.is_none(),
            Ref::Bool(b) => !**b,
            Ref::OBool(b) => b.is_none(),
            Ref::I32(v) => **v == 0,
            Ref::OI32(v) => v.is_none(),
            Ref::I64(v) => **v == 0,
            Ref::OI64(v) => v.is_none(),
            Ref::OF64(v) => v.is_none(),
            Ref::Time(t) => t.is_zero(),
            Ref::MicroTime(t) => t.is_zero(),
            Ref::Quantity(_) | Ref::IntOrString(_) | Ref::Struct(_) => false,
            Ref::OQuantity(q) => q.is_none(),
            Ref::OIntOrString(v) => v.is_none(),
            Ref::Bytes(b) => b.is_empty(),
            Ref::Raw(r) => r.is_none(),
            Ref::Ptr(p) => p.get().is_none(),
            Ref::List(l) => l.is_empty(),
            Ref::Map(m) => m.is_empty(),
            Ref::Nil => true,
        }
    }
}

impl Mut<'_> {
    /// What `null` in JSON does: pointers, lists and maps become nil, other values stay, Time and Quantity become zero.
    pub fn set_null(self) {
        match self {
            Mut::OStr(s) => *s = OStr::none(),
            Mut::OBool(v) => *v = None,
            Mut::OI32(v) => *v = None,
            Mut::OI64(v) => *v = None,
            Mut::OF64(v) => *v = None,
            Mut::Time(t) => *t = Time::default(),
            Mut::MicroTime(t) => *t = MicroTime::default(),
            Mut::Quantity(q) => *q = Quantity::default(),
            Mut::OQuantity(q) => *q = None,
            Mut::OIntOrString(v) => *v = None,
            Mut::Bytes(b) => *b = Bytes::default(),
            Mut::Raw(r) => *r = Raw::new(),
            Mut::Ptr(p) => p.clear(),
            Mut::List(l) => l.reset(true),
            Mut::Map(m) => m.reset(true),
            Mut::Str(_) | Mut::Bool(_) | Mut::I32(_) | Mut::I64(_) | Mut::IntOrString(_) | Mut::Struct(_) => {}
        }
    }
    /// Makes it the zero value, as if it had never been set.
    pub fn set_zero(self) {
        match self {
            Mut::Str(s) => *s = Str::new(),
            Mut::Bool(b) => *b = false,
            Mut::I32(v) => *v = 0,
            Mut::I64(v) => *v = 0,
            Mut::IntOrString(v) => *v = IntOrString::default(),
            Mut::Struct(s) => {
                for i in 0..s.desc().fields.len() {
                    if let Some(m) = s.get_mut(i) {
                        m.set_zero()
                    }
                }
            }
            m => m.set_null(),
        }
    }
}

/// Implements reflection for a generated struct: its descriptor and its fields by number.
macro_rules! object {
    ($T:ident $D:ident { $($rows:tt)* }) => {
        object!(@impl $T $D {
            fn assign_field(&mut self, _: usize, _: &dyn $crate::object::Object) -> bool { false }
        } $($rows)*);
    };
    // A kind: its fields can be taken from another object.
    ($T:ident $D:ident kind { $($i:literal $f:ident $($slot:ident)?),* }) => {
        object!(@impl $T $D {
            fn assign_field(&mut self, i: usize, from: &dyn $crate::object::Object) -> bool {
                let Some(from) = from.as_any().downcast_ref::<Self>() else { return false };
                match i { $($i => self.$f.clone_from(&from.$f),)* _ => return false }
                true
            }
        } $($i $f $($slot)?),*);
    };
    (@impl $T:ident $D:ident { $($assign:tt)* } $($rows:tt)*) => {
        impl $crate::object::Reflect for $T {
            #[inline]
            fn reflect(&self) -> $crate::object::Ref<'_> { $crate::object::Ref::Struct(self) }
            #[inline]
            fn reflect_mut(&mut self) -> $crate::object::Mut<'_> { $crate::object::Mut::Struct(self) }
        }
        impl $crate::object::Object for $T {
            fn desc(&self) -> &'static $crate::object::TypeDesc { &$D }
            object!(@get $D [] $($rows)*);
            $($assign)*
            fn boxed(&self) -> Box<dyn $crate::object::Object> { Box::new(self.clone()) }
            fn as_any(&self) -> &dyn std::any::Any { self }
            fn as_any_mut(&mut self) -> &mut dyn std::any::Any { self }
        }
        impl PartialEq for $T {
            fn eq(&self, o: &Self) -> bool { $crate::equality::semantic(self, o) }
        }
        impl std::fmt::Debug for $T {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { $crate::object::debug(self, f) }
        }
    };
    // Sorts the fields into `number field` and `number field slot`.
    (@get $D:ident [$($done:tt)*] $i:literal $f:ident, $($rest:tt)*) => { object!(@get $D [$($done)* ($i $f)] $($rest)*); };
    (@get $D:ident [$($done:tt)*] $i:literal $f:ident slot, $($rest:tt)*) => { object!(@get $D [$($done)* ($i $f slot)] $($rest)*); };
    (@get $D:ident [$($done:tt)*] $i:literal $f:ident) => { object!(@get $D [$($done)* ($i $f)]); };
    (@get $D:ident [$($done:tt)*] $i:literal $f:ident slot) => { object!(@get $D [$($done)* ($i $f slot)]); };
    (@get $D:ident [$(($i:literal $f:ident $($slot:ident)?))*]) => {
        #[allow(unused_variables)]
        fn get(&self, i: usize) -> $crate::object::Ref<'_> {
            match i { $($i => object!(@ref self $f $($slot)?),)* _ => $crate::object::Ref::Nil }
        }
        #[allow(unused_variables)]
        fn get_mut(&mut self, i: usize) -> Option<$crate::object::Mut<'_>> {
            match i { $($i => Some(object!(@mut self $f $i $D $($slot)?)),)* _ => None }
        }
    };
    (@ref $s:ident $f:ident) => { $crate::object::Reflect::reflect(&$s.$f) };
    (@ref $s:ident $f:ident slot) => { $s.$f.reflect() };
    (@mut $s:ident $f:ident $i:literal $D:ident) => { $crate::object::Reflect::reflect_mut(&mut $s.$f) };
    (@mut $s:ident $f:ident $i:literal $D:ident slot) => { $s.$f.reflect_mut(&$D.fields[$i].ty) };
}
/// Implements [`Resource`] for a generated struct.
macro_rules! resource {
    ($T:ident $K:ident) => {
        impl $crate::object::Resource for $T {
            const KIND: &'static $crate::scheme::KindInfo = &$crate::scheme::table::$K;
            fn metadata(&self) -> &$crate::types::meta_v1::ObjectMeta {
                &self.metadata
            }
            fn metadata_mut(&mut self) -> &mut $crate::types::meta_v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(crate) use {object, resource};

/// Prints the JSON form.
pub(crate) fn debug(o: &dyn Object, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    f.write_str(&String::from_utf8_lossy(&crate::json::encode_bare(o)))
}
