//! `resource.Quantity`: exact decimal amounts with Go's canonical printing.
//!
//! Follows apimachinery's pkg/api/resource: amounts fit an i64 and a power of ten nearly always; the rest are decimal
//! digits of any length (decimal.rs).
mod decimal;

use super::Str;
use decimal::Decimal;
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

/// How a quantity prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// `12e6`
    #[default]
    DecimalExponent,
    /// `12Mi`
    BinarySI,
    /// `12M`
    DecimalSI,
}

/// A fixed-point number with a format, as `resource.Quantity`.
#[derive(Clone, Default)]
pub struct Quantity {
    value: i64,
    scale: i32,
    format: Format,
    /// What the common case doesn't need: the spelling that Go keeps, or an amount beyond i64.
    odd: Option<Rc<Odd>>,
}

enum Odd {
    Spelled(Str),
    Big(Decimal),
}

/// Why a text is no quantity; Display is Go's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseError {
    /// Not of the form at all.
    FormatWrong,
    /// The number is none.
    Numeric,
    /// The suffix is unknown.
    Suffix,
}
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::FormatWrong => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            ParseError::Numeric => "unable to parse numeric part of quantity",
            ParseError::Suffix => "unable to parse quantity's suffix",
        })
    }
}
impl std::error::Error for ParseError {}

const NANO: i32 = -9;
const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// (base 2 or 10, exponent, format) of a suffix.
fn interpret(suffix: &str) -> Option<(u32, i32, Format)> {
    if let Some((_, e)) = DECIMAL_SUFFIXES.iter().find(|(s, _)| *s == suffix) {
        return Some((10, *e, Format::DecimalSI));
    }
    if let Some(i) = BINARY_SUFFIXES.iter().position(|s| *s == suffix) {
        return Some((2, 10 * (i as i32 + 1), Format::BinarySI));
    }
    let digits = suffix.strip_prefix(['e', 'E']).filter(|d| !d.is_empty())?;
    // Go cuts the exponent to 32 bits.
    Some((10, digits.parse::<i64>().ok()? as i32, Format::DecimalExponent))
}

/// A text's pieces: sign, the number as written, its digits before and behind the point, the suffix.
struct Pieces<'a> {
    positive: bool,
    value: &'a str,
    num: &'a str,
    denom: &'a str,
    suffix: &'a str,
}

fn pieces(s: &str) -> Result<Pieces<'_>, ParseError> {
    let b = s.as_bytes();
    let run = |from: usize, ok: &dyn Fn(u8) -> bool| {
        from + b.get(from..).unwrap_or(&[]).iter().take_while(|c| ok(**c)).count()
    };
    let digit = |c: u8| c.is_ascii_digit();
    let cut = |a: usize, e: usize| s.get(a..e).unwrap_or("");
    let positive = b.first() != Some(&b'-');
    let start = usize::from(matches!(b.first(), Some(b'-' | b'+')));
    let zeroes = run(start, &|c| c == b'0');
    if zeroes == b.len() {
        return Ok(Pieces { positive, value: "0", num: "0", denom: "", suffix: "" });
    }
    let mut p = run(zeroes, &digit);
    let num = if p == zeroes { "0" } else { cut(zeroes, p) };
    let mut denom = "";
    if b.get(p) == Some(&b'.') {
        let end = run(p + 1, &digit);
        denom = cut(p + 1, end);
        p = end;
    }
    let value = cut(0, p);
    let mut end = run(p, &|c| b"eEinumkKMGTP".contains(&c));
    if end < b.len() {
        if matches!(b.get(end), Some(b'-' | b'+')) {
            end += 1;
        }
        end = run(end, &digit);
        if end < b.len() {
            return Err(ParseError::FormatWrong);
        }
    }
    Ok(Pieces { positive, value, num, denom, suffix: cut(p, end) })
}

impl Quantity {
    /// A whole number.
    pub const fn new(value: i64, format: Format) -> Quantity {
        Quantity { value, scale: 0, format, odd: None }
    }
    /// So many thousandths.
    pub const fn milli(value: i64, format: Format) -> Quantity {
        Quantity { value, scale: -3, format, odd: None }
    }
    /// `value * 10^scale`.
    pub const fn scaled(value: i64, scale: i32, format: Format) -> Quantity {
        Quantity { value, scale, format, odd: None }
    }

    fn big(amount: Decimal, format: Format) -> Quantity {
        Quantity { value: 0, scale: 0, format, odd: Some(Rc::new(Odd::Big(amount))) }
    }

