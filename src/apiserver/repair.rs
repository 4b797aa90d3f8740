//! Brings Services' cluster IPs and the IPAddress objects into line
//! (pkg/registry/core/service/ipallocator/controller/repairip.go).

use std::collections::BTreeSet;
use std::rc::Rc;

use api::core_v1::{ObjectReference, Service};
use api::events_v1::Event;
use api::networking_v1::{IPAddress, ServiceCIDR};
use api::rest::{Body, Verb};
use api::service_cidr::{LABEL_FAMILY, is_managed};
use api::{AnyRev, MicroTime, Resource, Status, Str};
use futures_util::future::select;
use sim::{Duration, Instant, Severity};

use crate::Inner;
use crate::bootstrap::own_call;
use crate::cache::Scope;

const NAME: &str = "ipallocator-repair-controller";
/// Everything is looked at again this often.
const RESYNC: Duration = Duration::from_secs(3 * 60);
/// A Service that is being created may have its address this much earlier than it is there itself.
const GRACE: Duration = Duration::from_secs(60);
/// A Service that is refused gives its address back within this time.
const REVERTED: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(1);

/// An object to be looked at. Bounded by the number of Services and addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Service(Rc<str>),
    Address(Rc<str>),
}

struct Repair {
    server: Rc<Inner>,
    /// What is to be looked at later.
    later: BTreeSet<(Instant, Key)>,
}

/// Repairs for ever.
pub(crate) async fn keep(server: Rc<Inner>) {
    server.ctx.log(Severity::Info, "repairip.go:210", format!("Starting {NAME}"));
    let mut repair = Repair { server: server.clone(), later: BTreeSet::new() };
    loop {
        let (services, addresses) =
            (server.cache.resource(server.services), server.cache.resource(server.ip_addresses));
        let since = server.cache.revision();
        let (Ok(of_services), Ok(of_addresses)) =
            (services.watch(Scope::All, since), addresses.watch(Scope::All, since))
        else {
            server.ctx.sleep(RETRY).await;
            continue;
        };
        let mut resync = server.ctx.now();
        while !of_services.ended() && !of_addresses.ended() {
            let now = server.ctx.now();
            if resync <= now {
                resync = now + RESYNC;
                repair.all().await;
                continue;
            }
            let woken = select(of_services.woken(), of_addresses.woken());
            if let Some(event) = of_services.pop() {
                repair.look(Key::Service(event.key.clone())).await;
            } else if let Some(event) = of_addresses.pop() {
                repair.look(Key::Address(event.key.clone())).await;
            } else if let Some((_, key)) = repair.due(now) {
                repair.look(key).await;
            } else {
                let next = repair.later.first().map_or(resync, |(at, _)| resync.min(*at));
                select(woken, server.ctx.sleep_until(next)).await;
            }
        }
        services.unwatch(&of_services);
        addresses.unwatch(&of_addresses);
    }
}

impl Repair {
    /// Takes what is to be looked at by now.
    fn due(&mut self, now: Instant) -> Option<(Instant, Key)> {
        let first = self.later.first().filter(|(at, _)| *at <= now)?.clone();
        self.later.take(&first)
    }

    async fn all(&mut self) {
        let keys =
            |resource: usize| self.server.cache.resource(resource).list("", None).into_iter().map(|(key, _)| key);
        let services: Vec<Key> = keys(self.server.services).map(Key::Service).collect();
        let addresses: Vec<Key> = keys(self.server.ip_addresses).map(Key::Address).collect();
        for key in services.into_iter().chain(addresses) {
            self.look(key).await;
        }
    }

    async fn look(&mut self, key: Key) {
        let done = match &key {
            Key::Service(name) => self.service(name).await,
            Key::Address(name) => self.address(name).await,
        };
        if done.is_err() {
            self.later.insert((self.server.ctx.now() + RETRY, key));
        }
    }

    fn get(&self, resource: usize, key: &str) -> Option<AnyRev> {
        self.server.cache.resource(resource).get(key)
    }

