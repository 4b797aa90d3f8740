//! The simulated world: virtual clock, single-threaded executor, processes, network, disks, randomness, trace.
//!
//! It knows nothing of Kubernetes. The owner holds a [`Sim`] and drives time; a process sees the world through its
//! [`Ctx`] alone. Time moves only when no task is runnable, to the next timer, so one seed and one list of inputs give
//! one history.
#![allow(clippy::module_name_repetitions)]

mod ctx;
pub mod disk;
mod executor;
mod filter;
pub mod http;
pub mod net;
mod rng;
mod sim;
pub mod sync;
mod time;
mod timers;
pub mod trace;

pub use ctx::{Aborted, Ctx, Elapsed, JoinHandle, Sleep, Terminated};
pub use disk::{Disk, DiskError, Record};
pub use filter::{Filter, Verdict};
pub use net::{Addr, Conn, Ip, Listener, NetError, Scope};
pub use rng::Rng;
pub use sim::{HostId, Interleave, Livelock, Options, ProcessId, ProcessInfo, Sim, TimerInfo};
pub use std::time::Duration;
pub use time::Instant;
pub use trace::Severity;

#[cfg(test)]
mod tests;
