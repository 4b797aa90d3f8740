//! The map: sizes itself by its own container and puts everything where the layout says.

use super::controls::{rich, use_size};
use super::lights::Lights;
use super::map_cards::{self, Look};
use super::map_dense::{Zone, least_height};
use super::menus::Menu;
use super::{Action, Held, Page, flow, icons, map_nodes, use_page};
use crate::cluster::{Cluster, NodeHealth, health};
use crate::layout::{Counts, Plan, Room, WireEnds, beside, n, path, plan};
use crate::{format, lang, words};
use std::collections::BTreeMap;
use std::rc::Rc;
use view::{MessageView, NodeId, ProcessState, Subject};
use yew::prelude::*;

/// Props of [`Map`].
#[derive(Properties, PartialEq)]
pub struct MapProps {
    /// The cluster.
    pub cluster: Held<Cluster>,
    /// Virtual time, in steps as fine as the map's countdowns need.
    pub now: u64,
    /// The selection.
    pub selected: Option<Subject>,
    /// New messages.
    pub batch: Held<(u64, Vec<MessageView>)>,
    /// Speed.
    pub speed_milli: u32,
    /// One column, for phones.
    pub phone: bool,
    /// What lies over the map: the story, the answers.
    pub children: Html,
}

/// The map.
#[component]
pub fn Map(props: &MapProps) -> Html {
    let page = use_page();
    let node = use_node_ref();
    let (width, height) = use_size(node.clone());
    let cluster = &props.cluster;
    let zones = cluster.zones();
    let columns: Rc<BTreeMap<NodeId, usize>> =
        use_memo(cluster.nodes.values().map(|n| (n.id, n.zone.clone())).collect::<Vec<_>>(), {
            let zones = zones.clone();
            let dense = cluster.dense();
            move |nodes: &Vec<(NodeId, String)>| {
                let place = |(i, (id, zone)): (usize, &(NodeId, String))| {
                    (*id, if dense { zones.iter().position(|z| z == zone).unwrap_or(0) } else { i })
                };
                nodes.iter().enumerate().map(place).collect()
            }
        });
    let dense = cluster.dense();
    let counts = Counts {
        members: cluster.control_plane.etcd.len(),
        doors: cluster.control_plane.api_servers.len(),
        columns: if dense { zones.len() } else { cluster.nodes.len() },
        dense,
        cloud: !cluster.control_plane.cloud_controller_managers.is_empty(),
        column_height: if dense {
            let zones = zones.len().max(1) as f64;
            let width = (width.max(320.0) - 48.0 - 16.0 * (zones - 1.0)) / zones;
            let most = zones_sizes(cluster).into_iter().max().unwrap_or(0);
            least_height(width, most)
        } else {
            // Room for a pod or two in every card: the map grows and scrolls rather than showing none.
            let want = |n: &Rc<view::NodeView>| {
                let pods = cluster.pods_on(n.id);
                let household = pods.iter().any(|p| crate::cluster::is_household(p));
                let own = pods.iter().filter(|p| !crate::cluster::is_household(p)).count();
                map_nodes::head(n) + 14.0 + 28.0 * own.min(2) as f64 + if household { 46.0 } else { 0.0 }
            };
            cluster.nodes.values().map(want).fold(0.0, f64::max)
        },
    };
    let plan: Rc<Plan> = use_memo((width, height, counts), |(width, height, counts)| plan(*width, *height, counts));
    let class = classes!(
        "map",
        match (props.phone, plan.room) {
            (true, _) => "flow",
            (_, Room::Compact) => "compact",
            (_, Room::Medium) => "medium",
            (_, Room::Wide) => "wide",
        }
    );
    let room = if props.phone { Room::Compact } else { plan.room };
    let look = Look { page: &page, room, now: props.now, selected: props.selected.as_ref(), phone: props.phone };
    let empty = cluster.control_plane.etcd.is_empty();
    let body = if empty {
        html! { <p class="waiting" role="status">{ page.t(lang::BOOTING) }{ "…" }</p> }
    } else if props.phone {
        flow::flow(look, cluster, dense)
    } else {
        placed(look, props, &plan, &columns, &zones)
    };
    html! {
        <main id="cluster" {class} aria-label={page.t(lang::CLUSTER)} ref={node} tabindex="-1">
            <div class="scroller">{ body }</div>
            { props.children.clone() }
        </main>
    }
}

fn zones_sizes(cluster: &Cluster) -> Vec<usize> {
    let mut sizes = BTreeMap::new();
    for node in cluster.nodes.values() {
        *sizes.entry(node.zone.as_str()).or_insert(0) += 1;
    }
    sizes.into_values().collect()
}

