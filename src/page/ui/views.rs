//! The panels put together for the size of the window: the whole page, the form for an iframe, a phone.

use super::app::App;
use super::controls::{tab, tab_keys};
use super::dialogs::Crash;
use super::dock::Dock;
use super::header::Header;
use super::inspector::Inspector;
use super::manifest::{self, Manifest};
use super::map::Map;
use super::story::Story;
use super::terminal::Term;
use super::timebar::TimeBar;
use super::{Action, Held, Page, icons};
use crate::link::LoadFailure;
use crate::query::Panel;
use crate::{format, klog, lang};
use view::ClockState;
use yew::prelude::*;

impl App {
    fn header(&self, phone: bool) -> Html {
        let workload =
            self.model.trip.as_ref().filter(|t| t.desired > 0).map(|t| (t.object.name.clone(), t.ready, t.desired));
        let large = self.options.embed.then(|| {
            let search = web_sys::window().and_then(|w| w.location().search().ok()).unwrap_or_default();
            let kept: Vec<&str> = search
                .trim_start_matches('?')
                .split('&')
                .filter(|p| !p.is_empty() && !p.starts_with("embed") && !p.starts_with("panels"))
                .collect();
            format!("./?{}", kept.join("&"))
        });
        html! { <Header theme={self.theme} {phone} {workload} {large}/> }
    }

    fn manifest(&self, over: Html) -> Html {
        let answer = self.model.answer.as_ref().filter(|_| self.answer_open).map(Held::from);
        html! {
            <Manifest load={self.load.clone()} text={self.text.clone()} problems={self.problems.clone()} {answer}
                busy={self.waiting.is_some() || self.link.is_none()} trip={self.model.trip.as_ref().map(Held::from)} armed={self.armed}
                small={self.options.embed && !self.is_phone()} standing={self.model.story.is_none() && self.standing()}>{ over }</Manifest>
        }
    }

    /// The world is gone, or does not answer.
    fn gone(&self) -> bool {
        self.model.crash.is_some() || self.hang.is_some()
    }

    /// The clock of a world that is there stands.
    fn standing(&self) -> bool {
        self.link.is_some() && matches!(self.model.clock.state, ClockState::Paused | ClockState::Holding)
    }

    fn terminal_panel(&self) -> Html {
        html! { <Term terminal={Held::from(&self.model.terminal)} focus={self.term_focus} standing={self.standing()}/> }
    }

    fn dock_panel(&self, panels: Vec<Panel>, open: Panel, phone: bool) -> Html {
        let now = if open == Panel::Timeline { self.shown_now } else { 0 };
        html! {
            <Dock {open} {panels} logs={Held::from(&self.model.logs)} filter={self.filter.clone()} follow={self.follow}
                events={Held::from(&self.model.events)} event_count={self.model.event_count}
                requests={Held::from(&self.model.requests)} request_count={self.model.request_count}
                timeline={Held::from(&self.model.timeline)} timers={Held::from(&self.model.timers)}
                faults={Held::from(&self.model.cluster.faults)} {now} {phone}
                selected={self.selection.as_ref().map(|s| s.subject.clone())}/>
        }
    }

    fn map(&self, page: &Page, phone: bool) -> Html {
        // A dense map counts in whole seconds.
        let now =
            if self.model.cluster.dense() { self.shown_now / 1_000_000_000 * 1_000_000_000 } else { self.shown_now };
        let over = if let Some(report) = &self.model.crash {
            html! { <Crash report={Held::from(report)} loading={self.loading_failed.clone()} hangs=false/> }
        } else if let Some(report) = &self.hang {
            html! { <Crash report={Held::from(report)} loading={None::<LoadFailure>} hangs=true/> }
        } else if !self.started {
            html! {
                <section class="crash start"><h2>{ "Tabernetes" }</h2><p>{ page.t(lang::START_TEXT) }</p>
                    <div class="row"><button type="button" class="btn main" onclick={page.does(Action::StartWorld)}>{ icons::sized("play", "s14") }{ page.t(lang::START) }</button></div></section>
            }
        } else {
            Html::default()
        };
        let notices = html! {
            <div class="notices">{ for self.model.notices.iter().enumerate().map(|(i, text)| html! {
                <div class="notice" role="alert" key={text.clone()}>{ icons::sized("warn", "s14") }<span>{ text.clone() }</span>
                    <button type="button" class="btn icon" aria-label={page.t(lang::DISMISS)} onclick={page.does(Action::Dismiss(i))}>{ icons::sized("x", "s12") }</button></div>
            }) }</div>
        };
        html! {
            <Map cluster={Held::from(&self.model.cluster)} {now} selected={self.selection.as_ref().map(|s| s.subject.clone())}
                batch={Held::from(&self.batch)} speed_milli={self.model.clock.speed_milli} {phone}><>{ notices }{ over }</></Map>
        }
    }

