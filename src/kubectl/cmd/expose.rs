//! `kubectl expose`.

use super::{DryRun, manager};
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The command.
pub async fn expose(k: &Kubectl<'_>) -> Result<(), Error> {
    let dry_run = DryRun::of(k)?;
    let mut printer = for_write(k, &dry_run.operation("exposed"))?;
    let b = Builder::new(k).arguments(k, false, k.args());
    let visit = b.run(k).await?;
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let mut service = make(k, &info)?;
            super::run::override_with(k, &mut service)?;
            k.record(&mut service);
            if dry_run == DryRun::Client {
                if k.explicit_namespace() {
                    service.set("metadata/namespace", k.namespace());
                }
                return Ok(service);
            }
            if k.flags.bool("save-config") {
                service = super::apply::annotated(&service);
            }
            let m = k.known("", "services")?;
            let w =
                Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-expose"), ..Write::default() };
            k.create(&m, &k.namespace(), &service, &w).await
        };
        match done.await {
            Ok(o) => {
                printer.show(k, &o)?;
            }
            Err(e) => errors.push(e),
        }
    }
    Error::aggregate(errors)
}

fn make(k: &Kubectl<'_>, info: &Info) -> Result<Value, Error> {
    let f = &k.flags;
    let o = &info.object;
    let kind = info.mapping.kind.as_str();
    let template = match kind {
        "Pod" => o,
        "Deployment" | "ReplicaSet" | "ReplicationController" => o.at("spec/template"),
        "Service" => o,
        _ => {
            return Err(Error::text(format!(
                "cannot expose a {}",
                crate::mapping::qualified(kind, &info.mapping.group)
            )));
        }
    };
    let selector = match f.str("selector") {
        "" => {
            let labels = match kind {
                "Pod" => o.at("metadata/labels"),
                "Deployment" | "ReplicaSet" => {
                    if !o.list("spec/selector/matchExpressions").is_empty() {
                        return Err(Error::text(format!(
                            "couldn't retrieve selectors via --selector flag or introspection: couldn't convert expressions - {} to map-based selector format",
                            quote(&o.at("spec/selector/matchExpressions").go_v())
                        )));
                    }
                    o.at("spec/selector/matchLabels")
                }
                _ => o.at("spec/selector"),
            };
            if labels.is_empty() {
                let why = match kind {
                    "Pod" => "the pod has no labels and cannot be exposed",
                    "Service" => "the service has no pod selector set",
                    _ => "invalid deployment: no selectors, therefore cannot be exposed",
                };
                return Err(Error::text(format!(
                    "couldn't retrieve selectors via --selector flag or introspection: {why}"
                )));
            }
            labels.clone()
        }
        text => labels(text)?,
    };
    let containers = template.list("spec/containers");
    let container_ports: Vec<(i64, &str)> = match kind {
        "Service" => o.list("spec/ports").iter().map(|p| (p.int("port"), p.str("protocol"))).collect(),
        _ => containers
            .iter()
            .flat_map(|c| c.list("ports"))
            .map(|p| (p.int("containerPort"), p.str("protocol")))
            .collect(),
    };
    let ports: Vec<i64> = match f.str("port") {
        "" => {
            if container_ports.is_empty() && f.str("cluster-ip") != "None" {
                return Err(Error::text("couldn't find port via --port flag or introspection"));
            }
            container_ports.iter().map(|p| p.0).collect()
        }
        text => {
            let mut out = Vec::new();
            for p in text.split(',') {
                out.push(
                    p.parse()
                        .map_err(|_| Error::text(format!("strconv.Atoi: parsing {}: invalid syntax", quote(p))))?,
                );
            }
            out
        }
    };
    let several = ports.len() > 1;
    let mut made = Vec::new();
    for (i, port) in ports.into_iter().enumerate() {
        let protocol = match f.str("protocol") {
            "" => container_ports.iter().find(|c| c.0 == port).map_or("TCP", |c| c.1),
            p => p,
        };
        let target = match f.str("target-port") {
            "" => Value::Int(port),
            t => t.parse::<i64>().map_or_else(|_| t.into(), Value::Int),
        };
        let mut p = object([("port", port.into()), ("protocol", protocol.into()), ("targetPort", target)]);
        if several {
            p.set("name", format!("port-{}", i + 1));
        }
        made.push(p);
    }
    let name = match f.str("name") {
        "" => info.name.chars().take(63).collect::<String>(),
        n => n.to_string(),
    };
    let mut s = object([("apiVersion", "v1".into()), ("kind", "Service".into())]);
    s.set("metadata/name", name);
    let own = match f.str("labels") {
        "" => o.at("metadata/labels").clone(),
        text => labels(text)?,
    };
    if !own.is_empty() {
        s.set("metadata/labels", own);
    }
    s.set("spec/selector", selector);
    if !made.is_empty() {
        s.set("spec/ports", made);
    }
    for (flag, path) in
        [("type", "spec/type"), ("cluster-ip", "spec/clusterIP"), ("load-balancer-ip", "spec/loadBalancerIP")]
    {
        if !f.str(flag).is_empty() {
            s.set(path, f.str(flag));
        }
    }
    if !f.str("external-ip").is_empty() {
        s.set("spec/externalIPs", vec![Value::from(f.str("external-ip"))]);
    }
    match f.str("session-affinity") {
        "" => {}
        a @ ("None" | "ClientIP") => s.set("spec/sessionAffinity", a),
        other => return Err(Error::text(format!("unknown session affinity: {other}"))),
    }
    s.set("status/loadBalancer", Value::object());
    Ok(s)
}

/// `k=v,k=v`
pub fn labels(text: &str) -> Result<Value, Error> {
    let mut out = Value::object();
    for spec in text.split(',') {
        match spec.split_once('=') {
            Some(("", _)) => return Err(Error::text("unexpected empty label key")),
            Some((key, value)) if !value.contains('=') => out.set_key("", key, value),
            _ => return Err(Error::text(format!("unexpected label spec: {spec}"))),
        }
    }
    Ok(out)
}
