//! A queue that lets its entries out at a limited rate (`nodelifecycle/scheduler/rate_limited_queue.go`).

use std::collections::BTreeSet;
use std::time::Duration;

use api::Str;
use client::flowcontrol::TokenBucket;
use sim::Instant;

/// Nodes that wait to be tainted. A node that was let out stays known until it is removed, so that it is not queued
/// again. Bounded by the nodes of a zone.
pub(super) struct TimedQueue {
    waiting: Vec<(Instant, Str)>,
    known: BTreeSet<Str>,
    qps: f64,
    limiter: TokenBucket,
}

impl TimedQueue {
    pub fn new(qps: f64) -> TimedQueue {
        TimedQueue { waiting: Vec::new(), known: BTreeSet::new(), qps, limiter: TokenBucket::new(qps, 1) }
    }

    /// Queues a node unless it is known.
    pub fn add(&mut self, name: &Str, now: Instant) -> bool {
        if !self.known.insert(name.clone()) {
            return false;
        }
        self.waiting.push((now, name.clone()));
        true
    }

    /// Forgets a node; says whether it was known.
    pub fn remove(&mut self, name: &str) -> bool {
        self.waiting.retain(|(_, n)| *n != name);
        self.known.remove(name)
    }

    /// The node was dealt with; it stays known.
    pub fn finish(&mut self, name: &str) {
        self.waiting.retain(|(_, n)| *n != name);
    }

    /// The node is to be tried again, not before `at`.
    pub fn postpone(&mut self, name: &Str, at: Instant) {
        self.waiting.retain(|(_, n)| n != name);
        self.waiting.push((at, name.clone()));
    }

    fn head(&self) -> Option<&(Instant, Str)> {
        self.waiting.iter().min_by_key(|(at, _)| *at)
    }

    /// The first node, if the limit lets it out now.
    pub fn try_head(&mut self, now: Instant) -> Option<Str> {
        self.head()?;
        if self.qps <= 0.0 || !self.limiter.try_accept(now.as_nanos()) {
            return None;
        }
        let (at, name) = self.head()?;
        (*at <= now).then(|| name.clone())
    }

    /// When it is worth trying next; `None` if nobody waits or nobody may go.
    pub fn next_try(&mut self, now: Instant) -> Option<Instant> {
        let (at, _) = self.head()?;
        if self.qps <= 0.0 {
            return None;
        }
        let at = *at;
        // Looking takes no token: a copy of the bucket says when the next one comes.
        let wait: Duration = self.limiter.clone().reserve(now.as_nanos());
        Some(at.max(now + wait))
    }

    /// Changes the rate; a token spent stays spent.
    pub fn swap_limiter(&mut self, now: Instant, qps: f64) {
        if self.qps == qps {
            return;
        }
        let spent = self.qps <= 0.0 || !self.limiter.try_accept(now.as_nanos());
        self.qps = qps;
        self.limiter = TokenBucket::new(qps, 1);
        if spent {
            self.limiter.try_accept(now.as_nanos());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_ten_seconds() {
        let at = |s: u64| Instant::from_nanos(s * 1_000_000_000);
        let mut q = TimedQueue::new(0.1);
        for name in ["a", "b"] {
            assert!(q.add(&name.into(), at(1)));
        }
        assert!(!q.add(&"a".into(), at(1)));
        assert_eq!(q.try_head(at(1)).as_deref(), Some("a"));
        q.finish("a");
        assert_eq!(q.try_head(at(1)), None);
        assert_eq!(q.next_try(at(1)), Some(at(11)));
        assert_eq!(q.try_head(at(11)).as_deref(), Some("b"));
        // Dealt with, but known until it is removed.
        assert!(!q.add(&"a".into(), at(12)));
        assert!(q.remove("a"));
        assert!(q.add(&"a".into(), at(12)));
    }
}
