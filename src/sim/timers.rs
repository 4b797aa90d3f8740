use crate::net::Delivery;
use crate::{Instant, ProcessId};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;

/// What a timer does when its moment comes.
pub(crate) enum Action {
    Wake(Waker),
    Deliver(Delivery),
}

pub(crate) struct Timer {
    pub action: Action,
    /// The process that waits; none for the network's own.
    pub process: Option<ProcessId>,
    /// What the timer stands for, where its owner said so.
    pub label: Option<Rc<str>>,
}

/// (deadline, sequence): equal deadlines fire in the order in which they were set.
pub(crate) type TimerKey = (Instant, u64);

/// All timers of the world, in the order in which they fire.
#[derive(Default)]
pub(crate) struct Timers {
    entries: BTreeMap<TimerKey, Timer>,
    sequence: u64,
}

impl Timers {
    pub fn set(&mut self, at: Instant, timer: Timer) -> TimerKey {
        self.sequence += 1;
        let key = (at, self.sequence);
        self.entries.insert(key, timer);
        key
    }
    pub fn cancel(&mut self, key: TimerKey) -> Option<Timer> {
        self.entries.remove(&key)
    }
    pub fn rewake(&mut self, key: TimerKey, waker: &Waker) {
        if let Some(Timer { action: Action::Wake(old), .. }) = self.entries.get_mut(&key)
            && !old.will_wake(waker)
        {
            *old = waker.clone();
        }
    }
    pub fn next_deadline(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|(key, _)| key.0)
    }
    /// The first timer due at `now`; `pick` chooses among those of the same moment.
    pub fn pop_due(&mut self, now: Instant, pick: impl FnOnce(usize) -> usize) -> Option<Timer> {
        let (&first, _) = self.entries.first_key_value()?;
        if first.0 > now {
            return None;
        }
        let equal = self.entries.range(first..=(first.0, u64::MAX));
        let mut equal = equal.map(|(key, _)| *key);
        let nth = pick(equal.clone().take(64).count());
        let key = equal.nth(nth).unwrap_or(first);
        self.entries.remove(&key)
    }
    pub fn iter(&self) -> impl Iterator<Item = (&TimerKey, &Timer)> {
        self.entries.iter()
    }
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
