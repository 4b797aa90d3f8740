//! Object metadata (apimachinery's api/validation/objectmeta.go and core's additions).

use super::at::{At, Errors, IMMUTABLE};
use super::labels;
use crate::SortSmall;
use crate::meta_v1::{ManagedFieldsEntry, ObjectMeta, OwnerReference};
use crate::{List, Map, Str, go, names, scheme};

/// Checks a name; `prefix` is set for generateName.
pub(super) type NameRule = fn(name: &str, prefix: bool) -> Vec<String>;

/// Most bytes of all annotations together.
const ANNOTATIONS_MAX: usize = 256 << 10;
const FIELD_MANAGER_MAX: usize = 128;
const SUBRESOURCE_MAX: usize = 256;

fn masked(rule: fn(&str) -> Vec<String>, name: &str, prefix: bool) -> Vec<String> {
    if prefix { rule(&names::mask_trailing_dash(name)) } else { rule(name) }
}
/// Most kinds' names.
pub(super) fn subdomain(name: &str, prefix: bool) -> Vec<String> {
    masked(names::dns1123_subdomain, name, prefix)
}
/// Namespaces' and Services' names.
pub(super) fn label(name: &str, prefix: bool) -> Vec<String> {
    masked(names::dns1123_label, name, prefix)
}
/// Names of RBAC's kinds.
pub(super) fn rbac(name: &str, _: bool) -> Vec<String> {
    names::path_segment(name)
}

/// The metadata of a new object (`ValidateObjectMeta`).
pub(super) fn create(meta: &ObjectMeta, namespaced: bool, rule: NameRule, errors: &mut Errors) {
    let at = &At::new("metadata");
    if !meta.generate_name.is_empty() {
        errors.each(&at.child("generateName"), &meta.generate_name, rule(&meta.generate_name, true));
    }
    if meta.name.is_empty() {
        errors.required(&at.child("name"), "name or generateName is required");
    } else {
        errors.each(&at.child("name"), &meta.name, rule(&meta.name, false));
    }
    common(meta, namespaced, at, errors);
}

fn common(meta: &ObjectMeta, namespaced: bool, at: &At, errors: &mut Errors) {
    let namespace = at.child("namespace");
    if !namespaced {
        if !meta.namespace.is_empty() {
            errors.forbidden(&namespace, "not allowed on this type");
        }
    } else if meta.namespace.is_empty() {
        errors.required(&namespace, "");
    } else {
        errors.each(&namespace, &meta.namespace, names::dns1123_label(&meta.namespace));
    }
    errors.not_negative(&at.child("generation"), meta.generation);
    labels::labels(&meta.labels, &at.child("labels"), errors);
    annotations(&meta.annotations, &at.child("annotations"), errors);
    owner_references(&meta.owner_references, &at.child("ownerReferences"), errors);
    finalizers(&meta.finalizers, &at.child("finalizers"), errors);
    managed_fields(&meta.managed_fields, &at.child("managedFields"), errors);
    standard_finalizers(&meta.finalizers, at, errors);
}

/// The metadata of a changed object (`ValidateObjectMetaUpdate`); its revision is checked where it is stored.
pub(super) fn update(new: &ObjectMeta, old: &ObjectMeta, errors: &mut Errors) {
    let at = &At::new("metadata");
    if !old.deletion_timestamp.is_zero() && !new.finalizers.same(&old.finalizers) {
        let mut extra: Vec<&Str> = new.finalizers.iter().filter(|f| !old.finalizers.contains(f)).collect();
        if !extra.is_empty() {
            extra.sort_small();
            extra.dedup();
            let list: Vec<String> = extra.iter().map(|f| go::quote(f)).collect();
            errors.forbidden(
                &at.child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    list.join(", ")
                ),
            );
        }
    }
    errors.not_negative(&at.child("generation"), new.generation);
    if new.generation < old.generation {
        errors.invalid(&at.child("generation"), new.generation, "must not be decremented");
    }
    errors.immutable(&at.child("name"), &new.name, &old.name);
    errors.immutable(&at.child("namespace"), &new.namespace, &old.namespace);
    errors.immutable(&at.child("uid"), &new.uid, &old.uid);
    if new.creation_timestamp != old.creation_timestamp {
        errors.invalid(&at.child("creationTimestamp"), new.creation_timestamp, IMMUTABLE);
    }
    if new.deletion_timestamp != old.deletion_timestamp {
        errors.invalid(&at.child("deletionTimestamp"), new.deletion_timestamp, IMMUTABLE);
    }
    if new.deletion_grace_period_seconds != old.deletion_grace_period_seconds {
        errors.invalid(&at.child("deletionGracePeriodSeconds"), new.deletion_grace_period_seconds, IMMUTABLE);
    }
    // What the old object shares was checked with it.
    if !new.labels.same(&old.labels) {
        labels::labels(&new.labels, &at.child("labels"), errors);
    }
    if !new.annotations.same(&old.annotations) {
        annotations(&new.annotations, &at.child("annotations"), errors);
    }
    if !new.owner_references.same(&old.owner_references) {
        owner_references(&new.owner_references, &at.child("ownerReferences"), errors);
    }
    if !new.managed_fields.same(&old.managed_fields) {
        managed_fields(&new.managed_fields, &at.child("managedFields"), errors);
    }
    if !new.finalizers.same(&old.finalizers) {
        standard_finalizers(&new.finalizers, at, errors);
    }
}

