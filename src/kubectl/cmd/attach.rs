//! `kubectl attach`.

use super::exec::{container_of, internal, not_completed, pod_behind, relay};
use crate::builder::Builder;
use crate::error::Error;
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
    let pod = pod_behind(k, info).await?;
    not_completed(&pod, "attach")?;
    let container = container_of(k, &pod)?;
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
