//! When a node was last heard of, and what is said of it when that is too long ago (`tryUpdateNodeHealth`).

use std::time::Duration;

use api::coordination_v1::Lease;
use api::core_v1::{Node, NodeCondition};
use api::{Rev, Str, Time};
use client::{Causes, klog};
use sim::Instant;

use super::{LOGGER, NodeLifecycleController, condition, node_condition_text};

/// Silence of a node that has reported before (`--node-monitor-grace-period`).
const GRACE_PERIOD: Duration = Duration::from_secs(50);
/// Silence of a node that has not (`--node-startup-grace-period`).
const STARTUP_GRACE_PERIOD: Duration = Duration::from_secs(60);
const NODE_LEASES: &str = "kube-node-lease";
/// What becomes Unknown with the node.
const CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// What was last heard of a node.
pub(super) struct NodeHealth {
    /// When something last changed that only the kubelet changes.
    pub probed: Instant,
    /// The Ready condition as it was then.
    pub ready: Option<NodeCondition>,
    /// The lease as it was then.
    pub lease: Option<Rev<Lease>>,
}

/// Why a node's health is not known.
pub(super) enum Failure {
    /// The cache of leases is behind: nothing is concluded from it.
    Stale(String),
    /// The status could not be written: try again on a fresh copy.
    Write,
}

impl NodeLifecycleController {
    /// The node as it is now, the status of Ready before, and Ready now.
    pub(super) async fn try_update_health(
        &self,
        node: &Rev<Node>,
    ) -> Result<(Rev<Node>, Str, Option<NodeCondition>), Failure> {
        let name = &node.metadata.name;
        if self.newer_lease.get() > self.leases.revision() {
            return Err(Failure::Stale(format!(
                "read version: {} is not as new as written version: {} for group resource leases.coordination.k8s.io",
                self.leases.revision(),
                self.newer_lease.get()
            )));
        }
        self.newer_lease.set(0);
        let current = condition(node, "Ready").cloned();
        let (observed, grace) = match &current {
            Some(c) => (c.status.clone(), GRACE_PERIOD),
            None => ("Unknown".into(), STARTUP_GRACE_PERIOD),
        };
        let lease = self.leases.get(NODE_LEASES, name);
        let silent_for = self.note_signs_of_life(node, &current, lease.clone());
        if silent_for <= grace {
            return Ok((node.clone(), observed, current));
        }
        self.check_live_lease(name).await?;
        self.report_silence(node, &observed, silent_for).await
    }

    /// Takes note of a new heartbeat or lease; how long ago the last sign of life was.
    fn note_signs_of_life(
        &self,
        node: &Rev<Node>,
        current: &Option<NodeCondition>,
        lease: Option<Rev<Lease>>,
    ) -> Duration {
        let now = self.ctx.now();
        let name = &node.metadata.name;
        let mut all = self.health.borrow_mut();
        let line = |message: &str, place| {
            klog::info(message).str("logger", LOGGER).obj("node", "", name).log(&self.ctx, place);
        };
        let fresh = NodeHealth { probed: now, ready: current.clone(), lease: None };
        let entry = match (all.remove(name), current) {
            // A node that never reported counts from its creation.
            (Some(mut known), None) if known.ready.is_none() => {
                known.ready = None;
                known
            }
            (None, None) => NodeHealth { probed: self.instant_of(node.metadata.creation_timestamp), ..fresh },
            (None, Some(_)) => {
                line("Missing timestamp for Node. Assuming now as a timestamp", "node_lifecycle_controller.go:906");
                fresh
            }
            (Some(known), Some(c)) => match &known.ready {
                None => {
                    line("Creating timestamp entry for newly observed Node", "node_lifecycle_controller.go:913");
                    fresh
                }
                Some(saved) if saved.last_heartbeat_time != c.last_heartbeat_time => {
                    if saved.last_transition_time != c.last_transition_time {
                        klog::info("ReadyCondition for Node transitioned from savedCondition to currentReadyCondition")
                            .str("logger", LOGGER)
                            .obj("node", "", name)
                            .str("savedCondition", &node_condition_text(saved))
                            .str("currentReadyCondition", &node_condition_text(c))
                            .log(&self.ctx, "node_lifecycle_controller.go:936");
                    }
                    line("Node ReadyCondition updated. Updating timestamp", "node_lifecycle_controller.go:944");
                    NodeHealth { lease: None, ..fresh }
                }
                Some(_) => known,
            },
            (Some(_), None) => {
                klog::error("ReadyCondition was removed from Status of Node")
                    .str("logger", LOGGER)
                    .obj("node", "", name)
                    .log(&self.ctx, "node_lifecycle_controller.go:920");
                fresh
            }
        };
        let entry = all.entry(name.clone()).or_insert(entry);
        if let Some(lease) = lease {
            let newer = entry.lease.as_ref().is_none_or(|saved| saved.spec.renew_time < lease.spec.renew_time);
            if newer {
                entry.lease = Some(lease);
                entry.probed = now;
            }
        }
        now.since(entry.probed)
    }

