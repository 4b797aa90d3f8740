//! The decoder: fills an object by its descriptor, with the errors of Kubernetes' serializer (sigs.k8s.io/json).
//!
//! Go goes on after a type error and reports the first. An error of a Quantity, Time or IntOrString ends decoding and
//! wins. A syntax error anywhere wins over all.
use super::lexer::{Lexer, SyntaxError};
use super::value::Value;
use crate::object::{FieldDesc, Mut, Object, Type};
use crate::value::*;
use std::fmt;

/// Why a document could not be decoded; Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Go's text.
    pub message: String,
    /// Whether the text is no JSON at all: Kubernetes' serializer then says
    /// `couldn't get version/kind; json parse error: ` before it.
    pub syntax: bool,
}
impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for DecodeError {}
impl From<SyntaxError> for DecodeError {
    fn from(e: SyntaxError) -> Self {
        DecodeError { message: e.message, syntax: true }
    }
}

/// What strict decoding adds: `unknown field "spec.replica"`, `duplicate field "spec.replicas"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrictError(pub String);
impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Decoding that went through; strict errors, if they were asked for, are reported beside it.
pub type Decoded = Result<Vec<StrictError>, DecodeError>;

/// Decodes a JSON document into a zero object. Where the document's `apiVersion` and `kind` are those of the object's
/// type they are left empty, as objects are kept.
///
/// # Errors
/// Go's syntax and type errors.
pub fn decode(json: &[u8], into: &mut dyn Object, strict: bool) -> Decoded {
    // Go reads bytes that are no UTF-8 as U+FFFD.
    let text = String::from_utf8_lossy(json);
    let mut d = Decoder::new(&text, strict);
    let done = d.top(into).and_then(|()| d.lexer.end().map_err(|e| d.syntax(e)));
    if done.is_err() {
        // Only whole documents are decoded: a syntax error behind the place that ended decoding wins.
        let mut check = Lexer::new(&text);
        check.skip().and_then(|_| check.end())?;
    }
    if let Some(message) = d.fatal.take().or(d.saved.take()) {
        return Err(DecodeError { message, syntax: d.no_object });
    }
    if done.is_err() {
        return Err(DecodeError { message: "unexpected end of JSON input".into(), syntax: true });
    }
    let errors = d.errors;
    if let Some(k) = into.kind_info() {
        for (name, own) in [("apiVersion", k.api_version), ("kind", k.kind)] {
            if let Some(Mut::Str(s)) = into.field_mut(name)
                && s.as_str() == own
            {
                *s = Str::new();
            }
        }
    }
    Ok(errors)
}

/// Decodes a dynamic value.
///
/// # Errors
/// Go's type errors.
pub fn from_value(value: &Value, into: &mut dyn Object, strict: bool) -> Decoded {
    decode(value.to_json().as_bytes(), into, strict)
}

/// Reads JSON into a value of a type that reads itself (Time, Quantity, IntOrString, RawExtension).
///
/// # Errors
/// The type's own, without the field's name.
pub(super) fn leaf(
    json: &str,
    into: Mut<'_>,
    ty: &'static Type,
    field: &'static FieldDesc,
) -> std::result::Result<(), String> {
    let mut decoder = Decoder::new(json, false);
    let done = decoder.value(into, ty, field, 0);
    match decoder.fatal.or(decoder.saved) {
        Some(message) => Err(message),
        None if done.is_err() => Err("unexpected end of JSON input".into()),
        None => Ok(()),
    }
}

