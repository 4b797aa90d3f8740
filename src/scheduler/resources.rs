//! What pods ask for and nodes have (`component-helpers/resource`, `framework.Resource`).

use api::core_v1::{Pod, ResourceRequirements};
use api::pod::is_sidecar;
use api::value::quantity::Format;
use api::{Map, Quantity, Str};

/// Amounts of resources: CPU in millicores, memory and storage in bytes, all else in units.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Resources {
    /// `cpu` in millicores.
    pub cpu: i64,
    /// `memory` in bytes.
    pub memory: i64,
    /// `ephemeral-storage` in bytes.
    pub storage: i64,
    /// `pods`.
    pub pods: i64,
    /// Extended resources and huge pages, by name.
    pub scalars: Vec<(Str, i64)>,
}

impl Resources {
    /// The amounts of a list.
    pub fn of(list: &Map<Quantity>) -> Self {
        let mut all = Self::default();
        all.take(list.iter().map(|(name, quantity)| (name, quantity)));
        all
    }
    fn take<'a>(&mut self, list: impl Iterator<Item = (&'a Str, &'a Quantity)>) {
        for (name, quantity) in list {
            *self.slot(name) = if **name == *"cpu" { quantity.milli_value() } else { quantity.value() };
        }
    }
    fn slot(&mut self, name: &Str) -> &mut i64 {
        match &**name {
            "cpu" => &mut self.cpu,
            "memory" => &mut self.memory,
            "ephemeral-storage" => &mut self.storage,
            "pods" => &mut self.pods,
            _ => {
                let found = self.scalars.binary_search_by(|(n, _)| n.cmp(name));
                if let Err(at) = found {
                    self.scalars.insert(at, (name.clone(), 0));
                }
                let (Ok(at) | Err(at)) = found;
                &mut self.scalars[at].1
            }
        }
    }
    /// The amount of an extended resource.
    pub fn scalar(&self, name: &str) -> i64 {
        self.scalars.iter().find(|(n, _)| **n == *name).map_or(0, |(_, v)| *v)
    }
    /// Adds `other`, `times` times (1 or -1).
    pub fn add(&mut self, other: &Self, times: i64) {
        // Go's integers wrap around, and so does what the scheduler counts.
        let put = |a: &mut i64, b: i64| *a = a.wrapping_add(b.wrapping_mul(times));
        put(&mut self.cpu, other.cpu);
        put(&mut self.memory, other.memory);
        put(&mut self.storage, other.storage);
        put(&mut self.pods, other.pods);
        for (name, value) in &other.scalars {
            put(self.slot(name), *value);
        }
    }
    /// The larger of each.
    pub fn max(&mut self, other: &Self) {
        self.cpu = self.cpu.max(other.cpu);
        self.memory = self.memory.max(other.memory);
        self.storage = self.storage.max(other.storage);
        for (name, value) in &other.scalars {
            let slot = self.slot(name);
            *slot = (*slot).max(*value);
        }
    }
}

/// What scoring takes for a container that asks for no CPU, in millicores (`DefaultMilliCPURequest`).
pub const DEFAULT_CPU: i64 = 100;
/// What scoring takes for a container that asks for no memory, in bytes (`DefaultMemoryRequest`).
pub const DEFAULT_MEMORY: i64 = 200 << 20;

/// Exact sums of quantities, sorted by name: Go sums them so, and only the sums become integers, of which it keeps the
/// low 64 bits.
#[derive(Clone, Default)]
struct Sums(Vec<(Str, Quantity)>);

impl Sums {
    fn slot(&mut self, name: &Str) -> &mut Quantity {
        let found = self.0.binary_search_by(|(n, _)| n.cmp(name));
        if let Err(at) = found {
            self.0.insert(at, (name.clone(), Quantity::default()));
        }
        let (Ok(at) | Err(at)) = found;
        &mut self.0[at].1
    }
    fn add<'a>(&mut self, list: impl IntoIterator<Item = (&'a Str, &'a Quantity)>) {
        list.into_iter().for_each(|(name, quantity)| self.slot(name).add(quantity));
    }
    fn max(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            let slot = self.slot(name);
            if *quantity > *slot {
                *slot = quantity.clone();
            }
        }
    }
    fn iter(&self) -> impl Iterator<Item = (&Str, &Quantity)> {
        self.0.iter().map(|(name, quantity)| (name, quantity))
    }
}

fn container(requirements: &ResourceRequirements, scoring: bool) -> Sums {
    let mut asked = Sums::default();
    asked.add(requirements.requests.iter().map(|(name, quantity)| (name, quantity)));
    if scoring {
        if !requirements.requests.contains_key("cpu") {
            *asked.slot(&"cpu".into()) = Quantity::milli(DEFAULT_CPU, Format::DecimalSI);
        }
        if !requirements.requests.contains_key("memory") {
            *asked.slot(&"memory".into()) = Quantity::new(DEFAULT_MEMORY, Format::BinarySI);
        }
    }
    asked
}

/// A pod's request: its containers and sidecars together, or its largest init container with the sidecars started
/// before it; plus overhead; what the pod as a whole asks for goes before (`PodRequests`). With `scoring` containers
/// that ask for nothing count with the defaults.
pub fn pod_requests(pod: &Pod, scoring: bool) -> Resources {
    let spec = &pod.spec;
    let mut total = Sums::default();
    for c in spec.containers.iter() {
        total.add(container(&c.resources, scoring).iter());
    }
    let (mut sidecars, mut starting) = (Sums::default(), Sums::default());
    for c in spec.init_containers.iter() {
        let asked = container(&c.resources, scoring);
        let mut now = sidecars.clone();
        now.add(asked.iter());
        if is_sidecar(c) {
            total.add(asked.iter());
            sidecars = now.clone();
        }
        starting.max(&now);
    }
    total.max(&starting);
    if let Some(own) = spec.resources.get() {
        own.requests.iter().for_each(|(name, quantity)| *total.slot(name) = quantity.clone());
    }
    total.add(spec.overhead.iter().map(|(name, quantity)| (name, quantity)));
    let mut resources = Resources::default();
    resources.take(total.iter());
    resources.pods = 0;
    resources
}
