//! Waiting for a pod to come to something (`watchtools.UntilWithSync`).

use super::wait::watched;
use crate::error::Error;
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::EventType;
use std::time::Duration;

/// The pod, once `done` holds for it; an error if it is deleted, or `limit` is over (zero: no limit).
pub async fn pod_until(
    k: &Kubectl<'_>,
    ns: &str,
    name: &str,
    limit: Duration,
    mut done: impl FnMut(&Value) -> bool,
) -> Result<Value, Error> {
    let pods = k.known("", "pods")?;
    let watching = watched(
        k,
        &pods,
        ns,
        name,
        || Ok(None),
        |event, pod| match event {
            EventType::Deleted => Err(Error::Status(Box::new(object([
                ("reason", "NotFound".into()),
                ("message", "pods \"\" not found".into()),
            ])))),
            _ => Ok(done(pod)),
        },
    );
    if limit.is_zero() {
        return watching.await;
    }
    let timed_out = || Error::text("timed out waiting for the condition");
    k.ctx.timeout(limit, watching).await.unwrap_or_else(|_| Err(timed_out()))
}

/// Whether a pod has ended.
pub fn completed(pod: &Value) -> bool {
    matches!(pod.str("status/phase"), "Succeeded" | "Failed")
}

/// Whether it runs and is ready.
pub fn ready(pod: &Value) -> bool {
    let is_ready = |c: &Value| c.str("type") == "Ready" && c.str("status") == "True";
    pod.str("status/phase") == "Running" && pod.list("status/conditions").iter().any(is_ready)
}
