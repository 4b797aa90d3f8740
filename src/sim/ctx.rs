use crate::disk::Disk;
use crate::net::{Addr, Conn, Ip, Listener, NetError, Network};
use crate::sim::Inner;
use crate::timers::{Action, Timer, TimerKey};
use crate::trace::LogLine;
use crate::{Duration, Instant, ProcessId, Rng, Severity};
use futures_channel::oneshot;
use futures_util::FutureExt;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A process' view of the world: its only source of time, randomness, concurrency, network and disk.
#[derive(Clone)]
pub struct Ctx {
    pub(crate) inner: Rc<Inner>,
    pub(crate) process: ProcessId,
    pub(crate) part: &'static str,
}

impl Ctx {
    /// The same view for a part of the process, whose log lines say so: a controller of its manager.
    pub fn part(&self, part: &'static str) -> Ctx {
        Ctx { part, ..self.clone() }
    }
    /// This process.
    pub fn process(&self) -> ProcessId {
        self.process
    }
    /// This process' name.
    pub fn process_name(&self) -> Rc<str> {
        self.inner.process_name(self.process)
    }
    /// The name of the machine it runs on.
    pub fn host_name(&self) -> Rc<str> {
        let host = self.inner.host_of(self.process);
        self.inner.hosts.borrow().get(host.0 as usize).map_or_else(|| "".into(), |h| h.name.clone())
    }
    /// The address of the machine it runs on.
    pub fn host_ip(&self) -> Ip {
        let host = self.inner.host_of(self.process);
        self.inner.hosts.borrow().get(host.0 as usize).map_or(Ip(0), |h| h.ip)
    }

    // Time

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.inner.now.get()
    }
    /// The wall clock in nanoseconds since 1970.
    pub fn unix_nanos(&self) -> i64 {
        self.inner.unix_nanos()
    }
    /// Completes `time` from now.
    pub fn sleep(&self, time: Duration) -> Sleep {
        self.sleep_until(self.now() + time)
    }
    /// Completes at `deadline`.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep { inner: self.inner.clone(), process: self.process, deadline, key: None, label: None }
    }
    /// `future`, unless `time` passes first.
    pub async fn timeout<F: Future>(&self, time: Duration, future: F) -> Result<F::Output, Elapsed> {
        let mut sleep = self.sleep(time);
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(out) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(out));
            }
            Pin::new(&mut sleep).poll(cx).map(|()| Err(Elapsed))
        })
        .await
    }
    /// Lets the other runnable tasks run first.
    pub async fn yield_now(&self) {
        let mut yielded = false;
        std::future::poll_fn(|cx| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    // Tasks

    /// Runs `future` as a task of this process. It goes on when the handle is dropped and ends with the process.
    pub fn spawn<F: Future + 'static>(&self, name: &'static str, future: F) -> JoinHandle<F::Output> {
        let (tx, rx) = oneshot::channel();
        if !self.inner.alive(self.process) {
            return JoinHandle { ctx: self.clone(), id: 0, result: rx };
        }
        let (inner, process) = (self.inner.clone(), self.process);
        // Not an async block, which would have room for the future twice: as what it captures and as what it awaits.
        let id = self.inner.executor.spawn(self.process, name, |id| {
            Box::pin(future.map(move |out| {
                let _ = tx.send(out);
                inner.executor.finished(process, id);
            }))
        });
        JoinHandle { ctx: self.clone(), id, result: rx }
    }
    /// Ends this process now, as exit(3) would. The calling task stops at its next await.
    pub fn exit(&self) {
        crate::Sim { inner: self.inner.clone() }.end(self.process, "exited");
    }
    /// Completes when the process got SIGTERM. Calling it says that the process handles the signal.
    pub fn terminated(&self) -> Terminated {
        if let Some(p) = self.inner.processes.borrow_mut().get_mut(self.process.0 as usize) {
            p.handles_term = true;
        }
        Terminated { inner: self.inner.clone(), process: self.process }
    }

    // Randomness

    /// A stream of randomness of this run of the process. Who asks again gets another one, so that two draws differ.
    pub fn rng(&self, stream: &str) -> Rng {
        self.inner.rng(self.process, stream)
    }

    // Network and disk

    /// Listens on `port` of this machine.
    pub fn listen(&self, port: u16) -> Result<Listener, NetError> {
        Network::listen(self, self.host_ip(), port)
    }
    /// Listens on `port` of an address that was added to this machine.
    pub fn listen_on(&self, ip: Ip, port: u16) -> Result<Listener, NetError> {
        Network::listen(self, ip, port)
    }
    /// Makes this machine answer for `ip` too; false if somebody does already. Power-off takes it away.
    pub fn add_address(&self, ip: Ip) -> bool {
        self.inner.network.borrow_mut().add_address(ip, self.inner.host_of(self.process))
    }
    /// Takes back what [`Ctx::add_address`] did; listeners there close.
    pub fn remove_address(&self, ip: Ip) {
        Network::remove_address(&self.inner, ip, self.inner.host_of(self.process));
    }
    /// Connects to `addr`; gives up after 30 seconds, as Go's default dialer does.
    pub async fn connect(&self, addr: Addr) -> Result<Conn, NetError> {
        self.connect_from(self.host_ip(), addr).await
    }
    /// As [`Ctx::connect`], from another address of this machine.
    pub async fn connect_from(&self, source: Ip, addr: Addr) -> Result<Conn, NetError> {
        Network::connect(self, source, addr, Duration::from_secs(30)).await
    }
    /// The disk of this machine.
    pub fn disk(&self) -> Disk {
        self.inner.disk(self.process)
    }

    // Trace

    /// Writes one line of this process' log. `place` is `file.go:123` of the real component.
    pub fn log(&self, severity: Severity, place: &'static str, text: impl Into<Rc<str>>) {
        let (at, process, part, text) = (self.now(), self.process, self.part, text.into());
        let mut trace = self.inner.trace.borrow_mut();
        trace.mix(at, process, text.as_bytes());
        trace.logs.push(|sequence| LogLine { sequence, at, process, part, severity, place, text });
    }
    /// Leaves a mark for observers.
    pub fn mark(&self, kind: &'static str, detail: impl Into<Rc<str>>) {
        self.inner.mark(Some(self.process), kind, detail.into());
    }
}

