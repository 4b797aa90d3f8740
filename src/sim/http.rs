//! HTTP between programs: whole requests and answers as messages.

use crate::Ip;
use std::rc::Rc;

/// A request.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Address of the client.
    pub source: Ip,
    /// `GET`
    pub method: String,
    /// Path and query: `/index.html`.
    pub path: String,
    /// Headers in their order: names as written.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Rc<[u8]>,
}

impl HttpRequest {
    /// A GET of `path` by `user_agent`.
    pub fn get(path: &str, host: &str, user_agent: &str) -> Self {
        let headers = vec![("Host".to_string(), host.to_string()), ("User-Agent".to_string(), user_agent.to_string())];
        Self { source: Ip(0), method: "GET".to_string(), path: path.to_string(), headers, body: Rc::from([]) }
    }
    /// A header's value, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
    /// The path without its query.
    pub fn file(&self) -> &str {
        self.path.split('?').next().unwrap_or("/")
    }
}

/// A piece of the body of an answer that is [`HttpResponse::chunked`]; an empty one is its end.
pub struct HttpChunk(pub Rc<[u8]>);

/// An answer.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// 200, 404, ...
    pub status: u16,
    /// Headers in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Rc<[u8]>,
}

impl HttpResponse {
    /// Whether its body comes in pieces after it.
    pub fn chunked(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "Transfer-Encoding")
    }
    /// An answer of a content type.
    pub fn new(status: u16, content_type: &str, body: &[u8]) -> Self {
        Self { status, headers: vec![("Content-Type".to_string(), content_type.to_string())], body: body.into() }
    }
}

/// The phrase of a status code.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Unsupported method",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "",
    }
}
