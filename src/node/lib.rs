//! What is on a node: kubelet, container runtime, kube-proxy.

pub mod files;
pub mod hardware;
pub mod kube_proxy;
pub mod kubelet;
mod node;
pub mod runtime;

#[cfg(test)]
mod tests;

pub use node::{Node, NodeBlueprint};
