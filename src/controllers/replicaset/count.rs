//! Pods by what a set looks at in them, so that a run which only counts looks at no pod: a set of a thousand pods runs
//! at every step of each of them.

use std::cmp::Ordering;

use api::core_v1::Pod;
use api::selector::LabelSelector as Selector;
use api::{Map, Str};
use client::{Informer, Tally};

use crate::controller_utils::{self as utils, controller_of};

/// The labels of a pod, in an order.
#[derive(Clone)]
struct Labels(Map<Str>);

impl Ord for Labels {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0.same(&other.0) { Ordering::Equal } else { self.0.entries().cmp(other.0.entries()) }
    }
}
impl PartialOrd for Labels {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Labels {}

/// What a set looks at in a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    /// Whether a controller owns it.
    controlled: bool,
    /// Whether it counts as a replica: neither finished nor going.
    active: bool,
    /// Whether it is going and has not finished.
    terminating: bool,
    /// Whether it is ready.
    ready: bool,
    /// Since when it is ready, in seconds since 1970, if that is known.
    ready_since: Option<i64>,
    labels: Labels,
}

impl Class {
    pub(super) fn of(pod: &Pod) -> Class {
        let ready = pod.status.conditions.iter().find(|c| c.type_ == "Ready" && c.status == "True");
        Class {
            controlled: controller_of(&pod.metadata).is_some(),
            active: utils::is_pod_active(pod),
            terminating: is_terminating(pod),
            ready: ready.is_some(),
            ready_since: ready.and_then(|c| c.last_transition_time.unix()),
            labels: Labels(pod.metadata.labels.clone()),
        }
    }
}

/// Whether a pod is going and has not finished.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    !matches!(&*pod.status.phase, "Succeeded" | "Failed") && pod.metadata.deletion_timestamp.unix().is_some()
}

/// The pods that are a set's, counted.
#[derive(Default)]
pub(super) struct Counts {
    /// Those that count as replicas.
    active: Vec<(Class, usize)>,
    /// How many are going.
    pub terminating: usize,
}

impl Counts {
    /// Of these replicas and so many that are going.
    pub(super) fn new<'a>(active: impl Iterator<Item = &'a Pod>, terminating: usize) -> Counts {
        Counts { active: active.map(|pod| (Class::of(pod), 1)).collect(), terminating }
    }

    fn count(&self, which: impl Fn(&Class) -> bool) -> usize {
        self.active.iter().filter(|(class, _)| which(class)).map(|(_, n)| n).sum()
    }

    /// How many replicas there are.
    pub(super) fn active(&self) -> usize {
        self.count(|_| true)
    }

    /// How many of them have all these labels.
    pub(super) fn labelled(&self, labels: &Map<Str>) -> usize {
        self.count(|c| labels.iter().all(|(k, v)| c.labels.0.get(k) == Some(v)))
    }

    /// How many of them are ready.
    pub(super) fn ready(&self) -> usize {
        self.count(|c| c.ready)
    }

    /// How many of them have been ready for `min_ready_seconds`. `now` is in nanoseconds since 1970.
    pub(super) fn available(&self, min_ready_seconds: i32, now: i64) -> usize {
        let due = |since: i64| since.saturating_add(i64::from(min_ready_seconds)).saturating_mul(1_000_000_000);
        self.count(|c| c.ready && (min_ready_seconds == 0 || c.ready_since.is_some_and(|since| due(since) <= now)))
    }

    /// Since when replicas are ready, in seconds since 1970; those of which it is not known left out.
    pub(super) fn ready_since(&self) -> impl Iterator<Item = i64> {
        self.active.iter().filter_map(|(class, _)| class.ready_since)
    }
}

/// The pods of the cluster by their controller, orphans by their namespace.
pub(super) fn follow(pods: &Informer<Pod>) -> Tally<Class> {
    pods.tally(|pod: &Pod| {
        let owner = controller_of(&pod.metadata).map(|r| &r.uid);
        Some((owner.unwrap_or(&pod.metadata.namespace).clone(), Class::of(pod)))
    })
}

/// The pods of the set of this uid, if none is to be adopted or released: then it is enough to count.
pub(super) fn settled(pods: &Tally<Class>, namespace: &str, uid: &str, selector: &Selector) -> Option<Counts> {
    let adopts = |c: &Class| !c.controlled && c.active && selector.matches(&c.labels.0);
    if pods.of(namespace).iter().any(|(class, _)| adopts(class)) {
        return None;
    }
    let mut counts = Counts::default();
    for (class, n) in pods.of(uid) {
        let selected = selector.matches(&class.labels.0);
        if !class.controlled || (class.active && !selected) {
            return None;
        }
        if class.terminating && selected {
            counts.terminating += n;
        }
        if class.active {
            counts.active.push((class, n));
        }
    }
    Some(counts)
}
