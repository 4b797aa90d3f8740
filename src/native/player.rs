//! Plays a transcript's commands with bash. The programs that reach the cluster come back here over a socket, and
//! virtual time moves only while one of them runs.

use crate::disk_files::DiskFiles;
use crate::frames::Frame;
use crate::shim;
use shell::process::{BrokenPipe, Input, LocalFuture, Output, Process};
use sim::{Duration, Instant, sync::Notify};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc;
use world::{Blueprint, Running, World};

/// No command of a transcript takes longer, in virtual time.
const COMMAND_BOUND: Duration = Duration::from_secs(2 * 3600);

/// Which shell runs a transcript's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShellKind {
    /// This machine's bash.
    #[default]
    Bash,
    /// The project's own, as in the page.
    Page,
}

impl std::str::FromStr for ShellKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "bash" => Ok(Self::Bash),
            "page" => Ok(Self::Page),
            _ => Err(format!("--shell: {text} is neither bash nor page")),
        }
    }
}

/// What the cluster is like, and which shell runs the commands.
#[derive(Debug, Clone)]
pub struct Options {
    /// The world's seed.
    pub seed: u64,
    /// How many nodes.
    pub nodes: u32,
    /// Which shell.
    pub shell: ShellKind,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, nodes: 3, shell: ShellKind::default() }
    }
}

/// A cluster that was booted hours ago.
pub(crate) fn grown(options: &Options) -> Result<World, Box<dyn Error>> {
    let mut world = World::new(&Blueprint { seed: options.seed, nodes: options.nodes, ..Blueprint::default() });
    world.grow_old()?;
    Ok(world)
}

/// What a command answered: what it printed, then `[exit N]` where N is not 0.
pub(crate) fn answer(code: i32, printed: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(printed).trim_end().to_string();
    if code != 0 {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[exit {code}]"));
    }
    text
}

/// How long, of this machine's time, bash may take to start its next program while another listens in the world.
const IDLE: std::time::Duration = std::time::Duration::from_millis(500);
/// How long it may take, of this machine's time, until what bash starts in the background is there beside the rest.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(200);
/// Longer than any bash runs.
const FOREVER: std::time::Duration = std::time::Duration::from_secs(86_400);

enum Event {
    Connected(u64, UnixStream),
    Frame(u64, Frame),
    Disconnected(u64),
    BashEnded(i32, Vec<u8>),
}

/// The far end of a program's streams.
struct Remote {
    stream: RefCell<UnixStream>,
    gone: Cell<bool>,
    stdin: RefCell<VecDeque<Vec<u8>>>,
    wanted: Cell<bool>,
    arrived: Notify,
    /// Frames of output that the program has not yet said to have written.
    unwritten: Cell<u32>,
}

impl Remote {
    fn send(&self, frame: &Frame) {
        if frame.write(&mut *self.stream.borrow_mut()).is_err() {
            self.gone.set(true);
        } else if matches!(frame, Frame::Stdout(_) | Frame::Stderr(_)) {
            self.unwritten.set(self.unwritten.get().saturating_add(1));
        }
    }
}

struct RemoteOutput(Rc<Remote>, fn(Vec<u8>) -> Frame);

impl Output for RemoteOutput {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        self.0.send(&(self.1)(bytes.to_vec()));
        let done = if self.0.gone.get() { Err(BrokenPipe) } else { Ok(()) };
        Box::pin(std::future::ready(done))
    }
}

struct RemoteInput(Rc<Remote>);

impl Input for RemoteInput {
    fn read_line(&self) -> LocalFuture<'_, Option<String>> {
        Box::pin(async {
            let mut line = Vec::new();
            while let Some(bytes) = self.read().await {
                let end = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| i + 1);
                let (now, later) = bytes.split_at(end);
                line.extend_from_slice(now);
                if !later.is_empty() {
                    self.0.stdin.borrow_mut().push_front(later.to_vec());
                }
                if line.ends_with(b"\n") {
                    break;
                }
            }
            (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned())
        })
    }
    fn read(&self) -> LocalFuture<'_, Option<Rc<[u8]>>> {
        Box::pin(async {
            loop {
                let bytes = self.0.stdin.borrow_mut().pop_front();
                if let Some(bytes) = bytes {
                    return (!bytes.is_empty()).then(|| bytes.into());
                }
                if self.0.gone.get() {
                    return None;
                }
                if !self.0.wanted.replace(true) {
                    self.0.send(&Frame::WantStdin);
                }
                self.0.arrived.notified().await;
            }
        })
    }
}

enum Client {
    /// Connected, has not said what it is.
    New(UnixStream),
    /// Runs in the world.
    Program { remote: Rc<Remote>, running: Running, until: Instant },
    /// `timeout`: fires at a moment.
    Timer { remote: Rc<Remote>, at: Instant, fired: bool },
}

