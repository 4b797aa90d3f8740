//! The encoder.
use super::value::Value;
use crate::SortSmall;
use crate::go;
use crate::internal::Field;
use crate::object::{Object, Ref, Type, TypeDesc};
use crate::value::{IntOrString, List, Map, Str};

/// The order of an object's fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By name, as kubectl prints.
    Sorted,
    /// As Go's structs have them, as the API server answers.
    Go,
    /// As Kubernetes' internal structs have them ([`crate::internal`]).
    Internal,
}

/// Writes JSON.
pub struct Encoder {
    out: String,
    order: Order,
    indent: usize,
    level: usize,
    /// Whether `<`, `>` and `&` are escaped, as Go does unless told not to.
    pub escape_html: bool,
    /// Printed as metadata.resourceVersion where the object has none.
    revision: Option<u64>,
}

/// Compact JSON with sorted keys; `apiVersion` and `kind` of a kind are filled in.
pub fn encode(o: &dyn Object) -> Vec<u8> {
    let mut e = Encoder::new(Order::Sorted, 0);
    e.top(o, None);
    e.finish().into_bytes()
}
/// As [`encode`], with the resourceVersion.
pub fn encode_rev(o: &dyn Object, revision: u64) -> Vec<u8> {
    let mut e = Encoder::new(Order::Sorted, 0);
    e.top(o, Some(revision));
    e.finish().into_bytes()
}
/// Compact JSON with sorted keys of any struct, nothing filled in.
pub fn encode_bare(o: &dyn Object) -> Vec<u8> {
    let mut e = Encoder::new(Order::Sorted, 0);
    e.object(o);
    e.finish().into_bytes()
}
/// Indented JSON with sorted keys, as `kubectl get -o json` prints it.
pub fn encode_pretty(o: &dyn Object, revision: Option<u64>) -> String {
    let mut e = Encoder::new(Order::Sorted, 4);
    e.top(o, revision);
    e.finish()
}
/// The object as a dynamic value; `apiVersion`, `kind` and, if given, the resourceVersion are filled in.
pub fn to_value(o: &dyn Object, revision: Option<u64>) -> Value {
    let mut v = to_value_bare(o);
    let Value::Object(m) = &mut v else { return v };
    if let Some(k) = o.kind_info() {
        for (name, text) in [("apiVersion", k.api_version), ("kind", k.kind)] {
            m.entry(name, || Value::from(text));
        }
    }
    if let Some(r) = revision
        && let Some(Value::Object(meta)) = m.get_mut("metadata")
    {
        meta.entry("resourceVersion", || Value::from(r.to_string()));
    }
    v
}
/// Any struct as a dynamic value.
pub fn to_value_bare(o: &dyn Object) -> Value {
    let mut entries = Vec::new();
    for (i, f) in o.desc().fields.iter().enumerate() {
        let r = o.get(i);
        if !(f.is(crate::object::OMIT) && r.is_empty()) {
            entries.push((Str::from(f.name), reference_to_value(r)));
        }
    }
    Value::Object(Map::from_sorted(entries))
}

