//! Leases.

use super::at::{At, Errors};
use super::metadata;
use crate::coordination_v1::{Lease, LeaseSpec};

/// A new Lease.
pub(super) fn create(lease: &Lease, errors: &mut Errors) {
    metadata::create(&lease.metadata, true, metadata::subdomain, errors);
    spec(&lease.spec, &At::new("spec"), errors);
}

/// A changed Lease.
pub(super) fn update(new: &Lease, old: &Lease, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.spec.same(&old.spec) {
        spec(&new.spec, &At::new("spec"), errors);
    }
}

fn spec(spec: &LeaseSpec, at: &At, errors: &mut Errors) {
    if let Some(seconds) = spec.lease_duration_seconds
        && seconds <= 0
    {
        errors.invalid(&at.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    if let Some(transitions) = spec.lease_transitions {
        errors.not_negative(&at.child("leaseTransitions"), transitions);
    }
}
