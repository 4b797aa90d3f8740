//! What is on a node: kubelet, container runtime.

pub mod files;
pub mod kubelet;
pub mod runtime;
