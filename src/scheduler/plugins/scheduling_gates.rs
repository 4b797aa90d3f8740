//! SchedulingGates: keeps a pod out of the queue while it has gates.

use crate::change::{Change, Hint};
use crate::framework::{Gates, Plugin};
use crate::node_info::PodInfo;
use crate::verdict::Rejection;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_enqueue: Some(pre_enqueue),
    hints: &[Hint::always(&[Change::TargetPodSchedulingGatesEliminated])],
    ..Plugin::named("SchedulingGates")
};

fn pre_enqueue(pod: &PodInfo, _: &Gates) -> Option<Rejection> {
    let gates: Vec<&str> = pod.pod.spec.scheduling_gates.iter().map(|g| &*g.name).collect();
    (!gates.is_empty())
        .then(|| Rejection::unresolvable("waiting for scheduling gates").with(format!("[{}]", gates.join(" "))))
}
