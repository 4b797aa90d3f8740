//! `kubectl rollout history` and `kubectl rollout undo`.

use super::DryRun;
use super::rollout::find;
use crate::builder::Info;
use crate::describe::Writer;
use crate::describe::template::pod_template;
use crate::describe::writer::{controller_of, selector_text};
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::{WRITE_FORMATS, by_format, for_write};
use crate::print::tabwriter::{DESCRIBE, TabWriter};
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Object, Value, object};
use ::api::rest::PatchType;
use std::collections::BTreeMap;

const REVISION: &str = "deployment.kubernetes.io/revision";
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// Annotations that stay the deployment's own in a rollback.
const KEPT: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// Revisions of an object: ReplicaSets of a Deployment, ControllerRevisions of the others.
async fn revisions(k: &Kubectl<'_>, info: &Info) -> Result<BTreeMap<i64, Value>, Error> {
    let kind = info.mapping.kind.as_str();
    let owned_by = |o: &Value| controller_of(o).is_some_and(|c| c.str("uid") == info.object.str("metadata/uid"));
    let labels = selector_text(info.object.at("spec/selector"));
    match kind {
        "Deployment" => {
            let sets = k.known("apps", "replicasets")?;
            let list = k.list(&sets, &info.namespace, &labels, "").await.map_err(|e| {
                Error::text(format!("failed to retrieve replica sets from deployment {}: {}", info.name, e.message()))
            })?;
            Ok(list
                .into_iter()
                .filter(owned_by)
                .filter_map(|r| {
                    let n = r.at("metadata/annotations").key(REVISION).as_str()?.parse().ok()?;
                    Some((n, r))
                })
                .collect())
        }
        "DaemonSet" | "StatefulSet" => {
            let m = k.known("apps", "controllerrevisions")?;
            let list = k.list(&m, &info.namespace, &labels, "").await?;
            Ok(list.into_iter().filter(owned_by).map(|r| (r.int("revision"), r)).collect())
        }
        // Kinds that are known to have pods, and no history.
        "ReplicaSet" | "Job" | "CronJob" | "Pod" | "ReplicationController" => Err(Error::text(format!(
            "no history viewer has been implemented for {}",
            quote(&crate::mapping::qualified(kind, &info.mapping.group))
        ))),
        _ => Err(Error::text(format!(
            "error retrieving history for {}, no visitor method exists for {{{}}}",
            quote(&crate::mapping::qualified(kind, &info.mapping.group)),
            format_args!("{} {kind}", info.mapping.group)
        ))),
    }
}

/// The pod template of a revision.
fn template_of(info: &Info, revision: &Value) -> Value {
    if info.mapping.kind == "Deployment" {
        let mut t = revision.at("spec/template").clone();
        if let Some(cause) = revision.at("metadata/annotations").key(CHANGE_CAUSE).as_str() {
            t.set_key("metadata/annotations", CHANGE_CAUSE, cause);
        }
        return t;
    }
    let mut t = revision.at("data/spec/template").clone();
    t.remove_key("", "$patch");
    t
}

/// The command.
pub async fn history(k: &Kubectl<'_>) -> Result<(), Error> {
    let wanted = k.flags.int("revision");
    if k.args().is_empty() && k.flags.list("filename").is_empty() {
        return Err(Error::text("required resource not specified"));
    }
    if wanted < 0 {
        return Err(Error::text(format!("revision must be a positive integer: {wanted}")));
    }
    let visit = find(k).await?;
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let found = revisions(k, &info).await?;
            let missing = || Error::text("unable to find the specified revision");
            if k.flags.changed("output") {
                let mut printer = by_format(k, k.flags.str("output"), WRITE_FORMATS)?;
                for (n, r) in &found {
                    if wanted == 0 || *n == wanted {
                        printer.show(k, r)?;
                    }
                }
                return if wanted > 0 && !found.contains_key(&wanted) { Err(missing()) } else { Ok(()) };
            }
            let name = crate::print::object::printed_name(&info.object);
            if wanted > 0 {
                let r = found.get(&wanted).ok_or_else(missing)?;
                let mut w = Writer::raw(k.now());
                pod_template(&mut w, &template_of(&info, r));
                k.out(&format!("{name} with revision #{wanted}\n{}\n", w.finish()));
                return Ok(());
            }
            let body = if found.is_empty() {
                "No rollout history found.".to_string()
            } else {
                let mut w = TabWriter::new(DESCRIBE);
                w.write("REVISION\tCHANGE-CAUSE\n");
                for (n, r) in &found {
                    let cause = r.at("metadata/annotations").key(CHANGE_CAUSE).as_str().unwrap_or("");
                    let cause = if cause.is_empty() { "<none>" } else { cause };
                    w.write(&format!("{n}\t{cause}\n"));
                }
                w.flush()
            };
            k.out(&format!("{name} \n{body}\n"));
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}

