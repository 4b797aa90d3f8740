//! The Recreate strategy (`pkg/controller/deployment/recreate.go`): all old pods go before the first new one comes.

use api::Rev;
use api::apps_v1::ReplicaSet;

use super::Run;
use super::sync::Sets;
use super::util::{self, replicas, rs_replicas};
use crate::controller_utils::{self as utils, SyncError};

impl Run<'_> {
    pub(super) async fn rollout_recreate(&mut self, list: Vec<Rev<ReplicaSet>>) -> Result<(), SyncError> {
        let mut sets = self.replica_sets_and_revision(list.clone(), false).await?;
        let mut scaled = false;
        for rs in &mut sets.old {
            if rs_replicas(rs) > 0 {
                let (changed, updated) = self.scale_replica_set(rs, 0, false).await?;
                if changed {
                    *rs = updated;
                    scaled = true;
                }
            }
        }
        if scaled || self.old_pods_running(&sets, &list) {
            return self.sync_rollout_status(&sets).await;
        }
        if sets.new.is_none() {
            sets = self.replica_sets_and_revision(list, true).await?;
        }
        if let Some(rs) = sets.new.clone() {
            self.scale_replica_set(&rs, replicas(&self.d), false).await?;
        }
        if util::complete(&self.d, &self.d.status) {
            self.cleanup(&sets.old).await?;
        }
        self.sync_rollout_status(&sets).await
    }

    fn old_pods_running(&self, sets: &Sets, list: &[Rev<ReplicaSet>]) -> bool {
        if util::status_count(&sets.old, |s| s.replicas) > 0 {
            return true;
        }
        let new = sets.new.as_ref().map(|rs| &rs.metadata.uid);
        list.iter().filter(|rs| Some(&rs.metadata.uid) != new).any(|rs| {
            let pods = self.dc.pods.by_index(utils::POD_CONTROLLER_INDEX, &rs.metadata.uid);
            pods.iter().any(|pod| !matches!(&*pod.status.phase, "Failed" | "Succeeded"))
        })
    }
}
