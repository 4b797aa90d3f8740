//! NodeResourcesFit: what the pod asks for against what the node has left; prefers nodes with more left.

use crate::change::{About, Change, Helps, Hint};
use crate::devices::Devices;
use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin};
use crate::node_info::{NodeInfo, PodInfo};
use crate::resources::{Resources, pod_requests};
use crate::verdict::{Code, Reason, Rejection};
use api::Str;
use api::resource_claim::CLASS_PREFIX;
use std::borrow::Cow;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 1,
    filter: Some(|cycle, node| check(cycle.pod, node, &cycle.snapshot.devices)),
    pre_score: Some(|_, _| true),
    score: Some(score),
    hints: &[
        Hint::always(&[Change::AssignedPodDeleted, Change::TargetPodScaledDown]),
        Hint { changes: &[Change::NodeAdded, Change::NodeAllocatable], helps: Helps::WithDevices(after_node_changed) },
        Hint::when(&[Change::DeviceClassAdded, Change::DeviceClassUpdated], after_class_changed),
        Hint::when(&[Change::AssignedPodScaledDown], after_pod_scaled_down),
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
pub fn check(pod: &PodInfo, node: &NodeInfo, devices: &Devices) -> Option<Rejection> {
    let (asked, has, used) = (&pod.requests, &node.allocatable, &node.requested);
    let mut rejection = Rejection { code: Code::Unschedulable, reasons: Vec::new() };
    let count = i64::try_from(node.pods.len()).unwrap_or(i64::MAX);
    if count + 1 > has.pods {
        let numbers = format!("{count} pods, at most {}", has.pods);
        rejection.reasons.push(Reason { text: Cow::Borrowed("Too many pods"), numbers });
    }
    let mut compare = |name: Cow<'static, str>, asked: i64, used: i64, has: i64, show: &dyn Fn(i64) -> String| {
        let free = has.wrapping_sub(used);
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
    for (name, amount) in asked.scalars.iter().filter(|(name, _)| !devices.delegates(name, node)) {
        let text = Cow::Owned(format!("Insufficient {name}"));
        compare(text, *amount, used.scalar(name), has.scalar(name), &|n| n.to_string());
    }
    (!rejection.reasons.is_empty()).then_some(rejection)
}

/// Whether one of the resources that `pod` asks for is larger in `after` than in `before`.
fn more_for(pod: &PodInfo, before: &Resources, after: &Resources) -> bool {
    let asked = &pod.requests;
    (asked.cpu > 0 && after.cpu > before.cpu)
        || (asked.memory > 0 && after.memory > before.memory)
        || (asked.storage > 0 && after.storage > before.storage)
        || asked.scalars.iter().any(|(name, amount)| *amount != 0 && after.scalar(name) > before.scalar(name))
}

/// Whether the pod would fit on the node if that were empty, and there is more of something it asks for.
fn after_node_changed(pod: &PodInfo, about: &About, devices: &Devices) -> bool {
    let (old, Some(new)) = about.node() else { return true };
    let node = NodeInfo::new(new.clone());
    if check(pod, &node, devices).is_some() {
        return false;
    }
    old.is_none_or(|old| {
        let (before, after) = (Resources::of(&old.status.allocatable), Resources::of(&new.status.allocatable));
        let delegates = |(name, amount): &(Str, i64)| *amount != 0 && devices.delegates(name, &node);
        after.pods > before.pods || more_for(pod, &before, &after) || pod.requests.scalars.iter().any(delegates)
    })
}

/// Whether a class begins to stand for a resource that the pod asks for.
fn after_class_changed(pod: &PodInfo, about: &About) -> bool {
    let About::DeviceClass(old, new) = about else { return true };
    let asks = |name: &str| pod.requests.scalars.iter().any(|(asked, _)| *asked == *name);
    let named = new.spec.extended_resource_name.get();
    match old {
        Some(old) if old.spec.extended_resource_name.get().unwrap_or_default() == named.unwrap_or_default() => false,
        None if asks(&format!("{CLASS_PREFIX}{}", new.metadata.name)) => true,
        _ => named.is_some_and(asks),
    }
}

fn after_pod_scaled_down(pod: &PodInfo, about: &About) -> bool {
    let (Some(old), Some(new)) = about.pod() else { return true };
    more_for(pod, &pod_requests(new, false), &pod_requests(old, false))
}

/// LeastAllocated over CPU and memory.
fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let (asked, used, has) = (&cycle.pod.scoring, &node.scoring, &node.allocatable);
    let (mut sum, mut weights) = (0, 0);
    let sums = [(used.cpu.wrapping_add(asked.cpu), has.cpu), (used.memory.wrapping_add(asked.memory), has.memory)];
    for (requested, capacity) in sums {
        if capacity == 0 {
            continue;
        }
        weights += 1;
        if requested <= capacity {
            sum += capacity.wrapping_sub(requested).wrapping_mul(MAX_NODE_SCORE).checked_div(capacity).unwrap_or(0);
        }
    }
    if weights == 0 { 0 } else { sum / weights }
}
