//! `kubectl delete`.

use super::DryRun;
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::flags::Parsed;
use crate::server::Delete;
use crate::session::Kubectl;
use std::time::Duration;

/// `GetCascadingStrategy`.
pub fn cascading(flags: &Parsed) -> Result<&'static str, Error> {
    match flags.str("cascade") {
        "background" | "true" => Ok("Background"),
        "orphan" | "false" => Ok("Orphan"),
        "foreground" => Ok("Foreground"),
        other => Err(Error::text(format!(
            "invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\""
        ))),
    }
}

/// The command.
pub async fn delete(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !f.str("raw").is_empty() {
        if f.bool("interactive") {
            return Err(Error::text("--interactive can not be used with --raw"));
        }
        return crate::raw::write(k, ::api::rest::Verb::Delete).await;
    }
    let propagation = cascading(f)?;
    let mut grace = f.int("grace-period");
    let force = f.bool("force");
    let mut ignore = f.bool("ignore-not-found");
    if (f.bool("all") || !f.str("selector").is_empty() || !f.str("field-selector").is_empty())
        && !f.changed("ignore-not-found")
    {
        ignore = true;
    }
    if f.bool("now") {
        if grace != -1 {
            return Err(Error::text("--now and --grace-period cannot be specified together"));
        }
        grace = 1;
    }
    if grace == 0 && !force {
        grace = 1;
    }
    if force && grace < 0 {
        grace = 0;
    }
    let dry_run = DryRun::of(k)?;
    let mut b = Builder::new(k)
        .labels(f.str("selector"))
        .fields(f.str("field-selector"))
        .select_all(f.bool("all"))
        .all_namespaces(f.bool("all-namespaces"))
        .arguments(k, false, k.args());
    b.require_object = false;
    let visit = b.run(k).await?;
    let output = f.str("output");
    if !output.is_empty() && output != "name" {
        return Err(Error::text(format!("unexpected -o output mode: {output}. We only support '-o name'")));
    }
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    if grace == 0 && force {
        k.err("Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.\n");
    } else if grace > 0 && force {
        return Err(Error::text("--force and --grace-period greater than 0 cannot be specified together"));
    }
    let mut errors = Vec::new();
    let mut deleted: Vec<(Info, String)> = Vec::new();
    let mut found = 0;
    for item in visit.items {
        let info = match item {
            Ok(i) => i,
            Err(e) if ignore && e.is_not_found() => continue,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        found += 1;
        let operation = if info.mapping.namespaced {
            let word = if grace == 0 { "force deleted" } else { "deleted" };
            dry_run.operation(&format!("{word} from {} namespace", info.namespace))
        } else {
            dry_run.operation(if grace == 0 { "force deleted" } else { "deleted" })
        };
        let kind = info.mapping.printed_kind();
        let line = if output == "name" {
            format!("{kind}/{}\n", info.name)
        } else {
            format!("{kind} \"{}\" {operation}\n", info.name)
        };
        if dry_run == DryRun::Client {
            k.out(&line);
            continue;
        }
        let options = Delete {
            grace_period: (grace >= 0).then_some(grace),
            propagation: Some(propagation),
            dry_run: dry_run == DryRun::Server,
        };
        match k.delete(&info.mapping, &info.namespace, &info.name, &options).await {
            Ok(answer) => {
                k.out(&line);
                let uid = match answer.str("kind") {
                    "Status" => answer.str("details/uid"),
                    _ => answer.str("metadata/uid"),
                };
                let uid = uid.to_string();
                deleted.push((info, uid));
            }
            Err(e) if ignore && e.is_not_found() => {}
            Err(e) => {
                let source = info.source.clone();
                errors.push(e.with_source("deleting", &source));
            }
        }
    }
    Error::aggregate(errors)?;
    if found == 0 {
        k.out("No resources found\n");
        return Ok(());
    }
    if !f.bool("wait") || dry_run != DryRun::None {
        return Ok(());
    }
    let timeout = match f.duration("timeout") {
        0 => Duration::from_secs(168 * 3600),
        n => Duration::from_nanos(n.max(0) as u64),
    };
    let deadline = k.ctx.now() + timeout;
    for (info, uid) in deleted {
        match super::wait::until_deleted(k, &info, &uid, deadline).await {
            Err(e) if e.reason() == "Forbidden" || e.reason() == "MethodNotAllowed" => return Ok(()),
            other => other?,
        }
    }
    Ok(())
}
