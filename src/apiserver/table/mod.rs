//! Server-side printing: the columns and rows of `kubectl get`
//! (pkg/printers/internalversion/printers.go). One row of `PRINTERS` a kind.

mod apps;
mod batch;
mod core;
mod dynamic;
mod pod;
pub use pod::columns as pod_columns;
mod policy;
mod rest;
mod service;
mod storage;

use std::borrow::Cow;

use api::table::{Cell, Column, Row, Table};
use api::{AnyRev, Object, Resource, Time};

/// What a printer may know besides the object.
pub struct Env {
    /// Now, as nanoseconds since 1970.
    pub now: i64,
}

impl Env {
    /// The age of a timestamp, `<unknown>` where it isn't set.
    pub fn since(&self, time: &Time) -> String {
        match time.unix() {
            None => "<unknown>".to_string(),
            Some(seconds) => api::duration::human(self.now - seconds * 1_000_000_000),
        }
    }

    /// The age of a timestamp with microseconds.
    pub fn since_micro(&self, time: &api::MicroTime) -> String {
        match time.unix_micros() {
            None => "<unknown>".to_string(),
            Some(micros) => api::duration::human(self.now - micros * 1_000),
        }
    }
}

type RowOf = fn(&dyn Object, &Env) -> Vec<Cell>;

struct Printer {
    group: &'static str,
    kind: &'static str,
    columns: &'static [Column],
    row: RowOf,
}

/// Turns a function over one kind into one over any object.
macro_rules! printer {
    ($group:literal, $ty:ty, $columns:expr, $row:path) => {{
        fn row(object: &dyn Object, env: &Env) -> Vec<Cell> {
            match object.downcast_ref::<$ty>() {
                Some(object) => $row(object, env),
                None => Vec::new(),
            }
        }
        Printer { group: $group, kind: <$ty as Resource>::KIND.kind, columns: $columns, row }
    }};
}

