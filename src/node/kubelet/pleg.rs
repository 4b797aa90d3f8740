//! The pod lifecycle event generator (pkg/kubelet/pleg/generic.go): compares what the runtime says with what it said
//! before, once a second, and keeps the pods' records.
//!
//! The real one lists all containers every second. Here the runtime says when something changed, so nothing runs while
//! nothing changes; what did change is seen at the same moments, on a grid of one second.

use super::cri_client::CriClient;
use crate::runtime::cri::{Call, PodRecord, Reply, State};
use api::Str;
use futures_util::future::{Either, select};
use sim::sync::Notify;
use sim::{Ctx, Duration, Instant};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a relist takes at most.
const RELIST_TIME: Duration = Duration::from_millis(20);
/// How often the runtime is listed.
pub const RELIST_PERIOD: Duration = Duration::from_secs(1);

/// What happened to a container or sandbox.
#[derive(Clone, PartialEq, Debug)]
pub enum PodEvent {
    /// It runs.
    Started(Str),
    /// It ended.
    Died(Str),
    /// It was removed.
    Removed(Str),
    /// Somebody asked for a look, and there was nothing of the above.
    Sync,
}

/// The records, and when they were true.
pub struct Pleg {
    ctx: Ctx,
    runtime: Rc<CriClient>,
    records: RefCell<BTreeMap<Str, Rc<PodRecord>>>,
    /// When the last relist began, and the last look at single pods.
    observed: Cell<Instant>,
    observed_pods: RefCell<BTreeMap<Str, Instant>>,
    /// Pods to be looked at now. Bounded by the number of pods.
    requested: RefCell<BTreeSet<Str>>,
    /// Pods whose next look is told of even if nothing happened to their containers. Bounded by the number of pods.
    reinspected: RefCell<BTreeSet<Str>>,
    listed: Notify,
    /// Somebody waits for a relist after this moment.
    wanted: Cell<Option<Instant>>,
    wanting: Notify,
    first: Instant,
    healthy: Cell<bool>,
}

impl Pleg {
    /// A generator whose grid begins at `first`.
    pub fn new(ctx: &Ctx, runtime: Rc<CriClient>, first: Instant) -> Rc<Self> {
        Rc::new(Self {
            ctx: ctx.clone(),
            runtime,
            records: RefCell::default(),
            observed: Cell::new(Instant::ZERO),
            observed_pods: RefCell::default(),
            requested: RefCell::default(),
            reinspected: RefCell::default(),
            listed: Notify::new(),
            wanted: Cell::new(None),
            wanting: Notify::new(),
            first,
            healthy: Cell::new(false),
        })
    }

    /// What is known of a pod.
    pub fn record(&self, uid: &str) -> Rc<PodRecord> {
        self.records.borrow().get(uid).cloned().unwrap_or_default()
    }

    /// All pods that the runtime has.
    pub fn all(&self) -> Vec<(Str, Rc<PodRecord>)> {
        self.records.borrow().iter().map(|(uid, record)| (uid.clone(), record.clone())).collect()
    }

    /// Whether the first relist is done.
    pub fn is_healthy(&self) -> bool {
        self.healthy.get()
    }

    /// The record as of a relist that began after `moment`.
    pub async fn newer_than(&self, uid: &str, moment: Instant) -> Rc<PodRecord> {
        loop {
            let listed = self.listed.notified();
            let alone = self.observed_pods.borrow().get(uid).copied().unwrap_or(Instant::ZERO);
            if self.observed.get().max(alone).max(self.skipped()) > moment {
                return self.record(uid);
            }
            if self.wanted.get().is_none_or(|w| w > moment) {
                self.wanted.set(Some(moment));
                self.wanting.notify();
            }
            listed.await;
        }
    }

    /// The last relist that was left out because nothing had changed: what is known was true then.
    fn skipped(&self) -> Instant {
        let now = self.ctx.now();
        let last = super::ticks::last(self.first, RELIST_PERIOD, now).unwrap_or(Instant::ZERO);
        // A relist that is on its way has yet to tell.
        let on_its_way = self.runtime.has_changed() && now.since(last) < RELIST_TIME;
        if self.healthy.get() && self.runtime.connected() && !on_its_way { last } else { Instant::ZERO }
    }

