//! What the levels `baseline` and `restricted` ask of a pod, check by check (pod-security-admission's policy).
//!
//! A check looks at the pod as JSON, whichever kind it came from, and says what it finds: a reason, and the details
//! that follow it in parentheses.

use api::SortSmall;
use std::collections::BTreeSet;

use api::json::Value;

/// The newest version in which a check changed: `latest` and what comes after it means this one.
pub const NEWEST: u32 = 37;

/// A finding: reason and details.
pub type Finding = (String, String);

struct Check {
    /// Baseline checks come first, then restricted ones, each by name; so the rows stand.
    #[allow(dead_code, reason = "names the row")]
    name: &'static str,
    restricted: bool,
    /// The minor version that brought it.
    since: u32,
    /// The baseline check that it takes the place of, by its row's name.
    instead_of: &'static str,
    find: fn(&Pod, u32) -> Option<Finding>,
}

const fn baseline(name: &'static str, since: u32, find: fn(&Pod, u32) -> Option<Finding>) -> Check {
    Check { name, restricted: false, since, instead_of: "", find }
}

const fn restricted(
    name: &'static str,
    since: u32,
    instead_of: &'static str,
    find: fn(&Pod, u32) -> Option<Finding>,
) -> Check {
    Check { name, restricted: true, since, instead_of, find }
}

static CHECKS: &[Check] = &[
    baseline("appArmorProfile", 0, app_armor),
    baseline("capabilities_baseline", 0, capabilities),
    baseline("hostNamespaces", 0, host_namespaces),
    baseline("hostPathVolumes", 0, host_paths),
    baseline("hostPorts", 0, host_ports),
    baseline("hostProbesAndHostLifecycle", 34, probe_hosts),
    baseline("privileged", 0, privileged),
    baseline("procMount", 0, proc_mount),
    baseline("seLinuxOptions", 0, se_linux),
    baseline("seccompProfile_baseline", 0, seccomp),
    baseline("sysctls", 0, sysctls),
    baseline("windowsHostProcess", 0, host_process),
    restricted("allowPrivilegeEscalation", 8, "", escalation),
    restricted("capabilities_restricted", 22, "capabilities_baseline", dropped_capabilities),
    restricted("procMount_restricted", 35, "procMount", any_proc_mount),
    restricted("restrictedVolumes", 0, "hostPathVolumes", volumes),
    restricted("runAsNonRoot", 0, "", non_root),
    restricted("runAsUser", 23, "", root_user),
    restricted("seccompProfile_restricted", 19, "seccompProfile_baseline", given_seccomp),
];

/// All findings about a pod, in the order in which they are told.
pub fn findings(restricted: bool, version: u32, pod: &Pod) -> Vec<Finding> {
    let applies = |check: &&Check| check.since <= version && (restricted || !check.restricted);
    let replaced = |name: &str| restricted && CHECKS.iter().filter(applies).any(|check| check.instead_of == name);
    let checks = CHECKS.iter().filter(applies).filter(|check| !replaced(check.name));
    checks.filter_map(|check| (check.find)(pod, version)).collect()
}

/// A pod, or what a controller makes pods from.
pub struct Pod<'a> {
    /// Its metadata.
    pub metadata: Option<&'a Value>,
    /// Its specification.
    pub spec: &'a Value,
}

impl Pod<'_> {
    /// Init containers, containers, ephemeral containers.
    fn containers(&self) -> impl Iterator<Item = &Value> {
        const LISTS: [&[&str]; 3] = [&["initContainers"], &["containers"], &["ephemeralContainers"]];
        LISTS.into_iter().flat_map(|path| items(self.spec, path))
    }

    /// The names of containers of which something holds.
    fn containers_with(&self, mut holds: impl FnMut(&Value) -> bool) -> Vec<String> {
        self.containers().filter(|container| holds(container)).map(name).collect()
    }

    fn is_windows(&self) -> bool {
        self.spec.str_at(&["os", "name"]) == "windows"
    }

    /// Whether it runs in a user namespace of its own.
    fn has_own_users(&self) -> bool {
        self.spec.get("hostUsers").and_then(Value::as_bool) == Some(false)
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.metadata.and_then(|metadata| metadata.get("annotations")).and_then(Value::as_object);
        all.into_iter().flat_map(|all| all.iter()).map(|(key, value)| (&**key, value.as_str().unwrap_or_default()))
    }
}

