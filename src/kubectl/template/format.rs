//! Go's `fmt.Sprintf` and `fmt.Sprint` on the values that JSON has.

use crate::print::human::quote;
use crate::value::Value;

/// Widths and precisions above this are Go's `%!(BADWIDTH)` and `%!(BADPREC)`.
const MAX_WIDTH: i64 = 1_000_000;
/// Width that is followed, so that no template fills the memory.
const MAX_PADDING: usize = 10_000;

/// `fmt.Sprint`: spaces stand between operands of which neither is text.
pub fn sprint(values: &[Value]) -> String {
    let mut out = String::new();
    let mut before: Option<&Value> = None;
    for v in values {
        if before.is_some_and(|b| b.as_str().is_none() && v.as_str().is_none()) {
            out.push(' ');
        }
        out.push_str(&v.go_v());
        before = Some(v);
    }
    out
}

#[derive(Default)]
struct Flags {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// `fmt.Sprintf`; each value with its Go type.
pub fn sprintf(format: &str, args: &[(&Value, &str)]) -> String {
    let mut out = String::new();
    let mut next = 0;
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut f = Flags::default();
        while let Some(c) = chars.next_if(|c| "-+# 0".contains(*c)) {
            match c {
                '-' => f.minus = true,
                '+' => f.plus = true,
                '#' => f.sharp = true,
                ' ' => f.space = true,
                _ => f.zero = true,
            }
        }
        let mut number = |out: &mut String, next: &mut usize, bad: &str| -> Option<usize> {
            if chars.next_if_eq(&'*').is_some() {
                let v = args.get(*next);
                *next += 1;
                return match v {
                    Some((Value::Int(i), _)) if i.abs() <= MAX_WIDTH => usize::try_from(i.unsigned_abs()).ok(),
                    _ => {
                        out.push_str(bad);
                        None
                    }
                };
            }
            let mut n: Option<usize> = None;
            while let Some(d) = chars.next_if(char::is_ascii_digit) {
                n = Some(n.unwrap_or(0).saturating_mul(10).saturating_add(d as usize - '0' as usize));
            }
            n
        };
        f.width = number(&mut out, &mut next, "%!(BADWIDTH)").map(|w| w.min(MAX_PADDING));
        let mut precision = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut number = |out: &mut String, next: &mut usize| -> usize {
                if chars.next_if_eq(&'*').is_some() {
                    let v = args.get(*next);
                    *next += 1;
                    return match v {
                        Some((Value::Int(i), _)) if (0..=MAX_WIDTH).contains(i) => usize::try_from(*i).unwrap_or(0),
                        _ => {
                            out.push_str("%!(BADPREC)");
                            0
                        }
                    };
                }
                let mut n: usize = 0;
                while let Some(d) = chars.next_if(char::is_ascii_digit) {
                    n = n.saturating_mul(10).saturating_add(d as usize - '0' as usize);
                }
                n
            };
            precision = Some(number(&mut out, &mut next).min(MAX_PADDING));
        }
        f.precision = precision;
        let Some(verb) = chars.next() else {
            out.push_str("%!(NOVERB)");
            break;
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let Some((v, type_name)) = args.get(next) else {
            out.push_str(&format!("%!{verb}(MISSING)"));
            continue;
        };
        next += 1;
        out.push_str(&one(verb, &f, v, type_name));
    }
    if next < args.len() {
        let extra: Vec<String> = args
            .get(next..)
            .unwrap_or(&[])
            .iter()
            .map(|(v, t)| if v.is_null() { "<nil>".into() } else { format!("{t}={}", v.go_v()) })
            .collect();
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    out
}

fn bad(verb: char, v: &Value, type_name: &str) -> String {
    if v.is_null() { format!("%!{verb}(<nil>)") } else { format!("%!{verb}({type_name}={})", v.go_v()) }
}

fn pad(text: String, f: &Flags, zeros: bool) -> String {
    let Some(width) = f.width else { return text };
    let missing = width.saturating_sub(text.chars().count());
    if f.minus {
        format!("{text}{}", " ".repeat(missing))
    } else if f.zero && zeros {
        let (sign, digits) = match text.chars().next() {
            Some('+' | '-') => text.split_at(1),
            _ => ("", text.as_str()),
        };
        format!("{sign}{}{digits}", "0".repeat(missing))
    } else {
        format!("{}{text}", " ".repeat(missing))
    }
}

fn one(verb: char, f: &Flags, v: &Value, type_name: &str) -> String {
    let within = |verb, f: &Flags, v: &Value| one(verb, f, v, v.go_type());
    match (verb, v) {
        ('T', Value::Null) => pad("<nil>".into(), f, false),
        ('T', _) => pad(type_name.into(), f, false),
        ('v', v) if f.sharp => pad(v.go_sharp_v(), f, false),
        ('v', Value::Null) => pad("<nil>".into(), f, false),
        ('v', Value::Int(_)) => one('d', f, v, type_name),
        ('v', Value::Float(_)) => one('g', f, v, type_name),
        ('v', Value::String(_)) => one('s', f, v, type_name),
        ('v' | 't', Value::Bool(b)) => pad(b.to_string(), f, false),
        (_, Value::Array(list)) => {
            let inner: Vec<String> = list.iter().map(|v| within(verb, f, v)).collect();
            format!("[{}]", inner.join(" "))
        }
        (_, Value::Object(m)) => {
            let inner: Vec<String> = m
                .iter()
                .map(|(k, v)| format!("{}:{}", within(verb, f, &k.as_str().into()), within(verb, f, v)))
                .collect();
            format!("map[{}]", inner.join(" "))
        }
        (_, Value::Int(i)) => integer(verb, f, *i).unwrap_or_else(|| bad(verb, v, type_name)),
        (_, Value::Float(x)) => float(verb, f, *x).unwrap_or_else(|| bad(verb, v, type_name)),
        (_, Value::String(s)) => string(verb, f, s).unwrap_or_else(|| bad(verb, v, type_name)),
        _ => bad(verb, v, type_name),
    }
}

fn sign(negative: bool, f: &Flags) -> &'static str {
    match (negative, f.plus, f.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn integer(verb: char, f: &Flags, i: i64) -> Option<String> {
    let n = i.unsigned_abs();
    let digits = match verb {
        'd' => n.to_string(),
        'b' => format!("{}{n:b}", if f.sharp { "0b" } else { "" }),
        'o' => format!("{}{n:o}", if f.sharp { "0" } else { "" }),
        'O' => format!("0o{n:o}"),
        'x' => format!("{}{n:x}", if f.sharp { "0x" } else { "" }),
        'X' => format!("{}{n:X}", if f.sharp { "0X" } else { "" }),
        'c' => return Some(pad(char_of(i).to_string(), f, false)),
        'q' => return Some(pad(format!("'{}'", char_of(i)), f, false)),
        'U' => return Some(pad(format!("U+{n:04X}"), f, false)),
        _ => return None,
    };
    let digits = match f.precision {
        Some(p) if digits.len() < p => format!("{}{digits}", "0".repeat(p - digits.len())),
        _ => digits,
    };
    Some(pad(format!("{}{digits}", sign(i < 0, f)), f, f.precision.is_none()))
}

fn char_of(i: i64) -> char {
    u32::try_from(i).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
}

fn float(verb: char, f: &Flags, x: f64) -> Option<String> {
    let a = x.abs();
    let text = match verb {
        'f' | 'F' => format!("{a:.*}", f.precision.unwrap_or(6)),
        'e' | 'E' => {
            let t = exponent(&format!("{a:.*e}", f.precision.unwrap_or(6)));
            if verb == 'E' { t.to_uppercase() } else { t }
        }
        'g' | 'G' => match f.precision {
            None => Value::Float(a).go_v(),
            Some(p) => general(a, p.max(1)),
        },
        _ => return None,
    };
    Some(pad(format!("{}{text}", sign(x.is_sign_negative(), f)), f, true))
}

/// `%.Ng`
fn general(a: f64, digits: usize) -> String {
    let scientific = format!("{a:.*e}", digits - 1);
    let power: i32 = scientific.rsplit('e').next().and_then(|p| p.parse().ok()).unwrap_or(0);
    let trim = |t: &str| {
        if t.contains('.') { t.trim_end_matches('0').trim_end_matches('.').to_string() } else { t.to_string() }
    };
    if power < -4 || power >= i32::try_from(digits).unwrap_or(i32::MAX) {
        let (mantissa, tail) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        return exponent(&format!("{}e{tail}", trim(mantissa)));
    }
    let decimals = usize::try_from(i64::try_from(digits).unwrap_or(0) - 1 - i64::from(power)).unwrap_or(0);
    trim(&format!("{a:.decimals$}"))
}

/// Rust's `1e5` as Go's `1e+05`.
fn exponent(text: &str) -> String {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, power) = match power.strip_prefix('-') {
        Some(p) => ('-', p),
        None => ('+', power),
    };
    format!("{mantissa}e{sign}{power:0>2}")
}

fn string(verb: char, f: &Flags, s: &str) -> Option<String> {
    let cut: String = match f.precision {
        Some(p) => s.chars().take(p).collect(),
        None => s.to_string(),
    };
    let hex = |upper: bool| -> String {
        let bytes = s.as_bytes();
        let shown = bytes.get(..f.precision.unwrap_or(bytes.len()).min(bytes.len())).unwrap_or(bytes);
        let join = if f.space { " " } else { "" };
        let digits: Vec<String> =
            shown.iter().map(|b| if upper { format!("{b:02X}") } else { format!("{b:02x}") }).collect();
        digits.join(join)
    };
    let text = match verb {
        's' => cut,
        'q' if f.sharp && !cut.contains('`') => format!("`{cut}`"),
        'q' => quote(&cut),
        'x' => hex(false),
        'X' => hex(true),
        _ => return None,
    };
    Some(pad(text, f, true))
}
