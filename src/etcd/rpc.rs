//! What clients and members say to each other: requests, responses, errors, frames of a connection.
//!
//! The values are opaque: any `V` that is cheap to clone and knows its size, so that store, watchers and the API server
//! share one copy.

use std::fmt;
use std::rc::Rc;

/// What is stored under a key.
pub trait Value: Clone + 'static {
    /// Its size in bytes, as it would be encoded.
    fn size(&self) -> u64;
}

impl Value for Rc<str> {
    fn size(&self) -> u64 {
        self.len() as u64
    }
}

/// A key with its value and history in numbers.
#[derive(Clone, Debug)]
pub struct KeyValue<V> {
    /// The key.
    pub key: Rc<str>,
    /// The revision at which the key was last created.
    pub create_revision: u64,
    /// The revision of its last change.
    pub mod_revision: u64,
    /// How many times it was written since it was created; 0 for a deletion.
    pub version: u64,
    /// The lease it is attached to; 0 is none.
    pub lease: i64,
    /// The value; none for a deletion or if only keys were asked for.
    pub value: Option<V>,
}

/// A change of one key.
#[derive(Clone, Debug)]
pub struct Event<V> {
    /// The key after the change; a deletion has version 0 and no value.
    pub kv: Rc<KeyValue<V>>,
    /// The key before the change.
    pub prev: Option<Rc<KeyValue<V>>>,
}

impl<V> Event<V> {
    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.kv.mod_revision
    }
    /// Whether the key was deleted.
    pub fn is_delete(&self) -> bool {
        self.kv.version == 0
    }
    /// Whether the key did not exist before.
    pub fn is_create(&self) -> bool {
        self.kv.version == 1
    }
}

/// Which keys, beginning with the one given beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Span {
    /// That key alone.
    Key,
    /// All keys that begin with it.
    Prefix,
    /// It and all after it.
    From,
    /// It and all after it, up to this one excluded.
    Until(Rc<str>),
}

impl Span {
    /// Whether `key` is in the span that begins with `start`.
    pub fn contains(&self, start: &str, key: &str) -> bool {
        match self {
            Self::Key => key == start,
            Self::Prefix => key.starts_with(start),
            Self::From => key >= start,
            Self::Until(end) => key >= start && key < &**end,
        }
    }
}

/// Asks for keys in order.
#[derive(Clone, Debug)]
pub struct RangeRequest {
    /// The first key.
    pub key: Rc<str>,
    /// Which keys from there.
    pub span: Span,
    /// Keys to skip up to and including this one, for the next page; none is from the start.
    pub after: Option<Rc<str>>,
    /// At most this many; 0 is no limit.
    pub limit: usize,
    /// As of this revision; 0 is now.
    pub revision: u64,
    /// Without values.
    pub keys_only: bool,
    /// Only how many.
    pub count_only: bool,
    /// From this member as it stands, perhaps behind.
    pub serializable: bool,
}

impl RangeRequest {
    /// One key, linearizable.
    pub fn key(key: impl Into<Rc<str>>) -> Self {
        Self {
            key: key.into(),
            span: Span::Key,
            after: None,
            limit: 0,
            revision: 0,
            keys_only: false,
            count_only: false,
            serializable: false,
        }
    }
    /// All keys with a prefix, linearizable.
    pub fn prefix(prefix: impl Into<Rc<str>>) -> Self {
        Self { span: Span::Prefix, ..Self::key(prefix) }
    }
}

/// Keys in order.
#[derive(Clone, Debug)]
pub struct RangeResponse<V> {
    /// The keys found, as many as allowed.
    pub kvs: Vec<Rc<KeyValue<V>>>,
    /// Whether there are more after them.
    pub more: bool,
    /// How many keys are in the span (after `after`), the limit aside.
    pub count: usize,
}

/// What a comparison looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareTarget {
    /// The number of writes since the key was created, 0 if it does not exist.
    Version,
    /// The revision of its creation, 0 if it does not exist.
    Create,
    /// The revision of its last change, 0 if it does not exist.
    Mod,
    /// Its lease.
    Lease,
}

