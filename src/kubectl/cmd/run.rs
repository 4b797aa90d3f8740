//! `kubectl run`.

use super::exec::container_of;
use super::pod_watch::{completed, pod_until, ready};
use super::{DryRun, manager};
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::server::{Delete, Piece, Write};
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::{LogOptions, PatchType};
use ::api::{Str, Time};
use std::time::Duration;

/// Lays `--overrides` over an object in the way of `--override-type`; the result is what its Go type makes of it.
pub fn override_with(k: &Kubectl<'_>, o: &mut Value) -> Result<(), Error> {
    let text = k.flags.str("overrides");
    if text.is_empty() {
        return Ok(());
    }
    let kind = match k.flags.str("override-type") {
        "json" => PatchType::Json,
        "" | "merge" => PatchType::Merge,
        "strategic" => PatchType::Strategic,
        other => return Err(Error::text(format!("invalid override type: {other}"))),
    };
    Value::parse(text).map_err(|_| Error::text("Invalid JSON Patch"))?;
    let made = super::patch::offline(o, kind, text)?;
    let json = made.to_json();
    let [version, named] = ::api::json::type_meta(json.as_bytes())
        .map_err(|e| Error::text(format!("couldn't get version/kind; json parse error: {e}")))?;
    let Some(known) = ::api::scheme::by_api_version(&version, &named) else {
        return Err(Error::text(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            quote(&named),
            quote(&version)
        )));
    };
    ::api::json::decode(json.as_bytes(), &mut *known.new_object(), false).map_err(|e| Error::text(e.to_string()))?;
    *o = crate::resource::typed(&made);
    Ok(())
}

