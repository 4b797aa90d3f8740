//! Fields of pods and containers that containers ask for (pkg/fieldpath, component-helpers/resource).

use super::config::KubeletConfig;
use api::core_v1::{Container, Pod, ResourceFieldSelector};
use api::{Map, Quantity, Str};

/// A field of the pod as text.
pub fn pod_field(pod: &Pod, path: &str, ip: &Str, host_ip: &Str) -> Result<String, String> {
    let meta = &pod.metadata;
    if let Some((base, key)) = path.strip_suffix("']").and_then(|p| p.split_once("['")) {
        return match base {
            "metadata.labels" => Ok(meta.labels.get(key).map(ToString::to_string).unwrap_or_default()),
            "metadata.annotations" => Ok(meta.annotations.get(key).map(ToString::to_string).unwrap_or_default()),
            _ => Err(format!("fieldPath {} does not support subscript", api::go::quote(path))),
        };
    }
    Ok(match path {
        "metadata.name" => meta.name.to_string(),
        "metadata.namespace" => meta.namespace.to_string(),
        "metadata.uid" => meta.uid.to_string(),
        "metadata.labels" => format_map(&meta.labels),
        "metadata.annotations" => format_map(&meta.annotations),
        "spec.nodeName" => pod.spec.node_name.to_string(),
        "spec.serviceAccountName" => pod.spec.service_account_name.to_string(),
        "status.hostIP" | "status.hostIPs" => host_ip.to_string(),
        "status.podIP" | "status.podIPs" => ip.to_string(),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    })
}

/// `key="value"` lines, as the downward API writes labels and annotations.
fn format_map(map: &Map<Str>) -> String {
    map.iter().map(|(k, v)| format!("{k}={}", api::go::quote(v))).collect::<Vec<_>>().join("\n")
}

/// A container's request or limit, in units of the divisor, rounded up.
pub fn resource(
    pod: &Pod,
    own: Option<&Container>,
    field: &ResourceFieldSelector,
    node: &KubeletConfig,
) -> Result<String, String> {
    let container = if field.container_name.is_empty() {
        own.ok_or_else(|| "container not found".to_string())?
    } else {
        let all = pod.spec.containers.iter().chain(pod.spec.init_containers.iter());
        all.into_iter()
            .find(|c| c.name == field.container_name)
            .ok_or_else(|| format!("container {} not found", field.container_name))?
    };
    let (list, name) = field.resource.split_once('.').unwrap_or(("", &field.resource));
    let limits = list == "limits";
    let found = if limits { container.resources.limits.get(name) } else { container.resources.requests.get(name) };
    // A limit that is not set is all that the node has.
    let whole = match name {
        _ if !limits => None,
        "cpu" => Quantity::parse(&node.cpus.to_string()).ok(),
        "memory" => Quantity::parse(&node.memory).ok(),
        "ephemeral-storage" => Quantity::parse(&node.ephemeral_storage).ok(),
        _ => None,
    };
    let zero = Quantity::default();
    let quantity = found.or(whole.as_ref()).unwrap_or(&zero);
    let divisor = if field.divisor.is_zero() { 1_000 } else { field.divisor.milli_value().max(1) };
    let milli = i128::from(quantity.milli_value());
    let divisor = i128::from(divisor);
    if name == "cpu" {
        return Ok(((milli + divisor - 1) / divisor).to_string());
    }
    let whole_divisor = (divisor / 1_000).max(1);
    let value = i128::from(quantity.value());
    Ok(((value + whole_divisor - 1) / whole_divisor).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Addr, Ip};

    #[test]
    fn fields_and_resources() {
        let mut pod = Pod::default();
        pod.metadata.name = "web".into();
        pod.metadata.labels = Map::from([("app", Str::from("a")), ("tier", Str::from("b\"c"))]);
        let field = |path: &str| pod_field(&pod, path, &"10.0.0.1".into(), &"172.18.0.11".into());
        assert_eq!(field("metadata.name"), Ok("web".into()));
        assert_eq!(field("metadata.labels['app']"), Ok("a".into()));
        assert_eq!(field("metadata.labels"), Ok("app=\"a\"\ntier=\"b\\\"c\"".into()));
        assert_eq!(field("status.podIP"), Ok("10.0.0.1".into()));
        assert!(field("spec.nothing").is_err());

        let mut container = Container::default();
        container.resources.limits = Map::from([("memory", Quantity::parse("64Mi").unwrap())]);
        container.resources.requests = Map::from([("cpu", Quantity::parse("250m").unwrap())]);
        let node = KubeletConfig::new("n", Addr { ip: Ip::new(1, 1, 1, 1), port: 1 });
        let of = |resource: &str, divisor: &str| {
            let divisor = if divisor.is_empty() { Quantity::default() } else { Quantity::parse(divisor).unwrap() };
            let field = ResourceFieldSelector { resource: resource.into(), divisor, ..Default::default() };
            super::resource(&pod, Some(&container), &field, &node)
        };
        assert_eq!(of("limits.memory", ""), Ok("67108864".into()));
        assert_eq!(of("limits.memory", "1Mi"), Ok("64".into()));
        assert_eq!(of("requests.cpu", ""), Ok("1".into()));
        assert_eq!(of("requests.cpu", "1m"), Ok("250".into()));
        assert_eq!(of("limits.cpu", ""), Ok("4".into()));
    }
}
