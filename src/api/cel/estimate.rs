//! The most that the selector of a device may cost, by how large what it sees may be (cel-go's checker/cost.go,
//! apiserver's library/cost.go, and the sizes of dynamic-resource-allocation/cel). Of costs only the upper bound is
//! followed.

use super::functions;
use super::macros::RESULT;
use super::syntax::{Expr, Loop, Node};
use super::types::Type;
use super::value::Val;
use crate::Str;

/// The least and the most that a text, a list or a map may have.
type Size = (u64, u64);
const UNKNOWN: Size = (0, u64::MAX);

/// A tenth: what looking through a text costs; a quarter: what a pattern counts as.
const TEXT: f64 = 0.1;
const PATTERN: f64 = 0.25;
/// What making a list, a map and a message costs.
const MAKING: [u64; 3] = [10, 30, 40];

fn times(size: u64, factor: f64) -> u64 {
    let found = (size as f64 * factor).ceil();
    if found >= 18_446_744_073_709_551_616.0 { u64::MAX } else { found as u64 }
}

fn union(a: Size, b: Size) -> Size {
    (a.0.min(b.0), a.1.max(b.1))
}

fn plus(a: Size, b: Size) -> Size {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

fn product(a: Size, b: Size) -> Size {
    (a.0.saturating_mul(b.0), a.1.saturating_mul(b.1))
}

/// A part of a device that has a largest size.
#[derive(Clone, Copy, Debug)]
enum Place {
    Device,
    Driver,
    /// By domain: whether attributes, and not capacities.
    Domains(bool),
    Domain,
    Names(bool),
    Name,
    Attribute,
    Quantity,
    Shared,
}

impl Place {
    fn step(self, name: &str) -> Option<Place> {
        Some(match (self, name) {
            (Place::Device, "driver") => Place::Driver,
            (Place::Device, "attributes") => Place::Domains(true),
            (Place::Device, "capacity") => Place::Domains(false),
            (Place::Device, "allowMultipleAllocations") => Place::Shared,
            (Place::Domains(_), "@keys") => Place::Domain,
            (Place::Domains(attributes), "@items" | "@values") => Place::Names(attributes),
            (Place::Names(_), "@keys") => Place::Name,
            (Place::Names(false), "@items" | "@values") => Place::Quantity,
            (Place::Names(true), _) => Place::Attribute,
            _ => return None,
        })
    }

    fn size(self) -> Size {
        let most = match self {
            Place::Device | Place::Quantity => 0,
            Place::Driver | Place::Domain => 63,
            Place::Domains(_) | Place::Names(_) | Place::Name => 32,
            Place::Attribute => 64,
            Place::Shared => 1,
        };
        (0, most)
    }
}

/// What the keys and the values of a list or a map may have.
#[derive(Clone, Copy)]
struct Entry {
    list: bool,
    key: Size,
    value: Size,
}

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Found {
    cost: u64,
    size: Option<Size>,
    entry: Option<Entry>,
    place: Option<Place>,
}

impl Found {
    fn most(&self) -> Size {
        self.size.unwrap_or(UNKNOWN)
    }
}

fn both(a: Option<Entry>, b: Option<Entry>) -> Option<Entry> {
    let (a, b) = (a?, b?);
    Some(Entry { list: a.list, key: union(a.key, b.key), value: union(a.value, b.value) })
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(of) => is_scalar(of),
        _ => false,
    }
}

fn sized(expr: &Expr, place: Option<Place>) -> Option<Size> {
    place.map(Place::size).or_else(|| is_scalar(&expr.of).then_some((1, 1)))
}

/// The estimate of a checked expression.
pub(super) fn most(expr: &Expr) -> u64 {
    Estimate { locals: Vec::new() }.of(expr).cost
}

struct Estimate {
    /// Variables of loops, innermost last.
    locals: Vec<(Str, Found)>,
}

/// An argument: its node, and what is known of it.
type Arg<'a> = (&'a Expr, Found);

