//! `kubectl cluster-info dump`: what the cluster holds, for those who look for what is wrong with it.

use crate::error::Error;
use crate::print::object::{WRITE_FORMATS, by_format};
use crate::server::value_list;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::LogOptions;

/// What is dumped of each namespace.
const KINDS: [(&str, &str, &str); 6] = [
    ("", "events", "EventList"),
    ("", "replicationcontrollers", "ReplicationControllerList"),
    ("", "services", "ServiceList"),
    ("apps", "daemonsets", "DaemonSetList"),
    ("apps", "deployments", "DeploymentList"),
    ("apps", "replicasets", "ReplicaSetList"),
];

/// The command.
pub async fn dump(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let format = if f.str("output").is_empty() { "json" } else { f.str("output") };
    let extension = match format {
        "json" => ".json",
        "yaml" => ".yaml",
        _ => ".txt",
    };
    let directory = f.str("output-directory");
    let mut printer = by_format(k, format, WRITE_FORMATS)?;
    let mut put = |k: &Kubectl<'_>, name: &str, v: &Value| -> Result<(), Error> {
        let (text, done) = printer.render(v);
        done?;
        write(k, directory, &format!("{name}{extension}"), &text)
    };
    let nodes = k.known("", "nodes")?;
    put(k, "nodes", &value_list("v1", "NodeList", k.list(&nodes, "", "", "").await?))?;
    let mut namespaces = f.list("namespaces");
    if f.bool("all-namespaces") {
        let m = k.known("", "namespaces")?;
        namespaces = k.list(&m, "", "", "").await?.iter().map(|n| n.str("metadata/name").to_string()).collect();
    } else if namespaces.is_empty() {
        namespaces = vec!["kube-system".into(), k.namespace()];
    }
    let pods = k.known("", "pods")?;
    for ns in &namespaces {
        for (group, plural, kind) in KINDS {
            let m = k.known(group, plural)?;
            put(k, &format!("{ns}/{plural}"), &value_list(&m.api_version(), kind, k.list(&m, ns, "", "").await?))?;
        }
        let list = k.list(&pods, ns, "", "").await?;
        put(k, &format!("{ns}/pods"), &value_list("v1", "PodList", list.clone()))?;
        for pod in &list {
            let name = pod.str("metadata/name");
            let mut text = String::new();
            let all = pod.list("spec/initContainers").iter().chain(pod.list("spec/containers"));
            for c in all {
                let container = c.str("name");
                text.push_str(&format!("==== START logs for container {container} of pod {ns}/{name} ====\n"));
                let options = LogOptions { container: container.into(), ..LogOptions::default() };
                match k.logs(ns, name, options).await {
                    Ok(Ok(log)) => text.push_str(&log),
                    Ok(Err(_)) => {}
                    Err(e) => text.push_str(&format!("Request log error: {}\n", e.message())),
                }
                text.push_str(&format!("==== END logs for container {container} of pod {ns}/{name} ====\n"));
            }
            write(k, directory, &format!("{ns}/{name}/logs.txt"), &text)?;
        }
    }
    if !directory.is_empty() && directory != "-" {
        k.out(&format!("Cluster info dumped to {directory}\n"));
    }
    Ok(())
}

fn write(k: &Kubectl<'_>, directory: &str, name: &str, text: &str) -> Result<(), Error> {
    if directory.is_empty() || directory == "-" {
        k.out(text);
        return Ok(());
    }
    let path = format!("{}/{name}", directory.trim_end_matches('/'));
    k.io.write_file(&path, text.as_bytes()).map_err(|e| Error::text(format!("open {path}: {e}")))
}
