//! Histories: what a seed makes of a world, as one number. The same natively and in wasm; `determinism.rs` runs both.

use sim::{Addr, Ctx, Duration, Interleave, Ip, Options, Record, Sim};

/// The server that the programs below call.
const SERVER: Addr = Addr { ip: Ip::new(10, 0, 0, 1), port: 80 };

async fn serve(ctx: Ctx) {
    let Ok(listener) = ctx.listen(SERVER.port) else { return };
    while let Ok(conn) = listener.accept().await {
        let task = ctx.clone();
        ctx.spawn("serve", async move {
            while let Ok(number) = conn.recv::<u64>().await {
                let disk = task.disk();
                let _ = disk.append("log", Record::new(number, 8));
                let _ = disk.sync("log").await;
                let _ = conn.send(number.wrapping_mul(3));
            }
        });
    }
}

async fn call(ctx: Ctx) {
    let mut rng = ctx.rng("pauses");
    loop {
        ctx.sleep(Duration::from_micros(u64::from(rng.below(5_000)))).await;
        let answer = async {
            let conn = ctx.connect(SERVER).await?;
            conn.send(rng.next_u64())?;
            conn.recv::<u64>().await
        };
        let text = match ctx.timeout(Duration::from_millis(400), answer).await {
            Ok(Ok(number)) => format!("answer {number} after {}", libm::sqrt(rng.f64())),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "too late".to_string(),
        };
        ctx.log(sim::Severity::Info, "lib.rs:1", text);
    }
}

/// Three machines, a server that is killed and started again, callers that pause at random; ten seconds of it.
pub fn network(seed: u64, interleave: Interleave) -> u64 {
    let sim = Sim::new(Options { seed, interleave, ..Options::default() });
    let hosts: Vec<_> = (1..=3).map(|n| sim.add_host(&format!("host-{n}"), Ip::new(10, 0, 0, n))).collect();
    let Some(first) = hosts.first() else { return 0 };
    for host in &hosts {
        for n in 0..3 {
            sim.start(*host, &format!("caller-{n}"), call);
        }
    }
    for _ in 0..5 {
        let server = sim.start(*first, "server", serve);
        if sim.run_for(Duration::from_millis(1_500)).is_err() {
            return 0;
        }
        sim.kill(server);
        if sim.run_for(Duration::from_millis(500)).is_err() {
            return 0;
        }
    }
    sim.trace(|trace| trace.fingerprint())
}

/// A cluster that boots, starts pods and loses a node for a minute; 0 if it came to a standstill.
pub fn cluster(seed: u64) -> u64 {
    world::scenario::history(seed).unwrap_or(0)
}

#[cfg(target_arch = "wasm32")]
mod exports;
