//! Namespace, ResourceQuota, LimitRange, PodDisruptionBudget, PriorityClass.

use super::writer::{date, format_labels, format_selector};
use super::{Related, Writer};
use crate::value::Value;
use api::SortSmall;
use std::collections::BTreeSet;

/// Describes a Namespace.
pub fn namespace(w: &mut Writer, ns: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", ns.str("metadata/name")));
    w.labels("Labels", ns.at("metadata/labels"));
    w.annotations("Annotations", ns.at("metadata/annotations"));
    w.put(0, &format!("Status:\t{}\n", ns.str("status/phase")));
    if !ns.list("status/conditions").is_empty() {
        w.put(0, "Conditions:\n");
        w.put(1, "Type\tStatus\tLastTransitionTime\tReason\tMessage\n");
        w.put(1, "----\t------\t------------------\t------\t-------\n");
        for c in ns.list("status/conditions") {
            w.put(
                1,
                &format!(
                    "{}\t{}\t{}\t{}\t{}\n",
                    c.str("type"),
                    c.str("status"),
                    date(c.str("lastTransitionTime")),
                    c.str("reason"),
                    c.str("message")
                ),
            );
        }
    }
    w.put(0, "\n");
    quotas(w, &related.quotas);
    w.put(0, "\n");
    limits(w, &related.limits);
}

fn scope_help(scope: &str) -> Option<&'static str> {
    Some(match scope {
        "Terminating" => {
            "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system."
        }
        "NotTerminating" => {
            "Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate."
        }
        "BestEffort" => {
            "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service."
        }
        "NotBestEffort" => {
            "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service."
        }
        _ => return None,
    })
}

fn scopes(w: &mut Writer, quota: &Value, level: usize, bullet: &str) {
    let mut scopes: Vec<&str> = quota.list("spec/scopes").iter().filter_map(Value::as_str).collect();
    if scopes.is_empty() {
        return;
    }
    scopes.sort_small();
    w.put(level, &format!("Scopes:\t{}\n", scopes.join(", ")));
    for help in scopes.into_iter().filter_map(scope_help) {
        w.put(level, &format!("{bullet} {help}\n"));
    }
}

fn usage(w: &mut Writer, quota: &Value, level: usize) {
    for (name, hard) in quota.map("status/hard") {
        let used = quota.at("status/used").key(name).as_str().unwrap_or("0");
        w.put(level, &format!("{name}\t{used}\t{}\n", hard.go_v()));
    }
}

fn quotas(w: &mut Writer, quotas: &[Value]) {
    if quotas.is_empty() {
        w.put(0, "No resource quota.\n");
        return;
    }
    w.put(0, "Resource Quotas\n");
    for q in quotas {
        w.put(1, &format!("Name:\t{}\n", q.str("metadata/name")));
        scopes(w, q, 1, "*");
        w.put(1, "Resource\tUsed\tHard\n");
        w.put(1, "--------\t---\t---\n");
        usage(w, q, 1);
    }
}

/// Describes a ResourceQuota.
pub fn quota(w: &mut Writer, q: &Value, _: &Related) {
    w.put(0, &format!("Name:\t{}\n", q.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", q.str("metadata/namespace")));
    scopes(w, q, 0, " *");
    w.put(0, "Resource\tUsed\tHard\n");
    w.put(0, "--------\t----\t----\n");
    usage(w, q, 0);
}

const LIMIT_HEADER: &str = "Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n";
const LIMIT_RULE: &str = "----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n";

fn limits(w: &mut Writer, ranges: &[Value]) {
    if ranges.is_empty() {
        w.put(0, "No LimitRange resource.\n");
        return;
    }
    w.put(0, &format!("Resource Limits\n {LIMIT_HEADER}"));
    w.put(0, &format!(" {LIMIT_RULE}"));
    for r in ranges {
        limit_items(w, r, " ");
    }
}

fn limit_items(w: &mut Writer, range: &Value, prefix: &str) {
    for item in range.list("spec/limits") {
        let lists = ["min", "max", "defaultRequest", "default", "maxLimitRequestRatio"];
        let names: BTreeSet<&str> = lists.iter().flat_map(|l| item.map(l).map(|(k, _)| k)).collect();
        for name in names {
            let cells: Vec<&str> = lists.iter().map(|l| item.at(l).key(name).as_str().unwrap_or("-")).collect();
            w.put(0, &format!("{prefix}{}\t{name}\t{}\n", item.str("type"), cells.join("\t")));
        }
    }
}

/// Describes a LimitRange.
pub fn limit_range(w: &mut Writer, range: &Value, _: &Related) {
    w.put(0, &format!("Name:\t{}\n", range.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", range.str("metadata/namespace")));
    w.put(0, LIMIT_HEADER);
    w.put(0, LIMIT_RULE);
    limit_items(w, range, "");
}

/// Describes a PodDisruptionBudget.
pub fn disruption_budget(w: &mut Writer, pdb: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", pdb.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", pdb.str("metadata/namespace")));
    if pdb.has("spec/minAvailable") {
        w.put(0, &format!("Min available:\t{}\n", pdb.at("spec/minAvailable").go_v()));
    } else if pdb.has("spec/maxUnavailable") {
        w.put(0, &format!("Max unavailable:\t{}\n", pdb.at("spec/maxUnavailable").go_v()));
    }
    if pdb.has("spec/selector") {
        w.put(0, &format!("Selector:\t{}\n", format_selector(pdb.at("spec/selector"))));
    } else {
        w.put(0, "Selector:\t<unset>\n");
    }
    w.put(0, "Status:\n");
    for (title, key) in [
        ("Allowed disruptions", "disruptionsAllowed"),
        ("Current", "currentHealthy"),
        ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ] {
        w.put(2, &format!("{title}:\t{}\n", pdb.at("status").int(key)));
    }
    w.events(&related.events);
}

/// Describes a PriorityClass.
pub fn priority_class(w: &mut Writer, pc: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", pc.str("metadata/name")));
    w.put(0, &format!("Value:\t{}\n", pc.int("value")));
    w.put(0, &format!("GlobalDefault:\t{}\n", pc.bool("globalDefault")));
    w.put(0, &format!("PreemptionPolicy:\t{}\n", pc.str("preemptionPolicy")));
    w.put(0, &format!("Description:\t{}\n", pc.str("description")));
    w.put(0, &format!("Annotations:\t{}\n", format_labels(pc.at("metadata/annotations"))));
    w.events(&related.events);
}
