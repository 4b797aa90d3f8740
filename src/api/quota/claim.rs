//! What a claim of storage uses (pkg/quota/v1/evaluator/core/persistent_volume_claims.go).

use super::amounts::ResourceList;
use super::{one, pod};
use crate::SortSmall;
use crate::core_v1::{PersistentVolumeClaim, ScopedResourceSelectorRequirement};
use crate::{Map, Quantity, Str};

const RESOURCES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
/// Between a storage class and what is counted of it: `gold.storageclass.storage.k8s.io/requests.storage`.
const CLASS: &str = ".storageclass.storage.k8s.io/";
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Whether a quota for this resource is about claims.
pub(super) fn counts(name: &str) -> bool {
    let of_class = |rest: &str| name.strip_suffix(rest).is_some_and(|head| head.ends_with(CLASS));
    name == "count/persistentvolumeclaims" || RESOURCES.contains(&name) || RESOURCES.iter().any(|rest| of_class(rest))
}

fn class(claim: &PersistentVolumeClaim) -> &str {
    match claim.metadata.annotations.get(BETA_CLASS) {
        Some(class) => class,
        None => claim.spec.storage_class_name.or_empty(),
    }
}

/// What the claim uses.
pub(super) fn usage(claim: &PersistentVolumeClaim) -> ResourceList {
    let mut used = ResourceList::default();
    used.insert("persistentvolumeclaims", one());
    used.insert("count/persistentvolumeclaims", one());
    let class = class(claim);
    if !class.is_empty() {
        used.insert(format!("{class}{CLASS}persistentvolumeclaims"), one());
    }
    if let Some(storage) = storage(claim) {
        if !class.is_empty() {
            used.insert(format!("{class}{CLASS}requests.storage"), storage.clone());
        }
        used.insert("requests.storage", storage);
    }
    used
}

/// Whole bytes, as asked for or, if that is more, as allocated.
fn storage(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    let mut asked = claim.spec.resources.requests.get("storage").cloned()?;
    asked.round_up(0);
    if let Some(allocated) = claim.status.allocated_resources.get("storage")
        && *allocated > asked
    {
        asked = allocated.clone();
        asked.round_up(0);
    }
    Some(asked)
}

/// Whether the claim is within a scope.
pub(super) fn in_scope(
    claim: &PersistentVolumeClaim,
    selector: &ScopedResourceSelectorRequirement,
) -> Result<bool, String> {
    if &*selector.scope_name != "VolumeAttributesClass" {
        return Ok(false);
    }
    let classes = attributes_classes(claim);
    if &*selector.operator == "Exists" {
        return Ok(!classes.is_empty());
    }
    let requirement = pod::requirement(selector)?;
    if classes.is_empty() {
        return Ok(requirement.matches(&Map::default()));
    }
    Ok(classes.into_iter().any(|class| {
        let mut labels: Map<Str> = Map::default();
        labels.insert("VolumeAttributesClass", class);
        requirement.matches(&labels)
    }))
}

/// The VolumeAttributesClasses that the claim has, wants or is moved to, each once.
fn attributes_classes(claim: &PersistentVolumeClaim) -> Vec<Str> {
    let target = claim.status.modify_volume_status.get();
    let mut found: Vec<Str> = [
        claim.spec.volume_attributes_class_name.or_empty(),
        claim.status.current_volume_attributes_class_name.or_empty(),
        target.map_or("", |target| &target.target_volume_attributes_class_name),
    ]
    .into_iter()
    .filter(|class| !class.is_empty())
    .map(Str::from)
    .collect();
    found.sort_small();
    found.dedup();
    found
}

/// Whether a change of the claim's status changes what quotas count (`RequiresQuotaReplenish`).
pub(super) fn is_to_replenish(new: &PersistentVolumeClaim, old: &PersistentVolumeClaim) -> bool {
    let allocated = |claim: &PersistentVolumeClaim| claim.status.allocated_resources.get("storage").cloned();
    allocated(new) != allocated(old) || attributes_classes(new) != attributes_classes(old)
}
