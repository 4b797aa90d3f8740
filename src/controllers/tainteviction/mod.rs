//! The taint eviction controller (`pkg/controller/tainteviction`): pods that do not tolerate their node's NoExecute
//! taints are deleted, at once or when their toleration runs out.

mod timed_workers;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{Node, Pod, PodCondition, Taint, Toleration};
use api::{Rev, Status, Str};
use client::{Causes, Client, Delta, EventRecorder, Key, Lister, klog, object_reference};
use sim::Instant;

use crate::context::ControllerContext;
use crate::controller_utils as utils;
use timed_workers::TimedWorkers;

const NAME: &str = "taint-eviction-controller";
/// Wait after a run that a fault left out.
const SKIPPED: Duration = Duration::from_millis(10);
/// Tries to delete a pod.
const RETRIES: u32 = 5;

/// The controller's parts.
pub struct TaintEvictionController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    nodes: Lister<Node>,
    pods: Lister<Pod>,
    /// NoExecute taints by node. Bounded by the nodes.
    tainted: RefCell<BTreeMap<Str, Vec<Taint>>>,
    workers: TimedWorkers,
    observed: crate::observed::Handle,
    rng: RefCell<sim::Rng>,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting").str("logger", NAME).str("controller", NAME).log(&cc.ctx, "taint_eviction.go:284");
    let client = cc.client("node-controller");
    let recorder = cc.recorder(&client, NAME, NAME);
    klog::info("Sending events to API server").str("logger", NAME).log(&cc.ctx, "taint_eviction.go:289");
    let (nodes, pods) = (cc.informer::<Node>(), cc.informer::<Pod>());
    let tc = Rc::new(TaintEvictionController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        nodes: nodes.lister(),
        pods: pods.lister(),
        tainted: RefCell::default(),
        workers: TimedWorkers::new(&cc.ctx),
        observed: cc.observed.clone(),
        rng: RefCell::new(cc.ctx.rng("skip taint eviction")),
    });
    futures_util::join!(pods.synced(), nodes.synced());
    let this = tc.clone();
    nodes.on(move |delta| this.on_node(delta));
    let this = tc;
    pods.on(move |delta| this.on_pod(delta));
}

/// Whether a toleration covers a taint (`Toleration.ToleratesTaint`).
fn tolerates(t: &Toleration, taint: &Taint) -> bool {
    if !t.effect.is_empty() && t.effect != taint.effect {
        return false;
    }
    if !t.key.is_empty() && t.key != taint.key {
        return false;
    }
    match &*t.operator {
        "" | "Equal" => t.value == taint.value,
        "Exists" => true,
        _ => false,
    }
}

/// How long a pod may stay: `None` for ever, zero not at all.
fn allowance(tolerations: &[Toleration], taints: &[Taint]) -> Result<Option<Duration>, ()> {
    let mut shortest: Option<i64> = None;
    for taint in taints {
        // The first toleration that matches counts for its taint.
        let used = tolerations.iter().find(|t| tolerates(t, taint)).ok_or(())?;
        if let Some(seconds) = used.toleration_seconds {
            shortest = Some(shortest.map_or(seconds, |s| s.min(seconds)));
        }
    }
    Ok(shortest.map(|s| Duration::from_secs(u64::try_from(s).unwrap_or(0))))
}

fn no_execute(node: &Node) -> Vec<Taint> {
    node.spec.taints.iter().filter(|t| t.effect == "NoExecute").cloned().collect()
}

fn taints_json(taints: &[Taint]) -> String {
    let json = taints.iter().map(|t| String::from_utf8_lossy(&api::json::encode_bare(t)).into_owned());
    format!("[{}]", json.collect::<Vec<_>>().join(","))
}

impl TaintEvictionController {
    fn on_node(self: &Rc<Self>, delta: &Delta<Node>) {
        let name = delta.object().metadata.name.clone();
        match delta {
            Delta::Updated { old, new } if no_execute(old) == no_execute(new) => return,
            Delta::Deleted(_) => {
                klog::info("Noticed node deletion").obj("node", "", &name).log(&self.ctx, "taint_eviction.go:541");
                self.tainted.borrow_mut().remove(&name);
                return;
            }
            _ => {}
        }
        let Some(node) = self.nodes.get("", &name) else { return };
        klog::info("Noticed node update").obj("node", "", &name).log(&self.ctx, "taint_eviction.go:550");
        let taints = no_execute(&node);
        klog::info("Updating known taints on node")
            .obj("node", "", &name)
            .raw("taints", taints_json(&taints))
            .log(&self.ctx, "taint_eviction.go:555");
        if taints.is_empty() {
            self.tainted.borrow_mut().remove(&name);
        } else {
            self.tainted.borrow_mut().insert(name.clone(), taints.clone());
        }
        let pods = self.pods.by_index(utils::NODE_NAME_INDEX, &name);
        if pods.is_empty() {
            return;
        }
        if taints.is_empty() {
            klog::info("All taints were removed from the node. Cancelling all evictions...")
                .obj("node", "", &name)
                .log(&self.ctx, "taint_eviction.go:577");
            pods.iter().for_each(|p| self.cancel(&Key::of(&p.metadata)));
            return;
        }
        for pod in &pods {
            self.process_pod(pod, &name, &taints, node.revision);
        }
    }

