//! How Go prints strings and numbers in JSON and in messages.
use crate::json::Value;
use crate::value::Map;
use std::fmt::Write;

/// `strconv.Quote`.
pub fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        quote_char(&mut out, c, '"');
    }
    out.push('"');
    out
}

/// `%q` of a list of strings: `["a" "b"]`.
pub fn quote_list<S: AsRef<str>>(list: impl IntoIterator<Item = S>) -> String {
    let parts: Vec<String> = list.into_iter().map(|s| quote(s.as_ref())).collect();
    format!("[{}]", parts.join(" "))
}

fn quote_char(out: &mut String, c: char, around: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        c if c == around => {
            out.push('\\');
            out.push(c)
        }
        c if printable(c) => out.push(c),
        c if (c as u32) < 0x80 => {
            let _ = write!(out, "\\x{:02x}", c as u32);
        }
        c if (c as u32) < 0x10000 => {
            let _ = write!(out, "\\u{:04x}", c as u32);
        }
        c => {
            let _ = write!(out, "\\U{:08x}", c as u32);
        }
    }
}

/// Go's `strconv.IsPrint`, near enough: no control, format, private, surrogate or space character but the plain space.
fn printable(c: char) -> bool {
    !(c.is_control()
        || c.is_whitespace() && c != ' '
        || matches!(c as u32,
            0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f
            | 0xe000..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xfffe | 0xffff | 0xe0000.. ))
}

/// A byte in quotes, as the JSON scanner's errors show it: `'x'`.
pub fn quote_byte(b: u8) -> String {
    let mut out = String::from("'");
    match b {
        b'\'' => out.push_str("\\'"),
        b'"' => out.push('"'),
        b => quote_char(&mut out, char::from(b), '"'),
    }
    out.push('\'');
    out
}

/// How package time quotes what it can't parse.
pub fn time_quote(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c)
            }
            c if (c as u32) < 0x20 || (c as u32) >= 0x80 => {
                for b in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\x{b:02x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A float as encoding/json prints it.
pub fn float(v: f64) -> String {
    let abs = v.abs();
    if abs != 0.0 && !(1e-6..1e21).contains(&abs) {
        // Rust prints 1e-7, 1.5e300; Go 1e-07 cleaned to 1e-7, 1.5e+300.
        let s = format!("{v:e}");
        return match s.split_once('e') {
            Some((m, e)) if !e.starts_with('-') => format!("{m}e+{e}"),
            _ => s,
        };
    }
    format!("{v}")
}

/// `fmt.Sprintf("%v", m)` of a map: `map[a:b c:d]`.
pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let parts: Vec<String> = entries.into_iter().map(|(k, v)| format!("{k}:{v}")).collect();
    format!("map[{}]", parts.join(" "))
}

/// `%v` of a dynamic value: `map[a:1 b:[x y]]`.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_string(),
        Value::Str(s) => s.to_string(),
        Value::Array(a) => format!("[{}]", a.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(m) => plain_map(m),
        v => v.to_json(),
    }
}

/// `%v` of a map of dynamic values.
pub fn plain_map(entries: &Map<Value>) -> String {
    let parts: Vec<(&str, String)> = entries.iter().map(|(k, v)| (k.as_str(), plain(v))).collect();
    map(parts.iter().map(|(k, v)| (*k, v.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        assert_eq!(quote("a\"b\\\n\u{1}é\u{200b}"), "\"a\\\"b\\\\\\n\\x01é\\u200b\"");
        assert_eq!(quote_byte(b'\''), "'\\''");
        assert_eq!(quote_byte(b'"'), "'\"'");
        assert_eq!(quote_byte(0xe9), "'é'");
        assert_eq!(float(1e21), "1e+21");
        assert_eq!(float(1.5), "1.5");
        assert_eq!(float(1e-7), "1e-7");
        assert_eq!(float(3.0), "3");
    }
}
