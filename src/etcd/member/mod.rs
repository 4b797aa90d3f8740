//! A member: the process that keeps a copy of the store, agrees with its peers through Raft, and serves clients.

mod apply;
mod clients;
mod drive;
mod lease;
mod peers;
mod reads;

use crate::raft::{self, Level, NONE, NodeId, Raft, Role, StepError};
use crate::rpc::{Error, MemberInfo, Response, ServerFrame, Status, Value};
use crate::store::{Hub, Store, WatchId};
use crate::wal::{Command, Wal};
use sim::sync::Notify;
use sim::{Addr, Conn, Ctx, Duration, Instant, Ip, Severity};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The version that members say they are: the one that kubeadm v1.37 installs.
pub const VERSION: &str = "3.6.8";

/// What a member is told at its start.
#[derive(Clone, Debug)]
pub struct MemberConfig {
    /// Its identity; one of `members`.
    pub id: NodeId,
    /// All members, itself included: the initial cluster.
    pub members: Vec<MemberInfo>,
    /// A tick of Raft's clock, and so the time between heartbeats (--heartbeat-interval).
    pub heartbeat: Duration,
    /// Silence after which a follower stands for election (--election-timeout).
    pub election: Duration,
    /// Bytes of the database beyond which writes are refused (--quota-backend-bytes).
    pub quota: u64,
    /// Bytes of history beyond which the oldest is compacted. The same on every member.
    pub history: u64,
    /// Entries applied since the database was written last, at most (--snapshot-count).
    pub snapshot_count: u64,
    /// Entries kept for members that lag, at most.
    pub catch_up: u64,
    /// Where its files are (--data-dir).
    pub folder: String,
}

impl MemberConfig {
    /// Member `id` of a cluster, with etcd's defaults.
    pub fn new(id: NodeId, members: Vec<MemberInfo>) -> Self {
        Self {
            id,
            members,
            heartbeat: Duration::from_millis(100),
            election: Duration::from_millis(1000),
            quota: 2 << 30,
            history: 64 << 20,
            snapshot_count: 10_000,
            catch_up: 5_000,
            folder: "/var/lib/etcd".into(),
        }
    }
    /// The only member of a cluster, on the usual ports.
    pub fn single(name: &str, ip: Ip) -> Self {
        let member =
            MemberInfo { id: 1, name: name.into(), peer: Addr { ip, port: 2380 }, client: Addr { ip, port: 2379 } };
        Self::new(1, vec![member])
    }
    fn own(&self) -> Option<&MemberInfo> {
        self.members.iter().find(|m| m.id == self.id)
    }
    fn election_ticks(&self) -> u32 {
        let ticks = self.election.as_nanos() / self.heartbeat.as_nanos().max(1);
        u32::try_from(ticks).unwrap_or(10).max(2)
    }
    /// How long a request may take (etcd: 5 s and two elections).
    fn request_timeout(&self) -> Duration {
        Duration::from_secs(5) + self.election * 2
    }
    /// Seconds of the shortest lease: an election and a half, rounded up.
    fn min_lease_ttl(&self) -> u64 {
        (self.election.as_nanos() * 3 / 2).div_ceil(1_000_000_000).try_into().unwrap_or(1)
    }
}

/// Who waits for an answer.
#[derive(Clone)]
struct Caller {
    conn: Conn,
    stream: u64,
}

impl Caller {
    fn answer<V: Value>(&self, result: Result<Response<V>, Error>) {
        let _ = self.conn.send_as("etcd", ServerFrame::Answer { stream: self.stream, result });
    }
}

struct Proposal {
    caller: Caller,
    since: Instant,
}

struct WatchOwner {
    conn: Conn,
    conn_id: u64,
    stream: u64,
}

type Message<V> = raft::Message<Rc<Command<V>>>;

