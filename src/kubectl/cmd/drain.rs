//! `kubectl drain`.

use super::DryRun;
use super::cordon::mark;
use crate::builder::Builder;
use crate::describe::writer::controller_of;
use crate::error::Error;
use crate::print::human::{go_duration, quote};
use crate::print::object::Printer;
use crate::server::{Delete, Write};
use crate::session::Kubectl;
use crate::value::{Value, object};
use sim::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// After a refused eviction.
const RETRY: Duration = Duration::from_secs(5);
/// Between looks at whether a pod is gone.
const INTERVAL: Duration = Duration::from_secs(1);

/// The command.
pub async fn drain(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if k.args().is_empty() && !f.changed("selector") {
        return Err(k.usage_error("USAGE: drain NODE [flags]"));
    }
    if !k.args().is_empty() && !f.str("selector").is_empty() {
        return Err(k.usage_error("error: cannot specify both a node name and a --selector option"));
    }
    let dry_run = DryRun::of(k)?;
    if crate::selector::parse(f.str("pod-selector")).is_err() {
        return Err(Error::text("--pod-selector=<pod_selector> must be a valid label selector"));
    }
    let b = Builder::new(k);
    let b = if f.str("selector").is_empty() {
        b.resource_names("nodes", k.args())
    } else {
        b.labels(f.str("selector")).arguments(k, false, &["nodes".to_string()])
    };
    let (nodes, failed) = b.run(k).await?.infos();
    failed?;
    for node in &nodes {
        mark(k, node, true, dry_run).await?;
    }
    let mut fatal = Vec::new();
    let mut left = Vec::new();
    for node in &nodes {
        match empty(k, &node.name, dry_run).await {
            Ok(()) => {
                Printer::Name(format!(" {}", dry_run.operation("drained"))).show(k, &node.object)?;
            }
            Err(e) => {
                k.err(&format!(
                    "error: unable to drain node {} due to error: {}, continuing command...\n",
                    quote(&node.name),
                    e.message()
                ));
                fatal.push(e);
                left.push(node.name.clone());
            }
        }
    }
    if !left.is_empty() {
        k.err("There are pending nodes to be drained:\n");
        for name in left {
            k.err(&format!(" {name}\n"));
        }
    }
    match Error::aggregate(fatal) {
        // An aggregate of one prints as its text alone.
        Err(Error::Text(t)) => Err(Error::Text(format!("{}{t}", crate::error::NO_PREFIX))),
        other => other,
    }
}

/// What the filters say about a pod.
enum Verdict {
    Delete,
    Skip,
    Warn { delete: bool, why: String },
    Fail(String),
}

async fn judge(k: &Kubectl<'_>, pod: &Value) -> Result<Verdict, Error> {
    let f = &k.flags;
    let ended = matches!(pod.str("status/phase"), "Succeeded" | "Failed");
    let owner = controller_of(pod);
    let mut verdict = Verdict::Delete;
    if let Some(o) = owner.filter(|o| o.str("kind") == "DaemonSet" && o.str("apiVersion") == "apps/v1")
        && !ended
    {
        let m = k.known("apps", "daemonsets")?;
        match k.get(&m, pod.str("metadata/namespace"), o.str("name"), "").await {
            Err(e) if e.is_not_found() && f.bool("force") => {
                verdict = Verdict::Warn { delete: true, why: e.message() };
            }
            Err(e) => return Ok(Verdict::Fail(e.message())),
            Ok(_) if !f.bool("ignore-daemonsets") => {
                return Ok(Verdict::Fail("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)".into()));
            }
            Ok(_) => {
                return Ok(Verdict::Warn { delete: false, why: "ignoring DaemonSet-managed Pods".into() });
            }
        }
    }
    if !pod.at("metadata/annotations").key("kubernetes.io/config.mirror").is_null() {
        return Ok(Verdict::Skip);
    }
    if pod.list("spec/volumes").iter().any(|v| v.has("emptyDir")) && !ended {
        if !f.bool("delete-emptydir-data") {
            return Ok(Verdict::Fail("Pods with local storage (use --delete-emptydir-data to override)".into()));
        }
        verdict = Verdict::Warn { delete: true, why: "deleting Pods with local storage".into() };
    }
    if owner.is_none() && !ended {
        if !f.bool("force") {
            return Ok(Verdict::Fail("Pods that declare no controller (use --force to override)".into()));
        }
        verdict = Verdict::Warn { delete: true, why: "deleting Pods that declare no controller".into() };
    } else if owner.is_some() {
        // The last filter's word counts: it has nothing to say against this pod.
        verdict = Verdict::Delete;
    }
    Ok(verdict)
}

/// `GetPodsForDeletion`: the pods to remove and the warnings about them.
async fn pods_to_remove(k: &Kubectl<'_>, node: &str) -> Result<(Vec<Value>, String), Error> {
    let pods = k.known("", "pods")?;
    let fields = format!("spec.nodeName={node}");
    let list = k.list(&pods, "", k.flags.str("pod-selector"), &fields).await?;
    let mut remove = Vec::new();
    let mut warnings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in list {
        let name = format!("{}/{}", pod.str("metadata/namespace"), pod.str("metadata/name"));
        match judge(k, &pod).await? {
            Verdict::Delete => remove.push(pod),
            Verdict::Skip => {}
            Verdict::Warn { delete, why } => {
                warnings.entry(why).or_default().push(name);
                if delete {
                    remove.push(pod);
                }
            }
            Verdict::Fail(why) => failures.entry(why).or_default().push(name),
        }
    }
    let failed = failures
        .into_iter()
        .map(|(why, pods)| Error::text(format!("cannot delete {why}: {}", pods.join(", "))))
        .collect();
    Error::aggregate(failed)?;
    let warnings: Vec<String> = warnings.into_iter().map(|(why, pods)| format!("{why}: {}", pods.join(", "))).collect();
    Ok((remove, warnings.join("; ")))
}

