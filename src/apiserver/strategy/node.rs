//! Nodes (pkg/registry/core/node/strategy.go): status may be given on creation, as kubelets do.

use super::Strategy;

pub static STRATEGIES: &[Strategy] = &[Strategy { resource: "nodes", key: "minions", ..Strategy::ORDINARY }];