    fn instant_of(&self, time: Time) -> Instant {
        let ago = self.ctx.unix_nanos().saturating_sub(time.unix().unwrap_or(0).saturating_mul(1_000_000_000));
        let ago = u64::try_from(ago).unwrap_or(0);
        Instant::from_nanos(self.ctx.now().as_nanos().saturating_sub(ago))
    }

    /// Before a node is given up its lease is asked for, in case only the cache is old
    /// (`NodeControllerLeaseCircuitBreaker`).
    async fn check_live_lease(&self, name: &str) -> Result<(), Failure> {
        let known = self.health.borrow().get(name).and_then(|h| h.lease.as_ref().map(|l| l.revision)).unwrap_or(0);
        match self.client.get::<Lease>(NODE_LEASES, name).await {
            Ok(live) if live.revision != known => {
                self.newer_lease.set(live.revision);
                Err(Failure::Stale(format!(
                    "read version: {known} is not as new as written version: {} for group resource leases.coordination.k8s.io",
                    live.revision
                )))
            }
            Ok(_) => Ok(()),
            Err(err) if err.is_not_found() => Ok(()),
            Err(err) => Err(Failure::Stale(format!("error looking up lease to verify node {name}: {err}"))),
        }
    }

    async fn report_silence(
        &self,
        node: &Rev<Node>,
        observed: &Str,
        silent_for: Duration,
    ) -> Result<(Rev<Node>, Str, Option<NodeCondition>), Failure> {
        let name = &node.metadata.name;
        let now = self.now();
        let mut copy = (**node).clone();
        for type_ in CONDITIONS {
            let Some(at) = copy.status.conditions.iter().position(|c| c.type_ == type_) else {
                klog::info("Condition of node was never updated by kubelet")
                    .str("logger", LOGGER)
                    .str("nodeConditionType", type_)
                    .obj("node", "", name)
                    .log(&self.ctx, "node_lifecycle_controller.go:1006");
                copy.status.make().conditions.push(NodeCondition {
                    type_: type_.into(),
                    status: "Unknown".into(),
                    reason: "NodeStatusNeverUpdated".into(),
                    message: "Kubelet never posted node status.".into(),
                    last_heartbeat_time: node.metadata.creation_timestamp,
                    last_transition_time: now,
                });
                continue;
            };
            if let Some(c) = copy.status.conditions.get(at) {
                klog::info("Node hasn't been updated")
                    .str("logger", LOGGER)
                    .obj("node", "", name)
                    .duration("duration", silent_for)
                    .str("nodeConditionType", type_)
                    .str("currentCondition", &node_condition_text(c))
                    .log(&self.ctx, "node_lifecycle_controller.go:1018");
                if c.status == "Unknown" {
                    continue;
                }
            }
            if let Some(c) = copy.status.make().conditions.make().get_mut(at) {
                c.status = "Unknown".into();
                c.reason = "NodeStatusUnknown".into();
                c.message = "Kubelet stopped posting node status.".into();
                c.last_transition_time = now;
            }
        }
        let ready = condition(&copy, "Ready").cloned();
        let changed = match (condition(node, "Ready"), &ready) {
            (Some(before), Some(after)) => before != after,
            (before, after) => before.is_some() != after.is_some(),
        };
        if !changed {
            return Ok((node.clone(), observed.clone(), ready));
        }
        let client = self.client.caused_by(&Causes::of(node.revision));
        match client.update_status(copy, node.revision).await {
            Ok(updated) => {
                if let Some(health) = self.health.borrow_mut().get_mut(name) {
                    health.ready = ready.clone();
                }
                Ok((updated, observed.clone(), ready))
            }
            Err(err) => {
                klog::error("Error updating node")
                    .err(&err)
                    .str("logger", LOGGER)
                    .obj("node", "", name)
                    .log(&self.ctx, "node_lifecycle_controller.go:1036");
                Err(Failure::Write)
            }
        }
    }
}
