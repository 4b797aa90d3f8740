//! References: what names a resource follows its new name.

use super::Res;
use crate::value::Value;

/// Mends references after names changed; `before` are the names that resources had, in their order.
pub fn settle(resources: &mut [Res], before: &[String]) {
    let table: Vec<(String, String, String, String)> = resources
        .iter()
        .zip(before)
        .map(|(r, old)| {
            (r.kind().to_string(), old.clone(), r.name().to_string(), r.object.str("metadata/namespace").to_string())
        })
        .collect();
    for r in resources {
        let kind = r.kind().to_string();
        walk(&mut r.object, "", &kind, &table);
    }
}

type Table = [(String, String, String, String)];

fn renamed(table: &Table, kind: &str, name: &str) -> Option<(String, String)> {
    table.iter().find(|t| t.0 == kind && t.1 == name).map(|t| (t.2.clone(), t.3.clone()))
}

fn mend(v: &mut Value, path: &str, kind: &str, table: &Table) {
    if let Some((new, _)) = renamed(table, kind, v.str(path)) {
        v.set(path, new);
    }
}

/// Follows an object; `key` is the field that it stands in.
fn walk(v: &mut Value, key: &str, top: &str, table: &Table) {
    match key {
        "configMapRef" | "configMapKeyRef" | "configMap" => mend(v, "name", "ConfigMap", table),
        "secretRef" | "secretKeyRef" | "imagePullSecrets" => mend(v, "name", "Secret", table),
        "secret" => {
            mend(v, "secretName", "Secret", table);
            mend(v, "name", "Secret", table);
        }
        "secrets" if top == "ServiceAccount" => mend(v, "name", "Secret", table),
        "tls" => mend(v, "secretName", "Secret", table),
        "persistentVolumeClaim" => mend(v, "claimName", "PersistentVolumeClaim", table),
        "service" if top == "Ingress" => mend(v, "name", "Service", table),
        "roleRef" | "scaleTargetRef" => {
            let kind = v.str("kind").to_string();
            mend(v, "name", &kind, table);
        }
        "subjects" if v.str("kind") == "ServiceAccount" => {
            if let Some((new, namespace)) = renamed(table, "ServiceAccount", v.str("name")) {
                v.set("name", new);
                if !namespace.is_empty() {
                    v.set("namespace", namespace);
                }
            }
        }
        _ => {}
    }
    match v {
        Value::Object(m) => {
            for (k, inner) in m.iter_mut() {
                let kind = match k.as_str() {
                    "serviceAccountName" => "ServiceAccount",
                    "serviceName" if top == "StatefulSet" => "Service",
                    "priorityClassName" => "PriorityClass",
                    "storageClassName" => "StorageClass",
                    "volumeName" => "PersistentVolume",
                    _ => "",
                };
                if let (false, Some((new, _))) = (kind.is_empty(), renamed(table, kind, inner.as_str().unwrap_or(""))) {
                    *inner = new.into();
                } else if !matches!(k.as_str(), "metadata" | "data" | "binaryData" | "stringData") {
                    walk(inner, k, top, table);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| walk(inner, key, top, table)),
        _ => {}
    }
}
