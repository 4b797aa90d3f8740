//! The interaction tests: files of commands and the traces they must give, in the notation of etcd-io/raft.
//!
//! A file is a list of blocks: a command line, optional input lines, `----`, the expected output up to a blank line.
//! `REWRITE=1 cargo test -p tabernetes-etcd interaction` writes the output into the files instead.

use super::*;
use std::fmt::Write;
use std::rc::Rc;

struct Node {
    raft: Raft<Rc<str>>,
    /// What the state machine was after each applied entry.
    history: Vec<Snapshot>,
}

#[derive(Default)]
struct Env {
    nodes: Vec<Node>,
    messages: Vec<Message<Rc<str>>>,
    level: usize,
    out: String,
}

const LEVELS: [&str; 6] = ["DEBUG", "INFO", "WARN", "ERROR", "FATAL", "NONE"];
const QUIET: usize = 5;

struct Args {
    plain: Vec<String>,
    named: Vec<(String, Vec<String>)>,
}

impl Args {
    fn parse(words: &[String]) -> Self {
        let mut args = Self { plain: Vec::new(), named: Vec::new() };
        for word in words {
            match word.split_once('=') {
                None => args.plain.push(word.clone()),
                Some((name, value)) => {
                    let value = value.trim_start_matches('(').trim_end_matches(')');
                    let values = value.split(',').map(|v| v.trim().to_string()).filter(|v| !v.is_empty()).collect();
                    args.named.push((name.into(), values));
                }
            }
        }
        args
    }
    fn numbers(&self, name: &str) -> Vec<u64> {
        let found = self.named.iter().find(|(n, _)| n == name);
        found.map(|(_, v)| v.iter().map(|v| v.parse().unwrap()).collect()).unwrap_or_default()
    }
    fn word(&self, name: &str) -> Option<&str> {
        self.named.iter().find(|(n, _)| n == name).and_then(|(_, v)| v.first()).map(String::as_str)
    }
    fn ids(&self) -> Vec<u64> {
        self.plain.iter().map(|v| v.parse().unwrap()).collect()
    }
}

