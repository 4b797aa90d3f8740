//! The process: leader election, informers, and the loop over the active queue.

use crate::binding;
use crate::cache::Cache;
use crate::cycle::{self, Outcome};
use crate::devices::Devices;
use crate::events::{self, Condition};
use crate::executor;
use crate::framework::{Cycle, Gates};
use crate::handlers::{self, Informers};
use crate::message;
use crate::node_info::{NodeInfo, PodInfo, PodKey};
use crate::plugins::{self, dynamic_resources};
use crate::pre_bind::PodsInPreBind;
use crate::preemption;
use crate::queue::{Queue, Queued};
use crate::verdict::{Attempt, Code, Rejection};
use api::core_v1::{PersistentVolume, Pod};
use api::{Rev, Str};
use client::{Client, ClientConfig, EventRecorder, EventsV1Recorder, LeaderElectionConfig, LeaderElector, klog};
use sim::sync::Notify;
use sim::{Ctx, Duration, Instant};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Where `/healthz` is answered (`--secure-port`).
const SECURE_PORT: u16 = 10_259;
/// The profile's name.
pub(crate) const NAME: &str = "default-scheduler";
/// Tries that observers can still read.
const ATTEMPTS: usize = 2048;
/// Verdicts of nodes in all of these together; older tries keep only that of the node that won.
const VERDICTS: usize = 16_384;
/// What a cycle costs besides what its nodes do.
const CYCLE: Duration = Duration::from_micros(300);
/// And for each node looked at.
const PER_NODE: Duration = Duration::from_micros(2);

/// The scheduler's flags.
#[derive(Clone)]
pub struct Config {
    /// How to reach the API server. The scheduler's own limits are 50 requests a second and 100 at once.
    pub client: ClientConfig,
    /// Its identity in the lease: `cp-1_<uuid>`.
    pub identity: String,
}

pub(crate) struct Inner {
    pub ctx: Ctx,
    pub client: Client,
    pub cache: RefCell<Cache>,
    pub queue: RefCell<Queue>,
    pub gates: Gates,
    pub wake: Notify,
    pub informers: Informers,
    pub recorder: EventsV1Recorder,
    /// Pods that were promised room on a node, until they are placed or gone.
    pub nominated: RefCell<BTreeMap<PodKey, (Str, Rc<PodInfo>)>>,
    /// Volumes that were promised to claims, until the cache shows it or the promise is taken back. Bounded by the
    /// pods that are being bound.
    pub assumed: Rc<RefCell<BTreeMap<Str, Rev<PersistentVolume>>>>,
    /// Pods that can be called back.
    pub pre_bind: PodsInPreBind,
    pub attempts: RefCell<VecDeque<Attempt>>,
    leads: Cell<bool>,
    cycles: Cell<u64>,
    pub binding: Cell<u32>,
}

/// A kube-scheduler. Clones are handles on the same one, for observers.
#[derive(Clone)]
pub struct Scheduler {
    pub(crate) inner: Rc<Inner>,
    config: Config,
}

impl Scheduler {
    /// One that has not started.
    pub fn new(ctx: &Ctx, config: Config) -> Self {
        let client = Client::new(ctx, config.client.clone());
        let informers = Informers::new(&client);
        let mut gates = informers.gates();
        gates.devices = gates.devices.with_clock(ctx);
        let inner = Rc::new(Inner {
            ctx: ctx.clone(),
            informers,
            recorder: EventsV1Recorder::new(ctx, &client, NAME),
            client,
            cache: RefCell::default(),
            queue: RefCell::new(Queue::new(gates.clone())),
            gates,
            wake: Notify::new(),
            nominated: RefCell::default(),
            assumed: Rc::default(),
            pre_bind: PodsInPreBind::default(),
            attempts: RefCell::default(),
            leads: Cell::new(false),
            cycles: Cell::new(0),
            binding: Cell::new(0),
        });
        Self { inner, config }
    }

