//! Who watches what, and how far each has got: a cursor into the store's history.

use super::Store;
use crate::rpc::{Error, Event, Span, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

/// A watch.
pub type WatchId = u64;

struct Watcher {
    key: Rc<str>,
    span: Span,
    /// The next revision it has to see. Everything of its own before that was handed out.
    next: u64,
    /// Whether history from `next` on may hold something for it.
    dirty: bool,
}

/// What there is for a watch.
#[derive(Debug)]
pub enum Poll<V> {
    /// Changes, whole revisions; and whether more are waiting.
    Events(Vec<Rc<Event<V>>>, bool),
    /// It has seen everything.
    Nothing,
    /// It is too far behind: the history it needs is gone. It is closed.
    Compacted(Error),
}

/// The watches of one member. Bounded by the connections that may open them.
pub struct Hub {
    watchers: BTreeMap<WatchId, Watcher>,
    /// Watches on a prefix, by the prefix: most are.
    pub(super) by_prefix: BTreeMap<Rc<str>, BTreeSet<WatchId>>,
    /// The others, which are tried one by one.
    pub(super) others: BTreeSet<WatchId>,
    dirty: BTreeSet<WatchId>,
    next_id: WatchId,
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Hub {
    /// No watches.
    pub fn new() -> Self {
        Self {
            watchers: BTreeMap::new(),
            by_prefix: BTreeMap::new(),
            others: BTreeSet::new(),
            dirty: BTreeSet::new(),
            next_id: 1,
        }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.watchers.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.watchers.is_empty()
    }
    /// Opens a watch on changes from revision `from` on; 0 is from the next one.
    pub fn open<V: Value>(&mut self, store: &Store<V>, key: Rc<str>, span: Span, from: u64) -> WatchId {
        let id = self.next_id;
        self.next_id += 1;
        let next = if from == 0 { store.revision() + 1 } else { from };
        let dirty = next <= store.revision();
        if span == Span::Prefix {
            self.by_prefix.entry(key.clone()).or_default().insert(id);
        } else {
            self.others.insert(id);
        }
        if dirty {
            self.dirty.insert(id);
        }
        self.watchers.insert(id, Watcher { key, span, next, dirty });
        id
    }
    /// Closes a watch.
    pub fn close(&mut self, id: WatchId) {
        let Some(watcher) = self.watchers.remove(&id) else { return };
        self.dirty.remove(&id);
        self.others.remove(&id);
        if let Some(ids) = self.by_prefix.get_mut(&watcher.key) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_prefix.remove(&watcher.key);
            }
        }
    }
    /// Marks the watches that `event` concerns.
    pub fn notice<V>(&mut self, event: &Event<V>) {
        let key: &str = &event.kv.key;
        let mark = |watchers: &mut BTreeMap<WatchId, Watcher>, dirty: &mut BTreeSet<WatchId>, id: WatchId| {
            if let Some(watcher) = watchers.get_mut(&id)
                && !watcher.dirty
                && event.revision() >= watcher.next
            {
                watcher.dirty = true;
                dirty.insert(id);
            }
        };
        // The prefixes of the key among those watched, longest first: the greatest candidate not above the key either
        // is one, or what it has in common with the key bounds the next candidate.
        let mut bound = key;
        while let Some((prefix, ids)) =
            self.by_prefix.range::<str, _>((Bound::Unbounded, Bound::Included(bound))).next_back()
        {
            let common = common_prefix(key, prefix);
            if common == prefix.len() {
                for &id in ids {
                    mark(&mut self.watchers, &mut self.dirty, id);
                }
                let Some((last, _)) = key.get(..common).and_then(|k| k.char_indices().next_back()) else { break };
                bound = key.get(..last).unwrap_or("");
            } else {
                bound = key.get(..common).unwrap_or("");
            }
        }
        for &id in &self.others {
            let concerns = self.watchers.get(&id).is_some_and(|w| w.span.contains(&w.key, key));
            if concerns {
                mark(&mut self.watchers, &mut self.dirty, id);
            }
        }
    }
    /// Marks all watches: the store was replaced.
    pub fn notice_all(&mut self) {
        for (id, watcher) in &mut self.watchers {
            watcher.dirty = true;
            self.dirty.insert(*id);
        }
    }
    /// After compaction, before new events are noticed: watches that wait for nothing have missed nothing.
    pub fn advance_idle<V: Value>(&mut self, store: &Store<V>) {
        for watcher in self.watchers.values_mut().filter(|w| !w.dirty) {
            watcher.next = watcher.next.max(store.compact_revision());
        }
    }
    /// The watches for which there may be something.
    pub fn dirty(&self) -> Vec<WatchId> {
        self.dirty.iter().copied().collect()
    }
    /// Whether there is none such.
    pub fn is_settled(&self) -> bool {
        self.dirty.is_empty()
    }
    /// Whether the watch has been handed everything up to now.
    pub fn is_synced(&self, id: WatchId) -> bool {
        !self.dirty.contains(&id)
    }
    /// Hands out the next changes for a watch: about `max`, but whole revisions, looking at no more than 16 times as
    /// many.
    pub fn poll<V: Value>(&mut self, store: &Store<V>, id: WatchId, max: usize) -> Poll<V> {
        let Some(watcher) = self.watchers.get_mut(&id) else { return Poll::Nothing };
        if !watcher.dirty {
            watcher.next = watcher.next.max(store.revision() + 1);
            return Poll::Nothing;
        }
        let (mut found, mut seen, mut last) = (Vec::new(), 0usize, watcher.next.saturating_sub(1));
        let mut more = false;
        match store.events_from(watcher.next) {
            Err(error) => {
                self.close(id);
                return Poll::Compacted(error);
            }
            Ok(events) => {
                for event in events {
                    if event.revision() != last && (found.len() >= max || seen >= max.saturating_mul(16)) {
                        more = true;
                        break;
                    }
                    seen += 1;
                    last = event.revision();
                    if watcher.span.contains(&watcher.key, &event.kv.key) {
                        found.push(event.clone());
                    }
                }
            }
        }
        if more {
            watcher.next = last + 1;
        } else {
            watcher.next = watcher.next.max(store.revision() + 1);
            watcher.dirty = false;
            self.dirty.remove(&id);
        }
        if found.is_empty() && !more { Poll::Nothing } else { Poll::Events(found, more) }
    }
    /// The next revision a watch has to see.
    pub fn next_revision(&self, id: WatchId) -> u64 {
        self.watchers.get(&id).map_or(0, |w| w.next)
    }
}

/// How many bytes two texts have in common at their beginning, whole characters.
fn common_prefix(a: &str, b: &str) -> usize {
    let mut common = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(common) {
        common -= 1;
    }
    common
}
