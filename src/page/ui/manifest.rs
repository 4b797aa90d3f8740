//! Under the editor: Apply, Diff, Delete, kubectl's answer, and what became of it.

use super::editor::Editor;
use super::{Action, Held, Page, icons, use_page};
use crate::format;
use crate::lang;
use crate::standing;
use crate::words;
use std::rc::Rc;
use view::{ManifestAction, ManifestResult, Outcome, Problem, Progress, Subject, Trip, TripObject, TripState};
use wasm_bindgen::JsCast;
use yew::prelude::*;

/// Props of [`Manifest`].
#[derive(Properties, PartialEq)]
pub struct ManifestProps {
    /// See [`super::editor::EditorProps`].
    pub load: (u32, Rc<str>),
    /// The text.
    pub text: Rc<str>,
    /// What is wrong in it.
    pub problems: Rc<Vec<Problem>>,
    /// The last answer, while it is open.
    pub answer: Option<Held<ManifestResult>>,
    /// A request is under way.
    pub busy: bool,
    /// What became of the last Apply.
    pub trip: Option<Held<Trip>>,
    /// The next change is told as a story.
    pub armed: bool,
    /// Little room: no steps, only the count.
    pub small: bool,
    /// The clock stands, so that a request waits.
    pub standing: bool,
    /// What lies over the editor's end: the story.
    pub children: Html,
}

/// The editor and what belongs to it.
#[component]
pub fn Manifest(props: &ManifestProps) -> Html {
    let page = use_page();
    let over = use_state(|| false);
    let ondragover = {
        let over = over.clone();
        Callback::from(move |event: DragEvent| {
            event.prevent_default();
            over.set(true);
        })
    };
    let ondragleave = {
        let over = over.clone();
        Callback::from(move |_: DragEvent| over.set(false))
    };
    let ondrop = {
        let (over, act) = (over.clone(), page.act.clone());
        Callback::from(move |event: DragEvent| {
            event.prevent_default();
            over.set(false);
            if let Some(file) = event.data_transfer().and_then(|d| d.files()).and_then(|f| f.get(0)) {
                read_file(&file, act.clone());
            }
        })
    };
    let readonly = page.readonly;
    let change = page.act.reform(Action::Edited);
    let submit = page.act.reform(|()| Action::Manifest(ManifestAction::Apply));
    html! {
        <div class="manifest" {ondragover} {ondragleave} {ondrop}>
            <Editor load={props.load.clone()} text={props.text.clone()} problems={props.problems.clone()} label={page.t(lang::EDITOR_LABEL)} {change} {submit}/>
            { props.children.clone() }
            if *over { <div class="drop">{ page.t(lang::DROP_HERE) }</div> }
            { answer(&page, props.answer.as_deref()) }
            if props.standing && props.busy { { super::controls::standing(&page, lang::REQUEST_WAITS) } }
            <div class="actions">
                if readonly {
                    <span class="dim">{ page.t(lang::READONLY) }</span>
                } else {
                    <button type="button" class="btn main" disabled={props.busy} onclick={page.does(Action::Manifest(ManifestAction::Apply))}>
                        { page.t(lang::APPLY) }<span class="kbd">{ "Ctrl ↵" }</span></button>
                    <button type="button" class="btn line" disabled={props.busy} onclick={page.does(Action::Manifest(ManifestAction::Diff))}>{ page.t(lang::DIFF) }</button>
                    <button type="button" class="btn line" disabled={props.busy} onclick={page.does(Action::Manifest(ManifestAction::Delete))}>{ page.t(lang::DELETE) }</button>
                }
                { problems(&page, props) }
            </div>
            if !props.small { { trip(&page, props) } }
        </div>
    }
}

