//! Containers that have ended or do not start: how, what was said of it, and when they are tried again.

use super::look::Look;
use crate::session::Waits;
use api::SortSmall;
use api::core_v1::{ContainerStateTerminated, ContainerStatus, Pod};
use view::{ContainerFacts, Exit};

/// Bytes of a log's line that are shown.
const LINE: usize = 300;
const SECOND: u64 = 1_000_000_000;
/// What the kubelet waits before it starts a container once more, in seconds (kuberuntime_manager.go, doBackOff).
const BACK_OFFS: [u64; 6] = [10, 20, 40, 80, 160, 300];

/// The containers worth telling of, those that run first first.
pub fn facts(look: &Look<'_>, pod: &Pod) -> Vec<ContainerFacts> {
    let init = pod.status.init_container_statuses.iter().map(|s| (true, s));
    let all: Vec<(bool, &ContainerStatus)> =
        init.chain(pod.status.container_statuses.iter().map(|s| (false, s))).collect();
    let mut found: Vec<ContainerFacts> = Vec::new();
    let mut waits = None;
    for (init, status) in all {
        let waiting = status.state.waiting.get();
        let ended = status.state.terminated.get().or_else(|| status.last_state.terminated.get());
        let starting = waiting.is_some_and(|w| matches!(&*w.reason, "ContainerCreating" | "PodInitializing" | ""));
        // An init container that did its work is as it should be.
        let done = init && status.state.terminated.get().is_some_and(|t| t.exit_code == 0);
        if done || ended.is_none() && (waiting.is_none() || starting) {
            continue;
        }
        let state = waiting
            .map(|w| w.reason.to_string())
            .or_else(|| status.state.terminated.get().map(|t| t.reason.to_string()))
            .unwrap_or_else(|| "Running".into());
        let mut wait = waits.get_or_insert_with(|| Waits::of(look.world, pod)).of_container(status);
        if waiting.is_none() && !is_restarted(pod, status) {
            wait = (0, 0);
        }
        let exit = ended.map(|t| exit(look, t));
        if let (Some(exit), true) = (&exit, waiting.is_none()) {
            // The status does not tell of the back-off before it is over: it is the longest that has room.
            let whole = wait.1.saturating_sub(exit.ended_at) / SECOND;
            wait.0 = BACK_OFFS.iter().rfind(|b| **b <= whole).map_or(0, |b| b * SECOND);
        }
        let oom = exit.as_ref().is_some_and(|e| e.reason == "OOMKilled");
        let own = |c: &&api::core_v1::Container| c.name == status.name;
        let spec = pod.spec.containers.iter().chain(pod.spec.init_containers.iter()).find(own);
        let limit = spec.filter(|_| oom).and_then(|c| c.resources.limits.get("memory").map(api::Quantity::canonical));
        found.push(ContainerFacts {
            name: status.name.to_string(),
            init,
            state,
            message: waiting.map(|w| w.message.to_string()).unwrap_or_default(),
            image: spec.map(|c| c.image.to_string()).unwrap_or_default(),
            last_line: if exit.is_some() { last_line(look, pod, &status.name) } else { String::new() },
            exit,
            restarts: u32::try_from(status.restart_count).unwrap_or(0),
            memory_limit: limit.unwrap_or_default(),
            back_off: wait.0,
            next_at: wait.1,
            restart_policy: pod.spec.restart_policy.to_string(),
        });
    }
    found
}

/// The kubelet starts the container again.
fn is_restarted(pod: &Pod, status: &ContainerStatus) -> bool {
    let Some(ended) = status.state.terminated.get() else { return false };
    let over = pod.status.phase == *"Succeeded" || pod.status.phase == *"Failed";
    !over && (pod.spec.restart_policy == *"Always" || pod.spec.restart_policy == *"OnFailure" && ended.exit_code != 0)
}

fn exit(look: &Look<'_>, ended: &ContainerStateTerminated) -> Exit {
    let at = |time: Option<i64>| time.filter(|t| *t > 0).map_or(0, |t| look.virtual_time(t));
    Exit {
        code: ended.exit_code,
        reason: ended.reason.to_string(),
        message: ended.message.to_string(),
        started_at: at(ended.started_at.unix()),
        ended_at: at(ended.finished_at.unix()),
    }
}

/// The last line that the newest ended instance of a container wrote, from the node's disk.
fn last_line(look: &Look<'_>, pod: &Pod, container: &str) -> String {
    let nodes = look.world.machines().nodes();
    let Some(node) = nodes.iter().find(|n| *n.name() == *pod.spec.node_name) else { return String::new() };
    let mut own = node.look();
    own.retain(|s| s.pod_uid == pod.metadata.uid && *s.status.name == *container && s.status.finished_at > 0);
    own.sort_small_by_key(|s| s.status.restart_count);
    let Some(log) = own.last().and_then(|s| node.disk().log_of(&s.status.id)) else { return String::new() };
    let log = log.borrow();
    let line = log.since(0).next_back().map(|l| String::from_utf8_lossy(&l.text).into_owned()).unwrap_or_default();
    let end = line.char_indices().map(|(i, c)| i + c.len_utf8()).take_while(|end| *end <= LINE).last().unwrap_or(0);
    line.get(..end).unwrap_or_default().trim_end().to_string()
}
