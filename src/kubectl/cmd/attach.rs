//! `kubectl attach`.

use super::exec::{container_of, not_completed, pod_behind, relay, terminal};
use crate::builder::Builder;
use crate::error::Error;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::ExecOptions;

/// What is said of the logs.
const RECORDED: &str = "All commands and output from this session will be recorded in container logs, including \
                        credentials and sensitive information passed through the command prompt.\n";

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
    let ephemeral = pod.list("spec/ephemeralContainers").iter().any(|c| c.str("name") == container);
    let mut all = pod.list("spec/containers").iter().chain(pod.list("spec/ephemeralContainers"));
    let has_tty = all.any(|c| c.str("name") == container && c.bool("tty"));
    if f.bool("tty") && !has_tty && !f.bool("quiet") {
        k.err(&format!("error: Unable to use a TTY - container {container} did not allocate one\n"));
    }
    // A container with a terminal is attached to as one.
    let tty = terminal(k, has_tty);
    if !f.bool("quiet") {
        k.err(RECORDED);
        k.err("If you don't see a command prompt, try pressing enter.\n");
    }
    let options = ExecOptions { container: container.into(), command: Vec::new(), stdin, tty };
    let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
    let stream = k.attach(ns, name, options).await?;
    relay(k, stream, stdin, tty).await?;
    if tty && !f.bool("quiet") {
        let again = format!("'kubectl attach {name} -c {container} -n {ns} -i -t'");
        k.out(&if ephemeral {
            format!(
                "Session ended, the ephemeral container will not be restarted but may be reattached using {again} if it is still running\n"
            )
        } else {
            format!("Session ended, resume using {again} command\n")
        });
    }
    Ok(())
}
