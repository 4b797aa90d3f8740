//! Who owns a pod's volume claims (`persistentVolumeClaimRetentionPolicy`).

use api::apps_v1::StatefulSet;
use api::core_v1::{PersistentVolumeClaim, Pod};
use api::meta_v1::{ObjectMeta, OwnerReference};
use api::{List, Resource};

use super::identity;
use crate::controller_utils as utils;

/// Whether claims go with the set, and whether they go with a pod that is scaled away.
fn policy(set: &StatefulSet) -> (bool, bool) {
    let policy = set.spec.persistent_volume_claim_retention_policy.get();
    policy.map_or((false, false), |p| (p.when_deleted == "Delete", p.when_scaled == "Delete"))
}

fn refers<T: Resource>(reference: &OwnerReference, owner: &ObjectMeta) -> bool {
    reference.api_version == T::KIND.api_version && reference.kind == T::KIND.kind && reference.name == owner.name
}

fn owned_by(claim: &PersistentVolumeClaim, owner: &ObjectMeta) -> bool {
    claim.metadata.owner_references.iter().any(|r| r.uid == owner.uid)
}

/// Whether a reference names the owner but means an earlier object of that name.
fn stale<T: Resource>(claim: &PersistentVolumeClaim, owner: &ObjectMeta) -> bool {
    let reference = claim.metadata.owner_references.iter().find(|r| refers::<T>(r, owner));
    reference.is_some_and(|r| r.uid != owner.uid)
}

/// Whether a new pod would get a claim that still belongs to the pod before it.
pub fn blocks_creation(set: &StatefulSet, pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    policy(set).1 && stale::<Pod>(claim, &pod.metadata)
}

/// Whether something else controls the claim.
pub fn has_unexpected_controller(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    if policy(set) == (false, false) {
        return false;
    }
    claim.metadata.owner_references.iter().any(|r| {
        if refers::<StatefulSet>(r, &set.metadata) {
            r.uid != set.metadata.uid
        } else if refers::<Pod>(r, &pod.metadata) {
            r.uid != pod.metadata.uid
        } else {
            r.controller == Some(true)
        }
    })
}

/// Who should own the claim: the set, the pod.
fn wanted(set: &StatefulSet, pod: &Pod) -> (bool, bool) {
    let scaled_down = !identity::ordinals(set).contains(&i64::from(identity::ordinal(pod)));
    match policy(set) {
        (false, false) => (false, false),
        (true, false) => (true, false),
        (false, true) => (false, scaled_down),
        (true, true) => (!scaled_down, scaled_down),
    }
}

/// Whether the claim's owners are as the policy says (`isClaimOwnerUpToDate`).
pub fn is_up_to_date(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    let (set_meta, pod_meta) = (&set.metadata, &pod.metadata);
    if stale::<StatefulSet>(claim, set_meta) || stale::<Pod>(claim, pod_meta) {
        return true;
    }
    let owned = (owned_by(claim, set_meta), owned_by(claim, pod_meta));
    if has_unexpected_controller(claim, set, pod) {
        return owned == (false, false);
    }
    let ours = |r: &&OwnerReference| r.uid == set_meta.uid || r.uid == pod_meta.uid;
    if claim.metadata.owner_references.iter().filter(ours).any(|r| r.controller != Some(true)) {
        return false;
    }
    owned == wanted(set, pod)
}

/// Gives the claim the owners of the policy (`updateClaimOwnerRefForSetAndPod`).
pub fn update_owners(claim: &mut PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) {
    let unexpected = has_unexpected_controller(claim, set, pod);
    let other = |r: &&OwnerReference| !refers::<StatefulSet>(r, &set.metadata) && !refers::<Pod>(r, &pod.metadata);
    let mut owners: Vec<OwnerReference> = claim.metadata.owner_references.iter().filter(other).cloned().collect();
    if !unexpected {
        let (by_set, by_pod) = wanted(set, pod);
        if by_set {
            owners.push(utils::new_controller_ref::<StatefulSet>(&set.metadata));
        }
        if by_pod {
            owners.push(utils::new_controller_ref::<Pod>(&pod.metadata));
        }
    }
    claim.metadata.owner_references = List::from(owners);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_follow_the_policy() {
        let mut set = StatefulSet::default();
        set.metadata.name = "db".into();
        set.metadata.uid = "s".into();
        set.spec.make().replicas = Some(1);
        let mut pod = Pod::default();
        pod.metadata.uid = "p".into();
        let owners = |deleted: &str, scaled: &str, name: &str| {
            let (mut set, mut pod) = (set.clone(), pod.clone());
            let policy = set.spec.make().persistent_volume_claim_retention_policy.make();
            policy.when_deleted = deleted.into();
            policy.when_scaled = scaled.into();
            pod.metadata.name = name.into();
            let mut claim = PersistentVolumeClaim::default();
            update_owners(&mut claim, &set, &pod);
            assert!(is_up_to_date(&claim, &set, &pod));
            claim.metadata.owner_references.iter().map(|r| r.uid.to_string()).collect::<String>()
        };
        assert_eq!(owners("Retain", "Retain", "db-0"), "");
        assert_eq!(owners("Delete", "Retain", "db-1"), "s");
        assert_eq!(owners("Retain", "Delete", "db-0"), "");
        assert_eq!(owners("Retain", "Delete", "db-1"), "p");
        assert_eq!(owners("Delete", "Delete", "db-0"), "s");
        assert_eq!(owners("Delete", "Delete", "db-1"), "p");
    }
}
