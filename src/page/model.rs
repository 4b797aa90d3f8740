//! Everything the page knows: a reducer over the world's messages, with a bound on all that grows.

use crate::cluster::Cluster;
use crate::lang::Lang;
use crate::term::Terminal;
use crate::words;
use std::collections::VecDeque;
use std::rc::Rc;
use view::{
    Clock, ClockState, CrashReport, EventRow, Inspector, LogLine, ManifestAction, ManifestResult, MessageView, Ready,
    RequestRow, StoryHold, Subject, TimelineEntry, TimerView, ToPage, ToWorld, Trip,
};

/// Log lines kept.
pub const MAX_LOG_LINES: usize = 1500;
/// Requests kept.
pub const MAX_REQUESTS: usize = 500;
/// Timeline entries kept; the oldest go first.
pub const MAX_TIMELINE: usize = 2000;
/// Notices shown at once.
pub const MAX_NOTICES: usize = 4;

/// Everything the page knows about the world.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    /// The world's first word.
    pub ready: Option<Rc<Ready>>,
    /// Time.
    pub clock: Clock,
    /// The map.
    pub cluster: Rc<Cluster>,
    /// What became of the last Apply.
    pub trip: Option<Rc<Trip>>,
    /// Where the story holds.
    pub story: Option<StoryHold>,
    /// What will happen next.
    pub timers: Rc<Vec<TimerView>>,
    /// What happened.
    pub timeline: Rc<VecDeque<TimelineEntry>>,
    /// Log lines, oldest first.
    pub logs: Rc<VecDeque<Rc<LogLine>>>,
    /// Events, oldest first.
    pub events: Rc<Vec<EventRow>>,
    /// Requests, oldest first.
    pub requests: Rc<VecDeque<RequestRow>>,
    /// For the tab.
    pub event_count: u32,
    /// For the tab.
    pub request_count: u64,
    /// What the inspector shows.
    pub inspector: Option<Rc<Inspector>>,
    /// The last answer to the editor, not counting checks.
    pub answer: Option<Rc<ManifestResult>>,
    /// The last check of the editor's text.
    pub check: Option<Rc<ManifestResult>>,
    /// Sentences for the reader, newest last.
    pub notices: VecDeque<String>,
    /// The world is gone.
    pub crash: Option<Rc<CrashReport>>,
    /// The terminal.
    pub terminal: Rc<Terminal>,
    /// What a screen reader should hear, newest last; drained by the page.
    pub said: VecDeque<String>,
    /// Frames taken in.
    pub frames: u64,
}

/// What follows from a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Effects {
    /// To be sent.
    pub send: Vec<ToWorld>,
    /// To travel over the map.
    pub messages: Vec<MessageView>,
}

