//! `pkg/apis/storage/v1/defaults.go`

use super::optional_text;
use crate::Object;
use crate::storage_v1::StorageClass;

pub(super) fn apply(object: &mut dyn Object) -> bool {
    let Some(class) = object.downcast_mut::<StorageClass>() else { return false };
    optional_text(&mut class.reclaim_policy, "Delete");
    optional_text(&mut class.volume_binding_mode, "Immediate");
    true
}
