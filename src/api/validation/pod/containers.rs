//! Containers of all sorts.

use super::super::at::{At, Errors};
use super::super::resources;
use super::probes::{self, Kind};
use super::{env, mounts, security};
use crate::core_v1::{
    Container, ContainerPort, ContainerResizePolicy, ContainerRestartRule, EnvFromSource, EnvVar, EphemeralContainer,
    PodSpec, ResourceRequirements, SecurityContext, Volume, VolumeDevice, VolumeMount,
};
use crate::object::Object;
use crate::{OStr, Ptr, names};

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;

/// What all sorts of containers have.
pub(super) struct Common<'a> {
    name: &'a str,
    image: &'a str,
    image_pull_policy: &'a str,
    termination_message_policy: &'a str,
    ports: &'a [ContainerPort],
    env: &'a [EnvVar],
    env_from: &'a [EnvFromSource],
    resources: &'a ResourceRequirements,
    resize_policy: &'a [ContainerResizePolicy],
    pub(super) volume_mounts: &'a [VolumeMount],
    pub(super) volume_devices: &'a [VolumeDevice],
    pub(super) security_context: &'a Ptr<SecurityContext>,
}
macro_rules! common {
    ($($T:ident)*) => { $(impl<'a> From<&'a $T> for Common<'a> {
        fn from(c: &'a $T) -> Self {
            Common {
                name: &c.name,
                image: &c.image,
                image_pull_policy: &c.image_pull_policy,
                termination_message_policy: &c.termination_message_policy,
                ports: &c.ports,
                env: &c.env,
                env_from: &c.env_from,
                resources: &c.resources,
                resize_policy: &c.resize_policy,
                volume_mounts: &c.volume_mounts,
                volume_devices: &c.volume_devices,
                security_context: &c.security_context,
            }
        }
    })* };
}
common! { Container EphemeralContainer }

/// What containers need to know of their pod.
pub(super) struct Around<'a> {
    /// The pod's spec.
    pub(super) spec: &'a PodSpec,
    /// The good volumes.
    pub(super) volumes: &'a [&'a Volume],
    /// The names of the pod's resource claims.
    pub(super) claims: &'a [&'a str],
}

