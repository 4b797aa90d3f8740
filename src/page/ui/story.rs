//! The story of an Apply: who does what and why, held at each step.

use super::{Action, Held, use_page};
use crate::lang;
use crate::words;
use view::{StoryCommand, StoryHold, Trip, TripKind};
use yew::prelude::*;

/// Props of [`Story`].
#[derive(Properties, PartialEq)]
pub struct StoryProps {
    /// Where it holds.
    pub hold: StoryHold,
    /// What it tells.
    pub trip: Held<Trip>,
}

const STEPS: [TripKind; 6] =
    [TripKind::Stored, TripKind::ReplicaSet, TripKind::Pods, TripKind::Bound, TripKind::Started, TripKind::Ready];

/// A sentence a step; Enter goes on, Esc skips.
#[component]
pub fn Story(props: &StoryProps) -> Html {
    let page = use_page();
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with((props.hold.trip, props.hold.step, props.hold.holding), move |(_, _, holding)| {
            if let Some(button) = node.cast::<web_sys::HtmlElement>().filter(|_| *holding) {
                let _ = button.focus();
            }
        });
    }
    let there: Vec<TripKind> = STEPS.into_iter().filter(|k| props.trip.steps.iter().any(|s| s.kind == *k)).collect();
    let at = there.iter().position(|k| *k == props.hold.step).unwrap_or(0);
    let onkeydown = {
        let act = page.act.clone();
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Escape" {
                event.stop_propagation();
                act.emit(Action::Story(StoryCommand::Skip));
            }
        })
    };
    let last = at + 1 >= there.len();
    html! {
        <section class="story" role="dialog" aria-label={page.t(lang::STORY)} {onkeydown}>
            <header>
                <span class="steps" aria-hidden="true">{ for there.iter().enumerate().map(|(i, _)| html! { <i class={if i < at { "d" } else if i == at { "c" } else { "" }}></i> }) }</span>
                <b class="mono">{ words::story_actor(props.hold.step) }</b>
                <span class="dim num">{ format!("{}/{}", at + 1, there.len()) }</span>
            </header>
            <p>{ words::story(page.lang, &props.trip, props.hold.step) }</p>
            <footer>
                <button type="button" class="btn" onclick={page.does(Action::Story(StoryCommand::Skip))}>{ page.t(lang::STORY_SKIP) }<span class="kbd">{ "Esc" }</span></button>
                <button type="button" class="btn main" ref={node} aria-disabled={(!props.hold.holding).to_string()}
                    onclick={page.does(Action::Story(if last { StoryCommand::Skip } else { StoryCommand::Next }))}>
                    if props.hold.holding { { if last { page.lang.pick("Done", "끝") } else { page.t(lang::STORY_NEXT) } }<span class="kbd">{ "↵" }</span> }
                    else { { page.t(lang::STORY_CREEP) } }
                </button>
            </footer>
        </section>
    }
}
