//! Walks over objects and documents: which fields they have, and how two of them differ.
use super::set::{Element, Set, compare_values};
use super::shape::{Kind, Relation, Shape, Told, element};
use crate::json::{Value, to_value_bare};
use crate::object::{OMIT, Object, Ref};
use crate::value::Str;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A value: of an object, or of a document.
#[derive(Clone)]
pub(super) enum View<'a> {
    Typed(Ref<'a>),
    Json(Value),
}

impl<'a> View<'a> {
    pub fn of(o: &'a dyn Object) -> View<'a> {
        View::Typed(Ref::Struct(o))
    }
    /// Raw JSON inside objects becomes a document.
    fn from(r: Ref<'a>) -> View<'a> {
        match r {
            Ref::Raw(raw) => View::Json(raw.json().and_then(|j| Value::parse(j).ok()).unwrap_or_default()),
            Ref::Ptr(p) => p.get().map_or(View::Typed(Ref::Nil), View::of),
            r => View::Typed(r),
        }
    }
    pub fn is_null(&self) -> bool {
        match self {
            View::Json(v) => v.is_null(),
            View::Typed(r) => match r {
                Ref::Nil => true,
                Ref::OStr(s) => s.is_none(),
                Ref::OBool(v) => v.is_none(),
                Ref::OI32(v) => v.is_none(),
                Ref::OI64(v) => v.is_none(),
                Ref::OF64(v) => v.is_none(),
                Ref::Time(t) => t.is_zero(),
                Ref::MicroTime(t) => t.is_zero(),
                Ref::OQuantity(q) => q.is_none(),
                Ref::OIntOrString(v) => v.is_none(),
                Ref::Bytes(b) => b.is_nil(),
                Ref::List(l) => l.is_nil(),
                Ref::Map(m) => m.is_nil(),
                _ => false,
            },
        }
    }
    pub fn told(&self) -> Told {
        match self {
            View::Json(v) => Told::of(v),
            View::Typed(Ref::Struct(_) | Ref::Map(_)) => Told::Map,
            View::Typed(Ref::List(_)) => Told::List,
            View::Typed(_) => Told::Other,
        }
    }
    /// The fields or entries, sorted; none for what is no map.
    pub fn fields(&self) -> Vec<(Str, View<'a>)> {
        match self {
            View::Json(Value::Object(m)) => m.iter().map(|(k, v)| (k.clone(), View::Json(v.clone()))).collect(),
            View::Typed(Ref::Struct(o)) => {
                let o: &'a dyn Object = *o;
                o.desc()
                    .fields
                    .iter()
                    .enumerate()
                    .map(|(i, f)| (f, o.get(i)))
                    .filter(|(f, r)| !(f.is(OMIT) && r.is_empty()))
                    .map(|(f, r)| (Str::from(f.name), View::from(r)))
                    .collect()
            }
            View::Typed(Ref::Map(m)) => {
                (0..m.len()).filter_map(|i| m.entry(i)).map(|(k, v)| (k.clone(), View::from(v))).collect()
            }
            _ => Vec::new(),
        }
    }
    fn get(&self, name: &str) -> Option<View<'a>> {
        match self {
            View::Json(v) => v.get(name).map(|v| View::Json(v.clone())),
            View::Typed(Ref::Struct(o)) => {
                let o: &'a dyn Object = *o;
                let i = o.desc().find(name)?;
                let (f, r) = (o.desc().fields.get(i)?, o.get(i));
                (!(f.is(OMIT) && r.is_empty())).then(|| View::from(r))
            }
            View::Typed(Ref::Map(m)) => m.get(name).map(View::from),
            _ => None,
        }
    }
    pub fn items(&self) -> Vec<View<'a>> {
        match self {
            View::Json(Value::Array(a)) => a.iter().map(|v| View::Json(v.clone())).collect(),
            View::Typed(Ref::List(l)) => (0..l.len()).map(|i| View::from(l.item(i))).collect(),
            _ => Vec::new(),
        }
    }
    fn is_empty_map(&self) -> bool {
        match self {
            View::Json(Value::Object(m)) => m.is_empty(),
            View::Typed(Ref::Map(m)) => m.is_empty(),
            View::Typed(Ref::Struct(_)) => self.fields().is_empty(),
            _ => true,
        }
    }
    fn is_empty_list(&self) -> bool {
        match self {
            View::Json(Value::Array(a)) => a.is_empty(),
            View::Typed(Ref::List(l)) => l.is_empty(),
            _ => true,
        }
    }
    pub fn to_value(&self) -> Value {
        match self {
            View::Json(v) => v.clone(),
            View::Typed(Ref::Struct(o)) => to_value_bare(*o),
            View::Typed(r) => crate::json::reference_to_value(*r),
        }
    }
    /// Whether both are one shared value, so that nothing below differs.
    fn same(&self, o: &View<'_>) -> bool {
        match (self, o) {
            (View::Typed(Ref::Struct(a)), View::Typed(Ref::Struct(b))) => std::ptr::addr_eq(*a, *b),
            (View::Typed(Ref::List(a)), View::Typed(Ref::List(b))) => {
                a.len() == b.len() && !a.is_empty() && a.address() == b.address()
            }
            (View::Typed(Ref::Map(a)), View::Typed(Ref::Map(b))) => {
                a.len() == b.len() && !a.is_empty() && a.address() == b.address()
            }
            (View::Json(Value::Object(a)), View::Json(Value::Object(b))) => a.same(b) && !a.is_nil(),
            (View::Json(Value::Array(a)), View::Json(Value::Array(b))) => a.same(b) && !a.is_nil(),
            _ => false,
        }
    }
    fn equal(&self, o: &View<'_>) -> bool {
        match (self, o) {
            (View::Typed(Ref::Str(a)), View::Typed(Ref::Str(b))) => a == b,
            (View::Typed(Ref::I32(a)), View::Typed(Ref::I32(b))) => a == b,
            (View::Typed(Ref::Bool(a)), View::Typed(Ref::Bool(b))) => a == b,
            _ => self.same(o) || compare_values(&self.to_value(), &o.to_value()) == Ordering::Equal,
        }
    }
    pub fn element(&self, relation: Relation, item: Shape) -> Result<Element, String> {
        element(relation, item, self.told(), self.is_null(), |k| self.get(k).map(|v| v.to_value()), || self.to_value())
    }
}

