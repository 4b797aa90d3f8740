//! `kubectl create`: namespaces, configuration, access.

use super::create::{name, new_object, send};
use crate::error::Error;
use crate::io::FileError;
use crate::mapping::Mapping;
use crate::print::human::quote;
use crate::resource::base64_encode;
use crate::session::Kubectl;
use crate::value::{Value, object};
use std::collections::BTreeMap;
use std::rc::Rc;

const RBAC: &str = "rbac.authorization.k8s.io";

/// The command.
pub async fn namespace(k: &Kubectl<'_>) -> Result<(), Error> {
    let mut o = new_object(k, "v1", "Namespace", &name(k)?, false);
    o.set("spec", Value::object());
    o.set("status", Value::object());
    send(k, "", "namespaces", o, None).await
}

/// The command.
pub async fn service_account(k: &Kubectl<'_>) -> Result<(), Error> {
    let o = new_object(k, "v1", "ServiceAccount", &name(k)?, true);
    send(k, "", "serviceaccounts", o, Some("failed to create serviceaccount: ")).await
}

/// Keys and bytes from literals, files and env files.
fn data(k: &Kubectl<'_>, kind: &str) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let f = &k.flags;
    let (files, literals, env) = (f.list("from-file"), f.list("from-literal"), f.list("from-env-file"));
    if !env.is_empty() && (!files.is_empty() || !literals.is_empty()) {
        return Err(Error::text("from-env-file cannot be combined with from-file or from-literal"));
    }
    let mut out: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut add = |key: &str, bytes: Vec<u8>| -> Result<(), Error> {
        let bad = ::api::names::config_map_key(key);
        if !bad.is_empty() {
            return Err(Error::text(if kind == "ConfigMap" {
                format!("{} is not a valid key name for a ConfigMap: {}", quote(key), bad.join(","))
            } else {
                format!("{} is not valid key name for a Secret {}", quote(key), bad.join(";"))
            }));
        }
        if out.contains_key(key) {
            return Err(Error::text(if kind == "ConfigMap" {
                format!(
                    "cannot add key {}, another key by that name already exists in Data for ConfigMap {}",
                    quote(key),
                    quote(k.args().first().map_or("", |n| n))
                )
            } else {
                format!("cannot add key {key}, another key by that name already exists")
            }));
        }
        out.insert(key.to_string(), bytes);
        Ok(())
    };
    for l in &literals {
        match l.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                let value = match (value.chars().next(), value.chars().last()) {
                    (Some(a), Some(b)) if a == b && (a == '"' || a == '\'') && value.len() > 1 => {
                        value.get(1..value.len() - 1).unwrap_or(value)
                    }
                    _ => value,
                };
                add(key, value.as_bytes().to_vec())?;
            }
            _ => {
                return Err(Error::text(format!("invalid literal source {l}, expected key=value")));
            }
        }
    }
    for source in &files {
        if source.matches('=').count() > 1 {
            return Err(Error::text("key names or file paths cannot contain '='"));
        }
        let (key, path) = match source.split_once('=') {
            None => (None, source.as_str()),
            Some(("", _)) => {
                return Err(Error::text(format!("key name for file path {} missing", source.trim_start_matches('='))));
            }
            Some((_, "")) => {
                return Err(Error::text(format!("file path for key name {} missing", source.trim_end_matches('='))));
            }
            Some((k, p)) => (Some(k), p),
        };
        match k.io.list_dir(path) {
            Ok(_) if key.is_some() => {
                return Err(Error::text("cannot give a key name for a directory path"));
            }
            Ok(entries) => {
                for (name, is_dir) in entries {
                    if !is_dir && ::api::names::config_map_key(&name).is_empty() {
                        let file = format!("{}/{name}", path.trim_end_matches('/'));
                        add(&name, read(k, &file)?)?;
                    }
                }
            }
            Err(_) => {
                let base = path.rsplit('/').next().unwrap_or(path);
                add(key.unwrap_or(base), read(k, path)?)?;
            }
        }
    }
    for path in &env {
        if k.io.list_dir(path).is_ok() {
            let what = if kind == "ConfigMap" { "config" } else { "secret" };
            return Err(Error::text(format!("env {what} file cannot be a directory")));
        }
        let bytes = read(k, path)?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = match line.split_once('=') {
                Some((key, value)) => (key, value.to_string()),
                None => (line, k.io.env(line).unwrap_or_default()),
            };
            let wrong = ::api::names::env_var_name(key);
            if !wrong.is_empty() {
                return Err(Error::text(format!("{} is not a valid key name: {}", quote(key), wrong.join(";"))));
            }
            add(key, value.into_bytes())?;
        }
    }
    Ok(out)
}

fn read(k: &Kubectl<'_>, path: &str) -> Result<Vec<u8>, Error> {
    k.io.read_file(path).map_err(|e| match e {
        FileError::NOT_FOUND => Error::text(format!("error reading {path}: {e}")),
        _ => Error::text(format!("read {path}: {e}")),
    })
}

