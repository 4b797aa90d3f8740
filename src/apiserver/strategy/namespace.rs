//! Namespaces (pkg/registry/core/namespace/strategy.go).

use api::core_v1::Namespace;
use api::{Object, Str};

use super::{Moment, Strategy};

pub static STRATEGIES: &[Strategy] =
    &[Strategy { resource: "namespaces", return_deleted: true, prepare_create, prepare_update, ..Strategy::ORDINARY }];

const FINALIZER: &str = "kubernetes";

fn prepare_create(object: &mut dyn Object, _: &Moment) {
    let Some(namespace) = object.downcast_mut::<Namespace>() else { return };
    namespace.status.make().phase = "Active".into();
    if !namespace.spec.finalizers.iter().any(|f| &**f == FINALIZER) {
        namespace.spec.make().finalizers.make().push(Str::from(FINALIZER));
    }
}

fn prepare_update(object: &mut dyn Object, old: &dyn Object, _: &Moment) {
    let (Some(new), Some(old)) = (object.downcast_mut::<Namespace>(), old.downcast_ref::<Namespace>()) else {
        return;
    };
    // Finalizers change through the subresource `finalize` alone.
    new.spec.make().finalizers = old.spec.finalizers.clone();
}
