//! `pkg/apis/autoscaling/v2/defaults.go`

use crate::Object;
use crate::autoscaling_v2::HorizontalPodAutoscaler;

pub(super) fn apply(object: &mut dyn Object) -> bool {
    let Some(autoscaler) = object.downcast_mut::<HorizontalPodAutoscaler>() else { return false };
    if autoscaler.spec.min_replicas.is_none() {
        autoscaler.spec.make().min_replicas = Some(1);
    }
    true
}
