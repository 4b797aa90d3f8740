//! Schedules of CronJobs (robfig/cron's standard parser and `SpecSchedule`): what it refuses, in its words, and when a
//! schedule comes next.

use crate::timezone::TimeZone;
use crate::value::time::{civil, days};
use crate::{duration, go};

const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;
/// A field of its values that was given as `*`: what is left open asks nothing of the day.
const STAR: u64 = 1 << 63;
/// What a schedule that never comes has for its next time: Go's zero time, in seconds since 1970.
pub const NEVER: i64 = -62_135_596_800;

/// When something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// At times by the clocks of a zone.
    Times(Times),
    /// So many seconds after the last time.
    Every(i64),
}

/// Times by the clocks of a zone. Of each field one bit for each value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    minute: u64,
    hour: u64,
    day: u64,
    month: u64,
    weekday: u64,
    zone: TimeZone,
}

struct Bounds {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Bounds; 5] = [
    Bounds { min: 0, max: 59, names: &[] },
    Bounds { min: 0, max: 23, names: &[] },
    Bounds { min: 1, max: 31, names: &[] },
    Bounds { min: 1, max: 12, names: MONTHS },
    Bounds { min: 0, max: 6, names: DAYS },
];

impl Schedule {
    /// Reads a schedule, whose zone it may name: `TZ=Asia/Seoul 0 9 * * 1-5`.
    ///
    /// # Errors
    /// The parser's text.
    pub fn parse(schedule: &str) -> Result<Schedule, String> {
        let (mut rest, mut zone) = (schedule, TimeZone::UTC);
        if rest.starts_with("TZ=") || rest.starts_with("CRON_TZ=") {
            let (named, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let name = named.split_once('=').map_or("", |(_, name)| name);
            zone = TimeZone::named(name)
                .ok_or_else(|| format!("provided bad location {name}: unknown time zone {name}"))?;
            rest = after.trim();
        }
        if rest.starts_with('@') {
            return descriptor(rest, zone);
        }
        let given: Vec<&str> = rest.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = given[..] else {
            return Err(format!(
                "expected exactly {} fields, found {}: [{}]",
                FIELDS.len(),
                given.len(),
                given.join(" ")
            ));
        };
        let [minutes, hours, days, months, weekdays] = &FIELDS;
        Ok(Schedule::Times(Times {
            minute: field(minute, minutes)?,
            hour: field(hour, hours)?,
            day: field(day, days)?,
            month: field(month, months)?,
            weekday: field(weekday, weekdays)?,
            zone,
        }))
    }

    /// The first time after `unix` seconds since 1970; [`NEVER`] if there is none within five years.
    pub fn next(&self, unix: i64) -> i64 {
        match self {
            Schedule::Every(seconds) => unix.saturating_add(*seconds),
            Schedule::Times(times) => {
                let mut clock = Clock { unix: unix.saturating_add(1), zone: times.zone, moved: false };
                let last_year = clock.date().0 + 5;
                while clock.date().0 <= last_year {
                    if clock.reach(times) {
                        return clock.unix;
                    }
                }
                NEVER
            }
        }
    }
}

fn has(bits: u64, value: i64) -> bool {
    u32::try_from(value).is_ok_and(|v| bits.checked_shr(v).unwrap_or(0) & 1 == 1)
}

impl Times {
    /// Whether both the day of the month and the weekday are right; if both are given, one of them is enough.
    fn has_day(&self, day: i64, weekday: i64) -> bool {
        let (by_day, by_weekday) = (has(self.day, day), has(self.weekday, weekday));
        if self.day & STAR != 0 || self.weekday & STAR != 0 { by_day && by_weekday } else { by_day || by_weekday }
    }
}

/// The search for the next time, which goes field by field and starts over when one wraps around.
struct Clock {
    unix: i64,
    zone: TimeZone,
    /// Whether a field was moved already, so that the smaller ones stand at their beginning.
    moved: bool,
}

impl Clock {
    fn shown(&self) -> i64 {
        self.unix.saturating_add(self.zone.offset(self.unix))
    }

    fn date(&self) -> (i64, i64, i64) {
        civil(self.shown().div_euclid(DAY))
    }

    fn hour(&self) -> i64 {
        self.shown().rem_euclid(DAY) / 3600
    }

    fn minute(&self) -> i64 {
        self.shown().rem_euclid(3600) / 60
    }

    /// To the beginning of a day, which may be beyond the end of its month.
    fn start_day(&mut self, year: i64, month: i64, day: i64) {
        let (year, month) = if month > 12 { (year + 1, month - 12) } else { (year, month) };
        self.unix = self.zone.at((days(year, month, 1) + day - 1) * DAY);
    }

