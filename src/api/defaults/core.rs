//! The core group but for Services (`pkg/apis/core/v1/defaults.go`).

use super::text;
use crate::core_v1::*;
use crate::value::List;
use crate::{Bytes, IntOrString, Map, Object, Ptr, Quantity};

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(pod) = object.downcast_mut::<Pod>() {
        pod_spec(&mut pod.spec);
        pod_only(pod);
    } else if let Some(template) = object.downcast_mut::<PodTemplate>() {
        pod_template(template.template.make());
    } else if let Some(controller) = object.downcast_mut::<ReplicationController>() {
        replication_controller(controller);
    } else if let Some(namespace) = object.downcast_mut::<Namespace>() {
        self::namespace(namespace);
    } else if let Some(node) = object.downcast_mut::<Node>() {
        self::node(node);
    } else if let Some(secret) = object.downcast_mut::<Secret>() {
        text(&mut secret.type_, "Opaque");
        // `stringData` is another way to write `data`; conversion leaves none of it.
        for (key, value) in &std::mem::take(&mut secret.string_data) {
            secret.data.insert(key.clone(), Bytes::from(&**value));
        }
    } else if let Some(volume) = object.downcast_mut::<PersistentVolume>() {
        persistent_volume(volume);
    } else if let Some(claim) = object.downcast_mut::<PersistentVolumeClaim>() {
        let status = claim.status.phase.is_empty();
        if status {
            claim.status.make().phase = "Pending".into();
        }
        claim_spec(claim.spec.make());
    } else if let Some(quota) = object.downcast_mut::<ResourceQuota>() {
        if quota.spec.hard.values().any(is_odd) {
            round(&mut quota.spec.make().hard);
        }
    } else if let Some(range) = object.downcast_mut::<LimitRange>() {
        range.spec.make().limits.make().iter_mut().for_each(limit_range_item);
    } else {
        return object.downcast_ref::<ConfigMap>().is_some();
    }
    true
}

fn namespace(namespace: &mut Namespace) {
    if namespace.status.phase.is_empty() {
        namespace.status.make().phase = "Active".into();
    }
    // `SetDefaults_Namespace`: every namespace can be selected by its name.
    let name = namespace.metadata.name.clone();
    if !name.is_empty() && namespace.metadata.labels.get("kubernetes.io/metadata.name") != Some(&name) {
        namespace.metadata.labels.insert("kubernetes.io/metadata.name", name);
    }
}

fn node(node: &mut Node) {
    // `podCIDR` is the old name of the first of `podCIDRs`; conversion keeps both.
    if let Some(first) = node.spec.pod_cidrs.first().filter(|first| **first != node.spec.pod_cidr).cloned() {
        if node.spec.pod_cidr.is_empty() {
            node.spec.make().pod_cidr = first;
        }
    } else if node.spec.pod_cidrs.is_empty() && !node.spec.pod_cidr.is_empty() {
        let only = node.spec.pod_cidr.clone();
        node.spec.make().pod_cidrs = List::from([only]);
    }
    if node.status.allocatable.is_empty() && !node.status.capacity.is_empty() {
        let capacity = node.status.capacity.clone();
        node.status.make().allocatable = capacity;
    }
}

fn replication_controller(controller: &mut ReplicationController) {
    let spec = controller.spec.make();
    if spec.replicas.is_none() {
        spec.replicas = Some(1);
    }
    let Some(template) = spec.template.get_mut() else { return };
    pod_template(template);
    let labels = template.metadata.labels.clone();
    if spec.selector.is_empty() {
        spec.selector = labels.clone();
    }
    if controller.metadata.labels.is_empty() {
        controller.metadata.labels = labels;
    }
}

fn persistent_volume(volume: &mut PersistentVolume) {
    if volume.status.phase.is_empty() {
        volume.status.make().phase = "Pending".into();
    }
    let spec = volume.spec.make();
    text(&mut spec.persistent_volume_reclaim_policy, "Retain");
    super::optional_text(&mut spec.volume_mode, "Filesystem");
    if let Some(path) = spec.host_path.get_mut() {
        super::optional_text(&mut path.type_, "");
    }
}

/// What containers get where they ask for nothing follows from what they may have (`SetDefaults_LimitRangeItem`).
fn limit_range_item(item: &mut LimitRangeItem) {
    if item.type_ != "Container" {
        return;
    }
    let fill = |to: &mut Map<Quantity>, from: &Map<Quantity>| {
        for (name, amount) in from {
            if !to.contains_key(name) {
                to.insert(name.clone(), amount.clone());
            }
        }
    };
    fill(&mut item.default, &item.max);
    fill(&mut item.default_request, &item.default);
    fill(&mut item.default_request, &item.min);
}

