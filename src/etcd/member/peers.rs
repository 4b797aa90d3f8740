//! Connections to the other members. Each member sends on a connection that it made itself.

use super::{Member, Message, NodeId};
use crate::rpc::{MemberInfo, Value};
use crate::store::Store;
use futures_util::future::{Either, select};
use sim::sync::Notify;
use sim::{Conn, Duration, Instant, NetError, Severity};
use std::rc::Rc;

/// Messages to one peer that may be on their way (rafthttp: streamBufSize).
const UNREAD: usize = 4096;
/// How long a connection may be tried for (rafthttp: a second and the election timeout).
const DIAL: Duration = Duration::from_secs(2);
/// The pause between tries.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a peer may leave messages unread before the connection is given up (rafthttp: ConnReadTimeout).
const STUCK: Duration = Duration::from_secs(5);
/// Bytes of a snapshot sent in a second.
const SNAPSHOT_RATE: u64 = 1 << 30;

#[derive(Default)]
pub(super) struct Peer {
    conn: Option<Conn>,
    /// Since when it has had something unread.
    stuck: Option<Instant>,
    /// The connection is to be given up.
    broken: Notify,
}

impl<V: Value> Member<V> {
    pub(super) fn start_peers(&self) {
        for peer in self.0.config.members.iter().filter(|m| m.id != self.0.config.id) {
            self.with(|s| s.peers.insert(peer.id, Peer::default()));
            self.ctx().spawn("etcd-peer", self.clone().keep_peer(peer.clone()));
        }
        self.ctx().spawn("etcd-peer-listener", self.clone().accept_peers());
    }

    async fn accept_peers(self) {
        let Some(own) = self.0.config.own().cloned() else { return };
        let listener = match self.ctx().listen_on(own.peer.ip, own.peer.port) {
            Ok(listener) => listener,
            Err(error) => return self.die(&format!("listen tcp {}: {error}", own.peer)),
        };
        while let Ok(conn) = listener.accept().await {
            let member = self.clone();
            self.ctx().spawn("etcd-peer-conn", async move {
                while let Ok(message) = conn.recv::<Message<V>>().await {
                    member.receive(message);
                }
            });
        }
    }
    fn receive(&self, message: Message<V>) {
        let result = self.with(|s| Some(s.raft.step(message)));
        self.settle(result.unwrap_or(Ok(())));
    }

    /// Keeps a connection to a peer.
    async fn keep_peer(self, peer: MemberInfo) {
        let ctx = self.ctx().clone();
        loop {
            let dialed = ctx.timeout(DIAL, ctx.connect(peer.peer)).await.unwrap_or(Err(NetError::TimedOut));
            let Ok(conn) = dialed else {
                ctx.sleep(PAUSE).await;
                continue;
            };
            let text = format!("established TCP streaming connection with remote peer {:x}", peer.id);
            self.log(Severity::Info, "rafthttp/stream.go:411", text);
            let broken = self.with(|s| {
                s.peers.get_mut(&peer.id).map(|p| {
                    p.conn = Some(conn.clone());
                    p.stuck = None;
                    p.broken.notified()
                })
            });
            let Some(broken) = broken else { return };
            // Nothing is ever sent back: the only thing to read is the end.
            let why = match select(std::pin::pin!(conn.recv::<()>()), broken).await {
                Either::Left((Err(error), _)) => error,
                Either::Left((Ok(()), _)) => NetError::Type,
                Either::Right(_) => NetError::TimedOut,
            };
            conn.close();
            let text = format!("lost TCP streaming connection with remote peer {:x}: {why}", peer.id);
            self.log(Severity::Warning, "rafthttp/stream.go:421", text);
            let now = ctx.now();
            self.with(|s| {
                s.peer_lost = Some(now);
                if let Some(p) = s.peers.get_mut(&peer.id) {
                    p.conn = None;
                }
            });
            self.unreachable(peer.id);
            ctx.sleep(PAUSE).await;
        }
    }
    fn unreachable(&self, id: NodeId) {
        let result = self.with(|s| Some(s.raft.report_unreachable(id)));
        self.settle(result.unwrap_or(Ok(())));
    }

    /// Puts a message on the wire; a peer that cannot be reached is reported to Raft.
    pub(super) fn send_to_peer(&self, message: Message<V>) {
        let (to, now) = (message.to, self.ctx().now());
        let sent = self.with(|s| {
            let peer = s.peers.get_mut(&to)?;
            let conn = peer.conn.clone()?;
            match conn.unread() {
                0 => peer.stuck = None,
                _ if now.since(*peer.stuck.get_or_insert(now)) > STUCK => {
                    peer.conn = None;
                    peer.broken.notify();
                    return None;
                }
                waiting if waiting > UNREAD => return None,
                _ => {}
            }
            conn.send_as("raft", message).ok()
        });
        if sent.is_none() {
            self.unreachable(to);
        }
    }

    /// Sends the database in place of the log that the peer would need. The transfer takes its time.
    pub(super) fn send_snapshot(&self, mut message: Message<V>) {
        let store: Option<Store<V>> = self.0.wal.borrow().as_ref().map(|w| w.db.borrow().clone());
        let Some(store) = store else { return };
        let to = message.to;
        let size = store.size();
        if let Some(snapshot) = message.snapshot.as_mut() {
            // The database may be newer than when Raft asked, never older.
            (snapshot.index, snapshot.term) = store.applied;
            snapshot.voters = store.voters.clone();
            snapshot.data = Some(Rc::new(store));
        }
        let member = self.clone();
        self.ctx().spawn("etcd-snapshot", async move {
            let text = format!("sending database snapshot: to {to:x}, bytes {size}");
            member.log(Severity::Info, "rafthttp/snapshot_sender.go:84", text);
            member.ctx().sleep(Duration::from_nanos(size.saturating_mul(1_000_000_000) / SNAPSHOT_RATE)).await;
            let sent = member.with(|s| {
                let conn = s.peers.get(&to)?.conn.clone()?;
                conn.send_as("raft-snapshot", message).ok()
            });
            let result = member.with(|s| Some(s.raft.report_snapshot(to, sent.is_some())));
            member.settle(result.unwrap_or(Ok(())));
        });
    }
}
