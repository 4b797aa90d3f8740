//! `kubectl exec`.

use super::logs::{container_names, has_container, no_container, pods_of};
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::io::Io;
use crate::print::human::quote;
use crate::server::{Piece, Stream};
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::ExecOptions;
use futures_util::future::select;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The command.
pub async fn exec(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let args = k.args();
    let target = args.first().filter(|_| f.dash != Some(0));
    let command: Vec<String> = match f.dash {
        Some(at @ (0 | 1)) => args.get(at..).unwrap_or(&[]).to_vec(),
        _ if args.len() > 1 => {
            return Err(
                k.usage_error("exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead")
            );
        }
        _ => Vec::new(),
    };
    let Some(target) = target else {
        return Err(Error::text("pod, type/name or --filename must be specified"));
    };
    if command.is_empty() {
        return Err(Error::text("you must specify at least one command for the container"));
    }
    let b = Builder::new(k).resource_names("pods", std::slice::from_ref(target));
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let Some(info) = infos.into_iter().next() else { return Err(Error::text("expected a resource")) };
    let pod = pod_behind(k, info).await?;
    not_completed(&pod, "exec into")?;
    let container = container_of(k, &pod)?;
    let stdin = f.bool("stdin");
    let tty = terminal(k, f.bool("tty"));
    let options = ExecOptions {
        container: container.as_str().into(),
        command: command.iter().map(|c| c.as_str().into()).collect(),
        stdin,
        tty,
    };
    let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
    let stream = k.exec(ns, name, options).await?;
    relay(k, stream, stdin, tty).await
}

/// Whether the reader's terminal is handed on, where that is `wanted` (`SetupTTY`).
pub fn terminal(k: &Kubectl<'_>, wanted: bool) -> bool {
    if !wanted || !k.flags.bool("stdin") {
        return false;
    }
    if !k.io.is_tty() && !k.flags.bool("quiet") {
        k.err("Unable to use a TTY - input is not a terminal or the right kind of file\n");
    }
    k.io.is_tty()
}

/// The pod of an object: itself, or the first of its pods.
pub async fn pod_behind(k: &Kubectl<'_>, info: Info) -> Result<Value, Error> {
    match info.mapping.kind.as_str() {
        "Pod" => Ok(info.object),
        kind if !has_pods(kind) => Err(not_attachable(kind)),
        kind => {
            // One may come yet.
            let limit = k.flags.duration("pod-running-timeout").max(0);
            let end = k.ctx.now() + Duration::from_nanos(u64::try_from(limit).unwrap_or_default());
            loop {
                if let Some(pod) = pods_of(k, &info.object, kind).await?.into_iter().next() {
                    return Ok(pod);
                }
                if k.ctx.now() >= end {
                    return Err(Error::text("timed out waiting for the condition"));
                }
                k.ctx.sleep(LOOK_AGAIN.min(end.since(k.ctx.now()))).await;
            }
        }
    }
}

/// How long until a workload without pods is asked for one again; the real one watches.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Refuses a pod that has ended; `what` is what was wanted of its container.
pub fn not_completed(pod: &Value, what: &str) -> Result<(), Error> {
    match pod.str("status/phase") {
        phase @ ("Succeeded" | "Failed") => {
            Err(Error::text(format!("cannot {what} a container in a completed pod; current phase is {phase}")))
        }
        _ => Ok(()),
    }
}

/// The container that is meant: the flag's, the annotated one, or the first, which is said where there are several.
pub fn container_of(k: &Kubectl<'_>, pod: &Value) -> Result<String, Error> {
    let f = &k.flags;
    let mut container = f.str("container").to_string();
    if container.is_empty() {
        let annotated = pod.at("metadata/annotations").key("kubectl.kubernetes.io/default-container");
        container = annotated.as_str().unwrap_or("").to_string();
    }
    if container.is_empty() {
        container = pod.str("spec/containers/0/name").to_string();
        let several = pod.list("spec/containers").len() > 1
            || !pod.list("spec/initContainers").is_empty()
            || !pod.list("spec/ephemeralContainers").is_empty();
        if several && !f.bool("quiet") {
            k.err(&format!("Defaulted container {} out of: {}\n", quote(&container), container_names(pod)));
        }
    } else if !has_container(pod, &container) {
        return Err(no_container(pod, &container));
    }
    Ok(container)
}

/// A terminal whose keys go to the remote command, until it is dropped.
struct Raw<'a>(&'a dyn Io);

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        self.0.set_raw(false);
    }
}

/// Carries standard input to a remote command as it comes, and its output back, until it ends.
pub async fn relay(k: &Kubectl<'_>, mut stream: Stream, stdin: bool, tty: bool) -> Result<(), Error> {
    let keys = stream.sender();
    let _raw = tty.then(|| {
        k.io.set_raw(true);
        Raw(k.io)
    });
    let feed = async {
        if stdin {
            while let Some(bytes) = k.io.read().await {
                keys.send(&bytes);
            }
            keys.send(&[]);
        }
        std::future::pending().await
    };
    let show = async {
        loop {
            match stream.piece().await {
                Piece::Out(b) => k.io.stdout(&b),
                Piece::Err(b) => k.io.stderr(&b),
                Piece::End(status) => return ended(status),
            }
        }
    };
    let both: [Pin<Box<dyn Future<Output = Result<(), Error>> + '_>>; 2] = [Box::pin(show), Box::pin(feed)];
    let [show, feed] = both;
    select(show, feed).await.factor_first().0
}

/// Runs a command in a container and gives what it wrote, and how it ended.
pub async fn capture(
    k: &Kubectl<'_>,
    ns: &str,
    pod: &str,
    container: &str,
    command: &[&str],
    stdin: Option<&[u8]>,
) -> Result<(Vec<u8>, Vec<u8>, Result<(), Error>), Error> {
    let options = ExecOptions {
        container: container.into(),
        command: command.iter().map(|c| (*c).into()).collect(),
        stdin: stdin.is_some(),
        tty: false,
    };
    let mut stream = k.exec(ns, pod, options).await?;
    if let Some(bytes) = stdin {
        let input = stream.sender();
        if !bytes.is_empty() {
            input.send(bytes);
        }
        input.send(&[]);
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match stream.piece().await {
            Piece::Out(b) => out.extend_from_slice(&b),
            Piece::Err(b) => err.extend_from_slice(&b),
            Piece::End(status) => return Ok((out, err, ended(status))),
        }
    }
}

/// What the Status at the end of a stream means.
fn ended(status: Option<Value>) -> Result<(), Error> {
    let Some(status) = status else { return Ok(()) };
    if status.str("status") == "Success" || status.str("reason").is_empty() && status.str("message").is_empty() {
        return Ok(());
    }
    if status.str("reason") == "NonZeroExitCode" {
        let code = status
            .list("details/causes")
            .iter()
            .find(|c| c.str("reason") == "ExitCode")
            .map_or("", |c| c.str("message"));
        let code: i32 = code.parse().unwrap_or(1);
        return Err(Error::Exit(code, format!("command terminated with exit code {code}")));
    }
    Err(Error::text(status.str("message")))
}

/// Whether a kind has pods that a command could be run in (`SelectorsForObject`).
pub fn has_pods(kind: &str) -> bool {
    matches!(
        kind,
        "Pod" | "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" | "Job" | "Service"
    )
}

/// Why a kind has none.
pub fn not_attachable(kind: &str) -> Error {
    Error::text(format!("cannot attach to *v1.{kind}: selector for *v1.{kind} not implemented"))
}
