//! Eviction by pressure: what runs short, the node's conditions, and which pod goes (pkg/kubelet/eviction).

use super::kubelet::Kubelet;
use super::worker::Eviction;
use super::{qos, ticks};
use crate::runtime::cri::{Call, Reply, Usage};
use api::SortSmall;
use api::core_v1::{Container, Pod};
use api::{Quantity, Rev, Str};
use client::klog;
use sim::{Duration, Instant};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often the manager looks.
const PERIOD: Duration = Duration::from_secs(10);
/// How long it waits for an evicted pod to be gone.
const CLEANUP: Duration = Duration::from_secs(30);
/// How long a condition stays after it was last observed.
const TRANSITION: Duration = Duration::from_secs(300);
/// Memory that must be left, in bytes.
const MEMORY: i64 = 100 << 20;
/// Shares of the disk that must be left: for containers, for images.
const NODEFS: i64 = 10;
const IMAGEFS: i64 = 15;
/// Pods of this priority and above are never evicted.
const CRITICAL: i32 = 2_000_000_000;

/// What runs short.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Signal {
    /// memory.available
    Memory,
    /// nodefs.available and imagefs.available
    Disk,
}

impl Signal {
    fn resource(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "ephemeral-storage",
        }
    }
    fn condition(self) -> &'static str {
        match self {
            Self::Memory => "MemoryPressure",
            Self::Disk => "DiskPressure",
        }
    }
}

/// When each shortage was last seen.
#[derive(Default)]
pub struct Pressure(RefCell<BTreeMap<Signal, Instant>>);

impl Pressure {
    /// Whether the node's condition holds: for some minutes longer than the shortage.
    pub fn holds(&self, signal: Signal, now: Instant) -> bool {
        self.0.borrow().get(&signal).is_some_and(|last| now.since(*last) < TRANSITION)
    }
    /// Why a pod is not taken while something runs short.
    pub fn refuses(&self, pod: &Pod, now: Instant) -> Option<String> {
        let (memory, disk) = (self.holds(Signal::Memory, now), self.holds(Signal::Disk, now));
        if (!memory && !disk) || is_critical(pod) {
            return None;
        }
        let tolerates = || {
            pod.spec.tolerations.iter().any(|t| {
                let key = t.key.is_empty() || t.key == "node.kubernetes.io/memory-pressure";
                key && (t.effect.is_empty() || t.effect == "NoSchedule")
                    && (t.operator == "Exists" || t.value.is_empty())
            })
        };
        if !disk && (qos::class(pod) != qos::BEST_EFFORT || tolerates()) {
            return None;
        }
        let names: Vec<&str> = [(memory, Signal::Memory), (disk, Signal::Disk)]
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, s)| s.condition())
            .collect();
        Some(format!("The node had condition: [{}]. ", names.join(" ")))
    }
}

/// Whether the cluster needs the pod more than anything else.
pub fn is_critical(pod: &Pod) -> bool {
    pod.spec.priority.is_some_and(|p| p >= CRITICAL)
}

/// Watches over the node, for as long as the process lives.
pub async fn run(kubelet: Rc<Kubelet>) {
    klog::info("Eviction manager: starting control loop").log(&kubelet.ctx, "eviction_manager.go:193");
    loop {
        let Some(evicted) = synchronize(&kubelet).await else {
            kubelet.ctx.sleep_until(ticks::next(kubelet.started, PERIOD, kubelet.ctx.now())).await;
            continue;
        };
        // After an eviction it looks again as soon as the pod is gone.
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

/// A threshold that is met: what must be left, and what is.
struct Met {
    signal: Signal,
    threshold: i64,
    available: i64,
}

fn observe(kubelet: &Kubelet) -> Vec<Met> {
    let hardware = &kubelet.hardware;
    let mut met = Vec::new();
    let available = hardware.memory_available();
    if available < MEMORY {
        met.push(Met { signal: Signal::Memory, threshold: MEMORY, available });
    }
    let (size, available) = (hardware.disk_size(), hardware.disk_available(&kubelet.ctx));
    let share = [IMAGEFS, NODEFS].into_iter().map(|percent| size / 100 * percent).find(|least| available < *least);
    if let Some(threshold) = share {
        met.push(Met { signal: Signal::Disk, threshold, available });
    }
    met
}

/// One look: the pod that was evicted, if one had to be.
async fn synchronize(kubelet: &Rc<Kubelet>) -> Option<Rev<Pod>> {
    let met = observe(kubelet);
    let now = kubelet.ctx.now();
    for one in &met {
        kubelet.pressure.0.borrow_mut().insert(one.signal, now);
    }
    let first = met.first()?;
    let resource = first.signal.resource();
    let log = |text: &str, place| klog::info(text).str("resourceName", resource).log(&kubelet.ctx, place);
    log("Eviction manager: attempting to reclaim", "eviction_manager.go:383");
    kubelet.node_event("Warning", "EvictionThresholdMet", &format!("Attempting to reclaim {resource}"));
    if first.signal == Signal::Disk {
        super::image_gc::delete_unused(kubelet, i64::MAX, Duration::ZERO).await;
        if observe(kubelet).iter().all(|m| m.signal != Signal::Disk) {
            log("Eviction manager: able to reduce resource pressure without evicting pods.", "eviction_manager.go:387");
            return None;
        }
    }
    log("Eviction manager: must evict pod(s) to reclaim", "eviction_manager.go:391");
    let Ok(Reply::Stats(usage)) = kubelet.runtime.call(Call::Stats).await else { return None };
    let mut pods: Vec<Rev<Pod>> = kubelet.active_pods();
    pods.retain(|p| kubelet.worker(&p.metadata.uid).is_some_and(|w| !w.is_ending()));
    rank(&mut pods, &usage, first.signal);
    let names: Vec<(&str, &str)> = pods.iter().map(|p| (&*p.metadata.namespace, &*p.metadata.name)).collect();
    klog::info("Eviction manager: pods ranked for eviction")
        .objs("pods", names.into_iter())
        .log(&kubelet.ctx, "eviction_manager.go:409");
    for pod in &pods {
        if is_critical(pod) {
            klog::error("Eviction manager: cannot evict a critical pod")
                .err("null")
                .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                .log(&kubelet.ctx, "eviction_manager.go:614");
            continue;
        }
        let text = message(pod, &usage, first);
        kubelet.event(pod, None, "Warning", "Evicted", &text);
        if let Some(worker) = kubelet.worker(&pod.metadata.uid) {
            let eviction = Eviction { reason: "Evicted".into(), disruption: Some(text.clone()), message: text };
            worker.evict(eviction, Some(1));
        }
        klog::info("Eviction manager: pod is evicted successfully")
            .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
            .log(&kubelet.ctx, "eviction_manager.go:658");
        return Some(pod.clone());
    }
    klog::info("Eviction manager: unable to evict any pods from the node").log(&kubelet.ctx, "eviction_manager.go:441");
    None
}

/// What a container uses of what runs short, and what it asked for.
fn of(container: &Container, pod: &Pod, usage: &[Usage], signal: Signal) -> (i64, i64) {
    let used = usage.iter().find(|u| u.pod_uid == pod.metadata.uid && u.name == container.name);
    let used = used.map_or(0, |u| if signal == Signal::Memory { u.memory } else { u.disk });
    (used, container.resources.requests.get(signal.resource()).map_or(0, Quantity::value))
}

fn of_pod(pod: &Pod, usage: &[Usage], signal: Signal) -> (i64, i64) {
    pod.spec.containers.iter().chain(pod.spec.init_containers.iter()).fold((0, 0), |(used, asked), c| {
        let (u, a) = of(c, pod, usage, signal);
        (used + u, asked + a)
    })
}

/// The first goes first: who uses more than it asked for, then the lower priority, then the more it uses beyond it.
pub fn rank(pods: &mut [Rev<Pod>], usage: &[Usage], signal: Signal) {
    pods.sort_small_by_key(|pod| {
        let (used, asked) = of_pod(pod, usage, signal);
        (used <= asked, pod.spec.priority.unwrap_or(0), Reverse(used.saturating_sub(asked)))
    });
}

/// Bytes as a quantity in powers of 1,024, as Go prints it.
pub fn binary(bytes: i64) -> String {
    let mut value = bytes;
    let mut units = ["", "Ki", "Mi", "Gi", "Ti"].iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while value != 0 && value % 1_024 == 0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1_024, next);
    }
    format!("{value}{unit}")
}

