//! The revisions that led to a write.

/// How many revisions are kept for one write; what came first is the most telling and stays.
pub const MAX_CAUSES: usize = 16;

/// A small set of store revisions, at most [`MAX_CAUSES`], in the order they arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Causes(Vec<u64>);

impl Causes {
    /// The cause that is one revision.
    pub fn of(revision: u64) -> Causes {
        Causes(vec![revision])
    }

    /// Adds a revision unless it is known or the set is full.
    pub fn insert(&mut self, revision: u64) {
        if self.0.len() < MAX_CAUSES && !self.0.contains(&revision) {
            self.0.push(revision);
        }
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: &Causes) {
        other.0.iter().for_each(|r| self.insert(*r));
    }

    /// The revisions, first to arrive first.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }
}
