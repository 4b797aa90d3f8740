//! The Node object and its heartbeat (pkg/kubelet/kubelet_node_status.go, component-helpers/apimachinery/lease).

use super::eviction::Signal;
use super::kubelet::Kubelet;
use super::ticks;
use crate::runtime::cri::{Call, Reply};
use api::SortSmall;
use api::coordination_v1::Lease;
use api::core_v1::{
    ContainerImage, Node, NodeAddress, NodeCondition, NodeFeatures, NodeRuntimeHandler, NodeRuntimeHandlerFeatures,
    NodeStatus,
};
use api::meta_v1::OwnerReference;
use api::storage_v1::CSINode;
use api::{List, Map, MicroTime, Ptr, Quantity, Rev, Str, Time};
use client::{Client, klog};
use sim::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often the status is worked out.
const UPDATE_PERIOD: Duration = Duration::from_secs(10);
/// How often it is written although nothing changed.
const REPORT_PERIOD: Duration = Duration::from_secs(300);
/// How often it is worked out until the node is ready for the first time.
const FAST_PERIOD: Duration = Duration::from_millis(100);
/// How long the runtime may be silent before the node is not ready.
const RUNTIME_PATIENCE: Duration = Duration::from_secs(30);
/// Images that the status names at most.
const MAX_IMAGES: usize = 50;
/// Features that the node says it has (NodeDeclaredFeatures).
const DECLARED_FEATURES: &[&str] = &[
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
];
/// Seconds that the heartbeat's lease lasts.
const LEASE_SECONDS: i32 = 40;
/// How often it is renewed.
const LEASE_PERIOD: Duration = Duration::from_secs(10);

/// What the status loop remembers.
pub struct NodeState {
    reported: Cell<Instant>,
    runtime_seen: Cell<Instant>,
    /// Images may have come or gone since the status named them.
    pub images_changed: Cell<bool>,
    images: RefCell<List<ContainerImage>>,
    /// The last reason of each condition that an event told of.
    told: RefCell<BTreeMap<Str, Str>>,
}

impl Default for NodeState {
    fn default() -> Self {
        Self {
            reported: Cell::new(Instant::ZERO),
            runtime_seen: Cell::new(Instant::ZERO),
            images_changed: Cell::new(true),
            images: RefCell::default(),
            told: RefCell::default(),
        }
    }
}

/// Registers the node and keeps its status, for as long as the process lives.
pub async fn run(kubelet: Rc<Kubelet>) {
    let ctx = kubelet.ctx.clone();
    let mut pause = FAST_PERIOD;
    klog::info("Attempting to register node")
        .str("node", &kubelet.config.node_name)
        .log(&ctx, "kubelet_node_status.go:78");
    while !register(&kubelet).await {
        ctx.sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(7));
    }
    klog::info("Successfully registered node")
        .str("node", &kubelet.config.node_name)
        .log(&ctx, "kubelet_node_status.go:81");
    kubelet.node_event("Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods");
    kubelet.node.synced().await;
    ctx.spawn("csinode", create_csi_node(kubelet.clone()));
    let mut ready = false;
    let deadline = ctx.now() + Duration::from_secs(60);
    while !ready && ctx.now() < deadline {
        ready = update(&kubelet).await;
        if !ready {
            ctx.sleep(FAST_PERIOD).await;
        }
    }
    let first = ctx.now();
    loop {
        ctx.sleep_until(ticks::next(first, UPDATE_PERIOD, ctx.now())).await;
        update(&kubelet).await;
    }
}

