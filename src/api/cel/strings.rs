//! Functions of strings (cel-go's ext/strings.go and formatting_v2.go, Kubernetes' library/regex.go).

use super::eval::{Activation, Eval};
use super::regex::Regex;
use super::value::{Val, double};

fn at(text: &str, index: i64) -> Option<(Vec<char>, usize)> {
    let chars: Vec<char> = text.chars().collect();
    usize::try_from(index).ok().filter(|i| *i <= chars.len()).map(|i| (chars, i))
}

fn out_of_range(index: i64) -> Option<Eval> {
    Some(Err(format!("index out of range: {index}").into()))
}

fn position(i: Option<usize>) -> Val {
    Val::Int(i.and_then(|i| i64::try_from(i).ok()).unwrap_or(-1))
}

/// Where one text is in another, in characters.
fn find(text: &[char], part: &[char], mut from: impl Iterator<Item = usize>) -> Option<usize> {
    from.find(|i| text.get(*i..).is_some_and(|rest| rest.starts_with(part)))
}

pub(super) fn of_strings(run: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    if let ("join", [Val::List(list), rest @ ..]) = (name, args) {
        let by = match rest {
            [] => "",
            [Val::Str(by)] => by,
            _ => return None,
        };
        let mut parts = Vec::new();
        for item in list.to_vec() {
            let Val::Str(part) = item else {
                return Some(Err(format!("join: invalid input: {}", formatted_value(&item)).into()));
            };
            parts.push(part);
        }
        return Some(Ok(Val::from(parts.join(by))));
    }
    let (Val::Str(text), rest) = args.split_first()? else { return None };
    let list = |parts: Vec<String>| Val::list(parts.into_iter().map(Val::from).collect());
    Some(Ok(match (name, rest) {
        ("contains", [Val::Str(part)]) => Val::Bool(text.contains(&**part)),
        ("startsWith", [Val::Str(part)]) => Val::Bool(text.starts_with(&**part)),
        ("endsWith", [Val::Str(part)]) => Val::Bool(text.ends_with(&**part)),
        ("matches", [Val::Str(pattern)]) => {
            let regex = match Regex::new(pattern) {
                Ok(regex) => regex,
                Err(why) => return Some(Err(why.into())),
            };
            let chars: Vec<char> = text.chars().collect();
            return Some(regex.find(&chars, 0, &mut |n| run.toil(n).is_ok()).map(|m| Val::Bool(m.is_some())));
        }
        ("find" | "findAll", [Val::Str(pattern), rest @ ..]) => {
            let regex = match Regex::new(pattern) {
                Ok(regex) => regex,
                Err(why) => return Some(Err(format!("Illegal regex: {why}").into())),
            };
            let most = match rest {
                [] if name == "find" => 1,
                [] => i64::MAX,
                [Val::Int(n)] => {
                    if *n < 0 {
                        i64::MAX
                    } else {
                        *n
                    }
                }
                _ => return None,
            };
            let chars: Vec<char> = text.chars().collect();
            let (mut found, mut from) = (Vec::new(), 0);
            while (found.len() as i64) < most && from <= chars.len() {
                match regex.find(&chars, from, &mut |n| run.toil(n).is_ok()) {
                    Err(fail) => return Some(Err(fail)),
                    Ok(None) => break,
                    Ok(Some((start, end))) => {
                        found.push(chars.get(start..end).unwrap_or_default().iter().collect::<String>());
                        from = if end == start { end + 1 } else { end };
                    }
                }
            }
            if name == "findAll" { list(found) } else { Val::from(found.pop().unwrap_or_default()) }
        }
        ("charAt", [Val::Int(index)]) => match at(text, *index) {
            Some((chars, i)) => Val::from(chars.get(i).map(char::to_string).unwrap_or_default()),
            None => return out_of_range(*index),
        },
        ("indexOf", [Val::Str(part), rest @ ..]) => {
            let from = if let [Val::Int(from)] = rest { *from } else { 0 };
            let Some((chars, start)) = at(text, from) else { return out_of_range(from) };
            let part: Vec<char> = part.chars().collect();
            position(find(&chars, &part, start..=chars.len()))
        }
        ("lastIndexOf", [Val::Str(part), rest @ ..]) => {
            let chars: Vec<char> = text.chars().collect();
            let last = if let [Val::Int(last)] = rest { *last } else { chars.len() as i64 };
            let Some((chars, last)) = at(text, last) else { return out_of_range(last) };
            let part: Vec<char> = part.chars().collect();
            position(find(&chars, &part, (0..=last).rev()))
        }
        ("lowerAscii", []) => Val::from(text.to_ascii_lowercase()),
        ("upperAscii", []) => Val::from(text.to_ascii_uppercase()),
        ("trim", []) => Val::from(text.trim()),
        ("reverse", []) => Val::from(text.chars().rev().collect::<String>()),
        ("replace", [Val::Str(from), Val::Str(to)]) => Val::from(text.replace(&**from, to)),
        ("replace", [Val::Str(from), Val::Str(to), Val::Int(n)]) => match usize::try_from(*n) {
            Ok(n) => Val::from(text.replacen(&**from, to, n)),
            Err(_) => Val::from(text.replace(&**from, to)),
        },
        ("split", [Val::Str(by), rest @ ..]) => {
            let most = if let [Val::Int(n)] = rest { *n } else { -1 };
            let mut parts: Vec<String> = match (by.is_empty(), usize::try_from(most)) {
                (_, Ok(0)) => Vec::new(),
                (true, _) => text.chars().map(|c| c.to_string()).collect(),
                (false, Ok(n)) => text.splitn(n, &**by).map(str::to_string).collect(),
                (false, Err(_)) => text.split(&**by).map(str::to_string).collect(),
            };
            if let (true, Ok(n)) = (by.is_empty(), usize::try_from(most))
                && parts.len() > n
                && n > 0
            {
                let rest = parts.split_off(n - 1).concat();
                parts.push(rest);
            }
            list(parts)
        }
        ("substring", [Val::Int(start), rest @ ..]) => {
            let chars: Vec<char> = text.chars().collect();
            let end = if let [Val::Int(end)] = rest { *end } else { chars.len() as i64 };
            if !rest.is_empty() && *start > end {
                let why = format!("invalid substring range. start: {start}, end: {end}");
                return Some(Err(why.into()));
            }
            let Some((_, from)) = at(text, *start) else { return out_of_range(*start) };
            let Some((chars, to)) = at(text, end) else { return out_of_range(end) };
            Val::from(chars.get(from..to).unwrap_or_default().iter().collect::<String>())
        }
        ("strings.quote", []) => Val::from(crate::go::quote(text)),
        ("jsonpatch.escapeKey", []) => Val::from(text.replace('~', "~0").replace('/', "~1")),
        _ => return None,
    }))
}

