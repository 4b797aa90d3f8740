//! The inspector: what is known of one thing, and why it is as it is. It looks at the store, at the programs' own
//! records and at what really runs on the nodes, without a message or a moment of virtual time.

mod absences;
mod causes;
mod components;
mod containers;
mod look;
mod nodes;
mod objects;
mod remedies;
mod scheduling;

pub use look::Look;

use crate::World;
use view::{Inspector, Selection, Subject};

/// The reader's inputs: when, in nanoseconds of virtual time, and the line.
pub type Inputs = [(u64, String)];

/// What the inspector shows; nothing if there is no such thing and never was.
pub fn inspect(world: &World, inputs: &Inputs, selection: &Selection) -> Option<Inspector> {
    let look = Look::new(world, inputs)?;
    match &selection.subject {
        Subject::Object(object) => objects::inspect(&look, object, selection),
        Subject::Component { name } => components::component(&look, name, selection),
        Subject::Loop { name } => components::control_loop(&look, name, selection),
    }
}
