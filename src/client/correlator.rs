//! What becomes of an event before it is written: similar ones are combined, equal ones counted, floods dropped
//! (client-go `tools/record/events_cache.go`).

use std::collections::BTreeSet;

use api::core_v1::Event;
use api::{Str, Time};

use crate::flowcontrol::TokenBucket;
use crate::lru::Lru;

/// Entries of each cache (`maxLruCacheEntries`).
const CACHE_ENTRIES: usize = 4096;
/// Events of one reason about one object that differ in their message, before they are combined.
const AGGREGATE_MAX_EVENTS: usize = 10;
/// Seconds without a similar event after which the count starts over.
const AGGREGATE_INTERVAL: i64 = 600;
const SPAM_BURST: u32 = 25;
const SPAM_QPS: f64 = 1.0 / 300.0;

/// What to do with an event.
#[derive(Debug)]
pub enum Correlated {
    /// Nothing: its source has said too much about this object.
    Skip,
    /// Create it.
    Create(Event),
    /// It was seen before: patch the one that is there, to the count, time and message of this one.
    Update(Event),
}

struct Aggregate {
    local_keys: BTreeSet<Str>,
    last: i64,
}

#[derive(Clone)]
struct Seen {
    count: i32,
    first: Time,
    name: Str,
}

/// The memory of one event broadcaster.
pub struct Correlator {
    aggregates: Lru<String, Aggregate>,
    seen: Lru<String, Seen>,
    spam: Lru<String, TokenBucket>,
}

impl Default for Correlator {
    fn default() -> Self {
        Correlator::new()
    }
}

fn source_key(event: &Event, out: &mut Vec<Str>) {
    let about = &event.involved_object;
    out.extend([
        event.source.component.clone(),
        event.source.host.clone(),
        about.kind.clone(),
        about.namespace.clone(),
        about.name.clone(),
    ]);
}

fn join(parts: &[Str]) -> String {
    parts.iter().map(|s| &**s).collect()
}

fn event_key(event: &Event) -> String {
    let mut parts = Vec::with_capacity(11);
    source_key(event, &mut parts);
    let about = &event.involved_object;
    parts.extend([
        about.field_path.clone(),
        about.uid.clone(),
        about.api_version.clone(),
        event.type_.clone(),
        event.reason.clone(),
        event.message.clone(),
    ]);
    join(&parts)
}

fn spam_key(event: &Event) -> String {
    let mut parts = Vec::with_capacity(8);
    source_key(event, &mut parts);
    let about = &event.involved_object;
    parts.extend([about.uid.clone(), about.api_version.clone(), event.type_.clone()]);
    join(&parts)
}

fn aggregate_key(event: &Event) -> String {
    let mut parts = Vec::with_capacity(11);
    source_key(event, &mut parts);
    let about = &event.involved_object;
    parts.extend([
        about.uid.clone(),
        about.api_version.clone(),
        event.type_.clone(),
        event.reason.clone(),
        event.reporting_component.clone(),
        event.reporting_instance.clone(),
    ]);
    join(&parts)
}

impl Correlator {
    /// One that has seen nothing.
    pub fn new() -> Correlator {
        Correlator { aggregates: Lru::new(CACHE_ENTRIES), seen: Lru::new(CACHE_ENTRIES), spam: Lru::new(CACHE_ENTRIES) }
    }

    /// Combines, counts and filters one event. `unix_nanos` is the time of day.
    pub fn correlate(&mut self, event: Event, unix_nanos: i64) -> Correlated {
        let (event, key) = self.aggregate(event, unix_nanos);
        let (event, known) = self.observe(event, &key);
        if self.is_spam(&event, unix_nanos) {
            return Correlated::Skip;
        }
        if known { Correlated::Update(event) } else { Correlated::Create(event) }
    }

    /// The server has taken an event: later equal ones change this object.
    pub fn written(&mut self, event: &Event) {
        let seen = Seen { count: event.count, first: event.first_timestamp, name: event.metadata.name.clone() };
        self.seen.insert(event_key(event), seen);
    }

