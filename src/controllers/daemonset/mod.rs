//! The daemonset controller (`pkg/controller/daemon`): one pod on every node that suits it.

mod placement;
mod status;
mod update;

use api::SortSmall;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::apps_v1::{ControllerRevision, DaemonSet};
use api::core_v1::{Node, Pod, PodTemplateSpec};
use api::meta_v1::OwnerReference;
use api::selector::LabelSelector;
use api::{Resource, Rev, Str};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};
use futures_util::future::join_all;
use sim::Instant;

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, Expectations, PodControl, SyncError, aggregate, controller_of};
use crate::history;
use crate::worker::{Reconcile, Worker};

/// Pods created or deleted in one run at most.
const BURST_REPLICAS: usize = 250;
const LOGGER: &str = "daemonset-controller";
/// Pauses between deletions of failed pods on a node, doubling, forgotten after twice the longest.
const FAILED_BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15 * 60));

/// The controller's parts.
pub struct DaemonSetsController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    sets: Lister<DaemonSet>,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    revisions: Lister<ControllerRevision>,
    queue: WorkQueue<Key>,
    expectations: Expectations,
    /// Back-off of failed pods by set and node. Bounded by both.
    failed: RefCell<BTreeMap<(Key, Str), (Duration, Instant)>>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting daemon sets controller").str("logger", LOGGER).log(&cc.ctx, "daemon_controller.go:368");
    let client = cc.client("daemon-set-controller");
    let recorder = cc.recorder(&client, LOGGER, LOGGER);
    let (sets, pods, nodes) = (cc.informer::<DaemonSet>(), cc.informer::<Pod>(), cc.informer::<Node>());
    let revisions = cc.informer::<ControllerRevision>();
    let dsc = Rc::new(DaemonSetsController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        sets: sets.lister(),
        pods: pods.lister(),
        nodes: nodes.lister(),
        revisions: revisions.lister(),
        queue: WorkQueue::new(&cc.ctx, "daemonset"),
        expectations: Expectations::new(&cc.ctx, LOGGER),
        failed: RefCell::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&dsc.queue);
    let this = dsc.clone();
    sets.on(move |delta| this.on_set(delta));
    let this = dsc.clone();
    pods.on(move |delta| this.on_pod(delta));
    let this = dsc.clone();
    nodes.on(move |delta| this.on_node(delta));
    let this = dsc.clone();
    revisions.on(move |delta| this.on_revision(delta));
    futures_util::join!(pods.synced(), nodes.synced(), revisions.synced(), sets.synced());
    Worker::spawn(&cc.ctx, 2, dsc.queue.clone(), dsc);
}

impl DaemonSetsController {
    fn on_set(&self, delta: &Delta<DaemonSet>) {
        let set = delta.object();
        let key = Key::of(&set.metadata);
        let (message, place) = match delta {
            Delta::Added(_) => ("Adding daemon set", "daemon_controller.go:287"),
            Delta::Updated { .. } => ("Updating daemon set", "daemon_controller.go:310"),
            Delta::Deleted(_) => ("Deleting daemon set", "daemon_controller.go:335"),
        };
        klog::info(message).str("logger", LOGGER).obj("daemonset", &key.namespace, &key.name).log(&self.ctx, place);
        let recreated = matches!(delta, Delta::Updated { old, new } if old.metadata.uid != new.metadata.uid);
        if recreated || matches!(delta, Delta::Deleted(_)) {
            self.expectations.delete(&key);
            self.failed.borrow_mut().retain(|(k, _), _| *k != key);
        }
        self.queue.add_caused(key, delta.revision());
    }

