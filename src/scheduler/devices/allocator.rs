//! Looks for devices for claims on a node (`structured/internal/incubating/allocator_incubating.go`): one claim after
//! the other, one request after the other, one device after the other, and back where that leads nowhere.

use super::capacity::{self, Amounts};
use super::pools::{self, Pool, devices, node_matches};
use super::selectors::{self, NoAnswer};
use super::{DeviceId, InUse};
use crate::node_info::NodeInfo;
use api::core_v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use api::resource_claim::{qualified, tolerates};
use api::resource_v1::{
    AllocationResult, CapacityRequirements, Device, DeviceAllocationConfiguration, DeviceAttribute, DeviceClass,
    DeviceConstraint, DeviceRequestAllocationResult, DeviceSelector, DeviceToleration, ResourceClaim, ResourceSlice,
};
use api::{List, Map, OStr, Ptr, Quantity, Rev, Str};
use client::Lister;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A claim has at most this many devices (`AllocationResultsMaxSize`).
const RESULTS_MAX: usize = 32;
/// Devices that are tried for one node at most. (There it is a matter of time, `filterTimeout`.)
const STEPS: usize = 20_000;

/// Why there is nothing for the claims on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Other nodes may do.
    Unschedulable(String),
    /// Something is wrong with a claim or a class.
    Error(String),
}

/// A request, or one of its alternatives.
struct Request<'a> {
    name: &'a Str,
    /// The request that this is an alternative of.
    parent: Option<&'a Str>,
    class: Rev<DeviceClass>,
    /// How many devices.
    count: usize,
    /// All that there are, if all are wanted.
    all: Option<Vec<usize>>,
    admin: bool,
    selectors: &'a [DeviceSelector],
    tolerations: &'a List<DeviceToleration>,
    /// How much it wants of each device.
    capacity: Option<&'a CapacityRequirements>,
}

impl Request<'_> {
    fn full_name(&self) -> Str {
        self.parent.map_or_else(|| self.name.clone(), |parent| format!("{parent}/{}", self.name).into())
    }
    /// Whether a list of names of requests means this one.
    fn is_in(&self, names: &[Str]) -> bool {
        names.contains(&self.full_name()) || self.parent.is_some_and(|parent| names.contains(parent))
    }
}

/// A device and where it is.
struct Place<'a> {
    pool: usize,
    slice: &'a ResourceSlice,
    device: &'a Device,
    id: DeviceId,
}

impl Place<'_> {
    /// Whether several claims may have it.
    fn is_shared(&self) -> bool {
        self.device.allow_multiple_allocations == Some(true)
    }
    fn name(&self) -> String {
        let (driver, pool, device) = &self.id;
        format!("{driver}/{pool}/{device}")
    }
}

/// A device that a claim gets.
#[derive(Clone)]
struct Chosen {
    request: usize,
    /// Which of the request's alternatives.
    alternative: usize,
    place: usize,
    /// What it takes of the device's capacity.
    consumed: Map<Quantity>,
}

struct Search<'a> {
    node: &'a NodeInfo,
    claims: &'a [Rev<ResourceClaim>],
    pools: Vec<Pool<'a>>,
    places: Vec<Place<'a>>,
    /// The alternatives of each request of each claim.
    requests: Rc<Vec<Vec<Vec<Request<'a>>>>>,
    in_use: &'a InUse,
    chosen: Vec<Vec<Chosen>>,
    /// What selectors said, by claim, request, alternative and place.
    selectable: BTreeMap<(usize, usize, usize, usize), bool>,
    steps: usize,
}