    /// Reads a quantity as `resource.ParseQuantity` does.
    ///
    /// # Errors
    /// Go's errors.
    pub fn parse(s: &str) -> Result<Quantity, ParseError> {
        if s.is_empty() {
            return Err(ParseError::FormatWrong);
        }
        if s == "0" {
            return Ok(Quantity::new(0, Format::DecimalSI));
        }
        let p = pieces(s)?;
        let (base, exponent, mut format) = interpret(p.suffix).ok_or(ParseError::Suffix)?;
        let digits = (p.num.len() + p.denom.len()) as i64;
        let (mut scale, mut mantissa, mut precision) = (i64::from(exponent), 1i64, 18 - digits);
        if format == Format::BinarySI {
            scale = 0;
            precision = -1;
            if p.denom.is_empty() {
                mantissa <<= exponent;
                precision = 15 - p.num.len() as i64 - i64::from(exponent) * 3 / 10 - 1;
            }
        }
        scale -= p.denom.len() as i64;
        if precision >= 0 && scale >= i64::from(NANO) {
            let shifted = format!("{}{}", p.num, p.denom);
            let value: i64 = shifted.parse().map_err(|_| ParseError::Numeric)?;
            if let Some(result) = value.checked_mul(mantissa) {
                let result = if p.positive { result } else { -result };
                let mut q = Quantity::scaled(result, scale as i32, format);
                let keep = match format {
                    Format::BinarySI => value & 7 != 0,
                    _ => scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
                };
                // Kept spellings are canonical but for signs, zeroes in front, points and exponents.
                let digits = s.strip_prefix('-').unwrap_or(s);
                let suspect = format == Format::DecimalExponent || s.contains(['+', '.']) || digits.starts_with('0');
                if keep && suspect && q.canonical() != s {
                    q.odd = Some(Rc::new(Odd::Spelled(s.into())));
                }
                return Ok(q);
            }
        }
        let mut amount = Decimal::parse(p.value).ok_or(ParseError::Numeric)?;
        if base == 10 {
            amount.shift(exponent);
        } else {
            amount.double(exponent);
        }
        let negative = std::mem::take(&mut amount.negative);
        // Anything asked for is at least a billionth.
        amount.rescale(NANO);
        if format == Format::BinarySI {
            let max = Decimal::from_i64(i64::MAX, 0);
            if amount.cmp(&max) == Ordering::Greater {
                amount = max;
            }
            if !amount.is_zero() && amount.cmp(&Decimal::from_i64(1, 0)) == Ordering::Less {
                format = Format::DecimalSI;
            }
        }
        amount.negative = negative && !amount.is_zero();
        Ok(Quantity::big(amount, format))
    }

