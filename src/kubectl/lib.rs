//! The command line: kubectl v1.37, a client of the API server like any other.
//!
//! [`run`] takes the words of a command line and does what kubectl does; `cmd` has one file a verb and one table of
//! them, `describe` one file a kind.

pub mod builder;
pub mod cmd;
pub mod commands;
pub mod complete;
pub mod describe;
pub mod error;
pub mod flags;
pub mod io;
pub mod jsonpath;
pub mod kubeconfig;
mod kuberc;
pub mod kustomize;
pub mod manifest;
pub mod mapping;
pub mod merge;
mod paths;
pub mod print;
pub mod raw;
pub mod resource;
mod schema;
pub mod selector;
pub mod server;
pub mod session;
pub mod template;
pub mod value;

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod play_tests;
#[cfg(test)]
mod recorded_tests;

pub use io::{FileError, Io};
pub use session::Config;

use std::time::Duration;

/// What starting the program costs before its first request.
const STARTUP: Duration = Duration::from_millis(25);

/// Runs a command line; `argv` is without the program's name. Returns the exit code.
pub async fn run(ctx: &sim::Ctx, config: &Config, argv: &[String], io: &dyn Io) -> i32 {
    ctx.sleep(STARTUP).await;
    match cmd::dispatch(ctx, config, argv, io).await {
        Ok(()) => 0,
        Err(e) => {
            let (mut message, code) = e.checked();
            if !message.is_empty() {
                if !message.ends_with('\n') {
                    message.push('\n');
                }
                io.stderr(message.as_bytes());
            }
            code
        }
    }
}
