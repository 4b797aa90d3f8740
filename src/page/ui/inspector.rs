//! The inspector: what the selected thing is, and why.

use super::controls::{tab, tab_keys};
use super::{Action, Held, Page, icons, use_page, why};
use crate::format;
use crate::lang::{self, Text};
use crate::yaml;
use view::{ContainerLog, EventRow, FactGroup, Inspector as Shown, InspectorBody, InspectorTab, Subject};
use wasm_bindgen::JsCast;
use yew::prelude::*;

/// Props of [`Inspector`].
#[derive(Properties, PartialEq)]
pub struct InspectorProps {
    /// What is selected.
    pub subject: Subject,
    /// Which tab is open.
    pub open: InspectorTab,
    /// The world's answer, once it is there.
    pub shown: Option<Held<Shown>>,
    /// Virtual time in seconds.
    pub seconds: u64,
}

const TABS: [(InspectorTab, &str, Text); 6] = [
    (InspectorTab::Why, "insp-why", lang::TAB_WHY),
    (InspectorTab::Summary, "insp-summary", lang::TAB_SUMMARY),
    (InspectorTab::Describe, "insp-describe", lang::TAB_DESCRIBE),
    (InspectorTab::Yaml, "insp-yaml", lang::TAB_YAML),
    (InspectorTab::Events, "insp-events", lang::TAB_EVENTS),
    (InspectorTab::Logs, "insp-logs", lang::TAB_LOGS),
];

/// The inspector.
#[component]
pub fn Inspector(props: &InspectorProps) -> Html {
    let page = use_page();
    let (kind, place, name) = match &props.subject {
        Subject::Object(o) => (o.kind.clone(), o.namespace.clone(), o.name.clone()),
        Subject::Component { name } => (crate::klog::strip_number(name).to_string(), String::new(), name.clone()),
        Subject::Loop { name } => ("controller".to_string(), "kube-controller-manager".to_string(), name.clone()),
    };
    let now = props.seconds * 1_000_000_000;
    let head = props.shown.as_ref().map(|s| &s.head);
    let place = head.map_or(place, |h| h.namespace.clone());
    let kind = head.map(|h| h.kind.clone()).filter(|k| !k.is_empty()).unwrap_or(kind);
    let tabs: Vec<InspectorTab> = match &props.shown {
        Some(shown) if !shown.tabs.is_empty() => shown.tabs.clone(),
        _ => vec![InspectorTab::Why, InspectorTab::Summary],
    };
    let onkeydown = {
        let act = page.act.clone();
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Escape" {
                event.stop_propagation();
                act.emit(Action::CloseInspector);
            }
        })
    };
    let panel = TABS.iter().find(|(t, ..)| *t == props.open).map_or("insp-why", |(_, id, _)| *id);
    let body = match &props.shown {
        Some(shown) if tab_of(&shown.body) == props.open => body(&page, shown, now),
        _ => html! { <p class="sec dim">{ page.t(lang::LOADING) }</p> },
    };
    html! {
        <aside class="insp" aria-label={page.t(lang::INSPECTOR)} {onkeydown}>
            <div class="top">
                <div class="kind">{ icons::sized("object", "s12") }<span>{ kind }{ if place.is_empty() { String::new() } else { format!(" · {place}") } }</span>
                    <button type="button" class="btn icon close" aria-label={page.t(lang::CLOSE)} onclick={page.does(Action::CloseInspector)}>{ icons::sized("x", "s14") }</button></div>
                <h2>{ name }</h2>
                if let Some(head) = head { <div class="facts">{ facts(&page, head, now) }</div> }
            </div>
            <div class="tabs" role="tablist" onkeydown={tab_keys()}>
                { for TABS.iter().filter(|(t, ..)| tabs.contains(t)).map(|(t, id, text)| tab(id, *t == props.open, page.does(Action::InspectTab(*t)), html! { { page.t(*text) } })) }
            </div>
            <div class="body" role="tabpanel" id={format!("{panel}-panel")} aria-labelledby={panel} tabindex="0">{ body }</div>
        </aside>
    }
}

fn tab_of(body: &InspectorBody) -> InspectorTab {
    match body {
        InspectorBody::Why(_) => InspectorTab::Why,
        InspectorBody::Summary(_) => InspectorTab::Summary,
        InspectorBody::Describe(_) => InspectorTab::Describe,
        InspectorBody::Yaml { .. } => InspectorTab::Yaml,
        InspectorBody::Events(_) => InspectorTab::Events,
        InspectorBody::Logs(_) => InspectorTab::Logs,
    }
}

fn facts(page: &Page, head: &view::InspectorHead, now: u64) -> Html {
    let state = head.pod_state.map(icons::state_name);
    let class = match (state, head.healthy) {
        (Some(state), _) => format!("s-{state} state"),
        (None, true) => "ok state".to_string(),
        (None, false) => "bad state".to_string(),
    };
    html! { <>
        <span {class}>
            if let Some(state) = head.pod_state { <span class="sh">{ icons::shape(state) }</span> }
            else { { icons::sized(if head.healthy { "check" } else { "x" }, "s12") } }
            <b>{ if head.gone { page.t(lang::GONE).to_string() } else { head.status.clone() } }</b>
        </span>
        if head.since > 0 { <span><span class="k">{ page.t(lang::FOR) }</span>{ " " }<span class="num">{ format::whole(page.lang, now.saturating_sub(head.since)) }</span></span> }
        { for head.facts.iter().map(|f| html! { <span><span class="k">{ &f.name }</span>{ " " }{ value(page, f) }</span> }) }
    </> }
}