impl Model {
    /// Takes a message in.
    pub fn take(&mut self, message: ToPage, lang: Lang, selected: Option<&Subject>) -> Effects {
        let mut effects = Effects::default();
        match message {
            ToPage::Ready(ready) => self.ready = Some(Rc::new(ready)),
            ToPage::Frame(mut frame) => {
                self.frames += 1;
                effects.send.push(ToWorld::FrameSeen { number: frame.number });
                effects.messages = std::mem::take(&mut frame.messages);
                self.clock = frame.clock;
                if *self.timers != frame.timers {
                    self.timers = Rc::new(std::mem::take(&mut frame.timers));
                }
                if let Some(trip) = frame.trip.take() {
                    self.trip = Some(Rc::new(trip));
                }
                if let (Some(hold), Some(trip)) = (&frame.story, &self.trip)
                    && hold.holding
                    && self.story.as_ref().is_none_or(|s| (s.step, s.holding) != (hold.step, true))
                {
                    self.said.push_back(words::story(lang, trip, hold.step));
                }
                self.story = frame.story.take();
                if !frame.timeline.is_empty() {
                    let timeline = Rc::make_mut(&mut self.timeline);
                    timeline.extend(frame.timeline.drain(..));
                    while timeline.len() > MAX_TIMELINE {
                        timeline.pop_front();
                    }
                }
                self.event_count = frame.event_count;
                self.request_count = frame.request_count;
                if touches_cluster(&frame) {
                    for workload in Rc::make_mut(&mut self.cluster).take(&mut frame) {
                        let name = &workload.name;
                        self.said.push_back(if workload.gone {
                            format!("{name}: {}", lang.of(crate::lang::GONE))
                        } else {
                            words::workload(lang, name, workload.ready, workload.desired)
                        });
                    }
                }
            }
            // Commands in the background write whenever they do.
            ToPage::Output { stream, text, .. } => Rc::make_mut(&mut self.terminal).output(stream, &text),
            ToPage::Edit { id, path, text } => Rc::make_mut(&mut self.terminal).open_file(id, &path, &text),
            ToPage::Reading { id, waits } => effects.send.extend(Rc::make_mut(&mut self.terminal).reading(id, waits)),
            ToPage::Unread { id, text } => Rc::make_mut(&mut self.terminal).unread(id, &text),
            ToPage::Exit { id, code } => effects.send.extend(Rc::make_mut(&mut self.terminal).exit(id, code)),
            ToPage::Incomplete { id } => effects.send.extend(Rc::make_mut(&mut self.terminal).incomplete(id)),
            ToPage::Completions(answer) => Rc::make_mut(&mut self.terminal).completions(answer),
            ToPage::Manifest(result) if result.action == ManifestAction::Check => {
                if self.check.as_ref().is_none_or(|c| c.id <= result.id) {
                    self.check = Some(Rc::new(result));
                }
            }
            ToPage::Manifest(result) => {
                for problem in &result.problems {
                    self.said.push_back(problem.message.clone());
                }
                self.answer = Some(Rc::new(result));
            }
            ToPage::Inspector(inspector) => {
                if selected == Some(&inspector.subject) {
                    self.inspector = Some(Rc::from(inspector));
                }
            }
            ToPage::Logs(new) => {
                let logs = Rc::make_mut(&mut self.logs);
                if new.reset {
                    logs.clear();
                }
                logs.extend(new.lines.into_iter().map(Rc::new));
                while logs.len() > MAX_LOG_LINES {
                    logs.pop_front();
                }
            }
            ToPage::Events(events) => self.events = Rc::new(events),
            ToPage::Requests(new) => {
                let requests = Rc::make_mut(&mut self.requests);
                requests.extend(new);
                while requests.len() > MAX_REQUESTS {
                    requests.pop_front();
                }
            }
            ToPage::Notice { text } => self.notice(text),
            ToPage::Crashed(report) => self.crashed(report),
        }
        while self.said.len() > 8 {
            self.said.pop_front();
        }
        effects
    }

    /// The world is gone; what it showed stays, greyed.
    pub fn crashed(&mut self, mut report: CrashReport) {
        if report.at == 0 {
            report.at = self.clock.now;
        }
        if self.crash.is_none() {
            self.crash = Some(Rc::new(report));
        }
        Rc::make_mut(&mut self.terminal).reset();
        self.story = None;
    }

    /// A sentence for the reader.
    pub fn notice(&mut self, text: String) {
        self.notices.retain(|n| *n != text);
        self.said.push_back(text.clone());
        self.notices.push_back(text);
        while self.notices.len() > MAX_NOTICES {
            self.notices.pop_front();
        }
    }

    /// A fresh world follows: everything goes but what the reader typed.
    pub fn restart(&mut self) {
        let mut terminal = std::mem::take(&mut self.terminal);
        Rc::make_mut(&mut terminal).reset();
        *self = Model { terminal, ..Model::default() };
    }

    /// The clock moves by itself.
    pub fn moving(&self) -> bool {
        self.crash.is_none()
            && matches!(
                self.clock.state,
                ClockState::Booting | ClockState::Running | ClockState::Hurrying | ClockState::Behind
            )
    }

    /// Wall time of the cluster at its start.
    pub fn epoch(&self) -> i64 {
        self.ready.as_ref().map_or(0, |r| r.epoch_unix_nanos)
    }
}

/// A report for a world that left no message behind (a trap, a file that did not arrive).
pub fn trap_report(message: &str) -> CrashReport {
    CrashReport { message: message.to_string(), ..CrashReport::default() }
}