fn message(pod: &Pod, usage: &[Usage], met: &Met) -> String {
    let resource = met.signal.resource();
    let mut text = format!(
        "The node was low on resource: {resource}. Threshold quantity: {}, available: {}. ",
        binary(met.threshold),
        ki(met.available)
    );
    for container in pod.spec.containers.iter().chain(pod.spec.init_containers.iter()) {
        let (used, asked) = of(container, pod, usage, met.signal);
        if used > asked {
            let request = container.resources.requests.get(resource).map_or("0".to_string(), Quantity::canonical);
            text.push_str(&format!(
                "Container {} was using {}, request is {request}, has larger consumption of {resource}. ",
                container.name,
                ki(used)
            ));
        }
    }
    text
}

/// The kernel counts in pages of 4 KiB, so amounts show in Ki at most.
fn ki(bytes: i64) -> String {
    binary(bytes & !4_095)
}

/// The condition that tells others why the pod ended.
pub fn condition(pod: &Pod, message: &str) -> api::core_v1::PodCondition {
    api::core_v1::PodCondition {
        type_: "DisruptionTarget".into(),
        status: "True".into(),
        reason: "TerminationByKubelet".into(),
        message: Str::from(message),
        observed_generation: pod.metadata.generation,
        ..api::core_v1::PodCondition::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Map;

    fn pod(name: &str, priority: i32, request: &str) -> Rev<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = name.into();
        pod.metadata.uid = name.into();
        let spec = pod.spec.make();
        spec.priority = Some(priority);
        let mut container = Container { name: "c".into(), ..Container::default() };
        if !request.is_empty() {
            container.resources.requests = Map::from([("memory", Quantity::parse(request).unwrap())]);
        }
        spec.containers = [container].into();
        Rev::new(1, pod)
    }
    fn usage(name: &str, memory: i64) -> Usage {
        Usage { pod_uid: name.into(), name: "c".into(), memory: memory << 20, disk: 0 }
    }

    #[test]
    fn who_exceeds_its_request_goes_first() {
        let mut pods =
            [pod("modest", 0, "300Mi"), pod("important", 10, ""), pod("greedy", 0, "100Mi"), pod("small", 0, "")];
        let all = [usage("modest", 200), usage("important", 900), usage("greedy", 400), usage("small", 50)];
        rank(&mut pods, &all, Signal::Memory);
        let names: Vec<&str> = pods.iter().map(|p| &*p.metadata.name).collect();
        assert_eq!(names, ["greedy", "small", "important", "modest"]);
    }

    #[test]
    fn the_message_names_thresholds_and_containers() {
        let met = Met { signal: Signal::Memory, threshold: MEMORY, available: 50 << 20 };
        assert_eq!(
            message(&pod("greedy", 0, "100Mi"), &[usage("greedy", 400)], &met),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. \
             Container c was using 400Mi, request is 100Mi, has larger consumption of memory. "
        );
        assert_eq!((binary(1_572_864), binary(1_000)), ("1536Ki".to_string(), "1000".to_string()));
    }
}
