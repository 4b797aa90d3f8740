//! EndpointSlices.

use super::at::{At, Errors};
use super::{addresses, labels, metadata};
use crate::discovery_v1::{Endpoint, EndpointHints, EndpointPort, EndpointSlice};
use crate::{field, names};

const TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const TOPOLOGY_MAX: usize = 16;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const ENDPOINTS_MAX: usize = 1000;
const HINTS_MAX: usize = 8;

/// A new EndpointSlice.
pub(super) fn create(slice: &EndpointSlice, errors: &mut Errors) {
    metadata::create(&slice.metadata, true, metadata::subdomain, errors);
    let address_type = &At::new("addressType");
    if slice.address_type.is_empty() {
        errors.declared_required(address_type);
    } else {
        errors.declared_one_of(address_type, &slice.address_type, &TYPES);
    }
    ports(&slice.ports, &At::new("ports"), errors);
    endpoints(slice, &At::new("endpoints"), errors);
}

/// A changed EndpointSlice.
pub(super) fn update(new: &EndpointSlice, old: &EndpointSlice, errors: &mut Errors) {
    if !metadata::unchanged(&new.metadata, &old.metadata) {
        metadata::create(&new.metadata, true, metadata::subdomain, errors);
    }
    if new.address_type != old.address_type {
        if new.address_type.is_empty() {
            errors.required(&At::new("addressType"), "");
        } else {
            errors.one_of(&At::new("addressType"), &new.address_type, &TYPES);
        }
    }
    errors.declared_immutable(&At::new("addressType"), &new.address_type, &old.address_type);
    if !new.ports.same(&old.ports) {
        ports(&new.ports, &At::new("ports"), errors);
    }
    if new.endpoints != old.endpoints {
        endpoints(new, &At::new("endpoints"), errors);
    }
}

fn ports(list: &[EndpointPort], at: &At, errors: &mut Errors) {
    if list.len() > PORTS_MAX {
        return errors.too_many(at, list.len(), PORTS_MAX);
    }
    for (i, port) in list.iter().enumerate() {
        let at = &at.index(i);
        let name = port.name.or_empty();
        if !name.is_empty() {
            errors.each(&at.child("name"), name, names::dns1123_label(name));
        }
        if list.iter().take(i).any(|p| p.name.or_empty() == name) {
            errors.duplicate(&at.child("name"), name);
        }
        match port.protocol.get() {
            None => errors.required(&at.child("protocol"), ""),
            Some(protocol) => errors.one_of(&at.child("protocol"), protocol, &["SCTP", "TCP", "UDP"]),
        }
        if let Some(protocol) = port.app_protocol.get() {
            errors.each(&at.child("appProtocol"), protocol, names::qualified_name(protocol));
        }
    }
}

fn endpoints(slice: &EndpointSlice, at: &At, errors: &mut Errors) {
    let list = &slice.endpoints;
    if list.len() > ENDPOINTS_MAX {
        return errors.too_many(at, list.len(), ENDPOINTS_MAX);
    }
    for (i, endpoint) in list.iter().enumerate() {
        self::endpoint(endpoint, &slice.address_type, &at.index(i), errors);
    }
}

fn endpoint(endpoint: &Endpoint, kind: &str, at: &At, errors: &mut Errors) {
    let at_addresses = &at.child("addresses");
    if endpoint.addresses.is_empty() {
        errors.declared_required(at_addresses);
    } else if endpoint.addresses.len() > ADDRESSES_MAX {
        errors.declared(field::too_many(&at_addresses.path(), endpoint.addresses.len(), ADDRESSES_MAX));
    }
    for (i, address) in endpoint.addresses.iter().enumerate() {
        let at_item = &at_addresses.index(i);
        let before = errors.len();
        match kind {
            "IPv4" => addresses::legacy_ip(address, at_item, errors),
            "IPv6" => addresses::ip(address, at_item, errors),
            "FQDN" => {
                if address.is_empty() {
                    errors.required(at_item, "");
                } else {
                    let wrong = names::dns1123_subdomain(address);
                    if wrong.is_empty() && !address.contains('.') {
                        errors.invalid(
                            at_item,
                            address,
                            "should be a domain with at least two segments separated by dots",
                        );
                    }
                    errors.each(at_item, address, wrong);
                }
                continue;
            }
            _ => continue,
        }
        if errors.len() > before {
            continue;
        }
        if address.contains(':') != (kind == "IPv6") {
            errors.invalid(at_addresses, address, format!("must be an {kind} address"));
        }
        addresses::endpoint(address, at_item, errors);
    }
    if let Some(node) = endpoint.node_name.get() {
        errors.each(&at.child("nodeName"), node, names::dns1123_subdomain(node));
    }
    let topology = &at.child("deprecatedTopology");
    if endpoint.deprecated_topology.len() > TOPOLOGY_MAX {
        errors.too_many(topology, endpoint.deprecated_topology.len(), TOPOLOGY_MAX);
    }
    labels::labels(&endpoint.deprecated_topology, topology, errors);
    if let Some(name) = endpoint.hostname.get() {
        errors.each(&at.child("hostname"), name, names::dns1123_label(name));
    }
    if let Some(hints) = endpoint.hints.get() {
        self::hints(hints, &at.child("hints"), errors);
    }
}

fn hints(hints: &EndpointHints, at: &At, errors: &mut Errors) {
    let zones: Vec<&str> = hints.for_zones.iter().map(|z| &*z.name).collect();
    let nodes: Vec<&str> = hints.for_nodes.iter().map(|n| &*n.name).collect();
    let lists: [(&str, Vec<&str>, fn(&str) -> Vec<String>); 2] =
        [("forZones", zones, names::label_value), ("forNodes", nodes, names::dns1123_subdomain)];
    for (field, list, check) in lists {
        let at = &at.child(field);
        if list.len() > HINTS_MAX {
            return errors.too_many(at, list.len(), HINTS_MAX);
        }
        for (i, name) in list.iter().enumerate() {
            let at = at.index(i);
            if list.iter().take(i).any(|n| n == name) {
                errors.duplicate(&at.child("name"), *name);
            }
            errors.each(&at.child("name"), name, check(name));
        }
    }
}
