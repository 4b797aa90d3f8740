//! `kubectl patch`.

use super::{Command, DRY_RUN, DryRun, FIELD_MANAGER, FILES, LOCAL, PRINT, RECORD, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::flags::{Flag, Type, flag};
use crate::print::human::quote;
use crate::print::object::{for_write, omit_managed_fields};
use crate::server::Write;
use crate::session::Kubectl;
use ::api::rest::PatchType;

const FLAGS: &[Flag] = &[
    flag("patch", Type::String, "", "The patch to be applied to the resource JSON file.").short('p'),
    flag("patch-file", Type::String, "", "The file containing the patch to be applied to the resource."),
    flag(
        "subresource",
        Type::String,
        "",
        "If specified, patch will operate on the subresource of the requested object.",
    ),
    flag("type", Type::String, "strategic", "The type of patch being provided; one of [json merge strategic]"),
];

/// The verb.
pub static PATCH: Command = Command {
    name: "patch",
    aliases: &[],
    short: "Update fields of a resource",
    usage: "(-f FILENAME | TYPE NAME) [-p PATCH|--patch-file FILE]",
    flags: &[FLAGS, PRINT, FILES, DRY_RUN, FIELD_MANAGER, LOCAL, RECORD],
    required: &[],
    run: Some(|k| Box::pin(patch(k))),
    children: &[],
};

async fn patch(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(f)?;
    let (text, file) = (f.str("patch"), f.str("patch-file"));
    if !text.is_empty() && !file.is_empty() {
        return Err(Error::text("cannot specify --patch and --patch-file together"));
    }
    if text.is_empty() && file.is_empty() {
        return Err(Error::text("must specify --patch or --patch-file containing the contents of the patch"));
    }
    let kind = match f.str("type").to_lowercase().as_str() {
        "strategic" => PatchType::Strategic,
        "merge" => PatchType::Merge,
        "json" => PatchType::Json,
        _ => {
            return Err(Error::text(format!(
                "--type must be one of [json merge strategic], not {}",
                quote(f.str("type"))
            )));
        }
    };
    let source = if file.is_empty() {
        text.to_string()
    } else {
        let bytes =
            k.io.read_file(file).map_err(|e| Error::text(format!("unable to read patch file: open {file}: {e}")))?;
        String::from_utf8_lossy(&bytes).into_owned()
    };
    // What begins like a JSON object is sent as it is (`yaml.ToJSON`).
    let body = if source.trim_start().starts_with('{') {
        source
    } else {
        crate::manifest::yaml(&source)
            .map_err(|e| Error::text(format!("unable to parse {}: {e}", quote(&source))))?
            .to_json()
    };
    let mut b = Builder::new(k).arguments(k, false, k.args());
    b.subresource = f.str("subresource").to_string();
    let visit = b.run(k).await?;
    let mut errors = Vec::new();
    let mut count = 0;
    for item in visit.items {
        let info = match item {
            Ok(i) => i,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        count += 1;
        if dry_run == DryRun::Client {
            let word = dry_run.operation("patched");
            for_write(k, &word)?.show(k, &info.object)?;
            continue;
        }
        let w = Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-patch"), ..Write::default() };
        let sub = f.str("subresource");
        match k.patch(&info.mapping, &info.namespace, &info.name, sub, kind, body.as_bytes(), &w).await {
            Ok(mut patched) => {
                let word = if patched == info.object { "patched (no change)" } else { "patched" };
                if !f.bool("show-managed-fields") {
                    omit_managed_fields(&mut patched);
                }
                for_write(k, &dry_run.operation(word))?.show(k, &patched)?;
            }
            Err(e) => errors.push(e),
        }
    }
    Error::aggregate(errors)?;
    if count == 0 {
        return Err(Error::text("no objects passed to patch"));
    }
    Ok(())
}
