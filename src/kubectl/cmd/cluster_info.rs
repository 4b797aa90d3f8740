//! `kubectl cluster-info`.

use crate::error::Error;
use crate::session::Kubectl;

/// The command.
pub async fn cluster_info(k: &Kubectl<'_>) -> Result<(), Error> {
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
