//! Rows of policy, access, scheduling and coordination kinds.

use api::coordination_v1::Lease;
use api::node_v1::RuntimeClass;
use api::policy_v1::PodDisruptionBudget;
use api::rbac_v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject};
use api::scheduling_v1::PriorityClass;
use api::table::{Cell, Column};
use api::{Object, meta_v1::ObjectMeta};

use super::{Env, rest};

pub static PDB: &[Column] = &[
    Column::name(),
    Column::new("Min Available", "string"),
    Column::new("Max Unavailable", "string"),
    Column::new("Allowed Disruptions", "integer"),
    Column::new("Age", "string"),
];
pub static BINDING: &[Column] = &[
    Column::name(),
    Column::new("Role", "string"),
    Column::new("Age", "string"),
    Column::wide("Users", "string"),
    Column::wide("Groups", "string"),
    Column::wide("ServiceAccounts", "string"),
];
pub static PRIORITY_CLASS: &[Column] = &[
    Column::name(),
    Column::new("Value", "integer"),
    Column::new("Global-Default", "boolean"),
    Column::new("Age", "string"),
    Column::new("PreemptionPolicy", "string"),
];
pub static LEASE: &[Column] = &[Column::name(), Column::new("Holder", "string"), Column::new("Age", "string")];
pub static RUNTIME_CLASS: &[Column] = &[Column::name(), Column::new("Handler", "string"), Column::new("Age", "string")];

pub fn pdb(object: &PodDisruptionBudget, env: &Env) -> Vec<Cell> {
    let amount = |value: Option<&api::IntOrString>| value.map_or("N/A".to_string(), |v| v.to_string());
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(amount(object.spec.min_available.as_ref())),
        Cell::from(amount(object.spec.max_unavailable.as_ref())),
        Cell::from(object.status.disruptions_allowed),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn role(object: &Role, _: &Env) -> Vec<Cell> {
    rest::created_at(object as &dyn Object)
}

pub fn cluster_role(object: &ClusterRole, _: &Env) -> Vec<Cell> {
    rest::created_at(object as &dyn Object)
}

pub fn role_binding(object: &RoleBinding, env: &Env) -> Vec<Cell> {
    binding(&object.metadata, &object.role_ref, &object.subjects, env)
}

pub fn cluster_role_binding(object: &ClusterRoleBinding, env: &Env) -> Vec<Cell> {
    binding(&object.metadata, &object.role_ref, &object.subjects, env)
}

fn binding(metadata: &ObjectMeta, role: &RoleRef, subjects: &[Subject], env: &Env) -> Vec<Cell> {
    let of = |kind: &str| {
        let names = subjects.iter().filter(|s| &*s.kind == kind).map(|s| {
            if kind == "ServiceAccount" && !s.namespace.is_empty() {
                format!("{}/{}", s.namespace, s.name)
            } else {
                s.name.to_string()
            }
        });
        Cell::from(names.collect::<Vec<_>>().join(", "))
    };
    vec![
        Cell::from(&metadata.name),
        Cell::from(format!("{}/{}", role.kind, role.name)),
        Cell::from(env.since(&metadata.creation_timestamp)),
        of("User"),
        of("Group"),
        of("ServiceAccount"),
    ]
}

pub fn priority_class(object: &PriorityClass, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.value),
        Cell::from(object.global_default),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        Cell::from(object.preemption_policy.get().unwrap_or_default()),
    ]
}

pub fn lease(object: &Lease, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.spec.holder_identity.get().unwrap_or_default()),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn runtime_class(object: &RuntimeClass, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.handler),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}
