//! What a client is warned of when an object is written though it is valid (the strategies' `WarningsOnCreate` and
//! `WarningsOnUpdate`; pkg/api/pod, job, service, persistentvolume, persistentvolumeclaim and storage have the rules).

use api::apps_v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use api::batch_v1::{CronJob, Job, JobSpec};
use api::core_v1::{
    Container, ContainerPort, KeyToPath, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod,
    PodAffinityTerm, PodSpec, PodTemplate, PodTemplateSpec, ReplicationController, Service, ServiceAccount,
    WeightedPodAffinityTerm,
};
use api::networking_v1::Ingress;
use api::storage_v1::StorageClass;
use api::{Map, Object, Quantity, Str};

const OLD_LABELS: [(&str, &str); 7] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"),
];
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];
const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const COMPLETIONS_MAX: i32 = 100_000;
const PARALLELISM_MAX: i32 = 10_000;

/// The warnings of a creation or, with what was there before, of an update.
pub fn of(new: &dyn Object, old: Option<&dyn Object>) -> Vec<String> {
    let mut out = Warnings(Vec::new());
    // A changed template is looked at; where nothing changed, nobody is told again.
    let changed = || {
        let generation = |object: &dyn Object| object.metadata().map(|metadata| metadata.generation);
        old.is_none_or(|old| generation(old) != generation(new))
    };
    if let Some(pod) = new.downcast_ref::<Pod>() {
        if old.is_none() {
            out.name(&pod.metadata.name, "the Pod's hostname");
            out.pod("", &pod.metadata.annotations, &pod.spec);
        }
    } else if let Some(service) = new.downcast_ref::<Service>() {
        out.service(service);
    } else if let Some(set) = new.downcast_ref::<ReplicaSet>() {
        out.workload(&set.metadata.name, old.is_none(), changed(), "spec.template", &set.spec.template);
    } else if let Some(deployment) = new.downcast_ref::<Deployment>() {
        let template = &deployment.spec.template;
        out.workload(&deployment.metadata.name, old.is_none(), changed(), "spec.template", template);
    } else if let Some(job) = new.downcast_ref::<Job>() {
        out.workload(&job.metadata.name, old.is_none(), false, "", &job.spec.template);
        if changed() {
            out.job("spec", &job.spec);
        }
    } else if let Some(cron) = new.downcast_ref::<CronJob>() {
        out.workload(&cron.metadata.name, old.is_none(), false, "", &cron.spec.job_template.spec.template);
        if changed() {
            out.job("spec.jobTemplate.spec", &cron.spec.job_template.spec);
        }
        if old.is_some() && cron.spec.schedule.contains("TZ") {
            out.say("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
        }
    } else if let Some(set) = new.downcast_ref::<DaemonSet>() {
        out.workload("", false, changed(), "spec.template", &set.spec.template);
    } else if let Some(controller) = new.downcast_ref::<ReplicationController>() {
        if let Some(template) = controller.spec.template.get() {
            out.workload("", false, changed(), "spec.template", template);
        }
    } else if let Some(template) = new.downcast_ref::<PodTemplate>() {
        out.workload("", false, changed(), "template", &template.template);
    } else if let Some(set) = new.downcast_ref::<StatefulSet>() {
        out.workload("", false, changed(), "spec.template", &set.spec.template);
        // On an update the path has the Go field's name at its end.
        let end = if old.is_some() { ".Spec" } else { "" };
        for (i, claim) in set.spec.volume_claim_templates.iter().enumerate() {
            out.claim(&|| format!("spec.volumeClaimTemplates[{i}]{end}"), &claim.spec);
        }
        if set.spec.revision_history_limit.is_some_and(|limit| limit < 0) {
            out.say("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended");
        }
    } else if let Some(claim) = new.downcast_ref::<PersistentVolumeClaim>() {
        if claim.metadata.annotations.contains_key(BETA_CLASS) {
            out.say(format!(
                "metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
            ));
        }
        out.claim(&|| "spec".into(), &claim.spec);
    } else if let Some(volume) = new.downcast_ref::<PersistentVolume>() {
        out.volume(volume);
    } else if let Some(account) = new.downcast_ref::<ServiceAccount>() {
        let had = old.and_then(|old| old.metadata()).is_some_and(|old| old.annotations.contains_key(MOUNTABLE));
        if !had && account.metadata.annotations.contains_key(MOUNTABLE) {
            out.say(format!("metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"));
        }
    } else if let Some(class) = new.downcast_ref::<StorageClass>() {
        for (i, term) in class.allowed_topologies.iter().enumerate() {
            for (j, requirement) in term.match_label_expressions.iter().enumerate() {
                if let Some(why) = old_label(&requirement.key) {
                    out.say(format!("allowedTopologies[{i}].matchLabelExpressions[{j}].key: {why}"));
                }
            }
        }
    } else if let Some(ingress) = new.downcast_ref::<Ingress>()
        && old.is_none()
        && ingress.metadata.annotations.contains_key(INGRESS_CLASS)
    {
        out.say(format!("annotation \"{INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"));
    }
    out.0
}

fn old_label(key: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(label, _)| *label == key).map(|(_, why)| *why)
}

