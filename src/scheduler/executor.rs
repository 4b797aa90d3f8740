//! Carries preemption out (`framework/preemption/executor.go`): pods of lower priority lose what they were promised on
//! the node, and the victims go. Meanwhile the pod that preempts stays out of the queue.

use crate::events::{self, Condition};
use crate::node_info::{PodInfo, PodKey};
use crate::preemption::Candidate;
use crate::server::{Inner, NAME};
use api::core_v1::Pod;
use api::{Rev, Status, Str};
use client::{Causes, Client, Lister, klog};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The pods for which others are being removed, by UID, each with the last victim once only that is left. Bounded by
/// the pods that wait.
#[derive(Clone, Default)]
pub struct Preempting(Rc<RefCell<BTreeMap<Str, Option<PodKey>>>>);

impl Preempting {
    /// Whether victims of this pod are still to be deleted (`IsPodRunningPreemption`).
    pub fn runs(&self, uid: &Str, pods: &Lister<Pod>) -> bool {
        match self.0.borrow().get(uid) {
            None => false,
            Some(None) => true,
            // The deletion of the last one may be seen before the answer to it.
            Some(Some(last)) => {
                pods.get(&last.0, &last.1).is_some_and(|victim| victim.metadata.deletion_timestamp.is_zero())
            }
        }
    }
    pub(crate) fn set(&self, uid: &Str, last: Option<PodKey>) {
        self.0.borrow_mut().insert(uid.clone(), last);
    }
    pub(crate) fn done(&self, uid: &Str) {
        self.0.borrow_mut().remove(uid);
    }
}

impl Inner {
    /// Pods of lower priority that were promised room on a node.
    fn lower_nominated(&self, priority: i32, node: &Str) -> Vec<Rc<PodInfo>> {
        let nominated = self.nominated.borrow();
        let lower = nominated.values().filter(|(n, other)| n == node && other.priority() < priority);
        lower.map(|(_, other)| other.clone()).collect()
    }
    fn unix_seconds(&self) -> i64 {
        self.ctx.unix_nanos() / 1_000_000_000
    }
}

/// Begins to make room; returns at once.
pub(crate) fn start(inner: &Rc<Inner>, pod: Rc<PodInfo>, best: Candidate, causes: Causes) {
    let all = best.victims.len();
    let victims: Vec<_> =
        best.victims.iter().filter(|v| v.pod.metadata.deletion_timestamp.is_zero()).cloned().collect();
    let Some((last, others)) = victims.split_last() else { return };
    let (last, others) = (last.clone(), others.to_vec());
    let uid = pod.pod.metadata.uid.clone();
    inner.gates.preempting.set(&uid, None);
    let inner = inner.clone();
    let ctx = inner.ctx.clone();
    ctx.spawn("preempt", async move {
        let key = pod.key();
        klog::info("Start the preemption asynchronously")
            .obj("preemptor", &key.0, &key.1)
            .str("node", &best.node)
            .raw("numVictims", all)
            .raw("numVictimsToDelete", others.len() + 1)
            .log(&inner.ctx, "executor.go:255");
        let client = inner.client.caused_by(&causes);
        let done = make_room(&inner, &client, &pod, &best.node, &others, &last, &causes).await;
        inner.gates.preempting.done(&uid);
        let result = if done.is_ok() { "success" } else { "error" };
        klog::info("Async Preemption finished completely")
            .obj("preemptor", &key.0, &key.1)
            .str("node", &best.node)
            .str("result", result)
            .log(&inner.ctx, "executor.go:310");
        if done.is_err() || done.is_ok_and(|last_in_memory| last_in_memory) {
            // No deletion may come that would wake the pod.
            inner.queue.borrow_mut().activate(&key);
            inner.wake.notify();
        }
    });
}

async fn make_room(
    inner: &Rc<Inner>,
    client: &Client,
    pod: &Rc<PodInfo>,
    node: &Str,
    others: &[Rc<PodInfo>],
    last: &Rc<PodInfo>,
    causes: &Causes,
) -> Result<bool, Status> {
    let mut result = Ok(());
    for lower in inner.lower_nominated(pod.priority(), node) {
        let known = inner.informers.pod(&lower.key()).unwrap_or_else(|| lower.pod.clone());
        if !known.status.nominated_node_name.is_empty()
            && let Err(status) = events::patch_status(client, inner.unix_seconds(), &known, None, Some("")).await
        {
            klog::error("Cannot clear 'NominatedNodeName' field from lower priority pods on the same target node")
                .err(&status)
                .str("node", node)
                .log(&inner.ctx, "executor.go:264");
            result = Err(status);
        }
    }
    for victim in others {
        remove(inner, client, pod, node, victim, causes).await?;
    }
    inner.gates.preempting.set(&pod.pod.metadata.uid, Some(last.key()));
    let in_memory = remove(inner, client, pod, node, last, causes).await?;
    result.map(|()| in_memory)
}

/// Removes one victim: a condition that says why, the deletion, an event. One that is gone already is no error. One that
/// is not bound yet only loses its node; whether that was so.
async fn remove(
    inner: &Rc<Inner>,
    client: &Client,
    pod: &Rc<PodInfo>,
    node: &Str,
    victim: &Rc<PodInfo>,
    causes: &Causes,
) -> Result<bool, Status> {
    let (meta, by) = (&victim.pod.metadata, pod.key());
    let tell = |how: &str| {
        let note = format!("Preempted by pod {} on node {node}{how}", pod.pod.metadata.uid);
        let (about, by) = (events::reference(victim), events::reference(pod));
        inner.recorder.eventf(&about, Some(&by), "Normal", "Preempted", "Preempting", &note, causes.clone());
    };
    if inner.pre_bind.cancel(&meta.uid) {
        tell(" (in kube-scheduler memory).");
        return Ok(true);
    }
    let failed = |what: &'static str, place: &'static str, status: Status| {
        if status.is_not_found() {
            return Ok(false);
        }
        klog::error(what)
            .err(&status)
            .obj("preemptor", &by.0, &by.1)
            .obj("victim", &meta.namespace, &meta.name)
            .log(&inner.ctx, place);
        Err(status)
    };
    let message = format!("{NAME}: preempting to accommodate a higher priority pod");
    let condition =
        Condition { type_: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", message: &message };
    let known: Rev<Pod> = inner.informers.pod(&victim.key()).unwrap_or_else(|| victim.pod.clone());
    let now = inner.unix_seconds();
    if let Err(status) = events::patch_status(client, now, &known, Some(&condition), None).await {
        return failed("Could not add DisruptionTarget condition due to preemption", "executor.go:137", status);
    }
    let options = api::meta_v1::DeleteOptions::default();
    if let Err(status) = client.delete::<Pod>(&meta.namespace, &meta.name, &options).await {
        return failed("Tried to preempted pod", "executor.go:147", status);
    }
    klog::info("Preemptor Pod preempted victim Pod")
        .obj("preemptor", &by.0, &by.1)
        .obj("victim", &meta.namespace, &meta.name)
        .str("node", node)
        .log(&inner.ctx, "executor.go:153");
    tell("");
    Ok(false)
}
