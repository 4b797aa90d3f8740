//! What a kubelet takes on its node (pkg/kubelet/lifecycle/predicate.go).

use super::qos::pod_requests;
use api::core_v1::{Node, NodeSelectorRequirement, Pod};
use api::pod::{HostPort, host_ports, host_ports_conflict};
use api::{Quantity, Rev};

/// Why a pod is not taken.
#[derive(Clone, PartialEq, Debug)]
pub struct Rejection {
    /// `OutOfcpu`, `NodeAffinity`, ...
    pub reason: String,
    /// In words.
    pub message: String,
}

/// What is wrong with a pod for its node.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// There is too little of a resource; how much is missing.
    Short(Rejection, String, i64),
    /// Anything else.
    Other(Rejection),
}

impl Failure {
    /// The words for the pod's status.
    pub fn rejection(self) -> Rejection {
        match self {
            Self::Short(rejection, _, _) | Self::Other(rejection) => rejection,
        }
    }
}

fn predicate(name: &str, why: &str) -> Failure {
    Failure::Other(Rejection { reason: name.to_string(), message: format!("Predicate {name} failed: {why}") })
}

/// A resource's amount as it is compared: thousandths of CPU, whole numbers of all else.
pub fn amount(name: &str, quantity: &Quantity) -> i64 {
    if name == "cpu" { quantity.milli_value() } else { quantity.value() }
}

/// Whether a node has room for a pod beside those that it has.
pub fn fits(pod: &Pod, others: &[Rev<Pod>], node: &Node) -> Result<(), Rejection> {
    shortages(pod, others, node).into_iter().next().map_or(Ok(()), |failure| Err(failure.rejection()))
}

/// What a node has too little of for a pod beside those that it has, in the order in which the scheduler asks.
fn shortages(pod: &Pod, others: &[Rev<Pod>], node: &Node) -> Vec<Failure> {
    let allocatable = &node.status.allocatable;
    let short = |resource: &str, requested: i64, used: i64, capacity: i64| {
        let rejection = Rejection {
            reason: format!("OutOf{resource}"),
            message: format!(
                "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
            ),
        };
        let missing = requested.saturating_sub(capacity.saturating_sub(used));
        Failure::Short(rejection, resource.to_string(), missing)
    };
    let mut all = Vec::new();
    let slots = allocatable.get("pods").map_or(i64::MAX, Quantity::value);
    let count = i64::try_from(others.len()).unwrap_or(i64::MAX);
    if count.saturating_add(1) > slots {
        all.push(short("pods", 1, count, slots));
    }
    let requests = pod_requests(&pod.spec);
    const FIRST: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
    // What the pod has as a device is none of the node's either.
    let extended = pod.status.extended_resource_claim_status.get();
    let is_device = |name: &str| extended.is_some_and(|s| s.request_mappings.iter().any(|m| m.resource_name == *name));
    let rest = requests.iter().map(|(name, _)| &**name).filter(|name| !FIRST.contains(name) && !is_device(name));
    for name in FIRST.into_iter().chain(rest) {
        let requested = requests.get(name).map_or(0, |wanted| amount(name, wanted));
        if requested == 0 {
            continue;
        }
        // What no node knows of is the cluster's, not the node's.
        let Some(capacity) = allocatable.get(name).map(|has| amount(name, has)) else { continue };
        let of_pod = |p: &Rev<Pod>| pod_requests(&p.spec).get(name).map(|asked| amount(name, asked));
        let used = others.iter().filter_map(of_pod).fold(0i64, i64::wrapping_add);
        if requested > 0 && requested > capacity.wrapping_sub(used) {
            all.push(short(name, requested, used, capacity));
        }
    }
    all
}

