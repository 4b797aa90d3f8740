//! Requests: rows of the audit table, and lights on the map.

use super::cluster_view::place_of;
use super::control_plane::{http_verb, is_step, target};
use crate::cluster::World;
use api::SortSmall;
use apiserver::audit::Entry;
use std::collections::BTreeMap;
use std::rc::Rc;
use view::{MessageKind, MessageView, ObjectRef, Place, RequestRow, Subject, ToPage};

/// Rows sent at once.
const MAX_ROWS: usize = 200;
/// Messages of requests in a frame.
const MAX_MESSAGES: usize = 24;

/// What was told of each server's requests.
#[derive(Default)]
pub struct Requests {
    told: BTreeMap<String, u64>,
    lit: BTreeMap<String, u64>,
    count: u64,
    number: u64,
}

impl Requests {
    /// The table was opened: it begins with the newest requests.
    pub fn subscribe(&mut self, fresh: bool) {
        if fresh {
            self.told.clear();
        }
    }

    /// Requests served by all servers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Answered requests since the last time, if the table is open.
    pub fn rows(&mut self, world: &World, open: bool) -> Option<ToPage> {
        let servers = world.observed().api_servers.borrow();
        self.count = servers.values().map(|s| s.audit.count()).sum();
        if !open {
            return None;
        }
        let mut rows = Vec::new();
        for (name, server) in servers.iter() {
            let total = server.audit.count();
            let from = *self.told.entry(name.clone()).or_insert(total.saturating_sub(MAX_ROWS as u64));
            for entry in server.audit.since(from) {
                // A request still under way is told when it is over; those after it wait for it.
                if entry.code.get() == 0 && entry.verb != "watch" {
                    break;
                }
                self.told.insert(name.clone(), entry.id);
                self.number += 1;
                rows.push(row(&entry, self.number));
            }
        }
        rows.sort_small_by_key(|r| r.at);
        let skip = rows.len().saturating_sub(MAX_ROWS);
        rows.drain(..skip);
        (!rows.is_empty()).then_some(ToPage::Requests(rows))
    }

    /// Requests since the last frame, as messages on their lines.
    pub fn messages(&mut self, world: &World) -> Vec<MessageView> {
        let servers = world.observed().api_servers.borrow();
        let mut merged: BTreeMap<(Place, Place, MessageKind), MessageView> = BTreeMap::new();
        for (name, server) in servers.iter() {
            let total = server.audit.count();
            let from = self.lit.insert(name.clone(), total).unwrap_or(total);
            let Some(to) = place_of(name) else { continue };
            for entry in server.audit.since(from.max(total.saturating_sub(300))) {
                let Some(place) = sender(world, &entry) else { continue };
                let kind = kind(&entry);
                let label = if kind == MessageKind::Write {
                    format!("{} {}", http_verb(&entry), target(&entry))
                } else {
                    String::new()
                };
                let at = entry.received.as_nanos();
                let message = merged.entry((place, to, kind)).or_insert(MessageView {
                    from: place,
                    to,
                    kind,
                    count: 0,
                    label: String::new(),
                    at,
                });
                message.count = message.count.saturating_add(1);
                message.label = label;
            }
        }
        merged.into_values().take(MAX_MESSAGES).collect()
    }
}

fn kind(entry: &Entry) -> MessageKind {
    if &*entry.resource == "leases" {
        // Leaders and those who stand by: a beat.
        MessageKind::Heartbeat
    } else if entry.code.get() >= 500 {
        MessageKind::Failed
    } else if is_step(entry) {
        MessageKind::Write
    } else if matches!(entry.verb, "get" | "list" | "watch") {
        MessageKind::Read
    } else {
        MessageKind::Heartbeat
    }
}

fn sender(world: &World, entry: &Entry) -> Option<Place> {
    let user = entry.user.borrow();
    let index = |kind: &str| {
        let observed = world.observed();
        let found = match kind {
            "kube-scheduler" => observed.schedulers.borrow().iter().find(|(_, s)| s.leads()).map(|(n, _)| n.clone()),
            _ => observed.managers.borrow().iter().find(|(_, m)| m.is_leading()).map(|(n, _)| n.clone()),
        };
        found.and_then(|name| place_of(&name)).or_else(|| place_of(kind))
    };
    if let Some(node) = user.strip_prefix("system:node:") {
        let nodes = world.machines().nodes();
        let at = nodes.iter().position(|n| n.name() == node)?;
        return u32::try_from(at).ok().map(Place::Node);
    }
    match &**user {
        "kubernetes-admin" => Some(Place::Kubectl),
        "system:kube-scheduler" => index("kube-scheduler"),
        "system:kube-controller-manager" => index("kube-controller-manager"),
        other if other.starts_with("system:serviceaccount:kube-system:") => index("kube-controller-manager"),
        _ => None,
    }
}

fn row(entry: &Rc<Entry>, number: u64) -> RequestRow {
    let name = entry.name.borrow().to_string();
    let mut resource = entry.resource.to_string();
    if !entry.subresource.is_empty() {
        resource.push('/');
        resource.push_str(&entry.subresource);
    }
    let kind = api::scheme::resources().iter().find(|k| k.group == &*entry.group && k.plural == &*entry.resource);
    let subject = kind.filter(|_| !name.is_empty()).map(|k| {
        Subject::Object(ObjectRef { kind: k.kind.into(), namespace: entry.namespace.to_string(), name: name.clone() })
    });
    RequestRow {
        number,
        at: entry.received.as_nanos(),
        user: entry.user.borrow().to_string(),
        agent: entry.user_agent.split(' ').next().unwrap_or_default().to_string(),
        verb: entry.verb.to_string(),
        resource,
        namespace: entry.namespace.to_string(),
        name,
        code: if entry.verb == "watch" && entry.code.get() == 0 { 200 } else { entry.code.get() },
        latency_micros: entry.latency().map_or(0, |l| u32::try_from(l.as_micros()).unwrap_or(u32::MAX)),
        subject,
    }
}
