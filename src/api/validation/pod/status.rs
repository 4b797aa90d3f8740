//! Changes of a pod's status (`ValidatePodStatusUpdate`).

use super::super::at::{At, Errors};
use super::super::{addresses, metadata};
use crate::core_v1::{
    Container, ContainerStatus, Pod, PodCondition, PodExtendedResourceClaimStatus, PodResourceClaimStatus, PodSpec,
};
use crate::{Str, names};

/// A changed status.
pub(in super::super) fn update(new: &Pod, old: &Pod, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.status.same(&old.status) {
        return;
    }
    let at = &At::new("status");
    let (status, was) = (&*new.status, &*old.status);
    if !status.conditions.same(&was.conditions) {
        conditions(&status.conditions, &at.child("conditions"), errors);
    }
    let nominated = &at.child("nominatedNodeName");
    let node = &status.nominated_node_name;
    if *node != was.nominated_node_name && !node.is_empty() {
        errors.each(nominated, node, names::dns1123_subdomain(node));
        if !old.spec.node_name.is_empty() {
            errors.forbidden(nominated, "may not be set on pods that are already bound to a node");
        }
    }
    if status.observed_generation < 0 {
        let why = "must be a non-negative integer";
        errors.invalid(&at.child("observedGeneration"), status.observed_generation, why);
    }
    errors.immutable(&at.child("qosClass"), &status.qos_class, &was.qos_class);
    if !restarts_all(&old.spec) {
        let spec = &old.spec;
        for (name, new, old, list) in [
            ("containerStatuses", &status.container_statuses, &was.container_statuses, &spec.containers),
            (
                "initContainerStatuses",
                &status.init_container_statuses,
                &was.init_container_statuses,
                &spec.init_containers,
            ),
        ] {
            if !new.same(old) {
                transitions(new, old, |name, code| may_restart(list, spec, name, code), &at.child(name), errors);
            }
        }
    }
    let ephemeral = (&status.ephemeral_container_statuses, &was.ephemeral_container_statuses);
    transitions(ephemeral.0, ephemeral.1, |_, _| false, &at.child("ephemeralContainerStatuses"), errors);
    claims(&status.resource_claim_statuses, &new.spec, &at.child("resourceClaimStatuses"), errors);
    if let Some(extended) = status.extended_resource_claim_status.get() {
        extended_claim(extended, &new.spec, &at.child("extendedResourceClaimStatus"), errors);
    }
    let ips = |ips: &[crate::core_v1::PodIP]| ips.iter().map(|ip| ip.ip.clone()).collect::<Vec<_>>();
    if !status.pod_ips.same(&was.pod_ips) || status.pod_ip != was.pod_ip {
        let at = &at.child("podIPs");
        addresses_of(&ips(&status.pod_ips), &ips(&was.pod_ips), &status.pod_ips, at, errors);
        let first = status.pod_ips.first().map(|ip| &ip.ip);
        if status.pod_ip.is_empty() != status.pod_ips.is_empty() {
            let why = "podIP and podIPs must either both be set or both be unset";
            errors.invalid(at, super::super::internal::List(&status.pod_ips), why);
        } else if let Some(first) = first.filter(|first| **first != status.pod_ip) {
            errors.invalid(&at.index(0).child("ip"), first, "must be equal to `podIP`");
        }
    }
    if !status.host_ips.same(&was.host_ips) || status.host_ip != was.host_ip {
        let at = &at.child("hostIPs");
        let ips = |ips: &[crate::core_v1::HostIP]| ips.iter().map(|ip| ip.ip.clone()).collect::<Vec<_>>();
        if let Some(first) = status.host_ips.first().filter(|first| first.ip != status.host_ip) {
            errors.invalid(&at.index(0).child("ip"), &first.ip, "must be equal to `hostIP`");
        }
        addresses_of(&ips(&status.host_ips), &ips(&was.host_ips), &status.host_ips, at, errors);
    }
    let statuses = at.child("ephemeralContainerStatuses");
    for (i, _) in ephemeral.0.iter().enumerate().filter(|(_, s)| !s.allocated_resources_status.is_empty()) {
        let why = "must not be specified in container status";
        errors.forbidden(&statuses.index(i).child("allocatedResourcesStatus"), why);
    }
}