static PRINTERS: &[Printer] = &[
    printer!("", api::core_v1::Pod, pod::POD, pod::pod),
    printer!("", api::core_v1::PodTemplate, core::POD_TEMPLATE, core::pod_template),
    printer!("", api::core_v1::ReplicationController, apps::REPLICATION_CONTROLLER, apps::replication_controller),
    printer!("", api::core_v1::Service, service::SERVICE, service::service),
    printer!("", api::core_v1::Endpoints, service::ENDPOINTS, service::endpoints),
    printer!("", api::core_v1::Node, core::NODE, core::node),
    printer!("", api::core_v1::Event, core::EVENT, core::event),
    printer!("", api::core_v1::Namespace, core::NAMESPACE, core::namespace),
    printer!("", api::core_v1::Secret, core::SECRET, core::secret),
    printer!("", api::core_v1::ConfigMap, core::CONFIG_MAP, core::config_map),
    printer!("", api::core_v1::ServiceAccount, core::NAME_AGE, core::service_account),
    printer!("", api::core_v1::PersistentVolume, storage::PV, storage::pv),
    printer!("", api::core_v1::PersistentVolumeClaim, storage::PVC, storage::pvc),
    printer!("", api::core_v1::ResourceQuota, core::RESOURCE_QUOTA, core::resource_quota),
    printer!("apps", api::apps_v1::ReplicaSet, apps::REPLICA_SET, apps::replica_set),
    printer!("apps", api::apps_v1::Deployment, apps::DEPLOYMENT, apps::deployment),
    printer!("apps", api::apps_v1::DaemonSet, apps::DAEMON_SET, apps::daemon_set),
    printer!("apps", api::apps_v1::StatefulSet, apps::STATEFUL_SET, apps::stateful_set),
    printer!("apps", api::apps_v1::ControllerRevision, apps::CONTROLLER_REVISION, apps::controller_revision),
    printer!("batch", api::batch_v1::Job, batch::JOB, batch::job),
    printer!("batch", api::batch_v1::CronJob, batch::CRON_JOB, batch::cron_job),
    printer!("autoscaling", api::autoscaling_v1::Scale, batch::SCALE, batch::scale),
    printer!("autoscaling", api::autoscaling_v2::HorizontalPodAutoscaler, batch::HPA, batch::hpa),
    printer!("discovery.k8s.io", api::discovery_v1::EndpointSlice, service::ENDPOINT_SLICE, service::endpoint_slice),
    printer!("networking.k8s.io", api::networking_v1::Ingress, service::INGRESS, service::ingress),
    printer!("networking.k8s.io", api::networking_v1::IngressClass, service::INGRESS_CLASS, service::ingress_class),
    printer!("networking.k8s.io", api::networking_v1::NetworkPolicy, service::NETWORK_POLICY, service::network_policy),
    printer!("networking.k8s.io", api::networking_v1::ServiceCIDR, service::SERVICE_CIDR, service::service_cidr),
    printer!("networking.k8s.io", api::networking_v1::IPAddress, service::IP_ADDRESS, service::ip_address),
    printer!("policy", api::policy_v1::PodDisruptionBudget, policy::PDB, policy::pdb),
    printer!("rbac.authorization.k8s.io", api::rbac_v1::Role, rest::CREATED_AT, policy::role),
    printer!("rbac.authorization.k8s.io", api::rbac_v1::ClusterRole, rest::CREATED_AT, policy::cluster_role),
    printer!("rbac.authorization.k8s.io", api::rbac_v1::RoleBinding, policy::BINDING, policy::role_binding),
    printer!(
        "rbac.authorization.k8s.io",
        api::rbac_v1::ClusterRoleBinding,
        policy::BINDING,
        policy::cluster_role_binding
    ),
    printer!("scheduling.k8s.io", api::scheduling_v1::PriorityClass, policy::PRIORITY_CLASS, policy::priority_class),
    printer!("coordination.k8s.io", api::coordination_v1::Lease, policy::LEASE, policy::lease),
    printer!("storage.k8s.io", api::storage_v1::StorageClass, storage::STORAGE_CLASS, storage::storage_class),
    printer!("storage.k8s.io", api::storage_v1::CSINode, storage::CSI_NODE, storage::csi_node),
    printer!("storage.k8s.io", api::storage_v1::CSIDriver, storage::CSI_DRIVER, storage::csi_driver),
    printer!(
        "storage.k8s.io",
        api::storage_v1::VolumeAttachment,
        storage::VOLUME_ATTACHMENT,
        storage::volume_attachment
    ),
    printer!("node.k8s.io", api::node_v1::RuntimeClass, policy::RUNTIME_CLASS, policy::runtime_class),
];

/// The columns of a kind, as the server names them.
pub fn columns(group: &str, kind: &str) -> &'static [Column] {
    find(group, kind).map_or(rest::CREATED_AT, |printer| printer.columns)
}

/// Prints the objects of one kind, in their order.
pub fn print(group: &str, kind: &str, objects: &[AnyRev], revision: u64, env: &Env) -> Table {
    let printer = find(group, kind);
    let mut rows: Vec<Row> = objects
        .iter()
        .map(|object| Row {
            cells: match printer {
                Some(printer) => (printer.row)(&*object.body, env),
                None => rest::created_at(&*object.body),
            },
            object: object.clone(),
        })
        .collect();
    if kind == "FlowSchema" {
        dynamic::sort_flow_schemas(&mut rows);
    }
    if kind == "StorageClass" {
        storage::mark_default(&mut rows);
    }
    Table {
        columns: Cow::Borrowed(printer.map_or(rest::CREATED_AT, |printer| printer.columns)),
        rows,
        revision,
        continue_: Default::default(),
        remaining: None,
    }
}

fn find(group: &str, kind: &str) -> Option<&'static Printer> {
    PRINTERS.iter().chain(dynamic::PRINTERS).find(|printer| printer.kind == kind && printer.group == group)
}

/// Joins names with commas, `<none>` for nothing at all.
fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".to_string() } else { text }
}
