//! Ephemeral volumes (`pkg/controller/volume/ephemeral`): a claim for every volume that a pod brings along, which goes
//! with the pod.

use std::rc::Rc;

use api::core_v1::{PersistentVolumeClaim, Pod, Volume};
use api::{List, Rev};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use super::POD_CLAIM_INDEX;
use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "ephemeral-volume-controller";

struct EphemeralVolumes {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    claims: Lister<PersistentVolumeClaim>,
    pods: Lister<Pod>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting ephemeral volume controller").str("logger", LOGGER).log(&cc.ctx, "controller.go:165");
    let client = cc.client("ephemeral-volume-controller");
    let recorder = cc.recorder(&client, "ephemeral_volume", LOGGER);
    let (claims, pods) = (cc.informer::<PersistentVolumeClaim>(), cc.informer::<Pod>());
    super::index_pods(&pods);
    let controller = Rc::new(EphemeralVolumes {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        claims: claims.lister(),
        pods: pods.lister(),
        queue: WorkQueue::new(&cc.ctx, "ephemeral_volume"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    pods.on(move |delta| {
        if let Delta::Added(pod) = delta {
            this.enqueue(pod, delta.revision());
        }
    });
    let this = controller.clone();
    claims.on(move |delta| {
        // A claim of a pod that is gone too soon is made again.
        let Delta::Deleted(claim) = delta else { return };
        for pod in this.pods.by_index(POD_CLAIM_INDEX, &Key::of(&claim.metadata).to_string()) {
            this.enqueue(&pod, delta.revision());
        }
    });
    futures_util::join!(claims.synced(), pods.synced());
    Worker::spawn(&cc.ctx, 5, controller.queue.clone(), controller);
}

impl EphemeralVolumes {
    fn enqueue(&self, pod: &Rev<Pod>, revision: u64) {
        let going = pod.metadata.deletion_timestamp.unix().is_some();
        if !going && pod.spec.volumes.iter().any(|v| v.ephemeral.is_some()) {
            self.queue.add_caused(Key::of(&pod.metadata), revision);
        }
    }

    async fn make_claim(&self, client: &Client, pod: &Rev<Pod>, volume: &Volume) -> Result<(), SyncError> {
        let meta = &pod.metadata;
        let template = volume.ephemeral.get().and_then(|e| e.volume_claim_template.get());
        let (Some(template), Some(name)) = (template, api::volume::claim_name(pod, volume)) else { return Ok(()) };
        if let Some(claim) = self.claims.get(&meta.namespace, &name) {
            if utils::controller_of(&claim.metadata).is_some_and(|r| r.uid == meta.uid) {
                return Ok(());
            }
            return Err(format!(
                "PVC {}/{name} was not created for pod {}/{} (pod is not owner)",
                claim.metadata.namespace, meta.namespace, meta.name
            )
            .into());
        }
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = name.clone();
        claim.metadata.namespace = meta.namespace.clone();
        claim.metadata.labels = template.metadata.labels.clone();
        claim.metadata.annotations = template.metadata.annotations.clone();
        claim.metadata.owner_references = List::from(vec![utils::new_controller_ref::<Pod>(meta)]);
        claim.spec = template.spec.clone();
        self.observed.action(&Key::of(meta), format!("create claim {name}"));
        let created = client.create(&meta.namespace, claim).await;
        created.map(drop).map_err(|err| SyncError::Other(format!("create PVC {name}: {err}")))
    }
}

impl Reconcile<Key> for EphemeralVolumes {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(pod) = self.pods.by_key(&work.key) else { return Ok(()) };
        if pod.metadata.deletion_timestamp.unix().is_some() {
            return Ok(());
        }
        let client = self.client.caused_by(&work.causes);
        for volume in pod.spec.volumes.iter() {
            if let Err(err) = self.make_claim(&client, &pod, volume).await {
                let about = utils::object_ref::<Pod>(&pod.metadata, pod.revision);
                let text = format!("ephemeral volume {}: {err}", volume.name);
                self.recorder.event(&about, "Warning", "FailedBinding", &text);
                return Err(format!("pod {}, {text}", work.key).into());
            }
        }
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("{} failed with: {err}", work.key)).log(&self.ctx, "controller.go:207");
                self.queue.retry(work);
            }
        }
    }
}
