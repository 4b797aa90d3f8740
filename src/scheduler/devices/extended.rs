//! Extended resources that device classes stand for (`dynamicresources/extendeddynamicresources.go`): a pod that asks for
//! them on a node that has none gets a claim of its own for them.

use super::Devices;
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::core_v1::{Container, ContainerExtendedResourceRequest, Pod};
use api::pod::is_sidecar;
use api::resource_claim::{self, CLASS_PREFIX, EXTENDED, is_extended_resource};
use api::resource_v1::{DeviceClass, DeviceRequest, ExactDeviceRequest, ResourceClaim};
use api::{List, Ptr, Rev, SortSmall, Str};
use std::cmp::Reverse;

/// The claim's name until it is written: none that a claim could have.
const UNWRITTEN: &str = "<extended-resources>";

/// The claim for a pod's extended resources.
#[derive(Clone)]
pub(crate) enum Special {
    /// It will be made for the node that is chosen.
    Wanted,
    /// An earlier try has left one, which must go first.
    Stale(Rev<ResourceClaim>),
}

/// The claim that a pod needs on a node.
#[derive(Clone)]
pub(crate) struct Needed {
    pub claim: Rev<ResourceClaim>,
    /// Which of its requests is for which container.
    pub mappings: List<ContainerExtendedResourceRequest>,
}

impl Devices {
    /// The class that an extended resource stands for: the class whose name it has, or else the newest that says so.
    pub(crate) fn class_of(&self, resource: &str) -> Option<Rev<DeviceClass>> {
        if let Some(name) = resource.strip_prefix(CLASS_PREFIX) {
            return self.classes.get("", name);
        }
        let classes = self.classes.list().into_iter();
        let named = classes.filter(|class| class.spec.extended_resource_name.get() == Some(resource));
        named.min_by_key(|class| {
            (Reverse(class.metadata.creation_timestamp.unix().unwrap_or(0)), class.metadata.name.clone())
        })
    }

    /// Whether a node leaves a resource to device drivers (`shouldDelegateResourceToDRA`).
    pub(crate) fn delegates(&self, resource: &str, node: &NodeInfo) -> bool {
        node.allocatable.scalar(resource) <= 0 && self.class_of(resource).is_some()
    }

    /// Whether a pod asks for extended resources that classes stand for (`preFilterExtendedResources`).
    pub(crate) fn special(&self, pod: &PodInfo) -> Option<Special> {
        let mut asked = wanted(pod);
        if !asked.any(|(name, _)| self.class_of(name).is_some()) {
            return None;
        }
        let meta = &pod.pod.metadata;
        let is_left = |claim: &Rev<ResourceClaim>| {
            let owners = &claim.metadata.owner_references;
            claim.metadata.annotations.get(EXTENDED).is_some_and(|v| *v == "true")
                && owners.iter().any(|o| o.name == meta.name && o.controller == Some(true) && o.uid == meta.uid)
        };
        let left = self.claims.in_namespace(&meta.namespace).into_iter().find(is_left);
        Some(left.map_or(Special::Wanted, Special::Stale))
    }