/// The time ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("context deadline exceeded")
    }
}

impl std::error::Error for Elapsed {}

/// The task was aborted, or its process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aborted;

/// The future of [`Ctx::sleep`].
pub struct Sleep {
    inner: Rc<Inner>,
    process: ProcessId,
    deadline: Instant,
    key: Option<TimerKey>,
    label: Option<Rc<str>>,
}

impl Sleep {
    /// Says what the wait stands for, so that observers can name it ("node-2 NotReady").
    #[must_use]
    pub fn named(mut self, label: impl Into<Rc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let inner = self.inner.clone();
        if inner.now.get() >= self.deadline {
            if let Some(key) = self.key.take() {
                inner.timers.borrow_mut().cancel(key);
            }
            return Poll::Ready(());
        }
        match self.key {
            Some(key) => inner.timers.borrow_mut().rewake(key, cx.waker()),
            None => {
                let action = Action::Wake(cx.waker().clone());
                let timer = Timer { action, process: Some(self.process), label: self.label.clone() };
                self.key = Some(inner.timers.borrow_mut().set(self.deadline, timer));
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            // The waker is dropped outside the borrow: dropping the last one may drop a task that sleeps too.
            let timer = self.inner.timers.borrow_mut().cancel(key);
            drop(timer);
        }
    }
}

/// The future of [`Ctx::terminated`].
pub struct Terminated {
    inner: Rc<Inner>,
    process: ProcessId,
}

impl Future for Terminated {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut processes = self.inner.processes.borrow_mut();
        let Some(entry) = processes.get_mut(self.process.0 as usize) else { return Poll::Pending };
        if entry.terminating {
            return Poll::Ready(());
        }
        if !entry.term_wakers.iter().any(|w| w.will_wake(cx.waker())) {
            entry.term_wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Awaits or aborts a task. Dropping it lets the task go on.
pub struct JoinHandle<T> {
    ctx: Ctx,
    id: u64,
    result: oneshot::Receiver<T>,
}

impl<T> JoinHandle<T> {
    /// Drops the task's future now (or, if it is the calling task, at its next await).
    pub fn abort(&self) {
        self.ctx.inner.executor.abort(self.ctx.process, self.id);
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, Aborted>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(cx).map(|r| r.map_err(|_| Aborted))
    }
}
