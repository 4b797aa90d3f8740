//! What will happen by itself, and when: timers that a reader would wait for.

use super::cluster_view::{list, micro, since_start};
use super::control_plane::short_loop;
use crate::cluster::World;
use api::SortSmall;
use api::coordination_v1::Lease;
use api::core_v1::{ContainerStatus, Pod};
use std::collections::BTreeMap;
use view::{NodeTimerKind, NodeView, TimerKind, TimerView, WorkloadView};

/// A queue's wait that is worth telling, in nanoseconds: shorter ones are over before they are read.
const LONG: u64 = 500_000_000;
/// How late the renewal of a leader's lease is when it counts as lost: twice the period of renewals.
const RENEWAL: u64 = 4_000_000_000;

/// Whether the cluster is not at rest before this has happened. What would come again and again is no reason to wait.
pub fn is_awaited(timer: &TimerView) -> bool {
    use TimerKind::{
        Command, ComponentRestarts, ContainerStarts, Eviction, GraceEnds, ImagePulled, LeaseExpires, NodeNotReady,
    };
    matches!(
        timer.what,
        ImagePulled { .. }
            | ContainerStarts { .. }
            | GraceEnds { .. }
            | NodeNotReady { .. }
            | Eviction { .. }
            | Command { .. }
            | ComponentRestarts { .. }
            | LeaseExpires { .. }
    )
}

/// The timers of the world, soonest first.
pub fn all<'a>(
    world: &World,
    nodes: impl Iterator<Item = &'a NodeView>,
    workloads: impl Iterator<Item = &'a WorkloadView>,
) -> Vec<TimerView> {
    let now = world.sim().now().as_nanos();
    let mut out = Vec::new();
    // Without a controller manager nobody counts a node's silence or evicts from it.
    let counted = world.leading_manager().is_some();
    for node in nodes.filter(|_| counted) {
        out.extend(node.timers.iter().map(|timer| {
            let what = match &timer.what {
                NodeTimerKind::Silence => TimerKind::NodeNotReady { node: node.name.clone() },
                NodeTimerKind::Eviction { pods, .. } => TimerKind::Eviction { node: node.name.clone(), pods: *pods },
            };
            TimerView { at: timer.at, what }
        }));
    }
    let named = Named::read(world, &mut out);
    for pod in list::<Pod>(world, "", "pods") {
        out.extend(of_pod(world, &pod, &named));
    }
    scheduler(world, &mut out);
    leases(world, now, named.leases, &mut out);
    queues(world, now, workloads, &mut out);
    out.retain(|t| t.at > now);
    out.sort_small_by_key(|t| t.at);
    out
}

/// When the kubelets next look at pods, and when their next probe that decides readiness runs, by namespace and name.
#[derive(Default)]
struct Named {
    syncs: BTreeMap<String, u64>,
    probes: BTreeMap<String, u64>,
    /// When the back-off of a pod's image is over.
    pulls: BTreeMap<(String, String), u64>,
    /// When who asks for which lease again.
    leases: Vec<(u64, String, String)>,
}

impl Named {
    /// Sorts the timers that programs gave a name; pulls and commands are told as they are.
    fn read(world: &World, out: &mut Vec<TimerView>) -> Named {
        let mut named = Named::default();
        world.sim().trace(|trace| {
            for mark in trace.marks.since(0).filter(|m| m.kind == "pull back-off") {
                let mut words = mark.detail.splitn(3, ' ');
                if let (Some(pod), Some(Ok(until)), Some(image)) =
                    (words.next(), words.next().map(str::parse), words.next())
                {
                    named.pulls.insert((pod.to_string(), image.to_string()), until);
                }
            }
        });
        for (process, at, name) in world.sim().named_timers() {
            let at = at.as_nanos();
            let Some((verb, about)) = name.split_once(' ') else { continue };
            let earliest = |map: &mut BTreeMap<String, u64>| {
                let known = map.entry(about.to_string()).or_insert(at);
                *known = at.min(*known);
            };
            match verb {
                "pull" => {
                    let process = world.sim().process_name(process);
                    let node = process.split('/').next().unwrap_or_default().to_string();
                    out.push(TimerView { at, what: TimerKind::ImagePulled { node, image: about.to_string() } });
                }
                "sleep" => out.push(TimerView { at, what: TimerKind::Command { line: name.to_string() } }),
                "restart" => out.push(TimerView { at, what: TimerKind::ComponentRestarts { component: about.into() } }),
                "lease" => named.leases.push((at, world.sim().process_name(process).to_string(), about.to_string())),
                "sync" => earliest(&mut named.syncs),
                "probe" => earliest(&mut named.probes),
                _ => {}
            }
        }
        named
    }

