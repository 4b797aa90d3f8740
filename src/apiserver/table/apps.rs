//! Rows of the workload kinds.

use api::apps_v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use api::core_v1::ReplicationController;
use api::meta_v1::LabelSelector;
use api::table::{Cell, Column};

use super::Env;
use super::core::{containers, labels};

pub static REPLICA_SET: &[Column] = &[
    Column::name(),
    Column::new("Desired", "integer"),
    Column::new("Current", "integer"),
    Column::new("Ready", "integer"),
    Column::new("Age", "string"),
    Column::wide("Containers", "string"),
    Column::wide("Images", "string"),
    Column::wide("Selector", "string"),
];
pub static REPLICATION_CONTROLLER: &[Column] = REPLICA_SET;
pub static DEPLOYMENT: &[Column] = &[
    Column::name(),
    Column::new("Ready", "string"),
    Column::new("Up-to-date", "string"),
    Column::new("Available", "string"),
    Column::new("Age", "string"),
    Column::wide("Containers", "string"),
    Column::wide("Images", "string"),
    Column::wide("Selector", "string"),
];
pub static DAEMON_SET: &[Column] = &[
    Column::name(),
    Column::new("Desired", "integer"),
    Column::new("Current", "integer"),
    Column::new("Ready", "integer"),
    Column::new("Up-to-date", "integer"),
    Column::new("Available", "integer"),
    Column::new("Node Selector", "string"),
    Column::new("Age", "string"),
    Column::wide("Containers", "string"),
    Column::wide("Images", "string"),
    Column::wide("Selector", "string"),
];
pub static STATEFUL_SET: &[Column] = &[
    Column::name(),
    Column::new("Ready", "string"),
    Column::new("Age", "string"),
    Column::wide("Containers", "string"),
    Column::wide("Images", "string"),
];
pub static CONTROLLER_REVISION: &[Column] = &[
    Column::name(),
    Column::new("Controller", "string"),
    Column::new("Revision", "string"),
    Column::new("Age", "string"),
];

/// A label selector in kubectl's words: `<none>` selects everything, `<error>` is not valid
/// (metav1.FormatLabelSelector).
pub fn selector(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else { return "<none>".to_string() };
    match api::selector::LabelSelector::from_api(Some(selector)) {
        Ok(parsed) => super::or_none(parsed.to_string()),
        Err(_) => "<error>".to_string(),
    }
}

pub fn replica_set(object: &ReplicaSet, env: &Env) -> Vec<Cell> {
    let [names, images] = containers(&object.spec.template.spec.containers);
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.spec.replicas.unwrap_or_default()),
        Cell::from(object.status.replicas),
        Cell::from(object.status.ready_replicas),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
        Cell::from(selector(object.spec.selector.get())),
    ]
}

pub fn replication_controller(object: &ReplicationController, env: &Env) -> Vec<Cell> {
    let [names, images] = containers(object.spec.template.get().map_or(&[], |t| &t.spec.containers));
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.spec.replicas.unwrap_or_default()),
        Cell::from(object.status.replicas),
        Cell::from(object.status.ready_replicas),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
        Cell::from(labels(&object.spec.selector)),
    ]
}

pub fn deployment(object: &Deployment, env: &Env) -> Vec<Cell> {
    let [names, images] = containers(&object.spec.template.spec.containers);
    let selector = match object.spec.selector.get() {
        None => String::new(),
        Some(selector) => match api::selector::LabelSelector::from_api(Some(selector)) {
            Ok(parsed) => parsed.to_string(),
            Err(_) => "<invalid>".to_string(),
        },
    };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(format!("{}/{}", object.status.ready_replicas, object.spec.replicas.unwrap_or_default())),
        Cell::from(object.status.updated_replicas),
        Cell::from(object.status.available_replicas),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
        Cell::from(selector),
    ]
}

pub fn daemon_set(object: &DaemonSet, env: &Env) -> Vec<Cell> {
    let [names, images] = containers(&object.spec.template.spec.containers);
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.status.desired_number_scheduled),
        Cell::from(object.status.current_number_scheduled),
        Cell::from(object.status.number_ready),
        Cell::from(object.status.updated_number_scheduled),
        Cell::from(object.status.number_available),
        Cell::from(labels(&object.spec.template.spec.node_selector)),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
        Cell::from(selector(object.spec.selector.get())),
    ]
}

pub fn stateful_set(object: &StatefulSet, env: &Env) -> Vec<Cell> {
    let [names, images] = containers(&object.spec.template.spec.containers);
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(format!("{}/{}", object.status.ready_replicas, object.spec.replicas.unwrap_or_default())),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
    ]
}

pub fn controller_revision(object: &ControllerRevision, env: &Env) -> Vec<Cell> {
    let owner = object.metadata.owner_references.iter().find(|o| o.controller == Some(true));
    let controller = match owner {
        None => "<none>".to_string(),
        Some(owner) => {
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            let kind = owner.kind.to_lowercase();
            if group.is_empty() { format!("{kind}/{}", owner.name) } else { format!("{kind}.{group}/{}", owner.name) }
        }
    };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(controller),
        Cell::from(object.revision),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}
