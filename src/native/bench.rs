//! `tabernetes bench`: what the budgets of the design are measured by. Each figure comes with a ratio against a fixed
//! piece of work in the same run, so that runs on different machines can be compared.

#![expect(clippy::disallowed_types, reason = "wall time is what is measured here")]

use api::Rev;
use api::apps_v1::Deployment;
use shell::process::{Buffer, Bytes, FileError, Files, Metadata, Process};
use sim::{Duration, Livelock};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;
use world::inspect::Look;
use world::{Blueprint, World};

/// No files.
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

/// One figure.
struct Figure {
    name: String,
    wall: f64,
    virtual_time: Option<f64>,
    polls: Option<u64>,
}

/// The fixed piece of work: 20,000 JSON objects parsed and printed. Seconds.
fn yardstick() -> f64 {
    let text = r#"{"a":[1,2,3,{"b":"some text, as long as a name usually is"}],"c":true,"d":null,"e":1.5}"#;
    let began = Instant::now();
    let mut size = 0;
    for _ in 0..20_000 {
        if let Ok(value) = api::json::Value::parse(text) {
            size += value.to_json().len();
        }
    }
    std::hint::black_box(size);
    began.elapsed().as_secs_f64()
}

/// Resident memory of this process in MiB.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0.0);
    pages * 4096.0 / f64::from(1 << 20)
}

fn nodes_ready(world: &World) -> usize {
    let Some(look) = Look::new(world, &[]) else { return 0 };
    let ready =
        |n: &Rev<api::core_v1::Node>| n.status.conditions.iter().any(|c| c.type_ == *"Ready" && c.status == *"True");
    look.list::<api::core_v1::Node>("").iter().filter(|n| ready(n)).count()
}

fn replicas_ready(world: &World) -> i32 {
    let deployment = Look::new(world, &[]).and_then(|l| l.typed::<Deployment>("default", "web"));
    deployment.map_or(0, |d| d.status.ready_replicas)
}

fn timed<R>(name: &str, world: &World, work: impl FnOnce() -> R) -> (Figure, R) {
    let (began, from, polls) = (Instant::now(), world.sim().now(), world.sim().polls());
    let result = work();
    let figure = Figure {
        name: name.into(),
        wall: began.elapsed().as_secs_f64(),
        virtual_time: Some(world.sim().now().since(from).as_secs_f64()),
        polls: Some(world.sim().polls() - polls),
    };
    (figure, result)
}

/// Steps until `done`, asked at every instant, or until an hour has passed.
fn until(world: &World, mut done: impl FnMut() -> bool) -> Result<(), Livelock> {
    let limit = world.sim().now() + Duration::from_secs(3600);
    while !done() {
        if !world.sim().step(limit)? {
            break;
        }
    }
    Ok(())
}

fn run(world: &World, line: &str, stdin: &str) -> Result<String, Livelock> {
    let out = Rc::new(Buffer::default());
    let process = Process {
        args: line.split(' ').map(str::to_string).collect(),
        env: BTreeMap::new(),
        cwd: "/".into(),
        files: Rc::new(NoFiles),
        stdin: Rc::new(Bytes::new(stdin.as_bytes().to_vec())),
        stdout: out.clone(),
        stderr: out.clone(),
    };
    let running = world.run(process);
    until(world, || running.exit_code().is_some())?;
    Ok(String::from_utf8_lossy(&out.take()).into_owned())
}

fn rollout(figures: &mut Vec<Figure>, nodes: u32, pods: i32) -> Result<(), Livelock> {
    let before = resident();
    let blueprint = Blueprint { nodes, client_rate: 1000, ..Blueprint::default() };
    let world = World::new(&blueprint);
    let all = usize::try_from(nodes).unwrap_or(0);
    let (boot, done) = timed(&format!("{nodes} nodes Ready"), &world, || until(&world, || nodes_ready(&world) == all));
    done?;
    figures.push(boot);
    let manifest = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {pods}\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    \
         spec: {{containers: [{{name: nginx, image: \"nginx:1.27\", resources: {{requests: {{cpu: 10m, memory: 16Mi}}}}}}]}}\n"
    );
    let (up, done) = timed(&format!("{pods} pods Running on {nodes} nodes"), &world, || -> Result<String, Livelock> {
        let said = run(&world, "kubectl apply -f -", &manifest)?;
        // The count is looked at every 20 ms of virtual time: looking is not what is measured.
        while replicas_ready(&world) < pods && world.sim().now().as_nanos() < 3_600_000_000_000 {
            world.sim().run_for(Duration::from_millis(20))?;
        }
        Ok(said)
    });
    done?;
    figures.push(up);
    let after = resident();
    figures.push(Figure {
        name: format!("resident memory with {pods} pods: {:.0} MiB (+{:.0})", after, after - before),
        wall: 0.0,
        virtual_time: None,
        polls: None,
    });
    Ok(())
}

/// Runs the benches and prints their figures.
pub fn bench(large: bool) -> Result<(), Livelock> {
    let yard = yardstick().min(yardstick());
    let mut figures = Vec::new();
    let world = World::new(&Blueprint::default());
    let (boot, done) = timed("3 nodes Ready", &world, || until(&world, || nodes_ready(&world) == 3));
    done?;
    figures.push(boot);
    world.sim().run_for(Duration::from_secs(120))?;
    let (idle, done) =
        timed("1 hour of an idle 3-node cluster", &world, || world.sim().run_for(Duration::from_secs(3600)));
    done?;
    let speed = 3600.0 / idle.wall;
    figures.push(idle);
    let line = "kubectl create deployment web --image=nginx:1.27 --replicas=3";
    let (three, done) = timed("3 replicas from kubectl to Running", &world, || -> Result<(), Livelock> {
        run(&world, line, "")?;
        until(&world, || replicas_ready(&world) == 3)
    });
    done?;
    figures.push(three);
    const WRITES: u32 = 2000;
    let (writes, done) =
        timed(&format!("{WRITES} API writes, one after the other"), &world, || world.write_repeatedly(WRITES));
    done?;
    let write = writes.wall / f64::from(WRITES) * 1e6;
    figures.push(writes);
    drop(world);
    rollout(&mut figures, 10, 100)?;
    rollout(&mut figures, 100, 1000)?;
    if large {
        rollout(&mut figures, 1000, 10_000)?;
    }
    println!("{:<48} {:>10} {:>8} {:>12} {:>12}", "", "wall s", "ratio", "virtual s", "polls");
    for f in &figures {
        if f.wall == 0.0 {
            println!("{}", f.name);
            continue;
        }
        let time = f.virtual_time.map_or_else(String::new, |t| format!("{t:.2}"));
        let polls = f.polls.map_or_else(String::new, |p| p.to_string());
        println!("{:<48} {:>10.3} {:>8.1} {time:>12} {polls:>12}", f.name, f.wall, f.wall / yard);
    }
    println!("idle cluster: {speed:.0} times real time");
    println!("one API write: {write:.1} us");
    println!("ratio: against parsing and printing 20,000 small JSON objects, {:.1} ms in this run", yard * 1e3);
    Ok(())
}
