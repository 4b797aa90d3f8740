//! `kubectl apply set-last-applied`.

use super::DryRun;
use super::apply::{LAST_APPLIED, set_annotation};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::Value;

/// The manager of requests that name none: the first word of the user agent.
const MANAGER: &str = "kubectl";

/// Sets the annotation of live objects to what the files say. All objects are looked at before any is written.
pub async fn set_last_applied(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let mut printer = for_write(k, &dry_run.operation("configured"))?;
    let mut b = Builder::new(k);
    b.continue_on_error = false;
    let mut changed = Vec::new();
    for item in b.run(k).await?.items {
        let info = item?;
        let live = match k.get(&info.mapping, &info.namespace, &info.name, "").await {
            Ok(live) => live,
            Err(e) if e.is_not_found() => return Err(e),
            Err(e) => return Err(super::apply::retrieving(&info, e)),
        };
        let old = live.at("metadata/annotations").key(LAST_APPLIED).as_str();
        if old.is_none() && !f.bool("create-annotation") {
            return Err(Error::text(format!(
                "no last-applied-configuration annotation found on resource: {}, to create the annotation, run the command with --create-annotation",
                info.name
            )));
        }
        // The texts are compared, so that what `apply` wrote (with its empty annotations) counts as another.
        if old == Some(format!("{}\n", info.object.to_json()).as_str()) {
            k.out(&format!("set-last-applied {}: no changes required.\n", info.name));
        } else {
            changed.push((info, live));
        }
    }
    let write = Write { dry_run: dry_run == DryRun::Server, manager: MANAGER.into(), ..Write::default() };
    for (info, live) in changed {
        let made: Value =
            if dry_run == DryRun::Client { live } else { set_annotation(k, &info, &info.object, &write).await? };
        printer.show(k, &made)?;
    }
    Ok(())
}
