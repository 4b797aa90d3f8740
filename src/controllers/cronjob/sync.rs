//! One look at a CronJob: old Jobs go, the list of running ones is kept, and the run that is due begins.

use std::time::Duration;

use api::SortSmall;
use api::batch_v1::{CronJob, Job};
use api::core_v1::ObjectReference;
use api::cron::Schedule;
use api::meta_v1::DeleteOptions;
use api::timezone::TimeZone;
use api::value::time::{civil, rfc3339};
use api::{List, OStr, Rev, Str, Time};
use client::{Client, Key, klog};

use super::schedule::{self, Missed};
use super::{CONTROLLER_INDEX, CronJobController, LOGGER};
use crate::controller_utils::{self as utils, SyncError, controller_of};
use crate::job::finished_condition;

const SCHEDULED_AT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The CronJob while it is looked at: its changed status is written once, at the end.
struct Draft {
    job: CronJob,
    revision: u64,
    changed: bool,
}

impl Draft {
    fn is_active(&self, uid: &Str) -> bool {
        self.job.status.active.iter().any(|r| r.uid == *uid)
    }

    fn forget(&mut self, uid: &Str) {
        let kept: Vec<ObjectReference> = self.job.status.active.iter().filter(|r| r.uid != *uid).cloned().collect();
        self.job.status.make().active = List::from(kept);
        self.changed = true;
    }

    fn key(&self) -> Key {
        Key::of(&self.job.metadata)
    }
}

fn is_complete(job: &Job) -> bool {
    finished_condition(job).is_some_and(|c| c.type_ == "Complete")
}

impl CronJobController {
    fn say(&self, draft: &Draft, type_: &str, reason: &str, text: &str) {
        self.event(&draft.job, draft.revision, type_, reason, text);
    }

    fn note(&self, draft: &Draft, text: &str, place: &'static str) {
        let meta = &draft.job.metadata;
        klog::info(text).str("logger", LOGGER).obj("cronjob", &meta.namespace, &meta.name).log(&self.ctx, place);
    }

    /// Brings the CronJob up to date; says when to look again.
    pub(super) async fn sync(&self, client: &Client, cron_job: &Rev<CronJob>) -> Result<Option<Duration>, SyncError> {
        let jobs = self.jobs.by_index(CONTROLLER_INDEX, &cron_job.metadata.uid);
        let mut draft = Draft { job: (**cron_job).clone(), revision: cron_job.revision, changed: false };
        self.clean_up(client, &mut draft, &jobs).await;
        let result = self.sync_jobs(client, &mut draft, &jobs).await;
        let meta = &cron_job.metadata;
        let line = |text: &str| klog::info(text).str("logger", LOGGER).obj("cronjob", &meta.namespace, &meta.name);
        if let Err(err) = &result {
            line("Error reconciling cronjob").err(err).log(&self.ctx, "cronjob_controllerv2.go:243");
        }
        if draft.changed
            && let Err(err) = client.update_status(draft.job, draft.revision).await
        {
            line("Unable to update status for cronjob")
                .str("resourceVersion", &draft.revision.to_string())
                .err(&err)
                .log(&self.ctx, "cronjob_controllerv2.go:249");
            return Err(err.into());
        }
        result
    }

    /// Deletes the oldest finished Jobs beyond the limits.
    async fn clean_up(&self, client: &Client, draft: &mut Draft, jobs: &[Rev<Job>]) {
        let spec = &draft.job.spec;
        let limits = [(true, spec.successful_jobs_history_limit), (false, spec.failed_jobs_history_limit)];
        for (complete, limit) in limits {
            let Some(limit) = limit.and_then(|l| usize::try_from(l).ok()) else { continue };
            let finished = |j: &&Rev<Job>| finished_condition(j).is_some() && is_complete(j) == complete;
            let mut finished: Vec<&Rev<Job>> = jobs.iter().filter(finished).collect();
            let Some(excess) = finished.len().checked_sub(limit).filter(|n| *n > 0) else { continue };
            klog::info("Cleaning up jobs from CronJob list")
                .str("logger", LOGGER)
                .raw("deletejobnum", excess)
                .raw("jobnum", finished.len())
                .obj("cronjob", &draft.job.metadata.namespace, &draft.job.metadata.name)
                .log(&self.ctx, "cronjob_controllerv2.go:757");
            finished.sort_small_by_key(|j| (j.status.start_time.unix().unwrap_or(i64::MAX), j.metadata.name.clone()));
            for job in finished.into_iter().take(excess) {
                klog::info("Removing job from CronJob list")
                    .str("logger", LOGGER)
                    .str("job", &job.metadata.name)
                    .obj("cronjob", &draft.job.metadata.namespace, &draft.job.metadata.name)
                    .log(&self.ctx, "cronjob_controllerv2.go:761");
                self.delete_job(client, draft, job).await;
            }
        }
    }

