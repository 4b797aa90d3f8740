//! What the scheduler knows of a pod and of a node (`framework.PodInfo`, `framework.NodeInfo`).

use crate::resources::{Resources, pod_requests};
use api::core_v1::{Node, Pod, PodAffinityTerm, WeightedPodAffinityTerm};
use api::pod::{HostPort, host_ports};
use api::selector::LabelSelector;
use api::{Map, Rev, Str};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The label of a node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// A term of pod affinity, read once.
#[derive(Clone)]
pub struct Term {
    /// The topology key.
    pub key: Str,
    /// The weight of a preferred term, 0 for a required one.
    pub weight: i32,
    /// Which pods; none for no pods.
    pub selector: Option<LabelSelector>,
    /// In which namespaces.
    pub namespaces: Vec<Str>,
    /// Namespaces by label; the empty selector takes all.
    pub namespace_selector: Option<LabelSelector>,
}

impl Term {
    fn new(pod: &Pod, term: &PodAffinityTerm, weight: i32) -> Self {
        let namespaces = if term.namespaces.is_empty() && term.namespace_selector.is_none() {
            vec![pod.metadata.namespace.clone()]
        } else {
            term.namespaces.to_vec()
        };
        // matchLabelKeys have become part of the selector when the pod was created. A selector that can't be read was
        // refused then, too.
        let read = |selector: &api::Ptr<api::meta_v1::LabelSelector>| {
            selector.get().and_then(|s| LabelSelector::from_api(Some(s)).ok())
        };
        let (selector, namespace_selector) = (read(&term.label_selector), read(&term.namespace_selector));
        Self { key: term.topology_key.clone(), weight, selector, namespaces, namespace_selector }
    }
    /// Whether a pod is one of those that the term is about.
    pub fn matches(&self, pod: &Pod, namespace_labels: &dyn Fn(&str) -> api::Map<Str>) -> bool {
        let here = self.namespaces.contains(&pod.metadata.namespace)
            || self.namespace_selector.as_ref().is_some_and(|s| s.matches(&namespace_labels(&pod.metadata.namespace)));
        here && self.selector.as_ref().is_some_and(|s| s.matches(&pod.metadata.labels))
    }
}

/// The four lists of pod affinity terms.
#[derive(Clone, Default)]
pub struct Terms {
    /// Required affinity.
    pub affinity: Vec<Term>,
    /// Required anti-affinity.
    pub anti_affinity: Vec<Term>,
    /// Preferred affinity.
    pub preferred: Vec<Term>,
    /// Preferred anti-affinity.
    pub preferred_anti: Vec<Term>,
}

impl Terms {
    /// Reads a pod's.
    pub fn of(pod: &Pod) -> Self {
        let required = |list: &[PodAffinityTerm]| list.iter().map(|t| Term::new(pod, t, 0)).collect();
        let preferred = |list: &[WeightedPodAffinityTerm]| {
            list.iter().map(|t| Term::new(pod, &t.pod_affinity_term, t.weight)).collect()
        };
        let mut terms = Self::default();
        let Some(affinity) = pod.spec.affinity.get() else { return terms };
        if let Some(a) = affinity.pod_affinity.get() {
            terms.affinity = required(&a.required_during_scheduling_ignored_during_execution);
            terms.preferred = preferred(&a.preferred_during_scheduling_ignored_during_execution);
        }
        if let Some(a) = affinity.pod_anti_affinity.get() {
            terms.anti_affinity = required(&a.required_during_scheduling_ignored_during_execution);
            terms.preferred_anti = preferred(&a.preferred_during_scheduling_ignored_during_execution);
        }
        terms
    }
    fn any(&self) -> bool {
        !(self.affinity.is_empty()
            && self.anti_affinity.is_empty()
            && self.preferred.is_empty()
            && self.preferred_anti.is_empty())
    }
}

/// A pod with what is worked out of it once.
pub struct PodInfo {
    /// The pod.
    pub pod: Rev<Pod>,
    /// What it asks for.
    pub requests: Resources,
    /// The same with the defaults of scoring.
    pub scoring: Resources,
    /// Ports it takes on its node.
    pub ports: Vec<HostPort>,
    /// Its pod affinity.
    pub terms: Terms,
    /// Whether it has any.
    pub has_terms: bool,
    /// What selectors see of it.
    pub group: Rc<Group>,
}

