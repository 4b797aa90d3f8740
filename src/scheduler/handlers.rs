//! What the scheduler watches, and what each change does to its cache and queue (`eventhandlers.go`).

use crate::change::{About, Change};
use crate::devices::{self, Devices};
use crate::executor::Preempting;
use crate::framework::Gates;
use crate::node_info::{PodInfo, PodKey};
use crate::queue::Moved;
use crate::server::{Inner, NAME};
use crate::storage::Storage;
use api::apps_v1::{ReplicaSet, StatefulSet};
use api::core_v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service};
use api::policy_v1::PodDisruptionBudget;
use api::resource_v1::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
use api::selector::{LabelSelector, Requirement};
use api::storage_v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use api::{OStr, Rev, Str};
use client::{Client, Delta, Informer, InformerOptions, klog};
use sim::Ctx;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is watched.
pub(crate) struct Informers {
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    namespaces: Informer<Namespace>,
    services: Informer<Service>,
    replica_sets: Informer<ReplicaSet>,
    stateful_sets: Informer<StatefulSet>,
    controllers: Informer<ReplicationController>,
    budgets: Informer<PodDisruptionBudget>,
    claims: Informer<PersistentVolumeClaim>,
    volumes: Informer<PersistentVolume>,
    classes: Informer<StorageClass>,
    csi_nodes: Informer<CSINode>,
    csi_drivers: Informer<CSIDriver>,
    capacities: Informer<CSIStorageCapacity>,
    resource_claims: Informer<ResourceClaim>,
    slices: Informer<ResourceSlice>,
    taint_rules: Informer<DeviceTaintRule>,
    device_classes: Informer<DeviceClass>,
    attachments: Informer<VolumeAttachment>,
}

impl Informers {
    pub fn new(client: &Client) -> Self {
        // Pods that have ended take no room.
        let unfinished = InformerOptions {
            field_selector: "status.phase!=Succeeded,status.phase!=Failed".into(),
            ..InformerOptions::default()
        };
        let all = InformerOptions::default;
        Self {
            pods: Informer::new(client.clone(), unfinished),
            nodes: Informer::new(client.clone(), all()),
            namespaces: Informer::new(client.clone(), all()),
            services: Informer::new(client.clone(), all()),
            replica_sets: Informer::new(client.clone(), all()),
            stateful_sets: Informer::new(client.clone(), all()),
            controllers: Informer::new(client.clone(), all()),
            budgets: Informer::new(client.clone(), all()),
            claims: Informer::new(client.clone(), all()),
            volumes: Informer::new(client.clone(), all()),
            classes: Informer::new(client.clone(), all()),
            csi_nodes: Informer::new(client.clone(), all()),
            csi_drivers: Informer::new(client.clone(), all()),
            capacities: Informer::new(client.clone(), all()),
            resource_claims: Informer::new(client.clone(), all()),
            slices: Informer::new(client.clone(), all()),
            taint_rules: Informer::new(client.clone(), all()),
            device_classes: Informer::new(client.clone(), all()),
            attachments: Informer::new(client.clone(), all()),
        }
    }
    pub fn run(&self) {
        self.nodes.run();
        self.pods.run();
        self.namespaces.run();
        self.services.run();
        self.replica_sets.run();
        self.stateful_sets.run();
        self.controllers.run();
        self.budgets.run();
        self.claims.run();
        self.volumes.run();
        self.classes.run();
        self.csi_nodes.run();
        self.csi_drivers.run();
        self.capacities.run();
        self.resource_claims.run();
        self.slices.run();
        self.taint_rules.run();
        self.device_classes.run();
        self.attachments.run();
    }
    pub async fn synced(&self) {
        self.nodes.synced().await;
        self.pods.synced().await;
        self.namespaces.synced().await;
        self.services.synced().await;
        self.replica_sets.synced().await;
        self.stateful_sets.synced().await;
        self.controllers.synced().await;
        self.budgets.synced().await;
        self.claims.synced().await;
        self.volumes.synced().await;
        self.classes.synced().await;
        self.csi_nodes.synced().await;
        self.csi_drivers.synced().await;
        self.capacities.synced().await;
        self.resource_claims.synced().await;
        self.slices.synced().await;
        self.taint_rules.synced().await;
        self.device_classes.synced().await;
        self.attachments.synced().await;
    }
    /// The pod as the informer knows it.
    pub fn pod(&self, key: &PodKey) -> Option<Rev<Pod>> {
        self.pods.lister().get(&key.0, &key.1)
    }
    pub fn storage(&self, assumed: &Rc<RefCell<BTreeMap<Str, Rev<PersistentVolume>>>>) -> Storage {
        Storage {
            claims: self.claims.lister(),
            volumes: self.volumes.lister(),
            classes: self.classes.lister(),
            csi_nodes: self.csi_nodes.lister(),
            csi_drivers: self.csi_drivers.lister(),
            capacities: self.capacities.lister(),
            attachments: self.attachments.lister(),
            assumed: assumed.clone(),
        }
    }
    pub fn gates(&self) -> Gates {
        let (claims, slices) = (self.resource_claims.lister(), self.slices.lister());
        let devices = Devices::new(claims, slices, self.taint_rules.lister(), self.device_classes.lister());
        Gates { pods: self.pods.lister(), preempting: Preempting::default(), devices }
    }
    pub fn budgets(&self) -> Vec<Rev<PodDisruptionBudget>> {
        self.budgets.lister().list()
    }
    /// The pods that belong together with this one: those of its services and of its controller
    /// (`helper.DefaultSelector`).
    pub fn default_selector(&self, pod: &Pod) -> Option<LabelSelector> {
        let meta = &pod.metadata;
        let mut requirements: Vec<Requirement> = Vec::new();
        for service in self.services.lister().in_namespace(&meta.namespace) {
            let selector = &service.spec.selector;
            if !selector.is_empty() && selector.iter().all(|(k, v)| meta.labels.get(k) == Some(v)) {
                requirements.extend_from_slice(LabelSelector::from_set(selector).requirements());
            }
        }
        let owner = meta.owner_references.iter().find(|r| r.controller == Some(true));
        if let Some(owner) = owner {
            let (ns, name) = (&meta.namespace, &owner.name);
            let own = match &*owner.kind {
                "ReplicaSet" => {
                    self.replica_sets.lister().get(ns, name).map(|o| LabelSelector::from_ptr(&o.spec.selector))
                }
                "StatefulSet" => {
                    self.stateful_sets.lister().get(ns, name).map(|o| LabelSelector::from_ptr(&o.spec.selector))
                }
                "ReplicationController" => {
                    self.controllers.lister().get(ns, name).map(|o| Ok(LabelSelector::from_set(&o.spec.selector)))
                }
                _ => None,
            };
            if let Some(Ok(own)) = own {
                requirements.extend_from_slice(own.requirements());
            }
        }
        (!requirements.is_empty()).then(|| LabelSelector::new(requirements))
    }
}

