//! Components and control loops in the inspector.

use super::absences;
use super::look::Look;
use api::SortSmall;
use view::{
    ContainerLog, Fact, FactGroup, Inspector, InspectorBody, InspectorHead, InspectorTab, LoopRun, LoopState,
    RetryingKey, Selection, Why,
};

/// Lines of a component's log that are shown.
const LINES: usize = 500;
/// Keys of a queue that are shown.
const KEYS: usize = 20;

fn fact(name: &str, value: impl ToString) -> Fact {
    Fact { name: name.into(), value: value.to_string(), link: None }
}

/// What is shown of a process.
pub fn component(look: &Look<'_>, name: &str, selection: &Selection) -> Option<Inspector> {
    let component = look.world.machines().components().into_iter().find(|c| *c.name == *name)?;
    let sim = look.world.sim();
    let running = sim.process(name).is_some();
    let groups = groups(look, name);
    let status = if look.world.machines().restart_of(name).is_some() {
        "restarting"
    } else if !running {
        "stopped"
    } else if is_leader(look, name) {
        "leader"
    } else {
        "running"
    };
    let head = InspectorHead {
        kind: component.kind.into(),
        namespace: sim.host_name(component.host).to_string(),
        name: name.into(),
        status: status.into(),
        healthy: running,
        since: started(look, name),
        ..InspectorHead::default()
    };
    let body = match selection.tab {
        InspectorTab::Logs => InspectorBody::Logs(vec![log(look, name)]),
        InspectorTab::Summary => InspectorBody::Summary(groups),
        _ => {
            let missing = absences::of_component(look, name, component.kind);
            InspectorBody::Why(Box::new(Why { component: groups, missing, ..Why::default() }))
        }
    };
    let tabs = vec![InspectorTab::Why, InspectorTab::Summary, InspectorTab::Logs];
    Some(Inspector { subject: selection.subject.clone(), head, tabs, body })
}

/// When the process last started or ended.
fn started(look: &Look<'_>, name: &str) -> u64 {
    let sim = look.world.sim();
    sim.trace(|t| {
        let own =
            |m: &&sim::trace::Mark| m.kind == "process" && m.process.is_some_and(|p| *sim.process_name(p) == *name);
        t.marks.since(0).rev().find(own).map_or(0, |m| m.at.as_nanos())
    })
}

fn is_leader(look: &Look<'_>, name: &str) -> bool {
    let observed = look.world.observed();
    observed.managers.borrow().get(name).is_some_and(controllers::ControllerManager::is_leading)
        || observed.schedulers.borrow().get(name).is_some_and(scheduler::Scheduler::leads)
        || observed.etcd.borrow().get(name).and_then(etcd::Member::status).is_some_and(|s| leads(&s))
}

fn leads(status: &etcd::Status) -> bool {
    status.role == etcd::raft::Role::Leader
}

fn groups(look: &Look<'_>, name: &str) -> Vec<FactGroup> {
    let observed = look.world.observed();
    let mut groups = Vec::new();
    if let Some(status) = observed.etcd.borrow().get(name).and_then(etcd::Member::status) {
        groups.push(FactGroup {
            name: "Raft".into(),
            facts: vec![
                fact("role", if leads(&status) { "leader" } else { "follower" }),
                fact("term", status.term),
                fact("commit index", status.commit_index),
                fact("applied index", status.applied_index),
            ],
        });
        groups.push(FactGroup {
            name: "Store".into(),
            facts: vec![fact("revision", status.revision), fact("size", format!("{} bytes", status.db_size))],
        });
    }
    if let Some(inner) = observed.api_servers.borrow().get(name) {
        let watches: usize = inner.resources.iter().map(|r| inner.cache.resource(r.index).watchers()).sum();
        let objects: usize = inner.resources.iter().map(|r| inner.cache.resource(r.index).len()).sum();
        groups.push(FactGroup {
            name: "Watch cache".into(),
            facts: vec![fact("revision", inner.cache.revision()), fact("objects", objects), fact("watches", watches)],
        });
    }
    let process = crate::session::process(look.world, name);
    let storage = |inner: &apiserver::Inner| crate::session::storage_down(look.world, &process, inner);
    if let Some(down) = observed.api_servers.borrow().get(name).and_then(|inner| storage(inner)) {
        let mut facts = vec![fact("etcd", "no answer")];
        if down.code > 0 {
            facts.push(fact("clients get", format!("{} {}", down.code, down.message)));
        }
        groups.insert(0, FactGroup { name: "Storage".into(), facts });
    }
    if let Some(scheduler) = observed.schedulers.borrow().get(name) {
        let (active, backoff, unschedulable) = scheduler.queue_lengths();
        groups.push(FactGroup {
            name: "Queues".into(),
            facts: vec![
                fact("active", active),
                fact("backoff", backoff),
                fact("unschedulable", unschedulable),
                fact("cycles", scheduler.cycles()),
                fact("bindings in flight", scheduler.bindings_in_flight()),
            ],
        });
    }
    if let Some(manager) = observed.managers.borrow().get(name) {
        let waiting = |o: &controllers::Observed| o.queues().iter().map(|(_, q)| q.ready.len()).sum::<usize>();
        let facts = manager.controllers().iter().map(|o| fact(o.name, format!("{} waiting", waiting(o)))).collect();
        groups.push(FactGroup { name: "Controllers".into(), facts });
    }
    groups
}

