//! A tree on data (`text/template/exec.go`), with its messages.

use super::functions::{Arity, arity, call};
use super::parse::{Command, Control, Expr, Node, Number, Pipe, Term};
use crate::print::human::quote;
use crate::value::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value of the template: none is Go's zero `reflect.Value`, and `boxed` ones are seen through an interface, so that
/// errors call them `interface {}`.
#[derive(Clone, Debug)]
pub struct Val<'d> {
    /// The value.
    pub value: Option<Cow<'d, Value>>,
    /// Held by an interface.
    pub boxed: bool,
    /// A whole number that the template made: Go's `int`, where those of objects are `int64`.
    pub int: bool,
}

impl<'d> Val<'d> {
    /// No value.
    pub fn none() -> Val<'d> {
        Val { value: None, boxed: false, int: false }
    }
    /// A value of its own type.
    pub fn plain(v: Value) -> Val<'d> {
        Val { value: Some(Cow::Owned(v)), boxed: false, int: false }
    }
    /// A whole number of the template's own.
    pub fn int(i: i64) -> Val<'d> {
        Val { int: true, ..Val::plain(Value::Int(i)) }
    }
    /// The value, null for none.
    pub fn get(&self) -> &Value {
        self.value.as_deref().unwrap_or(&Value::Null)
    }
    /// Its Go type as errors about fields name it.
    pub fn type_name(&self) -> &'static str {
        if self.boxed { "interface {}" } else { self.go_type() }
    }
    /// The Go type of what it is.
    pub fn go_type(&self) -> &'static str {
        if self.int { "int" } else { self.get().go_type() }
    }
    /// What an interface holds; nothing for nil.
    pub fn unboxed(self) -> Val<'d> {
        match &self.value {
            Some(v) if v.is_null() => Val::none(),
            _ => Val { boxed: false, ..self },
        }
    }
    /// A member or element of it, as Go's maps and slices hold them.
    pub fn member(&self, name: &str) -> Option<Val<'d>> {
        let value = match self.value.as_ref()? {
            Cow::Borrowed(Value::Object(m)) => Cow::Borrowed(m.get(name)?),
            Cow::Owned(Value::Object(m)) => Cow::Owned(m.get(name)?.clone()),
            _ => return None,
        };
        Some(Val { value: Some(value), boxed: true, int: false })
    }
    /// An element of a list.
    pub fn element(&self, i: usize) -> Option<Val<'d>> {
        let value = match self.value.as_ref()? {
            Cow::Borrowed(Value::Array(a)) => Cow::Borrowed(a.get(i)?),
            Cow::Owned(Value::Array(a)) => Cow::Owned(a.get(i)?.clone()),
            _ => return None,
        };
        Some(Val { value: Some(value), boxed: true, int: false })
    }
    /// Whether it counts as true.
    pub fn truth(&self) -> bool {
        match self.get() {
            Value::Bool(b) => *b,
            Value::Int(i) => *i != 0,
            Value::Float(f) => *f != 0.0,
            other => !other.is_empty(),
        }
    }
    /// What a template prints of it.
    pub fn printed(&self) -> String {
        match &self.value {
            None => "<no value>".into(),
            Some(v) => v.go_v(),
        }
    }
}

