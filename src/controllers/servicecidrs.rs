//! The ServiceCIDR controller (`pkg/controller/servicecidrs`): says that ranges are ready, and lets a deleted one go
//! only once no Service has an address that would be in no range.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use api::cidr::Cidr;
use api::networking_v1::{IPAddress, ServiceCIDR};
use api::rest::{Body, PatchType, Query, Verb, WriteOptions};
use api::service_cidr::{is_managed, ready_condition};
use api::{Resource, Rev};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog, object_reference};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const NAME: &str = "service-cidr-controller";
const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";
/// How long a range stays after its deletion, so that every API server has heard of it.
const DELETION_GRACE: Duration = Duration::from_secs(10);
const MAX_RETRIES: u32 = 15;

struct ServiceCidrs {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    ranges: Lister<ServiceCIDR>,
    addresses: Lister<IPAddress>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting").str("logger", NAME).str("controller", NAME).log(&cc.ctx, "servicecidrs_controller.go:137");
    let (ranges, addresses) = (cc.informer::<ServiceCIDR>(), cc.informer::<IPAddress>());
    let client = cc.client("service-cidrs-controller");
    let controller = Rc::new(ServiceCidrs {
        ctx: cc.ctx.clone(),
        recorder: cc.recorder(&client, NAME, NAME),
        client,
        ranges: ranges.lister(),
        addresses: addresses.lister(),
        queue: WorkQueue::new(&cc.ctx, "ipaddresses"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    ranges.on(move |delta| {
        let range = delta.object();
        this.queue.add_caused(Key::of(&range.metadata), delta.revision());
        if let Delta::Added(_) = delta {
            // Another range with the same addresses may let one go.
            let networks: Vec<Cidr> = cidrs(range).collect();
            this.add_others(delta.revision(), |cidr| networks.iter().any(|network| network.overlaps(cidr)));
        }
    });
    let this = controller.clone();
    addresses.on(move |delta| {
        if let Delta::Added(address) | Delta::Deleted(address) = delta
            && is_managed(address)
            && let Ok(ip) = address.metadata.name.parse()
        {
            this.add_others(delta.revision(), |cidr| cidr.serves(ip));
        }
    });
    ranges.synced().await;
    addresses.synced().await;
    Worker::spawn(&cc.ctx, 5, controller.queue.clone(), controller);
}

fn cidrs(range: &ServiceCIDR) -> impl Iterator<Item = Cidr> {
    range.spec.cidrs.iter().filter_map(|cidr| Cidr::parse(cidr))
}

impl ServiceCidrs {
    /// Looks at all ranges with a network of a kind.
    fn add_others(&self, revision: u64, which: impl Fn(&Cidr) -> bool) {
        for range in self.ranges.list().iter().filter(|range| cidrs(range).any(|cidr| which(&cidr))) {
            self.queue.add_caused(Key::of(&range.metadata), revision);
        }
    }

    /// Whether some other range than this has a network of a kind.
    fn others(&self, range: &ServiceCIDR, which: impl Fn(&Cidr) -> bool) -> bool {
        let all = self.ranges.list();
        let mut found = all.iter().filter(|other| other.metadata.name != range.metadata.name);
        found.any(|other| cidrs(other).any(|cidr| which(&cidr)))
    }

    /// Whether no address would be left without a range (`canDeleteCIDR`).
    fn can_go(&self, range: &ServiceCIDR) -> bool {
        let line = |text: &str| klog::info(text).str("logger", NAME);
        let name = &range.metadata.name;
        let inside = |network: Cidr| self.others(range, |other| other.overlaps(&network) && other.bits <= network.bits);
        if cidrs(range).all(inside) {
            line("Deleting ServiceCIDR contained in other ServiceCIDR")
                .str("ServiceCIDR", name)
                .log(&self.ctx, "servicecidrs_controller.go:377");
            return true;
        }
        for address in self.addresses.list().iter().filter(|address| is_managed(address)) {
            let Ok(ip) = address.metadata.name.parse::<IpAddr>() else { continue };
            if cidrs(range).any(|cidr| cidr.serves(ip)) && !self.others(range, |other| other.serves(ip)) {
                line("Deleting ServiceCIDR blocked by IP address")
                    .str("IPAddress", &address.metadata.name)
                    .log(&self.ctx, "servicecidrs_controller.go:407");
                return false;
            }
        }
        line("Deleting ServiceCIDR no longer have orphan IPs")
            .str("ServiceCIDR", name)
            .log(&self.ctx, "servicecidrs_controller.go:415");
        true
    }

    /// Adds the finalizer, or takes it away.
    async fn finalizer(&self, client: &Client, range: &Rev<ServiceCIDR>, field: &str) -> Result<(), SyncError> {
        let body = format!(r#"{{"metadata":{{"{field}":["{FINALIZER}"]}}}}"#);
        match client.patch::<ServiceCIDR>("", &range.metadata.name, PatchType::Strategic, body, "").await {
            Err(err) if !err.is_not_found() => Err(err.into()),
            _ => Ok(()),
        }
    }

    /// Applies the Ready condition unless it says so already.
    async fn condition(&self, client: &Client, range: &ServiceCIDR, says: [&str; 3]) -> Result<(), SyncError> {
        let [status, reason, message] = says;
        let mut conditions = range.status.conditions.iter();
        if conditions
            .find(|c| c.type_ == "Ready")
            .is_some_and(|c| c.status == status && c.reason == reason && c.message == message)
        {
            return Ok(());
        }
        let name = &range.metadata.name;
        klog::info("Updating ServiceCIDR condition")
            .str("logger", NAME)
            .str("ServiceCIDR", name)
            .str("conditionType", "Ready")
            .str("newStatus", status)
            .str("newReason", reason)
            .log(&self.ctx, "servicecidrs_controller.go:476");
        let now = api::Time::from_unix_nanos(self.ctx.unix_nanos()).to_string();
        let fields = [("status", status), ("reason", reason), ("message", message), ("lastTransitionTime", &*now)];
        let body = ready_condition(name, &fields);
        let mut request = client.prepare(Verb::Patch(PatchType::Apply), ServiceCIDR::KIND, "", name, "status");
        let options = WriteOptions { field_manager: NAME.into(), force: true, ..WriteOptions::default() };
        request.query = Query::Write(options);
        request.body = Body::Bytes(body.as_bytes().into());
        self.observed.action(&Key::new("", name), format!("say that Ready is {status}"));
        client.request(request).await?;
        Ok(())
    }
}

impl Reconcile<Key> for ServiceCidrs {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(range) = self.ranges.by_key(&work.key) else { return Ok(()) };
        let client = self.client.caused_by(&work.causes);
        let held = range.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER);
        let Some(deleted) = range.metadata.deletion_timestamp.unix() else {
            if !held {
                self.finalizer(&client, &range, "finalizers").await?;
            }
            let result = self.condition(&client, &range, ["True", "", "Kubernetes Service CIDR is ready"]).await;
            if let Err(err) = &result {
                klog::info("error updating default ServiceCIDR status")
                    .str("logger", NAME)
                    .raw("error", err)
                    .log(&self.ctx, "servicecidrs_controller.go:349");
                let meta = &range.metadata;
                let about = object_reference(ServiceCIDR::KIND.api_version, "ServiceCIDR", "", &meta.name, &meta.uid);
                let message = "The ServiceCIDR Status can not be set to Ready=True";
                self.recorder.event(&about, "Warning", "KubernetesServiceCIDRError", message);
            }
            return result;
        };
        if !self.can_go(&range) {
            let message = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new \
                           ServiceCIDR";
            return self.condition(&client, &range, ["False", "Terminating", message]).await;
        }
        let due = deleted.saturating_mul(1_000_000_000).saturating_add(DELETION_GRACE.as_nanos() as i64);
        let left = due.saturating_sub(self.ctx.unix_nanos());
        if left > 0 {
            self.queue.add_after(work.key.clone(), Duration::from_nanos(left.unsigned_abs()));
        } else if held {
            self.observed.action(&work.key, "let the range go".to_string());
            self.finalizer(&client, &range, "$deleteFromPrimitiveList/finalizers").await?;
        }
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        let Err(err) = result else { return self.queue.forget(&work.key) };
        let retry = self.queue.num_requeues(&work.key) < MAX_RETRIES;
        let (text, place) = match retry {
            true => ("Error syncing ServiceCIDR, retrying", "servicecidrs_controller.go:276"),
            false => ("Dropping ServiceCIDR out of the queue", "servicecidrs_controller.go:279"),
        };
        klog::info(text).str("logger", NAME).str("ServiceCIDR", &work.key.name).err(&err).log(&self.ctx, place);
        if retry {
            self.queue.retry(work);
        } else {
            self.queue.forget(&work.key);
        }
    }
}
