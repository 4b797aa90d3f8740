//! One cluster with one seed: a Deployment, writers and watchers, faults, then peace, in which everything must heal.

use crate::faults;
use crate::invariants::Witness;
use crate::programs::{self, Shared};
use api::Resource;
use api::apps_v1::Deployment;
use api::core_v1::{ConfigMap, Node, Pod};
use api::rest::ListOptions;
use client::{Client, ClientConfig};
use sim::{Addr, Ctx, Duration, Ip};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use world::{Blueprint, World};

/// For how long things go wrong.
const TROUBLE: Duration = Duration::from_secs(240);
/// How long healing may take: a node's grace period, eviction, back-offs up to five minutes.
const HEALING: Duration = Duration::from_secs(900);
/// How much virtual time passes between two looks.
const STEP: Duration = Duration::from_secs(1);
/// Replicas of the Deployment.
const REPLICAS: i32 = 3;

const MANIFEST: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
"spec":{"containers":[{"name":"nginx","image":"nginx:1.27"}]}}}}"#;

/// Runs a program on the reader's machine.
fn start<F: Future<Output = ()> + 'static>(world: &World, name: &str, main: impl FnOnce(Ctx, Client) -> F + 'static) {
    let sim = world.sim();
    let Some(host) = sim.host("workstation") else { return };
    let server = Addr { ip: Ip::new(172, 18, 0, 1), port: 6443 };
    let agent = format!("{name}/v1.37.2");
    sim.start(host, name, move |ctx| {
        let client = Client::new(&ctx, ClientConfig::new(server, World::admin(), agent));
        main(ctx, client)
    });
}

/// What a look at the cluster gave.
#[derive(Default)]
struct State {
    ready: i32,
    running: usize,
    nodes_ready: usize,
    stored: Vec<api::Rev<ConfigMap>>,
    revision: u64,
    complete: bool,
}

async fn look(client: &Client) -> Result<State, api::Status> {
    let all = ListOptions::default();
    let web = client.get::<Deployment>("default", "web").await?;
    let pods = client.list::<Pod>("default", &ListOptions { label_selector: "app=web".into(), ..all.clone() }).await?;
    let nodes = client.list::<Node>("", &all).await?;
    let written = client.list::<ConfigMap>("default", &all).await?;
    let ready = |node: &api::Rev<Node>| node.status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
    Ok(State {
        ready: web.status.ready_replicas,
        running: pods.items.iter().filter(|pod| pod.metadata().deletion_timestamp.unix().is_none()).count(),
        nodes_ready: nodes.items.iter().filter(|node| ready(node)).count(),
        stored: written.items,
        revision: written.revision,
        complete: true,
    })
}

fn fault(world: &World, line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split(' ').collect();
    let fault = world::faults::parse(&words).map_err(|usage| usage.to_string())?;
    // A thing that is stopped already can't be stopped: that is said and changes nothing.
    let _ = world.machines().apply(&fault);
    Ok(())
}

/// Runs a seed; the fingerprint of its history, or what went wrong.
pub fn run(seed: u64) -> Result<u64, String> {
    let blueprint = Blueprint { seed, shuffled: !seed.is_multiple_of(3), ..Blueprint::default() };
    let world = World::new(&blueprint);
    let witness: Shared = Rc::new(RefCell::new(Witness::default()));
    let begin = world.sim().now();

    start(&world, "deployer", |ctx, client| async move {
        loop {
            ctx.sleep(Duration::from_secs(1)).await;
            let mut web = Deployment::default();
            if api::json::decode(MANIFEST.as_bytes(), &mut web, true).is_err() {
                return;
            }
            match client.create("default", web).await {
                Ok(_) => return,
                Err(status) if status.is_already_exists() => return,
                Err(_) => {}
            }
        }
    });
    let shared = witness.clone();
    start(&world, "writer", |ctx, client| programs::write(ctx, client, shared));
    let shared = witness.clone();
    start(&world, "watcher-1", |ctx, client| programs::watch_written(ctx, client, shared));
    let shared = witness.clone();
    start(&world, "watcher-2", |ctx, client| programs::watch_pods(ctx, client, shared));
    let shared = witness.clone();
    start(&world, "watcher-3", |ctx, client| programs::watch_leases(ctx, client, shared));

    let advance = |until: Duration| -> Result<(), String> {
        while world.sim().now() < begin + until {
            let next = (world.sim().now() + STEP).min(begin + until);
            world.sim().run_until(next).map_err(|livelock| format!("{livelock:?}"))?;
            if let Some(text) = witness.borrow().complaints().first() {
                return Err(format!("at {:?}: {text}", next));
            }
        }
        Ok(())
    };

    let lines = faults::schedule(seed, TROUBLE);
    for (at, line) in &lines {
        advance(*at)?;
        fault(&world, line)?;
    }
    advance(TROUBLE)?;
    for line in ["heal", "restore"] {
        fault(&world, line)?;
    }
    for name in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "node-1", "node-2", "node-3"] {
        fault(&world, &format!("start {name}"))?;
    }
    for name in ["node-1/kubelet", "node-2/kubelet", "node-3/kubelet"] {
        fault(&world, &format!("start {name}"))?;
    }

    // Peace: what it looks like is asked every few seconds until it is as it should be.
    let state = Rc::new(RefCell::new(State::default()));
    let seen = state.clone();
    start(&world, "looker", |ctx, client| async move {
        loop {
            ctx.sleep(Duration::from_secs(5)).await;
            if let Ok(state) = look(&client).await {
                *seen.borrow_mut() = state;
            }
        }
    });
    let healed = |state: &State| {
        state.complete && state.ready == REPLICAS && state.running == REPLICAS as usize && state.nodes_ready == 3
    };
    let mut at = TROUBLE;
    while at < TROUBLE + HEALING && !healed(&state.borrow()) {
        at += Duration::from_secs(5);
        advance(at)?;
    }
    if !healed(&state.borrow()) {
        let state = state.borrow();
        return Err(format!(
            "not healed after {HEALING:?}: {} of {REPLICAS} ready, {} pods, {} nodes ready",
            state.ready, state.running, state.nodes_ready
        ));
    }
    // Watchers had the time to hear of what the last look saw.
    advance(at + Duration::from_secs(10))?;
    let mut witness = witness.borrow_mut();
    witness.close(&state.borrow().stored, state.borrow().revision);
    let writes = witness.writes();
    if writes < 50 {
        witness.complain(format!("only {writes} writes were acknowledged"));
    }
    match witness.complaints() {
        [] => Ok(world.sim().trace(|trace| trace.fingerprint())),
        complaints => Err(complaints.join("\n")),
    }
}