pub(super) fn claim_spec(spec: &mut PersistentVolumeClaimSpec) {
    super::optional_text(&mut spec.volume_mode, "Filesystem");
}

/// A template's pods.
pub(super) fn pod_template(template: &mut PodTemplateSpec) {
    pod_spec(&mut template.spec);
}

/// Whether nothing is left to fill in, so that the spec may stay shared.
pub(super) fn is_complete(spec: &PodSpec) -> bool {
    let container = |c: &Container| {
        !c.termination_message_path.is_empty()
            && !c.termination_message_policy.is_empty()
            && !c.image_pull_policy.is_empty()
            && c.ports.iter().all(|p| !p.protocol.is_empty())
            && [&c.liveness_probe, &c.readiness_probe, &c.startup_probe].into_iter().all(probe_is_complete)
            && c.lifecycle.get().is_none_or(|l| {
                [&l.post_start, &l.pre_stop].into_iter().all(|h| http_is_complete(h.get().map(|h| &h.http_get)))
            })
            && c.env.iter().all(env_is_complete)
            && c.resources.limits.iter().all(|(name, _)| c.resources.requests.contains_key(name))
    };
    !spec.dns_policy.is_empty()
        && !spec.restart_policy.is_empty()
        && !spec.scheduler_name.is_empty()
        && spec.termination_grace_period_seconds.is_some()
        && spec.security_context.is_some()
        && spec.service_account == spec.service_account_name
        && spec.resources.is_none()
        && spec.overhead.is_empty()
        && spec.containers.iter().all(container)
        && spec.init_containers.iter().all(container)
        && spec.ephemeral_containers.is_empty()
        && spec.volumes.iter().all(volume_is_complete)
}

fn http_is_complete(action: Option<&Ptr<HTTPGetAction>>) -> bool {
    action.and_then(Ptr::get).is_none_or(|a| !a.path.is_empty() && !a.scheme.is_empty())
}

fn probe_is_complete(probe: &Ptr<Probe>) -> bool {
    probe.get().is_none_or(|p| {
        p.timeout_seconds != 0
            && p.period_seconds != 0
            && p.success_threshold != 0
            && p.failure_threshold != 0
            && http_is_complete(Some(&p.http_get))
            && p.grpc.get().is_none_or(|g| g.service.is_some())
    })
}

fn env_is_complete(variable: &EnvVar) -> bool {
    variable.value_from.get().and_then(|f| f.field_ref.get()).is_none_or(|f| !f.api_version.is_empty())
}

fn volume_is_complete(volume: &Volume) -> bool {
    let field = |i: &DownwardAPIVolumeFile| i.field_ref.get().is_none_or(|f| !f.api_version.is_empty());
    if let Some(source) = volume.projected.get() {
        source.default_mode.is_some()
            && source.sources.iter().all(|s| {
                s.service_account_token.get().is_none_or(|t| t.expiration_seconds.is_some())
                    && s.downward_api.get().is_none_or(|d| d.items.iter().all(field))
            })
    } else if let Some(source) = volume.config_map.get() {
        source.default_mode.is_some()
    } else if let Some(source) = volume.secret.get() {
        source.default_mode.is_some()
    } else if let Some(source) = volume.downward_api.get() {
        source.default_mode.is_some() && source.items.iter().all(field)
    } else {
        volume.empty_dir.is_some()
            || volume.persistent_volume_claim.is_some()
            || volume.host_path.get().is_some_and(|h| h.type_.is_some())
    }
}

fn pod_spec(spec: &mut crate::Shared<PodSpec>) {
    if is_complete(spec) {
        return;
    }
    let spec = spec.make();
    text(&mut spec.dns_policy, "ClusterFirst");
    text(&mut spec.restart_policy, "Always");
    text(&mut spec.scheduler_name, "default-scheduler");
    if spec.termination_grace_period_seconds.is_none() {
        spec.termination_grace_period_seconds = Some(30);
    }
    if spec.security_context.is_none() {
        spec.security_context = Ptr::some(PodSecurityContext::default());
    }
    // `serviceAccount` is the old name of the field; conversion keeps both equal.
    if spec.service_account_name.is_empty() {
        spec.service_account_name = spec.service_account.clone();
    }
    spec.service_account = spec.service_account_name.clone();
    if let Some(limits) = spec.resources.get().map(|r| r.limits.clone())
        && let Some(resources) = spec.resources.get_mut()
    {
        requests_from_limits(&mut resources.requests, &limits);
        round(&mut resources.requests);
        round(&mut resources.limits);
    }
    round(&mut spec.overhead);
    for list in [&mut spec.init_containers, &mut spec.containers] {
        if !list.is_empty() {
            list.make().iter_mut().for_each(container);
        }
    }
    if !spec.ephemeral_containers.is_empty() {
        spec.ephemeral_containers.make().iter_mut().for_each(ephemeral_container);
    }
    if !spec.volumes.is_empty() {
        spec.volumes.make().iter_mut().for_each(volume);
    }
}

