//! A JSON value of any shape, as Go's `map[string]interface{}` and unstructured objects.
use super::encode::{Encoder, Order};
use super::lexer::{Lexer, MAX_DEPTH, Result, SyntaxError};
use crate::SortSmall;
use crate::value::{List, Map, Str};
use std::fmt;

/// A JSON value. Objects are sorted by key, as Go prints maps. Clones share.
#[derive(Clone, Default, PartialEq)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number that fits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Str(Str),
    /// An array.
    Array(List<Value>),
    /// An object.
    Object(Map<Value>),
}

impl Value {
    /// Parses JSON. Of duplicate keys the last wins.
    ///
    /// # Errors
    /// Go's syntax errors.
    pub fn parse(text: &str) -> std::result::Result<Value, SyntaxError> {
        Self::parse_with(text, &mut |_| {})
    }
    /// Parses JSON, telling the paths of duplicate keys (`spec.containers[0].name`).
    ///
    /// # Errors
    /// Go's syntax errors.
    pub fn parse_with(text: &str, duplicate: &mut dyn FnMut(&str)) -> std::result::Result<Value, SyntaxError> {
        let mut lexer = Lexer::new(text);
        let v = parse(&mut lexer, 0, &mut String::new(), duplicate)?;
        lexer.end()?;
        Ok(v)
    }
    /// Parses the JSON value that a text begins with; gives it and how many bytes it took.
    ///
    /// # Errors
    /// Go's syntax errors.
    pub fn parse_prefix(text: &str) -> std::result::Result<(Value, usize), SyntaxError> {
        let mut lexer = Lexer::new(text);
        let v = parse(&mut lexer, 0, &mut String::new(), &mut |_| {})?;
        Ok((v, lexer.pos))
    }
    /// How many bytes the JSON value takes that a text begins with, whatever its numbers.
    ///
    /// # Errors
    /// Go's syntax errors.
    pub fn skip_prefix(text: &str) -> std::result::Result<usize, SyntaxError> {
        let mut lexer = Lexer::new(text);
        lexer.skip()?;
        Ok(lexer.pos)
    }
    /// An empty object.
    pub fn object() -> Value {
        Value::Object(Map::empty())
    }
    /// The field of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object().and_then(|m| m.get(key))
    }
    /// The value at a path of object keys.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |v, k| v.get(k))
    }
    /// The string at a path of object keys, empty if there is none.
    pub fn str_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or("")
    }
    /// The item of an array.
    pub fn item(&self, i: usize) -> Option<&Value> {
        self.as_array().and_then(|a| a.get(i))
    }
    /// Sets the field of an object; other values become one.
    pub fn set(&mut self, key: impl Into<Str>, value: Value) {
        self.make_object().insert(key, value);
    }
    /// The object, made one if it is none.
    pub fn make_object(&mut self) -> &mut Map<Value> {
        if !matches!(self, Value::Object(_)) {
            *self = Value::object();
        }
        match self {
            Value::Object(m) => m,
            _ => unreachable!("made an object just now"),
        }
    }
    /// Sets the value at a path of object keys, making objects on the way.
    pub fn set_at(&mut self, path: &[&str], value: Value) {
        match path {
            [] => *self = value,
            [first, rest @ ..] => {
                self.make_object().entry(*first, || Value::Null).set_at(rest, value);
            }
        }
    }
    /// The object.
    pub fn as_object(&self) -> Option<&Map<Value>> {
        if let Value::Object(m) = self { Some(m) } else { None }
    }
    /// The object, to change.
    pub fn as_object_mut(&mut self) -> Option<&mut Map<Value>> {
        if let Value::Object(m) = self { Some(m) } else { None }
    }
    /// The array.
    pub fn as_array(&self) -> Option<&List<Value>> {
        if let Value::Array(a) = self { Some(a) } else { None }
    }
    /// The array, to change.
    pub fn as_array_mut(&mut self) -> Option<&mut List<Value>> {
        if let Value::Array(a) = self { Some(a) } else { None }
    }
    /// The string.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(s) = self { Some(s) } else { None }
    }
    /// The whole number.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Int(v) = self { Some(*v) } else { None }
    }
    /// The truth value.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(b) = self { Some(*b) } else { None }
    }
    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// `object`, `array`, `string`, `number`, `bool` or `null`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
            Value::Str(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }
    /// Compact JSON with sorted keys.
    pub fn to_json(&self) -> String {
        let mut e = Encoder::new(Order::Sorted, 0);
        e.dynamic(self);
        e.finish()
    }
    /// Indented JSON with sorted keys.
    pub fn to_json_pretty(&self, indent: usize) -> String {
        let mut e = Encoder::new(Order::Sorted, indent);
        e.dynamic(self);
        e.finish()
    }
    /// JSON without escaping `<`, `>` and `&`; `indent` 0 is compact.
    pub fn to_json_unescaped(&self, indent: usize) -> String {
        let mut e = Encoder::new(Order::Sorted, indent);
        e.escape_html = false;
        e.dynamic(self);
        e.finish()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}
impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::Str(s.into())
    }
}
impl From<String> for Value {
    fn from(s: String) -> Self {
        Value::Str(s.into())
    }
}
impl From<Str> for Value {
    fn from(s: Str) -> Self {
        Value::Str(s)
    }
}
impl From<&Str> for Value {
    fn from(s: &Str) -> Self {
        Value::Str(s.clone())
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}
impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}
impl From<i32> for Value {
    fn from(v: i32) -> Self {
        Value::Int(v.into())
    }
}
impl From<Vec<Value>> for Value {
    fn from(v: Vec<Value>) -> Self {
        Value::Array(v.into())
    }
}
impl From<Map<Value>> for Value {
    fn from(m: Map<Value>) -> Self {
        Value::Object(m)
    }
}
impl<K: Into<Str>> FromIterator<(K, Value)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(i: I) -> Self {
        Value::Object(i.into_iter().collect())
    }
}

/// A number as Go's decoder into `interface{}` with Kubernetes' conversion holds it; none beyond a float's range.
pub(super) fn number(text: &str) -> Option<Value> {
    match text.parse::<i64>() {
        Ok(v) => Some(Value::Int(v)),
        Err(_) => text.parse().ok().filter(|v: &f64| v.is_finite()).map(Value::Float),
    }
}

fn parse(l: &mut Lexer<'_>, depth: usize, path: &mut String, duplicate: &mut dyn FnMut(&str)) -> Result<Value> {
    if depth > MAX_DEPTH {
        return l.too_deep();
    }
    Ok(match l.peek() {
        b'{' => {
            let mut entries: Vec<(Str, Value)> = Vec::new();
            let mut sorted = true;
            if l.open(b'}') {
                loop {
                    let key = l.key()?;
                    let len = path.len();
                    if len > 0 {
                        path.push('.');
                    }
                    path.push_str(&key);
                    let v = parse(l, depth + 1, path, duplicate)?;
                    path.truncate(len);
                    sorted = sorted && entries.last().is_none_or(|e| e.0.as_str() < &*key);
                    entries.push((Str::from(&*key), v));
                    if !l.more(b'}')? {
                        break;
                    }
                }
            }
            if !sorted {
                entries.sort_small_by(|a, b| a.0.cmp(&b.0));
                let mut kept: Vec<(Str, Value)> = Vec::with_capacity(entries.len());
                for e in entries {
                    match kept.last_mut() {
                        Some(last) if last.0 == e.0 => {
                            let dot = if path.is_empty() { "" } else { "." };
                            duplicate(&format!("{path}{dot}{}", e.0));
                            *last = e
                        }
                        _ => kept.push(e),
                    }
                }
                entries = kept;
            }
            Value::Object(Map::from_sorted(entries))
        }
        b'[' => {
            let mut items = Vec::new();
            if l.open(b']') {
                loop {
                    let len = path.len();
                    path.push_str(&format!("[{}]", items.len()));
                    items.push(parse(l, depth + 1, path, duplicate)?);
                    path.truncate(len);
                    if !l.more(b']')? {
                        break;
                    }
                }
            }
            items.into()
        }
        b'"' => Value::Str(Str::from(&*l.string()?)),
        b't' => {
            l.literal("true")?;
            true.into()
        }
        b'f' => {
            l.literal("false")?;
            false.into()
        }
        b'n' => {
            l.literal("null")?;
            Value::Null
        }
        b'-' | b'0'..=b'9' => {
            let text = l.number()?;
            let beyond = || SyntaxError {
                message: format!("json: cannot unmarshal number {text} into Go value of type float64"),
                offset: l.pos,
            };
            number(text).ok_or_else(beyond)?
        }
        _ => return l.error("looking for beginning of value"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        let mut dup = Vec::new();
        let v = Value::parse_with(r#" {"b":[1,2.5,"x\u00e9\n",null,true,{}],"a":{"c":1,"c":2}} "#, &mut |p| {
            dup.push(p.to_string())
        });
        assert_eq!(v.map(|v| v.to_json()).as_deref(), Ok(r#"{"a":{"c":2},"b":[1,2.5,"xé\n",null,true,{}]}"#));
        assert_eq!(dup, ["a.c"]);
    }

    /// As Go's encoding/json words them.
    #[test]
    fn syntax_errors() {
        for (text, want) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{x", "invalid character 'x' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("tru", "invalid character ' ' in literal true (expecting 'e')"),
            ("\"x", "unexpected end of JSON input"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            (r#""\x""#, "invalid character 'x' in string escape code"),
            ("[1e400]", "json: cannot unmarshal number 1e400 into Go value of type float64"),
            (r#""\u00zz""#, "invalid character 'z' in \\u hexadecimal character escape"),
        ] {
            assert_eq!(Value::parse(text).map_err(|e| e.message), Err(want.to_string()), "{text}");
        }
    }
}
