//! Zones and how many of their nodes may be given up at once (`handleDisruption`).

use std::collections::BTreeMap;

use api::core_v1::{Node, NodeCondition};
use api::{Rev, Str};
use client::klog;

use super::queue::TimedQueue;
use super::{LOGGER, NodeLifecycleController};

/// Nodes tainted a second and zone (`--node-eviction-rate`).
const EVICTION_QPS: f64 = 0.1;
/// The same in a large zone half of which is down (`--secondary-node-eviction-rate`).
const SECONDARY_QPS: f64 = 0.01;
/// Nodes beyond which a zone is large.
const LARGE_CLUSTER: usize = 50;
/// The share of a zone's nodes that makes it half down.
const UNHEALTHY: f64 = 0.55;

/// How a zone fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneState {
    Initial,
    Normal,
    FullDisruption,
    PartialDisruption,
}

impl ZoneState {
    fn name(self) -> &'static str {
        match self {
            ZoneState::Initial => "Initial",
            ZoneState::Normal => "Normal",
            ZoneState::FullDisruption => "FullDisruption",
            ZoneState::PartialDisruption => "PartialDisruption",
        }
    }

    fn qps(self, nodes: usize) -> f64 {
        match self {
            ZoneState::PartialDisruption if nodes > LARGE_CLUSTER => SECONDARY_QPS,
            ZoneState::PartialDisruption => 0.0,
            _ => EVICTION_QPS,
        }
    }
}

/// Region and zone of a node as one key (`GetZoneKey`); empty without labels.
pub(super) fn zone_of(node: &Node) -> Str {
    let label = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|k| node.metadata.labels.get(k)).filter(|v| !v.is_empty());
        found.cloned().unwrap_or_default()
    };
    let region = label(["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"]);
    let zone = label(["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"]);
    if region.is_empty() && zone.is_empty() {
        return Str::default();
    }
    format!("{region}:\0:{zone}").into()
}

fn state_of(conditions: &[Option<NodeCondition>]) -> ZoneState {
    let ready = conditions.iter().flatten().filter(|c| c.status == "True").count();
    let not_ready = conditions.len().saturating_sub(ready);
    if ready == 0 && not_ready > 0 {
        ZoneState::FullDisruption
    } else if not_ready > 2 && not_ready as f64 / conditions.len() as f64 >= UNHEALTHY {
        ZoneState::PartialDisruption
    } else {
        ZoneState::Normal
    }
}

impl NodeLifecycleController {
    /// Begins to watch over the node's zone, if that is new.
    pub(super) fn add_zone(&self, node: &Node) {
        let zone = zone_of(node);
        if self.zone_states.borrow().contains_key(&zone) {
            return;
        }
        self.zone_states.borrow_mut().insert(zone.clone(), ZoneState::Initial);
        self.tainters.borrow_mut().insert(zone.clone(), TimedQueue::new(EVICTION_QPS));
        klog::info("Initializing eviction metric for zone")
            .str("logger", LOGGER)
            .str("zone", &zone)
            .log(&self.ctx, "node_lifecycle_controller.go:1244");
    }

    fn set_limit(&self, zone: &Str, qps: f64) {
        if let Some(queue) = self.tainters.borrow_mut().get_mut(zone) {
            queue.swap_limiter(self.ctx.now(), qps);
        }
        self.to_taint.notify();
    }