    fn on_pod(&self, delta: &Delta<Pod>) {
        let pod = delta.object();
        let meta = &pod.metadata;
        let going = meta.deletion_timestamp.unix().is_some() || matches!(delta, Delta::Deleted(_));
        if let Delta::Updated { old, new } = delta {
            if old.revision == new.revision {
                return;
            }
            let (before, after) = (controller_of(&old.metadata), controller_of(meta));
            if !going
                && !utils::same_ref(before, after)
                && let Some(set) = before.and_then(|r| self.resolve(&meta.namespace, r))
            {
                self.queue.add_caused(Key::of(&set.metadata), new.revision);
            }
        }
        let Some(reference) = controller_of(meta) else {
            if !going {
                self.orphan_changed(pod);
            }
            return;
        };
        let Some(set) = self.resolve(&meta.namespace, reference) else { return };
        let key = Key::of(&set.metadata);
        let line = |message: &str, place| {
            klog::info(message).str("logger", LOGGER).obj("pod", &meta.namespace, &meta.name).log(&self.ctx, place);
        };
        if going {
            line("Pod deleted", "daemon_controller.go:716");
            self.expectations.deletion_observed(&key, &Key::of(meta));
        } else if let Delta::Updated { old, new } = delta {
            line("Pod updated", "daemon_controller.go:663");
            let min_ready = set.spec.min_ready_seconds;
            if min_ready > 0 && !utils::is_pod_ready(old) && utils::is_pod_ready(new) {
                let after = Duration::from_secs(u64::try_from(min_ready).unwrap_or(0) + 1);
                self.queue.add_after(key.clone(), after);
            }
        } else {
            line("Pod added", "daemon_controller.go:616");
            self.expectations.creation_observed(&key);
        }
        self.queue.add_caused(key, pod.revision);
    }

    fn orphan_changed(&self, pod: &Rev<Pod>) {
        for set in self.sets.in_namespace(&pod.metadata.namespace) {
            let Ok(selector) = LabelSelector::from_api(set.spec.selector.get()) else { continue };
            if !selector.is_empty() && selector.matches(&pod.metadata.labels) {
                self.queue.add_caused(Key::of(&set.metadata), pod.revision);
            }
        }
    }

    /// A node that is new or whose labels or taints changed may need a pod, or no longer suit one.
    fn on_node(&self, delta: &Delta<Node>) {
        let node = delta.object();
        let message = match delta {
            Delta::Updated { old, new } => {
                if old.metadata.labels == new.metadata.labels && old.spec.taints == new.spec.taints {
                    return;
                }
                "Queuing node update"
            }
            _ => "Queuing node addition",
        };
        klog::info(message)
            .str("logger", LOGGER)
            .obj("node", "", &node.metadata.name)
            .log(&self.ctx, "daemon_controller.go:753");
        for set in self.sets.list() {
            let placed = || {
                let pods = self.pods.by_index(utils::POD_CONTROLLER_INDEX, &set.metadata.uid);
                pods.iter().any(|p| placement::target_node(p).as_deref() == Some(&*node.metadata.name))
            };
            let fits = placement::Placement::of(&set).should_run(node);
            if fits.0 || placed() {
                self.queue.add_caused(Key::of(&set.metadata), node.revision);
            }
        }
    }

    fn on_revision(&self, delta: &Delta<ControllerRevision>) {
        let revision = delta.object();
        if matches!(delta, Delta::Added(_)) {
            return;
        }
        let meta = &revision.metadata;
        if let Some(set) = controller_of(meta).and_then(|r| self.resolve(&meta.namespace, r)) {
            self.queue.add_caused(Key::of(&set.metadata), revision.revision);
        }
    }

    fn resolve(&self, namespace: &str, reference: &OwnerReference) -> Option<Rev<DaemonSet>> {
        if reference.kind != "DaemonSet" {
            return None;
        }
        self.sets.get(namespace, &reference.name).filter(|s| s.metadata.uid == reference.uid)
    }
}

