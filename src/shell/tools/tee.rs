//! `tee`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Copies standard input to files and to standard output; `-a` appends.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "a", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "tee", letter, 1).await,
        };
        let mut code = 0;
        let mut good = Vec::new();
        for name in &names {
            let path = process.path(name);
            let opened =
                if found.is_empty() { process.files.write(&path, b"") } else { process.files.append(&path, b"") };
            match opened {
                Ok(()) => good.push(path),
                Err(why) => {
                    complain(&process, &format!("tee: {name}: {why}")).await;
                    code = 1;
                }
            }
        }
        while let Some(bytes) = process.stdin.read().await {
            for path in &good {
                let _ = process.files.append(path, &bytes);
            }
            if let Err(code) = say(&process, &bytes).await {
                return code;
            }
        }
        code
    })
}
