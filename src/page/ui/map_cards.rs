//! The cards above the nodes: etcd, the doors, the controllers, the scheduler.

use super::controls::{pod_subject, ring};
use super::menus::Menu;
use super::{Action, Page, icons};
use crate::cluster::Cluster;
use crate::format;
use crate::lang::{self, Lang, Text};
use crate::layout::{Rect, Room};
use crate::words;
use std::rc::Rc;
use view::{
    ApiServerView, DoorStage, EtcdMemberView, LeaseView, LoopView, PodView, ProcessState, ProcessView, RaftRole,
    SchedulingPhase, Subject,
};
use yew::prelude::*;

/// What a card needs besides its own data.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The page.
    pub page: &'a Page,
    /// How much fits.
    pub room: Room,
    /// Virtual time.
    pub now: u64,
    /// The selection.
    pub selected: Option<&'a Subject>,
    /// One column, for phones.
    pub phone: bool,
}

impl Look<'_> {
    fn compact(&self) -> bool {
        self.room == Room::Compact
    }
    fn is_component(&self, name: &str) -> bool {
        matches!(self.selected, Some(Subject::Component { name: n }) if n == name)
    }
    fn component(&self, name: &str) -> Callback<MouseEvent> {
        self.page.does(Action::Inspect(Subject::Component { name: name.to_string() }))
    }
}

/// The bolt that opens a card's faults.
pub fn bolt(page: &Page, menu: Menu, name: &str, lit: bool) -> Html {
    if page.readonly {
        return Html::default();
    }
    let label = page.lang.pick(format!("Faults of {name}"), format!("{name} 장애"));
    let act = page.act.clone();
    let onclick = Callback::from(move |event: MouseEvent| act.emit(Action::OpenMenu(menu.clone().at(&event))));
    html! {
        <button type="button" class={classes!("btn", "icon", "bolt", lit.then_some("on"))} aria-label={label}
            aria-haspopup="menu" {onclick}>{ icons::sized("bolt", "s12") }</button>
    }
}

fn state_word(page: &Page, state: ProcessState) -> Option<&'static str> {
    match state {
        ProcessState::Running => None,
        ProcessState::Starting => Some(page.t(lang::RESTARTING)),
        ProcessState::Stopped => Some(page.t(lang::STOPPED)),
        ProcessState::CutOff => Some(page.t(lang::CUT_OFF)),
    }
}

/// What a card whose processes are all down says.
fn down_word(page: &Page, state: ProcessState) -> Html {
    let (class, title) = match state {
        ProcessState::Starting => ("warn", Some(page.t(lang::RESTARTING_LONG))),
        _ => ("bad", None),
    };
    state_word(page, state).map(|word| html! { <span {class} {title}>{ word }</span> }).unwrap_or_default()
}

