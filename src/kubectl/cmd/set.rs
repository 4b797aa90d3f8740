//! `kubectl set`: image and resources; env has a file of its own.

use super::{DryRun, local_dry_run, manager};
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::merge;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::PatchType;

/// The path of an object's pod spec; None for kinds without one.
pub fn pod_spec(kind: &str) -> Option<&'static str> {
    match kind {
        "Pod" => Some("spec"),
        "CronJob" => Some("spec/jobTemplate/spec/template/spec"),
        "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet" | "Job" | "ReplicationController" => {
            Some("spec/template/spec")
        }
        _ => None,
    }
}

/// Whether a container's name is meant: a name, or a pattern with `*`.
pub fn selects(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail),
    }
}

/// Finds the objects of a `set` command.
pub async fn find(k: &Kubectl<'_>, args: &[String]) -> Result<Vec<Info>, Error> {
    let f = &k.flags;
    let local = f.bool("local");
    let selector = if local { "" } else { f.str("selector") };
    let mut b = Builder::new(k).labels(selector).arguments(k, f.bool("all"), args);
    b.latest = true;
    let (mut infos, failed) = b.run(k).await?.infos();
    failed?;
    if local {
        // Without a server objects are what their Go types make of them.
        for info in &mut infos {
            info.object = crate::resource::typed(&info.object);
        }
    }
    Ok(infos)
}

/// Changes objects' pod specs and patches what differs.
pub async fn update(
    k: &Kubectl<'_>,
    infos: Vec<Info>,
    what: &str,
    failed: &str,
    always: bool,
    change: &mut dyn FnMut(&str, &mut Value, &mut Vec<Error>),
) -> Result<(), Error> {
    let dry_run = DryRun::of(k)?;
    let mut printer = for_write(k, &dry_run.operation(what))?;
    let mut errors = Vec::new();
    let mut patches = Vec::new();
    for info in infos {
        let Some(path) = pod_spec(&info.mapping.kind) else {
            errors.push(Error::text(format!(
                "error: {} the object is not a pod or does not have a pod template: *v1.{}\n",
                if k.flags.bool("local") { info.printed_name() } else { info.object_name() },
                info.mapping.kind
            )));
            continue;
        };
        let mut wanted = info.object.clone();
        change(&info.object_name(), wanted.slot(path), &mut errors);
        k.record(&mut wanted);
        let schema = merge::schema_of(&info.mapping.api_version(), &info.mapping.kind);
        let patch = merge::two_way(&info.object, &wanted, schema).to_json();
        if patch != "{}" || always {
            patches.push((info, wanted, patch));
        }
    }
    for (info, mut wanted, patch) in patches {
        if dry_run != DryRun::Client && !k.flags.bool("local") {
            let w =
                Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-set"), ..Write::default() };
            let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
            match k.patch(m, ns, name, "", PatchType::Strategic, patch.as_bytes(), &w).await {
                Ok(o) => wanted = o,
                Err(e) => {
                    errors.push(Error::text(format!("{failed}{}", e.message())));
                    continue;
                }
            }
        }
        printer.show(k, &wanted)?;
    }
    Error::aggregate(errors)
}

/// The command.
pub async fn image(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let (resources, pairs) = super::label::split(k.args(), "image")?;
    let mut images: Vec<(String, String)> = Vec::new();
    for p in &pairs {
        match p.split_once('=') {
            Some((name, image)) if !name.is_empty() => {
                images.push((name.into(), image.into()));
            }
            _ => return Err(Error::text(format!("invalid image format: {p}"))),
        }
    }
    local_dry_run(k)?;
    let infos = find(k, &resources).await?;
    let mut errors = Vec::new();
    if f.bool("all") && !f.str("selector").is_empty() {
        errors.push(Error::text("cannot set --all and --selector at the same time"));
    }
    if resources.is_empty() && f.list("filename").is_empty() {
        errors.push(Error::text("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    if images.is_empty() {
        errors.push(Error::text("at least one image update is required"));
    } else if images.len() > 1 && images.iter().any(|i| i.0 == "*") {
        errors.push(Error::text(
            "all containers are already specified by *, but saw more than one container_name=container_image pairs",
        ));
    }
    Error::aggregate(errors)?;
    update(
        k,
        infos,
        "image updated",
        "failed to patch image update to pod template: ",
        false,
        &mut |_, spec, errors| {
            for (name, image) in &images {
                let mut found = false;
                for list in ["initContainers", "containers"] {
                    if !spec.has(list) {
                        continue;
                    }
                    for c in spec.list_mut(list) {
                        if name == "*" || c.str("name") == name {
                            found = true;
                            c.set("image", image.as_str());
                        }
                    }
                }
                if !found {
                    errors.push(Error::text(format!("error: unable to find container named {}", quote(name))));
                }
            }
        },
    )
    .await
}

fn quantities(spec: &str) -> Result<Vec<(String, String)>, Error> {
    if spec.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for statement in spec.split(',') {
        let parts: Vec<&str> = statement.split('=').collect();
        let [name, amount] = parts.as_slice() else {
            return Err(Error::text(format!("invalid argument syntax {statement}, expected <resource>=<value>")));
        };
        let q = ::api::Quantity::parse(amount).map_err(|e| Error::text(e.to_string()))?;
        out.push((name.to_string(), q.to_string()));
    }
    Ok(out)
}

/// The command.
pub async fn resources(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    local_dry_run(k)?;
    let infos = find(k, k.args()).await?;
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    if f.str("limits").is_empty() && f.str("requests").is_empty() {
        return Err(Error::text(
            "you must specify an update to requests or limits (in the form of --requests/--limits)",
        ));
    }
    let limits = quantities(f.str("limits"))?;
    let requests = quantities(f.str("requests"))?;
    let pattern = f.str("containers").to_string();
    update(
        k,
        infos,
        "resource requirements updated",
        "failed to patch resources update to pod template ",
        false,
        &mut |_, spec, errors| {
            let mut found = false;
            for list in ["containers", "initContainers"] {
                if !spec.has(list) {
                    continue;
                }
                for c in spec.list_mut(list) {
                    if !selects(&pattern, c.str("name")) {
                        continue;
                    }
                    found = true;
                    for (name, q) in &limits {
                        c.set_key("resources/limits", name, q.as_str());
                    }
                    for (name, q) in &requests {
                        c.set_key("resources/requests", name, q.as_str());
                    }
                }
            }
            if !found {
                errors.push(Error::text(format!("error: unable to find container named {pattern}")));
            }
        },
    )
    .await
}
