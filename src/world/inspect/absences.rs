//! Work on an object that nobody does at present: no leader, no kubelet, no store. Read from the processes, the leases
//! and the network as they are.

use super::look::Look;
use crate::session::{Family, lease_view, of_kind};
use api::AnyRev;
use api::coordination_v1::Lease;
use api::core_v1::{Namespace, Pod};
use view::{LeaseView, Missing, MissingKind, ProcessState, ProcessView};

/// The controller that deals with a kind first.
const CONTROLLERS: [(&str, &str); 9] = [
    ("Deployment", "deployment"),
    ("ReplicaSet", "replicaset"),
    ("StatefulSet", "statefulset"),
    ("DaemonSet", "daemonset"),
    ("Job", "job"),
    ("CronJob", "cronjob"),
    ("Service", "endpointslice"),
    ("Node", "node-lifecycle"),
    ("PersistentVolumeClaim", "persistentvolume-binder"),
];

/// What the object waits for that nobody does, the root of it first.
pub fn missing(look: &Look<'_>, object: &AnyRev) -> Vec<Missing> {
    let mut found: Vec<Missing> = store(look).into_iter().collect();
    let pod = object.downcast::<Pod>();
    let leading = look.world.leading_manager().is_some();
    if let Some(controller) = controller(object).filter(|_| !leading) {
        found.push(led(look, "kube-controller-manager", MissingKind::Manager { controller: controller.into() }));
    }
    let unbound = |p: &Pod| p.spec.node_name.is_empty() && p.spec.scheduling_gates.is_empty();
    let waits = match &pod {
        Some(pod) => unbound(pod) && pod.metadata.deletion_timestamp.is_zero(),
        None => controller(object).is_some() && Family::read(look.world).pods_of(object).iter().any(|p| unbound(p)),
    };
    if waits && look.world.leading_scheduler().is_none() {
        found.push(led(look, "kube-scheduler", MissingKind::Scheduler));
    }
    found.extend(pod.and_then(|pod| kubelet(look, &pod)));
    found
}

/// What keeps a component from its work, the root of it first.
pub fn of_component(look: &Look<'_>, name: &str, kind: &'static str) -> Vec<Missing> {
    let mut found: Vec<Missing> = store(look).into_iter().collect();
    match kind {
        "kube-controller-manager" if look.world.leading_manager().is_none() => {
            found.push(led(look, kind, MissingKind::Manager { controller: String::new() }));
        }
        "kube-scheduler" if look.world.leading_scheduler().is_none() => {
            found.push(led(look, kind, MissingKind::Scheduler));
        }
        _ => {}
    }
    let process = crate::session::process(look.world, name);
    let told = found.iter().any(|m| m.processes.iter().any(|p| p.name == name));
    if !told && matches!(process.state, ProcessState::Stopped | ProcessState::Starting) {
        let processes = vec![process];
        let (since, next_at, command) = (ended(look, name), next(look, &processes), starts(&processes, kind));
        let (what, lease) = (MissingKind::Process { name: name.into() }, LeaseView::default());
        found.insert(0, Missing { what, since, lease, next_at, command, processes });
    }
    found
}

/// What keeps a controller's loop from running: nobody leads, or the leader can neither read nor write.
pub fn of_loop(look: &Look<'_>, controller: &str) -> Vec<Missing> {
    let mut found: Vec<Missing> = store(look).into_iter().collect();
    if look.world.leading_manager().is_none() {
        found.push(led(look, "kube-controller-manager", MissingKind::Manager { controller: controller.into() }));
    }
    found
}

fn controller(object: &AnyRev) -> Option<&'static str> {
    let kind = object.kind_info()?.kind;
    if let Some(namespace) = object.downcast::<Namespace>() {
        return (*namespace.status.phase == *"Terminating").then_some("namespace");
    }
    CONTROLLERS.iter().find(|(k, _)| *k == kind).map(|(_, controller)| *controller)
}

/// When a process last ended, 0 if that is forgotten.
fn ended(look: &Look<'_>, name: &str) -> u64 {
    let sim = look.world.sim();
    let own = |m: &&sim::trace::Mark| {
        m.kind == "process" && *m.detail != *"started" && m.process.is_some_and(|p| *sim.process_name(p) == *name)
    };
    sim.trace(|t| t.marks.since(0).rev().find(own).map_or(0, |m| m.at.as_nanos()))
}

