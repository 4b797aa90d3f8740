//! Objects of types that no Rust struct describes: the same descriptors, fields held as values.
use crate::object::{Entries, Items, Mut, Object, Pointer, Ref, Reflect, Type, TypeDesc};
use crate::value::*;
use std::any::Any;
use std::rc::Rc;

/// A value of any [`Type`].
#[derive(Clone)]
#[allow(missing_docs)]
pub enum Dynamic {
    Str(Str),
    OStr(OStr),
    Bool(bool),
    OBool(Option<bool>),
    I32(i32),
    OI32(Option<i32>),
    I64(i64),
    OI64(Option<i64>),
    OF64(Option<f64>),
    Time(Time),
    MicroTime(MicroTime),
    Quantity(Quantity),
    OQuantity(Option<Quantity>),
    IntOrString(IntOrString),
    OIntOrString(Option<IntOrString>),
    Bytes(Bytes),
    Raw(Raw),
    Struct(Boxed),
    Ptr(DynamicPtr),
    List(DynamicList),
    Map(DynamicMap),
}

/// An owned object that clones.
pub struct Boxed(Box<dyn Object>);
impl Clone for Boxed {
    fn clone(&self) -> Self {
        Boxed(self.0.boxed())
    }
}

/// A struct of a type that only a descriptor describes.
#[derive(Clone)]
pub struct DynamicObject {
    desc: &'static TypeDesc,
    fields: Vec<Dynamic>,
}
/// A pointer to a struct.
#[derive(Clone)]
pub struct DynamicPtr {
    desc: &'static TypeDesc,
    to: Option<Boxed>,
}
/// A list of dynamic values.
#[derive(Clone)]
pub struct DynamicList {
    ty: &'static Type,
    items: Option<Rc<Vec<Dynamic>>>,
}
/// A map of dynamic values.
#[derive(Clone)]
pub struct DynamicMap {
    ty: &'static Type,
    entries: Option<Rc<Vec<(Str, Dynamic)>>>,
}

/// A field of a dynamic type inside a typed struct: a pointer, list or map; one word, empty when nil.
#[derive(Clone, Default)]
pub struct Slot {
    value: Option<Rc<Dynamic>>,
}

impl Slot {
    /// Whether nothing is there.
    pub fn is_none(&self) -> bool {
        self.reflect().is_empty()
    }
    /// The value.
    pub fn reflect(&self) -> Ref<'_> {
        self.value.as_deref().map_or(Ref::Nil, Dynamic::reflect)
    }
    /// The value, to change.
    pub fn reflect_mut(&mut self, ty: &'static Type) -> Mut<'_> {
        Rc::make_mut(self.value.get_or_insert_with(|| Rc::new(Dynamic::new(ty)))).reflect_mut()
    }
}

impl Dynamic {
    /// The zero value of a type.
    pub fn new(ty: &'static Type) -> Dynamic {
        match ty {
            Type::Str => Dynamic::Str(Str::new()),
            Type::OStr => Dynamic::OStr(OStr::none()),
            Type::Bool => Dynamic::Bool(false),
            Type::OBool => Dynamic::OBool(None),
            Type::I32 => Dynamic::I32(0),
            Type::OI32 => Dynamic::OI32(None),
            Type::I64 => Dynamic::I64(0),
            Type::OI64 => Dynamic::OI64(None),
            Type::OF64 => Dynamic::OF64(None),
            Type::Time => Dynamic::Time(Time::default()),
            Type::MicroTime => Dynamic::MicroTime(MicroTime::default()),
            Type::Quantity => Dynamic::Quantity(Quantity::default()),
            Type::OQuantity => Dynamic::OQuantity(None),
            Type::IntOrString => Dynamic::IntOrString(IntOrString::default()),
            Type::OIntOrString => Dynamic::OIntOrString(None),
            Type::Bytes => Dynamic::Bytes(Bytes::default()),
            Type::Raw => Dynamic::Raw(Raw::new()),
            Type::Struct(d) => Dynamic::Struct(Boxed(d.new_object())),
            Type::Ptr(desc) => Dynamic::Ptr(DynamicPtr { desc, to: None }),
            Type::List(ty) => Dynamic::List(DynamicList { ty, items: None }),
            Type::Map(ty) => Dynamic::Map(DynamicMap { ty, entries: None }),
        }
    }
}

macro_rules! each {
    ($value:expr, $($variant:ident)* ; $ref:ident) => {
        match $value {
            $(Dynamic::$variant(v) => $ref::$variant(v),)*
            Dynamic::Struct(v) => $ref::Struct(each!(@ $ref v)),
            Dynamic::Ptr(v) => $ref::Ptr(v),
            Dynamic::List(v) => $ref::List(v),
            Dynamic::Map(v) => $ref::Map(v),
        }
    };
    (@ Ref $v:ident) => { &*$v.0 };
    (@ Mut $v:ident) => { &mut *$v.0 };
}
impl Reflect for Dynamic {
    fn reflect(&self) -> Ref<'_> {
        each!(self, Str OStr Bool OBool I32 OI32 I64 OI64 OF64 Time MicroTime Quantity OQuantity IntOrString
            OIntOrString Bytes Raw; Ref)
    }
    fn reflect_mut(&mut self) -> Mut<'_> {
        each!(self, Str OStr Bool OBool I32 OI32 I64 OI64 OF64 Time MicroTime Quantity OQuantity IntOrString
            OIntOrString Bytes Raw; Mut)
    }
}

