//! `metav1.Time` and `metav1.MicroTime`.
use std::fmt;

/// `metav1.Time`: whole seconds since 1970 in UTC, with Go's zero time as nil (which also serves `*metav1.Time`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    seconds: i64,
}
/// `metav1.MicroTime`: microseconds since 1970 in UTC, with Go's zero time as nil.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroTime {
    micros: i64,
}

impl Time {
    /// The time so many seconds after 1970.
    pub const fn from_unix(seconds: i64) -> Time {
        Time { seconds }
    }
    /// The time so many nanoseconds after 1970, cut to seconds.
    pub const fn from_unix_nanos(nanos: i64) -> Time {
        Time { seconds: nanos.div_euclid(1_000_000_000) }
    }
    /// Seconds since 1970; None for nil.
    pub fn unix(&self) -> Option<i64> {
        (!self.is_zero()).then_some(self.seconds)
    }
    /// Whether it is nil.
    pub fn is_zero(&self) -> bool {
        self.seconds == i64::MIN
    }
}
impl MicroTime {
    /// The time so many microseconds after 1970.
    pub const fn from_unix_micros(micros: i64) -> MicroTime {
        MicroTime { micros }
    }
    /// The time so many nanoseconds after 1970, cut to microseconds.
    pub const fn from_unix_nanos(nanos: i64) -> MicroTime {
        MicroTime { micros: nanos.div_euclid(1000) }
    }
    /// Microseconds since 1970; None for nil.
    pub fn unix_micros(&self) -> Option<i64> {
        (!self.is_zero()).then_some(self.micros)
    }
    /// Whether it is nil.
    pub fn is_zero(&self) -> bool {
        self.micros == i64::MIN
    }
    /// The same time in whole seconds.
    pub fn time(&self) -> Time {
        self.unix_micros().map_or(Time::default(), |m| Time::from_unix(m.div_euclid(1_000_000)))
    }
}
impl Default for Time {
    fn default() -> Self {
        Time { seconds: i64::MIN }
    }
}
impl Default for MicroTime {
    fn default() -> Self {
        MicroTime { micros: i64::MIN }
    }
}
impl fmt::Display for Time {
    /// RFC 3339 as in JSON; `<nil>` when nil.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unix() {
            Some(t) if f.width().is_none() && (0..253_402_300_800).contains(&t) => f.write_str(ascii(&digits(t))),
            Some(t) => f.pad(&rfc3339(t, None)),
            None => f.pad("<nil>"),
        }
    }
}
impl fmt::Display for MicroTime {
    /// RFC 3339 with six decimals as in JSON; `<nil>` when nil.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unix_micros() {
            Some(t) => f.pad(&rfc3339(t.div_euclid(1_000_000), Some(t.rem_euclid(1_000_000)))),
            None => f.pad("<nil>"),
        }
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl fmt::Debug for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Year, month and day of a number of days since 1970.
pub fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// Days since 1970 of a date.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = year - i64::from(month <= 2);
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

fn ascii(b: &[u8]) -> &str {
    std::str::from_utf8(b).unwrap_or("")
}
/// RFC 3339 of a time between 1970 and 9999, without allocation.
fn digits(unix: i64) -> [u8; 20] {
    let mut out = *b"0000-00-00T00:00:00Z";
    let mut put = |at: usize, n: usize, mut v: i64| {
        for i in (at..at + n).rev() {
            out[i] = b'0' + (v % 10) as u8;
            v /= 10;
        }
    };
    let (y, m, d) = civil(unix.div_euclid(86_400));
    let s = unix.rem_euclid(86_400);
    for (at, n, v) in [(0, 4, y), (5, 2, m), (8, 2, d), (11, 2, s / 3600), (14, 2, s / 60 % 60), (17, 2, s % 60)] {
        put(at, n, v);
    }
    out
}

