//! Whether an applied document is of its type, in structured-merge-diff's words.
use super::set::Element;
use super::shape::{Kind, Relation, Scalar, Shape, Told};
use super::walk::View;
use crate::go;
use crate::json::Value;

/// The errors, joined as Go joins them; None if there is none.
pub(super) fn validate(v: &Value, shape: Shape) -> Option<String> {
    let mut errors = Vec::new();
    check(v, shape, "", &mut errors);
    match errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n{}", many.iter().map(|e| format!("  {e}")).collect::<Vec<_>>().join("\n"))),
    }
}

fn check(v: &Value, shape: Shape, path: &str, errors: &mut Vec<String>) {
    let mut fail = |path: &str, message: String| {
        errors.push(if path.is_empty() { message } else { format!("{path}: {message}") });
    };
    if v.is_null() {
        return;
    }
    match (shape.kind_for(Told::of(v)), v) {
        (Kind::Scalar(s), v) => {
            let ok = match (s, v) {
                (Scalar::String, Value::Str(_)) | (Scalar::Bool, Value::Bool(_)) => true,
                (Scalar::Number, Value::Int(_) | Value::Float(_)) => true,
                (Scalar::Any, v) => Told::of(v) == Told::Other,
                _ => false,
            };
            if !ok {
                fail(
                    path,
                    match s {
                        Scalar::String => {
                            format!("expected string, got &value.valueUnstructured{{Value:{}}}", shown(v))
                        }
                        Scalar::Number => format!("expected numeric (int or float), got {}", go_type(v)),
                        Scalar::Bool => format!("expected boolean, got &{{{}}}", go::plain(v)),
                        Scalar::Any => format!("expected any scalar, got &{{{}}}", go::plain(v)),
                    },
                );
            }
        }
        (Kind::Struct(d, _), Value::Object(m)) => {
            for (k, below) in m {
                match d.field(k) {
                    Some(f) => check(below, Shape::field(f), &format!("{path}.{k}"), errors),
                    None => {
                        errors.push(format!("{path}.{k}: field not declared in schema"));
                        return;
                    }
                }
            }
        }
        (Kind::Map(item, _), Value::Object(m)) => {
            for (k, below) in m {
                check(below, item, &format!("{path}.{k}"), errors);
            }
        }
        (Kind::List(relation, item), Value::Array(a)) => {
            let mut seen: Vec<Element> = Vec::new();
            for (i, below) in a.iter().enumerate() {
                let e = match relation {
                    Relation::Atomic => Element::Index(i as i64),
                    _ => match View::Json(below.clone()).element(relation, item) {
                        Ok(e) => e,
                        Err(e) => {
                            errors.push(format!("{path}: element {i}: {e}"));
                            return;
                        }
                    },
                };
                if seen.contains(&e) {
                    errors.push(format!("{path}: duplicate entries for key {e}"));
                }
                check(below, item, &format!("{path}{e}"), errors);
                seen.push(e);
            }
        }
        (Kind::Struct(..) | Kind::Map(..), v) => fail(path, format!("expected map, got &{{{}}}", go::plain(v))),
        (Kind::List(..), v) => fail(path, format!("expected list, got &{{{}}}", go::plain(v))),
        (Kind::Deduced, _) => {}
    }
}

/// `%#v`
fn shown(v: &Value) -> String {
    match v {
        Value::Str(s) => go::quote(s),
        Value::Null => "interface {}(nil)".to_string(),
        Value::Array(a) => format!("[]interface {{}}{{{}}}", a.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Object(m) => {
            let parts: Vec<String> = m.iter().map(|(k, v)| format!("{}:{}", go::quote(k), shown(v))).collect();
            format!("map[string]interface {{}}{{{}}}", parts.join(", "))
        }
        v => v.to_json(),
    }
}

fn go_type(v: &Value) -> &'static str {
    match v {
        Value::Str(_) => "string",
        Value::Bool(_) => "bool",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        _ => "<nil>",
    }
}
