//! The application: holds the model and the worker, turns what the reader does into messages, and puts the panels
//! together for the size of the window.

use super::controls::{tab, tab_keys};
use super::dialogs::{Crash, Dialog, DialogBox};
use super::dock::Dock;
use super::header::Header;
use super::icons::{self, Symbols};
use super::inspector::Inspector;
use super::manifest::{self, Manifest};
use super::map::Map;
use super::menus::{Menu, MenuBox};
use super::story::Story;
use super::terminal::Term;
use super::timebar::TimeBar;
use super::{Action, Held, Page, TermKey};
use crate::examples::EXAMPLES;
use crate::lang::{self, Lang};
use crate::link::{Link, LinkEvent};
use crate::model::{Model, trap_report};
use crate::query::{self, Loading, Options, Panel, Theme};
use crate::{format, klog, words};
use gloo_events::EventListener;
use gloo_timers::callback::Timeout;
use std::rc::Rc;
use view::{
    Clock, CrashReport, InspectorTab, LogFilter, ManifestAction, MessageView, Pace, Problem, Selection, Start,
    StoryCommand, Subject, Subscription, ToWorld,
};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;
use yew::prelude::*;

/// Milliseconds after the last key until the manifest is checked.
const CHECK_AFTER: u32 = 900;
/// Milliseconds of wall time between redraws of countdowns.
const COUNTDOWN_EVERY: f64 = 100.0;

/// What reaches the application.
pub enum Msg {
    /// From the worker.
    Link(LinkEvent),
    /// From the reader.
    Act(Action),
    /// The window has this size.
    Sized(f64, f64),
    /// The page was hidden or shown.
    Hidden(bool),
    /// The reader stopped typing.
    CheckDue,
    /// A key that works everywhere.
    Key(KeyboardEvent),
}

/// The application.
pub struct App {
    options: Options,
    lang: Lang,
    theme: Theme,
    model: Model,
    link: Option<Link>,
    started: bool,
    loading_failed: bool,
    window: (f64, f64),
    side: Panel,
    dock: Panel,
    phone: Panel,
    phone_inspector: bool,
    unfolded: bool,
    selection: Option<Selection>,
    menu: Option<Menu>,
    dialog: Option<Dialog>,
    back_to: Option<HtmlElement>,
    filter: LogFilter,
    follow: bool,
    armed: bool,
    text: Rc<str>,
    load: (u32, Rc<str>),
    next_id: u32,
    waiting: Option<u32>,
    answer_open: bool,
    problems: Rc<Vec<Problem>>,
    check: Option<Timeout>,
    batch: Rc<(u64, Vec<MessageView>)>,
    shown_now: u64,
    shown_at: f64,
    announce: String,
    term_focus: u32,
    resume: bool,
    _listeners: Vec<EventListener>,
}

fn window_size() -> (f64, f64) {
    let Some(window) = web_sys::window() else { return (1440.0, 900.0) };
    let number = |v: Result<wasm_bindgen::JsValue, _>| v.ok().and_then(|v| v.as_f64()).unwrap_or(0.0);
    (number(window.inner_width()), number(window.inner_height()))
}

fn active_element() -> Option<HtmlElement> {
    web_sys::window()?.document()?.active_element()?.dyn_into().ok()
}

fn wall() -> f64 {
    web_sys::window().and_then(|w| w.performance()).map_or(0.0, |p| p.now())
}

impl App {
    fn page(&self, ctx: &Context<Self>) -> Page {
        Page {
            lang: self.lang,
            readonly: self.options.readonly,
            embed: self.options.embed,
            epoch: self.model.epoch(),
            act: ctx.link().callback(Msg::Act),
        }
    }

    fn send(&self, message: &ToWorld) {
        if let Some(link) = &self.link {
            link.send(message);
        }
    }

