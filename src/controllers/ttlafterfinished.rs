//! The TTL-after-finished controller (`pkg/controller/ttlafterfinished`): deletes finished Jobs once
//! `ttlSecondsAfterFinished` is over.

use std::rc::Rc;
use std::time::Duration;

use api::OStr;
use api::batch_v1::Job;
use api::meta_v1::DeleteOptions;
use client::{Client, Delta, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::job::finished_condition;
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "ttl-after-finished-controller";

struct TtlAfterFinished {
    ctx: sim::Ctx,
    client: Client,
    jobs: Lister<Job>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting TTL after finished controller")
        .str("logger", LOGGER)
        .log(&cc.ctx, "ttlafterfinished_controller.go:112");
    let jobs = cc.informer::<Job>();
    let controller = Rc::new(TtlAfterFinished {
        ctx: cc.ctx.clone(),
        client: cc.client("ttl-after-finished-controller"),
        jobs: jobs.lister(),
        queue: WorkQueue::new(&cc.ctx, "ttl_jobs_to_delete"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    jobs.on(move |delta| this.on_job(delta));
    jobs.synced().await;
    Worker::spawn(&cc.ctx, 5, controller.queue.clone(), controller);
}

impl TtlAfterFinished {
    fn line(&self, text: &str, key: &Key, place: &'static str) {
        klog::info(text).str("logger", LOGGER).obj("job", &key.namespace, &key.name).log(&self.ctx, place);
    }

    fn on_job(&self, delta: &Delta<Job>) {
        let (text, place) = match delta {
            Delta::Added(_) => ("Adding job", "ttlafterfinished_controller.go:135"),
            Delta::Updated { .. } => ("Updating job", "ttlafterfinished_controller.go:145"),
            Delta::Deleted(_) => return,
        };
        let job = delta.object();
        let key = Key::of(&job.metadata);
        self.line(text, &key, place);
        if needs_cleanup(job) {
            self.line("Add job to cleanup", &key, "ttlafterfinished_controller.go:153");
            self.queue.add_caused(key, delta.revision());
        }
    }

    /// Whether the job's time is over; if it is still to come, the job is looked at again then.
    fn is_expired(&self, key: &Key, job: &Job) -> Result<bool, SyncError> {
        if !needs_cleanup(job) {
            return Ok(false);
        }
        let finished = finished_condition(job).map(|c| c.last_transition_time).unwrap_or_default();
        let Some(finished) = finished.unix() else {
            return Err(format!("unable to find the time when the Job {key} finished").into());
        };
        let ttl = i64::from(job.spec.ttl_seconds_after_finished.unwrap_or(0));
        let due = finished.saturating_add(ttl).saturating_mul(1_000_000_000);
        let left = due.saturating_sub(self.ctx.unix_nanos());
        self.observed.desired(key, format!("gone {ttl}s after it finished"));
        if left <= 0 {
            return Ok(true);
        }
        self.queue.add_after(key.clone(), Duration::from_nanos(left.unsigned_abs()));
        Ok(false)
    }
}

/// Whether the job has finished and goes by itself.
fn needs_cleanup(job: &Job) -> bool {
    job.metadata.deletion_timestamp.unix().is_none()
        && job.spec.ttl_seconds_after_finished.is_some()
        && finished_condition(job).is_some()
}

impl Reconcile<Key> for TtlAfterFinished {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        self.line("Checking if Job is ready for cleanup", key, "ttlafterfinished_controller.go:216");
        let Some(job) = self.jobs.by_key(key) else { return Ok(()) };
        if !self.is_expired(key, &job)? {
            return Ok(());
        }
        // The cache may be old: the job's time may have been changed since.
        let client = self.client.caused_by(&work.causes);
        let fresh = match client.get::<Job>(&key.namespace, &key.name).await {
            Ok(fresh) => fresh,
            Err(err) if err.is_not_found() => return Ok(()),
            Err(err) => return Err(err.into()),
        };
        if !self.is_expired(key, &fresh)? {
            return Ok(());
        }
        let mut options = DeleteOptions { propagation_policy: OStr::some("Foreground"), ..Default::default() };
        options.preconditions.make().uid = OStr::some(fresh.metadata.uid.clone());
        self.line("Cleaning up Job", key, "ttlafterfinished_controller.go:255");
        self.observed.action(key, "delete the job".to_string());
        client.delete::<Job>(&key.namespace, &key.name, &options).await?;
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::error("Failed to clean up job, will retry")
                    .err(err)
                    .str("logger", "UnhandledError")
                    .str("key", &work.key.to_string())
                    .log(&self.ctx, "ttlafterfinished_controller.go:197");
                self.queue.retry(work);
            }
        }
    }
}
