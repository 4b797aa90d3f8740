//! Volumes that pods have by claim: which volume of the cluster it is, and where that lies on the node
//! (pkg/kubelet/volumemanager/populator).

use super::kubelet::Kubelet;
use api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use api::{OStr, Rev};

/// A volume that a claim stands for.
#[derive(Clone)]
pub struct Claimed {
    /// The volume as if the pod had named it itself, under its own name.
    pub volume: Volume,
    /// Whether it must be there already.
    pub is_local: bool,
    /// Whether the pod may only read it.
    pub read_only: bool,
}

/// Whether a volume is by claim.
pub fn is_claim(volume: &Volume) -> bool {
    volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some()
}

/// Asks for the claim of a volume and for what it is bound to. The error says what is not right yet.
pub async fn resolve(kubelet: &Kubelet, pod: &Pod, volume: &Volume) -> Result<Claimed, String> {
    let Some(name) = api::volume::claim_name(pod, volume) else { return Err("not a claim".to_string()) };
    let namespace = &pod.metadata.namespace;
    let failed = |why: String| format!("error processing PVC {namespace}/{name}: {why}");
    let claim: Rev<PersistentVolumeClaim> = kubelet
        .client
        .get(namespace, &name)
        .await
        .map_err(|err| failed(format!("failed to fetch PVC from API server: {err}")))?;
    if claim.metadata.deletion_timestamp.unix().is_some() {
        return Err(failed("can't start pod because PVC is being deleted".to_string()));
    }
    let bound = &claim.spec.volume_name;
    if claim.status.phase != "Bound" || bound.is_empty() {
        return Err(failed("PVC is not bound".to_string()));
    }
    let quoted = api::go::quote(bound);
    let found: Rev<PersistentVolume> = kubelet
        .client
        .get("", bound)
        .await
        .map_err(|err| format!("failed to fetch PV {quoted} from API server: {err}"))?;
    let Some(reference) = found.spec.claim_ref.get() else {
        return Err(format!(
            "found PV object {quoted} with nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        ));
    };
    if reference.uid != claim.metadata.uid {
        return Err(format!(
            "found PV object {quoted} with a pv.Spec.ClaimRef.UID {} that does not point to claim.UID {}",
            api::go::quote(&reference.uid),
            api::go::quote(&claim.metadata.uid)
        ));
    }
    let spec = &found.spec;
    let mut here = Volume { name: bound.clone(), ..Volume::default() };
    here.nfs = spec.nfs.clone();
    if let Some(local) = spec.local.get() {
        let host = here.host_path.make();
        host.path = local.path.clone();
        host.type_ = OStr::some("");
    } else {
        here.host_path = spec.host_path.clone();
    }
    if here.host_path.is_none() && here.nfs.is_none() {
        here.csi.make();
    }
    let read_only = volume.persistent_volume_claim.get().is_some_and(|c| c.read_only);
    Ok(Claimed { volume: here, is_local: spec.local.is_some(), read_only })
}