pub(crate) fn log_moved(ctx: &Ctx, moved: &[Moved], change: Change) {
    for Moved { key, queue } in moved {
        klog::info("Pod moved to an internal scheduling queue")
            .obj("pod", &key.0, &key.1)
            .str("event", change.label())
            .str("queue", queue)
            .raw("hint", 1)
            .log(ctx, "scheduling_queue.go:1137");
    }
}

impl Inner {
    fn changed(&self, change: Change, about: &About, revision: u64) {
        self.changed_for(change, about, revision, &|_| true);
    }
    fn changed_for(&self, change: Change, about: &About, revision: u64, concerns: &dyn Fn(&PodInfo) -> bool) {
        let moved = self.queue.borrow_mut().changed_for(change, about, revision, self.ctx.now(), concerns);
        log_moved(&self.ctx, &moved, change);
        if !moved.is_empty() {
            self.wake.notify();
        }
    }
    /// A pod no longer holds the room it was promised: those of its priority and below may have it.
    fn nomination_ended(&self, pod: &Rev<Pod>) {
        let about = About::Pod(Some(pod.clone()), None);
        let priority = pod.spec.priority.unwrap_or(0);
        let concerns = |info: &PodInfo| info.priority() <= priority;
        self.changed_for(Change::AssignedPodDeleted, &about, pod.revision, &concerns);
    }
}

/// Connects the informers with cache and queue.
pub(crate) fn register(inner: &Rc<Inner>) {
    let own = inner.clone();
    inner.informers.pods.on(move |delta| pod_changed(&own, delta));
    let own = inner.clone();
    inner.informers.nodes.on(move |delta| node_changed(&own, delta));
    let own = inner.clone();
    inner.informers.namespaces.on(move |delta| {
        let object = delta.object();
        let labels = (!matches!(delta, Delta::Deleted(_))).then(|| object.metadata.labels.clone());
        own.cache.borrow_mut().set_namespace(object.metadata.name.clone(), labels);
    });
    register_storage(inner);
    register_devices(inner);
}

