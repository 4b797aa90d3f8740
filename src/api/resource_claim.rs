//! What the scheduler, the controller and the kubelet ask of ResourceClaims (`dynamic-resource-allocation/resourceclaim`).

use crate::core_v1::{Pod, PodResourceClaim};
use crate::meta_v1::OwnerReference;
use crate::resource_v1::{DeviceTaint, DeviceToleration, ResourceClaim, ResourceClaimConsumerReference};
use crate::{Map, Str};

/// Keeps a claim while it is allocated.
pub const FINALIZER: &str = "resource.kubernetes.io/delete-protection";
/// Names the pod's claim for which a claim was made from a template.
pub const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";

/// Marks the claim for a pod's extended resources.
pub const EXTENDED: &str = "resource.kubernetes.io/extended-resource-claim";
/// Before a class' name: an extended resource that stands for it.
pub const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a class of devices may stand for a resource (`IsDRAExtendedResourceName`).
pub fn is_extended_resource(name: &str) -> bool {
    name.starts_with(CLASS_PREFIX) || crate::validation::is_extended(name)
}

/// What makes a pod the owner of a claim that was made for it.
pub fn owner(pod: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        controller: Some(true),
        ..OwnerReference::default()
    }
}

/// The claim that stands for a pod's claim; none if it has been found that none is needed.
///
/// # Errors
/// There is none yet.
pub fn name(pod: &Pod, claim: &PodResourceClaim) -> Result<Option<Str>, String> {
    if let Some(name) = claim.resource_claim_name.get_str() {
        return Ok(Some(name.clone()));
    }
    let meta = &pod.metadata;
    if claim.resource_claim_template_name.is_none() {
        return Err(format!(
            "pod \"{}/{}\", spec.resourceClaim {}: none of the supported fields are set",
            meta.namespace,
            meta.name,
            crate::go::quote(&claim.name)
        ));
    }
    let status = pod.status.resource_claim_statuses.iter().find(|s| s.name == claim.name);
    match status {
        Some(status) => Ok(status.resource_claim_name.get_str().cloned()),
        None => Err(format!("pod \"{}/{}\": ResourceClaim not created yet", meta.namespace, meta.name)),
    }
}

/// Whether a claim was made for this pod.
///
/// # Errors
/// It was not; in words.
pub fn is_for_pod(pod: &Pod, claim: &ResourceClaim) -> Result<(), String> {
    let (meta, own) = (&pod.metadata, &claim.metadata);
    let controller = own.owner_references.iter().find(|r| r.controller == Some(true));
    if controller.is_some_and(|r| r.uid == meta.uid) {
        return Ok(());
    }
    Err(format!(
        "ResourceClaim {}/{} was not created for Pod {}/{} (Pod is not owner)",
        own.namespace, own.name, meta.namespace, meta.name
    ))
}

/// Whether the pod may use the claim.
pub fn is_reserved_for(pod: &Pod, claim: &ResourceClaim) -> bool {
    claim.status.reserved_for.iter().any(|r| r.uid == pod.metadata.uid)
}

/// A pod as a claim names those that may use it.
pub fn consumer(pod: &Pod) -> ResourceClaimConsumerReference {
    ResourceClaimConsumerReference {
        resource: "pods".into(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ResourceClaimConsumerReference::default()
    }
}

/// Whether a taint of a device is tolerated.
pub fn tolerates(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let fits = |wanted: &Str, has: &Str| wanted.is_empty() || wanted == has;
    fits(&toleration.effect, &taint.effect)
        && fits(&toleration.key, &taint.key)
        && match &*toleration.operator {
            "" | "Equal" => toleration.value == taint.value,
            operator => operator == "Exists",
        }
}

/// The value of a device's attribute, or whatever else has names that a domain may precede: names without one are the
/// driver's.
pub fn qualified<'a, V>(all: &'a Map<V>, driver: &str, name: &str) -> Option<&'a V> {
    let own = || name.split_once('/').filter(|(domain, _)| *domain == driver).and_then(|(_, id)| all.get(id));
    all.get(name).or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_are_tolerated_by_effect_key_and_value() {
        let taint =
            DeviceTaint { key: "k".into(), value: "v".into(), effect: "NoExecute".into(), ..DeviceTaint::default() };
        for (key, operator, value, effect, wanted) in [
            ("k", "Equal", "v", "", true),
            ("k", "", "v", "NoExecute", true),
            ("k", "Equal", "w", "", false),
            ("k", "Exists", "", "", true),
            ("", "Exists", "", "", true),
            ("other", "Exists", "", "", false),
            ("k", "Exists", "", "NoSchedule", false),
            ("k", "Unknown", "v", "", false),
        ] {
            let toleration = DeviceToleration {
                key: key.into(),
                operator: operator.into(),
                value: value.into(),
                effect: effect.into(),
                ..DeviceToleration::default()
            };
            assert_eq!(tolerates(&toleration, &taint), wanted, "{key} {operator} {value} {effect}");
        }
    }

    #[test]
    fn a_template_has_no_claim_until_the_status_says_so() {
        let mut pod = Pod::default();
        (pod.metadata.namespace, pod.metadata.name) = ("ns".into(), "p".into());
        let own =
            PodResourceClaim { name: "d".into(), resource_claim_name: crate::OStr::some("c"), ..Default::default() };
        assert_eq!(name(&pod, &own), Ok(Some("c".into())));
        let made = PodResourceClaim {
            name: "d".into(),
            resource_claim_template_name: crate::OStr::some("t"),
            ..Default::default()
        };
        assert_eq!(name(&pod, &made), Err("pod \"ns/p\": ResourceClaim not created yet".into()));
        let status = crate::core_v1::PodResourceClaimStatus {
            name: "d".into(),
            resource_claim_name: crate::OStr::some("p-d-abcde"),
        };
        pod.status.make().resource_claim_statuses = vec![status].into();
        assert_eq!(name(&pod, &made), Ok(Some("p-d-abcde".into())));
    }
}
