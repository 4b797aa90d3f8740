//! The job controller (`pkg/controller/job`): pods until enough have succeeded. Every pod carries a finalizer until the
//! job's status counts it, so that none is lost and none is counted twice.

mod backoff;
mod indexes;
mod pods;
mod policy;
mod sync;
mod track;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use api::batch_v1::{Job, JobCondition};
use api::core_v1::Pod;
use api::meta_v1::OwnerReference;
use api::rest::PatchType;
use api::selector::LabelSelector;
use api::{Rev, Str, Time};
use client::{Client, Delta, EventRecorder, Key, Lister, RateLimiter, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, Consistency, Expectations, SyncError, controller_of};
use crate::worker::{Reconcile, Worker};
use backoff::Backoff;

const LOGGER: &str = "job-controller";
/// What happens to pods is looked at together after so long.
const BATCH_PERIOD: Duration = Duration::from_secs(1);
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// A pod whose finalizer nobody counts any more, or all of a selector's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Orphans {
    Named(Key),
    OfJob(Key, Vec<(Str, Str)>),
}

/// The controller's parts. What it keeps by job is bounded by the jobs there are.
pub struct JobController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    jobs: Lister<Job>,
    pods: Lister<Pod>,
    queue: WorkQueue<Key>,
    orphans: WorkQueue<Orphans>,
    expectations: Expectations,
    /// Pods whose finalizer was taken off, until the cache shows it.
    removed_finalizers: RefCell<BTreeMap<Key, BTreeSet<Str>>>,
    backoffs: RefCell<BTreeMap<Key, Backoff>>,
    /// Jobs written as finished, until the cache shows it.
    finished: RefCell<BTreeSet<Str>>,
    written: Consistency,
    observed: crate::observed::Handle,
}

/// Whether a pod is yet to be counted.
fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().any(|f| f == FINALIZER)
}

/// The condition of a finished job (`FinishedCondition`).
pub fn finished_condition(job: &Job) -> Option<&JobCondition> {
    let finished = |c: &&JobCondition| matches!(&*c.type_, "Complete" | "Failed") && c.status == "True";
    job.status.conditions.iter().find(finished)
}

fn is_managed_elsewhere(job: &Job) -> bool {
    job.spec.managed_by.get().is_some_and(|m| m != "kubernetes.io/job-controller")
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting job controller").str("logger", LOGGER).log(&cc.ctx, "job_controller.go:297");
    let client = cc.client("job-controller");
    let recorder = cc.recorder(&client, LOGGER, LOGGER);
    let (jobs, pods) = (cc.informer::<Job>(), cc.informer::<Pod>());
    let (base, max) = (Duration::from_secs(1), Duration::from_secs(60));
    let jc = Rc::new(JobController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        jobs: jobs.lister(),
        pods: pods.lister(),
        queue: WorkQueue::with_limiter(&cc.ctx, "job", RateLimiter::exponential(base, max)),
        orphans: WorkQueue::with_limiter(&cc.ctx, "job_orphan_pod", RateLimiter::exponential(base, max)),
        expectations: Expectations::new(&cc.ctx, LOGGER),
        removed_finalizers: RefCell::default(),
        backoffs: RefCell::default(),
        finished: RefCell::default(),
        written: Consistency::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&jc.queue);
    let this = jc.clone();
    jobs.on(move |delta| this.on_job(delta));
    let this = jc.clone();
    pods.on(move |delta| this.on_pod(delta));
    futures_util::join!(pods.synced(), jobs.synced());
    Worker::spawn(&cc.ctx, 5, jc.queue.clone(), jc.clone());
    for _ in 0..5 {
        let jc = jc.clone();
        cc.ctx.spawn("orphans", async move { jc.watch_orphans().await });
    }
}

impl JobController {
    fn now(&self) -> Time {
        Time::from_unix_nanos(self.ctx.unix_nanos())
    }

    fn enqueue(&self, key: Key, revision: u64, delay: Duration) {
        klog::info("enqueueing job")
            .str("logger", LOGGER)
            .str("key", &key.to_string())
            .duration("delay", delay)
            .log(&self.ctx, "job_controller.go:715");
        self.queue.add_caused_after(key, revision, delay);
    }

