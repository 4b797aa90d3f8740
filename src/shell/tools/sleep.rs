//! `sleep`

use super::complain;
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::{Ctx, Duration};

/// Seconds, or with `s`, `m`, `h`, `d`; several add up.
pub fn run(ctx: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let mut total = Duration::ZERO;
        if process.args.len() < 2 {
            complain(
                &process,
                match dialect {
                    Dialect::Bash => "sleep: missing operand\nTry 'sleep --help' for more information.",
                    Dialect::Busybox => "BusyBox v1.36.1 multi-call binary.\n\nUsage: sleep [N]...",
                },
            )
            .await;
            return 1;
        }
        for text in process.args.iter().skip(1) {
            match interval(text) {
                Some(time) if time == FOREVER => std::future::pending::<()>().await,
                Some(time) => total += time,
                None => {
                    complain(
                        &process,
                        &match dialect {
                            Dialect::Bash => format!(
                                "sleep: invalid time interval '{text}'\nTry 'sleep --help' for more information."
                            ),
                            Dialect::Busybox => format!("sleep: invalid number '{text}'"),
                        },
                    )
                    .await;
                    return 1;
                }
            }
        }
        // What the wait stands for is for those who look at the timers.
        ctx.sleep(total).named(process.args.join(" ")).await;
        0
    })
}

/// What `infinity` is read as.
pub const FOREVER: Duration = Duration::MAX;

/// `5`, `0.5`, `2m`, `infinity`, as sleep and timeout read them.
pub fn interval(text: &str) -> Option<Duration> {
    if matches!(text, "infinity" | "inf") {
        return Some(FOREVER);
    }
    let (number, unit) = match text.chars().last() {
        Some('s') => (text.strip_suffix('s')?, 1.0),
        Some('m') => (text.strip_suffix('m')?, 60.0),
        Some('h') => (text.strip_suffix('h')?, 3_600.0),
        Some('d') => (text.strip_suffix('d')?, 86_400.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    (seconds.is_finite() && (0.0..1e9).contains(&seconds)).then(|| Duration::from_secs_f64(seconds))
}
