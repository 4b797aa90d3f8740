//! `pkg/apis/storage/v1/defaults.go`

use super::optional_text;
use crate::storage_v1::{CSIDriver, StorageClass};
use crate::{List, Object};

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(class) = object.downcast_mut::<StorageClass>() {
        optional_text(&mut class.reclaim_policy, "Delete");
        optional_text(&mut class.volume_binding_mode, "Immediate");
    } else if let Some(driver) = object.downcast_mut::<CSIDriver>() {
        let spec = driver.spec.make();
        for (field, value) in [
            (&mut spec.attach_required, true),
            (&mut spec.pod_info_on_mount, false),
            (&mut spec.storage_capacity, false),
            (&mut spec.requires_republish, false),
            (&mut spec.se_linux_mount, false),
            (&mut spec.prevent_pod_scheduling_if_missing, false),
        ] {
            if field.is_none() {
                *field = Some(value);
            }
        }
        optional_text(&mut spec.fs_group_policy, "ReadWriteOnceWithFSType");
        if spec.volume_lifecycle_modes.is_empty() {
            spec.volume_lifecycle_modes = List::from(["Persistent".into()]);
        }
    } else {
        return false;
    }
    true
}
