//! The application: holds the model and the worker, turns what the reader does into messages, and puts the panels
//! together for the size of the window.

mod keys;

use super::dialogs::{Dialog, DialogBox};
use super::icons::Symbols;
use super::menus::{Menu, MenuBox};
use super::{Action, Held, Page};
use crate::examples::EXAMPLES;
use crate::intake::Intake;
use crate::lang::Lang;
use crate::link::{Link, LinkEvent, LoadFailure};
use crate::model::{Model, trap_report};
use crate::query::{self, Loading, Options, Panel, Theme};
use crate::watch::{TICK, Watch};
use crate::words;
use gloo_events::EventListener;
use gloo_timers::callback::{Interval, Timeout};
use std::rc::Rc;
use view::{
    Clock, ClockState, CrashReport, InspectorTab, LogFilter, ManifestAction, MessageView, Pace, Problem, Selection,
    Start, StoryCommand, Subject, Subscription, ToWorld,
};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::HtmlElement;
use yew::prelude::*;

/// Milliseconds after the last key until the manifest is checked.
const CHECK_AFTER: u32 = 900;
/// Milliseconds of wall time between redraws of countdowns.
const COUNTDOWN_EVERY: f64 = 100.0;
/// Milliseconds after a press on pause or play in which a frame may still tell of before.
const PACED: f64 = 150.0;

/// What reaches the application.
pub enum Msg {
    /// From the worker.
    Link(LinkEvent),
    /// The browser is about to draw.
    Picture,
    /// Time to see whether the worker still answers.
    Tick,
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
    pub(super) options: Options,
    pub(super) lang: Lang,
    pub(super) theme: Theme,
    pub(super) model: Model,
    pub(super) link: Option<Link>,
    pub(super) started: bool,
    pub(super) loading_failed: Option<LoadFailure>,
    /// The worker answers nothing: what is known of it.
    pub(super) hang: Option<Rc<CrashReport>>,
    watch: Watch,
    _ticks: Interval,
    /// What the reader wanted of the clock last, and until when frames that were under way then are not believed.
    paced: Option<(ClockState, f64)>,
    pub(super) window: (f64, f64),
    pub(super) side: Panel,
    pub(super) dock: Panel,
    pub(super) phone: Panel,
    pub(super) phone_inspector: bool,
    pub(super) unfolded: bool,
    pub(super) selection: Option<Selection>,
    pub(super) menu: Option<Menu>,
    pub(super) dialog: Option<Dialog>,
    pub(super) back_to: Option<HtmlElement>,
    pub(super) filter: LogFilter,
    pub(super) follow: bool,
    pub(super) armed: bool,
    pub(super) text: Rc<str>,
    pub(super) load: (u32, Rc<str>),
    pub(super) next_id: u32,
    pub(super) waiting: Option<u32>,
    pub(super) answer_open: bool,
    pub(super) problems: Rc<Vec<Problem>>,
    pub(super) check: Option<Timeout>,
    pub(super) batch: Rc<(u64, Vec<MessageView>)>,
    pub(super) shown_now: u64,
    pub(super) shown_at: f64,
    pub(super) announce: String,
    pub(super) term_focus: u32,
    pub(super) resume: bool,
    /// What the reader does. One and the same for the whole life: a new one would be a new [`Page`], and everything that
    /// knows the page would be drawn again with every frame.
    on_act: Callback<Action>,
    intake: Intake,
    on_picture: Closure<dyn FnMut()>,
    picture_due: bool,
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
    fn page(&self) -> Page {
        Page {
            lang: self.lang,
            readonly: self.options.readonly,
            embed: self.options.embed,
            epoch: self.model.epoch(),
            act: self.on_act.clone(),
        }
    }

    fn send(&self, message: &ToWorld) {
        if let Some(link) = &self.link {
            link.send(message);
        }
    }

