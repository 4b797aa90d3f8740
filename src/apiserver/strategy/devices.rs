//! Devices and the rules that taint them.

use api::resource_v1::{DeviceTaint, DeviceTaintRule, ResourceSlice};
use api::{Object, Time};

use super::{Moment, SPEC, Strategy, only_status};

const GROUP: &str = "resource.k8s.io";

pub static STRATEGIES: &[Strategy] = &[
    Strategy {
        group: GROUP,
        resource: "resourceslices",
        generation: SPEC,
        return_deleted: true,
        prepare_create: slice_create,
        prepare_update: |object, _, moment| slice_create(object, moment),
        ..Strategy::ORDINARY
    },
    Strategy {
        group: GROUP,
        resource: "devicetaintrules",
        generation: SPEC,
        prepare_create: |object, moment| {
            if let Some(rule) = object.downcast_mut::<DeviceTaintRule>().filter(|rule| is_new(&rule.spec.taint)) {
                rule.spec.make().taint.time_added = moment.time();
            }
        },
        prepare_update: rule_update,
        prepare_status: only_status,
        ..Strategy::ORDINARY
    },
];

/// Whether nobody has said since when the taint is there.
fn is_new(taint: &DeviceTaint) -> bool {
    taint.time_added == Time::default()
}

/// A taint is there from now on, if the driver doesn't say otherwise (`SetDefaults_DeviceTaint`).
fn slice_create(object: &mut dyn Object, moment: &Moment) {
    let Some(slice) = object.downcast_mut::<ResourceSlice>() else { return };
    if !slice.spec.devices.iter().any(|device| device.taints.iter().any(is_new)) {
        return;
    }
    for device in slice.spec.make().devices.make().iter_mut() {
        for taint in device.taints.make().iter_mut().filter(|taint| is_new(taint)) {
            taint.time_added = moment.time();
        }
    }
}

/// With another effect the taint counts from now on.
fn rule_update(object: &mut dyn Object, old: &dyn Object, moment: &Moment) {
    let (Some(rule), Some(old)) = (object.downcast_mut::<DeviceTaintRule>(), old.downcast_ref::<DeviceTaintRule>())
    else {
        return;
    };
    let (new, was) = (&rule.spec.taint, &old.spec.taint);
    if is_new(new) || new.effect != was.effect && new.time_added == was.time_added {
        rule.spec.make().taint.time_added = moment.time();
    }
}
