//! Runs awk's rules over records.

use super::functions;
use super::syntax::{Arithmetic, Comparison, Expr, Pattern, Place, Rule, Statement};
use super::value::Value;
use crate::tools::regex::Regex;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Steps that one record's rules may take, so that a loop without end can't hold the world up.
const STEPS: u32 = 1_000_000;
/// Fields of a record, elements of all arrays, bytes of a text at most.
const MOST_FIELDS: usize = 100_000;
const MOST_ELEMENTS: usize = 1_000_000;
const LONGEST: usize = 4 << 20;

/// What comes after a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    Go,
    Next,
    Exit,
    Break,
    Continue,
}

/// Where output goes: standard output, or a file by name and whether it is added to.
#[derive(Default)]
pub(super) struct Printed {
    pub(super) out: Vec<u8>,
    pub(super) files: Vec<(String, bool, Vec<u8>)>,
}

/// A running program.
#[derive(Default)]
pub(super) struct Machine {
    variables: BTreeMap<String, Value>,
    arrays: BTreeMap<String, BTreeMap<String, Value>>,
    elements: usize,
    record: Rc<str>,
    fields: Vec<Value>,
    /// The record must be put together from its fields before it is read.
    stale: bool,
    active: BTreeSet<usize>,
    opened: BTreeSet<String>,
    steps: u32,
    pub(super) status: i32,
    pub(super) printed: Printed,
}

type Done<T> = Result<T, String>;

impl Machine {
    pub(super) fn new() -> Self {
        let mut machine = Self::default();
        for (name, value) in
            [("FS", " "), ("OFS", " "), ("ORS", "\n"), ("RS", "\n"), ("SUBSEP", "\x1c"), ("CONVFMT", "%.6g")]
        {
            machine.variables.insert(name.into(), Value::text(value));
        }
        machine.variables.insert("OFMT".into(), Value::text("%.6g"));
        machine.variables.insert("RSTART".into(), Value::Number(0.0));
        machine.variables.insert("RLENGTH".into(), Value::Number(-1.0));
        machine
    }
    /// Sets a variable from outside.
    pub(super) fn assign(&mut self, name: &str, value: &str) {
        self.variables.insert(name.into(), Value::Input(super::lexer::unescaped(value).into()));
    }
    pub(super) fn set_element(&mut self, array: &str, key: &str, value: Value) -> Done<()> {
        if self.elements >= MOST_ELEMENTS {
            return Err("too many array elements".into());
        }
        let old = self.arrays.entry(array.into()).or_default().insert(key.into(), value);
        self.elements += usize::from(old.is_none());
        Ok(())
    }
    pub(super) fn clear(&mut self, array: &str) {
        let gone = self.arrays.insert(array.into(), BTreeMap::new()).map_or(0, |a| a.len());
        self.elements = self.elements.saturating_sub(gone);
    }
    pub(super) fn setting(&self, name: &str) -> Rc<str> {
        self.variables.get(name).map_or_else(|| "".into(), |v| v.to_text("%.6g"))
    }
    pub(super) fn set_number(&mut self, name: &str, value: f64) {
        self.variables.insert(name.into(), Value::Number(value));
    }
    pub(super) fn text(&self, value: &Value) -> Rc<str> {
        match value {
            Value::Number(_) => value.to_text(&self.setting("CONVFMT")),
            _ => value.to_text(""),
        }
    }

