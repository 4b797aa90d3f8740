//! Ends a pod: its containers, its sandbox, its volumes, its object (pkg/kubelet/kubelet.go, SyncTerminatingPod and
//! SyncTerminatedPod; pkg/kubelet/kuberuntime, killContainer).

use super::actions::LifeProbe;
use super::hooks;
use super::kubelet::Kubelet;
use super::sync::status_of;
use super::worker::{Outcome, Worker};
use crate::runtime::cri::{Call, PodRecord, Reply, State};
use api::core_v1::{Container, Pod};
use api::pod::is_sidecar;
use api::{Rev, Str};
use client::klog;
use sim::Duration;
use sim::sync::Notify;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Containers get this long in any case, in seconds.
const MINIMUM_GRACE: i64 = 2;

/// Stops all containers of a pod and waits for it.
pub async fn sync_terminating(
    kubelet: &Rc<Kubelet>,
    worker: &Worker,
    pod: &Rev<Pod>,
    record: &Rc<PodRecord>,
) -> Outcome {
    let meta = &pod.metadata;
    let status = status_of(kubelet, pod, record, false);
    kubelet.statuses.set(pod, status, false);
    kubelet.probes.stop_liveness_and_startup(&meta.uid);
    // A shorter grace that comes meanwhile starts the stop again with it.
    loop {
        let sooner = worker.cut_short().notified();
        let killing = kill_pod(kubelet, pod, record, worker.grace());
        futures_util::pin_mut!(killing);
        match futures_util::future::select(killing, sooner).await {
            futures_util::future::Either::Left((Ok(()), _)) => break,
            futures_util::future::Either::Left((Err(why), _)) => {
                kubelet.event(pod, None, "Warning", "FailedKillPod", &format!("error killing pod: {why}"));
                return Outcome::Failed(format!("error killing terminating pod: {why}"), None);
            }
            futures_util::future::Either::Right(_) => {}
        }
    }
    kubelet.probes.remove_pod(&meta.uid);
    let stopped = match kubelet.runtime.call(Call::PodStatus(meta.uid.clone())).await {
        Ok(Reply::Pod(stopped)) => stopped,
        Ok(_) => return Outcome::Failed("unable to read pod status prior to final pod termination".to_string(), None),
        Err(why) => {
            return Outcome::Failed(format!("unable to read pod status prior to final pod termination: {why}"), None);
        }
    };
    let running: Vec<String> = stopped
        .containers
        .iter()
        .filter(|c| c.state == State::Running)
        .map(|c| format!("containerd://{}", c.id))
        .collect();
    if !running.is_empty() {
        return Outcome::Failed(
            format!("detected running containers after a successful KillPod, CRI violation: [{}]", running.join(" ")),
            None,
        );
    }
    let mut status = status_of(kubelet, pod, &stopped, true);
    keep_ips(kubelet, pod, &mut status);
    kubelet.statuses.set(pod, status, false);
    Outcome::Terminal
}

/// The address is shown to the end although the sandbox no longer has it.
fn keep_ips(kubelet: &Kubelet, pod: &Rev<Pod>, status: &mut api::core_v1::PodStatus) {
    if status.pod_ip.is_empty() {
        let old = kubelet.status_of(pod);
        status.pod_ip = old.pod_ip.clone();
        status.pod_ips = old.pod_ips.clone();
    }
}

/// Takes down what is left of a pod whose containers have ended.
pub async fn sync_terminated(
    kubelet: &Rc<Kubelet>,
    worker: &Worker,
    pod: &Rev<Pod>,
    record: &Rc<PodRecord>,
) -> Outcome {
    let _ = worker;
    // What was listed last may be older than the end of the containers.
    let asked = kubelet.runtime.call(Call::PodStatus(pod.metadata.uid.clone())).await;
    let record = if let Ok(Reply::Pod(fresh)) = &asked { fresh } else { record };
    let mut status = status_of(kubelet, pod, record, true);
    keep_ips(kubelet, pod, &mut status);
    kubelet.statuses.set(pod, status, false);
    kubelet.volumes.wait_for_unmount(kubelet, pod).await;
    kubelet.objects.unregister(pod);
    kubelet.statuses.terminate(pod);
    Outcome::Terminal
}

/// The grace for a container killed because of a probe, in seconds.
pub fn probe_grace(pod: &Pod, name: &str, probe: Option<LifeProbe>) -> i64 {
    let all = pod.spec.containers.iter().chain(pod.spec.init_containers.iter());
    let container = all.into_iter().find(|c| c.name == *name);
    let own = container.and_then(|c| match probe {
        Some(LifeProbe::Liveness) => c.liveness_probe.get(),
        Some(LifeProbe::Startup) => c.startup_probe.get(),
        None => None,
    });
    let own = own.and_then(|p| p.termination_grace_period_seconds);
    own.or(pod.spec.termination_grace_period_seconds).unwrap_or(30)
}

/// In which order containers end: sidecars after all others, and among them the later ones first.
pub struct Order {
    names: Vec<Str>,
    running: BTreeSet<Str>,
    ended: RefCell<BTreeSet<Str>>,
    changed: Notify,
}

