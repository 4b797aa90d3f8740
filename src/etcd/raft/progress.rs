//! What the leader knows of each member, and the votes of an election.

use super::types::NodeId;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// How the leader sends to a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgressState {
    /// One message at a time, until it is known where the logs agree.
    Probe,
    /// Pipelined.
    Replicate,
    /// Nothing, until the member has restored the snapshot sent to it.
    Snapshot,
}

impl fmt::Display for ProgressState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State{self:?}")
    }
}

/// A member's progress in the eyes of the leader.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Up to here its log is known to agree.
    pub matched: u64,
    /// The next index to send.
    pub next: u64,
    /// The highest commit index sent to it.
    pub(super) sent_commit: u64,
    /// How it is sent to.
    pub state: ProgressState,
    /// The snapshot being sent, in state Snapshot.
    pub pending_snapshot: u64,
    /// It was heard of since the last check of the quorum.
    pub recent_active: bool,
    /// Nothing is sent until an answer or a heartbeat's answer comes.
    pub(super) paused: bool,
    /// The last index and bytes of each message on its way. Bounded by `max_inflight`.
    inflights: VecDeque<(u64, u64)>,
    inflight_bytes: u64,
    max_inflight: usize,
    max_inflight_bytes: u64,
}

impl Progress {
    pub(super) fn new(next: u64, max_inflight: usize, max_inflight_bytes: u64) -> Self {
        Self {
            matched: 0,
            next,
            sent_commit: 0,
            state: ProgressState::Probe,
            pending_snapshot: 0,
            recent_active: false,
            paused: false,
            inflights: VecDeque::new(),
            inflight_bytes: 0,
            max_inflight,
            max_inflight_bytes,
        }
    }
    pub(super) fn reset(&mut self, next: u64) {
        *self = Self::new(next, self.max_inflight, self.max_inflight_bytes);
    }
    fn reset_state(&mut self, state: ProgressState) {
        self.paused = false;
        self.pending_snapshot = 0;
        self.state = state;
        self.inflights.clear();
        self.inflight_bytes = 0;
    }
    pub(super) fn become_probe(&mut self) {
        let after_snapshot = if self.state == ProgressState::Snapshot { self.pending_snapshot } else { 0 };
        self.reset_state(ProgressState::Probe);
        self.next = self.matched.max(after_snapshot) + 1;
        self.sent_commit = self.sent_commit.min(self.next - 1);
    }
    pub(super) fn become_replicate(&mut self) {
        self.reset_state(ProgressState::Replicate);
        self.next = self.matched + 1;
    }
    pub(super) fn become_snapshot(&mut self, index: u64) {
        self.reset_state(ProgressState::Snapshot);
        self.pending_snapshot = index;
        self.next = index + 1;
        self.sent_commit = index;
    }
    /// Notes an append of `count` entries of `bytes` bytes on its way.
    pub(super) fn sent_entries(&mut self, count: u64, bytes: u64) {
        match self.state {
            ProgressState::Replicate => {
                if count > 0 {
                    self.next += count;
                    self.inflights.push_back((self.next - 1, bytes));
                    self.inflight_bytes += bytes;
                }
                self.paused = self.inflights_full();
            }
            ProgressState::Probe => self.paused |= count > 0,
            ProgressState::Snapshot => {}
        }
    }
    /// Whether an empty append would tell the member of a higher commit index.
    pub(super) fn can_bump_commit(&self, commit: u64) -> bool {
        commit > self.sent_commit && self.sent_commit < self.next - 1
    }
    /// An answer says that the logs agree up to `index`; whether that is news.
    pub(super) fn maybe_update(&mut self, index: u64) -> bool {
        if index <= self.matched {
            return false;
        }
        self.matched = index;
        self.next = self.next.max(index + 1);
        self.paused = false;
        true
    }
    /// An append after `rejected` was refused; steps back to `hint` at most. False if the answer is stale.
    pub(super) fn maybe_decrease(&mut self, rejected: u64, hint: u64) -> bool {
        if self.state == ProgressState::Replicate {
            if rejected <= self.matched {
                return false;
            }
            self.next = self.matched + 1;
        } else {
            if self.next - 1 != rejected {
                return false;
            }
            self.next = rejected.min(hint + 1).max(self.matched + 1);
            self.paused = false;
        }
        self.sent_commit = self.sent_commit.min(self.next - 1);
        true
    }
    /// Whether nothing may be sent now.
    pub fn is_paused(&self) -> bool {
        self.state == ProgressState::Snapshot || self.paused
    }
    pub(super) fn inflights_full(&self) -> bool {
        self.inflights.len() >= self.max_inflight || self.inflight_bytes >= self.max_inflight_bytes
    }
    pub(super) fn free_inflights(&mut self, upto: u64) {
        while let Some((index, bytes)) = self.inflights.front().copied() {
            if index > upto {
                break;
            }
            self.inflights.pop_front();
            self.inflight_bytes -= bytes;
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} match={} next={}", self.state, self.matched, self.next)?;
        if self.is_paused() {
            f.write_str(" paused")?;
        }
        if self.pending_snapshot > 0 {
            write!(f, " pendingSnap={}", self.pending_snapshot)?;
        }
        if !self.recent_active {
            f.write_str(" inactive")?;
        }
        if !self.inflights.is_empty() {
            write!(f, " inflight={}", self.inflights.len())?;
            if self.inflights_full() {
                f.write_str("[full]")?;
            }
        }
        Ok(())
    }
}

