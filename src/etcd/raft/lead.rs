//! What a leader does with a message: proposals, progress of the members, reads, handing over.

use super::core::Raft;
use super::progress::ProgressState;
use super::types::{ConfChange, EntryData, Level, Message, MessageKind, NONE, Payload, ReadState, StepError};

impl<D: Payload> Raft<D> {
    pub(super) fn step_leader(&mut self, m: Message<D>) -> Result<(), StepError> {
        match m.kind {
            MessageKind::Beat => {
                let context = self.read_only.last_context();
                self.broadcast_heartbeat(context);
                Ok(())
            }
            MessageKind::CheckQuorum => {
                if !self.tracker.quorum_active() {
                    self.say(Level::Warn, |r| {
                        format!("{:x} stepped down to follower since quorum is not active", r.config.id)
                    });
                    self.become_follower(self.term, NONE);
                }
                for (id, progress) in &mut self.tracker.members {
                    if *id != self.config.id {
                        progress.recent_active = false;
                    }
                }
                Ok(())
            }
            MessageKind::Prop => self.leader_propose(m),
            MessageKind::ReadIndex => {
                if self.tracker.is_singleton() {
                    let index = self.log.committed;
                    self.answer_read(m, index);
                } else if self.committed_in_current_term() {
                    self.confirm_read(m);
                } else {
                    self.pending_reads.push(m);
                }
                Ok(())
            }
            MessageKind::ForgetLeader => Ok(()),
            _ if !self.tracker.members.contains_key(&m.from) => {
                self.say(Level::Debug, |r| format!("{:x} no progress available for {:x}", r.config.id, m.from));
                Ok(())
            }
            MessageKind::AppResp => self.leader_append_response(&m),
            MessageKind::HeartbeatResp => self.leader_heartbeat_response(&m),
            MessageKind::SnapStatus => {
                self.leader_snapshot_status(&m);
                Ok(())
            }
            MessageKind::Unreachable => {
                if let Some(progress) = self.tracker.members.get_mut(&m.from) {
                    // Messages of the pipeline were probably lost.
                    if progress.state == ProgressState::Replicate {
                        progress.become_probe();
                    }
                }
                self.say(Level::Debug, |r| {
                    format!(
                        "{:x} failed to send message to {:x} because it is unreachable [{}]",
                        r.config.id,
                        m.from,
                        r.progress_text(m.from)
                    )
                });
                Ok(())
            }
            MessageKind::TransferLeader => self.leader_transfer(&m),
            _ => Ok(()),
        }
    }

    fn leader_propose(&mut self, mut m: Message<D>) -> Result<(), StepError> {
        // A leader that was removed from the group takes no proposals.
        if m.entries.is_empty() || !self.tracker.members.contains_key(&self.config.id) {
            return Err(StepError::ProposalDropped);
        }
        if self.lead_transferee != NONE {
            self.say(Level::Debug, |r| {
                format!(
                    "{:x} [term {}] transfer leadership to {:x} is in progress; dropping proposal",
                    r.config.id, r.term, r.lead_transferee
                )
            });
            return Err(StepError::ProposalDropped);
        }
        for (at, entry) in m.entries.iter_mut().enumerate() {
            let EntryData::Conf(change) = entry.data else { continue };
            if self.pending_conf_index > self.log.applied {
                self.say(Level::Info, |r| {
                    let (kind, id) = match change {
                        ConfChange::Add(id) => ("ConfChangeAddNode", id),
                        ConfChange::Remove(id) => ("ConfChangeRemoveNode", id),
                    };
                    let ids: Vec<String> = r.tracker.ids().iter().map(ToString::to_string).collect();
                    format!(
                        "{:x} ignoring conf change {{{kind} {id} [] 0}} at config voters=({}): possible unapplied conf change at index {} (applied to {})",
                        r.config.id,
                        ids.join(" "),
                        r.pending_conf_index,
                        r.log.applied
                    )
                });
                entry.data = EntryData::Empty;
            } else {
                self.pending_conf_index = self.log.last_index() + at as u64 + 1;
            }
        }
        if !self.append_entries(m.entries)? {
            return Err(StepError::ProposalDropped);
        }
        self.broadcast_append()
    }

