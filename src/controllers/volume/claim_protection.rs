//! Protection of claims (`pkg/controller/volume/pvcprotection`): a claim that is deleted stays until no pod uses it; and
//! a bound one says in a condition whether any pod does.

use std::rc::Rc;

use api::core_v1::{PersistentVolumeClaim, PersistentVolumeClaimCondition, Pod};
use api::rest::{ListOptions, TypedList};
use api::{List, Rev, Str, Time};
use client::{Client, Delta, Key, Lister, Work, WorkQueue, klog};

use super::{POD_CLAIM_INDEX, is_terminated};
use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "persistentvolumeclaim-protection-controller";
const FINALIZER: &str = "kubernetes.io/pvc-protection";
const UNUSED: &str = "Unused";

struct ClaimProtection {
    ctx: sim::Ctx,
    client: Client,
    claims: Lister<PersistentVolumeClaim>,
    pods: Lister<Pod>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting PVC protection controller")
        .str("logger", LOGGER)
        .log(&cc.ctx, "pvc_protection_controller.go:178");
    let (claims, pods) = (cc.informer::<PersistentVolumeClaim>(), cc.informer::<Pod>());
    super::index_pods(&pods);
    let controller = Rc::new(ClaimProtection {
        ctx: cc.ctx.clone(),
        client: cc.client("pvc-protection-controller"),
        claims: claims.lister(),
        pods: pods.lister(),
        queue: WorkQueue::new(&cc.ctx, "pvcprotection"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    claims.on(move |delta| {
        let (Delta::Added(claim) | Delta::Updated { new: claim, .. }) = delta else { return };
        let unknown = !claim.status.conditions.iter().any(|c| c.type_ == UNUSED);
        if unknown || is_candidate(claim) || lacks_finalizer(claim) {
            this.queue.add_caused(Key::of(&claim.metadata), delta.revision());
        }
    });
    let this = controller.clone();
    pods.on(move |delta| {
        let pod = delta.object();
        for claim in pod.spec.volumes.iter().filter_map(|v| api::volume::claim_name(pod, v)) {
            this.queue.add_caused(Key::new(pod.metadata.namespace.clone(), claim), delta.revision());
        }
    });
    futures_util::join!(claims.synced(), pods.synced());
    Worker::spawn(&cc.ctx, 1, controller.queue.clone(), controller);
}

fn has_finalizer(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.finalizers.iter().any(|f| f == FINALIZER)
}

/// Whether the claim waits for its users to go.
fn is_candidate(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.deletion_timestamp.unix().is_some() && has_finalizer(claim)
}

fn lacks_finalizer(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.deletion_timestamp.unix().is_none() && !has_finalizer(claim)
}

fn refers(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    pod.spec.volumes.iter().any(|volume| {
        let named = api::volume::claim_name(pod, volume).is_some_and(|name| name == claim.metadata.name);
        // A claim made for another pod of that name is not this one's.
        named
            && (volume.persistent_volume_claim.is_some()
                || claim.metadata.owner_references.iter().any(|r| r.uid == pod.metadata.uid))
    })
}

/// A pod on a node holds the claim, even if it is over.
fn holds(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    !pod.spec.node_name.is_empty() && refers(pod, claim)
}

/// A pod that is not over uses the claim.
fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    !is_terminated(pod) && refers(pod, claim)
}

impl ClaimProtection {
    fn line(&self, text: &str, claim: &PersistentVolumeClaim, place: &'static str) {
        klog::info(text)
            .str("logger", LOGGER)
            .obj("PVC", &claim.metadata.namespace, &claim.metadata.name)
            .log(&self.ctx, place);
    }

    /// Whether any pod does this with the claim: of the cache, and if none does there, of the server.
    async fn is_used(
        &self,
        client: &Client,
        claim: &PersistentVolumeClaim,
        how: fn(&Pod, &PersistentVolumeClaim) -> bool,
    ) -> Result<bool, SyncError> {
        let key = Key::of(&claim.metadata);
        if self.pods.by_index(POD_CLAIM_INDEX, &key.to_string()).iter().any(|pod| how(pod, claim)) {
            return Ok(true);
        }
        self.line("No Pod using PVC was found in the Informer's cache", claim, "pvc_protection_controller.go:426");
        let pods: Result<TypedList<Pod>, _> = client.list(&key.namespace, &ListOptions::default()).await;
        let pods = pods.map_err(|err| SyncError::Other(format!("live list of pods failed: {err}")))?;
        let used = pods.items.iter().any(|pod| how(pod, claim));
        if !used {
            self.line("PVC is unused", claim, "pvc_protection_controller.go:453");
        }
        Ok(used)
    }

    async fn update_condition(
        &self,
        client: &Client,
        claim: &Rev<PersistentVolumeClaim>,
        used: bool,
    ) -> Result<(), SyncError> {
        let (status, reason, message) = if used {
            ("False", "PodUsingPVC", "A pod is currently referencing this PVC")
        } else {
            ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")
        };
        let old = claim.status.conditions.iter().find(|c| c.type_ == UNUSED).map(|c| c.status == "True");
        if old == Some(!used) {
            return Ok(());
        }
        let condition = PersistentVolumeClaimCondition {
            type_: UNUSED.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            last_transition_time: Time::from_unix_nanos(self.ctx.unix_nanos()),
            ..Default::default()
        };
        let mut new = (**claim).clone();
        let conditions = new.status.make().conditions.make();
        match conditions.iter_mut().find(|c| c.type_ == UNUSED) {
            Some(old) => *old = condition,
            None => conditions.push(condition),
        }
        client.update_status(new, claim.revision).await?;
        self.line("Updated Unused condition in PVC status", claim, "pvc_protection_controller.go:368");
        Ok(())
    }

    async fn set_finalizers(
        &self,
        client: &Client,
        claim: &Rev<PersistentVolumeClaim>,
        finalizers: Vec<Str>,
    ) -> Result<(), SyncError> {
        let mut new = (**claim).clone();
        new.metadata.finalizers = List::from(finalizers);
        client.update(new, claim.revision).await?;
        Ok(())
    }

    async fn process(&self, client: &Client, claim: &Rev<PersistentVolumeClaim>) -> Result<(), SyncError> {
        if claim.metadata.deletion_timestamp.unix().is_none() && claim.status.phase == "Bound" {
            let used = self.is_used(client, claim, uses).await?;
            self.update_condition(client, claim, used).await?;
        }
        let key = Key::of(&claim.metadata);
        let finalizers = claim.metadata.finalizers.iter();
        if is_candidate(claim) {
            if !self.is_used(client, claim, holds).await? {
                self.observed.action(&key, "let the claim go".to_string());
                self.set_finalizers(client, claim, finalizers.filter(|f| *f != FINALIZER).cloned().collect()).await?;
                self.line("Removed protection finalizer from PVC", claim, "pvc_protection_controller.go:326");
                return Ok(());
            }
            self.line("Keeping PVC because it is being used", claim, "pvc_protection_controller.go:291");
        }
        if lacks_finalizer(claim) {
            let with = claim.metadata.finalizers.iter().cloned().chain([Str::from(FINALIZER)]).collect();
            self.set_finalizers(client, claim, with).await?;
            self.line("Added protection finalizer to PVC", claim, "pvc_protection_controller.go:313");
        }
        Ok(())
    }
}

impl Reconcile<Key> for ClaimProtection {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(claim) = self.claims.by_key(&work.key) else { return Ok(()) };
        self.line("Processing PVC", &claim, "pvc_protection_controller.go:254");
        self.process(&self.client.caused_by(&work.causes), &claim).await
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                // The name comes first; so it does in Kubernetes.
                klog::unhandled(format!("PVC {}/{} failed with: {err}", work.key.name, work.key.namespace))
                    .log(&self.ctx, "pvc_protection_controller.go:245");
                self.queue.retry(work);
            }
        }
    }
}
