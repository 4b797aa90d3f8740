//! The type checker (cel-go's checker).

use std::collections::BTreeMap;

use super::syntax::{Expr, Node};
use super::types::{self, Known, Type};
use super::value::Val;
use super::{Env, Issue, functions};
use crate::Str;

/// Checks an expression; names are resolved in it.
pub(super) fn check(env: &Env, expr: &mut Expr) -> Result<Type, Vec<Issue>> {
    let (scopes, issues, literals) = (Vec::new(), Vec::new(), Vec::new());
    let mut checker = Checker { env, known: Known::default(), scopes, issues, literals, formats: 0 };
    let found = checker.check(expr);
    if checker.issues.is_empty() {
        checker.mixed();
    }
    if checker.issues.is_empty() && env.estimated {
        checker.known_types(expr);
    }
    if checker.issues.is_empty() { Ok(checker.known.put(&found, true)) } else { Err(checker.issues) }
}

struct Checker<'a> {
    env: &'a Env,
    known: Known,
    /// Variables of loops, innermost last.
    scopes: Vec<(Str, Type)>,
    issues: Vec<Issue>,
    /// What lists and maps were written with: where, and of which type. Each must be of one type.
    literals: Vec<Vec<(usize, Type)>>,
    /// How many `format` calls are around, in which lists may be mixed.
    formats: usize,
}

