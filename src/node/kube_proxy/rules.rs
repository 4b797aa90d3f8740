//! From Services and EndpointSlices to what a node does with connections (pkg/proxy/topology.go and the nftables
//! proxier's chains).

use crate::runtime::parse_ip;
use api::core_v1::Service;
use api::discovery_v1::{Endpoint, EndpointSlice};
use api::{Rev, SortSmall, Str};
use sim::{Addr, Duration, Ip};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where connections to one address and port of a Service go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// To one of these; with a time: a client keeps the one that it had within it.
    Endpoints(Rc<[Addr]>, Option<Duration>),
    /// Nobody is there: refused.
    Refuse,
    /// Nobody is there on this node, and only this node may answer: dropped.
    Drop,
}

/// What a node does with connections.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Rules {
    /// By address and port: cluster, external and load balancers' addresses.
    pub services: BTreeMap<Addr, Way>,
    /// By port of the node itself.
    pub node_ports: BTreeMap<u16, Way>,
    /// Addresses of Services, any other port of which is refused.
    pub addresses: std::collections::BTreeSet<Ip>,
    /// Ranges of Services' addresses, any other address of which is dropped: first and last.
    pub ranges: Vec<(Ip, Ip)>,
}

/// A node, as far as it matters for the choice of endpoints.
pub struct Place<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its zone, empty if it has none.
    pub zone: &'a str,
}

/// The first and last address of `10.96.0.0/12`; none for what is no IPv4 range.
pub fn range(text: &str) -> Option<(Ip, Ip)> {
    let (base, bits) = text.split_once('/')?;
    let (base, bits) = (parse_ip(base)?, bits.parse::<u32>().ok().filter(|b| *b <= 32)?);
    let host = u32::MAX.checked_shr(bits).unwrap_or(0);
    Some((Ip(base.0 & !host), Ip(base.0 | host)))
}

/// Compiles the rules of a node.
pub fn compile(services: &[Rev<Service>], slices: &[Rev<EndpointSlice>], ranges: &[Str], place: &Place) -> Rules {
    let mut by_service: BTreeMap<(&str, &str), Vec<&Rev<EndpointSlice>>> = BTreeMap::new();
    for slice in slices.iter().filter(|s| s.address_type == "IPv4") {
        if let Some(name) = slice.metadata.labels.get("kubernetes.io/service-name") {
            by_service.entry((&slice.metadata.namespace, name)).or_default().push(slice);
        }
    }
    let mut rules = Rules { ranges: ranges.iter().filter_map(|r| range(r)).collect(), ..Rules::default() };
    for service in services {
        let spec = &service.spec;
        if spec.cluster_ip.is_empty() || spec.cluster_ip == "None" || spec.type_ == "ExternalName" {
            continue;
        }
        let Some(cluster_ip) = parse_ip(&spec.cluster_ip) else { continue };
        let none = Vec::new();
        let key = (&*service.metadata.namespace, &*service.metadata.name);
        let of_service = by_service.get(&key).unwrap_or(&none);
        let affinity = (spec.session_affinity == "ClientIP").then(|| {
            let given =
                spec.session_affinity_config.get().and_then(|c| c.client_ip.get()).and_then(|c| c.timeout_seconds);
            Duration::from_secs(given.and_then(|s| u64::try_from(s).ok()).unwrap_or(10_800))
        });
        rules.addresses.insert(cluster_ip);
        for port in spec.ports.iter().filter(|p| p.protocol.is_empty() || p.protocol == "TCP") {
            let Ok(number) = u16::try_from(port.port) else { continue };
            let endpoints = endpoints_of(of_service, &port.name);
            let local_inside = spec.internal_traffic_policy.get() == Some("Local");
            let inside = way(&endpoints, local_inside, affinity, place);
            rules.services.insert(Addr { ip: cluster_ip, port: number }, inside);
            let local_outside = spec.external_traffic_policy == "Local";
            let outside = way(&endpoints, local_outside, affinity, place);
            let ingress = service.status.load_balancer.ingress.iter().map(|i| &i.ip);
            for ip in spec.external_ips.iter().chain(ingress).filter_map(|ip| parse_ip(ip)) {
                rules.services.insert(Addr { ip, port: number }, outside.clone());
            }
            if let Some(node_port) = u16::try_from(port.node_port).ok().filter(|p| *p > 0) {
                rules.node_ports.insert(node_port, outside);
            }
        }
    }
    rules
}

/// An endpoint with its address for the port in question.
type Target<'a> = (&'a Endpoint, Addr);

