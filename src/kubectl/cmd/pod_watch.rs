//! Waiting for a pod to come to something (`watchtools.UntilWithSync`).

use crate::error::Error;
use crate::server::Watched;
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::{EventType, ListOptions};
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
    let watching = async {
        loop {
            let mut options = ListOptions {
                field_selector: format!("metadata.name={name}").as_str().into(),
                ..ListOptions::default()
            };
            let list = k.list_page(&pods, ns, &options).await?;
            if let Some(pod) = list.list("items").iter().find(|pod| done(pod)) {
                return Ok(pod.clone());
            }
            options.resource_version = list.str("metadata/resourceVersion").into();
            let mut stream = k.watch(&pods, ns, options, false).await?;
            while let Some((event, what)) = stream.event().await? {
                let Watched::Object(pod) = what else { continue };
                if event == EventType::Deleted {
                    return Err(Error::Status(Box::new(object([
                        ("reason", "NotFound".into()),
                        ("message", "pods \"\" not found".into()),
                    ]))));
                }
                if done(&pod) {
                    return Ok(pod);
                }
            }
            // The server ended the watch: list again, as a reflector does.
            k.ctx.sleep(Duration::from_secs(1)).await;
        }
    };
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