impl Estimate {
    fn of(&mut self, expr: &Expr) -> Found {
        match &expr.kind {
            Node::Literal(value) => {
                let size = match value {
                    Val::Str(text) => text.chars().count() as u64,
                    Val::Bytes(bytes) => bytes.len() as u64,
                    _ => 1,
                };
                Found { size: Some((size, size)), ..Found::default() }
            }
            Node::Ident(name) => {
                let local = self.locals.iter().rev().find(|(n, _)| n == name).map(|(_, found)| *found);
                let known = local
                    .unwrap_or(Found { place: (&**name == "device").then_some(Place::Device), ..Found::default() });
                Found { cost: 1, size: sized(expr, known.place).or(known.size), ..known }
            }
            Node::Select(operand, field, test) => {
                let of = self.of(operand);
                let step = !test && matches!(operand.of, Type::Map(_) | Type::Struct(_) | Type::Param(_));
                let place = of.place.and_then(|place| place.step(field)).filter(|_| !test);
                let cost = of.cost.saturating_add(u64::from(step));
                Found { cost, size: sized(expr, place), place, entry: None }
            }
            Node::List(items) => {
                let mut value = (if items.is_empty() { 0 } else { u64::MAX }, 0);
                let mut cost = MAKING[0];
                for (item, _) in items {
                    let found = self.of(item);
                    cost = cost.saturating_add(found.cost);
                    value = union(value, found.most());
                }
                let count = items.len() as u64;
                let entry = Some(Entry { list: true, key: (1, 1), value });
                Found { cost, size: Some((count, count)), entry, place: None }
            }
            Node::Map(entries) => {
                let least = if entries.is_empty() { 0 } else { u64::MAX };
                let (mut key_size, mut value_size) = ((least, 0), (least, 0));
                let mut cost = MAKING[1];
                for (key, value, _) in entries {
                    let (key, value) = (self.of(key), self.of(value));
                    cost = cost.saturating_add(key.cost).saturating_add(value.cost);
                    key_size = union(key_size, key.most());
                    value_size = union(value_size, value.most());
                }
                let count = entries.len() as u64;
                let entry = Some(Entry { list: false, key: key_size, value: value_size });
                Found { cost, size: Some((count, count)), entry, place: None }
            }
            Node::Message(_, fields) => {
                let costs = fields.iter().map(|(_, _, value, _)| self.of(value).cost);
                Found { cost: costs.fold(MAKING[2], u64::saturating_add), ..Found::default() }
            }
            Node::Loop(l) => self.repeated(expr, l),
            Node::Call(name, target, args) => self.call(expr, name, target.as_deref(), args),
        }
    }

    fn repeated(&mut self, expr: &Expr, l: &Loop) -> Found {
        let (range, init) = (self.of(&l.range), self.of(&l.init));
        let begin = range.cost.saturating_add(init.cost);
        self.locals.push((l.accumulator.clone(), init));
        let never = matches!(l.condition.kind, Node::Literal(Val::Bool(false)));
        if never && &*l.accumulator != RESULT {
            let result = self.of(&l.result);
            self.locals.pop();
            let size = result.size.or_else(|| sized(expr, None));
            return Found { cost: begin.saturating_add(result.cost), size, entry: result.entry, place: None };
        }
        let list = range.entry.map_or(matches!(l.range.of, Type::List(_)), |entry| entry.list);
        let variable = |value: bool| {
            let size = range.entry.map(|entry| if value { entry.value } else { entry.key });
            let step = match (value, list) {
                (true, true) => "@items",
                (true, false) => "@values",
                (false, true) => "@indices",
                (false, false) => "@keys",
            };
            Found { size, place: range.place.and_then(|place| place.step(step)), ..Found::default() }
        };
        let depth = self.locals.len();
        match &l.second {
            None => self.locals.push((l.var.clone(), variable(list))),
            Some(second) => {
                let (mut first, value) = (variable(false), variable(true));
                // cel-go writes the second variable's path over the first's here, where both fit into one array.
                if let Some(Place::Names(_)) = range.place {
                    first.place = value.place;
                }
                self.locals.push((l.var.clone(), first));
                self.locals.push((second.clone(), value));
            }
        }
        let (condition, step) = (self.of(&l.condition), self.of(&l.step));
        self.locals.truncate(depth);
        let result = self.of(&l.result);
        self.locals.pop();
        let count = range.most();
        let rounds = count.1.saturating_mul(step.cost.saturating_add(condition.cost));
        let (size, entry) = match l.init.kind {
            Node::Literal(_) => (init.size, None),
            _ => (Some(count), step.entry),
        };
        Found { cost: begin.saturating_add(result.cost).saturating_add(rounds), size, entry, place: None }
    }

