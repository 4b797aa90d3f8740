//! The controllers of volumes (`pkg/controller/volume`): they bind claims to volumes, and keep what is in use.

pub mod binder;
pub mod claim_protection;
pub mod ephemeral;
pub mod volume_protection;

use api::Str;
use api::core_v1::Pod;
use client::Informer;

/// Pods by `namespace/name` of the claims they use (`PodPVCIndex`).
const POD_CLAIM_INDEX: &str = "pod-pvc-index";

fn index_pods(pods: &Informer<Pod>) {
    pods.add_index(POD_CLAIM_INDEX, |pod: &Pod| {
        let namespace = &pod.metadata.namespace;
        let claims = pod.spec.volumes.iter().filter_map(|volume| api::volume::claim_name(pod, volume));
        claims.map(|claim| Str::from(format!("{namespace}/{claim}"))).collect()
    });
}

/// Whether the pod is over (`util.IsPodTerminated`).
fn is_terminated(pod: &Pod) -> bool {
    let status = &pod.status;
    let all_stopped = || status.container_statuses.iter().all(|c| c.state.running.is_none());
    matches!(&*status.phase, "Failed" | "Succeeded")
        || (pod.metadata.deletion_timestamp.unix().is_some() && all_stopped())
}
