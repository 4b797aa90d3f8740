//! `head` and `tail`

use super::{complain, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// `-20` is `-n 20`, but not behind `-n` itself, whose number it is.
fn old_style(mut process: Process) -> Process {
    let mut number_follows = false;
    for word in process.args.iter_mut().skip(1) {
        let numbers = std::mem::replace(&mut number_follows, matches!(word.as_str(), "-n" | "-c"));
        let count = word
            .strip_prefix('-')
            .filter(|n| !numbers && !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            .map(str::to_string);
        if let Some(count) = count {
            *word = format!("-n{count}");
        }
    }
    process
}

/// The first lines or bytes: `-n N`, `-n -N` (all but the last), `-c N`.
pub fn head(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let process = old_style(process);
        let (found, names) = match options(&process, "qv", "nc") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "head", letter, 1).await,
        };
        let by_bytes = found.iter().rfind(|(o, _)| *o == 'c').map(|(_, n)| n.clone());
        let count = by_bytes
            .clone()
            .or_else(|| found.iter().rfind(|(o, _)| *o == 'n').map(|(_, n)| n.clone()))
            .unwrap_or_else(|| "10".into());
        let (all_but, number) = match count.strip_prefix('-') {
            Some(number) => (true, number.to_string()),
            None => (false, count.clone()),
        };
        let Ok(number) = number.parse::<usize>() else {
            let what = if by_bytes.is_some() { "bytes" } else { "lines" };
            complain(
                &process,
                &match dialect {
                    Dialect::Bash => format!("head: invalid number of {what}: '{count}'"),
                    Dialect::Busybox => format!("head: invalid number '{count}'"),
                },
            )
            .await;
            return 1;
        };
        if names.is_empty() && by_bytes.is_none() && !all_but {
            // Reads no more than it needs, so that a writer that goes on is cut off.
            let mut left = number;
            while left > 0 {
                let Some(line) = process.stdin.read_line().await else { break };
                if let Err(code) = say(&process, line.as_bytes()).await {
                    return code;
                }
                left -= 1;
            }
            return 0;
        }
        let (files, failed) = read_all(&process, dialect, "head", &names).await;
        let many = names.len() > 1;
        for (at, (name, bytes)) in files.iter().enumerate() {
            let out = if by_bytes.is_some() {
                let end = if all_but { bytes.len().saturating_sub(number) } else { number.min(bytes.len()) };
                bytes.get(..end).unwrap_or_default().to_vec()
            } else {
                let all: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
                let end = if all_but { all.len().saturating_sub(number) } else { number.min(all.len()) };
                all.get(..end).unwrap_or_default().concat()
            };
            if let Err(code) = titled(&process, many, at, name, &out).await {
                return code;
            }
        }
        i32::from(failed)
    })
}

async fn titled(process: &Process, many: bool, at: usize, name: &str, out: &[u8]) -> Result<(), i32> {
    if many {
        let gap = if at > 0 { "\n" } else { "" };
        say(process, format!("{gap}==> {name} <==\n").as_bytes()).await?;
    }
    say(process, out).await
}

/// The last lines or bytes: `-n N`, `-n +N` (from that line on), `-c N`.
pub fn tail(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let process = old_style(process);
        let (found, names) = match options(&process, "qvfF", "nc") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "tail", letter, 1).await,
        };
        let by_bytes = found.iter().rfind(|(o, _)| *o == 'c').map(|(_, n)| n.clone());
        let count = by_bytes
            .clone()
            .or_else(|| found.iter().rfind(|(o, _)| *o == 'n').map(|(_, n)| n.clone()))
            .unwrap_or_else(|| "10".into());
        let from_start = count.starts_with('+');
        let Ok(number) = count.trim_start_matches(['+', '-']).parse::<usize>() else {
            complain(&process, &format!("tail: invalid number of lines: '{count}'")).await;
            return 1;
        };
        let (files, failed) = read_all(&process, dialect, "tail", &names).await;
        let many = names.len() > 1;
        for (at, (name, bytes)) in files.iter().enumerate() {
            let start =
                |len: usize| if from_start { number.saturating_sub(1).min(len) } else { len.saturating_sub(number) };
            let out = if by_bytes.is_some() {
                bytes.get(start(bytes.len())..).unwrap_or_default().to_vec()
            } else {
                let all: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
                all.get(start(all.len())..).unwrap_or_default().concat()
            };
            if let Err(code) = titled(&process, many, at, name, &out).await {
                return code;
            }
        }
        i32::from(failed)
    })
}
