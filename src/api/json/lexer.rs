//! Tokens of JSON, with the errors of Go's scanner.
use crate::go;
use std::borrow::Cow;
use std::fmt;

/// How deep values may nest. Go allows 10,000; the stack of a wasm worker doesn't.
pub const MAX_DEPTH: usize = 400;

/// Text that is no JSON; Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Go's text.
    pub message: String,
    /// How many bytes were read before it.
    pub offset: usize,
}
impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for SyntaxError {}

pub(super) type Result<T> = std::result::Result<T, SyntaxError>;

/// Whether bytes are one JSON document.
pub fn is_valid(json: &[u8]) -> bool {
    let text = String::from_utf8_lossy(json);
    let mut lexer = Lexer::new(&text);
    lexer.skip().and_then(|_| lexer.end()).is_ok()
}

/// A cursor over JSON text.
pub(super) struct Lexer<'a> {
    pub text: &'a str,
    pub pos: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, pos: 0 }
    }
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }
    #[cold]
    pub fn error<T>(&self, context: &str) -> Result<T> {
        Err(match self.byte(self.pos) {
            // Go's scanner is fed a space at the end, which some states don't take.
            None if context.contains("literal") && context != "in string literal" || context.contains("escape") => {
                SyntaxError { message: format!("invalid character ' ' {context}"), offset: self.pos }
            }
            None => SyntaxError { message: "unexpected end of JSON input".into(), offset: self.pos },
            Some(b) => SyntaxError {
                message: format!("invalid character {} {context}", go::quote_byte(b)),
                offset: self.pos + 1,
            },
        })
    }
    #[cold]
    pub fn too_deep<T>(&self) -> Result<T> {
        Err(SyntaxError { message: "exceeded max depth".into(), offset: self.pos + 1 })
    }
    /// The next byte that is no white space, 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        loop {
            match self.byte(self.pos) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.pos += 1,
                Some(b) => return b,
                None => return 0,
            }
        }
    }
    /// Nothing may follow.
    pub fn end(&mut self) -> Result<()> {
        self.peek();
        if self.pos < self.text.len() { self.error("after top-level value") } else { Ok(()) }
    }
    pub fn literal(&mut self, word: &str) -> Result<()> {
        for (i, c) in word.bytes().enumerate() {
            if self.byte(self.pos) != Some(c) {
                return if i == 0 {
                    self.error("looking for beginning of value")
                } else {
                    self.error(&format!("in literal {word} (expecting {})", go::quote_byte(c)))
                };
            }
            self.pos += 1;
        }
        Ok(())
    }
    /// A string; the cursor is on its opening quote.
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        self.pos += 1;
        let start = self.pos;
        loop {
            match self.byte(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(Cow::Borrowed(self.text.get(start..self.pos - 1).unwrap_or("")));
                }
                Some(b'\\') => break,
                Some(c) if c >= 0x20 => self.pos += 1,
                _ => return self.error("in string literal"),
            }
        }
        let mut out = String::from(self.text.get(start..self.pos).unwrap_or(""));
        loop {
            let run = self.pos;
            while self.byte(self.pos).is_some_and(|c| c >= 0x20 && c != b'"' && c != b'\\') {
                self.pos += 1;
            }
            out.push_str(self.text.get(run..self.pos).unwrap_or(""));
            match self.byte(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    self.pos += 1;
                    let c = self.byte(self.pos);
                    out.push(match c {
                        Some(b'n') => '\n',
                        Some(b't') => '\t',
                        Some(b'r') => '\r',
                        Some(b'b') => '\x08',
                        Some(b'f') => '\x0c',
                        Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
                        Some(b'u') => {
                            self.pos += 1;
                            let c = self.escaped()?;
                            out.push(c);
                            continue;
                        }
                        _ => return self.error("in string escape code"),
                    });
                    self.pos += 1;
                }
                _ => return self.error("in string literal"),
            }
        }
    }
    /// What stands behind `\u`; half a surrogate pair becomes U+FFFD.
    fn escaped(&mut self) -> Result<char> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.text.as_bytes().get(self.pos..self.pos + 2) == Some(b"\\u") {
            let back = self.pos;
            self.pos += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let c = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(c).unwrap_or('\u{fffd}'));
            }
            self.pos = back;
        }
        Ok(char::from_u32(first).unwrap_or('\u{fffd}'))
    }
    fn hex(&mut self) -> Result<u32> {
        let mut v = 0;
        for _ in 0..4 {
            match self.byte(self.pos).and_then(|c| char::from(c).to_digit(16)) {
                Some(d) => v = v * 16 + d,
                None => return self.error("in \\u hexadecimal character escape"),
            }
            self.pos += 1;
        }
        Ok(v)
    }
    /// A number; the cursor is on `-` or a digit.
    pub fn number(&mut self) -> Result<&'a str> {
        let start = self.pos;
        if self.byte(self.pos) == Some(b'-') {
            self.pos += 1;
        }
        match self.byte(self.pos) {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.error("in numeric literal"),
        }
        if self.byte(self.pos) == Some(b'.') {
            self.pos += 1;
            if !self.byte(self.pos).is_some_and(|c| c.is_ascii_digit()) {
                return self.error("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.byte(self.pos), Some(b'e' | b'E')) {
            self.pos += 1;
            if matches!(self.byte(self.pos), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            if !self.byte(self.pos).is_some_and(|c| c.is_ascii_digit()) {
                return self.error("in exponent of numeric literal");
            }
            self.digits();
        }
        Ok(self.text.get(start..self.pos).unwrap_or(""))
    }
    fn digits(&mut self) {
        while self.byte(self.pos).is_some_and(|c| c.is_ascii_digit()) {
            self.pos += 1;
        }
    }
    /// Steps over the opening bracket; says whether something is inside.
    pub fn open(&mut self, end: u8) -> bool {
        self.pos += 1;
        if self.peek() == end {
            self.pos += 1;
            return false;
        }
        true
    }
    /// Steps over a comma (true) or the closing bracket (false).
    #[inline]
    pub fn more(&mut self, end: u8) -> Result<bool> {
        match self.peek() {
            b',' => {
                self.pos += 1;
                Ok(true)
            }
            c if c == end => {
                self.pos += 1;
                Ok(false)
            }
            _ => self.error(if end == b'}' { "after object key:value pair" } else { "after array element" }),
        }
    }
    /// An object's key with its colon.
    #[inline]
    pub fn key(&mut self) -> Result<Cow<'a, str>> {
        if self.peek() != b'"' {
            return self.error("looking for beginning of object key string");
        }
        let k = self.string()?;
        if self.peek() != b':' {
            return self.error("after object key");
        }
        self.pos += 1;
        Ok(k)
    }
    /// Steps over a value; gives its text.
    pub fn skip(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.pos;
        // The open brackets, without recursion.
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                b'{' => {
                    if self.open(b'}') {
                        self.nest(&mut open, b'}')?;
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    if self.open(b']') {
                        self.nest(&mut open, b']')?;
                        continue;
                    }
                }
                b'"' => {
                    self.string()?;
                }
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                b'-' | b'0'..=b'9' => {
                    self.number()?;
                }
                _ => return self.error("looking for beginning of value"),
            }
            loop {
                let Some(end) = open.last().copied() else {
                    return Ok(self.text.get(start..self.pos).unwrap_or(""));
                };
                if self.more(end)? {
                    if end == b'}' {
                        self.key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }
    fn nest(&self, open: &mut Vec<u8>, end: u8) -> Result<()> {
        open.push(end);
        if open.len() > MAX_DEPTH { self.too_deep() } else { Ok(()) }
    }
}