    fn on_job(&self, delta: &Delta<Job>) {
        let job = delta.object();
        let key = Key::of(&job.metadata);
        match delta {
            Delta::Added(_) => self.enqueue(key, job.revision, Duration::ZERO),
            Delta::Updated { old, new } => {
                if finished_condition(new).is_some() {
                    self.release_pods_of(new);
                    // The next sync drops what is kept of the job.
                    self.forget(&key, &new.metadata.uid);
                    return;
                }
                let respecified = new.metadata.generation != old.metadata.generation;
                let delay = if respecified { Duration::ZERO } else { BATCH_PERIOD };
                self.enqueue(key.clone(), new.revision, delay);
                let deadline =
                    new.spec.active_deadline_seconds.filter(|d| Some(*d) != old.spec.active_deadline_seconds);
                if let (Some(deadline), Some(start)) = (deadline, new.status.start_time.unix()) {
                    let left = self.left(start, deadline);
                    self.queue.add_after(key.clone(), left);
                    klog::info("job's ActiveDeadlineSeconds updated, will rsync")
                        .str("logger", LOGGER)
                        .str("key", &key.to_string())
                        .duration("interval", left)
                        .log(&self.ctx, "job_controller.go:611");
                }
            }
            Delta::Deleted(_) => {
                self.enqueue(key.clone(), delta.revision(), Duration::ZERO);
                self.written.clear(&key);
                self.forget(&key, &job.metadata.uid);
                self.release_pods_of(job);
                self.expectations.delete(&key);
            }
        }
    }

    /// How long until a job that started at `start` (seconds since 1970) has run for `deadline` seconds.
    fn left(&self, start: i64, deadline: i64) -> Duration {
        let end = start.saturating_add(deadline).saturating_mul(1_000_000_000);
        Duration::from_nanos(u64::try_from(end.saturating_sub(self.ctx.unix_nanos())).unwrap_or(0))
    }

    fn forget(&self, key: &Key, uid: &Str) {
        self.finished.borrow_mut().remove(uid);
        self.backoffs.borrow_mut().remove(key);
    }

    fn release_pods_of(&self, job: &Rev<Job>) {
        let Some(selector) = job.spec.selector.get() else { return };
        let labels = selector.match_labels.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        self.orphans.add(Orphans::OfJob(Key::of(&job.metadata), labels));
    }

    fn on_pod(&self, delta: &Delta<Pod>) {
        let pod = delta.object();
        let meta = &pod.metadata;
        let gone = matches!(delta, Delta::Deleted(_));
        let going = gone || meta.deletion_timestamp.unix().is_some();
        let untracked = !is_tracked(pod);
        let reference = controller_of(meta);
        if let Delta::Updated { old, new } = delta {
            if old.revision == new.revision {
                return;
            }
            let before = controller_of(&old.metadata);
            if !going
                && !utils::same_ref(before, reference)
                && let Some(job) = before.and_then(|r| self.resolve(&meta.namespace, r))
            {
                let key = Key::of(&job.metadata);
                if untracked {
                    self.finalizer_gone(&key, &meta.uid);
                }
                self.enqueue(key, pod.revision, BATCH_PERIOD);
            }
        }
        let Some(reference) = reference else {
            if !untracked && !gone {
                self.orphans.add(Orphans::Named(Key::of(meta)));
            }
            if !going {
                self.orphan_changed(pod);
            }
            return;
        };
        let job = self.resolve(&meta.namespace, reference);
        let Some(job) = job.filter(|j| !is_managed_elsewhere(j)) else {
            if reference.kind == "Job" && going && !gone && !untracked {
                self.orphans.add(Orphans::Named(Key::of(meta)));
            }
            return;
        };
        let key = Key::of(&job.metadata);
        if finished_condition(&job).is_some() && !untracked && !gone {
            self.orphans.add(Orphans::Named(Key::of(meta)));
        }
        if going {
            self.expectations.deletion_observed(&key, &Key::of(meta));
        } else if matches!(delta, Delta::Added(_)) {
            self.expectations.creation_observed(&key);
        }
        if gone || untracked {
            self.finalizer_gone(&key, &meta.uid);
        }
        self.enqueue(key, pod.revision, BATCH_PERIOD);
    }

