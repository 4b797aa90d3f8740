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

/// The pod's images as nodes list them, each with the number of nodes that have it.
pub type State = Vec<(String, i64)>;

fn images(cycle: &Cycle<'_>) -> State {
    let spec = &cycle.pod.pod.spec;
    let names = spec.init_containers.iter().chain(spec.containers.iter()).map(|c| normalized(&c.image));
    let holders = |name: &str| cycle.snapshot.images.get(name).and_then(|n| i64::try_from(*n).ok()).unwrap_or(0);
    names
        .map(|name| {
            let holders = holders(&name);
            (name, holders)
        })
        .collect()
}

fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let images = cycle.state.images.get_or_init(|| images(cycle));
    let total = i64::try_from(cycle.snapshot.nodes.len()).unwrap_or(1).max(1);
    let mut sum = 0;
    for (name, holders) in images {
        if let Some(size) = node.images.get(name.as_str()) {
            sum += size.saturating_mul(*holders) / total;
        }
    }
    let containers = i64::try_from(images.len()).unwrap_or(1);
    let max = MAX * containers;
    MAX_NODE_SCORE * (sum.clamp(MIN, max.max(MIN)) - MIN) / (max - MIN).max(1)
}
