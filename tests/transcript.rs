//! Transcripts: shell sessions with the output they gave, and the comparison of two of them.
//!
//! The format and what a comparison ignores are documented in `transcripts/transcript.py`, the reference which
//! recorded them on a real v1.37.2 cluster; `comparer.rs` holds this module to it.

use fancy_regex::{Captures, Regex, RegexBuilder};
use native::transcript::{Part, parse};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A command of a transcript and what it printed, stdout and stderr interleaved, with `[exit N]` where N is not 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The whole command, with the lines of its here-document.
    pub command: String,
    /// Without blank lines at the end.
    pub output: String,
}

/// What comparing two transcripts says.
pub struct Comparison {
    /// One entry a command that was compared: nothing, or in what its answer differs, as lines.
    pub verdicts: Vec<Option<String>>,
    /// The command at which the two stop having the same commands.
    pub commands_differ_at: Option<String>,
}

/// An answer so many times as long as the recorded one can't match.
const LONGER: usize = 20;
/// Steps back that a pattern may take on one output: some are long.
const STEPS_BACK: usize = 200_000_000;

fn regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern).backtrack_limit(STEPS_BACK).build().unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

fn matches(pattern: &Regex, text: &str) -> bool {
    pattern.is_match(text).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// The commands of a transcript, each with its answer.
pub fn answers(text: &str) -> Vec<Answer> {
    let command = |part| match part {
        Part::Command { command, output } => Some(Answer { command, output }),
        Part::Comment(_) => None,
    };
    parse(text).into_iter().filter_map(command).collect()
}

/// What two clusters can't share, and what stands for it.
const SUBSTITUTIONS: &[(&str, &str)] = &[
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"sha256:[0-9a-f]{64}", "<digest>"),
    (r"\b(containerd|docker)://[0-9a-f]{12,64}", "<container-id>"),
    (r"-[4-9bcdf]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<hash>-<id>"),
    (r"([=-])[4-9bcdf]{8,10}\b", r"${1}<hash>"),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b(?![\w.-])", "-<id>"),
    (r"\b10\.244\.\d+\.\d+", "<pod-ip>"),
    (r"\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+", "<service-ip>"),
    (r"\b172\.18\.\d+\.\d+\b", "<node-ip>"),
    (r#"(resourceVersion"?: )"\d+""#, r#"${1}"<rv>""#),
    (r#"(start exec )"[0-9a-f]{64}""#, r#"${1}"<container-id>""#),
    (r"(Resource Version: +)\d+", r"${1}<rv>"),
    (r#"(topology\.kubernetes\.io/zone"?[:=]"?)z[abc]\b"#, r"${1}<zone>"),
    (r"(Lease Transitions: +)\d+", r"${1}<n>"),
    (r"\bapiserver-[a-z0-9]{26}\b", "apiserver-<hash>"),
    (r"in [\d.]+(ms|s) \([\d.]+(ms|s) including waiting\)", "in <duration> (<duration> including waiting)"),
    (r"Image size: \d+ bytes", "Image size: <n> bytes"),
    (r"\(x\d+ over [^)]*\)", "(x<n> over <age>)"),
    (r"\([0-9ydhms]+ ago\)", "(<age> ago)"),
    (r"^(Duration: +)[0-9ydhms]+$", r"${1}<age>"),
    (r"  +", "  "),
];

/// Ages are whole cells of a table; a quantity after a field's name (`cpu:  100m`) is not one.
fn mask_ages(line: &str) -> String {
    static AGE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?:^|(?<=  ))(?=\d)(?:\d+y)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?=  |$| \(x)"));
    AGE.replace_all(line, |found: &Captures<'_>| {
        let Some(age) = found.get(0) else { return String::new() };
        let before = line.get(..age.start()).unwrap_or("");
        if before.trim_end().ends_with(':') || age.as_str().is_empty() {
            age.as_str().to_string()
        } else {
            "<age>".to_string()
        }
    })
    .into_owned()
}

/// The lines of an output without what differs from run to run; in no order where names that are drawn decide it.
pub fn normalise(output: &str, command: &str) -> Vec<String> {
    static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        SUBSTITUTIONS.iter().map(|(pattern, stand_in)| (regex(&format!("(?m){pattern}")), *stand_in)).collect()
    });
    static DRAWN: LazyLock<Regex> = LazyLock::new(|| regex("<(id|hash|uid|pod-ip|service-ip)>"));
    static TABLE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(NAME|NAMESPACE|LAST SEEN)\b"));
    static SORTS: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(sort|uniq)\b"));
    let mut output = output.to_string();
    for (pattern, stand_in) in COMPILED.iter() {
        output = pattern.replace_all(&output, *stand_in).into_owned();
    }
    let counted = command.contains("uniq -c");
    let mut lines: Vec<String> =
        output.lines().map(|line| mask_ages(if counted { line.trim() } else { line.trim_end() })).collect();
    let drawn = lines.iter().any(|line| matches(&DRAWN, line));
    let by_name = lines.first().is_some_and(|line| matches(&TABLE, line)) || matches(&SORTS, command);
    if drawn && by_name {
        lines.sort();
    }
    lines
}

