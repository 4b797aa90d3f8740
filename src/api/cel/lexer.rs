//! Words of CEL (cel-go's `CEL.g4`).

use crate::Str;

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Ident,
    /// Between backquotes.
    Escaped,
    Int,
    Uint,
    Double,
    /// Its value.
    Text(Str),
    Bytes(Vec<u8>),
    /// An operator, a bracket, `true`, `in`, ...: as it is written.
    Sign(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub text: Str,
    /// In characters.
    pub at: usize,
}

impl Token {
    pub fn is(&self, sign: &str) -> bool {
        matches!(self.kind, Kind::Sign(own) if own == sign)
    }

    pub fn shown(&self) -> &str {
        if self.kind == Kind::End { "<EOF>" } else { &self.text }
    }
}

const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%", "in",
];
const WORDS: [&str; 4] = ["in", "true", "false", "null"];

/// The words of a text, and where it had none: position and the characters that made no sense.
pub(super) fn tokens(chars: &[char]) -> (Vec<Token>, Vec<(usize, String)>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        if matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}') {
            at += 1;
            continue;
        }
        if c == '/' && chars.get(at + 1) == Some(&'/') {
            at += chars.iter().skip(at).take_while(|c| **c != '\n').count();
            continue;
        }
        match word(chars, at) {
            Ok((kind, end)) => {
                let text = chars.get(at..end).unwrap_or_default().iter().collect::<String>();
                found.push(Token { kind, text: text.into(), at });
                at = end.max(at + 1);
            }
            Err(end) => {
                // The character that did not fit is part of it.
                let end = (end + 1).min(chars.len());
                errors.push((at, chars.get(at..end).unwrap_or_default().iter().collect()));
                at = end.max(at + 1);
            }
        }
    }
    found.push(Token { kind: Kind::End, text: Str::default(), at: chars.len() });
    (found, errors)
}

/// The word at a place and where it ends; the error is the character at which it stopped making sense.
fn word(chars: &[char], at: usize) -> Result<(Kind, usize), usize> {
    let c = |i: usize| chars.get(at + i).copied().unwrap_or('\0');
    if let Some((prefix, raw, bytes)) = quoted(chars, at) {
        return text(chars, at + prefix, raw, bytes);
    }
    if c(0).is_ascii_alphabetic() || c(0) == '_' {
        let end = at + chars.iter().skip(at).take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
        let word: String = chars.get(at..end).unwrap_or_default().iter().collect();
        let kind = WORDS.iter().find(|w| **w == word).map_or(Kind::Ident, |w| Kind::Sign(w));
        return Ok((kind, end));
    }
    if c(0) == '`' {
        let inner = chars.iter().skip(at + 1);
        let n = inner.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ')).count();
        return if n > 0 && c(n + 1) == '`' { Ok((Kind::Escaped, at + n + 2)) } else { Err(at + n + 1) };
    }
    if c(0).is_ascii_digit() || (c(0) == '.' && c(1).is_ascii_digit()) {
        return Ok(number(chars, at));
    }
    for sign in SIGNS {
        if sign.chars().enumerate().all(|(i, s)| c(i) == s) {
            return Ok((Kind::Sign(sign), at + sign.len()));
        }
    }
    Err(if matches!(c(0), '=' | '&' | '|') { at + 1 } else { at })
}

/// Whether a string begins here: how long its prefix is, whether it is raw, whether it is of bytes.
fn quoted(chars: &[char], at: usize) -> Option<(usize, bool, bool)> {
    let (mut i, mut raw, mut bytes) = (0, false, false);
    if matches!(chars.get(at), Some('b' | 'B')) {
        (i, bytes) = (1, true);
    }
    if matches!(chars.get(at + i), Some('r' | 'R')) {
        (i, raw) = (i + 1, true);
    }
    matches!(chars.get(at + i), Some('"' | '\'')).then_some((i, raw, bytes))
}

fn number(chars: &[char], at: usize) -> (Kind, usize) {
    let c = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let digits = |from: usize| from + chars.iter().skip(from).take_while(|c| c.is_ascii_digit()).count();
    let unsigned = |end: usize| if matches!(c(end), 'u' | 'U') { (Kind::Uint, end + 1) } else { (Kind::Int, end) };
    if c(at) == '0' && c(at + 1) == 'x' && c(at + 2).is_ascii_hexdigit() {
        let end = at + 2 + chars.iter().skip(at + 2).take_while(|c| c.is_ascii_hexdigit()).count();
        return unsigned(end);
    }
    let mut end = digits(at);
    let mut double = false;
    if c(end) == '.' && c(end + 1).is_ascii_digit() {
        (end, double) = (digits(end + 1), true);
    }
    if matches!(c(end), 'e' | 'E') {
        let sign = usize::from(matches!(c(end + 1), '+' | '-'));
        if c(end + 1 + sign).is_ascii_digit() {
            (end, double) = (digits(end + 1 + sign), true);
        }
    }
    if double { (Kind::Double, end) } else { unsigned(end) }
}

/// A string from its opening quote on.
fn text(chars: &[char], open: usize, raw: bool, bytes: bool) -> Result<(Kind, usize), usize> {
    let quote = chars.get(open).copied().unwrap_or('"');
    let triple = chars.get(open + 1) == Some(&quote) && chars.get(open + 2) == Some(&quote);
    let mut out: Vec<u8> = Vec::new();
    let push = |out: &mut Vec<u8>, c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    let mut at = open + if triple { 3 } else { 1 };
    loop {
        let Some(&c) = chars.get(at) else {
            // Two quotes that begin no long string are an empty one.
            return if triple { Ok((finish(Vec::new(), bytes), open + 2)) } else { Err(at) };
        };
        if c == quote && (!triple || (chars.get(at + 1) == Some(&quote) && chars.get(at + 2) == Some(&quote))) {
            return Ok((finish(out, bytes), at + if triple { 3 } else { 1 }));
        }
        if !triple && matches!(c, '\n' | '\r') {
            return Err(at);
        }
        if c != '\\' || raw {
            push(&mut out, c);
            at += 1;
            continue;
        }
        let next = chars.get(at + 1).copied().unwrap_or('\0');
        let code = |from: usize, n: usize, radix: u32| -> Option<u32> {
            let digits: String = chars.get(from..from + n)?.iter().collect();
            digits.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| u32::from_str_radix(&digits, radix).ok())?
        };
        let simple = match next {
            'a' => Some('\x07'),
            'b' => Some('\x08'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            '"' | '\'' | '\\' | '?' | '`' => Some(next),
            _ => None,
        };
        if let Some(c) = simple {
            push(&mut out, c);
            at += 2;
            continue;
        }
        let (value, length) = match next {
            'x' | 'X' => (code(at + 2, 2, 16), 4),
            'u' => (code(at + 2, 4, 16), 6),
            'U' => (code(at + 2, 8, 16), 10),
            '0'..='3' => (code(at + 1, 3, 8), 4),
            _ => (None, 0),
        };
        let Some(value) = value else { return Err(at + 1) };
        match u8::try_from(value) {
            Ok(byte) if bytes && !matches!(next, 'u' | 'U') => out.push(byte),
            _ => push(&mut out, char::from_u32(value).unwrap_or('\u{fffd}')),
        }
        at += length;
    }
}

fn finish(out: Vec<u8>, bytes: bool) -> Kind {
    if bytes { Kind::Bytes(out) } else { Kind::Text(Str::from(String::from_utf8_lossy(&out).into_owned())) }
}