    /// Takes the next record.
    pub(super) fn take(&mut self, record: &str, file_record: f64) -> Done<()> {
        let number = self.variables.get("NR").map_or(0.0, Value::number) + 1.0;
        self.set_number("NR", number);
        self.set_number("FNR", file_record);
        self.set_record(record)
    }
    pub(super) fn set_record(&mut self, record: &str) -> Done<()> {
        self.record = record.into();
        self.stale = false;
        let separator = self.setting("FS");
        self.fields = functions::split(record, &separator)?.into_iter().map(|f| Value::Input(f.into())).collect();
        self.fields.truncate(MOST_FIELDS);
        self.set_number("NF", self.fields.len() as f64);
        Ok(())
    }
    fn whole_record(&mut self) -> Rc<str> {
        if self.stale {
            let texts: Vec<Rc<str>> = self.fields.iter().map(|f| self.text(f)).collect();
            self.record = texts.join(&*self.setting("OFS")).into();
            self.stale = false;
        }
        self.record.clone()
    }
    fn field(&mut self, index: f64) -> Done<Value> {
        if index < 0.0 {
            return Err(format!("negative field index ${index}"));
        }
        Ok(match to_index(index) {
            0 => Value::Input(self.whole_record()),
            n => self.fields.get(n - 1).cloned().unwrap_or(Value::Unset),
        })
    }
    fn resize_fields(&mut self, length: usize) -> Done<()> {
        if length > MOST_FIELDS {
            return Err("too many fields".into());
        }
        self.fields.resize(length, Value::Input("".into()));
        self.set_number("NF", length as f64);
        self.stale = true;
        Ok(())
    }
    fn set_field(&mut self, index: f64, value: Value) -> Done<()> {
        if index < 0.0 {
            return Err(format!("negative field index ${index}"));
        }
        let n = to_index(index);
        if n == 0 {
            let text = self.text(&value);
            return self.set_record(&text);
        }
        if n > self.fields.len() {
            self.resize_fields(n)?;
        }
        if let Some(slot) = self.fields.get_mut(n - 1) {
            *slot = value;
        }
        self.stale = true;
        Ok(())
    }

