//! Services, endpoints and the networking group (pkg/registry/core/service).

use api::core_v1::{Service, ServiceStatus};
use api::{List, Object, Str};

use super::{Generation, Moment, SPEC, Strategy};

const NETWORKING: &str = "networking.k8s.io";

pub(super) static STRATEGIES: &[Strategy] = &[
    Strategy {
        resource: "services",
        key: "services/specs",
        create_on_update: true,
        return_deleted: true,
        prepare_create,
        prepare_update,
        ..Strategy::ORDINARY
    },
    Strategy { resource: "endpoints", key: "services/endpoints", create_on_update: true, ..Strategy::ORDINARY },
    Strategy {
        group: "discovery.k8s.io",
        resource: "endpointslices",
        generation: Generation::On(&["addressType", "endpoints", "ports", "labels"]),
        ..Strategy::ORDINARY
    },
    Strategy { group: NETWORKING, resource: "ingresses", key: "ingress", generation: SPEC, ..Strategy::ORDINARY },
    Strategy { group: NETWORKING, resource: "ingressclasses", generation: SPEC, ..Strategy::ORDINARY },
    Strategy { group: NETWORKING, resource: "networkpolicies", generation: SPEC, ..Strategy::ORDINARY },
    Strategy { group: NETWORKING, resource: "servicecidrs", ..Strategy::ORDINARY },
    Strategy { group: NETWORKING, resource: "ipaddresses", ..Strategy::ORDINARY },
];

/// What kubectl prints for every request of the old endpoints.
pub const ENDPOINTS_DEPRECATED: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

fn prepare_create(object: &mut dyn Object, _: &Moment) {
    let Some(service) = object.downcast_mut::<Service>() else { return };
    service.status = ServiceStatus::default().into();
}

fn prepare_update(object: &mut dyn Object, old: &dyn Object, _: &Moment) {
    let (Some(new), Some(old)) = (object.downcast_mut::<Service>(), old.downcast_ref::<Service>()) else { return };
    drop_dependent(new, old);
}

/// What comes before an update's allocation: the client need not repeat what the server had given.
pub fn before_update(object: &mut dyn Object, old: &dyn Object) {
    let (Some(new), Some(old)) = (object.downcast_mut::<Service>(), old.downcast_ref::<Service>()) else { return };
    keep_allocated(new, old);
    normalize_cluster_ips(new, Some(old));
}

/// What comes before a creation's allocation.
pub fn before_create(service: &mut Service) {
    normalize_cluster_ips(service, None);
}

/// Whether the type has a cluster IP (also "None").
pub fn needs_cluster_ip(service: &Service) -> bool {
    matches!(&*service.spec.type_, "ClusterIP" | "NodePort" | "LoadBalancer")
}

/// Whether the type has node ports.
pub fn needs_node_port(service: &Service) -> bool {
    match &*service.spec.type_ {
        "NodePort" => true,
        "LoadBalancer" => service.spec.allocate_load_balancer_node_ports.unwrap_or(true),
        _ => false,
    }
}

/// Whether the nodes of a load balancer are asked for the health of the service there.
pub fn needs_health_check(service: &Service) -> bool {
    &*service.spec.type_ == "LoadBalancer" && &*service.spec.external_traffic_policy == "Local"
}

/// Keeps `clusterIP` and `clusterIPs` the same for clients that know only one of them.
fn normalize_cluster_ips(new: &mut Service, old: Option<&Service>) {
    let Some(old) = old else {
        if !new.spec.cluster_ip.is_empty() && new.spec.cluster_ips.is_empty() {
            let ip = new.spec.cluster_ip.clone();
            new.spec.make().cluster_ips = List::from(vec![ip]);
        }
        return;
    };
    if !old.spec.cluster_ips.is_empty() && new.spec.cluster_ips.is_empty() && old.spec.cluster_ip == new.spec.cluster_ip
    {
        new.spec.make().cluster_ips = old.spec.cluster_ips.clone();
    }
    if old.spec.cluster_ip != new.spec.cluster_ip && old.spec.cluster_ips[..] == new.spec.cluster_ips[..] {
        let ip = new.spec.cluster_ip.clone();
        new.spec.make().cluster_ips = if ip.is_empty() { List::default() } else { List::from(vec![ip]) };
    }
}

