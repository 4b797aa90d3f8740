//! Where pods without a node wait (`pkg/scheduler/backend/queue`): the active queue in order of priority, the back-off
//! queues, and the unschedulable pods, which wait for a change of the cluster that may help them. When nothing is active,
//! pods are taken out of back-off before their time (KEP-5142), but for those whose last try was an error.

use crate::change::{About, Change};
use crate::devices::Devices;
use crate::framework::Gates;
use crate::node_info::{PodInfo, PodKey};
use crate::plugins;
use sim::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Pods whose back-off ends within one such window leave it together (`backoffQOrderingWindowDuration`).
const WINDOW: Duration = Duration::from_secs(1);
/// The first back-off of a pod, doubled at each try (`podInitialBackoffSeconds`).
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// And the longest (`podMaxBackoffSeconds`).
const MAX_BACKOFF: Duration = Duration::from_secs(10);
/// Where a pod waits for a change, in log lines.
const UNSCHEDULABLE: &str = "Unschedulable";
/// Unschedulable pods are tried again after this, whatever happens.
pub const MAX_UNSCHEDULABLE: Duration = Duration::from_secs(300);

/// A pod that waits.
#[derive(Clone)]
pub struct Queued {
    /// The pod.
    pub info: Rc<PodInfo>,
    /// When it came, or when its last try failed.
    pub since: Instant,
    /// When it was last tried again only because it had waited for so long.
    pub flushed: Instant,
    /// Tries so far.
    pub attempts: u32,
    /// Those of them in which plugins refused it.
    pub unschedulable: u32,
    /// Errors since.
    pub errors: u32,
    /// The plugins that refused it last.
    pub refused_by: BTreeSet<&'static str>,
    /// Revisions that led here: the pod's own, and those of changes that helped it.
    pub causes: client::Causes,
}

/// Highest priority first, then the one that waits longest.
type Order = (std::cmp::Reverse<i32>, Instant, u64);

struct Unschedulable {
    pod: Queued,
    /// The plugin that keeps it out.
    gated: Option<&'static str>,
}

impl Unschedulable {
    /// Whether a change can be of use: a pod that is kept out waits for those that the plugin waits for.
    fn awaits(&self, change: Change) -> bool {
        let plugin = self.gated.and_then(plugins::named);
        plugin.is_none_or(|p| p.hints.iter().any(|h| h.changes.contains(&change)))
    }
    /// When it is tried again whatever happens, for plugins' hints may be wrong; also if a plugin keeps it out.
    fn late(&self) -> Instant {
        self.pod.since.max(self.pod.flushed) + MAX_UNSCHEDULABLE
    }
}

/// What a change did to a pod.
pub struct Moved {
    /// The pod.
    pub key: PodKey,
    /// `Active` or `Backoff`.
    pub queue: &'static str,
}

/// The three queues. Bounded by the pods of the cluster.
#[derive(Default)]
pub struct Queue {
    active: BTreeMap<Order, PodKey>,
    /// By the window in which back-off ends, then as the active queue.
    backoff: BTreeMap<(Instant, Order), PodKey>,
    /// Those whose last try was an error.
    error_backoff: BTreeSet<(Instant, PodKey)>,
    waiting: BTreeMap<PodKey, Queued>,
    places: BTreeMap<PodKey, Order>,
    unschedulable: BTreeMap<PodKey, Unschedulable>,
    /// When each of those is tried again whatever happens.
    late: BTreeSet<(Instant, PodKey)>,
    /// Pods that are being tried, with the changes that came meanwhile.
    in_flight: BTreeMap<PodKey, Vec<(Change, About, u64)>>,
    sequence: u64,
    gates: Gates,
}

/// Changes that are remembered for a pod in flight at most; more than that, and it is tried again.
const IN_FLIGHT_CHANGES: usize = 1024;

