//! The dock: controller logs, events, requests, timeline.

use super::controls::{closest, tab, tab_keys, use_size};
use super::timeline::Timeline;
use super::{Action, Held, Page, icons, use_page};
use crate::format;
use crate::klog::{self, PieceKind};
use crate::lang::{self, Text};
use crate::query::Panel;
use std::collections::VecDeque;
use std::rc::Rc;
use view::{
    EventRow, FaultView, LogCause, LogFilter, LogLine, RequestRow, Severity, Subject, TimelineEntry, TimerView,
};
use wasm_bindgen::JsCast;
use yew::prelude::*;

/// Props of [`Dock`].
#[derive(Properties, PartialEq)]
pub struct DockProps {
    /// The open panel.
    pub open: Panel,
    /// The panels to choose from.
    pub panels: Vec<Panel>,
    /// Log lines.
    pub logs: Held<VecDeque<Rc<LogLine>>>,
    /// Their filter.
    pub filter: LogFilter,
    /// The end is followed.
    pub follow: bool,
    /// Events.
    pub events: Held<Vec<EventRow>>,
    /// How many there are.
    pub event_count: u32,
    /// Requests.
    pub requests: Held<VecDeque<RequestRow>>,
    /// How many there were.
    pub request_count: u64,
    /// The run.
    pub timeline: Held<VecDeque<TimelineEntry>>,
    /// What will come.
    pub timers: Held<Vec<TimerView>>,
    /// Faults that stand.
    pub faults: Held<Vec<FaultView>>,
    /// Virtual time in steps of a quarter of a second.
    pub now: u64,
    /// The selection: its lines are lit.
    pub selected: Option<Subject>,
    /// A phone: filters take a line of their own.
    pub phone: bool,
}

const PANELS: [(Panel, &str, Text); 4] = [
    (Panel::Logs, "dock-logs", lang::CONTROLLER_LOGS),
    (Panel::Events, "dock-events", lang::EVENTS),
    (Panel::Requests, "dock-requests", lang::REQUESTS),
    (Panel::Timeline, "dock-timeline", lang::TIMELINE),
];

/// The dock.
#[component]
pub fn Dock(props: &DockProps) -> Html {
    let page = use_page();
    let tabs = PANELS.iter().filter(|(p, ..)| props.panels.contains(p)).map(|(panel, id, text)| {
        let text = if props.phone && *panel == Panel::Logs { lang::LOGS } else { *text };
        let count = match panel {
            Panel::Events => Some(u64::from(props.event_count)),
            Panel::Requests => Some(props.request_count),
            _ => None,
        };
        let name = if text == lang::CONTROLLER_LOGS {
            html! { <><span class="long">{ page.t(text) }</span><span class="brief">{ page.t(lang::LOGS) }</span></> }
        } else {
            html! { { page.t(text) } }
        };
        let label = html! { <>{ name }if let Some(count) = count.filter(|c| *c > 0) { <span class="count num">{ format::count(count) }</span> }</> };
        tab(id, *panel == props.open, page.does(Action::Show(*panel)), label)
    });
    let id = PANELS.iter().find(|(p, ..)| *p == props.open).map_or("dock-logs", |(_, id, _)| *id);
    let wrap = use_state(|| false);
    let on_wrap = {
        let wrap = wrap.clone();
        Callback::from(move |_: MouseEvent| wrap.set(!*wrap))
    };
    let filters = html! { <Filters filter={props.filter.clone()} follow={props.follow} wrap={*wrap} {on_wrap}/> };
    let body = match props.open {
        Panel::Events => events(&page, &props.events),
        Panel::Requests => requests(&page, &props.requests),
        Panel::Timeline => {
            html! { <Timeline timeline={props.timeline.clone()} timers={props.timers.clone()} faults={props.faults.clone()} now={props.now}/> }
        }
        _ => {
            html! { <Logs logs={props.logs.clone()} follow={props.follow} wrap={*wrap} selected={props.selected.clone()}/> }
        }
    };
    html! {
        <section class="dock" aria-label={page.t(lang::DOCK)}>
            <div class="tabs">
                <div class="tablist" role="tablist" onkeydown={tab_keys()}>{ for tabs }</div>
                if props.open == Panel::Logs && !props.phone { <span class="tools">{ filters.clone() }</span> }
            </div>
            if props.open == Panel::Logs && props.phone { <div class="filters">{ filters }</div> }
            <div class="panel" role="tabpanel" id={format!("{id}-panel")} aria-labelledby={id}>{ body }</div>
        </section>
    }
}

