//! `kubectl apply set-last-applied`.

use super::DryRun;
use super::apply::{LAST_APPLIED, annotated, set_annotation};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::session::Kubectl;

/// Sets the annotation of live objects to what the files say.
pub async fn set_last_applied(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(f)?;
    let mut b = Builder::new(k);
    b.latest = false;
    let visit = b.run(k).await?;
    let (infos, failed) = visit.infos();
    failed?;
    let mut printer = for_write(k, &dry_run.operation("configured"))?;
    for info in infos {
        let live = k.get(&info.mapping, &info.namespace, &info.name, "").await?;
        let old = live.at("metadata/annotations").key(LAST_APPLIED).as_str().map(String::from);
        if old.is_none() && !f.bool("create-annotation") {
            return Err(Error::text(format!(
                "no last-applied-configuration annotation found on resource: {}, to create the annotation, run the command with --create-annotation",
                info.name
            )));
        }
        let wanted = annotated(&info.object);
        let new = wanted.at("metadata/annotations").key(LAST_APPLIED).as_str().map(String::from);
        if old == new {
            k.out(&format!("set-last-applied {}: no changes required.\n", quote(&info.name)));
            continue;
        }
        if dry_run == DryRun::Client {
            printer.show(k, &info.object)?;
            continue;
        }
        let o = set_annotation(k, &info, &info.object).await?;
        printer.show(k, &o)?;
    }
    Ok(())
}
