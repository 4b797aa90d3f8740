//! Adopting orphans and releasing what no longer matches (`pkg/controller/controller_ref_manager.go`).

use api::meta_v1::ObjectMeta;
use api::rest::PatchType;
use api::scheme::KindInfo;
use api::selector::LabelSelector as Selector;
use api::{Resource, Rev};
use client::{Client, klog};
use sim::Ctx;

use super::{SyncError, aggregate, controller_of};

/// One claim of an owner on the objects of a kind.
pub struct Claim<'a> {
    /// For log lines.
    pub ctx: &'a Ctx,
    /// Writes as the controller.
    pub client: &'a Client,
    /// Whose objects they are to be.
    pub owner: &'a ObjectMeta,
    /// The owner's kind.
    pub kind: &'static KindInfo,
    /// What the owner selects.
    pub selector: &'a Selector,
}

impl Claim<'_> {
    /// Of `objects`, those that are the owner's now. `O` is the owner's type.
    pub async fn claim<O: Resource, T: Resource>(&self, objects: Vec<Rev<T>>) -> Result<Vec<Rev<T>>, SyncError> {
        let mut claimed = Vec::with_capacity(objects.len());
        let mut errors = Vec::new();
        // Whether adoption is allowed, asked of the server once at most.
        let mut may_adopt: Option<Result<(), String>> = None;
        for object in objects {
            match self.claim_one::<O, T>(&object, &mut may_adopt).await {
                Ok(true) => claimed.push(object),
                Ok(false) => {}
                Err(err) if err.is_not_found() => {}
                Err(err) => errors.push(err),
            }
        }
        aggregate(errors).map(|()| claimed)
    }

    async fn claim_one<O: Resource, T: Resource>(
        &self,
        object: &Rev<T>,
        may_adopt: &mut Option<Result<(), String>>,
    ) -> Result<bool, SyncError> {
        let meta = object.metadata();
        let dying = self.owner.deletion_timestamp.unix().is_some();
        if let Some(reference) = controller_of(meta) {
            if reference.uid != self.owner.uid {
                return Ok(false);
            }
            if self.selector.matches(&meta.labels) {
                return Ok(true);
            }
            if !dying {
                self.release::<T>(meta).await?;
            }
            return Ok(false);
        }
        if dying || !self.selector.matches(&meta.labels) || meta.deletion_timestamp.unix().is_some() {
            return Ok(false);
        }
        if !self.owner.namespace.is_empty() && self.owner.namespace != meta.namespace {
            return Ok(false);
        }
        if may_adopt.is_none() {
            *may_adopt = Some(self.recheck::<O>().await);
        }
        if let Some(Err(err)) = may_adopt {
            let kind = T::KIND.kind;
            return Err(format!("can't adopt {kind} {}/{} ({}): {err}", meta.namespace, meta.name, meta.uid).into());
        }
        self.adopt::<T>(meta).await?;
        Ok(true)
    }

    /// Asks the server, not the cache, whether the owner still lives.
    async fn recheck<O: Resource>(&self) -> Result<(), String> {
        let owner = self.owner;
        let fresh = self
            .client
            .get::<O>(&owner.namespace, &owner.name)
            .await
            .map_err(|e| format!("can't recheck DeletionTimestamp: {e}"))?;
        let meta = fresh.metadata();
        if meta.uid != owner.uid {
            return Err(format!(
                "can't recheck DeletionTimestamp: original {} {}/{} is gone: got uid {}, wanted {}",
                O::KIND.kind,
                owner.namespace,
                owner.name,
                meta.uid,
                owner.uid
            ));
        }
        if let Some(at) = meta.deletion_timestamp.unix() {
            let at = klog::go_time(at.saturating_mul(1_000_000_000), None);
            return Err(format!("{}/{} has just been deleted at {at}", owner.namespace, owner.name));
        }
        Ok(())
    }

    async fn adopt<T: Resource>(&self, meta: &ObjectMeta) -> Result<(), SyncError> {
        let body = format!(
            r#"{{"metadata":{{"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","controller":true,"blockOwnerDeletion":true}}],"uid":"{}"}}}}"#,
            self.kind.api_version, self.kind.kind, self.owner.name, self.owner.uid, meta.uid
        );
        self.client.patch::<T>(&meta.namespace, &meta.name, PatchType::Strategic, body, "").await?;
        Ok(())
    }

    async fn release<T: Resource>(&self, meta: &ObjectMeta) -> Result<(), SyncError> {
        let (what, label) = match T::KIND.kind {
            "Pod" => ("pod", "pod"),
            "ReplicaSet" => ("ReplicaSet", "replicaSet"),
            other => (other, "object"),
        };
        klog::info(&format!("Patching {what} to remove its controllerRef"))
            .obj(label, &meta.namespace, &meta.name)
            .str("gvk", &format!("{}, Kind={}", self.kind.api_version, self.kind.kind))
            .str("controller", &self.owner.name)
            .log(self.ctx, "controller_ref_manager.go:228");
        let body = delete_owner_refs_patch(&meta.uid, [&*self.owner.uid]);
        match self.client.patch::<T>(&meta.namespace, &meta.name, PatchType::Strategic, body, "").await {
            Ok(_) => Ok(()),
            // Gone, or another object of that name by now.
            Err(err) if err.is_not_found() || err.is_invalid() => Ok(()),
            Err(err) => Err(err.into()),
        }
    }
}

/// A strategic merge patch that takes owners off an object (`GenerateDeleteOwnerRefStrategicMergeBytes`).
pub fn delete_owner_refs_patch<'a>(uid: &str, owners: impl IntoIterator<Item = &'a str>) -> String {
    let refs: Vec<String> = owners.into_iter().map(|u| format!(r#"{{"$patch":"delete","uid":"{u}"}}"#)).collect();
    format!(r#"{{"metadata":{{"ownerReferences":[{}],"uid":"{uid}"}}}}"#, refs.join(","))
}
