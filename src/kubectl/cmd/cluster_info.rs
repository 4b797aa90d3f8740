//! `kubectl cluster-info`, and `top`, which has no metrics to show.

use super::{ALL_NAMESPACES, Command, SELECTOR};
use crate::error::Error;
use crate::session::Kubectl;

/// `cluster-info`
pub static CLUSTER_INFO: Command = Command {
    name: "cluster-info",
    aliases: &["clusterinfo"],
    short: "Display cluster information",
    usage: "",
    flags: &[],
    required: &[],
    run: Some(|k| Box::pin(cluster_info(k))),
    children: &[],
};

/// `top`
pub static TOP: Command = Command {
    name: "top",
    aliases: &[],
    short: "Display resource (CPU/memory) usage",
    usage: "",
    flags: &[],
    required: &[],
    run: None,
    children: &[&TOP_NODE, &TOP_POD],
};
static TOP_NODE: Command = Command {
    name: "node",
    aliases: &["nodes", "no"],
    short: "Display resource (CPU/memory) usage of nodes",
    usage: "[NAME | -l label]",
    flags: &[SELECTOR],
    required: &[],
    run: Some(|k| Box::pin(top(k))),
    children: &[],
};
static TOP_POD: Command = Command {
    name: "pod",
    aliases: &["pods", "po"],
    short: "Display resource (CPU/memory) usage of pods",
    usage: "[NAME | -l label]",
    flags: &[SELECTOR, ALL_NAMESPACES],
    required: &[],
    run: Some(|k| Box::pin(top(k))),
    children: &[],
};

async fn cluster_info(k: &Kubectl<'_>) -> Result<(), Error> {
    let services = k.known("", "services")?;
    let list = k.list(&services, "kube-system", "kubernetes.io/cluster-service=true", "").await?;
    let host = k.config.host();
    k.out(&format!("Kubernetes control plane is running at https://{host}\n"));
    for s in list {
        let labels = s.at("metadata/labels");
        let name = labels.key("kubernetes.io/name").as_str().unwrap_or(s.str("metadata/name"));
        let port = s.str("spec/ports/0/name");
        let colon = if port.is_empty() { String::new() } else { format!(":{port}") };
        k.out(&format!(
            "{name} is running at https://{host}/api/v1/namespaces/{}/services/{}{colon}/proxy\n",
            s.str("metadata/namespace"),
            s.str("metadata/name")
        ));
    }
    k.out("\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.\n");
    Ok(())
}

async fn top(k: &Kubectl<'_>) -> Result<(), Error> {
    k.connect("/apis?timeout=32s").await?;
    Err(Error::text("Metrics API not available"))
}
