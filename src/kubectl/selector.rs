//! Label selectors as kubectl reads them for objects of files.

use crate::error::Error;
use crate::value::{Value, object};

/// A parsed selector.
pub struct Selector(api::selector::LabelSelector);

/// Parses a selector; the error is apimachinery's.
pub fn parse(text: &str) -> Result<Selector, String> {
    api::selector::LabelSelector::parse(text).map(Selector).map_err(|e| e.to_string())
}

fn no_operator(operator: &str) -> Error {
    Error::text(format!("\"{operator}\" is not a valid label selector operator"))
}

/// A selector as an object's field (`ParseToLabelSelector`).
pub fn to_object(text: &str) -> Result<Value, Error> {
    use api::selector::Operator;
    let selector = api::selector::LabelSelector::parse(text)
        .map_err(|e| Error::text(format!("couldn't parse the selector string \"{text}\": {e}")))?;
    let mut out = Value::object();
    let mut expressions = Vec::new();
    for r in selector.requirements() {
        let operator = match r.operator {
            Operator::Equals | Operator::DoubleEquals => {
                out.set_key("matchLabels", &r.key, r.values.first().map_or("", |v| v));
                continue;
            }
            Operator::In => "In",
            Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::NotEquals => return Err(no_operator("!=")),
            Operator::GreaterThan => return Err(no_operator("gt")),
            Operator::LessThan => return Err(no_operator("lt")),
        };
        let mut e = object([("key", r.key.as_str().into()), ("operator", operator.into())]);
        if !r.values.is_empty() {
            e.set("values", r.values.iter().map(|v| v.as_str().into()).collect::<Vec<Value>>());
        }
        expressions.push(e);
    }
    if !expressions.is_empty() {
        out.set("matchExpressions", expressions);
    }
    Ok(out)
}

impl Selector {
    /// Whether labels match.
    pub fn matches(&self, labels: &Value) -> bool {
        let map: api::Map<api::Str> =
            labels.map_entries().filter_map(|(k, v)| Some((api::Str::from(k), api::Str::from(v.as_str()?)))).collect();
        self.0.matches(&map)
    }
}
