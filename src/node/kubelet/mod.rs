//! The kubelet: makes what the API server says of this node's pods true, and reports.

pub mod actions;
pub mod backoff;
pub mod conditions;
pub mod cri_client;
pub mod expansion;
pub mod go;
pub mod hash;
pub mod phase;
pub mod pleg;
pub mod qos;
pub mod reasons;
pub mod record;
pub mod restart;
pub mod statuses;
pub mod ticks;