/// The tools at the right of the tabs: examples, open file.
pub fn tools(page: &Page) -> Html {
    if page.readonly {
        return Html::default();
    }
    let menu = {
        let act = page.act.clone();
        Callback::from(move |event: MouseEvent| act.emit(Action::OpenMenu(super::menus::Menu::examples().at(&event))))
    };
    let onchange = {
        let act = page.act.clone();
        Callback::from(move |event: Event| {
            let Some(input) = event.target().and_then(|t| t.dyn_into::<web_sys::HtmlInputElement>().ok()) else {
                return;
            };
            if let Some(file) = input.files().and_then(|f| f.get(0)) {
                read_file(&file, act.clone());
            }
            input.set_value("");
        })
    };
    html! { <>
        <button type="button" class="btn" aria-haspopup="menu" onclick={menu}><span class="word">{ page.t(lang::EXAMPLES) }</span>{ icons::sized("down", "s12") }</button>
        <label class="btn icon file" title={page.t(lang::OPEN_FILE)}>{ icons::icon("folder") }<span class="sr">{ page.t(lang::OPEN_FILE) }</span>
            <input type="file" accept=".yaml,.yml,.json,text/yaml,application/json" {onchange}/></label>
    </> }
}

/// Files larger than this are no manifests.
const MAX_FILE: f64 = 1_000_000.0;

fn read_file(file: &web_sys::File, act: Callback<Action>) {
    if file.size() > MAX_FILE {
        act.emit(Action::Load(format!("# {} is larger than 1 MB\n", file.name())));
        return;
    }
    let promise = file.text();
    let done = wasm_bindgen::prelude::Closure::once_into_js(move |text: wasm_bindgen::JsValue| {
        if let Some(text) = text.as_string() {
            act.emit(Action::Load(text));
        }
    });
    // The promise keeps the function until it has run.
    if let Ok(then) = js_sys::Reflect::get(&promise, &"then".into()).and_then(|f| f.dyn_into::<js_sys::Function>()) {
        let _ = then.call1(&promise, &done);
    }
}

fn problems(page: &Page, props: &ManifestProps) -> Html {
    let count = props.problems.len();
    if count > 0 {
        let text = page
            .lang
            .pick(format!("{count} {}", if count == 1 { "problem" } else { "problems" }), format!("문제 {count}개"));
        let general = props.problems.iter().find(|p| p.line == 0).map(|p| p.message.clone());
        return html! { <span class="problems bad" title={general}>{ icons::sized("warn", "s14") }{ text }</span> };
    }
    if let Some(trip) = props.trip.as_ref().filter(|t| props.small && t.desired > 0) {
        let class = if trip.ready >= trip.desired { "ok" } else { "" };
        return html! { <span class={classes!("problems", "num", class)}>{ format!("{} {}/{}", trip.object.name, trip.ready, trip.desired) }</span> };
    }
    let documents = crate::yaml::documents(&props.text);
    let text = match documents.as_slice() {
        [] => return html! { <span class="problems">{ page.t(lang::NO_DOCUMENT) }</span> },
        [one] => one.clone(),
        [_, ..] => page.lang.pick(format!("{} documents", documents.len()), format!("문서 {}개", documents.len())),
    };
    // Where there is little room the kind alone says enough.
    let (group, kind) = text.split_at(text.find(' ').filter(|_| documents.len() == 1).map_or(0, |at| at + 1));
    html! { <span class="problems ok" title={text.clone()}>{ icons::sized("check", "s14") }<span><span class="group">{ group.to_string() }</span>{ kind.to_string() }</span></span> }
}

/// What kubectl said. A clean Apply needs no box: the trip tells it.
fn answer(page: &Page, result: Option<&ManifestResult>) -> Html {
    let Some(result) = result else { return Html::default() };
    let general: Vec<&str> = result.problems.iter().filter(|p| p.line == 0).map(|p| p.message.as_str()).collect();
    let quiet = result.action == ManifestAction::Apply && result.problems.is_empty() && result.code == 0;
    if quiet && result.documents.iter().all(|d| d.outcome == Outcome::Created) && result.documents.len() == 1 {
        return Html::default();
    }
    let title = if result.action == ManifestAction::Diff { lang::DIFF_TITLE } else { lang::ANSWER_TITLE };
    let mut text = result.stdout.clone();
    if !result.stderr.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&result.stderr);
    } else if !general.is_empty() {
        text.push_str(&general.join("\n"));
    }
    let nothing = text.trim().is_empty();
    if nothing && result.action != ManifestAction::Diff {
        return Html::default();
    }
    let lines = text.trim_end().lines().map(|l| {
        let class = match (result.action, l.as_bytes().first()) {
            (ManifestAction::Diff, Some(b'+')) => "add",
            (ManifestAction::Diff, Some(b'-')) => "del",
            (ManifestAction::Diff, _) => "",
            (_, _) if result.stderr.lines().any(|e| e == l) => "er",
            _ => "",
        };
        html! { <div {class}>{ l.to_string() }</div> }
    });
    html! {
        <section class="answer" aria-label={page.t(title)}>
            <header><h3 role="heading" aria-level="2">{ page.t(title) }</h3>
                <button type="button" class="btn icon" aria-label={page.t(lang::CLOSE)} onclick={page.does(Action::CloseAnswer)}>{ icons::sized("x", "s12") }</button></header>
            if nothing { <p>{ page.t(lang::DIFF_NONE) }</p> } else { <pre tabindex="0">{ for lines }</pre> }
        </section>
    }
}

