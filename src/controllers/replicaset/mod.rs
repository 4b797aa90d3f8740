//! The replicaset controller (`pkg/controller/replicaset`): as many pods as are wanted, no more and no less. The
//! replicationcontroller controller (`pkg/controller/replication`) is the same for the older kind.

mod count;
mod sets;
mod status;

use api::SortSmall;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::apps_v1::ReplicaSet;
use api::core_v1::{ObjectReference, Pod, ReplicationController};
use api::meta_v1::{ObjectMeta, OwnerReference};
use api::selector::LabelSelector as Selector;
use api::{Rev, Str};
use client::{Client, Delta, EventRecorder, Key, Lister, Tally, Work, WorkQueue, klog};
use futures_util::future::join_all;

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, Expectations, PodControl, SyncError, controller_of, slow_start_batch};
use crate::worker::{Reconcile, Worker};
use count::Counts;
use sets::Sets;

/// Pods created or deleted in one run at most.
const BURST_REPLICAS: usize = 500;
/// The index of replica sets by the uid of their controller.
const CONTROLLER_UID_INDEX: &str = "controllerUID";

/// The controller's parts.
pub struct ReplicaSetController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    sets: Sets,
    logger: &'static str,
    pods: Lister<Pod>,
    tally: Tally<count::Class>,
    queue: WorkQueue<Key>,
    expectations: Expectations,
    written: Consistency,
    observed: crate::observed::Handle,
}

/// Starts the controller of ReplicaSets.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting controller").str("name", "replicaset").log(&cc.ctx, "replica_set.go:270");
    let informer = cc.informer::<ReplicaSet>();
    informer.add_index(CONTROLLER_UID_INDEX, |rs: &ReplicaSet| controller_uid(&rs.metadata));
    let sets = Sets::Apps(informer.lister());
    let controller =
        ReplicaSetController::new(&cc, sets, "replicaset-controller", "replicaset-controller", "replicaset");
    let this = controller.clone();
    informer.on(move |delta| this.on_replica_set(delta));
    informer.synced().await;
    controller.run(&cc).await;
}

/// Starts the controller of ReplicationControllers.
pub async fn start_replication(cc: ControllerContext) {
    klog::info("Starting controller").str("name", "replicationcontroller").log(&cc.ctx, "replica_set.go:270");
    let informer = cc.informer::<ReplicationController>();
    informer.add_index(CONTROLLER_UID_INDEX, |rc: &ReplicationController| controller_uid(&rc.metadata));
    let sets = Sets::Core(informer.lister());
    let logger = "replicationcontroller-controller";
    let controller = ReplicaSetController::new(&cc, sets, logger, "replication-controller", "replicationmanager");
    let this = controller.clone();
    informer.on(move |delta| {
        this.on_replica_set(&match delta {
            Delta::Added(rc) => Delta::Added(sets::seen(rc)),
            Delta::Updated { old, new } => Delta::Updated { old: sets::seen(old), new: sets::seen(new) },
            Delta::Deleted(rc) => Delta::Deleted(sets::seen(rc)),
        });
    });
    informer.synced().await;
    controller.run(&cc).await;
}

fn controller_uid(meta: &ObjectMeta) -> Vec<Str> {
    controller_of(meta).map(|r| r.uid.clone()).into_iter().collect()
}

impl ReplicaSetController {
    /// A controller of one of the kinds: `account` is its ServiceAccount and what its events come from.
    fn new(cc: &ControllerContext, sets: Sets, logger: &'static str, account: &str, queue: &'static str) -> Rc<Self> {
        let client = cc.client(account);
        let recorder = cc.recorder(&client, account, logger);
        let controller = Rc::new(ReplicaSetController {
            ctx: cc.ctx.clone(),
            client,
            recorder,
            sets,
            logger,
            pods: cc.informer::<Pod>().lister(),
            tally: count::follow(&cc.informer()),
            queue: WorkQueue::new(&cc.ctx, queue),
            expectations: Expectations::new(&cc.ctx, logger),
            written: Consistency::default(),
            observed: cc.observed.clone(),
        });
        cc.observed.watch_queue(&controller.queue);
        controller
    }

