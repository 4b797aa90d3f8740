//! The endpoints controller (`pkg/controller/endpoint`): the addresses behind each Service, in the old Endpoints form.

pub mod pods;
mod subsets;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::core_v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, ObjectReference, Pod, Service};
use api::{List, OStr, Ptr, Resource, Rev, Time};
use client::{Client, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const MAX_RETRIES: u32 = 15;
/// Addresses kept of one Service.
const MAX_CAPACITY: usize = 1000;
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpoint-controller";
const HEADLESS: &str = "service.kubernetes.io/headless";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// The annotation that says when the change began.
pub const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// The controller's parts.
pub struct EndpointsController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    services: Lister<Service>,
    pods: Lister<Pod>,
    endpoints: Lister<Endpoints>,
    queue: WorkQueue<Key>,
    trigger_times: RefCell<pods::TriggerTimes>,
    /// Revisions that were replaced and must not be taken for the newest (`staleEndpointsTracker`).
    stale: RefCell<BTreeMap<Key, u64>>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting endpoint controller").log(&cc.ctx, "endpoints_controller.go:178");
    let client = cc.client("endpoint-controller");
    let recorder = cc.recorder(&client, CONTROLLER, "endpoints-controller");
    let (services, pods) = (cc.informer::<Service>(), cc.informer::<Pod>());
    let endpoints = cc.informer::<Endpoints>();
    let ec = Rc::new(EndpointsController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        services: services.lister(),
        pods: pods.lister(),
        endpoints: endpoints.lister(),
        queue: WorkQueue::new(&cc.ctx, "endpoint"),
        trigger_times: RefCell::default(),
        stale: RefCell::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&ec.queue);
    let this = ec.clone();
    services.on(move |delta| this.queue.add_caused(Key::of(&delta.object().metadata), delta.revision()));
    let this = ec.clone();
    pods.on(move |delta| {
        pods::on_pod(&this.ctx, &this.services, delta, "endpoints_controller.go:597", |key, revision| {
            this.queue.add_caused(key, revision);
        });
    });
    let this = ec.clone();
    endpoints.on(move |delta| {
        if let client::Delta::Deleted(e) = delta {
            this.queue.add_caused(Key::of(&e.metadata), e.revision);
        }
    });
    futures_util::join!(pods.synced(), services.synced(), endpoints.synced());
    Worker::spawn(&cc.ctx, 5, ec.queue.clone(), ec.clone());
    // Endpoints whose Service went while nobody looked.
    for left in ec.endpoints.list() {
        if !left.metadata.annotations.contains_key("control-plane.alpha.kubernetes.io/leader") {
            ec.queue.add(Key::of(&left.metadata));
        }
    }
}

impl Reconcile<Key> for EndpointsController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync_service(work).await;
        klog::info("Finished syncing service endpoints")
            .obj("service", &work.key.namespace, &work.key.name)
            .duration("startTime", self.ctx.now().since(started))
            .log(&self.ctx, "endpoints_controller.go:356");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        let Err(err) = result else { return self.queue.forget(&work.key) };
        if self.queue.num_requeues(&work.key) < MAX_RETRIES {
            klog::info("Error syncing endpoints, retrying")
                .obj("service", &work.key.namespace, &work.key.name)
                .err(&err)
                .log(&self.ctx, "endpoints_controller.go:337");
            return self.queue.retry(work);
        }
        klog::info("Dropping service out of the queue")
            .obj("service", &work.key.namespace, &work.key.name)
            .err(&err)
            .log(&self.ctx, "endpoints_controller.go:342");
        self.queue.forget(&work.key);
        klog::unhandled(&err).log(&self.ctx, "endpoints_controller.go:344");
    }
}

