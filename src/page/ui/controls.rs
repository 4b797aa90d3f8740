//! Small parts that many panels use.

use super::{Action, Page, icons};
use crate::format;
use crate::lang::{self, Text};
use view::{ObjectRef, Pace, PodView, Subject};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use yew::prelude::*;

/// `**bold** and plain` as elements: the words' module marks the numbers that way.
pub fn rich(text: &str) -> Html {
    text.split("**")
        .enumerate()
        .map(|(i, part)| {
            if i % 2 == 1 {
                html! { <b>{ part }</b> }
            } else {
                html! { { part } }
            }
        })
        .collect()
}

/// A tab of a tablist. Arrow keys move within the list: see [`tab_keys`].
pub fn tab(id: &'static str, selected: bool, onclick: Callback<MouseEvent>, label: Html) -> Html {
    html! {
        <button role="tab" type="button" id={id} aria-selected={selected.to_string()}
            aria-controls={format!("{id}-panel")} tabindex={if selected { "0" } else { "-1" }} {onclick}>{ label }</button>
    }
}

/// Left, right, home and end move the focus in a tablist and open the tab.
pub fn tab_keys() -> Callback<KeyboardEvent> {
    Callback::from(|event: KeyboardEvent| {
        let Some(list) = closest(&event, "[role=tablist]") else { return };
        let Ok(tabs) = list.query_selector_all("[role=tab]") else { return };
        let tabs: Vec<web_sys::HtmlElement> =
            (0..tabs.length()).filter_map(|i| tabs.item(i)?.dyn_into().ok()).collect();
        let active = web_sys::window().and_then(|w| w.document()).and_then(|d| d.active_element());
        let Some(at) = tabs.iter().position(|t| active.as_ref().is_some_and(|a| a.is_same_node(Some(t)))) else {
            return;
        };
        let count = tabs.len();
        let next = match event.key().as_str() {
            "ArrowRight" => (at + 1) % count,
            "ArrowLeft" => (at + count - 1) % count,
            "Home" => 0,
            "End" => count - 1,
            _ => return,
        };
        event.prevent_default();
        if let Some(tab) = tabs.get(next) {
            let _ = tab.focus();
            tab.click();
        }
    })
}

/// The element around an event's target that matches. (An event's current target is the page's root: the framework
/// listens there for all.)
pub fn closest(event: &web_sys::Event, selector: &str) -> Option<web_sys::Element> {
    event.target()?.dyn_into::<web_sys::Element>().ok()?.closest(selector).ok()?
}

/// A pod's chip. A ghost is one that is not there yet; without `count` its ready containers are left out.
pub fn chip(page: &Page, pod: &PodView, selected: bool, status: Option<&str>, ghost: bool, count: bool) -> Html {
    let (head, tail) = format::split_name(&pod.name);
    let state = icons::state_name(pod.state);
    let class = classes!("chip", format!("s-{state}"), selected.then_some("sel"), ghost.then_some("ghost"));
    let ready = format!("{}/{}", pod.ready, pod.containers);
    let again = (pod.restarts > 0).then(|| format!("↻{}", pod.restarts));
    // The visible words first and as they stand, so that what is said aloud finds the chip; then what is not shown.
    let mut label = format!("Pod {}", pod.name);
    for word in [status, again.as_deref(), count.then_some(&ready)].into_iter().flatten() {
        label.extend([" ", word]);
    }
    if status.is_none() {
        label.extend([", ", &pod.status]);
    }
    if !count {
        label.extend([", ", &ready]);
    }
    if pod.restarts > 0 {
        label.push_str(&page.lang.pick(
            format!(", {} {}", pod.restarts, if pod.restarts == 1 { "restart" } else { "restarts" }),
            format!(", 재시작 {}번", pod.restarts),
        ));
    }
    html! {
        <button type="button" {class} aria-label={label} title={pod.name.clone()} onclick={page.does(Action::Inspect(pod_subject(pod)))}>
            { icons::shape(pod.state) }
            <span class="nm"><i>{ head }</i><span>{ tail }</span></span>
            if let Some(status) = status { { " " }<span class="st">{ status }</span> }
            if let Some(again) = again { { " " }<span class="rs" title="restarts">{ again }</span> }
            if count { { " " }<span class="rd">{ ready }</span> }
        </button>
    }
}

