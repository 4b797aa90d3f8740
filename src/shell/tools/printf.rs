//! `printf`

/// Characters of a text with its backslash escapes read; true if `\c` ended it.
pub fn escapes(text: &str) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match chars.next() {
            Some('n') => bytes.push(b'\n'),
            Some('t') => bytes.push(b'\t'),
            Some('r') => bytes.push(b'\r'),
            Some('a') => bytes.push(7),
            Some('b') => bytes.push(8),
            Some('f') => bytes.push(12),
            Some('v') => bytes.push(11),
            Some('e') => bytes.push(27),
            Some('\\') => bytes.push(b'\\'),
            Some('"') => bytes.push(b'"'),
            Some('c') => return (bytes, true),
            Some('x') => {
                let mut value = None;
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) {
                    value = Some(value.unwrap_or(0u32) * 16 + digit);
                    chars.next();
                    if value > Some(15) {
                        break;
                    }
                }
                bytes.push(value.and_then(|v| u8::try_from(v).ok()).unwrap_or(b'x'));
            }
            Some(d @ '0'..='7') => {
                let mut value = d.to_digit(8).unwrap_or(0);
                let mut more = if d == '0' { 3 } else { 2 };
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)).filter(|_| more > 0) {
                    value = value * 8 + digit;
                    more -= 1;
                    chars.next();
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or(0));
            }
            Some(other) => {
                bytes.push(b'\\');
                bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => bytes.push(b'\\'),
        }
    }
    (bytes, false)
}

/// A width or precision at most, so that a slip doesn't fill the memory.
const WIDEST: usize = 4096;

/// The output, with a complaint about an argument if there is one; or the complaint about the format.
pub fn format(arguments: &[String]) -> Result<(Vec<u8>, Option<String>), String> {
    let mut words = arguments.iter();
    let mut format = words.next();
    if format.is_some_and(|f| f == "--") {
        format = words.next();
    }
    let Some(format) = format else { return Err("usage: printf format [arguments]".into()) };
    let mut words = words.peekable();
    let (mut out, mut complaint) = (Vec::new(), None);
    loop {
        let before = words.len();
        let ended = once(format, &mut words, &mut out, &mut complaint)?;
        // The format is used again while it takes arguments and some are left.
        if ended || words.peek().is_none() || words.len() == before {
            return Ok((out, complaint));
        }
    }
}

