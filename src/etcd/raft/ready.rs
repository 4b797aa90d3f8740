//! What a member wants done, and the word that it is.

use super::core::Raft;
use super::types::{
    Entry, HardState, Level, Message, MessageKind, Payload, ReadState, Role, Snapshot, SoftState, StepError,
};

/// What is to be done, in this order: send `messages` whenever it suits; persist `entries`, `hard_state` and `snapshot`
/// (with fsync if `must_sync`); send `messages_after_append`; apply `committed_entries`; then [`Raft::advance`].
#[derive(Clone, Debug)]
pub struct Ready<D> {
    /// The soft state, if it changed.
    pub soft_state: Option<SoftState>,
    /// The hard state, if it changed.
    pub hard_state: Option<HardState>,
    /// Reads that may be answered once their index is applied.
    pub read_states: Vec<ReadState>,
    /// Entries to persist; they replace what stands at and after their first index.
    pub entries: Vec<Entry<D>>,
    /// A snapshot to persist and to restore the state machine from.
    pub snapshot: Option<Snapshot>,
    /// Entries to apply, in order.
    pub committed_entries: Vec<Entry<D>>,
    /// Messages that depend on nothing above.
    pub messages: Vec<Message<D>>,
    /// Messages that say that something above is persisted.
    pub messages_after_append: Vec<Message<D>>,
    /// Whether what is persisted must be synced before going on.
    pub must_sync: bool,
}

/// What was handed out and not yet confirmed.
pub(super) struct Accepted<D> {
    pub soft: Option<SoftState>,
    pub hard: HardState,
    outstanding: bool,
    to_self: Vec<Message<D>>,
    term: u64,
    stable: Option<(u64, u64)>,
    snapshot: Option<u64>,
    applied: Option<(u64, u64, u64)>,
}

impl<D> Default for Accepted<D> {
    fn default() -> Self {
        Self {
            soft: None,
            hard: HardState::default(),
            outstanding: false,
            to_self: Vec::new(),
            term: 0,
            stable: None,
            snapshot: None,
            applied: None,
        }
    }
}

impl<D: Payload> Raft<D> {
    /// Whether [`Raft::ready`] would have something. False while a handed-out one waits for [`Raft::advance`].
    pub fn has_ready(&self) -> bool {
        !self.accepted.outstanding
            && (self.accepted.soft != Some(self.soft_state())
                || self.accepted.hard != self.hard_state()
                || self.log.next_snapshot().is_some()
                || !self.messages.is_empty()
                || !self.messages_after_append.is_empty()
                || self.log.has_next_unstable()
                || self.log.has_next_committed()
                || !self.read_states.is_empty())
    }

    /// Hands out what is to be done. One at a time: [`Raft::advance`] must follow; messages may be stepped meanwhile.
    pub fn ready(&mut self) -> Ready<D> {
        let soft = self.soft_state();
        let hard = self.hard_state();
        let own = self.config.id;
        let (to_self, to_others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.messages_after_append).into_iter().partition(|m| m.to == own);
        let ready = Ready {
            soft_state: (self.accepted.soft != Some(soft)).then_some(soft),
            hard_state: (self.accepted.hard != hard).then_some(hard),
            read_states: std::mem::take(&mut self.read_states),
            entries: self.log.next_unstable(),
            snapshot: self.log.next_snapshot().cloned(),
            committed_entries: self.log.next_committed(),
            messages: std::mem::take(&mut self.messages),
            messages_after_append: to_others,
            must_sync: false,
        };
        let must_sync =
            !ready.entries.is_empty() || hard.vote != self.accepted.hard.vote || hard.term != self.accepted.hard.term;
        self.accepted.outstanding = true;
        self.accepted.soft = Some(soft);
        self.accepted.hard = hard;
        self.accepted.to_self = to_self;
        self.accepted.term = self.term;
        self.accepted.stable = self.log.has_unstable().then(|| self.log.last());
        self.accepted.snapshot = ready.snapshot.as_ref().map(|s| s.index);
        self.log.accept_unstable();
        self.accepted.applied = ready.committed_entries.last().map(|last| {
            let size = ready.committed_entries.iter().map(Entry::size).sum();
            let payload = ready.committed_entries.iter().map(Entry::payload_size).sum();
            (last.index, size, payload)
        });
        if let Some((index, size, _)) = self.accepted.applied {
            self.log.accept_applying(index, size);
        }
        Ready { must_sync, ..ready }
    }

    /// What the last [`Raft::ready`] asked for is done.
    ///
    /// # Errors
    /// Only [`StepError::Fatal`].
    pub fn advance(&mut self) -> Result<(), StepError> {
        self.accepted.outstanding = false;
        for message in std::mem::take(&mut self.accepted.to_self) {
            if let Err(e @ StepError::Fatal(_)) = self.step_unchecked(message) {
                return Err(e);
            }
        }
        let stable = self.accepted.stable.take();
        if let Some((index, term)) = stable {
            // Entries persisted under an old term may have been replaced meanwhile; the next round settles them.
            if self.accepted.term < self.term {
                self.say(Level::Info, |r| {
                    format!(
                        "{:x} [term: {}] ignored entry appends from a MsgStorageAppendResp message with lower term [term: {}]",
                        r.config.id, r.term, r.accepted.term
                    )
                });
            } else {
                self.log.stable_to(index, term);
            }
        }
        if let Some(index) = self.accepted.snapshot.take() {
            self.log.stable_snapshot_to(index);
            let applied = self.log.applied.max(index);
            self.log.applied_to(applied, 0)?;
        }
        if let Some((index, size, payload)) = self.accepted.applied.take() {
            self.log.applied_to(self.log.applied.max(index), size)?;
            self.uncommitted_size = self.uncommitted_size.saturating_sub(payload);
        }
        Ok(())
    }

    /// Whether this member leads and has committed an entry of its own term: it knows all that is committed.
    pub fn leads_with_commit(&self) -> bool {
        self.role == Role::Leader && self.log.term(self.log.committed) == Some(self.term)
    }
}

impl<D> Message<D> {
    /// Whether it carries a snapshot, whose sending must be reported.
    pub fn is_snapshot(&self) -> bool {
        self.kind == MessageKind::Snap
    }
}