impl PodInfo {
    /// Reads a pod.
    pub fn new(pod: Rev<Pod>) -> Rc<Self> {
        let terms = Terms::of(&pod);
        let has_terms = terms.any();
        Rc::new(Self {
            requests: pod_requests(&pod, false),
            scoring: pod_requests(&pod, true),
            ports: host_ports(&pod),
            group: Rc::new(Group::of(&pod)),
            has_terms,
            terms,
            pod,
        })
    }
    /// `namespace/name`
    pub fn key(&self) -> PodKey {
        PodKey(self.pod.metadata.namespace.clone(), self.pod.metadata.name.clone())
    }
    /// Its priority.
    pub fn priority(&self) -> i32 {
        self.pod.spec.priority.unwrap_or(0)
    }
}

/// Names a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PodKey(pub Str, pub Str);

impl std::fmt::Display for PodKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

/// What a selector sees of a pod: the replicas of a workload are one group, in each zone whose labels they have got.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Their namespace.
    pub namespace: Str,
    /// Their labels.
    pub labels: Map<Str>,
}

impl Group {
    fn of(pod: &Pod) -> Self {
        Self { namespace: pod.metadata.namespace.clone(), labels: pod.metadata.labels.clone() }
    }
}

/// A selector of pods in a namespace, asked once of each group.
pub struct GroupSelector {
    namespace: Str,
    selector: LabelSelector,
    /// What it said, by where the group is.
    answers: RefCell<BTreeMap<*const Group, bool>>,
}

impl GroupSelector {
    /// The pods of a namespace that a selector takes.
    pub fn new(namespace: Str, selector: LabelSelector) -> Self {
        Self { namespace, selector, answers: RefCell::default() }
    }
    /// Which labels it takes.
    pub fn labels(&self) -> &LabelSelector {
        &self.selector
    }
    /// How many pods of a node it takes, without those that are going.
    pub fn count(&self, node: &NodeInfo) -> i64 {
        let mut answers = self.answers.borrow_mut();
        let mut takes = |group: &Rc<Group>| {
            let ask = || group.namespace == self.namespace && self.selector.matches(&group.labels);
            *answers.entry(Rc::as_ptr(group)).or_insert_with(ask)
        };
        node.groups.iter().filter(|(group, _)| takes(group)).map(|(_, count)| count).sum()
    }
}

/// A node with the pods on it, assumed ones included.
#[derive(Clone)]
pub struct NodeInfo {
    /// The node; none while only pods are known of it.
    pub node: Rev<Node>,
    /// Its pods.
    pub pods: Vec<Rc<PodInfo>>,
    /// Its pods that are not going, by namespace and labels: the replicas of a workload are one group.
    pub groups: Vec<(Rc<Group>, i64)>,
    /// How many of its pods have pod affinity.
    pub with_terms: usize,
    /// The sum of their requests.
    pub requested: Resources,
    /// The sum of their requests with the defaults of scoring.
    pub scoring: Resources,
    /// What pods may use.
    pub allocatable: Resources,
    /// Its zone, which is looked at in every cycle.
    zone: Option<Str>,
    /// Images on it with their sizes in bytes.
    pub images: Rc<BTreeMap<Str, i64>>,
}