/// The `apiVersion` and `kind` of a JSON document, empty where it has none: what is read first to know its type.
///
/// # Errors
/// Go's syntax errors, and its type errors for the two fields.
pub fn type_meta(json: &[u8]) -> std::result::Result<[Str; 2], DecodeError> {
    let text = String::from_utf8_lossy(json);
    let mut lexer = Lexer::new(&text);
    let mut said = [Str::new(), Str::new()];
    let mut wrong = None;
    if lexer.peek() != b'{' {
        let c = lexer.peek();
        lexer.skip()?;
        lexer.end()?;
        return if c == b'n' { Ok(said) } else { Err(DecodeError { message: no_object(c), syntax: true }) };
    }
    if lexer.open(b'}') {
        loop {
            let key = lexer.key()?;
            let into = match &*key {
                "apiVersion" => said.first_mut(),
                "kind" => said.last_mut(),
                _ => None,
            };
            let c = lexer.peek();
            match into {
                Some(into) if c == b'"' => *into = Str::from(&*lexer.string()?),
                Some(_) if c != b'n' => {
                    let found = described(c);
                    wrong.get_or_insert(format!(
                        "json: cannot unmarshal {found} into Go struct field .{key} of type string"
                    ));
                    lexer.skip()?;
                }
                _ => {
                    lexer.skip()?;
                }
            }
            if !lexer.more(b'}')? {
                break;
            }
        }
    }
    lexer.end()?;
    match wrong {
        Some(message) => Err(DecodeError { message, syntax: true }),
        None => Ok(said),
    }
}

/// Kubernetes looks for apiVersion and kind first, into a struct without a name.
fn no_object(c: u8) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        described(c)
    )
}

/// At most so many strict errors are kept, as in sigs.k8s.io/json.
const MAX_STRICT_ERRORS: usize = 100;

enum Step<'a> {
    Field(&'static FieldDesc),
    Index(usize),
    Key(std::borrow::Cow<'a, str>),
}

/// Decoding ended early; the reason is in the decoder.
struct Stop;
type Go<T> = Result<T, Stop>;

struct Decoder<'a> {
    lexer: Lexer<'a>,
    strict: bool,
    path: Vec<Step<'a>>,
    /// The Go type whose field is being read.
    owner: &'static str,
    /// The first type error.
    saved: Option<String>,
    /// What ended decoding.
    fatal: Option<String>,
    /// The document is no object.
    no_object: bool,
    errors: Vec<StrictError>,
}

macro_rules! lex {
    ($d:ident, $e:expr) => {
        match $e {
            Ok(v) => v,
            Err(e) => return Err($d.syntax(e)),
        }
    };
}

impl<'a> Decoder<'a> {
    fn new(text: &'a str, strict: bool) -> Self {
        Decoder {
            lexer: Lexer::new(text),
            strict,
            path: Vec::new(),
            owner: "",
            saved: None,
            fatal: None,
            no_object: false,
            errors: Vec::new(),
        }
    }
    #[cold]
    fn syntax(&mut self, e: SyntaxError) -> Stop {
        self.fatal = Some(e.message);
        Stop
    }
    #[cold]
    fn stop(&mut self, message: String) -> Stop {
        self.fatal = Some(message);
        Stop
    }

    fn top(&mut self, o: &mut dyn Object) -> Go<()> {
        match self.lexer.peek() {
            b'{' => self.object(o),
            b'n' => {
                lex!(self, self.lexer.literal("null"));
                Ok(())
            }
            c => {
                lex!(self, self.lexer.skip());
                self.no_object = true;
                Err(self.stop(no_object(c)))
            }
        }
    }

