//! Tokens to nodes: go-yaml's parser, building the tree as it goes.
use super::Error;
use super::scan::{MAX_LEVELS, Mark, Scan, Scanner, Token, TokenKind, at_line, too_deep};
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
    /// The tag that was written, in its long form; empty if none was. Scalars only.
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

pub(super) fn error(message: impl Into<String>, position: Position) -> Error {
    Error { message: format!("yaml: {}", message.into()), position }
}

/// An error of the parser. Go names the line before it, or the one before its context if it is on the first line.
fn fail<T>(context: Mark, problem: &str, mark: Mark) -> Scan<T> {
    Err(at_line(if mark.line == 0 { context.line } else { mark.line }, problem, mark))
}

struct Reader {
    scanner: Scanner,
    tags: Vec<(String, String)>,
    anchors: BTreeMap<String, Option<Rc<Node>>>,
}

pub(super) fn read(text: &str) -> Scan<Option<Node>> {
    let mut r = Reader {
        scanner: Scanner::new(if text.is_empty() { "\n" } else { text }),
        tags: Vec::new(),
        anchors: BTreeMap::new(),
    };
    r.take()?;
    let first = r.peek()?;
    let explicit = match first.kind {
        TokenKind::StreamEnd => return Ok(None),
        TokenKind::Version(..) | TokenKind::TagDirective(..) | TokenKind::DocumentStart => true,
        _ => false,
    };
    r.directives()?;
    let mut empty = None;
    if explicit {
        let t = r.peek()?;
        if t.kind != TokenKind::DocumentStart {
            return fail(Mark::default(), "did not find expected <document start>", t.start);
        }
        r.take()?;
        let t = r.peek()?;
        if matches!(
            t.kind,
            TokenKind::Version(..)
                | TokenKind::TagDirective(..)
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::StreamEnd
        ) {
            empty = Some(Reader::empty_node(t.start));
        }
    }
    let node = match empty {
        Some(n) => n,
        None => r.node(true, false, 0)?,
    };
    // What ends the document is looked at too: it may be wrong.
    r.peek()?;
    Ok(Some(Rc::unwrap_or_clone(node)))
}

impl Reader {
    fn peek(&mut self) -> Scan<Token> {
        self.scanner.peek().cloned()
    }
    fn take(&mut self) -> Scan<Token> {
        let t = self.peek()?;
        self.scanner.skip();
        Ok(t)
    }
    fn empty_node(mark: Mark) -> Rc<Node> {
        let at = mark.position();
        Rc::new(Node { start: at, end: at, tag: String::new(), kind: NodeKind::Scalar(String::new(), true) })
    }

    fn directives(&mut self) -> Scan<()> {
        let mut version = false;
        loop {
            let t = self.peek()?;
            match t.kind {
                TokenKind::Version(..) if version => {
                    return fail(Mark::default(), "found duplicate %YAML directive", t.start);
                }
                TokenKind::Version(1, 1) => version = true,
                TokenKind::Version(..) => return fail(Mark::default(), "found incompatible YAML document", t.start),
                TokenKind::TagDirective(handle, prefix) => {
                    if self.tags.iter().any(|(h, _)| *h == handle) {
                        return fail(Mark::default(), "found duplicate %TAG directive", t.start);
                    }
                    self.tags.push((handle, prefix));
                }
                _ => break,
            }
            self.scanner.skip();
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tags.iter().any(|(h, _)| h == handle) {
                self.tags.push((handle.to_string(), prefix.to_string()));
            }
        }
        Ok(())
    }

