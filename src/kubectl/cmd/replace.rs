//! `kubectl replace`.

use super::{DryRun, manager, validation};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::object::for_write;
use crate::server::{Delete, Write};
use crate::session::Kubectl;
use std::time::Duration;

/// The command.
pub async fn replace(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let validation = validation(f)?;
    let force = f.bool("force");
    if f.int("grace-period") >= 0 && !force {
        return Err(Error::text("--grace-period must have --force specified"));
    }
    if f.duration("timeout") != 0 && !force {
        return Err(Error::text("--timeout must have --force specified"));
    }
    if force && dry_run != DryRun::None {
        return Err(Error::text("--dry-run can not be used when --force is set"));
    }
    if f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        return Err(Error::text("must specify one of -f and -k"));
    }
    if !f.str("raw").is_empty() {
        return crate::raw::write(k, ::api::rest::Verb::Update).await;
    }
    let mut b = Builder::new(k);
    b.validate = validation != ::api::rest::FieldValidation::Ignore;
    let visit = b.run(k).await?;
    let w =
        Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-replace"), validation, force: false };
    let mut printer = for_write(k, &dry_run.operation("replaced"))?;
    let sub = f.str("subresource");
    let mut errors = Vec::new();
    let mut count = 0;
    for item in visit.items {
        let done = async {
            let mut info = item?;
            if f.bool("save-config")
                || info.object.at("metadata/annotations").key(super::apply::LAST_APPLIED).as_str().is_some()
            {
                info.object = super::apply::annotated(&info.object);
            }
            if dry_run == DryRun::Client {
                return Ok(info);
            }
            let (m, ns, name) = (info.mapping.clone(), info.namespace.clone(), info.name.clone());
            if name.is_empty() {
                let text = Error::text("resource name may not be empty");
                return Err(if force { text } else { text.with_source("replacing", &info.source) });
            }
            if force {
                let grace = f.int("grace-period");
                let options = Delete {
                    grace_period: Some(if grace < 0 { 0 } else { grace }),
                    propagation: Some(super::delete::cascading(f)?),
                    dry_run: false,
                };
                match k.delete(&m, &ns, &name, &options).await {
                    Ok(_) => {
                        let from = if ns.is_empty() { String::new() } else { format!(" from {ns} namespace") };
                        k.out(&format!("{} \"{name}\" deleted{from}\n", m.printed_kind()));
                        while !k.get(&m, &ns, &name, "").await.is_err_and(|e| e.is_not_found()) {
                            k.ctx.sleep(Duration::from_secs(1)).await;
                        }
                    }
                    Err(e) if e.is_not_found() => {}
                    Err(e) => return Err(e),
                }
                let made =
                    k.create(&m, &ns, &info.object, &w).await.map_err(|e| e.with_source("replacing", &info.source))?;
                info.refresh(made);
                return Ok(info);
            }
            // Without a resourceVersion the live one is taken.
            if info.object.str("metadata/resourceVersion").is_empty()
                && let Ok(live) = k.get(&m, &ns, &name, sub).await
            {
                info.object.set("metadata/resourceVersion", live.str("metadata/resourceVersion"));
            }
            let made = k
                .update(&m, &ns, &name, sub, &info.object, &w)
                .await
                .map_err(|e| e.with_source("replacing", &info.source))?;
            info.refresh(made);
            Ok(info)
        };
        match done.await {
            Ok(info) => {
                count += 1;
                printer.show(k, &info.object)?;
            }
            Err(e) => errors.push(e),
        }
    }
    Error::aggregate(errors)?;
    if count == 0 {
        return Err(Error::text("no objects passed to replace"));
    }
    Ok(())
}
