//! The controllers in a small world: etcd, an API server, a controller manager, and stand-ins for scheduler and kubelets
//! that bind pods and report them running.

mod autoscaler;
mod budgets;
mod claims;
mod cron;
mod daemons;
mod deletion;
mod jobs;
mod mirroring;
mod nodes;
mod policies;
mod quotas;
mod replication;
mod roles;
mod rollout;
mod stateful;
mod tokens;
mod volumes;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use api::apps_v1::{Deployment, DeploymentSpec, ReplicaSet};
use api::coordination_v1::Lease;
use api::core_v1::{
    Binding, Container, ContainerStatus, Node, NodeCondition, ObjectReference, Pod, PodCondition, PodIP,
};
use api::meta_v1::{DeleteOptions, LabelSelector};
use api::rest::{Credential, ListOptions, TypedList};
use api::{List, Map, MicroTime, OStr, Ptr, Resource, Time};
use apiserver::etcd_storage::Stored;
use client::{Client, ClientConfig, Delta, Informer, InformerOptions};
use sim::{Addr, Ctx, Ip, Sim};

use crate::{ControllerManager, ManagerConfig};

const CP: Ip = Ip::new(172, 18, 0, 1);
pub const API: Addr = Addr { ip: CP, port: 6443 };

/// What a test works with.
#[derive(Clone)]
pub struct World {
    pub ctx: Ctx,
    pub client: Client,
    pub manager: ControllerManager,
    /// Nodes whose kubelet is silent.
    pub silent: Rc<RefCell<Vec<String>>>,
    /// Whether the stand-in kubelets report pods of this image ready.
    pub broken_image: Rc<RefCell<String>>,
    /// Exit codes by image; containers of these images end after a second.
    pub ending: Rc<RefCell<std::collections::BTreeMap<String, i32>>>,
}

/// Runs a test once all is up.
pub fn with_world<F: Future<Output = ()> + 'static>(test: impl FnOnce(World) -> F + 'static) {
    let sim = Sim::new(sim::Options { epoch_unix_nanos: 1_795_975_200_000_000_000, ..Default::default() });
    let host = sim.add_host("cp-1", CP);
    sim.start(host, "etcd", |ctx| async move {
        let _member = etcd::Member::<Stored>::start(&ctx, etcd::MemberConfig::single("cp-1", CP));
        std::future::pending::<()>().await;
    });
    sim.start(host, "kube-apiserver", move |ctx| {
        let etcd = vec![Addr { ip: CP, port: 2379 }];
        apiserver::Server::new(&ctx, apiserver::Config::new(CP, etcd)).run()
    });
    let manager = ControllerManager::default();
    let run = manager.clone();
    sim.start(host, "kube-controller-manager", move |ctx| {
        let mut config = ManagerConfig::new(API);
        config.root_ca = "-----BEGIN CERTIFICATE-----".into();
        run.run(ctx, config)
    });
    let done = Rc::new(Cell::new(false));
    let finished = done.clone();
    sim.start(host, "test", move |ctx| async move {
        let admin = Credential::Certificate { user: "kubernetes-admin".into(), groups: vec!["system:masters".into()] };
        let world = World {
            client: Client::new(&ctx, ClientConfig::new(API, admin, "kubectl/v1.37.2")),
            ctx,
            manager,
            silent: Rc::default(),
            broken_image: Rc::default(),
            ending: Rc::default(),
        };
        world
            .eventually("the default service account", async |w: &World| {
                w.client.get::<api::core_v1::ServiceAccount>("default", "default").await.is_ok()
            })
            .await;
        // Until all informers have their first list: they share the limit of requests.
        world.ctx.sleep(Duration::from_secs(5)).await;
        test(world).await;
        finished.set(true);
    });
    let limit = sim.now() + Duration::from_secs(4 * 3600);
    let _shown = ShowLog(&sim);
    sim.run_while(limit, || !done.get()).unwrap();
    assert!(done.get(), "the test did not end");
}

/// Prints the components' log when a test fails, or if `SHOW_LOG` is set.
struct ShowLog<'a>(&'a Sim);

impl Drop for ShowLog<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() || std::env::var_os("SHOW_LOG").is_some() {
            self.0.trace(|t| {
                t.logs.since(0).for_each(|l| println!("{:?} {}{}] {}", l.at, l.severity.letter(), l.place, l.text));
            });
        }
    }
}

