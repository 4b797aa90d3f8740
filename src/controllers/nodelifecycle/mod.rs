//! The node lifecycle controller (`pkg/controller/nodelifecycle`): notices nodes that fall silent, taints them, and
//! holds back when too many are silent at once.

mod health;
mod queue;
mod zones;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use api::coordination_v1::Lease;
use api::core_v1::{Node, NodeCondition, Pod, PodCondition, Taint};
use api::{Rev, Str, Time};
use client::{Causes, Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog, object_reference};
use sim::sync::Notify;

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError, aggregate};
use crate::worker::{Reconcile, Worker};
use queue::TimedQueue;
use zones::ZoneState;

const MONITOR_PERIOD: Duration = Duration::from_secs(5);
/// How often tainting is looked at while there is something to taint (`NodeEvictionPeriod`).
const TAINTING_PERIOD: Duration = Duration::from_millis(100);
const LOGGER: &str = "node-lifecycle-controller";
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// NoSchedule taints that follow from conditions: condition, its status, taint.
const CONDITION_TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];
/// Labels that are kept under their old names too.
const RECONCILED_LABELS: [(&str, &str); 2] =
    [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];

/// The controller's parts.
pub struct NodeLifecycleController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    nodes: Lister<Node>,
    pods: Lister<Pod>,
    leases: Lister<Lease>,
    node_queue: WorkQueue<Key>,
    pod_queue: WorkQueue<Key>,
    /// What was last heard of each node. Bounded by the nodes, as all maps here.
    health: RefCell<BTreeMap<Str, health::NodeHealth>>,
    known: RefCell<BTreeMap<Str, Rev<Node>>>,
    retry_pods_of: RefCell<BTreeSet<Str>>,
    zone_states: RefCell<BTreeMap<Str, ZoneState>>,
    tainters: RefCell<BTreeMap<Str, TimedQueue>>,
    to_taint: Notify,
    /// A lease read live, newer than the cache: the cache is behind and proves nothing until it gets there.
    newer_lease: Cell<u64>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Controller will reconcile labels")
        .str("logger", LOGGER)
        .log(&cc.ctx, "node_lifecycle_controller.go:421");
    let client = cc.client("node-controller");
    let recorder = cc.recorder(&client, "node-controller", LOGGER);
    let (nodes, pods, leases) = (cc.informer::<Node>(), cc.informer::<Pod>(), cc.informer::<Lease>());
    let nc = Rc::new(NodeLifecycleController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        nodes: nodes.lister(),
        pods: pods.lister(),
        leases: leases.lister(),
        node_queue: WorkQueue::new(&cc.ctx, "node_lifecycle_controller"),
        pod_queue: WorkQueue::new(&cc.ctx, "node_lifecycle_controller_pods"),
        health: RefCell::default(),
        known: RefCell::default(),
        retry_pods_of: RefCell::default(),
        zone_states: RefCell::default(),
        tainters: RefCell::default(),
        to_taint: Notify::new(),
        newer_lease: Cell::new(0),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&nc.node_queue);
    cc.observed.watch_queue(&nc.pod_queue);
    let this = nc.clone();
    pods.on(move |delta| {
        let pod = delta.object();
        let moved = match delta {
            Delta::Added(_) => true,
            Delta::Updated { old, new } => old.spec.node_name != new.spec.node_name,
            Delta::Deleted(_) => false,
        };
        if moved && !pod.spec.node_name.is_empty() {
            this.pod_queue.add_caused(Key::of(&pod.metadata), pod.revision);
        }
    });
    let this = nc.clone();
    nodes.on(move |delta| match delta {
        Delta::Deleted(node) => drop(this.retry_pods_of.borrow_mut().remove(&node.metadata.name)),
        _ => this.node_queue.add_caused(Key::of(&delta.object().metadata), delta.revision()),
    });
    klog::info("Starting node controller").str("logger", LOGGER).log(&cc.ctx, "node_lifecycle_controller.go:467");
    futures_util::join!(leases.synced(), nodes.synced(), pods.synced());
    Worker::spawn(&cc.ctx, 8, nc.node_queue.clone(), Rc::new(Nodes(nc.clone())));
    Worker::spawn(&cc.ctx, 4, nc.pod_queue.clone(), Rc::new(Pods(nc.clone())));
    let this = nc.clone();
    cc.ctx.spawn("tainting", async move { this.taint_loop().await });
    loop {
        nc.monitor_node_health().await;
        cc.ctx.sleep(MONITOR_PERIOD).await;
    }
}

