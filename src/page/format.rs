//! Numbers, times and names as the page writes them. Digits never change their width's class: every countdown keeps
//! its unit until it has to change it.

use crate::lang::Lang;

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Hours, minutes and seconds of the cluster's wall time (UTC) at `now`.
pub fn clock(epoch_unix_nanos: i64, now: u64) -> String {
    let nanos = i128::from(epoch_unix_nanos) + i128::from(now);
    let seconds = nanos.div_euclid(i128::from(SECOND)).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Thousandths of the second, as `.412`.
pub fn clock_millis(epoch_unix_nanos: i64, now: u64) -> String {
    let nanos = i128::from(epoch_unix_nanos) + i128::from(now);
    format!(".{:03}", nanos.rem_euclid(i128::from(SECOND)) / i128::from(MILLI))
}

/// Both together: the time of a log line.
pub fn clock_full(epoch_unix_nanos: i64, now: u64) -> String {
    let mut text = clock(epoch_unix_nanos, now);
    text.push_str(&clock_millis(epoch_unix_nanos, now));
    text
}

/// Units of time: English words stand apart from their number, Korean ones don't.
fn unit(lang: Lang, en: &'static str) -> &'static str {
    match (lang, en) {
        (Lang::Ko, " ms") => "ms",
        (Lang::Ko, " s") => "초",
        (Lang::Ko, " min") => "분",
        (Lang::Ko, " h") => "시간",
        (_, en) => en,
    }
}

/// A countdown in a sentence: `0.15 s`, `8 s`, `4 min 36 s`, `2 h 5 min`; in Korean `4분 36초`.
pub fn span(lang: Lang, nanos: u64) -> String {
    let (s, m, h) = (unit(lang, " s"), unit(lang, " min"), unit(lang, " h"));
    let seconds = nanos / SECOND;
    if nanos < SECOND {
        format!("{:.2}{s}", nanos as f64 / SECOND as f64)
    } else if nanos < 10 * SECOND {
        let tenths = nanos / (100 * MILLI);
        if tenths.is_multiple_of(10) {
            format!("{}{s}", tenths / 10)
        } else {
            format!("{}.{}{s}", tenths / 10, tenths % 10)
        }
    } else if seconds < 120 {
        format!("{seconds}{s}")
    } else {
        let (large, small) = match seconds < 3600 {
            true => ((seconds / 60, m), (seconds % 60, s)),
            false => ((seconds / 3600, h), (seconds / 60 % 60, m)),
        };
        let rest = if small.0 == 0 { String::new() } else { format!(" {}{}", small.0, small.1) };
        format!("{}{}{rest}", large.0, large.1)
    }
}

/// The same in whole seconds: `8 s`, `4 min 36 s`.
pub fn whole(lang: Lang, nanos: u64) -> String {
    if nanos < SECOND { format!("0{}", unit(lang, " s")) } else { span(lang, nanos / SECOND * SECOND) }
}

/// A lease's rest with one decimal: `13.6 s`.
pub fn tenths(lang: Lang, nanos: u64) -> String {
    format!("{}.{}{}", nanos / SECOND, nanos % SECOND / (100 * MILLI), unit(lang, " s"))
}

/// Age of a heartbeat, where there is little room: `3 s`, `12 min`.
pub fn age(lang: Lang, nanos: u64) -> String {
    let seconds = nanos / SECOND;
    if seconds < 120 {
        format!("{seconds}{}", unit(lang, " s"))
    } else {
        format!("{}{}", seconds / 60, unit(lang, " min"))
    }
}

/// How long after something: `+6 ms`, `+331 ms`, `+1.24 s`, `+41 s`.
pub fn after(lang: Lang, nanos: u64) -> String {
    if nanos < SECOND {
        format!("+{}{}", nanos / MILLI, unit(lang, " ms"))
    } else if nanos < 10 * SECOND {
        format!("+{}.{:02}{}", nanos / SECOND, nanos % SECOND / (10 * MILLI), unit(lang, " s"))
    } else {
        format!("+{}", whole(lang, nanos))
    }
}

/// A latency: `0.8 ms`, `5.2 ms`, `12 ms`, `1.3 s`.
pub fn latency(lang: Lang, micros: u32) -> String {
    if micros < 10_000 {
        format!("{}.{}{}", micros / 1000, micros % 1000 / 100, unit(lang, " ms"))
    } else if micros < 1_000_000 {
        format!("{}{}", micros / 1000, unit(lang, " ms"))
    } else {
        format!("{}.{}{}", micros / 1_000_000, micros % 1_000_000 / 100_000, unit(lang, " s"))
    }
}

/// CPU in cores: `0.30`, `2`, `12.5`.
pub fn cores(milli: u32) -> String {
    let text = format!("{}.{:02}", milli / 1000, milli % 1000 / 10);
    text
}

/// Capacity in cores, without needless decimals: `2`, `3.92`.
pub fn cores_capacity(milli: u32) -> String {
    if milli.is_multiple_of(1000) { (milli / 1000).to_string() } else { cores(milli) }
}

/// Memory in Gi with two digits that matter: `0.18`, `1.5`, `12`.
pub fn gibibytes(mebi: u32) -> String {
    let gi = f64::from(mebi) / 1024.0;
    if gi < 1.0 {
        format!("{gi:.2}")
    } else if gi < 10.0 {
        format!("{gi:.1}")
    } else {
        format!("{gi:.0}")
    }
}

/// Thousands apart: `1,004`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// Bytes of a database: `41 MB`.
pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// A speed: `x1`, `x0.01`.
pub fn speed(milli: u32) -> String {
    if milli.is_multiple_of(1000) {
        format!("x{}", milli / 1000)
    } else {
        let text = format!("x{}.{:03}", milli / 1000, milli % 1000);
        text.trim_end_matches('0').to_string()
    }
}

/// A measured speed: `x0.42`, `x3.7`, `x140`.
pub fn reached(milli: u32) -> String {
    match milli {
        0..1000 => format!("x0.{:02}", milli / 10),
        1000..10_000 => format!("x{}.{}", milli / 1000, milli % 1000 / 100),
        _ => format!("x{}", milli / 1000),
    }
}

/// A pod's name in the part that gives way (generated by its owner) and the part that tells it from its siblings.
/// `web-5487f79886-9xgbx` is (`web-5487f79886-`, `9xgbx`); a name without a generated ending stays whole.
pub fn split_name(name: &str) -> (&str, &str) {
    match name.rfind('-') {
        Some(at) => {
            let tail = &name[at + 1..];
            let generated = tail.len() == 5 && tail.bytes().all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b));
            let ordinal = !tail.is_empty() && tail.len() <= 4 && tail.bytes().all(|b| b.is_ascii_digit());
            if generated || ordinal { name.split_at(at + 1) } else { ("", name) }
        }
        None => ("", name),
    }
}

