//! The claims of pods and the volumes for them (`plugins/volumebinding/binder.go`): what a pod's claims can get on a
//! node, and the writes that give it to them.

use crate::node_info::NodeInfo;
use crate::plugins::node_affinity::term_matches;
use crate::verdict::{Code, Reason, Rejection};
use api::SortSmall;
use api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use api::selector::LabelSelector;
use api::storage_v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use api::volume::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE, claim_class, claim_name, find_match, is_bound_to,
};
use api::{Rev, Str};
use client::{Client, Key, Lister};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

/// How long a pod waits for its claims to be bound (`bindTimeoutSeconds`), and how often it looks.
const BIND_TIMEOUT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_secs(1);
/// The provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Whether the pod has a volume by that claim.
pub(crate) fn uses_claim(pod: &Pod, namespace: &str, claim: &str) -> bool {
    pod.metadata.namespace == namespace
        && pod.spec.volumes.iter().any(|v| claim_name(pod, v).is_some_and(|name| name == claim))
}

/// Claims, volumes and classes as the scheduler knows them. Clones share the caches.
#[derive(Clone)]
pub struct Storage {
    /// All claims.
    pub claims: Lister<PersistentVolumeClaim>,
    /// All volumes.
    pub volumes: Lister<PersistentVolume>,
    /// All classes.
    pub classes: Lister<StorageClass>,
    /// The storage drivers of nodes.
    pub csi_nodes: Lister<CSINode>,
    /// All storage drivers.
    pub csi_drivers: Lister<CSIDriver>,
    /// How much the drivers that say so have left, by class and topology.
    pub capacities: Lister<CSIStorageCapacity>,
    /// Which volumes are attached to which nodes.
    pub attachments: Lister<VolumeAttachment>,
    /// Volumes that were promised to claims.
    pub assumed: Rc<RefCell<BTreeMap<Str, Rev<PersistentVolume>>>>,
}

impl Default for Storage {
    fn default() -> Self {
        Storage {
            claims: Lister::of([]),
            volumes: Lister::of([]),
            classes: Lister::of([]),
            csi_nodes: Lister::of([]),
            csi_drivers: Lister::of([]),
            capacities: Lister::of([]),
            attachments: Lister::of([]),
            assumed: Rc::default(),
        }
    }
}

/// A pod's claims.
#[derive(Default)]
pub struct PodClaims {
    bound: Vec<Rev<PersistentVolumeClaim>>,
    /// Unbound, and to be bound before the pod is.
    pub immediate: Vec<Rev<PersistentVolumeClaim>>,
    /// Unbound, and bound once the pod has a node.
    late: Vec<Rev<PersistentVolumeClaim>>,
}

impl PodClaims {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty() && self.immediate.is_empty() && self.late.is_empty()
    }
}

/// What a claim gets.
pub enum Step {
    /// This volume.
    Bind(Rev<PersistentVolume>, Rev<PersistentVolumeClaim>),
    /// One that its provisioner makes for the node, out of this capacity where its driver says how much it has.
    Provision(Rev<PersistentVolumeClaim>, Option<Rev<CSIStorageCapacity>>),
}

impl Storage {
    /// The claims of a pod.
    ///
    /// # Errors
    /// The claim that is missing, lost or going (`podHasPVCs`).
    pub fn claims_of(&self, pod: &Pod) -> Result<PodClaims, String> {
        let mut claims = PodClaims::default();
        for volume in pod.spec.volumes.iter() {
            let Some(name) = claim_name(pod, volume) else { continue };
            let quoted = api::go::quote(&name);
            let Some(claim) = self.claims.get(&pod.metadata.namespace, &name) else {
                return Err(match volume.ephemeral.is_some() {
                    true => {
                        format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {quoted}")
                    }
                    false => format!("persistentvolumeclaim {quoted} not found"),
                });
            };
            if claim.status.phase == "Lost" {
                let lost = api::go::quote(&claim.spec.volume_name);
                return Err(format!("persistentvolumeclaim {quoted} bound to non-existent persistentvolume {lost}"));
            }
            if claim.metadata.deletion_timestamp.unix().is_some() {
                return Err(format!("persistentvolumeclaim {quoted} is being deleted"));
            }
            let owned = claim.metadata.owner_references.iter().any(|r| r.uid == pod.metadata.uid);
            if volume.ephemeral.is_some() && !owned {
                return Err(format!(
                    "PVC {}/{name} was not created for pod {}/{} (pod is not owner)",
                    claim.metadata.namespace, pod.metadata.namespace, pod.metadata.name
                ));
            }
            if !claim.spec.volume_name.is_empty() && claim.metadata.annotations.contains_key(BIND_COMPLETED) {
                claims.bound.push(claim);
            } else if self.waits(&claim) && claim.spec.volume_name.is_empty() {
                claims.late.push(claim);
            } else {
                claims.immediate.push(claim);
            }
        }
        Ok(claims)
    }

