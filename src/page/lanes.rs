//! The run as lanes and marks: what was, in shares of a span of time.

use crate::format;
use std::collections::{BTreeMap, VecDeque};
use view::{LaneHealth, TimelineEntry, TimelineKind};

const SECOND: u64 = 1_000_000_000;

/// A part of a lane, in percent of the span.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// How it is judged.
    pub health: LaneHealth,
    /// The state's word.
    pub state: String,
}

/// A lane: a node, a component, a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its states in order.
    pub segments: Vec<Segment>,
}

/// A mark.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where, in percent.
    pub at: f64,
    /// A fault rather than an input.
    pub fault: bool,
    /// What it was.
    pub text: String,
}

/// A span of time that is drawn from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: u64,
    /// Its end.
    pub to: u64,
}

impl Span {
    /// The whole run, with `ahead` percent of it left for what is to come.
    pub fn of_run(now: u64, ahead: u64) -> Span {
        let past = now.max(10 * SECOND);
        Span { from: 0, to: past.saturating_add(past / 100 * ahead) }
    }

    /// The last part of the run that a reader still wants to see, and what is to come.
    pub fn recent(now: u64, ahead: u64) -> Span {
        let past = now.clamp(10 * SECOND, 900 * SECOND);
        Span { from: now.saturating_sub(past), to: now.max(past).saturating_add(past / 100 * ahead) }
    }

    /// Where a time stands, in percent; times outside are at the edges.
    pub fn percent(&self, at: u64) -> f64 {
        let whole = self.to.saturating_sub(self.from).max(1);
        let part = at.saturating_sub(self.from).min(whole);
        part as f64 * 100.0 / whole as f64
    }

    /// Where round times stand and how they are written: the first in full, the others shorter.
    pub fn ticks(&self, epoch: i64, about: u64) -> Vec<(f64, String)> {
        const STEPS: [u64; 19] = [
            SECOND / 5,
            SECOND / 2,
            SECOND,
            2 * SECOND,
            5 * SECOND,
            10 * SECOND,
            15 * SECOND,
            30 * SECOND,
            60 * SECOND,
            120 * SECOND,
            300 * SECOND,
            600 * SECOND,
            900 * SECOND,
            1800 * SECOND,
            3600 * SECOND,
            7200 * SECOND,
            14_400 * SECOND,
            43_200 * SECOND,
            86_400 * SECOND,
        ];
        let whole = self.to.saturating_sub(self.from);
        let step = STEPS.into_iter().find(|s| whole / s <= about.max(1)).unwrap_or(86_400 * SECOND);
        // Round in wall time, not in time since the start.
        let offset = (i128::from(epoch).rem_euclid(i128::from(step))) as u64;
        let mut at = self.from.saturating_add(offset).div_ceil(step).saturating_mul(step).saturating_sub(offset);
        let mut out = Vec::new();
        while at < self.to && out.len() < 40 {
            let clock = format::clock(epoch, at);
            let text = if step < SECOND {
                format!(":{}{}", &clock[6..], &format::clock_millis(epoch, at)[..2])
            } else if step < 60 * SECOND {
                if out.is_empty() { clock } else { format!(":{}", &clock[6..]) }
            } else {
                clock[..5].to_string()
            };
            out.push((self.percent(at), text));
            at = at.saturating_add(step);
        }
        out
    }
}

