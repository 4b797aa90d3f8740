//! What becomes of a volume.

use api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use api::meta_v1::DeleteOptions;
use api::volume::{PROVISIONED_BY, modes_mismatch};
use api::{Rev, Str};
use client::{Client, Key, klog};

use super::{Binder, LOGGER};
use crate::controller_utils::SyncError;

type Volume = Rev<PersistentVolume>;

fn is_released(volume: &PersistentVolume) -> bool {
    matches!(&*volume.status.phase, "Released" | "Failed")
}

impl Binder {
    /// Brings a volume up to date (`syncVolume`).
    pub(super) async fn sync_volume(&self, client: &Client, volume: Volume) -> Result<(), SyncError> {
        klog::info("Synchronizing PersistentVolume")
            .str("logger", LOGGER)
            .str("volumeName", &volume.metadata.name)
            .str("volumeStatus", &volume_status(&volume))
            .log(&self.ctx, "pv_controller.go:565");
        // One that the user made for a claim is free until that claim takes it.
        let Some(reference) = volume.spec.claim_ref.get().filter(|r| !r.uid.is_empty()).cloned() else {
            self.set_volume_phase(client, volume, "Available", "").await?;
            return Ok(());
        };
        let key = Key::new(reference.namespace, reference.name);
        let Some(claim) = self.claim_of(client, &volume, &key, &reference.uid).await? else {
            return self.release(client, volume).await;
        };
        let name = &volume.metadata.name;
        if claim.spec.volume_name.is_empty() {
            if modes_mismatch(&volume, &claim) {
                let text = format!(
                    "Cannot bind PersistentVolume to requested PersistentVolumeClaim {} due to incompatible volumeMode.",
                    api::go::quote(&claim.metadata.name)
                );
                self.volume_event(&volume, "Warning", "VolumeMismatch", &text);
                let text = format!(
                    "Cannot bind PersistentVolume {} to requested PersistentVolumeClaim due to incompatible volumeMode.",
                    api::go::quote(name)
                );
                self.claim_event(&claim, "Warning", "VolumeMismatch", &text);
                return Ok(());
            }
            // The claim finishes the binding.
            self.claim_queue.add(key);
            return Ok(());
        }
        if claim.spec.volume_name == *name {
            self.set_volume_phase(client, volume, "Bound", "").await?;
            return Ok(());
        }
        let is_provisioned = volume.metadata.annotations.contains_key(PROVISIONED_BY);
        if is_provisioned && volume.spec.persistent_volume_reclaim_policy == "Delete" {
            return self.release(client, volume).await;
        }
        self.unbind(client, volume).await
    }

    /// The claim that a volume is bound to; none if it is gone, or another of that name.
    async fn claim_of(
        &self,
        client: &Client,
        volume: &Volume,
        key: &Key,
        uid: &Str,
    ) -> Result<Option<Rev<PersistentVolumeClaim>>, SyncError> {
        let known = self.claims.borrow().get(key).cloned();
        let found = match known {
            Some(claim) => Some(claim),
            None if is_released(volume) => None,
            // The volume may be known before its claim is.
            None => match self.claim_lister.by_key(key) {
                Some(claim) => Some(claim),
                None => self.ask_for_claim(client, key).await?,
            },
        };
        match found {
            Some(claim) if claim.metadata.uid != *uid => {
                Ok(self.ask_for_claim(client, key).await?.filter(|c| c.metadata.uid == *uid))
            }
            found => Ok(found),
        }
    }

    async fn ask_for_claim(&self, client: &Client, key: &Key) -> Result<Option<Rev<PersistentVolumeClaim>>, SyncError> {
        match client.get::<PersistentVolumeClaim>(&key.namespace, &key.name).await {
            Ok(claim) => Ok(Some(claim)),
            Err(err) if err.is_not_found() => Ok(None),
            Err(err) => Err(err.into()),
        }
    }

    /// A volume whose claim is gone is released, and kept, emptied or deleted.
    async fn release(&self, client: &Client, mut volume: Volume) -> Result<(), SyncError> {
        let policy = volume.spec.persistent_volume_reclaim_policy.clone();
        if !is_released(&volume) {
            klog::info("Volume is released and reclaim policy will be executed")
                .str("logger", LOGGER)
                .str("volumeName", &volume.metadata.name)
                .str("reclaimPolicy", &policy)
                .log(&self.ctx, "pv_controller.go:674");
            volume = self.set_volume_phase(client, volume, "Released", "").await?;
        }
        match &*policy {
            "Retain" => Ok(()),
            "Recycle" => {
                let text = "No recycler plugin found for the volume!";
                self.fail_volume(client, volume, "VolumeFailedRecycle", text).await
            }
            "Delete" => self.delete(client, volume).await,
            _ => {
                let text = "Volume has unrecognized PersistentVolumeReclaimPolicy";
                self.fail_volume(client, volume, "VolumeUnknownReclaimPolicy", text).await
            }
        }
    }

    /// Deletes a volume, as far as this program can: a directory of the host.
    async fn delete(&self, client: &Client, volume: Volume) -> Result<(), SyncError> {
        let name = volume.metadata.name.clone();
        let provisioner = volume.metadata.annotations.get(PROVISIONED_BY).cloned().unwrap_or_default();
        let is_external = !provisioner.is_empty() && !provisioner.starts_with("kubernetes.io/");
        if is_external || volume.spec.csi.is_some() {
            return Ok(());
        }
        let Some(host) = volume.spec.host_path.get() else {
            let text = format!(
                "error getting deleter volume plugin for volume {}: no deletable volume plugin matched",
                api::go::quote(&name)
            );
            return self.fail_volume(client, volume, "VolumeFailedDelete", &text).await;
        };
        if host.path.strip_prefix("/tmp/").is_none_or(|rest| rest.is_empty()) {
            let text = format!("host_path deleter only supports /tmp/.+ but received provided {}", host.path);
            return self.fail_volume(client, volume, "VolumeFailedDelete", &text).await;
        }
        self.observed.action(&Key::new("", name.clone()), "delete the volume".to_string());
        match client.delete::<PersistentVolume>("", &name, &DeleteOptions::default()).await {
            Err(err) if !err.is_not_found() => Err(err.into()),
            _ => Ok(()),
        }
    }
}

/// A volume in a log line.
fn volume_status(volume: &PersistentVolume) -> String {
    let claim = volume.spec.claim_ref.get();
    let claim = claim.map(|r| format!("{}/{} (uid: {})", r.namespace, r.name, r.uid)).unwrap_or_default();
    let by_controller = volume.metadata.annotations.contains_key(api::volume::BOUND_BY_CONTROLLER);
    format!("phase: {}, bound to: {}, boundByController: {by_controller}", volume.status.phase, api::go::quote(&claim))
}
