//! The rolling update (`pkg/controller/deployment/rolling.go`): a little up, a little down, until the new set is all.

use api::Rev;
use api::SortSmall;
use api::apps_v1::ReplicaSet;
use client::klog;

use super::Run;
use super::sync::Sets;
use super::util::{self, replicas, rs_replicas};
use crate::controller_utils::SyncError;

impl Run<'_> {
    pub(super) async fn rollout_rolling(&mut self, sets: Vec<Rev<ReplicaSet>>) -> Result<(), SyncError> {
        let sets = self.replica_sets_and_revision(sets, true).await?;
        if self.reconcile_new(&sets).await? {
            return self.sync_rollout_status(&sets).await;
        }
        if self.reconcile_old(&sets).await? {
            return self.sync_rollout_status(&sets).await;
        }
        if util::complete(&self.d, &self.d.status) {
            self.cleanup(&sets.old).await?;
        }
        self.sync_rollout_status(&sets).await
    }

    /// Scales the new set; says whether it did.
    async fn reconcile_new(&mut self, sets: &Sets) -> Result<bool, SyncError> {
        let Some(rs) = &sets.new else { return Ok(false) };
        let (own, want) = (rs_replicas(rs), replicas(&self.d));
        let size = match own.cmp(&want) {
            std::cmp::Ordering::Equal => return Ok(false),
            std::cmp::Ordering::Greater => want,
            std::cmp::Ordering::Less => util::new_rs_new_replicas(&self.d, util::desired_count(sets.all()), own)?,
        };
        Ok(self.scale_replica_set(rs, size, false).await?.0)
    }

    /// Scales old sets down as far as availability allows; says whether it did.
    async fn reconcile_old(&mut self, sets: &Sets) -> Result<bool, SyncError> {
        let mut old = util::active(&sets.old);
        if util::desired_count(&old) == 0 {
            return Ok(false);
        }
        let Some(new) = &sets.new else { return Ok(false) };
        klog::info("New replica set")
            .obj("replicaSet", &new.metadata.namespace, &new.metadata.name)
            .raw("availableReplicas", new.status.available_replicas)
            .log(&self.dc.ctx, "rolling.go:94");
        let all = util::desired_count(sets.all());
        let min_available = replicas(&self.d).saturating_sub(util::max_unavailable(&self.d));
        let new_unavailable = rs_replicas(new).saturating_sub(new.status.available_replicas);
        let max_down = all.saturating_sub(min_available).saturating_sub(new_unavailable);
        if max_down <= 0 {
            return Ok(false);
        }
        // Errors from here on only mean that this run scaled nothing; the next comes with the set's own event.
        old.sort_small_by(util::by_creation);
        let Ok(cleaned) = self.cleanup_unhealthy(&mut old, max_down).await else { return Ok(false) };
        klog::info("Cleaned up unhealthy replicas from old RSes")
            .raw("count", cleaned)
            .log(&self.dc.ctx, "rolling.go:140");
        let Ok(down) = self.scale_down_old(&old, new, min_available).await else { return Ok(false) };
        klog::info("Scaled down old RSes")
            .obj("deployment", &self.d.metadata.namespace, &self.d.metadata.name)
            .raw("count", down)
            .log(&self.dc.ctx, "rolling.go:148");
        Ok(cleaned.saturating_add(down) > 0)
    }

    /// Pods of old sets that serve nobody go first.
    async fn cleanup_unhealthy(&mut self, old: &mut [Rev<ReplicaSet>], max: i32) -> Result<i32, SyncError> {
        let mut total: i32 = 0;
        for rs in old {
            if total >= max {
                break;
            }
            let size = rs_replicas(rs);
            if size == 0 {
                continue;
            }
            klog::info("Found available pods in old RS")
                .obj("replicaSet", &rs.metadata.namespace, &rs.metadata.name)
                .raw("availableReplicas", rs.status.available_replicas)
                .log(&self.dc.ctx, "rolling.go:170");
            if size == rs.status.available_replicas {
                continue;
            }
            let down = max.saturating_sub(total).min(size.saturating_sub(rs.status.available_replicas));
            let smaller = size.saturating_sub(down);
            if smaller > size {
                return Err(format!(
                    "when cleaning up unhealthy replicas, got invalid request to scale down {}/{} {size} -> {smaller}",
                    rs.metadata.namespace, rs.metadata.name
                )
                .into());
            }
            *rs = self.scale_replica_set(rs, smaller, false).await?.1;
            total = total.saturating_add(down);
        }
        Ok(total)
    }

    async fn scale_down_old(
        &mut self,
        old: &[Rev<ReplicaSet>],
        new: &Rev<ReplicaSet>,
        min_available: i32,
    ) -> Result<i32, SyncError> {
        let available = util::status_count(old.iter().chain([new]), |s| s.available_replicas);
        if available <= min_available {
            return Ok(0);
        }
        klog::info("Found available pods in deployment, scaling down old RSes")
            .obj("deployment", &self.d.metadata.namespace, &self.d.metadata.name)
            .raw("availableReplicas", available)
            .log(&self.dc.ctx, "rolling.go:205");
        let allowed = available.saturating_sub(min_available);
        let mut total: i32 = 0;
        for rs in old {
            if total >= allowed {
                break;
            }
            let size = rs_replicas(rs);
            if size == 0 {
                continue;
            }
            let down = size.min(allowed.saturating_sub(total));
            self.scale_replica_set(rs, size.saturating_sub(down), false).await?;
            total = total.saturating_add(down);
        }
        Ok(total)
    }
}
