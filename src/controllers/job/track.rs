//! Counting finished pods (`trackJobStatusAndRemoveFinalizers`): first their uids go into the status, then their
//! finalizers are taken off, then they are counted.

use api::SortSmall;
use std::collections::BTreeSet;

use api::batch_v1::JobStatus;
use api::core_v1::Pod;
use api::{List, OStr, Rev, Str};
use client::klog;
use futures_util::future::join_all;

use super::indexes::index_of;
use super::policy::{self, is_failed};
use super::sync::{Run, condition, ensure_condition, int};
use super::{LOGGER, is_tracked};
use crate::controller_utils::SyncError;

/// Uids in the status at most.
const MAX_UNCOUNTED: usize = 500;

/// Counts pods that are in the status and have no finalizer any more.
fn count_untracked(status: &mut JobStatus, tracked: &BTreeSet<Str>) -> bool {
    let count = |uids: &mut List<Str>, counter: &mut i32| {
        let before = uids.len();
        let left: Vec<Str> = uids.iter().filter(|u| tracked.contains(*u)).cloned().collect();
        let counted = before - left.len();
        if counted > 0 {
            *uids = if left.is_empty() { List::default() } else { List::from(left) };
            *counter += int(counted);
        }
        counted > 0
    };
    let uncounted = status.uncounted_terminated_pods.make().clone();
    let (mut succeeded, mut failed) = (uncounted.succeeded, uncounted.failed);
    let changed = count(&mut succeeded, &mut status.succeeded) | count(&mut failed, &mut status.failed);
    let uncounted = status.uncounted_terminated_pods.make();
    uncounted.succeeded = succeeded;
    uncounted.failed = failed;
    changed
}