/// etcd: the members' logs, one under the other, so that lag is seen as a missing cell.
pub fn etcd(look: Look, cluster: &Cluster, style: Option<String>, cells: usize) -> Html {
    let page = look.page;
    let members = &cluster.control_plane.etcd;
    let total = members.len();
    let quorum = total / 2 + 1;
    let alive = members.iter().filter(|m| m.process.state == ProcessState::Running).count();
    let leader = members.iter().find(|m| m.role == RaftRole::Leader && m.process.state == ProcessState::Running);
    let term = members.iter().map(|m| m.term).max().unwrap_or(0);
    let last = members.iter().map(|m| m.last_index).max().unwrap_or(0);
    let commit = members.iter().map(|m| m.commit_index).max().unwrap_or(0);
    let about = match (look.compact(), page.lang) {
        (true, _) if total == 1 => String::new(),
        (true, Lang::En) => format!("quorum {quorum} of {total}"),
        (true, Lang::Ko) => format!("과반 {quorum}/{total}"),
        (false, Lang::En) if total == 1 => format!("1 member · term {term}"),
        (false, Lang::Ko) if total == 1 => format!("멤버 1 · term {term}"),
        (false, Lang::En) if look.room == Room::Medium => format!("quorum {quorum} · term {term}"),
        (false, Lang::Ko) if look.room == Room::Medium => format!("과반 {quorum} · term {term}"),
        (false, Lang::En) => format!("{total} members · quorum {quorum} · term {term}"),
        (false, Lang::Ko) => format!("멤버 {total} · 과반 {quorum} · term {term}"),
    };
    let trouble = (alive < total && total > 0).then(|| {
        let spare = alive.saturating_sub(quorum);
        let answers = if alive == 1 { "answers" } else { "answer" };
        match (alive < quorum, page.lang) {
            (true, Lang::En) if total == 1 => "does not answer".into(),
            (true, Lang::Ko) if total == 1 => "응답 없음".into(),
            (true, Lang::En) => format!("{alive} of {total} {answers}, no quorum"),
            (true, Lang::Ko) => format!("{total}개 중 {alive}개 응답, 과반 없음"),
            (false, Lang::En) if spare == 0 => format!("{alive} of {total} {answers}, none to spare"),
            (false, Lang::Ko) if spare == 0 => format!("{total}개 중 {alive}개 응답, 여유 없음"),
            (false, Lang::En) => format!("{alive} of {total} {answers}"),
            (false, Lang::Ko) => format!("{total}개 중 {alive}개 응답"),
        }
    });
    let fsync = leader.map(|m| m.fsync_micros);
    html! {
        <section class="card etcd at" {style} aria-label="etcd">
            <div class="ct"><h3>{ "etcd" }</h3>
                <span class="about">{ about }</span>
                <span class="r">
                    if let Some(trouble) = trouble {
                        <span class={classes!("trouble", if alive < quorum { "bad" } else { "warn" })}>{ icons::sized("warn", "s14") }{ trouble }</span>
                    } else if !look.compact() {
                        <span>{ "commit " }<b class="mono num">{ commit }</b></span>
                        if let Some(micros) = fsync.filter(|_| look.room == Room::Wide) { <span class="num">{ format!("fsync {}", format::latency(page.lang, micros)) }</span> }
                    }
                    { bolt(page, Menu::card("etcd"), "etcd", false) }
                </span>
            </div>
            { for members.iter().map(|m| member(look, m, last, cluster.fresh_index(look.now), cells)) }
        </section>
    }
}

fn member(look: Look, m: &EtcdMemberView, last: u64, fresh: u64, cells: usize) -> Html {
    let page = look.page;
    let down = state_word(page, m.process.state);
    let leader = m.role == RaftRole::Leader && down.is_none();
    let role = down.unwrap_or(match m.role {
        RaftRole::Leader => "leader",
        RaftRole::Follower => "follower",
        RaftRole::Candidate => "candidate",
        RaftRole::PreCandidate => "pre-candidate",
    });
    let dead = matches!(m.process.state, ProcessState::Stopped);
    let sign = match m.process.state {
        ProcessState::Stopped => {
            html! { <svg class="i s14 badmark" viewBox="0 0 16 16" aria-hidden="true"><path d="m4 4 8 8m0-8-8 8"/></svg> }
        }
        ProcessState::CutOff => html! { <span class="badmark">{ icons::sized("cut", "s14") }</span> },
        _ if leader => {
            html! { <svg class="i s14 lead" viewBox="0 0 16 16" aria-hidden="true"><path d="m8 2 6 6-6 6-6-6z" fill="currentColor"/></svg> }
        }
        _ => {
            html! { <svg class="i s14 follow" viewBox="0 0 16 16" aria-hidden="true"><path d="m8 2.5 5.5 5.5L8 13.5 2.5 8z"/></svg> }
        }
    };
    // Each cell is one entry of the log, the newest at the right.
    let first = (last + 1).saturating_sub(cells as u64);
    let tape = (first..=last).map(|index| {
        let class = if index == 0 {
            "gap"
        } else if index > m.last_index {
            if down.is_some() { "absent" } else { "wait" }
        } else if index > fresh && down.is_none() {
            "new"
        } else {
            ""
        };
        html! { <i {class}></i> }
    });
    html! {
        <button type="button" class={classes!("member", leader.then_some("leader"), down.map(|_| "bad"), dead.then_some("off"),
            look.is_component(&m.process.name).then_some("sel"))} onclick={look.component(&m.process.name)}>
            { sign }
            <span class="name">{ &m.process.name }</span>
            <span class="role">{ role }</span>
            <span class="tape" aria-hidden="true">{ for tape }</span>
            <span class="idx num">{ m.last_index }</span>
        </button>
    }
}

