//! `kubectl exec`.

use super::logs::{container_names, has_container, no_container, pods_of};
use super::{Command, FILES};
use crate::builder::Builder;
use crate::error::Error;
use crate::flags::{Flag, Type, flag};
use crate::print::human::quote;
use crate::server::Piece;
use crate::session::Kubectl;
use ::api::rest::ExecOptions;

const FLAGS: &[Flag] = &[
    flag("container", Type::String, "", "Container name.").short('c'),
    flag("pod-running-timeout", Type::Duration, "1m0s", "The length of time to wait until at least one pod is running"),
    flag("quiet", Type::Bool, "false", "Only print output from the remote session").short('q'),
    flag("stdin", Type::Bool, "false", "Pass stdin to the container").short('i'),
    flag("tty", Type::Bool, "false", "Stdin is a TTY").short('t'),
];

/// The verb.
pub static EXEC: Command = Command {
    name: "exec",
    aliases: &[],
    short: "Execute a command in a container",
    usage: "(POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]",
    flags: &[FLAGS, FILES],
    required: &[],
    run: Some(|k| Box::pin(exec(k))),
    children: &[],
};

async fn exec(k: &Kubectl<'_>) -> Result<(), Error> {
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
    let pod = if info.mapping.kind == "Pod" {
        info.object
    } else {
        let list = pods_of(k, &info.object, &info.mapping.kind).await?;
        list.into_iter().next().ok_or_else(|| Error::text("timed out waiting for the condition"))?
    };
    let phase = pod.str("status/phase");
    if phase == "Succeeded" || phase == "Failed" {
        return Err(Error::text(format!("cannot exec into a container in a completed pod; current phase is {phase}")));
    }
    let mut container = f.str("container").to_string();
    if container.is_empty() {
        container = pod
            .at("metadata/annotations")
            .key("kubectl.kubernetes.io/default-container")
            .as_str()
            .unwrap_or("")
            .to_string();
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
    let stdin = f.bool("stdin");
    let mut tty = f.bool("tty") && stdin;
    if tty && !k.io.is_tty() {
        tty = false;
        if !f.bool("quiet") {
            k.err("Unable to use a TTY - input is not a terminal or the right kind of file\n");
        }
    }
    let options = ExecOptions {
        container: container.as_str().into(),
        command: command.iter().map(|c| c.as_str().into()).collect(),
        stdin,
        tty,
    };
    let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
    let mut stream = k.exec(ns, name, options).await.map_err(internal)?;
    if stdin {
        let bytes = k.io.stdin();
        if !bytes.is_empty() {
            stream.send(&bytes);
        }
        stream.send(&[]);
    }
    loop {
        match stream.piece().await {
            Piece::Out(b) => k.io.stdout(&b),
            Piece::Err(b) => k.io.stderr(&b),
            Piece::End(None) => return Ok(()),
            Piece::End(Some(status)) => {
                if status.str("status") == "Success"
                    || status.str("reason").is_empty() && status.str("message").is_empty()
                {
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
                return Err(Error::text(status.str("message")));
            }
        }
    }
}

/// An error before the stream began is the remote command's own, without the reason.
fn internal(e: Error) -> Error {
    if e.reason() == "InternalError" { Error::text(e.message()) } else { e }
}