/// The condition of a type.
fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    node.status.conditions.iter().find(|c| c.type_ == type_)
}

fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.into(), effect: effect.into(), ..Taint::default() }
}

fn node_condition_text(c: &NodeCondition) -> String {
    let at = |t: Time| t.unix().map_or("<nil>".into(), |s| klog::go_time(s.saturating_mul(1_000_000_000), None));
    format!(
        "&NodeCondition{{Type:{},Status:{},LastHeartbeatTime:{},LastTransitionTime:{},Reason:{},Message:{},}}",
        c.type_,
        c.status,
        at(c.last_heartbeat_time),
        at(c.last_transition_time),
        c.reason,
        c.message
    )
}

impl NodeLifecycleController {
    fn now(&self) -> Time {
        Time::from_unix_nanos(self.ctx.unix_nanos())
    }

    /// Every five seconds: who was heard of, who was not, and what follows.
    async fn monitor_node_health(self: &Rc<Self>) {
        let nodes = self.nodes.list();
        self.classify(&nodes).await;
        let mut by_zone: BTreeMap<Str, Vec<Option<NodeCondition>>> = BTreeMap::new();
        // Eight at a time in the real one; what each does depends on no other.
        for node in &nodes {
            if let Some((zone, ready)) = self.update_node(node).await {
                by_zone.entry(zone).or_default().push(ready);
            }
        }
        self.handle_disruption(&by_zone, &nodes).await;
    }

    async fn classify(&self, nodes: &[Rev<Node>]) {
        let added: Vec<Rev<Node>> = {
            let known = self.known.borrow();
            nodes.iter().filter(|n| !known.contains_key(&n.metadata.name)).cloned().collect()
        };
        for node in nodes {
            self.add_zone(node);
        }
        for node in &added {
            let (name, uid) = (&node.metadata.name, &node.metadata.uid);
            klog::info("Controller observed a new Node")
                .str("logger", LOGGER)
                .obj("node", "", name)
                .log(&self.ctx, "node_lifecycle_controller.go:681");
            self.node_event(name, uid, "RegisteredNode", &format!("Registered Node {name} in Controller"));
            self.known.borrow_mut().insert(name.clone(), node.clone());
            let _ = self.mark_reachable(node).await;
        }
        let present: BTreeSet<&Str> = nodes.iter().map(|n| &n.metadata.name).collect();
        let gone: Vec<(Str, Str)> = {
            let known = self.known.borrow();
            let gone = known.iter().filter(|(name, _)| !present.contains(name));
            gone.map(|(name, node)| (name.clone(), node.metadata.uid.clone())).collect()
        };
        for (name, uid) in gone {
            klog::info("Controller observed a Node deletion")
                .str("logger", LOGGER)
                .obj("node", "", &name)
                .log(&self.ctx, "node_lifecycle_controller.go:689");
            self.node_event(&name, &uid, "RemovingNode", &format!("Removing Node {name} from Controller"));
            self.known.borrow_mut().remove(&name);
            self.health.borrow_mut().remove(&name);
        }
    }

    fn node_event(&self, name: &str, uid: &str, reason: &str, event: &str) {
        klog::info("Recording event message for node")
            .str("logger", LOGGER)
            .str("event", event)
            .obj("node", "", name)
            .log(&self.ctx, "controller_utils.go:173");
        let about = object_reference("v1", "Node", "", name, uid);
        self.recorder.event(&about, "Normal", reason, &format!("Node {name} event: {event}"));
    }

