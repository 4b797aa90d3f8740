//! The pools of devices that a node can reach (`structured/internal/incubating/pools_incubating.go`).

use crate::plugins::node_affinity::term_matches;
use api::SortSmall;
use api::core_v1::{Node, NodeSelector};
use api::resource_v1::{CounterSet, Device, ResourceSlice};
use api::{OStr, Ptr, Rev, Str};
use std::collections::{BTreeMap, BTreeSet};

/// A driver's pool.
pub(super) struct Pool<'a> {
    pub driver: &'a Str,
    pub name: &'a Str,
    /// Slices with devices for the node, by name; none of a pool that can't be used.
    pub slices: Vec<&'a ResourceSlice>,
    /// Slices with devices for other nodes, which may use up the same counters.
    pub others: Vec<&'a ResourceSlice>,
    pub counters: BTreeMap<&'a Str, &'a CounterSet>,
    /// The driver is writing it.
    pub is_incomplete: bool,
    /// It contradicts itself.
    pub is_invalid: bool,
}

/// Whether a node is meant: by name, as one of all, or by its labels.
pub(super) fn node_matches(node: &Node, name: &OStr, all: Option<bool>, selector: &Ptr<NodeSelector>) -> bool {
    match (name.get().filter(|name| !name.is_empty()), selector.get()) {
        (Some(name), _) => *node.metadata.name == *name,
        _ if all == Some(true) => true,
        (None, Some(s)) => s.node_selector_terms.iter().any(|term| term_matches(term, node)),
        (None, None) => false,
    }
}

fn is_relevant(slice: &ResourceSlice, node: &Node) -> bool {
    let spec = &slice.spec;
    if spec.per_device_node_selection == Some(true) {
        return spec.devices.iter().any(|d| node_matches(node, &d.node_name, d.all_nodes, &d.node_selector));
    }
    node_matches(node, &spec.node_name, spec.all_nodes, &spec.node_selector)
}

/// Groups of devices that may be had together are an alpha feature: such slices are left out, and their pool is
/// incomplete without them.
fn is_understood(slice: &ResourceSlice) -> bool {
    let consumed = slice.spec.devices.iter().flat_map(|d| d.consumes_counters.iter());
    consumed.into_iter().all(|c| c.compatibility_groups.is_empty())
}

/// The pools, by driver and name; those whose devices must be waited for come last.
pub(super) fn gather<'a>(slices: &'a [Rev<ResourceSlice>], node: &Node) -> Vec<Pool<'a>> {
    let mut by_id = BTreeMap::<(&Str, &Str), Vec<&ResourceSlice>>::new();
    for slice in slices.iter().map(|s| &**s).filter(|s| is_understood(s) && is_relevant(s, node)) {
        let pool = &slice.spec.pool;
        let known = by_id.entry((&slice.spec.driver, &pool.name)).or_default();
        let generation = known.first().map_or(i64::MIN, |s| s.spec.pool.generation);
        if pool.generation > generation {
            known.clear();
        }
        if pool.generation >= generation {
            known.push(slice);
        }
    }
    let mut pools: Vec<Pool<'_>> =
        by_id.into_iter().filter_map(|((driver, name), here)| complete(slices, driver, name, here)).collect();
    let waits = |pool: &Pool<'_>| devices(&pool.slices).any(|d| !d.binding_conditions.is_empty());
    pools.sort_small_by_key(|pool| (waits(pool), pool.driver.clone(), pool.name.clone()));
    pools
}

/// A pool of these slices, once it is known whether there are more; none if a newer generation replaces it.
fn complete<'a>(
    all: &'a [Rev<ResourceSlice>],
    driver: &'a Str,
    name: &'a Str,
    mut here: Vec<&'a ResourceSlice>,
) -> Option<Pool<'a>> {
    let pool = &here.first()?.spec.pool;
    let (generation, wanted) = (pool.generation, pool.resource_slice_count);
    let count = |list: &[&ResourceSlice]| i64::try_from(list.len()).unwrap_or(i64::MAX) == wanted;
    here.sort_small_by_key(|s| s.metadata.name.clone());
    let mut rest = Vec::new();
    let mut is_incomplete = false;
    if !count(&here) {
        let of_pool = all.iter().map(|s| &**s).filter(|s| s.spec.driver == *driver && s.spec.pool.name == *name);
        let of_pool: Vec<&ResourceSlice> = of_pool.collect();
        if of_pool.iter().any(|s| s.spec.pool.generation > generation) {
            return None;
        }
        let current = of_pool.into_iter().filter(|s| s.spec.pool.generation == generation && is_understood(s));
        let current: Vec<&ResourceSlice> = current.collect();
        is_incomplete = !count(&current);
        rest = current.into_iter().filter(|s| !here.iter().any(|h| h.metadata.name == s.metadata.name)).collect();
    }
    let shares = |s: &&ResourceSlice| !s.spec.shared_counters.is_empty();
    let sets: Vec<_> =
        here.iter().chain(&rest).copied().filter(shares).flat_map(|s| s.spec.shared_counters.iter()).collect();
    let counters: BTreeMap<&Str, &CounterSet> = sets.iter().map(|set| (&set.name, *set)).collect();
    let is_twice = counters.len() < sets.len();
    let not_shares = |list: Vec<&'a ResourceSlice>| list.into_iter().filter(|s| !shares(s)).collect::<Vec<_>>();
    let (here, rest) = (not_shares(here), not_shares(rest));
    let names: BTreeSet<&Str> = devices(&here).map(|d| &d.name).collect();
    let is_counted = |device: &Device| {
        device.consumes_counters.iter().all(|c| {
            let set = counters.get(&c.counter_set);
            set.is_some_and(|set| c.counters.iter().all(|(name, _)| set.counters.contains_key(name)))
        })
    };
    let is_invalid = !is_incomplete
        && (is_twice || names.len() < devices(&here).count() || !devices(&here).chain(devices(&rest)).all(is_counted));
    let usable = !is_incomplete && !is_invalid;
    let (slices, others) = if usable { (here, rest) } else { (Vec::new(), Vec::new()) };
    Some(Pool { driver, name, slices, others, counters, is_incomplete, is_invalid })
}

pub(super) fn devices<'a>(slices: &[&'a ResourceSlice]) -> impl Iterator<Item = &'a Device> {
    slices.iter().flat_map(|s| s.spec.devices.iter()).collect::<Vec<_>>().into_iter()
}
