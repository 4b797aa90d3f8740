//! NodeResourcesBalancedAllocation: prefers nodes on which CPU and memory would be used alike.

use crate::framework::{Cycle, MAX_NODE_SCORE, Plugin};
use crate::node_info::NodeInfo;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 1,
    // A pod that asks for neither is not scored.
    pre_score: Some(|cycle, _| cycle.pod.requests.cpu != 0 || cycle.pod.requests.memory != 0),
    score: Some(score),
    ..Plugin::named("NodeResourcesBalancedAllocation")
};

/// 100 where both shares are equal, 50 where they are as far apart as can be.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "shares of whole amounts")]
fn balance(used: [(i64, i64); 2]) -> i64 {
    let shares: Vec<f64> =
        used.iter().filter(|(_, has)| *has != 0).map(|(used, has)| (*used as f64 / *has as f64).min(1.0)).collect();
    let deviation = match shares.as_slice() {
        [a, b] => ((a - b) / 2.0).abs(),
        _ => 0.0,
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let (asked, used, has) = (&cycle.pod.requests, &node.requested, &node.allocatable);
    let with =
        balance([(used.cpu.wrapping_add(asked.cpu), has.cpu), (used.memory.wrapping_add(asked.memory), has.memory)]);
    let without = balance([(used.cpu, has.cpu), (used.memory, has.memory)]);
    MAX_NODE_SCORE / 2 + (MAX_NODE_SCORE / 2 + with - without) / 2
}
