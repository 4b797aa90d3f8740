//! The CronJob controller (`pkg/controller/cronjob`): a Job for every time that the schedule says.

mod schedule;
mod sync;

use std::rc::Rc;

use api::Str;
use api::batch_v1::{CronJob, Job};
use api::cron::Schedule;
use api::meta_v1::OwnerReference;
use api::timezone::TimeZone;
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError, controller_of};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "cronjob-controller";
/// Jobs by the uid of their controller (`jobControllerUIDIndex`).
const CONTROLLER_INDEX: &str = "jobControllerUID";

/// The controller's parts.
pub struct CronJobController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    cron_jobs: Lister<CronJob>,
    jobs: Lister<Job>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting cronjob controller v2").str("logger", LOGGER).log(&cc.ctx, "cronjob_controllerv2.go:166");
    let client = cc.client("cronjob-controller");
    let recorder = cc.recorder(&client, LOGGER, LOGGER);
    let (jobs, cron_jobs) = (cc.informer::<Job>(), cc.informer::<CronJob>());
    jobs.add_index(CONTROLLER_INDEX, |job: &Job| {
        controller_of(&job.metadata).map(|r| r.uid.clone()).into_iter().collect()
    });
    let controller = Rc::new(CronJobController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        cron_jobs: cron_jobs.lister(),
        jobs: jobs.lister(),
        queue: WorkQueue::new(&cc.ctx, "cronjob"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    jobs.on(move |delta| this.on_job(delta));
    let this = controller.clone();
    cron_jobs.on(move |delta| this.on_cron_job(delta));
    futures_util::join!(jobs.synced(), cron_jobs.synced());
    Worker::spawn(&cc.ctx, 5, controller.queue.clone(), controller);
}

impl CronJobController {
    fn event(&self, job: &CronJob, revision: u64, type_: &str, reason: &str, text: &str) {
        self.recorder.event(&utils::object_ref::<CronJob>(&job.metadata, revision), type_, reason, text);
    }

    fn on_job(&self, delta: &Delta<Job>) {
        if let Delta::Updated { old, new } = delta {
            if old.revision == new.revision {
                return;
            }
            let (before, after) = (controller_of(&old.metadata), controller_of(&new.metadata));
            if !utils::same_ref(before, after) {
                self.enqueue(&old.metadata.namespace, before, delta.revision());
            }
        }
        let meta = &delta.object().metadata;
        self.enqueue(&meta.namespace, controller_of(meta), delta.revision());
    }

    fn enqueue(&self, namespace: &Str, owner: Option<&OwnerReference>, revision: u64) {
        let Some(owner) = owner.filter(|r| r.kind == "CronJob") else { return };
        if self.cron_jobs.get(namespace, &owner.name).is_some_and(|c| c.metadata.uid == owner.uid) {
            self.queue.add_caused(Key::new(namespace.clone(), owner.name.clone()), revision);
        }
    }

    fn on_cron_job(&self, delta: &Delta<CronJob>) {
        let new = delta.object();
        let key = Key::of(&new.metadata);
        let Delta::Updated { old, .. } = delta else { return self.queue.add_caused(key, delta.revision()) };
        if old.spec.schedule == new.spec.schedule && old.spec.time_zone == new.spec.time_zone {
            return self.queue.add_caused(key, delta.revision());
        }
        match Schedule::parse(&self.schedule_text(new)) {
            Ok(schedule) => {
                let wait = schedule::until_next(new, &schedule, self.ctx.unix_nanos());
                self.queue.add_caused_after(key, delta.revision(), wait);
            }
            Err(err) => {
                klog::info("Unparseable schedule for cronjob")
                    .str("logger", LOGGER)
                    .obj("cronjob", &key.namespace, &key.name)
                    .str("schedule", &new.spec.schedule)
                    .err(err)
                    .log(&self.ctx, "cronjob_controllerv2.go:425");
                let text = format!("unparseable schedule for cronjob: {}", new.spec.schedule);
                self.event(new, new.revision, "Warning", "UnParseableCronJobSchedule", &text);
            }
        }
    }

    /// The schedule with its zone, as the parser takes it (`formatSchedule`).
    fn schedule_text(&self, job: &CronJob) -> String {
        let schedule = &job.spec.schedule;
        match job.spec.time_zone.get() {
            Some(zone) if !schedule.contains("TZ") && TimeZone::named(zone).is_some() => {
                // The empty name is UTC, and so is a schedule without a zone.
                if zone.is_empty() { schedule.to_string() } else { format!("TZ={zone} {schedule}") }
            }
            _ => schedule.to_string(),
        }
    }
}

impl Reconcile<Key> for CronJobController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let Some(cron_job) = self.cron_jobs.by_key(key) else {
            klog::info("CronJob not found, may be it is deleted")
                .str("logger", LOGGER)
                .obj("cronjob", &key.namespace, &key.name)
                .log(&self.ctx, "cronjob_controllerv2.go:223");
            return Ok(());
        };
        let again = self.sync(&self.client.caused_by(&work.causes), &cron_job).await?;
        // A success forgets the failures before the key waits for its next time.
        self.queue.forget(key);
        if let Some(wait) = again {
            klog::info("Re-queuing cronjob")
                .str("logger", LOGGER)
                .obj("cronjob", &key.namespace, &key.name)
                .duration("requeueAfter", wait)
                .log(&self.ctx, "cronjob_controllerv2.go:255");
            self.queue.add_after(key.clone(), wait);
        }
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("error syncing CronJobController {}, requeuing: {err}", work.key))
                    .log(&self.ctx, "cronjob_controllerv2.go:202");
                self.queue.retry(work);
            }
        }
    }
}