    /// One node's health; its zone and Ready condition if it counts for disruption.
    async fn update_node(self: &Rc<Self>, listed: &Rev<Node>) -> Option<(Str, Option<NodeCondition>)> {
        const TRIES: u32 = 5;
        let mut node = listed.clone();
        let mut outcome = None;
        for attempt in 1..=TRIES {
            match self.try_update_health(&node).await {
                Ok(result) => {
                    outcome = Some(result);
                    break;
                }
                Err(health::Failure::Stale(err)) => {
                    self.skip(&node, &err);
                    return None;
                }
                Err(health::Failure::Write) if attempt == TRIES => {
                    self.skip(&node, "timed out waiting for the condition");
                    return None;
                }
                Err(health::Failure::Write) => {
                    self.ctx.sleep(Duration::from_millis(20)).await;
                    match self.client.get::<Node>("", &listed.metadata.name).await {
                        Ok(fresh) => node = fresh,
                        Err(err) => {
                            klog::error(
                                "Failed while getting a Node to retry updating node health. Probably Node was deleted",
                            )
                            .str("logger", LOGGER)
                            .obj("node", "", &listed.metadata.name)
                            .log(&self.ctx, "node_lifecycle_controller.go:720");
                            self.skip(&node, &err.to_string());
                            return None;
                        }
                    }
                }
            }
        }
        let (node, observed_status, current) = outcome?;
        let name = &node.metadata.name;
        let counted = !node.metadata.labels.contains_key("node.kubernetes.io/exclude-disruption");
        if let Some(ready) = &current {
            let key = Key::new("", name);
            self.observed.desired(&key, "Ready".into());
            self.observed.actual(&key, format!("Ready is {}", ready.status));
            self.process_taint_based_eviction(&node, &ready.status).await;
            let lost = ready.status != "True" && observed_status == "True";
            let retry = self.retry_pods_of.borrow().contains(name) && observed_status != "True";
            if lost {
                klog::info("Recording status change event message for node")
                    .str("logger", LOGGER)
                    .str("status", "NodeNotReady")
                    .str("node", name)
                    .log(&self.ctx, "controller_utils.go:186");
                let about = object_reference("v1", "Node", "", name, &node.metadata.uid);
                let message = format!("Node {name} status is now: NodeNotReady");
                self.recorder.event(&about, "Normal", "NodeNotReady", &message);
            }
            if lost || retry {
                let pods = self.pods.by_index(utils::NODE_NAME_INDEX, name);
                let client = self.client.caused_by(&Causes::of(node.revision));
                if let Err(err) = self.mark_pods_not_ready(&client, &pods, name).await {
                    klog::error("Unable to mark all pods NotReady on node; queuing for retry")
                        .err(&err)
                        .str("logger", "UnhandledError")
                        .str("node", name)
                        .log(&self.ctx, "node_lifecycle_controller.go:766");
                    self.retry_pods_of.borrow_mut().insert(name.clone());
                    return counted.then(|| (zones::zone_of(&node), current.clone()));
                }
            }
        }
        self.retry_pods_of.borrow_mut().remove(name);
        counted.then(|| (zones::zone_of(&node), current.clone()))
    }

    fn skip(&self, node: &Node, err: &str) {
        klog::error("Update health of Node from Controller error, Skipping - no pods will be evicted")
            .err(err)
            .str("logger", LOGGER)
            .obj("node", "", &node.metadata.name)
            .log(&self.ctx, "node_lifecycle_controller.go:726");
    }

