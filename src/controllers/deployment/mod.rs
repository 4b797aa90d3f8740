//! The deployment controller (`pkg/controller/deployment`): turns a Deployment into ReplicaSets and moves the pods from
//! the old to the new.

mod progress;
mod recreate;
mod rolling;
mod sync;
pub mod util;

use std::rc::Rc;

use api::apps_v1::{Deployment, ReplicaSet};
use api::core_v1::Pod;
use api::meta_v1::OwnerReference;
use api::selector::LabelSelector as Selector;
use api::{Resource, Rev};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError, controller_of};
use crate::worker::{Reconcile, Worker};

/// Tries before a key that fails is dropped until the next change.
const MAX_RETRIES: u32 = 15;
const LOGGER: &str = "deployment-controller";

/// The controller's parts.
pub struct DeploymentController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    deployments: Lister<Deployment>,
    replica_sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting controller").str("controller", "deployment").log(&cc.ctx, "deployment_controller.go:174");
    let client = cc.client("deployment-controller");
    let recorder = cc.recorder(&client, "deployment-controller", LOGGER);
    let deployments = cc.informer::<Deployment>();
    let replica_sets = cc.informer::<ReplicaSet>();
    let pods = cc.informer::<Pod>();
    let dc = Rc::new(DeploymentController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        deployments: deployments.lister(),
        replica_sets: replica_sets.lister(),
        pods: pods.lister(),
        queue: WorkQueue::new(&cc.ctx, "deployment"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&dc.queue);
    let this = dc.clone();
    deployments.on(move |delta| this.on_deployment(delta));
    let this = dc.clone();
    replica_sets.on(move |delta| this.on_replica_set(delta));
    let this = dc.clone();
    pods.on(move |delta| this.on_pod(delta));
    futures_util::join!(deployments.synced(), replica_sets.synced(), pods.synced());
    Worker::spawn(&cc.ctx, 5, dc.queue.clone(), dc);
}

impl DeploymentController {
    fn on_deployment(&self, delta: &Delta<Deployment>) {
        let (message, place) = match delta {
            Delta::Added(_) => ("Adding deployment", "deployment_controller.go:203"),
            Delta::Updated { .. } => ("Updating deployment", "deployment_controller.go:210"),
            Delta::Deleted(_) => ("Deleting deployment", "deployment_controller.go:230"),
        };
        let d = delta.object();
        klog::info(message)
            .str("logger", LOGGER)
            .obj("deployment", &d.metadata.namespace, &d.metadata.name)
            .log(&self.ctx, place);
        self.queue.add_caused(Key::of(&d.metadata), delta.revision());
    }

    fn on_replica_set(&self, delta: &Delta<ReplicaSet>) {
        match delta {
            Delta::Added(rs) if rs.metadata.deletion_timestamp.unix().is_some() => self.replica_set_deleted(rs),
            Delta::Added(rs) => self.replica_set_changed(rs, true, "added", "deployment_controller.go:248"),
            Delta::Updated { old, new } => {
                if old.revision == new.revision {
                    return;
                }
                let (before, after) = (controller_of(&old.metadata), controller_of(&new.metadata));
                let moved = !utils::same_ref(before, after);
                if moved && let Some(d) = before.and_then(|r| self.resolve(&old.metadata.namespace, r)) {
                    self.queue.add_caused(Key::of(&d.metadata), new.revision);
                }
                let relabelled = old.metadata.labels != new.metadata.labels;
                self.replica_set_changed(new, relabelled || moved, "updated", "deployment_controller.go:313");
            }
            Delta::Deleted(rs) => self.replica_set_deleted(rs),
        }
    }

