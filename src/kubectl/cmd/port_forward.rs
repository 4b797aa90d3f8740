//! `kubectl port-forward` and `kubectl proxy`: they listen on the machine that kubectl runs on. The reader's machine has
//! no programs that could connect to it, so both say so once their arguments are understood.

use super::exec::{has_pods, not_attachable};
use super::logs::pods_of;
use crate::builder::Builder;
use crate::error::Error;
use crate::session::Kubectl;

/// `port-forward`
pub async fn port_forward(k: &Kubectl<'_>) -> Result<(), Error> {
    let [target, ports @ ..] = k.args() else {
        return Err(k.usage_error("TYPE/NAME and list of ports are required for port-forward"));
    };
    if ports.is_empty() {
        return Err(k.usage_error("TYPE/NAME and list of ports are required for port-forward"));
    }
    let b = Builder::new(k).resource_names("pods", std::slice::from_ref(target));
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let Some(info) = infos.into_iter().next() else { return Err(Error::text("expected a resource")) };
    let kind = info.mapping.kind.as_str();
    if !has_pods(kind) {
        return Err(not_attachable(kind));
    }
    let pod = if kind == "Pod" {
        info.object.clone()
    } else {
        let list = pods_of(k, &info.object, kind).await?;
        list.into_iter().next().ok_or_else(|| Error::text("timed out waiting for the condition"))?
    };
    for p in ports {
        let parts: Vec<&str> = p.split(':').collect();
        let [first, ..] = parts.as_slice() else { continue };
        let remote = parts.last().copied().unwrap_or("");
        if parts.len() > 2 {
            return Err(Error::text(format!("invalid port format '{p}'")));
        }
        for (what, text) in [("local", *first), ("remote", remote)] {
            let named = what == "remote" && kind != "Pod" && text.parse::<u16>().is_err();
            if !text.is_empty() && !named && text.parse::<u16>().is_err() {
                return Err(Error::text(format!(
                    "error parsing {what} port '{text}': strconv.ParseUint: parsing \"{text}\": invalid syntax"
                )));
            }
        }
    }
    let phase = pod.str("status/phase");
    if phase != "Running" {
        return Err(Error::text(format!(
            "unable to forward port because pod is not running. Current status={}",
            if phase.is_empty() { "Pending" } else { phase }
        )));
    }
    let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
    let opened = k.port_forward(ns, name).await;
    opened.map_err(|error| Error::text(format!("error upgrading connection: {}", error.message())))?;
    Err(Error::text("unable to listen on any of the requested ports: nothing on this machine could connect to them"))
}

/// `proxy`
pub async fn proxy(k: &Kubectl<'_>) -> Result<(), Error> {
    let _ = k;
    Err(Error::text("unable to listen: nothing on this machine could connect to the proxy"))
}
