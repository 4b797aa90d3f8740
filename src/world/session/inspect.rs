//! The inspector's answers, read from the store and the running programs.

use super::cluster_view::{Observer, get, list, since_start};
use super::control_plane::short_loop;
use super::{lines, why};
use crate::cluster::World;
use api::AnyRev;
use api::core_v1::{Node, Pod};
use api::json::Value;
use view::{
    ContainerLog, Fact, FactGroup, Inspector, InspectorBody, InspectorHead, InspectorTab, ObjectRef, Selection, Subject,
};

/// Bytes of a log that are shown.
const MAX_LOG: usize = 64 << 10;

/// What the selected thing's open tab shows.
pub fn look(world: &World, observer: &Observer, selection: &Selection) -> Inspector {
    match &selection.subject {
        Subject::Object(object) => of_object(world, observer, selection, object),
        Subject::Component { name } => of_component(world, selection, name),
        Subject::Loop { name } => of_loop(world, selection, name),
    }
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    Fact { name: name.into(), value: value.into(), link: None }
}

fn link(name: &str, kind: &str, namespace: &str, value: &str) -> Fact {
    let subject =
        Subject::Object(ObjectRef { kind: kind.into(), namespace: namespace.into(), name: value.to_string() });
    Fact { name: name.into(), value: value.to_string(), link: (!value.is_empty()).then_some(subject) }
}

fn of_object(world: &World, observer: &Observer, selection: &Selection, object: &ObjectRef) -> Inspector {
    let stored = get(world, &object.kind, &object.namespace, &object.name);
    let mut head = InspectorHead {
        kind: object.kind.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        gone: stored.is_none(),
        healthy: stored.is_some(),
        ..InspectorHead::default()
    };
    let mut tabs = vec![
        InspectorTab::Why,
        InspectorTab::Summary,
        InspectorTab::Describe,
        InspectorTab::Yaml,
        InspectorTab::Events,
    ];
    let Some(stored) = stored else {
        let body = InspectorBody::Events(events(world, observer, object));
        return Inspector { subject: selection.subject.clone(), head, tabs: vec![InspectorTab::Events], body };
    };
    if let Some(pod) = stored.downcast::<Pod>() {
        pod_head(world, &pod, &mut head);
        tabs.push(InspectorTab::Logs);
    } else if let Some(node) = stored.downcast::<Node>() {
        let ready = node.status.conditions.iter().find(|c| &*c.type_ == "Ready");
        head.healthy = ready.is_some_and(|c| &*c.status == "True");
        head.status = if head.healthy { "Ready" } else { "NotReady" }.into();
        head.since = ready.map_or(0, |c| since_start(world, c.last_transition_time.unix()));
        head.facts = vec![
            fact("version", node.status.node_info.kubelet_version.to_string()),
            fact(
                "zone",
                node.metadata.labels.get("topology.kubernetes.io/zone").map(ToString::to_string).unwrap_or_default(),
            ),
        ];
    } else {
        head.status = match stored.metadata() {
            Some(meta) if meta.deletion_timestamp.unix().is_some() => "Terminating".into(),
            _ => "Active".into(),
        };
        head.since = stored.metadata().map_or(0, |m| since_start(world, m.creation_timestamp.unix()));
        if let Some(deployment) = stored.downcast::<api::apps_v1::Deployment>() {
            let wanted = deployment.spec.replicas.unwrap_or(1);
            head.status = format!("{}/{wanted}", deployment.status.ready_replicas);
            head.healthy = deployment.status.ready_replicas >= wanted;
        }
        if let Some(set) = stored.downcast::<api::apps_v1::ReplicaSet>() {
            let wanted = set.spec.replicas.unwrap_or(1);
            head.status = format!("{}/{wanted}", set.status.ready_replicas);
            head.healthy = set.status.ready_replicas >= wanted;
        }
        head.facts.push(fact("rev", stored.revision.to_string()));
    }
    let body = match selection.tab {
        InspectorTab::Why => InspectorBody::Why(Box::new(why::of_object(world, observer, &stored, object))),
        InspectorTab::Summary => InspectorBody::Summary(summary(&stored)),
        InspectorTab::Describe => InspectorBody::Describe(describe(world, &stored, object)),
        InspectorTab::Yaml => yaml(&stored),
        InspectorTab::Events => InspectorBody::Events(events(world, observer, object)),
        InspectorTab::Logs => InspectorBody::Logs(pod_logs(world, object)),
    };
    Inspector { subject: selection.subject.clone(), head, tabs, body }
}

