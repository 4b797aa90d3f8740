//! DynamicResources: the pod's claims exist, and the node can reach the devices that they have or has devices for them.
//! What it promises and writes is in [`crate::devices`].

use crate::change::{About, Change, Hint};
use crate::devices::{Chosen, Devices, Failure, Needed, Special, Stock, is_available};
use crate::framework::{Cycle, Plugin, PreFilter, normalize_to_max};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::{Code, Reason, Rejection};
use api::Rev;
use api::resource_claim::is_reserved_for;
use api::resource_v1::{AllocationResult, ResourceClaim};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    weight: 2,
    pre_enqueue: Some(|pod, gates| {
        let any = !pod.pod.spec.resource_claims.is_empty();
        any.then(|| gates.devices.claims_of(&pod.pod).err()).flatten().map(Rejection::unresolvable)
    }),
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    pre_score: Some(|cycle, _| cycle.state.devices.get().is_some_and(|state| !state.claims.is_empty())),
    score: Some(score),
    normalize: Some(|_, scores, _| normalize_to_max(scores, false)),
    hints: &[
        Hint::always(&[Change::NodeAdded, Change::NodeLabels, Change::NodeAllocatable]),
        Hint::when(
            &[Change::ResourceClaimAdded, Change::ResourceClaimUpdated, Change::ResourceClaimDeleted],
            after_claim_changed,
        ),
        Hint::always(&[Change::TargetPodGeneratedResourceClaim]),
        Hint::always(&[Change::DeviceClassAdded, Change::DeviceClassUpdated]),
        Hint::always(&[Change::ResourceSliceAdded, Change::ResourceSliceUpdated]),
    ],
    ..Plugin::named("DynamicResources")
};

/// The message of a claim that has devices elsewhere.
pub const NOT_HERE: &str = "resourceclaim not available on the node";
/// At most this many alternatives has a request (`FirstAvailableDeviceRequestMaxSize`).
const ALTERNATIVES_MAX: i64 = 8;
/// At most this many pods use a claim (`ResourceClaimReservedForMaxSize`).
const USERS_MAX: usize = 256;

/// What the claims that have nothing can get on a node, and the claim for extended resources there.
type Found = (Vec<AllocationResult>, Option<Needed>);

/// Of the filter: the pod's claims, and what is found for them on the nodes that passed.
pub struct State {
    claims: Vec<Rev<ResourceClaim>>,
    special: Option<Special>,
    stock: Stock,
    found: RefCell<BTreeMap<api::Str, Found>>,
}

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    let (pod, devices) = (&cycle.pod.pod, &cycle.snapshot.devices);
    let reject = |text: String| PreFilter::Reject(Rejection::unresolvable(text));
    let claims = match devices.claims_of(pod) {
        Ok(claims) => claims,
        Err(why) => return reject(why),
    };
    let special = devices.special(cycle.pod);
    if claims.is_empty() && special.is_none() {
        return PreFilter::Skip;
    }
    let is_full = |c: &ResourceClaim| c.status.reserved_for.len() >= USERS_MAX && !is_reserved_for(pod, c);
    if claims.iter().any(|c| c.status.allocation.is_some() && is_full(c)) {
        return reject("resourceclaim in use".into());
    }
    for claim in claims.iter().filter(|c| c.status.allocation.is_none()) {
        let meta = &claim.metadata;
        if devices.is_pending(claim) {
            return reject(format!(
                "resource claim {}/{} is in the process of being allocated",
                meta.namespace, meta.name
            ));
        }
        for request in claim.spec.devices.requests.iter() {
            let own = request.exactly.get().map(|e| (request.name.to_string(), &e.device_class_name));
            let alternatives = request.first_available.iter();
            let alternatives = alternatives.map(|s| (format!("{}/{}", request.name, s.name), &s.device_class_name));
            for (name, class) in own.into_iter().chain(alternatives) {
                if devices.classes.get("", class).is_none() {
                    return reject(format!("request {name}: device class {class} does not exist"));
                }
            }
        }
    }
    let _ = cycle.state.devices.set(State { claims, special, stock: devices.stock(), found: RefCell::default() });
    PreFilter::Go
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let state = cycle.state.devices.get()?;
    let devices = &cycle.snapshot.devices;
    let needed = match &state.special {
        None => None,
        Some(special) => match devices.needed(special, cycle.pod, node) {
            Ok(needed) => needed,
            Err(rejection) => return Some(rejection),
        },
    };
    let elsewhere = state.claims.iter().find(|claim| !is_usable(devices, claim, node));
    match devices.plan(&state.claims, needed.as_ref(), node, &state.stock) {
        Err(Failure::Error(why)) => Some(Rejection { code: Code::Error, reasons: vec![Reason::plain(why)] }),
        Err(Failure::Unschedulable(why)) => Some(Rejection::unresolvable(why)),
        Ok(_) if elsewhere.is_some() => {
            let name = elsewhere.map(|c| format!("claim {}", c.metadata.name)).unwrap_or_default();
            Some(Rejection::unresolvable(NOT_HERE).with(name))
        }
        Ok(found) => {
            state.found.borrow_mut().insert(node.name().clone(), (found, needed));
            None
        }
    }
}

