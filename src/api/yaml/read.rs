//! Text to nodes.
use super::Error;
use crate::json::MAX_DEPTH;
use libyaml_safer::{ErrorKind, Event, EventData, Mark, Parser};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A place in a text, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// A node of a YAML document.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
    /// The tag that was written, in its long form; empty if none was.
    pub tag: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A scalar: its text, and whether it was written plain.
    Scalar(String, bool),
    /// A sequence.
    Sequence(Vec<Rc<Node>>),
    /// A mapping.
    Mapping(Vec<(Rc<Node>, Rc<Node>)>),
    /// An alias of a finished node.
    Alias(String, Rc<Node>),
    /// An alias of a node that it stands in.
    Recursive(String),
}

fn position(m: Mark) -> Position {
    Position { line: m.line as usize, column: m.column as usize }
}

pub(super) fn error(message: impl Into<String>, position: Position) -> Error {
    Error { message: format!("yaml: {}", message.into()), position }
}

/// go-yaml's `fail`: the line it names is one less than libyaml's for errors of the parser, unlike the scanner's.
fn from_libyaml(e: &libyaml_safer::Error) -> Error {
    let problem = match e.problem() {
        "" => "unknown problem parsing YAML content",
        p => p,
    };
    let mark = e.problem_mark().unwrap_or_default();
    let context = e.context_mark().unwrap_or_default();
    let line = match (mark.line, context.line) {
        (0, line) => line,
        (line, _) if e.kind() == ErrorKind::Scanner => line + 1,
        (line, _) => line,
    };
    match line {
        0 => error(problem, position(mark)),
        n => error(format!("line {n}: {problem}"), position(mark)),
    }
}

struct Reader<'a> {
    parser: Parser<&'a mut &'a [u8]>,
    anchors: BTreeMap<String, Option<Rc<Node>>>,
}

pub(super) fn read(text: &str) -> Result<Option<Node>, Error> {
    let text = if text.is_empty() { "\n" } else { text };
    let mut bytes = text.as_bytes();
    let mut reader = Reader { parser: Parser::new(), anchors: BTreeMap::new() };
    reader.parser.set_input_string(&mut bytes);
    loop {
        let event = reader.next()?;
        match event.data {
            EventData::StreamStart { .. } => {}
            EventData::DocumentStart { .. } => {
                let first = reader.next()?;
                let node = reader.node(first, 0)?;
                // The end of the document is read too: what stands there may be wrong.
                reader.next()?;
                return Ok(Some(Rc::unwrap_or_clone(node)));
            }
            _ => return Ok(None),
        }
    }
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Event, Error> {
        self.parser.parse().map_err(|e| from_libyaml(&e))
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Rc<Node>, Error> {
        let start = position(event.start_mark);
        let mut end = position(event.end_mark);
        if depth > MAX_DEPTH {
            return Err(error("exceeded max depth of 10000", start));
        }
        let (anchor, tag, kind) = match event.data {
            EventData::Alias { anchor } => {
                let kind = match self.anchors.get(&anchor) {
                    Some(Some(node)) => NodeKind::Alias(anchor, node.clone()),
                    Some(None) => NodeKind::Recursive(anchor),
                    None => return Err(error(format!("unknown anchor '{anchor}' referenced"), start)),
                };
                (None, None, kind)
            }
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                (anchor, tag, NodeKind::Scalar(value, plain_implicit))
            }
            EventData::SequenceStart { anchor, .. } => {
                self.open(&anchor);
                let mut items = Vec::new();
                loop {
                    let event = self.next()?;
                    if let EventData::SequenceEnd = event.data {
                        end = position(event.end_mark);
                        break;
                    }
                    items.push(self.node(event, depth + 1)?);
                }
                // go-yaml keeps tags of scalars only.
                (anchor, None, NodeKind::Sequence(items))
            }
            EventData::MappingStart { anchor, .. } => {
                self.open(&anchor);
                let mut entries = Vec::new();
                loop {
                    let event = self.next()?;
                    if let EventData::MappingEnd = event.data {
                        end = position(event.end_mark);
                        break;
                    }
                    let key = self.node(event, depth + 1)?;
                    let event = self.next()?;
                    entries.push((key, self.node(event, depth + 1)?));
                }
                (anchor, None, NodeKind::Mapping(entries))
            }
            _ => return Err(error("attempted to go past the end of stream; corrupted value?", start)),
        };
        let node = Rc::new(Node { start, end, tag: tag.unwrap_or_default(), kind });
        if let Some(a) = anchor {
            self.anchors.insert(a, Some(node.clone()));
        }
        Ok(node)
    }
    /// From here on the anchor is known, but its node is not finished.
    fn open(&mut self, anchor: &Option<String>) {
        if let Some(a) = anchor {
            self.anchors.insert(a.clone(), None);
        }
    }
}
