//! awk's values: numbers, texts, and texts from outside that look like numbers.

use crate::tools::numbers;
use std::cmp::Ordering;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Never set: both `""` and 0.
    Unset,
    Number(f64),
    Text(Rc<str>),
    /// From input: compares as a number if it looks like one.
    Input(Rc<str>),
}

impl Value {
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(text.as_ref().into())
    }
    pub(super) fn truth(value: bool) -> Self {
        Self::Number(f64::from(u8::from(value)))
    }
    pub(super) fn number(&self) -> f64 {
        match self {
            Self::Unset => 0.0,
            Self::Number(value) => *value,
            Self::Text(text) | Self::Input(text) => leading_number(text),
        }
    }
    /// As text; numbers that are not whole in `format` (CONVFMT, OFMT).
    pub(super) fn to_text(&self, format: &str) -> Rc<str> {
        match self {
            Self::Unset => "".into(),
            Self::Text(text) | Self::Input(text) => text.clone(),
            Self::Number(value) => numbers::whole(*value)
                .map_or_else(|| super::format::format(format, std::slice::from_ref(self)), |n| n.to_string())
                .into(),
        }
    }
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Unset => false,
            Self::Number(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Input(text) => looks_numeric(text).map_or(!text.is_empty(), |n| n != 0.0),
        }
    }
    fn numeric(&self) -> Option<f64> {
        match self {
            Self::Unset => Some(0.0),
            Self::Number(value) => Some(*value),
            Self::Text(_) => None,
            Self::Input(text) => looks_numeric(text),
        }
    }
    /// By number if both are numbers or look so, else by text.
    pub(super) fn compare(&self, other: &Self, format: &str) -> Option<Ordering> {
        match (self.numeric(), other.numeric()) {
            (Some(a), Some(b)) => a.partial_cmp(&b),
            _ => Some(self.to_text(format).cmp(&other.to_text(format))),
        }
    }
}

/// How many bytes of `text` are a number.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(start);
    let mut end = whole;
    let mut any = whole > start;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        any |= fraction > end + 1;
        end = fraction;
    }
    if !any {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    text.get(..number_length(text)).and_then(|t| t.parse().ok()).unwrap_or(0.0)
}

fn looks_numeric(text: &str) -> Option<f64> {
    let text = text.trim();
    (!text.is_empty() && number_length(text) == text.len()).then(|| text.parse().ok()).flatten()
}
