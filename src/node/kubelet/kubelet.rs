//! The kubelet's parts, and the loop that feeds pods to their workers.

use super::backoff::Backoff;
use super::config::KubeletConfig;
use super::cri_client::CriClient;
use super::eviction::Pressure;
use super::image_gc::ImageAges;
use super::objects::ObjectCache;
use super::pleg::{Pleg, PodEvent};
use super::probes::Probes;
use super::reasons::Reasons;
use super::resize::Resizes;
use super::status_manager::StatusManager;
use super::volumes::Volumes;
use super::worker::{Update, Worker};
use super::{admission, gc, node_status, record::PodRecordExt, server, ticks};
use crate::files::Tree;
use crate::hardware::Hardware;
use crate::runtime::cri::PodRecord;
use api::core_v1::{Node, ObjectReference, Pod, PodStatus, Service};
use api::rest::Credential;
use api::{Rev, Str};
use client::{Causes, Client, ClientConfig, Delta, EventRecorder, Informer, InformerOptions, klog};
use sim::{Ctx, Duration, Instant, Rng};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often work that is due is looked for, and containers that nobody wants.
pub const SYNC_TICK: Duration = Duration::from_secs(1);

/// One node's agent.
pub struct Kubelet {
    /// The world.
    pub ctx: Ctx,
    /// How it is set up.
    pub config: KubeletConfig,
    /// The API server.
    pub client: Client,
    /// Writes events.
    pub recorder: EventRecorder,
    /// The container runtime.
    pub runtime: Rc<CriClient>,
    /// What runs.
    pub pleg: Rc<Pleg>,
    /// What was reported.
    pub statuses: Rc<StatusManager>,
    /// ConfigMaps and Secrets in use.
    pub objects: Rc<ObjectCache>,
    /// Mounted volumes.
    pub volumes: Volumes,
    /// Probes.
    pub probes: Rc<Probes>,
    /// Services, for the environment.
    pub services: Informer<Service>,
    /// This node as the API server has it.
    pub node: Informer<Node>,
    /// The node's own address.
    pub host_ip: Str,
    /// Why containers could not be started, by pod.
    pub reasons: RefCell<BTreeMap<Str, Reasons>>,
    /// Restarts of containers.
    pub crash_backoff: RefCell<Backoff>,
    /// Pulls of images.
    pub pull_backoff: RefCell<Backoff>,
    /// What the last failed pull said, by the key of its back-off.
    pub pull_errors: RefCell<BTreeMap<String, String>>,
    /// The machine under it.
    pub hardware: Rc<Hardware>,
    /// What runs short on it.
    pub pressure: Pressure,
    /// When images were last used.
    pub image_ages: ImageAges,
    /// What pods have been given, and what their containers have.
    pub resizes: Resizes,
    /// When it started.
    pub started: Instant,
    pub(super) pods: RefCell<BTreeMap<Str, Rev<Pod>>>,
    pub(super) workers: RefCell<BTreeMap<Str, Rc<Worker>>>,
    pub(super) rng: RefCell<Rng>,
    /// The grid of the sync loop.
    pub(super) first_tick: Instant,
    pub(super) node_state: node_status::NodeState,
    pub(super) gc_wanted: Cell<bool>,
    pub(super) gc_notify: sim::sync::Notify,
}

