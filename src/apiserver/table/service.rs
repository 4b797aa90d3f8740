//! Rows of the networking kinds.

use api::SortSmall;
use api::core_v1::{Endpoints, Service};
use api::discovery_v1::EndpointSlice;
use api::networking_v1::{IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR};
use api::table::{Cell, Column};

use super::core::labels;
use super::{Env, or_none};

pub static SERVICE: &[Column] = &[
    Column::name(),
    Column::new("Type", "string"),
    Column::new("Cluster-IP", "string"),
    Column::new("External-IP", "string"),
    Column::new("Port(s)", "string"),
    Column::new("Age", "string"),
    Column::wide("Selector", "string"),
];
pub static ENDPOINTS: &[Column] = &[Column::name(), Column::new("Endpoints", "string"), Column::new("Age", "string")];
pub static ENDPOINT_SLICE: &[Column] = &[
    Column::name(),
    Column::new("AddressType", "string"),
    Column::new("Ports", "string"),
    Column::new("Endpoints", "string"),
    Column::new("Age", "string"),
];
pub static INGRESS: &[Column] = &[
    Column::name(),
    Column::new("Class", "string"),
    Column::new("Hosts", "string"),
    Column::new("Address", "string"),
    Column::new("Ports", "string"),
    Column::new("Age", "string"),
];
pub static INGRESS_CLASS: &[Column] = &[
    Column::name(),
    Column::new("Controller", "string"),
    Column::new("Parameters", "string"),
    Column::new("Age", "string"),
];
pub static NETWORK_POLICY: &[Column] =
    &[Column::name(), Column::new("Pod-Selector", "string"), Column::new("Age", "string")];
pub static SERVICE_CIDR: &[Column] = &[Column::name(), Column::new("CIDRs", "string"), Column::new("Age", "string")];
pub static IP_ADDRESS: &[Column] = &[Column::name(), Column::new("ParentRef", "string")];

/// How many addresses a column shows before `+ N more...`.
const SHOWN: usize = 3;

pub fn service(object: &Service, env: &Env) -> Vec<Cell> {
    let spec = &*object.spec;
    let ports: Vec<String> = spec
        .ports
        .iter()
        .map(|port| {
            if port.node_port > 0 {
                format!("{}:{}/{}", port.port, port.node_port, port.protocol)
            } else {
                format!("{}/{}", port.port, port.protocol)
            }
        })
        .collect();
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&spec.type_),
        Cell::from(spec.cluster_ips.first().map_or("<none>", |ip| &**ip)),
        Cell::from(external_ip(object)),
        Cell::from(or_none(ports.join(","))),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        Cell::from(labels(&spec.selector)),
    ]
}

fn external_ip(object: &Service) -> String {
    let external = object.spec.external_ips.iter().map(|ip| ip.to_string());
    match &*object.spec.type_ {
        "ClusterIP" | "NodePort" => or_none(external.collect::<Vec<_>>().join(",")),
        "LoadBalancer" => {
            let mut ips: Vec<String> = object
                .status
                .load_balancer
                .ingress
                .iter()
                .map(|i| if i.ip.is_empty() { i.hostname.to_string() } else { i.ip.to_string() })
                .filter(|ip| !ip.is_empty())
                .collect();
            ips.sort_small();
            ips.dedup();
            ips.extend(external);
            if ips.is_empty() { "<pending>".to_string() } else { ips.join(",") }
        }
        "ExternalName" => object.spec.external_name.to_string(),
        _ => "<unknown>".to_string(),
    }
}

fn more(list: Vec<String>, count: usize) -> String {
    let text = list.join(",");
    if count > SHOWN { format!("{text} + {} more...", count - SHOWN) } else { text }
}

pub fn endpoints(object: &Endpoints, env: &Env) -> Vec<Cell> {
    let mut list = Vec::new();
    let mut count = 0;
    for subset in object.subsets.iter() {
        let mut push = |text: String| {
            count += 1;
            if list.len() < SHOWN {
                list.push(text);
            }
        };
        if subset.ports.is_empty() {
            subset.addresses.iter().for_each(|address| push(address.ip.to_string()));
        }
        for port in subset.ports.iter() {
            for address in subset.addresses.iter() {
                let ip = &*address.ip;
                push(if ip.contains(':') { format!("[{ip}]:{}", port.port) } else { format!("{ip}:{}", port.port) });
            }
        }
    }
    let text = if object.subsets.is_empty() { "<none>".to_string() } else { more(list, count) };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(text),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

fn or_unset(text: String) -> String {
    if text.is_empty() { "<unset>".to_string() } else { text }
}

pub fn endpoint_slice(object: &EndpointSlice, env: &Env) -> Vec<Cell> {
    let ports = object.ports.iter().take(SHOWN).map(|port| match (port.port, port.name.get()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_string(),
        (None, None) => "*".to_string(),
    });
    let addresses = || object.endpoints.iter().flat_map(|endpoint| endpoint.addresses.iter());
    let shown = addresses().take(SHOWN).map(|address| address.to_string()).collect();
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.address_type),
        Cell::from(or_unset(more(ports.collect(), object.ports.len()))),
        Cell::from(or_unset(more(shown, addresses().count()))),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn ingress(object: &Ingress, env: &Env) -> Vec<Cell> {
    let rules = &object.spec.rules;
    let hosts: Vec<String> =
        rules.iter().take(SHOWN).map(|rule| rule.host.to_string()).filter(|host| !host.is_empty()).collect();
    let hosts = if hosts.is_empty() { "*".to_string() } else { more(hosts, rules.len()) };
    let mut addresses: Vec<String> = object
        .status
        .load_balancer
        .ingress
        .iter()
        .map(|i| if i.ip.is_empty() { i.hostname.to_string() } else { i.ip.to_string() })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_small();
    addresses.dedup();
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.spec.ingress_class_name.get().unwrap_or("<none>")),
        Cell::from(hosts),
        Cell::from(addresses.join(",")),
        Cell::from(if object.spec.tls.is_empty() { "80" } else { "80, 443" }),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn ingress_class(object: &IngressClass, env: &Env) -> Vec<Cell> {
    let mut name = object.metadata.name.to_string();
    let default = object.metadata.annotations.get("ingressclass.kubernetes.io/is-default-class");
    if default.is_some_and(|value| &**value == "true") {
        name.push_str(" (default)");
    }
    let parameters = match object.spec.parameters.get() {
        None => "<none>".to_string(),
        Some(p) => match p.api_group.get() {
            Some(group) => format!("{}.{group}/{}", p.kind, p.name),
            None => format!("{}/{}", p.kind, p.name),
        },
    };
    vec![
        Cell::from(name),
        Cell::from(&object.spec.controller),
        Cell::from(parameters),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn network_policy(object: &NetworkPolicy, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(super::apps::selector(Some(&object.spec.pod_selector))),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn service_cidr(object: &ServiceCIDR, env: &Env) -> Vec<Cell> {
    let cidrs: Vec<&str> = object.spec.cidrs.iter().map(|cidr| &**cidr).collect();
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(cidrs.join(",")),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

/// With the age, for which the real server has no column either.
pub fn ip_address(object: &IPAddress, env: &Env) -> Vec<Cell> {
    let parent = match object.spec.parent_ref.get() {
        None => "<none>".to_string(),
        Some(parent) => {
            let mut text = parent.resource.to_string();
            for part in [&parent.group, &parent.namespace, &parent.name] {
                if !part.is_empty() {
                    text.push(if std::ptr::eq(part, &parent.group) { '.' } else { '/' });
                    text.push_str(part);
                }
            }
            text
        }
    };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(parent),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}