/// What holds for a pod but not for a template (`SetDefaults_Pod`, `SetDefaults_PodStatus`).
fn pod_only(pod: &mut Pod) {
    let missing = |c: &Container| c.resources.limits.iter().any(|(k, _)| !c.resources.requests.contains_key(k));
    if pod.spec.host_network {
        let spec = pod.spec.make();
        host_ports(&mut spec.containers);
        host_ports(&mut spec.init_containers);
    }
    let spec = &pod.spec;
    if spec.enable_service_links.is_none()
        || spec.termination_grace_period_seconds.is_some_and(|s| s < 0)
        || spec.containers.iter().any(missing)
        || spec.init_containers.iter().any(missing)
    {
        let spec = pod.spec.make();
        if spec.termination_grace_period_seconds.is_some_and(|s| s < 0) {
            spec.termination_grace_period_seconds = Some(1);
        }
        if spec.enable_service_links.is_none() {
            spec.enable_service_links = Some(true);
        }
        for list in [&mut spec.containers, &mut spec.init_containers] {
            if list.iter().any(missing) {
                for container in list.make() {
                    let limits = container.resources.limits.clone();
                    requests_from_limits(&mut container.resources.requests, &limits);
                }
            }
        }
    }
    let (ip, first) = (&pod.status.pod_ip, pod.status.pod_ips.first().map(|ip| &ip.ip));
    if let Some(first) = first.filter(|_| ip.is_empty()).cloned() {
        pod.status.make().pod_ip = first;
    } else if !ip.is_empty() && first != Some(ip) {
        let ip = ip.clone();
        pod.status.make().pod_ips = List::from([PodIP { ip }]);
    }
}

fn requests_from_limits(requests: &mut Map<Quantity>, limits: &Map<Quantity>) {
    for (name, limit) in limits.iter() {
        if !requests.contains_key(name) {
            requests.insert(name.clone(), limit.clone());
        }
    }
}

fn is_odd(quantity: &Quantity) -> bool {
    let mut rounded = quantity.clone();
    rounded.round_up(-3);
    rounded != *quantity
}

/// Quantities of resources have no more than three decimals (`SetDefaults_ResourceList`).
pub(super) fn round(list: &mut Map<Quantity>) {
    if list.values().any(is_odd) {
        list.iter_mut().for_each(|(_, quantity)| {
            quantity.round_up(-3);
        });
    }
}

fn pull_policy(image: &str) -> &'static str {
    // What is no reference has no tag.
    let repository = image.split('@').next().unwrap_or(image).rsplit_once(':').map_or(image, |(name, _)| name);
    let wrong = |c: char| c.is_ascii_uppercase() || c.is_whitespace();
    if image.is_empty() || image.contains(char::is_whitespace) || repository.contains(wrong) {
        return "IfNotPresent";
    }
    // A reference with a digest or a tag other than latest never changes.
    let name = image.rsplit('/').next().unwrap_or(image);
    if image.contains('@') {
        return "IfNotPresent";
    }
    match name.split_once(':') {
        None | Some((_, "latest")) => "Always",
        Some(_) => "IfNotPresent",
    }
}

fn ports(list: &mut List<ContainerPort>) {
    if list.iter().any(|p| p.protocol.is_empty()) {
        list.make().iter_mut().for_each(|port| text(&mut port.protocol, "TCP"));
    }
}

/// In the host's network a pod's ports are the host's (`defaultHostNetworkPorts`).
fn host_ports(list: &mut List<Container>) {
    if list.iter().any(|c| c.ports.iter().any(|p| p.host_port == 0)) {
        for port in list.make().iter_mut().flat_map(|c| c.ports.make()).filter(|p| p.host_port == 0) {
            port.host_port = port.container_port;
        }
    }
}

fn env(list: &mut List<EnvVar>) {
    let open =
        |e: &EnvVar| e.value_from.get().and_then(|f| f.field_ref.get()).is_some_and(|f| f.api_version.is_empty());
    if list.iter().any(open) {
        for variable in list.make().iter_mut().filter(|e| open(e)) {
            if let Some(field) = variable.value_from.get_mut().and_then(|f| f.field_ref.get_mut()) {
                field.api_version = "v1".into();
            }
        }
    }
}

