//! Semantic versions (library/semverlib.go over blang/semver), and the comparisons that they share with quantities.

use std::cmp::Ordering;

use super::eval::{Activation, Eval};
use super::quantities::quantity;
use super::value::{Other, Val};

/// A semantic version.
#[derive(Debug, Clone)]
pub struct Semver {
    major: u64,
    minor: u64,
    patch: u64,
    before: Vec<String>,
}

impl Semver {
    /// Reads a version.
    ///
    /// # Errors
    /// blang/semver's.
    pub fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".to_string());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_string());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, before) = match rest.split_once('-') {
            Some((patch, before)) => (patch, Some(before)),
            None => (rest, None),
        };
        let number = |text: &str, what: &str, small: &str| {
            let quoted = crate::go::quote(text);
            if !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(format!("Invalid character(s) found in {small} number {quoted}"));
            }
            if text.len() > 1 && text.starts_with('0') {
                return Err(format!("{what} number must not contain leading zeroes {quoted}"));
            }
            text.parse().map_err(|_| format!("strconv.ParseUint: parsing {quoted}: invalid syntax"))
        };
        let version = Semver {
            major: number(major, "Major", "major")?,
            minor: number(minor, "Minor", "minor")?,
            patch: number(patch, "Patch", "patch")?,
            before: before.map(|b| b.split('.').map(str::to_string).collect()).unwrap_or_default(),
        };
        let fits = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        for part in &version.before {
            let quoted = crate::go::quote(part);
            if part.is_empty() {
                return Err("Prerelease is empty".to_string());
            }
            if part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(format!("Numeric PreRelease version must not contain leading zeroes {quoted}"));
            }
            if !fits(part) {
                return Err(format!("Invalid character(s) found in prerelease {quoted}"));
            }
        }
        for part in build.iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_string());
            }
            if !fits(part) {
                return Err(format!("Invalid character(s) found in build meta data {}", crate::go::quote(part)));
            }
        }
        Ok(version)
    }

    /// With a `v` before it, and parts left out (`normalizeAndParse`).
    fn tolerant(text: &str) -> Result<Semver, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_string).collect();
        for part in &mut parts {
            if part.len() > 1 {
                let trimmed = part.trim_start_matches('0');
                let zero = if trimmed.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
                *part = format!("{zero}{trimmed}");
            }
        }
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_string());
            }
            parts.resize(3, "0".to_string());
        }
        Semver::parse(&parts.join("."))
    }

    /// The order of precedence.
    pub fn compare(&self, other: &Semver) -> Ordering {
        let numbers = |v: &Semver| (v.major, v.minor, v.patch);
        let part = |a: &str, b: &str| match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        let (a, b) = (&self.before, &other.before);
        numbers(self).cmp(&numbers(other)).then_with(|| match (a.is_empty(), b.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => {
                let first = a.iter().zip(b).map(|(a, b)| part(a, b)).find(|order| order.is_ne());
                first.unwrap_or(a.len().cmp(&b.len()))
            }
        })
    }
}

fn version(value: &Val) -> Option<&Semver> {
    match value {
        Val::Other(other) => match &**other {
            Other::Semver(version) => Some(version),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn of_versions(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let number = |n: u64| Val::Int(i64::try_from(n).unwrap_or(i64::MAX));
    Some(Ok(match (name, args) {
        ("semver" | "isSemver", [Val::Str(text), rest @ ..]) => {
            let parsed = match rest {
                [] | [Val::Bool(false)] => Semver::parse(text),
                [Val::Bool(true)] => Semver::tolerant(text),
                _ => return None,
            };
            match (name, parsed) {
                ("isSemver", parsed) => Val::Bool(parsed.is_ok()),
                (_, Ok(version)) => Val::other(Other::Semver(version)),
                (_, Err(why)) => return Some(Err(why.into())),
            }
        }
        ("major", [of]) => number(version(of)?.major),
        ("minor", [of]) => number(version(of)?.minor),
        ("patch", [of]) => number(version(of)?.patch),
        (_, [a, b]) => {
            let order = match (quantity(a), quantity(b)) {
                (Some(a), Some(b)) => a.cmp(b),
                _ => version(a)?.compare(version(b)?),
            };
            match name {
                "isGreaterThan" => Val::Bool(order.is_gt()),
                "isLessThan" => Val::Bool(order.is_lt()),
                "compareTo" => Val::Int(order as i64),
                _ => return None,
            }
        }
        _ => return None,
    }))
}
