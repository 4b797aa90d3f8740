//! What became of the objects that were applied last: six steps of one that makes pods, each with its revision and its
//! time, and how all of them stand. Steps and states tell what is true now.

use super::cluster_view::{Observer, get, list, server};
use super::pods;
use crate::cluster::World;
use api::apps_v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use api::batch_v1::Job;
use api::core_v1::{ContainerStatus, Pod};
use api::{AnyRev, Rev};
use std::collections::BTreeSet;
use view::{ObjectRef, PodState, Progress, Trip, TripKind, TripObject, TripState, TripStep};

/// Objects that are followed at most.
const MOST: usize = 40;

/// Follows what was applied last.
#[derive(Default)]
pub struct Tracker {
    trip: Option<Trip>,
    /// Causes with a revision above this are the trip's.
    from: u64,
    /// What was sent, until the first of it is stored: kubectl may refuse it.
    sent: Option<Trip>,
    /// Steps that were done once, and for how many: their time stays.
    told: BTreeSet<(TripKind, u32)>,
}

const MAKES_PODS: [&str; 3] = ["Deployment", "ReplicaSet", "Pod"];

impl Tracker {
    /// An Apply was sent.
    pub fn begin(&mut self, text: &str, now: u64, revision: u64) {
        let mut all: Vec<TripObject> = Vec::new();
        for document in api::yaml::documents(text).map_while(Result::ok) {
            let listed = document.value.get("items").and_then(|items| items.as_array());
            let values = listed.map_or(std::slice::from_ref(&document.value), |items| items);
            for value in values {
                let field = |path: &[&str]| value.str_at(path).to_string();
                let (kind, name) = (field(&["kind"]), field(&["metadata", "name"]));
                let mut namespace = field(&["metadata", "namespace"]);
                if namespace.is_empty() {
                    namespace = "default".into();
                }
                let short = format!("{}/{name}", kind.to_lowercase());
                let object = ObjectRef { kind, namespace, name };
                // What has no name is refused, or gets one that is not known yet.
                if !object.kind.is_empty() && !object.name.is_empty() && all.iter().all(|o| o.object != object) {
                    all.push(TripObject { object, short, ..TripObject::default() });
                }
            }
        }
        // The steps are those of the first that makes pods.
        let makes = |o: &&TripObject| MAKES_PODS.contains(&o.object.kind.as_str());
        let Some(chosen) = all.iter().find(makes).or(all.first()).cloned() else { return };
        let kinds: &[TripKind] = match chosen.object.kind.as_str() {
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
        let more = u32::try_from(all.len().saturating_sub(MOST)).unwrap_or(u32::MAX);
        all.truncate(MOST);
        let TripObject { object, short, .. } = chosen;
        self.sent = Some(Trip { id, object, short, began_at: now, steps, all, more, ..Trip::default() });
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
            // It begins once one of them is written: the others may be refused.
            let about = |c: &apiserver::causes::Cause, o: &ObjectRef| c.kind.kind == o.kind && *c.name == *o.name;
            let begun = sent.all.iter().map(|o| &o.object).any(|o| {
                get(world, &o.kind, &o.namespace, &o.name).is_some()
                    && !writes(world, self.from, |c| about(c, o)).is_empty()
            });
            if !begun {
                return false;
            }
            self.trip = self.sent.take();
            self.told.clear();
        }
        let Some(mut trip) = self.trip.clone() else { return false };
        self.refresh(world, &mut trip);
        if self.trip.as_ref() == Some(&trip) {
            return false;
        }
        self.trip = Some(trip);
        true
    }

