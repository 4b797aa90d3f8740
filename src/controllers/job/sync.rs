//! One run for one job (`syncJob`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::batch_v1::{Job, JobCondition, JobStatus};
use api::core_v1::Pod;
use api::selector::LabelSelector;
use api::{List, Resource, Rev, Str, Time};
use client::{Client, Key, Work, klog};

use super::backoff::{Backoff, finished_at};
use super::indexes::{self, Intervals, index_of};
use super::policy::{self, is_failed};
use super::{JobController, LOGGER, finished_condition, is_managed_elsewhere, is_tracked};
use crate::controller_utils::{self as utils, SyncError};

/// What a run goes by and changes.
pub struct Run<'a> {
    pub jc: &'a JobController,
    pub client: Client,
    pub key: Key,
    /// The job as last read or written.
    pub job: Rev<Job>,
    /// The status that will be written.
    pub status: JobStatus,
    pub pods: Vec<Rev<Pod>>,
    pub active_pods: Vec<Rev<Pod>>,
    pub succeeded: i32,
    pub failed: i32,
    pub ready: i32,
    pub terminating: i32,
    pub previous_indexes: Intervals,
    pub succeeded_indexes: Intervals,
    pub failed_indexes: Option<Intervals>,
    /// The condition that ends the job, as far as is known.
    pub end: Option<JobCondition>,
    pub backoff: Backoff,
    /// Pods whose finalizer is off already, whatever the cache says.
    pub untracked: BTreeSet<Str>,
    /// Failed pods that stay until their replacement carries their count on.
    pub delayed: BTreeMap<i32, Rev<Pod>>,
}

/// A condition that has just become so.
pub fn condition(type_: &str, status: &str, reason: &str, message: &str, now: Time) -> JobCondition {
    JobCondition {
        type_: type_.into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
        last_probe_time: now,
        last_transition_time: now,
    }
}

/// Sets a condition; says whether that changed anything. False is not added, only set.
pub fn ensure_condition(list: &mut List<JobCondition>, new: JobCondition) -> bool {
    match list.iter().position(|c| c.type_ == new.type_) {
        Some(at) => {
            let Some(old) = list.make().get_mut(at) else { return false };
            let changed = old.status != new.status || old.reason != new.reason || old.message != new.message;
            if changed {
                *old = new;
            }
            changed
        }
        None if new.status == "False" => false,
        None => {
            list.push(new);
            true
        }
    }
}

fn is_true(conditions: &[JobCondition], type_: &str) -> Option<JobCondition> {
    conditions.iter().find(|c| c.type_ == type_ && c.status == "True").cloned()
}

/// A count of things as the API's number.
pub fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

impl JobController {
    pub(super) async fn sync(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        self.written.ensure_ready(key, &[("pods", self.pods.revision()), ("jobs.batch", self.jobs.revision())])?;
        let Some(job) = self.jobs.by_key(key) else {
            klog::info("Job has been deleted")
                .str("logger", LOGGER)
                .str("key", &key.to_string())
                .log(&self.ctx, "job_controller.go:953");
            self.expectations.delete(key);
            self.removed_finalizers.borrow_mut().remove(key);
            self.written.clear(key);
            self.backoffs.borrow_mut().remove(key);
            return Ok(());
        };
        if is_managed_elsewhere(&job) {
            klog::info("Skip syncing the job as it is managed by an external controller")
                .str("logger", LOGGER)
                .str("key", &key.to_string())
                .str("uid", &job.metadata.uid)
                .str("controllerName", job.spec.managed_by.or_empty())
                .log(&self.ctx, "job_controller.go:974");
            return Ok(());
        }
        if finished_condition(&job).is_some() {
            self.written.clear(key);
            self.forget(key, &job.metadata.uid);
            return Ok(());
        }
        if self.finished.borrow().contains(&job.metadata.uid) {
            klog::info(
                "Skip syncing the job as its marked finished but the corresponding update event is not yet received",
            )
            .str("logger", LOGGER)
            .str("uid", &job.metadata.uid)
            .str("key", &key.to_string())
            .log(&self.ctx, "job_controller.go:996");
            return Ok(());
        }
        let satisfied = self.expectations.satisfied(key);
        let client = self.client.caused_by(&work.causes);
        let pods = self.claim_pods(&client, &job).await?;
        let mut status = (*job.status).clone();
        status.uncounted_terminated_pods.make();
        let run = Run {
            jc: self,
            client,
            key: key.clone(),
            active_pods: pods.iter().filter(|p| utils::is_pod_active(p)).cloned().collect(),
            status,
            job,
            pods,
            succeeded: 0,
            failed: 0,
            ready: 0,
            terminating: 0,
            previous_indexes: Intervals::default(),
            succeeded_indexes: Intervals::default(),
            failed_indexes: None,
            end: None,
            backoff: Backoff::default(),
            untracked: self.removed_finalizers.borrow().get(key).cloned().unwrap_or_default(),
            delayed: BTreeMap::new(),
        };
        run.go(satisfied).await
    }

