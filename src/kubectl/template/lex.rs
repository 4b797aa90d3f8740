//! The words of a template: text, delimiters, and what stands between them (`text/template/parse/lex.go`).

use crate::print::human::quote;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mistake; the text is its message.
    Error,
    /// `true`, `false`
    Bool,
    /// Any other printable character, such as a comma.
    Char,
    /// `'x'`
    CharConstant,
    /// `=`
    Assign,
    /// `:=`
    Declare,
    /// The end.
    Eof,
    /// `.name`
    Field,
    /// `name`
    Identifier,
    /// `{{`
    LeftDelim,
    /// `(`
    LeftParen,
    /// A number.
    Number,
    /// `|`
    Pipe,
    /// A string in back quotes.
    RawString,
    /// `}}`
    RightDelim,
    /// `)`
    RightParen,
    /// Space between words.
    Space,
    /// A string in double quotes.
    String,
    /// Text outside of actions.
    Text,
    /// `$name`
    Variable,
    /// A keyword, or `.` or `nil`.
    Keyword,
}

/// A token with its place.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Byte position.
    pub pos: usize,
    /// Its text.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
}

impl Token {
    /// Whether it is this keyword.
    pub fn is(&self, keyword: &str) -> bool {
        self.kind == Kind::Keyword && self.text == keyword
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            Kind::Eof => f.write_str("EOF"),
            Kind::Error => f.write_str(&self.text),
            Kind::Keyword => write!(f, "<{}>", self.text),
            _ if self.text.len() > 10 => {
                let head: String = self.text.chars().take(10).collect();
                write!(f, "{}...", quote(&head))
            }
            _ => f.write_str(&quote(&self.text)),
        }
    }
}

const KEYWORDS: [&str; 12] =
    [".", "block", "break", "continue", "define", "else", "end", "if", "range", "nil", "template", "with"];
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

fn alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_numeric()
}

fn left_trim(text: &str) -> bool {
    text.starts_with('-') && text.get(1..).is_some_and(|t| t.starts_with(SPACES))
}

fn right_trim(text: &str) -> bool {
    text.starts_with(SPACES) && text.get(1..).is_some_and(|t| t.starts_with('-'))
}

/// All tokens of a template; the last is an error or the end.
pub fn lex(input: &str) -> Vec<Token> {
    let mut l = Lexer { input, pos: 0, start: 0, depth: 0, out: Vec::new() };
    let message = l.text();
    if let Err(text) = message {
        let line = l.line_at(l.start);
        l.out.push(Token { kind: Kind::Error, pos: l.start, text, line });
    }
    l.out
}