/// A pod's small chip.
pub fn mini(page: &Page, pod: &PodView, name: String, selected: bool) -> Html {
    let state = icons::state_name(pod.state);
    let class = classes!("chip", "mini", format!("s-{state}"), selected.then_some("sel"));
    let shown = if pod.name.contains(&name) { String::new() } else { format!("{name}, ") };
    let label = format!("{shown}Pod {}, {}, {}/{}", pod.name, pod.status, pod.ready, pod.containers);
    html! {
        <button type="button" {class} aria-label={label} title={pod.name.clone()} onclick={page.does(Action::Inspect(pod_subject(pod)))}>
            { icons::shape(pod.state) }<span class="nm">{ name }</span>
        </button>
    }
}

/// Says that something waits because the clock stands, and lets it go on.
pub fn standing(page: &Page, text: Text) -> Html {
    html! {
        <p class="standing" role="status">{ icons::sized("pause", "s12") }<span>{ page.t(text) }</span>
            <button type="button" class="btn line" onclick={page.does(Action::Pace(Pace::Run))}>{ page.t(lang::PLAY) }</button></p>
    }
}

/// What a click on a pod selects.
pub fn pod_subject(pod: &PodView) -> Subject {
    Subject::Object(ObjectRef { kind: "Pod".into(), namespace: pod.namespace.clone(), name: pod.name.clone() })
}

/// What a click on a node selects.
pub fn node_subject(name: &str) -> Subject {
    Subject::Object(ObjectRef { kind: "Node".into(), namespace: String::new(), name: name.to_string() })
}

/// Whether this pod is the selected thing.
pub fn is_pod(selected: Option<&Subject>, pod: &PodView) -> bool {
    matches!(selected, Some(Subject::Object(o)) if o.kind == "Pod" && o.name == pod.name && o.namespace == pod.namespace)
}

/// A lease's ring: how much of it is left.
pub fn ring(left: u64, whole: u64) -> Html {
    let share = if whole == 0 { 0.0 } else { (left as f64 / whole as f64).clamp(0.0, 1.0) };
    let class = classes!(
        "fg",
        if share <= 0.0 {
            Some("bad")
        } else if share < 0.34 {
            Some("warn")
        } else {
            None
        }
    );
    html! {
        <svg class="ring" viewBox="0 0 12 12" aria-hidden="true"><circle class="bg" cx="6" cy="6" r="4.5"/>
            <circle {class} cx="6" cy="6" r="4.5" stroke-dasharray={format!("{:.1} 28.3", share * 28.3)}/></svg>
    }
}

/// The size of an element, followed as it changes.
#[hook]
pub fn use_size(node: NodeRef) -> (f64, f64) {
    let size = use_state(|| (0.0, 0.0));
    let set = size.clone();
    use_effect_with(node, move |node| {
        let observed = node.cast::<web_sys::Element>().and_then(|element| {
            let closure = Closure::<dyn FnMut(js_sys::Array)>::new(move |entries: js_sys::Array| {
                let entry = entries.get(0).dyn_into::<web_sys::ResizeObserverEntry>();
                if let Ok(entry) = entry {
                    let rect = entry.content_rect();
                    set.set((rect.width().floor(), rect.height().floor()));
                }
            });
            let observer = web_sys::ResizeObserver::new(closure.as_ref().unchecked_ref()).ok()?;
            observer.observe(&element);
            Some((observer, closure))
        });
        move || {
            if let Some((observer, _closure)) = observed {
                observer.disconnect();
            }
        }
    });
    *size
}