    fn aggregate(&mut self, event: Event, unix_nanos: i64) -> (Event, String) {
        let seconds = unix_nanos.div_euclid(1_000_000_000);
        let key = event_key(&event);
        let group = aggregate_key(&event);
        let fresh = match self.aggregates.get(&group) {
            Some(a) => seconds.saturating_sub(a.last) > AGGREGATE_INTERVAL,
            None => true,
        };
        if fresh {
            self.aggregates.insert(group.clone(), Aggregate { local_keys: BTreeSet::new(), last: seconds });
        }
        let Some(record) = self.aggregates.get(&group) else { return (event, key) };
        record.local_keys.insert(event.message.clone());
        record.last = seconds;
        if record.local_keys.len() < AGGREGATE_MAX_EVENTS {
            return (event, key);
        }
        record.local_keys.pop_first();
        let now = Time::from_unix(seconds);
        let mut combined = Event::default();
        combined.metadata.name = format!("{}.{:x}", event.involved_object.name, unix_nanos).into();
        combined.metadata.namespace = event.metadata.namespace.clone();
        combined.count = 1;
        combined.first_timestamp = now;
        combined.last_timestamp = now;
        combined.involved_object = event.involved_object.clone();
        combined.message = format!("(combined from similar events): {}", event.message).into();
        combined.type_ = event.type_.clone();
        combined.reason = event.reason.clone();
        combined.source = event.source.clone();
        (combined, group)
    }

    fn observe(&mut self, mut event: Event, key: &String) -> (Event, bool) {
        let known = match self.seen.get(key) {
            Some(seen) => {
                event.metadata.name = seen.name.clone();
                event.first_timestamp = seen.first;
                event.count = seen.count.saturating_add(1);
                true
            }
            None => false,
        };
        let seen = Seen { count: event.count, first: event.first_timestamp, name: event.metadata.name.clone() };
        self.seen.insert(key.clone(), seen);
        (event, known)
    }

    fn is_spam(&mut self, event: &Event, unix_nanos: i64) -> bool {
        let key = spam_key(event);
        let now = u64::try_from(unix_nanos).unwrap_or(0);
        if self.spam.get(&key).is_none() {
            self.spam.insert(key.clone(), TokenBucket::new(SPAM_QPS, SPAM_BURST));
        }
        self.spam.get(&key).is_some_and(|bucket| !bucket.try_accept(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(message: &str) -> Event {
        let mut e = Event::default();
        e.metadata.name = "web.1".into();
        e.involved_object.name = "web".into();
        e.reason = "FailedCreate".into();
        e.message = message.into();
        e.count = 1;
        e
    }

    #[test]
    fn equal_events_are_counted() {
        let mut c = Correlator::new();
        assert!(matches!(c.correlate(event("a"), 0), Correlated::Create(_)));
        for n in 2..5 {
            match c.correlate(event("a"), n) {
                Correlated::Update(e) => assert_eq!(e.count, n as i32),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_tenth_message_is_combined() {
        let mut c = Correlator::new();
        for n in 0..9 {
            assert!(matches!(c.correlate(event(&format!("m{n}")), n), Correlated::Create(_)));
        }
        match c.correlate(event("m9"), 9) {
            Correlated::Create(e) => assert_eq!(&*e.message, "(combined from similar events): m9"),
            other => panic!("{other:?}"),
        }
        match c.correlate(event("m10"), 10) {
            Correlated::Update(e) => {
                assert_eq!((e.count, &*e.message), (2, "(combined from similar events): m10"))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_twenty_sixth_is_dropped() {
        let mut c = Correlator::new();
        let kept = (0..30).filter(|_| !matches!(c.correlate(event("a"), 0), Correlated::Skip)).count();
        assert_eq!(kept, 25);
        assert!(!matches!(c.correlate(event("a"), 301_000_000_000), Correlated::Skip));
    }
}