    fn call(&mut self, expr: &Expr, name: &str, target: Option<&Expr>, args: &[Expr]) -> Found {
        let target = target.map(|target| (target, self.of(target)));
        let args: Vec<Arg> = args.iter().map(|arg| (arg, self.of(arg))).collect();
        let costs = target.iter().chain(&args).map(|(_, found)| found.cost);
        let before = costs.fold(0, u64::saturating_add);
        let found = |more: u64, size: Option<Size>| Found {
            cost: before.saturating_add(more),
            size: size.or_else(|| sized(expr, None)),
            ..Found::default()
        };
        match (name, &args[..]) {
            ("dyn", [(_, arg)]) => Found { entry: arg.entry, ..found(1, arg.size) },
            ("_&&_" | "_||_", _) => found(0, None),
            ("_?_:_", [(_, condition), (_, yes), (_, no)]) => Found {
                cost: condition.cost.saturating_add(yes.cost.max(no.cost)),
                entry: both(yes.entry, no.entry),
                ..found(0, Some(union(yes.most(), no.most())))
            },
            ("_[_]", [(operand, of), _]) => {
                let step = if matches!(operand.of, Type::List(_)) { "@items" } else { "@values" };
                let place = of.place.and_then(|place| place.step(step));
                let size = of.entry.map(|entry| entry.value).or_else(|| sized(expr, place));
                Found { place, ..found(1, size) }
            }
            _ => {
                let (mut cost, mut size) = (0, None);
                let forms = functions::by_name(name).into_iter().flat_map(functions::Function::overloads);
                for (i, form) in forms.enumerate() {
                    if expr.overloads & 1_u32.checked_shl(i as u32).unwrap_or(0) == 0 {
                        continue;
                    }
                    let form = form.text.split("->").next().unwrap_or_default();
                    let (one, gives) = function(name, form, target.as_ref(), &args);
                    cost = cost.max(one);
                    size = match (size, gives) {
                        (Some(a), Some(b)) => Some(union(a, b)),
                        (a, b) => a.or(b),
                    };
                }
                // What has no form here is an optional selection.
                let cost = if expr.overloads == 0 { 1 } else { cost };
                let entry = match (name, &args[..]) {
                    ("_+_", [(_, a), (_, b)]) => both(a.entry, b.entry),
                    _ => None,
                };
                Found { entry, ..found(cost, size) }
            }
        }
    }
}

