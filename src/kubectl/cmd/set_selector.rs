//! `kubectl set selector`, `set serviceaccount` and `set subject`.

use super::set::{find, update};
use super::{DryRun, local_dry_run, manager};
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::merge;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::PatchType;

/// Patches what a change made of each object, and prints it.
async fn send(
    k: &Kubectl<'_>,
    changed: Vec<(Info, Value)>,
    what: &str,
    failed: &str,
    mut errors: Vec<Error>,
) -> Result<(), Error> {
    let dry_run = DryRun::of(k)?;
    let mut printer = for_write(k, &dry_run.operation(what))?;
    for (info, mut wanted) in changed {
        if dry_run != DryRun::Client && !k.flags.bool("local") {
            let schema = merge::schema_of(&info.mapping.api_version(), &info.mapping.kind);
            let patch = merge::two_way(&info.object, &wanted, schema).to_json();
            let w =
                Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-set"), ..Write::default() };
            let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
            match k.patch(m, ns, name, "", PatchType::Strategic, patch.as_bytes(), &w).await {
                Ok(o) => wanted = o,
                Err(e) => {
                    errors.push(if failed.is_empty() { e } else { Error::text(format!("{failed}{}", e.message())) });
                    continue;
                }
            }
        }
        printer.show(k, &wanted)?;
    }
    Error::aggregate(errors)
}

/// `set selector`
pub async fn selector(k: &Kubectl<'_>) -> Result<(), Error> {
    let Some((last, resources)) = k.args().split_last() else {
        return Err(Error::text("one selector is required"));
    };
    let selector = crate::selector::to_object(last)?;
    let infos = find(k, resources).await?;
    let other: Vec<String> = selector
        .list("matchExpressions")
        .iter()
        .map(|e| {
            let values: Vec<&str> = e.list("values").iter().filter_map(Value::as_str).collect();
            format!("{{{} {} [{}]}}", e.str("key"), e.str("operator"), values.join(" "))
        })
        .collect();
    let (mut changed, mut errors) = (Vec::new(), Vec::new());
    for info in infos {
        if info.mapping.kind != "Service" {
            errors.push(Error::text("setting a selector is only supported for Services"));
            continue;
        }
        if !other.is_empty() {
            let text = format!("match expression [{}] not supported on this object", other.join(" "));
            errors.push(Error::text(text));
            continue;
        }
        let (mut info, mut wanted) = (info.clone(), info.object.clone());
        wanted.set("spec/selector", selector.at("matchLabels").clone());
        let version = k.flags.str("resource-version");
        if !version.is_empty() {
            // It is always sent.
            info.object.remove_key("metadata", "resourceVersion");
            wanted.set("metadata/resourceVersion", version);
        }
        k.record(&mut wanted);
        changed.push((info, wanted));
    }
    send(k, changed, "selector updated", "", errors).await
}

/// `set serviceaccount`
pub async fn service_account(k: &Kubectl<'_>) -> Result<(), Error> {
    let Some((name, resources)) = k.args().split_last() else {
        return Err(Error::text("serviceaccount is required"));
    };
    local_dry_run(k)?;
    let resources = if k.flags.bool("local") { &[] } else { resources };
    let infos = find(k, resources).await?;
    update(k, infos, "serviceaccount updated", "failed to patch ServiceAccountName ", true, &mut |_, spec, _| {
        spec.set("serviceAccountName", name.as_str());
    })
    .await
}

/// `set subject`
pub async fn subject(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    local_dry_run(k)?;
    let mut b = Builder::new(k).labels(f.str("selector")).arguments(k, f.bool("all"), k.args());
    b.latest = true;
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    let accounts = f.list("serviceaccount");
    if f.list("user").is_empty() && f.list("group").is_empty() && accounts.is_empty() {
        return Err(Error::text("you must specify at least one value of user, group or serviceaccount"));
    }
    let group = "rbac.authorization.k8s.io";
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        for name in f.list(flag) {
            subjects.push(object([("apiGroup", group.into()), ("kind", kind.into()), ("name", name.into())]));
        }
    }
    for account in &accounts {
        match account.split_once(':') {
            Some((ns, name)) if !name.is_empty() && !name.contains(':') => subjects.push(object([
                ("kind", "ServiceAccount".into()),
                ("name", name.into()),
                ("namespace", if ns.is_empty() { k.namespace().into() } else { ns.into() }),
            ])),
            _ => return Err(Error::text("serviceaccount must be <namespace>:<name>")),
        }
    }
    let (mut changed, mut errors) = (Vec::new(), Vec::new());
    for info in infos {
        if !matches!(info.mapping.kind.as_str(), "RoleBinding" | "ClusterRoleBinding") {
            errors.push(Error::text(format!(
                "error: {} setting subjects is only supported for RoleBinding/ClusterRoleBinding\n",
                if f.bool("local") { format!("{}\n", info.printed_name()) } else { info.object_name() }
            )));
            continue;
        }
        let mut wanted = info.object.clone();
        for s in &subjects {
            if !wanted.list("subjects").contains(s) {
                wanted.list_mut("subjects").push(s.clone());
            }
        }
        if wanted == info.object {
            continue;
        }
        changed.push((info, wanted));
    }
    send(k, changed, "subjects updated", "failed to patch subjects to rolebinding: ", errors).await
}
