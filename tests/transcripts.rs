//! Plays every transcript of `transcripts/` with `tabernetes run` and compares the answers with those that were
//! recorded on a real v1.37.2 cluster. One test a file.
//!
//! `TRANSCRIPTS_UPDATE=1` writes `known-failures.txt` anew from what this run gave, reasons kept; read the difference
//! before committing it.

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tests::known::{self, KnownFailures};
use tests::{program, transcript};

/// A transcript waits for minutes of virtual time, never for so much wall time.
const LIMIT: Duration = Duration::from_secs(300);

fn folder() -> PathBuf {
    tests::root().join("tests/transcripts")
}

/// The transcripts' names: paths within the folder, in order. Variants and the list of failures are none.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for sub in ["", "cases/"] {
        let Ok(entries) = std::fs::read_dir(folder().join(sub)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".txt") && !name.contains(".variant-") && name != "known-failures.txt" {
                names.push(format!("{sub}{name}"));
            }
        }
    }
    names.sort();
    names
}

/// The transcripts that the project's own shell plays too.
const IN_OWN_SHELL: [&str; 5] = [
    "01-deployment.txt",
    "02-scale-and-heal.txt",
    "03-rolling-update.txt",
    "04-pending-resources.txt",
    "05-taints-and-selectors.txt",
];

/// The transcripts that only the project's own shell plays: they are about commands in the background, whose moments
/// are this machine's in bash.
const ONLY_IN_OWN_SHELL: [&str; 1] = ["40-port-forward.txt"];

/// Plays a transcript with a shell, `bash` or `page`; in what each answer that doesn't match differs, by number of the
/// command.
fn play(name: &str, shell: &str) -> Result<BTreeMap<usize, String>, Failed> {
    static PROGRAM: LazyLock<Result<PathBuf, String>> = LazyLock::new(program::build);
    let program = PROGRAM.as_ref().map_err(Failed::from)?;
    let path = folder().join(name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("transcripts").join(shell);
    let out = folder.join(name.trim_end_matches(".txt"));
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out)?;
    let ran =
        program::run(Command::new(program).arg("run").arg(&path).args(["--shell", shell, "--out"]).arg(&out), LIMIT);
    let complaint = match &ran {
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let file = out.join(Path::new(name).file_name().unwrap_or_default());
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let recordings = transcript::recordings(&path)?;
    let actual = transcript::answers(&text);
    let comparison = transcript::compare(&recordings, &actual);
    let mut failures = BTreeMap::new();
    for (i, answer) in recordings.first().into_iter().flatten().enumerate() {
        let verdict = match comparison.verdicts.get(i) {
            Some(verdict) => verdict.clone(),
            None => Some(format!("  no answer was given\n{complaint}")),
        };
        if let Some(difference) = verdict {
            failures.insert(i + 1, format!("--- {} $ {}\n{difference}", i + 1, answer.command));
        }
    }
    Ok(failures)
}

/// Whether a transcript's failures are the known ones.
fn judge(failures: &BTreeMap<usize, String>, known: &BTreeMap<usize, String>) -> Result<(), Failed> {
    let mut wrong: Vec<String> =
        failures.iter().filter(|(number, _)| !known.contains_key(number)).map(|(_, text)| text.clone()).collect();
    for number in known.keys().filter(|number| !failures.contains_key(number)) {
        wrong.push(format!("--- {number} matches now: strike it out of known-failures.txt"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let list = folder().join("known-failures.txt");
    let known = match known::parse(&std::fs::read_to_string(&list).unwrap_or_default()) {
        Ok(known) => Arc::new(known),
        Err(error) => {
            eprintln!("known-failures.txt: {error}");
            return ExitCode::FAILURE;
        }
    };
    let update = std::env::var_os("TRANSCRIPTS_UPDATE").is_some();
    let found: Arc<Mutex<KnownFailures>> = Arc::new(Mutex::new((*known).clone()));
    let names = names();
    let mut trials: Vec<Trial> = Vec::new();
    for name in names.iter().filter(|name| !ONLY_IN_OWN_SHELL.contains(&name.as_str())) {
        let (name, known, found) = (name.clone(), known.clone(), found.clone());
        trials.push(Trial::test(name.clone(), move || {
            let failures = play(&name, "bash")?;
            let none = BTreeMap::new();
            let known = known.get(&name).unwrap_or(&none);
            if !update {
                return judge(&failures, known);
            }
            let reason = |number| known.get(number).cloned().unwrap_or("not matched yet".to_string());
            let entries = failures.keys().map(|number| (*number, reason(number))).collect();
            found.lock().map_err(|error| error.to_string())?.insert(name, entries);
            Ok(())
        }));
    }
    for name in IN_OWN_SHELL.into_iter().chain(ONLY_IN_OWN_SHELL) {
        let known = known.clone();
        trials.push(Trial::test(format!("page/{name}"), move || {
            let none = BTreeMap::new();
            judge(&play(name, "page")?, known.get(name).unwrap_or(&none))
        }));
    }
    trials.push(Trial::test("known-failures.txt names transcripts", {
        let known = known.clone();
        move || match known.keys().find(|name| !names.contains(name)) {
            Some(name) => Err(format!("there is no {name}").into()),
            None => Ok(()),
        }
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if update
        && let Ok(found) = found.lock()
        && let Err(error) = std::fs::write(&list, known::render(&found))
    {
        eprintln!("{}: {error}", list.display());
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}