fn pod_head(world: &World, pod: &Pod, head: &mut InspectorHead) {
    let view = super::pods::view(pod, 0);
    head.status = view.status;
    head.pod_state = Some(view.state);
    let ready = pod.status.conditions.iter().find(|c| &*c.type_ == "Ready");
    let since = match view.state {
        view::PodState::Pending => pod.metadata.creation_timestamp.unix(),
        _ => ready.and_then(|c| c.last_transition_time.unix()).or(pod.metadata.creation_timestamp.unix()),
    };
    head.since = since_start(world, since);
    head.facts = vec![if pod.spec.node_name.is_empty() {
        fact("node", "<none>")
    } else {
        link("node", "Node", "", &pod.spec.node_name)
    }];
    if !pod.status.pod_ip.is_empty() {
        head.facts.push(fact("IP", pod.status.pod_ip.to_string()));
    }
    head.facts.push(fact("QoS", pod.status.qos_class.to_string()));
}

fn events(world: &World, observer: &Observer, object: &ObjectRef) -> Vec<view::EventRow> {
    observer.events(world, |e| {
        *e.involved_object.kind == *object.kind
            && *e.involved_object.name == *object.name
            && (*e.involved_object.namespace == *object.namespace || object.namespace.is_empty())
    })
}

/// Facts of any kind: what its metadata, spec and status hold at their first levels.
fn summary(stored: &AnyRev) -> Vec<FactGroup> {
    let value = api::json::to_value(&*stored.body, Some(stored.revision));
    let mut groups = Vec::new();
    for name in ["metadata", "spec", "status"] {
        let mut facts = Vec::new();
        if let Some(Value::Object(fields)) = value.at(&[name]) {
            for (key, value) in fields.iter() {
                if &**key == "managedFields" {
                    continue;
                }
                match value {
                    Value::Object(inner) if !inner.is_empty() && inner.len() <= 8 => {
                        for (inner_key, inner_value) in inner.iter() {
                            facts.extend(scalar(inner_value).map(|v| fact(&format!("{key}.{inner_key}"), v)));
                        }
                    }
                    Value::Array(items) => facts.push(fact(key, list_text(items))),
                    other => facts.extend(scalar(other).map(|v| fact(key, v))),
                }
            }
        }
        facts.truncate(40);
        if !facts.is_empty() {
            groups.push(FactGroup { name: name.to_string(), facts });
        }
    }
    groups
}

fn list_text(items: &[Value]) -> String {
    let texts: Vec<String> = items
        .iter()
        .take(6)
        .map(|item| match item {
            Value::Object(_) => ["name", "type", "key", "ip", "image"]
                .iter()
                .map(|k| item.str_at(&[k]))
                .find(|text| !text.is_empty())
                .map_or("…".to_string(), |head| match item.str_at(&["status"]) {
                    "" => head.to_string(),
                    status => format!("{head}={status}"),
                }),
            other => scalar(other).unwrap_or_default(),
        })
        .collect();
    texts.join(", ")
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) | Value::Array(_) => None,
        other => {
            let text = other.to_json();
            Some(text.trim_matches('"').to_string()).filter(|t| !t.is_empty())
        }
    }
}

/// As kubectl has it.
fn for_kubectl(value: &Value) -> kubectl::value::Value {
    value.into()
}

fn values<T: api::Object>(
    world: &World,
    group: &str,
    plural: &str,
    wanted: impl Fn(&T) -> bool,
) -> Vec<kubectl::value::Value> {
    list::<T>(world, group, plural)
        .iter()
        .filter(|o| wanted(o))
        .map(|o| for_kubectl(&api::json::to_value(&*o.body, Some(o.revision))))
        .collect()
}

/// kubectl's own words, from the store instead of the server's answers.
fn describe(world: &World, stored: &AnyRev, object: &ObjectRef) -> String {
    let value = api::json::to_value(&*stored.body, Some(stored.revision));
    let group = stored.kind_info().map_or("", |k| k.group);
    let uid = stored.metadata().map(|m| m.uid.to_string()).unwrap_or_default();
    let mut related = kubectl::describe::Related { now: world.sim().unix_nanos(), ..Default::default() };
    let about = |e: &api::core_v1::Event| {
        *e.involved_object.name == *object.name
            && *e.involved_object.kind == *object.kind
            && (*e.involved_object.namespace == *object.namespace || object.namespace.is_empty())
    };
    related.events = Some(values(world, "", "events", about));
    match object.kind.as_str() {
        "Node" => {
            related.pods = values(world, "", "pods", |p: &Pod| *p.spec.node_name == *object.name);
            related.lease = get(world, "Lease", "kube-node-lease", &object.name)
                .map(|l| Ok(for_kubectl(&api::json::to_value(&*l.body, Some(l.revision)))));
        }
        "Deployment" => {
            related.replica_sets = values(world, "apps", "replicasets", |s: &api::apps_v1::ReplicaSet| {
                s.metadata.owner_references.iter().any(|o| *o.uid == *uid)
            });
        }
        "ReplicaSet" | "DaemonSet" | "StatefulSet" => {
            related.pods =
                values(world, "", "pods", |p: &Pod| p.metadata.owner_references.iter().any(|o| *o.uid == *uid));
        }
        "Service" => {
            related.slices =
                values(world, "discovery.k8s.io", "endpointslices", |s: &api::discovery_v1::EndpointSlice| {
                    *s.metadata.namespace == *object.namespace
                        && s.metadata.labels.get("kubernetes.io/service-name").is_some_and(|n| **n == *object.name)
                });
        }
        _ => {}
    }
    kubectl::describe::describe(kubectl::describe::describer(group, &object.kind), &for_kubectl(&value), &related)
}