impl DynamicObject {
    /// A zero value.
    pub fn new(desc: &'static TypeDesc) -> Self {
        DynamicObject { desc, fields: desc.fields.iter().map(|f| Dynamic::new(&f.ty)).collect() }
    }
}
impl Object for DynamicObject {
    fn desc(&self) -> &'static TypeDesc {
        self.desc
    }
    fn get(&self, i: usize) -> Ref<'_> {
        self.fields.get(i).map_or(Ref::Nil, Dynamic::reflect)
    }
    fn get_mut(&mut self, i: usize) -> Option<Mut<'_>> {
        self.fields.get_mut(i).map(Dynamic::reflect_mut)
    }
    fn assign_field(&mut self, i: usize, from: &dyn Object) -> bool {
        match (self.fields.get_mut(i), from.downcast_ref::<DynamicObject>()) {
            (Some(to), Some(from)) if self.desc == from.desc => from.fields.get(i).is_some_and(|f| {
                to.clone_from(f);
                true
            }),
            _ => false,
        }
    }
    fn boxed(&self) -> Box<dyn Object> {
        Box::new(self.clone())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
impl Pointer for DynamicPtr {
    fn get(&self) -> Option<&dyn Object> {
        self.to.as_ref().map(|b| &*b.0)
    }
    fn make(&mut self) -> &mut dyn Object {
        let desc = self.desc;
        &mut *self.to.get_or_insert_with(|| Boxed(desc.new_object())).0
    }
    fn clear(&mut self) {
        self.to = None
    }
    fn desc(&self) -> &'static TypeDesc {
        self.desc
    }
    fn address(&self) -> usize {
        self.get().map_or(0, |o| std::ptr::from_ref(o).addr())
    }
}
impl Items for DynamicList {
    fn is_nil(&self) -> bool {
        self.items.is_none()
    }
    fn len(&self) -> usize {
        self.items.as_ref().map_or(0, |v| v.len())
    }
    fn item(&self, i: usize) -> Ref<'_> {
        self.items.as_ref().and_then(|v| v.get(i)).map_or(Ref::Nil, Dynamic::reflect)
    }
    fn item_mut(&mut self, i: usize) -> Option<Mut<'_>> {
        Rc::make_mut(self.items.as_mut()?).get_mut(i).map(Dynamic::reflect_mut)
    }
    fn push(&mut self) -> Mut<'_> {
        let v = Rc::make_mut(self.items.get_or_insert_with(Default::default));
        let i = v.len();
        v.push(Dynamic::new(self.ty));
        v[i].reflect_mut()
    }
    fn remove(&mut self, i: usize) {
        if i < self.len()
            && let Some(v) = &mut self.items
        {
            Rc::make_mut(v).remove(i);
        }
    }
    fn reset(&mut self, nil: bool) {
        self.items = (!nil).then(Default::default)
    }
    fn fit(&mut self) {}
    fn address(&self) -> usize {
        self.items.as_ref().map_or(0, |v| v.as_ptr().addr())
    }
}
impl Entries for DynamicMap {
    fn is_nil(&self) -> bool {
        self.entries.is_none()
    }
    fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, |v| v.len())
    }
    fn entry(&self, i: usize) -> Option<(&Str, Ref<'_>)> {
        self.entries.as_ref()?.get(i).map(|(k, v)| (k, v.reflect()))
    }
    fn get(&self, key: &str) -> Option<Ref<'_>> {
        let v = self.entries.as_ref()?;
        let i = v.binary_search_by(|e| e.0.as_str().cmp(key)).ok()?;
        v.get(i).map(|e| e.1.reflect())
    }
    fn make(&mut self, key: Str) -> (bool, Mut<'_>) {
        let v = Rc::make_mut(self.entries.get_or_insert_with(Default::default));
        let (there, i) = match v.binary_search_by(|e| e.0.cmp(&key)) {
            Ok(i) => (true, i),
            Err(i) => {
                v.insert(i, (key, Dynamic::new(self.ty)));
                (false, i)
            }
        };
        (there, v[i].1.reflect_mut())
    }
    fn remove(&mut self, key: &str) {
        if let Some(v) = &mut self.entries
            && let Ok(i) = v.binary_search_by(|e| e.0.as_str().cmp(key))
        {
            Rc::make_mut(v).remove(i);
        }
    }
    fn reset(&mut self, nil: bool) {
        self.entries = (!nil).then(Default::default)
    }
    fn fit(&mut self) {}
    fn address(&self) -> usize {
        self.entries.as_ref().map_or(0, |v| v.as_ptr().addr())
    }
}
