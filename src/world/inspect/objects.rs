//! API objects in the inspector.

use super::look::Look;
use super::{absences, causes, containers, nodes, remedies, scheduling};
use api::SortSmall;
use api::core_v1::{Event, Node, Pod};
use api::table::Cell;
use api::{AnyRev, Rev};
use kubectl::describe::{Need, Related, describe, describer};
use std::fmt::Write;
use view::{
    ContainerLog, EventRow, Fact, FactGroup, Inspector, InspectorBody, InspectorHead, InspectorTab, ObjectRef,
    PodState, Selection, Subject, Why,
};

/// Bytes of a log that are shown.
const LOG_BYTES: usize = 64 << 10;
/// Events that are shown.
const EVENTS: usize = 200;

/// What is shown of an object.
pub fn inspect(look: &Look<'_>, about: &ObjectRef, selection: &Selection) -> Option<Inspector> {
    let stored = look.get(about);
    let pod = stored.as_ref().and_then(AnyRev::downcast::<Pod>);
    let mut tabs = vec![InspectorTab::Why, InspectorTab::Summary, InspectorTab::Describe, InspectorTab::Yaml];
    tabs.push(InspectorTab::Events);
    if pod.is_some() {
        tabs.push(InspectorTab::Logs);
    }
    let Some(object) = stored else {
        // Gone: what is left is why. An API server that could read nothing yet knows of no object.
        let revision = causes::last_write(look, about);
        let unread = !look.server.cache.ready();
        let head = InspectorHead {
            kind: about.kind.clone(),
            namespace: about.namespace.clone(),
            name: about.name.clone(),
            gone: revision.is_some() && !unread,
            status: if unread { "Unknown" } else { "NotFound" }.into(),
            ..InspectorHead::default()
        };
        let why = Why {
            causes: revision.map(|r| causes::chain(look, r)).unwrap_or_default(),
            missing: absences::store(look).filter(|_| unread).into_iter().collect(),
            ..Why::default()
        };
        let body = InspectorBody::Why(Box::new(why));
        return Some(Inspector { subject: selection.subject.clone(), head, tabs: vec![InspectorTab::Why], body });
    };
    let body = match selection.tab {
        InspectorTab::Why => InspectorBody::Why(Box::new(why(look, &object))),
        InspectorTab::Summary => InspectorBody::Summary(summary(look, &object)),
        InspectorTab::Describe => InspectorBody::Describe(description(look, about, &object)),
        InspectorTab::Yaml => yaml(&object),
        InspectorTab::Events => InspectorBody::Events(events(look, about)),
        InspectorTab::Logs => InspectorBody::Logs(pod.as_ref().map(|p| logs(look, p)).unwrap_or_default()),
    };
    Some(Inspector { subject: selection.subject.clone(), head: head(look, about, &object), tabs, body })
}

/// The row that `kubectl get -o wide` would print, as (column, value).
pub fn row(look: &Look<'_>, object: &AnyRev) -> Vec<(String, String)> {
    let Some(kind) = object.kind_info() else { return Vec::new() };
    let env = apiserver::table::Env { now: look.wall() };
    let table = apiserver::table::print(kind.group, kind.kind, std::slice::from_ref(object), object.revision, &env);
    let cells = table.rows.into_iter().next().map(|r| r.cells).unwrap_or_default();
    let text = |cell: Cell| match cell {
        Cell::Str(s) => s.to_string(),
        Cell::Int(n) => n.to_string(),
        Cell::Bool(b) => b.to_string(),
        Cell::Null => "<none>".into(),
    };
    table.columns.iter().map(|c| c.name.to_string()).zip(cells.into_iter().map(text)).collect()
}

