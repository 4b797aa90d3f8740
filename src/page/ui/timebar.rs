//! The time bar.

use super::{Action, Held, icons, use_page};
use crate::cluster::Lack;
use crate::format;
use crate::lanes::{Span, marks};
use crate::lang;
use crate::words;
use std::collections::VecDeque;
use view::{Clock, ClockState, Pace, TimelineEntry, TimerView};
use wasm_bindgen::JsCast;
use yew::prelude::*;

/// Props of [`TimeBar`].
#[derive(Properties, PartialEq)]
pub struct TimeBarProps {
    /// Time.
    pub clock: Clock,
    /// What will come.
    pub timers: Held<Vec<TimerView>>,
    /// What the cluster lacks to do anything.
    pub lack: Option<Lack>,
    /// The run.
    pub timeline: Held<VecDeque<TimelineEntry>>,
    /// Little room.
    pub small: bool,
    /// There is a world.
    pub alive: bool,
}

/// Speeds on offer, in thousandths.
const SPEEDS: [u32; 6] = [10, 100, 1000, 10_000, 100_000, 1_000_000];
/// Those with a button of their own.
const BUTTONS: [u32; 6] = SPEEDS;

/// The time bar.
#[component]
pub fn TimeBar(props: &TimeBarProps) -> Html {
    let page = use_page();
    let clock = &props.clock;
    let running = !matches!(clock.state, ClockState::Paused | ClockState::Holding);
    let (name, symbol) = if running { (lang::PAUSE, "pause") } else { (lang::PLAY, "play") };
    let behind = (clock.state == ClockState::Behind).then_some("behind");
    let speeds = SPEEDS.iter().map(
        |s| html! { <option value={s.to_string()} selected={*s == clock.speed_milli}>{ format::speed(*s) }</option> },
    );
    let odd = !SPEEDS.contains(&clock.speed_milli);
    let choose = {
        let act = page.act.clone();
        Callback::from(move |event: Event| {
            let select = event.target().and_then(|t| t.dyn_into::<web_sys::HtmlSelectElement>().ok());
            if let Some(speed) = select.and_then(|s| s.value().parse().ok()) {
                act.emit(Action::Pace(Pace::Speed(speed)));
            }
        })
    };
    let select = html! {
        <select class={classes!("pick", "num", behind)} aria-label={page.t(lang::SPEED)} onchange={choose}>
            { for speeds }
            if odd { <option selected=true>{ format::speed(clock.speed_milli) }</option> }
        </select>
    };
    let span = Span::of_run(clock.now, 19);
    let now = span.percent(clock.now);
    let marks = marks(&props.timeline, span);
    let ticks = if props.small { Vec::new() } else { span.ticks(page.epoch, 5) };
    let future = props.timers.iter().filter(|t| t.at > clock.now && t.at < span.to).take(4);
    let next = props.timers.first();
    let next_text = match (next, props.lack) {
        (Some(t), _) => words::timer_in(page.lang, &t.what, t.at.saturating_sub(clock.now)),
        (None, Some(lack)) => words::lack(page.lang, lack).to_string(),
        (None, None) => page.t(lang::NO_TIMER).to_string(),
    };
    let hurry = clock.state == ClockState::Hurrying;
    let settle = words::rest(page.lang, clock, next.map(|t| t.at));
    // What is quiet now says what ends it.
    let about = if clock.settled && next.is_some() { next_text.clone() } else { settle.clone() };
    let reached = (clock.reached_milli > 0).then(|| {
        let text = format::reached(clock.reached_milli);
        let text = if props.small {
            format!("→ {text}")
        } else {
            page.lang.pick(format!("reached {text}"), format!("실제 {text}"))
        };
        html! { <span class="reached num" title={page.t(lang::BEHIND)}>{ text }</span> }
    });
    html! {
        <section class={classes!("timebar", props.small.then_some("small"), behind)} aria-label={page.t(lang::TIME)}>
            <div class="transport">
                <button type="button" class="play" id="play" aria-label={page.t(name)} aria-keyshortcuts="Alt+P" disabled={!props.alive} onclick={page.does(Action::PauseOrPlay)}>{ icons::icon(symbol) }</button>
                <button type="button" class="btn icon" aria-label={page.t(lang::STEP)} title={page.t(lang::STEP)} aria-keyshortcuts="Alt+." disabled={!props.alive} onclick={page.does(Action::Pace(Pace::Step))}>{ icons::icon("step") }</button>
            </div>
            if props.small { <div class="speed">{ select }{ reached }</div> } else {
                <div class="speed" title={behind.map(|_| page.t(lang::BEHIND))}>
                    <div class="seg" role="group" aria-label={page.t(lang::SPEED)}>
                        { for BUTTONS.iter().map(|s| html! { <button type="button" class="num" aria-pressed={(*s == clock.speed_milli).to_string()} onclick={page.does(Action::Pace(Pace::Speed(*s)))}>{ format::speed(*s) }</button> }) }
                    </div>
                    { select }{ reached }
                </div>
            }
            <span class="clock num" role="timer" aria-live="off" aria-label={format::clock(page.epoch, clock.now)}><span aria-hidden="true">{ format::clock(page.epoch, clock.now) }<small>{ format::clock_millis(page.epoch, clock.now) }</small></span></span>
            <div class="scrub" role="img" aria-label={page.t(lang::RUN_SO_FAR)}>
                <span class="way"></span><span class="past" style={format!("width:{now:.2}%")}></span>
                { for ticks.iter().map(|(at, text)| html! { <span class={classes!("tk", (*at < 4.0).then_some("first"), (*at > 96.0).then_some("last"))} style={format!("left:{at:.2}%")}>{ text.clone() }</span> }) }
                { for marks.iter().map(|m| html! { <span class={classes!("mk", if m.fault { "fault" } else { "in" })} style={format!("left:{:.2}%", m.at)} title={m.text.clone()}>
                    if m.fault { { icons::sized("bolt", "s12") } }</span> }) }
                { for future.map(|t| html! { <span class="fu" style={format!("left:{:.2}%", span.percent(t.at))} title={words::timer(page.lang, &t.what)}></span> }) }
                <span class="head-now" style={format!("left:{now:.2}%")}></span>
            </div>
            if !props.small {
                <button type="button" class="btn nextbtn" disabled={next.is_none() || !props.alive} title={format!("{next_text}. {}", page.t(lang::JUMP))} onclick={page.does(Action::Pace(Pace::NextTimer))}>
                    { icons::icon("timer") }<span class="next"><span>{ page.t(lang::NEXT_TIMER) }</span><b class="num">{ next_text }</b></span></button>
                <button type="button" class={classes!("btn", "line", "rest", "num", hurry.then_some("on"))} title={about} disabled={clock.settled || !props.alive} onclick={page.does(Action::Pace(Pace::UntilSettled))}>{ icons::sized("settle", "s14") }{ settle }</button>
            } else {
                <button type="button" class="btn icon" disabled={clock.settled || !props.alive} aria-label={about.clone()} title={about} onclick={page.does(Action::Pace(Pace::UntilSettled))}>{ icons::sized("settle", "s14") }</button>
            }
        </section>
    }
}