    fn class(&self, claim: &PersistentVolumeClaim) -> Option<Rev<StorageClass>> {
        let name = claim_class(claim);
        self.classes.get("", &name).filter(|_| !name.is_empty())
    }

    fn waits(&self, claim: &PersistentVolumeClaim) -> bool {
        self.class(claim).is_some_and(|c| c.volume_binding_mode.get() == Some("WaitForFirstConsumer"))
    }

    /// The volumes, with what was promised.
    fn known_volumes(&self) -> Vec<Rev<PersistentVolume>> {
        let assumed = self.assumed.borrow();
        let mut all = self.volumes.list();
        for volume in &mut all {
            if let Some(promised) = assumed.get(&volume.metadata.name) {
                *volume = promised.clone();
            }
        }
        all
    }

    /// What the pod's claims can get on a node (`FindPodVolumes`).
    ///
    /// # Errors
    /// Why the node won't do.
    pub fn plan(&self, pod: &Pod, node: &NodeInfo) -> Result<Vec<Step>, Rejection> {
        let reject = |reasons: Vec<&'static str>| Rejection {
            code: Code::Unresolvable,
            reasons: reasons.into_iter().map(Reason::plain).collect(),
        };
        let Ok(claims) = self.claims_of(pod) else { return Ok(Vec::new()) };
        let mut reasons = Vec::new();
        for claim in &claims.bound {
            let Some(volume) = self.volumes.get("", &claim.spec.volume_name) else {
                reasons.push("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
                break;
            };
            if !reaches(node, &volume) {
                reasons.push("node(s) didn't match PersistentVolume's node affinity");
                break;
            }
        }
        const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
        let (mut steps, mut taken) = (Vec::new(), BTreeSet::new());
        let volumes = if claims.late.is_empty() { Vec::new() } else { self.known_volumes() };
        // The smallest claims first, so that they don't take what larger ones need.
        let mut late = claims.late;
        late.sort_small_by_key(|c| c.spec.resources.requests.get("storage").cloned().unwrap_or_default());
        for claim in late {
            let selected = claim.metadata.annotations.get(SELECTED_NODE);
            if selected.is_some_and(|selected| selected != node.name()) {
                reasons.push(NO_VOLUME);
                break;
            }
            let reachable = |volume: &PersistentVolume| reaches(node, volume);
            let found = match selected {
                Some(_) => None,
                None => find_match(&claim, &volumes, true, Some(&reachable), &taken),
            };
            if let Some(volume) = found {
                taken.insert(volume.metadata.name.clone());
                steps.push(Step::Bind(volume, claim));
                continue;
            }
            let class = self.class(&claim);
            let can_provision = |c: &Rev<StorageClass>| {
                !c.provisioner.is_empty() && c.provisioner != NO_PROVISIONER && in_topology(c, node)
            };
            let Some(class) = class.filter(can_provision) else {
                reasons.push(NO_VOLUME);
                break;
            };
            match self.capacity_for(&claim, &class, node) {
                Ok(capacity) => steps.push(Step::Provision(claim, capacity)),
                Err(NotEnough) => {
                    reasons.push("node(s) did not have enough free storage");
                    break;
                }
            }
        }
        if reasons.is_empty() { Ok(steps) } else { Err(reject(reasons)) }
    }

    /// The capacity that a class's driver makes a claim's volume of, if the driver says how much it has
    /// (`hasEnoughCapacity`).
    fn capacity_for(
        &self,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        node: &NodeInfo,
    ) -> Result<Option<Rev<CSIStorageCapacity>>, NotEnough> {
        let Some(size) = claim.spec.resources.requests.get("storage") else { return Ok(None) };
        let driver = self.csi_drivers.get("", &class.provisioner);
        if driver.is_none_or(|d| d.spec.storage_capacity != Some(true)) {
            return Ok(None);
        }
        let fits = |c: &Rev<CSIStorageCapacity>| {
            c.storage_class_name == class.metadata.name
                && volume_limit(c).is_some_and(|limit| limit >= size.value())
                && c.node_topology.is_some()
                && LabelSelector::from_ptr(&c.node_topology).is_ok_and(|s| s.matches(&node.node.metadata.labels))
        };
        self.capacities.list().into_iter().find(fits).map(Some).ok_or(NotEnough)
    }

