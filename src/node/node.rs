//! A node: a machine of the world with a container runtime, a kubelet and a kube-proxy on it.

use crate::files::Tree;
use crate::hardware::Hardware;
use crate::kube_proxy::KubeProxyConfig;
use crate::kubelet::KubeletConfig;
use crate::runtime::registry::Registry;
use crate::runtime::{Costs, Disk, PodRange, Seen, Settings};
use api::Str;
use sim::{Addr, HostId, Ip, ProcessId, Rng, Sim};
use std::cell::Cell;
use std::rc::Rc;

/// What a node is made from.
#[derive(Clone, Debug)]
pub struct NodeBlueprint {
    /// Its name.
    pub name: String,
    /// Its address.
    pub ip: Ip,
    /// Range of its pods' addresses, `10.244.0.0/24`.
    pub pod_range: String,
    /// Labels beyond those of every node, such as `topology.kubernetes.io/zone`.
    pub labels: Vec<(String, String)>,
    /// CPUs.
    pub cpus: u32,
    /// Memory, a quantity.
    pub memory: String,
    /// Pods at most.
    pub max_pods: u32,
    /// The API server that its kubelet talks to.
    pub server: Addr,
    /// Multiplies the kubelet's limits of requests.
    pub client_rate: u32,
    /// The registries that it pulls from.
    pub registry: Registry,
    /// What its runtime's work takes.
    pub costs: Costs,
}

impl NodeBlueprint {
    /// A node of 4 CPUs, 8Gi and 110 pods.
    pub fn new(name: &str, ip: Ip, pod_range: &str, server: Addr) -> Self {
        Self {
            name: name.to_string(),
            ip,
            pod_range: pod_range.to_string(),
            labels: Vec::new(),
            cpus: 4,
            memory: "8Gi".to_string(),
            max_pods: 110,
            server,
            client_rate: 1,
            registry: Registry::default(),
            costs: Costs::default(),
        }
    }
}

/// A machine with its disk, switched on or off, and the programs on it.
///
/// Containers survive the kubelet; a loss of power ends all, and the disk with its images is there at the next boot.
pub struct Node {
    sim: Sim,
    host: HostId,
    blueprint: NodeBlueprint,
    files: Rc<Tree>,
    disk: Rc<Disk>,
    hardware: Rc<Hardware>,
    runtime: Cell<Option<ProcessId>>,
    kubelet: Cell<Option<ProcessId>>,
    kube_proxy: Cell<Option<ProcessId>>,
    boots: Cell<u32>,
}

impl Node {
    /// Adds the machine to the world and boots it. `None` if the pod range is none.
    pub fn start(sim: &Sim, blueprint: NodeBlueprint) -> Option<Rc<Self>> {
        PodRange::parse(&blueprint.pod_range)?;
        let host = sim.add_host(&blueprint.name, blueprint.ip);
        let disk = Disk::new();
        let memory = api::Quantity::parse(&blueprint.memory).map_or(0, |q| q.value());
        let size = api::Quantity::parse(&KubeletConfig::new("", blueprint.server).ephemeral_storage);
        let own = sim.clone();
        let clock = crate::files::clock(move || own.unix_nanos());
        let hardware = Hardware::new(memory, size.map_or(0, |q| q.value()), disk.clone());
        let node = Rc::new(Self {
            sim: sim.clone(),
            host,
            blueprint,
            files: Tree::timed(&clock),
            disk,
            hardware,
            runtime: Cell::new(None),
            kubelet: Cell::new(None),
            kube_proxy: Cell::new(None),
            boots: Cell::new(0),
        });
        node.boot();
        Some(node)
    }

    /// The machine.
    pub fn host(&self) -> HostId {
        self.host
    }
    /// Its name.
    pub fn name(&self) -> &str {
        &self.blueprint.name
    }
    /// What it was made from.
    pub fn blueprint(&self) -> &NodeBlueprint {
        &self.blueprint
    }
    /// Name of its kubelet's process: `node-1/kubelet`.
    pub fn kubelet_name(&self) -> String {
        format!("{}/kubelet", self.blueprint.name)
    }
    /// Name of its runtime's process: `node-1/containerd`.
    pub fn runtime_name(&self) -> String {
        format!("{}/containerd", self.blueprint.name)
    }
    /// Name of its kube-proxy's process: `node-1/kube-proxy`.
    pub fn kube_proxy_name(&self) -> String {
        format!("{}/kube-proxy", self.blueprint.name)
    }
    /// The kube-proxy's process, while it runs.
    pub fn kube_proxy(&self) -> Option<ProcessId> {
        self.kube_proxy.get().filter(|p| self.sim.alive(*p))
    }
    /// The kubelet's process, while it runs.
    pub fn kubelet(&self) -> Option<ProcessId> {
        self.kubelet.get().filter(|p| self.sim.alive(*p))
    }
    /// The runtime's process, while it runs.
    pub fn runtime(&self) -> Option<ProcessId> {
        self.runtime.get().filter(|p| self.sim.alive(*p))
    }
    /// Whether it has power.
    pub fn is_on(&self) -> bool {
        self.sim.host_up(self.host)
    }