fn placed(
    look: Look,
    props: &MapProps,
    plan: &Rc<Plan>,
    columns: &Rc<BTreeMap<NodeId, usize>>,
    zones: &[String],
) -> Html {
    let page = look.page;
    let cluster = &props.cluster;
    let plane = &cluster.control_plane;
    let alone = plane.api_servers.len() <= 1;
    let cells = ((plan.etcd.w - 240.0) / 14.0).clamp(6.0, 26.0) as usize;
    let cells =
        if look.room == Room::Compact { ((plan.etcd.w - 196.0) / 10.5).clamp(6.0, 18.0) as usize } else { cells };
    let dense = cluster.dense();
    let nodes: Vec<_> = cluster.nodes.values().collect();
    html! {
        <div class="plan" style={format!("width:{}px;height:{}px", n(plan.width), n(plan.height))}>
            <div class="vault" style={format!("height:{}px", n(plan.wall))}></div>
            { wires(look, cluster, plan) }
            { walls(plan) }
            if plan.room == Room::Wide && alone { <span class="wallnote end" style={format!("top:{}px", plan.wall + 18.0)}>{ page.t(lang::WALL_NOTE) }</span> }
            if plan.room != Room::Compact { <span class="wallnote" style={format!("left:24px;top:{}px", plan.kubectl_y + 4.0)}>{ "kubectl" }</span> }
            if !alone && plan.room == Room::Wide {
                <span class="msg plain" style={format!("left:{}px;top:{}px", (plan.doors[0].right() + plan.doors[1].x) / 2.0, plan.kubectl_y)}>{ page.t(lang::LOAD_BALANCER) }</span>
            }
            <Lights plan={Held(plan.clone())} columns={Held(columns.clone())} batch={props.batch.clone()} speed_milli={props.speed_milli}/>
            if plan.room == Room::Compact { <h2 class="sr">{ page.t(lang::CLUSTER) }</h2> } else { { note(page, cluster, plan.etcd.x - 34.0) } }
            { map_cards::etcd(look, cluster, Some(plan.etcd.style()), cells) }
            { for plane.api_servers.iter().zip(&plan.doors).map(|(api, rect)| map_cards::door(look, api, alone, Some(rect))) }
            { map_cards::managers(look, cluster, Some(&plan.managers)) }
            { map_cards::scheduler(look, cluster, Some(&plan.scheduler)) }
            { plan.cloud.as_ref().map(|rect| map_cards::cloud(look, cluster, rect)).unwrap_or_default() }
            if dense {
                { for zones.iter().zip(&plan.columns).enumerate().map(|(turn, (zone, rect))| html! {
                    <Zone key={zone.clone()} {turn} cluster={props.cluster.clone()} zone={zone.clone()} rect={*rect} seconds={look.now / 1_000_000_000} selected={props.selected.clone()}/>
                }) }
            } else {
                { for nodes.iter().zip(&plan.columns).map(|(node, rect)| map_nodes::node(look, node, &cluster.pods_on(node.id), Some(rect))) }
            }
            { silent_labels(look, cluster, plan) }
            { tools(page, cluster, plan.room) }
        </div>
    }
}

/// The map's title: nodes, pods, faults; as wide as what stands beside it leaves.
fn note(page: &Page, cluster: &Cluster, width: f64) -> Html {
    let pending = cluster.pending_pods();
    let faults = cluster.faults.len();
    let planes = cluster.control_plane.api_servers.len();
    html! {
        <div class="mapnote at" style={format!("left:24px;top:14px;max-width:{}px", n(width))}><h2>{ page.t(lang::CLUSTER) }</h2>
            <span>{ rich(&words::nodes_line(page.lang, cluster.nodes.len(), cluster.zones().len())) }</span>
            if planes > 1 { <span>{ rich(&page.lang.pick(format!("**{planes}** control planes"), format!("컨트롤 플레인 **{planes}**"))) }</span> }
            <span>
                { rich(&words::pods_line(page.lang, cluster.pods.len(), cluster.ready_pods())) }
                if pending > 0 { <>{ ", " }<b class="warn">{ page.lang.pick(format!("{pending} pending"), format!("{pending}개 Pending")) }</b></> }
            </span>
            if faults > 0 { <span><b class="bad">{ page.lang.pick(format!("{faults} {}", if faults == 1 { "fault" } else { "faults" }), format!("장애 {faults}개")) }</b>{ page.lang.pick(" active", " 진행 중") }</span> }
        </div>
    }
}