/// Props of [`Filters`].
#[derive(Properties, PartialEq)]
pub struct FilterProps {
    /// The filter.
    pub filter: LogFilter,
    /// The end is followed.
    pub follow: bool,
    /// Long lines are shown whole.
    pub wrap: bool,
    /// Shows them so, or not.
    pub on_wrap: Callback<MouseEvent>,
}

const COMPONENTS: [&str; 7] =
    ["kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "containerd"];
const CONTROLLERS: [&str; 11] = [
    "deployment",
    "replicaset",
    "endpoints",
    "endpointslice",
    "serviceaccount",
    "namespace",
    "garbage-collector",
    "node-lifecycle",
    "taint-eviction",
    "pod-garbage-collector",
    "root-ca-certificate-publisher",
];
const LEVELS: [(Severity, Text); 4] = [
    (Severity::Verbose, lang::LEVEL_ALL),
    (Severity::Info, lang::LEVEL_INFO),
    (Severity::Warning, lang::LEVEL_WARNING),
    (Severity::Error, lang::LEVEL_ERROR),
];

#[component]
fn Filters(props: &FilterProps) -> Html {
    let page = use_page();
    let change = |f: fn(&mut LogFilter, String)| {
        let (act, filter) = (page.act.clone(), props.filter.clone());
        move |event: Event| {
            let Some(target) = event.target() else { return };
            let value = match target.dyn_into::<web_sys::HtmlSelectElement>() {
                Ok(select) => select.value(),
                Err(target) => target.dyn_into::<web_sys::HtmlInputElement>().map(|i| i.value()).unwrap_or_default(),
            };
            let mut filter = filter.clone();
            f(&mut filter, value);
            act.emit(Action::Filter(filter));
        }
    };
    let component = change(|filter, value| {
        let (component, part) = value.split_once('/').unwrap_or((&value, ""));
        filter.component = component.to_string();
        filter.part = part.to_string();
    });
    let level = change(|filter, value| {
        filter.least = LEVELS.get(value.parse::<usize>().unwrap_or(1)).map_or(Severity::Info, |l| l.0);
    });
    let text = change(|filter, value| filter.text = value.trim().to_string());
    let ontext = {
        let text = text.clone();
        Callback::from(move |event: InputEvent| text(event.into()))
    };
    let chosen = if props.filter.part.is_empty() {
        props.filter.component.clone()
    } else {
        format!("{}/{}", props.filter.component, props.filter.part)
    };
    let follow = !props.follow;
    html! { <>
        <select class="pick" aria-label={page.t(lang::COMPONENT)} onchange={Callback::from(component)}>
            <option value="" selected={chosen.is_empty()}>{ page.t(lang::ALL_COMPONENTS) }</option>
            { for COMPONENTS.iter().map(|c| html! { <option value={*c} selected={chosen == *c}>{ *c }</option> }) }
            <optgroup label={page.t(lang::CONTROLLERS)}>
                { for CONTROLLERS.iter().map(|c| { let value = format!("kube-controller-manager/{c}"); html! { <option value={value.clone()} selected={chosen == value}>{ *c }</option> } }) }
            </optgroup>
        </select>
        <select class="pick" aria-label={page.t(lang::SEVERITY)} onchange={Callback::from(level)}>
            { for LEVELS.iter().enumerate().map(|(i, (l, t))| html! { <option value={i.to_string()} selected={props.filter.least == *l}>{ page.t(*t) }</option> }) }
        </select>
        <label class="pick search">{ icons::sized("search", "s12") }<span class="sr">{ page.t(lang::FILTER) }</span>
            <input type="search" placeholder={page.t(lang::FILTER)} value={props.filter.text.clone()} oninput={ontext}/></label>
        <button type="button" class={classes!("btn", "small", "icon", props.wrap.then_some("on"))} aria-pressed={props.wrap.to_string()}
            aria-label={page.t(lang::WRAP)} title={page.t(lang::WRAP_LONG)} onclick={&props.on_wrap}>{ icons::sized("wrap", "s14") }</button>
        <button type="button" class={classes!("btn", "small", props.follow.then_some("on"))} aria-pressed={props.follow.to_string()}
            onclick={page.does(Action::Follow(follow))}>{ icons::sized("follow", "s12") }<span class="word">{ page.t(lang::FOLLOW) }</span></button>
    </> }
}

/// Props of [`Logs`].
#[derive(Properties, PartialEq)]
pub struct LogsProps {
    logs: Held<VecDeque<Rc<LogLine>>>,
    follow: bool,
    wrap: bool,
    selected: Option<Subject>,
}

/// Rows drawn at once: what lies further back is drawn when the reader scrolls there.
const DRAWN: usize = 200;
/// A row's height in CSS pixels.
const ROW: f64 = 18.0;
/// Rows drawn while the log's end is followed.
const FOLLOWED: usize = 40;
/// Of those, rows drawn above the ones in view while lines rush by: enough to begin to scroll back.
const ABOVE: usize = 8;

#[component]
fn Logs(props: &LogsProps) -> Html {
    let page = use_page();
    let node = use_node_ref();
    let more = use_state(|| DRAWN);
    let (_, height) = use_size(node.clone());
    let top = use_mut_ref(|| 0);
    let onscroll = {
        let (act, follow, more, all) = (page.act.clone(), props.follow, more.clone(), props.logs.len());
        Callback::from(move |event: Event| {
            let Some(e) = event.target().and_then(|t| t.dyn_into::<web_sys::HtmlElement>().ok()) else { return };
            let at_end = e.scroll_top() + e.client_height() + 24 >= e.scroll_height();
            if e.scroll_top() < 40 && *more < all {
                more.set(*more + DRAWN);
            }
            // Lines that came meanwhile push the end away too: only who scrolls back stops following.
            let back = e.scroll_top() < std::mem::replace(&mut *top.borrow_mut(), e.scroll_top());
            if follow && !at_end && back {
                act.emit(Action::Follow(false));
            } else if !follow && at_end && e.scroll_height() > e.client_height() {
                act.emit(Action::Follow(true));
                more.set(DRAWN);
            }
        })
    };
    // Lines rush by when twice in a row more came than are drawn out of view.
    let past = use_mut_ref(|| (0, false));
    let rush = use_memo(props.logs.clone(), |logs| {
        let (seen, rushed) = &mut *past.borrow_mut();
        let fresh = logs.iter().rev().take(ABOVE + 1).take_while(|l| l.number > *seen).count();
        *seen = logs.back().map_or(0, |l| l.number);
        let rushes = fresh > ABOVE;
        std::mem::replace(rushed, rushes) && rushes
    });
    let drawn = match (props.follow, *rush) {
        (false, _) => *more,
        (true, false) => FOLLOWED,
        (true, true) => ((height / ROW) as usize + ABOVE).min(FOLLOWED),
    };
    let skip = props.logs.len().saturating_sub(drawn);
    // Where as many rows take the place of others the end stays where it is: to look for it would have the browser lay
    // out the page once more.
    let rush = *rush && !props.wrap;
    {
        let node = node.clone();
        let logs = (!rush).then(|| props.logs.clone());
        use_effect_with((logs, drawn, props.follow), move |(_, _, follow)| {
            if let Some(e) = node.cast::<web_sys::HtmlElement>().filter(|_| *follow) {
                e.set_scroll_top(e.scroll_height());
            }
        });
    }
    let row = |(at, line): (usize, &Rc<LogLine>)| {
        let lit = is_about(line, props.selected.as_ref());
        // Rows that rush by keep their elements: only the texts in them change.
        let key = if rush { at as u64 } else { line.number };
        html! { <Row {key} line={Held(line.clone())} {lit} plain={rush}/> }
    };
    html! {
        <div class={classes!("log", props.wrap.then_some("wrap"))} ref={node} {onscroll} tabindex="0" role="log" aria-live="off" aria-label={page.t(lang::CONTROLLER_LOGS)}>
            if props.logs.is_empty() { <p class="none">{ page.t(lang::NO_LOGS) }</p> }
            { for props.logs.iter().skip(skip).enumerate().map(row) }
        </div>
    }
}

fn is_about(line: &LogLine, selected: Option<&Subject>) -> bool {
    match selected {
        Some(Subject::Object(o)) => {
            line.object.as_ref() == Some(o) || (o.name.len() > 3 && line.text.contains(&o.name))
        }
        Some(Subject::Loop { name }) => line.part == *name,
        Some(Subject::Component { .. }) | None => false,
    }
}

/// Props of [`Row`].
#[derive(Properties, PartialEq)]
pub struct RowProps {
    line: Held<LogLine>,
    lit: bool,
    /// Nobody can read it before it is gone: no links, no more text than is seen.
    plain: bool,
}

/// Characters of a row's text that are seen on a wide screen.
const SEEN: usize = 240;

#[component]
fn Row(props: &RowProps) -> Html {
    let page = use_page();
    let line = &props.line;
    let open = use_state(|| false);
    let class = match line.severity {
        Severity::Warning => Some("w"),
        Severity::Error | Severity::Fatal => Some("e"),
        _ => None,
    };
    if props.plain {
        let end = line.text.char_indices().nth(SEEN).map_or(line.text.len(), |(end, _)| end);
        return html! {
            <div class={classes!("r", class, props.lit.then_some("hl"))}>
                <span class="lv">{ line.severity.letter() }</span><span class="tm num">{ format::clock_full(page.epoch, line.at) }</span>
                <span class="co">{ klog::component_label(line) }</span><span class="ms">{ line.text.get(..end).unwrap_or_default().to_string() }</span>
            </div>
        };
    }
    let mut key = String::new();
    let pieces: Vec<Html> = klog::pieces(&line.text)
        .into_iter()
        .map(|piece| match piece.kind {
            PieceKind::Key => {
                key.clone_from(&piece.text);
                html! { <span class="k">{ piece.text }</span> }
            }
            PieceKind::Object => match klog::object_of(&key, &piece.text) {
                Some(object) => html! { <button type="button" class="ob" tabindex="-1" onclick={page.does(Action::Inspect(Subject::Object(object)))}>{ piece.text }</button> },
                None => html! { { piece.text } },
            },
            PieceKind::Plain => html! { { piece.text } },
        })
        .collect();
    let cause = match &line.cause {
        LogCause::None => String::new(),
        LogCause::Revision(revision) => format!("← rev {revision}"),
        LogCause::Command(command) => format!("← {command}"),
        LogCause::Fault => format!("← {}", page.lang.pick("fault", "장애")),
    };
    let onclick = {
        let (open, act) = (open.clone(), page.act.clone());
        Callback::from(move |event: MouseEvent| {
            // A link goes where it leads, and text that was marked stays marked.
            let marked = web_sys::window().and_then(|w| w.get_selection().ok()?).is_some_and(|s| !s.is_collapsed());
            if marked || closest(&event, "button").is_some() {
                return;
            }
            if !*open {
                act.emit(Action::Follow(false));
            }
            open.set(!*open);
        })
    };
    let subject = line.object.clone().map(Subject::Object);
    let cause = match subject {
        Some(subject) if !cause.is_empty() => {
            html! { <button type="button" class="cz num" tabindex="-1" onclick={page.does(Action::Inspect(subject))}>{ cause }</button> }
        }
        _ => html! { <span class="cz num">{ cause }</span> },
    };
    html! {
        <div class={classes!("r", class, props.lit.then_some("hl"), open.then_some("open"))} title={klog::header(line, page.epoch)} {onclick}>
            <span class="lv">{ line.severity.letter() }</span><span class="tm num">{ format::clock_full(page.epoch, line.at) }</span>
            <span class="co">{ klog::component_label(line) }</span><span class="ms">{ for pieces }{ " " }<span class="src">{ &line.source }</span></span>{ cause }
        </div>
    }
}

fn events(page: &Page, events: &[EventRow]) -> Html {
    if events.is_empty() {
        return html! { <p class="none">{ page.t(lang::NO_EVENTS) }</p> };
    }
    let rows = events.iter().rev().map(|e| {
        let warning = (e.kind == "Warning").then_some("w");
        let object = Subject::Object(e.object.clone());
        html! {
            <tr class={warning}><td class="num">{ format::clock_full(page.epoch, e.at) }</td><td>{ &e.kind }</td><td><b>{ &e.reason }</b></td>
                <td><button type="button" class="ob" onclick={page.does(Action::Inspect(object))}>{ format!("{}/{}", e.object.kind.to_lowercase(), e.object.name) }</button></td>
                <td class="num">{ if e.count > 1 { format!("×{}", e.count) } else { String::new() } }</td><td class="dim">{ &e.from }</td><td class="wide" title={e.message.clone()}>{ &e.message }</td></tr>
        }
    });
    let heads: [&str; 7] = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "", "FROM", "MESSAGE"];
    html! { <div class="rows" tabindex="0"><table><thead><tr>{ for heads.iter().map(|h| html! { <th scope="col">{ *h }</th> }) }</tr></thead><tbody>{ for rows }</tbody></table></div> }
}

