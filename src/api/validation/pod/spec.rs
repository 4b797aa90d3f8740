//! `ValidatePodSpec`.

use super::super::at::{At, Errors};
use super::super::{addresses, internal::Internal, labels, resources};
use super::containers::Around;
use super::{Options, affinity, security, tolerations, volumes};
use crate::core_v1::{
    Container, HostAlias, PodDNSConfig, PodReadinessGate, PodResourceClaim, PodSchedulingGate, PodSpec,
    ResourceRequirements, Volume,
};
use crate::meta_v1::ObjectMeta;
use crate::{Map, Quantity, names};

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCHES_BYTES_MAX: usize = 2048;
const HOSTNAME_MAX: usize = 64;
const RESPONDERS_MAX: usize = 10;

/// A pod's spec; `meta` is the pod's own metadata, absent in a template.
pub(super) fn spec(spec: &PodSpec, meta: Option<&ObjectMeta>, options: &Options, at: &At, errors: &mut Errors) {
    if spec.termination_grace_period_seconds.is_none() {
        errors.required(&at.child("terminationGracePeriodSeconds"), "");
    }
    let good = volumes::volumes(&spec.volumes, meta, options, &at.child("volumes"), errors);
    resource_claims(&spec.resource_claims, meta, &at.child("resourceClaims"), errors);
    let claims: Vec<&str> = spec.resource_claims.iter().map(|c| &*c.name).filter(|name| !name.is_empty()).collect();
    let around = Around { spec, volumes: &good, claims: &claims };
    around.containers(&at.child("containers"), errors);
    around.init_containers(&at.child("initContainers"), errors);
    around.ephemeral_containers(&at.child("ephemeralContainers"), errors);
    if let Some(of_pod) = spec.resources.get() {
        pod_resources(of_pod, spec, &claims, &at.child("resources"), errors);
    }
    if spec.host_network {
        host_network(spec, meta.is_some(), at, errors);
    }
    errors.required_one_of(&at.child("restartPolicy"), &spec.restart_policy, &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.required_one_of(&at.child("dnsPolicy"), &spec.dns_policy, &policies);
    labels::labels(&spec.node_selector, &at.child("nodeSelector"), errors);
    if let Some(context) = spec.security_context.get() {
        security::pod(context, spec, options.host_sysctls, &at.child("securityContext"), errors);
    }
    if spec.share_process_namespace == Some(true) && spec.host_pid {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&at.child("shareProcessNamespace"), true, why);
    }
    if let Some(affinity) = spec.affinity.get() {
        affinity::affinity(affinity, options, &at.child("affinity"), errors);
    }
    dns(spec.dns_config.get(), &spec.dns_policy, &at.child("dnsConfig"), errors);
    readiness_gates(&spec.readiness_gates, &at.child("readinessGates"), errors);
    scheduling_gates(&spec.scheduling_gates, &at.child("schedulingGates"), errors);
    affinity::spread(&spec.topology_spread_constraints, options, &at.child("topologySpreadConstraints"), errors);
    host_users(spec, options, at, errors);
    host_name(spec, at, errors);
    identity(spec, at, errors);
    tolerations::tolerations(&spec.tolerations, &at.child("tolerations"), errors);
    host_aliases(&spec.host_aliases, &at.child("hostAliases"), errors);
    classes(spec, at, errors);
    os(spec, at, errors);
    if let Some(group) = spec.scheduling_group.get() {
        let at_group = &at.child("schedulingGroup");
        let at_name = &at_group.child("podGroupName");
        match group.pod_group_name.get() {
            None => errors.invalid(at_name, &group.pod_group_name, "must specify one of: `podGroupName`"),
            Some(name) => errors.each(at_name, name, names::dns1123_subdomain(name)),
        }
        if !spec.eviction_responders.is_empty() {
            errors.forbidden(at_group, "may not be set when evictionResponders is set");
        }
    }
    file_keys(spec, at, errors);
    if spec.eviction_responders.len() > RESPONDERS_MAX {
        errors.too_many(&at.child("evictionResponders"), spec.eviction_responders.len(), RESPONDERS_MAX);
    }
}