    fn decimal(&self) -> Option<&Decimal> {
        match self.odd.as_deref() {
            Some(Odd::Big(d)) => Some(d),
            _ => None,
        }
    }
    fn to_decimal(&self) -> Decimal {
        self.decimal().cloned().unwrap_or_else(|| Decimal::from_i64(self.value, self.scale))
    }
    /// How it prints.
    pub fn format(&self) -> Format {
        self.format
    }
    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.sign() == 0
    }
    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match self.decimal() {
            Some(d) if d.is_zero() => 0,
            Some(d) if d.negative => -1,
            Some(_) => 1,
            None => self.value.signum() as i32,
        }
    }
    /// The value rounded up (away from zero) to a whole number.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }
    /// The value in thousandths, rounded up.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }
    /// The value in units of `10^scale`, rounded up; what Go gives where that overflows.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        match self.decimal() {
            Some(d) => d.scaled_value(scale),
            None if self.scale < scale => round_up(self.value, i64::from(scale) - i64::from(self.scale)).0,
            None => {
                let by = i64::from(self.scale) - i64::from(scale);
                // Where it overflows Go gives back what its multiplication left, or 0.
                scale_up(self.value, by).unwrap_or(match by {
                    1 | 2 | 3 | 6 | 9 => self.value.wrapping_mul(10i64.pow(by as u32)),
                    _ => 0,
                })
            }
        }
    }
    /// The value as a whole number if that is exact and fits (`AsInt64`).
    pub fn as_i64(&self) -> Option<i64> {
        match self.decimal() {
            Some(_) => None,
            None if self.scale < 0 => None,
            None => scale_up(self.value, i64::from(self.scale)),
        }
    }
    /// The value as a float, perhaps not exact (`AsApproximateFloat64`).
    pub fn as_f64(&self) -> f64 {
        match self.decimal() {
            Some(d) => d.as_f64(),
            None => decimal::float(self.value.unsigned_abs().to_string().as_str(), self.value < 0, self.scale),
        }
    }

    /// Adds in place; zero takes the other's format.
    pub fn add(&mut self, other: &Quantity) {
        self.combine(other, false)
    }
    /// Subtracts in place; zero takes the other's format.
    pub fn sub(&mut self, other: &Quantity) {
        self.combine(other, true)
    }
    fn combine(&mut self, other: &Quantity, subtract: bool) {
        if self.is_zero() {
            self.format = other.format;
        }
        if self.decimal().is_none() && other.decimal().is_none() {
            let sum = if subtract { other.value.checked_neg() } else { Some(other.value) }
                .and_then(|v| add_amounts((self.value, self.scale), (v, other.scale)));
            if let Some((v, s)) = sum {
                (self.value, self.scale, self.odd) = (v, s, None);
                return;
            }
        }
        let mut rhs = other.to_decimal();
        if subtract {
            rhs.negative = !rhs.negative && !rhs.is_zero();
        }
        *self = Quantity::big(self.to_decimal().add(&rhs), self.format);
    }
    /// Multiplies in place.
    pub fn mul(&mut self, by: i64) {
        match (self.decimal(), self.value.checked_mul(by)) {
            (None, Some(v)) => (self.value, self.odd) = (v, None),
            _ => *self = Quantity::big(self.to_decimal().mul(by), self.format),
        }
    }
    /// Changes the sign.
    pub fn neg(&mut self) {
        self.mul(-1)
    }
    /// Rounds away from zero to a multiple of `10^scale`.
    pub fn round_up(&mut self, scale: i32) {
        match self.decimal() {
            Some(d) => {
                let mut d = d.clone();
                d.round_up(scale);
                *self = Quantity::big(d, self.format);
            }
            None if self.scale >= scale => {}
            None => {
                let (v, _) = round_up(self.value, i64::from(scale) - i64::from(self.scale));
                *self = Quantity::scaled(v, scale, self.format);
            }
        }
    }

    /// The canonical spelling, whatever was written.
    pub fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_string();
        }
        if self.format == Format::BinarySI
            && let Some((number, times)) = self.canonical_binary()
        {
            let suffix = times.checked_sub(1).and_then(|i| BINARY_SUFFIXES.get(i)).copied().unwrap_or("");
            return if self.sign() < 0 { format!("-{number}{suffix}") } else { format!("{number}{suffix}") };
        }
        let (number, exponent) = self.canonical_decimal();
        let suffix = match self.format {
            Format::DecimalExponent if exponent == 0 => String::new(),
            Format::DecimalExponent => format!("e{exponent}"),
            // Go prints no suffix where it has none.
            _ => DECIMAL_SUFFIXES.iter().find(|(_, e)| i64::from(*e) == exponent).map_or("", |s| s.0).to_string(),
        };
        number + &suffix
    }

    /// The canonical spelling of an amount that fits an i64, without allocation.
    fn write_small(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value == 0 {
            return f.write_str("0");
        }
        if self.format == Format::BinarySI && self.scale == 0 && self.value >= 1024 {
            let (mut v, mut times) = (self.value, 0usize);
            while v % 1024 == 0 {
                v /= 1024;
                times += 1;
            }
            let suffix = times.checked_sub(1).and_then(|i| BINARY_SUFFIXES.get(i)).copied().unwrap_or("");
            return write!(f, "{v}{suffix}");
        }
        let (mut v, mut e) = (self.value, i64::from(self.scale));
        while v % 1000 == 0 {
            v /= 1000;
            e += 3;
        }
        // Up to two zeroes more are taken off and put back by the canonical form.
        if e % 3 != 0 || self.format != Format::DecimalSI {
            return f.write_str(&self.canonical());
        }
        let suffix = DECIMAL_SUFFIXES.iter().find(|(_, x)| i64::from(*x) == e).map_or("", |s| s.0);
        write!(f, "{v}{suffix}")
    }

    /// Digits and a power of ten that is a multiple of three.
    fn canonical_decimal(&self) -> (String, i64) {
        let (mut digits, mut exponent, negative) = match self.decimal() {
            Some(d) => (d.digits(), i64::from(d.exponent), d.negative),
            None => (self.value.unsigned_abs().to_string(), i64::from(self.scale), self.value < 0),
        };
        let kept = digits.trim_end_matches('0').len().max(1);
        exponent += (digits.len() - kept) as i64;
        digits.truncate(kept);
        while exponent % 3 != 0 {
            digits.push('0');
            exponent -= 1;
        }
        (if negative { format!("-{digits}") } else { digits }, exponent)
    }

    /// Digits and a power of 1024, if the amount is whole and not below 1024.
    fn canonical_binary(&self) -> Option<(String, usize)> {
        if let Some(v) = self.as_i64() {
            let (mut v, mut times) = (v.unsigned_abs(), 0);
            if v < 1024 {
                return None;
            }
            while v % 1024 == 0 {
                v /= 1024;
                times += 1;
            }
            return Some((v.to_string(), times));
        }
        let mut d = self.to_decimal();
        d.negative = false;
        if d.cmp(&Decimal::from_i64(1024, 0)) == Ordering::Less {
            return None;
        }
        d.whole_digits().map(|w| decimal::without_1024s(&w))
    }
}

