//! `kubectl apply --prune`: deletes what was applied before and is no longer in the files.

use super::DryRun;
use crate::error::Error;
use crate::mapping::Mapping;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::print::time::klog;
use crate::server::Delete;
use crate::session::Kubectl;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What is looked through when `--prune-allowlist` does not say.
const DEFAULT: [(&str, &str); 16] = [
    ("", "ConfigMap"),
    ("", "Endpoints"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("", "Secret"),
    ("", "Service"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "Ingress"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("", "Namespace"),
    ("", "PersistentVolume"),
];

/// The kinds of `--prune-allowlist`.
pub fn allowed(k: &Kubectl<'_>) -> Result<Vec<Rc<Mapping>>, Error> {
    let mut out = Vec::new();
    for text in k.flags.list("prune-allowlist") {
        let parts: Vec<&str> = text.split('/').collect();
        let [group, version, kind] = parts.as_slice() else {
            return Err(Error::text(format!(
                "invalid GroupVersionKind format: {text}, please follow <group/version/kind>"
            )));
        };
        let group = if *group == "core" { "" } else { group };
        let found = k
            .mapper()
            .for_kind(&if group.is_empty() { version.to_string() } else { format!("{group}/{version}") }, kind);
        out.push(found.ok_or_else(|| {
            Error::text(format!("no matches for kind {} in version {}", quote(kind), quote(version)))
        })?);
    }
    Ok(out)
}

/// Deletes objects that carry the annotation, are selected, and are none of those applied.
pub async fn prune(
    k: &Kubectl<'_>,
    kinds: Vec<Rc<Mapping>>,
    namespaces: &BTreeSet<String>,
    applied: &BTreeSet<String>,
    dry_run: DryRun,
) -> Result<(), Error> {
    let f = &k.flags;
    let kinds = if kinds.is_empty() {
        k.err(&klog(
            k.now(),
            'W',
            "prune.go:71",
            "Deprecated: kubectl apply will no longer prune non-namespaced resources by default when used with the --namespace flag in a future release. To preserve the current behaviour, list the resources you want to target explicitly in the --prune-allowlist flag.",
        ));
        let mapper = k.mapper();
        let find = |(group, kind): &(&str, &str)| {
            let version = if group.is_empty() { "v1".to_string() } else { format!("{group}/v1") };
            mapper.for_kind(&version, kind)
        };
        DEFAULT.iter().filter_map(find).collect()
    } else {
        kinds
    };
    let mut printer = for_write(k, &dry_run.operation("pruned"))?;
    let (inside, outside): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|m| m.namespaced);
    let mut places: Vec<(String, Rc<Mapping>)> = Vec::new();
    for ns in namespaces {
        places.extend(inside.iter().map(|m| (ns.clone(), m.clone())));
    }
    places.extend(outside.into_iter().map(|m| (String::new(), m)));
    let grace = f.int("grace-period");
    for (ns, m) in places {
        for o in k.list(&m, &ns, f.str("selector"), "").await? {
            let annotated = o.at("metadata/annotations").key(super::apply::LAST_APPLIED).as_str().is_some();
            if !annotated || applied.contains(o.str("metadata/uid")) {
                continue;
            }
            if dry_run != DryRun::Client {
                let options = Delete {
                    grace_period: (grace >= 0).then_some(grace),
                    propagation: Some(super::delete::cascading(f)?),
                    dry_run: dry_run == DryRun::Server,
                };
                k.delete(&m, &ns, o.str("metadata/name"), &options).await?;
            }
            printer.show(k, &o)?;
        }
    }
    Ok(())
}
