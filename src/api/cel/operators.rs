//! The standard functions: operators, conversions, times, optional values; and the authorizer's.

use std::rc::Rc;

use super::eval::{Activation, Eval, Fail};
use super::value::{Other, Val};
use super::{Check, Decision};
use crate::Str;

const SECOND: i64 = 1_000_000_000;
const OVERFLOW: &str = "integer overflow";
const UNSIGNED_OVERFLOW: &str = "unsigned integer overflow";

fn or<T>(found: Option<T>, why: &str, make: fn(T) -> Val) -> Option<Eval> {
    Some(found.map(make).ok_or_else(|| why.into()))
}

/// `+ - * / %` and the two signs.
pub(super) fn arithmetic(run: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let zero = |name: &str| Some(Err(if name == "_/_" { "division by zero" } else { "modulus by zero" }.into()));
    match (name, args) {
        ("!_", [Val::Bool(b)]) => Some(Ok(Val::Bool(!b))),
        ("-_", [Val::Int(i)]) => or(i.checked_neg(), OVERFLOW, Val::Int),
        ("-_", [Val::Double(d)]) => Some(Ok(Val::Double(-d))),
        ("_/_" | "_%_", [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)]) => zero(name),
        (_, [Val::Int(a), Val::Int(b)]) => {
            let found = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            or(found, OVERFLOW, Val::Int)
        }
        (_, [Val::Uint(a), Val::Uint(b)]) => {
            let found = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            or(found, UNSIGNED_OVERFLOW, Val::Uint)
        }
        (_, [Val::Double(a), Val::Double(b)]) => Some(Ok(Val::Double(match name {
            "_+_" => a + b,
            "_-_" => a - b,
            "_*_" => a * b,
            "_/_" => a / b,
            _ => return None,
        }))),
        ("_+_", [Val::Str(a), Val::Str(b)]) => {
            if let Err(fail) = run.toil((a.len() + b.len()) / 10) {
                return Some(Err(fail));
            }
            Some(Ok(Val::from(format!("{a}{b}"))))
        }
        ("_+_", [Val::Bytes(a), Val::Bytes(b)]) => Some(Ok(Val::Bytes([&**a, &**b].concat().into()))),
        ("_+_", [Val::List(a), Val::List(b)]) => {
            if let Err(fail) = run.toil((a.len() + b.len()) / 10) {
                return Some(Err(fail));
            }
            let mut all = a.to_vec();
            all.extend(b.to_vec());
            Some(Ok(Val::list(all)))
        }
        ("_+_", [Val::Duration(a), Val::Duration(b)]) => or(a.checked_add(*b), "duration overflow", Val::Duration),
        ("_-_", [Val::Duration(a), Val::Duration(b)]) => or(a.checked_sub(*b), "duration overflow", Val::Duration),
        ("_+_", [Val::Timestamp(t, n), Val::Duration(d)] | [Val::Duration(d), Val::Timestamp(t, n)]) => {
            Some(moved(*t, *n, i128::from(*d)))
        }
        ("_-_", [Val::Timestamp(t, n), Val::Duration(d)]) => Some(moved(*t, *n, -i128::from(*d))),
        ("_-_", [Val::Timestamp(a, n), Val::Timestamp(b, m)]) => {
            let nanos = nanos(*a, *n) - nanos(*b, *m);
            or(i64::try_from(nanos).ok(), "duration overflow", Val::Duration)
        }
        _ => None,
    }
}

fn nanos(unix: i64, nanos: u32) -> i128 {
    i128::from(unix) * i128::from(SECOND) + i128::from(nanos)
}

/// The first and the last second of years 1 to 9999.
const TIMES: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

fn moved(unix: i64, part: u32, by: i128) -> Eval {
    let total = nanos(unix, part) + by;
    let second = i64::try_from(total.div_euclid(i128::from(SECOND))).unwrap_or(i64::MAX);
    if !TIMES.contains(&second) {
        return Err("timestamp overflow".into());
    }
    Ok(Val::Timestamp(second, total.rem_euclid(i128::from(SECOND)) as u32))
}

