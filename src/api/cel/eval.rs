//! The evaluator (cel-go's interpreter).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::check::type_named;
use super::syntax::{Expr, Loop, Node};
use super::value::{Entries, Items, Other, Val};
use super::{Check, CompileError, Decision, Env, PER_CALL_LIMIT, Program, costs, functions};
use crate::Str;

/// Why an expression gave no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Fail {
    /// An error that `||` and `&&` may make good.
    Error(String),
    /// The expression cost too much.
    Cost,
}

impl Fail {
    /// What is said.
    pub fn text(&self) -> &str {
        match self {
            Fail::Error(text) => text,
            Fail::Cost => "operation cancelled: actual cost limit exceeded",
        }
    }
}

impl<T: Into<String>> From<T> for Fail {
    fn from(text: T) -> Fail {
        Fail::Error(text.into())
    }
}

pub(super) type Eval = Result<Val, Fail>;

/// The variables of a policy: names with their programs.
pub type Variables = [(Str, Result<Program, CompileError>)];

/// What the names stand for during the evaluation of a request.
pub struct Activation<'a> {
    values: Vec<(&'static str, Val)>,
    variables: &'a Variables,
    worked_out: BTreeMap<Str, Eval>,
    authorize: Option<&'a dyn Fn(&Check) -> Decision>,
    scopes: Vec<(Str, Val)>,
    cost: u64,
    /// What was spent by all evaluations since it was last taken.
    spent: u64,
    /// What functions do that is dearer here than it counts.
    work: u64,
}

/// Most that may be done by one evaluation beyond what it costs.
const WORK: u64 = 4 * PER_CALL_LIMIT;

impl<'a> Activation<'a> {
    /// Names with their values, and a policy's variables.
    pub fn new(values: Vec<(&'static str, Val)>, variables: &'a Variables) -> Activation<'a> {
        Activation {
            values,
            variables,
            worked_out: BTreeMap::new(),
            authorize: None,
            scopes: Vec::new(),
            cost: 0,
            spent: 0,
            work: 0,
        }
    }

    /// With an authorizer to be asked, and the resource of the request.
    pub fn with_authorizer(mut self, authorize: &'a dyn Fn(&Check) -> Decision, request: Check) -> Activation<'a> {
        self.authorize = Some(authorize);
        self.values.push(("authorizer", Val::other(Other::Authorizer(Check::default()))));
        self.values.push(("authorizer.requestResource", Val::other(Other::ResourceCheck(request))));
        self
    }

    /// Gives a name another value.
    pub fn set(&mut self, name: &'static str, value: Val) {
        self.values.retain(|(n, _)| *n != name);
        self.values.push((name, value));
        self.worked_out.clear();
    }

    /// Evaluates a program.
    pub fn eval(&mut self, program: &Program) -> Result<Val, Fail> {
        let (outer, scopes) = (std::mem::take(&mut self.cost), std::mem::take(&mut self.scopes));
        self.work = 0;
        let result = self.value(&program.expr);
        self.spent = self.spent.saturating_add(self.cost);
        (self.cost, self.scopes) = (outer, scopes);
        result
    }

    /// What was spent since this was last asked.
    pub fn take_spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }

    /// Asks the authorizer.
    pub(super) fn authorize(&self, check: &Check) -> Decision {
        self.authorize.map(|ask| ask(check)).unwrap_or_default()
    }

