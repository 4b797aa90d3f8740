//! Ephemeral containers: started once beside the others, never again (pkg/kubelet/kuberuntime, computePodActions).

use super::record::PodRecordExt;
use crate::runtime::cri::PodRecord;
use api::Str;
use api::core_v1::{Container, EphemeralContainer, Pod};

/// An ephemeral container as the container that it is.
pub fn as_container(of: &EphemeralContainer) -> Container {
    Container {
        args: of.args.clone(),
        command: of.command.clone(),
        env: of.env.clone(),
        env_from: of.env_from.clone(),
        image: of.image.clone(),
        image_pull_policy: of.image_pull_policy.clone(),
        lifecycle: of.lifecycle.clone(),
        liveness_probe: of.liveness_probe.clone(),
        name: of.name.clone(),
        ports: of.ports.clone(),
        readiness_probe: of.readiness_probe.clone(),
        resize_policy: of.resize_policy.clone(),
        resources: of.resources.clone(),
        restart_policy: of.restart_policy.clone(),
        restart_policy_rules: of.restart_policy_rules.clone(),
        security_context: of.security_context.clone(),
        startup_probe: of.startup_probe.clone(),
        stdin: of.stdin,
        stdin_once: of.stdin_once,
        termination_message_path: of.termination_message_path.clone(),
        termination_message_policy: of.termination_message_policy.clone(),
        tty: of.tty,
        volume_devices: of.volume_devices.clone(),
        volume_mounts: of.volume_mounts.clone(),
        working_dir: of.working_dir.clone(),
    }
}

/// The container whose processes the one of that name shares; empty if it shares none.
pub fn target(pod: &Pod, name: &str) -> Str {
    let found = pod.spec.ephemeral_containers.iter().find(|c| *c.name == *name);
    found.map(|c| c.target_container_name.clone()).unwrap_or_default()
}

/// A pod's ephemeral containers.
pub fn containers(pod: &Pod) -> Vec<Container> {
    pod.spec.ephemeral_containers.iter().map(as_container).collect()
}

/// Those that are still to be started.
pub fn to_start(pod: &Pod, record: &PodRecord) -> Vec<usize> {
    let new = |(_, c): &(usize, &EphemeralContainer)| record.container(&c.name).is_none();
    pod.spec.ephemeral_containers.iter().enumerate().filter(new).map(|(at, _)| at).collect()
}
