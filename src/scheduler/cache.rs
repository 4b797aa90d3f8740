//! The scheduler's picture of the cluster: nodes, their pods, and pods it has placed but not yet seen placed
//! (`pkg/scheduler/backend/cache`).

use crate::node_info::{NodeInfo, PodInfo, PodKey};
use crate::storage::Storage;
use api::core_v1::{Node, Pod};
use api::{Map, Rev, Str};
use std::collections::BTreeMap;
use std::rc::Rc;

/// All nodes in the order in which cycles look at them.
#[derive(Default)]
pub struct Snapshot {
    /// The nodes, zone by zone in turn.
    pub nodes: Vec<Rc<NodeInfo>>,
    /// The labels of namespaces, for namespace selectors.
    pub namespaces: Rc<BTreeMap<Str, Map<Str>>>,
    /// Claims and volumes.
    pub storage: Storage,
}

impl Snapshot {
    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&Rc<NodeInfo>> {
        self.nodes.iter().find(|n| **n.name() == *name)
    }
    /// The labels of a namespace.
    pub fn namespace_labels(&self, name: &str) -> Map<Str> {
        self.namespaces.get(name).cloned().unwrap_or_default()
    }
}

struct PodState {
    node: Str,
    assumed: bool,
}

/// The cache. Bounded by what the cluster holds.
#[derive(Default)]
pub struct Cache {
    nodes: BTreeMap<Str, Rc<NodeInfo>>,
    /// Pods on nodes that are not known (yet).
    homeless: BTreeMap<Str, Vec<Rc<PodInfo>>>,
    pods: BTreeMap<PodKey, PodState>,
    namespaces: Rc<BTreeMap<Str, Map<Str>>>,
    order: Vec<Str>,
    stale: bool,
}

impl Cache {
    /// A node is new or changed.
    pub fn set_node(&mut self, node: Rev<Node>) {
        let name = node.metadata.name.clone();
        if let Some(info) = self.nodes.get_mut(&name) {
            self.stale |= zone(&info.node) != zone(&node);
            Rc::make_mut(info).set_node(node);
            return;
        }
        let mut info = NodeInfo::new(node);
        for pod in self.homeless.remove(&name).unwrap_or_default() {
            info.add(pod);
        }
        self.nodes.insert(name, Rc::new(info));
        self.stale = true;
    }
    /// A node is gone; its pods go when they are told to.
    pub fn remove_node(&mut self, name: &str) {
        if let Some(info) = self.nodes.remove(name)
            && !info.pods.is_empty()
        {
            self.homeless.insert(name.into(), info.pods.clone());
        }
        self.stale = true;
    }
    /// A namespace's labels.
    pub fn set_namespace(&mut self, name: Str, labels: Option<Map<Str>>) {
        let all = Rc::make_mut(&mut self.namespaces);
        match labels {
            Some(labels) => all.insert(name, labels),
            None => all.remove(&name),
        };
    }
    /// A pod with a node is new or changed; the one that was assumed is confirmed.
    pub fn set_pod(&mut self, pod: Rev<Pod>) {
        let key = PodKey(pod.metadata.namespace.clone(), pod.metadata.name.clone());
        self.remove_pod(&key);
        let node = pod.spec.node_name.clone();
        self.place(PodInfo::new(pod), node.clone());
        self.pods.insert(key, PodState { node, assumed: false });
    }
    /// A pod is gone.
    pub fn remove_pod(&mut self, key: &PodKey) {
        let Some(state) = self.pods.remove(key) else { return };
        if let Some(info) = self.nodes.get_mut(&state.node) {
            Rc::make_mut(info).remove(key);
        } else if let Some(list) = self.homeless.get_mut(&state.node) {
            list.retain(|p| p.key() != *key);
            if list.is_empty() {
                self.homeless.remove(&state.node);
            }
        }
    }
    /// The scheduler chose a node for a pod; the binding is on its way.
    pub fn assume(&mut self, pod: &Rc<PodInfo>, node: &Str) {
        let key = pod.key();
        self.remove_pod(&key);
        self.place(pod.clone(), node.clone());
        self.pods.insert(key, PodState { node: node.clone(), assumed: true });
    }
    /// The binding failed.
    pub fn forget(&mut self, key: &PodKey) {
        if self.is_assumed(key) {
            self.remove_pod(key);
        }
    }
    /// Whether a pod was assumed and has not been seen on its node.
    pub fn is_assumed(&self, key: &PodKey) -> bool {
        self.pods.get(key).is_some_and(|s| s.assumed)
    }
    /// The node on which a pod was assumed.
    pub fn assumed_node(&self, key: &PodKey) -> Option<&Str> {
        self.pods.get(key).filter(|s| s.assumed).map(|s| &s.node)
    }
    fn place(&mut self, pod: Rc<PodInfo>, node: Str) {
        match self.nodes.get_mut(&node) {
            Some(info) => Rc::make_mut(info).add(pod),
            None => self.homeless.entry(node).or_default().push(pod),
        }
    }
    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&Rc<NodeInfo>> {
        self.nodes.get(name)
    }
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// The nodes as they are now; shares what does not change.
    pub fn snapshot(&mut self, storage: Storage) -> Snapshot {
        if self.stale {
            self.order = interleave_zones(self.nodes.values());
            self.stale = false;
        }
        let nodes = self.order.iter().filter_map(|name| self.nodes.get(name)).cloned().collect();
        Snapshot { nodes, namespaces: self.namespaces.clone(), storage }
    }
}

fn zone(node: &Node) -> (Option<&Str>, Option<&Str>) {
    let label = |key: &str| node.metadata.labels.get(key);
    (label("topology.kubernetes.io/region"), label("topology.kubernetes.io/zone"))
}

/// One node of each zone in turn (`node_tree.go`).
fn interleave_zones<'a>(nodes: impl Iterator<Item = &'a Rc<NodeInfo>>) -> Vec<Str> {
    let mut zones: Vec<((Option<Str>, Option<Str>), Vec<Str>)> = Vec::new();
    for info in nodes {
        let (region, zone) = zone(&info.node);
        let key = (region.cloned(), zone.cloned());
        match zones.iter_mut().find(|(k, _)| *k == key) {
            Some((_, list)) => list.push(info.name().clone()),
            None => zones.push((key, vec![info.name().clone()])),
        }
    }
    let longest = zones.iter().map(|(_, list)| list.len()).max().unwrap_or(0);
    (0..longest).flat_map(|i| zones.iter().filter_map(move |(_, list)| list.get(i).cloned())).collect()
}