/// Lanes of a span: those in which something changed first, at most `most`.
pub fn lanes(timeline: &VecDeque<TimelineEntry>, span: Span, now: u64, most: usize) -> Vec<Lane> {
    let mut states: BTreeMap<&str, Vec<(u64, LaneHealth, &str)>> = BTreeMap::new();
    for entry in timeline {
        if let TimelineKind::State { lane, state, health } = &entry.what {
            states.entry(lane).or_default().push((entry.at, *health, state));
        }
    }
    let mut lanes: Vec<(usize, Lane)> = Vec::new();
    for (name, changes) in states {
        let mut segments: Vec<Segment> = Vec::new();
        for (i, (at, health, state)) in changes.iter().enumerate() {
            let end = changes.get(i + 1).map_or(now, |next| next.0);
            if end < span.from {
                continue;
            }
            let segment =
                Segment { from: span.percent(*at), to: span.percent(end), health: *health, state: state.to_string() };
            segments.push(segment);
        }
        let trouble = segments.iter().filter(|s| s.health != LaneHealth::Good).count();
        lanes.push((trouble, Lane { name: name.to_string(), segments }));
    }
    lanes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    lanes.into_iter().take(most).map(|(_, lane)| lane).collect()
}

/// Inputs and faults of a span, at most the newest 200.
pub fn marks(timeline: &VecDeque<TimelineEntry>, span: Span) -> Vec<Mark> {
    let inside = timeline.iter().rev().filter(|e| e.at >= span.from && e.at <= span.to);
    let marks = inside.filter_map(|e| {
        let (fault, text) = match &e.what {
            TimelineKind::Input { line } => (false, line),
            TimelineKind::FaultBegan { line, .. } | TimelineKind::FaultEnded { line, .. } => (true, line),
            TimelineKind::State { .. } => return None,
        };
        Some(Mark { at: span.percent(e.at), fault, text: text.clone() })
    });
    let mut marks: Vec<Mark> = marks.take(200).collect();
    marks.reverse();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(at: u64, lane: &str, state: &str, health: LaneHealth) -> TimelineEntry {
        let what = TimelineKind::State { lane: lane.into(), state: state.into(), health };
        TimelineEntry { at: at * SECOND, what }
    }

    #[test]
    fn lanes_with_trouble_come_first() {
        let timeline: VecDeque<TimelineEntry> = [
            state(0, "node-1", "Ready", LaneHealth::Good),
            state(0, "node-2", "Ready", LaneHealth::Good),
            state(50, "node-2", "NotReady", LaneHealth::Bad),
        ]
        .into();
        let span = Span { from: 0, to: 100 * SECOND };
        let lanes = lanes(&timeline, span, 80 * SECOND, 5);
        assert_eq!(lanes[0].name, "node-2");
        let shares: Vec<(f64, f64)> = lanes[0].segments.iter().map(|s| (s.from, s.to)).collect();
        assert_eq!(shares, [(0.0, 50.0), (50.0, 80.0)]);
    }

    #[test]
    fn ticks_are_round_in_wall_time() {
        let epoch = 1_767_199_537_600_000_000; // 16:45:37.6
        let span = Span { from: 0, to: 40 * SECOND };
        let texts: Vec<String> = span.ticks(epoch, 5).into_iter().map(|t| t.1).collect();
        assert_eq!(texts, ["16:45:40", ":50", ":00", ":10"]);
        let span = Span { from: 0, to: 3600 * SECOND };
        assert_eq!(span.ticks(epoch, 6)[0].1, "16:50");
        assert!(Span { from: 0, to: u64::MAX }.ticks(epoch, 5).len() <= 40);
    }

    #[test]
    fn marks_are_inputs_and_faults() {
        let input = TimelineEntry { at: 5, what: TimelineKind::Input { line: "kubectl get po".into() } };
        let timeline: VecDeque<TimelineEntry> = [state(0, "x", "y", LaneHealth::Good), input].into();
        let marks = marks(&timeline, Span { from: 0, to: 10 });
        assert_eq!(marks, [Mark { at: 50.0, fault: false, text: "kubectl get po".into() }]);
    }

    #[test]
    fn spans_have_a_length() {
        for now in [0, SECOND, 500 * SECOND, 1 << 60] {
            for span in [Span::of_run(now, 20), Span::recent(now, 60)] {
                assert!(span.to > span.from && (0.0..=100.0).contains(&span.percent(now)), "{now} {span:?}");
            }
        }
    }
}
