//! `kubectl auth reconcile`: roles and bindings as files want them, without taking anything away unless asked.

use super::DryRun;
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The command.
pub async fn reconcile(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(Error::text("no arguments are allowed"));
    }
    if f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        return Err(Error::text("must specify one of -f and -k"));
    }
    let dry_run = DryRun::of(k)?;
    if dry_run == DryRun::Server {
        return Err(Error::text("--dry-run=server for command reconcile is not supported yet"));
    }
    let mut printer = for_write(k, &dry_run.operation("reconciled"))?;
    let mut errors = Vec::new();
    // The files are read without the server: what names no namespace gets none, and is never found.
    let mut b = Builder::new(k);
    b.local = true;
    for item in b.run(k).await?.items {
        let done = async {
            let info = item?;
            let role = matches!(info.mapping.kind.as_str(), "Role" | "ClusterRole");
            if !role && !matches!(info.mapping.kind.as_str(), "RoleBinding" | "ClusterRoleBinding") {
                return Ok(());
            }
            let field = if role { "rules" } else { "subjects" };
            let nowhere = info.mapping.namespaced && info.namespace.is_empty();
            let found = if nowhere { None } else { Some(k.get(&info.mapping, &info.namespace, &info.name, "").await) };
            let live = match found.transpose() {
                Ok(o) => o,
                Err(e) if e.is_not_found() => None,
                Err(e) => return Err(e),
            };
            let (made, operation, added, removed) = one(k, &info, live, field, dry_run).await?;
            printer.show(k, &made)?;
            describe(k, role, &operation, &added, &removed);
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}

type Done = (Value, String, Vec<Value>, Vec<Value>);

async fn one(k: &Kubectl<'_>, info: &Info, live: Option<Value>, field: &str, dry_run: DryRun) -> Result<Done, Error> {
    let w = Write::default();
    let (m, ns) = (&info.mapping, &info.namespace);
    let Some(mut live) = live else {
        let added = info.object.list(field).to_vec();
        if dry_run == DryRun::Client {
            return Ok((info.object.clone(), "create".into(), added, Vec::new()));
        }
        if m.namespaced {
            ensure_namespace(k, ns).await?;
        }
        let made = k.create(m, ns, &info.object, &w).await?;
        return Ok((made, "create".into(), added, Vec::new()));
    };
    let missing = |from: &[Value], of: &[Value]| -> Vec<Value> {
        of.iter().filter(|r| !from.iter().any(|h| covers(h, r))).cloned().collect()
    };
    let added = missing(live.list(field), info.object.list(field));
    let extra = missing(info.object.list(field), live.list(field));
    let drop = k.flags.bool(if field == "rules" { "remove-extra-permissions" } else { "remove-extra-subjects" });
    let removed = if drop { extra } else { Vec::new() };
    if added.is_empty() && removed.is_empty() {
        return Ok((live, String::new(), added, removed));
    }
    let list = live.list_mut(field);
    list.retain(|r| !removed.contains(r));
    list.extend(added.iter().cloned());
    if dry_run != DryRun::Client {
        live = k.update(m, ns, &info.name, "", &live, &w).await?;
    }
    Ok((live, "update".into(), added, removed))
}

/// Makes the namespace that a role or binding goes into, when it may and there is none.
async fn ensure_namespace(k: &Kubectl<'_>, name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::text("resource name may not be empty"));
    }
    let m = k.known("", "namespaces")?;
    match k.get(&m, "", name, "").await {
        Ok(_) => return Ok(()),
        Err(e) if e.is_not_found() || e.reason() == "Forbidden" => {}
        Err(e) => return Err(e),
    }
    let metadata = object([("name", name.into())]);
    let namespace = object([("apiVersion", "v1".into()), ("kind", "Namespace".into()), ("metadata", metadata)]);
    match k.create(&m, "", &namespace, &Write::default()).await {
        Err(e) if e.reason() != "AlreadyExists" && e.reason() != "Forbidden" => Err(e),
        _ => Ok(()),
    }
}

/// Whether one rule (or subject) allows all that another does.
fn covers(have: &Value, wanted: &Value) -> bool {
    ["apiGroups", "resources", "verbs", "resourceNames", "nonResourceURLs"].iter().all(|f| {
        let all = have.list(f).iter().any(|v| v.as_str() == Some("*"));
        all || wanted.list(f).iter().all(|v| have.list(f).contains(v))
            && !(*f == "resourceNames" && wanted.list(f).is_empty() && !have.list(f).is_empty())
    }) && ["kind", "name", "namespace"].iter().all(|f| have.str(f) == wanted.str(f))
}

fn describe(k: &Kubectl<'_>, role: bool, operation: &str, added: &[Value], removed: &[Value]) {
    if operation.is_empty() {
        return;
    }
    let words = |v: &Value, f: &str| v.list(f).iter().map(Value::go_v).collect::<Vec<_>>().join(" ");
    let line = |v: &Value| {
        if role {
            format!(
                "\t\t{{Verbs:[{}] APIGroups:[{}] Resources:[{}] ResourceNames:[{}] NonResourceURLs:[{}]}}\n",
                words(v, "verbs"),
                words(v, "apiGroups"),
                words(v, "resources"),
                words(v, "resourceNames"),
                words(v, "nonResourceURLs")
            )
        } else {
            format!(
                "\t\t{{Kind:{} APIGroup:{} Name:{} Namespace:{}}}\n",
                v.str("kind"),
                v.str("apiGroup"),
                v.str("name"),
                v.str("namespace")
            )
        }
    };
    let what = if role { "rules" } else { "subjects" };
    let mut out = format!("\treconciliation required {operation}\n");
    for (title, list) in [("missing", added), ("extra", removed)] {
        if !list.is_empty() {
            let verb = if title == "missing" { "added" } else { "removed" };
            out.push_str(&format!("\t{title} {what} {verb}:\n"));
            out.extend(list.iter().map(line));
        }
    }
    k.err(&out);
}
