//! NetworkPolicies, IngressClasses, ServiceCIDRs and IPAddresses.

use super::Related;
use super::writer::{Writer, date, format_selector, join, or_none};
use crate::print::time::parse_rfc3339;
use crate::value::Value;

/// Describes a NetworkPolicy.
pub fn network_policy(w: &mut Writer, np: &Value, _: &Related) {
    let spec = np.at("spec");
    w.put(0, &format!("Name:\t{}\n", np.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", np.str("metadata/namespace")));
    let created = np.str("metadata/creationTimestamp");
    let created = match parse_rfc3339(created) {
        Some(_) => format!("{} +0000 UTC", created.trim_end_matches('Z').replace('T', " ")),
        None => "0001-01-01 00:00:00 +0000 UTC".into(),
    };
    w.put(0, &format!("Created on:\t{created}\n"));
    w.labels("Labels", np.at("metadata/labels"));
    w.annotations("Annotations", np.at("metadata/annotations"));
    w.put(0, "Spec:\n");
    let pods = match format_selector(spec.at("podSelector")) {
        t if t == "<none>" => "<none> (Allowing the specific traffic to all pods in this namespace)".to_string(),
        t => t,
    };
    w.put(1, &format!("PodSelector:     {pods}\n"));
    let types: Vec<&str> = spec.list("policyTypes").iter().filter_map(Value::as_str).collect();
    for (name, rules, peers, word, other) in
        [("Ingress", "ingress", "from", "From", "source"), ("Egress", "egress", "to", "To", "destination")]
    {
        if !types.contains(&name) {
            w.put(1, &format!("Not affecting {rules} traffic\n"));
            continue;
        }
        w.put(1, &format!("Allowing {rules} traffic:\n"));
        let list = spec.list(rules);
        if list.is_empty() {
            w.put(2, &format!("<none> (Selected pods are isolated for {rules} connectivity)\n"));
        }
        for (i, rule) in list.iter().enumerate() {
            ports(w, rule.list("ports"));
            let from = rule.list(peers);
            if from.is_empty() {
                w.put(2, &format!("{word}: <any> (traffic not restricted by {other})\n"));
            }
            for p in from {
                w.put(2, &format!("{word}:\n"));
                peer(w, p);
            }
            if i + 1 != list.len() {
                w.put(2, "----------\n");
            }
        }
    }
    w.put(1, &format!("Policy Types: {}\n", or_none(&types.join(", "))));
}

fn ports(w: &mut Writer, ports: &[Value]) {
    if ports.is_empty() {
        w.put(2, "To Port: <any> (traffic allowed to all ports)\n");
    }
    for p in ports {
        let protocol = p.at("protocol").as_str().unwrap_or("TCP");
        let port = if p.has("port") { p.at("port").go_v() } else { "<nil>".into() };
        match p.at("endPort").as_int() {
            Some(end) => w.put(2, &format!("To Port Range: {port}-{end}/{protocol}\n")),
            None => w.put(2, &format!("To Port: {port}/{protocol}\n")),
        }
    }
}

fn peer(w: &mut Writer, p: &Value) {
    if p.has("namespaceSelector") {
        w.put(3, &format!("NamespaceSelector: {}\n", format_selector(p.at("namespaceSelector"))));
    }
    if p.has("podSelector") {
        w.put(3, &format!("PodSelector: {}\n", format_selector(p.at("podSelector"))));
    }
    if !p.has("namespaceSelector") && !p.has("podSelector") && p.has("ipBlock") {
        w.put(3, "IPBlock:\n");
        w.put(4, &format!("CIDR: {}\n", p.str("ipBlock/cidr")));
        w.put(4, &format!("Except: {}\n", join(p.list("ipBlock/except"), ", ")));
    }
}

fn global(w: &mut Writer, object: &Value) {
    w.put(0, &format!("Name:\t{}\n", object.str("metadata/name")));
    w.labels("Labels", object.at("metadata/labels"));
    w.annotations("Annotations", object.at("metadata/annotations"));
}

/// Describes an IngressClass.
pub fn ingress_class(w: &mut Writer, ic: &Value, related: &Related) {
    global(w, ic);
    w.put(0, &format!("Controller:\t{}\n", ic.str("spec/controller")));
    let parameters = ic.at("spec/parameters");
    if !parameters.is_null() {
        w.put(0, "Parameters:\n");
        if parameters.has("apiGroup") {
            w.put(1, &format!("APIGroup:\t{}\n", parameters.str("apiGroup")));
        }
        w.put(1, &format!("Kind:\t{}\n", parameters.str("kind")));
        w.put(1, &format!("Name:\t{}\n", parameters.str("name")));
    }
    w.events(&related.events);
}

/// Describes a ServiceCIDR.
pub fn service_cidr(w: &mut Writer, cidr: &Value, related: &Related) {
    global(w, cidr);
    w.put(0, &format!("CIDRs:\t{}\n", join(cidr.list("spec/cidrs"), ", ")));
    let conditions = cidr.list("status/conditions");
    if !conditions.is_empty() {
        w.put(0, "Status:\n");
        w.put(0, "Conditions:\n");
        w.put(1, "Type\tStatus\tLastTransitionTime\tReason\tMessage\n");
        w.put(1, "----\t------\t------------------\t------\t-------\n");
        for c in conditions {
            let time = date(c.str("lastTransitionTime"));
            let cells = [c.str("type"), c.str("status"), &time, c.str("reason"), c.str("message")];
            w.put(1, &format!("{}\n", cells.join("\t")));
        }
    }
    w.events(&related.events);
}

/// Describes an IPAddress.
pub fn ip_address(w: &mut Writer, ip: &Value, related: &Related) {
    global(w, ip);
    let parent = ip.at("spec/parentRef");
    if !parent.is_null() {
        w.put(0, "Parent Reference:\n");
        for (title, key) in [("Group", "group"), ("Resource", "resource"), ("Namespace", "namespace"), ("Name", "name")]
        {
            w.put(1, &format!("{title}:\t{}\n", parent.str(key)));
        }
    }
    w.events(&related.events);
}
