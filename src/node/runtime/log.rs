//! A container's log, as containerd's shim writes it: one entry a line, with time and stream.

use sim::sync::Notify;
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes of text that a container's log keeps; the oldest lines go (a kubelet rotates at 10 MiB).
pub const LOG_BYTES: usize = 512 << 10;
/// A line longer than this is written in parts, as containerd does.
pub const LINE_BYTES: usize = 16 << 10;

/// Where a line was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number in this log, from 0.
    pub number: u64,
    /// Wall time in nanoseconds since 1970.
    pub at: i64,
    /// Its stream.
    pub stream: Stream,
    /// The text without its newline.
    pub text: Rc<[u8]>,
    /// Whether the program ended it with a newline.
    pub whole: bool,
}

/// The lines of one run of a container.
#[derive(Default)]
pub struct Log {
    lines: VecDeque<Line>,
    bytes: usize,
    next: u64,
    out: Vec<u8>,
    err: Vec<u8>,
    closed: bool,
    changed: Notify,
}

impl Log {
    /// Takes what a program wrote at wall time `at`.
    pub fn write(&mut self, at: i64, stream: Stream, bytes: &[u8]) {
        if self.closed {
            return;
        }
        let mut pending = std::mem::take(self.pending(stream));
        pending.extend_from_slice(bytes);
        let mut rest = pending.as_slice();
        loop {
            let window = rest.get(..LINE_BYTES).unwrap_or(rest);
            if let Some(end) = window.iter().position(|&b| b == b'\n') {
                let (line, after) = rest.split_at(end);
                self.push(at, stream, line, true);
                rest = after.get(1..).unwrap_or_default();
            } else if window.len() == LINE_BYTES {
                self.push(at, stream, window, false);
                rest = rest.get(LINE_BYTES..).unwrap_or_default();
            } else {
                break;
            }
        }
        *self.pending(stream) = rest.to_vec();
        self.changed.notify();
    }

    /// The program ended: what was written without a newline is a line too.
    pub fn close(&mut self, at: i64) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(self.pending(stream));
            if !rest.is_empty() {
                self.push(at, stream, &rest, false);
            }
        }
        self.closed = true;
        self.changed.notify();
    }

    fn pending(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.out,
            Stream::Stderr => &mut self.err,
        }
    }

    fn push(&mut self, at: i64, stream: Stream, text: &[u8], whole: bool) {
        self.bytes += text.len() + 1;
        self.lines.push_back(Line { number: self.next, at, stream, text: text.into(), whole });
        self.next += 1;
        while self.bytes > LOG_BYTES {
            match self.lines.pop_front() {
                Some(old) => self.bytes = self.bytes.saturating_sub(old.text.len() + 1),
                None => break,
            }
        }
    }

    /// The lines from number `from` on, as far as they are kept.
    pub fn since(&self, from: u64) -> impl DoubleEndedIterator<Item = &Line> {
        let first = self.lines.front().map_or(self.next, |l| l.number);
        let skip = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX).min(self.lines.len());
        self.lines.range(skip..)
    }

    /// Whether no more will come.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The number of the next line.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Wakes at the next write or at the end.
    pub fn changed(&self) -> Notify {
        self.changed.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(log: &Log) -> Vec<String> {
        log.since(0).map(|l| format!("{:?} {} {}", l.stream, String::from_utf8_lossy(&l.text), l.whole)).collect()
    }

    #[test]
    fn lines_are_cut_at_newlines() {
        let mut log = Log::default();
        log.write(1, Stream::Stdout, b"a\nb");
        log.write(2, Stream::Stderr, b"oops\n");
        log.write(3, Stream::Stdout, b"c\n\nend");
        assert_eq!(texts(&log), ["Stdout a true", "Stderr oops true", "Stdout bc true", "Stdout  true"]);
        log.close(4);
        assert_eq!(texts(&log).last().map(String::as_str), Some("Stdout end false"));
        assert_eq!(log.since(3).count(), 2);
    }

    #[test]
    fn a_log_is_bounded() {
        let mut log = Log::default();
        for _ in 0..40 {
            log.write(0, Stream::Stdout, &[b'x'; LINE_BYTES + 3]);
        }
        assert!(log.lines.iter().map(|l| l.text.len()).sum::<usize>() <= LOG_BYTES);
        assert!(log.since(0).next().is_some_and(|l| l.number > 0));
    }
}
