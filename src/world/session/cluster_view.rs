//! Frames: what of the cluster changed since the last one, read from the programs' own memory.

use super::control_plane;
use super::{pods, timers};
use crate::cluster::World;
use api::SortSmall;
use api::coordination_v1::Lease;
use api::core_v1::{Event, Node, Pod};
use api::{AnyRev, Rev};
use sim::ProcessId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use view::{
    Clock, EventRow, FaultView, Frame, NodeTimer, NodeTimerKind, NodeView, ObjectRef, Place, PodView, ProcessState,
    Readiness, TimerView, WorkloadView,
};

/// Resources whose changes are a beat rather than a step.
const BEATS: [&str; 3] = ["leases", "events", "nodes"];
/// Grace until a silent node is marked, in seconds (node-monitor-grace-period).
const GRACE: u64 = 50;
/// Timers that a frame tells.
const TIMERS: usize = 8;
const SECOND: u64 = 1_000_000_000;

/// Numbers of resources in the API server's tables, by name.
#[derive(Default)]
struct Places {
    by_name: BTreeMap<(&'static str, &'static str), usize>,
}

/// What the page was told, so that a frame carries only what changed.
pub struct Observer {
    places: RefCell<Places>,
    pods: BTreeMap<String, (u32, PodView)>,
    nodes: BTreeMap<String, (u32, NodeView)>,
    next_pod: u32,
    next_node: u32,
    workloads: BTreeMap<(String, String), WorkloadView>,
    plane: Option<view::ControlPlane>,
    faults: Vec<FaultView>,
    messages: u64,
    senders: RefCell<BTreeMap<ProcessId, Option<Place>>>,
    pods_at: u64,
    events_at: u64,
    pulling: BTreeMap<String, bool>,
    looks: control_plane::Looks,
}

/// The API server whose memory is read: the first that runs.
pub fn server(world: &World) -> Option<Rc<apiserver::Inner>> {
    let servers = world.observed().api_servers.borrow();
    let alive = servers.iter().find(|(name, inner)| world.machines().is_running(name) && inner.cache.ready());
    alive.or_else(|| servers.iter().next()).map(|(_, inner)| inner.clone())
}

/// The stored objects of a resource with their types.
pub fn list<T: api::Object>(world: &World, group: &str, plural: &str) -> Vec<Rev<T>> {
    let mut out = Vec::new();
    if let Some(server) = server(world)
        && let Some(resource) = server.resources.iter().find(|r| r.kind.group == group && r.kind.plural == plural)
    {
        server.cache.resource(resource.index).each("", |object: &AnyRev| out.extend(object.downcast::<T>()));
    }
    out
}

/// One stored object.
pub fn get(world: &World, kind: &str, namespace: &str, name: &str) -> Option<AnyRev> {
    let server = server(world)?;
    let resource = server.resources.iter().find(|r| r.kind.kind == kind)?;
    server.cache.resource(resource.index).get(&resource.short_key(namespace, name))
}

