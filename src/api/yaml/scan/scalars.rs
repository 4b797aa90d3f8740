//! Block, quoted and plain scalars.
use super::{Mark, Scan, Scanner, TokenKind, is_blank, is_blankz, is_break, is_breakz};

impl Scanner {
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Scan<()> {
        let start = self.mark;
        self.advance();
        self.cache(1)?;
        let (mut chomping, mut increment) = (0, 0);
        let sign = |c: char| if c == '+' { 1 } else { -1 };
        if matches!(self.at(0), '+' | '-') {
            chomping = sign(self.at(0));
            self.advance();
            self.cache(1)?;
            if self.at(0).is_ascii_digit() {
                increment = self.indentation(start)?;
            }
        } else if self.at(0).is_ascii_digit() {
            increment = self.indentation(start)?;
            self.cache(1)?;
            if matches!(self.at(0), '+' | '-') {
                chomping = sign(self.at(0));
                self.advance();
            }
        }
        self.skip_blanks()?;
        self.skip_comment()?;
        if !is_breakz(self.at(0)) {
            return self.fail(start, "did not find expected comment or line break");
        }
        if is_break(self.at(0)) {
            self.cache(2)?;
            self.skip_line();
        }
        let mut end = self.mark;
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let (mut s, mut leading_break, mut trailing_breaks) = (String::new(), String::new(), String::new());
        self.block_scalar_breaks(&mut indent, &mut trailing_breaks, start, &mut end)?;
        self.cache(1)?;
        let mut leading_blank = false;
        while self.column() == indent && self.at(0) != '\0' {
            let trailing_blank = is_blank(self.at(0));
            if !literal && !leading_blank && !trailing_blank && leading_break.starts_with('\n') {
                if trailing_breaks.is_empty() {
                    s.push(' ');
                }
            } else {
                s.push_str(&leading_break);
            }
            leading_break.clear();
            s.push_str(&trailing_breaks);
            trailing_breaks.clear();
            leading_blank = is_blank(self.at(0));
            while !is_breakz(self.at(0)) {
                self.read(&mut s);
                self.cache(1)?;
            }
            self.cache(2)?;
            self.read_line(&mut leading_break);
            self.block_scalar_breaks(&mut indent, &mut trailing_breaks, start, &mut end)?;
        }
        if chomping != -1 {
            s.push_str(&leading_break);
        }
        if chomping == 1 {
            s.push_str(&trailing_breaks);
        }
        self.tokens.push_back(super::Token { kind: TokenKind::Scalar(s, false), start, end });
        Ok(())
    }
    fn indentation(&mut self, start: Mark) -> Scan<i64> {
        match self.at(0).to_digit(10) {
            Some(0) | None => self.fail(start, "found an indentation indicator equal to 0"),
            Some(d) => {
                self.advance();
                Ok(i64::from(d))
            }
        }
    }
    fn block_scalar_breaks(&mut self, indent: &mut i64, breaks: &mut String, start: Mark, end: &mut Mark) -> Scan<()> {
        *end = self.mark;
        let mut max_indent = 0;
        loop {
            self.cache(1)?;
            while (*indent == 0 || self.column() < *indent) && self.at(0) == ' ' {
                self.advance();
                self.cache(1)?;
            }
            max_indent = max_indent.max(self.column());
            if (*indent == 0 || self.column() < *indent) && self.at(0) == '\t' {
                return self.fail(start, "found a tab character where an indentation space is expected");
            }
            if !is_break(self.at(0)) {
                break;
            }
            self.cache(2)?;
            self.read_line(breaks);
            *end = self.mark;
        }
        if *indent == 0 {
            *indent = max_indent.max(self.indent + 1).max(1);
        }
        Ok(())
    }

    fn at_document_indicator(&self) -> bool {
        self.mark.column == 0
            && matches!([self.at(0), self.at(1), self.at(2)], ['-', '-', '-'] | ['.', '.', '.'])
            && is_blankz(self.at(3))
    }

