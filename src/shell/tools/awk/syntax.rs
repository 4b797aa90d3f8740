//! What an awk program is made of, and how it is read.

use super::lexer::{self, Token};
use crate::tools::regex::Regex;
use std::rc::Rc;

/// How deep expressions and blocks may nest: the interpreter follows them on the stack.
const DEPTH: u32 = 60;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Text(Rc<str>),
    Regex(Rc<Regex>),
    Place(Place),
    Assign(Place, Option<Arithmetic>, Box<Expr>),
    /// `++x`, `x--`: what is added, and whether the value before counts.
    Step(Place, f64, bool),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    Match(bool, Box<Expr>, Box<Expr>),
    In(Vec<Expr>, String),
    Concat(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Positive(Box<Expr>),
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(String, Vec<Expr>),
}

/// What can be assigned to.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Variable(String),
    Field(Box<Expr>),
    Element(String, Vec<Expr>),
}

/// `+ - * / % ^`
#[derive(Clone, Copy, Debug)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

/// `< <= == != > >=`
#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Less,
    AtMost,
    Equal,
    Unequal,
    More,
    AtLeast,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Expression(Expr),
    /// `print` or `printf` with where it goes.
    Print {
        formatted: bool,
        values: Vec<Expr>,
        to: Option<(bool, Expr)>,
    },
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    While(Expr, Box<Statement>),
    Do(Box<Statement>, Expr),
    For(Option<Box<Statement>>, Option<Expr>, Option<Box<Statement>>, Box<Statement>),
    Each(String, String, Box<Statement>),
    Block(Vec<Statement>),
    Delete(String, Option<Vec<Expr>>),
    Next,
    Exit(Option<Expr>),
    Break,
    Continue,
}

/// When an action runs.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Begin,
    End,
    Always,
    When(Expr),
    /// From one record to another; the number tells ranges apart.
    Range(usize, Expr, Expr),
}

/// A pattern and what it does; none prints the record.
pub(super) type Rule = (Pattern, Option<Vec<Statement>>);

/// Reads a program; the error is awk's text.
pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let tokens = lexer::tokens(text)?;
    let mut parser = Parser { tokens, at: 0, in_print: false, depth: 0, ranges: 0 };
    let mut rules = Vec::new();
    loop {
        parser.skip_ends();
        if parser.at >= parser.tokens.len() {
            return Ok(rules);
        }
        rules.push(parser.rule()?);
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    /// `>` is a redirection here.
    in_print: bool,
    depth: u32,
    ranges: usize,
}

