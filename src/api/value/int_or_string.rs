//! `intstr.IntOrString`.
use super::Str;
use std::fmt;

/// A number or a string, such as a port by number or name, or a count or percentage.
#[derive(Clone, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A string.
    Str(Str),
}

impl Default for IntOrString {
    fn default() -> Self {
        IntOrString::Int(0)
    }
}
impl From<i32> for IntOrString {
    fn from(v: i32) -> Self {
        IntOrString::Int(v)
    }
}
impl From<&str> for IntOrString {
    fn from(v: &str) -> Self {
        IntOrString::Str(v.into())
    }
}
impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntOrString::Int(v) => v.fmt(f),
            IntOrString::Str(s) => s.fmt(f),
        }
    }
}
impl fmt::Debug for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntOrString::Int(v) => v.fmt(f),
            IntOrString::Str(s) => fmt::Debug::fmt(s.as_str(), f),
        }
    }
}

impl IntOrString {
    /// The number, or the string read as one; 0 if it is none (`IntValue`).
    pub fn int_value(&self) -> i32 {
        match self {
            IntOrString::Int(v) => *v,
            IntOrString::Str(s) => s.parse().unwrap_or(0),
        }
    }
    /// The number, or the percentage of `total` (`GetScaledValueFromIntOrPercent`).
    ///
    /// # Errors
    /// Go's text when the string is no percentage.
    pub fn scaled_value(&self, total: i32, round_up: bool) -> Result<i32, String> {
        let s = match self {
            IntOrString::Int(v) => return Ok(*v),
            IntOrString::Str(s) => s,
        };
        let wrong = |e: String| format!("invalid value for IntOrString: {e}");
        let digits =
            s.strip_suffix('%').ok_or_else(|| wrong("invalid type: string is not a percentage".to_string()))?;
        let percent: i64 = digits
            .parse()
            .map_err(|_| wrong(format!("invalid value \"{s}\": strconv.Atoi: parsing \"{digits}\": invalid syntax")))?;
        let product = i128::from(percent) * i128::from(total);
        let scaled = if round_up { (product + 99).div_euclid(100) } else { product.div_euclid(100) };
        Ok(scaled.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        let v = IntOrString::from("25%");
        assert_eq!(v.scaled_value(3, true), Ok(1));
        assert_eq!(v.scaled_value(3, false), Ok(0));
        assert_eq!(v.scaled_value(10, true), Ok(3));
        assert_eq!(IntOrString::from(7).scaled_value(3, true), Ok(7));
        assert!(IntOrString::from("x").scaled_value(3, true).is_err());
    }
}