    /// Runs until the process ends or loses its lease.
    pub async fn run(self) {
        let inner = self.inner.clone();
        let ctx = inner.ctx.clone();
        klog::info("Starting Kubernetes Scheduler").str("version", "v1.37.2").log(&ctx, "server.go:187");
        klog::info("Golang settings")
            .str("GOGC", "")
            .str("GOMAXPROCS", "")
            .str("GOTRACEBACK", "")
            .log(&ctx, "server.go:189");
        client::healthz::serve(&ctx, SECURE_PORT);
        handlers::register(&inner);
        inner.informers.run();
        inner.informers.synced().await;
        let elector_client = Client::new(&ctx, ClientConfig { qps: 0.0, burst: 0, ..self.config.client.clone() });
        let recorder = EventRecorder::new(&ctx, &elector_client, NAME, "", "");
        let lease = LeaderElectionConfig::new("kube-scheduler", &self.config.identity);
        let mut elector = LeaderElector::new(&ctx, elector_client, recorder, lease);
        let terminated = ctx.terminated();
        futures_util::pin_mut!(terminated);
        let acquired = {
            let acquire = elector.acquire();
            futures_util::pin_mut!(acquire);
            matches!(
                futures_util::future::select(acquire, &mut terminated).await,
                futures_util::future::Either::Left(_)
            )
        };
        if acquired {
            inner.leads.set(true);
            ctx.spawn("scheduling", schedule_pods(inner.clone()));
            ctx.spawn("flush", flush(inner.clone()));
            let lost = {
                let renew = elector.renew();
                futures_util::pin_mut!(renew);
                matches!(
                    futures_util::future::select(renew, &mut terminated).await,
                    futures_util::future::Either::Left(_)
                )
            };
            if lost {
                klog::error("Leaderelection lost").log(&ctx, "server.go:337");
                return;
            }
            elector.release().await;
        }
        klog::error("Requested to terminate, exiting").log(&ctx, "server.go:333");
    }

    // Observers

    /// Whether it holds the lease.
    pub fn leads(&self) -> bool {
        self.inner.leads.get()
    }
    /// Pods in the active, back-off and unschedulable queues.
    pub fn queue_lengths(&self) -> (usize, usize, usize) {
        self.inner.queue.borrow().lengths()
    }
    /// When each pod that waits is tried again unless a change helps it: time, namespace, name.
    pub fn retries(&self) -> Vec<(Instant, Str, Str)> {
        let retries = self.inner.queue.borrow().retries();
        retries.into_iter().map(|(at, key)| (at, key.0, key.1)).collect()
    }
    /// The last try of a pod.
    pub fn last_attempt(&self, namespace: &str, name: &str) -> Option<Attempt> {
        let attempts = self.inner.attempts.borrow();
        attempts.iter().rev().find(|a| *a.pod.0 == *namespace && *a.pod.1 == *name).cloned()
    }
    /// The newest try of all.
    pub fn newest_attempt(&self) -> Option<Attempt> {
        self.inner.attempts.borrow().back().cloned()
    }
    /// Cycles run so far.
    pub fn cycles(&self) -> u64 {
        self.inner.cycles.get()
    }
    /// The node on which a pod is assumed before its binding has been seen.
    pub fn assumed_node(&self, namespace: &str, name: &str) -> Option<Str> {
        self.inner.cache.borrow().assumed_node(&PodKey(namespace.into(), name.into())).cloned()
    }
    /// Bindings that are being written.
    pub fn bindings_in_flight(&self) -> u32 {
        self.inner.binding.get()
    }
}

async fn schedule_pods(inner: Rc<Inner>) {
    let mut rng = inner.ctx.rng("choice");
    let mut start = 0;
    loop {
        let woken = inner.wake.notified();
        let next = inner.queue.borrow_mut().pop();
        match next {
            Some(pod) => schedule_one(&inner, pod, &mut start, &mut rng).await,
            None => woken.await,
        }
    }
}

/// Moves pods whose back-off is over; sleeps until the next one, not each second.
async fn flush(inner: Rc<Inner>) {
    loop {
        if inner.queue.borrow_mut().flush(inner.ctx.now()) {
            inner.wake.notify();
        }
        // Whoever puts a pod into a queue gives the signal, so a new earliest time is noticed.
        let woken = inner.wake.notified();
        let next = inner.queue.borrow().next_flush().unwrap_or(Instant::FAR);
        futures_util::future::select(woken, Box::pin(inner.ctx.sleep_until(next).named("scheduling retry"))).await;
    }
}

