//! `date`

use super::{complain, say};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The world's time in UTC, as a format says: `date +%s`.
pub fn run(ctx: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let mut format = "%a %b %e %H:%M:%S UTC %Y".to_string();
        let mut at = ctx.unix_nanos();
        let mut words = process.args.iter().skip(1);
        while let Some(word) = words.next() {
            let given = match word.as_str() {
                "-d" | "--date" => Some(words.next().map_or("", String::as_str)),
                _ => word.strip_prefix("--date=").or_else(|| word.strip_prefix("-d")),
            };
            if let Some(given) = given {
                match read(given, at) {
                    Some(moment) => at = moment,
                    None => {
                        complain(&process, &format!("date: invalid date '{given}'")).await;
                        return 1;
                    }
                }
                continue;
            }
            match word.as_str() {
                "-u" | "--utc" => {}
                "-I" | "--iso-8601" => format = "%Y-%m-%d".to_string(),
                "-Is" | "--iso-8601=seconds" => format = "%Y-%m-%dT%H:%M:%S+00:00".to_string(),
                "-R" => format = "%a, %d %b %Y %H:%M:%S +0000".to_string(),
                _ => match word.strip_prefix('+') {
                    Some(given) => format = given.to_string(),
                    None => {
                        complain(&process, &format!("date: invalid date '{word}'")).await;
                        return 1;
                    }
                },
            }
        }
        let text = write(at, &format);
        say(&process, format!("{text}\n").as_bytes()).await.err().unwrap_or(0)
    })
}

/// A moment that a text names, in nanoseconds since 1970: `now`, `@SECONDS`, `2026-11-29T18:28:02Z`, `2026-11-29 18:28`.
fn read(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || text == "now" {
        return Some(now);
    }
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000);
    }
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut parts = date.splitn(3, '-').map(|p| p.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(0..=9_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days from civil (Howard Hinnant's algorithm).
    let y = if month <= 2 { year - 1 } else { year };
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let (era, yoe) = (y.div_euclid(400), y.rem_euclid(400));
    let days = era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468;
    let time = time.trim_end_matches("UTC").trim_end_matches('Z').trim_end_matches("+00:00").trim();
    let mut clock =
        time.split(':').filter(|p| !p.is_empty()).map(|p| p.split('.').next().unwrap_or(p).parse::<i64>().ok());
    let mut next = || clock.next().unwrap_or(Some(0));
    let (hour, minute, second) = (next()?, next()?, next()?);
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    (days * 86_400 + hour * 3_600 + minute * 60 + second).checked_mul(1_000_000_000)
}

/// A moment in nanoseconds since 1970, as strftime(3) writes it.
pub fn write(unix_nanos: i64, format: &str) -> String {
    let seconds = unix_nanos.div_euclid(1_000_000_000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Civil from days (Howard Hinnant's algorithm).
    let z = days + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let name = |names: &'static [&'static str], at: i64| {
        usize::try_from(at).ok().and_then(|i| names.get(i)).copied().unwrap_or("")
    };
    let (month_name, day_name) = (name(&MONTHS, month - 1), name(&DAYS, days.rem_euclid(7)));
    let short = |name: &'static str| name.get(..3).unwrap_or(name);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out.push_str(&year.to_string()),
            Some('y') => out.push_str(&format!("{:02}", year.rem_euclid(100))),
            Some('m') => out.push_str(&format!("{month:02}")),
            Some('d') => out.push_str(&format!("{day:02}")),
            Some('e') => out.push_str(&format!("{day:2}")),
            Some('H') => out.push_str(&format!("{hour:02}")),
            Some('M') => out.push_str(&format!("{minute:02}")),
            Some('S') => out.push_str(&format!("{second:02}")),
            Some('s') => out.push_str(&seconds.to_string()),
            Some('N') => out.push_str(&format!("{:09}", unix_nanos.rem_euclid(1_000_000_000))),
            Some('a') => out.push_str(short(day_name)),
            Some('A') => out.push_str(day_name),
            Some('b' | 'h') => out.push_str(short(month_name)),
            Some('B') => out.push_str(month_name),
            Some('F') => out.push_str(&format!("{year}-{month:02}-{day:02}")),
            Some('T') => out.push_str(&format!("{hour:02}:{minute:02}:{second:02}")),
            Some('R') => out.push_str(&format!("{hour:02}:{minute:02}")),
            Some('Z') => out.push_str("UTC"),
            Some('z') => out.push_str("+0000"),
            Some('n') => out.push('\n'),
            Some('%') => out.push('%'),
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push('%'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written() {
        let at = 1_795_976_882_000_000_000;
        assert_eq!(write(at, "%a %b %e %H:%M:%S UTC %Y"), "Sun Nov 29 18:28:02 UTC 2026");
        assert_eq!(write(at, "%F %T %s %%"), "2026-11-29 18:28:02 1795976882 %");
        assert_eq!(write(951_782_400_000_000_000, "%B %d"), "February 29");
        let second = 1_000_000_000;
        assert_eq!(read("2026-11-29T18:28:02Z", 0), Some(1_795_976_882 * second));
        assert_eq!(read("2000-02-29", 0), Some(951_782_400 * second));
        assert_eq!(read("@5", 0), Some(5 * second));
        assert_eq!(read("now", 7), Some(7));
        for text in ["yesterdayish", "2026-13-01", "2026-11-29T25:00", "@9999999999999999999", "2026-11"] {
            assert_eq!(read(text, 0), None, "{text}");
        }
    }
}
