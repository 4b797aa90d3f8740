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
            let (number, unit) = match text.chars().last() {
                Some('s') => (text.trim_end_matches('s'), 1.0),
                Some('m') => (text.trim_end_matches('m'), 60.0),
                Some('h') => (text.trim_end_matches('h'), 3_600.0),
                Some('d') => (text.trim_end_matches('d'), 86_400.0),
                _ => (text.as_str(), 1.0),
            };
            if number == "infinity" || number == "inf" {
                std::future::pending::<()>().await;
            }
            match number.parse::<f64>().ok().map(|n| n * unit).filter(|n| n.is_finite() && (0.0..1e9).contains(n)) {
                Some(seconds) => total += Duration::from_secs_f64(seconds),
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
        ctx.sleep(total).await;
        0
    })
}
