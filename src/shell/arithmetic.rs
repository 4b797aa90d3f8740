//! `$(( ))`: C's integer expressions on 64 bits that wrap.

use std::collections::BTreeMap;

/// Works out an expression; assignments change `variables`.
pub fn evaluate(text: &str, variables: &mut BTreeMap<String, String>) -> Result<i64, String> {
    let mut parser = Arithmetic { chars: text.chars().collect(), at: 0, variables, depth: 0, passed_over: false };
    let value = parser.list()?;
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
    /// Read but not done: the side of `&&`, `||` or `?:` that isn't taken.
    passed_over: bool,
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
    /// `a, b`: the last counts.
    fn list(&mut self) -> Result<i64, String> {
        let mut value = self.ternary()?;
        while self.eat(",") {
            value = self.ternary()?;
        }
        Ok(value)
    }
    /// Reads a part that is done only if `taken`.
    fn part(&mut self, taken: bool, read: impl FnOnce(&mut Self) -> Result<i64, String>) -> Result<i64, String> {
        let before = self.passed_over;
        self.passed_over = before || !taken;
        let value = read(self);
        self.passed_over = before;
        value
    }
    fn assign(&mut self, name: String, value: i64) {
        if !self.passed_over {
            self.variables.insert(name, value.to_string());
        }
    }
    fn by_zero(&self) -> Result<i64, String> {
        if self.passed_over { Ok(0) } else { Err("division by 0 (error token is \"0\")".into()) }
    }
    fn calculate(&self, op: &str, left: i64, right: i64) -> Result<i64, String> {
        let shift = u32::try_from(right & 63).unwrap_or(0);
        Ok(match op {
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
            _ if right == 0 => return self.by_zero(),
            "/" => left.wrapping_div(right),
            _ => left.wrapping_rem(right),
        })
    }
    fn ternary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 100 {
            return Err("expression recursion level exceeded".into());
        }
        let condition = self.binary(0)?;
        let value = if self.eat("?") {
            let yes = self.part(condition != 0, Self::ternary)?;
            if !self.eat(":") {
                return Err("`:' expected for conditional expression".into());
            }
            let no = self.part(condition == 0, Self::ternary)?;
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
            // `&` is not the start of `&&`, nor `<` of `<<`, nor `*` of `**`.
            let next = here.get(op.len());
            fits && !(op.len() == 1 && "&|<>*".contains(**op) && next.is_some_and(|c| op.starts_with(*c)))
                && !(next == Some(&'=') && (matches!(**op, "<<" | ">>") || op.len() == 1 && !"<>".contains(**op)))
        })?;
        self.at += found.len();
        Some(found)
    }
    fn binary(&mut self, level: usize) -> Result<i64, String> {
        if level == LEVELS.len() {
            return self.power();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            let taken = !(op == "&&" && left == 0 || op == "||" && left != 0);
            let right = self.part(taken, |parser| parser.binary(level + 1))?;
            left = self.calculate(op, left, right)?;
        }
        Ok(left)
    }
    /// `**`, which binds to the right.
    fn power(&mut self) -> Result<i64, String> {
        let base = self.unary()?;
        if !self.eat("**") {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > 100 {
            return Err("expression recursion level exceeded".into());
        }
        let exponent = self.power()?;
        self.depth -= 1;
        match u64::try_from(exponent) {
            Ok(exponent) => Ok(wrapping_pow(base, exponent)),
            Err(_) if self.passed_over => Ok(0),
            Err(_) => Err("exponent less than 0".into()),
        }
    }
    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 100 {
            return Err("expression recursion level exceeded".into());
        }
        let value = if let Some(by) = self.step() {
            self.stepped(by)
        } else if self.eat("-") {
            self.unary().map(i64::wrapping_neg)
        } else if self.eat("+") {
            self.unary()
        } else if self.eat("!") {
            self.unary().map(|v| i64::from(v == 0))
        } else if self.eat("~") {
            self.unary().map(|v| !v)
        } else if self.eat("(") {
            let value = self.list()?;
            if self.eat(")") { Ok(value) } else { Err("missing `)'".into()) }
        } else {
            self.operand()
        };
        self.depth -= 1;
        value
    }
    fn step(&mut self) -> Option<i64> {
        if self.eat("++") {
            Some(1)
        } else if self.eat("--") {
            Some(-1)
        } else {
            None
        }
    }
    /// `++x`; before anything else than a name the signs are signs.
    fn stepped(&mut self, by: i64) -> Result<i64, String> {
        self.blanks();
        if !self.chars.get(self.at).is_some_and(|c| c.is_ascii_alphabetic() || *c == '_') {
            return self.unary();
        }
        let name = self.word();
        let next = self.variable(&name)?.wrapping_add(by);
        self.assign(name, next);
        Ok(next)
    }
    fn word(&mut self) -> String {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let word: String =
            rest.iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | '@')).collect();
        self.at += word.len();
        word
    }
    fn variable(&self, name: &str) -> Result<i64, String> {
        match self.variables.get(name).map(|value| value.trim()) {
            None | Some("") => Ok(0),
            Some(value) => number(value).ok_or(format!("{name}: not a number")),
        }
    }
    fn operand(&mut self) -> Result<i64, String> {
        self.blanks();
        let word = self.word();
        if word.is_empty() {
            return Err("syntax error: operand expected".into());
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&word).ok_or(format!("{word}: value too great for base"));
        }
        let current = self.variable(&word)?;
        if let Some(by) = self.step() {
            self.assign(word, current.wrapping_add(by));
            return Ok(current);
        }
        for op in ["+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="] {
            if self.eat(op) {
                let by = self.ternary()?;
                let next = self.calculate(op.trim_end_matches('='), current, by)?;
                self.assign(word, next);
                return Ok(next);
            }
        }
        self.blanks();
        if self.chars.get(self.at) == Some(&'=') && self.chars.get(self.at + 1) != Some(&'=') {
            self.at += 1;
            let next = self.ternary()?;
            self.assign(word, next);
            return Ok(next);
        }
        Ok(current)
    }
}

