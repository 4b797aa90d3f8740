//! What the scheduler tells about pods: events and the PodScheduled condition.

use crate::node_info::PodInfo;
use api::core_v1::{ObjectReference, Pod};
use api::json::Value;
use api::rest::PatchType;
use client::{Causes, Client, EventsV1Recorder};

/// Events keep at most this many bytes of a message (`NoteLengthLimit`).
const NOTE: usize = 1024;

/// A reference to a pod.
pub fn reference(pod: &PodInfo) -> ObjectReference {
    let meta = &pod.pod.metadata;
    ObjectReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        resource_version: pod.pod.resource_version(),
        ..ObjectReference::default()
    }
}

/// Cuts a message to what an event holds.
pub fn note(message: &str) -> String {
    if message.len() <= NOTE {
        return message.into();
    }
    let end = (0..=NOTE - 4).rev().find(|i| message.is_char_boundary(*i)).unwrap_or(0);
    format!("{} ...", message.get(..end).unwrap_or_default())
}

/// Records that a pod could not be placed.
pub fn failed(recorder: &EventsV1Recorder, pod: &PodInfo, message: &str, causes: Causes) {
    let note = note(message);
    recorder.eventf(&reference(pod), None, "Warning", "FailedScheduling", "Scheduling", &note, causes);
}

/// Records that a pod was placed.
pub fn scheduled(recorder: &EventsV1Recorder, pod: &PodInfo, node: &str, causes: Causes) {
    let note = format!("Successfully assigned {} to {node}", pod.key());
    recorder.eventf(&reference(pod), None, "Normal", "Scheduled", "Binding", &note, causes);
}

/// Records that a pod waits for its devices.
pub fn waits_for_devices(recorder: &EventsV1Recorder, pod: &PodInfo, node: &str, causes: Causes) {
    let note = format!("waiting for binding conditions for device on node {node}");
    recorder.eventf(&reference(pod), None, "Normal", "BindingConditionsPending", "Scheduling", &note, causes);
}

/// How a condition is to stand.
pub struct Condition<'a> {
    /// `PodScheduled`, `DisruptionTarget`.
    pub type_: &'a str,
    /// `True` or `False`.
    pub status: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// The message.
    pub message: &'a str,
}

/// Patches a pod's condition and nominated node, where that changes anything. Errors are the caller's to log.
pub async fn patch_status(
    client: &Client,
    now: i64,
    pod: &Pod,
    condition: Option<&Condition<'_>>,
    nominated: Option<&str>,
) -> Result<(), api::Status> {
    let condition = condition.and_then(|new| condition_fields(now, pod, new));
    let nominate = nominated.filter(|n| *pod.status.nominated_node_name != **n);
    if condition.is_none() && nominate.is_none() {
        return Ok(());
    }
    let text = |s: &str| Value::from(s);
    let mut status = Vec::new();
    if let Some(fields) = condition {
        status.push(("conditions", Value::Array(vec![object(fields)].into())));
    }
    if let Some(node) = nominate {
        status.push(("nominatedNodeName", if node.is_empty() { Value::Null } else { text(node) }));
    }
    let body = object(vec![("status", object(status)), ("metadata", object(vec![("uid", text(&pod.metadata.uid))]))]);
    let meta = &pod.metadata;
    client.patch::<Pod>(&meta.namespace, &meta.name, PatchType::Strategic, body.to_json(), "status").await.map(drop)
}

/// What a condition is to say, if that is news.
fn condition_fields(now: i64, pod: &Pod, condition: &Condition<'_>) -> Option<Vec<(&'static str, Value)>> {
    let old = pod.status.conditions.iter().find(|c| c.type_ == *condition.type_);
    let same = old.is_some_and(|c| {
        c.status == *condition.status && c.reason == *condition.reason && c.message == *condition.message
    });
    if same {
        return None;
    }
    let text = |s: &str| Value::from(s);
    let mut fields = vec![
        ("type", text(condition.type_)),
        ("status", text(condition.status)),
        ("reason", text(condition.reason)),
        ("message", text(condition.message)),
        ("observedGeneration", Value::from(pod.metadata.generation)),
    ];
    if old.is_none_or(|c| c.status != *condition.status) {
        fields.push(("lastTransitionTime", text(&api::value::time::rfc3339(now, None))));
        fields.push(("lastProbeTime", Value::Null));
    }
    Some(fields)
}

fn object(fields: Vec<(&str, Value)>) -> Value {
    let mut value = Value::object();
    for (name, field) in fields {
        value.set(name, field);
    }
    value
}
