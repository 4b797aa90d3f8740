//! Go's spelling of durations.

use sim::Duration;

/// As Go's `Duration.String`: `1m5s`, `1.5s`, `65ms`, `0s`.
pub fn duration(time: Duration) -> String {
    let nanos = time.as_nanos();
    if nanos == 0 {
        return "0s".to_string();
    }
    let fraction = |value: u128, unit: u128, digits: usize, name: &str| {
        let rest = format!("{:0digits$}", value % unit);
        let rest = rest.trim_end_matches('0');
        if rest.is_empty() { format!("{}{name}", value / unit) } else { format!("{}.{rest}{name}", value / unit) }
    };
    if nanos < 1_000 {
        return format!("{nanos}ns");
    }
    if nanos < 1_000_000 {
        return fraction(nanos, 1_000, 3, "µs");
    }
    if nanos < 1_000_000_000 {
        return fraction(nanos, 1_000_000, 6, "ms");
    }
    let (hours, minutes) = (nanos / 3_600_000_000_000, nanos / 60_000_000_000 % 60);
    let seconds = fraction(nanos % 60_000_000_000, 1_000_000_000, 9, "s");
    match (hours, minutes) {
        (0, 0) => seconds,
        (0, m) => format!("{m}m{seconds}"),
        (h, m) => format!("{h}h{m}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spelt() {
        let rows = [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (65_000_000, "65ms"),
            (1_500_000_000, "1.5s"),
            (300_000_000_000, "5m0s"),
            (3_661_000_000_000, "1h1m1s"),
        ];
        for (nanos, text) in rows {
            assert_eq!(duration(Duration::from_nanos(nanos)), text);
        }
    }
}
