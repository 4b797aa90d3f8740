//! The conditions of a pod that the kubelet owns (pkg/kubelet/status/generate.go).

use super::phase::{FAILED, SUCCEEDED};
use super::record::PodRecordExt;
use super::restart::{all_are_removed, should_restart_all};
use crate::runtime::cri::PodRecord;
use api::Str;
use api::core_v1::{ContainerStatus, Pod, PodCondition, PodStatus};
use api::pod::is_sidecar;

/// Whether a condition type is the kubelet's alone (pkg/kubelet/types/pod_status.go).
pub fn is_kubelets(type_: &str) -> bool {
    matches!(
        type_,
        "PodScheduled"
            | "Ready"
            | "Initialized"
            | "ContainersReady"
            | "PodResizeInProgress"
            | "PodResizePending"
            | "PodReadyToStartContainers"
            | "AllContainersRestarting"
    )
}

fn condition(pod: &Pod, type_: &str, status: bool, reason: &str, message: impl Into<Str>) -> PodCondition {
    PodCondition {
        type_: type_.into(),
        status: if status { "True" } else { "False" }.into(),
        reason: reason.into(),
        message: message.into(),
        observed_generation: pod.metadata.generation,
        ..PodCondition::default()
    }
}

/// Go's `%s` of a slice of strings.
fn bracketed(names: &[&str]) -> String {
    format!("[{}]", names.join(" "))
}

fn find<'a>(statuses: &'a [ContainerStatus], name: &str) -> Option<&'a ContainerStatus> {
    statuses.iter().find(|s| s.name == *name)
}

/// `ContainersReady`. `statuses` are those of init and regular containers.
pub fn containers_ready(pod: &Pod, statuses: &[ContainerStatus], phase: &str) -> PodCondition {
    ready_of_containers(pod, statuses, phase, "ContainersReady")
}

fn ready_of_containers(pod: &Pod, statuses: &[ContainerStatus], phase: &str, type_: &str) -> PodCondition {
    let (mut unknown, mut unready): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for container in pod.spec.init_containers.iter().filter(|c| is_sidecar(c)).chain(pod.spec.containers.iter()) {
        match find(statuses, &container.name) {
            None => unknown.push(&container.name),
            Some(status) if !status.ready => unready.push(&container.name),
            Some(_) => {}
        }
    }
    if phase == SUCCEEDED && unknown.is_empty() {
        return condition(pod, type_, false, "PodCompleted", "");
    }
    if phase == FAILED {
        return condition(pod, type_, false, "PodFailed", "");
    }
    let mut messages = Vec::new();
    if !unknown.is_empty() {
        messages.push(format!("containers with unknown status: {}", bracketed(&unknown)));
    }
    if !unready.is_empty() {
        messages.push(format!("containers with unready status: {}", bracketed(&unready)));
    }
    if messages.is_empty() {
        condition(pod, type_, true, "", "")
    } else {
        condition(pod, type_, false, "ContainersNotReady", messages.join(", "))
    }
}

/// `Ready`: the containers are, and every readiness gate of the pod is open.
pub fn ready(pod: &Pod, conditions: &[PodCondition], statuses: &[ContainerStatus], phase: &str) -> PodCondition {
    let containers = ready_of_containers(pod, statuses, phase, "Ready");
    if containers.status != "True" {
        return containers;
    }
    let mut messages = Vec::new();
    for gate in pod.spec.readiness_gates.iter() {
        let name = api::go::quote(&gate.condition_type);
        match conditions.iter().find(|c| c.type_ == gate.condition_type) {
            None => messages.push(format!("corresponding condition of pod readiness gate {name} does not exist.")),
            Some(c) if c.status != "True" => {
                messages.push(format!("the status of pod readiness gate {name} is not \"True\", but {}", c.status))
            }
            Some(_) => {}
        }
    }
    if messages.is_empty() {
        containers
    } else {
        condition(pod, "Ready", false, "ReadinessGatesNotReady", messages.join(", "))
    }
}

/// `Initialized`: the init containers are done, the sidecars started.
pub fn initialized(pod: &Pod, old: &PodStatus, statuses: &[ContainerStatus], phase: &str) -> PodCondition {
    let (mut unknown, mut incomplete): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for container in pod.spec.init_containers.iter() {
        match find(statuses, &container.name) {
            None => unknown.push(&container.name),
            Some(status) => {
                let done = if is_sidecar(container) { status.started == Some(true) } else { status.ready };
                if !done {
                    incomplete.push(&container.name);
                }
            }
        }
    }
    if phase == SUCCEEDED && unknown.is_empty() {
        return condition(pod, "Initialized", true, "PodCompleted", "");
    }
    let regular_started =
        pod.spec.containers.iter().any(|c| {
            find(statuses, &c.name).is_some_and(|s| s.state.running.is_some() || s.state.terminated.is_some())
        });
    if regular_started {
        return condition(pod, "Initialized", true, "", "");
    }
    let mut messages = Vec::new();
    if !unknown.is_empty() {
        messages.push(format!("containers with unknown status: {}", bracketed(&unknown)));
    }
    if !incomplete.is_empty() {
        messages.push(format!("containers with incomplete status: {}", bracketed(&incomplete)));
    }
    // Once initialized, a pod stays so.
    let was = old.conditions.iter().any(|c| c.type_ == "Initialized" && c.status == "True");
    if messages.is_empty() || was {
        condition(pod, "Initialized", true, "", "")
    } else {
        condition(pod, "Initialized", false, "ContainersNotInitialized", messages.join(", "))
    }
}

/// `PodReadyToStartContainers`: the sandbox and its network stand.
pub fn ready_to_start_containers(pod: &Pod, record: &PodRecord) -> PodCondition {
    let (changed, _, _, why) = record.sandbox_changed(pod.spec.host_network);
    if changed {
        condition(pod, "PodReadyToStartContainers", false, "PodSandboxNotReady", why)
    } else {
        sandbox_ready(pod)
    }
}

/// `PodReadyToStartContainers` once a new sandbox stands.
pub fn sandbox_ready(pod: &Pod) -> PodCondition {
    condition(pod, "PodReadyToStartContainers", true, "", "")
}

/// `PodScheduled`, always true for a pod that a kubelet has.
pub fn scheduled(pod: &Pod) -> PodCondition {
    condition(pod, "PodScheduled", true, "", "")
}

/// `AllContainersRestarting`, of a pod whose rules may have all its containers restarted.
pub fn all_containers_restarting(pod: &Pod, record: &PodRecord, old: &PodStatus, phase: &str) -> PodCondition {
    const TYPE: &str = "AllContainersRestarting";
    match phase {
        SUCCEEDED => condition(pod, TYPE, false, "PodCompleted", ""),
        FAILED => condition(pod, TYPE, false, "PodFailed", ""),
        _ if should_restart_all(pod, record, old) && !all_are_removed(pod, record) => {
            condition(pod, TYPE, true, "RestartAllContainersStarted", "container exited with restart policy rule")
        }
        _ => condition(pod, TYPE, false, "", ""),
    }
}

/// `Ready` and `ContainersReady` of a pod in a terminal phase.
pub fn terminal(pod: &Pod, type_: &str, phase: &str) -> PodCondition {
    condition(pod, type_, false, if phase == FAILED { "PodFailed" } else { "PodCompleted" }, "")
}
