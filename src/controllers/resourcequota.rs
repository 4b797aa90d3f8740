//! The resource quota controller (`pkg/controller/resourcequota`): counts for every ResourceQuota what its namespace
//! uses, again whenever something goes that it counts, and every five minutes.

use std::rc::Rc;
use std::time::Duration;

use api::core_v1::ResourceQuota;
use api::quota::{self, amounts};
use api::resource_v1::DeviceClass;
use api::{KindInfo, Map, Object, Resource, Str};
use client::{AnyDelta, Client, Delta, DynInformer, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "resourcequota-controller";
/// All quotas are counted again after so long (`--resource-quota-sync-period`).
const RESYNC: Duration = Duration::from_secs(300);
const WORKERS: usize = 5;

struct QuotaController {
    ctx: sim::Ctx,
    client: Client,
    quotas: Lister<ResourceQuota>,
    counted: Vec<DynInformer>,
    /// Device classes, which may stand for extended resources.
    classes: DynInformer,
    queue: WorkQueue<Key>,
    /// Quotas that nobody has counted yet come first.
    missing: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// One of the two queues with the controller, for its workers.
struct Queued(Rc<QuotaController>, WorkQueue<Key>);

/// The kinds that quotas count.
fn counted_kinds() -> impl Iterator<Item = &'static KindInfo> {
    let preferred = |kind: &&'static KindInfo| {
        ["create", "list", "watch", "delete"].iter().all(|verb| kind.has_verb(verb)) && quota::evaluator(kind).is_some()
    };
    api::scheme::resources().iter().copied().filter(|kind| kind.namespaced && kind.stored()).filter(preferred)
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting resource quota controller")
        .str("logger", LOGGER)
        .log(&cc.ctx, "resource_quota_controller.go:297");
    let quotas = cc.informer::<ResourceQuota>();
    // What others work with is read first: here are most kinds there are.
    quotas.synced().await;
    let mut counted: Vec<DynInformer> = Vec::new();
    for kind in counted_kinds() {
        if !counted.iter().any(|i| (i.kind().group, i.kind().plural) == (kind.group, kind.plural)) {
            counted.push(cc.informers.of_kind(kind));
        }
    }
    let controller = Rc::new(QuotaController {
        ctx: cc.ctx.clone(),
        client: cc.client("resourcequota-controller"),
        quotas: quotas.lister(),
        counted,
        classes: cc.informers.of_kind(DeviceClass::KIND),
        queue: WorkQueue::new(&cc.ctx, "resourcequota_primary"),
        missing: WorkQueue::new(&cc.ctx, "resourcequota_priority"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    cc.observed.watch_queue(&controller.missing);
    let this = controller.clone();
    quotas.on(move |delta| this.on_quota(delta));
    klog::info("QuotaMonitor running").str("logger", LOGGER).log(&cc.ctx, "resource_quota_monitor.go:309");
    for informer in &controller.counted {
        let (this, kind) = (controller.clone(), informer.kind());
        informer.on(move |delta| this.on_object(kind, delta));
    }
    for informer in controller.counted.iter().chain([&controller.classes]) {
        informer.synced().await;
    }
    for queue in [&controller.queue, &controller.missing] {
        let queued = Rc::new(Queued(controller.clone(), queue.clone()));
        Worker::spawn(&cc.ctx, WORKERS, queue.clone(), queued);
    }
    loop {
        for quota in controller.quotas.list() {
            controller.queue.add(Key::of(&quota.metadata));
        }
        klog::info("Resource quota controller queued all resource quota for full calculation of usage")
            .str("logger", LOGGER)
            .log(&cc.ctx, "resource_quota_controller.go:196");
        cc.ctx.sleep(RESYNC).await;
    }
}

impl QuotaController {
    /// Whether the status lacks something that this controller can count.
    fn is_uncounted(&self, quota: &ResourceQuota) -> bool {
        if !same_amounts(&quota.spec.hard, &quota.status.hard) {
            return true;
        }
        let lacking: Vec<Str> =
            quota.status.hard.keys().filter(|name| !quota.status.used.contains_key(name)).cloned().collect();
        let around = |kind: &'static KindInfo, with: &mut dyn FnMut(&dyn Object)| {
            self.each(&quota.metadata.namespace, kind, with)
        };
        let counts = |kind| quota::evaluator(kind).is_some_and(|e| !e.matching_resources(&lacking, &around).is_empty());
        !lacking.is_empty() && counted_kinds().any(counts)
    }

    fn on_quota(&self, delta: &Delta<ResourceQuota>) {
        let quota = delta.object();
        let key = Key::of(&quota.metadata);
        match delta {
            // Its status is written by this controller only.
            Delta::Updated { old, new } if same_amounts(&old.spec.hard, &new.spec.hard) => {}
            Delta::Deleted(_) => self.queue.add_caused(key, delta.revision()),
            _ if self.is_uncounted(quota) => self.missing.add_caused(key, delta.revision()),
            _ => self.queue.add_caused(key, delta.revision()),
        }
    }

    /// Something that quotas count went, or counts less.
    fn on_object(&self, kind: &'static KindInfo, delta: &AnyDelta) {
        let (object, event) = match delta {
            Delta::Added(_) => return,
            Delta::Updated { new, .. } => (new, "update"),
            Delta::Deleted(object) => (object, "delete"),
        };
        let Some(meta) = object.body.metadata() else { return };
        let quotas = self.quotas.in_namespace(&meta.namespace);
        if quotas.is_empty() {
            return;
        }
        if let Delta::Updated { old, new } = delta
            && !quota::is_to_replenish(&*new.body, &*old.body, self.ctx.unix_nanos())
        {
            return;
        }
        klog::info("QuotaMonitor process object")
            .str("logger", LOGGER)
            .str("resource", &format!("{}/{}, Resource={}", kind.group, kind.version, kind.plural))
            .str("namespace", &meta.namespace)
            .str("name", &meta.name)
            .str("uid", &meta.uid)
            .str("eventType", event)
            .log(&self.ctx, "resource_quota_monitor.go:373");
        let Some(evaluator) = quota::evaluator(kind) else { return };
        let around =
            |kind: &'static KindInfo, with: &mut dyn FnMut(&dyn Object)| self.each(&meta.namespace, kind, with);
        for quota in quotas {
            if !evaluator.matching_resources(&amounts::names(&quota.status.hard), &around).is_empty() {
                self.queue.add_caused(Key::of(&quota.metadata), delta.revision());
            }
        }
    }

    /// Calls `with` with every object of a kind, in the namespace if it is in one.
    fn each(&self, namespace: &str, kind: &'static KindInfo, with: &mut dyn FnMut(&dyn Object)) {
        let is = |i: &&DynInformer| (i.kind().group, i.kind().plural) == (kind.group, kind.plural);
        let informer = self.counted.iter().chain([&self.classes]).find(is);
        for object in informer.map(|i| i.in_namespace(if kind.namespaced { namespace } else { "" })).unwrap_or_default()
        {
            with(&*object.body);
        }
    }

    async fn sync(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let Some(quota) = self.quotas.by_key(key) else {
            klog::info("Resource quota has been deleted")
                .str("logger", LOGGER)
                .str("key", &key.to_string())
                .log(&self.ctx, "resource_quota_controller.go:356");
            return Ok(());
        };
        let each = |kind: &'static KindInfo, count: &mut dyn FnMut(&dyn Object)| self.each(&key.namespace, kind, count);
        let hard = quota.spec.hard.clone();
        let mut used = quota.status.used.clone();
        for (name, amount) in quota::calculate_usage(&quota.spec, self.ctx.unix_nanos(), &each).iter() {
            used.insert(name.clone(), amount.clone());
        }
        let used = amounts::mask(&used, &amounts::names(&hard));
        self.observed.desired(key, "used as counted".to_string());
        let status = &quota.status;
        let is_dirty = !same_amounts(&hard, &status.hard)
            || status.hard.is_nil()
            || status.used.is_nil()
            || !same_amounts(&used, &status.used);
        if !is_dirty {
            return Ok(());
        }
        let mut new = (*quota).clone();
        let status = new.status.make();
        (status.hard, status.used) = (hard, used);
        self.observed.action(key, "write what is used".to_string());
        self.client.caused_by(&work.causes).update_status(new, quota.revision).await?;
        Ok(())
    }
}

fn same_amounts(a: &Map<api::Quantity>, b: &Map<api::Quantity>) -> bool {
    a.len() == b.len() && a.iter().all(|(name, amount)| b.get(name).is_some_and(|other| other == amount))
}

impl Reconcile<Key> for Queued {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.0.ctx.now();
        let result = self.0.sync(work).await;
        klog::info("Finished syncing resource quota")
            .str("logger", LOGGER)
            .str("queueKey", &work.key.to_string())
            .str("key", &work.key.to_string())
            .duration("duration", self.0.ctx.now().since(started))
            .log(&self.0.ctx, "resource_quota_controller.go:347");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.1.forget(&work.key),
            Err(err) => {
                klog::error("Error processing resource quota work item")
                    .err(err)
                    .str("logger", "UnhandledError")
                    .str("queueKey", &work.key.to_string())
                    .log(&self.0.ctx, "resource_quota_controller.go:276");
                self.1.retry(work);
            }
        }
    }
}
