//! The words and signs of an awk program.

use std::fmt;

/// A word, a sign, or a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Text(String),
    Regex(String),
    Word(String),
    Sign(String),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Regex(text) => write!(f, "/{text}/"),
            Self::Word(word) => f.write_str(word),
            Self::Sign(sign) if sign == "\n" => f.write_str("end of line"),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// Words that are no names.
const RESERVED: &[&str] = &[
    "BEGIN", "END", "break", "continue", "delete", "do", "else", "exit", "for", "func", "function", "getline", "if",
    "in", "next", "nextfile", "print", "printf", "return", "while",
];

/// The functions with how many arguments they take at least and at most.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("atan2", 2, 2),
    ("cos", 1, 1),
    ("exp", 1, 1),
    ("gsub", 2, 3),
    ("index", 2, 2),
    ("int", 1, 1),
    ("length", 0, 1),
    ("log", 1, 1),
    ("match", 2, 2),
    ("sin", 1, 1),
    ("split", 2, 3),
    ("sprintf", 1, 64),
    ("sqrt", 1, 1),
    ("sub", 2, 3),
    ("substr", 2, 3),
    ("system", 1, 1),
    ("tolower", 1, 1),
    ("toupper", 1, 1),
];

pub(super) fn is_function(word: &str) -> bool {
    FUNCTIONS.iter().any(|(name, ..)| *name == word)
}

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word) || is_function(word)
}

pub(super) fn arity(word: &str) -> (usize, usize) {
    FUNCTIONS.iter().find(|(name, ..)| *name == word).map_or((0, 0), |(_, least, most)| (*least, *most))
}

/// Signs of several characters, longer ones first.
const SIGNS: &[&str] =
    &["**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=", ">=", "!=", "!~", ">>", "**"];

/// Reads a program's tokens with their lines.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens: Vec<(Token, usize)> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(&c) = chars.get(at) {
        match c {
            ' ' | '\t' | '\r' => at += 1,
            '\\' if chars.get(at + 1) == Some(&'\n') => {
                at += 2;
                line += 1;
            }
            '#' => {
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
            }
            '\n' => {
                tokens.push((Token::Sign("\n".into()), line));
                line += 1;
                at += 1;
            }
            '"' => {
                let (text, next) = quoted(&chars, at + 1, '"').ok_or_else(|| unterminated(line, "string"))?;
                tokens.push((Token::Text(unescaped(&text)), line));
                at = next;
            }
            '/' if !ends_operand(tokens.last().map(|(t, _)| t)) => {
                let (text, next) =
                    quoted(&chars, at + 1, '/').ok_or_else(|| unterminated(line, "regular expression"))?;
                tokens.push((Token::Regex(text.replace("\\/", "/")), line));
                at = next;
            }
            _ if c.is_ascii_digit() || (c == '.' && chars.get(at + 1).is_some_and(char::is_ascii_digit)) => {
                let (value, next) = number(&chars, at);
                tokens.push((Token::Number(value), line));
                at = next;
            }
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let from = at;
                while chars.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    at += 1;
                }
                tokens.push((Token::Word(chars.get(from..at).unwrap_or_default().iter().collect()), line));
            }
            _ => {
                let rest: String = chars.iter().skip(at).take(3).collect();
                let sign = SIGNS.iter().find(|s| rest.starts_with(**s)).map_or(c.to_string(), ToString::to_string);
                if sign.chars().count() == 1 && !"{}()[];,+-*/%^!<>|?:~$=".contains(c) {
                    return Err(format!("line {line}: unexpected character '{c}'"));
                }
                at += sign.chars().count();
                tokens.push((Token::Sign(sign), line));
            }
        }
    }
    Ok(tokens)
}

fn unterminated(line: usize, what: &str) -> String {
    format!("line {line}: runaway {what} constant")
}

/// Whether a `/` after this divides.
fn ends_operand(token: Option<&Token>) -> bool {
    match token {
        Some(Token::Number(_) | Token::Text(_) | Token::Regex(_)) => true,
        Some(Token::Word(word)) => !RESERVED.contains(&word.as_str()),
        Some(Token::Sign(sign)) => matches!(sign.as_str(), ")" | "]" | "$" | "++" | "--"),
        None => false,
    }
}

fn quoted(chars: &[char], from: usize, end: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut at = from;
    loop {
        match *chars.get(at)? {
            '\n' => return None,
            '\\' => {
                text.push('\\');
                text.push(*chars.get(at + 1)?);
                at += 2;
            }
            c if c == end => return Some((text, at + 1)),
            c => {
                text.push(c);
                at += 1;
            }
        }
    }
}

/// A text with its escapes read; one that means nothing stays as it is, as a regular expression needs it.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a') => out.push('\x07'),
            Some('b') => out.push('\x08'),
            Some('f') => out.push('\x0c'),
            Some('v') => out.push('\x0b'),
            Some('"') => out.push('"'),
            Some('/') => out.push('/'),
            Some('\\') => out.push('\\'),
            Some(d @ '0'..='7') => {
                let mut value = d.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    chars.next();
                }
                out.push(char::from_u32(value).unwrap_or('\u{fffd}'));
            }
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
    out
}

fn number(chars: &[char], from: usize) -> (f64, usize) {
    let mut at = from;
    let digits = |at: &mut usize| {
        while chars.get(*at).is_some_and(char::is_ascii_digit) {
            *at += 1;
        }
    };
    digits(&mut at);
    if chars.get(at) == Some(&'.') {
        at += 1;
        digits(&mut at);
    }
    if matches!(chars.get(at), Some('e' | 'E')) {
        let sign = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
        if chars.get(at + 1 + sign).is_some_and(char::is_ascii_digit) {
            at += 1 + sign;
            digits(&mut at);
        }
    }
    let text: String = chars.get(from..at).unwrap_or_default().iter().collect();
    (text.parse().unwrap_or(0.0), at)
}
