//! Command lines played against an API server without controllers or nodes.

use crate::io::{FileError, Io};
use crate::session::Config;
use sim::{Addr, Ip, Sim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

const SERVER: Ip = Ip::new(172, 18, 0, 1);

/// Streams and files in memory.
#[derive(Default)]
pub struct Memory {
    out: RefCell<Vec<u8>>,
    err: RefCell<Vec<u8>>,
    /// Both output streams in one, as a terminal shows them.
    joined: bool,
    stdin: Vec<u8>,
    files: Rc<RefCell<BTreeMap<String, Vec<u8>>>>,
}

impl Io for Memory {
    fn stdout(&self, bytes: &[u8]) {
        self.out.borrow_mut().extend_from_slice(bytes);
    }
    fn stderr(&self, bytes: &[u8]) {
        let to = if self.joined { &self.out } else { &self.err };
        to.borrow_mut().extend_from_slice(bytes);
    }
    fn absolute(&self, path: &str) -> String {
        match path {
            "." => "/home/reader".into(),
            p if p.starts_with('/') => p.into(),
            p => format!("/home/reader/{p}"),
        }
    }
    fn env(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/reader".into())
    }
    fn stdin(&self) -> Vec<u8> {
        self.stdin.clone()
    }
    fn read<'a>(&'a self) -> Pin<Box<dyn Future<Output = Option<Rc<[u8]>>> + 'a>> {
        Box::pin(std::future::ready(None))
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.files.borrow().get(path.trim_start_matches("/home/reader/")).cloned().ok_or(FileError::NOT_FOUND)
    }
    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.files.borrow_mut().insert(path.trim_start_matches("/home/reader/").into(), bytes.into());
        Ok(())
    }
    fn list_dir(&self, path: &str) -> Result<Vec<(String, bool)>, FileError> {
        let files = self.files.borrow();
        let path = path.trim_start_matches("/home/reader").trim_start_matches('/');
        if path.is_empty() || path == "." {
            return Ok(files.keys().map(|n| (n.clone(), false)).collect());
        }
        if files.contains_key(path) {
            return Err(FileError::NOT_DIRECTORY);
        }
        let dir = format!("{}/", path.trim_end_matches('/'));
        let names: Vec<(String, bool)> =
            files.keys().filter_map(|f| f.strip_prefix(&dir)).map(|n| (n.to_string(), false)).collect();
        if names.is_empty() { Err(FileError::NOT_FOUND) } else { Ok(names) }
    }
}

/// Words of a shell line with quotes.
pub fn words(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, ' ') => out.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

/// What a command gave: standard output, standard error, exit code.
pub type Answer = (String, String, i32);

/// Runs command lines, each with its input, one after the other on a fresh cluster that has these files.
pub fn play(commands: Vec<(String, String)>, files: &[(&str, &str)], joined: bool) -> Vec<Answer> {
    let sim = Sim::new(sim::Options { epoch_unix_nanos: 1_795_975_200_000_000_000, ..Default::default() });
    let host = sim.add_host("cp-1", SERVER);
    sim.start(host, "etcd", |ctx| async move {
        let _member =
            etcd::Member::<apiserver::etcd_storage::Stored>::start(&ctx, etcd::MemberConfig::single("cp-1", SERVER));
        std::future::pending::<()>().await;
    });
    sim.start(host, "kube-apiserver", move |ctx| {
        let etcd = vec![Addr { ip: SERVER, port: 2379 }];
        apiserver::Server::new(&ctx, apiserver::Config::new(SERVER, etcd)).run()
    });
    let answers: Rc<RefCell<Vec<Answer>>> = Rc::default();
    let (made, count) = (answers.clone(), commands.len());
    let files: Rc<RefCell<BTreeMap<String, Vec<u8>>>> =
        Rc::new(RefCell::new(files.iter().map(|(n, t)| (n.to_string(), t.as_bytes().to_vec())).collect()));
    sim.start(host, "shell", move |ctx| async move {
        ctx.sleep(sim::Duration::from_secs(30)).await;
        let config = Config::admin(Addr { ip: SERVER, port: 6443 });
        for (line, stdin) in commands {
            let io = Memory { stdin: stdin.into_bytes(), files: Rc::clone(&files), joined, ..Memory::default() };
            let argv: Vec<String> = words(&line);
            let code = crate::run(&ctx, &config, &argv, &io).await;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            made.borrow_mut().push((text(io.out.take()), text(io.err.take()), code));
        }
    });
    let limit = sim.now() + sim::Duration::from_secs(4 * 3600);
    sim.run_while(limit, || answers.borrow().len() < count).unwrap_or_else(|e| panic!("{e:?}"));
    answers.borrow().clone()
}

/// The plain kubectl commands of a transcript, with their input and the recorded answer.
fn transcript(text: &str) -> Vec<(String, String, String)> {
    let mut out: Vec<(String, String, String)> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let mut stdin = String::new();
        let mut command = command.to_string();
        if let Some((head, _)) = command.clone().split_once(" <<") {
            command = head.to_string();
            for l in lines.by_ref() {
                if l == "YAML" {
                    break;
                }
                stdin.push_str(l);
                stdin.push('\n');
            }
        }
        let mut answer = String::new();
        while let Some(l) = lines.next_if(|l| !l.starts_with("$ ")) {
            answer.push_str(l);
            answer.push('\n');
        }
        if command.starts_with("kubectl ")
            && !command.contains([';', '|'])
            && !command.contains("$(")
            && !command.contains(" > ")
        {
            out.push((command, stdin, answer.trim_end().to_string()));
        }
    }
    out
}

/// Shows what a transcript's commands get here: `PLAY=path cargo test -p tabernetes-kubectl play -- --nocapture`.
#[test]
fn play_transcript() {
    let Some(path) = option_env!("PLAY") else { return };
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let steps = transcript(&text);
    let line = |s: &(String, String, String)| (s.0.trim_start_matches("kubectl ").to_string(), s.1.clone());
    let answers = play(steps.iter().map(line).collect(), &[], true);
    for ((command, _, want), (mut got, _, code)) in steps.iter().zip(answers) {
        if code != 0 {
            got.push_str(&format!("[exit {code}]\n"));
        }
        let got = got.trim_end();
        if got == want {
            println!("ok   {command}");
        } else {
            println!("DIFF {command}\n--- want\n{want}\n--- got\n{got}\n---");
        }
    }
}

#[test]
fn a_restart_within_a_second_of_another_is_none() {
    let lines = ["create deployment web --image=nginx", "rollout restart deploy web", "rollout restart deploy web"];
    let answers = play(lines.iter().map(|line| (line.to_string(), String::new())).collect(), &[], true);
    let text = "error: failed to create patch for web: if restart has already been triggered within the past second, \
                please wait before attempting to trigger another\n";
    assert_eq!(answers[1], ("deployment.apps/web restarted\n".to_string(), String::new(), 0));
    assert_eq!(answers[2], (text.to_string(), String::new(), 1));
}
