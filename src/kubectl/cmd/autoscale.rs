//! `kubectl autoscale`.

use super::{DryRun, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};

fn metric(input: &str, resource: &str, unit: &str) -> Result<Value, Error> {
    let input = input.trim();
    let target = if let Some(percent) = input.strip_suffix('%') {
        match percent.parse::<i32>() {
            Ok(n) if n >= 0 => object([("type", "Utilization".into()), ("averageUtilization", i64::from(n).into())]),
            _ => return Err(Error::text(format!("invalid percentage value: {percent}"))),
        }
    } else {
        let text = if input.parse::<f64>().is_ok() { format!("{input}{unit}") } else { input.to_string() };
        let q = ::api::Quantity::parse(&text)
            .map_err(|_| Error::text(format!("invalid resource {resource} value: {input}")))?;
        object([("type", "AverageValue".into()), ("averageValue", q.to_string().into())])
    };
    Ok(object([("type", "Resource".into()), ("resource", object([("name", resource.into()), ("target", target)]))]))
}

/// The command.
pub async fn autoscale(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let (min, max) = (f.int("min"), f.int("max"));
    if max < 1 {
        return Err(Error::text(format!("--max=MAXPODS is required and must be at least 1, max: {max}")));
    }
    if max < min {
        return Err(Error::text(format!(
            "--max=MAXPODS must be larger or equal to --min=MINPODS, max: {max}, min: {min}"
        )));
    }
    if f.int("cpu-percent") > 0 && !f.str("cpu").is_empty() {
        return Err(Error::text("--cpu-percent and --cpu are mutually exclusive"));
    }
    let mut metrics = Vec::new();
    if f.int("cpu-percent") > 0 {
        metrics.push(metric(&format!("{}%", f.int("cpu-percent")), "cpu", "m")?);
    }
    for (flag, unit) in [("cpu", "m"), ("memory", "Mi")] {
        if !f.str(flag).is_empty() {
            metrics.push(metric(f.str(flag), flag, unit)?);
        }
    }
    let visit = Builder::new(k).arguments(k, false, k.args()).run(k).await?;
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let kind = info.mapping.kind.as_str();
            if !["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"].contains(&kind) {
                return Err(Error::text(format!(
                    "cannot autoscale a {}: could not find scale subresource for {} in discovery information",
                    crate::mapping::qualified(kind, &info.mapping.group),
                    info.mapping.gvr()
                )));
            }
            let name = match f.str("name") {
                "" => info.name.as_str(),
                n => n,
            };
            let mut o = object([("apiVersion", "autoscaling/v2".into()), ("kind", "HorizontalPodAutoscaler".into())]);
            o.set("metadata/name", name);
            if k.explicit_namespace() {
                o.set("metadata/namespace", k.namespace());
            }
            o.set("spec/maxReplicas", max);
            if min > 0 {
                o.set("spec/minReplicas", min);
            }
            if !metrics.is_empty() {
                o.set("spec/metrics", metrics.clone());
            }
            o.set("spec/scaleTargetRef/apiVersion", info.mapping.api_version());
            o.set("spec/scaleTargetRef/kind", kind);
            o.set("spec/scaleTargetRef/name", info.name.as_str());
            k.record(&mut o);
            if dry_run == DryRun::Client {
                o.set("status/currentMetrics", Value::Null);
                o.set("status/desiredReplicas", 0i64);
                for_write(k, &dry_run.operation("created"))?.show(k, &o)?;
                return Ok(());
            }
            if f.bool("save-config") {
                o = super::apply::annotated(&o);
            }
            let m = k.known("autoscaling", "horizontalpodautoscalers")?;
            let w = Write {
                dry_run: dry_run == DryRun::Server,
                manager: manager(k, "kubectl-autoscale"),
                ..Write::default()
            };
            let made = match k.create(&m, &k.namespace(), &o, &w).await {
                Ok(made) => made,
                // What the old version could hold as well is tried with it; it fails in the same way.
                Err(e) if f.str("memory").is_empty() && f.str("cpu").ends_with('%') => return Err(e),
                Err(_) => {
                    let why = if f.str("cpu").is_empty() { "empty input" } else { "%!w(<nil>)" };
                    return Err(Error::text(format!(
                        "failed to create autoscaling/v2 HPA and the configuration is incompatible with autoscaling/v1: {why}"
                    )));
                }
            };
            for_write(k, &dry_run.operation("autoscaled"))?.show(k, &made)?;
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}
