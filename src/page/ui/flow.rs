//! The map on a phone: the same things under one another.

use super::map_cards::{self, Look};
use super::map_dense::{Zone, least_height};
use super::{Held, map, map_nodes};
use crate::cluster::Cluster;
use crate::lang;
use crate::layout::{Rect, Room};
use yew::prelude::*;

/// One column.
pub fn flow(look: Look, cluster: &Held<Cluster>, dense: bool) -> Html {
    let plane = &cluster.control_plane;
    let alone = plane.api_servers.len() <= 1;
    html! {
        <div class="column">
            <h2 class="sr">{ look.page.t(lang::CLUSTER) }</h2>
            { map_cards::etcd(look, cluster, None, 14) }
            <svg class="link" viewBox="0 0 390 16" height="16" preserveAspectRatio="none" aria-hidden="true"><path class="wire" d="M191 0V16"/><path class="wire" d="M199 0V16"/></svg>
            <div class="gate"><div class="wall"></div>{ for plane.api_servers.iter().map(|api| map_cards::door(look, api, alone, None)) }</div>
            <svg class="link" viewBox="0 0 390 22" height="22" preserveAspectRatio="none" aria-hidden="true"><path class="wire" d="M103 0V22"/><path class="wire" d="M287 0V22"/><path class="wire" d="M195 0V22"/></svg>
            <div class="two">{ map_cards::managers(look, cluster, None) }{ map_cards::scheduler(look, cluster, None) }</div>
            <svg class="link" viewBox="0 0 390 18" height="18" preserveAspectRatio="none" aria-hidden="true"><path class="wire" d="M195 -90V18"/></svg>
            if dense {
                <div class="stack">{ for cluster.zones().into_iter().enumerate().map(|(turn, zone)| {
                    let count = cluster.nodes.values().filter(|n| n.zone == zone).count();
                    let rect = Rect { x: 0.0, y: 0.0, w: 336.0, h: least_height(336.0, count).max(120.0) };
                    html! { <div class="zoneholder" style={format!("height:{}px", rect.h)}>
                        <Zone key={zone.clone()} {turn} cluster={cluster.clone()} zone={zone.clone()} {rect} seconds={look.now / 1_000_000_000} selected={look.selected.cloned()}/></div> }
                }) }</div>
            } else {
                <div class="stack">{ for cluster.nodes.values().map(|node| map_nodes::node(look, node, &cluster.pods_on(node.id), None)) }</div>
            }
            { map::tools(look.page, cluster, Room::Compact) }
        </div>
    }
}