    /// Deletes a Job with its pods; says whether it went.
    async fn delete_job(&self, client: &Client, draft: &mut Draft, job: &Job) -> bool {
        let options = DeleteOptions { propagation_policy: OStr::some("Background"), ..Default::default() };
        let (namespace, name) = (&job.metadata.namespace, &job.metadata.name);
        self.observed.action(&draft.key(), format!("delete job {name}"));
        if let Err(err) = client.delete::<Job>(namespace, name, &options).await {
            self.say(draft, "Warning", "FailedDelete", &format!("Deleted job: {err}"));
            klog::error("Error deleting job from cronjob")
                .err(&err)
                .str("logger", LOGGER)
                .obj("job", namespace, name)
                .obj("cronjob", &draft.job.metadata.namespace, &draft.job.metadata.name)
                .log(&self.ctx, "cronjob_controllerv2.go:774");
            return false;
        }
        draft.forget(&job.metadata.uid);
        self.say(draft, "Normal", "SuccessfulDelete", &format!("Deleted job {name}"));
        true
    }

    /// The list of running Jobs as it should be.
    async fn update_active(&self, client: &Client, draft: &mut Draft, jobs: &[Rev<Job>]) -> Result<(), SyncError> {
        for job in jobs {
            let meta = &job.metadata;
            let active = draft.is_active(&meta.uid);
            let Some(finished) = finished_condition(job) else {
                if active {
                    continue;
                }
                // The cache may lag behind what this controller wrote itself.
                let key = draft.key();
                let fresh = client.get::<CronJob>(&key.namespace, &key.name).await?;
                if fresh.status.active.iter().any(|r| r.uid == meta.uid) {
                    (draft.job, draft.revision) = ((*fresh).clone(), fresh.revision);
                    continue;
                }
                let text = format!("Saw a job that the controller did not create or forgot: {}", meta.name);
                self.say(draft, "Warning", "UnexpectedJob", &text);
                continue;
            };
            if active {
                draft.forget(&meta.uid);
                let text = format!("Saw completed job: {}, condition: {}", meta.name, finished.type_);
                self.say(draft, "Normal", "SawCompletedJob", &text);
            }
            let (done, known) = (job.status.completion_time, draft.job.status.last_successful_time);
            let is_newer = known.unix().is_none_or(|known| done.unix().is_some_and(|done| done > known));
            if is_complete(job) && is_newer && done != known {
                draft.job.status.make().last_successful_time = done;
                draft.changed = true;
            }
        }
        let active = draft.job.status.active.clone();
        for reference in active.iter() {
            if jobs.iter().any(|j| j.metadata.uid == reference.uid) {
                continue;
            }
            match client.get::<Job>(&reference.namespace, &reference.name).await {
                Ok(_) => {}
                Err(err) if err.is_not_found() => {
                    let text = format!("Active job went missing: {}", reference.name);
                    self.say(draft, "Normal", "MissingJob", &text);
                    draft.forget(&reference.uid);
                }
                Err(err) => return Err(err.into()),
            }
        }
        Ok(())
    }