    /// Wakes the owner; an orphan wakes those who might adopt it, if `orphan_matters`.
    fn replica_set_changed(&self, rs: &Rev<ReplicaSet>, orphan_matters: bool, verb: &str, place: &'static str) {
        let meta = &rs.metadata;
        let log = |message: String| {
            klog::info(&message)
                .str("logger", LOGGER)
                .obj("replicaSet", &meta.namespace, &meta.name)
                .log(&self.ctx, place)
        };
        if let Some(reference) = controller_of(meta) {
            if let Some(d) = self.resolve(&meta.namespace, reference) {
                log(format!("ReplicaSet {verb}"));
                self.queue.add_caused(Key::of(&d.metadata), rs.revision);
            }
            return;
        }
        if !orphan_matters || meta.labels.is_empty() {
            return;
        }
        let mut logged = false;
        for d in self.deployments.in_namespace(&meta.namespace) {
            let Ok(selector) = Selector::from_api(d.spec.selector.get()) else { continue };
            if selector.is_empty() || !selector.matches(&meta.labels) {
                continue;
            }
            if !logged {
                log(format!("Orphan ReplicaSet {verb}"));
                logged = true;
            }
            self.queue.add_caused(Key::of(&d.metadata), rs.revision);
        }
    }

    fn replica_set_deleted(&self, rs: &Rev<ReplicaSet>) {
        let meta = &rs.metadata;
        let Some(d) = controller_of(meta).and_then(|r| self.resolve(&meta.namespace, r)) else { return };
        klog::info("ReplicaSet deleted")
            .str("logger", LOGGER)
            .obj("replicaSet", &meta.namespace, &meta.name)
            .log(&self.ctx, "deployment_controller.go:356");
        self.queue.add_caused(Key::of(&d.metadata), rs.revision);
    }

    /// A Recreate deployment goes on once its old pods are gone.
    fn on_pod(&self, delta: &Delta<Pod>) {
        let Delta::Deleted(pod) = delta else { return };
        let meta = &pod.metadata;
        let Some(reference) = controller_of(meta).filter(|r| r.kind == "ReplicaSet") else { return };
        let Some(rs) = self.replica_sets.get(&meta.namespace, &reference.name) else { return };
        if rs.metadata.uid != reference.uid {
            return;
        }
        let Some(d) = controller_of(&rs.metadata).and_then(|r| self.resolve(&meta.namespace, r)) else { return };
        klog::info("Pod deleted")
            .str("logger", LOGGER)
            .obj("pod", &meta.namespace, &meta.name)
            .log(&self.ctx, "deployment_controller.go:393");
        if d.spec.strategy.type_ == "Recreate" {
            self.queue.add_caused(Key::of(&d.metadata), pod.revision);
        }
    }

    /// The deployment that a controller reference names, if it is the same one still.
    fn resolve(&self, namespace: &str, reference: &OwnerReference) -> Option<Rev<Deployment>> {
        if reference.kind != "Deployment" {
            return None;
        }
        self.deployments.get(namespace, &reference.name).filter(|d| d.metadata.uid == reference.uid)
    }
}

impl Reconcile<Key> for DeploymentController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let started = self.ctx.now();
        klog::info("Started syncing deployment")
            .obj("deployment", &key.namespace, &key.name)
            .str("startTime", &klog::go_time(self.ctx.unix_nanos(), Some(started.as_nanos())))
            .log(&self.ctx, "deployment_controller.go:583");
        let result = self.sync_deployment(work).await;
        klog::info("Finished syncing deployment")
            .obj("deployment", &key.namespace, &key.name)
            .duration("duration", self.ctx.now().since(started))
            .log(&self.ctx, "deployment_controller.go:585");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        let err = match result {
            Err(err) if !err.namespace_terminating() => err,
            _ => return self.queue.forget(&work.key),
        };
        let (namespace, name) = (&work.key.namespace, &work.key.name);
        if self.queue.num_requeues(&work.key) < MAX_RETRIES {
            klog::info("Error syncing deployment")
                .obj("deployment", namespace, name)
                .err(&err)
                .log(&self.ctx, "deployment_controller.go:511");
            return self.queue.retry(work);
        }
        klog::unhandled(&err).log(&self.ctx, "deployment_controller.go:516");
        klog::info("Dropping deployment out of the queue")
            .obj("deployment", namespace, name)
            .err(&err)
            .log(&self.ctx, "deployment_controller.go:517");
        self.queue.forget(&work.key);
    }
}

