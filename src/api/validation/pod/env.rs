//! Environment variables and the downward API.

use super::super::at::{At, Errors};
use super::paths;
use crate::core_v1::{
    EnvFromSource, EnvVar, EnvVarSource, FileKeySelector, ObjectFieldSelector, ResourceFieldSelector,
};
use crate::names;

const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What a volume may project of a pod.
pub(super) const VOLUME_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// `env`
pub(super) fn env(variables: &[EnvVar], at: &At, errors: &mut Errors) {
    for (i, variable) in variables.iter().enumerate() {
        let at = &at.index(i);
        if variable.name.is_empty() {
            errors.required(&at.child("name"), "");
        } else {
            errors.each(&at.child("name"), &variable.name, names::relaxed_env_var_name(&variable.name));
        }
        if let Some(source) = variable.value_from.get() {
            value_from(source, &variable.value, &at.child("valueFrom"), errors);
        }
    }
}

fn value_from(source: &EnvVarSource, value: &str, at: &At, errors: &mut Errors) {
    let mut sources = 0;
    if let Some(field) = source.field_ref.get() {
        sources += 1;
        field_selector(field, &ENV_FIELDS, &at.child("fieldRef"), errors);
    }
    if let Some(resource) = source.resource_field_ref.get() {
        sources += 1;
        resource_selector(resource, false, &at.child("resourceFieldRef"), errors);
    }
    if let Some(key) = source.config_map_key_ref.get() {
        sources += 1;
        key_selector(&key.name, &key.key, &at.child("configMapKeyRef"), errors);
    }
    if let Some(key) = source.secret_key_ref.get() {
        sources += 1;
        key_selector(&key.name, &key.key, &at.child("secretKeyRef"), errors);
    }
    if let Some(key) = source.file_key_ref.get() {
        sources += 1;
        file_key(key, &at.child("fileKeyRef"), errors);
    }
    if sources == 0 {
        errors.invalid(
            at,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        );
    } else if !value.is_empty() {
        errors.invalid(at, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        errors.invalid(at, "", "may not have more than one field specified at a time");
    }
}

fn key_selector(name: &str, key: &str, at: &At, errors: &mut Errors) {
    errors.each(&at.child("name"), name, names::dns1123_subdomain(name));
    if key.is_empty() {
        errors.required(&at.child("key"), "");
    } else {
        errors.each(&at.child("key"), key, names::config_map_key(key));
    }
}

fn file_key(file: &FileKeySelector, at: &At, errors: &mut Errors) {
    if file.key.is_empty() {
        errors.required(&at.child("key"), "");
    } else {
        errors.each(&at.child("key"), &file.key, names::relaxed_env_var_name(&file.key));
    }
    if file.volume_name.is_empty() {
        errors.required(&at.child("volumeName"), "");
    } else {
        errors.each(&at.child("volumeName"), &file.volume_name, names::dns1123_label(&file.volume_name));
    }
    if file.path.is_empty() {
        errors.required(&at.child("path"), "");
    } else {
        paths::no_backsteps(&file.path, &at.child("path"), errors);
    }
}

/// `a['b']` in two; None for a plain path.
fn subscripted(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['").filter(|(name, _)| !name.is_empty())
}

/// A field of the pod (`validateObjectFieldSelector`).
pub(super) fn field_selector(field: &ObjectFieldSelector, known: &[&str], at: &At, errors: &mut Errors) {
    if field.api_version.is_empty() {
        return errors.required(&at.child("apiVersion"), "");
    }
    let at_path = &at.child("fieldPath");
    if field.field_path.is_empty() {
        return errors.required(at_path, "");
    }
    let path = &*field.field_path;
    let mut wrong = |why: String| errors.invalid(at_path, path, format!("error converting fieldPath: {why}"));
    if field.api_version != "v1" {
        return wrong(format!("unsupported pod version: {}", field.api_version));
    }
    if let Some((name, subscript)) = subscripted(path) {
        match name {
            "metadata.annotations" => {
                let subscript = subscript.to_lowercase();
                errors.each(at, &subscript, names::qualified_name(&subscript));
            }
            "metadata.labels" => errors.each(at, subscript, names::qualified_name(subscript)),
            _ => wrong(format!("field label does not support subscript: {path}")),
        }
        return;
    }
    let path = match path {
        "spec.host" => "spec.nodeName",
        path => path,
    };
    const CONVERTED: [&str; 14] = [
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    if !CONVERTED.contains(&path) {
        return wrong(format!("field label not supported: {path}"));
    }
    errors.one_of(at_path, path, known);
}

/// An amount of a container (`validateContainerResourceFieldSelector`).
pub(super) fn resource_selector(field: &ResourceFieldSelector, volume: bool, at: &At, errors: &mut Errors) {
    let resource = &*field.resource;
    let huge = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if volume && field.container_name.is_empty() {
        errors.required(&at.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(&at.child("resource"), "");
    } else if !huge {
        errors.one_of(&at.child("resource"), resource, &RESOURCES);
    }
    if field.divisor.is_zero() {
        return;
    }
    let divisor = field.divisor.to_string();
    let bytes = |of: &str| {
        format!(
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {of} resource"
        )
    };
    let of_bytes = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let (valid, why): (&[&str], String) = match resource.split_once('.').map_or("", |(_, name)| name) {
        "cpu" => (&["1m", "1"], "only divisor's values 1m and 1 are supported with the cpu resource".to_string()),
        "memory" => (&of_bytes, bytes("memory")),
        "ephemeral-storage" => (&of_bytes, bytes("local ephemeral storage")),
        _ if huge => (&of_bytes, bytes("hugepages")),
        _ => return,
    };
    if !valid.contains(&&*divisor) {
        errors.invalid(&at.child("divisor"), resource, why);
    }
}

/// `envFrom`
pub(super) fn env_from(sources: &[EnvFromSource], at: &At, errors: &mut Errors) {
    for (i, source) in sources.iter().enumerate() {
        let item = &at.index(i);
        if !source.prefix.is_empty() {
            errors.each(&item.child("prefix"), &source.prefix, names::relaxed_env_var_name(&source.prefix));
        }
        let config_map = source.config_map_ref.get().map(|s| &s.name);
        let secret = source.secret_ref.get().map(|s| &s.name);
        for (field, name) in [("configMapRef", config_map), ("secretRef", secret)] {
            let Some(name) = name else { continue };
            let at = item.child(field);
            if name.is_empty() {
                errors.required(&at.child("name"), "");
            } else {
                let masked = names::mask_trailing_dash(name);
                errors.each(&at.child("name"), name, names::dns1123_subdomain(&masked));
            }
        }
        match (config_map, secret) {
            (None, None) => errors.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"),
            (Some(_), Some(_)) => {
                errors.invalid(at, "", "may not have more than one field specified at a time");
            }
            _ => {}
        }
    }
}
