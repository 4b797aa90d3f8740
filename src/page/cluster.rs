//! The cluster as the page knows it: frames folded into one picture.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use view::{
    ControlPlane, FaultView, Frame, LeaseView, NodeId, NodeView, PodId, PodState, PodView, ProcessState, ProcessView,
    Readiness, WorkloadView,
};

/// What a control plane can lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// A majority of etcd's members.
    Etcd,
    /// Any API server.
    ApiServer,
    /// A controller manager with the lease.
    Managers,
    /// A scheduler with the lease.
    Scheduler,
}

/// More nodes than this and the map turns dense.
pub const DENSE_ABOVE: usize = 12;

/// The picture. Cloning it clones three maps of counted references.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cluster {
    /// Everything above the nodes.
    pub control_plane: Rc<ControlPlane>,
    /// The nodes.
    pub nodes: BTreeMap<NodeId, Rc<NodeView>>,
    /// The pods.
    pub pods: BTreeMap<PodId, Rc<PodView>>,
    /// Pods by the node they are on, or assumed on.
    by_node: BTreeMap<NodeId, BTreeSet<PodId>>,
    /// Workloads by resource, namespace and name.
    workloads: BTreeMap<(String, String, String), WorkloadView>,
    /// Faults that stand.
    pub faults: Rc<Vec<FaultView>>,
    /// The newest entry of etcd's log and when it was first seen, oldest first, at most 64.
    newest: VecDeque<(u64, u64)>,
}

/// How long an entry of the log counts as new on the map, in virtual time.
const FRESH: u64 = 400_000_000;

impl Cluster {
    /// Takes a frame in. Gives back the workloads whose counts changed.
    pub fn take(&mut self, frame: &mut Frame) -> Vec<WorkloadView> {
        if frame.full {
            *self = Cluster::default();
        }
        if let Some(plane) = frame.control_plane.take() {
            let last = plane.etcd.iter().map(|m| m.last_index).max().unwrap_or(0);
            if self.newest.back().is_none_or(|(_, index)| *index < last) {
                self.newest.push_back((frame.clock.now, last));
                if self.newest.len() > 64 {
                    self.newest.pop_front();
                }
            }
            self.control_plane = Rc::new(plane);
        }
        for id in &frame.removed_nodes {
            self.nodes.remove(id);
        }
        for node in frame.nodes.drain(..) {
            self.nodes.insert(node.id, Rc::new(node));
        }
        for id in &frame.removed_pods {
            self.remove_pod(*id);
        }
        for pod in frame.pods.drain(..) {
            self.remove_pod(pod.id);
            if let Some(node) = place(&pod) {
                self.by_node.entry(node).or_default().insert(pod.id);
            }
            self.pods.insert(pod.id, Rc::new(pod));
        }
        if let Some(faults) = frame.faults.take() {
            self.faults = Rc::new(faults);
        }
        let mut changed = Vec::new();
        for workload in frame.workloads.drain(..) {
            let key = (workload.resource.clone(), workload.namespace.clone(), workload.name.clone());
            let before = self.workloads.get(&key);
            if before.is_none_or(|b| (b.ready, b.desired) != (workload.ready, workload.desired)) || workload.gone {
                changed.push(workload.clone());
            }
            if workload.gone {
                self.workloads.remove(&key);
            } else {
                self.workloads.insert(key, workload);
            }
        }
        changed
    }

    fn remove_pod(&mut self, id: PodId) {
        if let Some(old) = self.pods.remove(&id)
            && let Some(node) = place(&old)
            && let Some(set) = self.by_node.get_mut(&node)
        {
            set.remove(&id);
        }
    }

    /// The pods of a node in the order in which they appeared.
    pub fn pods_on(&self, node: NodeId) -> Vec<Rc<PodView>> {
        let ids = self.by_node.get(&node).into_iter().flatten();
        ids.filter_map(|id| self.pods.get(id).cloned()).collect()
    }

    /// Pods without a node, and not assumed on one.
    pub fn unplaced(&self) -> Vec<Rc<PodView>> {
        self.pods.values().filter(|p| place(p).is_none()).cloned().collect()
    }