    /// Promises the volumes of a plan (`AssumePodVolumes`).
    pub(crate) fn assume(&self, plan: Vec<Step>) -> Vec<Step> {
        let bound = |step: Step| match step {
            Step::Provision(..) => step,
            Step::Bind(volume, claim) => {
                let mut new = (*volume).clone();
                if !is_bound_to(&volume, &claim) {
                    new.metadata.annotations.insert(BOUND_BY_CONTROLLER, "yes".into());
                }
                let meta = &claim.metadata;
                let reference = new.spec.make().claim_ref.make();
                reference.kind = "PersistentVolumeClaim".into();
                reference.api_version = "v1".into();
                reference.namespace = meta.namespace.clone();
                reference.name = meta.name.clone();
                reference.uid = meta.uid.clone();
                reference.resource_version = claim.resource_version();
                let new = Rev::new(volume.revision, new);
                self.assumed.borrow_mut().insert(new.metadata.name.clone(), new.clone());
                Step::Bind(new, claim)
            }
        };
        plan.into_iter().map(bound).collect()
    }

    /// Writes a plan and waits until the claims are bound (`BindPodVolumes`).
    ///
    /// # Errors
    /// What went wrong, after which the promises are taken back.
    pub(crate) async fn bind(&self, client: &Client, pod: &Pod, node: &str, plan: Vec<Step>) -> Result<(), String> {
        if plan.is_empty() {
            return Ok(());
        }
        let promised: Vec<Str> = plan.iter().filter_map(Step::volume).collect();
        let result = self.write_and_wait(client, pod, node, plan).await;
        if result.is_err() {
            let mut assumed = self.assumed.borrow_mut();
            promised.iter().for_each(|name| drop(assumed.remove(name)));
        }
        result
    }

    async fn write_and_wait(&self, client: &Client, pod: &Pod, node: &str, plan: Vec<Step>) -> Result<(), String> {
        let mut claims = Vec::new();
        for step in plan {
            match step {
                Step::Bind(volume, claim) => {
                    claims.push(Key::of(&claim.metadata));
                    let written = client.update((*volume).clone(), volume.revision).await.map_err(|e| e.to_string())?;
                    let mut assumed = self.assumed.borrow_mut();
                    if let Some(promised) = assumed.get_mut(&written.metadata.name) {
                        *promised = written;
                    }
                }
                Step::Provision(claim, _) => {
                    claims.push(Key::of(&claim.metadata));
                    let mut new = (*claim).clone();
                    new.metadata.annotations.insert(SELECTED_NODE, node.into());
                    client.update(new, claim.revision).await.map_err(|e| e.to_string())?;
                }
            }
        }
        let ctx = client.ctx();
        let deadline = ctx.now() + BIND_TIMEOUT;
        while !claims.iter().all(|key| self.is_bound(key)) {
            if ctx.now() >= deadline {
                return Err("binding volumes: context deadline exceeded".to_string());
            }
            let gone = claims.iter().find(|key| self.claims.by_key(key).is_none());
            if let Some(key) = gone {
                let name = api::go::quote(&key.name);
                return Err(format!("binding volumes: could not find PVC {name} of pod {}", pod.metadata.name));
            }
            ctx.sleep(POLL).await;
        }
        Ok(())
    }

    fn is_bound(&self, key: &Key) -> bool {
        self.claims.by_key(key).is_some_and(|claim| {
            !claim.spec.volume_name.is_empty() && claim.metadata.annotations.contains_key(BIND_COMPLETED)
        })
    }
}

impl Step {
    fn volume(&self) -> Option<Str> {
        match self {
            Step::Bind(volume, _) => Some(volume.metadata.name.clone()),
            Step::Provision(..) => None,
        }
    }
}

/// There is no capacity that is enough.
struct NotEnough;

/// The largest volume that can be made out of a capacity, in bytes.
pub(crate) fn volume_limit(capacity: &CSIStorageCapacity) -> Option<i64> {
    capacity.maximum_volume_size.as_ref().or(capacity.capacity.as_ref()).map(api::Quantity::value)
}

/// Whether a volume can be reached from a node (`CheckNodeAffinity`).
fn reaches(node: &NodeInfo, volume: &PersistentVolume) -> bool {
    let required = volume.spec.node_affinity.get().and_then(|a| a.required.get());
    required.is_none_or(|r| r.node_selector_terms.iter().any(|term| term_matches(term, &node.node)))
}

