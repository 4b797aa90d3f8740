//! Making and deleting a job's pods (`manageJob`).

use api::SortSmall;
use std::time::Duration;

use api::Rev;
use api::batch_v1::Job;
use api::core_v1::{Pod, PodTemplateSpec};
use client::{Key, klog};
use futures_util::future::join_all;
use std::cell::Cell;

use super::backoff::remaining_for;
use super::indexes::{self, INDEX, index_of};
use super::policy;
use super::sync::{Run, int};
use super::{BATCH_PERIOD, FINALIZER, LOGGER};
use crate::controller_utils::{self as utils, PodControl, SyncError, pod_from_template, slow_start_batch};

/// Pods made or deleted in one run at most.
const MOST: usize = 500;

impl Run<'_> {
    fn control(&self) -> PodControl<'_> {
        PodControl {
            ctx: &self.jc.ctx,
            client: &self.client,
            recorder: &self.jc.recorder,
            about: utils::object_ref::<Job>(&self.job.metadata, self.job.revision),
        }
    }

    /// Deletes all active pods of a job that ends; their finalizers stay until they are counted.
    pub(super) async fn delete_active(&mut self) -> (i32, Result<(), SyncError>) {
        let pods = self.active_pods.clone();
        let control = self.control();
        let results = join_all(pods.iter().map(|p| control.delete(&self.key.namespace, &p.metadata.name))).await;
        let mut result = Ok(());
        let mut deleted = 0;
        for (outcome, pod) in results.into_iter().zip(&pods) {
            match outcome {
                Err(err) if !err.is_not_found() => result = Err(err),
                _ => deleted += 1,
            }
            self.ready -= i32::from(utils::is_pod_ready(pod));
        }
        (deleted, result)
    }

    /// Deletes pods that are too many; they are not counted.
    async fn delete_pods(&mut self, pods: &[Rev<Pod>]) -> (i32, Result<(), SyncError>) {
        let expected = pods.iter().map(|p| Key::of(&p.metadata));
        self.jc.expectations.expect_deletions(&self.key, expected);
        let names: Vec<&str> = pods.iter().map(|p| &*p.metadata.name).collect();
        self.jc.observed.action(&self.key, format!("delete {}", names.join(", ")));
        let this = &*self;
        let control = this.control();
        let deletions = pods.iter().map(|pod| {
            let control = &control;
            async move {
                let untracked = this.jc.untrack(&this.client, pod).await;
                untracked.map_err(|e| SyncError::from(format!("removing completion finalizer: {e}")))?;
                control.delete(&this.key.namespace, &pod.metadata.name).await
            }
        });
        let results = join_all(deletions).await;
        let (mut removed, mut result) = (0, Ok(()));
        for (outcome, pod) in results.into_iter().zip(pods) {
            if let Err(err) = outcome {
                self.jc.expectations.deletion_observed(&self.key, &Key::of(&pod.metadata));
                if !err.is_not_found() {
                    result = Err(err);
                    continue;
                }
            }
            removed += 1;
            self.ready -= i32::from(utils::is_pod_ready(pod));
        }
        self.terminating += removed;
        (removed, result)
    }

    /// As many active pods as there should be; returns how many are active now.
    pub(super) async fn manage(&mut self) -> (i32, Result<(), SyncError>) {
        let active = int(self.active_pods.len());
        let ctx = &self.jc.ctx;
        let (namespace, name) = (&self.key.namespace, &self.key.name);
        if self.is_suspended() {
            klog::info("Deleting all active pods in suspended job")
                .str("logger", LOGGER)
                .obj("job", namespace, name)
                .raw("active", active)
                .log(ctx, "job_controller.go:1770");
            let pods = self.removable(self.active_pods.len());
            let (removed, result) = self.delete_pods(&pods).await;
            return (active - removed, result);
        }
        let parallelism = self.job.spec.parallelism.unwrap_or(1);
        let wanted = match self.job.spec.completions {
            None if self.succeeded > 0 => active,
            None => parallelism,
            Some(n) => (n - self.succeeded).min(parallelism).max(0),
        };
        let mut surplus = self.removable(usize::try_from(active - wanted).unwrap_or(0));
        surplus.truncate(MOST);
        if !surplus.is_empty() {
            klog::info("Too many pods running for job")
                .str("logger", LOGGER)
                .obj("job", namespace, name)
                .raw("deleted", surplus.len())
                .raw("target", wanted)
                .log(ctx, "job_controller.go:1808");
            let (removed, result) = self.delete_pods(&surplus).await;
            return (active - removed, result);
        }
        let held = if policy::only_replace_failed(&self.job) { self.terminating } else { 0 };
        let missing = usize::try_from(wanted - held - active).unwrap_or(0).min(MOST);
        if missing == 0 {
            return (active, Ok(()));
        }
        let now = ctx.unix_nanos();
        let mut pause = if self.is_per_index() { Duration::ZERO } else { self.backoff.remaining(now) };
        let mut plan: Vec<Option<i32>> = vec![None; missing];
        if pause.is_zero() && self.is_indexed() {
            let (due, later): (Vec<_>, Vec<_>) = self
                .pending_indexes(missing)
                .into_iter()
                .map(|i| (i, remaining_for(self.delayed.get(&i), now)))
                .partition(|(_, left)| left.is_zero());
            if due.is_empty() {
                pause = later.iter().map(|(_, left)| *left).min().unwrap_or(Duration::ZERO);
            }
            plan = due.into_iter().map(|(i, _)| Some(i)).collect();
        }
        if !pause.is_zero() {
            self.jc.queue.add_after(self.key.clone(), pause.max(BATCH_PERIOD));
            return (active, Ok(()));
        }
        klog::info("Too few pods running")
            .str("logger", LOGGER)
            .str("key", &self.key.to_string())
            .raw("need", wanted)
            .raw("creating", plan.len())
            .log(ctx, "job_controller.go:1861");
        let (created, result) = self.create(&plan).await;
        (active + created, result)
    }

    /// Indexes that have neither succeeded nor failed nor a pod.
    fn pending_indexes(&self, count: usize) -> Vec<i32> {
        let mut taken = self.succeeded_indexes.with(&indexes::indexes_of(&self.active_pods));
        if policy::only_replace_failed(&self.job) {
            let going = self.pods.iter().filter(|p| {
                !p.metadata.deletion_timestamp.is_zero() && !matches!(&*p.status.phase, "Failed" | "Succeeded")
            });
            taken = taken.with(&going.filter_map(|p| index_of(p)).collect());
        }
        if let Some(failed) = &self.failed_indexes {
            taken = taken.merge(failed);
        }
        taken.first_missing(count, self.completions())
    }

    /// Creates pods in batches of 1, 2, 4, ..; stops after a batch with an error. Returns how many there will be.
    async fn create(&self, plan: &[Option<i32>]) -> (i32, Result<(), SyncError>) {
        let (jc, key) = (self.jc, &self.key);
        jc.expectations.expect_creations(key, plan.len());
        jc.observed.action(key, format!("create {} pods", plan.len()));
        let mut template = (*self.job.spec.template).clone();
        if self.is_indexed() {
            indexes::add_environment(&mut template);
        }
        if !template.metadata.finalizers.iter().any(|f| f == FINALIZER) {
            template.metadata.finalizers.push(FINALIZER.into());
        }
        let control = self.control();
        let tried = Cell::new(0);
        let create = async |at: usize| {
            tried.set(tried.get() + 1);
            let pod = self.new_pod(&template, plan.get(at).copied().flatten());
            match control.create_pod(&key.namespace, pod, &self.job.metadata).await {
                Ok(pod) => jc.written.wrote(key, "pods", pod.revision),
                // Nothing can be made in a namespace that goes away.
                Err(err) if err.has_cause("NamespaceTerminating") => {}
                Err(err) => {
                    klog::unhandled(&err).log(&jc.ctx, "job_controller.go:1948");
                    jc.expectations.creation_observed(key);
                    return Err(err);
                }
            }
            Ok(())
        };
        let (created, failure) = slow_start_batch(plan.len(), create).await;
        (tried.get()..plan.len()).for_each(|_| jc.expectations.creation_observed(key));
        let result = failure.map_or(Ok(()), |err| Err(err.into()));
        (i32::try_from(created).unwrap_or(i32::MAX), result)
    }

    fn new_pod(&self, template: &PodTemplateSpec, index: Option<i32>) -> Pod {
        let meta = &self.job.metadata;
        let mut pod = pod_from_template(template, meta, utils::new_controller_ref::<Job>(meta));
        let Some(index) = index else { return pod };
        pod.metadata.annotations.insert(INDEX, index.to_string().into());
        pod.metadata.labels.insert(INDEX, index.to_string().into());
        pod.metadata.generate_name = indexes::name_prefix(&meta.name, index).into();
        pod.spec.make().hostname = format!("{}-{index}", meta.name).into();
        if self.is_per_index() {
            let (mut failures, mut ignored) = (0, 0);
            if let Some(before) = self.delayed.get(&index) {
                failures = indexes::failures(before);
                ignored = indexes::ignored_failures(before);
                if policy::judge(self.job.spec.pod_failure_policy.get(), before).counts {
                    failures += 1;
                } else {
                    ignored += 1;
                }
            }
            pod.metadata.annotations.insert(indexes::FAILURES, failures.to_string().into());
            if ignored > 0 {
                pod.metadata.annotations.insert(indexes::IGNORED_FAILURES, ignored.to_string().into());
            }
        }
        pod
    }

    /// Active pods to delete: at least `count`, and those with an index twice or none (`activePodsForRemoval`).
    fn removable(&self, count: usize) -> Vec<Rev<Pod>> {
        let now = self.jc.ctx.unix_nanos();
        let (mut remove, mut left) = (Vec::new(), Vec::new());
        if self.is_indexed() {
            let mut pods = self.active_pods.clone();
            pods.sort_small_by_key(|p| index_of(p).unwrap_or(-1));
            for same in pods.chunk_by(|a, b| index_of(a) == index_of(b)) {
                let valid = same.first().is_some_and(|p| self.has_valid_index(p));
                let keep = if valid { 1 } else { 0 };
                let doomed = utils::pods_to_delete(same, &[], same.len() - keep, now);
                left.extend(same.iter().filter(|p| doomed.iter().all(|d| d.metadata.uid != p.metadata.uid)).cloned());
                remove.extend(doomed);
            }
        } else {
            left = self.active_pods.clone();
        }
        let more = count.saturating_sub(remove.len());
        remove.extend(utils::pods_to_delete(&left, &[], more, now));
        remove
    }
}
