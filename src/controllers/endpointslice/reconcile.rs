//! From pods to slices with as few writes as possible (`k8s.io/endpointslice/reconciler.go`).

use api::SortSmall;
use std::collections::{BTreeMap, BTreeSet};

use api::core_v1::{Node, Pod, Service};
use api::discovery_v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use api::{List, Map, OStr, Ptr, Rev, Str, Time};
use client::{Client, klog};

use super::{CONTROLLER, EndpointSliceController, MANAGED_BY, SERVICE_NAME};
use crate::controller_utils::{self as utils, SyncError, aggregate};
use crate::endpoint::{TRIGGER_TIME, is_ip_set, pod_reference, pods};

/// Endpoints of one slice at most (`--max-endpoints-per-slice`).
const MAX_ENDPOINTS: usize = 100;
const HEADLESS: &str = "service.kubernetes.io/headless";

/// One run for one Service.
pub(super) struct Run<'a> {
    pub esc: &'a EndpointSliceController,
    pub client: &'a Client,
    pub service: &'a Rev<Service>,
    pub trigger: Option<i64>,
}

/// What to write.
#[derive(Default)]
struct Plan {
    create: Vec<EndpointSlice>,
    update: Vec<(EndpointSlice, u64)>,
    delete: Vec<Rev<EndpointSlice>>,
}

type PortKey = Vec<(Option<Str>, Option<i32>, Option<Str>, Option<Str>)>;

fn port_key(ports: &[EndpointPort]) -> PortKey {
    let one = |p: &EndpointPort| {
        (p.name.get_str().cloned(), p.port, p.protocol.get_str().cloned(), p.app_protocol.get_str().cloned())
    };
    let mut key: PortKey = ports.iter().map(one).collect();
    key.sort_small();
    key
}

type EndpointKey = (Vec<Str>, Str, Str, Str);

fn endpoint_key(e: &Endpoint) -> EndpointKey {
    let mut addresses = e.addresses.to_vec();
    addresses.sort_small();
    let (namespace, name) = e.target_ref.get().map(|r| (r.namespace.clone(), r.name.clone())).unwrap_or_default();
    (addresses, e.hostname.or_empty().into(), namespace, name)
}

fn equal_beyond_key(a: &Endpoint, b: &Endpoint) -> bool {
    let target = match (a.target_ref.get(), b.target_ref.get()) {
        (Some(a), Some(b)) => a.kind == b.kind && a.uid == b.uid && a.name == b.name && a.namespace == b.namespace,
        (None, None) => true,
        _ => false,
    };
    target
        && a.node_name == b.node_name
        && a.zone == b.zone
        && a.conditions.ready == b.conditions.ready
        && a.conditions.serving == b.conditions.serving
        && a.conditions.terminating == b.conditions.terminating
}

