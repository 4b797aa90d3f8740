//! What is on a node: kubelet, container runtime.

pub mod files;
pub mod kubelet;
mod node;
pub mod runtime;

#[cfg(test)]
mod tests;

pub use node::{Node, NodeBlueprint};
