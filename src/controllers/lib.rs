//! kube-controller-manager: one table of all controllers, one file or folder each: what it watches and how it
//! reconciles a key.

pub mod clusterroleaggregation;
pub mod context;
pub mod controller_utils;
pub mod cronjob;
pub mod csrapproving;
pub mod csrcleaner;
pub mod daemonset;
pub mod deployment;
pub mod devicetainteviction;
pub mod disruption;
pub mod endpoint;
pub mod endpointslice;
pub mod endpointslicemirroring;
pub mod garbagecollector;
pub mod history;
pub mod job;
mod manager;
pub mod namespace;
pub mod nodeipam;
pub mod nodelifecycle;
pub mod observed;
pub mod podautoscaler;
pub mod podgc;
pub mod replicaset;
pub mod resourceclaim;
pub mod resourcequota;
pub mod rootca;
pub mod serviceaccounts;
pub mod servicecidrs;
pub mod statefulset;
pub mod table;
pub mod tainteviction;
pub mod tokens;
pub mod ttl;
pub mod ttlafterfinished;
pub mod validatingadmissionpolicystatus;
pub mod volume;
pub mod worker;

#[cfg(test)]
mod tests;

pub use manager::{ControllerManager, ManagerConfig};
pub use observed::{LastRun, Observed, QueueState, Skips};