/// Faults and legend.
pub fn tools(page: &Page, cluster: &Cluster, room: Room) -> Html {
    let open = |menu: Menu| {
        let act = page.act.clone();
        Callback::from(move |event: MouseEvent| act.emit(Action::OpenMenu(menu.clone().at(&event))))
    };
    let on = (!cluster.faults.is_empty()).then_some("on");
    html! {
        <div class="maptools at" style={if room == Room::Compact { "right:8px;top:16px" } else { "right:16px;top:14px" }}>
            if !page.readonly && room != Room::Compact {
                <button type="button" class={classes!("btn", "line", on)} aria-haspopup="menu" onclick={open(Menu::faults())}>{ icons::sized("bolt", "s14") }{ page.t(lang::FAULTS) }</button>
            } else if !page.readonly {
                <button type="button" class={classes!("btn", "line", "icon", on)} aria-haspopup="menu" aria-label={page.t(lang::FAULTS)} onclick={open(Menu::faults())}>{ icons::sized("bolt", "s14") }</button>
            }
            if room != Room::Compact {
                <button type="button" class="btn line icon" aria-haspopup="menu" aria-label={page.t(lang::LEGEND)} title={page.t(lang::LEGEND)} onclick={open(Menu::legend())}>{ icons::sized("grid", "s14") }</button>
            }
        </div>
    }
}

fn walls(plan: &Plan) -> Html {
    // The wall runs from edge to edge and is open only where a door stands.
    let mut parts = Vec::new();
    let mut from = -2000.0;
    for door in &plan.doors {
        parts.push((from, door.x));
        from = door.right();
    }
    parts.push((from, plan.width + 2000.0));
    parts
        .into_iter()
        .map(|(a, b)| html! { <div class="wall" style={format!("left:{}px;top:{}px;width:{}px", n(a), n(plan.wall), n((b - a).max(0.0)))}></div> })
        .collect()
}

fn wires(look: Look, cluster: &Cluster, plan: &Plan) -> Html {
    let nodes: Vec<_> = cluster.nodes.values().collect();
    let plane = &cluster.control_plane;
    let down = |p: &view::ProcessView| p.state != ProcessState::Running;
    let lines = plan.wires.iter().map(|wire| {
        let mut class = "wire".to_string();
        let off = match wire.ends {
            WireEnds::Column(i) if !cluster.dense() => nodes.get(i).map_or("", |node| match node.machine {
                ProcessState::CutOff | ProcessState::Stopped => " cut",
                _ if health(node, look.now) == NodeHealth::NotReady => " cut",
                _ => "",
            }),
            WireEnds::Manager if plane.controller_managers.iter().all(down) => " off",
            WireEnds::Scheduler if plane.schedulers.iter().all(down) => " off",
            WireEnds::Trunk(i) if plane.api_servers.get(i).is_some_and(|a| down(&a.process)) => " off",
            _ => "",
        };
        class.push_str(off);
        if wire.trunk {
            let side = |d: f64| path(&beside(&wire.points, d));
            html! { <><path class={format!("{class} trunk")} d={side(-5.0)}/><path class={format!("{class} trunk")} d={side(5.0)}/></> }
        } else {
            html! { <path {class} d={path(&wire.points)}/> }
        }
    });
    let ports = plan.wires.iter().filter(|w| w.ports).flat_map(|w| {
        let ends = [w.points.first(), w.points.last()];
        ends.into_iter().flatten().filter(|(x, _)| *x > -100.0).map(|(x, y)| {
            html! { <rect class="port" x={(x - 2.5).to_string()} y={(y - 2.5).to_string()} width="5" height="5" rx="1"/> }
        }).collect::<Vec<_>>()
    });
    html! {
        <svg class="wires" aria-hidden="true" width={n(plan.width)} height={n(plan.height)}>{ for lines }{ for ports }</svg>
    }
}

/// What an unreachable node's line says.
fn silent_labels(look: Look, cluster: &Cluster, plan: &Plan) -> Html {
    if cluster.dense() {
        return Html::default();
    }
    let page = look.page;
    cluster
        .nodes
        .values()
        .enumerate()
        .filter(|(_, node)| health(node, look.now) != NodeHealth::Ready)
        .filter_map(|(i, node)| {
            let silence = look.now.saturating_sub(node.heartbeat_at);
            let rect = plan.columns.get(i)?;
            if silence < 12_000_000_000 || plan.room == Room::Compact {
                return None;
            }
            let text = page.lang.pick(
                format!("no heartbeat for {}", format::whole(page.lang, silence)),
                format!("{} 동안 heartbeat 없음", format::whole(page.lang, silence)),
            );
            Some(html! { <span class="msg still num" style={format!("left:{}px;top:{}px", rect.middle(), rect.y - 11.0)}>{ text }</span> })
        })
        .collect()
}