impl Checker<'_> {
    /// Puts into the tree what was found out about types.
    fn known_types(&mut self, expr: &mut Expr) {
        expr.of = self.known.put(&expr.of, false);
        match &mut expr.kind {
            Node::Literal(_) | Node::Ident(_) => {}
            Node::Select(operand, ..) => self.known_types(operand),
            Node::Call(_, target, args) => {
                target.iter_mut().for_each(|target| self.known_types(target));
                args.iter_mut().for_each(|arg| self.known_types(arg));
            }
            Node::List(items) => items.iter_mut().for_each(|(item, _)| self.known_types(item)),
            Node::Map(entries) => entries.iter_mut().for_each(|(key, value, _)| {
                self.known_types(key);
                self.known_types(value);
            }),
            Node::Message(_, fields) => fields.iter_mut().for_each(|(_, _, value, _)| self.known_types(value)),
            Node::Loop(l) => {
                for part in [&mut l.range, &mut l.init, &mut l.condition, &mut l.step, &mut l.result] {
                    self.known_types(part);
                }
            }
        }
    }

    fn wrong(&mut self, at: usize, message: String) {
        self.issues.push(Issue { at, message });
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.wrong(at, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn mismatch(&mut self, at: usize, expected: &Type, found: &Type) {
        let (expected, found) = (self.known.put(expected, false), self.known.put(found, false));
        self.wrong(at, format!("expected type '{expected}' but found '{found}'"));
    }

    fn variable(&self, name: &str) -> Option<Type> {
        let local = self.scopes.iter().rev().find(|(n, _)| **n == *name).map(|(_, t)| t.clone());
        local.or_else(|| self.env.variable(name.trim_start_matches('.'))).or_else(|| type_named(name))
    }

    fn check(&mut self, expr: &mut Expr) -> Type {
        let of = self.check_node(expr);
        if self.env.estimated {
            expr.of = of.clone();
        }
        of
    }

    fn check_node(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        if let Node::Select(_, _, false) = &expr.kind
            && let Some(name) = expr.qualified()
            && self.env.variable(&name).is_some()
            && self.scopes.iter().all(|(n, _)| name.split('.').next() != Some(&**n))
        {
            expr.kind = Node::Ident(name.into());
        }
        match &mut expr.kind {
            Node::Literal(value) => match value {
                Val::Bool(_) => Type::Bool,
                Val::Int(_) => Type::Int,
                Val::Uint(_) => Type::Uint,
                Val::Double(_) => Type::Double,
                Val::Str(_) => Type::Str,
                Val::Bytes(_) => Type::Bytes,
                _ => Type::Null,
            },
            Node::Ident(name) => {
                let name = name.clone();
                self.variable(&name).unwrap_or_else(|| self.undeclared(at, &name))
            }
            Node::Select(operand, field, test) => {
                let (field, test) = (field.clone(), *test);
                let found = self.field(operand, &field, at, false);
                if test { Type::Bool } else { self.known.put(&found, false) }
            }
            Node::Call(..) => self.call(expr),
            Node::List(items) => {
                let mut of = None;
                let mut seen = Vec::with_capacity(items.len());
                for (item, optional) in items {
                    let mut found = self.check(item);
                    if *optional {
                        found = self.unwrapped(item.at, found);
                    }
                    seen.push((item.at, found.clone()));
                    of = Some(self.join(of, found));
                }
                self.note(seen);
                Type::list(of.unwrap_or_else(|| self.known.fresh()))
            }
            Node::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                let (mut seen_keys, mut seen_values) = (Vec::new(), Vec::new());
                for (key, value, optional) in entries {
                    let found = self.check(key);
                    seen_keys.push((key.at, found.clone()));
                    keys = Some(self.join(keys, found));
                    let mut found = self.check(value);
                    if *optional {
                        found = self.unwrapped(value.at, found);
                    }
                    seen_values.push((value.at, found.clone()));
                    values = Some(self.join(values, found));
                }
                self.note(seen_keys);
                self.note(seen_values);
                let keys = keys.unwrap_or_else(|| self.known.fresh());
                Type::map(keys, values.unwrap_or_else(|| self.known.fresh()))
            }
            Node::Message(..) => self.message(expr),
            Node::Loop(l) => {
                let range = self.check(&mut l.range);
                let accumulated = self.check(&mut l.init);
                let range = self.known.put(&range, false);
                let depth = self.scopes.len();
                self.scopes.push((l.accumulator.clone(), accumulated.clone()));
                let two = l.second.is_some();
                let (first, second) = match &range {
                    Type::List(of) if two => (Type::Int, (**of).clone()),
                    Type::List(of) => ((**of).clone(), Type::Dyn),
                    Type::Map(of) => (of.0.clone(), of.1.clone()),
                    Type::Dyn | Type::Error | Type::Param(_) => {
                        self.known.assignable(&[Type::Dyn], std::slice::from_ref(&range));
                        (Type::Dyn, Type::Dyn)
                    }
                    other => {
                        let text = format!(
                            "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                        );
                        self.wrong(l.range.at, text);
                        (Type::Error, Type::Error)
                    }
                };
                self.scopes.push((l.var.clone(), first));
                if let Some(name) = &l.second {
                    self.scopes.push((name.clone(), second));
                }
                let condition = self.check(&mut l.condition);
                self.assert(l.condition.at, &Type::Bool, &condition);
                let step = self.check(&mut l.step);
                self.assert(l.step.at, &accumulated, &step);
                self.scopes.truncate(depth + 1);
                let result = self.check(&mut l.result);
                self.scopes.truncate(depth);
                self.known.put(&result, false)
            }
        }
    }

    fn assert(&mut self, at: usize, wanted: &Type, found: &Type) {
        if !self.known.assignable(std::slice::from_ref(wanted), std::slice::from_ref(found)) {
            self.mismatch(at, wanted, found);
        }
    }

    fn unwrapped(&mut self, at: usize, found: Type) -> Type {
        match &found {
            Type::Optional(of) => (**of).clone(),
            Type::Dyn => found,
            other => {
                let wanted = Type::optional(other.clone());
                self.mismatch(at, &wanted, &found);
                found
            }
        }
    }

    fn note(&mut self, seen: Vec<(usize, Type)>) {
        if self.formats == 0 && seen.len() > 1 {
            self.literals.push(seen);
        }
    }

    /// Lists and maps of several types (`ValidateHomogeneousAggregateLiterals`).
    fn mixed(&mut self) {
        for seen in std::mem::take(&mut self.literals) {
            let mut seen = seen.into_iter().map(|(at, of)| (at, self.known.put(&of, true)));
            let Some((_, first)) = seen.next() else { continue };
            if let Some((at, other)) = seen.find(|(_, other)| *other != first) {
                self.mismatch(at, &first, &other);
            }
        }
    }

    fn join(&mut self, before: Option<Type>, found: Type) -> Type {
        let Some(before) = before else { return found };
        if self.known.assignable(std::slice::from_ref(&before), std::slice::from_ref(&found)) {
            return types::general(&before, &found);
        }
        Type::Dyn
    }

    fn field(&mut self, operand: &mut Expr, field: &str, at: usize, optional: bool) -> Type {
        let of = self.check(operand);
        let of = self.known.put(&of, false);
        let (target, wrapped) = match &of {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), optional),
        };
        let found = match &target {
            Type::Map(of) => of.1.clone(),
            Type::Struct(name) => match self.env.field(name, field) {
                Some(found) => found,
                None => {
                    self.wrong(at, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Param(_) => {
                self.known.assignable(&[Type::Dyn], std::slice::from_ref(&target));
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.wrong(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if wrapped { Type::optional(found) } else { found }
    }

    fn call(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        let Node::Call(name, target, args) = &mut expr.kind else { return Type::Error };
        // `cel.bind(x, value, body)` is there for devices only.
        if let ("bind", true, Some(Node::Ident(receiver))) =
            (&**name, self.env.device, target.as_ref().map(|t| &t.kind))
            && &**receiver == "cel"
            && let [var, init, body] = &mut args[..]
            && let Node::Ident(var) = &var.kind
        {
            let nothing = || Expr::literal(Val::Null, at);
            let (init, body) = (std::mem::replace(init, nothing()), std::mem::replace(body, nothing()));
            *expr = super::macros::bind(&var.clone(), init, body, at);
            return self.check(expr);
        }
        if &**name == "_?._" {
            let [operand, Expr { kind: Node::Literal(Val::Str(field)), .. }] = &mut args[..] else {
                return Type::Error;
            };
            let field = field.clone();
            let found = self.field(operand, &field, at, true);
            return self.known.put(&found, false);
        }
        let mut found: Vec<Type> = Vec::with_capacity(args.len() + 1);
        self.formats += usize::from(&**name == "format");
        for arg in args.iter_mut() {
            found.push(self.check(arg));
        }
        self.formats -= usize::from(&**name == "format");
        if let Some(receiver) = target {
            // `sets.contains(...)` is a function and not a method of `sets`.
            let full = receiver.qualified().map(|prefix| format!("{prefix}.{name}"));
            if let Some(full) = full.filter(|full| functions::find(self.env, full).is_some()) {
                *name = full.into();
                *target = None;
            } else {
                found.insert(0, self.check(receiver));
            }
        }
        let (name, member) = (name.clone(), target.is_some());
        if matches!(&*name, "_&&_" | "_||_") {
            for (found, arg_at) in found.iter().zip(args.iter().map(|arg| arg.at).collect::<Vec<_>>()) {
                if !self.known.assignable(std::slice::from_ref(found), &[Type::Bool]) {
                    self.mismatch(arg_at, &Type::Bool, found);
                }
            }
            return Type::Bool;
        }
        let Some(function) = functions::find(self.env, &name) else { return self.undeclared(at, &name) };
        let mut result: Option<Type> = None;
        let (mut only, mut fitting) = (None, 0);
        for (i, overload) in function.overloads().enumerate() {
            if overload.member != member {
                continue;
            }
            let mut letters: BTreeMap<u8, Type> = BTreeMap::new();
            let known = &mut self.known;
            let mut param = |letter: u8| letters.entry(letter).or_insert_with(|| known.fresh()).clone();
            let wanted: Vec<Type> = overload.args.iter().map(|text| types::read(text, &mut param)).collect();
            let gives = types::read(overload.result, &mut param);
            if self.known.assignable(&found, &wanted) {
                let gives = self.known.put(&gives, false);
                fitting |= 1_u32.checked_shl(i as u32).unwrap_or(0);
                only = if result.is_none() { Some(overload.text) } else { None };
                result = Some(match result {
                    None => gives,
                    Some(before) if before == Type::Dyn || before == gives => before,
                    Some(_) => Type::Dyn,
                });
            }
        }
        (expr.overload, expr.overloads) = (only, fitting);
        result.unwrap_or_else(|| {
            let mut shown = found.iter().map(|of| self.known.put(of, true).to_string()).collect::<Vec<_>>();
            let receiver = if member && !shown.is_empty() { format!("{}.", shown.remove(0)) } else { String::new() };
            let signature = format!("{receiver}({})", shown.join(", "));
            self.wrong(at, format!("found no matching overload for '{name}' applied to '{signature}'"));
            Type::Error
        })
    }

    fn message(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        let Node::Message(name, fields) = &mut expr.kind else { return Type::Error };
        let of = name.clone();
        if !self.env.is_message(&of) {
            return self.undeclared(at, &of);
        }
        for (field, field_at, value, optional) in fields {
            let mut found = self.check(value);
            if *optional {
                found = self.unwrapped(value.at, found);
            }
            let Some(wanted) = self.env.field(&of, field) else {
                // Only patches have unknown fields, and those are of no type.
                let text = format!("expected type of field '{field}' is '' but provided type is '{found}'");
                self.wrong(*field_at, text);
                continue;
            };
            if !self.known.assignable(std::slice::from_ref(&wanted), std::slice::from_ref(&found)) {
                let found = self.known.put(&found, false);
                let text = format!("expected type of field '{field}' is '{wanted}' but provided type is '{found}'");
                self.wrong(*field_at, text);
            }
        }
        Type::Struct(of)
    }
}

/// The types that have names of their own.
pub(super) fn type_named(name: &str) -> Option<Type> {
    let of = match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" => Type::Duration,
        "dyn" => Type::Dyn,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::Str,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "type" => Type::Type(Type::Dyn.into()),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(Type::Dyn),
        _ => return None,
    };
    Some(Type::Type(of.into()))
}
