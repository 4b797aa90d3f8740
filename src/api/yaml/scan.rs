//! Text to tokens: the scanner of go-yaml v2 (a port of libyaml's), with its messages.
mod scalars;
mod tags;

use super::Error;
use super::read::{Position, error};
use std::collections::{BTreeMap, VecDeque};

/// A place in the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub index: usize,
    pub line: usize,
    pub column: usize,
}
impl Mark {
    pub fn position(self) -> Position {
        Position { line: self.line, column: self.column }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    Version(u8, u8),
    TagDirective(String, String),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag(String, String),
    /// The text, and whether it is plain.
    Scalar(String, bool),
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub start: Mark,
    pub end: Mark,
}

#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token_number: usize,
    mark: Mark,
}

/// A place where a key may have begun counts for so many characters.
const SIMPLE_KEY_MAX: usize = 1024;
/// Go reads its input in pieces of so many bytes, and complains of characters as soon as it reads them.
const CHUNK: usize = 512;
/// How deep flow collections and indentations may nest (go-yaml allows 10,000).
pub(super) const MAX_LEVELS: usize = 200;

/// go-yaml's complaint of more than that, with the bound that holds here.
pub(super) fn too_deep() -> String {
    format!("exceeded max depth of {MAX_LEVELS}")
}

pub(super) struct Scanner {
    chars: Vec<char>,
    mark: Mark,
    /// How much Go would have read by now.
    loaded: usize,
    /// The first character that is not allowed.
    bad: Option<usize>,
    started: bool,
    ended: bool,
    flow_level: usize,
    tokens: VecDeque<Token>,
    tokens_parsed: usize,
    indent: i64,
    indents: Vec<i64>,
    simple_key_allowed: bool,
    simple_keys: Vec<SimpleKey>,
    simple_keys_by_token: BTreeMap<usize, usize>,
}

