//! Signals to a program: who holds a clone can send, the program takes them where it looks.

use sim::sync::Notify;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Signals that wait at most.
const BOUND: usize = 64;

#[derive(Default)]
struct State {
    pending: RefCell<VecDeque<&'static str>>,
    arrived: Notify,
}

/// The signals of one program.
#[derive(Clone, Default)]
pub struct Signals(Rc<State>);

/// The signals by number and name, without `SIG`.
pub const NAMES: [(i32, &str); 8] =
    [(1, "HUP"), (2, "INT"), (3, "QUIT"), (9, "KILL"), (10, "USR1"), (12, "USR2"), (13, "PIPE"), (15, "TERM")];

/// The signal that `word` names: `TERM`, `SIGTERM`, `15`.
pub fn named(word: &str) -> Option<(i32, &'static str)> {
    let bare = word.strip_prefix("SIG").unwrap_or(word);
    NAMES.into_iter().find(|(number, name)| bare == *name || word.parse() == Ok(*number))
}

impl Signals {
    /// Sends a signal; duplicates that wait already are one.
    pub fn send(&self, name: &'static str) {
        {
            let mut pending = self.0.pending.borrow_mut();
            if pending.len() < BOUND && !pending.contains(&name) {
                pending.push_back(name);
            }
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
}
