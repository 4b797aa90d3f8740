//! Reads regular expressions (Go's `regexp/syntax`).

use super::{Class, Node};

/// Bound of the nesting of groups.
const DEPTH: usize = 60;
/// Bound of a counted repetition, as RE2's.
const REPEAT: u32 = 1000;
#[derive(Clone, Copy, Default)]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_all: bool,
    lazy: bool,
}

struct Parser<'a> {
    chars: Vec<char>,
    text: &'a str,
    at: usize,
    depth: usize,
    flags: Flags,
    fold: bool,
}

/// The alternatives of an expression, and whether case is of no matter.
pub(super) fn parse(text: &str) -> Result<(Vec<Vec<Node>>, bool), String> {
    let chars = text.chars().collect();
    let mut parser = Parser { chars, text, at: 0, depth: 0, flags: Flags::default(), fold: false };
    let alternatives = parser.alternatives()?;
    if parser.at < parser.chars.len() {
        return Err(format!("error parsing regexp: unexpected ): `{text}`"));
    }
    Ok((alternatives, parser.fold))
}

const DIGITS: &[(char, char)] = &[('0', '9')];
const WORDS: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
const SPACES: &[(char, char)] = &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')];

/// `[:alpha:]` and its like.
const NAMED: [(&str, &[(char, char)]); 14] = [
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("ascii", &[('\0', '\x7f')]),
    ("blank", &[('\t', '\t'), (' ', ' ')]),
    ("cntrl", &[('\0', '\x1f'), ('\x7f', '\x7f')]),
    ("digit", DIGITS),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[('\t', '\r'), (' ', ' ')]),
    ("upper", &[('A', 'Z')]),
    ("word", WORDS),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn fail<T>(&self, why: &str, part: &str) -> Result<T, String> {
        Err(format!("error parsing regexp: {why}: `{part}`"))
    }

    fn part(&self, from: usize) -> String {
        self.chars.get(from..self.at.min(self.chars.len())).unwrap_or_default().iter().collect()
    }

    fn alternatives(&mut self) -> Result<Vec<Vec<Node>>, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.fail("expression nests too deeply", self.text);
        }
        let mut all = vec![Vec::new()];
        while let Some(c) = self.peek() {
            if c == ')' {
                break;
            }
            if c == '|' {
                self.at += 1;
                all.push(Vec::new());
                continue;
            }
            let start = self.at;
            if let Some(node) = self.atom()? {
                let node = self.repeated(node, start)?;
                if let Some(last) = all.last_mut() {
                    last.push(node);
                }
            }
        }
        self.depth -= 1;
        Ok(all)
    }

    fn repeated(&mut self, mut node: Node, _start: usize) -> Result<Node, String> {
        let mut before: Option<usize> = None;
        loop {
            let from = self.at;
            let (least, most) = match self.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => match self.counted()? {
                    Some(counts) => counts,
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            if self.at == from {
                self.at += 1;
            }
            let lazy = self.take('?');
            if let Some(before) = before {
                let part = self.part(before);
                return self.fail("invalid nested repetition operator", &part);
            }
            before = Some(from);
            node = Node::Repeat(Box::new(node), least, most, lazy == self.flags.lazy);
        }
    }

    /// `{2}`, `{2,}`, `{2,3}`; anything else is text.
    fn counted(&mut self) -> Result<Option<(u32, Option<u32>)>, String> {
        let from = self.at;
        let rest: String = self.chars.iter().skip(from + 1).take_while(|c| **c != '}').collect();
        let closed = self.chars.get(from + 1 + rest.chars().count()) == Some(&'}');
        let (least, most) = match rest.split_once(',') {
            None => (rest.as_str(), Some(rest.as_str())),
            Some((least, "")) => (least, None),
            Some((least, most)) => (least, Some(most)),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !closed || !digits(least) || !most.is_none_or(digits) {
            return Ok(None);
        }
        self.at += rest.chars().count() + 2;
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= REPEAT);
        match (number(least), most.map(number)) {
            (Some(least), None) => Ok(Some((least, None))),
            (Some(least), Some(Some(most))) if least <= most => Ok(Some((least, Some(most)))),
            _ => {
                let part = self.part(from);
                self.fail("invalid repeat count", &part)
            }
        }
    }

    fn atom(&mut self) -> Result<Option<Node>, String> {
        let from = self.at;
        let Some(c) = self.peek() else { return Ok(None) };
        self.at += 1;
        Ok(Some(match c {
            '.' => Node::Any(self.flags.dot_all),
            '^' => Node::Begin(self.flags.multi_line),
            '$' => Node::End(self.flags.multi_line),
            '[' => Node::Class(self.class(from)?),
            '(' => return self.group(),
            '*' | '+' | '?' => {
                self.take('?');
                let part = self.part(from);
                return self.fail("missing argument to repetition operator", &part);
            }
            '{' => {
                self.at = from;
                if self.counted()?.is_some() {
                    let part = self.part(from);
                    return self.fail("missing argument to repetition operator", &part);
                }
                self.at = from + 1;
                Node::Char('{')
            }
            '\\' => return self.escape(from).map(Some),
            c => Node::Char(c),
        }))
    }

    fn group(&mut self) -> Result<Option<Node>, String> {
        let outer = self.flags;
        if self.take('?') {
            let from = self.at.saturating_sub(2);
            let named = self.take('P');
            if self.take('<') {
                while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                if !self.take('>') {
                    self.at = self.chars.len().min(self.at + 1);
                    let part = self.part(from);
                    return self.fail("invalid named capture", &part);
                }
            } else {
                let mut on = true;
                loop {
                    match self.peek().filter(|_| !named) {
                        Some('i') => {
                            self.flags.fold = on;
                            self.fold |= on;
                        }
                        Some('m') => self.flags.multi_line = on,
                        Some('s') => self.flags.dot_all = on,
                        Some('U') => self.flags.lazy = on,
                        Some('-') => on = false,
                        Some(':') => {
                            self.at += 1;
                            break;
                        }
                        Some(')') => {
                            self.at += 1;
                            return Ok(None);
                        }
                        _ => {
                            self.at = self.chars.len().min(self.at + 1);
                            let part = self.part(from);
                            return self.fail("invalid or unsupported Perl syntax", &part);
                        }
                    }
                    self.at += 1;
                }
            }
        }
        let inner = self.alternatives()?;
        if !self.take(')') {
            return self.fail("missing closing )", self.text);
        }
        self.flags = outer;
        Ok(Some(Node::Group(inner)))
    }

    fn escape(&mut self, from: usize) -> Result<Node, String> {
        let Some(c) = self.peek() else { return self.fail("trailing backslash at end of expression", "") };
        self.at += 1;
        let class = |ranges: &[(char, char)], negated| Node::Class(Class { ranges: ranges.to_vec(), negated });
        Ok(match c {
            'd' | 'D' => class(DIGITS, c == 'D'),
            'w' | 'W' => class(WORDS, c == 'W'),
            's' | 'S' => class(SPACES, c == 'S'),
            'b' => Node::Word(true),
            'B' => Node::Word(false),
            'A' => Node::Begin(false),
            'z' => Node::End(false),
            'p' | 'P' => Node::Class(self.property(c == 'P', from)?),
            'Q' => {
                let mut nodes = Vec::new();
                while let Some(c) = self.peek() {
                    self.at += 1;
                    if c == '\\' && self.take('E') {
                        break;
                    }
                    nodes.push(Node::Char(c));
                }
                Node::Group(vec![nodes])
            }
            c => Node::Char(self.escaped(c, from)?),
        })
    }

    /// A character after a backslash.
    fn escaped(&mut self, c: char, from: usize) -> Result<char, String> {
        Ok(match c {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => {
                let braced = self.take('{');
                let mut digits = String::new();
                while let Some(d) = self.peek().filter(|d| d.is_ascii_hexdigit() && (braced || digits.len() < 2)) {
                    digits.push(d);
                    self.at += 1;
                }
                let closed = !braced || self.take('}');
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| closed).and_then(char::from_u32);
                match code {
                    Some(c) => c,
                    None => {
                        let part = self.part(from);
                        return self.fail("invalid escape sequence", &part);
                    }
                }
            }
            '0' => '\0',
            c if c.is_ascii_punctuation() || !c.is_ascii() => c,
            _ => {
                let part = self.part(from);
                return self.fail("invalid escape sequence", &part);
            }
        })
    }

    /// `\pL`, `\p{Lu}`: the general categories that are asked for.
    fn property(&mut self, negated: bool, from: usize) -> Result<Class, String> {
        let name: String = if self.take('{') {
            let name: String = self.chars.iter().skip(self.at).take_while(|c| **c != '}').collect();
            self.at = (self.at + name.chars().count() + 1).min(self.chars.len());
            name
        } else {
            let c = self.peek().map(String::from).unwrap_or_default();
            self.at += 1;
            c
        };
        let upper = ('\u{c0}', '\u{de}');
        let ranges: &[(char, char)] = match name.as_str() {
            "L" => &[('A', 'Z'), ('a', 'z'), ('\u{aa}', '\u{aa}'), ('\u{b5}', '\u{b5}'), ('\u{c0}', '\u{10ffff}')],
            "Lu" => &[('A', 'Z'), upper],
            "Ll" => &[('a', 'z'), ('\u{df}', '\u{ff}')],
            "N" | "Nd" => DIGITS,
            "P" => &[
                ('!', '#'),
                ('%', '*'),
                (',', '/'),
                (':', ';'),
                ('?', '@'),
                ('[', ']'),
                ('_', '_'),
                ('{', '{'),
                ('}', '}'),
            ],
            "Z" | "Zs" => &[(' ', ' '), ('\u{a0}', '\u{a0}')],
            _ => {
                let part = self.part(from);
                return self.fail("invalid character class range", &part);
            }
        };
        Ok(Class { ranges: ranges.to_vec(), negated })
    }

    fn class(&mut self, from: usize) -> Result<Class, String> {
        let mut class = Class { ranges: Vec::new(), negated: self.take('^') };
        let mut first = true;
        loop {
            let Some(c) = self.peek() else {
                self.at = self.chars.len();
                let part = self.part(from);
                return self.fail("missing closing ]", &part);
            };
            let item = self.at;
            self.at += 1;
            if c == ']' && !first {
                return Ok(class);
            }
            first = false;
            if c == '[' && self.peek() == Some(':') {
                let rest: String = self.chars.iter().skip(self.at + 1).take_while(|c| **c != ']').collect();
                if let Some(name) = rest.strip_suffix(':') {
                    self.at += rest.chars().count() + 2;
                    let (negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
                    match NAMED.iter().find(|(n, _)| *n == name) {
                        Some((_, ranges)) => add(&mut class.ranges, ranges, negated),
                        None => {
                            let part = self.part(item);
                            return self.fail("invalid character class range", &part);
                        }
                    }
                    continue;
                }
            }
            let low = if c == '\\' {
                let Some(c) = self.peek() else { return self.fail("trailing backslash at end of expression", "") };
                self.at += 1;
                match c {
                    'd' | 'D' => {
                        add(&mut class.ranges, DIGITS, c == 'D');
                        continue;
                    }
                    'w' | 'W' => {
                        add(&mut class.ranges, WORDS, c == 'W');
                        continue;
                    }
                    's' | 'S' => {
                        add(&mut class.ranges, SPACES, c == 'S');
                        continue;
                    }
                    'p' | 'P' => {
                        let property = self.property(false, item)?;
                        add(&mut class.ranges, &property.ranges, c == 'P');
                        continue;
                    }
                    c => self.escaped(c, item)?,
                }
            } else {
                c
            };
            let mut high = low;
            if self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']') {
                self.at += 1;
                let Some(c) = self.peek() else { continue };
                self.at += 1;
                high = c;
                if c == '\\' {
                    let Some(c) = self.peek() else { return self.fail("trailing backslash at end of expression", "") };
                    self.at += 1;
                    high = self.escaped(c, item)?;
                }
                if high < low {
                    let part = self.part(item);
                    return self.fail("invalid character class range", &part);
                }
            }
            class.ranges.push((low, high));
        }
    }
}

/// Adds ranges, or all that is outside of them, which are sorted.
fn add(to: &mut Vec<(char, char)>, ranges: &[(char, char)], negated: bool) {
    if !negated {
        to.extend_from_slice(ranges);
        return;
    }
    let mut low = '\0';
    for (a, b) in ranges {
        let before = char::from_u32((*a as u32).wrapping_sub(1));
        if let Some(before) = before.filter(|before| low <= *before) {
            to.push((low, before));
        }
        low = char::from_u32(*b as u32 + 1).unwrap_or('\u{10ffff}');
    }
    to.push((low, '\u{10ffff}'));
}