    /// The story stands where it hides nothing that a reader needs meanwhile: at the editor's end, above its buttons;
    /// beneath a terminal; over the map where the side panel is away; on a phone under the map.
    fn story(&self) -> Html {
        match (&self.model.story, &self.model.trip) {
            (Some(hold), Some(trip)) if self.model.crash.is_none() => {
                html! { <div class="storyslot"><Story hold={hold.clone()} trip={Held::from(trip)}/></div> }
            }
            _ => Html::default(),
        }
    }

    fn inspector(&self) -> Html {
        let Some(selection) = &self.selection else { return Html::default() };
        html! {
            <Inspector subject={selection.subject.clone()} open={selection.tab} shown={self.model.inspector.as_ref().map(Held::from)}
                seconds={self.shown_now / 1_000_000_000}/>
        }
    }

    fn timebar(&self, small: bool) -> Html {
        html! {
            <TimeBar clock={self.model.clock} lack={self.model.cluster.lack(self.shown_now)} timers={Held::from(&self.model.timers)} timeline={Held::from(&self.model.timeline)}
                {small} alive={self.link.is_some()}/>
        }
    }

    fn side_panel(&self, page: &Page) -> Html {
        let panels = self.side_panels();
        let open =
            if panels.contains(&self.side) { self.side } else { panels.first().copied().unwrap_or(Panel::Manifest) };
        let names = [
            (Panel::Manifest, "side-manifest", lang::MANIFEST),
            (Panel::Terminal, "side-terminal", lang::TERMINAL),
            (Panel::Logs, "side-logs", lang::LOGS),
        ];
        let id = names.iter().find(|(p, ..)| *p == open).map_or("side-manifest", |(_, id, _)| *id);
        html! {
            <aside class="side" aria-label={page.t(lang::PANELS)}>
                <div class="tabs">
                    <div class="tablist" role="tablist" onkeydown={tab_keys()}>
                        { for names.iter().filter(|(p, ..)| panels.contains(p)).map(|(panel, id, text)| tab(id, *panel == open, page.does(Action::Show(*panel)), html! { { page.t(*text) } })) }
                    </div>
                    if open == Panel::Manifest { <span class="tools">{ manifest::tools(page) }</span> }
                </div>
                // The editor stays where it is while another tab is open: its history and cursor are the reader's.
                if panels.contains(&Panel::Manifest) {
                    <div class="fill" role="tabpanel" id="side-manifest-panel" aria-labelledby="side-manifest" hidden={open != Panel::Manifest}>{ self.manifest(if open == Panel::Manifest { self.story() } else { Html::default() }) }</div>
                }
                if open == Panel::Terminal { <div class="fill" role="tabpanel" id={format!("{id}-panel")} aria-labelledby={id}>{ self.terminal_panel() }</div> }
                if open == Panel::Logs { <div class="fill" role="tabpanel" id={format!("{id}-panel")} aria-labelledby={id}>{ self.dock_panel(vec![Panel::Logs], Panel::Logs, true) }</div> }
                if open != Panel::Manifest { { self.story() } }
            </aside>
        }
    }