    fn refresh(&mut self, world: &World, trip: &mut Trip) {
        let family = Family::read(world);
        for object in &mut trip.all {
            family.look(world, object);
        }
        let object = trip.object.clone();
        let now = world.sim().now().as_nanos();
        let stored = get(world, &object.kind, &object.namespace, &object.name);
        let uid = uid(stored.as_ref());
        let mut set_name = String::new();
        let sets: Vec<_> = family.sets.iter().filter(|set| family.is_child(&set.metadata, &uid)).collect();
        // The newest set that wants pods is the one that this template made.
        if let Some(set) = sets.iter().rfind(|set| set.spec.replicas.unwrap_or(0) > 0).or(sets.last()) {
            set_name = set.metadata.name.to_string();
        }
        trip.desired = stored.as_ref().map_or(0, |o| wanted(o).0);
        let pods = stored.as_ref().map(|o| family.pods_of(o)).unwrap_or_default();
        let count = |f: &dyn Fn(&Pod) -> bool| u32::try_from(pods.iter().filter(|p| f(p)).count()).unwrap_or(u32::MAX);
        let bound = |p: &Pod| !p.spec.node_name.is_empty();
        let ready = count(&is_ready);
        trip.ready = ready;
        let desired = trip.desired;
        let name_of = |f: &dyn Fn(&Pod) -> bool| {
            let last = pods.iter().rev().find(|p| f(p));
            last.map(|p| (p.metadata.name.to_string(), p.spec.node_name.to_string())).unwrap_or_default()
        };
        for step in &mut trip.steps {
            let before = (step.progress, step.done);
            let (done, total, (name, node)) = match step.kind {
                TripKind::Stored => (u32::from(stored.is_some()), 1, (object.name.clone(), String::new())),
                TripKind::ReplicaSet => (u32::from(!sets.is_empty()), 1, (set_name.clone(), String::new())),
                TripKind::Pods => (count(&|_| true).min(desired), desired, name_of(&|_| true)),
                TripKind::Bound => (count(&bound).min(desired), desired, name_of(&bound)),
                TripKind::Started => (count(&is_started).min(desired), desired, name_of(&is_started)),
                TripKind::Ready => (ready.min(desired), desired, name_of(&is_ready)),
            };
            // What nothing more was heard of keeps the name it had.
            if !name.is_empty() {
                step.name = name;
                step.node = node;
            }
            step.done = done;
            step.total = total;
            step.progress = match (done, total) {
                (d, t) if d >= t && stored.is_some() => Progress::Done,
                (0, _) => Progress::Todo,
                _ => Progress::Now,
            };
            // Its time is that of its first completion: what is lost and comes back later is no part of the way. Another
            // number of pods is another wish.
            let told = self.told.contains(&(step.kind, total));
            if step.progress == Progress::Done && !told {
                self.told.insert((step.kind, total));
            }
            if (step.progress, step.done) != before && step.progress != Progress::Todo && !told {
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

/// It is ready, or has done its work.
fn is_ready(pod: &Pod) -> bool {
    let ready = pod.status.conditions.iter().any(|c| &*c.type_ == "Ready" && &*c.status == "True");
    ready || &*pod.status.phase == "Succeeded"
}

/// All its containers run or have run: that they crashed is said elsewhere.
fn is_started(pod: &Pod) -> bool {
    let statuses = &pod.status.container_statuses;
    let ran = |c: &ContainerStatus| {
        let ended = c.state.terminated.get().or(c.last_state.terminated.get());
        !c.state.running.is_none() || ended.is_some_and(|e| e.started_at.unix().is_some_and(|at| at > 0))
    };
    (!statuses.is_empty() && statuses.iter().all(ran)) || &*pod.status.phase == "Succeeded"
}

fn uid(object: Option<&AnyRev>) -> String {
    object.and_then(|o| o.metadata().map(|m| m.uid.to_string())).unwrap_or_default()
}

/// How many pods an object wants, and how many of them its controller counts as good.
fn wanted(object: &AnyRev) -> (u32, Option<u32>) {
    let count = |n: i32| u32::try_from(n).unwrap_or(0);
    if let Some(o) = object.downcast::<Deployment>() {
        (count(o.spec.replicas.unwrap_or(1)), None)
    } else if let Some(o) = object.downcast::<ReplicaSet>() {
        (count(o.spec.replicas.unwrap_or(1)), None)
    } else if let Some(o) = object.downcast::<StatefulSet>() {
        (count(o.spec.replicas.unwrap_or(1)), None)
    } else if let Some(o) = object.downcast::<DaemonSet>() {
        (count(o.status.desired_number_scheduled), None)
    } else if let Some(o) = object.downcast::<Job>() {
        (count(o.spec.completions.or(o.spec.parallelism).unwrap_or(1)), Some(count(o.status.succeeded)))
    } else if object.downcast::<Pod>().is_some() {
        (1, None)
    } else {
        (0, None)
    }
}

/// What makes pods and the pods there are, to find whose they are.
pub struct Family {
    sets: Vec<Rev<ReplicaSet>>,
    jobs: Vec<Rev<Job>>,
    pods: Vec<Rev<Pod>>,
}

impl Family {
    /// As stored now; pods that are being deleted are left out.
    pub fn read(world: &World) -> Family {
        let mut pods = list::<Pod>(world, "", "pods");
        pods.retain(|p| p.metadata.deletion_timestamp.unix().is_none());
        Family { sets: list(world, "apps", "replicasets"), jobs: list(world, "batch", "jobs"), pods }
    }

    fn is_child(&self, meta: &api::meta_v1::ObjectMeta, uid: &str) -> bool {
        meta.owner_references.iter().any(|o| *o.uid == *uid && o.controller == Some(true))
    }

    /// The pods of an object: itself, or those that it or what it made controls.
    pub fn pods_of(&self, object: &AnyRev) -> Vec<&Rev<Pod>> {
        let uid = uid(Some(object));
        let sets = self.sets.iter().map(|s| &s.metadata);
        let owned = sets.chain(self.jobs.iter().map(|j| &j.metadata)).filter(|m| self.is_child(m, &uid));
        let mut owners: Vec<&str> = owned.map(|m| &*m.uid).collect();
        owners.push(&uid);
        let own = |pod: &&Rev<Pod>| {
            *pod.metadata.uid == *uid || owners.iter().any(|owner| self.is_child(&pod.metadata, owner))
        };
        self.pods.iter().filter(own).collect()
    }

    /// How an object stands.
    fn look(&self, world: &World, view: &mut TripObject) {
        let about = &view.object;
        let stored = get(world, &about.kind, &about.namespace, &about.name);
        view.troubles.clear();
        let Some(object) = stored else {
            view.state = if view.state == TripState::Missing { TripState::Missing } else { TripState::Gone };
            (view.desired, view.ready) = (0, 0);
            return;
        };
        let deleting = object.metadata().is_some_and(|m| m.deletion_timestamp.unix().is_some());
        view.state = if deleting { TripState::Deleting } else { TripState::Stored };
        let (desired, good) = wanted(&object);
        view.desired = desired;
        if desired == 0 {
            view.ready = 0;
            return;
        }
        let own = self.pods_of(&object);
        let ready = || u32::try_from(own.iter().filter(|p| is_ready(p)).count()).unwrap_or(u32::MAX);
        view.ready = good.unwrap_or_else(ready);
        for pod in own {
            let pod = pods::view(pod, 0);
            if matches!(pod.state, PodState::Failed | PodState::CrashLoop | PodState::Unknown) {
                match view.troubles.iter_mut().find(|(word, _)| *word == pod.status) {
                    Some((_, count)) => *count += 1,
                    None => view.troubles.push((pod.status, 1)),
                }
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
