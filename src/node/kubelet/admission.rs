//! What a kubelet takes on its node (pkg/kubelet/lifecycle/predicate.go).

use super::qos::pod_requests;
use api::core_v1::{Node, NodeSelectorRequirement, Pod};
use api::{Quantity, Rev};

/// Why a pod is not taken.
#[derive(Clone, PartialEq, Debug)]
pub struct Rejection {
    /// `OutOfcpu`, `NodeAffinity`, ...
    pub reason: String,
    /// In words.
    pub message: String,
}

fn predicate(name: &str, why: &str) -> Rejection {
    Rejection { reason: name.to_string(), message: format!("Predicate {name} failed: {why}") }
}

/// Whether a node has room for a pod beside those that it has.
pub fn fits(pod: &Pod, others: &[Rev<Pod>], node: &Node) -> Result<(), Rejection> {
    let allocatable = &node.status.allocatable;
    let out_of = |resource: &str, requested: i64, used: i64, capacity: i64| Rejection {
        reason: format!("OutOf{resource}"),
        message: format!(
            "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
        ),
    };
    let slots = allocatable.get("pods").map_or(i64::MAX, Quantity::value);
    let count = i64::try_from(others.len()).unwrap_or(i64::MAX);
    if count.saturating_add(1) > slots {
        return Err(out_of("pods", 1, count, slots));
    }
    let requests = pod_requests(&pod.spec);
    for (name, wanted) in &requests {
        let of = |q: &Quantity| if name == "cpu" { q.milli_value() } else { q.value() };
        let requested = of(wanted);
        if requested == 0 {
            continue;
        }
        // What no node knows of is the cluster's, not the node's.
        let Some(capacity) = allocatable.get(name).map(of) else { continue };
        let used =
            others.iter().filter_map(|p| pod_requests(&p.spec).get(name).map(of)).fold(0i64, i64::saturating_add);
        if requested > capacity.saturating_sub(used) {
            return Err(out_of(name, requested, used, capacity));
        }
    }
    Ok(())
}

/// Whether a node takes a pod beside those that it has.
pub fn admit(pod: &Pod, others: &[Rev<Pod>], node: &Node) -> Result<(), Rejection> {
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
    fits(pod, others, node)?;
    if !pod.spec.node_name.is_empty() && pod.spec.node_name != node.metadata.name {
        return Err(predicate("NodeName", "node(s) didn't match the requested node name"));
    }
    let ports = |p: &Pod| -> Vec<(i32, api::Str)> {
        p.spec
            .containers
            .iter()
            .flat_map(|c| c.ports.iter())
            .filter(|port| port.host_port != 0)
            .map(|port| (port.host_port, port.protocol.clone()))
            .collect()
    };
    let wanted = ports(pod);
    if !wanted.is_empty() && others.iter().any(|p| ports(p).iter().any(|taken| wanted.contains(taken))) {
        return Err(predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports"));
    }
    let selected = pod.spec.node_selector.iter().all(|(key, value)| node.metadata.labels.get(key) == Some(value));
    if !selected || !matches_affinity(pod, node) {
        return Err(predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"));
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
        return Err(predicate("TaintToleration", "node(s) had untolerated taint(s)"));
    }
    Ok(())
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
    use api::core_v1::{Container, Taint};

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
}
