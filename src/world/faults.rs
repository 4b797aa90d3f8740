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
    /// Say how the command is used.
    Help,
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

/// How the command is used, in a line a verb.
pub const USAGE: &str = "\
usage: cluster stop|start|kill NAME...
       cluster cut A [B] | heal [A [B]]
       cluster slow A B 200ms | slow A disk 200ms
       cluster fill NODE memory|disk 95%
       cluster skip CONTROLLER 30%
       cluster status | restore | help";

/// What `cluster help` prints.
pub const HELP: &str = "\
cluster breaks parts of the simulated cluster and mends them.

  cluster stop NAME...             end a component (SIGTERM), power a node off
  cluster kill NAME...             the same at once (SIGKILL)
  cluster start NAME...            start it again, power a node on
  cluster cut A [B]                cut the way between A and B, or between A and everybody
  cluster heal [A [B]]             end cuts: between two, of one, or all
  cluster slow A B 200ms           make the way between A and B slower (0 ends it)
  cluster slow A disk 200ms        make the writes of A's disk slower (0 ends it)
  cluster fill NODE memory|disk 95%   fill a node (0 ends it)
  cluster skip CONTROLLER 30%      make a controller leave out a share of its loops (0 ends it)
  cluster status                   list what is on, each as the command that makes it
  cluster restore                  end all of it
  cluster help                     these lines

NAME, A and B are a node (node-2), a part of one (node-2/kubelet, node-2/runtime, node-2/kube-proxy), a component
(kube-scheduler-1) or all of a kind (kube-scheduler, etcd). What was stopped stays stopped; a component that exits by
itself is started again by its machine.
";

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

/// What the command can be told to do.
const VERBS: [&str; 11] = ["stop", "start", "kill", "cut", "heal", "slow", "fill", "skip", "status", "restore", "help"];

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
    let asks = |word: &&str| matches!(*word, "--help" | "-h");
    if words.first() == Some(&"help") || words.iter().any(asks) {
        return Ok(Fault::Help);
    }
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
        [word, ..] if !VERBS.contains(word) => return Err(Usage(format!("unknown command {word:?}"))),
        [word, ..] => return Err(Usage(format!("{word}: wrong number of arguments"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help, the usage and the grammar know the same verbs.
    #[test]
    fn the_help_leaves_no_verb_out() {
        for verb in VERBS {
            assert!(HELP.contains(&format!("cluster {verb}")) && USAGE.contains(verb), "{verb}");
        }
    }

    fn read(line: &str) -> Result<Fault, String> {
        let words: Vec<_> = line.split_whitespace().collect();
        parse(&words).map_err(|e| e.0)
    }

    #[test]
    fn the_grammar_of_the_page() {
        assert_eq!(read("stop kube-scheduler-1 etcd"), Ok(Fault::Stop(vec!["kube-scheduler-1".into(), "etcd".into()])));
        assert_eq!(read("cut node-2/kubelet"), Ok(Fault::Cut("node-2/kubelet".into(), None)));
        assert_eq!(read("heal"), Ok(Fault::Heal(None, None)));
        for line in ["help", "--help", "-h", "help stop", "stop --help", "slow -h"] {
            assert_eq!(read(line), Ok(Fault::Help), "{line}");
        }
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