/// The report as text, to be copied.
pub fn report_text(report: &CrashReport) -> String {
    let mut text = format!(
        "Tabernetes crash report\nbuild: {}\nat: {}.{:09} s of virtual time\nmessage: {}\nlocation: {}\n",
        report.build,
        report.at / 1_000_000_000,
        report.at % 1_000_000_000,
        report.message,
        report.location
    );
    for (title, lines) in [("inputs", &report.inputs), ("trace", &report.trace)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n"));
            for line in lines {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    text
}

fn touches_cluster(frame: &view::Frame) -> bool {
    frame.full
        || frame.control_plane.is_some()
        || !frame.nodes.is_empty()
        || !frame.removed_nodes.is_empty()
        || !frame.pods.is_empty()
        || !frame.removed_pods.is_empty()
        || !frame.workloads.is_empty()
        || frame.faults.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::{Frame, LogLines, Progress, TripKind, TripStep, WorkloadView};

    fn take(model: &mut Model, message: ToPage) -> Effects {
        model.take(message, Lang::En, None)
    }

    #[test]
    fn frames_are_acknowledged_and_quiet_ones_leave_the_map_alone() {
        let mut model = Model::default();
        let cluster = model.cluster.clone();
        let frame = Frame { number: 9, clock: Clock { now: 5, ..Clock::default() }, ..Frame::default() };
        let effects = take(&mut model, ToPage::Frame(Box::new(frame)));
        assert_eq!(effects.send, vec![ToWorld::FrameSeen { number: 9 }]);
        assert_eq!(model.clock.now, 5);
        assert!(Rc::ptr_eq(&cluster, &model.cluster));
    }

    #[test]
    fn counts_are_said() {
        let mut model = Model::default();
        let web = WorkloadView { name: "web".into(), desired: 3, ready: 3, ..WorkloadView::default() };
        take(&mut model, ToPage::Frame(Box::new(Frame { workloads: vec![web], ..Frame::default() })));
        assert_eq!(model.said, ["web: 3 of 3 ready"]);
    }

    #[test]
    fn a_holding_story_is_said_once() {
        let mut model = Model::default();
        let trip = Trip {
            short: "deployment/web".into(),
            steps: vec![TripStep { progress: Progress::Done, revision: 41, ..TripStep::default() }],
            ..Trip::default()
        };
        let hold = StoryHold { trip: 0, step: TripKind::Stored, holding: true };
        let frame = |trip| Frame { trip, story: Some(hold.clone()), ..Frame::default() };
        take(&mut model, ToPage::Frame(Box::new(frame(Some(trip)))));
        take(&mut model, ToPage::Frame(Box::new(frame(None))));
        assert_eq!(model.said.len(), 1);
        assert!(model.said[0].contains("revision 41"));
    }

    #[test]
    fn all_that_grows_is_bounded() {
        let mut model = Model::default();
        for _ in 0..MAX_LOG_LINES {
            let lines = vec![LogLine::default(); 3];
            take(&mut model, ToPage::Logs(LogLines { lines, ..LogLines::default() }));
        }
        assert_eq!(model.logs.len(), MAX_LOG_LINES);
        take(&mut model, ToPage::Logs(LogLines { reset: true, ..LogLines::default() }));
        assert!(model.logs.is_empty());
        for i in 0..20 {
            take(&mut model, ToPage::Notice { text: format!("no {i}") });
        }
        assert_eq!((model.notices.len(), model.said.len()), (MAX_NOTICES, 8));
    }

    #[test]
    fn a_crash_keeps_the_first_report_and_what_was_shown() {
        let mut model = Model { clock: Clock { now: 7, ..Clock::default() }, ..Model::default() };
        take(&mut model, ToPage::Crashed(trap_report("one")));
        model.crashed(trap_report("two"));
        let report = model.crash.clone().unwrap();
        assert_eq!((report.message.as_str(), report.at), ("one", 7));
        assert!(report_text(&report).contains("message: one"));
        assert!(!model.moving());
        model.restart();
        assert_eq!(model.crash, None);
    }

    #[test]
    fn answers_about_something_else_are_dropped() {
        let mut model = Model::default();
        let subject = Subject::Component { name: "etcd-1".into() };
        let inspector = Inspector {
            subject: subject.clone(),
            head: view::InspectorHead::default(),
            tabs: vec![],
            body: view::InspectorBody::Describe(String::new()),
        };
        take(&mut model, ToPage::Inspector(Box::new(inspector.clone())));
        assert_eq!(model.inspector, None);
        model.take(ToPage::Inspector(Box::new(inspector)), Lang::En, Some(&subject));
        assert!(model.inspector.is_some());
    }
}
