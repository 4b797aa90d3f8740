//! Service, Endpoints, EndpointSlice, Ingress.

use super::writer::{format_labels, join, or_none};
use super::{Related, Writer};
use crate::value::Value;
use std::collections::BTreeSet;

/// Addresses shown before `+ n more...`.
const MAX_ENDPOINTS: usize = 3;

/// Ready addresses of slices on the port of a name.
fn format_slices(slices: &[&Value], port_name: &str) -> String {
    if slices.is_empty() {
        return "<none>".into();
    }
    let mut list = Vec::new();
    let mut count = 0usize;
    let mut more = false;
    for slice in slices {
        let mut add = |suffix: Option<i64>| {
            for e in slice.list("endpoints") {
                if list.len() == MAX_ENDPOINTS {
                    more = true;
                }
                if matches!(e.at("conditions/ready"), Value::Bool(false)) {
                    continue;
                }
                let address = e.str("addresses/0");
                if !more {
                    list.push(match suffix {
                        Some(port) if address.contains(':') => format!("[{address}]:{port}"),
                        Some(port) => format!("{address}:{port}"),
                        None => address.to_string(),
                    });
                }
                count += 1;
            }
        };
        if slice.list("ports").is_empty() {
            add(None);
        }
        for port in slice.list("ports").iter().filter(|p| p.str("name") == port_name) {
            add(Some(port.int("port")));
        }
    }
    let text = list.join(",");
    if more { format!("{text} + {} more...", count.saturating_sub(MAX_ENDPOINTS)) } else { text }
}

/// Describes a Service.
pub fn service(w: &mut Writer, s: &Value, related: &Related) {
    let spec = s.at("spec");
    w.head(s);
    w.put(0, &format!("Selector:\t{}\n", format_labels(spec.at("selector"))));
    w.put(0, &format!("Type:\t{}\n", spec.str("type")));
    if spec.has("ipFamilyPolicy") {
        w.put(0, &format!("IP Family Policy:\t{}\n", spec.str("ipFamilyPolicy")));
    }
    w.put(0, &format!("IP Families:\t{}\n", or_none(&join(spec.list("ipFamilies"), ","))));
    w.put(0, &format!("IP:\t{}\n", spec.str("clusterIP")));
    w.put(0, &format!("IPs:\t{}\n", or_none(&join(spec.list("clusterIPs"), ","))));
    if !spec.list("externalIPs").is_empty() {
        w.put(0, &format!("External IPs:\t{}\n", join(spec.list("externalIPs"), ",")));
    }
    for (title, key) in [("Desired LoadBalancer IP", "loadBalancerIP"), ("External Name", "externalName")] {
        if !spec.str(key).is_empty() {
            w.put(0, &format!("{title}:\t{}\n", spec.str(key)));
        }
    }
    if !s.list("status/loadBalancer/ingress").is_empty() {
        let texts: Vec<String> = s
            .list("status/loadBalancer/ingress")
            .iter()
            .map(|i| match (i.str("ip"), i.str("ipMode")) {
                ("", _) => i.str("hostname").to_string(),
                (ip, "") => ip.to_string(),
                (ip, mode) => format!("{ip} ({mode})"),
            })
            .collect();
        w.put(0, &format!("LoadBalancer Ingress:\t{}\n", texts.join(", ")));
    }
    let slices: Vec<&Value> = related.slices.iter().collect();
    for p in spec.list("ports") {
        let name = match p.str("name") {
            "" => "<unset>",
            n => n,
        };
        let protocol = p.str("protocol");
        w.put(0, &format!("Port:\t{name}\t{}/{protocol}\n", p.int("port")));
        let target = match p.at("targetPort") {
            Value::Null => "0".to_string(),
            t => t.go_v(),
        };
        w.put(0, &format!("TargetPort:\t{target}/{protocol}\n"));
        if p.has("appProtocol") {
            w.put(0, &format!("AppProtocol:\t{}\n", p.str("appProtocol")));
        }
        if p.int("nodePort") != 0 {
            w.put(0, &format!("NodePort:\t{name}\t{}/{protocol}\n", p.int("nodePort")));
        }
        w.put(0, &format!("Endpoints:\t{}\n", format_slices(&slices, p.str("name"))));
    }
    w.put(0, &format!("Session Affinity:\t{}\n", spec.str("sessionAffinity")));
    for (title, key) in
        [("External Traffic Policy", "externalTrafficPolicy"), ("Internal Traffic Policy", "internalTrafficPolicy")]
    {
        if !spec.str(key).is_empty() {
            w.put(0, &format!("{title}:\t{}\n", spec.str(key)));
        }
    }
    if spec.int("healthCheckNodePort") != 0 {
        w.put(0, &format!("HealthCheck NodePort:\t{}\n", spec.int("healthCheckNodePort")));
    }
    if !spec.list("loadBalancerSourceRanges").is_empty() {
        w.put(0, &format!("LoadBalancer Source Ranges:\t{}\n", join(spec.list("loadBalancerSourceRanges"), ",")));
    }
    if spec.has("trafficDistribution") {
        w.put(0, &format!("Traffic Distribution:\t{}\n", spec.str("trafficDistribution")));
    }
    w.events(&related.events);
}

/// Describes an Endpoints object.
pub fn endpoints(w: &mut Writer, ep: &Value, related: &Related) {
    w.head(ep);
    w.put(0, "Subsets:\n");
    for subset in ep.list("subsets") {
        for (title, key) in [("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")] {
            let ips: Vec<&str> = subset.list(key).iter().map(|a| a.str("ip")).collect();
            w.put(1, &format!("{title}:\t{}\n", or_none(&ips.join(","))));
        }
        if !subset.list("ports").is_empty() {
            w.put(1, "Ports:\n");
            w.put(2, "Name\tPort\tProtocol\n");
            w.put(2, "----\t----\t--------\n");
            for p in subset.list("ports") {
                let name = if p.str("name").is_empty() { "<unset>" } else { p.str("name") };
                w.put(2, &format!("{name}\t{}\t{}\n", p.int("port"), p.str("protocol")));
            }
        }
        w.put(0, "\n");
    }
    w.events(&related.events);
}