impl Around<'_> {
    fn common(&self, container: &Common, at: &At, errors: &mut Errors) {
        let name = &at.child("name");
        if container.name.is_empty() {
            errors.required(name, "");
        } else {
            errors.each(name, container.name, names::dns1123_label(container.name));
        }
        errors.need(&at.child("image"), container.image);
        let policy = &at.child("terminationMessagePolicy");
        errors.required_one_of(policy, container.termination_message_policy, &["File", "FallbackToLogsOnError"]);
        ports(container.ports, &at.child("ports"), errors);
        env::env(container.env, &at.child("env"), errors);
        env::env_from(container.env_from, &at.child("envFrom"), errors);
        mounts::mounts(container, self.volumes, &at.child("volumeMounts"), errors);
        mounts::devices(container, self.volumes, &at.child("volumeDevices"), errors);
        pull_policy(container.image_pull_policy, &at.child("imagePullPolicy"), errors);
        let at_resources = &at.child("resources");
        resources::requirements(container.resources, resources::container_name, self.claims, at_resources, errors);
        resize_policy(container.resize_policy, &self.spec.restart_policy, &at.child("resizePolicy"), errors);
        let host_users = self.spec.host_users != Some(false);
        security::container(container.security_context, host_users, &at.child("securityContext"), errors);
    }

    /// `containers`
    pub(super) fn containers(&self, at: &At, errors: &mut Errors) {
        let list = &self.spec.containers;
        if list.is_empty() {
            return errors.required(at, "");
        }
        for (i, container) in list.iter().enumerate() {
            let at = &at.index(i);
            self.common(&container.into(), at, errors);
            if list.iter().take(i).any(|c| c.name == container.name) {
                errors.duplicate(&at.child("name"), &container.name);
            }
            self.running(container, at, errors);
            restart_policy(&container.restart_policy, &container.restart_policy_rules, at, errors);
        }
        host_ports(list, at, errors);
    }

    /// Hooks and probes of a container that keeps running.
    fn running(&self, container: &Container, at: &At, errors: &mut Errors) {
        let grace = self.spec.termination_grace_period_seconds;
        if let Some(lifecycle) = container.lifecycle.get() {
            probes::lifecycle(lifecycle, grace, &at.child("lifecycle"), errors);
        }
        probes::probe(&container.liveness_probe, Kind::Liveness, grace, &at.child("livenessProbe"), errors);
        probes::probe(&container.readiness_probe, Kind::Readiness, grace, &at.child("readinessProbe"), errors);
        probes::probe(&container.startup_probe, Kind::Startup, grace, &at.child("startupProbe"), errors);
    }

    /// `initContainers`
    pub(super) fn init_containers(&self, list_at: &At, errors: &mut Errors) {
        let list = &self.spec.init_containers;
        for (i, container) in list.iter().enumerate() {
            let at = &list_at.index(i);
            self.common(&container.into(), at, errors);
            let always = crate::pod::is_sidecar(container);
            restart_policy(&container.restart_policy, &container.restart_policy_rules, at, errors);
            let earlier = self.spec.containers.iter().chain(list.iter().take(i));
            if earlier.into_iter().any(|c| c.name == container.name && !c.name.is_empty()) {
                errors.duplicate(&at.child("name"), &container.name);
            }
            host_ports(std::slice::from_ref(container), list_at, errors);
            if always {
                self.running(container, at, errors);
            } else {
                let why = "may not be set for init containers without restartPolicy=Always";
                for (name, set) in [
                    ("lifecycle", container.lifecycle.is_some()),
                    ("livenessProbe", container.liveness_probe.is_some()),
                    ("readinessProbe", container.readiness_probe.is_some()),
                    ("startupProbe", container.startup_probe.is_some()),
                ] {
                    if set {
                        errors.forbidden(&at.child(name), why);
                    }
                }
                let at = at.child("resizePolicy");
                for (j, policy) in container.resize_policy.iter().enumerate() {
                    if policy.restart_policy == "RestartContainer" {
                        errors.invalid(
                            &at.index(j).child("restartPolicy"),
                            &policy.restart_policy,
                            "must not be set to 'RestartContainer' for non-sidecar initContainers",
                        );
                    }
                }
            }
        }
    }

    /// `ephemeralContainers`
    pub(super) fn ephemeral_containers(&self, at: &At, errors: &mut Errors) {
        let list = &self.spec.ephemeral_containers;
        for (i, container) in list.iter().enumerate() {
            let at = &at.index(i);
            self.common(&container.into(), at, errors);
            only_in_pod(&container.image, at, errors);
            let others = || self.spec.containers.iter().chain(&self.spec.init_containers).map(|c| &c.name);
            if others().chain(list.iter().take(i).map(|c| &c.name)).any(|name| *name == container.name) {
                errors.duplicate(&at.child("name"), &container.name);
            }
            let target = &container.target_container_name;
            if !target.is_empty() && !others().any(|name| name == target) {
                errors.not_found(&at.child("targetContainerName"), target);
            }
            allowed_of_ephemeral(container, at, errors);
            let mounts = at.child("volumeMounts");
            for (j, mount) in container.volume_mounts.iter().enumerate() {
                let at = mounts.index(j);
                for (name, path) in [("subPath", &mount.sub_path), ("subPathExpr", &mount.sub_path_expr)] {
                    if !path.is_empty() {
                        errors.forbidden(&at.child(name), "cannot be set for an Ephemeral Container");
                    }
                }
            }
        }
    }
}

/// Ephemeral containers have no probes, ports, resources and so on.
fn allowed_of_ephemeral(container: &EphemeralContainer, at: &At, errors: &mut Errors) {
    const REFUSED: [&str; 9] = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let container: &dyn Object = container;
    for name in REFUSED {
        let set = match container.field(name) {
            Some(crate::object::Ref::Struct(s)) => (0..s.desc().fields.len()).any(|i| !s.get(i).is_empty()),
            Some(value) => !value.is_empty(),
            None => false,
        };
        if set {
            errors.forbidden(&at.child(name), "cannot be set for an Ephemeral Container");
        }
    }
}

