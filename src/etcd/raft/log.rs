//! The replicated log of one member: a snapshot's place, the entries after it, and how far they are persisted,
//! committed and applied.

use super::types::{Entry, EntryData, Payload, Snapshot, StepError};
use std::collections::VecDeque;

/// The log. Indices: `offset` < ... `applied` <= `applying` <= `committed` <= last; `stable` <= last.
pub(super) struct Log<D> {
    entries: VecDeque<Entry<D>>,
    /// Their payloads' bytes.
    bytes: u64,
    /// Index and term of the entry before the first: what the last compaction or snapshot covers.
    offset: u64,
    offset_term: u64,
    /// Up to here the entries are on the disk.
    stable: u64,
    /// Up to here they have been handed out to be persisted.
    stabilizing: u64,
    /// A snapshot received and not yet persisted.
    pub pending_snapshot: Option<Snapshot>,
    /// That snapshot has been handed out.
    snapshot_in_progress: bool,
    pub committed: u64,
    pub applying: u64,
    pub applied: u64,
    /// Bytes of committed entries handed out at once, at most.
    max_applying_size: u64,
    applying_size: u64,
    applying_paused: bool,
    /// Lines for the log of findings, drained by the owner.
    pub notes: Vec<String>,
}

impl<D: Payload> Log<D> {
    /// A log that continues after `index`/`term` with entries already on the disk.
    pub fn new(index: u64, term: u64, entries: Vec<Entry<D>>, max_applying_size: u64) -> Self {
        let last = entries.last().map_or(index, |e| e.index);
        Self {
            bytes: entries.iter().map(Entry::payload_size).sum(),
            entries: entries.into(),
            offset: index,
            offset_term: term,
            stable: last,
            stabilizing: last,
            pending_snapshot: None,
            snapshot_in_progress: false,
            committed: index,
            applying: index,
            applied: index,
            max_applying_size,
            applying_size: 0,
            applying_paused: false,
            notes: Vec::new(),
        }
    }

    pub fn first_index(&self) -> u64 {
        self.offset + 1
    }
    pub fn last_index(&self) -> u64 {
        self.offset + self.entries.len() as u64
    }
    /// Index and term of the last entry.
    pub fn last(&self) -> (u64, u64) {
        self.entries.back().map_or((self.offset, self.offset_term), |e| (e.index, e.term))
    }
    /// The term of the entry at `index`; none where the log does not reach.
    pub fn term(&self, index: u64) -> Option<u64> {
        if index == self.offset {
            return Some(self.offset_term);
        }
        self.entries.get(usize::try_from(index.checked_sub(self.first_index())?).ok()?).map(|e| e.term)
    }
    pub fn match_term(&self, index: u64, term: u64) -> bool {
        self.term(index) == Some(term)
    }
    /// Whether a log that ends in `index`/`term` is at least as new as this one.
    pub fn is_up_to_date(&self, index: u64, term: u64) -> bool {
        let (our_index, our_term) = self.last();
        (term, index) >= (our_term, our_index)
    }

    /// Entries from `low` (which must not be compacted) up to `high` excluded, as many as fit `max_size` but at least
    /// one.
    fn slice(&self, low: u64, high: u64, max_size: u64) -> Vec<Entry<D>> {
        let mut size = 0u64;
        let skip = usize::try_from(low.saturating_sub(self.first_index())).unwrap_or(usize::MAX);
        let count = usize::try_from(high.saturating_sub(low)).unwrap_or(usize::MAX);
        let mut taken: Vec<Entry<D>> = Vec::new();
        for entry in self.entries.iter().skip(skip).take(count) {
            size = size.saturating_add(entry.size());
            if size > max_size && !taken.is_empty() {
                break;
            }
            taken.push(entry.clone());
        }
        taken
    }
    /// Entries from `low` on; none (not an empty list) if they are compacted.
    pub fn entries_from(&self, low: u64, max_size: u64) -> Option<Vec<Entry<D>>> {
        (low >= self.first_index()).then(|| self.slice(low, self.last_index() + 1, max_size))
    }
    /// Committed entries from `low` on, at most `count`.
    pub fn committed_entries(&self, low: u64, high: u64, count: usize) -> Vec<Entry<D>> {
        if low < self.first_index() {
            return Vec::new();
        }
        let high = high.min(self.committed).min(low.saturating_add(count as u64).saturating_sub(1));
        if high < low { Vec::new() } else { self.slice(low, high + 1, u64::MAX) }
    }
    /// Bytes of all entries held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// All entries on the disk.
    #[cfg(test)]
    pub fn stable_entries(&self) -> Vec<Entry<D>> {
        self.slice(self.first_index(), self.stable + 1, u64::MAX)
    }

