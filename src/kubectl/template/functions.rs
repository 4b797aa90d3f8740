//! The functions that templates may call: text/template's and kubectl's own (`exists`, `base64decode`).

use super::exec::Val;
use super::format::{sprint, sprintf};
use crate::value::Value;

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This many or more.
    AtLeast(usize),
    /// This many.
    Exactly(usize),
}

const FUNCTIONS: &[(&str, Arity)] = &[
    ("and", Arity::AtLeast(1)),
    ("base64decode", Arity::Exactly(1)),
    ("call", Arity::AtLeast(1)),
    ("eq", Arity::AtLeast(1)),
    ("exists", Arity::AtLeast(1)),
    ("ge", Arity::Exactly(2)),
    ("gt", Arity::Exactly(2)),
    ("html", Arity::AtLeast(0)),
    ("index", Arity::AtLeast(1)),
    ("js", Arity::AtLeast(0)),
    ("le", Arity::Exactly(2)),
    ("len", Arity::Exactly(1)),
    ("lt", Arity::Exactly(2)),
    ("ne", Arity::Exactly(2)),
    ("not", Arity::Exactly(1)),
    ("or", Arity::AtLeast(1)),
    ("print", Arity::AtLeast(0)),
    ("printf", Arity::AtLeast(1)),
    ("println", Arity::AtLeast(0)),
    ("slice", Arity::AtLeast(1)),
    ("urlquery", Arity::AtLeast(0)),
];

/// Whether a function of this name is there.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|f| f.0 == name)
}

/// What it takes.
pub fn arity(name: &str) -> Arity {
    FUNCTIONS.iter().find(|f| f.0 == name).map_or(Arity::AtLeast(0), |f| f.1)
}

/// Calls a function; the error follows `error calling NAME: `. `callee` is the first argument as written.
pub fn call<'d>(name: &str, args: &[Val<'d>], callee: Option<String>) -> Result<Val<'d>, String> {
    let unboxed: Vec<Val<'d>> = args.iter().cloned().map(Val::unboxed).collect();
    let none = Val::none();
    let first = unboxed.first().unwrap_or(&none);
    let second = unboxed.get(1).unwrap_or(&none);
    let rest = unboxed.get(1..).unwrap_or(&[]);
    let values = || args.iter().map(|a| a.get().clone()).collect::<Vec<_>>();
    let plain = |v: Value| Ok(Val::plain(v));
    match name {
        "eq" => plain(equal(first, rest)?.into()),
        "ne" => plain((!equal(first, rest)?).into()),
        "lt" => plain(less(first, second)?.into()),
        "ge" => plain((!less(first, second)?).into()),
        "le" => plain((less(first, second)? || equal(first, rest)?).into()),
        "gt" => plain((!(less(first, second)? || equal(first, rest)?)).into()),
        "not" => plain((!first.truth()).into()),
        "len" => match (args.first().and_then(|a| a.value.as_deref()), first.get()) {
            (_, Value::Array(a)) => Ok(Val::int(a.len() as i64)),
            (_, Value::Object(m)) => Ok(Val::int(m.len() as i64)),
            (_, Value::String(s)) => Ok(Val::int(s.len() as i64)),
            (Some(Value::Null), _) => Err("len of nil pointer".into()),
            (None, _) => Err("reflect: call of reflect.Value.Type on zero Value".into()),
            _ => Err(format!("len of type {}", first.go_type())),
        },
        "index" => index(first, rest),
        "slice" => slice(first, rest),
        "exists" => plain(exists(first, rest).into()),
        "call" => match &first.value {
            None => Err("call of nil".into()),
            Some(_) => Err(format!("non-function {} of type {}", callee.unwrap_or_default(), first.go_type())),
        },
        "base64decode" => {
            let bytes = base64(first.get().as_str().unwrap_or(""))
                .map_err(|at| format!("base64 decode failed: illegal base64 data at input byte {at}"))?;
            plain(String::from_utf8_lossy(&bytes).into_owned().into())
        }
        "printf" => {
            let rest: Vec<_> = args.iter().skip(1).map(|a| (a.get(), a.go_type())).collect();
            plain(sprintf(first.get().as_str().unwrap_or(""), &rest).into())
        }
        "print" => plain(sprint(&values()).into()),
        "println" => {
            let words: Vec<String> = values().iter().map(Value::go_v).collect();
            plain(format!("{}\n", words.join(" ")).into())
        }
        "html" => plain(html(&text(args)).into()),
        "js" => plain(js(&text(args)).into()),
        "urlquery" => plain(urlquery(&text(args)).into()),
        _ => Ok(none),
    }
}

/// Arguments as one text.
fn text(args: &[Val<'_>]) -> String {
    let values: Vec<Value> = args
        .iter()
        .map(|a| match a.get() {
            Value::Null => "<no value>".into(),
            v => v.clone(),
        })
        .collect();
    sprint(&values)
}

fn equal(first: &Val<'_>, rest: &[Val<'_>]) -> Result<bool, String> {
    if rest.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in rest {
        let (a, b) = (first.get(), other.get());
        let same = match (a, b) {
            (Value::Bool(_), Value::Bool(_))
            | (Value::Int(_), Value::Int(_))
            | (Value::Float(_), Value::Float(_))
            | (Value::String(_), Value::String(_))
            | (Value::Null, Value::Null) => a == b,
            (Value::Null, _) | (_, Value::Null) => false,
            (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
                return Err(format!("non-comparable type {}: {}", b.go_v(), b.go_type()));
            }
            (Value::Array(_), Value::Object(_)) | (Value::Object(_), Value::Array(_)) => {
                return Err(format!(
                    "non-comparable types {}: {}, {}: {}",
                    a.go_v(),
                    a.go_type(),
                    b.go_type(),
                    b.go_v()
                ));
            }
            _ => return Err(incompatible(first, other)),
        };
        if same {
            return Ok(true);
        }
    }
    Ok(false)
}

