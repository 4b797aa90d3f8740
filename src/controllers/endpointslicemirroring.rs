//! EndpointSlice mirroring (`pkg/controller/endpointslicemirroring`): Endpoints that somebody wrote by hand, for a Service
//! without a selector, get slices, which is what everybody reads.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{EndpointAddress, EndpointPort as OldPort, Endpoints, Service};
use api::discovery_v1::{Endpoint, EndpointPort, EndpointSlice};
use api::meta_v1::DeleteOptions;
use api::{List, Map, OStr, Rev, Str};
use client::{Client, Delta, EventRecorder, Key, Lister, RateLimiter, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError, aggregate, equal};
use crate::endpoint::TRIGGER_TIME;
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "endpointslice-mirroring-controller";
const NAME: &str = "endpointslicemirroring-controller.k8s.io";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Addresses of one subset at most (`--mirroring-max-endpoints-per-subset`).
const MAX_ADDRESSES: usize = 1000;

struct Mirroring {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    endpoints: Lister<Endpoints>,
    services: Lister<Service>,
    slices: Lister<EndpointSlice>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting EndpointSliceMirroring controller")
        .str("logger", LOGGER)
        .log(&cc.ctx, "endpointslicemirroring_controller.go:220");
    let client = cc.client("endpointslicemirroring-controller");
    let recorder = cc.recorder(&client, "endpoint-slice-mirroring-controller", LOGGER);
    let (endpoints, services) = (cc.informer::<Endpoints>(), cc.informer::<Service>());
    let slices = cc.informer::<EndpointSlice>();
    let (base, max) = (Duration::from_secs(1), Duration::from_secs(1000));
    let mirroring = Rc::new(Mirroring {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        endpoints: endpoints.lister(),
        services: services.lister(),
        slices: slices.lister(),
        queue: WorkQueue::with_limiter(
            &cc.ctx,
            "endpoint_slice_mirroring",
            RateLimiter::exponential_with_bucket(base, max),
        ),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&mirroring.queue);
    let this = mirroring.clone();
    endpoints.on(move |delta| {
        let was = match delta {
            Delta::Updated { old, .. } => is_mirrored(old),
            _ => false,
        };
        if was || is_mirrored(delta.object()) {
            this.queue.add_caused(Key::of(&delta.object().metadata), delta.revision());
        }
    });
    let this = mirroring.clone();
    services.on(move |delta| {
        let selects = |service: &Service| !service.spec.selector.is_nil();
        let concerned = match delta {
            Delta::Updated { old, new } => selects(old) != selects(new),
            _ => !selects(delta.object()),
        };
        if concerned {
            this.queue.add_caused(Key::of(&delta.object().metadata), delta.revision());
        }
    });
    let this = mirroring.clone();
    slices.on(move |delta| {
        let slice = delta.object();
        if let Some(service) = service_of(slice).filter(|_| !matches!(delta, Delta::Added(_))) {
            this.queue.add_caused(Key::new(slice.metadata.namespace.clone(), service), delta.revision());
        }
    });
    futures_util::join!(endpoints.synced(), services.synced(), slices.synced());
    Worker::spawn(&cc.ctx, 5, mirroring.queue.clone(), mirroring);
}

fn is_mirrored(endpoints: &Endpoints) -> bool {
    let meta = &endpoints.metadata;
    meta.labels.get(SKIP).is_none_or(|v| v != "true") && !meta.annotations.contains_key(LEADER)
}

/// The Service of a slice that this controller made.
fn service_of(slice: &EndpointSlice) -> Option<Str> {
    let labels = &slice.metadata.labels;
    labels.get(MANAGED_BY).filter(|by| *by == NAME)?;
    labels.get(SERVICE_NAME).cloned()
}

fn endpoint(address: &EndpointAddress, ready: bool) -> Option<(&'static str, Endpoint)> {
    let ip: std::net::IpAddr = address.ip.parse().ok()?;
    let mut endpoint = Endpoint {
        addresses: List::from(vec![ip.to_string().into()]),
        target_ref: address.target_ref.clone(),
        node_name: address.node_name.clone(),
        ..Endpoint::default()
    };
    endpoint.conditions.ready = Some(ready);
    if !address.hostname.is_empty() {
        endpoint.hostname = OStr::some(address.hostname.clone());
    }
    Some((if ip.is_ipv4() { "IPv4" } else { "IPv6" }, endpoint))
}

fn port(old: &OldPort) -> EndpointPort {
    EndpointPort {
        name: OStr::some(old.name.clone()),
        port: Some(old.port),
        protocol: OStr::some(old.protocol.clone()),
        app_protocol: old.app_protocol.clone(),
    }
}

impl Mirroring {
    /// The slices that Endpoints should have: one for each set of ports and family of addresses.
    fn wanted(&self, endpoints: &Rev<Endpoints>) -> Vec<EndpointSlice> {
        let about = utils::object_ref::<Endpoints>(&endpoints.metadata, endpoints.revision);
        let mut by_key: BTreeMap<(String, &'static str), EndpointSlice> = BTreeMap::new();
        let (mut invalid, mut skipped) = (0usize, 0usize);
        for subset in endpoints.subsets.iter() {
            let ports: List<EndpointPort> = subset.ports.iter().map(port).collect();
            let key =
                format!("{:?}", subset.ports.iter().map(|p| (&p.name, p.port, &p.protocol)).collect::<BTreeSet<_>>());
            let all = subset.addresses.iter().map(|a| (a, true));
            let all = all.chain(subset.not_ready_addresses.iter().map(|a| (a, false)));
            let count = subset.addresses.len() + subset.not_ready_addresses.len();
            skipped += count.saturating_sub(MAX_ADDRESSES);
            for (address, ready) in all.take(MAX_ADDRESSES) {
                let Some((family, endpoint)) = endpoint(address, ready) else {
                    invalid += 1;
                    continue;
                };
                let slice = by_key.entry((key.clone(), family)).or_insert_with(|| {
                    let mut slice = EndpointSlice { address_type: family.into(), ..EndpointSlice::default() };
                    slice.ports = ports.clone();
                    slice
                });
                slice.endpoints.push(endpoint);
            }
        }
        if invalid > 0 {
            let text = format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
            self.recorder.event(&about, "Warning", "InvalidIPAddress", &text);
        }
        if skipped > 0 {
            let text = format!(
                "A max of {MAX_ADDRESSES} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} \
                 addresses were skipped"
            );
            self.recorder.event(&about, "Warning", "TooManyAddressesToMirror", &text);
        }
        let meta = &endpoints.metadata;
        let dress = |mut slice: EndpointSlice| {
            slice.metadata.namespace = meta.namespace.clone();
            slice.metadata.labels = meta.labels.clone();
            slice.metadata.labels.insert(SERVICE_NAME, meta.name.clone());
            slice.metadata.labels.insert(MANAGED_BY, NAME.into());
            let kept = meta.annotations.iter().filter(|(k, _)| k != TRIGGER_TIME && k != LAST_APPLIED);
            slice.metadata.annotations = kept.map(|(k, v)| (k.clone(), v.clone())).collect::<Map<Str>>();
            slice.metadata.owner_references = List::from(vec![utils::new_controller_ref::<Endpoints>(meta)]);
            slice.metadata.generate_name = format!("{}-", meta.name).into();
            slice
        };
        by_key.into_values().map(dress).collect()
    }

    async fn sync(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let client = self.client.caused_by(&work.causes);
        let unselected = self.services.by_key(key).is_some_and(|s| s.spec.selector.is_nil());
        let endpoints = self.endpoints.by_key(key).filter(|e| unselected && is_mirrored(e));
        let wanted = endpoints.as_ref().map(|e| self.wanted(e)).unwrap_or_default();
        let own = |slice: &Rev<EndpointSlice>| service_of(slice).is_some_and(|name| name == key.name);
        let mut existing: Vec<_> = self.slices.in_namespace(&key.namespace).into_iter().filter(own).collect();
        let mut errors = Vec::new();
        for slice in wanted {
            let same = |old: &Rev<EndpointSlice>| {
                old.address_type == slice.address_type && same_list(&old.ports, &slice.ports)
            };
            let result = match existing.iter().position(same) {
                None => client.create(&key.namespace, slice).await.map(drop),
                Some(at) => {
                    let old = existing.swap_remove(at);
                    if same_list(&old.endpoints, &slice.endpoints)
                        && old.metadata.labels == slice.metadata.labels
                        && old.metadata.annotations == slice.metadata.annotations
                    {
                        continue;
                    }
                    let mut new = (*old).clone();
                    new.endpoints = slice.endpoints;
                    new.metadata.labels = slice.metadata.labels;
                    new.metadata.annotations = slice.metadata.annotations;
                    client.update(new, old.revision).await.map(drop)
                }
            };
            self.observed.action(key, "mirror the endpoints".to_string());
            errors.extend(result.err().filter(|e| !e.has_cause("NamespaceTerminating")).map(SyncError::from));
        }
        for slice in existing {
            let (namespace, name) = (&slice.metadata.namespace, &slice.metadata.name);
            match client.delete::<EndpointSlice>(namespace, name, &DeleteOptions::default()).await {
                Err(err) if !err.is_not_found() => errors.push(err.into()),
                _ => {}
            }
        }
        aggregate(errors)
    }
}

fn same_list<T: api::Object>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

impl Reconcile<Key> for Mirroring {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync(work).await;
        klog::info("Finished syncing EndpointSlices for Endpoints")
            .str("logger", LOGGER)
            .str("key", &work.key.to_string())
            .duration("elapsedTime", self.ctx.now().since(started))
            .log(&self.ctx, "endpointslicemirroring_controller.go:288");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::info("Error mirroring EndpointSlices for Endpoints, retrying")
                    .str("logger", LOGGER)
                    .str("key", &work.key.to_string())
                    .err(err)
                    .log(&self.ctx, "endpointslicemirroring_controller.go:271");
                self.queue.retry(work);
            }
        }
    }
}
