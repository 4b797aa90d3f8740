//! `sh` and, where there is one, `bash`: the shell again.

use crate::process::{LocalFuture, Process};
use crate::{Dialect, Signals, Tools};
use sim::Ctx;
use std::rc::Rc;

/// Runs a shell that finds what its parent finds.
pub fn run(ctx: Ctx, process: Process, dialect: Dialect, tools: Rc<dyn Tools>) -> LocalFuture<'static, i32> {
    Box::pin(crate::sh(ctx, process, tools, dialect, Signals::default()))
}
