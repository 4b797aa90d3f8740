//! Scaling, pausing, the new ReplicaSet and the status (`pkg/controller/deployment/sync.go`).

use api::SortSmall;
use api::apps_v1::{Deployment, DeploymentStatus, ReplicaSet};
use api::{Resource, Rev, Time};
use client::klog;

use super::Run;
use super::util::{self, replicas, rs_replicas};
use crate::controller_utils::{self as utils, SyncError};

const TEMPLATE_HASH: &str = "pod-template-hash";

/// The set that matches the template now, and all others.
pub(super) struct Sets {
    pub new: Option<Rev<ReplicaSet>>,
    pub old: Vec<Rev<ReplicaSet>>,
}

impl Sets {
    /// Old ones first, as Go's `append(oldRSs, newRS)`.
    pub fn all(&self) -> impl Iterator<Item = &Rev<ReplicaSet>> {
        self.old.iter().chain(&self.new)
    }
}

impl Run<'_> {
    pub(super) fn now(&self) -> Time {
        Time::from_unix(self.dc.ctx.unix_nanos().div_euclid(1_000_000_000))
    }

    /// Only the status, for a deployment that is being deleted.
    pub(super) async fn sync_status_only(&mut self, sets: Vec<Rev<ReplicaSet>>) -> Result<(), SyncError> {
        let sets = self.replica_sets_and_revision(sets, false).await?;
        self.sync_deployment_status(&sets).await
    }

    /// Scaling events and pauses.
    pub(super) async fn sync(&mut self, sets: Vec<Rev<ReplicaSet>>) -> Result<(), SyncError> {
        let sets = self.replica_sets_and_revision(sets, false).await?;
        self.scale(&sets).await?;
        if self.d.spec.paused {
            self.cleanup(&sets.old).await?;
        }
        self.sync_deployment_status(&sets).await
    }

    /// Says Unknown about progress while paused, so that the pause does not count against the deadline.
    pub(super) async fn check_paused_conditions(&mut self) -> Result<(), SyncError> {
        if util::progress_deadline(&self.d).is_none() {
            return Ok(());
        }
        let reason = util::get_condition(&self.d.status, util::PROGRESSING).map(|c| c.reason.clone());
        let reason = reason.as_deref().unwrap_or("");
        if reason == "ProgressDeadlineExceeded" {
            return Ok(());
        }
        let marked = reason == "DeploymentPaused";
        let (reason, message) = match (self.d.spec.paused, marked) {
            (true, false) => ("DeploymentPaused", "Deployment is paused"),
            (false, true) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return Ok(()),
        };
        let condition = util::condition(util::PROGRESSING, "Unknown", reason, message.into(), &self.now());
        util::set_condition(self.d.status.make(), condition);
        self.update_status().await.map(drop)
    }

    /// Splits the sets into new and old and keeps the revision annotations in step; creates the new set if asked to.
    pub(super) async fn replica_sets_and_revision(
        &mut self,
        mut sets: Vec<Rev<ReplicaSet>>,
        create: bool,
    ) -> Result<Sets, SyncError> {
        sets.sort_small_by(util::by_creation);
        let found = sets.iter().position(|rs| utils::equal_ignore_hash(&rs.spec.template, &self.d.spec.template));
        let existing = found.map(|i| sets.remove(i));
        let new = self.new_replica_set(existing, &sets, create).await?;
        Ok(Sets { new, old: sets })
    }

    async fn new_replica_set(
        &mut self,
        existing: Option<Rev<ReplicaSet>>,
        old: &[Rev<ReplicaSet>],
        create: bool,
    ) -> Result<Option<Rev<ReplicaSet>>, SyncError> {
        let new_revision = util::max_revision(old).saturating_add(1);
        match existing {
            Some(rs) => self.refresh_new_replica_set(rs, new_revision).await.map(Some),
            None if create => self.create_replica_set(old, new_revision).await.map(Some),
            None => Ok(None),
        }
    }

    async fn refresh_new_replica_set(
        &mut self,
        rs: Rev<ReplicaSet>,
        new_revision: i64,
    ) -> Result<Rev<ReplicaSet>, SyncError> {
        let mut copy = (*rs).clone();
        let (changed, raised) = util::set_new_rs_annotations(&self.d, &mut copy, new_revision, true);
        self.log_raised(&copy, new_revision, raised);
        if changed || copy.spec.min_ready_seconds != self.d.spec.min_ready_seconds {
            copy.spec.make().min_ready_seconds = self.d.spec.min_ready_seconds;
            return Ok(self.client.update(copy, rs.revision).await?);
        }
        let revision = rs.metadata.annotations.get(util::REVISION).cloned().unwrap_or_default();
        let mut needs_update = util::annotate(&mut self.d.metadata, util::REVISION, revision);
        if util::progress_deadline(&self.d).is_some()
            && util::get_condition(&self.d.status, util::PROGRESSING).is_none()
        {
            let message = format!("Found new replica set \"{}\"", rs.metadata.name);
            let condition = util::condition(util::PROGRESSING, "True", "FoundNewReplicaSet", message, &self.now());
            util::set_condition(self.d.status.make(), condition);
            needs_update = true;
        }
        if needs_update {
            self.update_status().await?;
        }
        Ok(rs)
    }

    fn log_raised(&self, rs: &ReplicaSet, new_revision: i64, raised: bool) {
        if raised {
            klog::info("Updating replica set revision")
                .obj("replicaSet", &self.d.metadata.namespace, &rs.metadata.name)
                .str("newRevision", &new_revision.to_string())
                .log(&self.dc.ctx, "deployment_util.go:262");
        }
    }

    async fn create_replica_set(
        &mut self,
        old: &[Rev<ReplicaSet>],
        new_revision: i64,
    ) -> Result<Rev<ReplicaSet>, SyncError> {
        let hash = utils::compute_hash(&self.d.spec.template, self.d.status.collision_count);
        let mut rs = ReplicaSet::default();
        rs.metadata.name = util::replica_set_name(&self.d.metadata.name, &hash).into();
        rs.metadata.namespace = self.d.metadata.namespace.clone();
        rs.metadata.owner_references =
            vec![utils::new_controller_ref::<Deployment>(&self.d.metadata)].into_iter().collect();
        let mut template = (*self.d.spec.template).clone();
        template.metadata.labels.insert(TEMPLATE_HASH, hash.as_str().into());
        rs.metadata.labels = template.metadata.labels.clone();
        let mut selector = self.d.spec.selector.get().cloned().unwrap_or_default();
        selector.match_labels.insert(TEMPLATE_HASH, hash.as_str().into());
        let count = util::new_rs_new_replicas(&self.d, util::desired_count(old), 0)?;
        {
            let spec = rs.spec.make();
            spec.min_ready_seconds = self.d.spec.min_ready_seconds;
            spec.selector = api::Ptr::some(selector);
            *spec.template.make() = template;
            spec.replicas = Some(count);
        }
        let (_, raised) = util::set_new_rs_annotations(&self.d, &mut rs, new_revision, false);
        self.log_raised(&rs, new_revision, raised);
        let name = rs.metadata.name.clone();
        let (created, already_exists) = match self.client.create(&self.d.metadata.namespace, rs).await {
            Ok(created) => (created, false),
            Err(err) if err.is_already_exists() => {
                let namespace = self.d.metadata.namespace.clone();
                let Some(rs) = self.dc.replica_sets.get(&namespace, &name) else {
                    return Err(api::Status::not_found(ReplicaSet::KIND, &name).into());
                };
                let ours = utils::controller_of(&rs.metadata).is_some_and(|r| r.uid == self.d.metadata.uid);
                if !ours || !utils::equal_ignore_hash(&self.d.spec.template, &rs.spec.template) {
                    return Err(self.hash_collision(err).await);
                }
                (rs, true)
            }
            Err(err) if err.has_cause("NamespaceTerminating") => return Err(err.into()),
            Err(err) => {
                let message = format!("Failed to create new replica set \"{name}\": {err}");
                if util::progress_deadline(&self.d).is_some() {
                    let condition = util::condition(
                        util::PROGRESSING,
                        "False",
                        "ReplicaSetCreateError",
                        message.clone(),
                        &self.now(),
                    );
                    util::set_condition(self.d.status.make(), condition);
                    let _ = self.update_status().await;
                }
                self.event("Warning", "ReplicaSetCreateError", &message);
                return Err(err.into());
            }
        };
        if !already_exists && count > 0 {
            self.event("Normal", "ScalingReplicaSet", &format!("Scaled up replica set {name} from 0 to {count}"));
            self.dc.observed.action(&self.key(), format!("created replica set {name} with {count} replicas"));
        }
        let mut needs_update = util::annotate(&mut self.d.metadata, util::REVISION, new_revision.to_string());
        if !already_exists && util::progress_deadline(&self.d).is_some() {
            let message = format!("Created new replica set \"{name}\"");
            let condition = util::condition(util::PROGRESSING, "True", "NewReplicaSetCreated", message, &self.now());
            util::set_condition(self.d.status.make(), condition);
            needs_update = true;
        }
        if needs_update {
            self.update_status().await?;
        }
        Ok(created)
    }

    /// The name is taken by another template: the next try hashes with a higher count.
    async fn hash_collision(&mut self, err: api::Status) -> SyncError {
        let before = self.d.status.collision_count.unwrap_or(0);
        let after = before.saturating_add(1);
        self.d.status.make().collision_count = Some(after);
        if self.update_status().await.is_ok() {
            klog::info("Found a hash collision for deployment - bumping collisionCount to resolve it")
                .obj("deployment", &self.d.metadata.namespace, &self.d.metadata.name)
                .raw("oldCollisionCount", before)
                .raw("newCollisionCount", after)
                .log(&self.dc.ctx, "sync.go:271");
        }
        err.into()
    }

    /// Scales one set, or several in proportion.
    async fn scale(&mut self, sets: &Sets) -> Result<(), SyncError> {
        let want = replicas(&self.d);
        if let Some(rs) = util::active_or_latest(sets.new.as_ref(), &sets.old) {
            if rs_replicas(&rs) != want {
                self.scale_replica_set(&rs, want, false).await?;
            }
            return Ok(());
        }
        if util::is_saturated(&self.d, sets.new.as_ref()) {
            for rs in util::active(&sets.old) {
                self.scale_replica_set(&rs, 0, false).await?;
            }
            return Ok(());
        }
        if !util::is_rolling(&self.d) {
            return Ok(());
        }
        for (rs, size) in proportional_sizes(&self.d, util::active(sets.all())) {
            self.scale_replica_set(&rs, size, true).await?;
        }
        Ok(())
    }

    /// Sets the size of a set and its annotations; says whether the size changed, and the set as it is now.
    pub(super) async fn scale_replica_set(
        &mut self,
        rs: &Rev<ReplicaSet>,
        size: i32,
        force: bool,
    ) -> Result<(bool, Rev<ReplicaSet>), SyncError> {
        let old = rs_replicas(rs);
        if !force && old == size {
            return Ok((false, rs.clone()));
        }
        let desired = replicas(&self.d);
        let max = desired.saturating_add(util::max_surge(&self.d));
        if old == size && !util::replicas_annotations_need_update(rs, desired, max) {
            return Ok((false, rs.clone()));
        }
        let mut copy = (**rs).clone();
        copy.spec.make().replicas = Some(size);
        util::set_replicas_annotations(&mut copy, desired, max);
        let updated = self.client.update(copy, rs.revision).await?;
        if old == size {
            return Ok((false, updated));
        }
        let way = if old < size { "up" } else { "down" };
        let message = format!("Scaled {way} replica set {} from {old} to {size}", rs.metadata.name);
        self.event("Normal", "ScalingReplicaSet", &message);
        self.dc.observed.action(&self.key(), message);
        Ok((true, updated))
    }

    /// Deletes old sets beyond the history limit.
    pub(super) async fn cleanup(&mut self, old: &[Rev<ReplicaSet>]) -> Result<(), SyncError> {
        let Some(limit) = util::history_limit(&self.d) else { return Ok(()) };
        let mut alive: Vec<_> =
            old.iter().filter(|rs| rs.metadata.deletion_timestamp.unix().is_none()).cloned().collect();
        let excess = alive.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        if excess == 0 {
            return Ok(());
        }
        alive.sort_small_by(|a, b| match (util::revision(a), util::revision(b)) {
            (Some(x), Some(y)) if x != y => x.cmp(&y),
            _ => util::by_creation(a, b),
        });
        let (namespace, name) = (self.d.metadata.namespace.clone(), self.d.metadata.name.clone());
        klog::info("Looking to cleanup old replica sets for deployment")
            .obj("deployment", &namespace, &name)
            .log(&self.dc.ctx, "sync.go:458");
        for rs in alive.iter().take(excess) {
            if rs.status.replicas != 0 || rs_replicas(rs) != 0 || rs.metadata.generation > rs.status.observed_generation
            {
                continue;
            }
            klog::info("Trying to cleanup replica set for deployment")
                .obj("replicaSet", &namespace, &rs.metadata.name)
                .obj("deployment", &namespace, &name)
                .log(&self.dc.ctx, "sync.go:466");
            match self.client.delete::<ReplicaSet>(&namespace, &rs.metadata.name, &Default::default()).await {
                Ok(()) => {}
                Err(err) if err.is_not_found() => {}
                Err(err) => return Err(err.into()),
            }
        }
        Ok(())
    }

    async fn sync_deployment_status(&mut self, sets: &Sets) -> Result<(), SyncError> {
        let status = self.calculate_status(sets);
        if utils::equal(&*self.d.status, &status) {
            return Ok(());
        }
        *self.d.status.make() = status;
        self.update_status().await.map(drop)
    }

    /// The status that follows from the sets.
    pub(super) fn calculate_status(&self, sets: &Sets) -> DeploymentStatus {
        let available = util::status_count(sets.all(), |s| s.available_replicas);
        let total = util::desired_count(sets.all());
        let mut status = DeploymentStatus {
            observed_generation: self.d.metadata.generation,
            replicas: util::status_count(sets.all(), |s| s.replicas),
            updated_replicas: sets.new.as_ref().map_or(0, |rs| rs.status.replicas),
            ready_replicas: util::status_count(sets.all(), |s| s.ready_replicas),
            available_replicas: available,
            unavailable_replicas: total.saturating_sub(available).max(0),
            terminating_replicas: util::terminating_count(sets.all()),
            collision_count: self.d.status.collision_count,
            conditions: self.d.status.conditions.clone(),
        };
        let enough = available >= replicas(&self.d).saturating_sub(util::max_unavailable(&self.d));
        let (state, reason, message) = if enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        util::set_condition(&mut status, util::condition(util::AVAILABLE, state, reason, message.into(), &self.now()));
        status
    }

    /// Whether the desired number changed since the active sets were last scaled.
    pub(super) async fn is_scaling_event(&mut self, sets: &[Rev<ReplicaSet>]) -> Result<bool, SyncError> {
        let sets = self.replica_sets_and_revision(sets.to_vec(), false).await?;
        let want = replicas(&self.d);
        Ok(util::active(sets.all()).iter().any(|rs| util::desired_annotation(rs).is_some_and(|n| n != want)))
    }
}

