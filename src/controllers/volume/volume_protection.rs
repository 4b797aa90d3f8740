//! Protection of volumes (`pkg/controller/volume/pvprotection`): a volume that is deleted stays while it is bound.

use std::rc::Rc;

use api::core_v1::PersistentVolume;
use api::{List, Str};
use client::{Client, Delta, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "persistentvolume-protection-controller";
const FINALIZER: &str = "kubernetes.io/pv-protection";

struct VolumeProtection {
    ctx: sim::Ctx,
    client: Client,
    volumes: Lister<PersistentVolume>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting PV protection controller")
        .str("logger", LOGGER)
        .log(&cc.ctx, "pv_protection_controller.go:84");
    let volumes = cc.informer::<PersistentVolume>();
    let controller = Rc::new(VolumeProtection {
        ctx: cc.ctx.clone(),
        client: cc.client("pv-protection-controller"),
        volumes: volumes.lister(),
        queue: WorkQueue::new(&cc.ctx, "pvprotection"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    volumes.on(move |delta| {
        let (Delta::Added(volume) | Delta::Updated { new: volume, .. }) = delta else { return };
        if is_going(volume) == has_finalizer(volume) {
            this.queue.add_caused(Key::of(&volume.metadata), delta.revision());
        }
    });
    volumes.synced().await;
    Worker::spawn(&cc.ctx, 1, controller.queue.clone(), controller);
}

fn is_going(volume: &PersistentVolume) -> bool {
    volume.metadata.deletion_timestamp.unix().is_some()
}

fn has_finalizer(volume: &PersistentVolume) -> bool {
    volume.metadata.finalizers.iter().any(|f| f == FINALIZER)
}

impl Reconcile<Key> for VolumeProtection {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(volume) = self.volumes.by_key(&work.key) else { return Ok(()) };
        let line = |text: &str, place| {
            klog::info(text).str("logger", LOGGER).str("PV", &work.key.name).log(&self.ctx, place);
        };
        line("Processing PV", "pv_protection_controller.go:134");
        let (going, held) = (is_going(&volume), has_finalizer(&volume));
        if going != held {
            return Ok(());
        }
        if going && volume.status.phase == "Bound" {
            line("Keeping PV because it is being used", "pv_protection_controller.go:156");
            return Ok(());
        }
        let mut new = (*volume).clone();
        let finalizers = volume.metadata.finalizers.iter().filter(|f| *f != FINALIZER).cloned();
        let added = (!going).then(|| Str::from(FINALIZER));
        new.metadata.finalizers = List::from(finalizers.chain(added).collect::<Vec<Str>>());
        if going {
            self.observed.action(&work.key, "let the volume go".to_string());
        }
        self.client.caused_by(&work.causes).update(new, volume.revision).await?;
        match going {
            true => line("Removed protection finalizer from PV", "pv_protection_controller.go:191"),
            false => line("Added protection finalizer to PV", "pv_protection_controller.go:178"),
        }
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("PV {} failed with : {err}", work.key.name))
                    .log(&self.ctx, "pv_protection_controller.go:126");
                self.queue.retry(work);
            }
        }
    }
}
