//! Request bodies: objects as they are, or bytes in JSON (of an apply: YAML), decoded strictly as the request wishes.

use api::rest::{Body, FieldValidation};
use api::{KindInfo, Object, Status, Str};

use super::Call;

/// Bound of a body (`--max-request-body-bytes`).
pub const MAX_BYTES: usize = 3 * 1024 * 1024;

impl Call {
    /// The request's object, of kind `kind`.
    pub fn decode(&self, kind: &'static KindInfo) -> Result<Box<dyn Object>, Status> {
        match &self.request.body {
            Body::Empty => Err(unrecognized(NO_JSON, kind, &[])),
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
        self.check_type(bytes, kind)?;
        let mut object = kind.new_object();
        let strict = self.write.field_validation != FieldValidation::Ignore;
        let errors = api::json::decode(bytes, &mut *object, strict).map_err(|error| bad(&error.message))?;
        object.clear_type_meta();
        self.strict(errors.into_iter().map(|error| error.0).collect(), kind)?;
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
    fn check_type(&self, bytes: &[u8], kind: &'static KindInfo) -> Result<(), Status> {
        let why = match wrong_type(bytes, kind) {
            Ok(()) => return Ok(()),
            Err(WrongType::Unreadable(why)) => return Err(unrecognized(&why, kind, bytes)),
            Err(WrongType::Version(api_version)) => {
                return Err(Status::bad_request(format!(
                    "the API version in the data ({api_version}) does not match the expected API version ({})",
                    kind.api_version
                )));
            }
            Err(WrongType::Other { name, version, why }) => {
                let version = api::go::quote(&version);
                format!("{name} in version {version} cannot be handled as a {}: {why}", kind.kind)
            }
        };
        Err(Status::bad_request(why))
    }
}

/// Why a document is not of a kind.
pub(super) enum WrongType {
    /// Its kind can't be told.
    Unreadable(String),
    /// It has another version of the kind.
    Version(Str),
    /// It has another kind.
    Other {
        /// The kind's name.
        name: Str,
        /// Its version, without the group.
        version: Str,
        /// What is wrong with it.
        why: String,
    },
}

/// Whether a document's `apiVersion` and `kind`, where it has any, are those of a kind.
pub(super) fn wrong_type(bytes: &[u8], kind: &'static KindInfo) -> Result<(), WrongType> {
    let [api_version, name] = api::json::type_meta(bytes)
        .map_err(|error| WrongType::Unreadable(format!("couldn't get version/kind; json parse error: {error}")))?;
    if api_version.matches('/').count() > 1 {
        return Err(WrongType::Unreadable(format!("unexpected GroupVersion string: {api_version}")));
    }
    let api_version = if api_version.is_empty() { kind.api_version.into() } else { api_version };
    let name = if name.is_empty() { kind.kind.into() } else { name };
    if *api_version == *kind.api_version && *name == *kind.kind {
        return Ok(());
    }
    let (group, version) = api::scheme::group_version(&api_version);
    let version = Str::from(version);
    let why = match api::scheme::by_kind(group, &version, &name) {
        // Another version of the same kind is what the other path is for.
        Some(other) if other.kind == kind.kind && other.group == kind.group => {
            return Err(WrongType::Version(api_version));
        }
        Some(other) => {
            let internal = if kind.group.is_empty() { "core" } else { kind.group };
            let internal = internal.split('.').next().unwrap_or_default();
            format!("converting ({}.{name}) to ({internal}.{}): unknown conversion", other.version, kind.kind)
        }
        None => format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            api::go::quote(&name),
            api::go::quote(&api_version)
        ),
    };
    Err(WrongType::Other { name, version, why })
}

/// What is wrong with a body that is empty.
const NO_JSON: &str = "couldn't get version/kind; json parse error: unexpected end of JSON input";

/// Most bytes of a body that an error shows.
const SHOWN: usize = 30;

/// A body of which not even the kind can be told.
fn unrecognized(why: &str, kind: &KindInfo, bytes: &[u8]) -> Status {
    let shown = bytes.get(..SHOWN).unwrap_or(bytes);
    let more = if bytes.len() > SHOWN { " ..." } else { "" };
    let shown = match bytes.first() {
        None => "<empty>".to_string(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => format!("{}{more}", shown.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    };
    Status::bad_request(format!("the object provided is unrecognized (must be of type {}): {why} ({shown})", kind.kind))
}

/// Reads JSON, or YAML where it isn't; with the duplicate fields found.
pub fn parse(bytes: &[u8]) -> Result<(api::json::Value, Vec<String>), String> {
    if matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return parse_json(bytes);
    }
    let value = api::yaml::parse(&String::from_utf8_lossy(bytes)).map_err(|error| error.to_string())?;
    Ok((value, Vec::new()))
}

/// Reads JSON; with the duplicate fields found.
pub fn parse_json(bytes: &[u8]) -> Result<(api::json::Value, Vec<String>), String> {
    let mut duplicates = Vec::new();
    let mut note = |path: &str| duplicates.push(format!("duplicate field {path:?}"));
    let value = api::json::Value::parse_with(&String::from_utf8_lossy(bytes), &mut note).map_err(|e| e.message)?;
    Ok((value, duplicates))
}
