//! DefaultPreemption: its PostFilter is [`crate::preemption`]; here is its place among the plugins.

use crate::framework::Plugin;
use crate::queue::{Change, Hint};

/// Its row in the table.
pub static PLUGIN: Plugin =
    Plugin { hints: &[Hint { change: Change::AssignedPodDeleted, helps: None }], ..Plugin::named("DefaultPreemption") };
