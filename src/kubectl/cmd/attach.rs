//! `kubectl attach`.

use super::exec::{has_pods, internal, not_attachable, relay};
use super::logs::{container_names, has_container, no_container, pods_of};
use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::ExecOptions;

/// The command.
pub async fn attach(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let args = k.args();
    if args.is_empty() && f.list("filename").is_empty() {
        return Err(Error::text("at least 1 argument is required for attach"));
    }
    if args.len() > 2 {
        return Err(Error::text(format!(
            "expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw {}: [{}]",
            args.len(),
            args.join(" ")
        )));
    }
    let b = match args {
        [kind, name] => Builder::new(k).resource_names(kind, std::slice::from_ref(name)),
        _ => Builder::new(k).resource_names("pods", args),
    };
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let Some(info) = infos.into_iter().next() else { return Err(Error::text("expected a resource")) };
    let pod = match info.mapping.kind.as_str() {
        "Pod" => info.object,
        kind if !has_pods(kind) => return Err(not_attachable(kind)),
        kind => {
            let list = pods_of(k, &info.object, kind).await?;
            list.into_iter().next().ok_or_else(|| Error::text("timed out waiting for the condition"))?
        }
    };
    let phase = pod.str("status/phase");
    if phase == "Succeeded" || phase == "Failed" {
        return Err(Error::text(format!("cannot attach a container in a completed pod; current phase is {phase}")));
    }
    let mut container = f.str("container").to_string();
    if container.is_empty() {
        let annotations = pod.at("metadata/annotations");
        container = annotations.key("kubectl.kubernetes.io/default-container").as_str().unwrap_or("").to_string();
    }
    if container.is_empty() {
        container = pod.str("spec/containers/0/name").to_string();
        let several = pod.list("spec/containers").len() > 1
            || !pod.list("spec/initContainers").is_empty()
            || !pod.list("spec/ephemeralContainers").is_empty();
        if several && !f.bool("quiet") {
            k.err(&format!("Defaulted container {} out of: {}\n", quote(&container), container_names(&pod)));
        }
    } else if !has_container(&pod, &container) {
        return Err(no_container(&pod, &container));
    }
    to(k, &pod, &container).await
}

/// Attaches to a container that runs.
pub async fn to(k: &Kubectl<'_>, pod: &Value, container: &str) -> Result<(), Error> {
    let f = &k.flags;
    let stdin = f.bool("stdin");
    let all = pod.list("spec/containers").iter().chain(pod.list("spec/ephemeralContainers"));
    let wants_tty = all.clone().any(|c| c.str("name") == container && c.bool("tty"));
    let mut tty = f.bool("tty");
    if tty && !wants_tty {
        tty = false;
        if !f.bool("quiet") {
            k.err(&format!("error: Unable to use a TTY - container {container} did not allocate one\n"));
        }
    }
    if !f.bool("quiet") && stdin && tty {
        k.err("If you don't see a command prompt, try pressing enter.\n");
    }
    let options = ExecOptions { container: container.into(), command: Vec::new(), stdin, tty };
    let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
    let stream = k.attach(ns, name, options).await.map_err(internal)?;
    relay(k, stream, stdin).await
}