/// As [`update`], and then as [`create`] for kinds that are checked as if they were new.
pub(super) fn update_as_new(new: &ObjectMeta, old: &ObjectMeta, namespaced: bool, rule: NameRule, errors: &mut Errors) {
    update(new, old, errors);
    if !unchanged(new, old) {
        create(new, namespaced, rule, errors);
    }
}

/// Whether all that [`create`] looks at is shared.
pub(super) fn unchanged(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    new.labels.same(&old.labels)
        && new.annotations.same(&old.annotations)
        && new.owner_references.same(&old.owner_references)
        && new.finalizers.same(&old.finalizers)
        && new.managed_fields.same(&old.managed_fields)
}

/// A map of annotations (`ValidateAnnotations`).
pub(super) fn annotations(annotations: &Map<Str>, at: &At, errors: &mut Errors) {
    let mut total = 0;
    for (key, value) in annotations {
        total += key.len() + value.len();
        let wrong = if key.bytes().any(|b| b.is_ascii_uppercase()) {
            names::qualified_name(&key.to_lowercase())
        } else {
            names::qualified_name(key)
        };
        errors.each(at, key, wrong);
    }
    if total > ANNOTATIONS_MAX {
        errors.too_long(at, ANNOTATIONS_MAX);
    }
}

fn owner_references(references: &List<OwnerReference>, at: &At, errors: &mut Errors) {
    let mut controller: Option<&OwnerReference> = None;
    for (i, reference) in references.iter().enumerate() {
        owner_reference(reference, &at.index(i), errors);
        if reference.controller != Some(true) {
            continue;
        }
        match controller {
            None => controller = Some(reference),
            Some(first) => errors.invalid(
                at,
                references,
                format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
                    first.kind, first.name, reference.kind, reference.name
                ),
            ),
        }
    }
}

fn owner_reference(reference: &OwnerReference, at: &At, errors: &mut Errors) {
    let (group, version) = scheme::group_version(&reference.api_version);
    if reference.api_version.is_empty() {
        errors.required(&at.child("apiVersion"), "must not be empty");
    } else if reference.api_version.matches('/').count() > 1 || version.is_empty() {
        let why = "must be <group>/<version> or <version>";
        errors.invalid(&at.child("apiVersion"), &reference.api_version, why);
    }
    for (name, value) in [("kind", &reference.kind), ("name", &reference.name), ("uid", &reference.uid)] {
        if value.is_empty() {
            errors.required(&at.child(name), "must not be empty");
        }
    }
    if (group, version, &*reference.kind) == ("", "v1", "Event") {
        errors.invalid(at, reference as &dyn crate::Object, "/v1, Kind=Event is disallowed from being an owner");
    }
}

fn finalizers(finalizers: &List<Str>, at: &At, errors: &mut Errors) {
    for finalizer in finalizers {
        errors.each(at, finalizer, names::qualified_name(finalizer));
    }
    let has = |name: &str| finalizers.iter().any(|f| f == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.invalid(at, finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

/// Finalizers without a domain must be known (`validateKubeFinalizerName`).
fn standard_finalizers(finalizers: &List<Str>, meta: &At, errors: &mut Errors) {
    let at = meta.child("finalizers");
    for (i, finalizer) in finalizers.iter().enumerate() {
        standard_finalizer(finalizer, &at.index(i), errors);
    }
}
fn standard_finalizer(finalizer: &str, at: &At, errors: &mut Errors) {
    if !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") {
        errors.invalid(at, finalizer, "name is neither a standard finalizer name nor is it fully qualified");
    }
}
/// A Namespace's finalizer.
pub(super) fn finalizer(finalizer: &str, at: &At, errors: &mut Errors) {
    errors.each(at, finalizer, names::qualified_name(finalizer));
    standard_finalizer(finalizer, at, errors);
}

fn managed_fields(entries: &List<ManagedFieldsEntry>, at: &At, errors: &mut Errors) {
    for (i, entry) in entries.iter().enumerate() {
        let at = &at.index(i);
        if entry.operation.is_empty() {
            errors.required(&at.child("operation"), "must not be empty");
        } else {
            errors.one_of(&at.child("operation"), &entry.operation, &["Apply", "Update"]);
        }
        if !entry.fields_type.is_empty() && entry.fields_type != "FieldsV1" {
            errors.invalid(&at.child("fieldsType"), &entry.fields_type, "must be `FieldsV1`");
        }
        if entry.manager.len() > FIELD_MANAGER_MAX {
            errors.too_long(&at.child("manager"), FIELD_MANAGER_MAX);
        }
        if entry.subresource.len() > SUBRESOURCE_MAX {
            errors.too_long(&at.child("subresource"), SUBRESOURCE_MAX);
        }
    }
}