/// An API server: the only door through the wall.
pub fn door(look: Look, api: &ApiServerView, alone: bool, rect: Option<&Rect>) -> Html {
    let page = look.page;
    let state = api.process.state;
    let down = state_word(page, state);
    let name = if alone { "kube-apiserver".to_string() } else { api.process.name.clone() };
    let wide = rect.is_none_or(|r| r.w >= 430.0) && !look.compact();
    let words: [Text; 4] = if wide {
        [lang::AUTHN, lang::AUTHZ, lang::ADMIT, lang::VALID]
    } else {
        [lang::AUTHN_SHORT, lang::AUTHZ_SHORT, lang::ADMIT_SHORT, lang::VALID_SHORT]
    };
    let tiny = rect.is_some_and(|r| r.w < 230.0);
    let name = if tiny { name.trim_start_matches("kube-").to_string() } else { name };
    let stages = [DoorStage::Authentication, DoorStage::Authorization, DoorStage::Admission, DoorStage::Validation];
    let stages = stages.into_iter().zip(words).map(|(stage, word)| {
        let class = match &api.passing {
            _ if down.is_some() => None,
            None => None,
            Some(p) if p.stage == stage && p.refused.is_some() => Some("no"),
            Some(p) if p.stage == stage => Some("now"),
            Some(p) if p.stage > stage => Some("ok"),
            Some(_) => None,
        };
        html! { <span class={classes!("stage", class)} title={page.t(word)}>if tiny { <span class="sr">{ page.t(word) }</span> } else { { page.t(word) } }</span> }
    });
    let passing = api.passing.as_ref().filter(|_| down.is_none());
    html! {
        <section class={classes!("door", "at", (state == ProcessState::Stopped || state == ProcessState::CutOff).then_some("down"),
            look.is_component(&api.process.name).then_some("sel"))} style={rect.map(Rect::style)} aria-label={name.clone()}>
            <div class="ct">
                <h3><button type="button" onclick={look.component(&api.process.name)}>{ name }</button></h3>
                <span class="r">
                    if let Some(word) = down {
                        <span class={if state == ProcessState::Starting { "warn" } else { "bad" }}>{ word }</span>
                    } else if let Some(storage) = &api.storage {
                        <span class="trouble bad" title={storage.message.clone()}>{ icons::sized("warn", "s14") }{ words::storage(page.lang, storage, wide, tiny) }</span>
                    } else if let Some(p) = passing {
                        if wide { <span class="mono user">{ &p.user }</span> }
                        <span class={classes!("mono", "passing", p.refused.map(|_| "bad"))}>
                            { p.verb.clone() }{ " " }{ target_of(&p.target, wide) }
                            if let Some(code) = p.refused { { format!(" {code}") } }
                        </span>
                    } else if api.requests_per_second > 0 {
                        <span class="num">{ page.lang.pick(format!("{} req/s", api.requests_per_second), format!("초당 {}건", api.requests_per_second)) }</span>
                    } else if wide {
                        <span class="num">{ page.lang.pick(format!("{} watches", api.watches), format!("watch {}개", api.watches)) }</span>
                    }
                    { bolt(page, Menu::card(&api.process.name), &api.process.name, false) }
                </span>
            </div>
            <div class="stages">{ for stages }</div>
        </section>
    }
}

/// The target as far as there is room: without its resource where the door is narrow.
fn target_of(target: &str, wide: bool) -> String {
    let short = format::short_target(target);
    match short.split_once('/') {
        Some((_, rest)) if !wide => rest.to_string(),
        _ => short,
    }
}

/// A lease: who holds it and for how long, and who stands by.
pub fn lease(look: Look, lease: &LeaseView, processes: &[ProcessView]) -> Html {
    let page = look.page;
    let left = lease.expires_at.saturating_sub(look.now);
    let whole = u64::from(lease.duration_millis) * 1_000_000;
    let standby = processes.iter().filter(|p| p.host != lease.holder && processes.len() > 1);
    let title = format!("Lease, {}", format::whole(page.lang, whole));
    // What no longer renews: the holder is down, or nobody takes its word.
    let holder = processes.iter().find(|p| p.host == lease.holder).and_then(|p| state_word(page, p.state));
    let ended = holder.or((left == 0).then_some(page.t(lang::LEASE_EXPIRED)));
    let about = |p: &ProcessView| (p.state == ProcessState::Starting).then_some(page.t(lang::RESTARTING_LONG));
    html! { <>
        if look.room == Room::Wide {
            { for standby.map(|p| html! {
                <span class={classes!("lease", "standby", (p.state == ProcessState::Stopped).then_some("gone"), about(p).map(|_| "warn"))}
                    title={about(p)}>{ &p.host }if about(p).is_some() { { " ↻" } }</span>
            }) }
        }
        if lease.holder.is_empty() {
            <span class="lease standby warn">{ page.t(lang::NO_LEADER) }</span>
        } else if let Some(word) = ended {
            <span class="lease standby warn" {title}>if !look.compact() { <b>{ &lease.holder }</b> }{ word }</span>
        } else if look.compact() && !look.phone {
            <span class="ringonly" title={title}>{ ring(left, whole) }<span class="sr">{ format!("{} {}", lease.holder, format::tenths(page.lang, left)) }</span></span>
        } else {
            <span class="lease" {title}>{ ring(left, whole) }<b>{ &lease.holder }</b><span class="num">{ format::tenths(page.lang, left) }</span></span>
        }
    </> }
}

