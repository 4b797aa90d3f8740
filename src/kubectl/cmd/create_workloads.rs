//! `kubectl create`: workloads, services, policies.

use super::create::{command, name, new_object, send};
use crate::error::Error;
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The command.
pub async fn cluster_ip(k: &Kubectl<'_>) -> Result<(), Error> {
    service(k, "ClusterIP").await
}
/// The command.
pub async fn node_port(k: &Kubectl<'_>) -> Result<(), Error> {
    service(k, "NodePort").await
}
/// The command.
pub async fn load_balancer(k: &Kubectl<'_>) -> Result<(), Error> {
    service(k, "LoadBalancer").await
}
/// The command.
pub async fn external_name(k: &Kubectl<'_>) -> Result<(), Error> {
    service(k, "ExternalName").await
}

/// The container name that an image gives.
fn container_name(k: &Kubectl<'_>, image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    let name = last.split([':', '@']).next().unwrap_or(last);
    if name.contains(['_', '.']) {
        let suffix = k.suffix();
        return format!("{}-{suffix}", name.replace(['_', '.'], "-"));
    }
    name.to_string()
}

/// The command.
pub async fn deployment(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let command = command(k);
    let images = f.list("image");
    if images.len() > 1 && !command.is_empty() {
        return Err(Error::text("cannot specify multiple --image options and command"));
    }
    let mut containers = Vec::new();
    for image in &images {
        let mut c = object([
            ("image", image.as_str().into()),
            ("name", container_name(k, image).into()),
            ("resources", Value::object()),
        ]);
        if !command.is_empty() {
            c.set("command", command.clone());
        }
        containers.push(c);
    }
    if let (true, Some(c)) = (f.int("port") >= 0, containers.first_mut()) {
        c.set("ports", vec![object([("containerPort", f.int("port").into())])]);
    }
    let labels = object([("app", name.as_str().into())]);
    let mut o = new_object(k, "apps/v1", "Deployment", &name, true);
    o.set("metadata/labels", labels.clone());
    o.set("spec/replicas", f.int("replicas"));
    o.set("spec/selector/matchLabels", labels.clone());
    o.set("spec/strategy", Value::object());
    o.set("spec/template/metadata/labels", labels);
    o.set("spec/template/spec/containers", containers);
    o.set("status", Value::object());
    send(k, "apps", "deployments", o, Some("failed to create deployment: ")).await
}

fn job_spec(k: &Kubectl<'_>, name: &str, restart: &str) -> Value {
    let mut c = object([("image", k.flags.str("image").into()), ("name", name.into()), ("resources", Value::object())]);
    let command = command(k);
    if !command.is_empty() {
        c.set("command", command);
    }
    let mut spec = Value::object();
    spec.set("template/metadata", Value::object());
    spec.set("template/spec/containers", vec![c]);
    spec.set("template/spec/restartPolicy", restart);
    spec
}

/// The command.
pub async fn job(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (image, from) = (f.str("image"), f.str("from"));
    if image.is_empty() == from.is_empty() {
        return Err(Error::text("either --image or --from must be specified"));
    }
    if !from.is_empty() && !command(k).is_empty() {
        return Err(Error::text("cannot specify --from and command"));
    }
    let mut o = new_object(k, "batch/v1", "Job", &name, true);
    if from.is_empty() {
        o.set("spec", job_spec(k, &name, "Never"));
    } else {
        let b = crate::builder::Builder::new(k).arguments(k, false, &[from.to_string()]);
        let (infos, failed) = b.run(k).await?.infos();
        failed?;
        let [info] = infos.as_slice() else {
            return Err(Error::text("from must be an existing cronjob"));
        };
        if info.mapping.kind != "CronJob" {
            let (version, kind) = (&info.mapping.version, &info.mapping.kind);
            return Err(Error::text(format!("unknown object type *{version}.{kind}")));
        }
        let template = info.object.at("spec/jobTemplate");
        o.set("spec", template.at("spec").clone());
        if template.has("metadata/labels") {
            o.set("metadata/labels", template.at("metadata/labels").clone());
        }
        let mut annotations = template.at("metadata/annotations").clone();
        annotations.set_key("", "cronjob.kubernetes.io/instantiate", "manual");
        o.set("metadata/annotations", annotations);
        o.set(
            "metadata/ownerReferences",
            vec![object([
                ("apiVersion", "batch/v1".into()),
                ("controller", true.into()),
                ("kind", "CronJob".into()),
                ("name", info.name.as_str().into()),
                ("uid", info.object.at("metadata/uid").clone()),
            ])],
        );
    }
    o.set("status", Value::object());
    send(k, "batch", "jobs", o, Some("failed to create job: ")).await
}