/// `2026-01-02T15:04:05Z`, with microseconds `2026-01-02T15:04:05.000006Z`.
pub fn rfc3339(unix: i64, micros: Option<i64>) -> String {
    let (y, m, d) = civil(unix.div_euclid(86_400));
    let s = unix.rem_euclid(86_400);
    let (h, min, s) = (s / 3600, s / 60 % 60, s % 60);
    match micros {
        Some(u) => format!("{y:04}-{m:02}-{d:02}T{h:02}:{min:02}:{s:02}.{u:06}Z"),
        None => format!("{y:04}-{m:02}-{d:02}T{h:02}:{min:02}:{s:02}Z"),
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Parses RFC 3339 as Go's `time.Parse(time.RFC3339, s)` does. Gives seconds since 1970 and nanoseconds.
///
/// # Errors
/// Go's text, `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`.
pub fn parse_rfc3339(s: &str) -> Result<(i64, i64), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    parse_layout(s, LAYOUT, false)
}

/// Parses `metav1.RFC3339Micro` as Go does (its layout wants six decimals).
///
/// # Errors
/// Go's text.
pub fn parse_rfc3339_micro(s: &str) -> Result<(i64, i64), String> {
    parse_layout(s, "2006-01-02T15:04:05.000000Z07:00", true)
}

fn parse_layout(s: &str, layout: &str, micro: bool) -> Result<(i64, i64), String> {
    let quoted = crate::go::time_quote(s);
    let cannot = |rest: &str, elem: &str| {
        Err(format!(
            "parsing time {quoted} as \"{layout}\": cannot parse {} as \"{elem}\"",
            crate::go::time_quote(rest)
        ))
    };
    let range = |what: &str| Err(format!("parsing time {quoted}: {what} out of range"));
    let b = s.as_bytes();
    let mut p = 0;
    let mut fields = [0i64; 6];
    // Each element: how many digits, its name in the layout, and the literal before it.
    let elements: [(usize, &str, &str); 6] =
        [(4, "2006", ""), (2, "01", "-"), (2, "02", "-"), (2, "15", "T"), (2, "04", ":"), (2, "05", ":")];
    for (i, (digits, elem, before)) in elements.iter().enumerate() {
        if !before.is_empty() {
            if b.get(p) != before.as_bytes().first() {
                return cannot(s.get(p..).unwrap_or(""), before);
            }
            p += 1;
        }
        let text = b.get(p..p + digits).filter(|t| t.iter().all(u8::is_ascii_digit));
        // Hours may have one digit.
        let text = match (text, i) {
            (None, 3) => b.get(p..p + 1).filter(|t| t.iter().all(u8::is_ascii_digit)),
            (t, _) => t,
        };
        let Some(text) = text else { return cannot(s.get(p..).unwrap_or(""), elem) };
        for c in text {
            fields[i] = fields[i] * 10 + i64::from(c - b'0');
        }
        p += text.len();
        match i {
            1 if !(1..=12).contains(&fields[1]) => return range("month"),
            3 if fields[3] >= 24 => return range("hour"),
            4 if fields[4] >= 60 => return range("minute"),
            5 if fields[5] >= 60 => return range("second"),
            _ => {}
        }
    }
    let mut nanos = 0;
    let mut decimals = 0;
    if matches!(b.get(p), Some(b'.' | b',')) && b.get(p + 1).is_some_and(u8::is_ascii_digit) {
        let start = p;
        p += 1;
        let mut unit = 100_000_000;
        while let Some(c) = b.get(p).filter(|c| c.is_ascii_digit()) {
            nanos += unit * i64::from(c - b'0');
            unit /= 10;
            decimals += 1;
            p += 1;
        }
        if micro && decimals != 6 {
            return cannot(s.get(start..).unwrap_or(""), ".000000");
        }
    } else if micro {
        return cannot(s.get(p..).unwrap_or(""), ".000000");
    }
    let mut offset = 0;
    match b.get(p) {
        Some(b'Z') => p += 1,
        Some(sign @ (b'+' | b'-')) => {
            let two = |i: usize| {
                b.get(p + i..p + i + 2)
                    .filter(|t| t.iter().all(u8::is_ascii_digit))
                    .map(|t| i64::from(t[0] - b'0') * 10 + i64::from(t[1] - b'0'))
            };
            match (two(1), b.get(p + 3), two(4)) {
                (Some(h), Some(b':'), Some(m)) => {
                    if h > 24 {
                        return range("time zone offset hour");
                    }
                    if m > 60 {
                        return range("time zone offset minute");
                    }
                    offset = h * 3600 + m * 60;
                    if *sign == b'-' {
                        offset = -offset
                    }
                    p += 6;
                }
                _ => return cannot(s.get(p..).unwrap_or(""), "Z07:00"),
            }
        }
        _ => return cannot(s.get(p..).unwrap_or(""), "Z07:00"),
    }
    if p < b.len() {
        return Err(format!("parsing time {quoted}: extra text: {}", crate::go::time_quote(s.get(p..).unwrap_or(""))));
    }
    let [y, m, d, h, min, sec] = fields;
    if d < 1 || d > days_in(y, m) {
        return range("day");
    }
    Ok((days(y, m, d) * 86_400 + h * 3600 + min * 60 + sec - offset, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        let t = 1_767_366_245;
        assert_eq!(Time::from_unix(t).to_string(), "2026-01-02T15:04:05Z");
        assert_eq!(parse_rfc3339("2026-01-02T15:04:05Z"), Ok((t, 0)));
        assert_eq!(parse_rfc3339("2026-01-02T20:34:05.5+05:30"), Ok((t, 500_000_000)));
        assert_eq!(MicroTime::from_unix_micros(t * 1_000_000 + 6).to_string(), "2026-01-02T15:04:05.000006Z");
        assert_eq!(
            parse_rfc3339("x").unwrap_err(),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
        assert_eq!(
            parse_rfc3339("2026-02-30T00:00:00Z").unwrap_err(),
            r#"parsing time "2026-02-30T00:00:00Z": day out of range"#
        );
    }
}
