//! Sets of field paths, and their form in `fieldsV1`.
use crate::go;
use crate::json::Value;
use crate::value::Str;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Element {
    /// A field of a struct or key of a map.
    Field(Str),
    /// An item of a list that is a map, by its keys (sorted by name).
    Key(Vec<(Str, Value)>),
    /// An item of a list that is a set, by its value.
    Value(Value),
    /// An item of a list by its place.
    Index(i64),
}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Element::Field(_) => 0,
            Element::Key(_) => 1,
            Element::Value(_) => 2,
            Element::Index(_) => 3,
        }
    }
}
impl PartialEq for Element {
    fn eq(&self, o: &Self) -> bool {
        self.cmp(o) == Ordering::Equal
    }
}
impl Eq for Element {}
impl PartialOrd for Element {
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Element {
    fn cmp(&self, o: &Self) -> Ordering {
        match (self, o) {
            (Element::Field(a), Element::Field(b)) => a.cmp(b),
            (Element::Key(a), Element::Key(b)) => {
                for ((k, v), (l, w)) in a.iter().zip(b) {
                    let c = k.cmp(l).then_with(|| compare_values(v, w));
                    if c != Ordering::Equal {
                        return c;
                    }
                }
                a.len().cmp(&b.len())
            }
            (Element::Value(a), Element::Value(b)) => compare_values(a, b),
            (Element::Index(a), Element::Index(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(f, ".{name}"),
            Element::Key(keys) => {
                let parts: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={}", shown(v))).collect();
                write!(f, "[{}]", parts.join(","))
            }
            Element::Value(v) => write!(f, "[={}]", shown(v)),
            Element::Index(i) => write!(f, "[{i}]"),
        }
    }
}

fn shown(v: &Value) -> String {
    match v {
        Value::Str(s) => go::quote(s),
        v => v.to_json(),
    }
}

/// A total order of values: numbers, strings, truth values, lists, maps, null.
pub(super) fn compare_values(a: &Value, b: &Value) -> Ordering {
    let rank = |v: &Value| match v {
        Value::Float(_) | Value::Int(_) => 0,
        Value::Str(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(a), Value::Float(b)) => (*a as f64).total_cmp(b),
        (Value::Float(a), Value::Int(b)) => a.total_cmp(&(*b as f64)),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let items = a.iter().zip(b).map(|(a, b)| compare_values(a, b));
            items.into_iter().find(|c| *c != Ordering::Equal).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let entries = a.iter().zip(b).map(|((k, v), (l, w))| k.cmp(l).then_with(|| compare_values(v, w)));
            entries.into_iter().find(|c| *c != Ordering::Equal).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// A path of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(pub Vec<Element>);
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|e| write!(f, "{e}"))
    }
}

/// A set of field paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    pub(super) members: BTreeSet<Element>,
    pub(super) children: BTreeMap<Element, Set>,
}

impl Set {
    /// The set of these paths of field names.
    pub fn of(paths: &[&[&str]]) -> Set {
        let mut s = Set::default();
        for p in paths {
            s.insert(&p.iter().map(|name| Element::Field(Str::from(*name))).collect::<Vec<_>>());
        }
        s
    }
    /// Adds a path; the empty one is none.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }
    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Set::is_empty)
    }
    /// Whether a path is in it.
    pub fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|c| c.has(rest)),
        }
    }
    /// The paths of either.
    pub fn union(&self, o: &Set) -> Set {
        let mut out = self.clone();
        out.members.extend(o.members.iter().cloned());
        for (e, c) in &o.children {
            let joined = out.children.get(e).map_or_else(|| c.clone(), |old| old.union(c));
            out.children.insert(e.clone(), joined);
        }
        out
    }
    fn with_children(members: BTreeSet<Element>, children: impl Iterator<Item = (Element, Set)>) -> Set {
        Set { members, children: children.filter(|(_, c)| !c.is_empty()).collect() }
    }
    /// The paths of both.
    pub fn intersection(&self, o: &Set) -> Set {
        Self::with_children(
            self.members.intersection(&o.members).cloned().collect(),
            self.children.iter().filter_map(|(e, c)| o.children.get(e).map(|d| (e.clone(), c.intersection(d)))),
        )
    }
    /// The paths of this one that aren't in the other.
    pub fn difference(&self, o: &Set) -> Set {
        Self::with_children(
            self.members.difference(&o.members).cloned().collect(),
            self.children
                .iter()
                .map(|(e, c)| (e.clone(), o.children.get(e).map_or_else(|| c.clone(), |d| c.difference(d)))),
        )
    }
    /// The paths of this one that aren't in the other nor below one that is.
    pub fn recursive_difference(&self, o: &Set) -> Set {
        Self::with_children(
            self.members.difference(&o.members).cloned().collect(),
            self.children
                .iter()
                .filter(|(e, _)| !o.members.contains(e))
                .map(|(e, c)| (e.clone(), o.children.get(e).map_or_else(|| c.clone(), |d| c.recursive_difference(d)))),
        )
    }
    /// The paths, in order.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }
    fn collect(&self, prefix: &mut Vec<Element>, out: &mut Vec<Path>) {
        for e in &self.members {
            prefix.push(e.clone());
            out.push(Path(prefix.clone()));
            prefix.pop();
        }
        for (e, c) in &self.children {
            prefix.push(e.clone());
            c.collect(prefix, out);
            prefix.pop();
        }
    }

    /// The `fieldsV1` form: `{"f:spec":{"f:replicas":{}}}`.
    pub fn to_fields_v1(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }
    fn write(&self, out: &mut String, itself: bool) {
        out.push('{');
        let mut any = itself;
        if itself {
            out.push_str("\".\":{}");
        }
        let elements: BTreeSet<&Element> = self.members.iter().chain(self.children.keys()).collect();
        for e in elements {
            if any {
                out.push(',');
            }
            any = true;
            let key = match e {
                Element::Field(name) => format!("f:{name}"),
                Element::Key(keys) => {
                    format!("k:{}", keys.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Value>().to_json())
                }
                Element::Value(v) => format!("v:{}", v.to_json()),
                Element::Index(i) => format!("i:{i}"),
            };
            crate::json::write_string(out, &key, true);
            out.push(':');
            match self.children.get(e) {
                Some(c) => c.write(out, self.members.contains(e)),
                None => out.push_str("{}"),
            }
        }
        out.push('}');
    }
    /// Reads the `fieldsV1` form.
    ///
    /// # Errors
    /// In words of our own: nobody but the API server writes these.
    pub fn from_fields_v1(json: &str) -> Result<Set, String> {
        let v = Value::parse(json).map_err(|e| e.message)?;
        Ok(Self::from_value(&v)?.0)
    }
    /// The set, and whether its parent is a member.
    fn from_value(v: &Value) -> Result<(Set, bool), String> {
        let mut s = Set::default();
        let mut itself = false;
        let Some(m) = v.as_object() else { return Err("expected an object of fields".to_string()) };
        for (key, below) in m {
            if key == "." {
                itself = true;
                continue;
            }
            let Some((kind, text)) = key.split_once(':') else { return Err(format!("missing colon: {key}")) };
            let parse = || Value::parse(text).map_err(|e| e.message);
            let element = match kind {
                "f" => Element::Field(text.into()),
                "v" => Element::Value(parse()?),
                "i" => Element::Index(text.parse().map_err(|_| format!("no index: {text}"))?),
                "k" => match parse()? {
                    Value::Object(m) => Element::Key(m.iter().cloned().collect()),
                    _ => return Err(format!("no keys: {text}")),
                },
                _ => continue,
            };
            let (child, member) = Self::from_value(below)?;
            if member || child.is_empty() {
                s.members.insert(element.clone());
            }
            if !child.is_empty() {
                s.children.insert(element, child);
            }
        }
        Ok((s, itself))
    }
}
