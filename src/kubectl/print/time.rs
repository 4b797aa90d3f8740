//! Times as Kubernetes writes them in JSON, to and from seconds since 1970.

use api::value::time::{civil, days};

/// Nanoseconds since 1970 of an RFC 3339 time such as `2026-11-29T18:28:01.5Z`.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let mut parts = date.splitn(3, '-').map(|p| p.parse::<i64>().ok());
    let (y, m, d) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, offset) = match time.find(['Z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return None,
    };
    let mut parts = clock.splitn(3, ':');
    let hours: i64 = parts.next()?.parse().ok()?;
    let minutes: i64 = parts.next()?.parse().ok()?;
    let (seconds, fraction) = match parts.next()?.split_once('.') {
        Some((s, f)) => (s.parse::<i64>().ok()?, format!("{f:0<9}").get(..9)?.parse::<i64>().ok()?),
        None => (clock.rsplit(':').next()?.parse::<i64>().ok()?, 0),
    };
    let shift = if offset == "Z" {
        0
    } else {
        let (h, m) = offset.get(1..)?.split_once(':')?;
        let s = h.parse::<i64>().ok()? * 3600 + m.parse::<i64>().ok()? * 60;
        if offset.starts_with('-') { -s } else { s }
    };
    let unix = days(y, m, d).checked_mul(86_400)?.checked_add(hours * 3600 + minutes * 60 + seconds - shift)?;
    unix.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Go's RFC1123Z in UTC: `Sun, 29 Nov 2026 18:28:01 +0000`.
pub fn rfc1123z(nanos: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let unix = nanos.div_euclid(1_000_000_000);
    let days = unix.div_euclid(86_400);
    let (y, m, d) = civil(days);
    let s = unix.rem_euclid(86_400);
    let day = DAYS.get(days.rem_euclid(7) as usize).unwrap_or(&"");
    let month = MONTHS.get((m - 1) as usize).unwrap_or(&"");
    format!("{day}, {d:02} {month} {y:04} {:02}:{:02}:{:02} +0000", s / 3600, s / 60 % 60, s % 60)
}

/// Go's RFC3339 in UTC of seconds: `2026-11-29T18:28:01Z`.
pub fn rfc3339(nanos: i64) -> String {
    let unix = nanos.div_euclid(1_000_000_000);
    let (y, m, d) = civil(unix.div_euclid(86_400));
    let s = unix.rem_euclid(86_400);
    format!("{y:04}-{m:02}-{d:02}T{:02}:{:02}:{:02}Z", s / 3600, s / 60 % 60, s % 60)
}

/// A line of klog, its severity first: `W1129 22:50:05.920015   24555 prune.go:71] text`.
pub fn klog(nanos: i64, severity: char, place: &str, text: &str) -> String {
    let stamp = rfc3339(nanos);
    let part = |from: usize, to: usize| stamp.get(from..to).unwrap_or("");
    let micros = nanos.rem_euclid(1_000_000_000) / 1_000;
    format!("{severity}{}{} {}.{micros:06}   {PROCESS} {place}] {text}\n", part(5, 7), part(8, 10), part(11, 19))
}

/// The number that kubectl's process goes by.
const PROCESS: u32 = 24555;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let t = parse_rfc3339("2026-11-29T18:28:01Z").unwrap_or(0);
        assert_eq!(rfc1123z(t), "Sun, 29 Nov 2026 18:28:01 +0000");
        assert_eq!(rfc3339(t), "2026-11-29T18:28:01Z");
        assert_eq!(parse_rfc3339("1970-01-01T00:00:01.000500Z"), Some(1_000_500_000));
        assert_eq!(parse_rfc3339("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse_rfc3339("nonsense"), None);
    }
}
