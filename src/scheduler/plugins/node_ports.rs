//! NodePorts: ports of the node that pods on it have taken.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::pod::{host_ports, host_ports_conflict as conflict};

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(|cycle| if cycle.pod.ports.is_empty() { PreFilter::Skip } else { PreFilter::Go }),
    filter: Some(filter),
    hints: &[Hint::when(&[Change::AssignedPodDeleted], after_pod_deleted), Hint::always(&[Change::NodeAdded])],
    ..Plugin::named("NodePorts")
};

fn after_pod_deleted(pod: &PodInfo, about: &About) -> bool {
    about.pod().0.is_none_or(|deleted| {
        host_ports(deleted).iter().any(|freed| pod.ports.iter().any(|wanted| conflict(wanted, freed)))
    })
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let taken = node.pods.iter().flat_map(|p| p.ports.iter().map(move |port| (p, port)));
    let (owner, port) = { taken }.find(|(_, port)| cycle.pod.ports.iter().any(|wanted| conflict(wanted, port)))?;
    let numbers = format!("{} {} is taken by {}", port.1, port.2, owner.key());
    Some(Rejection::unschedulable("node(s) didn't have free ports for the requested pod ports").with(numbers))
}
