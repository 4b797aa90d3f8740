//! What becomes of a claim.

use std::collections::BTreeSet;

use api::SortSmall;
use api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use api::storage_v1::StorageClass;
use api::volume::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE, check_satisfies, claim_class, find_match, is_bound_to,
};
use api::{OStr, Rev, Str};
use client::{Client, Key, klog};

use super::{Binder, LOGGER};
use crate::controller_utils::SyncError;
use crate::volume::{POD_CLAIM_INDEX, is_terminated};

const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const OLD_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
const DEFAULT_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

/// In-tree provisioners, and the CSI drivers that took their place (`csi-translation-lib`).
const MIGRATED: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

type Claim = Rev<PersistentVolumeClaim>;

impl Binder {
    /// Brings a claim up to date (`syncClaim`).
    pub(super) async fn sync_claim(&self, client: &Client, claim: Claim) -> Result<(), SyncError> {
        klog::info("Synchronizing PersistentVolumeClaim")
            .str("logger", LOGGER)
            .obj("PVC", &claim.metadata.namespace, &claim.metadata.name)
            .str("claimStatus", &claim_status(&claim))
            .log(&self.ctx, "pv_controller.go:240");
        if claim.metadata.annotations.contains_key(BIND_COMPLETED) {
            self.sync_bound_claim(client, claim).await
        } else if claim.spec.volume_name.is_empty() {
            self.sync_open_claim(client, claim).await
        } else {
            self.sync_claim_for(client, claim).await
        }
    }

    /// A claim that any suiting volume may serve.
    async fn sync_open_claim(&self, client: &Client, claim: Claim) -> Result<(), SyncError> {
        let class_name = claim_class(&claim);
        let class = self.classes.get("", &class_name).filter(|_| !class_name.is_empty());
        let waits = class.as_ref().is_some_and(|c| c.volume_binding_mode.get() == Some("WaitForFirstConsumer"));
        let volumes: Vec<Rev<PersistentVolume>> = self.volumes.borrow().values().cloned().collect();
        if let Some(volume) = find_match(&claim, &volumes, waits, None, &BTreeSet::new()) {
            return self.bind(client, volume, claim).await;
        }
        self.observed.desired(&Key::of(&claim.metadata), "a volume for the claim".to_string());
        if self.assign_default_class(client, &claim).await? {
            return Ok(());
        }
        if waits && !claim.metadata.annotations.contains_key(SELECTED_NODE) {
            let (reason, text) = self.waiting_for(&claim);
            self.claim_event(&claim, "Normal", reason, &text);
        } else if !class_name.is_empty() {
            return self.provision(client, claim, &class_name, class).await;
        } else {
            let text = "no persistent volumes available for this claim and no storage class is set";
            self.claim_event(&claim, "Normal", "FailedBinding", text);
        }
        self.set_claim_status(client, claim, "Pending", None).await?;
        Ok(())
    }

