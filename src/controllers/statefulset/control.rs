//! What a set's run does: living pods first, then those too many, then those of an old revision
//! (`stateful_set_control.go`).

use api::Rev;
use api::SortSmall;
use api::apps_v1::{ControllerRevision, StatefulSet, StatefulSetStatus};
use api::core_v1::Pod;
use client::klog;
use futures_util::future::join_all;

use super::Run;
use super::identity::{self, ordinal, revision};
use super::pods::Replica;
use super::revisions::{Current, template_of};
use crate::controller_utils::{self as utils, SyncError, aggregate};

/// Whether the run may go on to the next pod.
type Step = Result<bool, SyncError>;
const STOP: Step = Ok(true);
const GO_ON: Step = Ok(false);

fn is_created(pod: &Pod) -> bool {
    !pod.status.phase.is_empty()
}

fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.unix().is_some()
}

fn is_running_and_ready(pod: &Pod) -> bool {
    pod.status.phase == "Running" && utils::is_pod_ready(pod)
}

/// What the pods are like, for the rules below.
#[derive(Clone, Copy)]
struct Clock {
    min_ready_seconds: i32,
    now: i64,
}

impl Clock {
    fn available(self, pod: &Pod) -> bool {
        utils::is_pod_available(pod, self.min_ready_seconds, self.now)
    }

    fn unavailable(self, pod: &Pod) -> bool {
        !self.available(pod) || is_terminating(pod)
    }
}

fn count(status: &mut StatefulSetStatus, pods: &mut dyn Iterator<Item = &Pod>, clock: Clock, revisions: &Current) {
    status.replicas = 0;
    status.ready_replicas = 0;
    status.available_replicas = 0;
    status.current_replicas = 0;
    status.updated_replicas = 0;
    for pod in pods {
        status.replicas += i32::from(is_created(pod));
        if is_running_and_ready(pod) {
            status.ready_replicas += 1;
            status.available_replicas += i32::from(clock.available(pod));
        }
        if is_created(pod) && !is_terminating(pod) {
            status.current_replicas += i32::from(revision(pod) == &*revisions.current.metadata.name);
            status.updated_replicas += i32::from(revision(pod) == &*revisions.update.metadata.name);
        }
    }
}

/// Pods that a set plans ahead at most: as many as it creates at once.
const PLANNED: i64 = 500;

/// The pods of one run by their place.
struct Pods {
    /// One for each number the set should have.
    replicas: Vec<Replica>,
    /// Pods of other numbers, highest first.
    condemned: Vec<Rev<Pod>>,
}

impl Pods {
    fn all(&self) -> impl Iterator<Item = &Pod> {
        self.replicas.iter().map(|r| &**r).chain(self.condemned.iter().map(|p| &**p))
    }
}

