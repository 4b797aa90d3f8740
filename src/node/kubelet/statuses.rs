//! From what the runtime knows to a pod's status (pkg/kubelet/kubelet_pods.go, generateAPIPodStatus).

use super::phase::{self, is_terminal};
use super::reasons::Reasons;
use super::record::PodRecordExt;
use super::restart::should_be_restarted;
use super::{conditions, ephemeral, qos, restart};
use crate::runtime::cri::{self, PodRecord, State};
use api::SortSmall;
use api::core_v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    ContainerUser, HostIP, LinuxContainerUser, Pod, PodCondition, PodIP, PodStatus, ResourceRequirements,
    VolumeMountStatus,
};
use api::pod::is_sidecar;
use api::{List, Ptr, Str, Time};

/// Asks for a container by name and id: whether it has started, and whether it is ready (`None`: no probe has a say).
pub type Probed<'a> = &'a dyn Fn(&str, &str) -> (bool, Option<bool>);

/// What a status is made from.
pub struct Sources<'a> {
    /// The pod as the API server has it.
    pub pod: &'a Pod,
    /// The status written or computed last.
    pub old: &'a PodStatus,
    /// What the runtime knows.
    pub record: &'a PodRecord,
    /// Why containers could not be started.
    pub reasons: &'a Reasons,
    /// Nothing will be started again.
    pub terminal: bool,
    /// The node's address.
    pub host_ip: &'a Str,
    /// What a running container has of what it was given.
    pub actuated: &'a dyn Fn(&str) -> Option<ResourceRequirements>,
    /// Conditions that tell of a resize.
    pub resize: Vec<PodCondition>,
    /// (started, ready) of a running container as the probes see it; `None` for the second: no probe has a say.
    pub probes: Probed<'a>,
}

/// The whole status, but for the times of conditions, which the status manager keeps.
pub fn generate(from: &Sources) -> PodStatus {
    let Sources { pod, old, record, .. } = *from;
    let mut status = PodStatus { qos_class: qos::class(pod).into(), ..PodStatus::default() };
    let ip = record.ip();
    if !ip.is_empty() {
        status.pod_ip = ip.into();
        status.pod_ips = [PodIP { ip: ip.into() }].into();
    }
    let has_init = !pod.spec.init_containers.is_empty();
    status.container_statuses =
        container_statuses(from, &old.container_statuses, &pod.spec.containers, has_init, false);
    status.init_container_statuses =
        container_statuses(from, &old.init_container_statuses, &pod.spec.init_containers, has_init, true);

    if !pod.spec.ephemeral_containers.is_empty() {
        let containers = ephemeral::containers(pod);
        status.ephemeral_container_statuses =
            container_statuses(from, &old.ephemeral_container_statuses, &containers, has_init, false);
    }

    let all: Vec<&ContainerStatus> =
        status.container_statuses.iter().chain(status.init_container_statuses.iter()).collect();
    let mut now = phase::phase(pod, &all, from.terminal, record.any_active_regular(&pod.spec));
    if !is_terminal(now) {
        // A terminal phase is never left, whichever of the two remembers it.
        for known in [&old.phase, &pod.status.phase] {
            if is_terminal(known) {
                now = if *known == phase::FAILED { phase::FAILED } else { phase::SUCCEEDED };
                break;
            }
        }
    }
    if is_terminal(&pod.status.phase) {
        now = if pod.status.phase == phase::FAILED { phase::FAILED } else { phase::SUCCEEDED };
    }
    if old.phase == now {
        status.reason = if old.reason.is_empty() { pod.status.reason.clone() } else { old.reason.clone() };
        status.message = if old.message.is_empty() { pod.status.message.clone() } else { old.message.clone() };
    }
    status.phase = now.into();

    apply_probes(from, &mut status);

    let every: Vec<ContainerStatus> =
        status.init_container_statuses.iter().chain(status.container_statuses.iter()).cloned().collect();
    let mut list: Vec<_> =
        pod.status.conditions.iter().filter(|c| !conditions::is_kubelets(&c.type_)).cloned().collect();
    if let Some(kept) = old.conditions.iter().find(|c| c.type_ == "DisruptionTarget") {
        match list.iter_mut().find(|c| c.type_ == kept.type_) {
            Some(slot) => *slot = kept.clone(),
            None => list.push(kept.clone()),
        }
    }
    if !is_terminal(now) {
        list.extend(from.resize.iter().cloned());
    }
    list.push(conditions::ready_to_start_containers(pod, record));
    list.push(conditions::initialized(pod, old, &every, now));
    list.push(conditions::ready(pod, &list, &every, now));
    list.push(conditions::containers_ready(pod, &every, now));
    list.push(conditions::scheduled(pod));
    if api::pod::could_restart_all(&pod.spec) {
        list.push(conditions::all_containers_restarting(pod, record, old, now));
    }
    status.conditions = list.into();

    status.host_ip = from.host_ip.clone();
    status.host_ips = [HostIP { ip: from.host_ip.clone() }].into();
    if pod.spec.host_network && status.pod_ip.is_empty() {
        status.pod_ip = from.host_ip.clone();
        status.pod_ips = [PodIP { ip: from.host_ip.clone() }].into();
    }
    status.allocated_resources = qos::pod_requests(&pod.spec);
    status.resources = qos::pod_level_resources(&pod.spec);
    status
}

