//! `transcripts/known-failures.txt`: the answers that can't match yet. A line is the file, the number of the command
//! in it counted from 1, and the reason, separated by tabs; `#` begins a comment. An entry that matches fails the run
//! until it is struck out.

use std::collections::BTreeMap;

/// The reason by number of the command, by file.
pub type KnownFailures = BTreeMap<String, BTreeMap<usize, String>>;

/// Reads the list; the error names the line that is wrong.
pub fn parse(text: &str) -> Result<KnownFailures, String> {
    let mut known = KnownFailures::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut cells = line.splitn(3, '\t');
        let (Some(file), Some(number), Some(reason)) = (cells.next(), cells.next(), cells.next()) else {
            return Err(format!("line {}: not three cells separated by tabs", i + 1));
        };
        let number = number.parse().map_err(|_| format!("line {}: {number:?} is not a number", i + 1))?;
        if reason.trim().is_empty() {
            return Err(format!("line {}: no reason is given", i + 1));
        }
        if known.entry(file.to_string()).or_default().insert(number, reason.to_string()).is_some() {
            return Err(format!("line {}: twice in the list", i + 1));
        }
    }
    Ok(known)
}

/// The list as text, in order of file and number.
pub fn render(known: &KnownFailures) -> String {
    let mut text = String::from(
        "# Answers that don't match yet: file, number of the command in it, reason; separated by tabs.\n\
         # An entry that starts to match fails the run until it is struck out.\n",
    );
    for (file, entries) in known {
        for (number, reason) in entries {
            text.push_str(&format!("{file}\t{number}\t{reason}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_is_read_again() {
        let mut known = KnownFailures::new();
        known.entry("06-node-failure.txt".into()).or_default().insert(12, "needs the attach controller".into());
        known.entry("cases/B7-unbound-claim.txt".into()).or_default().insert(3, "no\tbinder".into());
        assert_eq!(parse(&render(&known)), Ok(known));
    }

    #[test]
    fn what_is_wrong_is_named_by_line() {
        assert_eq!(parse("# comment\na.txt\t1"), Err("line 2: not three cells separated by tabs".into()));
        assert_eq!(parse("a.txt\tone\tbecause"), Err("line 1: \"one\" is not a number".into()));
        assert_eq!(parse("a.txt\t1\t "), Err("line 1: no reason is given".into()));
        assert_eq!(parse("a.txt\t1\tx\na.txt\t1\ty"), Err("line 2: twice in the list".into()));
    }
}
