//! Services.

use super::at::{At, Errors};
use super::internal::Internal;
use super::{addresses, labels, metadata, pod};
use crate::core_v1::{Service, ServicePort, ServiceSpec};
use crate::meta_v1::ObjectMeta;
use crate::{Str, names};

const AFFINITY_SECONDS_MAX: i32 = 86_400;
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

/// A new Service.
pub(super) fn create(service: &Service, errors: &mut Errors) {
    metadata::create(&service.metadata, true, metadata::label, errors);
    both(service, None, errors);
}

/// A changed Service.
pub(super) fn update(new: &Service, old: &Service, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) && metadata::unchanged(&new.metadata, &old.metadata) {
        return;
    }
    let (now, was) = (&new.spec, &old.spec);
    let at = &At::new("spec");
    if now.type_ != "ExternalName" && was.type_ != "ExternalName" {
        cluster_ips_change(now, was, at, errors);
        ip_families_change(now, was, at, errors);
    }
    if now.type_ == "LoadBalancer" && was.type_ == "LoadBalancer" && now.load_balancer_class != was.load_balancer_class
    {
        errors.invalid(&at.child("loadBalancerClass"), &now.load_balancer_class, "may not change once set");
    }
    load_balancer_class(now, at, errors);
    if needs_health_check(was) && needs_health_check(now) && now.health_check_node_port != was.health_check_node_port {
        errors.forbidden(&at.child("healthCheckNodePort"), "field is immutable");
    }
    both(new, Some(was), errors);
}

