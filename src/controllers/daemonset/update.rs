//! Rolling updates and the history of templates (`pkg/controller/daemon/update.go`).

use std::collections::BTreeSet;

use api::apps_v1::{ControllerRevision, DaemonSet};
use api::core_v1::Pod;
use api::rest::PatchType;
use api::{List, Resource, Rev, Str};
use client::klog;

use super::{Run, placement};
use crate::controller_utils::{self as utils, SyncError, compute_hash};
use crate::history::{self, HASH_LABEL, RevisionNumber};

type Revisions = Vec<Rev<ControllerRevision>>;

impl Run<'_> {
    fn scaled(&self, desired: usize, surge: bool) -> usize {
        if self.set.spec.update_strategy.type_ != "RollingUpdate" {
            return 0;
        }
        let rolling = self.set.spec.update_strategy.rolling_update.get();
        let value = rolling.and_then(|r| if surge { r.max_surge.as_ref() } else { r.max_unavailable.as_ref() });
        let desired = i32::try_from(desired).unwrap_or(i32::MAX);
        let scaled = value.map_or(0, |v| crate::deployment::util::scaled(v, desired, true));
        usize::try_from(scaled).unwrap_or(0)
    }

    pub(super) fn allows_surge(&self) -> bool {
        self.scaled(1, true) > 0
    }

    /// Replaces pods of old revisions, no more at a time than may be missing or in surplus.
    pub(super) async fn rolling_update(&self) -> Result<(), SyncError> {
        let mut by_node = self.by_node(false).await?;
        let wanted: Vec<Str> =
            self.nodes.iter().filter(|n| self.placement.should_run(n).0).map(|n| n.metadata.name.clone()).collect();
        for name in &wanted {
            by_node.entry(name.clone()).or_default();
        }
        let (max_surge, mut max_unavailable) = (self.scaled(wanted.len(), true), self.scaled(wanted.len(), false));
        if !wanted.is_empty() && max_surge == 0 && max_unavailable == 0 {
            max_unavailable = 1;
        }
        let now = self.dsc.ctx.unix_nanos();
        let available = |p: &Pod| utils::is_pod_available(p, self.set.spec.min_ready_seconds, now);
        let (mut delete, mut create) = (Vec::new(), Vec::new());
        let mut candidates = Vec::new();
        let (mut unavailable, mut surge) = (0usize, 0usize);
        for (node, pods) in &by_node {
            let living = pods.iter().filter(|p| p.metadata.deletion_timestamp.unix().is_none());
            let (new, old): (Vec<_>, Vec<_>) = living.partition(|p| placement::is_updated(p, &self.set, &self.hash));
            if new.len() > 1 || old.len() > 1 {
                // The core loop deletes what is too much first.
                klog::info("DaemonSet has excess pods on node, skipping to allow the core loop to process")
                    .obj("daemonset", &self.key.namespace, &self.key.name)
                    .obj("node", "", node)
                    .log(&self.dsc.ctx, "update.go:63");
                unavailable += 1;
                surge += 1;
                continue;
            }
            let (new, old) = (new.first(), old.first());
            if max_surge == 0 {
                match (new, old) {
                    (Some(new), None) => unavailable += usize::from(!available(new)),
                    (None, Some(old)) if !available(old) => {
                        delete.push(old.metadata.name.clone());
                        unavailable += 1;
                    }
                    (None, Some(old)) => candidates.push(old.metadata.name.clone()),
                    _ => unavailable += 1,
                }
                continue;
            }
            match (new, old) {
                (_, None) => {}
                (None, Some(old)) if !wanted.contains(node) => delete.push(old.metadata.name.clone()),
                (None, Some(old)) if !available(old) => create.push(node.clone()),
                (None, Some(_)) => candidates.push(node.clone()),
                (Some(new), Some(_)) if !available(new) => surge += 1,
                (Some(_), Some(old)) => delete.push(old.metadata.name.clone()),
            }
        }
        if max_surge == 0 {
            delete.extend(candidates.into_iter().take(max_unavailable.saturating_sub(unavailable)));
        } else {
            create.extend(candidates.into_iter().take(max_surge.saturating_sub(surge)));
        }
        self.sync_nodes(delete, create).await
    }

    /// The revision of the current template, made if it is new, and all others.
    pub(super) async fn construct_history(&self) -> Result<(Rev<ControllerRevision>, Revisions), SyncError> {
        let selector = self.selector()?;
        let lister = &self.dsc.revisions;
        let (ctx, meta) = (&self.dsc.ctx, &self.set.metadata);
        let all = history::claim::<DaemonSet>(ctx, &self.client, lister, meta, DaemonSet::KIND, &selector).await?;
        let patch = history::template_patch(&self.set.spec.template);
        let (mut current, old): (Revisions, Revisions) = all.into_iter().partition(|r| history::matches(r, &patch));
        let number = history::max_revision(&old).saturating_add(1);
        history::sort(&mut current);
        let Some(newest) = current.pop() else {
            return Ok((self.snapshot(patch, number).await?, old));
        };
        for duplicate in current {
            self.drop_duplicate(&newest, &duplicate).await?;
        }
        if newest.revision_number() < number {
            let mut copy = (*newest).clone();
            copy.revision = number;
            return Ok((self.client.update(copy, newest.revision).await?, old));
        }
        Ok((newest, old))
    }

    /// Two revisions store the same template: the pods of one are counted to the other.
    async fn drop_duplicate(
        &self,
        kept: &Rev<ControllerRevision>,
        duplicate: &Rev<ControllerRevision>,
    ) -> Result<(), SyncError> {
        let hash = kept.metadata.labels.get(HASH_LABEL).cloned().unwrap_or_default();
        for pod in self.daemon_pods().await? {
            if pod.metadata.labels.get(HASH_LABEL) != Some(&hash) {
                let body = format!(r#"{{"metadata":{{"labels":{{"{HASH_LABEL}":"{hash}"}}}}}}"#);
                let name = &pod.metadata.name;
                self.client.patch::<Pod>(&pod.metadata.namespace, name, PatchType::Merge, body, "").await?;
            }
        }
        let meta = &duplicate.metadata;
        self.client.delete::<ControllerRevision>(&meta.namespace, &meta.name, &Default::default()).await?;
        Ok(())
    }

    async fn snapshot(&self, patch: String, number: i64) -> Result<Rev<ControllerRevision>, SyncError> {
        let meta = &self.set.metadata;
        let hash = compute_hash(&self.set.spec.template, self.set.status.collision_count);
        let name = format!("{}-{hash}", meta.name);
        let mut revision = history::new_revision(&meta.namespace, &name, patch.clone(), number);
        revision.metadata.labels = self.set.spec.template.metadata.labels.clone();
        revision.metadata.labels.insert(HASH_LABEL, hash.as_str().into());
        revision.metadata.annotations = meta.annotations.clone();
        revision.metadata.owner_references = List::from(vec![utils::new_controller_ref::<DaemonSet>(meta)]);
        let err = match self.client.create(&meta.namespace, revision).await {
            Err(err) if err.is_already_exists() => err,
            result => return Ok(result?),
        };
        let existing = self.client.get::<ControllerRevision>(&meta.namespace, &name).await?;
        if history::matches(&existing, &patch) {
            return Ok(existing);
        }
        let fresh = self.client.get::<DaemonSet>(&meta.namespace, &meta.name).await?;
        let count = fresh.status.collision_count.unwrap_or(0).saturating_add(1);
        let mut copy = (*fresh).clone();
        copy.status.make().collision_count = Some(count);
        self.client.update_status(copy, fresh.revision).await?;
        klog::info("Found a hash collision for DaemonSet - bumping collisionCount to resolve it")
            .obj("daemonset", &meta.namespace, &meta.name)
            .raw("collisionCount", count)
            .log(&self.dsc.ctx, "update.go:456");
        Err(err.into())
    }

    /// Deletes revisions beyond the limit that no pod is of.
    pub(super) async fn cleanup_history(&self, mut old: Revisions) -> Result<(), SyncError> {
        let keep = usize::try_from(self.set.spec.revision_history_limit.unwrap_or(10)).unwrap_or(0);
        let Some(mut excess) = old.len().checked_sub(keep).filter(|n| *n > 0) else { return Ok(()) };
        let by_node = self.by_node(true).await?;
        let live: BTreeSet<Str> =
            by_node.values().flatten().filter_map(|p| p.metadata.labels.get(HASH_LABEL).cloned()).collect();
        history::sort(&mut old);
        for revision in old {
            if excess == 0 {
                break;
            }
            if revision.metadata.labels.get(HASH_LABEL).is_some_and(|h| live.contains(h)) {
                continue;
            }
            let meta = &revision.metadata;
            self.client.delete::<ControllerRevision>(&meta.namespace, &meta.name, &Default::default()).await?;
            excess -= 1;
        }
        Ok(())
    }
}
