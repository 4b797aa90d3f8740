//! CEL's values.

use std::cmp::Ordering;
use std::fmt::Write;
use std::net::IpAddr;
use std::rc::Rc;

use crate::json::Value;
use crate::{List, Map, Quantity, Str};

/// A value that an expression gives. Clones share.
#[derive(Clone, Debug)]
pub enum Val {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number of type `uint`.
    Uint(u64),
    /// A number.
    Double(f64),
    /// A string.
    Str(Str),
    /// Bytes.
    Bytes(Rc<[u8]>),
    /// A list.
    List(Items),
    /// A map.
    Map(Entries),
    /// Nanoseconds.
    Duration(i64),
    /// Seconds since 1970 and nanoseconds.
    Timestamp(i64, u32),
    /// The name of a type.
    Type(Str),
    /// `optional.of(...)`, `optional.none()`
    Optional(Option<Rc<Val>>),
    /// A message that has been made by its type's name: `Object.spec{...}`
    Message(Str, Rc<Vec<(Str, Val)>>),
    /// A value of Kubernetes' libraries.
    Other(Rc<Other>),
}

/// Values of Kubernetes' libraries.
#[derive(Debug)]
pub enum Other {
    /// `quantity('1Gi')`
    Quantity(Quantity),
    /// `url('https://...')`
    Url(super::network::Url),
    /// `ip('...')`
    Ip(IpAddr),
    /// `cidr('...')`
    Cidr(IpAddr, u8),
    /// `semver('1.2.3')`
    Semver(super::semver::Semver),
    /// `format.uri()`
    Format(&'static str),
    /// `authorizer`
    Authorizer(super::Check),
    /// `authorizer.path(...)`
    PathCheck(super::Check),
    /// `authorizer.group(...)`
    GroupCheck(super::Check),
    /// `authorizer.group(...).resource(...)`
    ResourceCheck(super::Check),
    /// `....check('get')`
    Decision(super::Decision),
    /// `variables`: their values are worked out when asked for.
    Variables,
}

/// A list: as it was sent, or made by an expression.
#[derive(Clone, Debug)]
pub enum Items {
    /// Of an object.
    Json(List<Value>),
    /// Made.
    Vals(Rc<Vec<Val>>),
}

/// A map: as it was sent, or made by an expression.
#[derive(Clone, Debug)]
pub enum Entries {
    /// Of an object.
    Json(Map<Value>),
    /// Made.
    Vals(Rc<Vec<(Val, Val)>>),
    /// Made, with an empty map for every other key.
    Domains(Rc<Vec<(Val, Val)>>),
}

impl Items {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Items::Json(list) => list.len(),
            Items::Vals(list) => list.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    pub fn get(&self, i: usize) -> Option<Val> {
        match self {
            Items::Json(list) => list.get(i).map(Val::from),
            Items::Vals(list) => list.get(i).cloned(),
        }
    }

    /// All of them.
    pub fn to_vec(&self) -> Vec<Val> {
        match self {
            Items::Json(list) => list.iter().map(Val::from).collect(),
            Items::Vals(list) => list.to_vec(),
        }
    }
}

impl Entries {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Entries::Json(map) => map.len(),
            Entries::Vals(map) | Entries::Domains(map) => map.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    pub fn get(&self, key: &Val) -> Option<Val> {
        match (self, key) {
            (Entries::Json(map), Val::Str(key)) => map.get(key).map(Val::from),
            (Entries::Json(_), _) => None,
            (Entries::Vals(map) | Entries::Domains(map), key) => {
                let found = map.iter().find(|(k, _)| k.equals(key)).map(|(_, v)| v.clone());
                let other = || matches!(self, Entries::Domains(_)).then(|| Val::map(Vec::new()));
                found.or_else(other)
            }
        }
    }

