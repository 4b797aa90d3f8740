//! Pod.

use super::template::{containers, resources, spread_constraints, tolerations, volumes};
use super::writer::date;
use super::{Related, Writer};
use crate::value::Value;

/// Describes a Pod.
pub fn pod(w: &mut Writer, pod: &Value, related: &Related) {
    let (spec, status) = (pod.at("spec"), pod.at("status"));
    w.put(0, &format!("Name:\t{}\n", pod.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", pod.str("metadata/namespace")));
    if spec.has("priority") {
        w.put(0, &format!("Priority:\t{}\n", spec.int("priority")));
    }
    for (title, key) in [
        ("Priority Class Name", "priorityClassName"),
        ("Runtime Class Name", "runtimeClassName"),
        ("Service Account", "serviceAccountName"),
    ] {
        if !spec.str(key).is_empty() {
            w.put(0, &format!("{title}:\t{}\n", spec.str(key)));
        }
    }
    match spec.str("nodeName") {
        "" => w.put(0, "Node:\t<none>\n"),
        node => w.put(0, &format!("Node:\t{node}/{}\n", status.str("hostIP"))),
    }
    if status.has("startTime") {
        w.put(0, &format!("Start Time:\t{}\n", date(status.str("startTime"))));
    }
    w.labels("Labels", pod.at("metadata/labels"));
    w.annotations("Annotations", pod.at("metadata/annotations"));
    let phase = status.str("phase");
    if pod.has("metadata/deletionTimestamp") && phase != "Failed" && phase != "Succeeded" {
        let lasts = w.since(pod.str("metadata/deletionTimestamp"));
        w.put(0, &format!("Status:\tTerminating (lasts {lasts})\n"));
        w.put(0, &format!("Termination Grace Period:\t{}s\n", pod.int("metadata/deletionGracePeriodSeconds")));
    } else {
        w.put(0, &format!("Status:\t{phase}\n"));
    }
    for (title, key) in [("Reason", "reason"), ("Message", "message")] {
        if !status.str(key).is_empty() {
            w.put(0, &format!("{title}:\t{}\n", status.str(key)));
        }
    }
    if spec.has("securityContext/seccompProfile") {
        let profile = spec.at("securityContext/seccompProfile");
        w.put(0, &format!("SeccompProfile:\t{}\n", profile.str("type")));
        if profile.str("type") == "Localhost" {
            w.put(0, &format!("LocalhostProfile:\t{}\n", profile.str("localhostProfile")));
        }
    }
    w.put(0, &format!("IP:\t{}\n", status.str("podIP")));
    if status.list("podIPs").is_empty() {
        w.put(0, "IPs:\t<none>\n");
    } else {
        w.put(0, "IPs:\n");
        for ip in status.list("podIPs") {
            w.put(1, &format!("IP:\t{}\n", ip.str("ip")));
        }
    }
    w.controlled_by(pod);
    if !status.str("nominatedNodeName").is_empty() {
        w.put(0, &format!("NominatedNodeName:\t{}\n", status.str("nominatedNodeName")));
    }
    if spec.has("resources") {
        w.put(0, "Resources:\n");
        resources(w, spec.at("resources"), 1);
    }
    if !spec.list("initContainers").is_empty() {
        containers(
            w,
            "Init Containers",
            spec.list("initContainers"),
            status.list("initContainerStatuses"),
            Some(pod),
            "",
        );
    }
    containers(w, "Containers", spec.list("containers"), status.list("containerStatuses"), Some(pod), "");
    if !spec.list("ephemeralContainers").is_empty() {
        containers(
            w,
            "Ephemeral Containers",
            spec.list("ephemeralContainers"),
            status.list("ephemeralContainerStatuses"),
            Some(pod),
            "",
        );
    }
    if !spec.list("readinessGates").is_empty() {
        w.put(0, "Readiness Gates:\n  Type\tStatus\n");
        for gate in spec.list("readinessGates") {
            let kind = gate.str("conditionType");
            let found = status.list("conditions").iter().find(|c| c.str("type") == kind);
            w.put(1, &format!("{kind} \t{} \n", found.map_or("<none>", |c| c.str("status"))));
        }
    }
    if !status.list("conditions").is_empty() {
        w.put(0, "Conditions:\n  Type\tStatus\n");
        for c in status.list("conditions") {
            w.put(1, &format!("{} \t{} \n", c.str("type"), c.str("status")));
        }
    }
    volumes(w, spec.list("volumes"), "");
    w.put(0, &format!("QoS Class:\t{}\n", status.str("qosClass")));
    w.labels("Node-Selectors", spec.at("nodeSelector"));
    tolerations(w, "Tolerations", spec.list("tolerations"));
    spread_constraints(w, spec.list("topologySpreadConstraints"), "");
    if spec.has("schedulingGroup") {
        w.put(0, "SchedulingGroup:\n");
        w.put(1, &format!("PodGroupName:\t{}\n", spec.str("schedulingGroup/podGroupName")));
    }
    w.events(&related.events);
}
