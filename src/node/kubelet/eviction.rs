//! The eviction manager (pkg/kubelet/eviction): a node short of memory or disk says so, takes fewer pods, and ends
//! some that it has.
//!
//! What a container uses is not simulated: each counts for the same small working set.

use super::kubelet::Kubelet;
use super::qos;
use super::ticks;
use super::worker::Eviction;
use crate::runtime::cri::State;
use api::SortSmall;
use api::core_v1::{Pod, PodCondition, PodStatus, Taint};
use api::{Quantity, Rev, Time};
use client::klog;
use sim::{Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;

/// How often it looks (`evictionMonitoringPeriod`).
const PERIOD: Duration = Duration::from_secs(10);
/// How long a condition stays after it was last observed (`--eviction-pressure-transition-period`).
const TRANSITION: Duration = Duration::from_secs(300);
/// How long it waits for an evicted pod to be gone.
const CLEANUP: Duration = Duration::from_secs(30);
/// `memory.available<100Mi` of the default hard thresholds.
const MEMORY: i64 = 100 << 20;
/// `imagefs.available<15%`; nodefs is the same disk, and its 10% come later.
const DISK: f64 = 0.15;
/// Working set of a container.
const WORKING_SET: i64 = 8 << 20;
/// Grace of a pod that a hard threshold evicts, in seconds.
const GRACE: i64 = 1;
/// Pods of this priority and above are never evicted (`system-cluster-critical`).
const CRITICAL: i32 = 2_000_000_000;

/// When each pressure was last observed.
#[derive(Default)]
pub struct Pressures {
    memory: Cell<Option<Instant>>,
    disk: Cell<Option<Instant>>,
}

impl Pressures {
    fn under(seen: &Cell<Option<Instant>>, now: Instant) -> bool {
        seen.get().is_some_and(|at| now.since(at) < TRANSITION)
    }
    /// Whether the node is, or lately was, short of memory.
    pub fn memory(&self, now: Instant) -> bool {
        Self::under(&self.memory, now)
    }
    /// Whether the node is, or lately was, short of disk.
    pub fn disk(&self, now: Instant) -> bool {
        Self::under(&self.disk, now)
    }

    /// Why a pod is not taken while the node is under pressure.
    pub fn refuse(&self, pod: &Pod, now: Instant) -> Option<String> {
        let (memory, disk) = (self.memory(now), self.disk(now));
        if !(memory || disk) || is_critical(pod) {
            return None;
        }
        let tolerated = || {
            let taint = Taint {
                key: "node.kubernetes.io/memory-pressure".into(),
                effect: "NoSchedule".into(),
                ..Taint::default()
            };
            pod.spec.tolerations.iter().any(|t| {
                (t.effect.is_empty() || t.effect == taint.effect)
                    && (t.key.is_empty() || t.key == taint.key)
                    && (t.operator == *"Exists" || t.value == taint.value && !t.key.is_empty())
            })
        };
        if memory && !disk && (qos::class(&pod.spec) != "BestEffort" || tolerated()) {
            return None;
        }
        let names: Vec<&str> = [(memory, "MemoryPressure"), (disk, "DiskPressure")]
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, n)| *n)
            .collect();
        Some(format!("The node had condition: [{}]. ", names.join(" ")))
    }
}

fn is_critical(pod: &Pod) -> bool {
    pod.spec.priority.is_some_and(|p| p >= CRITICAL)
}

/// A shortage: what of, the threshold and what is left, as eviction messages show them.
struct Shortage {
    resource: &'static str,
    threshold: String,
    available: String,
}

/// Looks every ten seconds; after an eviction as soon as the pod is gone.
pub async fn run(kubelet: Rc<Kubelet>) {
    klog::info("Eviction manager: starting control loop").log(&kubelet.ctx, "eviction_manager.go:193");
    loop {
        let Some(evicted) = synchronize(&kubelet) else {
            kubelet.ctx.sleep_until(ticks::next(kubelet.started, PERIOD, kubelet.ctx.now())).await;
            continue;
        };
        let meta = &evicted.metadata;
        klog::info("Eviction manager: pods evicted, waiting for pod to be cleaned up")
            .objs("pods", std::iter::once((&*meta.namespace, &*meta.name)))
            .log(&kubelet.ctx, "eviction_manager.go:216");
        let until = kubelet.ctx.now() + CLEANUP;
        while kubelet.ctx.now() < until && kubelet.worker(&meta.uid).is_some_and(|w| !w.is_stopped()) {
            kubelet.ctx.sleep(Duration::from_secs(1)).await;
        }
    }
}

fn bytes(n: i64) -> String {
    // As a BinarySI quantity, which has no fractions of a Ki here.
    Quantity::parse(&format!("{}Ki", n.max(0) >> 10)).map(|q| q.canonical()).unwrap_or_default()
}

/// What the pods that run use.
fn in_use(kubelet: &Kubelet) -> i64 {
    let running = kubelet.pleg.all().into_iter().map(|(_, record)| {
        i64::try_from(record.containers.iter().filter(|c| c.state == State::Running).count()).unwrap_or(0)
    });
    running.sum::<i64>().saturating_mul(WORKING_SET)
}