impl World {
    /// Waits until something is so, at most ten minutes.
    pub async fn eventually(&self, what: &str, is_so: impl AsyncFn(&World) -> bool) {
        for _ in 0..6000 {
            if is_so(self).await {
                return;
            }
            self.ctx.sleep(Duration::from_millis(100)).await;
        }
        self.dump().await;
        panic!("never came: {what}");
    }

    async fn dump(&self) {
        for p in self.list::<Pod>().await {
            let m = &p.metadata;
            println!(
                "pod {} r{} on {} {} {}",
                m.name, p.revision, p.spec.node_name, p.status.phase, m.deletion_timestamp
            );
        }
        for c in self.manager.controllers() {
            println!("{} {:?} {:?}", c.name, c.last_run(), c.queues());
        }
    }

    pub async fn list<T: Resource>(&self) -> Vec<api::Rev<T>> {
        let list: TypedList<T> = self.client.list("default", &ListOptions::default()).await.unwrap();
        list.items
    }

    /// Nodes with a lease each, a scheduler that goes round, and kubelets that run what comes.
    pub async fn start_nodes(&self, count: usize) {
        self.start_nodes_in(count, &|i| format!("z{i}")).await;
    }

    /// The same with the nodes in zones of one's choice.
    pub async fn start_nodes_in(&self, count: usize, zone: &dyn Fn(usize) -> String) {
        for i in 1..=count {
            let name = format!("node-{i}");
            let mut node = Node::default();
            node.metadata.name = name.as_str().into();
            node.metadata.labels = Map::from([
                ("kubernetes.io/hostname", name.as_str().into()),
                ("kubernetes.io/os", "linux".into()),
                ("topology.kubernetes.io/zone", zone(i).into()),
            ]);
            let created = self.client.create("", node).await.unwrap();
            let mut node = (*created).clone();
            node.status.make().conditions = List::from(vec![NodeCondition {
                type_: "Ready".into(),
                status: "True".into(),
                reason: "KubeletReady".into(),
                last_heartbeat_time: self.now(),
                last_transition_time: self.now(),
                ..Default::default()
            }]);
            // Controllers may have written to the new node meanwhile.
            self.client.update_status(node, 0).await.unwrap();
            let world = self.clone();
            self.ctx.spawn("lease", async move { world.renew(&name).await });
        }
        let pods = Informer::<Pod>::new(self.client.clone(), InformerOptions::default());
        let (world, next) = (self.clone(), Cell::new(0));
        pods.on(move |delta| {
            if let Delta::Deleted(_) = delta {
                return;
            }
            let pod = delta.object().clone();
            if pod.spec.node_name.is_empty() && pod.metadata.deletion_timestamp.unix().is_none() {
                if matches!(delta, Delta::Added(_)) {
                    let node = pinned_node(&pod).unwrap_or_else(|| {
                        next.set(next.get() % count + 1);
                        format!("node-{}", next.get())
                    });
                    let w = world.clone();
                    world.ctx.spawn("bind", async move { w.bind(&pod, &node).await });
                }
                return;
            }
            let w = world.clone();
            world.ctx.spawn("kubelet", async move { w.run_pod(&pod).await });
        });
        pods.run();
        pods.synced().await;
    }

    fn now(&self) -> Time {
        Time::from_unix_nanos(self.ctx.unix_nanos())
    }

    async fn renew(&self, name: &str) {
        let mut lease = Lease::default();
        lease.metadata.name = name.into();
        lease.metadata.namespace = "kube-node-lease".into();
        let mut kept = None;
        loop {
            if !self.silent.borrow().iter().any(|n| n == name) {
                lease.spec.make().holder_identity = OStr::some(name);
                lease.spec.make().renew_time = MicroTime::from_unix_nanos(self.ctx.unix_nanos());
                let written = match kept {
                    None => self.client.create("kube-node-lease", lease.clone()).await,
                    Some(revision) => self.client.update(lease.clone(), revision).await,
                };
                if let Ok(written) = written {
                    kept = Some(written.revision);
                }
            }
            self.ctx.sleep(Duration::from_secs(10)).await;
        }
    }

    async fn bind(&self, pod: &Pod, node: &str) {
        let mut binding = Binding::default();
        binding.metadata.namespace = pod.metadata.namespace.clone();
        binding.metadata.name = pod.metadata.name.clone();
        binding.target = ObjectReference { kind: "Node".into(), name: node.into(), ..Default::default() };
        let _ = self.client.bind(binding).await;
    }

