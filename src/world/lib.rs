//! The wiring: blueprint, boot, faults, inputs, views.

pub mod blueprint;
pub mod cluster;
pub mod faults;
pub mod inspect;
pub mod machine;
pub mod programs;
pub mod scenario;
pub mod session;
pub mod terminal;

pub use blueprint::Blueprint;
pub use cluster::World;
pub use programs::Running;
