//! ServiceCIDRs and IPAddresses.

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::{addresses, metadata};
use crate::names;
use crate::networking_v1::{IPAddress, ServiceCIDR, ServiceCIDRSpec};

/// An address in its canonical form, as a name.
fn address_name(name: &str, _: bool) -> Vec<String> {
    let mut errors = Errors::default();
    addresses::ip(name, &At::none(), &mut errors);
    errors.finish().into_iter().map(|e| e.detail).collect()
}

/// A new IPAddress.
pub(super) fn create_ip_address(address: &IPAddress, errors: &mut Errors) {
    metadata::create(&address.metadata, false, address_name, errors);
    parent(address, false, errors);
}

/// The object that an address is for. What is declared of it isn't looked at once it is another one.
fn parent(address: &IPAddress, changed: bool, errors: &mut Errors) {
    let spec = At::new("spec");
    let at = &spec.child("parentRef");
    let Some(parent) = address.spec.parent_ref.get() else {
        return if changed { errors.required(at, "") } else { errors.declared_required(at) };
    };
    if !parent.group.is_empty() {
        errors.each(&at.child("group"), &parent.group, names::dns1123_subdomain(&parent.group));
    }
    for (name, value, required) in
        [("resource", &parent.resource, true), ("name", &parent.name, true), ("namespace", &parent.namespace, false)]
    {
        if !value.is_empty() {
            errors.each(&at.child(name), value, names::path_segment(value));
        } else if required && changed {
            errors.required(&at.child(name), "");
        } else if required {
            errors.declared_required(&at.child(name));
        }
    }
}

/// A changed IPAddress.
pub(super) fn update_ip_address(new: &IPAddress, old: &IPAddress, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let at = At::new("spec");
    if new.spec.parent_ref != old.spec.parent_ref {
        parent(new, true, errors);
    }
    errors.declared_immutable(&at.child("parentRef"), &new.spec.parent_ref, &old.spec.parent_ref);
}

/// A new ServiceCIDR.
pub(super) fn create_service_cidr(cidr: &ServiceCIDR, errors: &mut Errors) {
    metadata::create(&cidr.metadata, false, metadata::subdomain, errors);
    cidrs(&cidr.spec, errors);
}

fn cidrs(spec: &ServiceCIDRSpec, errors: &mut Errors) {
    let at = At::new("spec");
    let at = &at.child("cidrs");
    if spec.cidrs.is_empty() {
        return errors.required(at, "at least one CIDR required");
    }
    if spec.cidrs.len() > 2 {
        return errors.invalid(at, Internal(spec), "may only hold up to 2 values");
    }
    let mut families = Vec::new();
    for (i, cidr) in spec.cidrs.iter().enumerate() {
        addresses::cidr(cidr, &at.index(i), errors);
        families.extend(addresses::sloppy_cidr(cidr).map(|(ip, _)| ip.is_ipv4()));
    }
    if let [a, b] = families.as_slice()
        && a == b
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(at, &spec.cidrs, why);
    }
}

/// A changed ServiceCIDR.
pub(super) fn update_service_cidr(new: &ServiceCIDR, old: &ServiceCIDR, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    let (now, was) = (&new.spec.cidrs, &old.spec.cidrs);
    let at = At::new("spec");
    let at = &at.child("cidrs");
    if now.len() == was.len() || (was.len() == 1 && now.len() == 2) {
        for (i, (n, _)) in now.iter().zip(was).enumerate().filter(|(_, (n, w))| n != w) {
            errors.invalid(&at.index(i), n, IMMUTABLE);
        }
        if now.len() > was.len() {
            cidrs(&new.spec, errors);
        }
    } else {
        errors.invalid(at, now, IMMUTABLE);
    }
}