    /// Workloads, in order of their names.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadView> {
        self.workloads.values()
    }

    /// Entries of etcd's log after this one are new.
    pub fn fresh_index(&self, now: u64) -> u64 {
        let old = self.newest.iter().rev().find(|(at, _)| at.saturating_add(FRESH) < now);
        old.or(self.newest.front()).map_or(0, |(_, index)| *index)
    }

    /// The zones' names, sorted.
    pub fn zones(&self) -> Vec<String> {
        let zones: BTreeSet<&str> = self.nodes.values().map(|n| n.zone.as_str()).collect();
        zones.into_iter().map(str::to_string).collect()
    }

    /// Pods that are ready. One that is completed is not any more.
    pub fn ready_pods(&self) -> usize {
        self.pods.values().filter(|p| p.state == PodState::Ready).count()
    }

    /// Pods that no node took.
    pub fn pending_pods(&self) -> usize {
        self.pods.values().filter(|p| p.state == PodState::Pending && p.assumed.is_none()).count()
    }

    /// What is missing so that nothing happens by itself, the most important first.
    pub fn lack(&self, now: u64) -> Option<Lack> {
        let plane = &*self.control_plane;
        let up = |p: &ProcessView| p.state == ProcessState::Running;
        let led = |all: &[ProcessView], lease: &LeaseView| {
            lease.expires_at > now && all.iter().any(|p| p.host == lease.holder && up(p))
        };
        let members = plane.etcd.iter().filter(|m| up(&m.process)).count();
        let lacks = [
            (Lack::Etcd, members <= plane.etcd.len() / 2),
            (Lack::ApiServer, !plane.api_servers.iter().any(|a| up(&a.process))),
            (Lack::Managers, !led(&plane.controller_managers, &plane.controller_manager_lease)),
            (Lack::Scheduler, !led(&plane.schedulers, &plane.scheduler_lease)),
        ];
        lacks.into_iter().find(|(_, lacking)| *lacking && !plane.etcd.is_empty()).map(|(what, _)| what)
    }

    /// Whether the map is dense.
    pub fn dense(&self) -> bool {
        self.nodes.len() > DENSE_ABOVE
    }
}

/// Where a pod is drawn.
pub fn place(pod: &PodView) -> Option<NodeId> {
    pod.node.or(pod.assumed)
}

/// How a node is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeHealth {
    /// Ready.
    Ready,
    /// Not ready, or unknown.
    NotReady,
    /// Ready as far as the API knows, but it has been silent for longer than heartbeats take.
    Silent,
}

/// Nanoseconds without a heartbeat after which a node is drawn as silent: two renewals of its lease.
pub const SILENT_AFTER: u64 = 22_000_000_000;

/// Judges a node.
pub fn health(node: &NodeView, now: u64) -> NodeHealth {
    match node.ready {
        Readiness::True if now.saturating_sub(node.heartbeat_at) > SILENT_AFTER => NodeHealth::Silent,
        Readiness::True => NodeHealth::Ready,
        _ => NodeHealth::NotReady,
    }
}

/// A part of a node's capacity bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its class: a state's name, `assumed`, or nothing for pods of the household.
    pub class: &'static str,
    /// Share of the whole in percent.
    pub percent: f64,
}

/// The bars of a node: requests of its pods by state, household first.
pub fn capacity(node: &NodeView, pods: &[Rc<PodView>], amount: impl Fn(&PodView) -> u32, whole: u32) -> Vec<Segment> {
    let mut segments = Vec::new();
    for household in [true, false] {
        for pod in pods.iter().filter(|p| is_household(p) == household) {
            let share = amount(pod);
            if share == 0 || matches!(pod.state, PodState::Succeeded) || whole == 0 {
                continue;
            }
            let class = match (household, pod.state) {
                _ if pod.node.is_none() && pod.assumed == Some(node.id) => "assumed",
                (true, _) => "",
                (_, PodState::Creating) => "creating",
                (_, PodState::Running) => "running",
                (_, PodState::Ready) => "ready",
                (_, PodState::Failed) => "failed",
                (_, PodState::CrashLoop) => "crashloop",
                (_, PodState::Unknown) => "unknown",
                _ => "",
            };
            segments.push(Segment { class, percent: f64::from(share) * 100.0 / f64::from(whole) });
        }
    }
    segments
}

/// Requests of pods that count against the node.
pub fn requested(pods: &[Rc<PodView>], amount: impl Fn(&PodView) -> u32) -> u32 {
    let live = pods.iter().filter(|p| !matches!(p.state, PodState::Succeeded));
    live.fold(0u32, |sum, pod| sum.saturating_add(amount(pod)))
}

