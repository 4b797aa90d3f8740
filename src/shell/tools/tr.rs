//! `tr`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Translates, deletes (`-d`) or squeezes (`-s`) characters; `-c` takes the complement of the first set.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, sets) = match options(&process, "dscC", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "tr", letter, 1).await,
        };
        let has = |letter: char| found.iter().any(|(o, _)| *o == letter);
        let Some(first) = sets.first().map(|s| expand(s)) else {
            complain(&process, "tr: missing operand\nTry 'tr --help' for more information.").await;
            return 1;
        };
        let second = sets.get(1).map(|s| expand(s));
        let complement = has('c') || has('C');
        let within = |c: char| first.contains(&c) != complement;
        let text = process.read_all().await;
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            if has('d') && within(c) {
                continue;
            }
            let mut to = c;
            if !has('d')
                && let Some(second) = second.as_ref().filter(|s| !s.is_empty())
                && within(c)
            {
                let at = if complement { usize::MAX } else { first.iter().rposition(|f| *f == c).unwrap_or(0) };
                to = second.get(at).or(second.last()).copied().unwrap_or(c);
            }
            let squeezed = if has('s') {
                match &second {
                    Some(second) => second.contains(&to),
                    None => within(to),
                }
            } else {
                false
            };
            if squeezed && out.ends_with(to) {
                continue;
            }
            out.push(to);
        }
        say(&process, out.as_bytes()).await.err().unwrap_or(0)
    })
}

/// Ranges, classes and escapes of a set.
fn expand(set: &str) -> Vec<char> {
    let (bytes, _) = super::printf::escapes(set);
    let set = String::from_utf8_lossy(&bytes).into_owned();
    let chars: Vec<char> = set.chars().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        let rest: String = chars.get(at..).unwrap_or_default().iter().collect();
        let class = [("[:lower:]", 'a'..='z'), ("[:upper:]", 'A'..='Z'), ("[:digit:]", '0'..='9')]
            .into_iter()
            .find(|(name, _)| rest.starts_with(name));
        if let Some((name, range)) = class {
            out.extend(range);
            at += name.len();
        } else if rest.starts_with("[:alpha:]") {
            out.extend(('A'..='Z').chain('a'..='z'));
            at += 9;
        } else if rest.starts_with("[:alnum:]") {
            out.extend(('0'..='9').chain('A'..='Z').chain('a'..='z'));
            at += 9;
        } else if rest.starts_with("[:space:]") {
            out.extend([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
            at += 9;
        } else if chars.get(at + 1) == Some(&'-') && chars.get(at + 2).is_some_and(|to| *to >= c) {
            out.extend(c..=chars.get(at + 2).copied().unwrap_or(c));
            at += 3;
        } else {
            out.push(c);
            at += 1;
        }
    }
    out
}