fn requests(page: &Page, requests: &VecDeque<RequestRow>) -> Html {
    if requests.is_empty() {
        return html! { <p class="none">{ page.t(lang::NO_REQUESTS) }</p> };
    }
    let rows = requests.iter().rev().take(200).map(|r| {
        let class = if r.code >= 500 { "e" } else if r.code >= 400 { "w" } else { "" };
        let target = match (r.namespace.is_empty(), r.name.is_empty()) {
            (true, true) => String::new(),
            (true, false) => r.name.clone(),
            (false, true) => format!("{}/", r.namespace),
            (false, false) => format!("{}/{}", r.namespace, r.name),
        };
        let target = match &r.subject {
            Some(subject) => html! { <button type="button" class="ob" onclick={page.does(Action::Inspect(subject.clone()))}>{ target }</button> },
            None => html! { { target } },
        };
        html! {
            <tr {class} key={r.number}><td class="num">{ format::clock_full(page.epoch, r.at) }</td><td>{ &r.user }</td><td><b>{ &r.verb }</b></td><td>{ &r.resource }</td>
                <td>{ target }</td><td class="num">{ r.code }</td><td class="num">{ format::latency(page.lang, r.latency_micros) }</td><td class="dim wide">{ &r.agent }</td></tr>
        }
    });
    let heads: [&str; 8] = ["TIME", "USER", "VERB", "RESOURCE", "NAME", "CODE", "LATENCY", "USER AGENT"];
    html! { <div class="rows" tabindex="0"><table><thead><tr>{ for heads.iter().map(|h| html! { <th scope="col">{ *h }</th> }) }</tr></thead><tbody>{ for rows }</tbody></table></div> }
}
