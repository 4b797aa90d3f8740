//! What a world is made from.

use sim::Ip;

/// How many machines, where, how fast, and when it begins. Two worlds of one blueprint and the same inputs are the
/// same to the byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Blueprint {
    /// The seed of all randomness.
    pub seed: u64,
    /// The wall clock at the beginning, in seconds since 1970.
    pub epoch: i64,
    /// Machines with an etcd member and an API server: 1, 3 or 5.
    pub control_planes: u32,
    /// Replicas of kube-controller-manager and of kube-scheduler; at least the control planes.
    pub replicas: u32,
    /// Nodes.
    pub nodes: u32,
    /// Zones; nodes are dealt out to them in turn. 0: no zone labels.
    pub zones: u32,
    /// Cores of a node.
    pub node_cpus: u32,
    /// Memory of a node in bytes.
    pub node_memory: u64,
    /// Pods of a node at most.
    pub node_pods: u32,
    /// Multiplies the rate limits of all clients, as operators of big clusters raise them.
    pub client_rate: u32,
    /// Draws the order of equals by the seed, to explore other interleavings.
    pub shuffled: bool,
}

impl Default for Blueprint {
    /// The cluster of the recorded transcripts.
    fn default() -> Self {
        Self {
            seed: 1,
            // 2026-11-29T16:00:00Z
            epoch: 1_795_968_000,
            control_planes: 1,
            replicas: 2,
            nodes: 3,
            zones: 3,
            node_cpus: 4,
            node_memory: 8 << 30,
            node_pods: 110,
            client_rate: 1,
            shuffled: false,
        }
    }
}

impl Blueprint {
    /// The address of control plane machine `n` (from 1).
    pub fn control_plane_ip(n: u32) -> Ip {
        Ip(Ip::new(172, 18, 0, 0).0 + n)
    }
    /// The address of node `n` (from 1): 172.18.0.11 and on.
    pub fn node_ip(n: u32) -> Ip {
        Ip(Ip::new(172, 18, 0, 10).0 + n)
    }
    /// The address of the reader's machine, behind those of all nodes.
    pub fn workstation_ip() -> Ip {
        Ip::new(172, 18, 255, 254)
    }
    /// The pods' addresses of node `n` (from 1): 10.244.0.0/24 and on.
    pub fn pod_range(n: u32) -> String {
        let base = Ip(Ip::new(10, 244, 0, 0).0 + (n.saturating_sub(1) << 8));
        format!("{base}/24")
    }
    /// `za`, `zb`, ... of node `n` (from 1).
    pub fn zone(&self, n: u32) -> Option<String> {
        let zone = (n.checked_sub(1)?).checked_rem(self.zones)?;
        let letter = char::from_u32(u32::from(b'a') + zone % 26)?;
        Some(format!("z{letter}"))
    }
    /// How many control plane machines there are.
    pub fn machines(&self) -> u32 {
        self.control_planes.max(self.replicas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Of the largest cluster that the page builds, and of twenty times that.
    #[test]
    fn no_two_machines_share_an_address() {
        let mut all: Vec<Ip> = (1..=5).map(Blueprint::control_plane_ip).collect();
        all.extend((1..=20_000).map(Blueprint::node_ip));
        all.push(Blueprint::workstation_ip());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