struct State<V: Value> {
    raft: Raft<Rc<Command<V>>>,
    store: Store<V>,
    hub: Hub,
    watch_owners: BTreeMap<WatchId, WatchOwner>,
    /// Writes that wait to be applied, by the number of their command. Bounded by [`clients::MAX_WAITING`].
    proposals: BTreeMap<u64, Proposal>,
    /// Writes that wait for a leader. Bounded likewise.
    leaderless: VecDeque<Rc<Command<V>>>,
    reads: reads::Reads,
    peers: BTreeMap<NodeId, peers::Peer>,
    next_request: u64,
    next_conn: u64,
    /// When the leader was last lost, and when a connection to a peer was.
    leader_lost: Option<Instant>,
    peer_lost: Option<Instant>,
    lease_expiry: BTreeMap<i64, Instant>,
    ticks_without_leader: u32,
    sweeping: bool,
    alarm_proposed: bool,
    /// Why it must stop.
    fatal: Option<String>,
    stopping: bool,
}

struct Inner<V: Value> {
    ctx: Ctx,
    config: MemberConfig,
    /// None until the disk was read.
    state: RefCell<Option<State<V>>>,
    wal: RefCell<Option<Wal<V>>>,
    /// What the last fsync of the log took.
    fsync: std::cell::Cell<Duration>,
    /// There may be something for the driver to do.
    work: Notify,
    /// Ticks may be needed.
    tick: Notify,
    /// Requests wait, so that their time may run out.
    sweep: Notify,
    /// Some watch could not be served at once.
    lagging: Notify,
    /// Leases came, went or were renewed, or the leader changed.
    leases: Notify,
    /// Enough was applied to write the database.
    absorb: Notify,
    /// The leader changed.
    leader: Notify,
}

/// A member's handle. Looking through it changes nothing.
pub struct Member<V: Value>(Rc<Inner<V>>);

impl<V: Value> Clone for Member<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V: Value> Member<V> {
    /// Starts a member as tasks of the process `ctx`. A fatal trouble of its disk ends the process.
    pub fn start(ctx: &Ctx, config: MemberConfig) -> Self {
        let member = Self(Rc::new(Inner {
            ctx: ctx.clone(),
            config,
            state: RefCell::new(None),
            wal: RefCell::new(None),
            fsync: Default::default(),
            work: Notify::new(),
            tick: Notify::new(),
            sweep: Notify::new(),
            lagging: Notify::new(),
            leases: Notify::new(),
            absorb: Notify::new(),
            leader: Notify::new(),
        }));
        ctx.spawn("etcd", member.clone().main());
        member
    }

    /// How it stands; none before it has read its disk.
    pub fn status(&self) -> Option<Status> {
        self.read(|s| s.status(&self.0.config))
    }
    /// What its last fsync took; zero before the first.
    pub fn last_fsync(&self) -> Duration {
        self.0.fsync.get()
    }
    /// Reads its copy of the store, perhaps behind the leader's; none before it has read its disk.
    pub fn with_store<R>(&self, read: impl FnOnce(&Store<V>) -> R) -> Option<R> {
        self.read(|s| read(&s.store))
    }
    /// The leader's view of each member: (member, up to which entry it agrees, whether it was heard of lately). Empty
    /// unless this member leads.
    pub fn progress(&self) -> Vec<(NodeId, u64, bool)> {
        let leads = |s: &State<V>| s.raft.role() == Role::Leader;
        let all = |s: &State<V>| {
            s.raft.progress().iter().map(|(id, p)| (*id, p.matched, p.recent_active)).collect::<Vec<_>>()
        };
        self.read(|s| if leads(s) { all(s) } else { Vec::new() }).unwrap_or_default()
    }
    /// What it was started with.
    pub fn config(&self) -> &MemberConfig {
        &self.0.config
    }

    fn read<R>(&self, read: impl FnOnce(&State<V>) -> R) -> Option<R> {
        self.0.state.try_borrow().ok().and_then(|s| s.as_ref().map(read))
    }
    /// The state, which is there once the tasks run; the default otherwise.
    fn with<R: Default>(&self, f: impl FnOnce(&mut State<V>) -> R) -> R {
        self.0.state.borrow_mut().as_mut().map(f).unwrap_or_default()
    }
    fn ctx(&self) -> &Ctx {
        &self.0.ctx
    }
    fn log(&self, severity: Severity, place: &'static str, text: impl Into<Rc<str>>) {
        self.0.ctx.log(severity, place, text);
    }

