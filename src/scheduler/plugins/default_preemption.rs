//! DefaultPreemption: its PostFilter is [`crate::preemption`]; here is its place among the plugins.

use crate::framework::Plugin;

/// Its row in the table. A pod that waits for its victims is moved by the hints of the plugins that refused it.
pub static PLUGIN: Plugin = Plugin::named("DefaultPreemption");
