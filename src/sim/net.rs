//! The network: hosts with addresses, listeners, connections that carry typed messages in order, and its faults.
//!
//! It behaves as TCP does: a closed port refuses, a machine without power is unreachable, a cut path loses segments
//! and TCP sends them again until it heals or 924 seconds have passed (Linux' tcp_retries2).

use crate::filter::{Filter, Verdict};
use crate::sim::Inner;
use crate::timers::{Action, Timer};
use crate::trace::Message;
use crate::{Ctx, Duration, HostId, Instant, ProcessId, Sim};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

/// An IPv4 address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ip(pub u32);

impl Ip {
    /// The address a.b.c.d.
    pub const fn new(a: u8, b: u8, c: u8, d: u8) -> Self {
        Self(u32::from_be_bytes([a, b, c, d]))
    }
    /// Every address of a machine, to listen on.
    pub const ANY: Self = Self::new(0, 0, 0, 0);
    /// Each machine's own address, which reaches nobody else.
    pub const LOCALHOST: Self = Self::new(127, 0, 0, 1);
    /// The same of IPv6, `::1`, the only address of its kind here: another of 127.0.0.0/8 stands for it.
    pub const LOCALHOST6: Self = Self::new(127, 255, 255, 255);
    /// Whether it means the machine that asks.
    pub const fn is_loopback(self) -> bool {
        self.0 >> 24 == 127
    }
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::LOCALHOST6 {
            return f.write_str("::1");
        }
        let [a, b, c, d] = self.0.to_be_bytes();
        write!(f, "{a}.{b}.{c}.{d}")
    }
}

impl fmt::Debug for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where a listener is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Addr {
    /// The machine.
    pub ip: Ip,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ip == Ip::LOCALHOST6 {
            return write!(f, "[{}]:{}", self.ip, self.port);
        }
        write!(f, "{}:{}", self.ip, self.port)
    }
}

/// What the network answers, in Go's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetError {
    /// Nobody listens there.
    Refused,
    /// The machine doesn't answer on its own network.
    Unreachable,
    /// Nothing came in time.
    TimedOut,
    /// The other side closed the connection.
    Closed,
    /// The other side is gone.
    Reset,
    /// The port is taken.
    InUse,
    /// The address is not this machine's.
    NotOurs,
    /// 65,536 messages wait on the wire.
    BufferFull,
    /// A message of another type than the receiver expects.
    Type,
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connect: connection refused",
            Self::Unreachable => "connect: no route to host",
            Self::TimedOut => "i/o timeout",
            Self::Closed => "EOF",
            Self::Reset => "read: connection reset by peer",
            Self::InUse => "bind: address already in use",
            Self::NotOurs => "bind: cannot assign requested address",
            Self::BufferFull => "write: no buffer space available",
            Self::Type => "malformed message",
        })
    }
}

impl std::error::Error for NetError {}

/// What a fault is about: a whole machine or one process on it, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// All that runs on the machine.
    Host(HostId),
    /// The process of that name, whichever run of it.
    Process(Rc<str>),
}

/// Bound of the messages on one connection's way.
const WIRE_BOUND: usize = 65_536;
/// How long TCP tries to get a segment across.
const TCP_GIVES_UP: Duration = Duration::from_secs(924);
/// How long a machine looks for a neighbour that doesn't answer.
const ARP_GIVES_UP: Duration = Duration::from_secs(3);

/// One side of a connection. Clones share it; the last one dropped closes it.
#[derive(Clone)]
pub struct Conn(Rc<Handle>);

struct Handle {
    inner: Weak<Inner>,
    core: Rc<Core>,
    side: usize,
}

struct Core {
    source: Ip,
    target: Addr,
    sides: [Side; 2],
}