fn cell(row: &[(String, String)], name: &str) -> String {
    row.iter().find(|(column, _)| column == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

/// How a pod is drawn, from its STATUS word and its conditions.
pub fn pod_state(pod: &Pod, status: &str) -> PodState {
    let ready = pod.status.conditions.iter().any(|c| c.type_ == *"Ready" && c.status == *"True");
    let bound = !pod.spec.node_name.is_empty();
    match status {
        _ if pod.status.reason == *"NodeLost" => PodState::Unknown,
        "Terminating" => PodState::Terminating,
        "Completed" | "Succeeded" => PodState::Succeeded,
        "CrashLoopBackOff" => PodState::CrashLoop,
        "Unknown" => PodState::Unknown,
        "Running" | "NotReady" => {
            if ready {
                PodState::Ready
            } else {
                PodState::Running
            }
        }
        "Pending" | "SchedulingGated" if !bound => PodState::Pending,
        "Pending" | "ContainerCreating" | "PodInitializing" => PodState::Creating,
        _ if status.starts_with("Init:") && !status.contains("Error") && !status.contains("BackOff") => {
            PodState::Creating
        }
        _ => PodState::Failed,
    }
}

fn head(look: &Look<'_>, about: &ObjectRef, object: &AnyRev) -> InspectorHead {
    let row = row(look, object);
    let mut head = InspectorHead {
        kind: about.kind.clone(),
        namespace: about.namespace.clone(),
        name: about.name.clone(),
        healthy: true,
        ..InspectorHead::default()
    };
    let fact = |name: &str, value: String, link: Option<Subject>| Fact { name: name.into(), value, link };
    let meta = object.metadata();
    head.since = meta.and_then(|m| m.creation_timestamp.unix()).map_or(0, |t| look.virtual_time(t));
    if let Some(pod) = object.downcast::<Pod>() {
        head.status = cell(&row, "Status");
        head.pod_state = Some(pod_state(&pod, &head.status));
        let node = pod.spec.node_name.to_string();
        if !node.is_empty() {
            let link = ObjectRef { kind: "Node".into(), namespace: String::new(), name: node.clone() };
            head.facts.push(fact("node", node, Some(Subject::Object(link))));
        }
        head.facts.push(fact("QoS", pod.status.qos_class.to_string(), None));
    } else if object.downcast::<Node>().is_some() {
        head.status = cell(&row, "Status");
        head.healthy = head.status == "Ready";
        head.facts.push(fact("zone", label(object, "topology.kubernetes.io/zone"), None));
        head.facts.push(fact("version", cell(&row, "Version"), None));
    } else {
        let ready = cell(&row, "Ready");
        if let Some((have, want)) = ready.split_once('/') {
            head.healthy = have == want;
        }
        head.status = if ready.is_empty() { cell(&row, "Status") } else { ready };
    }
    let owner = meta.and_then(|m| m.owner_references.iter().find(|r| r.controller == Some(true)));
    if let Some(owner) = owner {
        let name = owner.name.to_string();
        let link = ObjectRef { kind: owner.kind.to_string(), namespace: about.namespace.clone(), name: name.clone() };
        head.facts.push(fact("controlled by", format!("{}/{name}", owner.kind), Some(Subject::Object(link))));
    }
    head.facts.retain(|f| !f.value.is_empty());
    head
}

fn label(object: &AnyRev, key: &str) -> String {
    object.metadata().and_then(|m| m.labels.get(key)).map(ToString::to_string).unwrap_or_default()
}

fn why(look: &Look<'_>, object: &AnyRev) -> Why {
    let mut why = Why { causes: causes::chain(look, object.revision), ..Why::default() };
    why.missing = absences::missing(look, object);
    if let Some(pod) = object.downcast::<Pod>() {
        why.verdict = (pod.status.reason.to_string(), pod.status.message.to_string());
        why.containers = containers::facts(look, &pod);
        let attempt = scheduling::attempt(look, &pod.metadata.namespace, &pod.metadata.name)
            .filter(|a| a.uid == pod.metadata.uid);
        why.scheduling = attempt.as_ref().map(|a| scheduling::table(look, a));
        if pod.spec.node_name.is_empty() {
            why.remedies = remedies::remedies(look, &pod, attempt.as_ref());
        }
    }
    if let Some(node) = object.downcast::<Node>() {
        why.node = Some(nodes::state(look, &node));
    }
    why
}

fn summary(look: &Look<'_>, object: &AnyRev) -> Vec<FactGroup> {
    let fact = |(name, value): (String, String)| Fact { name, value, link: None };
    let mut groups = Vec::new();
    let kind = object.kind_info().map_or("", |k| k.kind);
    groups.push(FactGroup { name: kind.into(), facts: row(look, object).into_iter().map(fact).collect() });
    if let Some(meta) = object.metadata() {
        for (name, map) in [("Labels", &meta.labels), ("Annotations", &meta.annotations)] {
            let facts: Vec<Fact> = map
                .iter()
                .filter(|(k, _)| **k != *"kubectl.kubernetes.io/last-applied-configuration")
                .map(|(k, v)| fact((k.to_string(), v.to_string())))
                .collect();
            if !facts.is_empty() {
                groups.push(FactGroup { name: name.into(), facts });
            }
        }
    }
    if let Some(pod) = object.downcast::<Pod>() {
        let containers = pod.spec.containers.iter().map(|c| fact((c.name.to_string(), c.image.to_string())));
        groups.push(FactGroup { name: "Containers".into(), facts: containers.collect() });
        let conditions = pod.status.conditions.iter().map(|c| fact((c.type_.to_string(), c.status.to_string())));
        groups.push(FactGroup { name: "Conditions".into(), facts: conditions.collect() });
    }
    groups
}

fn value(object: &AnyRev) -> kubectl::value::Value {
    kubectl::value::Value::from(&api::json::to_value(&*object.body, Some(object.revision)))
}

fn related_events(look: &Look<'_>, about: &ObjectRef) -> Vec<Rev<Event>> {
    let namespace = if about.namespace.is_empty() { "default" } else { &about.namespace };
    let fits = |e: &Rev<Event>| {
        e.involved_object.name == *about.name && (about.kind.is_empty() || e.involved_object.kind == *about.kind)
    };
    let mut found: Vec<_> = look.list::<Event>(namespace).into_iter().filter(fits).collect();
    found.sort_small_by_key(|e| (event_time(e), e.revision));
    if found.len() > EVENTS {
        found.drain(..found.len() - EVENTS);
    }
    found
}

/// When an event was last seen, in seconds since 1970.
fn event_time(event: &Event) -> i64 {
    let series = event.series.get().and_then(|s| s.last_observed_time.unix_micros()).map(|m| m / 1_000_000);
    let own = event.event_time.unix_micros().map(|m| m / 1_000_000);
    series.or_else(|| event.last_timestamp.unix()).or(own).unwrap_or(0)
}

/// Events as rows, oldest first.
pub fn events(look: &Look<'_>, about: &ObjectRef) -> Vec<EventRow> {
    related_events(look, about).iter().map(|e| event_row(look, e)).collect()
}

/// One event as a row.
pub fn event_row(look: &Look<'_>, event: &Event) -> EventRow {
    let about = &event.involved_object;
    let first = event.first_timestamp.unix().or_else(|| event.event_time.unix_micros().map(|m| m / 1_000_000));
    let from = if event.source.component.is_empty() { &event.reporting_component } else { &event.source.component };
    let host = if event.source.host.is_empty() { String::new() } else { format!(", {}", event.source.host) };
    let series = event.series.get().map_or(0, |s| s.count);
    EventRow {
        at: look.virtual_time(event_time(event)),
        first_at: first.map_or(0, |t| look.virtual_time(t)),
        kind: event.type_.to_string(),
        reason: event.reason.to_string(),
        object: ObjectRef {
            kind: about.kind.to_string(),
            namespace: about.namespace.to_string(),
            name: about.name.to_string(),
        },
        from: format!("{from}{host}"),
        message: event.message.to_string(),
        count: u32::try_from(event.count.max(series).max(1)).unwrap_or(1),
    }
}

/// `kubectl describe`, over what the store holds.
fn description(look: &Look<'_>, about: &ObjectRef, object: &AnyRev) -> String {
    let Some(kind) = object.kind_info() else { return String::new() };
    let describer = describer(kind.group, kind.kind);
    let mut related = Related { now: look.wall(), ..Related::default() };
    let meta = object.metadata().cloned().unwrap_or_default();
    let values = |list: Vec<AnyRev>| list.iter().map(value).collect::<Vec<_>>();
    let selected = |object: &AnyRev| {
        let full = api::json::to_value(&*object.body, None);
        let labels = full.at(&["spec", "selector", "matchLabels"]).or_else(|| full.at(&["spec", "selector"]))?;
        let pairs = labels.as_object()?.iter().map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()));
        api::selector::LabelSelector::parse(&pairs.collect::<Vec<_>>().join(",")).ok()
    };
    for need in describer.needs {
        match need {
            Need::Events | Need::EventsAnyKind | Need::EventsOfNode => {
                let found = related_events(look, about);
                related.events = Some(found.iter().map(|e| value(&e.any())).collect());
            }
            Need::PodsBySelector => {
                let selector = selected(object);
                let pods = look.list::<Pod>(&meta.namespace).into_iter();
                let fits = pods.filter(|p| selector.as_ref().is_some_and(|s| s.matches(&p.metadata.labels)));
                related.pods = values(fits.map(|p| p.any()).collect());
            }
            Need::PodsOfNamespace => {
                let pods = look.list::<Pod>(&meta.namespace).into_iter();
                related.pods = values(pods.map(|p| p.any()).collect());
            }
            Need::PodsOnNode => {
                let pods = look.list::<Pod>("").into_iter().filter(|p| {
                    p.spec.node_name == meta.name && p.status.phase != *"Failed" && p.status.phase != *"Succeeded"
                });
                related.pods = values(pods.map(|p| p.any()).collect());
            }
            Need::Slices => {
                let slices = look.list::<api::discovery_v1::EndpointSlice>(&meta.namespace).into_iter();
                let own = slices.filter(|s| s.metadata.labels.get("kubernetes.io/service-name") == Some(&meta.name));
                related.slices = values(own.map(|s| s.any()).collect());
            }
            Need::Backends => {
                let slices = look.list::<api::discovery_v1::EndpointSlice>(&meta.namespace);
                related.slices = values(slices.iter().map(Rev::any).collect());
                let services = look.list::<api::core_v1::Service>(&meta.namespace);
                related.services = values(services.iter().map(Rev::any).collect());
            }
            Need::NodeLease => {
                let lease = look.typed::<api::coordination_v1::Lease>("kube-node-lease", &meta.name);
                let missing = || format!("leases.coordination.k8s.io \"{}\" not found", meta.name);
                related.lease = Some(lease.map(|l| value(&l.any())).ok_or_else(missing));
            }
            Need::Quotas => {
                let quotas = look.list::<api::core_v1::ResourceQuota>(&meta.name);
                related.quotas = values(quotas.iter().map(Rev::any).collect());
                let limits = look.list::<api::core_v1::LimitRange>(&meta.name);
                related.limits = values(limits.iter().map(Rev::any).collect());
            }
            Need::ReplicaSets => {
                let selector = selected(object);
                let sets = look.list::<api::apps_v1::ReplicaSet>(&meta.namespace).into_iter();
                let fits = sets.filter(|s| selector.as_ref().is_some_and(|l| l.matches(&s.metadata.labels)));
                related.replica_sets = values(fits.map(|s| s.any()).collect());
            }
        }
    }
    describe(describer, &value(object), &related)
}

