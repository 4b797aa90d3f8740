//! Validation: what the server refuses to store, in Kubernetes' words and order.
//!
//! Each kind has a row in `RULES`. Updates look only at what can have changed: what new and old share was checked
//! when the old object was written.

pub(crate) mod addresses;
mod admission_policies;
mod api_service;
mod apps;
mod at;
mod autoscaling;
mod batch;
mod certificates;
mod claims;
mod conditions;
mod coordination;
mod core;
mod csi;
mod definitions;
mod devices;
mod discovery;
mod flow;
mod ingress;
mod internal;
mod labels;
mod metadata;
mod networking;
mod node;
mod pod;
mod pod_certificates;
mod policy;
mod rbac;
mod resources;
mod runtime_class;
mod schemas;
mod service;
mod sets;
mod storage;
mod storage_migration;
mod tree;
mod trust_bundles;
mod unified;
mod webhooks;

#[cfg(test)]
mod tests;

use at::Errors;
pub(crate) use resources::{is_extended, is_native};

use crate::field::ErrorList;
use crate::meta_v1::ObjectMeta;
use crate::{KindInfo, Object};

/// What is wrong with a new object.
pub fn create(object: &dyn Object) -> ErrorList {
    let mut errors = Errors::default();
    if !KINDS.iter().any(|kind| (kind.create)(object, &mut errors)) {
        other_create(object, &mut errors);
    }
    errors.finish()
}

/// What is wrong with a new state of an object.
pub fn update(new: &dyn Object, old: &dyn Object) -> ErrorList {
    run("", new, old, |kind| kind.update)
}

/// What is wrong with a new status.
pub fn update_status(new: &dyn Object, old: &dyn Object) -> ErrorList {
    run("status", new, old, |kind| kind.status)
}

/// What is wrong with a new state written through another subresource: `finalize`, `resize`, `ephemeralcontainers`,
/// `approval`.
pub fn update_subresource(subresource: &str, new: &dyn Object, old: &dyn Object) -> ErrorList {
    use crate::core_v1::{Namespace, Pod};
    let mut errors = Errors::default();
    if let (Some(new), Some(old)) = (new.downcast_ref::<Pod>(), old.downcast_ref::<Pod>()) {
        match subresource {
            "resize" => pod::resize(new, old, &mut errors),
            "ephemeralcontainers" => pod::ephemeral_containers(new, old, &mut errors),
            _ => only_metadata(new, old, &mut errors),
        }
    } else if let (Some(new), Some(old)) = (new.downcast_ref::<Namespace>(), old.downcast_ref::<Namespace>()) {
        core::finalize_namespace(new, old, &mut errors);
    } else {
        other_update(subresource, new, old, &mut errors);
    }
    errors.finish()
}

type Create = fn(&dyn Object, &mut Errors) -> bool;
type Update = fn(&dyn Object, &dyn Object, &mut Errors) -> bool;

/// The rules of a kind. Each function says whether the object is of its kind.
struct Kind {
    create: Create,
    update: Update,
    status: Update,
}

macro_rules! kinds {
    ($($T:ty: $create:expr, $update:expr, $status:expr;)*) => { [$(Kind {
        create: |object, errors| match object.downcast_ref::<$T>() {
            Some(object) => { $create(object, errors); true }
            None => false,
        },
        update: |new, old, errors| match (new.downcast_ref::<$T>(), old.downcast_ref::<$T>()) {
            (Some(new), Some(old)) => { $update(new, old, errors); true }
            _ => false,
        },
        status: |new, old, errors| match (new.downcast_ref::<$T>(), old.downcast_ref::<$T>()) {
            (Some(new), Some(old)) => { $status(new, old, errors); true }
            _ => false,
        },
    }),*] };
}