impl Run<'_> {
    /// One round; returns the status it left.
    pub(super) async fn update(
        &self,
        pods: Vec<Rev<Pod>>,
        revisions: Vec<Rev<ControllerRevision>>,
        now: i64,
    ) -> Result<StatefulSetStatus, SyncError> {
        let (current, result) = match self.current_revisions(&revisions).await {
            Ok(current) => {
                let result = self.perform(&pods, &current, now).await;
                (Some(current), result)
            }
            Err(err) => (None, Err(err)),
        };
        let truncated = self.truncate_history(&pods, &revisions, current.as_ref()).await;
        match (result, truncated) {
            (Err(a), Err(b)) => Err(aggregate(vec![a, b]).err().unwrap_or_else(|| String::new().into())),
            (Err(err), _) | (Ok(_), Err(err)) => Err(err),
            (Ok(status), Ok(())) => Ok(status),
        }
    }

    async fn perform(&self, pods: &[Rev<Pod>], revisions: &Current, now: i64) -> Result<StatefulSetStatus, SyncError> {
        let clock = Clock { min_ready_seconds: self.set.spec.min_ready_seconds, now };
        let mut status = StatefulSetStatus {
            observed_generation: self.set.metadata.generation,
            current_revision: revisions.current.metadata.name.clone(),
            update_revision: revisions.update.metadata.name.clone(),
            collision_count: Some(revisions.collisions),
            conditions: self.set.status.conditions.clone(),
            ..Default::default()
        };
        count(&mut status, &mut pods.iter().map(|p| &**p), clock, revisions);
        let sorted = self.sort_pods(pods, revisions)?;
        let wanted = self.set.spec.replicas.unwrap_or(1);
        let desired = format!("{wanted} pods at {}", status.update_revision);
        self.ssc.observed.desired(&self.key, desired);
        self.ssc.observed.actual(&self.key, format!("{} pods, {} ready", status.replicas, status.ready_replicas));
        let mut result = Ok(());
        if !is_set_terminating(&self.set) {
            let steps = self.process(&sorted, clock).await;
            count(&mut status, &mut sorted.all(), clock, revisions);
            result = match steps {
                Ok(true) => Ok(()),
                Err(err) => Err(err),
                Ok(false) if self.set.spec.update_strategy.type_ == "OnDelete" => Ok(()),
                Ok(false) => self.roll(&sorted.replicas, clock, &mut status).await,
            };
        }
        let stored = self.store_status(status).await;
        if let (Err(_), Err(err)) = (&result, &stored) {
            klog::error("Could not update status")
                .err(err)
                .obj("statefulSet", &self.key.namespace, &self.key.name)
                .log(&self.ssc.ctx, "stateful_set_control.go:130");
        }
        result?;
        let stored = stored?;
        self.line("StatefulSet revisions")
            .str("currentRevision", &stored.current_revision)
            .str("updateRevision", &stored.update_revision)
            .log(&self.ssc.ctx, "stateful_set_control.go:139");
        Ok(stored)
    }

    fn sort_pods(&self, pods: &[Rev<Pod>], revisions: &Current) -> Result<Pods, SyncError> {
        let set = &self.set;
        let (old, new) = (template_of(&revisions.current)?, template_of(&revisions.update)?);
        let (old_name, new_name) = (&*revisions.current.metadata.name, &*revisions.update.metadata.name);
        let numbers = identity::ordinals(set);
        let strategy = &set.spec.update_strategy;
        // Numbers below this one stay at the old revision.
        let kept = match strategy.rolling_update.get() {
            Some(rolling) => rolling.partition.unwrap_or(0),
            None if strategy.type_ == "RollingUpdate" => set.status.current_replicas,
            None => 0,
        };
        let kept_below = numbers.start + i64::from(kept);
        let number_of = |p: &Rev<Pod>| i64::from(ordinal(p));
        let replica = |number: i64| {
            if let Some(pod) = pods.iter().rfind(|p| number_of(p) == number) {
                return Replica::Made(pod.clone());
            }
            let (template, name) = if number < kept_below { (&old, old_name) } else { (&new, new_name) };
            Replica::Planned(Box::new(identity::new_pod(set, template, name, number)))
        };
        // No more is planned than there can be next; what is there counts, however high its number.
        let near = numbers.start + PLANNED + i64::try_from(pods.len()).unwrap_or(i64::MAX / 2);
        let mut wanted: Vec<i64> = (numbers.start..numbers.end.min(near)).collect();
        let mut far: Vec<i64> = pods.iter().map(number_of).filter(|n| *n >= near && numbers.contains(n)).collect();
        far.sort_small();
        far.dedup();
        wanted.extend(far);
        let replicas = wanted.into_iter().map(replica).collect();
        let outside = |p: &&Rev<Pod>| ordinal(p) >= 0 && !numbers.contains(&number_of(p));
        let mut condemned: Vec<Rev<Pod>> = pods.iter().filter(outside).cloned().collect();
        condemned.sort_small_by_key(|p| std::cmp::Reverse(ordinal(p)));
        Ok(Pods { replicas, condemned })
    }

    fn is_monotonic(&self) -> bool {
        self.set.spec.pod_management_policy != "Parallel"
    }

    fn pod_line(&self, message: &str, pod: &Pod, place: &'static str) {
        let meta = &pod.metadata;
        self.line(message).obj("pod", &meta.namespace, &meta.name).log(&self.ssc.ctx, place);
    }

    /// Goes through living and condemned pods; true if it had to stop on the way.
    async fn process(&self, pods: &Pods, clock: Clock) -> Step {
        let mut unavailable: Vec<&Pod> = pods.replicas.iter().map(|r| &**r).filter(|p| clock.unavailable(p)).collect();
        unavailable.extend(pods.condemned.iter().rev().map(|p| &**p).filter(|p| clock.unavailable(p)));
        let first = unavailable.first().map(|p| &p.metadata.name);
        if let Some(pod) = unavailable.first() {
            self.line("StatefulSet has unavailable Pods")
                .raw("unavailableReplicas", unavailable.len())
                .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                .log(&self.ssc.ctx, "stateful_set_control.go:654");
        }
        if self.for_all(&pods.replicas, async |r| self.process_replica(r, clock).await).await? {
            return STOP;
        }
        let fix = async |pod: &Rev<Pod>| {
            if !self.owners_match(pod) {
                self.update_claim_owners(pod).await?;
            }
            GO_ON
        };
        if self.for_all(&pods.condemned, fix).await? {
            return STOP;
        }
        let condemn = async |pod: &Rev<Pod>| {
            let is_first = first == Some(&pod.metadata.name);
            self.process_condemned(pod, clock, is_first).await
        };
        self.for_all(&pods.condemned, condemn).await
    }

    /// In order until one says stop, or in batches of 1, 2, 4, .. at once.
    async fn for_all<T>(&self, pods: &[T], step: impl AsyncFn(&T) -> Step) -> Step {
        if self.is_monotonic() {
            for pod in pods {
                if step(pod).await? {
                    return STOP;
                }
            }
            return GO_ON;
        }
        let (mut at, mut batch) = (0, 1);
        while at < pods.len() {
            let results = join_all(pods.iter().skip(at).take(batch).map(|p| step(p))).await;
            aggregate(results.into_iter().filter_map(Result::err).collect())?;
            at += batch;
            batch = (batch * 2).min(500);
        }
        GO_ON
    }

    async fn process_replica(&self, replica: &Replica, clock: Clock) -> Step {
        let (pod, monotonic): (&Pod, bool) = (replica, self.is_monotonic());
        if matches!(&*pod.status.phase, "Failed" | "Succeeded") {
            if !is_terminating(pod) {
                self.delete_pod(pod).await?;
            }
            return STOP;
        }
        if !is_created(pod) {
            if self.claim_is_stale(pod) {
                return STOP;
            }
            self.create_pod(pod).await?;
            if monotonic {
                return STOP;
            }
        }
        if pod.status.phase == "Pending" {
            self.pod_line("StatefulSet is triggering PVC creation for pending Pod", pod, "stateful_set_control.go:452");
            self.create_missing_claims(pod).await?;
        }
        if monotonic {
            if is_terminating(pod) {
                self.pod_line("StatefulSet is waiting for Pod to Terminate", pod, "stateful_set_control.go:463");
                return STOP;
            }
            if !is_running_and_ready(pod) {
                let message = "StatefulSet is waiting for Pod to be Running and Ready";
                self.pod_line(message, pod, "stateful_set_control.go:472");
                return STOP;
            }
            if !clock.available(pod) {
                self.pod_line("StatefulSet is waiting for Pod to be Available", pod, "stateful_set_control.go:481");
                return STOP;
            }
        }
        let Replica::Made(pod) = replica else { return GO_ON };
        let set = &self.set;
        let matches = identity::identity_matches(set, pod) && identity::storage_matches(set, pod);
        if !(matches && self.owners_match(pod)) {
            self.update_pod(pod).await?;
        }
        GO_ON
    }

    async fn process_condemned(&self, pod: &Rev<Pod>, clock: Clock, is_first_unhealthy: bool) -> Step {
        let monotonic = self.is_monotonic();
        if is_terminating(pod) {
            if monotonic {
                let message = "StatefulSet is waiting for Pod to Terminate prior to scale down";
                self.pod_line(message, pod, "stateful_set_control.go:513");
            }
            return Ok(monotonic);
        }
        if monotonic && !is_first_unhealthy {
            let waits_for = if !is_running_and_ready(pod) {
                Some(("Running and Ready", "stateful_set_control.go:521"))
            } else if !clock.available(pod) {
                Some(("Available", "stateful_set_control.go:527"))
            } else {
                None
            };
            if let Some((what, place)) = waits_for {
                let message = format!("StatefulSet is waiting for Pod to be {what} prior to scale down");
                self.pod_line(&message, pod, place);
                return STOP;
            }
        }
        self.pod_line("Pod of StatefulSet is terminating for scale down", pod, "stateful_set_control.go:532");
        self.delete_pod(pod).await?;
        STOP
    }

    /// Takes away pods of an old revision, highest number first, no more than may be missing.
    async fn roll(&self, replicas: &[Replica], clock: Clock, status: &mut StatefulSetStatus) -> Result<(), SyncError> {
        let rolling = self.set.spec.update_strategy.rolling_update.get();
        let partition = usize::try_from(rolling.and_then(|r| r.partition).unwrap_or(0)).unwrap_or(0);
        let max = rolling.and_then(|r| r.max_unavailable.as_ref()).map_or(1, |value| {
            crate::deployment::util::scaled(value, self.set.spec.replicas.unwrap_or(1), false).max(1)
        });
        let max = usize::try_from(max).unwrap_or(1);
        let update = status.update_revision.clone();
        let is_old = |p: &Pod| revision(p) != &*update && !is_terminating(p);
        let parallel = !self.is_monotonic();
        let unavailable = replicas.iter().filter(|r| clock.unavailable(r)).count();
        let broken_and_old = replicas.iter().filter(|r| parallel && clock.unavailable(r) && is_old(r)).count();
        if unavailable >= max && broken_and_old == 0 {
            if unavailable > max {
                self.line("StatefulSet found unavailablePods, more than the allowed maxUnavailable")
                    .raw("unavailablePods", unavailable)
                    .raw("unavailablePodsNeedingUpdate", broken_and_old)
                    .raw("maxUnavailable", max)
                    .log(&self.ssc.ctx, "stateful_set_control.go:862");
            }
            return Ok(());
        }
        let range = || replicas.iter().skip(partition).rev();
        if parallel {
            for pod in range().filter(|r| is_old(r) && !clock.available(r)) {
                let message = "StatefulSet terminating unavailable Pod for update";
                self.pod_line(message, pod, "stateful_set_control.go:882");
                self.delete_pod(pod).await?;
                status.current_replicas -= 1;
            }
        }
        let wanted = |p: &Pod| is_old(p) && (!parallel || clock.available(p));
        for pod in range().filter(|r| wanted(r)).take(max.saturating_sub(unavailable)) {
            self.pod_line("StatefulSet terminating Pod for update", pod, "stateful_set_control.go:924");
            self.delete_pod(pod).await?;
            status.current_replicas -= 1;
        }
        Ok(())
    }
}

fn is_set_terminating(set: &StatefulSet) -> bool {
    set.metadata.deletion_timestamp.unix().is_some()
}
