//! DefaultPreemption: its PostFilter is [`crate::preemption`]; here is its place among the plugins, and that a pod waits
//! until its victims are on their way.

use crate::change::{Change, Hint};
use crate::framework::Plugin;
use crate::verdict::Rejection;

/// Its row in the table. That pods go is what a pod that waits for its victims is looked at again for; whether that helps
/// it, the hints of the plugins that refused it say.
pub static PLUGIN: Plugin = Plugin {
    pre_enqueue: Some(|pod, gates| {
        let waits = gates.preempting.runs(&pod.pod.metadata.uid, &gates.pods);
        waits.then(|| Rejection::unresolvable("waiting for the preemption for this pod to be finished"))
    }),
    hints: &[Hint::when(&[Change::AssignedPodDeleted], |_, _| false)],
    ..Plugin::named("DefaultPreemption")
};
