//! The binding cycle (`bindingCycle` of `schedule_one.go`): what the pod needs before it has its node, then its node.

use crate::change::{About, Change};
use crate::cycle::Outcome;
use crate::devices::{Devices, Promise};
use crate::events;
use crate::handlers;
use crate::node_info::PodKey;
use crate::queue::Queued;
use crate::server::{Inner, fail};
use api::Str;
use api::core_v1::{Binding, ObjectReference};
use client::klog;
use std::rc::Rc;

/// Binds a pod to the node that was chosen; returns at once.
pub(crate) fn bind(inner: &Rc<Inner>, pod: Queued, outcome: Outcome, node: Str, mut promises: Vec<Promise>) {
    let key = pod.info.key();
    let (evaluated, feasible) = (outcome.evaluated, outcome.feasible);
    inner.remember(inner.attempt(&pod, outcome));
    inner.cache.borrow_mut().assume(&pod.info, &node);
    inner.nominated.borrow_mut().remove(&key);
    inner.binding.set(inner.binding.get() + 1);
    let inner = inner.clone();
    let ctx = inner.ctx.clone();
    // What the pod's claims get on this node is promised now, before another pod asks.
    let storage = inner.informers.storage(&inner.assumed);
    let node_info = inner.cache.borrow().node(&node).cloned();
    let plan = node_info.and_then(|info| storage.plan(&pod.info.pod, &info).ok()).unwrap_or_default();
    let plan = storage.assume(plan);
    ctx.spawn("bind", async move {
        let (ctx, client) = (&inner.ctx, inner.client.caused_by(&pod.causes));
        let devices = &inner.gates.devices;
        if !plan.is_empty() || !promises.is_empty() {
            expect(&inner, &pod, &node).await;
        }
        let uid = &pod.info.pod.metadata.uid;
        let failed = if plan.is_empty() && promises.is_empty() {
            None
        } else {
            // What is at work when the pod is called back.
            let at = std::cell::Cell::new(("VolumeBinding", "binding volumes: "));
            let work = async {
                storage.bind(&client, &pod.info.pod, &node, plan).await?;
                at.set(("DynamicResources", ""));
                devices.write(&client, &pod.info.pod, &mut promises).await?;
                if Devices::must_wait(&promises) {
                    events::waits_for_devices(&inner.recorder, &pod.info, &node, pod.causes.clone());
                    devices.wait(ctx, &mut promises).await?;
                }
                Ok(())
            };
            let done = inner.pre_bind.add(uid).unless_cancelled(work).await;
            inner.pre_bind.remove(uid);
            let (plugin, about) = at.get();
            let done = done.unwrap_or_else(|| Err(format!("{about}preempted by DefaultPreemption")));
            done.err().map(|why| (plugin, why))
        };
        if let Some((plugin, why)) = failed {
            inner.binding.set(inner.binding.get().saturating_sub(1));
            klog::error("Plugin failed")
                .err(&why)
                .obj("pod", &key.0, &key.1)
                .str("plugin", plugin)
                .str("node", &node)
                .log(ctx, "framework.go:1803");
            devices.unreserve(&client, &pod.info.pod, &promises).await;
            inner.cache.borrow_mut().forget(&key);
            return not_bound(&inner, pod, &format!("running PreBind plugin \"{plugin}\": {why}")).await;
        }
        klog::info("Attempting to bind pod to node")
            .str("logger", "Bind.DefaultBinder")
            .obj("pod", &key.0, &key.1)
            .str("node", &node)
            .log(ctx, "default_binder.go:70");
        let meta = &pod.info.pod.metadata;
        let mut binding = Binding::default();
        binding.metadata.namespace = meta.namespace.clone();
        binding.metadata.name = meta.name.clone();
        binding.metadata.uid = meta.uid.clone();
        binding.target = ObjectReference { kind: "Node".into(), name: node.clone(), ..ObjectReference::default() };
        let done = client.bind(binding).await;
        inner.binding.set(inner.binding.get().saturating_sub(1));
        match done {
            Ok(()) => {
                inner.queue.borrow_mut().done(&key);
                klog::info("Successfully bound pod to node")
                    .obj("pod", &key.0, &key.1)
                    .str("node", &node)
                    .raw("evaluatedNodes", evaluated)
                    .raw("feasibleNodes", feasible)
                    .log(ctx, "schedule_one.go:483");
                if let Some(attempt) = inner.attempts.borrow_mut().iter_mut().rev().find(|a| a.pod == key) {
                    attempt.bound = true;
                }
                events::scheduled(&inner.recorder, &pod.info, &node, pod.causes.clone());
            }
            Err(status) => {
                devices.unreserve(&client, &pod.info.pod, &promises).await;
                inner.cache.borrow_mut().forget(&key);
                let message = format!("running Bind plugin \"DefaultBinder\": {status}");
                not_bound(&inner, pod, &message).await;
            }
        }
    });
}

/// Says where the pod is to go, while that takes a while (`NominatedNodeNameForExpectation`).
async fn expect(inner: &Rc<Inner>, pod: &Queued, node: &str) {
    let PodKey(namespace, name) = pod.info.key();
    let Some(current) = inner.informers.pod(&PodKey(namespace.clone(), name.clone())) else { return };
    let (client, now) = (inner.client.caused_by(&pod.causes), inner.ctx.unix_nanos() / 1_000_000_000);
    if let Err(status) = events::patch_status(&client, now, &current, None, Some(node)).await {
        klog::error("Failed to update the nominated node name in the binding cycle")
            .err(status)
            .obj("pod", &namespace, &name)
            .str("nominatedNodeName", node)
            .log(&inner.ctx, "schedule_one.go:426");
    }
}

/// A pod that had its node did not get there: what it held is free again.
async fn not_bound(inner: &Rc<Inner>, pod: Queued, message: &str) {
    let placed = pod.info.pod.clone();
    let PodKey(namespace, name) = pod.info.key();
    klog::unhandled("Error scheduling pod; retrying")
        .err(message)
        .obj("pod", &namespace, &name)
        .log(&inner.ctx, "schedule_one.go:1198");
    fail(inner, pod, "SchedulerError", message, Some("")).await;
    let now = inner.ctx.now();
    let moved = inner.queue.borrow_mut().changed(Change::AssignedPodDeleted, &About::Pod(Some(placed), None), 0, now);
    handlers::log_moved(&inner.ctx, &moved, Change::AssignedPodDeleted);
    inner.wake.notify();
}
