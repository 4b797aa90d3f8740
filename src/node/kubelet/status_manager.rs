//! Reports pods' statuses to the API server, and deletes pods that have ended (pkg/kubelet/status/status_manager.go).

use super::conditions::{self, is_kubelets};
use super::kubelet::Kubelet;
use super::phase::{FAILED, is_terminal};
use super::ticks;
use api::SortSmall;
use api::core_v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus};
use api::meta_v1::{DeleteOptions, Preconditions};
use api::pod::is_sidecar;
use api::{Ptr, Rev, Str, Time};
use client::{Causes, Client, klog};
use futures_util::future::select;
use sim::sync::Notify;
use sim::{Ctx, Duration};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How often what failed or was changed by others is sent again.
const RETRY_PERIOD: Duration = Duration::from_secs(10);
/// All termination messages of a pod together, in bytes.
const MESSAGE_BYTES: usize = 12 << 10;

struct Known {
    status: Rc<PodStatus>,
    version: u64,
    finished: bool,
    namespace: Str,
    name: Str,
    /// The revision of the pod that the status was computed from.
    cause: u64,
}

/// The statuses of the node's pods. Bounded by the number of pods.
pub struct StatusManager {
    ctx: Ctx,
    client: Client,
    known: RefCell<BTreeMap<Str, Known>>,
    /// The version that the API server has.
    sent: RefCell<BTreeMap<Str, u64>>,
    /// Pods whose status at the API server differs from what is known.
    differing: RefCell<BTreeSet<Str>>,
    changed: Notify,
    retry: Cell<bool>,
}

impl StatusManager {
    /// A manager that knows nothing yet.
    pub fn new(ctx: &Ctx, client: Client) -> Rc<Self> {
        Rc::new(Self {
            ctx: ctx.clone(),
            client,
            known: RefCell::default(),
            sent: RefCell::default(),
            differing: RefCell::default(),
            changed: Notify::new(),
            retry: Cell::new(false),
        })
    }

    /// The last status of a pod.
    pub fn get(&self, uid: &str) -> Option<Rc<PodStatus>> {
        self.known.borrow().get(uid).map(|k| k.status.clone())
    }

    /// Takes a new status of a pod; `finished` says that nothing of it is left on the node.
    pub fn set(&self, pod: &Rev<Pod>, mut status: PodStatus, finished: bool) {
        let uid = &pod.metadata.uid;
        let now = Time::from_unix(self.ctx.unix_nanos().div_euclid(1_000_000_000));
        let mut known = self.known.borrow_mut();
        let before = known.get(uid);
        let old: &PodStatus = before.map_or(&pod.status, |k| &k.status);
        for condition in
            status.conditions.make().iter_mut().filter(|c| is_kubelets(&c.type_) || c.type_ == "DisruptionTarget")
        {
            let same = old.conditions.iter().find(|o| o.type_ == condition.type_ && o.status == condition.status);
            condition.last_transition_time = same.map_or(now, |o| o.last_transition_time);
        }
        if !old.start_time.is_zero() {
            status.start_time = old.start_time;
        } else if status.start_time.is_zero() {
            status.start_time = now;
        }
        status.observed_generation = pod.metadata.generation.max(old.observed_generation);
        limit_messages(pod, &mut status);
        let finished = finished || before.is_some_and(|k| k.finished);
        if before.is_some_and(|k| k.finished == finished && same_by_kubelet(&k.status, &status)) {
            return;
        }
        let version = before.map_or(1, |k| k.version + 1);
        let meta = &pod.metadata;
        known.insert(
            uid.clone(),
            Known {
                status: Rc::new(status),
                version,
                finished,
                namespace: meta.namespace.clone(),
                name: meta.name.clone(),
                cause: pod.revision,
            },
        );
        self.changed.notify();
    }

    /// The pod has left the node: what never told its end counts as failed (TerminatePod).
    pub fn terminate(&self, pod: &Rev<Pod>) {
        let mut status = self.get(&pod.metadata.uid).map_or_else(|| (*pod.status).clone(), |s| (*s).clone());
        let lost = || {
            Ptr::some(ContainerStateTerminated {
                reason: "ContainerStatusUnknown".into(),
                message: "The container could not be located when the pod was terminated".into(),
                exit_code: 137,
                ..ContainerStateTerminated::default()
            })
        };
        let end = |one: &mut ContainerStatus| {
            if one.state.terminated.is_none() {
                one.state = ContainerState { terminated: lost(), ..ContainerState::default() };
            }
        };
        if has_initialized(pod, &status) {
            status.container_statuses.make().iter_mut().for_each(end);
        }
        // Init containers up to the last one that shows a sign of a start.
        let started = status.init_container_statuses.iter().rposition(|s| {
            s.last_state.terminated.is_some()
                || s.state.waiting.is_none() && (s.state.running.is_some() || s.state.terminated.is_some())
        });
        if let Some(last) = started {
            status.init_container_statuses.make().iter_mut().take(last + 1).for_each(end);
        }
        if !is_terminal(&status.phase) {
            status.phase = FAILED.into();
        }
        self.set(pod, status, true);
    }

