//! `Status`: the error of every API call, with the constructors and words of apimachinery's `errors` package.
use crate::field::ErrorList;
use crate::meta_v1;
use crate::scheme::KindInfo;
use crate::value::{List, Ptr, Str};
use std::fmt;
use std::ops::Deref;

/// Values of `reason`.
#[allow(missing_docs)]
pub mod reason {
    pub const UNAUTHORIZED: &str = "Unauthorized";
    pub const FORBIDDEN: &str = "Forbidden";
    pub const NOT_FOUND: &str = "NotFound";
    pub const ALREADY_EXISTS: &str = "AlreadyExists";
    pub const CONFLICT: &str = "Conflict";
    pub const GONE: &str = "Gone";
    pub const INVALID: &str = "Invalid";
    pub const SERVER_TIMEOUT: &str = "ServerTimeout";
    pub const TIMEOUT: &str = "Timeout";
    pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
    pub const BAD_REQUEST: &str = "BadRequest";
    pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
    pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
    pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
    pub const INTERNAL_ERROR: &str = "InternalError";
    pub const EXPIRED: &str = "Expired";
    pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
}

/// A failed API call. Dereferences to the API object; Display is its message.
#[derive(Clone, PartialEq)]
pub struct Status {
    body: Box<meta_v1::Status>,
}

/// A resource (`deployments.apps`) or kind (`Deployment.apps`) as messages name it.
#[derive(Clone, Copy)]
pub struct Qualified<'a> {
    /// API group, empty for the core group.
    pub group: &'a str,
    /// Plural name, or kind.
    pub name: &'a str,
}
impl From<&KindInfo> for Qualified<'static> {
    /// The resource.
    fn from(k: &KindInfo) -> Self {
        Qualified { group: k.group, name: k.plural }
    }
}
impl<'a> From<(&'a str, &'a str)> for Qualified<'a> {
    fn from((group, name): (&'a str, &'a str)) -> Self {
        Qualified { group, name }
    }
}
impl fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str(self.name),
            group => write!(f, "{}.{group}", self.name),
        }
    }
}

impl Status {
    fn failure(code: i32, reason: &str, message: String) -> Status {
        Status {
            body: Box::new(meta_v1::Status {
                status: "Failure".into(),
                code,
                reason: reason.into(),
                message: message.into(),
                ..Default::default()
            }),
        }
    }
    fn about(mut self, q: Qualified<'_>, name: &str) -> Status {
        let d = self.body.details.make();
        d.group = q.group.into();
        d.kind = q.name.into();
        d.name = name.into();
        self
    }
    fn retry_after(mut self, seconds: i32) -> Status {
        self.body.details.make().retry_after_seconds = seconds;
        self
    }

    /// A Status as it came over the wire.
    pub fn from_object(s: meta_v1::Status) -> Status {
        Status { body: Box::new(s) }
    }
    /// The API object.
    pub fn into_object(self) -> meta_v1::Status {
        *self.body
    }

