//! The store over etcd's client.

use std::cell::RefCell;
use std::rc::Rc;

use api::Object;
use etcd::rpc::{Compare, DeleteRangeRequest, Error, Op, OpResponse, PutRequest, RangeRequest, Span, TxnRequest};
use sim::{Ctx, Duration, Instant};

use crate::registry::managed::Log;
use crate::storage::{Change, Changes, Entry, Storage, StoreError, StoreFuture, Write};

/// An object as etcd keeps it, with the notes of who wrote what of it.
#[derive(Clone)]
pub struct Stored(pub Rc<dyn Object>, Option<Rc<Log>>);

/// What a stored object weighs, in bytes; objects are not encoded to be stored, so this is a fair average.
const ASSUMED_SIZE: u64 = 2048;

impl etcd::Value for Stored {
    fn size(&self) -> u64 {
        ASSUMED_SIZE
    }
}

/// How long a lease is shared by keys that expire together.
const LEASE_REUSE: Duration = Duration::from_secs(60);
/// How many keys share a lease.
const LEASE_KEYS: u32 = 1000;

struct Lease {
    id: i64,
    ttl: u64,
    until: Instant,
    keys: u32,
}

/// The store.
pub struct EtcdStorage {
    ctx: Ctx,
    client: etcd::Client<Stored>,
    lease: RefCell<Option<Lease>>,
}

impl EtcdStorage {
    /// A store over these members.
    pub fn new(ctx: &Ctx, members: Vec<sim::Addr>) -> EtcdStorage {
        EtcdStorage { ctx: ctx.clone(), client: etcd::Client::new(ctx, members), lease: RefCell::new(None) }
    }

    /// A lease that lasts at least `ttl` seconds (etcd3's leaseManager).
    async fn lease(&self, ttl: Option<u64>) -> Result<i64, StoreError> {
        let Some(ttl) = ttl else { return Ok(0) };
        let now = self.ctx.now();
        if let Some(lease) = self.lease.borrow_mut().as_mut()
            && lease.ttl == ttl
            && now < lease.until
            && lease.keys < LEASE_KEYS
        {
            lease.keys += 1;
            return Ok(lease.id);
        }
        let id = self.client.lease_grant(ttl + LEASE_REUSE.as_secs()).await.map_err(failure)?;
        *self.lease.borrow_mut() = Some(Lease { id, ttl, until: now + LEASE_REUSE, keys: 1 });
        Ok(id)
    }

    async fn write(&self, key: &str, expected: u64, op: Op<Stored>) -> Result<Write, StoreError> {
        let txn = TxnRequest {
            compare: vec![Compare::mod_revision(key, expected)],
            success: vec![op],
            failure: vec![Op::Range(RangeRequest::key(key))],
        };
        let answer = self.client.txn(txn).await.map_err(failure)?;
        if answer.succeeded {
            return Ok(Write::Done(answer.revision));
        }
        let found = answer.responses.into_iter().find_map(|response| match response {
            OpResponse::Range(range) => range.kvs.into_iter().next(),
            _ => None,
        });
        Ok(Write::Conflict(found.and_then(|kv| entry(&kv))))
    }
}

fn failure(error: Error) -> StoreError {
    match error {
        Error::Compacted(revision) => StoreError::Compacted(revision),
        Error::FutureRevision(revision) => StoreError::Future(revision),
        Error::NoSpace => StoreError::NoSpace,
        other => StoreError::Unavailable(other.to_string()),
    }
}

fn entry(kv: &etcd::rpc::KeyValue<Stored>) -> Option<Entry> {
    let Stored(body, log) = kv.value.as_ref()?.clone();
    Some(Entry { key: kv.key.clone(), revision: kv.mod_revision, body, log })
}

impl Storage for EtcdStorage {
    fn get<'a>(&'a self, key: &'a str) -> StoreFuture<'a, (Option<Entry>, u64)> {
        Box::pin(async move {
            let (kv, revision) = self.client.get(key).await.map_err(failure)?;
            Ok((kv.and_then(|kv| entry(&kv)), revision))
        })
    }

    fn range<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, (Vec<Entry>, u64)> {
        Box::pin(async move {
            let found = self.client.range(RangeRequest::prefix(prefix)).await.map_err(failure)?;
            Ok((found.kvs.iter().filter_map(|kv| entry(kv)).collect(), found.revision))
        })
    }

    fn range_at<'a>(&'a self, prefix: &'a str, revision: u64) -> StoreFuture<'a, Vec<Entry>> {
        Box::pin(async move {
            let request = RangeRequest { revision, ..RangeRequest::prefix(prefix) };
            let found = self.client.range(request).await.map_err(failure)?;
            Ok(found.kvs.iter().filter_map(|kv| entry(kv)).collect())
        })
    }

    fn revision(&self) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            // A linearizable read of nothing: the answer's header says where the store stands.
            let request = RangeRequest { count_only: true, ..RangeRequest::key("/registry/health") };
            Ok(self.client.range(request).await.map_err(failure)?.revision)
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        expected: u64,
        (body, log): (Rc<dyn Object>, Option<Rc<Log>>),
        ttl: Option<u64>,
    ) -> StoreFuture<'a, Write> {
        Box::pin(async move {
            let lease = self.lease(ttl).await?;
            let put = PutRequest { key: Rc::from(key), value: Stored(body, log), lease, prev_kv: false };
            self.write(key, expected, Op::Put(put)).await
        })
    }

    fn delete<'a>(&'a self, key: &'a str, expected: u64) -> StoreFuture<'a, Write> {
        Box::pin(async move {
            let delete = DeleteRangeRequest { key: Rc::from(key), span: Span::Key, prev_kv: false };
            self.write(key, expected, Op::DeleteRange(delete)).await
        })
    }

    fn watch(&self, from: u64) -> StoreFuture<'_, Box<dyn Changes>> {
        Box::pin(async move {
            let watch = self.client.watch("", Span::Prefix, from);
            Ok(Box::new(EtcdChanges(watch)) as Box<dyn Changes>)
        })
    }

    fn compact(&self, revision: u64) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.client.compact(revision).await.map_err(failure) })
    }
}

struct EtcdChanges(etcd::Watch<Stored>);

impl Changes for EtcdChanges {
    fn next(&mut self) -> StoreFuture<'_, Vec<Change>> {
        Box::pin(async move {
            loop {
                let batch = self.0.next().await.map_err(failure)?;
                if batch.events.is_empty() {
                    continue;
                }
                let changes = batch.events.iter().map(|event| Change {
                    key: event.kv.key.clone(),
                    revision: event.revision(),
                    body: event.kv.value.as_ref().map(|value| value.0.clone()),
                    log: event.kv.value.as_ref().and_then(|value| value.1.clone()),
                });
                return Ok(changes.collect());
            }
        })
    }
}