    async fn run(self: Rc<Self>, cc: &ControllerContext) {
        let pods = cc.informer::<Pod>();
        let this = self.clone();
        pods.on(move |delta| this.on_pod(delta));
        pods.synced().await;
        Worker::spawn(&cc.ctx, 5, self.queue.clone(), self);
    }

    fn kind(&self) -> &'static str {
        self.sets.kind().kind
    }
}

impl ReplicaSetController {
    fn on_replica_set(&self, delta: &Delta<ReplicaSet>) {
        match delta {
            Delta::Added(rs) => {
                klog::info("Adding")
                    .str("logger", self.logger)
                    .obj("replicaSet", &rs.metadata.namespace, &rs.metadata.name)
                    .log(&self.ctx, "replica_set.go:389");
            }
            Delta::Updated { old, new } => {
                if old.metadata.uid != new.metadata.uid {
                    self.replica_set_deleted(old);
                }
                let (before, after) = (old.spec.replicas.unwrap_or(1), new.spec.replicas.unwrap_or(1));
                if before != after {
                    klog::info("replicaSet updated. Desired pod count change.")
                        .str("logger", self.logger)
                        .obj("replicaSet", &old.metadata.namespace, &old.metadata.name)
                        .raw("oldReplicas", before)
                        .raw("newReplicas", after)
                        .log(&self.ctx, "replica_set.go:424");
                }
            }
            Delta::Deleted(rs) => self.replica_set_deleted(rs),
        }
        self.queue.add_caused(Key::of(&delta.object().metadata), delta.revision());
    }

    fn replica_set_deleted(&self, rs: &Rev<ReplicaSet>) {
        klog::info("Deleting")
            .str("logger", self.logger)
            .obj("replicaSet", &rs.metadata.namespace, &rs.metadata.name)
            .log(&self.ctx, "replica_set.go:450");
        let key = Key::of(&rs.metadata);
        self.written.clear(&key);
        self.expectations.delete(&key);
        self.queue.add_caused(key, rs.revision);
    }

    fn on_pod(&self, delta: &Delta<Pod>) {
        match delta {
            Delta::Added(pod) if pod.metadata.deletion_timestamp.unix().is_some() => self.pod_deleted(pod, "addPod"),
            Delta::Added(pod) => self.pod_added(pod),
            Delta::Updated { old, new } => self.pod_updated(old, new),
            Delta::Deleted(pod) => self.pod_deleted(pod, "enqueue"),
        }
    }

    fn pod_added(&self, pod: &Rev<Pod>) {
        let meta = &pod.metadata;
        if let Some(reference) = controller_of(meta) {
            let Some(rs) = self.resolve(&meta.namespace, reference) else { return };
            let key = Key::of(&rs.metadata);
            klog::info("Pod created")
                .str("logger", self.logger)
                .obj("pod", &meta.namespace, &meta.name)
                .log(&self.ctx, "replica_set.go:483");
            self.expectations.creation_observed(&key);
            return self.queue.add_caused(key, pod.revision);
        }
        self.orphan_changed(pod, "Orphan Pod created", "replica_set.go:497");
    }