    /// What a pod needs on a node; nothing if the node has all that it asks for (`filterExtendedResources`).
    pub(crate) fn needed(
        &self,
        special: &Special,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<Option<Needed>, Rejection> {
        if let Special::Stale(_) = special {
            return Err(Rejection::unresolvable("cannot schedule extended resource claim"));
        }
        let mut by_class = Vec::new();
        for (name, _) in wanted(pod) {
            let has = node.allocatable.scalars.iter().find(|(has, _)| has == name);
            match self.class_of(name).filter(|_| has.is_none_or(|(_, amount)| *amount == 0)) {
                Some(class) => by_class.push((name, class.metadata.name.clone())),
                None if has.is_none() => return Err(Rejection::unresolvable("cannot fit resource")),
                None => {}
            }
        }
        if by_class.is_empty() {
            return Ok(None);
        }
        let pod = &pod.pod;
        let (mut requests, mut mappings) = (Vec::new(), Vec::new());
        for (resource, class) in by_class {
            add_requests(pod, resource, &class, &mut requests, &mut mappings);
        }
        requests.sort_small_by_key(|request| request.name.clone());
        let mut claim = ResourceClaim::default();
        let meta = &mut claim.metadata;
        meta.namespace = pod.metadata.namespace.clone();
        meta.name = UNWRITTEN.into();
        // Only what is promised is known by this.
        meta.uid = pod.metadata.uid.clone();
        meta.generate_name = format!("{}-extended-resources-", pod.metadata.name).into();
        meta.annotations.insert(Str::from(EXTENDED), "true".into());
        meta.owner_references = List::from(vec![resource_claim::owner(pod)]);
        claim.spec.make().devices.requests = List::from(requests);
        Ok(Some(Needed { claim: Rev::new(0, claim), mappings: List::from(mappings) }))
    }
}

/// The extended resources that a pod asks for.
fn wanted(pod: &PodInfo) -> impl Iterator<Item = (&Str, i64)> {
    let asked = pod.requests.scalars.iter().filter(|(name, amount)| *amount != 0 && is_extended_resource(name));
    asked.map(|(name, amount)| (name, *amount))
}

/// Whether a claim has not been written yet.
pub(super) fn is_unwritten(claim: &ResourceClaim) -> bool {
    claim.metadata.name == *UNWRITTEN
}

/// Requests for one resource (`createRequestsAndMappings`): one for each container that asks for it. Init containers use
/// the devices of the containers that start after them; what one needs besides, it shares with the other init containers.
fn add_requests(
    pod: &Pod,
    resource: &Str,
    class: &Str,
    requests: &mut Vec<DeviceRequest>,
    mappings: &mut Vec<ContainerExtendedResourceRequest>,
) {
    let inits = pod.spec.init_containers.len();
    let containers: Vec<&Container> = pod.spec.init_containers.iter().chain(pod.spec.containers.iter()).collect();
    let is_short = |at: usize, c: &Container| at < inits && !is_sidecar(c);
    let mut stays: Vec<Option<DeviceRequest>> = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        let request = match is_short(at, container) {
            true => None,
            false => add_request((at, container), resource, class, &[], mappings),
        };
        stays.push(request);
    }
    let own = mappings.len();
    let mut largest: Option<DeviceRequest> = None;
    let mut names: Vec<Str> = Vec::new();
    for (at, container) in containers.iter().enumerate().filter(|(at, c)| is_short(*at, c)) {
        let later = stays.get(at..).unwrap_or_default();
        let Some(request) = add_request((at, container), resource, class, later, mappings) else { continue };
        names.push(request.name.clone());
        if largest.as_ref().is_none_or(|largest| count(largest) < count(&request)) {
            largest = Some(request);
        }
    }
    if let Some(largest) = &largest {
        let short = mappings.get_mut(own..).unwrap_or_default().iter_mut();
        short.filter(|m| names.contains(&m.request_name)).for_each(|m| m.request_name = largest.name.clone());
    }
    requests.extend(largest.into_iter().chain(stays.into_iter().flatten()));
}

fn count(request: &DeviceRequest) -> i64 {
    request.exactly.get().map_or(0, |exactly| exactly.count)
}