    /// Each cluster IP of a Service has an address object that is the Service's.
    async fn service(&mut self, key: &str) -> Result<(), Status> {
        let Some(found) = self.get(self.server.services, key) else { return Ok(()) };
        let Some(service) = found.body.downcast_ref::<Service>() else { return Ok(()) };
        if matches!(&*service.spec.cluster_ip, "" | "None") {
            return Ok(());
        }
        let name = format!("{}/{}", service.metadata.namespace, service.metadata.name);
        for ip in &service.spec.cluster_ips {
            let Ok(parsed) = ip.parse() else { continue };
            let mut served = false;
            self.server.cache.resource(self.server.service_cidrs).each("", |range| {
                let range = range.body.downcast_ref::<ServiceCIDR>();
                let mut cidrs = range.iter().flat_map(|range| range.spec.cidrs.iter());
                served |= cidrs.any(|cidr| api::cidr::Cidr::parse(cidr).is_some_and(|cidr| cidr.serves(parsed)));
            });
            let warn = |reason: &'static str, note: String| self.warn(&found, reason, "ClusterIPAllocation", note);
            if !served {
                let note = "is not within any configured Service CIDR; please recreate service";
                warn("ClusterIPOutOfRange", format!("Cluster IP [IPv4]: {ip} {note}")).await;
                self.unhandled(format!(
                    "the ClusterIP [IPv4]: {ip} for Service {name} is not within any service CIDR; please recreate"
                ));
                continue;
            }
            let Some(stored) = self.get(self.server.ip_addresses, ip) else {
                warn("ClusterIPNotAllocated", format!("Cluster IP [IPv4]: {ip} is not allocated; repairing")).await;
                self.unhandled(format!("the ClusterIP [IPv4]: {ip} for Service {name} is not allocated; repairing"));
                self.server.claim(ip, service).await?;
                continue;
            };
            let Some(address) = stored.body.downcast_ref::<IPAddress>() else { continue };
            let parent = parent_of(address);
            if parent.as_deref() != Some(&*name) {
                let other = parent.and_then(|parent| self.get(self.server.services, &parent));
                let Some(other) = other else {
                    let note =
                        format!("the ClusterIP [IPv4]: {ip} for Service {name} has a wrong reference; repairing");
                    warn("ClusterIPNotAllocated", note).await;
                    self.recreate(ip, service).await?;
                    continue;
                };
                if let Some(other) = other.body.downcast_ref::<Service>().filter(|o| o.spec.cluster_ips.contains(ip)) {
                    let note = "was assigned to multiple services; please recreate service";
                    warn("ClusterIPAlreadyAllocated", format!("Cluster IP [IPv4]:{ip} {note}")).await;
                    self.unhandled(format!(
                        "the cluster IP [IPv4]:{ip} for service {name} was assigned to other services {}/{}; please recreate",
                        other.metadata.namespace, other.metadata.name
                    ));
                }
            }
            if !is_managed(address) || address.metadata.labels.get(LABEL_FAMILY).is_none_or(|f| f != "IPv4") {
                self.recreate(ip, service).await?;
            }
        }
        Ok(())
    }

    async fn recreate(&self, ip: &Str, service: &Service) -> Result<(), Status> {
        self.forget(ip).await?;
        self.server.claim(ip, service).await.map(drop)
    }

    async fn forget(&self, ip: &str) -> Result<(), Status> {
        crate::registry::remove(&self.server, &format!("/registry/ipaddresses/{ip}")).await
    }