/// `< <= > >=`
pub(super) fn compare(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let [a, b] = args else { return None };
    let numbers = |v: &Val| matches!(v, Val::Int(_) | Val::Uint(_) | Val::Double(_));
    let found = match a.compare(b) {
        Some(order) => match name {
            "_<_" => order.is_lt(),
            "_<=_" => order.is_le(),
            "_>_" => order.is_gt(),
            _ => order.is_ge(),
        },
        None if numbers(a) && numbers(b) => return Some(Err("NaN values cannot be ordered".into())),
        None => return None,
    };
    Some(Ok(Val::Bool(found)))
}

/// `in`, `size`, insertion into maps.
pub(super) fn contained(run: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    match (name, args) {
        ("@in", [item, Val::List(list)]) => {
            if let Err(fail) = run.toil(list.len()) {
                return Some(Err(fail));
            }
            Some(Ok(Val::Bool(list.to_vec().iter().any(|other| item.equals(other)))))
        }
        ("@in", [key, Val::Map(map)]) => Some(Ok(Val::Bool(map.get(key).is_some()))),
        ("size", [of]) => {
            let n = match of {
                Val::Str(s) => s.chars().count(),
                Val::Bytes(b) => b.len(),
                Val::List(list) => list.len(),
                Val::Map(map) => map.len(),
                _ => return None,
            };
            Some(Ok(Val::Int(i64::try_from(n).unwrap_or(i64::MAX))))
        }
        ("cel.@mapInsert", [Val::Map(map), rest @ ..]) => {
            let mut entries = map.to_vec();
            let more = match rest {
                [Val::Map(more)] => more.to_vec(),
                [key, value] => vec![(key.clone(), value.clone())],
                _ => return None,
            };
            for (key, value) in more {
                if entries.iter().any(|(k, _)| k.equals(&key)) {
                    let key = key.text().unwrap_or_default();
                    return Some(Err(format!("insert failed: key {key} already exists").into()));
                }
                entries.push((key, value));
            }
            Some(Ok(Val::map(entries)))
        }
        _ => None,
    }
}

fn unconverted(from: &Val, to: &str) -> Eval {
    Err(format!("type conversion error from '{}' to '{to}'", from.type_name()).into())
}

