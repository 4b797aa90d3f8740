//! `sort`

use super::{lines, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;
use std::cmp::Ordering;

/// A key: fields from one to another, counted from 1, and how they compare.
struct Key {
    from: usize,
    to: usize,
    numeric: bool,
    reverse: bool,
}

/// Sorts lines as bytes: `-n` by number, `-r` downwards, `-u` without repeats, `-k F[,T]`, `-t C`.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "nruVfbhs", "kt") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "sort", letter, 2).await,
        };
        let has = |letter: char| found.iter().any(|(o, _)| *o == letter);
        let (numeric, reverse) = (has('n') || has('h'), has('r'));
        let separator = found.iter().rfind(|(o, _)| *o == 't').and_then(|(_, c)| c.bytes().next());
        let keys: Vec<Key> = found
            .iter()
            .filter(|(o, _)| *o == 'k')
            .map(|(_, text)| {
                let own = |c: char| text.contains(c);
                let number = |part: &str| {
                    part.trim_matches(|c: char| c.is_ascii_alphabetic()).split('.').next().and_then(|n| n.parse().ok())
                };
                let (from, to) = text.split_once(',').map_or((text.as_str(), None), |(f, t)| (f, Some(t)));
                let plain = !own('n') && !own('r');
                Key {
                    from: number(from).unwrap_or(1).max(1),
                    to: to.and_then(number).unwrap_or(usize::MAX),
                    numeric: own('n') || (plain && numeric),
                    reverse: own('r') || (plain && reverse),
                }
            })
            .collect();
        let (files, failed) = read_all(&process, dialect, "sort", &names).await;
        let mut all: Vec<&[u8]> = files.iter().flat_map(|(_, bytes)| lines::of(bytes)).collect();
        let compare = |a: &&[u8], b: &&[u8]| -> Ordering {
            for key in &keys {
                let (x, y) = (field(a, key, separator), field(b, key, separator));
                let order = if key.numeric { number(x).total_cmp(&number(y)) } else { x.cmp(y) };
                let order = if key.reverse { order.reverse() } else { order };
                if order != Ordering::Equal {
                    return order;
                }
            }
            if keys.is_empty() && numeric {
                let order = number(a).total_cmp(&number(b));
                if order != Ordering::Equal {
                    return if reverse { order.reverse() } else { order };
                }
            }
            Ordering::Equal
        };
        // Lines that the keys leave equal are told apart as a whole, unless that would keep repeats.
        let whole = |a: &&[u8], b: &&[u8]| if reverse { b.cmp(a) } else { a.cmp(b) };
        if has('u') && (numeric || !keys.is_empty()) {
            all.sort_by(|a, b| compare(a, b));
            all.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        } else {
            all.sort_by(|a, b| compare(a, b).then_with(|| if has('s') { Ordering::Equal } else { whole(a, b) }));
            if has('u') {
                all.dedup();
            }
        }
        match say(&process, &lines::join(all)).await {
            Ok(()) => 2 * i32::from(failed),
            Err(code) => code,
        }
    })
}

fn field<'a>(line: &'a [u8], key: &Key, separator: Option<u8>) -> &'a [u8] {
    let mut bounds: Vec<(usize, usize)> = Vec::new();
    match separator {
        Some(separator) => {
            let mut start = 0;
            for (at, _) in line.iter().enumerate().filter(|(_, b)| **b == separator) {
                bounds.push((start, at));
                start = at + 1;
            }
            bounds.push((start, line.len()));
        }
        None => {
            // A field begins with the blanks before it.
            let (mut start, mut in_word) = (0, false);
            for (at, byte) in line.iter().enumerate() {
                let blank = byte.is_ascii_whitespace();
                if blank && in_word {
                    bounds.push((start, at));
                    start = at;
                }
                in_word = !blank;
            }
            bounds.push((start, line.len()));
        }
    }
    let first = bounds.get(key.from - 1).map_or(line.len(), |b| b.0);
    let last = bounds.get(key.to.min(bounds.len()).saturating_sub(1)).map_or(line.len(), |b| b.1);
    line.get(first..last.max(first)).unwrap_or_default()
}

/// The number that a text begins with, 0 if none.
fn number(text: &[u8]) -> f64 {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && *c == '-')))
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).and_then(|t| t.parse().ok()).unwrap_or(0.0)
}