/// A whole number as C's `strtol` reads it: `12`, `0x1f`, `017`.
pub fn literal(text: &str) -> Option<i64> {
    if text.contains(['#', '@', '_']) { None } else { number(text.strip_prefix('+').unwrap_or(text)) }
}

/// By squaring, so that a great exponent costs no more than its bits.
fn wrapping_pow(mut base: i64, mut exponent: u64) -> i64 {
    let mut power = 1_i64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

/// A number as bash reads it: `0x1f`, `017`, `2#101`; what is too wide wraps.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
    let (base, digits) = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        (16, hex)
    } else if let Some((base, digits)) = digits.split_once('#') {
        (base.parse().ok().filter(|base| (2..=64).contains(base))?, digits)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, digits)
    } else {
        (10, digits)
    };
    let mut value = 0_i64;
    for c in digits.chars() {
        let digit = match c {
            '0'..='9' => i64::from(c as u32 - u32::from('0')),
            'a'..='z' => i64::from(c as u32 - u32::from('a')) + 10,
            // Up to base 36 the letters' case doesn't matter.
            'A'..='Z' if base <= 36 => i64::from(c as u32 - u32::from('A')) + 10,
            'A'..='Z' => i64::from(c as u32 - u32::from('A')) + 36,
            '@' => 62,
            '_' => 63,
            _ => return None,
        };
        if digit >= base {
            return None;
        }
        value = value.wrapping_mul(base).wrapping_add(digit);
    }
    if digits.is_empty() {
        return None;
    }
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
            ("2 ** 9 + 2**3**2", 1024),
            ("-2**2", 4),
            ("3**40", -6289078614652622815),
            ("-9223372036854775808 / -1", i64::MIN),
            ("1, 2", 2),
            ("++n + n", 18),
            ("n <<= 2", 36),
            ("n ^= 1", 37),
            ("0 && (n = 1)", 0),
            ("1 || 1 / 0", 1),
            ("1 ? n : (n = 0)", 37),
            ("2#101 + 36#zz", 1300),
            ("- -3 + + +4", 7),
        ] {
            assert_eq!(evaluate(text, &mut variables), Ok(value), "{text}");
        }
        assert!(evaluate("1 / 0", &mut variables).unwrap_err().starts_with("division by 0"));
        assert_eq!(evaluate("2 ** -1", &mut variables), Err("exponent less than 0".to_string()));
        assert!(evaluate("1 +", &mut variables).is_err());
        assert!(evaluate(&"2**".repeat(10_000), &mut variables).is_err());
        assert!(evaluate(&"(".repeat(10_000), &mut variables).is_err());
    }
}
