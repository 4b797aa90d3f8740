//! Which locals of a function a later operator may still read.

use crate::body::{Body, Exit, Region};
use std::collections::BTreeMap;
use wasmparser::Operator;

/// A set of locals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Locals(Vec<u64>);

impl Locals {
    /// None of so many.
    pub fn none(number: usize) -> Locals {
        Locals(vec![0; number.div_ceil(64)])
    }

    /// Adds one.
    pub fn insert(&mut self, local: u32) {
        if let Some(word) = self.0.get_mut(local as usize / 64) {
            *word |= 1 << (local % 64);
        }
    }

    fn remove(&mut self, local: u32) {
        if let Some(word) = self.0.get_mut(local as usize / 64) {
            *word &= !(1 << (local % 64));
        }
    }

    /// Whether it is there.
    pub fn contains(&self, local: u32) -> bool {
        self.0.get(local as usize / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
    }

    /// Adds those of another set.
    pub fn extend(&mut self, other: &Locals) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.0.len() as u32 * 64).filter(|local| self.contains(*local))
    }
}

/// What is read later, seen from both ends of a region.
#[derive(Debug, Default)]
pub struct Seen {
    /// In the region or behind it.
    pub before: Locals,
    /// Behind it, wherever it goes on.
    pub after: Locals,
}

/// For each region of a body, by its first operator.
pub fn seen(body: &Body<'_>, regions: &[Region]) -> BTreeMap<usize, Seen> {
    let none = Locals::none(body.locals.len());
    let by_start = regions.iter().map(|region| (region.operators.start, region)).collect();
    let mut pass = Pass { body, regions: by_start, heads: BTreeMap::new(), seen: BTreeMap::new(), none };
    let out = pass.none.clone();
    // The last operator is the function's own `end`.
    pass.sequence(0, body.operators.len() - 1, &out, &mut vec![out.clone()]);
    pass.seen
}

/// Goes backwards through a body, round its loops until nothing more is found.
struct Pass<'b, 'a> {
    body: &'b Body<'a>,
    regions: BTreeMap<usize, &'b Region>,
    /// What is read from the head of each loop on, as far as is known.
    heads: BTreeMap<usize, Locals>,
    seen: BTreeMap<usize, Seen>,
    none: Locals,
}

impl Pass<'_, '_> {
    /// What is read from `start` on, where `out` is read behind `end`, and `labels` where branches go.
    fn sequence(&mut self, start: usize, end: usize, out: &Locals, labels: &mut Vec<Locals>) -> Locals {
        let mut live = out.clone();
        let mut at = end;
        let label = |labels: &[Locals], depth: u32| labels[labels.len() - 1 - depth as usize].clone();
        while at > start {
            at -= 1;
            match &self.body.operators[at] {
                Operator::End => {
                    let opened = self.body.partner[&at];
                    live = self.construct(opened, at, &live, labels);
                    at = opened;
                }
                Operator::LocalGet { local_index } => live.insert(*local_index),
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => live.remove(*local_index),
                Operator::Br { relative_depth } => live = label(labels, *relative_depth),
                Operator::BrIf { relative_depth } => live.extend(&label(labels, *relative_depth)),
                Operator::BrTable { targets } => {
                    live = label(labels, targets.default());
                    for target in targets.targets().flatten() {
                        live.extend(&label(labels, target));
                    }
                }
                Operator::Return | Operator::Unreachable => live = self.none.clone(),
                _ => {}
            }
            if let Some(region) = self.regions.get(&at) {
                let mut after = self.none.clone();
                for (exit, _) in &region.exits {
                    match exit {
                        Exit::Through => after.extend(out),
                        Exit::Label(depth) => after.extend(&label(labels, *depth)),
                    }
                }
                self.seen.insert(at, Seen { before: live.clone(), after });
            }
        }
        live
    }

    fn construct(&mut self, opened: usize, end: usize, after: &Locals, labels: &mut Vec<Locals>) -> Locals {
        match &self.body.operators[opened] {
            Operator::Loop { .. } => {
                let mut head = self.heads.get(&opened).unwrap_or(&self.none).clone();
                loop {
                    labels.push(head.clone());
                    let mut again = self.sequence(opened + 1, end, after, labels);
                    labels.pop();
                    again.extend(&head);
                    if again == head {
                        return head;
                    }
                    self.heads.insert(opened, again.clone());
                    head = again;
                }
            }
            Operator::If { .. } => {
                let otherwise = self.body.otherwise.get(&opened).copied();
                labels.push(after.clone());
                let mut live = self.sequence(opened + 1, otherwise.unwrap_or(end), after, labels);
                match otherwise {
                    Some(otherwise) => live.extend(&self.sequence(otherwise + 1, end, after, labels)),
                    None => live.extend(after),
                }
                labels.pop();
                live
            }
            _ => {
                labels.push(after.clone());
                let live = self.sequence(opened + 1, end, after, labels);
                labels.pop();
                live
            }
        }
    }
}