/// The command.
pub async fn cron_job(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let restart = match f.str("restart") {
        "" => "OnFailure",
        r => r,
    };
    let mut o = new_object(k, "batch/v1", "CronJob", &name, true);
    o.set("spec/jobTemplate/metadata/name", name.as_str());
    o.set("spec/jobTemplate/spec", job_spec(k, &name, restart));
    o.set("spec/schedule", f.str("schedule"));
    o.set("status", Value::object());
    send(k, "batch", "cronjobs", o, Some("failed to create cronjob: ")).await
}

/// The command.
pub async fn quota(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let mut o = new_object(k, "v1", "ResourceQuota", &name(k)?, true);
    o.set("spec", Value::object());
    if !f.str("hard").is_empty() {
        for statement in f.str("hard").split(',') {
            let parts: Vec<&str> = statement.split('=').collect();
            let [name, amount] = parts.as_slice() else {
                return Err(Error::text(format!("Invalid argument syntax {statement}, expected <resource>=<value>")));
            };
            let q = ::api::Quantity::parse(amount).map_err(|e| Error::text(e.to_string()))?;
            o.set_key("spec/hard", name, q.to_string());
        }
    }
    if !f.str("scopes").is_empty() {
        let scopes: Vec<Value> = f.str("scopes").split(',').map(Value::from).collect();
        if scopes.iter().any(Value::is_empty) {
            return Err(Error::text("invalid resource quota scope \"\""));
        }
        o.set("spec/scopes", scopes);
    }
    o.set("status", Value::object());
    send(k, "", "resourcequotas", o, Some("failed to create quota: ")).await
}

/// The command.
pub async fn priority_class(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let mut o = new_object(k, "scheduling.k8s.io/v1", "PriorityClass", &name(k)?, false);
    o.set("value", f.int("value"));
    if f.bool("global-default") {
        o.set("globalDefault", true);
    }
    if !f.str("description").is_empty() {
        o.set("description", f.str("description"));
    }
    o.set("preemptionPolicy", f.str("preemption-policy"));
    send(k, "scheduling.k8s.io", "priorityclasses", o, Some("failed to create priorityclass: ")).await
}

fn int_or_percent(text: &str) -> Value {
    text.parse::<i64>().map_or_else(|_| text.into(), Value::Int)
}

/// The command.
pub async fn pdb(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (min, max, selector) = (f.str("min-available"), f.str("max-unavailable"), f.str("selector"));
    if selector.is_empty() {
        return Err(Error::text("a selector must be specified"));
    }
    if min.is_empty() && max.is_empty() {
        return Err(Error::text("one of min-available or max-unavailable must be specified"));
    }
    if !min.is_empty() && !max.is_empty() {
        return Err(Error::text("min-available and max-unavailable cannot be both specified"));
    }
    let valid = |t: &str| {
        let t = t.strip_suffix('%').unwrap_or(t);
        !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit())
    };
    if !min.is_empty() && !valid(min) {
        return Err(Error::text("invalid format specified for min-available"));
    }
    if !max.is_empty() && !valid(max) {
        return Err(Error::text("invalid format specified for max-unavailable"));
    }
    let mut o = new_object(k, "policy/v1", "PodDisruptionBudget", &name, true);
    o.set("spec/selector", crate::selector::to_object(selector)?);
    if min.is_empty() {
        o.set("spec/maxUnavailable", int_or_percent(max));
    } else {
        o.set("spec/minAvailable", int_or_percent(min));
    }
    let counts = ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"];
    for c in counts {
        o.set(&format!("status/{c}"), 0i64);
    }
    send(k, "policy", "poddisruptionbudgets", o, Some("failed to create poddisruptionbudgets: ")).await
}

fn backend(text: &str) -> Option<Value> {
    let (service, port) = text.split_once(':')?;
    let port = match port.parse::<i64>() {
        Ok(n) => object([("number", n.into())]),
        Err(_) => object([("name", port.into())]),
    };
    Some(object([("service", object([("name", service.into()), ("port", port)]))]))
}