    /// The pod is gone from the API server.
    pub fn forget(&self, uid: &str) {
        self.known.borrow_mut().remove(uid);
        self.sent.borrow_mut().remove(uid);
        self.differing.borrow_mut().remove(uid);
    }

    /// Compares what the API server shows with what was reported.
    pub fn reconcile(&self, pod: &Rev<Pod>) {
        let uid = &pod.metadata.uid;
        let differs = {
            let known = self.known.borrow();
            let Some(known) = known.get(uid) else { return };
            self.sent.borrow().get(uid) == Some(&known.version) && !same_by_kubelet(&known.status, &pod.status)
        };
        if differs && self.differing.borrow_mut().insert(uid.clone()) {
            self.changed.notify();
        }
    }

    fn to_send(&self) -> Vec<Str> {
        let (known, sent) = (self.known.borrow(), self.sent.borrow());
        known.iter().filter(|(uid, k)| sent.get(*uid) != Some(&k.version)).map(|(uid, _)| uid.clone()).collect()
    }

    /// Sends one pod's status; false if it has to be tried again.
    async fn send(&self, kubelet: &Kubelet, uid: &Str) -> bool {
        let (status, version, finished, namespace, name, cause) = match self.known.borrow().get(uid) {
            Some(k) => (k.status.clone(), k.version, k.finished, k.namespace.clone(), k.name.clone(), k.cause),
            None => return true,
        };
        let client = self.client.caused_by(&Causes::of(cause));
        let mut pod = match client.get::<Pod>(&namespace, &name).await {
            Ok(pod) => pod,
            Err(why) if why.is_not_found() => {
                self.sent.borrow_mut().insert(uid.clone(), version);
                return true;
            }
            Err(why) => {
                klog::error("Failed to get status for pod")
                    .err(&why)
                    .str("podUID", uid)
                    .obj("pod", &namespace, &name)
                    .log(&self.ctx, "status_manager.go:1257");
                return false;
            }
        };
        if pod.metadata.uid != *uid {
            klog::info("Pod was deleted and then recreated, skipping status update")
                .obj("pod", &namespace, &name)
                .str("oldPodUID", uid)
                .str("podUID", &pod.metadata.uid)
                .log(&self.ctx, "status_manager.go:1266");
            self.forget(uid);
            return true;
        }
        let merged = merge(kubelet, &pod, &status);
        if merged != *pod.status {
            let mut changed = (*pod.body).clone();
            *changed.status.make() = merged;
            match client.update_status(changed, pod.revision).await {
                Ok(written) => pod = written,
                Err(why) => {
                    if !why.is_conflict() {
                        klog::error("Failed to update status for pod")
                            .err(&why)
                            .obj("pod", &namespace, &name)
                            .log(&self.ctx, "status_manager.go:1280");
                    }
                    return false;
                }
            }
        }
        self.sent.borrow_mut().insert(uid.clone(), version);
        if !pod.metadata.deletion_timestamp.is_zero() && is_terminal(&pod.status.phase) && finished {
            let options = DeleteOptions {
                grace_period_seconds: Some(0),
                preconditions: Ptr::some(Preconditions { uid: uid.clone().into(), ..Preconditions::default() }),
                ..DeleteOptions::default()
            };
            if let Err(why) = client.delete::<Pod>(&namespace, &name, &options).await
                && !why.is_not_found()
            {
                klog::info("Failed to delete status for pod")
                    .obj("pod", &namespace, &name)
                    .err(&why)
                    .log(&self.ctx, "status_manager.go:1312");
                // Deleting is tried again with the status.
                self.sent.borrow_mut().remove(uid);
                return false;
            }
        }
        true
    }
}

/// Sends what is to be sent, for as long as the process lives.
pub async fn run(kubelet: Rc<Kubelet>) {
    let manager = kubelet.statuses.clone();
    let first = kubelet.started;
    loop {
        let changed = manager.changed.notified();
        let mut failed = BTreeSet::new();
        loop {
            let next = manager.to_send().into_iter().find(|uid| !failed.contains(uid));
            let Some(uid) = next else { break };
            // A conflict is another writer's change: read again and go on.
            if !manager.send(&kubelet, &uid).await && !manager.send(&kubelet, &uid).await {
                failed.insert(uid);
            }
        }
        manager.retry.set(!failed.is_empty());
        if failed.is_empty() && manager.differing.borrow().is_empty() {
            changed.await;
            continue;
        }
        let tick = ticks::next(first, RETRY_PERIOD, kubelet.ctx.now());
        select(changed, kubelet.ctx.sleep_until(tick)).await;
        if kubelet.ctx.now() >= tick {
            for uid in std::mem::take(&mut *manager.differing.borrow_mut()) {
                let still = kubelet.pod(&uid).is_some_and(|pod| {
                    manager.known.borrow().get(&uid).is_some_and(|k| !same_by_kubelet(&k.status, &pod.status))
                });
                if still {
                    manager.sent.borrow_mut().remove(&uid);
                }
            }
        }
    }
}

