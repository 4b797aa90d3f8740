//! What a sync has to do to a pod's containers (pkg/kubelet/kuberuntime, computePodActions).

use super::ephemeral;
use super::hash::container_hash;
use super::record::PodRecordExt;
use super::restart::{container_should_restart, restarts_all, restarts_on_failure, should_be_restarted};
use crate::runtime::cri::{PodRecord, State};
use api::Str;
use api::core_v1::{Container, Pod};
use api::pod::is_sidecar;

/// What a probe last said of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It passed.
    Success,
    /// It failed as often as its threshold.
    Failure,
}

/// The probes that decide over a container's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LifeProbe {
    /// `livenessProbe`
    Liveness,
    /// `startupProbe`
    Startup,
}

/// A container to be killed.
#[derive(Clone, PartialEq, Debug)]
pub struct Kill {
    /// The runtime's id.
    pub id: Str,
    /// Its name.
    pub name: Str,
    /// What the event says.
    pub message: String,
    /// Which probe is behind it.
    pub probe: Option<LifeProbe>,
}

/// A run of a container to be removed.
#[derive(Clone, PartialEq, Debug)]
pub struct Reset {
    /// The runtime's id.
    pub id: Str,
    /// The container's name.
    pub name: Str,
    /// Whether it is still to be killed.
    pub kill: bool,
}

/// What to do, in this order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Actions {
    /// Everything of the pod is to be stopped first.
    pub kill_pod: bool,
    /// A new sandbox is to be made.
    pub create_sandbox: bool,
    /// The sandbox in use, if there is one.
    pub sandbox_id: Option<Str>,
    /// Number of the new sandbox.
    pub attempt: u32,
    /// Containers to be killed.
    pub kill: Vec<Kill>,
    /// Containers to be removed, killed before if need be, because all are restarted.
    pub reset: Vec<Reset>,
    /// Ephemeral containers to be started, by position.
    pub start_ephemeral: Vec<usize>,
    /// Init containers to be started, by position.
    pub start_init: Vec<usize>,
    /// Regular containers to be started, by position.
    pub start: Vec<usize>,
}

fn succeeded(container: &Container, record: &PodRecord) -> bool {
    record.container(&container.name).is_some_and(|s| s.state == State::Exited && s.exit_code == 0)
}

/// All runs of the pod's containers, those that had all restarted last.
fn all_runs(pod: &Pod, record: &PodRecord) -> Vec<Reset> {
    let (mut causes, mut others) = (Vec::new(), Vec::new());
    for list in [&pod.spec.containers, &pod.spec.init_containers] {
        for container in list.iter() {
            for run in record.containers.iter().filter(|run| run.name == container.name) {
                let ended = run.state == State::Exited;
                let cause = ended && restarts_all(container, run.exit_code);
                let reset = Reset { id: run.id.clone(), name: container.name.clone(), kill: !ended };
                if cause { &mut causes } else { &mut others }.push(reset);
            }
        }
    }
    others.extend(causes);
    others
}

/// Compares the pod with what runs. `restart_all`: all containers are to be restarted. `probe` answers what a probe
/// last said of a container id.
pub fn compute(
    pod: &Pod,
    record: &PodRecord,
    restart_all: bool,
    probe: &dyn Fn(LifeProbe, &str) -> Option<Verdict>,
) -> Actions {
    let (create, attempt, sandbox, _) = record.sandbox_changed(pod.spec.host_network);
    let mut actions = Actions {
        kill_pod: create,
        create_sandbox: create,
        sandbox_id: sandbox.map(|s| s.id.clone()),
        attempt,
        ..Actions::default()
    };
    if restart_all {
        actions.reset = all_runs(pod, record);
        return actions;
    }
    if create {
        if !restarts_on_failure(pod) && attempt != 0 && !record.containers.is_empty() {
            actions.create_sandbox = false;
            return actions;
        }
        let to_start: Vec<usize> = (0..)
            .zip(pod.spec.containers.iter())
            .filter(|(_, c)| {
                c.restart_policy.get().unwrap_or(&pod.spec.restart_policy) != "OnFailure" || !succeeded(c, record)
            })
            .map(|(at, _)| at)
            .collect();
        if to_start.is_empty() && record.any_regular_created(&pod.spec) {
            actions.create_sandbox = false;
            return actions;
        }
        if pod.spec.init_containers.is_empty() {
            actions.start = to_start;
        } else {
            actions.start_init = vec![0];
        }
        return actions;
    }

    // They don't wait for the initialization.
    actions.start_ephemeral = ephemeral::to_start(pod, record);
    let initialized = init_actions(pod, record, probe, &mut actions);
    if actions.kill_pod || !initialized {
        return actions;
    }

    let mut keep = 0;
    for (at, container) in pod.spec.containers.iter().enumerate() {
        let Some(run) = record.container(&container.name).filter(|r| r.state == State::Running) else {
            if should_be_restarted(container, pod, record) {
                actions.start.push(at);
                if let Some(lost) = record.container(&container.name).filter(|r| r.state == State::Unknown) {
                    actions.kill.push(unknown_state(lost.id.clone(), container, "Container"));
                }
            }
            continue;
        };
        let mut restart = container.restart_policy.get().map_or_else(|| restarts_on_failure(pod), |own| own != "Never");
        let (mut message, by) = if run.hash != container_hash(container) {
            restart = true;
            (format!("Container {} definition changed", container.name), None)
        } else if probe(LifeProbe::Liveness, &run.id) == Some(Verdict::Failure) {
            (format!("Container {} failed liveness probe", container.name), Some(LifeProbe::Liveness))
        } else if probe(LifeProbe::Startup, &run.id) == Some(Verdict::Failure) {
            (format!("Container {} failed startup probe", container.name), Some(LifeProbe::Startup))
        } else {
            keep += 1;
            continue;
        };
        if restart {
            message.push_str(", will be restarted");
            actions.start.push(at);
        }
        actions.kill.push(Kill { id: run.id.clone(), name: container.name.clone(), message, probe: by });
    }
    if keep == 0 && actions.start.is_empty() {
        actions.kill_pod = true;
        actions.start_init.clear();
        actions.start_ephemeral.clear();
    }
    actions
}