/// Whether what a claim has can be had on a node, and has not failed to be made ready.
fn is_usable(devices: &Devices, claim: &ResourceClaim, node: &NodeInfo) -> bool {
    is_available(claim, node) && !devices.is_stuck(claim)
}

/// Prefers nodes on which requests get their first alternatives.
fn score(cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
    let Some(state) = cycle.state.devices.get() else { return 0 };
    let all_found = state.found.borrow();
    let Some((found, _)) = all_found.get(node.name()) else { return 0 };
    let (mut found, mut score) = (found.iter(), 0);
    for claim in &state.claims {
        let Some(allocation) = claim.status.allocation.get().or_else(|| found.next()) else { continue };
        let got = |name: &str| allocation.devices.results.iter().any(|r| r.request == *name);
        for request in claim.spec.devices.requests.iter().filter(|r| r.exactly.is_none()) {
            for (at, alternative) in (0..).zip(request.first_available.iter()) {
                if got(&format!("{}/{}", request.name, alternative.name)) {
                    score += ALTERNATIVES_MAX - at;
                }
            }
        }
    }
    score
}

/// What Reserve takes over: the pod's claims, and what those that have nothing get on the node that was chosen.
pub fn chosen(cycle: &Cycle<'_>, node: &str) -> Option<Chosen> {
    let state = cycle.state.devices.get()?;
    let (found, special) = state.found.borrow().get(node).cloned().unwrap_or_default();
    Some(Chosen { claims: state.claims.clone(), found, special })
}

/// The claim for the pod's extended resources that an earlier try has left.
pub fn left_over(cycle: &Cycle<'_>) -> Option<Rev<ResourceClaim>> {
    match cycle.state.devices.get()?.special.as_ref()? {
        Special::Stale(claim) => Some(claim.clone()),
        Special::Wanted => None,
    }
}

/// A claim that stands in the way on one of these nodes and that nobody else uses: freeing it may help.
pub fn in_the_way(cycle: &Cycle<'_>, nodes: &[&NodeInfo]) -> Option<Rev<ResourceClaim>> {
    let state = cycle.state.devices.get()?;
    let pod = &cycle.pod.pod;
    let is_idle = |claim: &ResourceClaim| match claim.status.reserved_for.len() {
        0 => true,
        1 => is_reserved_for(pod, claim),
        _ => false,
    };
    let mut claims = state.claims.iter();
    let devices = &cycle.snapshot.devices;
    claims.find(|c| is_idle(c) && nodes.iter().any(|node| !is_usable(devices, c, node))).cloned()
}

fn after_claim_changed(info: &PodInfo, about: &About) -> bool {
    let About::ResourceClaim(old, new) = about else { return true };
    let had = old.as_ref().is_some_and(|c| c.status.allocation.is_some());
    let Some(new) = new else { return had };
    if had && new.status.allocation.is_none() {
        // What it had may do for this pod.
        return true;
    }
    let pod = &info.pod;
    let is_own = pod.metadata.namespace == new.metadata.namespace
        && pod.spec.resource_claims.iter().any(|own| {
            api::resource_claim::name(pod, own).is_ok_and(|name| name.is_some_and(|name| name == new.metadata.name))
        });
    is_own && old.as_ref().is_none_or(|old| !api::equality::semantic(&*old.status, &*new.status))
}
