//! In-place resize: what pods ask for, what they are given, and what their containers have (pkg/kubelet/allocation,
//! pkg/kubelet/kuberuntime, computePodResizeAction).

use super::kubelet::Kubelet;
use super::record::PodRecordExt;
use super::{admission, qos};
use crate::runtime::cri::{Call, PodRecord, State};
use api::core_v1::{Container, Pod, PodCondition, ResourceRequirements};
use api::{Quantity, Rev, SortSmall, Str, Time};
use sim::Duration;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often pending resizes are tried again although nothing happened.
const RETRY: Duration = Duration::from_secs(180);

/// Containers' resources by name.
type ByContainer = BTreeMap<Str, ResourceRequirements>;

#[derive(Default)]
struct Known {
    /// What the node has promised.
    allocated: ByContainer,
    /// What running containers have.
    actuated: ByContainer,
    /// The pod as the API server has it, while it asks for what it has not been given.
    pending: Option<Rev<Pod>>,
    pending_condition: Option<PodCondition>,
    in_progress: Option<PodCondition>,
}

/// The resizes of a node's pods. Bounded by the number of pods.
#[derive(Default)]
pub struct Resizes(RefCell<BTreeMap<Str, Known>>);

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.init_containers.iter().chain(pod.spec.containers.iter())
}

fn resources(pod: &Pod) -> ByContainer {
    containers(pod).map(|c| (c.name.clone(), c.resources.clone())).collect()
}

/// `pod` with `given` instead of what it asks for.
fn with(pod: &Rev<Pod>, given: &ByContainer) -> Rev<Pod> {
    if resources(pod) == *given {
        return pod.clone();
    }
    let mut body = (*pod.body).clone();
    let spec = body.spec.make();
    for list in [&mut spec.init_containers, &mut spec.containers] {
        for container in list.make() {
            if let Some(resources) = given.get(&container.name) {
                container.resources = resources.clone();
            }
        }
    }
    Rev::new(pod.revision, body)
}

/// Request and limit of a resource in its own unit: milli-CPUs, bytes.
fn amounts(resources: &ResourceRequirements, name: &str) -> (i64, i64) {
    let of = |list: &api::Map<Quantity>| {
        list.get(name).map_or(0, |q| if name == "cpu" { q.milli_value() } else { q.value() })
    };
    (of(&resources.requests), of(&resources.limits))
}

fn differs(a: &ResourceRequirements, b: &ResourceRequirements) -> bool {
    ["cpu", "memory"].into_iter().any(|name| amounts(a, name) != amounts(b, name))
}

/// The event's text: what all containers are to have.
fn message(prefix: &str, pod: &Pod, generation: i64, error: &str) -> String {
    let list = |name: &str, containers: &[Container]| {
        let each = |c: &Container| {
            let resources = String::from_utf8_lossy(&api::json::encode(&c.resources)).into_owned();
            format!("{{\"name\":{},\"resources\":{}}}", api::go::quote(&c.name), resources.trim_end())
        };
        let all: Vec<String> = containers.iter().map(each).collect();
        if all.is_empty() { String::new() } else { format!("\"{name}\":[{}],", all.join(",")) }
    };
    let error = if error.is_empty() { String::new() } else { format!(",\"error\":{}", api::go::quote(error)) };
    format!(
        "{prefix}: {{{}{}\"generation\":{generation}{error}}}",
        list("initContainers", &pod.spec.init_containers),
        list("containers", &pod.spec.containers),
    )
}

fn condition(
    type_: &str,
    old: Option<&PodCondition>,
    reason: &str,
    message: &str,
    generation: i64,
    now: Time,
) -> PodCondition {
    let since = old.filter(|c| c.reason == *reason).map_or(now, |c| c.last_transition_time);
    PodCondition {
        type_: type_.into(),
        status: "True".into(),
        reason: reason.into(),
        message: message.into(),
        observed_generation: generation,
        last_probe_time: now,
        last_transition_time: since,
    }
}