/// How it is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum CompareResult {
    Equal,
    NotEqual,
    Greater,
    Less,
}

/// One condition of a transaction.
#[derive(Clone, Debug)]
pub struct Compare {
    /// The key.
    pub key: Rc<str>,
    /// What of it.
    pub target: CompareTarget,
    /// How.
    pub result: CompareResult,
    /// With what.
    pub value: u64,
}

impl Compare {
    /// The key's last change was at this revision; 0: it does not exist.
    pub fn mod_revision(key: impl Into<Rc<str>>, revision: u64) -> Self {
        Self { key: key.into(), target: CompareTarget::Mod, result: CompareResult::Equal, value: revision }
    }
}

/// A write of one key.
#[derive(Clone, Debug)]
pub struct PutRequest<V> {
    /// The key.
    pub key: Rc<str>,
    /// Its new value.
    pub value: V,
    /// The lease to attach it to; 0 is none.
    pub lease: i64,
    /// Answer with the key as it was before.
    pub prev_kv: bool,
}

/// A deletion of keys.
#[derive(Clone, Debug)]
pub struct DeleteRangeRequest {
    /// The first key.
    pub key: Rc<str>,
    /// Which keys from there.
    pub span: Span,
    /// Answer with the keys as they were before.
    pub prev_kv: bool,
}

/// One operation of a transaction.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Op<V> {
    Range(RangeRequest),
    Put(PutRequest<V>),
    DeleteRange(DeleteRangeRequest),
}

/// If all comparisons hold, then `success`, else `failure`: at one revision.
#[derive(Clone, Debug)]
pub struct TxnRequest<V> {
    /// The conditions.
    pub compare: Vec<Compare>,
    /// What to do if they hold.
    pub success: Vec<Op<V>>,
    /// What to do otherwise.
    pub failure: Vec<Op<V>>,
}

/// The answer to one operation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum OpResponse<V> {
    Range(RangeResponse<V>),
    Put { prev: Option<Rc<KeyValue<V>>> },
    DeleteRange { deleted: usize, prev: Vec<Rc<KeyValue<V>>> },
}

/// The answer to a transaction.
#[derive(Clone, Debug)]
pub struct TxnResponse<V> {
    /// Whether the comparisons held.
    pub succeeded: bool,
    /// The store's revision after it: that of the writes, if there were any.
    pub revision: u64,
    /// The answers to the operations.
    pub responses: Vec<OpResponse<V>>,
}

/// What the members agree on, one entry of the log each.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Operation<V> {
    Txn(TxnRequest<V>),
    Put(PutRequest<V>),
    DeleteRange(DeleteRangeRequest),
    Compact { revision: u64 },
    LeaseGrant { id: i64, ttl: u64 },
    LeaseRevoke { id: i64 },
    LeaseKeepAlive { id: i64 },
    Alarm { member: u64, alarm: Alarm, active: bool },
}

impl<V: Value> Operation<V> {
    /// Bytes of its keys and values.
    pub fn size(&self) -> u64 {
        let put = |p: &PutRequest<V>| p.key.len() as u64 + p.value.size();
        match self {
            Self::Put(p) => put(p),
            Self::Txn(txn) => {
                let ops = txn.success.iter().chain(&txn.failure);
                let ops = ops.map(|op| match op {
                    Op::Put(p) => put(p),
                    Op::Range(r) => r.key.len() as u64,
                    Op::DeleteRange(d) => d.key.len() as u64,
                });
                ops.sum::<u64>() + txn.compare.iter().map(|c| c.key.len() as u64).sum::<u64>()
            }
            Self::DeleteRange(d) => d.key.len() as u64,
            _ => 16,
        }
    }
    /// Whether it makes the store larger, and so is refused when space has run out.
    pub fn is_growth(&self) -> bool {
        match self {
            Self::Put(_) | Self::LeaseGrant { .. } => true,
            Self::Txn(txn) => txn.success.iter().chain(&txn.failure).any(|op| matches!(op, Op::Put(_))),
            _ => false,
        }
    }
}

