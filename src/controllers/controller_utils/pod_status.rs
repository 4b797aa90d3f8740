//! Changing single conditions of a pod's status by patch (`pkg/util/pod`, `pkg/api/v1/pod`).

use api::core_v1::{Pod, PodCondition, PodStatus};
use api::rest::PatchType;
use api::{Rev, Status, Time};
use client::Client;

/// Sets a condition in a status; says whether anything changed (`UpdatePodCondition`).
pub fn update_pod_condition(status: &mut PodStatus, mut condition: PodCondition, now: &Time) -> bool {
    condition.last_transition_time = *now;
    let Some(at) = status.conditions.iter().position(|c| c.type_ == condition.type_) else {
        status.conditions.make().push(condition);
        return true;
    };
    let Some(old) = status.conditions.make().get_mut(at) else { return false };
    if condition.status == old.status {
        condition.last_transition_time = old.last_transition_time;
    }
    let changed = condition.status != old.status
        || condition.reason != old.reason
        || condition.message != old.message
        || condition.last_probe_time != old.last_probe_time
        || condition.last_transition_time != old.last_transition_time;
    *old = condition;
    changed
}

/// Sends the conditions, and the phase if it is given, as a strategic merge patch of the status (`PatchPodStatus`).
pub async fn patch_pod_status(
    client: &Client,
    pod: &Pod,
    phase: Option<&str>,
    condition: Option<&PodCondition>,
) -> Result<Rev<Pod>, Status> {
    let mut fields = Vec::new();
    if let Some(condition) = condition {
        let json = String::from_utf8_lossy(&api::json::encode_bare(condition)).into_owned();
        fields.push(format!(r#""conditions":[{json}]"#));
    }
    fields.push(format!(r#""observedGeneration":{}"#, pod.metadata.generation));
    if let Some(phase) = phase {
        fields.push(format!(r#""phase":"{phase}""#));
    }
    let body = format!(r#"{{"metadata":{{"uid":"{}"}},"status":{{{}}}}}"#, pod.metadata.uid, fields.join(","));
    client.patch::<Pod>(&pod.metadata.namespace, &pod.metadata.name, PatchType::Strategic, body, "status").await
}