    fn start(&mut self, ctx: &Context<Self>) {
        self.started = true;
        self.loading_failed = false;
        let start = Start {
            seed: self.options.seed,
            nodes: self.options.nodes,
            zones: self.options.zones,
            control_planes: self.options.control_planes,
            speed_milli: self.options.speed_milli,
            paused: self.options.paused,
            ..Start::default()
        };
        match Link::start(&start, &ctx.link().callback(Msg::Link)) {
            Ok(link) => {
                self.link = Some(link);
                self.subscribe();
                self.schedule_check(ctx);
            }
            Err(message) => self.fail(message),
        }
    }

    fn fail(&mut self, message: String) {
        self.loading_failed = true;
        self.model.crashed(trap_report(&message));
        self.link = None;
    }

    fn is_phone(&self) -> bool {
        self.window.0 < 760.0
    }

    fn dock_panels(&self) -> Vec<Panel> {
        let all = [Panel::Logs, Panel::Events, Panel::Requests, Panel::Timeline];
        all.into_iter().filter(|p| self.options.shows(*p)).collect()
    }

    fn side_panels(&self) -> Vec<Panel> {
        let all = [Panel::Manifest, Panel::Terminal];
        let mut panels: Vec<Panel> = all.into_iter().filter(|p| self.options.shows(*p)).collect();
        if self.options.embed && !self.is_phone() && self.options.shows(Panel::Logs) {
            panels.push(Panel::Logs);
        }
        panels
    }

    fn subscribe(&self) {
        let phone = self.is_phone();
        let open = |panel: Panel| {
            if phone {
                self.phone == Panel::Logs && self.dock == panel
            } else if self.options.embed {
                panel == Panel::Logs
            } else {
                self.dock == panel
            }
        };
        self.send(&ToWorld::Subscribe(Subscription {
            logs: open(Panel::Logs),
            log_filter: self.filter.clone(),
            events: open(Panel::Events),
            requests: open(Panel::Requests),
        }));
    }

    fn schedule_check(&mut self, ctx: &Context<Self>) {
        let link = ctx.link().clone();
        self.check = Some(Timeout::new(CHECK_AFTER, move || link.send_message(Msg::CheckDue)));
    }

    fn select(&mut self, selection: Option<Selection>) {
        if self.selection == selection {
            return;
        }
        let same = match (&self.selection, &selection) {
            (Some(a), Some(b)) => a.subject == b.subject,
            _ => false,
        };
        if !same {
            self.model.inspector = None;
        }
        self.send(&ToWorld::Select(selection.clone()));
        self.selection = selection;
    }

    fn linked(&mut self, event: LinkEvent) -> bool {
        match event {
            LinkEvent::Messages(messages) => {
                let subject = self.selection.as_ref().map(|s| s.subject.clone());
                let mut travelling = Vec::new();
                for message in messages {
                    if let view::ToPage::Manifest(result) = &message {
                        let checked = result.action == ManifestAction::Check;
                        if !checked && self.waiting == Some(result.id) {
                            self.waiting = None;
                            self.answer_open = true;
                            self.armed = self.armed && result.action != ManifestAction::Apply;
                        }
                        if result.id == self.next_id {
                            self.problems = Rc::new(result.problems.clone());
                        }
                    }
                    let effects = self.model.take(message, self.lang, subject.as_ref());
                    for send in &effects.send {
                        self.send(send);
                    }
                    travelling.extend(effects.messages);
                }
                if !travelling.is_empty() {
                    self.batch = Rc::new((self.batch.0 + 1, travelling));
                }
            }
            LinkEvent::Failed(message) => self.fail(message),
            LinkEvent::Crashed { message, stack } => {
                let (message, location) = split_panic(&message);
                let trace = stack.lines().take(30).map(str::to_string).collect();
                let build = web_sys::window()
                    .and_then(|w| w.document()?.document_element()?.get_attribute("data-build"))
                    .unwrap_or_default();
                self.model.crashed(CrashReport { message, location, trace, build, ..CrashReport::default() });
                self.link = None;
            }
        }
        if self.model.crash.is_some() {
            self.waiting = None;
        }
        let said: Vec<String> = self.model.said.drain(..).collect();
        if !said.is_empty() {
            self.announce = said.join(". ");
        }
        true
    }