/// Claims of devices, and what there is for them.
fn register_devices(inner: &Rc<Inner>) {
    let own = inner.clone();
    inner.informers.resource_claims.on(move |delta| {
        let (change, old, new) = match delta {
            Delta::Added(new) => (Change::ResourceClaimAdded, None, Some(new.clone())),
            Delta::Updated { old, new } => (Change::ResourceClaimUpdated, Some(old.clone()), Some(new.clone())),
            Delta::Deleted(old) => (Change::ResourceClaimDeleted, Some(old.clone()), None),
        };
        own.gates.devices.seen(delta.object(), new.is_none());
        own.changed(change, &About::ResourceClaim(old, new), delta.revision());
    });
    let own = inner.clone();
    inner.informers.slices.on(move |delta| {
        let change = match delta {
            Delta::Added(_) => Change::ResourceSliceAdded,
            Delta::Updated { .. } => Change::ResourceSliceUpdated,
            Delta::Deleted(_) => return,
        };
        own.changed(change, &About::Nothing, delta.revision());
    });
    let own = inner.clone();
    inner.informers.taint_rules.on(move |delta| {
        let (old, new) = match delta {
            Delta::Added(new) => (None, Some(&**new)),
            Delta::Updated { old, new } => (Some(&**old), Some(&**new)),
            Delta::Deleted(old) => (Some(&**old), None),
        };
        // The slices are seen with other taints.
        if devices::taints_change(old, new, &own.informers.slices.lister().list()) {
            own.changed(Change::ResourceSliceUpdated, &About::Nothing, delta.revision());
        }
    });
    let own = inner.clone();
    inner.informers.device_classes.on(move |delta| {
        let (change, old) = match delta {
            Delta::Added(_) => (Change::DeviceClassAdded, None),
            Delta::Updated { old, .. } => (Change::DeviceClassUpdated, Some(old.clone())),
            Delta::Deleted(_) => return,
        };
        own.changed(change, &About::DeviceClass(old, delta.object().clone()), delta.revision());
    });
}

/// Claims, volumes and what is known of their drivers, for pods that wait for them.
fn register_storage(inner: &Rc<Inner>) {
    let own = inner.clone();
    inner.informers.claims.on(move |delta| {
        let change = match delta {
            Delta::Added(_) => Change::ClaimAdded,
            Delta::Updated { .. } => Change::ClaimUpdated,
            Delta::Deleted(_) => return,
        };
        own.changed(change, &About::Claim(delta.object().clone()), delta.revision());
    });
    let own = inner.clone();
    inner.informers.volumes.on(move |delta| {
        let name = &delta.object().metadata.name;
        let is_seen = |assumed: &mut Rev<PersistentVolume>| assumed.revision <= delta.revision();
        let mut assumed = own.assumed.borrow_mut();
        if assumed.get_mut(name).is_some_and(is_seen) {
            assumed.remove(name);
        }
        drop(assumed);
        if let Some((old, new)) = written(delta) {
            let change = if old.is_some() { Change::VolumeUpdated } else { Change::VolumeAdded };
            own.changed(change, &About::Volume(old, new), delta.revision());
        }
    });
    let own = inner.clone();
    inner.informers.classes.on(move |delta| {
        if let Some((old, new)) = written(delta) {
            let change = if old.is_some() { Change::StorageClassUpdated } else { Change::StorageClassAdded };
            own.changed(change, &About::Class(old, new), delta.revision());
        }
    });
    let own = inner.clone();
    inner.informers.csi_nodes.on(move |delta| {
        if let Some((old, new)) = written(delta) {
            let change = if old.is_some() { Change::CsiNodeUpdated } else { Change::CsiNodeAdded };
            own.changed(change, &About::CsiNode(old, new), delta.revision());
        }
    });
    let own = inner.clone();
    inner.informers.csi_drivers.on(move |delta| {
        if let Delta::Updated { old, new } = delta {
            own.changed(Change::CsiDriverUpdated, &About::CsiDriver(old.clone(), new.clone()), delta.revision());
        }
    });
    let own = inner.clone();
    inner.informers.capacities.on(move |delta| {
        if let Some((old, new)) = written(delta) {
            let (added, updated) = (Change::CsiStorageCapacityAdded, Change::CsiStorageCapacityUpdated);
            let change = if old.is_some() { updated } else { added };
            own.changed(change, &About::Capacity(old, new), delta.revision());
        }
    });
    let own = inner.clone();
    inner.informers.attachments.on(move |delta| {
        if matches!(delta, Delta::Deleted(_)) {
            own.changed(Change::VolumeAttachmentDeleted, &About::Nothing, delta.revision());
        }
    });
}

