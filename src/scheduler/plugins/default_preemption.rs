//! DefaultPreemption: its PostFilter is [`crate::preemption`]; here is its place among the plugins, and that a pod waits
//! until its victims are on their way.

use crate::framework::Plugin;
use crate::verdict::Rejection;

/// Its row in the table. A pod that waits for its victims is moved by the hints of the plugins that refused it.
pub static PLUGIN: Plugin = Plugin {
    pre_enqueue: Some(|pod, gates| {
        let waits = gates.preempting.runs(&pod.pod.metadata.uid, &gates.pods);
        waits.then(|| Rejection::unresolvable("waiting for the preemption for this pod to be finished"))
    }),
    ..Plugin::named("DefaultPreemption")
};