async fn register(kubelet: &Rc<Kubelet>) -> bool {
    let config = &kubelet.config;
    let mut node = Node::default();
    node.metadata.name = config.node_name.clone();
    let mut labels: Map<Str> = Map::default();
    for (key, value) in [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", config.node_name.as_str()),
        ("kubernetes.io/os", "linux"),
    ] {
        labels.insert(key, Str::from(value));
    }
    for (key, value) in &config.labels {
        labels.insert(key.clone(), value.clone());
    }
    node.metadata.labels = labels;
    node.metadata.annotations.insert("volumes.kubernetes.io/controller-managed-attach-detach", Str::from("true"));
    if !config.pod_cidr.is_empty() {
        let spec = node.spec.make();
        spec.pod_cidr = config.pod_cidr.clone();
        spec.pod_cidrs = [config.pod_cidr.clone()].into();
    }
    fill(kubelet, node.status.make()).await;
    tell(kubelet, &node.status);
    match kubelet.client.create("", node.clone()).await {
        Ok(_) => return true,
        Err(why) if why.is_already_exists() => {}
        Err(why) => {
            klog::error("Unable to register node with API server")
                .err(&why)
                .str("node", &config.node_name)
                .log(&kubelet.ctx, "kubelet_node_status.go:110");
            return false;
        }
    }
    let existing = match kubelet.client.get::<Node>("", &config.node_name).await {
        Ok(existing) => existing,
        Err(why) => {
            klog::error("Unable to register node with API server, error getting existing node")
                .err(&why)
                .str("node", &config.node_name)
                .log(&kubelet.ctx, "kubelet_node_status.go:116");
            return false;
        }
    };
    klog::info("Node was previously registered")
        .str("node", &config.node_name)
        .log(&kubelet.ctx, "kubelet_node_status.go:127");
    if existing.status.node_info.boot_id != config.boot_id && !existing.status.node_info.boot_id.is_empty() {
        kubelet.node_event(
            "Warning",
            "Rebooted",
            &format!("Node {} has been rebooted, boot id: {}", config.node_name, config.boot_id),
        );
    }
    let stale = node.metadata.labels.iter().any(|(key, value)| existing.metadata.labels.get(key) != Some(value));
    if stale {
        let mut changed = (*existing.body).clone();
        for (key, value) in &node.metadata.labels {
            changed.metadata.labels.insert(key.clone(), value.clone());
        }
        if let Err(why) = kubelet.client.update(changed, existing.revision).await {
            klog::error("Unable to reconcile node with API server,error updating node")
                .err(&why)
                .str("node", &config.node_name)
                .log(&kubelet.ctx, "kubelet_node_status.go:136");
            return false;
        }
    }
    true
}

/// Works the status out and writes it if it changed or is due; whether the node is ready.
async fn update(kubelet: &Rc<Kubelet>) -> bool {
    let name = &kubelet.config.node_name;
    let cached = kubelet.node.lister().get("", name);
    let Some(mut existing) = cached else {
        klog::error("Error updating node status, will retry")
            .err(format!("error getting node \"{name}\": node \"{name}\" not found"))
            .log(&kubelet.ctx, "kubelet_node_status.go:542");
        return false;
    };
    let state = &kubelet.node_state;
    for attempt in 0..5 {
        let mut status = (*existing.status).clone();
        fill(kubelet, &mut status).await;
        let ready = status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
        let due =
            kubelet.ctx.now().since(state.reported.get()) >= REPORT_PERIOD || state.reported.get() == Instant::ZERO;
        if !due && same(&existing.status, &status) {
            return ready;
        }
        let mut changed = (*existing.body).clone();
        *changed.status.make() = status;
        match kubelet.client.update_status(changed, existing.revision).await {
            Ok(written) => {
                state.reported.set(kubelet.ctx.now());
                tell(kubelet, &written.status);
                return ready;
            }
            Err(why) => {
                if attempt > 0 || !why.is_conflict() {
                    klog::error("Error updating node status, will retry")
                        .err(&why)
                        .log(&kubelet.ctx, "kubelet_node_status.go:542");
                }
                match kubelet.client.get::<Node>("", name).await {
                    Ok(newer) => existing = newer,
                    Err(_) => return false,
                }
            }
        }
    }
    klog::error("Unable to update node status")
        .err("update node status exceeds retry count")
        .log(&kubelet.ctx, "kubelet_node_status.go:527");
    false
}

/// Whether two statuses say the same but for the time.
fn same(a: &NodeStatus, b: &NodeStatus) -> bool {
    let timeless = |status: &NodeStatus| {
        let mut status = status.clone();
        for condition in status.conditions.make() {
            condition.last_heartbeat_time = Time::default();
        }
        status
    };
    timeless(a) == timeless(b)
}

