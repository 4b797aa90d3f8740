//! The timeline: the run so far as lanes, inputs and faults marked, and what is still to come.

use super::{Held, use_page};
use crate::lanes::{Span, lanes, marks};
use crate::{format, lang, words};
use std::collections::VecDeque;
use view::{FaultView, LaneHealth, TimelineEntry, TimerView};
use yew::prelude::*;

/// Props of [`Timeline`].
#[derive(Properties, PartialEq)]
pub struct TimelineProps {
    /// The run.
    pub timeline: Held<VecDeque<TimelineEntry>>,
    /// What will come.
    pub timers: Held<Vec<TimerView>>,
    /// Faults that stand.
    pub faults: Held<Vec<FaultView>>,
    /// Virtual time.
    pub now: u64,
}

/// The timeline.
#[component]
pub fn Timeline(props: &TimelineProps) -> Html {
    let page = use_page();
    let span = Span::recent(props.now, 60);
    let now = span.percent(props.now);
    let lanes = lanes(&props.timeline, span, props.now, 40);
    let marks = marks(&props.timeline, span);
    let ticks = span.ticks(page.epoch, 10);
    let rows = lanes.iter().map(|lane| {
        let segments = lane.segments.iter().map(|s| {
            let class = match s.health {
                LaneHealth::Good => "up",
                LaneHealth::Suspect => "sus",
                LaneHealth::Bad => "dn",
            };
            let width = (s.to - s.from).max(0.15);
            html! { <span class={classes!("sg", class)} style={format!("left:{:.2}%;width:{width:.2}%", s.from)} title={s.state.clone()}>
                if s.health != LaneHealth::Good && width > 3.0 { { s.state.clone() } }</span> }
        });
        let due = props.timers.iter().filter(|t| words::timer(lang::Lang::En, &t.what).starts_with(&lane.name)).map(|t| {
            html! { <span class="due" style={format!("left:{:.2}%", span.percent(t.at))}><i></i>{ words::timer(page.lang, &t.what) }{ " " }{ format::clock(page.epoch, t.at) }</span> }
        });
        let state = lane.segments.last().map(|s| s.state.clone()).unwrap_or_default();
        html! {
            <div class="lane" role="row"><span class="nm" role="rowheader">{ lane.name.clone() }</span>
                <span class="tr" role="cell"><span class="sr">{ state }</span><span class="fut" style={format!("left:{now:.2}%")}></span>{ for segments }{ for due }</span></div>
        }
    });
    html! {
        <div class="lanes" role="table" aria-label={page.t(lang::TIMELINE)} tabindex="0">
            <div class="axis" aria-hidden="true"><span class="nm"></span><span class="tr">
                { for ticks.iter().map(|(at, text)| html! { <span class="ax" style={format!("left:{at:.2}%")}>{ text.clone() }</span> }) }
                <span class="nowl" style={format!("left:{now:.2}%")}></span></span></div>
            <div class="lane" role="row"><span class="nm" role="rowheader">{ page.lang.pick("inputs", "입력") }</span><span class="tr" role="cell">
                { for marks.iter().map(|m| html! { <span class={classes!("mk", if m.fault { "fault" } else { "in" })} style={format!("left:{:.2}%", m.at)} title={m.text.clone()}><span class="sr">{ m.text.clone() }</span></span> }) }
            </span></div>
            { for rows }
        </div>
    }
}
