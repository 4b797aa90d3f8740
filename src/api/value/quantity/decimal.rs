//! Decimal numbers of any length, for the rare quantities that don't fit an i64. What `inf.Dec` is to Go.
use std::cmp::Ordering;

/// `digits * 10^exponent`, negative or not. Zero has no digits.
#[derive(Clone, Debug, Default)]
pub struct Decimal {
    /// Whether it is below zero.
    pub negative: bool,
    /// Most significant first, values 0 to 9, no zeroes in front.
    digits: Vec<u8>,
    /// The power of ten.
    pub exponent: i32,
}

/// Sums whose parts are further apart than this many digits keep the larger part only: a bound on memory.
const MAX_DIGITS: i64 = 4096;

fn trimmed(mut digits: Vec<u8>) -> Vec<u8> {
    let zeroes = digits.iter().take_while(|d| **d == 0).count();
    digits.drain(..zeroes);
    digits
}

impl Decimal {
    /// `value * 10^exponent`
    pub fn from_i64(value: i64, exponent: i32) -> Decimal {
        let digits = match value {
            0 => Vec::new(),
            v => v.unsigned_abs().to_string().bytes().map(|b| b - b'0').collect(),
        };
        Decimal { negative: value < 0, digits, exponent }
    }
    /// Reads `[+-]digits[.digits]`.
    pub fn parse(s: &str) -> Option<Decimal> {
        let (negative, body) = match s.strip_prefix('-') {
            Some(b) => (true, b),
            None => (false, s.strip_prefix('+').unwrap_or(s)),
        };
        let (whole, part) = body.split_once('.').unwrap_or((body, ""));
        if whole.is_empty() && part.is_empty() || !whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = trimmed(whole.bytes().chain(part.bytes()).map(|b| b - b'0').collect());
        Some(Decimal { negative: negative && !digits.is_empty(), digits, exponent: -i32::try_from(part.len()).ok()? })
    }
    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }
    /// The digits as text, `0` for zero.
    pub fn digits(&self) -> String {
        if self.is_zero() {
            return "0".to_string();
        }
        self.digits.iter().map(|d| char::from(b'0' + d)).collect()
    }
    /// Multiplies by `10^by`.
    pub fn shift(&mut self, by: i32) {
        self.exponent = self.exponent.saturating_add(by);
    }
    /// Multiplies by `2^times`.
    pub fn double(&mut self, times: i32) {
        for _ in 0..times {
            self.digits = times_small(&self.digits, 2);
        }
    }
    /// Multiplies by a whole number.
    pub fn mul(&self, by: i64) -> Decimal {
        let mut sum = Decimal { exponent: self.exponent, ..Default::default() };
        for d in by.unsigned_abs().to_string().bytes() {
            if !sum.digits.is_empty() {
                sum.digits.push(0);
            }
            let part = times_small(&self.digits, d - b'0');
            sum.digits = add_digits(&sum.digits, &part);
        }
        sum.negative = !sum.is_zero() && self.negative != (by < 0);
        sum
    }
    /// Rounds away from zero to a multiple of `10^scale`.
    pub fn round_up(&mut self, scale: i32) {
        let drop = i64::from(scale) - i64::from(self.exponent);
        if drop <= 0 || self.is_zero() {
            return;
        }
        let keep = (self.digits.len() as i64 - drop).max(0) as usize;
        let lost = drop > self.digits.len() as i64 || self.digits.iter().skip(keep).any(|d| *d != 0);
        self.digits.truncate(keep);
        if lost {
            self.digits = add_digits(&self.digits, &[1]);
        }
        self.exponent = scale;
    }
    /// Rounds away from zero to units of `10^scale` and counts in these, as Go does with what it has parsed.
    pub fn rescale(&mut self, scale: i32) {
        self.round_up(scale);
        let zeroes = i64::from(self.exponent) - i64::from(scale);
        if zeroes > 0 && !self.is_zero() && self.digits.len() as i64 + zeroes <= MAX_DIGITS {
            self.digits.resize(self.digits.len() + zeroes as usize, 0);
            self.exponent = scale;
        }
    }
    /// Where the first digit stands: the number is below `10^magnitude`.
    fn magnitude(&self) -> i64 {
        self.digits.len() as i64 + i64::from(self.exponent)
    }
    fn cmp_abs(&self, o: &Decimal) -> Ordering {
        match (self.is_zero(), o.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        self.magnitude().cmp(&o.magnitude()).then_with(|| {
            let n = self.digits.len().max(o.digits.len());
            let at = |d: &Decimal, i: usize| d.digits.get(i).copied().unwrap_or(0);
            (0..n).map(|i| at(self, i).cmp(&at(o, i))).find(|c| *c != Ordering::Equal).unwrap_or(Ordering::Equal)
        })
    }
    /// Which is larger.
    pub fn cmp(&self, o: &Decimal) -> Ordering {
        match (self.negative, o.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_abs(o),
            (true, true) => o.cmp_abs(self),
        }
    }
    /// The sum.
    pub fn add(&self, o: &Decimal) -> Decimal {
        if self.is_zero() {
            return o.clone();
        }
        if o.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(o.exponent);
        let (large, small) = if self.cmp_abs(o) == Ordering::Less { (o, self) } else { (self, o) };
        if large.magnitude() - i64::from(exponent) > MAX_DIGITS {
            return large.clone();
        }
        let at = |d: &Decimal| {
            let mut v = d.digits.clone();
            v.resize(v.len() + (i64::from(d.exponent) - i64::from(exponent)) as usize, 0);
            v
        };
        let (a, b) = (at(large), at(small));
        let digits = if large.negative == small.negative { add_digits(&a, &b) } else { sub_digits(&a, &b) };
        Decimal { negative: large.negative && !digits.is_empty(), digits, exponent }
    }
    /// The low 64 bits of the digits as a whole number, signed: Go's `Int64()` of a number of any size.
    fn low(&self) -> i64 {
        let v = self.digits.iter().fold(0i64, |v, d| v.wrapping_mul(10).wrapping_add(i64::from(*d)));
        if self.negative { v.wrapping_neg() } else { v }
    }
    /// In units of `10^scale`, rounded up, with all that Go's `scaledValue` does to numbers that don't fit.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        let dif = i64::from(scale) - i64::from(self.exponent);
        if dif == 0 {
            return self.low();
        }
        if dif < 0 {
            // A power of ten beyond i64 becomes its smallest value there.
            let power = u32::try_from(-dif).ok().and_then(|n| 10i64.checked_pow(n)).unwrap_or(i64::MIN);
            return self.low().wrapping_mul(power);
        }
        if dif < 19 && (self.negative || self.cmp(&Decimal::from_i64(i64::MAX, self.exponent)) == Ordering::Less) {
            let divisor = 10i64.pow(dif as u32);
            let v = self.low();
            return v / divisor + i64::from(v % divisor != 0);
        }
        let keep = (self.digits.len() as i64 - dif).max(0) as usize;
        let rest = self.digits.iter().skip(keep).any(|d| *d != 0);
        let digits = self.digits.get(..keep).unwrap_or(&[]).to_vec();
        let v = Decimal { digits, ..self.clone() }.low();
        // Division rounds down, and then one is added.
        if rest && !self.negative { v.wrapping_add(1) } else { v }
    }
    /// The digits of a whole number; None if it is none or too long to write out.
    pub fn whole_digits(&self) -> Option<String> {
        let mut d = self.clone();
        d.round_up(0);
        (d.cmp(self) == Ordering::Equal && d.magnitude() <= MAX_DIGITS)
            .then(|| d.digits() + &"0".repeat(d.exponent.max(0) as usize))
    }
    /// Nearest float.
    pub fn as_f64(&self) -> f64 {
        float(&self.digits(), self.negative, self.exponent)
    }
}