impl NodeInfo {
    /// A node without pods.
    pub fn new(node: Rev<Node>) -> Self {
        let mut info = Self {
            node: node.clone(),
            pods: Vec::new(),
            groups: Vec::new(),
            with_terms: 0,
            requested: Resources::default(),
            scoring: Resources::default(),
            allocatable: Resources::default(),
            zone: None,
            images: Rc::default(),
        };
        info.set_node(node);
        info
    }
    /// Takes over a new state of the node.
    pub fn set_node(&mut self, node: Rev<Node>) {
        self.allocatable = Resources::of(&node.status.allocatable);
        let names = node.status.images.iter().flat_map(|i| i.names.iter().map(|n| (n.clone(), i.size_bytes)));
        self.images = Rc::new(names.collect());
        self.zone = node.metadata.labels.get(ZONE).cloned();
        self.node = node;
    }
    /// Its name.
    pub fn name(&self) -> &Str {
        &self.node.metadata.name
    }
    /// The value of a label of the node.
    pub fn label(&self, key: &str) -> Option<&Str> {
        match key {
            ZONE => self.zone.as_ref(),
            _ => self.node.metadata.labels.get(key),
        }
    }
    /// Adds a pod.
    pub fn add(&mut self, pod: Rc<PodInfo>) {
        let group = pod.group.clone();
        self.add_to(group, pod);
    }
    /// Adds a pod to a group, equal to its own, that nodes share.
    pub fn add_to(&mut self, group: Rc<Group>, pod: Rc<PodInfo>) {
        self.requested.add(&pod.requests, 1);
        self.scoring.add(&pod.scoring, 1);
        self.with_terms += usize::from(pod.has_terms);
        if stays(&pod) {
            match self.group(&group) {
                Some((_, count)) => *count += 1,
                None => self.groups.push((group, 1)),
            }
        }
        self.pods.push(pod);
    }
    /// Removes a pod.
    pub fn remove(&mut self, key: &PodKey) -> Option<Rc<PodInfo>> {
        let at = self.pods.iter().position(|p| p.pod.metadata.name == key.1 && p.pod.metadata.namespace == key.0)?;
        let pod = self.pods.remove(at);
        self.requested.add(&pod.requests, -1);
        self.scoring.add(&pod.scoring, -1);
        self.with_terms -= usize::from(pod.has_terms);
        if stays(&pod)
            && let Some((_, count)) = self.group(&pod.group)
        {
            *count -= 1;
            self.groups.retain(|(_, count)| *count > 0);
        }
        Some(pod)
    }
    fn group(&mut self, like: &Rc<Group>) -> Option<&mut (Rc<Group>, i64)> {
        self.groups.iter_mut().find(|(group, _)| Rc::ptr_eq(group, like) || group == like)
    }
}

fn stays(pod: &PodInfo) -> bool {
    pod.pod.metadata.deletion_timestamp.is_zero()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, app: &str, going: bool) -> Rev<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = name.into();
        pod.metadata.namespace = "default".into();
        pod.metadata.labels.insert("app", app.into());
        if going {
            pod.metadata.deletion_timestamp = api::Time::from_unix(1);
        }
        Rev::new(1, pod)
    }

    #[test]
    fn a_selector_counts_on_each_node_what_it_takes() {
        let (mut one, mut two) =
            (NodeInfo::new(Rev::new(1, Node::default())), NodeInfo::new(Rev::new(1, Node::default())));
        let shared = PodInfo::new(pod("a", "web", false));
        one.add(shared.clone());
        two.add_to(shared.group.clone(), PodInfo::new(pod("b", "web", false)));
        two.add(PodInfo::new(pod("c", "web", false)));
        two.add(PodInfo::new(pod("d", "db", false)));
        two.add(PodInfo::new(pod("e", "web", true)));
        let web = LabelSelector::parse("app=web").expect("a selector");
        let counts = |namespace: &str| {
            let selector = GroupSelector::new(namespace.into(), web.clone());
            [selector.count(&one), selector.count(&two), selector.count(&one)]
        };
        assert_eq!(counts("default"), [1, 2, 1]);
        assert_eq!(counts("kube-system"), [0, 0, 0]);
    }

    #[test]
    fn pods_that_stay_are_counted_by_their_labels() {
        let mut node = NodeInfo::new(Rev::new(1, Node::default()));
        for (name, app, going) in [("a", "web", false), ("b", "web", false), ("c", "db", false), ("d", "web", true)] {
            node.add(PodInfo::new(pod(name, app, going)));
        }
        let groups = |node: &NodeInfo| -> Vec<(Option<Str>, i64)> {
            node.groups.iter().map(|(g, count)| (g.labels.get("app").cloned(), *count)).collect()
        };
        assert_eq!(groups(&node), [(Some("web".into()), 2), (Some("db".into()), 1)]);
        for name in ["a", "d", "c"] {
            assert!(node.remove(&PodKey("default".into(), name.into())).is_some());
        }
        assert_eq!(groups(&node), [(Some("web".into()), 1)]);
    }
}