/// One transcript's cluster and directory.
pub struct Player {
    world: World,
    directory: PathBuf,
    events: mpsc::Receiver<Event>,
    sender: mpsc::Sender<Event>,
    clients: BTreeMap<u64, Client>,
    /// Whether the command that runs has parts in the background.
    background: bool,
    /// Whether such a part may be about to reach the world.
    unsettled: bool,
}

impl Player {
    /// A fresh cluster, booted hours ago, and an empty directory.
    pub fn new(options: &Options) -> Result<Self, Box<dyn Error>> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("tabernetes-{}-{count}", std::process::id()));
        std::fs::create_dir_all(directory.join("bin"))?;
        std::fs::create_dir_all(directory.join("work"))?;
        let program = std::env::current_exe()?;
        for name in shim::NAMES {
            std::os::unix::fs::symlink(&program, directory.join("bin").join(name))?;
        }
        let listener = UnixListener::bind(directory.join("socket"))?;
        let (sender, events) = mpsc::channel();
        let accepted = sender.clone();
        std::thread::spawn(move || {
            for (number, stream) in (0u64..).zip(listener.incoming()) {
                let Ok(stream) = stream else { return };
                let Ok(mut reader) = stream.try_clone() else { return };
                if accepted.send(Event::Connected(number, stream)).is_err() {
                    return;
                }
                let frames = accepted.clone();
                std::thread::spawn(move || {
                    while let Ok(frame) = Frame::read(&mut reader) {
                        if frames.send(Event::Frame(number, frame)).is_err() {
                            return;
                        }
                    }
                    let _ = frames.send(Event::Disconnected(number));
                });
            }
        });
        Ok(Self {
            world: grown(options)?,
            directory,
            events,
            sender,
            clients: BTreeMap::new(),
            background: false,
            unsettled: false,
        })
    }

    /// Runs one command to its end; what it printed, with `[exit N]` where N is not 0.
    pub fn play(&mut self, command: &str) -> Result<String, Box<dyn Error>> {
        self.start_bash(command)?;
        // `&` alone, which is no part of `&&`, `>&` and `&>`.
        let words = command.replace("&&", "").replace(">&", "").replace("&>", "").replace("<&", "");
        self.background = words.contains('&');
        let (code, printed) = loop {
            let event = if self.unsettled {
                match self.events.recv_timeout(SETTLE) {
                    Ok(event) => event,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        self.unsettled = false;
                        continue;
                    }
                    Err(gone) => return Err(gone.into()),
                }
            } else if self.is_active() {
                self.advance()?;
                match self.events.try_recv() {
                    Ok(event) => event,
                    Err(_) => continue,
                }
            } else {
                match self.events.recv_timeout(if self.listens() { IDLE } else { FOREVER }) {
                    Ok(event) => event,
                    // bash itself waits for what listens: its time passes.
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        self.advance()?;
                        continue;
                    }
                    Err(gone) => return Err(gone.into()),
                }
            };
            if let Some(end) = self.handle(event) {
                break end;
            }
        };
        Ok(answer(code, &printed))
    }

    fn start_bash(&self, command: &str) -> io::Result<()> {
        let path = std::env::var("PATH").unwrap_or_default();
        // One pipe for both streams keeps their order.
        let (mut reader, writer) = io::pipe()?;
        let mut child = Command::new("bash")
            .args(["-c", command])
            .current_dir(self.directory.join("work"))
            .env("PATH", format!("{}:{path}", self.directory.join("bin").display()))
            .env("LC_ALL", "C")
            .env(shim::SOCKET, self.directory.join("socket"))
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?;
        let ended = self.sender.clone();
        std::thread::spawn(move || {
            let mut printed = Vec::new();
            let _ = reader.read_to_end(&mut printed);
            let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(137);
            let _ = ended.send(Event::BashEnded(code, printed));
        });
        Ok(())
    }

    /// Whether something runs in the world that does not wait for bytes from outside, nor for connections of programs
    /// that bash has yet to start; but who is timed waits for the time.
    fn is_active(&self) -> bool {
        let timed = self.clients.values().any(|client| matches!(client, Client::Timer { fired: false, .. }));
        self.clients.values().any(|client| match client {
            Client::Program { running, .. } if running.exit_code().is_none() && running.listens() => timed,
            Client::Program { remote, .. } => !remote.wanted.get() || !remote.stdin.borrow().is_empty(),
            _ => false,
        })
    }
    fn listens(&self) -> bool {
        self.clients.values().any(|client| matches!(client, Client::Program { running, .. } if running.listens()))
    }

    fn advance(&mut self) -> Result<(), Box<dyn Error>> {
        let timers = self.clients.values().filter_map(|client| match client {
            Client::Timer { at, fired: false, .. } => Some(*at),
            _ => None,
        });
        let limit = timers.min().unwrap_or(Instant::FAR);
        if !self.world.sim().step(limit)? && limit < Instant::FAR {
            self.world.sim().run_until(limit)?;
        }
        let now = self.world.sim().now();
        if limit <= now {
            self.written()?;
        }
        let mut fired = Vec::new();
        for (number, client) in &mut self.clients {
            match client {
                Client::Timer { remote, at, fired: done } if !*done && *at <= now => {
                    *done = true;
                    remote.send(&Frame::Exit(124));
                    fired.push(*number);
                }
                Client::Program { running, until, remote } if *until <= now && running.exit_code().is_none() => {
                    remote.send(&Frame::Stderr(b"still running after 2 hours: killed\n".to_vec()));
                    running.kill();
                }
                _ => {}
            }
        }
        // Time stands still until what timed out is gone, so that it does no more than it should.
        for number in fired {
            while self.clients.contains_key(&number) {
                let event = self.events.recv()?;
                let end = self.handle(event);
                if let Some((code, printed)) = end {
                    self.sender.send(Event::BashEnded(code, printed))?;
                    break;
                }
            }
        }
        let ended: Vec<_> = self
            .clients
            .iter()
            .filter_map(|(number, client)| match client {
                Client::Program { remote, running, .. } => {
                    running.exit_code().map(|code| (*number, remote.clone(), code))
                }
                _ => None,
            })
            .collect();
        for (number, remote, code) in ended {
            self.clients.remove(&number);
            remote.send(&Frame::Exit(i64::from(code)));
        }
        Ok(())
    }

    /// Waits until the programs have written all that they were sent: one that is killed by a signal writes no more.
    fn written(&mut self) -> Result<(), Box<dyn Error>> {
        /// A program that writes to one that waits for the world's time would hold it back for ever.
        const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
        let waiting = |client: &Client| matches!(client, Client::Program { remote, .. } if remote.unwritten.get() > 0);
        while self.clients.values().any(waiting) {
            let Ok(event) = self.events.recv_timeout(PATIENCE) else { break };
            if let Some((code, printed)) = self.handle(event) {
                self.sender.send(Event::BashEnded(code, printed))?;
                break;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Option<(i32, Vec<u8>)> {
        match event {
            Event::Connected(number, stream) => {
                self.clients.insert(number, Client::New(stream));
            }
            Event::Frame(number, Frame::Start(words)) => {
                if let Some(Client::New(stream)) = self.clients.remove(&number)
                    && let Some(client) = self.start(stream, words)
                {
                    self.clients.insert(number, client);
                }
                self.unsettled = self.background;
            }
            Event::Frame(number, Frame::Stdin(bytes)) => {
                if let Some(Client::Program { remote, .. }) = self.clients.get(&number) {
                    remote.wanted.set(false);
                    remote.stdin.borrow_mut().push_back(bytes);
                    remote.arrived.notify();
                }
            }
            Event::Frame(number, Frame::Written) => {
                if let Some(Client::Program { remote, .. }) = self.clients.get(&number) {
                    remote.unwritten.set(remote.unwritten.get().saturating_sub(1));
                }
            }
            Event::Frame(number, _) | Event::Disconnected(number) => {
                if let Some(Client::Program { running, .. }) = self.clients.remove(&number) {
                    running.kill();
                }
            }
            Event::BashEnded(code, printed) => return Some((code, printed)),
        }
        None
    }

    fn start(&mut self, stream: UnixStream, words: Vec<String>) -> Option<Client> {
        let mut words = words.into_iter();
        let cwd = words.next().unwrap_or_default();
        let variables: Vec<String> = words.by_ref().take_while(|word| !word.is_empty()).collect();
        let args: Vec<String> = words.collect();
        let remote = Rc::new(Remote {
            stream: RefCell::new(stream),
            gone: Cell::new(false),
            stdin: RefCell::default(),
            wanted: Cell::new(false),
            arrived: Notify::new(),
            unwritten: Cell::new(0),
        });
        let now = self.world.sim().now();
        match args.first().map(String::as_str) {
            Some("date") => {
                remote.send(&Frame::Exit(self.world.sim().unix_nanos() / 1_000_000_000));
                None
            }
            Some("timeout") => {
                let time =
                    args.iter().skip(1).find(|a| !a.starts_with('-')).and_then(|a| shell::tools::sleep::interval(a));
                Some(Client::Timer { remote, at: now + time.unwrap_or_default().min(COMMAND_BOUND), fired: false })
            }
            _ => {
                let mut env: shell::Environment = variables
                    .iter()
                    .filter_map(|word| word.split_once('='))
                    .map(|(name, value)| (name.to_string(), value.to_string()))
                    .collect();
                // Changes of the kubeconfig stay with the transcript.
                let kubeconfig = self.directory.join("kubeconfig").to_string_lossy().into_owned();
                env.insert("KUBECONFIG".to_string(), kubeconfig);
                let process = Process {
                    args,
                    env,
                    cwd,
                    files: Rc::new(DiskFiles),
                    stdin: Rc::new(RemoteInput(remote.clone())),
                    stdout: Rc::new(RemoteOutput(remote.clone(), Frame::Stdout)),
                    stderr: Rc::new(RemoteOutput(remote.clone(), Frame::Stderr)),
                    family: Default::default(),
                };
                let running = self.world.run(process);
                Some(Client::Program { remote, running, until: now + COMMAND_BOUND })
            }
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