/// `int(...)` and its like.
pub(super) fn convert(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let [of] = args else { return None };
    let from_text = |found: Option<Val>, to: &str| Some(found.map_or_else(|| unconverted(of, to), Ok));
    match (name, of) {
        ("dyn", _) => Some(Ok(of.clone())),
        ("type", _) => Some(Ok(Val::Type(of.type_name().into()))),
        ("bool", Val::Bool(_)) | ("bytes", Val::Bytes(_)) | ("double", Val::Double(_)) | ("int", Val::Int(_)) => {
            Some(Ok(of.clone()))
        }
        ("uint", Val::Uint(_)) | ("duration", Val::Duration(_)) | ("timestamp", Val::Timestamp(..)) => {
            Some(Ok(of.clone()))
        }
        ("string", Val::Bytes(_)) => match of.text() {
            Some(text) => Some(Ok(Val::Str(text))),
            None => Some(Err("invalid UTF-8 in bytes, cannot convert to string".into())),
        },
        ("string", _) => of.text().map(|text| Ok(Val::Str(text))),
        ("bool", Val::Str(s)) => {
            let found = match &**s {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(Val::Bool(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(Val::Bool(false)),
                _ => None,
            };
            from_text(found, "bool")
        }
        ("bytes", Val::Str(s)) => Some(Ok(Val::Bytes(s.as_bytes().into()))),
        ("double", Val::Int(i)) => Some(Ok(Val::Double(*i as f64))),
        ("double", Val::Uint(u)) => Some(Ok(Val::Double(*u as f64))),
        ("double", Val::Str(s)) => from_text(s.parse().ok().map(Val::Double), "double"),
        ("int", Val::Uint(u)) => or(i64::try_from(*u).ok(), OVERFLOW, Val::Int),
        ("int", Val::Double(d)) => or((d.abs() < 9.223_372_036_854_775e18).then_some(*d as i64), OVERFLOW, Val::Int),
        ("int", Val::Duration(d)) => Some(Ok(Val::Int(*d))),
        ("int", Val::Timestamp(unix, _)) => Some(Ok(Val::Int(*unix))),
        ("int", Val::Str(s)) => from_text(s.parse().ok().map(Val::Int), "int"),
        ("uint", Val::Int(i)) => or(u64::try_from(*i).ok(), UNSIGNED_OVERFLOW, Val::Uint),
        ("uint", Val::Double(d)) => {
            or((0.0..1.844_674_407_370_955e19).contains(d).then_some(*d as u64), UNSIGNED_OVERFLOW, Val::Uint)
        }
        ("uint", Val::Str(s)) => from_text(s.parse().ok().map(Val::Uint), "uint"),
        ("duration", Val::Str(s)) => {
            from_text(crate::duration::parse(s).ok().map(Val::Duration), "google.protobuf.Duration")
        }
        ("timestamp", Val::Int(i)) => {
            or(TIMES.contains(i).then_some(*i), "timestamp overflow", |i| Val::Timestamp(i, 0))
        }
        ("timestamp", Val::Str(s)) => {
            let found = crate::value::parse_rfc3339(s).ok();
            let found = found.map(|(unix, nanos)| Val::Timestamp(unix, u32::try_from(nanos).unwrap_or_default()));
            from_text(found, "google.protobuf.Timestamp")
        }
        _ => None,
    }
}

/// `optional.of(...)` and its like.
pub(super) fn optional(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let some = |value: &Val| Val::Optional(Some(Rc::new(value.clone())));
    Some(Ok(match (name, args) {
        ("optional.none", []) => Val::Optional(None),
        ("optional.of", [value]) => some(value),
        ("optional.ofNonZeroValue", [value]) if is_zero(value) => Val::Optional(None),
        ("optional.ofNonZeroValue", [value]) => some(value),
        ("hasValue", [Val::Optional(inner)]) => Val::Bool(inner.is_some()),
        ("value", [Val::Optional(Some(inner))]) => (**inner).clone(),
        ("value", [Val::Optional(None)]) => return Some(Err("optional.none() dereference".into())),
        ("first", [Val::List(list)]) => Val::Optional(list.get(0).map(Rc::new)),
        ("last", [Val::List(list)]) => Val::Optional(list.len().checked_sub(1).and_then(|i| list.get(i)).map(Rc::new)),
        ("optional.unwrap" | "unwrapOpt", [Val::List(list)]) => {
            let inner = list.to_vec().into_iter().filter_map(|item| match item {
                Val::Optional(inner) => inner.map(|inner| (*inner).clone()),
                other => Some(other),
            });
            Val::list(inner.collect())
        }
        _ => return None,
    }))
}

fn is_zero(value: &Val) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(b) => !b,
        Val::Int(i) => *i == 0,
        Val::Uint(u) => *u == 0,
        Val::Double(d) => *d == 0.0,
        Val::Str(s) => s.is_empty(),
        Val::Bytes(b) => b.is_empty(),
        Val::List(list) => list.is_empty(),
        Val::Map(map) => map.is_empty(),
        Val::Duration(d) => *d == 0,
        Val::Optional(inner) => inner.is_none(),
        _ => false,
    }
}