    /// Counts what something costs.
    fn pay(&mut self, cost: u64) -> Result<(), Fail> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > PER_CALL_LIMIT { Err(Fail::Cost) } else { Ok(()) }
    }

    /// Does work of which the cost says nothing, so that no expression takes for ever.
    pub(super) fn toil(&mut self, work: usize) -> Result<(), Fail> {
        self.work = self.work.saturating_add(work as u64);
        if self.work > WORK { Err(Fail::Cost) } else { Ok(()) }
    }

    fn variable(&mut self, name: &str) -> Eval {
        if let Some(known) = self.worked_out.get(name) {
            return known.clone();
        }
        let found = match self.variables.iter().find(|(n, _)| **n == *name) {
            None => return Err(format!("no such key: {name}").into()),
            Some((_, Err(error))) => {
                let name = crate::go::quote(name);
                Err(Fail::Error(format!("composited variable {name} fails to compile: {}", error.detail())))
            }
            Some((_, Ok(program))) => self.eval(program).map_err(|fail| {
                let name = crate::go::quote(name);
                Fail::Error(format!("composited variable {name} fails to evaluate: {}", fail.text()))
            }),
        };
        self.worked_out.insert(name.into(), found.clone());
        found
    }

    fn ident(&mut self, name: &str) -> Eval {
        if let Some((_, value)) = self.scopes.iter().rev().find(|(n, _)| **n == *name) {
            return Ok(value.clone());
        }
        let name = name.trim_start_matches('.');
        if name == "variables" {
            return Ok(Val::other(Other::Variables));
        }
        if let Some((_, value)) = self.values.iter().find(|(n, _)| *n == name) {
            return Ok(value.clone());
        }
        if type_named(name).is_some() {
            return Ok(Val::Type(name.into()));
        }
        Err(format!("no such attribute(s): {name}").into())
    }

    /// What an expression gives. A name with what is selected from it costs 1 and 1 for each step.
    pub(super) fn value(&mut self, expr: &Expr) -> Eval {
        if is_attribute(expr) {
            self.pay(1)?;
        }
        self.raw(expr)
    }

    /// As `value`, without the cost of a name: so are the branches of `?:` and the keys within an attribute.
    fn raw(&mut self, expr: &Expr) -> Eval {
        match &expr.kind {
            Node::Literal(value) => Ok(value.clone()),
            Node::Ident(name) => self.ident(name),
            Node::Select(operand, field, test) => {
                let of = self.raw(operand)?;
                if *test {
                    self.pay(1)?;
                    return Ok(Val::Bool(self.select(&of, field, true)?.is_some()));
                }
                if let Val::Optional(of) = of {
                    let Some(of) = of else { return Ok(Val::Optional(None)) };
                    let found = self.select(&of, field, true)?.map(Rc::new);
                    self.pay(u64::from(found.is_some()))?;
                    return Ok(Val::Optional(found));
                }
                self.pay(1)?;
                self.select(&of, field, false)?.ok_or_else(|| format!("no such key: {field}").into())
            }
            Node::Call(name, target, args) => self.call(expr.overload, name, target.as_deref(), args),
            Node::List(items) => {
                self.pay(costs::LIST)?;
                let mut list = Vec::with_capacity(items.len());
                for (item, optional) in items {
                    match (self.value(item)?, optional) {
                        (Val::Optional(None), true) => {}
                        (Val::Optional(Some(inner)), true) => list.push((*inner).clone()),
                        (value, _) => list.push(value),
                    }
                }
                Ok(Val::list(list))
            }
            Node::Map(entries) => {
                self.pay(30)?;
                let mut map: Vec<(Val, Val)> = Vec::with_capacity(entries.len());
                for (key, value, optional) in entries {
                    let key = self.value(key)?;
                    let value = match (self.value(value)?, optional) {
                        (Val::Optional(None), true) => continue,
                        (Val::Optional(Some(inner)), true) => (*inner).clone(),
                        (value, _) => value,
                    };
                    map.retain(|(k, _)| !k.equals(&key));
                    map.push((key, value));
                }
                Ok(Val::map(map))
            }
            Node::Message(name, fields) => {
                self.pay(40)?;
                let mut made: Vec<(Str, Val)> = Vec::with_capacity(fields.len());
                for (field, _, value, optional) in fields {
                    match (self.value(value)?, optional) {
                        (Val::Optional(None), true) => {}
                        (Val::Optional(Some(inner)), true) => made.push((field.clone(), (*inner).clone())),
                        (value, _) => made.push((field.clone(), value)),
                    }
                }
                Ok(Val::Message(name.clone(), Rc::new(made)))
            }
            Node::Loop(l) => self.run(l),
        }
    }

    fn run(&mut self, l: &Loop) -> Eval {
        let range = self.value(&l.range)?;
        let accumulated = self.value(&l.init)?;
        let items: Vec<(Val, Val)> = match range {
            Val::List(list) if l.second.is_some() => {
                list.to_vec().into_iter().enumerate().map(|(i, v)| (Val::Int(i as i64), v)).collect()
            }
            Val::List(list) => list.to_vec().into_iter().map(|v| (v, Val::Null)).collect(),
            Val::Map(map) => map.to_vec(),
            other => return Err(format!("got 'types.{}', expected iterable type", go_name(&other)).into()),
        };
        let depth = self.scopes.len();
        self.scopes.push((l.accumulator.clone(), accumulated));
        let result = self.rounds(l, items, depth);
        self.scopes.truncate(depth);
        result
    }

    fn rounds(&mut self, l: &Loop, items: Vec<(Val, Val)>, depth: usize) -> Eval {
        // An error of one round may be made good by another.
        let mut failed: Option<Fail> = None;
        for (key, value) in items {
            self.scopes.push((l.var.clone(), key));
            if let Some(second) = &l.second {
                self.scopes.push((second.clone(), value));
            }
            let go_on = match &failed {
                Some(_) => {
                    // An error is no reason to stop; asking costs all the same.
                    let of_exists = matches!(&l.step.kind, Node::Call(name, ..) if &**name == "_||_");
                    self.pay(if of_exists { 3 } else { 2 })?;
                    true
                }
                None => !matches!(self.value(&l.condition), Ok(Val::Bool(false))),
            };
            if !go_on {
                self.scopes.truncate(depth + 1);
                break;
            }
            let step = self.step(&l.step, &mut failed);
            self.scopes.truncate(depth + 1);
            if let (Some(value), Some((_, accumulated))) = (step?, self.scopes.get_mut(depth)) {
                *accumulated = value;
            }
        }
        match failed {
            Some(fail) => self.pay(1).and(Err(fail)),
            None => self.value(&l.result),
        }
    }

    /// One round: `all` and `exists` go on after an error until the other operand decides.
    fn step(&mut self, step: &Expr, failed: &mut Option<Fail>) -> Result<Option<Val>, Fail> {
        if let Node::Call(name, None, args) = &step.kind
            && matches!(&**name, "_&&_" | "_||_")
            && let [accumulated, predicate] = &args[..]
            && matches!(&accumulated.kind, Node::Ident(name) if &**name == super::macros::RESULT)
        {
            let decides = &**name == "_||_";
            self.pay(1)?;
            return match self.value(predicate) {
                Ok(Val::Bool(found)) if found == decides => {
                    *failed = None;
                    Ok(Some(Val::Bool(found)))
                }
                Ok(Val::Bool(_)) => Ok(None),
                Err(Fail::Cost) => Err(Fail::Cost),
                other => {
                    if failed.is_none() && !self.decided(decides) {
                        *failed = Some(other.err().unwrap_or_else(|| "no such overload".into()));
                    }
                    Ok(None)
                }
            };
        }
        self.value(step).map(Some)
    }

    fn decided(&self, by: bool) -> bool {
        let accumulated = self.scopes.iter().rev().find(|(name, _)| &**name == super::macros::RESULT);
        matches!(accumulated, Some((_, Val::Bool(found))) if *found == by)
    }

    /// The value of a field; nothing where it is only asked for and missing.
    fn select(&mut self, of: &Val, field: &str, test: bool) -> Result<Option<Val>, Fail> {
        match of {
            Val::Map(map) => Ok(map.get(&Val::from(field))),
            Val::Message(_, fields) => Ok(fields.iter().find(|(n, _)| **n == *field).map(|(_, v)| v.clone())),
            Val::Other(other) if matches!(&**other, Other::Variables) => {
                if test {
                    return Ok(self.variables.iter().any(|(n, _)| **n == *field).then_some(Val::Null));
                }
                self.variable(field).map(Some)
            }
            Val::List(_) if !test => Err("unsupported index type 'string' in list".into()),
            Val::Optional(Some(inner)) => self.select(inner, field, test),
            _ => Ok(None),
        }
    }

    fn call(&mut self, overload: Option<&str>, name: &Str, target: Option<&Expr>, args: &[Expr]) -> Eval {
        match (&**name, args) {
            ("_&&_", [a, b]) => return self.logic(false, a, b),
            ("_||_", [a, b]) => return self.logic(true, a, b),
            ("_?_:_", [condition, yes, no]) => {
                return match self.value(condition)? {
                    Val::Bool(true) => self.raw(yes),
                    Val::Bool(false) => self.raw(no),
                    _ => Err("no such overload".into()),
                };
            }
            ("_?._", [operand, Expr { kind: Node::Literal(Val::Str(field)), .. }]) => {
                let of = self.raw(operand)?;
                let found = self.select(&of, field, true)?.map(Rc::new);
                self.pay(u64::from(found.is_some()))?;
                return Ok(Val::Optional(found));
            }
            ("_[_]" | "_[?_]", [of, key]) => {
                let (of, key) = (self.raw(of)?, self.raw(key)?);
                let optional = &**name == "_[?_]" || matches!(of, Val::Optional(_));
                if !optional {
                    self.pay(1)?;
                    return index(&of, &key, false);
                }
                let found = index(&of, &key, optional)?;
                self.pay(u64::from(matches!(found, Val::Optional(Some(_)))))?;
                return Ok(found);
            }
            ("@not_strictly_false", [inner]) => {
                let found = self.value(inner);
                self.pay(1)?;
                return Ok(Val::Bool(!matches!(found, Ok(Val::Bool(false)))));
            }
            ("or" | "orValue", [other]) if target.is_some() => {
                let Some(target) = target else { return Ok(Val::Null) };
                return match (self.value(target)?, &**name) {
                    (Val::Optional(Some(inner)), "orValue") => Ok((*inner).clone()),
                    (Val::Optional(Some(inner)), _) => Ok(Val::Optional(Some(inner))),
                    (Val::Optional(None), _) => self.value(other),
                    _ => Err("no such overload".into()),
                };
            }
            _ => {}
        }
        let count = args.len() + usize::from(target.is_some());
        let mut values = Vec::with_capacity(count);
        let mut failed = None;
        for arg in target.into_iter().chain(args) {
            match self.value(arg) {
                Ok(value) => values.push(value),
                Err(Fail::Cost) => return Err(Fail::Cost),
                // With two arguments both are always looked at.
                Err(fail) if count > 2 => return Err(fail),
                Err(fail) => failed = failed.or(Some(fail)),
            }
        }
        if let Some(fail) = failed {
            return self.pay(1).and(Err(fail));
        }
        if let ("_==_" | "_!=_", [a, b]) = (&**name, &values[..]) {
            self.pay(costs::of_call(name, overload, &values, None))?;
            return Ok(Val::Bool(equal(a, b)? == (&**name == "_==_")));
        }
        let Some(function) = functions::by_name(name) else {
            return Err(format!("no such overload: {name}").into());
        };
        let result = (function.run)(self, name, &values);
        let given = result.as_ref().and_then(|result| result.as_ref().ok());
        self.pay(costs::of_call(name, overload, &values, given))?;
        match result {
            Some(result) => result,
            None if functions::is_operator(name) => Err("no such overload".into()),
            None => Err(no_overload(name, &values).into()),
        }
    }

    fn logic(&mut self, decides: bool, a: &Expr, b: &Expr) -> Eval {
        let first = self.value(a);
        match first {
            Ok(Val::Bool(found)) if found == decides => return Ok(Val::Bool(found)),
            Err(Fail::Cost) => return first,
            _ => {}
        }
        let second = self.value(b);
        match (first, second) {
            (_, Ok(Val::Bool(found))) if found == decides => Ok(Val::Bool(found)),
            (_, Err(Fail::Cost)) => Err(Fail::Cost),
            (Err(fail), _) => Err(fail),
            (Ok(Val::Bool(_)), Err(fail)) => Err(fail),
            (Ok(Val::Bool(_)), Ok(Val::Bool(found))) => Ok(Val::Bool(found)),
            _ => Err("no such overload".into()),
        }
    }

    /// Evaluates an expression of constants.
    pub(super) fn constant(expr: &Expr) -> Eval {
        Activation::new(Vec::new(), &[]).value(expr)
    }
}

