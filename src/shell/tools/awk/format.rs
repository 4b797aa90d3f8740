//! awk's printf.

use super::value::Value;
use crate::tools::numbers;

/// A width or precision at most.
const WIDEST: usize = 4096;

/// `format` with `values` in it; one that is missing is empty.
pub(super) fn format(format: &str, values: &[Value]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut spec = numbers::Spec::default();
        let mut read = String::from("%");
        while let Some(&flag) = chars.peek().filter(|c| "-+ 0#".contains(**c)) {
            chars.next();
            read.push(flag);
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                _ => {}
            }
        }
        let mut number = |read: &mut String| -> Option<usize> {
            if chars.peek() == Some(&'*') {
                chars.next();
                let given = values.next().map_or(0.0, Value::number);
                return Some(numbers::whole(given).and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(WIDEST));
            }
            let mut value = None;
            while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                chars.next();
                read.push(char::from_digit(digit, 10).unwrap_or('0'));
                value = Some((value.unwrap_or(0) * 10 + digit as usize).min(WIDEST));
            }
            value
        };
        spec.width = number(&mut read).unwrap_or(0);
        if chars.peek() == Some(&'.') {
            chars.next();
            read.push('.');
            let mut number = || -> usize {
                let mut value = 0;
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    chars.next();
                    value = (value * 10 + digit as usize).min(WIDEST);
                }
                value
            };
            spec.precision = Some(number());
        }
        let Some(conversion) = chars.next() else {
            out.push_str(&read);
            return out;
        };
        let value = values.next().cloned().unwrap_or(Value::Unset);
        let text = match conversion {
            'c' => match &value {
                Value::Number(code) => numbers::whole(*code)
                    .and_then(|n| u32::try_from(n).ok())
                    .and_then(char::from_u32)
                    .map_or(String::new(), String::from),
                other => other.to_text("%.6g").chars().take(1).collect(),
            },
            's' => value.to_text("%.6g").chars().take(spec.precision.unwrap_or(usize::MAX)).collect(),
            'd' | 'i' => spec.integer(numbers::truncated(value.number())),
            'o' => format!("{:o}", numbers::truncated(value.number())),
            'x' => format!("{:x}", numbers::truncated(value.number())),
            'X' => format!("{:X}", numbers::truncated(value.number())),
            'u' => numbers::truncated(value.number()).cast_unsigned().to_string(),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => spec.float(conversion, value.number()),
            other => {
                read.push(other);
                out.push_str(&read);
                continue;
            }
        };
        out.push_str(&spec.padded(&text, !matches!(conversion, 'c' | 's')));
    }
    out
}
