//! `awk`: POSIX' language but functions of one's own, `getline`, pipes and `system`, which are refused by name.

mod format;
mod functions;
mod lexer;
mod machine;
mod syntax;
mod value;

use super::complain;
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use machine::{Flow, Machine};
use sim::Ctx;
use syntax::{Pattern, Rule};

/// `awk [-F FS] [-v NAME=VALUE] [-f FILE | PROGRAM] [FILE | NAME=VALUE]...`
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        match awk(&process, dialect).await {
            Ok(code) => code,
            Err(Failure::Ended(code)) => code,
            Err(Failure::Error(text)) => {
                complain(&process, &format!("awk: {text}")).await;
                2
            }
        }
    })
}

enum Failure {
    Error(String),
    /// Nobody reads any more.
    Ended(i32),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Error(text)
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

async fn awk(process: &Process, dialect: Dialect) -> Result<i32, Failure> {
    let mut machine = Machine::new();
    let mut words = process.args.iter().skip(1).peekable();
    let mut program: Option<String> = None;
    while let Some(word) = words.next_if(|w| w.starts_with('-') && w.len() > 1) {
        if word == "--" {
            break;
        }
        let letter = word.get(1..2).unwrap_or_default();
        let attached = word.get(2..).filter(|v| !v.is_empty());
        let value = match attached {
            Some(value) => value.to_string(),
            None => words.next().cloned().ok_or_else(|| format!("option requires an argument -- {letter}"))?,
        };
        match letter {
            "F" => machine.assign("FS", if value == "t" { "\t" } else { &value }),
            "v" => {
                let (name, value) = value.split_once('=').ok_or_else(|| format!("improper assignment: -v {value}"))?;
                machine.assign(name, value);
            }
            "f" => {
                let text = process.files.read(&process.path(&value));
                let text = text.map_err(|e| format!("couldn't open file {value} ({e})"))?;
                program.get_or_insert_default().push_str(&String::from_utf8_lossy(&text));
            }
            _ => return Err(Failure::Error(format!("not an option: {word}"))),
        }
    }
    let program = match program {
        Some(program) => program,
        None => words.next().cloned().ok_or_else(|| "usage: awk [options] 'program' [file ...]".to_string())?,
    };
    let rules = syntax::parse(&program)?;
    for (name, value) in process.env.iter() {
        machine.set_element("ENVIRON", name, value::Value::Input(value.as_str().into()))?;
    }
    let begun = machine.run(&rules, |p| matches!(p, Pattern::Begin));
    flush(process, &mut machine).await?;
    let only_begin = rules.iter().all(|(p, _)| matches!(p, Pattern::Begin));
    let mut code = 0;
    let operands: Vec<String> = words.cloned().collect();
    if begun? != Flow::Exit && !only_begin {
        code = records(process, dialect, &rules, &mut machine, &operands).await?;
        let ended = machine.run(&rules, |p| matches!(p, Pattern::End));
        flush(process, &mut machine).await?;
        ended?;
    } else if !only_begin {
        let ended = machine.run(&rules, |p| matches!(p, Pattern::End));
        flush(process, &mut machine).await?;
        ended?;
    }
    Ok(if machine.status == 0 { code } else { machine.status })
}

/// Runs the rules on every record of the operands, or of standard input if no file is named.
async fn records(
    process: &Process,
    dialect: Dialect,
    rules: &[Rule],
    machine: &mut Machine,
    operands: &[String],
) -> Result<i32, Failure> {
    let (mut named, mut code) = (false, 0);
    for operand in operands {
        if let Some((name, value)) = operand.split_once('=').filter(|(name, _)| is_name(name)) {
            machine.assign(name, value);
            continue;
        }
        named = true;
        machine.assign("FILENAME", operand);
        if operand == "-" {
            if input(process, rules, machine).await? == Flow::Exit {
                return Ok(code);
            }
            continue;
        }
        match process.files.read(&process.path(operand)) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if whole(process, rules, machine, &text).await? == Flow::Exit {
                    return Ok(code);
                }
            }
            Err(why) => {
                let words = match dialect {
                    Dialect::Bash => format!("awk: cannot open \"{operand}\" ({why})"),
                    Dialect::Busybox => format!("awk: {operand}: {why}"),
                };
                complain(process, &words).await;
                code = 2;
            }
        }
    }
    if !named {
        input(process, rules, machine).await?;
    }
    Ok(code)
}

/// Standard input: line by line as it comes, if lines are the records.
async fn input(process: &Process, rules: &[Rule], machine: &mut Machine) -> Result<Flow, Failure> {
    if &*machine.setting("RS") != "\n" {
        let all = process.read_all().await;
        return whole(process, rules, machine, &String::from_utf8_lossy(&all)).await;
    }
    let mut number = 0.0;
    while let Some(line) = process.stdin.read_line().await {
        number += 1.0;
        if record(process, rules, machine, line.strip_suffix('\n').unwrap_or(&line), number).await? == Flow::Exit {
            return Ok(Flow::Exit);
        }
    }
    Ok(Flow::Go)
}

async fn whole(process: &Process, rules: &[Rule], machine: &mut Machine, text: &str) -> Result<Flow, Failure> {
    let separator = machine.setting("RS");
    let mut chars = separator.chars();
    let records: Vec<String> = match (chars.next(), chars.next()) {
        // Paragraphs.
        (None, _) => {
            text.split("\n\n").map(|p| p.trim_matches('\n')).filter(|p| !p.is_empty()).map(String::from).collect()
        }
        // A text that ends with the separator has no record after it.
        (Some(c), None) => text.strip_suffix(c).unwrap_or(text).split(c).map(String::from).collect(),
        _ => functions::split(text, &separator)?,
    };
    let records = if text.is_empty() { Vec::new() } else { records };
    let mut number = 0.0;
    for text in records {
        number += 1.0;
        if record(process, rules, machine, &text, number).await? == Flow::Exit {
            return Ok(Flow::Exit);
        }
    }
    Ok(Flow::Go)
}

async fn record(
    process: &Process,
    rules: &[Rule],
    machine: &mut Machine,
    text: &str,
    number: f64,
) -> Result<Flow, Failure> {
    machine.take(text, number)?;
    let flow = machine.run(rules, |p| !matches!(p, Pattern::Begin | Pattern::End));
    flush(process, machine).await?;
    Ok(flow?)
}

/// Writes what was printed.
async fn flush(process: &Process, machine: &mut Machine) -> Result<(), Failure> {
    let printed = std::mem::take(&mut machine.printed);
    if !printed.out.is_empty() && process.stdout.write(&printed.out).await.is_err() {
        return Err(Failure::Ended(141));
    }
    for (name, append, bytes) in printed.files {
        match name.as_str() {
            "/dev/stderr" => {
                let _ = process.stderr.write(&bytes).await;
                continue;
            }
            "/dev/stdout" => {
                let _ = process.stdout.write(&bytes).await;
                continue;
            }
            _ => {}
        }
        let path = process.path(&name);
        let written = if append { process.files.append(&path, &bytes) } else { process.files.write(&path, &bytes) };
        written.map_err(|e| format!("cannot open \"{name}\" ({e})"))?;
    }
    Ok(())
}