    /// A container's back-off in nanoseconds (0 for none), and when the kubelet tries it again (0 if it is not known).
    fn wait(&self, world: &World, pod: &str, status: &ContainerStatus) -> (u64, u64) {
        let sync = self.syncs.get(pod).copied();
        // The kubelet notices when it looks at the pod the next time.
        let noticed = |over: u64| sync.map_or(over, |sync| sync.max(over));
        let reason = status.state.waiting.get().map(|w| &*w.reason);
        match reason {
            Some("CrashLoopBackOff") => {
                let ended = status.last_state.terminated.get().and_then(|t| t.finished_at.unix());
                let message = status.state.waiting.get().map_or("", |w| &*w.message);
                let Some((ended, delay)) = ended.zip(back_off_seconds(message)) else { return (0, 0) };
                let delay = delay.saturating_mul(1_000_000_000);
                (delay, noticed(since_start(world, Some(ended)).saturating_add(delay)))
            }
            Some("ImagePullBackOff" | "ErrImagePull") => {
                let over = self.pulls.get(&(pod.to_string(), status.image.to_string()));
                (0, over.map_or(0, |over| noticed(*over)))
            }
            // What has ended tells of its back-off only at the kubelet's next look, which is when it ends.
            _ => (0, sync.unwrap_or(0)),
        }
    }
}

/// `40` out of `back-off 40s restarting failed container=c pod=...`, `160` out of `back-off 2m40s ...`.
fn back_off_seconds(message: &str) -> Option<u64> {
    let mut seconds = 0u64;
    let mut number = String::new();
    for c in message.strip_prefix("back-off ")?.split(' ').next()?.chars() {
        let unit = match c {
            '0'..='9' => {
                number.push(c);
                continue;
            }
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.saturating_add(std::mem::take(&mut number).parse::<u64>().ok()?.saturating_mul(unit));
    }
    Some(seconds)
}

/// What a pod's containers wait for.
pub struct Waits<'a> {
    world: &'a World,
    key: String,
    named: Named,
}

impl<'a> Waits<'a> {
    /// Of this pod.
    pub fn of(world: &'a World, pod: &Pod) -> Self {
        let key = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
        Waits { world, key, named: Named::read(world, &mut Vec::new()) }
    }
    /// A container's back-off in nanoseconds (0 for none), and when the kubelet tries it again (0 if it is not known).
    pub fn of_container(&self, status: &ContainerStatus) -> (u64, u64) {
        self.named.wait(self.world, &self.key, status)
    }
}