/// Any field's value as a dynamic value.
pub fn reference_to_value(r: Ref<'_>) -> Value {
    let int_or_string = |v: &IntOrString| match v {
        IntOrString::Int(i) => Value::from(*i),
        IntOrString::Str(s) => s.into(),
    };
    match r {
        Ref::Str(s) => s.into(),
        Ref::OStr(s) => s.get_str().map_or(Value::Null, Value::from),
        Ref::Bool(b) => (*b).into(),
        Ref::OBool(b) => b.map_or(Value::Null, Value::from),
        Ref::I32(v) => (*v).into(),
        Ref::OI32(v) => v.map_or(Value::Null, Value::from),
        Ref::I64(v) => (*v).into(),
        Ref::OI64(v) => v.map_or(Value::Null, Value::from),
        Ref::OF64(v) => v.map_or(Value::Null, |v| super::value::number(&go::float(v)).unwrap_or_default()),
        Ref::Time(t) if t.is_zero() => Value::Null,
        Ref::Time(t) => t.to_string().into(),
        Ref::MicroTime(t) if t.is_zero() => Value::Null,
        Ref::MicroTime(t) => t.to_string().into(),
        Ref::Quantity(q) => q.to_string().into(),
        Ref::OQuantity(q) => q.as_ref().map_or(Value::Null, |q| q.to_string().into()),
        Ref::IntOrString(v) => int_or_string(v),
        Ref::OIntOrString(v) => v.as_ref().map_or(Value::Null, int_or_string),
        Ref::Bytes(b) if b.is_nil() => Value::Null,
        Ref::Bytes(b) => b.to_base64().into(),
        Ref::Raw(r) => r.json().and_then(|j| Value::parse(j).ok()).unwrap_or_default(),
        Ref::Struct(s) => to_value_bare(s),
        Ref::Ptr(p) => p.get().map_or(Value::Null, to_value_bare),
        Ref::List(l) if l.is_nil() => Value::Null,
        Ref::List(l) => Value::Array((0..l.len()).map(|i| reference_to_value(l.item(i))).collect::<List<Value>>()),
        Ref::Map(m) if m.is_nil() => Value::Null,
        Ref::Map(m) => Value::Object(Map::from_sorted(
            (0..m.len()).filter_map(|i| m.entry(i)).map(|(k, v)| (k.clone(), reference_to_value(v))).collect(),
        )),
        Ref::Nil => Value::Null,
    }
}

/// A patched object as the API server shows it: what the patch went through is a map in Go by then and prints its
/// keys sorted, the rest still has the fields of its structs in Go's order. `touched` is the tree of the former's keys.
pub fn patched_to_json(v: &Value, desc: &'static TypeDesc, touched: &Value) -> String {
    let mut out = String::new();
    patched(&mut out, v, Some(Shape::Struct(desc)), Some(touched));
    out
}

/// What a value is known to be.
#[derive(Clone, Copy)]
enum Shape {
    Struct(&'static TypeDesc),
    Type(&'static Type),
}
impl Shape {
    fn of(ty: &'static Type) -> Shape {
        ty.desc().filter(|_| matches!(ty, Type::Struct(_) | Type::Ptr(_))).map_or(Shape::Type(ty), Shape::Struct)
    }
    fn child(self, key: &str) -> Option<Shape> {
        match self {
            Shape::Struct(desc) => desc.field(key).map(|field| Shape::of(&field.ty)),
            Shape::Type(ty) => ty.element().map(Shape::of),
        }
    }
}

fn patched(out: &mut String, v: &Value, shape: Option<Shape>, touched: Option<&Value>) {
    match v {
        Value::Object(map) => {
            let mut entries: Vec<(&Str, &Value)> = map.iter().map(|(k, v)| (k, v)).collect();
            if let (None | Some(Value::Null), Some(Shape::Struct(desc))) = (touched, shape) {
                let place = |key: &str| {
                    let number = desc.fields.iter().position(|field| field.name == key);
                    desc.order.iter().position(|i| Some(usize::from(*i)) == number).unwrap_or(usize::MAX)
                };
                entries.sort_small_by(|a, b| place(a.0).cmp(&place(b.0)));
            }
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(out, key, true);
                out.push(':');
                patched(out, value, shape.and_then(|s| s.child(key)), touched.and_then(|t| t.get(key)));
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                let inside = touched.and_then(|t| t.get(&at.to_string()));
                patched(out, item, shape.and_then(|s| s.child("")), inside);
            }
            out.push(']');
        }
        v => out.push_str(&v.to_json()),
    }
}

impl Encoder {
    /// `indent` spaces a level; 0 writes compact JSON.
    pub fn new(order: Order, indent: usize) -> Self {
        Encoder { out: String::with_capacity(1024), order, indent, level: 0, escape_html: true, revision: None }
    }
    /// What was written.
    pub fn finish(self) -> String {
        self.out
    }
    fn line(&mut self) {
        if self.indent > 0 {
            self.out.push('\n');
            for _ in 0..self.indent * self.level {
                self.out.push(' ');
            }
        }
    }
    fn open(&mut self, c: char) {
        self.out.push(c);
        self.level += 1;
    }
    fn close(&mut self, c: char, any: bool) {
        self.level -= 1;
        if any {
            self.line();
        }
        self.out.push(c);
    }
    fn separate(&mut self, any: &mut bool) {
        if *any {
            self.out.push(',');
        }
        *any = true;
        self.line();
    }
    fn colon(&mut self) {
        self.out.push_str(if self.indent > 0 { ": " } else { ":" });
    }
    fn name(&mut self, any: &mut bool, name: &str) {
        self.separate(any);
        self.out.push('"');
        self.out.push_str(name);
        self.out.push('"');
        self.colon();
    }
    fn null(&mut self) {
        self.out.push_str("null");
    }
    fn text(&mut self, s: &str) {
        write_string(&mut self.out, s, self.escape_html);
    }
    fn quoted(&mut self, s: &dyn std::fmt::Display) {
        use std::fmt::Write;
        let _ = write!(self.out, "\"{s}\"");
    }
    fn int(&mut self, v: i64) {
        let mut digits = [0u8; 20];
        let mut p = digits.len();
        let mut u = v.unsigned_abs();
        loop {
            p -= 1;
            digits[p] = b'0' + (u % 10) as u8;
            u /= 10;
            if u == 0 {
                break;
            }
        }
        if v < 0 {
            self.out.push('-');
        }
        self.out.push_str(std::str::from_utf8(&digits[p..]).unwrap_or(""));
    }

