//! `kubectl autoscale`.

use super::{Command, DRY_RUN, DryRun, FIELD_MANAGER, FILES, PRINT, RECORD, SAVE_CONFIG, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::flags::{Flag, Type, flag};
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};

const FLAGS: &[Flag] = &[
    flag("cpu", Type::String, "", "Target CPU utilization over all the pods, a percentage or a quantity."),
    flag(
        "cpu-percent",
        Type::Int32,
        "-1",
        "The target average CPU utilization (represented as a percent of requested CPU) over all the pods.",
    ),
    flag(
        "max",
        Type::Int32,
        "-1",
        "The upper limit for the number of pods that can be set by the autoscaler. Required.",
    ),
    flag("memory", Type::String, "", "Target memory utilization over all the pods, a percentage or a quantity."),
    flag("min", Type::Int32, "-1", "The lower limit for the number of pods that can be set by the autoscaler."),
    flag("name", Type::String, "", "The name for the newly created object."),
];

/// The verb.
pub static AUTOSCALE: Command = Command {
    name: "autoscale",
    aliases: &[],
    short: "Auto-scale a deployment, replica set, stateful set, or replication controller",
    usage: "(-f FILENAME | TYPE NAME | TYPE/NAME) [--min=MINPODS] --max=MAXPODS [--cpu=CPU] [--memory=MEMORY] [flags]",
    flags: &[FLAGS, PRINT, FILES, DRY_RUN, FIELD_MANAGER, SAVE_CONFIG, RECORD],
    required: &["max"],
    run: Some(|k| Box::pin(autoscale(k))),
    children: &[],
};

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

async fn autoscale(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(f)?;
    let (min, max) = (f.int("min"), f.int("max"));
    if max < 1 {
        return Err(Error::text(format!("--max=MAXPODS is required and must be at least 1, max: {max}")));
    }
    if max < min {
        return Err(Error::text(format!(
            "--max=MAXPODS must be larger or equal to --min=MINPODS, max: {max}, min: {min}"
        )));
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
                    "cannot autoscale a {}: scale subresource not found",
                    crate::mapping::qualified(kind, &info.mapping.group)
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
            let made = k.create(&m, &k.namespace(), &o, &w).await?;
            for_write(k, &dry_run.operation("autoscaled"))?.show(k, &made)?;
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}