/// Runs a kubelet until its process ends. `disk` is the node's, `hardware` the machine.
pub async fn run(ctx: Ctx, config: KubeletConfig, disk: Rc<Tree>, hardware: Rc<Hardware>) {
    let user = format!("system:node:{}", config.node_name);
    let credential = Credential::Certificate { user: user.into(), groups: vec!["system:nodes".into()] };
    let agent = format!("kubelet/{} (linux/amd64) kubernetes/0000000", config.version);
    let limited =
        |qps: (f64, u32)| ClientConfig::new(config.server, credential.clone(), agent.as_str()).limited(qps.0, qps.1);
    let client = Client::new(&ctx, limited(config.qps));
    // Events and the heartbeat have clients of their own, so that a rush of pods doesn't starve them.
    let recorder = EventRecorder::new(&ctx, &Client::new(&ctx, limited((50.0, 100))), "kubelet", &config.node_name, "");
    let heartbeat = Client::new(&ctx, limited((0.0, 0)));

    let mut rng = ctx.rng("kubelet");
    let phase = |rng: &mut Rng| ctx.now() + Duration::from_millis(u64::from(rng.below(1_000)));
    let (first_tick, first_relist) = (phase(&mut rng), phase(&mut rng));
    let runtime = CriClient::new(&ctx);
    let pleg = Pleg::new(&ctx, runtime.clone(), first_relist);
    let node_named = |field: &str| InformerOptions {
        field_selector: format!("{field}={}", config.node_name).into(),
        name: "k8s.io/client-go/informers/factory.go:160",
        ..InformerOptions::default()
    };
    let services = InformerOptions { name: "k8s.io/client-go/informers/factory.go:160", ..InformerOptions::default() };
    let kubelet = Rc::new(Kubelet {
        statuses: StatusManager::new(&ctx, client.clone()),
        objects: ObjectCache::new(&ctx, client.clone()),
        volumes: Volumes::new(disk),
        probes: Probes::new(),
        services: Informer::new(client.clone(), services),
        node: Informer::new(client.clone(), node_named("metadata.name")),
        host_ip: ctx.host_ip().to_string().into(),
        reasons: RefCell::default(),
        crash_backoff: RefCell::new(Backoff::new(Duration::from_secs(10), Duration::from_secs(300))),
        pull_backoff: RefCell::new(Backoff::new(Duration::from_secs(10), Duration::from_secs(300))),
        pull_errors: RefCell::default(),
        hardware,
        pressure: Pressure::default(),
        image_ages: ImageAges::default(),
        resizes: Resizes::default(),
        started: ctx.now(),
        pods: RefCell::default(),
        workers: RefCell::default(),
        rng: RefCell::new(rng),
        first_tick,
        node_state: node_status::NodeState::default(),
        gc_wanted: Cell::new(false),
        gc_notify: sim::sync::Notify::new(),
        ctx: ctx.clone(),
        recorder,
        runtime,
        pleg: pleg.clone(),
        client: client.clone(),
        config: config.clone(),
    });
    klog::info("Starting kubelet main sync loop").log(&ctx, "kubelet.go:2555");
    kubelet.node_event("Normal", "Starting", "Starting kubelet.");
    kubelet.services.run();
    kubelet.node.run();
    ctx.spawn("node status", node_status::run(kubelet.clone()));
    ctx.spawn("lease", node_status::keep_lease(kubelet.clone(), heartbeat));
    ctx.spawn("status manager", super::status_manager::run(kubelet.clone()));
    ctx.spawn("collector", gc::run(kubelet.clone()));
    ctx.spawn("server", server::run(kubelet.clone()));
    ctx.spawn("eviction manager", super::eviction::run(kubelet.clone()));
    ctx.spawn("image collector", super::image_gc::run(kubelet.clone()));
    ctx.spawn("pending resizes", super::resize::run(kubelet.clone()));

    let listener = kubelet.clone();
    ctx.spawn("pleg", pleg.clone().run(move |uid, events| listener.pod_events(uid, events)));

    // Pods are taken once the node is known and the runtime was listed, so that nothing is started twice.
    kubelet.node.synced().await;
    while !pleg.is_healthy() {
        pleg.newer_than("", ctx.now()).await;
    }
    let pods = Informer::<Pod>::new(client, node_named("spec.nodeName"));
    let sink = kubelet.clone();
    pods.on(move |delta| sink.pod_changed(delta));
    pods.run();
    pods.synced().await;
    kubelet.stop_orphans();
    std::future::pending::<()>().await;
}

