//! What pods ask for and nodes have (`component-helpers/resource`, `framework.Resource`).

use api::core_v1::{Container, Pod};
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

fn container(requests: &Map<Quantity>, scoring: bool) -> Sums {
    let mut asked = Sums::default();
    asked.add(requests.iter().map(|(name, quantity)| (name, quantity)));
    if scoring {
        if !requests.contains_key("cpu") {
            *asked.slot(&"cpu".into()) = Quantity::milli(DEFAULT_CPU, Format::DecimalSI);
        }
        if !requests.contains_key("memory") {
            *asked.slot(&"memory".into()) = Quantity::new(DEFAULT_MEMORY, Format::BinarySI);
        }
    }
    asked
}

/// The containers and sidecars together, or the largest init container with the sidecars started before it; what each
/// counts with is for `of` to say.
fn aggregate<'a>(pod: &'a Pod, scoring: bool, of: &dyn Fn(&'a Container) -> &'a Map<Quantity>) -> Sums {
    let mut total = Sums::default();
    for c in pod.spec.containers.iter() {
        total.add(container(of(c), scoring).iter());
    }
    let (mut sidecars, mut starting) = (Sums::default(), Sums::default());
    for c in pod.spec.init_containers.iter() {
        let asked = container(of(c), scoring);
        let mut now = sidecars.clone();
        now.add(asked.iter());
        if is_sidecar(c) {
            total.add(asked.iter());
            sidecars = now.clone();
        }
        starting.max(&now);
    }
    total.max(&starting);
    total
}

fn requests(c: &Container) -> &Map<Quantity> {
    &c.resources.requests
}

const NOTHING: &Map<Quantity> = &Map::new();

/// What the node has set aside for a container, and what it has.
fn on_node<'a>(pod: &'a Pod, c: &Container) -> (&'a Map<Quantity>, &'a Map<Quantity>) {
    let mut all = pod.status.container_statuses.iter().chain(pod.status.init_container_statuses.iter());
    let status = all.find(|s| s.name == c.name);
    let has = status.and_then(|s| s.resources.get()).map_or(NOTHING, |r| &r.requests);
    (status.map_or(NOTHING, |s| &s.allocated_resources), has)
}

/// Whether a container has other resources on its node than it asks for: it is being resized.
pub(crate) fn is_resized(pod: &Pod) -> bool {
    let other = |list: &Map<Quantity>, c: &Container| {
        let asked = &c.resources.requests;
        !list.is_empty() && !list.same(asked) && list != asked
    };
    pod.spec.containers.iter().chain(pod.spec.init_containers.iter()).any(|c| {
        let (allocated, has) = on_node(pod, c);
        other(allocated, c) || other(has, c)
    })
}

/// Whether the node can never give what is asked for.
fn is_infeasible(pod: &Pod) -> bool {
    let pending = pod.status.conditions.iter().find(|c| c.type_ == *"PodResizePending");
    pending.is_some_and(|c| c.reason == *"Infeasible")
}

/// A pod's request: its containers and sidecars together, or its largest init container with the sidecars started
/// before it; plus overhead; what the pod as a whole asks for goes before (`PodRequests`). While a pod is resized the
/// largest counts of what it asks for, what is set aside for it and what it has; without the first if it can't get that.
/// With `scoring` containers that ask for nothing count with the defaults.
pub fn pod_requests(pod: &Pod, scoring: bool) -> Resources {
    let (spec, status) = (&pod.spec, &pod.status);
    let mut total = aggregate(pod, scoring, &requests);
    if is_resized(pod) {
        let infeasible = is_infeasible(pod);
        let whole = status.resources.get().map(|r| &r.requests).filter(|r| !r.is_empty());
        let (allocated, has) = match whole.filter(|_| !status.allocated_resources.is_empty()) {
            Some(has) => (container(&status.allocated_resources, false), container(has, false)),
            None => {
                let asked = |c| if infeasible { NOTHING } else { requests(c) };
                let first = |list: &'_ Map<Quantity>| !list.is_empty();
                (
                    aggregate(pod, scoring, &|c| {
                        Some(on_node(pod, c).0).filter(|l| first(l)).unwrap_or_else(|| asked(c))
                    }),
                    aggregate(pod, scoring, &|c| {
                        let (allocated, has) = on_node(pod, c);
                        [has, allocated].into_iter().find(|l| first(l)).unwrap_or_else(|| asked(c))
                    }),
                )
            }
        };
        if infeasible {
            total = Sums::default();
        }
        total.max(&allocated);
        total.max(&has);
    }
    if let Some(own) = spec.resources.get().filter(|r| !r.requests.is_empty()) {
        let mut whole = Sums::default();
        let has = status.resources.get().map(|r| &r.requests);
        if has.is_none() || !is_infeasible(pod) {
            whole.max(&container(&own.requests, false));
        }
        if let Some(has) = has {
            whole.max(&container(has, false));
            whole.max(&container(&status.allocated_resources, false));
        }
        whole.iter().for_each(|(name, quantity)| *total.slot(name) = quantity.clone());
    }
    total.add(spec.overhead.iter().map(|(name, quantity)| (name, quantity)));
    let mut resources = Resources::default();
    resources.take(total.iter());
    resources.pods = 0;
    resources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::decode;

    /// CPU in millicores and memory in Mi of a pod with one container that asks for 1 CPU and 100Mi, in this state.
    fn counted(extra: &str, status: &str) -> (i64, i64) {
        let pod = decode::<Pod>(&format!(
            "metadata: {{name: p}}\nspec: {{{extra}containers: [{{name: c, image: x, resources: {{requests: {{cpu: '1', \
             memory: 100Mi}}}}}}]}}\nstatus: {status}"
        ));
        let all = pod_requests(&pod, false);
        (all.cpu, all.memory >> 20)
    }

    #[test]
    fn while_a_pod_is_resized_the_largest_counts() {
        let of = |allocated: &str, has: &str| {
            format!("containerStatuses: [{{name: c, allocatedResources: {allocated}, resources: {{requests: {has}}}}}]")
        };
        let same = of("{cpu: '1', memory: 100Mi}", "{cpu: '1', memory: 100Mi}");
        let shrinks = of("{cpu: '2', memory: 50Mi}", "{cpu: '3', memory: 200Mi}");
        let grows = of("{cpu: 500m, memory: 50Mi}", "{cpu: 500m, memory: 50Mi}");
        let infeasible = "conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}], ";
        let deferred = infeasible.replace("Infeasible", "Deferred");
        let whole = "resources: {requests: {cpu: 700m, memory: 50Mi}}, allocatedResources: {cpu: 600m, memory: 50Mi}, ";
        for (what, extra, status, wanted) in [
            ("nothing on a node", "", "{}".to_string(), (1000, 100)),
            ("as it asks", "", format!("{{{same}}}"), (1000, 100)),
            ("it has more", "", format!("{{{shrinks}}}"), (3000, 200)),
            ("it has less", "", format!("{{{grows}}}"), (1000, 100)),
            ("it has less and waits", "", format!("{{{deferred}{grows}}}"), (1000, 100)),
            ("it can never have more", "", format!("{{{infeasible}{grows}}}"), (500, 50)),
            ("what the pod has goes before", "", format!("{{{infeasible}{whole}{grows}}}"), (700, 50)),
            ("the pod asks as a whole", "resources: {requests: {cpu: '4'}}, ", format!("{{{same}}}"), (4000, 100)),
        ] {
            assert_eq!(counted(extra, &status), wanted, "{what}");
        }
    }
}
