//! What would let a pending pod in: the smallest change for each node's refusal.

use super::look::Look;
use api::SortSmall;
use api::core_v1::{Node, Pod, Taint};
use scheduler::plugins::taint_toleration::tolerates;
use scheduler::resources::{Resources, pod_requests};
use scheduler::verdict::{Attempt, Code};
use view::Remedy;

/// Remedies at most.
const MOST: usize = 6;

fn amount(resource: &str, value: i64) -> String {
    match resource {
        "cpu" => format!("{value}m"),
        // Rounded up: a byte too little is too little.
        "memory" | "ephemeral-storage" => format!("{}Mi", (value + (1 << 20) - 1) >> 20),
        _ => value.to_string(),
    }
}

fn of(resources: &Resources, name: &str) -> i64 {
    match name {
        "cpu" => resources.cpu,
        "memory" => resources.memory,
        "ephemeral-storage" => resources.storage,
        other => resources.scalar(other),
    }
}

/// What is short on a node, and the pod that takes most of it.
fn room(look: &Look<'_>, pod: &Pod, node: &Node, resource: &str) -> Option<(i64, Remedy)> {
    let name = &node.metadata.name;
    let asked = of(&pod_requests(pod, false), resource);
    let has = of(&Resources::of(&node.status.allocatable), resource);
    if asked > has {
        return None;
    }
    let here: Vec<_> = look
        .list::<Pod>("")
        .into_iter()
        .filter(|p| p.spec.node_name == *name && p.status.phase != *"Succeeded" && p.status.phase != *"Failed")
        .map(|p| (p.metadata.name.to_string(), of(&pod_requests(&p, false), resource)))
        .collect();
    let used: i64 = here.iter().map(|(_, n)| n).sum();
    let lack = asked - (has - used);
    let largest = here.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| *n > 0);
    let (largest, largest_amount) = largest.map(|(p, n)| (p, amount(resource, n))).unwrap_or_default();
    let remedy = Remedy::Free {
        resource: resource.into(),
        amount: amount(resource, lack),
        node: name.to_string(),
        largest,
        largest_amount,
    };
    (lack > 0).then_some((lack, remedy))
}

fn untaint(node: &Node, taint: &Taint) -> Remedy {
    let name = &node.metadata.name;
    // The node controller's own taints go when the node comes back, not by a command.
    if taint.key.starts_with("node.kubernetes.io/") && taint.key != *"node.kubernetes.io/unschedulable" {
        return Remedy::NodeBack { node: name.to_string(), command: format!("cluster start {name}") };
    }
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    Remedy::Untaint {
        node: name.to_string(),
        taint: format!("{}{value}:{}", taint.key, taint.effect),
        command: format!("kubectl taint nodes {name} {}:{}-", taint.key, taint.effect),
    }
}

/// What would let the pod in, the least first.
pub fn remedies(look: &Look<'_>, pod: &Pod, attempt: Option<&Attempt>) -> Vec<Remedy> {
    let gates = pod.spec.scheduling_gates.iter().map(|g| Remedy::Gate { name: g.name.to_string() });
    let mut found: Vec<Remedy> = gates.collect();
    if !found.is_empty() {
        return found;
    }
    let Some(attempt) = attempt.filter(|a| a.chosen.is_none()) else { return found };
    let mut rooms: Vec<(i64, Remedy)> = Vec::new();
    let (mut too_big, mut others): (Option<String>, Vec<Remedy>) = (None, Vec::new());
    for verdict in &attempt.nodes {
        let (Some((plugin, rejection)), Some(node)) = (&verdict.rejected, look.typed::<Node>("", &verdict.node)) else {
            continue;
        };
        match *plugin {
            "NodeResourcesFit" => {
                for reason in &rejection.reasons {
                    let resource = reason.text.strip_prefix("Insufficient ").unwrap_or("pods");
                    match room(look, pod, &node, resource) {
                        Some(remedy) => rooms.push(remedy),
                        None if rejection.code == Code::Unresolvable => too_big = Some(reason.numbers.clone()),
                        None => {}
                    }
                }
            }
            "TaintToleration" => {
                let hard = |t: &&Taint| t.effect == *"NoSchedule" || t.effect == *"NoExecute";
                let open = |t: &&Taint| !pod.spec.tolerations.iter().any(|own| tolerates(own, t));
                others.extend(node.spec.taints.iter().filter(hard).find(open).map(|t| untaint(&node, t)));
            }
            "NodeAffinity" => {
                let labels = &node.metadata.labels;
                let missing = pod.spec.node_selector.iter().find(|(k, v)| labels.get(k) != Some(v));
                others.extend(missing.map(|(key, value)| Remedy::Label {
                    node: node.metadata.name.to_string(),
                    label: format!("{key}={value}"),
                    command: format!("kubectl label node {} {key}={value}", node.metadata.name),
                }));
            }
            "NodeUnschedulable" => others.push(Remedy::Uncordon {
                node: node.metadata.name.to_string(),
                command: format!("kubectl uncordon {}", node.metadata.name),
            }),
            _ => {
                for reason in &rejection.reasons {
                    let text = format!("{} ({})", reason.text, node.metadata.name);
                    others.push(Remedy::Other { text, command: String::new() });
                }
            }
        }
    }
    rooms.sort_small_by_key(|(lack, _)| *lack);
    found.extend(rooms.into_iter().map(|(_, remedy)| remedy));
    found.extend(others);
    if found.is_empty()
        && let Some(numbers) = too_big
    {
        let text = format!("no node is large enough: {numbers}");
        found.push(Remedy::Other { text, command: String::new() });
    }
    found.truncate(MOST);
    found
}