/// How two values differ.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// What only the old one has.
    pub removed: Set,
    /// Leaves that both have with different values.
    pub modified: Set,
    /// What only the new one has.
    pub added: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
    pub(super) fn without(self, ignored: &Set) -> Comparison {
        Comparison {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

pub(super) fn compare(old: &View<'_>, new: &View<'_>, shape: Shape) -> Comparison {
    let mut w = Walker { path: Vec::new(), out: Comparison::default() };
    w.compare(Some(old), Some(new), shape);
    w.out
}

struct Walker {
    path: Vec<Element>,
    out: Comparison,
}

impl Walker {
    fn compare(&mut self, old: Option<&View<'_>>, new: Option<&View<'_>>, shape: Shape) {
        if let (Some(a), Some(b)) = (old, new)
            && a.same(b)
        {
            return;
        }
        let kinds = match (old, new) {
            (None, None) => return,
            (Some(a), None) => vec![a.told()],
            (None, Some(b)) => vec![b.told()],
            (Some(a), Some(b)) if a.told() == b.told() || !matches!(shape.kind(), Kind::Deduced) => vec![b.told()],
            (Some(a), Some(b)) => vec![a.told(), b.told()],
        };
        let mut leaf = false;
        for told in kinds {
            leaf = self.atom(old, new, shape.kind_for(told), shape);
        }
        if !leaf {
            match (old, new) {
                (None, _) => self.out.added.insert(&self.path),
                (_, None) => self.out.removed.insert(&self.path),
                _ => {}
            }
        }
    }
    /// Gives whether it was treated as one leaf.
    fn atom(&mut self, old: Option<&View<'_>>, new: Option<&View<'_>>, kind: Kind, shape: Shape) -> bool {
        let no_map = |v: Option<&View<'_>>| v.is_none_or(|v| v.is_null() || v.is_empty_map());
        let no_list = |v: Option<&View<'_>>| v.is_none_or(|v| v.is_null() || v.is_empty_list());
        match kind {
            Kind::Scalar(_) | Kind::Deduced => self.leaf(old, new),
            Kind::Struct(_, atomic) | Kind::Map(_, atomic) => {
                if atomic || no_map(old) && no_map(new) {
                    return self.leaf(old, new);
                }
                self.maps(
                    old,
                    new,
                    if let Kind::Map(..) | Kind::Struct(..) = shape.kind() { shape } else { Shape::DEDUCED },
                );
                false
            }
            Kind::List(Relation::Atomic, _) => self.leaf(old, new),
            Kind::List(relation, item) => {
                if no_list(old) && no_list(new) {
                    return self.leaf(old, new);
                }
                self.lists(old, new, relation, item);
                false
            }
        }
    }
    fn leaf(&mut self, old: Option<&View<'_>>, new: Option<&View<'_>>) -> bool {
        match (old, new) {
            (None, _) => self.out.added.insert(&self.path),
            (_, None) => self.out.removed.insert(&self.path),
            (Some(a), Some(b)) if !a.equal(b) => self.out.modified.insert(&self.path),
            _ => {}
        }
        true
    }
    fn maps(&mut self, old: Option<&View<'_>>, new: Option<&View<'_>>, shape: Shape) {
        let (a, b) = (old.map(View::fields).unwrap_or_default(), new.map(View::fields).unwrap_or_default());
        let (mut x, mut y) = (a.iter().peekable(), b.iter().peekable());
        loop {
            let order = match (x.peek(), y.peek()) {
                (Some(p), Some(q)) => p.0.cmp(&q.0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return,
            };
            let p = if order != Ordering::Greater { x.next() } else { None };
            let q = if order != Ordering::Less { y.next() } else { None };
            let Some((name, _)) = p.or(q) else { return };
            let (child, _) = match shape.kind() {
                Kind::Deduced => (Shape::DEDUCED, false),
                _ => shape.child(name),
            };
            self.path.push(Element::Field(name.clone()));
            self.compare(p.map(|e| &e.1), q.map(|e| &e.1), child);
            self.path.pop();
        }
    }
    fn lists(&mut self, old: Option<&View<'_>>, new: Option<&View<'_>>, relation: Relation, item: Shape) {
        let (a, b) = (old.map(View::items).unwrap_or_default(), new.map(View::items).unwrap_or_default());
        let index = |items: &[View<'_>]| {
            let mut m: BTreeMap<Element, Vec<usize>> = BTreeMap::new();
            for (i, v) in items.iter().enumerate() {
                if let Ok(e) = v.element(relation, item) {
                    m.entry(e).or_default().push(i);
                }
            }
            m
        };
        let (x, y) = (index(&a), index(&b));
        let all: BTreeSet<&Element> = x.keys().chain(y.keys()).collect();
        for e in all {
            let at = |m: &BTreeMap<Element, Vec<usize>>| m.get(e).cloned().unwrap_or_default();
            let (l, r) = (at(&x), at(&y));
            let (left, right): (Vec<&View<'_>>, Vec<&View<'_>>) =
                (l.iter().filter_map(|i| a.get(*i)).collect(), r.iter().filter_map(|i| b.get(*i)).collect());
            self.path.push(e.clone());
            match (left.as_slice(), right.as_slice()) {
                ([] | [_], [] | [_]) => self.compare(left.first().copied(), right.first().copied(), item),
                ([_, _, ..], [_, _, ..]) => {
                    let equal = left.len() == right.len() && left.iter().zip(&right).all(|(a, b)| a.equal(b));
                    if !equal {
                        self.out.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(r) = right.first() {
                        self.compare(None, Some(r), item);
                    }
                    self.out.removed.insert(&self.path);
                }
                (_, _) => {
                    if let Some(l) = left.first() {
                        self.compare(Some(l), None, item);
                    }
                    self.out.added.insert(&self.path);
                }
            }
            self.path.pop();
        }
    }
}

pub(super) fn field_set(v: &View<'_>, shape: Shape) -> Set {
    let mut out = Set::default();
    collect(v, shape, &mut Vec::new(), &mut out);
    out
}

fn collect(v: &View<'_>, shape: Shape, path: &mut Vec<Element>, out: &mut Set) {
    match shape.kind_for(v.told()) {
        Kind::Scalar(_) | Kind::Deduced => out.insert(path),
        Kind::Struct(_, true) | Kind::Map(_, true) | Kind::List(Relation::Atomic, _) => out.insert(path),
        Kind::Struct(..) | Kind::Map(..) => {
            for (name, below) in v.fields() {
                let (child, declared) = shape.child(&name);
                path.push(Element::Field(name));
                collect(&below, child, path, out);
                if !declared || below.is_null() || below.told() == Told::Map && below.is_empty_map() {
                    out.insert(path);
                }
                path.pop();
            }
        }
        Kind::List(relation, item) => {
            let items: Vec<(Element, View<'_>)> =
                v.items().into_iter().filter_map(|i| i.element(relation, item).ok().map(|e| (e, i))).collect();
            for (e, below) in &items {
                path.push(e.clone());
                // An item that is there twice is owned as a whole.
                if items.iter().filter(|(o, _)| o == e).count() == 1 {
                    collect(below, item, path, out);
                }
                out.insert(path);
                path.pop();
            }
        }
    }
}
