//! The driver: does what Raft asks for, in the order in which it must be done.

use super::{Member, Message, NONE};
use crate::raft::{Entry, Ready, Role};
use crate::rpc::Value;
use crate::store::Store;
use crate::wal::Command;
use sim::{DiskError, Severity};
use std::rc::Rc;

/// Entries applied in one go, so that no poll runs long.
const APPLY_PORTION: usize = 256;

impl<V: Value> Member<V> {
    pub(super) async fn drive(self) {
        loop {
            let work = self.0.work.notified();
            if let Some(text) = self.with(|s| s.fatal.clone()) {
                self.log_raft();
                return self.die(&text);
            }
            let ready = self.with(|s| s.raft.has_ready().then(|| s.raft.ready()));
            match ready {
                None => work.await,
                Some(ready) => {
                    if let Err(error) = self.handle(ready).await {
                        return self.die(&format!("failed to save Raft hard state and entries: {error}"));
                    }
                    let advanced = self.with(|s| Some(s.raft.advance()));
                    if let Some(Err(error)) = advanced {
                        self.settle(Err(error));
                    }
                }
            }
            self.log_raft();
        }
    }

    async fn handle(&self, mut ready: Ready<Rc<Command<V>>>) -> Result<(), DiskError> {
        if ready.soft_state.is_some() {
            self.leader_changed(ready.soft_state.map_or(NONE, |s| s.lead));
        }
        if !ready.read_states.is_empty() {
            self.reads_confirmed(&ready.read_states);
        }
        // A leader may send while it writes; what a follower says, it says only when what came before is written.
        let messages = std::mem::take(&mut ready.messages);
        let leads = self.with(|s| s.raft.role() == Role::Leader);
        if leads {
            self.send(messages);
            self.persist(&ready).await?;
        } else {
            self.persist(&ready).await?;
            self.send(messages);
        }
        self.send(std::mem::take(&mut ready.messages_after_append));
        let mut portions = ready.committed_entries.chunks(APPLY_PORTION).peekable();
        while let Some(portion) = portions.next() {
            self.apply(portion);
            if portions.peek().is_some() {
                self.ctx().yield_now().await;
            }
        }
        Ok(())
    }

    async fn persist(&self, ready: &Ready<Rc<Command<V>>>) -> Result<(), DiskError> {
        if let Some(snapshot) = &ready.snapshot {
            let store = snapshot.data.as_ref().and_then(|d| d.downcast_ref::<Store<V>>()).cloned();
            if let Some(store) = store {
                self.install(store).await?;
            }
        }
        let path = {
            let mut wal = self.0.wal.borrow_mut();
            let Some(wal) = wal.as_mut() else { return Ok(()) };
            wal.append(&ready.entries, ready.hard_state)?;
            wal.path().filter(|_| ready.must_sync).map(|path| (wal.disk(), path))
        };
        if let Some((disk, path)) = path {
            let begun = self.ctx().now();
            disk.sync(&path).await?;
            let took = self.ctx().now().since(begun);
            self.0.fsync.set(took);
            if took > std::time::Duration::from_secs(1) {
                let text = format!("slow fdatasync: took {took:?}, expected-duration 1s");
                self.log(Severity::Warning, "wal/wal.go:805", text);
            }
        }
        Ok(())
    }

    /// Takes the leader's store in place of the own one.
    async fn install(&self, store: Store<V>) -> Result<(), DiskError> {
        let (disk, path, record) = {
            let mut wal = self.0.wal.borrow_mut();
            let Some(wal) = wal.as_mut() else { return Ok(()) };
            wal.replace_db(store.clone())?;
            let (path, record) = wal.db_record();
            (wal.disk(), path, record)
        };
        disk.replace(&path, vec![record]).await?;
        let text = format!("applied snapshot: snapshot-index {}", store.applied.0);
        self.log(Severity::Info, "etcdserver/server.go:1067", text);
        let (index, term) = store.applied;
        self.with(|s| {
            let voters = store.voters.clone();
            s.raft.set_snapshot(crate::raft::Snapshot { index, term, voters, data: None });
            s.store = store;
            s.hub.advance_idle(&s.store);
            s.hub.notice_all();
        });
        self.flush_watches();
        Ok(())
    }