fn conditions(list: &[PodCondition], at: &At, errors: &mut Errors) {
    for (i, condition) in list.iter().enumerate() {
        if condition.observed_generation < 0 {
            let why = "must be a non-negative integer";
            errors.invalid(&at.index(i).child("observedGeneration"), condition.observed_generation, why);
        }
        if !matches!(&*condition.type_, "PodScheduled" | "Ready" | "Initialized") {
            errors.each(&at.index(i).child("Type"), &condition.type_, names::qualified_name(&condition.type_));
        }
    }
}

/// Whether a rule may restart every container (`AllContainersCouldRestart`).
fn restarts_all(spec: &PodSpec) -> bool {
    spec.containers
        .iter()
        .chain(&spec.init_containers)
        .flat_map(|c| &c.restart_policy_rules)
        .any(|rule| rule.action == "RestartAllContainers")
}

/// Whether a container may run again after it ended with that code (`ContainerShouldRestart`).
fn may_restart(list: &[Container], spec: &PodSpec, name: &str, code: i32) -> bool {
    let Some(container) = list.iter().find(|c| c.name == *name) else { return false };
    for rule in &container.restart_policy_rules {
        let Some(codes) = rule.exit_codes.get() else { continue };
        let has = codes.values.contains(&code);
        if rule.action == "Restart" && ((codes.operator == "In" && has) || (codes.operator == "NotIn" && !has)) {
            return true;
        }
    }
    match container.restart_policy.get().unwrap_or(&spec.restart_policy) {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

/// A container that has ended stays so unless it may restart.
fn transitions(
    new: &[ContainerStatus],
    old: &[ContainerStatus],
    may_restart: impl Fn(&str, i32) -> bool,
    at: &At,
    errors: &mut Errors,
) {
    for (i, old) in old.iter().enumerate() {
        let Some(ended) = old.state.terminated.get() else { continue };
        let runs = new.iter().any(|new| new.name == old.name && new.state.terminated.is_none());
        if runs && !may_restart(&old.name, ended.exit_code) {
            errors.forbidden(&at.index(i).child("state"), "may not be transitioned to non-terminated state");
        }
    }
}

fn claims(list: &[PodResourceClaimStatus], spec: &PodSpec, at: &At, errors: &mut Errors) {
    for (i, status) in list.iter().enumerate() {
        let at = &at.index(i);
        if !spec.resource_claims.iter().any(|c| c.name == status.name) {
            let why = "must match the name of an entry in `spec.resourceClaims`";
            errors.invalid(&at.child("name"), &status.name, why);
        }
        if list.iter().take(i).any(|s| s.name == status.name) {
            errors.duplicate(&at.child("name"), &status.name);
        }
        if let Some(name) = status.resource_claim_name.get() {
            errors.each(&at.child("resourceClaimName"), name, names::dns1123_subdomain(name));
        }
    }
}

/// The claim for the pod's extended resources (`validatePodExtendedResourceClaimStatus`).
fn extended_claim(status: &PodExtendedResourceClaimStatus, spec: &PodSpec, at: &At, errors: &mut Errors) {
    let at_mappings = at.child("requestMappings");
    if status.request_mappings.is_empty() {
        errors.required(&at_mappings, "at least one request mapping is required");
    }
    for (i, mapping) in status.request_mappings.iter().enumerate() {
        let at_mapping = at_mappings.index(i);
        let (container, resource) = (&mapping.container_name, &mapping.resource_name);
        match spec.init_containers.iter().chain(spec.containers.iter()).find(|c| c.name == *container) {
            None => {
                let why = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.invalid(&at_mapping.child("containerName"), container, why);
            }
            Some(c) if !c.resources.requests.contains_key(resource) => {
                let why = "must match the extended resource name of an entry in spec.initContainers.resources.requests or \
                           spec.containers.resources.requests";
                errors.invalid(&at_mapping.child("resourceName"), resource, why);
            }
            Some(_) => {}
        }
        let request = &mapping.request_name;
        errors.each(&at.child("requestName"), request, names::dns1123_label(request));
        let same = |m: &&crate::core_v1::ContainerExtendedResourceRequest| {
            m.container_name == *container && m.resource_name == *resource && m.request_name == *request
        };
        if status.request_mappings.iter().take(i).any(|m| same(&m)) {
            for (name, value) in [("containerName", container), ("resourceName", resource), ("requestName", request)] {
                errors.duplicate(&at_mapping.child(name), value);
            }
        }
    }
    let name = &status.resource_claim_name;
    if name.is_empty() {
        errors.required(&at.child("resourceClaimName"), "");
    } else {
        errors.each(&at.child("resourceClaimName"), name, names::dns1123_subdomain(name));
    }
}

/// At most one address a family; old ones may stay as they are.
fn addresses_of<T: crate::object::Object>(new: &[Str], old: &[Str], shown: &[T], at: &At, errors: &mut Errors) {
    for (i, ip) in new.iter().enumerate().filter(|(_, ip)| !old.contains(ip)) {
        addresses::legacy_ip(ip, &at.index(i), errors);
    }
    if let [a, b, rest @ ..] = new {
        let families = (a.contains(':'), b.contains(':'));
        if families.0 == families.1 || !rest.is_empty() {
            let why = "may specify no more than one IP for each IP family";
            errors.invalid(at, super::super::internal::List(shown), why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a v1.37.2 cluster answered.
    #[test]
    fn the_claim_for_extended_resources() {
        let decode = |status: &str| {
            let text = format!(
                "metadata: {{name: p}}\nspec: {{containers: [{{name: c, resources: {{requests: {{e.com/gpu: '1'}}}}}}]}}\n\
                 status: {{extendedResourceClaimStatus: {status}}}"
            );
            let mut pod = Pod::default();
            crate::json::decode(crate::yaml::parse(&text).unwrap().to_json().as_bytes(), &mut pod, true).unwrap();
            pod
        };
        let wrong = |status: &str| -> Vec<String> {
            let mut errors = Errors::default();
            let pod = decode(status);
            extended_claim(
                pod.status.extended_resource_claim_status.get().unwrap(),
                &pod.spec,
                &At::new("s"),
                &mut errors,
            );
            errors.finish().iter().map(|e| e.to_string().split(" must ").next().unwrap().to_string()).collect()
        };
        let mapping = |container: &str, resource: &str| {
            format!("{{containerName: {container}, resourceName: {resource}, requestName: r}}")
        };
        let of = |mappings: &[String], name: &str| {
            format!("{{requestMappings: [{}], resourceClaimName: '{name}'}}", mappings.join(", "))
        };
        assert!(wrong(&of(&[mapping("c", "e.com/gpu")], "x")).is_empty());
        assert_eq!(
            wrong(&of(&[], "")),
            [
                "s.requestMappings: Required value: at least one request mapping is required",
                "s.resourceClaimName: Required value"
            ]
        );
        let (other, twice) = (mapping("d", "e.com/gpu"), mapping("c", "x"));
        assert_eq!(wrong(&of(&[other], "x")), ["s.requestMappings[0].containerName: Invalid value: \"d\":"]);
        assert_eq!(
            wrong(&of(&[twice.clone(), twice], "x")),
            [
                "s.requestMappings[0].resourceName: Invalid value: \"x\":",
                "s.requestMappings[1].resourceName: Invalid value: \"x\":",
                "s.requestMappings[1].containerName: Duplicate value: \"c\"",
                "s.requestMappings[1].resourceName: Duplicate value: \"x\"",
                "s.requestMappings[1].requestName: Duplicate value: \"r\"",
            ]
        );
    }
}
