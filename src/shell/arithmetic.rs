//! `$(( ))`: C's integer expressions on 64 bits that wrap.

use std::collections::BTreeMap;

/// Works out an expression; assignments change `variables`.
pub fn evaluate(text: &str, variables: &mut BTreeMap<String, String>) -> Result<i64, String> {
    let mut parser = Arithmetic { chars: text.chars().collect(), at: 0, variables, depth: 0 };
    let value = parser.ternary()?;
    parser.blanks();
    if parser.at < parser.chars.len() {
        let rest: String = parser.chars.get(parser.at..).unwrap_or_default().iter().collect();
        return Err(format!("{text}: syntax error in expression (error token is \"{rest}\")"));
    }
    Ok(value)
}

struct Arithmetic<'a> {
    chars: Vec<char>,
    at: usize,
    variables: &'a mut BTreeMap<String, String>,
    depth: usize,
}

/// Binary operators by rising precedence; longer spellings first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Arithmetic<'_> {
    fn blanks(&mut self) {
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
    }
    fn eat(&mut self, token: &str) -> bool {
        self.blanks();
        let fits = token.chars().enumerate().all(|(i, c)| self.chars.get(self.at + i) == Some(&c));
        if fits {
            self.at += token.len();
        }
        fits
    }
    fn ternary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 100 {
            return Err("expression recursion level exceeded".into());
        }
        let condition = self.binary(0)?;
        let value = if self.eat("?") {
            let yes = self.ternary()?;
            if !self.eat(":") {
                return Err("`:' expected for conditional expression".into());
            }
            let no = self.ternary()?;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }
    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.blanks();
        let found = LEVELS.get(level)?.iter().find(|op| {
            let here = self.chars.get(self.at..).unwrap_or_default();
            let fits = op.chars().enumerate().all(|(i, c)| here.get(i) == Some(&c));
            // `&` is not the start of `&&`, nor `<` of `<<`.
            let next = here.get(op.len());
            fits && !(op.len() == 1 && "&|<>".contains(**op) && next.is_some_and(|c| op.starts_with(*c)))
                && !(op.len() == 1 && next == Some(&'=') && !"<>".contains(**op))
        })?;
        self.at += found.len();
        Some(found)
    }
    fn binary(&mut self, level: usize) -> Result<i64, String> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            let right = self.binary(level + 1)?;
            let shift = u32::try_from(right & 63).unwrap_or(0);
            left = match op {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "<<" => left.wrapping_shl(shift),
                ">>" => left.wrapping_shr(shift),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                _ if right == 0 => return Err("division by 0 (error token is \"0\")".into()),
                "/" => left.wrapping_div(right),
                _ => left.wrapping_rem(right),
            };
        }
        Ok(left)
    }
    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 100 {
            return Err("expression recursion level exceeded".into());
        }
        let value = if self.eat("++") || self.eat("--") {
            Err("assignment requires lvalue".into())
        } else if self.eat("-") {
            self.unary().map(i64::wrapping_neg)
        } else if self.eat("+") {
            self.unary()
        } else if self.eat("!") {
            self.unary().map(|v| i64::from(v == 0))
        } else if self.eat("~") {
            self.unary().map(|v| !v)
        } else if self.eat("(") {
            let value = self.ternary()?;
            if self.eat(")") { Ok(value) } else { Err("missing `)'".into()) }
        } else {
            self.operand()
        };
        self.depth -= 1;
        value
    }
    fn operand(&mut self) -> Result<i64, String> {
        self.blanks();
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let word: String = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
        self.at += word.len();
        if word.is_empty() {
            return Err("syntax error: operand expected".into());
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&word).ok_or(format!("{word}: value too great for base"));
        }
        let value = |variables: &BTreeMap<String, String>| {
            variables.get(&word).map_or(Some(0), |v| if v.trim().is_empty() { Some(0) } else { number(v.trim()) })
        };
        let current = value(self.variables).ok_or(format!("{word}: not a number"))?;
        for op in ["+=", "-=", "*=", "/=", "%=", "++", "--"] {
            if self.eat(op) {
                let step = op.starts_with("++") || op.starts_with("--");
                let by = if step { 1 } else { self.ternary()? };
                let next = match op.chars().next() {
                    Some('+') => current.wrapping_add(by),
                    Some('-') => current.wrapping_sub(by),
                    Some('*') => current.wrapping_mul(by),
                    _ if by == 0 => return Err("division by 0 (error token is \"0\")".into()),
                    Some('/') => current.wrapping_div(by),
                    _ => current.wrapping_rem(by),
                };
                self.variables.insert(word, next.to_string());
                return Ok(if step { current } else { next });
            }
        }
        self.blanks();
        if self.chars.get(self.at) == Some(&'=') && self.chars.get(self.at + 1) != Some(&'=') {
            self.at += 1;
            let next = self.ternary()?;
            self.variables.insert(word, next.to_string());
            return Ok(next);
        }
        Ok(current)
    }
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
    let value = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        i64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8).ok()?
    } else {
        digits.parse().ok()?
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_give_what_c_gives() {
        let mut variables = BTreeMap::from([("n".to_string(), "5".to_string())]);
        for (text, value) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("n % 3 == 2 && 1", 1),
            ("n > 3 ? 10 : 20", 10),
            ("-n + 0x10 - 010", 3),
            ("1 << 3 | 1", 9),
            ("!0 + ~0", 0),
            ("n += 2", 7),
            ("n++ + n", 15),
            ("unset + 1", 1),
            ("7 <= 7", 1),
        ] {
            assert_eq!(evaluate(text, &mut variables), Ok(value), "{text}");
        }
        assert!(evaluate("1 / 0", &mut variables).unwrap_err().starts_with("division by 0"));
        assert!(evaluate("1 +", &mut variables).is_err());
        assert!(evaluate(&"(".repeat(10_000), &mut variables).is_err());
    }
}
