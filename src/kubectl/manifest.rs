//! Files of objects: documents, and what is checked before a server sees them.

use crate::session::Kubectl;
use crate::value::Value;

/// The documents of a YAML or JSON stream. An error ends it; Null stands for an empty document.
pub fn documents(bytes: &[u8]) -> Vec<Result<Value, String>> {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    api::yaml::documents(&text).map(|d| d.map(|d| Value::from(&d.value)).map_err(|e| e.to_string())).collect()
}

/// One YAML document; the error is the reader's.
pub fn yaml(text: &str) -> Result<Value, String> {
    api::yaml::parse(text).map(|v| Value::from(&v)).map_err(|e| e.to_string())
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
    let mut into = api::core_v1::ConfigMap::default();
    match api::json::from_value(&only.to_api(), &mut into, false) {
        Ok(_) => Ok(()),
        Err(e) => Err(e.to_string()),
    }
}
