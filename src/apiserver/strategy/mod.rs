//! What differs from kind to kind in the one generic registry (pkg/registry/*/*/strategy.go).
//! A kind without a row has the ordinary behaviour: `Strategy::ORDINARY`.

mod access;
mod batch;
mod certificates;
mod devices;
mod event;
mod extensions;
mod namespace;
mod node;
pub mod pod;
pub mod service;
mod storage;
pub mod warnings;
mod workload;

pub mod fields;

use std::rc::Rc;

use api::{MicroTime, Object, Time};

use crate::user::User;

/// What a strategy may know of the request.
pub struct Moment {
    /// Now, in nanoseconds since 1970.
    pub nanos: i64,
    /// Who asks.
    pub user: Rc<User>,
}

impl Moment {
    /// Now, to the second.
    pub fn time(&self) -> Time {
        Time::from_unix_nanos(self.nanos)
    }

    /// Now, to the microsecond.
    pub fn micro(&self) -> MicroTime {
        MicroTime::from_unix_nanos(self.nanos)
    }
}

/// When `metadata.generation` grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none.
    None,
    /// It is 1 for ever.
    Fixed,
    /// It starts at 1 and grows with a change of any of these top-level fields; `annotations` and `labels` stand for
    /// those of the metadata.
    On(&'static [&'static str]),
    /// Only updates count it (CSIDriver).
    UpdatesOnly(&'static [&'static str]),
}

/// What becomes of the dependents of a deleted object when the request doesn't say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// They are deleted in the background.
    Delete,
    /// They are orphaned.
    Orphan,
    /// The kind knows no dependents (events).
    Unsupported,
}

/// How one resource behaves.
pub struct Strategy {
    /// API group of the stored kind.
    pub group: &'static str,
    /// The resource's plural name.
    pub resource: &'static str,
    /// The part of the key after `/registry/`, where it isn't the resource.
    pub key: &'static str,
    /// When generation grows.
    pub generation: Generation,
    /// Whether an update without a resourceVersion overwrites.
    pub unconditional_update: bool,
    /// Whether an update of what doesn't exist creates it.
    pub create_on_update: bool,
    /// Default of the propagation policy.
    pub dependents: Dependents,
    /// Whether a deletion is answered with the object (else with a Status).
    pub return_deleted: bool,
    /// Seconds until a stored object expires.
    pub ttl: Option<u64>,
    /// Before an object is validated and created.
    pub prepare_create: fn(&mut dyn Object, &Moment),
    /// Before an update is validated: (new, old).
    pub prepare_update: fn(&mut dyn Object, &dyn Object, &Moment),
    /// Before an update of `status` is validated: (new, old); spec and so on were already put back.
    pub prepare_status: fn(&mut dyn Object, &dyn Object),
    /// Before an update of `approval` is validated: (new, old).
    pub prepare_approval: fn(&mut dyn Object, &dyn Object, &Moment),
    /// Before an update of a subresource that shows the whole object is validated: (subresource, new, old). Puts back
    /// what is not the subresource's.
    pub narrow: fn(&str, &mut dyn Object, &dyn Object),
    /// What defaulting does to the object once more when it is read from the store.
    pub read_back: fn(&mut dyn Object),
    /// The grace period of a deletion in seconds, for kinds that are deleted gracefully: (object, asked for).
    pub grace: Option<fn(&dyn Object, Option<i64>) -> i64>,
}

fn nothing_on_create(_: &mut dyn Object, _: &Moment) {}
fn nothing_on_update(_: &mut dyn Object, _: &dyn Object, _: &Moment) {}
fn nothing_on_status(_: &mut dyn Object, _: &dyn Object) {}
fn nothing_to_narrow(_: &str, _: &mut dyn Object, _: &dyn Object) {}
fn nothing_on_reading(_: &mut dyn Object) {}

impl Strategy {
    /// The behaviour of most kinds.
    pub const ORDINARY: Strategy = Strategy {
        group: "",
        resource: "",
        key: "",
        generation: Generation::None,
        unconditional_update: true,
        create_on_update: false,
        dependents: Dependents::Delete,
        return_deleted: false,
        ttl: None,
        prepare_create: nothing_on_create,
        prepare_update: nothing_on_update,
        prepare_status: nothing_on_status,
        prepare_approval: nothing_on_update,
        narrow: nothing_to_narrow,
        read_back: nothing_on_reading,
        grace: None,
    };
}

const SPEC: Generation = Generation::On(&["spec"]);

/// An update of the status, or of a part, changes nothing of the metadata (apimachinery's `ResetObjectMetaForStatus`).
fn only_status(new: &mut dyn Object, old: &dyn Object) {
    if let (Some(metadata), Some(before)) = (new.metadata_mut(), old.metadata()) {
        metadata.labels = before.labels.clone();
        metadata.annotations = before.annotations.clone();
        metadata.finalizers = before.finalizers.clone();
        metadata.owner_references = before.owner_references.clone();
    }
}

static STRATEGIES: &[&[Strategy]] = &[
    pod::STRATEGIES,
    service::STRATEGIES,
    node::STRATEGIES,
    namespace::STRATEGIES,
    workload::STRATEGIES,
    batch::STRATEGIES,
    event::STRATEGIES,
    access::STRATEGIES,
    extensions::STRATEGIES,
    certificates::STRATEGIES,
    devices::STRATEGIES,
    storage::STRATEGIES,
];

/// The strategy of a resource.
pub fn of(group: &str, resource: &str) -> &'static Strategy {
    static ORDINARY: Strategy = Strategy::ORDINARY;
    STRATEGIES
        .iter()
        .flat_map(|strategies| strategies.iter())
        .find(|strategy| strategy.resource == resource && strategy.group == group)
        .unwrap_or(&ORDINARY)
}

impl Generation {
    /// The generation a new object starts with.
    pub fn first(self) -> Option<i64> {
        match self {
            Generation::None | Generation::UpdatesOnly(_) => None,
            Generation::Fixed | Generation::On(_) => Some(1),
        }
    }

    /// Whether an update makes it grow.
    pub fn grows(self, new: &dyn Object, old: &dyn Object) -> bool {
        let (Generation::On(fields) | Generation::UpdatesOnly(fields)) = self else { return false };
        fields.iter().any(|field| match *field {
            "annotations" => metadata_differs(new, old, |m| &m.annotations),
            "labels" => metadata_differs(new, old, |m| &m.labels),
            field => !new.field_equal(field, old),
        })
    }
}

fn metadata_differs(
    new: &dyn Object,
    old: &dyn Object,
    part: fn(&api::meta_v1::ObjectMeta) -> &api::Map<api::Str>,
) -> bool {
    new.metadata().map(part).map(|m| m.entries()) != old.metadata().map(part).map(|m| m.entries())
}
