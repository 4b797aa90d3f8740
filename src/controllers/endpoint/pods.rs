//! Which Services a change of a pod concerns (`k8s.io/endpointslice/util`), for endpoints and endpoint slices alike.

use std::collections::{BTreeMap, BTreeSet};

use api::core_v1::{Pod, Service};
use api::{Map, Rev, Str};
use client::{Delta, Key, Lister, klog};
use sim::Ctx;

use crate::controller_utils::is_pod_ready;

/// Enqueues the Services whose endpoints may change, with the line that the controller logs.
pub fn on_pod(
    ctx: &Ctx,
    services: &Lister<Service>,
    delta: &Delta<Pod>,
    place: &'static str,
    enqueue: impl Fn(Key, u64),
) {
    let (pod, old_labels, pod_changed) = match delta {
        Delta::Added(pod) | Delta::Deleted(pod) => (pod, None, false),
        Delta::Updated { old, new } => {
            if old.revision == new.revision {
                return;
            }
            let labels_changed = old.metadata.labels != new.metadata.labels
                || old.spec.hostname != new.spec.hostname
                || old.spec.subdomain != new.spec.subdomain;
            let pod_changed = endpoints_changed(old, new);
            match (pod_changed, labels_changed) {
                (false, false) => return,
                (_, false) => (new, None, false),
                (changed, true) => (new, Some(&old.metadata.labels), changed),
            }
        }
    };
    let namespace = &pod.metadata.namespace;
    let mut keys = services_for(services, namespace, &pod.metadata.labels);
    if let Some(old_labels) = old_labels {
        let before = services_for(services, namespace, old_labels);
        keys = if pod_changed {
            keys.union(&before).cloned().collect()
        } else {
            keys.symmetric_difference(&before).cloned().collect()
        };
    }
    let old = old_labels.map_or("null".into(), labels_json);
    klog::info("Finished syncing pod")
        .raw(
            "PodProjectionKey",
            format!(
                r#"{{"Namespace":"{namespace}","Labels":{},"OldLabels":{old},"PodChanged":{pod_changed}}}"#,
                labels_json(&pod.metadata.labels)
            ),
        )
        .str("elapsedTime", "0s")
        .log(ctx, place);
    for key in keys {
        enqueue(key, delta.revision());
    }
}

fn labels_json(labels: &Map<Str>) -> String {
    if labels.is_nil() {
        return "null".into();
    }
    let items: Vec<String> = labels.iter().map(|(k, v)| format!(r#""{k}":"{v}""#)).collect();
    format!("{{{}}}", items.join(","))
}

fn endpoints_changed(old: &Rev<Pod>, new: &Rev<Pod>) -> bool {
    let deleting = |p: &Pod| p.metadata.deletion_timestamp.unix().is_some();
    let ips = |p: &Pod| p.status.pod_ips.iter().map(|ip| ip.ip.clone()).collect::<Vec<Str>>();
    deleting(old) || deleting(new) || is_pod_ready(old) != is_pod_ready(new) || ips(old) != ips(new)
}

fn services_for(services: &Lister<Service>, namespace: &str, labels: &Map<Str>) -> BTreeSet<Key> {
    let of_namespace = services.in_namespace(namespace);
    let matching = of_namespace.iter().filter(|s| !s.spec.selector.is_nil() && selects(&s.spec.selector, labels));
    matching.map(|s| Key::of(&s.metadata)).collect()
}

/// Whether all labels of `selector` are among `labels`.
pub fn selects(selector: &Map<Str>, labels: &Map<Str>) -> bool {
    selector.iter().all(|(k, v)| labels.get(k) == Some(v))
}

/// Whether a pod has an address and is not finished.
pub fn should_be_in_endpoints(pod: &Pod, include_terminating: bool) -> bool {
    !matches!(&*pod.status.phase, "Failed" | "Succeeded")
        && (!pod.status.pod_ip.is_empty() || !pod.status.pod_ips.is_empty())
        && (include_terminating || pod.metadata.deletion_timestamp.unix().is_none())
}

/// Whether an endpoint carries the pod's host name.
pub fn should_set_hostname(pod: &Pod, service: &Service) -> bool {
    !pod.spec.hostname.is_empty()
        && pod.spec.subdomain == service.metadata.name
        && service.metadata.namespace == pod.metadata.namespace
}

/// The port of the pod behind a port of the Service (`FindPort`).
pub fn find_port(pod: &Pod, port: &api::core_v1::ServicePort) -> Option<i32> {
    let name = match &port.target_port {
        api::IntOrString::Int(n) => return Some(*n),
        api::IntOrString::Str(name) => name,
    };
    let sidecars = pod.spec.init_containers.iter().filter(|c| c.restart_policy.get() == Some("Always"));
    let mut ports = pod.spec.containers.iter().chain(sidecars).flat_map(|c| c.ports.iter());
    ports.find(|p| p.name == *name && p.protocol == port.protocol).map(|p| p.container_port)
}

/// When what is behind a Service changed, to measure how long the network takes to follow (`TriggerTimeTracker`).
#[derive(Default)]
pub struct TriggerTimes {
    /// By Service: its own time and those of its pods. Bounded by the Services and their pods.
    by_service: BTreeMap<Key, (Option<i64>, BTreeMap<Str, i64>)>,
}

impl TriggerTimes {
    /// The earliest change since the last call, in seconds since 1970.
    pub fn compute(&mut self, service: &Service, pods: &[Rev<Pod>]) -> Option<i64> {
        let key = Key::of(&service.metadata);
        let known = self.by_service.get(&key);
        let created = service.metadata.creation_timestamp.unix();
        let mut earliest: Option<i64> = None;
        let mut note = |t: i64| earliest = Some(earliest.map_or(t, |e| e.min(t)));
        let mut times = BTreeMap::new();
        for pod in pods {
            let ready = pod.status.conditions.iter().find(|c| c.type_ == "Ready");
            let Some(at) = ready.and_then(|c| c.last_transition_time.unix()) else { continue };
            let last = known.and_then(|(_, pods)| pods.get(&pod.metadata.name));
            if last.is_none_or(|last| at > *last) {
                note(at);
            }
            times.insert(pod.metadata.name.clone(), at);
        }
        let last_service = known.and_then(|(at, _)| *at);
        if let Some(at) = created.filter(|at| last_service.is_none_or(|last| *at > last)) {
            note(at);
        }
        let was_known = known.is_some();
        self.by_service.insert(key, (created, times));
        if was_known { earliest } else { created }
    }

    /// The Service is gone.
    pub fn delete(&mut self, key: &Key) {
        self.by_service.remove(key);
    }
}
