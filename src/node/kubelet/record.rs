//! Questions to what the runtime knows of a pod (pkg/kubelet/container/runtime.go, PodStatus).

use crate::runtime::cri::{ContainerStatus, PodRecord, SandboxStatus, State};
use api::core_v1::PodSpec;

/// Read-only questions to a [`PodRecord`].
pub trait PodRecordExt {
    /// The newest run of a container.
    fn container(&self, name: &str) -> Option<&ContainerStatus>;
    /// The newest run of a container in the newest ready sandbox.
    fn active_container(&self, name: &str) -> Option<&ContainerStatus>;
    /// Whether a regular container was started in the newest ready sandbox.
    fn any_active_regular(&self, spec: &PodSpec) -> bool;
    /// Whether any regular container was ever made.
    fn any_regular_created(&self, spec: &PodSpec) -> bool;
    /// Whether a new sandbox is needed: (needed, attempt, the sandbox to use, why).
    fn sandbox_changed(&self, host_network: bool) -> (bool, u32, Option<&SandboxStatus>, &'static str);
    /// The addresses of the newest ready sandbox.
    fn ip(&self) -> &str;
    /// Whether any container runs.
    fn any_running(&self) -> bool;
}

fn active_sandbox(record: &PodRecord) -> Option<&SandboxStatus> {
    record.sandboxes.first().filter(|s| s.ready)
}

impl PodRecordExt for PodRecord {
    fn container(&self, name: &str) -> Option<&ContainerStatus> {
        self.containers.iter().find(|c| c.name == *name)
    }
    fn active_container(&self, name: &str) -> Option<&ContainerStatus> {
        let sandbox = active_sandbox(self)?;
        self.containers.iter().find(|c| c.name == *name && c.sandbox_id == sandbox.id)
    }
    fn any_active_regular(&self, spec: &PodSpec) -> bool {
        spec.containers.iter().any(|c| self.active_container(&c.name).is_some())
    }
    fn any_regular_created(&self, spec: &PodSpec) -> bool {
        spec.containers.iter().any(|c| self.container(&c.name).is_some_and(|s| s.state != State::Unknown))
    }
    fn sandbox_changed(&self, host_network: bool) -> (bool, u32, Option<&SandboxStatus>, &'static str) {
        let Some(newest) = self.sandboxes.first() else {
            return (true, 0, None, "no pod sandbox exists");
        };
        let ready = self.sandboxes.iter().filter(|s| s.ready).count();
        if ready > 1 {
            return (
                true,
                newest.attempt + 1,
                Some(newest),
                "multiple pod sandboxes are ready and need to be reconciled",
            );
        }
        if !newest.ready {
            return (true, newest.attempt + 1, Some(newest), "pod sandbox is not ready");
        }
        if newest.host_network != host_network {
            return (
                true,
                newest.attempt + 1,
                None,
                "network namespace mode changed and sandbox needs to be recreated",
            );
        }
        if !host_network && newest.ip.is_empty() {
            return (true, newest.attempt + 1, Some(newest), "pod sandbox has no IP address");
        }
        (false, newest.attempt, Some(newest), "")
    }
    fn ip(&self) -> &str {
        active_sandbox(self).map_or("", |s| &s.ip)
    }
    fn any_running(&self) -> bool {
        self.containers.iter().any(|c| c.state == State::Running)
    }
}