/// A fact's value: a link where it names something.
pub fn value(page: &Page, fact: &view::Fact) -> Html {
    match &fact.link {
        Some(subject) => {
            html! { <button type="button" class="ref" onclick={page.does(Action::Inspect(subject.clone()))}>{ &fact.value }</button> }
        }
        None => html! { { &fact.value } },
    }
}

/// Groups of facts.
pub fn groups(page: &Page, groups: &[FactGroup]) -> Html {
    groups
        .iter()
        .filter(|g| !g.facts.is_empty())
        .map(|g| {
            html! {
                <section class="sec"><h3>{ &g.name }</h3><dl class="pairs">
                    { for g.facts.iter().map(|f| html! { <><dt>{ &f.name }</dt><dd>{ value(page, f) }</dd></> }) }
                </dl></section>
            }
        })
        .collect()
}

fn body(page: &Page, shown: &Shown, now: u64) -> Html {
    match &shown.body {
        InspectorBody::Why(w) => why::why(page, w, now),
        InspectorBody::Summary(g) if g.is_empty() => html! { <p class="sec dim">{ page.t(lang::NOTHING_KNOWN) }</p> },
        InspectorBody::Summary(g) => groups(page, g),
        InspectorBody::Describe(text) => html! { <pre class="plain">{ text.clone() }</pre> },
        InspectorBody::Yaml { text, managed_fields } => html! { <>
            <pre class="plain code">{ for text.lines().map(yaml_line) }</pre>
            if !managed_fields.is_empty() {
                <details class="fold"><summary>{ page.t(lang::MANAGED_FIELDS) }</summary><pre class="plain code">{ for managed_fields.lines().map(yaml_line) }</pre></details>
            }
        </> },
        InspectorBody::Events(events) => events_list(page, events),
        InspectorBody::Logs(logs) => html! { <Logs logs={logs.clone()}/> },
    }
}

fn yaml_line(line: &str) -> Html {
    html! { <div class="yl">{ for yaml::line(line).into_iter().map(|s| html! { <span class={s.class}>{ s.text.to_string() }</span> }) }{ "\n" }</div> }
}

fn events_list(page: &Page, events: &[EventRow]) -> Html {
    if events.is_empty() {
        return html! { <p class="sec dim">{ page.t(lang::NO_EVENTS) }</p> };
    }
    let rows = events.iter().map(|e| {
        let warning = (e.kind == "Warning").then_some("w");
        html! {
            <li class={warning}><span class="num mono dim">{ format::clock(page.epoch, e.at) }</span>
                <span><b>{ &e.reason }</b>{ if e.count > 1 { format!(" ×{}", e.count) } else { String::new() } }<span class="dim">{ format!(" {}", e.from) }</span><br/>{ &e.message }</span></li>
        }
    });
    html! { <ul class="evlist">{ for rows }</ul> }
}

/// Props of [`Logs`].
#[derive(Properties, PartialEq)]
pub struct LogsProps {
    /// A container each.
    pub logs: Vec<ContainerLog>,
}

/// Containers' logs; the newest line stays in view while the reader is at the end.
#[component]
fn Logs(props: &LogsProps) -> Html {
    let page = use_page();
    let chosen = use_state(|| 0usize);
    let at = (*chosen).min(props.logs.len().saturating_sub(1));
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with(props.logs.clone(), move |_| {
            if let Some(e) = node.cast::<web_sys::HtmlElement>()
                && let Some(body) = e.parent_element().and_then(|p| p.dyn_into::<web_sys::HtmlElement>().ok())
                && body.scroll_top() + body.client_height() + 120 >= body.scroll_height()
            {
                body.set_scroll_top(body.scroll_height());
            }
        });
    }
    let Some(log) = props.logs.get(at) else { return html! { <p class="sec dim">{ page.t(lang::NO_LOG_YET) }</p> } };
    let pick = {
        let chosen = chosen.clone();
        Callback::from(move |event: Event| {
            if let Some(select) = event.target().and_then(|t| t.dyn_into::<web_sys::HtmlSelectElement>().ok()) {
                chosen.set(usize::try_from(select.selected_index()).unwrap_or(0));
            }
        })
    };
    html! {
        <div class="clog" ref={node}>
            if props.logs.len() > 1 {
                <select class="pick" aria-label="container" onchange={pick}>{ for props.logs.iter().enumerate().map(|(i, l)| html! {
                    <option selected={i == at}>{ format!("{}{}", l.container, if l.previous { " --previous" } else { "" }) }</option>
                }) }</select>
            }
            if log.skipped > 0 { <p class="dim">{ format!("… {}", format::count(log.skipped)) }</p> }
            if log.text.is_empty() { <p class="dim">{ page.t(lang::NO_LOG_YET) }</p> } else { <pre class="plain">{ log.text.clone() }</pre> }
        </div>
    }
}