/// What a container asks for beyond the requests of others that it can use.
fn add_request(
    (at, container): (usize, &Container),
    resource: &Str,
    class: &Str,
    usable: &[Option<DeviceRequest>],
    mappings: &mut Vec<ContainerExtendedResourceRequest>,
) -> Option<DeviceRequest> {
    let asked = &container.resources.requests;
    let wanted = asked.get(resource)?.as_i64().filter(|amount| *amount != 0)?;
    let mut map = |request: &Str| {
        mappings.push(ContainerExtendedResourceRequest {
            container_name: container.name.clone(),
            resource_name: resource.clone(),
            request_name: request.clone(),
        });
    };
    let mut has = 0i64;
    for other in usable.iter().flatten() {
        has = has.saturating_add(count(other));
        map(&other.name);
        if has >= wanted {
            return None;
        }
    }
    let place = asked.iter().position(|(name, _)| name == resource).unwrap_or(0);
    let name = Str::from(format!("container-{at}-request-{place}"));
    map(&name);
    let exactly = ExactDeviceRequest {
        device_class_name: class.clone(),
        allocation_mode: "ExactCount".into(),
        count: wanted.saturating_sub(has),
        ..ExactDeviceRequest::default()
    };
    Some(DeviceRequest { name, exactly: Ptr::some(exactly), ..DeviceRequest::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{node, pod};
    use client::Lister;

    fn devices() -> Devices {
        let class = |text: &str| Rev::new(1, crate::tests::decode::<DeviceClass>(text));
        let old =
            "metadata: {name: old, creationTimestamp: '2026-01-01T00:00:00Z'}\nspec: {extendedResourceName: e.com/gpu}";
        let gpu =
            "metadata: {name: gpu, creationTimestamp: '2026-01-02T00:00:00Z'}\nspec: {extendedResourceName: e.com/gpu}";
        let nic = "metadata: {name: nic}\nspec: {extendedResourceName: e.com/nic}";
        let classes = Lister::of([class(old), class(gpu), class(nic)]);
        Devices { classes, ..Devices::default() }
    }

    /// Requests and mappings of a pod on a node with 0 of `e.com/nic` and these extended resources besides.
    fn needed(spec: &str, has: &str) -> String {
        let devices = devices();
        let mut node = node("node-a", "za", "{}");
        node.allocatable.scalars = vec![("e.com/nic".into(), 0)];
        node.allocatable.scalars.extend((!has.is_empty()).then(|| (has.into(), 4)));
        let pod = pod("p", spec);
        let Some(special) = devices.special(&pod) else { return "none of them".into() };
        match devices.needed(&special, &pod, &node) {
            Err(rejection) => rejection.reasons[0].text.to_string(),
            Ok(None) => "nothing".into(),
            Ok(Some(needed)) => {
                let request = |r: &DeviceRequest| {
                    let exactly = r.exactly.get().unwrap();
                    format!("{}={}x{}", r.name, exactly.count, exactly.device_class_name)
                };
                let mapping = |m: &ContainerExtendedResourceRequest| {
                    format!("{}:{}:{}", m.container_name, m.resource_name, m.request_name)
                };
                let requests: Vec<_> = needed.claim.spec.devices.requests.iter().map(request).collect();
                let mappings: Vec<_> = needed.mappings.iter().map(mapping).collect();
                format!("{}; {}", requests.join(" "), mappings.join(" "))
                    .replace("container-", "c")
                    .replace("-request-", "r")
            }
        }
    }

    #[test]
    fn containers_ask_for_devices_by_their_resources() {
        let c = |name: &str, asked: &str| {
            format!("{{name: {name}, image: x, resources: {{requests: {{cpu: '1', {asked}}}}}}}")
        };
        let sidecar = c("s", "e.com/gpu: '1'").replace("image: x", "image: x, restartPolicy: Always");
        let of = |inits: &[String], all: &[String]| {
            format!("{{initContainers: [{}], containers: [{}]}}", inits.join(", "), all.join(", "))
        };
        let two = [c("a", "e.com/gpu: '2'"), c("b", "e.com/gpu: '1'")];
        for (what, spec, has, wanted) in [
            ("one", of(&[], &[c("a", "e.com/gpu: '1'")]), "", "c0r1=1xgpu; a:e.com/gpu:c0r1"),
            (
                "by the class' name",
                of(&[], &[c("a", "deviceclass.resource.kubernetes.io/old: '1'")]),
                "",
                "c0r1=1xold; a:deviceclass.resource.kubernetes.io/old:c0r1",
            ),
            ("two containers", of(&[], &two), "", "c0r1=2xgpu c1r1=1xgpu; a:e.com/gpu:c0r1 b:e.com/gpu:c1r1"),
            (
                "an init container uses theirs",
                of(&[c("i", "e.com/gpu: '2'")], &two),
                "",
                "c1r1=2xgpu c2r1=1xgpu; a:e.com/gpu:c1r1 b:e.com/gpu:c2r1 i:e.com/gpu:c1r1",
            ),
            (
                "init containers share what they need besides",
                of(&[c("i", "e.com/gpu: '4'"), c("j", "e.com/gpu: '5'")], &two),
                "",
                "c1r1=2xgpu c2r1=2xgpu c3r1=1xgpu; a:e.com/gpu:c2r1 b:e.com/gpu:c3r1 i:e.com/gpu:c2r1 i:e.com/gpu:c3r1 \
                 i:e.com/gpu:c1r1 j:e.com/gpu:c2r1 j:e.com/gpu:c3r1 j:e.com/gpu:c1r1",
            ),
            (
                "a sidecar stays",
                of(&[sidecar, c("i", "e.com/gpu: '2'")], &[c("a", "e.com/gpu: '1'")]),
                "",
                "c0r1=1xgpu c1r1=1xgpu c2r1=1xgpu; s:e.com/gpu:c0r1 a:e.com/gpu:c2r1 i:e.com/gpu:c2r1 i:e.com/gpu:c1r1",
            ),
            ("the node has it", of(&[], &two), "e.com/gpu", "nothing"),
            (
                "the node says that it has none",
                of(&[], &[c("a", "e.com/nic: '1'")]),
                "",
                "c0r1=1xnic; a:e.com/nic:c0r1",
            ),
            ("no class", of(&[], &[c("a", "e.com/other: '1'")]), "", "none of them"),
            ("no class for one", of(&[], &[c("a", "e.com/other: '1', e.com/gpu: '1'")]), "", "cannot fit resource"),
            ("none of it", of(&[], &[c("a", "e.com/gpu: '0'")]), "", "none of them"),
        ] {
            assert_eq!(needed(&spec, has), wanted, "{what}");
        }
    }
}
