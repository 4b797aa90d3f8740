//! The ranges that Services' addresses come from (ServiceCIDRs, pkg/registry/core/service/ipallocator), and the
//! cluster's own one, which each server keeps (pkg/controlplane/controller/defaultservicecidr).

use std::rc::Rc;

use api::networking_v1::ServiceCIDR;
use api::rest::{Body, PatchType, Verb, WriteOptions};
use api::{List, Resource, Status, Str};
use sim::{Duration, Severity};

use crate::Inner;
use crate::alloc::Cidr;
use crate::bootstrap::own_call;

const NAME: &str = "kubernetes";
/// Who applies the condition of the cluster's own range.
const MANAGER: &str = "kubernetes-service-cidr-controller";
/// How often the range is looked for.
const INTERVAL: Duration = Duration::from_secs(10);
/// How soon the first attempt is made again.
const RETRY: Duration = Duration::from_millis(100);

/// What the Ready condition says; nothing without one.
fn ready(range: &ServiceCIDR) -> Option<&str> {
    range.status.conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| &*condition.status)
}

impl Inner {
    /// The IPv4 ranges that addresses may be taken of, in the order of their objects' names. One whose state nobody has
    /// written yet is ready.
    pub(crate) fn ready_ranges(&self) -> Vec<Cidr> {
        let mut found: Vec<Cidr> = Vec::new();
        self.cache.resource(self.service_cidrs).each("", |object| {
            let Some(range) = object.body.downcast_ref::<ServiceCIDR>() else { return };
            let going = range.metadata.deletion_timestamp.unix().is_some();
            if !going && ready(range).is_none_or(|status| status == "True") {
                for cidr in range.spec.cidrs.iter().filter_map(|cidr| Cidr::parse(cidr)) {
                    if !found.contains(&cidr) {
                        found.push(cidr);
                    }
                }
            }
        });
        found
    }
}

/// Makes sure that the cluster's own range is there before anything else is started.
pub(crate) async fn begin(server: &Rc<Inner>) {
    while sync(server).await.is_err() {
        server.ctx.sleep(RETRY).await;
    }
}

/// Makes it anew when it is gone, for ever.
pub(crate) async fn keep(server: Rc<Inner>) {
    loop {
        server.ctx.sleep(INTERVAL).await;
        if let Err(status) = sync(&server).await {
            let text = format!("\"error trying to sync the default ServiceCIDR\" err={:?}", status.to_string());
            server.ctx.log(Severity::Error, "default_servicecidr_controller.go:136", text);
        }
    }
}

async fn sync(server: &Rc<Inner>) -> Result<(), Status> {
    let cidrs: List<Str> = List::from(vec![Str::from(server.config.cidr().to_string())]);
    let stored = server.cache.resource(server.service_cidrs);
    if stored.get(NAME).is_none() {
        let text = format!("\"Creating default ServiceCIDR\" CIDRs=[\"{}\"]", server.config.cidr());
        server.ctx.log(Severity::Info, "default_servicecidr_controller.go:170", text);
        let mut range = ServiceCIDR::default();
        range.metadata.name = NAME.into();
        range.spec.make().cidrs = cidrs.clone();
        let call = own_call(server, Verb::Create, ServiceCIDR::KIND, "", "", Body::Object(Rc::new(range)));
        let Some(call) = call else { return Err(Status::not_found_path()) };
        match call.create().await {
            Ok(made) => server.cache.reached(made.revision).await,
            // Another server was faster, and the cache will hear of it.
            Err(status) => return Err(status),
        }
    }
    let Some(found) = stored.get(NAME) else { return Ok(()) };
    let Some(range) = found.body.downcast_ref::<ServiceCIDR>() else { return Ok(()) };
    let going = range.metadata.deletion_timestamp.unix().is_some();
    if going || range.spec.cidrs != cidrs || ready(range).is_some_and(|status| status != "Unknown") {
        return Ok(());
    }
    let place = "default_servicecidr_controller.go:234";
    server.ctx.log(Severity::Info, place, "\"Setting default ServiceCIDR condition Ready to True\"".to_string());
    let now = api::Time::from_unix_nanos(server.ctx.unix_nanos()).to_string();
    let message = "Kubernetes default Service CIDR is ready";
    let fields = [("status", "True"), ("message", message), ("lastTransitionTime", &*now)];
    let body = api::service_cidr::ready_condition(NAME, &fields);
    let verb = Verb::Patch(PatchType::Apply);
    let body = Body::Bytes(body.as_bytes().into());
    let Some(mut call) = own_call(server, verb, ServiceCIDR::KIND, "", NAME, body) else { return Ok(()) };
    call.subresource = "status".into();
    call.write = WriteOptions { field_manager: MANAGER.into(), force: true, ..WriteOptions::default() };
    if let Err(status) = call.patch(PatchType::Apply).await {
        let text = format!("\"error updating default ServiceCIDR status\" err={:?}", status.to_string());
        server.ctx.log(Severity::Error, "default_servicecidr_controller.go:243", text);
    }
    Ok(())
}
