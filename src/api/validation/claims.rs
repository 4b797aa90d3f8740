//! PersistentVolumeClaims and their templates.

use super::at::{At, Errors};
use super::{labels, metadata, resources};
use crate::core_v1::PersistentVolumeClaimSpec;
use crate::meta_v1::ObjectMeta;
use crate::object::Object;
use crate::{Str, names};

/// What a volume can be accessed as.
pub(super) const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// What a volume can be.
pub(super) const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The metadata of a template: labels and annotations, nothing else.
pub(super) fn template_metadata(meta: &ObjectMeta, at: &At, errors: &mut Errors) {
    metadata::annotations(&meta.annotations, &at.child("annotations"), errors);
    labels::labels(&meta.labels, &at.child("labels"), errors);
    let desc = meta.desc();
    for i in desc.order {
        let Some(field) = desc.fields.get(usize::from(*i)) else { continue };
        if !matches!(field.name, "annotations" | "labels") && !meta.get(usize::from(*i)).is_empty() {
            errors.forbidden(&at.child(field.name), "cannot be set");
        }
    }
}

/// `ValidatePersistentVolumeClaimSpec`
pub(super) fn spec(spec: &PersistentVolumeClaimSpec, at: &At, errors: &mut Errors) {
    let modes = &at.child("accessModes");
    if spec.access_modes.is_empty() {
        errors.required(modes, "at least 1 access mode is required");
    }
    labels::selector(&spec.selector, &at.child("selector"), errors);
    access_modes(&spec.access_modes, modes, errors);
    let resources_at = at.child("resources");
    let storage = &resources_at.key("storage");
    match spec.resources.requests.get("storage") {
        None => errors.required(storage, ""),
        Some(amount) if amount.sign() <= 0 => {
            errors.invalid(storage, amount.to_string(), "must be greater than zero");
        }
        Some(amount) => resources::amount("storage", amount, storage, errors),
    }
    class(spec.storage_class_name.or_empty(), &at.child("storageClassName"), errors);
    if let Some(mode) = spec.volume_mode.get() {
        errors.one_of(&at.child("volumeMode"), mode, &VOLUME_MODES);
    }
    if let Some(source) = spec.data_source.get() {
        let at = &at.child("dataSource");
        data_source(&source.name, &source.kind, source.api_group.or_empty(), at, errors);
    }
    if let Some(source) = spec.data_source_ref.get() {
        let at = &at.child("dataSourceRef");
        data_source(&source.name, &source.kind, source.api_group.or_empty(), at, errors);
        let namespace = source.namespace.or_empty();
        if !namespace.is_empty() {
            errors.each(&at.child("namespace"), namespace, names::dns1123_label(namespace));
        }
    }
    if let (Some(source), Some(reference)) = (spec.data_source.get(), spec.data_source_ref.get()) {
        // Kubernetes shows the path's inner struct, which has nothing to show.
        let path = crate::json::Value::Object(Default::default());
        if !reference.namespace.or_empty().is_empty() {
            errors.invalid(at, path, "may not be specified when dataSourceRef.namespace is specified");
        } else if (&source.name, &source.kind, source.api_group.or_empty())
            != (&reference.name, &reference.kind, reference.api_group.or_empty())
        {
            errors.invalid(at, path, "must match dataSourceRef");
        }
    }
    class(spec.volume_attributes_class_name.or_empty(), &at.child("volumeAttributesClassName"), errors);
}

/// `accessModes` of claims and volumes.
pub(super) fn access_modes(modes: &[Str], at: &At, errors: &mut Errors) {
    let (mut one_pod, mut others) = (false, false);
    for mode in modes {
        errors.one_of(at, mode, &ACCESS_MODES);
        one_pod |= mode == "ReadWriteOncePod";
        others |= mode != "ReadWriteOncePod" && ACCESS_MODES.contains(&&**mode);
    }
    if one_pod && others {
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

/// The name of a class, if there is one.
pub(super) fn class(name: &str, at: &At, errors: &mut Errors) {
    if !name.is_empty() {
        errors.each(at, name, names::dns1123_subdomain(name));
    }
}

fn data_source(name: &str, kind: &str, group: &str, at: &At, errors: &mut Errors) {
    errors.need(&at.child("name"), name);
    errors.need(&at.child("kind"), kind);
    if group.is_empty() {
        if kind != "PersistentVolumeClaim" {
            errors.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
        }
    } else {
        errors.each(&at.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
}
