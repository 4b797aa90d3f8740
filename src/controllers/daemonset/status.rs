//! A daemon set's status.

use api::SortSmall;
use std::time::Duration;

use api::apps_v1::DaemonSet;
use client::klog;

use super::{Run, placement};
use crate::controller_utils::{self as utils, SyncError};

impl Run<'_> {
    pub(super) async fn update_status(&self, observe_generation: bool) -> Result<(), SyncError> {
        klog::info("Updating daemon set status").log(&self.dsc.ctx, "daemon_controller.go:1176");
        let mut by_node = self.by_node(false).await?;
        let mut status = (*self.set.status).clone();
        let now = self.dsc.ctx.unix_nanos();
        let (mut desired, mut current, mut misscheduled, mut ready, mut updated, mut available) = (0, 0, 0, 0, 0, 0);
        for node in &self.nodes {
            let pods = by_node.get_mut(&node.metadata.name);
            if !self.placement.should_run(node).0 {
                misscheduled += i32::from(pods.is_some_and(|p| !p.is_empty()));
                continue;
            }
            desired += 1;
            let Some(pods) = pods else { continue };
            pods.sort_small_by(placement::by_phase_and_age);
            let Some(pod) = pods.first() else { continue };
            current += 1;
            ready += i32::from(utils::is_pod_ready(pod));
            available += i32::from(utils::is_pod_available(pod, self.set.spec.min_ready_seconds, now));
            updated += i32::from(placement::is_updated(pod, &self.set, &self.hash));
        }
        self.dsc.observed.actual(&self.key, format!("{current} of {desired} pods, {available} available"));
        status.desired_number_scheduled = desired;
        status.current_number_scheduled = current;
        status.number_misscheduled = misscheduled;
        status.number_ready = ready;
        status.updated_number_scheduled = updated;
        status.number_available = available;
        status.number_unavailable = desired - available;
        let observed = self.set.status.observed_generation >= self.set.metadata.generation;
        if !(observed && utils::equal(&*self.set.status, &status)) {
            if observe_generation {
                status.observed_generation = self.set.metadata.generation;
            }
            let mut base = self.set.clone();
            for attempt in 0.. {
                let mut copy = (*base).clone();
                *copy.status.make() = status.clone();
                match self.client.update_status(copy, base.revision).await {
                    Ok(_) => break,
                    Err(err) if attempt >= 1 => {
                        return Err(format!("error storing status for daemon set: {err}").into());
                    }
                    Err(_) => {}
                }
                base = self.client.get::<DaemonSet>(&self.key.namespace, &self.key.name).await?;
            }
        }
        let min_ready = self.set.spec.min_ready_seconds;
        if min_ready > 0 && ready != available {
            self.dsc.queue.add_after(self.key.clone(), Duration::from_secs(u64::try_from(min_ready).unwrap_or(0)));
        }
        Ok(())
    }
}