    /// What the stand-in kubelet does about a pod.
    async fn run_pod(&self, pod: &api::Rev<Pod>) {
        let node = pod.spec.node_name.to_string();
        if self.silent.borrow().contains(&node) {
            return;
        }
        let meta = &pod.metadata;
        if meta.deletion_timestamp.unix().is_some() {
            self.ctx.sleep(Duration::from_millis(300)).await;
            let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
            let _ = self.client.delete::<Pod>(&meta.namespace, &meta.name, &now).await;
            return;
        }
        let image = pod.spec.containers.first().map(|c| c.image.to_string()).unwrap_or_default();
        let code = self.ending.borrow().get(&image).copied();
        if let Some(code) = code.filter(|_| pod.status.phase == "Running") {
            self.ctx.sleep(Duration::from_secs(1)).await;
            let mut copy = (**pod).clone();
            let status = copy.status.make();
            status.phase = if code == 0 { "Succeeded".into() } else { "Failed".into() };
            let mut container = ContainerStatus { name: "app".into(), ..Default::default() };
            let terminated = container.state.terminated.make();
            terminated.exit_code = code;
            terminated.finished_at = self.now();
            status.container_statuses = List::from(vec![container]);
            for c in status.conditions.make() {
                c.status = "False".into();
            }
            let _ = self.client.update_status(copy, pod.revision).await;
            return;
        }
        let broken = pod.spec.containers.first().is_some_and(|c| c.image == *self.broken_image.borrow().as_str());
        if !matches!(&*pod.status.phase, "" | "Pending") || broken {
            return;
        }
        self.ctx.sleep(Duration::from_millis(500)).await;
        let mut copy = (**pod).clone();
        let status = copy.status.make();
        status.phase = "Running".into();
        status.pod_ip = format!("10.244.0.{}", pod.revision % 250 + 1).into();
        status.pod_ips = List::from(vec![PodIP { ip: status.pod_ip.clone() }]);
        status.conditions.push(PodCondition {
            type_: "Ready".into(),
            status: "True".into(),
            last_transition_time: self.now(),
            ..Default::default()
        });
        let _ = self.client.update_status(copy, pod.revision).await;
    }
}

/// The node that a daemon's pod is for.
fn pinned_node(pod: &Pod) -> Option<String> {
    let affinity = pod.spec.affinity.get()?.node_affinity.get()?;
    let terms = &affinity.required_during_scheduling_ignored_during_execution.get()?.node_selector_terms;
    let field = terms.first()?.match_fields.first()?;
    (field.key == "metadata.name").then(|| field.values.first().map(ToString::to_string))?
}

/// A Deployment of one container.
pub fn deployment(name: &str, replicas: i32, image: &str) -> Deployment {
    let labels: Map<api::Str> = Map::from([("app", name.into())]);
    let mut d = Deployment::default();
    d.metadata.name = name.into();
    d.metadata.namespace = "default".into();
    let mut spec = DeploymentSpec {
        replicas: Some(replicas),
        selector: Ptr::some(LabelSelector { match_labels: labels.clone(), ..Default::default() }),
        progress_deadline_seconds: Some(600),
        revision_history_limit: Some(10),
        ..Default::default()
    };
    spec.strategy.type_ = "RollingUpdate".into();
    let rolling = spec.strategy.rolling_update.make();
    rolling.max_surge = Some("25%".into());
    rolling.max_unavailable = Some("25%".into());
    let template = spec.template.make();
    template.metadata.labels = labels;
    let pod = template.spec.make();
    pod.containers = List::from(vec![Container { name: "app".into(), image: image.into(), ..Default::default() }]);
    pod.termination_grace_period_seconds = Some(30);
    pod.restart_policy = "Always".into();
    *d.spec.make() = spec;
    d
}

/// Sizes of the replica sets, by image.
pub async fn sizes(world: &World) -> Vec<(String, i32, i32)> {
    let mut all: Vec<(String, i32, i32)> = Vec::new();
    for rs in world.list::<ReplicaSet>().await {
        let image = rs.spec.template.spec.containers.first().map(|c| c.image.to_string()).unwrap_or_default();
        all.push((image, rs.spec.replicas.unwrap_or(-1), rs.status.ready_replicas));
    }
    all.sort();
    all
}