    fn pod_updated(&self, old: &Rev<Pod>, new: &Rev<Pod>) {
        if old.revision == new.revision {
            return;
        }
        let relabelled = old.metadata.labels != new.metadata.labels;
        let meta = &new.metadata;
        if meta.deletion_timestamp.unix().is_some() {
            self.pod_deleted(new, "updatePod");
            if relabelled {
                self.pod_deleted(old, "updatePod");
            }
            return;
        }
        let (before, after) = (controller_of(&old.metadata), controller_of(meta));
        let moved = !utils::same_ref(before, after);
        if moved && let Some(rs) = before.and_then(|r| self.resolve(&old.metadata.namespace, r)) {
            self.queue.add_caused(Key::of(&rs.metadata), new.revision);
        }
        if let Some(reference) = after {
            let Some(rs) = self.resolve(&meta.namespace, reference) else { return };
            klog::info("Pod objectMeta updated.")
                .str("logger", self.logger)
                .obj("pod", &meta.namespace, &meta.name)
                .log(&self.ctx, "replica_set.go:546");
            self.queue.add_caused(Key::of(&rs.metadata), new.revision);
            let min_ready = rs.spec.min_ready_seconds;
            if min_ready > 0 && !utils::is_pod_ready(old) && utils::is_pod_ready(new) {
                klog::info("pod will be enqueued after a while for availability check")
                    .raw("duration", min_ready)
                    .str("kind", self.kind())
                    .obj("pod", &meta.namespace, &meta.name)
                    .log(&self.ctx, "replica_set.go:557");
                self.queue.add_after(Key::of(&rs.metadata), seconds(min_ready));
            }
            return;
        }
        if relabelled || moved {
            self.orphan_changed(new, "Orphan Pod objectMeta updated.", "replica_set.go:570");
        }
    }

    /// Wakes every set that might adopt the pod.
    fn orphan_changed(&self, pod: &Rev<Pod>, message: &str, place: &'static str) {
        let meta = &pod.metadata;
        if meta.labels.is_empty() {
            return;
        }
        let mut logged = false;
        for rs in self.sets.in_namespace(&meta.namespace) {
            let Ok(selector) = Selector::from_api(rs.spec.selector.get()) else { continue };
            if selector.is_empty() || !selector.matches(&meta.labels) {
                continue;
            }
            if !logged {
                klog::info(message)
                    .str("logger", self.logger)
                    .obj("pod", &meta.namespace, &meta.name)
                    .log(&self.ctx, place);
                logged = true;
            }
            self.queue.add_caused(Key::of(&rs.metadata), pod.revision);
        }
    }

    fn pod_deleted(&self, pod: &Rev<Pod>, by: &str) {
        let meta = &pod.metadata;
        let Some(rs) = controller_of(meta).and_then(|r| self.resolve(&meta.namespace, r)) else { return };
        let key = Key::of(&rs.metadata);
        let at = meta.deletion_timestamp.unix();
        let at = at.map_or("<nil>".into(), |t| klog::go_time(t.saturating_mul(1_000_000_000), None));
        let by = match by {
            "enqueue" => "k8s.io/client-go/tools/cache.ResourceEventHandlerFuncs.OnDelete".to_string(),
            by => format!("k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).{by}"),
        };
        klog::info("Pod deleted")
            .str("logger", self.logger)
            .str("delete_by", &by)
            .str("deletion_timestamp", &at)
            .obj("pod", &meta.namespace, &meta.name)
            .log(&self.ctx, "replica_set.go:615");
        self.expectations.deletion_observed(&key, &Key::of(meta));
        self.queue.add_caused(key, pod.revision);
    }

    fn resolve(&self, namespace: &str, reference: &OwnerReference) -> Option<Rev<ReplicaSet>> {
        if reference.kind != self.kind() {
            return None;
        }
        self.sets.get(namespace, &reference.name).filter(|rs| rs.metadata.uid == reference.uid)
    }
}

impl Reconcile<Key> for ReplicaSetController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync_replica_set(work).await;
        klog::info("Finished syncing")
            .str("kind", self.kind())
            .str("key", &work.key.to_string())
            .duration("duration", self.ctx.now().since(started))
            .log(&self.ctx, "replica_set.go:759");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("sync \"{}\" failed with {err}", work.key))
                    .log(&self.ctx, "replica_set.go:640");
                self.queue.retry(work);
            }
        }
    }
}

