//! Field selectors: which labels a kind knows, and their values (the strategies' SelectableFields and the field label
//! conversions).

use std::borrow::Cow;

use api::Object;
use api::core_v1::{Event, Namespace, Node, Pod, ReplicationController, Secret, Service};
use api::object::Ref;

/// The labels a kind knows besides `metadata.name` and `metadata.namespace`.
fn own(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "Node") => &["spec.unschedulable"],
        ("", "ReplicationController") => &["status.replicas"],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest") => &["spec.signerName"],
        ("certificates.k8s.io", "ClusterTrustBundle") => &["spec.signerName"],
        ("certificates.k8s.io", "PodCertificateRequest") => &["spec.signerName", "spec.podName", "spec.nodeName"],
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
        _ => &[],
    }
}

/// Whether a kind knows a field label; the error is Kubernetes'.
pub fn known(group: &str, kind: &str, label: &str) -> Result<(), String> {
    if matches!(label, "metadata.name" | "metadata.namespace") || own(group, kind).contains(&label) {
        return Ok(());
    }
    // `spec.host` is an old name of `spec.nodeName`.
    if (group, kind, label) == ("", "Pod", "spec.host") {
        return Ok(());
    }
    if own(group, kind).is_empty() {
        return Err(format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
    }
    Err(format!("field label not supported: {label}"))
}

/// The value of a field label that the kind knows.
pub fn value<'a>(object: &'a dyn Object, label: &str) -> Cow<'a, str> {
    let Some(metadata) = object.metadata() else { return Cow::Borrowed("") };
    match label {
        "metadata.name" => return Cow::Borrowed(&metadata.name),
        "metadata.namespace" => return Cow::Borrowed(&metadata.namespace),
        _ => {}
    }
    if let Some(pod) = object.downcast_ref::<Pod>() {
        return Cow::Borrowed(of_pod(pod, label));
    }
    if let Some(event) = object.downcast_ref::<Event>() {
        return Cow::Borrowed(of_event(event, label));
    }
    if let Some(node) = object.downcast_ref::<Node>() {
        return Cow::Borrowed(truth(node.spec.unschedulable));
    }
    if let Some(rc) = object.downcast_ref::<ReplicationController>() {
        return Cow::Owned(rc.status.replicas.to_string());
    }
    if let Some(namespace) = object.downcast_ref::<Namespace>() {
        return Cow::Borrowed(&namespace.status.phase);
    }
    if let Some(secret) = object.downcast_ref::<Secret>() {
        return Cow::Borrowed(&secret.type_);
    }
    if let Some(service) = object.downcast_ref::<Service>() {
        return Cow::Borrowed(if label == "spec.type" { &service.spec.type_ } else { &service.spec.cluster_ip });
    }
    if let Some(job) = object.downcast_ref::<api::batch_v1::Job>() {
        return Cow::Owned(job.status.succeeded.to_string());
    }
    // The rest are kinds known by their descriptors: the label is the path.
    let mut parts = label.split('.');
    let (Some(first), Some(second)) = (parts.next(), parts.next()) else { return Cow::Borrowed("") };
    match object.field(first) {
        Some(Ref::Struct(part)) => match part.field(second) {
            Some(Ref::Str(text)) => Cow::Owned(text.to_string()),
            Some(Ref::OStr(text)) => Cow::Owned(text.get().unwrap_or_default().to_string()),
            _ => Cow::Borrowed(""),
        },
        _ => Cow::Borrowed(""),
    }
}

const fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn of_pod<'a>(pod: &'a Pod, label: &str) -> &'a str {
    match label {
        "spec.nodeName" | "spec.host" => &pod.spec.node_name,
        "spec.restartPolicy" => &pod.spec.restart_policy,
        "spec.schedulerName" => &pod.spec.scheduler_name,
        "spec.serviceAccountName" => &pod.spec.service_account_name,
        "spec.hostNetwork" => truth(pod.spec.host_network),
        "status.phase" => &pod.status.phase,
        "status.podIP" | "status.podIPs" => pod.status.pod_ips.first().map_or("", |ip| &ip.ip),
        "status.nominatedNodeName" => &pod.status.nominated_node_name,
        _ => "",
    }
}

fn of_event<'a>(event: &'a Event, label: &str) -> &'a str {
    let object = &event.involved_object;
    let last = label.rsplit_once('.').map_or(label, |(_, last)| last);
    match last {
        "kind" => &object.kind,
        "namespace" => &object.namespace,
        "name" => &object.name,
        "uid" => &object.uid,
        "apiVersion" => &object.api_version,
        "resourceVersion" => &object.resource_version,
        "fieldPath" => &object.field_path,
        "reason" => &event.reason,
        "reportingComponent" | "reportingController" => &event.reporting_component,
        "source" if event.source.component.is_empty() => &event.reporting_component,
        "source" => &event.source.component,
        "type" => &event.type_,
        _ => "",
    }
}
