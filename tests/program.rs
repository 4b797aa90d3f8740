//! The program `tabernetes`, built and at hand for tests.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Builds the program in the profile of the tests and gives its path; `TABERNETES_BIN` names one that is there already.
pub fn build() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("TABERNETES_BIN") {
        return Ok(path.into());
    }
    // A test runs from target/PROFILE/deps.
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = test.parent().and_then(Path::parent).ok_or("the test stands in no target folder")?;
    let profile = match folder.file_name().map(|name| name.to_string_lossy()) {
        Some(name) if name != "debug" => name.into_owned(),
        _ => "dev".to_string(),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "tabernetes-native", "--bin", "tabernetes", "--profile", &profile])
        .current_dir(crate::root())
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo build of tabernetes: {status}"));
    }
    Ok(folder.join("tabernetes"))
}

/// Runs a command to its end, at most so long by the wall clock, and gives what it printed.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let id = child.id();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let late = ended.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
        late
    });
    let output = child.wait_with_output();
    drop(done);
    if guard.join().unwrap_or(false) {
        return Err(io::Error::new(io::ErrorKind::TimedOut, format!("not at an end after {} s", limit.as_secs())));
    }
    output
}