fn items<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    value.at(path).and_then(Value::as_array).into_iter().flat_map(|array| array.iter())
}

fn name(value: &Value) -> String {
    value.str_at(&["name"]).to_string()
}

/// A field of the security context of a pod or container.
fn context<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    value.get("securityContext").and_then(|context| context.at(path))
}

fn flag(value: &Value, path: &[&str]) -> Option<bool> {
    context(value, path).and_then(Value::as_bool)
}

fn one_or_more<'a>(one: &'a str, more: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { more }
}

/// `"a", "b"`
fn quoted<S: AsRef<str>>(list: impl IntoIterator<Item = S>) -> String {
    list.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect::<Vec<_>>().join(", ")
}

/// `container "a"`, `containers "a", "b"`
fn of_containers(names: &[String]) -> String {
    format!("{} {}", one_or_more("container", "containers", names.len()), quoted(names))
}

/// `pod and container "a"`
fn setters(pod: bool, containers: &[String], more: Option<String>) -> Vec<String> {
    let mut setters = Vec::new();
    if pod {
        setters.push("pod".to_string());
    }
    if !containers.is_empty() {
        setters.push(of_containers(containers));
    }
    setters.extend(more);
    setters
}

fn found(reason: &str, details: String) -> Option<Finding> {
    Some((reason.to_string(), details))
}

fn app_armor(pod: &Pod, _: u32) -> Option<Finding> {
    let mut bad: BTreeSet<String> = BTreeSet::new();
    let mut is_bad = |value: &Value| match context(value, &["appArmorProfile"]) {
        Some(profile) if !matches!(profile.str_at(&["type"]), "RuntimeDefault" | "Localhost") => {
            bad.insert(profile.str_at(&["type"]).to_string());
            true
        }
        _ => false,
    };
    let by_pod = is_bad(pod.spec);
    let containers = pod.containers_with(is_bad);
    let allowed = |value: &str| value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
    let annotations: Vec<String> = pod
        .annotations()
        .filter(|(key, value)| key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !allowed(value))
        .map(|(key, value)| format!("{key}={}", api::go::quote(value)))
        .collect();
    let more = one_or_more("annotation", "annotations", annotations.len());
    let setters = setters(by_pod, &containers, (!annotations.is_empty()).then(|| more.to_string()));
    let values: Vec<String> = bad.into_iter().chain(annotations).collect();
    if setters.is_empty() {
        return None;
    }
    found(
        one_or_more("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len()),
        format!("{} must not set AppArmor profile type to {}", setters.join(" and "), quoted(values)),
    )
}

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Containers that add other capabilities than these, and which.
fn adding(pod: &Pod, allowed: &[&str]) -> (Vec<String>, BTreeSet<String>) {
    let mut added: BTreeSet<String> = BTreeSet::new();
    let containers = pod.containers_with(|container| {
        let all = items(container, &["securityContext", "capabilities", "add"]);
        let before = added.len();
        let mut any = false;
        for capability in all.filter_map(Value::as_str).filter(|capability| !allowed.contains(capability)) {
            any = true;
            added.insert(capability.to_string());
        }
        any || added.len() > before
    });
    (containers, added)
}

fn must_not_add(containers: &[String], added: BTreeSet<String>) -> String {
    let added = quoted(added);
    format!("{} must not include {added} in securityContext.capabilities.add", of_containers(containers))
}

fn capabilities(pod: &Pod, _: u32) -> Option<Finding> {
    let (containers, added) = adding(pod, &DEFAULT_CAPABILITIES);
    if containers.is_empty() {
        return None;
    }
    found("non-default capabilities", must_not_add(&containers, added))
}

fn dropped_capabilities(pod: &Pod, version: u32) -> Option<Finding> {
    if version >= 25 && pod.is_windows() {
        return None;
    }
    let keeping = pod.containers_with(|container| {
        !items(container, &["securityContext", "capabilities", "drop"]).any(|dropped| dropped.as_str() == Some("ALL"))
    });
    let (containers, added) = adding(pod, &["NET_BIND_SERVICE"]);
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", of_containers(&keeping)));
    }
    if !containers.is_empty() {
        details.push(must_not_add(&containers, added));
    }
    if details.is_empty() { None } else { found("unrestricted capabilities", details.join("; ")) }
}