/// Pods that the cluster itself needs: drawn small, under their namespace's line.
pub fn is_household(pod: &PodView) -> bool {
    pod.namespace.starts_with("kube-") || pod.namespace == "local-path-storage"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(id: PodId, node: Option<NodeId>, state: PodState) -> PodView {
        PodView { id, node, state, name: format!("p{id}"), cpu_milli: 100, ..PodView::default() }
    }

    #[test]
    fn frames_fold() {
        let mut cluster = Cluster::default();
        cluster.take(&mut Frame {
            full: true,
            nodes: vec![NodeView { id: 0, zone: "za".into(), ..NodeView::default() }],
            pods: vec![pod(1, None, PodState::Pending), pod(2, Some(0), PodState::Ready)],
            ..Frame::default()
        });
        assert_eq!((cluster.unplaced().len(), cluster.pods_on(0).len(), cluster.ready_pods()), (1, 1, 1));
        cluster.take(&mut Frame { pods: vec![pod(1, Some(0), PodState::Creating)], ..Frame::default() });
        assert_eq!((cluster.unplaced().len(), cluster.pods_on(0).len()), (0, 2));
        cluster.take(&mut Frame { removed_pods: vec![1, 9], ..Frame::default() });
        assert_eq!((cluster.pods.len(), cluster.pods_on(0).len()), (1, 1));
        cluster.take(&mut Frame { full: true, ..Frame::default() });
        assert_eq!(cluster, Cluster::default());
    }

    #[test]
    fn what_is_missing_is_known() {
        let process = |name: &str, state| ProcessView { name: name.into(), host: "cp-1".into(), state };
        let lease = LeaseView { holder: "cp-1".into(), expires_at: 20, duration_millis: 15_000 };
        let plane = |etcd, manager| ControlPlane {
            etcd: vec![view::EtcdMemberView { process: process("etcd", etcd), ..Default::default() }],
            api_servers: vec![view::ApiServerView {
                process: process("kube-apiserver", ProcessState::Running),
                ..Default::default()
            }],
            controller_managers: vec![process("kube-controller-manager-1", manager)],
            controller_manager_lease: lease.clone(),
            schedulers: vec![process("kube-scheduler-1", ProcessState::Running)],
            scheduler_lease: lease.clone(),
            ..ControlPlane::default()
        };
        let lack = |etcd, manager, now| {
            Cluster { control_plane: Rc::new(plane(etcd, manager)), ..Cluster::default() }.lack(now)
        };
        use ProcessState::{Running, Starting, Stopped};
        assert_eq!(lack(Running, Running, 10), None);
        assert_eq!(lack(Stopped, Starting, 10), Some(Lack::Etcd));
        assert_eq!(lack(Running, Starting, 10), Some(Lack::Managers));
        assert_eq!(lack(Running, Running, 21), Some(Lack::Managers));
        assert_eq!(Cluster::default().lack(10), None);
    }

    #[test]
    fn counts_that_change_are_told() {
        let mut cluster = Cluster::default();
        let web = |ready| WorkloadView { name: "web".into(), desired: 3, ready, ..WorkloadView::default() };
        let mut told = |w: WorkloadView| cluster.take(&mut Frame { workloads: vec![w], ..Frame::default() }).len();
        assert_eq!(told(web(0)), 1);
        assert_eq!(told(web(0)), 0);
        assert_eq!(told(web(3)), 1);
        assert_eq!(told(WorkloadView { gone: true, ..web(0) }), 1);
        assert_eq!(cluster.workloads().count(), 0);
    }

    #[test]
    fn bars_put_the_household_first() {
        let node = NodeView { id: 0, cpu_milli: 2000, ..NodeView::default() };
        let system = PodView { namespace: "kube-system".into(), ..pod(5, Some(0), PodState::Ready) };
        let assumed = PodView { assumed: Some(0), ..pod(6, None, PodState::Pending) };
        let pods: Vec<Rc<PodView>> =
            [pod(1, Some(0), PodState::Ready), system, assumed, pod(7, Some(0), PodState::Succeeded)]
                .map(Rc::new)
                .into();
        let bars = capacity(&node, &pods, |p| p.cpu_milli, node.cpu_milli);
        assert_eq!(bars.iter().map(|s| s.class).collect::<Vec<_>>(), ["", "ready", "assumed"]);
        assert_eq!(bars[0].percent, 5.0);
        assert_eq!(requested(&pods, |p| p.cpu_milli), 300);
        assert_eq!(capacity(&node, &pods, |p| p.cpu_milli, 0), vec![]);
    }

    #[test]
    fn silence_is_seen_before_it_is_marked() {
        let node = NodeView { ready: Readiness::True, heartbeat_at: 10, ..NodeView::default() };
        assert_eq!(health(&node, SILENT_AFTER), NodeHealth::Ready);
        assert_eq!(health(&node, SILENT_AFTER + 11), NodeHealth::Silent);
    }
}