/// Splits a command line at spaces outside parentheses.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0);
    for c in line.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c == ' ' && depth == 0 {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        } else {
            word.push(c);
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

impl Env {
    fn print(&mut self, text: &str) {
        if self.level < QUIET {
            self.out.push_str(text);
        }
    }
    fn println(&mut self, text: &str) {
        self.print(text);
        self.print("\n");
    }
    fn drain(&mut self, id: u64) {
        for (level, line) in self.nodes[id as usize - 1].raft.take_lines() {
            if level as usize >= self.level {
                self.println(&format!("{} {line}", LEVELS[level as usize]));
            }
        }
    }
    fn indented(&mut self, f: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.out);
        f(self);
        let inner = std::mem::replace(&mut self.out, before);
        for line in inner.lines() {
            let _ = writeln!(self.out, "  {line}");
        }
    }
    fn call(&mut self, id: u64, f: impl FnOnce(&mut Raft<Rc<str>>) -> Result<(), StepError>) {
        let result = f(&mut self.nodes[id as usize - 1].raft);
        self.drain(id);
        if let Err(e) = result {
            self.println(&e.to_string());
        }
    }

    fn add_nodes(&mut self, args: &Args) {
        for _ in 0..args.ids()[0] {
            let id = self.nodes.len() as u64 + 1;
            let index = args.numbers("index").first().copied().unwrap_or(0);
            let mut voters = args.numbers("voters");
            voters.sort_unstable();
            let snapshot = Snapshot { index, term: u64::from(index > 0), voters, data: None };
            let flag = |name: &str| args.word(name) == Some("true");
            let config = Config {
                id,
                election_tick: 3,
                heartbeat_tick: 1,
                max_size_per_msg: u64::MAX,
                max_committed_size_per_ready: args
                    .numbers("max-committed-size-per-ready")
                    .first()
                    .copied()
                    .unwrap_or(u64::MAX),
                max_uncommitted_size: u64::MAX,
                max_inflight_msgs: args.numbers("inflight").first().map_or(usize::MAX, |v| *v as usize),
                max_inflight_bytes: u64::MAX,
                check_quorum: flag("checkquorum"),
                pre_vote: flag("prevote"),
                log_level: Level::Debug,
                random: Box::new(|n| n - 1),
            };
            let raft = Raft::new(config, HardState::default(), snapshot.clone(), Vec::new(), snapshot.index).unwrap();
            self.nodes.push(Node { raft, history: vec![snapshot] });
            self.drain(id);
        }
    }
    fn process_ready(&mut self, id: u64) {
        let node = &mut self.nodes[id as usize - 1];
        let ready = node.raft.ready();
        let text = describe_ready(&ready);
        self.print(&text);
        for entry in &ready.committed_entries {
            let node = &mut self.nodes[id as usize - 1];
            let mut voters = node.history.last().unwrap().voters.clone();
            if let EntryData::Conf(change) = entry.data {
                voters = node.raft.apply_conf_change(change).unwrap();
            }
            let snapshot = Snapshot { index: entry.index, term: entry.term, voters, data: None };
            node.history.push(snapshot.clone());
            node.raft.set_snapshot(snapshot);
            self.drain(id);
        }
        self.messages.extend(ready.messages);
        self.messages.extend(ready.messages_after_append);
        self.call(id, Raft::advance);
    }
    fn take_messages(&mut self, to: u64, kind: Option<&str>) -> Vec<Message<Rc<str>>> {
        let all = std::mem::take(&mut self.messages);
        let (wanted, rest) = all.into_iter().partition(|m| m.to == to && kind.is_none_or(|k| m.kind.to_string() == k));
        self.messages = rest;
        wanted
    }
    fn deliver(&mut self, to: u64, kind: Option<&str>, drop: bool) -> usize {
        let messages = self.take_messages(to, kind);
        let count = messages.len();
        for message in messages {
            let text = describe_message(&message);
            self.println(&if drop { format!("dropped: {text}") } else { text });
            if !drop {
                self.call(to, |r| r.step(message));
            }
        }
        count
    }
    fn stabilize(&mut self, args: &Args) {
        let level = self.level;
        if let Some(name) = args.word("log-level") {
            self.set_level(name);
        }
        let ids = if args.plain.is_empty() { (1..=self.nodes.len() as u64).collect() } else { args.ids() };
        loop {
            let mut done = true;
            for &id in &ids {
                if self.nodes[id as usize - 1].raft.has_ready() {
                    self.println(&format!("> {id} handling Ready"));
                    self.indented(|env| env.process_ready(id));
                    done = false;
                }
            }
            for &id in &ids {
                if self.messages.iter().any(|m| m.to == id) {
                    self.println(&format!("> {id} receiving messages"));
                    self.indented(|env| {
                        env.deliver(id, None, false);
                    });
                    done = false;
                }
            }
            if done {
                break;
            }
        }
        self.level = level;
    }
    fn set_level(&mut self, name: &str) {
        self.level = LEVELS.iter().position(|l| l.eq_ignore_ascii_case(name)).unwrap();
    }
    fn raft_log(&mut self, id: u64) {
        let raft = &self.nodes[id as usize - 1].raft;
        let entries = raft.log.stable_entries();
        if entries.is_empty() {
            let text = format!("log is empty: first index={}, last index={}", raft.first_index(), raft.last_index());
            self.print(&text);
        }
        for entry in entries {
            self.println(&describe_entry(&entry));
        }
    }

    fn handle(&mut self, line: &str, input: &str) -> String {
        self.out.clear();
        let words = words(line);
        let args = Args::parse(&words[1..]);
        let first = args.plain.first().and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
        match words[0].as_str() {
            "add-nodes" => self.add_nodes(&args),
            "campaign" => self.call(first, Raft::campaign_now),
            "compact" => {
                self.nodes[first as usize - 1].raft.compact(args.ids()[1]);
                self.raft_log(first);
            }
            "deliver-msgs" => {
                let kind = args.word("type");
                let mut count = 0;
                for id in args.ids() {
                    count += self.deliver(id, kind, false);
                }
                for id in args.numbers("drop") {
                    count += self.deliver(id, kind, true);
                }
                if count == 0 {
                    self.println("no messages");
                }
            }
            "process-ready" => {
                let ids = args.ids();
                for &id in &ids {
                    if ids.len() > 1 {
                        self.println(&format!("> {id} handling Ready"));
                        self.indented(|env| env.process_ready(id));
                    } else {
                        self.process_ready(id);
                    }
                }
            }
            "log-level" => self.set_level(&args.plain[0]),
            "raft-log" => self.raft_log(first),
            "raft-state" => {
                for id in 1..=self.nodes.len() as u64 {
                    let raft = &self.nodes[id as usize - 1].raft;
                    let voter = if raft.voters().contains(&id) { "Voter" } else { "Non-Voter" };
                    let text = format!("{id}: {} ({voter}) Term:{} Lead:{}", raft.role(), raft.term(), raft.leader());
                    self.println(&text);
                }
            }
            "set-randomized-election-timeout" => {
                let ticks = args.numbers("timeout")[0] as u32;
                self.nodes[first as usize - 1].raft.set_randomized_election_timeout(ticks);
            }
            "stabilize" => self.stabilize(&args),
            "status" => {
                let members: Vec<String> =
                    self.nodes[first as usize - 1].raft.progress().iter().map(|(id, p)| format!("{id}: {p}")).collect();
                for line in members {
                    self.println(&line);
                }
            }
            "tick-election" => (0..3).for_each(|_| self.call(first, Raft::tick)),
            "tick-heartbeat" => self.call(first, Raft::tick),
            "transfer-leadership" => {
                let to = args.numbers("to")[0];
                self.call(args.numbers("from")[0], |r| r.transfer_leader(to));
            }
            "forget-leader" => self.call(first, Raft::forget_leader),
            "send-snapshot" => {
                let (from, to) = (first, args.ids()[1]);
                let node = &self.nodes[from as usize - 1];
                let message = Message {
                    from,
                    term: node.raft.term(),
                    snapshot: node.history.last().cloned().map(Box::new),
                    ..Message::new(MessageKind::Snap, to)
                };
                let text = describe_message(&message);
                self.print(&text);
                self.messages.push(message);
            }
            "propose" => {
                let data: Rc<str> = args.plain[1].as_str().into();
                self.call(first, |r| r.propose(EntryData::Normal(data)));
            }
            "propose-conf-change" => {
                let id = input.trim()[1..].parse().unwrap();
                let change = if input.starts_with('v') { ConfChange::Add(id) } else { ConfChange::Remove(id) };
                self.call(first, |r| r.propose(EntryData::Conf(change)));
            }
            "report-unreachable" => {
                let of = args.ids()[1];
                self.call(first, |r| r.report_unreachable(of));
            }
            "read-index" => {
                let context = args.ids()[1];
                self.call(first, |r| r.read_index(context));
            }
            other => panic!("unknown command {other}"),
        }
        if self.out.is_empty() { "ok".into() } else { self.out.clone() }
    }
}