impl Order {
    /// Waits until a container may be stopped; gives the whole seconds that took.
    async fn wait(&self, kubelet: &Kubelet, pod: &Pod, name: &Str, grace: i64) -> i64 {
        let before = |other: &Str| {
            let position = |n: &Str| self.names.iter().position(|s| s == n);
            match (position(name), position(other)) {
                (Some(mine), Some(theirs)) => theirs > mine,
                (Some(_), None) => pod.spec.containers.iter().any(|c| c.name == *other),
                (None, _) => false,
            }
        };
        let began = kubelet.ctx.now();
        let turn = async {
            while self.running.iter().any(|other| before(other) && !self.ended.borrow().contains(other)) {
                self.changed.notified().await;
            }
        };
        let patience = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
        let _ = kubelet.ctx.timeout(patience, turn).await;
        i64::try_from(kubelet.ctx.now().since(began).as_secs()).unwrap_or(grace)
    }
}

/// Stops all containers of a pod at once, then its sandboxes.
pub async fn kill_pod(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    record: &PodRecord,
    grace: Option<i64>,
) -> Result<(), String> {
    let running: Vec<_> =
        record.containers.iter().filter(|c| matches!(c.state, State::Running | State::Unknown)).collect();
    let sidecars: Vec<Str> =
        pod.spec.init_containers.iter().filter(|c| is_sidecar(c)).map(|c| c.name.clone()).collect();
    let order = (!sidecars.is_empty()).then(|| Order {
        names: sidecars,
        running: running.iter().map(|c| c.name.clone()).collect(),
        ended: RefCell::default(),
        changed: Notify::new(),
    });
    let whole = grace.unwrap_or_else(|| pod.spec.termination_grace_period_seconds.unwrap_or(30));
    let kills = running.iter().map(|c| kill_container(kubelet, pod, &c.id, &c.name, "", whole, order.as_ref()));
    for result in futures_util::future::join_all(kills).await {
        result?;
    }
    for sandbox in record.sandboxes.iter().filter(|s| s.ready) {
        match kubelet.runtime.done(Call::StopSandbox(sandbox.id.clone())).await {
            Err(why) if why.code != "NotFound" => return Err(why.to_string()),
            _ => {}
        }
    }
    Ok(())
}

/// Stops one container: event, hook, its turn, signal.
pub async fn kill_container(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    id: &Str,
    name: &Str,
    message: &str,
    grace: i64,
    order: Option<&Order>,
) -> Result<(), String> {
    let said = if message.is_empty() { format!("Stopping container {name}") } else { message.to_string() };
    kubelet.event(pod, Some(name), "Normal", "Killing", &said);
    let mut grace = grace;
    let all = pod.spec.containers.iter().chain(pod.spec.init_containers.iter());
    if let Some(container) = all.into_iter().find(|c| c.name == *name)
        && grace > 0
    {
        grace = grace.saturating_sub(pre_stop(kubelet, pod, container, id, grace).await);
    }
    if let Some(order) = order
        && grace > 0
    {
        grace = grace.saturating_sub(order.wait(kubelet, pod, name, grace).await);
    }
    let grace = grace.max(MINIMUM_GRACE);
    klog::info("Killing container with a grace period")
        .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
        .str("podUID", &pod.metadata.uid)
        .str("containerName", name)
        .str("containerID", &format!("containerd://{id}"))
        .raw("gracePeriod", grace)
        .log(&kubelet.ctx, "kuberuntime_container.go:912");
    let patience = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let stopped = kubelet.runtime.done(Call::StopContainer(id.clone(), patience)).await;
    if let Some(order) = order {
        order.ended.borrow_mut().insert(name.clone());
        order.changed.notify();
    }
    match stopped {
        Err(why) if why.code != "NotFound" => Err(why.to_string()),
        _ => Ok(()),
    }
}

/// Runs the hook, for as long as the grace; gives the whole seconds it took.
async fn pre_stop(kubelet: &Rc<Kubelet>, pod: &Rev<Pod>, container: &Container, id: &Str, grace: i64) -> i64 {
    let Some(hook) = container.lifecycle.get().and_then(|l| l.pre_stop.get()) else { return 0 };
    let began = kubelet.ctx.now();
    let ip = kubelet.status_of(pod).pod_ip.clone();
    let patience = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let run = hooks::run(kubelet, pod, container, hook, id, &ip);
    if let Ok(Err(why)) = kubelet.ctx.timeout(patience, run).await {
        klog::error("PreStop hook failed")
            .err(&why)
            .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
            .str("podUID", &pod.metadata.uid)
            .str("containerName", &container.name)
            .log(&kubelet.ctx, "kuberuntime_container.go:823");
        kubelet.event(pod, Some(&container.name), "Warning", "FailedPreStopHook", "PreStopHook failed");
    }
    i64::try_from(kubelet.ctx.now().since(began).as_secs()).unwrap_or(grace)
}
