use crate::disk::{Disk, DiskState};
use crate::executor::Executor;
use crate::net::{Ip, Network};
use crate::timers::{Action, Timer, TimerKey, Timers};
use crate::trace::{Mark, Trace};
use crate::{Ctx, Duration, Instant, Rng};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::task::Waker;

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostId(pub(crate) u32);

/// One run of a program: a restart is another process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ProcessId(pub(crate) u32);

impl ProcessId {
    /// The number, for messages to observers.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// In what order runnable tasks and equal timers run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interleave {
    /// First in, first out.
    #[default]
    Fifo,
    /// Drawn from the seed, to explore other interleavings.
    Seeded,
}

/// What a world is made from.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all randomness.
    pub seed: u64,
    /// The wall clock at the beginning, in nanoseconds since 1970.
    pub epoch_unix_nanos: i64,
    /// The order of equals.
    pub interleave: Interleave,
    /// How many polls one instant may take before it counts as a livelock.
    pub polls_per_instant: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, epoch_unix_nanos: 0, interleave: Interleave::Fifo, polls_per_instant: 1_000_000 }
    }
}

/// Tasks kept each other busy without time moving.
#[derive(Debug, Clone)]
pub struct Livelock {
    /// The instant that didn't end.
    pub at: Instant,
    /// The process and task that ran last.
    pub task: String,
}

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "livelock at {:?}: tasks run without end and time stands still; the last one was {}",
            self.at, self.task
        )
    }
}

impl std::error::Error for Livelock {}

pub(crate) struct Host {
    pub name: Rc<str>,
    pub ip: Ip,
    pub up: bool,
    pub disk: Rc<RefCell<DiskState>>,
}

pub(crate) struct Process {
    pub name: Rc<str>,
    pub host: HostId,
    pub alive: bool,
    pub incarnation: u32,
    pub terminating: bool,
    /// Whether it asked to be told of SIGTERM; otherwise SIGTERM kills it.
    pub handles_term: bool,
    pub term_wakers: Vec<Waker>,
    /// How often each of its streams of randomness was asked for; bounded by the names in the code.
    pub streams: BTreeMap<String, u64>,
}

/// A process as observers see it.
#[derive(Clone, Debug)]
pub struct ProcessInfo {
    /// Which.
    pub id: ProcessId,
    /// Its name, one at a time in the world.
    pub name: Rc<str>,
    /// Where it runs.
    pub host: HostId,
    /// Whether it runs.
    pub alive: bool,
    /// How many tasks it has.
    pub tasks: usize,
}

/// A timer as observers see it.
#[derive(Clone, Debug)]
pub struct TimerInfo {
    /// When it fires.
    pub at: Instant,
    /// Whose it is.
    pub process: ProcessId,
    /// What it stands for, where its owner said so.
    pub label: Option<Rc<str>>,
}

pub(crate) struct Inner {
    pub options: Options,
    pub now: Cell<Instant>,
    pub executor: Executor,
    pub timers: RefCell<Timers>,
    pub hosts: RefCell<Vec<Host>>,
    pub processes: RefCell<Vec<Process>>,
    pub network: RefCell<Network>,
    pub trace: RefCell<Trace>,
    shuffle: RefCell<Option<Rng>>,
    polls: Cell<u64>,
    polls_here: Cell<u64>,
}

/// The owner's handle of a world: builds it and drives its time.
#[derive(Clone)]
pub struct Sim {
    pub(crate) inner: Rc<Inner>,
}

impl Sim {
    /// An empty world.
    pub fn new(options: Options) -> Self {
        let shuffle = (options.interleave == Interleave::Seeded).then(|| Rng::split(options.seed, "interleave"));
        Self {
            inner: Rc::new(Inner {
                options,
                now: Cell::new(Instant::ZERO),
                executor: Executor::default(),
                timers: RefCell::default(),
                hosts: RefCell::default(),
                processes: RefCell::default(),
                network: RefCell::default(),
                trace: RefCell::default(),
                shuffle: RefCell::new(shuffle),
                polls: Cell::new(0),
                polls_here: Cell::new(0),
            }),
        }
    }

    // Hosts

