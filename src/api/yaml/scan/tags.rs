//! Directives, anchors and tags.
use super::{Mark, Scan, Scanner, TokenKind, is_alpha, is_blank, is_blankz, is_break, is_breakz};

impl Scanner {
    pub(super) fn scan_directive(&mut self) -> Scan<()> {
        let start = self.mark;
        self.advance();
        let mut name = String::new();
        self.cache(1)?;
        while is_alpha(self.at(0)) {
            self.read(&mut name);
            self.cache(1)?;
        }
        if name.is_empty() {
            return self.fail(start, "could not find expected directive name");
        }
        if !is_blankz(self.at(0)) {
            return self.fail(start, "found unexpected non-alphabetical character");
        }
        let kind = match name.as_str() {
            "YAML" => {
                self.skip_blanks()?;
                let major = self.version_number(start)?;
                if self.at(0) != '.' {
                    return self.fail(start, "did not find expected digit or '.' character");
                }
                self.advance();
                TokenKind::Version(major, self.version_number(start)?)
            }
            "TAG" => {
                self.skip_blanks()?;
                let handle = self.tag_handle(true, start)?;
                self.cache(1)?;
                if !is_blank(self.at(0)) {
                    return self.fail(start, "did not find expected whitespace");
                }
                self.skip_blanks()?;
                let prefix = self.tag_uri("", start)?;
                self.cache(1)?;
                if !is_blankz(self.at(0)) {
                    return self.fail(start, "did not find expected whitespace or line break");
                }
                TokenKind::TagDirective(handle, prefix)
            }
            _ => return self.fail(start, "found unknown directive name"),
        };
        let end = self.mark;
        self.skip_blanks()?;
        self.skip_comment()?;
        if !is_breakz(self.at(0)) {
            return self.fail(start, "did not find expected comment or line break");
        }
        if is_break(self.at(0)) {
            self.cache(2)?;
            self.skip_line();
        }
        self.tokens.push_back(super::Token { kind, start, end });
        Ok(())
    }
    fn version_number(&mut self, start: Mark) -> Scan<u8> {
        self.cache(1)?;
        let (mut value, mut length) = (0u8, 0);
        while let Some(d) = self.at(0).to_digit(10) {
            length += 1;
            if length > 2 {
                return self.fail(start, "found extremely long version number");
            }
            value = value * 10 + d as u8;
            self.advance();
            self.cache(1)?;
        }
        if length == 0 {
            return self.fail(start, "did not find expected version number");
        }
        Ok(value)
    }

    pub(super) fn scan_anchor(&mut self, alias: bool) -> Scan<()> {
        let start = self.mark;
        self.advance();
        let mut name = String::new();
        self.cache(1)?;
        while is_alpha(self.at(0)) {
            self.read(&mut name);
            self.cache(1)?;
        }
        let c = self.at(0);
        if name.is_empty() || !(is_blankz(c) || matches!(c, '?' | ':' | ',' | ']' | '}' | '%' | '@' | '`')) {
            return self.fail(start, "did not find expected alphabetic or numeric character");
        }
        self.push(if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) }, start);
        Ok(())
    }

    pub(super) fn scan_tag(&mut self) -> Scan<()> {
        let start = self.mark;
        self.cache(2)?;
        let (mut handle, mut suffix) = (String::new(), String::new());
        if self.at(1) == '<' {
            self.advance();
            self.advance();
            suffix = self.tag_uri("", start)?;
            if self.at(0) != '>' {
                return self.fail(start, "did not find the expected '>'");
            }
            self.advance();
        } else {
            handle = self.tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                suffix = self.tag_uri("", start)?;
            } else {
                suffix.push_str(&self.tag_uri(&handle, start)?);
                handle = "!".to_string();
                if suffix.is_empty() {
                    std::mem::swap(&mut handle, &mut suffix);
                }
            }
        }
        self.cache(1)?;
        if !is_blankz(self.at(0)) {
            return self.fail(start, "did not find expected whitespace or line break");
        }
        self.push(TokenKind::Tag(handle, suffix), start);
        Ok(())
    }
    fn tag_handle(&mut self, directive: bool, start: Mark) -> Scan<String> {
        self.cache(1)?;
        if self.at(0) != '!' {
            return self.fail(start, "did not find expected '!'");
        }
        let mut s = String::new();
        self.read(&mut s);
        self.cache(1)?;
        while is_alpha(self.at(0)) {
            self.read(&mut s);
            self.cache(1)?;
        }
        if self.at(0) == '!' {
            self.read(&mut s);
        } else if directive && s != "!" {
            return self.fail(start, "did not find expected '!'");
        }
        Ok(s)
    }
    /// `head` is a handle that turned out to be the beginning of a suffix.
    fn tag_uri(&mut self, head: &str, start: Mark) -> Scan<String> {
        let mut bytes: Vec<u8> = head.get(1..).unwrap_or("").as_bytes().to_vec();
        let mut found = !head.is_empty();
        self.cache(1)?;
        while is_alpha(self.at(0))
            || matches!(
                self.at(0),
                ';' | '/'
                    | '?'
                    | ':'
                    | '@'
                    | '&'
                    | '='
                    | '+'
                    | '$'
                    | ','
                    | '.'
                    | '!'
                    | '~'
                    | '*'
                    | '\''
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '%'
            )
        {
            if self.at(0) == '%' {
                self.uri_escapes(start, &mut bytes)?;
            } else {
                let mut s = String::new();
                self.read(&mut s);
                bytes.extend_from_slice(s.as_bytes());
            }
            self.cache(1)?;
            found = true;
        }
        if !found {
            return self.fail(start, "did not find expected tag URI");
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
    fn uri_escapes(&mut self, start: Mark, out: &mut Vec<u8>) -> Scan<()> {
        let mut left = None;
        while left != Some(0) {
            self.cache(3)?;
            let (Some(high), Some(low), '%') = (self.at(1).to_digit(16), self.at(2).to_digit(16), self.at(0)) else {
                return self.fail(start, "did not find URI escaped octet");
            };
            let octet = (high * 16 + low) as u8;
            left = Some(match left {
                None => match octet {
                    0..=0x7f => 0,
                    0xc0..=0xdf => 1,
                    0xe0..=0xef => 2,
                    0xf0..=0xf7 => 3,
                    _ => return self.fail(start, "found an incorrect leading UTF-8 octet"),
                },
                Some(_) if octet & 0xc0 != 0x80 => {
                    return self.fail(start, "found an incorrect trailing UTF-8 octet");
                }
                Some(n) => n - 1,
            });
            out.push(octet);
            for _ in 0..3 {
                self.advance();
            }
        }
        Ok(())
    }
}
