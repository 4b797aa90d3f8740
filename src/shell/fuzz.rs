//! The shell and its tools on any text: they may refuse it, they never panic, and time goes on.

use crate::process::{Buffer, Bytes};
use crate::tests::Memory;
use crate::*;
use proptest::prelude::*;
use std::rc::Rc;

/// Pieces of programs, apt to be put together wrongly.
const PIECES: &[&str] = &[
    "echo",
    "a",
    "b c",
    "x=1",
    "$x",
    "${x",
    "${x:-",
    "}",
    "${x#*a}",
    "${x//a/b}",
    "${#x}",
    "$((",
    "))",
    "1+2",
    "1/0",
    "9223372036854775807",
    "*",
    "<<",
    ">>",
    "%",
    "-",
    "!",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "||",
    "|",
    "(",
    "{",
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "for",
    "i",
    "in",
    "do",
    "done",
    "while",
    "until",
    "case",
    "esac",
    "function f",
    "f()",
    "f",
    "return",
    "break 9",
    "continue",
    "exit 300",
    "exec",
    "eval",
    "trap 'echo t' EXIT",
    "set -e",
    "set --",
    "shift 99",
    "read x",
    "local y",
    "export",
    "unset x",
    "cd /",
    "wait",
    "kill %1",
    "test",
    "[",
    "]",
    "-z",
    "-lt",
    "=",
    "cat",
    "<",
    "> f",
    ">> f",
    "2>&1",
    "<<E\n",
    "E\n",
    "<<<",
    "{1..5}",
    "{a,b}",
    "{9..1..0}",
    "~",
    "#",
    "sleep 0.1",
    "seq",
    "1",
    "3",
    "printf",
    "%s\\n",
    "%d",
    "%99d",
    "%.3f",
    "%c",
    "%",
    "é",
    "日本",
    "\t",
    "\0",
];

/// Tools with words that they take, or do not.
const WORDS: &[&str] = &[
    "-n",
    "-e",
    "-E",
    "-c",
    "-k",
    "-k2,1",
    "-t",
    "-F",
    "-F.",
    "-v",
    "-v x=1",
    "-I",
    "-I X",
    "-d",
    "-f",
    "-w",
    "-i",
    "-o",
    "-q",
    "-r",
    "-s",
    "-u",
    "--",
    "-",
    "0",
    "1",
    "-1",
    "99999999999999999999",
    "2,3p",
    "s/a/b/g",
    "s/\\(a*\\)*/\\1/",
    "/x/,$d",
    "$!N;P;D",
    "y/abc/xyz/",
    "a*",
    "[",
    "[a-",
    "[[:alpha:]]",
    "(a|b",
    "a{2,1}",
    "\\",
    ".*.*.*x",
    "^$",
    "+%s",
    "+%Y-%m-%d %",
    "a-z",
    "A-Z",
    "[:upper:]",
    "{print $1}",
    "{print $-1}",
    "BEGIN {",
    "}",
    "BEGIN {x[1]=1; print x}",
    "{gsub(/b*/, \"&-\"); print}",
    "NR>1",
    "$(NF-1)",
    "BEGIN {printf \"%*d\", -5, 3}",
    "END {print substr(\"é\", 0, 2)}",
    "file",
    "missing",
    "/",
    "日本",
];

fn program() -> impl Strategy<Value = String> {
    let piece = prop_oneof![8 => proptest::sample::select(PIECES).prop_map(String::from), 1 => "\\PC{0,6}"];
    let joint = proptest::sample::select(&["", " ", " ", "\n"][..]);
    proptest::collection::vec((piece, joint), 0..16)
        .prop_map(|parts| parts.into_iter().map(|(piece, joint)| piece + joint).collect())
}

fn call() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = tools::names().filter(|n| !["sleep", "yes"].contains(n)).collect();
    let word = prop_oneof![8 => proptest::sample::select(WORDS).prop_map(String::from), 1 => "\\PC{0,6}"];
    let words = proptest::collection::vec(word, 0..4);
    (proptest::sample::select(names), words).prop_map(|(name, words)| {
        let quoted: Vec<String> = words.iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect();
        format!(
            "printf 'b a 1\\nabc é x\\n\\n10 9\\n' > file; printf 'one two\\nthree\\n' | {name} {}",
            quoted.join(" ")
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in "\\PC{0,40}") {
        let _ = is_incomplete(&text);
    }
    #[test]
    fn any_program_is_run(text in program()) {
        let _ = is_incomplete(&text);
        run_for(&text, 2);
    }
    #[test]
    fn any_tool_takes_any_words(text in call()) {
        run_for(&text, 2);
    }
}

/// Runs a program for some seconds of virtual time.
fn run_for(text: &str, seconds: u64) {
    let sim = sim::Sim::new(sim::Options::default());
    let host = sim.add_host("a", sim::Ip(1));
    let out = Rc::new(Buffer::default());
    for dialect in [Dialect::Bash, Dialect::Busybox] {
        let process = Process {
            args: ["bash", "-c", text].map(String::from).to_vec(),
            env: crate::Environment::default(),
            cwd: "/work".into(),
            files: Rc::new(Memory::default()),
            stdin: Rc::new(Bytes::default()),
            stdout: out.clone(),
            stderr: out.clone(),
            family: Default::default(),
        };
        sim.start(host, "sh", move |ctx| async move {
            sh(ctx, process, Rc::new(tools::Standard(dialect)), dialect, Signals::default()).await;
        });
    }
    assert!(sim.run_for(sim::Duration::from_secs(seconds)).is_ok(), "{text:?} stands still");
}
