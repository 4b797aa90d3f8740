//! NodeDeclaredFeatures: nodes that don't declare a feature which the pod needs.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::declared_features::{missing, needed_by};

/// Its row in the table. (What a pod needs can't change while it waits, so no change of the pod is waited for.)
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    hints: &[Hint::when(&[Change::NodeAdded, Change::NodeDeclaredFeatures], after_node_changed)],
    ..Plugin::named("NodeDeclaredFeatures")
};

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    if needed_by(&cycle.pod.pod.spec).is_empty() { PreFilter::Skip } else { PreFilter::Go }
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let missing = missing(needed_by(&cycle.pod.pod.spec), &node.node);
    (!missing.is_empty())
        .then(|| Rejection::unresolvable("node(s) didn't match Pod's required features").with(missing.join(", ")))
}

fn after_node_changed(_: &PodInfo, about: &About) -> bool {
    let (Some(old), Some(new)) = about.node() else { return true };
    old.status.declared_features != new.status.declared_features
}