fn host_namespaces(pod: &Pod, _: u32) -> Option<Finding> {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared: Vec<String> = shared
        .filter(|field| pod.spec.get(field).and_then(Value::as_bool) == Some(true))
        .map(|field| format!("{field}=true"))
        .collect();
    if shared.is_empty() { None } else { found("host namespaces", shared.join(", ")) }
}

fn host_paths(pod: &Pod, _: u32) -> Option<Finding> {
    let volumes: Vec<String> =
        items(pod.spec, &["volumes"]).filter(|volume| volume.get("hostPath").is_some()).map(name).collect();
    if volumes.is_empty() {
        return None;
    }
    let word = one_or_more("volume", "volumes", volumes.len());
    found("hostPath volumes", format!("{word} {}", quoted(volumes)))
}

fn host_ports(pod: &Pod, _: u32) -> Option<Finding> {
    let mut ports: BTreeSet<String> = BTreeSet::new();
    let containers = pod.containers_with(|container| {
        let mut any = false;
        for port in items(container, &["ports"]).filter_map(|port| port.get("hostPort").and_then(Value::as_i64)) {
            if port != 0 {
                any = true;
                ports.insert(port.to_string());
            }
        }
        any
    });
    if containers.is_empty() {
        return None;
    }
    let uses = one_or_more("uses", "use", containers.len());
    let word = one_or_more("hostPort", "hostPorts", ports.len());
    let ports = ports.into_iter().collect::<Vec<_>>().join(", ");
    found("hostPort", format!("{} {uses} {word} {ports}", of_containers(&containers)))
}

fn probe_hosts(pod: &Pod, _: u32) -> Option<Finding> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let mut hosts: BTreeSet<String> = BTreeSet::new();
    let mut containers = pod.containers_with(|container| {
        let mut any = false;
        for handler in HANDLERS.iter().filter_map(|path| container.at(path)) {
            for action in ["httpGet", "tcpSocket"] {
                let host = handler.str_at(&[action, "host"]);
                if !host.is_empty() {
                    any = true;
                    hosts.insert(host.to_string());
                }
            }
        }
        any
    });
    if containers.is_empty() {
        return None;
    }
    containers.sort_small();
    containers.dedup();
    let uses = one_or_more("uses", "use", containers.len());
    let word = one_or_more("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    found("probe or lifecycle host", format!("{} {uses} {word} {}", of_containers(&containers), quoted(hosts)))
}

fn privileged(pod: &Pod, _: u32) -> Option<Finding> {
    let containers = pod.containers_with(|container| flag(container, &["privileged"]) == Some(true));
    if containers.is_empty() {
        return None;
    }
    found("privileged", format!("{} must not set securityContext.privileged=true", of_containers(&containers)))
}

fn proc_mount(pod: &Pod, version: u32) -> Option<Finding> {
    if version >= 35 && pod.has_own_users() { None } else { any_proc_mount(pod, version) }
}

fn any_proc_mount(pod: &Pod, _: u32) -> Option<Finding> {
    let mut mounts: BTreeSet<String> = BTreeSet::new();
    let containers =
        pod.containers_with(|container| match context(container, &["procMount"]).and_then(Value::as_str) {
            Some(mount) if mount != "Default" => {
                mounts.insert(mount.to_string());
                true
            }
            _ => false,
        });
    if containers.is_empty() {
        return None;
    }
    let containers = of_containers(&containers);
    found("procMount", format!("{containers} must not set securityContext.procMount to {}", quoted(mounts)))
}