    fn start(&mut self, ctx: &Context<Self>) {
        self.started = true;
        self.loading_failed = None;
        self.hang = None;
        self.watch = Watch::default();
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
            Err(failure) => self.fail(failure),
        }
    }

    fn fail(&mut self, failure: LoadFailure) {
        self.model.crashed(trap_report(&format!("{}: {}", failure.file, failure.why)));
        self.loading_failed = Some(failure);
        self.link = None;
    }

    pub(super) fn is_phone(&self) -> bool {
        self.window.0 < 760.0
    }

    pub(super) fn dock_panels(&self) -> Vec<Panel> {
        let all = [Panel::Logs, Panel::Events, Panel::Requests, Panel::Timeline];
        all.into_iter().filter(|p| self.options.shows(*p)).collect()
    }

    pub(super) fn side_panels(&self) -> Vec<Panel> {
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

    /// Asks the browser to say when it draws next, if something waits for that.
    fn await_picture(&mut self) {
        if self.intake.is_empty() || self.picture_due {
            return;
        }
        let function = self.on_picture.as_ref().unchecked_ref();
        self.picture_due = web_sys::window().is_some_and(|w| w.request_animation_frame(function).is_ok());
    }

    /// Whether the worker still answers: asked, and looked at.
    fn tick(&mut self) -> bool {
        let Some(link) = self.link.as_ref().filter(|_| self.model.crash.is_none()) else { return false };
        let hidden = web_sys::window().and_then(|w| w.document()).is_some_and(|d| d.hidden());
        if self.watch.tick(wall(), hidden) {
            link.ask();
        }
        if !self.watch.hung() || self.hang.is_some() {
            return false;
        }
        let mut report = trap_report("no answer from the worker");
        (report.at, report.build, report.inputs) = (self.model.clock.now, build(), link.inputs());
        self.hang = Some(Rc::new(report));
        true
    }

    fn linked(&mut self, event: LinkEvent) -> bool {
        self.watch.heard();
        let woke = self.hang.take().is_some();
        match event {
            LinkEvent::Alive => return woke,
            LinkEvent::Fetching(on) => {
                self.watch.fetching(on);
                return woke;
            }
            LinkEvent::Messages(messages) => {
                let at_once = self.intake.offer(messages);
                self.await_picture();
                if at_once.is_empty() {
                    return woke;
                }
                self.take(at_once);
            }
            LinkEvent::Failed(failure) => self.fail(failure),
            LinkEvent::Crashed { message, stack } => {
                let (message, location) = split_panic(&message);
                let trace = stack.lines().take(30).map(str::to_string).collect();
                let inputs = self.link.as_ref().map(Link::inputs).unwrap_or_default();
                let report = CrashReport { message, location, trace, build: build(), inputs, ..CrashReport::default() };
                self.model.crashed(report);
                self.link = None;
            }
        }
        if self.model.crash.is_some() {
            self.waiting = None;
        }
        true
    }

    fn take(&mut self, messages: Vec<view::ToPage>) {
        let subject = self.selection.as_ref().map(|s| s.subject.clone());
        let mut travelling = Vec::new();
        for message in messages {
            if let view::ToPage::Manifest(result) = &message {
                let checked = result.action == ManifestAction::Check;
                if !checked && self.waiting == Some(result.id) {
                    self.waiting = None;
                    self.answer_open = true;
                    // What was refused has no story: the next Apply has it.
                    let refused = result.documents.iter().all(|document| document.outcome == view::Outcome::Refused);
                    self.armed = self.armed && (result.action != ManifestAction::Apply || refused);
                }
                if result.id == self.next_id {
                    self.problems = Rc::new(result.problems.clone());
                }
            }
            let effects = self.model.take(message, self.lang, subject.as_ref());
            if let Some((wanted, until)) = self.paced {
                let clock = &mut self.model.clock.state;
                if wall() > until {
                    self.paced = None;
                } else if wanted == ClockState::Paused || *clock == ClockState::Paused {
                    *clock = wanted;
                }
            }
            for send in &effects.send {
                self.send(send);
            }
            travelling.extend(effects.messages);
        }
        if !travelling.is_empty() {
            self.batch = Rc::new((self.batch.0 + 1, travelling));
        }
        let said: Vec<String> = self.model.said.drain(..).collect();
        if !said.is_empty() {
            self.announce = said.join(". ");
        }
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
                self.pace(pace);
            }
            // The button may have been drawn before the last press: what it does is decided by what holds now.
            Action::PauseOrPlay => self.pace(if self.model.moving() { Pace::Pause } else { Pace::Run }),
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
                self.intake = Intake::default();
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

    /// Sends what the reader wants of the clock; the page shows it at once, until frames tell.
    fn pace(&mut self, pace: Pace) {
        match pace {
            Pace::Speed(speed) => self.model.clock.speed_milli = speed,
            Pace::Pause | Pace::Run => {
                let state = if pace == Pace::Pause { ClockState::Paused } else { ClockState::Running };
                self.model.clock.state = state;
                self.paced = Some((state, wall() + PACED));
            }
            _ => self.paced = None,
        }
        self.send(&ToWorld::Pace(pace));
    }

    fn key(&mut self, event: &KeyboardEvent) -> bool {
        // What has the focus takes Esc first: a menu, the story, the terminal, a field.
        let field = || {
            active_element().is_some_and(|e| {
                matches!(e.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT" | "DIALOG") || e.is_content_editable()
            })
        };
        let free = self.menu.is_none() && self.dialog.is_none();
        if event.key() == "Escape" && !event.default_prevented() && self.selection.is_some() && free && !field() {
            self.select(None);
            self.phone_inspector = false;
            self.unfolded = false;
            return true;
        }
        if event.key() == "Escape" && !event.default_prevented() && self.model.story.is_some() && free && !field() {
            self.send(&ToWorld::Story(StoryCommand::Skip));
            self.model.story = None;
            return true;
        }
        let pace = match (event.alt_key(), event.code().as_str()) {
            (true, "KeyP") if self.model.moving() => Pace::Pause,
            (true, "KeyP") => Pace::Run,
            (true, "Period") => Pace::Step,
            _ => return false,
        };
        event.prevent_default();
        self.pace(pace);
        true
    }
}

/// Which build of the page this is.
fn build() -> String {
    let root = web_sys::window().and_then(|w| w.document()?.document_element());
    root.and_then(|root| root.get_attribute("data-build")).unwrap_or_default()
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
        let hash = window.as_ref().and_then(|w| w.location().hash().ok()).unwrap_or_default();
        for complaint in complaints.iter().chain(query::hash(&hash).iter()) {
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
            loading_failed: None,
            hang: None,
            watch: Watch::default(),
            _ticks: {
                let link = ctx.link().clone();
                Interval::new(TICK, move || link.send_message(Msg::Tick))
            },
            paced: None,
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
            on_act: ctx.link().callback(Msg::Act),
            intake: Intake::default(),
            on_picture: {
                let link = ctx.link().clone();
                Closure::new(move || link.send_message(Msg::Picture))
            },
            picture_due: false,
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
            Msg::Picture => {
                self.picture_due = false;
                let message = self.intake.next_drawn();
                self.await_picture();
                let drawn = message.is_some();
                self.take(message.into_iter().collect());
                drawn
            }
            Msg::Tick => self.tick(),
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

    fn view(&self, _: &Context<Self>) -> Html {
        let page = self.page();
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