fn endpoints_of<'a>(slices: &[&'a Rev<EndpointSlice>], port_name: &str) -> Vec<Target<'a>> {
    let mut all = Vec::new();
    for slice in slices {
        let port = slice.ports.iter().find(|p| {
            p.name.get().unwrap_or_default() == port_name && p.protocol.get().is_none_or(|protocol| protocol == "TCP")
        });
        let Some(port) = port.and_then(|p| p.port).and_then(|p| u16::try_from(p).ok()) else { continue };
        for endpoint in slice.endpoints.iter() {
            if let Some(ip) = endpoint.addresses.first().and_then(|a| parse_ip(a)) {
                all.push((endpoint, Addr { ip, port }));
            }
        }
    }
    // Slices may overlap: who is ready in one of them is.
    all.sort_small_by_key(|(endpoint, addr)| (*addr, !is_ready(endpoint)));
    all.dedup_by_key(|(_, addr)| *addr);
    all
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.ready.unwrap_or(true)
}

/// Serves although it is ending: used only where nobody is ready.
fn is_last_resort(endpoint: &Endpoint) -> bool {
    endpoint.conditions.serving.unwrap_or(true) && endpoint.conditions.terminating == Some(true)
}

fn way(all: &[Target], local: bool, affinity: Option<Duration>, place: &Place) -> Way {
    let chosen = |wanted: &dyn Fn(&Endpoint) -> bool| -> Vec<Addr> {
        all.iter().filter(|(e, _)| wanted(e)).map(|(_, addr)| *addr).collect()
    };
    let here = |e: &Endpoint| e.node_name.get() == Some(place.node);
    let mut usable = if local {
        chosen(&|e| is_ready(e) && here(e))
    } else {
        match hinted(all, place) {
            Hints::Node => chosen(&|e| is_ready(e) && for_node(e, place)),
            Hints::Zone => chosen(&|e| is_ready(e) && for_zone(e, place)),
            Hints::None => chosen(&is_ready),
        }
    };
    if usable.is_empty() {
        usable = chosen(&|e| is_last_resort(e) && (!local || here(e)));
    }
    if !usable.is_empty() {
        return Way::Endpoints(usable.into(), affinity);
    }
    let elsewhere = all.iter().any(|(e, _)| is_ready(e) || is_last_resort(e));
    if local && elsewhere { Way::Drop } else { Way::Refuse }
}

enum Hints {
    None,
    Zone,
    Node,
}

fn for_node(endpoint: &Endpoint, place: &Place) -> bool {
    endpoint.hints.get().is_some_and(|h| h.for_nodes.iter().any(|n| n.name == *place.node))
}

fn for_zone(endpoint: &Endpoint, place: &Place) -> bool {
    endpoint.hints.get().is_some_and(|h| h.for_zones.iter().any(|z| z.name == *place.zone))
}