    /// Goes to a time at which all fields are right; false if it wrapped around and must go on.
    fn reach(&mut self, times: &Times) -> bool {
        loop {
            let (year, month, _) = self.date();
            if has(times.month, month) {
                break;
            }
            self.moved = true;
            self.start_day(year, month + 1, 1);
            if month == 12 {
                return false;
            }
        }
        loop {
            let (year, month, day) = self.date();
            // 1970 began on a Thursday.
            if times.has_day(day, (self.shown().div_euclid(DAY) + 4).rem_euclid(7)) {
                break;
            }
            self.moved = true;
            self.start_day(year, month, day + 1);
            // Where the clocks change at midnight, the day begins an hour off.
            match self.hour() {
                0 => {}
                hour if hour > 12 => self.unix += (24 - hour) * 3600,
                hour => self.unix -= hour * 3600,
            }
            if self.date().2 == 1 {
                return false;
            }
        }
        while !has(times.hour, self.hour()) {
            if !self.moved {
                self.moved = true;
                self.unix = self.zone.at(self.shown().div_euclid(3600) * 3600);
            }
            self.unix += 3600;
            if self.hour() == 0 {
                return false;
            }
        }
        while !has(times.minute, self.minute()) {
            self.moved = true;
            self.unix = self.unix.div_euclid(60) * 60 + 60;
            if self.minute() == 0 {
                return false;
            }
        }
        // The second is always 0.
        if self.unix.rem_euclid(60) != 0 {
            self.moved = true;
            self.unix = self.unix.div_euclid(60) * 60 + 60;
            return false;
        }
        true
    }
}

fn descriptor(text: &str, zone: TimeZone) -> Result<Schedule, String> {
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => {
            let Some(every) = text.strip_prefix("@every ") else {
                return Err(format!("unrecognized descriptor: {text}"));
            };
            let nanos = duration::parse(every).map_err(|err| format!("failed to parse duration {text}: {err}"))?;
            return Ok(Schedule::Every((nanos / NANOS).max(1)));
        }
    };
    Schedule::parse(fields).map(|schedule| match schedule {
        Schedule::Times(times) => Schedule::Times(Times { zone, ..times }),
        every => every,
    })
}

fn field(text: &str, bounds: &Bounds) -> Result<u64, String> {
    text.split(',').filter(|part| !part.is_empty()).try_fold(0, |bits, part| Ok(bits | range(part, bounds)?))
}

fn range(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps.first().copied().unwrap_or("").split('-').collect();
    let first = ends.first().copied().unwrap_or("");
    let (start, mut end);
    let mut star = 0;
    if matches!(first, "*" | "?") {
        (start, end) = (bounds.min, bounds.max);
        star = STAR;
    } else {
        start = number_or_name(first, bounds)?;
        end = match ends.as_slice() {
            [_] => start,
            [_, last] => number_or_name(last, bounds)?,
            _ => return Err(format!("too many hyphens: {text}")),
        };
    }
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            // `5/15` runs to the end.
            if ends.len() == 1 {
                end = bounds.max;
            }
            if step > 1 {
                star = 0;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < bounds.min {
        return Err(format!("beginning of range ({start}) below minimum ({}): {text}", bounds.min));
    }
    if end > bounds.max {
        return Err(format!("end of range ({end}) above maximum ({}): {text}", bounds.max));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok((start..=end).step_by(step as usize).fold(star, |bits, value| bits | 1 << value))
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(i) => Ok(i as u32 + bounds.min),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    let wrong =
        |why: &str| format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", go::quote(text));
    match text.parse::<i64>() {
        Ok(n) if n < 0 => Err(format!("negative number ({n}) not allowed: {text}")),
        Ok(n) => u32::try_from(n).map_err(|_| wrong("value out of range")),
        Err(_) => Err(wrong("invalid syntax")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for good in ["*/5 * * * *", "0 0 1 jan Mon-Fri", "@hourly", "@every 1h30m", "5/15 0-23/2 ? * 0,6"] {
            assert_eq!(Schedule::parse(good).map(drop), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-2 * * * *", "beginning of range (5) beyond end of range (2): 5-2"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("@often", "unrecognized descriptor: @often"),
        ] {
            assert_eq!(Schedule::parse(bad), Err(why.to_string()), "{bad}");
        }
    }

    /// Times as robfig/cron gives them.
    #[test]
    fn the_next_time() {
        let at = |text: &str| crate::value::time::parse_rfc3339(text).unwrap().0;
        for (schedule, from, next) in [
            ("* * * * *", "2026-11-29T16:50:57Z", "2026-11-29T16:51:00Z"),
            ("* * * * *", "2026-11-29T16:51:00Z", "2026-11-29T16:52:00Z"),
            ("*/15 * * * *", "2026-11-29T16:50:57Z", "2026-11-29T17:00:00Z"),
            ("0 9 * * 1-5", "2026-11-28T10:00:00Z", "2026-11-30T09:00:00Z"),
            ("0 0 29 feb ?", "2026-11-28T10:00:00Z", "2028-02-29T00:00:00Z"),
            // Both days given: either will do.
            ("0 0 13 * 5", "2026-11-28T10:00:00Z", "2026-12-04T00:00:00Z"),
            ("30 23 31 12 *", "2026-11-28T10:00:00Z", "2026-12-31T23:30:00Z"),
            ("@hourly", "2026-11-29T16:50:57Z", "2026-11-29T17:00:00Z"),
            ("@weekly", "2026-11-29T16:50:57Z", "2026-12-06T00:00:00Z"),
            ("@every 90s", "2026-11-29T16:50:57Z", "2026-11-29T16:52:27Z"),
            ("TZ=Asia/Seoul 0 9 * * *", "2026-11-29T16:50:57Z", "2026-11-30T00:00:00Z"),
            // Half past two does not come on the day that the clocks go forward.
            ("TZ=America/New_York 30 2 * * *", "2026-03-08T05:00:00Z", "2026-03-09T06:30:00Z"),
        ] {
            assert_eq!(Schedule::parse(schedule).unwrap().next(at(from)), at(next), "{schedule} after {from}");
        }
        assert_eq!(Schedule::parse("59 23 31 2 *").unwrap().next(at("2026-11-29T16:50:57Z")), NEVER);
    }
}
