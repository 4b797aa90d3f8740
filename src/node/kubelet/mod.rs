//! The kubelet: makes what the API server says of this node's pods true, and reports.

pub mod actions;
pub mod admission;
pub mod backoff;
mod claims;
pub mod conditions;
pub mod config;
pub mod cri_client;
mod dns;
mod dynamic_resources;
mod env;
mod ephemeral;
pub mod eviction;
pub mod expansion;
mod fields;
mod gc;
pub mod go;
pub mod hash;
mod hooks;
mod image_gc;
#[expect(clippy::module_inception, reason = "the kubelet is what the folder is named after")]
mod kubelet;
mod node_status;
pub mod objects;
pub mod phase;
pub mod pleg;
mod port_forward;
mod preemption;
mod probes;
mod pull;
pub mod qos;
pub mod reasons;
pub mod record;
mod resize;
pub mod restart;
pub mod server;
mod start;
mod status_manager;
pub mod statuses;
mod sync;
#[cfg(test)]
mod table_tests;
mod terminate;
pub mod ticks;
mod volume_content;
mod volumes;
pub mod worker;

pub use config::KubeletConfig;
pub use kubelet::{Kubelet, run};
