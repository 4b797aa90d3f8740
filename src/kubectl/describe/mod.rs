//! `kubectl describe`: one file a kind, each a function from the object and what belongs to it to text.
//! Follows k8s.io/kubectl/pkg/describe.

mod addresses;
mod autoscaling;
mod certificate;
mod config;
mod generic;
mod network;
pub(crate) mod node;
mod pod;
mod policy;
pub mod rbac;
mod storage;
pub mod template;
#[cfg(test)]
mod tests;
mod workload;
pub mod writer;

pub use writer::Writer;

use crate::value::Value;

/// What a describer looks at beside the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Events about the object.
    Events,
    /// Events about the object without regard to their kind (pods).
    EventsAnyKind,
    /// Events whose UID is the object's or its name (nodes).
    EventsOfNode,
    /// Pods that its selector finds.
    PodsBySelector,
    /// All pods of its namespace.
    PodsOfNamespace,
    /// Pods on the node that have not ended.
    PodsOnNode,
    /// EndpointSlices of the Service.
    Slices,
    /// The node's Lease.
    NodeLease,
    /// ResourceQuotas and LimitRanges of the namespace.
    Quotas,
    /// ReplicaSets that its selector finds.
    ReplicaSets,
    /// Services and EndpointSlices behind an Ingress.
    Backends,
}

/// What was found beside the object.
#[derive(Debug, Default)]
pub struct Related {
    /// Wall time in nanoseconds since 1970.
    pub now: i64,
    /// Events; None when they are not shown.
    pub events: Option<Vec<Value>>,
    /// Pods.
    pub pods: Vec<Value>,
    /// Why pods could not be had.
    pub pods_error: Option<String>,
    /// EndpointSlices.
    pub slices: Vec<Value>,
    /// Services.
    pub services: Vec<Value>,
    /// The node's Lease or why it could not be had.
    pub lease: Option<Result<Value, String>>,
    /// ResourceQuotas.
    pub quotas: Vec<Value>,
    /// LimitRanges.
    pub limits: Vec<Value>,
    /// ReplicaSets.
    pub replica_sets: Vec<Value>,
}

/// One row of the table of describers.
pub struct Describer {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// What to fetch first.
    pub needs: &'static [Need],
    /// Writes the description.
    pub print: fn(&mut Writer, &Value, &Related),
}

const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// All describers; other kinds get the generic one.
pub static DESCRIBERS: &[Describer] = &[
    Describer { group: "", kind: "Pod", needs: &[Need::EventsAnyKind], print: pod::pod },
    Describer {
        group: "",
        kind: "Node",
        needs: &[Need::EventsOfNode, Need::PodsOnNode, Need::NodeLease],
        print: node::node,
    },
    Describer { group: "", kind: "Namespace", needs: &[Need::Quotas], print: policy::namespace },
    Describer { group: "", kind: "ResourceQuota", needs: &[], print: policy::quota },
    Describer { group: "", kind: "LimitRange", needs: &[], print: policy::limit_range },
    Describer {
        group: "policy",
        kind: "PodDisruptionBudget",
        needs: &[Need::Events],
        print: policy::disruption_budget,
    },
    Describer {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        needs: &[Need::Events],
        print: policy::priority_class,
    },
    Describer { group: "", kind: "ConfigMap", needs: &[Need::Events], print: config::config_map },
    Describer { group: "", kind: "Secret", needs: &[], print: config::secret },
    Describer { group: "", kind: "ServiceAccount", needs: &[Need::Events], print: config::service_account },
    Describer { group: "", kind: "Service", needs: &[Need::Events, Need::Slices], print: network::service },
    Describer { group: "", kind: "Endpoints", needs: &[Need::Events], print: network::endpoints },
    Describer {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        needs: &[Need::Events],
        print: network::endpoint_slice,
    },
    Describer { group: NETWORKING, kind: "Ingress", needs: &[Need::Events, Need::Backends], print: network::ingress },
    Describer {
        group: "apps",
        kind: "Deployment",
        needs: &[Need::Events, Need::ReplicaSets],
        print: workload::deployment,
    },
    Describer {
        group: "apps",
        kind: "ReplicaSet",
        needs: &[Need::Events, Need::PodsBySelector],
        print: workload::replica_set,
    },
    Describer {
        group: "apps",
        kind: "DaemonSet",
        needs: &[Need::Events, Need::PodsBySelector],
        print: workload::daemon_set,
    },
    Describer {
        group: "apps",
        kind: "StatefulSet",
        needs: &[Need::Events, Need::PodsBySelector],
        print: workload::stateful_set,
    },
    Describer {
        group: "",
        kind: "ReplicationController",
        needs: &[Need::Events, Need::PodsBySelector],
        print: workload::replication_controller,
    },
    Describer {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        needs: &[Need::Events],
        print: certificate::signing_request,
    },
    Describer { group: "storage.k8s.io", kind: "CSINode", needs: &[Need::Events], print: certificate::csi_node },
    Describer { group: "batch", kind: "Job", needs: &[Need::Events], print: workload::job },
    Describer { group: "batch", kind: "CronJob", needs: &[Need::Events], print: workload::cron_job },
    Describer {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        needs: &[Need::Events],
        print: autoscaling::autoscaler,
    },
    Describer { group: "", kind: "PersistentVolume", needs: &[Need::Events], print: storage::volume },
    Describer {
        group: "",
        kind: "PersistentVolumeClaim",
        needs: &[Need::Events, Need::PodsOfNamespace],
        print: storage::claim,
    },
    Describer { group: "storage.k8s.io", kind: "StorageClass", needs: &[Need::Events], print: storage::storage_class },
    Describer { group: NETWORKING, kind: "NetworkPolicy", needs: &[], print: addresses::network_policy },
    Describer { group: NETWORKING, kind: "IngressClass", needs: &[Need::Events], print: addresses::ingress_class },
    Describer { group: NETWORKING, kind: "ServiceCIDR", needs: &[Need::Events], print: addresses::service_cidr },
    Describer { group: NETWORKING, kind: "IPAddress", needs: &[Need::Events], print: addresses::ip_address },
    Describer { group: RBAC, kind: "Role", needs: &[], print: rbac::role },
    Describer { group: RBAC, kind: "ClusterRole", needs: &[], print: rbac::role },
    Describer { group: RBAC, kind: "RoleBinding", needs: &[], print: rbac::binding },
    Describer { group: RBAC, kind: "ClusterRoleBinding", needs: &[], print: rbac::binding },
];

static GENERIC: Describer = Describer { group: "", kind: "", needs: &[Need::Events], print: generic::object };

/// The describer of a kind.
pub fn describer(group: &str, kind: &str) -> &'static Describer {
    DESCRIBERS.iter().find(|d| d.group == group && d.kind == kind).unwrap_or(&GENERIC)
}

/// The description of an object.
pub fn describe(describer: &Describer, object: &Value, related: &Related) -> String {
    let mut w = Writer::new(related.now);
    (describer.print)(&mut w, object, related);
    w.finish()
}
