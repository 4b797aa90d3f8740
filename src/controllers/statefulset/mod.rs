//! The statefulset controller (`pkg/controller/statefulset`): pods with names of their own, made and taken away in
//! order.

mod claims;
mod control;
mod identity;
mod pods;
mod revisions;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::apps_v1::{ControllerRevision, StatefulSet, StatefulSetStatus};
use api::core_v1::{PersistentVolumeClaim, Pod};
use api::meta_v1::OwnerReference;
use api::selector::LabelSelector;
use api::{Resource, Rev};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError, controller_of};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "statefulset-controller";

/// The newest revisions a set's worker wrote; it waits until its caches have them.
#[derive(Clone, Copy, Default)]
struct Written {
    pods: u64,
    claims: u64,
    set: u64,
}

/// The controller's parts.
pub struct StatefulSetController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    sets: Lister<StatefulSet>,
    pods: Lister<Pod>,
    claims: Lister<PersistentVolumeClaim>,
    revisions: Lister<ControllerRevision>,
    queue: WorkQueue<Key>,
    /// By set. Bounded by the sets there are: a set that is gone is taken out.
    written: RefCell<BTreeMap<Key, Written>>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting stateful set controller").str("logger", LOGGER).log(&cc.ctx, "stateful_set.go:222");
    let client = cc.client("statefulset-controller");
    let recorder = cc.recorder(&client, LOGGER, LOGGER);
    let (sets, pods) = (cc.informer::<StatefulSet>(), cc.informer::<Pod>());
    let (claims, revisions) = (cc.informer::<PersistentVolumeClaim>(), cc.informer::<ControllerRevision>());
    let ssc = Rc::new(StatefulSetController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        sets: sets.lister(),
        pods: pods.lister(),
        claims: claims.lister(),
        revisions: revisions.lister(),
        queue: WorkQueue::new(&cc.ctx, "statefulset"),
        written: RefCell::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&ssc.queue);
    let this = ssc.clone();
    pods.on(move |delta| this.on_pod(delta));
    let this = ssc.clone();
    sets.on(move |delta| this.on_set(delta));
    futures_util::join!(pods.synced(), sets.synced(), claims.synced(), revisions.synced());
    Worker::spawn(&cc.ctx, 5, ssc.queue.clone(), ssc);
}

impl StatefulSetController {
    fn on_set(&self, delta: &Delta<StatefulSet>) {
        let key = Key::of(&delta.object().metadata);
        if let Delta::Updated { old, new } = delta
            && old.status.replicas != new.status.replicas
        {
            self.about(&key, "Observed updated replica count for StatefulSet")
                .raw("oldReplicas", old.status.replicas)
                .raw("newReplicas", new.status.replicas)
                .log(&self.ctx, "stateful_set.go:197");
        }
        self.queue.add_caused(key, delta.revision());
    }

    fn about(&self, key: &Key, message: &str) -> klog::Line {
        klog::info(message).str("logger", LOGGER).obj("statefulSet", &key.namespace, &key.name)
    }

    fn on_pod(&self, delta: &Delta<Pod>) {
        let pod = delta.object();
        let meta = &pod.metadata;
        let deleted = matches!(delta, Delta::Deleted(_));
        let old = match delta {
            Delta::Updated { old, new } if old.revision == new.revision => return,
            Delta::Updated { old, .. } => Some(old),
            _ => None,
        };
        let reference = controller_of(meta);
        let old_reference = old.and_then(|o| controller_of(&o.metadata));
        let moved = old.is_some() && !utils::same_ref(old_reference, reference);
        if let Some(set) = old_reference.filter(|_| moved).and_then(|r| self.resolve(&meta.namespace, r)) {
            self.queue.add_caused(Key::of(&set.metadata), pod.revision);
        }
        let Some(reference) = reference else {
            let changed = old.is_none_or(|o| moved || o.metadata.labels != meta.labels);
            if !deleted && changed {
                self.orphan_changed(pod);
            }
            return;
        };
        let Some(set) = self.resolve(&meta.namespace, reference) else { return };
        let key = Key::of(&set.metadata);
        if let Some(old) = old {
            if old.status.phase != pod.status.phase {
                klog::info("StatefulSet Pod phase changed")
                    .str("logger", LOGGER)
                    .obj("pod", &meta.namespace, &meta.name)
                    .obj("statefulSet", &key.namespace, &key.name)
                    .str("podPhase", &pod.status.phase)
                    .log(&self.ctx, "stateful_set.go:298");
            }
            let min_ready = set.spec.min_ready_seconds;
            if min_ready > 0 && !utils::is_pod_ready(old) && utils::is_pod_ready(pod) {
                self.about(&key, "StatefulSet will be enqueued after minReadySeconds for availability check")
                    .raw("minReadySeconds", min_ready)
                    .log(&self.ctx, "stateful_set.go:305");
                self.queue.add_after(key.clone(), seconds(min_ready));
            }
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

    fn resolve(&self, namespace: &str, reference: &OwnerReference) -> Option<Rev<StatefulSet>> {
        if reference.kind != "StatefulSet" {
            return None;
        }
        self.sets.get(namespace, &reference.name).filter(|s| s.metadata.uid == reference.uid)
    }

    fn wrote(&self, key: &Key, note: impl FnOnce(&mut Written)) {
        note(self.written.borrow_mut().entry(key.clone()).or_default());
    }

    /// Whether the caches have what this set's worker wrote.
    fn ensure_ready(&self, key: &Key) -> Result<(), SyncError> {
        let written = self.written.borrow().get(key).copied().unwrap_or_default();
        let check = |read: u64, wrote: u64, resource: &str| {
            if read >= wrote {
                return Ok(());
            }
            Err(SyncError::Other(format!(
                "read version: {read} is not as new as written version: {wrote} for group resource {resource}"
            )))
        };
        check(self.pods.revision(), written.pods, "pods")?;
        check(self.claims.revision(), written.claims, "persistentvolumeclaims")?;
        check(self.sets.revision(), written.set, "statefulsets.apps")
    }

    async fn sync(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        self.ensure_ready(key)?;
        let Some(set) = self.sets.by_key(key) else {
            self.written.borrow_mut().remove(key);
            klog::info("StatefulSet has been deleted")
                .str("logger", LOGGER)
                .str("key", &key.to_string())
                .log(&self.ctx, "stateful_set.go:516");
            return Ok(());
        };
        let selector = match LabelSelector::from_api(set.spec.selector.get()) {
            Ok(selector) => selector,
            Err(err) => {
                klog::error("Error converting StatefulSet selector")
                    .err(&err)
                    .str("logger", "UnhandledError")
                    .str("key", &key.to_string())
                    .log(&self.ctx, "stateful_set.go:526");
                return Ok(());
            }
        };
        let run = Run { ssc: self, client: self.client.caused_by(&work.causes), key: key.clone(), set, selector };
        let revisions = run.adopt_revisions().await?;
        let pods = run.claim_pods().await?;
        self.about(key, "Syncing StatefulSet with pods").raw("pods", pods.len()).log(&self.ctx, "stateful_set.go:543");
        let now = self.ctx.unix_nanos();
        let status = run.update(pods, revisions, now).await?;
        self.about(key, "Successfully synced StatefulSet").log(&self.ctx, "stateful_set.go:552");
        let min_ready = run.set.spec.min_ready_seconds;
        if min_ready > 0 && status.ready_replicas != status.available_replicas {
            self.queue.add_after(key.clone(), seconds(min_ready));
        }
        Ok(())
    }
}

fn seconds(n: i32) -> Duration {
    Duration::from_secs(u64::try_from(n).unwrap_or(0))
}

impl Reconcile<Key> for StatefulSetController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync(work).await;
        klog::info("Finished syncing statefulset")
            .str("logger", LOGGER)
            .str("key", &work.key.to_string())
            .duration("time", self.ctx.now().since(started))
            .log(&self.ctx, "stateful_set.go:485");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::error("Error syncing StatefulSet, requeuing")
                    .err(&err)
                    .str("logger", "UnhandledError")
                    .str("key", &work.key.to_string())
                    .log(&self.ctx, "stateful_set.go:465");
                self.queue.retry(work);
            }
        }
    }
}