/// Where an error happened.
#[derive(Clone, Copy)]
enum Place<'t> {
    Start,
    Pipe(&'t Pipe),
    Command(&'t Command),
    Term(&'t Term),
    Template(usize, &'t str, Option<&'t Pipe>),
}

#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

/// Templates that call each other deeper than this are ended.
const MAX_DEPTH: usize = 200;
/// Parts of a template that are run before it is ended.
const MAX_STEPS: usize = 2_000_000;
/// Bytes of output after which a template is ended.
const MAX_OUTPUT: usize = 64 << 20;

/// A running template.
pub struct State<'t, 'd> {
    text: &'t str,
    named: &'t BTreeMap<String, Vec<Node>>,
    missing_is_error: bool,
    name: String,
    vars: Vec<(&'t str, Val<'d>)>,
    place: Place<'t>,
    depth: usize,
    steps: usize,
    /// What was written.
    pub out: String,
}

impl<'t, 'd> State<'t, 'd> {
    /// A template's start.
    pub fn new(text: &'t str, named: &'t BTreeMap<String, Vec<Node>>, data: &'d Value, missing_is_error: bool) -> Self {
        let root = Val { value: Some(Cow::Borrowed(data)), boxed: false, int: false };
        State {
            text,
            named,
            missing_is_error,
            name: "output".into(),
            vars: vec![("$", root)],
            place: Place::Start,
            depth: 0,
            steps: 0,
            out: String::new(),
        }
    }

    /// Runs all of it.
    pub fn run(&mut self, nodes: &'t [Node]) -> Result<(), String> {
        let root = self.variable("$")?;
        self.walk(&root, nodes).map(|_| ())
    }

    fn error(&self, message: impl AsRef<str>) -> String {
        let message = message.as_ref();
        let (pos, context) = match self.place {
            Place::Start => return format!("template: {}: {message}", self.name),
            Place::Pipe(p) => (p.pos, p.to_string()),
            Place::Command(c) => (c.pos, c.to_string()),
            Place::Term(t) => (t.pos, t.to_string()),
            Place::Template(pos, name, pipe) => {
                let with = pipe.map_or(String::new(), |p| format!(" {p}"));
                (pos, format!("{{{{template {}{with}}}}}", quote(name)))
            }
        };
        let before = self.text.get(..pos).unwrap_or("");
        let line = 1 + before.matches('\n').count();
        let column = before.rfind('\n').map_or(pos, |at| pos - at - 1);
        format!("template: output:{line}:{column}: executing {} at <{context}>: {message}", quote(&self.name))
    }

    fn variable(&self, name: &str) -> Result<Val<'d>, String> {
        let found = self.vars.iter().rev().find(|v| v.0 == name).map(|v| v.1.clone());
        found.ok_or_else(|| self.error(format!("undefined variable: {name}")))
    }

    fn set_variable(&mut self, name: &'t str, value: Val<'d>) -> Result<(), String> {
        match self.vars.iter_mut().rev().find(|v| v.0 == name) {
            Some(slot) => {
                slot.1 = value;
                Ok(())
            }
            None => Err(self.error(format!("undefined variable: {name}"))),
        }
    }

    fn walk(&mut self, dot: &Val<'d>, nodes: &'t [Node]) -> Result<Flow, String> {
        for node in nodes {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(self.error("too many steps"));
            }
            if self.out.len() > MAX_OUTPUT {
                return Err(self.error("too much output"));
            }
            match node {
                Node::Text(t) => self.out.push_str(t),
                Node::Action(p) => {
                    let v = self.pipeline(dot, p)?;
                    if p.decl.is_empty() {
                        self.out.push_str(&v.printed());
                    }
                }
                Node::Break => return Ok(Flow::Break),
                Node::Continue => return Ok(Flow::Continue),
                Node::Block(Control::Range, p, body, otherwise) => {
                    let mark = self.vars.len();
                    let flow = self.range(dot, p, body, otherwise.as_deref())?;
                    self.vars.truncate(mark);
                    if flow != Flow::On {
                        return Ok(flow);
                    }
                }
                Node::Block(control, p, body, otherwise) => {
                    let mark = self.vars.len();
                    let v = self.pipeline(dot, p)?;
                    let flow = if v.truth() {
                        self.walk(if *control == Control::With { &v } else { dot }, body)?
                    } else {
                        self.walk(dot, otherwise.as_deref().unwrap_or(&[]))?
                    };
                    self.vars.truncate(mark);
                    if flow != Flow::On {
                        return Ok(flow);
                    }
                }
                Node::Template(pos, name, pipe) => self.template(dot, *pos, name, pipe.as_ref())?,
            }
        }
        Ok(Flow::On)
    }

    fn template(&mut self, dot: &Val<'d>, pos: usize, name: &'t str, pipe: Option<&'t Pipe>) -> Result<(), String> {
        self.place = Place::Template(pos, name, pipe);
        let Some(nodes) = self.named.get(name) else {
            return Err(self.error(format!("template {} not defined", quote(name))));
        };
        if self.depth >= MAX_DEPTH {
            return Err(self.error("exceeded maximum template depth (100000)"));
        }
        let dot = match pipe {
            Some(p) => self.pipeline(dot, p)?,
            None => Val::none(),
        };
        let vars = std::mem::replace(&mut self.vars, vec![("$", dot.clone())]);
        let outer = std::mem::replace(&mut self.name, name.to_string());
        self.depth += 1;
        self.walk(&dot, nodes)?;
        self.depth -= 1;
        self.vars = vars;
        self.name = outer;
        Ok(())
    }

    fn range(
        &mut self,
        dot: &Val<'d>,
        p: &'t Pipe,
        body: &'t [Node],
        otherwise: Option<&'t [Node]>,
    ) -> Result<Flow, String> {
        let val = self.pipeline(dot, p)?;
        let mark = self.vars.len();
        let count = match val.get() {
            Value::Array(a) => a.len(),
            Value::Object(m) => m.len(),
            Value::Null => 0,
            Value::Int(n) => {
                if p.decl.len() > 1 {
                    return Err(self.error(format!("can't use {n} to iterate over more than one variable")));
                }
                usize::try_from(*n).unwrap_or(0)
            }
            other => {
                let text = other.go_v();
                return Err(self.error(format!("range can't iterate over {text}")));
            }
        };
        let keys: Vec<String> = val.get().map_entries().map(|(k, _)| k.to_string()).collect();
        for i in 0..count {
            let (index, element) = match (keys.get(i), val.get()) {
                (Some(key), _) => (Val::plain(key.as_str().into()), val.member(key)),
                (None, Value::Array(_)) => (Val::int(i as i64), val.element(i)),
                _ => (Val::none(), Some(Val::int(i as i64))),
            };
            let element = element.unwrap_or_else(Val::none);
            match p.decl.as_slice() {
                [one] => self.set_variable(one, element.clone())?,
                [first, second] => {
                    self.set_variable(first, index)?;
                    self.set_variable(second, element.clone())?;
                }
                _ => {}
            }
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(self.error("too many steps"));
            }
            let flow = self.walk(&element, body)?;
            self.vars.truncate(mark);
            if flow == Flow::Break {
                break;
            }
        }
        match otherwise {
            Some(nodes) if count == 0 => self.walk(dot, nodes),
            _ => Ok(Flow::On),
        }
    }

    fn pipeline(&mut self, dot: &Val<'d>, p: &'t Pipe) -> Result<Val<'d>, String> {
        self.place = Place::Pipe(p);
        let mut last: Option<Val<'d>> = None;
        for c in &p.commands {
            last = Some(self.command(dot, c, last)?.unboxed());
        }
        let value = last.unwrap_or_else(Val::none);
        for name in &p.decl {
            if p.assign {
                self.set_variable(name, value.clone())?;
            } else {
                self.vars.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    fn command(&mut self, dot: &Val<'d>, c: &'t Command, last: Option<Val<'d>>) -> Result<Val<'d>, String> {
        let Some(first) = c.args.first() else { return Ok(Val::none()) };
        let has_args = c.args.len() > 1 || last.is_some();
        match &first.expr {
            Expr::Function(name) => {
                self.place = Place::Term(first);
                let args = c.args.get(1..).unwrap_or(&[]);
                return self.function(dot, name, Place::Command(c), args, last);
            }
            Expr::Field(names) | Expr::Chain(_, names) => return self.chain(dot, first, names, has_args),
            Expr::Variable(names) if names.len() > 1 => {
                return self.chain(dot, first, names.get(1..).unwrap_or(&[]), has_args);
            }
            Expr::Variable(_) => self.place = Place::Term(first),
            Expr::Pipe(_) => {}
            _ => self.place = Place::Term(first),
        }
        if has_args {
            return Err(self.error(format!("can't give argument to non-function {first}")));
        }
        match &first.expr {
            Expr::Nil => Err(self.error("nil is not a command")),
            _ => self.operand(dot, first),
        }
    }

    /// A word's value.
    fn operand(&mut self, dot: &Val<'d>, term: &'t Term) -> Result<Val<'d>, String> {
        self.place = Place::Term(term);
        Ok(match &term.expr {
            Expr::Bool(b) => Val::plain((*b).into()),
            Expr::Dot => dot.clone(),
            Expr::Nil => Val { value: Some(Cow::Owned(Value::Null)), boxed: true, int: false },
            Expr::Number(_, Number::Int(i)) => Val::int(*i),
            Expr::Number(_, Number::Float(f)) => Val::plain(Value::Float(*f)),
            Expr::Str(_, text) => Val::plain(text.as_str().into()),
            Expr::Field(names) | Expr::Chain(_, names) => self.chain(dot, term, names, false)?,
            Expr::Variable(names) => match names.as_slice() {
                [one] => self.variable(one)?,
                more => self.chain(dot, term, more.get(1..).unwrap_or(&[]), false)?,
            },
            Expr::Function(name) => self.function(dot, name, Place::Term(term), &[], None)?,
            Expr::Pipe(p) => self.pipeline(dot, p)?,
        })
    }

    fn chain(&mut self, dot: &Val<'d>, term: &'t Term, names: &'t [String], has_args: bool) -> Result<Val<'d>, String> {
        self.place = Place::Term(term);
        let mut v = match &term.expr {
            Expr::Variable(all) => self.variable(all.first().map_or("", |n| n))?,
            Expr::Chain(inner, _) => {
                if matches!(inner.expr, Expr::Nil) {
                    return Err(self.error(format!("indirection through explicit nil in {term}")));
                }
                self.operand(dot, inner)?
            }
            _ => dot.clone(),
        };
        for (i, name) in names.iter().enumerate() {
            let last = i + 1 == names.len();
            v = self.field(name, v, has_args && last)?;
        }
        Ok(v)
    }

    fn field(&self, name: &str, v: Val<'d>, has_args: bool) -> Result<Val<'d>, String> {
        match &v.value {
            None if self.missing_is_error => Err(self.error(format!("nil data; no entry for key {}", quote(name)))),
            None => Ok(Val::none()),
            Some(held) => match &**held {
                Value::Null => Err(self.error(format!("nil pointer evaluating interface {{}}.{name}"))),
                Value::Object(_) => {
                    if has_args {
                        return Err(self.error(format!("{name} is not a method but has arguments")));
                    }
                    match v.member(name) {
                        Some(found) => Ok(found),
                        None if self.missing_is_error => {
                            Err(self.error(format!("map has no entry for key {}", quote(name))))
                        }
                        None => Ok(Val::none()),
                    }
                }
                _ => Err(self.error(format!("can't evaluate field {name} in type {}", v.type_name()))),
            },
        }
    }

    fn function(
        &mut self,
        dot: &Val<'d>,
        name: &str,
        whole: Place<'t>,
        args: &'t [Term],
        last: Option<Val<'d>>,
    ) -> Result<Val<'d>, String> {
        let given = args.len() + usize::from(last.is_some());
        match arity(name) {
            Arity::AtLeast(n) if given < n => {
                let got = args.len();
                return Err(self.error(format!("wrong number of args for {name}: want at least {n} got {got}")));
            }
            Arity::Exactly(n) if given != n => {
                return Err(self.error(format!("wrong number of args for {name}: want {n} got {given}")));
            }
            _ => {}
        }
        if name == "and" || name == "or" {
            let mut v = Val::none();
            for a in args {
                v = self.operand(dot, a)?;
                if v.truth() == (name == "or") {
                    return Ok(v);
                }
            }
            return Ok(last.unwrap_or(v));
        }
        let mut values = Vec::with_capacity(given);
        for a in args {
            let v = self.operand(dot, a)?;
            if takes_text(name, values.len()) {
                match &a.expr {
                    Expr::Str(..) => {}
                    Expr::Nil => return Err(self.error("cannot assign nil to string")),
                    Expr::Bool(_) | Expr::Number(..) => {
                        return Err(self.error(format!("expected string; found {a}")));
                    }
                    _ => self.check_string(&v)?,
                }
            }
            values.push(v);
        }
        if let Some(v) = last {
            if takes_text(name, values.len()) {
                self.check_string(&v)?;
            }
            values.push(v);
        }
        call(name, &values, args.first().map(ToString::to_string)).map_err(|e| {
            self.place = whole;
            self.error(format!("error calling {name}: {e}"))
        })
    }

    fn check_string(&self, v: &Val<'d>) -> Result<(), String> {
        match &v.value {
            None => Err(self.error("invalid value; expected string")),
            Some(held) if held.as_str().is_some() => Ok(()),
            Some(held) => {
                let got = if held.is_null() { "interface {}" } else { v.go_type() };
                Err(self.error(format!("wrong type for value; expected string; got {got}")))
            }
        }
    }
}

/// Whether a function's argument must be a string.
fn takes_text(function: &str, argument: usize) -> bool {
    argument == 0 && matches!(function, "base64decode" | "printf")
}