impl ReplicaSetController {
    async fn sync_replica_set(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        self.written.ensure_ready(key, self.sets.revision(), self.pods.revision())?;
        let Some(rs) = self.sets.get(&key.namespace, &key.name) else {
            klog::info("deleted")
                .str("kind", self.kind())
                .str("key", &key.to_string())
                .log(&self.ctx, "replica_set.go:783");
            self.written.clear(key);
            self.expectations.delete(key);
            return Ok(());
        };
        let client = self.client.caused_by(&work.causes);
        let needs_sync = self.expectations.satisfied(key);
        let selector = match Selector::from_api(rs.spec.selector.get()) {
            Ok(selector) => selector,
            Err(err) => {
                klog::unhandled(format!("error converting pod selector to selector for rs {key}: {err}"))
                    .log(&self.ctx, "replica_set.go:796");
                return Ok(());
            }
        };
        let manages = needs_sync && rs.metadata.deletion_timestamp.unix().is_none();
        let want = usize::try_from(rs.spec.replicas.unwrap_or(1)).unwrap_or(0);
        // Only who takes over, lets go or deletes looks at the pods themselves.
        let settled = count::settled(&self.tally, &rs.metadata.namespace, &rs.metadata.uid, &selector);
        let (active, counts) = match settled.filter(|counts| !manages || counts.active() <= want) {
            Some(counts) => (Vec::new(), counts),
            None => {
                let (active, terminating) = self.claim_pods(&client, &rs, &selector).await?;
                let counts = Counts::new(active.iter().map(|p| &**p), terminating);
                (active, counts)
            }
        };
        self.observed.desired(key, format!("{} pods", rs.spec.replicas.unwrap_or(1)));
        self.observed.actual(key, format!("{} pods", counts.active()));

        let mut managed = Ok(());
        if manages {
            managed = self.manage_replicas(&client, &rs, key, &counts, &active).await;
        }
        let now = self.ctx.unix_nanos();
        let new_status = status::calculate(&rs, &counts, managed.as_ref().err(), now);
        let updated = self.update_status(&client, &rs, new_status).await?;
        if updated.revision != rs.revision {
            self.written.wrote_replica_set(key, updated.revision);
        }
        managed?;
        let spec = &updated.spec;
        if spec.min_ready_seconds > 0 && updated.status.ready_replicas != updated.status.available_replicas {
            let next = next_availability_check(&counts, spec.min_ready_seconds, self.ctx.unix_nanos());
            self.queue.add_after(key.clone(), next.unwrap_or_else(|| seconds(spec.min_ready_seconds)));
        }
        Ok(())
    }

    /// The replicas that are the set's, after adoption and release, and how many pods of it are going.
    async fn claim_pods(
        &self,
        client: &Client,
        rs: &Rev<ReplicaSet>,
        selector: &Selector,
    ) -> Result<(Vec<Rev<Pod>>, usize), SyncError> {
        let mut pods = self.pods.by_index(utils::POD_CONTROLLER_INDEX, &rs.metadata.uid);
        pods.extend(self.pods.by_index(utils::POD_CONTROLLER_INDEX, &rs.metadata.namespace));
        let active: Vec<Rev<Pod>> = pods.iter().filter(|p| utils::is_pod_active(p)).cloned().collect();
        let claim = utils::Claim { ctx: &self.ctx, client, owner: &rs.metadata, kind: self.sets.kind(), selector };
        let active = self.sets.claim(&claim, active).await?;
        let terminating = pods
            .iter()
            .filter(|p| count::is_terminating(p))
            .filter(|p| controller_of(&p.metadata).is_some_and(|r| r.uid == rs.metadata.uid))
            .filter(|p| selector.matches(&p.metadata.labels))
            .count();
        Ok((active, terminating))
    }

    /// What events about a set say they are about.
    fn about(&self, rs: &Rev<ReplicaSet>) -> ObjectReference {
        let mut about = utils::object_ref::<ReplicaSet>(&rs.metadata, rs.revision);
        about.kind = self.sets.kind().kind.into();
        about.api_version = self.sets.kind().api_version.into();
        about
    }

