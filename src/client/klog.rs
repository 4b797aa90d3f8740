//! Structured log lines in klog's text form: a quoted message, then `key=value` pairs.

use std::fmt::Write;
use std::time::Duration;

use sim::{Ctx, Severity};

/// One line under construction. Keys and values come in the order of the calls.
#[must_use]
pub struct Line {
    severity: Severity,
    text: String,
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// An informational line (`logger.Info`).
pub fn info(message: &str) -> Line {
    Line::new(Severity::Info, message)
}

/// An error line (`logger.Error`).
pub fn error(message: &str) -> Line {
    Line::new(Severity::Error, message)
}

/// What `utilruntime.HandleError` prints.
pub fn unhandled(err: impl std::fmt::Display) -> Line {
    error("Unhandled Error").err(err).str("logger", "UnhandledError")
}

impl Line {
    fn new(severity: Severity, message: &str) -> Line {
        let mut text = String::with_capacity(96);
        quote(message, &mut text);
        Line { severity, text }
    }

    /// A quoted value.
    pub fn str(mut self, key: &str, value: &str) -> Line {
        self.key(key);
        quote(value, &mut self.text);
        self
    }

    /// The name of an object as `klog.KObj` prints it: `namespace/name`, or the name alone.
    pub fn obj(mut self, key: &str, namespace: &str, name: &str) -> Line {
        self.key(key);
        self.text.push('"');
        if !namespace.is_empty() {
            self.text.push_str(namespace);
            self.text.push('/');
        }
        self.text.push_str(name);
        self.text.push('"');
        self
    }

    /// Several such names.
    pub fn objs<'a>(mut self, key: &str, names: impl Iterator<Item = (&'a str, &'a str)>) -> Line {
        self.key(key);
        self.text.push('[');
        for (i, (namespace, name)) in names.enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            let _ = if namespace.is_empty() {
                write!(self.text, "\"{name}\"")
            } else {
                write!(self.text, "\"{namespace}/{name}\"")
            };
        }
        self.text.push(']');
        self
    }

    /// A value printed as it is: numbers, booleans, JSON.
    pub fn raw(mut self, key: &str, value: impl std::fmt::Display) -> Line {
        self.key(key);
        let _ = write!(self.text, "{value}");
        self
    }

    /// The error of the line.
    pub fn err(self, err: impl std::fmt::Display) -> Line {
        self.str("err", &err.to_string())
    }

    /// A duration as Go prints it, quoted.
    pub fn duration(self, key: &str, value: Duration) -> Line {
        self.str(key, &go_duration(value))
    }

    /// Writes the line to the process's log; `place` is the `file.go:123` of the real component.
    pub fn log(self, ctx: &Ctx, place: &'static str) {
        ctx.log(self.severity, place, self.text);
    }

    fn key(&mut self, key: &str) {
        self.text.push(' ');
        self.text.push_str(key);
        self.text.push('=');
    }
}

/// Go's `time.Duration.String()`: `1h2m3.5s`, `28.544933ms`, `8.462µs`, `0s`.
pub fn go_duration(d: Duration) -> String {
    let nanos = d.as_nanos();
    if nanos == 0 {
        return "0s".into();
    }
    if nanos < 1_000_000_000 {
        let (unit, digits, scale) = match nanos {
            n if n < 1_000 => ("ns", 0, 1),
            n if n < 1_000_000 => ("µs", 3, 1_000),
            _ => ("ms", 6, 1_000_000),
        };
        return format!("{}{}{unit}", nanos / scale, fraction(nanos % scale, digits));
    }
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let mut text = String::new();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if hours > 0 {
        let _ = write!(text, "{hours}h");
    }
    if hours > 0 || minutes > 0 {
        let _ = write!(text, "{minutes}m");
    }
    let _ = write!(text, "{}{}s", seconds % 60, fraction(rest, 9));
    text
}

fn fraction(rest: u128, digits: usize) -> String {
    if rest == 0 {
        return String::new();
    }
    let padded = format!("{rest:0digits$}");
    format!(".{}", padded.trim_end_matches('0'))
}

/// Go's `time.Time.String()` of a moment of day, in UTC; with the monotonic reading when `since_start` is given.
pub fn go_time(unix_nanos: i64, since_start: Option<u64>) -> String {
    let seconds = unix_nanos.div_euclid(1_000_000_000);
    let nanos = unix_nanos.rem_euclid(1_000_000_000) as u128;
    let (days, in_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = api::value::time::civil(days);
    let mut text = format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}{} +0000 UTC",
        in_day / 3600,
        in_day / 60 % 60,
        in_day % 60,
        fraction(nanos, 9)
    );
    if let Some(mono) = since_start {
        let _ = write!(text, " m=+{}.{:09}", mono / 1_000_000_000, mono % 1_000_000_000);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_in_go() {
        let cases = [
            (0, "0s"),
            (17, "17ns"),
            (8_462, "8.462µs"),
            (28_544_933, "28.544933ms"),
            (1_500_000_000, "1.5s"),
            (50_009_670_837, "50.009670837s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(go_duration(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn times_print_as_in_go() {
        let nanos = 1_795_975_766_048_884_963;
        assert_eq!(go_time(nanos, Some(38_939_698_204)), "2026-11-29 18:09:26.048884963 +0000 UTC m=+38.939698204");
        assert_eq!(go_time(1_795_975_766_000_000_000, None), "2026-11-29 18:09:26 +0000 UTC");
    }

    #[test]
    fn lines_print_as_klog_does() {
        let line = info("Adding deployment").str("logger", "deployment-controller").obj("deployment", "default", "web");
        assert_eq!(line.text, "\"Adding deployment\" logger=\"deployment-controller\" deployment=\"default/web\"");
        assert_eq!(error("x").err("a \"b\"").text, "\"x\" err=\"a \\\"b\\\"\"");
    }
}
