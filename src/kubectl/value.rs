//! The dynamic JSON value that kubectl works on, and reading and writing by path.

use std::collections::BTreeMap;

/// A JSON object: keys sorted, as Go prints maps.
pub type Object = BTreeMap<String, Value>;

/// A JSON value as Kubernetes' unstructured objects hold it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number within 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

static NULL: Value = Value::Null;

impl Value {
    /// The value at a path of keys and list positions parted by `/`; Null when there is none.
    pub fn at(&self, path: &str) -> &Value {
        let mut v = self;
        for key in path.split('/') {
            v = v.key(key);
        }
        v
    }

    /// The value of one key (or list position); Null when there is none.
    pub fn key(&self, key: &str) -> &Value {
        match self {
            Value::Object(m) => m.get(key).unwrap_or(&NULL),
            Value::Array(a) => key.parse::<usize>().ok().and_then(|i| a.get(i)).unwrap_or(&NULL),
            _ => &NULL,
        }
    }

    /// The text at a path, empty when there is none.
    pub fn str(&self, path: &str) -> &str {
        self.at(path).as_str().unwrap_or("")
    }

    /// The whole number at a path, 0 when there is none.
    pub fn int(&self, path: &str) -> i64 {
        self.at(path).as_int().unwrap_or(0)
    }

    /// The bool at a path, false when there is none.
    pub fn bool(&self, path: &str) -> bool {
        matches!(self.at(path), Value::Bool(true))
    }

    /// The elements of the list at a path.
    pub fn list(&self, path: &str) -> &[Value] {
        match self.at(path) {
            Value::Array(a) => a,
            _ => &[],
        }
    }

    /// The entries of the object at a path, by key.
    pub fn map(&self, path: &str) -> impl Iterator<Item = (&str, &Value)> {
        let m = match self.at(path) {
            Value::Object(m) => Some(m),
            _ => None,
        };
        m.into_iter().flatten().map(|(k, v)| (k.as_str(), v))
    }

