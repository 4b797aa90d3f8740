//! Changing the store: one operation of the log at a time.

use super::{Lease, Store, event_size, kv_size};
use crate::rpc::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, Error, Event, KeyValue, Op, OpResponse, Operation,
    PutRequest, RangeRequest, Response, TxnRequest, TxnResponse, Value,
};
use std::collections::BTreeSet;
use std::rc::Rc;

/// How many operations a transaction may have: etcd's --max-txn-ops.
const MAX_TXN_OPS: usize = 128;
/// Seconds of the longest lease.
const MAX_LEASE_TTL: u64 = 9_000_000_000;

impl<V: Value> Store<V> {
    /// Applies one operation. An error changes nothing.
    ///
    /// # Errors
    /// As the operation says: [`Error::Compacted`], [`Error::FutureRevision`], [`Error::LeaseNotFound`],
    /// [`Error::LeaseExists`], [`Error::NoSpace`] and those of [`Store::check`].
    pub fn apply(&mut self, operation: &Operation<V>) -> Result<Response<V>, Error> {
        if operation.is_growth() && !self.alarms.is_empty() {
            return Err(Error::NoSpace);
        }
        let response = match operation {
            Operation::Txn(txn) => self.txn(txn).map(Response::Txn)?,
            Operation::Put(put) => {
                self.check_lease(put.lease)?;
                let prev = self.put(put, self.revision + 1);
                self.revision += 1;
                Response::Put { revision: self.revision, prev: if put.prev_kv { prev } else { None } }
            }
            Operation::DeleteRange(delete) => {
                let prev = self.delete_range(delete, self.revision + 1);
                self.revision += u64::from(!prev.is_empty());
                let deleted = prev.len();
                let prev = if delete.prev_kv { prev } else { Vec::new() };
                Response::DeleteRange { revision: self.revision, deleted, prev }
            }
            Operation::Compact { revision } => {
                self.compact(*revision)?;
                Response::Compact { revision: self.revision }
            }
            Operation::LeaseGrant { id, ttl } => {
                if *ttl > MAX_LEASE_TTL {
                    return Err(Error::LeaseTtlTooLarge);
                }
                if self.leases.contains_key(id) {
                    return Err(Error::LeaseExists);
                }
                self.leases.insert(*id, Lease { ttl: *ttl, keys: BTreeSet::new() });
                Response::LeaseGrant { id: *id, ttl: *ttl }
            }
            Operation::LeaseRevoke { id } => {
                let lease = self.leases.remove(id).ok_or(Error::LeaseNotFound)?;
                let revision = self.revision + 1;
                let mut any = false;
                for key in lease.keys {
                    any |= self.delete(&key, revision).is_some();
                }
                self.revision += u64::from(any);
                Response::LeaseRevoke
            }
            Operation::LeaseKeepAlive { id } => {
                let lease = self.leases.get(id).ok_or(Error::LeaseNotFound)?;
                Response::LeaseKeepAlive { id: *id, ttl: lease.ttl }
            }
            Operation::Alarm { member, alarm, active } => {
                if *active {
                    self.alarms.insert((*member, *alarm));
                } else {
                    // Disarming without a member disarms all.
                    self.alarms.retain(|a| *member != 0 && *a != (*member, *alarm));
                }
                Response::Alarms(self.alarms.iter().copied().collect())
            }
        };
        self.bound_history();
        Ok(response)
    }

    /// What can be said against an operation before it is proposed.
    ///
    /// # Errors
    /// [`Error::EmptyKey`], [`Error::TooManyOperations`], [`Error::DuplicateKey`].
    pub fn check(operation: &Operation<V>) -> Result<(), Error> {
        let op = |op: &Op<V>| match op {
            Op::Put(PutRequest { key, .. }) => key.is_empty(),
            Op::Range(RangeRequest { key, span, .. }) | Op::DeleteRange(DeleteRangeRequest { key, span, .. }) => {
                key.is_empty() && *span == crate::rpc::Span::Key
            }
        };
        match operation {
            Operation::Put(put) if put.key.is_empty() => Err(Error::EmptyKey),
            Operation::DeleteRange(delete) if delete.key.is_empty() && delete.span == crate::rpc::Span::Key => {
                Err(Error::EmptyKey)
            }
            Operation::Txn(txn) => {
                if [txn.compare.len(), txn.success.len(), txn.failure.len()].into_iter().any(|n| n > MAX_TXN_OPS) {
                    return Err(Error::TooManyOperations);
                }
                if txn.compare.iter().any(|c| c.key.is_empty()) || txn.success.iter().chain(&txn.failure).any(op) {
                    return Err(Error::EmptyKey);
                }
                check_unique(&txn.success)?;
                check_unique(&txn.failure)
            }
            _ => Ok(()),
        }
    }

    fn check_lease(&self, id: i64) -> Result<(), Error> {
        if id == 0 || self.leases.contains_key(&id) { Ok(()) } else { Err(Error::LeaseNotFound) }
    }