struct Lexer<'t> {
    input: &'t str,
    pos: usize,
    start: usize,
    depth: i32,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.input.get(self.pos..).unwrap_or("")
    }

    fn line_at(&self, pos: usize) -> usize {
        1 + self.input.get(..pos).unwrap_or("").matches('\n').count()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    fn emit(&mut self, kind: Kind) {
        let text = self.input.get(self.start..self.pos).unwrap_or("").to_string();
        let line = self.line_at(self.start);
        self.out.push(Token { kind, pos: self.start, text, line });
        self.start = self.pos;
    }

    fn right_delim(&self) -> Option<bool> {
        let rest = self.rest();
        if right_trim(rest) && rest.get(2..).is_some_and(|t| t.starts_with("}}")) {
            return Some(true);
        }
        rest.starts_with("}}").then_some(false)
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.pos += rest.len() - rest.trim_start_matches(SPACES).len();
        self.start = self.pos;
    }

    fn text(&mut self) -> Result<(), String> {
        loop {
            let Some(at) = self.rest().find("{{") else {
                self.pos = self.input.len();
                if self.pos > self.start {
                    self.emit(Kind::Text);
                }
                self.emit(Kind::Eof);
                return Ok(());
            };
            let open = self.pos + at;
            let trim = left_trim(self.input.get(open + 2..).unwrap_or(""));
            let text = self.input.get(self.start..open).unwrap_or("");
            let kept = if trim { text.trim_end_matches(SPACES).len() } else { text.len() };
            if kept > 0 {
                self.pos = self.start + kept;
                self.emit(Kind::Text);
            }
            self.start = open;
            self.pos = open + 2;
            let marker = if trim { 2 } else { 0 };
            if self.rest().get(marker..).is_some_and(|t| t.starts_with("/*")) {
                self.pos += marker;
                self.start = self.pos;
                self.comment()?;
                continue;
            }
            self.emit(Kind::LeftDelim);
            self.pos += marker;
            self.start = self.pos;
            self.depth = 0;
            self.action()?;
        }
    }

    fn comment(&mut self) -> Result<(), String> {
        let Some(end) = self.rest().get(2..).and_then(|t| t.find("*/")) else {
            return Err("unclosed comment".into());
        };
        self.pos += end + 4;
        let Some(trim) = self.right_delim() else {
            return Err("comment ends before closing delimiter".into());
        };
        self.pos += if trim { 4 } else { 2 };
        self.start = self.pos;
        if trim {
            self.skip_spaces();
        }
        Ok(())
    }

    fn action(&mut self) -> Result<(), String> {
        loop {
            if let Some(trim) = self.right_delim() {
                if self.depth > 0 {
                    return Err("unclosed left paren".into());
                }
                if trim {
                    self.pos += 2;
                    self.start = self.pos;
                }
                self.pos += 2;
                self.emit(Kind::RightDelim);
                if trim {
                    self.skip_spaces();
                }
                return Ok(());
            }
            let Some(c) = self.next() else { return Err("unclosed action".into()) };
            match c {
                c if SPACES.contains(&c) => {
                    while self.peek().is_some_and(|c| SPACES.contains(&c)) && self.right_delim().is_none() {
                        self.next();
                    }
                    self.emit(Kind::Space);
                }
                '=' => self.emit(Kind::Assign),
                ':' => {
                    if self.next() != Some('=') {
                        return Err("expected :=".into());
                    }
                    self.emit(Kind::Declare);
                }
                '|' => self.emit(Kind::Pipe),
                '"' => self.quoted('"', "unterminated quoted string", Kind::String)?,
                '\'' => self.quoted('\'', "unterminated character constant", Kind::CharConstant)?,
                '`' => {
                    loop {
                        match self.next() {
                            None => return Err("unterminated raw quoted string".into()),
                            Some('`') => break,
                            _ => {}
                        }
                    }
                    self.emit(Kind::RawString);
                }
                '$' => self.name(Kind::Variable)?,
                '.' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => self.name(Kind::Field)?,
                c if c == '.' || c == '+' || c == '-' || c.is_ascii_digit() => {
                    self.pos = self.start;
                    self.number()?;
                }
                c if alphanumeric(c) => self.identifier()?,
                '(' => {
                    self.depth += 1;
                    self.emit(Kind::LeftParen);
                }
                ')' => {
                    self.depth -= 1;
                    if self.depth < 0 {
                        return Err("unexpected right paren".into());
                    }
                    self.emit(Kind::RightParen);
                }
                c if c.is_ascii_graphic() => self.emit(Kind::Char),
                c => return Err(format!("unrecognized character in action: {}", rune(Some(c)))),
            }
        }
    }

    fn quoted(&mut self, end: char, message: &str, kind: Kind) -> Result<(), String> {
        loop {
            match self.next() {
                Some('\\') if self.next().is_none_or(|c| c == '\n') => {
                    return Err(message.into());
                }
                None | Some('\n') => return Err(message.into()),
                Some(c) if c == end => break,
                _ => {}
            }
        }
        self.emit(kind);
        Ok(())
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(c) => SPACES.contains(&c) || self.rest().starts_with("}}"),
        }
    }

    fn name(&mut self, kind: Kind) -> Result<(), String> {
        if self.at_terminator() {
            self.emit(if kind == Kind::Field { Kind::Keyword } else { kind });
            return Ok(());
        }
        while self.peek().is_some_and(alphanumeric) {
            self.next();
        }
        if !self.at_terminator() {
            return Err(format!("bad character {}", rune(self.peek())));
        }
        self.emit(kind);
        Ok(())
    }

    fn identifier(&mut self) -> Result<(), String> {
        while self.peek().is_some_and(alphanumeric) {
            self.next();
        }
        if !self.at_terminator() {
            return Err(format!("bad character {}", rune(self.peek())));
        }
        let word = self.input.get(self.start..self.pos).unwrap_or("");
        let kind = match word {
            w if KEYWORDS.contains(&w) => Kind::Keyword,
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        self.emit(kind);
        Ok(())
    }

    fn accept(&mut self, valid: &str) -> bool {
        let found = self.peek().is_some_and(|c| valid.contains(c));
        if found {
            self.next();
        }
        found
    }

    fn number(&mut self) -> Result<(), String> {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        let (decimal, hex) = (digits.len() == 11, digits.len() == 23);
        while self.accept(digits) {}
        if self.accept(".") {
            while self.accept(digits) {}
        }
        if decimal && self.accept("eE") || hex && self.accept("pP") {
            self.accept("+-");
            while self.accept("0123456789_") {}
        }
        self.accept("i");
        if self.peek().is_some_and(alphanumeric) {
            self.next();
            let text = self.input.get(self.start..self.pos).unwrap_or("");
            return Err(format!("bad number syntax: {}", quote(text)));
        }
        self.emit(Kind::Number);
        Ok(())
    }
}

/// Go's `%#U`.
fn rune(c: Option<char>) -> String {
    match c {
        None => "U+FFFFFFFFFFFFFFFF".into(),
        Some(c) if c.is_control() => format!("U+{:04X}", c as u32),
        Some(c) => format!("U+{:04X} '{c}'", c as u32),
    }
}
