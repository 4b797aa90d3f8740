//! Node.

use super::writer::{date, join};
use super::{Related, Writer};
use crate::value::Value;
use api::Quantity;
use api::SortSmall;
use std::collections::{BTreeMap, BTreeSet};

/// A quantity's thousandths.
pub fn milli(text: &str) -> Option<i64> {
    Quantity::parse(text).ok().map(|q| q.milli_value())
}

type Amounts = BTreeMap<String, Quantity>;

fn amounts(v: &Value) -> Amounts {
    v.map_entries().filter_map(|(k, v)| Some((k.to_string(), Quantity::parse(&v.go_v()).ok()?))).collect()
}

fn add(into: &mut Amounts, more: &Amounts) {
    for (k, q) in more {
        match into.get_mut(k) {
            Some(sum) => sum.add(q),
            None => {
                into.insert(k.clone(), q.clone());
            }
        }
    }
}

fn max(into: &mut Amounts, other: &Amounts) {
    for (k, q) in other {
        match into.get(k) {
            Some(old) if old >= q => {}
            _ => {
                into.insert(k.clone(), q.clone());
            }
        }
    }
}

/// `resourcehelper.PodRequests` or `PodLimits`: containers and sidecars added up, init containers at their highest,
/// then the pod's own, then its overhead.
fn pod_amounts(pod: &Value, list: &str) -> Amounts {
    let mut total = Amounts::new();
    for c in pod.list("spec/containers") {
        add(&mut total, &amounts(c.at("resources").key(list)));
    }
    let mut sidecars = Amounts::new();
    let mut init = Amounts::new();
    for c in pod.list("spec/initContainers") {
        let own = amounts(c.at("resources").key(list));
        if c.str("restartPolicy") == "Always" {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            max(&mut init, &sidecars);
        } else {
            let mut with = own;
            add(&mut with, &sidecars);
            max(&mut init, &with);
        }
    }
    max(&mut total, &init);
    for (k, q) in amounts(pod.at("spec/resources").key(list)) {
        total.insert(k, q);
    }
    let overhead = amounts(pod.at("spec/overhead"));
    if list == "requests" {
        add(&mut total, &overhead);
    } else {
        for (k, q) in &overhead {
            if let Some(sum) = total.get_mut(k) {
                sum.add(q);
            }
        }
    }
    total
}

fn zero() -> Quantity {
    Quantity::default()
}

fn of(a: &Amounts, name: &str) -> Quantity {
    a.get(name).cloned().unwrap_or_else(zero)
}

/// `1 (25%)`
fn share(part: &Quantity, whole: &Quantity, by_milli: bool) -> String {
    let (p, w) = if by_milli { (part.milli_value(), whole.milli_value()) } else { (part.value(), whole.value()) };
    let percent = if w == 0 { 0 } else { (p as f64 / w as f64 * 100.0) as i64 };
    format!("{part} ({percent}%)")
}