impl Observer {
    /// One that has told nothing yet.
    pub fn new(_world: &World) -> Observer {
        Observer {
            places: RefCell::default(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next_pod: 0,
            next_node: 0,
            workloads: BTreeMap::new(),
            plane: None,
            faults: Vec::new(),
            messages: 0,
            senders: RefCell::default(),
            pods_at: u64::MAX,
            events_at: 0,
            pulling: BTreeMap::new(),
            looks: control_plane::Looks::default(),
        }
    }

    fn changed(&self, world: &World, group: &'static str, plural: &'static str) -> u64 {
        let Some(server) = server(world) else { return 0 };
        let index = *self.places.borrow_mut().by_name.entry((group, plural)).or_insert_with(|| {
            server.resources.iter().position(|r| r.kind.group == group && r.kind.plural == plural).unwrap_or(usize::MAX)
        });
        server.resources.get(index).map_or(0, |r| server.cache.resource(r.index).changed())
    }

    /// The store's revision.
    pub fn revision(&self, world: &World) -> u64 {
        server(world).map_or(0, |s| s.cache.revision())
    }

    /// A number that rises when anything but beats changed.
    pub fn activity(&self, world: &World) -> u64 {
        let Some(server) = server(world) else { return 0 };
        let steps = server.resources.iter().filter(|r| !BEATS.contains(&r.kind.plural));
        steps.map(|r| server.cache.resource(r.index).changed()).max().unwrap_or(0)
    }

    /// All nodes are Ready, the control plane has its leaders, and pods can be made.
    pub fn booted(&self, world: &World) -> bool {
        let led = world.leading_manager().is_some() && world.leading_scheduler().is_some();
        if !led || get(world, "ServiceAccount", "default", "default").is_none() {
            return false;
        }
        let nodes = list::<Node>(world, "", "nodes");
        let ready = nodes.iter().filter(|n| readiness(n) == Readiness::True).count();
        ready as u64 == u64::from(world.blueprint().nodes)
    }

    /// No pod is on its way to another state.
    pub fn steady(&self, world: &World) -> bool {
        list::<Pod>(world, "", "pods").iter().all(|p| pods::is_steady(p))
    }

    /// When the events changed last.
    pub fn events_changed(&self, world: &World) -> u64 {
        self.changed(world, "", "events").max(1)
    }

    /// Events that `wanted` takes, oldest first, at most 500.
    pub fn events(&self, world: &World, wanted: impl Fn(&Event) -> bool) -> Vec<EventRow> {
        let epoch = world.blueprint().epoch;
        let mut rows: Vec<EventRow> =
            list::<Event>(world, "", "events").iter().filter(|e| wanted(e)).map(|e| event_row(e, epoch)).collect();
        rows.sort_small_by_key(|r| r.at);
        let skip = rows.len().saturating_sub(500);
        rows.drain(..skip);
        rows
    }

    /// The number of a node by its name.
    pub fn node_id(&self, name: &str) -> Option<u32> {
        self.nodes.get(name).map(|(id, _)| *id)
    }

    /// Timers that a reader would wait for, soonest first.
    pub fn timers(&self, world: &World) -> Vec<TimerView> {
        timers::all(world, self.nodes.values().map(|(_, n)| n), self.workloads.values())
    }

    /// What changed; of the control plane only if it is `whole`.
    pub fn frame(&mut self, world: &World, whole: bool) -> Frame {
        let mut frame =
            Frame { clock: Clock { revision: self.revision(world), ..Clock::default() }, ..Frame::default() };
        self.pulls(world);
        self.nodes(world, &mut frame);
        self.pods(world, &mut frame);
        self.workloads(world, &mut frame);
        if whole || self.plane.is_none() {
            let plane = control_plane::view(world, &mut self.looks);
            if self.plane.as_ref() != Some(&plane) {
                frame.control_plane = Some(plane.clone());
                self.plane = Some(plane);
            }
        }
        let faults = faults(world, &self.faults);
        if faults != self.faults {
            frame.faults = Some(faults.clone());
            self.faults = faults;
        }
        frame.timers = self.timers(world);
        frame.timers.truncate(TIMERS);
        self.traffic(world, &mut frame);
        frame.event_count = u32::try_from(list::<Event>(world, "", "events").len()).unwrap_or(u32::MAX);
        frame
    }

    /// Which pods' images are being pulled: what their events said last.
    fn pulls(&mut self, world: &World) {
        let changed = self.changed(world, "", "events");
        if changed == self.events_at {
            return;
        }
        let since = std::mem::replace(&mut self.events_at, changed);
        for event in list::<Event>(world, "", "events").iter().filter(|e| e.revision > since) {
            let pulling = match &*event.reason {
                "Pulling" => true,
                "Pulled" | "Failed" | "Started" | "BackOff" => false,
                _ => continue,
            };
            let key = format!("{}/{}", event.involved_object.namespace, event.involved_object.name);
            if pulling {
                self.pulling.insert(key, true);
            } else {
                self.pulling.remove(&key);
            }
            self.pods_at = u64::MAX;
        }
    }

    fn nodes(&mut self, world: &World, frame: &mut Frame) {
        let leases: BTreeMap<String, u64> = list::<Lease>(world, "coordination.k8s.io", "leases")
            .iter()
            .filter(|l| &*l.metadata.namespace == "kube-node-lease")
            .map(|l| (l.metadata.name.to_string(), micro(world, &l.spec.renew_time)))
            .collect();
        let machines = world.machines().nodes();
        let mut seen = BTreeMap::new();
        for node in list::<Node>(world, "", "nodes") {
            let name = node.metadata.name.to_string();
            let id = match self.nodes.get(&name) {
                Some((id, _)) => *id,
                None => {
                    self.next_node += 1;
                    self.next_node - 1
                }
            };
            let heartbeat = leases.get(&name).copied().unwrap_or_else(|| {
                let ready = node.status.conditions.iter().find(|c| &*c.type_ == "Ready");
                ready.map_or(0, |c| since_start(world, c.last_heartbeat_time.unix()))
            });
            let machine = machines.iter().find(|m| m.name() == name);
            let view = node_view(world, id, &node, heartbeat, machine);
            seen.insert(name, (id, view));
        }
        for (name, (id, _)) in &self.nodes {
            if !seen.contains_key(name) {
                frame.removed_nodes.push(*id);
            }
        }
        for (name, (id, view)) in &seen {
            if self.nodes.get(name).is_none_or(|(_, old)| old != view) {
                debug_assert_eq!(*id, view.id);
                frame.nodes.push(view.clone());
            }
        }
        frame.nodes.sort_small_by_key(|n| n.id);
        self.nodes = seen;
    }

    fn pods(&mut self, world: &World, frame: &mut Frame) {
        // Assumed pods and silent nodes change without a write.
        let changed = self.changed(world, "", "pods").max(self.changed(world, "", "nodes"));
        let pending = self.pods.values().any(|(_, p)| p.node.is_none());
        if changed == self.pods_at && !pending {
            return;
        }
        self.pods_at = changed;
        let leader = world.leading_scheduler();
        let mut seen = BTreeMap::new();
        for pod in list::<Pod>(world, "", "pods") {
            let key = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
            let id = match self.pods.get(&key) {
                Some((id, old)) if old.name == *pod.metadata.name => *id,
                _ => {
                    self.next_pod += 1;
                    self.next_pod - 1
                }
            };
            let mut view = pods::view(&pod, id);
            view.node = self.node_id(&pod.spec.node_name);
            let lost = |n: u32| self.nodes.values().any(|(id, v)| *id == n && v.ready == Readiness::Unknown);
            if view.node.is_some_and(lost) && matches!(view.state, view::PodState::Ready | view::PodState::Running) {
                view.state = view::PodState::Unknown;
            }
            view.pulling = view.state == view::PodState::Creating && self.pulling.contains_key(&key);
            if view.node.is_none()
                && let Some(node) =
                    leader.as_ref().and_then(|s| s.assumed_node(&pod.metadata.namespace, &pod.metadata.name))
            {
                view.assumed = self.node_id(&node);
            }
            seen.insert(key, (id, view));
        }
        for (key, (id, _)) in &self.pods {
            if !seen.contains_key(key) {
                frame.removed_pods.push(*id);
                self.pulling.remove(key);
            }
        }
        for (key, (_, view)) in &seen {
            if self.pods.get(key).is_none_or(|(_, old)| old != view) {
                frame.pods.push(view.clone());
            }
        }
        frame.pods.sort_small_by_key(|p| p.id);
        self.pods = seen;
    }

    fn workloads(&mut self, world: &World, frame: &mut Frame) {
        let mut seen = BTreeMap::new();
        for deployment in list::<api::apps_v1::Deployment>(world, "apps", "deployments") {
            let view = WorkloadView {
                resource: "deployment".into(),
                namespace: deployment.metadata.namespace.to_string(),
                name: deployment.metadata.name.to_string(),
                desired: u32::try_from(deployment.spec.replicas.unwrap_or(1)).unwrap_or(0),
                ready: u32::try_from(deployment.status.ready_replicas).unwrap_or(0),
                gone: false,
            };
            seen.insert((view.namespace.clone(), view.name.clone()), view);
        }
        for (key, old) in &self.workloads {
            if !seen.contains_key(key) {
                frame.workloads.push(WorkloadView { gone: true, desired: 0, ready: 0, ..old.clone() });
            }
        }
        for (key, view) in &seen {
            if self.workloads.get(key) != Some(view) {
                frame.workloads.push(view.clone());
            }
        }
        self.workloads = seen;
    }

    /// Answers, watch events and what goes to and among etcd's members; requests come from the audit log.
    fn traffic(&mut self, world: &World, frame: &mut Frame) {
        let sim = world.sim();
        let mut merged: BTreeMap<(Place, Place, view::MessageKind), (u16, u64)> = BTreeMap::new();
        sim.trace(|trace| {
            for message in trace.messages.since(self.messages) {
                let (Some(from), Some(to)) = (self.place(world, message.from), self.place(world, message.to)) else {
                    continue;
                };
                use view::MessageKind::{Answer, Raft, Store, Watch};
                let kind = match (from, to, message.label) {
                    (Place::Etcd(_), Place::Etcd(_), _) => Raft,
                    (Place::Etcd(_), _, _) | (_, Place::Etcd(_), _) => Store,
                    (_, _, "events") => Watch,
                    (_, _, "response") => Answer,
                    _ => continue,
                };
                let entry = merged.entry((from, to, kind)).or_insert((0, message.at.as_nanos()));
                entry.0 = entry.0.saturating_add(1);
            }
            self.messages = trace.messages.total();
        });
        for ((from, to, kind), (count, at)) in merged.into_iter().take(40) {
            frame.messages.push(view::MessageView { from, to, kind, count, label: String::new(), at });
        }
    }

    fn place(&self, world: &World, process: ProcessId) -> Option<Place> {
        if let Some(place) = self.senders.borrow().get(&process) {
            return *place;
        }
        let name = world.sim().process_name(process);
        let place = place_of(&name).or_else(|| {
            let node = name.split('/').next()?;
            self.node_id(node).map(Place::Node)
        });
        if place.is_some() {
            self.senders.borrow_mut().insert(process, place);
        }
        place
    }
}

/// Where a component of the control plane stands.
pub fn place_of(process: &str) -> Option<Place> {
    let (base, number) = match process.rsplit_once('-').map(|(b, n)| (b, n.parse::<u8>())) {
        Some((base, Ok(n))) if n > 0 => (base, n - 1),
        _ => (process, 0),
    };
    Some(match base {
        "etcd" => Place::Etcd(number),
        "kube-apiserver" => Place::ApiServer(number),
        "kube-controller-manager" => Place::ControllerManager(number),
        "kube-scheduler" => Place::Scheduler(number),
        "kubectl" | "terminal" | "cluster" => Place::Kubectl,
        _ => return None,
    })
}

/// Nanoseconds since the world's start of a time in seconds since 1970.
pub fn since_start(world: &World, unix: Option<i64>) -> u64 {
    let seconds = unix.unwrap_or(0).saturating_sub(world.blueprint().epoch);
    u64::try_from(seconds).unwrap_or(0).saturating_mul(SECOND)
}

/// The same of a time in microseconds.
pub fn micro(world: &World, time: &api::MicroTime) -> u64 {
    let micros = time.unix_micros().unwrap_or(0).saturating_sub(world.blueprint().epoch.saturating_mul(1_000_000));
    u64::try_from(micros).unwrap_or(0).saturating_mul(1000)
}

fn readiness(node: &Node) -> Readiness {
    match node.status.conditions.iter().find(|c| &*c.type_ == "Ready").map(|c| &*c.status) {
        Some("True") => Readiness::True,
        Some("Unknown") => Readiness::Unknown,
        _ => Readiness::False,
    }
}

/// A taint as kubectl prints it.
fn taint_text(taint: &api::core_v1::Taint) -> String {
    if taint.value.is_empty() {
        format!("{}:{}", taint.key, taint.effect)
    } else {
        format!("{}={}:{}", taint.key, taint.value, taint.effect)
    }
}

/// Whether no way leads from a node's machine or kubelet to the control plane.
fn is_cut_off(world: &World, machine: &node::Node) -> bool {
    let kubelet = format!("{}/kubelet", machine.name());
    let nodes = world.machines().nodes();
    let own = |scope: &sim::Scope| match scope {
        sim::Scope::Host(host) => *host == machine.host(),
        sim::Scope::Process(name) => **name == *kubelet,
    };
    let plane = |scope: &sim::Scope| match scope {
        sim::Scope::Host(host) => nodes.iter().all(|n| n.host() != *host),
        sim::Scope::Process(name) => name.starts_with("kube-apiserver"),
    };
    world.sim().cuts().iter().any(|(a, b)| match b {
        None => own(a) || plane(a),
        Some(b) => own(a) && plane(b) || own(b) && plane(a),
    })
}

fn node_view(world: &World, id: u32, node: &Rev<Node>, heartbeat: u64, machine: Option<&Rc<node::Node>>) -> NodeView {
    let now = world.sim().now().as_nanos();
    let name = node.metadata.name.to_string();
    let ready = readiness(node);
    let amount = |resource: &str| node.status.allocatable.get(resource).cloned().unwrap_or_default();
    let cut = world.sim().cuts().iter().any(|(a, b)| {
        let host = machine.map(|m| m.host());
        b.is_none() && matches!(a, sim::Scope::Host(h) if Some(*h) == host)
    });
    let on = machine.is_none_or(|m| m.is_on());
    // Nothing is heard of it any more, or it is late: its silence is counted.
    let unheard = !on || cut || machine.is_some_and(|m| m.kubelet().is_none() || is_cut_off(world, m));
    let mut timers = Vec::new();
    if ready == Readiness::True && (unheard || now.saturating_sub(heartbeat) > 20 * SECOND) {
        timers.push(NodeTimer { what: NodeTimerKind::Silence, since: heartbeat, at: heartbeat + GRACE * SECOND });
    }
    for taint in node.spec.taints.iter().filter(|t| &*t.effect == "NoExecute") {
        let since = since_start(world, taint.time_added.unix());
        let evicted = pods::evictions(world, &name, &taint.key);
        if let Some((seconds, pods)) = evicted {
            let at = since.saturating_add(seconds.saturating_mul(SECOND));
            if at > now {
                timers.push(NodeTimer {
                    what: NodeTimerKind::Eviction { taint: format!("{}:NoExecute", taint.key), pods },
                    since,
                    at,
                });
            }
        }
    }
    let common = |key: &str| key.contains("kubernetes.io/") || key.contains("k8s.io/");
    let status = |kind: &str| node.status.conditions.iter().any(|c| &*c.type_ == kind && &*c.status == "True");
    NodeView {
        id,
        zone: node.metadata.labels.get("topology.kubernetes.io/zone").map(ToString::to_string).unwrap_or_default(),
        ready,
        cordoned: node.spec.unschedulable,
        machine: match (on, cut) {
            (false, _) => ProcessState::Stopped,
            (true, true) => ProcessState::CutOff,
            (true, false) => ProcessState::Running,
        },
        kubelet: match machine {
            Some(m) if on && m.kubelet().is_none() => ProcessState::Stopped,
            _ => ProcessState::Running,
        },
        pressures: ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"]
            .into_iter()
            .filter(|k| status(k))
            .map(str::to_string)
            .collect(),
        taints: node.spec.taints.iter().map(taint_text).collect(),
        labels: node
            .metadata
            .labels
            .iter()
            .filter(|(k, _)| !common(k))
            .map(|(k, v)| if v.is_empty() { k.to_string() } else { format!("{k}={v}") })
            .collect(),
        heartbeat_at: heartbeat,
        cpu_milli: u32::try_from(amount("cpu").milli_value()).unwrap_or(0),
        memory_mi: u32::try_from(amount("memory").value() >> 20).unwrap_or(0),
        max_pods: u32::try_from(amount("pods").value()).unwrap_or(0),
        timers,
        faulty: !on || cut || machine.is_some_and(|m| m.kubelet().is_none()),
        name,
    }
}

/// Faults that stand, as `cluster status` lists them; those known keep the time at which they were first seen.
fn faults(world: &World, before: &[FaultView]) -> Vec<FaultView> {
    let text = world.machines().faults();
    let now = world.sim().now().as_nanos();
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let verb = words.first().copied().unwrap_or_default();
            let target = words.get(1).copied().unwrap_or_default();
            let rest = words.get(1..).unwrap_or_default();
            let end_line = match verb {
                "stop" => format!("cluster start {target}"),
                "cut" => format!("cluster heal {}", rest.join(" ")),
                _ => {
                    let kept = rest.get(..rest.len().saturating_sub(1)).unwrap_or_default();
                    format!("cluster {verb} {} 0", kept.join(" "))
                }
            };
            let line = format!("cluster {line}");
            let since = before.iter().find(|f| f.line == line).map_or(now, |f| f.since);
            FaultView { target: target.to_string(), line, end_line, since }
        })
        .collect()
}

