//! Files of objects: documents, and what is checked before a server sees them.

use crate::session::Kubectl;
use crate::value::Value;

/// The documents of a YAML or JSON stream. An error ends it; Null stands for an empty document.
pub fn documents(bytes: &[u8]) -> Vec<Result<Value, String>> {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let mut out = Vec::new();
    if text.trim_start().starts_with('{') {
        match Value::parse(text.trim()) {
            Ok(v) => out.push(Ok(v)),
            Err(json) => match yaml(&text) {
                Ok(v) => out.push(Ok(v)),
                Err(_) => out.push(Err(json)),
            },
        }
        return out;
    }
    for document in split(&text) {
        match yaml(document) {
            Ok(v) => out.push(Ok(v)),
            Err(e) => {
                out.push(Err(format!("error converting YAML to JSON: {e}")));
                break;
            }
        }
    }
    out
}

/// One YAML document; the error is the reader's.
pub fn yaml(text: &str) -> Result<Value, String> {
    api::yaml::parse(text).map(|v| Value::from(&v)).map_err(|e| e.to_string())
}

/// `yaml.YAMLReader`: documents end at lines of `---` with nothing but a comment after it.
fn split(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(rest) = line.strip_prefix("---") {
            let rest = rest.trim();
            if rest.is_empty() || rest.starts_with('#') {
                if at > start {
                    out.push(text.get(start..at).unwrap_or(""));
                }
                start = end;
            }
        }
        at = end;
    }
    if start < text.len() {
        out.push(text.get(start..).unwrap_or(""));
    }
    out
}

/// Client-side validation: the object has a kind, and the server can be asked what it knows.
pub async fn check(k: &Kubectl<'_>, object: &Value) -> Result<(), String> {
    if let Err(e) = k.connect("/openapi/v2?timeout=32s").await {
        return Err(format!("failed to download openapi: {}", e.message()));
    }
    if !matches!(object, Value::Object(_)) {
        return Err("invalid object to validate".into());
    }
    let mut errors = Vec::new();
    for field in ["apiVersion", "kind"] {
        match object.at(field) {
            Value::Null => errors.push(format!("{field} not set")),
            Value::String(s) if s.is_empty() => errors.push(format!("{field} not set")),
            Value::String(_) => {}
            other => errors.push(format!("{field} isn't string type, but {}", other.go_type())),
        }
    }
    match errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// What decoding the object's metadata says; lists are looked at item by item later.
pub fn check_metadata(object: &Value) -> Result<(), String> {
    if object.str("kind").is_empty() {
        return Err(format!("Object 'Kind' is missing in '{}'", object.to_json()));
    }
    if object.str("apiVersion").is_empty() {
        return Err(format!("Object 'apiVersion' is missing in '{}'", object.to_json()));
    }
    let mut only = Value::object();
    only.set("metadata", object.at("metadata").clone());
    let mut into = api::meta_v1::PartialObjectMetadata::default();
    match api::json::from_value(&only.to_api(), &mut into, false) {
        Ok(_) => Ok(()),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split() {
        assert_eq!(split("---\na: 1\n---\nb: 2\n--- # x\nc: 3"), ["a: 1\n", "b: 2\n", "c: 3"]);
        assert_eq!(split("--- x\na: 1\n"), ["--- x\na: 1\n"]);
    }
}