    /// Cuts the power.
    pub fn power_off(&self) {
        self.sim.power_off(self.host);
    }
    /// Switches it on and boots it; nothing if it is on.
    pub fn power_on(&self) {
        if !self.is_on() {
            self.sim.power_on(self.host);
            self.boot();
        }
    }

    /// Something outside of pods takes this share of the memory from now on, 0 to 1.
    pub fn fill_memory(&self, share: f64) {
        self.hardware.fill_memory(share);
    }

    fn boot(&self) {
        self.boots.set(self.boots.get() + 1);
        self.start_runtime();
        self.start_kubelet();
        self.start_kube_proxy();
    }

    /// Starts the kube-proxy unless it runs.
    pub fn start_kube_proxy(&self) {
        if self.kube_proxy().is_some() || !self.is_on() {
            return;
        }
        let config = KubeProxyConfig::new(&self.blueprint.name, self.blueprint.server);
        let name = self.kube_proxy_name();
        let process = self.sim.start(self.host, &name, |ctx| crate::kube_proxy::run(ctx, config));
        self.kube_proxy.set(Some(process));
    }

    /// Starts the container runtime unless it runs.
    pub fn start_runtime(&self) {
        if self.runtime().is_some() || !self.is_on() {
            return;
        }
        let Some(pod_range) = PodRange::parse(&self.blueprint.pod_range) else { return };
        let settings =
            Settings { pod_range, registry: self.blueprint.registry.clone(), costs: self.blueprint.costs.clone() };
        let disk = self.disk.clone();
        let process = self.sim.start(self.host, &self.runtime_name(), |ctx| crate::runtime::run(ctx, disk, settings));
        self.runtime.set(Some(process));
    }

    /// Starts the kubelet unless it runs.
    pub fn start_kubelet(&self) {
        if self.kubelet().is_some() || !self.is_on() {
            return;
        }
        let blueprint = &self.blueprint;
        let mut config = KubeletConfig::new(&blueprint.name, blueprint.server);
        config.labels = blueprint.labels.iter().map(|(k, v)| (Str::from(k), Str::from(v))).collect();
        config.pod_cidr = blueprint.pod_range.as_str().into();
        config.cpus = i64::from(blueprint.cpus);
        config.memory = blueprint.memory.as_str().into();
        config.max_pods = i64::from(blueprint.max_pods);
        let rate = blueprint.client_rate.max(1);
        config.qps = (config.qps.0 * f64::from(rate), config.qps.1.saturating_mul(rate));
        // The machine's identity stays, the boot's is drawn anew.
        let mut identity = Rng::split(u64::from(blueprint.ip.0), "machine id");
        config.machine_id = identity.hex(16).into();
        config.boot_id = Rng::split(u64::from(self.boots.get()), &format!("boot {}", config.machine_id)).uuid().into();
        let (files, hardware) = (self.files.clone(), self.hardware.clone());
        let run = |ctx| crate::kubelet::run(ctx, config, files, hardware);
        let process = self.sim.start(self.host, &self.kubelet_name(), run);
        self.kubelet.set(Some(process));
    }

    /// All containers on the node, running and ended, as they really are: without asking anybody.
    pub fn look(&self) -> Vec<Seen> {
        self.disk.look()
    }
    /// The world it is in.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }
    /// The machine under it.
    pub fn hardware(&self) -> &Rc<Hardware> {
        &self.hardware
    }
    /// The runtime's part of the disk: images and logs.
    pub fn disk(&self) -> &Rc<Disk> {
        &self.disk
    }
    /// The rest of the disk: volumes and what pods wrote to the host.
    pub fn files(&self) -> &Rc<Tree> {
        &self.files
    }
}
