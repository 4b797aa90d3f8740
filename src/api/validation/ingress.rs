//! Ingresses, IngressClasses and NetworkPolicies.

use super::at::{At, Errors};
use super::batch::domain_prefixed_path;
use super::internal::List;
use super::{addresses, labels, metadata, pod};
use crate::networking_v1::{
    HTTPIngressPath, IPBlock, Ingress, IngressBackend, IngressClass, IngressClassParametersReference, IngressClassSpec,
    IngressSpec, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use crate::{IntOrString, names};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const CONTROLLER_MAX: usize = 250;

/// A new Ingress.
pub(super) fn create(ingress: &Ingress, errors: &mut Errors) {
    metadata::create(&ingress.metadata, true, metadata::subdomain, errors);
    spec(&ingress.spec, errors);
    if let (Some(annotation), Some(class)) =
        (ingress.metadata.annotations.get(CLASS_ANNOTATION), ingress.spec.ingress_class_name.get())
        && annotation != class
    {
        let at = At::new("annotations");
        let why = "must match `ingressClassName` when both are specified";
        errors.invalid(&at.child(CLASS_ANNOTATION), annotation, why);
    }
}

/// A changed Ingress.
pub(super) fn update(new: &Ingress, old: &Ingress, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, true, metadata::subdomain, errors);
    if !new.spec.same(&old.spec) {
        spec(&new.spec, errors);
    }
}

/// An Ingress' status.
pub(super) fn update_status(new: &Ingress, old: &Ingress, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let status = At::new("status");
    let at = status.child("loadBalancer");
    let at = at.child("ingress");
    for (i, ingress) in new.status.load_balancer.ingress.iter().enumerate() {
        let at = &at.index(i);
        if !ingress.ip.is_empty() && !old.status.load_balancer.ingress.iter().any(|o| o.ip == ingress.ip) {
            addresses::legacy_ip(&ingress.ip, &at.child("ip"), errors);
        }
        if !ingress.hostname.is_empty() {
            let at = &at.child("hostname");
            errors.each(at, &ingress.hostname, names::dns1123_subdomain(&ingress.hostname));
            if addresses::sloppy(&ingress.hostname).is_some() {
                errors.invalid(at, &ingress.hostname, "must be a DNS name, not an IP address");
            }
        }
    }
}

fn spec(spec: &IngressSpec, errors: &mut Errors) {
    let at = &At::new("spec");
    if spec.rules.is_empty() && spec.default_backend.is_none() {
        let why = "either `defaultBackend` or `rules` must be specified";
        if spec.rules.is_nil() {
            errors.invalid(at, crate::json::Value::Null, why);
        } else {
            errors.invalid(at, List(&spec.rules), why);
        }
    }
    if let Some(default) = spec.default_backend.get() {
        backend(default, &at.child("defaultBackend"), errors);
    }
    let rules = at.child("rules");
    for (i, rule) in spec.rules.iter().enumerate() {
        let at = &rules.index(i);
        if !rule.host.is_empty() {
            let at = &at.child("host");
            if addresses::sloppy(&rule.host).is_some() {
                errors.invalid(at, &rule.host, "must be a DNS name, not an IP address");
            }
            host(&rule.host, at, errors);
        }
        if let Some(http) = rule.http.get() {
            let at = at.child("http");
            let at = &at.child("paths");
            if http.paths.is_empty() {
                errors.required(at, "");
            }
            for (j, path) in http.paths.iter().enumerate() {
                self::path(path, &at.index(j), errors);
            }
        }
    }
    let tls = at.child("tls");
    for (i, entry) in spec.tls.iter().enumerate() {
        let at = &tls.index(i);
        let hosts = at.child("hosts");
        for (j, name) in entry.hosts.iter().enumerate() {
            host(name, &hosts.index(j), errors);
        }
        if !entry.secret_name.is_empty() {
            errors.each(&at.child("secretName"), &entry.secret_name, names::dns1123_subdomain(&entry.secret_name));
        }
    }
    if let Some(class) = spec.ingress_class_name.get() {
        errors.each(&at.child("ingressClassName"), class, names::dns1123_subdomain(class));
    }
}

fn host(host: &str, at: &At, errors: &mut Errors) {
    if host.contains('*') {
        errors.each(at, host, names::wildcard_dns1123_subdomain(host));
    } else {
        errors.each(at, host, names::dns1123_subdomain(host));
    }
}

