//! The endpointslice controller (`pkg/controller/endpointslice`): the addresses behind each Service, a hundred a slice.

mod reconcile;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{Node, Pod, Service};
use api::discovery_v1::EndpointSlice;
use api::{Rev, Str};
use client::{Client, Delta, EventRecorder, Key, Lister, RateLimiter, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::endpoint::pods;
use crate::worker::{Reconcile, Worker};

const MAX_RETRIES: u32 = 15;
const CONTROLLER: &str = "endpointslice-controller.k8s.io";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// A change of a slice by another wakes its Service after this long.
const MIN_SYNC_DELAY: Duration = Duration::from_secs(1);
/// The index of slices by Service.
const SERVICE_INDEX: &str = "service";

/// The controller's parts.
pub struct EndpointSliceController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    services: Lister<Service>,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    slices: Lister<EndpointSlice>,
    queue: WorkQueue<Key>,
    trigger_times: RefCell<pods::TriggerTimes>,
    tracker: RefCell<Tracker>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting endpoint slice controller").log(&cc.ctx, "endpointslice_controller.go:285");
    let client = cc.client("endpointslice-controller");
    let recorder = cc.recorder(&client, "endpoint-slice-controller", "endpointslice-controller");
    let (services, pods, nodes) = (cc.informer::<Service>(), cc.informer::<Pod>(), cc.informer::<Node>());
    let slices = cc.informer::<EndpointSlice>();
    slices.add_index(SERVICE_INDEX, |s: &EndpointSlice| {
        service_of(s).map(|k| k.to_string().into()).into_iter().collect()
    });
    // A second between tries at least, as the caches need a moment.
    let limiter = RateLimiter::exponential_with_bucket(Duration::from_secs(1), Duration::from_secs(1000));
    let esc = Rc::new(EndpointSliceController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        services: services.lister(),
        pods: pods.lister(),
        nodes: nodes.lister(),
        slices: slices.lister(),
        queue: WorkQueue::with_limiter(&cc.ctx, "endpoint_slice", limiter),
        trigger_times: RefCell::default(),
        tracker: RefCell::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&esc.queue);
    let this = esc.clone();
    services.on(move |delta| this.queue.add_caused(Key::of(&delta.object().metadata), delta.revision()));
    let this = esc.clone();
    pods.on(move |delta| {
        pods::on_pod(&this.ctx, &this.services, delta, "endpointslice_controller.go:491", |key, revision| {
            this.queue.add_caused(key, revision);
        });
    });
    let this = esc.clone();
    slices.on(move |delta| this.on_slice(delta));
    futures_util::join!(pods.synced(), services.synced(), slices.synced(), nodes.synced());
    klog::info("Starting service queue worker threads").raw("total", 5).log(&cc.ctx, "endpointslice_controller.go:299");
    Worker::spawn(&cc.ctx, 5, esc.queue.clone(), esc);
    klog::info("Starting topology queue worker threads")
        .raw("total", 1)
        .log(&cc.ctx, "endpointslice_controller.go:309");
}

fn is_ours(slice: &EndpointSlice) -> bool {
    slice.metadata.labels.get(MANAGED_BY).is_some_and(|v| *v == CONTROLLER)
}

fn service_of(slice: &EndpointSlice) -> Option<Key> {
    let name = slice.metadata.labels.get(SERVICE_NAME).filter(|n| !n.is_empty())?;
    Some(Key::new(&slice.metadata.namespace, name))
}

impl EndpointSliceController {
    fn on_slice(&self, delta: &Delta<EndpointSlice>) {
        match delta {
            Delta::Added(slice) => {
                if is_ours(slice) && self.tracker.borrow().should_sync(slice) {
                    self.wake(slice);
                }
            }
            Delta::Updated { old, new } => {
                let service = |s: &EndpointSlice| s.metadata.labels.get(SERVICE_NAME).cloned().unwrap_or_default();
                if service(old) != service(new) {
                    self.wake(new);
                    self.wake(old);
                } else if is_ours(old) != is_ours(new) || (is_ours(new) && self.tracker.borrow().should_sync(new)) {
                    self.wake(new);
                }
            }
            Delta::Deleted(slice) => {
                if is_ours(slice)
                    && self.tracker.borrow().has(slice)
                    && !self.tracker.borrow_mut().handle_deletion(slice)
                {
                    self.wake(slice);
                }
            }
        }
    }

    fn wake(&self, slice: &Rev<EndpointSlice>) {
        if let Some(key) = service_of(slice) {
            self.queue.add_after(key, MIN_SYNC_DELAY);
        }
    }

