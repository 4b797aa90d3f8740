//! What a claim of devices uses (pkg/quota/v1/evaluator/core/resource_claims.go).

use super::amounts::ResourceList;
use super::{Around, count, one, pod};
use crate::core_v1::Pod;
use crate::resource_claim::{CLASS_PREFIX, EXTENDED};
use crate::resource_v1::{DeviceClass, ResourceClaim};
use crate::validation::is_native;
use crate::{Map, Object, Quantity, Resource, Str};

const NUMBER: &str = "count/resourceclaims.resource.k8s.io";
/// After a class' name: the devices of it, `gpu.deviceclass.resource.k8s.io/devices`.
const PER_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// Most devices of one claim (`AllocationResultsMaxSize`); all of a class may be as many.
const MOST: i64 = 32;

/// Whether a quota for this resource is about claims: by number, by class, or by the extended resource that a class
/// stands for.
pub(super) fn counts(name: &str, around: Around) -> bool {
    if name == NUMBER || name.ends_with(PER_CLASS) {
        return true;
    }
    match name.strip_prefix("requests.") {
        Some(rest) => match rest.strip_prefix(CLASS_PREFIX) {
            Some(class) => extended_resource(class, around).is_some(),
            None => !is_native(name) && has_class(rest, around),
        },
        None => false,
    }
}

/// The extended resource that a class stands for.
fn extended_resource(class: &str, around: Around) -> Option<Str> {
    let mut found = None;
    around(DeviceClass::KIND, &mut |object| {
        if let Some(of) = object.downcast_ref::<DeviceClass>().filter(|of| of.metadata.name == *class) {
            found = of.spec.extended_resource_name.get().map(Str::from);
        }
    });
    found.filter(|name| !name.is_empty())
}

fn has_class(resource: &str, around: Around) -> bool {
    let mut found = false;
    around(DeviceClass::KIND, &mut |object| {
        let class = object.downcast_ref::<DeviceClass>();
        found |= class.is_some_and(|class| class.spec.extended_resource_name.get() == Some(resource));
    });
    found
}

/// What the claim uses.
pub(super) fn usage(claim: &ResourceClaim, now: i64, around: Around) -> ResourceList {
    let mut classes: Map<i64> = Map::default();
    let mut add = |class: &Str, number: i64| {
        let sum = classes.get(class).copied().unwrap_or(0).saturating_add(number);
        classes.insert(class.clone(), sum);
    };
    let number = |mode: &str, count: i64| match mode {
        "ExactCount" => count,
        "All" => MOST,
        _ => 0,
    };
    for request in claim.spec.devices.requests.iter() {
        // Of alternatives each class' most counts.
        let mut most: Map<i64> = Map::default();
        for one in request.first_available.iter() {
            let wanted = number(&one.allocation_mode, one.count);
            if wanted > most.get(&one.device_class_name).copied().unwrap_or(0) {
                most.insert(one.device_class_name.clone(), wanted);
            }
        }
        most.iter().for_each(|(class, wanted)| add(class, *wanted));
        if let Some(exact) = request.exactly.get().filter(|_| request.first_available.is_empty()) {
            add(&exact.device_class_name, number(&exact.allocation_mode, exact.count));
        }
    }
    let mut used = ResourceList::default();
    used.insert(NUMBER, one());
    let mut extended = ResourceList::default();
    for (class, number) in classes.iter() {
        let amount = count(usize::try_from(*number).unwrap_or(0));
        used.insert(format!("{class}{PER_CLASS}"), amount.clone());
        if class.is_empty() {
            continue;
        }
        extended.insert(format!("requests.{CLASS_PREFIX}{class}"), amount.clone());
        if let Some(resource) = extended_resource(class, around) {
            extended.insert(format!("requests.{resource}"), amount);
        }
    }
    // What the pod has been charged for already does not count again.
    let charged = charged(claim, now, around);
    for (name, amount) in extended.iter() {
        let mut left = amount.clone();
        if let Some(already) = charged.get(name) {
            left.sub(already);
        }
        if left > Quantity::default() {
            used.insert(name.clone(), left);
        }
    }
    used
}

/// What the pod uses for whose extended resources the claim was made.
fn charged(claim: &ResourceClaim, now: i64, around: Around) -> ResourceList {
    let meta = &claim.metadata;
    let is_extended = |claim: &ResourceClaim| claim.metadata.annotations.get(EXTENDED).is_some_and(|v| &**v == "true");
    let owner = |claim: &ResourceClaim| {
        let found = claim.metadata.owner_references.iter().find(|owner| owner.controller == Some(true));
        found.filter(|owner| &*owner.kind == "Pod" && &*owner.api_version == "v1").cloned()
    };
    let Some(by) = owner(claim).filter(|_| is_extended(claim)) else { return ResourceList::default() };
    let mut used = None;
    around(Pod::KIND, &mut |object| {
        let pod = object.downcast_ref::<Pod>().filter(|pod| pod.metadata.name == by.name && pod.metadata.uid == by.uid);
        let Some(pod) = pod else { return };
        used = match pod.status.extended_resource_claim_status.get() {
            Some(status) if status.resource_claim_name != meta.name => None,
            status => Some((pod::usage(pod, now), status.is_some())),
        };
    });
    let Some((used, named)) = used else { return ResourceList::default() };
    // As long as the pod names none, the first of its claims is the one.
    let mut first = true;
    if !named {
        around(ResourceClaim::KIND, &mut |object: &dyn Object| {
            let Some(other) = object.downcast_ref::<ResourceClaim>().filter(|other| is_extended(other)) else { return };
            if owner(other).is_some_and(|owner| owner.uid == by.uid) {
                let age = |claim: &ResourceClaim| claim.metadata.creation_timestamp.unix();
                first &= (age(other), &other.metadata.name) >= (age(claim), &meta.name);
            }
        });
    }
    if first { used } else { ResourceList::default() }
}