fn se_linux(pod: &Pod, version: u32) -> Option<Finding> {
    let mut types: BTreeSet<String> = BTreeSet::new();
    let (mut user, mut role) = (false, false);
    let mut is_bad = |value: &Value| {
        let Some(options) = context(value, &["seLinuxOptions"]) else { return false };
        let kind = options.str_at(&["type"]);
        let bad_type = match kind {
            "" | "container_t" | "container_init_t" | "container_kvm_t" => false,
            "container_engine_t" => version < 31,
            _ => true,
        };
        if bad_type {
            types.insert(kind.to_string());
        }
        let (by_user, by_role) = (!options.str_at(&["user"]).is_empty(), !options.str_at(&["role"]).is_empty());
        user |= by_user;
        role |= by_role;
        bad_type || by_user || by_role
    };
    let by_pod = is_bad(pod.spec);
    let containers = pod.containers_with(is_bad);
    let setters = setters(by_pod, &containers, None);
    if setters.is_empty() {
        return None;
    }
    let mut details = Vec::new();
    if !types.is_empty() {
        details.push(format!("{} {}", one_or_more("type", "types", types.len()), quoted(types)));
    }
    if user {
        details.push("user may not be set".to_string());
    }
    if role {
        details.push("role may not be set".to_string());
    }
    let setters = setters.join(" and ");
    found("seLinuxOptions", format!("{setters} set forbidden securityContext.seLinuxOptions: {}", details.join("; ")))
}

/// The seccomp profile's type, where there is a profile.
fn seccomp_type(value: &Value) -> Option<&str> {
    context(value, &["seccompProfile"]).map(|profile| profile.str_at(&["type"]))
}

fn is_good_seccomp(kind: &str) -> bool {
    matches!(kind, "Localhost" | "RuntimeDefault")
}

fn seccomp(pod: &Pod, version: u32) -> Option<Finding> {
    if version < 19 { seccomp_annotations(pod) } else { bad_seccomp(pod) }
}

fn seccomp_annotations(pod: &Pod) -> Option<Finding> {
    let names: Vec<String> = pod.containers_with(|_| true);
    let allowed =
        |value: &str| matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
    let concerned = |key: &str| {
        key == "seccomp.security.alpha.kubernetes.io/pod"
            || key
                .strip_prefix("container.seccomp.security.alpha.kubernetes.io/")
                .is_some_and(|container| names.iter().any(|name| name == container))
    };
    let bad: Vec<String> = pod
        .annotations()
        .filter(|(key, value)| concerned(key) && !allowed(value))
        .map(|(key, value)| format!("{key}={}", api::go::quote(value)))
        .collect();
    if bad.is_empty() {
        return None;
    }
    let word = one_or_more("annotation", "annotations", bad.len());
    found("seccompProfile", format!("forbidden {word} {}", bad.join(", ")))
}

fn bad_seccomp(pod: &Pod) -> Option<Finding> {
    let mut bad: BTreeSet<String> = BTreeSet::new();
    let mut is_bad = |value: &Value| match seccomp_type(value) {
        Some(kind) if !is_good_seccomp(kind) => {
            bad.insert(kind.to_string());
            true
        }
        _ => false,
    };
    let by_pod = is_bad(pod.spec);
    let containers = pod.containers_with(is_bad);
    let setters = setters(by_pod, &containers, None);
    if setters.is_empty() {
        return None;
    }
    let setters = setters.join(" and ");
    found("seccompProfile", format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(bad)))
}

fn given_seccomp(pod: &Pod, version: u32) -> Option<Finding> {
    if version >= 25 && pod.is_windows() {
        return None;
    }
    if let Some(finding) = bad_seccomp(pod) {
        return Some(finding);
    }
    let by_pod = seccomp_type(pod.spec).is_some_and(is_good_seccomp);
    let without = pod.containers_with(|container| !by_pod && seccomp_type(container).is_none());
    if without.is_empty() {
        return None;
    }
    let without = of_containers(&without);
    found(
        "seccompProfile",
        format!("pod or {without} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""),
    )
}

/// Sysctls, with the version that allowed them.
const SAFE_SYSCTLS: [(&str, u32); 14] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
    ("net.ipv4.tcp_slow_start_after_idle", 37),
    ("net.ipv4.tcp_notsent_lowat", 37),
];

