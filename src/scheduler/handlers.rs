//! What the scheduler watches, and what each change does to its cache and queue (`eventhandlers.go`).

use crate::node_info::{NodeInfo, PodInfo, PodKey};
use crate::queue::{Change, Moved};
use crate::resources::Resources;
use crate::server::{Inner, NAME};
use crate::storage::{Storage, uses_claim};
use api::apps_v1::{ReplicaSet, StatefulSet};
use api::core_v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service};
use api::policy_v1::PodDisruptionBudget;
use api::selector::{LabelSelector, Requirement};
use api::storage_v1::StorageClass;
use api::{Rev, Str};
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
            assumed: assumed.clone(),
        }
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
    fn changed(&self, change: Change, node: Option<&Rc<NodeInfo>>, revision: u64) {
        let moved = self.queue.borrow_mut().changed(change, node, revision, self.ctx.now());
        log_moved(&self.ctx, &moved, change);
        if !moved.is_empty() {
            self.wake.notify();
        }
    }
    fn storage_changed(&self, change: Change, revision: u64, concerns: &dyn Fn(&PodInfo) -> bool) {
        let moved = self.queue.borrow_mut().changed_for(change, None, revision, self.ctx.now(), concerns);
        log_moved(&self.ctx, &moved, change);
        if !moved.is_empty() {
            self.wake.notify();
        }
    }
    fn node_info(&self, node: &Rev<Node>) -> Rc<NodeInfo> {
        let known = self.cache.borrow().node(&node.metadata.name).cloned();
        known.unwrap_or_else(|| Rc::new(NodeInfo::new(node.clone())))
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
}

/// Claims, volumes and classes, for pods that wait for them.
fn register_storage(inner: &Rc<Inner>) {
    let own = inner.clone();
    inner.informers.claims.on(move |delta| {
        if matches!(delta, Delta::Deleted(_)) {
            return;
        }
        let meta = &delta.object().metadata;
        let concerns = |info: &PodInfo| uses_claim(&info.pod, &meta.namespace, &meta.name);
        own.storage_changed(Change::ClaimAddedOrUpdated, delta.revision(), &concerns);
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
        if !matches!(delta, Delta::Deleted(_)) {
            own.storage_changed(Change::VolumeAddedOrUpdated, delta.revision(), &|_| true);
        }
    });
    let own = inner.clone();
    inner.informers.classes.on(move |delta| {
        if matches!(delta, Delta::Added(_)) {
            own.storage_changed(Change::StorageClassAdded, delta.revision(), &|_| true);
        }
    });
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
                if old.metadata.labels != new.metadata.labels {
                    inner.changed(Change::AssignedPodLabels, None, new.revision);
                }
                if asks_less(old, new) {
                    inner.changed(Change::PodScaledDown, None, new.revision);
                }
            }
            // Pods never lose their node.
            (false, true) => {}
        },
        Delta::Deleted(pod) if pod.spec.node_name.is_empty() => {
            waiting_deleted(inner, pod);
            // It may have been assumed while its deletion was on the way.
            inner.cache.borrow_mut().forget(&key(pod));
        }
        Delta::Deleted(pod) => {
            say(ctx, "Delete event for scheduled pod", "eventhandlers.go:450", pod);
            let node = {
                let mut cache = inner.cache.borrow_mut();
                cache.remove_pod(&key(pod));
                cache.node(&pod.spec.node_name).cloned()
            };
            inner.changed(Change::AssignedPodDeleted, node.as_ref(), pod.revision);
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
    let nominated = &pod.status.nominated_node_name;
    if !nominated.is_empty() {
        inner.nominated.borrow_mut().insert(info.key(), (nominated.clone(), info.clone()));
    }
    inner.queue.borrow_mut().add(info, inner.ctx.now());
    inner.wake.notify();
}

fn waiting_updated(inner: &Rc<Inner>, old: &Rev<Pod>, new: &Rev<Pod>) {
    if !is_ours(new) || inner.cache.borrow().is_assumed(&key(new)) {
        return;
    }
    say(&inner.ctx, "Update event for unscheduled pod", "eventhandlers.go:345", new);
    let mut changes = Vec::new();
    if old.spec.tolerations != new.spec.tolerations {
        changes.push(Change::PodTolerations);
    }
    if !old.spec.scheduling_gates.is_empty() && new.spec.scheduling_gates.is_empty() {
        changes.push(Change::PodSchedulingGatesEliminated);
    }
    if asks_less(old, new) {
        changes.push(Change::PodScaledDown);
    }
    let moved = inner.queue.borrow_mut().update(PodInfo::new(new.clone()), &changes, inner.ctx.now());
    if let Some(moved) = moved {
        log_moved(&inner.ctx, &[moved], changes.first().copied().unwrap_or(Change::PodTolerations));
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
}

fn placed_added(inner: &Rc<Inner>, pod: &Rev<Pod>) {
    say(&inner.ctx, "Add event for scheduled pod", "eventhandlers.go:406", pod);
    let node = {
        let mut cache = inner.cache.borrow_mut();
        cache.set_pod(pod.clone());
        cache.node(&pod.spec.node_name).cloned()
    };
    inner.changed(Change::AssignedPodAdded, node.as_ref(), pod.revision);
}

fn asks_less(old: &Pod, new: &Pod) -> bool {
    let ask = |pod: &Pod| crate::resources::pod_requests(pod, false);
    if old.spec.same(&new.spec) {
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
            let info = inner.node_info(node);
            for change in [
                Change::NodeAdded,
                Change::NodeAddedOrLabels,
                Change::NodeAddedOrTaintsOrSpec,
                Change::NodeAddedOrAllocatable,
            ] {
                inner.changed(change, Some(&info), node.revision);
            }
        }
        Delta::Updated { old, new } => {
            klog::info("Update event for node").str("node", &new.metadata.name).log(ctx, "eventhandlers.go:83");
            inner.cache.borrow_mut().set_node(new.clone());
            let mut changes = Vec::new();
            if old.metadata.labels != new.metadata.labels {
                changes.push(Change::NodeAddedOrLabels);
            }
            if old.spec.taints != new.spec.taints || old.spec.unschedulable != new.spec.unschedulable {
                changes.push(Change::NodeAddedOrTaintsOrSpec);
            }
            if Resources::of(&old.status.allocatable) != Resources::of(&new.status.allocatable) {
                changes.push(Change::NodeAddedOrAllocatable);
            }
            if !changes.is_empty() {
                let info = inner.node_info(new);
                changes.into_iter().for_each(|c| inner.changed(c, Some(&info), new.revision));
            }
        }
        Delta::Deleted(node) => {
            klog::info("Delete event for node").str("node", &node.metadata.name).log(ctx, "eventhandlers.go:112");
            inner.cache.borrow_mut().remove_node(&node.metadata.name);
            inner.changed(Change::NodeDeleted, None, node.revision);
        }
    }
}