/// Runs a file; the file as it should be according to this run.
fn run(text: &str) -> String {
    let mut env = Env::default();
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut input = String::new();
        for line in lines.by_ref() {
            out.push_str(line);
            out.push('\n');
            if line == "----" {
                break;
            }
            input.push_str(line);
            input.push('\n');
        }
        while lines.next_if(|l| !l.is_empty()).is_some() {}
        out.push_str(env.handle(line, &input).trim_end_matches('\n'));
        out.push('\n');
    }
    out
}

#[test]
fn interaction() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/raft/testdata");
    let folder = std::env::var("RAFT_TESTDATA").unwrap_or_else(|_| own.into());
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut failed = Vec::new();
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e == "txt")) {
        let wanted = std::fs::read_to_string(path).unwrap();
        let Ok(got) = std::panic::catch_unwind(|| run(&wanted)) else {
            failed.push(format!("{}: panicked", path.display()));
            continue;
        };
        if std::env::var("REWRITE").is_ok() {
            std::fs::write(path, got).unwrap();
        } else if got != wanted {
            let at = got.lines().zip(wanted.lines()).take_while(|(g, w)| g == w).count();
            let line = |text: &str| text.lines().nth(at).unwrap_or("(end)").to_string();
            failed.push(format!("{}:{}\n  want {}\n  got  {}", path.display(), at + 1, line(&wanted), line(&got)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
