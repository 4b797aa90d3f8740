//! The world as the page drives it: inputs in, views out, time paced by the wall clock. Looking changes nothing:
//! frames, logs and the inspector read the running programs between polls.

mod cluster_view;
mod control_plane;
mod lines;
mod manifest;
mod pods;
mod requests;
mod suggest;
mod terminal;
#[cfg(test)]
mod tests;
mod timers;
#[cfg(test)]
mod torment;
mod trip;
mod verbosity;
#[cfg(test)]
mod why_tests;

pub(crate) use control_plane::{lease_view, of_kind, percent, process, storage_down};
pub(crate) use timers::Waits;
pub(crate) use trip::Family;

use crate::blueprint::Blueprint;
use crate::cluster::World;
use crate::faults;
use cluster_view::Observer;
use sim::{Duration, Instant};
use std::collections::VecDeque;
use view::{
    ClockState, CrashReport, LaneHealth, Pace, Ready, Selection, Start, StoryCommand, StoryHold, Subscription,
    TimelineEntry, TimelineKind, ToPage, ToWorld, TripKind,
};

/// Wall microseconds between frames at least: every other picture of the screen, so that the page has one to draw its
/// log's lines in.
const FRAME_EVERY: u64 = 32_000;
/// Wall microseconds between polls of a world that keeps up.
const POLL_EVERY: u64 = 8_000;
/// Wall microseconds between frames of a world in which only the clock moves.
const TICK_EVERY: u64 = 90_000;
/// Wall microseconds between new rows of the dock's tables while time goes on.
const ROWS_EVERY: u64 = 150_000;
/// The same while more lines come than are read: each time makes a picture that is dear to draw.
const RUSH_EVERY: u64 = 300_000;
/// Log lines at once that are a rush.
const RUSH: usize = 40;
/// The same of a cluster of many nodes: its map is dear to draw, and what it shows is a crowd.
const CROWD_EVERY: u64 = 64_000;
/// Nodes that are many. While their cluster is moving, the control plane is told with every other frame: its numbers
/// rush by.
const MANY_NODES: usize = 20;
/// Wall microseconds between looks of the inspector.
const INSPECT_EVERY: u64 = 250_000;
/// Wall microseconds over which the speed that is reached is measured.
const MEASURE_EVERY: u64 = 1_000_000;
/// Virtual time that booting may take before the page gets the clock anyway.
const BOOT_AT_MOST: Duration = Duration::from_secs(120);
/// Virtual time without a change after which the cluster counts as settled.
const QUIET: Duration = Duration::from_secs(2);
/// Virtual time without a change after which a cluster that nobody leads is given up waiting for: etcd may be stopped.
const STUCK: Duration = Duration::from_secs(60);
/// Virtual time that "until settled" runs at most.
const SETTLE_AT_MOST: Duration = Duration::from_secs(3600);
/// Inputs kept for a crash report.
const MAX_INPUTS: usize = 200;
/// Speed while a story creeps from one step to the next, in thousandths.
const CREEP: u64 = 100;
/// Virtual time without a change after which a story hurries, and how fast, in thousandths.
const STILL: Duration = Duration::from_millis(120);
const FAST: u64 = 4000;

/// What the clock does besides its speed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Booting,
    Running,
    Paused,
    Settling { until: Instant },
    ToTimer { at: Instant },
    Stepping { activity: u64, until: Instant },
    Holding,
}

/// A world and the page's view of it.
pub struct Session {
    world: World,
    start: Start,
    mode: Mode,
    /// Where a hurry goes back to.
    after: Mode,
    speed_milli: u64,
    wall: Option<u64>,
    /// Virtual nanoseconds that the wall clock has asked for and that have not been run.
    owed: u64,
    behind: bool,
    /// Since when the clock's speed is measured (wall microseconds and virtual nanoseconds), and what came of it last.
    measured: (u64, u64),
    reached_milli: u64,
    observer: Observer,
    terminal: terminal::Terminal,
    manifest: manifest::Requests,
    logs: lines::Logs,
    requests: requests::Requests,
    trip: trip::Tracker,
    story: Option<Story>,
    selection: Option<Selection>,
    shown: Vec<u8>,
    inspected: u64,
    subscription: Subscription,
    events_seen: u64,
    outbox: Vec<ToPage>,
    frame: u64,
    acknowledged: u64,
    framed: u64,
    rowed: u64,
    dirty: bool,
    timeline: VecDeque<TimelineEntry>,
    lanes: std::collections::BTreeMap<String, String>,
    trip_told: bool,
    inputs: VecDeque<(u64, String)>,
    quiet_since: Instant,
    activity: u64,
}

