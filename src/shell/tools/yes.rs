//! `yes`

use super::say;
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::{Ctx, Duration};

/// What a line takes: time has to pass for it to be stopped.
const LINE: Duration = Duration::from_micros(10);

/// Its words, or `y`, on line after line until nobody reads on.
pub fn run(ctx: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let words = process.args.get(1..).unwrap_or_default().join(" ");
        let line = format!("{}\n", if words.is_empty() { "y" } else { &words });
        loop {
            if let Err(code) = say(&process, line.as_bytes()).await {
                return code;
            }
            ctx.sleep(LINE).await;
        }
    })
}
