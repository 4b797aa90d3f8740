//! `kubectl annotate`.

use super::label::split;
use super::{DryRun, local_dry_run, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::{CHANGE_CAUSE, Kubectl};
use crate::value::{Object, Value, object};
use ::api::rest::PatchType;

/// The command.
pub async fn annotate(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let list = f.bool("list");
    if list && !f.str("output").is_empty() {
        return Err(Error::text("--list and --output may not be specified together"));
    }
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    let (resources, pairs) = split(k.args(), "annotation")?;
    local_dry_run(k)?;
    if f.bool("local") && !resources.is_empty() {
        return Err(Error::text(
            "can only use local files by -f rsrc.yaml or --filename=rsrc.json when --local=true is set",
        ));
    }
    if resources.is_empty() && f.list("filename").is_empty() {
        return Err(Error::text("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    let dry_run = DryRun::of(k)?;
    if pairs.is_empty() && !list {
        return Err(Error::text("at least one annotation update is required"));
    }
    let mut set: Vec<(String, String)> = Vec::new();
    let mut remove: Vec<String> = Vec::new();
    for p in &pairs {
        match p.split_once('=') {
            Some((key, value)) => set.push((key.into(), value.into())),
            None => remove.push(p.trim_end_matches('-').into()),
        }
    }
    let both: Vec<&str> = remove.iter().filter(|r| set.iter().any(|s| s.0 == **r)).map(String::as_str).collect();
    if !both.is_empty() {
        return Err(Error::text(format!(
            "can not both modify and remove the following annotation(s) in the same command: {}",
            both.join(", ")
        )));
    }
    let mut printer = for_write(k, &dry_run.operation("annotated"))?;
    let mut b = Builder::new(k)
        .labels(f.str("selector"))
        .fields(f.str("field-selector"))
        .select_all(f.bool("all"))
        .all_namespaces(f.bool("all-namespaces"))
        .arguments(k, f.bool("all"), &resources);
    b.latest = true;
    let visit = b.run(k).await?;
    let single = visit.single_item;
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let old = info.object.at("metadata/annotations");
            if list {
                if !single {
                    let (g, kind) = (&info.mapping.group, &info.mapping.kind);
                    k.out(&format!("Listing annotations for {kind}.{g}/{}:\n", info.name));
                }
                for (key, v) in old.map_entries() {
                    k.out(&format!("{}{key}={}\n", if single { "" } else { " " }, v.go_v()));
                }
                return Ok(None);
            }
            if !f.bool("overwrite") {
                let taken: Vec<String> = set
                    .iter()
                    .filter(|(key, _)| key != CHANGE_CAUSE)
                    .filter_map(|(key, value)| {
                        let old = old.key(key).as_str()?;
                        (old != value).then(|| format!("'{key}' already has a value ({old})"))
                    })
                    .collect();
                if !taken.is_empty() {
                    return Err(Error::text(format!(
                        "--overwrite is false but found the following declared annotation(s): {}",
                        taken.join("; ")
                    )));
                }
            }
            let mut change = Object::new();
            if dry_run != DryRun::Client && !f.bool("local") {
                change.extend(k.cause().map(|cause| (CHANGE_CAUSE.to_string(), cause.into())));
            }
            for (key, value) in &set {
                if old.key(key).as_str() != Some(value) {
                    change.insert(key.clone(), value.as_str().into());
                }
            }
            for r in remove.iter().filter(|r| !old.key(r).is_null()) {
                change.insert(r.clone(), Value::Null);
            }
            if dry_run == DryRun::Client || f.bool("local") {
                let mut o = info.object.clone();
                for (key, v) in change {
                    match v {
                        Value::Null => {
                            o.remove_key("metadata/annotations", &key);
                        }
                        v => o.set_key("metadata/annotations", &key, v),
                    }
                }
                return Ok(Some(o));
            }
            let mut patch = Value::object();
            if !change.is_empty() {
                patch = object([("metadata", object([("annotations", Value::Object(change))]))]);
            }
            if !f.str("resource-version").is_empty() {
                patch.set("metadata/resourceVersion", f.str("resource-version"));
            }
            let w = Write {
                dry_run: dry_run == DryRun::Server,
                manager: manager(k, "kubectl-annotate"),
                ..Write::default()
            };
            let body = patch.to_json();
            let o =
                k.patch(&info.mapping, &info.namespace, &info.name, "", PatchType::Merge, body.as_bytes(), &w).await?;
            Ok(Some(o))
        };
        match done.await {
            Ok(Some(o)) => {
                printer.show(k, &o)?;
            }
            Ok(None) => {}
            Err(e) => errors.push(e),
        }
    }
    Error::aggregate(errors)
}