/// Puts others' parts of the status back, and holds a terminal phase back while containers may run (mergePodStatus).
fn merge(kubelet: &Kubelet, pod: &Rev<Pod>, new: &PodStatus) -> PodStatus {
    let old = &pod.status;
    let mut merged = new.clone();
    let may_run = kubelet.worker(&pod.metadata.uid).is_some_and(|w| !w.is_stopped());
    let turns_terminal = !is_terminal(&old.phase) && is_terminal(&new.phase);
    let mut list: Vec<_> = old.conditions.iter().filter(|c| !is_kubelets(&c.type_)).cloned().collect();
    for condition in new.conditions.iter() {
        if is_kubelets(&condition.type_) {
            list.push(condition.clone());
        } else if condition.type_ == "DisruptionTarget" && turns_terminal && !may_run {
            match list.iter_mut().find(|c| c.type_ == condition.type_) {
                Some(slot) => *slot = condition.clone(),
                None => list.push(condition.clone()),
            }
        }
    }
    merged.resource_claim_statuses = old.resource_claim_statuses.clone();
    merged.extended_resource_claim_status = old.extended_resource_claim_status.clone();
    merged.nominated_node_name = old.nominated_node_name.clone();
    if turns_terminal && may_run {
        merged.phase = old.phase.clone();
        merged.reason = old.reason.clone();
        merged.message = old.message.clone();
    }
    if is_terminal(&merged.phase) {
        let now = Time::from_unix(kubelet.ctx.unix_nanos().div_euclid(1_000_000_000));
        for condition in
            list.iter_mut().filter(|c| (c.type_ == "Ready" || c.type_ == "ContainersReady") && c.status == "True")
        {
            let mut ended = conditions::terminal(pod, &condition.type_, &merged.phase);
            ended.last_transition_time = now;
            *condition = ended;
        }
    }
    merged.conditions = list.into();
    merged
}

/// Whether two statuses are the same but for what others write into them.
fn same_by_kubelet(a: &PodStatus, b: &PodStatus) -> bool {
    let owned = |status: &PodStatus| {
        let mut own = status.clone();
        let mut list: Vec<_> = status
            .conditions
            .iter()
            .filter(|c| is_kubelets(&c.type_) || c.type_ == "DisruptionTarget")
            .cloned()
            .collect();
        list.sort_small_by(|x, y| x.type_.cmp(&y.type_));
        own.conditions = list.into();
        own.nominated_node_name = Str::default();
        own
    };
    owned(a) == owned(b)
}

fn limit_messages(pod: &Pod, status: &mut PodStatus) {
    let count = pod.spec.containers.len() + pod.spec.init_containers.len() + pod.spec.ephemeral_containers.len();
    let bound = MESSAGE_BYTES / count.max(1);
    let too_long = |s: &ContainerStatus| {
        [&s.state, &s.last_state].iter().any(|state| state.terminated.get().is_some_and(|t| t.message.len() > bound))
    };
    for list in [&mut status.container_statuses, &mut status.init_container_statuses] {
        if !list.iter().any(too_long) {
            continue;
        }
        for one in list.make() {
            for state in [&mut one.state, &mut one.last_state] {
                if state.terminated.get().is_some_and(|t| t.message.len() > bound) {
                    let ended = state.terminated.make();
                    let mut cut = bound;
                    while !ended.message.is_char_boundary(cut) {
                        cut -= 1;
                    }
                    ended.message = ended.message.get(..cut).unwrap_or_default().into();
                }
            }
        }
    }
}

/// Whether regular containers may have been started.
fn has_initialized(pod: &Pod, status: &PodStatus) -> bool {
    let Some(last) = pod.spec.init_containers.last() else { return true };
    let started = |s: &ContainerStatus| s.last_state.terminated.is_some() || s.state.waiting.is_none();
    if status.container_statuses.iter().any(started) {
        return true;
    }
    status.init_container_statuses.iter().find(|s| s.name == last.name).is_some_and(|s| {
        if is_sidecar(last) {
            s.started == Some(true)
        } else {
            s.state.terminated.get().is_some_and(|t| t.exit_code == 0)
        }
    })
}