impl Run<'_> {
    pub async fn reconcile(&self, pods: &[Rev<Pod>], existing: Vec<Rev<EndpointSlice>>) -> Result<(), SyncError> {
        let mut errors = Vec::new();
        let families = self.address_types();
        let (kept, wrong): (Vec<_>, Vec<_>) = existing.into_iter().partition(|s| families.contains(&&*s.address_type));
        for family in families {
            let of_family = kept.iter().filter(|s| s.address_type == family).cloned().collect();
            if let Err(err) = self.reconcile_family(pods, of_family, family).await {
                errors.push(err);
            }
        }
        for slice in wrong {
            if let Err(err) = self.delete(&slice).await {
                errors.push(err);
            }
        }
        aggregate(errors)
    }

    fn address_types(&self) -> Vec<&'static str> {
        let spec = &self.service.spec;
        let of_family = |f: &Str| if *f == "IPv6" { "IPv6" } else { "IPv4" };
        let mut types: Vec<&'static str> = spec.ip_families.iter().map(of_family).collect();
        if types.is_empty() {
            types = match is_ip_set(self.service) {
                true if spec.cluster_ip.contains(':') => vec!["IPv6"],
                true => vec!["IPv4"],
                false => vec!["IPv4", "IPv6"],
            };
        }
        types.dedup();
        types
    }

    async fn reconcile_family(
        &self,
        pods: &[Rev<Pod>],
        existing: Vec<Rev<EndpointSlice>>,
        family: &'static str,
    ) -> Result<(), SyncError> {
        let mut errors = Vec::new();
        let mut plan = Plan::default();
        let existing_count = existing.len();
        let mut by_ports: BTreeMap<PortKey, Vec<Rev<EndpointSlice>>> = BTreeMap::new();
        for slice in existing {
            if self.owns(&slice) {
                by_ports.entry(port_key(&slice.ports)).or_default().push(slice);
            } else {
                plan.delete.push(slice);
            }
        }
        let mut desired: BTreeMap<PortKey, (Vec<EndpointPort>, BTreeMap<EndpointKey, Endpoint>)> = BTreeMap::new();
        for pod in pods {
            if !pods::should_be_in_endpoints(pod, true) {
                continue;
            }
            let ports = self.ports(pod);
            let (_, set) = desired.entry(port_key(&ports)).or_insert_with(|| (ports, BTreeMap::new()));
            let node = self.esc.nodes.get("", &pod.spec.node_name);
            if node.is_none() && !self.service.spec.publish_not_ready_addresses {
                klog::info("skipping Pod for Service, Node not found")
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .obj("service", &self.service.metadata.namespace, &self.service.metadata.name)
                    .obj("node", "", &pod.spec.node_name)
                    .log(&self.esc.ctx, "reconciler.go:213");
                errors.push(SyncError::from(format!(
                    "skipping Pod {} for Service {}/{}: Node {} Not Found",
                    pod.metadata.name, self.service.metadata.namespace, self.service.metadata.name, pod.spec.node_name
                )));
                continue;
            }
            let endpoint = self.endpoint(pod, node.as_deref(), family);
            if !endpoint.addresses.is_empty() {
                set.insert(endpoint_key(&endpoint), endpoint);
            }
        }
        let total: usize = desired.values().map(|(_, set)| set.len()).sum();
        self.esc.observed.desired(&client::Key::of(&self.service.metadata), format!("{total} endpoints"));
        for (key, (ports, set)) in desired {
            let slices = by_ports.remove(&key).unwrap_or_default();
            self.fill(&mut plan, slices, set, &ports, family);
        }
        plan.delete.extend(by_ports.into_values().flatten());
        // A Service always has a slice, if an empty one.
        if existing_count == plan.delete.len() && plan.create.is_empty() {
            let placeholder = self.new_slice(&[], family);
            match plan.delete.first() {
                Some(only) if plan.delete.len() == 1 && is_placeholder(only, &placeholder) => plan.delete.clear(),
                _ => plan.create.push(placeholder),
            }
        }
        if let Err(err) = self.write(plan).await {
            errors.push(err);
        }
        aggregate(errors)
    }

    /// Brings the slices of one set of ports to the desired endpoints (`reconcileByPortMapping`).
    fn fill(
        &self,
        plan: &mut Plan,
        slices: Vec<Rev<EndpointSlice>>,
        mut desired: BTreeMap<EndpointKey, Endpoint>,
        ports: &[EndpointPort],
        family: &'static str,
    ) {
        let mut unchanged: Vec<Rev<EndpointSlice>> = Vec::new();
        let mut update: Vec<(EndpointSlice, u64)> = Vec::new();
        for slice in slices {
            let mut kept = Vec::new();
            let mut changed = false;
            for endpoint in &slice.endpoints {
                if let Some(wanted) = desired.remove(&endpoint_key(endpoint)) {
                    changed |= !equal_beyond_key(&wanted, endpoint);
                    kept.push(wanted);
                }
            }
            let (labels, relabelled) = self.labels(&slice.metadata.labels);
            if changed || kept.len() != slice.endpoints.len() {
                if kept.is_empty() {
                    plan.delete.push(slice);
                    continue;
                }
                let mut copy = (*slice).clone();
                copy.endpoints = List::from(kept);
                copy.metadata.labels = labels;
                update.push((copy, slice.revision));
            } else if relabelled {
                let mut copy = (*slice).clone();
                copy.metadata.labels = labels;
                update.push((copy, slice.revision));
            } else {
                unchanged.push(slice);
            }
        }
        // What is left goes first into slices that are written anyway, fullest first.
        update.sort_small_by_key(|(s, _)| std::cmp::Reverse(s.endpoints.len()));
        for (slice, _) in &mut update {
            top_up(slice, &mut desired);
        }
        while !desired.is_empty() {
            let fits = |s: &Rev<EndpointSlice>| desired.len() + s.endpoints.len() <= MAX_ENDPOINTS;
            let fullest = (0..unchanged.len())
                .filter(|i| desired.len() < MAX_ENDPOINTS && unchanged.get(*i).is_some_and(fits))
                .max_by_key(|i| unchanged.get(*i).map_or(0, |s| s.endpoints.len()));
            match fullest {
                Some(i) => {
                    let slice = unchanged.remove(i);
                    let mut copy = (*slice).clone();
                    top_up(&mut copy, &mut desired);
                    update.push((copy, slice.revision));
                }
                None => {
                    let mut slice = self.new_slice(ports, family);
                    top_up(&mut slice, &mut desired);
                    plan.create.push(slice);
                }
            }
        }
        plan.update.extend(update);
    }

    async fn write(&self, mut plan: Plan) -> Result<(), SyncError> {
        // A slice to be deleted becomes one to be created, if it can.
        let mut i = 0;
        while i < plan.delete.len() {
            let Some(wanted) = plan.create.last() else { break };
            let reusable = plan.delete.get(i).is_some_and(|s| s.address_type == wanted.address_type && self.owns(s));
            if !reusable {
                i += 1;
                continue;
            }
            let old = plan.delete.remove(i);
            if let Some(mut slice) = plan.create.pop() {
                slice.metadata.name = old.metadata.name.clone();
                slice.metadata.generate_name = Str::default();
                plan.update.push((slice, 0));
            }
        }
        let (namespace, name) = (&self.service.metadata.namespace, &self.service.metadata.name);
        if self.service.metadata.deletion_timestamp.unix().is_none() {
            for mut slice in plan.create {
                self.note_trigger(&mut slice);
                match self.client.create(namespace, slice).await {
                    Ok(created) => self.esc.tracker.borrow_mut().update(&created),
                    Err(err) if err.has_cause("NamespaceTerminating") => return Ok(()),
                    Err(err) => {
                        return Err(
                            format!("failed to create EndpointSlice for Service {namespace}/{name}: {err}").into()
                        );
                    }
                }
            }
        }
        for (mut slice, revision) in plan.update {
            self.note_trigger(&mut slice);
            let slice_name = slice.metadata.name.clone();
            match self.client.update(slice, revision).await {
                Ok(updated) => self.esc.tracker.borrow_mut().update(&updated),
                Err(err) => {
                    return Err(format!(
                        "failed to update {slice_name} EndpointSlice for Service {namespace}/{name}: {err}"
                    )
                    .into());
                }
            }
        }
        for slice in plan.delete {
            self.delete(&slice).await?;
        }
        Ok(())
    }

    async fn delete(&self, slice: &Rev<EndpointSlice>) -> Result<(), SyncError> {
        let (namespace, name) = (&self.service.metadata.namespace, &self.service.metadata.name);
        match self.client.delete::<EndpointSlice>(namespace, &slice.metadata.name, &Default::default()).await {
            Ok(()) => {
                self.esc.tracker.borrow_mut().expect_deletion(slice);
                Ok(())
            }
            Err(err) => Err(format!(
                "failed to delete {} EndpointSlice for Service {namespace}/{name}: {err}",
                slice.metadata.name
            )
            .into()),
        }
    }

    fn note_trigger(&self, slice: &mut EndpointSlice) {
        match self.trigger {
            Some(at) => {
                slice.metadata.annotations.insert(TRIGGER_TIME, Time::from_unix(at).to_string().into());
            }
            None => {
                slice.metadata.annotations.remove(TRIGGER_TIME);
            }
        }
    }

    fn owns(&self, slice: &EndpointSlice) -> bool {
        let uid = &self.service.metadata.uid;
        slice.metadata.owner_references.iter().any(|r| r.uid == *uid && r.kind == "Service" && r.api_version == "v1")
    }

    fn new_slice(&self, ports: &[EndpointPort], family: &str) -> EndpointSlice {
        let mut slice = EndpointSlice::default();
        let service = &self.service.metadata;
        let prefix = format!("{}-", service.name);
        let valid = api::names::dns1123_subdomain(&api::names::mask_trailing_dash(&prefix)).is_empty();
        slice.metadata.generate_name = if valid { prefix.into() } else { service.name.clone() };
        slice.metadata.namespace = service.namespace.clone();
        slice.metadata.owner_references = List::from(vec![utils::new_controller_ref::<Service>(service)]);
        slice.metadata.labels = self.labels(&Map::default()).0;
        slice.ports = List::from(ports.to_vec());
        slice.address_type = family.into();
        slice.endpoints = List::empty();
        slice
    }

    /// The labels a slice should have, and whether those it shares with the Service differ.
    fn labels(&self, current: &Map<Str>) -> (Map<Str>, bool) {
        let reserved = |k: &str| [SERVICE_NAME, MANAGED_BY, HEADLESS].contains(&k);
        let free = |m: &Map<Str>| -> Map<Str> {
            m.iter().filter(|(k, _)| !reserved(k)).map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        let mut labels = free(&self.service.metadata.labels);
        let changed = labels != free(current);
        if !is_ip_set(self.service) {
            labels.insert(HEADLESS, "".into());
        }
        labels.insert(SERVICE_NAME, self.service.metadata.name.clone());
        labels.insert(MANAGED_BY, CONTROLLER.into());
        (labels, changed)
    }

    fn ports(&self, pod: &Pod) -> Vec<EndpointPort> {
        let mut ports = Vec::new();
        for port in &self.service.spec.ports {
            let Some(number) = pods::find_port(pod, port) else {
                klog::info("Failed to find port for service")
                    .obj("service", &self.service.metadata.namespace, &self.service.metadata.name)
                    .err(format!("no suitable port for manifest: {}", pod.metadata.uid))
                    .log(&self.esc.ctx, "utils.go:90");
                continue;
            };
            ports.push(EndpointPort {
                name: OStr::some(port.name.clone()),
                port: Some(number),
                protocol: OStr::some(port.protocol.clone()),
                app_protocol: port.app_protocol.clone(),
            });
        }
        ports
    }

    fn endpoint(&self, pod: &Rev<Pod>, node: Option<&Node>, family: &str) -> Endpoint {
        let serving = utils::is_pod_ready(pod);
        let terminating = pod.metadata.deletion_timestamp.unix().is_some();
        let ready = self.service.spec.publish_not_ready_addresses || (serving && !terminating);
        let v6 = family == "IPv6";
        let zone = node.and_then(|n| n.metadata.labels.get("topology.kubernetes.io/zone")).filter(|z| !z.is_empty());
        Endpoint {
            addresses: pod.status.pod_ips.iter().map(|ip| ip.ip.clone()).filter(|ip| ip.contains(':') == v6).collect(),
            conditions: EndpointConditions {
                ready: Some(ready),
                serving: Some(serving),
                terminating: Some(terminating),
            },
            hostname: match pods::should_set_hostname(pod, self.service) {
                true => OStr::some(pod.spec.hostname.clone()),
                false => OStr::default(),
            },
            node_name: match pod.spec.node_name.is_empty() {
                true => OStr::default(),
                false => OStr::some(pod.spec.node_name.clone()),
            },
            target_ref: Ptr::some(pod_reference(pod)),
            zone: zone.map(|z| OStr::some(z.clone())).unwrap_or_default(),
            ..Endpoint::default()
        }
    }
}

fn top_up(slice: &mut EndpointSlice, desired: &mut BTreeMap<EndpointKey, Endpoint>) {
    while slice.endpoints.len() < MAX_ENDPOINTS {
        let Some((_, endpoint)) = desired.pop_first() else { return };
        slice.endpoints.push(endpoint);
    }
}

/// Whether an existing slice is as good as the placeholder: nothing in it and the same labels.
fn is_placeholder(slice: &EndpointSlice, placeholder: &EndpointSlice) -> bool {
    let owners =
        |s: &EndpointSlice| -> BTreeSet<Str> { s.metadata.owner_references.iter().map(|r| r.uid.clone()).collect() };
    slice.endpoints.is_empty()
        && slice.ports.is_empty()
        && slice.address_type == placeholder.address_type
        && slice.metadata.labels == placeholder.metadata.labels
        && owners(slice) == owners(placeholder)
}