    fn leader_append_response(&mut self, m: &Message<D>) -> Result<(), StepError> {
        let own = m.from == self.config.id;
        let Some(progress) = self.tracker.members.get_mut(&m.from) else { return Ok(()) };
        progress.recent_active = true;
        if m.reject {
            self.say(Level::Debug, |r| {
                format!(
                    "{:x} received MsgAppResp(rejected, hint: (index {}, term {})) from {:x} for index {}",
                    r.config.id, m.reject_hint, m.log_term, m.from, m.index
                )
            });
            // Skip, in one step, the entries that cannot agree: those of terms beyond the follower's.
            let hint = if m.log_term > 0 {
                self.log.find_conflict_by_term(m.reject_hint, m.log_term).0
            } else {
                m.reject_hint
            };
            let Some(progress) = self.tracker.members.get_mut(&m.from) else { return Ok(()) };
            if progress.maybe_decrease(m.index, hint) {
                self.say(Level::Debug, |r| {
                    format!("{:x} decreased progress of {:x} to [{}]", r.config.id, m.from, r.progress_text(m.from))
                });
                if let Some(progress) = self.tracker.members.get_mut(&m.from)
                    && progress.state == ProgressState::Replicate
                {
                    progress.become_probe();
                }
                self.send_append(m.from)?;
            }
            return Ok(());
        }
        let news =
            progress.maybe_update(m.index) || (progress.matched == m.index && progress.state == ProgressState::Probe);
        if !news {
            return Ok(());
        }
        match progress.state {
            ProgressState::Probe => progress.become_replicate(),
            ProgressState::Snapshot if progress.matched + 1 >= self.log.first_index() => {
                self.say(Level::Debug, |r| {
                    format!(
                        "{:x} recovered from needing snapshot, resumed sending replication messages to {:x} [{}]",
                        r.config.id,
                        m.from,
                        r.progress_text(m.from)
                    )
                });
                if let Some(progress) = self.tracker.members.get_mut(&m.from) {
                    progress.become_probe();
                    progress.become_replicate();
                }
            }
            ProgressState::Snapshot => {}
            ProgressState::Replicate => progress.free_inflights(m.index),
        }
        if self.maybe_commit()? {
            self.release_pending_reads();
            self.broadcast_append()?;
        } else if !own && self.tracker.members.get(&m.from).is_some_and(|p| p.can_bump_commit(self.log.committed)) {
            self.send_append(m.from)?;
        }
        // The answer may have made room for more than one message.
        if !own {
            while self.maybe_send_append(m.from, false)? {}
        }
        let matched = self.tracker.members.get(&m.from).map_or(0, |p| p.matched);
        if m.from == self.lead_transferee && matched == self.log.last_index() {
            self.say(Level::Info, |r| {
                format!("{:x} sent MsgTimeoutNow to {:x} after received MsgAppResp", r.config.id, m.from)
            });
            self.send(Message::new(MessageKind::TimeoutNow, m.from));
        }
        Ok(())
    }

    fn leader_heartbeat_response(&mut self, m: &Message<D>) -> Result<(), StepError> {
        let Some(progress) = self.tracker.members.get_mut(&m.from) else { return Ok(()) };
        progress.recent_active = true;
        progress.paused = false;
        if progress.matched < self.log.last_index() || progress.state == ProgressState::Probe {
            self.send_append(m.from)?;
        }
        if m.context == 0 {
            return Ok(());
        }
        let confirmed =
            self.read_only.ack(m.from, m.context).is_some_and(|acks| self.tracker.has_quorum(|id| acks.contains(&id)));
        if confirmed {
            for pending in self.read_only.advance(m.context) {
                self.answer_read(pending.request, pending.index);
            }
        }
        Ok(())
    }

    fn leader_snapshot_status(&mut self, m: &Message<D>) {
        let Some(progress) = self.tracker.members.get_mut(&m.from) else { return };
        if progress.state != ProgressState::Snapshot {
            return;
        }
        if m.reject {
            progress.pending_snapshot = 0;
        }
        progress.become_probe();
        // Wait for its answer or the next heartbeat's before sending more.
        let verdict = if m.reject { "failed" } else { "succeeded" };
        self.say(Level::Debug, |r| {
            format!(
                "{:x} snapshot {verdict}, resumed sending replication messages to {:x} [{}]",
                r.config.id,
                m.from,
                r.progress_text(m.from)
            )
        });
        if let Some(progress) = self.tracker.members.get_mut(&m.from) {
            progress.paused = true;
        }
    }

    fn leader_transfer(&mut self, m: &Message<D>) -> Result<(), StepError> {
        let to = m.from;
        if self.lead_transferee != NONE {
            if self.lead_transferee == to {
                self.say(Level::Info, |r| {
                    format!(
                        "{:x} [term {}] transfer leadership to {to:x} is in progress, ignores request to same node {to:x}",
                        r.config.id, r.term
                    )
                });
                return Ok(());
            }
            let previous = std::mem::replace(&mut self.lead_transferee, NONE);
            self.say(Level::Info, |r| {
                format!("{:x} [term {}] abort previous transferring leadership to {previous:x}", r.config.id, r.term)
            });
        }
        if to == self.config.id {
            self.say(Level::Debug, |r| {
                format!("{:x} is already leader. Ignored transferring leadership to self", r.config.id)
            });
            return Ok(());
        }
        self.say(Level::Info, |r| {
            format!("{:x} [term {}] starts to transfer leadership to {to:x}", r.config.id, r.term)
        });
        // It must be over within one election timeout.
        self.election_elapsed = 0;
        self.lead_transferee = to;
        if self.tracker.members.get(&to).is_some_and(|p| p.matched == self.log.last_index()) {
            self.send(Message::new(MessageKind::TimeoutNow, to));
            self.say(Level::Info, |r| {
                format!(
                    "{:x} sends MsgTimeoutNow to {to:x} immediately as {to:x} already has up-to-date log",
                    r.config.id
                )
            });
        } else {
            self.send_append(to)?;
        }
        Ok(())
    }

    // --- reads

    fn committed_in_current_term(&self) -> bool {
        self.log.term(self.log.committed).unwrap_or(0) == self.term
    }
    fn answer_read(&mut self, request: Message<D>, index: u64) {
        let context = request.context;
        if request.from == NONE || request.from == self.config.id {
            self.read_states.push(ReadState { index, context });
        } else {
            self.send(Message { index, context, ..Message::new(MessageKind::ReadIndexResp, request.from) });
        }
    }
    fn confirm_read(&mut self, request: Message<D>) {
        let context = request.context;
        self.read_only.add(self.log.committed, request, self.config.id);
        self.broadcast_heartbeat(context);
    }
    fn release_pending_reads(&mut self) {
        if !self.pending_reads.is_empty() && self.committed_in_current_term() {
            for request in std::mem::take(&mut self.pending_reads) {
                self.confirm_read(request);
            }
        }
    }
}