fn incompatible(a: &Val<'_>, b: &Val<'_>) -> String {
    format!("incompatible types for comparison: {} and {}", a.go_type(), b.go_type())
}

fn less(first: &Val<'_>, second: &Val<'_>) -> Result<bool, String> {
    let basic = |v: &Value| !matches!(v, Value::Null | Value::Array(_) | Value::Object(_));
    match (first.get(), second.get()) {
        (a, b) if !basic(a) || !basic(b) => Err("invalid type for comparison".into()),
        (Value::Bool(_), Value::Bool(_)) => Err("invalid type for comparison".into()),
        (Value::Int(a), Value::Int(b)) => Ok(a < b),
        (Value::Float(a), Value::Float(b)) => Ok(a < b),
        (Value::String(a), Value::String(b)) => Ok(a < b),
        _ => Err(incompatible(first, second)),
    }
}

/// An index into something of a length.
fn position(v: &Val<'_>, length: usize) -> Result<usize, String> {
    match (&v.value, v.get()) {
        (None, _) => Err("cannot index slice/array with nil".into()),
        (_, Value::Int(i)) => match usize::try_from(*i) {
            Ok(at) if at <= length => Ok(at),
            _ => Err(format!("index out of range: {i}")),
        },
        _ => Err(format!("cannot index slice/array with type {}", v.go_type())),
    }
}

fn index<'d>(first: &Val<'d>, rest: &[Val<'d>]) -> Result<Val<'d>, String> {
    if first.value.is_none() {
        return Err("index of untyped nil".into());
    }
    let mut v = first.clone();
    for key in rest {
        let next = match v.get() {
            Value::Null => return Err("index of nil pointer".into()),
            Value::Array(a) => {
                let at = position(key, a.len())?;
                if at == a.len() {
                    return Err("reflect: slice index out of range".into());
                }
                v.element(at)
            }
            Value::String(s) => {
                let at = position(key, s.len())?;
                match s.as_bytes().get(at) {
                    Some(b) => Some(Val::plain(Value::Int(i64::from(*b)))),
                    None => return Err("reflect: string index out of range".into()),
                }
            }
            Value::Object(_) => match key.get() {
                Value::String(name) => Some(v.member(name).unwrap_or_else(Val::none)),
                Value::Null => return Err("value is nil; should be of type string".into()),
                _ => return Err(format!("value has type {}; should be string", key.go_type())),
            },
            _ => return Err(format!("can't index item of type {}", v.go_type())),
        };
        v = next.unwrap_or_else(Val::none);
        // A missing entry of a map is its nil interface.
        if v.value.is_none() {
            v = Val { value: Some(std::borrow::Cow::Owned(Value::Null)), boxed: true, int: false };
        }
    }
    Ok(v)
}

fn slice<'d>(first: &Val<'d>, rest: &[Val<'d>]) -> Result<Val<'d>, String> {
    if first.value.is_none() {
        return Err("slice of untyped nil".into());
    }
    if rest.len() > 3 {
        return Err(format!("too many slice indexes: {}", rest.len()));
    }
    let length = match first.get() {
        Value::String(_) if rest.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Value::String(s) => s.len(),
        Value::Array(a) => a.len(),
        _ => return Err(format!("can't slice item of type {}", first.go_type())),
    };
    let mut bounds = [0, length, length];
    for (slot, v) in bounds.iter_mut().zip(rest) {
        *slot = position(v, length)?;
    }
    let [from, to, limit] = bounds;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}"));
    }
    if rest.len() == 3 && to > limit {
        return Err(format!("invalid slice index: {to} > {limit}"));
    }
    Ok(Val::plain(match first.get() {
        Value::Array(a) => Value::Array(a.get(from..to).unwrap_or(&[]).to_vec()),
        v => {
            let bytes = v.as_str().unwrap_or("").as_bytes().get(from..to).unwrap_or(&[]);
            String::from_utf8_lossy(bytes).into_owned().into()
        }
    }))
}

/// kubectl's `exists`: whether a path of keys and positions is there.
fn exists(first: &Val<'_>, rest: &[Val<'_>]) -> bool {
    if first.value.is_none() {
        return false;
    }
    let mut v = first.clone();
    for key in rest {
        let next = match (v.get(), key.get()) {
            (Value::Array(_), Value::Int(i)) => usize::try_from(*i).ok().and_then(|i| v.element(i)),
            (Value::Object(_), Value::String(name)) => v.member(name),
            _ => None,
        };
        match next {
            Some(n) => v = n,
            None => return false,
        }
    }
    true
}

/// Go's strict base64; the error is the position of what is wrong.
fn base64(text: &str) -> Result<Vec<u8>, usize> {
    let clean: String = text.chars().filter(|c| *c != '\n' && *c != '\r').collect();
    let body = clean.trim_end_matches('=');
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    if let Some(at) = body.find(|c| !valid(c)) {
        return Err(at);
    }
    if !clean.len().is_multiple_of(4) || clean.len() - body.len() > 2 {
        return Err(if clean.len() == body.len() { clean.len() / 4 * 4 } else { body.len() });
    }
    crate::resource::base64_decode(body).ok_or(0)
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", c as u32)),
            c if c < ' ' || (c as u32 > 127 && c.is_control()) => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

fn urlquery(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for b in text.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(b)),
            b' ' => out.push('+'),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}
