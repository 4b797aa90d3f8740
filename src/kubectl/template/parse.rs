//! From words to a tree (`text/template/parse/parse.go`), with its messages.

use super::functions::is_function;
use super::lex::{Kind, Token, lex};
use crate::flags::parse_int;
use crate::print::human::quote;
use std::collections::BTreeMap;

/// A part of a template.
#[derive(Clone, Debug)]
pub enum Node {
    /// Text as it is.
    Text(String),
    /// `{{pipeline}}`
    Action(Pipe),
    /// `{{if}}`, `{{with}}`, `{{range}}`
    Block(Control, Pipe, Vec<Node>, Option<Vec<Node>>),
    /// `{{break}}`
    Break,
    /// `{{continue}}`
    Continue,
    /// `{{template "name" pipeline}}`
    Template(usize, String, Option<Pipe>),
}

/// Which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// `if`
    If,
    /// `with`
    With,
    /// `range`
    Range,
}

impl Control {
    fn word(self) -> &'static str {
        match self {
            Control::If => "if",
            Control::With => "with",
            Control::Range => "range",
        }
    }
}

/// Commands whose results go from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Pipe {
    /// Byte position.
    pub pos: usize,
    /// `=` instead of `:=`
    pub assign: bool,
    /// Variables set, with their `$`.
    pub decl: Vec<String>,
    /// The commands.
    pub commands: Vec<Command>,
}

/// A word with its arguments.
#[derive(Clone, Debug)]
pub struct Command {
    /// Byte position.
    pub pos: usize,
    /// The words.
    pub args: Vec<Term>,
}

/// An operand with its place.
#[derive(Clone, Debug)]
pub struct Term {
    /// Byte position.
    pub pos: usize,
    /// What it is.
    pub expr: Expr,
}

