//! Namespaces, ConfigMaps, Secrets, ServiceAccounts, Endpoints and Events (core's validation).

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::{addresses, metadata, pod};
use crate::core_v1::{
    ConfigMap, EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Event, Namespace, Secret, ServiceAccount,
};
use crate::{Bytes, Map, json, names};

const DATA_MAX: usize = 1 << 20;
const EVENT_TEXT_MAX: usize = 128;
const EVENT_MESSAGE_MAX: usize = 1024;
const IMMUTABLE_SET: &str = "field is immutable when `immutable` is set";

/// A new Namespace.
pub(super) fn create_namespace(namespace: &Namespace, errors: &mut Errors) {
    metadata::create(&namespace.metadata, false, metadata::label, errors);
    finalizers(namespace, errors);
}

fn finalizers(namespace: &Namespace, errors: &mut Errors) {
    let spec = At::new("spec");
    let at = spec.child("finalizers");
    for (i, finalizer) in namespace.spec.finalizers.iter().enumerate() {
        metadata::finalizer(finalizer, &at.index(i), errors);
    }
}

/// A Namespace changed through `finalize`.
pub(super) fn finalize_namespace(new: &Namespace, old: &Namespace, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    finalizers(new, errors);
}

/// A Namespace's status.
pub(super) fn update_namespace_status(new: &Namespace, old: &Namespace, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let status = At::new("status");
    let at = &status.child("Phase");
    let phase = &new.status.phase;
    if new.metadata.deletion_timestamp.is_zero() {
        if phase != "Active" {
            errors.invalid(at, phase, "may only be 'Active' if `deletionTimestamp` is empty");
        }
    } else if phase != "Terminating" {
        errors.invalid(at, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
    }
}

/// A new ConfigMap.
pub(super) fn create_config_map(map: &ConfigMap, errors: &mut Errors) {
    metadata::create(&map.metadata, true, metadata::subdomain, errors);
    config_map_data(map, errors);
}

/// A changed ConfigMap.
pub(super) fn update_config_map(new: &ConfigMap, old: &ConfigMap, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if old.immutable == Some(true) {
        if new.immutable != Some(true) {
            errors.forbidden(&At::new("immutable"), IMMUTABLE_SET);
        }
        if new.data != old.data {
            errors.forbidden(&At::new("data"), IMMUTABLE_SET);
        }
        if new.binary_data != old.binary_data {
            errors.forbidden(&At::new("binaryData"), IMMUTABLE_SET);
        }
    }
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, true, metadata::subdomain, errors);
    }
    if !new.data.same(&old.data) || !new.binary_data.same(&old.binary_data) {
        config_map_data(new, errors);
    }
}

fn config_map_data(map: &ConfigMap, errors: &mut Errors) {
    let mut total = 0;
    let at = At::new("data");
    for (key, value) in &map.data {
        errors.each(&at.key(key), key, names::config_map_key(key));
        if map.binary_data.contains_key(key) {
            errors.invalid(&at.key(key), key, "duplicate of key present in binaryData");
        }
        total += value.len();
    }
    let at = At::new("binaryData");
    for (key, value) in &map.binary_data {
        errors.each(&at.key(key), key, names::config_map_key(key));
        total += value.len();
    }
    if total > DATA_MAX {
        errors.too_long(&At::new(""), DATA_MAX);
    }
}

/// A new Secret.
pub(super) fn create_secret(secret: &Secret, errors: &mut Errors) {
    metadata::create(&secret.metadata, true, metadata::subdomain, errors);
    secret_data(secret, errors);
}

/// A changed Secret.
pub(super) fn update_secret(new: &Secret, old: &Secret, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    errors.immutable(&At::new("type"), &new.type_, &old.type_);
    if old.immutable == Some(true) {
        if new.immutable != Some(true) {
            errors.forbidden(&At::new("immutable"), IMMUTABLE_SET);
        }
        if new.data != old.data {
            errors.forbidden(&At::new("data"), IMMUTABLE_SET);
        }
    }
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, true, metadata::subdomain, errors);
    }
    secret_data(new, errors);
}