/// Fills in what the server had allocated and the client left out.
fn keep_allocated(new: &mut Service, old: &Service) {
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        if new.spec.cluster_ip.is_empty() {
            new.spec.make().cluster_ip = old.spec.cluster_ip.clone();
        }
        if new.spec.cluster_ips.is_empty() {
            new.spec.make().cluster_ips = old.spec.cluster_ips.clone();
        }
        if new.spec.ip_families.is_empty() {
            new.spec.make().ip_families = old.spec.ip_families.clone();
        }
        if new.spec.ip_family_policy.get().is_none() {
            new.spec.make().ip_family_policy = old.spec.ip_family_policy.clone();
        }
    }
    if needs_health_check(old) && needs_health_check(new) && new.spec.health_check_node_port == 0 {
        new.spec.make().health_check_node_port = old.spec.health_check_node_port;
    }
    if needs_node_port(old) && needs_node_port(new) {
        let used: Vec<i32> = new.spec.ports.iter().map(|p| p.node_port).filter(|p| *p != 0).collect();
        let before: Vec<(Str, i32)> = old.spec.ports.iter().map(|p| (p.name.clone(), p.node_port)).collect();
        for port in new.spec.make().ports.make() {
            if port.node_port == 0
                && let Some((_, kept)) = before.iter().find(|(name, _)| *name == port.name)
                && !used.contains(kept)
            {
                port.node_port = *kept;
            }
        }
    }
}

/// Clears what the new type has no use for and the client didn't change himself.
fn drop_dependent(new: &mut Service, old: &Service) {
    if needs_cluster_ip(old) && !needs_cluster_ip(new) {
        if old.spec.cluster_ip == new.spec.cluster_ip {
            let spec = new.spec.make();
            spec.cluster_ip = Str::default();
            spec.cluster_ips = List::default();
        }
        if old.spec.ip_families[..] == new.spec.ip_families[..] {
            new.spec.make().ip_families = List::default();
        }
        if old.spec.ip_family_policy.get() == new.spec.ip_family_policy.get() {
            new.spec.make().ip_family_policy = Default::default();
        }
    }
    let ports = |service: &Service| service.spec.ports.iter().map(|p| p.node_port).collect::<Vec<_>>();
    if needs_node_port(old) && !needs_node_port(new) && ports(old) == ports(new) {
        for port in new.spec.make().ports.make() {
            port.node_port = 0;
        }
    }
    let port = old.spec.health_check_node_port;
    if needs_health_check(old) && !needs_health_check(new) && new.spec.health_check_node_port == port {
        new.spec.make().health_check_node_port = 0;
    }
    let external = |service: &Service| {
        matches!(&*service.spec.type_, "NodePort" | "LoadBalancer")
            || (&*service.spec.type_ == "ClusterIP" && !service.spec.external_ips.is_empty())
    };
    if external(old) && !external(new) && old.spec.external_traffic_policy == new.spec.external_traffic_policy {
        new.spec.make().external_traffic_policy = Str::default();
    }
    if &*old.spec.type_ == "LoadBalancer" && &*new.spec.type_ != "LoadBalancer" {
        if old.spec.allocate_load_balancer_node_ports == new.spec.allocate_load_balancer_node_ports {
            new.spec.make().allocate_load_balancer_node_ports = None;
        }
        if old.spec.load_balancer_class.get() == new.spec.load_balancer_class.get() {
            new.spec.make().load_balancer_class = Default::default();
        }
        new.status.make().load_balancer = Default::default();
    }
}
