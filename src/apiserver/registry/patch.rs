//! patch: JSON, merge, strategic merge, and server-side apply (endpoints/handlers/patch.go).

use std::rc::Rc;

use api::field::{self, ErrorList, Path};
use api::json::Value;
use api::rest::{Body, FieldValidation, PatchType, Verb};
use api::{AnyRev, KindInfo, Object, Status};

use super::body::{WrongType, wrong_type};
use super::{Call, Face};

/// How often a patch is tried anew on the state that somebody else made.
const TRIES: usize = 5;
/// Bound of a JSON patch.
const MAX_OPERATIONS: usize = 10_000;

impl Call {
    /// Changes the request's object by its patch; whether it was created by that (apply).
    pub async fn patch(&self, patch: PatchType) -> Result<(AnyRev, bool), Status> {
        if patch == PatchType::Apply {
            return self.apply().await;
        }
        let (document, duplicates) = self.document(patch)?;
        let versioned = document.at(&["metadata", "resourceVersion"]).is_some();
        let face = self.face();
        let mut make = |old: &AnyRev| -> Result<Box<dyn Object>, Status> {
            let on = |state: AnyRev| {
                let current = super::convert::outgoing(self.kind, state);
                self.patched(patch, &document, &duplicates, &current, self.kind)
            };
            // Who wrote what is worked out only where it can be seen: by the patch, or in what a refusal shows.
            let whole = || AnyRev { revision: old.revision, body: Rc::from(self.live(&*old.body)) };
            let patched = match touches_managers(patch, &document) {
                true => on(whole()),
                false => on(old.clone()).or_else(|_| on(whole())),
            }?;
            self.match_name(&*patched)?;
            let mut new = super::convert::incoming(patched);
            self.match_namespace(&mut *new)?;
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

    /// Whether the request is a server-side apply.
    pub(super) fn applies(&self) -> bool {
        self.request.verb == Verb::Patch(PatchType::Apply)
    }

    /// Server-side apply: the configuration's fields become the manager's.
    async fn apply(&self) -> Result<(AnyRev, bool), Status> {
        if self.write.field_manager.is_empty() {
            let path = Path::new("fieldManager");
            let failures = field::required(&path, "is required for apply patch").into();
            return Err(Status::invalid(("meta.k8s.io", "PatchOptions"), "", &failures));
        }
        let Body::Bytes(bytes) = &self.request.body else {
            return Err(Status::bad_request("error decoding patch: unexpected end of JSON input"));
        };
        let decoding = |text: String| Status::bad_request(format!("error decoding patch: {text}"));
        let (config, duplicates) = super::body::parse(bytes).map_err(decoding)?;
        if !duplicates.is_empty() {
            let text = format!("error strict decoding patch: {}", duplicates.join(", "));
            match self.write.field_validation {
                FieldValidation::Strict => return Err(Status::bad_request(text)),
                FieldValidation::Warn => duplicates.into_iter().for_each(|text| self.warn(text)),
                FieldValidation::Ignore => {}
            }
        }
        let manager = self.manager();
        let reset = api::apply::reset_fields(&self.subresource);
        let force = self.write.force;
        let applied = |live: &dyn Object| -> Result<Box<dyn Object>, Status> {
            let request = self.apply_request(&manager, &reset);
            let applied = api::apply::apply(live, &config, &request, force).map_err(Status::from)?;
            let mut new = super::convert::incoming(applied);
            api::defaults::apply(&mut *new);
            Ok(new)
        };
        let mut make = |old: &AnyRev| -> Result<Box<dyn Object>, Status> {
            let live = self.live(&*old.body);
            let current = super::convert::outgoing(self.kind, AnyRev { revision: old.revision, body: Rc::from(live) });
            let mut new = applied(&*current.body)?;
            // What says nothing of its version is about the live one, as any patch.
            if let Some(metadata) = new.metadata_mut().filter(|metadata| metadata.resource_version.is_empty()) {
                metadata.resource_version = old.resource_version();
            }
            Ok(new)
        };
        let mut tries = 0;
        loop {
            match self.update_with(&mut make, true).await {
                Err(status) if status.is_not_found() && self.subresource.is_empty() => {
                    self.server.authorize_as(self, "create")?;
                    let object = applied(&*self.kind.new_object())?;
                    self.match_name(&*object)?;
                    match self.create_object(object).await {
                        Err(status) if status.is_already_exists() && tries < TRIES => tries += 1,
                        other => return other.map(|object| (object, true)),
                    }
                }
                Err(status)
                    if status.is_conflict()
                        && tries < TRIES
                        && status.details().get().is_none_or(|d| d.causes.is_empty()) =>
                {
                    tries += 1
                }
                other => return other.map(|object| (object, false)),
            }
        }
    }

    /// The request's patch, and the duplicate fields in it.
    pub(super) fn document(&self, patch: PatchType) -> Result<(Value, Vec<String>), Status> {
        let parsed = match &self.request.body {
            Body::Bytes(bytes) => match super::body::parse_json(bytes) {
                Err(_) if !api::json::is_valid(bytes) => return Err(Status::bad_request("invalid JSON patch")),
                parsed => parsed,
            },
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
            (Value::Array(operations), PatchType::Json) => {
                match operations.iter().find(|o| !matches!(o, Value::Object(_) | Value::Null)) {
                    Some(other) => {
                        let found = other.type_name();
                        let text = format!("json: cannot unmarshal {found} into Go value of type handlers.jsonPatchOp");
                        Err(Status::bad_request(decoding(text)))
                    }
                    None => Ok((value, duplicates)),
                }
            }
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
                api::patch::strategic(&before, document, kind.desc).map_err(|error| not_merged(error.0))?
            }
        };
        let mut object = kind.new_object();
        let strict = self.write.field_validation != FieldValidation::Ignore;
        let refused = |text: &str| {
            let shown = match patch {
                PatchType::Strategic => api::go::plain(document),
                _ => api::json::patched_to_json(&after, kind.desc, &touched(patch, document)),
            };
            let failures: ErrorList = field::invalid(&Path::new("patch"), shown, text).into();
            Status::invalid(("", ""), "", &failures)
        };
        // A strategic merge works on the kind's own type, the others on documents.
        if patch != PatchType::Strategic
            && let Err(WrongType::Unreadable(why) | WrongType::Other { why, .. }) =
                wrong_type(heading(&after).to_string().as_bytes(), kind)
        {
            return Err(refused(&why));
        }
        let decoded = match patch {
            PatchType::Strategic => api::json::from_unstructured(&after, &mut *object, strict),
            _ => api::json::from_value(&after, &mut *object, strict),
        };
        let found = decoded.map_err(|error| refused(&error.message))?;
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

/// Just what tells the type of a document.
fn heading(document: &Value) -> Value {
    if document.as_object().is_none() {
        return document.clone();
    }
    let mut out = Value::object();
    for key in ["apiVersion", "kind"] {
        if let Some(value) = document.get(key) {
            out.set_at(&[key], value.clone());
        }
    }
    out
}

/// The answer to a strategic merge that fails (`interpretStrategicMergePatchError`).
fn not_merged(why: String) -> Status {
    match &*why {
        "invalid JSON document"
        | "invalid patch format of primitive list"
        | "invalid patch format of retainKeys"
        | "invalid patch format of setElementOrder list"
        | "strategic merge patch format is not supported" => Status::bad_request(why),
        "lists of lists are not supported" => Status::generic(422, "", ("", ""), "", &why, 0),
        _ => Status::unknown(why),
    }
}

/// Whether a patch reads or writes `metadata.managedFields`.
fn touches_managers(patch: PatchType, document: &Value) -> bool {
    match touched(patch, document).get("metadata") {
        Some(metadata) if patch == PatchType::Json => metadata.is_null() || metadata.get("managedFields").is_some(),
        Some(metadata) => metadata.get("managedFields").is_some(),
        None => false,
    }
}

/// The objects and lists that a patch reads its way through, as a tree of their keys.
fn touched(patch: PatchType, document: &Value) -> Value {
    if patch != PatchType::Json {
        return document.clone();
    }
    let mut tree = Value::object();
    for operation in document.as_array().into_iter().flatten() {
        for pointer in ["path", "from"] {
            let path: Vec<String> = api::patch::pointer(operation.str_at(&[pointer])).collect();
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            if !keys.is_empty() && tree.at(&keys).is_none() {
                tree.set_at(&keys, Value::Null);
            }
        }
    }
    tree
}