    async fn sync_jobs(
        &self,
        client: &Client,
        draft: &mut Draft,
        jobs: &[Rev<Job>],
    ) -> Result<Option<Duration>, SyncError> {
        let now = self.ctx.unix_nanos();
        self.update_active(client, draft, jobs).await?;
        let spec = draft.job.spec.clone();
        if draft.job.metadata.deletion_timestamp.unix().is_some() {
            return Ok(None);
        }
        if let Some(zone) = spec.time_zone.get().filter(|zone| TimeZone::named(zone).is_none()) {
            self.note(draft, "Not starting job because timeZone is invalid", "cronjob_controllerv2.go:530");
            let text = format!("invalid timeZone: {}: unknown time zone {zone}", api::go::quote(zone));
            self.say(draft, "Warning", "UnknownTimeZone", &text);
            return Ok(None);
        }
        if spec.suspend == Some(true) {
            self.note(draft, "Not starting job because the cron is suspended", "cronjob_controllerv2.go:537");
            return Ok(None);
        }
        if spec.schedule.contains("TZ") {
            let text = format!(
                "CRON_TZ or TZ used in schedule {} is not officially supported, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
                api::go::quote(&spec.schedule)
            );
            self.say(draft, "Warning", "UnsupportedSchedule", &text);
        }
        let schedule = match Schedule::parse(&self.schedule_text(&draft.job)) {
            Ok(schedule) => schedule,
            Err(err) => {
                self.note(draft, "Unparseable schedule", "cronjob_controllerv2.go:545");
                let text = format!("unparseable schedule: {} : {err}", api::go::quote(&spec.schedule));
                self.say(draft, "Warning", "UnparseableSchedule", &text);
                return Ok(None);
            }
        };
        let unmet = match schedule::unmet(&draft.job, &schedule, now) {
            Ok(unmet) => unmet,
            Err(err) => {
                self.note(draft, "Invalid schedule", "cronjob_controllerv2.go:554");
                let text = format!("invalid schedule: {} : {err}", spec.schedule);
                self.say(draft, "Warning", "InvalidSchedule", &text);
                return Ok(None);
            }
        };
        let Some((due, missed)) = unmet else {
            self.note(draft, "No unmet start times", "cronjob_controllerv2.go:563");
            return Ok(Some(schedule::until_next(&draft.job, &schedule, now)));
        };
        if missed == Missed::Many {
            let text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.say(draft, "Warning", "TooManyMissedTimes", text);
            self.note(draft, "too many missed times", "utils.go:216");
        }
        self.observed.desired(&draft.key(), format!("a job for {}", rfc3339(due, None)));
        self.begin(client, draft, due, now).await?;
        Ok(Some(schedule::until_next(&draft.job, &schedule, now)))
    }

    /// Begins the run that is due at `due` seconds since 1970, unless something speaks against it.
    async fn begin(&self, client: &Client, draft: &mut Draft, due: i64, now: i64) -> Result<(), SyncError> {
        let spec = draft.job.spec.clone();
        let namespace = draft.job.metadata.namespace.clone();
        let last_start = spec.starting_deadline_seconds.map(|d| due.saturating_add(d).saturating_mul(1_000_000_000));
        if last_start.is_some_and(|last| last < now) {
            self.note(draft, "Missed starting window", "cronjob_controllerv2.go:573");
            self.say(
                draft,
                "Warning",
                "MissSchedule",
                &format!("Missed scheduled time to start a job: {}", rfc1123(due)),
            );
            return Ok(());
        }
        let name: Str = format!("{}-{}", draft.job.metadata.name, due.div_euclid(60)).into();
        let listed = draft.job.status.active.iter().any(|r| r.name == name && r.namespace == namespace);
        if listed || draft.job.status.last_schedule_time.unix() == Some(due) {
            let text = "Not starting job because the scheduled time is already processed";
            self.note(draft, text, "cronjob_controllerv2.go:591");
            return Ok(());
        }
        if spec.concurrency_policy == "Forbid" && !draft.job.status.active.is_empty() {
            let text = "Not starting job because prior execution is still running and concurrency policy is Forbid";
            self.note(draft, text, "cronjob_controllerv2.go:605");
            let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.say(draft, "Normal", "JobAlreadyActive", text);
            return Ok(());
        }
        if spec.concurrency_policy == "Replace" {
            let active = draft.job.status.active.clone();
            for reference in active.iter() {
                klog::info("Deleting job that was still running at next scheduled start time")
                    .str("logger", LOGGER)
                    .obj("job", &reference.namespace, &reference.name)
                    .log(&self.ctx, "cronjob_controllerv2.go:612");
                let job = match client.get::<Job>(&reference.namespace, &reference.name).await {
                    Ok(job) => job,
                    Err(err) => {
                        self.say(draft, "Warning", "FailedGet", &format!("Get job: {err}"));
                        return Err(err.into());
                    }
                };
                if !self.delete_job(client, draft, &job).await {
                    return Err(format!("could not replace job {}/{}", reference.namespace, reference.name).into());
                }
            }
        }
        let wanted = job_from_template(&draft.job, &name, due);
        self.observed.action(&draft.key(), format!("create job {name}"));
        let created = match client.create(&namespace, wanted).await {
            Ok(job) => {
                klog::info("Created Job")
                    .str("logger", LOGGER)
                    .obj("job", &namespace, &name)
                    .obj("cronjob", &namespace, &draft.job.metadata.name)
                    .log(&self.ctx, "cronjob_controllerv2.go:670");
                self.say(draft, "Normal", "SuccessfulCreate", &format!("Created job {name}"));
                job
            }
            Err(err) if err.is_already_exists() => {
                let job = client.get::<Job>(&namespace, &name).await?;
                let ours = controller_of(&job.metadata).is_some_and(|r| r.uid == draft.job.metadata.uid);
                if !ours || draft.is_active(&job.metadata.uid) {
                    return Ok(());
                }
                self.note(draft, "Job already exists", "cronjob_controllerv2.go:667");
                job
            }
            Err(err) => {
                if !err.has_cause("NamespaceTerminating") {
                    self.say(draft, "Warning", "FailedCreate", &format!("Error creating job: {err}"));
                }
                return Err(err.into());
            }
        };
        let status = draft.job.status.make();
        status.active.push(utils::object_ref::<Job>(&created.metadata, created.revision));
        status.last_schedule_time = Time::from_unix(due);
        draft.changed = true;
        Ok(())
    }
}

