//! Whether a container is started again (pkg/api/v1/pod/util.go, pkg/kubelet/container/helpers.go).

use super::record::PodRecordExt;
use crate::runtime::cri::{PodRecord, State};
use api::core_v1::{Container, Pod, PodSpec};

/// An init container with `restartPolicy: Always`.
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.get() == Some("Always")
}

/// What the policies say of a container that ended with `exit_code`.
pub fn container_should_restart(container: &Container, spec: &PodSpec, exit_code: i32) -> bool {
    let own = container.restart_policy.get();
    if own.is_some() {
        let rule = container.restart_policy_rules.iter().find(|rule| {
            rule.exit_codes.get().is_some_and(|codes| match &*codes.operator {
                "In" => codes.values.contains(&exit_code),
                "NotIn" => !codes.values.contains(&exit_code),
                _ => false,
            })
        });
        if rule.is_some_and(|r| r.action == "Restart" || r.action == "RestartAllContainers") {
            return true;
        }
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
