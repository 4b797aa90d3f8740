//! `tabernetes bench`: what the budgets of the design are measured by. Each figure comes with a ratio against a fixed
//! piece of work in the same run, so that runs on different machines can be compared.

#![expect(clippy::disallowed_types, reason = "wall time is what is measured here")]

use sim::{Duration, Livelock};
use std::time::Instant;
use world::{Blueprint, World, scenario};

/// One figure.
struct Figure {
    name: String,
    wall: f64,
    /// Seconds of the processor, where the system tells: what a busy machine does not distort.
    cpu: f64,
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

/// Seconds that this thread has run, as Linux counts them.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Resident memory of this process in MiB.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0.0);
    pages * 4096.0 / f64::from(1 << 20)
}

fn timed<R>(name: &str, world: &World, work: impl FnOnce() -> R) -> (Figure, R) {
    let (began, ran, from, polls) = (Instant::now(), processor(), world.sim().now(), world.sim().polls());
    let result = work();
    let figure = Figure {
        name: name.into(),
        wall: began.elapsed().as_secs_f64(),
        cpu: processor() - ran,
        virtual_time: Some(world.sim().now().since(from).as_secs_f64()),
        polls: Some(world.sim().polls() - polls),
    };
    (figure, result)
}

fn rollout(figures: &mut Vec<Figure>, nodes: u32, pods: i32) -> Result<(), Livelock> {
    let before = resident();
    let blueprint = Blueprint { nodes, client_rate: 1000, ..Blueprint::default() };
    let world = World::new(&blueprint);
    let (boot, done) = timed(&format!("{nodes} nodes Ready"), &world, || scenario::nodes_ready(&world));
    done?;
    figures.push(boot);
    let (up, done) =
        timed(&format!("{pods} pods Running on {nodes} nodes"), &world, || scenario::roll_out(&world, pods));
    done?;
    figures.push(up);
    let after = resident();
    figures.push(Figure {
        name: format!("resident memory with {pods} pods: {:.0} MiB (+{:.0})", after, after - before),
        wall: 0.0,
        cpu: 0.0,
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
    let (boot, done) = timed("3 nodes Ready", &world, || scenario::nodes_ready(&world));
    done?;
    figures.push(boot);
    world.sim().run_for(Duration::from_secs(120))?;
    let (idle, done) =
        timed("1 hour of an idle 3-node cluster", &world, || world.sim().run_for(Duration::from_secs(3600)));
    done?;
    let speed = 3600.0 / idle.wall;
    figures.push(idle);
    let (three, done) = timed("3 replicas from kubectl to Running", &world, || scenario::create_deployment(&world, 3));
    done?;
    figures.push(three);
    const WRITES: u32 = 2000;
    let (writes, done) = timed(&format!("{WRITES} API writes, one after the other"), &world, || {
        scenario::write_repeatedly(&world, WRITES)
    });
    if done? != WRITES {
        println!("some of the {WRITES} writes were refused");
    }
    let write = writes.wall / f64::from(WRITES) * 1e6;
    figures.push(writes);
    drop(world);
    rollout(&mut figures, 10, 100)?;
    rollout(&mut figures, 100, 1000)?;
    if large {
        rollout(&mut figures, 1000, 10_000)?;
    }
    println!("{:<48} {:>10} {:>8} {:>10} {:>12} {:>12}", "", "wall s", "ratio", "cpu s", "virtual s", "polls");
    for f in &figures {
        if f.wall == 0.0 {
            println!("{}", f.name);
            continue;
        }
        let time = f.virtual_time.map_or_else(String::new, |t| format!("{t:.2}"));
        let polls = f.polls.map_or_else(String::new, |p| p.to_string());
        let ratio = f.wall / yard;
        println!("{:<48} {:>10.3} {ratio:>8.1} {:>10.3} {time:>12} {polls:>12}", f.name, f.wall, f.cpu);
    }
    println!("idle cluster: {speed:.0} times real time");
    println!("one API write: {write:.1} us");
    println!("ratio: against parsing and printing 20,000 small JSON objects, {:.1} ms in this run", yard * 1e3);
    Ok(())
}
