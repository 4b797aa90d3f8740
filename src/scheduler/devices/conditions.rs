//! Devices that a pod waits for before it is bound: their drivers attach them first (`isClaimReadyForBinding`).

use super::{Devices, Promise};
use api::resource_v1::{DeviceRequestAllocationResult, ResourceClaim};
use sim::Duration;

/// How long devices may take (`DynamicResourcesBindingTimeoutDefault`).
const TIMEOUT: Duration = Duration::from_secs(600);
/// How often claims are looked at.
const POLL: Duration = Duration::from_secs(5);

fn waited_for(claim: &ResourceClaim) -> impl Iterator<Item = &DeviceRequestAllocationResult> {
    let results = claim.status.allocation.get().into_iter().flat_map(|a| a.devices.results.iter());
    results.filter(|result| !result.binding_conditions.is_empty())
}

/// Whether all devices of a claim are ready for the pod to be bound.
///
/// # Errors
/// One never will be.
fn is_ready(claim: &ResourceClaim) -> Result<bool, String> {
    for result in waited_for(claim) {
        let mut devices = claim.status.devices.iter();
        let has = devices.find(|d| d.driver == result.driver && d.pool == result.pool && d.device == result.device);
        let Some(has) = has else { return Ok(false) };
        let is_true = |wanted: &api::Str| has.conditions.iter().find(|c| c.type_ == *wanted && c.status == *"True");
        if let Some(failed) = result.binding_failure_conditions.iter().find_map(is_true) {
            let (claim, reason, message) = (&claim.metadata.name, &failed.reason, api::go::quote(&failed.message));
            return Err(format!("device binding failed: claim={claim}, reason={reason}, message={message}"));
        }
        if !result.binding_conditions.iter().all(|wanted| is_true(wanted).is_some()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a claim got its devices so long ago that they should be ready.
fn is_late(claim: &ResourceClaim, now: i64) -> bool {
    let since = claim.status.allocation.get().and_then(|a| a.allocation_timestamp.unix());
    let end = |since: i64| i128::from(since) * 1_000_000_000 + TIMEOUT.as_nanos() as i128;
    waited_for(claim).next().is_some() && since.is_some_and(|since| end(since) < i128::from(now))
}

impl Devices {
    /// Whether a claim's devices have failed or are late: the claim should get others.
    pub(crate) fn is_stuck(&self, claim: &ResourceClaim) -> bool {
        let now = self.ctx.as_ref().map_or(0, |ctx| ctx.unix_nanos());
        is_ready(claim).map_or(true, |ready| !ready && is_late(claim, now))
    }

    /// Whether a pod has to wait for devices.
    pub(crate) fn must_wait(promises: &[Promise]) -> bool {
        promises.iter().any(|promise| waited_for(&promise.claim).next().is_some())
    }

    /// Waits until all devices are ready.
    ///
    /// # Errors
    /// One has failed, or is late.
    pub(crate) async fn wait(&self, ctx: &sim::Ctx, promises: &mut [Promise]) -> Result<(), String> {
        let end = ctx.now() + TIMEOUT;
        while !self.are_ready(ctx, promises)? {
            let next = ctx.now() + POLL;
            if next >= end {
                ctx.sleep_until(end).await;
                return Err("device binding timeout: context deadline exceeded".into());
            }
            ctx.sleep_until(next).await;
        }
        Ok(())
    }

    fn are_ready(&self, ctx: &sim::Ctx, promises: &mut [Promise]) -> Result<bool, String> {
        for promise in promises {
            let meta = &promise.claim.metadata;
            let claim = self.claim(&meta.namespace, &meta.name);
            promise.claim =
                claim.ok_or_else(|| format!("could not find ResourceClaim \"{}/{}\"", meta.namespace, meta.name))?;
            if !is_ready(&promise.claim)? {
                if is_late(&promise.claim, ctx.unix_nanos()) {
                    return Err(format!("device binding timeout: claim={}", promise.claim.metadata.name));
                }
                return Ok(false);
            }
        }
        Ok(true)
    }
}
