//! What a Service is given: cluster IPs (each an IPAddress object, pkg/registry/core/service/ipallocator) and node
//! ports (portallocator).

use std::collections::BTreeMap;

use api::core_v1::Service;
use api::field::{self, ErrorList, Path};
use api::networking_v1::{IPAddress, IPAddressSpec, ParentReference};
use api::service_cidr::{LABEL_FAMILY, LABEL_MANAGED_BY, MANAGED_BY};
use api::{List, Object, Status, Str};
use sim::Ip;

use crate::registry::Call;
use crate::strategy::service::{before_create, needs_cluster_ip, needs_health_check, needs_node_port};
use crate::{Inner, errors, storage::Write};

/// A range of addresses: the first address and the length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The network's address.
    pub network: Ip,
    /// Bits of the prefix.
    pub bits: u8,
}

impl Cidr {
    /// How many addresses there are, the network's own and the broadcast one included.
    pub fn size(&self) -> u32 {
        1u32.checked_shl(u32::from(32 - self.bits.min(32))).unwrap_or(u32::MAX)
    }

    /// The nth address.
    pub fn nth(&self, n: u32) -> Ip {
        Ip(self.network.0.wrapping_add(n))
    }

    /// Whether an address may be given out.
    pub fn contains(&self, ip: Ip) -> bool {
        let n = ip.0.wrapping_sub(self.network.0);
        n > 0 && n < self.size().saturating_sub(1)
    }