/// Whether it is a name with what is selected from it, or from what a call gives. Names of types are constants.
fn is_attribute(expr: &Expr) -> bool {
    let mut at = expr;
    loop {
        at = match &at.kind {
            Node::Ident(name) => return type_named(name).is_none(),
            // `has` costs nothing itself.
            Node::Select(_, _, true) => return false,
            Node::Select(operand, ..) => operand,
            Node::Call(name, None, args) if matches!(&**name, "_[_]" | "_[?_]" | "_?._") => match args.first() {
                Some(operand) => operand,
                None => return false,
            },
            _ => return !std::ptr::eq(at, expr) && !is_ternary(at),
        };
    }
}

fn is_ternary(expr: &Expr) -> bool {
    matches!(&expr.kind, Node::Call(name, ..) if &**name == "_?_:_")
}

fn no_overload(name: &str, values: &[Val]) -> String {
    if name == "size" {
        return "no such overload: size".to_string();
    }
    if matches!(name, "contains" | "startsWith" | "endsWith" | "matches") {
        return "no such overload".to_string();
    }
    let kinds: Vec<&str> = values.iter().map(Val::type_name).collect();
    format!("no such overload: {name}({})", kinds.join(", "))
}

/// The name of a value's Go type.
pub(super) fn go_name(value: &Val) -> &'static str {
    match value {
        Val::Null => "Null",
        Val::Bool(_) => "Bool",
        Val::Int(_) => "Int",
        Val::Uint(_) => "Uint",
        Val::Double(_) => "Double",
        Val::Str(_) => "String",
        Val::Bytes(_) => "Bytes",
        Val::Duration(_) => "Duration",
        Val::Timestamp(..) => "Timestamp",
        _ => "Type",
    }
}

