//! The state of a member and the changes of its role.

use super::log::Log;
use super::progress::{Progress, ProgressState, Tracker};
use super::read_only::ReadOnly;
use super::types::{
    ConfChange, Entry, EntryData, HardState, Level, Message, MessageKind, NONE, NodeId, Payload, ReadState, Role,
    Snapshot, SoftState, StepError,
};

/// How a member of a group behaves, and where its log continues.
pub struct Config {
    /// Its identity, not 0.
    pub id: NodeId,
    /// Ticks without word from a leader after which it stands for election, at least; up to twice as many.
    pub election_tick: u32,
    /// Ticks between two heartbeats of a leader.
    pub heartbeat_tick: u32,
    /// Bytes of entries in one append message, at most.
    pub max_size_per_msg: u64,
    /// Bytes of committed entries handed out at once, at most.
    pub max_committed_size_per_ready: u64,
    /// Bytes of proposals not yet committed, at most.
    pub max_uncommitted_size: u64,
    /// Append messages on their way to one member, at most.
    pub max_inflight_msgs: usize,
    /// Their bytes, at most.
    pub max_inflight_bytes: u64,
    /// A leader that hears of no majority for an election timeout steps down.
    pub check_quorum: bool,
    /// A candidate first asks whether it would be elected.
    pub pre_vote: bool,
    /// Lines below it are not logged.
    pub log_level: Level,
    /// Draws a number below its argument, for the election timeouts.
    pub random: Box<dyn FnMut(u32) -> u32>,
}

/// What a campaign is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Campaign {
    Pre,
    Election,
    Transfer,
}

/// One member of a group.
pub struct Raft<D: Payload> {
    pub(super) config: Config,
    pub(super) term: u64,
    pub(super) vote: NodeId,
    pub(super) lead: NodeId,
    pub(super) role: Role,
    pub(super) log: Log<D>,
    pub(super) tracker: Tracker,
    pub(super) snapshot: Option<Snapshot>,

    /// Messages that may be sent at once.
    pub(super) messages: Vec<Message<D>>,
    /// Messages that must wait until what came before is persisted.
    pub(super) messages_after_append: Vec<Message<D>>,
    pub(super) read_states: Vec<ReadState>,

    pub(super) election_elapsed: u32,
    pub(super) heartbeat_elapsed: u32,
    pub(super) randomized_election_timeout: u32,
    pub(super) lead_transferee: NodeId,
    /// No configuration change may be proposed until this index is applied.
    pub(super) pending_conf_index: u64,
    pub(super) uncommitted_size: u64,
    pub(super) read_only: ReadOnly<D>,
    /// Read requests that came before this leader's first commit. Bounded as [`ReadOnly`].
    pub(super) pending_reads: Vec<Message<D>>,

    pub(super) accepted: super::ready::Accepted<D>,
    pub(super) lines: Vec<(Level, String)>,
}

impl<D: Payload> Raft<D> {
    /// A member whose log stands at `snapshot` with `entries` after it, as persisted; `applied` is what the state
    /// machine has already seen.
    ///
    /// # Errors
    /// If the persisted state contradicts itself.
    pub fn new(
        config: Config,
        hard_state: HardState,
        snapshot: Snapshot,
        entries: Vec<Entry<D>>,
        applied: u64,
    ) -> Result<Self, StepError> {
        let log = Log::new(snapshot.index, snapshot.term, entries, config.max_committed_size_per_ready);
        let tracker = Tracker::new(
            &snapshot.voters,
            log.last_index().max(1),
            config.max_inflight_msgs,
            config.max_inflight_bytes,
        );
        let mut raft = Self {
            config,
            term: 0,
            vote: NONE,
            lead: NONE,
            role: Role::Follower,
            log,
            tracker,
            snapshot: Some(snapshot),
            messages: Vec::new(),
            messages_after_append: Vec::new(),
            read_states: Vec::new(),
            election_elapsed: 0,
            heartbeat_elapsed: 0,
            randomized_election_timeout: 0,
            lead_transferee: NONE,
            pending_conf_index: 0,
            uncommitted_size: 0,
            read_only: ReadOnly::new(),
            pending_reads: Vec::new(),
            accepted: super::ready::Accepted::default(),
            lines: Vec::new(),
        };
        raft.log_switched_config();
        if hard_state != HardState::default() {
            if hard_state.commit < raft.log.committed || hard_state.commit > raft.log.last_index() {
                return Err(StepError::Fatal(format!(
                    "{:x} state.commit {} is out of range [{}, {}]",
                    raft.config.id,
                    hard_state.commit,
                    raft.log.committed,
                    raft.log.last_index()
                )));
            }
            raft.log.committed = hard_state.commit;
            raft.term = hard_state.term;
            raft.vote = hard_state.vote;
        }
        if applied > 0 {
            raft.log.applied_to(applied, 0)?;
        }
        raft.become_follower(raft.term, NONE);
        let peers: Vec<String> = raft.tracker.ids().iter().map(|id| format!("{id:x}")).collect();
        let (last_index, last_term) = raft.log.last();
        raft.say(Level::Info, |r| {
            format!(
                "newRaft {:x} [peers: [{}], term: {}, commit: {}, applied: {}, lastindex: {last_index}, lastterm: {last_term}]",
                r.config.id,
                peers.join(","),
                r.term,
                r.log.committed,
                r.log.applied,
            )
        });
        raft.accepted.soft = Some(raft.soft_state());
        raft.accepted.hard = raft.hard_state();
        Ok(raft)
    }