fn yaml(stored: &AnyRev) -> InspectorBody {
    let mut value = api::json::to_value(&*stored.body, Some(stored.revision));
    let mut managed_fields = String::new();
    if let Value::Object(fields) = &mut value
        && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
        && let Some(managed) = metadata.remove("managedFields")
    {
        managed_fields = api::yaml::print(&managed);
    }
    InspectorBody::Yaml { text: api::yaml::print(&value), managed_fields }
}

/// What a pod's containers wrote, read from their node's disk.
fn pod_logs(world: &World, object: &ObjectRef) -> Vec<ContainerLog> {
    let Some(pod) = get(world, "Pod", &object.namespace, &object.name).and_then(|o| o.downcast::<Pod>()) else {
        return Vec::new();
    };
    let nodes = world.machines().nodes();
    let Some(node) = nodes.iter().find(|n| n.name() == &*pod.spec.node_name) else { return Vec::new() };
    let statuses = pod.status.container_statuses.iter().chain(pod.status.init_container_statuses.iter());
    let mut out = Vec::new();
    for status in statuses {
        let previous = status.last_state.terminated.get().map(|t| t.container_id.to_string());
        let ids = [(status.container_id.to_string(), false), (previous.unwrap_or_default(), true)];
        for (id, previous) in ids {
            let bare = id.rsplit('/').next().unwrap_or_default();
            let Some(log) = node.disk().log_of(bare).filter(|_| !bare.is_empty()) else { continue };
            let log = log.borrow();
            let mut text = String::new();
            for line in log.since(0) {
                text.push_str(&String::from_utf8_lossy(&line.text));
                text.push('\n');
            }
            out.push(tail(status.name.to_string(), previous, text));
        }
    }
    out
}

fn tail(container: String, previous: bool, text: String) -> ContainerLog {
    let mut from = text.len().saturating_sub(MAX_LOG);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let skipped = text.get(..from).map_or(0, |s| s.lines().count()) as u64;
    ContainerLog { container, previous, text: text.get(from..).unwrap_or_default().to_string(), skipped }
}

fn of_component(world: &World, selection: &Selection, name: &str) -> Inspector {
    let components = world.machines().components();
    let component = components.iter().find(|c| *c.name == *name);
    let running = world.machines().is_running(name);
    let host = component.map(|c| world.sim().host_name(c.host).to_string()).unwrap_or_default();
    let head = InspectorHead {
        kind: component.map_or(String::new(), |c| c.kind.to_string()),
        namespace: host,
        name: name.to_string(),
        status: if running { "running" } else { "stopped" }.into(),
        healthy: running,
        ..InspectorHead::default()
    };
    let body = match selection.tab {
        InspectorTab::Logs => InspectorBody::Logs(vec![component_log(world, name)]),
        InspectorTab::Summary => InspectorBody::Summary(why::component(world, name)),
        _ => InspectorBody::Why(Box::new(view::Why { component: why::component(world, name), ..view::Why::default() })),
    };
    let tabs = vec![InspectorTab::Why, InspectorTab::Logs];
    Inspector { subject: selection.subject.clone(), head, tabs, body }
}

fn component_log(world: &World, name: &str) -> ContainerLog {
    let sim = world.sim();
    let mut text = String::new();
    sim.trace(|trace| {
        for l in trace.logs.since(0).filter(|l| *sim.process_name(l.process) == *name) {
            let line = lines::line(world, l);
            text.push_str(&format!(
                "{}{:>10.3} {}] {}\n",
                line.severity.letter(),
                line.at as f64 / 1e9,
                line.source,
                line.text
            ));
        }
    });
    tail(name.to_string(), false, text)
}

fn of_loop(world: &World, selection: &Selection, name: &str) -> Inspector {
    let state = why::control_loop(world, name);
    let busy = !state.queue.is_empty();
    let head = InspectorHead {
        kind: "controller".into(),
        namespace: "kube-controller-manager".into(),
        name: short_loop(name),
        status: if busy { "working" } else { "waiting" }.into(),
        healthy: true,
        ..InspectorHead::default()
    };
    let body = InspectorBody::Why(Box::new(view::Why { control_loop: Some(state), ..view::Why::default() }));
    Inspector { subject: selection.subject.clone(), head, tabs: vec![InspectorTab::Why], body }
}