struct Story {
    next: TripKind,
    holding: bool,
}

const STEPS: [TripKind; 6] =
    [TripKind::Stored, TripKind::ReplicaSet, TripKind::Pods, TripKind::Bound, TripKind::Started, TripKind::Ready];

impl Session {
    /// Builds the world and begins its boot.
    pub fn new(start: &Start) -> Session {
        let control_planes = match start.control_planes {
            0..=2 => 1,
            3 | 4 => 3,
            _ => 5,
        };
        let defaults = Blueprint::default();
        let nodes = u32::from(start.nodes.clamp(1, 1000));
        let blueprint = Blueprint {
            seed: start.seed,
            epoch: start.epoch_unix_nanos.map_or(defaults.epoch, |n| n.div_euclid(1_000_000_000)),
            control_planes,
            replicas: defaults.replicas.max(control_planes),
            nodes,
            zones: u32::from(start.zones.clamp(1, 26)),
            client_rate: if nodes > 20 { 20 } else { 1 },
            ..defaults
        };
        let world = World::new(&blueprint);
        let terminal = terminal::Terminal::new(&world);
        let ready = Ready {
            version: view::VERSION,
            kubernetes_version: "v1.37.2".into(),
            epoch_unix_nanos: blueprint.epoch.saturating_mul(1_000_000_000),
            nodes: start.nodes.clamp(1, 1000),
            zones: start.zones.clamp(1, 26),
            control_planes: control_planes as u8,
        };
        Session {
            observer: Observer::new(&world),
            terminal,
            manifest: manifest::Requests::default(),
            logs: lines::Logs::default(),
            requests: requests::Requests::default(),
            trip: trip::Tracker::default(),
            start: start.clone(),
            mode: Mode::Booting,
            after: if start.paused { Mode::Paused } else { Mode::Running },
            speed_milli: u64::from(start.speed_milli.clamp(1, 1_000_000)),
            wall: None,
            owed: 0,
            behind: false,
            measured: (0, 0),
            reached_milli: 0,
            story: None,
            selection: None,
            shown: Vec::new(),
            inspected: 0,
            subscription: Subscription::default(),
            events_seen: 0,
            outbox: vec![ToPage::Ready(ready)],
            frame: 0,
            acknowledged: 0,
            framed: 0,
            rowed: 0,
            dirty: true,
            timeline: VecDeque::new(),
            lanes: std::collections::BTreeMap::new(),
            trip_told: false,
            inputs: VecDeque::new(),
            quiet_since: Instant::ZERO,
            activity: 0,
            world,
        }
    }

    fn now(&self) -> u64 {
        self.world.sim().now().as_nanos()
    }