    /// Has one pod looked at without waiting for the next relist.
    pub fn request(&self, uid: &Str) {
        self.requested.borrow_mut().insert(uid.clone());
        self.wanting.notify();
    }

    /// Has a pod's next look told of even if nothing happened to its containers (`RequestReinspect`).
    pub fn reinspect(&self, uid: &Str) {
        self.reinspected.borrow_mut().insert(uid.clone());
    }

    async fn relist_pod(&self, uid: &Str, report: &impl Fn(&Str, &[PodEvent])) {
        let Ok(Reply::Pod(new)) = self.runtime.call(Call::PodStatus(uid.clone())).await else { return };
        let looked = self.ctx.now();
        let events = self.take(uid, new);
        self.observed_pods.borrow_mut().insert(uid.clone(), looked);
        self.listed.notify();
        if !events.is_empty() {
            report(uid, &events);
        }
    }

    /// Takes a pod's new record; what happened since the old one.
    fn take(&self, uid: &Str, new: Rc<PodRecord>) -> Vec<PodEvent> {
        let mut events = compare(&self.record(uid), &new);
        if self.reinspected.borrow_mut().remove(uid) && events.is_empty() {
            events.push(PodEvent::Sync);
        }
        if new.sandboxes.is_empty() && new.containers.is_empty() {
            self.records.borrow_mut().remove(uid);
            self.observed_pods.borrow_mut().remove(uid);
        } else {
            self.records.borrow_mut().insert(uid.clone(), new);
        }
        events
    }

    /// Relists when there is something to see, and reports what happened.
    pub async fn run(self: Rc<Self>, report: impl Fn(&Str, &[PodEvent])) {
        loop {
            let (changed, wanting) = (self.runtime.on_change().notified(), self.wanting.notified());
            let single = self.requested.borrow_mut().pop_first();
            if let Some(uid) = single {
                self.relist_pod(&uid, &report).await;
                continue;
            }
            let due = self.wanted.get().is_some() || (self.runtime.has_changed() && self.runtime.connected());
            let grid = super::ticks::next(self.first, RELIST_PERIOD, self.ctx.now());
            if !due {
                select(changed, wanting).await;
            } else if let Either::Right(_) = select(wanting, self.ctx.sleep_until(grid)).await {
                self.relist(&report).await;
            }
        }
    }

    async fn relist(&self, report: &impl Fn(&Str, &[PodEvent])) {
        let began = self.ctx.now();
        let mut happened = Vec::new();
        if self.runtime.has_changed() {
            let Ok(pods) = self.runtime.snapshot().await else { return };
            self.healthy.set(true);
            for (uid, new) in pods {
                let events = self.take(&uid, new);
                if !events.is_empty() {
                    happened.push((uid, events));
                }
            }
        }
        self.observed.set(began);
        if self.wanted.get().is_some_and(|w| began > w) {
            self.wanted.set(None);
        }
        self.listed.notify();
        for (uid, events) in happened {
            report(&uid, &events);
        }
    }
}

/// The events between two records of a pod. Sandboxes count as containers here.
fn compare(old: &PodRecord, new: &PodRecord) -> Vec<PodEvent> {
    // 1: up, 2: down
    let parts = |record: &PodRecord| -> BTreeMap<Str, u8> {
        let sandboxes = record.sandboxes.iter().map(|s| (s.id.clone(), if s.ready { 1 } else { 2 }));
        let containers = record.containers.iter().map(|c| {
            let state = match c.state {
                State::Running => 1,
                State::Exited => 2,
                State::Created | State::Unknown => 0,
            };
            (c.id.clone(), state)
        });
        sandboxes.chain(containers).collect()
    };
    let (before, after) = (parts(old), parts(new));
    let mut events = Vec::new();
    for (id, state) in &after {
        match (before.get(id), state) {
            (Some(was), is) if was == is => {}
            (_, 1) => events.push(PodEvent::Started(id.clone())),
            (_, 2) => events.push(PodEvent::Died(id.clone())),
            _ => {}
        }
    }
    for (id, state) in &before {
        if !after.contains_key(id) {
            if *state == 1 {
                events.push(PodEvent::Died(id.clone()));
            }
            events.push(PodEvent::Removed(id.clone()));
        }
    }
    events
}
