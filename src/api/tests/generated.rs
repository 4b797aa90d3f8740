//! The generated files are what the generator writes.
use std::process::Command;

#[test]
fn generated_files_are_fresh() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/generate.py");
    match Command::new("python3").arg(script).arg("--check").output() {
        Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
        Err(e) => eprintln!("not checked, python3 can't be run: {e}"),
    }
}