/// When the first of these is started again by its machine.
fn next(look: &Look<'_>, processes: &[ProcessView]) -> u64 {
    let machines = look.world.machines();
    let times = processes.iter().filter_map(|p| machines.restart_of(&p.name));
    times.min().map_or(0, sim::Instant::as_nanos)
}

fn starts(processes: &[ProcessView], all: &str) -> String {
    let stopped: Vec<&ProcessView> = processes.iter().filter(|p| p.state == ProcessState::Stopped).collect();
    match stopped.as_slice() {
        [] => String::new(),
        [one] => format!("cluster start {}", one.name),
        _ => format!("cluster start {all}"),
    }
}

/// Nobody stores anything.
pub fn store(look: &Look<'_>) -> Option<Missing> {
    let servers = of_kind(look.world, "kube-apiserver");
    let missing = |what, processes: Vec<ProcessView>, since, kind: &str| Missing {
        what,
        since,
        lease: LeaseView::default(),
        next_at: next(look, &processes),
        command: starts(&processes, kind),
        processes,
    };
    if servers.iter().all(|s| s.state != ProcessState::Running) {
        let since = servers.iter().map(|s| ended(look, &s.name)).max().unwrap_or(0);
        return Some(missing(MissingKind::ApiServer, servers, since, "kube-apiserver"));
    }
    if servers.iter().any(|s| look.world.store_answers(&s.name)) {
        return None;
    }
    let members = of_kind(look.world, "etcd");
    let quorum = u32::try_from(members.len() / 2 + 1).unwrap_or(u32::MAX);
    let since = servers.iter().filter_map(|s| {
        let inner = look.world.observed().api_servers.borrow().get(&s.name).cloned()?;
        crate::session::storage_down(look.world, s, &inner).map(|d| d.stored_at)
    });
    let since = since.max().unwrap_or(0);
    Some(missing(MissingKind::Store { quorum }, members, since, "etcd"))
}

/// Nobody leads the components of a kind.
fn led(look: &Look<'_>, kind: &'static str, what: MissingKind) -> Missing {
    let processes = of_kind(look.world, kind);
    let lease = look.typed::<Lease>("kube-system", kind);
    let view = lease.as_ref().map(|l| lease_view(look.world, l)).unwrap_or_default();
    // The last renewal, or giving it back, is the last that is known of a leader.
    let renewed = lease.and_then(|l| l.spec.renew_time.unix_micros());
    let since = renewed.map_or(0, |m| look.virtual_time_of_micros(m));
    let held = !view.holder.is_empty() && view.expires_at > look.now();
    Missing {
        what,
        since,
        lease: if held { view } else { LeaseView::default() },
        next_at: next(look, &processes),
        command: starts(&processes, kind),
        processes,
    }
}

/// The kubelet of the pod's node does not work, and the pod needs it.
fn kubelet(look: &Look<'_>, pod: &Pod) -> Option<Missing> {
    let over = pod.status.phase == *"Succeeded" || pod.status.phase == *"Failed";
    if pod.spec.node_name.is_empty() || over && pod.metadata.deletion_timestamp.is_zero() {
        return None;
    }
    let node = look.world.machines().nodes().into_iter().find(|n| *n.name() == *pod.spec.node_name)?;
    let name = node.name().to_string();
    let what = MissingKind::Kubelet { node: name.clone() };
    let missing = |process: String, state, since, command: String| Missing {
        what: what.clone(),
        processes: vec![ProcessView { name: process, host: name.clone(), state }],
        since,
        lease: LeaseView::default(),
        next_at: 0,
        command,
    };
    if !node.is_on() {
        let since = ended(look, &node.kubelet_name());
        return Some(missing(name.clone(), ProcessState::Stopped, since, format!("cluster start {name}")));
    }
    let kubelet = node.kubelet_name();
    let Some(process) = node.kubelet() else {
        let since = ended(look, &kubelet);
        return Some(missing(kubelet.clone(), ProcessState::Stopped, since, format!("cluster start {kubelet}")));
    };
    let servers = look.world.machines().components().into_iter().filter(|c| c.kind == "kube-apiserver");
    let mut running = servers.filter_map(|c| look.world.sim().process(&c.name)).peekable();
    if running.peek().is_some() && !running.any(|server| look.world.sim().reaches(process, server)) {
        let since = super::nodes::heartbeat(look, &name);
        return Some(missing(kubelet, ProcessState::CutOff, since, String::new()));
    }
    None
}