    /// Takes an input in. It enters at the present moment, when nothing is runnable.
    pub fn receive(&mut self, message: ToWorld) {
        match message {
            ToWorld::Start(_) => {}
            ToWorld::Command { id, text } => {
                self.note(text.lines().next().unwrap_or_default());
                if let Some(answer) = self.terminal.run(id, &text) {
                    self.outbox.push(answer);
                }
                self.wake();
            }
            ToWorld::Stdin { id, text } => {
                self.terminal.stdin(id, &text);
                self.wake();
            }
            ToWorld::Edited { id, text } => {
                self.note(if text.is_some() { "the editor: saved" } else { "the editor: left" });
                self.terminal.edited(id, text);
                self.wake();
            }
            ToWorld::Interrupt { id } => {
                self.terminal.interrupt(id);
                self.wake();
            }
            ToWorld::Complete { id, line, cursor } => {
                let answer = self.terminal.complete(&self.world, id, &line, cursor as usize);
                self.outbox.push(ToPage::Completions(answer));
            }
            ToWorld::Manifest { id, action, text, story } => {
                if action == view::ManifestAction::Check {
                    self.outbox.push(ToPage::Manifest(manifest::check(id, &text)));
                    return;
                }
                self.note(manifest::command_line(action));
                let revision = self.observer.revision(&self.world);
                self.manifest.start(&self.world, id, action, &text);
                if action == view::ManifestAction::Apply {
                    self.trip.begin(&text, self.now(), revision);
                    self.story = story.then_some(Story { next: TripKind::Stored, holding: false });
                }
                self.wake();
            }
            ToWorld::Fault { line } => self.fault(&line),
            ToWorld::Pace(pace) => self.pace(pace),
            ToWorld::Select(selection) => {
                self.selection = selection;
                self.shown.clear();
                self.inspected = 0;
            }
            ToWorld::Subscribe(subscription) => {
                if subscription.logs
                    && (!self.subscription.logs || subscription.log_filter != self.subscription.log_filter)
                {
                    self.logs.reset();
                }
                if subscription.events {
                    self.events_seen = 0;
                }
                self.requests.subscribe(subscription.requests && !self.subscription.requests);
                self.subscription = subscription;
            }
            ToWorld::Story(command) => self.tell(command),
            ToWorld::FrameSeen { number } => {
                self.acknowledged = self.acknowledged.max(number);
                // Nothing to tell of: a clock that is held would be told of again and again.
                return;
            }
        }
        self.dirty = true;
    }

    /// A command makes a paused world go on? No: it waits for the reader; but a settled hurry is over.
    fn wake(&mut self) {
        self.quiet_since = self.world.sim().now();
    }

    fn note(&mut self, line: &str) {
        let at = self.now();
        self.timeline.push_back(TimelineEntry { at, what: TimelineKind::Input { line: line.to_string() } });
        self.record(line);
    }

    fn record(&mut self, line: &str) {
        if self.inputs.len() >= MAX_INPUTS {
            self.inputs.pop_front();
        }
        self.inputs.push_back((self.now(), line.to_string()));
    }

    fn fault(&mut self, line: &str) {
        self.record(line);
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let done = match faults::parse(&words) {
            Ok(fault) => self.world.machines().apply(&fault),
            Err(usage) => Err(usage.0),
        };
        match done {
            Err(text) => self.outbox.push(ToPage::Notice { text: format!("cluster: {text}") }),
            Ok(_) => {
                let ends = matches!(words.first(), Some(&("start" | "heal" | "restore"))) || words.last() == Some(&"0");
                let target = words.get(1).copied().unwrap_or_default().to_string();
                let line = line.to_string();
                let what = if ends {
                    TimelineKind::FaultEnded { target, line }
                } else {
                    TimelineKind::FaultBegan { target, line }
                };
                self.timeline.push_back(TimelineEntry { at: self.now(), what });
            }
        }
        self.wake();
    }

    fn pace(&mut self, pace: Pace) {
        let now = self.world.sim().now();
        self.owed = 0;
        (self.measured, self.reached_milli) = ((self.wall.unwrap_or(0), now.as_nanos()), 0);
        let rest = match self.mode {
            Mode::Paused | Mode::Stepping { .. } => Mode::Paused,
            _ => Mode::Running,
        };
        match pace {
            // Where a story holds, going on is going to its next step.
            Pace::Run if self.mode == Mode::Holding => self.tell(StoryCommand::Next),
            Pace::Run => self.mode = Mode::Running,
            Pace::Pause => self.mode = Mode::Paused,
            Pace::Speed(speed) => self.speed_milli = u64::from(speed.clamp(1, 1_000_000)),
            Pace::Step => {
                self.mode = Mode::Stepping { activity: self.observer.activity(&self.world), until: now + BOOT_AT_MOST };
            }
            Pace::UntilSettled => {
                self.after = rest;
                self.quiet_since = now;
                self.mode = Mode::Settling { until: now + SETTLE_AT_MOST };
            }
            Pace::NextTimer => {
                if let Some(timer) = self.observer.timers(&self.world).first() {
                    self.after = rest;
                    self.mode = Mode::ToTimer { at: Instant::from_nanos(timer.at) };
                }
            }
        }
    }