fn http_get(action: &mut HTTPGetAction) {
    text(&mut action.path, "/");
    text(&mut action.scheme, "HTTP");
}

fn probe(probe: &mut Ptr<Probe>) {
    let Some(probe) = probe.get_mut() else { return };
    for (field, value) in [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ] {
        if *field == 0 {
            *field = value;
        }
    }
    if let Some(action) = probe.http_get.get_mut() {
        http_get(action);
    }
    if let Some(action) = probe.grpc.get_mut() {
        super::optional_text(&mut action.service, "");
    }
}

fn lifecycle(lifecycle: &mut Ptr<Lifecycle>) {
    let Some(lifecycle) = lifecycle.get_mut() else { return };
    for handler in [&mut lifecycle.post_start, &mut lifecycle.pre_stop] {
        if let Some(action) = handler.get_mut().and_then(|h| h.http_get.get_mut()) {
            http_get(action);
        }
    }
}

fn container(container: &mut Container) {
    if container.image_pull_policy.is_empty() {
        container.image_pull_policy = pull_policy(&container.image).into();
    }
    text(&mut container.termination_message_path, "/dev/termination-log");
    text(&mut container.termination_message_policy, "File");
    ports(&mut container.ports);
    env(&mut container.env);
    round(&mut container.resources.limits);
    round(&mut container.resources.requests);
    probe(&mut container.liveness_probe);
    probe(&mut container.readiness_probe);
    probe(&mut container.startup_probe);
    lifecycle(&mut container.lifecycle);
}

fn ephemeral_container(container: &mut EphemeralContainer) {
    if container.image_pull_policy.is_empty() {
        container.image_pull_policy = pull_policy(&container.image).into();
    }
    text(&mut container.termination_message_path, "/dev/termination-log");
    text(&mut container.termination_message_policy, "File");
    ports(&mut container.ports);
    env(&mut container.env);
}

/// The mode of files that volumes make (0644).
const FILE_MODE: i32 = 0o644;

fn volume(volume: &mut Volume) {
    let mode = |field: &mut Option<i32>| {
        if field.is_none() {
            *field = Some(FILE_MODE);
        }
    };
    if let Some(source) = volume.secret.get_mut() {
        mode(&mut source.default_mode);
    }
    if let Some(source) = volume.config_map.get_mut() {
        mode(&mut source.default_mode);
    }
    if let Some(source) = volume.downward_api.get_mut() {
        mode(&mut source.default_mode);
        downward_items(&mut source.items);
    }
    if let Some(source) = volume.projected.get_mut() {
        mode(&mut source.default_mode);
        if !source.sources.is_empty() {
            for projection in source.sources.make() {
                if let Some(token) = projection.service_account_token.get_mut()
                    && token.expiration_seconds.is_none()
                {
                    token.expiration_seconds = Some(3600);
                }
                if let Some(downward) = projection.downward_api.get_mut() {
                    downward_items(&mut downward.items);
                }
            }
        }
    }
    if let Some(path) = volume.host_path.get_mut() {
        super::optional_text(&mut path.type_, "");
    }
    if let Some(image) = volume.image.get_mut()
        && image.pull_policy.is_empty()
    {
        image.pull_policy = pull_policy(&image.reference).into();
    }
    if let Some(template) = volume.ephemeral.get_mut().and_then(|e| e.volume_claim_template.get_mut()) {
        claim_spec(template.spec.make());
    }
    if has_no_source(volume) {
        volume.empty_dir = Ptr::some(EmptyDirVolumeSource::default());
    }
}

fn downward_items(items: &mut List<DownwardAPIVolumeFile>) {
    let open = |i: &DownwardAPIVolumeFile| i.field_ref.get().is_some_and(|f| f.api_version.is_empty());
    if items.iter().any(open) {
        for item in items.make() {
            if let Some(field) = item.field_ref.get_mut() {
                text(&mut field.api_version, "v1");
            }
        }
    }
}

/// Whether the volume names nothing but itself.
fn has_no_source(volume: &Volume) -> bool {
    let (volume, bare): (&dyn Object, &dyn Object) =
        (volume, &Volume { name: volume.name.clone(), ..Volume::default() });
    volume.equal(bare)
}

/// `25%`, as a value of the API.
pub(super) fn percent(n: u32) -> IntOrString {
    IntOrString::from(format!("{n}%").as_str())
}
