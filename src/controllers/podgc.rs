//! The pod garbage collector (`pkg/controller/podgc`): pods that nobody will ever finish.

use api::SortSmall;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{Node, Pod, PodCondition};
use api::meta_v1::DeleteOptions;
use api::{Rev, Str, Time};
use client::{Client, Key, Lister, klog};
use sim::Instant;

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};

const PERIOD: Duration = Duration::from_secs(20);
/// A node must have been missing for this long.
const QUARANTINE: Duration = Duration::from_secs(40);
/// Finished pods are kept up to this many (`--terminated-pod-gc-threshold`).
const TERMINATED_THRESHOLD: usize = 12_500;

struct PodGc {
    ctx: sim::Ctx,
    client: Client,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    /// When each missing node leaves quarantine. Bounded by the nodes that pods name.
    quarantine: RefCell<BTreeMap<Str, Instant>>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting GC controller").log(&cc.ctx, "gc_controller.go:96");
    let (pods, nodes) = (cc.informer::<Pod>(), cc.informer::<Node>());
    let gc = Rc::new(PodGc {
        ctx: cc.ctx.clone(),
        client: cc.client("pod-garbage-collector"),
        pods: pods.lister(),
        nodes: nodes.lister(),
        quarantine: RefCell::default(),
        observed: cc.observed.clone(),
    });
    futures_util::join!(pods.synced(), nodes.synced());
    let mut rng = cc.ctx.rng("skip");
    loop {
        if !cc.observed.leaves_out(&mut rng) {
            gc.run().await;
        }
        cc.ctx.sleep(PERIOD).await;
    }
}

impl PodGc {
    async fn run(&self) {
        let pods = self.pods.list();
        self.terminated(&pods).await;
        self.terminating(&pods).await;
        self.orphaned(&pods).await;
        self.unscheduled_terminating(&pods).await;
    }

    async fn terminated(&self, pods: &[Rev<Pod>]) {
        let finished = |p: &&Rev<Pod>| !matches!(&*p.status.phase, "Pending" | "Running" | "Unknown");
        let mut finished: Vec<_> = pods.iter().filter(finished).cloned().collect();
        let Some(excess) = finished.len().checked_sub(TERMINATED_THRESHOLD).filter(|n| *n > 0) else { return };
        klog::info("Garbage collecting pods").raw("numPods", excess).log(&self.ctx, "gc_controller.go:202");
        finished.sort_small_by_key(deletion_order);
        for pod in finished.iter().take(excess) {
            self.report(
                pod,
                self.force_delete(pod, None).await,
                "Failed to delete terminated pod",
                "gc_controller.go:212",
            );
        }
    }

    async fn terminating(&self, pods: &[Rev<Pod>]) {
        klog::info("GC'ing terminating pods that are on out-of-service nodes").log(&self.ctx, "gc_controller.go:150");
        let mut doomed = Vec::new();
        for pod in pods.iter().filter(|p| p.metadata.deletion_timestamp.unix().is_some()) {
            let Some(node) = self.nodes.get("", &pod.spec.node_name) else {
                klog::error("Failed to get node")
                    .err(format!("node \"{}\" not found", pod.spec.node_name))
                    .obj("node", "", &pod.spec.node_name)
                    .log(&self.ctx, "gc_controller.go:157");
                continue;
            };
            let ready = node.status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
            if !ready && node.spec.taints.iter().any(|t| t.key == "node.kubernetes.io/out-of-service") {
                klog::info("Garbage collecting pod that is terminating")
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .str("phase", &pod.status.phase)
                    .log(&self.ctx, "gc_controller.go:165");
                doomed.push(pod.clone());
            }
        }
        doomed.sort_small_by_key(deletion_order);
        for pod in &doomed {
            let result = self.force_delete(pod, None).await;
            self.report(pod, result, "Failed to delete terminating pod on out-of-service node", "gc_controller.go:186");
        }
    }

