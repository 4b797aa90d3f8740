//! Holds the comparer to its reference, `transcripts/transcript.py`, on the recordings and on spoilt copies of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use tests::transcript::{self, Answer};

fn folder() -> PathBuf {
    tests::root().join("tests/transcripts")
}

/// What the reference prints for two files.
fn reference(expected: &Path, actual: &Path) -> String {
    let output = Command::new("python3")
        .arg(folder().join("transcript.py"))
        .arg("compare")
        .args([expected, actual])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The same from the comparer here.
fn ours(expected: &Path, actual: &Path) -> String {
    let recordings = transcript::recordings(expected).expect("recordings");
    let actual = transcript::answers(&std::fs::read_to_string(actual).expect("text"));
    let comparison = transcript::compare(&recordings, &actual);
    let mut text = String::new();
    let mut differences = 0;
    for (Answer { command, .. }, verdict) in recordings[0].iter().zip(&comparison.verdicts) {
        if let Some(difference) = verdict {
            differences += 1;
            text.push_str(&format!("--- $ {command}\n"));
            if !difference.is_empty() {
                text.push_str(&format!("{difference}\n"));
            }
        }
    }
    match comparison.commands_differ_at {
        Some(_) => text.push_str("commands differ at: ..."),
        None => {
            let all = recordings[0].len();
            text.push_str(&format!("{}: {} of {all} answers match\n", expected.display(), all - differences));
        }
    }
    text
}

fn same(expected: &Path, actual: &Path) {
    let mut wanted = reference(expected, actual);
    // The reference quotes the command as Python does.
    if let Some(at) = wanted.find("commands differ at: ") {
        wanted.truncate(at);
        wanted.push_str("commands differ at: ...");
    }
    assert_eq!(wanted, ours(expected, actual), "{} against {}", expected.display(), actual.display());
}

/// Writes a copy of a transcript with each line changed as told.
fn spoilt(name: &str, how: &str, change: impl Fn(usize, &str) -> String) -> (PathBuf, PathBuf) {
    let expected = folder().join(name);
    let text = std::fs::read_to_string(&expected).expect("text");
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, line)| if line.starts_with("$ ") { line.to_string() } else { change(i, line) })
        .collect();
    let actual = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{how}-{}", name.replace('/', "-")));
    std::fs::write(&actual, lines.join("\n")).expect("written");
    (expected, actual)
}

#[test]
fn a_recording_matches_itself() {
    for entry in std::fs::read_dir(folder()).expect("folder") {
        let path = entry.expect("entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".txt") && name != "known-failures.txt" {
            let text = ours(&path, &path);
            let count = transcript::recordings(&path).expect("recordings")[0].len();
            assert_eq!(text, format!("{}: {count} of {count} answers match\n", path.display()));
        }
    }
}

#[test]
fn a_variant_matches_as_the_reference_says() {
    same(&folder().join("13-pod-lifecycle.txt"), &folder().join("13-pod-lifecycle.variant-2.txt"));
}

#[test]
fn other_commands_are_told() {
    same(&folder().join("01-deployment.txt"), &folder().join("02-scale-and-heal.txt"));
}

#[test]
fn spoilt_copies_differ_as_the_reference_says() {
    for name in [
        "01-deployment.txt",
        "03-rolling-update.txt",
        "05-taints-and-selectors.txt",
        "09-services.txt",
        "13-pod-lifecycle.txt",
        "22-output-formats.txt",
        "cases/B1-insufficient-cpu.txt",
    ] {
        // Drawn names, addresses and ages that another run would have.
        let (expected, actual) = spoilt(name, "drawn", |_, line| {
            line.replace("10.244.1.", "10.244.3.1").replace("1s", "74s").replace("-4", "-5").replace("2026", "2027")
        });
        same(&expected, &actual);
        // Words that differ, at the same places of lines.
        let (expected, actual) = spoilt(name, "words", |i, line| {
            if i % 3 == 0 { line.replace("Running", "Pending").replace('e', "E") } else { line.to_string() }
        });
        same(&expected, &actual);
        // Columns that don't line up, digits that became others.
        let (expected, actual) = spoilt(name, "columns", |i, line| match i % 4 {
            0 => line.replacen("   ", "  ", 1),
            1 => line.replace('3', "7"),
            2 => format!("{line} "),
            _ => line.replacen("  ", "     ", 1),
        });
        same(&expected, &actual);
    }
}
