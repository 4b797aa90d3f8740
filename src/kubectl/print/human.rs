//! Ages and the few Go formatting verbs that kubectl's texts are made with.

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// `duration.HumanDuration`: two or three significant figures. `nanos` may be negative.
pub fn human_duration(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    if seconds < -1 {
        return "<invalid>".into();
    }
    if seconds < 0 {
        return "0s".into();
    }
    if seconds < 120 {
        return format!("{seconds}s");
    }
    let minutes = seconds / 60;
    if minutes < 10 {
        return match seconds % 60 {
            0 => format!("{minutes}m"),
            s => format!("{minutes}m{s}s"),
        };
    }
    if minutes < 180 {
        return format!("{minutes}m");
    }
    let hours = minutes / 60;
    if hours < 8 {
        return match minutes % 60 {
            0 => format!("{hours}h"),
            m => format!("{hours}h{m}m"),
        };
    }
    if hours < 48 {
        return format!("{hours}h");
    }
    let days = hours / 24;
    if hours < 24 * 8 {
        return match hours % 24 {
            0 => format!("{days}d"),
            h => format!("{days}d{h}h"),
        };
    }
    if hours < 24 * 365 * 2 {
        return format!("{days}d");
    }
    let years = days / 365;
    if hours < 24 * 365 * 8 {
        return match days % 365 {
            0 => format!("{years}y"),
            d => format!("{years}y{d}d"),
        };
    }
    format!("{years}y")
}

/// Go's `%q` of a string.
pub fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Go's `time.Duration.String`, of nanoseconds.
pub fn go_duration(nanos: i64) -> String {
    if nanos == 0 {
        return "0s".into();
    }
    let (sign, n) = if nanos < 0 { ("-", nanos.unsigned_abs()) } else { ("", nanos as u64) };
    let fraction = |value: u64, unit: u64| -> String {
        let whole = value / unit;
        let rest = value % unit;
        if rest == 0 {
            return whole.to_string();
        }
        let digits = unit.to_string().len() - 1;
        let text = format!("{rest:0digits$}");
        format!("{whole}.{}", text.trim_end_matches('0'))
    };
    let body = if n < 1_000 {
        format!("{n}ns")
    } else if n < 1_000_000 {
        format!("{}µs", fraction(n, 1_000))
    } else if n < 1_000_000_000 {
        format!("{}ms", fraction(n, 1_000_000))
    } else {
        let total = n / 1_000_000_000;
        let (h, m) = (total / 3600, total / 60 % 60);
        let s = fraction(n % 60_000_000_000, 1_000_000_000);
        match (h, m) {
            (0, 0) => format!("{s}s"),
            (0, _) => format!("{m}m{s}s"),
            _ => format!("{h}h{m}m{s}s"),
        }
    };
    format!("{sign}{body}")
}

/// Go's `time.ParseDuration` in nanoseconds; the error is Go's text.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let (negative, mut s) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    };
    if s == "0" {
        return Ok(0);
    }
    if s.is_empty() {
        return Err(invalid());
    }
    let mut total: f64 = 0.0;
    while !s.is_empty() {
        let end = s.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(s.len());
        let number = s.get(..end).unwrap_or("");
        if number.is_empty() || number == "." {
            return Err(invalid());
        }
        let value: f64 = number.parse().map_err(|_| invalid())?;
        s = s.get(end..).unwrap_or("");
        let end = s.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(s.len());
        let unit = s.get(..end).unwrap_or("");
        s = s.get(end..).unwrap_or("");
        let factor = match unit {
            "" => return Err(format!("time: missing unit in duration {}", quote(text))),
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            other => {
                return Err(format!("time: unknown unit {} in duration {}", quote(other), quote(text)));
            }
        };
        total += value * factor;
    }
    if total > i64::MAX as f64 {
        return Err(invalid());
    }
    let nanos = total as i64;
    Ok(if negative { -nanos } else { nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        let s = |n: i64| human_duration(n * SECOND);
        for (seconds, want) in [
            (0, "0s"),
            (-1, "0s"),
            (-2, "<invalid>"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (6840, "114m"),
            (10800, "3h"),
            (10860, "3h1m"),
            (8 * 3600 + 60, "8h"),
            (49 * 3600, "2d1h"),
            (200 * 3600, "8d"),
            (24 * 365 * 2 * 3600, "2y"),
            (24 * 366 * 2 * 3600, "2y2d"),
        ] {
            assert_eq!(s(seconds), want);
        }
    }

    #[test]
    fn durations() {
        assert_eq!(go_duration(1_500_000_000), "1.5s");
        assert_eq!(go_duration(90_000_000_000), "1m30s");
        assert_eq!(go_duration(3_600_000_000_000), "1h0m0s");
        assert_eq!(go_duration(65_000_000), "65ms");
        assert_eq!(parse_duration("1m30s"), Ok(90_000_000_000));
        assert_eq!(parse_duration("5"), Err("time: missing unit in duration \"5\"".into()));
        assert_eq!(parse_duration("x"), Err("time: invalid duration \"x\"".into()));
        assert_eq!(parse_duration("1w"), Err("time: unknown unit \"w\" in duration \"1w\"".into()));
    }
}