async fn schedule_one(inner: &Rc<Inner>, pod: Queued, start: &mut usize, rng: &mut sim::Rng) {
    let ctx = &inner.ctx;
    let key = pod.info.key();
    klog::info("About to try and schedule pod").obj("pod", &key.0, &key.1).log(ctx, "schedule_one.go:101");
    if !pod.info.pod.metadata.deletion_timestamp.is_zero() {
        let message = format!("skip schedule deleting pod: {key}");
        events::failed(&inner.recorder, &pod.info, &message, pod.causes.clone());
        inner.queue.borrow_mut().done(&key);
        return;
    }
    if inner.cache.borrow().is_assumed(&key) {
        inner.queue.borrow_mut().done(&key);
        return;
    }
    klog::info("Attempting to schedule pod").obj("pod", &key.0, &key.1).log(ctx, "schedule_one.go:117");
    let storage = || inner.informers.storage(&inner.assumed);
    let devices = || inner.gates.devices.clone();
    let snapshot = inner.cache.borrow_mut().snapshot(storage(), devices());
    let cost = PER_NODE * u32::try_from(snapshot.nodes.len().min(1000)).unwrap_or(1000);
    ctx.sleep(CYCLE + cost).await;
    // The pod may have gone while the clock moved.
    let snapshot =
        if snapshot.nodes.is_empty() { inner.cache.borrow_mut().snapshot(storage(), devices()) } else { snapshot };
    let selector = inner.informers.default_selector(&pod.info.pod);
    let info = pod.info.clone();
    let cycle = Cycle::new(&info, &snapshot, selector);
    let nominated = |node: &NodeInfo| inner.with_nominated(node, &info);
    let outcome = cycle::schedule(&cycle, start, &nominated, rng);
    inner.cycles.set(inner.cycles.get() + 1);
    match (outcome.error.clone(), outcome.chosen.clone()) {
        (Some(why), _) => {
            klog::unhandled("Error scheduling pod; retrying")
                .err(&why)
                .obj("pod", &key.0, &key.1)
                .log(ctx, "schedule_one.go:1198");
            let mut pod = pod;
            pod.refused_by.clear();
            inner.remember(inner.attempt(&pod, outcome));
            fail(inner, pod, "SchedulerError", &why, Some("")).await;
        }
        (None, Some(node)) => {
            let found = dynamic_resources::chosen(&cycle, &node);
            let promises = found.map(|found| inner.gates.devices.reserve(found, rng)).unwrap_or_default();
            binding::bind(inner, pod, outcome, node, promises);
        }
        (None, None) => no_fit(inner, pod, outcome, &cycle, rng).await,
    }
}

impl Inner {
    /// A node with the pods of equal or higher priority that were promised room on it.
    fn with_nominated(&self, node: &NodeInfo, pod: &PodInfo) -> Option<NodeInfo> {
        let nominated = self.nominated.borrow();
        let here = nominated.values().filter(|(n, other)| {
            n == node.name() && other.priority() >= pod.priority() && other.pod.metadata.uid != pod.pod.metadata.uid
        });
        let mut promised: Option<NodeInfo> = None;
        for (_, other) in here {
            promised.get_or_insert_with(|| node.clone()).add(other.clone());
        }
        promised
    }
    /// A pod is promised room on `node`, or none any more if that is empty; without it, what its status says counts
    /// (`addNominatedPod`).
    pub(crate) fn nominate(&self, pod: &Rc<PodInfo>, node: Option<&str>) {
        let node = node.map_or_else(|| pod.pod.status.nominated_node_name.clone(), Str::from);
        let mut nominated = self.nominated.borrow_mut();
        if node.is_empty() {
            nominated.remove(&pod.key());
        } else {
            nominated.insert(pod.key(), (node, pod.clone()));
        }
    }
    pub(crate) fn remember(&self, attempt: Attempt) {
        let mut attempts = self.attempts.borrow_mut();
        if attempts.len() >= ATTEMPTS {
            attempts.pop_front();
        }
        attempts.push_back(attempt);
        let mut verdicts: usize = attempts.iter().map(|a| a.nodes.len()).sum();
        let is_whole = |a: &&mut Attempt| a.nodes.len() > usize::from(a.chosen.is_some());
        for old in attempts.iter_mut().filter(is_whole) {
            if verdicts <= VERDICTS {
                break;
            }
            verdicts -= old.nodes.len();
            old.forget_nodes();
            verdicts += old.nodes.len();
        }
    }
    pub(crate) fn attempt(&self, pod: &Queued, outcome: Outcome) -> Attempt {
        Attempt {
            pod: pod.info.key(),
            uid: pod.info.pod.metadata.uid.clone(),
            number: pod.attempts,
            at: self.ctx.now().as_nanos(),
            nodes: outcome.nodes,
            pre_filter: outcome.pre_filter,
            chosen: outcome.chosen,
            message: None,
            bound: false,
        }
    }
}