    fn node(&mut self, block: bool, indentless: bool, depth: usize) -> Scan<Rc<Node>> {
        let mut t = self.peek()?;
        if depth > MAX_LEVELS {
            return fail(t.start, &too_deep(), t.start);
        }
        if let TokenKind::Alias(name) = t.kind {
            self.scanner.skip();
            let at = t.start.position();
            let kind = match self.anchors.get(&name) {
                Some(Some(node)) => NodeKind::Alias(name, node.clone()),
                Some(None) => NodeKind::Recursive(name),
                None => return Err(error(format!("unknown anchor '{name}' referenced"), at)),
            };
            return Ok(Rc::new(Node { start: at, end: t.end.position(), tag: String::new(), kind }));
        }
        let start = t.start;
        let mut end = t.start;
        let mut anchor: Option<String> = None;
        let mut tag: Option<(String, String, Mark)> = None;
        loop {
            match t.kind {
                TokenKind::Anchor(ref name) if anchor.is_none() => anchor = Some(name.clone()),
                TokenKind::Tag(ref handle, ref suffix) if tag.is_none() => {
                    tag = Some((handle.clone(), suffix.clone(), t.start));
                }
                _ => break,
            }
            end = t.end;
            self.scanner.skip();
            t = self.peek()?;
        }
        let tag = match tag {
            None => String::new(),
            Some((handle, suffix, _)) if handle.is_empty() => suffix,
            Some((handle, suffix, mark)) => match self.tags.iter().find(|(h, _)| *h == handle) {
                Some((_, prefix)) => format!("{prefix}{suffix}"),
                None => return fail(start, "found undefined tag handle", mark),
            },
        };
        if let Some(a) = &anchor
            && !matches!(t.kind, TokenKind::Scalar(..))
        {
            // From here on the anchor is known, but its node is not finished.
            self.anchors.insert(a.clone(), None);
        }
        let (kind, tag, end) = match t.kind {
            TokenKind::BlockEntry if indentless => self.indentless_sequence(depth)?,
            TokenKind::Scalar(text, plain) => {
                self.scanner.skip();
                let implicit = tag.is_empty() && plain || tag == "!";
                (NodeKind::Scalar(text, implicit), tag, t.end)
            }
            TokenKind::FlowSequenceStart => self.flow_sequence(depth)?,
            TokenKind::FlowMappingStart => self.flow_mapping(depth)?,
            TokenKind::BlockSequenceStart if block => self.block_sequence(depth)?,
            TokenKind::BlockMappingStart if block => self.block_mapping(depth)?,
            _ if anchor.is_some() || !tag.is_empty() => {
                let implicit = tag.is_empty();
                (NodeKind::Scalar(String::new(), implicit), tag, end)
            }
            _ => return fail(start, "did not find expected node content", t.start),
        };
        let node = Rc::new(Node { start: start.position(), end: end.position(), tag, kind });
        if let Some(a) = anchor {
            self.anchors.insert(a, Some(node.clone()));
        }
        Ok(node)
    }

