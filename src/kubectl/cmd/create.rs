//! `kubectl create`: from files; its subcommands make objects of their own.

use super::{DryRun, manager, validation};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::object::{for_write, omit_managed_fields};
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The command.
pub async fn create(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(k.usage_error(&format!("Unexpected args: [{}]", k.args().join(" "))));
    }
    if f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        return Err(Error::text("must specify one of -f and -k"));
    }
    if !f.str("raw").is_empty() {
        if f.bool("edit") {
            return Err(Error::text("--raw and --edit are mutually exclusive"));
        }
        return crate::raw::write(k, ::api::rest::Verb::Create).await;
    }
    let dry_run = DryRun::of(k)?;
    let validation = validation(f)?;
    let mut printer = for_write(k, &dry_run.operation("created"))?;
    let mut b = Builder::new(k).labels(f.str("selector"));
    b.validate = validation != ::api::rest::FieldValidation::Ignore;
    let visit = b.run(k).await?;
    let w =
        Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-create"), validation, force: false };
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
            k.record(&mut info.object);
            if dry_run != DryRun::Client {
                info.object.remove_key("metadata", "resourceVersion");
                let made = k
                    .create(&info.mapping, &info.namespace, &info.object, &w)
                    .await
                    .map_err(|e| e.with_source("creating", &info.source))?;
                info.refresh(made);
            }
            Ok(info)
        };
        match done.await {
            Ok(info) => {
                count += 1;
                let mut o = info.object;
                if !f.bool("show-managed-fields") {
                    omit_managed_fields(&mut o);
                }
                printer.show(k, &o)?;
            }
            Err(e) => errors.push(e),
        }
    }
    Error::aggregate(errors)?;
    if count == 0 {
        return Err(Error::text("no objects passed to create"));
    }
    Ok(())
}

/// `NameFromCommandArgs`.
pub fn name(k: &Kubectl<'_>) -> Result<String, Error> {
    let count = k.flags.dash.unwrap_or(k.args().len());
    match k.args().first() {
        Some(n) if count == 1 => Ok(n.clone()),
        _ => Err(k.usage_error(&format!("exactly one NAME is required, got {count}"))),
    }
}

/// The words after the name: a command.
pub fn command(k: &Kubectl<'_>) -> Vec<Value> {
    k.args().iter().skip(1).map(|a| Value::String(a.clone())).collect()
}

/// A new object with its name and, when one was asked for, its namespace.
pub fn new_object(k: &Kubectl<'_>, api_version: &str, kind: &str, name: &str, namespaced: bool) -> Value {
    let mut o = object([("apiVersion", api_version.into()), ("kind", kind.into())]);
    o.set("metadata/name", name);
    if namespaced && k.explicit_namespace() {
        o.set("metadata/namespace", k.namespace());
    }
    o
}

/// Sends a new object and prints what came of it. `failed` goes before an error's text; without it the error stays the
/// server's.
pub async fn send(k: &Kubectl<'_>, group: &str, plural: &str, mut o: Value, failed: Option<&str>) -> Result<(), Error> {
    let dry_run = DryRun::of(k)?;
    let validation = validation(&k.flags)?;
    let mut printer = for_write(k, &dry_run.operation("created"))?;
    if k.flags.bool("save-config") {
        o = super::apply::annotated(&o);
    }
    if dry_run != DryRun::Client {
        let m = k.known(group, plural)?;
        let w = Write {
            dry_run: dry_run == DryRun::Server,
            manager: manager(k, "kubectl-create"),
            validation,
            force: false,
        };
        let ns = if m.namespaced { k.namespace() } else { String::new() };
        o = k.create(&m, &ns, &o, &w).await.map_err(|e| match (failed, &e) {
            (Some(text), _) => Error::text(format!("{text}{}", e.message())),
            (None, _) => e,
        })?;
    }
    if !k.flags.bool("show-managed-fields") {
        omit_managed_fields(&mut o);
    }
    printer.show(k, &o)?;
    Ok(())
}