async fn fill(kubelet: &Rc<Kubelet>, status: &mut NodeStatus) {
    let config = &kubelet.config;
    let state = &kubelet.node_state;
    if state.images_changed.get()
        && kubelet.runtime.connected()
        && let Ok(Reply::Images(mut images)) = kubelet.runtime.call(Call::ListImages).await
    {
        state.images_changed.set(false);
        images.sort_small_by(|a, b| b.size.cmp(&a.size).then_with(|| a.image_ref.cmp(&b.image_ref)));
        *state.images.borrow_mut() = images
            .iter()
            .take(MAX_IMAGES)
            .map(|i| ContainerImage {
                names: i.names.clone().into(),
                size_bytes: i64::try_from(i.size).unwrap_or(i64::MAX),
            })
            .collect();
    }
    status.images = state.images.borrow().clone();
    status.addresses = [
        NodeAddress { type_: "InternalIP".into(), address: kubelet.host_ip.clone() },
        NodeAddress { type_: "Hostname".into(), address: config.node_name.clone() },
    ]
    .into();
    let mut capacity: Map<Quantity> = Map::default();
    for (name, amount) in [
        ("cpu", config.cpus.to_string()),
        ("ephemeral-storage", config.ephemeral_storage.to_string()),
        ("hugepages-1Gi", "0".to_string()),
        ("hugepages-2Mi", "0".to_string()),
        ("memory", config.memory.to_string()),
        ("pods", config.max_pods.to_string()),
    ] {
        if let Ok(quantity) = Quantity::parse(&amount) {
            capacity.insert(name, quantity);
        }
    }
    status.allocatable = capacity.clone();
    status.capacity = capacity;
    status.daemon_endpoints.kubelet_endpoint.port = i32::from(super::server::PORT);
    let info = &mut status.node_info;
    info.architecture = "amd64".into();
    info.operating_system = "linux".into();
    info.boot_id = config.boot_id.clone();
    info.machine_id = config.machine_id.clone();
    info.system_uuid = config.machine_id.clone();
    info.container_runtime_version = config.runtime_version.clone();
    info.kernel_version = config.kernel_version.clone();
    info.kubelet_version = config.version.clone();
    info.os_image = config.os_image.clone();
    info.running_in_user_namespace = Some(false);
    status.features = Ptr::some(NodeFeatures { supplemental_groups_policy: Some(true) });
    let handler = |name: &str| NodeRuntimeHandler {
        name: name.into(),
        features: Ptr::some(NodeRuntimeHandlerFeatures {
            recursive_read_only_mounts: Some(true),
            user_namespaces: Some(false),
        }),
    };
    status.declared_features = DECLARED_FEATURES.iter().map(|name| Str::from(*name)).collect();
    status.runtime_handlers = [handler(""), handler("runc")].into();

    let now = Time::from_unix(kubelet.ctx.unix_nanos().div_euclid(1_000_000_000));
    if kubelet.runtime.connected() {
        state.runtime_seen.set(kubelet.ctx.now());
    }
    let mut troubles = Vec::new();
    if kubelet.ctx.now().since(state.runtime_seen.get()) > RUNTIME_PATIENCE {
        troubles.push("container runtime is down");
    } else if state.runtime_seen.get() == Instant::ZERO {
        troubles.push("container runtime status check may not have completed yet");
    }
    if !kubelet.pleg.is_healthy() {
        troubles.push("PLEG is not healthy: pleg has yet to be successful");
    }
    let not_ready = match troubles.as_slice() {
        [] => None,
        [one] => Some((*one).to_string()),
        many => Some(format!("[{}]", many.join(", "))),
    };
    let clock = kubelet.ctx.now();
    match kubelet.pressure.holds(Signal::Memory, clock) {
        false => {
            let message = "kubelet has sufficient memory available";
            set(status, now, "MemoryPressure", false, "KubeletHasSufficientMemory", message);
        }
        true => {
            let message = "kubelet has insufficient memory available";
            set(status, now, "MemoryPressure", true, "KubeletHasInsufficientMemory", message);
        }
    }
    match kubelet.pressure.holds(Signal::Disk, clock) {
        false => set(status, now, "DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        true => set(status, now, "DiskPressure", true, "KubeletHasDiskPressure", "kubelet has disk pressure"),
    }
    set(status, now, "PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available");
    match not_ready {
        None => set(status, now, "Ready", true, "KubeletReady", "kubelet is posting ready status"),
        Some(why) => set(status, now, "Ready", false, "KubeletNotReady", &why),
    }
}

fn set(status: &mut NodeStatus, now: Time, type_: &str, value: bool, reason: &str, message: &str) {
    let value = if value { "True" } else { "False" };
    let mut condition = NodeCondition {
        type_: type_.into(),
        status: value.into(),
        reason: reason.into(),
        message: message.into(),
        last_heartbeat_time: now,
        last_transition_time: now,
    };
    match status.conditions.make().iter_mut().find(|c| c.type_ == *type_) {
        Some(slot) => {
            if slot.status == condition.status {
                condition.last_transition_time = slot.last_transition_time;
            }
            *slot = condition;
        }
        None => status.conditions.push(condition),
    }
}

/// Events for conditions that turned.
fn tell(kubelet: &Kubelet, status: &NodeStatus) {
    let name = &kubelet.config.node_name;
    for condition in status.conditions.iter() {
        let on = condition.status == "True";
        let reason = match &*condition.type_ {
            "MemoryPressure" => ["NodeHasSufficientMemory", "NodeHasInsufficientMemory"][usize::from(on)],
            "DiskPressure" => ["NodeHasNoDiskPressure", "NodeHasDiskPressure"][usize::from(on)],
            "PIDPressure" => ["NodeHasSufficientPID", "NodeHasInsufficientPID"][usize::from(on)],
            "Ready" => ["NodeNotReady", "NodeReady"][usize::from(on)],
            _ => continue,
        };
        let before = kubelet.node_state.told.borrow_mut().insert(condition.type_.clone(), reason.into());
        // A node that was never ready has nothing to tell yet.
        if before.as_deref() == Some(reason) || (before.is_none() && reason == "NodeNotReady") {
            continue;
        }
        kubelet.node_event("Normal", reason, &format!("Node {name} status is now: {reason}"));
    }
}

/// The list of CSI drivers of the node, of which there are none.
async fn create_csi_node(kubelet: Rc<Kubelet>) {
    let Some(node) = kubelet.node.lister().get("", &kubelet.config.node_name) else { return };
    let mut object = CSINode::default();
    object.metadata.name = kubelet.config.node_name.clone();
    object.metadata.owner_references = [owner(&node)].into();
    if let Err(why) = kubelet.client.create("", object).await
        && !why.is_already_exists()
    {
        klog::error("Failed to initialize CSINode").err(&why).log(&kubelet.ctx, "csi_plugin.go:420");
    }
}

fn owner(node: &Rev<Node>) -> OwnerReference {
    OwnerReference {
        api_version: "v1".into(),
        kind: "Node".into(),
        name: node.metadata.name.clone(),
        uid: node.metadata.uid.clone(),
        ..OwnerReference::default()
    }
}

/// Renews the node's lease, for as long as the process lives.
pub async fn keep_lease(kubelet: Rc<Kubelet>, client: Client) {
    const NAMESPACE: &str = "kube-node-lease";
    let ctx = kubelet.ctx.clone();
    let name = kubelet.config.node_name.clone();
    let mut latest: Option<Rev<Lease>> = None;
    let mut pause = Duration::from_millis(200);
    kubelet.node.synced().await;
    loop {
        let now = MicroTime::from_unix_micros(ctx.unix_nanos().div_euclid(1_000));
        if latest.is_none() {
            match client.get::<Lease>(NAMESPACE, &name).await {
                Ok(found) => latest = Some(found),
                Err(why) if why.is_not_found() => {
                    let node = kubelet.node.lister().get("", &name);
                    let created = match node {
                        Some(node) => {
                            let mut lease = Lease::default();
                            lease.metadata.name = name.clone();
                            lease.metadata.namespace = NAMESPACE.into();
                            lease.metadata.owner_references = [owner(&node)].into();
                            renew(&mut lease, &name, now);
                            client.create(NAMESPACE, lease).await.map_err(|why| why.to_string())
                        }
                        None => Err(format!("node {} not found", api::go::quote(&name))),
                    };
                    match created {
                        Ok(created) => {
                            latest = Some(created);
                            pause = Duration::from_millis(200);
                            ctx.sleep(LEASE_PERIOD).await;
                        }
                        Err(why) => {
                            klog::error("Failed to ensure lease exists, will retry")
                                .err(why)
                                .str("interval", &super::go::duration(pause))
                                .log(&ctx, "controller.go:145");
                            ctx.sleep(pause).await;
                            pause = (pause * 2).min(Duration::from_secs(7));
                        }
                    }
                    continue;
                }
                Err(why) => {
                    klog::error("Failed to ensure lease exists, will retry")
                        .err(&why)
                        .str("interval", &super::go::duration(pause))
                        .log(&ctx, "controller.go:145");
                    ctx.sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(7));
                    continue;
                }
            }
        }
        pause = Duration::from_millis(200);
        for _ in 0..5 {
            let Some(base) = &latest else { break };
            let mut lease = (*base.body).clone();
            renew(&mut lease, &name, now);
            let revision = base.revision;
            match ctx.timeout(LEASE_PERIOD, client.update(lease, revision)).await {
                Ok(Ok(written)) => {
                    latest = Some(written);
                    break;
                }
                Ok(Err(why)) => {
                    klog::error("Failed to update lease").err(&why).log(&ctx, "controller.go:201");
                    if why.is_conflict() {
                        latest = client.get::<Lease>(NAMESPACE, &name).await.ok();
                    } else if why.is_not_found() {
                        latest = None;
                    }
                }
                Err(_) => {
                    klog::error("Failed to update lease")
                        .err("context deadline exceeded")
                        .log(&ctx, "controller.go:201");
                }
            }
        }
        ctx.sleep(LEASE_PERIOD).await;
    }
}

fn renew(lease: &mut Lease, holder: &Str, now: MicroTime) {
    let spec = lease.spec.make();
    spec.holder_identity = holder.clone().into();
    spec.lease_duration_seconds = Some(LEASE_SECONDS);
    spec.renew_time = now;
}
