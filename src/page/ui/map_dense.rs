//! A zone of the dense map.

use super::controls::{closest, node_subject};
use super::{Action, Held};
use crate::cluster::{self, Cluster, NodeHealth};
use crate::dense::{Cells, Dots, cells};
use crate::format;
use crate::layout::Rect;
use gloo_timers::callback::Timeout;
use std::rc::Rc;
use view::{NodeView, PodState, Subject};
use yew::prelude::*;

/// Milliseconds of a picture of the screen.
const PICTURE: u32 = 16;

/// Props of [`Zone`].
#[derive(Properties, PartialEq, Clone)]
pub struct ZoneProps {
    /// The cluster.
    pub cluster: Held<Cluster>,
    /// Which of the zones it is.
    pub turn: usize,
    /// The zone's name.
    pub zone: String,
    /// Its box.
    pub rect: Rect,
    /// Virtual time in seconds.
    pub seconds: u64,
    /// The selection.
    pub selected: Option<Subject>,
}

/// The height that a zone with so many nodes wants at least, in a box of this inner width.
pub fn least_height(width: f64, nodes: usize) -> f64 {
    cells(width - 18.0, 120.0, nodes).height + 46.0
}

/// A zone that takes what is new in its cells in its turn: a picture of the screen for the rest of the page, then one
/// for each zone. All in one picture took longer than a picture has.
pub struct Zone {
    shown: ZoneProps,
    waiting: Option<Timeout>,
}

impl Component for Zone {
    type Message = ();
    type Properties = ZoneProps;

    fn create(ctx: &Context<Self>) -> Self {
        Zone { shown: ctx.props().clone(), waiting: None }
    }

    fn changed(&mut self, ctx: &Context<Self>, _: &ZoneProps) -> bool {
        let props = ctx.props();
        let only_news = (props.rect, &props.selected) == (self.shown.rect, &self.shown.selected);
        if only_news && self.waiting.is_none() {
            let link = ctx.link().clone();
            let turn = u32::try_from(props.turn % 3).unwrap_or(0) + 1;
            self.waiting = Some(Timeout::new(PICTURE * turn, move || link.send_message(())));
        } else if !only_news {
            self.shown = props.clone();
        }
        !only_news
    }

    fn update(&mut self, ctx: &Context<Self>, (): ()) -> bool {
        self.waiting = None;
        self.shown = ctx.props().clone();
        true
    }

    fn view(&self, _: &Context<Self>) -> Html {
        html! { <ZoneBox ..self.shown.clone()/> }
    }
}

