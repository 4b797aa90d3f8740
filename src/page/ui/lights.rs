//! Messages on their lines: a light each, or a steady brighter line when there are many; counters where motion is
//! unwelcome.

use super::Held;
use crate::layout::{self, Plan, WireEnds};
use gloo_timers::callback::Timeout;
use std::collections::BTreeMap;
use view::{MessageKind, MessageView, NodeId};
use yew::prelude::*;

/// A light's way takes so long at x1 (the tokens' `--motion-message`), in milliseconds.
const TRAVEL: f64 = 620.0;
/// Lights at once; more become brighter lines.
const MAX_LIGHTS: usize = 48;
/// Messages on a line within [`WINDOW`] from which it is drawn bright instead.
const MANY: u32 = 12;
/// Messages on all lines within [`WINDOW`] from which none gets a light: they could not be told apart, and each would
/// be drawn anew with every picture of the screen.
const RUSH: u32 = 400;
/// Milliseconds over which messages on a line are counted.
const WINDOW: f64 = 600.0;

/// Props of [`Lights`].
#[derive(Properties, PartialEq)]
pub struct LightsProps {
    /// The map.
    pub plan: Held<Plan>,
    /// Columns of nodes.
    pub columns: Held<BTreeMap<NodeId, usize>>,
    /// New messages, with a number that rises.
    pub batch: Held<(u64, Vec<MessageView>)>,
    /// Above x10 lights merge.
    pub speed_milli: u32,
}

struct Light {
    id: u64,
    path: String,
    kind: MessageKind,
    born: f64,
}

struct Traffic {
    count: u32,
    /// There were many in the window before: the line stays bright and carries no lights of its own.
    busy: bool,
    since: f64,
    label: Option<(String, f64)>,
}

impl Traffic {
    fn many(&self) -> bool {
        self.count > MANY
    }
}

/// The lights of the map.
pub struct Lights {
    lights: Vec<Light>,
    traffic: BTreeMap<WireEnds, Traffic>,
    total: BTreeMap<WireEnds, u64>,
    next: u64,
    seen: u64,
    _sweep: Option<Timeout>,
}

fn now() -> f64 {
    web_sys::window().and_then(|w| w.performance()).map_or(0.0, |p| p.now())
}

/// Counters stand in for lights where motion is unwelcome, and are not drawn elsewhere.
fn counts_instead() -> bool {
    let query = |window: web_sys::Window| window.match_media("(prefers-reduced-motion: reduce)").ok().flatten();
    web_sys::window().and_then(query).is_some_and(|list| list.matches())
}

impl Lights {
    fn take(&mut self, props: &LightsProps) {
        let (number, messages) = &*props.batch;
        if *number == self.seen {
            return;
        }
        self.seen = *number;
        let at = now();
        let column = |id: NodeId| props.columns.get(&id).copied();
        let lately = self.traffic.values().filter(|t| at - t.since < WINDOW * 2.0).map(|t| t.count);
        let rush = lately.fold(0u32, u32::saturating_add) > RUSH;
        for message in messages {
            let Some(wire) = props.plan.wire_of(message.from, message.to, column) else { continue };
            *self.total.entry(wire).or_default() += u64::from(message.count.max(1));
            let traffic = self.traffic.entry(wire).or_insert(Traffic { count: 0, busy: false, since: at, label: None });
            if at - traffic.since > WINDOW {
                traffic.busy = traffic.many() && at - traffic.since < WINDOW * 2.0;
                traffic.count = 0;
                traffic.since = at;
            }
            traffic.count = traffic.count.saturating_add(u32::from(message.count.max(1)));
            if !message.label.is_empty() && message.kind == MessageKind::Write {
                traffic.label = Some((message.label.clone(), at));
            }
            if matches!(message.kind, MessageKind::Heartbeat | MessageKind::Raft) || traffic.busy || traffic.many() {
                continue;
            }
            if rush || props.speed_milli > 10_000 || self.lights.len() >= MAX_LIGHTS {
                continue;
            }
            if let Some(mut points) = props.plan.way(message.from, message.to, column) {
                // On the trunk, what goes to etcd keeps to one line and what comes back to the other.
                if matches!(wire, WireEnds::Trunk(_)) {
                    points = layout::beside(&points, 5.0);
                }
                self.next += 1;
                self.lights.push(Light { id: self.next, path: layout::path(&points), kind: message.kind, born: at });
            }
        }
    }

