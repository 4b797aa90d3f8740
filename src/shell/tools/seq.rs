//! `seq`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Numbers at most, so that a slip ends.
const MOST: i64 = 10_000_000;

/// `seq LAST`, `seq FIRST LAST`, `seq FIRST STEP LAST` over whole numbers; `-s` separates, `-w` pads.
pub fn run(_: Ctx, mut process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        // A negative number is no option.
        for word in
            process.args.iter_mut().skip(1).filter(|w| w.strip_prefix('-').is_some_and(|n| n.parse::<i64>().is_ok()))
        {
            *word = format!("\u{0}{word}");
        }
        let (found, words) = match options(&process, "w", "s") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "seq", letter, 1).await,
        };
        let mut numbers = Vec::new();
        for word in &words {
            let word = word.trim_start_matches('\u{0}');
            match word.parse::<i64>() {
                Ok(number) => numbers.push(number),
                Err(_) => {
                    complain(
                        &process,
                        &match dialect {
                            Dialect::Bash => format!(
                                "seq: invalid floating point argument: '{word}'\nTry 'seq --help' for more information."
                            ),
                            Dialect::Busybox => format!("seq: invalid number '{word}'"),
                        },
                    )
                    .await;
                    return 1;
                }
            }
        }
        let (first, step, last) = match numbers.as_slice() {
            [last] => (1, 1, *last),
            [first, last] => (*first, 1, *last),
            [first, step, last] => (*first, *step, *last),
            _ => {
                complain(&process, "seq: missing operand\nTry 'seq --help' for more information.").await;
                return 1;
            }
        };
        if step == 0 {
            complain(&process, "seq: invalid Zero increment value: '0'").await;
            return 1;
        }
        let separator = found.iter().rfind(|(o, _)| *o == 's').map_or("\n", |(_, s)| s.as_str());
        let width =
            if found.iter().any(|(o, _)| *o == 'w') { first.to_string().len().max(last.to_string().len()) } else { 0 };
        let (mut out, mut at, mut count) = (String::new(), first, 0);
        while (step > 0 && at <= last || step < 0 && at >= last) && count < MOST {
            if count > 0 {
                out.push_str(separator);
            }
            out.push_str(&format!("{at:0width$}"));
            count += 1;
            if out.len() > 32_768 {
                if let Err(code) = say(&process, out.as_bytes()).await {
                    return code;
                }
                out.clear();
            }
            match at.checked_add(step) {
                Some(next) => at = next,
                None => break,
            }
        }
        if count > 0 {
            out.push('\n');
        }
        say(&process, out.as_bytes()).await.err().unwrap_or(0)
    })
}
