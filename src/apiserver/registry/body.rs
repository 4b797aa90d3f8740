//! Request bodies: objects as they are, or bytes in JSON or YAML, decoded strictly as the request wishes.

use api::rest::{Body, FieldValidation};
use api::{KindInfo, Object, Status};

use super::Call;

/// Bound of a body (`--max-request-body-bytes`).
pub const MAX_BYTES: usize = 3 * 1024 * 1024;

impl Call {
    /// The request's object, of kind `kind`.
    pub fn decode(&self, kind: &'static KindInfo) -> Result<Box<dyn Object>, Status> {
        match &self.request.body {
            Body::Empty => Err(Status::bad_request(format!("Object 'Kind' is missing in '{}'", String::new()))),
            Body::Object(object) => {
                let same = object.kind_info().is_some_and(|found| found == kind);
                if !same {
                    let found = object.kind_info().map_or("", |found| found.api_version);
                    return Err(Status::bad_request(format!(
                        "the API version in the data ({found}) does not match the expected API version ({})",
                        kind.api_version
                    )));
                }
                Ok(object.boxed())
            }
            Body::Bytes(bytes) => self.decode_bytes(bytes, kind),
        }
    }

    /// Decodes bytes as an object of a kind.
    pub fn decode_bytes(&self, bytes: &[u8], kind: &'static KindInfo) -> Result<Box<dyn Object>, Status> {
        if bytes.len() > MAX_BYTES {
            return Err(Status::request_entity_too_large(&format!("limit is {MAX_BYTES}")));
        }
        let bad = |text: &str| {
            Status::bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: {text}",
                kind.kind, kind.version, kind.kind
            ))
        };
        let (value, mut duplicates) = parse(bytes).map_err(|text| bad(&text))?;
        self.check_type(&value, kind, bytes)?;
        let mut object = kind.new_object();
        let strict = self.write.field_validation != FieldValidation::Ignore;
        let errors = api::json::from_value(&value, &mut *object, strict).map_err(|error| bad(&error.message))?;
        object.clear_type_meta();
        if strict {
            duplicates.extend(errors.into_iter().map(|error| error.0));
            self.strict(duplicates, kind)?;
        }
        Ok(object)
    }

    /// What becomes of unknown and duplicate fields.
    pub fn strict(&self, found: Vec<String>, kind: &'static KindInfo) -> Result<(), Status> {
        if found.is_empty() {
            return Ok(());
        }
        match self.write.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => found.into_iter().for_each(|text| self.warn(text)),
            FieldValidation::Strict => {
                return Err(Status::bad_request(format!(
                    "{} in version {:?} cannot be handled as a {}: strict decoding error: {}",
                    kind.kind,
                    kind.version,
                    kind.kind,
                    found.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// `apiVersion` and `kind` must be those of the request's resource.
    fn check_type(&self, value: &api::json::Value, kind: &'static KindInfo, bytes: &[u8]) -> Result<(), Status> {
        let said = |field: &str| value.get(field).and_then(|v| v.as_str()).unwrap_or_default().to_string();
        let (api_version, name) = (said("apiVersion"), said("kind"));
        if !api_version.is_empty() && api_version != kind.api_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({})",
                kind.api_version
            )));
        }
        if !name.is_empty() && name != kind.kind {
            let text = String::from_utf8_lossy(bytes);
            return Err(Status::bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: converting ({name}) to ({}): unknown conversion {text:.0}",
                name, kind.version, kind.kind, kind.kind
            )));
        }
        Ok(())
    }
}

/// Reads JSON, or YAML where it isn't; with the duplicate fields found.
pub fn parse(bytes: &[u8]) -> Result<(api::json::Value, Vec<String>), String> {
    let text = String::from_utf8_lossy(bytes);
    let mut duplicates = Vec::new();
    if !text.trim_start().starts_with(['{', '[']) {
        let value = api::yaml::parse(&text).map_err(|error| error.to_string())?;
        return Ok((value, duplicates));
    }
    let mut note = |path: &str| duplicates.push(format!("duplicate field {path:?}"));
    let value = api::json::Value::parse_with(&text, &mut note).map_err(|error| error.message)?;
    Ok((value, duplicates))
}