impl Reconcile<Key> for DaemonSetsController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync(work).await;
        klog::info("Finished syncing daemon set")
            .str("daemonset", &work.key.to_string())
            .duration("time", self.ctx.now().since(started))
            .log(&self.ctx, "daemon_controller.go:1226");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("{} failed with : {err}", work.key)).log(&self.ctx, "daemon_controller.go:421");
                self.queue.retry(work);
            }
        }
    }
}

/// One run for one set.
struct Run<'a> {
    dsc: &'a DaemonSetsController,
    client: Client,
    key: Key,
    set: Rev<DaemonSet>,
    placement: placement::Placement,
    nodes: Vec<Rev<Node>>,
    hash: Str,
}

impl DaemonSetsController {
    async fn sync(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let Some(set) = self.sets.by_key(key) else {
            klog::info("Daemon set has been deleted")
                .str("daemonset", &key.to_string())
                .log(&self.ctx, "daemon_controller.go:1256");
            self.expectations.delete(key);
            return Ok(());
        };
        if set.spec.selector.get().is_some_and(|s| s.match_labels.is_empty() && s.match_expressions.is_empty()) {
            let about = utils::object_ref::<DaemonSet>(&set.metadata, set.revision);
            let message = "This daemon set is selecting all pods. A non-empty selector is required.";
            self.recorder.event(&about, "Warning", "SelectingAll", message);
            return Ok(());
        }
        if set.metadata.deletion_timestamp.unix().is_some() {
            return Ok(());
        }
        let mut run = Run {
            dsc: self,
            client: self.client.caused_by(&work.causes),
            key: key.clone(),
            placement: placement::Placement::of(&set),
            set,
            nodes: self.nodes.list(),
            hash: Str::default(),
        };
        let (current, old) = run
            .construct_history()
            .await
            .map_err(|e| SyncError::from(format!("failed to construct revisions of DaemonSet: {e}")))?;
        run.hash = current.metadata.labels.get(history::HASH_LABEL).cloned().unwrap_or_default();
        if !self.expectations.satisfied(key) {
            return run.update_status(false).await;
        }
        let result = run.update(old).await;
        let status = run.update_status(true).await;
        result.and(status)
    }
}

