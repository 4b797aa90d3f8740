//! One small POSIX-like shell with its tools, used by the terminal, by containers and by shells on nodes.
//!
//! [`process`] is what every program in the world is started with, the shell's own tools and kubectl alike.

mod arithmetic;
mod builtins;
mod environment;
mod expand;
mod interactive;
mod interpreter;
mod jobs;
pub mod pattern;
pub mod process;
mod redirections;
mod signals;
mod syntax;
pub mod tools;
pub mod tty;

pub use builtins::NAMES as BUILTINS;
pub use environment::Environment;
pub use interpreter::{Dialect, Flow, Io, Shell, Tools};
pub use process::{Files, Input, LocalFuture, Output, Process, Program};
pub use signals::{NAMES as SIGNALS, Processes, Signals, named as signal_named};
pub use syntax::{Aliases, is_incomplete};

use futures_util::future::Either;
use std::rc::Rc;

/// `sh`: runs `-c TEXT`, a script named by its path, or standard input, with prompts where that is a terminal or `-i`
/// is given; its exit code, 128 and the signal's number if
/// one ended it.
pub async fn sh(ctx: sim::Ctx, process: Process, tools: Rc<dyn Tools>, dialect: Dialect, signals: Signals) -> i32 {
    let io = Io { stdin: process.stdin.clone(), stdout: process.stdout.clone(), stderr: process.stderr.clone() };
    let mut shell = Shell::new(&ctx, tools, dialect, &process, signals.clone());
    let mut arguments = process.args.iter().skip(1);
    let (mut text, mut interactive) = (None, process.stdin.is_terminal());
    while let Some(word) = arguments.next() {
        let Some(flags) = word.strip_prefix('-').filter(|f| !f.is_empty()) else {
            // A script.
            shell.set_arguments(word, arguments.cloned().collect());
            match process.files.read(&process.path(word)) {
                Ok(content) => text = Some(String::from_utf8_lossy(&content).into_owned()),
                Err(error) => {
                    io.complain(&format!("sh: can't open '{word}': {error}\n")).await;
                    return 2;
                }
            }
            break;
        };
        if flags.contains('c') {
            let Some(program) = arguments.next() else {
                io.complain("sh: -c requires an argument\n").await;
                return 2;
            };
            let prefix = flags.replace(['c', 'i', 'l'], "");
            text = Some(if prefix.is_empty() { program.clone() } else { format!("set -{prefix}; {program}") });
            if let Some(name) = arguments.next() {
                shell.set_arguments(name, arguments.cloned().collect());
            }
            break;
        }
        interactive |= flags.contains('i') && !flags.starts_with('-');
    }
    let text = match text {
        Some(text) => Some(text),
        None if interactive => None,
        None => Some(String::from_utf8_lossy(&process.read_all().await).into_owned()),
    };
    let run = async {
        match &text {
            Some(text) => _ = shell.run(text, &io).await,
            None => interactive::run(&mut shell, &io, &signals).await,
        }
        shell.finish(&io).await;
        shell.status()
    };
    // Many programs nest on a small stack, which a boxed future does not grow.
    let (run, killed): (LocalFuture<'_, i32>, LocalFuture<'_, i32>) = (Box::pin(run), Box::pin(signals.until_killed()));
    match futures_util::future::select(run, killed).await {
        Either::Left((code, _)) => signals.killed().unwrap_or(code),
        Either::Right((code, _)) => code,
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