pub(super) type Scan<T> = Result<T, Error>;

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}
fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
fn is_breakz(c: char) -> bool {
    c == '\0' || is_break(c)
}
fn is_blankz(c: char) -> bool {
    is_blank(c) || is_breakz(c)
}
fn is_alpha(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
fn allowed(c: char) -> bool {
    matches!(c as u32, 0x09 | 0x0a | 0x0d | 0x20..=0x7e | 0x85 | 0xa0..=0xd7ff | 0xe000..=0xfffd | 0x10000..=0x10ffff)
}

impl Scanner {
    pub fn new(text: &str) -> Scanner {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let chars: Vec<char> = text.chars().collect();
        let bad = chars.iter().position(|c| !allowed(*c));
        Scanner {
            chars,
            mark: Mark::default(),
            loaded: 0,
            bad,
            started: false,
            ended: false,
            flow_level: 0,
            tokens: VecDeque::new(),
            tokens_parsed: 0,
            indent: -1,
            indents: Vec::new(),
            simple_key_allowed: false,
            simple_keys: Vec::new(),
            simple_keys_by_token: BTreeMap::new(),
        }
    }

    /// The next token, not yet taken.
    pub fn peek(&mut self) -> Scan<&Token> {
        self.fetch_more()?;
        match self.tokens.front() {
            Some(t) => Ok(t),
            None => Err(error("unknown problem parsing YAML content", self.mark.position())),
        }
    }
    /// Takes the token that was peeked.
    pub fn skip(&mut self) {
        if let Some(t) = self.tokens.pop_front() {
            self.tokens_parsed += 1;
            self.ended = t.kind == TokenKind::StreamEnd;
            if self.ended {
                // Nothing comes behind it: it stays.
                self.tokens.push_front(t);
            }
        }
    }

    fn at(&self, ahead: usize) -> char {
        self.chars.get(self.mark.index + ahead).copied().unwrap_or('\0')
    }
    /// Makes sure that so many characters are read.
    fn cache(&mut self, n: usize) -> Scan<()> {
        while self.loaded < self.mark.index + n && self.loaded <= self.chars.len() {
            self.loaded += CHUNK;
        }
        match self.bad {
            Some(at) if at < self.loaded => Err(error("control characters are not allowed", self.position_of(at))),
            _ => Ok(()),
        }
    }
    fn position_of(&self, index: usize) -> Position {
        let before = self.chars.get(..index).unwrap_or(&[]);
        let line = before.iter().filter(|c| **c == '\n').count();
        let column = before.iter().rev().take_while(|c| **c != '\n').count();
        Position { line, column }
    }
    fn advance(&mut self) {
        self.mark.index += 1;
        self.mark.column += 1;
    }
    fn read(&mut self, into: &mut String) {
        into.push(self.at(0));
        self.advance();
    }
    fn skip_line(&mut self) {
        if self.at(0) == '\r' && self.at(1) == '\n' {
            self.mark.index += 2;
        } else if is_break(self.at(0)) {
            self.mark.index += 1;
        } else {
            return;
        }
        self.mark.column = 0;
        self.mark.line += 1;
    }
    fn read_line(&mut self, into: &mut String) {
        match self.at(0) {
            '\r' | '\n' | '\u{85}' => into.push('\n'),
            c @ ('\u{2028}' | '\u{2029}') => into.push(c),
            _ => return,
        }
        self.skip_line();
    }
    fn column(&self) -> i64 {
        self.mark.column as i64
    }

    /// An error of the scanner at the present place. Go names the line of it, or of where the context began if it is
    /// on the first line.
    fn fail<T>(&self, context: Mark, problem: &str) -> Scan<T> {
        let line = match (self.mark.line, context.line) {
            (0, line) => line,
            (line, _) => line + 1,
        };
        Err(at_line(line, problem, self.mark))
    }

    fn fetch_more(&mut self) -> Scan<()> {
        loop {
            if self.ended {
                return Ok(());
            }
            if !self.tokens.is_empty() {
                let Some(&i) = self.simple_keys_by_token.get(&self.tokens_parsed) else { return Ok(()) };
                if !self.simple_key_is_valid(i)? {
                    return Ok(());
                }
            }
            self.fetch_next()?;
        }
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        self.tokens.push_back(Token { kind, start, end: self.mark });
    }

    fn fetch_next(&mut self) -> Scan<()> {
        self.cache(1)?;
        if !self.started {
            self.started = true;
            self.simple_keys.push(SimpleKey::default());
            self.simple_key_allowed = true;
            self.push(TokenKind::StreamStart, self.mark);
            return Ok(());
        }
        self.skip_to_next_token()?;
        self.unroll_indent(self.column());
        self.cache(4)?;
        let c = self.at(0);
        let start = self.mark;
        if c == '\0' {
            return self.fetch_stream_end();
        }
        if start.column == 0 && c == '%' {
            self.unroll_indent(-1);
            self.remove_simple_key()?;
            self.simple_key_allowed = false;
            return self.scan_directive();
        }
        if start.column == 0 && is_blankz(self.at(3)) {
            let kind = match [c, self.at(1), self.at(2)] {
                ['-', '-', '-'] => Some(TokenKind::DocumentStart),
                ['.', '.', '.'] => Some(TokenKind::DocumentEnd),
                _ => None,
            };
            if let Some(kind) = kind {
                self.unroll_indent(-1);
                self.remove_simple_key()?;
                self.simple_key_allowed = false;
                for _ in 0..3 {
                    self.advance();
                }
                self.push(kind, start);
                return Ok(());
            }
        }
        let flow = self.flow_level > 0;
        let next = self.at(1);
        match c {
            '[' => self.flow_start(TokenKind::FlowSequenceStart),
            '{' => self.flow_start(TokenKind::FlowMappingStart),
            ']' => self.flow_end(TokenKind::FlowSequenceEnd),
            '}' => self.flow_end(TokenKind::FlowMappingEnd),
            ',' => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.advance();
                self.push(TokenKind::FlowEntry, start);
                Ok(())
            }
            '-' if is_blankz(next) => self.block_entry(),
            '?' if flow || is_blankz(next) => self.key(),
            ':' if flow || is_blankz(next) => self.value(),
            '*' | '&' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_anchor(c == '*')
            }
            '!' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_tag()
            }
            '|' | '>' if !flow => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.scan_block_scalar(c == '|')
            }
            '\'' | '"' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_flow_scalar(c == '\'')
            }
            c => {
                let indicator = is_blankz(c)
                    || matches!(
                        c,
                        '-' | '?'
                            | ':'
                            | ','
                            | '['
                            | ']'
                            | '{'
                            | '}'
                            | '#'
                            | '&'
                            | '*'
                            | '!'
                            | '|'
                            | '>'
                            | '\''
                            | '"'
                            | '%'
                            | '@'
                            | '`'
                    );
                if !indicator || c == '-' && !is_blank(next) || !flow && matches!(c, '?' | ':') && !is_blankz(next) {
                    self.save_simple_key()?;
                    self.simple_key_allowed = false;
                    return self.scan_plain_scalar();
                }
                self.fail(self.mark, "found character that cannot start any token")
            }
        }
    }

    fn simple_key_is_valid(&mut self, i: usize) -> Scan<bool> {
        let Some(key) = self.simple_keys.get(i).copied() else { return Ok(false) };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.mark.line || key.mark.index + SIMPLE_KEY_MAX < self.mark.index {
            if key.required {
                return self.fail(key.mark, "could not find expected ':'");
            }
            if let Some(k) = self.simple_keys.get_mut(i) {
                k.possible = false;
            }
            return Ok(false);
        }
        Ok(true)
    }
    fn save_simple_key(&mut self) -> Scan<()> {
        let required = self.flow_level == 0 && self.indent == self.column();
        if self.simple_key_allowed {
            let key = SimpleKey {
                possible: true,
                required,
                token_number: self.tokens_parsed + self.tokens.len(),
                mark: self.mark,
            };
            self.remove_simple_key()?;
            let last = self.simple_keys.len().saturating_sub(1);
            if let Some(k) = self.simple_keys.last_mut() {
                *k = key;
            }
            self.simple_keys_by_token.insert(key.token_number, last);
        }
        Ok(())
    }
    fn remove_simple_key(&mut self) -> Scan<()> {
        let Some(key) = self.simple_keys.last().copied() else { return Ok(()) };
        if key.possible {
            if key.required {
                return self.fail(key.mark, "could not find expected ':'");
            }
            if let Some(k) = self.simple_keys.last_mut() {
                k.possible = false;
            }
            self.simple_keys_by_token.remove(&key.token_number);
        }
        Ok(())
    }

    fn roll_indent(&mut self, column: i64, number: Option<usize>, kind: TokenKind, mark: Mark) -> Scan<()> {
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_LEVELS {
            return self.fail(mark, &too_deep());
        }
        let token = Token { kind, start: mark, end: mark };
        match number {
            Some(n) => self.insert(n, token),
            None => self.tokens.push_back(token),
        }
        Ok(())
    }
    /// Inserts a token before the one of that number.
    fn insert(&mut self, number: usize, token: Token) {
        let at = number.saturating_sub(self.tokens_parsed).min(self.tokens.len());
        self.tokens.insert(at, token);
    }
    fn unroll_indent(&mut self, column: i64) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(TokenKind::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Scan<()> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.mark);
        Ok(())
    }
    fn flow_start(&mut self, kind: TokenKind) -> Scan<()> {
        self.save_simple_key()?;
        self.simple_keys.push(SimpleKey {
            possible: false,
            required: false,
            token_number: self.tokens_parsed + self.tokens.len(),
            mark: self.mark,
        });
        self.flow_level += 1;
        if self.flow_level > MAX_LEVELS {
            return self.fail(self.mark, &too_deep());
        }
        self.simple_key_allowed = true;
        let start = self.mark;
        self.advance();
        self.push(kind, start);
        Ok(())
    }
    fn flow_end(&mut self, kind: TokenKind) -> Scan<()> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(k) = self.simple_keys.pop() {
                self.simple_keys_by_token.remove(&k.token_number);
            }
        }
        self.simple_key_allowed = false;
        let start = self.mark;
        self.advance();
        self.push(kind, start);
        Ok(())
    }
    fn block_entry(&mut self) -> Scan<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fail(self.mark, "block sequence entries are not allowed in this context");
            }
            self.roll_indent(self.column(), None, TokenKind::BlockSequenceStart, self.mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let start = self.mark;
        self.advance();
        self.push(TokenKind::BlockEntry, start);
        Ok(())
    }
    fn key(&mut self) -> Scan<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fail(self.mark, "mapping keys are not allowed in this context");
            }
            self.roll_indent(self.column(), None, TokenKind::BlockMappingStart, self.mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        let start = self.mark;
        self.advance();
        self.push(TokenKind::Key, start);
        Ok(())
    }
    fn value(&mut self) -> Scan<()> {
        let last = self.simple_keys.len().saturating_sub(1);
        if self.simple_key_is_valid(last)? {
            let key = self.simple_keys.get(last).copied().unwrap_or_default();
            self.insert(key.token_number, Token { kind: TokenKind::Key, start: key.mark, end: key.mark });
            let column = key.mark.column as i64;
            self.roll_indent(column, Some(key.token_number), TokenKind::BlockMappingStart, key.mark)?;
            if let Some(k) = self.simple_keys.get_mut(last) {
                k.possible = false;
            }
            self.simple_keys_by_token.remove(&key.token_number);
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.fail(self.mark, "mapping values are not allowed in this context");
                }
                self.roll_indent(self.column(), None, TokenKind::BlockMappingStart, self.mark)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        let start = self.mark;
        self.advance();
        self.push(TokenKind::Value, start);
        Ok(())
    }

    fn skip_to_next_token(&mut self) -> Scan<()> {
        loop {
            self.cache(1)?;
            if self.mark.column == 0 && self.at(0) == '\u{feff}' {
                self.advance();
            }
            self.cache(1)?;
            while self.at(0) == ' ' || (self.flow_level > 0 || !self.simple_key_allowed) && self.at(0) == '\t' {
                self.advance();
                self.cache(1)?;
            }
            self.skip_comment()?;
            if !is_break(self.at(0)) {
                return Ok(());
            }
            self.cache(2)?;
            self.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }
    fn skip_comment(&mut self) -> Scan<()> {
        if self.at(0) == '#' {
            while !is_breakz(self.at(0)) {
                self.advance();
                self.cache(1)?;
            }
        }
        Ok(())
    }
    fn skip_blanks(&mut self) -> Scan<()> {
        self.cache(1)?;
        while is_blank(self.at(0)) {
            self.advance();
            self.cache(1)?;
        }
        Ok(())
    }
}

/// Go's text of a problem: the line is left out when it is none.
pub(super) fn at_line(line: usize, problem: &str, mark: Mark) -> Error {
    match line {
        0 => error(problem, mark.position()),
        n => error(format!("line {n}: {problem}"), mark.position()),
    }
}