    fn act(&mut self, ctx: &Context<Self>, action: Action) -> bool {
        match action {
            Action::Show(panel) => {
                match panel {
                    Panel::Manifest | Panel::Terminal => self.side = panel,
                    Panel::Logs if self.options.embed && !self.is_phone() => self.side = panel,
                    Panel::Cluster => {}
                    _ => self.dock = panel,
                }
                self.phone = match panel {
                    Panel::Manifest | Panel::Terminal | Panel::Cluster => panel,
                    _ => Panel::Logs,
                };
                self.phone_inspector = false;
                if panel == Panel::Terminal {
                    self.term_focus += 1;
                }
                self.subscribe();
            }
            Action::Unfold(open) => self.unfolded = open,
            Action::Inspect(subject) => {
                let tab = self.selection.as_ref().map_or(InspectorTab::Why, |s| match (&s.subject, &subject) {
                    (Subject::Object(a), Subject::Object(b)) if a.kind == b.kind => s.tab,
                    _ => InspectorTab::Why,
                });
                self.select(Some(Selection { subject, tab }));
                self.phone_inspector = self.is_phone();
                self.unfolded = false;
            }
            Action::InspectTab(tab) => {
                if let Some(selection) = self.selection.clone() {
                    self.select(Some(Selection { tab, ..selection }));
                }
            }
            Action::CloseInspector => {
                self.select(None);
                self.phone_inspector = false;
                self.unfolded = false;
            }
            Action::Lang(lang) => {
                self.lang = lang;
                if let Some(root) = web_sys::window().and_then(|w| w.document()).and_then(|d| d.document_element()) {
                    let _ = root.set_attribute("lang", lang.code());
                }
            }
            Action::NextTheme => {
                self.theme = match self.theme {
                    Theme::Auto => Theme::Light,
                    Theme::Light => Theme::Dark,
                    Theme::Dark => Theme::Auto,
                };
                let root = web_sys::window().and_then(|w| w.document()).and_then(|d| d.document_element());
                if let Some(root) = root {
                    let _ = match self.theme {
                        Theme::Auto => root.remove_attribute("data-theme"),
                        Theme::Light => root.set_attribute("data-theme", "light"),
                        Theme::Dark => root.set_attribute("data-theme", "dark"),
                    };
                }
            }
            Action::OpenMenu(menu) => {
                self.back_to = active_element();
                self.menu = Some(menu);
            }
            Action::CloseMenu => {
                self.menu = None;
                if let Some(element) = self.back_to.take() {
                    let _ = element.focus();
                }
            }
            Action::Dialog(dialog) => self.dialog = dialog,
            Action::Edited(text) => {
                if *text == *self.text {
                    return false;
                }
                self.text = text.into();
                if !self.problems.is_empty() {
                    self.problems = Rc::default();
                }
                self.schedule_check(ctx);
            }
            Action::Load(text) => {
                self.text = text.into();
                self.load = (self.load.0 + 1, self.text.clone());
                self.problems = Rc::default();
                self.answer_open = false;
                self.side = Panel::Manifest;
                self.phone = Panel::Manifest;
                self.schedule_check(ctx);
            }
            Action::Manifest(action) => {
                if self.options.readonly || self.link.is_none() || self.waiting.is_some() {
                    return false;
                }
                self.check = None;
                self.next_id += 1;
                self.waiting = Some(self.next_id);
                self.answer_open = false;
                let story = self.armed && action == ManifestAction::Apply;
                if story {
                    self.back_to = active_element();
                    if self.is_phone() {
                        self.phone = Panel::Cluster;
                    }
                }
                self.send(&ToWorld::Manifest { id: self.next_id, action, text: self.text.to_string(), story });
            }
            Action::CloseAnswer => self.answer_open = false,
            Action::Fault(line) => {
                if !self.options.readonly {
                    self.send(&ToWorld::Fault { line });
                }
            }
            Action::Run(line) => {
                self.side = Panel::Terminal;
                self.phone = Panel::Terminal;
                self.phone_inspector = false;
                self.unfolded = true;
                let sends = Rc::make_mut(&mut self.model.terminal).run(&line);
                sends.iter().for_each(|s| self.send(s));
            }
            Action::Term(key) => self.terminal(key),
            Action::Filter(filter) => {
                self.filter = filter;
                self.follow = true;
                self.subscribe();
            }
            Action::Follow(follow) => {
                if self.follow == follow {
                    return false;
                }
                self.follow = follow;
            }
            Action::Pace(pace) => {
                if let Pace::Speed(speed) = pace {
                    self.model.clock.speed_milli = speed;
                }
                self.send(&ToWorld::Pace(pace));
            }
            Action::Story(command) => {
                self.send(&ToWorld::Story(command));
                if command == StoryCommand::Skip {
                    self.model.story = None;
                    if let Some(element) = self.back_to.take() {
                        let _ = element.focus();
                    }
                }
            }
            Action::Arm(armed) => {
                self.armed = armed;
                self.send(&ToWorld::Story(if armed { StoryCommand::Arm } else { StoryCommand::Disarm }));
            }
            Action::Restart => {
                self.link = None;
                self.model.restart();
                self.model.clock.speed_milli = self.options.speed_milli;
                self.waiting = None;
                self.selection = None;
                self.problems = Rc::default();
                self.start(ctx);
            }
            Action::StartWorld => self.start(ctx),
            Action::Dismiss(at) => {
                self.model.notices.remove(at);
            }
            Action::Copy(text) => {
                if let Some(window) = web_sys::window() {
                    let _ = window.navigator().clipboard().write_text(&text);
                }
            }
        }
        true
    }