/// What a node has against a pod beside those that it has.
///
/// # Errors
/// What nothing could change.
pub fn failures(pod: &Pod, others: &[Rev<Pod>], node: &Node) -> Result<Vec<Failure>, Rejection> {
    let os = pod.spec.node_selector.get("kubernetes.io/os");
    if os.is_some_and(|os| node.metadata.labels.get("kubernetes.io/os") != Some(os)) {
        return Err(Rejection {
            reason: "PodOSSelectorNodeLabelDoesNotMatch".to_string(),
            message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label".to_string(),
        });
    }
    if pod.spec.os.get().is_some_and(|os| os.name != "linux") {
        return Err(Rejection {
            reason: "PodOSNotSupported".to_string(),
            message: "Failed to admit pod as the OS field doesn't match node OS".to_string(),
        });
    }
    let mut all = shortages(pod, others, node);
    let selected = pod.spec.node_selector.iter().all(|(key, value)| node.metadata.labels.get(key) == Some(value));
    if !selected || !matches_affinity(pod, node) {
        all.push(predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"));
    }
    if !pod.spec.node_name.is_empty() && pod.spec.node_name != node.metadata.name {
        all.push(predicate("NodeName", "node(s) didn't match the requested node name"));
    }
    let wanted = host_ports(pod);
    let is_taken = |taken: &HostPort| wanted.iter().any(|port| host_ports_conflict(port, taken));
    if !wanted.is_empty() && others.iter().any(|p| host_ports(p).iter().any(is_taken)) {
        all.push(predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports"));
    }
    let intolerable = node.spec.taints.iter().any(|taint| {
        taint.effect == "NoExecute"
            && !pod.spec.tolerations.iter().any(|t| {
                (t.effect.is_empty() || t.effect == taint.effect)
                    && (t.key.is_empty() || t.key == taint.key)
                    && match &*t.operator {
                        "Exists" => true,
                        _ => t.value == taint.value && !t.key.is_empty(),
                    }
            })
    });
    if intolerable {
        all.push(predicate("TaintToleration", "node(s) had untolerated taint(s)"));
    }
    Ok(all)
}

/// The node affinity that a pod requires (component-helpers/scheduling/corev1/nodeaffinity).
fn matches_affinity(pod: &Pod, node: &Node) -> bool {
    let required = pod
        .spec
        .affinity
        .get()
        .and_then(|a| a.node_affinity.get())
        .and_then(|a| a.required_during_scheduling_ignored_during_execution.get());
    let Some(required) = required else { return true };
    required.node_selector_terms.iter().any(|term| {
        let some = !term.match_expressions.is_empty() || !term.match_fields.is_empty();
        some && term.match_expressions.iter().all(|e| fulfils(e, node.metadata.labels.get(&e.key).map(|v| &**v)))
            && term.match_fields.iter().all(|e| fulfils(e, (e.key == "metadata.name").then_some(&*node.metadata.name)))
    })
}

fn fulfils(wanted: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let listed = || value.is_some_and(|v| wanted.values.iter().any(|w| *w == *v));
    let numbers = || -> Option<(i64, i64)> { Some((value?.parse().ok()?, wanted.values.first()?.parse().ok()?)) };
    match &*wanted.operator {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(has, wants)| has > wants),
        "Lt" => numbers().is_some_and(|(has, wants)| has < wants),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Map;
    use api::core_v1::{Container, ContainerPort, Taint};

    fn admit(pod: &Pod, others: &[Rev<Pod>], node: &Node) -> Result<(), Rejection> {
        failures(pod, others, node)?.into_iter().next().map_or(Ok(()), |failure| Err(failure.rejection()))
    }

    fn pod(cpu: &str) -> Pod {
        let mut pod = Pod::default();
        let mut container = Container::default();
        container.resources.requests = Map::from([("cpu", Quantity::parse(cpu).unwrap())]);
        pod.spec.make().containers = [container].into();
        pod
    }

    #[test]
    fn a_node_takes_what_fits() {
        let mut node = Node::default();
        let q = |text: &str| Quantity::parse(text).unwrap();
        node.status.make().allocatable = Map::from([("cpu", q("4")), ("memory", q("8Gi")), ("pods", q("2"))]);
        let other = Rev::new(1, pod("3500m"));
        assert_eq!(admit(&pod("500m"), std::slice::from_ref(&other), &node), Ok(()));
        let full = admit(&pod("600m"), std::slice::from_ref(&other), &node).unwrap_err();
        assert_eq!(full.reason, "OutOfcpu");
        assert_eq!(full.message, "Node didn't have enough resource: cpu, requested: 600, used: 3500, capacity: 4000");
        assert_eq!(admit(&pod("1m"), &[other.clone(), other], &node).unwrap_err().reason, "OutOfpods");
        node.spec.make().taints = [Taint { key: "x".into(), effect: "NoExecute".into(), ..Taint::default() }].into();
        assert_eq!(
            admit(&pod("1m"), &[], &node).unwrap_err().message,
            "Predicate TaintToleration failed: node(s) had untolerated taint(s)"
        );
    }

    #[test]
    fn ports_of_the_node_are_taken_by_address() {
        let with = |ip: &str, protocol: &str, port: i32| {
            let mut pod = pod("1m");
            let port = ContainerPort {
                container_port: 80,
                host_port: port,
                host_ip: ip.into(),
                protocol: protocol.into(),
                ..ContainerPort::default()
            };
            pod.spec.make().containers.make()[0].ports = [port].into();
            pod
        };
        let node = Node::default();
        for (wanted, taken, fits) in [
            (("", "TCP", 80), ("", "TCP", 80), false),
            (("", "TCP", 80), ("", "UDP", 80), true),
            (("127.0.0.1", "TCP", 80), ("127.0.0.2", "TCP", 80), true),
            (("127.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), false),
        ] {
            let other = Rev::new(1, with(taken.0, taken.1, taken.2));
            let said = admit(&with(wanted.0, wanted.1, wanted.2), &[other], &node);
            let text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
            assert_eq!(said.err().map(|r| r.message).as_deref(), (!fits).then_some(text));
        }
    }
}
