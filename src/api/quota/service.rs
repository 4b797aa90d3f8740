//! What a Service uses (pkg/quota/v1/evaluator/core/services.go).

use super::amounts::ResourceList;
use super::{count, one};
use crate::core_v1::Service;

/// What quotas count of Services, sorted.
pub(super) const RESOURCES: [&str; 4] = ["count/services", "services", "services.loadbalancers", "services.nodeports"];

/// What the Service uses: node ports that are still to be allocated count too.
pub(super) fn usage(service: &Service) -> ResourceList {
    let mut used = ResourceList::default();
    used.insert("count/services", one());
    used.insert("services", one());
    let all = service.spec.ports.len();
    let (balancers, ports) = match &*service.spec.type_ {
        "NodePort" => (0, all),
        "LoadBalancer" if service.spec.allocate_load_balancer_node_ports == Some(false) => {
            (1, service.spec.ports.iter().filter(|port| port.node_port != 0).count())
        }
        "LoadBalancer" => (1, all),
        _ => (0, 0),
    };
    used.insert("services.loadbalancers", count(balancers));
    used.insert("services.nodeports", count(ports));
    used
}

/// The type, where it makes a difference to a quota.
pub(super) fn charged_type(service: &Service) -> &str {
    match &*service.spec.type_ {
        "NodePort" | "LoadBalancer" => &service.spec.type_,
        _ => "",
    }
}
