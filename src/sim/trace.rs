//! What happened, for observers: bounded rings that nobody inside the world can read.

use crate::{Instant, ProcessId};
use std::collections::VecDeque;
use std::rc::Rc;

/// klog's severities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Severity {
    /// `I`
    Info,
    /// `W`
    Warning,
    /// `E`
    Error,
    /// `F`
    Fatal,
}

impl Severity {
    /// klog's letter.
    pub const fn letter(self) -> char {
        match self {
            Self::Info => 'I',
            Self::Warning => 'W',
            Self::Error => 'E',
            Self::Fatal => 'F',
        }
    }
}

/// One line of a component's log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// Its number in the world's log, without gaps.
    pub sequence: u64,
    /// When.
    pub at: Instant,
    /// Whose.
    pub process: ProcessId,
    /// The part of the process that wrote it ([`crate::Ctx::part`]); empty for the process as a whole.
    pub part: &'static str,
    /// How grave.
    pub severity: Severity,
    /// `file.go:123`, where the real component says it.
    pub place: &'static str,
    /// The message with its key=value pairs.
    pub text: Rc<str>,
}

/// A message put on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its number, without gaps.
    pub sequence: u64,
    /// When it was sent.
    pub at: Instant,
    /// The sender.
    pub from: ProcessId,
    /// The receiver.
    pub to: ProcessId,
    /// What it is, in the words of its sender (`""` if it didn't say).
    pub label: &'static str,
}

/// Anything else that an observer may want to see: a stage of a request, a start, a fault.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its number, without gaps.
    pub sequence: u64,
    /// When.
    pub at: Instant,
    /// The process it concerns, if one.
    pub process: Option<ProcessId>,
    /// What kind of thing happened.
    pub kind: &'static str,
    /// The particulars.
    pub detail: Rc<str>,
}

/// A ring that keeps the newest `bound` entries and counts all.
pub struct Ring<T> {
    entries: VecDeque<T>,
    bound: usize,
    total: u64,
}

impl<T> Ring<T> {
    /// An empty ring of at most `bound` entries.
    pub fn new(bound: usize) -> Self {
        Self { entries: VecDeque::new(), bound, total: 0 }
    }
    /// Adds what `make` builds from its sequence number.
    pub fn push(&mut self, make: impl FnOnce(u64) -> T) {
        if self.entries.len() >= self.bound {
            self.entries.pop_front();
        }
        self.entries.push_back(make(self.total));
        self.total += 1;
    }
    /// How many were ever added: the sequence number of the next.
    pub fn total(&self) -> u64 {
        self.total
    }
    /// The entries from sequence number `from` on, as far as they are kept.
    pub fn since(&self, from: u64) -> impl DoubleEndedIterator<Item = &T> {
        let first = self.total - self.entries.len() as u64;
        let skip = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        self.entries.range(skip.min(self.entries.len())..)
    }
}

/// Bounds: 20,000 log lines, 8,192 messages, 8,192 marks.
pub struct Trace {
    /// Log lines of all processes.
    pub logs: Ring<LogLine>,
    /// Messages on the network.
    pub messages: Ring<Message>,
    /// Marks.
    pub marks: Ring<Mark>,
    fingerprint: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            logs: Ring::new(20_000),
            messages: Ring::new(8_192),
            marks: Ring::new(8_192),
            fingerprint: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Trace {
    /// A hash over everything that was ever traced, for "same seed, same history".
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
    pub(crate) fn mix(&mut self, at: Instant, process: ProcessId, bytes: &[u8]) {
        // A word at a time: this runs for every message.
        let mut h = self.fingerprint ^ at.as_nanos();
        h = h.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(process.0);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            if let Some(part) = word.get_mut(..chunk.len()) {
                part.copy_from_slice(chunk);
            }
            h = (h.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        self.fingerprint = h;
    }
}