impl Resizes {
    /// A new pod: it is given what it asks for; one that runs already keeps what its status shows.
    pub fn add(&self, pod: &Rev<Pod>) -> Rev<Pod> {
        let mut allocated = resources(pod);
        for status in pod.status.init_container_statuses.iter().chain(pod.status.container_statuses.iter()) {
            if let (Some(own), Some(given)) = (status.resources.get(), allocated.get_mut(&status.name)) {
                *given = own.clone();
            }
        }
        let view = with(pod, &allocated);
        let known = Known { actuated: allocated.clone(), allocated, ..Known::default() };
        self.0.borrow_mut().insert(pod.metadata.uid.clone(), known);
        view
    }
    /// The pod is gone.
    pub fn forget(&self, uid: &str) {
        self.0.borrow_mut().remove(uid);
    }
    /// A changed pod with what it has been given, and whether it asks for something else.
    pub fn update(&self, pod: &Rev<Pod>) -> (Rev<Pod>, bool) {
        let mut all = self.0.borrow_mut();
        let Some(known) = all.get_mut(&pod.metadata.uid) else { return (pod.clone(), false) };
        let asks =
            containers(pod).any(|c| known.allocated.get(&c.name).is_some_and(|given| differs(given, &c.resources)));
        known.pending = asks.then(|| pod.clone());
        if !asks {
            known.pending_condition = None;
        }
        (with(pod, &known.allocated), asks)
    }
    /// Whether a pod asks for what it has not been given.
    pub fn is_pending(&self, uid: &str) -> bool {
        self.0.borrow().get(uid).is_some_and(|known| known.pending.is_some())
    }
    /// What a running container has.
    pub fn actuated(&self, uid: &str, container: &str) -> Option<ResourceRequirements> {
        self.0.borrow().get(uid)?.actuated.get(container).cloned()
    }
    /// A container was started or updated with these.
    pub fn actuate(&self, uid: &str, container: &Container) {
        if let Some(known) = self.0.borrow_mut().get_mut(uid) {
            known.actuated.insert(container.name.clone(), container.resources.clone());
        }
    }
    /// The conditions of a pod that tell of its resize.
    pub fn conditions(&self, uid: &str) -> Vec<PodCondition> {
        let all = self.0.borrow();
        let Some(known) = all.get(uid) else { return Vec::new() };
        known.pending_condition.iter().chain(&known.in_progress).cloned().collect()
    }
    fn pending(&self) -> Vec<Rev<Pod>> {
        self.0.borrow().values().filter_map(|k| k.pending.clone()).collect()
    }
}

/// Tries to give a pod what it asks for; the pod with what it has now, if that changed.
pub fn allocate(kubelet: &Rc<Kubelet>, pod: &Rev<Pod>) -> Option<Rev<Pod>> {
    let uid = &pod.metadata.uid;
    let (_, asks) = kubelet.resizes.update(pod);
    if !asks {
        return None;
    }
    let others: Vec<Rev<Pod>> = kubelet.active_pods().into_iter().filter(|p| p.metadata.uid != *uid).collect();
    let refused = kubelet.node.lister().list().first().and_then(|node| admission::fits(pod, &others, node).err());
    let now = Time::from_unix(kubelet.ctx.unix_nanos().div_euclid(1_000_000_000));
    let generation = pod.metadata.generation;
    let mut all = kubelet.resizes.0.borrow_mut();
    let known = all.get_mut(uid)?;
    let Some(refused) = refused else {
        known.allocated = resources(pod);
        known.pending = None;
        known.pending_condition = None;
        known.in_progress = Some(condition("PodResizeInProgress", None, "", "", generation, now));
        drop(all);
        kubelet.event(pod, None, "Normal", "ResizeStarted", &message("Pod resize started", pod, generation, ""));
        return Some(pod.clone());
    };
    let old = known.pending_condition.take();
    let told = old.as_ref().is_some_and(|c| c.reason == "Deferred" && c.observed_generation == generation);
    known.pending_condition =
        Some(condition("PodResizePending", old.as_ref(), "Deferred", &refused.message, generation, now));
    drop(all);
    if !told {
        let text = message("Pod resize Deferred", pod, generation, &refused.message);
        kubelet.event(pod, None, "Warning", "ResizeDeferred", &text);
    }
    None
}