impl EndpointsController {
    async fn sync_service(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let client = self.client.caused_by(&work.causes);
        let Some(service) = self.services.by_key(key) else {
            match client.delete::<Endpoints>(&key.namespace, &key.name, &Default::default()).await {
                Err(err) if !err.is_not_found() => return Err(err.into()),
                _ => {}
            }
            self.trigger_times.borrow_mut().delete(key);
            self.stale.borrow_mut().remove(key);
            return Ok(());
        };
        if service.spec.type_ == "ExternalName" || service.spec.selector.is_nil() {
            return Ok(());
        }
        let mut pods = self.pods.in_namespace(&key.namespace);
        pods.retain(|p| pods::selects(&service.spec.selector, &p.metadata.labels));
        let trigger = self.trigger_times.borrow_mut().compute(&service, &pods);
        let (subsets, ready, not_ready) = self.subsets(&service, &pods);
        self.observed.desired(key, format!("{} addresses", ready + not_ready));

        let current = self.endpoints.by_key(key);
        if let Some(current) = &current {
            if self.stale.borrow().get(key) == Some(&current.revision) {
                return Err(format!(
                    "endpoints informer cache is out of date, resource version {} already processed for endpoints {key}",
                    current.revision
                )
                .into());
            }
            let same = subsets::equal(&current.subsets, &subsets)
                || subsets::equal(&subsets::repack(current.subsets.to_vec()), &subsets);
            if same && labels_correct(current, &service) && capacity_noted(current) {
                return Ok(());
            }
        }
        self.write(&client, &service, current, subsets, trigger, (ready, not_ready)).await
    }

    /// What the Endpoints should hold, with the counts of ready and unready addresses.
    fn subsets(&self, service: &Service, pods: &[Rev<Pod>]) -> (Vec<EndpointSubset>, usize, usize) {
        let mut subsets = Vec::new();
        let (mut ready_count, mut unready_count) = (0, 0);
        for pod in pods {
            if !pods::should_be_in_endpoints(pod, service.spec.publish_not_ready_addresses) {
                continue;
            }
            let Some(mut address) = address_of(service, pod) else {
                klog::info("Failed to find endpoint for service with ClusterIP on pod with error")
                    .obj("service", &service.metadata.namespace, &service.metadata.name)
                    .str("clusterIP", &service.spec.cluster_ip)
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .str("error", &format!("failed to find a matching endpoint for service {}", service.metadata.name))
                    .log(&self.ctx, "endpoints_controller.go:420");
                continue;
            };
            if pods::should_set_hostname(pod, service) {
                address.hostname = pod.spec.hostname.clone();
            }
            let ready = service.spec.publish_not_ready_addresses || utils::is_pod_ready(pod);
            let mut add = |port: Option<EndpointPort>| {
                let mut subset = EndpointSubset::default();
                let list = List::from(vec![address.clone()]);
                if ready {
                    subset.addresses = list;
                    ready_count += 1;
                } else {
                    subset.not_ready_addresses = list;
                    unready_count += 1;
                }
                subset.ports = port.into_iter().collect();
                subsets.push(subset);
            };
            if service.spec.ports.is_empty() {
                if service.spec.cluster_ip == "None" {
                    add(None);
                }
                continue;
            }
            for port in &service.spec.ports {
                let Some(number) = pods::find_port(pod, port) else {
                    klog::info("Failed to find port for service")
                        .obj("service", &service.metadata.namespace, &service.metadata.name)
                        .str("error", &format!("no suitable port for manifest: {}", pod.metadata.uid))
                        .log(&self.ctx, "endpoints_controller.go:439");
                    continue;
                };
                add(Some(EndpointPort {
                    name: port.name.clone(),
                    port: number,
                    protocol: port.protocol.clone(),
                    app_protocol: port.app_protocol.clone(),
                }));
            }
        }
        (subsets::repack(subsets), ready_count, unready_count)
    }