/// The command.
pub async fn config_map(k: &Kubectl<'_>) -> Result<(), Error> {
    let mut o = new_object(k, "v1", "ConfigMap", &name(k)?, true);
    for (key, bytes) in data(k, "ConfigMap")? {
        match String::from_utf8(bytes) {
            Ok(text) => o.set_key("data", &key, text),
            Err(e) => o.set_key("binaryData", &key, base64_encode(e.as_bytes())),
        }
    }
    super::create_secret::hashed(k, &mut o);
    send(k, "", "configmaps", o, Some("failed to create configmap: ")).await
}

/// The command.
pub async fn secret(k: &Kubectl<'_>) -> Result<(), Error> {
    let mut o = new_object(k, "v1", "Secret", &name(k)?, true);
    for (key, bytes) in data(k, "Secret")? {
        o.set_key("data", &key, base64_encode(&bytes));
    }
    let kind = k.flags.str("type");
    if !kind.is_empty() {
        o.set("type", kind);
    }
    super::create_secret::hashed(k, &mut o);
    send(k, "", "secrets", o, Some("failed to create secret ")).await
}

/// Verbs of resources, for checking what is asked for.
const SPECIAL_VERBS: [(&str, &[(&str, &str)]); 5] = [
    ("use", &[("policy", "podsecuritypolicies"), ("extensions", "podsecuritypolicies")]),
    ("bind", &[(RBAC, "roles"), (RBAC, "clusterroles")]),
    ("escalate", &[(RBAC, "roles"), (RBAC, "clusterroles")]),
    ("impersonate", &[("", "users"), ("", "serviceaccounts"), ("", "groups"), ("authentication.k8s.io", "userextras")]),
    ("approve", &[("certificates.k8s.io", "signers")]),
];
const COMMON_VERBS: [&str; 10] =
    ["get", "delete", "list", "create", "update", "patch", "watch", "proxy", "redirect", "deletecollection"];

/// The command.
pub async fn role(k: &Kubectl<'_>, cluster: bool) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let mut verbs: Vec<String> = Vec::new();
    for v in f.list("verb") {
        if v == "*" {
            verbs = vec![v];
            break;
        }
        if !verbs.contains(&v) {
            verbs.push(v);
        }
    }
    let kind = if cluster { "ClusterRole" } else { "Role" };
    let mut o = new_object(k, "rbac.authorization.k8s.io/v1", kind, &name, !cluster);
    let urls: Vec<String> = if cluster { f.list("non-resource-url") } else { Vec::new() };
    let aggregation = if cluster { f.list("aggregation-rule") } else { Vec::new() };
    if !urls.is_empty() {
        let verb = ["*", "get", "post", "put", "delete", "patch", "head", "options"];
        if let Some(v) = verbs.iter().find(|v| !verb.contains(&v.as_str())) {
            return Err(Error::text(format!("invalid verb: '{v}' for nonResourceURL")));
        }
        if urls.iter().any(|url| url != "*" && !url.starts_with('/')) {
            return Err(Error::text("nonResourceURL should start with /"));
        }
    }
    let resources = f.list("resource");
    let plural = if cluster { "clusterroles" } else { "roles" };
    if !aggregation.is_empty() {
        if !urls.is_empty() || !verbs.is_empty() || !resources.is_empty() || !f.list("resource-name").is_empty() {
            return Err(Error::text(
                "aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames",
            ));
        }
        let mut labels = Value::object();
        for a in &aggregation {
            if let Some((key, value)) = a.split_once('=') {
                labels.set_key("", key, value);
            }
        }
        o.set("aggregationRule/clusterRoleSelectors", vec![object([("matchLabels", labels)])]);
        o.set("rules", Value::Null);
        return send(k, RBAC, plural, o, None).await;
    }
    if verbs.is_empty() {
        return Err(Error::text("at least one verb must be specified"));
    }
    if resources.is_empty() && urls.is_empty() {
        return Err(Error::text(if cluster {
            "one of resource or nonResourceURL must be specified"
        } else {
            "at least one resource must be specified"
        }));
    }
    let mapper = k.mapper();
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for r in &resources {
        let (typed, sub) = match r.split_once('/') {
            Some((t, s)) => (t, Some(s)),
            None => (r.as_str(), None),
        };
        if typed.is_empty() {
            return Err(Error::text("resource must be specified if apiGroup/subresource specified"));
        }
        if typed == "*" {
            groups.entry(String::new()).or_default().push("*".into());
            continue;
        }
        let mapping: Rc<Mapping> = mapper.find_argument(typed).ok_or_else(|| {
            let (resource, group) = typed.split_once('.').unwrap_or((typed, ""));
            let group = if group.is_empty() { String::new() } else { format!(" in group {}", quote(group)) };
            let resource = quote(resource);
            Error::text(format!("{}the server doesn't have a resource type {resource}{group}", crate::error::NO_PREFIX))
        })?;
        for v in &verbs {
            if v == "*" || COMMON_VERBS.contains(&v.as_str()) {
                continue;
            }
            match SPECIAL_VERBS.iter().find(|s| s.0 == v) {
                Some((_, list)) if list.contains(&(mapping.group.as_str(), mapping.plural.as_str())) => {}
                Some(_) => {
                    return Err(Error::text(format!(
                        "can not perform '{v}' on '{}' in group '{}'",
                        mapping.plural, mapping.group
                    )));
                }
                None => k.err(&format!("Warning: '{v}' is not a standard resource verb\n")),
            }
        }
        let full = match sub {
            Some(s) => format!("{}/{s}", mapping.plural),
            None => mapping.plural.clone(),
        };
        let list = groups.entry(mapping.group.clone()).or_default();
        if !list.contains(&full) {
            list.push(full);
        }
    }
    let verbs_value = Value::from(verbs.as_slice());
    let names = f.list("resource-name");
    let mut rules = Vec::new();
    for (group, list) in groups {
        let mut rule = object([
            ("apiGroups", Value::Array(vec![group.into()])),
            ("resources", Value::from(list.as_slice())),
            ("verbs", verbs_value.clone()),
        ]);
        if !names.is_empty() {
            rule.set("resourceNames", Value::from(names.as_slice()));
        }
        rules.push(rule);
    }
    if !urls.is_empty() {
        rules.push(object([("nonResourceURLs", Value::from(urls.as_slice())), ("verbs", verbs_value)]));
    }
    o.set("rules", rules);
    send(k, RBAC, plural, o, None).await
}