fn secret_data(secret: &Secret, errors: &mut Errors) {
    let data: &Map<Bytes> = &secret.data;
    let at = &At::new("data");
    let mut total = 0;
    for (key, value) in data {
        errors.each(&at.key(key), key, names::config_map_key(key));
        total += value.len();
    }
    if total > DATA_MAX {
        errors.too_long(at, DATA_MAX);
    }
    let mut need = |key: &str| {
        if !data.contains_key(key) {
            errors.required(&at.key(key), "");
        }
    };
    match &*secret.type_ {
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            if secret.metadata.annotations.get(NAME).is_none_or(|name| name.is_empty()) {
                let meta = At::new("metadata");
                errors.required(&meta.child("annotations").key(NAME), "");
            }
        }
        "kubernetes.io/dockercfg" => docker(data, ".dockercfg", at, errors),
        "kubernetes.io/dockerconfigjson" => docker(data, ".dockerconfigjson", at, errors),
        "kubernetes.io/basic-auth" if !data.contains_key("username") && !data.contains_key("password") => {
            need("username");
            need("password");
        }
        "kubernetes.io/ssh-auth" if data.get("ssh-privatekey").is_none_or(|key| key.is_empty()) => {
            errors.required(&at.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            need("tls.crt");
            need("tls.key");
        }
        _ => {}
    }
}

/// The credentials of a registry: JSON, an object.
fn docker(data: &Map<Bytes>, key: &str, at: &At, errors: &mut Errors) {
    let at = &at.key(key);
    let Some(bytes) = data.get(key) else { return errors.required(at, "") };
    let wrong = match std::str::from_utf8(bytes).map(json::Value::parse) {
        Ok(Ok(json::Value::Object(_) | json::Value::Null)) => return,
        Ok(Ok(value)) => {
            let kind = match value {
                json::Value::Str(_) => "string",
                json::Value::Array(_) => "array",
                json::Value::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "invalid character 'ÿ' looking for beginning of value".to_string(),
    };
    errors.invalid(at, "<secret contents redacted>", wrong);
}

/// A changed ServiceAccount.
pub(super) fn update_service_account(new: &ServiceAccount, old: &ServiceAccount, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, true, metadata::subdomain, errors);
}

/// A new ServiceAccount.
pub(super) fn create_service_account(account: &ServiceAccount, errors: &mut Errors) {
    metadata::create(&account.metadata, true, metadata::subdomain, errors);
}

/// New Endpoints.
pub(super) fn create_endpoints(endpoints: &Endpoints, errors: &mut Errors) {
    metadata::create(&endpoints.metadata, true, metadata::subdomain, errors);
    subsets(&endpoints.subsets, errors);
}

/// Changed Endpoints.
pub(super) fn update_endpoints(new: &Endpoints, old: &Endpoints, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, true, metadata::subdomain, errors);
    if !new.subsets.same(&old.subsets) {
        subsets(&new.subsets, errors);
    }
}

fn subsets(list: &[EndpointSubset], errors: &mut Errors) {
    let at = At::new("subsets");
    for (i, subset) in list.iter().enumerate() {
        let at = &at.index(i);
        if subset.addresses.is_empty() && subset.not_ready_addresses.is_empty() {
            errors.required(at, "must specify `addresses` or `notReadyAddresses`");
        }
        for (name, list) in [("addresses", &subset.addresses), ("notReadyAddresses", &subset.not_ready_addresses)] {
            let at = at.child(name);
            for (j, address) in list.iter().enumerate() {
                endpoint_address(address, &at.index(j), errors);
            }
        }
        let ports = at.child("ports");
        for (j, port) in subset.ports.iter().enumerate() {
            endpoint_port(port, subset.ports.len() > 1, &ports.index(j), errors);
        }
    }
}

fn endpoint_address(address: &EndpointAddress, at: &At, errors: &mut Errors) {
    addresses::legacy_ip(&address.ip, &at.child("ip"), errors);
    if !address.hostname.is_empty() {
        errors.each(&at.child("hostname"), &address.hostname, names::dns1123_label(&address.hostname));
    }
    if let Some(node) = address.node_name.get() {
        errors.each(&at.child("nodeName"), node, names::dns1123_subdomain(node));
    }
    addresses::endpoint(&address.ip, &at.child("ip"), errors);
}

fn endpoint_port(port: &EndpointPort, named: bool, at: &At, errors: &mut Errors) {
    if !port.name.is_empty() {
        errors.each(&at.child("name"), &port.name, names::dns1123_label(&port.name));
    } else if named {
        errors.required(&at.child("name"), "");
    }
    pod::port_number(port.port, &at.child("port"), errors);
    errors.required_one_of(&at.child("protocol"), &port.protocol, &["SCTP", "TCP", "UDP"]);
    if let Some(protocol) = port.app_protocol.get() {
        errors.each(&at.child("appProtocol"), protocol, names::qualified_name(protocol));
    }
}

/// A new Event of the core group.
pub(super) fn create_event(event: &Event, errors: &mut Errors) {
    legacy_event(event, "reportingComponent", errors);
    if errors.len() == 0 {
        metadata::create(&event.metadata, true, metadata::rbac, errors);
    }
}