    /// Reads a value of type `ty`; `f` is the field that holds it, `depth` lists and maps down.
    fn value(&mut self, m: Mut<'_>, ty: &'static Type, f: &'static FieldDesc, depth: usize) -> Go<()> {
        let c = self.lexer.peek();
        if c == b'n' {
            lex!(self, self.lexer.literal("null"));
            m.set_null();
            return Ok(());
        }
        let number = c == b'-' || c.is_ascii_digit();
        match m {
            Mut::Str(s) if c == b'"' => *s = Str::from(&*lex!(self, self.lexer.string())),
            Mut::OStr(s) if c == b'"' => *s = OStr::some(&*lex!(self, self.lexer.string())),
            Mut::Bool(b) if c == b't' || c == b'f' => *b = self.boolean(c)?,
            Mut::OBool(b) if c == b't' || c == b'f' => *b = Some(self.boolean(c)?),
            Mut::I32(v) if number => match self.int::<i32>()? {
                Ok(i) => *v = i,
                Err(text) => self.mismatch_number(text, "int32", Some(f), depth),
            },
            Mut::OI32(v) if number => match self.int::<i32>()? {
                Ok(i) => *v = Some(i),
                Err(text) => self.mismatch_number(text, "int32", Some(f), depth),
            },
            Mut::I64(v) if number => match self.int::<i64>()? {
                Ok(i) => *v = i,
                Err(text) => self.mismatch_number(text, "int64", Some(f), depth),
            },
            Mut::OI64(v) if number => match self.int::<i64>()? {
                Ok(i) => *v = Some(i),
                Err(text) => self.mismatch_number(text, "int64", Some(f), depth),
            },
            Mut::OF64(v) if number => *v = lex!(self, self.lexer.number()).parse().ok(),
            Mut::Time(t) => {
                let text = self.time_text(c)?;
                match time::parse_rfc3339(&text) {
                    Ok((s, _)) => *t = Time::from_unix(s),
                    Err(e) => return Err(self.stop(e)),
                }
            }
            Mut::MicroTime(t) => {
                let text = self.time_text(c)?;
                match time::parse_rfc3339_micro(&text) {
                    Ok((s, n)) => {
                        *t = MicroTime::from_unix_micros(s.saturating_mul(1_000_000).saturating_add(n / 1000))
                    }
                    Err(e) => return Err(self.stop(e)),
                }
            }
            Mut::Quantity(q) => *q = self.quantity(c)?,
            Mut::OQuantity(q) => *q = Some(self.quantity(c)?),
            Mut::IntOrString(v) => *v = self.int_or_string(c)?,
            Mut::OIntOrString(v) => *v = Some(self.int_or_string(c)?),
            Mut::Bytes(b) if c == b'"' => {
                let s = lex!(self, self.lexer.string());
                match unbase64(s.as_bytes()) {
                    Ok(v) => *b = v.into(),
                    Err(at) => self.save(format!("illegal base64 data at input byte {at}")),
                }
            }
            Mut::Bytes(b) if c == b'[' => *b = self.byte_list(f, depth)?,
            Mut::Raw(r) => *r = Raw::from_json(&compact(lex!(self, self.lexer.skip()))),
            Mut::Struct(s) if c == b'{' => self.object(s)?,
            Mut::Ptr(p) if c == b'{' => self.object(p.make())?,
            Mut::List(l) if c == b'[' => {
                l.reset(false);
                if !self.lexer.open(b']') {
                    return Ok(());
                }
                loop {
                    self.path.push(Step::Index(l.len()));
                    self.value(l.push(), ty.element().unwrap_or(ty), f, depth + 1)?;
                    self.path.pop();
                    if !lex!(self, self.lexer.more(b']')) {
                        break;
                    }
                }
                l.fit();
            }
            Mut::Map(map) if c == b'{' => {
                if map.is_nil() {
                    map.reset(false);
                }
                if !self.lexer.open(b'}') {
                    return Ok(());
                }
                loop {
                    let key = lex!(self, self.lexer.key());
                    let k = Str::from(&*key);
                    if map.get(&k).is_some() {
                        map.remove(&k);
                        self.strict_error("duplicate field", &k);
                    }
                    self.path.push(Step::Key(key));
                    let (_, v) = map.make(k);
                    self.value(v, ty.element().unwrap_or(ty), f, depth + 1)?;
                    self.path.pop();
                    if !lex!(self, self.lexer.more(b'}')) {
                        break;
                    }
                }
                map.fit();
            }
            _ => self.mismatch(c, go_type(ty), Some(f), depth)?,
        }
        Ok(())
    }