fn path(path: &HTTPIngressPath, at: &At, errors: &mut Errors) {
    let Some(kind) = path.path_type.get() else {
        return errors.required(&at.child("pathType"), "pathType must be specified");
    };
    let at_path = &at.child("path");
    match kind {
        "Exact" | "Prefix" => {
            if !path.path.starts_with('/') {
                errors.invalid(at_path, &path.path, "must be an absolute path");
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| path.path.contains(part)) {
                errors.invalid(at_path, &path.path, format!("must not contain '{part}'"));
            }
            for end in ["/..", "/."].into_iter().filter(|end| path.path.ends_with(end)) {
                errors.invalid(at_path, &path.path, format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" => {
            if !path.path.is_empty() && !path.path.starts_with('/') {
                errors.invalid(at_path, &path.path, "must be an absolute path");
            }
        }
        kind => {
            errors.not_supported(&at.child("pathType"), kind, &["Exact", "ImplementationSpecific", "Prefix"]);
        }
    }
    backend(&path.backend, &at.child("backend"), errors);
}

fn backend(backend: &IngressBackend, at: &At, errors: &mut Errors) {
    match (backend.resource.get(), backend.service.get()) {
        (Some(_), Some(_)) => errors.invalid(at, "", "cannot set both resource and service backends"),
        (None, None) => errors.invalid(at, "", "resource or service backend is required"),
        (Some(r), None) => {
            let at = &at.child("resource");
            object(r.api_group.get(), &r.kind, &r.name, false, at, errors);
        }
        (None, Some(service)) => {
            let at_service = &at.child("service");
            if service.name.is_empty() {
                errors.required(&at_service.child("name"), "");
            } else {
                errors.each(&at_service.child("name"), &service.name, names::dns1123_label(&service.name));
            }
            let (port, at_port) = (&service.port, at_service.child("port"));
            match (!port.name.is_empty(), port.number != 0) {
                (true, true) => errors.invalid(at, "", "cannot set both port name & port number"),
                (true, false) => errors.each(&at_port.child("name"), &port.name, names::port_name(&port.name)),
                (false, true) => pod::port_number(port.number, &at_port.child("number"), errors),
                (false, false) => errors.required(at, "port name or number is required"),
            }
        }
    }
}

/// A reference to an object of any kind.
fn object(group: Option<&str>, kind: &str, name: &str, declared: bool, at: &At, errors: &mut Errors) {
    if let Some(group) = group {
        errors.each(&at.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
    for (field, value) in [("kind", kind), ("name", name)] {
        if !value.is_empty() {
            errors.each(&at.child(field), value, names::path_segment(value));
        } else if declared {
            errors.declared_required(&at.child(field));
        } else {
            errors.required(&at.child(field), "");
        }
    }
}

/// A new IngressClass.
pub(super) fn create_class(class: &IngressClass, errors: &mut Errors) {
    metadata::create(&class.metadata, false, metadata::subdomain, errors);
    class_spec(&class.spec, errors);
}

/// A changed IngressClass.
pub(super) fn update_class(new: &IngressClass, old: &IngressClass, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    errors.immutable(&At::new("spec").child("controller"), &new.spec.controller, &old.spec.controller);
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, false, metadata::subdomain, errors);
    }
    class_spec(&new.spec, errors);
}

fn class_spec(spec: &IngressClassSpec, errors: &mut Errors) {
    let at = &At::new("spec");
    let controller = &at.child("controller");
    if spec.controller.len() > CONTROLLER_MAX {
        errors.too_long(controller, CONTROLLER_MAX);
    }
    domain_prefixed_path(&spec.controller, controller, errors);
    if let Some(parameters) = spec.parameters.get() {
        class_parameters(parameters, &at.child("parameters"), errors);
    }
}

fn class_parameters(p: &IngressClassParametersReference, at: &At, errors: &mut Errors) {
    object(p.api_group.get(), &p.kind, &p.name, true, at, errors);
    let namespace = &at.child("namespace");
    match (p.scope.get(), p.namespace.get()) {
        (None, _) => errors.required(&at.child("scope"), ""),
        (Some("Namespace"), None) => errors.required(namespace, "`parameters.scope` is set to 'Namespace'"),
        (Some("Namespace"), Some(name)) => errors.each(namespace, name, names::dns1123_label(name)),
        (Some("Cluster"), Some(_)) => errors.forbidden(namespace, "`parameters.scope` is set to 'Cluster'"),
        (Some(scope), _) => errors.one_of(&at.child("scope"), scope, &["Cluster", "Namespace"]),
    }
}

/// A new NetworkPolicy.
pub(super) fn create_policy(policy: &NetworkPolicy, errors: &mut Errors) {
    metadata::create(&policy.metadata, true, metadata::subdomain, errors);
    policy_spec(&policy.spec, errors);
}

/// A changed NetworkPolicy.
pub(super) fn update_policy(new: &NetworkPolicy, old: &NetworkPolicy, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.spec.same(&old.spec) {
        policy_spec(&new.spec, errors);
    }
}

fn policy_spec(spec: &NetworkPolicySpec, errors: &mut Errors) {
    let at = &At::new("spec");
    labels::plain(&spec.pod_selector, false, &at.child("podSelector"), errors);
    let ingress = at.child("ingress");
    for (i, rule) in spec.ingress.iter().enumerate() {
        policy_rule(&rule.ports, &rule.from, "from", &ingress.index(i), errors);
    }
    let egress = at.child("egress");
    for (i, rule) in spec.egress.iter().enumerate() {
        policy_rule(&rule.ports, &rule.to, "to", &egress.index(i), errors);
    }
    let types = &at.child("policyTypes");
    if spec.policy_types.len() > 2 {
        return errors.invalid(types, &spec.policy_types, "may not specify more than two policyTypes");
    }
    for (i, kind) in spec.policy_types.iter().enumerate() {
        errors.one_of(&types.index(i), kind, &["Ingress", "Egress"]);
    }
}

fn policy_rule(ports: &[NetworkPolicyPort], peers: &[NetworkPolicyPeer], name: &str, at: &At, errors: &mut Errors) {
    let at_ports = at.child("ports");
    for (i, port) in ports.iter().enumerate() {
        policy_port(port, &at_ports.index(i), errors);
    }
    let at_peers = at.child(name);
    for (i, peer) in peers.iter().enumerate() {
        policy_peer(peer, &at_peers.index(i), errors);
    }
}

fn policy_port(port: &NetworkPolicyPort, at: &At, errors: &mut Errors) {
    if let Some(protocol) = port.protocol.get() {
        errors.one_of(&at.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    let (at_port, at_end) = (&at.child("port"), &at.child("endPort"));
    match (&port.port, port.end_port) {
        (Some(IntOrString::Int(number)), end) => {
            pod::port_number(*number, at_port, errors);
            if let Some(end) = end {
                if end < *number {
                    errors.invalid(at_end, end, "must be greater than or equal to `port`");
                }
                pod::port_number(end, at_end, errors);
            }
        }
        (Some(IntOrString::Str(name)), end) => {
            if let Some(end) = end {
                errors.invalid(at_end, end, "may not be specified when `port` is non-numeric");
            }
            errors.each(at_port, name, names::port_name(name));
        }
        (None, Some(end)) => errors.invalid(at_end, end, "may not be specified when `port` is not specified"),
        (None, None) => {}
    }
}

fn policy_peer(peer: &NetworkPolicyPeer, at: &At, errors: &mut Errors) {
    labels::selector(&peer.pod_selector, &at.child("podSelector"), errors);
    labels::selector(&peer.namespace_selector, &at.child("namespaceSelector"), errors);
    let selectors = peer.pod_selector.is_some() || peer.namespace_selector.is_some();
    match peer.ip_block.get() {
        None if !selectors => errors.required(at, "must specify a peer"),
        None => {}
        Some(block) => {
            ip_block(block, &at.child("ipBlock"), errors);
            if selectors {
                errors.forbidden(at, "may not specify both ipBlock and another peer");
            }
        }
    }
}

fn ip_block(block: &IPBlock, at: &At, errors: &mut Errors) {
    let cidr = &at.child("cidr");
    if block.cidr.is_empty() {
        return errors.declared_required(cidr);
    }
    addresses::legacy_cidr(&block.cidr, cidr, errors);
    let Some((network, bits)) = addresses::sloppy_cidr(&block.cidr) else { return };
    let except = at.child("except");
    for (i, text) in block.except.iter().enumerate() {
        let at = &except.index(i);
        addresses::legacy_cidr(text, at, errors);
        let Some((ip, length)) = addresses::sloppy_cidr(text) else { continue };
        let inside =
            ip.is_ipv4() == network.is_ipv4() && addresses::network(ip, bits) == addresses::network(network, bits);
        if !inside || bits >= length {
            errors.invalid(at, text, "must be a strict subset of `cidr`");
        }
    }
}
