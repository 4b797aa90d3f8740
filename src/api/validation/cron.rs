//! Schedules of CronJobs: what robfig/cron's standard parser refuses, in its words.

use crate::go;

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

/// Whether a schedule can be read.
///
/// # Errors
/// The parser's text.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if rest.starts_with("TZ=") || rest.starts_with("CRON_TZ=") {
        let (zone, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let zone = zone.split_once('=').map_or("", |(_, zone)| zone);
        if !known_time_zone(zone) {
            return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
        }
        rest = after.trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            FIELDS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    for (text, bounds) in fields.into_iter().zip(&FIELDS) {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            range(part, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    if matches!(text, "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly") {
        return Ok(());
    }
    match text.strip_prefix("@every ") {
        Some(duration) if is_duration(duration) => Ok(()),
        Some(duration) => {
            Err(format!("failed to parse duration {text}: time: invalid duration {}", go::quote(duration)))
        }
        None => Err(format!("unrecognized descriptor: {text}")),
    }
}

/// `1h30m`, `1.5s`
fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if after.len() == rest.len() {
            return false;
        }
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"]
            .into_iter()
            .filter(|u| after.starts_with(u))
            .max_by_key(|u| u.len());
        let Some(unit) = unit else { return false };
        rest = after.strip_prefix(unit).unwrap_or("");
    }
    true
}

fn range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps.first().copied().unwrap_or("").split('-').collect();
    let first = ends.first().copied().unwrap_or("");
    let (start, mut end);
    if matches!(first, "*" | "?") {
        (start, end) = (bounds.min, bounds.max);
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
    Ok(())
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

/// Whether it can be the name of a zone of the IANA database: its regions and the zones beside them.
pub(super) fn known_time_zone(name: &str) -> bool {
    const REGIONS: [&str; 17] = [
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Brazil",
        "Canada",
        "Chile",
        "Etc",
        "Europe",
        "Indian",
        "Mexico",
        "Pacific",
        "US",
        "SystemV",
    ];
    const ALONE: [&str; 44] = [
        "CET",
        "CST6CDT",
        "Cuba",
        "EET",
        "EST",
        "EST5EDT",
        "Egypt",
        "Eire",
        "Factory",
        "GB",
        "GB-Eire",
        "GMT",
        "GMT+0",
        "GMT-0",
        "GMT0",
        "Greenwich",
        "HST",
        "Hongkong",
        "Iceland",
        "Iran",
        "Israel",
        "Jamaica",
        "Japan",
        "Kwajalein",
        "Libya",
        "MET",
        "MST",
        "MST7MDT",
        "NZ",
        "NZ-CHAT",
        "Navajo",
        "PRC",
        "PST8PDT",
        "Poland",
        "Portugal",
        "ROC",
        "ROK",
        "Singapore",
        "Turkey",
        "UCT",
        "UTC",
        "Universal",
        "WET",
        "Zulu",
    ];
    match name.split_once('/') {
        Some((region, place)) => REGIONS.contains(&region) && !place.is_empty(),
        None => ALONE.contains(&name) || name == "W-SU",
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules() {
        for good in ["*/5 * * * *", "0 0 1 jan Mon-Fri", "@hourly", "@every 1h30m", "5/15 0-23/2 ? * 0,6"] {
            assert_eq!(check(good), Ok(()), "{good}");
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
            assert_eq!(check(bad), Err(why.to_string()), "{bad}");
        }
    }
}