    fn terminal(&mut self, key: TermKey) {
        let terminal = Rc::make_mut(&mut self.model.terminal);
        let sends: Vec<ToWorld> = match key {
            TermKey::Edit(line, cursor) => {
                terminal.edit(line, cursor);
                vec![]
            }
            _ if self.link.is_none() => vec![],
            TermKey::Submit => terminal.submit(),
            TermKey::Paste(text) => terminal.paste(&text),
            TermKey::Interrupt => terminal.interrupt().into_iter().collect(),
            TermKey::End => terminal.end_of_input().into_iter().collect(),
            TermKey::Tab => terminal.tab().into_iter().collect(),
            TermKey::Clear => {
                terminal.clear();
                vec![]
            }
            TermKey::Older => {
                terminal.older();
                vec![]
            }
            TermKey::Newer => {
                terminal.newer();
                vec![]
            }
            TermKey::Choose(down) => {
                terminal.choose(down);
                vec![]
            }
            TermKey::Take(usize::MAX) => {
                terminal.take();
                vec![]
            }
            TermKey::Take(n) => {
                terminal.take_nth(n);
                vec![]
            }
            TermKey::Close => {
                terminal.popup = None;
                vec![]
            }
        };
        sends.iter().for_each(|s| self.send(s));
    }

    fn key(&mut self, event: &KeyboardEvent) -> bool {
        let pace = match (event.alt_key(), event.code().as_str()) {
            (true, "KeyP") if self.model.moving() => Pace::Pause,
            (true, "KeyP") => Pace::Run,
            (true, "Period") => Pace::Step,
            _ => return false,
        };
        event.prevent_default();
        self.send(&ToWorld::Pace(pace));
        false
    }
}

/// A panic's text is `panicked at file:line:column:` and its message below.
fn split_panic(text: &str) -> (String, String) {
    let rest = text.strip_prefix("panicked at ").unwrap_or(text);
    match rest.split_once(":\n") {
        Some((location, message)) => (message.to_string(), location.to_string()),
        None => (text.to_string(), String::new()),
    }
}

impl Component for App {
    type Message = Msg;
    type Properties = ();