/// What one form of a function costs beside its arguments, and the size of what it gives.
fn function(name: &str, form: &str, target: Option<&Arg>, args: &[Arg]) -> (u64, Option<Size>) {
    let arg = |i: usize| args.get(i).map_or(UNKNOWN, |(_, found)| found.most());
    let of = target.map_or(UNKNOWN, |(_, found)| found.most());
    let number = |i: usize, or: u64| match args.get(i).map(|(expr, _)| &expr.kind) {
        Some(Node::Literal(Val::Int(n))) => u64::try_from(*n).unwrap_or(or),
        _ => or,
    };
    let making = |size: Size, factor: f64| (times(size.1, factor).saturating_add(1 + MAKING[0]), Some(size));
    let matching =
        |text: Size, pattern: Size| times(text.1.saturating_add(1), TEXT).saturating_mul(times(pattern.1, PATTERN));
    let texts = form.ends_with("string,string") || form.ends_with("bytes,bytes");
    let smaller = times(arg(0).1.min(arg(1).1), TEXT);
    // What the elements of the target are, and how large.
    let element = match target.map(|(expr, found)| (&expr.of, found)) {
        Some((Type::List(of), found)) => {
            let place = found.place.and_then(|place| place.step("@items"));
            Some((&**of, place.map_or(UNKNOWN, Place::size)))
        }
        _ => None,
    };
    match name {
        "slice" => making((0, number(1, of.1).wrapping_sub(number(0, 0))), 1.0),
        "lists.range" => {
            let count = number(0, u64::MAX);
            making((count, count), 1.0)
        }
        "reverse" => making(of, 1.0),
        "flatten" => making(of, if args.is_empty() { 1.0 } else { number(0, u64::MAX) as f64 }),
        "distinct" => making(product(of, of), 2.0),
        "sort" | "@sortByAssociatedKeys" => {
            let keys = if name == "sort" { of } else { arg(0) };
            let text = form.ends_with("list(string)") || form.ends_with("list(bytes)");
            making(product(keys, keys), if text { 2.0 + TEXT } else { 2.0 })
        }
        "sets.contains" | "sets.intersects" | "sets.equivalent" => {
            let factor = if name == "sets.equivalent" { 2.0 } else { 1.0 };
            (times(product(arg(0), arg(1)).1, factor).saturating_add(1), None)
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            let cost = match element {
                Some((Type::Str | Type::Bytes, size)) => of.1.saturating_mul(times(size.1, TEXT).saturating_add(1)),
                Some(_) => of.1,
                None => times(of.1, TEXT),
            };
            (cost, None)
        }
        "url" | "jsonpatch.escapeKey" => (times(arg(0).1, TEXT), Some(arg(0))),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => (times(of.1, TEXT), Some(of)),
        "replace" => (times(of.1, 2.0 * TEXT), Some(replaced(of, arg(0), arg(1)))),
        "split" => (times(of.1, 2.0 * TEXT), Some((0, number(1, of.1)))),
        "join" => {
            let texts = element.map_or((0, 0), |(_, size)| product(of, size));
            let between = (of.0.saturating_sub(1), of.1.saturating_sub(1));
            let size = if args.is_empty() { texts } else { plus(texts, product(arg(0), between)) };
            (times(size.1, TEXT), Some(size))
        }
        "find" | "findAll" => (matching(of, arg(0)), Some((0, of.1))),
        "matches" if target.is_some() => (matching(of, arg(0)), None),
        "matches" => (matching(arg(0), arg(1)), None),
        "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => (times(arg(0).1, TEXT), None),
        "ip" if form == "string" => (times(arg(0).1, TEXT), None),
        "ip.isCanonical" => (times(arg(0).1, 2.0 * TEXT), None),
        "containsIP" | "containsCIDR" => {
            let text = if form.ends_with(",string") { times(arg(0).1, TEXT) } else { 0 };
            // Addresses have 16 bytes at most.
            let bytes = if name == "containsIP" { 4 } else { 4 + 2 + 1 };
            (text.saturating_add(bytes), None)
        }
        "validate" => (times(times(arg(0).1, TEXT), 128.0 * PATTERN), None),
        "_==_" | "_!=_" => {
            let same = match args {
                [(a, _), (b, _)] if name == "_==_" && a.of == b.of => match &a.of {
                    Type::Struct(name) if &**name == "kubernetes.NamedFormat" => Some(times(64, TEXT)),
                    Type::Struct(name) if name.starts_with("kubernetes.") || name.starts_with("net.") => Some(1),
                    _ => None,
                },
                _ => None,
            };
            (same.unwrap_or(smaller), None)
        }
        "_<_" | "_<=_" | "_>_" | "_>=_" if texts => (smaller, None),
        "_+_" if texts => {
            let size = plus(arg(0), arg(1));
            (times(size.1, TEXT), Some(size))
        }
        "_+_" if form.starts_with("list(") => (1, Some(plus(arg(0), arg(1)))),
        "format" => (times(of.1, TEXT), None),
        "bytes" if form == "string" => (times(arg(0).1, TEXT), Some((arg(0).0, arg(0).1.wrapping_mul(4)))),
        "string" if form == "bytes" => (times(arg(0).1, TEXT), Some((arg(0).0 / 4, arg(0).1))),
        "strings.quote" => {
            let size = (arg(0).0.wrapping_add(2), arg(0).1.wrapping_mul(2).wrapping_add(2));
            (times(arg(0).1, TEXT), Some(size))
        }
        "startsWith" | "endsWith" => (times(arg(0).1, TEXT), None),
        "contains" => (times(of.1, TEXT).saturating_mul(times(arg(0).1, TEXT)), None),
        "@in" if form.contains("list(") => (arg(1).1, None),
        _ => (1, None),
    }
}

/// The size of a text in which something was replaced.
fn replaced(of: Size, old: Size, new: Size) -> Size {
    let parts = |whole: u64, part: u64| (whole as f64 / part as f64).ceil() as u64;
    let (most, kept_most) = match old.0 {
        0 => (of.1.saturating_add(1), of.1),
        least if new.1 <= least => (0, of.1),
        least => (parts(of.1, least), 0),
    };
    let (least, kept_least) = match old.1 {
        0 => (of.0.saturating_add(1), of.0),
        longest if longest <= new.0 => (0, of.0),
        longest => (parts(of.0, longest), 0),
    };
    plus(product((least, most), new), (kept_least, kept_most))
}