    /// `pods "x" not found`
    pub fn not_found<'a>(resource: impl Into<Qualified<'a>>, name: &str) -> Status {
        let q = resource.into();
        Self::failure(404, reason::NOT_FOUND, format!("{q} {} not found", crate::go::quote(name))).about(q, name)
    }
    /// `pods "x" already exists`
    pub fn already_exists<'a>(resource: impl Into<Qualified<'a>>, name: &str) -> Status {
        let q = resource.into();
        Self::failure(409, reason::ALREADY_EXISTS, format!("{q} {} already exists", crate::go::quote(name)))
            .about(q, name)
    }
    /// No free name was found for generateName.
    pub fn generate_name_conflict<'a>(resource: impl Into<Qualified<'a>>, name: &str, retry_after: i32) -> Status {
        let q = resource.into();
        let message = format!(
            "{q} {} already exists, the server was not able to generate a unique name for the object",
            crate::go::quote(name)
        );
        Self::failure(409, reason::ALREADY_EXISTS, message).about(q, name).retry_after(retry_after)
    }
    /// The credentials are not accepted; `not authorized` if no reason is given.
    pub fn unauthorized(reason: &str) -> Status {
        let message = if reason.is_empty() { "not authorized" } else { reason };
        Self::failure(401, reason::UNAUTHORIZED, message.into())
    }
    /// `pods "x" is forbidden: why`
    pub fn forbidden<'a>(resource: impl Into<Qualified<'a>>, name: &str, why: impl fmt::Display) -> Status {
        let q = resource.into();
        let message = match (q.name.is_empty() && q.group.is_empty(), name) {
            (true, _) => format!("forbidden: {why}"),
            (false, "") => format!("{q} is forbidden: {why}"),
            (false, name) => format!("{q} {} is forbidden: {why}", crate::go::quote(name)),
        };
        Self::failure(403, reason::FORBIDDEN, message).about(q, name)
    }
    /// `Operation cannot be fulfilled on pods "x": why`
    pub fn conflict<'a>(resource: impl Into<Qualified<'a>>, name: &str, why: impl fmt::Display) -> Status {
        let q = resource.into();
        let message = format!("Operation cannot be fulfilled on {q} {}: {why}", crate::go::quote(name));
        Self::failure(409, reason::CONFLICT, message).about(q, name)
    }
    /// The conflict of a write with an old resourceVersion.
    pub fn optimistic_lock<'a>(resource: impl Into<Qualified<'a>>, name: &str) -> Status {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }
    /// Server-side apply found fields of other managers.
    pub fn apply_conflict(causes: Vec<meta_v1::StatusCause>, message: String) -> Status {
        let mut s = Self::failure(409, reason::CONFLICT, message);
        s.body.details.make().causes = List::from(causes);
        s
    }
    /// It was there, but is no more.
    pub fn gone(message: impl Into<String>) -> Status {
        Self::failure(410, reason::GONE, message.into())
    }
    /// The revision asked for is compacted.
    pub fn expired(message: impl Into<String>) -> Status {
        Self::failure(410, reason::EXPIRED, message.into())
    }
    /// `Deployment.apps "x" is invalid: spec.y: Required value`. The kind is named, not the resource.
    pub fn invalid<'a>(kind: impl Into<Qualified<'a>>, name: &str, errors: &ErrorList) -> Status {
        let q = kind.into();
        let quoted = crate::go::quote(name);
        let message = match errors.is_empty() {
            true => format!("{q} {quoted} is invalid"),
            false => format!("{q} {quoted} is invalid: {errors}"),
        };
        let mut s = Self::failure(422, reason::INVALID, message).about(q, name);
        s.body.details.make().causes = errors
            .iter()
            .map(|e| meta_v1::StatusCause {
                reason: e.ty.cause().into(),
                message: e.body().into(),
                field: Str::from(&e.field),
            })
            .collect();
        s
    }
    /// [`Status::invalid`] of a kind in the table.
    pub fn invalid_kind(kind: &KindInfo, name: &str, errors: &ErrorList) -> Status {
        Self::invalid((kind.group, kind.kind), name, errors)
    }
    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Status {
        Self::failure(400, reason::BAD_REQUEST, message.into())
    }
    /// Come back after so many seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after: i32) -> Status {
        Self::failure(429, reason::TOO_MANY_REQUESTS, message.into()).retry_after(retry_after)
    }
    /// It cannot answer now.
    pub fn service_unavailable(message: impl Into<String>) -> Status {
        Self::failure(503, reason::SERVICE_UNAVAILABLE, message.into())
    }
    /// `create is not supported on resources of kind "pods"`
    pub fn method_not_supported<'a>(resource: impl Into<Qualified<'a>>, action: &str) -> Status {
        let q = resource.into();
        let message = format!("{action} is not supported on resources of kind {}", crate::go::quote(&q.to_string()));
        Self::failure(405, reason::METHOD_NOT_ALLOWED, message).about(q, "")
    }
    /// The operation could not be completed at this time.
    pub fn server_timeout<'a>(resource: impl Into<Qualified<'a>>, operation: &str, retry_after: i32) -> Status {
        let q = resource.into();
        let message =
            format!("The {operation} operation against {q} could not be completed at this time, please try again.");
        Self::failure(500, reason::SERVER_TIMEOUT, message).about(q, operation).retry_after(retry_after)
    }
    /// `Internal error occurred: why`
    pub fn internal(why: impl fmt::Display) -> Status {
        let why = why.to_string();
        let mut s = Self::failure(500, reason::INTERNAL_ERROR, format!("Internal error occurred: {why}"));
        s.body.details.make().causes = List::from([meta_v1::StatusCause { message: why.into(), ..Default::default() }]);
        s
    }
    /// A failure that no reason of the API names, with its message as it is.
    pub fn unknown(message: impl Into<String>) -> Status {
        Self::failure(500, "", message.into())
    }
    /// `Timeout: message`
    pub fn timeout(message: &str, retry_after: i32) -> Status {
        Self::failure(504, reason::TIMEOUT, format!("Timeout: {message}")).retry_after(retry_after)
    }
    /// `Request entity too large: message`
    pub fn request_entity_too_large(message: &str) -> Status {
        Self::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, format!("Request entity too large: {message}"))
    }
    /// The body's media type is none that the server reads.
    pub fn unsupported_media_type(accepted: &[&str]) -> Status {
        Self::failure(
            415,
            reason::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
    }
    /// No such path: `the server could not find the requested resource`
    pub fn not_found_path() -> Status {
        Self::failure(404, reason::NOT_FOUND, "the server could not find the requested resource".into())
    }
    /// An answer with a code and no Status, as client-go words it (`NewGenericServerResponse`).
    pub fn generic<'a>(
        code: i32,
        verb: &str,
        resource: impl Into<Qualified<'a>>,
        name: &str,
        server_message: &str,
        retry_after: i32,
    ) -> Status {
        let q = resource.into();
        let (why, message) = match code {
            409 if verb == "POST" => (reason::ALREADY_EXISTS, "the server reported a conflict".to_string()),
            409 => (reason::CONFLICT, "the server reported a conflict".into()),
            404 => (reason::NOT_FOUND, "the server could not find the requested resource".into()),
            400 => (reason::BAD_REQUEST, "the server rejected our request for an unknown reason".into()),
            401 => (reason::UNAUTHORIZED, "the server has asked for the client to provide credentials".into()),
            403 => (reason::FORBIDDEN, server_message.into()),
            406 if server_message.is_empty() || server_message == "unknown" => (
                reason::NOT_ACCEPTABLE,
                "the server was unable to respond with a content type that the client supports".into(),
            ),
            406 => (reason::NOT_ACCEPTABLE, server_message.into()),
            415 => (reason::UNSUPPORTED_MEDIA_TYPE, server_message.into()),
            405 => (reason::METHOD_NOT_ALLOWED, "the server does not allow this method on the requested resource".into()),
            422 => (reason::INVALID, "the server rejected our request due to an error in our request".into()),
            503 => (reason::SERVICE_UNAVAILABLE, "the server is currently unable to handle the request".into()),
            504 => (
                reason::TIMEOUT,
                "the server was unable to return a response in the time allotted, but may still be processing the request"
                    .into(),
            ),
            429 => (
                reason::TOO_MANY_REQUESTS,
                "the server has received too many requests and has asked us to try again later".into(),
            ),
            c if c >= 500 => (
                reason::INTERNAL_ERROR,
                format!(
                    "an error on the server ({}) has prevented the request from succeeding",
                    crate::go::quote(server_message)
                ),
            ),
            c => ("", format!("the server responded with the status code {c} but did not return more information")),
        };
        let verb = verb.to_ascii_lowercase();
        let message = match (q.name.is_empty(), name.is_empty()) {
            (true, _) => message,
            (false, false) => format!("{message} ({verb} {q} {name})"),
            (false, true) => format!("{message} ({verb} {q})"),
        };
        Self::failure(code, why, message).about(q, name).retry_after(retry_after)
    }

    /// The server could not be reached, in the words of the network: no code and no reason.
    pub fn transport(message: impl Into<String>) -> Status {
        Self::failure(0, "", message.into())
    }
    /// Whether no server answered at all.
    pub fn is_transport(&self) -> bool {
        self.body.code == 0 && self.body.reason.is_empty()
    }
    /// The resource has no such verb.
    pub fn is_method_not_supported(&self) -> bool {
        self.is(reason::METHOD_NOT_ALLOWED)
    }
    /// Something went wrong in the server.
    pub fn is_internal(&self) -> bool {
        self.is(reason::INTERNAL_ERROR)
    }

    fn is(&self, why: &str) -> bool {
        self.body.reason == *why
    }
    /// Nothing of that name is there.
    pub fn is_not_found(&self) -> bool {
        self.is(reason::NOT_FOUND)
    }
    /// Something of that name is there already.
    pub fn is_already_exists(&self) -> bool {
        self.is(reason::ALREADY_EXISTS)
    }
    /// Someone else wrote first.
    pub fn is_conflict(&self) -> bool {
        self.is(reason::CONFLICT)
    }
    /// The object is not valid.
    pub fn is_invalid(&self) -> bool {
        self.is(reason::INVALID)
    }
    /// Not allowed.
    pub fn is_forbidden(&self) -> bool {
        self.is(reason::FORBIDDEN)
    }
    /// The revision is compacted, or the thing is gone.
    pub fn is_expired(&self) -> bool {
        self.is(reason::EXPIRED) || self.is(reason::GONE)
    }
    /// The server asks to come back later.
    pub fn is_too_many_requests(&self) -> bool {
        self.is(reason::TOO_MANY_REQUESTS) || self.body.code == 429
    }
    /// Server or request timed out.
    pub fn is_timeout(&self) -> bool {
        self.is(reason::TIMEOUT) || self.is(reason::SERVER_TIMEOUT)
    }
    /// Whether a cause of that type is there.
    pub fn has_cause(&self, cause: &str) -> bool {
        self.body.details.get().is_some_and(|d| d.causes.iter().any(|c| c.reason == *cause))
    }
    /// Adds a cause.
    pub fn with_cause(mut self, cause: &str, message: &str, field: &str) -> Status {
        self.body.details.make().causes.push(meta_v1::StatusCause {
            reason: cause.into(),
            message: message.into(),
            field: field.into(),
        });
        self
    }
    /// Changes the message.
    pub fn with_message(mut self, message: impl Into<Str>) -> Status {
        self.body.message = message.into();
        self
    }
    /// Seconds after which to retry, if the server said so.
    pub fn retry_after_seconds(&self) -> Option<i32> {
        self.body.details.get().map(|d| d.retry_after_seconds).filter(|s| *s > 0)
    }
    /// The details.
    pub fn details(&self) -> &Ptr<meta_v1::StatusDetails> {
        &self.body.details
    }
}

