//! Namespace, prefix and suffix, labels, annotations, replicas, images.

use super::Res;
use crate::print::human::quote;
use crate::value::Value;

/// Kinds whose names prefixes and suffixes leave alone.
const NAMES_KEPT: [&str; 3] = ["CustomResourceDefinition", "APIService", "Namespace"];
/// Kinds with a template and a selector of labels.
const SELECTING: [&str; 4] = ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"];
/// Kinds that have replicas.
const SCALED: [&str; 4] = ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];

/// Does what the kustomization says.
pub fn run(file: &Value, resources: &mut [Res]) -> Result<(), String> {
    let namespace = file.str("namespace");
    if !namespace.is_empty() {
        resources.iter_mut().for_each(|r| set_namespace(r, namespace));
    }
    let (prefix, suffix) = (file.str("namePrefix"), file.str("nameSuffix"));
    if !prefix.is_empty() || !suffix.is_empty() {
        for r in resources.iter_mut().filter(|r| !NAMES_KEPT.contains(&r.kind())) {
            let name = format!("{prefix}{}{suffix}", r.name());
            r.object.set("metadata/name", name);
        }
    }
    for set in file.list("labels") {
        let deep = set.bool("includeSelectors");
        let pairs: Vec<(String, Value)> = set.map("pairs").map(|(k, v)| (k.to_string(), v.clone())).collect();
        resources.iter_mut().for_each(|r| labels(r, &pairs, deep, deep || set.bool("includeTemplates")));
    }
    let pairs: Vec<(String, Value)> = file.map("commonLabels").map(|(k, v)| (k.to_string(), v.clone())).collect();
    resources.iter_mut().for_each(|r| labels(r, &pairs, true, true));
    for (key, v) in file.map("commonAnnotations") {
        for r in resources.iter_mut() {
            r.object.set_key("metadata/annotations", key, v.clone());
            for path in templates(r.kind()) {
                r.object.set_key(&format!("{path}/metadata/annotations"), key, v.clone());
            }
        }
    }
    for set in file.list("replicas") {
        let name = set.str("name");
        let mut found = false;
        for r in resources.iter_mut().filter(|r| SCALED.contains(&r.kind())) {
            if r.first_name == name || r.name() == name {
                found = true;
                r.object.set("spec/replicas", set.int("count"));
            }
        }
        if !found {
            return Err(format!(
                "resource with name {name} does not match a config with the following GVK [Deployment.[noVer].[noGrp] ReplicationController.[noVer].[noGrp] ReplicaSet.[noVer].[noGrp] StatefulSet.[noVer].[noGrp]]"
            ));
        }
    }
    for set in file.list("images") {
        if set.str("name").is_empty() {
            return Err(format!("image {} needs a name", quote("")));
        }
        resources.iter_mut().for_each(|r| images(&mut r.object, set));
    }
    Ok(())
}

fn namespaced(r: &Res) -> bool {
    api::scheme::by_api_version(r.object.str("apiVersion"), r.kind()).is_none_or(|k| k.namespaced)
}

fn set_namespace(r: &mut Res, namespace: &str) {
    if r.kind() == "Namespace" {
        r.object.set("metadata/name", namespace);
    } else if namespaced(r) {
        r.object.set("metadata/namespace", namespace);
    }
    if matches!(r.kind(), "RoleBinding" | "ClusterRoleBinding") && r.object.has("subjects") {
        for s in r.object.list_mut("subjects") {
            if s.str("kind") == "ServiceAccount" && s.str("name") == "default" {
                s.set("namespace", namespace);
            }
        }
    }
}

/// Where the templates of a kind stand.
fn templates(kind: &str) -> &'static [&'static str] {
    match kind {
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "Job" | "ReplicationController" => {
            &["spec/template"]
        }
        "CronJob" => &["spec/jobTemplate", "spec/jobTemplate/spec/template"],
        _ => &[],
    }
}

fn labels(r: &mut Res, pairs: &[(String, Value)], selectors: bool, in_templates: bool) {
    let kind = r.kind().to_string();
    let o = &mut r.object;
    for (key, v) in pairs {
        o.set_key("metadata/labels", key, v.clone());
        if in_templates {
            for path in templates(&kind) {
                o.set_key(&format!("{path}/metadata/labels"), key, v.clone());
            }
            if kind == "StatefulSet" && o.has("spec/volumeClaimTemplates") {
                for claim in o.list_mut("spec/volumeClaimTemplates") {
                    claim.set_key("metadata/labels", key, v.clone());
                }
            }
        }
        if !selectors {
            continue;
        }
        if SELECTING.contains(&kind.as_str()) {
            o.set_key("spec/selector/matchLabels", key, v.clone());
        }
        if kind == "Service" || kind == "ReplicationController" {
            o.set_key("spec/selector", key, v.clone());
        }
        for path in
            ["spec/selector/matchLabels", "spec/podSelector/matchLabels", "spec/jobTemplate/spec/selector/matchLabels"]
        {
            if o.has(path) && !SELECTING.contains(&kind.as_str()) {
                o.set_key(path, key, v.clone());
            }
        }
        if kind == "NetworkPolicy" {
            for (rules, peers) in [("spec/ingress", "from"), ("spec/egress", "to")] {
                if !o.has(rules) {
                    continue;
                }
                for rule in o.list_mut(rules) {
                    if !rule.has(peers) {
                        continue;
                    }
                    for peer in rule.list_mut(peers) {
                        if peer.has("podSelector/matchLabels") {
                            peer.set_key("podSelector/matchLabels", key, v.clone());
                        }
                    }
                }
            }
        }
    }
}

/// Changes the images of all containers that use one.
fn images(v: &mut Value, set: &Value) {
    match v {
        Value::Object(m) => {
            for (key, inner) in m.iter_mut() {
                if let ("containers" | "initContainers", Value::Array(list)) = (key.as_str(), &mut *inner) {
                    for c in list {
                        if let Some(new) = image(c.str("image"), set) {
                            c.set("image", new);
                        }
                    }
                }
                images(inner, set);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| images(inner, set)),
        _ => {}
    }
}

fn image(current: &str, set: &Value) -> Option<String> {
    let (rest, digest) = match current.split_once('@') {
        Some((r, d)) => (r, Some(d)),
        None => (current, None),
    };
    let (name, tag) = match rest.rsplit_once(':') {
        Some((n, t)) if !t.contains('/') => (n, Some(t)),
        _ => (rest, None),
    };
    if name != set.str("name") {
        return None;
    }
    let name = if set.str("newName").is_empty() { name } else { set.str("newName") };
    let new_tag = match set.at("newTag") {
        Value::Null => String::new(),
        v => v.go_v(),
    };
    let new_digest = set.str("digest");
    Some(match (new_digest.is_empty(), new_tag.is_empty()) {
        (false, false) => format!("{name}:{new_tag}@{new_digest}"),
        (false, true) => format!("{name}@{new_digest}"),
        (true, false) => format!("{name}:{new_tag}"),
        (true, true) => {
            let tag = tag.map_or(String::new(), |t| format!(":{t}"));
            let digest = digest.map_or(String::new(), |d| format!("@{d}"));
            format!("{name}{tag}{digest}")
        }
    })
}
