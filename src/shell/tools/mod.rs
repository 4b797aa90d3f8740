//! The programs that come with the shell: one table, one file each.
//!
//! Each runs in the words of its [`Dialect`]: GNU's in the terminal, busybox' in containers.

mod awk;
mod base64;
mod cat;
mod comm;
pub mod curl;
mod cut;
mod date;
mod diff;
pub mod echo;
mod env;
mod files;
mod grep;
mod head;
mod lines;
mod ls;
mod names;
mod numbers;
pub mod printf;
pub mod regex;
mod sed;
mod seq;
mod sh;
pub mod sleep;
mod sort;
mod tee;
pub mod test;
mod timeout;
mod tr;
mod uniq;
mod wc;
mod xargs;
mod yes;

use crate::process::{FileError, LocalFuture, Process, Program};
use crate::{Dialect, Tools};
use sim::Ctx;
use std::rc::Rc;

/// A program, in the words of a dialect.
type Tool = fn(Ctx, Process, Dialect) -> LocalFuture<'static, i32>;

/// All programs, by name.
const TABLE: &[(&str, Tool)] = &[
    ("awk", awk::run),
    ("base64", base64::run),
    ("basename", names::basename),
    ("cat", cat::run),
    ("comm", comm::run),
    ("cp", files::cp),
    ("cut", cut::run),
    ("date", date::run),
    ("diff", diff::run),
    ("dirname", names::dirname),
    ("grep", grep::run),
    ("head", head::head),
    ("id", names::id),
    ("ls", ls::run),
    ("mkdir", files::mkdir),
    ("mv", files::mv),
    ("printenv", env::printenv),
    ("rm", files::rm),
    ("rmdir", files::rmdir),
    ("sed", sed::run),
    ("seq", seq::run),
    ("sleep", sleep::run),
    ("sort", sort::run),
    ("tail", head::tail),
    ("tee", tee::run),
    ("touch", files::touch),
    ("tr", tr::run),
    ("uname", names::uname),
    ("uniq", uniq::run),
    ("wc", wc::run),
    ("whoami", names::whoami),
    ("yes", yes::run),
];

/// A program that runs others, which it finds as the shell does that started it.
type Runner = fn(Ctx, Process, Dialect, Rc<dyn Tools>) -> LocalFuture<'static, i32>;

/// All programs that run others, by name.
const RUNNERS: &[(&str, Runner)] =
    &[("env", env::run), ("sh", sh::run), ("timeout", timeout::run), ("xargs", xargs::run)];

/// The program called `name`, if it is one that runs no others.
pub fn find(name: &str, dialect: Dialect) -> Option<Program> {
    let (_, tool) = TABLE.iter().find(|(n, _)| *n == name)?;
    let tool = *tool;
    Some(Rc::new(move |ctx, process| tool(ctx, process, dialect)))
}

/// The program called `name` that runs others, which it finds among `tools`.
pub fn find_runner(name: &str, dialect: Dialect, tools: Rc<dyn Tools>) -> Option<Program> {
    let name = if name == "bash" && dialect == Dialect::Bash { "sh" } else { name };
    let (_, runner) = RUNNERS.iter().find(|(n, _)| *n == name)?;
    let runner = *runner;
    Some(Rc::new(move |ctx, process| runner(ctx, process, dialect, tools.clone())))
}

/// All names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<_> = TABLE.iter().map(|(name, _)| *name).chain(RUNNERS.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names.into_iter()
}

/// Runs `args` as a program of `tools`, with the rest of what `process` has.
async fn start(ctx: &Ctx, process: &Process, dialect: Dialect, tools: &Rc<dyn Tools>, args: Vec<String>) -> Started {
    let name = args.first().map_or("", String::as_str);
    let base = name.rsplit('/').next().unwrap_or(name);
    let Some(family) = process.family.child() else {
        let _ = process.stderr.write(format!("{name}: Resource temporarily unavailable\n").as_bytes()).await;
        return Started::Ended(126);
    };
    let process = &Process { family, ..process.clone() };
    let found = tools.find(base).or_else(|| find_runner(base, dialect, tools.clone()));
    let builtin = crate::BUILTINS.contains(&base);
    let program = match found {
        Some(program) => program,
        // `test`, `echo` and their kin are programs too.
        None if builtin => {
            let mut words = vec!["sh".to_string(), "-c".into(), "\"$@\"".into(), "sh".into()];
            words.extend(args);
            let process = Process { args: words, ..process.clone() };
            return Started::Ended(sh::run(ctx.clone(), process, dialect, tools.clone()).await);
        }
        None => return Started::NotFound,
    };
    Started::Ended(program(ctx.clone(), Process { args, ..process.clone() }).await)
}

