//! What became of the object that was applied last: six steps, each with its revision and its time.

use super::cluster_view::{Observer, get, list, server};
use crate::cluster::World;
use api::apps_v1::{Deployment, ReplicaSet};
use api::core_v1::Pod;
use view::{ObjectRef, Progress, Trip, TripKind, TripStep};

/// Follows one object.
#[derive(Default)]
pub struct Tracker {
    trip: Option<Trip>,
    /// Causes with a revision above this are the trip's.
    from: u64,
    /// The text could not be read: kubectl will say so.
    sent: Option<Trip>,
}

const MAKES_PODS: [&str; 3] = ["Deployment", "ReplicaSet", "Pod"];

impl Tracker {
    /// An Apply was sent.
    pub fn begin(&mut self, text: &str, now: u64, revision: u64) {
        let mut chosen: Option<ObjectRef> = None;
        for document in api::yaml::documents(text).map_while(Result::ok) {
            let field = |path: &[&str]| document.value.str_at(path).to_string();
            let mut object = ObjectRef {
                kind: field(&["kind"]),
                namespace: field(&["metadata", "namespace"]),
                name: field(&["metadata", "name"]),
            };
            if object.namespace.is_empty() {
                object.namespace = "default".into();
            }
            let better = MAKES_PODS.contains(&object.kind.as_str())
                && chosen.as_ref().is_none_or(|c| !MAKES_PODS.contains(&c.kind.as_str()));
            if !object.kind.is_empty() && (chosen.is_none() || better) {
                chosen = Some(object);
            }
        }
        let Some(object) = chosen else { return };
        let kinds: &[TripKind] = match object.kind.as_str() {
            "Deployment" => &[
                TripKind::Stored,
                TripKind::ReplicaSet,
                TripKind::Pods,
                TripKind::Bound,
                TripKind::Started,
                TripKind::Ready,
            ],
            "ReplicaSet" => &[TripKind::Stored, TripKind::Pods, TripKind::Bound, TripKind::Started, TripKind::Ready],
            "Pod" => &[TripKind::Stored, TripKind::Bound, TripKind::Started, TripKind::Ready],
            _ => &[TripKind::Stored],
        };
        let id = self.trip.as_ref().map_or(0, |t| t.id) + 1;
        let steps = kinds.iter().map(|kind| TripStep { kind: *kind, ..TripStep::default() }).collect();
        let short = format!("{}/{}", object.kind.to_lowercase(), object.name);
        self.sent = Some(Trip { id, object, short, began_at: now, steps, ..Trip::default() });
        self.from = revision;
    }

    /// The trip as it stands.
    pub fn view(&self) -> Option<&Trip> {
        self.trip.as_ref()
    }

    /// Whether the trip has this step.
    pub fn has(&self, kind: TripKind) -> bool {
        self.trip.as_ref().is_some_and(|t| t.steps.iter().any(|s| s.kind == kind))
    }

    /// Whether this step is done.
    pub fn is_done(&self, kind: TripKind) -> bool {
        let step = self.trip.as_ref().and_then(|t| t.steps.iter().find(|s| s.kind == kind));
        step.is_some_and(|s| s.progress == Progress::Done)
    }

    /// Looks again; true if anything changed.
    pub fn update(&mut self, world: &World, _observer: &Observer) -> bool {
        if let Some(sent) = &self.sent {
            // It begins once the object is written, or was there already as wanted.
            let object = &sent.object;
            let stored = get(world, &object.kind, &object.namespace, &object.name);
            let written =
                writes(world, self.from, |c| c.kind.kind == object.kind && *c.name == *object.name).first().copied();
            if stored.is_none() || written.is_none() {
                return false;
            }
            self.trip = self.sent.take();
        }
        let Some(mut trip) = self.trip.clone() else { return false };
        self.refresh(world, &mut trip);
        if self.trip.as_ref() == Some(&trip) {
            return false;
        }
        self.trip = Some(trip);
        true
    }