    /// Adjusts the zones' limits; with every zone down it is the controller that is cut off, and nothing is tainted.
    pub(super) async fn handle_disruption(
        &self,
        by_zone: &BTreeMap<Str, Vec<Option<NodeCondition>>>,
        nodes: &[Rev<Node>],
    ) {
        let new: BTreeMap<&Str, ZoneState> = by_zone.iter().map(|(zone, c)| (zone, state_of(c))).collect();
        let all_down = new.values().all(|s| *s == ZoneState::FullDisruption);
        self.zone_states.borrow_mut().retain(|zone, _| by_zone.contains_key(zone));
        let old = self.zone_states.borrow().clone();
        let all_were_down = old.values().all(|s| *s == ZoneState::FullDisruption);
        if all_down && all_were_down {
            return;
        }
        if all_down {
            klog::info("Controller detected that all Nodes are not-Ready. Entering master disruption mode")
                .str("logger", LOGGER)
                .log(&self.ctx, "node_lifecycle_controller.go:1090");
            for node in nodes {
                if self.mark_reachable(node).await.is_err() {
                    klog::error("Failed to remove taints from Node")
                        .str("logger", LOGGER)
                        .obj("node", "", &node.metadata.name)
                        .log(&self.ctx, "node_lifecycle_controller.go:1094");
                }
            }
            for zone in old.keys() {
                self.set_limit(zone, 0.0);
                self.zone_states.borrow_mut().insert(zone.clone(), ZoneState::FullDisruption);
            }
            return;
        }
        if all_were_down {
            klog::info("Controller detected that some Nodes are Ready. Exiting master disruption mode")
                .str("logger", LOGGER)
                .log(&self.ctx, "node_lifecycle_controller.go:1109");
            // Silence up to now proves nothing: everybody gets a full grace period again.
            let now = self.ctx.now();
            self.health.borrow_mut().values_mut().for_each(|h| h.probed = now);
        }
        for (zone, state) in &new {
            let before = old.get(*zone).copied().unwrap_or(ZoneState::Initial);
            if !all_were_down {
                if before == *state {
                    continue;
                }
                klog::info("Controller detected that zone is now in new state")
                    .str("logger", LOGGER)
                    .str("zone", &zone.replace('\0', "\\x00"))
                    .str("newState", state.name())
                    .log(&self.ctx, "node_lifecycle_controller.go:1133");
            }
            self.set_limit(zone, state.qps(by_zone.get(*zone).map_or(0, Vec::len)));
            self.zone_states.borrow_mut().insert((*zone).clone(), *state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(states: &[&str]) -> Vec<Option<NodeCondition>> {
        let one = |s: &&str| Some(NodeCondition { status: (*s).into(), ..NodeCondition::default() });
        states.iter().map(one).collect()
    }

    #[test]
    fn states_of_a_zone() {
        assert_eq!(state_of(&conditions(&["Unknown"])), ZoneState::FullDisruption);
        assert_eq!(state_of(&conditions(&["True", "Unknown", "False"])), ZoneState::Normal);
        let half = conditions(&["True", "True", "Unknown", "Unknown", "False"]);
        assert_eq!(state_of(&half), ZoneState::PartialDisruption);
        assert_eq!(ZoneState::PartialDisruption.qps(50), 0.0);
        assert_eq!(ZoneState::PartialDisruption.qps(51), SECONDARY_QPS);
    }

    /// The figures of the documentation: 0.1 nodes a second and zone, 0.01 where at least 55 % of more than 50 nodes
    /// are down, none where it is a small zone; full disruption counts as normal until all zones are down.
    #[test]
    fn a_zone_is_half_down_at_55_percent_and_more_than_two() {
        let zone = |up: usize, down: usize| {
            let states = [vec!["True"; up], vec!["Unknown"; down]].concat();
            let state = state_of(&conditions(&states));
            (state.name(), state.qps(up + down))
        };
        for (up, down, wanted) in [
            (1, 0, ("Normal", 0.1)),
            (1, 2, ("Normal", 0.1)),
            (0, 2, ("FullDisruption", 0.1)),
            (0, 100, ("FullDisruption", 0.1)),
            (2, 3, ("PartialDisruption", 0.0)),
            (10, 10, ("Normal", 0.1)),
            (9, 11, ("PartialDisruption", 0.0)),
            (22, 28, ("PartialDisruption", 0.0)),
            (22, 29, ("PartialDisruption", 0.01)),
            (46, 54, ("Normal", 0.1)),
            (45, 55, ("PartialDisruption", 0.01)),
        ] {
            assert_eq!(zone(up, down), wanted, "{up} up, {down} down");
        }
    }

    #[test]
    fn a_zone_is_region_and_zone() {
        let node = |labels: &[(&str, &str)]| {
            let mut node = Node::default();
            labels.iter().for_each(|(k, v)| drop(node.metadata.labels.insert(*k, Str::from(*v))));
            zone_of(&node).to_string()
        };
        assert_eq!(node(&[]), "");
        assert_eq!(node(&[("topology.kubernetes.io/zone", "a")]), ":\0:a");
        let both = [("topology.kubernetes.io/region", "r"), ("topology.kubernetes.io/zone", "a")];
        assert_eq!(node(&both), "r:\0:a");
        let old = [("failure-domain.beta.kubernetes.io/zone", "b"), ("topology.kubernetes.io/zone", "a")];
        assert_eq!(node(&old), ":\0:b");
    }
}
