//! Services and their endpoints (`SetDefaults_Service`, `SetDefaults_Endpoints`, discovery's defaults).

use super::{optional_text, text};
use crate::core_v1::{ClientIPConfig, Endpoints, Service, SessionAffinityConfig};
use crate::discovery_v1::EndpointSlice;
use crate::{IntOrString, OStr, Object, Ptr};

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(service) = object.downcast_mut::<Service>() {
        self::service(service);
    } else if let Some(endpoints) = object.downcast_mut::<Endpoints>() {
        if endpoints.subsets.iter().any(|s| s.ports.iter().any(|p| p.protocol.is_empty())) {
            for subset in endpoints.subsets.make() {
                subset.ports.make().iter_mut().for_each(|p| text(&mut p.protocol, "TCP"));
            }
        }
    } else if let Some(slice) = object.downcast_mut::<EndpointSlice>() {
        if slice.ports.iter().any(|p| p.name.is_none() || p.protocol.is_none()) {
            for port in slice.ports.make() {
                optional_text(&mut port.name, "");
                optional_text(&mut port.protocol, "TCP");
            }
        }
    } else {
        return false;
    }
    true
}

fn service(service: &mut Service) {
    let spec = service.spec.make();
    text(&mut spec.session_affinity, "None");
    if spec.session_affinity == *"None" {
        spec.session_affinity_config = Ptr::default();
    } else if spec.session_affinity == *"ClientIP"
        && spec
            .session_affinity_config
            .get()
            .and_then(|c| c.client_ip.get())
            .is_none_or(|c| c.timeout_seconds.is_none())
    {
        let client_ip = Ptr::some(ClientIPConfig { timeout_seconds: Some(10_800) });
        spec.session_affinity_config = Ptr::some(SessionAffinityConfig { client_ip });
    }
    text(&mut spec.type_, "ClusterIP");
    if spec.ports.iter().any(|p| p.protocol.is_empty() || is_unset(&p.target_port)) {
        for port in spec.ports.make() {
            text(&mut port.protocol, "TCP");
            if is_unset(&port.target_port) {
                port.target_port = IntOrString::Int(port.port);
            }
        }
    }
    let balanced = spec.type_ == *"LoadBalancer";
    if (spec.type_ == *"NodePort" || balanced || !spec.external_ips.is_empty() && spec.type_ == *"ClusterIP")
        && spec.external_traffic_policy.is_empty()
    {
        spec.external_traffic_policy = "Cluster".into();
    }
    if spec.internal_traffic_policy.is_none() && spec.type_ != *"ExternalName" {
        spec.internal_traffic_policy = OStr::some("Cluster");
    }
    if balanced && spec.allocate_load_balancer_node_ports.is_none() {
        spec.allocate_load_balancer_node_ports = Some(true);
    }
    if balanced && service.status.load_balancer.ingress.iter().any(|i| !i.ip.is_empty() && i.ip_mode.is_none()) {
        for ingress in service.status.make().load_balancer.ingress.make() {
            if !ingress.ip.is_empty() {
                optional_text(&mut ingress.ip_mode, "VIP");
            }
        }
    }
}

fn is_unset(port: &IntOrString) -> bool {
    match port {
        IntOrString::Int(n) => *n == 0,
        IntOrString::Str(s) => s.is_empty(),
    }
}