/// A box a zone, a cell a node, a dot a pod.
#[component]
fn ZoneBox(props: &ZoneProps) -> Html {
    let page = super::use_page();
    let hovered = use_state(|| None::<usize>);
    let nodes: Vec<Rc<NodeView>> = props.cluster.nodes.values().filter(|n| n.zone == props.zone).cloned().collect();
    let (w, h) = (props.rect.w - 18.0, props.rect.h - 40.0);
    let cells = cells(w, h, nodes.len());
    let now = props.seconds * 1_000_000_000;
    let (mut cpu, mut cpu_all, mut memory, mut memory_all) = (0u64, 0u64, 0u64, 0u64);
    let mut drawn = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let pods = props.cluster.pods_on(node.id);
        cpu += u64::from(cluster::requested(&pods, |p| p.cpu_milli));
        memory += u64::from(cluster::requested(&pods, |p| p.memory_mi));
        cpu_all += u64::from(node.cpu_milli);
        memory_all += u64::from(node.memory_mi);
        let states = pods.iter().take(cells.capacity()).map(|p| p.state).collect::<Vec<_>>();
        let hot = is_node(props.selected.as_ref(), &node.name) || *hovered == Some(i);
        let lost = cluster::health(node, now) == NodeHealth::NotReady;
        drawn.push(html! { <Cell key={node.id} {cells} index={i} {states} {lost} cordoned={node.cordoned} {hot}/> });
    }
    let percent = |part: u64, whole: u64| (part * 100).checked_div(whole).unwrap_or(0);
    let count = nodes.len();
    let title = if props.zone.is_empty() { "nodes".to_string() } else { format!("zone {}", props.zone) };
    let label = page.lang.pick(
        format!("{title}: {count} nodes. Arrow keys walk over them, Enter opens one."),
        format!("{title}: 노드 {count}개. 화살표로 옮기고 Enter로 엽니다."),
    );
    let at = {
        move |event: &MouseEvent| -> Option<usize> {
            let bounds = closest(event, "svg")?.get_bounding_client_rect();
            let (x, y) = (f64::from(event.client_x()) - bounds.left(), f64::from(event.client_y()) - bounds.top());
            cells.at(x, y).filter(|i| *i < count)
        }
    };
    let onmousemove = {
        let hovered = hovered.clone();
        Callback::from(move |event: MouseEvent| {
            let now_at = at(&event);
            if *hovered != now_at {
                hovered.set(now_at);
            }
        })
    };
    let onmouseleave = {
        let hovered = hovered.clone();
        Callback::from(move |_: MouseEvent| hovered.set(None))
    };
    let names: Rc<Vec<String>> = Rc::new(nodes.iter().map(|n| n.name.clone()).collect());
    let onclick = {
        let (act, names) = (page.act.clone(), names.clone());
        Callback::from(move |event: MouseEvent| {
            if let Some(name) = at(&event).and_then(|i| names.get(i).cloned()) {
                act.emit(Action::Inspect(node_subject(&name)));
            }
        })
    };
    let onkeydown = {
        let (act, hovered, names) = (page.act.clone(), hovered.clone(), names.clone());
        Callback::from(move |event: KeyboardEvent| {
            let last = count.saturating_sub(1);
            let here = hovered.unwrap_or(0);
            let next = match event.key().as_str() {
                "ArrowRight" if hovered.is_none() => 0,
                "ArrowRight" => (here + 1).min(last),
                "ArrowLeft" => here.saturating_sub(1),
                "ArrowDown" => (here + cells.per_row).min(last),
                "ArrowUp" => here.saturating_sub(cells.per_row),
                "Home" => 0,
                "End" => last,
                "Enter" | " " => {
                    event.prevent_default();
                    if let Some(name) = names.get(here) {
                        act.emit(Action::Inspect(node_subject(name)));
                    }
                    return;
                }
                _ => return,
            };
            event.prevent_default();
            hovered.set(Some(next));
        })
    };
    let tip = hovered.and_then(|i| nodes.get(i).map(|n| (i, n.clone()))).map(|(i, node)| {
        let pods = props.cluster.pods_on(node.id);
        let ready = pods.iter().filter(|p| p.state == PodState::Ready).count();
        let creating = pods.iter().filter(|p| p.state == PodState::Creating).count();
        let r = cells.rect(i);
        let left = (r.right() + 14.0).min((props.rect.w - 210.0).max(4.0));
        let health = match cluster::health(&node, now) {
            NodeHealth::NotReady => "NotReady",
            _ => "Ready",
        };
        let counts = page.lang.pick(
            format!("{} pods, {ready} ready, {creating} creating", pods.len()),
            format!("Pod {}개, 준비됨 {ready}, 생성 중 {creating}", pods.len()),
        );
        let cpu = cluster::requested(&pods, |p| p.cpu_milli);
        let memory = cluster::requested(&pods, |p| p.memory_mi);
        html! {
            <div class="tip" style={format!("left:{left}px;top:{}px", r.y + 34.0)} role="status">
                <b>{ &node.name }</b>{ " " }{ health }<br/>{ counts }<br/>
                <span class="mono">{ format!("cpu {} / {}  mem {} / {} Gi", format::cores(cpu), format::cores_capacity(node.cpu_milli), format::gibibytes(memory), format::gibibytes(node.memory_mi)) }</span>
            </div>
        }
    });
    html! {
        <section class="zonebox" style={props.rect.style()}>
            <header><b>{ title }</b><span class="num">{ page.lang.pick(format!("{count} nodes"), format!("노드 {count}개")) }</span>
                <span class="use num">{ format!("cpu {}%, mem {}%", percent(cpu, cpu_all), percent(memory, memory_all)) }</span></header>
            <svg width={w.max(0.0).to_string()} height={cells.height.max(h).to_string()} role="application" tabindex="0" aria-label={label}
                {onmousemove} {onmouseleave} {onclick} {onkeydown}>
                { for drawn }
            </svg>
            { tip.unwrap_or_default() }
        </section>
    }
}

/// Props of [`Cell`].
#[derive(Properties, PartialEq)]
pub struct CellProps {
    cells: Cells,
    index: usize,
    states: Vec<PodState>,
    lost: bool,
    cordoned: bool,
    hot: bool,
}

/// A node's cell: drawn again only when something in it changed.
#[component]
fn Cell(props: &CellProps) -> Html {
    let r = props.cells.rect(props.index);
    let class = classes!(
        "cellr",
        props.lost.then_some("lost"),
        props.cordoned.then_some("cordon"),
        props.hot.then_some("hot"),
    );
    let dots = Dots::of(&props.cells, props.index, &props.states);
    html! { <>
        <rect key="cell" {class} x={(r.x + 0.5).to_string()} y={(r.y + 0.5).to_string()} width={r.w.to_string()} height={r.h.to_string()} rx="3"/>
        { for dots.paths().into_iter().map(|(class, d)| html! { <path key={class} {class} d={d.to_string()}/> }) }
    </> }
}

fn is_node(selected: Option<&Subject>, name: &str) -> bool {
    matches!(selected, Some(Subject::Object(o)) if o.kind == "Node" && o.name == name)
}
