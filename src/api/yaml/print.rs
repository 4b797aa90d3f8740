//! Values to YAML, as go-yaml v2's emitter prints what sigs.k8s.io/yaml gives it: block style, keys in natural order,
//! lines of scalars folded behind column 80.
use super::decode::go_g;
use super::scalar::{Scalar, base60, resolve};
use crate::SortSmall;
use crate::json::Value;
use std::cmp::Ordering;

/// The YAML text of a value, ending with a line feed.
pub fn print(v: &Value) -> String {
    let mut p = Printer { out: String::new(), column: 0, whitespace: true, indention: true, indent: -1 };
    p.node(v, Context::Root);
    p.write_indent();
    p.out
}

const BEST_WIDTH: usize = 80;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    Value,
    Key,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

struct Printer {
    out: String,
    column: usize,
    /// The last character was white space.
    whitespace: bool,
    /// Nothing but indention and indicators stands on the line.
    indention: bool,
    indent: i32,
}

impl Printer {
    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }
    fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }
    fn write_break(&mut self, c: char) {
        if c == '\n' {
            self.put_break();
        } else {
            self.out.push(c);
            self.column = 0;
        }
    }
    fn write_indent(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }
    fn indicator(&mut self, s: &str, need_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        for c in s.chars() {
            self.put(c);
        }
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }
    fn increase_indent(&mut self, flow: bool, indentless: bool) -> i32 {
        let before = self.indent;
        if self.indent < 0 {
            self.indent = if flow { 2 } else { 0 };
        } else if !indentless {
            self.indent += 2;
        }
        before
    }

    fn node(&mut self, v: &Value, context: Context) {
        match v {
            Value::Null => self.scalar("null", Style::Plain, context),
            Value::Bool(b) => self.scalar(if *b { "true" } else { "false" }, Style::Plain, context),
            Value::Int(i) => self.scalar(&i.to_string(), Style::Plain, context),
            Value::Float(f) => self.scalar(&float(*f), Style::Plain, context),
            Value::Str(s) => self.string(s, context),
            Value::Array(a) if a.is_empty() => self.empty("[", "]"),
            Value::Object(m) if m.is_empty() => self.empty("{", "}"),
            Value::Array(a) => {
                let before = self.increase_indent(false, context == Context::Value && !self.indention);
                for item in a {
                    self.write_indent();
                    self.indicator("-", true, false, true);
                    self.node(item, Context::Item);
                }
                self.indent = before;
            }
            Value::Object(m) => {
                let before = self.increase_indent(false, false);
                let mut entries: Vec<_> = m.iter().collect();
                entries.sort_small_by(|a, b| natural(&a.0, &b.0));
                for (k, v) in entries {
                    self.write_indent();
                    if k.len() <= 128 && !k.contains(is_break) {
                        self.string(k, Context::Key);
                        self.indicator(":", false, false, false);
                    } else {
                        self.indicator("?", true, false, true);
                        self.string(k, Context::Value);
                        self.write_indent();
                        self.indicator(":", true, false, true);
                    }
                    self.node(v, Context::Value);
                }
                self.indent = before;
            }
        }
    }
    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }
    fn string(&mut self, s: &str, context: Context) {
        let style = if s.contains('\n') {
            Style::Literal
        } else if resolve(s) == Scalar::Str && !base60(s) {
            Style::Plain
        } else {
            Style::Double
        };
        self.scalar(s, style, context);
    }
    fn scalar(&mut self, s: &str, style: Style, context: Context) {
        let style = Analysis::of(s).choose(style, s, context);
        let before = self.increase_indent(true, false);
        let breaks = context != Context::Key;
        match style {
            Style::Plain => self.plain(s, breaks),
            Style::Single => self.single(s, breaks),
            Style::Double => self.double(s, breaks),
            Style::Literal => self.literal(s),
        }
        self.indent = before;
    }
    fn plain(&mut self, s: &str, allow_breaks: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        let mut spaces = false;
        let mut chars = s.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                if allow_breaks && !spaces && self.column > BEST_WIDTH && chars.peek() != Some(&' ') {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                self.indention = false;
                spaces = false;
            }
        }
        self.whitespace = false;
        self.indention = false;
    }
    fn single(&mut self, s: &str, allow_breaks: bool) {
        self.indicator("'", true, false, false);
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = s.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            if c == ' ' {
                let inside = !first && chars.peek().is_some_and(|n| *n != ' ');
                if allow_breaks && !spaces && self.column > BEST_WIDTH && inside {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
            first = false;
        }
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }
    fn double(&mut self, s: &str, allow_breaks: bool) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let mut chars = s.chars().peekable();
        let mut first = true;
        let bom = s.starts_with('\u{feff}');
        while let Some(c) = chars.next() {
            if !printable(c) || bom || is_break(c) || c == '"' || c == '\\' {
                self.escape(c);
                spaces = false;
            } else if c == ' ' {
                let next = chars.peek();
                if allow_breaks && !spaces && self.column > BEST_WIDTH && !first && next.is_some() {
                    self.write_indent();
                    if next == Some(&' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
            first = false;
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }
    fn escape(&mut self, c: char) {
        self.put('\\');
        let short = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            c => {
                let v = c as u32;
                let text = match v {
                    0..=0xff => format!("x{v:02X}"),
                    0x100..=0xffff => format!("u{v:04X}"),
                    _ => format!("U{v:08X}"),
                };
                text.chars().for_each(|c| self.put(c));
                return;
            }
        };
        self.put(short);
    }
    fn literal(&mut self, s: &str) {
        self.indicator("|", true, false, false);
        if s.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator("2", false, false, false);
        }
        let mut back = s.chars().rev();
        match (back.next().is_some_and(is_break), back.next()) {
            (false, _) => self.indicator("-", false, false, false),
            (true, None) => self.indicator("+", false, false, false),
            (true, Some(c)) if is_break(c) => self.indicator("+", false, false, false),
            _ => {}
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for c in s.chars() {
            if is_break(c) {
                self.write_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                self.put(c);
                self.indention = false;
                breaks = false;
            }
        }
    }
}

fn float(v: f64) -> String {
    match go_g(v).as_str() {
        "+Inf" => ".inf".to_string(),
        "-Inf" => "-.inf".to_string(),
        "NaN" => ".nan".to_string(),
        s => s.to_string(),
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
/// go-yaml's `is_printable`; beyond the basic plane nothing is.
fn printable(c: char) -> bool {
    matches!(c as u32, 0x0a | 0x20..=0x7e | 0xa0..=0xd7ff | 0xe000..=0xfffd) && c != '\u{feff}'
}

/// What a scalar's text allows.
struct Analysis {
    multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

impl Analysis {
    fn of(s: &str) -> Analysis {
        if s.is_empty() {
            return Analysis { multiline: false, plain: true, single: true, block: false };
        }
        let mut a = Analysis { multiline: false, plain: true, single: true, block: true };
        let mut indicators = s.starts_with("---") || s.starts_with("...");
        let (mut special, mut space_break, mut break_space) = (false, false, false);
        let (mut previous_space, mut previous_break) = (false, false);
        let mut preceded_by_whitespace = true;
        let mut chars = s.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            let next = chars.peek();
            let followed_by_whitespace = next.is_none_or(|n| matches!(n, ' ' | '\t'));
            indicators |= match c {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`'
                    if first =>
                {
                    true
                }
                '?' | '-' if first => followed_by_whitespace,
                ':' => followed_by_whitespace,
                '#' => preceded_by_whitespace,
                _ => false,
            };
            special |= !printable(c);
            let last = next.is_none();
            if c == ' ' {
                a.plain &= !(first || last);
                a.block &= !last;
                break_space |= previous_break;
                previous_space = true;
                previous_break = false;
            } else if is_break(c) {
                a.multiline = true;
                a.plain &= !(first || last);
                space_break |= previous_space;
                previous_space = false;
                previous_break = true;
            } else {
                previous_space = false;
                previous_break = false;
            }
            preceded_by_whitespace = matches!(c, ' ' | '\t' | '\0') || is_break(c);
            first = false;
        }
        if break_space {
            a.plain = false;
            a.single = false;
        }
        if space_break || special {
            a.plain = false;
            a.single = false;
            a.block = false;
        }
        a.plain &= !a.multiline && !indicators;
        a
    }
    fn choose(&self, mut style: Style, s: &str, context: Context) -> Style {
        let key = context == Context::Key;
        if key && self.multiline {
            style = Style::Double;
        }
        if style == Style::Plain && (!self.plain || s.is_empty() && key) {
            style = Style::Single;
        }
        if style == Style::Single && !self.single {
            style = Style::Double;
        }
        if style == Style::Literal && (!self.block || key) {
            style = Style::Double;
        }
        style
    }
}

/// go-yaml's order of keys: letters by code point, behind everything else; runs of digits by number.
fn natural(a: &str, b: &str) -> Ordering {
    let differ = a.char_indices().zip(b.chars()).find(|((_, p), q)| p != q);
    let Some(((at, p), q)) = differ else { return a.len().cmp(&b.len()) };
    match (p.is_alphabetic(), q.is_alphabetic()) {
        (true, true) => return p.cmp(&q),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        _ => {}
    }
    // What comes before is the same in both.
    let before = a.get(..at).unwrap_or("").chars().rev().take_while(char::is_ascii_digit);
    let carry = i64::from((p == '0' || q == '0') && before.into_iter().any(|c| c != '0'));
    let run = |s: &str| {
        s.get(at..)
            .unwrap_or("")
            .chars()
            .map_while(|c| c.to_digit(10))
            .fold((carry, 0), |(n, len), d| (n.wrapping_mul(10).wrapping_add(i64::from(d)), len + 1))
    };
    run(a).cmp(&run(b)).then(p.cmp(&q))
}