/// Describes an EndpointSlice.
pub fn endpoint_slice(w: &mut Writer, slice: &Value, related: &Related) {
    w.head(slice);
    w.put(0, &format!("AddressType:\t{}\n", slice.str("addressType")));
    if slice.list("ports").is_empty() {
        w.put(0, "Ports: <unset>\n");
    } else {
        w.put(0, "Ports:\n");
        w.put(1, "Name\tPort\tProtocol\n");
        w.put(1, "----\t----\t--------\n");
        for p in slice.list("ports") {
            let name = if p.str("name").is_empty() { "<unset>" } else { p.str("name") };
            let port = p.at("port").as_int().map_or("<unset>".to_string(), |n| n.to_string());
            w.put(1, &format!("{name}\t{port}\t{}\n", p.str("protocol")));
        }
    }
    if slice.list("endpoints").is_empty() {
        w.put(0, "Endpoints: <none>\n");
    } else {
        w.put(0, "Endpoints:\n");
        for e in slice.list("endpoints") {
            let unset = |key: &str| match e.at(key) {
                Value::Null => "<unset>".to_string(),
                v => v.go_v(),
            };
            w.put(1, &format!("- Addresses:\t{}\n", or_none(&join(e.list("addresses"), ", "))));
            w.put(2, "Conditions:\n");
            w.put(3, &format!("Ready:\t{}\n", unset("conditions/ready")));
            w.put(2, &format!("Hostname:\t{}\n", unset("hostname")));
            if e.has("targetRef") {
                w.put(2, &format!("TargetRef:\t{}/{}\n", e.str("targetRef/kind"), e.str("targetRef/name")));
            }
            w.put(2, &format!("NodeName:\t{}\n", unset("nodeName")));
            w.put(2, &format!("Zone:\t{}\n", unset("zone")));
        }
    }
    w.events(&related.events);
}

fn backend(b: &Value, related: &Related) -> String {
    if b.has("service") {
        let name = b.str("service/name");
        let number = b.int("service/port/number");
        let port_name = b.str("service/port/name");
        let port = if number != 0 { number.to_string() } else { port_name.to_string() };
        let text = format!("{name}:{port}");
        let Some(service) = related.services.iter().find(|s| s.str("metadata/name") == name) else {
            return format!("{text} (<error: services \"{name}\" not found>)");
        };
        let wanted = service.list("spec/ports").iter().find(|p| {
            (number != 0 && p.int("port") == number) || (!port_name.is_empty() && p.str("name") == port_name)
        });
        let slices: Vec<&Value> = related
            .slices
            .iter()
            .filter(|s| s.at("metadata/labels").key("kubernetes.io/service-name").as_str() == Some(name))
            .collect();
        return format!("{text} ({})", format_slices(&slices, wanted.map_or("", |p| p.str("name"))));
    }
    if b.has("resource") {
        let group = b.at("resource/apiGroup").as_str().unwrap_or("<none>");
        return format!("APIGroup: {group}, Kind: {}, Name: {}", b.str("resource/kind"), b.str("resource/name"));
    }
    String::new()
}

/// Describes an Ingress.
pub fn ingress(w: &mut Writer, ing: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", ing.str("metadata/name")));
    w.labels("Labels", ing.at("metadata/labels"));
    w.put(0, &format!("Namespace:\t{}\n", ing.str("metadata/namespace")));
    let addresses: BTreeSet<&str> = ing
        .list("status/loadBalancer/ingress")
        .iter()
        .map(|i| if i.str("ip").is_empty() { i.str("hostname") } else { i.str("ip") })
        .filter(|a| !a.is_empty())
        .collect();
    w.put(0, &format!("Address:\t{}\n", addresses.into_iter().collect::<Vec<_>>().join(",")));
    let class = ing.at("spec/ingressClassName").as_str().unwrap_or("<none>");
    w.put(0, &format!("Ingress Class:\t{class}\n"));
    let default = if ing.has("spec/defaultBackend") {
        backend(ing.at("spec/defaultBackend"), related)
    } else {
        "<default>".to_string()
    };
    w.put(0, &format!("Default backend:\t{default}\n"));
    if !ing.list("spec/tls").is_empty() {
        w.put(0, "TLS:\n");
        for t in ing.list("spec/tls") {
            let hosts = join(t.list("hosts"), ",");
            match t.str("secretName") {
                "" => w.put(1, &format!("SNI routes {hosts}\n")),
                secret => w.put(1, &format!("{secret} terminates {hosts}\n")),
            }
        }
    }
    w.put(0, "Rules:\n  Host\tPath\tBackends\n");
    w.put(1, "----\t----\t--------\n");
    let mut any = false;
    for rule in ing.list("spec/rules").iter().filter(|r| r.has("http")) {
        any = true;
        let host = if rule.str("host").is_empty() { "*" } else { rule.str("host") };
        w.put(1, &format!("{host}\t\n"));
        for path in rule.list("http/paths") {
            w.put(2, &format!("\t{} \t{}\n", path.str("path"), backend(path.at("backend"), related)));
        }
    }
    if !any {
        w.put(1, &format!("*\t*\t{default}\n"));
    }
    w.annotations("Annotations", ing.at("metadata/annotations"));
    w.events(&related.events);
}