    fn object(&mut self, o: &mut dyn Object) -> Go<()> {
        let desc = o.desc();
        let before = self.owner;
        if !self.lexer.open(b'}') {
            return Ok(());
        }
        let mut seen = 0u128;
        // Fields mostly come in a known order: try the next one first.
        let mut hint = 0;
        loop {
            let key = lex!(self, self.lexer.key());
            let found = match desc.fields.get(hint) {
                Some(f) if f.name == key => Some(hint),
                _ => desc.find(&key),
            };
            match found.and_then(|i| Some((i, desc.fields.get(i)?, o.get_mut(i)?))) {
                Some((i, f, m)) => {
                    hint = i + 1;
                    let bit = 1u128.checked_shl(i as u32).unwrap_or(0);
                    if seen & bit != 0 {
                        self.strict_error("duplicate field", f.name);
                    }
                    seen |= bit;
                    self.path.push(Step::Field(f));
                    self.owner = desc.go();
                    self.value(m, &f.ty, f, 0)?;
                    self.owner = before;
                    self.path.pop();
                }
                None => {
                    self.strict_error("unknown field", &key);
                    lex!(self, self.lexer.skip());
                }
            }
            if !lex!(self, self.lexer.more(b'}')) {
                return Ok(());
            }
        }
    }

    /// A list of numbers is bytes, too.
    fn byte_list(&mut self, f: &'static FieldDesc, depth: usize) -> Go<Bytes> {
        let mut out: Vec<u8> = Vec::new();
        if !self.lexer.open(b']') {
            return Ok(out.into());
        }
        loop {
            let c = self.lexer.peek();
            let start = self.lexer.pos;
            lex!(self, self.lexer.skip());
            let text = self.lexer.text.get(start..self.lexer.pos).unwrap_or("");
            out.push(match text.parse() {
                Ok(v) => v,
                Err(_) => {
                    let number = format!("number {text}");
                    let what = match described(c) {
                        "number" => &number,
                        w => w,
                    };
                    if c != b'n' {
                        self.type_error(what, "uint8".to_string(), Some(f), depth + 1);
                    }
                    0
                }
            });
            if !lex!(self, self.lexer.more(b']')) {
                return Ok(out.into());
            }
        }
    }
    fn boolean(&mut self, c: u8) -> Go<bool> {
        lex!(self, self.lexer.literal(if c == b't' { "true" } else { "false" }));
        Ok(c == b't')
    }
    fn int<T: std::str::FromStr>(&mut self) -> Go<Result<T, &'a str>> {
        let text = lex!(self, self.lexer.number());
        Ok(text.parse().map_err(|_| text))
    }
    /// A custom unmarshaler's own decoding of the value into a Go basic type failed: that ends decoding.
    fn foreign(&mut self, c: u8, go: &str) -> Stop {
        let start = self.lexer.pos;
        if let Err(e) = self.lexer.skip() {
            return self.syntax(e);
        }
        let what = match described(c) {
            "number" if go != "string" => {
                format!("number {}", self.lexer.text.get(start..self.lexer.pos).unwrap_or(""))
            }
            w => w.to_string(),
        };
        let message = self.in_field(&what, go);
        self.stop(message)
    }
    fn time_text(&mut self, c: u8) -> Go<std::borrow::Cow<'a, str>> {
        if c != b'"' {
            return Err(self.foreign(c, "string"));
        }
        Ok(lex!(self, self.lexer.string()))
    }
    fn quantity(&mut self, c: u8) -> Go<Quantity> {
        // Go takes the text between the quotes as it stands, escapes included.
        let raw = lex!(self, self.lexer.skip());
        let text = if c == b'"' { raw.get(1..raw.len() - 1).unwrap_or("") } else { raw };
        Quantity::parse(text.trim()).map_err(|e| self.stop(e.to_string()))
    }
    fn int_or_string(&mut self, c: u8) -> Go<IntOrString> {
        if c == b'"' {
            return Ok(IntOrString::Str(Str::from(&*lex!(self, self.lexer.string()))));
        }
        if c == b'-' || c.is_ascii_digit() {
            let start = self.lexer.pos;
            if let Ok(v) = self.int::<i32>()? {
                return Ok(IntOrString::Int(v));
            }
            self.lexer.pos = start;
        }
        Err(self.foreign(c, "int32"))
    }

    fn save(&mut self, message: String) {
        self.saved.get_or_insert(message);
    }
    #[cold]
    fn mismatch(&mut self, c: u8, go: String, f: Option<&'static FieldDesc>, depth: usize) -> Go<()> {
        lex!(self, self.lexer.skip());
        self.type_error(described(c), go, f, depth);
        Ok(())
    }
    #[cold]
    fn mismatch_number(&mut self, text: &str, go: &str, f: Option<&'static FieldDesc>, depth: usize) {
        self.type_error(&format!("number {text}"), go.to_string(), f, depth);
    }
    /// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`: the path has
    /// the names of inlined structs and no indexes.
    fn type_error(&mut self, what: &str, go: String, f: Option<&'static FieldDesc>, depth: usize) {
        if self.saved.is_some() {
            return;
        }
        let go = match f {
            Some(f) => named_or(go, f, depth),
            None => go,
        };
        let message = self.in_field(what, &go);
        self.save(message);
    }
    fn in_field(&self, what: &str, go: &str) -> String {
        let mut path = Vec::new();
        for step in &self.path {
            if let Step::Field(f) = step {
                path.extend(f.inline());
                path.push(f.name);
            }
        }
        if path.is_empty() {
            return format!("json: cannot unmarshal {what} into Go value of type {go}");
        }
        let owner = self.owner.rsplit('.').next().unwrap_or("");
        format!("json: cannot unmarshal {what} into Go struct field {owner}.{} of type {go}", path.join("."))
    }
    #[cold]
    fn strict_error(&mut self, kind: &str, name: &str) {
        if !self.strict || self.errors.len() >= MAX_STRICT_ERRORS {
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            let dotted = match step {
                Step::Field(f) => f.name,
                Step::Key(k) => k,
                Step::Index(i) => {
                    path.push_str(&format!("[{i}]"));
                    continue;
                }
            };
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(dotted);
        }
        let dot = if path.is_empty() { "" } else { "." };
        let error = StrictError(format!("{kind} \"{path}{dot}{name}\""));
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

/// The Go type of what a field holds, `depth` lists and maps down.
pub(super) fn named_go_type(ty: &'static Type, field: &'static FieldDesc, depth: usize) -> String {
    named_or(go_type(ty), field, depth)
}

fn named_or(go: String, field: &'static FieldDesc, depth: usize) -> String {
    field.go().map_or(go, |named| {
        let mut t = named;
        for _ in 0..depth {
            t = match t.strip_prefix("map") {
                Some(rest) => rest.split_once(']').map_or(rest, |x| x.1),
                None => t.strip_prefix("[]").unwrap_or(t),
            };
        }
        t.to_string()
    })
}

fn described(c: u8) -> &'static str {
    match c {
        b'"' => "string",
        b'{' => "object",
        b'[' => "array",
        b't' | b'f' => "bool",
        _ => "number",
    }
}