    async fn claim_pods(&self, client: &Client, job: &Rev<Job>) -> Result<Vec<Rev<Pod>>, SyncError> {
        let selector = LabelSelector::from_api(job.spec.selector.get())
            .map_err(|e| SyncError::from(format!("couldn't convert Job selector: {e}")))?;
        let meta = &job.metadata;
        let mut pods = self.pods.by_index(utils::POD_CONTROLLER_INDEX, &meta.uid);
        pods.extend(self.pods.by_index(utils::POD_CONTROLLER_INDEX, &meta.namespace));
        let claim = utils::Claim { ctx: &self.ctx, client, owner: meta, kind: Job::KIND, selector: &selector };
        claim.claim::<Job, Pod>(pods).await
    }
}

impl Run<'_> {
    pub(super) fn is_indexed(&self) -> bool {
        self.job.spec.completion_mode.get() == Some("Indexed")
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.job.spec.suspend == Some(true)
    }

    /// Whether each index has failures of its own.
    pub(super) fn is_per_index(&self) -> bool {
        self.job.spec.backoff_limit_per_index.is_some()
    }

    pub(super) fn completions(&self) -> i32 {
        self.job.spec.completions.unwrap_or(1)
    }

    pub(super) fn event(&self, type_: &str, reason: &str, message: &str) {
        let about = utils::object_ref::<Job>(&self.job.metadata, self.job.revision);
        self.jc.recorder.event(&about, type_, reason, message);
    }

    pub(super) fn condition(&self, type_: &str, reason: &str, message: &str) -> JobCondition {
        condition(type_, "True", reason, message, self.jc.now())
    }

    /// Whether a pod's index is one of the job's.
    pub(super) fn has_valid_index(&self, pod: &Pod) -> bool {
        index_of(pod).is_some_and(|i| i < self.completions())
    }

    /// Whether a pod is yet to be counted, and may be.
    pub(super) fn counts(&self, pod: &Pod) -> bool {
        is_tracked(pod) && !self.untracked.contains(&pod.metadata.uid)
    }

    fn newly(&self, uncounted: &[Str], is: impl Fn(&Pod) -> bool) -> Vec<Rev<Pod>> {
        let valid = |p: &&Rev<Pod>| {
            self.counts(p)
                && !uncounted.contains(&p.metadata.uid)
                && (!self.is_indexed() || self.has_valid_index(p))
                && is(p)
        };
        self.pods.iter().filter(valid).cloned().collect()
    }

    async fn go(mut self, satisfied: bool) -> Result<(), SyncError> {
        let job = self.job.clone();
        let spec = &job.spec;
        self.ready = int(self.active_pods.iter().filter(|p| utils::is_pod_ready(p)).count());
        let is_terminating = |p: &&Rev<Pod>| {
            p.metadata.deletion_timestamp.unix().is_some() && !matches!(&*p.status.phase, "Failed" | "Succeeded")
        };
        self.terminating = int(self.pods.iter().filter(is_terminating).count());
        let uncounted = self.status.uncounted_terminated_pods.get().cloned().unwrap_or_default();
        let new_succeeded = self.newly(&uncounted.succeeded, |p| p.status.phase == "Succeeded");
        let new_failed = self.newly(&uncounted.failed, |p| is_failed(p, &job));
        let counted = new_failed.iter().filter(|p| policy::judge(spec.pod_failure_policy.get(), p).counts).count();
        self.succeeded = job.status.succeeded + int(new_succeeded.len() + uncounted.succeeded.len());
        self.failed = job.status.failed + int(counted + uncounted.failed.len());
        if job.status.start_time.is_zero() && !self.is_suspended() {
            self.status.start_time = self.jc.now();
        }
        let before = self.jc.backoffs.borrow().get(&self.key).copied().unwrap_or_default();
        self.backoff = before.with(&new_succeeded, &new_failed);
        self.find_end();
        if self.is_indexed() {
            self.find_indexes();
        }
        let mut active = int(self.active_pods.len());
        let desired = spec.completions.map_or("one success".to_string(), |n| format!("{n} successes"));
        self.jc.observed.desired(&self.key, desired);
        let actual = format!("{active} active, {} succeeded, {} failed", self.succeeded, self.failed);
        self.jc.observed.actual(&self.key, actual);
        let (mut result, mut suspension_changed) = (Ok(()), false);
        if self.end.is_some() {
            let (deleted, deletion) = self.delete_active().await;
            if deleted != active || !satisfied {
                self.end = None;
            }
            active -= deleted;
            self.terminating += deleted;
            result = deletion;
        } else {
            let manage = satisfied && job.metadata.deletion_timestamp.is_zero();
            if manage {
                (active, result) = self.manage().await;
            }
            let complete = match spec.completions {
                None => self.succeeded > 0 && active == 0,
                Some(n) => self.succeeded >= n && active == 0,
            };
            if complete {
                let message = "Reached expected number of succeeded pods";
                self.end = Some(self.condition("SuccessCriteriaMet", "CompletionsReached", message));
            } else if manage {
                suspension_changed = self.note_suspension();
            }
        }
        let flush = suspension_changed
            || active != job.status.active
            || job.status.ready != Some(self.ready)
            || job.status.terminating != Some(self.terminating);
        self.status.active = active;
        self.status.ready = Some(self.ready);
        self.status.terminating = Some(self.terminating);
        self.track(flush).await.map_err(|e| SyncError::from(format!("tracking status: {e}")))?;
        result
    }

    /// Whether the job has failed or succeeded, by what was decided before or by its limits.
    fn find_end(&mut self) {
        let job = self.job.clone();
        self.end = is_true(&job.status.conditions, "SuccessCriteriaMet");
        if self.end.is_none() {
            if let Some(target) = is_true(&job.status.conditions, "FailureTarget") {
                self.end = Some(self.condition("Failed", &target.reason, &target.message));
                return;
            }
            let failed = self.pods.iter().filter(|p| is_failed(p, &job));
            let message = failed.filter_map(|p| policy::judge(job.spec.pod_failure_policy.get(), p).fail_job).next();
            self.end = message.map(|m| self.condition("FailureTarget", "PodFailurePolicy", &m));
        }
        if self.end.is_some() {
            return;
        }
        let limit = job.spec.backoff_limit.unwrap_or(6);
        if self.failed > limit || self.restarted_too_often(limit) {
            let message = "Job has reached the specified backoff limit";
            self.end = Some(self.condition("FailureTarget", "BackoffLimitExceeded", message));
            return;
        }
        let Some(deadline) = job.spec.active_deadline_seconds.filter(|_| !self.is_suspended()) else { return };
        // A job that has just started counts from now; one that was read with a start, from that.
        let left = self.status.start_time.unix().map_or(Duration::ZERO, |start| self.jc.left(start, deadline));
        if left.is_zero() && !job.status.start_time.is_zero() {
            let message = "Job was active longer than specified deadline";
            self.end = Some(self.condition("FailureTarget", "DeadlineExceeded", message));
            return;
        }
        klog::info("Job has activeDeadlineSeconds configuration. Will sync this job again")
            .str("logger", LOGGER)
            .str("key", &self.key.to_string())
            .duration("nextSyncIn", left)
            .log(&self.jc.ctx, "job_controller.go:1091");
        self.jc.queue.add_after(self.key.clone(), left);
    }

    /// With `restartPolicy: OnFailure`, restarts count as failures.
    fn restarted_too_often(&self, limit: i32) -> bool {
        if self.job.spec.template.spec.restart_policy != "OnFailure" {
            return false;
        }
        let living = self.pods.iter().filter(|p| matches!(&*p.status.phase, "Running" | "Pending"));
        let restarts: i32 = living
            .flat_map(|p| p.status.init_container_statuses.iter().chain(p.status.container_statuses.iter()))
            .map(|s| s.restart_count)
            .sum();
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    fn find_indexes(&mut self) {
        let (job, completions) = (self.job.clone(), self.completions());
        self.previous_indexes = Intervals::parse(&job.status.completed_indexes, completions);
        let uncounted = self.pods.iter().filter(|p| is_tracked(p) && self.has_valid_index(p));
        let uncounted: Vec<Rev<Pod>> = uncounted.cloned().collect();
        let indexes = |is: &dyn Fn(&Rev<Pod>) -> bool| -> BTreeSet<i32> {
            uncounted.iter().filter(|p| is(p)).filter_map(|p| index_of(p)).collect()
        };
        let succeeded = indexes(&|p| p.status.phase == "Succeeded");
        self.succeeded_indexes = self.previous_indexes.with(&succeeded);
        self.succeeded = self.succeeded_indexes.total();
        if let Some(limit) = job.spec.backoff_limit_per_index {
            let has_failed = |p: &Rev<Pod>| {
                if !is_failed(p, &job) {
                    return false;
                }
                let verdict = policy::judge(job.spec.pod_failure_policy.get(), p);
                verdict.fail_index || (verdict.counts && indexes::failures(p) >= limit)
            };
            let new = indexes(&has_failed);
            let failed = Intervals::parse(job.status.failed_indexes.or_empty(), completions).with(&new);
            if self.end.is_none() {
                let end = if job.spec.max_failed_indexes.is_some_and(|max| failed.total() > max) {
                    Some((
                        "MaxFailedIndexesExceeded",
                        "Job has exceeded the specified maximal number of failed indexes",
                    ))
                } else if failed.total() > 0 && failed.total() + self.succeeded_indexes.total() >= completions {
                    Some(("FailedIndexes", "Job has failed indexes"))
                } else {
                    None
                };
                self.end = end.map(|(reason, message)| self.condition("FailureTarget", reason, message));
            }
            self.failed_indexes = Some(failed);
            self.delayed = self.delayed_pods();
        }
        if self.end.is_none() {
            let met = policy::success(job.spec.success_policy.get(), completions, &self.succeeded_indexes);
            self.end = met.map(|m| self.condition("SuccessCriteriaMet", "SuccessPolicy", &m));
        }
    }

    fn delayed_pods(&self) -> BTreeMap<i32, Rev<Pod>> {
        let active = indexes::indexes_of(&self.active_pods);
        let failures = |p: &Pod| indexes::failures(p) + indexes::ignored_failures(p);
        let mut delayed: BTreeMap<i32, Rev<Pod>> = BTreeMap::new();
        for pod in &self.pods {
            let Some(index) = index_of(pod).filter(|_| self.counts(pod) && self.has_valid_index(pod)) else { continue };
            let over = self.succeeded_indexes.has(index)
                || self.failed_indexes.as_ref().is_some_and(|f| f.has(index))
                || active.contains(&index);
            if over || !is_failed(pod, &self.job) {
                continue;
            }
            let later = |last: &Rev<Pod>| failures(last) <= failures(pod) && finished_at(pod) >= finished_at(last);
            if delayed.get(&index).is_none_or(later) {
                delayed.insert(index, pod.clone());
            }
        }
        delayed
    }

    /// Says in a condition and an event whether the job is suspended.
    fn note_suspension(&mut self) -> bool {
        let now = self.jc.now();
        let suspended = self.is_suspended();
        let new = if suspended {
            condition("Suspended", "True", "JobSuspended", "Job suspended", now)
        } else {
            condition("Suspended", "False", "JobResumed", "Job resumed", now)
        };
        let changed = ensure_condition(&mut self.status.conditions, new);
        if changed && suspended {
            self.event("Normal", "Suspended", "Job suspended");
            self.status.start_time = Time::default();
        } else if changed {
            self.event("Normal", "Resumed", "Job resumed");
            self.status.start_time = now;
        }
        changed
    }
}
