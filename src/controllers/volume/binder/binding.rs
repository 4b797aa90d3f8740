//! The writes of a binding: first the volume, then the claim, each followed by its status, so that whatever was written
//! last before a crash can be finished.

use api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use api::volume::{BIND_COMPLETED, BOUND_BY_CONTROLLER, is_bound_to};
use api::{Map, Rev};
use client::{Client, klog};

use super::{Binder, LOGGER};
use crate::controller_utils::{self as utils, SyncError};

type Volume = Rev<PersistentVolume>;
type Claim = Rev<PersistentVolumeClaim>;

impl Binder {
    /// Binds a volume to a claim, or finishes doing so.
    pub(super) async fn bind(&self, client: &Client, volume: Volume, claim: Claim) -> Result<(), SyncError> {
        let volume = self.bind_volume(client, volume, &claim).await?;
        let volume = self.set_volume_phase(client, volume, "Bound", "").await?;
        let claim = self.bind_claim(client, claim, &volume).await?;
        self.set_claim_status(client, claim, "Bound", Some(&volume)).await?;
        Ok(())
    }

    async fn bind_volume(&self, client: &Client, volume: Volume, claim: &Claim) -> Result<Volume, SyncError> {
        let meta = &claim.metadata;
        let is_written = volume
            .spec
            .claim_ref
            .get()
            .is_some_and(|r| r.name == meta.name && r.namespace == meta.namespace && r.uid == meta.uid);
        let is_ours = !is_bound_to(&volume, claim) && !volume.metadata.annotations.contains_key(BOUND_BY_CONTROLLER);
        if is_written && !is_ours {
            return Ok(volume);
        }
        klog::info("Claim bound to volume")
            .str("logger", LOGGER)
            .obj("PVC", &meta.namespace, &meta.name)
            .str("volumeName", &volume.metadata.name)
            .log(&self.ctx, "pv_controller.go:1019");
        let mut new = (*volume).clone();
        if !is_written {
            *new.spec.make().claim_ref.make() = utils::object_ref::<PersistentVolumeClaim>(meta, claim.revision);
        }
        if is_ours {
            new.metadata.annotations.insert(BOUND_BY_CONTROLLER, "yes".into());
        }
        self.observed.action(&client::Key::of(meta), format!("bind volume {}", volume.metadata.name));
        let written = client.update(new, volume.revision).await?;
        self.keep_volume(&written);
        Ok(written)
    }

    async fn bind_claim(&self, client: &Client, claim: Claim, volume: &Volume) -> Result<Claim, SyncError> {
        let name = &volume.metadata.name;
        let is_named = claim.spec.volume_name == *name;
        if is_named && claim.metadata.annotations.contains_key(BIND_COMPLETED) {
            return Ok(claim);
        }
        klog::info("Volume bound to claim")
            .str("logger", LOGGER)
            .obj("PVC", &claim.metadata.namespace, &claim.metadata.name)
            .str("volumeName", name)
            .log(&self.ctx, "pv_controller.go:1072");
        let mut new = (*claim).clone();
        if !is_named {
            new.spec.make().volume_name = name.clone();
            if !new.metadata.annotations.contains_key(BOUND_BY_CONTROLLER) {
                new.metadata.annotations.insert(BOUND_BY_CONTROLLER, "yes".into());
            }
        }
        new.metadata.annotations.insert(BIND_COMPLETED, "yes".into());
        let written = client.update(new, claim.revision).await?;
        self.keep_claim(&written);
        Ok(written)
    }

    /// Gives a claim its phase, and what its volume has.
    pub(super) async fn set_claim_status(
        &self,
        client: &Client,
        claim: Claim,
        phase: &str,
        volume: Option<&Volume>,
    ) -> Result<Claim, SyncError> {
        let mut status = (*claim.status).clone();
        match volume {
            None => {
                status.access_modes = Default::default();
                status.capacity = Map::default();
                status.current_volume_attributes_class_name = Default::default();
            }
            Some(volume) => {
                status.access_modes = volume.spec.access_modes.clone();
                if claim.status.phase != phase {
                    let Some(size) = volume.spec.capacity.get("storage") else {
                        let name = api::go::quote(&volume.metadata.name);
                        return Err(format!("PersistentVolume {name} is without a storage capacity").into());
                    };
                    if claim.status.capacity.get("storage") != Some(size) {
                        status.capacity = volume.spec.capacity.clone();
                    }
                    if claim.status.phase == "Pending" && phase == "Bound" {
                        status.current_volume_attributes_class_name = volume.spec.volume_attributes_class_name.clone();
                    }
                }
            }
        }
        status.phase = phase.into();
        if utils::equal(&status, &*claim.status) {
            return Ok(claim);
        }
        let mut new = (*claim).clone();
        *new.status.make() = status;
        let written = client.update_status(new, claim.revision).await?;
        self.keep_claim(&written);
        klog::info("Claim entered phase")
            .str("logger", LOGGER)
            .obj("PVC", &claim.metadata.namespace, &claim.metadata.name)
            .str("phase", phase)
            .log(&self.ctx, "pv_controller.go:877");
        Ok(written)
    }

    /// [`set_claim_status`](Self::set_claim_status) with a warning if the phase is new.
    pub(super) async fn lose_claim(
        &self,
        client: &Client,
        claim: Claim,
        reason: &str,
        text: &str,
    ) -> Result<(), SyncError> {
        if claim.status.phase == "Lost" {
            return Ok(());
        }
        let written = self.set_claim_status(client, claim, "Lost", None).await?;
        self.claim_event(&written, "Warning", reason, text);
        Ok(())
    }

    /// Gives a volume its phase.
    pub(super) async fn set_volume_phase(
        &self,
        client: &Client,
        volume: Volume,
        phase: &str,
        message: &str,
    ) -> Result<Volume, SyncError> {
        if volume.status.phase == phase {
            return Ok(volume);
        }
        let mut new = (*volume).clone();
        let status = new.status.make();
        status.phase = phase.into();
        status.message = message.into();
        let written = client.update_status(new, volume.revision).await?;
        self.keep_volume(&written);
        klog::info("Volume entered phase")
            .str("logger", LOGGER)
            .str("volumeName", &volume.metadata.name)
            .str("phase", phase)
            .log(&self.ctx, "pv_controller.go:936");
        Ok(written)
    }

    /// The volume failed: says so once.
    pub(super) async fn fail_volume(
        &self,
        client: &Client,
        volume: Volume,
        reason: &str,
        text: &str,
    ) -> Result<(), SyncError> {
        if volume.status.phase == "Failed" {
            return Ok(());
        }
        let written = self.set_volume_phase(client, volume, "Failed", text).await?;
        self.volume_event(&written, "Warning", reason, text);
        Ok(())
    }

    /// Takes back a binding whose claim went elsewhere.
    pub(super) async fn unbind(&self, client: &Client, volume: Volume) -> Result<(), SyncError> {
        let mut new = (*volume).clone();
        if volume.metadata.annotations.contains_key(BOUND_BY_CONTROLLER) {
            new.spec.make().claim_ref.clear();
            new.metadata.annotations.remove(BOUND_BY_CONTROLLER);
        } else {
            // The user made it for that claim: it stays so.
            new.spec.make().claim_ref.make().uid = Default::default();
        }
        let written = client.update(new, volume.revision).await?;
        self.keep_volume(&written);
        self.set_volume_phase(client, written, "Available", "").await?;
        Ok(())
    }
}