    fn on_pod(self: &Rc<Self>, delta: &Delta<Pod>) {
        let pod = delta.object();
        let key = Key::of(&pod.metadata);
        match delta {
            Delta::Updated { old, new }
                if old.spec.node_name == new.spec.node_name && old.spec.tolerations == new.spec.tolerations =>
            {
                return;
            }
            Delta::Deleted(_) => {
                klog::info("Noticed pod deletion")
                    .obj("pod", &key.namespace, &key.name)
                    .log(&self.ctx, "taint_eviction.go:499");
                self.cancel(&key);
                return;
            }
            _ => {}
        }
        klog::info("Noticed pod update").obj("pod", &key.namespace, &key.name).log(&self.ctx, "taint_eviction.go:514");
        if pod.spec.node_name.is_empty() {
            return;
        }
        let Some(taints) = self.tainted.borrow().get(&pod.spec.node_name).cloned() else { return };
        self.process_pod(pod, &pod.spec.node_name, &taints, pod.revision);
    }

    fn process_pod(self: &Rc<Self>, pod: &Rev<Pod>, node: &str, taints: &[Taint], cause: u64) {
        let key = Key::of(&pod.metadata);
        let now = self.ctx.now();
        let allowed = match allowance(&pod.spec.tolerations, taints) {
            Err(()) => {
                klog::info("Not all taints are tolerated after update for pod on node")
                    .str("pod", &key.to_string())
                    .obj("node", "", node)
                    .log(&self.ctx, "taint_eviction.go:465");
                self.cancel(&key);
                return self.schedule(key, now, now, cause);
            }
            Ok(None) => {
                klog::info("Current tolerations for pod tolerate forever, cancelling any scheduled deletion")
                    .str("pod", &key.to_string())
                    .log(&self.ctx, "taint_eviction.go:474");
                return self.cancel(&key);
            }
            Ok(Some(allowed)) => allowed,
        };
        let trigger = now + allowed;
        let mut start = now;
        if let Some(created) = self.workers.scheduled(&key) {
            // An eviction that comes earlier stands.
            start = created;
            if start + allowed < trigger {
                return;
            }
            self.cancel(&key);
        }
        self.schedule(key, start, trigger, cause);
    }

    fn schedule(self: &Rc<Self>, key: Key, created: Instant, fire: Instant, cause: u64) {
        self.observed.desired(&key, "gone from its node".into());
        let this = self.clone();
        let pod = key.clone();
        self.workers.add(key, created, fire, move || async move { this.evict(&pod, cause).await });
    }

    fn cancel(&self, key: &Key) {
        if self.workers.cancel(key) {
            let about = object_reference("v1", "Pod", &key.namespace, &key.name, "");
            let message = format!("Cancelling deletion of Pod {key}");
            self.recorder.event(&about, "Normal", "TaintManagerEviction", &message);
        }
    }

    async fn evict(&self, key: &Key, cause: u64) -> Result<(), Status> {
        klog::info("Deleting pod")
            .str("controller", NAME)
            .obj("pod", &key.namespace, &key.name)
            .log(&self.ctx, "taint_eviction.go:111");
        let about = object_reference("v1", "Pod", &key.namespace, &key.name, "");
        let message = format!("Marking for deletion Pod {key}");
        self.recorder.event(&about, "Normal", "TaintManagerEviction", &message);
        self.observed.action(key, "delete".into());
        let client = self.client.caused_by(&Causes::of(cause));
        let mut tries = 1;
        loop {
            // A fault makes this loop wait its turn out.
            while self.observed.leaves_out(&mut self.rng.borrow_mut()) {
                self.ctx.sleep(SKIPPED).await;
            }
            match self.mark_and_delete(&client, key).await {
                Ok(()) => return Ok(()),
                Err(err) if tries >= RETRIES => return Err(err),
                Err(_) => {}
            }
            tries += 1;
            self.ctx.sleep(Duration::from_millis(10)).await;
        }
    }

    async fn mark_and_delete(&self, client: &Client, key: &Key) -> Result<(), Status> {
        let pod: Rev<Pod> = client.get(&key.namespace, &key.name).await?;
        let mut status = (*pod.status).clone();
        let condition = PodCondition {
            type_: "DisruptionTarget".into(),
            observed_generation: pod.metadata.generation,
            status: "True".into(),
            reason: "DeletionByTaintManager".into(),
            message: "Taint manager: deleting due to NoExecute taint".into(),
            ..PodCondition::default()
        };
        let now = api::Time::from_unix_nanos(self.ctx.unix_nanos());
        if utils::update_pod_condition(&mut status, condition, &now) {
            let condition = status.conditions.iter().find(|c| c.type_ == "DisruptionTarget");
            utils::patch_pod_status(client, &pod, None, condition).await?;
        }
        client.delete::<Pod>(&key.namespace, &key.name, &Default::default()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(key: &str, seconds: Option<i64>) -> Toleration {
        Toleration {
            key: key.into(),
            operator: "Exists".into(),
            effect: "NoExecute".into(),
            toleration_seconds: seconds,
            ..Toleration::default()
        }
    }

    fn taint(key: &str) -> Taint {
        Taint { key: key.into(), effect: "NoExecute".into(), ..Taint::default() }
    }

    #[test]
    fn the_shortest_toleration_counts() {
        let tolerations = [toleration("a", Some(300)), toleration("b", Some(20)), toleration("c", None)];
        assert_eq!(allowance(&tolerations, &[taint("a"), taint("b")]), Ok(Some(Duration::from_secs(20))));
        assert_eq!(allowance(&tolerations, &[taint("c")]), Ok(None));
        assert_eq!(allowance(&tolerations, &[taint("a"), taint("x")]), Err(()));
        assert_eq!(allowance(&[toleration("a", Some(-5))], &[taint("a")]), Ok(Some(Duration::ZERO)));
    }
}
