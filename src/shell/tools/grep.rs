//! `grep`

use super::regex::Regex;
use super::{cannot_open, complain, lines, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;
use std::rc::Rc;

/// Lines that match: `-E -F -i -v -c -n -o -q -l -w -x -h -H -s -e PATTERN -A N -B N -C N -m N`.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, mut names) = match options(&process, "EFGivcnoqlwxhHsr", "eABCmf") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "grep", letter, 2).await,
        };
        let has = |letter: char| found.iter().any(|(o, _)| *o == letter);
        let number =
            |letter: char| found.iter().rfind(|(o, _)| *o == letter).and_then(|(_, n)| n.parse::<usize>().ok());
        let mut patterns: Vec<String> = found.iter().filter(|(o, _)| *o == 'e').map(|(_, p)| p.clone()).collect();
        if patterns.is_empty() {
            if names.is_empty() {
                complain(
                    &process,
                    "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.",
                )
                .await;
                return 2;
            }
            patterns.push(names.remove(0));
        }
        let mut expressions = Vec::new();
        for pattern in patterns.iter().flat_map(|p| p.split('\n')) {
            let text = if has('F') {
                pattern
                    .chars()
                    .flat_map(|c| if c.is_alphanumeric() || c.is_whitespace() { vec![c] } else { vec!['[', c, ']'] })
                    .collect()
            } else {
                pattern.to_string()
            };
            let text = if has('F') { text.replace("[^]", "\\^").replace("[\\]", "\\\\") } else { text };
            match Regex::new(&text, has('E'), has('i')) {
                Ok(expression) => expressions.push(expression),
                Err(why) => {
                    complain(&process, &format!("grep: {why}")).await;
                    return 2;
                }
            }
        }
        let matches = |line: &[char]| -> Vec<(usize, usize)> {
            let mut spans = Vec::new();
            for expression in &expressions {
                let mut from = 0;
                while let Some((start, end)) = expression.find(line, from).and_then(|c| c.first().copied().flatten()) {
                    let word = |at: Option<&char>| at.is_some_and(|c| c.is_alphanumeric() || *c == '_');
                    let whole_word = !word(start.checked_sub(1).and_then(|i| line.get(i))) && !word(line.get(end));
                    let fits = (!has('w') || whole_word) && (!has('x') || (start == 0 && end == line.len()));
                    if fits {
                        spans.push((start, end));
                    }
                    from = if end > start { end } else { end + 1 };
                    if from > line.len() || (fits && !has('o')) {
                        break;
                    }
                }
            }
            spans.sort_unstable();
            spans
        };
        if names.is_empty() {
            names.push("-".to_string());
        }
        let named = (names.len() > 1 || has('H')) && !has('h');
        let (mut any, mut failed) = (false, false);
        let (before, after) = (number('B').or(number('C')).unwrap_or(0), number('A').or(number('C')).unwrap_or(0));
        let most = number('m').unwrap_or(usize::MAX);
        for name in &names {
            let bytes: Rc<[u8]> = if name == "-" {
                process.read_all().await.into()
            } else {
                match process.files.read(&process.path(name)) {
                    Ok(bytes) => bytes,
                    Err(why) => {
                        failed = true;
                        if !has('s') {
                            complain(
                                &process,
                                &match dialect {
                                    Dialect::Bash => format!("grep: {name}: {why}"),
                                    Dialect::Busybox => cannot_open(dialect, "grep", name, why)
                                        .replace("can't open '", "")
                                        .replace("': ", ": "),
                                },
                            )
                            .await;
                        }
                        continue;
                    }
                }
            };
            let shown = if name == "-" { "(standard input)" } else { name };
            let all: Vec<Vec<char>> = lines::of(&bytes).map(|l| String::from_utf8_lossy(l).chars().collect()).collect();
            let (mut out, mut count, mut last_shown) = (String::new(), 0usize, None::<usize>);
            let mut until = None::<usize>;
            for (at, line) in all.iter().enumerate() {
                let spans = matches(line);
                let hit = spans.is_empty() == has('v') && count < most;
                let prefix = |sign: char, at: usize| {
                    let mut text = String::new();
                    if named {
                        text.push_str(shown);
                        text.push(sign);
                    }
                    if has('n') {
                        text.push_str(&format!("{}{sign}", at + 1));
                    }
                    text
                };
                if hit {
                    any = true;
                    count += 1;
                    if has('q') {
                        return 0;
                    }
                    if has('c') || has('l') {
                        continue;
                    }
                    if has('o') && !has('v') {
                        for (from, to) in spans.into_iter().filter(|(from, to)| to > from) {
                            let text: String = line.get(from..to).unwrap_or_default().iter().collect();
                            out.push_str(&format!("{}{text}\n", prefix(':', at)));
                        }
                        continue;
                    }
                    let first = at.saturating_sub(before).max(last_shown.map_or(0, |l| l + 1));
                    if (before > 0 || after > 0) && last_shown.is_some_and(|l| first > l + 1) {
                        out.push_str("--\n");
                    }
                    for earlier in first..at {
                        let text: String = all.get(earlier).map(|l| l.iter().collect()).unwrap_or_default();
                        out.push_str(&format!("{}{text}\n", prefix('-', earlier)));
                    }
                    let text: String = line.iter().collect();
                    out.push_str(&format!("{}{text}\n", prefix(':', at)));
                    last_shown = Some(at);
                    until = Some(at + after);
                } else if until.is_some_and(|u| at <= u) && !has('c') && !has('l') && !has('q') && !has('o') {
                    let text: String = line.iter().collect();
                    out.push_str(&format!("{}{text}\n", prefix('-', at)));
                    last_shown = Some(at);
                }
            }
            if has('c') {
                out = if named { format!("{shown}:{count}\n") } else { format!("{count}\n") };
            } else if has('l') && count > 0 {
                out = format!("{shown}\n");
            }
            if !has('q')
                && let Err(code) = say(&process, out.as_bytes()).await
            {
                return code;
            }
        }
        match (failed, any) {
            (true, _) => 2,
            (false, true) => 0,
            (false, false) => 1,
        }
    })
}
