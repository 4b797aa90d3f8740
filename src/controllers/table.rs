//! All controllers: one row each.

use std::future::Future;
use std::pin::Pin;

use crate::context::ControllerContext;

/// Starts a controller and, for those that loop by the clock, never ends.
pub type Start = fn(ControllerContext) -> Pin<Box<dyn Future<Output = ()>>>;

/// One controller of kube-controller-manager.
pub struct Descriptor {
    /// Its name, as `--controllers` knows it.
    pub name: &'static str,
    /// Starts it.
    pub start: Start,
}

macro_rules! controllers {
    ($($name:literal => $start:path,)*) => {
        /// The controllers in the order they start.
        pub const CONTROLLERS: &[Descriptor] = &[$(Descriptor { name: $name, start: |cc| Box::pin($start(cc)) },)*];
    };
}

controllers! {
    "serviceaccount-token-controller" => crate::tokens::start,
    "endpoints-controller" => crate::endpoint::start,
    "endpointslice-controller" => crate::endpointslice::start,
    "endpointslice-mirroring-controller" => crate::endpointslicemirroring::start,
    "replicationcontroller-controller" => crate::replicaset::start_replication,
    "pod-garbage-collector-controller" => crate::podgc::start,
    "resourcequota-controller" => crate::resourcequota::start,
    "namespace-controller" => crate::namespace::start,
    "serviceaccount-controller" => crate::serviceaccounts::start,
    "garbage-collector-controller" => crate::garbagecollector::start,
    "daemonset-controller" => crate::daemonset::start,
    "job-controller" => crate::job::start,
    "deployment-controller" => crate::deployment::start,
    "replicaset-controller" => crate::replicaset::start,
    "horizontal-pod-autoscaler-controller" => crate::podautoscaler::start,
    "disruption-controller" => crate::disruption::start,
    "statefulset-controller" => crate::statefulset::start,
    "cronjob-controller" => crate::cronjob::start,
    "certificatesigningrequest-approving-controller" => crate::csrapproving::start,
    "certificatesigningrequest-cleaner-controller" => crate::csrcleaner::start,
    "ttl-controller" => crate::ttl::start,
    "node-ipam-controller" => crate::nodeipam::start,
    "node-lifecycle-controller" => crate::nodelifecycle::start,
    "taint-eviction-controller" => crate::tainteviction::start,
    "persistentvolume-binder-controller" => crate::volume::binder::start,
    "persistentvolumeclaim-protection-controller" => crate::volume::claim_protection::start,
    "persistentvolume-protection-controller" => crate::volume::volume_protection::start,
    "clusterrole-aggregation-controller" => crate::clusterroleaggregation::start,
    "ephemeral-volume-controller" => crate::volume::ephemeral::start,
    "ttl-after-finished-controller" => crate::ttlafterfinished::start,
    "root-ca-certificate-publisher-controller" => crate::rootca::start,
    "resourceclaim-controller" => crate::resourceclaim::start,
    "device-taint-eviction-controller" => crate::devicetainteviction::start,
    "validatingadmissionpolicy-status-controller" => crate::validatingadmissionpolicystatus::start,
    "service-cidr-controller" => crate::servicecidrs::start,
}
