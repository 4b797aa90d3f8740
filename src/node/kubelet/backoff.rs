//! Exponential back-off by key (client-go/util/flowcontrol, Backoff).

use sim::{Duration, Instant};
use std::collections::BTreeMap;

/// Keys that a back-off remembers; the oldest go first.
pub const KEYS: usize = 4_096;

struct Entry {
    delay: Duration,
    updated: Instant,
}

/// Delays that double with every failure, up to a limit, and are forgotten after twice that limit without one.
pub struct Backoff {
    first: Duration,
    limit: Duration,
    entries: BTreeMap<String, Entry>,
}

impl Backoff {
    /// Delays from `first`, doubling up to `limit`.
    pub fn new(first: Duration, limit: Duration) -> Self {
        Self { first, limit, entries: BTreeMap::new() }
    }

    /// The delay in force, zero if none.
    pub fn get(&self, key: &str) -> Duration {
        self.entries.get(key).map_or(Duration::ZERO, |e| e.delay)
    }

    /// Another failure, the event of which happened at `event`; `now` is when it is counted.
    pub fn next(&mut self, key: &str, event: Instant, now: Instant) {
        let expired = self.entries.get(key).is_none_or(|e| self.expired(e, event));
        let delay = if expired { self.first } else { (self.get(key) * 2).min(self.limit) };
        if self.entries.len() >= KEYS && !self.entries.contains_key(key) {
            let oldest = self.entries.iter().min_by_key(|(_, e)| e.updated).map(|(k, _)| k.clone());
            if let Some(oldest) = oldest {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(key.to_string(), Entry { delay, updated: now });
    }

    /// Whether less than the delay has gone by since `event`.
    pub fn in_backoff_since(&self, key: &str, event: Instant, now: Instant) -> bool {
        self.entries.get(key).is_some_and(|e| !self.expired(e, event) && now.since(event) < e.delay)
    }

    /// Whether less than the delay has gone by since the last failure was counted.
    pub fn in_backoff_since_update(&self, key: &str, now: Instant) -> bool {
        self.entries.get(key).is_some_and(|e| !self.expired(e, now) && now.since(e.updated) < e.delay)
    }

    /// Forgets a key.
    pub fn forget(&mut self, key: &str) {
        self.entries.remove(key);
    }

    fn expired(&self, entry: &Entry, event: Instant) -> bool {
        event.since(entry.updated) > self.limit * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_the_limit_and_are_forgotten() {
        let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
        let mut backoff = Backoff::new(Duration::from_secs(10), Duration::from_secs(300));
        let mut now = at(0);
        let mut seen = Vec::new();
        for _ in 0..8 {
            backoff.next("a", now, now);
            seen.push(backoff.get("a").as_secs());
            now = now + backoff.get("a");
        }
        assert_eq!(seen, [10, 20, 40, 80, 160, 300, 300, 300]);
        let ended = now;
        assert!(backoff.in_backoff_since("a", ended, ended + Duration::from_secs(299)));
        assert!(!backoff.in_backoff_since("a", ended, ended + Duration::from_secs(300)));
        let later = now + Duration::from_secs(601);
        backoff.next("a", later, later);
        assert_eq!(backoff.get("a").as_secs(), 10);
        assert!(!backoff.in_backoff_since("b", at(0), at(0)));
    }
}