/// The first line of a table whose cells don't stand under their headers.
pub fn misaligned(output: &str) -> Option<&str> {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| regex(r"^(NAME|NAMESPACE|LAST SEEN|TYPE|REVISION)\b.*  "));
    // Where the columns of the table begin, while within one.
    let mut columns: Option<Vec<usize>> = None;
    for line in output.lines() {
        let cells: Vec<char> = line.chars().collect();
        if matches(&HEADER, line) {
            let blank = |at: usize| cells.get(at) == Some(&' ');
            let begins = |at: &usize| *at >= 3 && !cells.get(*at).is_some_and(|c| c.is_whitespace());
            let three =
                |at: &usize| blank(at.saturating_sub(1)) && blank(at.saturating_sub(2)) && blank(at.saturating_sub(3));
            columns = Some((0..cells.len()).filter(begins).filter(three).collect());
        } else if line.trim().is_empty() || columns.is_none() {
            columns = None;
        } else if let Some(columns) = &columns {
            let off = |start: &usize| *start <= cells.len() && cells.get(start.saturating_sub(1)) != Some(&' ');
            if columns.iter().any(off) {
                return Some(line);
            }
        }
    }
    None
}

/// Compares what a run gave with the recordings of the same commands: an answer that equals one of them matches.
pub fn compare(recordings: &[Vec<Answer>], actual: &[Answer]) -> Comparison {
    let mut comparison = Comparison { verdicts: Vec::new(), commands_differ_at: None };
    let Some(first) = recordings.first() else { return comparison };
    for (i, Answer { command, output: recorded }) in first.iter().enumerate() {
        let Some(answer) = actual.get(i).filter(|answer| answer.command == *command) else {
            comparison.commands_differ_at = Some(command.clone());
            return comparison;
        };
        // What goes on and on is not looked at line by line.
        if answer.output.len() > LONGER * (recorded.len() + 1000) {
            let text = format!("  {} bytes, where {} were recorded", answer.output.len(), recorded.len());
            comparison.verdicts.push(Some(text));
            continue;
        }
        let got = normalise(&answer.output, command);
        let wanted: Vec<Vec<String>> = recordings
            .iter()
            .filter_map(|recording| recording.get(i))
            .map(|recording| normalise(&recording.output, command))
            .collect();
        let verdict = if !wanted.contains(&got) {
            Some(difference(wanted.first().map_or(&[], Vec::as_slice), &got))
        } else {
            misaligned(&answer.output)
                .filter(|_| misaligned(recorded).is_none())
                .map(|line| format!("  columns don't line up: {line}"))
        };
        comparison.verdicts.push(verdict);
    }
    comparison
}

fn difference(wanted: &[String], got: &[String]) -> String {
    let expected = wanted.iter().filter(|line| !got.contains(line)).map(|line| format!("  expected: {line}"));
    let others = got.iter().filter(|line| !wanted.contains(line)).map(|line| format!("  got:      {line}"));
    let mut lines: Vec<String> = expected.chain(others).collect();
    let mut sorted = [wanted.to_vec(), got.to_vec()];
    sorted.iter_mut().for_each(|lines| lines.sort());
    if sorted[0] == sorted[1] {
        lines.push("  the same lines in another order or number".to_string());
    }
    lines.join("\n")
}

/// The recordings of a transcript: `NAME.txt` first, then each `NAME.variant-N.txt` beside it.
pub fn recordings(path: &Path) -> std::io::Result<Vec<Vec<Answer>>> {
    let mut paths = vec![path.to_path_buf()];
    let prefix = format!("{}.variant-", path.file_stem().unwrap_or_default().to_string_lossy());
    if let Some(folder) = path.parent() {
        let mut variants: Vec<PathBuf> = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
            .collect();
        variants.sort();
        paths.extend(variants);
    }
    paths.iter().map(|path| Ok(answers(&std::fs::read_to_string(path)?))).collect()
}