    /// Adds a machine that is switched on. Names and addresses are unique by the caller's care.
    pub fn add_host(&self, name: &str, ip: Ip) -> HostId {
        let mut hosts = self.inner.hosts.borrow_mut();
        hosts.push(Host { name: name.into(), ip, up: true, disk: Rc::default() });
        let id = HostId(u32::try_from(hosts.len() - 1).unwrap_or(u32::MAX));
        self.inner.network.borrow_mut().add_address(ip, id);
        id
    }
    /// The machine called `name`.
    pub fn host(&self, name: &str) -> Option<HostId> {
        let hosts = self.inner.hosts.borrow();
        hosts.iter().position(|h| &*h.name == name).and_then(|i| u32::try_from(i).ok()).map(HostId)
    }
    /// The machine's name.
    pub fn host_name(&self, host: HostId) -> Rc<str> {
        self.inner.hosts.borrow().get(host.0 as usize).map_or_else(|| "".into(), |h| h.name.clone())
    }
    /// Whether the machine is switched on.
    pub fn host_up(&self, host: HostId) -> bool {
        self.inner.hosts.borrow().get(host.0 as usize).is_some_and(|h| h.up)
    }
    /// Cuts a machine's power: its processes are gone, nobody is told, unsynced writes are lost.
    pub fn power_off(&self, host: HostId) {
        let disk = {
            let mut hosts = self.inner.hosts.borrow_mut();
            let Some(entry) = hosts.get_mut(host.0 as usize).filter(|h| h.up) else { return };
            entry.up = false;
            entry.disk.clone()
        };
        let here: Vec<_> = self.processes().into_iter().filter(|p| p.alive && p.host == host).map(|p| p.id).collect();
        for process in here {
            self.end(process, "powered off");
        }
        let own = self.inner.hosts.borrow().get(host.0 as usize).map(|h| h.ip);
        self.inner.network.borrow_mut().forget_added(host, own);
        disk.borrow_mut().power_loss();
    }
    /// Switches a machine on again, empty of processes.
    pub fn power_on(&self, host: HostId) {
        if let Some(entry) = self.inner.hosts.borrow_mut().get_mut(host.0 as usize) {
            entry.up = true;
        }
        self.retry_held();
    }
    /// How long an fsync takes on a machine's disk.
    pub fn set_fsync(&self, host: HostId, time: Duration) {
        self.with_disk(host, |d| d.fsync = time);
    }
    /// The size of a machine's disk and how much of it others have filled, in bytes.
    pub fn set_disk(&self, host: HostId, capacity: u64, ballast: u64) {
        self.with_disk(host, |d| (d.capacity, d.ballast) = (capacity, ballast));
    }
    /// (used, capacity) of a machine's disk in bytes.
    pub fn disk_usage(&self, host: HostId) -> (u64, u64) {
        let hosts = self.inner.hosts.borrow();
        hosts.get(host.0 as usize).map_or((0, 0), |h| {
            let d = h.disk.borrow();
            (d.used() + d.ballast, d.capacity)
        })
    }
    fn with_disk(&self, host: HostId, f: impl FnOnce(&mut DiskState)) {
        if let Some(entry) = self.inner.hosts.borrow().get(host.0 as usize) {
            f(&mut entry.disk.borrow_mut());
        }
    }

    // Processes

