//! Nodes in a small world: one etcd member, one API server, and a test that plays the scheduler.

mod claims;
mod cost;
mod lifecycle;
mod resources;
mod services;
mod streams;

use crate::{Node, NodeBlueprint};
use api::core_v1::{ConfigMap, Container, Event, Pod, ServiceAccount};
use api::rest::{Credential, ListOptions};
use api::{Rev, Str};
use apiserver::etcd_storage::Stored;
use client::{Client, ClientConfig};
use sim::{Addr, Ctx, Duration, Ip, Sim};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

const CONTROL_PLANE: Ip = Ip::new(172, 18, 0, 1);

/// What a test has at hand.
#[derive(Clone)]
struct World {
    ctx: Ctx,
    client: Client,
    node: Rc<Node>,
}

/// Runs a test beside a ready node `node-1`, for at most an hour of virtual time.
fn with_node<F: Future<Output = ()> + 'static>(test: impl FnOnce(World) -> F + 'static) -> (Sim, Rc<Node>) {
    // 2026-11-29T18:00:00Z
    let sim = Sim::new(sim::Options { epoch_unix_nanos: 1_795_975_200_000_000_000, ..Default::default() });
    let host = sim.add_host("cp-1", CONTROL_PLANE);
    sim.start(host, "etcd", |ctx| async move {
        let _member = etcd::Member::<Stored>::start(&ctx, etcd::MemberConfig::single("cp-1", CONTROL_PLANE));
        std::future::pending::<()>().await;
    });
    sim.start(host, "kube-apiserver", |ctx| {
        let etcd = vec![Addr { ip: CONTROL_PLANE, port: 2379 }];
        apiserver::Server::new(&ctx, apiserver::Config::new(CONTROL_PLANE, etcd)).run()
    });
    let server = Addr { ip: CONTROL_PLANE, port: 6443 };
    let blueprint = NodeBlueprint::new("node-1", Ip::new(172, 18, 0, 11), "10.244.0.0/24", server);
    let node = Node::start(&sim, blueprint).unwrap();
    let done = Rc::new(RefCell::new(false));
    let finished = done.clone();
    let of_test = node.clone();
    sim.start(host, "test", move |ctx| async move {
        let admin = Credential::Certificate { user: "kubernetes-admin".into(), groups: vec!["system:masters".into()] };
        let client = Client::new(&ctx, ClientConfig::new(server, admin, "test"));
        let world = World { ctx, client, node: of_test };
        world.prepare().await;
        test(world).await;
        *finished.borrow_mut() = true;
    });
    let limit = sim.now() + Duration::from_secs(3_600);
    sim.run_while(limit, || !*done.borrow()).unwrap();
    if !*done.borrow() {
        sim.trace(|trace| {
            for line in trace.logs.since(0) {
                println!("{:?} {} {}", line.at, line.place, line.text);
            }
        });
        panic!("the test did not end");
    }
    (sim, node)
}

impl World {
    async fn sleep(&self, seconds: f64) {
        self.ctx.sleep(Duration::from_secs_f64(seconds)).await;
    }

    /// What controllers would have made, and a ready node.
    async fn prepare(&self) {
        loop {
            let mut account = ServiceAccount::default();
            account.metadata.name = "default".into();
            if self.client.create("default", account).await.is_ok() {
                break;
            }
            self.sleep(0.05).await;
        }
        let mut roots = ConfigMap::default();
        roots.metadata.name = "kube-root-ca.crt".into();
        roots.data.insert("ca.crt", Str::from("-----BEGIN CERTIFICATE-----"));
        self.client.create("default", roots).await.unwrap();
        self.until(|world| async move {
            let node = world.client.get::<api::core_v1::Node>("", "node-1").await.ok()?;
            node.status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True").then_some(())
        })
        .await;
    }

    /// Asks again until there is an answer.
    async fn until<T, F: Future<Output = Option<T>>>(&self, ask: impl Fn(World) -> F) -> T {
        loop {
            if let Some(answer) = ask(self.clone()).await {
                return answer;
            }
            self.sleep(0.05).await;
        }
    }

    /// Creates a pod that is bound to the node already.
    async fn run(&self, name: &str, change: impl FnOnce(&mut Pod)) -> Rev<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = name.into();
        pod.metadata.namespace = "default".into();
        pod.spec.make().node_name = "node-1".into();
        let spec = pod.spec.make();
        spec.termination_grace_period_seconds = Some(30);
        spec.restart_policy = "Always".into();
        spec.containers = [container("app", "nginx:1.27")].into();
        change(&mut pod);
        self.client.create("default", pod).await.unwrap()
    }

    async fn pod(&self, name: &str) -> Rev<Pod> {
        self.client.get::<Pod>("default", name).await.unwrap()
    }

    async fn until_phase(&self, name: &str, phase: &str) -> Rev<Pod> {
        self.until(|world| async move {
            world.client.get::<Pod>("default", name).await.ok().filter(|p| p.status.phase == *phase)
        })
        .await
    }

    async fn until_ready(&self, name: &str) -> Rev<Pod> {
        self.until(|world| async move {
            world.client.get::<Pod>("default", name).await.ok().filter(|p| condition(p, "Ready").0 == "True")
        })
        .await
    }

    /// `type reason: message (xN)` of an object's events, in the order of their first time.
    async fn events(&self, name: &str) -> Vec<String> {
        self.sleep(0.5).await;
        let options =
            ListOptions { field_selector: format!("involvedObject.name={name}").into(), ..ListOptions::default() };
        let mut all = self.client.list::<Event>("", &options).await.unwrap().items;
        all.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let line = |e: &Rev<Event>| {
            let times = if e.count > 1 { format!(" (x{})", e.count) } else { String::new() };
            format!("{} {}: {}{times}", e.type_, e.reason, e.message)
        };
        all.iter().map(line).collect()
    }
}

fn container(name: &str, image: &str) -> Container {
    Container {
        name: name.into(),
        image: image.into(),
        image_pull_policy: "IfNotPresent".into(),
        termination_message_path: "/dev/termination-log".into(),
        ..Container::default()
    }
}

/// A busybox that runs a shell command.
fn shell(command: &str) -> Container {
    let mut one = container("app", "busybox:1.36");
    one.command = ["sh", "-c", command].map(Str::from).into();
    one
}

/// (status, reason) of a condition.
fn condition(pod: &Pod, type_: &str) -> (String, String) {
    let found = pod.status.conditions.iter().find(|c| c.type_ == *type_);
    found.map_or_else(Default::default, |c| (c.status.to_string(), c.reason.to_string()))
}
