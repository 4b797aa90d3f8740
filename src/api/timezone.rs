//! Time zones by name, and what their clocks show.
//!
//! Of the IANA database it holds the rules in force, which is what a cluster of these years needs; clocks of the past,
//! and Morocco's hour of the Ramadan, are not in them.

mod table;

use crate::value::time::{civil, days};

const DAY: i64 = 86_400;

/// A time zone: how far its clocks are ahead of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeZone {
    /// Seconds east of UTC without daylight saving.
    standard: i64,
    summer: Option<Summer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summer {
    /// Seconds east of UTC while it lasts.
    offset: i64,
    start: Change,
    end: Change,
}

/// The `week`th `weekday` of a month (the last, if `week` is 5), so many seconds after its midnight by the clock that
/// is about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    month: i64,
    week: i64,
    weekday: i64,
    seconds: i64,
}

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone { standard: 0, summer: None };

    /// A zone of the IANA database by its name; the empty name is UTC (Go's `time.LoadLocation`).
    pub fn named(name: &str) -> Option<TimeZone> {
        if name.is_empty() {
            return Some(TimeZone::UTC);
        }
        let (rule, _) = table::RULES.iter().find(|(_, names)| names.split(' ').any(|n| n == name))?;
        TimeZone::parse(rule)
    }

    /// A zone as POSIX writes it: `EST5EDT,M3.2.0,M11.1.0`.
    fn parse(rule: &str) -> Option<TimeZone> {
        let mut parts = rule.split(',');
        let rest = skip_name(parts.next()?)?;
        let (behind, rest) = clock(rest)?;
        let standard = -behind;
        if rest.is_empty() {
            return Some(TimeZone { standard, summer: None });
        }
        let rest = skip_name(rest)?;
        let offset = if rest.is_empty() { standard + 3600 } else { -clock(rest)?.0 };
        let (start, end) = (change(parts.next()?)?, change(parts.next()?)?);
        Some(TimeZone { standard, summer: Some(Summer { offset, start, end }) })
    }

    /// Seconds that its clocks are ahead of UTC at a moment, in seconds since 1970.
    pub fn offset(&self, unix: i64) -> i64 {
        let Some(summer) = self.summer else { return self.standard };
        let (year, ..) = civil(unix.saturating_add(self.standard).div_euclid(DAY));
        let start = summer.start.in_year(year) - self.standard;
        let end = summer.end.in_year(year) - summer.offset;
        let is_summer = if start < end { start <= unix && unix < end } else { !(end <= unix && unix < start) };
        if is_summer { summer.offset } else { self.standard }
    }

    /// The moment at which its clocks show a time, given as if it were UTC, in seconds since 1970 (Go's `time.Date`).
    /// Where the clocks skip that time or show it twice, one of the moments nearby.
    pub fn at(&self, shown: i64) -> i64 {
        match self.offset(shown) {
            0 => shown,
            offset => shown - self.offset(shown - offset),
        }
    }
}

impl Change {
    /// When it is by the zone's clocks, as if they showed UTC, in seconds since 1970.
    fn in_year(&self, year: i64) -> i64 {
        let first = days(year, self.month, 1);
        let next_month = if self.month == 12 { days(year + 1, 1, 1) } else { days(year, self.month + 1, 1) };
        // 1970 began on a Thursday.
        let weekday = (first + 4).rem_euclid(7);
        let mut day = first + (self.weekday - weekday).rem_euclid(7) + 7 * (self.week - 1);
        while day >= next_month {
            day -= 7;
        }
        day * DAY + self.seconds
    }
}

/// The rest after a zone's abbreviation.
fn skip_name(text: &str) -> Option<&str> {
    match text.strip_prefix('<') {
        Some(rest) => rest.split_once('>').map(|(_, rest)| rest),
        None => Some(text.trim_start_matches(|c: char| c.is_ascii_alphabetic())),
    }
}

/// `-5:30`, `4` as seconds, and the rest.
fn clock(text: &str) -> Option<(i64, &str)> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (hours, mut rest) = number(text)?;
    let mut seconds = hours * 3600;
    if let Some(after) = rest.strip_prefix(':') {
        let (minutes, after) = number(after)?;
        seconds += minutes * 60;
        rest = after;
    }
    Some((sign * seconds, rest))
}

fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// `M3.2.0/2`
fn change(text: &str) -> Option<Change> {
    let (day, time) = text.strip_prefix('M')?.split_once('/').map_or((text.get(1..)?, "2"), |(d, t)| (d, t));
    let mut parts = day.split('.').map(|n| n.parse::<i64>().ok());
    let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
    Some(Change { month, week, weekday, seconds: clock(time)?.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of 2026, and the hours that Go's time package says.
    #[test]
    fn clocks() {
        let summer = 1_783_000_000; // 2 July
        let winter = 1_795_975_200; // 29 November
        for (name, in_summer, in_winter) in [
            ("Asia/Seoul", 9.0, 9.0),
            ("Asia/Kolkata", 5.5, 5.5),
            ("America/New_York", -4.0, -5.0),
            ("Europe/Dublin", 1.0, 0.0),
            ("Australia/Sydney", 10.0, 11.0),
            ("America/Nuuk", -1.0, -2.0),
            ("", 0.0, 0.0),
        ] {
            let zone = TimeZone::named(name).unwrap();
            assert_eq!(zone.offset(summer) as f64 / 3600.0, in_summer, "{name}");
            assert_eq!(zone.offset(winter) as f64 / 3600.0, in_winter, "{name}");
        }
        assert_eq!(TimeZone::named("Asia/Nowhere"), None);
        for (rule, names) in table::RULES {
            assert!(TimeZone::parse(rule).is_some(), "{rule} {names}");
        }
    }

    #[test]
    fn the_hour_that_is_skipped_and_the_one_that_comes_twice() {
        let zone = TimeZone::named("America/New_York").unwrap();
        // 8 March 2026 at 02:00 and 1 November 2026 at 02:00.
        let (spring, autumn) = (1_772_953_200, 1_793_512_800);
        assert_eq!((zone.offset(spring - 1), zone.offset(spring)), (-5 * 3600, -4 * 3600));
        assert_eq!((zone.offset(autumn - 1), zone.offset(autumn)), (-4 * 3600, -5 * 3600));
        // As Go reads the hour that is skipped: by the clocks after it.
        assert_eq!(zone.at(spring - 5 * 3600), spring - 3600);
    }
}
