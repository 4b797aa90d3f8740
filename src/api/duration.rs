//! Durations as people read them (apimachinery's `duration.HumanDuration`) and write them (Go's `time.ParseDuration`).

/// An elapsed time in nanoseconds as an age column shows it: `12s`, `3m5s`, `2h4m`, `5d`.
/// One second into the future still reads `0s`; more is `<invalid>`.
pub fn human(nanos: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    let seconds = nanos / SECOND;
    if seconds < -1 {
        return "<invalid>".to_string();
    }
    if seconds < 0 {
        return "0s".to_string();
    }
    if seconds < 120 {
        return format!("{seconds}s");
    }
    let minutes = seconds / 60;
    if minutes < 10 {
        return with_rest(minutes, "m", seconds % 60, "s");
    }
    if minutes < 180 {
        return format!("{minutes}m");
    }
    let hours = minutes / 60;
    if hours < 8 {
        return with_rest(hours, "h", minutes % 60, "m");
    }
    if hours < 48 {
        return format!("{hours}h");
    }
    let days = hours / 24;
    if hours < 24 * 8 {
        return with_rest(days, "d", hours % 24, "h");
    }
    if days < 365 * 2 {
        return format!("{days}d");
    }
    if days < 365 * 8 {
        return with_rest(days / 365, "y", days % 365, "d");
    }
    format!("{}y", days / 365)
}

fn with_rest(whole: i64, unit: &str, rest: i64, rest_unit: &str) -> String {
    if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{rest_unit}") }
}

/// A duration as Go reads it, in nanoseconds: `1h30m`, `1.5s`, `-2ms`.
///
/// # Errors
/// Go's text.
pub fn parse(text: &str) -> Result<i64, String> {
    let quoted = || crate::go::quote(text);
    let invalid = || format!("time: invalid duration {}", quoted());
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let whole = rest.get(..rest.len() - after.len()).unwrap_or("");
        let mut after_number = after;
        let mut fraction = "";
        if let Some(digits) = after.strip_prefix('.') {
            after_number = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            fraction = digits.get(..digits.len() - after_number.len()).unwrap_or("");
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let after_unit = after_number.trim_start_matches(|c: char| c != '.' && !c.is_ascii_digit());
        let unit = after_number.get(..after_number.len() - after_unit.len()).unwrap_or("");
        let scale: i64 = match unit {
            "" => return Err(format!("time: missing unit in duration {}", quoted())),
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(format!("time: unknown unit {} in duration {}", crate::go::quote(unit), quoted())),
        };
        let whole = if whole.is_empty() { Some(0) } else { whole.parse::<i64>().ok() };
        total = whole
            .and_then(|whole| whole.checked_mul(scale))
            .and_then(|nanos| nanos.checked_add(part(fraction, scale)))
            .and_then(|nanos| total.checked_add(nanos))
            .ok_or_else(invalid)?;
        rest = after_unit;
    }
    Ok(if negative { -total } else { total })
}

/// What digits after a point are of a unit.
fn part(digits: &str, scale: i64) -> i64 {
    let mut place = scale;
    digits.bytes().fold(0, |sum, digit| {
        place /= 10;
        sum + i64::from(digit - b'0') * place
    })
}

#[cfg(test)]
mod tests {
    use super::{human, parse};

    /// Values and errors of Go's time.ParseDuration.
    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, want) in [
            ("1h30m", Ok(5_400_000_000_000)),
            ("1.5s", Ok(1_500_000_000)),
            ("-.5ms", Ok(-500_000)),
            ("0", Ok(0)),
            ("", Err("time: invalid duration \"\"")),
            ("5", Err("time: missing unit in duration \"5\"")),
            ("1d", Err("time: unknown unit \"d\" in duration \"1d\"")),
            (".s", Err("time: invalid duration \".s\"")),
            ("99999999999999h", Err("time: invalid duration \"99999999999999h\"")),
        ] {
            assert_eq!(parse(text), want.map_err(str::to_string), "{text}");
        }
    }

    #[test]
    fn ages_are_worded_as_kubernetes_words_them() {
        const S: i64 = 1_000_000_000;
        for (seconds, want) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * 3600 - 1, "179m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 120, "3h2m"),
            (8 * 3600, "8h"),
            (48 * 3600, "2d"),
            (50 * 3600, "2d2h"),
            (8 * 86400, "8d"),
            (800 * 86400, "2y70d"),
            (9 * 365 * 86400, "9y"),
        ] {
            assert_eq!(human(seconds * S), want, "{seconds} s");
        }
    }
}