    async fn process_taint_based_eviction(&self, node: &Rev<Node>, ready: &str) {
        let client = self.client.caused_by(&Causes::of(node.revision));
        let (own, opposite, message) = match ready {
            "True" => {
                match self.mark_reachable(node).await {
                    Ok(true) => klog::info("Node is healthy again, removed all taints")
                        .str("logger", LOGGER)
                        .obj("node", "", &node.metadata.name)
                        .log(&self.ctx, "node_lifecycle_controller.go:826"),
                    Ok(false) => {}
                    Err(_) => klog::error("Failed to remove taints from node. Will retry in next iteration")
                        .str("logger", LOGGER)
                        .obj("node", "", &node.metadata.name)
                        .log(&self.ctx, "node_lifecycle_controller.go:823"),
                }
                return;
            }
            "False" => (NOT_READY, UNREACHABLE, "Node is NotReady. Adding it to the Taint queue"),
            _ => (UNREACHABLE, NOT_READY, "Node is unresponsive. Adding it to the Taint queue"),
        };
        if utils::taint_exists(&node.spec.taints, opposite, "NoExecute") {
            // The node is tainted already: only the taint's name changes, at once.
            let (add, remove) = (vec![taint(own, "NoExecute")], [taint(opposite, "NoExecute")]);
            utils::swap_taints(&self.ctx, &client, node, add, &remove).await;
        } else if self.mark_for_tainting(node, own) {
            klog::info(message)
                .str("logger", LOGGER)
                .obj("node", "", &node.metadata.name)
                .str("timeStamp", &klog::go_time(self.ctx.unix_nanos(), Some(self.ctx.now().as_nanos())))
                .log(
                    &self.ctx,
                    if own == NOT_READY {
                        "node_lifecycle_controller.go:806"
                    } else {
                        "node_lifecycle_controller.go:818"
                    },
                );
        }
    }

    /// Puts a node in its zone's taint queue; says whether it is new there.
    fn mark_for_tainting(&self, node: &Node, key: &str) -> bool {
        let mut tainters = self.tainters.borrow_mut();
        let Some(queue) = tainters.get_mut(&zones::zone_of(node)) else { return false };
        if !utils::taint_exists(&node.spec.taints, key, "NoExecute") {
            queue.remove(&node.metadata.name);
        }
        let added = queue.add(&node.metadata.name, self.ctx.now());
        if added {
            self.to_taint.notify();
        }
        added
    }

    /// Takes the NoExecute taints off; says whether the node stood in a taint queue.
    async fn mark_reachable(&self, node: &Rev<Node>) -> Result<bool, SyncError> {
        let client = self.client.caused_by(&Causes::of(node.revision));
        for key in [UNREACHABLE, NOT_READY] {
            let taints = [taint(key, "NoExecute")];
            if let Err(err) = utils::remove_taints(&self.ctx, &client, node, &taints).await {
                let what = key.rsplit('/').next().unwrap_or(key);
                klog::error(&format!("Failed to remove {what} taint from node"))
                    .err(&err)
                    .str("logger", LOGGER)
                    .obj("node", "", &node.metadata.name)
                    .log(&self.ctx, "node_lifecycle_controller.go:1267");
                return Err(err.into());
            }
        }
        let mut tainters = self.tainters.borrow_mut();
        Ok(tainters.get_mut(&zones::zone_of(node)).is_some_and(|q| q.remove(&node.metadata.name)))
    }

    async fn mark_pods_not_ready(&self, client: &Client, pods: &[Rev<Pod>], node: &str) -> Result<(), SyncError> {
        klog::info("Update ready status of pods on node")
            .str("logger", LOGGER)
            .obj("node", "", node)
            .log(&self.ctx, "controller_utils.go:125");
        let mut errors = Vec::new();
        for pod in pods.iter().filter(|p| p.spec.node_name == *node) {
            let Some(ready) = pod.status.conditions.iter().find(|c| c.type_ == "Ready") else { continue };
            let condition = PodCondition { status: "False".into(), ..ready.clone() };
            let mut copy = (**pod).clone();
            if !utils::update_pod_condition(copy.status.make(), condition, &self.now()) {
                continue;
            }
            let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
            klog::info("Updating ready status of pod to false")
                .str("logger", LOGGER)
                .obj("pod", namespace, name)
                .log(&self.ctx, "controller_utils.go:145");
            match client.update_status(copy, pod.revision).await {
                Ok(_) => {}
                Err(err) if err.is_not_found() => continue,
                Err(err) => {
                    klog::info("Failed to update status for pod")
                        .str("logger", LOGGER)
                        .obj("pod", namespace, name)
                        .err(&err)
                        .log(&self.ctx, "controller_utils.go:152");
                    errors.push(err.into());
                }
            }
            let about = utils::object_ref::<Pod>(&pod.metadata, pod.revision);
            self.recorder.event(&about, "Warning", "NodeNotReady", "Node is not ready");
        }
        aggregate(errors)
    }

