//! Roles and bindings.

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::{labels, metadata};
use crate::names;
use crate::rbac_v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use crate::selector::LabelSelector as Selector;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A new Role.
pub(super) fn create_role(role: &Role, errors: &mut Errors) {
    metadata::create(&role.metadata, true, metadata::rbac, errors);
    rules(&role.rules, true, errors);
}

/// A changed Role.
pub(super) fn update_role(new: &Role, old: &Role, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, true, metadata::rbac, errors);
    }
    if !new.rules.same(&old.rules) {
        rules(&new.rules, true, errors);
    }
    metadata::update(&new.metadata, &old.metadata, errors);
}

/// A new ClusterRole.
pub(super) fn create_cluster_role(role: &ClusterRole, errors: &mut Errors) {
    metadata::create(&role.metadata, false, metadata::rbac, errors);
    rules(&role.rules, false, errors);
    aggregation(role, errors);
}

/// A changed ClusterRole.
pub(super) fn update_cluster_role(new: &ClusterRole, old: &ClusterRole, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, false, metadata::rbac, errors);
    }
    if !new.rules.same(&old.rules) {
        rules(&new.rules, false, errors);
    }
    if !new.aggregation_rule.same(&old.aggregation_rule) {
        aggregation(new, errors);
    }
    metadata::update(&new.metadata, &old.metadata, errors);
}

fn aggregation(role: &ClusterRole, errors: &mut Errors) {
    let Some(rule) = role.aggregation_rule.get() else { return };
    let at = At::new("aggregationRule");
    let at = &at.child("clusterRoleSelectors");
    if rule.cluster_role_selectors.is_empty() {
        errors.required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for (i, selector) in rule.cluster_role_selectors.iter().enumerate() {
        labels::plain(selector, false, &at.index(i), errors);
        if Selector::from_api(Some(selector)).is_err() {
            errors.invalid(&at.index(i), crate::json::Value::Null, "invalid label selector.");
        }
    }
}

fn rules(rules: &[PolicyRule], namespaced: bool, errors: &mut Errors) {
    let at = At::new("rules");
    for (i, rule) in rules.iter().enumerate() {
        let at = &at.index(i);
        if rule.verbs.is_empty() {
            errors.declared_required(&at.child("verbs"));
        }
        if !rule.non_resource_urls.is_empty() {
            let at = &at.child("nonResourceURLs");
            if namespaced {
                let why = "namespaced rules cannot apply to non-resource URLs";
                errors.invalid(at, &rule.non_resource_urls, why);
            }
            if !rule.api_groups.is_empty() || !rule.resources.is_empty() || !rule.resource_names.is_empty() {
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                errors.invalid(at, &rule.non_resource_urls, why);
            }
            continue;
        }
        if rule.api_groups.is_empty() {
            errors.required(&at.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if rule.resources.is_empty() {
            errors.required(&at.child("resources"), "resource rules must supply at least one resource");
        }
    }
}

/// A new RoleBinding.
pub(super) fn create_role_binding(binding: &RoleBinding, errors: &mut Errors) {
    metadata::create(&binding.metadata, true, metadata::rbac, errors);
    parts(&binding.role_ref, None, &binding.subjects, true, errors);
}

/// A changed RoleBinding.
pub(super) fn update_role_binding(new: &RoleBinding, old: &RoleBinding, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, true, metadata::rbac, errors);
    }
    parts(&new.role_ref, Some(&old.role_ref), &new.subjects, true, errors);
    metadata::update(&new.metadata, &old.metadata, errors);
    same_role(&new.role_ref, &old.role_ref, errors);
}

/// A new ClusterRoleBinding.
pub(super) fn create_cluster_role_binding(binding: &ClusterRoleBinding, errors: &mut Errors) {
    metadata::create(&binding.metadata, false, metadata::rbac, errors);
    parts(&binding.role_ref, None, &binding.subjects, false, errors);
}

/// A changed ClusterRoleBinding.
pub(super) fn update_cluster_role_binding(new: &ClusterRoleBinding, old: &ClusterRoleBinding, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, false, metadata::rbac, errors);
    }
    parts(&new.role_ref, Some(&old.role_ref), &new.subjects, false, errors);
    metadata::update(&new.metadata, &old.metadata, errors);
    same_role(&new.role_ref, &old.role_ref, errors);
}

fn same_role(new: &RoleRef, old: &RoleRef, errors: &mut Errors) {
    if new != old {
        errors.invalid(&At::new("roleRef"), Internal(new), IMMUTABLE);
    }
}

fn parts(role: &RoleRef, old: Option<&RoleRef>, subjects: &[Subject], namespaced: bool, errors: &mut Errors) {
    let at = At::new("roleRef");
    errors.one_of(&at.child("apiGroup"), &role.api_group, &[GROUP]);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    errors.one_of(&at.child("kind"), &role.kind, kinds);
    if !role.name.is_empty() {
        errors.each(&at.child("name"), &role.name, names::path_segment(&role.name));
    } else if old.is_some_and(|old| old != role) {
        // What is declared of a role's parts isn't looked at once it is another role.
        errors.required(&at.child("name"), "");
    }
    let at_subjects = At::new("subjects");
    for (i, subject) in subjects.iter().enumerate() {
        self::subject(subject, namespaced, &at_subjects.index(i), errors);
    }
    if role.name.is_empty() && old.is_none_or(|old| old == role) {
        errors.declared_required(&at.child("name"));
    }
}

fn subject(subject: &Subject, namespaced: bool, at: &At, errors: &mut Errors) {
    if subject.name.is_empty() {
        errors.declared_required(&at.child("name"));
    }
    let group = &at.child("apiGroup");
    match &*subject.kind {
        "ServiceAccount" => {
            if !subject.name.is_empty() {
                errors.each(&at.child("name"), &subject.name, names::dns1123_subdomain(&subject.name));
            }
            errors.one_of(group, &subject.api_group, &[""]);
            if !namespaced && subject.namespace.is_empty() {
                errors.required(&at.child("namespace"), "");
            }
        }
        "User" | "Group" => errors.one_of(group, &subject.api_group, &[GROUP]),
        kind => errors.not_supported(&at.child("kind"), kind, &["ServiceAccount", "User", "Group"]),
    }
}
