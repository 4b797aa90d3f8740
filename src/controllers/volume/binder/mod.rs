//! The volume binder (`pkg/controller/volume/persistentvolume`): brings claims and volumes together, gives volumes back
//! when their claim goes, and asks provisioners for what is lacking.
//!
//! What changes is looked at once; an unbound claim is looked at again with everything else every fifteen seconds.

mod binding;
mod claims;
mod volumes;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use api::storage_v1::StorageClass;
use api::{Rev, Str};
use client::{Client, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "persistentvolume-binder-controller";
/// Everything is looked at again after so long (`--pvclaimbinder-sync-period`).
const RESYNC: Duration = Duration::from_secs(15);

/// The controller's parts.
pub struct Binder {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    volume_lister: Lister<PersistentVolume>,
    claim_lister: Lister<PersistentVolumeClaim>,
    classes: Lister<StorageClass>,
    pods: Lister<Pod>,
    /// The volumes and claims as last seen or written, whichever is newer. Bounded by those there are.
    volumes: RefCell<BTreeMap<Str, Rev<PersistentVolume>>>,
    claims: RefCell<BTreeMap<Key, Rev<PersistentVolumeClaim>>>,
    volume_queue: WorkQueue<Key>,
    claim_queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// The worker of claims.
struct OfClaims(Rc<Binder>);
/// The worker of volumes.
struct OfVolumes(Rc<Binder>);

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting persistent volume controller").str("logger", LOGGER).log(&cc.ctx, "pv_controller_base.go:328");
    let client = cc.client("persistent-volume-binder");
    let recorder = cc.recorder(&client, "persistentvolume-controller", LOGGER);
    let (volumes, claims) = (cc.informer::<PersistentVolume>(), cc.informer::<PersistentVolumeClaim>());
    let (classes, pods) = (cc.informer::<StorageClass>(), cc.informer::<Pod>());
    super::index_pods(&pods);
    let binder = Rc::new(Binder {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        volume_lister: volumes.lister(),
        claim_lister: claims.lister(),
        classes: classes.lister(),
        pods: pods.lister(),
        volumes: RefCell::default(),
        claims: RefCell::default(),
        volume_queue: WorkQueue::new(&cc.ctx, "volumes"),
        claim_queue: WorkQueue::new(&cc.ctx, "claims"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&binder.volume_queue);
    cc.observed.watch_queue(&binder.claim_queue);
    let this = binder.clone();
    volumes.on(move |delta| this.volume_queue.add_caused(Key::of(&delta.object().metadata), delta.revision()));
    let this = binder.clone();
    claims.on(move |delta| this.claim_queue.add_caused(Key::of(&delta.object().metadata), delta.revision()));
    futures_util::join!(volumes.synced(), claims.synced(), classes.synced(), pods.synced());
    for volume in binder.volume_lister.list() {
        binder.keep_volume(&volume);
    }
    for claim in binder.claim_lister.list() {
        binder.keep_claim(&claim);
    }
    Worker::spawn(&cc.ctx, 1, binder.volume_queue.clone(), Rc::new(OfVolumes(binder.clone())));
    Worker::spawn(&cc.ctx, 1, binder.claim_queue.clone(), Rc::new(OfClaims(binder.clone())));
    loop {
        klog::info("Resyncing PV controller").str("logger", LOGGER).log(&cc.ctx, "pv_controller_base.go:659");
        binder.claim_lister.list().iter().for_each(|claim| binder.claim_queue.add(Key::of(&claim.metadata)));
        binder.volume_lister.list().iter().for_each(|volume| binder.volume_queue.add(Key::of(&volume.metadata)));
        cc.ctx.sleep(RESYNC).await;
    }
}

impl Binder {
    /// Keeps a volume unless a newer state of it is known; says whether it was kept.
    fn keep_volume(&self, volume: &Rev<PersistentVolume>) -> bool {
        let mut volumes = self.volumes.borrow_mut();
        let name = &volume.metadata.name;
        if volumes.get(name).is_some_and(|known| known.revision > volume.revision) {
            return false;
        }
        volumes.insert(name.clone(), volume.clone());
        true
    }

    fn keep_claim(&self, claim: &Rev<PersistentVolumeClaim>) -> bool {
        let mut claims = self.claims.borrow_mut();
        let key = Key::of(&claim.metadata);
        if claims.get(&key).is_some_and(|known| known.revision > claim.revision) {
            return false;
        }
        claims.insert(key, claim.clone());
        true
    }

    fn volume_event(&self, volume: &Rev<PersistentVolume>, type_: &str, reason: &str, text: &str) {
        let about = utils::object_ref::<PersistentVolume>(&volume.metadata, volume.revision);
        self.recorder.event(&about, type_, reason, text);
    }

    fn claim_event(&self, claim: &Rev<PersistentVolumeClaim>, type_: &str, reason: &str, text: &str) {
        let about = utils::object_ref::<PersistentVolumeClaim>(&claim.metadata, claim.revision);
        self.recorder.event(&about, type_, reason, text);
    }

    fn report(&self, line: klog::Line, err: &SyncError, place: &'static str) {
        line.err(err).str("logger", LOGGER).log(&self.ctx, place);
    }

    async fn sync_volume_by_key(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let client = self.client.caused_by(&work.causes);
        let name = &work.key.name;
        if let Some(volume) = self.volume_lister.by_key(&work.key) {
            if !self.keep_volume(&volume) {
                return Ok(());
            }
            let result = self.sync_volume(&client, volume).await;
            if let Err(err) = &result {
                let line = klog::info("Could not sync volume").str("volumeName", name);
                self.report(line, err, "pv_controller_base.go:231");
            }
            return result;
        }
        let Some(volume) = self.volumes.borrow_mut().remove(name) else { return Ok(()) };
        klog::info("volume deleted")
            .str("logger", LOGGER)
            .str("volumeName", name)
            .log(&self.ctx, "pv_controller_base.go:246");
        if let Some(claim) = volume.spec.claim_ref.get() {
            self.claim_queue.add(Key::new(claim.namespace.clone(), claim.name.clone()));
        }
        Ok(())
    }

    async fn sync_claim_by_key(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let client = self.client.caused_by(&work.causes);
        let key = &work.key;
        if let Some(claim) = self.claim_lister.by_key(key) {
            if !self.keep_claim(&claim) {
                return Ok(());
            }
            let result = self.sync_claim(&client, claim).await;
            if let Err(err) = &result {
                let line = klog::info("Could not sync claim").obj("PVC", &key.namespace, &key.name);
                self.report(line, err, "pv_controller_base.go:283");
            }
            return result;
        }
        let Some(claim) = self.claims.borrow_mut().remove(key) else { return Ok(()) };
        klog::info("Claim deleted")
            .str("logger", LOGGER)
            .obj("PVC", &key.namespace, &key.name)
            .log(&self.ctx, "pv_controller_base.go:300");
        if !claim.spec.volume_name.is_empty() {
            self.volume_queue.add(Key::new("", claim.spec.volume_name.clone()));
        }
        Ok(())
    }
}

fn settle(queue: &WorkQueue<Key>, work: Work<Key>, result: &Result<(), SyncError>) {
    match result {
        Ok(()) => queue.forget(&work.key),
        Err(_) => queue.retry(work),
    }
}

impl Reconcile<Key> for OfVolumes {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        self.0.sync_volume_by_key(work).await
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        settle(&self.0.volume_queue, work, &result);
    }
}

impl Reconcile<Key> for OfClaims {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        self.0.sync_claim_by_key(work).await
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        settle(&self.0.claim_queue, work, &result);
    }
}