    fn tell(&mut self, command: StoryCommand) {
        match command {
            StoryCommand::Next => {
                if let Some(story) = &mut self.story {
                    story.holding = false;
                    let at = STEPS.iter().position(|s| *s == story.next).unwrap_or(STEPS.len());
                    match STEPS.get(at + 1).filter(|next| self.trip.has(**next)) {
                        Some(next) => story.next = *next,
                        None => self.story = None,
                    }
                }
                if self.mode == Mode::Holding {
                    self.mode = Mode::Running;
                }
            }
            StoryCommand::Skip | StoryCommand::Disarm => {
                self.story = None;
                if self.mode == Mode::Holding {
                    self.mode = Mode::Running;
                }
            }
            StoryCommand::Arm => {}
        }
        self.owed = 0;
    }

    /// Lets the world go on as the wall clock says; what the page should hear comes out. `more` is asked between steps
    /// whether there is time left.
    pub fn poll(&mut self, wall_micros: u64, more: &mut dyn FnMut() -> bool) -> Vec<ToPage> {
        let elapsed = wall_micros.saturating_sub(self.wall.unwrap_or(wall_micros));
        self.wall = Some(wall_micros);
        self.advance(elapsed, more);
        self.measure(wall_micros);
        self.collect();
        self.look(wall_micros);
        std::mem::take(&mut self.outbox)
    }

    fn advance(&mut self, elapsed: u64, more: &mut dyn FnMut() -> bool) {
        let sim = self.world.sim().clone();
        let speed = match &self.story {
            // A story creeps while something happens and hurries through what only takes time (an image's pull).
            Some(_) if sim.now().since(self.quiet_since) < STILL => self.speed_milli.min(CREEP),
            Some(_) => self.speed_milli.max(FAST),
            None => self.speed_milli,
        };
        // A world that can't keep up owes no more than a fifth of a second of wall time.
        self.owed = self.owed.saturating_add(elapsed.saturating_mul(speed)).min(200_000 * speed);
        loop {
            let now = sim.now();
            let limit = match self.mode {
                Mode::Paused | Mode::Holding => {
                    // What became runnable by an input still has its moment.
                    run(sim.settle());
                    self.owed = 0;
                    return;
                }
                Mode::Running => now + Duration::from_nanos(self.owed),
                Mode::Booting => Instant::ZERO + BOOT_AT_MOST,
                Mode::Settling { until } | Mode::Stepping { until, .. } => until,
                Mode::ToTimer { at } => at,
            };
            if !more() {
                self.behind = self.mode == Mode::Running && self.owed > 100_000 * speed;
                return;
            }
            let went = run(sim.step(limit));
            if !went {
                run(sim.run_until(limit));
            }
            let passed = sim.now().as_nanos().saturating_sub(now.as_nanos());
            if self.mode == Mode::Running {
                self.owed = self.owed.saturating_sub(passed);
            }
            self.dirty = true;
            if self.step_done(went) {
                self.behind = false;
                return;
            }
        }
    }

    /// The speed that is reached, once a second of wall time.
    fn measure(&mut self, wall: u64) {
        let (since, from) = self.measured;
        if wall.saturating_sub(since) < MEASURE_EVERY {
            return;
        }
        let passed = self.now().saturating_sub(from);
        self.reached_milli = passed.checked_div(wall.saturating_sub(since)).unwrap_or(0);
        self.measured = (wall, self.now());
    }

    /// What ends a mode. True when there is nothing more to do in this poll.
    fn step_done(&mut self, went: bool) -> bool {
        let now = self.world.sim().now();
        let activity = self.observer.activity(&self.world);
        if activity != self.activity {
            self.activity = activity;
            self.quiet_since = now;
            if self.trip.update(&self.world, &self.observer) {
                self.trip_told = false;
            }
            if self.hold() {
                return true;
            }
        }
        match self.mode {
            Mode::Running => !went,
            Mode::Booting if self.observer.booted(&self.world) || !went => {
                self.mode = self.after;
                self.owed = 0;
                true
            }
            Mode::Settling { .. } if !went || self.settled() || self.stuck() => {
                self.mode = self.after;
                self.owed = 0;
                true
            }
            Mode::ToTimer { .. } if !went => {
                self.mode = self.after;
                self.owed = 0;
                true
            }
            Mode::Stepping { activity: before, .. } if !went || activity != before => {
                self.mode = Mode::Paused;
                true
            }
            Mode::Paused | Mode::Holding => true,
            _ => false,
        }
    }

