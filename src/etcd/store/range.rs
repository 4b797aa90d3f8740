//! Reading keys, now or as of an older revision.

use super::Store;
use crate::rpc::{Error, KeyValue, RangeRequest, RangeResponse, Span, Value};
use std::collections::BTreeMap;
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
        // What each key that changed since was before its first change.
        let mut before: BTreeMap<&str, Option<&Kv<V>>> = BTreeMap::new();
        for event in self.events_from(request.revision + 1)? {
            if in_range(request, &event.kv.key) {
                before.entry(&event.kv.key).or_insert(event.prev.as_ref());
            }
        }
        let untouched = self.live(request).filter(|kv| !before.contains_key(&*kv.key));
        Ok(collect(request, Merge { a: untouched.peekable(), b: before.values().copied().flatten().peekable() }))
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

/// Two sequences in the order of keys, as one.
struct Merge<'a, V, A: Iterator<Item = &'a Kv<V>>, B: Iterator<Item = &'a Kv<V>>>
where
    V: 'a,
{
    a: std::iter::Peekable<A>,
    b: std::iter::Peekable<B>,
}

impl<'a, V, A: Iterator<Item = &'a Kv<V>>, B: Iterator<Item = &'a Kv<V>>> Iterator for Merge<'a, V, A, B> {
    type Item = &'a Kv<V>;
    fn next(&mut self) -> Option<Self::Item> {
        match (self.a.peek(), self.b.peek()) {
            (Some(a), Some(b)) if b.key < a.key => self.b.next(),
            (Some(_), _) => self.a.next(),
            (None, _) => self.b.next(),
        }
    }
}