/// A new Event of `events.k8s.io`, which is held to more.
pub(super) fn create_new_event(event: &Event, errors: &mut Errors) {
    legacy_event(event, "reportingController", errors);
    metadata::create(&event.metadata, true, metadata::subdomain, errors);
    event_series(event, errors);
    if event.event_time.is_zero() {
        errors.required(&At::new("eventTime"), "");
    }
    if !matches!(&*event.type_, "Normal" | "Warning") {
        errors.invalid(&At::new("type"), "", format!("has invalid value: {}", event.type_));
    }
    for (name, unset) in [
        ("firstTimestamp", event.first_timestamp.is_zero()),
        ("lastTimestamp", event.last_timestamp.is_zero()),
        ("count", event.count == 0),
        ("source", event.source.component.is_empty() && event.source.host.is_empty()),
    ] {
        if !unset {
            errors.invalid(&At::new(name), "", "needs to be unset");
        }
    }
}

/// A changed Event of `events.k8s.io`: all but its series is fixed.
pub(super) fn update_new_event(new: &Event, old: &Event, errors: &mut Errors) {
    legacy_event(new, "reportingController", errors);
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.series != old.series {
        event_series(new, errors);
    }
    if new.involved_object != old.involved_object {
        errors.invalid(&At::new("involvedObject"), Internal(&new.involved_object), IMMUTABLE);
    }
    errors.immutable(&At::new("reason"), &new.reason, &old.reason);
    errors.immutable(&At::new("message"), &new.message, &old.message);
    if new.source != old.source {
        errors.invalid(&At::new("source"), Internal(&new.source), IMMUTABLE);
    }
    errors.immutable(&At::new("firstTimestamp"), &new.first_timestamp, &old.first_timestamp);
    errors.immutable(&At::new("lastTimestamp"), &new.last_timestamp, &old.last_timestamp);
    errors.immutable(&At::new("count"), &new.count, &old.count);
    errors.immutable(&At::new("type"), &new.type_, &old.type_);
    if new.event_time != old.event_time {
        let shown = match new.event_time.is_zero() {
            true => json::Value::Null,
            false => new.event_time.to_string().as_str().into(),
        };
        errors.invalid(&At::new("eventTime"), shown, IMMUTABLE);
    }
    errors.immutable(&At::new("action"), &new.action, &old.action);
    errors.immutable(&At::new("related"), &new.related, &old.related);
    errors.immutable(&At::new("reportingController"), &new.reporting_component, &old.reporting_component);
    errors.immutable(&At::new("reportingInstance"), &new.reporting_instance, &old.reporting_instance);
}

fn event_series(event: &Event, errors: &mut Errors) {
    let Some(series) = event.series.get() else { return };
    if series.count < 2 {
        errors.invalid(&At::new("series.count"), "", "should be at least 2");
    }
    if series.last_observed_time.is_zero() {
        errors.required(&At::new("series.lastObservedTime"), "");
    }
}

/// The rules that hold for both groups (`legacyValidateEvent`).
fn legacy_event(event: &Event, reporter: &'static str, errors: &mut Errors) {
    let involved = At::new("involvedObject");
    let at = &involved.child("namespace");
    let (namespace, of_object) = (&event.metadata.namespace, &event.involved_object.namespace);
    let why = "does not match event.namespace";
    if event.event_time.is_zero() {
        let default = namespace.is_empty() || namespace == "default";
        if if of_object.is_empty() { !default } else { namespace != of_object } {
            errors.invalid(at, of_object, why);
        }
        return;
    }
    if of_object.is_empty() && namespace != "default" && namespace != "kube-system" {
        errors.invalid(at, of_object, why);
    }
    let controller = &At::new(reporter);
    errors.need(controller, &event.reporting_component);
    errors.each(controller, &event.reporting_component, names::qualified_name(&event.reporting_component));
    for (name, value, max) in [
        ("reportingInstance", &event.reporting_instance, EVENT_TEXT_MAX),
        ("action", &event.action, EVENT_TEXT_MAX),
        ("reason", &event.reason, EVENT_TEXT_MAX),
        ("message", &event.message, EVENT_MESSAGE_MAX),
    ] {
        if name != "message" {
            errors.need(&At::new(name), value);
        }
        if value.len() > max {
            errors.invalid(&At::new(name), "", format!("can have at most {max} characters"));
        }
    }
}

/// A changed Event.
pub(super) fn update_event(new: &Event, _: &Event, errors: &mut Errors) {
    legacy_event(new, "reportingComponent", errors);
}
