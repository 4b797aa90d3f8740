//! The counterpart of tools/go-codec: the same questions, answered by this crate. tools/judge.py runs both.
#[path = "../tests/answers/mod.rs"]
mod answers;

use std::io::{BufRead, Write};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("readable input");
        writeln!(out, "{}", answers::answer(&mode, &line)).expect("writable output");
    }
}
