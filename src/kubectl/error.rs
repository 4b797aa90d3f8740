//! Errors and how kubectl words them at its end (`cmdutil.CheckErr`).

use crate::print::human::quote;
use crate::value::Value;

/// What went wrong.
#[derive(Clone, Debug)]
pub enum Error {
    /// A Status from the server: `reason`, `message`, `details`, `code`.
    Status(Box<Value>),
    /// A text; `error: ` is put before it.
    Text(String),
    /// The server could not be reached: what is shown, and the error's own text.
    Connection {
        /// What CheckErr prints.
        shown: String,
        /// What the error says within other messages.
        text: String,
    },
    /// Several.
    Aggregate(Vec<Error>),
    /// One or more, each a line without `error: ` (an aggregate that stays one).
    Listed(Vec<Error>),
    /// An exit code of its own, with a message or none.
    Exit(i32, String),
}

impl Error {
    /// A text error.
    pub fn text(message: impl Into<String>) -> Error {
        Error::Text(message.into())
    }

    /// Nothing printed, exit code 1.
    pub fn silent() -> Error {
        Error::Exit(1, String::new())
    }

    /// None for no errors.
    pub fn aggregate(mut errors: Vec<Error>) -> Result<(), Error> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Error::Aggregate(errors)),
        }
    }

    /// The Status' reason, empty when it is none.
    pub fn reason(&self) -> &str {
        match self {
            Error::Status(s) => s.str("reason"),
            _ => "",
        }
    }

    /// Whether the server said NotFound.
    pub fn is_not_found(&self) -> bool {
        self.reason() == "NotFound"
    }

    /// Go's `err.Error()`.
    pub fn message(&self) -> String {
        match self {
            Error::Status(s) => s.str("message").to_string(),
            Error::Text(t) => t.clone(),
            Error::Connection { text, .. } => text.clone(),
            Error::Exit(_, t) => t.clone(),
            Error::Aggregate(list) | Error::Listed(list) => api::field::aggregate(list.iter().map(Error::message)),
        }
    }

    /// The same with `prefix` before a Status' message (`cmdutil.AddSourceToErr`) or any other's.
    pub fn with_source(self, verb: &str, source: &str) -> Error {
        if source.is_empty() {
            return self;
        }
        let text = format!("error when {verb} {}: {}", quote(source), self.message());
        match self {
            Error::Status(mut s) => {
                s.set("message", text);
                Error::Status(s)
            }
            other @ Error::Connection { .. } => Error::Connection { shown: other.standard().unwrap_or_default(), text },
            _ => Error::Text(text),
        }
    }

    /// The same with a text before a Status' message.
    pub fn prefixed(self, prefix: &str) -> Error {
        match self {
            Error::Status(mut s) => {
                let text = format!("{prefix}{}", s.str("message"));
                s.set("message", text);
                Error::Status(s)
            }
            other => Error::Text(format!("{prefix}{}", other.message())),
        }
    }

    /// `StandardErrorMessage`: the wording of errors of servers and connections.
    fn standard(&self) -> Option<String> {
        match self {
            Error::Status(s) => Some(match s.str("reason") {
                "Unauthorized" => {
                    format!("error: You must be logged in to the server ({})", s.str("message"))
                }
                "" => format!("Error from server: {}", s.str("message")),
                reason => format!("Error from server ({reason}): {}", s.str("message")),
            }),
            Error::Connection { shown, .. } => Some(shown.clone()),
            _ => None,
        }
    }

    /// `messageForError`: the wording within a list of errors.
    pub fn in_list(&self) -> String {
        self.standard().unwrap_or_else(|| self.message())
    }

    /// What kubectl prints at its end, and its exit code.
    pub fn checked(&self) -> (String, i32) {
        match self {
            Error::Aggregate(list) if list.len() == 1 => list.first().map_or((String::new(), 1), Error::checked),
            Error::Aggregate(list) | Error::Listed(list) => {
                let lines: String = list.iter().map(|e| format!("{}\n", e.in_list())).collect();
                (lines, 1)
            }
            Error::Exit(code, message) => (message.clone(), *code),
            Error::Status(s) if s.str("reason") == "Invalid" => (invalid(s), 1),
            Error::Text(t) if t.starts_with("error: ") => (t.clone(), 1),
            Error::Text(t) => match t.strip_prefix(NO_PREFIX) {
                Some(bare) => (bare.to_string(), 1),
                None => (format!("error: {t}"), 1),
            },
            other => (other.standard().unwrap_or_default(), 1),
        }
    }
}

/// Marks a text that is printed without `error: ` (Go's typed NoResourceMatchError).
pub const NO_PREFIX: &str = "\u{0}";

/// The wording of an object that the server found invalid.
fn invalid(status: &Value) -> String {
    let details = status.at("details");
    let message = status.str("message");
    let mut s = "The request is invalid".to_string();
    if details.is_null() {
        if !message.is_empty() {
            s = format!("{s}: {message}");
        }
        return s;
    }
    let (kind, name) = (details.str("kind"), details.str("name"));
    let causes = details.list("causes");
    if !kind.is_empty() || !name.is_empty() {
        s = format!("The {kind} {} is invalid", quote(name));
    } else if !message.is_empty() && causes.is_empty() {
        s = format!("{s}: {message}");
    }
    let mut lines: Vec<String> = Vec::new();
    for c in causes {
        let line = format!("{}: {}", c.str("field"), c.str("message"));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    match lines.as_slice() {
        [] => s,
        [one] => format!("{s}: {one}\n"),
        many => {
            let list: String = many.iter().map(|l| format!("* {l}\n")).collect();
            format!("{s}: \n{list}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::object;

    #[test]
    fn wording() {
        let status = |reason: &str, message: &str, details: Value| {
            Error::Status(Box::new(object([
                ("reason", reason.into()),
                ("message", message.into()),
                ("details", details),
            ])))
        };
        let cause = |f: &str, m: &str| object([("field", f.into()), ("message", m.into())]);
        let not_found = status("NotFound", "pods \"x\" not found", Value::Null);
        assert_eq!(not_found.checked().0, "Error from server (NotFound): pods \"x\" not found");
        let details = object([
            ("kind", "Pod".into()),
            ("name", "p".into()),
            ("causes", Value::Array(vec![cause("a", "b"), cause("a", "b"), cause("c", "d")])),
        ]);
        let e = status("Invalid", "long", details);
        assert_eq!(e.checked().0, "The Pod \"p\" is invalid: \n* a: b\n* c: d\n");
        let e = status("Invalid", "the server rejected our request due to an error in our request", Value::Null);
        assert_eq!(
            e.checked().0,
            "The request is invalid: the server rejected our request due to an error in our request"
        );
        assert_eq!(Error::text("x").checked(), ("error: x".into(), 1));
        let two = Error::Aggregate(vec![Error::text("error parsing a"), not_found]);
        assert_eq!(two.checked().0, "error parsing a\nError from server (NotFound): pods \"x\" not found\n");
    }
}