/// What stands at the right of a loop's name, and how it is drawn.
fn loop_look(l: &LoopView) -> (&'static str, String) {
    if !l.warning.is_empty() {
        return ("warn", l.warning.clone());
    }
    if l.skip_percent > 0 {
        return ("warn", format!("{}%", l.skip_percent));
    }
    if l.retrying > 0 {
        return ("warn", format!("↻{}", l.retrying));
    }
    // What a loop made is not yet ready: the count is of what runs, where that is known.
    let short = l.wanted_actual.filter(|(wanted, actual)| l.ready.unwrap_or(*actual) < *wanted);
    let count = match l.wanted_actual {
        Some((wanted, actual)) => format!("{}/{wanted}", l.ready.unwrap_or(actual)),
        None if l.queue > 0 => format!("+{}", l.queue),
        None if l.working > 0 => "+1".to_string(),
        None => String::new(),
    };
    if l.working > 0 || l.queue > 0 {
        ("busy", count)
    } else if short.is_some() {
        ("short", count)
    } else if l.wanted_actual.is_some() {
        ("warm", count)
    } else {
        ("", count)
    }
}

/// A loop's name and what its count stands for.
fn loop_title(lang: Lang, l: &LoopView) -> String {
    if l.skip_percent > 0 {
        return lang.pick(
            format!("{}: {}% of its runs are skipped", l.name, l.skip_percent),
            format!("{}: 실행의 {}%를 건너뜀", l.name, l.skip_percent),
        );
    }
    if l.retrying > 0 {
        return lang.pick(
            format!("{}: {} waiting to be tried again", l.name, l.retrying),
            format!("{}: {}개 재시도 대기", l.name, l.retrying),
        );
    }
    match (l.wanted_actual, l.ready) {
        (Some((wanted, actual)), Some(ready)) => lang.pick(
            format!("{}: {wanted} wanted, {actual} created, {ready} ready", l.name),
            format!("{}: 원하는 수 {wanted}, 만든 수 {actual}, 준비된 수 {ready}", l.name),
        ),
        _ => l.name.clone(),
    }
}

/// Somebody holds the lease and runs.
fn led(look: Look, processes: &[ProcessView], lease: &LeaseView) -> bool {
    let runs = |p: &ProcessView| p.host == lease.holder && p.state == ProcessState::Running;
    lease.expires_at > look.now && processes.iter().any(runs)
}

