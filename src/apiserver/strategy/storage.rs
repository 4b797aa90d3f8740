//! Volumes, claims and the storage group.

use api::Object;
use api::core_v1::{PersistentVolume, PersistentVolumeClaim, TypedLocalObjectReference, TypedObjectReference};
use api::storage_v1::CSINode;

use super::{Generation, Moment, Strategy, only_status};

const GROUP: &str = "storage.k8s.io";

pub static STRATEGIES: &[Strategy] = &[
    Strategy {
        resource: "persistentvolumes",
        return_deleted: true,
        prepare_create: volume_create,
        ..Strategy::ORDINARY
    },
    Strategy {
        resource: "persistentvolumeclaims",
        return_deleted: true,
        prepare_create: claim_create,
        prepare_update: claim_update,
        ..Strategy::ORDINARY
    },
    Strategy { group: GROUP, resource: "storageclasses", return_deleted: true, ..Strategy::ORDINARY },
    Strategy {
        group: GROUP,
        resource: "csidrivers",
        generation: Generation::UpdatesOnly(&["spec"]),
        unconditional_update: false,
        return_deleted: true,
        ..Strategy::ORDINARY
    },
    Strategy {
        group: GROUP,
        resource: "csinodes",
        unconditional_update: false,
        return_deleted: true,
        prepare_status: node_status,
        ..Strategy::ORDINARY
    },
    Strategy { group: GROUP, resource: "csistoragecapacities", unconditional_update: false, ..Strategy::ORDINARY },
    Strategy {
        group: GROUP,
        resource: "volumeattachments",
        unconditional_update: false,
        return_deleted: true,
        prepare_status: only_status,
        ..Strategy::ORDINARY
    },
    Strategy { group: GROUP, resource: "volumeattributesclasses", return_deleted: true, ..Strategy::ORDINARY },
];

fn volume_create(object: &mut dyn Object, moment: &Moment) {
    let Some(volume) = object.downcast_mut::<PersistentVolume>() else { return };
    let status = volume.status.make();
    status.phase = "Pending".into();
    status.last_phase_transition_time = moment.time();
}

fn claim_create(object: &mut dyn Object, _: &Moment) {
    let Some(claim) = object.downcast_mut::<PersistentVolumeClaim>() else { return };
    claim.status.make().phase = "Pending".into();
    let claims = |source: &TypedLocalObjectReference| match source.api_group.or_empty() {
        "" => source.kind == "PersistentVolumeClaim",
        group => group == "snapshot.storage.k8s.io" && source.kind == "VolumeSnapshot",
    };
    // Another old-fashioned source than these two was never acted on, and is dropped.
    if claim.spec.data_source_ref.get().is_none() && claim.spec.data_source.get().is_some_and(|s| !claims(s)) {
        claim.spec.make().data_source = Default::default();
    }
    both_sources(claim);
}

fn claim_update(object: &mut dyn Object, _: &dyn Object, _: &Moment) {
    if let Some(claim) = object.downcast_mut::<PersistentVolumeClaim>() {
        both_sources(claim);
    }
}

/// Where a claim's data comes from has an old field and a new one: who gives one gives both.
fn both_sources(claim: &mut PersistentVolumeClaim) {
    let spec = &claim.spec;
    match (spec.data_source.get(), spec.data_source_ref.get()) {
        (Some(source), None) => {
            let reference = TypedObjectReference {
                api_group: source.api_group.clone(),
                kind: source.kind.clone(),
                name: source.name.clone(),
                ..Default::default()
            };
            claim.spec.make().data_source_ref = reference.into();
        }
        (None, Some(reference)) if reference.namespace.or_empty().is_empty() => {
            let source = TypedLocalObjectReference {
                api_group: reference.api_group.clone(),
                kind: reference.kind.clone(),
                name: reference.name.clone(),
            };
            claim.spec.make().data_source = source.into();
        }
        _ => {}
    }
}

/// The health of a driver's storage is behind a gate (CSIVolumeHealth) that is off: it is dropped.
fn node_status(object: &mut dyn Object, old: &dyn Object) {
    only_status(object, old);
    if let (Some(new), Some(old)) = (object.downcast_mut::<CSINode>(), old.downcast_ref::<CSINode>())
        && old.status.storage_health.is_empty()
    {
        new.status = Default::default();
    }
}