fn of_pod(world: &World, pod: &Pod, named: &Named) -> Vec<TimerView> {
    let name = pod.metadata.name.to_string();
    if let Some(deleted) = pod.metadata.deletion_timestamp.unix() {
        return vec![TimerView { at: since_start(world, Some(deleted)), what: TimerKind::GraceEnds { pod: name } }];
    }
    let is = |kind: &str| pod.status.conditions.iter().any(|c| &*c.type_ == kind && &*c.status == "True");
    if pod.spec.node_name.is_empty() || is("Ready") {
        return Vec::new();
    }
    let node = pod.spec.node_name.to_string();
    let key = format!("{}/{name}", pod.metadata.namespace);
    let mut out = Vec::new();
    let statuses = pod.status.init_container_statuses.iter().chain(pod.status.container_statuses.iter());
    for status in statuses {
        let reason = status.state.waiting.get().map(|w| &*w.reason);
        let ended = status.state.terminated.get().is_some() && &*pod.status.phase == "Running";
        let what = match reason {
            Some("ImagePullBackOff" | "ErrImagePull") => {
                TimerKind::PullBackOff { node: node.clone(), image: status.image.to_string() }
            }
            Some("CrashLoopBackOff") => TimerKind::RestartBackOff { node: node.clone(), pod: name.clone() },
            None if ended => TimerKind::RestartBackOff { node: node.clone(), pod: name.clone() },
            _ => continue,
        };
        let (_, at) = named.wait(world, &key, status);
        out.extend((at > 0).then_some(TimerView { at, what }));
    }
    if &*pod.status.phase == "Running"
        && let Some(at) = named.probes.get(&key)
    {
        out.push(TimerView { at: *at, what: TimerKind::Probe { node, pod: name } });
    }
    out
}

fn scheduler(world: &World, out: &mut Vec<TimerView>) {
    let retries = world.leading_scheduler().map(|s| s.retries()).unwrap_or_default();
    out.extend(retries.into_iter().map(|(at, _, name)| TimerView {
        at: at.as_nanos(),
        what: TimerKind::SchedulerRetry { pod: name.to_string() },
    }));
}

/// Leases of leaders that are no longer renewed, and who asks for them.
fn leases(world: &World, now: u64, retries: Vec<(u64, String, String)>, out: &mut Vec<TimerView>) {
    let mut late = Vec::new();
    for lease in list::<Lease>(world, "coordination.k8s.io", "leases") {
        if &*lease.metadata.namespace != "kube-system" || !lease.metadata.name.starts_with("kube-") {
            continue;
        }
        let renewed = micro(world, &lease.spec.renew_time);
        let seconds = u64::try_from(lease.spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
        if now.saturating_sub(renewed) > RENEWAL && renewed > 0 {
            let at = renewed.saturating_add(seconds.saturating_mul(1_000_000_000));
            out.push(TimerView { at, what: TimerKind::LeaseExpires { lease: lease.metadata.name.to_string() } });
            late.push(lease.metadata.name.clone());
        }
    }
    for (at, component, lease) in retries {
        if late.iter().any(|l| **l == *lease) {
            out.push(TimerView { at, what: TimerKind::LeaseRetry { component, lease } });
        }
    }
}

/// Keys that failed and wait with back-off, and the deadlines of rollouts that are not done.
fn queues<'a>(world: &World, now: u64, workloads: impl Iterator<Item = &'a WorkloadView>, out: &mut Vec<TimerView>) {
    let undone: Vec<String> =
        workloads.filter(|w| w.ready < w.desired).map(|w| format!("{}/{}", w.namespace, w.name)).collect();
    let Some(manager) = world.leading_manager() else { return };
    for controller in manager.controllers() {
        for (at, key, failures) in controller.queues().into_iter().flat_map(|(_, q)| q.waiting) {
            let at = at.as_nanos();
            if failures > 0 && at.saturating_sub(now) > LONG {
                out.push(TimerView { at, what: TimerKind::Requeue { controller: short_loop(controller.name), key } });
            } else if failures == 0 && controller.name == "deployment-controller" && undone.contains(&key) {
                let deployment = key.rsplit('/').next().unwrap_or_default().to_string();
                out.push(TimerView { at, what: TimerKind::ProgressDeadline { deployment } });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_offs_are_read_from_the_kubelets_words() {
        assert_eq!(back_off_seconds("back-off 10s restarting failed container=a pod=b"), Some(10));
        assert_eq!(back_off_seconds("back-off 2m40s restarting failed container=a"), Some(160));
        assert_eq!(back_off_seconds("back-off 5m0s restarting"), Some(300));
        assert_eq!(back_off_seconds("back-off soon"), None);
        assert_eq!(back_off_seconds(""), None);
    }
}