/// The command.
pub async fn ingress(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (rules, default) = (f.list("rule"), f.str("default-backend"));
    if rules.is_empty() && default.is_empty() {
        return Err(Error::text(
            "not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)",
        ));
    }
    let mut o = new_object(k, "networking.k8s.io/v1", "Ingress", &name, true);
    for a in f.list("annotation") {
        let Some((key, value)) = a.split_once('=') else {
            return Err(Error::text(format!("annotation {a} is invalid and should be in format key=[value]")));
        };
        o.set_key("metadata/annotations", key, value);
    }
    if !f.str("class").is_empty() {
        o.set("spec/ingressClassName", f.str("class"));
    }
    if !default.is_empty() {
        let b = backend(default)
            .ok_or_else(|| Error::text("default-backend should be in format servicename:serviceport"))?;
        o.set("spec/defaultBackend", b);
    }
    let mut made: Vec<Value> = Vec::new();
    let mut tls: Vec<Value> = Vec::new();
    for r in &rules {
        let bad = || {
            Error::text(format!("rule {r} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]"))
        };
        let (target, rest) = r.split_once('=').ok_or_else(bad)?;
        let (host, path) = target.split_once('/').ok_or_else(bad)?;
        let (service, options) = match rest.split_once(',') {
            Some((s, o)) => (s, Some(o)),
            None => (rest, None),
        };
        let b = backend(service).ok_or_else(bad)?;
        let (path, kind) = match format!("/{path}") {
            p if p.ends_with('*') => (p.trim_end_matches('*').to_string(), "Prefix"),
            p => (p, "Exact"),
        };
        let entry = object([("backend", b), ("path", path.into()), ("pathType", kind.into())]);
        match made.iter_mut().find(|m| m.str("host") == host) {
            Some(m) => m.list_mut("http/paths").push(entry),
            None => {
                let mut rule = Value::object();
                if !host.is_empty() {
                    rule.set("host", host);
                }
                rule.set("http/paths", vec![entry]);
                made.push(rule);
            }
        }
        if let Some(t) = options.and_then(|o| o.strip_prefix("tls")) {
            let secret = t.trim_start_matches('=');
            let mut entry = object([("hosts", Value::Array(vec![host.into()]))]);
            if !secret.is_empty() {
                entry.set("secretName", secret);
            }
            tls.push(entry);
        }
    }
    if !made.is_empty() {
        o.set("spec/rules", made);
    }
    if !tls.is_empty() {
        o.set("spec/tls", tls);
    }
    o.set("status/loadBalancer", Value::object());
    send(k, "networking.k8s.io", "ingresses", o, Some("failed to create ingress: ")).await
}

async fn service(k: &Kubectl<'_>, kind: &str) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (cluster_ip, tcp) = (f.str("clusterip"), f.list("tcp"));
    if cluster_ip == "None" && kind != "ClusterIP" {
        return Err(Error::text("ClusterIP=None can only be used with ClusterIP service type"));
    }
    if cluster_ip != "None" && tcp.is_empty() && kind != "ExternalName" {
        return Err(Error::text("at least one tcp port specifier must be provided"));
    }
    let external = f.str("external-name");
    if kind == "ExternalName" && !::api::names::dns1123_subdomain(external).is_empty() {
        return Err(Error::text(format!("invalid service external name {external}")));
    }
    let mut ports = Vec::new();
    for t in &tcp {
        let (port, target) = match t.split_once(':') {
            Some((p, t)) => (p, t),
            None => (t.as_str(), t.as_str()),
        };
        // What stands behind a second colon is not looked at.
        let target = target.split(':').next().unwrap_or_default();
        let wrong = match target.parse::<i64>() {
            _ if target == port => Vec::new(),
            Ok(number) => ::api::names::port_number(number),
            Err(_) => ::api::names::port_name(target),
        };
        let number = crate::flags::parse_port(port).map_err(Error::Text)?;
        if !wrong.is_empty() {
            return Err(Error::text(wrong.join(",")));
        }
        let mut p = object([
            ("name", t.replace(':', "-").into()),
            ("port", number.into()),
            ("protocol", "TCP".into()),
            ("targetPort", int_or_percent(target)),
        ]);
        if f.int("node-port") != 0 {
            p.set("nodePort", f.int("node-port"));
        }
        ports.push(p);
    }
    let labels = object([("app", name.as_str().into())]);
    let mut o = new_object(k, "v1", "Service", &name, true);
    o.set("metadata/labels", labels.clone());
    o.set("spec/selector", labels);
    o.set("spec/type", kind);
    if !ports.is_empty() {
        o.set("spec/ports", ports);
    }
    if !cluster_ip.is_empty() {
        o.set("spec/clusterIP", cluster_ip);
    }
    if kind == "ExternalName" {
        o.set("spec/externalName", f.str("external-name"));
    }
    o.set("status/loadBalancer", Value::object());
    send(k, "", "services", o, Some(&format!("failed to create {kind} service: "))).await
}