/// How an election stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VoteResult {
    Pending,
    Lost,
    Won,
}

/// The members and what is known of them.
pub(super) struct Tracker {
    pub members: BTreeMap<NodeId, Progress>,
    votes: BTreeMap<NodeId, bool>,
    pub max_inflight: usize,
    pub max_inflight_bytes: u64,
}

impl Tracker {
    pub fn new(voters: &[NodeId], next: u64, max_inflight: usize, max_inflight_bytes: u64) -> Self {
        let mut tracker = Self { members: BTreeMap::new(), votes: BTreeMap::new(), max_inflight, max_inflight_bytes };
        for &id in voters {
            tracker.add(id, next);
        }
        tracker
    }
    pub fn add(&mut self, id: NodeId, next: u64) {
        let (count, bytes) = (self.max_inflight, self.max_inflight_bytes);
        self.members.entry(id).or_insert_with(|| {
            let mut progress = Progress::new(next, count, bytes);
            // So that a check of the quorum right after it joined does not count it as lost.
            progress.recent_active = true;
            progress
        });
    }
    pub fn ids(&self) -> Vec<NodeId> {
        self.members.keys().copied().collect()
    }
    pub fn is_singleton(&self) -> bool {
        self.members.len() == 1
    }
    fn quorum(&self) -> usize {
        self.members.len() / 2 + 1
    }
    /// The highest index that a majority has.
    pub fn committed(&self) -> u64 {
        let mut matched: Vec<u64> = self.members.values().map(|p| p.matched).collect();
        matched.sort_unstable_by(|a, b| b.cmp(a));
        matched.get(self.quorum() - 1).copied().unwrap_or(0)
    }
    fn result(&self, vote: impl Fn(NodeId) -> Option<bool>) -> VoteResult {
        let (mut yes, mut open) = (0, 0);
        for &id in self.members.keys() {
            match vote(id) {
                Some(true) => yes += 1,
                None => open += 1,
                Some(false) => {}
            }
        }
        if yes >= self.quorum() {
            VoteResult::Won
        } else if yes + open >= self.quorum() {
            VoteResult::Pending
        } else {
            VoteResult::Lost
        }
    }
    pub fn quorum_active(&self) -> bool {
        self.result(|id| self.members.get(&id).map(|p| p.recent_active)) == VoteResult::Won
    }
    pub fn has_quorum(&self, of: impl Fn(NodeId) -> bool) -> bool {
        self.result(|id| of(id).then_some(true)) == VoteResult::Won
    }
    pub fn reset_votes(&mut self) {
        self.votes.clear();
    }
    pub fn record_vote(&mut self, id: NodeId, granted: bool) {
        self.votes.entry(id).or_insert(granted);
    }
    /// (granted, rejected, result)
    pub fn tally(&self) -> (usize, usize, VoteResult) {
        let voted =
            |want: bool| self.votes.iter().filter(|(id, v)| **v == want && self.members.contains_key(id)).count();
        (voted(true), voted(false), self.result(|id| self.votes.get(&id).copied()))
    }
}
