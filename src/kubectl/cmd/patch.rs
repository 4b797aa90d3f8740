//! `kubectl patch`.

use super::{DryRun, local_dry_run, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::{for_write, omit_managed_fields};
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::PatchType;

/// The command.
pub async fn patch(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let (text, file) = (f.str("patch"), f.str("patch-file"));
    if !text.is_empty() && !file.is_empty() {
        return Err(Error::text("cannot specify --patch and --patch-file together"));
    }
    if text.is_empty() && file.is_empty() {
        return Err(Error::text("must specify --patch or --patch-file containing the contents of the patch"));
    }
    if f.bool("local") && !k.args().is_empty() {
        return Err(Error::text("cannot specify --local and server resources"));
    }
    local_dry_run(k)?;
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
        if f.bool("local") || dry_run == DryRun::Client {
            let patched = offline(&info.object, kind, &body)?;
            let word = if patched == info.object { "patched (no change)" } else { "patched" };
            let word = if dry_run == DryRun::Client && patched != info.object {
                dry_run.operation(word)
            } else {
                word.to_string()
            };
            for_write(k, &word)?.show(k, &patched)?;
            continue;
        }
        let w = Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-patch"), ..Write::default() };
        let sub = f.str("subresource");
        match k.patch(&info.mapping, &info.namespace, &info.name, sub, kind, body.as_bytes(), &w).await {
            Ok(mut patched) => {
                let word = if patched == info.object { "patched (no change)" } else { "patched" };
                if let Some(why) = k.record_patch(&patched)
                    && let Ok(recorded) = k
                        .patch(&info.mapping, &info.namespace, &info.name, sub, PatchType::Merge, why.as_bytes(), &w)
                        .await
                {
                    patched = recorded;
                }
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

/// What a patch makes of an object, without a server.
pub fn offline(object: &Value, kind: PatchType, body: &str) -> Result<Value, Error> {
    let patch = Value::parse(body).map_err(Error::text)?;
    let (o, p) = (object.to_api(), patch.to_api());
    let made = match kind {
        PatchType::Json => ::api::patch::json(&o, &p).map_err(|e| Error::text(e.to_string()))?,
        PatchType::Strategic => match crate::merge::schema_of(object.str("apiVersion"), object.str("kind")) {
            Some(desc) => ::api::patch::strategic(&o, &p, desc).map_err(|e| Error::text(e.to_string()))?,
            None => ::api::patch::merge(&o, &p),
        },
        _ => ::api::patch::merge(&o, &p),
    };
    Ok(Value::from(&made))
}
