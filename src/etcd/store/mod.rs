//! The store: keys, their history, leases and alarms. One revision a write; history is kept as a ring of events.
//!
//! It is a state machine: the same operations in the same order give the same store on every member, so nothing here
//! reads a clock or draws a number.

mod apply;
mod range;
#[cfg(test)]
mod tests;
mod watch;

use crate::raft::NodeId;
use crate::rpc::{Alarm, Error, Event, KeyValue, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
pub use watch::{Hub, Poll, WatchId};

/// Bytes that a key costs beside its own and its value's: what bbolt and the index keep with it.
const OVERHEAD: u64 = 128;

/// A lease: keys that vanish together.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Seconds it was granted for.
    pub ttl: u64,
    /// The keys attached to it.
    pub keys: BTreeSet<Rc<str>>,
}

/// Keys, history, leases, alarms, and how much of the log they come from.
#[derive(Clone)]
pub struct Store<V> {
    keys: BTreeMap<Rc<str>, Rc<KeyValue<V>>>,
    /// The changes from `compact_revision` on (all of them if that is 0), oldest first. Bounded by `history_limit`
    /// bytes: beyond that the oldest are compacted.
    history: VecDeque<Rc<Event<V>>>,
    revision: u64,
    compact_revision: u64,
    live_bytes: u64,
    history_bytes: u64,
    history_limit: u64,
    leases: BTreeMap<i64, Lease>,
    alarms: BTreeSet<(u64, Alarm)>,
    /// The log entry last applied, and its term.
    pub applied: (u64, u64),
    /// The voters as of that entry.
    pub voters: Vec<NodeId>,
}

impl<V: Value> Store<V> {
    /// An empty store at revision 1, whose history is compacted when it exceeds `history_limit` bytes. The limit must
    /// be the same on every member.
    pub fn new(history_limit: u64, voters: Vec<NodeId>) -> Self {
        Self {
            keys: BTreeMap::new(),
            history: VecDeque::new(),
            revision: 1,
            compact_revision: 0,
            live_bytes: 0,
            history_bytes: 0,
            history_limit,
            leases: BTreeMap::new(),
            alarms: BTreeSet::new(),
            applied: (0, 0),
            voters,
        }
    }

    /// The revision of the last write; 1 if there was none.
    pub fn revision(&self) -> u64 {
        self.revision
    }
    /// The oldest revision that can be read or watched from; 0 if nothing was compacted.
    pub fn compact_revision(&self) -> u64 {
        self.compact_revision
    }
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// Bytes of keys, values and history.
    pub fn size(&self) -> u64 {
        self.live_bytes + self.history_bytes
    }
    /// Bytes of the present keys and values.
    pub fn live_size(&self) -> u64 {
        self.live_bytes
    }
    /// One key as it is now.
    pub fn get(&self, key: &str) -> Option<&Rc<KeyValue<V>>> {
        self.keys.get(key)
    }
    /// The leases.
    pub fn leases(&self) -> &BTreeMap<i64, Lease> {
        &self.leases
    }
    /// The alarms, by member.
    pub fn alarms(&self) -> &BTreeSet<(u64, Alarm)> {
        &self.alarms
    }
    /// The changes from `revision` on, oldest first.
    ///
    /// # Errors
    /// [`Error::Compacted`] if they are not all there any more.
    pub fn events_from(&self, revision: u64) -> Result<impl Iterator<Item = &Rc<Event<V>>>, Error> {
        if revision < self.compact_revision {
            return Err(Error::Compacted(self.compact_revision));
        }
        // Mostly it is the newest that are asked for.
        let recent = self.history.iter().rev().take(32).take_while(|e| e.revision() >= revision).count();
        let at = if recent < 32 {
            self.history.len() - recent
        } else {
            self.history.partition_point(|e| e.revision() < revision)
        };
        Ok(self.history.range(at..))
    }

    /// Forgets history before `revision`; what the keys were at `revision` can still be read.
    ///
    /// # Errors
    /// [`Error::Compacted`] if that is done already, [`Error::FutureRevision`].
    pub fn compact(&mut self, revision: u64) -> Result<(), Error> {
        if revision <= self.compact_revision {
            return Err(Error::Compacted(self.compact_revision));
        }
        if revision > self.revision {
            return Err(Error::FutureRevision(self.revision));
        }
        self.compact_revision = revision;
        while let Some(event) = self.history.front() {
            if event.revision() >= revision {
                break;
            }
            self.history_bytes = self.history_bytes.saturating_sub(event_size(event));
            self.history.pop_front();
        }
        Ok(())
    }

    /// Compacts down to 15/16 of the limit once history exceeds it.
    fn bound_history(&mut self) {
        if self.history_bytes <= self.history_limit {
            return;
        }
        let target = self.history_limit / 16 * 15;
        let mut bytes = self.history_bytes;
        let mut revision = self.compact_revision;
        for event in &self.history {
            // Whole revisions go; the newest one stays.
            if (bytes <= target && event.revision() != revision) || event.revision() == self.revision {
                break;
            }
            bytes = bytes.saturating_sub(event_size(event));
            revision = event.revision();
        }
        let _ = self.compact((revision + 1).min(self.revision));
    }
}

fn kv_size<V: Value>(kv: &KeyValue<V>) -> u64 {
    kv.key.len() as u64 + kv.value.as_ref().map_or(0, Value::size) + OVERHEAD
}

fn event_size<V: Value>(event: &Event<V>) -> u64 {
    kv_size(&event.kv)
}
