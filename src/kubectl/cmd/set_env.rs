//! `kubectl set env`.

use super::local_dry_run;
use super::set::{find, pod_spec, selects, update};
use crate::error::Error;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::value::{Value, object};

fn env_name(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// The command.
pub async fn env(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    let is_env = |a: &str| a.find('=').is_some_and(|at| at > 0) || a.ends_with('-');
    let (mut resources, mut args) = (Vec::new(), f.list("env"));
    let given = args.len();
    for a in k.args() {
        if is_env(a) {
            args.push(a.clone());
        } else if args.len() > given {
            return Err(Error::text(format!(
                "all resources must be specified before environment changes: {}",
                k.args().join(" ")
            )));
        } else {
            resources.push(a.clone());
        }
    }
    local_dry_run(k)?;
    if f.list("filename").is_empty() && resources.is_empty() {
        return Err(Error::text("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    let list = f.bool("list");
    if list && !f.str("output").is_empty() {
        return Err(Error::text("--list and --output may not be specified together"));
    }
    let from = f.str("from");
    if !f.list("keys").is_empty() && from.is_empty() {
        return Err(Error::text("when specifying --keys, a configmap or secret must be provided with --from"));
    }
    let mut set: Vec<Value> = Vec::new();
    let mut remove: Vec<String> = Vec::new();
    let mut modified: Vec<&str> = Vec::new();
    for a in &args {
        let variable = |(name, value): (&str, &str)| object([("name", name.into()), ("value", value.into())]);
        match a.split_once('=') {
            _ if a == "-" => {
                let text = k.io.stdin();
                let text = String::from_utf8_lossy(&text);
                let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
                set.extend(lines.filter_map(|line| line.split_once('=')).map(variable));
            }
            Some((name, value)) => {
                let wrong = ::api::names::env_var_name(name);
                if !wrong.is_empty() {
                    let text = format!("{} is not a valid key name: {}", quote(name), wrong.join(";"));
                    return Err(Error::text(text));
                }
                set.push(variable((name, value)));
                modified.push(name);
            }
            None => match a.strip_suffix('-') {
                Some(name) => remove.push(name.to_string()),
                None => return Err(Error::text(format!("unknown environment variable: {a}"))),
            },
        }
    }
    if remove.iter().any(|name| modified.contains(&name.as_str())) {
        return Err(Error::text("can not both modify and remove the same environment variable in the same command"));
    }
    if !from.is_empty() {
        let keys = f.list("keys");
        let named = if f.bool("local") { Vec::new() } else { vec![from.to_string()] };
        for info in find(k, &named).await? {
            let reference = match info.mapping.kind.as_str() {
                "Secret" => "secretKeyRef",
                "ConfigMap" => "configMapKeyRef",
                _ => return Err(Error::text("unsupported resource specified in --from")),
            };
            for (key, _) in info.object.map("data") {
                if keys.is_empty() || keys.iter().any(|x| x == key) {
                    let named = env_name(key);
                    if named != key {
                        k.err(&format!("Warning: key {key} transferred to {named}\n"));
                    }
                    let source = object([("key", key.into()), ("name", info.name.as_str().into())]);
                    set.push(object([("name", named.into()), ("valueFrom", object([(reference, source)]))]));
                }
            }
        }
    }
    let prefix = f.str("prefix");
    if !prefix.is_empty() {
        for e in &mut set {
            let name = format!("{prefix}{}", e.str("name"));
            e.set("name", name);
        }
    }
    if f.bool("local") {
        resources.clear();
    }
    let infos = find(k, &resources).await?;
    let pattern = f.str("containers").to_string();
    for info in &infos {
        let Some(path) = pod_spec(&info.mapping.kind) else { continue };
        let spec = info.object.at(path);
        let mut containers = spec.list("containers").iter().chain(spec.list("initContainers"));
        if !containers.any(|c| selects(&pattern, c.str("name"))) {
            k.err(&format!(
                "Warning: {}/{} does not have any containers matching {}\n",
                info.mapping.kind,
                info.name,
                quote(&pattern)
            ));
        }
    }
    let apply = |c: &mut Value| {
        let mut out: Vec<Value> = Vec::new();
        let mut covered = remove.clone();
        for e in c.list("env") {
            let name = e.str("name").to_string();
            if covered.contains(&name) {
                continue;
            }
            match set.iter().find(|s| s.str("name") == name) {
                Some(newer) => {
                    covered.push(name);
                    out.push(newer.clone());
                }
                None => out.push(e.clone()),
            }
        }
        for e in &set {
            let name = e.str("name").to_string();
            if !covered.contains(&name) {
                covered.push(name);
                out.push(e.clone());
            }
        }
        if out.is_empty() {
            c.remove_key("", "env");
        } else {
            c.set("env", out);
        }
    };
    if list {
        for info in infos {
            let Some(path) = pod_spec(&info.mapping.kind) else { continue };
            let spec = info.object.at(path);
            for c in spec.list("containers").iter().chain(spec.list("initContainers")) {
                if !selects(&pattern, c.str("name")) {
                    continue;
                }
                let mut c = c.clone();
                apply(&mut c);
                k.out(&format!("# {} {}, container {}\n", info.mapping.kind, info.name, c.str("name")));
                for e in c.list("env") {
                    if e.has("valueFrom") {
                        k.out(&format!("# {} from {}\n", e.str("name"), reference_text(e.at("valueFrom"))));
                    } else {
                        k.out(&format!("{}={}\n", e.str("name"), e.str("value")));
                    }
                }
            }
        }
        return Ok(());
    }
    let overwrite = f.bool("overwrite");
    update(k, infos, "env updated", "failed to patch env update to pod template: ", false, &mut |of, spec, errors| {
        for list in ["containers", "initContainers"] {
            if !spec.has(list) {
                continue;
            }
            for c in spec.list_mut(list) {
                if !selects(&pattern, c.str("name")) {
                    continue;
                }
                let has_other = |e: &Value| {
                    c.list("env").iter().find(|o| o.str("name") == e.str("name") && o.str("value") != e.str("value"))
                };
                if let Some(old) = set.iter().filter(|_| !overwrite).find_map(has_other) {
                    let (name, value) = (old.str("name"), old.str("value"));
                    errors.push(Error::text(format!(
                        "error: {of} '{name}' already has a value ({value}), and --overwrite is false\n"
                    )));
                    return;
                }
                apply(c);
            }
        }
    })
    .await
}

fn reference_text(from: &Value) -> String {
    for (key, kind) in [("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")] {
        if from.has(key) {
            return format!("{kind} {}, key {}", from.at(key).str("name"), from.at(key).str("key"));
        }
    }
    if from.has("fieldRef") {
        return format!("field path {}", from.str("fieldRef/fieldPath"));
    }
    if from.has("resourceFieldRef") {
        return format!("resource field {}", from.str("resourceFieldRef/resource"));
    }
    "invalid valueFrom".into()
}