impl Run<'_> {
    fn selector(&self) -> Result<LabelSelector, SyncError> {
        LabelSelector::from_api(self.set.spec.selector.get()).map_err(SyncError::from)
    }

    async fn daemon_pods(&self) -> Result<Vec<Rev<Pod>>, SyncError> {
        let lister = &self.dsc.pods;
        let mut pods = lister.by_index(utils::POD_CONTROLLER_INDEX, &self.set.metadata.uid);
        pods.extend(lister.by_index(utils::POD_CONTROLLER_INDEX, &self.set.metadata.namespace));
        let selector = self.selector()?;
        let claim = utils::Claim {
            ctx: &self.dsc.ctx,
            client: &self.client,
            owner: &self.set.metadata,
            kind: DaemonSet::KIND,
            selector: &selector,
        };
        claim.claim::<DaemonSet, Pod>(pods).await
    }

    /// The set's pods by the node they are for.
    async fn by_node(&self, with_deleted: bool) -> Result<BTreeMap<Str, Vec<Rev<Pod>>>, SyncError> {
        let mut by_node: BTreeMap<Str, Vec<Rev<Pod>>> = BTreeMap::new();
        for pod in self.daemon_pods().await? {
            let finished = matches!(&*pod.status.phase, "Failed" | "Succeeded");
            if !with_deleted && finished && pod.metadata.deletion_timestamp.unix().is_some() {
                continue;
            }
            if let Some(node) = placement::target_node(&pod) {
                by_node.entry(node).or_default().push(pod);
            }
        }
        Ok(by_node)
    }

    async fn update(&self, old: Vec<Rev<ControllerRevision>>) -> Result<(), SyncError> {
        self.manage().await?;
        if self.dsc.expectations.satisfied(&self.key) && self.set.spec.update_strategy.type_ == "RollingUpdate" {
            self.rolling_update().await?;
        }
        self.cleanup_history(old)
            .await
            .map_err(|e| SyncError::from(format!("failed to clean up revisions of DaemonSet: {e}")))
    }

    /// A pod on every node that should have one, none elsewhere.
    async fn manage(&self) -> Result<(), SyncError> {
        let by_node = self.by_node(false).await?;
        let (mut needing, mut delete) = (Vec::new(), Vec::new());
        for node in &self.nodes {
            let pods = by_node.get(&node.metadata.name).map_or(&[][..], |p| p);
            self.on_one_node(node, pods, &mut needing, &mut delete);
        }
        // Pods for nodes that are gone, and never got there.
        for (name, pods) in &by_node {
            if !self.nodes.iter().any(|n| n.metadata.name == *name) {
                let unscheduled = pods.iter().filter(|p| p.spec.node_name.is_empty());
                delete.extend(unscheduled.map(|p| p.metadata.name.clone()));
            }
        }
        self.sync_nodes(delete, needing).await
    }

    fn on_one_node(&self, node: &Rev<Node>, pods: &[Rev<Pod>], needing: &mut Vec<Str>, delete: &mut Vec<Str>) {
        let name = &node.metadata.name;
        let (should_run, should_continue) = self.placement.should_run(node);
        let living = pods.iter().filter(|p| p.metadata.deletion_timestamp.unix().is_none());
        if should_run && pods.is_empty() {
            needing.push(name.clone());
            return;
        }
        if !should_continue {
            delete.extend(living.map(|p| p.metadata.name.clone()));
            return;
        }
        let mut running: Vec<Rev<Pod>> = Vec::new();
        for pod in living {
            match &*pod.status.phase {
                "Failed" if self.failed_too_soon(name) => {}
                "Failed" => {
                    self.finished_pod(pod, name, "failed", "kill");
                    delete.push(pod.metadata.name.clone());
                }
                "Succeeded" => {
                    self.finished_pod(pod, name, "succeeded", "delete");
                    delete.push(pod.metadata.name.clone());
                }
                _ => running.push(pod.clone()),
            }
        }
        running.sort_small_by(placement::by_phase_and_age);
        if !self.allows_surge() {
            delete.extend(running.iter().skip(1).map(|p| p.metadata.name.clone()));
            return;
        }
        if running.len() <= 1 {
            if running.is_empty() && should_run {
                needing.push(name.clone());
            }
            return;
        }
        let is_new = |p: &&Rev<Pod>| p.metadata.labels.get(history::HASH_LABEL) == Some(&self.hash);
        let (new, old): (Vec<_>, Vec<_>) = running.iter().partition(is_new);
        delete.extend(new.iter().skip(1).chain(old.iter().skip(1)).map(|p| p.metadata.name.clone()));
        if let (Some(new), Some(old)) = (new.first(), old.first()) {
            let available = utils::is_pod_available(new, self.set.spec.min_ready_seconds, self.dsc.ctx.unix_nanos());
            if !utils::is_pod_ready(old) || available {
                delete.push(old.metadata.name.clone());
            }
        }
    }

    fn failed_too_soon(&self, node: &Str) -> bool {
        let now = self.dsc.ctx.now();
        let mut failed = self.dsc.failed.borrow_mut();
        let entry = failed.entry((self.key.clone(), node.clone())).or_insert((Duration::ZERO, Instant::ZERO));
        let (delay, last) = *entry;
        if !delay.is_zero() && now.since(last) < delay {
            self.dsc.queue.add_after(self.key.clone(), delay);
            return true;
        }
        let forgotten = now.since(last) > 2 * FAILED_BACKOFF.1;
        let next = if delay.is_zero() || forgotten { FAILED_BACKOFF.0 } else { (2 * delay).min(FAILED_BACKOFF.1) };
        *entry = (next, now);
        false
    }

    fn finished_pod(&self, pod: &Pod, node: &str, how: &str, what: &str) {
        let meta = &pod.metadata;
        klog::info(&format!("Found {how} daemon pod on node, will try to {what} it"))
            .obj("pod", &meta.namespace, &meta.name)
            .obj("node", "", node)
            .log(&self.dsc.ctx, "daemon_controller.go:879");
        let message =
            format!("Found {how} daemon pod {}/{} on node {node}, will try to {what} it", meta.namespace, meta.name);
        let (type_, reason) =
            if how == "failed" { ("Warning", "FailedDaemonPod") } else { ("Normal", "SucceededDaemonPod") };
        let about = utils::object_ref::<DaemonSet>(&self.set.metadata, self.set.revision);
        self.dsc.recorder.event(&about, type_, reason, &message);
    }

    /// Creates pods for nodes and deletes pods.
    async fn sync_nodes(&self, delete: Vec<Str>, needing: Vec<Str>) -> Result<(), SyncError> {
        let (dsc, meta) = (self.dsc, &self.set.metadata);
        let needing: Vec<Str> = needing.into_iter().take(BURST_REPLICAS).collect();
        let delete: Vec<Str> = delete.into_iter().take(BURST_REPLICAS).collect();
        dsc.observed.desired(&self.key, format!("{} nodes", self.nodes.len()));
        if needing.is_empty() && delete.is_empty() {
            dsc.expectations.expect(&self.key, 0, std::iter::empty());
            return Ok(());
        }
        dsc.observed.action(&self.key, format!("create {} pods, delete {}", needing.len(), delete.len()));
        dsc.expectations.expect(&self.key, needing.len(), delete.iter().map(|n| Key::new(&meta.namespace, n)));
        let about = utils::object_ref::<DaemonSet>(meta, self.set.revision);
        let control = PodControl { ctx: &dsc.ctx, client: &self.client, recorder: &dsc.recorder, about };
        let quoted = |names: &[Str]| {
            let names: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
            format!("[{}]", names.join(","))
        };
        klog::info("Nodes needing daemon pods for daemon set, creating")
            .obj("daemonset", &meta.namespace, &meta.name)
            .raw("needCount", quoted(&needing))
            .raw("createCount", needing.len())
            .log(&dsc.ctx, "daemon_controller.go:1042");
        let mut errors = Vec::new();
        let (mut position, mut batch) = (0, 1);
        while position < needing.len() {
            let nodes = needing.iter().skip(position).take(batch);
            let creations = nodes.map(|node| {
                let control = &control;
                async move {
                    let template: PodTemplateSpec = self.placement.template(&self.set, &self.hash, node);
                    let reference = utils::new_controller_ref::<DaemonSet>(meta);
                    control.create(&meta.namespace, &template, meta, reference).await
                }
            });
            let before = errors.len();
            for result in join_all(creations).await {
                match result {
                    Err(err) if !err.has_cause("NamespaceTerminating") => {
                        dsc.expectations.creation_observed(&self.key);
                        errors.push(err.into());
                    }
                    _ => {}
                }
            }
            position += batch;
            if errors.len() > before {
                let skipped = needing.len().saturating_sub(position);
                (0..skipped).for_each(|_| dsc.expectations.creation_observed(&self.key));
                break;
            }
            batch *= 2;
        }
        klog::info("Pods to delete for daemon set, deleting")
            .obj("daemonset", &meta.namespace, &meta.name)
            .raw("toDeleteCount", quoted(&delete))
            .raw("deleteCount", delete.len())
            .log(&dsc.ctx, "daemon_controller.go:1100");
        let deletions = delete.iter().map(|name| control.delete(&meta.namespace, name));
        for (result, name) in join_all(deletions).await.into_iter().zip(&delete) {
            if let Err(err) = result {
                dsc.expectations.deletion_observed(&self.key, &Key::new(&meta.namespace, name));
                if !err.is_not_found() {
                    errors.push(err);
                }
            }
        }
        aggregate(errors)
    }
}
