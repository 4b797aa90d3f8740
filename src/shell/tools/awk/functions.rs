//! awk's functions.

use super::machine::Machine;
use super::syntax::{Expr, Place};
use super::value::Value;
use crate::tools::regex::Regex;
use std::rc::Rc;

type Done<T> = Result<T, String>;

/// Splits a record or text: blanks for `" "`, one character, or a regular expression.
pub(super) fn split(text: &str, separator: &str) -> Done<Vec<String>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut chars = separator.chars();
    match (chars.next(), chars.next()) {
        (None, _) => Ok(text.chars().map(String::from).collect()),
        (Some(' '), None) => Ok(text.split([' ', '\t', '\n']).filter(|f| !f.is_empty()).map(String::from).collect()),
        (Some(c), None) if c != '\\' => Ok(text.split(c).map(String::from).collect()),
        _ => {
            let regex = Regex::new(separator, true, false)?;
            Ok(split_by(text, &regex))
        }
    }
}

fn split_by(text: &str, regex: &Regex) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let piece = |from: usize, to: usize| chars.get(from..to).unwrap_or_default().iter().collect::<String>();
    let (mut all, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some((start, end)) = regex.find(&chars, at).and_then(|c| c.first().copied().flatten()) {
        if end == start {
            at = start + 1;
            continue;
        }
        all.push(piece(from, start));
        (from, at) = (end, end);
    }
    all.push(piece(from, chars.len()));
    all
}

pub(super) fn call(machine: &mut Machine, name: &str, arguments: &[Expr]) -> Done<Value> {
    match name {
        "sub" | "gsub" => return substitute(machine, name == "gsub", arguments),
        "split" => return split_into(machine, arguments),
        "match" => return find(machine, arguments),
        "length" => {
            if let Some(Expr::Place(Place::Variable(array))) = arguments.first()
                && let Some(length) = machine.array_length(array)
            {
                return Ok(Value::Number(length as f64));
            }
        }
        _ => {}
    }
    let mut given = Vec::new();
    for argument in arguments {
        given.push(machine.value(argument)?);
    }
    if given.is_empty() {
        given.push(machine.value(&record())?);
    }
    let texts: Vec<Rc<str>> = given.iter().map(|v| machine.text(v)).collect();
    let text = |n: usize| texts.get(n).map_or("", |t| &**t);
    let number = |n: usize| given.get(n).map_or(0.0, Value::number);
    Ok(match name {
        "length" => Value::Number(text(0).chars().count() as f64),
        "index" => {
            let found = text(0).find(text(1)).map(|at| text(0).get(..at).unwrap_or_default().chars().count() + 1);
            Value::Number(found.unwrap_or(0) as f64)
        }
        "substr" => {
            let from = number(1).round();
            let to = if given.len() > 2 { from + number(2).round() } else { f64::INFINITY };
            let inside = (1u32..).zip(text(0).chars()).filter(|(n, _)| f64::from(*n) >= from && f64::from(*n) < to);
            Value::text(inside.map(|(_, c)| c).collect::<String>())
        }
        "tolower" => Value::text(text(0).to_ascii_lowercase()),
        "toupper" => Value::text(text(0).to_ascii_uppercase()),
        "sprintf" => Value::text(super::format::format(text(0), given.get(1..).unwrap_or_default())),
        "int" => Value::Number(number(0).trunc()),
        "sqrt" => Value::Number(libm::sqrt(number(0))),
        "exp" => Value::Number(libm::exp(number(0))),
        "log" => Value::Number(libm::log(number(0))),
        "sin" => Value::Number(libm::sin(number(0))),
        "cos" => Value::Number(libm::cos(number(0))),
        "atan2" => Value::Number(libm::atan2(number(0), number(1))),
        other => return Err(format!("function {other} is not supported by this awk")),
    })
}

fn record() -> Expr {
    Expr::Place(Place::Field(Box::new(Expr::Number(0.0))))
}

fn split_into(machine: &mut Machine, arguments: &[Expr]) -> Done<Value> {
    let [text, Expr::Place(Place::Variable(array)), separator @ ..] = arguments else {
        return Err("split needs an array".into());
    };
    let value = machine.value(text)?;
    let text = machine.text(&value);
    let pieces = match separator.first() {
        None => split(&text, &machine.setting("FS"))?,
        Some(Expr::Regex(regex)) => {
            if text.is_empty() {
                Vec::new()
            } else {
                split_by(&text, regex)
            }
        }
        Some(other) => {
            let separator = machine.value(other)?;
            split(&text, &machine.text(&separator))?
        }
    };
    machine.clear(array);
    for (n, piece) in (1usize..).zip(&pieces) {
        machine.set_element(array, &n.to_string(), Value::Input(piece.as_str().into()))?;
    }
    Ok(Value::Number(pieces.len() as f64))
}

fn find(machine: &mut Machine, arguments: &[Expr]) -> Done<Value> {
    let [text, pattern] = arguments else { return Err("match needs a text and a pattern".into()) };
    let value = machine.value(text)?;
    let chars: Vec<char> = machine.text(&value).chars().collect();
    let regex = machine.regex(pattern)?;
    let found = regex.find(&chars, 0).and_then(|c| c.first().copied().flatten());
    let (start, length) = found.map_or((0.0, -1.0), |(from, to)| ((from + 1) as f64, (to - from) as f64));
    machine.set_number("RSTART", start);
    machine.set_number("RLENGTH", length);
    Ok(Value::Number(start))
}

fn substitute(machine: &mut Machine, all: bool, arguments: &[Expr]) -> Done<Value> {
    let [pattern, by, target @ ..] = arguments else { return Err("sub needs a pattern and a text".into()) };
    let regex = machine.regex(pattern)?;
    let by = machine.value(by)?;
    let by = machine.text(&by);
    let whole = record();
    let target = target.first().unwrap_or(&whole);
    let value = machine.value(target)?;
    let chars: Vec<char> = machine.text(&value).chars().collect();
    let (mut out, mut at, mut count) = (String::new(), 0, 0u32);
    while let Some((start, end)) = regex.find(&chars, at).and_then(|c| c.first().copied().flatten()) {
        out.extend(chars.get(at..start).unwrap_or_default());
        let matched: String = chars.get(start..end).unwrap_or_default().iter().collect();
        replace(&mut out, &by, &matched);
        count += 1;
        at = end;
        if end == start {
            // An empty match stands between two characters.
            out.extend(chars.get(at));
            at += 1;
        }
        if !all || at > chars.len() {
            break;
        }
    }
    if count > 0 {
        out.extend(chars.get(at.min(chars.len())..).unwrap_or_default());
        if let Expr::Place(place) = target {
            machine.write(place, Value::text(out))?;
        }
    }
    Ok(Value::Number(f64::from(count)))
}

/// `&` is what matched, `\&` an ampersand.
fn replace(out: &mut String, by: &str, matched: &str) {
    let mut chars = by.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if matches!(chars.peek(), Some('&' | '\\')) => out.extend(chars.next()),
            '&' => out.push_str(matched),
            c => out.push(c),
        }
    }
}