/// The newest lines of a process' log, in klog's form.
fn log(look: &Look<'_>, name: &str) -> ContainerLog {
    let sim = look.world.sim();
    let epoch = look.wall() - i64::try_from(look.now()).unwrap_or(0);
    let (mut lines, mut skipped) = (Vec::new(), 0);
    sim.trace(|t| {
        for line in t.logs.since(0).rev().filter(|l| *sim.process_name(l.process) == *name) {
            if lines.len() >= LINES {
                skipped += 1;
                continue;
            }
            let at = epoch + i64::try_from(line.at.as_nanos()).unwrap_or(0);
            lines.push(klog(at, line));
        }
    });
    lines.reverse();
    ContainerLog { container: name.into(), previous: false, text: lines.concat(), skipped }
}

/// One line as klog prints it: `I1129 18:09:26.093856       1 file.go:123] "text"`.
fn klog(at: i64, line: &sim::trace::LogLine) -> String {
    let seconds = at.div_euclid(1_000_000_000);
    let micros = at.rem_euclid(1_000_000_000) / 1000;
    let stamp = api::value::time::rfc3339(seconds, None);
    let (month, day) = (stamp.get(5..7).unwrap_or_default(), stamp.get(8..10).unwrap_or_default());
    let clock = stamp.get(11..19).unwrap_or_default();
    let letter = line.severity.letter();
    format!("{letter}{month}{day} {clock}.{micros:06}       1 {}] {}\n", line.place, line.text)
}

/// What is shown of a control loop.
pub fn control_loop(look: &Look<'_>, name: &str, selection: &Selection) -> Option<Inspector> {
    let known = |manager: &controllers::ControllerManager| {
        manager.controllers().into_iter().find(|o| o.name.trim_end_matches("-controller") == name)
    };
    let missing = absences::of_loop(look, name);
    let Some(observed) = look.world.leading_manager().and_then(|leader| known(&leader)) else {
        let head = InspectorHead {
            kind: "controller".into(),
            name: name.into(),
            status: "stopped".into(),
            ..InspectorHead::default()
        };
        let body = InspectorBody::Why(Box::new(Why { missing, ..Why::default() }));
        return Some(Inspector { subject: selection.subject.clone(), head, tabs: vec![InspectorTab::Why], body });
    };
    let mut state = LoopState {
        name: name.into(),
        skip_percent: crate::session::percent(observed.skip()),
        skipped: u32::try_from(observed.skipped()).unwrap_or(u32::MAX),
        ..LoopState::default()
    };
    let (mut waiting, mut runs) = (Vec::new(), Vec::new());
    for (_, queue) in observed.queues() {
        state.queue.extend(queue.ready);
        waiting.extend(queue.waiting);
        runs.extend(queue.runs);
    }
    runs.sort_small_by_key(|(_, at, _)| std::cmp::Reverse(*at));
    state.more = u32::try_from(state.queue.len().saturating_sub(KEYS)).unwrap_or(u32::MAX);
    state.queue.truncate(KEYS);
    waiting.sort_small();
    state.retrying = waiting
        .into_iter()
        .take(KEYS)
        .map(|(at, key, failures)| RetryingKey { key, failures, at: at.as_nanos() })
        .collect();
    let last = observed.last_run();
    let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>().ok();
    let (about, acted) = (last.key.to_string(), last.action_key.to_string());
    // What the loop wanted, found and did is known of its last keys.
    for (key, at, took) in runs.into_iter().take(KEYS) {
        let newest = !state.runs.iter().any(|r| r.key == key);
        let wanted_actual = number(&last.desired).zip(number(&last.actual)).filter(|_| newest && key == about);
        let action = if newest && key == acted { last.action.clone() } else { String::new() };
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        state.runs.push(LoopRun { key, at: at.as_nanos(), took, wanted_actual, action, ..LoopRun::default() });
    }
    let head = InspectorHead {
        kind: "controller".into(),
        name: name.into(),
        status: if state.queue.is_empty() { "waiting" } else { "working" }.into(),
        healthy: true,
        facts: vec![
            Fact { name: "desired".into(), value: last.desired, link: None },
            Fact { name: "actual".into(), value: last.actual, link: None },
        ],
        ..InspectorHead::default()
    };
    let body = InspectorBody::Why(Box::new(Why { control_loop: Some(state), missing, ..Why::default() }));
    Some(Inspector { subject: selection.subject.clone(), head, tabs: vec![InspectorTab::Why], body })
}
