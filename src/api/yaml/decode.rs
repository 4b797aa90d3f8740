//! Nodes to values: go-yaml's decoding into `interface{}` and sigs.k8s.io/yaml's conversion to JSON.
use super::Error;
use super::read::{Node, NodeKind, error};
use super::scalar::{Scalar, resolve};
use crate::SortSmall;
use crate::go;
use crate::json::Value;
use crate::value::Str;

/// A decoded value before it becomes JSON: keys of any kind.
enum Yaml {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Str(String),
    List(Vec<Yaml>),
    Map(Vec<(Yaml, Yaml)>),
}

pub(super) fn decode(node: Option<&Node>, strict: bool) -> Result<Value, Error> {
    let Some(node) = node else { return Ok(Value::Null) };
    let mut d = Decoder { strict, errors: Vec::new(), decoded: 0, aliased: 0, alias_depth: 0 };
    let v = d.node(node)?;
    if !d.errors.is_empty() {
        return Err(error(format!("unmarshal errors:\n  {}", d.errors.join("\n  ")), node.start));
    }
    // What follows is no longer go-yaml's: its errors have no `yaml: `.
    to_json(v).map_err(|message| Error { message, position: node.start })
}

struct Decoder {
    strict: bool,
    errors: Vec<String>,
    decoded: usize,
    aliased: usize,
    alias_depth: usize,
}

type Done<T> = Result<T, Error>;

impl Decoder {
    fn node(&mut self, n: &Node) -> Done<Yaml> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.aliased += 1;
        }
        if self.aliased > 100
            && self.decoded > 1000
            && self.aliased as f64 / self.decoded as f64 > allowed_alias_ratio(self.decoded)
        {
            return Err(error("document contains excessive aliasing", n.start));
        }
        match &n.kind {
            NodeKind::Scalar(text, plain) => scalar(n, text, *plain),
            NodeKind::Sequence(items) => items.iter().map(|i| self.node(i)).collect::<Done<_>>().map(Yaml::List),
            NodeKind::Mapping(entries) => {
                let mut out = Vec::new();
                self.mapping(entries, &mut out)?;
                Ok(Yaml::Map(out))
            }
            NodeKind::Alias(_, to) => {
                self.alias_depth += 1;
                let v = self.node(to);
                self.alias_depth -= 1;
                v
            }
            NodeKind::Recursive(name) => Err(error(format!("anchor '{name}' value contains itself"), n.start)),
        }
    }

    fn mapping(&mut self, entries: &[(std::rc::Rc<Node>, std::rc::Rc<Node>)], out: &mut Vec<(Yaml, Yaml)>) -> Done<()> {
        for (k, v) in entries {
            if let NodeKind::Scalar(text, plain) = &k.kind
                && text == "<<"
                && (*plain || k.tag == "tag:yaml.org,2002:merge")
            {
                self.merge(v, out)?;
                continue;
            }
            let key = self.node(k)?;
            if matches!(key, Yaml::List(_) | Yaml::Map(_)) {
                return Err(error(format!("invalid map key: {}", shown(&key)), k.start));
            }
            let value = self.node(v)?;
            match out.iter_mut().find(|(old, _)| same_key(old, &key)) {
                Some(_) if self.strict => {
                    self.errors.push(format!("line {}: key {} already set in map", v.start.line + 1, shown(&key)));
                }
                Some(entry) => entry.1 = value,
                None => out.push((key, value)),
            }
        }
        Ok(())
    }

    fn merge(&mut self, n: &Node, out: &mut Vec<(Yaml, Yaml)>) -> Done<()> {
        let wrong = || Err(error("map merge requires map or sequence of maps as the value", n.start));
        match &n.kind {
            NodeKind::Mapping(_) => self.merge_one(n, out),
            NodeKind::Alias(_, to) if matches!(to.kind, NodeKind::Mapping(_)) => self.merge_one(to, out),
            NodeKind::Sequence(items) => {
                // Earlier ones win.
                for i in items.iter().rev() {
                    match &i.kind {
                        NodeKind::Mapping(_) => self.merge_one(i, out)?,
                        NodeKind::Alias(_, to) if matches!(to.kind, NodeKind::Mapping(_)) => self.merge_one(to, out)?,
                        _ => return wrong(),
                    }
                }
                Ok(())
            }
            NodeKind::Recursive(name) => Err(error(format!("anchor '{name}' value contains itself"), n.start)),
            _ => wrong(),
        }
    }
    fn merge_one(&mut self, n: &Node, out: &mut Vec<(Yaml, Yaml)>) -> Done<()> {
        self.decoded += 1;
        match &n.kind {
            NodeKind::Mapping(entries) => self.mapping(entries, out),
            _ => Ok(()),
        }
    }
}

