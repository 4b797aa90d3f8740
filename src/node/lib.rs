//! What is on a node: kubelet, container runtime.

pub mod files;
pub mod kubelet;
mod node;
pub mod runtime;

pub use node::{Node, NodeBlueprint};
