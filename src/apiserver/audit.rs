//! What was asked, by whom, and what became of it: a bounded ring for observers.
//! An entry is there from the start of its request and is lit stage by stage.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use api::Str;
use sim::Instant;

/// Bound of the ring.
pub const CAPACITY: usize = 4096;

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It was read from the connection.
    Received,
    /// Its user is known.
    Authenticated,
    /// The user may do it.
    Authorized,
    /// The admission plugins had their turn.
    Admitted,
    /// The object is valid.
    Validated,
    /// The store has it.
    Stored,
    /// The answer is on its way.
    Answered,
}

/// One request.
pub struct Entry {
    /// Counts requests of this server.
    pub id: u64,
    /// The user; the one impersonated, if so.
    pub user: RefCell<Str>,
    /// `get`, `create`, ...
    pub verb: &'static str,
    /// The group, empty for the core one.
    pub group: Str,
    /// The resource, or the path of a request about none.
    pub resource: Str,
    /// The subresource.
    pub subresource: Str,
    /// The namespace.
    pub namespace: Str,
    /// The object's name; for a creation it is known once the object is.
    pub name: RefCell<Str>,
    /// `User-Agent`.
    pub user_agent: Str,
    /// When it was read.
    pub received: Instant,
    /// When each stage was reached.
    pub stages: RefCell<Vec<(Stage, Instant)>>,
    /// The HTTP status code, 0 before the answer.
    pub code: Cell<u16>,
    /// Why it failed; empty where it didn't.
    pub message: RefCell<Str>,
    /// The revision written, 0 if none.
    pub revision: Cell<u64>,
}

impl Entry {
    /// Lights a stage.
    pub fn reach(&self, stage: Stage, now: Instant) {
        self.stages.borrow_mut().push((stage, now));
    }

    /// The last stage reached.
    pub fn stage(&self) -> Stage {
        self.stages.borrow().last().map_or(Stage::Received, |(stage, _)| *stage)
    }

    /// How long it took, once answered.
    pub fn latency(&self) -> Option<std::time::Duration> {
        let stages = self.stages.borrow();
        let (_, at) = stages.iter().find(|(stage, _)| *stage == Stage::Answered)?;
        Some(at.since(self.received))
    }
}

/// The ring.
#[derive(Default)]
pub struct Audit {
    entries: RefCell<VecDeque<Rc<Entry>>>,
    count: Cell<u64>,
}

impl Audit {
    /// The next request's number.
    pub fn next_id(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    /// How many requests there were.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Adds a request.
    pub fn add(&self, entry: Rc<Entry>) {
        let mut entries = self.entries.borrow_mut();
        if entries.len() >= CAPACITY {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The requests with a number above `id`, oldest first.
    pub fn since(&self, id: u64) -> Vec<Rc<Entry>> {
        let entries = self.entries.borrow();
        let start = entries.partition_point(|entry| entry.id <= id);
        entries.iter().skip(start).cloned().collect()
    }
}