/// Kinds with rules of their own, those that are written most first.
static KINDS: [Kind; 43] = {
    use crate::{
        apps_v1, autoscaling_v2, batch_v1, coordination_v1, core_v1, discovery_v1, networking_v1, node_v1, policy_v1,
        rbac_v1, scheduling_v1, storage_v1,
    };
    kinds! {
        core_v1::Pod: pod::create, pod::update, pod::update_status;
        core_v1::Event: core::create_event, core::update_event, only_metadata;
        coordination_v1::Lease: coordination::create, coordination::update, only_metadata;
        core_v1::Node: node::create, node::update, node::update;
        apps_v1::ReplicaSet: apps::create_replica_set, apps::update_replica_set, apps::update_replica_set_status;
        apps_v1::Deployment: apps::create_deployment, apps::update_deployment, apps::update_deployment_status;
        discovery_v1::EndpointSlice: discovery::create, discovery::update, only_metadata;
        core_v1::Endpoints: core::create_endpoints, core::update_endpoints, only_metadata;
        core_v1::Service: service::create, service::update, service::update_status;
        core_v1::ConfigMap: core::create_config_map, core::update_config_map, only_metadata;
        core_v1::Secret: core::create_secret, core::update_secret, only_metadata;
        core_v1::ServiceAccount: core::create_service_account, core::update_service_account, only_metadata;
        core_v1::Namespace: core::create_namespace, only_metadata, core::update_namespace_status;
        core_v1::PodTemplate: pod::create_template, pod::update_template, only_metadata;
        rbac_v1::Role: rbac::create_role, rbac::update_role, only_metadata;
        rbac_v1::ClusterRole: rbac::create_cluster_role, rbac::update_cluster_role, only_metadata;
        rbac_v1::RoleBinding: rbac::create_role_binding, rbac::update_role_binding, only_metadata;
        rbac_v1::ClusterRoleBinding:
            rbac::create_cluster_role_binding, rbac::update_cluster_role_binding, only_metadata;
        apps_v1::StatefulSet:
            sets::create_stateful_set, sets::update_stateful_set, sets::update_stateful_set_status;
        apps_v1::DaemonSet: sets::create_daemon_set, sets::update_daemon_set, sets::update_daemon_set_status;
        apps_v1::ControllerRevision: sets::create_revision, sets::update_revision, only_metadata;
        core_v1::ReplicationController: sets::create_controller, sets::update_controller, sets::update_controller_status;
        batch_v1::Job: batch::create_job, batch::update_job, batch::update_job_status;
        batch_v1::CronJob: batch::create_cron_job, batch::update_cron_job, only_metadata;
        autoscaling_v2::HorizontalPodAutoscaler:
            autoscaling::create, autoscaling::update, autoscaling::update_status;
        policy_v1::PodDisruptionBudget: policy::create_budget, policy::update_budget, policy::update_budget_status;
        scheduling_v1::PriorityClass: policy::create_priority_class, policy::update_priority_class, only_metadata;
        core_v1::LimitRange: policy::create_limit_range, policy::update_limit_range, only_metadata;
        core_v1::ResourceQuota: policy::create_quota, policy::update_quota, policy::update_quota_status;
        networking_v1::Ingress: ingress::create, ingress::update, ingress::update_status;
        networking_v1::IngressClass: ingress::create_class, ingress::update_class, only_metadata;
        networking_v1::NetworkPolicy: ingress::create_policy, ingress::update_policy, only_metadata;
        core_v1::PersistentVolume: storage::create_volume, storage::update_volume, only_metadata;
        core_v1::PersistentVolumeClaim: storage::create_claim, storage::update_claim, storage::update_claim_status;
        storage_v1::StorageClass: storage::create_class, storage::update_class, only_metadata;
        storage_v1::CSINode: csi::create_node, csi::update_node, only_metadata;
        storage_v1::CSIDriver: csi::create_driver, csi::update_driver, only_metadata;
        storage_v1::CSIStorageCapacity: csi::create_capacity, csi::update_capacity, only_metadata;
        storage_v1::VolumeAttachment: csi::create_attachment, csi::update_attachment, csi::update_attachment;
        storage_v1::VolumeAttributesClass: csi::create_attributes_class, csi::update_attributes_class, only_metadata;
        node_v1::RuntimeClass: runtime_class::create, runtime_class::update, only_metadata;
        networking_v1::IPAddress: networking::create_ip_address, networking::update_ip_address, only_metadata;
        networking_v1::ServiceCIDR: networking::create_service_cidr, networking::update_service_cidr, only_metadata;
    }
};

fn run(subresource: &str, new: &dyn Object, old: &dyn Object, rule: fn(&Kind) -> Update) -> ErrorList {
    let mut errors = Errors::default();
    if !KINDS.iter().any(|kind| rule(kind)(new, old, &mut errors)) {
        other_update(subresource, new, old, &mut errors);
    }
    errors.finish()
}