/// The command.
pub async fn binding(k: &Kubectl<'_>, cluster: bool) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (cluster_role, role) = (f.str("clusterrole"), f.str("role"));
    if !cluster && cluster_role.is_empty() == role.is_empty() {
        return Err(Error::text("exactly one of clusterrole or role must be specified"));
    }
    let kind = if cluster { "ClusterRoleBinding" } else { "RoleBinding" };
    let mut o = new_object(k, "rbac.authorization.k8s.io/v1", kind, &name, !cluster);
    let (ref_kind, ref_name) = if role.is_empty() || cluster { ("ClusterRole", cluster_role) } else { ("Role", role) };
    o.set("roleRef", object([("apiGroup", RBAC.into()), ("kind", ref_kind.into()), ("name", ref_name.into())]));
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        for name in f.list(flag) {
            subjects.push(object([("apiGroup", RBAC.into()), ("kind", kind.into()), ("name", name.into())]));
        }
    }
    for sa in f.list("serviceaccount") {
        match sa.split_once(':') {
            Some((ns, name)) if !ns.is_empty() && !name.is_empty() && !name.contains(':') => {
                subjects.push(object([
                    ("kind", "ServiceAccount".into()),
                    ("name", name.into()),
                    ("namespace", ns.into()),
                ]));
            }
            _ => return Err(Error::text("serviceaccount must be <namespace>:<name>")),
        }
    }
    if !subjects.is_empty() {
        o.set("subjects", subjects);
    }
    let (plural, failed) = if cluster {
        ("clusterrolebindings", "failed to create clusterrolebinding: ")
    } else {
        ("rolebindings", "failed to create rolebinding: ")
    };
    send(k, RBAC, plural, o, Some(failed)).await
}

/// The command.
pub async fn token(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let seconds = f.duration("duration") / 1_000_000_000;
    if f.duration("duration") < 0 {
        return Err(Error::text("--duration must be greater than or equal to 0"));
    }
    let mut spec = object([("audiences", Value::from(f.list("audience").as_slice()))]);
    spec.set("expirationSeconds", if seconds > 0 { Value::Int(seconds) } else { Value::Null });
    let kind = f.str("bound-object-kind");
    if !kind.is_empty() && !matches!(kind, "Node" | "Pod" | "Secret") {
        return Err(Error::text("supported --bound-object-kind values are Node, Pod, Secret"));
    }
    if !kind.is_empty() {
        let bound = f.str("bound-object-name");
        if bound.is_empty() {
            return Err(Error::text("--bound-object-name is required if --bound-object-kind is provided"));
        }
        spec.set(
            "boundObjectRef",
            object([
                ("kind", kind.into()),
                ("apiVersion", "v1".into()),
                ("name", bound.into()),
                ("uid", f.str("bound-object-uid").into()),
            ]),
        );
    } else if !f.str("bound-object-name").is_empty() {
        return Err(Error::text("--bound-object-name can only be set if --bound-object-kind is provided"));
    } else if !f.str("bound-object-uid").is_empty() {
        return Err(Error::text("--bound-object-uid can only be set if --bound-object-kind is provided"));
    }
    let request =
        object([("apiVersion", "authentication.k8s.io/v1".into()), ("kind", "TokenRequest".into()), ("spec", spec)]);
    let accounts = k.known("", "serviceaccounts")?;
    let made = k
        .create_sub(&accounts, &k.namespace(), &name, "token", &request, &Default::default())
        .await
        .map_err(|e| Error::text(format!("failed to create token: {}", e.message())))?;
    if f.str("output").is_empty() {
        let token = made.str("status/token");
        if token.is_empty() {
            return Err(Error::text("failed to create token: no token in server response"));
        }
        k.out(&format!("{token}\n"));
        return Ok(());
    }
    crate::print::object::for_write(k, "")?.show(k, &made)?;
    Ok(())
}
