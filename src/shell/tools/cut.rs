//! `cut`

use super::{complain, lines, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Fields (`-f`, `-d` their separator, `-s` without lines that have none) or characters (`-c`, `-b`) of each line.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "s", "fdcb") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "cut", letter, 1).await,
        };
        let value = |letter: char| found.iter().rfind(|(o, _)| *o == letter).map(|(_, v)| v.clone());
        let separator = value('d').and_then(|d| d.bytes().next()).unwrap_or(b'\t');
        let (list, by_field) = match (value('f'), value('c').or_else(|| value('b'))) {
            (Some(list), _) => (list, true),
            (None, Some(list)) => (list, false),
            (None, None) => {
                complain(&process, "cut: you must specify a list of bytes, characters, or fields\nTry 'cut --help' for more information.").await;
                return 1;
            }
        };
        let Some(ranges) = ranges(&list) else {
            complain(&process, &format!("cut: invalid field value '{list}'\nTry 'cut --help' for more information."))
                .await;
            return 1;
        };
        let wanted = |at: usize| ranges.iter().any(|(from, to)| (*from..=*to).contains(&at));
        let (files, failed) = read_all(&process, dialect, "cut", &names).await;
        let mut out = Vec::new();
        for line in files.iter().flat_map(|(_, bytes)| lines::of(bytes)) {
            if !by_field {
                let text = String::from_utf8_lossy(line);
                let kept: String = text.chars().enumerate().filter(|(at, _)| wanted(at + 1)).map(|(_, c)| c).collect();
                out.extend_from_slice(kept.as_bytes());
            } else if !line.contains(&separator) {
                if found.iter().any(|(o, _)| *o == 's') {
                    continue;
                }
                out.extend_from_slice(line);
            } else {
                let kept: Vec<&[u8]> = line
                    .split(|b| *b == separator)
                    .enumerate()
                    .filter(|(at, _)| wanted(at + 1))
                    .map(|(_, f)| f)
                    .collect();
                out.extend_from_slice(&kept.join(&separator));
            }
            out.push(b'\n');
        }
        match say(&process, &out).await {
            Ok(()) => i32::from(failed),
            Err(code) => code,
        }
    })
}

/// `1,3-5,7-`
fn ranges(list: &str) -> Option<Vec<(usize, usize)>> {
    list.split(',')
        .map(|part| match part.split_once('-') {
            Some(("", to)) => Some((1, to.parse().ok()?)),
            Some((from, "")) => Some((from.parse().ok()?, usize::MAX)),
            Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
            None => part.parse().ok().map(|n| (n, n)),
        })
        .collect()
}
