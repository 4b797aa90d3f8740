//! The simulated container runtime: images, sandboxes, containers, logs, exec (containerd behind k8s.io/cri-api).

mod container;
pub mod cri;
pub mod grpc;
pub use sim::http;
pub mod images;
mod ipam;
pub mod log;
pub mod memory;
pub mod program;
pub mod reference;
pub mod registry;
mod service;
pub mod signal;
mod stamp;
mod state;
#[cfg(test)]
mod tests;
mod tools;

pub use ipam::PodRange;
pub use service::{Costs, Settings, run};
pub(crate) use state::parse_ip;
pub use state::{Disk, Seen};
