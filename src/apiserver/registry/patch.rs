//! patch: JSON, merge, strategic merge, and server-side apply (endpoints/handlers/patch.go).

use api::field::{self, ErrorList, Path};
use api::json::Value;
use api::rest::{Body, FieldValidation, PatchType};
use api::{AnyRev, KindInfo, Object, Status};

use super::{Call, Face};

/// How often a patch is tried anew on the state that somebody else made.
const TRIES: usize = 5;
/// Bound of a JSON patch.
const MAX_OPERATIONS: usize = 10_000;

impl Call {
    /// Changes the request's object by its patch; whether it was created by that (apply).
    pub async fn patch(&self, patch: PatchType) -> Result<(AnyRev, bool), Status> {
        if patch == PatchType::Apply {
            return Err(Status::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
            ]));
        }
        let (document, duplicates) = self.document(patch)?;
        let versioned = document.at(&["metadata", "resourceVersion"]).is_some();
        let face = self.face();
        let mut make = |old: &AnyRev| -> Result<Box<dyn Object>, Status> {
            let current = super::convert::outgoing(self.kind, old.clone());
            let patched = self.patched(patch, &document, &duplicates, &current, self.kind)?;
            let mut new = super::convert::incoming(patched);
            if face != Face::Status {
                api::defaults::apply(&mut *new);
            }
            Ok(new)
        };
        let mut tries = 0;
        loop {
            match self.update_with(&mut make, true).await {
                // A patch that names a version fails with it; another is tried on the newer state.
                Err(status) if status.is_conflict() && tries < TRIES && !versioned => tries += 1,
                other => return other.map(|object| (object, false)),
            }
        }
    }

    /// The request's patch, and the duplicate fields in it.
    pub(super) fn document(&self, patch: PatchType) -> Result<(Value, Vec<String>), Status> {
        let parsed = match &self.request.body {
            Body::Bytes(bytes) => super::body::parse(bytes),
            Body::Object(object) => Ok((api::json::to_value_bare(&**object), Vec::new())),
            Body::Empty => Err("unexpected end of JSON input".to_string()),
        };
        let strict = self.write.field_validation != FieldValidation::Ignore;
        let decoding = |text: String| match patch {
            PatchType::Strategic => text,
            _ if strict => format!("error decoding patch: {text}"),
            _ => text,
        };
        let (value, duplicates) = parsed.map_err(|text| Status::bad_request(decoding(text)))?;
        let wrong = |go: &str| {
            let text = format!("json: cannot unmarshal {} into Go value of type {go}", value.type_name());
            Status::bad_request(decoding(text))
        };
        match (&value, patch) {
            (Value::Array(operations), PatchType::Json) if operations.len() > MAX_OPERATIONS => {
                Err(Status::request_entity_too_large(&format!(
                    "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                    operations.len()
                )))
            }
            (Value::Array(_), PatchType::Json) => Ok((value, duplicates)),
            (_, PatchType::Json) => Err(wrong("[]handlers.jsonPatchOp")),
            (Value::Object(_), _) => Ok((value, duplicates)),
            (_, _) => Err(wrong("map[string]interface {}")),
        }
    }

    /// An object with a patch applied.
    pub(super) fn patched(
        &self,
        patch: PatchType,
        document: &Value,
        duplicates: &[String],
        current: &AnyRev,
        kind: &'static KindInfo,
    ) -> Result<Box<dyn Object>, Status> {
        let before = api::json::to_value(&*current.body, Some(current.revision));
        let unprocessable = |text: String| Status::generic(422, "", ("", ""), "", &text, 0);
        let after = match patch {
            PatchType::Json => api::patch::json(&before, document).map_err(|error| unprocessable(error.0))?,
            PatchType::Merge => api::patch::merge(&before, document),
            PatchType::Strategic | PatchType::Apply => {
                api::patch::strategic(&before, document, kind.desc).map_err(|error| Status::bad_request(error.0))?
            }
        };
        let mut object = kind.new_object();
        let strict = self.write.field_validation != FieldValidation::Ignore;
        let refused = |text: &str| {
            let shown = match patch {
                PatchType::Strategic => document.to_json(),
                _ => after.to_json(),
            };
            let failures: ErrorList = field::invalid(&Path::new("patch"), shown, text).into();
            Status::invalid(("", ""), "", &failures)
        };
        let found = api::json::from_value(&after, &mut *object, strict).map_err(|error| refused(&error.message))?;
        object.clear_type_meta();
        let found: Vec<String> = duplicates.iter().cloned().chain(found.into_iter().map(|error| error.0)).collect();
        match self.write.field_validation {
            FieldValidation::Strict if !found.is_empty() => {
                return Err(refused(&format!("strict decoding error: {}", found.join(", "))));
            }
            FieldValidation::Warn => found.into_iter().for_each(|text| self.warn(text)),
            _ => {}
        }
        Ok(object)
    }
}
