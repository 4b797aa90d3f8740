//! Files of objects: documents, and what is checked before a server sees them.

use crate::session::Kubectl;
use crate::value::Value;

/// Why a document is no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It can't be read; the stream ends with it.
    Syntax(String),
    /// It holds a number that no float holds; it fails when it is looked into.
    Number(String),
}
impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Trouble::Syntax(text) | Trouble::Number(text)) = self;
        f.write_str(text)
    }
}

/// The documents of a YAML or JSON stream; Null stands for an empty one.
pub fn documents(bytes: &[u8]) -> Vec<Result<Value, Trouble>> {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let documents = api::yaml::documents(&text).map(|document| match document {
        Ok(api::yaml::Document { overflow: Some(text), .. }) => Err(Trouble::Number(text)),
        Ok(document) => Ok(Value::from(&document.value)),
        Err(e) => Err(Trouble::Syntax(e.to_string())),
    });
    documents.collect()
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
    let errors: Vec<String> = match object.at("items") {
        Value::Array(items) if is_list(object) => {
            // A list is no kind of the server's, which can't be asked to look at its items.
            let wrong = |item: &Value| match untyped(item) {
                none if none.is_empty() => crate::schema::validate(item),
                untyped => untyped,
            };
            items.iter().flat_map(wrong).collect()
        }
        _ if is_list(object) => vec![INVALID.to_string()],
        _ => untyped(object),
    };
    if errors.is_empty() { Ok(()) } else { Err(api::field::aggregate(errors)) }
}

const INVALID: &str = "invalid object to validate";

/// `kind: List` of `v1`: no kind of the server, so that its items are looked at here.
fn is_list(object: &Value) -> bool {
    object.str("apiVersion") == "v1" && object.str("kind") == "List"
}

/// Why an object has no type (`getObjectKind`).
fn untyped(object: &Value) -> Vec<String> {
    if !matches!(object, Value::Object(_)) {
        return vec![INVALID.into()];
    }
    let mut errors = Vec::new();
    for field in ["apiVersion", "kind"] {
        match object.at(field) {
            Value::Null => errors.push(format!("{field} not set")),
            Value::String(s) if field == "apiVersion" && s.matches('/').count() > 1 => {
                errors.push(format!("unexpected GroupVersion string: {s}"));
            }
            Value::String(s) if s.is_empty() => errors.push(format!("{field} not set")),
            Value::String(_) => {}
            _ => errors.push(format!("{field} isn't string type")),
        }
    }
    errors
}

/// What decoding the object's metadata says; lists are looked at item by item later.
pub fn check_metadata(object: &Value) -> Result<(), String> {
    if object.str("kind").is_empty() {
        return Err(format!("Object 'Kind' is missing in '{}'", object.to_json()));
    }
    let mut only = Value::object();
    only.set("metadata", object.at("metadata").clone());
    let mut into = api::core_v1::ConfigMap::default();
    match api::json::from_value(&only.to_api(), &mut into, false) {
        Ok(_) => Ok(()),
        // The type that only looks at metadata has a name of its own.
        Err(e) => Err(e.to_string().replace("Go struct field ConfigMap.", "Go struct field metadataOnlyObject.")),
    }
}
