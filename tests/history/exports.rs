//! What a caller that has only symbols calls: the histories, and the steps of `benches/wasm.mjs`.
#![allow(unsafe_code, reason = "symbols that are exported by name")]

use sim::{Duration, Interleave};
use std::cell::RefCell;
use world::{Blueprint, World, scenario};

/// [`super::network`].
#[unsafe(no_mangle)]
pub extern "C" fn network_history(seed: u64) -> u64 {
    super::network(seed, Interleave::Fifo)
}

/// [`super::cluster`].
#[unsafe(no_mangle)]
pub extern "C" fn cluster_history(seed: u64) -> u64 {
    super::cluster(seed)
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

fn with(step: impl FnOnce(&World) -> Result<(), sim::Livelock>) -> bool {
    WORLD.with_borrow(|world| world.as_ref().is_some_and(|world| step(world).is_ok()))
}

/// Boots a world of so many nodes, in place of the one before, until they are Ready. Whether that came about.
#[unsafe(no_mangle)]
pub extern "C" fn bench_boot(nodes: u32, client_rate: u32) -> bool {
    WORLD.set(None);
    WORLD.set(Some(World::new(&Blueprint { nodes, client_rate, ..Blueprint::default() })));
    with(scenario::nodes_ready)
}

/// Lets virtual seconds pass.
#[unsafe(no_mangle)]
pub extern "C" fn bench_idle(seconds: u32) -> bool {
    with(|world| world.sim().run_for(Duration::from_secs(u64::from(seconds))))
}

/// Creates a Deployment with kubectl and waits for its pods.
#[unsafe(no_mangle)]
pub extern "C" fn bench_create(replicas: i32) -> bool {
    with(|world| scenario::create_deployment(world, replicas))
}

/// Writes to the API, one after the other.
#[unsafe(no_mangle)]
pub extern "C" fn bench_write(times: u32) -> bool {
    let mut written = 0;
    let ran = with(|world| scenario::write_repeatedly(world, times).map(|n| written = n));
    ran && written == times
}

/// Applies a Deployment and waits for its pods.
#[unsafe(no_mangle)]
pub extern "C" fn bench_roll_out(replicas: i32) -> bool {
    with(|world| scenario::roll_out(world, replicas))
}
