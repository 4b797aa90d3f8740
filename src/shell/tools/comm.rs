//! `comm`

use super::{complain, lines, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;
use std::cmp::Ordering;

/// Compares two sorted files: lines of the first, of the second, of both; `-1 -2 -3` leave columns out.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "123", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "comm", letter, 1).await,
        };
        if names.len() != 2 {
            complain(&process, "comm: missing operand\nTry 'comm --help' for more information.").await;
            return 1;
        }
        let (files, failed) = read_all(&process, dialect, "comm", &names).await;
        let [(_, left), (_, right)] = files.as_slice() else { return i32::from(failed) };
        let hidden = |letter: char| found.iter().any(|(o, _)| *o == letter);
        let mut out = Vec::new();
        let mut put = |column: usize, line: &[u8]| {
            let letters = ['1', '2', '3'];
            if letters.get(column).is_some_and(|l| hidden(*l)) {
                return;
            }
            let tabs = letters.iter().take(column).filter(|l| !hidden(**l)).count();
            out.extend(std::iter::repeat_n(b'\t', tabs));
            out.extend_from_slice(line);
            out.push(b'\n');
        };
        let (mut a, mut b) = (lines::of(left).peekable(), lines::of(right).peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(x), Some(y)) => x.cmp(y),
            };
            match order {
                Ordering::Less => put(0, a.next().unwrap_or_default()),
                Ordering::Greater => put(1, b.next().unwrap_or_default()),
                Ordering::Equal => {
                    put(2, a.next().unwrap_or_default());
                    b.next();
                }
            }
        }
        say(&process, &out).await.err().unwrap_or(0)
    })
}
