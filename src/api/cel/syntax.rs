//! The tree of an expression, and the parser (cel-go's parser and its ANTLR messages).

use super::Issue;
use super::lexer::{Kind, Token, tokens};
use super::macros;
use super::types::Type;
use super::value::Val;
use crate::Str;

/// Deepest nesting: the stack of a WebAssembly instance is small.
const DEPTH: u16 = 100;
/// Deepest tree, which long sums are too.
const TREE: u16 = 200;

/// A node of the tree.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub kind: Node,
    /// Where its operator is, in characters.
    pub at: usize,
    /// How deep the tree below it is.
    pub depth: u16,
    /// Of a call: the only one of the function's forms that its arguments fit, once it is checked.
    pub overload: Option<&'static str>,
    /// All the forms that they fit, a bit each.
    pub overloads: u32,
    /// Its type, where costs are estimated.
    pub of: Type,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Literal(Val),
    Ident(Str),
    /// Operand, field, whether it is only asked for (`has`).
    Select(Box<Expr>, Str, bool),
    /// Function, receiver, arguments.
    Call(Str, Option<Box<Expr>>, Vec<Expr>),
    /// With whether each is `?`.
    List(Vec<(Expr, bool)>),
    Map(Vec<(Expr, Expr, bool)>),
    /// `Type{field: value}`: each with where its name is and whether it is `?`.
    Message(Str, Vec<(Str, usize, Expr, bool)>),
    Loop(Box<Loop>),
}

/// What the macros over lists and maps become.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub range: Expr,
    pub var: Str,
    pub second: Option<Str>,
    pub accumulator: Str,
    pub init: Expr,
    pub condition: Expr,
    pub step: Expr,
    pub result: Expr,
}

impl Expr {
    pub fn new(kind: Node, at: usize) -> Expr {
        let depth = match &kind {
            Node::Literal(_) | Node::Ident(_) => 0,
            Node::Select(operand, ..) => operand.depth,
            Node::Call(_, target, args) => {
                target.iter().map(|e| e.depth).chain(args.iter().map(|e| e.depth)).max().unwrap_or(0)
            }
            Node::List(items) => items.iter().map(|(e, _)| e.depth).max().unwrap_or(0),
            Node::Map(entries) => entries.iter().map(|(k, v, _)| k.depth.max(v.depth)).max().unwrap_or(0),
            Node::Message(_, fields) => fields.iter().map(|(_, _, e, _)| e.depth).max().unwrap_or(0),
            Node::Loop(l) => l.range.depth.max(l.step.depth).max(l.init.depth).max(l.result.depth),
        };
        Expr { kind, at, depth: depth.saturating_add(1), overload: None, overloads: 0, of: Type::Dyn }
    }

    pub fn call(name: &str, args: Vec<Expr>, at: usize) -> Expr {
        Expr::new(Node::Call(name.into(), None, args), at)
    }

    pub fn ident(name: &str, at: usize) -> Expr {
        Expr::new(Node::Ident(name.into()), at)
    }

    pub fn literal(value: Val, at: usize) -> Expr {
        Expr::new(Node::Literal(value), at)
    }

    /// `a.b.c` as a name.
    pub fn qualified(&self) -> Option<String> {
        match &self.kind {
            Node::Ident(name) => Some(name.to_string()),
            Node::Select(operand, field, false) => Some(format!("{}.{field}", operand.qualified()?)),
            _ => None,
        }
    }
}

const EXPR: &str =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
];
const MORE_RESERVED: [&str; 4] = ["null", "true", "void", "while"];
const RELATIONS: [&str; 7] = ["<", "<=", ">=", ">", "==", "!=", "in"];

