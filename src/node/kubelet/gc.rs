//! Removes containers and sandboxes that nobody wants (pkg/kubelet/kuberuntime/kuberuntime_gc.go,
//! pkg/kubelet/pod_container_deletor.go).

use super::kubelet::Kubelet;
use super::ticks;
use crate::runtime::cri::{Call, State};
use api::Str;
use client::klog;
use sim::Duration;
use std::rc::Rc;

/// How often the collector runs when there is something to collect.
const PERIOD: Duration = Duration::from_secs(60);
/// How soon what is left of a deleted pod goes (the housekeeping period).
const HOUSEKEEPING: Duration = Duration::from_secs(2);
/// Ended runs that are kept of each container.
const KEPT: usize = 1;

/// A container of a pod ended: older ended runs of it go, and all of them once the pod is gone.
pub fn container_died(kubelet: &Rc<Kubelet>, uid: &Str, id: &Str) {
    let record = kubelet.pleg.record(uid);
    let Some(died) = record.containers.iter().find(|c| c.id == *id) else { return };
    let ended: Vec<_> = record.containers.iter().filter(|c| c.name == died.name && c.state == State::Exited).collect();
    let keep = if kubelet.pod(uid).is_none() { 0 } else { KEPT };
    for container in ended.into_iter().skip(keep) {
        let (kubelet, id) = (kubelet.clone(), container.id.clone());
        kubelet.ctx.clone().spawn("container deletor", async move { remove_container(&kubelet, &id).await });
    }
}

async fn remove_container(kubelet: &Rc<Kubelet>, id: &Str) {
    klog::info("RemoveContainer").str("containerID", id).log(&kubelet.ctx, "scope.go:118");
    let _ = kubelet.runtime.done(Call::RemoveContainer(id.clone())).await;
}

/// Waits for something to collect, and collects it on the grid.
pub async fn run(kubelet: Rc<Kubelet>) {
    loop {
        let wanted = kubelet.gc_notify.notified();
        if !kubelet.gc_wanted.replace(false) {
            wanted.await;
            continue;
        }
        kubelet.ctx.sleep_until(ticks::next(kubelet.started, HOUSEKEEPING, kubelet.ctx.now())).await;
        if collect(&kubelet).await {
            // What could not go yet is looked at again.
            kubelet.gc_wanted.set(true);
            kubelet.ctx.sleep_until(ticks::next(kubelet.started, PERIOD, kubelet.ctx.now())).await;
        }
    }
}

/// One round; whether something has to wait for the next.
async fn collect(kubelet: &Rc<Kubelet>) -> bool {
    let mut again = false;
    for (uid, record) in kubelet.pleg.all() {
        let gone = kubelet.pod(&uid).is_none() && kubelet.worker(&uid).is_none();
        for (at, sandbox) in record.sandboxes.iter().enumerate() {
            let used = record.containers.iter().any(|c| c.sandbox_id == sandbox.id && c.state == State::Running);
            if sandbox.ready || used {
                again |= gone;
                continue;
            }
            // The newest sandbox of a pod that is still known stays, for its containers' logs.
            let has_containers = record.containers.iter().any(|c| c.sandbox_id == sandbox.id);
            if gone || (at > 0 && !has_containers) {
                for container in record.containers.iter().filter(|c| c.sandbox_id == sandbox.id) {
                    remove_container(kubelet, &container.id).await;
                }
                let _ = kubelet.runtime.done(Call::RemoveSandbox(sandbox.id.clone())).await;
            }
        }
        if gone {
            klog::info("Cleaned up orphaned pod volumes dir")
                .str("podUID", &uid)
                .str("path", &format!("/var/lib/kubelet/pods/{uid}/volumes"))
                .log(&kubelet.ctx, "kubelet_volumes.go:161");
        }
    }
    again
}