/// One run for one set.
struct Run<'a> {
    ssc: &'a StatefulSetController,
    client: Client,
    key: Key,
    set: Rev<StatefulSet>,
    selector: LabelSelector,
}

impl Run<'_> {
    /// The set's pods: its own by reference and by name, adopted where they had no owner.
    async fn claim_pods(&self) -> Result<Vec<Rev<Pod>>, SyncError> {
        let (lister, meta) = (&self.ssc.pods, &self.set.metadata);
        let mut pods = lister.by_index(utils::POD_CONTROLLER_INDEX, &meta.uid);
        let orphans = lister.by_index(utils::POD_CONTROLLER_INDEX, &meta.namespace);
        pods.extend(orphans.into_iter().filter(|p| identity::is_member(&self.set, p)));
        let claim = utils::Claim {
            ctx: &self.ssc.ctx,
            client: &self.client,
            owner: meta,
            kind: StatefulSet::KIND,
            selector: &self.selector,
        };
        claim.claim::<StatefulSet, Pod>(pods).await
    }

    fn line(&self, message: &str) -> klog::Line {
        self.ssc.about(&self.key, message)
    }

    fn event(&self, type_: &str, reason: &str, message: &str) {
        let about = utils::object_ref::<StatefulSet>(&self.set.metadata, self.set.revision);
        self.ssc.recorder.event(&about, type_, reason, message);
    }

    /// Stores a status that says something new.
    async fn store_status(&self, mut status: StatefulSetStatus) -> Result<StatefulSetStatus, SyncError> {
        let (set, wanted) = (&self.set, self.set.spec.replicas.unwrap_or(1));
        if status.updated_replicas == wanted && status.ready_replicas == wanted && status.replicas == wanted {
            status.current_replicas = status.updated_replicas;
            status.current_revision = status.update_revision.clone();
        }
        let was = &set.status;
        let same = status.observed_generation <= was.observed_generation
            && status.replicas == was.replicas
            && status.current_replicas == was.current_replicas
            && status.ready_replicas == was.ready_replicas
            && status.updated_replicas == was.updated_replicas
            && status.current_revision == was.current_revision
            && status.available_replicas == was.available_replicas
            && status.update_revision == was.update_revision;
        if same {
            return Ok(status);
        }
        let mut base = set.clone();
        for attempt in 1.. {
            let mut copy = (*base).clone();
            *copy.status.make() = status.clone();
            match self.client.update_status(copy, base.revision).await {
                Ok(written) => {
                    self.ssc.wrote(&self.key, |w| w.set = written.revision);
                    break;
                }
                Err(err) if attempt >= 5 || !err.is_conflict() => return Err(err.into()),
                Err(_) => self.ssc.ctx.sleep(Duration::from_millis(10)).await,
            }
            base = self.ssc.sets.by_key(&self.key).unwrap_or(base);
        }
        self.line("Updated status")
            .raw("replicas", status.replicas)
            .raw("readyReplicas", status.ready_replicas)
            .raw("currentReplicas", status.current_replicas)
            .raw("updatedReplicas", status.updated_replicas)
            .log(&self.ssc.ctx, "stateful_set_control.go:121");
        Ok(status)
    }
}