fn sysctls(pod: &Pod, version: u32) -> Option<Finding> {
    let safe = |name: &str| SAFE_SYSCTLS.iter().any(|(safe, since)| *safe == name && *since <= version);
    let unsafe_ones: Vec<String> =
        items(pod.spec, &["securityContext", "sysctls"]).map(name).filter(|name| !safe(name)).collect();
    if unsafe_ones.is_empty() { None } else { found("forbidden sysctls", unsafe_ones.join(", ")) }
}

fn host_process(pod: &Pod, _: u32) -> Option<Finding> {
    let is_bad = |value: &Value| flag(value, &["windowsOptions", "hostProcess"]) == Some(true);
    let setters = setters(is_bad(pod.spec), &pod.containers_with(is_bad), None);
    if setters.is_empty() {
        return None;
    }
    let setters = setters.join(" and ");
    found("hostProcess", format!("{setters} must not set securityContext.windowsOptions.hostProcess=true"))
}

fn escalation(pod: &Pod, version: u32) -> Option<Finding> {
    if version >= 25 && pod.is_windows() {
        return None;
    }
    let containers = pod.containers_with(|container| flag(container, &["allowPrivilegeEscalation"]) != Some(false));
    if containers.is_empty() {
        return None;
    }
    let containers = of_containers(&containers);
    found(
        "allowPrivilegeEscalation != false",
        format!("{containers} must set securityContext.allowPrivilegeEscalation=false"),
    )
}

const ALLOWED_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

fn volumes(pod: &Pod, _: u32) -> Option<Finding> {
    let mut types: BTreeSet<String> = BTreeSet::new();
    let mut bad = Vec::new();
    for volume in items(pod.spec, &["volumes"]) {
        let sources =
            || volume.as_object().into_iter().flat_map(|fields| fields.keys()).filter(|key| &***key != "name");
        if sources().any(|source| ALLOWED_VOLUMES.contains(&&**source)) {
            continue;
        }
        bad.push(name(volume));
        types.insert(sources().next().map_or("unknown".to_string(), |source| source.to_string()));
    }
    if bad.is_empty() {
        return None;
    }
    let uses = one_or_more("uses", "use", bad.len());
    let word = one_or_more("volume", "volumes", bad.len());
    let kind = one_or_more("restricted volume type", "restricted volume types", types.len());
    found("restricted volume types", format!("{word} {} {uses} {kind} {}", quoted(bad), quoted(types)))
}

fn non_root(pod: &Pod, version: u32) -> Option<Finding> {
    if version >= 35 && pod.has_own_users() {
        return None;
    }
    let of = |value: &Value| flag(value, &["runAsNonRoot"]);
    let by_pod = of(pod.spec);
    let roots = pod.containers_with(|container| of(container) == Some(false));
    let setters = setters(by_pod == Some(false), &roots, None);
    const REASON: &str = "runAsNonRoot != true";
    if !setters.is_empty() {
        return found(REASON, format!("{} must not set securityContext.runAsNonRoot=false", setters.join(" and ")));
    }
    let without = pod.containers_with(|container| by_pod != Some(true) && of(container).is_none());
    if without.is_empty() {
        return None;
    }
    found(REASON, format!("pod or {} must set securityContext.runAsNonRoot=true", of_containers(&without)))
}

fn root_user(pod: &Pod, version: u32) -> Option<Finding> {
    if version >= 35 && pod.has_own_users() {
        return None;
    }
    let is_root = |value: &Value| context(value, &["runAsUser"]).and_then(Value::as_i64) == Some(0);
    let setters = setters(is_root(pod.spec), &pod.containers_with(is_root), None);
    if setters.is_empty() {
        return None;
    }
    found("runAsUser=0", format!("{} must not set runAsUser=0", setters.join(" and ")))
}