    /// Runs the rules of one kind: `BEGIN`, `END`, or (neither) those for the record.
    pub(super) fn run(&mut self, rules: &[Rule], when: fn(&Pattern) -> bool) -> Done<Flow> {
        self.steps = 0;
        for (pattern, action) in rules.iter().filter(|(p, _)| when(p)) {
            let chosen = match pattern {
                Pattern::Begin | Pattern::End | Pattern::Always => true,
                Pattern::When(expression) => self.value(expression)?.is_true(),
                Pattern::Range(id, from, to) => {
                    let inside = self.active.contains(id) || self.value(from)?.is_true();
                    if inside {
                        if self.value(to)?.is_true() {
                            self.active.remove(id);
                        } else {
                            self.active.insert(*id);
                        }
                    }
                    inside
                }
            };
            if !chosen {
                continue;
            }
            let flow = match action {
                Some(statements) => self.block(statements)?,
                None => {
                    let record = self.whole_record();
                    self.print(&record, None)?;
                    let end = self.setting("ORS");
                    self.print(&end, None)?;
                    Flow::Go
                }
            };
            if matches!(flow, Flow::Next | Flow::Exit) {
                return Ok(flow);
            }
        }
        Ok(Flow::Go)
    }
    fn step(&mut self) -> Done<()> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err("the program does not end".into());
        }
        Ok(())
    }
    fn block(&mut self, statements: &[Statement]) -> Done<Flow> {
        for statement in statements {
            let flow = self.statement(statement)?;
            if flow != Flow::Go {
                return Ok(flow);
            }
        }
        Ok(Flow::Go)
    }
    fn is_true(&mut self, expression: &Expr) -> Done<bool> {
        Ok(self.value(expression)?.is_true())
    }
    fn statement(&mut self, statement: &Statement) -> Done<Flow> {
        self.step()?;
        match statement {
            Statement::Expression(expression) => {
                self.value(expression)?;
            }
            Statement::Print { formatted, values, to } => {
                let mut given = Vec::new();
                for value in values {
                    given.push(self.value(value)?);
                }
                let text = if *formatted {
                    let format = given.first().map_or_else(|| "".into(), |f| self.text(f));
                    super::format::format(&format, given.get(1..).unwrap_or_default())
                } else if given.is_empty() {
                    format!("{}{}", self.whole_record(), self.setting("ORS"))
                } else {
                    let format = self.setting("OFMT");
                    let texts: Vec<Rc<str>> = given.iter().map(|v| v.to_text(&format)).collect();
                    texts.join(&*self.setting("OFS")) + &self.setting("ORS")
                };
                let to = match to {
                    Some((append, name)) => {
                        let name = self.value(name)?;
                        Some((*append, self.text(&name)))
                    }
                    None => None,
                };
                self.print(&text, to)?;
            }
            Statement::If(condition, then, otherwise) => {
                if self.is_true(condition)? {
                    return self.statement(then);
                }
                if let Some(otherwise) = otherwise {
                    return self.statement(otherwise);
                }
            }
            Statement::While(condition, body) => {
                while self.is_true(condition)? {
                    match self.statement(body)? {
                        Flow::Go | Flow::Continue => {}
                        Flow::Break => break,
                        flow => return Ok(flow),
                    }
                }
            }
            Statement::Do(body, condition) => loop {
                match self.statement(body)? {
                    Flow::Go | Flow::Continue => {}
                    Flow::Break => break,
                    flow => return Ok(flow),
                }
                if !self.is_true(condition)? {
                    break;
                }
            },
            Statement::For(start, condition, step, body) => {
                if let Some(start) = start {
                    self.statement(start)?;
                }
                while match condition {
                    Some(condition) => self.is_true(condition)?,
                    None => true,
                } {
                    match self.statement(body)? {
                        Flow::Go | Flow::Continue => {}
                        Flow::Break => break,
                        flow => return Ok(flow),
                    }
                    if let Some(step) = step {
                        self.statement(step)?;
                    }
                }
            }
            Statement::Each(name, array, body) => {
                let keys: Vec<String> = self.arrays.get(array).map(|a| a.keys().cloned().collect()).unwrap_or_default();
                for key in keys {
                    self.variables.insert(name.clone(), Value::Input(key.as_str().into()));
                    match self.statement(body)? {
                        Flow::Go | Flow::Continue => {}
                        Flow::Break => break,
                        flow => return Ok(flow),
                    }
                }
            }
            Statement::Block(statements) => return self.block(statements),
            Statement::Delete(array, None) => self.clear(array),
            Statement::Delete(array, Some(keys)) => {
                let key = self.key(keys)?;
                let gone = self.arrays.get_mut(array).and_then(|a| a.remove(&key)).is_some();
                self.elements = self.elements.saturating_sub(usize::from(gone));
            }
            Statement::Next => return Ok(Flow::Next),
            Statement::Exit(code) => {
                if let Some(code) = code {
                    let code = self.value(code)?.number();
                    self.status = i32::try_from(crate::tools::numbers::truncated(code) & 255).unwrap_or(2);
                }
                return Ok(Flow::Exit);
            }
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Go)
    }
    fn print(&mut self, text: &str, to: Option<(bool, Rc<str>)>) -> Done<()> {
        let Some((append, name)) = to else {
            self.printed.out.extend_from_slice(text.as_bytes());
            return if self.printed.out.len() > LONGEST { Err("too much output at once".into()) } else { Ok(()) };
        };
        // `>` empties a file when it is first named, then adds to it.
        let added = append || self.opened.contains(&*name);
        self.opened.insert(name.to_string());
        self.printed.files.push((name.to_string(), added, text.as_bytes().to_vec()));
        if self.printed.files.len() > MOST_FIELDS { Err("too much output at once".into()) } else { Ok(()) }
    }

    fn key(&mut self, keys: &[Expr]) -> Done<String> {
        let mut texts = Vec::new();
        for key in keys {
            let value = self.value(key)?;
            texts.push(self.text(&value));
        }
        Ok(texts.join(&*self.setting("SUBSEP")))
    }
    fn read(&mut self, place: &Place) -> Done<Value> {
        Ok(match place {
            Place::Variable(name) => self.variables.get(name).cloned().unwrap_or(Value::Unset),
            Place::Field(index) => {
                let index = self.value(index)?.number();
                self.field(index)?
            }
            Place::Element(array, keys) => {
                let key = self.key(keys)?;
                if let Some(value) = self.arrays.get(array).and_then(|a| a.get(&key)) {
                    return Ok(value.clone());
                }
                // Reading an element makes it.
                self.set_element(array, &key, Value::Unset)?;
                Value::Unset
            }
        })
    }
    pub(super) fn write(&mut self, place: &Place, value: Value) -> Done<()> {
        match place {
            Place::Variable(name) => {
                if name == "NF" {
                    return self.resize_fields(to_index(value.number()));
                }
                self.variables.insert(name.clone(), value);
                Ok(())
            }
            Place::Field(index) => {
                let index = self.value(index)?.number();
                self.set_field(index, value)
            }
            Place::Element(array, keys) => {
                let key = self.key(keys)?;
                self.set_element(array, &key, value)
            }
        }
    }
    /// A regular expression given as one or as a text.
    pub(super) fn regex(&mut self, expression: &Expr) -> Done<Rc<Regex>> {
        if let Expr::Regex(regex) = expression {
            return Ok(regex.clone());
        }
        let value = self.value(expression)?;
        let text = self.text(&value);
        Regex::new(&text, true, false).map(Rc::new).map_err(|e| format!("regular expression {text}: {e}"))
    }
    pub(super) fn value(&mut self, expression: &Expr) -> Done<Value> {
        self.step()?;
        Ok(match expression {
            Expr::Number(value) => Value::Number(*value),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Regex(regex) => {
                let record = self.whole_record();
                Value::truth(regex.is_match(&record))
            }
            Expr::Place(place) => self.read(place)?,
            Expr::Assign(place, operation, value) => {
                let mut value = self.value(value)?;
                if let Some(operation) = operation {
                    let before = self.read(place)?.number();
                    value = Value::Number(arithmetic(*operation, before, value.number())?);
                }
                self.write(place, value.clone())?;
                value
            }
            Expr::Step(place, by, after) => {
                let before = self.read(place)?.number();
                self.write(place, Value::Number(before + by))?;
                Value::Number(if *after { before } else { before + by })
            }
            Expr::Arithmetic(operation, a, b) => {
                let (a, b) = (self.value(a)?.number(), self.value(b)?.number());
                Value::Number(arithmetic(*operation, a, b)?)
            }
            Expr::Compare(comparison, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let order = a.compare(&b, &self.setting("CONVFMT"));
                Value::truth(match comparison {
                    Comparison::Less => order == Some(Ordering::Less),
                    Comparison::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                    Comparison::Equal => order == Some(Ordering::Equal),
                    Comparison::Unequal => order != Some(Ordering::Equal),
                    Comparison::More => order == Some(Ordering::Greater),
                    Comparison::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
                })
            }
            Expr::Match(negated, subject, regex) => {
                let subject = self.value(subject)?;
                let (subject, regex) = (self.text(&subject), self.regex(regex)?);
                Value::truth(regex.is_match(&subject) != *negated)
            }
            Expr::In(keys, array) => {
                let key = self.key(keys)?;
                Value::truth(self.arrays.get(array).is_some_and(|a| a.contains_key(&key)))
            }
            Expr::Concat(a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let (a, b) = (self.text(&a), self.text(&b));
                if a.len() + b.len() > LONGEST {
                    return Err("a text grew too long".into());
                }
                Value::Text([a, b].concat().into())
            }
            Expr::And(a, b) => Value::truth(self.is_true(a)? && self.is_true(b)?),
            Expr::Or(a, b) => Value::truth(self.is_true(a)? || self.is_true(b)?),
            Expr::Not(a) => Value::truth(!self.is_true(a)?),
            Expr::Negate(a) => Value::Number(-self.value(a)?.number()),
            Expr::Positive(a) => Value::Number(self.value(a)?.number()),
            Expr::Choose(condition, yes, no) => {
                let chosen = if self.is_true(condition)? { yes } else { no };
                self.value(chosen)?
            }
            Expr::Call(name, arguments) => functions::call(self, name, arguments)?,
        })
    }
    pub(super) fn array_length(&self, name: &str) -> Option<usize> {
        self.arrays.get(name).map(BTreeMap::len)
    }
}

fn to_index(value: f64) -> usize {
    usize::try_from(crate::tools::numbers::truncated(value)).unwrap_or(0)
}

fn arithmetic(operation: Arithmetic, a: f64, b: f64) -> Done<f64> {
    Ok(match operation {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Modulo if b == 0.0 => return Err("division by zero".into()),
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
        Arithmetic::Power => libm::pow(a, b),
    })
}