/// Whether a text is an image reference (distribution/reference's grammar).
pub fn is_reference(image: &str) -> bool {
    let (rest, digest) = match image.split_once('@') {
        Some((r, d)) => (r, Some(d)),
        None => (image, None),
    };
    if digest.is_some_and(|d| {
        !d.split_once(':')
            .is_some_and(|(a, h)| !a.is_empty() && h.len() >= 32 && h.bytes().all(|b| b.is_ascii_hexdigit()))
    }) {
        return false;
    }
    let slash = rest.rfind('/').map_or(0, |i| i + 1);
    let (name, tag) = match rest.get(slash..).and_then(|l| l.rfind(':')) {
        Some(at) => (rest.get(..slash + at).unwrap_or(""), rest.get(slash + at + 1..)),
        None => (rest, None),
    };
    let tag_ok = tag.is_none_or(|t| {
        !t.is_empty()
            && t.len() <= 128
            && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
            && !t.starts_with(['.', '-'])
    });
    let parts: Vec<&str> = name.split('/').collect();
    let component = |p: &str| {
        !p.is_empty()
            && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
            && p.starts_with(|c: char| c.is_ascii_alphanumeric())
            && p.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let domain = |p: &str| {
        let (host, port) = p.split_once(':').unwrap_or((p, "0"));
        !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
            && !port.is_empty()
            && port.bytes().all(|b| b.is_ascii_digit())
    };
    let names_ok = match parts.as_slice() {
        [only] => component(only),
        [first, rest @ ..] => (component(first) || domain(first)) && rest.iter().all(|p| component(p)),
        [] => false,
    };
    tag_ok && names_ok
}

/// The command.
pub async fn run(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let bad: Vec<String> =
        f.list("annotations").into_iter().filter(|a| !a.contains('=') || a.starts_with('=')).collect();
    if !bad.is_empty() {
        return Err(Error::text(format!("invalid annotations format: {}", bad.join(", "))));
    }
    let attach = f.bool("attach") || (f.bool("stdin") && !f.changed("attach"));
    let policy = f.str("image-pull-policy");
    if !["", "Always", "IfNotPresent", "Never"].contains(&policy) {
        return Err(Error::text(format!(
            "invalid image pull policy: {policy}, valid values are: Always, IfNotPresent, Never"
        )));
    }
    let restart = f.str("restart");
    if !["Always", "OnFailure", "Never"].contains(&restart) {
        return Err(Error::text(format!(
            "invalid restart policy: {restart}, valid values are: Always, OnFailure, Never"
        )));
    }
    if f.duration("pod-running-timeout") <= 0 {
        return Err(Error::text("--pod-running-timeout must be higher than zero"));
    }
    let Some(name) = k.args().first().filter(|_| f.dash != Some(0)) else {
        return Err(Error::text("NAME is required for run"));
    };
    let image = f.str("image");
    if image.is_empty() {
        return Err(Error::text("--image is required"));
    }
    if !is_reference(image) {
        return Err(Error::text(format!("invalid image name {}: invalid reference format", quote(image))));
    }
    if f.bool("tty") && !f.bool("stdin") {
        return Err(Error::text("-i/--stdin is required for containers with -t/--tty=true"));
    }
    let port = f.str("port");
    if f.bool("expose") && port.is_empty() {
        return Err(Error::text("--port must be set when exposing a service"));
    }
    if !port.is_empty() && port.parse::<i64>().is_err() {
        return Err(Error::text("--port must be a number"));
    }
    if !attach && f.bool("rm") {
        return Err(Error::text("--rm should only be used for attached containers"));
    }
    if attach && dry_run != DryRun::None {
        return Err(Error::text(
            "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
        ));
    }
    let labels = match f.str("labels") {
        "" => object([("run", name.as_str().into())]),
        text => super::expose::labels(text)?,
    };
    let mut c = object([("image", image.into()), ("name", name.as_str().into()), ("resources", Value::object())]);
    let mut env = Vec::new();
    for e in f.list("env") {
        match e.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                env.push(object([("name", key.into()), ("value", value.into())]));
            }
            _ => return Err(Error::text(format!("invalid env: {e}"))),
        }
    }
    if !env.is_empty() {
        c.set("env", env);
    }
    if f.bool("stdin") {
        c.set("stdin", true);
        c.set("stdinOnce", !f.bool("leave-stdin-open"));
    }
    if f.bool("tty") {
        c.set("tty", true);
    }
    if !policy.is_empty() {
        c.set("imagePullPolicy", policy);
    }
    if f.bool("privileged") {
        c.set("securityContext/privileged", true);
    }
    let words: Vec<Value> = k.args().iter().skip(1).map(|a| Value::String(a.clone())).collect();
    if !words.is_empty() {
        c.set(if f.bool("command") { "command" } else { "args" }, words);
    }
    if let Ok(n) = port.parse::<i64>() {
        c.set("ports", vec![object([("containerPort", n.into())])]);
    }
    let mut pod = object([("apiVersion", "v1".into()), ("kind", "Pod".into())]);
    pod.set("metadata/name", name.as_str());
    pod.set("metadata/labels", labels.clone());
    for a in f.list("annotations") {
        if let Some((key, value)) = a.split_once('=') {
            pod.set_key("metadata/annotations", key, value);
        }
    }
    pod.set("spec/containers", vec![c]);
    pod.set("spec/dnsPolicy", "ClusterFirst");
    pod.set("spec/restartPolicy", restart);
    pod.set("status", Value::object());
    override_with(k, &mut pod)?;
    let mut made = vec![("pods", send(k, "pods", pod, dry_run).await?)];
    if f.bool("expose") {
        let n = port.parse::<i64>().unwrap_or(0);
        let mut s = object([("apiVersion", "v1".into()), ("kind", "Service".into())]);
        s.set("metadata/name", name.as_str());
        if !f.str("labels").is_empty() {
            s.set("metadata/labels", labels.clone());
        }
        s.set("spec/selector", labels);
        s.set("spec/ports", vec![object([("port", n.into()), ("protocol", "TCP".into()), ("targetPort", n.into())])]);
        s.set("status/loadBalancer", Value::object());
        made.push(("services", send(k, "services", s, dry_run).await?));
    }
    if attach {
        let result = follow(k, name, restart).await;
        if f.bool("rm") {
            for (plural, o) in made.iter().rev() {
                let m = k.known("", plural)?;
                let name = o.str("metadata/name");
                let d = Delete { propagation: Some("Background"), ..Delete::default() };
                if k.delete(&m, &k.namespace(), name, &d).await.is_ok() {
                    k.out(&format!("{} \"{name}\" deleted from {} namespace\n", m.printed_kind(), k.namespace()));
                }
            }
        }
        return result;
    }
    let mut printer = for_write(k, &dry_run.operation("created"))?;
    for (_, o) in made {
        printer.show(k, &o)?;
    }
    Ok(())
}

