//! A ReplicaSet's status (`pkg/controller/replicaset/replica_set_utils.go`).

use api::apps_v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use api::{Rev, Time};
use client::Client;

use super::ReplicaSetController;
use super::count::Counts;
use crate::controller_utils::{self as utils, SyncError};

/// Tries beyond the first when the update meets a conflict.
const STATUS_UPDATE_RETRIES: u32 = 1;
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// What the status should be. `now` is in nanoseconds since 1970.
pub(super) fn calculate(rs: &ReplicaSet, counts: &Counts, failure: Option<&SyncError>, now: i64) -> ReplicaSetStatus {
    let mut status = (*rs.status).clone();
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    status.replicas = count(counts.active());
    status.fully_labeled_replicas = count(counts.labelled(&rs.spec.template.metadata.labels));
    status.ready_replicas = count(counts.ready());
    status.available_replicas = count(counts.available(rs.spec.min_ready_seconds, now));
    status.terminating_replicas = Some(count(counts.terminating));

    let failed = status.conditions.iter().any(|c| c.type_ == REPLICA_FAILURE);
    match failure {
        Some(err) if !failed => {
            let want = usize::try_from(rs.spec.replicas.unwrap_or(1)).unwrap_or(0);
            let reason = match counts.active().cmp(&want) {
                std::cmp::Ordering::Less => "FailedCreate",
                std::cmp::Ordering::Greater => "FailedDelete",
                std::cmp::Ordering::Equal => "",
            };
            status.conditions.make().push(ReplicaSetCondition {
                type_: REPLICA_FAILURE.into(),
                status: "True".into(),
                last_transition_time: Time::from_unix(now.div_euclid(1_000_000_000)),
                reason: reason.into(),
                message: err.to_string().into(),
            });
        }
        None if failed => status.conditions.make().retain(|c| c.type_ != REPLICA_FAILURE),
        _ => {}
    }
    status
}

fn unchanged(rs: &ReplicaSet, new: &ReplicaSetStatus) -> bool {
    let old = &rs.status;
    old.replicas == new.replicas
        && old.fully_labeled_replicas == new.fully_labeled_replicas
        && old.ready_replicas == new.ready_replicas
        && old.available_replicas == new.available_replicas
        && old.terminating_replicas == new.terminating_replicas
        && rs.metadata.generation == old.observed_generation
        && same_conditions(&old.conditions, &new.conditions)
}

fn same_conditions(a: &[ReplicaSetCondition], b: &[ReplicaSetCondition]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| utils::equal(a, b))
}

impl ReplicaSetController {
    /// Writes the status if it differs; after a conflict once more on the newest version.
    pub(super) async fn update_status(
        &self,
        client: &Client,
        rs: &Rev<ReplicaSet>,
        mut status: ReplicaSetStatus,
    ) -> Result<Rev<ReplicaSet>, SyncError> {
        if unchanged(rs, &status) {
            return Ok(rs.clone());
        }
        status.observed_generation = rs.metadata.generation;
        let mut base = rs.clone();
        let mut attempt = 0;
        loop {
            let old = &base.status;
            let terminating = |n: Option<i32>| n.map_or("nil".into(), |n| n.to_string());
            let text = format!(
                "\"Updating status for : {}/{}, replicas {}->{} (need {}), fullyLabeledReplicas {}->{}, readyReplicas {}->{}, availableReplicas {}->{}, terminatingReplicas {}->{}, sequence No: {}->{}\"",
                base.metadata.namespace,
                base.metadata.name,
                old.replicas,
                status.replicas,
                base.spec.replicas.unwrap_or(1),
                old.fully_labeled_replicas,
                status.fully_labeled_replicas,
                old.ready_replicas,
                status.ready_replicas,
                old.available_replicas,
                status.available_replicas,
                terminating(old.terminating_replicas),
                terminating(status.terminating_replicas),
                old.observed_generation,
                status.observed_generation,
            );
            self.ctx.log(sim::Severity::Info, "replica_set_utils.go:68", text);
            match self.sets.write_status(client, &base, status.clone()).await {
                Ok(updated) => return Ok(updated),
                Err(err) if attempt >= STATUS_UPDATE_RETRIES => return Err(err.into()),
                Err(_) => {}
            }
            attempt += 1;
            base = self.sets.fresh(client, &rs.metadata.namespace, &rs.metadata.name).await?;
        }
    }
}
