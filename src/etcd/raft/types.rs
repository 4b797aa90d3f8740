//! The data of Raft: entries, messages, states.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

/// The identity of a member; 0 is nobody.
pub type NodeId = u64;

/// Nobody: the leader when there is none, the vote not yet cast.
pub const NONE: NodeId = 0;

/// What an entry carries. Cloned freely: let it be a reference count.
pub trait Payload: Clone + fmt::Debug {
    /// Its size in bytes, for the limits on messages and on uncommitted data.
    fn size(&self) -> u64;
}

impl Payload for Rc<str> {
    fn size(&self) -> u64 {
        self.len() as u64
    }
}

/// A change of the group by one member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfChange {
    /// The member becomes a voter.
    Add(NodeId),
    /// The member leaves.
    Remove(NodeId),
}

/// The content of a log entry.
#[derive(Clone, Debug)]
pub enum EntryData<D> {
    /// Nothing: what a new leader writes first, or what took the place of a refused configuration change.
    Empty,
    /// A proposal of the application.
    Normal(D),
    /// A configuration change, to be handed to [`super::Raft::apply_conf_change`] when committed.
    Conf(ConfChange),
}

/// One entry of the replicated log.
#[derive(Clone, Debug)]
pub struct Entry<D> {
    /// The term of the leader who wrote it.
    pub term: u64,
    /// Its place in the log, from 1.
    pub index: u64,
    /// What it holds.
    pub data: EntryData<D>,
}

impl<D: Payload> Entry<D> {
    /// An entry to propose; term and index are given to it by the leader.
    pub fn new(data: EntryData<D>) -> Self {
        Self { term: 0, index: 0, data }
    }
    /// Bytes of the payload alone; an empty entry has none.
    pub fn payload_size(&self) -> u64 {
        match &self.data {
            EntryData::Empty => 0,
            EntryData::Normal(d) => d.size(),
            EntryData::Conf(_) => 4,
        }
    }
    /// Bytes of the encoded entry, as etcd's protocol buffers would take.
    pub fn size(&self) -> u64 {
        let payload = self.payload_size();
        let body = if matches!(self.data, EntryData::Empty) { 0 } else { 1 + varint(payload) + payload };
        2 + 1 + varint(self.term) + 1 + varint(self.index) + body
    }
}

fn varint(v: u64) -> u64 {
    u64::from(70 - (v | 1).leading_zeros()) / 7
}

/// What must be on the disk before messages that depend on it are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HardState {
    /// The latest term seen.
    pub term: u64,
    /// Who got this member's vote in that term.
    pub vote: NodeId,
    /// The highest index known to be committed.
    pub commit: u64,
}

/// What need not survive a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoftState {
    /// The leader, as far as known.
    pub lead: NodeId,
    /// The part this member plays.
    pub role: Role,
}

/// The part a member plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Follows a leader or waits for one.
    Follower,
    /// Asks whether it would be elected, without raising its term.
    PreCandidate,
    /// Stands for election.
    Candidate,
    /// Orders the proposals.
    Leader,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Follower => "StateFollower",
            Self::PreCandidate => "StatePreCandidate",
            Self::Candidate => "StateCandidate",
            Self::Leader => "StateLeader",
        })
    }
}

/// The state machine at an index, in place of the log up to there.
#[derive(Clone)]
pub struct Snapshot {
    /// The last entry it includes.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The voters at that index, sorted.
    pub voters: Vec<NodeId>,
    /// The application's state; filled in by the application.
    pub data: Option<Rc<dyn Any>>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({}/{} {:?})", self.term, self.index, self.voters)
    }
}

/// The kinds of messages, with etcd's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum MessageKind {
    Hup,
    Beat,
    Prop,
    App,
    AppResp,
    Vote,
    VoteResp,
    Snap,
    Heartbeat,
    HeartbeatResp,
    Unreachable,
    SnapStatus,
    CheckQuorum,
    TransferLeader,
    TimeoutNow,
    ReadIndex,
    ReadIndexResp,
    PreVote,
    PreVoteResp,
    ForgetLeader,
}

impl MessageKind {
    /// Whether a peer never sends it: it is a member's word to itself.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Hup | Self::Beat | Self::Unreachable | Self::SnapStatus | Self::CheckQuorum)
    }
    /// Whether it answers a message, and so makes sense from a known member only.
    pub fn is_response(self) -> bool {
        matches!(
            self,
            Self::AppResp
                | Self::VoteResp
                | Self::HeartbeatResp
                | Self::Unreachable
                | Self::ReadIndexResp
                | Self::PreVoteResp
        )
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Msg{self:?}")
    }
}

/// A message between members, or from a member to itself.
#[derive(Clone, Debug)]
pub struct Message<D> {
    /// What it says.
    pub kind: MessageKind,
    /// The receiver.
    pub to: NodeId,
    /// The sender.
    pub from: NodeId,
    /// The sender's term; 0 for local messages and for what is forwarded.
    pub term: u64,
    /// The term that goes with `index`.
    pub log_term: u64,
    /// The log index it speaks of: for App the one before its entries.
    pub index: u64,
    /// Entries to append or to propose.
    pub entries: Vec<Entry<D>>,
    /// The sender's commit index.
    pub commit: u64,
    /// The answer is no.
    pub reject: bool,
    /// Where the logs may still agree.
    pub reject_hint: u64,
    /// The state to restore, with Snap.
    pub snapshot: Option<Box<Snapshot>>,
    /// The number of a read request; 0 is none.
    pub context: u64,
    /// A vote asked for on a leader's wish, which is granted although the leader is alive.
    pub transfer: bool,
}

impl<D> Message<D> {
    /// A message of this kind to `to`, all else empty.
    pub fn new(kind: MessageKind, to: NodeId) -> Self {
        Self {
            kind,
            to,
            from: NONE,
            term: 0,
            log_term: 0,
            index: 0,
            entries: Vec::new(),
            commit: 0,
            reject: false,
            reject_hint: 0,
            snapshot: None,
            context: 0,
            transfer: false,
        }
    }
}

/// The answer to a read request: the state machine may answer it once it has applied `index`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadState {
    /// The index to wait for.
    pub index: u64,
    /// The request's number.
    pub context: u64,
}

/// Why a message or proposal was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepError {
    /// No leader, leadership being moved, or too much uncommitted data: try again later.
    ProposalDropped,
    /// A local message came from a peer.
    LocalMessage,
    /// An answer came from somebody who is not a member.
    PeerNotFound,
    /// The log contradicts what was agreed: data was lost. The member must stop.
    Fatal(String),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProposalDropped => f.write_str("raft proposal dropped"),
            Self::LocalMessage => f.write_str("raft: cannot step raft local message"),
            Self::PeerNotFound => f.write_str("raft: cannot step as peer not found"),
            Self::Fatal(m) => f.write_str(m),
        }
    }
}

/// How grave a line of the log is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}
