//! The set's templates through time.

use api::apps_v1::{ControllerRevision, StatefulSet};
use api::core_v1::{Pod, PodTemplateSpec};
use api::{List, Resource, Rev};

use super::{Run, identity};
use crate::controller_utils::{self as utils, SyncError};
use crate::history::{self, HASH_LABEL, RevisionNumber};

type Revisions = Vec<Rev<ControllerRevision>>;

/// What a run goes by.
pub struct Current {
    /// The revision the pods are at.
    pub current: Rev<ControllerRevision>,
    /// The revision they are to get to.
    pub update: Rev<ControllerRevision>,
    /// How many names of revisions were taken.
    pub collisions: i32,
}

/// The template that a revision stores.
pub fn template_of(revision: &ControllerRevision) -> Result<PodTemplateSpec, SyncError> {
    let json = revision.data.json().unwrap_or("{}");
    let value = api::json::Value::parse(json).map_err(|e| SyncError::Other(e.to_string()))?;
    let mut template = PodTemplateSpec::default();
    if let Some(stored) = value.at(&["spec", "template"]) {
        api::json::from_value(stored, &mut template, false).map_err(|e| SyncError::Other(e.to_string()))?;
    }
    Ok(template)
}

impl Run<'_> {
    pub(super) async fn adopt_revisions(&self) -> Result<Revisions, SyncError> {
        let (ssc, meta) = (self.ssc, &self.set.metadata);
        let (lister, kind) = (&ssc.revisions, StatefulSet::KIND);
        let mut all = history::claim::<StatefulSet>(&ssc.ctx, &self.client, lister, meta, kind, &self.selector).await?;
        history::sort(&mut all);
        Ok(all)
    }

    /// Which revision is the set's now and which was, made or renumbered as needed. `all` is sorted.
    pub(super) async fn current_revisions(&self, all: &[Rev<ControllerRevision>]) -> Result<Current, SyncError> {
        let set = &self.set;
        let mut collisions = set.status.collision_count.unwrap_or(0);
        let patch = history::template_patch(&set.spec.template);
        let number = all.last().map_or(1, |r| r.revision_number().saturating_add(1));
        let newest = all.last();
        let equal = all.iter().rfind(|r| history::matches(r, &patch));
        let update = match (equal, newest) {
            (Some(equal), Some(newest)) if history::matches(newest, &patch) => {
                let _ = equal;
                newest.clone()
            }
            (Some(equal), _) => {
                let mut copy = (**equal).clone();
                copy.revision = number;
                self.client.update(copy, equal.revision).await?
            }
            (None, Some(newest)) if self.stores_the_same(newest) => newest.clone(),
            _ => self.create_revision(patch, number, &mut collisions).await?,
        };
        let current = all.iter().find(|r| r.metadata.name == set.status.current_revision);
        let current = current.unwrap_or(&update).clone();
        Ok(Current { current, update, collisions })
    }

    /// Whether a revision written in other words stores the set's template.
    fn stores_the_same(&self, revision: &ControllerRevision) -> bool {
        template_of(revision).is_ok_and(|t| utils::equal(&t, &*self.set.spec.template))
    }

    async fn create_revision(
        &self,
        patch: String,
        number: i64,
        collisions: &mut i32,
    ) -> Result<Rev<ControllerRevision>, SyncError> {
        let meta = &self.set.metadata;
        loop {
            let hash = history::hash_revision(&patch, Some(*collisions));
            let name = history::revision_name(&meta.name, &hash);
            let mut revision = history::new_revision(&meta.namespace, &name, patch.clone(), number);
            revision.metadata.labels = self.set.spec.template.metadata.labels.clone();
            revision.metadata.labels.insert(HASH_LABEL, hash.as_str().into());
            revision.metadata.annotations = meta.annotations.clone();
            revision.metadata.owner_references = List::from(vec![utils::new_controller_ref::<StatefulSet>(meta)]);
            match self.client.create(&meta.namespace, revision).await {
                Err(err) if err.is_already_exists() => {}
                result => return Ok(result?),
            }
            let existing = self.client.get::<ControllerRevision>(&meta.namespace, &name).await?;
            if history::matches(&existing, &patch) {
                return Ok(existing);
            }
            *collisions = collisions.saturating_add(1);
        }
    }

    /// Deletes revisions beyond the limit that nothing is of.
    pub(super) async fn truncate_history(
        &self,
        pods: &[Rev<Pod>],
        all: &[Rev<ControllerRevision>],
        now: Option<&Current>,
    ) -> Result<(), SyncError> {
        let live = |name: &str| {
            now.is_some_and(|c| c.current.metadata.name == *name || c.update.metadata.name == *name)
                || pods.iter().any(|p| identity::revision(p) == name)
        };
        let past: Vec<_> = all.iter().filter(|r| !live(&r.metadata.name)).collect();
        let Ok(limit) = usize::try_from(self.set.spec.revision_history_limit.unwrap_or(10)) else { return Ok(()) };
        for revision in past.iter().take(past.len().saturating_sub(limit)) {
            let meta = &revision.metadata;
            self.client.delete::<ControllerRevision>(&meta.namespace, &meta.name, &Default::default()).await?;
        }
        Ok(())
    }
}