    /// Creates what is missing, deletes what is too much. `active` are the replicas, empty unless there are too many.
    async fn manage_replicas(
        &self,
        client: &Client,
        rs: &Rev<ReplicaSet>,
        key: &Key,
        counts: &Counts,
        active: &[Rev<Pod>],
    ) -> Result<(), SyncError> {
        let need = rs.spec.replicas.unwrap_or(1);
        let want = usize::try_from(need).unwrap_or(0);
        let control = PodControl { ctx: &self.ctx, client, recorder: &self.recorder, about: self.about(rs) };
        let (namespace, name) = (&rs.metadata.namespace, &rs.metadata.name);
        if counts.active() < want {
            let count = (want - counts.active()).min(BURST_REPLICAS);
            self.expectations.expect_creations(key, count);
            klog::info("Too few replicas")
                .obj("replicaSet", namespace, name)
                .raw("need", need)
                .raw("creating", count)
                .log(&self.ctx, "replica_set.go:668");
            self.observed.action(key, format!("create {count} pods"));
            return self.create_pods(&control, rs, key, count).await;
        }
        let excess = (counts.active() - want).min(BURST_REPLICAS);
        if excess == 0 {
            return Ok(());
        }
        klog::info("Too many replicas")
            .obj("replicaSet", namespace, name)
            .raw("need", need)
            .raw("deleting", excess)
            .log(&self.ctx, "replica_set.go:704");
        self.observed.action(key, format!("delete {excess} pods"));
        let related = self.indirectly_related_pods(rs);
        let doomed = utils::pods_to_delete(active, &related, excess, self.ctx.unix_nanos());
        self.expectations.expect_deletions(key, doomed.iter().map(|p| Key::of(&p.metadata)));
        let control = &control;
        let deletions = doomed.iter().map(|pod| async move {
            let result = control.delete(namespace, &pod.metadata.name).await;
            if result.is_err() {
                self.expectations.deletion_observed(key, &Key::of(&pod.metadata));
            }
            result
        });
        let mut first = Ok(());
        for result in join_all(deletions).await {
            match result {
                Err(err) if !err.is_not_found() && first.is_ok() => {
                    klog::info("Failed to delete pod, decremented expectations")
                        .str("kind", self.kind())
                        .obj("replicaSet", namespace, name)
                        .log(&self.ctx, "replica_set.go:731");
                    first = Err(err);
                }
                _ => {}
            }
        }
        first
    }

    /// One pod, then two, then four and so on, stopping at the first batch with a failure.
    async fn create_pods(
        &self,
        control: &PodControl<'_>,
        rs: &Rev<ReplicaSet>,
        key: &Key,
        count: usize,
    ) -> Result<(), SyncError> {
        let create = async |_| {
            let reference = self.sets.reference(&rs.metadata);
            match control.create(&rs.metadata.namespace, &rs.spec.template, &rs.metadata, reference).await {
                Ok(pod) => self.written.wrote_pod(key, pod.revision),
                // Where the namespace goes, every creation fails and nothing has to be done about it.
                Err(err) if err.has_cause("NamespaceTerminating") => {}
                Err(err) => return Err(err),
            }
            Ok(())
        };
        let (created, failure) = slow_start_batch(count, create).await;
        let skipped = count.saturating_sub(created);
        if skipped > 0 {
            klog::info("Slow-start failure. Skipping creation of pods, decrementing expectations")
                .raw("podsSkipped", skipped)
                .str("kind", self.kind())
                .obj("replicaSet", &rs.metadata.namespace, &rs.metadata.name)
                .log(&self.ctx, "replica_set.go:692");
            (0..skipped).for_each(|_| self.expectations.creation_observed(key));
        }
        failure.map_or(Ok(()), |err| Err(err.into()))
    }