/// What each claim can get on a node (`Allocate`).
pub(super) fn allocate(
    claims: &[Rev<ResourceClaim>],
    node: &NodeInfo,
    slices: &[Rev<ResourceSlice>],
    classes: &Lister<DeviceClass>,
    in_use: &InUse,
) -> Result<Vec<AllocationResult>, Failure> {
    let pools = pools::gather(slices, &node.node);
    let mut places = Vec::new();
    for (at, pool) in pools.iter().enumerate() {
        for slice in pool.slices.iter().copied() {
            places.extend(slice.spec.devices.iter().map(|device| {
                let id = (slice.spec.driver.clone(), slice.spec.pool.name.clone(), device.name.clone());
                Place { pool: at, slice, device, id }
            }));
        }
    }
    let mut search = Search {
        node,
        claims,
        pools,
        places,
        requests: Rc::default(),
        in_use,
        chosen: vec![Vec::new(); claims.len()],
        selectable: BTreeMap::new(),
        steps: 0,
    };
    let mut requests = Vec::new();
    for (at, claim) in claims.iter().enumerate() {
        requests.push(search.read(at, claim, classes).map_err(Failure::Error)?);
    }
    search.requests = Rc::new(requests);
    if !search.next_claim(0).map_err(Failure::Error)? {
        let text = match search.pools.iter().any(|p| p.is_invalid) {
            true => "invalid resource pools were encountered",
            false => "cannot allocate all claims",
        };
        return Err(Failure::Unschedulable(text.into()));
    }
    Ok((0..claims.len()).map(|claim| search.result(claim)).collect())
}

fn object(claim: &ResourceClaim) -> String {
    format!("{}/{}", claim.metadata.namespace, claim.metadata.name)
}