    async fn sync_service(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let Some(service) = self.services.by_key(key) else {
            self.trigger_times.borrow_mut().delete(key);
            self.tracker.borrow_mut().by_service.remove(key);
            return Ok(());
        };
        if service.spec.type_ == "ExternalName" || service.spec.selector.is_nil() {
            return Ok(());
        }
        let mut pods = self.pods.in_namespace(&key.namespace);
        pods.retain(|p| pods::selects(&service.spec.selector, &p.metadata.labels));
        let mut slices = self.slices.by_index(SERVICE_INDEX, &key.to_string());
        slices.retain(|s| is_ours(s) && s.metadata.deletion_timestamp.unix().is_none());
        if self.tracker.borrow().is_stale(key, &slices) {
            return Err("EndpointSlice informer cache is out of date".to_string().into());
        }
        let trigger = self.trigger_times.borrow_mut().compute(&service, &pods);
        let client = self.client.caused_by(&work.causes);
        let run = reconcile::Run { esc: self, client: &client, service: &service, trigger };
        match run.reconcile(&pods, slices).await {
            Ok(()) => Ok(()),
            Err(err) => {
                let about = utils::object_ref::<Service>(&service.metadata, service.revision);
                let message = format!("Error updating Endpoint Slices for Service {key}: {err}");
                self.recorder.event(&about, "Warning", "FailedToUpdateEndpointSlices", &message);
                Err(err)
            }
        }
    }
}

impl Reconcile<Key> for EndpointSliceController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync_service(work).await;
        klog::info("Finished syncing service endpoint slices")
            .str("key", &work.key.to_string())
            .duration("elapsedTime", self.ctx.now().since(started))
            .log(&self.ctx, "endpointslice_controller.go:371");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        let Err(err) = result else { return self.queue.forget(&work.key) };
        if self.queue.num_requeues(&work.key) < MAX_RETRIES {
            klog::info("Error syncing endpoint slices for service, retrying")
                .str("key", &work.key.to_string())
                .err(&err)
                .log(&self.ctx, "endpointslice_controller.go:353");
            return self.queue.retry(work);
        }
        klog::info("Retry budget exceeded, dropping service out of the queue")
            .str("key", &work.key.to_string())
            .err(&err)
            .log(&self.ctx, "endpointslice_controller.go:358");
        self.queue.forget(&work.key);
        klog::unhandled(&err).log(&self.ctx, "endpointslice_controller.go:360");
    }
}

/// The generations of the slices as the controller wrote them, to know when the cache is behind
/// (`EndpointSliceTracker`). Bounded by the slices that exist.
#[derive(Default)]
pub(crate) struct Tracker {
    /// By Service and uid; `None` while a deletion is awaited.
    by_service: BTreeMap<Key, BTreeMap<Str, Option<i64>>>,
}

impl Tracker {
    fn of(&self, slice: &EndpointSlice) -> Option<&BTreeMap<Str, Option<i64>>> {
        self.by_service.get(&service_of(slice)?)
    }

    fn has(&self, slice: &EndpointSlice) -> bool {
        self.of(slice).is_some_and(|g| g.contains_key(&slice.metadata.uid))
    }

    fn should_sync(&self, slice: &EndpointSlice) -> bool {
        match self.of(slice).and_then(|g| g.get(&slice.metadata.uid)) {
            None => true,
            Some(None) => true,
            Some(Some(g)) => slice.metadata.generation > *g,
        }
    }

    fn is_stale(&self, service: &Key, slices: &[Rev<EndpointSlice>]) -> bool {
        let Some(known) = self.by_service.get(service) else { return false };
        let behind = slices.iter().any(|s| match known.get(&s.metadata.uid) {
            Some(None) => true,
            Some(Some(g)) => *g > s.metadata.generation,
            None => false,
        });
        behind || known.iter().any(|(uid, g)| g.is_some() && !slices.iter().any(|s| s.metadata.uid == *uid))
    }

    pub fn update(&mut self, slice: &EndpointSlice) {
        self.set(slice, Some(slice.metadata.generation));
    }

    pub fn expect_deletion(&mut self, slice: &EndpointSlice) {
        self.set(slice, None);
    }

    fn set(&mut self, slice: &EndpointSlice, generation: Option<i64>) {
        if let Some(key) = service_of(slice) {
            self.by_service.entry(key).or_default().insert(slice.metadata.uid.clone(), generation);
        }
    }

    /// Whether the deletion was awaited, or the slice unknown.
    fn handle_deletion(&mut self, slice: &EndpointSlice) -> bool {
        let Some(known) = service_of(slice).and_then(|k| self.by_service.get_mut(&k)) else { return true };
        !matches!(known.remove(&slice.metadata.uid), Some(Some(_)))
    }
}