async fn no_fit(inner: &Rc<Inner>, mut pod: Queued, outcome: Outcome, cycle: &Cycle<'_>, rng: &mut sim::Rng) {
    let ctx = &inner.ctx;
    let key = pod.info.key();
    let snapshot = cycle.snapshot;
    let all = snapshot.nodes.len();
    pod.refused_by = outcome.nodes.iter().filter_map(|n| n.rejected.as_ref().map(|r| r.0)).collect();
    if let Some((plugin, _)) = &outcome.pre_filter {
        pod.refused_by.insert(plugin);
    }
    let (mut post_filter, mut nominated) = (String::new(), None);
    let place = |name: &str| plugins::ALL.iter().position(|p| p.name == name);
    if outcome.pre_filter.as_ref().is_some_and(|(by, _)| place(by) < place("DynamicResources")) {
        // DynamicResources is asked first, and lacks what its own PreFilter would have left; nobody else is asked then.
        post_filter = "not found".to_string();
        pod.refused_by.insert("DynamicResources");
    } else if all > 0 {
        let freed = free_devices(inner, &pod, &outcome, cycle).await;
        let budgets = inner.informers.budgets();
        let promised = |node: &NodeInfo| inner.with_nominated(node, &pod.info);
        let found = preemption::run(&pod.info, snapshot, &outcome.nodes, &budgets, rng.index(all), &promised);
        match found {
            preemption::Outcome::Ineligible(why) => post_filter = format!("preemption: {why}"),
            preemption::Outcome::None(why) => {
                let hopeless = |v: &crate::verdict::NodeVerdict| {
                    v.rejected.as_ref().is_some_and(|(_, r)| r.code == Code::Unresolvable)
                };
                if outcome.nodes.iter().all(hopeless) {
                    klog::info("Preemption will not help schedule pod on any node")
                        .str("logger", "PostFilter.DefaultPreemption")
                        .obj("pod", &key.0, &key.1)
                        .log(ctx, "preemption.go:212");
                }
                klog::info("No preemption candidate is found; preemption is not helpful for scheduling")
                    .str("logger", "PostFilter.DefaultPreemption")
                    .obj("pod", &key.0, &key.1)
                    .log(ctx, "preemption.go:136");
                post_filter = format!("preemption: {why}");
                nominated = Some(Str::default());
            }
            preemption::Outcome::Found(best) => {
                klog::info("the target node for the preemption is determined")
                    .str("logger", "PostFilter.DefaultPreemption")
                    .str("node", &best.node)
                    .obj("pod", &key.0, &key.1)
                    .log(ctx, "preemption.go:189");
                post_filter = format!(
                    "preemption: found a potential placement for pod on node {}, preempting {} victims",
                    best.node,
                    best.victims.len()
                );
                nominated = Some(best.node.clone());
                executor::start(inner, pod.info.clone(), best, pod.causes.clone());
            }
        }
        if let Some(freed) = freed {
            post_filter = format!("{freed}, {post_filter}");
        }
        pod.refused_by.insert("DefaultPreemption");
    }
    let pre_filter = outcome.pre_filter.as_ref().map(|(_, r)| r);
    let message = message::failed(all, &outcome.nodes, pre_filter, &post_filter);
    klog::info("Unable to schedule pod; no fit; waiting")
        .obj("pod", &key.0, &key.1)
        .err(&message)
        .log(ctx, "schedule_one.go:1194");
    let mut attempt = inner.attempt(&pod, outcome);
    attempt.message = Some(message.as_str().into());
    inner.remember(attempt);
    fail(inner, pod, "Unschedulable", &message, nominated.as_deref()).await;
}