/// An object that is new or changed, behind what it was.
fn written<T>(delta: &Delta<T>) -> Option<(Option<Rev<T>>, Rev<T>)> {
    match delta {
        Delta::Added(new) => Some((None, new.clone())),
        Delta::Updated { old, new } => Some((Some(old.clone()), new.clone())),
        Delta::Deleted(_) => None,
    }
}

fn say(ctx: &Ctx, what: &str, place: &'static str, pod: &Pod) {
    klog::info(what).obj("pod", &pod.metadata.namespace, &pod.metadata.name).log(ctx, place);
}

fn pod_changed(inner: &Rc<Inner>, delta: &Delta<Pod>) {
    let ctx = &inner.ctx;
    match delta {
        Delta::Added(pod) if pod.spec.node_name.is_empty() => waiting_added(inner, pod),
        Delta::Added(pod) => placed_added(inner, pod),
        Delta::Updated { old, new } => match (old.spec.node_name.is_empty(), new.spec.node_name.is_empty()) {
            (true, true) => waiting_updated(inner, old, new),
            (true, false) => {
                // Placed, as everybody sees now.
                placed_added(inner, new);
                waiting_deleted(inner, new);
            }
            (false, false) => {
                say(ctx, "Update event for scheduled pod", "eventhandlers.go:426", new);
                inner.cache.borrow_mut().set_pod(new.clone());
                let about = || About::Pod(Some(old.clone()), Some(new.clone()));
                if old.metadata.labels != new.metadata.labels {
                    inner.changed(Change::AssignedPodLabels, &about(), new.revision);
                }
                if asks_less(old, new) {
                    inner.changed(Change::AssignedPodScaledDown, &about(), new.revision);
                }
            }
            // Pods never lose their node.
            (false, true) => {}
        },
        Delta::Deleted(pod) if pod.spec.node_name.is_empty() => {
            waiting_deleted(inner, pod);
            if is_ours(pod) && !pod.status.nominated_node_name.is_empty() {
                inner.nomination_ended(pod);
            }
            // It may have been assumed while its deletion was on the way.
            inner.cache.borrow_mut().forget(&key(pod));
        }
        Delta::Deleted(pod) => {
            say(ctx, "Delete event for scheduled pod", "eventhandlers.go:450", pod);
            inner.cache.borrow_mut().remove_pod(&key(pod));
            inner.changed(Change::AssignedPodDeleted, &About::Pod(Some(pod.clone()), None), pod.revision);
        }
    }
}

fn key(pod: &Pod) -> PodKey {
    PodKey(pod.metadata.namespace.clone(), pod.metadata.name.clone())
}

fn is_ours(pod: &Pod) -> bool {
    pod.spec.scheduler_name == *NAME
}

fn waiting_added(inner: &Rc<Inner>, pod: &Rev<Pod>) {
    if !is_ours(pod) {
        return;
    }
    say(&inner.ctx, "Add event for unscheduled pod", "eventhandlers.go:242", pod);
    let info = PodInfo::new(pod.clone());
    inner.nominate(&info, None);
    inner.queue.borrow_mut().add(info, inner.ctx.now());
    inner.wake.notify();
}

