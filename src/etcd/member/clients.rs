//! The door for clients: connections, calls, watches, and the time that a call may take.

use super::reads::{Kind, Read};
use super::{Caller, Member, NONE, Proposal, WatchOwner};
use crate::raft::{EntryData, Role, StepError};
use crate::rpc::{ClientFrame, Error, Operation, Request, Response, ServerFrame, Value};
use crate::store::Store;
use crate::wal::Command;
use sim::{Conn, Duration, Instant, Severity};
use std::rc::Rc;

/// Calls that wait at one member, at most.
pub(super) const MAX_WAITING: usize = 50_000;
/// Bytes of the largest request (--max-request-bytes).
const MAX_REQUEST: u64 = 3 << 19;
/// How far commitment may run ahead of application before requests are refused.
const MAX_GAP: u64 = 5_000;

impl<V: Value> Member<V> {
    /// Serves clients once there is a leader for the first time.
    pub(super) async fn serve_clients(self) {
        loop {
            let changed = self.0.leader.notified();
            if self.with(|s| s.raft.leader() != NONE) {
                break;
            }
            changed.await;
        }
        let Some(own) = self.0.config.own().cloned() else {
            return self.die("could not find local member in the initial cluster");
        };
        let listener = match self.ctx().listen_on(own.client.ip, own.client.port) {
            Ok(listener) => listener,
            Err(error) => return self.die(&format!("listen tcp {}: {error}", own.client)),
        };
        self.log(Severity::Info, "embed/serve.go:124", "ready to serve client requests");
        while let Ok(conn) = listener.accept().await {
            self.ctx().spawn("etcd-client-conn", self.clone().serve_client(conn));
        }
    }

    async fn serve_client(self, conn: Conn) {
        let conn_id = self.with(|s| {
            s.next_conn += 1;
            s.next_conn
        });
        while let Ok(frame) = conn.recv::<ClientFrame<V>>().await {
            match frame {
                ClientFrame::Call { stream, request } => {
                    self.call(Caller { conn: conn.clone(), stream }, request);
                }
                ClientFrame::Watch { stream, key, span, start_revision } => {
                    let revision = self.with(|s| {
                        let id = s.hub.open(&s.store, key, span, start_revision);
                        s.watch_owners.insert(id, WatchOwner { conn: conn.clone(), conn_id, stream });
                        s.store.revision()
                    });
                    let _ = conn.send_as("etcd-watch", ServerFrame::<V>::Watching { stream, revision });
                    self.flush_watches();
                }
                ClientFrame::Cancel { stream } => {
                    self.close_watches(|o| o.conn_id == conn_id && o.stream == stream);
                }
                ClientFrame::Progress => self.report_progress(conn_id),
                ClientFrame::Ping => {
                    let _ = conn.send_as("etcd-ping", ServerFrame::<V>::Pong);
                }
            }
        }
        self.close_watches(|o| o.conn_id == conn_id);
    }

    fn close_watches(&self, which: impl Fn(&WatchOwner) -> bool) {
        self.with(|s| {
            let ids: Vec<_> = s.watch_owners.iter().filter(|(_, o)| which(o)).map(|(id, _)| *id).collect();
            for id in ids {
                s.watch_owners.remove(&id);
                s.hub.close(id);
            }
        });
    }
    /// Tells the watches of a connection how far they have seen, those that have seen all.
    fn report_progress(&self, conn_id: u64) {
        self.with(|s| {
            let revision = s.store.revision();
            for (id, owner) in &s.watch_owners {
                if owner.conn_id == conn_id && s.hub.is_synced(*id) && s.hub.next_revision(*id) <= revision + 1 {
                    let frame = ServerFrame::<V>::Events { stream: owner.stream, events: Vec::new(), revision };
                    let _ = owner.conn.send_as("etcd-watch", frame);
                }
            }
        });
    }

    fn call(&self, caller: Caller, request: Request<V>) {
        let now = self.ctx().now();
        if self.with(|s| s.stopping) {
            return caller.answer::<V>(Err(Error::Stopped));
        }
        if self.with(|s| s.proposals.len() + s.reads.len()) >= MAX_WAITING {
            return caller.answer::<V>(Err(Error::TooManyRequests));
        }
        match request {
            Request::Range(range) if range.serializable => caller.answer(self.range(&range)),
            Request::Range(range) => {
                self.queue_read(Read { caller, since: now, kind: Kind::Range(Box::new(range)) });
            }
            Request::MemberList => self.queue_read(Read { caller, since: now, kind: Kind::MemberList }),
            Request::Propose(operation) => self.propose(caller, operation),
            Request::Status => {
                let status = self.status();
                caller.answer(status.map(|s| Response::<V>::Status(Box::new(s))).ok_or(Error::Stopped));
            }
            Request::LeaseTimeToLive { id } => caller.answer(self.lease_time_to_live(id)),
            Request::Leases => {
                let leases = self.with(|s| s.store.leases().keys().copied().collect());
                caller.answer(Ok(Response::<V>::Leases(leases)));
            }
            Request::Alarms => {
                let alarms = self.with(|s| s.store.alarms().iter().copied().collect());
                caller.answer(Ok(Response::<V>::Alarms(alarms)));
            }
            Request::MoveLeader { to } => self.move_leader(caller, to),
        }
    }