    /// What a claim that is bound late waits for.
    fn waiting_for(&self, claim: &Claim) -> (&'static str, String) {
        let pods = self.pods.by_index(POD_CLAIM_INDEX, &Key::of(&claim.metadata).to_string());
        let unscheduled = pods.iter().filter(|p| !is_terminated(p) && p.spec.node_name.is_empty());
        let names: Vec<&str> = unscheduled.map(|p| &*p.metadata.name).collect();
        match names[..] {
            [] => ("WaitForFirstConsumer", "waiting for first consumer to be created before binding".to_string()),
            [pod] => ("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
            _ => ("WaitForPodScheduled", format!("waiting for pods {} to be scheduled", names.join(","))),
        }
    }

    /// A claim without a class gets the default one, even if it was created before that.
    async fn assign_default_class(&self, client: &Client, claim: &Claim) -> Result<bool, SyncError> {
        if claim.spec.storage_class_name.is_some() || !claim_class(claim).is_empty() {
            return Ok(false);
        }
        let is_default = |c: &Rev<StorageClass>| {
            DEFAULT_CLASS.iter().any(|name| c.metadata.annotations.get(name).is_some_and(|v| v == "true"))
        };
        // Of several the youngest, then the first by name.
        let mut defaults: Vec<Rev<StorageClass>> = self.classes.list().into_iter().filter(is_default).collect();
        defaults
            .sort_small_by_key(|c| (std::cmp::Reverse(c.metadata.creation_timestamp.unix()), c.metadata.name.clone()));
        let Some(class) = defaults.into_iter().next() else { return Ok(false) };
        let mut new = (**claim).clone();
        new.spec.make().storage_class_name = OStr::some(class.metadata.name.clone());
        client.update(new, claim.revision).await.map_err(|err| {
            SyncError::Other(format!(
                "can't update PersistentVolumeClaim[{}]: {err}",
                api::go::quote(&Key::of(&claim.metadata).to_string())
            ))
        })?;
        Ok(true)
    }

    /// Asks for a new volume (`provisionClaim`). Nothing in this program can make one: external provisioners do.
    async fn provision(
        &self,
        client: &Client,
        claim: Claim,
        class_name: &Str,
        class: Option<Rev<StorageClass>>,
    ) -> Result<(), SyncError> {
        let failed = |why: &str| {
            self.claim_event(&claim, "Warning", "ProvisioningFailed", why);
            klog::error("Error finding provisioning plugin for claim")
                .err(why)
                .str("logger", LOGGER)
                .obj("PVC", &claim.metadata.namespace, &claim.metadata.name)
                .log(&self.ctx, "pv_controller.go:1572");
        };
        let Some(class) = class else {
            failed(&format!("storageclass.storage.k8s.io {} not found", api::go::quote(class_name)));
            return Ok(());
        };
        let name = &class.provisioner;
        let migrated = MIGRATED.iter().find(|(old, _)| **name == **old).map(|(_, new)| Str::from(*new));
        if migrated.is_none() && name.starts_with("kubernetes.io/") {
            failed(&format!("no volume plugin matched name: {name}"));
            return Ok(());
        }
        let provisioner = migrated.unwrap_or_else(|| name.clone());
        let mut claim = claim.clone();
        if claim.metadata.annotations.get(PROVISIONER) != Some(&provisioner) {
            let mut new = (*claim).clone();
            new.metadata.annotations.insert(OLD_PROVISIONER, provisioner.clone());
            new.metadata.annotations.insert(PROVISIONER, provisioner.clone());
            match client.update(new, claim.revision).await {
                Ok(written) => claim = written,
                Err(err) => {
                    self.claim_event(&claim, "Warning", "ProvisioningFailed", &format!("Error saving claim: {err}"));
                    return Err(err.into());
                }
            }
            self.keep_claim(&claim);
        }
        let text = format!(
            "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the \
             system administrator. If volume creation is delayed, please verify that the provisioner is running and \
             correctly registered."
        );
        self.claim_event(&claim, "Normal", "ExternalProvisioning", &text);
        Ok(())
    }

    /// A claim that names its volume.
    async fn sync_claim_for(&self, client: &Client, claim: Claim) -> Result<(), SyncError> {
        let name = claim.spec.volume_name.clone();
        let volume = self.volumes.borrow().get(&name).cloned();
        let Some(volume) = volume else {
            self.set_claim_status(client, claim, "Pending", None).await?;
            return Ok(());
        };
        let quoted = api::go::quote(&name);
        let Some(reference) = volume.spec.claim_ref.get() else {
            if let Err(why) = check_satisfies(&volume, &claim) {
                let text = format!("Cannot bind to requested volume {quoted}: {why}");
                self.claim_event(&claim, "Warning", "VolumeMismatch", &text);
                self.set_claim_status(client, claim, "Pending", None).await?;
                return Ok(());
            }
            return self.bind(client, volume, claim).await;
        };
        if is_bound_to(&volume, &claim) {
            return self.bind(client, volume, claim).await;
        }
        let text = format!("volume {quoted} already bound to a different claim.");
        self.claim_event(&claim, "Warning", "FailedBinding", &text);
        if claim.metadata.annotations.contains_key(BOUND_BY_CONTROLLER) {
            let quote = |namespace: &str, name: &str| api::go::quote(&format!("{namespace}/{name}"));
            return Err(format!(
                "invalid binding of claim {} to volume {quoted}: volume already claimed by {}",
                quote(&claim.metadata.namespace, &claim.metadata.name),
                quote(&reference.namespace, &reference.name)
            )
            .into());
        }
        self.set_claim_status(client, claim, "Pending", None).await?;
        Ok(())
    }

    /// A claim that was bound once: it is finished, or it is lost.
    async fn sync_bound_claim(&self, client: &Client, claim: Claim) -> Result<(), SyncError> {
        if claim.spec.volume_name.is_empty() {
            let text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
            return self.lose_claim(client, claim, "ClaimLost", text).await;
        }
        let volume = self.volumes.borrow().get(&claim.spec.volume_name).cloned();
        let Some(volume) = volume else {
            let text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            return self.lose_claim(client, claim, "ClaimLost", text).await;
        };
        match volume.spec.claim_ref.get() {
            Some(reference) if reference.uid != claim.metadata.uid => {
                let text = "Two claims are bound to the same volume, this one is bound incorrectly";
                self.lose_claim(client, claim, "ClaimMisbound", text).await
            }
            _ => self.bind(client, volume, claim).await,
        }
    }
}

/// A claim in a log line.
fn claim_status(claim: &PersistentVolumeClaim) -> String {
    let has = |name: &str| claim.metadata.annotations.contains_key(name);
    format!(
        "phase: {}, bound to: {}, bindCompleted: {}, boundByController: {}",
        claim.status.phase,
        api::go::quote(&claim.spec.volume_name),
        has(BIND_COMPLETED),
        has(BOUND_BY_CONTROLLER)
    )
}