/// What a write of an Event through `events.k8s.io` is held to; none for other objects.
pub fn new_event(new: &dyn Object, old: Option<&dyn Object>) -> Option<ErrorList> {
    let new = new.downcast_ref::<crate::core_v1::Event>()?;
    let mut errors = Errors::default();
    match old.and_then(|old| old.downcast_ref::<crate::core_v1::Event>()) {
        Some(old) => core::update_new_event(new, old, &mut errors),
        None => core::create_new_event(new, &mut errors),
    }
    Some(errors.finish())
}

/// A status that has no rules, or a kind without one.
fn only_metadata<T: crate::Resource>(new: &T, old: &T, errors: &mut Errors) {
    metadata::update(new.metadata(), old.metadata(), errors);
}

/// Rules of a kind that no Rust struct describes: group, kind, what looks at new objects and at updates.
type Untyped = (&'static str, &'static str, fn(&tree::Write, &mut Errors));

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";

static UNTYPED: [Untyped; 18] = [
    (FLOW, "FlowSchema", flow::schema),
    (FLOW, "PriorityLevelConfiguration", flow::level),
    (ADMISSION, "ValidatingWebhookConfiguration", webhooks::configuration),
    (ADMISSION, "MutatingWebhookConfiguration", webhooks::configuration),
    (ADMISSION, "ValidatingAdmissionPolicy", admission_policies::validating),
    (ADMISSION, "MutatingAdmissionPolicy", admission_policies::mutating),
    (ADMISSION, "ValidatingAdmissionPolicyBinding", admission_policies::binding),
    (ADMISSION, "MutatingAdmissionPolicyBinding", admission_policies::binding),
    ("apiregistration.k8s.io", "APIService", api_service::check),
    ("storagemigration.k8s.io", "StorageVersionMigration", storage_migration::check),
    ("apiextensions.k8s.io", "CustomResourceDefinition", definitions::check),
    (RESOURCE, "DeviceClass", devices::class),
    (RESOURCE, "ResourceClaim", devices::claim),
    (RESOURCE, "ResourceClaimTemplate", devices::template),
    (RESOURCE, "ResourceSlice", devices::slice),
    (RESOURCE, "DeviceTaintRule", devices::taint_rule),
    (CERTIFICATES, "ClusterTrustBundle", trust_bundles::check),
    (CERTIFICATES, "PodCertificateRequest", pod_certificates::check),
];

/// Looks at an object of a kind that no Rust struct describes; says whether it is one.
fn untyped(subresource: &str, object: &dyn Object, before: Option<&dyn Object>, errors: &mut Errors) -> bool {
    let Some(kind) = object.kind_info() else { return false };
    let Some((_, _, check)) = UNTYPED.iter().find(|(group, name, _)| *name == kind.kind && *group == kind.group) else {
        return false;
    };
    let new = crate::json::to_value_bare(object);
    let old = before.map(crate::json::to_value_bare).unwrap_or_default();
    let (new, old) = (tree::Tree::new(&new), tree::Tree::new(&old));
    check(&tree::Write { object, before, new, old, subresource }, errors);
    true
}

/// Kinds without rules of their own: their metadata.
fn other_create(object: &dyn Object, errors: &mut Errors) {
    if certificates::is_signing_request(object) {
        return certificates::create(object, errors);
    }
    if untyped("", object, None, errors) {
        return;
    }
    if let (Some(meta), Some(kind)) = (object.metadata(), object.kind_info()) {
        metadata::create(meta, kind.namespaced, name_rule(kind), errors);
    }
}

fn other_update(subresource: &str, new: &dyn Object, old: &dyn Object, errors: &mut Errors) {
    if certificates::is_signing_request(new) {
        return certificates::update(subresource, new, old, errors);
    }
    if untyped(subresource, new, Some(old), errors) {
        return;
    }
    let metas: (Option<&ObjectMeta>, Option<&ObjectMeta>) = (new.metadata(), old.metadata());
    if let (Some(new), Some(old)) = metas {
        metadata::update(new, old, errors);
    }
}

/// How objects of a kind may be called.
fn name_rule(kind: &KindInfo) -> metadata::NameRule {
    match (kind.group, kind.kind) {
        ("apiregistration.k8s.io", _) | ("certificates.k8s.io", "ClusterTrustBundle") => metadata::rbac,
        _ => metadata::subdomain,
    }
}
