//! ImageLocality: prefers nodes that have the pod's images, big ones more, rare ones less.

use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin};
use crate::node_info::NodeInfo;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin { weight: 1, score: Some(score), ..Plugin::named("ImageLocality") };

const MEBIBYTE: i64 = 1 << 20;
/// Images smaller than this count nothing.
const MIN: i64 = 23 * MEBIBYTE;
/// Larger ones count no more than this, each.
const MAX: i64 = 1000 * MEBIBYTE;

/// An image's name as nodes list it: with registry and tag.
pub fn normalized(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains(':') || image.contains('@') { image.into() } else { format!("{image}:latest") }
}

fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let spec = &cycle.pod.pod.spec;
    let total = i64::try_from(cycle.snapshot.nodes.len()).unwrap_or(1).max(1);
    let mut sum = 0;
    for container in spec.init_containers.iter().chain(spec.containers.iter()) {
        let name = normalized(&container.image);
        if let Some(size) = node.images.get(name.as_str()) {
            let holders = cycle.snapshot.nodes.iter().filter(|n| n.images.contains_key(name.as_str())).count();
            sum += size.saturating_mul(i64::try_from(holders).unwrap_or(0)) / total;
        }
    }
    let containers = i64::try_from(spec.containers.len() + spec.init_containers.len()).unwrap_or(1);
    let max = MAX * containers;
    MAX_NODE_SCORE * (sum.clamp(MIN, max.max(MIN)) - MIN) / (max - MIN).max(1)
}