/// A lasting trouble of a member that all know of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Alarm {
    /// The store reached its quota; writes are refused until space is freed and the alarm disarmed.
    NoSpace,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NOSPACE")
    }
}

/// What a client asks.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Request<V> {
    Range(RangeRequest),
    /// Anything that changes the store.
    Propose(Operation<V>),
    LeaseTimeToLive {
        id: i64,
    },
    Leases,
    Alarms,
    Status,
    MemberList,
    MoveLeader {
        to: u64,
    },
}

/// What a member answers.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Response<V> {
    Range {
        revision: u64,
        range: RangeResponse<V>,
    },
    Txn(TxnResponse<V>),
    Put {
        revision: u64,
        prev: Option<Rc<KeyValue<V>>>,
    },
    DeleteRange {
        revision: u64,
        deleted: usize,
        prev: Vec<Rc<KeyValue<V>>>,
    },
    Compact {
        revision: u64,
    },
    LeaseGrant {
        id: i64,
        ttl: u64,
    },
    LeaseRevoke,
    LeaseKeepAlive {
        id: i64,
        ttl: u64,
    },
    /// `ttl` is -1 if there is no such lease.
    LeaseTimeToLive {
        id: i64,
        ttl: i64,
        granted_ttl: u64,
        keys: Vec<Rc<str>>,
    },
    Leases(Vec<i64>),
    Alarms(Vec<(u64, Alarm)>),
    Status(Box<Status>),
    MemberList(Vec<MemberInfo>),
    MoveLeader,
}

/// A member's place in the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberInfo {
    /// Its identity.
    pub id: u64,
    /// Its name.
    pub name: Rc<str>,
    /// Where its peers reach it.
    pub peer: sim::Addr,
    /// Where clients reach it.
    pub client: sim::Addr,
}

/// How a member stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// Its identity.
    pub id: u64,
    /// Its name.
    pub name: Rc<str>,
    /// The version it says it is.
    pub version: &'static str,
    /// Its part in Raft.
    pub role: crate::raft::Role,
    /// The leader as far as it knows; 0 is none.
    pub leader: u64,
    /// Raft's term.
    pub term: u64,
    /// The highest log index it knows to be committed.
    pub commit_index: u64,
    /// The highest log index it has applied.
    pub applied_index: u64,
    /// The store's revision.
    pub revision: u64,
    /// The revision before which history is gone; 0 if all is there.
    pub compact_revision: u64,
    /// How many keys there are.
    pub keys: usize,
    /// Bytes of the store, history included.
    pub db_size: u64,
    /// Bytes of the present values alone.
    pub db_size_in_use: u64,
    /// How many watches are open.
    pub watchers: usize,
    /// What is wrong, in etcd's words.
    pub errors: Vec<String>,
}