impl Kubelet {
    /// Pods that the kubelet has, by uid.
    pub fn pods(&self) -> Vec<Rev<Pod>> {
        self.pods.borrow().values().cloned().collect()
    }
    /// A pod of the kubelet.
    pub fn pod(&self, uid: &str) -> Option<Rev<Pod>> {
        self.pods.borrow().get(uid).cloned()
    }
    /// A pod by name.
    pub fn pod_named(&self, namespace: &str, name: &str) -> Option<Rev<Pod>> {
        self.pods.borrow().values().find(|p| p.metadata.namespace == *namespace && p.metadata.name == *name).cloned()
    }
    /// The last status of a pod.
    pub fn status_of(&self, pod: &Pod) -> Rc<PodStatus> {
        self.statuses.get(&pod.metadata.uid).unwrap_or_else(|| Rc::new((*pod.status).clone()))
    }
    /// The next moment of the sync loop.
    pub fn next_tick(&self, now: Instant) -> Instant {
        ticks::next(self.first_tick, SYNC_TICK, now)
    }
    /// What an event about a pod names; with a container: its field in the pod.
    pub fn reference(pod: &Pod, container: Option<&str>) -> ObjectReference {
        let meta = &pod.metadata;
        let field_path = container.map(|name| {
            let list = if pod.spec.init_containers.iter().any(|c| c.name == *name) {
                "initContainers"
            } else if pod.spec.ephemeral_containers.iter().any(|c| c.name == *name) {
                "ephemeralContainers"
            } else {
                "containers"
            };
            format!("spec.{list}{{{name}}}")
        });
        ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            field_path: field_path.unwrap_or_default().into(),
        }
    }
    /// An event about a pod or one of its containers.
    pub fn event(&self, pod: &Rev<Pod>, container: Option<&str>, type_: &str, reason: &str, message: &str) {
        let mut about = Self::reference(pod, container);
        about.resource_version = pod.resource_version();
        self.recorder.event_caused(&about, type_, reason, message, Causes::of(pod.revision));
    }
    /// An event about this node.
    pub fn node_event(&self, type_: &str, reason: &str, message: &str) {
        let name = &self.config.node_name;
        let about = ObjectReference {
            kind: "Node".into(),
            name: name.clone(),
            uid: name.clone(),
            ..ObjectReference::default()
        };
        self.recorder.event(&about, type_, reason, message);
    }

    /// A change of a pod of this node.
    fn pod_changed(self: &Rc<Self>, delta: &Delta<Pod>) {
        match delta {
            Delta::Added(pod) => self.add_pod(pod),
            Delta::Updated { old, new } if old.metadata.uid != new.metadata.uid => {
                self.remove_pod(old);
                self.add_pod(new);
            }
            Delta::Updated { old, new } => {
                let settled = old.spec.same(&new.spec) && !self.resizes.is_pending(&new.metadata.uid);
                let new = &if settled { new.clone() } else { self.given(new) };
                self.pods.borrow_mut().insert(new.metadata.uid.clone(), new.clone());
                // A change of the status alone is the kubelet's own echo, unless it needs to be told again.
                let same = old.spec.same(&new.spec)
                    && old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
                    && old.metadata.deletion_grace_period_seconds == new.metadata.deletion_grace_period_seconds
                    && old.metadata.labels.same(&new.metadata.labels)
                    && old.metadata.annotations.same(&new.metadata.annotations);
                if same {
                    self.statuses.reconcile(new);
                    if let Some(worker) = self.worker(&new.metadata.uid) {
                        worker.replace(new.clone());
                    }
                } else {
                    self.update_worker(new, Update::Update);
                }
            }
            Delta::Deleted(pod) => self.remove_pod(pod),
        }
    }

    fn add_pod(self: &Rc<Self>, pod: &Rev<Pod>) {
        let meta = &pod.metadata;
        klog::info("Pod update broadcasted")
            .str("podUID", &meta.uid)
            .str("type", "ADDED")
            .log(&self.ctx, "server.go:177");
        let others: Vec<Rev<Pod>> = self.active_pods();
        let pod = &self.resizes.add(pod);
        self.pods.borrow_mut().insert(meta.uid.clone(), pod.clone());
        let mut victims = Vec::new();
        let rejected = if super::phase::is_terminal(&pod.status.phase) || !meta.deletion_timestamp.is_zero() {
            None
        } else {
            let pressure = self.pressure.refuses(pod, self.ctx.now());
            let pressure = pressure.map(|message| admission::Rejection { reason: "Evicted".into(), message });
            let refused = || {
                let node = self.node.lister().list().into_iter().next()?;
                let admitted = super::preemption::admit(pod, &others, &node);
                admitted.map(|found| victims = found).err()
            };
            pressure.or_else(refused)
        };
        if let Some(why) = rejected {
            self.reject(pod, &why);
            return;
        }
        if victims.is_empty() {
            self.update_worker(pod, Update::Create);
        } else {
            super::preemption::preempt(self, meta.uid.clone(), victims);
        }
    }

    fn reject(self: &Rc<Self>, pod: &Rev<Pod>, why: &admission::Rejection) {
        self.event(pod, None, "Warning", &why.reason, &why.message);
        let mut status = (*pod.status).clone();
        status.phase = super::phase::FAILED.into();
        status.reason = why.reason.as_str().into();
        status.message = format!("Pod was rejected: {}", why.message).into();
        self.statuses.set(pod, status, false);
    }

    /// Pods that use the node's resources.
    pub fn active_pods(&self) -> Vec<Rev<Pod>> {
        let pods = self.pods.borrow();
        let active = |p: &&Rev<Pod>| {
            let phase = self.statuses.get(&p.metadata.uid).map_or_else(|| p.status.phase.clone(), |s| s.phase.clone());
            !super::phase::is_terminal(&phase)
        };
        pods.values().filter(active).cloned().collect()
    }

    fn remove_pod(self: &Rc<Self>, pod: &Rev<Pod>) {
        let uid = &pod.metadata.uid;
        self.pods.borrow_mut().remove(uid);
        self.resizes.forget(uid);
        klog::info("Pod removed broadcasted").str("podUID", uid).log(&self.ctx, "server.go:190");
        self.statuses.forget(uid);
        match self.worker(uid) {
            Some(worker) if worker.is_finished() => self.drop_worker(uid),
            Some(worker) => worker.update(Some(pod.clone()), Update::Kill),
            None => {}
        }
        self.want_gc();
        super::resize::retry(self);
    }

    /// A changed pod with the resources that it has been given; what it asks for is tried.
    fn given(self: &Rc<Self>, pod: &Rev<Pod>) -> Rev<Pod> {
        let (view, asks) = self.resizes.update(pod);
        if !asks {
            return view;
        }
        super::resize::allocate(self, pod).unwrap_or(view)
    }

    /// A pod was given what it had asked for.
    pub(super) fn resized(self: &Rc<Self>, pod: &Rev<Pod>) {
        self.pods.borrow_mut().insert(pod.metadata.uid.clone(), pod.clone());
        self.update_worker(pod, Update::Update);
    }

    /// Forgets a finished worker, and what was kept for its pod.
    pub(super) fn drop_worker(&self, uid: &Str) {
        self.workers.borrow_mut().remove(uid);
        self.reasons.borrow_mut().remove(uid);
        self.want_gc();
    }

    /// The collector has something to do.
    pub(super) fn want_gc(&self) {
        self.gc_wanted.set(true);
        self.gc_notify.notify();
    }

    pub(super) fn worker(&self, uid: &str) -> Option<Rc<Worker>> {
        self.workers.borrow().get(uid).cloned()
    }

    pub(super) fn update_worker(self: &Rc<Self>, pod: &Rev<Pod>, update: Update) {
        let uid = &pod.metadata.uid;
        let known = self.worker(uid);
        let worker = known.unwrap_or_else(|| {
            let worker = Worker::start(self, pod.clone());
            self.workers.borrow_mut().insert(uid.clone(), worker.clone());
            worker
        });
        worker.update(Some(pod.clone()), update);
    }

    /// Wakes a pod's worker.
    pub fn sync_soon(&self, uid: &str) {
        if let Some(worker) = self.worker(uid) {
            worker.update(None, Update::Sync);
        }
    }

    /// What the generator saw of a pod.
    fn pod_events(self: &Rc<Self>, uid: &Str, events: &[PodEvent]) {
        if events.iter().any(|e| matches!(e, PodEvent::Started(_) | PodEvent::Died(_) | PodEvent::Sync)) {
            self.sync_soon(uid);
        }
        for event in events {
            if let PodEvent::Died(id) = event {
                gc::container_died(self, uid, id);
            }
        }
        if self.worker(uid).is_none() {
            self.want_gc();
        }
    }

    /// After a start: pods that run and that nobody wants any more are ended.
    fn stop_orphans(self: &Rc<Self>) {
        for (uid, record) in self.pleg.all() {
            if self.worker(&uid).is_none() && (record.any_running() || record.sandboxes.iter().any(|s| s.ready)) {
                let (kubelet, uid) = (self.clone(), uid.clone());
                self.ctx.spawn("orphan", async move { kubelet.kill_orphan(&uid, &record).await });
            }
        }
        self.want_gc();
    }

    async fn kill_orphan(self: &Rc<Self>, uid: &Str, record: &PodRecord) {
        for container in record.containers.iter().filter(|c| c.state == crate::runtime::cri::State::Running) {
            let _ = self
                .runtime
                .done(crate::runtime::cri::Call::StopContainer(container.id.clone(), Duration::from_secs(2)))
                .await;
        }
        for sandbox in record.sandboxes.iter().filter(|s| s.ready) {
            let _ = self.runtime.done(crate::runtime::cri::Call::StopSandbox(sandbox.id.clone())).await;
        }
        klog::info("Pod termination stopped all running orphaned containers")
            .str("podUID", uid)
            .log(&self.ctx, "kubelet.go:2515");
        self.want_gc();
    }
}