    /// All of them.
    pub fn to_vec(&self) -> Vec<(Val, Val)> {
        match self {
            Entries::Json(map) => map.iter().map(|(k, v)| (Val::Str(k.clone()), Val::from(v))).collect(),
            Entries::Vals(map) | Entries::Domains(map) => map.to_vec(),
        }
    }
}

impl From<&Value> for Val {
    fn from(value: &Value) -> Val {
        match value {
            Value::Null => Val::Null,
            Value::Bool(b) => Val::Bool(*b),
            Value::Int(i) => Val::Int(*i),
            Value::Float(f) => Val::Double(*f),
            Value::Str(s) => Val::Str(s.clone()),
            Value::Array(list) => Val::List(Items::Json(list.clone())),
            Value::Object(map) => Val::Map(Entries::Json(map.clone())),
        }
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Val {
        Val::Str(text.into())
    }
}

impl From<String> for Val {
    fn from(text: String) -> Val {
        Val::Str(text.into())
    }
}

impl Val {
    /// A list.
    pub fn list(items: Vec<Val>) -> Val {
        Val::List(Items::Vals(Rc::new(items)))
    }

    /// A map.
    pub fn map(entries: Vec<(Val, Val)>) -> Val {
        Val::Map(Entries::Vals(Rc::new(entries)))
    }

    /// A value of a library.
    pub fn other(other: Other) -> Val {
        Val::Other(Rc::new(other))
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::Str(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::List(_) => "list",
            Val::Map(_) => "map",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Timestamp(..) => "google.protobuf.Timestamp",
            Val::Type(_) => "type",
            Val::Optional(_) => "optional_type",
            Val::Message(name, _) => name,
            Val::Other(other) => match &**other {
                Other::Quantity(_) => "kubernetes.Quantity",
                Other::Url(_) => "kubernetes.URL",
                Other::Ip(_) => "net.IP",
                Other::Cidr(..) => "net.CIDR",
                Other::Semver(_) => "kubernetes.Semver",
                Other::Format(_) => "kubernetes.NamedFormat",
                Other::Authorizer(_) => "kubernetes.authorization.Authorizer",
                Other::PathCheck(_) => "kubernetes.authorization.PathCheck",
                Other::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
                Other::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
                Other::Decision(_) => "kubernetes.authorization.Decision",
                Other::Variables => "kubernetes.variables",
            },
        }
    }