    fn finalizer_gone(&self, key: &Key, uid: &Str) {
        let mut all = self.removed_finalizers.borrow_mut();
        if let Some(uids) = all.get_mut(key) {
            uids.remove(uid);
            if uids.is_empty() {
                all.remove(key);
            }
        }
    }

    fn orphan_changed(&self, pod: &Rev<Pod>) {
        for job in self.jobs.in_namespace(&pod.metadata.namespace) {
            let Ok(selector) = LabelSelector::from_api(job.spec.selector.get()) else { continue };
            if !selector.is_empty() && selector.matches(&pod.metadata.labels) {
                self.enqueue(Key::of(&job.metadata), pod.revision, BATCH_PERIOD);
            }
        }
    }

    fn resolve(&self, namespace: &str, reference: &OwnerReference) -> Option<Rev<Job>> {
        if reference.kind != "Job" {
            return None;
        }
        self.jobs.get(namespace, &reference.name).filter(|j| j.metadata.uid == reference.uid)
    }

    async fn watch_orphans(&self) {
        loop {
            let work = self.orphans.get().await;
            let key = work.key.clone();
            match self.sync_orphans(&key).await {
                Ok(()) => self.orphans.forget(&key),
                Err(err) => {
                    klog::unhandled(format!("Error syncing orphan pod: {err}")).log(&self.ctx, "job_controller.go:779");
                    self.orphans.retry(work);
                }
            }
            self.orphans.done(&key);
        }
    }

    async fn sync_orphans(&self, orphans: &Orphans) -> Result<(), SyncError> {
        match orphans {
            Orphans::Named(key) => match self.pods.by_key(key) {
                Some(pod) => self.release(&pod).await,
                None => Ok(()),
            },
            Orphans::OfJob(job, labels) => {
                let selected = |p: &Rev<Pod>| labels.iter().all(|(k, v)| p.metadata.labels.get(k) == Some(v));
                let pods = self.pods.in_namespace(&job.namespace);
                for pod in pods.iter().filter(|p| is_tracked(p) && selected(p)) {
                    if let Err(err) = self.release(pod).await {
                        klog::error("syncing orphan pod failed")
                            .err(&err)
                            .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                            .log(&self.ctx, "job_controller.go:839");
                        self.orphans.add_rate_limited(Orphans::Named(Key::of(&pod.metadata)));
                    }
                }
                Ok(())
            }
        }
    }

    /// Takes the finalizer off a pod that no unfinished job owns.
    async fn release(&self, pod: &Rev<Pod>) -> Result<(), SyncError> {
        if let Some(reference) = controller_of(&pod.metadata) {
            if reference.kind != "Job" || reference.api_version != "batch/v1" {
                return Ok(());
            }
            let job = self.resolve(&pod.metadata.namespace, reference);
            if job.is_some_and(|j| is_managed_elsewhere(&j) || finished_condition(&j).is_none()) {
                return Ok(());
            }
        }
        match self.untrack(&self.client, pod).await {
            Err(err) if !err.is_not_found() => Err(err),
            _ => Ok(()),
        }
    }

    /// Takes the finalizer off.
    async fn untrack(&self, client: &Client, pod: &Rev<Pod>) -> Result<(), SyncError> {
        if !is_tracked(pod) {
            return Ok(());
        }
        let body = format!(r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{FINALIZER}"]}}}}"#);
        let meta = &pod.metadata;
        client.patch::<Pod>(&meta.namespace, &meta.name, PatchType::Strategic, body, "").await?;
        Ok(())
    }
}

impl Reconcile<Key> for JobController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync(work).await;
        klog::info("Finished syncing job")
            .str("logger", LOGGER)
            .str("key", &work.key.to_string())
            .duration("elapsed", self.ctx.now().since(started))
            .log(&self.ctx, "job_controller.go:916");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("syncing job: {err}")).log(&self.ctx, "job_controller.go:752");
                self.queue.retry(work);
            }
        }
    }
}
