//! Command lines played against an API server without controllers or nodes.

use crate::io::{FileError, Io};
use crate::session::Config;
use sim::{Addr, Ip, Sim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const SERVER: Ip = Ip::new(172, 18, 0, 1);

/// Streams and files in memory; both output streams in one, as a terminal shows them.
#[derive(Default)]
struct Memory {
    out: RefCell<Vec<u8>>,
    stdin: Vec<u8>,
    files: Rc<RefCell<BTreeMap<String, Vec<u8>>>>,
}

impl Io for Memory {
    fn stdout(&self, bytes: &[u8]) {
        self.out.borrow_mut().extend_from_slice(bytes);
    }
    fn stderr(&self, bytes: &[u8]) {
        self.out.borrow_mut().extend_from_slice(bytes);
    }
    fn stdin(&self) -> Vec<u8> {
        self.stdin.clone()
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.files.borrow().get(path).cloned().ok_or(FileError::NotFound)
    }
    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.files.borrow_mut().insert(path.into(), bytes.into());
        Ok(())
    }
    fn list_dir(&self, path: &str) -> Result<Vec<(String, bool)>, FileError> {
        if self.files.borrow().contains_key(path) { Err(FileError::NotDirectory) } else { Err(FileError::NotFound) }
    }
}

/// Words of a shell line with quotes.
fn words(line: &str) -> Vec<String> {
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

/// Plays commands and gives their answers in a transcript's form.
fn play(commands: Vec<(String, String)>) -> Vec<String> {
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
    let answers: Rc<RefCell<Vec<String>>> = Rc::default();
    let (made, count) = (answers.clone(), commands.len());
    sim.start(host, "shell", move |ctx| async move {
        ctx.sleep(sim::Duration::from_secs(30)).await;
        let config = Config::admin(Addr { ip: SERVER, port: 6443 });
        let files = Rc::default();
        for (line, stdin) in commands {
            let io = Memory { stdin: stdin.into_bytes(), files: Rc::clone(&files), ..Memory::default() };
            let argv: Vec<String> = words(&line).into_iter().skip(1).collect();
            let code = crate::run(&ctx, &config, &argv, &io).await;
            let mut text = String::from_utf8_lossy(&io.out.take()).into_owned();
            if code != 0 {
                text.push_str(&format!("[exit {code}]\n"));
            }
            made.borrow_mut().push(text);
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
    let answers = play(steps.iter().map(|s| (s.0.clone(), s.1.clone())).collect());
    for ((command, _, want), got) in steps.iter().zip(answers) {
        let got = got.trim_end();
        if got == want {
            println!("ok   {command}");
        } else {
            println!("DIFF {command}\n--- want\n{want}\n--- got\n{got}\n---");
        }
    }
}
