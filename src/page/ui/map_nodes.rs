//! A node's card: conditions, capacity, pods.

use super::controls::{chip, is_pod, mini, node_subject, pod_subject};
use super::map_cards::{Look, bolt};
use super::menus::Menu;
use super::{Action, Page, icons};
use crate::cluster::{self, NodeHealth, Segment};
use crate::format;
use crate::lang;
use crate::layout::{PodSize, Rect, Room, pod_size};
use std::rc::Rc;
use view::{NodeTimerKind, NodeView, PodState, PodView, ProcessState, Subject};
use yew::prelude::*;

/// The status word on a chip, in the reader's language where it is not Kubernetes' own reason.
pub fn status(page: &Page, pod: &PodView) -> Option<String> {
    Some(match pod.state {
        PodState::Ready | PodState::Succeeded if pod.restarts == 0 => return None,
        PodState::Creating if pod.pulling => page.t(lang::PULLING).to_string(),
        PodState::Running => page.t(lang::RUNNING).to_string(),
        PodState::Ready => return None,
        PodState::Terminating => page.t(lang::TERMINATING).to_string(),
        PodState::Unknown => page.t(lang::NO_REPORT).to_string(),
        _ => pod.status.clone(),
    })
}

/// A node's card.
pub fn node(look: Look, node: &NodeView, pods: &[Rc<PodView>], rect: Option<&Rect>) -> Html {
    let page = look.page;
    let health = cluster::health(node, look.now);
    let off = node.machine == ProcessState::Stopped;
    let cut = node.machine == ProcessState::CutOff;
    let lost = health == NodeHealth::NotReady;
    let compact = look.room == Room::Compact && rect.is_some();
    let selected = matches!(look.selected, Some(Subject::Object(o)) if o.kind == "Node" && o.name == node.name);
    let (word, class) = match health {
        NodeHealth::Ready => ("Ready", "ok"),
        NodeHealth::Silent => ("Ready", "warn"),
        NodeHealth::NotReady => ("NotReady", "bad"),
    };
    let mark = match health {
        NodeHealth::Ready => {
            html! { <svg width="8" height="8" aria-hidden="true"><circle cx="4" cy="4" r="3.5" fill="var(--good-mark)"/></svg> }
        }
        NodeHealth::Silent => {
            html! { <svg width="9" height="9" viewBox="0 0 9 9" aria-hidden="true"><path d="M4.5 .5 8.5 8H.5z" fill="var(--warn-mark)"/></svg> }
        }
        NodeHealth::NotReady => {
            html! { <svg width="9" height="9" viewBox="0 0 9 9" aria-hidden="true"><path d="M1 1l7 7m0-7-7 7" stroke="var(--bad-mark)" stroke-width="2"/></svg> }
        }
    };
    let silence = look.now.saturating_sub(node.heartbeat_at);
    let own: Vec<&Rc<PodView>> = pods.iter().filter(|p| !cluster::is_household(p)).collect();
    let household: Vec<&Rc<PodView>> = pods.iter().filter(|p| cluster::is_household(p)).collect();
    let size = match rect {
        Some(r) => pod_size(r.w, r.h, head(node), own.len(), household.len()),
        None if own.len() <= 8 => PodSize::Chips,
        None => PodSize::Minis,
    };
    html! {
        <section class={classes!("card", "node", "at", lost.then_some("lost"), selected.then_some("sel"), rect.is_none().then_some("mn"))}
            style={rect.map(Rect::style)} aria-label={node.name.clone()}>
            <div class="ct">{ icons::sized("node", "s14") }
                <h3><button type="button" onclick={page.does(Action::Inspect(node_subject(&node.name)))}>{ &node.name }</button></h3>
                if !node.zone.is_empty() { <span class="zn">{ &node.zone }</span> }
                <span class={classes!("cond", class)}>{ mark }<span class={compact.then_some("sr")}>{ word }</span></span>
                <span class="r">
                    { bolt(page, Menu::node(&node.name), &node.name, node.faulty || off || cut) }
                    <span class="hb" title={page.t(lang::LAST_HEARTBEAT)}>
                        <svg class={classes!("i", "s12", (silence < cluster::SILENT_AFTER && !off).then_some("beat"))} viewBox="0 0 16 16" aria-hidden="true"><path d="M1.5 8h3l1.5-4 3 8 1.75-4h3.75"/></svg>
                        <span class="sr">{ page.t(lang::LAST_HEARTBEAT) }</span><span class="num">{ format::age(page.lang, silence) }</span>
                    </span>
                </span>
            </div>
            if node.timers.is_empty() { { bars(page, node, pods) } } else { { timers(look, node) } }
            { tags(page, node, off, cut) }
            <div class={classes!("pods", (size == PodSize::Dots).then_some("dots"))}>
                if pods.is_empty() && !lost && !off { <p class="nopods">{ page.t(lang::NO_PODS) }</p> }
                { for own.iter().map(|pod| one(look, node, pod, size, compact)) }
                if !household.is_empty() {
                    <div class="ns">{ namespaces(&household) }</div>
                    <div class="minis">{ for household.iter().map(|pod| {
                        let mut name = format::short_name(&pod.name, &pod.owner);
                        if compact { name = short_household(&name); }
                        mini(page, pod, name, is_pod(look.selected, pod))
                    }) }</div>
                }
            </div>
        </section>
    }
}