    /// Every 100 ms while a node waits to be tainted: taints as fast as the zones' limits allow.
    async fn taint_loop(self: Rc<Self>) {
        loop {
            let woken = self.to_taint.notified();
            let next = {
                let now = self.ctx.now();
                let mut tainters = self.tainters.borrow_mut();
                tainters.values_mut().filter_map(|q| q.next_try(now)).min()
            };
            match next {
                None => woken.await,
                Some(at) => {
                    // On the grid of the real loop's period.
                    let period = TAINTING_PERIOD.as_nanos() as u64;
                    let ticks = at.as_nanos().div_ceil(period).saturating_mul(period);
                    let at = sim::Instant::from_nanos(ticks).max(self.ctx.now() + Duration::from_nanos(1));
                    let sleep = self.ctx.sleep_until(at);
                    // Who wakes it may have changed when there is something to do: never before the tick, so that a
                    // round over all nodes comes to its end, and to what it makes of their zones, first.
                    let (sleep, woken) = (std::pin::pin!(sleep), std::pin::pin!(woken));
                    let ticked = matches!(
                        futures_util::future::select(sleep, woken).await,
                        futures_util::future::Either::Left(_)
                    );
                    if ticked {
                        self.taint_pass().await;
                    }
                }
            }
        }
    }

    async fn taint_pass(&self) {
        let zones: Vec<Str> = self.tainters.borrow().keys().cloned().collect();
        for zone in zones {
            loop {
                let head = {
                    let mut tainters = self.tainters.borrow_mut();
                    tainters.get_mut(&zone).and_then(|q| q.try_head(self.ctx.now()))
                };
                let Some(name) = head else { break };
                let done = self.taint_node(&name).await;
                let mut tainters = self.tainters.borrow_mut();
                let Some(queue) = tainters.get_mut(&zone) else { break };
                match done {
                    Some(delay) => queue.postpone(&name, self.ctx.now() + delay + Duration::from_nanos(1)),
                    None => queue.finish(&name),
                }
            }
        }
    }

    /// Taints a node as its Ready condition says; how long to wait if it is to be tried again.
    async fn taint_node(&self, name: &str) -> Option<Duration> {
        let Some(node) = self.nodes.get("", name) else {
            klog::info("Node no longer present in nodeLister")
                .str("logger", LOGGER)
                .obj("node", "", name)
                .log(&self.ctx, "node_lifecycle_controller.go:612");
            return None;
        };
        let Some(ready) = condition(&node, "Ready") else {
            klog::info("Failed to get NodeCondition from the node status")
                .str("logger", LOGGER)
                .obj("node", "", name)
                .log(&self.ctx, "node_lifecycle_controller.go:621");
            return Some(Duration::from_millis(50));
        };
        let (own, opposite) = match &*ready.status {
            "False" => (NOT_READY, UNREACHABLE),
            "Unknown" => (UNREACHABLE, NOT_READY),
            _ => {
                klog::info("Node was in a taint queue, but it's ready now. Ignoring taint request")
                    .str("logger", LOGGER)
                    .obj("node", "", name)
                    .log(&self.ctx, "node_lifecycle_controller.go:639");
                return None;
            }
        };
        self.observed.action(&Key::new("", name), format!("taint {own}:NoExecute"));
        let client = self.client.caused_by(&Causes::of(node.revision));
        let add = vec![taint(own, "NoExecute")];
        let swapped = utils::swap_taints(&self.ctx, &client, &node, add, &[taint(opposite, "NoExecute")]).await;
        if swapped { None } else { Some(Duration::ZERO) }
    }