/// Frees a claim whose devices are on other nodes than those that would do, if nobody else uses it (DynamicResources'
/// PostFilter); what is to be said of it.
async fn free_devices(inner: &Rc<Inner>, pod: &Queued, outcome: &Outcome, cycle: &Cycle<'_>) -> Option<&'static str> {
    let is_there = |r: &Rejection| r.reasons.iter().any(|reason| reason.text == dynamic_resources::NOT_HERE);
    let refused = outcome.nodes.iter().filter(|n| n.rejected.as_ref().is_some_and(|(_, r)| is_there(r)));
    let nodes: Vec<&NodeInfo> = refused.filter_map(|n| cycle.snapshot.node(&n.node)).map(|n| &**n).collect();
    let client = inner.client.caused_by(&pod.causes);
    let Some(claim) = dynamic_resources::in_the_way(cycle, &nodes) else {
        let deleted = Devices::delete(&client, dynamic_resources::left_over(cycle)?).await;
        return deleted.is_ok().then_some("deletion of ResourceClaim completed");
    };
    let freed = Devices::deallocate(&client, &pod.info.pod, &claim).await;
    freed.is_ok_and(|done| done).then_some("deallocation of ResourceClaim completed")
}

/// Back to the queue, with an event and the pod's condition. `nominated` is the node that the pod was promised now, empty
/// for none; without it the last promise stands.
pub(crate) async fn fail(
    inner: &Rc<Inner>,
    mut pod: Queued,
    reason: &'static str,
    message: &str,
    nominated: Option<&str>,
) {
    let ctx = &inner.ctx;
    let key = pod.info.key();
    let same = |p: &Rev<Pod>| p.metadata.uid == pod.info.pod.metadata.uid && p.spec.node_name.is_empty();
    let Some(current) = inner.informers.pod(&key).filter(same) else {
        inner.queue.borrow_mut().done(&key);
        inner.nominated.borrow_mut().remove(&key);
        return;
    };
    if current.revision != pod.info.pod.revision {
        pod.info = PodInfo::new(current.clone());
    }
    let (info, causes) = (pod.info.clone(), pod.causes.clone());
    let refused: Vec<String> = pod.refused_by.iter().map(|p| format!("\"{p}\":{{}}")).collect();
    let now = ctx.now();
    let queue = inner.queue.borrow_mut().unschedulable(pod, now);
    klog::info("Pod moved to an internal scheduling queue")
        .obj("pod", &key.0, &key.1)
        .str("event", "ScheduleAttemptFailure")
        .str("queue", queue)
        .raw("schedulingCycle", inner.cycles.get())
        .raw("hint", 0)
        .raw("unschedulable plugins", format!("{{{}}}", refused.join(",")))
        .log(ctx, "scheduling_queue.go:1137");
    inner.wake.notify();
    inner.nominate(&info, nominated);
    events::failed(&inner.recorder, &info, message, causes.clone());
    klog::info("Updating pod condition and nominated node name")
        .obj("pod", &key.0, &key.1)
        .str("conditionType", "PodScheduled")
        .str("conditionStatus", "False")
        .str("conditionReason", reason)
        .str("nominatedNodeName", nominated.unwrap_or_default())
        .raw("nominatingMode", 1)
        .log(ctx, "schedule_one.go:1293");
    let (inner, message, nominated) = (inner.clone(), message.to_string(), nominated.map(str::to_string));
    ctx.spawn("condition", async move {
        let condition = Condition { type_: "PodScheduled", status: "False", reason, message: &message };
        let client = inner.client.caused_by(&causes);
        let now = inner.ctx.unix_nanos() / 1_000_000_000;
        if let Err(status) = events::patch_status(&client, now, &current, Some(&condition), nominated.as_deref()).await
        {
            klog::error("Error updating pod")
                .obj("pod", &key.0, &key.1)
                .err(status)
                .log(&inner.ctx, "schedule_one.go:1268");
        }
    });
}