/// Height of what stands above a card's pods.
pub fn head(node: &NodeView) -> f64 {
    let bars = if node.timers.is_empty() { 40.0 } else { 14.0 + 25.0 * node.timers.len() as f64 };
    32.0 + bars + if has_tags(node) { 22.0 } else { 0.0 }
}

fn short_household(name: &str) -> String {
    let name = name.strip_prefix("kube-").unwrap_or(name);
    let name = name.strip_prefix("core").unwrap_or(name);
    name.split("-…").next().unwrap_or(name).to_string()
}

fn namespaces(pods: &[&Rc<PodView>]) -> String {
    let mut names: Vec<&str> = pods.iter().map(|p| p.namespace.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn one(look: Look, node: &NodeView, pod: &Rc<PodView>, size: PodSize, compact: bool) -> Html {
    let page = look.page;
    let selected = is_pod(look.selected, pod);
    let assumed = pod.node.is_none() && pod.assumed == Some(node.id);
    match size {
        PodSize::Chips => {
            let word = if assumed { Some(page.t(lang::ASSUMED).to_string()) } else { status(page, pod) };
            let word = word.filter(|_| !compact);
            html! { <div key={pod.id}>{ chip(page, pod, selected, word.as_deref(), assumed, !assumed) }</div> }
        }
        PodSize::Minis => {
            html! { <div class="in" key={pod.id}>{ mini(page, pod, format::suffix(&pod.name).to_string(), selected) }</div> }
        }
        PodSize::Dots => {
            let class = classes!("dot", format!("s-{}", icons::state_name(pod.state)), selected.then_some("sel"));
            html! {
                <button type="button" key={pod.id} {class} title={format!("{} {}", pod.name, pod.status)}
                    aria-label={format!("Pod {}, {}", pod.name, pod.status)}
                    onclick={page.does(Action::Inspect(pod_subject(pod)))}>{ icons::shape(pod.state) }</button>
            }
        }
    }
}

fn bars(page: &Page, node: &NodeView, pods: &[Rc<PodView>]) -> Html {
    let cpu = cluster::requested(pods, |p| p.cpu_milli);
    let memory = cluster::requested(pods, |p| p.memory_mi);
    let bar = |name: &'static str, segments: Vec<Segment>, value: (String, String), percent: u32| {
        let label = page.lang.pick(format!("{name}: {percent}% requested"), format!("{name}: {percent}% 요청됨"));
        html! {
            <div class="cap"><span aria-hidden="true">{ name }</span>
                <span class="track" role="img" aria-label={label}>{ for segments.into_iter().map(|s| html! { <i class={s.class} style={format!("width:{:.2}%", s.percent)}></i> }) }</span>
                <span class="v num">{ value.0 }<span>{ format!(" / {}", value.1) }</span></span></div>
        }
    };
    let percent =
        |part: u32, whole: u32| if whole == 0 { 0 } else { (u64::from(part) * 100 / u64::from(whole)) as u32 };
    html! { <>
        { bar("cpu", cluster::capacity(node, pods, |p| p.cpu_milli, node.cpu_milli),
            (format::cores(cpu), format::cores_capacity(node.cpu_milli)), percent(cpu, node.cpu_milli)) }
        { bar("mem", cluster::capacity(node, pods, |p| p.memory_mi, node.memory_mi),
            (format::gibibytes(memory), format!("{} Gi", format::gibibytes(node.memory_mi))), percent(memory, node.memory_mi)) }
    </> }
}

fn timers(look: Look, node: &NodeView) -> Html {
    let page = look.page;
    let lang = page.lang;
    html! {
        <div class="timers">{ for node.timers.iter().map(|t| {
            let whole = t.at.saturating_sub(t.since).max(1);
            let gone = look.now.saturating_sub(t.since);
            let left = t.at.saturating_sub(look.now);
            let grace = format::whole(lang, whole);
            let percent = (gone as f64 * 100.0 / whole as f64).min(100.0);
            let (what, value, class) = match &t.what {
                NodeTimerKind::Silence => (
                    if left == 0 {
                        // Nobody marks it: no controller manager leads.
                        html! { { lang.pick(format!("Silent, grace of {grace} over"), format!("응답 없음, 유예 {grace} 지남")) } }
                    } else {
                        html! { { lang.pick(format!("Silent, grace {grace}"), format!("응답 없음, 유예 {grace}")) } }
                    },
                    format::age(lang, gone),
                    if left == 0 { "" } else { "warn" },
                ),
                NodeTimerKind::Eviction { taint, .. } => {
                    let short = taint.rsplit('/').next().unwrap_or(taint).to_string();
                    (
                        html! { <>{ "Taint " }<b class="mono">{ short }</b>{ lang.pick(format!(", tolerated {grace}"), format!(", {grace} 허용")) }</> },
                        lang.pick(format!("evicts in {}", format::span(lang, left)), format!("{} 뒤 축출", format::span(lang, left))),
                        "warn",
                    )
                }
            };
            html! {
                <div class="timer"><span>{ what }</span><span class="v num">{ value }</span>
                    <span class="bar"><i class={class} style={format!("width:{percent:.1}%")}></i></span></div>
            }
        }) }</div>
    }
}

fn shown_taints(node: &NodeView) -> impl Iterator<Item = &String> {
    node.taints.iter().filter(|t| !t.starts_with("node.kubernetes.io/"))
}

fn has_tags(node: &NodeView) -> bool {
    shown_taints(node).next().is_some()
        || !node.labels.is_empty()
        || !node.pressures.is_empty()
        || node.cordoned
        || node.machine != ProcessState::Running
        || node.kubelet == ProcessState::Stopped
}

fn tags(page: &Page, node: &NodeView, off: bool, cut: bool) -> Html {
    if !has_tags(node) {
        return Html::default();
    }
    html! {
        <div class="tagrow">
            if off { <span class="taint badtag">{ page.t(lang::POWERED_OFF) }</span> }
            else if cut { <span class="taint badtag">{ page.t(lang::CUT_OFF) }</span> }
            else if node.kubelet == ProcessState::Stopped { <span class="taint badtag">{ format!("kubelet {}", page.t(lang::STOPPED)) }</span> }
            if node.cordoned { <span class="taint">{ page.t(lang::CORDONED) }</span> }
            { for node.pressures.iter().map(|p| html! { <span class="taint badtag">{ p }</span> }) }
            { for shown_taints(node).map(|t| html! { <span class="taint">{ t }</span> }) }
            { for node.labels.iter().take(3).map(|l| html! { <span class="lbl">{ l }</span> }) }
        </div>
    }
}
