//! The row of a Pod.

use std::collections::BTreeMap;

use api::Time;
use api::core_v1::{Container, Pod};
use api::table::{Cell, Column};

use super::Env;

pub static POD: &[Column] = &[
    Column::name(),
    Column::new("Ready", "string"),
    Column::new("Status", "string"),
    Column::new("Restarts", "string"),
    Column::new("Age", "string"),
    Column::wide("IP", "string"),
    Column::wide("Node", "string"),
    Column::wide("Nominated Node", "string"),
    Column::wide("Readiness Gates", "string"),
];

/// A restart counter with the time of the last one.
#[derive(Default, Clone)]
struct Restarts {
    count: i64,
    last: Time,
}

impl Restarts {
    fn add(&mut self, count: i32, last_finished: Option<&Time>) {
        self.count += i64::from(count);
        if let Some(finished) = last_finished
            && finished.unix() > self.last.unix()
        {
            self.last = *finished;
        }
    }
}

pub fn pod(pod: &Pod, env: &Env) -> Vec<Cell> {
    let (ready, total, status, restarts) = summary(pod);
    let restarts_text = if restarts.count != 0 && restarts.last.unix().is_some() {
        format!("{} ({} ago)", restarts.count, env.since(&restarts.last))
    } else {
        restarts.count.to_string()
    };
    let none = |text: &str| if text.is_empty() { Cell::from("<none>") } else { Cell::from(text) };
    vec![
        Cell::from(&pod.metadata.name),
        Cell::from(format!("{ready}/{total}")),
        Cell::from(status),
        Cell::from(restarts_text),
        Cell::from(env.since(&pod.metadata.creation_timestamp)),
        none(pod.status.pod_ips.first().map_or("", |ip| &ip.ip)),
        none(&pod.spec.node_name),
        none(&pod.status.nominated_node_name),
        none(&readiness_gates(pod)),
    ]
}

fn readiness_gates(pod: &Pod) -> String {
    if pod.spec.readiness_gates.is_empty() {
        return String::new();
    }
    let met = pod
        .spec
        .readiness_gates
        .iter()
        .filter(|gate| {
            let condition = pod.status.conditions.iter().find(|c| c.type_ == gate.condition_type);
            condition.is_some_and(|c| &*c.status == "True")
        })
        .count();
    format!("{met}/{}", pod.spec.readiness_gates.len())
}

fn is_sidecar(container: Option<&&Container>) -> bool {
    container.is_some_and(|c| api::pod::is_sidecar(c))
}

/// The READY and STATUS columns and the number of restarts, for observers.
pub fn columns(pod: &Pod) -> (usize, usize, String, i32) {
    let (ready, total, reason, restarts) = summary(pod);
    (ready, total, reason, i32::try_from(restarts.count).unwrap_or(i32::MAX))
}

/// Ready containers, all containers, the STATUS column, and restarts.
fn summary(pod: &Pod) -> (usize, usize, String, Restarts) {
    let status = &*pod.status;
    let mut total = pod.spec.containers.len();
    let mut ready = 0;
    let mut reason = status.phase.to_string();
    if !status.reason.is_empty() {
        reason = status.reason.to_string();
    }
    if status.conditions.iter().any(|c| &*c.type_ == "PodScheduled" && &*c.reason == "SchedulingGated") {
        reason = "SchedulingGated".to_string();
    }
    let init: BTreeMap<&str, &Container> = pod.spec.init_containers.iter().map(|c| (&*c.name, c)).collect();
    total += pod.spec.init_containers.iter().filter(|c| is_sidecar(Some(c))).count();

    let mut restarts = Restarts::default();
    let mut sidecar_restarts = Restarts::default();
    let mut initializing = false;
    for (i, container) in status.init_container_statuses.iter().enumerate() {
        let finished = container.last_state.terminated.get().map(|t| &t.finished_at);
        restarts.add(container.restart_count, finished);
        let sidecar = is_sidecar(init.get(&*container.name));
        if sidecar {
            sidecar_restarts.add(container.restart_count, finished);
        }
        if let Some(terminated) = container.state.terminated.get()
            && terminated.exit_code == 0
        {
            continue;
        }
        if sidecar && container.started == Some(true) {
            if container.ready {
                ready += 1;
            }
            continue;
        }
        initializing = true;
        reason = if let Some(terminated) = container.state.terminated.get() {
            if !terminated.reason.is_empty() {
                format!("Init:{}", terminated.reason)
            } else if terminated.signal != 0 {
                format!("Init:Signal:{}", terminated.signal)
            } else {
                format!("Init:ExitCode:{}", terminated.exit_code)
            }
        } else if let Some(waiting) = container.state.waiting.get()
            && !waiting.reason.is_empty()
            && &*waiting.reason != "PodInitializing"
        {
            format!("Init:{}", waiting.reason)
        } else {
            format!("Init:{i}/{}", pod.spec.init_containers.len())
        };
        break;
    }

    let initialized = status.conditions.iter().any(|c| &*c.type_ == "Initialized" && &*c.status == "True");
    if !initializing || initialized {
        restarts = sidecar_restarts;
        let mut running = false;
        let mut error = String::new();
        for container in status.container_statuses.iter().rev() {
            restarts.add(container.restart_count, container.last_state.terminated.get().map(|t| &t.finished_at));
            if let Some(waiting) = container.state.waiting.get()
                && !waiting.reason.is_empty()
            {
                reason = waiting.reason.to_string();
            } else if let Some(terminated) = container.state.terminated.get() {
                reason = if !terminated.reason.is_empty() {
                    terminated.reason.to_string()
                } else if terminated.signal != 0 {
                    format!("Signal:{}", terminated.signal)
                } else {
                    format!("ExitCode:{}", terminated.exit_code)
                };
                if terminated.exit_code != 0 {
                    error = reason.clone();
                }
            } else if container.ready && !container.state.running.is_none() {
                running = true;
                ready += 1;
            }
        }
        if reason == "Completed" {
            let pod_ready = status.conditions.iter().any(|c| &*c.type_ == "Ready" && &*c.status == "True");
            if running && pod_ready {
                reason = "Running".to_string();
            } else if !error.is_empty() {
                reason = error;
            } else if running {
                reason = "NotReady".to_string();
            }
        }
    }

    if pod.metadata.deletion_timestamp.unix().is_some() {
        let ended = matches!(&*status.phase, "Succeeded" | "Failed");
        if &*status.reason == "NodeLost" {
            reason = "Unknown".to_string();
        } else if !ended {
            reason = "Terminating".to_string();
        }
    }
    (ready, total, reason, restarts)
}