/// `getHours()` and its like.
pub(super) fn of_time(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let (unix, nanos) = match args {
        [Val::Duration(d)] => {
            let found = match name {
                "getHours" => d / (3600 * SECOND),
                "getMinutes" => d / (60 * SECOND),
                "getSeconds" => d / SECOND,
                "getMilliseconds" => d / 1_000_000,
                _ => return None,
            };
            return Some(Ok(Val::Int(found)));
        }
        [Val::Timestamp(unix, nanos)] => (*unix, *nanos),
        [Val::Timestamp(unix, nanos), Val::Str(zone)] => match offset(zone) {
            Ok(offset) => (unix.saturating_add(offset), *nanos),
            Err(fail) => return Some(Err(fail)),
        },
        _ => return None,
    };
    let day = unix.div_euclid(86_400);
    let (year, month, date) = crate::value::civil(day);
    let second = unix.rem_euclid(86_400);
    Some(Ok(Val::Int(match name {
        "getFullYear" => year,
        "getMonth" => month - 1,
        "getDayOfYear" => day - crate::value::days(year, 1, 1),
        "getDayOfMonth" => date - 1,
        "getDate" => date,
        "getDayOfWeek" => (day + 4).rem_euclid(7),
        "getHours" => second / 3600,
        "getMinutes" => second / 60 % 60,
        "getSeconds" => second % 60,
        _ => i64::from(nanos) / 1_000_000,
    })))
}

/// Seconds east of Greenwich: `+01:00`, `UTC`.
fn offset(zone: &str) -> Result<i64, Fail> {
    if zone.is_empty() || zone == "UTC" {
        return Ok(0);
    }
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':').ok_or_else(|| format!("unknown time zone {zone}"))?;
    match (hours.parse::<i64>(), minutes.parse::<i64>()) {
        (Ok(hours @ 0..=23), Ok(minutes @ 0..=59)) => Ok(sign * (hours * 3600 + minutes * 60)),
        _ => Err(format!("unknown time zone {zone}").into()),
    }
}

/// `authorizer.group('').resource('pods').check('get').allowed()` (library/authz.go).
pub(super) fn authorization(run: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let (Val::Other(of), rest) = args.split_first()? else { return None };
    let texts: Vec<Str> =
        rest.iter().filter_map(|arg| if let Val::Str(s) = arg { Some(s.clone()) } else { None }).collect();
    let with = |check: &Check, set: &dyn Fn(&mut Check)| {
        let mut check = check.clone();
        set(&mut check);
        check
    };
    let made = match (name, &**of, &texts[..]) {
        ("path", Other::Authorizer(check), [path]) => {
            if !path.starts_with('/') {
                let path = crate::go::quote(path);
                return Some(Err(format!("path must start with '/', but got {path}").into()));
            }
            Other::PathCheck(with(check, &|c| c.path = path.clone()))
        }
        ("group", Other::Authorizer(check), [group]) => Other::GroupCheck(with(check, &|c| c.group = group.clone())),
        ("serviceAccount", Other::Authorizer(check), [namespace, name]) => {
            Other::Authorizer(with(check, &|c| c.service_account = Some((namespace.clone(), name.clone()))))
        }
        ("resource", Other::GroupCheck(check), [resource]) => {
            Other::ResourceCheck(with(check, &|c| c.resource = resource.clone()))
        }
        ("subresource", Other::ResourceCheck(check), [s]) => {
            Other::ResourceCheck(with(check, &|c| c.subresource = s.clone()))
        }
        ("namespace", Other::ResourceCheck(check), [s]) => {
            Other::ResourceCheck(with(check, &|c| c.namespace = s.clone()))
        }
        ("name", Other::ResourceCheck(check), [s]) => Other::ResourceCheck(with(check, &|c| c.name = s.clone())),
        // No authorizer of this cluster looks at selectors.
        ("fieldSelector" | "labelSelector", Other::ResourceCheck(check), [_]) => Other::ResourceCheck(check.clone()),
        ("check", Other::PathCheck(check) | Other::ResourceCheck(check), [verb]) => {
            Other::Decision(run.authorize(&with(check, &|c| c.verb = verb.clone())))
        }
        (_, Other::Decision(decision), []) => {
            let Decision { allowed, reason, error } = decision;
            return Some(Ok(match name {
                "errored" => Val::Bool(error.is_some()),
                "error" => Val::Str(error.clone().unwrap_or_default()),
                "allowed" => Val::Bool(*allowed),
                "reason" => Val::Str(reason.clone()),
                _ => return None,
            }));
        }
        _ => return None,
    };
    Some(Ok(Val::other(made)))
}
