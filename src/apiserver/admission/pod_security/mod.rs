//! PodSecurity: the labels of a namespace say how much its pods may ask for (k8s.io/pod-security-admission).

mod checks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use api::core_v1::{Container, Namespace, Pod};
use api::field::{self, ErrorList, Path};
use api::json::Value;
use api::{Map, Object, Status, Str};

use super::{Attributes, Operation};

/// Bound of the pods that a new level is tried on.
const PODS_TO_CHECK: usize = 3000;
const LABEL: &str = "pod-security.kubernetes.io/";

/// How strict a policy is, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }

    fn parse(text: &str) -> Option<Level> {
        [Level::Privileged, Level::Baseline, Level::Restricted].into_iter().find(|level| level.name() == text)
    }
}

/// A level as of a version of Kubernetes; none is the latest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Policy {
    level: Level,
    minor: Option<u32>,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.minor {
            None => write!(f, "{}:latest", self.level.name()),
            Some(minor) => write!(f, "{}:v1.{minor}", self.level.name()),
        }
    }
}

/// What of a pod is wrong: none where it may be.
struct Verdict(Vec<checks::Finding>);

impl Verdict {
    /// `host namespaces (hostNetwork=true), privileged (...)`
    fn details(&self) -> String {
        let shown = |(reason, details): &checks::Finding| {
            if details.is_empty() { reason.clone() } else { format!("{reason} ({details})") }
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// `host namespaces, privileged`
    fn reasons(&self) -> String {
        self.0.iter().map(|(reason, _)| reason.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Policy {
    const DEFAULT: Policy = Policy { level: Level::Privileged, minor: None };

    fn judge(self, pod: &checks::Pod) -> Verdict {
        if self.level == Level::Privileged {
            return Verdict(Vec::new());
        }
        let version = self.minor.map_or(checks::NEWEST, |minor| minor.min(checks::NEWEST));
        Verdict(checks::findings(self.level == Level::Restricted, version, pod))
    }
}

/// What a namespace's labels say. Its audit level would only be seen in the audit log.
struct Policies {
    enforce: Policy,
    warn: Policy,
    /// Whether the audit level is privileged, or can't be read.
    audits: bool,
    errors: ErrorList,
}

fn policies(labels: &Map<Str>) -> Policies {
    let mut errors = ErrorList::default();
    let mut wrong = |label: &str, value: &Str, why: &str| {
        let path = Path::new("metadata").child("labels").key(format!("{LABEL}{label}"));
        errors.push(field::invalid(&path, value, why));
    };
    let mut read = |mode: &str, fallback: Level| -> (Policy, bool, bool) {
        let mut policy = Policy::DEFAULT;
        let level = labels.get(&format!("{LABEL}{mode}"));
        let mut is_good = false;
        if let Some(text) = level {
            let parsed = Level::parse(text);
            is_good = parsed.is_some();
            policy.level = parsed.unwrap_or(fallback);
            if !is_good {
                wrong(mode, text, "must be one of privileged, baseline, restricted");
            }
        }
        let label = format!("{mode}-version");
        let version = labels.get(&format!("{LABEL}{label}"));
        if let Some(text) = version {
            match parse_version(text) {
                Some(minor) => policy.minor = minor,
                None => wrong(&label, text, "must be \"latest\" or \"v1.x\""),
            }
        }
        (policy, if mode == "enforce" { is_good } else { level.is_some() }, version.is_some())
    };
    let (enforce, has_enforce, _) = read("enforce", Level::Restricted);
    let (audit, ..) = read("audit", Level::Privileged);
    let (mut warn, has_warn, has_warn_version) = read("warn", Level::Privileged);
    // Who enforces a level is warned by it too.
    if !has_warn && has_enforce && enforce.level > warn.level {
        warn.level = enforce.level;
        if !has_warn_version {
            warn.minor = enforce.minor;
        }
    }
    Policies { enforce, warn, audits: audit.level != Level::Privileged, errors }
}

/// `latest` or `v1.28`
fn parse_version(text: &str) -> Option<Option<u32>> {
    if text == "latest" {
        return Some(None);
    }
    let digits = text.strip_prefix("v1.")?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    // A number that no version will ever have is still one.
    digits.parse::<i64>().ok().map(|minor| Some(u32::try_from(minor).unwrap_or(u32::MAX)))
}

/// Judges pods, what makes pods, and namespaces.
pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    let Some(object) = new.filter(|_| attributes.operation != Operation::Delete) else { return Ok(()) };
    let kind = attributes.kind();
    match (kind.group, kind.plural) {
        ("", "namespaces") => namespace(attributes, object, old),
        ("", "pods") => pod(attributes, object, old),
        _ => match template(kind.group, kind.plural) {
            Some(path) if attributes.call.subresource.is_empty() => controller(attributes, object, path),
            _ => Ok(()),
        },
    }
}

/// Where a kind has the template of its pods.
fn template(group: &str, resource: &str) -> Option<&'static [&'static str]> {
    match (group, resource) {
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => Some(&["spec", "template"]),
        ("", "podtemplates") => Some(&["template"]),
        ("batch", "cronjobs") => Some(&["spec", "jobTemplate", "spec", "template"]),
        _ => None,
    }
}

fn policies_of(attributes: &Attributes) -> Option<Policies> {
    let server = &attributes.call.server;
    let found = attributes.find(server.namespaces, &attributes.call.namespace)?;
    let labels = &found.body.metadata()?.labels;
    labels.keys().any(|label| label.starts_with(LABEL)).then(|| policies(labels))
}

/// A pod, or a template of pods; none where there is no specification.
fn parts(value: &Value) -> Option<checks::Pod<'_>> {
    Some(checks::Pod { metadata: value.get("metadata"), spec: value.get("spec")? })
}

fn pod(attributes: &mut Attributes, object: &dyn Object, old: Option<&dyn Object>) -> Result<(), Status> {
    let judged = matches!(&*attributes.call.subresource, "" | "ephemeralcontainers" | "resize");
    if !judged {
        return Ok(());
    }
    let Some(policies) = policies_of(attributes) else { return Ok(()) };
    let Some(pod) = object.downcast_ref::<Pod>() else { return Ok(()) };
    let harmless = policies.enforce.level == Level::Privileged && policies.warn.level == Level::Privileged;
    if harmless && !policies.audits && policies.errors.is_empty() {
        return Ok(());
    }
    if let Some(old) = old.and_then(|old| old.downcast_ref::<Pod>())
        && !is_significant(pod, old)
    {
        return Ok(());
    }
    let value = api::json::to_value_bare(object);
    let Some(parts) = parts(&value) else { return Ok(()) };
    let verdict = policies.enforce.judge(&parts);
    if !verdict.0.is_empty() {
        let reason = format!("violates PodSecurity \"{}\": {}", policies.enforce, verdict.details());
        return Err(attributes.forbidden(Some(object), &reason));
    }
    warn(attributes, policies.warn, &parts);
    Ok(())
}

fn warn(attributes: &Attributes, policy: Policy, pod: &checks::Pod) {
    let verdict = policy.judge(pod);
    if !verdict.0.is_empty() {
        attributes.call.warn(format!("would violate PodSecurity \"{policy}\": {}", verdict.details()));
    }
}

fn controller(attributes: &mut Attributes, object: &dyn Object, path: &[&str]) -> Result<(), Status> {
    let Some(policies) = policies_of(attributes).filter(|policies| policies.warn.level != Level::Privileged) else {
        return Ok(());
    };
    let value = api::json::to_value_bare(object);
    if let Some(pod) = value.at(path).and_then(parts) {
        warn(attributes, policies.warn, &pod);
    }
    Ok(())
}

/// Whether a change of a pod is one that could make it worse: another image, another container.
fn is_significant(new: &Pod, old: &Pod) -> bool {
    let differ = |new: &[Container], old: &[Container]| {
        new.len() != old.len() || new.iter().zip(old).any(|(new, old)| new.image != old.image)
    };
    differ(&new.spec.containers, &old.spec.containers)
        || differ(&new.spec.init_containers, &old.spec.init_containers)
        || new.spec.ephemeral_containers.iter().any(|container| {
            let was = old.spec.ephemeral_containers.iter().find(|old| old.name == container.name);
            was.is_none_or(|was| was.image != container.image)
        })
}

fn namespace(attributes: &mut Attributes, object: &dyn Object, old: Option<&dyn Object>) -> Result<(), Status> {
    if !attributes.call.subresource.is_empty() {
        return Ok(());
    }
    let Some(namespace) = object.downcast_ref::<Namespace>() else { return Ok(()) };
    let new = policies(&namespace.metadata.labels);
    let was = old.and_then(|old| old.metadata()).map(|metadata| policies(&metadata.labels));
    let known = was.as_ref().is_some_and(|was| {
        let shown = |errors: &ErrorList| errors.iter().map(|error| error.to_string()).collect::<Vec<_>>();
        shown(&was.errors) == shown(&new.errors)
    });
    if !new.errors.is_empty() && !known {
        return Err(Status::invalid_kind(attributes.kind(), &namespace.metadata.name, &new.errors));
    }
    let Some(was) = was else { return Ok(()) };
    let (now, before) = (new.enforce, was.enforce);
    let looser = now.minor == before.minor && now.level <= before.level;
    if now == before || now.level == Level::Privileged || looser {
        return Ok(());
    }
    for warning in violations(attributes, &namespace.metadata.name, now) {
        attributes.call.warn(warning);
    }
    Ok(())
}

/// What a namespace's pods have that a new level forbids: one line for each kind of trouble.
fn violations(attributes: &Attributes, namespace: &str, policy: Policy) -> Vec<String> {
    let server = &attributes.call.server;
    let mut pods: Vec<api::Rev<Pod>> = Vec::new();
    server.cache.resource(server.pods).each(namespace, |object| pods.extend(object.downcast::<Pod>()));
    // One pod of each controller first.
    let mut seen: Vec<Str> = Vec::new();
    let (mut ordered, mut others) = (Vec::new(), Vec::new());
    for pod in pods {
        match pod.metadata.owner_references.iter().find(|owner| owner.controller == Some(true)) {
            Some(owner) if seen.contains(&owner.uid) => others.push(pod),
            Some(owner) => {
                seen.push(owner.uid.clone());
                ordered.push(pod);
            }
            None => ordered.push(pod),
        }
    }
    ordered.append(&mut others);
    let total = ordered.len();
    ordered.truncate(PODS_TO_CHECK);
    let mut warnings = Vec::new();
    if ordered.len() < total {
        let checked = ordered.len();
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {total} existing pods"
        ));
    }
    let mut troubles: BTreeMap<String, (Str, usize)> = BTreeMap::new();
    for pod in ordered {
        let value = api::json::to_value_bare(&*pod.body);
        let Some(parts) = parts(&value) else { continue };
        let verdict = policy.judge(&parts);
        if verdict.0.is_empty() {
            continue;
        }
        let name = &pod.metadata.name;
        let trouble = troubles.entry(verdict.reasons()).or_insert_with(|| (name.clone(), 0));
        if *name < trouble.0 {
            trouble.0 = name.clone();
        }
        trouble.1 += 1;
    }
    if !troubles.is_empty() {
        let namespace = api::go::quote(namespace);
        warnings.push(format!(
            "existing pods in namespace {namespace} violate the new PodSecurity enforce level \"{policy}\""
        ));
    }
    let mut lines: Vec<String> = troubles
        .into_iter()
        .map(|(trouble, (name, count))| match count {
            1 => format!("{name}: {trouble}"),
            2 => format!("{name} (and 1 other pod): {trouble}"),
            _ => format!("{name} (and {} other pods): {trouble}", count - 1),
        })
        .collect();
    lines.sort_unstable();
    warnings.append(&mut lines);
    warnings
}