    async fn main(self) {
        let ctx = self.ctx().clone();
        let config = self.0.config.clone();
        let voters: Vec<NodeId> = {
            let mut ids: Vec<NodeId> = config.members.iter().map(|m| m.id).collect();
            ids.sort_unstable();
            ids
        };
        let opened = Wal::<V>::open(ctx.disk(), &config.folder, &voters, config.history).await;
        let recovered = match opened {
            Ok(recovered) => recovered,
            Err(error) => return self.die(&format!("failed to open WAL: {error}")),
        };
        let mut rng = ctx.rng("raft");
        let raft_config = raft::Config {
            id: config.id,
            election_tick: config.election_ticks(),
            heartbeat_tick: 1,
            max_size_per_msg: 1 << 20,
            max_committed_size_per_ready: 1 << 20,
            max_uncommitted_size: 1 << 30,
            max_inflight_msgs: 512,
            max_inflight_bytes: u64::MAX,
            check_quorum: true,
            pre_vote: true,
            log_level: Level::Info,
            random: Box::new(move |n| rng.below(n)),
        };
        let applied = recovered.store.applied.0;
        if !recovered.fresh {
            let text = format!(
                "restarting local member: local-member-id {:x}, commit-index {}",
                config.id, recovered.state.commit
            );
            self.log(Severity::Info, "etcdserver/bootstrap.go:621", text);
        }
        let made = Raft::new(raft_config, recovered.state, recovered.snapshot, recovered.entries, applied);
        let mut raft = match made {
            Ok(raft) => raft,
            Err(error) => return self.die(&error.to_string()),
        };
        // A member alone waits for nobody: all but one tick of the first election timeout are skipped.
        if raft.is_singleton() {
            for _ in 1..config.election_ticks() {
                let _ = raft.tick();
            }
        }
        // Numbers of requests differ between members and between runs: ids carry the member and the time of the start.
        let start = u64::try_from(ctx.unix_nanos() / 1_000_000).unwrap_or(0) & 0xff_ffff_ffff;
        let next_request = (config.id & 0xffff) << 48 | start << 8;
        let state = State {
            raft,
            store: recovered.store,
            hub: Hub::new(),
            watch_owners: BTreeMap::new(),
            proposals: BTreeMap::new(),
            leaderless: VecDeque::new(),
            reads: reads::Reads::default(),
            peers: BTreeMap::new(),
            next_request,
            next_conn: 0,
            leader_lost: None,
            peer_lost: None,
            lease_expiry: BTreeMap::new(),
            ticks_without_leader: 0,
            sweeping: false,
            alarm_proposed: false,
            fatal: None,
            stopping: false,
        };
        *self.0.wal.borrow_mut() = Some(recovered.wal);
        *self.0.state.borrow_mut() = Some(state);
        self.log_raft();
        ctx.spawn("etcd-raft", self.clone().drive());
        ctx.spawn("etcd-ticker", self.clone().tick());
        ctx.spawn("etcd-sweeper", self.clone().sweep());
        ctx.spawn("etcd-lessor", self.clone().lessor());
        ctx.spawn("etcd-watch", self.clone().serve_lagging());
        ctx.spawn("etcd-backend", self.clone().absorb());
        if config.members.len() > 1 {
            self.start_peers();
        }
        ctx.spawn("etcd-signal", self.clone().shut_down());
        self.serve_clients().await;
    }

    /// Writes what Raft said to the log.
    fn log_raft(&self) {
        let lines = self.with(|s| s.raft.take_lines());
        for (level, line) in lines {
            let severity = match level {
                Level::Debug | Level::Info => Severity::Info,
                Level::Warn => Severity::Warning,
                Level::Error => Severity::Error,
            };
            self.log(severity, "etcdserver/zap_raft.go:77", line);
        }
    }
    fn die(&self, text: &str) {
        self.log(Severity::Fatal, "etcdmain/etcd.go:204", text);
        self.ctx().exit();
    }
    /// Looks at the outcome of a call of Raft's: a contradiction stops the member. Tells whether it was well.
    fn settle(&self, result: Result<(), StepError>) -> bool {
        if let Err(StepError::Fatal(text)) = &result {
            self.with(|s| s.fatal = Some(text.clone()));
        }
        self.0.work.notify();
        result.is_ok()
    }