    /// Pods bound to a node that is not there, and was not there when asked again after the quarantine.
    async fn orphaned(&self, pods: &[Rev<Pod>]) {
        klog::info("GC'ing orphaned").log(&self.ctx, "gc_controller.go:231");
        let existing: BTreeSet<Str> = self.nodes.list().iter().map(|n| n.metadata.name.clone()).collect();
        let now = self.ctx.now();
        let due: Vec<Str> = {
            let mut quarantine = self.quarantine.borrow_mut();
            for pod in pods {
                let node = &pod.spec.node_name;
                if !node.is_empty() && !existing.contains(node) {
                    quarantine.entry(node.clone()).or_insert(now + QUARANTINE);
                }
            }
            let due: Vec<Str> = quarantine.iter().filter(|(_, at)| **at <= now).map(|(n, _)| n.clone()).collect();
            quarantine.retain(|_, at| *at > now);
            due
        };
        let mut gone = BTreeSet::new();
        for node in due.into_iter().filter(|n| !existing.contains(n)) {
            match self.client.get::<Node>("", &node).await {
                Ok(_) => {}
                Err(err) if err.is_not_found() => {
                    gone.insert(node);
                }
                Err(err) => {
                    klog::error("Error while getting node")
                        .err(&err)
                        .obj("node", "", &node)
                        .log(&self.ctx, "gc_controller.go:280");
                }
            }
        }
        for pod in pods.iter().filter(|p| gone.contains(&p.spec.node_name)) {
            klog::info("Found orphaned Pod assigned to the Node, deleting")
                .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                .obj("node", "", &pod.spec.node_name)
                .log(&self.ctx, "gc_controller.go:252");
            let condition = PodCondition {
                type_: "DisruptionTarget".into(),
                status: "True".into(),
                reason: "DeletionByPodGC".into(),
                message: "PodGC: node no longer exists".into(),
                observed_generation: pod.metadata.generation,
                ..PodCondition::default()
            };
            let result = self.force_delete(pod, Some(condition)).await;
            if result.is_ok() {
                klog::info("Forced deletion of orphaned Pod succeeded")
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .log(&self.ctx, "gc_controller.go:265");
            }
            self.report(pod, result, "Failed to delete orphaned pod", "gc_controller.go:262");
        }
    }

    async fn unscheduled_terminating(&self, pods: &[Rev<Pod>]) {
        klog::info("GC'ing unscheduled pods which are terminating").log(&self.ctx, "gc_controller.go:304");
        for pod in pods {
            if pod.metadata.deletion_timestamp.unix().is_none() || !pod.spec.node_name.is_empty() {
                continue;
            }
            klog::info("Found unscheduled terminating Pod not assigned to any Node, deleting")
                .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                .log(&self.ctx, "gc_controller.go:311");
            let result = self.force_delete(pod, None).await;
            if result.is_ok() {
                klog::info("Forced deletion of unscheduled terminating Pod succeeded")
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .log(&self.ctx, "gc_controller.go:316");
            }
            self.report(pod, result, "Failed to delete unscheduled terminating pod", "gc_controller.go:313");
        }
    }

    fn report(&self, pod: &Pod, result: Result<(), SyncError>, message: &str, place: &'static str) {
        if let Err(err) = result {
            klog::error(message)
                .err(&err)
                .str("logger", "UnhandledError")
                .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                .log(&self.ctx, place);
        }
    }

    async fn force_delete(&self, pod: &Rev<Pod>, condition: Option<PodCondition>) -> Result<(), SyncError> {
        let meta = &pod.metadata;
        klog::info("PodGC is force deleting Pod")
            .obj("pod", &meta.namespace, &meta.name)
            .log(&self.ctx, "gc_controller.go:341");
        let client = self.client.caused_by(&client::Causes::of(pod.revision));
        self.observed.action(&Key::of(meta), "force delete".into());
        if !matches!(&*pod.status.phase, "Succeeded" | "Failed") {
            let condition = condition.map(|mut c| {
                c.last_transition_time = Time::from_unix_nanos(self.ctx.unix_nanos());
                let old = pod.status.conditions.iter().find(|old| old.type_ == c.type_ && old.status == c.status);
                if let Some(old) = old {
                    c.last_transition_time = old.last_transition_time;
                }
                c
            });
            utils::patch_pod_status(&client, pod, Some("Failed"), condition.as_ref()).await?;
        }
        let options = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        client.delete::<Pod>(&meta.namespace, &meta.name, &options).await?;
        Ok(())
    }
}

/// Evicted pods first, then the oldest.
fn deletion_order(pod: &Rev<Pod>) -> (bool, Option<i64>, Str) {
    let evicted = pod.status.phase == "Failed" && pod.status.reason == "Evicted";
    (!evicted, pod.metadata.creation_timestamp.unix(), pod.metadata.name.clone())
}