    fn leader_changed(&self, leader: u64) {
        let now = self.ctx().now();
        self.with(|s| {
            if leader == NONE {
                s.leader_lost = Some(now);
            } else {
                s.ticks_without_leader = 0;
                // What was proposed to the old leader may be lost.
                s.alarm_proposed = false;
            }
        });
        if leader != NONE {
            self.reads_leader_changed();
            // What waited for a leader goes to it.
            while let Some(command) = self.with(|s| s.leaderless.pop_front()) {
                self.submit(command);
            }
        }
        self.extend_leases();
        self.0.leader.notify();
        self.0.tick.notify();
    }

    /// Writes the database when enough was applied since, so that the log before it can go.
    pub(super) async fn absorb(self) {
        loop {
            let wanted = self.0.absorb.notified();
            if !self.absorb_due() {
                wanted.await;
                continue;
            }
            if let Err(error) = self.absorb_all().await {
                return self.die(&format!("failed to write the database: {error}"));
            }
        }
    }
    pub(super) fn absorb_due(&self) -> bool {
        let written = self.0.wal.borrow().as_ref().map_or(0, |w| w.db.borrow().applied.0);
        let (count, bytes) = (self.0.config.snapshot_count, 8 << 20);
        self.with(|s| s.store.applied.0.saturating_sub(written) >= count || s.raft.log_bytes() > bytes)
    }
    async fn absorb_all(&self) -> Result<(), DiskError> {
        let Some(db) = self.0.wal.borrow().as_ref().map(|w| w.db.clone()) else { return Ok(()) };
        let target = self.with(|s| s.store.applied.0);
        loop {
            let from = db.borrow().applied.0 + 1;
            // A snapshot may have been installed meanwhile.
            let same = self.0.wal.borrow().as_ref().is_some_and(|w| Rc::ptr_eq(&w.db, &db));
            if from > target || !same {
                break;
            }
            let entries: Vec<Entry<Rc<Command<V>>>> = self.with(|s| s.raft.entries(from, target, 500));
            if entries.is_empty() {
                break;
            }
            for entry in &entries {
                db.borrow_mut().apply_entry(entry);
            }
            self.ctx().yield_now().await;
        }
        let (disk, path, record) = {
            let wal = self.0.wal.borrow();
            let Some(wal) = wal.as_ref() else { return Ok(()) };
            let (path, record) = wal.db_record();
            (wal.disk(), path, record)
        };
        disk.replace(&path, vec![record]).await?;
        let (index, term, voters) = {
            let mut wal = self.0.wal.borrow_mut();
            let Some(wal) = wal.as_mut() else { return Ok(()) };
            wal.release()?;
            let db = wal.db.borrow();
            (db.applied.0, db.applied.1, db.voters.clone())
        };
        let catch_up = self.0.config.catch_up;
        self.with(|s| {
            s.raft.set_snapshot(crate::raft::Snapshot { index, term, voters, data: None });
            // A member alone has nobody who lags.
            let keep = if s.raft.is_singleton() { 0 } else { catch_up };
            s.raft.compact_keeping(index, keep, 4 << 20);
        });
        let text = format!("saved snapshot to disk: snapshot-index {index}");
        self.log(Severity::Info, "etcdserver/server.go:2120", text);
        Ok(())
    }

    /// Sends messages to peers, snapshots with their content.
    fn send(&self, messages: Vec<Message<V>>) {
        for message in messages {
            if message.is_snapshot() {
                self.send_snapshot(message);
            } else {
                self.send_to_peer(message);
            }
        }
    }
}