impl Run<'_> {
    async fn flush(&mut self) -> Result<(), SyncError> {
        let mut copy = (*self.job).clone();
        *copy.status.make() = self.status.clone();
        self.job = self.client.update_status(copy, self.job.revision).await?;
        self.jc.written.wrote(&self.key, "jobs.batch", self.job.revision);
        Ok(())
    }

    fn may_untrack(&self, pod: &Pod, failed: bool) -> bool {
        if !self.job.metadata.deletion_timestamp.is_zero() || self.end.is_some() || pod.status.phase == "Succeeded" {
            return true;
        }
        if !failed {
            return false;
        }
        let delayed = index_of(pod).and_then(|i| self.delayed.get(&i));
        if self.is_per_index() && delayed.is_some_and(|p| p.metadata.uid == pod.metadata.uid) {
            klog::info("Delaying pod finalizer removal to await for pod recreation within the index")
                .str("logger", LOGGER)
                .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                .log(&self.jc.ctx, "job_controller.go:1465");
            return false;
        }
        true
    }

    pub(super) async fn track(&mut self, mut flush: bool) -> Result<(), SyncError> {
        let indexed = self.is_indexed();
        let mut pods = self.pods.clone();
        if indexed {
            pods.sort_small_by_key(|p| index_of(p).unwrap_or(-1));
        }
        let mut tracked: BTreeSet<Str> =
            pods.iter().filter(|p| self.counts(p)).map(|p| p.metadata.uid.clone()).collect();
        flush |= count_untracked(&mut self.status, &tracked);
        let known = self.job.status.uncounted_terminated_pods.get().cloned().unwrap_or_default();
        let ends_badly = self.end.as_ref().is_some_and(|c| c.type_ != "SuccessCriteriaMet");
        let (mut untrack, mut new_indexes) = (Vec::new(), BTreeSet::new());
        let mut full = false;
        for pod in pods.iter().filter(|p| is_tracked(p)) {
            let failed = is_failed(pod, &self.job);
            if !self.counts(pod) || !self.may_untrack(pod, failed) {
                continue;
            }
            untrack.push(pod.clone());
            let uid = &pod.metadata.uid;
            let valid = !indexed || self.has_valid_index(pod);
            let uncounted = self.status.uncounted_terminated_pods.make();
            if pod.status.phase == "Succeeded" && !known.failed.contains(uid) {
                if indexed {
                    let new = index_of(pod).filter(|i| valid && !self.previous_indexes.has(*i));
                    flush |= new.is_some();
                    new_indexes.extend(new);
                } else if !known.succeeded.contains(uid) {
                    flush = true;
                    uncounted.succeeded.push(uid.clone());
                }
            } else if (failed || ends_badly)
                && !known.failed.contains(uid)
                && valid
                && policy::judge(self.job.spec.pod_failure_policy.get(), pod).counts
            {
                flush = true;
                uncounted.failed.push(uid.clone());
            }
            let uncounted = self.status.uncounted_terminated_pods.make();
            if new_indexes.len() + uncounted.succeeded.len() + uncounted.failed.len() >= MAX_UNCOUNTED {
                full = true;
                break;
            }
        }
        if indexed {
            self.succeeded_indexes = self.succeeded_indexes.with(&new_indexes);
            let text = self.succeeded_indexes.to_string();
            flush |= *self.status.completed_indexes != *text;
            self.status.succeeded = self.succeeded_indexes.total();
            self.status.completed_indexes = text.into();
            let failed = self.failed_indexes.as_ref().map(|f| f.to_string());
            if self.status.failed_indexes.get() != failed.as_deref() {
                self.status.failed_indexes = failed.map(OStr::some).unwrap_or_default();
                flush = true;
            }
        }
        flush |= self.note_interim_end();
        self.flush_and_untrack(&untrack, &mut tracked, &mut flush).await?;
        let finished = !full && self.finish();
        if flush || finished {
            let written = self.flush().await;
            written.map_err(|e| SyncError::from(format!("removing uncounted pods from status: {e}")))?;
        }
        if finished {
            self.say_finished();
            self.jc.finished.borrow_mut().insert(self.job.metadata.uid.clone());
        }
        Ok(())
    }

    /// The job's end stands in an interim condition until all pods are counted; `end` becomes the final one.
    fn note_interim_end(&mut self) -> bool {
        let Some(end) = self.end.take() else { return false };
        let (last, is_new) = match &*end.type_ {
            "FailureTarget" => ("Failed", true),
            "SuccessCriteriaMet" => {
                let known = self.status.conditions.iter().any(|c| c.type_ == end.type_ && c.status == "True");
                ("Complete", !known)
            }
            _ => {
                self.end = Some(end);
                return false;
            }
        };
        self.end = Some(self.condition(last, &end.reason, &end.message));
        if is_new {
            self.status.conditions.push(end);
        }
        is_new
    }

    async fn flush_and_untrack(
        &mut self,
        pods: &[Rev<Pod>],
        tracked: &mut BTreeSet<Str>,
        flush: &mut bool,
    ) -> Result<(), SyncError> {
        if *flush {
            let written = self.flush().await;
            written.map_err(|e| SyncError::from(format!("adding uncounted pods to status: {e}")))?;
            self.jc.backoffs.borrow_mut().insert(self.key.clone(), self.backoff);
            *flush = false;
        }
        let mut result = Ok(());
        if !pods.is_empty() {
            let uids = pods.iter().map(|p| p.metadata.uid.clone());
            self.jc.removed_finalizers.borrow_mut().entry(self.key.clone()).or_default().extend(uids);
            let outcomes = join_all(pods.iter().map(|p| self.jc.untrack(&self.client, p))).await;
            for (outcome, pod) in outcomes.into_iter().zip(pods) {
                let uid = &pod.metadata.uid;
                if let Err(err) = outcome {
                    self.jc.finalizer_gone(&self.key, uid);
                    if !err.is_not_found() {
                        klog::unhandled(format!("removing tracking finalizer: {err}"))
                            .log(&self.jc.ctx, "job_controller.go:1601");
                        result = Err(err);
                        continue;
                    }
                }
                tracked.remove(uid);
            }
        }
        *flush |= count_untracked(&mut self.status, tracked);
        if result.is_err() && *flush {
            let written = self.flush().await;
            written.map_err(|e| SyncError::from(format!("removing uncounted pods from status: {e}")))?;
        }
        result
    }

    /// Writes down the end if all pods are counted and gone.
    fn finish(&mut self) -> bool {
        let Some(end) = self.end.clone() else { return false };
        let uncounted = self.status.uncounted_terminated_pods.make();
        let count = uncounted.succeeded.len() + uncounted.failed.len();
        let waits = if count > 0 {
            Some(("uncounted", count, "job_controller.go:1625"))
        } else if self.terminating > 0 {
            Some(("terminating", usize::try_from(self.terminating).unwrap_or(0), "job_controller.go:1630"))
        } else {
            None
        };
        if let Some((what, count, place)) = waits {
            klog::info(&format!("Delaying marking the Job as finished, because there are still {what} pod(s)"))
                .str("logger", LOGGER)
                .obj("job", &self.key.namespace, &self.key.name)
                .str("condition", &end.type_)
                .raw("count", count)
                .log(&self.jc.ctx, place);
            return false;
        }
        let now = self.jc.now();
        ensure_condition(&mut self.status.conditions, condition(&end.type_, "True", &end.reason, &end.message, now));
        if end.type_ == "Complete" {
            self.status.completion_time = end.last_transition_time;
        }
        true
    }

    fn say_finished(&self) {
        let Some(end) = &self.end else { return };
        if end.type_ != "Complete" {
            return self.event("Warning", &end.reason, &end.message);
        }
        if self.job.spec.completions.is_some_and(|n| self.status.succeeded > n) {
            let message = "Too many succeeded pods running after completion count reached";
            self.event("Warning", "TooManySucceededPods", message);
        }
        self.event("Normal", "Completed", "Job completed");
    }
}
