//! kube-scheduler: framework, queues, plugins, preemption.
//!
//! Pods without a node wait in the [`queue`]; one at a time they go through the [`cycle`]: the plugins of
//! [`plugins::ALL`] filter and score the nodes of the [`cache`], and the winner is bound through the API server. What
//! every plugin said of every node is kept as a [`verdict::Attempt`] for observers.

mod binding;
pub mod cache;
pub mod change;
mod cycle;
pub mod devices;
mod events;
mod executor;
pub mod framework;
mod handlers;
mod message;
pub mod node_info;
pub mod plugins;
mod pre_bind;
mod preemption;
pub mod queue;
pub mod resources;
mod server;
pub mod storage;
pub mod verdict;

#[cfg(test)]
mod cluster_tests;
#[cfg(test)]
mod hint_tests;
#[cfg(test)]
mod plugin_tests;
#[cfg(test)]
mod preemption_tests;
#[cfg(test)]
mod tests;

pub use server::{Config, Scheduler};