fn roles(node: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (k, v) in node.map("metadata/labels") {
        if let Some(role) = k.strip_prefix("node-role.kubernetes.io/") {
            if !role.is_empty() {
                roles.insert(role.to_string());
            }
        } else if k == "kubernetes.io/role" && !v.is_empty() {
            roles.insert(v.go_v());
        }
    }
    if roles.is_empty() { "<none>".into() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

fn taints(w: &mut Writer, taints: &[Value]) {
    w.put(0, "Taints:\t");
    if taints.is_empty() {
        w.put(0, "<none>\n");
        return;
    }
    let mut sorted: Vec<&Value> = taints.iter().collect();
    sorted.sort_small_by_key(|t| format!("{},{}", t.str("effect"), t.str("key")));
    for (i, t) in sorted.into_iter().enumerate() {
        if i != 0 {
            w.put(0, "\t");
        }
        let (key, value, effect) = (t.str("key"), t.str("value"), t.str("effect"));
        let text = match (effect, value) {
            ("", "") => key.to_string(),
            ("", v) => format!("{key}={v}:"),
            (e, "") => format!("{key}:{e}"),
            (e, v) => format!("{key}={v}:{e}"),
        };
        w.put(0, &format!("{text}\n"));
    }
}

/// Describes a Node.
pub fn node(w: &mut Writer, node: &Value, related: &Related) {
    let (spec, status) = (node.at("spec"), node.at("status"));
    w.put(0, &format!("Name:\t{}\n", node.str("metadata/name")));
    w.put(0, &format!("Roles:\t{}\n", roles(node)));
    w.labels("Labels", node.at("metadata/labels"));
    w.annotations("Annotations", node.at("metadata/annotations"));
    w.put(0, &format!("CreationTimestamp:\t{}\n", date(node.str("metadata/creationTimestamp"))));
    taints(w, spec.list("taints"));
    w.put(0, &format!("Unschedulable:\t{}\n", spec.bool("unschedulable")));
    match &related.lease {
        Some(Ok(lease)) => {
            w.put(0, "Lease:\n");
            let s = lease.at("spec");
            let holder = s.at("holderIdentity").as_str().unwrap_or("<unset>");
            w.put(1, &format!("HolderIdentity:\t{holder}\n"));
            for (title, key) in [("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")] {
                let time = if s.has(key) { date(s.str(key)) } else { "<unset>".into() };
                w.put(1, &format!("{title}:\t{time}\n"));
            }
        }
        Some(Err(e)) => w.put(0, &format!("Lease:\tFailed to get lease: {e}\n")),
        None => {}
    }
    if !status.list("conditions").is_empty() {
        w.put(0, "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n");
        w.put(1, "----\t------\t-----------------\t------------------\t------\t-------\n");
        for c in status.list("conditions") {
            w.put(
                1,
                &format!(
                    "{} \t{} \t{} \t{} \t{} \t{}\n",
                    c.str("type"),
                    c.str("status"),
                    date(c.str("lastHeartbeatTime")),
                    date(c.str("lastTransitionTime")),
                    c.str("reason"),
                    c.str("message")
                ),
            );
        }
    }
    w.put(0, "Addresses:\n");
    for a in status.list("addresses") {
        w.put(1, &format!("{}:\t{}\n", a.str("type"), a.str("address")));
    }
    for (title, key) in [("Capacity", "capacity"), ("Allocatable", "allocatable")] {
        if !status.at(key).is_empty() {
            w.put(0, &format!("{title}:\n"));
            for (name, q) in status.map(key) {
                w.put(0, &format!("  {name}:\t{}\n", q.go_v()));
            }
        }
    }
    w.put(0, "System Info:\n");
    for (title, key) in [
        ("Machine ID", "machineID"),
        ("System UUID", "systemUUID"),
        ("Boot ID", "bootID"),
        ("Kernel Version", "kernelVersion"),
        ("OS Image", "osImage"),
        ("Operating System", "operatingSystem"),
        ("Architecture", "architecture"),
        ("Container Runtime Version", "containerRuntimeVersion"),
        ("Kubelet Version", "kubeletVersion"),
    ] {
        w.put(0, &format!("  {title}:\t{}\n", status.at("nodeInfo").str(key)));
    }
    if !spec.str("podCIDR").is_empty() {
        w.put(0, &format!("PodCIDR:\t{}\n", spec.str("podCIDR")));
    }
    if !spec.list("podCIDRs").is_empty() {
        w.put(0, &format!("PodCIDRs:\t{}\n", join(spec.list("podCIDRs"), ",")));
    }
    if !spec.str("providerID").is_empty() {
        w.put(0, &format!("ProviderID:\t{}\n", spec.str("providerID")));
    }
    if related.pods_error.is_some() {
        w.put(0, "Pods:\tnot authorized\n");
    } else {
        resources(w, status, &related.pods);
    }
    w.events(&related.events);
}

fn resources(w: &mut Writer, status: &Value, pods: &[Value]) {
    let allocatable = match status.at("allocatable") {
        a if a.is_empty() => amounts(status.at("capacity")),
        a => amounts(a),
    };
    let (cpu, memory) = (of(&allocatable, "cpu"), of(&allocatable, "memory"));
    w.put(0, &format!("Non-terminated Pods:\t({} in total)\n", pods.len()));
    w.put(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n");
    w.put(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n");
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    for pod in pods {
        let (req, lim) = (pod_amounts(pod, "requests"), pod_amounts(pod, "limits"));
        let age = w.since(pod.str("metadata/creationTimestamp"));
        w.put(
            1,
            &format!(
                "{}\t{}\t\t{}\t{}\t{}\t{}\t{age}\n",
                pod.str("metadata/namespace"),
                pod.str("metadata/name"),
                share(&of(&req, "cpu"), &cpu, true),
                share(&of(&lim, "cpu"), &cpu, true),
                share(&of(&req, "memory"), &memory, false),
                share(&of(&lim, "memory"), &memory, false),
            ),
        );
        add(&mut requests, &req);
        add(&mut limits, &lim);
    }
    w.put(0, "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n");
    w.put(1, "Resource\tRequests\tLimits\n");
    w.put(1, "--------\t--------\t------\n");
    for (name, by_milli) in [("cpu", true), ("memory", false), ("ephemeral-storage", false)] {
        let whole = of(&allocatable, name);
        w.put(
            1,
            &format!(
                "{name}\t{}\t{}\n",
                share(&of(&requests, name), &whole, by_milli),
                share(&of(&limits, name), &whole, by_milli)
            ),
        );
    }
    for (name, whole) in allocatable.iter().filter(|(n, _)| n.starts_with("hugepages-")) {
        w.put(
            1,
            &format!(
                "{name}\t{}\t{}\n",
                share(&of(&requests, name), whole, false),
                share(&of(&limits, name), whole, false)
            ),
        );
    }
    let standard = ["cpu", "memory", "ephemeral-storage", "pods"];
    for name in allocatable.keys().filter(|n| !standard.contains(&n.as_str()) && !n.starts_with("hugepages-")) {
        w.put(1, &format!("{name}\t{}\t{}\n", of(&requests, name), of(&limits, name)));
    }
}