    fn lease_time_to_live(&self, id: i64) -> Result<Response<V>, Error> {
        let now = self.ctx().now();
        Ok(self
            .with(|s| {
                let lease = s.store.leases().get(&id)?;
                let left = s.lease_expiry.get(&id).map_or(lease.ttl, |at| at.since(now).as_secs());
                Some(Response::LeaseTimeToLive {
                    id,
                    ttl: i64::try_from(left).unwrap_or(i64::MAX),
                    granted_ttl: lease.ttl,
                    keys: lease.keys.iter().cloned().collect(),
                })
            })
            .unwrap_or(Response::LeaseTimeToLive { id, ttl: -1, granted_ttl: 0, keys: Vec::new() }))
    }

    fn move_leader(&self, caller: Caller, to: u64) {
        if self.with(|s| s.raft.role() != Role::Leader) {
            return caller.answer::<V>(Err(Error::NotLeader));
        }
        if !self.0.config.members.iter().any(|m| m.id == to) {
            return caller.answer::<V>(Err(Error::BadLeaderTransferee));
        }
        let member = self.clone();
        self.ctx().spawn("etcd-move-leader", async move {
            let moved = member.move_leader_to(to).await;
            caller.answer(if moved { Ok(Response::<V>::MoveLeader) } else { Err(Error::TimeoutLeaderTransfer) });
        });
    }

    fn propose(&self, caller: Caller, operation: Operation<V>) {
        if let Err(error) = Store::check(&operation) {
            return caller.answer::<V>(Err(error));
        }
        let min_ttl = self.0.config.min_lease_ttl();
        let operation = match operation {
            Operation::LeaseGrant { id, ttl } => {
                let id = if id == 0 { self.new_lease_id() } else { id };
                Operation::LeaseGrant { id, ttl: ttl.max(min_ttl) }
            }
            other => other,
        };
        let quota = self.0.config.quota;
        let refused = self.with(|s| {
            if operation.is_growth() && !s.store.alarms().is_empty() {
                return Some(Error::NoSpace);
            }
            if s.raft.committed() > s.store.applied.0 + MAX_GAP {
                return Some(Error::TooManyRequests);
            }
            None
        });
        if let Some(error) = refused {
            return caller.answer::<V>(Err(error));
        }
        let id = self.with(super::State::request_id);
        let command = Rc::new(Command::new(id, operation));
        let size = crate::raft::Payload::size(&command);
        if size > MAX_REQUEST {
            return caller.answer::<V>(Err(Error::RequestTooLarge));
        }
        if command.operation.is_growth() && self.with(|s| s.store.size()) + size > quota {
            self.raise_no_space();
            return caller.answer::<V>(Err(Error::NoSpace));
        }
        let since = self.ctx().now();
        self.with(|s| s.proposals.insert(id, Proposal { caller, since }));
        self.submit(command);
        self.wake_sweeper();
    }
    fn new_lease_id(&self) -> i64 {
        self.with(|s| i64::try_from(s.request_id() & 0x7fff_ffff_ffff_ffff).unwrap_or(1))
    }

    /// Gives a command to Raft, or keeps it until there is a leader.
    pub(super) fn submit(&self, command: Rc<Command<V>>) {
        let result = self.with(|s| {
            if s.raft.leader() == NONE {
                if s.leaderless.len() < MAX_WAITING {
                    s.leaderless.push_back(command.clone());
                }
                return Some(Ok(()));
            }
            Some(s.raft.propose(EntryData::Normal(command.clone())))
        });
        match result {
            Some(Err(StepError::ProposalDropped)) => {
                let proposal = self.with(|s| s.proposals.remove(&command.id));
                if let Some(proposal) = proposal {
                    proposal.caller.answer::<V>(Err(Error::ProposalDropped));
                }
            }
            Some(result) => {
                self.settle(result);
            }
            None => {}
        }
    }

    pub(super) fn wake_sweeper(&self) {
        if !self.with(|s| std::mem::replace(&mut s.sweeping, true)) {
            self.0.sweep.notify();
        }
    }
    /// Twice a second while anything waits: ends calls whose time is over.
    pub(super) async fn sweep(self) {
        let ctx = self.ctx().clone();
        loop {
            let wanted = self.0.sweep.notified();
            let waiting = self.with(|s| {
                s.sweeping = !s.proposals.is_empty() || s.reads.len() > 0;
                s.sweeping
            });
            if !waiting {
                wanted.await;
            }
            ctx.sleep(Duration::from_millis(500)).await;
            let now = ctx.now();
            let timeout = self.0.config.request_timeout();
            let expired: Vec<u64> = self.with(|s| {
                // The numbers rise with time: the oldest come first.
                s.proposals.iter().take_while(|(_, p)| p.since + timeout <= now).map(|(id, _)| *id).collect()
            });
            for id in expired {
                let found = self.with(|s| s.proposals.remove(&id));
                self.with(|s| s.leaderless.retain(|c| c.id != id));
                if let Some(proposal) = found {
                    proposal.caller.answer::<V>(Err(self.timeout_error(proposal.since)));
                }
            }
            self.sweep_reads(now);
        }
    }
    /// Why a write was not done in time, as far as one can tell.
    fn timeout_error(&self, since: Instant) -> Error {
        let election = self.0.config.election * 2;
        self.with(|s| {
            let lost = |at: Option<Instant>| at.is_some_and(|at| at + election >= since);
            Some(if lost(s.leader_lost) {
                Error::TimeoutLeaderFailure
            } else if lost(s.peer_lost) {
                Error::TimeoutConnectionLost
            } else {
                Error::Timeout
            })
        })
        .unwrap_or(Error::Timeout)
    }
}