    /// Its identity.
    pub fn id(&self) -> NodeId {
        self.config.id
    }
    /// The latest term seen.
    pub fn term(&self) -> u64 {
        self.term
    }
    /// The leader as far as known, [`NONE`] if there is none.
    pub fn leader(&self) -> NodeId {
        self.lead
    }
    /// The part it plays.
    pub fn role(&self) -> Role {
        self.role
    }
    /// The highest index known to be committed.
    pub fn committed(&self) -> u64 {
        self.log.committed
    }
    /// The highest index known to be applied.
    pub fn applied(&self) -> u64 {
        self.log.applied
    }
    /// The first index still in the log.
    pub fn first_index(&self) -> u64 {
        self.log.first_index()
    }
    /// The last index in the log.
    pub fn last_index(&self) -> u64 {
        self.log.last_index()
    }
    /// The term of an entry that is still in the log.
    pub fn term_at(&self, index: u64) -> Option<u64> {
        self.log.term(index)
    }
    /// The voters, sorted.
    pub fn voters(&self) -> Vec<NodeId> {
        self.tracker.ids()
    }
    /// Whether this member is the only voter.
    pub fn is_singleton(&self) -> bool {
        self.tracker.is_singleton() && self.tracker.members.contains_key(&self.config.id)
    }
    /// The leader's view of each member; meaningful on the leader.
    pub fn progress(&self) -> &std::collections::BTreeMap<NodeId, Progress> {
        &self.tracker.members
    }
    /// To whom leadership is being moved.
    pub fn lead_transferee(&self) -> NodeId {
        self.lead_transferee
    }
    /// Whether time matters to it: the only voter, once leader, needs no ticks.
    pub fn needs_ticks(&self) -> bool {
        !(self.role == Role::Leader && self.is_singleton())
    }
    /// The lines logged since the last call.
    pub fn take_lines(&mut self) -> Vec<(Level, String)> {
        std::mem::take(&mut self.lines)
    }
    /// What need not survive.
    pub fn soft_state(&self) -> SoftState {
        SoftState { lead: self.lead, role: self.role }
    }
    /// What must survive.
    pub fn hard_state(&self) -> HardState {
        HardState { term: self.term, vote: self.vote, commit: self.log.committed }
    }
    /// The state machine as of `snapshot.index` can be given to a member that lags.
    pub fn set_snapshot(&mut self, snapshot: Snapshot) {
        self.snapshot = Some(snapshot);
    }
    /// Forgets the entries up to `index`, as far as applied; a snapshot at or after it must have been set.
    pub fn compact(&mut self, index: u64) {
        self.log.compact(index);
    }
    /// Forgets the entries up to `index` but for the last `count` of at most `bytes` bytes, for members that lag.
    pub fn compact_keeping(&mut self, index: u64, count: u64, bytes: u64) {
        let at = self.log.keep_after(index.min(self.log.applied), count, bytes);
        self.log.compact(at);
    }
    /// Committed entries from `low` to `high`, at most `count`; none if they are compacted.
    pub fn entries(&self, low: u64, high: u64, count: usize) -> Vec<Entry<D>> {
        self.log.committed_entries(low, high, count)
    }
    /// Bytes of the payloads of all entries held.
    pub fn log_bytes(&self) -> u64 {
        self.log.bytes()
    }
    #[cfg(test)]
    pub(super) fn set_randomized_election_timeout(&mut self, ticks: u32) {
        self.randomized_election_timeout = ticks;
    }

