//! How C's printf writes numbers.

/// Flags, width and precision of a conversion.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spec {
    /// `-`
    pub left: bool,
    /// `+`
    pub plus: bool,
    /// ` `
    pub space: bool,
    /// `0`
    pub zero: bool,
    /// In characters.
    pub width: usize,
    /// Digits, where given.
    pub precision: Option<usize>,
}

impl Spec {
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }
    /// `%d`
    pub(crate) fn integer(&self, value: i64) -> String {
        let digits = value.unsigned_abs().to_string();
        let zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        format!("{}{}{digits}", self.sign(value < 0), "0".repeat(zeros))
    }
    /// `%e`, `%f`, `%g` and their upper-case kin.
    pub(crate) fn float(&self, conversion: char, value: f64) -> String {
        let upper = conversion.is_ascii_uppercase();
        let sign = self.sign(value.is_sign_negative() && !value.is_nan());
        let magnitude = value.abs();
        let body = if value.is_nan() {
            "nan".to_string()
        } else if value.is_infinite() {
            "inf".to_string()
        } else {
            let digits = self.precision.unwrap_or(6);
            match conversion.to_ascii_lowercase() {
                'e' => scientific(magnitude, digits),
                'g' => general(magnitude, digits.max(1)),
                _ => format!("{magnitude:.digits$}"),
            }
        };
        let body = if upper { body.to_uppercase() } else { body };
        format!("{sign}{body}")
    }
    /// Padded to the width; `numeric` allows zeros.
    pub(crate) fn padded(&self, text: &str, numeric: bool) -> String {
        let pad = self.width.saturating_sub(text.chars().count());
        if self.left {
            return format!("{text}{}", " ".repeat(pad));
        }
        if self.zero && numeric {
            let at = usize::from(text.starts_with(['-', '+', ' ']));
            let (sign, digits) = text.split_at(at);
            return format!("{sign}{}{digits}", "0".repeat(pad));
        }
        format!("{}{text}", " ".repeat(pad))
    }
}

/// `1.5e+06`: the exponent has two digits at least.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: the shorter way, without zeros at the end.
fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i64 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let precision = i64::try_from(digits).unwrap_or(6);
    let text = if exponent < -4 || exponent >= precision {
        scientific(value, digits.saturating_sub(1))
    } else {
        let decimals = usize::try_from(precision - 1 - exponent).unwrap_or(0);
        format!("{value:.decimals$}")
    };
    let (number, exponent) = text.split_once('e').map_or((text.as_str(), None), |(n, e)| (n, Some(e)));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    exponent.map_or_else(|| number.to_string(), |e| format!("{number}e{e}"))
}

/// The value, if it is a whole number that fits.
pub(crate) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < 9.0e15).then(|| truncated(value))
}

/// The value without its fraction, held within 64 bits.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn truncated(value: f64) -> i64 {
    // A float's cast saturates and gives zero for what is no number.
    value as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_c_writes_them() {
        let plain = Spec::default();
        assert_eq!(plain.float('g', 0.1 + 0.2), "0.3");
        assert_eq!(plain.float('g', 1_234_567.0), "1.23457e+06");
        assert_eq!(plain.float('g', 0.000_012_5), "1.25e-05");
        assert_eq!(plain.float('e', 12_345.678), "1.234568e+04");
        assert_eq!(plain.float('f', -2.5), "-2.500000");
        assert_eq!(plain.float('G', 1e100), "1E+100");
        let spec = Spec { zero: true, width: 8, precision: Some(2), ..Spec::default() };
        assert_eq!(spec.padded(&spec.float('f', -1.005), true), "-0001.00");
    }
}
