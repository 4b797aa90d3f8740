//! `tabernetes run FILE...` and, under the names `kubectl`, `cluster`, `sleep`, `timeout`, `date`, the programs that a
//! transcript's commands find on their PATH.

use lexopt::prelude::*;
use native::page_shell::PagePlayer;
use native::player::{Options, Player, ShellKind};
use native::{shim, transcript};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Kubernetes' control plane, simulated.

Usage:
  tabernetes run FILE... [--out DIR] [--seed N] [--nodes N] [--shell bash|page]
      Plays transcripts, each on a fresh cluster, and prints them with the answers,
      or writes each into DIR under its own name. This machine's bash runs the
      commands, or the project's own shell, as in the page.

  tabernetes bench [--large]
      Measures starts, idle clusters, rollouts and writes; with --large 10,000 pods on
      1,000 nodes too.

  tabernetes --version
";

/// Nodes of a cluster at most, as in the page's addresses.
const MAX_NODES: u32 = 1000;

fn main() -> ExitCode {
    let name = std::env::args_os().next().map(PathBuf::from);
    let name = name.as_deref().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    if let Some(code) = shim::main(name) {
        return ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1));
    }
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabernetes: {error}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = lexopt::Parser::from_env();
    match arguments.next()? {
        Some(Value(word)) if word == "run" => run(&mut arguments),
        Some(Value(word)) if word == "bench" => {
            let mut large = false;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("large") => large = true,
                    Long("help") | Short('h') => {
                        print!("{USAGE}");
                        return Ok(());
                    }
                    other => return Err(other.unexpected().into()),
                }
            }
            Ok(native::bench::bench(large)?)
        }
        Some(Long("version")) => {
            println!("tabernetes {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        Some(Long("help") | Short('h')) | None => {
            print!("{USAGE}");
            Ok(())
        }
        Some(other) => Err(other.unexpected().into()),
    }
}

fn run(arguments: &mut lexopt::Parser) -> Result<(), Box<dyn std::error::Error>> {
    let (mut files, mut out, mut options) = (Vec::<PathBuf>::new(), None::<PathBuf>, Options::default());
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("out") => out = Some(arguments.value()?.into()),
            Long("seed") => options.seed = arguments.value()?.parse()?,
            Long("shell") => options.shell = arguments.value()?.parse()?,
            Long("nodes") => {
                options.nodes = arguments.value()?.parse()?;
                if !(1..=MAX_NODES).contains(&options.nodes) {
                    return Err(format!("--nodes {}: allowed are 1 to {MAX_NODES}", options.nodes).into());
                }
            }
            Long("help") | Short('h') => {
                print!("{USAGE}");
                return Ok(());
            }
            Value(file) => files.push(file.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if files.is_empty() {
        return Err("run: no transcript was named".into());
    }
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut parts = transcript::parse(&text);
        match options.shell {
            ShellKind::Bash => {
                let mut player = Player::new(&options)?;
                play(&mut parts, |command| player.play(command))?;
            }
            ShellKind::Page => {
                let mut player = PagePlayer::new(&options)?;
                play(&mut parts, |command| player.play(command))?;
            }
        }
        let text = transcript::render(&parts);
        match &out {
            None => print!("{text}"),
            Some(dir) => {
                std::fs::create_dir_all(dir)?;
                let name = file.file_name().ok_or("a transcript has no name")?;
                std::fs::write(dir.join(name), text)?;
            }
        }
    }
    Ok(())
}

/// Has every command answered.
fn play(
    parts: &mut [transcript::Part],
    mut answer: impl FnMut(&str) -> Result<String, Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    for part in parts {
        if let transcript::Part::Command { command, output } = part {
            *output = answer(command)?;
        }
    }
    Ok(())
}