fn apply_probes(from: &Sources, status: &mut PodStatus) {
    let judge = |one: &ContainerStatus| -> (bool, bool) {
        if one.state.running.is_none() {
            return (false, false);
        }
        let (started, ready) = (from.probes)(&one.name, &one.container_id);
        (started, started && ready.unwrap_or(true))
    };
    for one in status.container_statuses.make() {
        let (started, ready) = judge(one);
        one.started = Some(started);
        one.ready = ready;
    }
    if status.init_container_statuses.is_empty() {
        return;
    }
    for one in status.init_container_statuses.make() {
        let (started, ready) = judge(one);
        one.started = Some(started);
        let sidecar = from.pod.spec.init_containers.iter().any(|c| c.name == one.name && is_sidecar(c));
        one.ready = if sidecar { ready } else { one.state.terminated.get().is_some_and(|t| t.exit_code == 0) };
    }
}

/// Seconds since 1970 of nanoseconds.
fn seconds(nanos: i64) -> Time {
    Time::from_unix(nanos.div_euclid(1_000_000_000))
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    ContainerState {
        waiting: Ptr::some(ContainerStateWaiting { reason: reason.into(), message: message.into() }),
        ..ContainerState::default()
    }
}

fn terminated(exit_code: i32, reason: &str, message: &str) -> Ptr<ContainerStateTerminated> {
    Ptr::some(ContainerStateTerminated {
        exit_code,
        reason: reason.into(),
        message: message.into(),
        ..ContainerStateTerminated::default()
    })
}

/// Statuses of one list of containers: regular ones sorted by name, init containers in their order.
fn container_statuses(
    from: &Sources,
    old: &[ContainerStatus],
    containers: &[Container],
    has_init: bool,
    init: bool,
) -> List<ContainerStatus> {
    let default_reason = if has_init { "PodInitializing" } else { "ContainerCreating" };
    let mut all: Vec<ContainerStatus> = containers
        .iter()
        .map(|container| {
            let before = old.iter().find(|s| s.name == container.name);
            let mut status = from_runtime(from, container, before)
                .unwrap_or_else(|| without_runtime(from, container, before, default_reason));
            explain(from, container, init, &mut status);
            status
        })
        .collect();
    if !init {
        all.sort_small_by(|a, b| a.name.cmp(&b.name));
    }
    if all.is_empty() { List::default() } else { all.into() }
}

fn volume_mounts(container: &Container) -> List<VolumeMountStatus> {
    if container.volume_mounts.is_empty() {
        return List::default();
    }
    container
        .volume_mounts
        .iter()
        .map(|mount| VolumeMountStatus {
            name: mount.name.clone(),
            mount_path: mount.mount_path.clone(),
            read_only: mount.read_only,
            recursive_read_only: if mount.read_only {
                match mount.recursive_read_only.get() {
                    Some("Enabled" | "IfPossible") => "Enabled".into(),
                    _ => "Disabled".into(),
                }
            } else {
                api::OStr::default()
            },
            ..VolumeMountStatus::default()
        })
        .collect()
}

/// A container that the runtime has no run of.
fn without_runtime(
    from: &Sources,
    container: &Container,
    before: Option<&ContainerStatus>,
    default_reason: &str,
) -> ContainerStatus {
    let restarting = before
        .filter(|old| old.state.waiting.is_none() && restart::should_restart_all(from.pod, from.record, from.old));
    let ended = before.filter(|o| o.state.terminated.is_some());
    if let Some(old) = ended.filter(|_| restarting.is_none()) {
        return old.clone();
    }
    let mut status = ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone(),
        state: waiting(default_reason, ""),
        volume_mounts: volume_mounts(container),
        ..ContainerStatus::default()
    };
    if let Some(old) = restarting {
        const REMOVED: &str = "The container is removed because RestartAllContainers in place";
        status.state = waiting(restart::RESTARTING_ALL, REMOVED);
        status.last_state.terminated = terminated(137, restart::RESTARTING_ALL, REMOVED);
        status.restart_count = old.restart_count.saturating_add(1);
        return status;
    }
    if let Some(old) = before {
        status.restart_count = old.restart_count;
        status.last_state = old.last_state.clone();
        if old.state.running.is_some() && status.last_state.terminated.is_none() {
            // It ran, and is gone without a trace: it must not look as if it had never run.
            status.last_state.terminated = terminated(
                137,
                "ContainerStatusUnknown",
                "The container could not be located when the pod was deleted.  The container used to be Running",
            );
            if from.pod.metadata.deletion_timestamp.is_zero() {
                status.restart_count = status.restart_count.saturating_add(1);
            }
        }
    }
    status
}

