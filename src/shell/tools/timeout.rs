//! `timeout`

use super::{Started, complain};
use crate::process::{LocalFuture, Process};
use crate::{Dialect, Tools};
use sim::Ctx;
use std::rc::Rc;

/// `timeout [-s SIGNAL] [-k TIME] TIME COMMAND...`: ends it when the time is over, with 124; busybox gives 143.
pub fn run(ctx: Ctx, process: Process, dialect: Dialect, tools: Rc<dyn Tools>) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let mut words = process.args.iter().skip(1).peekable();
        while let Some(flag) = words.next_if(|w| w.starts_with('-')) {
            match flag.as_str() {
                "-s" | "-k" | "--signal" | "--kill-after" => {
                    words.next();
                }
                "--foreground" | "--preserve-status" | "-v" | "--verbose" => {}
                _ if flag.starts_with("--signal=") || flag.starts_with("--kill-after=") => {}
                _ => {
                    complain(&process, &format!("timeout: unrecognized option '{flag}'")).await;
                    return 125;
                }
            }
        }
        let Some(time) = words.next() else {
            complain(&process, "timeout: missing operand").await;
            return 125;
        };
        let Some(patience) = super::sleep::interval(time) else {
            let more = "Try 'timeout --help' for more information.";
            complain(&process, &format!("timeout: invalid time interval '{time}'\n{more}")).await;
            return 125;
        };
        let command: Vec<String> = words.cloned().collect();
        let Some(name) = command.first().cloned() else {
            complain(&process, "timeout: missing operand").await;
            return 125;
        };
        let run = super::start(&ctx, &process, dialect, &tools, command);
        let ended = if patience.is_zero() { Ok(run.await) } else { ctx.timeout(patience, run).await };
        match ended {
            Ok(Started::Ended(code)) => code,
            Ok(Started::NotFound) => {
                let words = match dialect {
                    Dialect::Bash => format!("timeout: failed to run command '{name}': No such file or directory"),
                    Dialect::Busybox => format!("timeout: can't execute '{name}': No such file or directory"),
                };
                complain(&process, &words).await;
                127
            }
            Err(_) if dialect == Dialect::Busybox => 143,
            Err(_) => 124,
        }
    })
}