/// The controller manager: its loops.
pub fn managers(look: Look, cluster: &Cluster, rect: Option<&Rect>) -> Html {
    let page = look.page;
    let plane = &cluster.control_plane;
    let down = card_state(&plane.controller_managers);
    let title = if rect.is_none() {
        page.t(lang::CONTROLLERS)
    } else if look.compact() {
        "controller-manager"
    } else {
        "kube-controller-manager"
    };
    let first = plane.controller_managers.first().map_or("kube-controller-manager", |p| p.name.as_str());
    let leading = leading(&plane.controller_managers, &plane.controller_manager_lease).unwrap_or(first);
    let rows = if look.compact() { 2 } else { 4 };
    let per_row = if look.room == Room::Wide { 3 } else { 2 };
    let places = rows * per_row;
    let more = plane.loops.len().saturating_sub(if plane.loops.len() > places { places - 1 } else { places });
    let shown = plane.loops.len() - more;
    html! {
        <section class={classes!("card", "at", "managers", down.map(|_| "down"), look.is_component(leading).then_some("sel"))} style={rect.map(Rect::style)}
            aria-label="kube-controller-manager">
            <div class="ct"><h3><button type="button" onclick={look.component(leading)}>{ title }</button></h3>
                <span class="r">
                    { bolt(page, Menu::card("kube-controller-manager"), "kube-controller-manager", false) }
                    if let Some(state) = down { { down_word(page, state) } }
                    else { { lease(look, &plane.controller_manager_lease, &plane.controller_managers) } }
                </span>
            </div>
            if !led(look, &plane.controller_managers, &plane.controller_manager_lease) {
                <div class="one idle">{ page.t(lang::NO_LOOPS) }</div>
            } else if look.compact() {
                <div class="one">{ for busiest(&plane.loops).into_iter().map(|l| {
                    let (class, count) = loop_look(l);
                    html! { <button type="button" class={class} title={loop_title(page.lang, l)} onclick={page.does(Action::Inspect(Subject::Loop { name: l.name.clone() }))}><b>{ &l.name }</b>{ " " }{ count }</button> }
                }) }</div>
            } else {
                <div class="loops">
                    { for plane.loops.iter().take(shown).map(|l| {
                        let (class, count) = loop_look(l);
                        let sel = matches!(look.selected, Some(Subject::Loop { name }) if *name == l.name);
                        html! {
                            <button type="button" class={classes!("loop", class, sel.then_some("sel"))} title={loop_title(page.lang, l)}
                                onclick={page.does(Action::Inspect(Subject::Loop { name: l.name.clone() }))}>
                                { icons::icon("loop") }<span>{ &l.name }</span>
                                if !count.is_empty() { <span class="q num">{ count }</span> }
                            </button>
                        }
                    }) }
                    if more > 0 {
                        <button type="button" class="loop" aria-haspopup="menu" onclick={open(page, Menu::loops())}>
                            <span>{ page.lang.pick(format!("{more} more"), format!("{more}개 더")) }</span>
                        </button>
                    }
                    { for (0..(per_row - (shown + usize::from(more > 0)) % per_row) % per_row).map(|_| html! { <span class="loop"></span> }) }
                </div>
            }
        </section>
    }
}

fn open(page: &Page, menu: Menu) -> Callback<MouseEvent> {
    let act = page.act.clone();
    Callback::from(move |event: MouseEvent| act.emit(Action::OpenMenu(menu.clone().at(&event))))
}

/// The two loops worth a line where there is little room.
fn busiest(loops: &[LoopView]) -> Vec<&LoopView> {
    let weight = |l: &&LoopView| {
        let (class, count) = loop_look(l);
        match class {
            "warn" => 3,
            "busy" | "short" => 2,
            _ if !count.is_empty() => 1,
            _ => 0,
        }
    };
    let mut sorted: Vec<&LoopView> = loops.iter().collect();
    sorted.sort_by_key(|l| std::cmp::Reverse(weight(l)));
    sorted.truncate(2);
    sorted
}

/// The state of a card whose processes are all down.
fn card_state(processes: &[ProcessView]) -> Option<ProcessState> {
    let up = processes.iter().any(|p| p.state == ProcessState::Running);
    (!up).then(|| processes.first().map(|p| p.state)).flatten()
}

fn leading<'a>(processes: &'a [ProcessView], lease: &LeaseView) -> Option<&'a str> {
    processes.iter().find(|p| p.host == lease.holder).map(|p| p.name.as_str())
}