    async fn no_schedule_tainting(&self, work: &Work<Key>) {
        let Some(node) = self.nodes.by_key(&work.key) else { return };
        let mut wanted: Vec<Taint> = Vec::new();
        for c in &node.status.conditions {
            let rows = CONDITION_TAINTS.iter().filter(|(type_, status, _)| c.type_ == *type_ && c.status == *status);
            wanted.extend(rows.map(|(_, _, key)| taint(key, "NoSchedule")));
        }
        if node.spec.unschedulable {
            wanted.push(taint(UNSCHEDULABLE, "NoSchedule"));
        }
        let ours = |key: &str| key == UNSCHEDULABLE || CONDITION_TAINTS.iter().any(|(_, _, k)| *k == key);
        let has = |list: &[Taint], t: &Taint| utils::taint_exists(list, &t.key, &t.effect);
        let current = node.spec.taints.iter().filter(|t| t.effect == "NoSchedule" && ours(&t.key));
        let remove: Vec<Taint> = current.filter(|t| !has(&wanted, t)).cloned().collect();
        let add: Vec<Taint> = wanted.iter().filter(|t| !has(&node.spec.taints, t)).cloned().collect();
        if add.is_empty() && remove.is_empty() {
            return;
        }
        let client = self.client.caused_by(&work.causes);
        if !utils::swap_taints(&self.ctx, &client, &node, add, &remove).await {
            klog::error("Failed to taint NoSchedule on node, requeue it")
                .err(format!("failed to swap taints of node {}", work.key.name))
                .str("logger", LOGGER)
                .obj("node", "", &work.key.name)
                .log(&self.ctx, "node_lifecycle_controller.go:529");
        }
    }

    async fn reconcile_labels(&self, work: &Work<Key>) {
        let Some(node) = self.nodes.by_key(&work.key) else { return };
        let labels = &node.metadata.labels;
        let stale = RECONCILED_LABELS.iter().filter_map(|(primary, secondary)| {
            let value = labels.get(primary)?;
            (labels.get(secondary) != Some(value)).then_some((*secondary, &**value))
        });
        let stale: Vec<(&str, &str)> = stale.collect();
        if stale.is_empty() {
            return;
        }
        let client = self.client.caused_by(&work.causes);
        if let Err(err) = utils::add_or_update_labels(&client, &work.key.name, &stale).await {
            klog::error("Failed to reconcile labels for node, requeue it")
                .err(&err)
                .str("logger", LOGGER)
                .obj("node", "", &work.key.name)
                .log(&self.ctx, "node_lifecycle_controller.go:535");
        }
    }

    /// A pod that landed on a node that is not ready is not ready either.
    async fn process_pod(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(pod) = self.pods.by_key(&work.key) else { return Ok(()) };
        let name = &pod.spec.node_name;
        let ready = self.health.borrow().get(name).map(|h| h.ready.as_ref().map(|c| c.status.clone()));
        let Some(Some(ready)) = ready else { return Ok(()) };
        if self.nodes.get("", name).is_none() {
            return Err(format!("node \"{name}\" not found").into());
        }
        if ready == "True" {
            return Ok(());
        }
        self.mark_pods_not_ready(&self.client.caused_by(&work.causes), std::slice::from_ref(&pod), name).await
    }
}

/// The loop over nodes: their NoSchedule taints and old labels.
struct Nodes(Rc<NodeLifecycleController>);

impl Reconcile<Key> for Nodes {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        self.0.no_schedule_tainting(work).await;
        self.0.reconcile_labels(work).await;
        Ok(())
    }

    fn finished(&self, work: Work<Key>, _: Result<(), SyncError>) {
        self.0.node_queue.forget(&work.key);
    }
}

/// The loop over pods that came to a node.
struct Pods(Rc<NodeLifecycleController>);

impl Reconcile<Key> for Pods {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        self.0.process_pod(work).await
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.0.pod_queue.forget(&work.key),
            Err(err) => {
                klog::info("Unable to mark pod NotReady on node")
                    .str("logger", LOGGER)
                    .obj("pod", &work.key.namespace, &work.key.name)
                    .err(&err)
                    .log(&self.0.ctx, "node_lifecycle_controller.go:1215");
                self.0.pod_queue.retry(work);
            }
        }
    }
}
