//! A pseudo-terminal: what is typed becomes lines, ends of input and signals, as the kernel's line discipline makes
//! them (termios(3) with ICANON, ISIG, ICRNL and ONLCR). It does not echo: the terminal in front of it shows what is
//! typed, a line at a time.

use crate::process::{BrokenPipe, Input, LocalFuture, Output, PIPE_BYTES};
use crate::signals::Signals;
use sim::sync::Notify;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Ctrl+C.
pub const INTERRUPT: u8 = 0x03;
/// Ctrl+D.
pub const END: u8 = 0x04;
/// Ctrl+\.
pub const QUIT: u8 = 0x1c;

/// Bytes of a line; what is typed beyond is lost, as in Linux.
const LINE_BYTES: usize = 4096;
/// Signals that wait for the program that runs, at most.
const SIGNALS: usize = 16;

#[derive(Default)]
struct State {
    /// The line that is being typed.
    line: RefCell<Vec<u8>>,
    /// What can be read: lines, and nothing for each end of input.
    ready: RefCell<VecDeque<Rc<[u8]>>>,
    bytes: Cell<usize>,
    hung_up: Cell<bool>,
    changed: Notify,
    /// Shells that read from it, the one in front last. Bounded by how deep shells nest.
    shells: RefCell<Vec<Signals>>,
    /// For the program that no shell has started.
    signals: RefCell<VecDeque<&'static str>>,
    signalled: Notify,
}

/// The terminal: programs read from it as their [`Input`]; clones are the same one.
#[derive(Clone, Default)]
pub struct Tty(Rc<State>);

impl Tty {
    /// Keys.
    pub fn keys(&self, bytes: &[u8]) {
        for byte in bytes {
            self.key(*byte);
        }
        self.0.changed.notify();
    }
    fn key(&self, byte: u8) {
        let line = &self.0.line;
        match byte {
            INTERRUPT | QUIT => {
                line.borrow_mut().clear();
                self.0.ready.borrow_mut().clear();
                self.0.bytes.set(0);
                self.signal(if byte == INTERRUPT { "INT" } else { "QUIT" });
            }
            END => self.push(line.take()),
            b'\r' | b'\n' => {
                line.borrow_mut().push(b'\n');
                self.push(line.take());
            }
            byte if line.borrow().len() + 1 < LINE_BYTES => line.borrow_mut().push(byte),
            _ => {}
        }
    }
    fn push(&self, line: Vec<u8>) {
        let bytes = self.0.bytes.get() + line.len();
        if bytes <= PIPE_BYTES && self.0.ready.borrow().len() < PIPE_BYTES {
            self.0.bytes.set(bytes);
            self.0.ready.borrow_mut().push_back(line.into());
        }
    }
    /// The terminal in front of it is gone, or shows it anew (`HUP`, `WINCH`), or a key stands for a signal.
    pub fn signal(&self, name: &'static str) {
        if let Some(shell) = self.0.shells.borrow().last() {
            return shell.send(name);
        }
        let mut signals = self.0.signals.borrow_mut();
        if name != "WINCH" && signals.len() < SIGNALS {
            signals.push_back(name);
            self.0.signalled.notify();
        }
    }
    /// No more keys come.
    pub fn hang_up(&self) {
        self.0.hung_up.set(true);
        self.0.changed.notify();
    }
    /// The next signal to a program that is not under a shell which reads from this terminal.
    pub async fn next_signal(&self) -> &'static str {
        loop {
            let signal = self.0.signals.borrow_mut().pop_front();
            if let Some(signal) = signal {
                return signal;
            }
            self.0.signalled.notified().await;
        }
    }
}

impl Input for Tty {
    fn read(&self) -> LocalFuture<'_, Option<Rc<[u8]>>> {
        Box::pin(async move {
            loop {
                let line = self.0.ready.borrow_mut().pop_front();
                if let Some(line) = line {
                    self.0.bytes.set(self.0.bytes.get().saturating_sub(line.len()));
                    return (!line.is_empty()).then_some(line);
                }
                if self.0.hung_up.get() {
                    return None;
                }
                self.0.changed.notified().await;
            }
        })
    }
    fn read_line(&self) -> LocalFuture<'_, Option<String>> {
        // What can be read is a line already.
        Box::pin(async move { self.read().await.map(|line| String::from_utf8_lossy(&line).into_owned()) })
    }
    fn is_terminal(&self) -> bool {
        true
    }
    fn enter(&self, shell: &Signals) {
        self.0.shells.borrow_mut().push(shell.clone());
    }
    fn leave(&self, shell: &Signals) {
        self.0.shells.borrow_mut().retain(|other| !other.same(shell));
    }
}

/// Output to a terminal: a newline also returns to the line's start.
pub struct TtyOutput(pub Rc<dyn Output>);

impl Output for TtyOutput {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        Box::pin(async move {
            let mut out = Vec::with_capacity(bytes.len() + 8);
            for byte in bytes {
                if *byte == b'\n' {
                    out.push(b'\r');
                }
                out.push(*byte);
            }
            self.0.write(&out).await
        })
    }
    fn is_terminal(&self) -> bool {
        true
    }
}
