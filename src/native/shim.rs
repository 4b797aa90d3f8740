//! The programs of a transcript's PATH: they hand what they were asked to the world and write what comes back.

use crate::frames::Frame;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// The variable that says where the world listens.
pub const SOCKET: &str = "TABERNETES_SOCKET";
/// The names under which the program is on the PATH.
pub const NAMES: [&str; 6] = ["kubectl", "cluster", "curl", "sleep", "timeout", "date"];

/// Runs as the program `name`; gives its exit code, or nothing if this is no such name.
pub fn main(name: &str) -> Option<i32> {
    if !NAMES.contains(&name) {
        return None;
    }
    let socket = std::env::var_os(SOCKET)?;
    let run = || -> io::Result<i32> {
        let stream = UnixStream::connect(socket)?;
        match name {
            "timeout" => timeout(stream),
            "date" => date(stream),
            _ => forward(stream, name),
        }
    };
    Some(run().unwrap_or_else(|error| {
        // As a program that wrote into a closed pipe.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return 141;
        }
        eprintln!("{name}: {error}");
        1
    }))
}

/// The variables of bash that matter to kubectl; an empty word ends them.
const VARIABLES: [&str; 2] = ["KUBE_EDITOR", "EDITOR"];

fn start(stream: &mut UnixStream, name: &str) -> io::Result<()> {
    let mut words = vec![std::env::current_dir()?.to_string_lossy().into_owned()];
    let variable = |name: &&str| std::env::var(name).ok().map(|value| format!("{name}={value}"));
    words.extend(VARIABLES.iter().filter_map(variable));
    words.extend([String::new(), name.to_string()]);
    words.extend(std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()));
    Frame::Start(words).write(stream)
}

fn forward(mut stream: UnixStream, name: &str) -> io::Result<i32> {
    start(&mut stream, name)?;
    loop {
        match Frame::read(&mut stream)? {
            Frame::Stdout(bytes) => {
                io::stdout().write_all(&bytes)?;
                io::stdout().flush()?;
                let _ = Frame::Written.write(&mut stream);
            }
            Frame::Stderr(bytes) => {
                io::stderr().write_all(&bytes)?;
                let _ = Frame::Written.write(&mut stream);
            }
            Frame::WantStdin => {
                let mut bytes = vec![0; 65_536];
                let n = io::stdin().read(&mut bytes)?;
                bytes.truncate(n);
                Frame::Stdin(bytes).write(&mut stream)?;
            }
            Frame::Exit(code) => return Ok(i32::try_from(code).unwrap_or(1)),
            Frame::Start(_) | Frame::Stdin(_) | Frame::Written => return Err(io::Error::other("an unexpected frame")),
        }
    }
}

/// `date` of the machine, at the world's time.
fn date(mut stream: UnixStream) -> io::Result<i32> {
    start(&mut stream, "date")?;
    let Frame::Exit(now) = Frame::read(&mut stream)? else { return Err(io::Error::other("an unexpected frame")) };
    let given: Vec<_> = std::env::args_os().skip(1).collect();
    let mut command = Command::new("/bin/date");
    if !given.iter().any(|a| a == "-d" || a.to_string_lossy().starts_with("--date")) {
        command.arg("-d").arg(format!("@{now}"));
    }
    let status = command.args(given).env("TZ", "UTC").status()?;
    Ok(status.code().unwrap_or(1))
}

/// `timeout N COMMAND...`: the command runs here, its time is the world's.
fn timeout(mut stream: UnixStream) -> io::Result<i32> {
    start(&mut stream, "timeout")?;
    let mut words = std::env::args_os().skip(1).skip_while(|a| a.to_string_lossy().starts_with('-')).skip(1);
    let Some(program) = words.next() else { return Ok(125) };
    let child = Command::new(program).args(words).stdin(Stdio::inherit()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("timeout: {error}");
            return Ok(127);
        }
    };
    // The world closes nothing and answers only when the time is over.
    let id = child.id();
    let (over_tx, over) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        if let Ok(Frame::Exit(_)) = Frame::read(&mut stream) {
            let _ = over_tx.send(());
            let _ = Command::new("kill").args(["-TERM", &id.to_string()]).status();
        }
        // Held until this process ends: its end is what the world waits for.
        std::mem::forget(stream);
    });
    let status = child.wait()?;
    Ok(if over.try_recv().is_ok() { 124 } else { status.code().unwrap_or(143) })
}