    /// An object of a kind: fills in what its type and revision say.
    pub fn top(&mut self, o: &dyn Object, revision: Option<u64>) {
        self.whole(o, revision, true);
    }
    /// An object of a list, whose type the list tells.
    pub fn item(&mut self, o: &dyn Object, revision: u64) {
        self.whole(o, Some(revision), false);
    }
    fn whole(&mut self, o: &dyn Object, revision: Option<u64>, typed: bool) {
        let mut any = false;
        self.open('{');
        let desc = o.desc();
        let n = desc.fields.len();
        for k in 0..n {
            let i = match self.order {
                Order::Sorted => k,
                Order::Go | Order::Internal => desc.order.get(k).map_or(k, |i| usize::from(*i)),
            };
            let Some(f) = desc.fields.get(i) else { continue };
            let r = o.get(i);
            match (desc.kind, f.name, r) {
                (Some(_), "apiVersion" | "kind", Ref::Str(_)) if !typed => {}
                (Some(info), "apiVersion" | "kind", Ref::Str(s)) if s.is_empty() => {
                    self.name(&mut any, f.name);
                    self.text(if f.name == "kind" { info.kind } else { info.api_version });
                }
                (_, "metadata", Ref::Struct(m)) => {
                    self.name(&mut any, f.name);
                    self.revision = revision;
                    self.object(m);
                    self.revision = None;
                }
                _ => self.field(&mut any, f, r),
            }
        }
        self.close('}', any);
    }
    fn field(&mut self, any: &mut bool, f: &crate::object::FieldDesc, r: Ref<'_>) {
        if f.is(crate::object::OMIT) && r.is_empty() {
            if let Some(revision) = self.revision
                && f.name == "resourceVersion"
            {
                self.name(any, f.name);
                self.quoted(&revision);
            }
            return;
        }
        self.name(any, f.name);
        self.value(r);
    }
    /// Any struct.
    pub fn object(&mut self, o: &dyn Object) {
        let mut any = false;
        self.open('{');
        self.fields(&mut any, o);
        self.close('}', any);
    }
    fn fields(&mut self, any: &mut bool, o: &dyn Object) {
        if self.order == Order::Internal
            && let Some(fields) = crate::internal::fields(o)
        {
            for field in fields {
                match field {
                    Field::Embedded(o) => self.fields(any, o),
                    Field::Named(name, value) => {
                        self.name(any, name);
                        self.value(value.unwrap_or(Ref::Nil));
                    }
                }
            }
            return;
        }
        let desc = o.desc();
        match self.order {
            Order::Sorted => {
                for (i, f) in desc.fields.iter().enumerate() {
                    self.field(any, f, o.get(i));
                }
            }
            Order::Go | Order::Internal => {
                for i in desc.order {
                    let i = usize::from(*i);
                    if let Some(f) = desc.fields.get(i) {
                        self.field(any, f, o.get(i));
                    }
                }
            }
        }
    }
    /// Any value.
    pub fn value(&mut self, r: Ref<'_>) {
        match r {
            Ref::Str(s) => self.text(s),
            Ref::OStr(s) => match s.get() {
                Some(s) => self.text(s),
                None => self.null(),
            },
            Ref::Bool(b) => self.out.push_str(if *b { "true" } else { "false" }),
            Ref::OBool(Some(b)) => self.out.push_str(if *b { "true" } else { "false" }),
            Ref::I32(v) => self.int(i64::from(*v)),
            Ref::OI32(Some(v)) => self.int(i64::from(*v)),
            Ref::I64(v) | Ref::OI64(Some(v)) => self.int(*v),
            Ref::OF64(Some(v)) => self.out.push_str(&go::float(*v)),
            Ref::Time(t) if !t.is_zero() => self.quoted(t),
            Ref::MicroTime(t) if !t.is_zero() => self.quoted(t),
            Ref::Quantity(q) | Ref::OQuantity(Some(q)) => self.quoted(q),
            Ref::IntOrString(v) | Ref::OIntOrString(Some(v)) => match v {
                IntOrString::Int(v) => self.int(i64::from(*v)),
                IntOrString::Str(s) => self.text(s),
            },
            Ref::Bytes(b) if !b.is_nil() => self.quoted(&b.to_base64()),
            Ref::Raw(r) => match r.json() {
                Some(j) if self.indent == 0 && self.order == Order::Go => self.out.push_str(j),
                Some(j) => self.dynamic(&Value::parse(j).unwrap_or_default()),
                None => self.null(),
            },
            Ref::Struct(s) => self.object(s),
            Ref::Ptr(p) => match p.get() {
                Some(s) => self.object(s),
                None => self.null(),
            },
            Ref::List(l) if !l.is_nil() => {
                let mut any = false;
                self.open('[');
                for i in 0..l.len() {
                    self.separate(&mut any);
                    self.value(l.item(i));
                }
                self.close(']', any);
            }
            Ref::Map(m) if !m.is_nil() => {
                let mut any = false;
                self.open('{');
                for (k, v) in (0..m.len()).filter_map(|i| m.entry(i)) {
                    self.separate(&mut any);
                    self.text(k);
                    self.colon();
                    self.value(v);
                }
                self.close('}', any);
            }
            _ => self.null(),
        }
    }
    /// A dynamic value.
    pub fn dynamic(&mut self, v: &Value) {
        match v {
            Value::Null => self.null(),
            Value::Bool(b) => self.out.push_str(if *b { "true" } else { "false" }),
            Value::Int(v) => self.int(*v),
            Value::Float(v) => self.out.push_str(&go::float(*v)),
            Value::Str(s) => self.text(s),
            Value::Array(a) => {
                let mut any = false;
                self.open('[');
                for v in a {
                    self.separate(&mut any);
                    self.dynamic(v);
                }
                self.close(']', any);
            }
            Value::Object(m) => {
                let mut any = false;
                self.open('{');
                for (k, v) in m {
                    self.separate(&mut any);
                    self.text(k);
                    self.colon();
                    self.dynamic(v);
                }
                self.close('}', any);
            }
        }
    }
}

/// A JSON string as Go writes it.
pub fn write_string(out: &mut String, s: &str, escape_html: bool) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let hex = |v: u8| char::from(HEX[usize::from(v & 15)]);
    out.push('"');
    let bytes = s.as_bytes();
    let mut start = 0;
    for (i, &c) in bytes.iter().enumerate() {
        let plain = match c {
            b'"' | b'\\' => false,
            b'<' | b'>' | b'&' => !escape_html,
            // U+2028 and U+2029 are e2 80 a8 and e2 80 a9.
            0xe2 => !matches!(bytes.get(i + 1..i + 3), Some([0x80, 0xa8 | 0xa9])),
            c => c >= 0x20,
        };
        if plain {
            continue;
        }
        out.push_str(s.get(start..i).unwrap_or(""));
        start = i + 1;
        match c {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(c));
            }
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            0xe2 => {
                out.push_str("\\u202");
                out.push(hex(bytes.get(i + 2).copied().unwrap_or(0)));
                start = i + 3;
            }
            c => {
                out.push_str("\\u00");
                out.push(hex(c >> 4));
                out.push(hex(c));
            }
        }
    }
    out.push_str(s.get(start..).unwrap_or(""));
    out.push('"');
}
