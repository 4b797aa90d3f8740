//! Which volume suits which claim (`component-helpers/storage/volume`), for the controller that binds them and for the
//! scheduler.

use std::collections::BTreeSet;

use crate::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use crate::selector::LabelSelector;
use crate::{Rev, Str};

/// The claim's binding is complete.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The controller chose the other side of a binding, not the user.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// The node for which the scheduler wants a volume provisioned.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Who provisioned a volume.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The storage class that a claim asks for; empty for none (`GetPersistentVolumeClaimClass`).
pub fn claim_class(claim: &PersistentVolumeClaim) -> Str {
    let old = claim.metadata.annotations.get(CLASS).cloned();
    old.unwrap_or_else(|| claim.spec.storage_class_name.get_str().cloned().unwrap_or_default())
}

/// The storage class of a volume.
pub fn volume_class(volume: &PersistentVolume) -> Str {
    volume.metadata.annotations.get(CLASS).cloned().unwrap_or_else(|| volume.spec.storage_class_name.clone())
}

/// Whether the volume is bound to this claim, or was made for it (`IsVolumeBoundToClaim`).
pub fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.claim_ref.get().is_some_and(|r| {
        r.name == claim.metadata.name
            && r.namespace == claim.metadata.namespace
            && (r.uid.is_empty() || r.uid == claim.metadata.uid)
    })
}

/// Whether one is a file system and the other a block device.
pub fn modes_mismatch(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    claim.spec.volume_mode.get().unwrap_or("Filesystem") != volume.spec.volume_mode.get().unwrap_or("Filesystem")
}

fn has_access_modes(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    claim.spec.access_modes.iter().all(|mode| volume.spec.access_modes.contains(mode))
}

fn same_attributes_class(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.volume_attributes_class_name.or_empty() == claim.spec.volume_attributes_class_name.or_empty()
}

