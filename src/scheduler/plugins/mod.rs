//! The default plugins: one file each, and their table in the order in which they run
//! (`pkg/scheduler/apis/config/v1/default_plugins.go`).

pub mod default_preemption;
pub mod dynamic_resources;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_balanced_allocation;
pub mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
pub mod pod_topology_spread;
mod scheduling_gates;
pub mod taint_toleration;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;

use crate::framework::Plugin;

/// All plugins, in the order of the default profile.
pub static ALL: [&Plugin; 18] = [
    &scheduling_gates::PLUGIN,
    &node_name::PLUGIN,
    &node_unschedulable::PLUGIN,
    &taint_toleration::PLUGIN,
    &node_affinity::PLUGIN,
    &node_ports::PLUGIN,
    &node_resources_fit::PLUGIN,
    &volume_restrictions::PLUGIN,
    &node_volume_limits::PLUGIN,
    &volume_binding::PLUGIN,
    &volume_zone::PLUGIN,
    &pod_topology_spread::PLUGIN,
    &inter_pod_affinity::PLUGIN,
    &dynamic_resources::PLUGIN,
    &default_preemption::PLUGIN,
    &node_resources_balanced_allocation::PLUGIN,
    &image_locality::PLUGIN,
    &node_declared_features::PLUGIN,
];

/// The plugin of that name.
pub fn named(name: &str) -> Option<&'static Plugin> {
    ALL.iter().find(|p| p.name == name).copied()
}