    /// Appends at the end; what stood there in conflict is cut off. Returns the new last index.
    pub fn append(&mut self, entries: Vec<Entry<D>>) -> Result<u64, StepError> {
        let Some(first) = entries.first() else { return Ok(self.last_index()) };
        let after = first.index.saturating_sub(1);
        if after < self.committed {
            return Err(StepError::Fatal(format!("after({after}) is out of range [committed({})]", self.committed)));
        }
        if after < self.last_index() {
            self.notes.push(if after <= self.stable {
                format!("replace the unstable entries from index {}", first.index)
            } else {
                format!("truncate the unstable entries before index {}", first.index)
            });
        }
        let keep = usize::try_from(after.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        while self.entries.len() > keep {
            self.bytes -= self.entries.pop_back().map_or(0, |e| e.payload_size());
        }
        self.bytes += entries.iter().map(Entry::payload_size).sum::<u64>();
        self.stable = self.stable.min(after);
        self.stabilizing = self.stabilizing.min(after);
        self.entries.extend(entries);
        Ok(self.last_index())
    }

    /// A follower's append: nothing if the logs differ at `prev`, else the last index that now agrees.
    pub fn maybe_append(
        &mut self,
        prev: (u64, u64),
        mut entries: Vec<Entry<D>>,
        commit: u64,
    ) -> Result<Option<u64>, StepError> {
        if !self.match_term(prev.0, prev.1) {
            return Ok(None);
        }
        let last_new = prev.0 + entries.len() as u64;
        let conflict = entries.iter().position(|e| !self.match_term(e.index, e.term));
        if let Some(at) = conflict {
            let (index, term) = entries.get(at).map_or((0, 0), |e| (e.index, e.term));
            if index <= self.last_index() {
                self.notes.push(format!(
                    "found conflict at index {index} [existing term: {}, conflicting term: {term}]",
                    self.term(index).unwrap_or(0)
                ));
            }
            if index <= self.committed {
                return Err(StepError::Fatal(format!(
                    "entry {index} conflict with committed entry [committed({})]",
                    self.committed
                )));
            }
            entries.drain(..at);
            self.append(entries)?;
        }
        self.commit_to(commit.min(last_new))?;
        Ok(Some(last_new))
    }

    /// The highest index, at or below `index`, whose term is at most `term`, with its term: where a leader's probe may
    /// continue. The term is 0 where the log does not reach.
    pub fn find_conflict_by_term(&self, mut index: u64, term: u64) -> (u64, u64) {
        while index > 0 {
            match self.term(index) {
                None => return (index, 0),
                Some(ours) if ours <= term => return (index, ours),
                Some(_) => index -= 1,
            }
        }
        (0, 0)
    }

    pub fn commit_to(&mut self, index: u64) -> Result<(), StepError> {
        if self.committed < index {
            if self.last_index() < index {
                return Err(StepError::Fatal(format!(
                    "tocommit({index}) is out of range [lastIndex({})]. Was the raft log corrupted, truncated, or lost?",
                    self.last_index()
                )));
            }
            self.committed = index;
        }
        Ok(())
    }
    /// A leader commits only entries of its own term directly.
    pub fn maybe_commit(&mut self, index: u64, term: u64) -> Result<bool, StepError> {
        if term != 0 && index > self.committed && self.match_term(index, term) {
            self.commit_to(index)?;
            return Ok(true);
        }
        Ok(false)
    }

    // --- what is to be persisted

    fn first_unstable(&self) -> u64 {
        self.stabilizing.max(self.offset) + 1
    }
    pub fn has_next_unstable(&self) -> bool {
        self.last_index() >= self.first_unstable()
    }
    pub fn next_unstable(&self) -> Vec<Entry<D>> {
        self.slice(self.first_unstable(), self.last_index() + 1, u64::MAX)
    }
    pub fn has_unstable(&self) -> bool {
        self.last_index() > self.stable.max(self.offset)
    }
    pub fn has_pending_snapshot(&self) -> bool {
        self.pending_snapshot.is_some()
    }
    pub fn next_snapshot(&self) -> Option<&Snapshot> {
        if self.snapshot_in_progress { None } else { self.pending_snapshot.as_ref() }
    }
    pub fn accept_unstable(&mut self) {
        self.stabilizing = self.last_index();
        self.snapshot_in_progress = self.pending_snapshot.is_some();
    }
    /// The entries up to `index`/`term` are on the disk, unless they have been replaced meanwhile.
    pub fn stable_to(&mut self, index: u64, term: u64) {
        if self.match_term(index, term) {
            self.stable = self.stable.max(index);
        }
    }
    pub fn stable_snapshot_to(&mut self, index: u64) {
        if self.pending_snapshot.as_ref().is_some_and(|s| s.index == index) {
            self.pending_snapshot = None;
            self.snapshot_in_progress = false;
        }
    }

    // --- what is to be applied

    fn may_apply(&self) -> bool {
        !self.applying_paused && !self.has_pending_snapshot()
    }
    pub fn has_next_committed(&self) -> bool {
        self.may_apply() && self.applying < self.committed
    }
    pub fn next_committed(&self) -> Vec<Entry<D>> {
        if !self.has_next_committed() {
            return Vec::new();
        }
        let room = self.max_applying_size.saturating_sub(self.applying_size);
        self.slice(self.applying + 1, self.committed + 1, room)
    }
    pub fn accept_applying(&mut self, index: u64, size: u64) {
        self.applying = index;
        self.applying_size = self.applying_size.saturating_add(size);
        self.applying_paused = self.applying_size >= self.max_applying_size || index < self.committed;
    }
    pub fn applied_to(&mut self, index: u64, size: u64) -> Result<(), StepError> {
        if self.committed < index || index < self.applied {
            return Err(StepError::Fatal(format!(
                "applied({index}) is out of range [prevApplied({}), committed({})]",
                self.applied, self.committed
            )));
        }
        self.applied = index;
        self.applying = self.applying.max(index);
        self.applying_size = self.applying_size.saturating_sub(size);
        self.applying_paused = self.applying_size >= self.max_applying_size;
        Ok(())
    }
    /// Whether a committed configuration change still waits to be applied.
    pub fn has_unapplied_conf_change(&self) -> bool {
        let skip = usize::try_from((self.applied + 1).saturating_sub(self.first_index())).unwrap_or(usize::MAX);
        let count = usize::try_from(self.committed.saturating_sub(self.applied)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skip).take(count).any(|e| matches!(e.data, EntryData::Conf(_)))
    }

    /// Replaces everything by a received snapshot.
    pub fn restore(&mut self, snapshot: Snapshot) {
        self.notes.push(format!(
            "log [{}] starts to restore snapshot [index: {}, term: {}]",
            self.describe(),
            snapshot.index,
            snapshot.term
        ));
        self.committed = snapshot.index;
        self.entries.clear();
        self.bytes = 0;
        self.offset = snapshot.index;
        self.offset_term = snapshot.term;
        self.stable = snapshot.index;
        self.stabilizing = snapshot.index;
        self.snapshot_in_progress = false;
        self.pending_snapshot = Some(snapshot);
    }
    /// Forgets the entries up to `index`, which must be applied.
    pub fn compact(&mut self, index: u64) {
        let index = index.min(self.applied).min(self.stable);
        let Some(term) = self.term(index) else { return };
        let drop = usize::try_from(index.saturating_sub(self.offset)).unwrap_or(0).min(self.entries.len());
        self.bytes -= self.entries.drain(..drop).map(|e| e.payload_size()).sum::<u64>();
        self.offset = index;
        self.offset_term = term;
    }
    /// The lowest index after which there are at most `count` entries of at most `bytes` bytes up to `index`.
    pub fn keep_after(&self, index: u64, count: u64, bytes: u64) -> u64 {
        let upto = usize::try_from(index.saturating_sub(self.offset)).unwrap_or(0).min(self.entries.len());
        let (mut kept, mut size, mut at) = (0, 0u64, index);
        for entry in self.entries.range(..upto).rev() {
            kept += 1;
            size = size.saturating_add(entry.payload_size());
            if kept > count || size > bytes {
                break;
            }
            at = entry.index - 1;
        }
        at
    }
    fn describe(&self) -> String {
        let unstable = self.last_index() - self.stable.max(self.offset).min(self.last_index());
        format!(
            "committed={}, applied={}, applying={}, unstable.offset={}, unstable.offsetInProgress={}, len(unstable.Entries)={unstable}",
            self.committed,
            self.applied,
            self.applying,
            self.stable + 1,
            self.stabilizing + 1,
        )
    }
}
