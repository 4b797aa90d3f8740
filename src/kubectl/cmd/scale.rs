//! `kubectl scale`.

use super::DryRun;
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::object;
use ::api::rest::PatchType;
use std::time::Duration;

/// The command.
pub async fn scale(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let mut printer = for_write(k, &dry_run.operation("scaled"))?;
    let replicas = f.int("replicas");
    if replicas < 0 {
        return Err(Error::text("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0"));
    }
    if f.int("current-replicas") < -1 {
        return Err(Error::text("The --current-replicas must specify an integer of -1 or greater"));
    }
    let b = Builder::new(k).labels(f.str("selector")).arguments(k, f.bool("all"), k.args());
    let visit = b.run(k).await?;
    let (infos, failed) = visit.infos();
    if !f.str("resource-version").is_empty() && infos.len() > 1 {
        return Err(Error::text("cannot use --resource-version with multiple resources"));
    }
    if infos.is_empty() {
        failed?;
        return Err(Error::text("no objects passed to scale"));
    }
    for mut info in infos {
        if dry_run != DryRun::Client {
            one(k, &info, replicas, dry_run).await?;
        }
        info.object.set("spec/replicas", replicas);
        if dry_run != DryRun::Client
            && let Some(why) = k.record_patch(&info.object)
        {
            // What this says is of no account.
            let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
            _ = k.patch(m, ns, name, "", PatchType::Merge, why.as_bytes(), &Write::default()).await;
        }
        printer.show(k, &info.object)?;
    }
    failed
}

async fn one(k: &Kubectl<'_>, info: &Info, replicas: i64, dry_run: DryRun) -> Result<(), Error> {
    let f = &k.flags;
    let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
    let write = Write { dry_run: dry_run == DryRun::Server, ..Write::default() };
    let expected = f.int("current-replicas");
    let version = f.str("resource-version");
    if expected == -1 && version.is_empty() {
        let patch = object([("spec", object([("replicas", replicas.into())]))]).to_json();
        k.patch(m, ns, name, "scale", PatchType::Merge, patch.as_bytes(), &write).await?;
    } else {
        let mut scale = k.get(m, ns, name, "scale").await?;
        let now = scale.int("spec/replicas");
        if expected != -1 && now != expected {
            return Err(Error::text(format!("Expected replicas to be {expected}, was {now}")));
        }
        let found = scale.str("metadata/resourceVersion");
        if !version.is_empty() && version != found {
            return Err(Error::text(format!("Expected resource version to be {version}, was {found}")));
        }
        scale.set("spec/replicas", replicas);
        k.update(m, ns, name, "scale", &scale, &write).await?;
    }
    let timeout = f.duration("timeout");
    if timeout > 0 && dry_run == DryRun::None {
        let wait = async {
            loop {
                let scale = k.get(m, ns, name, "scale").await?;
                if scale.int("spec/replicas") == replicas && scale.int("status/replicas") == replicas {
                    return Ok(());
                }
                k.ctx.sleep(Duration::from_secs(1)).await;
            }
        };
        match k.ctx.timeout(Duration::from_nanos(timeout as u64), wait).await {
            Ok(r) => r?,
            Err(_) => {
                return Err(Error::text(format!("timed out waiting for {name:?} to be synced")));
            }
        }
    }
    Ok(())
}
