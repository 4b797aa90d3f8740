//! Streams of documents, as kubectl's `YAMLOrJSONDecoder` cuts them.
use crate::json::Value;
use std::fmt;

/// A document of a stream, with the line of the stream that it begins on (from 0).
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value; null for documents without content, which kubectl passes over.
    pub value: Value,
    /// The line.
    pub line: usize,
    /// What Go says of a JSON document that holds a number beyond a float's range; the value is null then.
    pub overflow: Option<String>,
}

/// Why a stream ends early; Display is what stands behind `error parsing FILE: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    /// Go's text.
    pub message: String,
    /// The line of the stream that the trouble is on (from 0).
    pub line: usize,
}
impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for StreamError {}

/// The documents of a text, in order; ends behind the first error.
pub struct Documents<'a> {
    text: &'a str,
    /// Where the rest begins.
    pos: usize,
    json: bool,
    count: usize,
    done: bool,
}

/// Cuts a text into documents: JSON objects one after another if it begins with `{`, else YAML between lines of `---`.
pub fn documents(text: &str) -> Documents<'_> {
    Documents { text, pos: 0, json: text.trim_start().starts_with('{'), count: 0, done: false }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, StreamError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = if self.json { self.next_json() } else { self.next_yaml(None) };
        self.done = !matches!(item, Some(Ok(_)));
        self.count += 1;
        item
    }
}

impl Documents<'_> {
    fn line(&self) -> usize {
        self.text.get(..self.pos).unwrap_or("").matches('\n').count()
    }
    fn rest(&self) -> &str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn next_json(&mut self) -> Option<Result<Document, StreamError>> {
        let rest = self.rest();
        if rest.trim_start().is_empty() {
            return None;
        }
        let line = self.line() + rest.get(..rest.len() - rest.trim_start().len()).unwrap_or("").matches('\n').count();
        match Value::parse_prefix(rest) {
            Ok((value, used)) => {
                self.pos += used;
                Some(Ok(Document { value, line, overflow: None }))
            }
            // With more than one object behind us it is a JSON stream for sure.
            Err(e) if self.count > 1 && Value::skip_prefix(rest).is_err() => {
                Some(Err(StreamError { message: e.message, line }))
            }
            Err(e) => {
                if let Ok(used) = Value::skip_prefix(rest) {
                    self.pos += used;
                    return Some(Ok(Document { value: Value::Null, line, overflow: Some(e.message) }));
                }
                let message = match e.message.as_str() {
                    // The reader's own end comes before the decoder's word.
                    "unexpected end of JSON input" => "unexpected EOF".to_string(),
                    why => format!("json: offset {}: {why}", self.pos + e.offset),
                };
                let json = StreamError { message, line };
                self.json = false;
                self.skip_white_line();
                match self.next_yaml(Some(json.clone())) {
                    None => Some(Err(json)),
                    found => found,
                }
            }
        }
    }
    /// Steps over white space up to the end of the line.
    fn skip_white_line(&mut self) {
        let mut skipped = 0;
        for c in self.rest().chars() {
            if !c.is_whitespace() {
                break;
            }
            skipped += c.len_utf8();
            if c == '\n' {
                break;
            }
        }
        self.pos += skipped;
    }

    /// `first` is the error of the JSON decoder, which wins.
    fn next_yaml(&mut self, first: Option<StreamError>) -> Option<Result<Document, StreamError>> {
        let mut document = String::new();
        let mut line = self.line();
        loop {
            let rest = self.text.get(self.pos..).unwrap_or("");
            let end = rest.find('\n');
            let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
            let text = text.strip_suffix('\r').unwrap_or(text);
            let last = end.is_none();
            // Go's line reader ends the stream behind the last line feed.
            let exhausted = last && rest.is_empty();
            if !exhausted && let Some(behind) = text.strip_prefix("---") {
                let behind = behind.trim();
                if !behind.is_empty() && !behind.starts_with('#') {
                    let message = format!("invalid Yaml document separator: {behind}");
                    return Some(Err(first.unwrap_or(StreamError { message, line: self.line() })));
                }
                self.pos += end.map_or(rest.len(), |e| e + 1);
                if !document.is_empty() {
                    break;
                }
                line = self.line();
                if last {
                    return None;
                }
                continue;
            }
            if exhausted {
                if document.is_empty() {
                    return None;
                }
                break;
            }
            self.pos += end.map_or(rest.len(), |e| e + 1);
            document.push_str(text);
            document.push('\n');
        }
        Some(match super::parse(&document) {
            Ok(value) => Ok(Document { value, line, overflow: None }),
            Err(e) => Err(first.unwrap_or(StreamError {
                message: format!("error converting YAML to JSON: {e}"),
                line: line + e.position.line,
            })),
        })
    }
}