    pub(super) fn scan_flow_scalar(&mut self, single: bool) -> Scan<()> {
        let start = self.mark;
        self.advance();
        let quote = if single { '\'' } else { '"' };
        let mut s = String::new();
        let mut breaks = Breaks::default();
        loop {
            self.cache(4)?;
            if self.at_document_indicator() {
                return self.fail(start, "found unexpected document indicator");
            }
            if self.at(0) == '\0' {
                return self.fail(start, "found unexpected end of stream");
            }
            breaks.leading_blanks = false;
            while !is_blankz(self.at(0)) {
                let c = self.at(0);
                if single && c == '\'' && self.at(1) == '\'' {
                    s.push('\'');
                    self.advance();
                    self.advance();
                } else if c == quote {
                    break;
                } else if !single && c == '\\' && is_break(self.at(1)) {
                    self.cache(3)?;
                    self.advance();
                    self.skip_line();
                    breaks.leading_blanks = true;
                    break;
                } else if !single && c == '\\' {
                    self.escape(start, &mut s)?;
                } else {
                    self.read(&mut s);
                }
                self.cache(2)?;
            }
            self.cache(1)?;
            if self.at(0) == quote {
                break;
            }
            while is_blank(self.at(0)) || is_break(self.at(0)) {
                self.blank_or_break(&mut breaks)?;
            }
            if breaks.leading_blanks {
                breaks.fold(&mut s);
            } else {
                s.push_str(&breaks.whitespaces);
                breaks.whitespaces.clear();
            }
        }
        self.advance();
        self.push(TokenKind::Scalar(s, false), start);
        Ok(())
    }
    fn blank_or_break(&mut self, b: &mut Breaks) -> Scan<()> {
        if is_blank(self.at(0)) {
            if b.leading_blanks {
                self.advance();
            } else {
                self.read(&mut b.whitespaces);
            }
        } else {
            self.cache(2)?;
            if b.leading_blanks {
                self.read_line(&mut b.trailing);
            } else {
                b.whitespaces.clear();
                self.read_line(&mut b.leading);
                b.leading_blanks = true;
            }
        }
        self.cache(1)
    }
    fn escape(&mut self, start: Mark, s: &mut String) -> Scan<()> {
        let digits = match self.at(1) {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            c => {
                s.push(match c {
                    '0' => '\0',
                    'a' => '\x07',
                    'b' => '\x08',
                    't' | '\t' => '\t',
                    'n' => '\n',
                    'v' => '\x0b',
                    'f' => '\x0c',
                    'r' => '\r',
                    'e' => '\x1b',
                    ' ' | '"' | '\'' | '\\' => c,
                    'N' => '\u{85}',
                    '_' => '\u{a0}',
                    'L' => '\u{2028}',
                    'P' => '\u{2029}',
                    _ => return self.fail(start, "found unknown escape character"),
                });
                0
            }
        };
        self.advance();
        self.advance();
        if digits == 0 {
            return Ok(());
        }
        self.cache(digits)?;
        let mut v: u32 = 0;
        for k in 0..digits {
            match self.at(k).to_digit(16) {
                Some(d) => v = v << 4 | d,
                None => return self.fail(start, "did not find expected hexdecimal number"),
            }
        }
        match char::from_u32(v) {
            Some(c) => s.push(c),
            None => return self.fail(start, "found invalid Unicode character escape code"),
        }
        for _ in 0..digits {
            self.advance();
        }
        Ok(())
    }

    pub(super) fn scan_plain_scalar(&mut self) -> Scan<()> {
        let start = self.mark;
        let mut end = self.mark;
        let indent = self.indent + 1;
        let mut s = String::new();
        let mut breaks = Breaks::default();
        loop {
            self.cache(4)?;
            if self.at_document_indicator() || self.at(0) == '#' {
                break;
            }
            while !is_blankz(self.at(0)) {
                let c = self.at(0);
                if c == ':' && is_blankz(self.at(1))
                    || self.flow_level > 0 && matches!(c, ',' | '?' | '[' | ']' | '{' | '}')
                {
                    break;
                }
                if breaks.leading_blanks {
                    breaks.fold(&mut s);
                    breaks.leading_blanks = false;
                } else if !breaks.whitespaces.is_empty() {
                    s.push_str(&breaks.whitespaces);
                    breaks.whitespaces.clear();
                }
                self.read(&mut s);
                end = self.mark;
                self.cache(2)?;
            }
            if !(is_blank(self.at(0)) || is_break(self.at(0))) {
                break;
            }
            self.cache(1)?;
            while is_blank(self.at(0)) || is_break(self.at(0)) {
                if breaks.leading_blanks && self.column() < indent && self.at(0) == '\t' {
                    return self.fail(start, "found a tab character that violates indentation");
                }
                self.blank_or_break(&mut breaks)?;
            }
            if self.flow_level == 0 && self.column() < indent {
                break;
            }
        }
        self.tokens.push_back(super::Token { kind: TokenKind::Scalar(s, true), start, end });
        if breaks.leading_blanks {
            self.simple_key_allowed = true;
        }
        Ok(())
    }
}

/// White space inside a scalar of several lines.
#[derive(Default)]
struct Breaks {
    leading_blanks: bool,
    whitespaces: String,
    leading: String,
    trailing: String,
}
impl Breaks {
    /// One line break becomes a space, further ones stay.
    fn fold(&mut self, s: &mut String) {
        if self.leading.starts_with('\n') {
            if self.trailing.is_empty() {
                s.push(' ');
            } else {
                s.push_str(&self.trailing);
            }
        } else {
            s.push_str(&self.leading);
            s.push_str(&self.trailing);
        }
        self.leading.clear();
        self.trailing.clear();
    }
}
