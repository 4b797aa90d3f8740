//! What the controller works on: ReplicaSets, or ReplicationControllers seen as ReplicaSets
//! (`pkg/controller/replication/conversion.go`).

use api::apps_v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use api::core_v1::{Pod, ReplicationController, ReplicationControllerCondition};
use api::meta_v1::{LabelSelector, ObjectMeta, OwnerReference};
use api::{KindInfo, Ptr, Resource, Rev, Status};
use client::{Client, Lister};

use super::CONTROLLER_UID_INDEX;
use crate::controller_utils::{self as utils, Claim, SyncError};

/// The cache of one of the two kinds.
#[derive(Clone)]
pub(super) enum Sets {
    /// ReplicaSets.
    Apps(Lister<ReplicaSet>),
    /// ReplicationControllers.
    Core(Lister<ReplicationController>),
}

/// A ReplicationController as a ReplicaSet at the same revision.
pub(super) fn seen(rc: &Rev<ReplicationController>) -> Rev<ReplicaSet> {
    let mut set = ReplicaSet { metadata: rc.metadata.clone(), ..ReplicaSet::default() };
    let spec = set.spec.make();
    spec.replicas = rc.spec.replicas;
    spec.min_ready_seconds = rc.spec.min_ready_seconds;
    spec.selector = Ptr::some(LabelSelector { match_labels: rc.spec.selector.clone(), ..LabelSelector::default() });
    if let Some(template) = rc.spec.template.get() {
        *spec.template.make() = template.clone();
    }
    let (status, from) = (set.status.make(), &rc.status);
    status.replicas = from.replicas;
    status.fully_labeled_replicas = from.fully_labeled_replicas;
    status.ready_replicas = from.ready_replicas;
    status.available_replicas = from.available_replicas;
    status.observed_generation = from.observed_generation;
    let condition = |c: &ReplicationControllerCondition| ReplicaSetCondition {
        type_: c.type_.clone(),
        status: c.status.clone(),
        last_transition_time: c.last_transition_time,
        reason: c.reason.clone(),
        message: c.message.clone(),
    };
    status.conditions = from.conditions.iter().map(condition).collect();
    Rev::new(rc.revision, set)
}

impl Sets {
    pub(super) fn kind(&self) -> &'static KindInfo {
        match self {
            Sets::Apps(_) => ReplicaSet::KIND,
            Sets::Core(_) => ReplicationController::KIND,
        }
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<Rev<ReplicaSet>> {
        match self {
            Sets::Apps(sets) => sets.get(namespace, name),
            Sets::Core(controllers) => controllers.get(namespace, name).as_ref().map(seen),
        }
    }

    pub(super) fn in_namespace(&self, namespace: &str) -> Vec<Rev<ReplicaSet>> {
        match self {
            Sets::Apps(sets) => sets.in_namespace(namespace),
            Sets::Core(controllers) => controllers.in_namespace(namespace).iter().map(seen).collect(),
        }
    }

    /// Those that the owner of that uid controls.
    pub(super) fn controlled_by(&self, uid: &str) -> Vec<Rev<ReplicaSet>> {
        match self {
            Sets::Apps(sets) => sets.by_index(CONTROLLER_UID_INDEX, uid),
            Sets::Core(controllers) => controllers.by_index(CONTROLLER_UID_INDEX, uid).iter().map(seen).collect(),
        }
    }

    /// The revision up to which the cache is right.
    pub(super) fn revision(&self) -> u64 {
        match self {
            Sets::Apps(sets) => sets.revision(),
            Sets::Core(controllers) => controllers.revision(),
        }
    }

    /// The reference by which pods name their set.
    pub(super) fn reference(&self, owner: &ObjectMeta) -> OwnerReference {
        match self {
            Sets::Apps(_) => utils::new_controller_ref::<ReplicaSet>(owner),
            Sets::Core(_) => utils::new_controller_ref::<ReplicationController>(owner),
        }
    }

    /// The pods that are the set's, after adoption and release.
    pub(super) async fn claim(&self, claim: &Claim<'_>, pods: Vec<Rev<Pod>>) -> Result<Vec<Rev<Pod>>, SyncError> {
        match self {
            Sets::Apps(_) => claim.claim::<ReplicaSet, Pod>(pods).await,
            Sets::Core(_) => claim.claim::<ReplicationController, Pod>(pods).await,
        }
    }

    /// The newest version that the server has.
    pub(super) async fn fresh(&self, client: &Client, namespace: &str, name: &str) -> Result<Rev<ReplicaSet>, Status> {
        match self {
            Sets::Apps(_) => client.get::<ReplicaSet>(namespace, name).await,
            Sets::Core(_) => client.get::<ReplicationController>(namespace, name).await.map(|rc| seen(&rc)),
        }
    }

    /// Writes the status of a version of a set.
    pub(super) async fn write_status(
        &self,
        client: &Client,
        base: &Rev<ReplicaSet>,
        status: ReplicaSetStatus,
    ) -> Result<Rev<ReplicaSet>, Status> {
        match self {
            Sets::Apps(_) => {
                let mut new = (**base).clone();
                *new.status.make() = status;
                client.update_status(new, base.revision).await
            }
            Sets::Core(controllers) => {
                let known = controllers.get(&base.metadata.namespace, &base.metadata.name);
                let mut new = known.map(|rc| (*rc).clone()).unwrap_or_default();
                new.metadata = base.metadata.clone();
                let to = new.status.make();
                to.replicas = status.replicas;
                to.fully_labeled_replicas = status.fully_labeled_replicas;
                to.ready_replicas = status.ready_replicas;
                to.available_replicas = status.available_replicas;
                to.observed_generation = status.observed_generation;
                let condition = |c: &ReplicaSetCondition| ReplicationControllerCondition {
                    type_: c.type_.clone(),
                    status: c.status.clone(),
                    last_transition_time: c.last_transition_time,
                    reason: c.reason.clone(),
                    message: c.message.clone(),
                };
                to.conditions = status.conditions.iter().map(condition).collect();
                client.update_status(new, base.revision).await.map(|rc| seen(&rc))
            }
        }
    }
}