/// Whether a class makes volumes for this node.
fn in_topology(class: &StorageClass, node: &NodeInfo) -> bool {
    let terms = &class.allowed_topologies;
    terms.is_empty()
        || terms.iter().any(|term| {
            term.match_label_expressions
                .iter()
                .all(|e| node.node.metadata.labels.get(&e.key).is_some_and(|v| e.values.contains(v)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core_v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, Volume};
    use api::{List, Map, OStr, Quantity, Time};

    fn node(name: &str) -> NodeInfo {
        let mut node = Node::default();
        node.metadata.name = name.into();
        node.metadata.labels = Map::from([("kubernetes.io/hostname", name.into())]);
        NodeInfo::new(Rev::new(1, node))
    }

    fn pod(claim: &str) -> Pod {
        let mut pod = Pod::default();
        (pod.metadata.name, pod.metadata.namespace) = ("p".into(), "default".into());
        let mut volume = Volume { name: "d".into(), ..Volume::default() };
        volume.persistent_volume_claim.make().claim_name = claim.into();
        pod.spec.make().volumes = List::from(vec![volume]);
        pod
    }

    fn claim(name: &str, class: &str) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        (claim.metadata.name, claim.metadata.namespace) = (name.into(), "default".into());
        let spec = claim.spec.make();
        spec.storage_class_name = OStr::some(class);
        spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
        spec.resources.requests = Map::from([("storage", Quantity::parse("1Gi").unwrap())]);
        claim.status.make().phase = "Pending".into();
        claim
    }

    fn bound(name: &str, volume: &str) -> PersistentVolumeClaim {
        let mut claim = claim(name, "manual");
        claim.spec.make().volume_name = volume.into();
        claim.metadata.annotations.insert(BIND_COMPLETED, "yes".into());
        claim.status.make().phase = "Bound".into();
        claim
    }

    /// A volume that only one node reaches.
    fn local(name: &str, on: &str, class: &str) -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = name.into();
        let spec = volume.spec.make();
        spec.storage_class_name = class.into();
        spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
        spec.capacity = Map::from([("storage", Quantity::parse("1Gi").unwrap())]);
        let requirement = NodeSelectorRequirement {
            key: "kubernetes.io/hostname".into(),
            operator: "In".into(),
            values: List::from(vec![on.into()]),
        };
        let term = NodeSelectorTerm { match_expressions: List::from(vec![requirement]), ..NodeSelectorTerm::default() };
        spec.node_affinity.make().required.make().node_selector_terms = List::from(vec![term]);
        volume.status.make().phase = "Available".into();
        volume
    }

    fn class(name: &str, provisioner: &str) -> StorageClass {
        let mut class = StorageClass { provisioner: provisioner.into(), ..StorageClass::default() };
        class.metadata.name = name.into();
        class.volume_binding_mode = OStr::some("WaitForFirstConsumer");
        class
    }

    fn storage(
        claims: Vec<PersistentVolumeClaim>,
        volumes: Vec<PersistentVolume>,
        classes: Vec<StorageClass>,
    ) -> Storage {
        Storage {
            claims: Lister::of(claims.into_iter().map(|o| Rev::new(1, o))),
            volumes: Lister::of(volumes.into_iter().map(|o| Rev::new(1, o))),
            classes: Lister::of(classes.into_iter().map(|o| Rev::new(1, o))),
            ..Storage::default()
        }
    }

    #[test]
    fn what_is_wrong_with_a_claim() {
        let mut lost = bound("lost", "gone");
        lost.status.make().phase = "Lost".into();
        let mut going = bound("going", "v");
        going.metadata.deletion_timestamp = Time::from_unix(5);
        let storage = storage(vec![lost, going, claim("open", "manual")], Vec::new(), Vec::new());
        for (name, why) in [
            ("absent", "persistentvolumeclaim \"absent\" not found"),
            ("lost", "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"gone\""),
            ("going", "persistentvolumeclaim \"going\" is being deleted"),
        ] {
            assert_eq!(storage.claims_of(&pod(name)).err().as_deref(), Some(why));
        }
        assert_eq!(storage.claims_of(&pod("open")).unwrap().immediate.len(), 1);
    }

    #[test]
    fn where_a_claim_can_be_had() {
        let claims = vec![bound("here", "v"), bound("nowhere", "w"), claim("late", "hand"), claim("made", "csi")];
        let volumes = vec![local("v", "a", "manual"), local("free", "b", "hand")];
        let classes = vec![class("hand", NO_PROVISIONER), class("csi", "example.com/csi")];
        let storage = storage(claims, volumes, classes);
        let why = |claim: &str, on: &str| {
            let plan = storage.plan(&pod(claim), &node(on));
            plan.err().map(|r| r.reasons.iter().map(|r| r.text.to_string()).collect::<Vec<_>>().join(", "))
        };
        assert_eq!(why("here", "a"), None);
        let text = "node(s) didn't match PersistentVolume's node affinity";
        assert_eq!(why("here", "b").as_deref(), Some(text));
        let text = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
        assert_eq!(why("nowhere", "a").as_deref(), Some(text));
        let text = "node(s) didn't find available persistent volumes to bind";
        assert_eq!(why("late", "a").as_deref(), Some(text));
        assert_eq!(why("late", "b"), None);
        assert_eq!(why("made", "a"), None);
        // What was promised to one pod is not there for another.
        let plan = storage.plan(&pod("late"), &node("b")).ok().unwrap();
        storage.assume(plan);
        let promised = storage.known_volumes();
        assert!(promised.iter().any(|v| v.metadata.name == "free" && v.spec.claim_ref.is_some()));
    }
}
