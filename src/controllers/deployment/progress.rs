//! Whether a rollout gets on, and the deadline by which it must (`pkg/controller/deployment/progress.go`).

use std::time::Duration;

use api::apps_v1::{DeploymentCondition, DeploymentStatus};
use client::klog;

use super::Run;
use super::sync::Sets;
use super::util;
use crate::controller_utils::{self as utils, SyncError};

const NANOS: i64 = 1_000_000_000;

impl Run<'_> {
    /// The status of a rollout, with its Progressing condition.
    pub(super) async fn sync_rollout_status(&mut self, sets: &Sets) -> Result<(), SyncError> {
        let mut status = self.calculate_status(sets);
        let deadline = util::progress_deadline(&self.d);
        if deadline.is_none() {
            util::remove_condition(&mut status, util::PROGRESSING);
        }
        let current = util::get_condition(&self.d.status, util::PROGRESSING).cloned();
        let done = status.replicas == status.updated_replicas
            && current.as_ref().is_some_and(|c| c.reason == "NewReplicaSetAvailable");
        if deadline.is_some() && !done {
            self.estimate_progress(sets, &mut status, current);
        }
        match replica_failure(sets) {
            Some(failure) => util::set_condition(&mut status, failure),
            None => util::remove_condition(&mut status, util::REPLICA_FAILURE),
        }
        if utils::equal(&*self.d.status, &status) {
            self.requeue_stuck(&status);
            return Ok(());
        }
        *self.d.status.make() = status;
        self.update_status().await.map(drop)
    }

    fn estimate_progress(&self, sets: &Sets, status: &mut DeploymentStatus, current: Option<DeploymentCondition>) {
        let subject = match &sets.new {
            Some(rs) => format!("ReplicaSet \"{}\"", rs.metadata.name),
            None => format!("Deployment \"{}\"", self.d.metadata.name),
        };
        let now = self.now();
        let make = |state, reason, what: &str| {
            util::condition(util::PROGRESSING, state, reason, format!("{subject} {what}"), &now)
        };
        if util::complete(&self.d, status) {
            let done = make("True", "NewReplicaSetAvailable", "has successfully progressed.");
            util::set_condition(status, done);
        } else if util::progressing(&self.d, status) {
            // Progress is noted by the update time even when reason and status stay.
            let mut condition = make("True", "ReplicaSetUpdated", "is progressing.");
            if let Some(current) = current {
                if current.status == "True" {
                    condition.last_transition_time = current.last_transition_time;
                }
                util::remove_condition(status, util::PROGRESSING);
            }
            util::set_condition(status, condition);
        } else if self.timed_out(status) {
            util::set_condition(status, make("False", "ProgressDeadlineExceeded", "has timed out progressing."));
        }
    }

    fn timed_out(&self, status: &DeploymentStatus) -> bool {
        let Some(deadline) = util::progress_deadline(&self.d) else { return false };
        let Some(condition) = util::get_condition(status, util::PROGRESSING) else { return false };
        match &*condition.reason {
            "NewReplicaSetAvailable" => return false,
            "ProgressDeadlineExceeded" => return true,
            _ => {}
        }
        let now = self.dc.ctx.unix_nanos();
        let from = condition.last_update_time.unix().unwrap_or(0).saturating_mul(NANOS);
        let timed_out = from.saturating_add(i64::from(deadline).saturating_mul(NANOS)) < now;
        klog::info("Deployment timed out from last progress check")
            .obj("deployment", &self.d.metadata.namespace, &self.d.metadata.name)
            .raw("timeout", timed_out)
            .str("from", &klog::go_time(from, None))
            .str("now", &klog::go_time(now, Some(self.dc.ctx.now().as_nanos())))
            .log(&self.dc.ctx, "deployment_util.go:809");
        timed_out
    }

    /// Looks again when the deadline will have passed.
    fn requeue_stuck(&self, status: &DeploymentStatus) {
        let Some(deadline) = util::progress_deadline(&self.d) else { return };
        let Some(current) = util::get_condition(&self.d.status, util::PROGRESSING) else { return };
        if util::complete(&self.d, status) || current.reason == "ProgressDeadlineExceeded" {
            return;
        }
        let due = current.last_update_time.unix().unwrap_or(0).saturating_add(i64::from(deadline));
        let after = due.saturating_mul(NANOS).saturating_sub(self.dc.ctx.unix_nanos());
        let (namespace, name) = (&self.d.metadata.namespace, &self.d.metadata.name);
        if after < NANOS {
            klog::info("Queueing up deployment for a progress check now")
                .obj("deployment", namespace, name)
                .log(&self.dc.ctx, "progress.go:190");
            return self.dc.queue.add_rate_limited(self.key());
        }
        klog::info("Queueing up deployment for a progress check")
            .obj("deployment", namespace, name)
            .raw("queueAfter", after / NANOS)
            .log(&self.dc.ctx, "progress.go:195");
        let after = Duration::from_nanos(u64::try_from(after).unwrap_or(0));
        self.dc.queue.add_after(self.key(), after + Duration::from_secs(1));
    }
}

/// A failure of the new set, else of any other.
fn replica_failure(sets: &Sets) -> Option<DeploymentCondition> {
    let failures = sets.new.iter().chain(sets.all());
    let mut conditions = failures.flat_map(|rs| rs.status.conditions.iter());
    conditions.find(|c| c.type_ == util::REPLICA_FAILURE).map(util::from_replica_set_condition)
}
