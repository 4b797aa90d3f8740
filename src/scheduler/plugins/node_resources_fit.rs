//! NodeResourcesFit: what the pod asks for against what the node has left; prefers nodes with more left.

use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin};
use crate::node_info::{NodeInfo, PodInfo};
use crate::queue::{Change, Hint};
use crate::resources::Resources;
use crate::verdict::{Code, Reason, Rejection};
use std::borrow::Cow;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 1,
    filter: Some(|cycle, node| check(cycle.pod, node)),
    pre_score: Some(|_, _| true),
    score: Some(score),
    hints: &[
        Hint { change: Change::AssignedPodDeleted, helps: None },
        Hint { change: Change::NodeAddedOrAllocatable, helps: Some(fits_alone) },
        Hint { change: Change::PodScaledDown, helps: None },
    ],
    ..Plugin::named("NodeResourcesFit")
};

/// Mi as people read them, with a digit where it is no whole number.
fn mebibytes(bytes: i64) -> String {
    let tenths = bytes.saturating_mul(10) / (1 << 20);
    if tenths % 10 == 0 { format!("{}Mi", tenths / 10) } else { format!("{}.{}Mi", tenths / 10, (tenths % 10).abs()) }
}

fn cores(milli: i64) -> String {
    format!("{milli}m")
}

/// What is too little of a node for a pod (`fitsRequest`).
pub fn check(pod: &PodInfo, node: &NodeInfo) -> Option<Rejection> {
    let (asked, has, used) = (&pod.requests, &node.allocatable, &node.requested);
    let mut rejection = Rejection { code: Code::Unschedulable, reasons: Vec::new() };
    let count = i64::try_from(node.pods.len()).unwrap_or(i64::MAX);
    if count + 1 > has.pods {
        let numbers = format!("{count} pods, at most {}", has.pods);
        rejection.reasons.push(Reason { text: Cow::Borrowed("Too many pods"), numbers });
    }
    let mut compare = |name: Cow<'static, str>, asked: i64, used: i64, has: i64, show: &dyn Fn(i64) -> String| {
        let free = has.saturating_sub(used);
        if asked > 0 && asked > free {
            let numbers = format!("{} > {} free of {}", show(asked), show(free), show(has));
            rejection.reasons.push(Reason { text: name, numbers });
            if asked > has {
                rejection.code = Code::Unresolvable;
            }
        }
    };
    compare(Cow::Borrowed("Insufficient cpu"), asked.cpu, used.cpu, has.cpu, &cores);
    compare(Cow::Borrowed("Insufficient memory"), asked.memory, used.memory, has.memory, &mebibytes);
    compare(Cow::Borrowed("Insufficient ephemeral-storage"), asked.storage, used.storage, has.storage, &mebibytes);
    for (name, amount) in &asked.scalars {
        let text = Cow::Owned(format!("Insufficient {name}"));
        compare(text, *amount, used.scalar(name), has.scalar(name), &|n| n.to_string());
    }
    (!rejection.reasons.is_empty()).then_some(rejection)
}

/// Whether the pod would fit if the node were empty.
fn fits_alone(pod: &PodInfo, node: &NodeInfo) -> bool {
    let empty = NodeInfo { pods: Vec::new(), requested: Resources::default(), ..node.clone() };
    check(pod, &empty).is_none()
}

/// LeastAllocated over CPU and memory.
fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let (asked, used, has) = (&cycle.pod.scoring, &node.scoring, &node.allocatable);
    let (mut sum, mut weights) = (0, 0);
    for (requested, capacity) in [(used.cpu + asked.cpu, has.cpu), (used.memory + asked.memory, has.memory)] {
        if capacity == 0 {
            continue;
        }
        weights += 1;
        if requested <= capacity {
            sum += (capacity - requested).saturating_mul(MAX_NODE_SCORE) / capacity;
        }
    }
    if weights == 0 { 0 } else { sum / weights }
}