/// Who the pod is and where it runs.
fn identity(spec: &PodSpec, at: &At, errors: &mut Errors) {
    let account = &spec.service_account_name;
    if !account.is_empty() {
        errors.each(&at.child("serviceAccountName"), account, names::dns1123_subdomain(account));
    }
    if spec.service_account != *account {
        let why = format!("must be the same as serviceAccountName: {}", crate::go::quote(account));
        errors.invalid(&at.child("deprecatedServiceAccount"), &spec.service_account, why);
    }
    if !spec.node_name.is_empty() {
        errors.each(&at.child("nodeName"), &spec.node_name, names::dns1123_subdomain(&spec.node_name));
    }
    if let Some(seconds) = spec.active_deadline_seconds {
        for why in names::in_range(seconds, 1, i64::from(i32::MAX)) {
            errors.invalid(&at.child("activeDeadlineSeconds"), seconds, why);
        }
    }
    for (name, value) in [("hostname", &spec.hostname), ("subdomain", &spec.subdomain)] {
        if !value.is_empty() {
            errors.each(&at.child(name), value, names::dns1123_label(value));
        }
    }
}

fn classes(spec: &PodSpec, at: &At, errors: &mut Errors) {
    for (name, value) in
        [("priorityClassName", Some(&*spec.priority_class_name)), ("runtimeClassName", spec.runtime_class_name.get())]
    {
        if let Some(value) = value
            && !(value.is_empty() && name == "priorityClassName")
        {
            errors.each(&at.child(name), value, names::dns1123_subdomain(value));
        }
    }
    if let Some(policy) = spec.preemption_policy.get() {
        errors.required_one_of(&at.child("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }
    if !spec.overhead.is_nil() {
        let limits = ResourceRequirements { limits: spec.overhead.clone(), ..Default::default() };
        resources::requirements(&limits, resources::container_name, &[], &at.child("overhead"), errors);
    }
}

fn resource_claims(list: &[PodResourceClaim], meta: Option<&ObjectMeta>, at: &At, errors: &mut Errors) {
    for (i, claim) in list.iter().enumerate() {
        if meta.is_some_and(|m| m.annotations.contains_key("kubernetes.io/config.mirror")) {
            errors.forbidden(&At::new(""), "static pods do not support resource claims");
            continue;
        }
        let at = &at.index(i);
        if claim.name.is_empty() {
            errors.required(&at.child("name"), "");
        } else if list.iter().take(i).any(|c| c.name == claim.name) {
            errors.duplicate(&at.child("name"), &claim.name);
        } else {
            errors.each(&at.child("name"), &claim.name, names::dns1123_label(&claim.name));
        }
        let (name, template) = (claim.resource_claim_name.get(), claim.resource_claim_template_name.get());
        if name.is_some() && template.is_some() {
            let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            errors.invalid(at, Internal(claim), why);
        }
        if name.is_none() && template.is_none() {
            let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            errors.invalid(at, Internal(claim), why);
        }
        for (field, value) in [("resourceClaimName", name), ("resourceClaimTemplateName", template)] {
            if let Some(value) = value {
                errors.each(&at.child(field), value, names::dns1123_subdomain(value));
            }
        }
    }
}

fn pod_resources(r: &ResourceRequirements, spec: &PodSpec, claims: &[&str], at: &At, errors: &mut Errors) {
    if spec.os.get().is_some_and(|os| os.name == "windows") {
        return errors.forbidden(at, "may not be set for a windows pod");
    }
    if !r.claims.is_nil() {
        errors.forbidden(&at.child("claims"), "claims may not be set for Resources at pod-level");
    }
    resources::requirements(r, resources::pod_name, claims, at, errors);
    let requests = at.child("requests");
    for (resource, of_pod) in &r.requests {
        let sum = aggregate(spec, resource, |r| &r.requests);
        if sum > *of_pod {
            let why = format!("must be greater than or equal to aggregate container requests of {sum}");
            errors.invalid(&requests.key(resource), of_pod.to_string(), why);
        }
    }
    let limits = at.child("limits");
    for (resource, of_pod) in r.limits.iter().filter(|(name, _)| resources::is_huge_page(name)) {
        let sum = aggregate(spec, resource, |r| &r.limits);
        if sum > *of_pod {
            let why = format!("must be greater than or equal to aggregate container limits of {sum}");
            errors.invalid(&limits.key(resource), of_pod.to_string(), why);
        }
    }
    let containers = at.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        for (resource, limit) in &container.resources.limits {
            if let Some(of_pod) = r.limits.get(resource)
                && limit > of_pod
            {
                let why = format!("must be less than or equal to pod limits of {of_pod}");
                errors.invalid(&containers.index(i).key(resource).child("limits"), limit.to_string(), why);
            }
        }
    }
}

/// What the containers need together: side containers and containers run at once, other init containers one by one.
fn aggregate(spec: &PodSpec, resource: &str, of: fn(&ResourceRequirements) -> &Map<Quantity>) -> Quantity {
    let amount = |c: &Container| of(&c.resources).get(resource).cloned().unwrap_or_default();
    let mut total = Quantity::default();
    for container in &spec.containers {
        total.add(&amount(container));
    }
    let mut sidecars = Quantity::default();
    let mut peak = Quantity::default();
    for container in &spec.init_containers {
        let mut need = amount(container);
        if container.restart_policy.get() == Some("Always") {
            total.add(&need);
            sidecars.add(&need);
            need = sidecars.clone();
        } else {
            need.add(&sidecars);
        }
        if need > peak {
            peak = need;
        }
    }
    if peak > total { peak } else { total }
}

fn host_network(spec: &PodSpec, is_pod: bool, at: &At, errors: &mut Errors) {
    let at = at.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        for (j, port) in container.ports.iter().enumerate() {
            if (is_pod || port.host_port != 0) && port.host_port != port.container_port {
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(&at.index(i).child("ports").index(j).child("hostPort"), port.host_port, why);
            }
        }
    }
}

fn dns(config: Option<&PodDNSConfig>, policy: &str, at: &At, errors: &mut Errors) {
    let Some(config) = config else {
        if policy == "None" {
            errors.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        return;
    };
    let servers = &at.child("nameservers");
    if policy == "None" && config.nameservers.is_empty() {
        return errors.required(servers, "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
    if config.nameservers.len() > NAMESERVERS_MAX {
        let why = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        errors.invalid(servers, &config.nameservers, why);
    }
    for (i, server) in config.nameservers.iter().enumerate() {
        addresses::legacy_ip(server, &servers.index(i), errors);
    }
    let searches = &at.child("searches");
    if config.searches.len() > SEARCHES_MAX {
        let why = format!("must not have more than {SEARCHES_MAX} search paths");
        errors.invalid(searches, &config.searches, why);
    }
    let bytes: usize = config.searches.iter().map(|s| s.len() + 1).sum();
    if bytes.saturating_sub(1) > SEARCHES_BYTES_MAX {
        let why =
            format!("must not have more than {SEARCHES_BYTES_MAX} characters (including spaces) in the search list");
        errors.invalid(searches, &config.searches, why);
    }
    for (i, search) in config.searches.iter().enumerate().filter(|(_, s)| **s != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        errors.each(&searches.index(i), search, names::dns1123_subdomain_with_underscore(search));
    }
    let at_options = at.child("options");
    for (i, _) in config.options.iter().enumerate().filter(|(_, o)| o.name.is_empty()) {
        errors.required(&at_options.index(i), "must not be empty");
    }
}

fn readiness_gates(gates: &[PodReadinessGate], at: &At, errors: &mut Errors) {
    for (i, gate) in gates.iter().enumerate() {
        let wrong = names::qualified_name(&gate.condition_type);
        errors.each(&at.index(i).child("conditionType"), &gate.condition_type, wrong);
    }
}

fn scheduling_gates(gates: &[PodSchedulingGate], at: &At, errors: &mut Errors) {
    for (i, gate) in gates.iter().enumerate() {
        errors.each(&at.index(i), &gate.name, names::qualified_name(&gate.name));
        if gates.iter().take(i).any(|g| g.name == gate.name) {
            errors.duplicate(&at.index(i), &gate.name);
        }
    }
}

fn host_users(spec: &PodSpec, options: &Options, at: &At, errors: &mut Errors) {
    if spec.host_users != Some(false) {
        return;
    }
    let why = "when `hostUsers` is false";
    for (name, set) in [("hostNetwork", spec.host_network), ("HostPID", spec.host_pid), ("HostIPC", spec.host_ipc)] {
        if set {
            errors.forbidden(&at.child(name), why);
        }
    }
    if options.block_devices_with_users {
        return;
    }
    for (name, list) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        let at = at.child(name);
        for (i, _) in list.iter().enumerate().filter(|(_, c)| !c.volume_devices.is_empty()) {
            errors.forbidden(&at.index(i).child("volumeDevices"), why);
        }
    }
}

fn host_name(spec: &PodSpec, at: &At, errors: &mut Errors) {
    let Some(name) = spec.hostname_override.get() else { return };
    let at = &at.child("hostnameOverride");
    if spec.set_hostname_as_fqdn == Some(true) {
        errors.forbidden(at, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.host_network {
        errors.forbidden(at, "may not be specified when hostNetwork is true");
    }
    if name.len() > HOSTNAME_MAX {
        errors.too_long(at, HOSTNAME_MAX);
    }
    errors.each(at, name, names::dns1123_subdomain(name));
}

fn host_aliases(aliases: &[HostAlias], at: &At, errors: &mut Errors) {
    for (i, alias) in aliases.iter().enumerate() {
        let at = &at.index(i);
        addresses::legacy_ip(&alias.ip, &at.child("ip"), errors);
        let at = at.child("hostnames");
        for (j, name) in alias.hostnames.iter().enumerate() {
            errors.each(&at.index(j), name, names::dns1123_subdomain(name));
        }
    }
}

/// What the named operating system rules out.
fn os(spec: &PodSpec, at: &At, errors: &mut Errors) {
    let Some(os) = spec.os.get() else { return };
    match &*os.name {
        "" => errors.required(&at.child("os").child("name"), ""),
        "linux" => windows_options(spec, at, errors),
        "windows" => windows(spec, at, errors),
        // Kubernetes' path is the struct's here.
        name => errors.not_supported(&at.child("os"), name, &["linux", "windows"]),
    }
}

fn windows_options(spec: &PodSpec, at: &At, errors: &mut Errors) {
    let why = "windows options cannot be set for a linux pod";
    if spec.security_context.get().is_some_and(|s| !s.windows_options.is_none()) {
        errors.forbidden(&at.child("securityContext").child("windowsOptions"), why);
    }
    for (name, list) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        let at = at.child(name);
        for (i, container) in list.iter().enumerate() {
            if container.security_context.get().is_some_and(|s| !s.windows_options.is_none()) {
                errors.forbidden(&at.index(i).child("securityContext").child("windowsOptions"), why);
            }
        }
    }
}

fn windows(spec: &PodSpec, at: &At, errors: &mut Errors) {
    let why = "cannot be set for a windows pod";
    let at_context = at.child("securityContext");
    if let Some(s) = spec.security_context.get() {
        for (name, set) in [
            ("appArmorProfile", !s.app_armor_profile.is_none()),
            ("seLinuxOptions", !s.se_linux_options.is_none()),
            ("seccompProfile", s.seccomp_profile.is_some()),
            ("fsGroup", s.fs_group.is_some()),
            ("fsGroupChangePolicy", s.fs_group_change_policy.is_some()),
            ("sysctls", !s.sysctls.is_empty()),
            ("runAsUser", s.run_as_user.is_some()),
            ("runAsGroup", s.run_as_group.is_some()),
            ("supplementalGroups", !s.supplemental_groups.is_nil()),
            ("supplementalGroupsPolicy", s.supplemental_groups_policy.is_some()),
            ("seLinuxChangePolicy", s.se_linux_change_policy.is_some()),
        ] {
            if set {
                errors.forbidden(&at_context.child(name), why);
            }
        }
    }
    for (name, set) in [
        ("hostUsers", spec.host_users.is_some()),
        ("hostPID", spec.host_pid),
        ("hostIPC", spec.host_ipc),
        ("shareProcessNamespace", spec.share_process_namespace.is_some()),
    ] {
        if set {
            errors.forbidden(&at.child(name), why);
        }
    }
    for (name, list) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        let at = at.child(name);
        for (i, container) in list.iter().enumerate() {
            let Some(s) = container.security_context.get() else { continue };
            for (name, set) in [
                ("appArmorProfile", !s.app_armor_profile.is_none()),
                ("seLinuxOptions", !s.se_linux_options.is_none()),
                ("seccompProfile", s.seccomp_profile.is_some()),
                ("capabilities", s.capabilities.is_some()),
                ("readOnlyRootFilesystem", s.read_only_root_filesystem.is_some()),
                ("privileged", s.privileged.is_some()),
                ("allowPrivilegeEscalation", s.allow_privilege_escalation.is_some()),
                ("procMount", s.proc_mount.is_some()),
                ("runAsUser", s.run_as_user.is_some()),
                ("runAsGroup", s.run_as_group.is_some()),
            ] {
                if set {
                    errors.forbidden(&at.index(i).child("securityContext").child(name), why);
                }
            }
        }
    }
}

/// Variables read from files need an emptyDir to read from.
fn file_keys(spec: &PodSpec, at: &At, errors: &mut Errors) {
    let volume = |name: &str| spec.volumes.iter().rev().find(|v: &&Volume| v.name == *name);
    for (name, list) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        let at = at.child(name);
        for (i, container) in list.iter().enumerate() {
            for (j, variable) in container.env.iter().enumerate() {
                let Some(file) = variable.value_from.get().and_then(|v| v.file_key_ref.get()) else { continue };
                let (at, env) = (at.index(i), "env");
                let (at, name) = (at.child(env), &file.volume_name);
                let at = at.index(j);
                let at = at.child("valueFrom");
                let at = at.child("fileKeyRef");
                match volume(name) {
                    None => errors.not_found(&at.child("volumeName"), name),
                    Some(v) if v.empty_dir.is_none() => {
                        let why = "referenced volume must be of type emptyDir";
                        errors.invalid(&at.child("volumeName"), name, why);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}