    /// Starts a program on a machine that is on. It ends when the future does.
    pub fn start<F: Future<Output = ()> + 'static>(
        &self,
        host: HostId,
        name: &str,
        main: impl FnOnce(Ctx) -> F,
    ) -> ProcessId {
        let id = {
            let mut processes = self.inner.processes.borrow_mut();
            let incarnation = processes.iter().filter(|p| &*p.name == name).count();
            let incarnation = u32::try_from(incarnation).unwrap_or(u32::MAX);
            let name = processes.iter().find(|p| &*p.name == name).map_or_else(|| name.into(), |p| p.name.clone());
            processes.push(Process {
                name,
                host,
                alive: true,
                incarnation,
                terminating: false,
                handles_term: false,
                term_wakers: Vec::new(),
                streams: BTreeMap::new(),
            });
            ProcessId(u32::try_from(processes.len() - 1).unwrap_or(u32::MAX))
        };
        self.mark(Some(id), "process", "started".into());
        let ctx = Ctx { inner: self.inner.clone(), process: id, part: "" };
        let future = main(ctx.clone());
        let sim = self.clone();
        ctx.spawn("main", async move {
            future.await;
            sim.end(id, "exited");
        });
        id
    }
    /// SIGTERM: tells the process, or ends it if it never asked to be told.
    pub fn terminate(&self, process: ProcessId) {
        let wakers = {
            let mut processes = self.inner.processes.borrow_mut();
            let Some(entry) = processes.get_mut(process.0 as usize).filter(|p| p.alive) else { return };
            if entry.handles_term {
                entry.terminating = true;
                Some(std::mem::take(&mut entry.term_wakers))
            } else {
                None
            }
        };
        match wakers {
            Some(wakers) => wakers.into_iter().for_each(Waker::wake),
            None => self.end(process, "terminated"),
        }
    }
    /// SIGKILL: drops all the process' futures now. Its machine closes its connections.
    pub fn kill(&self, process: ProcessId) {
        self.end(process, "killed");
    }
    pub(crate) fn end(&self, process: ProcessId, how: &'static str) {
        {
            let mut processes = self.inner.processes.borrow_mut();
            let Some(entry) = processes.get_mut(process.0 as usize).filter(|p| p.alive) else { return };
            entry.alive = false;
            entry.term_wakers.clear();
        }
        self.mark(Some(process), "process", how.into());
        Network::process_ended(&self.inner, process);
        self.inner.executor.abort_all(process);
    }
    /// Whether the process runs.
    pub fn alive(&self, process: ProcessId) -> bool {
        self.inner.alive(process)
    }
    /// The living process called `name`.
    pub fn process(&self, name: &str) -> Option<ProcessId> {
        let processes = self.inner.processes.borrow();
        let at = processes.iter().rposition(|p| p.alive && &*p.name == name)?;
        u32::try_from(at).ok().map(ProcessId)
    }
    /// The process' name.
    pub fn process_name(&self, process: ProcessId) -> Rc<str> {
        self.inner.process_name(process)
    }
    /// The machine of a process.
    pub fn process_host(&self, process: ProcessId) -> HostId {
        self.inner.host_of(process)
    }
    /// All processes that ever ran.
    pub fn processes(&self) -> Vec<ProcessInfo> {
        let processes = self.inner.processes.borrow();
        let ids = (0u32..).map(ProcessId);
        let tasks = |id| self.inner.executor.tasks_of(id);
        let info = |(id, p): (ProcessId, &Process)| ProcessInfo {
            id,
            name: p.name.clone(),
            host: p.host,
            alive: p.alive,
            tasks: tasks(id),
        };
        ids.zip(processes.iter()).map(info).collect()
    }

    // Time

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.inner.now.get()
    }
    /// The world's wall clock in nanoseconds since 1970.
    pub fn unix_nanos(&self) -> i64 {
        self.inner.unix_nanos()
    }
    /// How many times a task was polled so far.
    pub fn polls(&self) -> u64 {
        self.inner.polls.get()
    }
    /// Whether no task is runnable, so that time may move and inputs may enter.
    pub fn is_settled(&self) -> bool {
        self.inner.executor.is_idle() && self.inner.timers.borrow().next_deadline().is_none_or(|at| at > self.now())
    }
    /// When the next timer fires.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.inner.timers.borrow().next_deadline()
    }
    /// The timers of processes, soonest first.
    pub fn timers(&self) -> Vec<TimerInfo> {
        let timers = self.inner.timers.borrow();
        let info = |(key, timer): (&TimerKey, &Timer)| {
            timer.process.map(|process| TimerInfo { at: key.0, process, label: timer.label.clone() })
        };
        timers.iter().filter_map(info).collect()
    }
    /// The timers that were given a name, soonest first: process, when, name.
    pub fn named_timers(&self) -> Vec<(ProcessId, Instant, Rc<str>)> {
        let timers = self.inner.timers.borrow();
        timers.iter().filter_map(|(key, t)| Some((t.process?, key.0, t.label.clone()?))).collect()
    }
    /// How many timers are set, the network's included.
    pub fn timer_count(&self) -> usize {
        self.inner.timers.borrow().len()
    }
    /// Runs at most `max` polls at this instant; true if nothing is runnable any more.
    pub fn run_some(&self, max: u64) -> Result<bool, Livelock> {
        let inner = &self.inner;
        for _ in 0..max {
            let ran = inner.executor.run_one(inner.shuffle.borrow_mut().as_mut());
            let Some((process, task)) = ran else {
                if !self.fire_due() {
                    return Ok(true);
                }
                continue;
            };
            inner.polls.set(inner.polls.get() + 1);
            let here = inner.polls_here.get() + 1;
            inner.polls_here.set(here);
            if here > inner.options.polls_per_instant {
                let task = format!("{}/{task}", inner.process_name(process));
                return Err(Livelock { at: self.now(), task });
            }
        }
        Ok(self.is_settled())
    }
    /// Runs all that is runnable at this instant.
    pub fn settle(&self) -> Result<(), Livelock> {
        while !self.run_some(u64::MAX)? {}
        Ok(())
    }
    /// Moves time to the next timer, if that is not after `limit`, and runs what it makes runnable. False if it is.
    pub fn step(&self, limit: Instant) -> Result<bool, Livelock> {
        self.settle()?;
        match self.next_deadline() {
            Some(at) if at <= limit => {
                self.move_to(at);
                self.settle()?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
    /// Runs until `limit` and lets the clock stand there.
    pub fn run_until(&self, limit: Instant) -> Result<(), Livelock> {
        while self.step(limit)? {}
        self.move_to(limit);
        Ok(())
    }
    /// Runs for `time` of virtual time.
    pub fn run_for(&self, time: Duration) -> Result<(), Livelock> {
        self.run_until(self.now() + time)
    }
    /// Runs until `done` says so (asked when nothing is runnable) or until `limit`; tells whether it did.
    pub fn run_while(&self, limit: Instant, mut more: impl FnMut() -> bool) -> Result<bool, Livelock> {
        self.settle()?;
        while more() {
            if !self.step(limit)? {
                self.move_to(limit);
                return Ok(!more());
            }
        }
        Ok(true)
    }
    fn move_to(&self, at: Instant) {
        if at > self.now() {
            self.inner.now.set(at);
            self.inner.polls_here.set(0);
        }
    }
    fn fire_due(&self) -> bool {
        let inner = &self.inner;
        let now = self.now();
        let mut fired = false;
        loop {
            let timer = {
                let mut shuffle = inner.shuffle.borrow_mut();
                inner.timers.borrow_mut().pop_due(now, |n| shuffle.as_mut().map_or(0, |rng| rng.index(n)))
            };
            match timer {
                None => return fired,
                Some(Timer { action: Action::Wake(waker), .. }) => waker.wake(),
                Some(Timer { action: Action::Deliver(delivery), .. }) => Network::deliver(inner, delivery),
            }
            fired = true;
        }
    }

    // Observation

    /// Reads the trace.
    pub fn trace<R>(&self, read: impl FnOnce(&Trace) -> R) -> R {
        read(&self.inner.trace.borrow())
    }
    /// Adds a mark to the trace, from outside the world.
    pub fn mark(&self, process: Option<ProcessId>, kind: &'static str, detail: Rc<str>) {
        self.inner.mark(process, kind, detail);
    }
}

impl Inner {
    pub fn unix_nanos(&self) -> i64 {
        let since = i64::try_from(self.now.get().as_nanos()).unwrap_or(i64::MAX);
        self.options.epoch_unix_nanos.saturating_add(since)
    }
    pub fn alive(&self, process: ProcessId) -> bool {
        self.processes.borrow().get(process.0 as usize).is_some_and(|p| p.alive)
    }
    pub fn process_name(&self, process: ProcessId) -> Rc<str> {
        self.processes.borrow().get(process.0 as usize).map_or_else(|| "".into(), |p| p.name.clone())
    }
    pub fn host_of(&self, process: ProcessId) -> HostId {
        self.processes.borrow().get(process.0 as usize).map_or(HostId(u32::MAX), |p| p.host)
    }
    pub fn host_up(&self, host: HostId) -> bool {
        self.hosts.borrow().get(host.0 as usize).is_some_and(|h| h.up)
    }
    pub fn mark(&self, process: Option<ProcessId>, kind: &'static str, detail: Rc<str>) {
        let at = self.now.get();
        let mut trace = self.trace.borrow_mut();
        trace.mix(at, process.unwrap_or(ProcessId(u32::MAX)), detail.as_bytes());
        trace.marks.push(|sequence| Mark { sequence, at, process, kind, detail });
    }
    pub fn disk(self: &Rc<Self>, process: ProcessId) -> Disk {
        let host = self.host_of(process);
        let state = self.hosts.borrow().get(host.0 as usize).map(|h| h.disk.clone()).unwrap_or_default();
        Disk { ctx: Ctx { inner: self.clone(), process, part: "" }, state }
    }
    /// A stream of this run of the process: a restarted one draws anew, and so does who asks for it again.
    pub fn rng(&self, process: ProcessId, stream: &str) -> Rng {
        let mut processes = self.processes.borrow_mut();
        let Some(own) = processes.get_mut(process.0 as usize) else { return Rng::split(self.options.seed, stream) };
        let seed = format!("{}/{}/{stream}", own.name, own.incarnation);
        let asked = own.streams.entry(stream.into()).or_insert(0);
        *asked += 1;
        let again = if *asked == 1 { String::new() } else { format!("/{asked}") };
        Rng::split(self.options.seed, &(seed + &again))
    }
}
