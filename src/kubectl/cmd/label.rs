//! `kubectl label`.

use super::{DryRun, local_dry_run, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::{CHANGE_CAUSE, Kubectl};
use crate::value::{Object, Value, object};
use ::api::rest::PatchType;

/// `GetResourcesAndPairs`: what is named, and what is changed.
pub fn split(args: &[String], kind: &str) -> Result<(Vec<String>, Vec<String>), Error> {
    let (mut resources, mut pairs) = (Vec::new(), Vec::new());
    for a in args {
        let pair = (a.contains('=') && !a.starts_with('=')) || (a.ends_with('-') && a != "-");
        match (pair, pairs.is_empty()) {
            (true, _) => pairs.push(a.clone()),
            (false, true) => resources.push(a.clone()),
            (false, false) => {
                return Err(Error::text(format!("all resources must be specified before {kind} changes: {a}")));
            }
        }
    }
    Ok((resources, pairs))
}

/// The command.
pub async fn label(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let (resources, pairs) = split(k.args(), "label")?;
    let mut set: Vec<(String, String)> = Vec::new();
    let mut remove: Vec<String> = Vec::new();
    for p in &pairs {
        if p.contains('=') {
            let parts: Vec<&str> = p.split('=').collect();
            let [key, value] = parts.as_slice() else {
                return Err(Error::text(format!("invalid label spec: {p}")));
            };
            let bad = ::api::names::label_value(value);
            if !bad.is_empty() {
                return Err(Error::text(format!("invalid label value: {}: {}", quote(p), bad.join(";"))));
            }
            set.push((key.to_string(), value.to_string()));
        } else {
            remove.push(p.trim_end_matches('-').to_string());
        }
    }
    if remove.iter().any(|r| set.iter().any(|s| s.0 == *r)) {
        return Err(Error::text("can not both modify and remove a label in the same command"));
    }
    let list = f.bool("list");
    if list && !f.str("output").is_empty() {
        return Err(Error::text("--list and --output may not be specified together"));
    }
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    if f.bool("all") && !f.str("field-selector").is_empty() {
        return Err(Error::text("cannot set --all and --field-selector at the same time"));
    }
    local_dry_run(k)?;
    if f.bool("local") && !resources.is_empty() {
        return Err(Error::text(
            "can only use local files by -f pod.yaml or --filename=pod.json when --local=true is set",
        ));
    }
    if f.bool("local") && f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        return Err(Error::text("one or more files must be specified as -f pod.yaml or --filename=pod.json"));
    }
    if resources.is_empty() && f.list("filename").is_empty() {
        return Err(Error::text("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    if set.is_empty() && remove.is_empty() && !list {
        return Err(Error::text("at least one label update is required"));
    }
    let mut b = Builder::new(k)
        .labels(f.str("selector"))
        .fields(f.str("field-selector"))
        .all_namespaces(f.bool("all-namespaces"))
        .arguments(k, f.bool("all"), &resources);
    b.latest = true;
    let visit = b.run(k).await?;
    let single = visit.single_item;
    if !single && !f.str("resource-version").is_empty() {
        return Err(Error::text("--resource-version may only be used with a single resource"));
    }
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let labels = info.object.at("metadata/labels");
            if list {
                let mut changed = labels.clone();
                for (key, value) in &set {
                    changed.set_key("", key, value.as_str());
                }
                for r in &remove {
                    changed.remove_key("", r);
                }
                let labels = &changed;
                if !single {
                    let (g, kind) = (&info.mapping.group, &info.mapping.kind);
                    k.out(&format!("Listing labels for {kind}.{g}/{}:\n", info.name));
                }
                for (key, v) in labels.map_entries() {
                    k.out(&format!("{}{key}={}\n", if single { "" } else { " " }, v.go_v()));
                }
                return Ok(());
            }
            if dry_run != DryRun::Client {
                for r in &remove {
                    if labels.key(r).is_null() {
                        k.out(&format!("label {} not found.\n", quote(r)));
                    }
                }
            }
            if !f.bool("overwrite") {
                let taken: Vec<Error> = set
                    .iter()
                    .filter_map(|(key, value)| {
                        let old = labels.key(key).as_str()?;
                        (old != value).then(|| {
                            Error::text(format!("'{key}' already has a value ({old}), and --overwrite is false"))
                        })
                    })
                    .collect();
                Error::aggregate(taken)?;
            }
            let mut change = Object::new();
            for (key, value) in &set {
                if labels.key(key).as_str() != Some(value) {
                    change.insert(key.clone(), value.as_str().into());
                }
            }
            let added = !change.is_empty();
            let gone: Vec<&String> = remove.iter().filter(|r| !labels.key(r).is_null()).collect();
            let word = match (added, !gone.is_empty()) {
                (true, true) => "modified",
                (true, false) => "labeled",
                (false, true) => "unlabeled",
                (false, false) => "not labeled",
            };
            for r in gone {
                change.insert(r.clone(), Value::Null);
            }
            if !change.is_empty() && dry_run != DryRun::Client && !f.bool("local") {
                let mut meta = object([("labels", Value::Object(change))]);
                if let Some(cause) = k.cause() {
                    meta.set_key("annotations", CHANGE_CAUSE, cause);
                }
                if !f.str("resource-version").is_empty() {
                    meta.set("resourceVersion", f.str("resource-version"));
                }
                let patch = object([("metadata", meta)]).to_json();
                let w = Write {
                    dry_run: dry_run == DryRun::Server,
                    manager: manager(k, "kubectl-label"),
                    ..Write::default()
                };
                k.patch(&info.mapping, &info.namespace, &info.name, "", PatchType::Merge, patch.as_bytes(), &w).await?;
            }
            let mut printed = info.object.clone();
            for (key, value) in &set {
                printed.set_key("metadata/labels", key, value.as_str());
            }
            for r in &remove {
                printed.remove_key("metadata/labels", r);
            }
            for_write(k, &dry_run.operation(word))?.show(k, &printed)?;
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}