impl Deref for Status {
    type Target = meta_v1::Status;
    fn deref(&self) -> &meta_v1::Status {
        &self.body
    }
}
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.body.message)
    }
}
impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.body.reason, self.body.code, self.body.message)
    }
}
impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{self, Path};
    use crate::object::Resource;

    #[test]
    fn words() {
        let k = crate::apps_v1::Deployment::KIND;
        assert_eq!(Status::not_found(k, "web").to_string(), r#"deployments.apps "web" not found"#);
        assert_eq!(Status::already_exists(("", "pods"), "web").to_string(), r#"pods "web" already exists"#);
        let errors = field::required(&Path::new("spec").child("selector"), "").into();
        let s = Status::invalid_kind(k, "web", &errors);
        assert_eq!(s.to_string(), r#"Deployment.apps "web" is invalid: spec.selector: Required value"#);
        assert!(s.is_invalid() && s.code == 422 && s.has_cause("FieldValueRequired"));
        assert_eq!(
            String::from_utf8_lossy(&crate::json::encode(&*Status::not_found(("", "pods"), "x"))),
            r#"{"apiVersion":"v1","code":404,"details":{"kind":"pods","name":"x"},"kind":"Status","message":"pods \"x\" not found","metadata":{},"reason":"NotFound","status":"Failure"}"#
        );
    }
}