/// Equality; an object's lists and maps are compared with their like only.
fn equal(a: &Val, b: &Val) -> Result<bool, Fail> {
    match (a, b) {
        (_, Val::Null) | (Val::Null, _) => Ok(matches!((a, b), (Val::Null, Val::Null))),
        (Val::List(Items::Json(_)), b) if !matches!(b, Val::List(_)) => Err("no such overload".into()),
        (Val::Map(Entries::Json(_)), b) if !matches!(b, Val::Map(_) | Val::Message(..)) => {
            Err("no such overload".into())
        }
        _ => Ok(a.equals(b)),
    }
}

/// `of[key]`, `of[?key]`
fn index(of: &Val, key: &Val, optional: bool) -> Eval {
    let whole = |key: &Val| match key {
        Val::Int(i) => Some(*i),
        Val::Uint(u) => i64::try_from(*u).ok(),
        Val::Double(d) if d.fract() == 0.0 && d.abs() < 9e15 => Some(*d as i64),
        _ => None,
    };
    let wrapped = |found: Option<Val>, missing: String| match (found, optional) {
        (found, true) => Ok(Val::Optional(found.map(Rc::new))),
        (Some(found), false) => Ok(found),
        (None, false) => Err(Fail::Error(missing)),
    };
    match of {
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => index(inner, key, true),
        Val::Map(Entries::Json(_)) if !matches!(key, Val::Str(_)) => {
            Err(format!("unsupported map key type: types.{}", go_name(key)).into())
        }
        Val::Map(map) => wrapped(map.get(key), format!("no such key: {}", shown(key))),
        Val::List(list) => {
            let Some(i) = whole(key) else {
                return Err(format!("unsupported index type '{}' in list", key.type_name()).into());
            };
            let found = usize::try_from(i).ok().and_then(|i| list.get(i));
            wrapped(found, format!("index out of bounds: {i}"))
        }
        _ => wrapped(None, format!("no such key: {}", shown(key))),
    }
}

fn shown(key: &Val) -> Str {
    key.text().unwrap_or_else(|| key.type_name().into())
}

/// The names that a program's expression may use, from its policy's.
impl Env {
    /// With one more variable, of a program's type.
    pub fn add_variable(&mut self, name: &Str, of: &super::Type) {
        use super::Type;
        let declared = match of {
            Type::Struct(_) | Type::Optional(_) | Type::Type(_) | Type::Param(_) => Type::Dyn,
            other => other.clone(),
        };
        let variables = self.variables.get_or_insert_default();
        variables.retain(|(n, _)| n != name);
        variables.push((name.clone(), declared));
    }
}