    fn refresh(&self, world: &World, trip: &mut Trip) {
        let object = trip.object.clone();
        let now = world.sim().now().as_nanos();
        let stored = get(world, &object.kind, &object.namespace, &object.name);
        let uid = stored.as_ref().and_then(|o| o.metadata().map(|m| m.uid.to_string())).unwrap_or_default();
        let mut sets: Vec<String> = Vec::new();
        let mut set_name = String::new();
        match object.kind.as_str() {
            "Deployment" => {
                if let Some(deployment) = stored.as_ref().and_then(|o| o.downcast::<Deployment>()) {
                    trip.desired = u32::try_from(deployment.spec.replicas.unwrap_or(1)).unwrap_or(0);
                }
                for set in list::<ReplicaSet>(world, "apps", "replicasets") {
                    let owned = set.metadata.owner_references.iter().any(|o| *o.uid == *uid);
                    // The newest set is the one that this template made.
                    if owned && set.spec.replicas.unwrap_or(0) > 0 {
                        set_name = set.metadata.name.to_string();
                        sets.push(set.metadata.uid.to_string());
                    }
                }
            }
            "ReplicaSet" => {
                if let Some(set) = stored.as_ref().and_then(|o| o.downcast::<ReplicaSet>()) {
                    trip.desired = u32::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
                }
                sets.push(uid.clone());
            }
            "Pod" => trip.desired = 1,
            _ => {}
        }
        let own = |pod: &Pod| {
            if object.kind == "Pod" {
                *pod.metadata.name == *object.name && *pod.metadata.namespace == *object.namespace
            } else {
                pod.metadata.owner_references.iter().any(|o| sets.iter().any(|s| **s == *o.uid))
            }
        };
        let mut pods: Vec<_> = list::<Pod>(world, "", "pods").into_iter().filter(|p| own(p)).collect();
        pods.retain(|p| p.metadata.deletion_timestamp.unix().is_none());
        let count = |f: &dyn Fn(&Pod) -> bool| u32::try_from(pods.iter().filter(|p| f(p)).count()).unwrap_or(u32::MAX);
        let ready = count(&|p| p.status.conditions.iter().any(|c| &*c.type_ == "Ready" && &*c.status == "True"));
        trip.ready = ready;
        let desired = trip.desired;
        let name_of = |f: &dyn Fn(&Pod) -> bool| {
            let last = pods.iter().rev().find(|p| f(p));
            last.map(|p| (p.metadata.name.to_string(), p.spec.node_name.to_string())).unwrap_or_default()
        };
        let bound = |p: &Pod| !p.spec.node_name.is_empty();
        let started = |p: &Pod| {
            !p.status.container_statuses.is_empty()
                && p.status
                    .container_statuses
                    .iter()
                    .all(|c| !c.state.running.is_none() || c.state.terminated.get().is_some())
        };
        let is_ready = |p: &Pod| p.status.conditions.iter().any(|c| &*c.type_ == "Ready" && &*c.status == "True");
        // What came to pass stays as it was, whatever becomes of the pods later; another number of pods is a new wish.
        let open = |step: &TripStep| {
            let of_pods = !matches!(step.kind, TripKind::Stored | TripKind::ReplicaSet);
            step.progress != Progress::Done || (of_pods && step.total != desired)
        };
        for step in trip.steps.iter_mut().filter(|step| open(step)) {
            let before = (step.progress, step.done);
            let (done, total, (name, node)) = match step.kind {
                TripKind::Stored => (u32::from(stored.is_some()), 1, (object.name.clone(), String::new())),
                TripKind::ReplicaSet => (u32::from(!sets.is_empty()), 1, (set_name.clone(), String::new())),
                TripKind::Pods => (count(&|_| true).min(desired), desired, name_of(&|_| true)),
                TripKind::Bound => (count(&bound).min(desired), desired, name_of(&bound)),
                TripKind::Started => (count(&started).min(desired), desired, name_of(&started)),
                TripKind::Ready => (ready.min(desired), desired, name_of(&is_ready)),
            };
            step.done = done;
            step.total = total;
            step.name = name;
            step.node = node;
            step.progress = match (done, total) {
                (0, t) if t > 0 => Progress::Todo,
                (d, t) if d >= t => Progress::Done,
                _ => Progress::Now,
            };
            if (step.progress, step.done) != before && step.progress != Progress::Todo {
                let fact = match step.kind {
                    TripKind::Stored => {
                        writes(world, self.from, |c| c.kind.kind == object.kind && *c.name == *object.name)
                            .first()
                            .copied()
                    }
                    TripKind::ReplicaSet => {
                        writes(world, self.from, |c| c.kind.kind == "ReplicaSet" && *c.name == *set_name)
                            .first()
                            .copied()
                    }
                    TripKind::Pods => writes(world, self.from, |c| {
                        c.kind.kind == "Pod" && c.verb == "create" && c.subresource.is_empty()
                    })
                    .last()
                    .map(|(_, at)| (0, *at)),
                    TripKind::Bound => {
                        writes(world, self.from, |c| &*c.subresource == "binding").last().map(|(_, at)| (0, *at))
                    }
                    _ => None,
                };
                let (revision, at) = fact.unwrap_or((0, now));
                step.revision = revision;
                step.after = at.saturating_sub(trip.began_at).max(1);
            }
        }
    }
}

/// Revision and time of the writes after `from` that `wanted` takes.
fn writes(world: &World, from: u64, wanted: impl Fn(&apiserver::causes::Cause) -> bool) -> Vec<(u64, u64)> {
    let Some(server) = server(world) else { return Vec::new() };
    let all = server.causes.since(from);
    all.iter().filter(|(_, c)| wanted(c)).map(|(revision, c)| (*revision, c.time.as_nanos())).collect()
}