/// The object as YAML, with its managed fields apart.
fn yaml(object: &AnyRev) -> InspectorBody {
    let mut full = api::json::to_value(&*object.body, Some(object.revision));
    let managed = full.get("metadata").and_then(|m| m.get("managedFields")).cloned();
    if let Some(meta) = full.as_object_mut().and_then(|o| o.get_mut("metadata")).and_then(|m| m.as_object_mut()) {
        meta.remove("managedFields");
    }
    let managed_fields = managed.map(|m| api::yaml::print(&m)).unwrap_or_default();
    InspectorBody::Yaml { text: api::yaml::print(&full), managed_fields }
}

/// What the pod's containers wrote, from the node's own disk.
fn logs(look: &Look<'_>, pod: &Pod) -> Vec<ContainerLog> {
    let nodes = look.world.machines().nodes();
    let Some(node) = nodes.iter().find(|n| *n.name() == *pod.spec.node_name) else { return Vec::new() };
    let mut own: Vec<_> = node.look().into_iter().filter(|s| s.pod_uid == pod.metadata.uid).collect();
    own.sort_small_by_key(|s| (s.status.name.clone(), std::cmp::Reverse(s.status.restart_count)));
    let mut logs: Vec<ContainerLog> = Vec::new();
    for seen in own {
        let instances = logs.iter().filter(|l| l.container == *seen.status.name).count();
        if instances >= 2 {
            continue;
        }
        let Some(log) = node.disk().log_of(&seen.status.id) else { continue };
        let log = log.borrow();
        let (mut lines, mut size, mut skipped) = (Vec::new(), 0, 0);
        for line in log.since(0).rev() {
            let text = String::from_utf8_lossy(&line.text);
            size += text.len() + 1;
            if size > LOG_BYTES {
                skipped += 1;
            } else {
                lines.push(text.into_owned());
            }
        }
        lines.reverse();
        let mut text = String::new();
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
        logs.push(ContainerLog { container: seen.status.name.to_string(), previous: instances == 1, text, skipped });
    }
    logs
}
