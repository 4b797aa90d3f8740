//! Signals to a process: who holds a clone can send, the program takes them where it looks.

use sim::sync::Notify;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::{Rc, Weak};

/// Signals that wait at most.
const BOUND: usize = 64;
/// The number of a process that nobody else counts.
const NUMBER: u32 = 1000;

struct State {
    id: u32,
    pending: RefCell<VecDeque<&'static str>>,
    /// What the process has a trap for, or ignores.
    handled: RefCell<BTreeSet<&'static str>>,
    /// The exit code that a signal without a trap has left.
    killed: Cell<Option<i32>>,
    arrived: Notify,
}

/// A process' number and the signals to it. What has no trap does what it does by default: most signals end the
/// process; process 1 is spared, as the kernel spares the first process of a container.
#[derive(Clone)]
pub struct Signals(Rc<State>);

impl Default for Signals {
    fn default() -> Self {
        Self::of(NUMBER)
    }
}

/// The processes of a machine besides its first one. Bounded by those that run.
#[derive(Default)]
pub struct Processes {
    last: Cell<u32>,
    running: RefCell<Vec<(Weak<State>, Rc<str>)>>,
}

impl Processes {
    /// A new process; the first is number 2, as number 1 is what the machine was started with.
    pub fn start(&self, args: &[String]) -> Signals {
        let id = self.last.get().max(1).wrapping_add(1);
        self.last.set(id);
        let signals = Signals::of(id);
        let mut running = self.running.borrow_mut();
        running.retain(|(process, _)| process.strong_count() > 0);
        running.push((Rc::downgrade(&signals.0), args.join(" ").into()));
        signals
    }
    /// The numbers of those that run and their command lines, in the order in which they were started.
    pub fn running(&self) -> Vec<(u32, Rc<str>)> {
        let running = self.running.borrow();
        running.iter().filter_map(|(process, command)| Some((process.upgrade()?.id, command.clone()))).collect()
    }
    /// The process of that number.
    pub fn find(&self, id: u32) -> Option<Signals> {
        let running = self.running.borrow();
        running.iter().filter_map(|(process, _)| process.upgrade()).find(|process| process.id == id).map(Signals)
    }
}

/// The signals by number and name, without `SIG`.
pub const NAMES: [(i32, &str); 23] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (5, "TRAP"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (10, "USR1"),
    (11, "SEGV"),
    (12, "USR2"),
    (13, "PIPE"),
    (14, "ALRM"),
    (15, "TERM"),
    (17, "CHLD"),
    (18, "CONT"),
    (19, "STOP"),
    (20, "TSTP"),
    (21, "TTIN"),
    (22, "TTOU"),
    (23, "URG"),
    (28, "WINCH"),
];

/// Signals that don't end a process without a trap. Those that would stop it until it is continued do nothing here.
const HARMLESS: [&str; 8] = ["CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"];

/// The signal that `word` names: `TERM`, `SIGTERM`, `15`.
pub fn named(word: &str) -> Option<(i32, &'static str)> {
    let bare = word.strip_prefix("SIG").unwrap_or(word);
    NAMES.into_iter().find(|(number, name)| bare == *name || word.parse() == Ok(*number))
}

impl Signals {
    /// Those of process `id`.
    pub fn of(id: u32) -> Self {
        Self(Rc::new(State {
            id,
            pending: RefCell::default(),
            handled: RefCell::default(),
            killed: Cell::new(None),
            arrived: Notify::new(),
        }))
    }
    /// Whether both are those of the same process.
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
    /// The process' number, `$$`.
    pub fn id(&self) -> u32 {
        self.0.id
    }
    /// Whether the process has a trap for a signal from now on.
    pub fn handle(&self, name: &'static str, handled: bool) {
        let mut all = self.0.handled.borrow_mut();
        if handled {
            all.insert(name);
        } else {
            all.remove(name);
        }
    }
    /// Sends a signal; duplicates that wait already are one.
    pub fn send(&self, name: &'static str) {
        if name != "KILL" && self.0.handled.borrow().contains(name) {
            let mut pending = self.0.pending.borrow_mut();
            if pending.len() < BOUND && !pending.contains(&name) {
                pending.push_back(name);
            }
        } else if self.0.id == 1 || HARMLESS.contains(&name) || self.0.killed.get().is_some() {
            return;
        } else {
            self.0.killed.set(named(name).map(|(number, _)| 128 + number));
        }
        self.0.arrived.notify();
    }
    /// Takes the oldest signal that `wanted` accepts.
    pub fn take(&self, wanted: impl Fn(&str) -> bool) -> Option<&'static str> {
        let mut pending = self.0.pending.borrow_mut();
        let at = pending.iter().position(|s| wanted(s))?;
        pending.remove(at)
    }
    /// Completes when a signal that `wanted` accepts waits.
    pub async fn wait(&self, wanted: impl Fn(&str) -> bool) {
        while !self.0.pending.borrow().iter().any(|s| wanted(s)) {
            self.0.arrived.notified().await;
        }
    }
    /// The exit code of a process that a signal has ended.
    pub fn killed(&self) -> Option<i32> {
        self.0.killed.get()
    }
    /// Completes when a signal ends the process; with its exit code.
    pub async fn until_killed(&self) -> i32 {
        loop {
            if let Some(code) = self.0.killed.get() {
                return code;
            }
            self.0.arrived.notified().await;
        }
    }
}