fn trip(page: &Page, props: &ManifestProps) -> Html {
    let arm = {
        let act = page.act.clone();
        let armed = props.armed;
        Callback::from(move |_: MouseEvent| act.emit(Action::Arm(!armed)))
    };
    let story = if page.readonly {
        Html::default()
    } else {
        html! {
            <button type="button" class={classes!("btn", "arm", props.armed.then_some("on"))} aria-pressed={props.armed.to_string()}
                title={page.t(lang::STORY_REPLAY)} onclick={arm}>{ icons::sized("story", "s12") }{ page.t(lang::STORY) }</button>
        }
    };
    let Some(trip) = &props.trip else {
        return html! {
            <section class="trip empty"><h3 role="heading" aria-level="2">{ page.t(lang::TRIP_TITLE) }{ story }</h3><p>{ page.t(lang::TRIP_EMPTY) }</p></section>
        };
    };
    let steps = trip.steps.iter().enumerate().map(|(i, step)| {
        let (class, sign) = match step.progress {
            Progress::Done => ("done", icons::sized("check", "s12")),
            Progress::Now => ("now", html! { { i + 1 } }),
            Progress::Todo => ("todo", html! { { i + 1 } }),
        };
        let time = if step.progress == Progress::Todo || step.after == 0 { String::new() } else { format::after(page.lang, step.after) };
        html! {
            <li {class}><span class="n" aria-hidden="true">{ sign }</span>
                <span>{ words::trip_step(page.lang, step) }if step.revision > 0 { <span class="dim num rev">{ format!("rev {}", step.revision) }</span> }</span>
                <span class="t num">{ time }</span></li>
        }
    });
    let desired = trip.desired;
    let count = if desired > 0 { format!("{}/{desired} · {}", trip.ready, trip.short) } else { trip.short.clone() };
    html! {
        <section class="trip"><h3 role="heading" aria-level="2">{ page.t(lang::TRIP_TITLE) }<span class="dim num mono">{ count }</span>{ story }</h3><ol>{ for steps }</ol>{ applied(page, trip) }</section>
    }
}

/// How all that was applied stands: left out where the steps say it already.
fn applied(page: &Page, trip: &Trip) -> Html {
    let told = |o: &TripObject| o.state == TripState::Stored && o.troubles.is_empty();
    if trip.all.len() <= 1 && trip.all.iter().all(told) {
        return Html::default();
    }
    let rows = trip.all.iter().map(|object| {
        let (text, good) = standing::applied(page.lang, object);
        let (class, icon) = match good {
            Some(true) => ("ok", "check"),
            Some(false) => ("bad", "warn"),
            None => ("dim", "timer"),
        };
        html! {
            <li>{ icons::sized(icon, "s12") }<button type="button" class="ref" onclick={page.does(Action::Inspect(Subject::Object(object.object.clone())))}><code>{ &object.short }</code></button>
                <span class={classes!("num", class)}>{ text }</span></li>
        }
    });
    html! {
        <ul class="applied" tabindex="0" aria-label={page.t(lang::APPLIED)}>{ for rows }
            if trip.more > 0 { <li class="dim">{ format!("+{}", trip.more) }</li> }</ul>
    }
}