/// `value * 10^by` if it fits.
fn scale_up(value: i64, by: i64) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10i64.checked_pow(u32::try_from(by).ok()?)?)
}

/// `value / 10^by` rounded away from zero, and whether that was exact.
fn round_up(value: i64, by: i64) -> (i64, bool) {
    match u32::try_from(by).ok().and_then(|n| 10i64.checked_pow(n)) {
        Some(p) => {
            let (q, r) = (value / p, value % p);
            if r == 0 { (q, true) } else { (q + value.signum(), false) }
        }
        None => (value.signum(), value == 0),
    }
}

fn add_amounts(a: (i64, i32), b: (i64, i32)) -> Option<(i64, i32)> {
    if b.0 == 0 {
        return Some(a);
    }
    if a.0 == 0 {
        return Some(b);
    }
    let scale = a.1.min(b.1);
    let at = |x: (i64, i32)| scale_up(x.0, i64::from(x.1) - i64::from(scale));
    Some((at(a)?.checked_add(at(b)?)?, scale))
}

impl fmt::Display for Quantity {
    /// The spelling that was written where Go keeps it, else the canonical one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.odd.as_deref() {
            Some(Odd::Spelled(s)) => f.pad(s),
            None if f.width().is_none() => self.write_small(f),
            _ => f.pad(&self.canonical()),
        }
    }
}
impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl PartialEq for Quantity {
    /// By amount (`Cmp`).
    fn eq(&self, o: &Self) -> bool {
        self.cmp(o) == Ordering::Equal
    }
}
impl Eq for Quantity {}
impl PartialOrd for Quantity {
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Quantity {
    fn cmp(&self, o: &Self) -> Ordering {
        if self.decimal().is_none() && o.decimal().is_none() {
            if self.scale == o.scale {
                return self.value.cmp(&o.value);
            }
            let scale = self.scale.min(o.scale);
            let at = |q: &Self| {
                let by = u32::try_from(i64::from(q.scale) - i64::from(scale)).ok().filter(|n| *n <= 19)?;
                Some(i128::from(q.value) * 10i128.pow(by))
            };
            if let (Some(a), Some(b)) = (at(self), at(o)) {
                return a.cmp(&b);
            }
        }
        self.to_decimal().cmp(&o.to_decimal())
    }
}
impl std::str::FromStr for Quantity {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        Quantity::parse(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts and how Go prints them after parsing.
    #[test]
    fn prints_as_go() {
        for (text, want) in [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.1Gi", "107374182400m"),
            ("100e3", "100e3"),
            ("1e-3", "1e-3"),
            ("1000", "1k"),
            ("0", "0"),
            ("1.0001", "1000100u"),
            ("0.0000000001", "1n"),
            ("1023", "1023"),
            ("2048", "2048"),
            ("2048Ki", "2Mi"),
            ("+1", "+1"),
            ("5.", "5."),
            ("00012", "00012"),
            ("-5", "-5"),
            ("9223372036854775808Ki", "9223372036854775807"),
            ("12345678901234567890", "12345678901234567890"),
        ] {
            assert_eq!(Quantity::parse(text).map(|q| q.to_string()).as_deref(), Ok(want), "{text}");
        }
        assert_eq!(Quantity::parse("5 Gi"), Err(ParseError::FormatWrong));
        assert_eq!(Quantity::parse("1e3Ki"), Err(ParseError::FormatWrong));
    }

    #[test]
    fn arithmetic() {
        let q = |s: &str| Quantity::parse(s).unwrap_or_default();
        let mut a = q("100m");
        a.add(&q("1"));
        assert_eq!(a.to_string(), "1100m");
        a.sub(&q("1100m"));
        assert!(a.is_zero());
        assert_eq!(q("1500m").value(), 2);
        assert_eq!(q("1Gi").value(), 1 << 30);
        assert_eq!(q("1").milli_value(), 1000);
        assert_eq!(q("1024Mi"), q("1Gi"));
        assert!(q("1e1000000000") > q("1Ei"));
        let mut big = q("9223372036854775807");
        big.add(&q("1"));
        assert_eq!(big.to_string(), "9223372036854775808");
    }
}