    fn sweep(&mut self, ctx: &Context<Self>) {
        let at = now();
        self.lights.retain(|l| at - l.born < TRAVEL + 60.0);
        self.traffic
            .retain(|_, t| at - t.since < WINDOW * 2.0 || t.label.as_ref().is_some_and(|(_, l)| at - l < 1400.0));
        if !self.lights.is_empty() || !self.traffic.is_empty() {
            let link = ctx.link().clone();
            self._sweep = Some(Timeout::new(200, move || link.send_message(())));
        } else {
            self._sweep = None;
        }
    }
}

impl Component for Lights {
    type Message = ();
    type Properties = LightsProps;

    fn create(_: &Context<Self>) -> Self {
        Lights { lights: Vec::new(), traffic: BTreeMap::new(), total: BTreeMap::new(), next: 0, seen: 0, _sweep: None }
    }

    fn update(&mut self, ctx: &Context<Self>, (): ()) -> bool {
        self.sweep(ctx);
        true
    }

    fn changed(&mut self, ctx: &Context<Self>, old: &LightsProps) -> bool {
        let props = ctx.props();
        self.take(props);
        if self._sweep.is_none() {
            self.sweep(ctx);
        }
        !props.batch.1.is_empty() || props.plan != old.plan
    }

    fn view(&self, ctx: &Context<Self>) -> Html {
        let plan = &ctx.props().plan;
        let at = now();
        let hot = |wire: WireEnds| self.traffic.get(&wire).is_some_and(|t| at - t.since < WINDOW * 2.0);
        let many = |wire: WireEnds| self.traffic.get(&wire).is_some_and(|t| t.busy || t.many());
        let (w, h) = (plan.width.to_string(), plan.height.to_string());
        let lines = plan.wires.iter().filter(|w| hot(w.ends)).map(|wire| {
            let bright = many(wire.ends).then_some("bright");
            let points = if wire.ends == WireEnds::Kubectl && plan.doors.len() == 1 {
                wire.points.iter().map(|(x, y)| (x.max(-24.0), *y)).collect()
            } else {
                wire.points.clone()
            };
            if wire.trunk {
                let shifted = layout::beside(&points, 5.0);
                html! { <path class={classes!("wire", "trunk", "hot", bright)} d={layout::path(&shifted)}/> }
            } else {
                html! { <path class={classes!("wire", "hot", bright)} d={layout::path(&points)}/> }
            }
        });
        let ports = plan.wires.iter().filter(|w| w.ports && hot(w.ends)).filter_map(|w| {
            let (x, y) = *w.points.first()?;
            Some(html! { <rect class="port hot" x={(x - 2.5).to_string()} y={(y - 2.5).to_string()} width="5" height="5" rx="1"/> })
        });
        let lights = self.lights.iter().map(|l| {
            let class = match l.kind {
                MessageKind::Failed => "light failed",
                MessageKind::Write | MessageKind::Store => "light",
                _ => "light pale",
            };
            html! { <g key={l.id}>
                <path class={classes!(class, "tail")} pathLength="100" d={l.path.clone()}/>
                <path {class} pathLength="100" d={l.path.clone()}/>
            </g> }
        });
        let counts = counts_instead();
        let tallies = plan.wires.iter().filter(|_| counts).filter_map(|w| {
            let total = self.total.get(&w.ends)?;
            let (x, y) = *w.points.last()?;
            (*total > 0 && !w.trunk && w.ends != WireEnds::Kubectl).then(|| {
                html! { <span class="msg tally num" style={format!("left:{}px;top:{}px", x + 20.0, y - 11.0)}>{ format!("×{total}") }</span> }
            })
        });
        let labels = plan.wires.iter().filter_map(|w| {
            let (label, born) = self.traffic.get(&w.ends)?.label.as_ref()?;
            if at - born > 1400.0 || w.trunk || !matches!(w.ends, WireEnds::Column(_)) {
                return None;
            }
            let (x, y) = layout::label_place(&w.points);
            let (verb, target) = label.split_once(' ').unwrap_or(("", label));
            let target = crate::format::short_target(target);
            // A line straight down has its label beside it.
            let turned = w.points.len() > 2;
            turned.then(|| html! { <span class="msg" style={format!("left:{x}px;top:{y}px")}>{ verb.to_string() }{ " " }<b>{ target }</b></span> })
        });
        html! { <>
            <svg class="wires lights" aria-hidden="true" width={w} height={h}>{ for lines }{ for ports }{ for lights }</svg>
            <div aria-hidden="true">{ for labels.take(1) }{ for tallies }</div>
        </> }
    }
}