/// Parses an expression.
pub(super) fn parse(chars: &[char]) -> Result<Expr, Vec<Issue>> {
    let (tokens, unknown) = tokens(chars);
    let mut issues: Vec<Issue> = Vec::new();
    for (at, text) in unknown {
        issues.push(Issue { at, message: format!("Syntax error: token recognition error at: '{}'", escaped(&text)) });
    }
    let end = Token { kind: Kind::End, text: Str::default(), at: chars.len() };
    let mut parser = Parser { tokens, at: 0, depth: 0, issues, stopped: false, end };
    let expr = parser.expr();
    if !parser.stopped && parser.peek().kind != Kind::End {
        let verb = if parser.ahead(1).kind == Kind::End { "extraneous" } else { "mismatched" };
        let text = format!("{verb} input '{}' expecting <EOF>", parser.peek().shown());
        parser.syntax(text);
    }
    if let Some(expr) = expr.as_ref().filter(|e| e.depth > TREE) {
        parser.issues.push(Issue { at: expr.at, message: format!("expression recursion limit exceeded: {TREE}") });
    }
    match expr {
        Some(expr) if parser.issues.is_empty() => Ok(expr),
        _ => Err(parser.issues),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: u16,
    issues: Vec<Issue>,
    /// A syntax error that nothing more is read after.
    stopped: bool,
    end: Token,
}

impl Parser {
    fn ahead(&self, n: usize) -> &Token {
        // The last one is the end.
        self.tokens.get(self.at + n).or(self.tokens.last()).unwrap_or(&self.end)
    }

    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn accept(&mut self, sign: &str) -> Option<usize> {
        if self.peek().is(sign) { Some(self.next().at) } else { None }
    }

    fn syntax(&mut self, message: String) {
        let at = self.peek().at;
        self.issues.push(Issue { at, message: format!("Syntax error: {message}") });
    }

    fn wrong(&mut self, at: usize, message: String) {
        self.issues.push(Issue { at, message });
    }

    /// Reads no more.
    fn stop<T>(&mut self, message: String) -> Option<T> {
        if !self.stopped {
            self.syntax(message);
        }
        self.stopped = true;
        None
    }

    fn expect(&mut self, sign: &str, then_expr: bool) -> Option<usize> {
        if let Some(at) = self.accept(sign) {
            return Some(at);
        }
        let shown = self.peek().shown().to_string();
        if self.ahead(1).is(sign) {
            self.syntax(format!("extraneous input '{shown}' expecting '{sign}'"));
            self.next();
            return self.accept(sign);
        }
        let fits = if then_expr { begins(self.peek()) } else { follows(self.peek()) };
        if fits {
            self.syntax(format!("missing '{sign}' at '{shown}'"));
            return Some(self.peek().at);
        }
        self.stop(format!("mismatched input '{shown}' expecting '{sign}'"))
    }

    fn expr(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEPTH {
            let at = self.peek().at;
            if !self.stopped {
                self.wrong(at, format!("expression recursion limit exceeded: {DEPTH}"));
            }
            self.stopped = true;
        }
        let found = if self.stopped { None } else { self.conditional() };
        self.depth -= 1;
        found
    }

    fn conditional(&mut self) -> Option<Expr> {
        let condition = self.logic("||")?;
        let Some(at) = self.accept("?") else { return Some(condition) };
        let yes = self.logic("||")?;
        self.expect(":", true)?;
        let no = self.expr()?;
        Some(Expr::call("_?_:_", vec![condition, yes, no], at))
    }

    /// Chains of `||` and, below them, `&&` are balanced.
    fn logic(&mut self, sign: &'static str) -> Option<Expr> {
        let part = |own: &mut Self| if sign == "||" { own.logic("&&") } else { own.relation() };
        let mut terms = vec![part(self)?];
        let mut ops = Vec::new();
        while let Some(at) = self.accept(sign) {
            ops.push(at);
            terms.push(part(self)?);
        }
        let name = if sign == "||" { "_||_" } else { "_&&_" };
        Some(balanced(name, terms, &ops))
    }

    fn relation(&mut self) -> Option<Expr> {
        let mut left = self.sum()?;
        while RELATIONS.iter().any(|sign| self.peek().is(sign)) {
            let op = self.next();
            let right = self.sum()?;
            let name = if op.is("in") { "@in".to_string() } else { format!("_{}_", op.text) };
            left = Expr::call(&name, vec![left, right], op.at);
        }
        Some(left)
    }

    fn sum(&mut self) -> Option<Expr> {
        let mut left = self.product()?;
        while self.peek().is("+") || self.peek().is("-") {
            let op = self.next();
            let right = self.product()?;
            left = Expr::call(&format!("_{}_", op.text), vec![left, right], op.at);
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Expr> {
        let mut left = self.unary()?;
        while ["*", "/", "%"].iter().any(|sign| self.peek().is(sign)) {
            let op = self.next();
            let right = self.unary()?;
            left = Expr::call(&format!("_{}_", op.text), vec![left, right], op.at);
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        let sign = if self.peek().is("!") { "!" } else { "-" };
        // A minus before a number is part of it.
        let number = |token: &Token| matches!(token.kind, Kind::Int | Kind::Double);
        let start = self.peek().at;
        let mut count = 0;
        while self.peek().is(sign) && !(sign == "-" && number(self.ahead(1))) {
            self.next();
            count += 1;
        }
        let operand = self.member()?;
        if count % 2 == 0 {
            return Some(operand);
        }
        Some(Expr::call(if sign == "!" { "!_" } else { "-_" }, vec![operand], start))
    }

    fn member(&mut self) -> Option<Expr> {
        let mut expr = self.primary()?;
        loop {
            if let Some(at) = self.accept(".") {
                let optional = self.accept("?").is_some();
                let token = self.peek().clone();
                if !matches!(token.kind, Kind::Ident | Kind::Escaped) {
                    let before = if optional { ".?" } else { "." };
                    let shown = if token.kind == Kind::End { "" } else { &*token.text };
                    self.syntax(format!("no viable alternative at input '{before}{shown}'"));
                    continue;
                }
                self.next();
                let name: Str = token.text.trim_matches('`').into();
                if let Some(open) = self.accept("(").filter(|_| token.kind == Kind::Ident) {
                    let args = self.arguments()?;
                    expr = self.built(&name, Some(expr), args, open)?;
                } else if optional {
                    let field = Expr::literal(Val::Str(name), token.at);
                    expr = Expr::call("_?._", vec![expr, field], at);
                } else {
                    expr = Expr::new(Node::Select(Box::new(expr), name, false), at);
                }
            } else if let Some(at) = self.accept("[") {
                let optional = self.accept("?").is_some();
                let index = self.expr()?;
                self.expect("]", false)?;
                expr = Expr::call(if optional { "_[?_]" } else { "_[_]" }, vec![expr, index], at);
            } else {
                return Some(expr);
            }
        }
    }

    /// A call, or what a macro makes of it.
    fn built(&mut self, name: &str, target: Option<Expr>, args: Vec<Expr>, at: usize) -> Option<Expr> {
        match macros::expand(name, target, args, at) {
            Ok(expr) => Some(expr),
            Err(issue) => {
                self.issues.push(issue);
                Some(Expr::literal(Val::Null, at))
            }
        }
    }

    fn arguments(&mut self) -> Option<Vec<Expr>> {
        let mut args = Vec::new();
        if self.accept(")").is_some() {
            return Some(args);
        }
        loop {
            args.push(self.expr()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect(")", false)?;
        Some(args)
    }

    fn primary(&mut self) -> Option<Expr> {
        if !begins(self.peek()) || self.peek().is("!") {
            let shown = self.peek().shown().to_string();
            // A word too many is left out, if an expression begins after it.
            if self.peek().kind != Kind::End && begins(self.ahead(1)) {
                self.syntax(format!("extraneous input '{shown}' expecting {EXPR}"));
                self.next();
                return self.primary();
            }
            return self.stop(format!("mismatched input '{shown}' expecting {EXPR}"));
        }
        let token = self.next();
        let at = token.at;
        match &token.kind {
            Kind::Text(text) => return Some(Expr::literal(Val::Str(text.clone()), at)),
            Kind::Bytes(bytes) => return Some(Expr::literal(Val::Bytes(bytes.as_slice().into()), at)),
            Kind::Int | Kind::Uint | Kind::Double => return Some(self.number(&token, "")),
            Kind::Ident => return self.named(token, ""),
            Kind::Sign("-") => {
                let token = self.next();
                return Some(self.number(&Token { at, ..token }, "-"));
            }
            Kind::Sign("true") => return Some(Expr::literal(Val::Bool(true), at)),
            Kind::Sign("false") => return Some(Expr::literal(Val::Bool(false), at)),
            Kind::Sign("null") => return Some(Expr::literal(Val::Null, at)),
            _ => {}
        }
        if token.is(".") {
            let token = self.next();
            if token.kind != Kind::Ident {
                return self.stop(format!("no viable alternative at input '.{}'", token.text));
            }
            return self.named(token, ".");
        }
        if token.is("(") {
            let inner = self.expr()?;
            self.expect(")", false)?;
            return Some(inner);
        }
        if token.is("[") {
            let mut items = Vec::new();
            while !self.peek().is("]") {
                let optional = self.accept("?").is_some();
                items.push((self.expr()?, optional));
                if self.accept(",").is_none() {
                    break;
                }
            }
            self.close("]")?;
            return Some(Expr::new(Node::List(items), at));
        }
        let mut entries = Vec::new();
        while !self.peek().is("}") {
            let optional = self.accept("?").is_some();
            let key = self.expr()?;
            self.expect(":", true)?;
            entries.push((key, self.expr()?, optional));
            if self.accept(",").is_none() {
                break;
            }
        }
        self.close("}")?;
        Some(Expr::new(Node::Map(entries), at))
    }

    fn close(&mut self, sign: &str) -> Option<()> {
        if self.accept(sign).is_some() {
            return Some(());
        }
        let shown = self.peek().shown().to_string();
        self.stop(format!("mismatched input '{shown}' expecting {{'{sign}', ','}}"))
    }

    /// A name, a call of a function or a message.
    fn named(&mut self, token: Token, dot: &str) -> Option<Expr> {
        let name = format!("{dot}{}", token.text);
        // `a.b.C{...}`
        let mut n = 0;
        while self.ahead(n).is(".") && self.ahead(n + 1).kind == Kind::Ident {
            n += 2;
        }
        if self.ahead(n).is("{") {
            let mut name = name;
            for _ in 0..n {
                name.push_str(&self.next().text);
            }
            let at = self.next().at;
            return self.message(&name, at);
        }
        let reserved = RESERVED.contains(&&*token.text) || MORE_RESERVED.contains(&&*token.text);
        if reserved {
            self.wrong(token.at, format!("reserved identifier: {}", token.text));
        }
        if let Some(open) = self.accept("(") {
            let args = self.arguments()?;
            return self.built(name.trim_start_matches('.'), None, args, open);
        }
        Some(Expr::ident(&name, token.at))
    }

    fn message(&mut self, name: &str, at: usize) -> Option<Expr> {
        let mut fields = Vec::new();
        while !self.peek().is("}") {
            let optional = self.accept("?").is_some();
            let token = self.next();
            if !matches!(token.kind, Kind::Ident | Kind::Escaped) {
                self.at = self.at.saturating_sub(1);
                let shown = self.peek().shown().to_string();
                return self.stop(format!("mismatched input '{shown}' expecting {{'?', IDENTIFIER, ESC_IDENTIFIER}}"));
            }
            let colon = self.expect(":", true)?;
            fields.push((Str::from(token.text.trim_matches('`')), colon, self.expr()?, optional));
            if self.accept(",").is_none() {
                break;
            }
        }
        self.close("}")?;
        Some(Expr::new(Node::Message(name.into(), fields), at))
    }

    fn number(&mut self, token: &Token, sign: &str) -> Expr {
        let text = token.text.trim_end_matches(['u', 'U']);
        let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
        let (value, what) = match token.kind {
            Kind::Uint => (u64::from_str_radix(digits, radix).ok().map(Val::Uint), "uint"),
            Kind::Int => (i64::from_str_radix(&format!("{sign}{digits}"), radix).ok().map(Val::Int), "int"),
            _ => {
                let value = format!("{sign}{}", token.text).parse().ok().filter(|v: &f64| v.is_finite());
                (value.map(Val::Double), "double")
            }
        };
        if value.is_none() {
            self.wrong(token.at, format!("invalid {what} literal"));
        }
        Expr::literal(value.unwrap_or(Val::Null), token.at)
    }
}

/// Whether an expression begins with it.
fn begins(token: &Token) -> bool {
    match &token.kind {
        Kind::Sign(sign) => ["[", "{", "(", ".", "-", "!", "true", "false", "null"].contains(sign),
        Kind::Escaped | Kind::End => false,
        _ => true,
    }
}

/// Whether it may come after an expression.
fn follows(token: &Token) -> bool {
    match &token.kind {
        Kind::End => true,
        Kind::Sign(sign) => !["(", "{", "!", "true", "false", "null"].contains(sign),
        _ => false,
    }
}

/// `a && b && c && d` as `(a && b) && (c && d)` (the parser's balancer).
fn balanced(name: &str, mut terms: Vec<Expr>, ops: &[usize]) -> Expr {
    if ops.is_empty() {
        return terms.pop().unwrap_or_else(|| Expr::literal(Val::Null, 0));
    }
    let mid = (ops.len() - 1).div_ceil(2);
    let right = terms.split_off((mid + 1).min(terms.len()));
    let (before, rest) = ops.split_at(mid.min(ops.len()));
    let (at, after) = rest.split_first().map_or((0, rest), |(at, after)| (*at, after));
    Expr::call(name, vec![balanced(name, terms, before), balanced(name, right, after)], at)
}
