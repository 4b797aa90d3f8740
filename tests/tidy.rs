//! Rules that no compiler checks: words and places, lengths of files, links of documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file longer than this does two things. Generated ones say `@generated` in their first lines and don't count.
const LONGEST: usize = 800;

/// Files that may be longer, each with its reason.
const MAY_BE_LONG: &[(&str, &str)] = &[("src/shell/syntax.rs", "one grammar, read from top to bottom")];

/// Files of ours that may call `unwrap`, each with its reason.
const MAY_UNWRAP: &[(&str, &str)] = &[];

/// Words of the code, where they may stand, and why nowhere else. Comments are not looked at.
const WORDS: &[(&[&str], &[&str], &str)] = &[
    (
        &["HashMap", "HashSet", "RandomState"],
        &["tests/"],
        "their order differs from run to run; use BTreeMap, BTreeSet or an index",
    ),
    (
        &["SystemTime", "std::time::Instant", "Instant::now", "Utc::now", "Timestamp::now", "Zoned::now"],
        &["src/native/", "src/page/", "tests/", "benches/"],
        "time is virtual; ask the process's context",
    ),
    (
        &["thread::spawn", "thread_local!", "static mut", "OnceLock<Mutex"],
        &["src/native/", "src/page/", "tests/", "benches/"],
        "the world is one thread and keeps its state in itself",
    ),
    (
        &["getrandom", "thread_rng", "rand::rng()", "from_os_rng", "from_entropy"],
        &["tests/"],
        "randomness comes from the world's seed",
    ),
    (
        &["web_sys", "js_sys", "gloo", "yew", "wasm_bindgen"],
        &["src/page/", "src/main.rs", "src/world/worker.rs", "src/world/main.rs", "tests/"],
        "only the page and the worker's entry know the browser",
    ),
    (&["todo!", "unimplemented!", "dbg!"], &[], "unfinished"),
];

/// What no file may hold: it would say where the project was made.
fn private_words() -> Vec<String> {
    [
        ["/wo", "rk/"],
        ["/root/.c", "argo"],
        ["/root/.r", "ustup"],
        ["/tmp/or", "acle"],
        ["Anthro", "pic"],
        ["Clau", "de"],
    ]
    .map(|word| word.concat())
    .to_vec()
}

fn files() -> Vec<(String, PathBuf)> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<(String, PathBuf)>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".git", ".claude"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                if !["target", "dist", "node_modules", "__pycache__"].contains(&name.as_str()) {
                    walk(&path, root, found);
                }
            } else if let Ok(relative) = path.strip_prefix(root) {
                found.push((relative.to_string_lossy().into_owned(), path));
            }
        }
    }
    let root = tests::root();
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    found
}

fn texts(ending: &str) -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(ending))
        .filter_map(|(name, path)| Some((name, std::fs::read_to_string(path).ok()?)))
        .collect()
}

/// The lines of a Rust file with their numbers, without comments and without the tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .map(|(i, line)| (i + 1, line.find("//").map_or(line, |at| line.get(..at).unwrap_or(line))))
}

fn is_test_file(name: &str) -> bool {
    name.starts_with("tests/")
        || name.ends_with("/tests.rs")
        || name.contains("/tests/")
        || name.contains("_tests/")
        || name.ends_with("_tests.rs")
}

