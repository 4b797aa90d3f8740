//! Devices of a pod's claims, made ready before its sandbox (`pkg/kubelet/cm/dra`). No node of this cluster has a driver
//! of devices.

use super::kubelet::Kubelet;
use api::OStr;
use api::Rev;
use api::core_v1::{Pod, PodResourceClaim};
use api::resource_claim;
use api::resource_v1::ResourceClaim;

/// Asks the drivers of the pod's claims to make the devices ready.
///
/// # Errors
/// What is not right with a claim, or that there is no such driver on the node.
pub async fn prepare(kubelet: &Kubelet, pod: &Pod) -> Result<(), String> {
    let prepared = prepare_all(kubelet, pod).await;
    prepared.map_err(|why| format!("prepare dynamic resources: {why}"))
}

async fn prepare_all(kubelet: &Kubelet, pod: &Pod) -> Result<(), String> {
    let meta = &pod.metadata;
    let extended = pod.status.extended_resource_claim_status.get().map(|status| PodResourceClaim {
        resource_claim_name: OStr::some(status.resource_claim_name.clone()),
        ..PodResourceClaim::default()
    });
    for own in pod.spec.resource_claims.iter().chain(&extended) {
        let Some(name) = resource_claim::name(pod, own)? else { continue };
        let claim: Rev<ResourceClaim> = kubelet
            .client
            .get(&meta.namespace, &name)
            .await
            .map_err(|status| format!("fetch ResourceClaim {name}: {status}"))?;
        if own.resource_claim_name.is_none() {
            resource_claim::is_for_pod(pod, &claim)?;
        }
        if !resource_claim::is_reserved_for(pod, &claim) {
            let (uid, claim_uid) = (&meta.uid, &claim.metadata.uid);
            return Err(format!("pod {} ({uid}) is not allowed to use ResourceClaim {name} ({claim_uid})", meta.name));
        }
        let Some(allocation) = claim.status.allocation.get() else {
            return Err(format!("ResourceClaim {name}: not allocated"));
        };
        let skips = |operations: &[api::Str]| operations.iter().any(|o| *o == "*" || *o == "NodePrepareResources");
        if let Some(result) = allocation.devices.results.iter().find(|r| !skips(&r.skip_node_operations)) {
            return Err(format!("DRA driver {} is not registered", result.driver));
        }
    }
    Ok(())
}