    /// Holds the story where its next step is made.
    fn hold(&mut self) -> bool {
        let Some(story) = &mut self.story else { return false };
        if story.holding || !self.trip.is_done(story.next) {
            return false;
        }
        story.holding = true;
        self.mode = Mode::Holding;
        self.owed = 0;
        true
    }

    /// Nothing happens, and nothing will as long as something of the control plane is missing.
    fn stuck(&self) -> bool {
        self.world.sim().now().since(self.quiet_since) >= STUCK && !self.world.is_whole()
    }

    fn settled(&self) -> bool {
        let now = self.world.sim().now();
        now.since(self.quiet_since) >= QUIET
            && self.world.is_whole()
            && !self.terminal.busy()
            && !self.manifest.busy()
            && !self.observer.timers(&self.world).iter().any(timers::is_awaited)
            && self.observer.steady(&self.world)
    }

    /// Takes what programs wrote.
    fn collect(&mut self) {
        self.outbox.extend(self.terminal.collect());
        self.outbox.extend(self.manifest.collect());
    }

    fn frame_every(&self) -> u64 {
        if self.has_many_nodes() { CROWD_EVERY } else { FRAME_EVERY }
    }

    fn has_many_nodes(&self) -> bool {
        self.world.machines().nodes().len() > MANY_NODES
    }

    /// Sends what the page wants to see, if it is time.
    fn look(&mut self, wall: u64) {
        let moving = !matches!(self.mode, Mode::Paused | Mode::Holding);
        let due = wall.saturating_sub(self.framed) >= if self.dirty { self.frame_every() } else { TICK_EVERY };
        if self.frame == self.acknowledged && (self.frame == 0 || due && (self.dirty || moving)) {
            self.framed = wall;
            self.dirty = false;
            self.send_frame();
        }
        let rows_every = if self.logs.taken() > RUSH { RUSH_EVERY } else { ROWS_EVERY };
        if moving && wall.saturating_sub(self.rowed) < rows_every && !self.logs.begins_anew() {
            self.look_closer(wall);
            return;
        }
        self.rowed = wall;
        if self.subscription.logs {
            self.outbox.extend(self.logs.take(&self.world, &self.subscription.log_filter));
        }
        if self.subscription.events {
            let revision = self.observer.events_changed(&self.world);
            if revision != self.events_seen {
                self.events_seen = revision;
                self.outbox.push(ToPage::Events(self.observer.events(&self.world, |_| true)));
            }
        }
        self.outbox.extend(self.requests.rows(&self.world, self.subscription.requests));
        self.look_closer(wall);
    }

    /// What the inspector shows, if it is time.
    fn look_closer(&mut self, wall: u64) {
        if let Some(selection) = &self.selection
            && (self.inspected == 0 || wall.saturating_sub(self.inspected) >= INSPECT_EVERY)
        {
            self.inspected = wall;
            let inputs: Vec<(u64, String)> = self.inputs.iter().cloned().collect();
            if let Some(inspector) = crate::inspect::inspect(&self.world, &inputs, selection) {
                let bytes = view::encode(&inspector);
                if bytes != self.shown {
                    self.shown = bytes;
                    self.outbox.push(ToPage::Inspector(Box::new(inspector)));
                }
            }
        }
    }