struct Side {
    process: ProcessId,
    /// What is on its way to this side, oldest first, with its time of arrival.
    wire: RefCell<VecDeque<(Instant, Packet)>>,
    /// What has arrived.
    inbox: RefCell<VecDeque<Packet>>,
    waker: RefCell<Option<Waker>>,
    /// Set when this side closed or its process ended.
    closed: Cell<bool>,
    /// Set when this side has learnt that nothing more will come.
    ended: Cell<Option<NetError>>,
    /// Whether a delivery to this side is scheduled.
    scheduled: Cell<bool>,
    /// Since when the oldest message is held by a cut.
    held_since: Cell<Option<Instant>>,
}

enum Packet {
    Data(Box<dyn Any>),
    End(NetError),
}

/// A delivery to one side of a connection, as a timer's action.
pub(crate) struct Delivery {
    core: Rc<Core>,
    side: usize,
}

/// Where a program listens: on which machine, at which of its addresses and ports.
type Socket = (HostId, Ip, u16);

struct Backlog {
    process: ProcessId,
    waiting: VecDeque<Conn>,
    waker: Option<Waker>,
}

pub(crate) struct Network {
    /// Who answers for an address: machines' own and those that their programs added.
    addresses: BTreeMap<Ip, HostId>,
    listeners: BTreeMap<Socket, Backlog>,
    connections: BTreeMap<u64, Weak<Core>>,
    next: u64,
    /// How many connections to know before the closed ones are forgotten.
    prune_at: usize,
    /// One way between machines.
    latency: Duration,
    cuts: Vec<(Scope, Option<Scope>)>,
    slow: Vec<(Scope, Option<Scope>, Duration)>,
    /// The machines' packet filters.
    pub filters: BTreeMap<HostId, Filter>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            addresses: BTreeMap::new(),
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            next: 0,
            prune_at: 64,
            latency: Duration::from_micros(100),
            cuts: Vec::new(),
            slow: Vec::new(),
            filters: BTreeMap::new(),
        }
    }
}

/// Accepts connections on a port. Dropping it closes the port.
pub struct Listener {
    inner: Weak<Inner>,
    key: Socket,
    process: ProcessId,
}

