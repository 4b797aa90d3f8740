//! `wc`

use super::{options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Counts lines (`-l`), words (`-w`), bytes (`-c`); all three without options.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "lwcm", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "wc", letter, 1).await,
        };
        let wants = |letter: char| found.is_empty() || found.iter().any(|(o, _)| *o == letter);
        let (files, failed) = read_all(&process, dialect, "wc", &names).await;
        let columns = [wants('l'), wants('w'), wants('c') || found.iter().any(|(o, _)| *o == 'm')];
        let mut rows: Vec<([usize; 3], String)> = Vec::new();
        for (name, bytes) in &files {
            let lines = bytes.iter().filter(|b| **b == b'\n').count();
            let words = bytes.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).count();
            rows.push(([lines, words, bytes.len()], name.clone()));
        }
        if rows.len() > 1 {
            let sum = rows
                .iter()
                .fold([0; 3], |sum, (row, _)| [0, 1, 2].map(|i| sum.get(i).unwrap_or(&0) + row.get(i).unwrap_or(&0)));
            rows.push((sum, "total".to_string()));
        }
        // One number alone stands without padding; otherwise as wide as the largest, 7 on standard input.
        let shown = columns.iter().filter(|c| **c).count();
        let widest = rows.iter().flat_map(|(row, _)| row.iter()).max().map_or(1, |n| n.to_string().len());
        let width = match (shown, rows.len(), names.is_empty()) {
            (1, 1, _) => 1,
            (_, _, true) => 7,
            _ => widest,
        };
        let mut out = String::new();
        for (row, name) in rows {
            let numbers: Vec<String> =
                row.iter().zip(columns).filter(|(_, shown)| *shown).map(|(n, _)| format!("{n:width$}")).collect();
            out.push_str(&numbers.join(" "));
            if !name.is_empty() {
                out.push(' ');
                out.push_str(&name);
            }
            out.push('\n');
        }
        match say(&process, out.as_bytes()).await {
            Ok(()) => i32::from(failed),
            Err(code) => code,
        }
    })
}
