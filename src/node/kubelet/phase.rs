//! A pod's phase from its containers' statuses (pkg/kubelet/kubelet_pods.go, getPhase).

use super::restart::{RESTARTING_ALL, container_should_restart};
use api::core_v1::{Container, ContainerStateTerminated, ContainerStatus, Pod};
use api::pod::is_sidecar;

/// `Pending`
pub const PENDING: &str = "Pending";
/// `Running`
pub const RUNNING: &str = "Running";
/// `Succeeded`
pub const SUCCEEDED: &str = "Succeeded";
/// `Failed`
pub const FAILED: &str = "Failed";

/// Whether a phase is one that a pod never leaves.
pub fn is_terminal(phase: &str) -> bool {
    phase == SUCCEEDED || phase == FAILED
}

/// Whether a container that ended so is started again, by itself or with all of its pod.
fn is_restartable(container: &Container, pod: &Pod, ended: &ContainerStateTerminated) -> bool {
    ended.reason == RESTARTING_ALL || container_should_restart(container, &pod.spec, ended.exit_code)
}

/// The phase. `statuses` are those of all containers, `terminal` says that nothing will be started again,
/// `initialized` that a regular container has started in the current sandbox.
pub fn phase(pod: &Pod, statuses: &[&ContainerStatus], terminal: bool, initialized: bool) -> &'static str {
    let find = |name: &str| statuses.iter().find(|s| s.name == *name);
    let (mut pending_init, mut pending_sidecars, mut init_failed_for_good) = (0, 0, 0);
    let (mut unknown, mut running, mut waiting, mut stopped, mut stopped_for_good, mut succeeded) = (0, 0, 0, 0, 0, 0);

    for container in pod.spec.init_containers.iter().filter(|c| !is_sidecar(c)) {
        let Some(status) = find(&container.name) else {
            pending_init += 1;
            continue;
        };
        let ended = match (status.state.running.get(), status.state.terminated.get(), status.state.waiting.get()) {
            (None, Some(ended), _) => Some(ended),
            (None, None, Some(_)) => status.last_state.terminated.get(),
            _ => None,
        };
        match ended {
            None => pending_init += 1,
            Some(ended) => {
                if ended.exit_code != 0 && !is_restartable(container, pod, ended) {
                    init_failed_for_good += 1;
                }
            }
        }
    }
    for container in pod.spec.init_containers.iter().filter(|c| is_sidecar(c)) {
        let Some(status) = find(&container.name) else {
            unknown += 1;
            continue;
        };
        if status.state.running.is_some() {
            if status.started != Some(true) {
                pending_sidecars += 1;
            }
            running += 1;
        } else if status.state.terminated.is_some() {
            // A sidecar that ended says nothing of the pod.
        } else if status.state.waiting.is_some() {
            if status.last_state.terminated.is_none() {
                pending_sidecars += 1;
                waiting += 1;
            }
        } else {
            pending_sidecars += 1;
            unknown += 1;
        }
    }
    for container in pod.spec.containers.iter() {
        let Some(status) = find(&container.name) else {
            unknown += 1;
            continue;
        };
        if status.state.running.is_some() {
            running += 1;
        } else if let Some(ended) = status.state.terminated.get() {
            stopped += 1;
            if !is_restartable(container, pod, ended) {
                stopped_for_good += 1;
            }
            if ended.exit_code == 0 {
                succeeded += 1;
            }
        } else if status.state.waiting.is_some() {
            match status.last_state.terminated.get() {
                Some(ended) => {
                    stopped += 1;
                    if !is_restartable(container, pod, ended) {
                        stopped_for_good += 1;
                    }
                }
                None => waiting += 1,
            }
        } else {
            unknown += 1;
        }
    }

    if init_failed_for_good > 0 {
        return FAILED;
    }
    if pending_init > 0 || (pending_sidecars > 0 && !initialized) || waiting > 0 {
        return PENDING;
    }
    if running > 0 && unknown == 0 {
        return RUNNING;
    }
    if running == 0 && stopped > 0 && unknown == 0 {
        if !terminal && stopped != stopped_for_good {
            return RUNNING;
        }
        return if stopped == succeeded { SUCCEEDED } else { FAILED };
    }
    PENDING
}