    pub(super) fn say(&mut self, level: Level, line: impl FnOnce(&Self) -> String) {
        for note in std::mem::take(&mut self.log.notes) {
            if Level::Info >= self.config.log_level {
                self.lines.push((Level::Info, note));
            }
        }
        if level >= self.config.log_level {
            let line = line(self);
            self.lines.push((level, line));
        }
    }
    pub(super) fn drain_notes(&mut self) {
        for note in std::mem::take(&mut self.log.notes) {
            if Level::Info >= self.config.log_level {
                self.lines.push((Level::Info, note));
            }
        }
    }

    /// Queues a message; answers about what was persisted wait until it is.
    pub(super) fn send(&mut self, mut message: Message<D>) {
        use MessageKind::{AppResp, PreVote, PreVoteResp, Prop, ReadIndex, Vote, VoteResp};
        if message.from == NONE {
            message.from = self.config.id;
        }
        if !matches!(message.kind, Vote | VoteResp | PreVote | PreVoteResp | Prop | ReadIndex) {
            message.term = self.term;
        }
        if matches!(message.kind, AppResp | VoteResp | PreVoteResp) {
            self.messages_after_append.push(message);
        } else {
            self.messages.push(message);
        }
    }

    // --- replication

    pub(super) fn send_append(&mut self, to: NodeId) -> Result<bool, StepError> {
        self.maybe_send_append(to, true)
    }
    /// Sends what `to` lacks, or a snapshot if the log does not reach back. False if nothing was sent.
    pub(super) fn maybe_send_append(&mut self, to: NodeId, even_if_empty: bool) -> Result<bool, StepError> {
        let Some(progress) = self.tracker.members.get_mut(&to) else { return Ok(false) };
        if progress.is_paused() {
            return Ok(false);
        }
        let previous = progress.next - 1;
        let Some(previous_term) = self.log.term(previous) else { return Ok(self.maybe_send_snapshot(to)) };
        let mut entries = Vec::new();
        if progress.state != ProgressState::Replicate || !progress.inflights_full() {
            match self.log.entries_from(progress.next, self.config.max_size_per_msg) {
                Some(found) => entries = found,
                None => return Ok(self.maybe_send_snapshot(to)),
            }
        }
        if entries.is_empty() && !even_if_empty {
            return Ok(false);
        }
        let bytes = entries.iter().map(Entry::payload_size).sum();
        progress.sent_entries(entries.len() as u64, bytes);
        progress.sent_commit = self.log.committed;
        let commit = self.log.committed;
        self.send(Message {
            index: previous,
            log_term: previous_term,
            entries,
            commit,
            ..Message::new(MessageKind::App, to)
        });
        Ok(true)
    }
    fn maybe_send_snapshot(&mut self, to: NodeId) -> bool {
        let Some(progress) = self.tracker.members.get(&to) else { return false };
        if !progress.recent_active {
            self.say(Level::Debug, |_| format!("ignore sending snapshot to {to:x} since it is not recently active"));
            return false;
        }
        let Some(snapshot) = self.snapshot.clone() else { return false };
        let (index, term) = (snapshot.index, snapshot.term);
        self.say(Level::Debug, |r| {
            format!(
                "{:x} [firstindex: {}, commit: {}] sent snapshot[index: {index}, term: {term}] to {to:x} [{}]",
                r.config.id,
                r.log.first_index(),
                r.log.committed,
                r.progress_text(to)
            )
        });
        if let Some(progress) = self.tracker.members.get_mut(&to) {
            progress.become_snapshot(index);
        }
        self.say(Level::Debug, |r| {
            format!("{:x} paused sending replication messages to {to:x} [{}]", r.config.id, r.progress_text(to))
        });
        self.send(Message { snapshot: Some(Box::new(snapshot)), ..Message::new(MessageKind::Snap, to) });
        true
    }
    pub(super) fn progress_text(&self, id: NodeId) -> String {
        self.tracker.members.get(&id).map(ToString::to_string).unwrap_or_default()
    }
    pub(super) fn peers(&self) -> Vec<NodeId> {
        self.tracker.members.keys().copied().filter(|id| *id != self.config.id).collect()
    }
    pub(super) fn broadcast_append(&mut self) -> Result<(), StepError> {
        for id in self.peers() {
            self.send_append(id)?;
        }
        Ok(())
    }
    pub(super) fn broadcast_heartbeat(&mut self, context: u64) {
        for id in self.peers() {
            let Some(progress) = self.tracker.members.get_mut(&id) else { continue };
            // Never a commit index beyond what the member is known to have.
            let commit = progress.matched.min(self.log.committed);
            progress.sent_commit = commit;
            self.send(Message { commit, context, ..Message::new(MessageKind::Heartbeat, id) });
        }
    }
    pub(super) fn maybe_commit(&mut self) -> Result<bool, StepError> {
        let index = self.tracker.committed();
        self.log.maybe_commit(index, self.term)
    }
    /// Appends a leader's own entries; false if there is too much uncommitted already.
    pub(super) fn append_entries(&mut self, mut entries: Vec<Entry<D>>) -> Result<bool, StepError> {
        let bytes: u64 = entries.iter().map(Entry::payload_size).sum();
        if self.uncommitted_size > 0 && bytes > 0 && self.uncommitted_size + bytes > self.config.max_uncommitted_size {
            self.say(Level::Warn, |r| {
                format!(
                    "{:x} appending new entries to log would exceed uncommitted entry size limit; dropping proposal",
                    r.config.id
                )
            });
            return Ok(false);
        }
        self.uncommitted_size += bytes;
        let mut index = self.log.last_index();
        for entry in &mut entries {
            index += 1;
            entry.term = self.term;
            entry.index = index;
        }
        let index = self.log.append(entries)?;
        // The leader's own acknowledgement, counted once the entries are persisted.
        self.send(Message { index, ..Message::new(MessageKind::AppResp, self.config.id) });
        Ok(true)
    }