    /// Pods of all sets of the same owner.
    fn indirectly_related_pods(&self, rs: &Rev<ReplicaSet>) -> Vec<Rev<Pod>> {
        let (namespace, name) = (&rs.metadata.namespace, &rs.metadata.name);
        let Some(owner) = controller_of(&rs.metadata) else {
            klog::unhandled(format!("{} has no controller: {namespace}/{name}", self.kind()))
                .log(&self.ctx, "replica_set.go:309");
            return Vec::new();
        };
        let sets = self.sets.controlled_by(&owner.uid);
        klog::info("Found related ReplicaSets")
            .obj("replicaSet", namespace, name)
            .objs("relatedReplicaSets", sets.iter().map(|s| (&*s.metadata.namespace, &*s.metadata.name)))
            .log(&self.ctx, "replica_set.go:326");
        let mut by_uid: BTreeMap<Str, Rev<Pod>> = BTreeMap::new();
        let mut pods = Vec::new();
        for set in &sets {
            let Ok(selector) = Selector::from_api(set.spec.selector.get()) else { continue };
            // A set's pods carry its own labels, so looking at those it controls and at orphans is enough.
            let mut own = self.pods.by_index(utils::POD_CONTROLLER_INDEX, &set.metadata.uid);
            own.extend(self.pods.by_index(utils::POD_CONTROLLER_INDEX, &set.metadata.namespace));
            for pod in own.into_iter().filter(|p| selector.matches(&p.metadata.labels)) {
                if by_uid.insert(pod.metadata.uid.clone(), pod.clone()).is_none() {
                    pods.push(pod);
                }
            }
        }
        pods.sort_small_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        klog::info("Found related pods")
            .str("kind", self.kind())
            .obj("replicaSet", namespace, name)
            .objs("pods", pods.iter().map(|p| (&*p.metadata.namespace, &*p.metadata.name)))
            .log(&self.ctx, "replica_set.go:937");
        pods
    }
}

fn seconds(n: i32) -> Duration {
    Duration::from_secs(u64::try_from(n).unwrap_or(0))
}

/// When the next ready pod becomes available. `now` is in nanoseconds since 1970.
fn next_availability_check(counts: &Counts, min_ready_seconds: i32, now: i64) -> Option<Duration> {
    let due = counts.ready_since().filter_map(|since| {
        let since = since.saturating_mul(1_000_000_000);
        let left = since.saturating_add(i64::from(min_ready_seconds).saturating_mul(1_000_000_000)).saturating_sub(now);
        u64::try_from(left).ok().filter(|n| *n > 0)
    });
    due.min().map(Duration::from_nanos)
}

/// The revisions that the controller wrote for each set: while the caches are older it does not look at them
/// (`pkg/controller/util/consistency`). Bounded by the number of sets.
#[derive(Default)]
struct Consistency(RefCell<BTreeMap<Key, Written>>);

#[derive(Default, Clone, Copy)]
struct Written {
    replica_set: u64,
    pod: u64,
}

impl Consistency {
    fn wrote_replica_set(&self, key: &Key, revision: u64) {
        let mut written = self.0.borrow_mut();
        let w = written.entry(key.clone()).or_default();
        w.replica_set = w.replica_set.max(revision);
    }

    fn wrote_pod(&self, key: &Key, revision: u64) {
        let mut written = self.0.borrow_mut();
        let w = written.entry(key.clone()).or_default();
        w.pod = w.pod.max(revision);
    }

    fn clear(&self, key: &Key) {
        self.0.borrow_mut().remove(key);
    }

    fn ensure_ready(&self, key: &Key, replica_sets: u64, pods: u64) -> Result<(), SyncError> {
        let Some(w) = self.0.borrow().get(key).copied() else { return Ok(()) };
        let stale = [("pods", pods, w.pod), ("replicasets.apps", replica_sets, w.replica_set)];
        for (resource, read, wrote) in stale {
            if wrote > read {
                return Err(format!(
                    "read version: {read} is not as new as written version: {wrote} for group resource {resource}"
                )
                .into());
            }
        }
        self.clear(key);
        Ok(())
    }
}
