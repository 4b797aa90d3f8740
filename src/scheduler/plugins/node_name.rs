//! NodeName: the node that the pod names, and no other.

use crate::change::{Change, Hint};
use crate::framework::{Cycle, Plugin};
use crate::node_info::NodeInfo;
use crate::verdict::Rejection;

/// Its row in the table.
pub static PLUGIN: Plugin =
    Plugin { filter: Some(filter), hints: &[Hint::always(&[Change::NodeAdded])], ..Plugin::named("NodeName") };

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let wanted = &cycle.pod.pod.spec.node_name;
    (!wanted.is_empty() && wanted != node.name()).then(|| {
        Rejection::unresolvable("node(s) didn't match the requested node name").with(format!("wanted {wanted}"))
    })
}