struct Warnings(Vec<String>);

/// Where a part of an object is; put into words only when there is something to say.
type Place<'a> = &'a dyn Fn() -> String;

impl Warnings {
    fn say(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    fn name(&mut self, name: &str, use_: &str) {
        let wrong = api::names::dns1123_label(name);
        if !wrong.is_empty() {
            self.say(format!("metadata.name: this is used in {use_}, which can result in surprising behavior; a DNS label is recommended: [{}]", wrong.join(" ")));
        }
    }

    fn workload(&mut self, name: &str, named: bool, changed: bool, at: &str, template: &PodTemplateSpec) {
        if named {
            self.name(name, "Pod names and hostnames");
        }
        if changed {
            self.pod(&format!("{at}."), &template.metadata.annotations, &template.spec);
        }
    }

    fn job(&mut self, at: &str, spec: &JobSpec) {
        let many = spec.completions.is_some_and(|n| n > COMPLETIONS_MAX)
            && spec.parallelism.is_some_and(|n| n > PARALLELISM_MAX);
        if many && spec.completion_mode.get() == Some("Indexed") {
            self.say(format!("{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"));
        }
        self.pod(&format!("{at}.template."), &spec.template.metadata.annotations, &spec.template.spec);
    }

    /// A pod's spec and annotations; `at` is empty or the way to the template with its dot.
    fn pod(&mut self, at: &str, annotations: &Map<Str>, spec: &PodSpec) {
        for key in spec.node_selector.keys() {
            if let Some(why) = old_label(key) {
                self.say(format!("{at}spec.nodeSelector[{key}]: {why}"));
            }
        }
        for (i, spread) in spec.topology_spread_constraints.iter().enumerate() {
            let key = &spread.topology_key;
            if let Some(why) = old_label(key) {
                self.say(format!("{at}spec.topologySpreadConstraints[{i}].topologyKey: {key} is {why}"));
            }
            if spread.label_selector.get().is_none() {
                self.no_selector(&format!("{at}spec.topologySpreadConstraints[{i}]"));
            }
        }
        for (key, why) in OLD_ANNOTATIONS {
            if annotations.contains_key(key) {
                self.say(format!("{at}metadata.annotations[{key}]: {why}"));
            }
        }
        for (i, volume) in spec.volumes.iter().enumerate() {
            for (field, since) in [
                ("photonPersistentDisk", "v1.11, non-functional in v1.16+"),
                ("gitRepo", "v1.11, and disabled by default in v1.33+"),
                ("scaleIO", "v1.16, non-functional in v1.22+"),
                ("flocker", "v1.22, non-functional in v1.25+"),
                ("storageos", "v1.22, non-functional in v1.25+"),
                ("quobyte", "v1.22, non-functional in v1.25+"),
                ("glusterfs", "v1.25, non-functional in v1.26+"),
                ("cephfs", "v1.28, non-functional in v1.31+"),
                ("rbd", "v1.28, non-functional in v1.31+"),
            ] {
                let slot = match field {
                    "photonPersistentDisk" => &volume.photon_persistent_disk,
                    "gitRepo" => &volume.git_repo,
                    "scaleIO" => &volume.scale_io,
                    "flocker" => &volume.flocker,
                    "storageos" => &volume.storageos,
                    "quobyte" => &volume.quobyte,
                    "glusterfs" => &volume.glusterfs,
                    "cephfs" => &volume.cephfs,
                    _ => &volume.rbd,
                };
                if !slot.is_none() {
                    let field = if field == "storageos" { "storageOS" } else { field };
                    self.say(format!("{at}spec.volumes[{i}].{field}: deprecated in {since}"));
                }
            }
            if let Some(template) = volume.ephemeral.get().and_then(|e| e.volume_claim_template.get()) {
                self.claim(&|| format!("{at}spec.volumes[{i}].ephemeral.volumeClaimTemplate.spec"), &template.spec);
            }
        }
        for volume in spec.volumes.iter() {
            let name = &volume.name;
            let mut one = |what: &dyn Fn() -> String, items: &[KeyToPath]| {
                let paths: Vec<&str> = items.iter().map(|item| item.path.trim_end_matches('/')).collect();
                for (i, path) in paths.iter().enumerate() {
                    for other in paths.iter().take(i).filter(|other| overlap(path, other)) {
                        self.say(format!("volume {name:?} ({}): overlapping paths: {path:?} with {other:?}", what()));
                    }
                }
            };
            if let Some(source) = volume.config_map.get() {
                one(&|| format!("ConfigMap {:?}", source.name), &source.items);
            }
            if let Some(source) = volume.secret.get() {
                one(&|| format!("Secret {:?}", source.secret_name), &source.items);
            }
        }
        for (i, alias) in spec.host_aliases.iter().enumerate() {
            if spec.host_aliases.iter().take(i).any(|other| other.ip == alias.ip) {
                self.say(format!("{at}spec.hostAliases[{i}].ip: duplicate ip {:?}", alias.ip));
            }
        }
        let secrets = &spec.image_pull_secrets;
        for (i, secret) in secrets.iter().enumerate() {
            if secrets.iter().take(i).any(|other| other.name == secret.name) {
                self.say(format!("{at}spec.imagePullSecrets[{i}].name: duplicate name {:?}", secret.name));
            }
        }
        for i in secrets.iter().enumerate().filter(|(_, secret)| secret.name.is_empty()).map(|(i, _)| i) {
            self.say(format!("{at}spec.imagePullSecrets[{i}].name: invalid empty name \"\""));
        }
        for resource in ["memory", "ephemeral-storage"] {
            self.fraction(&spec.overhead, resource, &|| format!("{at}spec.overhead"));
        }
        let profile = spec.security_context.get().is_some_and(|context| context.seccomp_profile.get().is_some());
        if !profile && annotations.contains_key("seccomp.security.alpha.kubernetes.io/pod") {
            self.say(format!("{at}metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the \"seccompProfile\" field instead"));
        }
        self.containers(at, spec);
        if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
            self.say(format!("{at}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"));
        }
        let Some(affinity) = spec.affinity.get() else { return };
        if let Some(pods) = affinity.pod_affinity.get() {
            self.affinity(
                &format!("{at}spec.affinity.podAffinity"),
                &pods.required_during_scheduling_ignored_during_execution,
                &pods.preferred_during_scheduling_ignored_during_execution,
            );
        }
        if let Some(pods) = affinity.pod_anti_affinity.get() {
            self.affinity(
                &format!("{at}spec.affinity.podAntiAffinity"),
                &pods.required_during_scheduling_ignored_during_execution,
                &pods.preferred_during_scheduling_ignored_during_execution,
            );
        }
    }