/// Hints count only if all ready endpoints have them and one is for this node or zone.
fn hinted(all: &[Target], place: &Place) -> Hints {
    let ready = || all.iter().map(|(e, _)| *e).filter(|e| is_ready(e));
    if ready().next().is_none() {
        return Hints::None;
    }
    let node_hints = |e: &Endpoint| e.hints.get().is_some_and(|h| !h.for_nodes.is_empty());
    if ready().all(node_hints) && ready().any(|e| for_node(e, place)) {
        return Hints::Node;
    }
    let zone_hints = |e: &Endpoint| e.hints.get().is_some_and(|h| !h.for_zones.is_empty());
    if !place.zone.is_empty() && ready().all(zone_hints) && ready().any(|e| for_zone(e, place)) {
        return Hints::Zone;
    }
    Hints::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core_v1::ServicePort;
    use api::discovery_v1::{EndpointHints, EndpointPort, ForZone};
    use api::{Map, Ptr};

    fn service(change: impl FnOnce(&mut api::core_v1::ServiceSpec)) -> Rev<Service> {
        let mut service = Service::default();
        service.metadata.namespace = "default".into();
        service.metadata.name = "web".into();
        let spec = service.spec.make();
        spec.cluster_ip = "10.96.0.5".into();
        spec.ports = [ServicePort { port: 80, node_port: 30_080, ..ServicePort::default() }].into();
        change(spec);
        Rev::new(1, service)
    }

    fn endpoint(ip: &str, node: &str, ready: bool, change: impl FnOnce(&mut Endpoint)) -> Endpoint {
        let mut endpoint = Endpoint { addresses: [ip.into()].into(), node_name: node.into(), ..Endpoint::default() };
        endpoint.conditions.ready = Some(ready);
        endpoint.conditions.serving = Some(ready);
        change(&mut endpoint);
        endpoint
    }

    fn compiled(spec: impl FnOnce(&mut api::core_v1::ServiceSpec), endpoints: Vec<Endpoint>) -> Rules {
        let mut slice = EndpointSlice { address_type: "IPv4".into(), ..EndpointSlice::default() };
        slice.metadata.namespace = "default".into();
        slice.metadata.labels = Map::from([("kubernetes.io/service-name", Str::from("web"))]);
        slice.ports = [EndpointPort { port: Some(8080), name: "".into(), ..EndpointPort::default() }].into();
        slice.endpoints = endpoints.into();
        let place = Place { node: "node-1", zone: "za" };
        compile(&[service(spec)], &[Rev::new(2, slice)], &["10.96.0.0/12".into()], &place)
    }

    fn targets(way: Option<&Way>) -> String {
        match way {
            Some(Way::Endpoints(all, _)) => all.iter().map(|a| a.to_string()).collect::<Vec<_>>().join(" "),
            other => format!("{other:?}"),
        }
    }

    const VIP: Addr = Addr { ip: Ip::new(10, 96, 0, 5), port: 80 };

    #[test]
    fn ready_endpoints_are_used_and_none_refuse() {
        let all = || {
            vec![
                endpoint("10.244.1.2", "node-1", true, |_| {}),
                endpoint("10.244.2.2", "node-2", true, |_| {}),
                endpoint("10.244.2.3", "node-2", false, |_| {}),
            ]
        };
        let rules = compiled(|_| {}, all());
        assert_eq!(targets(rules.services.get(&VIP)), "10.244.1.2:8080 10.244.2.2:8080");
        assert_eq!(targets(rules.node_ports.get(&30_080)), "10.244.1.2:8080 10.244.2.2:8080");
        let nobody = compiled(|_| {}, vec![endpoint("10.244.1.2", "node-1", false, |_| {})]);
        assert_eq!(nobody.services.get(&VIP), Some(&Way::Refuse));
    }

    #[test]
    fn those_that_end_serve_where_nobody_else_does() {
        let ending = |ip: &str| {
            endpoint(ip, "node-2", false, |e| {
                e.conditions.serving = Some(true);
                e.conditions.terminating = Some(true);
            })
        };
        let rules = compiled(|_| {}, vec![ending("10.244.2.2")]);
        assert_eq!(targets(rules.services.get(&VIP)), "10.244.2.2:8080");
        let rules = compiled(|_| {}, vec![ending("10.244.2.2"), endpoint("10.244.1.2", "node-1", true, |_| {})]);
        assert_eq!(targets(rules.services.get(&VIP)), "10.244.1.2:8080");
    }

    #[test]
    fn a_local_policy_drops_what_no_pod_here_can_answer() {
        let far = || vec![endpoint("10.244.2.2", "node-2", true, |_| {})];
        let rules = compiled(|s| s.external_traffic_policy = "Local".into(), far());
        assert_eq!(rules.node_ports.get(&30_080), Some(&Way::Drop));
        assert_eq!(targets(rules.services.get(&VIP)), "10.244.2.2:8080");
        let rules = compiled(|s| s.internal_traffic_policy = "Local".into(), far());
        assert_eq!(rules.services.get(&VIP), Some(&Way::Drop));
    }

    #[test]
    fn zone_hints_count_if_all_have_them() {
        let in_zone = |ip: &str, zone: &str| {
            endpoint(ip, "node-9", true, |e| {
                e.hints = Ptr::some(EndpointHints {
                    for_zones: [ForZone { name: zone.into() }].into(),
                    ..EndpointHints::default()
                });
            })
        };
        let hinted = compiled(|_| {}, vec![in_zone("10.244.1.2", "za"), in_zone("10.244.2.2", "zb")]);
        assert_eq!(targets(hinted.services.get(&VIP)), "10.244.1.2:8080");
        let mixed = compiled(|_| {}, vec![in_zone("10.244.1.2", "za"), endpoint("10.244.2.2", "node-2", true, |_| {})]);
        assert_eq!(targets(mixed.services.get(&VIP)), "10.244.1.2:8080 10.244.2.2:8080");
    }

    #[test]
    fn headless_services_have_no_rules() {
        let rules = compiled(|s| s.cluster_ip = "None".into(), Vec::new());
        assert!(rules.services.is_empty() && rules.addresses.is_empty());
        assert_eq!(range("10.96.0.0/12"), Some((Ip::new(10, 96, 0, 0), Ip::new(10, 111, 255, 255))));
    }
}
