//! What the controllers share (`pkg/controller/controller_utils.go` and its neighbours).

mod active_pods;
mod claim;
mod consistency;
mod expectations;
mod go_types;
mod hash;
mod label_selector;
mod node_affinity;
mod pod_control;
mod pod_status;
mod slow_start;
mod status_condition;
mod taints;

pub use active_pods::pods_to_delete;
pub use claim::{Claim, delete_owner_refs_patch};
pub use consistency::Consistency;
pub use expectations::Expectations;
pub use hash::compute_hash;
pub use label_selector::label_selector_text;
pub use node_affinity::matches_node;
pub use pod_control::{PodControl, pod_from_template};
pub use pod_status::{patch_pod_status, update_pod_condition};
pub use slow_start::slow_start_batch;
pub use status_condition::set_status_condition;
pub use taints::{add_or_update_labels, remove_taints, swap_taints, taint_exists};

use std::fmt;

use api::core_v1::{ObjectReference, Pod, PodTemplateSpec};
use api::meta_v1::{ObjectMeta, OwnerReference};
use api::{Object, Resource, Status, Str};

/// The index of pods by the uid of their controller; orphans stand under their namespace (`PodControllerIndex`).
pub const POD_CONTROLLER_INDEX: &str = "podController";
/// The index of pods by node (`spec.nodeName`).
pub const NODE_NAME_INDEX: &str = "spec.nodeName";

/// Why a run failed.
#[derive(Debug, Clone)]
pub enum SyncError {
    /// The API server said no, or could not be reached.
    Api(Status),
    /// Something else, in the controller's own words.
    Other(String),
}

impl SyncError {
    /// Whether it failed because the namespace is being deleted, where trying again is no use.
    pub fn namespace_terminating(&self) -> bool {
        matches!(self, SyncError::Api(status) if status.has_cause("NamespaceTerminating"))
    }

    /// Whether somebody else wrote the object in between.
    pub fn is_conflict(&self) -> bool {
        matches!(self, SyncError::Api(status) if status.is_conflict())
    }

    /// Whether the object was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, SyncError::Api(status) if status.is_not_found())
    }
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncError::Api(status) => write!(f, "{status}"),
            SyncError::Other(text) => f.write_str(text),
        }
    }
}

impl From<Status> for SyncError {
    fn from(status: Status) -> Self {
        SyncError::Api(status)
    }
}

impl From<String> for SyncError {
    fn from(text: String) -> Self {
        SyncError::Other(text)
    }
}

/// Several errors as one (`utilerrors.NewAggregate`): equal messages once, more than one in brackets.
pub fn aggregate(mut errors: Vec<SyncError>) -> Result<(), SyncError> {
    if errors.len() <= 1 {
        return errors.pop().map_or(Ok(()), Err);
    }
    let mut texts: Vec<String> = Vec::new();
    for e in &errors {
        let text = e.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let text = texts.join(", ");
    Err(SyncError::Other(if texts.len() > 1 { format!("[{text}]") } else { text }))
}

/// The reference of the owner that controls an object (`metav1.GetControllerOf`).
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().find(|r| r.controller == Some(true))
}

/// Whether two controller references are equal in every field.
pub fn same_ref(a: Option<&OwnerReference>, b: Option<&OwnerReference>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            a.uid == b.uid
                && a.name == b.name
                && a.kind == b.kind
                && a.api_version == b.api_version
                && a.controller == b.controller
                && a.block_owner_deletion == b.block_owner_deletion
        }
        _ => false,
    }
}

/// A reference that makes `owner` the controller (`metav1.NewControllerRef`).
pub fn new_controller_ref<T: Resource>(owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: T::KIND.api_version.into(),
        kind: T::KIND.kind.into(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// What an event says it is about (`reference.GetReference`).
pub fn object_ref<T: Resource>(meta: &ObjectMeta, revision: u64) -> ObjectReference {
    ObjectReference {
        kind: T::KIND.kind.into(),
        api_version: T::KIND.api_version.into(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        resource_version: if revision == 0 { Str::default() } else { revision.to_string().into() },
        field_path: Str::default(),
    }
}

/// Semantic equality: nil and empty are the same, quantities and times compare by value.
pub fn equal(a: &dyn Object, b: &dyn Object) -> bool {
    api::equality::semantic(a, b)
}

/// Whether two pod templates differ in no more than the label `pod-template-hash`.
pub fn equal_ignore_hash(a: &PodTemplateSpec, b: &PodTemplateSpec) -> bool {
    let strip = |t: &PodTemplateSpec| {
        let mut t = t.clone();
        if t.metadata.labels.contains_key("pod-template-hash") {
            t.metadata.labels.remove("pod-template-hash");
        }
        t
    };
    equal(&strip(a), &strip(b))
}

/// Whether the pod's Ready condition is True.
pub fn is_pod_ready(pod: &Pod) -> bool {
    pod.status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True")
}

/// Whether a pod counts as a replica: neither finished nor going.
pub fn is_pod_active(pod: &Pod) -> bool {
    pod.status.phase != "Succeeded" && pod.status.phase != "Failed" && pod.metadata.deletion_timestamp.unix().is_none()
}

/// Whether a pod has been ready for `min_ready_seconds`. `now` is in nanoseconds since 1970.
pub fn is_pod_available(pod: &Pod, min_ready_seconds: i32, now: i64) -> bool {
    let Some(ready) = pod.status.conditions.iter().find(|c| c.type_ == "Ready" && c.status == "True") else {
        return false;
    };
    if min_ready_seconds == 0 {
        return true;
    }
    let Some(since) = ready.last_transition_time.unix() else { return false };
    let due = since.saturating_add(i64::from(min_ready_seconds)).saturating_mul(1_000_000_000);
    due <= now
}
