//! What is done to a world to measure it, and to compare it with the same world elsewhere: the steps without the clock
//! that times them, so that the native bench and a WebAssembly one take the same.

use crate::Blueprint;
use crate::cluster::World;
use crate::faults::Fault;
use crate::inspect::Look;
use api::Rev;
use api::apps_v1::Deployment;
use client::ClientConfig;
use shell::process::{Buffer, Bytes, FileError, Files, Metadata, Process};
use sim::{Duration, Instant, Livelock};
use std::cell::Cell;
use std::rc::Rc;

/// A machine without files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<Rc<[u8]>, FileError> {
        Err(FileError::NotFound)
    }
    fn write(&self, _: &str, _: &[u8]) -> Result<(), FileError> {
        Err(FileError::ReadOnly)
    }
    fn append(&self, _: &str, _: &[u8]) -> Result<(), FileError> {
        Err(FileError::ReadOnly)
    }
    fn list(&self, _: &str) -> Result<Vec<String>, FileError> {
        Err(FileError::NotFound)
    }
    fn metadata(&self, _: &str) -> Result<Metadata, FileError> {
        Err(FileError::NotFound)
    }
    fn make_directory(&self, _: &str) -> Result<(), FileError> {
        Err(FileError::ReadOnly)
    }
    fn remove(&self, _: &str) -> Result<(), FileError> {
        Err(FileError::ReadOnly)
    }
    fn rename(&self, _: &str, _: &str) -> Result<(), FileError> {
        Err(FileError::ReadOnly)
    }
    fn set_mode(&self, _: &str, _: u32) -> Result<(), FileError> {
        Err(FileError::ReadOnly)
    }
}

/// How long a step waits for what it wants, in virtual time.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Steps until `done`, asked at every instant, or until an hour has passed.
fn until(world: &World, mut done: impl FnMut() -> bool) -> Result<(), Livelock> {
    let limit = world.sim().now() + PATIENCE;
    while !done() {
        if !world.sim().step(limit)? {
            break;
        }
    }
    Ok(())
}

/// Runs until every node of the blueprint is Ready.
pub fn nodes_ready(world: &World) -> Result<(), Livelock> {
    let ready =
        |n: &Rev<api::core_v1::Node>| n.status.conditions.iter().any(|c| c.type_ == *"Ready" && c.status == *"True");
    let wanted = world.blueprint().nodes;
    // One after the other, so that at each of very many instants only one node is looked at.
    let mut next = 1;
    until(world, || {
        while next <= wanted {
            let node = Look::new(world, &[]).and_then(|l| l.typed("", &format!("node-{next}")));
            if !node.is_some_and(|n| ready(&n)) {
                return false;
            }
            next += 1;
        }
        true
    })
}

/// Runs a command line on the workstation to its end and gives what it wrote.
pub fn command(world: &World, line: &str, stdin: &str) -> Result<String, Livelock> {
    let out = Rc::new(Buffer::default());
    let process = Process {
        args: line.split(' ').map(str::to_string).collect(),
        env: shell::Environment::default(),
        cwd: "/".into(),
        files: Rc::new(NoFiles),
        stdin: Rc::new(Bytes::new(stdin.as_bytes().to_vec())),
        stdout: out.clone(),
        stderr: out.clone(),
        family: Default::default(),
    };
    let running = world.run(process);
    until(world, || running.exit_code().is_some())?;
    Ok(String::from_utf8_lossy(&out.take()).into_owned())
}

fn replicas_ready(world: &World) -> i32 {
    let deployment = Look::new(world, &[]).and_then(|l| l.typed::<Deployment>("default", "web"));
    deployment.map_or(0, |d| d.status.ready_replicas)
}

/// Creates the Deployment `web` by kubectl and runs until its pods are ready.
pub fn create_deployment(world: &World, replicas: i32) -> Result<(), Livelock> {
    command(world, &format!("kubectl create deployment web --image=nginx:1.27 --replicas={replicas}"), "")?;
    until(world, || replicas_ready(world) >= replicas)
}

/// Applies the Deployment `web` with small requests and runs until its pods are ready.
pub fn roll_out(world: &World, replicas: i32) -> Result<(), Livelock> {
    let manifest = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    \
         spec: {{containers: [{{name: nginx, image: \"nginx:1.27\", resources: {{requests: {{cpu: 10m, memory: 16Mi}}}}}}]}}\n"
    );
    command(world, "kubectl apply -f -", &manifest)?;
    let limit = world.sim().now() + PATIENCE;
    // The count is looked at every 20 ms of virtual time: looking is not what is measured.
    while replicas_ready(world) < replicas && world.sim().now() < limit {
        world.sim().run_for(Duration::from_millis(20))?;
    }
    Ok(())
}

/// Has a client of its own update a new ConfigMap so many times, one write after the other: what a write costs. How many
/// succeeded.
pub fn write_repeatedly(world: &World, times: u32) -> Result<u32, Livelock> {
    let config = ClientConfig::new(world.server_of(1), World::admin(), "bench/v1");
    let done = Rc::new(Cell::new(None));
    let end = done.clone();
    world.sim().start(world.workstation(), "writer", |ctx| async move {
        let client = client::Client::new(&ctx, config);
        let mut map = api::core_v1::ConfigMap::default();
        map.metadata.generate_name = "bench-".into();
        map.metadata.namespace = "default".into();
        let mut stored = client.create("default", map).await;
        let mut written = 0;
        for n in 0..times {
            let Ok(current) = &stored else { break };
            written = n;
            let mut next = (*current.body).clone();
            next.data.insert("n", n.to_string().into());
            stored = client.update(next, current.revision).await;
        }
        end.set(Some(if stored.is_ok() { times } else { written }));
    });
    while done.get().is_none() && world.sim().step(Instant::FAR)? {}
    Ok(done.get().unwrap_or(0))
}

/// A cluster's first minutes with a node lost in them, as one number: that of its trace. Worlds that are one history
/// give the same.
pub fn history(seed: u64) -> Result<u64, Livelock> {
    let world = World::new(&Blueprint { seed, ..Blueprint::default() });
    nodes_ready(&world)?;
    create_deployment(&world, 3)?;
    for fault in [Fault::Kill(vec!["node-2".into()]), Fault::Start(vec!["node-2".into()])] {
        // Both are known by this blueprint; one that is refused shows as another history.
        let _: Result<String, String> = world.machines().apply(&fault);
        world.sim().run_for(Duration::from_secs(60))?;
    }
    Ok(world.sim().trace(|trace| trace.fingerprint()))
}