    /// Each address of the allocator is a cluster IP of its Service.
    async fn address(&mut self, ip: &str) -> Result<(), Status> {
        let Some(found) = self.get(self.server.ip_addresses, ip) else { return Ok(()) };
        let Some(address) = found.body.downcast_ref::<IPAddress>().filter(|address| is_managed(address)) else {
            return Ok(());
        };
        let warn = |reason: &'static str, note: String| self.warn(&found, reason, "IPAddressAllocation", note);
        let Some(key) = parent_of(address) else {
            let p = &address.spec.parent_ref;
            let parent = p.get().map_or("nil".to_string(), |p| {
                format!(
                    "&ParentReference{{Group:{},Resource:{},Namespace:{},Name:{},}}",
                    p.group, p.resource, p.namespace, p.name
                )
            });
            let note = format!(
                "IPAddress {ip} appears to have been modified, not referencing a Service {parent}: cleaning up"
            );
            self.unhandled(note.clone());
            warn("IPAddressNotAllocated", note).await;
            return self.forget(ip).await;
        };
        let born = |time: api::Time| time.unix().unwrap_or(0).saturating_mul(1_000_000_000);
        let created = born(address.metadata.creation_timestamp);
        let age = self.server.ctx.unix_nanos().saturating_sub(created);
        let age = Duration::from_nanos(age.max(0).unsigned_abs());
        let again = |after: Duration| (self.server.ctx.now() + after, Key::Address(Rc::from(ip)));
        let service = self.get(self.server.services, &key);
        let Some(service) = service.as_ref().and_then(|found| found.body.downcast_ref::<Service>()) else {
            if age <= GRACE {
                // A moment later, since only then more than this time has passed.
                let next = again(GRACE.saturating_sub(age) + Duration::from_millis(1));
                self.later.insert(next);
                return Ok(());
            }
            self.unhandled(format!("IPAddress {ip} appears to have leaked: cleaning up"));
            let note = format!("IPAddress: {ip} for Service {key} appears to have leaked: cleaning up");
            warn("IPAddressNotAllocated", note).await;
            return self.forget(ip).await;
        };
        if service.spec.cluster_ips.iter().any(|other| &**other == ip) {
            return Ok(());
        }
        let wait = if service.spec.type_ == "ExternalName" && age < GRACE {
            Some(GRACE.saturating_sub(age))
        } else {
            (created > born(service.metadata.creation_timestamp) && age < REVERTED).then_some(REVERTED)
        };
        if let Some(wait) = wait {
            let next = again(wait);
            self.later.insert(next);
            return Ok(());
        }
        self.unhandled(format!("the IPAddress: {ip} for Service {key} has a wrong reference; cleaning up"));
        let note = format!("IPAddress: {ip} for Service {key} has a wrong reference; cleaning up");
        warn("IPAddressWrongReference", note).await;
        self.forget(ip).await
    }

    fn unhandled(&self, error: String) {
        let text = format!("\"Unhandled Error\" err={} logger=\"UnhandledError\"", api::go::quote(&error));
        self.server.ctx.log(Severity::Error, "repairip.go:340", text);
    }

    /// Writes an event about an object. What cannot be written is lost.
    async fn warn(&self, about: &AnyRev, reason: &str, action: &str, note: String) {
        let Some(metadata) = about.body.metadata() else { return };
        let is_service = about.body.downcast_ref::<Service>().is_some();
        let kind = if is_service { Service::KIND } else { IPAddress::KIND };
        let nanos = self.server.ctx.unix_nanos();
        let mut event = Event::default();
        let namespace = if is_service { metadata.namespace.clone() } else { "default".into() };
        event.metadata.name = format!("{}.{nanos:x}", metadata.name).into();
        event.metadata.namespace = namespace.clone();
        event.event_time = MicroTime::from_unix_nanos(nanos);
        event.reporting_controller = NAME.into();
        event.reporting_instance = format!("{NAME}-{}", self.server.ctx.host_name()).into();
        event.action = action.into();
        event.reason = reason.into();
        event.type_ = "Warning".into();
        event.note = note.into();
        event.regarding = ObjectReference {
            api_version: kind.api_version.into(),
            kind: kind.kind.into(),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            resource_version: about.revision.to_string().into(),
            ..ObjectReference::default()
        };
        let body = Body::Object(Rc::new(event));
        if let Some(call) = own_call(&self.server, Verb::Create, Event::KIND, &namespace, "", body) {
            let _ = call.create().await;
        }
    }
}

/// The Service that an address is for: its key.
fn parent_of(address: &IPAddress) -> Option<String> {
    let parent = address.spec.parent_ref.get()?;
    (parent.group.is_empty() && parent.resource == "services").then(|| format!("{}/{}", parent.namespace, parent.name))
}