fn waiting_updated(inner: &Rc<Inner>, old: &Rev<Pod>, new: &Rev<Pod>) {
    if !is_ours(new) || inner.cache.borrow().is_assumed(&key(new)) {
        return;
    }
    say(&inner.ctx, "Update event for unscheduled pod", "eventhandlers.go:345", new);
    let mut changes = Vec::new();
    if old.metadata.labels != new.metadata.labels {
        changes.push(Change::TargetPodLabels);
    }
    if asks_less(old, new) {
        changes.push(Change::TargetPodScaledDown);
    }
    if !old.spec.scheduling_gates.is_empty() && new.spec.scheduling_gates.is_empty() {
        changes.push(Change::TargetPodSchedulingGatesEliminated);
    }
    if old.spec.tolerations.len() != new.spec.tolerations.len() {
        changes.push(Change::TargetPodTolerations);
    }
    let made = |pod: &Pod| -> Vec<(Str, OStr)> {
        pod.status.resource_claim_statuses.iter().map(|s| (s.name.clone(), s.resource_claim_name.clone())).collect()
    };
    let extended = |pod: &Pod| pod.status.extended_resource_claim_status.get().map(|s| s.resource_claim_name.clone());
    if made(old) != made(new) || extended(old) != extended(new) {
        changes.push(Change::TargetPodGeneratedResourceClaim);
    }
    let about = About::Pod(Some(old.clone()), Some(new.clone()));
    let info = PodInfo::new(new.clone());
    let nominated = &old.status.nominated_node_name;
    // A promise that the status does not have yet stands.
    let unseen = nominated.is_empty() && new.status.nominated_node_name.is_empty();
    let kept = inner.nominated.borrow().get(&info.key()).filter(|_| unseen).map(|(node, _)| node.clone());
    inner.nominate(&info, kept.as_deref());
    let moved = inner.queue.borrow_mut().update(info, &changes, &about, inner.ctx.now());
    if let Some(moved) = moved {
        let change = changes.first().copied().unwrap_or(Change::TargetPodSchedulingGatesEliminated);
        log_moved(&inner.ctx, &[moved], change);
    }
    if !nominated.is_empty() && *nominated != new.status.nominated_node_name {
        inner.nomination_ended(old);
    }
    inner.wake.notify();
}

fn waiting_deleted(inner: &Rc<Inner>, pod: &Rev<Pod>) {
    if !is_ours(pod) {
        return;
    }
    say(&inner.ctx, "Delete event for unscheduled pod", "eventhandlers.go:364", pod);
    let key = key(pod);
    inner.queue.borrow_mut().remove(&key);
    inner.nominated.borrow_mut().remove(&key);
    // One that is being bound may wait for long; its room is free now (`handleAssumedPodDeletion`).
    let is_assumed = inner.cache.borrow().is_assumed(&key);
    if is_assumed {
        inner.cache.borrow_mut().forget(&key);
        inner.changed(Change::AssignedPodDeleted, &About::Pod(Some(pod.clone()), None), pod.revision);
    }
}

fn placed_added(inner: &Rc<Inner>, pod: &Rev<Pod>) {
    say(&inner.ctx, "Add event for scheduled pod", "eventhandlers.go:406", pod);
    inner.cache.borrow_mut().set_pod(pod.clone());
    inner.changed(Change::AssignedPodAdded, &About::Pod(None, Some(pod.clone())), pod.revision);
}

fn asks_less(old: &Pod, new: &Pod) -> bool {
    let ask = |pod: &Pod| crate::resources::pod_requests(pod, false);
    let resized = |pod: &Pod| crate::resources::is_resized(pod);
    if old.spec.same(&new.spec) && !resized(old) && !resized(new) {
        return false;
    }
    let (old, new) = (ask(old), ask(new));
    new.cpu < old.cpu || new.memory < old.memory || new.storage < old.storage
}

fn node_changed(inner: &Rc<Inner>, delta: &Delta<Node>) {
    let ctx = &inner.ctx;
    match delta {
        Delta::Added(node) => {
            klog::info("Add event for node").str("node", &node.metadata.name).log(ctx, "eventhandlers.go:69");
            inner.cache.borrow_mut().set_node(node.clone());
            inner.changed(Change::NodeAdded, &About::Node(None, Some(node.clone())), node.revision);
        }
        Delta::Updated { old, new } => {
            klog::info("Update event for node").str("node", &new.metadata.name).log(ctx, "eventhandlers.go:83");
            inner.cache.borrow_mut().set_node(new.clone());
            let mut changes = Vec::new();
            if old.spec.unschedulable && !new.spec.unschedulable {
                changes.push(Change::NodeTaints);
            }
            if old.status.allocatable != new.status.allocatable {
                changes.push(Change::NodeAllocatable);
            }
            if old.metadata.labels != new.metadata.labels {
                changes.push(Change::NodeLabels);
            }
            if old.spec.taints != new.spec.taints {
                changes.push(Change::NodeTaints);
            }
            if old.status.declared_features != new.status.declared_features {
                changes.push(Change::NodeDeclaredFeatures);
            }
            for change in changes {
                inner.changed(change, &About::Node(Some(old.clone()), Some(new.clone())), new.revision);
            }
        }
        Delta::Deleted(node) => {
            klog::info("Delete event for node").str("node", &node.metadata.name).log(ctx, "eventhandlers.go:112");
            inner.cache.borrow_mut().remove_node(&node.metadata.name);
            inner.changed(Change::NodeDeleted, &About::Node(Some(node.clone()), None), node.revision);
        }
    }
}
