//! `kubectl rollout`: status, pause, resume, restart; history and undo have a file of their own.

use super::manager;
use crate::builder::{Builder, Info, Visit};
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::print::time::rfc3339;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::{EventType, PatchType};
use std::time::Duration;

/// What a rollout command is about.
pub async fn find(k: &Kubectl<'_>) -> Result<Visit, Error> {
    if k.args().is_empty() && k.flags.list("filename").is_empty() {
        return Err(Error::text("required resource not specified"));
    }
    let mut b = Builder::new(k).labels(k.flags.str("selector")).arguments(k, true, k.args());
    b.latest = true;
    b.run(k).await
}

/// The command.
pub async fn status(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let revision = f.int("revision");
    if revision < 0 {
        return Err(Error::text(format!("revision must be a positive integer: {revision}")));
    }
    let visit = find(k).await?;
    let mut errors = Vec::new();
    let mut found = false;
    for item in visit.items {
        let info = match item {
            Ok(i) => i,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        found = true;
        if let Err(e) = follow(k, &info, revision).await {
            errors.push(e);
        }
    }
    let failed = !errors.is_empty();
    Error::aggregate(errors)?;
    if !found && !failed {
        k.err(&format!("No resources found in {} namespace.\n", k.namespace()));
    }
    Ok(())
}

async fn follow(k: &Kubectl<'_>, info: &Info, revision: i64) -> Result<(), Error> {
    let view: fn(&Value, i64) -> Result<(String, bool), Error> = match info.mapping.kind.as_str() {
        "Deployment" => deployment_status,
        "DaemonSet" => daemon_set_status,
        "StatefulSet" => stateful_set_status,
        other => {
            return Err(Error::text(format!(
                "no status viewer has been implemented for {}",
                crate::mapping::qualified(other, &info.mapping.group)
            )));
        }
    };
    let watch = k.flags.bool("watch");
    let timeout = match k.flags.duration("timeout") {
        0 => Duration::from_secs(10 * 365 * 86_400),
        n => Duration::from_nanos(n.max(0) as u64),
    };
    let deadline = k.ctx.now() + timeout;
    let result = super::wait::until(k, info, deadline, true, |event, o| {
        if event == EventType::Deleted {
            return Err(Error::text("object has been deleted"));
        }
        let (text, done) = view(o, revision)?;
        k.out(&text);
        Ok(done || !watch)
    })
    .await;
    match result {
        Err(Error::Text(t)) if t.starts_with("timed out waiting for the condition on") => {
            Err(Error::text("timed out waiting for the condition"))
        }
        other => other.map(|_| ()),
    }
}

fn deployment_status(d: &Value, revision: i64) -> Result<(String, bool), Error> {
    let name = quote(d.str("metadata/name"));
    let s = d.at("status");
    if revision > 0 {
        let now = d.at("metadata/annotations").key("deployment.kubernetes.io/revision").as_str().unwrap_or("");
        let Ok(now) = now.parse::<i64>() else {
            return Err(Error::text(format!(
                "cannot get the revision of deployment {name}: strconv.ParseInt: parsing {}: invalid syntax",
                quote(now)
            )));
        };
        if now != revision {
            return Err(Error::text(format!(
                "desired revision ({revision}) is different from the running revision ({now})"
            )));
        }
    }
    if d.int("metadata/generation") > s.int("observedGeneration") {
        return Ok(("Waiting for deployment spec update to be observed...\n".into(), false));
    }
    let late = s
        .list("conditions")
        .iter()
        .any(|c| c.str("type") == "Progressing" && c.str("reason") == "ProgressDeadlineExceeded");
    if late {
        return Err(Error::text(format!("deployment {name} exceeded its progress deadline")));
    }
    let wanted = d.int("spec/replicas");
    let (all, updated, available) = (s.int("replicas"), s.int("updatedReplicas"), s.int("availableReplicas"));
    let head = format!("Waiting for deployment {name} rollout to finish: ");
    if updated < wanted {
        return Ok((format!("{head}{updated} out of {wanted} new replicas have been updated...\n"), false));
    }
    if all > updated {
        return Ok((format!("{head}{} old replicas are pending termination...\n", all - updated), false));
    }
    if available < updated {
        return Ok((format!("{head}{available} of {updated} updated replicas are available...\n"), false));
    }
    Ok((format!("deployment {name} successfully rolled out\n"), true))
}

fn daemon_set_status(d: &Value, _: i64) -> Result<(String, bool), Error> {
    if d.str("spec/updateStrategy/type") != "RollingUpdate" {
        return Err(Error::text("rollout status is only available for RollingUpdate strategy type"));
    }
    let name = quote(d.str("metadata/name"));
    let s = d.at("status");
    if d.int("metadata/generation") > s.int("observedGeneration") {
        return Ok(("Waiting for daemon set spec update to be observed...\n".into(), false));
    }
    let (wanted, updated, available) =
        (s.int("desiredNumberScheduled"), s.int("updatedNumberScheduled"), s.int("numberAvailable"));
    let head = format!("Waiting for daemon set {name} rollout to finish: ");
    if updated < wanted {
        return Ok((format!("{head}{updated} out of {wanted} new pods have been updated...\n"), false));
    }
    if available < wanted {
        return Ok((format!("{head}{available} of {wanted} updated pods are available...\n"), false));
    }
    Ok((format!("daemon set {name} successfully rolled out\n"), true))
}

fn stateful_set_status(d: &Value, _: i64) -> Result<(String, bool), Error> {
    if d.str("spec/updateStrategy/type") != "RollingUpdate" {
        return Err(Error::text("rollout status is only available for RollingUpdate strategy type"));
    }
    let s = d.at("status");
    let observed = s.int("observedGeneration");
    if observed == 0 || d.int("metadata/generation") > observed {
        return Ok(("Waiting for statefulset spec update to be observed...\n".into(), false));
    }
    let (wanted, ready, updated) = (d.int("spec/replicas"), s.int("readyReplicas"), s.int("updatedReplicas"));
    if ready < wanted {
        return Ok((format!("Waiting for {} pods to be ready...\n", wanted - ready), false));
    }
    let ru = d.at("spec/updateStrategy/rollingUpdate");
    if let Some(partition) = ru.at("partition").as_int() {
        if updated < wanted - partition {
            return Ok((
                format!(
                    "Waiting for partitioned roll out to finish: {updated} out of {} new pods have been updated...\n",
                    wanted - partition
                ),
                false,
            ));
        }
        return Ok((format!("partitioned roll out complete: {updated} new pods have been updated...\n"), true));
    }
    if s.str("updateRevision") != s.str("currentRevision") {
        return Ok((
            format!(
                "waiting for statefulset rolling update to complete {updated} pods at revision {}...\n",
                s.str("updateRevision")
            ),
            false,
        ));
    }
    Ok((
        format!(
            "statefulset rolling update complete {} pods at revision {}...\n",
            s.int("currentReplicas"),
            s.str("currentRevision")
        ),
        true,
    ))
}

/// The command.
pub async fn change(k: &Kubectl<'_>, verb: &str) -> Result<(), Error> {
    let (infos, failed) = find(k).await?.infos();
    let mut errors: Vec<Error> = failed.err().into_iter().collect();
    if infos.is_empty() && errors.is_empty() {
        k.err(&format!("No resources found in {} namespace.\n", k.namespace()));
        return Ok(());
    }
    for info in infos {
        let kind = info.mapping.kind.as_str();
        let paused = info.object.bool("spec/paused");
        let made = match (verb, kind) {
            ("pause", "Deployment") if paused => Err("is already paused"),
            ("pause", "Deployment") => Ok((object([("spec", object([("paused", true.into())]))]), "paused")),
            ("resume", "Deployment") if !paused => Err("is not paused"),
            ("resume", "Deployment") => Ok((object([("spec", object([("paused", Value::Null)]))]), "resumed")),
            ("restart", "Deployment") if paused => Err("can't restart paused deployment (run rollout resume first)"),
            ("restart", "Deployment" | "DaemonSet" | "StatefulSet") => {
                const ANNOTATIONS: &str = "spec/template/metadata/annotations";
                const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
                let now = rfc3339(k.now());
                if info.object.at(ANNOTATIONS).key(RESTARTED_AT).as_str() == Some(&*now) {
                    errors.push(Error::text(format!(
                        "failed to create patch for {}: if restart has already been triggered within the past second, \
                         please wait before attempting to trigger another",
                        info.name
                    )));
                    continue;
                }
                let mut patch = Value::object();
                patch.set_key(ANNOTATIONS, RESTARTED_AT, now);
                Ok((patch, "restarted"))
            }
            ("pause", _) => Err("pausing is not supported"),
            ("resume", _) => Err("resuming is not supported"),
            _ => Err("restarting is not supported"),
        };
        let (patch, word) = match made {
            Ok(p) => p,
            Err(why) => {
                errors.push(Error::text(format!(
                    "error: {} {} {why}",
                    info.mapping.group_resource(),
                    quote(&info.name)
                )));
                continue;
            }
        };
        let w = Write { manager: manager(k, "kubectl-rollout"), ..Write::default() };
        let body = patch.to_json();
        match k.patch(&info.mapping, &info.namespace, &info.name, "", PatchType::Strategic, body.as_bytes(), &w).await {
            Ok(o) => {
                for_write(k, word)?.show(k, &o)?;
            }
            Err(e) => errors.push(Error::text(format!("failed to patch: {}", e.message()))),
        }
    }
    Error::aggregate(errors)
}