impl<'a> Search<'a> {
    /// Reads a claim's requests.
    fn read(
        &mut self,
        at: usize,
        claim: &'a ResourceClaim,
        classes: &Lister<DeviceClass>,
    ) -> Result<Vec<Vec<Request<'a>>>, String> {
        let (mut requests, mut least_of_claim) = (Vec::new(), 0usize);
        for (index, request) in claim.spec.devices.requests.iter().enumerate() {
            let mut alternatives = Vec::new();
            let wanted: Vec<_> = match request.exactly.get() {
                Some(e) => vec![(
                    (&request.name, None, &e.device_class_name),
                    (&e.allocation_mode, e.count),
                    (e.admin_access == Some(true), &e.selectors, &e.tolerations, e.capacity.get()),
                )],
                None => (request.first_available.iter())
                    .map(|s| {
                        let name = (&s.name, Some(&request.name), &s.device_class_name);
                        let what = (false, &s.selectors, &s.tolerations, s.capacity.get());
                        (name, (&s.allocation_mode, s.count), what)
                    })
                    .collect(),
            };
            for ((name, parent, class), (mode, count), (admin, selectors, tolerations, capacity)) in wanted {
                let about = format!("claim {}, request {name}", object(claim));
                let class = classes.get("", class).ok_or_else(|| {
                    let quoted = api::go::quote(class);
                    format!(
                        "{about}: could not retrieve device class {class}: deviceclass.resource.k8s.io {quoted} not found"
                    )
                })?;
                let mut read =
                    Request { name, parent, class, count: 0, all: None, admin, selectors, tolerations, capacity };
                match &**mode {
                    "ExactCount" => read.count = usize::try_from(count).unwrap_or(usize::MAX),
                    "All" => {
                        let all = self.all_for(&about, (at, index, alternatives.len()), &read)?;
                        read.count = all.len();
                        read.all = Some(all);
                    }
                    mode => return Err(format!("{about}: unsupported count mode {mode}")),
                }
                alternatives.push(read);
            }
            let least = alternatives.iter().map(|r| r.count).min().unwrap_or(0);
            if least > RESULTS_MAX.saturating_sub(least_of_claim) {
                return Err(format!(
                    "claim {}, request {}: adding {least} devices exceeds the claim limit of {RESULTS_MAX}, with \
                     {least_of_claim} already accounted for",
                    object(claim),
                    request.name
                ));
            }
            least_of_claim += least;
            requests.push(alternatives);
        }
        Ok(requests)
    }

    /// All devices that a request takes. None may be missing, so the pools must be whole.
    fn all_for(
        &mut self,
        about: &str,
        key: (usize, usize, usize),
        request: &Request<'a>,
    ) -> Result<Vec<usize>, String> {
        for pool in &self.pools {
            let what = match (pool.is_incomplete, pool.is_invalid) {
                (true, _) => "being updated",
                (_, true) => "invalid",
                _ => continue,
            };
            let (driver, name) = (pool.driver, pool.name);
            return Err(format!(
                "{about}: asks for all devices, but resource pool {driver}/{name} is currently {what}"
            ));
        }
        let mut all = Vec::new();
        for place in 0..self.places.len() {
            if !self.is_selectable(key, request, place)? {
                continue;
            }
            let Some(device) = self.places.get(place).map(|p| p.device) else { continue };
            let consumed = capacity::consumed(request.capacity, &device.capacity)
                .map_err(|why| format!("{about}: checking capacity for device {}: {why}", device.name))?;
            // One whose capacity others have stays: then not all can be had.
            if consumed.is_some_and(|c| capacity::is_left(&c, &Amounts::new(), &device.capacity)) {
                all.push(place);
            }
        }
        Ok(all)
    }

    fn is_selectable(&mut self, key: (usize, usize, usize), request: &Request<'a>, at: usize) -> Result<bool, String> {
        let key = (key.0, key.1, key.2, at);
        if let Some(known) = self.selectable.get(&key) {
            return Ok(*known);
        }
        let Some(place) = self.places.get(at) else { return Ok(false) };
        let device = place.device;
        let claim = self.claims.get(key.0).map(|c| object(c)).unwrap_or_default();
        let class = &request.class;
        let here = || {
            place.slice.spec.per_device_node_selection != Some(true)
                || node_matches(&self.node.node, &device.node_name, device.all_nodes, &device.node_selector)
        };
        let is_taken = select(&format!("class {}", class.metadata.name), &class.spec.selectors, place)?
            && select(&format!("claim {claim}"), request.selectors, place)?
            && here();
        self.selectable.insert(key, is_taken);
        Ok(is_taken)
    }

    fn next_claim(&mut self, claim: usize) -> Result<bool, String> {
        if claim >= self.claims.len() { Ok(true) } else { self.next_request(claim, 0) }
    }

    fn next_request(&mut self, claim: usize, request: usize) -> Result<bool, String> {
        let Some(alternatives) = self.requests.get(claim).and_then(|r| r.get(request)).map(Vec::len) else {
            return self.next_claim(claim + 1);
        };
        for alternative in 0..alternatives {
            if self.next_device((claim, request, alternative), 0, 0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds the `number`th device of a request, and all that comes after it, from the place `from` on: the order within
    /// a request does not matter.
    fn next_device(&mut self, key: (usize, usize, usize), number: usize, from: usize) -> Result<bool, String> {
        let (claim, request, alternative) = key;
        self.steps += 1;
        if self.steps > STEPS {
            return Err(format!("node {}: timed out trying to allocate devices", self.node.name()));
        }
        let requests = self.requests.clone();
        let wanted = requests.get(claim).and_then(|r| r.get(request)).and_then(|r| r.get(alternative));
        let Some(wanted) = wanted else { return Ok(false) };
        if wanted.all.as_ref().is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        if number >= wanted.count {
            return self.next_request(claim, request + 1);
        }
        let room = RESULTS_MAX.saturating_sub(self.chosen.get(claim).map_or(0, Vec::len));
        if wanted.count - number > room {
            return Ok(false);
        }
        let mut candidate = self.device_of(key, wanted, number, from)?;
        while let Some((place, consumed)) = candidate {
            if let Some(chosen) = self.chosen.get_mut(claim) {
                chosen.push(Chosen { request, alternative, place, consumed });
            }
            if self.next_device(key, number + 1, place + 1)? {
                return Ok(true);
            }
            if let Some(chosen) = self.chosen.get_mut(claim) {
                chosen.pop();
            }
            // Where all are wanted, their order does not matter.
            if wanted.all.is_some() {
                return Ok(false);
            }
            candidate = self.device_of(key, wanted, number, place + 1)?;
        }
        Ok(false)
    }

    /// The first place at or after `from` that will do for a request, and what it takes of that device; for one that wants
    /// all, the one whose turn it is.
    fn device_of(
        &mut self,
        key: (usize, usize, usize),
        wanted: &Request<'a>,
        number: usize,
        from: usize,
    ) -> Result<Option<(usize, Map<Quantity>)>, String> {
        if let Some(all) = &wanted.all {
            let Some(at) = all.get(number).copied() else { return Ok(None) };
            if self.is_in_use(key.0, wanted, at) || !self.is_allowed(wanted, at) {
                return Ok(None);
            }
            if !self.satisfies(key.0, wanted, at) {
                // All devices are wanted, and that can't be: the claim contradicts itself.
                return Err(self.about(key.0, wanted, "cannot add device", at)
                    + " because a claim constraint would not be satisfied");
            }
            return Ok(self.takes(key.0, wanted, at)?.map(|consumed| (at, consumed)));
        }
        for at in from..self.places.len() {
            if self.is_in_use(key.0, wanted, at) || !self.is_selectable(key, wanted, at)? {
                continue;
            }
            let Some(consumed) = self.takes(key.0, wanted, at)? else { continue };
            if self.is_allowed(wanted, at) && self.satisfies(key.0, wanted, at) {
                return Ok(Some((at, consumed)));
            }
        }
        Ok(None)
    }

    fn about(&self, claim: usize, wanted: &Request<'_>, what: &str, at: usize) -> String {
        let claim = self.claims.get(claim).map(|c| object(c)).unwrap_or_default();
        let device = self.places.get(at).map(Place::name).unwrap_or_default();
        format!("claim {claim}, request {}: {what} {device}", wanted.name)
    }

    /// What a request takes of a device; none if so much is not left.
    fn takes(&self, claim: usize, wanted: &Request<'_>, at: usize) -> Result<Option<Map<Quantity>>, String> {
        let Some(place) = self.places.get(at) else { return Ok(None) };
        let capacity = &place.device.capacity;
        if capacity.is_empty() && wanted.capacity.is_none() {
            return Ok(Some(Map::new()));
        }
        let consumed = capacity::consumed(wanted.capacity, capacity)
            .map_err(|why| self.about(claim, wanted, "checking capacity for device", at) + ": " + &why)?;
        let mut used = self.in_use.shared.get(&place.id).cloned().unwrap_or_default();
        if place.is_shared() {
            let here = self.chosen.iter().flatten().filter(|c| c.place == at);
            here.for_each(|c| capacity::add(&mut used, &c.consumed));
        }
        Ok(consumed.filter(|consumed| capacity::is_left(consumed, &used, capacity)))
    }

    /// Whether somebody has a device who doesn't share it.
    fn is_in_use(&self, claim: usize, wanted: &Request<'_>, at: usize) -> bool {
        let Some(place) = self.places.get(at) else { return true };
        let chosen = |of: &[Chosen]| !place.is_shared() && of.iter().any(|c| c.place == at);
        match wanted.admin {
            // An administrator looks into what others use, but once a claim is enough.
            true => self.chosen.get(claim).is_some_and(|of| chosen(of)),
            false => self.in_use.dedicated.contains(&place.id) || self.chosen.iter().any(|of| chosen(of)),
        }
    }

    /// Whether a device's counters and taints allow it.
    fn is_allowed(&self, wanted: &Request<'_>, at: usize) -> bool {
        let Some(place) = self.places.get(at) else { return false };
        let stops = |effect: &str| matches!(effect, "NoSchedule" | "NoExecute");
        (place.device.consumes_counters.is_empty() || self.has_counters(at, place))
            && (place.device.taints.iter())
                .all(|taint| !stops(&taint.effect) || wanted.tolerations.iter().any(|t| tolerates(t, taint)))
    }

    /// Whether a pool's counters suffice for what is allocated, what is chosen, and this device. Those that share a device
    /// use its counters once.
    fn has_counters(&self, at: usize, place: &Place<'_>) -> bool {
        let Some(pool) = self.pools.get(place.pool) else { return false };
        let chosen: Vec<usize> = self.chosen.iter().flatten().map(|c| c.place).collect();
        if place.is_shared() && (self.in_use.shared.contains_key(&place.id) || chosen.contains(&at)) {
            return true;
        }
        let of_pool =
            |device: &&Device| self.in_use.has(&(pool.driver.clone(), pool.name.clone(), device.name.clone()));
        let has = devices(&pool.slices).chain(devices(&pool.others)).filter(of_pool);
        let is_first = |i: usize, at: &usize| chosen.iter().position(|other| other == at) == Some(i);
        let chosen = chosen.iter().enumerate().filter_map(|(i, at)| Some((i, at, self.places.get(*at)?)));
        let chosen = chosen.filter(|(i, at, other)| {
            other.pool == place.pool
                && (!other.is_shared() || (is_first(*i, at) && !self.in_use.shared.contains_key(&other.id)))
        });
        let chosen = chosen.map(|(.., other)| other.device);
        let mut used = BTreeMap::<(&Str, &Str), Quantity>::new();
        for consumed in has.chain(chosen).chain([place.device]).flat_map(|d| d.consumes_counters.iter()) {
            for (name, counter) in consumed.counters.iter() {
                used.entry((&consumed.counter_set, name)).or_default().add(&counter.value);
            }
        }
        used.iter().all(|((set, name), used)| {
            let available = pool.counters.get(set).and_then(|set| set.counters.get(name));
            available.is_some_and(|counter| counter.value >= *used)
        })
    }

    /// Whether the claim's constraints allow a device besides those that it has.
    fn satisfies(&self, claim: usize, wanted: &Request<'a>, at: usize) -> bool {
        let (Some(spec), Some(place)) = (self.claims.get(claim).map(|c| &c.spec.devices), self.places.get(at)) else {
            return false;
        };
        let has = self.chosen.get(claim).map(Vec::as_slice).unwrap_or_default();
        let means = |constraint: &DeviceConstraint, request: &Request<'_>| {
            constraint.requests.is_empty() || request.is_in(&constraint.requests)
        };
        spec.constraints.iter().filter(|c| means(c, wanted)).all(|constraint| {
            let (name, wants_same) = match (constraint.match_attribute.get(), constraint.distinct_attribute.get()) {
                (Some(name), _) => (name, true),
                (None, Some(name)) => (name, false),
                (None, None) => return false,
            };
            let attribute = |place: &Place<'a>| qualified(&place.device.attributes, &place.id.0, name);
            let Some(own) = attribute(place) else { return false };
            let others = has.iter().filter(|c| {
                let of = self.requests.get(claim).and_then(|r| r.get(c.request)).and_then(|r| r.get(c.alternative));
                of.is_some_and(|of| means(constraint, of))
            });
            let others = others.filter_map(|c| self.places.get(c.place));
            others.into_iter().all(|other| attribute(other).and_then(|a| is_same(own, a)) == Some(wants_same))
        })
    }

    /// What a claim gets, for its status.
    fn result(&self, claim: usize) -> AllocationResult {
        let mut result = AllocationResult::default();
        let (Some(spec), Some(requests)) = (self.claims.get(claim).map(|c| &c.spec.devices), self.requests.get(claim))
        else {
            return result;
        };
        let chosen = self.chosen.get(claim).map(Vec::as_slice).unwrap_or_default();
        let devices = chosen.iter().filter_map(|c| {
            let (place, request) = (self.places.get(c.place)?, requests.get(c.request)?.get(c.alternative)?);
            let is_shared = place.is_shared();
            Some(DeviceRequestAllocationResult {
                request: request.full_name(),
                driver: place.id.0.clone(),
                pool: place.id.1.clone(),
                device: place.id.2.clone(),
                admin_access: request.admin.then_some(true),
                tolerations: request.tolerations.clone(),
                binding_conditions: place.device.binding_conditions.clone(),
                binding_failure_conditions: place.device.binding_failure_conditions.clone(),
                // The share gets its name once the node is chosen.
                share_id: if is_shared { OStr::some("") } else { OStr::none() },
                consumed_capacity: if is_shared { c.consumed.clone() } else { Map::new() },
                ..DeviceRequestAllocationResult::default()
            })
        });
        result.devices.results = devices.collect();
        // The alternative that each request got.
        let got = |request: usize| {
            let alternative = chosen.iter().find(|c| c.request == request).map_or(0, |c| c.alternative);
            requests.get(request).and_then(|r| r.get(alternative))
        };
        let got: Vec<&Request<'_>> = (0..requests.len()).filter_map(got).collect();
        let mut config: Vec<DeviceAllocationConfiguration> = Vec::new();
        let mut of_class = BTreeMap::<&Str, std::ops::Range<usize>>::new();
        for request in &got {
            let class = &request.class;
            if let Some(range) = of_class.get(&class.metadata.name) {
                let known = config.get_mut(range.clone()).into_iter().flatten();
                known.for_each(|c| c.requests.push(request.full_name()));
                continue;
            }
            let start = config.len();
            config.extend(class.spec.config.iter().map(|c| DeviceAllocationConfiguration {
                source: "FromClass".into(),
                requests: List::from(vec![request.full_name()]),
                opaque: c.opaque.clone(),
            }));
            of_class.insert(&class.metadata.name, start..config.len());
        }
        for own in spec.config.iter() {
            if own.requests.is_empty() || got.iter().any(|request| request.is_in(&own.requests)) {
                config.push(DeviceAllocationConfiguration {
                    source: "FromClaim".into(),
                    requests: own.requests.clone(),
                    opaque: own.opaque.clone(),
                });
            }
        }
        for one in &mut config {
            // No names mean all requests.
            if !one.requests.is_empty() && got.iter().all(|request| request.is_in(&one.requests)) {
                one.requests = List::default();
            }
        }
        if !config.is_empty() {
            result.devices.config = List::from(config);
        }
        result.node_selector = self.node_selector(chosen);
        result
    }

    /// The nodes that can reach all of these devices; none if all nodes can (`createNodeSelector`).
    fn node_selector(&self, chosen: &[Chosen]) -> Ptr<NodeSelector> {
        let mut term = NodeSelectorTerm::default();
        for place in chosen.iter().filter_map(|c| self.places.get(c.place)) {
            let (spec, device) = (&place.slice.spec, place.device);
            let (name, selector) = match spec.per_device_node_selection {
                Some(true) => (&device.node_name, &device.node_selector),
                _ => (&spec.node_name, &spec.node_selector),
            };
            if name.is_some() || device.binds_to_node == Some(true) {
                let only = NodeSelectorRequirement {
                    key: "metadata.name".into(),
                    operator: "In".into(),
                    values: List::from(vec![self.node.name().clone()]),
                };
                term = NodeSelectorTerm { match_fields: List::from(vec![only]), ..NodeSelectorTerm::default() };
                break;
            }
            let Some(wanted) = selector.get().and_then(|s| s.node_selector_terms.first()) else { continue };
            add(&mut term.match_fields, &wanted.match_fields);
            add(&mut term.match_expressions, &wanted.match_expressions);
        }
        if term.match_fields.is_empty() && term.match_expressions.is_empty() {
            return Ptr::default();
        }
        Ptr::some(NodeSelector { node_selector_terms: List::from(vec![term]) })
    }
}

/// Adds requirements that are not there yet.
fn add(to: &mut List<NodeSelectorRequirement>, from: &[NodeSelectorRequirement]) {
    for wanted in from {
        let values: BTreeSet<&Str> = wanted.values.iter().collect();
        let is_same = |has: &NodeSelectorRequirement| {
            has.key == wanted.key
                && has.operator == wanted.operator
                && has.values.iter().collect::<BTreeSet<_>>() == values
        };
        if !to.iter().any(is_same) {
            to.push(wanted.clone());
        }
    }
}

/// Whether all selectors take a device.
fn select(about: &str, selectors: &[DeviceSelector], place: &Place<'_>) -> Result<bool, String> {
    for (i, selector) in selectors.iter().enumerate() {
        let Some(cel) = selector.cel.get() else { continue };
        match selectors::matches(&cel.expression, &place.id.0, place.device) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(NoAnswer::Compile(why)) => return Err(format!("{about}: selector #{i}: CEL compile error: {why}")),
            Err(NoAnswer::Runtime(why)) => {
                return Err(format!("{about}: selector #{i} on device {}: CEL runtime error: {why}", place.name()));
            }
        }
    }
    Ok(true)
}

/// Whether two attributes have the same value; none if it is of no type that can be compared. Values of different types
/// are different.
fn is_same(one: &DeviceAttribute, other: &DeviceAttribute) -> Option<bool> {
    if let Some(value) = one.string.get() {
        return Some(other.string.get() == Some(value));
    }
    if let Some(value) = one.version.get() {
        return Some(other.version.get() == Some(value));
    }
    let int = one.int.map(|value| other.int == Some(value));
    int.or_else(|| one.bool.map(|value| other.bool == Some(value)))
}