/// The scheduler: the pod it deals with and the nodes' scores or refusals.
pub fn scheduler(look: Look, cluster: &Cluster, rect: Option<&Rect>) -> Html {
    let page = look.page;
    let plane = &cluster.control_plane;
    let s = &plane.scheduling;
    let down = card_state(&plane.schedulers);
    let title = if rect.is_none() {
        page.t(lang::SCHEDULER)
    } else if look.compact() {
        "scheduler"
    } else {
        "kube-scheduler"
    };
    let first = plane.schedulers.first().map_or("kube-scheduler", |p| p.name.as_str());
    let leading = leading(&plane.schedulers, &plane.scheduler_lease).unwrap_or(first);
    let pod = cluster.pods.values().find(|p| p.name == s.pod && p.namespace == s.namespace);
    // Some seconds after a pod was bound there is nothing to place.
    let fresh = look.now.saturating_sub(s.at) < 30_000_000_000 || s.phase == SchedulingPhase::Unschedulable;
    let led = led(look, &plane.schedulers, &plane.scheduler_lease);
    let nothing = match (led, s.waiting.is_empty()) {
        (false, _) => lang::NO_SCHEDULER,
        (true, true) => lang::NOTHING_TO_PLACE,
        (true, false) => lang::WAITING,
    };
    let head = match s.phase {
        SchedulingPhase::Idle => lang::NOTHING_TO_PLACE,
        SchedulingPhase::Scheduling => lang::SCHEDULING,
        SchedulingPhase::Binding => lang::BINDING,
        SchedulingPhase::Unschedulable => lang::UNSCHEDULABLE,
        SchedulingPhase::Bound => lang::LAST_BOUND,
    };
    let busy =
        matches!(s.phase, SchedulingPhase::Scheduling | SchedulingPhase::Binding | SchedulingPhase::Unschedulable);
    let mut heading = page.t(head).to_string();
    if s.binds_per_second > 5 {
        heading = page.lang.pick(
            format!("{}, {} pods/s", page.t(lang::BINDING), s.binds_per_second),
            format!("{}, 초당 {}개", page.t(lang::BINDING), s.binds_per_second),
        );
    }
    let (evaluated, feasible) = (s.evaluated, s.feasible);
    let verdict = if s.phase == SchedulingPhase::Unschedulable {
        page.lang.pick(format!("Filter {feasible} of {evaluated}"), format!("필터 {feasible}/{evaluated}"))
    } else if s.scores.is_empty() {
        page.lang.pick(
            format!("Filter {feasible} of {evaluated}: no score needed"),
            format!("필터 {feasible}/{evaluated}, 점수 생략"),
        )
    } else {
        page.lang.pick(
            format!("Filter {feasible} of {evaluated}, then score"),
            format!("필터 {feasible}/{evaluated}, 이어서 점수"),
        )
    };
    let best = s.scores.first().map_or(1, |x| x.score).max(1);
    let chip = || match pod {
        Some(pod) => super::controls::chip(page, pod, super::controls::is_pod(look.selected, pod), None, false, false),
        None if s.pod.is_empty() => Html::default(),
        None => html! { <span class="chip ghost s-succeeded"><span class="nm">{ &s.pod }</span></span> },
    };
    // In a middling room the nodes stand under the pod, and others that wait take the room of one of them.
    let others = cluster.unplaced().iter().any(|p| p.name != s.pod || p.namespace != s.namespace);
    let nodes = if look.room == Room::Medium && others { 2 } else { 3 };
    let rows = || {
        if s.phase == SchedulingPhase::Unschedulable {
            s.rejections.iter().take(nodes).map(|r| html! {
                <div class="score no" title={format!("{}: {}", r.plugin, r.reason)}><span>{ &r.node }</span><span class="why">{ &r.reason }</span></div>
            }).collect::<Html>()
        } else {
            s.scores.iter().take(nodes).enumerate().map(|(i, x)| html! {
                <div class={classes!("score", (i == 0).then_some("win"))}><span>{ &x.node }</span>
                    <span class="bar"><i style={format!("width:{}%", (x.score.max(0) * 84 / best).clamp(0, 100))}></i></span>
                    <span class="v num">{ x.score }</span></div>
            }).collect::<Html>()
        }
    };
    html! {
        <section class={classes!("card", "at", "scheduler", down.map(|_| "down"), look.is_component(leading).then_some("sel"))} style={rect.map(Rect::style)}
            aria-label="kube-scheduler">
            <div class="ct"><h3><button type="button" onclick={look.component(leading)}>{ title }</button></h3>
                <span class="r">
                    { bolt(page, Menu::card("kube-scheduler"), "kube-scheduler", false) }
                    if let Some(state) = down { { down_word(page, state) } }
                    else { { lease(look, &plane.scheduler_lease, &plane.schedulers) } }
                </span>
            </div>
            if look.compact() {
                <div class="one">
                    if s.pod.is_empty() || !led {
                        <span>{ page.t(nothing) }</span>
                        { waiting(look, cluster) }
                    } else {
                        <button type="button" onclick={pod.map(|p| page.does(Action::Inspect(pod_subject(p))))}>{ heading }{ " " }<b class="mono">{ format::short_target(&format!("pods/{}", s.pod)).trim_start_matches("pods/").to_string() }</b></button>
                        if let Some(x) = s.scores.first() { <span><b>{ &x.node }</b>{ format!(" {} ", x.score) }<span class="dim num">{ s.scores.iter().skip(1).map(|x| x.score.to_string()).collect::<Vec<_>>().join(" ") }</span></span> }
                        else if let Some(r) = s.rejections.first() { <span class="bad">{ format!("{}: {}", r.node, r.reason) }</span> }
                    }
                </div>
            } else if s.pod.is_empty() || !fresh || !led {
                <div class="sched"><div class="col"><h4><b>{ page.t(nothing) }</b></h4>
                    if !s.pod.is_empty() { <span class="dim">{ page.lang.pick(format!("last bind {}", format::clock(page.epoch, s.at)), format!("마지막 바인딩 {}", format::clock(page.epoch, s.at))) }</span> }
                    { waiting(look, cluster) }
                </div><div class="col"></div>{ queues(look, cluster) }</div>
            } else {
                <div class="sched">
                    <div class="col"><h4>if busy { <b>{ heading }</b> } else { { heading } }</h4>{ chip() }{ waiting(look, cluster) }</div>
                    <div class="col"><h4>{ verdict }</h4>{ rows() }</div>
                    { queues(look, cluster) }
                </div>
            }
        </section>
    }
}