async fn send(k: &Kubectl<'_>, plural: &str, mut o: Value, dry_run: DryRun) -> Result<Value, Error> {
    k.record(&mut o);
    if dry_run == DryRun::Client {
        if k.explicit_namespace() {
            o.set("metadata/namespace", k.namespace());
        }
        return Ok(o);
    }
    if k.flags.bool("save-config") {
        o = super::apply::annotated(&o);
    }
    let w = Write { dry_run: dry_run == DryRun::Server, manager: manager(k, "kubectl-run"), ..Write::default() };
    k.create(&*k.known("", plural)?, &k.namespace(), &o, &w).await
}

/// `--attach`: what the container wrote so far and writes from now on, until it ends (handleAttachPod).
async fn follow(k: &Kubectl<'_>, name: &str, restart: &str) -> Result<(), Error> {
    let ns = k.namespace();
    let limit = Duration::from_nanos(k.flags.duration("pod-running-timeout").max(0) as u64);
    let pod = pod_until(k, &ns, name, limit, |pod| completed(pod) || ready(pod)).await?;
    let container = container_of(k, &pod)?;
    let log = async |since: Str| -> Result<(), Error> {
        let options = LogOptions { container: container.as_str().into(), since_time: since, ..LogOptions::default() };
        match k.logs(&ns, name, options).await? {
            Ok(text) => k.out(&text),
            Err(mut stream) => loop {
                match stream.piece().await {
                    Piece::Out(b) => k.io.stdout(&b),
                    Piece::Err(b) => k.io.stderr(&b),
                    Piece::End(_) => break,
                }
            },
        }
        Ok(())
    };
    if completed(&pod) {
        log(Str::default()).await?;
    } else {
        let before = log(Str::default()).await;
        let since = match &before {
            Ok(()) => Time::from_unix(k.ctx.unix_nanos().div_euclid(1_000_000_000)).to_string().into(),
            Err(why) => {
                k.err(&format!("warning: couldn't fetch pre-attach logs: {}\n", why.message()));
                Str::default()
            }
        };
        if let Err(why) = super::attach::to(k, &pod, &container).await {
            let why = why.message();
            k.err(&format!("warning: couldn't attach to pod/{name}, falling back to streaming logs: {why}\n"));
            log(since).await?;
        }
    }
    if restart == "Always" || k.flags.bool("leave-stdin-open") {
        return Ok(());
    }
    let ended = |pod: &Value| if restart == "Never" { completed(pod) } else { pod.str("status/phase") == "Succeeded" };
    let pod = pod_until(k, &ns, name, limit, ended).await?;
    if pod.str("status/phase") == "Succeeded" {
        return Ok(());
    }
    let t = pod.at("status/containerStatuses/0/state/terminated");
    let code = t.int("exitCode") as i32;
    if code == 0 {
        return Err(Error::text(format!("pod {ns}/{name} failed with unknown exit code")));
    }
    let (reason, message) = (t.str("reason"), t.str("message"));
    Err(Error::Exit(code, format!("pod {ns}/{name} terminated ({reason})\n{message}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for ok in ["nginx", "nginx:1.27", "docker.io/library/nginx:latest", "localhost:5000/a/b", "a_b-c.d"] {
            assert!(is_reference(ok), "{ok}");
        }
        for bad in ["", "Not A Valid Image", "nginx:", "UPPER", "a//b", ":x"] {
            assert!(!is_reference(bad), "{bad}");
        }
    }
}
