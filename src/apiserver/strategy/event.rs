//! Events: they expire after an hour and know no dependents.

use super::{Dependents, Strategy};

/// How long an event is kept, in seconds (`--event-ttl`).
pub const EVENT_TTL: u64 = 3600;

pub static STRATEGIES: &[Strategy] = &[Strategy {
    resource: "events",
    create_on_update: true,
    dependents: Dependents::Unsupported,
    ttl: Some(EVENT_TTL),
    ..Strategy::ORDINARY
}];