    // --- time

    /// One tick of the clock, of `heartbeat_tick` and `election_tick`.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn tick(&mut self) -> Result<(), StepError> {
        self.election_elapsed += 1;
        if self.role != Role::Leader {
            if self.promotable() && self.election_elapsed >= self.randomized_election_timeout {
                self.election_elapsed = 0;
                self.step_self(MessageKind::Hup)?;
            }
            return Ok(());
        }
        self.heartbeat_elapsed += 1;
        if self.election_elapsed >= self.config.election_tick {
            self.election_elapsed = 0;
            if self.config.check_quorum {
                self.step_self(MessageKind::CheckQuorum)?;
            }
            if self.role == Role::Leader {
                self.lead_transferee = NONE;
            }
        }
        if self.role == Role::Leader && self.heartbeat_elapsed >= self.config.heartbeat_tick {
            self.heartbeat_elapsed = 0;
            self.step_self(MessageKind::Beat)?;
        }
        Ok(())
    }
    fn step_self(&mut self, kind: MessageKind) -> Result<(), StepError> {
        let from = self.config.id;
        match self.step_unchecked(Message { from, ..Message::new(kind, NONE) }) {
            Err(e @ StepError::Fatal(_)) => Err(e),
            _ => Ok(()),
        }
    }
    fn reset(&mut self, term: u64) {
        if self.term != term {
            self.term = term;
            self.vote = NONE;
        }
        self.lead = NONE;
        self.election_elapsed = 0;
        self.heartbeat_elapsed = 0;
        self.randomized_election_timeout = self.config.election_tick + (self.config.random)(self.config.election_tick);
        self.lead_transferee = NONE;
        self.tracker.reset_votes();
        let last = self.log.last_index();
        for (id, progress) in &mut self.tracker.members {
            progress.reset(last + 1);
            if *id == self.config.id {
                progress.matched = last;
            }
        }
        self.pending_conf_index = 0;
        self.uncommitted_size = 0;
        self.read_only = ReadOnly::new();
    }
    pub(super) fn promotable(&self) -> bool {
        self.tracker.members.contains_key(&self.config.id) && !self.log.has_pending_snapshot()
    }

    // --- roles

    pub(super) fn become_follower(&mut self, term: u64, lead: NodeId) {
        self.reset(term);
        self.lead = lead;
        self.role = Role::Follower;
        self.say(Level::Info, |r| format!("{:x} became follower at term {}", r.config.id, r.term));
    }
    fn become_candidate(&mut self) {
        self.reset(self.term + 1);
        self.vote = self.config.id;
        self.role = Role::Candidate;
        self.say(Level::Info, |r| format!("{:x} became candidate at term {}", r.config.id, r.term));
    }
    fn become_pre_candidate(&mut self) {
        // Neither term nor vote change: this is a question only.
        self.tracker.reset_votes();
        self.lead = NONE;
        self.role = Role::PreCandidate;
        self.say(Level::Info, |r| format!("{:x} became pre-candidate at term {}", r.config.id, r.term));
    }
    pub(super) fn become_leader(&mut self) -> Result<(), StepError> {
        self.reset(self.term);
        self.lead = self.config.id;
        self.role = Role::Leader;
        if let Some(own) = self.tracker.members.get_mut(&self.config.id) {
            own.become_replicate();
            own.recent_active = true;
        }
        // There may be a configuration change among the entries not yet committed.
        self.pending_conf_index = self.log.last_index();
        self.append_entries(vec![Entry::new(EntryData::Empty)])?;
        self.say(Level::Info, |r| format!("{:x} became leader at term {}", r.config.id, r.term));
        Ok(())
    }
    pub(super) fn hup(&mut self, campaign: Campaign) {
        if self.role == Role::Leader {
            self.say(Level::Debug, |r| format!("{:x} ignoring MsgHup because already leader", r.config.id));
        } else if !self.promotable() {
            self.say(Level::Warn, |r| format!("{:x} is unpromotable and can not campaign", r.config.id));
        } else if self.log.has_unapplied_conf_change() {
            self.say(Level::Warn, |r| {
                format!(
                    "{:x} cannot campaign at term {} since there are still pending configuration changes to apply",
                    r.config.id, r.term
                )
            });
        } else {
            self.say(Level::Info, |r| format!("{:x} is starting a new election at term {}", r.config.id, r.term));
            self.campaign(campaign);
        }
    }
    pub(super) fn campaign(&mut self, campaign: Campaign) {
        let (kind, term) = if campaign == Campaign::Pre {
            self.become_pre_candidate();
            (MessageKind::PreVote, self.term + 1)
        } else {
            self.become_candidate();
            (MessageKind::Vote, self.term)
        };
        for id in self.tracker.ids() {
            if id == self.config.id {
                let kind = if campaign == Campaign::Pre { MessageKind::PreVoteResp } else { MessageKind::VoteResp };
                self.send(Message { term, ..Message::new(kind, id) });
                continue;
            }
            let (index, log_term) = self.log.last();
            self.say(Level::Info, |r| {
                format!(
                    "{:x} [logterm: {log_term}, index: {index}] sent {kind} request to {id:x} at term {}",
                    r.config.id, r.term
                )
            });
            let transfer = campaign == Campaign::Transfer;
            self.send(Message { term, index, log_term, transfer, ..Message::new(kind, id) });
        }
    }

    // --- the group

    pub(super) fn log_switched_config(&mut self) {
        self.say(Level::Info, |r| {
            let ids: Vec<String> = r.tracker.ids().iter().map(ToString::to_string).collect();
            format!("{:x} switched to configuration voters=({})", r.config.id, ids.join(" "))
        });
    }
    /// Puts a committed configuration change into force; the voters afterwards.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn apply_conf_change(&mut self, change: ConfChange) -> Result<Vec<NodeId>, StepError> {
        match change {
            ConfChange::Add(id) => self.tracker.add(id, self.log.last_index().max(1)),
            // The last voter cannot be removed: nobody could commit anything after that.
            ConfChange::Remove(id) if self.tracker.members.len() > 1 => {
                self.tracker.members.remove(&id);
            }
            ConfChange::Remove(_) => {}
        }
        self.log_switched_config();
        let voters = self.tracker.ids();
        if self.role != Role::Leader || !voters.contains(&self.config.id) {
            return Ok(voters);
        }
        if self.maybe_commit()? {
            self.broadcast_append()?;
        } else {
            for id in self.peers() {
                self.maybe_send_append(id, false)?;
            }
        }
        if !voters.contains(&self.lead_transferee) {
            self.lead_transferee = NONE;
        }
        Ok(voters)
    }
    pub(super) fn restore_config(&mut self, voters: &[NodeId]) {
        let next = self.log.last_index().max(1);
        self.tracker = Tracker::new(voters, next, self.tracker.max_inflight, self.tracker.max_inflight_bytes);
        self.log_switched_config();
    }
}