/// One clause of a format: text before it, precision, letter.
pub(super) struct Clause {
    before: String,
    precision: Option<usize>,
    letter: char,
}

/// The clauses of a format and the text after the last.
pub(super) fn clauses(format: &str) -> Result<(Vec<Clause>, String), String> {
    let (mut clauses, mut text) = (Vec::new(), String::new());
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            text.push('%');
            continue;
        }
        let mut precision = None;
        if chars.peek() == Some(&'.') {
            chars.next();
            let mut digits = String::new();
            while let Some(d) = chars.next_if(char::is_ascii_digit) {
                digits.push(d);
            }
            let parsed = digits.parse::<usize>().map_err(|_| {
                format!(
                    "error while parsing precision: strconv.Atoi: parsing {}: invalid syntax",
                    crate::go::quote(&digits)
                )
            })?;
            precision = Some(parsed.min(100));
        }
        let Some(letter) = chars.next() else {
            return Err("unexpected end of string".to_string());
        };
        if !"sdfebxXo".contains(letter) {
            let letter = crate::go::quote(&letter.to_string());
            return Err(format!("could not parse formatting clause: unrecognized formatting clause {letter}"));
        }
        clauses.push(Clause { before: std::mem::take(&mut text), precision, letter });
    }
    Ok((clauses, text))
}