fn no_complaints(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn words_stand_where_they_may() {
    let mut complaints = Vec::new();
    for (name, text) in texts(".rs") {
        for (number, line) in code(&text) {
            for (words, places, reason) in WORDS {
                let allowed = name == "tests/tidy.rs" || places.iter().any(|place| name.starts_with(place));
                if let (false, Some(word)) = (allowed, words.iter().find(|word| line.contains(**word))) {
                    complaints.push(format!("{name}:{number}: {word}: {reason}"));
                }
            }
        }
    }
    no_complaints(complaints);
}

#[test]
fn nothing_is_unwrapped() {
    let mut complaints = Vec::new();
    for (name, text) in texts(".rs") {
        if is_test_file(&name) || name.ends_with("build.rs") || MAY_UNWRAP.iter().any(|(file, _)| *file == name) {
            continue;
        }
        for (number, line) in code(&text).filter(|(_, line)| line.contains(".unwrap()")) {
            complaints.push(format!("{name}:{number}: {}", line.trim()));
        }
    }
    no_complaints(complaints);
}

#[test]
fn files_do_one_thing() {
    let mut complaints = Vec::new();
    for (name, text) in texts(".rs") {
        let generated = text.lines().take(5).any(|line| line.contains("@generated"));
        let length = text.lines().count();
        if !generated && length > LONGEST && !MAY_BE_LONG.iter().any(|(file, _)| *file == name) {
            complaints.push(format!("{name}: {length} lines, more than {LONGEST}"));
        }
    }
    for (name, _) in MAY_BE_LONG.iter().chain(MAY_UNWRAP) {
        if !tests::root().join(name).is_file() {
            complaints.push(format!("{name} is listed in tests/tidy.rs and is not there"));
        }
    }
    no_complaints(complaints);
}

#[test]
fn every_source_file_is_part_of_its_crate() {
    let sources = texts(".rs");
    let mut complaints = Vec::new();
    for (name, _) in sources.iter().filter(|(name, _)| name.starts_with("src/")) {
        let path = Path::new(name);
        let (Some(folder), Some(stem)) = (path.parent(), path.file_stem()) else { continue };
        let stem = stem.to_string_lossy().into_owned();
        let roots = ["lib", "main", "mod", "build"];
        let in_bin = folder.ends_with("bin") || folder.ends_with("benches") || folder.ends_with("examples");
        if (roots.contains(&stem.as_str()) && (stem != "mod")) || in_bin || is_test_file(name) {
            continue;
        }
        // A folder's mod.rs is named by the folder's parent; any other file by its folder's root or by FOLDER.rs.
        let (module, home) = match stem.as_str() {
            "mod" => (
                folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
                folder.parent(),
            ),
            _ => (stem, Some(folder)),
        };
        let home = home.unwrap_or(Path::new(""));
        let parents: BTreeSet<String> = ["lib.rs", "main.rs", "mod.rs"]
            .iter()
            .map(|root| home.join(root).to_string_lossy().into_owned())
            .chain([format!("{}.rs", home.to_string_lossy())])
            .collect();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let listed = sources.iter().filter(|(parent, _)| parents.contains(parent)).any(|(_, text)| {
            text.contains(&format!("mod {module};"))
                || text.contains(&format!("mod r#{module};"))
                || text.contains(&format!("{file}\""))
        });
        // Named by a macro's list or a path attribute somewhere in the crate.
        let mentioned = listed
            || sources.iter().any(|(other, text)| {
                other != name
                    && parents.contains(other)
                    && text.lines().any(|line| line.trim().trim_end_matches(',') == module)
            });
        let by_path = format!("path = \"{file}\"");
        let declared = files().iter().any(|(toml, path)| {
            toml.ends_with("Cargo.toml") && std::fs::read_to_string(path).is_ok_and(|text| text.contains(&by_path))
        });
        if !mentioned && !declared {
            complaints.push(format!("{name}: no file declares it, so nothing builds it"));
        }
    }
    no_complaints(complaints);
}

/// Folders where one file adds one feature, and the tables that must know it: quotas are charged after all the other
/// admission, by the registry.
const TABLES: &[(&str, &[&str])] = &[
    ("src/apiserver/admission", &["src/apiserver/admission/mod.rs", "src/apiserver/registry/create.rs"]),
    ("src/scheduler/plugins", &["src/scheduler/plugins/mod.rs"]),
];

#[test]
fn every_feature_stands_in_its_table() {
    let mut complaints = Vec::new();
    for (folder, tables) in TABLES {
        let read = |table: &&str| std::fs::read_to_string(tests::root().join(table)).expect("the table is there");
        let rows: String = tables.iter().map(read).collect();
        for (name, _) in texts(".rs") {
            let Some(file) = name.strip_prefix(&format!("{folder}/")) else { continue };
            let feature = file.split('/').next().unwrap_or(file).trim_end_matches(".rs");
            if !["mod", "tests"].contains(&feature) && !rows.contains(&format!("{feature}::")) {
                complaints.push(format!("{name}: no row of {} names it", tables.join(", ")));
            }
        }
    }
    no_complaints(complaints);
}

#[test]
fn generated_files_are_what_the_generator_makes() {
    let check = std::process::Command::new("python3")
        .args(["src/api/generate.py", "--check"])
        .current_dir(tests::root())
        .output()
        .expect("python3 runs");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn what_trunk_ignores_is_there_before_it_starts() {
    let read = |name: &str| std::fs::read_to_string(tests::root().join(name)).unwrap_or_default();
    let (trunk, setup, package) = (read("Trunk.toml"), read("scripts/setup"), read("package-lock.json"));
    let made = setup.lines().find_map(|line| line.strip_prefix("mkdir -p ")).unwrap_or_default();
    let list = trunk.lines().find_map(|line| line.strip_prefix("ignore = [")).unwrap_or_default();
    let folders: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(folders.contains(&"target"), "{list}");
    for folder in folders {
        let kept = ["tests", "docs"].contains(&folder);
        let installed = folder == "node_modules" && !package.is_empty();
        assert!(kept || installed || made.split_whitespace().any(|m| m == folder), "nothing makes {folder}");
    }
}

#[test]
fn a_second_serve_names_the_first() {
    let root = tests::root();
    std::fs::create_dir_all(root.join("target")).expect("target can be made");
    // Held by flock as by a first `make serve`. Where one runs for real there is nothing to try.
    let output = std::process::Command::new("flock")
        .args(["--nonblock", "--conflict-exit-code", "77", "target/serve.lock", "timeout", "20", "scripts/serve"])
        .current_dir(root)
        .output();
    let Ok(output) = output else { return };
    if output.status.code() != Some(77) {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("being served already") && output.status.code() == Some(1), "{told}");
    }
}

#[test]
fn every_long_step_of_setup_is_named_before_it_runs() {
    let setup = std::fs::read_to_string(tests::root().join("scripts/setup")).unwrap_or_default();
    let mut named = false;
    for line in setup.lines().map(str::trim).skip_while(|line| !line.starts_with("packages=")) {
        named |= line.contains("step \"");
        let runs = ["quietly ", "tries ", "cargo_install ", "apt_install "].iter().any(|word| line.contains(word));
        assert!(named || !runs || line.contains("() {"), "{line}");
    }
    assert!(named);
}

#[test]
fn nothing_says_where_it_was_made() {
    let words = private_words();
    let mut complaints = Vec::new();
    for (name, path) in files() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (i, line) in text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(word.as_str())) {
                complaints.push(format!("{name}:{}: {word}", i + 1));
            }
        }
    }
    no_complaints(complaints);
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut complaints = Vec::new();
    for (name, text) in texts(".md") {
        let folder = tests::root().join(&name).parent().map(Path::to_path_buf).unwrap_or_default();
        for (i, line) in text.lines().enumerate() {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = target.split('#').next().unwrap_or("");
                if !file.is_empty() && !file.contains("://") && !folder.join(file).exists() {
                    complaints.push(format!("{name}:{}: there is no {file}", i + 1));
                }
            }
        }
    }
    no_complaints(complaints);
}