    fn create(ctx: &Context<Self>) -> Self {
        let window = web_sys::window();
        let search = window.as_ref().and_then(|w| w.location().search().ok()).unwrap_or_default();
        let (options, complaints) = query::parse(&search);
        let languages: Vec<String> = window
            .as_ref()
            .map(|w| w.navigator().languages().iter().filter_map(|l| l.as_string()).collect())
            .unwrap_or_default();
        let lang = options.lang.unwrap_or_else(|| Lang::from_browser(&languages));
        let text: Rc<str> = EXAMPLES.first().map_or("", |e| e.text).into();
        let mut model =
            Model { clock: Clock { speed_milli: options.speed_milli, ..Clock::default() }, ..Model::default() };
        for complaint in &complaints {
            model.notice(words::complaint(lang, complaint));
        }
        let mut listeners = Vec::new();
        if let Some(window) = &window {
            let link = ctx.link().clone();
            listeners.push(EventListener::new(window, "resize", move |_| {
                let (w, h) = window_size();
                link.send_message(Msg::Sized(w, h));
            }));
            let link = ctx.link().clone();
            listeners.push(EventListener::new_with_options(
                window,
                "keydown",
                gloo_events::EventListenerOptions::enable_prevent_default(),
                move |event| {
                    if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
                        link.send_message(Msg::Key(event.clone()));
                    }
                },
            ));
            if let Some(document) = window.document() {
                let link = ctx.link().clone();
                let watched = document.clone();
                listeners.push(EventListener::new(&document, "visibilitychange", move |_| {
                    link.send_message(Msg::Hidden(watched.hidden()));
                }));
            }
        }
        let first = |wanted: &[Panel]| wanted.iter().copied().find(|p| options.shows(*p));
        let side = first(&[Panel::Manifest, Panel::Terminal]).unwrap_or(Panel::Manifest);
        let dock = first(&[Panel::Logs, Panel::Events, Panel::Requests, Panel::Timeline]).unwrap_or(Panel::Logs);
        let phone = if options.shows(Panel::Cluster) { Panel::Cluster } else { side };
        let mut app = App {
            lang,
            theme: options.theme,
            model,
            link: None,
            started: false,
            loading_failed: false,
            window: window_size(),
            side,
            dock,
            phone,
            phone_inspector: false,
            unfolded: false,
            selection: None,
            menu: None,
            dialog: None,
            back_to: None,
            filter: LogFilter::default(),
            follow: true,
            armed: !options.readonly,
            load: (0, text.clone()),
            text,
            next_id: 0,
            waiting: None,
            answer_open: false,
            problems: Rc::default(),
            check: None,
            batch: Rc::new((0, Vec::new())),
            shown_now: 0,
            shown_at: 0.0,
            announce: String::new(),
            term_focus: 0,
            resume: false,
            _listeners: listeners,
            options,
        };
        let hidden = window.and_then(|w| w.document()).is_some_and(|d| d.hidden());
        match app.options.loading {
            Loading::Eager => app.start(ctx),
            Loading::Lazy if !hidden => app.start(ctx),
            Loading::Lazy | Loading::Click => {}
        }
        app
    }

    fn update(&mut self, ctx: &Context<Self>, msg: Msg) -> bool {
        let changed = match msg {
            Msg::Link(event) => self.linked(event),
            Msg::Act(action) => self.act(ctx, action),
            Msg::Sized(w, h) => {
                let was = self.is_phone();
                self.window = (w, h);
                if was != self.is_phone() {
                    self.subscribe();
                }
                true
            }
            Msg::Hidden(hidden) => {
                if !hidden && !self.started && self.options.loading == Loading::Lazy {
                    self.start(ctx);
                } else if hidden && self.model.moving() {
                    self.resume = true;
                    self.send(&ToWorld::Pace(Pace::Pause));
                } else if !hidden && std::mem::take(&mut self.resume) {
                    self.send(&ToWorld::Pace(Pace::Run));
                }
                false
            }
            Msg::CheckDue => {
                self.check = None;
                if self.waiting.is_none() && self.link.is_some() {
                    self.next_id += 1;
                    let text = self.text.to_string();
                    self.send(&ToWorld::Manifest {
                        id: self.next_id,
                        action: ManifestAction::Check,
                        text,
                        story: false,
                    });
                }
                false
            }
            Msg::Key(event) => self.key(&event),
        };
        let now = self.model.clock.now;
        if now != self.shown_now && (wall() - self.shown_at >= COUNTDOWN_EVERY || !self.model.moving()) {
            self.shown_at = wall();
            self.shown_now = now;
        }
        changed
    }

    fn view(&self, ctx: &Context<Self>) -> Html {
        let page = self.page(ctx);
        let phone = self.is_phone();
        let body = if phone {
            self.view_phone(&page)
        } else if self.options.embed {
            self.view_embed(&page)
        } else {
            self.view_whole(&page)
        };
        html! {
            <ContextProvider<Page> context={page.clone()}>
                <Symbols/>
                { body }
                if let Some(menu) = &self.menu {
                    <MenuBox menu={menu.clone()} cluster={Held::from(&self.model.cluster)} seconds={self.shown_now / 1_000_000_000} window={self.window}/>
                }
                if let Some(dialog) = self.dialog { <DialogBox {dialog}/> }
                <div class="sr" role="status" aria-live="polite">{ &self.announce }</div>
            </ContextProvider<Page>>
        }
    }
}

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

    fn manifest(&self) -> Html {
        let answer = self.model.answer.as_ref().filter(|_| self.answer_open).map(Held::from);
        html! {
            <Manifest load={self.load.clone()} text={self.text.clone()} problems={self.problems.clone()} {answer}
                busy={self.waiting.is_some() || self.link.is_none()} trip={self.model.trip.as_ref().map(Held::from)} armed={self.armed}
                small={self.options.embed && !self.is_phone()}/>
        }
    }

    fn terminal_panel(&self) -> Html {
        html! { <Term terminal={Held::from(&self.model.terminal)} focus={self.term_focus}/> }
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
            html! { <Crash report={Held::from(report)} loading={self.loading_failed}/> }
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

    /// The story stands where it hides the least: over the log, in an iframe over the editor, on a phone under the map.
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
            <TimeBar clock={self.model.clock} timers={Held::from(&self.model.timers)} timeline={Held::from(&self.model.timeline)}
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
                    <div class="fill" role="tabpanel" id="side-manifest-panel" aria-labelledby="side-manifest" hidden={open != Panel::Manifest}>{ self.manifest() }</div>
                }
                if open == Panel::Terminal { <div class="fill" role="tabpanel" id={format!("{id}-panel")} aria-labelledby={id}>{ self.terminal_panel() }</div> }
                if open == Panel::Logs { <div class="fill" role="tabpanel" id={format!("{id}-panel")} aria-labelledby={id}>{ self.dock_panel(vec![Panel::Logs], Panel::Logs, true) }</div> }
            </aside>
        }
    }

    fn view_whole(&self, page: &Page) -> Html {
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
            self.model.crash.is_some().then_some("crashed"),
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
                { self.story() }
                { self.timebar(false) }
            </div>
        }
    }

    fn view_embed(&self, page: &Page) -> Html {
        let has_side = !self.side_panels().is_empty();
        let ticker = self.model.logs.back().map(|line| html! {
            <><span class="tm num">{ format::clock_full(self.model.epoch(), line.at) }</span><b>{ klog::component_label(line) }</b><span class="ms">{ line.text.clone() }</span></>
        });
        html! {
            <div class={classes!("embed", (!has_side).then_some("noside"), self.model.crash.is_some().then_some("crashed"))}>
                { self.header(false) }
                if has_side { <div class="sideslot">{ self.side_panel(page) }</div> }
                { self.map(page, false) }
                <p class="ticker">{ ticker.unwrap_or_default() }</p>
                if self.selection.is_some() { <div class="inspslot">{ self.inspector() }</div> }
                { self.story() }
                { self.timebar(true) }
            </div>
        }
    }

    fn view_phone(&self, page: &Page) -> Html {
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
            <div class={classes!("mobile", self.model.crash.is_some().then_some("crashed"))}>
                { self.header(true) }
                <div class="stage1">
                    if shows(Panel::Cluster) { <div class="fill" hidden={open != Some(Panel::Cluster)}>{ self.map(page, true) }</div> }
                    if shows(Panel::Manifest) { <div class="fill side" hidden={open != Some(Panel::Manifest)}><div class="tabs"><span class="name">{ page.t(lang::MANIFEST) }</span><span class="tools">{ manifest::tools(page) }</span></div>{ self.manifest() }</div> }
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