    pub(super) fn view_whole(&self, page: &Page) -> Html {
        let inspecting = self.selection.is_some();
        let has_side = !self.side_panels().is_empty();
        let folded = has_side && inspecting && self.window.0 < 1600.0 && !self.unfolded;
        let panels = self.dock_panels();
        let class = classes!(
            "app",
            inspecting.then_some("with-inspector"),
            folded.then_some("folded"),
            (!has_side).then_some("noside"),
            panels.is_empty().then_some("nodock"),
            (self.side == Panel::Terminal && !inspecting).then_some("wideside"),
            self.gone().then_some("crashed"),
        );
        let show = |panel: Panel| {
            let act = page.act.clone();
            Callback::from(move |_: MouseEvent| {
                act.emit(Action::Unfold(true));
                act.emit(Action::Show(panel));
            })
        };
        html! {
            <div {class}>
                { self.header(false) }
                if folded {
                    <nav class="rail" aria-label={page.t(lang::PANELS)}>
                        <button type="button" class="btn icon" aria-label={page.t(lang::MANIFEST)} title={page.t(lang::MANIFEST)} onclick={show(Panel::Manifest)}>{ icons::icon("file") }</button>
                        <button type="button" class="btn icon" aria-label={page.t(lang::TERMINAL)} title={page.t(lang::TERMINAL)} onclick={show(Panel::Terminal)}>{ icons::icon("terminal") }</button>
                    </nav>
                }
                if has_side { <div class={classes!("sideslot", folded.then_some("away"))} inert={folded}>{ self.side_panel(page) }</div> }
                { self.map(page, false) }
                if !panels.is_empty() { { self.dock_panel(panels.clone(), if panels.contains(&self.dock) { self.dock } else { panels[0] }, false) } }
                { self.inspector() }
                if folded || !has_side { { self.story() } }
                { self.timebar(false) }
            </div>
        }
    }

    pub(super) fn view_embed(&self, page: &Page) -> Html {
        let has_side = !self.side_panels().is_empty();
        let ticker = self.model.logs.back().map(|line| html! {
            <><span class="tm num">{ format::clock_full(self.model.epoch(), line.at) }</span><b>{ klog::component_label(line) }</b><span class="ms">{ line.text.clone() }</span></>
        });
        html! {
            <div class={classes!("embed", (!has_side).then_some("noside"), self.gone().then_some("crashed"))}>
                { self.header(false) }
                if has_side { <div class="sideslot">{ self.side_panel(page) }</div> }
                { self.map(page, false) }
                <p class="ticker">{ ticker.unwrap_or_default() }</p>
                if self.selection.is_some() { <div class="inspslot">{ self.inspector() }</div> }
                if !has_side { { self.story() } }
                { self.timebar(true) }
            </div>
        }
    }

    pub(super) fn view_phone(&self, page: &Page) -> Html {
        let panels = self.dock_panels();
        let open = if self.phone_inspector && self.selection.is_some() { None } else { Some(self.phone) };
        let button = |panel: Panel, icon: &'static str, text| {
            let current = (open == Some(panel)).then_some("true");
            html! { <button type="button" aria-current={current} onclick={page.does(Action::Show(panel))}>{ icons::icon(icon) }<span>{ page.t(text) }</span></button> }
        };
        let why = {
            let act = page.act.clone();
            let subject = self.selection.as_ref().map(|s| s.subject.clone());
            Callback::from(move |_: MouseEvent| {
                if let Some(subject) = subject.clone() {
                    act.emit(Action::Inspect(subject));
                }
            })
        };
        let shows = |p: Panel| self.options.shows(p);
        html! {
            <div class={classes!("mobile", self.gone().then_some("crashed"))}>
                { self.header(true) }
                <div class="stage1">
                    if shows(Panel::Cluster) { <div class="fill" hidden={open != Some(Panel::Cluster)}>{ self.map(page, true) }</div> }
                    if shows(Panel::Manifest) { <div class="fill side" hidden={open != Some(Panel::Manifest)}><div class="tabs"><span class="name">{ page.t(lang::MANIFEST) }</span><span class="tools">{ manifest::tools(page) }</span></div>{ self.manifest(Html::default()) }</div> }
                    if open == Some(Panel::Terminal) { <div class="fill side">{ self.terminal_panel() }</div> }
                    if open == Some(Panel::Logs) { <div class="fill">{ self.dock_panel(panels.clone(), self.dock, true) }</div> }
                    if open.is_none() { <div class="fill">{ self.inspector() }</div> }
                    { self.story() }
                </div>
                { self.timebar(true) }
                <nav class="dockbar" aria-label={page.t(lang::PANELS)}>
                    if shows(Panel::Manifest) { { button(Panel::Manifest, "file", lang::MANIFEST) } }
                    if shows(Panel::Cluster) { { button(Panel::Cluster, "grid", lang::CLUSTER) } }
                    if shows(Panel::Terminal) { { button(Panel::Terminal, "terminal", lang::TERMINAL) } }
                    if !panels.is_empty() { { button(Panel::Logs, "list", lang::LOGS) } }
                    <button type="button" aria-current={open.is_none().then_some("true")} disabled={self.selection.is_none()} onclick={why}>{ icons::icon("help") }<span>{ page.t(lang::TAB_WHY) }</span></button>
                </nav>
            </div>
        }
    }
}
