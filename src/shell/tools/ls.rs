//! `ls`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Names, sorted, one a line; `-a` hidden ones too, `-l` with mode and size, `-d` directories themselves.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, mut names) = match options(&process, "1alAdhrtF", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "ls", letter, 2).await,
        };
        let has = |letter: char| found.iter().any(|(o, _)| *o == letter);
        if names.is_empty() {
            names.push(".".to_string());
        }
        names.sort();
        let (mut files, mut directories, mut code) = (Vec::new(), Vec::new(), 0);
        for name in &names {
            match process.files.metadata(&process.path(name)) {
                Ok(meta) if meta.directory && !has('d') => directories.push(name.clone()),
                Ok(_) => files.push(name.clone()),
                Err(why) => {
                    code = if dialect == Dialect::Bash { 2 } else { 1 };
                    complain(
                        &process,
                        &match dialect {
                            Dialect::Bash => format!("ls: cannot access '{name}': {why}"),
                            Dialect::Busybox => format!("ls: {name}: {why}"),
                        },
                    )
                    .await;
                }
            }
        }
        let mut out = String::new();
        let row = |out: &mut String, path: &str, name: &str| {
            if has('l') {
                let meta = process.files.metadata(path).unwrap_or(crate::process::Metadata {
                    directory: false,
                    size: 0,
                    mode: 0o644,
                });
                let letters: String = (0..9)
                    .rev()
                    .zip("rwxrwxrwx".chars())
                    .map(|(bit, c)| if meta.mode >> bit & 1 == 1 { c } else { '-' })
                    .collect();
                let kind = if meta.directory { 'd' } else { '-' };
                out.push_str(&format!("{kind}{letters} 1 root root {:8} {name}\n", meta.size));
            } else {
                out.push_str(name);
                out.push('\n');
            }
        };
        for name in &files {
            row(&mut out, &process.path(name), name);
        }
        let titled = names.len() > 1;
        for (at, directory) in directories.iter().enumerate() {
            if titled {
                if at > 0 || !files.is_empty() {
                    out.push('\n');
                }
                out.push_str(&format!("{directory}:\n"));
            }
            let path = process.path(directory);
            let mut inside = process.files.list(&path).unwrap_or_default();
            if has('a') {
                inside.splice(0..0, [".".to_string(), "..".to_string()]);
            } else if !has('A') {
                inside.retain(|n| !n.starts_with('.'));
            }
            if has('r') {
                inside.reverse();
            }
            for name in inside {
                row(&mut out, &crate::process::clean(&path, &name), &name);
            }
        }
        say(&process, out.as_bytes()).await.err().unwrap_or(code)
    })
}