/// A container that the runtime knows: its newest run, and the one before as its last state.
fn from_runtime(from: &Sources, container: &Container, before: Option<&ContainerStatus>) -> Option<ContainerStatus> {
    let mut runs = from.record.containers.iter().filter(|c| c.name == container.name);
    let newest = runs.next()?;
    let mut status = convert(from, container, newest, before);
    if let Some(earlier) = runs.next() {
        status.last_state = convert(from, container, earlier, before).state;
    }
    Some(status)
}

fn convert(
    from: &Sources,
    container: &Container,
    run: &cri::ContainerStatus,
    before: Option<&ContainerStatus>,
) -> ContainerStatus {
    let id = Str::from(format!("containerd://{}", run.id));
    let mut status = ContainerStatus {
        name: run.name.clone(),
        restart_count: i32::try_from(run.restart_count).unwrap_or(i32::MAX),
        image: run.image.clone(),
        image_id: run.image_ref.clone(),
        container_id: id.clone(),
        volume_mounts: before.map_or_else(|| volume_mounts(container), |o| o.volume_mounts.clone()),
        resources: Ptr::some(container.resources.clone()),
        allocated_resources: container.resources.requests.clone(),
        user: Ptr::some(ContainerUser {
            linux: Ptr::some(LinuxContainerUser { uid: run.uid, gid: run.gid, supplemental_groups: [run.gid].into() }),
        }),
        ..ContainerStatus::default()
    };
    if let Some(old) = before {
        status.restart_count = status.restart_count.max(old.restart_count);
        if old.container_id != status.container_id && old.state.terminated.is_some() {
            status.last_state.terminated = old.state.terminated.clone();
        } else if old.last_state.terminated.is_some() {
            status.last_state.terminated = old.last_state.terminated.clone();
        }
    }
    match run.state {
        State::Running => {
            status.state.running = Ptr::some(ContainerStateRunning { started_at: seconds(run.started_at) });
            status.started = before.and_then(|o| o.started);
            if let Some(actuated) = (from.actuated)(&container.name) {
                status.resources = Ptr::some(actuated);
            }
            if let Some(old) = before.filter(|o| {
                o.state.terminated.is_some() && o.restart_count >= status.restart_count && o.container_id != id
            }) {
                status.restart_count = old.restart_count.saturating_add(1);
            }
        }
        State::Exited => {
            status.state.terminated = Ptr::some(ContainerStateTerminated {
                container_id: id,
                exit_code: run.exit_code,
                reason: run.reason.clone(),
                message: run.message.clone(),
                started_at: seconds(run.started_at),
                finished_at: seconds(run.finished_at),
                signal: 0,
            });
        }
        State::Unknown if before.is_some_and(|o| o.state.running.is_some()) => {
            let restarting = restart::should_restart_all(from.pod, from.record, from.old);
            status.state.terminated = terminated(
                137,
                if restarting { restart::RESTARTING_ALL } else { "ContainerStatusUnknown" },
                "The container could not be located when the pod was terminated",
            );
            status.restart_count = before.map_or(0, |o| o.restart_count).saturating_add(1);
        }
        State::Created | State::Unknown => {
            status.state =
                ContainerState { waiting: Ptr::some(ContainerStateWaiting::default()), ..ContainerState::default() }
        }
    }
    status
}

/// A container that the next sync starts and that could not be started waits, and says why.
fn explain(from: &Sources, container: &Container, init: bool, status: &mut ContainerStatus) {
    let run = from.record.container(&container.name);
    if init {
        if run.is_some_and(|r| r.state == State::Exited && r.exit_code == 0) {
            return;
        }
        if run.is_none()
            && !is_sidecar(container)
            && status.state.waiting.is_some()
            && from.record.any_regular_created(&from.pod.spec)
        {
            status.state = ContainerState {
                terminated: terminated(
                    0,
                    "Completed",
                    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
                ),
                ..ContainerState::default()
            };
            return;
        }
    }
    if !should_be_restarted(container, from.pod, from.record) {
        return;
    }
    let Some((reason, message)) = from.reasons.get(&container.name) else { return };
    if status.state.terminated.is_some() {
        status.last_state = std::mem::take(&mut status.state);
    }
    status.state = waiting(reason, message);
}
