//! Field selectors, as apimachinery's pkg/fields.
use crate::SortSmall;
use crate::value::Str;
use std::fmt;

/// `field=value` or `field!=value`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldRequirement {
    /// `spec.nodeName`
    pub field: Str,
    /// Whether the value must be that (`=`) or must not (`!=`).
    pub equal: bool,
    /// The value.
    pub value: Str,
}

/// Terms that must all hold; none selects everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldSelector {
    /// The terms.
    pub requirements: Vec<FieldRequirement>,
}

/// The value as it stands in a selector.
pub fn escape_value(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unescape(s: &str) -> Result<String, String> {
    let bad = |seq: String| format!("invalid field selector: invalid escape sequence: {seq}");
    let mut out = String::with_capacity(s.len());
    let mut chars = s.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(bad(format!("\\{c}"))),
                None => return Err(bad("\\".to_string())),
            },
            ',' | '=' => return Err(format!("invalid field selector: unescaped character in value: {}", c as u32)),
            c => out.push(c),
        }
    }
    Ok(out)
}

fn terms(selector: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in selector.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                out.push(selector.get(start..i).unwrap_or(""));
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(selector.get(start..).unwrap_or(""));
    out.sort_small();
    out
}

impl FieldSelector {
    /// Selects everything.
    pub const fn everything() -> Self {
        FieldSelector { requirements: Vec::new() }
    }
    /// One field must have one value.
    pub fn equals(field: impl Into<Str>, value: impl Into<Str>) -> Self {
        FieldSelector { requirements: vec![FieldRequirement { field: field.into(), equal: true, value: value.into() }] }
    }
    /// Reads `spec.nodeName=n,status.phase!=Running`.
    ///
    /// # Errors
    /// Go's text.
    pub fn parse(selector: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for term in terms(selector).into_iter().filter(|t| !t.is_empty()) {
            let at = term.char_indices().find_map(|(i, _)| {
                let rest = term.get(i..)?;
                ["!=", "==", "="].into_iter().find(|op| rest.starts_with(op)).map(|op| (i, op))
            });
            let Some((i, op)) = at else {
                return Err(format!("invalid selector: '{selector}'; can't understand '{term}'"));
            };
            let value = unescape(term.get(i + op.len()..).unwrap_or(""))?;
            requirements.push(FieldRequirement {
                field: term.get(..i).unwrap_or("").into(),
                equal: op != "!=",
                value: value.into(),
            });
        }
        Ok(FieldSelector { requirements })
    }
    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
    /// Whether an object matches, whose fields `get` gives (empty for unknown ones).
    pub fn matches<'a>(&self, mut get: impl FnMut(&str) -> &'a str) -> bool {
        self.requirements.iter().all(|r| (get(&r.field) == r.value.as_str()) == r.equal)
    }
    /// The value that a field must have.
    pub fn requires(&self, field: &str) -> Option<&Str> {
        self.requirements.iter().find(|r| r.equal && r.field == *field).map(|r| &r.value)
    }
}
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, r) in self.requirements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let op = if r.equal { "=" } else { "!=" };
            write!(f, "{comma}{}{op}{}", r.field, escape_value(&r.value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        let s = FieldSelector::parse("status.phase!=Running,spec.nodeName=n\\,1").unwrap_or_default();
        assert_eq!(s.to_string(), "spec.nodeName=n\\,1,status.phase!=Running");
        assert_eq!(s.requires("spec.nodeName").map(Str::as_str), Some("n,1"));
        assert!(s.matches(|f| if f == "spec.nodeName" { "n,1" } else { "Pending" }));
        assert_eq!(FieldSelector::parse("x").unwrap_err(), "invalid selector: 'x'; can't understand 'x'");
        assert_eq!(FieldSelector::parse("a=b\\c").unwrap_err(), "invalid field selector: invalid escape sequence: \\c");
    }
}