/// Why a request failed, in etcd's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// History before the revision asked for is gone. The number is the oldest revision that is left.
    Compacted(u64),
    /// The revision asked for is not there yet. The number is the newest one.
    FutureRevision(u64),
    /// The store reached its quota.
    NoSpace,
    /// The leader changed while a read waited.
    LeaderChanged,
    /// There is no leader.
    NoLeader,
    /// This member does not lead.
    NotLeader,
    /// No answer in time.
    Timeout,
    /// No answer in time, and the leader was lost shortly before.
    TimeoutLeaderFailure,
    /// No answer in time, and a connection to the leader was lost.
    TimeoutConnectionLost,
    /// Leadership could not be moved in time.
    TimeoutLeaderTransfer,
    /// Too much waits already.
    TooManyRequests,
    /// The request is larger than 1.5 MiB.
    RequestTooLarge,
    /// A transaction of more than 128 operations.
    TooManyOperations,
    /// A transaction that writes a key twice.
    DuplicateKey,
    /// An empty key.
    EmptyKey,
    /// No such lease.
    LeaseNotFound,
    /// There is such a lease already.
    LeaseExists,
    /// A lease of more than 9,000,000,000 seconds.
    LeaseTtlTooLarge,
    /// No such member.
    MemberNotFound,
    /// The transfer target is not a healthy voter.
    BadLeaderTransferee,
    /// Raft took no proposals at that moment.
    ProposalDropped,
    /// The member is stopping.
    Stopped,
    /// The member could not be reached, or the connection broke; gRPC's description.
    Unavailable(Rc<str>),
    /// The answer was of another kind than the question: another protocol.
    Protocol,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compacted(_) => "etcdserver: mvcc: required revision has been compacted",
            Self::FutureRevision(_) => "etcdserver: mvcc: required revision is a future revision",
            Self::NoSpace => "etcdserver: mvcc: database space exceeded",
            Self::LeaderChanged => "etcdserver: leader changed",
            Self::NoLeader => "etcdserver: no leader",
            Self::NotLeader => "etcdserver: not leader",
            Self::Timeout => "etcdserver: request timed out",
            Self::TimeoutLeaderFailure => "etcdserver: request timed out, possibly due to previous leader failure",
            Self::TimeoutConnectionLost => "etcdserver: request timed out, possibly due to connection lost",
            Self::TimeoutLeaderTransfer => "etcdserver: request timed out, leader transfer took too long",
            Self::TooManyRequests => "etcdserver: too many requests",
            Self::RequestTooLarge => "etcdserver: request is too large",
            Self::TooManyOperations => "etcdserver: too many operations in txn request",
            Self::DuplicateKey => "etcdserver: duplicate key given in txn request",
            Self::EmptyKey => "etcdserver: key is not provided",
            Self::LeaseNotFound => "etcdserver: requested lease not found",
            Self::LeaseExists => "etcdserver: lease already exists",
            Self::LeaseTtlTooLarge => "etcdserver: too large lease TTL",
            Self::MemberNotFound => "etcdserver: member not found",
            Self::BadLeaderTransferee => "etcdserver: bad leader transferee",
            Self::ProposalDropped => "raft proposal dropped",
            Self::Stopped => "etcdserver: server stopped",
            Self::Unavailable(text) => return write!(f, "rpc error: code = Unavailable desc = {text}"),
            Self::Protocol => "rpc error: code = Internal desc = malformed response",
        })
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether gRPC's code for it is Unavailable: reads are tried again, elsewhere if possible.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::LeaderChanged
                | Self::NoLeader
                | Self::NotLeader
                | Self::Timeout
                | Self::TimeoutLeaderFailure
                | Self::TimeoutConnectionLost
                | Self::TimeoutLeaderTransfer
                | Self::Stopped
                | Self::Unavailable(_)
        )
    }
}

/// What a client puts on the wire. `stream` numbers its calls and watches.
#[derive(Clone, Debug)]
pub enum ClientFrame<V> {
    /// A call.
    Call {
        /// Which.
        stream: u64,
        /// The question.
        request: Request<V>,
    },
    /// Opens a watch.
    Watch {
        /// Which.
        stream: u64,
        /// The first key.
        key: Rc<str>,
        /// Which keys from there.
        span: Span,
        /// The first revision of interest; 0 is the next one.
        start_revision: u64,
    },
    /// Closes a watch or gives up a call.
    Cancel {
        /// Which.
        stream: u64,
    },
    /// Asks for a progress notice on every watch that has seen everything.
    Progress,
    /// Asks whether the member is alive.
    Ping,
}

/// What a member puts on the wire to a client.
#[derive(Clone, Debug)]
pub enum ServerFrame<V> {
    /// The answer to a call.
    Answer {
        /// Which.
        stream: u64,
        /// The answer.
        result: Result<Response<V>, Error>,
    },
    /// The watch stands.
    Watching {
        /// Which.
        stream: u64,
        /// The store's revision.
        revision: u64,
    },
    /// Changes, whole revisions in order; none at all says that there was none up to `revision`.
    Events {
        /// Which watch.
        stream: u64,
        /// The changes.
        events: Vec<Rc<Event<V>>>,
        /// The watch has seen everything up to this revision.
        revision: u64,
    },
    /// The member ended the watch.
    Canceled {
        /// Which.
        stream: u64,
        /// Why.
        error: Error,
    },
    /// The answer to a ping.
    Pong,
}
