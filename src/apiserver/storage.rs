//! What the API server asks of its store: etcd's client, seen from the registry.
//! Values are the objects themselves, shared; the revision is beside them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use api::Object;

use crate::registry::managed::Log;

/// A future of the store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + 'a>>;

/// One stored key.
#[derive(Clone)]
pub struct Entry {
    /// The whole key: `/registry/pods/default/web`.
    pub key: Rc<str>,
    /// The revision of its last change.
    pub revision: u64,
    /// The object.
    pub body: Rc<dyn Object>,
    /// Who wrote what of it, where that isn't in the object.
    pub log: Option<Rc<Log>>,
}

/// What a conditional write met.
pub enum Write {
    /// It was done at this revision.
    Done(u64),
    /// The key was not at the expected revision; this is what it holds now.
    Conflict(Option<Entry>),
}

/// One change of a key, from a watch.
#[derive(Clone)]
pub struct Change {
    /// The whole key.
    pub key: Rc<str>,
    /// The revision of the change.
    pub revision: u64,
    /// The new object; none for a deletion.
    pub body: Option<Rc<dyn Object>>,
    /// Who wrote what of it, where that isn't in the object.
    pub log: Option<Rc<Log>>,
}

/// What the store can fail with.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreError {
    /// No answer: the member is down, has no leader, or cannot be reached. The text is the client's.
    Unavailable(String),
    /// The revision asked for was compacted away; this is the oldest one left.
    Compacted(u64),
    /// The revision asked for is yet to come; this is the newest.
    Future(u64),
    /// The store has run out of space.
    NoSpace,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(text) => f.write_str(text),
            StoreError::Compacted(_) => f.write_str("etcdserver: mvcc: required revision has been compacted"),
            StoreError::Future(_) => f.write_str("etcdserver: mvcc: required revision is a future revision"),
            StoreError::NoSpace => f.write_str("etcdserver: mvcc: database space exceeded"),
        }
    }
}

/// A stream of changes.
pub trait Changes {
    /// The changes of the next revisions, in order, at least one. An error ends the stream.
    fn next(&mut self) -> StoreFuture<'_, Vec<Change>>;
}

/// The store.
pub trait Storage {
    /// One key and the store's revision at that moment (a linearizable read).
    fn get<'a>(&'a self, key: &'a str) -> StoreFuture<'a, (Option<Entry>, u64)>;
    /// All keys with a prefix in order, and the store's revision (linearizable).
    fn range<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, (Vec<Entry>, u64)>;
    /// All keys with a prefix as they were at `revision`.
    fn range_at<'a>(&'a self, prefix: &'a str, revision: u64) -> StoreFuture<'a, Vec<Entry>>;
    /// The store's current revision (linearizable).
    fn revision(&self) -> StoreFuture<'_, u64>;
    /// Writes if the key is at revision `expected` (0: does not exist). It expires after `ttl` seconds.
    fn put<'a>(
        &'a self,
        key: &'a str,
        expected: u64,
        object: (Rc<dyn Object>, Option<Rc<Log>>),
        ttl: Option<u64>,
    ) -> StoreFuture<'a, Write>;
    /// Deletes if the key is at revision `expected`.
    fn delete<'a>(&'a self, key: &'a str, expected: u64) -> StoreFuture<'a, Write>;
    /// All changes of all keys from revision `from` on.
    fn watch(&self, from: u64) -> StoreFuture<'_, Box<dyn Changes>>;
    /// Forgets what was before `revision`.
    fn compact(&self, revision: u64) -> StoreFuture<'_, ()>;
}
