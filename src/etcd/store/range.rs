//! Reading keys, now or as of an older revision.

use super::Store;
use crate::rpc::{Error, KeyValue, RangeRequest, RangeResponse, Span, Value};
use std::cmp::Ordering;
use std::ops::Bound;
use std::rc::Rc;

type Kv<V> = Rc<KeyValue<V>>;

impl<V: Value> Store<V> {
    /// Keys in order.
    ///
    /// # Errors
    /// [`Error::EmptyKey`] for a single empty key, [`Error::Compacted`] and [`Error::FutureRevision`] for revisions
    /// that are gone or yet to come.
    pub fn range(&self, request: &RangeRequest) -> Result<RangeResponse<V>, Error> {
        if request.span == Span::Key && request.key.is_empty() {
            return Err(Error::EmptyKey);
        }
        if request.revision > self.revision() {
            return Err(Error::FutureRevision(self.revision()));
        }
        if request.revision == 0 || request.revision == self.revision() {
            return Ok(collect(request, self.live(request)));
        }
        if request.revision < self.compact_revision() {
            return Err(Error::Compacted(self.compact_revision()));
        }
        // What each key that changed since was before its first change, in the order of keys.
        let changes = self.events_from(request.revision + 1)?.filter(|e| in_range(request, &e.kv.key));
        let mut before: Vec<(&str, Option<&Kv<V>>)> = changes.map(|e| (&*e.kv.key, e.prev.as_ref())).collect();
        before.sort_by_key(|(key, _)| *key);
        before.dedup_by_key(|(key, _)| *key);
        Ok(collect(request, Undo { now: self.live(request).peekable(), before: before.into_iter().peekable() }))
    }

    fn live<'a>(&'a self, request: &'a RangeRequest) -> impl Iterator<Item = &'a Kv<V>> {
        let from = match &request.after {
            Some(after) if **after >= *request.key => Bound::Excluded(&**after),
            _ => Bound::Included(&*request.key),
        };
        self.keys
            .range::<str, _>((from, Bound::Unbounded))
            .map(|(_, kv)| kv)
            .take_while(|kv| request.span.contains(&request.key, &kv.key))
    }
    /// The keys of a span as they are now.
    pub(super) fn span<'a>(&'a self, key: &'a str, span: &'a Span) -> impl Iterator<Item = &'a Kv<V>> {
        self.keys
            .range::<str, _>((Bound::Included(key), Bound::Unbounded))
            .map(|(_, kv)| kv)
            .take_while(move |kv| span.contains(key, &kv.key))
    }
}

fn in_range(request: &RangeRequest, key: &str) -> bool {
    request.span.contains(&request.key, key) && request.after.as_ref().is_none_or(|after| key > &**after)
}

fn collect<'a, V: Value>(request: &RangeRequest, found: impl Iterator<Item = &'a Kv<V>>) -> RangeResponse<V> {
    let mut kvs = Vec::new();
    let mut count = 0;
    for kv in found {
        count += 1;
        if request.count_only || (request.limit > 0 && kvs.len() >= request.limit) {
            continue;
        }
        kvs.push(if request.keys_only { Rc::new(KeyValue { value: None, ..(**kv).clone() }) } else { kv.clone() });
    }
    RangeResponse { more: !request.count_only && count > kvs.len(), kvs, count }
}

/// The keys as they are now, with those that changed put back: both in the order of keys.
struct Undo<'a, V, A: Iterator<Item = &'a Kv<V>>, B: Iterator<Item = (&'a str, Option<&'a Kv<V>>)>>
where
    V: 'a,
{
    now: std::iter::Peekable<A>,
    before: std::iter::Peekable<B>,
}

impl<'a, V, A: Iterator<Item = &'a Kv<V>>, B: Iterator<Item = (&'a str, Option<&'a Kv<V>>)>> Iterator
    for Undo<'a, V, A, B>
{
    type Item = &'a Kv<V>;
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = match (self.now.peek(), self.before.peek()) {
                (Some(kv), Some((key, _))) => (*kv.key).cmp(key),
                (_, None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => return self.now.next(),
                Ordering::Equal => {
                    self.now.next();
                }
                Ordering::Greater => {}
            }
            // It was there then, or it was not.
            if let Some((_, Some(kv))) = self.before.next() {
                return Some(kv);
            }
        }
    }
}
