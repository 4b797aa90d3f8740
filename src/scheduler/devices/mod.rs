//! Dynamic resource allocation as the scheduler sees it (`plugins/dynamicresources`, `dra_manager.go`): claims, what is
//! promised to them, and the devices that drivers publish.

mod allocator;
mod bind;
mod capacity;
mod conditions;
mod extended;
mod pools;
mod selectors;
mod taints;
#[cfg(test)]
mod tests;

use crate::node_info::NodeInfo;
use crate::plugins::node_affinity::term_matches;
use api::core_v1::Pod;
use api::resource_claim;
use api::resource_v1::{AllocationResult, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
use api::{Rev, Str};
use client::{Key, Lister};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use allocator::Failure;
pub use bind::{Chosen, Promise};
pub(crate) use extended::{Needed, Special};
pub(crate) use taints::changes as taints_change;

/// A device: driver, pool, name.
pub type DeviceId = (Str, Str, Str);

/// What the scheduler has promised and the cache does not show yet. Bounded by the pods that are being bound.
#[derive(Default)]
struct Tracked {
    /// Claims as they were written last.
    assumed: BTreeMap<Key, Rev<ResourceClaim>>,
    /// Allocations that are being written, by the claim's UID.
    pending: BTreeMap<Str, AllocationResult>,
}

/// The devices of all drivers, and those that claims have: gathered once for all nodes.
pub struct Stock {
    slices: Vec<Rev<ResourceSlice>>,
    in_use: InUse,
}

/// Devices that claims have (`AllocatedState`).
#[derive(Default)]
pub(crate) struct InUse {
    /// Those that one claim has for itself.
    dedicated: BTreeSet<DeviceId>,
    /// Those that are shared, with what is used of their capacity.
    shared: BTreeMap<DeviceId, capacity::Amounts>,
}

impl InUse {
    fn has(&self, device: &DeviceId) -> bool {
        self.dedicated.contains(device) || self.shared.contains_key(device)
    }
    /// What an administrator looks into is not taken by that.
    fn take(&mut self, allocation: &AllocationResult) {
        for result in allocation.devices.results.iter().filter(|r| r.admin_access != Some(true)) {
            let id = (result.driver.clone(), result.pool.clone(), result.device.clone());
            if result.share_id.is_none() {
                self.dedicated.insert(id);
            } else {
                capacity::add(self.shared.entry(id).or_default(), &result.consumed_capacity);
            }
        }
    }
}

/// Claims, devices and their classes as the scheduler knows them. Clones share the caches.
#[derive(Clone)]
pub struct Devices {
    /// All claims.
    pub claims: Lister<ResourceClaim>,
    /// What drivers publish.
    pub slices: Lister<ResourceSlice>,
    /// What taints devices besides.
    pub rules: Lister<DeviceTaintRule>,
    /// All classes.
    pub classes: Lister<DeviceClass>,
    tracked: Rc<RefCell<Tracked>>,
    /// For the time; tests need none.
    ctx: Option<sim::Ctx>,
}

impl Default for Devices {
    fn default() -> Self {
        Devices::new(Lister::of([]), Lister::of([]), Lister::of([]), Lister::of([]))
    }
}

impl Devices {
    /// Nothing is promised yet.
    pub fn new(
        claims: Lister<ResourceClaim>,
        slices: Lister<ResourceSlice>,
        rules: Lister<DeviceTaintRule>,
        classes: Lister<DeviceClass>,
    ) -> Self {
        Devices { claims, slices, rules, classes, tracked: Rc::default(), ctx: None }
    }

    /// The same, with a clock.
    pub fn with_clock(self, ctx: &sim::Ctx) -> Self {
        Devices { ctx: Some(ctx.clone()), ..self }
    }

    /// A claim, as it was written last.
    fn claim(&self, namespace: &str, name: &str) -> Option<Rev<ResourceClaim>> {
        let key = Key::new(namespace, name);
        let seen = self.claims.by_key(&key)?;
        let tracked = self.tracked.borrow();
        let assumed = tracked.assumed.get(&key).filter(|a| a.revision > seen.revision);
        Some(assumed.cloned().unwrap_or(seen))
    }

    /// The cache shows a claim, or that it is gone.
    pub(crate) fn seen(&self, claim: &Rev<ResourceClaim>, gone: bool) {
        let mut tracked = self.tracked.borrow_mut();
        let key = Key::of(&claim.metadata);
        if gone || tracked.assumed.get(&key).is_some_and(|a| a.revision <= claim.revision) {
            tracked.assumed.remove(&key);
        }
    }

    /// The claims of a pod, in the order of its spec (`foreachPodResourceClaim`).
    ///
    /// # Errors
    /// What is missing.
    pub fn claims_of(&self, pod: &Pod) -> Result<Vec<Rev<ResourceClaim>>, String> {
        let mut all = Vec::new();
        for own in pod.spec.resource_claims.iter() {
            let Some(name) = resource_claim::name(pod, own)? else { continue };
            let claim = self
                .claim(&pod.metadata.namespace, &name)
                .ok_or_else(|| format!("could not find ResourceClaim \"{}/{name}\"", pod.metadata.namespace))?;
            if !claim.metadata.deletion_timestamp.is_zero() {
                return Err(format!("resourceclaim {} is being deleted", api::go::quote(&name)));
            }
            if own.resource_claim_name.is_none() {
                resource_claim::is_for_pod(pod, &claim)?;
            }
            all.push(claim);
        }
        Ok(all)
    }

    /// Whether an allocation of the claim is being written.
    pub(crate) fn is_pending(&self, claim: &ResourceClaim) -> bool {
        self.tracked.borrow().pending.contains_key(&claim.metadata.uid)
    }

    /// Devices that claims have or are about to have.
    fn in_use(&self) -> InUse {
        let mut all = InUse::default();
        for claim in self.claims.list() {
            let meta = &claim.metadata;
            if let Some(allocation) =
                self.claim(&meta.namespace, &meta.name).as_ref().and_then(|c| c.status.allocation.get())
            {
                all.take(allocation);
            }
        }
        self.tracked.borrow().pending.values().for_each(|allocation| all.take(allocation));
        all
    }

    /// What there is to be had, and what is not any more.
    pub fn stock(&self) -> Stock {
        Stock { slices: taints::with_rules(self.slices.list(), &self.rules.list()), in_use: self.in_use() }
    }

    /// What the pod's claims can get on a node, one for each of those that have nothing yet, and the one for its extended
    /// resources last.
    ///
    /// # Errors
    /// Why there is nothing for them.
    pub(crate) fn plan(
        &self,
        claims: &[Rev<ResourceClaim>],
        special: Option<&Needed>,
        node: &NodeInfo,
        stock: &Stock,
    ) -> Result<Vec<AllocationResult>, Failure> {
        let open = claims.iter().filter(|c| c.status.allocation.is_none()).chain(special.map(|s| &s.claim));
        let open: Vec<_> = open.cloned().collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        allocator::allocate(&open, node, &stock.slices, &self.classes, &stock.in_use)
    }
}

/// Whether what a claim has can be had on a node; a claim that has nothing does not mind.
pub(crate) fn is_available(claim: &ResourceClaim, node: &NodeInfo) -> bool {
    let selector = claim.status.allocation.get().and_then(|a| a.node_selector.get());
    selector.is_none_or(|s| s.node_selector_terms.iter().any(|term| term_matches(term, &node.node)))
}