    fn txn(&mut self, txn: &TxnRequest<V>) -> Result<TxnResponse<V>, Error> {
        let succeeded = txn.compare.iter().all(|c| self.holds(c));
        let ops = if succeeded { &txn.success } else { &txn.failure };
        // All that can fail is looked at first: a transaction is done as a whole or not at all.
        for op in ops {
            match op {
                Op::Put(put) => self.check_lease(put.lease)?,
                Op::Range(range) if range.revision > self.revision => {
                    return Err(Error::FutureRevision(self.revision));
                }
                Op::Range(range) if range.revision > 0 && range.revision < self.compact_revision => {
                    return Err(Error::Compacted(self.compact_revision));
                }
                _ => {}
            }
        }
        let revision = self.revision + 1;
        let mut written = false;
        let mut responses = Vec::with_capacity(ops.len());
        for op in ops {
            responses.push(match op {
                Op::Range(range) => OpResponse::Range(self.range(range)?),
                Op::Put(put) => {
                    written = true;
                    let prev = self.put(put, revision);
                    OpResponse::Put { prev: if put.prev_kv { prev } else { None } }
                }
                Op::DeleteRange(delete) => {
                    let prev = self.delete_range(delete, revision);
                    written |= !prev.is_empty();
                    let deleted = prev.len();
                    OpResponse::DeleteRange { deleted, prev: if delete.prev_kv { prev } else { Vec::new() } }
                }
            });
        }
        self.revision += u64::from(written);
        Ok(TxnResponse { succeeded, revision: self.revision, responses })
    }

    fn holds(&self, compare: &Compare) -> bool {
        let kv = self.keys.get(&compare.key);
        let actual = kv.map_or(0, |kv| match compare.target {
            CompareTarget::Version => kv.version,
            CompareTarget::Create => kv.create_revision,
            CompareTarget::Mod => kv.mod_revision,
            CompareTarget::Lease => kv.lease.unsigned_abs(),
        });
        match compare.result {
            CompareResult::Equal => actual == compare.value,
            CompareResult::NotEqual => actual != compare.value,
            CompareResult::Greater => actual > compare.value,
            CompareResult::Less => actual < compare.value,
        }
    }

    fn put(&mut self, put: &PutRequest<V>, revision: u64) -> Option<Rc<KeyValue<V>>> {
        let kv = |key: Rc<str>, create_revision, version| {
            Rc::new(KeyValue {
                key,
                create_revision,
                mod_revision: revision,
                version,
                lease: put.lease,
                value: Some(put.value.clone()),
            })
        };
        let (kv, prev) = match self.keys.get_mut(&*put.key) {
            Some(slot) => {
                // The key's text is shared with what was there before.
                let new = kv(slot.key.clone(), slot.create_revision, slot.version + 1);
                let prev = std::mem::replace(slot, new.clone());
                self.live_bytes = self.live_bytes.saturating_sub(kv_size(&prev));
                (new, Some(prev))
            }
            None => {
                let new = kv(put.key.clone(), revision, 1);
                self.keys.insert(put.key.clone(), new.clone());
                (new, None)
            }
        };
        self.live_bytes += kv_size(&kv);
        let old_lease = prev.as_ref().map_or(0, |p| p.lease);
        if old_lease != put.lease {
            self.detach(old_lease, &kv.key);
            if let Some(lease) = self.leases.get_mut(&put.lease) {
                lease.keys.insert(kv.key.clone());
            }
        }
        self.record(Event { kv, prev: prev.clone() });
        prev
    }

    fn delete_range(&mut self, delete: &DeleteRangeRequest, revision: u64) -> Vec<Rc<KeyValue<V>>> {
        let keys: Vec<Rc<str>> = self.span(&delete.key, &delete.span).map(|kv| kv.key.clone()).collect();
        keys.iter().filter_map(|key| self.delete(key, revision)).collect()
    }

    fn delete(&mut self, key: &str, revision: u64) -> Option<Rc<KeyValue<V>>> {
        let prev = self.keys.remove(key)?;
        self.live_bytes = self.live_bytes.saturating_sub(kv_size(&prev));
        self.detach(prev.lease, key);
        let kv = Rc::new(KeyValue {
            key: prev.key.clone(),
            create_revision: 0,
            mod_revision: revision,
            version: 0,
            lease: 0,
            value: None,
        });
        self.record(Event { kv, prev: Some(prev.clone()) });
        Some(prev)
    }

    fn detach(&mut self, lease: i64, key: &str) {
        if let Some(lease) = self.leases.get_mut(&lease) {
            lease.keys.remove(key);
        }
    }

    fn record(&mut self, event: Event<V>) {
        self.history_bytes += event_size(&event);
        self.history.push_back(Rc::new(event));
    }
}

/// A transaction may write a key once only.
fn check_unique<V>(ops: &[Op<V>]) -> Result<(), Error> {
    if ops.len() < 2 {
        return Ok(());
    }
    let mut put = BTreeSet::new();
    for op in ops {
        if let Op::Put(p) = op
            && !put.insert(&*p.key)
        {
            return Err(Error::DuplicateKey);
        }
    }
    for op in ops {
        if let Op::DeleteRange(d) = op
            && put.iter().any(|key| d.span.contains(&d.key, key))
        {
            return Err(Error::DuplicateKey);
        }
    }
    Ok(())
}
