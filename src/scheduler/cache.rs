//! The scheduler's picture of the cluster: nodes, their pods, and pods it has placed but not yet seen placed
//! (`pkg/scheduler/backend/cache`).

use crate::devices::Devices;
use crate::node_info::{Group, NodeInfo, PodInfo, PodKey, ZONE};
use crate::storage::Storage;
use api::core_v1::{Node, Pod};
use api::{Map, Rev, Str};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// All nodes in the order in which cycles look at them.
#[derive(Default)]
pub struct Snapshot {
    /// The nodes, zone by zone in turn.
    pub nodes: Rc<Vec<Rc<NodeInfo>>>,
    /// On how many nodes each image is.
    pub images: Rc<BTreeMap<Str, usize>>,
    /// The labels of namespaces, for namespace selectors.
    pub namespaces: Rc<BTreeMap<Str, Map<Str>>>,
    /// Claims and volumes.
    pub storage: Storage,
    /// Claims of devices, and devices.
    pub devices: Devices,
}

impl Snapshot {
    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&Rc<NodeInfo>> {
        if name.is_empty() {
            return None;
        }
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

/// One allocation for each group of pods, so that selectors are asked of it once.
#[derive(Default)]
struct Groups {
    known: BTreeSet<Rc<Group>>,
    /// When those without pods are looked for again.
    next_sweep: usize,
}

impl Groups {
    fn shared(&mut self, like: &Rc<Group>) -> Rc<Group> {
        if let Some(known) = self.known.get(like) {
            return known.clone();
        }
        if self.known.len() >= self.next_sweep {
            self.known.retain(|group| Rc::strong_count(group) > 1);
            self.next_sweep = (2 * self.known.len()).max(64);
        }
        self.known.insert(like.clone());
        like.clone()
    }
}

/// The cache. Bounded by what the cluster holds.
#[derive(Default)]
pub struct Cache {
    nodes: BTreeMap<Str, Rc<NodeInfo>>,
    /// Pods on nodes that are not known (yet).
    homeless: BTreeMap<Str, Vec<Rc<PodInfo>>>,
    pods: BTreeMap<PodKey, PodState>,
    groups: Groups,
    namespaces: Rc<BTreeMap<Str, Map<Str>>>,
    images: Rc<BTreeMap<Str, usize>>,
    /// The nodes as the last snapshot has them, and where each is in it.
    ordered: Rc<Vec<Rc<NodeInfo>>>,
    places: BTreeMap<Str, usize>,
    /// Nodes that have changed since.
    changed: BTreeSet<Str>,
    /// Whether their order has.
    stale: bool,
}

impl Cache {
    /// A node is new or changed.
    pub fn set_node(&mut self, node: Rev<Node>) {
        let name = node.metadata.name.clone();
        if let Some(info) = self.nodes.get_mut(&name) {
            self.stale |= zone(&info.node) != zone(&node);
            let before = info.images.clone();
            Rc::make_mut(info).set_node(node);
            let now = info.images.clone();
            self.changed.insert(name);
            self.count_images(&before, &now);
            return;
        }
        let mut info = NodeInfo::new(node);
        for pod in self.homeless.remove(&name).unwrap_or_default() {
            info.add_to(self.groups.shared(&pod.group), pod);
        }
        let images = info.images.clone();
        self.nodes.insert(name, Rc::new(info));
        self.count_images(&Rc::default(), &images);
        self.stale = true;
    }
    /// A node had the images `before` and has those of `now`.
    fn count_images(&mut self, before: &Rc<BTreeMap<Str, i64>>, now: &Rc<BTreeMap<Str, i64>>) {
        let gone = before.keys().filter(|image| !now.contains_key(*image));
        let mut new = now.keys().filter(|image| !before.contains_key(*image)).peekable();
        let mut gone = gone.peekable();
        if gone.peek().is_none() && new.peek().is_none() {
            return;
        }
        let images = Rc::make_mut(&mut self.images);
        for image in gone {
            match images.get_mut(image) {
                Some(nodes) if *nodes > 1 => *nodes -= 1,
                _ => {
                    images.remove(image);
                }
            }
        }
        for image in new {
            *images.entry(image.clone()).or_insert(0) += 1;
        }
    }
    /// A node is gone; its pods go when they are told to.
    pub fn remove_node(&mut self, name: &str) {
        if let Some(info) = self.nodes.remove(name) {
            self.count_images(&info.images, &Rc::default());
            if !info.pods.is_empty() {
                self.homeless.insert(name.into(), info.pods.clone());
            }
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
            self.changed.insert(state.node);
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
            Some(info) => {
                Rc::make_mut(info).add_to(self.groups.shared(&pod.group), pod);
                self.changed.insert(node);
            }
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
    pub fn snapshot(&mut self, storage: Storage, devices: Devices) -> Snapshot {
        if self.stale {
            let order = interleave_zones(self.nodes.values());
            self.ordered = Rc::new(order.iter().filter_map(|name| self.nodes.get(name)).cloned().collect());
            self.places = order.into_iter().enumerate().map(|(at, name)| (name, at)).collect();
            self.changed.clear();
            self.stale = false;
        }
        if !self.changed.is_empty() {
            let ordered = Rc::make_mut(&mut self.ordered);
            for name in std::mem::take(&mut self.changed) {
                let place = self.places.get(&name).and_then(|at| ordered.get_mut(*at));
                if let Some((place, now)) = place.zip(self.nodes.get(&name)) {
                    *place = now.clone();
                }
            }
        }
        Snapshot {
            nodes: self.ordered.clone(),
            images: self.images.clone(),
            namespaces: self.namespaces.clone(),
            storage,
            devices,
        }
    }
}

fn zone(node: &Node) -> (Option<&Str>, Option<&Str>) {
    let label = |key: &str| node.metadata.labels.get(key);
    (label("topology.kubernetes.io/region"), label(ZONE))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, images: &[&str]) -> Rev<Node> {
        let mut node = Node::default();
        node.metadata.name = name.into();
        let image = |name: &&str| api::core_v1::ContainerImage { names: vec![Str::from(*name)].into(), size_bytes: 1 };
        node.status.make().images = images.iter().map(image).collect();
        Rev::new(1, node)
    }

    fn pod(name: &str, node: &str) -> Rev<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = name.into();
        pod.spec.make().node_name = node.into();
        Rev::new(1, pod)
    }

    #[test]
    fn a_snapshot_has_what_changed_and_older_ones_stay() {
        let mut cache = Cache::default();
        cache.set_pod(pod("early", "b"));
        ["a", "b", "c"].iter().for_each(|name| cache.set_node(node(name, &["nginx:1.27"])));
        let pods = |s: &Snapshot| s.nodes.iter().map(|n| (n.name().to_string(), n.pods.len())).collect::<Vec<_>>();
        let at = |a, b, c| [("a".to_string(), a), ("b".to_string(), b), ("c".to_string(), c)];
        let before = cache.snapshot(Storage::default(), Devices::default());
        assert_eq!(pods(&before), at(0, 1, 0));
        cache.set_pod(pod("x", "c"));
        cache.set_pod(pod("early", "a"));
        assert_eq!(pods(&cache.snapshot(Storage::default(), Devices::default())), at(1, 0, 1));
        assert_eq!(pods(&before), at(0, 1, 0));
        cache.set_node(node("b", &["redis:7", "nginx:1.27"]));
        cache.remove_node("a");
        let after = cache.snapshot(Storage::default(), Devices::default());
        assert_eq!(pods(&after), at(1, 0, 1)[1..]);
        let images: Vec<_> = after.images.iter().map(|(name, n)| (&**name, *n)).collect();
        assert_eq!(images, [("nginx:1.27", 2), ("redis:7", 1)]);
        assert_eq!(before.images.get("nginx:1.27"), Some(&3));
    }
}