    fn affinity(&mut self, at: &str, required: &[PodAffinityTerm], preferred: &[WeightedPodAffinityTerm]) {
        for (i, _) in required.iter().enumerate().filter(|(_, term)| term.label_selector.get().is_none()) {
            self.no_selector(&format!("{at}.requiredDuringSchedulingIgnoredDuringExecution[{i}]"));
        }
        let bare = |term: &WeightedPodAffinityTerm| term.pod_affinity_term.label_selector.get().is_none();
        for (i, _) in preferred.iter().enumerate().filter(|(_, term)| bare(term)) {
            self.no_selector(&format!("{at}.preferredDuringSchedulingIgnoredDuringExecution[{i}].podAffinityTerm"));
        }
    }

    fn no_selector(&mut self, at: &str) {
        self.say(format!("{at}.labelSelector: a null labelSelector results in matching no pod"));
    }

    fn containers(&mut self, at: &str, spec: &PodSpec) {
        let all = || {
            let inits = spec.init_containers.iter().enumerate().map(|(i, c)| ("initContainers", i, c));
            inits.chain(spec.containers.iter().enumerate().map(|(i, c)| ("containers", i, c)))
        };
        for (list, i, container) in all() {
            self.container(&|| format!("{at}spec.{list}[{i}]"), container);
        }
        let ports: Vec<(&str, usize, usize, &ContainerPort)> = all()
            .flat_map(|(list, i, c)| c.ports.iter().enumerate().map(move |(j, port)| (list, i, j, port)))
            .collect();
        let place = |(list, i, j, _): &(&str, usize, usize, &ContainerPort)| format!("{at}spec.{list}[{i}].ports[{j}]");
        for (n, one) in ports.iter().enumerate() {
            let port = one.3;
            if !port.host_ip.is_empty() && port.host_port == 0 {
                self.say(format!(
                    "{}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{}}}",
                    place(one),
                    port.name,
                    port.container_port,
                    port.protocol,
                    port.host_ip
                ));
            }
            for other in ports.iter().take(n) {
                let o = other.3;
                if (o.container_port, &o.protocol) != (port.container_port, &port.protocol) {
                    continue;
                }
                let how = if (&o.host_ip, o.host_port) == (&port.host_ip, port.host_port) {
                    "duplicate"
                } else if port.host_port == 0 || o.host_port == 0 {
                    "overlapping"
                } else if port.host_port == o.host_port && port.host_ip.is_empty() != o.host_ip.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                self.say(format!("{}: {how} port definition with {}", place(one), place(other)));
            }
        }
        for (n, one) in ports.iter().enumerate().filter(|(_, one)| !one.3.name.is_empty()) {
            if let Some(first) = ports.iter().take(n).find(|other| other.3.name == one.3.name) {
                let first = place(first);
                self.say(format!(
                    "{}: duplicate port name {:?} with {first}, services and probes that select ports by name will use {first}",
                    place(one),
                    one.3.name
                ));
            }
        }
    }

