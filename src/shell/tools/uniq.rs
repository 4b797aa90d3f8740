//! `uniq`

use super::{lines, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Drops repeated lines next to each other: `-c` counts, `-d` only repeated ones, `-u` only single ones.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "cdu", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "uniq", letter, 1).await,
        };
        let has = |letter: char| found.iter().any(|(o, _)| *o == letter);
        let (files, failed) = read_all(&process, dialect, "uniq", &names).await;
        let mut groups: Vec<(usize, &[u8])> = Vec::new();
        for line in files.iter().flat_map(|(_, bytes)| lines::of(bytes)) {
            match groups.last_mut() {
                Some((count, same)) if *same == line => *count += 1,
                _ => groups.push((1, line)),
            }
        }
        let mut out = Vec::new();
        for (count, line) in groups {
            if (has('d') && count < 2) || (has('u') && count > 1) {
                continue;
            }
            if has('c') {
                out.extend_from_slice(format!("{count:7} ").as_bytes());
            }
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        match say(&process, &out).await {
            Ok(()) => i32::from(failed),
            Err(code) => code,
        }
    })
}
