//! What a member does with a message, by its role.

use super::core::{Campaign, Raft};
use super::progress::VoteResult;
use super::types::{
    Entry, EntryData, Level, Message, MessageKind, NONE, NodeId, Payload, ReadState, Role, Snapshot, StepError,
};

impl<D: Payload> Raft<D> {
    /// Takes a message from a peer.
    ///
    /// # Errors
    /// [`StepError::LocalMessage`], [`StepError::PeerNotFound`], [`StepError::ProposalDropped`] (try later),
    /// [`StepError::Fatal`] (the member must stop).
    pub fn step(&mut self, message: Message<D>) -> Result<(), StepError> {
        if message.kind.is_local() {
            return Err(StepError::LocalMessage);
        }
        if message.kind.is_response() && !self.tracker.members.contains_key(&message.from) {
            return Err(StepError::PeerNotFound);
        }
        self.step_unchecked(message)
    }

    /// Stands for election now.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn campaign_now(&mut self) -> Result<(), StepError> {
        self.step_unchecked(Message::new(MessageKind::Hup, NONE))
    }
    /// Proposes an entry.
    ///
    /// # Errors
    /// [`StepError::ProposalDropped`] or [`StepError::Fatal`].
    pub fn propose(&mut self, data: EntryData<D>) -> Result<(), StepError> {
        let entries = vec![Entry::new(data)];
        self.step_unchecked(Message { from: self.config.id, entries, ..Message::new(MessageKind::Prop, NONE) })
    }
    /// Asks for the index at which a linearizable read may be answered; the answer comes as a [`ReadState`] with this
    /// number (not 0), or never: ask again.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn read_index(&mut self, context: u64) -> Result<(), StepError> {
        self.step_unchecked(Message { context, ..Message::new(MessageKind::ReadIndex, NONE) })
    }
    /// A message to `id` could not be sent.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn report_unreachable(&mut self, id: NodeId) -> Result<(), StepError> {
        self.step_unchecked(Message { from: id, ..Message::new(MessageKind::Unreachable, NONE) })
    }
    /// How the sending of a snapshot to `id` ended.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn report_snapshot(&mut self, id: NodeId, sent: bool) -> Result<(), StepError> {
        self.step_unchecked(Message { from: id, reject: !sent, ..Message::new(MessageKind::SnapStatus, NONE) })
    }
    /// Asks the leader to hand its part to `to`.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn transfer_leader(&mut self, to: NodeId) -> Result<(), StepError> {
        self.step_unchecked(Message { from: to, ..Message::new(MessageKind::TransferLeader, NONE) })
    }
    /// A follower forgets its leader, and so may grant pre-votes at once.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn forget_leader(&mut self) -> Result<(), StepError> {
        self.step_unchecked(Message::new(MessageKind::ForgetLeader, NONE))
    }

    pub(super) fn step_unchecked(&mut self, m: Message<D>) -> Result<(), StepError> {
        if m.term > self.term {
            if !self.step_higher_term(&m) {
                return Ok(());
            }
        } else if m.term != 0 && m.term < self.term {
            self.step_lower_term(&m);
            return Ok(());
        }
        match m.kind {
            MessageKind::Hup => {
                self.hup(if self.config.pre_vote { Campaign::Pre } else { Campaign::Election });
                Ok(())
            }
            MessageKind::Vote | MessageKind::PreVote => {
                self.step_vote(&m);
                Ok(())
            }
            _ => match self.role {
                Role::Leader => self.step_leader(m),
                Role::Follower => self.step_follower(m),
                Role::Candidate | Role::PreCandidate => self.step_candidate(m),
            },
        }
    }

    /// Whether the message is to be looked at further.
    fn step_higher_term(&mut self, m: &Message<D>) -> bool {
        let vote = matches!(m.kind, MessageKind::Vote | MessageKind::PreVote);
        let in_lease =
            self.config.check_quorum && self.lead != NONE && self.election_elapsed < self.config.election_tick;
        if vote && !m.transfer && in_lease {
            let (index, term) = self.log.last();
            self.say(Level::Info, |r| {
                format!(
                    "{:x} [logterm: {term}, index: {index}, vote: {:x}] ignored {} from {:x} [logterm: {}, index: {}] at term {}: lease is not expired (remaining ticks: {})",
                    r.config.id,
                    r.vote,
                    m.kind,
                    m.from,
                    m.log_term,
                    m.index,
                    r.term,
                    r.config.election_tick - r.election_elapsed
                )
            });
            return false;
        }
        // A pre-vote never changes the term; a granted one carries the term asked for, not one that exists.
        if m.kind == MessageKind::PreVote || (m.kind == MessageKind::PreVoteResp && !m.reject) {
            return true;
        }
        self.say(Level::Info, |r| {
            format!(
                "{:x} [term: {}] received a {} message with higher term from {:x} [term: {}]",
                r.config.id, r.term, m.kind, m.from, m.term
            )
        });
        let from_leader = matches!(m.kind, MessageKind::App | MessageKind::Heartbeat | MessageKind::Snap);
        self.become_follower(m.term, if from_leader { m.from } else { NONE });
        true
    }

    fn step_lower_term(&mut self, m: &Message<D>) {
        let from_leader = matches!(m.kind, MessageKind::Heartbeat | MessageKind::App);
        if (self.config.check_quorum || self.config.pre_vote) && from_leader {
            // A leader who was cut off learns the term from this answer, which its own check or the missing vote
            // requests would never tell it.
            self.send(Message::new(MessageKind::AppResp, m.from));
        } else if m.kind == MessageKind::PreVote {
            self.say_vote("rejected", m);
            let term = self.term;
            self.send(Message { term, reject: true, ..Message::new(MessageKind::PreVoteResp, m.from) });
        } else {
            self.say(Level::Info, |r| {
                format!(
                    "{:x} [term: {}] ignored a {} message with lower term from {:x} [term: {}]",
                    r.config.id, r.term, m.kind, m.from, m.term
                )
            });
        }
    }

    fn say_vote(&mut self, verdict: &str, m: &Message<D>) {
        let (index, term) = self.log.last();
        let preposition = if verdict == "cast" { "for" } else { "from" };
        self.say(Level::Info, |r| {
            format!(
                "{:x} [logterm: {term}, index: {index}, vote: {:x}] {verdict} {} {preposition} {:x} [logterm: {}, index: {}] at term {}",
                r.config.id, r.vote, m.kind, m.from, m.log_term, m.index, r.term
            )
        });
    }
    fn step_vote(&mut self, m: &Message<D>) {
        let can_vote = self.vote == m.from
            || (self.vote == NONE && self.lead == NONE)
            || (m.kind == MessageKind::PreVote && m.term > self.term);
        let response = if m.kind == MessageKind::Vote { MessageKind::VoteResp } else { MessageKind::PreVoteResp };
        if can_vote && self.log.is_up_to_date(m.index, m.log_term) {
            self.say_vote("cast", m);
            // The term of the question, not ours: a pre-vote is about a term to come.
            self.send(Message { term: m.term, ..Message::new(response, m.from) });
            if m.kind == MessageKind::Vote {
                self.election_elapsed = 0;
                self.vote = m.from;
            }
        } else {
            self.say_vote("rejected", m);
            let term = self.term;
            self.send(Message { term, reject: true, ..Message::new(response, m.from) });
        }
    }

    // --- candidate

    fn step_candidate(&mut self, m: Message<D>) -> Result<(), StepError> {
        let my_response =
            if self.role == Role::PreCandidate { MessageKind::PreVoteResp } else { MessageKind::VoteResp };
        match m.kind {
            MessageKind::Prop => {
                self.say(Level::Info, |r| format!("{:x} no leader at term {}; dropping proposal", r.config.id, r.term));
                Err(StepError::ProposalDropped)
            }
            MessageKind::App | MessageKind::Heartbeat | MessageKind::Snap => {
                self.become_follower(m.term, m.from);
                self.heed_leader(m)
            }
            kind if kind == my_response => {
                self.say(Level::Info, |r| {
                    let what = if m.reject { format!("{kind} rejection") } else { kind.to_string() };
                    format!("{:x} received {what} from {:x} at term {}", r.config.id, m.from, r.term)
                });
                self.tracker.record_vote(m.from, !m.reject);
                let (granted, rejected, result) = self.tracker.tally();
                self.say(Level::Info, |r| {
                    format!("{:x} has received {granted} {kind} votes and {rejected} vote rejections", r.config.id)
                });
                match result {
                    VoteResult::Won if self.role == Role::PreCandidate => self.campaign(Campaign::Election),
                    VoteResult::Won => {
                        self.become_leader()?;
                        self.broadcast_append()?;
                    }
                    VoteResult::Lost => self.become_follower(self.term, NONE),
                    VoteResult::Pending => {}
                }
                Ok(())
            }
            MessageKind::TimeoutNow => {
                self.say(Level::Debug, |r| {
                    format!(
                        "{:x} [term {} state {}] ignored MsgTimeoutNow from {:x}",
                        r.config.id, r.term, r.role, m.from
                    )
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    // --- follower

    fn step_follower(&mut self, mut m: Message<D>) -> Result<(), StepError> {
        match m.kind {
            MessageKind::Prop if self.lead == NONE => {
                self.say(Level::Info, |r| format!("{:x} no leader at term {}; dropping proposal", r.config.id, r.term));
                return Err(StepError::ProposalDropped);
            }
            MessageKind::ReadIndex if self.lead == NONE => self.say(Level::Info, |r| {
                format!("{:x} no leader at term {}; dropping index reading msg", r.config.id, r.term)
            }),
            MessageKind::TransferLeader if self.lead == NONE => self.say(Level::Info, |r| {
                format!("{:x} no leader at term {}; dropping leader transfer msg", r.config.id, r.term)
            }),
            MessageKind::Prop | MessageKind::ReadIndex | MessageKind::TransferLeader => {
                m.to = self.lead;
                self.send(m);
            }
            MessageKind::App | MessageKind::Heartbeat | MessageKind::Snap => {
                self.election_elapsed = 0;
                self.lead = m.from;
                return self.heed_leader(m);
            }
            MessageKind::ForgetLeader if self.lead != NONE => {
                self.say(Level::Info, |r| {
                    format!("{:x} forgetting leader {:x} at term {}", r.config.id, r.lead, r.term)
                });
                self.lead = NONE;
            }
            MessageKind::TimeoutNow => {
                self.say(Level::Info, |r| {
                    format!(
                        "{:x} [term {}] received MsgTimeoutNow from {:x} and starts an election to get leadership.",
                        r.config.id, r.term, m.from
                    )
                });
                // Without a pre-vote: the leader wants it.
                self.hup(Campaign::Transfer);
            }
            MessageKind::ReadIndexResp => {
                self.read_states.push(ReadState { index: m.index, context: m.context });
            }
            _ => {}
        }
        Ok(())
    }

    fn heed_leader(&mut self, m: Message<D>) -> Result<(), StepError> {
        match m.kind {
            MessageKind::App => self.handle_append(m),
            MessageKind::Heartbeat => {
                self.log.commit_to(m.commit)?;
                self.send(Message { context: m.context, ..Message::new(MessageKind::HeartbeatResp, m.from) });
                Ok(())
            }
            _ => {
                self.handle_snapshot(m);
                Ok(())
            }
        }
    }

    fn handle_append(&mut self, m: Message<D>) -> Result<(), StepError> {
        if m.index < self.log.committed {
            let index = self.log.committed;
            self.send(Message { index, ..Message::new(MessageKind::AppResp, m.from) });
            return Ok(());
        }
        let appended = self.log.maybe_append((m.index, m.log_term), m.entries, m.commit);
        self.drain_notes();
        if let Some(index) = appended? {
            self.send(Message { index, ..Message::new(MessageKind::AppResp, m.from) });
            return Ok(());
        }
        self.say(Level::Debug, |r| {
            format!(
                "{:x} [logterm: {}, index: {}] rejected MsgApp [logterm: {}, index: {}] from {:x}",
                r.config.id,
                r.log.term(m.index).unwrap_or(0),
                m.index,
                m.log_term,
                m.index,
                m.from
            )
        });
        // The leader's log agrees with ours nowhere above this index, for there our terms are beyond its own.
        let (reject_hint, log_term) = self.log.find_conflict_by_term(m.index.min(self.log.last_index()), m.log_term);
        self.send(Message {
            index: m.index,
            reject: true,
            reject_hint,
            log_term,
            ..Message::new(MessageKind::AppResp, m.from)
        });
        Ok(())
    }

    fn handle_snapshot(&mut self, m: Message<D>) {
        let Some(snapshot) = m.snapshot else { return };
        let (index, term) = (snapshot.index, snapshot.term);
        let (verdict, at) =
            if self.restore(*snapshot) { ("restored", self.log.last_index()) } else { ("ignored", self.log.committed) };
        self.say(Level::Info, |r| {
            format!("{:x} [commit: {}] {verdict} snapshot [index: {index}, term: {term}]", r.config.id, r.log.committed)
        });
        self.send(Message { index: at, ..Message::new(MessageKind::AppResp, m.from) });
    }

    /// Takes the snapshot in place of the log, unless the log has all of it.
    fn restore(&mut self, snapshot: Snapshot) -> bool {
        if snapshot.index <= self.log.committed {
            return false;
        }
        if !snapshot.voters.contains(&self.config.id) {
            self.say(Level::Warn, |r| {
                format!(
                    "{:x} attempted to restore snapshot but it is not in the ConfState {:?}; should never happen",
                    r.config.id, snapshot.voters
                )
            });
            return false;
        }
        let (index, term) = (snapshot.index, snapshot.term);
        let (last_index, last_term) = self.log.last();
        if self.log.match_term(index, term) {
            self.say(Level::Info, |r| {
                format!(
                    "{:x} [commit: {}, lastindex: {last_index}, lastterm: {last_term}] fast-forwarded commit to snapshot [index: {index}, term: {term}]",
                    r.config.id, r.log.committed
                )
            });
            self.log.committed = index.max(self.log.committed);
            return false;
        }
        let voters = snapshot.voters.clone();
        self.log.restore(snapshot);
        self.restore_config(&voters);
        let (last_index, last_term) = self.log.last();
        self.say(Level::Info, |r| {
            format!(
                "{:x} [commit: {}, lastindex: {last_index}, lastterm: {last_term}] restored snapshot [index: {index}, term: {term}]",
                r.config.id, r.log.committed
            )
        });
        true
    }
}
