//! stress: programs that hold CPUs and memory (Kubernetes' documentation uses it to show limits).

use super::{BASE, Repository, tag};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use shell::process::LocalFuture;
use sim::Duration;

pub const STRESS: Repository = Repository {
    path: "polinux/stress",
    tags: &[tag("latest", "1.0.4", 4_041_495), tag("1.0.4", "1.0.4", 4_041_495)],
    cmd: &["stress", "--verbose"],
    programs: &[("stress", start)],
    base: super::Base::Busybox,
    ..BASE
};

/// Bytes a second that one worker fills.
const FILLED: i64 = 1 << 30;

/// `250M` in bytes: b, k, m, g in powers of 1,024.
fn bytes(text: &str) -> Option<i64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(1 << shift)
}

/// `10s` in seconds.
fn seconds(text: &str) -> Option<u64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (mut cpu, mut io, mut vm, mut hdd) = (0i64, 0i64, 0i64, 0i64);
        let (mut size, mut time) = (256 << 20, None);
        let mut words = guest.process.args.iter().skip(1);
        while let Some(word) = words.next() {
            let (flag, attached) = word.split_once('=').map_or((word.as_str(), None), |(f, v)| (f, Some(v)));
            let mut value = || attached.map(str::to_string).or_else(|| words.next().cloned()).unwrap_or_default();
            let mut count = |into: &mut i64| *into = value().parse().unwrap_or(0);
            match flag {
                "-c" | "--cpu" => count(&mut cpu),
                "-i" | "--io" => count(&mut io),
                "-m" | "--vm" => count(&mut vm),
                "-d" | "--hdd" => count(&mut hdd),
                "--vm-bytes" => match bytes(&value()) {
                    Some(given) => size = given,
                    None => {
                        guest.warn("stress: FAIL: [1] (244) incorrect argument: --vm-bytes");
                        return 1;
                    }
                },
                "-t" | "--timeout" => time = seconds(&value()),
                "--vm-hang" | "--vm-stride" | "--hdd-bytes" | "--backoff" => drop(value()),
                "--vm-keep" | "-v" | "--verbose" | "-q" | "--quiet" | "-n" | "--dry-run" => {}
                _ => {
                    guest.warn(format!("stress: FAIL: [1] (244) unrecognized option: {word}"));
                    return 1;
                }
            }
        }
        if cpu + io + vm + hdd <= 0 {
            return 0;
        }
        guest.say(format!("stress: info: [1] dispatching hogs: {cpu} cpu, {io} io, {vm} vm, {hdd} hdd"));
        let work = async {
            let wanted = size.saturating_mul(vm.max(0));
            let mut held = 0;
            while held < wanted {
                // A tenth of a second's worth at a time.
                let part = (FILLED / 10).min(wanted - held);
                guest.ctx.sleep(Duration::from_millis(100)).await;
                guest.machine.memory.take(part);
                held += part;
            }
            match time {
                Some(seconds) => guest.ctx.sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending::<()>().await,
            }
            held
        };
        let stop = guest.signals.wait_for(&[Signal::Term, Signal::Int]);
        futures_util::pin_mut!(work, stop);
        match futures_util::future::select(work, stop).await {
            futures_util::future::Either::Left((held, _)) => {
                guest.machine.memory.give_back(held);
                guest.say(format!("stress: info: [1] successful run completed in {}s", time.unwrap_or(0)));
                0
            }
            futures_util::future::Either::Right((signal, _)) => {
                guest.warn(format!("stress: FAIL: [1] (415) <-- worker 7 got signal {}", signal.number()));
                1
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(bytes("250M"), Some(250 << 20));
        assert_eq!(bytes("1g"), Some(1 << 30));
        assert_eq!(bytes("x"), None);
        assert_eq!(seconds("2m"), Some(120));
    }
}
