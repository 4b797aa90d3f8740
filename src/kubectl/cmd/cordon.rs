//! `kubectl cordon` and `kubectl uncordon`.

use super::DryRun;
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::Printer;
use crate::server::Write;
use crate::session::Kubectl;
use ::api::rest::PatchType;

/// The command.
pub async fn cordon(k: &Kubectl<'_>, desired: bool, usage: &str) -> Result<(), Error> {
    let f = &k.flags;
    let selector = f.str("selector");
    if k.args().is_empty() && selector.is_empty() {
        return Err(k.usage_error(&format!("USAGE: {usage} [flags]")));
    }
    if !k.args().is_empty() && !selector.is_empty() {
        return Err(k.usage_error("error: cannot specify both a node name and a --selector option"));
    }
    let dry_run = DryRun::of(k)?;
    let b = Builder::new(k);
    let mut b = if selector.is_empty() {
        b.resource_names("nodes", k.args())
    } else {
        b.labels(selector).arguments(k, false, &["nodes".to_string()])
    };
    b.latest = true;
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    for info in infos {
        if (info.mapping.group.as_str(), info.mapping.plural.as_str()) != ("", "nodes") {
            let got = quote(&info.mapping.gvr());
            return Err(Error::text(format!("error: expected resource of type node, got {got}")));
        }
        mark(k, &info, desired, dry_run).await?;
    }
    Ok(())
}

/// Marks one node and says so.
pub async fn mark(k: &Kubectl<'_>, info: &Info, desired: bool, dry_run: DryRun) -> Result<(), Error> {
    let unschedulable = info.object.bool("spec/unschedulable");
    let word = match (unschedulable == desired, desired) {
        (true, true) => "already cordoned",
        (true, false) => "already uncordoned",
        (false, true) => "cordoned",
        (false, false) => "uncordoned",
    };
    if unschedulable != desired && dry_run != DryRun::Client {
        let patch = if desired { r#"{"spec":{"unschedulable":true}}"# } else { r#"{"spec":{"unschedulable":null}}"# };
        let w = Write { dry_run: dry_run == DryRun::Server, ..Write::default() };
        let sent = k.patch(&info.mapping, "", &info.name, "", PatchType::Strategic, patch.as_bytes(), &w).await;
        if let Err(e) = sent {
            let verb = if desired { "cordon" } else { "uncordon" };
            k.err(&format!("error: unable to {verb} node {}: {}\n", quote(&info.name), e.message()));
            return Ok(());
        }
    }
    Printer::Name(format!(" {}", dry_run.operation(word))).show(k, &info.object)?;
    Ok(())
}