/// One run for one deployment: the working copy, which is written with the revision it was read at.
struct Run<'a> {
    dc: &'a DeploymentController,
    client: Client,
    d: Deployment,
    revision: u64,
}

impl DeploymentController {
    async fn sync_deployment(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(found) = self.deployments.get(&work.key.namespace, &work.key.name) else {
            klog::info("Deployment has been deleted")
                .obj("deployment", &work.key.namespace, &work.key.name)
                .log(&self.ctx, "deployment_controller.go:590");
            return Ok(());
        };
        let client = self.client.caused_by(&work.causes);
        let mut run = Run { dc: self, client, d: (*found).clone(), revision: found.revision };
        run.sync_one().await
    }
}

impl Run<'_> {
    async fn sync_one(&mut self) -> Result<(), SyncError> {
        let selector = Selector::from_api(self.d.spec.selector.get());
        if self.d.spec.selector.get().is_some_and(|s| s.match_labels.is_empty() && s.match_expressions.is_empty()) {
            self.event(
                "Warning",
                "SelectingAll",
                "This deployment is selecting all pods. A non-empty selector is required.",
            );
            if self.d.status.observed_generation < self.d.metadata.generation {
                self.d.status.make().observed_generation = self.d.metadata.generation;
                let _ = self.update_status().await;
            }
            return Ok(());
        }
        let (namespace, name) = (self.d.metadata.namespace.clone(), self.d.metadata.name.clone());
        let selector = selector
            .map_err(|e| SyncError::from(format!("deployment {namespace}/{name} has invalid label selector: {e}")))?;
        let sets = self.claim_replica_sets(&selector).await?;
        self.dc.observed.desired(&self.key(), format!("{} replicas", util::replicas(&self.d)));
        self.dc.observed.actual(
            &self.key(),
            format!("{} replicas in {} replica sets", util::status_count(&sets, |s| s.replicas), sets.len()),
        );

        if self.d.metadata.deletion_timestamp.unix().is_some() {
            return self.sync_status_only(sets).await;
        }
        self.check_paused_conditions().await?;
        if self.d.spec.paused {
            return self.sync(sets).await;
        }
        if self.is_scaling_event(&sets).await? {
            return self.sync(sets).await;
        }
        match &*self.d.spec.strategy.type_ {
            "Recreate" => self.rollout_recreate(sets).await,
            "RollingUpdate" => self.rollout_rolling(sets).await,
            other => Err(format!("unexpected deployment strategy type: {other}").into()),
        }
    }

    fn key(&self) -> Key {
        Key::of(&self.d.metadata)
    }

    fn event(&self, type_: &str, reason: &str, message: &str) {
        let reference = utils::object_ref::<Deployment>(&self.d.metadata, self.revision);
        self.dc.recorder.event(&reference, type_, reason, message);
    }

    async fn update_status(&self) -> Result<Rev<Deployment>, SyncError> {
        Ok(self.client.update_status(self.d.clone(), self.revision).await?)
    }

    /// The sets that are this deployment's, after adopting orphans and releasing those that no longer match.
    async fn claim_replica_sets(&self, selector: &Selector) -> Result<Vec<Rev<ReplicaSet>>, SyncError> {
        let all = self.dc.replica_sets.in_namespace(&self.d.metadata.namespace);
        let claim = utils::Claim {
            ctx: &self.dc.ctx,
            client: &self.client,
            owner: &self.d.metadata,
            kind: Deployment::KIND,
            selector,
        };
        claim.claim::<Deployment, ReplicaSet>(all).await
    }
}