    /// The entries of this object, by key.
    pub fn map_entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        let m = match self {
            Value::Object(m) => Some(m),
            _ => None,
        };
        m.into_iter().flatten().map(|(k, v)| (k.as_str(), v))
    }

    /// Whether something other than null stands at a path.
    pub fn has(&self, path: &str) -> bool {
        !matches!(self.at(path), Value::Null)
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The whole number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            Value::Float(f) if f.fract() == 0.0 => Some(*f as i64),
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether it is an empty list, object or text, or null.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::String(s) => s.is_empty(),
            Value::Array(a) => a.is_empty(),
            Value::Object(m) => m.is_empty(),
            _ => false,
        }
    }

    /// An empty object.
    pub fn object() -> Value {
        Value::Object(Object::new())
    }

    /// Makes the objects on the way and returns the slot at a path. List positions must exist;
    /// what is no object on the way is replaced.
    pub fn slot(&mut self, path: &str) -> &mut Value {
        let mut v = self;
        for key in path.split('/') {
            let next = match v {
                Value::Array(a) if key.parse::<usize>().is_ok_and(|i| i < a.len()) => None,
                Value::Object(_) => None,
                _ => Some(Value::object()),
            };
            if let Some(fresh) = next {
                *v = fresh;
            }
            v = match v {
                Value::Array(a) => {
                    let i = key.parse::<usize>().unwrap_or(0).min(a.len().saturating_sub(1));
                    match a.get_mut(i) {
                        Some(x) => x,
                        None => unreachable!("position checked above"),
                    }
                }
                Value::Object(m) => m.entry(key.to_string()).or_default(),
                _ => unreachable!("made an object above"),
            };
        }
        v
    }

    /// Sets the value at a path, making objects on the way.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        *self.slot(path) = value.into();
    }

    /// Sets one key whose name may hold slashes.
    pub fn set_key(&mut self, path: &str, key: &str, value: impl Into<Value>) {
        let slot = if path.is_empty() { self } else { self.slot(path) };
        if !matches!(slot, Value::Object(_)) {
            *slot = Value::object();
        }
        if let Value::Object(m) = slot {
            m.insert(key.to_string(), value.into());
        }
    }

    /// Removes one key of the object at a path.
    pub fn remove_key(&mut self, path: &str, key: &str) -> Option<Value> {
        let mut v = self;
        for k in path.split('/').filter(|k| !k.is_empty()) {
            v = match v {
                Value::Object(m) => m.get_mut(k)?,
                Value::Array(a) => a.get_mut(k.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        match v {
            Value::Object(m) => m.remove(key),
            _ => None,
        }
    }

    /// The list at a path for changing; made when it is not there.
    pub fn list_mut(&mut self, path: &str) -> &mut Vec<Value> {
        let slot = self.slot(path);
        if !matches!(slot, Value::Array(_)) {
            *slot = Value::Array(Vec::new());
        }
        match slot {
            Value::Array(a) => a,
            _ => unreachable!("made a list above"),
        }
    }

    /// Compact JSON as Go's encoder writes it, `<`, `>` and `&` escaped.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None, 0);
        out
    }

    /// JSON with each nesting indented by `indent`.
    pub fn to_json_indent(&self, indent: &str) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(indent), 0);
        out
    }

    fn write(&self, out: &mut String, indent: Option<&str>, depth: usize) {
        let line = |out: &mut String, depth: usize| {
            if let Some(i) = indent {
                out.push('\n');
                for _ in 0..depth {
                    out.push_str(i);
                }
            }
        };
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Value::Int(i) => out.push_str(&i.to_string()),
            Value::Float(f) => out.push_str(&float_json(*f)),
            Value::String(s) => write_json_string(out, s),
            Value::Array(a) if a.is_empty() => out.push_str("[]"),
            Value::Array(a) => {
                out.push('[');
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    v.write(out, indent, depth + 1);
                }
                line(out, depth);
                out.push(']');
            }
            Value::Object(m) if m.is_empty() => out.push_str("{}"),
            Value::Object(m) => {
                out.push('{');
                for (i, (k, v)) in m.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    write_json_string(out, k);
                    out.push(':');
                    if indent.is_some() {
                        out.push(' ');
                    }
                    v.write(out, indent, depth + 1);
                }
                line(out, depth);
                out.push('}');
            }
        }
    }

    /// Go's `%v`.
    pub fn go_v(&self) -> String {
        match self {
            Value::Null => "<nil>".into(),
            Value::Bool(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Float(f) => float_g(*f),
            Value::String(s) => s.clone(),
            Value::Array(a) => {
                let inner: Vec<String> = a.iter().map(Value::go_v).collect();
                format!("[{}]", inner.join(" "))
            }
            Value::Object(m) => {
                let inner: Vec<String> = m.iter().map(|(k, v)| format!("{k}:{}", v.go_v())).collect();
                format!("map[{}]", inner.join(" "))
            }
        }
    }

    /// Go's `%#v`.
    pub fn go_sharp_v(&self) -> String {
        use crate::print::human::quote;
        match self {
            Value::Null => "interface {}(nil)".into(),
            Value::String(s) => quote(s),
            Value::Array(a) => {
                let inner: Vec<String> = a.iter().map(Value::go_sharp_v).collect();
                format!("[]interface {{}}{{{}}}", inner.join(", "))
            }
            Value::Object(m) => {
                let inner: Vec<String> = m.iter().map(|(k, v)| format!("{}:{}", quote(k), v.go_sharp_v())).collect();
                format!("map[string]interface {{}}{{{}}}", inner.join(", "))
            }
            other => other.go_v(),
        }
    }

    /// The Go type it decodes to.
    pub fn go_type(&self) -> &'static str {
        match self {
            Value::Null => "interface {}",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int64",
            Value::Float(_) => "float64",
            Value::String(_) => "string",
            Value::Array(_) => "[]interface {}",
            Value::Object(_) => "map[string]interface {}",
        }
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::String(s.to_string())
    }
}
impl From<String> for Value {
    fn from(s: String) -> Self {
        Value::String(s)
    }
}
impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::Int(i)
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}
impl From<Vec<Value>> for Value {
    fn from(a: Vec<Value>) -> Self {
        Value::Array(a)
    }
}
impl From<Object> for Value {
    fn from(m: Object) -> Self {
        Value::Object(m)
    }
}
impl From<&[String]> for Value {
    fn from(a: &[String]) -> Self {
        Value::Array(a.iter().map(|s| Value::String(s.clone())).collect())
    }
}

/// An object from key and value pairs.
pub fn object<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Object(pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
}

fn write_json_string(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A float as encoding/json writes it.
fn float_json(f: f64) -> String {
    let a = f.abs();
    if a != 0.0 && !(1e-6..1e21).contains(&a) {
        return exponent(f, 1);
    }
    format!("{f}")
}

/// A float as `%v` prints it.
fn float_g(f: f64) -> String {
    let a = f.abs();
    if a != 0.0 && !(1e-4..1e21).contains(&a) {
        return exponent(f, 2);
    }
    format!("{f}")
}

fn exponent(f: f64, digits: usize) -> String {
    let text = format!("{f:e}");
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exp) = match exp.strip_prefix('-') {
        Some(e) => ('-', e),
        None => ('+', exp),
    };
    format!("{mantissa}e{sign}{exp:0>digits$}")
}
