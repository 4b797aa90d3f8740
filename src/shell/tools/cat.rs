//! `cat`

use super::{cannot_open, complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Files or standard input, one after the other; `-n` numbers the lines.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, mut names) = match options(&process, "neAu", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "cat", letter, 1).await,
        };
        let numbered = found.iter().any(|(o, _)| *o == 'n');
        if names.is_empty() {
            names.push("-".to_string());
        }
        let (mut code, mut line) = (0, 0u64);
        for name in names {
            if name == "-" {
                // As it comes: what is written into a pipe shows at once.
                while let Some(bytes) = process.stdin.read().await {
                    let out = if numbered { number(&bytes, &mut line) } else { bytes.to_vec() };
                    if let Err(code) = say(&process, &out).await {
                        return code;
                    }
                }
                continue;
            }
            match process.files.read(&process.path(&name)) {
                Ok(bytes) => {
                    let out = if numbered { number(&bytes, &mut line) } else { bytes.to_vec() };
                    if let Err(code) = say(&process, &out).await {
                        return code;
                    }
                }
                Err(why) => {
                    complain(&process, &cannot_open(dialect, "cat", &name, why)).await;
                    code = 1;
                }
            }
        }
        code
    })
}

fn number(bytes: &[u8], line: &mut u64) -> Vec<u8> {
    let mut out = Vec::new();
    for text in bytes.split_inclusive(|b| *b == b'\n') {
        *line += 1;
        out.extend_from_slice(format!("{:6}\t", *line).as_bytes());
        out.extend_from_slice(text);
    }
    out
}