fn unknown_state(id: Str, container: &Container, what: &str) -> Kill {
    Kill {
        id,
        name: container.name.clone(),
        message: format!("{what} is in \"unknown\" state, try killing it before restart"),
        probe: None,
    }
}

/// Finds the init container to run next and the sidecars to restart; whether initialization is done.
fn init_actions(
    pod: &Pod,
    record: &PodRecord,
    probe: &dyn Fn(LifeProbe, &str) -> Option<Verdict>,
    actions: &mut Actions,
) -> bool {
    let inits = &pod.spec.init_containers;
    if inits.is_empty() {
        return true;
    }
    let mut done = record.any_active_regular(&pod.spec);
    let mut previously = done;
    let last = inits.len().saturating_sub(1);
    // From the end: a completed init container may be gone from the runtime, so the last one that is there counts.
    for (at, container) in inits.iter().enumerate().rev() {
        let sidecar = is_sidecar(container);
        let Some(run) = record.active_container(&container.name) else {
            if previously && sidecar {
                actions.start_init.push(at);
            }
            continue;
        };
        if previously && !sidecar {
            continue;
        }
        match run.state {
            State::Created => actions.start_init.push(at),
            State::Running if sidecar => {
                let kill = |actions: &mut Actions, message: String, by| {
                    actions.kill.push(Kill { id: run.id.clone(), name: container.name.clone(), message, probe: by });
                    actions.start_init.push(at);
                };
                match container.startup_probe.get().map(|_| probe(LifeProbe::Startup, &run.id)) {
                    None | Some(Some(Verdict::Success)) => {
                        if at == last {
                            done = true;
                        } else if !previously {
                            actions.start_init.push(at + 1);
                        }
                        if run.hash != container_hash(container) {
                            kill(actions, format!("Init container {} definition changed", container.name), None);
                        } else if container.liveness_probe.is_some()
                            && probe(LifeProbe::Liveness, &run.id) == Some(Verdict::Failure)
                        {
                            kill(
                                actions,
                                format!("Init container {} failed liveness probe", container.name),
                                Some(LifeProbe::Liveness),
                            );
                        }
                    }
                    Some(Some(Verdict::Failure)) => {
                        kill(
                            actions,
                            format!("Init container {} failed startup probe", container.name),
                            Some(LifeProbe::Startup),
                        );
                    }
                    Some(None) => {}
                }
            }
            State::Running => {}
            State::Exited if sidecar => actions.start_init.push(at),
            State::Exited if run.exit_code != 0 => {
                if !pod.metadata.deletion_timestamp.is_zero()
                    || !container_should_restart(container, &pod.spec, run.exit_code)
                {
                    actions.kill_pod = true;
                    actions.start_init.clear();
                    return false;
                }
                actions.start_init.push(at);
            }
            State::Exited if at == last => done = true,
            State::Exited => actions.start_init.push(at + 1),
            State::Unknown => {
                if !sidecar
                    && !container.restart_policy.get().map_or_else(|| restarts_on_failure(pod), |own| own != "Never")
                {
                    actions.kill_pod = true;
                    actions.start_init.clear();
                    return false;
                }
                actions.kill.push(unknown_state(run.id.clone(), container, "Init container"));
                actions.start_init.push(at);
            }
        }
        previously = true;
    }
    if !previously {
        actions.start_init.push(0);
    }
    actions.start_init.reverse();
    done
}