    fn block_sequence(&mut self, depth: usize) -> Scan<(NodeKind, String, Mark)> {
        let first = self.take()?;
        let mut items = Vec::new();
        loop {
            let t = self.peek()?;
            match t.kind {
                TokenKind::BlockEntry => {
                    self.scanner.skip();
                    let next = self.peek()?;
                    items.push(match next.kind {
                        TokenKind::BlockEntry | TokenKind::BlockEnd => Self::empty_node(t.end),
                        _ => self.node(true, false, depth + 1)?,
                    });
                }
                TokenKind::BlockEnd => {
                    self.scanner.skip();
                    return Ok((NodeKind::Sequence(items), String::new(), t.end));
                }
                _ => return fail(first.start, "did not find expected '-' indicator", t.start),
            }
        }
    }
    fn indentless_sequence(&mut self, depth: usize) -> Scan<(NodeKind, String, Mark)> {
        let mut items = Vec::new();
        loop {
            let t = self.peek()?;
            if t.kind != TokenKind::BlockEntry {
                return Ok((NodeKind::Sequence(items), String::new(), t.start));
            }
            self.scanner.skip();
            let next = self.peek()?;
            items.push(match next.kind {
                TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                    Self::empty_node(t.end)
                }
                _ => self.node(true, false, depth + 1)?,
            });
        }
    }
    fn block_mapping(&mut self, depth: usize) -> Scan<(NodeKind, String, Mark)> {
        let first = self.take()?;
        let mut entries = Vec::new();
        loop {
            let t = self.peek()?;
            match t.kind {
                TokenKind::Key => {
                    self.scanner.skip();
                    let key = self.block_part(t.end, depth)?;
                    let v = self.peek()?;
                    let value = if v.kind == TokenKind::Value {
                        self.scanner.skip();
                        self.block_part(v.end, depth)?
                    } else {
                        Self::empty_node(v.start)
                    };
                    entries.push((key, value));
                }
                TokenKind::BlockEnd => {
                    self.scanner.skip();
                    return Ok((NodeKind::Mapping(entries), String::new(), t.end));
                }
                _ => return fail(first.start, "did not find expected key", t.start),
            }
        }
    }
    /// A key or value of a block mapping, which may be missing.
    fn block_part(&mut self, at: Mark, depth: usize) -> Scan<Rc<Node>> {
        match self.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => Ok(Self::empty_node(at)),
            _ => self.node(true, true, depth + 1),
        }
    }
    fn flow_sequence(&mut self, depth: usize) -> Scan<(NodeKind, String, Mark)> {
        let first = self.take()?;
        let mut items = Vec::new();
        loop {
            let mut t = self.peek()?;
            if t.kind != TokenKind::FlowSequenceEnd {
                if !items.is_empty() {
                    if t.kind != TokenKind::FlowEntry {
                        return fail(first.start, "did not find expected ',' or ']'", t.start);
                    }
                    self.scanner.skip();
                    t = self.peek()?;
                }
                match t.kind {
                    TokenKind::Key => {
                        self.scanner.skip();
                        items.push(self.flow_pair(t, depth)?);
                        continue;
                    }
                    TokenKind::FlowSequenceEnd => {}
                    _ => {
                        items.push(self.node(false, false, depth + 1)?);
                        continue;
                    }
                }
            }
            self.scanner.skip();
            return Ok((NodeKind::Sequence(items), String::new(), t.end));
        }
    }
    /// A mapping of one entry in a flow sequence: `[a: b]`.
    fn flow_pair(&mut self, first: Token, depth: usize) -> Scan<Rc<Node>> {
        let t = self.peek()?;
        let key = match t.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                // go-yaml takes this token, as libyaml does.
                self.scanner.skip();
                Self::empty_node(t.end)
            }
            _ => self.node(false, false, depth + 1)?,
        };
        let mut v = self.peek()?;
        let mut value = None;
        if v.kind == TokenKind::Value {
            self.scanner.skip();
            v = self.peek()?;
            if !matches!(v.kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                value = Some(self.node(false, false, depth + 1)?);
            }
        }
        let value = value.unwrap_or_else(|| Self::empty_node(v.start));
        let end = self.peek()?.start.position();
        Ok(Rc::new(Node {
            start: first.start.position(),
            end,
            tag: String::new(),
            kind: NodeKind::Mapping(vec![(key, value)]),
        }))
    }
    fn flow_mapping(&mut self, depth: usize) -> Scan<(NodeKind, String, Mark)> {
        let first = self.take()?;
        let mut entries = Vec::new();
        loop {
            let mut t = self.peek()?;
            if t.kind != TokenKind::FlowMappingEnd {
                if !entries.is_empty() {
                    if t.kind != TokenKind::FlowEntry {
                        return fail(first.start, "did not find expected ',' or '}'", t.start);
                    }
                    self.scanner.skip();
                    t = self.peek()?;
                }
                match t.kind {
                    TokenKind::Key => {
                        self.scanner.skip();
                        let k = self.peek()?;
                        let key = match k.kind {
                            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                                Self::empty_node(k.start)
                            }
                            _ => self.node(false, false, depth + 1)?,
                        };
                        let mut v = self.peek()?;
                        let mut value = None;
                        if v.kind == TokenKind::Value {
                            self.scanner.skip();
                            v = self.peek()?;
                            if !matches!(v.kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                                value = Some(self.node(false, false, depth + 1)?);
                            }
                        }
                        entries.push((key, value.unwrap_or_else(|| Self::empty_node(v.start))));
                        continue;
                    }
                    TokenKind::FlowMappingEnd => {}
                    _ => {
                        let key = self.node(false, false, depth + 1)?;
                        let v = self.peek()?;
                        entries.push((key, Self::empty_node(v.start)));
                        continue;
                    }
                }
            }
            self.scanner.skip();
            return Ok((NodeKind::Mapping(entries), String::new(), t.end));
        }
    }
}