fn allowed_alias_ratio(decoded: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match decoded {
        d if d <= LOW => 0.99,
        d if d >= HIGH => 0.10,
        d => 0.99 - 0.89 * ((d - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

fn scalar(n: &Node, text: &str, plain: bool) -> Done<Yaml> {
    let short = n.tag.strip_prefix("tag:yaml.org,2002:").map(|t| format!("!!{t}"));
    let tag = short.as_deref().unwrap_or(&n.tag);
    if tag.is_empty() && !plain {
        return Ok(Yaml::Str(text.to_string()));
    }
    let resolved = match tag {
        "!!binary" => {
            return match crate::value::unbase64(text.as_bytes()) {
                Ok(b) => Ok(Yaml::Str(String::from_utf8_lossy(&b).into_owned())),
                Err(_) => Err(error("!!binary value contains invalid base64 data", n.start)),
            };
        }
        "!!str" => Scalar::Str,
        "" | "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp" => resolve(text),
        _ => Scalar::Str,
    };
    let fits = match tag {
        "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp" => {
            resolved.tag() == tag || tag == "!!float" && matches!(resolved, Scalar::Int(_))
        }
        _ => true,
    };
    if !fits {
        return Err(error(format!("cannot decode {} `{text}` as a {tag}", resolved.tag()), n.start));
    }
    Ok(match resolved {
        Scalar::Null => Yaml::Null,
        Scalar::Bool(b) => Yaml::Bool(b),
        Scalar::Int(v) if tag == "!!float" => Yaml::Float(v as f64),
        Scalar::Int(v) => Yaml::Int(v),
        Scalar::Unsigned(v) => Yaml::Unsigned(v),
        Scalar::Float(v) => Yaml::Float(v),
        Scalar::Timestamp | Scalar::Str => Yaml::Str(text.to_string()),
    })
}

fn same_key(a: &Yaml, b: &Yaml) -> bool {
    match (a, b) {
        (Yaml::Null, Yaml::Null) => true,
        (Yaml::Bool(a), Yaml::Bool(b)) => a == b,
        (Yaml::Int(a), Yaml::Int(b)) => a == b,
        (Yaml::Unsigned(a), Yaml::Unsigned(b)) => a == b,
        (Yaml::Float(a), Yaml::Float(b)) => a == b,
        (Yaml::Str(a), Yaml::Str(b)) => a == b,
        _ => false,
    }
}

/// `%#v`
fn shown(v: &Yaml) -> String {
    match v {
        Yaml::Null => "interface {}(nil)".to_string(),
        Yaml::Bool(b) => b.to_string(),
        Yaml::Int(v) => v.to_string(),
        Yaml::Unsigned(v) => format!("{v:#x}"),
        Yaml::Float(v) => go_g(*v),
        Yaml::Str(s) => go::quote(s),
        Yaml::List(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        Yaml::Map(entries) => {
            let mut parts: Vec<String> = entries.iter().map(|(k, v)| format!("{}:{}", shown(k), shown(v))).collect();
            parts.sort_small();
            format!("map[interface {{}}]interface {{}}{{{}}}", parts.join(", "))
        }
    }
}

/// `strconv.FormatFloat(v, 'g', -1, 64)`
pub(super) fn go_g(v: f64) -> String {
    if v.is_nan() {
        return "NaN".to_string();
    }
    if v.is_infinite() {
        return if v > 0.0 { "+Inf".to_string() } else { "-Inf".to_string() };
    }
    let abs = v.abs();
    if abs != 0.0 && !(1e-4..1e21).contains(&abs) {
        let s = format!("{v:e}");
        return match s.split_once('e') {
            Some((m, e)) => {
                let (sign, digits) = match e.strip_prefix('-') {
                    Some(d) => ('-', d),
                    None => ('+', e),
                };
                format!("{m}e{sign}{digits:0>2}")
            }
            None => s,
        };
    }
    format!("{v}")
}

fn to_json(v: Yaml) -> Result<Value, String> {
    Ok(match v {
        Yaml::Null => Value::Null,
        Yaml::Bool(b) => b.into(),
        Yaml::Int(v) => v.into(),
        Yaml::Unsigned(v) => Value::Float(v as f64),
        Yaml::Float(v) if !v.is_finite() => return Err(format!("json: unsupported value: {}", go_g(v))),
        // JSON has no difference between 1 and 1.0.
        Yaml::Float(v) => Value::parse(&go::float(v)).unwrap_or_default(),
        Yaml::Str(s) => s.into(),
        Yaml::List(items) => items.into_iter().map(to_json).collect::<Result<Vec<_>, _>>()?.into(),
        Yaml::Map(entries) => {
            let mut out = Vec::with_capacity(entries.len());
            for (k, v) in entries {
                let key = match k {
                    Yaml::Str(s) => s,
                    Yaml::Int(v) => v.to_string(),
                    Yaml::Bool(b) => b.to_string(),
                    Yaml::Float(v) => float_key(v),
                    other => {
                        let ty = if let Yaml::Null = other { "%!s(<nil>)" } else { "uint64" };
                        let key = if let Yaml::Null = other { "<nil>".to_string() } else { shown(&other) };
                        return Err(format!("unsupported map key of type: {ty}, key: {key}, value: {}", shown(&v)));
                    }
                };
                out.push((Str::from(key), to_json(v)?));
            }
            out.into_iter().collect()
        }
    })
}

/// `strconv.FormatFloat(v, 'g', -1, 32)`
fn float_key(v: f64) -> String {
    match go_g(v).as_str() {
        "+Inf" => ".inf".to_string(),
        "-Inf" => "-.inf".to_string(),
        "NaN" => ".nan".to_string(),
        _ => go_g(format!("{}", v as f32).parse().unwrap_or(v)),
    }
}
