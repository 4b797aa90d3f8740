//! `seq`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Numbers at most, so that a slip ends.
const MOST: i64 = 10_000_000;
const ONE: Decimal = Decimal { digits: 1, decimals: 0 };

/// A number and how many decimals it was written with; kept as a whole number of the smallest unit in use, so that
/// sums are exact.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    decimals: u32,
}

impl Decimal {
    fn parse(word: &str) -> Option<Decimal> {
        let (sign, bare) = match word.strip_prefix('-') {
            Some(bare) => (-1, bare),
            None => (1, word.strip_prefix('+').unwrap_or(word)),
        };
        let (whole, part) = bare.split_once('.').unwrap_or((bare, ""));
        let text = format!("{whole}{part}");
        if text.is_empty() || text.len() > 30 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Decimal { digits: sign * text.parse::<i128>().ok()?, decimals: u32::try_from(part.len()).ok()? })
    }

    /// In units of the given number of decimals.
    fn units(self, decimals: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(decimals.checked_sub(self.decimals)?)?)
    }
}

fn shown(units: i128, decimals: u32, width: usize) -> String {
    let unit = 10_i128.checked_pow(decimals).unwrap_or(1);
    let sign = if units < 0 { "-" } else { "" };
    let (whole, part) = (units.unsigned_abs() / unit.unsigned_abs(), units.unsigned_abs() % unit.unsigned_abs());
    let number = if decimals == 0 {
        whole.to_string()
    } else {
        format!("{whole}.{part:0places$}", places = usize::try_from(decimals).unwrap_or(0))
    };
    format!("{sign}{number:0>pad$}", pad = width.saturating_sub(sign.len()))
}

/// `seq LAST`, `seq FIRST LAST`, `seq FIRST STEP LAST`; `-s` separates, `-w` pads.
pub fn run(_: Ctx, mut process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        // A negative number is no option.
        for word in
            process.args.iter_mut().skip(1).filter(|w| w.strip_prefix('-').is_some_and(|n| Decimal::parse(n).is_some()))
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
            match Decimal::parse(word) {
                Some(number) => numbers.push(number),
                None => {
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
            [last] => (ONE, ONE, *last),
            [first, last] => (*first, ONE, *last),
            [first, step, last] => (*first, *step, *last),
            _ => {
                complain(&process, "seq: missing operand\nTry 'seq --help' for more information.").await;
                return 1;
            }
        };
        let decimals = first.decimals.max(step.decimals);
        let finest = decimals.max(last.decimals);
        let (Some(first), Some(step), Some(end)) = (first.units(finest), step.units(finest), last.units(finest)) else {
            return 1;
        };
        let show = |units: i128, width| {
            let coarse = 10_i128.checked_pow(finest - decimals).unwrap_or(1);
            shown(units / coarse, decimals, width)
        };
        let last = end;
        if step == 0 {
            complain(&process, "seq: invalid Zero increment value: '0'").await;
            return 1;
        }
        let separator = found.iter().rfind(|(o, _)| *o == 's').map_or("\n", |(_, s)| s.as_str());
        let width =
            if found.iter().any(|(o, _)| *o == 'w') { show(first, 0).len().max(show(last, 0).len()) } else { 0 };
        let (mut out, mut at, mut count) = (String::new(), first, 0);
        while (step > 0 && at <= last || step < 0 && at >= last) && count < MOST {
            if count > 0 {
                out.push_str(separator);
            }
            out.push_str(&show(at, width));
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