/// A short form for small chips: `coredns-…4xkqz`, `kube-proxy` (its generated ending says nothing: one a node).
pub fn short_name(name: &str, owner: &str) -> String {
    let (head, tail) = split_name(name);
    if head.is_empty() {
        return name.to_string();
    }
    if let Some(set) = owner.strip_prefix("daemonset/") {
        return set.to_string();
    }
    let mut base = head.trim_end_matches('-');
    if owner.starts_with("replicaset/")
        && let Some(at) = base.rfind('-')
    {
        base = &base[..at];
    }
    if base.len() > 12 { format!("…{tail}") } else { format!("{base}-…{tail}") }
}

/// The last part of a generated name for a sentence: `9xgbx`, or the whole name.
pub fn suffix(name: &str) -> &str {
    split_name(name).1
}

/// A request's target with the pod's name cut from the front: `pods/web-5487f79886-9xgbx/status` becomes
/// `pods/…-9xgbx/status`.
pub fn short_target(target: &str) -> String {
    let mut parts: Vec<String> = target.split('/').map(str::to_string).collect();
    if let Some(part) = parts.get_mut(1) {
        let (head, tail) = split_name(part);
        if head.len() > 4 {
            *part = format!("…-{tail}");
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let epoch = 1_767_199_540_000_000_000; // 2025-12-31T16:45:40Z
        assert_eq!(clock_full(epoch, 412 * MILLI), "16:45:40.412");
        assert_eq!(clock(epoch, 8 * 3600 * SECOND), "00:45:40");
        assert_eq!(clock(-(SECOND as i64), 0), "23:59:59");
        assert_eq!(span(Lang::En, 150 * MILLI), "0.15 s");
        assert_eq!(span(Lang::En, 8 * SECOND), "8 s");
        assert_eq!(span(Lang::En, 276 * SECOND), "4 min 36 s");
        assert_eq!(span(Lang::Ko, 276 * SECOND), "4분 36초");
        assert_eq!(span(Lang::En, 300 * SECOND), "5 min");
        assert_eq!(span(Lang::En, 7200 * SECOND), "2 h");
        assert_eq!(span(Lang::Ko, 7500 * SECOND), "2시간 5분");
        assert_eq!(whole(Lang::En, 3999 * MILLI), "3 s");
        assert_eq!(whole(Lang::Ko, 999 * MILLI), "0초");
        assert_eq!(tenths(Lang::En, 13 * SECOND + 649 * MILLI), "13.6 s");
        assert_eq!(tenths(Lang::Ko, 13 * SECOND + 649 * MILLI), "13.6초");
        assert_eq!((age(Lang::En, 119 * SECOND), age(Lang::Ko, 130 * SECOND)), ("119 s".into(), "2분".into()));
        assert_eq!(after(Lang::En, 331 * MILLI), "+331 ms");
        assert_eq!(after(Lang::Ko, 1240 * MILLI), "+1.24초");
        assert_eq!(after(Lang::En, 150 * SECOND), "+2 min 30 s");
        assert_eq!((latency(Lang::En, 5_240), latency(Lang::Ko, 5_240)), ("5.2 ms".into(), "5.2ms".into()));
    }

    #[test]
    fn amounts() {
        assert_eq!(cores(300), "0.30");
        assert_eq!(cores_capacity(2000), "2");
        assert_eq!(gibibytes(184), "0.18");
        assert_eq!(gibibytes(1946), "1.9");
        assert_eq!(count(1004), "1,004");
        assert_eq!(count(999), "999");
        assert_eq!(speed(1000), "x1");
        assert_eq!(speed(10), "x0.01");
        assert_eq!(speed(1_000_000), "x1000");
        assert_eq!((reached(140_312), reached(3_780), reached(420)), ("x140".into(), "x3.7".into(), "x0.42".into()));
    }

    #[test]
    fn names() {
        assert_eq!(split_name("web-5487f79886-9xgbx"), ("web-5487f79886-", "9xgbx"));
        assert_eq!(split_name("redis-0"), ("redis-", "0"));
        assert_eq!(split_name("huge"), ("", "huge"));
        assert_eq!(split_name("my-application"), ("", "my-application"));
        assert_eq!(short_name("coredns-674b8bbfcf-4xkqz", "replicaset/coredns-674b8bbfcf"), "coredns-…4xkqz");
        assert_eq!(short_name("kube-proxy-x2lqd", "daemonset/kube-proxy"), "kube-proxy");
        assert_eq!(short_target("pods/web-5487f79886-9xgbx/status"), "pods/…-9xgbx/status");
        assert_eq!(short_target("deployments/web"), "deployments/web");
        assert_eq!(short_target("pods"), "pods");
    }
}