/// A Service's status.
pub(super) fn update_status(new: &Service, old: &Service, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let status = At::new("status");
    let at = status.child("loadBalancer");
    let at = &at.child("ingress");
    let list = &new.status.load_balancer.ingress;
    if new.spec.type_ != "LoadBalancer" && !list.is_empty() {
        return errors.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    for (i, ingress) in list.iter().enumerate() {
        let at = &at.index(i);
        let known = old.status.load_balancer.ingress.iter().any(|o| o.ip == ingress.ip);
        if !ingress.ip.is_empty() && !known {
            addresses::legacy_ip(&ingress.ip, &at.child("ip"), errors);
        }
        let mode = &at.child("ipMode");
        match ingress.ip_mode.get() {
            None if !ingress.ip.is_empty() => errors.required(mode, "must be specified when `ip` is set"),
            Some(_) if ingress.ip.is_empty() => {
                errors.forbidden(mode, "may not be specified when `ip` is not set");
            }
            Some(value) => errors.one_of(mode, value, &["Proxy", "VIP"]),
            None => {}
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

fn is_headless(spec: &ServiceSpec) -> bool {
    matches!(spec.cluster_ips.as_slice(), [ip] if ip == "None")
}

fn is_external(spec: &ServiceSpec) -> bool {
    matches!(&*spec.type_, "LoadBalancer" | "NodePort") || (spec.type_ == "ClusterIP" && !spec.external_ips.is_empty())
}

fn needs_health_check(spec: &ServiceSpec) -> bool {
    spec.type_ == "LoadBalancer" && spec.external_traffic_policy == "Local"
}

/// What holds for new and changed Services (`validateService`).
fn both(service: &Service, old: Option<&ServiceSpec>, errors: &mut Errors) {
    let (spec, at) = (&*service.spec, &At::new("spec"));
    topology(&service.metadata, errors);
    let headless = is_headless(spec);
    if spec.ports.is_empty() && !headless && spec.type_ != "ExternalName" {
        errors.required(&at.child("ports"), "");
    }
    of_type(spec, headless, at, errors);
    let ports = at.child("ports");
    for (i, port) in spec.ports.iter().enumerate() {
        service_port(port, &spec.ports, i, &ports.index(i), errors);
    }
    labels::labels(&spec.selector, &at.child("selector"), errors);
    session_affinity(spec, at, errors);
    if spec.type_ != "ExternalName" {
        cluster_ips(spec, old, at, errors);
    }
    let external = at.child("externalIPs");
    for (i, ip) in spec.external_ips.iter().enumerate() {
        let before = errors.len();
        if !old.is_some_and(|old| old.external_ips.contains(ip)) {
            addresses::legacy_ip(ip, &external.index(i), errors);
        }
        if errors.len() == before {
            addresses::endpoint(ip, &external.index(i), errors);
        }
    }
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    errors.required_one_of(&at.child("type"), &spec.type_, &types);
    if spec.type_ == "ClusterIP" {
        for (i, _) in spec.ports.iter().enumerate().filter(|(_, p)| p.node_port != 0) {
            errors.forbidden(&ports.index(i).child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    for (i, port) in spec.ports.iter().enumerate().filter(|(_, p)| p.node_port != 0) {
        let twin = |p: &ServicePort| p.node_port == port.node_port && p.protocol == port.protocol;
        if spec.ports.iter().take(i).any(twin) {
            errors.duplicate(&ports.index(i).child("nodePort"), port.node_port);
        }
    }
    for (i, port) in spec.ports.iter().enumerate() {
        if spec.ports.iter().take(i).any(|p| p.port == port.port && p.protocol == port.protocol) {
            let key = ServicePort { protocol: port.protocol.clone(), port: port.port, ..Default::default() };
            errors.duplicate(&ports.index(i), Internal(&key));
        }
    }
    source_ranges(service, old, at, errors);
    let allocate = &at.child("allocateLoadBalancerNodePorts");
    match (spec.allocate_load_balancer_node_ports, spec.type_ == "LoadBalancer") {
        (Some(_), false) => errors.forbidden(allocate, ONLY_LOAD_BALANCER),
        (None, true) => errors.required(&At::new("allocateLoadBalancerNodePorts"), ""),
        _ => {}
    }
    load_balancer_class(spec, at, errors);
    traffic(spec, at, errors);
}

fn topology(meta: &ObjectMeta, errors: &mut Errors) {
    if let (Some(hints), Some(mode)) = (meta.annotations.get(HINTS), meta.annotations.get(MODE))
        && hints != mode
    {
        let at = At::new("metadata");
        let why = format!("must match annotations[{HINTS}] when both are specified");
        errors.invalid(&at.child("annotations").key(MODE), mode, why);
    }
}

fn of_type(spec: &ServiceSpec, headless: bool, at: &At, errors: &mut Errors) {
    match &*spec.type_ {
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {} services", spec.type_);
            errors.invalid(&at.child("clusterIPs").index(0), "None", why);
        }
        "ExternalName" => {
            for (name, set) in [
                ("clusterIPs", !spec.cluster_ips.is_empty()),
                ("ipFamilies", !spec.ip_families.is_empty()),
                ("ipFamilyPolicy", spec.ip_family_policy.is_some()),
            ] {
                if set {
                    errors.forbidden(&at.child(name), "may not be set for ExternalName services");
                }
            }
            let at = &at.child("externalName");
            let name = spec.external_name.strip_suffix('.').unwrap_or(&spec.external_name);
            if name.is_empty() {
                errors.required(at, "");
            } else {
                errors.each(at, name, names::dns1123_subdomain(name));
            }
        }
        _ => {}
    }
}

fn service_port(port: &ServicePort, all: &[ServicePort], i: usize, at: &At, errors: &mut Errors) {
    let name = &at.child("name");
    if port.name.is_empty() {
        if all.len() > 1 {
            errors.required(name, "");
        }
    } else {
        errors.each(name, &port.name, names::dns1123_label(&port.name));
        if all.iter().take(i).any(|p| p.name == port.name) {
            errors.duplicate(name, &port.name);
        }
    }
    pod::port_number(port.port, &at.child("port"), errors);
    errors.required_one_of(&at.child("protocol"), &port.protocol, &["SCTP", "TCP", "UDP"]);
    pod::port(&port.target_port, &at.child("targetPort"), errors);
    if let Some(protocol) = port.app_protocol.get() {
        errors.each(&at.child("appProtocol"), protocol, names::qualified_name(protocol));
    }
}

fn session_affinity(spec: &ServiceSpec, at: &At, errors: &mut Errors) {
    errors.required_one_of(&at.child("sessionAffinity"), &spec.session_affinity, &["ClientIP", "None"]);
    let at = &at.child("sessionAffinityConfig");
    match (&*spec.session_affinity, spec.session_affinity_config.get()) {
        ("ClientIP", config) => {
            let why = "when session affinity type is ClientIP";
            let Some(config) = config else { return errors.required(at, why) };
            let at = &at.child("clientIP");
            let Some(client) = config.client_ip.get() else { return errors.required(at, why) };
            let at = &at.child("timeoutSeconds");
            match client.timeout_seconds {
                None => errors.required(at, why),
                Some(seconds) if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds) => {
                    let why = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
                    errors.invalid(at, seconds, why);
                }
                Some(_) => {}
            }
        }
        ("None", Some(_)) => errors.forbidden(at, "must not be set when session affinity is None"),
        _ => {}
    }
}

/// clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy must fit (`ValidateServiceClusterIPsRelatedFields`).
fn cluster_ips(spec: &ServiceSpec, old: Option<&ServiceSpec>, at: &At, errors: &mut Errors) {
    let (at_ips, ips) = (&at.child("clusterIPs"), &spec.cluster_ips);
    match (spec.cluster_ip.is_empty(), ips.first()) {
        (false, None) => errors.required(at_ips, ""),
        (false, Some(first)) if *first != spec.cluster_ip => {
            errors.invalid(at_ips, ips, "first value must match `clusterIP`");
        }
        (true, Some(_)) => errors.invalid(at_ips, ips, "must be empty when `clusterIP` is not specified"),
        _ => {}
    }
    let at_families = at.child("ipFamilies");
    for (i, family) in spec.ip_families.iter().enumerate() {
        errors.one_of(&at_families.index(i), family, &["IPv4", "IPv6"]);
        if spec.ip_families.iter().take(i).any(|f| f == family) {
            errors.duplicate(&at_families.index(i), family);
        }
    }
    if let Some(policy) = spec.ip_family_policy.get() {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        errors.one_of(&at.child("ipFamilyPolicy"), policy, &policies);
    }
    let mut bad = false;
    for (i, ip) in ips.iter().enumerate() {
        if i == 0 && ip == "None" {
            if ips.len() > 1 {
                bad = true;
                errors.invalid(at_ips, ips, "'None' must be the first and only value");
            }
            continue;
        }
        let before = errors.len();
        if !old.is_some_and(|old| old.cluster_ips.contains(ip)) {
            addresses::legacy_ip(ip, &at_ips.index(i), errors);
        }
        bad |= errors.len() > before;
    }
    if ips.len() > 2 {
        errors.invalid(at_ips, ips, "may only hold up to 2 values");
    }
    if bad {
        return;
    }
    let is_6 = |ip: &Str| ip.contains(':');
    if ips.len() > 1 && !(ips.iter().any(is_6) && ips.iter().any(|ip| !is_6(ip))) {
        errors.invalid(at_ips, ips, "may specify no more than one IP for each IP family");
    }
    if is_headless(spec) {
        return;
    }
    for (i, (ip, family)) in ips.iter().zip(&spec.ip_families).enumerate() {
        if (family == "IPv4" && is_6(ip)) || (family == "IPv6" && !is_6(ip)) {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.invalid(&at_ips.index(i), ip, why);
        }
    }
}

const ONCE: &str = "may not change once set";

fn cluster_ips_change(new: &ServiceSpec, old: &ServiceSpec, at: &At, errors: &mut Errors) {
    if is_headless(old) && is_headless(new) {
        return;
    }
    let (now, was) = (&new.cluster_ips, &old.cluster_ips);
    let at_ips = at.child("clusterIPs");
    if now.len() == was.len() {
        for (i, _) in now.iter().zip(was).enumerate().filter(|(_, (n, w))| n != w) {
            errors.invalid(&at_ips.index(i), now, ONCE);
        }
        return;
    }
    let first = &at_ips.index(0);
    if now.is_empty() {
        errors.invalid(first, now, "primary clusterIP can not be unset");
    }
    if let (Some(n), Some(w)) = (now.first(), was.first())
        && n != w
    {
        errors.invalid(first, now, ONCE);
    }
    if was.len() > now.len() && now.len() == 1 && new.ip_family_policy.get() != Some("SingleStack") {
        let why = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        errors.invalid(&at.child("ipFamilyPolicy"), &new.ip_family_policy, why);
    }
}

fn ip_families_change(new: &ServiceSpec, old: &ServiceSpec, at: &At, errors: &mut Errors) {
    if is_headless(new) || is_headless(old) {
        return;
    }
    let (now, was) = (&new.ip_families, &old.ip_families);
    let at_families = at.child("ipFamilies");
    let first = &at_families.index(0);
    if now.len() == was.len() {
        for _ in now.iter().zip(was).filter(|(n, w)| n != w) {
            errors.invalid(first, now, ONCE);
        }
        return;
    }
    let released = was.len() > now.len();
    if released && new.cluster_ips.is_empty() {
        errors.invalid(first, now, "primary ipFamily can not be unset");
    }
    if let (Some(n), Some(w)) = (now.first(), was.first())
        && n != w
    {
        errors.invalid(first, &new.cluster_ips, ONCE);
    }
    if released && now.len() == 1 && new.ip_family_policy.get() != Some("SingleStack") {
        let why = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        errors.invalid(&at.child("ipFamilyPolicy"), &new.ip_family_policy, why);
    }
}

fn source_ranges(service: &Service, old: Option<&ServiceSpec>, at: &At, errors: &mut Errors) {
    let spec = &service.spec;
    if !spec.load_balancer_source_ranges.is_empty() {
        let at = &at.child("LoadBalancerSourceRanges");
        if spec.type_ != "LoadBalancer" {
            errors.forbidden(at, ONLY_LOAD_BALANCER);
        }
        for (i, range) in spec.load_balancer_source_ranges.iter().enumerate() {
            let range = range.trim();
            let known = old.is_some_and(|o| o.load_balancer_source_ranges.iter().any(|r| r.trim() == range));
            if !known {
                addresses::legacy_cidr(range, &at.index(i), errors);
            }
        }
    } else if let Some(ranges) = service.metadata.annotations.get(SOURCE_RANGES) {
        let meta = At::new("metadata");
        let at = meta.child("annotations");
        let at = &at.key(SOURCE_RANGES);
        if spec.type_ != "LoadBalancer" {
            errors.forbidden(at, ONLY_LOAD_BALANCER);
        }
        for range in ranges.trim().split(',').filter(|_| !ranges.trim().is_empty()) {
            addresses::legacy_cidr(range.trim(), at, errors);
        }
    }
}

fn load_balancer_class(spec: &ServiceSpec, at: &At, errors: &mut Errors) {
    let Some(class) = spec.load_balancer_class.get() else { return };
    let at = &at.child("loadBalancerClass");
    if spec.type_ == "LoadBalancer" {
        errors.each(at, class, names::qualified_name(class));
    } else {
        errors.forbidden(at, ONLY_LOAD_BALANCER);
    }
}

fn traffic(spec: &ServiceSpec, at: &At, errors: &mut Errors) {
    let policies = ["Cluster", "Local"];
    let (external, policy) = (&at.child("externalTrafficPolicy"), &spec.external_traffic_policy);
    if is_external(spec) {
        errors.required_one_of(external, policy, &policies);
    } else if !policy.is_empty() {
        errors.invalid(external, policy, "may only be set for externally-accessible services");
    }
    let (health, port) = (&at.child("healthCheckNodePort"), spec.health_check_node_port);
    if !needs_health_check(spec) {
        if port != 0 {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.invalid(health, port, why);
        }
    } else if port == 0 {
        errors.required(health, "");
    } else {
        pod::port_number(port, health, errors);
    }
    let internal = &at.child("internalTrafficPolicy");
    match spec.internal_traffic_policy.get() {
        None if matches!(&*spec.type_, "NodePort" | "LoadBalancer" | "ClusterIP") => errors.required(internal, ""),
        None => {}
        Some(policy) => errors.one_of(internal, policy, &policies),
    }
    if let Some(distribution) = spec.traffic_distribution.get() {
        let values = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        errors.one_of(&at.child("trafficDistribution"), distribution, &values);
    }
}