/// Tries all that is pending again, by priority and then by class.
pub fn retry(kubelet: &Rc<Kubelet>) {
    let mut pending = kubelet.resizes.pending();
    let rank = |pod: &Pod| match qos::class(pod) {
        qos::GUARANTEED => 0,
        qos::BURSTABLE => 1,
        _ => 2,
    };
    pending.sort_small_by_key(|pod| (std::cmp::Reverse(pod.spec.priority.unwrap_or(0)), rank(pod)));
    for pod in pending {
        if let Some(given) = allocate(kubelet, &pod) {
            kubelet.resized(&given);
        }
    }
}

/// Tries again from time to time, for as long as the process lives.
pub async fn run(kubelet: Rc<Kubelet>) {
    loop {
        kubelet.ctx.sleep(RETRY).await;
        retry(&kubelet);
    }
}

/// What a resize does to a container.
pub enum Step {
    /// Its limits change while it runs.
    Update(Str, Box<Container>),
    /// Its policy wants a restart: whether it is an init container, its position, the runtime's id.
    Restart(bool, usize, Str),
}

/// What is to be done so that running containers have what their pod was given.
pub fn steps(kubelet: &Kubelet, pod: &Pod, record: &PodRecord) -> Vec<Step> {
    let mut steps = Vec::new();
    let first = pod.spec.init_containers.iter().enumerate().map(|(i, c)| (true, i, c));
    for (init, at, container) in first.chain(pod.spec.containers.iter().enumerate().map(|(i, c)| (false, i, c))) {
        let Some(run) = record.container(&container.name).filter(|r| r.state == State::Running) else { continue };
        let Some(has) = kubelet.resizes.actuated(&pod.metadata.uid, &container.name) else { continue };
        let changed = |name: &str| amounts(&has, name) != amounts(&container.resources, name);
        if !changed("cpu") && !changed("memory") {
            continue;
        }
        let restarts = |name: &str| {
            container.resize_policy.iter().any(|p| p.resource_name == *name && p.restart_policy == "RestartContainer")
        };
        if ["cpu", "memory"].into_iter().any(|name| changed(name) && restarts(name)) {
            steps.push(Step::Restart(init, at, run.id.clone()));
        } else {
            steps.push(Step::Update(run.id.clone(), Box::new(container.clone())));
        }
    }
    steps
}

/// Gives a running container other limits. The error is what the condition says.
pub async fn update(kubelet: &Kubelet, pod: &Pod, id: &Str, container: &Container) -> Result<(), String> {
    let limit = qos::memory_limit(container);
    match kubelet.runtime.done(Call::UpdateContainer(id.clone(), limit)).await {
        Ok(()) => {
            kubelet.resizes.actuate(&pod.metadata.uid, container);
            Ok(())
        }
        Err(why) => Err(format!(
            "attempting to set container {} memory limit ({limit}) below current usage ({})",
            api::go::quote(&container.name),
            why.desc
        )),
    }
}

/// Whether something given is not yet had; ends the condition when all is.
pub fn settle(kubelet: &Rc<Kubelet>, pod: &Rev<Pod>, record: &PodRecord) {
    if !steps(kubelet, pod, record).is_empty() {
        return;
    }
    let done = {
        let mut all = kubelet.resizes.0.borrow_mut();
        all.get_mut(&pod.metadata.uid).and_then(|known| known.in_progress.take())
    };
    if let Some(done) = done {
        let text = message("Pod resize completed", pod, done.observed_generation, "");
        kubelet.event(pod, None, "Normal", "ResizeCompleted", &text);
    }
}

/// A step failed: the condition says so.
pub fn failed(kubelet: &Rc<Kubelet>, pod: &Rev<Pod>, why: &str) {
    let now = Time::from_unix(kubelet.ctx.unix_nanos().div_euclid(1_000_000_000));
    let mut all = kubelet.resizes.0.borrow_mut();
    let Some(known) = all.get_mut(&pod.metadata.uid) else { return };
    let generation = known.in_progress.as_ref().map_or(pod.metadata.generation, |c| c.observed_generation);
    let told = known.in_progress.as_ref().is_some_and(|c| c.message == *why);
    let old = known.in_progress.take();
    known.in_progress = Some(condition("PodResizeInProgress", old.as_ref(), "Error", why, generation, now));
    drop(all);
    if !told {
        kubelet.event(pod, None, "Warning", "ResizeError", &message("Pod resize error", pod, generation, why));
    }
}