/// The Job of a run (`getJobFromTemplate2`).
fn job_from_template(cron_job: &CronJob, name: &Str, due: i64) -> Job {
    let template = &cron_job.spec.job_template;
    let mut job = Job::default();
    job.metadata.name = name.clone();
    job.metadata.namespace = cron_job.metadata.namespace.clone();
    job.metadata.labels = template.metadata.labels.clone();
    job.metadata.annotations = template.metadata.annotations.clone();
    let zone = TimeZone::named(cron_job.spec.time_zone.or_empty()).unwrap_or(TimeZone::UTC);
    job.metadata.annotations.insert(SCHEDULED_AT, Str::from(in_zone(due, zone)));
    job.metadata.owner_references = List::from(vec![utils::new_controller_ref::<CronJob>(&cron_job.metadata)]);
    job.spec = template.spec.clone();
    job
}

/// RFC 3339 with the zone's offset: `2026-11-30T01:51:00+09:00`.
fn in_zone(unix: i64, zone: TimeZone) -> String {
    let offset = zone.offset(unix);
    let text = rfc3339(unix.saturating_add(offset), None);
    if offset == 0 {
        return text;
    }
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
    format!("{}{sign}{:02}:{:02}", text.trim_end_matches('Z'), minutes / 60, minutes % 60)
}

/// Go's RFC1123Z in UTC: `Sun, 29 Nov 2026 16:51:00 +0000`.
fn rfc1123(unix: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let (day, second) = (unix.div_euclid(86_400), unix.rem_euclid(86_400));
    let (year, month, date) = civil(day);
    let pick =
        |names: &[&'static str], i: i64| usize::try_from(i).ok().and_then(|i| names.get(i).copied()).unwrap_or("");
    format!(
        "{}, {date:02} {} {year:04} {:02}:{:02}:{:02} +0000",
        pick(&DAYS, day.rem_euclid(7)),
        pick(&MONTHS, month - 1),
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_go_prints_them() {
        let unix = 1_795_971_060;
        assert_eq!(rfc1123(unix), "Sun, 29 Nov 2026 16:51:00 +0000");
        assert_eq!(in_zone(unix, TimeZone::UTC), "2026-11-29T16:51:00Z");
        assert_eq!(in_zone(unix, TimeZone::named("Asia/Seoul").unwrap()), "2026-11-30T01:51:00+09:00");
        assert_eq!(in_zone(unix, TimeZone::named("America/St_Johns").unwrap()), "2026-11-29T13:21:00-03:30");
    }
}