    /// Equality: of numbers by value, of different types false.
    pub fn equals(&self, other: &Val) -> bool {
        match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Str(a), Val::Str(b)) | (Val::Type(a), Val::Type(b)) => a == b,
            (Val::Bytes(a), Val::Bytes(b)) => a == b,
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Timestamp(a, n), Val::Timestamp(b, m)) => (a, n) == (b, m),
            (Val::List(a), Val::List(b)) => {
                a.len() == b.len() && a.to_vec().iter().zip(&b.to_vec()).all(|(a, b)| a.equals(b))
            }
            (Val::Map(a), Val::Map(b)) => {
                a.len() == b.len() && a.to_vec().iter().all(|(k, v)| b.get(k).is_some_and(|w| v.equals(&w)))
            }
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (a, b) => a.is_none() && b.is_none(),
            },
            (Val::Message(n, a), Val::Message(m, b)) => {
                n == m && a.len() == b.len() && a.iter().zip(&**b).all(|((k, v), (l, w))| k == l && v.equals(w))
            }
            (Val::Other(a), Val::Other(b)) => match (&**a, &**b) {
                (Other::Quantity(a), Other::Quantity(b)) => a == b,
                (Other::Url(a), Other::Url(b)) => a == b,
                (Other::Ip(a), Other::Ip(b)) => a == b,
                (Other::Cidr(a, n), Other::Cidr(b, m)) => (a, n) == (b, m),
                (Other::Semver(a), Other::Semver(b)) => a.compare(b).is_eq(),
                (Other::Format(a), Other::Format(b)) => a == b,
                _ => Rc::ptr_eq(a, b),
            },
            (a, b) => a.number(b) == Some(Ordering::Equal),
        }
    }

    fn number(&self, other: &Val) -> Option<Ordering> {
        Some(match (self, other) {
            (Val::Int(a), Val::Int(b)) => a.cmp(b),
            (Val::Uint(a), Val::Uint(b)) => a.cmp(b),
            (Val::Int(a), Val::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Val::Uint(a), Val::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Val::Double(a), Val::Double(b)) => a.partial_cmp(b)?,
            (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64))?,
            (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b)?,
            (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64))?,
            (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b)?,
            _ => return None,
        })
    }

    /// The order of two values that have one.
    pub fn compare(&self, other: &Val) -> Option<Ordering> {
        match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::Str(a), Val::Str(b)) => Some((**a).cmp(&**b)),
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Val::Timestamp(a, n), Val::Timestamp(b, m)) => Some((a, n).cmp(&(b, m))),
            (a, b) => a.number(b),
        }
    }

    /// As JSON; none of what has no such form.
    pub fn to_json(&self) -> Option<Value> {
        Some(match self {
            Val::Null => Value::Null,
            Val::Bool(b) => Value::Bool(*b),
            Val::Int(i) => Value::Int(*i),
            Val::Uint(u) => i64::try_from(*u).map_or(Value::Float(*u as f64), Value::Int),
            Val::Double(d) => Value::Float(*d),
            Val::Str(s) => Value::Str(s.clone()),
            Val::List(Items::Json(list)) => Value::Array(list.clone()),
            Val::Map(Entries::Json(map)) => Value::Object(map.clone()),
            Val::List(list) => Value::from(list.to_vec().iter().map(Val::to_json).collect::<Option<Vec<_>>>()?),
            Val::Map(map) => {
                let mut object = Value::object();
                for (key, value) in map.to_vec() {
                    let Val::Str(key) = key else { return None };
                    object.set(key, value.to_json()?);
                }
                object
            }
            Val::Message(_, fields) => {
                let mut object = Value::object();
                for (key, value) in fields.iter() {
                    object.set(key.clone(), value.to_json()?);
                }
                object
            }
            Val::Timestamp(..) | Val::Duration(_) => Value::Str(self.text()?),
            Val::Optional(Some(inner)) => inner.to_json()?,
            _ => return None,
        })
    }

    /// `string(...)` of it.
    pub fn text(&self) -> Option<Str> {
        Some(match self {
            Val::Str(s) => s.clone(),
            Val::Bool(b) => b.to_string().into(),
            Val::Int(i) => i.to_string().into(),
            Val::Uint(u) => u.to_string().into(),
            Val::Double(d) => double(*d).into(),
            Val::Bytes(b) => std::str::from_utf8(b).ok()?.into(),
            Val::Duration(nanos) => seconds(*nanos).into(),
            Val::Timestamp(unix, nanos) => timestamp(*unix, *nanos).into(),
            Val::Other(other) => match &**other {
                Other::Ip(ip) => ip.to_string().into(),
                Other::Cidr(ip, bits) => format!("{ip}/{bits}").into(),
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// Go's `%g`-like shortest form: `1e+21`.
pub(super) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_string();
    }
    let exponent = format!("{value:e}");
    let Some((digits, power)) = exponent.split_once('e') else { return exponent };
    let power: i32 = power.parse().unwrap_or_default();
    if (-4..21).contains(&power) {
        return format!("{value}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}

/// `5400s`, `1.5s`
fn seconds(nanos: i64) -> String {
    let whole = nanos.unsigned_abs();
    let mut out = String::new();
    if nanos < 0 {
        out.push('-');
    }
    let _ = write!(out, "{}", whole / 1_000_000_000);
    fraction(&mut out, whole % 1_000_000_000);
    out.push('s');
    out
}

fn fraction(out: &mut String, nanos: u64) {
    if nanos > 0 {
        out.push('.');
        out.push_str(format!("{nanos:09}").trim_end_matches('0'));
    }
}

fn timestamp(unix: i64, nanos: u32) -> String {
    let mut out = crate::value::rfc3339(unix, None);
    if nanos > 0 {
        out.pop();
        fraction(&mut out, u64::from(nanos));
        out.push('Z');
    }
    out
}
