//! One small POSIX-like shell with its tools, used by the terminal, by containers and by shells on nodes.
//!
//! [`process`] is what every program in the world is started with, the shell's own tools and kubectl alike.

pub mod process;

pub use process::{Files, Input, LocalFuture, Output, Process, Program};