    /// Raft's clock. It stands still while the member leads alone.
    async fn tick(self) {
        let ctx = self.ctx().clone();
        let heartbeat = self.0.config.heartbeat;
        let mut next = ctx.now() + heartbeat;
        loop {
            let wanted = self.0.tick.notified();
            if !self.with(|s| s.raft.needs_ticks()) {
                wanted.await;
                next = ctx.now() + heartbeat;
            }
            ctx.sleep_until(next).await;
            next = next + heartbeat;
            let ticked = self.with(|s| {
                let lost = s.raft.leader() == NONE;
                s.ticks_without_leader = if lost { s.ticks_without_leader.saturating_add(1) } else { 0 };
                Some(s.raft.tick())
            });
            if let Some(Err(error)) = ticked {
                self.settle(Err(error));
            }
            if self.with(|s| s.raft.has_ready() || s.fatal.is_some()) {
                self.0.work.notify();
            }
            // Streams that want a leader are ended when there was none for three election timeouts.
            let limit = 3 * self.0.config.election_ticks();
            if self.with(|s| s.ticks_without_leader == limit) {
                self.cancel_watches(&Error::NoLeader);
            }
            self.log_raft();
        }
    }

    /// SIGTERM: a leader hands over first.
    async fn shut_down(self) {
        let ctx = self.ctx().clone();
        ctx.terminated().await;
        self.log(Severity::Info, "osutil/interrupt_unix.go:64", "received signal; shutting down: signal terminated");
        self.with(|s| s.stopping = true);
        let heir = self.with(|s| {
            let leads = s.raft.role() == Role::Leader && !s.raft.is_singleton();
            let id = s.raft.id();
            let mut others: Vec<_> =
                s.raft.progress().iter().filter(|(other, p)| **other != id && p.recent_active).collect();
            others.sort_by_key(|(_, p)| std::cmp::Reverse(p.matched));
            others.first().map(|(other, _)| **other).filter(|_| leads)
        });
        if let Some(heir) = heir {
            self.move_leader_to(heir).await;
        }
        ctx.exit();
    }
    /// Hands leadership over; whether it was taken within a request's time.
    async fn move_leader_to(&self, to: NodeId) -> bool {
        let ctx = self.ctx().clone();
        let result = self.with(|s| Some(s.raft.transfer_leader(to)));
        self.settle(result.unwrap_or(Ok(())));
        let moved = async {
            loop {
                let changed = self.0.leader.notified();
                if self.with(|s| s.raft.leader() == to) {
                    return;
                }
                changed.await;
            }
        };
        ctx.timeout(self.0.config.request_timeout(), moved).await.is_ok()
    }
}

impl<V: Value> State<V> {
    fn status(&self, config: &MemberConfig) -> Status {
        let mut errors = Vec::new();
        if self.raft.leader() == NONE {
            errors.push(Error::NoLeader.to_string());
        }
        errors.extend(self.store.alarms().iter().map(|(id, alarm)| format!("memberID:{id} alarm:{alarm} ")));
        Status {
            id: config.id,
            name: config.own().map_or_else(|| "".into(), |m| m.name.clone()),
            version: VERSION,
            role: self.raft.role(),
            leader: self.raft.leader(),
            term: self.raft.term(),
            commit_index: self.raft.committed(),
            applied_index: self.store.applied.0,
            revision: self.store.revision(),
            compact_revision: self.store.compact_revision(),
            keys: self.store.len(),
            db_size: self.store.size(),
            db_size_in_use: self.store.live_size(),
            watchers: self.hub.len(),
            errors,
        }
    }
    fn request_id(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request
    }
}
