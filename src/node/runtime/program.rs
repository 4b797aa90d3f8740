//! What a program in a container sees, and how it is written.

use super::http::{HttpRequest, HttpResponse};
use super::images::{Base, Repository};
use super::log::{Log, Stream};
use super::memory::Memory;
use super::signal::Signal;
use super::state::Watchers;
use crate::files::View;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use shell::process::{BrokenPipe, LocalFuture, Output, Process, Program};
use sim::sync::Notify;
use sim::{Addr, Conn, Ctx, Duration, Ip, NetError};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;

/// An image's own program: runs until it ends and gives its exit code. Dropping it is what SIGKILL does.
pub type OwnProgram = fn(Guest) -> LocalFuture<'static, i32>;

/// What a command in a container turns out to be.
#[derive(Clone)]
pub enum Runnable {
    /// The image's own.
    Own(OwnProgram),
    /// The shell or one of its tools.
    Tool(Program),
}

/// Signals that wait for a program at most.
const SIGNAL_BOUND: usize = 64;

/// A container as its programs see it.
pub struct Machine {
    /// Its host name.
    pub hostname: String,
    /// Its address.
    pub ip: Ip,
    /// Its files.
    pub files: Rc<View>,
    /// Its image.
    pub image: &'static Repository,
    /// The image's version.
    pub version: &'static str,
    /// What the image is built on.
    pub base: Base,
    /// Whose its programs are; 0 is root.
    pub user: u32,
    /// What its programs hold.
    pub memory: Memory,
    /// The processes that it sees.
    pub processes: Rc<Namespace>,
}

/// Processes that see each other: those of a container, and of the ephemeral ones whose target it is.
pub struct Namespace {
    /// The command line of process 1.
    pub command: Rc<str>,
    /// Signals to process 1.
    pub signals: Signals,
    /// The others.
    pub others: shell::Processes,
}

/// One process in a container.
pub struct Guest {
    /// The world.
    pub ctx: Ctx,
    /// What every program is started with.
    pub process: Process,
    /// Signals sent to it.
    pub signals: Signals,
    /// Its number, and the signals that other processes of the container send it.
    pub number: shell::Signals,
    /// The container.
    pub machine: Rc<Machine>,
}

impl Guest {
    /// Writes a line to standard output.
    pub fn say(&self, line: impl AsRef<str>) {
        write_line(&*self.process.stdout, line.as_ref());
    }
    /// Writes a line to standard error.
    pub fn warn(&self, line: impl AsRef<str>) {
        write_line(&*self.process.stderr, line.as_ref());
    }
    /// Serves HTTP on a port of the container until a signal of `stops` comes; the first answers each request.
    /// Gives the signal, or the error of listening.
    pub async fn serve(
        &self,
        port: u16,
        stops: &[Signal],
        answer: impl Fn(&HttpRequest) -> HttpResponse,
    ) -> Result<Signal, NetError> {
        let listener = self.ctx.listen_on(self.machine.ip, port)?;
        let stop = self.signals.wait_for(stops);
        futures_util::pin_mut!(stop);
        // The conversations run inside this future, so that they end with the program.
        let mut open = FuturesUnordered::new();
        loop {
            let next = {
                let accept = listener.accept();
                let ended = next_or_pending(&mut open);
                futures_util::pin_mut!(accept, ended);
                match select(stop.as_mut(), select(accept, ended)).await {
                    Either::Left((signal, _)) => return Ok(signal),
                    Either::Right((Either::Left((conn, _)), _)) => Some(conn?),
                    Either::Right((Either::Right(_), _)) => None,
                }
            };
            if let Some(conn) = next {
                open.push(converse(conn, &answer));
            }
        }
    }
    /// Sends one HTTP request from the container.
    pub async fn fetch(&self, addr: Addr, request: HttpRequest, patience: Duration) -> Result<HttpResponse, NetError> {
        fetch(&self.ctx, self.machine.ip, addr, request, patience).await
    }
}

async fn converse(conn: Conn, answer: &impl Fn(&HttpRequest) -> HttpResponse) {
    while let Ok(request) = conn.recv::<HttpRequest>().await {
        if conn.send(answer(&request)).is_err() {
            break;
        }
    }
}

/// Completes when one of `all` does; an empty set never.
async fn next_or_pending<F: Future>(all: &mut FuturesUnordered<F>) {
    if all.next().await.is_none() {
        std::future::pending::<()>().await;
    }
}

/// Sends one HTTP request from `source`.
pub async fn fetch(
    ctx: &Ctx,
    source: Ip,
    addr: Addr,
    request: HttpRequest,
    patience: Duration,
) -> Result<HttpResponse, NetError> {
    let exchange = async {
        let conn: Conn = ctx.connect_from(source, addr).await?;
        conn.send(HttpRequest { source, ..request })?;
        conn.recv::<HttpResponse>().await
    };
    ctx.timeout(patience, exchange).await.unwrap_or(Err(NetError::TimedOut))
}

/// Writes a line without waiting: a log always takes it, a full pipe loses it.
pub fn write_line(out: &dyn Output, line: &str) {
    let mut all = String::with_capacity(line.len() + 1);
    all.push_str(line);
    all.push('\n');
    let _ = out.write(all.as_bytes()).now_or_never();
}

/// Writes into a container's log.
pub struct LogOutput {
    /// The world's clock.
    pub ctx: Ctx,
    /// Which log.
    pub log: Rc<RefCell<Log>>,
    /// As which stream.
    pub stream: Stream,
    /// Who sees it at once.
    pub(super) watchers: Rc<Watchers>,
}

impl Output for LogOutput {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        self.log.borrow_mut().write(self.ctx.unix_nanos(), self.stream, bytes);
        self.watchers.tell(self.stream, bytes);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Hands what is written to a function.
pub struct SinkOutput<F>(pub F);

impl<F: Fn(&[u8])> Output for SinkOutput<F> {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        (self.0)(bytes);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Default)]
struct Sent {
    queue: RefCell<VecDeque<Signal>>,
    changed: Notify,
}

/// Signals on their way to a program. One that nobody waits for is ignored, as the first process of a container
/// ignores what it has no handler for.
#[derive(Clone, Default)]
pub struct Signals(Rc<Sent>);

impl Signals {
    /// Sends one.
    pub fn send(&self, signal: Signal) {
        let mut queue = self.0.queue.borrow_mut();
        if queue.len() >= SIGNAL_BOUND {
            queue.pop_front();
        }
        queue.push_back(signal);
        self.0.changed.notify();
    }
    /// Whether a signal waits that nobody took.
    pub fn waiting(&self) -> bool {
        !self.0.queue.borrow().is_empty()
    }
    /// The next signal.
    pub async fn next(&self) -> Signal {
        loop {
            let changed = self.0.changed.notified();
            if let Some(signal) = self.0.queue.borrow_mut().pop_front() {
                return signal;
            }
            changed.await;
        }
    }
    /// The next signal that is one of `these`; others are ignored.
    pub async fn wait_for(&self, these: &[Signal]) -> Signal {
        loop {
            let signal = self.next().await;
            if these.contains(&signal) {
                return signal;
            }
        }
    }
}
