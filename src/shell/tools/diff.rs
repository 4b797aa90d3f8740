//! `diff`

use super::{complain, lines, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Lines of a file at most: the comparison takes their product in memory.
const MOST: usize = 3_000;

/// One run of lines that differ: from and to in both files.
struct Change {
    left: (usize, usize),
    right: (usize, usize),
}

/// Compares two files: normal form, `-u`, `-q`.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "uqNbr", "U") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "diff", letter, 2).await,
        };
        let [left_name, right_name] = names.as_slice() else {
            complain(&process, "diff: missing operand\ndiff: Try 'diff --help' for more information.").await;
            return 2;
        };
        let (files, failed) = read_all(&process, dialect, "diff", &names).await;
        let ([(_, left), (_, right)], false) = (files.as_slice(), failed) else { return 2 };
        if left == right {
            return 0;
        }
        if found.iter().any(|(o, _)| *o == 'q') {
            return say(&process, format!("Files {left_name} and {right_name} differ\n").as_bytes())
                .await
                .err()
                .unwrap_or(1);
        }
        let (a, b): (Vec<&[u8]>, Vec<&[u8]>) = (lines::of(left).collect(), lines::of(right).collect());
        if a.len() > MOST || b.len() > MOST {
            complain(&process, "diff: files too large").await;
            return 2;
        }
        let changes = compare(&a, &b);
        let unified = found.iter().any(|(o, _)| matches!(o, 'u' | 'U'));
        let out =
            if unified { in_unified(&a, &b, &changes, left_name, right_name) } else { in_normal(&a, &b, &changes) };
        say(&process, &out).await.err().unwrap_or(1)
    })
}

fn compare(a: &[&[u8]], b: &[&[u8]]) -> Vec<Change> {
    let width = b.len() + 1;
    let mut longest = vec![0u32; (a.len() + 1) * width];
    let get = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            let value = if x == y {
                get(&longest, i + 1, j + 1) + 1
            } else {
                get(&longest, i + 1, j).max(get(&longest, i, j + 1))
            };
            if let Some(slot) = longest.get_mut(i * width + j) {
                *slot = value;
            }
        }
    }
    let (mut i, mut j, mut changes) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a.get(i) == b.get(j) {
            i += 1;
            j += 1;
            continue;
        }
        let (from_i, from_j) = (i, j);
        while i < a.len() || j < b.len() {
            if i < a.len() && j < b.len() && a.get(i) == b.get(j) {
                break;
            }
            if j >= b.len() || (i < a.len() && get(&longest, i + 1, j) >= get(&longest, i, j + 1)) {
                i += 1;
            } else {
                j += 1;
            }
        }
        changes.push(Change { left: (from_i, i), right: (from_j, j) });
    }
    changes
}

fn put(out: &mut Vec<u8>, sign: &str, lines: &[&[u8]]) {
    for line in lines {
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(line);
        out.push(b'\n');
    }
}

fn in_normal(a: &[&[u8]], b: &[&[u8]], changes: &[Change]) -> Vec<u8> {
    let span = |(from, to): (usize, usize)| match to - from {
        0 => from.to_string(),
        1 => (from + 1).to_string(),
        _ => format!("{},{to}", from + 1),
    };
    let mut out = Vec::new();
    for change in changes {
        let (gone, new) = (
            a.get(change.left.0..change.left.1).unwrap_or_default(),
            b.get(change.right.0..change.right.1).unwrap_or_default(),
        );
        let letter = match (gone.is_empty(), new.is_empty()) {
            (true, _) => 'a',
            (_, true) => 'd',
            _ => 'c',
        };
        out.extend_from_slice(format!("{}{letter}{}\n", span(change.left), span(change.right)).as_bytes());
        put(&mut out, "< ", gone);
        if letter == 'c' {
            out.extend_from_slice(b"---\n");
        }
        put(&mut out, "> ", new);
    }
    out
}

fn in_unified(a: &[&[u8]], b: &[&[u8]], changes: &[Change], left: &str, right: &str) -> Vec<u8> {
    const CONTEXT: usize = 3;
    let mut out = format!("--- {left}\n+++ {right}\n").into_bytes();
    let mut groups: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|l| change.left.0 <= l.left.1 + 2 * CONTEXT) => group.push(change),
            _ => groups.push(vec![change]),
        }
    }
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let before = CONTEXT.min(first.left.0).min(first.right.0);
        let after = CONTEXT.min(a.len() - last.left.1);
        let (from_a, to_a) = (first.left.0 - before, last.left.1 + after);
        let (from_b, to_b) = (first.right.0 - before, last.right.1 + after);
        let span = |from: usize, to: usize| match to - from {
            0 => format!("{from},0"),
            1 => (from + 1).to_string(),
            n => format!("{},{n}", from + 1),
        };
        out.extend_from_slice(format!("@@ -{} +{} @@\n", span(from_a, to_a), span(from_b, to_b)).as_bytes());
        let mut at = from_a;
        for change in group {
            put(&mut out, " ", a.get(at..change.left.0).unwrap_or_default());
            put(&mut out, "-", a.get(change.left.0..change.left.1).unwrap_or_default());
            put(&mut out, "+", b.get(change.right.0..change.right.1).unwrap_or_default());
            at = change.left.1;
        }
        put(&mut out, " ", a.get(at..to_a).unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown() {
        let (a, b): (Vec<&[u8]>, Vec<&[u8]>) = (vec![b"1", b"2", b"3"], vec![b"1", b"x", b"3", b"4"]);
        let changes = compare(&a, &b);
        assert_eq!(String::from_utf8(in_normal(&a, &b, &changes)).unwrap(), "2c2\n< 2\n---\n> x\n3a4\n> 4\n");
        assert_eq!(
            String::from_utf8(in_unified(&a, &b, &changes, "a", "b")).unwrap(),
            "--- a\n+++ b\n@@ -1,3 +1,4 @@\n 1\n-2\n+x\n 3\n+4\n"
        );
    }
}