impl Queue {
    /// An empty queue whose PreEnqueue plugins look at `gates`.
    pub fn new(gates: Gates) -> Self {
        Self { gates, ..Self::default() }
    }
    /// Pods in (active, back-off, unschedulable).
    pub fn lengths(&self) -> (usize, usize, usize) {
        (self.active.len(), self.backoff.len() + self.error_backoff.len(), self.unschedulable.len())
    }
    /// A pod is new.
    pub fn add(&mut self, info: Rc<PodInfo>, now: Instant) {
        let key = info.key();
        self.remove(&key);
        let causes = client::Causes::of(info.pod.revision);
        let refused_by = BTreeSet::new();
        let (since, flushed) = (now, Instant::ZERO);
        let pod = Queued { info, since, flushed, attempts: 0, unschedulable: 0, errors: 0, refused_by, causes };
        self.enter(key, pod);
    }
    /// A waiting pod changed. It moves only if the change may help it.
    pub fn update(&mut self, info: Rc<PodInfo>, changes: &[Change], about: &About, now: Instant) -> Option<Moved> {
        let key = info.key();
        if let Some(pod) = self.waiting.get_mut(&key) {
            pod.info = info;
            return None;
        }
        if self.in_flight.contains_key(&key) {
            for change in changes {
                self.note_in_flight(*change, about, info.pod.revision);
            }
            return None;
        }
        let Some(entry) = self.unschedulable.get_mut(&key) else {
            self.add(info, now);
            return None;
        };
        entry.pod.info = info.clone();
        if !changes.iter().any(|c| helps(&entry.pod, *c, about, &self.gates.devices)) {
            return None;
        }
        let mut entry = self.leave_unschedulable(&key)?;
        entry.pod.causes.insert(info.pod.revision);
        self.requeue(key, entry.pod, now)
    }
    /// A pod is gone, or has a node.
    pub fn remove(&mut self, key: &PodKey) {
        self.waiting.remove(key);
        if let Some(order) = self.places.remove(key) {
            self.active.remove(&order);
        }
        self.leave_backoff(key);
        self.leave_unschedulable(key);
        self.in_flight.remove(key);
    }
    fn set_aside(&mut self, key: PodKey, entry: Unschedulable) {
        self.late.insert((entry.late(), key.clone()));
        self.unschedulable.insert(key, entry);
    }
    fn leave_unschedulable(&mut self, key: &PodKey) -> Option<Unschedulable> {
        let entry = self.unschedulable.remove(key)?;
        self.late.remove(&(entry.late(), key.clone()));
        Some(entry)
    }
    fn leave_backoff(&mut self, key: &PodKey) {
        self.backoff.retain(|_, k| k != key);
        self.error_backoff.retain(|(_, k)| k != key);
    }
    fn order(&mut self, pod: &Queued) -> Order {
        self.sequence += 1;
        (std::cmp::Reverse(pod.info.priority()), pod.since, self.sequence)
    }
    /// The pod, unless a plugin keeps it out: then it waits among the unschedulable ones.
    fn admit(&mut self, key: &PodKey, mut pod: Queued) -> Option<Queued> {
        let Some(plugin) = self.gates.keep_out(&pod.info) else { return Some(pod) };
        pod.refused_by.insert(plugin);
        self.set_aside(key.clone(), Unschedulable { pod, gated: Some(plugin) });
        None
    }
    fn enter(&mut self, key: PodKey, pod: Queued) {
        if let Some(pod) = self.admit(&key, pod) {
            self.activate_admitted(key, pod);
        }
    }
    fn activate_admitted(&mut self, key: PodKey, pod: Queued) {
        let order = self.order(&pod);
        self.active.insert(order, key.clone());
        self.places.insert(key.clone(), order);
        self.waiting.insert(key, pod);
    }
    /// The next pod to try.
    pub fn pop(&mut self) -> Option<Queued> {
        let key = match self.active.pop_first() {
            Some((_, key)) => {
                self.places.remove(&key);
                key
            }
            None => self.backoff.pop_first()?.1,
        };
        let mut pod = self.waiting.remove(&key)?;
        pod.attempts += 1;
        self.in_flight.insert(key, Vec::new());
        Some(pod)
    }
    /// The try is over, whatever came of it.
    pub fn done(&mut self, key: &PodKey) {
        self.in_flight.remove(key);
    }
    /// No node was found: the pod waits for a change, unless one came while it was tried. Where it went.
    pub fn unschedulable(&mut self, mut pod: Queued, now: Instant) -> &'static str {
        // Its back-off begins now: it may have waited for long to be bound.
        pod.since = now;
        if pod.refused_by.is_empty() {
            pod.errors += 1;
        } else {
            pod.unschedulable += 1;
            pod.errors = 0;
        }
        let key = pod.info.key();
        let Some(missed) = self.in_flight.remove(&key) else { return "Gone" };
        let helped = missed.iter().find(|(change, about, _)| helps(&pod, *change, about, &self.gates.devices));
        // Without a plugin to blame it was an error: back-off alone decides.
        if helped.is_some() || pod.refused_by.is_empty() {
            return self.requeue(key, pod, now).map_or(UNSCHEDULABLE, |moved| moved.queue);
        }
        self.set_aside(key, Unschedulable { pod, gated: None });
        UNSCHEDULABLE
    }
    /// The window in which a pod's back-off ends; none for one that was not refused yet.
    fn backoff_end(pod: &Queued) -> Option<Instant> {
        let tries = if pod.errors > 0 { pod.errors } else { pod.unschedulable };
        let doublings = tries.checked_sub(1)?.min(10);
        Some(window(pod.since + (INITIAL_BACKOFF * 2u32.saturating_pow(doublings)).min(MAX_BACKOFF)))
    }
    /// To the active queue, or to the back-off queue until its time has come, unless a plugin keeps it out.
    fn requeue(&mut self, key: PodKey, pod: Queued, now: Instant) -> Option<Moved> {
        let pod = self.admit(&key, pod)?;
        let Some(until) = Self::backoff_end(&pod).filter(|end| *end >= window(now)) else {
            self.activate_admitted(key.clone(), pod);
            return Some(Moved { key, queue: "Active" });
        };
        if pod.refused_by.is_empty() {
            self.error_backoff.insert((until, key.clone()));
        } else {
            let order = self.order(&pod);
            self.backoff.insert((until, order), key.clone());
        }
        self.waiting.insert(key.clone(), pod);
        Some(Moved { key, queue: "Backoff" })
    }
    /// Something changed: unschedulable pods that it may help move.
    pub fn changed(&mut self, change: Change, about: &About, revision: u64, now: Instant) -> Vec<Moved> {
        self.changed_for(change, about, revision, now, &|_| true)
    }
    /// [`changed`](Self::changed), where only some pods have to do with what changed.
    pub fn changed_for(
        &mut self,
        change: Change,
        about: &About,
        revision: u64,
        now: Instant,
        concerns: &dyn Fn(&PodInfo) -> bool,
    ) -> Vec<Moved> {
        self.note_in_flight(change, about, revision);
        let helped: Vec<PodKey> = self
            .unschedulable
            .iter()
            .filter(|(_, e)| {
                e.awaits(change) && concerns(&e.pod.info) && helps(&e.pod, change, about, &self.gates.devices)
            })
            .map(|(key, _)| key.clone())
            .collect();
        let mut moved = Vec::new();
        for key in helped {
            if let Some(mut entry) = self.leave_unschedulable(&key) {
                entry.pod.causes.insert(revision);
                moved.extend(self.requeue(key, entry.pod, now));
            }
        }
        moved
    }
    fn note_in_flight(&mut self, change: Change, about: &About, revision: u64) {
        for missed in self.in_flight.values_mut() {
            if missed.len() < IN_FLIGHT_CHANGES {
                missed.push((change, about.clone(), revision));
            }
        }
    }
    /// Moves pods whose back-off is over or that have waited for five minutes; whether there were any.
    pub fn flush(&mut self, now: Instant) -> bool {
        let mut over = Vec::new();
        while let Some(entry) = self.backoff.first_entry().filter(|entry| entry.key().0 < window(now)) {
            over.push(entry.remove());
        }
        while let Some((_, key)) = self.error_backoff.first().filter(|(end, _)| *end < window(now)) {
            over.push(key.clone());
            self.error_backoff.pop_first();
        }
        let mut moved = !over.is_empty();
        for key in over {
            // The plugins let it in when it came into back-off.
            if let Some(pod) = self.waiting.remove(&key) {
                self.activate_admitted(key, pod);
            }
        }
        let late: Vec<PodKey> = self.late.iter().take_while(|e| e.0 <= now).map(|e| e.1.clone()).collect();
        for key in late {
            if let Some(mut entry) = self.leave_unschedulable(&key) {
                entry.pod.flushed = now;
                moved |= self.requeue(key, entry.pod, now).is_some();
            }
        }
        moved
    }
    /// A pod is to be tried without delay (`Activate`); one that is being tried, again after this try.
    pub fn activate(&mut self, key: &PodKey) {
        if let Some(missed) = self.in_flight.get_mut(key) {
            missed.push((Change::ForceActivate, About::Nothing, 0));
        } else if self.places.contains_key(key) {
            // It is to be tried already.
        } else if let Some(pod) = self.waiting.remove(key) {
            // The plugins let it in when it came into back-off.
            self.leave_backoff(key);
            self.activate_admitted(key.clone(), pod);
        } else if let Some(entry) = self.leave_unschedulable(key) {
            self.enter(key.clone(), entry.pod);
        }
    }
    /// When the next pod moves by itself.
    pub fn next_flush(&self) -> Option<Instant> {
        let ends = [self.backoff.first_key_value().map(|((end, _), _)| *end), self.error_backoff.first().map(|e| e.0)];
        let late = self.late.first().map(|e| e.0);
        ends.into_iter().flatten().map(|end| end + WINDOW).chain(late).min()
    }
    /// When each pod that waits moves by itself.
    pub fn retries(&self) -> Vec<(Instant, PodKey)> {
        let backoff = self.backoff.iter().map(|((end, _), key)| (*end, key));
        let backoff = backoff.chain(self.error_backoff.iter().map(|(end, key)| (*end, key)));
        let backoff = backoff.map(|(end, key)| (end + WINDOW, key.clone()));
        // What is kept out on purpose has no time of its own worth telling.
        let late = self.unschedulable.iter().filter(|(_, e)| e.gated.is_none());
        backoff.chain(late.map(|(key, e)| (e.late(), key.clone()))).collect()
    }
    /// Why a gated pod waits.
    pub fn is_gated(&self, key: &PodKey) -> bool {
        self.unschedulable.get(key).is_some_and(|e| e.gated.is_some())
    }
}

/// The window that a moment is in, by its beginning. Worlds begin with a whole second of the clock.
fn window(at: Instant) -> Instant {
    let nanos = at.as_nanos();
    Instant::from_nanos(nanos - nanos % 1_000_000_000)
}

impl Gates {
    /// The plugin that keeps a pod out of the active queue.
    fn keep_out(&self, info: &PodInfo) -> Option<&'static str> {
        plugins::ALL.iter().find(|p| p.pre_enqueue.is_some_and(|f| f(info, self).is_some())).map(|p| p.name)
    }
}

/// Whether one of the plugins that refused the pod thinks that a change may help.
fn helps(pod: &Queued, change: Change, about: &About, devices: &Devices) -> bool {
    if change == Change::ForceActivate {
        return true;
    }
    let hints = pod.refused_by.iter().filter_map(|name| plugins::named(name)).flat_map(|p| p.hints);
    let mut fitting = hints.filter(|h| h.changes.contains(&change));
    fitting.any(|h| h.may_help(&pod.info, about, devices))
}
