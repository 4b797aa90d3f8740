//! Why each revision was written: kept beside the store, never in objects, for the question "why".

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::{KindInfo, Str};
use sim::Instant;

/// Bound of the table; the oldest revisions are forgotten first.
pub const CAPACITY: usize = 65_536;

/// One write.
#[derive(Clone)]
pub struct Cause {
    /// The revisions that led to it, as the writer told.
    pub causes: Rc<[u64]>,
    /// Who wrote.
    pub user: Str,
    /// The program: `User-Agent` up to the first `/`.
    pub agent: Str,
    /// `create`, `update`, `patch`, `delete`, or a subresource as `create binding`.
    pub verb: &'static str,
    /// The subresource.
    pub subresource: Str,
    /// The kind.
    pub kind: &'static KindInfo,
    /// The object's namespace.
    pub namespace: Str,
    /// The object's name.
    pub name: Str,
    /// When.
    pub time: Instant,
}

/// The table.
#[derive(Default)]
pub struct Causes {
    by_revision: RefCell<BTreeMap<u64, Cause>>,
}

impl Causes {
    /// Notes a write.
    pub fn note(&self, revision: u64, cause: Cause) {
        let mut table = self.by_revision.borrow_mut();
        table.insert(revision, cause);
        while table.len() > CAPACITY {
            table.pop_first();
        }
    }

    /// Why a revision was written.
    pub fn of(&self, revision: u64) -> Option<Cause> {
        self.by_revision.borrow().get(&revision).cloned()
    }

    /// The writes after a revision, oldest first.
    pub fn since(&self, revision: u64) -> Vec<(u64, Cause)> {
        self.by_revision.borrow().range(revision + 1..).map(|(r, c)| (*r, c.clone())).collect()
    }
}