/// A row of the events' table.
fn event_row(event: &Event, epoch: i64) -> EventRow {
    let nanos = |unix: Option<i64>| {
        u64::try_from(unix.unwrap_or(epoch).saturating_sub(epoch)).unwrap_or(0).saturating_mul(SECOND)
    };
    let at_micros = |time: &api::MicroTime| {
        time.unix_micros().map(|m| u64::try_from(m.saturating_sub(epoch.saturating_mul(1_000_000))).unwrap_or(0) * 1000)
    };
    let series = event.series.get();
    let at = series
        .and_then(|s| at_micros(&s.last_observed_time))
        .or_else(|| event.last_timestamp.unix().map(|u| nanos(Some(u))))
        .or_else(|| at_micros(&event.event_time))
        .unwrap_or_else(|| nanos(event.metadata.creation_timestamp.unix()));
    let first = event.first_timestamp.unix().map(|u| nanos(Some(u))).or_else(|| at_micros(&event.event_time));
    let source = if event.source.component.is_empty() { &event.reporting_component } else { &event.source.component };
    let host = &event.source.host;
    EventRow {
        at,
        first_at: first.unwrap_or(at),
        kind: event.type_.to_string(),
        reason: event.reason.to_string(),
        object: ObjectRef {
            kind: event.involved_object.kind.to_string(),
            namespace: event.involved_object.namespace.to_string(),
            name: event.involved_object.name.to_string(),
        },
        from: if host.is_empty() { source.to_string() } else { format!("{source}, {host}") },
        message: event.message.to_string(),
        count: u32::try_from(series.map_or(event.count, |s| s.count).max(1)).unwrap_or(1),
    }
}