/// The command.
pub async fn undo(k: &Kubectl<'_>) -> Result<(), Error> {
    let dry_run = DryRun::of(k)?;
    let visit = find(k).await?;
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let applied = super::apply::LAST_APPLIED;
            if info.object.at("metadata/annotations").key(applied).as_str().is_some() {
                k.err(&format!(
                    "Warning: resource {} was previously managed with 'kubectl apply'. Rolling back will not update the {applied} annotation, which may cause unexpected behavior on future 'kubectl apply' operations. Consider using 'kubectl apply' with your previous configuration file instead.\n",
                    info.object_name()
                ));
            }
            let word = rollback(k, &info, dry_run).await?;
            for_write(k, &dry_run.operation(&word))?.show(k, &info.object)?;
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}

async fn rollback(k: &Kubectl<'_>, info: &Info, dry_run: DryRun) -> Result<String, Error> {
    let to = k.flags.int("to-revision");
    let not_found = || Error::text(format!("unable to find specified revision {to} in history"));
    if to < 0 {
        return Err(not_found());
    }
    let kind = info.mapping.kind.as_str();
    if matches!(kind, "ReplicaSet" | "Job" | "CronJob" | "Pod" | "ReplicationController") {
        let kind = quote(&crate::mapping::qualified(kind, &info.mapping.group));
        return Err(Error::text(format!("no rollbacker has been implemented for {kind}")));
    }
    if !matches!(kind, "Deployment" | "DaemonSet" | "StatefulSet") {
        return Err(Error::text(format!(
            "error retrieving rollbacker for {}, no visitor method exists for {{{}}}",
            quote(&crate::mapping::qualified(kind, &info.mapping.group)),
            format_args!("{} {kind}", info.mapping.group)
        )));
    }
    let found = revisions(k, info).await?;
    let target = if to > 0 {
        found.get(&to).ok_or_else(not_found)?
    } else {
        let mut latest = found.values().rev();
        latest.next();
        latest.next().ok_or_else(|| {
            if kind == "Deployment" {
                Error::text(format!("no rollout history found for deployment {}", quote(&info.name)))
            } else {
                Error::text("no last revision to roll back to")
            }
        })?
    };
    if dry_run == DryRun::Client {
        let mut w = Writer::raw(k.now());
        pod_template(&mut w, &template_of(info, target));
        return Ok(w.finish());
    }
    let w = Write { dry_run: dry_run == DryRun::Server, ..Write::default() };
    let restoring = |e: Error| {
        let n = target.int("revision").max(to);
        Error::text(format!("failed restoring revision {n}: {}", e.message()))
    };
    let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
    let skipped = format!("skipped rollback (current template already matches revision {to})");
    if kind != "Deployment" {
        let body = target.at("data").to_json();
        if info.object.at("spec/template") == &template_of(info, target) {
            return Ok(skipped);
        }
        k.patch(m, ns, name, "", PatchType::Strategic, body.as_bytes(), &w).await.map_err(restoring)?;
        return Ok("rolled back".into());
    }
    if info.object.bool("spec/paused") {
        return Err(Error::text(
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
        ));
    }
    let mut template = target.at("spec/template").clone();
    template.remove_key("metadata/labels", "pod-template-hash");
    let mut live = info.object.at("spec/template").clone();
    live.remove_key("metadata/labels", "pod-template-hash");
    if template == live {
        return Ok(skipped);
    }
    let mut annotations = Object::new();
    for key in KEPT {
        if let v @ Value::String(_) = info.object.at("metadata/annotations").key(key) {
            annotations.insert(key.to_string(), v.clone());
        }
    }
    for (key, v) in target.map("metadata/annotations") {
        if !KEPT.contains(&key) {
            annotations.insert(key.to_string(), v.clone());
        }
    }
    let replace =
        |path: &str, value: Value| object([("op", "replace".into()), ("path", path.into()), ("value", value)]);
    let patch = Value::Array(vec![
        replace("/spec/template", template),
        replace("/metadata/annotations", Value::Object(annotations)),
    ])
    .to_json();
    k.patch(m, ns, name, "", PatchType::Json, patch.as_bytes(), &w).await.map_err(restoring)?;
    Ok("rolled back".into())
}
