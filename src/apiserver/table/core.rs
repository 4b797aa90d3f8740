//! Rows of the core group: nodes, events, namespaces, configuration, quotas.

use std::collections::BTreeSet;

use api::core_v1::{ConfigMap, Container, Event, Namespace, Node, PodTemplate, ResourceQuota, Secret, ServiceAccount};
use api::table::{Cell, Column};
use api::{Map, Str};

use super::{Env, or_none};

pub static NAME_AGE: &[Column] = &[Column::name(), Column::new("Age", "string")];
pub static NAMESPACE: &[Column] = &[Column::name(), Column::new("Status", "string"), Column::new("Age", "string")];
pub static SECRET: &[Column] =
    &[Column::name(), Column::new("Type", "string"), Column::new("Data", "string"), Column::new("Age", "string")];
pub static CONFIG_MAP: &[Column] = &[Column::name(), Column::new("Data", "string"), Column::new("Age", "string")];
pub static POD_TEMPLATE: &[Column] = &[
    Column::name(),
    Column::new("Containers", "string"),
    Column::new("Images", "string"),
    Column::new("Pod Labels", "string"),
];
pub static NODE: &[Column] = &[
    Column::name(),
    Column::new("Status", "string"),
    Column::new("Roles", "string"),
    Column::new("Age", "string"),
    Column::new("Version", "string"),
    Column::wide("Internal-IP", "string"),
    Column::wide("External-IP", "string"),
    Column::wide("OS-Image", "string"),
    Column::wide("Kernel-Version", "string"),
    Column::wide("Container-Runtime", "string"),
];
pub static EVENT: &[Column] = &[
    Column::new("Last Seen", "string"),
    Column::new("Type", "string"),
    Column::new("Reason", "string"),
    Column::new("Object", "string"),
    Column::wide("Subobject", "string"),
    Column::wide("Source", "string"),
    Column::new("Message", "string"),
    Column::wide("First Seen", "string"),
    Column::wide("Count", "string"),
    Column::wide("Name", "string"),
];
pub static COMPONENT_STATUS: &[Column] = &[
    Column::name(),
    Column::new("Status", "string"),
    Column::new("Message", "string"),
    Column::new("Error", "string"),
];
pub static RESOURCE_QUOTA: &[Column] =
    &[Column::name(), Column::new("Request", "string"), Column::new("Limit", "string"), Column::new("Age", "string")];

/// Names and images of containers, each joined by commas.
pub fn containers(containers: &[Container]) -> [Cell; 2] {
    let join = |of: fn(&Container) -> &str| containers.iter().map(of).collect::<Vec<_>>().join(",");
    [Cell::from(join(|c| &c.name)), Cell::from(join(|c| &c.image))]
}

/// Labels as `a=b,c=d`, `<none>` where there are none (labels.FormatLabels).
pub fn labels(labels: &Map<Str>) -> String {
    or_none(labels.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(","))
}

pub fn service_account(object: &ServiceAccount, env: &Env) -> Vec<Cell> {
    vec![Cell::from(&object.metadata.name), Cell::from(env.since(&object.metadata.creation_timestamp))]
}

pub fn namespace(object: &Namespace, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.status.phase),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn secret(object: &Secret, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.type_),
        Cell::from(object.data.len()),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn config_map(object: &ConfigMap, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.data.len() + object.binary_data.len()),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn pod_template(object: &PodTemplate, _: &Env) -> Vec<Cell> {
    let [names, images] = containers(&object.template.spec.containers);
    vec![Cell::from(&object.metadata.name), names, images, Cell::from(labels(&object.template.metadata.labels))]
}

pub fn node(object: &Node, env: &Env) -> Vec<Cell> {
    let ready = object.status.conditions.iter().rfind(|c| &*c.type_ == "Ready");
    let mut status = match ready {
        Some(condition) if &*condition.status == "True" => "Ready".to_string(),
        Some(_) => "NotReady".to_string(),
        None => "Unknown".to_string(),
    };
    if object.spec.unschedulable {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles = BTreeSet::new();
    for (key, value) in object.metadata.labels.iter() {
        match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => {
                roles.insert(role);
            }
            None if &**key == "kubernetes.io/role" && !value.is_empty() => {
                roles.insert(&**value);
            }
            _ => {}
        }
    }
    let roles = or_none(roles.into_iter().collect::<Vec<_>>().join(","));
    let address = |kind: &str| {
        let found = object.status.addresses.iter().find(|a| &*a.type_ == kind);
        found.map_or(Cell::from("<none>"), |a| Cell::from(&a.address))
    };
    let info = &object.status.node_info;
    let known = |text: &str| if text.is_empty() { "<unknown>".to_string() } else { text.to_string() };
    let mut kernel = known(&info.kernel_version);
    if !info.architecture.is_empty() {
        kernel.push_str(&format!(" ({})", info.architecture));
    }
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(status),
        Cell::from(roles),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        Cell::from(&info.kubelet_version),
        address("InternalIP"),
        address("ExternalIP"),
        Cell::from(known(&info.os_image)),
        Cell::from(kernel),
        Cell::from(known(&info.container_runtime_version)),
    ]
}

pub fn event(object: &Event, env: &Env) -> Vec<Cell> {
    let first = if object.first_timestamp.unix().is_none() {
        env.since_micro(&object.event_time)
    } else {
        env.since(&object.first_timestamp)
    };
    let mut last =
        if object.last_timestamp.unix().is_none() { first.clone() } else { env.since(&object.last_timestamp) };
    let mut count = object.count;
    if let Some(series) = object.series.get() {
        last = env.since_micro(&series.last_observed_time);
        count = series.count;
    } else if count == 0 {
        count = 1;
    }
    let kind = object.involved_object.kind.to_lowercase();
    let target =
        if object.involved_object.name.is_empty() { kind } else { format!("{kind}/{}", object.involved_object.name) };
    let either = |a: &Str, b: &Str| if a.is_empty() { b.to_string() } else { a.to_string() };
    let component = either(&object.source.component, &object.reporting_component);
    let instance = either(&object.source.host, &object.reporting_instance);
    let source = if instance.is_empty() { component } else { format!("{component}, {instance}") };
    vec![
        Cell::from(last),
        Cell::from(&object.type_),
        Cell::from(&object.reason),
        Cell::from(target),
        Cell::from(&object.involved_object.field_path),
        Cell::from(source),
        Cell::from(object.message.trim()),
        Cell::from(first),
        Cell::from(count),
        Cell::from(&object.metadata.name),
    ]
}

pub fn resource_quota(object: &ResourceQuota, env: &Env) -> Vec<Cell> {
    let mut request = Vec::new();
    let mut limit = Vec::new();
    for (resource, hard) in object.status.hard.iter() {
        let used = object.status.used.get(resource).cloned().unwrap_or_default();
        let text = format!("{resource}: {used}/{hard}");
        if resource.starts_with("limits.") { limit.push(text) } else { request.push(text) }
    }
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(request.join(", ")),
        Cell::from(limit.join(", ")),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}
