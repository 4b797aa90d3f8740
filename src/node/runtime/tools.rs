//! The shell and its tools in an image: found by name.

use crate::files::Tree;
use shell::process::{LocalFuture, Process, Program};
use sim::{Ctx, Duration};
use std::collections::BTreeMap;
use std::rc::Rc;

type Tool = fn(Ctx, Process) -> LocalFuture<'static, i32>;

/// (name, program) of the tools that need no shell.
const TOOLS: &[(&str, Tool)] = &[("false", fail), ("sleep", sleep), ("true", succeed)];

/// Puts the tools' files into an image's root.
pub(super) fn install(root: &Tree) {
    for (name, _) in TOOLS {
        let _ = root.put(&format!("/bin/{name}"), b"\x7fELF", 0o755);
    }
}

/// The tool that a command names.
pub(super) fn find(name: &str, _env: &BTreeMap<String, String>) -> Option<Program> {
    let base = match name.rsplit_once('/') {
        Some(("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin", base)) => base,
        Some(_) => return None,
        None => name,
    };
    TOOLS.iter().find(|(tool, _)| *tool == base).map(|(_, tool)| -> Program { Rc::new(*tool) })
}

fn succeed(_: Ctx, _: Process) -> LocalFuture<'static, i32> {
    Box::pin(async { 0 })
}

fn fail(_: Ctx, _: Process) -> LocalFuture<'static, i32> {
    Box::pin(async { 1 })
}

fn sleep(ctx: Ctx, process: Process) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let mut total = Duration::ZERO;
        for text in process.args.iter().skip(1) {
            match text.parse::<u32>() {
                Ok(seconds) => total += Duration::from_secs(u64::from(seconds)),
                Err(_) => {
                    let _ = process.stderr.write(format!("sleep: invalid number '{text}'\n").as_bytes()).await;
                    return 1;
                }
            }
        }
        ctx.sleep(total).await;
        0
    })
}
