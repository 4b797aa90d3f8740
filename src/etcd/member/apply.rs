//! Applying committed entries, and telling those who wait or watch.

use super::{Caller, Member};
use crate::raft::{Entry, EntryData};
use crate::rpc::{Alarm, Error, Operation, Response, ServerFrame, Value};
use crate::store::{Poll, Store, WatchId};
use crate::wal::Command;
use sim::{Duration, Severity};
use std::rc::Rc;

/// Events in one message to a watch, about.
const BATCH: usize = 1000;
/// Messages that a client may leave unread before its watches wait.
const UNREAD: usize = 1024;

impl<V: Value> Store<V> {
    /// Applies one entry of the log; the answer, if it holds an operation.
    pub(crate) fn apply_entry(&mut self, entry: &Entry<Rc<Command<V>>>) -> Option<Result<Response<V>, Error>> {
        self.applied = (entry.index, entry.term);
        match &entry.data {
            EntryData::Normal(command) => Some(self.apply(&command.operation)),
            EntryData::Empty => None,
            EntryData::Conf(change) => {
                match change {
                    crate::raft::ConfChange::Add(id) if !self.voters.contains(id) => {
                        self.voters.push(*id);
                        self.voters.sort_unstable();
                    }
                    crate::raft::ConfChange::Add(_) => {}
                    crate::raft::ConfChange::Remove(id) => self.voters.retain(|v| v != id),
                }
                None
            }
        }
    }
}

impl<V: Value> Member<V> {
    pub(super) fn apply(&self, entries: &[Entry<Rc<Command<V>>>]) {
        for entry in entries {
            self.apply_one(entry);
        }
        self.flush_watches();
        self.answer_reads();
        self.check_space();
        if self.absorb_due() {
            self.0.absorb.notify();
        }
    }

    fn apply_one(&self, entry: &Entry<Rc<Command<V>>>) {
        let now = self.ctx().now();
        let (caller, answer) = self.with(|s| {
            if entry.index <= s.store.applied.0 {
                return (None, None);
            }
            if let EntryData::Conf(change) = &entry.data {
                let _ = s.raft.apply_conf_change(*change);
            }
            let (before, compacted) = (s.store.revision(), s.store.compact_revision());
            let answer = s.store.apply_entry(entry);
            if s.store.compact_revision() != compacted {
                s.hub.advance_idle(&s.store);
            }
            if s.store.revision() != before
                && !s.hub.is_empty()
                && let Ok(events) = s.store.events_from(before + 1)
            {
                for event in events {
                    s.hub.notice(event);
                }
            }
            let caller: Option<Caller> = match &entry.data {
                EntryData::Normal(command) => s.proposals.remove(&command.id).map(|p| p.caller),
                _ => None,
            };
            (caller, answer)
        });
        if let EntryData::Normal(command) = &entry.data
            && let Some(Ok(_)) = &answer
        {
            match &command.operation {
                Operation::LeaseGrant { id, ttl } => self.lease_renewed(*id, now + Duration::from_secs(*ttl)),
                Operation::LeaseKeepAlive { id } => {
                    let ttl = self.with(|s| s.store.leases().get(id).map_or(0, |l| l.ttl));
                    self.lease_renewed(*id, now + Duration::from_secs(ttl));
                }
                Operation::LeaseRevoke { id } => self.lease_gone(*id),
                Operation::Alarm { active, .. } => self.with(|s| s.alarm_proposed &= *active),
                Operation::Compact { revision } => {
                    let text = format!("finished scheduled compaction: compact-revision {revision}");
                    self.log(Severity::Info, "mvcc/kvstore_compaction.go:72", text);
                }
                _ => {}
            }
        }
        if let (Some(caller), Some(answer)) = (caller, answer) {
            caller.answer(answer);
        }
    }

    /// Raises the alarm when the quota is reached.
    fn check_space(&self) {
        let quota = self.0.config.quota;
        if self.with(|s| s.store.size() > quota && s.store.alarms().is_empty()) {
            self.raise_no_space();
        }
    }
    /// Has all members note that there is no space left, once.
    pub(super) fn raise_no_space(&self) {
        if self.with(|s| std::mem::replace(&mut s.alarm_proposed, true)) {
            return;
        }
        self.log(Severity::Warning, "etcdserver/server.go:1810", "alarm raised: NOSPACE");
        let operation = Operation::Alarm { member: self.0.config.id, alarm: Alarm::NoSpace, active: true };
        let id = self.with(super::State::request_id);
        self.submit(Rc::new(Command::new(id, operation)));
    }

    /// Sends what there is to the watches; those who cannot take it now are left to [`Member::serve_lagging`].
    pub(super) fn flush_watches(&self) {
        let dirty = self.with(|s| if s.hub.is_settled() { Vec::new() } else { s.hub.dirty() });
        for id in dirty {
            self.flush_watch(id);
        }
        if !self.with(|s| s.hub.is_settled()) {
            self.0.lagging.notify();
        }
    }
    fn flush_watch(&self, id: WatchId) {
        self.with(|s| {
            let Some(owner) = s.watch_owners.get(&id) else { return };
            if owner.conn.unread() > UNREAD {
                return;
            }
            let stream = owner.stream;
            match s.hub.poll(&s.store, id, BATCH) {
                Poll::Events(events, more) => {
                    let revision = if more { s.hub.next_revision(id).saturating_sub(1) } else { s.store.revision() };
                    let _ = owner.conn.send_as("etcd-watch", ServerFrame::Events { stream, events, revision });
                }
                Poll::Nothing => {}
                Poll::Compacted(error) => {
                    let _ = owner.conn.send_as("etcd-watch", ServerFrame::<V>::Canceled { stream, error });
                    s.watch_owners.remove(&id);
                }
            }
        });
    }
    /// Goes on with watches that have more to see than one message, or whose client reads slowly.
    pub(super) async fn serve_lagging(self) {
        loop {
            let lagging = self.0.lagging.notified();
            if self.with(|s| s.hub.is_settled()) {
                lagging.await;
                continue;
            }
            let slow = self.with(|s| {
                let dirty = s.hub.dirty();
                dirty.iter().filter_map(|id| s.watch_owners.get(id)).all(|o| o.conn.unread() > UNREAD)
            });
            if slow {
                self.ctx().sleep(Duration::from_millis(10)).await;
            } else {
                self.ctx().yield_now().await;
            }
            for id in self.with(|s| s.hub.dirty()) {
                self.flush_watch(id);
            }
        }
    }
    /// Ends all watches.
    pub(super) fn cancel_watches(&self, error: &Error) {
        self.with(|s| {
            for (id, owner) in std::mem::take(&mut s.watch_owners) {
                s.hub.close(id);
                let frame = ServerFrame::<V>::Canceled { stream: owner.stream, error: error.clone() };
                let _ = owner.conn.send_as("etcd-watch", frame);
            }
        });
    }
}
