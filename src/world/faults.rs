//! The fault command: `cluster stop|start|kill NAME...` and its kin. Grammar only; `crate::machine` does it.

use sim::Duration;
use std::fmt;

/// What a fault is about: a component's name, all of a kind, a node, or a part of one.
pub type Name = String;

/// One line of the fault command.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// SIGTERM; for a node, power off.
    Stop(Vec<Name>),
    /// Start what is stopped; for a node, boot.
    Start(Vec<Name>),
    /// SIGKILL; for a node, power off.
    Kill(Vec<Name>),
    /// Cut the way between two, or between one and everybody.
    Cut(Name, Option<Name>),
    /// End cuts: between two, of one, or all.
    Heal(Option<Name>, Option<Name>),
    /// Make the way between two slower; zero ends it.
    SlowLink(Name, Name, Duration),
    /// Make the fsync of a machine's disk slower; zero ends it.
    SlowDisk(Name, Duration),
    /// Fill a node's memory or disk to a share.
    Fill(Name, Filled, f64),
    /// Make a controller skip a share of its loops; zero ends it.
    Skip(Name, f64),
    /// List what is on.
    Status,
    /// End all.
    Restore,
}

/// What of a node is filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filled {
    /// Its memory.
    Memory,
    /// Its disk.
    Disk,
}

/// A line that is no fault command; `Display` says what is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster: {}\n{}", self.0, USAGE)
    }
}

/// How the command is used.
pub const USAGE: &str = "\
usage: cluster stop|start|kill NAME...
       cluster cut A [B] | heal [A [B]]
       cluster slow A B 200ms | slow A disk 200ms
       cluster fill NODE memory|disk 95%
       cluster skip CONTROLLER 30%
       cluster status | restore";

/// `200ms`, `1.5s`, `2m`, `0`.
pub fn duration(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" if number == "0" => 1.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

/// `30%` or `0` as a share of 1.
pub fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%').or((text == "0").then_some("0"))?.parse::<f64>().ok()?;
    (0.0..=100.0).contains(&number).then_some(number / 100.0)
}

/// Most that a link or a disk can be slowed.
const SLOWEST: Duration = Duration::from_secs(3600);

/// Reads the words after `cluster`.
pub fn parse(words: &[&str]) -> Result<Fault, Usage> {
    let names = |list: &[&str]| list.iter().map(|s| (*s).to_string()).collect::<Vec<_>>();
    let time = |text: &str| match duration(text) {
        Some(time) if time > SLOWEST => Err(Usage(format!("{text} is more than an hour"))),
        Some(time) => Ok(time),
        None => Err(Usage(format!("{text:?} is no duration"))),
    };
    let two = |a: &str, b: &str| match a == b {
        true => Err(Usage(format!("there is no way from {a} to itself"))),
        false => Ok((a.to_string(), b.to_string())),
    };
    let part = |text: &str| share(text).ok_or_else(|| Usage(format!("{text:?} is no percentage")));
    Ok(match words {
        ["stop", list @ ..] if !list.is_empty() => Fault::Stop(names(list)),
        ["start", list @ ..] if !list.is_empty() => Fault::Start(names(list)),
        ["kill", list @ ..] if !list.is_empty() => Fault::Kill(names(list)),
        ["cut", a] => Fault::Cut((*a).into(), None),
        ["cut", a, b] => two(a, b).map(|(a, b)| Fault::Cut(a, Some(b)))?,
        ["heal"] => Fault::Heal(None, None),
        ["heal", a] => Fault::Heal(Some((*a).into()), None),
        ["heal", a, b] => Fault::Heal(Some((*a).into()), Some((*b).into())),
        ["slow", a, "disk", t] => Fault::SlowDisk((*a).into(), time(t)?),
        ["slow", a, b, t] => {
            let ((a, b), time) = (two(a, b)?, time(t)?);
            Fault::SlowLink(a, b, time)
        }
        ["fill", a, "memory", p] => Fault::Fill((*a).into(), Filled::Memory, part(p)?),
        ["fill", a, "disk", p] => Fault::Fill((*a).into(), Filled::Disk, part(p)?),
        ["skip", a, p] => Fault::Skip((*a).into(), part(p)?),
        ["status"] => Fault::Status,
        ["restore"] => Fault::Restore,
        [] => return Err(Usage("what to do?".into())),
        [word, ..]
            if !["stop", "start", "kill", "cut", "heal", "slow", "fill", "skip", "status", "restore"]
                .contains(word) =>
        {
            return Err(Usage(format!("unknown command {word:?}")));
        }
        [word, ..] => return Err(Usage(format!("{word}: wrong number of arguments"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Fault, String> {
        let words: Vec<_> = line.split_whitespace().collect();
        parse(&words).map_err(|e| e.0)
    }

    #[test]
    fn the_grammar_of_the_page() {
        assert_eq!(read("stop kube-scheduler-1 etcd"), Ok(Fault::Stop(vec!["kube-scheduler-1".into(), "etcd".into()])));
        assert_eq!(read("cut node-2/kubelet"), Ok(Fault::Cut("node-2/kubelet".into(), None)));
        assert_eq!(read("heal"), Ok(Fault::Heal(None, None)));
        assert_eq!(read("slow etcd-1 disk 200ms"), Ok(Fault::SlowDisk("etcd-1".into(), Duration::from_millis(200))));
        assert_eq!(read("slow a b 0"), Ok(Fault::SlowLink("a".into(), "b".into(), Duration::ZERO)));
        assert_eq!(read("fill node-2 memory 95%"), Ok(Fault::Fill("node-2".into(), Filled::Memory, 0.95)));
        assert_eq!(read("skip replicaset 30%"), Ok(Fault::Skip("replicaset".into(), 0.3)));
        for (line, error) in [
            ("", "what to do?"),
            ("explode", "unknown command \"explode\""),
            ("stop", "stop: wrong number of arguments"),
            ("slow a b fast", "\"fast\" is no duration"),
            ("slow a b 99999999999h", "99999999999h is more than an hour"),
            ("cut a a", "there is no way from a to itself"),
            ("slow a a 1s", "there is no way from a to itself"),
            ("skip job 130%", "\"130%\" is no percentage"),
        ] {
            assert_eq!(read(line), Err(error.to_string()), "{line}");
        }
    }
}