async fn empty(k: &Kubectl<'_>, node: &str, dry_run: DryRun) -> Result<(), Error> {
    let (pods, warnings) = pods_to_remove(k, node).await?;
    if !warnings.is_empty() {
        k.err(&format!("Warning: {warnings}\n"));
    }
    let name = |p: &Value| format!("{}/{}", p.str("metadata/namespace"), p.str("metadata/name"));
    if dry_run == DryRun::Client {
        for p in &pods {
            k.out(&format!("evicting pod {} (dry run)\n", name(p)));
        }
        return Ok(());
    }
    let result = remove(k, pods, dry_run).await;
    if let Err(e) = &result
        && let Ok((pending, _)) = pods_to_remove(k, node).await
        && !pending.is_empty()
    {
        k.err(&format!("There are pending pods in node {} when an error occurred: {}\n", quote(node), e.message()));
        for p in pending {
            k.err(&format!("pod/{}\n", p.str("metadata/name")));
        }
    }
    result
}

/// A pod on its way out.
enum Stage {
    /// To be evicted, not before.
    Evict(Instant),
    /// Evicted; looked after next then.
    Leaving(Instant),
}

async fn remove(k: &Kubectl<'_>, pods: Vec<Value>, dry_run: DryRun) -> Result<(), Error> {
    let f = &k.flags;
    let m = k.known("", "pods")?;
    let timeout = f.duration("timeout");
    let deadline = match timeout {
        0 => Instant::FAR,
        n => k.ctx.now() + Duration::from_nanos(n.max(0) as u64),
    };
    let evicting = !f.bool("disable-eviction");
    let grace = f.int("grace-period");
    let mut waiting: Vec<(Value, Stage)> = pods.into_iter().map(|p| (p, Stage::Evict(k.ctx.now()))).collect();
    let mut errors = Vec::new();
    while !waiting.is_empty() {
        let mut still = Vec::new();
        for (pod, stage) in waiting {
            let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
            let now = k.ctx.now();
            match stage {
                Stage::Evict(at) | Stage::Leaving(at) if now < at => still.push((pod, stage)),
                Stage::Evict(_) => {
                    if evicting {
                        let suffix = if dry_run == DryRun::Server { " (server dry run)" } else { "" };
                        k.out(&format!("evicting pod {ns}/{name}{suffix}\n"));
                    }
                    if now > deadline {
                        errors.push(Error::text(format!(
                            "error when evicting pods/{} -n {}: global timeout reached: {}",
                            quote(name),
                            quote(ns),
                            go_duration(timeout)
                        )));
                        continue;
                    }
                    let sent = if evicting {
                        let mut e = object([
                            ("apiVersion", "policy/v1".into()),
                            ("kind", "Eviction".into()),
                            ("deleteOptions", Value::object()),
                        ]);
                        e.set("metadata/name", name);
                        e.set("metadata/namespace", ns);
                        if grace >= 0 {
                            e.set("deleteOptions/gracePeriodSeconds", grace);
                        }
                        if dry_run == DryRun::Server {
                            e.set("deleteOptions/dryRun", vec![Value::from("All")]);
                        }
                        k.create_sub(&m, ns, name, "eviction", &e, &Write::default()).await
                    } else {
                        let d = Delete {
                            grace_period: (grace >= 0).then_some(grace),
                            propagation: None,
                            dry_run: dry_run == DryRun::Server,
                        };
                        k.delete(&m, ns, name, &d).await
                    };
                    match sent {
                        Ok(_) if dry_run == DryRun::Server => {}
                        Ok(_) => still.push((pod, Stage::Leaving(k.ctx.now()))),
                        Err(e) if e.is_not_found() => {}
                        Err(e) if e.reason() == "TooManyRequests" => {
                            k.err(&format!(
                                "error when evicting pods/{} -n {} (will retry after 5s): {}\n",
                                quote(name),
                                quote(ns),
                                e.message()
                            ));
                            still.push((pod, Stage::Evict(k.ctx.now() + RETRY)));
                        }
                        Err(e) => errors.push(Error::text(format!(
                            "error when evicting pods/{} -n {}: {}",
                            quote(name),
                            quote(ns),
                            e.message()
                        ))),
                    }
                }
                Stage::Leaving(_) => {
                    let gone = match k.get(&m, ns, name, "").await {
                        Err(e) if e.is_not_found() => true,
                        Err(e) => {
                            errors.push(Error::text(format!(
                                "error when waiting for pod {} in namespace {} to terminate: {}",
                                quote(name),
                                quote(ns),
                                e.message()
                            )));
                            continue;
                        }
                        Ok(p) => p.str("metadata/uid") != pod.str("metadata/uid"),
                    };
                    if gone {
                        let word = if evicting { "evicted" } else { "deleted" };
                        Printer::Name(format!(" {}", dry_run.operation(word))).show(k, &pod)?;
                    } else if now > deadline {
                        errors.push(Error::text(format!(
                            "error when waiting for pod {} in namespace {} to terminate: global timeout reached: {}",
                            quote(name),
                            quote(ns),
                            go_duration(timeout)
                        )));
                    } else {
                        still.push((pod, Stage::Leaving(now + INTERVAL)));
                    }
                }
            }
        }
        let next = still.iter().map(|(_, s)| match s {
            Stage::Evict(at) | Stage::Leaving(at) => *at,
        });
        if let Some(next) = next.min() {
            k.ctx.sleep_until(next).await;
        }
        waiting = still;
    }
    Error::aggregate(errors)
}
