//! Functions of lists and sets (cel-go's ext/lists.go and ext/sets.go, Kubernetes' library/lists.go).

use std::cmp::Ordering;

use super::eval::{Activation, Eval, go_name};
use super::value::Val;
use crate::SortSmall;

/// Longest list that `lists.range` makes.
const RANGE: i64 = 1_000_000;

pub(super) fn of_lists(run: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    if let ("indexOf" | "lastIndexOf", [Val::Str(_), ..]) = (name, args) {
        return super::strings::of_strings(run, name, args);
    }
    if let ("lists.range", [Val::Int(n)]) = (name, args) {
        return Some(match n {
            n if *n < 0 => Err(format!("lists.range: size must be non-negative, got {n}").into()),
            n if *n > RANGE => Err(format!("lists.range: size {n} exceeds maximum allowed ({RANGE})").into()),
            n => run.toil(*n as usize).map(|()| Val::list((0..*n).map(Val::Int).collect())),
        });
    }
    let (Val::List(items), rest) = args.split_first()? else { return None };
    let items = items.to_vec();
    if let Err(fail) = run.toil(items.len()) {
        return Some(Err(fail));
    }
    let count = |n: usize| Val::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let found = match (name, rest) {
        ("indexOf", [item]) => items.iter().position(|i| i.equals(item)).map_or(Val::Int(-1), count),
        ("lastIndexOf", [item]) => items.iter().rposition(|i| i.equals(item)).map_or(Val::Int(-1), count),
        ("isSorted", []) => {
            for pair in items.windows(2) {
                let [a, b] = pair else { continue };
                match a.compare(b) {
                    Some(Ordering::Greater) => return Some(Ok(Val::Bool(false))),
                    Some(_) => {}
                    None => return None,
                }
            }
            Val::Bool(true)
        }
        ("sum", []) => {
            let mut items = items.into_iter();
            let mut sum = items.next().unwrap_or(Val::Int(0));
            for item in items {
                match super::operators::arithmetic(run, "_+_", &[sum, item])? {
                    Ok(next) => sum = next,
                    Err(fail) => return Some(Err(fail)),
                }
            }
            sum
        }
        ("max" | "min", []) => {
            let wanted = if name == "max" { Ordering::Greater } else { Ordering::Less };
            let mut items = items.into_iter();
            let Some(mut best) = items.next() else {
                return Some(Err(format!("{name} called on empty list").into()));
            };
            for item in items {
                if item.compare(&best)? == wanted {
                    best = item;
                }
            }
            best
        }
        ("slice", [Val::Int(start), Val::Int(end)]) => {
            let length = items.len();
            let part = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
            let Some((from, to)) = part else {
                return Some(Err(format!("cannot slice({start}, {end}), negative indexes not supported").into()));
            };
            if from > to {
                let why = "start index must be less than or equal to end index";
                return Some(Err(format!("cannot slice({start}, {end}), {why}").into()));
            }
            match items.get(from..to) {
                Some(part) => Val::list(part.to_vec()),
                None => return Some(Err(format!("cannot slice({start}, {end}), list is length {length}").into())),
            }
        }
        ("flatten", []) => Val::list(flat(items, 1)),
        ("flatten", [Val::Int(depth)]) if *depth < 0 => return Some(Err("level must be non-negative".into())),
        ("flatten", [Val::Int(depth)]) => Val::list(flat(items, (*depth).min(100))),
        ("reverse", []) => Val::list(items.into_iter().rev().collect()),
        ("distinct", []) => Val::list(distinct(items)),
        ("sort", []) => {
            let keys = items.clone();
            return Some(sorted(items, &keys));
        }
        ("@sortByAssociatedKeys", [Val::List(keys)]) => return Some(sorted(items, &keys.to_vec())),
        (_, [Val::List(other)]) => {
            let other = other.to_vec();
            if let Err(fail) = run.toil(items.len().saturating_mul(other.len())) {
                return Some(Err(fail));
            }
            let within = |a: &[Val], b: &[Val]| a.iter().all(|a| b.iter().any(|b| a.equals(b)));
            Val::Bool(match name {
                "sets.contains" => within(&other, &items),
                "sets.equivalent" => within(&other, &items) && within(&items, &other),
                "sets.intersects" => items.iter().any(|a| other.iter().any(|b| a.equals(b))),
                _ => return None,
            })
        }
        _ => return None,
    };
    Some(Ok(found))
}

fn flat(items: Vec<Val>, depth: i64) -> Vec<Val> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Val::List(inner) if depth > 0 => out.extend(flat(inner.to_vec(), depth - 1)),
            other => out.push(other),
        }
    }
    out
}

fn distinct(items: Vec<Val>) -> Vec<Val> {
    let mut out: Vec<Val> = Vec::new();
    for item in items {
        if !out.iter().any(|other| other.equals(&item)) {
            out.push(item);
        }
    }
    out
}

fn sorted(items: Vec<Val>, keys: &[Val]) -> Eval {
    if let Some(first) = keys.first() {
        if first.compare(first).is_none() {
            return Err("list elements must be comparable".into());
        }
        if keys.iter().any(|key| go_name(key) != go_name(first)) {
            return Err("list elements must have the same type".into());
        }
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    let key = |i: usize| keys.get(i);
    order.sort_small_by(|a, b| match (key(*a), key(*b)) {
        (Some(x), Some(y)) => x.compare(y).unwrap_or(Ordering::Equal).then(a.cmp(b)),
        _ => a.cmp(b),
    });
    Ok(Val::list(order.into_iter().filter_map(|i| items.get(i).cloned()).collect()))
}
