//! Deployments, replica sets, daemon sets, stateful sets, replication controllers, pod disruption budgets.

use api::apps_v1::{DaemonSet, Deployment};
use api::{Object, Str};

use super::{Dependents, Generation, Moment, SPEC, Strategy};

pub static STRATEGIES: &[Strategy] = &[
    Strategy {
        group: "apps",
        resource: "deployments",
        // Annotations count because they are copied to the replica sets.
        generation: Generation::On(&["spec", "annotations"]),
        prepare_status: deployment_status,
        ..Strategy::ORDINARY
    },
    Strategy { group: "apps", resource: "replicasets", generation: SPEC, ..Strategy::ORDINARY },
    Strategy {
        group: "apps",
        resource: "daemonsets",
        generation: SPEC,
        prepare_create: daemon_set_create,
        prepare_update: daemon_set_update,
        ..Strategy::ORDINARY
    },
    Strategy { group: "apps", resource: "statefulsets", generation: SPEC, ..Strategy::ORDINARY },
    Strategy { group: "apps", resource: "controllerrevisions", ..Strategy::ORDINARY },
    Strategy {
        resource: "replicationcontrollers",
        key: "controllers",
        generation: SPEC,
        dependents: Dependents::Orphan,
        ..Strategy::ORDINARY
    },
    Strategy {
        group: "policy",
        resource: "poddisruptionbudgets",
        generation: SPEC,
        unconditional_update: false,
        ..Strategy::ORDINARY
    },
];

fn deployment_status(object: &mut dyn Object, old: &dyn Object) {
    let (Some(new), Some(old)) = (object.downcast_mut::<Deployment>(), old.downcast_ref::<Deployment>()) else {
        return;
    };
    new.metadata.labels = old.metadata.labels.clone();
}

/// Where version 1 keeps the template's generation.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(set: &DaemonSet) -> i64 {
    set.metadata.annotations.get(TEMPLATE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn set_template_generation(set: &mut DaemonSet, generation: i64) {
    set.metadata.annotations.insert(Str::from(TEMPLATE_GENERATION), Str::from(generation.to_string()));
}

fn daemon_set_create(object: &mut dyn Object, _: &Moment) {
    let Some(set) = object.downcast_mut::<DaemonSet>() else { return };
    if template_generation(set) < 1 {
        set_template_generation(set, 1);
    }
}

fn daemon_set_update(object: &mut dyn Object, old: &dyn Object, _: &Moment) {
    let (Some(new), Some(old)) = (object.downcast_mut::<DaemonSet>(), old.downcast_ref::<DaemonSet>()) else { return };
    // The template's generation is the server's to count.
    let changed = new.spec.template != old.spec.template;
    set_template_generation(new, template_generation(old) + i64::from(changed));
}