    fn send_frame(&mut self) {
        self.frame += 1;
        let still = matches!(self.mode, Mode::Paused | Mode::Holding);
        let many = self.has_many_nodes();
        let mut frame = self.observer.frame(&self.world, still || !many || self.frame.is_multiple_of(2));
        frame.number = self.frame;
        frame.full = self.frame == 1;
        frame.clock.now = self.now();
        frame.clock.speed_milli = u32::try_from(self.speed_milli).unwrap_or(u32::MAX);
        let behind = self.mode == Mode::Running && self.behind;
        frame.clock.reached_milli = if behind { u32::try_from(self.reached_milli).unwrap_or(u32::MAX) } else { 0 };
        frame.clock.settled = matches!(self.mode, Mode::Running | Mode::Paused) && self.settled();
        frame.clock.state = match self.mode {
            Mode::Booting => ClockState::Booting,
            Mode::Running if self.behind => ClockState::Behind,
            Mode::Running => ClockState::Running,
            Mode::Paused | Mode::Stepping { .. } => ClockState::Paused,
            Mode::Settling { .. } | Mode::ToTimer { .. } => ClockState::Hurrying,
            Mode::Holding => ClockState::Holding,
        };
        let requests = self.requests.messages(&self.world);
        // At rest the map is still: what beats send back and forth is no event.
        if !requests.iter().any(|m| m.kind != view::MessageKind::Heartbeat) {
            frame.messages.clear();
        }
        frame.messages.extend(requests);
        frame.request_count = self.requests.count();
        if self.trip.update(&self.world, &self.observer) || !self.trip_told {
            self.trip_told = true;
            frame.trip = self.trip.view().cloned();
        }
        if let (Some(trip), Some(story)) = (self.trip.view(), &self.story)
            && (story.holding || story.next != TripKind::Stored)
        {
            // While time creeps, the step just told stays in view.
            let at = STEPS.iter().position(|s| *s == story.next).unwrap_or(0);
            let step =
                if story.holding { story.next } else { STEPS.get(at.saturating_sub(1)).copied().unwrap_or_default() };
            frame.story = Some(StoryHold { trip: trip.id, step, holding: story.holding });
        }
        self.mark_lanes(&frame);
        frame.timeline = self.timeline.drain(..).collect();
        self.outbox.push(ToPage::Frame(Box::new(frame)));
    }

    /// Lanes of the timeline: nodes and components as their states change.
    fn mark_lanes(&mut self, frame: &view::Frame) {
        let at = frame.clock.now;
        let mut states: Vec<(String, String, LaneHealth)> = frame
            .nodes
            .iter()
            .map(|n| match n.ready {
                view::Readiness::True => (n.name.clone(), "Ready".to_string(), LaneHealth::Good),
                _ => (n.name.clone(), "NotReady".to_string(), LaneHealth::Bad),
            })
            .collect();
        for component in self.world.machines().components().iter().filter(|c| c.node.is_none()) {
            let machines = self.world.machines();
            let (state, health) = if machines.is_running(&component.name) {
                ("running", LaneHealth::Good)
            } else if machines.restart_of(&component.name).is_some() {
                ("restarting", LaneHealth::Suspect)
            } else {
                ("stopped", LaneHealth::Bad)
            };
            states.push((component.name.to_string(), state.to_string(), health));
        }
        for (lane, state, health) in states {
            if self.lanes.get(&lane) != Some(&state) {
                self.lanes.insert(lane.clone(), state.clone());
                self.timeline.push_back(TimelineEntry { at, what: TimelineKind::State { lane, state, health } });
            }
        }
    }

    /// Wall microseconds until the next poll is wanted: 0 at once, `None` after the next message only.
    pub fn wait_micros(&self) -> Option<u64> {
        let frame_waits = self.frame == self.acknowledged && self.dirty;
        match self.mode {
            Mode::Paused | Mode::Holding => {
                (frame_waits || self.selection.is_some() && self.inspected == 0).then_some(self.frame_every())
            }
            Mode::Running if self.behind => Some(0),
            Mode::Running => Some(POLL_EVERY),
            _ => Some(0),
        }
    }

    /// What is known when the world ends badly.
    pub fn report(&self, message: &str, location: &str) -> CrashReport {
        let trace = self.world.sim().trace(|t| {
            let lines: Vec<String> =
                t.logs.since(t.logs.total().saturating_sub(50)).map(|l| l.text.to_string()).collect();
            lines
        });
        let mut inputs = vec![format!("{:?}", self.start)];
        inputs.extend(self.inputs.iter().map(|(at, line)| format!("{at} ns  {line}")));
        CrashReport {
            message: message.into(),
            location: location.into(),
            at: self.now(),
            build: env!("CARGO_PKG_VERSION").into(),
            inputs,
            trace,
        }
    }
}

/// A livelock is a mistake of the world, not of the reader: it ends the world, and the page says so.
#[expect(clippy::panic, reason = "the page shows it as the world's crash")]
fn run<T>(result: Result<T, sim::Livelock>) -> T {
    match result {
        Ok(value) => value,
        Err(livelock) => panic!("{livelock}"),
    }
}