/// How a program that another started ended.
enum Started {
    Ended(i32),
    NotFound,
}

/// The programs alone, as a shell finds them.
pub struct Standard(pub Dialect);

impl Tools for Standard {
    fn find(&self, name: &str) -> Option<Program> {
        find(name, self.0)
    }
    fn names(&self) -> Vec<String> {
        names().map(str::to_string).collect()
    }
}

/// Writes to standard output; 141 if nobody reads any more.
async fn say(process: &Process, bytes: &[u8]) -> Result<(), i32> {
    process.stdout.write(bytes).await.map_err(|_| 141)
}

/// Writes a line to standard error.
async fn complain(process: &Process, text: &str) {
    let _ = process.stderr.write(format!("{text}\n").as_bytes()).await;
}

/// How a program words that a file can't be read.
fn cannot_open(dialect: Dialect, tool: &str, name: &str, why: FileError) -> String {
    match (dialect, why) {
        (Dialect::Busybox, FileError::IsDirectory) => format!("{tool}: read error: {why}"),
        (Dialect::Busybox, _) => format!("{tool}: can't open '{name}': {why}"),
        (Dialect::Bash, _) if tool == "head" || tool == "tail" => {
            if why == FileError::IsDirectory {
                format!("{tool}: error reading '{name}': {why}")
            } else {
                format!("{tool}: cannot open '{name}' for reading: {why}")
            }
        }
        (Dialect::Bash, _) => format!("{tool}: {name}: {why}"),
    }
}

/// The content of each named file, `-` and no name at all being standard input. What can't be read is complained about;
/// the second value says whether anything was.
async fn read_all(
    process: &Process,
    dialect: Dialect,
    tool: &str,
    names: &[String],
) -> (Vec<(String, Rc<[u8]>)>, bool) {
    if names.is_empty() {
        return (vec![(String::new(), process.read_all().await.into())], false);
    }
    let (mut all, mut failed) = (Vec::new(), false);
    for name in names {
        if name == "-" {
            all.push((name.clone(), process.read_all().await.into()));
            continue;
        }
        let path = process.path(name);
        if path == "/dev/null" {
            all.push((name.clone(), Rc::from([])));
            continue;
        }
        match process.files.read(&path) {
            Ok(bytes) => all.push((name.clone(), bytes)),
            Err(why) => {
                complain(process, &cannot_open(dialect, tool, name, why)).await;
                failed = true;
            }
        }
    }
    (all, failed)
}

/// An option's letter and its value, empty if it takes none.
type Found = (char, String);

/// Splits arguments into options and the rest: clusters of letters (`-rn`), those in `valued` taking the rest of their
/// word or the next one, `--` ending them. The error names the first unknown letter.
fn options(process: &Process, flags: &str, valued: &str) -> Result<(Vec<Found>, Vec<String>), char> {
    let (mut found, mut rest) = (Vec::new(), Vec::new());
    let mut words = process.args.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "--" {
            rest.extend(words.cloned());
            break;
        }
        let Some(letters) = word.strip_prefix('-').filter(|l| !l.is_empty() && !l.starts_with('-')) else {
            rest.push(word.clone());
            continue;
        };
        for (at, letter) in letters.char_indices() {
            if valued.contains(letter) {
                let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                let value =
                    if attached.is_empty() { words.next().cloned().unwrap_or_default() } else { attached.to_string() };
                found.push((letter, value));
                break;
            }
            if !flags.contains(letter) {
                return Err(letter);
            }
            found.push((letter, String::new()));
        }
    }
    Ok((found, rest))
}

/// Complains about an option that a program doesn't have, and gives its exit code.
async fn unknown_option(process: &Process, dialect: Dialect, tool: &str, letter: char, code: i32) -> i32 {
    let text = match dialect {
        Dialect::Busybox => format!("{tool}: unrecognized option: {letter}"),
        Dialect::Bash => format!("{tool}: invalid option -- '{letter}'\nTry '{tool} --help' for more information."),
    };
    complain(process, &text).await;
    code
}
