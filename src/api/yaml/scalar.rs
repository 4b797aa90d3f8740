//! What plain scalars mean in YAML 1.1 as go-yaml v2 reads it.

/// A resolved scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number beyond i64.
    Unsigned(u64),
    Float(f64),
    /// Looks like a time; it is read as a string, but a string that looks so is printed quoted.
    Timestamp,
    Str,
}

impl Scalar {
    /// The short tag.
    pub(super) fn tag(&self) -> &'static str {
        match self {
            Scalar::Null => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Int(_) | Scalar::Unsigned(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Timestamp => "!!timestamp",
            Scalar::Str => "!!str",
        }
    }
}

/// Resolves a plain scalar without a tag.
pub(super) fn resolve(s: &str) -> Scalar {
    match s {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match s.as_bytes().first() {
        Some(b'.') => go_float(s).map_or(Scalar::Str, Scalar::Float),
        Some(b'+' | b'-' | b'0'..=b'9') => number(s),
        _ => Scalar::Str,
    }
}

fn number(s: &str) -> Scalar {
    if timestamp(s) {
        return Scalar::Timestamp;
    }
    let plain = s.replace('_', "");
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(d) => (true, d),
        None => (false, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let signed = plain.len() != digits.len();
    if let Some(v) = magnitude(digits) {
        if !negative && let Ok(v) = i64::try_from(v) {
            return Scalar::Int(v);
        }
        if negative && v <= 1 << 63 {
            return Scalar::Int((v as i64).wrapping_neg());
        }
        // ParseUint takes no sign.
        if !signed {
            return Scalar::Unsigned(v);
        }
    }
    if float_shape(&plain)
        && let Some(v) = go_float(&plain)
    {
        return Scalar::Float(v);
    }
    Scalar::Str
}

/// The digits of a whole number as `strconv.ParseInt(s, 0, 64)` reads them, without underscores.
fn magnitude(digits: &str) -> Option<u64> {
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (rest, radix) = match lower.as_deref() {
        Some("0x") => (digits.get(2..)?, 16),
        Some("0o") => (digits.get(2..)?, 8),
        Some("0b") => (digits.get(2..)?, 2),
        _ if digits.len() > 1 && digits.starts_with('0') => (digits.get(1..)?, 8),
        _ => (digits, 10),
    };
    // Rust would take a sign here.
    if rest.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(rest, radix).ok()
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn float_shape(s: &str) -> bool {
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let s = s.strip_prefix(['-', '+']).unwrap_or(s);
    let whole = digits(s);
    let mut rest = s.get(whole..).unwrap_or("");
    if let Some(part) = rest.strip_prefix('.') {
        let n = digits(part);
        if whole == 0 && n == 0 {
            return false;
        }
        rest = part.get(n..).unwrap_or("");
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(e) => {
            let e = e.strip_prefix(['-', '+']).unwrap_or(e);
            !e.is_empty() && digits(e) == e.len()
        }
        None => rest.is_empty(),
    }
}

/// `strconv.ParseFloat` of a decimal number; out of range is an error in Go.
fn go_float(s: &str) -> Option<f64> {
    if !float_shape(s) {
        return None;
    }
    s.parse().ok().filter(|v: &f64| v.is_finite())
}

/// Whether go-yaml takes it for a timestamp: a date, or a date and time.
pub(super) fn timestamp(s: &str) -> bool {
    let mut p = Cursor { rest: s };
    let date = p.digits(4, 4).is_some()
        && p.eat('-')
        && p.digits(1, 2).is_some_and(|m| (1..=12).contains(&m))
        && p.eat('-')
        && p.digits(1, 2).is_some();
    if !date {
        return false;
    }
    let year: i64 = s.get(..4).and_then(|y| y.parse().ok()).unwrap_or(0);
    let mut parts = s.split('-').skip(1);
    let month: i64 = parts.next().and_then(|m| m.parse().ok()).unwrap_or(0);
    let day: i64 = parts
        .next()
        .map(|d| d.chars().take_while(char::is_ascii_digit).collect::<String>())
        .and_then(|d| d.parse().ok())
        .unwrap_or(0);
    if crate::value::time::civil(crate::value::time::days(year, month, day)) != (year, month, day) {
        return false;
    }
    if p.rest.is_empty() {
        return true;
    }
    let zoned = p.eat('T') || p.eat('t');
    if !zoned && !p.eat(' ') {
        return false;
    }
    let time = p.digits(1, 2).is_some_and(|h| h < 24)
        && p.eat(':')
        && p.digits(1, 2).is_some_and(|m| m < 60)
        && p.eat(':')
        && p.digits(1, 2).is_some_and(|s| s < 60);
    if !time {
        return false;
    }
    if (p.rest.starts_with('.') || p.rest.starts_with(','))
        && p.rest.get(1..).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
    {
        p.rest = p.rest.get(1..).unwrap_or("").trim_start_matches(|c: char| c.is_ascii_digit());
    }
    if !zoned {
        return p.rest.is_empty();
    }
    if p.eat('Z') {
        return p.rest.is_empty();
    }
    (p.eat('+') || p.eat('-'))
        && p.digits(2, 2).is_some_and(|h| h <= 24)
        && p.eat(':')
        && p.digits(2, 2).is_some_and(|m| m <= 60)
        && p.rest.is_empty()
}

struct Cursor<'a> {
    rest: &'a str,
}
impl Cursor<'_> {
    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(r) => {
                self.rest = r;
                true
            }
            None => false,
        }
    }
    /// As many digits as there are, at most `max`.
    fn digits(&mut self, min: usize, max: usize) -> Option<i64> {
        let n = self.rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if n < min {
            return None;
        }
        let v = self.rest.get(..n)?.parse().ok();
        self.rest = self.rest.get(n..)?;
        v
    }
}

/// `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`: YAML 1.1's base 60 floats, which are printed quoted.
pub(super) fn base60(s: &str) -> bool {
    let s = s.strip_prefix(['-', '+']).unwrap_or(s);
    let (s, part) = s.split_once('.').unwrap_or((s, ""));
    if !part.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return false;
    }
    let mut groups = s.split(':');
    let first = groups.next().unwrap_or("");
    let mut n = 0;
    first.starts_with(|c: char| c.is_ascii_digit())
        && first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        && groups.all(|g| {
            n += 1;
            matches!(g.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
        })
        && n > 0
}