    async fn write(
        &self,
        client: &Client,
        service: &Service,
        current: Option<Rev<Endpoints>>,
        subsets: Vec<EndpointSubset>,
        trigger: Option<i64>,
        (ready, not_ready): (usize, usize),
    ) -> Result<(), SyncError> {
        let key = Key::of(&service.metadata);
        let mut new = match &current {
            Some(current) => (**current).clone(),
            None => {
                let mut new = Endpoints::default();
                new.metadata.name = key.name.clone();
                new.metadata.namespace = key.namespace.clone();
                new
            }
        };
        new.subsets = List::from(subsets);
        new.metadata.labels = service.metadata.labels.clone();
        match trigger {
            Some(at) => {
                new.metadata.annotations.insert(TRIGGER_TIME, Time::from_unix(at).to_string().into());
            }
            None => {
                new.metadata.annotations.remove(TRIGGER_TIME);
            }
        }
        if subsets::truncate(&mut new, MAX_CAPACITY) {
            new.metadata.annotations.insert(OVER_CAPACITY, "truncated".into());
        } else {
            new.metadata.annotations.remove(OVER_CAPACITY);
        }
        if is_ip_set(service) {
            new.metadata.labels.remove(HEADLESS);
        } else {
            new.metadata.labels.insert(HEADLESS, "".into());
        }
        new.metadata.labels.insert(MANAGED_BY, CONTROLLER.into());
        klog::info("Update endpoints")
            .obj("service", &key.namespace, &key.name)
            .raw("readyEndpoints", ready)
            .raw("notreadyEndpoints", not_ready)
            .log(&self.ctx, "endpoints_controller.go:515");
        self.observed.action(&key, format!("{ready} ready, {not_ready} not ready"));
        let about = utils::object_ref::<Endpoints>(&new.metadata, current.as_ref().map_or(0, |c| c.revision));
        match current {
            None => match client.create(&key.namespace, new).await {
                Ok(_) => Ok(()),
                Err(err) if err.has_cause("NamespaceTerminating") => Ok(()),
                Err(err) => {
                    let message = format!("Failed to create endpoint for service {key}: {err}");
                    self.recorder.event(&about, "Warning", "FailedToCreateEndpoint", &message);
                    Err(err.into())
                }
            },
            Some(current) => match client.update(new, current.revision).await {
                Ok(updated) => {
                    if updated.revision != current.revision {
                        self.stale.borrow_mut().insert(key, current.revision);
                    }
                    Ok(())
                }
                Err(err) => {
                    let message = format!("Failed to update endpoint {key}: {err}");
                    self.recorder.event(&about, "Warning", "FailedToUpdateEndpoint", &message);
                    Err(err.into())
                }
            },
        }
    }
}

/// Whether a Service has an address of its own.
pub fn is_ip_set(service: &Service) -> bool {
    service.spec.cluster_ip != "None" && !service.spec.cluster_ip.is_empty()
}

/// What an address says it belongs to.
pub fn pod_reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Pod::KIND.kind.into(),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The pod's address of the Service's family.
fn address_of(service: &Service, pod: &Pod) -> Option<EndpointAddress> {
    let v6 = match service.spec.ip_families.first() {
        Some(family) => *family == "IPv6",
        None if is_ip_set(service) => service.spec.cluster_ip.contains(':'),
        None => pod.status.pod_ip.contains(':'),
    };
    let ip = pod.status.pod_ips.iter().find(|ip| ip.ip.contains(':') == v6)?;
    Some(EndpointAddress {
        ip: ip.ip.clone(),
        hostname: Default::default(),
        node_name: OStr::some(pod.spec.node_name.clone()),
        target_ref: Ptr::some(pod_reference(pod)),
    })
}

fn labels_correct(current: &Endpoints, service: &Service) -> bool {
    let (have, want) = (&current.metadata.labels, &service.metadata.labels);
    if have.get(MANAGED_BY).is_none_or(|v| *v != CONTROLLER) {
        return false;
    }
    let own = |k: &str| k == HEADLESS || k == MANAGED_BY;
    let others = have.iter().filter(|(k, _)| !own(k)).count();
    others == want.len() && have.iter().filter(|(k, _)| !own(k)).all(|(k, v)| want.get(k) == Some(v))
}

fn capacity_noted(current: &Endpoints) -> bool {
    let total: usize = current.subsets.iter().map(|s| s.addresses.len() + s.not_ready_addresses.len()).sum();
    total <= MAX_CAPACITY && !current.metadata.annotations.contains_key(OVER_CAPACITY)
}