/// JSON without white space between tokens.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut quoted = false;
    let mut escaped = false;
    for c in json.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
        } else if !matches!(c, ' ' | '\n' | '\t' | '\r') {
            quoted = c == '"';
            out.push(c);
        }
    }
    out
}

/// The Go type of a field that has no name of its own, as errors name it.
fn go_type(t: &'static Type) -> String {
    match t {
        Type::Time | Type::MicroTime => "string".into(),
        t => type_name(t),
    }
}

fn type_name(t: &'static Type) -> String {
    match t {
        Type::Str | Type::OStr => "string".into(),
        Type::Time => "v1.Time".into(),
        Type::MicroTime => "v1.MicroTime".into(),
        Type::Bool | Type::OBool => "bool".into(),
        Type::I32 | Type::OI32 => "int32".into(),
        Type::I64 | Type::OI64 => "int64".into(),
        Type::OF64 => "float64".into(),
        Type::Bytes => "[]uint8".into(),
        Type::Quantity | Type::OQuantity => "resource.Quantity".into(),
        Type::IntOrString | Type::OIntOrString => "intstr.IntOrString".into(),
        Type::Raw => "runtime.RawExtension".into(),
        Type::Struct(d) | Type::Ptr(d) => d.go().into(),
        Type::List(e) => format!("[]{}", type_name(e)),
        Type::Map(e) => format!("map[string]{}", type_name(e)),
    }
}

#[cfg(test)]
mod tests;
