//! Linearizable reads: a batch waits until Raft has confirmed the leader, then until the index is applied.

use super::{Caller, Member};
use crate::raft::ReadState;
use crate::rpc::{Error, RangeRequest, Response, Value};
use sim::{Duration, Instant};
use std::collections::VecDeque;

/// When a read index that was not confirmed is asked for again (etcd: readIndexRetryTime).
const RETRY: Duration = Duration::from_millis(500);

pub(super) struct Read {
    pub caller: Caller,
    pub since: Instant,
    pub kind: Kind,
}

pub(super) enum Kind {
    Range(Box<RangeRequest>),
    MemberList,
}

/// Reads by how far they are. Bounded together by [`super::clients::MAX_WAITING`].
#[derive(Default)]
pub(super) struct Reads {
    /// They go with the next batch.
    queued: Vec<Read>,
    /// The batch that Raft was asked about, by its number, and when.
    asked: Option<(u64, Instant, Vec<Read>)>,
    /// Confirmed at an index that is not applied yet.
    confirmed: VecDeque<(u64, Vec<Read>)>,
}

impl Reads {
    pub fn len(&self) -> usize {
        self.queued.len()
            + self.asked.as_ref().map_or(0, |(_, _, reads)| reads.len())
            + self.confirmed.iter().map(|(_, reads)| reads.len()).sum::<usize>()
    }
    fn take_expired(&mut self, now: Instant, timeout: Duration) -> Vec<Read> {
        let mut expired = Vec::new();
        let mut sift = |reads: &mut Vec<Read>| {
            let (old, young) = std::mem::take(reads).into_iter().partition(|r| r.since + timeout <= now);
            *reads = young;
            expired.extend::<Vec<Read>>(old);
        };
        sift(&mut self.queued);
        if let Some((_, _, reads)) = &mut self.asked {
            sift(reads);
        }
        self.confirmed.iter_mut().for_each(|(_, reads)| sift(reads));
        expired
    }
}

impl<V: Value> Member<V> {
    pub(super) fn queue_read(&self, read: Read) {
        self.with(|s| s.reads.queued.push(read));
        self.ask_reads();
        self.wake_sweeper();
    }
    /// Asks Raft about the reads that wait, one batch at a time.
    fn ask_reads(&self) {
        let now = self.ctx().now();
        let asked = self.with(|s| {
            if s.reads.asked.is_some() || s.reads.queued.is_empty() {
                return None;
            }
            let id = s.request_id();
            s.reads.asked = Some((id, now, std::mem::take(&mut s.reads.queued)));
            Some(s.raft.read_index(id))
        });
        if let Some(result) = asked {
            self.settle(result);
        }
    }
    pub(super) fn reads_confirmed(&self, states: &[ReadState]) {
        self.with(|s| {
            for state in states {
                let ours = s.reads.asked.as_ref().is_some_and(|(id, _, _)| *id == state.context);
                if ours && let Some((_, _, reads)) = s.reads.asked.take() {
                    s.reads.confirmed.push_back((state.index, reads));
                }
            }
        });
        self.answer_reads();
        self.ask_reads();
    }
    pub(super) fn answer_reads(&self) {
        loop {
            let due = self.with(|s| {
                let at = s.reads.confirmed.iter().position(|(index, _)| *index <= s.store.applied.0)?;
                s.reads.confirmed.remove(at)
            });
            let Some((_, reads)) = due else { return };
            for read in reads {
                let answer = match &read.kind {
                    Kind::Range(range) => self.range(range),
                    Kind::MemberList => Ok(Response::MemberList(self.0.config.members.clone())),
                };
                read.caller.answer(answer);
            }
        }
    }
    pub(super) fn range(&self, range: &RangeRequest) -> Result<Response<V>, Error> {
        let found = self.with(|s| Some((s.store.revision(), s.store.range(range))));
        let Some((revision, range)) = found else { return Err(Error::Stopped) };
        range.map(|range| Response::Range { revision, range })
    }
    /// The batch under way failed: the leader who was asked leads no more.
    pub(super) fn reads_leader_changed(&self) {
        let failed = self.with(|s| s.reads.asked.take());
        for read in failed.into_iter().flat_map(|(_, _, reads)| reads) {
            read.caller.answer::<V>(Err(Error::LeaderChanged));
        }
        self.ask_reads();
    }
    /// Ends reads whose time is over and asks again for the batch that nobody answered.
    pub(super) fn sweep_reads(&self, now: Instant) {
        let timeout = self.0.config.request_timeout();
        for read in self.with(|s| s.reads.take_expired(now, timeout)) {
            read.caller.answer::<V>(Err(Error::Timeout));
        }
        let again = self.with(|s| {
            let (id, since, reads) = s.reads.asked.as_mut()?;
            if reads.is_empty() {
                s.reads.asked = None;
                return None;
            }
            if *since + RETRY > now {
                return None;
            }
            *since = now;
            let id = *id;
            Some(s.raft.read_index(id))
        });
        if let Some(result) = again {
            self.settle(result);
        }
        self.ask_reads();
    }
}
