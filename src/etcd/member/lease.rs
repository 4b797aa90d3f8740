//! The lessor: the leader watches the clock for leases that run out and has them revoked.

use super::Member;
use crate::raft::Role;
use crate::rpc::{Operation, Value};
use crate::wal::Command;
use sim::{Duration, Instant};
use std::rc::Rc;

/// Leases revoked at once (etcd: defaultLeaseRevokeRate is 1000 a second).
const REVOKE_BATCH: usize = 500;

impl<V: Value> Member<V> {
    pub(super) fn lease_renewed(&self, id: i64, expiry: Instant) {
        self.with(|s| s.lease_expiry.insert(id, expiry));
        self.0.leases.notify();
    }
    pub(super) fn lease_gone(&self, id: i64) {
        self.with(|s| s.lease_expiry.remove(&id));
    }
    /// A new leader gives every lease its full time again: it does not know how much had passed.
    pub(super) fn extend_leases(&self) {
        let now = self.ctx().now();
        self.with(|s| {
            if s.raft.role() == Role::Leader {
                s.lease_expiry =
                    s.store.leases().iter().map(|(id, l)| (*id, now + Duration::from_secs(l.ttl))).collect();
            }
        });
        self.0.leases.notify();
    }
    pub(super) async fn lessor(self) {
        let ctx = self.ctx().clone();
        loop {
            let changed = self.0.leases.notified();
            let next = self.with(|s| {
                let leads = s.raft.role() == Role::Leader;
                if leads { s.lease_expiry.values().min().copied() } else { None }
            });
            let Some(next) = next else {
                changed.await;
                continue;
            };
            if next > ctx.now() {
                // A renewed lease only makes the wait end too early; a new one may end before the present one.
                let sleep = ctx.sleep_until(next).named("lease expires");
                futures_util::future::select(sleep, changed).await;
                continue;
            }
            let now = ctx.now();
            let expired: Vec<i64> = self.with(|s| {
                let due = s.lease_expiry.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id);
                let due: Vec<i64> = due.take(REVOKE_BATCH).collect();
                for id in &due {
                    // Should the revocation be lost, it is tried again.
                    s.lease_expiry.insert(*id, now + Duration::from_secs(3));
                }
                due
            });
            for id in expired {
                let request = self.with(super::State::request_id);
                self.submit(Rc::new(Command::new(request, Operation::LeaseRevoke { id })));
            }
        }
    }
}