fn once<'a>(
    format: &str,
    words: &mut impl Iterator<Item = &'a String>,
    out: &mut Vec<u8>,
    complaint: &mut Option<String>,
) -> Result<bool, String> {
    let chars: Vec<char> = format.chars().collect();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        if c != '%' {
            let from = at;
            while chars.get(at).is_some_and(|c| *c != '%') {
                at += 1;
            }
            let (bytes, ended) = escapes(&chars.get(from..at).unwrap_or_default().iter().collect::<String>());
            out.extend_from_slice(&bytes);
            if ended {
                return Ok(true);
            }
            continue;
        }
        at += 1;
        if chars.get(at) == Some(&'%') {
            out.push(b'%');
            at += 1;
            continue;
        }
        let mut flags = String::new();
        while let Some(&c) = chars.get(at).filter(|c| "-+ 0#".contains(**c)) {
            flags.push(c);
            at += 1;
        }
        let mut number = |at: &mut usize| -> Option<usize> {
            if chars.get(*at) == Some(&'*') {
                *at += 1;
                return words.next().and_then(|w| w.parse().ok()).map(|n: usize| n.min(WIDEST));
            }
            let mut value = None;
            while let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(10)) {
                value = Some((value.unwrap_or(0) * 10 + digit as usize).min(WIDEST));
                *at += 1;
            }
            value
        };
        let width = number(&mut at).unwrap_or(0);
        let precision = if chars.get(at) == Some(&'.') {
            at += 1;
            Some(number(&mut at).unwrap_or(0))
        } else {
            None
        };
        let Some(&conversion) = chars.get(at) else { return Err("`%': missing format character".into()) };
        at += 1;
        let argument = words.next().map_or("", String::as_str);
        let mut integer = || {
            let text = argument.trim();
            let value = match text.strip_prefix(['\'', '"']).and_then(|t| t.chars().next()) {
                Some(c) => Some(i64::from(u32::from(c))),
                None if text.is_empty() => Some(0),
                None => crate::arithmetic::literal(text),
            };
            value.unwrap_or_else(|| {
                *complaint = Some(format!("{argument}: invalid number"));
                0
            })
        };
        let sign = |v: bool| {
            if v && flags.contains('+') {
                "+"
            } else if v && flags.contains(' ') {
                " "
            } else {
                ""
            }
        };
        let text = match conversion {
            's' => argument.chars().take(precision.unwrap_or(usize::MAX)).collect(),
            'b' => {
                let (bytes, ended) = escapes(argument);
                if ended {
                    out.extend_from_slice(&bytes);
                    return Ok(true);
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
            'c' => argument.chars().take(1).collect(),
            'q' => quoted(argument),
            'd' | 'i' => {
                let value = integer();
                format!("{}{value}", sign(value >= 0))
            }
            'u' => integer().cast_unsigned().to_string(),
            'x' => format!("{:x}", integer()),
            'X' => format!("{:X}", integer()),
            'o' => format!("{:o}", integer()),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                let value: f64 = argument.trim().parse().unwrap_or(0.0);
                let digits = precision.unwrap_or(6);
                match conversion {
                    'e' => scientific(value, digits),
                    'E' => scientific(value, digits).to_uppercase(),
                    'g' | 'G' => format!("{value}"),
                    _ => format!("{}{value:.digits$}", sign(value >= 0.0)),
                }
            }
            other => return Err(format!("`{other}': invalid format character")),
        };
        let pad = width.saturating_sub(text.chars().count());
        let zero = flags.contains('0') && !flags.contains('-') && !matches!(conversion, 's' | 'b' | 'c' | 'q');
        if flags.contains('-') {
            out.extend_from_slice(text.as_bytes());
            out.extend(std::iter::repeat_n(b' ', pad));
        } else if zero {
            let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |d| ("-", d));
            out.extend_from_slice(sign.as_bytes());
            out.extend(std::iter::repeat_n(b'0', pad));
            out.extend_from_slice(digits.as_bytes());
        } else {
            out.extend(std::iter::repeat_n(b' ', pad));
            out.extend_from_slice(text.as_bytes());
        }
    }
    Ok(false)
}

/// `3.141590e+00`: an exponent of two digits at least, with its sign.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{mantissa}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

/// A word as the shell would have to be given it.
fn quoted(word: &str) -> String {
    if word.is_empty() {
        return "''".into();
    }
    let mut out = String::new();
    for c in word.chars() {
        if !(c.is_alphanumeric() || "_./:=@%+,-".contains(c)) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        String::from_utf8(format(&words).unwrap().0).unwrap()
    }

    #[test]
    fn formats_are_used_until_the_arguments_end() {
        assert_eq!(printed(&["%s-%s\\n", "a", "b", "c"]), "a-b\nc-\n");
        assert_eq!(printed(&["%5d|%-5s|%05.1f|%x", "42", "ab", "3.14159", "255"]), "   42|ab   |003.1|ff");
        assert_eq!(printed(&["a\\tb\\n"]), "a\tb\n");
        assert_eq!(printed(&["100%%"]), "100%");
        assert_eq!(printed(&["%e %q %d %d", "3.14159", "it's", "017", "0x1f"]), "3.141590e+00 it\\'s 15 31");
        assert_eq!(format(&["%d".into(), "x".into()]).unwrap().1.unwrap(), "x: invalid number");
        assert!(format(&["%y".into()]).is_err());
    }
}