/// What is short now.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "bytes of a machine fit")]
fn shortage(kubelet: &Kubelet) -> Option<Shortage> {
    let now = kubelet.ctx.now();
    let mut found = None;
    let (used, capacity) = kubelet.ctx.disk().usage();
    let left = capacity.saturating_sub(used);
    if (left as f64) < capacity as f64 * DISK {
        kubelet.pressures.disk.set(Some(now));
        let threshold = (capacity as f64 * DISK) as i64;
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        let (threshold, available) = (threshold.to_string(), bytes(left));
        found = Some(Shortage { resource: "ephemeral-storage", threshold, available });
    }
    let taken = kubelet.config.memory_taken.get();
    if taken > 0.0 {
        let whole = Quantity::parse(&kubelet.config.memory).map_or(0, |q| q.value());
        let left = (whole as f64 * (1.0 - taken)) as i64 - in_use(kubelet);
        if left < MEMORY {
            kubelet.pressures.memory.set(Some(now));
            // Memory is reclaimed before all else.
            found = Some(Shortage { resource: "memory", threshold: "100Mi".into(), available: bytes(left) });
        }
    }
    found
}

/// One look: the pod that was evicted, if one had to be.
fn synchronize(kubelet: &Rc<Kubelet>) -> Option<Rev<Pod>> {
    let short = shortage(kubelet)?;
    let ctx = &kubelet.ctx;
    klog::info("Eviction manager: attempting to reclaim")
        .str("resourceName", short.resource)
        .log(ctx, "eviction_manager.go:389");
    kubelet.node_event("Warning", "EvictionThresholdMet", &format!("Attempting to reclaim {}", short.resource));
    klog::info("Eviction manager: must evict pod(s) to reclaim")
        .str("resourceName", short.resource)
        .log(ctx, "eviction_manager.go:400");
    let mut pods: Vec<Rev<Pod>> = kubelet.active_pods();
    pods.retain(|p| kubelet.worker(&p.metadata.uid).is_some_and(|w| !w.is_ending()));
    if pods.is_empty() {
        klog::error("Eviction manager: eviction thresholds have been met, but no pods are active to evict")
            .log(ctx, "eviction_manager.go:411");
        return None;
    }
    // Those that use more than they asked for first, then by priority, then by how much more.
    let over = |pod: &Pod| {
        let containers = i64::try_from(pod.spec.containers.len()).unwrap_or(0);
        let asked = qos::pod_requests(&pod.spec).get(short.resource).map_or(0, Quantity::value);
        containers.saturating_mul(WORKING_SET) - asked
    };
    pods.sort_small_by_key(|p| (over(p) <= 0, p.spec.priority.unwrap_or(0), -over(p)));
    klog::info("Eviction manager: pods ranked for eviction")
        .objs("pods", pods.iter().map(|p| (&*p.metadata.namespace, &*p.metadata.name)))
        .log(ctx, "eviction_manager.go:418");
    let chosen = pods.into_iter().find(|p| {
        let critical = is_critical(p);
        if critical {
            klog::error("Eviction manager: cannot evict a critical pod")
                .obj("pod", &p.metadata.namespace, &p.metadata.name)
                .log(ctx, "eviction_manager.go:638");
        }
        !critical
    });
    let Some(pod) = chosen else {
        klog::info("Eviction manager: unable to evict any pods from the node").log(ctx, "eviction_manager.go:452");
        return None;
    };
    let message = message(&pod, &short);
    kubelet.event(&pod, None, "Warning", "Evicted", &message);
    let worker = kubelet.worker(&pod.metadata.uid)?;
    worker.evict(Eviction { reason: "Evicted".into(), message }, Some(GRACE));
    klog::info("Eviction manager: pod is evicted successfully")
        .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
        .log(ctx, "eviction_manager.go:658");
    Some(pod)
}

/// Why a pod was evicted: what was short, and which of its containers used more than they asked for.
fn message(pod: &Pod, short: &Shortage) -> String {
    let mut text = format!(
        "The node was low on resource: {}. Threshold quantity: {}, available: {}. ",
        short.resource, short.threshold, short.available
    );
    if short.resource == "memory" {
        for container in pod.spec.containers.iter() {
            let asked = container.resources.requests.get("memory");
            if asked.map_or(0, Quantity::value) < WORKING_SET {
                let asked = asked.map_or_else(|| "0".to_string(), Quantity::canonical);
                text += &format!(
                    "Container {} was using {}, request is {asked}, has larger consumption of memory. ",
                    container.name,
                    bytes(WORKING_SET)
                );
            }
        }
    }
    text
}

/// Says in a status that the kubelet ended the pod.
pub fn mark(status: &mut PodStatus, pod: &Pod, eviction: &Eviction, now: Time) {
    if eviction.reason != "Evicted" || status.conditions.iter().any(|c| c.type_ == "DisruptionTarget") {
        return;
    }
    status.conditions.push(PodCondition {
        type_: "DisruptionTarget".into(),
        observed_generation: pod.metadata.generation,
        status: "True".into(),
        reason: "TerminationByKubelet".into(),
        message: eviction.message.as_str().into(),
        last_transition_time: now,
        ..PodCondition::default()
    });
}