type Read<T> = Result<T, String>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(t, _)| t)
    }
    fn sign(&self) -> &str {
        match self.peek() {
            Some(Token::Sign(sign)) => sign,
            _ => "",
        }
    }
    fn word(&self) -> &str {
        match self.peek() {
            Some(Token::Word(word)) => word,
            _ => "",
        }
    }
    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.sign() == sign;
        self.at += usize::from(found);
        found
    }
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += usize::from(found);
        found
    }
    fn error<T>(&self) -> Read<T> {
        if self.sign() == "|" {
            return Err("a pipe to or from a command is not supported by this awk".into());
        }
        let (line, what) = match self.tokens.get(self.at) {
            Some((token, line)) => (*line, token.to_string()),
            None => (self.tokens.last().map_or(1, |(_, line)| *line), "end of file".into()),
        };
        Err(format!("line {line}: syntax error at or near {what}"))
    }
    fn expect(&mut self, sign: &str) -> Read<()> {
        if self.take_sign(sign) { Ok(()) } else { self.error() }
    }
    fn skip_newlines(&mut self) {
        while self.sign() == "\n" {
            self.at += 1;
        }
    }
    fn skip_ends(&mut self) {
        while matches!(self.sign(), "\n" | ";") {
            self.at += 1;
        }
    }
    fn name(&mut self) -> Read<String> {
        match self.peek() {
            Some(Token::Word(word)) if !lexer::is_reserved(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.error(),
        }
    }

    fn rule(&mut self) -> Read<Rule> {
        let pattern = if self.take_word("BEGIN") {
            Pattern::Begin
        } else if self.take_word("END") {
            Pattern::End
        } else if matches!(self.word(), "function" | "func") {
            return Err("functions are not supported by this awk".into());
        } else if self.sign() == "{" {
            Pattern::Always
        } else {
            let first = self.expression()?;
            if self.take_sign(",") {
                self.skip_newlines();
                self.ranges += 1;
                Pattern::Range(self.ranges, first, self.expression()?)
            } else {
                Pattern::When(first)
            }
        };
        if self.sign() == "{" {
            return Ok((pattern, Some(self.block()?)));
        }
        match pattern {
            Pattern::When(_) | Pattern::Range(..) if matches!(self.sign(), "\n" | ";") || self.peek().is_none() => {
                Ok((pattern, None))
            }
            _ => self.error(),
        }
    }
    fn block(&mut self) -> Read<Vec<Statement>> {
        self.expect("{")?;
        let mut statements = Vec::new();
        loop {
            self.skip_ends();
            if self.take_sign("}") {
                return Ok(statements);
            }
            if self.peek().is_none() {
                return self.error();
            }
            statements.push(self.statement()?);
        }
    }
    /// The end of a simple statement.
    fn end(&mut self) -> Read<()> {
        match self.sign() {
            ";" | "\n" => {
                self.at += 1;
                Ok(())
            }
            "}" => Ok(()),
            _ if self.peek().is_none() => Ok(()),
            _ => self.error(),
        }
    }
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("the program nests too deep".into());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }
    fn statement(&mut self) -> Read<Statement> {
        self.nested(Self::statement_inner)
    }
    fn body(&mut self) -> Read<Box<Statement>> {
        self.skip_newlines();
        if self.take_sign(";") {
            return Ok(Box::new(Statement::Block(Vec::new())));
        }
        Ok(Box::new(self.statement()?))
    }
    fn statement_inner(&mut self) -> Read<Statement> {
        if self.sign() == "{" {
            return Ok(Statement::Block(self.block()?));
        }
        if self.take_word("if") {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            let then = self.body()?;
            let before = self.at;
            self.skip_ends();
            if self.take_word("else") {
                return Ok(Statement::If(condition, then, Some(self.body()?)));
            }
            self.at = before;
            return Ok(Statement::If(condition, then, None));
        }
        if self.take_word("while") {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            return Ok(Statement::While(condition, self.body()?));
        }
        if self.take_word("do") {
            let body = self.body()?;
            self.skip_ends();
            if !self.take_word("while") {
                return self.error();
            }
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            self.end()?;
            return Ok(Statement::Do(body, condition));
        }
        if self.take_word("for") {
            return self.for_loop();
        }
        let simple = self.simple()?;
        self.end()?;
        Ok(simple)
    }
    fn for_loop(&mut self) -> Read<Statement> {
        self.expect("(")?;
        let before = self.at;
        if let Ok(name) = self.name()
            && self.take_word("in")
        {
            let array = self.name()?;
            if self.take_sign(")") {
                return Ok(Statement::Each(name, array, self.body()?));
            }
        }
        self.at = before;
        let start = if self.sign() == ";" { None } else { Some(Box::new(self.simple()?)) };
        self.expect(";")?;
        self.skip_newlines();
        let condition = if self.sign() == ";" { None } else { Some(self.expression()?) };
        self.expect(";")?;
        self.skip_newlines();
        let step = if self.sign() == ")" { None } else { Some(Box::new(self.simple()?)) };
        self.expect(")")?;
        Ok(Statement::For(start, condition, step, self.body()?))
    }
    fn simple(&mut self) -> Read<Statement> {
        let word = self.word().to_string();
        match word.as_str() {
            "print" | "printf" => {
                self.at += 1;
                self.print(word == "printf")
            }
            "next" => {
                self.at += 1;
                Ok(Statement::Next)
            }
            "break" => {
                self.at += 1;
                Ok(Statement::Break)
            }
            "continue" => {
                self.at += 1;
                Ok(Statement::Continue)
            }
            "exit" => {
                self.at += 1;
                let ended = matches!(self.sign(), ";" | "\n" | "}") || self.peek().is_none();
                Ok(Statement::Exit(if ended { None } else { Some(self.expression()?) }))
            }
            "delete" => {
                self.at += 1;
                let name = self.name()?;
                let keys = if self.take_sign("[") {
                    let keys = self.list()?;
                    self.expect("]")?;
                    Some(keys)
                } else {
                    None
                };
                Ok(Statement::Delete(name, keys))
            }
            "getline" | "return" | "function" | "func" | "nextfile" => {
                Err(format!("{word} is not supported by this awk"))
            }
            _ => Ok(Statement::Expression(self.expression()?)),
        }
    }
    fn print(&mut self, formatted: bool) -> Read<Statement> {
        self.in_print = true;
        let mut values = Vec::new();
        let ended = matches!(self.sign(), ";" | "\n" | "}" | ">" | ">>" | "|") || self.peek().is_none();
        if !ended {
            // `print (a, b)` is a list, `print (a)(b)` is not.
            let before = self.at;
            let listed = if self.take_sign("(") {
                self.in_print = false;
                let list = self.list();
                self.in_print = true;
                list.ok()
                    .filter(|_| self.take_sign(")"))
                    .filter(|_| matches!(self.sign(), ";" | "\n" | "}" | ">" | ">>" | "|") || self.peek().is_none())
            } else {
                None
            };
            values = match listed {
                Some(list) => list,
                None => {
                    self.at = before;
                    self.list()?
                }
            };
        }
        self.in_print = false;
        let to = match self.sign() {
            "|" => return self.error(),
            ">" | ">>" => {
                let append = self.sign() == ">>";
                self.at += 1;
                Some((append, self.concatenation()?))
            }
            _ => None,
        };
        if formatted && values.is_empty() {
            return self.error();
        }
        Ok(Statement::Print { formatted, values, to })
    }
    fn list(&mut self) -> Read<Vec<Expr>> {
        let mut all = vec![self.expression()?];
        while self.take_sign(",") {
            self.skip_newlines();
            all.push(self.expression()?);
        }
        Ok(all)
    }

    fn expression(&mut self) -> Read<Expr> {
        self.nested(Self::assignment)
    }
    fn assignment(&mut self) -> Read<Expr> {
        let left = self.choice()?;
        let Expr::Place(place) = &left else { return Ok(left) };
        let operation = match self.sign() {
            "=" => None,
            "+=" => Some(Arithmetic::Add),
            "-=" => Some(Arithmetic::Subtract),
            "*=" => Some(Arithmetic::Multiply),
            "/=" => Some(Arithmetic::Divide),
            "%=" => Some(Arithmetic::Modulo),
            "^=" | "**=" => Some(Arithmetic::Power),
            _ => return Ok(left),
        };
        self.at += 1;
        self.skip_newlines();
        let place = place.clone();
        Ok(Expr::Assign(place, operation, Box::new(self.expression()?)))
    }
    fn choice(&mut self) -> Read<Expr> {
        let condition = self.or()?;
        if !self.take_sign("?") {
            return Ok(condition);
        }
        self.skip_newlines();
        let yes = self.expression()?;
        self.skip_newlines();
        self.expect(":")?;
        self.skip_newlines();
        let no = self.expression()?;
        Ok(Expr::Choose(Box::new(condition), Box::new(yes), Box::new(no)))
    }
    fn or(&mut self) -> Read<Expr> {
        let mut left = self.and()?;
        while self.take_sign("||") {
            self.skip_newlines();
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }
    fn and(&mut self) -> Read<Expr> {
        let mut left = self.membership()?;
        while self.take_sign("&&") {
            self.skip_newlines();
            left = Expr::And(Box::new(left), Box::new(self.membership()?));
        }
        Ok(left)
    }
    fn membership(&mut self) -> Read<Expr> {
        let mut left = self.matching()?;
        while self.take_word("in") {
            left = Expr::In(vec![left], self.name()?);
        }
        Ok(left)
    }
    fn matching(&mut self) -> Read<Expr> {
        let mut left = self.comparison()?;
        while matches!(self.sign(), "~" | "!~") {
            let negated = self.sign() == "!~";
            self.at += 1;
            left = Expr::Match(negated, Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }
    fn comparison(&mut self) -> Read<Expr> {
        let left = self.concatenation()?;
        let comparison = match self.sign() {
            "<" => Comparison::Less,
            "<=" => Comparison::AtMost,
            "==" => Comparison::Equal,
            "!=" => Comparison::Unequal,
            ">" if !self.in_print => Comparison::More,
            ">=" => Comparison::AtLeast,
            _ => return Ok(left),
        };
        self.at += 1;
        Ok(Expr::Compare(comparison, Box::new(left), Box::new(self.concatenation()?)))
    }
    fn concatenation(&mut self) -> Read<Expr> {
        let mut left = self.sum()?;
        while self.starts_operand() {
            left = Expr::Concat(Box::new(left), Box::new(self.sum()?));
        }
        Ok(left)
    }
    fn starts_operand(&self) -> bool {
        match self.peek() {
            Some(Token::Number(_) | Token::Text(_)) => true,
            Some(Token::Word(word)) => !lexer::is_reserved(word) || lexer::is_function(word),
            Some(Token::Sign(sign)) => matches!(sign.as_str(), "(" | "$" | "!" | "++" | "--"),
            _ => false,
        }
    }
    fn sum(&mut self) -> Read<Expr> {
        let mut left = self.product()?;
        loop {
            let operation = match self.sign() {
                "+" => Arithmetic::Add,
                "-" => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expr::Arithmetic(operation, Box::new(left), Box::new(self.product()?));
        }
    }
    fn product(&mut self) -> Read<Expr> {
        let mut left = self.unary()?;
        loop {
            let operation = match self.sign() {
                "*" => Arithmetic::Multiply,
                "/" => Arithmetic::Divide,
                "%" => Arithmetic::Modulo,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expr::Arithmetic(operation, Box::new(left), Box::new(self.unary()?));
        }
    }
    fn unary(&mut self) -> Read<Expr> {
        self.nested(|parser| match parser.sign() {
            "!" => {
                parser.at += 1;
                Ok(Expr::Not(Box::new(parser.unary()?)))
            }
            "-" => {
                parser.at += 1;
                Ok(Expr::Negate(Box::new(parser.unary()?)))
            }
            "+" => {
                parser.at += 1;
                Ok(Expr::Positive(Box::new(parser.unary()?)))
            }
            _ => parser.power(),
        })
    }
    fn power(&mut self) -> Read<Expr> {
        let base = self.postfix()?;
        if matches!(self.sign(), "^" | "**") {
            self.at += 1;
            return Ok(Expr::Arithmetic(Arithmetic::Power, Box::new(base), Box::new(self.unary()?)));
        }
        Ok(base)
    }
    fn postfix(&mut self) -> Read<Expr> {
        let step = match self.sign() {
            "++" => Some(1.0),
            "--" => Some(-1.0),
            _ => None,
        };
        if let Some(step) = step {
            self.at += 1;
            let Expr::Place(place) = self.primary()? else { return self.error() };
            return Ok(Expr::Step(place, step, false));
        }
        let value = self.primary()?;
        if let Expr::Place(place) = &value {
            let step = match self.sign() {
                "++" => 1.0,
                "--" => -1.0,
                _ => return Ok(value),
            };
            self.at += 1;
            return Ok(Expr::Step(place.clone(), step, true));
        }
        Ok(value)
    }
    fn primary(&mut self) -> Read<Expr> {
        let Some(token) = self.peek().cloned() else { return self.error() };
        match token {
            Token::Number(value) => {
                self.at += 1;
                Ok(Expr::Number(value))
            }
            Token::Text(text) => {
                self.at += 1;
                Ok(Expr::Text(text.into()))
            }
            Token::Regex(text) => {
                let regex = Regex::new(&text, true, false).map_err(|e| format!("regular expression {text}: {e}"))?;
                self.at += 1;
                Ok(Expr::Regex(Rc::new(regex)))
            }
            Token::Sign(sign) if sign == "$" => {
                self.at += 1;
                let field = self.nested(|parser| match parser.sign() {
                    "++" | "--" => parser.postfix(),
                    "-" => parser.unary(),
                    _ => parser.primary(),
                })?;
                Ok(Expr::Place(Place::Field(Box::new(field))))
            }
            Token::Sign(sign) if sign == "(" => self.group(),
            Token::Word(word) if lexer::is_function(&word) => {
                self.at += 1;
                self.call(word)
            }
            Token::Word(word) if word == "getline" => Err("getline is not supported by this awk".into()),
            Token::Word(_) => {
                let name = self.name()?;
                if self.take_sign("[") {
                    let keys = self.list()?;
                    self.expect("]")?;
                    return Ok(Expr::Place(Place::Element(name, keys)));
                }
                if self.sign() == "(" {
                    return Err(format!("function {name} is not defined"));
                }
                Ok(Expr::Place(Place::Variable(name)))
            }
            Token::Sign(_) => self.error(),
        }
    }
    fn group(&mut self) -> Read<Expr> {
        self.expect("(")?;
        let outer = std::mem::take(&mut self.in_print);
        let list = self.list();
        self.in_print = outer;
        let mut list = list?;
        self.expect(")")?;
        if list.len() > 1 {
            if self.take_word("in") {
                return Ok(Expr::In(list, self.name()?));
            }
            return self.error();
        }
        match list.pop() {
            // What stands in parentheses can't be assigned to.
            Some(Expr::Place(place)) => Ok(Expr::Place(place)),
            Some(inner) => Ok(inner),
            None => self.error(),
        }
    }
    fn call(&mut self, name: String) -> Read<Expr> {
        if self.sign() != "(" {
            // `length` goes without parentheses too.
            return if name == "length" { Ok(Expr::Call(name, Vec::new())) } else { self.error() };
        }
        self.at += 1;
        let outer = std::mem::take(&mut self.in_print);
        let arguments = if self.sign() == ")" { Ok(Vec::new()) } else { self.list() };
        self.in_print = outer;
        let arguments = arguments?;
        self.expect(")")?;
        if name == "system" {
            return Err("system is not supported by this awk".into());
        }
        let (least, most) = lexer::arity(&name);
        if !(least..=most).contains(&arguments.len()) {
            return Err(format!("wrong number of arguments in call to {name}"));
        }
        Ok(Expr::Call(name, arguments))
    }
}