/// An operand.
#[derive(Clone, Debug)]
pub enum Expr {
    /// `true`, `false`
    Bool(bool),
    /// `.`
    Dot,
    /// `nil`
    Nil,
    /// A number, as written.
    Number(String, Number),
    /// A string, as written and what it means.
    Str(String, String),
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a`
    Variable(Vec<String>),
    /// A function.
    Function(String),
    /// `(pipeline)`
    Pipe(Pipe),
    /// `(pipeline).a.b`
    Chain(Box<Term>, Vec<String>),
}

/// A number's value.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole one.
    Int(i64),
    /// Any other.
    Float(f64),
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.expr {
            Expr::Bool(b) => write!(f, "{b}"),
            Expr::Dot => f.write_str("."),
            Expr::Nil => f.write_str("nil"),
            Expr::Number(text, _) | Expr::Str(text, _) => f.write_str(text),
            Expr::Field(names) => names.iter().try_for_each(|n| write!(f, ".{n}")),
            Expr::Variable(names) => f.write_str(&names.join(".")),
            Expr::Function(name) => f.write_str(name),
            Expr::Pipe(p) => write!(f, "({p})"),
            Expr::Chain(term, names) => {
                write!(f, "{term}")?;
                names.iter().try_for_each(|n| write!(f, ".{n}"))
            }
        }
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, a) in self.args.iter().enumerate() {
            write!(f, "{}{a}", if i > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Pipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.decl.is_empty() {
            write!(f, "{} {} ", self.decl.join(", "), if self.assign { "=" } else { ":=" })?;
        }
        for (i, c) in self.commands.iter().enumerate() {
            write!(f, "{}{c}", if i > 0 { " | " } else { "" })?;
        }
        Ok(())
    }
}

/// Nesting of blocks and parentheses that is followed.
const MAX_DEPTH: usize = 100;

/// How a list of nodes ended.
enum End {
    /// `{{end}}`
    End,
    /// `{{else}}`; the next token tells whether `if` or `with` follows.
    Else,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    last: usize,
    vars: Vec<String>,
    ranges: usize,
    depth: usize,
    action_line: usize,
    named: BTreeMap<String, Vec<Node>>,
}

/// The tree of a template, and the templates that it defines. The error begins with the line.
pub fn parse(text: &str) -> Result<(Vec<Node>, BTreeMap<String, Vec<Node>>), String> {
    let mut p = Parser {
        tokens: lex(text),
        at: 0,
        last: 1,
        vars: vec!["$".into()],
        ranges: 0,
        depth: 0,
        action_line: 0,
        named: BTreeMap::new(),
    };
    let mut nodes = Vec::new();
    while p.peek().kind != Kind::Eof {
        if p.peek().kind == Kind::LeftDelim {
            let mark = p.at;
            p.next();
            if p.next_word().is("define") {
                p.definition()?;
                continue;
            }
            p.at = mark;
        }
        match p.text_or_action()? {
            Ok(n) => nodes.push(n),
            Err(End::End) => return Err(p.error("unexpected {{end}}")),
            Err(End::Else) => return Err(p.error("unexpected {{else}}")),
        }
    }
    Ok((nodes, p.named))
}

impl Parser {
    fn error(&self, message: &str) -> String {
        format!("{}: {message}", self.last)
    }

    fn peek(&self) -> Token {
        let end = || Token { kind: Kind::Eof, pos: 0, text: String::new(), line: 1 };
        self.tokens.get(self.at).or(self.tokens.last()).cloned().unwrap_or_else(end)
    }

    fn next(&mut self) -> Token {
        let t = self.peek();
        self.last = t.line;
        self.at += 1;
        t
    }

    fn next_word(&mut self) -> Token {
        loop {
            let t = self.next();
            if t.kind != Kind::Space {
                return t;
            }
        }
    }

    fn peek_word(&mut self) -> Token {
        let t = self.next_word();
        self.at -= 1;
        t
    }

    fn unexpected(&self, token: &Token, context: &str) -> String {
        if token.kind == Kind::Error {
            let mut extra = String::new();
            if self.action_line != 0 && self.action_line != token.line {
                extra = format!(" in action started at output:{}", self.action_line);
                if token.text.ends_with(" action") {
                    extra = extra.trim_start_matches(" in action").to_string();
                }
            }
            return self.error(&format!("{token}{extra}"));
        }
        self.error(&format!("unexpected {token} in {context}"))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token, String> {
        let t = self.next_word();
        if t.kind == kind { Ok(t) } else { Err(self.unexpected(&t, context)) }
    }

    fn template_name(&mut self, context: &str) -> Result<(usize, String), String> {
        let t = self.next_word();
        match t.kind {
            Kind::String | Kind::RawString => {
                Ok((t.pos, unquote(&t.text).ok_or_else(|| self.error("invalid syntax"))?))
            }
            _ => Err(self.unexpected(&t, context)),
        }
    }

    fn definition(&mut self) -> Result<(), String> {
        let (_, name) = self.template_name("define clause")?;
        self.expect(Kind::RightDelim, "define clause")?;
        self.body(name, "define clause")
    }

    /// The body of a template of its own, which sees no variables from outside.
    fn body(&mut self, name: String, context: &str) -> Result<(), String> {
        let vars = std::mem::replace(&mut self.vars, vec!["$".into()]);
        let ranges = std::mem::take(&mut self.ranges);
        let (nodes, end) = self.list()?;
        if matches!(end, End::Else) {
            return Err(self.error(&format!("unexpected {{{{else}}}} in {context}")));
        }
        self.vars = vars;
        self.ranges = ranges;
        self.named.insert(name, nodes);
        Ok(())
    }

    fn list(&mut self) -> Result<(Vec<Node>, End), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("max expression depth exceeded"));
        }
        let mut nodes = Vec::new();
        while self.peek_word().kind != Kind::Eof {
            match self.text_or_action()? {
                Ok(n) => nodes.push(n),
                Err(end) => {
                    self.depth -= 1;
                    return Ok((nodes, end));
                }
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Result<Node, End>, String> {
        let t = self.next_word();
        match t.kind {
            Kind::Text => Ok(Ok(Node::Text(t.text))),
            Kind::LeftDelim => {
                self.action_line = t.line;
                let node = self.action()?;
                self.action_line = 0;
                Ok(node)
            }
            _ => Err(self.unexpected(&t, "input")),
        }
    }

    fn action(&mut self) -> Result<Result<Node, End>, String> {
        let t = self.next_word();
        let word = if t.kind == Kind::Keyword { t.text.as_str() } else { "" };
        Ok(match word {
            "if" => Ok(self.control(Control::If)?),
            "with" => Ok(self.control(Control::With)?),
            "range" => Ok(self.control(Control::Range)?),
            "end" => {
                self.expect(Kind::RightDelim, "end")?;
                Err(End::End)
            }
            "else" => {
                let next = self.peek_word();
                if !next.is("if") && !next.is("with") {
                    self.expect(Kind::RightDelim, "else")?;
                }
                Err(End::Else)
            }
            "break" | "continue" => {
                let after = self.next_word();
                let shown = format!("{{{{{word}}}}}");
                if after.kind != Kind::RightDelim {
                    return Err(self.unexpected(&after, &shown));
                }
                if self.ranges == 0 {
                    return Err(self.error(&format!("{shown} outside {{{{range}}}}")));
                }
                Ok(if word == "break" { Node::Break } else { Node::Continue })
            }
            "block" => {
                let (pos, name) = self.template_name("block clause")?;
                let pipe = self.pipeline("block clause", Kind::RightDelim)?;
                self.body(name.clone(), "block clause")?;
                Ok(Node::Template(pos, name, Some(pipe)))
            }
            "template" => {
                let (pos, name) = self.template_name("template clause")?;
                let pipe = if self.peek_word().kind == Kind::RightDelim {
                    self.next();
                    None
                } else {
                    Some(self.pipeline("template clause", Kind::RightDelim)?)
                };
                Ok(Node::Template(pos, name, pipe))
            }
            _ => {
                self.at -= 1;
                Ok(Node::Action(self.pipeline("command", Kind::RightDelim)?))
            }
        })
    }

    fn control(&mut self, control: Control) -> Result<Node, String> {
        let vars = self.vars.len();
        let pipe = self.pipeline(control.word(), Kind::RightDelim)?;
        if control == Control::Range {
            self.ranges += 1;
        }
        let (list, end) = self.list()?;
        if control == Control::Range {
            self.ranges -= 1;
        }
        let mut otherwise = None;
        if matches!(end, End::Else) {
            let next = self.peek();
            if control != Control::Range && next.is(control.word()) {
                self.next();
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.error("max expression depth exceeded"));
                }
                otherwise = Some(vec![self.control(control)?]);
                self.depth -= 1;
            } else {
                let (list, end) = self.list()?;
                if matches!(end, End::Else) {
                    return Err(self.error("expected end; found {{else}}"));
                }
                otherwise = Some(list);
            }
        }
        self.vars.truncate(vars);
        Ok(Node::Block(control, pipe, list, otherwise))
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<(), String> {
        loop {
            let v = self.peek_word();
            if v.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            let mark = self.at;
            let after = self.peek_word();
            if matches!(after.kind, Kind::Assign | Kind::Declare) {
                pipe.assign = after.kind == Kind::Assign;
                self.next();
                self.vars.push(v.text.clone());
                pipe.decl.push(v.text);
                return Ok(());
            }
            if after.kind != Kind::Char || after.text != "," {
                self.at = mark - 1;
                return Ok(());
            }
            self.next();
            self.vars.push(v.text.clone());
            pipe.decl.push(v.text);
            if context != "range" || pipe.decl.len() > 1 {
                return Err(self.error(&format!("too many declarations in {context}")));
            }
            if !matches!(self.peek_word().kind, Kind::Variable | Kind::RightDelim | Kind::RightParen) {
                return Err(self.error("range can only initialize variables"));
            }
        }
    }

    fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe, String> {
        let mut pipe = Pipe { pos: self.peek_word().pos, ..Pipe::default() };
        self.declarations(&mut pipe, context)?;
        loop {
            let t = self.next_word();
            let starts = match t.kind {
                k if k == end => break,
                Kind::Bool
                | Kind::CharConstant
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => true,
                Kind::Keyword => t.text == "." || t.text == "nil",
                _ => false,
            };
            if !starts {
                return Err(self.unexpected(&t, context));
            }
            self.at -= 1;
            pipe.commands.push(self.command()?);
        }
        if pipe.commands.is_empty() {
            return Err(self.error(&format!("missing value for {context}")));
        }
        for (i, c) in pipe.commands.iter().enumerate().skip(1) {
            let literal = c.args.first().is_some_and(|a| {
                matches!(a.expr, Expr::Bool(_) | Expr::Dot | Expr::Nil | Expr::Number(..) | Expr::Str(..))
            });
            if literal {
                return Err(self.error(&format!("non executable command in pipeline stage {}", i + 1)));
            }
        }
        Ok(pipe)
    }

    fn command(&mut self) -> Result<Command, String> {
        let mut c = Command { pos: self.peek_word().pos, args: Vec::new() };
        loop {
            self.peek_word();
            if let Some(operand) = self.operand()? {
                c.args.push(operand);
            }
            let t = self.next();
            match t.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.at -= 1,
                Kind::Pipe => {}
                _ => return Err(self.unexpected(&t, "operand")),
            }
            break;
        }
        if c.args.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(c)
    }

    fn operand(&mut self) -> Result<Option<Term>, String> {
        let Some(term) = self.term()? else { return Ok(None) };
        let first = self.peek();
        let mut names = Vec::new();
        while self.peek().kind == Kind::Field {
            names.push(self.next().text.trim_start_matches('.').to_string());
        }
        if names.is_empty() {
            return Ok(Some(term));
        }
        let expr = match term.expr {
            Expr::Field(mut have) => {
                have.append(&mut names);
                Expr::Field(have)
            }
            Expr::Variable(mut have) => {
                have.append(&mut names);
                Expr::Variable(have)
            }
            Expr::Bool(_) | Expr::Str(..) | Expr::Number(..) | Expr::Nil | Expr::Dot => {
                return Err(self.error(&format!("unexpected . after term {}", quote(&term.to_string()))));
            }
            other => Expr::Chain(Box::new(Term { pos: term.pos, expr: other }), names),
        };
        Ok(Some(Term { pos: first.pos, expr }))
    }

    fn term(&mut self) -> Result<Option<Term>, String> {
        let t = self.next_word();
        let expr = match t.kind {
            Kind::Identifier => {
                if !is_function(&t.text) {
                    return Err(self.error(&format!("function {} not defined", quote(&t.text))));
                }
                Expr::Function(t.text)
            }
            Kind::Keyword if t.text == "." => Expr::Dot,
            Kind::Keyword if t.text == "nil" => Expr::Nil,
            Kind::Variable => {
                if !self.vars.contains(&t.text) {
                    return Err(self.error(&format!("undefined variable {}", quote(&t.text))));
                }
                Expr::Variable(vec![t.text])
            }
            Kind::Field => Expr::Field(vec![t.text.trim_start_matches('.').to_string()]),
            Kind::Bool => Expr::Bool(t.text == "true"),
            Kind::CharConstant => {
                let inner = t.text.get(1..t.text.len() - 1).unwrap_or("");
                let meant = unquote(&format!("\"{}\"", inner.replace('"', "\\\""))).unwrap_or_default();
                let mut chars = meant.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => Expr::Number(t.text, Number::Int(i64::from(c as u32))),
                    _ => return Err(self.error(&format!("malformed character constant: {}", t.text))),
                }
            }
            Kind::Number => {
                let value = number(&t.text).map_err(|e| self.error(&e))?;
                Expr::Number(t.text, value)
            }
            Kind::LeftParen => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.error("max expression depth exceeded"));
                }
                let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
                self.depth -= 1;
                return Ok(Some(Term { pos: pipe.pos, expr: Expr::Pipe(pipe) }));
            }
            Kind::String | Kind::RawString => {
                let text = unquote(&t.text).ok_or_else(|| self.error("invalid syntax"))?;
                Expr::Str(t.text, text)
            }
            _ => {
                self.at -= 1;
                return Ok(None);
            }
        };
        Ok(Some(Term { pos: t.pos, expr }))
    }
}

fn number(text: &str) -> Result<Number, String> {
    if let Ok(i) = parse_int(&text.replace('_', ""), 64) {
        return Ok(Number::Int(i));
    }
    match text.parse::<f64>() {
        Ok(_) if !text.contains(['.', 'e', 'E', 'p', 'P']) => Err(format!("integer overflow: {}", quote(text))),
        Ok(f) => Ok(Number::Float(f)),
        Err(_) => Err(format!("illegal number syntax: {}", quote(text))),
    }
}

/// Go's `strconv.Unquote` of a string in double or back quotes.
fn unquote(text: &str) -> Option<String> {
    if text.starts_with('`') {
        return Some(text.get(1..text.len() - 1)?.replace('\r', ""));
    }
    let mut out = Vec::new();
    let mut chars = text.get(1..text.len().checked_sub(1)?)?.chars();
    let push = |out: &mut Vec<u8>, c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        match chars.next()? {
            'x' => out.push(u8::try_from(code(&mut chars, "", 2, 16)?).ok()?),
            'u' => push(&mut out, char::from_u32(code(&mut chars, "", 4, 16)?)?),
            'U' => push(&mut out, char::from_u32(code(&mut chars, "", 8, 16)?)?),
            c @ '0'..='7' => out.push(u8::try_from(code(&mut chars, &c.to_string(), 2, 8)?).ok()?),
            'n' => out.push(b'\n'),
            't' => out.push(b'\t'),
            'r' => out.push(b'\r'),
            'a' => out.push(7),
            'b' => out.push(8),
            'f' => out.push(12),
            'v' => out.push(11),
            c @ ('\\' | '"') => push(&mut out, c),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// A character's number: `n` digits more.
fn code(chars: &mut std::str::Chars<'_>, first: &str, n: usize, radix: u32) -> Option<u32> {
    let mut digits = first.to_string();
    digits.extend(chars.take(n));
    u32::from_str_radix(&digits, radix).ok()
}