/// The float nearest to the digits with a power of ten.
pub fn float(digits: &str, negative: bool, exponent: i32) -> f64 {
    let v: f64 = format!("{digits}e{exponent}").parse().unwrap_or(f64::INFINITY);
    if negative { -v } else { v }
}

fn times_small(digits: &[u8], by: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(digits.len() + 1);
    let mut carry = 0;
    for d in digits.iter().rev() {
        let v = d * by + carry;
        out.push(v % 10);
        carry = v / 10;
    }
    if carry > 0 {
        out.push(carry);
    }
    out.reverse();
    trimmed(out)
}

fn add_digits(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    let (mut x, mut y) = (a.iter().rev(), b.iter().rev());
    loop {
        let (p, q) = (x.next(), y.next());
        if p.is_none() && q.is_none() {
            break;
        }
        let v = p.unwrap_or(&0) + q.unwrap_or(&0) + carry;
        out.push(v % 10);
        carry = v / 10;
    }
    if carry > 0 {
        out.push(carry);
    }
    out.reverse();
    trimmed(out)
}

/// `a - b`, where `a` is not smaller.
fn sub_digits(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(a.len());
    let mut borrow = 0;
    let mut y = b.iter().rev();
    for d in a.iter().rev() {
        let take = y.next().unwrap_or(&0) + borrow;
        borrow = u8::from(*d < take);
        out.push(d + 10 * borrow - take);
    }
    out.reverse();
    trimmed(out)
}

/// Divides by 1024 as often as that is exact: what is left, and how often.
pub fn without_1024s(digits: &str) -> (String, usize) {
    let mut current: Vec<u8> = digits.bytes().map(|b| b - b'0').collect();
    let mut times = 0;
    loop {
        let mut rest: u32 = 0;
        let mut quotient = Vec::with_capacity(current.len());
        for d in &current {
            rest = rest * 10 + u32::from(*d);
            quotient.push((rest / 1024) as u8);
            rest %= 1024;
        }
        let quotient = trimmed(quotient);
        if rest != 0 || quotient.is_empty() {
            break;
        }
        current = quotient;
        times += 1;
    }
    (current.iter().map(|d| char::from(b'0' + d)).collect(), times)
}