    /// The range of a ServiceCIDR; nothing for one of IPv6.
    pub fn parse(text: &str) -> Option<Cidr> {
        match api::cidr::Cidr::parse(text)? {
            api::cidr::Cidr { network: std::net::IpAddr::V4(network), bits } => {
                Some(Cidr { network: Ip(u32::from(network)), bits })
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

/// The lower part of the range is left to addresses that users pick.
fn band(size: u32) -> u32 {
    const MIN: u32 = 16;
    const MAX: u32 = 256;
    const STEP: u32 = 16;
    if size < MIN { 0 } else { (size / STEP).clamp(MIN, MAX) }
}

/// `--service-node-port-range`.
const NODE_PORTS: std::ops::RangeInclusive<i32> = 30000..=32767;

/// Ports of writes whose result the cache doesn't show yet, with the revision after which it does (0: still open).
#[derive(Default)]
pub struct Allocator {
    ports: BTreeMap<i32, u64>,
}

/// What was allocated for one write.
#[derive(Default)]
pub struct Allocated {
    ips: Vec<Str>,
    ports: Vec<i32>,
}

fn is_none(ip: &str) -> bool {
    ip == "None"
}

/// The node ports of a service, that of its health check among them.
fn ports_of(service: &Service) -> impl Iterator<Item = i32> + '_ {
    let ports = service.spec.ports.iter().map(|port| port.node_port);
    ports.chain([service.spec.health_check_node_port]).filter(|port| *port != 0)
}

/// Why a node port that was asked for can't be had.
fn wrong_port(port: i32, taken: bool) -> Option<String> {
    if !NODE_PORTS.contains(&port) {
        let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
        return Some(format!("provided port is not in the valid range. The range of valid ports is {first}-{last}"));
    }
    taken.then(|| "provided port is already allocated".into())
}

impl Inner {
    /// Gives an object what it needs and doesn't have. Only services need something.
    pub(crate) async fn allocate(
        &self,
        call: &Call,
        object: &mut dyn Object,
        old: Option<&dyn Object>,
    ) -> Result<Allocated, Status> {
        let mut allocated = Allocated::default();
        let Some(service) = object.downcast_mut::<Service>() else { return Ok(allocated) };
        let old = old.and_then(|old| old.downcast_ref::<Service>());
        if old.is_none() {
            before_create(service);
        }
        if needs_cluster_ip(service) {
            families(service);
            if let Err(status) = self.allocate_ips(call, service, old, &mut allocated).await {
                self.release(call, allocated).await;
                return Err(status);
            }
        }
        if (needs_node_port(service) || needs_health_check(service))
            && let Err(status) = self.allocate_ports(call, service, old, &mut allocated)
        {
            self.release(call, allocated).await;
            return Err(status);
        }
        Ok(allocated)
    }

    async fn allocate_ips(
        &self,
        call: &Call,
        service: &mut Service,
        old: Option<&Service>,
        allocated: &mut Allocated,
    ) -> Result<(), Status> {
        if is_none(&service.spec.cluster_ip) {
            return Ok(());
        }
        let kept = |ip: &Str| old.is_some_and(|old| old.spec.cluster_ips.contains(ip));
        let wanted: Vec<Str> = service.spec.cluster_ips.iter().filter(|ip| !kept(ip)).cloned().collect();
        for ip in wanted {
            // What is no address is refused by validation.
            let Some(parsed) = parse_ip(&ip) else { continue };
            let failed = |why: &str| {
                let path = Path::new("spec").child("clusterIPs");
                let detail = format!("failed to allocate IP {ip}: {why}");
                let failures: ErrorList = field::invalid(&path, service.spec.cluster_ips.clone(), detail).into();
                Status::invalid_kind(call.resource().kind, &service.metadata.name, &failures)
            };
            let ready = self.ready_ranges();
            if call.write.dry_run {
                // Nothing is looked up, only the first range is asked.
                if let Some(range) = ready.first().filter(|range| !range.contains(parsed)) {
                    let why = "is not in the valid range. The range of valid IPs is";
                    return Err(failed(&format!("the provided IP ({ip}) {why} {range}")));
                }
                continue;
            }
            if !ready.iter().any(|range| range.contains(parsed)) {
                return Err(failed("the provided network does not match the current range"));
            }
            if !self.claim(&ip, service).await? {
                return Err(failed("provided IP is already allocated"));
            }
            allocated.ips.push(ip);
        }
        if service.spec.cluster_ips.is_empty() {
            let ip = self.claim_any(call, service).await?;
            allocated.ips.push(ip.clone());
            let spec = service.spec.make();
            spec.cluster_ip = ip.clone();
            spec.cluster_ips = List::from(vec![ip]);
        }
        Ok(())
    }

    /// Takes a free address of a range that is ready. A dry run is shown the range's own address.
    async fn claim_any(&self, call: &Call, service: &Service) -> Result<Str, Status> {
        let ranges = self.ready_ranges();
        // Any of them may come first.
        let first = match ranges.len() {
            0 | 1 => 0,
            count => self.draw.borrow_mut().below(u32::try_from(count).unwrap_or(1)) as usize,
        };
        for range in ranges.iter().cycle().skip(first).take(ranges.len()) {
            if call.write.dry_run {
                return Ok(Str::from(range.network.to_string()));
            }
            if let Some(ip) = self.claim_of(range, service).await? {
                return Ok(ip);
            }
        }
        Err(Status::internal("failed to allocate a serviceIP: range is full"))
    }

    /// Takes a free address of a range: drawn from its upper part, then the next ones.
    async fn claim_of(&self, range: &Cidr, service: &Service) -> Result<Option<Str>, Status> {
        let size = range.size().saturating_sub(1);
        let offset = band(size);
        let upper = size.saturating_sub(offset).max(1);
        let start = self.draw.borrow_mut().below(upper);
        // The lower part is only used once the upper is full.
        let candidates = (0..upper).map(|i| offset + (start + i) % upper).chain(1..offset);
        for n in candidates.filter(|n| *n > 0) {
            let ip = Str::from(range.nth(n).to_string());
            if self.cache.resource(self.ip_addresses).get(&ip).is_some() {
                continue;
            }
            if self.claim(&ip, service).await? {
                return Ok(Some(ip));
            }
        }
        Ok(None)
    }

    /// Creates the IPAddress of a service; false if somebody has it.
    pub(crate) async fn claim(&self, ip: &Str, service: &Service) -> Result<bool, Status> {
        let key = format!("/registry/ipaddresses/{ip}");
        if crate::registry::read(self, &key).await?.is_some() {
            return Ok(false);
        }
        let address = ip_address(self, ip, service);
        match self.storage.put(&key, 0, (std::rc::Rc::new(address), None), None).await.map_err(errors::store)? {
            Write::Done(_) => Ok(true),
            Write::Conflict(_) => Ok(false),
        }
    }

    fn allocate_ports(
        &self,
        call: &Call,
        service: &mut Service,
        old: Option<&Service>,
        allocated: &mut Allocated,
    ) -> Result<(), Status> {
        let mut before: Vec<i32> =
            old.map(|old| old.spec.ports.iter().map(|p| p.node_port).collect()).unwrap_or_default();
        before.extend(old.map(|old| old.spec.health_check_node_port).filter(|port| *port != 0));
        let mut used = self.used_ports();
        for port in &before {
            used.remove(port);
        }
        let mut taken: Vec<(i32, Str)> = Vec::new();
        let name = service.metadata.name.clone();
        let (with_ports, with_health) = (needs_node_port(service), needs_health_check(service));
        let spec = service.spec.make();
        let keep = |port: i32, allocated: &mut Allocated| {
            if !before.contains(&port) && !call.write.dry_run {
                self.alloc.borrow_mut().ports.insert(port, 0);
                allocated.ports.push(port);
            }
        };
        let full = "failed to allocate a nodePort: range is full";
        for (i, port) in spec.ports.make().iter_mut().enumerate().filter(|_| with_ports) {
            let path = Path::new("spec").child("ports").index(i).child("nodePort");
            if port.node_port == 0 {
                // A port with the number of one before it, for another protocol, shares its node port.
                port.node_port = self.free_port(&used, &taken).ok_or_else(|| Status::internal(full))?;
            } else if let Some(why) = wrong_port(port.node_port, used.contains_key(&port.node_port)) {
                let failures: ErrorList = field::invalid(&path, port.node_port, why).into();
                return Err(Status::invalid_kind(call.resource().kind, &name, &failures));
            }
            taken.push((port.node_port, port.protocol.clone()));
            keep(port.node_port, allocated);
        }
        if with_health {
            let port = spec.health_check_node_port;
            let taken_already = used.contains_key(&port) || taken.iter().any(|(other, _)| *other == port);
            if port == 0 {
                spec.health_check_node_port = self.free_port(&used, &taken).ok_or_else(|| Status::internal(full))?;
            } else if let Some(why) = wrong_port(port, taken_already) {
                let why = format!("failed to allocate requested HealthCheck NodePort {port}: {why}");
                return Err(Status::internal(why));
            }
            keep(spec.health_check_node_port, allocated);
        }
        Ok(())
    }

    fn used_ports(&self) -> BTreeMap<i32, ()> {
        let mut used: BTreeMap<i32, ()> = BTreeMap::new();
        let revision = self.cache.revision();
        // A port whose write the cache has seen is found there.
        self.alloc.borrow_mut().ports.retain(|_, seen| *seen == 0 || *seen > revision);
        used.extend(self.alloc.borrow().ports.keys().map(|port| (*port, ())));
        self.cache.resource(self.services).each("", |object| {
            if let Some(service) = object.body.downcast_ref::<Service>() {
                used.extend(ports_of(service).map(|port| (port, ())));
            }
        });
        used
    }

    fn free_port(&self, used: &BTreeMap<i32, ()>, taken: &[(i32, Str)]) -> Option<i32> {
        let count = NODE_PORTS.end() - NODE_PORTS.start() + 1;
        let start = self.draw.borrow_mut().below(count.unsigned_abs()) as i32;
        let mut ports = (0..count).map(|i| NODE_PORTS.start() + (start + i) % count);
        ports.find(|port| !used.contains_key(port) && !taken.iter().any(|(other, _)| other == port))
    }

    /// Gives back what a failed write had been given.
    pub(crate) async fn release(&self, call: &Call, allocated: Allocated) {
        for port in allocated.ports {
            self.alloc.borrow_mut().ports.remove(&port);
        }
        if !call.write.dry_run {
            for ip in allocated.ips {
                self.free_ip(&ip).await;
            }
        }
    }

    /// After an update: what the service no longer has goes back.
    pub(crate) async fn give_up(&self, call: &Call, new: &dyn Object, old: &dyn Object) {
        let (Some(new), Some(old)) = (new.downcast_ref::<Service>(), old.downcast_ref::<Service>()) else { return };
        self.note_ports(call, new);
        for ip in old.spec.cluster_ips.iter().filter(|ip| !is_none(ip) && !new.spec.cluster_ips.contains(ip)) {
            self.free_ip(ip).await;
        }
    }

    /// Ports of a written service are kept here until the cache has seen the write.
    pub(crate) fn note_ports(&self, call: &Call, service: &Service) {
        let revision = call.entry.revision.get();
        let mut alloc = self.alloc.borrow_mut();
        for port in ports_of(service) {
            if let Some(seen) = alloc.ports.get_mut(&port) {
                *seen = revision.max(1);
            }
        }
    }

    /// One line of the log for a new service's addresses.
    pub(crate) fn log_allocation(&self, service: &Service) {
        if !service.spec.cluster_ip.is_empty() && !is_none(&service.spec.cluster_ip) {
            let text = format!(
                "\"allocated clusterIPs\" service=\"{}/{}\" clusterIPs={{\"IPv4\":\"{}\"}}",
                service.metadata.namespace, service.metadata.name, service.spec.cluster_ip
            );
            self.ctx.log(sim::Severity::Info, "alloc.go:329", text);
        }
    }

    /// After a deletion.
    pub(crate) async fn deleted(&self, object: &dyn Object) {
        if let Some(service) = object.downcast_ref::<Service>() {
            for ip in service.spec.cluster_ips.iter().filter(|ip| !is_none(ip)) {
                self.free_ip(ip).await;
            }
        }
    }

    async fn free_ip(&self, ip: &Str) {
        let key = format!("/registry/ipaddresses/{ip}");
        // What cannot be deleted now is left over until it is repaired.
        let _ = crate::registry::remove(self, &key).await;
    }
}

/// The IPAddress of a service.
pub fn ip_address(server: &Inner, ip: &Str, service: &Service) -> IPAddress {
    let mut address = IPAddress::default();
    address.metadata.name = ip.clone();
    address.metadata.uid = server.uid();
    address.metadata.creation_timestamp = api::Time::from_unix_nanos(server.ctx.unix_nanos());
    address.metadata.labels.insert(Str::from(LABEL_FAMILY), Str::from("IPv4"));
    address.metadata.labels.insert(Str::from(LABEL_MANAGED_BY), Str::from(MANAGED_BY));
    address.spec = IPAddressSpec {
        parent_ref: ParentReference {
            resource: "services".into(),
            namespace: service.metadata.namespace.clone(),
            name: service.metadata.name.clone(),
            ..Default::default()
        }
        .into(),
    }
    .into();
    address
}

/// Sets the IP families of a service of this single-stack cluster.
fn families(service: &mut Service) {
    let headless_without_selector = is_none(&service.spec.cluster_ip) && service.spec.selector.is_empty();
    let dual = headless_without_selector
        && service.spec.ip_family_policy.get().is_none()
        && service.spec.ip_families.is_empty();
    let spec = service.spec.make();
    if spec.ip_family_policy.get().is_none() {
        spec.ip_family_policy = if dual { "RequireDualStack".into() } else { "SingleStack".into() };
    }
    if spec.ip_families.is_empty() {
        let mut families = vec![Str::from("IPv4")];
        if dual {
            families.push("IPv6".into());
        }
        spec.ip_families = List::from(families);
    }
}

/// Reads an IPv4 address.
pub fn parse_ip(text: &str) -> Option<Ip> {
    let mut parts = text.split('.').map(|part| part.parse::<u8>().ok().filter(|n| n.to_string() == part));
    let ip = Ip::new(parts.next()??, parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_as_the_real_ones() {
        let range = Cidr { network: Ip::new(10, 96, 0, 0), bits: 12 };
        assert_eq!(range.size(), 1 << 20);
        assert_eq!(range.nth(1).to_string(), "10.96.0.1");
        assert!(range.contains(Ip::new(10, 111, 255, 254)));
        assert!(!range.contains(Ip::new(10, 111, 255, 255)));
        assert!(!range.contains(Ip::new(10, 96, 0, 0)));
        assert_eq!((band(range.size()), band(256), band(8)), (256, 16, 0));
        assert_eq!(parse_ip("10.96.0.10"), Some(Ip::new(10, 96, 0, 10)));
        assert_eq!(parse_ip("10.096.0.10"), None);
        assert_eq!(parse_ip("10.96.0"), None);
    }
}