/// Whether a volume that a claim names is what it asks for (`checkVolumeSatisfyClaim`).
///
/// # Errors
/// What is wrong.
pub fn check_satisfies(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Result<(), String> {
    let wrong = |what: &str| Err(what.to_string());
    let asked = claim.spec.resources.requests.get("storage").map_or(0, |q| q.value());
    if volume.metadata.deletion_timestamp.unix().is_some() {
        return Err(format!("the volume is marked for deletion {}", crate::go::quote(&volume.metadata.name)));
    }
    if volume.spec.capacity.get("storage").map_or(0, |q| q.value()) < asked {
        return wrong("requested PV is too small");
    }
    if volume_class(volume) != claim_class(claim) {
        return wrong("storageClassName does not match");
    }
    if !same_attributes_class(volume, claim) {
        return wrong("volumeAttributesClassName does not match");
    }
    if modes_mismatch(volume, claim) {
        return wrong("incompatible volumeMode");
    }
    if has_access_modes(volume, claim) { Ok(()) } else { wrong("incompatible accessMode") }
}

/// The volume that suits a claim best: the one that is bound to it already, or else the smallest that is large enough,
/// among those with the fewest access modes (`FindMatchingVolume`).
///
/// With `node` the search is for a node that the scheduler looks at, and says which volumes can be reached from there;
/// without, claims that wait for their first consumer get nothing new.
pub fn find_match(
    claim: &PersistentVolumeClaim,
    volumes: &[Rev<PersistentVolume>],
    waits: bool,
    node: Option<&dyn Fn(&PersistentVolume) -> bool>,
    taken: &BTreeSet<Str>,
) -> Option<Rev<PersistentVolume>> {
    let selector = match claim.spec.selector.get() {
        Some(selector) => Some(LabelSelector::from_api(Some(selector)).ok()?),
        None => None,
    };
    let asked = claim.spec.resources.requests.get("storage").cloned().unwrap_or_default();
    let size = |v: &PersistentVolume| v.spec.capacity.get("storage").cloned().unwrap_or_default();
    let is_candidate = |v: &&Rev<PersistentVolume>| {
        !taken.contains(&v.metadata.name)
            && (v.spec.claim_ref.is_none() || is_bound_to(v, claim))
            && size(v) >= asked
            && !modes_mismatch(v, claim)
            && same_attributes_class(v, claim)
            && v.metadata.deletion_timestamp.unix().is_none()
            && has_access_modes(v, claim)
    };
    let candidates: Vec<&Rev<PersistentVolume>> = volumes.iter().filter(is_candidate).collect();
    let reachable = |v: &PersistentVolume| node.is_none_or(|reaches| reaches(v));
    if let Some(bound) = candidates.iter().find(|v| is_bound_to(v, claim)) {
        return reachable(bound).then(|| (*bound).clone());
    }
    if node.is_none() && waits {
        return None;
    }
    let class = claim_class(claim);
    let suits = |v: &&&Rev<PersistentVolume>| {
        v.status.phase == "Available"
            && selector.as_ref().is_none_or(|s| s.matches(&v.metadata.labels))
            && volume_class(v) == class
            && reachable(v)
    };
    // Of equally good ones the first by name.
    let best = candidates.iter().filter(suits).min_by(|a, b| {
        let modes = |v: &PersistentVolume| v.spec.access_modes.len();
        modes(a).cmp(&modes(b)).then_with(|| size(a).cmp(&size(b)))
    });
    best.map(|v| (*v).clone())
}

/// The claim of a pod's volume: the one it names, or the one made for it (`ephemeral.VolumeClaimName`).
pub fn claim_name(pod: &Pod, volume: &Volume) -> Option<Str> {
    if let Some(source) = volume.persistent_volume_claim.get() {
        return Some(source.claim_name.clone());
    }
    volume.ephemeral.is_some().then(|| format!("{}-{}", pod.metadata.name, volume.name).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{List, Map, OStr, Quantity};

    fn volume(name: &str, size: &str, class: &str, modes: &[&str]) -> Rev<PersistentVolume> {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = name.into();
        let spec = volume.spec.make();
        spec.capacity = Map::from([("storage", Quantity::parse(size).unwrap())]);
        spec.storage_class_name = class.into();
        spec.access_modes = modes.iter().map(|m| Str::from(*m)).collect();
        volume.status.make().phase = "Available".into();
        Rev::new(1, volume)
    }

    fn claim(size: &str, class: &str) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = "data".into();
        claim.metadata.namespace = "default".into();
        claim.metadata.uid = "u".into();
        let spec = claim.spec.make();
        spec.resources.requests = Map::from([("storage", Quantity::parse(size).unwrap())]);
        spec.storage_class_name = OStr::some(class);
        spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
        claim
    }

    fn best(claim: &PersistentVolumeClaim, volumes: &[Rev<PersistentVolume>], waits: bool) -> Option<String> {
        find_match(claim, volumes, waits, None, &BTreeSet::new()).map(|v| v.metadata.name.to_string())
    }

    #[test]
    fn the_smallest_that_is_large_enough() {
        let volumes = [
            volume("a", "10Gi", "manual", &["ReadWriteOnce"]),
            volume("b", "2Gi", "manual", &["ReadWriteOnce"]),
            volume("c", "1Gi", "manual", &["ReadWriteOnce", "ReadWriteMany"]),
            volume("d", "1Gi", "other", &["ReadWriteOnce"]),
            volume("e", "1Gi", "manual", &["ReadOnlyMany"]),
        ];
        assert_eq!(best(&claim("500Mi", "manual"), &volumes, false).as_deref(), Some("b"));
        assert_eq!(best(&claim("5Gi", "manual"), &volumes, false).as_deref(), Some("a"));
        assert_eq!(best(&claim("50Gi", "manual"), &volumes, false), None);
        assert_eq!(best(&claim("500Mi", "manual"), &volumes, true), None);
        let mut reserved = (*volume("z", "50Gi", "manual", &["ReadWriteOnce"])).clone();
        let reference = reserved.spec.make().claim_ref.make();
        (reference.name, reference.namespace) = ("data".into(), "default".into());
        assert_eq!(best(&claim("500Mi", "manual"), &[Rev::new(1, reserved)], true).as_deref(), Some("z"));
    }

    #[test]
    fn what_is_wrong_with_a_volume() {
        let check = |v: &PersistentVolume, c: &PersistentVolumeClaim| check_satisfies(v, c).unwrap_err();
        let small = volume("a", "1Gi", "manual", &["ReadWriteOnce"]);
        assert_eq!(check(&small, &claim("2Gi", "manual")), "requested PV is too small");
        assert_eq!(check(&small, &claim("1Gi", "other")), "storageClassName does not match");
        let shared = volume("a", "1Gi", "manual", &["ReadOnlyMany"]);
        assert_eq!(check(&shared, &claim("1Gi", "manual")), "incompatible accessMode");
        assert!(check_satisfies(&small, &claim("1Gi", "manual")).is_ok());
    }
}