/// The new sizes of several active sets, largest first, when the whole is scaled during a rollout.
pub(super) fn proportional_sizes(d: &Deployment, mut active: Vec<Rev<ReplicaSet>>) -> Vec<(Rev<ReplicaSet>, i32)> {
    let current = util::desired_count(&active);
    let allowed = if replicas(d) > 0 { replicas(d).saturating_add(util::max_surge(d)) } else { 0 };
    let to_add = allowed.saturating_sub(current);
    // Of sets of one size, newer grow first and older shrink first.
    active.sort_small_by(|a, b| {
        rs_replicas(b).cmp(&rs_replicas(a)).then_with(|| match to_add {
            n if n > 0 => util::by_creation(b, a),
            _ => util::by_creation(a, b),
        })
    });
    let mut added: i32 = 0;
    let mut sizes: Vec<(Rev<ReplicaSet>, i32)> = Vec::with_capacity(active.len());
    for rs in active {
        let share = util::proportion(&rs, d, to_add, added);
        added = added.saturating_add(share);
        let size = rs_replicas(&rs).saturating_add(share);
        sizes.push((rs, size));
    }
    if to_add != 0
        && let Some((_, size)) = sizes.first_mut()
    {
        *size = size.saturating_add(to_add.saturating_sub(added)).max(0);
    }
    sizes
}
