//! `xargs`

use super::{Started, complain};
use crate::process::{Bytes, LocalFuture, Process};
use crate::{Dialect, Tools};
use sim::Ctx;
use std::rc::Rc;

/// Words that one command gets at most, unless `-n` says less.
const WORDS: usize = 5_000;

/// `xargs [-r] [-0] [-t] [-n N] [-I NAME] [COMMAND...]`: runs a command with words from standard input.
pub fn run(ctx: Ctx, process: Process, dialect: Dialect, tools: Rc<dyn Tools>) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (mut skip_empty, mut nul, mut trace) = (false, false, false);
        let (mut most, mut name): (Option<usize>, Option<String>) = (None, None);
        let mut words = process.args.iter().skip(1).peekable();
        while let Some(flag) = words.next_if(|w| w.starts_with('-') && w.len() > 1) {
            let (letter, attached) = flag.split_at_checked(2).unwrap_or((flag, ""));
            let mut value = || if attached.is_empty() { words.next().cloned() } else { Some(attached.to_string()) };
            match (letter, flag.as_str()) {
                (_, "-r" | "--no-run-if-empty") => skip_empty = true,
                (_, "-0" | "--null") => nul = true,
                (_, "-t") => trace = true,
                ("-n" | "-L", _) => match value().and_then(|v| v.parse().ok()).filter(|n| *n > 0) {
                    Some(n) => most = Some(n),
                    None => {
                        complain(&process, "xargs: invalid number for -n option").await;
                        return 1;
                    }
                },
                ("-I", _) => name = value(),
                ("-P", _) => drop(value()),
                _ => {
                    let letter = flag.trim_start_matches('-').chars().next().unwrap_or('-');
                    return super::unknown_option(&process, dialect, "xargs", letter, 1).await;
                }
            }
        }
        let mut command: Vec<String> = words.cloned().collect();
        if command.is_empty() {
            command.push("echo".into());
        }
        let text = String::from_utf8_lossy(&process.read_all().await).into_owned();
        let given = if nul {
            text.split('\0').filter(|w| !w.is_empty()).map(String::from).collect()
        } else if name.is_some() {
            text.lines().map(str::trim_start).filter(|l| !l.is_empty()).map(String::from).collect()
        } else {
            match split(&text) {
                Ok(words) => words,
                Err(quote) => {
                    let kind = if quote == '"' { "double" } else { "single" };
                    let rest = "by default quotes are special to xargs unless you use the -0 option";
                    complain(&process, &format!("xargs: unmatched {kind} quote; {rest}")).await;
                    return 1;
                }
            }
        };
        let mut calls: Vec<Vec<String>> = match &name {
            Some(name) => {
                given.iter().map(|line| command.iter().map(|w| w.replace(name.as_str(), line)).collect()).collect()
            }
            None => {
                let with = |words: &[String]| command.iter().chain(words).cloned().collect();
                given.chunks(most.unwrap_or(WORDS)).map(with).collect()
            }
        };
        if calls.is_empty() && !skip_empty && name.is_none() {
            calls.push(command.clone());
        }
        let inner = Process { stdin: Rc::new(Bytes::default()), ..process.clone() };
        let mut code = 0;
        for call in calls {
            if trace {
                complain(&process, &call.join(" ")).await;
            }
            let program = call.first().cloned().unwrap_or_default();
            match super::start(&ctx, &inner, dialect, &tools, call).await {
                Started::Ended(0) => {}
                Started::Ended(255) => {
                    complain(&process, &format!("xargs: {program}: exited with status 255; aborting")).await;
                    return 124;
                }
                Started::Ended(_) => code = 123,
                Started::NotFound => {
                    complain(&process, &format!("xargs: {program}: No such file or directory")).await;
                    return 127;
                }
            }
        }
        code
    })
}

/// Words between blanks, with quotes and backslashes taken off; the error is a quote that is not closed.
fn split(text: &str) -> Result<Vec<String>, char> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some('\n') | None => return Err(c),
                        Some(other) => word.push(other),
                    }
                }
            }
            _ if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}