/// What is checked of a pod's containers but not of a template's.
pub(super) fn only_in_pod(image: &str, at: &At, errors: &mut Errors) {
    if image.trim().len() != image.len() {
        errors.invalid(&at.child("image"), image, "must not have leading or trailing whitespace");
    }
}

fn ports(ports: &[ContainerPort], at: &At, errors: &mut Errors) {
    for (i, port) in ports.iter().enumerate() {
        let at = &at.index(i);
        if !port.name.is_empty() {
            let wrong = names::port_name(&port.name);
            let good = wrong.is_empty();
            errors.each(&at.child("name"), &port.name, wrong);
            if good && ports.iter().take(i).any(|p| p.name == port.name) {
                errors.duplicate(&at.child("name"), &port.name);
            }
        }
        if port.container_port == 0 {
            errors.required(&at.child("containerPort"), "");
        } else {
            port_number(port.container_port, &at.child("containerPort"), errors);
        }
        if port.host_port != 0 {
            port_number(port.host_port, &at.child("hostPort"), errors);
        }
        errors.required_one_of(&at.child("protocol"), &port.protocol, &["SCTP", "TCP", "UDP"]);
    }
}

/// A port's number.
pub(in super::super) fn port_number(port: i32, at: &At, errors: &mut Errors) {
    for why in names::port_number(i64::from(port)) {
        errors.invalid(at, port, why);
    }
}

/// No two containers share a port of the host (`AccumulateUniqueHostPorts`).
fn host_ports(list: &[Container], at: &At, errors: &mut Errors) {
    let mut taken: Vec<&ContainerPort> = Vec::new();
    for (i, container) in list.iter().enumerate() {
        for (j, port) in container.ports.iter().enumerate().filter(|(_, p)| p.host_port != 0) {
            let same = |p: &&ContainerPort| {
                p.host_port == port.host_port && p.host_ip == port.host_ip && p.protocol == port.protocol
            };
            if taken.iter().any(same) {
                let shown = format!("{}/{}/{}", port.protocol, port.host_ip, port.host_port);
                errors.duplicate(&at.index(i).child("ports").index(j).child("hostPort"), shown);
            } else {
                taken.push(port);
            }
        }
    }
}

/// `imagePullPolicy`
pub(super) fn pull_policy(policy: &str, at: &At, errors: &mut Errors) {
    errors.required_one_of(at, policy, &["Always", "IfNotPresent", "Never"]);
}

fn resize_policy(list: &[ContainerResizePolicy], pod_policy: &str, at: &At, errors: &mut Errors) {
    for (i, policy) in list.iter().enumerate() {
        if list.iter().take(i).any(|p| p.resource_name == policy.resource_name) {
            errors.duplicate(&at.index(i), &policy.resource_name);
        }
        errors.required_one_of(at, &policy.resource_name, &["cpu", "memory"]);
        errors.required_one_of(at, &policy.restart_policy, &["NotRequired", "RestartContainer"]);
        if pod_policy == "Never" && policy.restart_policy != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.invalid(at, &policy.restart_policy, why);
        }
    }
}

fn restart_policy(policy: &OStr, rules: &[ContainerRestartRule], at: &At, errors: &mut Errors) {
    let at_policy = &at.child("restartPolicy");
    match policy.get() {
        None if rules.is_empty() => return,
        None => errors.required(at_policy, "must specify restartPolicy when restart rules are used"),
        Some(policy) => errors.one_of(at_policy, policy, &["Always", "Never", "OnFailure"]),
    }
    let at = &at.child("restartPolicyRules");
    if rules.len() > RULES_MAX {
        errors.too_many(at, rules.len(), RULES_MAX);
    }
    for (i, rule) in rules.iter().enumerate() {
        let at = at.index(i);
        errors.one_of(&at.child("action"), &rule.action, &["Restart", "RestartAllContainers"]);
        let at = &at.child("exitCodes");
        match rule.exit_codes.get() {
            None => errors.required(at, "must be specified"),
            Some(codes) => {
                errors.one_of(&at.child("operator"), &codes.operator, &["In", "NotIn"]);
                if codes.values.len() > EXIT_CODES_MAX {
                    errors.too_many(&at.child("values"), codes.values.len(), EXIT_CODES_MAX);
                }
            }
        }
    }
}