impl Clause {
    /// The argument as the clause wants it.
    pub fn shown(&self, value: &Val) -> Result<String, String> {
        let precision = self.precision.unwrap_or(6);
        let wrong = |what: &str, wanted: &str| {
            Err(format!(
                "error during formatting: {what} clause can only be used on {wanted}, was given {}",
                value.type_name()
            ))
        };
        Ok(match (self.letter, value) {
            ('s', value) => formatted_value(value),
            ('d', Val::Int(i)) => i.to_string(),
            ('d', Val::Uint(u)) => u.to_string(),
            ('d', Val::Double(d)) if !d.is_finite() => formatted_value(value),
            ('d', _) => return wrong("decimal", "integers"),
            ('f' | 'e', Val::Double(d)) if !d.is_finite() => formatted_value(value),
            ('f', _) => match number(value) {
                Some(d) => format!("{d:.precision$}"),
                None => return wrong("fixed-point", "doubles"),
            },
            ('e', _) => match number(value) {
                Some(d) => scientific(d, precision),
                None => return wrong("scientific", "doubles"),
            },
            ('b', Val::Int(i)) => signed(*i, |n| format!("{n:b}")),
            ('b', Val::Uint(u)) => format!("{u:b}"),
            ('b', Val::Bool(b)) => if *b { "1" } else { "0" }.to_string(),
            ('b', _) => return wrong("binary", "integers and bools"),
            ('o', Val::Int(i)) => signed(*i, |n| format!("{n:o}")),
            ('o', Val::Uint(u)) => format!("{u:o}"),
            ('o', _) => return wrong("octal", "integers"),
            ('x' | 'X', _) => {
                let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
                let text = match value {
                    Val::Int(i) => signed(*i, |n| format!("{n:x}")),
                    Val::Uint(u) => format!("{u:x}"),
                    Val::Str(s) => hex(s.as_bytes()),
                    Val::Bytes(b) => hex(b),
                    _ => return wrong("hex", "integers, byte buffers, and strings"),
                };
                if self.letter == 'X' { text.to_ascii_uppercase() } else { text }
            }
            _ => return Err(format!("error during formatting: {}", value.type_name())),
        })
    }
}

fn signed(value: i64, shown: impl Fn(u64) -> String) -> String {
    format!("{}{}", if value < 0 { "-" } else { "" }, shown(value.unsigned_abs()))
}

fn number(value: &Val) -> Option<f64> {
    match value {
        Val::Int(i) => Some(*i as f64),
        Val::Uint(u) => Some(*u as f64),
        Val::Double(d) => Some(*d),
        _ => None,
    }
}

/// `1.234500×10⁰³`
fn scientific(value: f64, precision: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{value:.precision$e}");
    let Some((digits, power)) = text.split_once('e') else { return text };
    let (sign, power) = power.strip_prefix('-').map_or(("", power), |power| ("⁻", power));
    let power = format!("{power:0>2}");
    let small: String = power.chars().filter_map(|c| c.to_digit(10)).filter_map(|d| DIGITS.get(d as usize)).collect();
    format!("{digits}×10{sign}{small}")
}

/// A value as `%s` shows it.
fn formatted_value(value: &Val) -> String {
    within(value, false)
}

fn within(value: &Val, quoted: bool) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Val::Null => "null".to_string(),
        Val::Str(s) if quoted => crate::go::quote(s),
        Val::Double(d) => match *d {
            d if d.is_nan() => "NaN".to_string(),
            d if d.is_infinite() => if d > 0.0 { "Infinity" } else { "-Infinity" }.to_string(),
            d => double(d),
        },
        Val::Type(name) => name.to_string(),
        Val::List(items) => format!("[{}]", list(items.to_vec().iter().map(|item| within(item, true)).collect())),
        Val::Map(map) => {
            let mut entries: Vec<(String, String)> =
                map.to_vec().iter().map(|(k, v)| (within(k, true), within(v, true))).collect();
            crate::SortSmall::sort_small_by(&mut entries[..], |(a, _), (b, _)| a.cmp(b));
            format!("{{{}}}", list(entries.into_iter().map(|(k, v)| format!("{k}:{v}")).collect()))
        }
        other => other.text().map_or_else(|| other.type_name().to_string(), |text| text.to_string()),
    }
}

pub(super) fn formatted(run: &mut Activation, _: &str, args: &[Val]) -> Option<Eval> {
    let [Val::Str(format), Val::List(list)] = args else { return None };
    let (clauses, after) = match clauses(format) {
        Ok(parsed) => parsed,
        Err(why) => return Some(Err(why.into())),
    };
    let mut out = String::new();
    for (i, clause) in clauses.iter().enumerate() {
        out.push_str(&clause.before);
        let Some(value) = list.get(i) else { return Some(Err(format!("index {i} out of range").into())) };
        match clause.shown(&value) {
            Ok(text) => out.push_str(&text),
            Err(why) => return Some(Err(why.into())),
        }
    }
    out.push_str(&after);
    if let Err(fail) = run.toil(out.len() / 10) {
        return Some(Err(fail));
    }
    Some(Ok(Val::from(out)))
}
