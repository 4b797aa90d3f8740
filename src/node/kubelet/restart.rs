//! Whether a container is started again (pkg/api/v1/pod/util.go, pkg/kubelet/container/helpers.go).

use super::record::PodRecordExt;
use crate::runtime::cri::{PodRecord, State};
use api::core_v1::{Container, ContainerRestartRule, ContainerStatus, Pod, PodSpec, PodStatus};
use api::pod::{RESTART_ALL, main_containers};

/// Why a container waits, and how it ended, while all of its pod are restarted.
pub const RESTARTING_ALL: &str = "RestartingAllContainers";

/// The first rule of a container for an exit code.
fn matching_rule(container: &Container, exit_code: i32) -> Option<&ContainerRestartRule> {
    container.restart_policy_rules.iter().find(|rule| {
        rule.exit_codes.get().is_some_and(|codes| match &*codes.operator {
            "In" => codes.values.contains(&exit_code),
            "NotIn" => !codes.values.contains(&exit_code),
            _ => false,
        })
    })
}

/// Whether a container that ended so has all of its pod restarted.
pub fn restarts_all(container: &Container, exit_code: i32) -> bool {
    matching_rule(container, exit_code).is_some_and(|rule| rule.action == RESTART_ALL)
}

/// Whether a status says that all containers are being restarted.
pub fn is_restarting_all(status: &PodStatus) -> bool {
    status.conditions.iter().any(|c| c.type_ == "AllContainersRestarting" && c.status == "True")
}

/// Whether all containers are to be restarted: the last status says so, or a container has ended that wants it
/// (`ShouldAllContainersRestart`).
pub fn should_restart_all(pod: &Pod, record: &PodRecord, old: &PodStatus) -> bool {
    if is_restarting_all(old) {
        return true;
    }
    let of = |list: &[ContainerStatus], name: &str| list.iter().find(|s| s.name == *name).cloned();
    main_containers(&pod.spec).any(|c| {
        let Some(run) = record.container(&c.name).filter(|run| run.state == State::Exited) else { return false };
        let old = of(&old.init_container_statuses, &c.name).or_else(|| of(&old.container_statuses, &c.name));
        let before = old.and_then(|s| s.state.terminated.get().map(|t| t.exit_code));
        restarts_all(c, run.exit_code) || before.is_some_and(|code| restarts_all(c, code))
    })
}

/// Whether none of the pod's containers is left in the runtime.
pub fn all_are_removed(pod: &Pod, record: &PodRecord) -> bool {
    main_containers(&pod.spec).all(|c| record.container(&c.name).is_none())
}

/// What the policies say of a container that ended with `exit_code`.
pub fn container_should_restart(container: &Container, spec: &PodSpec, exit_code: i32) -> bool {
    let own = container.restart_policy.get();
    let rule = own.and_then(|_| matching_rule(container, exit_code));
    if rule.is_some_and(|r| r.action == "Restart" || r.action == RESTART_ALL) {
        return true;
    }
    match own.unwrap_or(&spec.restart_policy) {
        "OnFailure" => exit_code != 0,
        "Never" => false,
        _ => true,
    }
}

/// Whether the next sync starts the container.
pub fn should_be_restarted(container: &Container, pod: &Pod, record: &PodRecord) -> bool {
    if !pod.metadata.deletion_timestamp.is_zero() {
        return false;
    }
    match record.container(&container.name) {
        None => true,
        Some(status) => match status.state {
            State::Running => false,
            State::Unknown | State::Created => true,
            State::Exited => container_should_restart(container, &pod.spec, status.exit_code),
        },
    }
}

/// Whether the pod's policy has anything restarted after a failure.
pub fn restarts_on_failure(pod: &Pod) -> bool {
    pod.spec.restart_policy != "Never"
}
