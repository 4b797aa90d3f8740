//! The cleaner of certificate signing requests (`pkg/controller/certificates/cleaner`): deletes them some time after
//! they were decided, or never were.

use std::time::Duration;

use api::json::Value;
use client::{Client, DynInformer, klog};

use crate::context::ControllerContext;

const LOGGER: &str = "certificatesigningrequest-cleaner-controller";
const POLLING: Duration = Duration::from_secs(3600);
const HOUR: i64 = 3600;

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting CSR cleaner controller").str("logger", LOGGER).log(&cc.ctx, "cleaner.go:83");
    let Some(requests) = super::csrapproving::informer(&cc) else { return };
    let client = cc.client("certificate-controller");
    loop {
        // The real one does not wait for its cache, so its first look finds nothing.
        clean(&cc, &client, &requests).await;
        cc.ctx.sleep(POLLING).await;
    }
}

async fn clean(cc: &ControllerContext, client: &Client, requests: &DynInformer) {
    let now = cc.ctx.unix_nanos().div_euclid(1_000_000_000);
    for found in requests.list() {
        let Some(metadata) = found.body.metadata() else { continue };
        let created = metadata.creation_timestamp.unix();
        let Some((text, why, limit, place)) = overdue(&api::json::to_value_bare(&*found.body), created, now) else {
            continue;
        };
        let line = klog::info(text).str("logger", LOGGER).str("csr", &metadata.name);
        line.duration(why, Duration::from_secs(limit.unsigned_abs())).log(&cc.ctx, place);
        let deleted = client.delete_kind(requests.kind(), "", &metadata.name, &Default::default()).await;
        if let Err(err) = deleted {
            klog::error("Error while attempting to clean CSR")
                .str("logger", LOGGER)
                .str("csr", &metadata.name)
                .err(format!("unable to delete CSR {}: {err}", api::go::quote(&metadata.name)))
                .log(&cc.ctx, "cleaner.go:109");
        }
    }
}

/// What is said of a request whose time is over: the line, the name of the limit, the limit in seconds, and the place.
type Overdue = (&'static str, &'static str, i64, &'static str);

/// Why a request is to go, at `now` in seconds. Certificates are never looked into, since none expires here.
fn overdue(request: &Value, created: Option<i64>, now: i64) -> Option<Overdue> {
    let old = |since: Option<i64>, limit: i64| since.is_some_and(|since| now.saturating_sub(since) > limit);
    let issued = !request.str_at(&["status", "certificate"]).is_empty();
    let conditions = request.at(&["status", "conditions"]).and_then(Value::as_array);
    let conditions: Vec<&Value> = conditions.into_iter().flat_map(|list| list.iter()).collect();
    let decided = |type_: &str, limit: i64| {
        let mut of_type = conditions.iter().filter(|c| c.str_at(&["type"]) == type_);
        let time = |c: &Value| api::value::parse_rfc3339(c.str_at(&["lastUpdateTime"])).ok().map(|(unix, _)| unix);
        of_type.any(|c| old(time(c), limit))
    };
    if issued && decided("Approved", HOUR) {
        let text = "Cleaning CSR as it is more than approvedExpiration duration old and approved.";
        return Some((text, "approvedExpiration", HOUR, "cleaner.go:189"));
    }
    if decided("Denied", HOUR) {
        let text = "Cleaning CSR as it is more than deniedExpiration duration old and denied.";
        return Some((text, "deniedExpiration", HOUR, "cleaner.go:160"));
    }
    if decided("Failed", HOUR) {
        let text = "Cleaning CSR as it is more than deniedExpiration duration old and failed.";
        return Some((text, "deniedExpiration", HOUR, "cleaner.go:173"));
    }
    if conditions.is_empty() && old(created, 24 * HOUR) {
        let text = "Cleaning CSR as it is more than pendingExpiration duration old and unhandled.";
        return Some((text, "pendingExpiration", 24 * HOUR, "cleaner.go:148"));
    }
    if !issued && decided("Approved", 24 * HOUR) {
        let text = "Cleaning CSR as it is approved but unissued for more than pendingExpiration duration.";
        return Some((text, "pendingExpiration", 24 * HOUR, "cleaner.go:205"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deadlines of `cleaner.go`.
    #[test]
    fn each_state_has_its_time() {
        let day = 24 * HOUR;
        let gone = |status: &str, age: i64| {
            let request = Value::parse(&format!(r#"{{"status":{status}}}"#)).unwrap();
            overdue(&request, Some(1_000_000), 1_000_000 + age).map(|(_, limit, ..)| limit)
        };
        // 1,000,000 seconds after 1970.
        let decided = |type_: &str, certificate: &str| {
            format!(
                r#"{{"conditions":[{{"type":"{type_}","lastUpdateTime":"1970-01-12T13:46:40Z"}}],"certificate":"{certificate}"}}"#
            )
        };
        assert_eq!(gone("{}", day), None);
        assert_eq!(gone("{}", day + 1), Some("pendingExpiration"));
        assert_eq!(gone(&decided("Denied", ""), HOUR), None);
        assert_eq!(gone(&decided("Denied", ""), HOUR + 1), Some("deniedExpiration"));
        assert_eq!(gone(&decided("Failed", ""), HOUR + 1), Some("deniedExpiration"));
        assert_eq!(gone(&decided("Approved", ""), day), None);
        assert_eq!(gone(&decided("Approved", ""), day + 1), Some("pendingExpiration"));
        assert_eq!(gone(&decided("Approved", "eA=="), HOUR), None);
        assert_eq!(gone(&decided("Approved", "eA=="), HOUR + 1), Some("approvedExpiration"));
    }
}