/// Pods that wait for a node, besides the one the scheduler shows: the first with its name and reason, the others a dot
/// each.
fn waiting(look: Look, cluster: &Cluster) -> Html {
    let page = look.page;
    let s = &cluster.control_plane.scheduling;
    let mut pods = cluster.unplaced();
    pods.retain(|p| p.name != s.pod || p.namespace != s.namespace);
    let reason = |pod: &PodView| {
        let told = s.waiting.iter().find(|w| w.name == pod.name && w.namespace == pod.namespace);
        told.map(|w| w.reason.as_str()).filter(|r| !r.is_empty()).unwrap_or(page.t(lang::NOT_TRIED)).to_string()
    };
    // One that was refused says more than one whose turn has not come.
    pods.sort_by_key(|p| !s.waiting.iter().any(|w| w.name == p.name && !w.reason.is_empty()));
    let Some(first) = pods.first() else { return Html::default() };
    let dots = if look.room == Room::Wide { 4 } else { 3 };
    let one = |pod: &Rc<PodView>, named: bool| {
        let why = reason(pod);
        let selected = super::controls::is_pod(look.selected, pod).then_some("sel");
        html! {
            <button type="button" key={pod.id} class={classes!(if named { "waiter" } else { "dot" }, format!("s-{}", icons::state_name(pod.state)), selected)}
                title={format!("{}: {why}", pod.name)} aria-label={format!("Pod {}, {}, {why}", pod.name, pod.status)}
                onclick={page.does(Action::Inspect(pod_subject(pod)))}>{ icons::shape(pod.state) }
                if named { <b class="mono">{ format!("{}:", format::suffix(&pod.name)) }</b><span>{ why }</span> }
            </button>
        }
    };
    html! {
        <div class="waitrow" aria-label={page.t(lang::PENDING_PODS)} role="group">
            { one(first, true) }
            { for pods.iter().skip(1).take(dots).map(|pod| one(pod, false)) }
            if pods.len() > dots + 1 { <span class="dim num">{ format!("+{}", pods.len() - dots - 1) }</span> }
        </div>
    }
}

fn queues(look: Look, cluster: &Cluster) -> Html {
    let s = &cluster.control_plane.scheduling;
    if look.room == Room::Medium {
        return Html::default();
    }
    html! {
        <div class="queues"><span>{ "active " }<b class="num">{ s.active }</b></span><span>{ "backoff " }<b class="num">{ s.backoff }</b></span>
            <span>{ "unschedulable " }<b class="num">{ s.unschedulable }</b></span></div>
    }
}

/// The cloud controller manager: a strip with its own lease.
pub fn cloud(look: Look, cluster: &Cluster, rect: &Rect) -> Html {
    let plane = &cluster.control_plane;
    html! {
        <section class="card at" style={rect.style()} aria-label="cloud-controller-manager">
            <div class="ct strip">{ "cloud-controller-manager" }
                <span class="r">{ lease(look, &plane.cloud_controller_manager_lease, &plane.cloud_controller_managers) }</span></div>
        </section>
    }
}
