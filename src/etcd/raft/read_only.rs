//! Read requests that wait for a majority to confirm the leader.

use super::types::{Message, NodeId};
use std::collections::{BTreeSet, VecDeque};

pub(super) struct Pending<D> {
    pub request: Message<D>,
    /// The commit index when the request came.
    pub index: u64,
    acks: BTreeSet<NodeId>,
}

/// Requests in the order in which they came. Bounded by what the member lets through: one batch at a time each.
pub(super) struct ReadOnly<D> {
    queue: VecDeque<Pending<D>>,
}

impl<D> ReadOnly<D> {
    pub fn new() -> Self {
        Self { queue: VecDeque::new() }
    }
    pub fn add(&mut self, index: u64, request: Message<D>, own: NodeId) {
        if self.queue.iter().any(|p| p.request.context == request.context) {
            return;
        }
        self.queue.push_back(Pending { request, index, acks: BTreeSet::from([own]) });
    }
    /// `from` confirmed the leader for `context`; who has, up to now.
    pub fn ack(&mut self, from: NodeId, context: u64) -> Option<&BTreeSet<NodeId>> {
        let pending = self.queue.iter_mut().find(|p| p.request.context == context)?;
        pending.acks.insert(from);
        Some(&pending.acks)
    }
    /// Takes the request `context` and all before it: what confirms it confirms them.
    pub fn advance(&mut self, context: u64) -> Vec<Pending<D>> {
        match self.queue.iter().position(|p| p.request.context == context) {
            Some(at) => self.queue.drain(..=at).collect(),
            None => Vec::new(),
        }
    }
    pub fn last_context(&self) -> u64 {
        self.queue.back().map_or(0, |p| p.request.context)
    }
}