impl Listener {
    /// Where it listens.
    pub fn addr(&self) -> Addr {
        Addr { ip: self.key.1, port: self.key.2 }
    }
    /// The next connection.
    pub async fn accept(&self) -> Result<Conn, NetError> {
        poll_fn(|cx| {
            let Some(inner) = self.inner.upgrade() else { return Poll::Ready(Err(NetError::Closed)) };
            let mut network = inner.network.borrow_mut();
            let Some(backlog) = network.listeners.get_mut(&self.key).filter(|b| b.process == self.process) else {
                return Poll::Ready(Err(NetError::Closed));
            };
            if let Some(conn) = backlog.waiting.pop_front() {
                return Poll::Ready(Ok(conn));
            }
            backlog.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade() {
            let gone = {
                let mut network = inner.network.borrow_mut();
                let ours = network.listeners.get(&self.key).is_some_and(|b| b.process == self.process);
                if ours { network.listeners.remove(&self.key) } else { None }
            };
            drop(gone);
        }
    }
}

impl Conn {
    /// Puts `message` on the wire. It arrives in order, or the connection fails as TCP does.
    pub fn send<M: 'static>(&self, message: M) -> Result<(), NetError> {
        self.send_as("", message)
    }
    /// As [`Conn::send`], with a word for observers.
    pub fn send_as<M: 'static>(&self, label: &'static str, message: M) -> Result<(), NetError> {
        self.send_boxed(label, Box::new(message))
    }
    /// As [`Conn::send_as`], for who passes on what others say.
    pub fn send_boxed(&self, label: &'static str, message: Box<dyn Any>) -> Result<(), NetError> {
        let inner = self.0.inner.upgrade().ok_or(NetError::Closed)?;
        let (own, peer) = self.0.both().ok_or(NetError::Closed)?;
        if own.closed.get() {
            return Err(NetError::Closed);
        }
        if let Some(error) = own.ended.get() {
            return Err(if error == NetError::Closed { NetError::Reset } else { error });
        }
        if peer.wire.borrow().len() >= WIRE_BOUND {
            return Err(NetError::BufferFull);
        }
        {
            let (at, from, to) = (inner.now.get(), own.process, peer.process);
            let mut trace = inner.trace.borrow_mut();
            trace.mix(at, from, label.as_bytes());
            trace.messages.push(|sequence| Message { sequence, at, from, to, label });
        }
        Network::transmit(&inner, &self.0.core, 1 - self.0.side, Packet::Data(message));
        Ok(())
    }
    /// The next message, which must be an `M`.
    pub async fn recv<M: 'static>(&self) -> Result<M, NetError> {
        self.recv_boxed().await?.downcast::<M>().map(|m| *m).map_err(|_| NetError::Type)
    }
    /// The next message, whatever it is, for who passes on what others say.
    pub async fn recv_boxed(&self) -> Result<Box<dyn Any>, NetError> {
        poll_fn(|cx| {
            let Some((own, _)) = self.0.both() else { return Poll::Ready(Err(NetError::Closed)) };
            if let Some(taken) = own.take() {
                return Poll::Ready(taken);
            }
            *own.waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
    /// The next message if one has arrived.
    pub fn try_recv<M: 'static>(&self) -> Option<Result<M, NetError>> {
        let (own, _) = self.0.both()?;
        Some(own.take()?.and_then(|any| any.downcast::<M>().map(|m| *m).map_err(|_| NetError::Type)))
    }
    /// Closes this side: what was sent still arrives, then the other side reads [`NetError::Closed`].
    pub fn close(&self) {
        self.0.close();
    }
    /// Whether the other side closed or failed, as far as this side knows.
    pub fn ended(&self) -> Option<NetError> {
        self.0.both().and_then(|(own, _)| own.ended.get())
    }
    /// How many messages to the other side it has not read yet: for senders that hold back.
    pub fn unread(&self) -> usize {
        self.0.both().map_or(0, |(_, peer)| peer.wire.borrow().len() + peer.inbox.borrow().len())
    }
    /// The address the connection came from.
    pub fn source(&self) -> Ip {
        self.0.core.source
    }
    /// The address the connection was made to.
    pub fn target(&self) -> Addr {
        self.0.core.target
    }
    /// The process on the other side, for observers and for the server's idea of its caller.
    pub fn peer(&self) -> ProcessId {
        self.0.both().map_or(ProcessId(u32::MAX), |(_, peer)| peer.process)
    }
}

impl Handle {
    fn both(&self) -> Option<(&Side, &Side)> {
        Some((self.core.sides.get(self.side)?, self.core.sides.get(1 - self.side)?))
    }
    fn close(&self) {
        let (Some(inner), Some((own, _))) = (self.inner.upgrade(), self.both()) else { return };
        if own.closed.replace(true) || !inner.alive(own.process) {
            return;
        }
        Network::transmit(&inner, &self.core, 1 - self.side, Packet::End(NetError::Closed));
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Side {
    fn new(process: ProcessId) -> Self {
        Self {
            process,
            wire: RefCell::default(),
            inbox: RefCell::default(),
            waker: RefCell::default(),
            closed: Cell::new(false),
            ended: Cell::new(None),
            scheduled: Cell::new(false),
            held_since: Cell::new(None),
        }
    }
    fn take(&self) -> Option<Result<Box<dyn Any>, NetError>> {
        if self.closed.get() {
            return Some(Err(NetError::Closed));
        }
        match self.inbox.borrow_mut().pop_front() {
            Some(Packet::Data(any)) => Some(Ok(any)),
            Some(Packet::End(error)) => Some(Err(error)),
            None => self.ended.get().map(Err),
        }
    }
    fn arrive(&self, packet: Packet) {
        if let Packet::End(error) = packet {
            if self.ended.get().is_none() {
                self.ended.set(Some(error));
            }
        } else if self.ended.get().is_none() {
            self.inbox.borrow_mut().push_back(packet);
        }
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Network {
    pub fn add_address(&mut self, ip: Ip, host: HostId) -> bool {
        let free = !self.addresses.contains_key(&ip);
        if free {
            self.addresses.insert(ip, host);
        }
        free
    }

    /// After a power-off: only the machine's own address is configured at boot.
    pub fn forget_added(&mut self, host: HostId, own: Option<Ip>) {
        self.addresses.retain(|ip, h| *h != host || Some(*ip) == own);
        self.filters.remove(&host);
    }

    /// What a machine's filter says of a connection.
    fn filtered(inner: &Inner, host: HostId, source: Ip, addr: Addr) -> Verdict {
        // Not borrowed while the filter runs.
        let filter = inner.network.borrow().filters.get(&host).cloned();
        filter.map_or(Verdict::Pass, |filter| filter(source, addr))
    }

    /// Takes an address from `host`, with what listens on it.
    pub fn remove_address(inner: &Rc<Inner>, ip: Ip, host: HostId) {
        let gone: Vec<_> = {
            let mut network = inner.network.borrow_mut();
            if network.addresses.get(&ip) != Some(&host) {
                return;
            }
            network.addresses.remove(&ip);
            let keys: Vec<_> =
                network.listeners.range((host, ip, 0)..=(host, ip, u16::MAX)).map(|(key, _)| *key).collect();
            keys.iter().filter_map(|key| network.listeners.remove(key)).collect()
        };
        drop(gone);
    }

    pub fn listen(ctx: &Ctx, ip: Ip, port: u16) -> Result<Listener, NetError> {
        let host = ctx.inner.host_of(ctx.process);
        let drawn = (port == 0).then(|| ctx.rng("port"));
        let mut network = ctx.inner.network.borrow_mut();
        if !ip.is_loopback() && ip != Ip::ANY && network.addresses.get(&ip) != Some(&host) {
            return Err(NetError::NotOurs);
        }
        let own = (host, Ip(0), 0)..=(host, Ip(u32::MAX), u16::MAX);
        let taken = |network: &Self, port| {
            let mut others = network.listeners.range(own.clone()).filter(|((.., other), _)| *other == port);
            let both = |other: Ip| other == ip || (other == Ip::ANY || ip == Ip::ANY) && ip != Ip::LOCALHOST6;
            others.any(|((_, other, _), _)| both(*other) && (*other != Ip::LOCALHOST6 || ip == *other))
        };
        let port = match drawn {
            None => Some(port).filter(|port| !taken(&network, *port)),
            // A free one of those that Linux hands out.
            Some(mut rng) => (0..1_000)
                .filter_map(|_| u16::try_from(32_768 + rng.below(28_232)).ok())
                .find(|port| !taken(&network, *port)),
        };
        let key = (host, ip, port.ok_or(NetError::InUse)?);
        network.listeners.insert(key, Backlog { process: ctx.process, waiting: VecDeque::new(), waker: None });
        Ok(Listener { inner: Rc::downgrade(&ctx.inner), key, process: ctx.process })
    }

    pub async fn connect(ctx: &Ctx, source: Ip, addr: Addr, patience: Duration) -> Result<Conn, NetError> {
        let inner = &ctx.inner;
        let deadline = ctx.now() + patience;
        let mut retransmission = Duration::from_secs(1);
        let own = inner.host_of(ctx.process);
        let mut addr = addr;
        let source = if addr.ip.is_loopback() { addr.ip } else { source };
        let mut verdict = Self::filtered(inner, own, source, addr);
        // The machine that the connection reached, once its filter was asked.
        let mut reached = own;
        loop {
            match std::mem::replace(&mut verdict, Verdict::Pass) {
                Verdict::Pass => {}
                Verdict::To(other) => addr = other,
                Verdict::Refuse => return Err(NetError::Refused),
                Verdict::Drop => {
                    ctx.sleep_until(deadline).await;
                    return Err(NetError::TimedOut);
                }
            }
            let owner = || {
                let found = inner.network.borrow().addresses.get(&addr.ip).copied();
                found.or(addr.ip.is_loopback().then_some(own)).filter(|&h| inner.host_up(h))
            };
            let Some(host) = owner() else {
                ctx.sleep_until(deadline.min(ctx.now() + ARP_GIVES_UP)).await;
                if owner().is_some() && ctx.now() < deadline {
                    continue;
                }
                return Err(NetError::Unreachable);
            };
            let listener = inner.network.borrow().socket(host, addr).map(|(_, b)| b.process);
            let one_way = match listener {
                // The port's owner may be cut off while its machine is not.
                Some(process) => inner.network.borrow().way(inner, ctx.process, process),
                None => inner.network.borrow().way_to_host(inner, ctx.process, host),
            };
            let Some(one_way) = one_way else {
                let next = ctx.now() + retransmission;
                ctx.sleep_until(deadline.min(next)).await;
                if ctx.now() >= deadline {
                    return Err(NetError::TimedOut);
                }
                retransmission *= 2;
                continue;
            };
            ctx.sleep(one_way).await;
            if reached != host {
                reached = host;
                verdict = Self::filtered(inner, host, source, addr);
                if verdict != Verdict::Pass {
                    continue;
                }
            }
            let accepted = Self::accept(inner, ctx.process, host, source, addr);
            ctx.sleep(one_way).await;
            return accepted.ok_or(NetError::Refused);
        }
    }

    /// What listens at an address of a machine.
    fn socket(&self, host: HostId, addr: Addr) -> Option<(Socket, &Backlog)> {
        let at = |ip| self.listeners.get_key_value(&(host, ip, addr.port)).map(|(key, backlog)| (*key, backlog));
        at(addr.ip).or_else(|| at(Ip::ANY).filter(|_| addr.ip != Ip::LOCALHOST6))
    }

    fn accept(inner: &Rc<Inner>, client: ProcessId, host: HostId, source: Ip, addr: Addr) -> Option<Conn> {
        let (ours, waker) = {
            let mut network = inner.network.borrow_mut();
            let (key, server) = network.socket(host, addr).map(|(key, b)| (key, b.process))?;
            network.next += 1;
            let id = network.next;
            let core = Rc::new(Core { source, target: addr, sides: [Side::new(client), Side::new(server)] });
            network.connections.insert(id, Rc::downgrade(&core));
            if network.connections.len() > network.prune_at {
                network.connections.retain(|_, core| core.strong_count() > 0);
                network.prune_at = 64.max(2 * network.connections.len());
            }
            let conn = |side| Conn(Rc::new(Handle { inner: Rc::downgrade(inner), core: core.clone(), side }));
            let backlog = network.listeners.get_mut(&key)?;
            backlog.waiting.push_back(conn(1));
            (conn(0), backlog.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Some(ours)
    }

    /// The time a segment takes between two processes; none if the way is cut.
    fn way(&self, inner: &Inner, from: ProcessId, to: ProcessId) -> Option<Duration> {
        let (a, b) = (inner.host_of(from), inner.host_of(to));
        let base = if a == b { Duration::from_micros(20) } else { self.latency };
        if self.cuts.is_empty() && self.slow.is_empty() {
            return Some(base);
        }
        let (name_a, name_b) = (inner.process_name(from), inner.process_name(to));
        self.faulty_way(base, (a, Some(&*name_a)), (b, Some(&*name_b)))
    }
    fn way_to_host(&self, inner: &Inner, from: ProcessId, to: HostId) -> Option<Duration> {
        let a = inner.host_of(from);
        let base = if a == to { Duration::from_micros(20) } else { self.latency };
        let name = inner.process_name(from);
        self.faulty_way(base, (a, Some(&*name)), (to, None))
    }
    fn faulty_way(&self, base: Duration, a: (HostId, Option<&str>), b: (HostId, Option<&str>)) -> Option<Duration> {
        let is = |scope: &Scope, end: (HostId, Option<&str>)| match scope {
            Scope::Host(host) => *host == end.0,
            Scope::Process(name) => end.1 == Some(&**name),
        };
        let between = |x: &Scope, y: &Option<Scope>| match y {
            // "From everybody" leaves a machine's own inner connections alone.
            None => (is(x, a) != is(x, b)) && !(matches!(x, Scope::Host(_)) && a.0 == b.0),
            Some(y) => is(x, a) && is(y, b) || is(x, b) && is(y, a),
        };
        if self.cuts.iter().any(|(x, y)| between(x, y)) {
            return None;
        }
        Some(base + self.slow.iter().filter(|(x, y, _)| between(x, y)).map(|s| s.2).sum::<Duration>())
    }

    fn transmit(inner: &Rc<Inner>, core: &Rc<Core>, to: usize, packet: Packet) {
        let (Some(receiver), Some(sender)) = (core.sides.get(to), core.sides.get(1 - to)) else { return };
        let way = inner.network.borrow().way(inner, sender.process, receiver.process);
        let mut at = inner.now.get() + way.unwrap_or_default();
        {
            let mut wire = receiver.wire.borrow_mut();
            if let Some((last, _)) = wire.back() {
                at = at.max(*last);
            }
            wire.push_back((at, packet));
        }
        Self::schedule(inner, core, to);
    }

    fn schedule(inner: &Rc<Inner>, core: &Rc<Core>, to: usize) {
        let Some(receiver) = core.sides.get(to) else { return };
        let Some(at) = receiver.wire.borrow().front().map(|(at, _)| *at) else { return };
        if receiver.scheduled.replace(true) {
            return;
        }
        let action = Action::Deliver(Delivery { core: core.clone(), side: to });
        inner.timers.borrow_mut().set(at.max(inner.now.get()), Timer { action, process: None, label: None });
    }

    pub fn deliver(inner: &Rc<Inner>, delivery: Delivery) {
        let Delivery { core, side } = delivery;
        let (Some(receiver), Some(sender)) = (core.sides.get(side), core.sides.get(1 - side)) else { return };
        receiver.scheduled.set(false);
        let now = inner.now.get();
        let open = inner.network.borrow().way(inner, sender.process, receiver.process).is_some();
        if !open || !inner.host_up(inner.host_of(receiver.process)) {
            Self::hold(inner, &core, side, now);
            return;
        }
        receiver.held_since.set(None);
        loop {
            let due = receiver.wire.borrow().front().is_some_and(|(at, _)| *at <= now);
            if !due {
                break;
            }
            let Some((_, packet)) = receiver.wire.borrow_mut().pop_front() else { break };
            if inner.alive(receiver.process) && !receiver.closed.get() {
                receiver.arrive(packet);
            } else if matches!(packet, Packet::Data(_)) && sender.ended.get().is_none() {
                // Data for a socket that is gone is answered by a reset.
                Self::transmit(inner, &core, 1 - side, Packet::End(NetError::Reset));
            }
        }
        Self::schedule(inner, &core, side);
    }

    /// Keeps what can't get across; TCP gives up on it after its time.
    fn hold(inner: &Rc<Inner>, core: &Rc<Core>, side: usize, now: Instant) {
        let (Some(receiver), Some(sender)) = (core.sides.get(side), core.sides.get(1 - side)) else { return };
        match receiver.held_since.get() {
            Some(since) if now >= since + TCP_GIVES_UP => {
                receiver.wire.borrow_mut().clear();
                sender.arrive(Packet::End(NetError::TimedOut));
            }
            since => {
                let since = since.unwrap_or(now);
                receiver.held_since.set(Some(since));
                receiver.scheduled.set(true);
                let action = Action::Deliver(Delivery { core: core.clone(), side });
                let timer = Timer { action, process: None, label: None };
                inner.timers.borrow_mut().set(since + TCP_GIVES_UP, timer);
            }
        }
    }

    /// The machine closes what the process had open; a machine without power says nothing.
    pub fn process_ended(inner: &Rc<Inner>, process: ProcessId) {
        let speaks = inner.host_up(inner.host_of(process));
        let (cores, backlogs): (Vec<_>, Vec<_>) = {
            let mut network = inner.network.borrow_mut();
            network.connections.retain(|_, core| core.strong_count() > 0);
            let cores = network.connections.values().filter_map(Weak::upgrade).collect();
            let keys: Vec<_> =
                network.listeners.iter().filter(|(_, b)| b.process == process).map(|(k, _)| *k).collect();
            (cores, keys.iter().filter_map(|key| network.listeners.remove(key)).collect())
        };
        for core in cores {
            for side in 0..2 {
                let (Some(own), Some(peer)) = (core.sides.get(side), core.sides.get(1 - side)) else { continue };
                if own.process == process && !own.closed.replace(true) && speaks {
                    // A FIN if all was read, a reset if something was left unread.
                    let left = !own.inbox.borrow().is_empty();
                    let error = if left { NetError::Reset } else { NetError::Closed };
                    if inner.alive(peer.process) {
                        Self::transmit(inner, &core, 1 - side, Packet::End(error));
                    }
                }
            }
        }
        drop(backlogs);
    }

    /// After a change of faults: what was held tries again.
    fn retry_held(inner: &Rc<Inner>) {
        let cores: Vec<_> = inner.network.borrow().connections.values().filter_map(Weak::upgrade).collect();
        for core in cores {
            for (side, receiver) in core.sides.iter().enumerate() {
                if receiver.held_since.get().is_some() {
                    // The pending give-up timer finds an empty wire and does nothing.
                    receiver.scheduled.set(false);
                    let sender = core.sides.get(1 - side).map_or(receiver.process, |s| s.process);
                    let way = inner.network.borrow().way(inner, sender, receiver.process);
                    let at = inner.now.get() + way.unwrap_or_default();
                    receiver.wire.borrow_mut().iter_mut().for_each(|(when, _)| *when = (*when).max(at));
                    Self::schedule(inner, &core, side);
                }
            }
        }
    }
}

impl Sim {
    /// One way between machines from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.inner.network.borrow_mut().latency = latency;
    }
    /// Cuts the way between `a` and `b`, or between `a` and everybody.
    pub fn cut(&self, a: Scope, b: Option<Scope>) {
        let mut network = self.inner.network.borrow_mut();
        if !network.cuts.contains(&(a.clone(), b.clone())) {
            network.cuts.push((a, b));
        }
    }
    /// Ends cuts: that between `a` and `b`, all of `a`, or all.
    pub fn heal(&self, a: Option<&Scope>, b: Option<&Scope>) {
        self.inner.network.borrow_mut().cuts.retain(|(x, y)| match (a, b) {
            (None, _) => false,
            (Some(a), None) => x != a && y.as_ref() != Some(a),
            (Some(a), Some(b)) => !(x == a && y.as_ref() == Some(b) || x == b && y.as_ref() == Some(a)),
        });
        Network::retry_held(&self.inner);
    }
    /// Adds `extra` to the way between `a` and `b` (or everybody); zero ends it.
    pub fn slow(&self, a: Scope, b: Option<Scope>, extra: Duration) {
        let mut network = self.inner.network.borrow_mut();
        network.slow.retain(|(x, y, _)| !(*x == a && *y == b));
        if !extra.is_zero() {
            network.slow.push((a, b, extra));
        }
    }
    /// Whether the way between two processes is open.
    pub fn reaches(&self, from: ProcessId, to: ProcessId) -> bool {
        self.inner.network.borrow().way(&self.inner, from, to).is_some()
    }
    /// Whether a process waits for connections of others.
    pub fn listens(&self, process: ProcessId) -> bool {
        self.inner.network.borrow().listeners.values().any(|backlog| backlog.process == process)
    }
    /// The cuts in force.
    pub fn cuts(&self) -> Vec<(Scope, Option<Scope>)> {
        self.inner.network.borrow().cuts.clone()
    }
    /// The slowed ways.
    pub fn slowed(&self) -> Vec<(Scope, Option<Scope>, Duration)> {
        self.inner.network.borrow().slow.clone()
    }
    pub(crate) fn retry_held(&self) {
        Network::retry_held(&self.inner);
    }
}