    fn container(&mut self, at: Place, container: &Container) {
        let resources = &container.resources;
        self.fraction(&resources.limits, "memory", &|| format!("{}.resources.limits", at()));
        self.fraction(&resources.requests, "memory", &|| format!("{}.resources.requests", at()));
        self.fraction(&resources.limits, "ephemeral-storage", &|| format!("{}.resources.limits", at()));
        self.fraction(&resources.requests, "ephemeral-storage", &|| format!("{}.resources.requests", at()));
        for (i, variable) in container.env.iter().enumerate() {
            let name = &variable.name;
            if container.env.iter().take(i).any(|other| other.name == *name) {
                let itself = format!("$({name})");
                let extends = variable.value.contains(&itself) && *variable.value != *itself;
                if variable.value_from.get().is_some() || !extends {
                    self.say(format!(
                        "{}.env[{i}]: hides previous definition of {name:?}, which may be dropped when using apply",
                        at()
                    ));
                }
            }
        }
    }

    /// Bytes are whole.
    fn fraction(&mut self, amounts: &Map<Quantity>, resource: &str, at: Place) {
        if let Some(amount) = amounts.get(resource)
            && amount.milli_value() % 1000 != 0
        {
            let amount = amount.to_string();
            self.say(format!("{}[{resource}]: fractional byte value {amount:?} is invalid, must be an integer", at()));
        }
    }

    fn claim(&mut self, at: Place, spec: &PersistentVolumeClaimSpec) {
        self.fraction(&spec.resources.requests, "storage", &|| format!("{}.resources.requests", at()));
        self.fraction(&spec.resources.limits, "storage", &|| format!("{}.resources.limits", at()));
    }

    fn volume(&mut self, volume: &PersistentVolume) {
        for (key, why) in [
            (BETA_CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead"),
            (MOUNT_OPTIONS, "deprecated since v1.31; use \"mountOptions\" attribute instead"),
        ] {
            if volume.metadata.annotations.contains_key(key) {
                self.say(format!("metadata.annotations[{key}]: {why}"));
            }
        }
        if volume.spec.persistent_volume_reclaim_policy == "Recycle" {
            self.say("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.");
        }
    }

    fn service(&mut self, service: &Service) {
        let spec = &service.spec;
        if service.metadata.annotations.contains_key("service.kubernetes.io/topology-aware-hints") {
            self.say("annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead");
        }
        let outside = !spec.external_ips.is_empty();
        if spec.type_ == "ClusterIP" && spec.cluster_ip == "None" {
            if !spec.load_balancer_ip.is_empty() {
                self.say("spec.loadBalancerIP is ignored for headless services");
            }
            if outside {
                self.say("spec.externalIPs is ignored for headless services");
            }
            if spec.session_affinity != "None" {
                self.say("spec.SessionAffinity is ignored for headless services");
            }
        } else if outside && spec.type_ != "ExternalName" {
            self.say("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
        }
        if spec.type_ == "ExternalName" {
            if outside {
                self.say("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
            }
        } else if !spec.external_name.is_empty() {
            self.say("spec.externalName is ignored when spec.type is not \"ExternalName\"");
        }
        if spec.traffic_distribution.get() == Some("PreferClose") {
            self.say("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
        }
    }
}

/// Whether one path is the other or lies within it.
fn overlap(a: &str, b: &str) -> bool {
    let within = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    within(a, b) || within(b, a)
}
