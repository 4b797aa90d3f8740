//! `touch`, `rm`, `rmdir`, `mkdir`, `cp`, `mv`

use super::{complain, options, unknown_option};
use crate::Dialect;
use crate::process::{FileError, LocalFuture, Process, clean};
use sim::Ctx;

/// Makes files that are not there.
pub fn touch(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (_, names) = match options(&process, "acm", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "touch", letter, 1).await,
        };
        let mut code = 0;
        for name in names {
            let path = process.path(&name);
            if process.files.metadata(&path).is_ok() {
                continue;
            }
            if let Err(why) = process.files.write(&path, b"") {
                code = 1;
                complain(
                    &process,
                    &match dialect {
                        Dialect::Bash => format!("touch: cannot touch '{name}': {why}"),
                        Dialect::Busybox => format!("touch: {name}: {why}"),
                    },
                )
                .await;
            }
        }
        code
    })
}

/// Removes files; `-r` directories with all in them, `-f` without complaint about what is not there.
pub fn rm(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "rfRv", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "rm", letter, 1).await,
        };
        let recursive = found.iter().any(|(o, _)| matches!(o, 'r' | 'R'));
        let force = found.iter().any(|(o, _)| *o == 'f');
        let mut code = 0;
        for name in names {
            let path = process.path(&name);
            let result = match process.files.metadata(&path) {
                Err(FileError::NotFound) if force => Ok(()),
                Err(why) => Err(why),
                Ok(meta) if meta.directory && !recursive => Err(FileError::IsDirectory),
                Ok(_) => remove(&process, &path),
            };
            if let Err(why) = result {
                code = 1;
                complain(
                    &process,
                    &match dialect {
                        Dialect::Bash => format!("rm: cannot remove '{name}': {why}"),
                        Dialect::Busybox if why == FileError::IsDirectory => format!("rm: '{name}' is a directory"),
                        Dialect::Busybox => format!("rm: can't remove '{name}': {why}"),
                    },
                )
                .await;
            }
        }
        code
    })
}

fn remove(process: &Process, path: &str) -> Result<(), FileError> {
    if process.files.metadata(path)?.directory {
        for name in process.files.list(path)? {
            remove(process, &clean(path, &name))?;
        }
    }
    process.files.remove(path)
}

/// Removes empty directories.
pub fn rmdir(_: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let mut code = 0;
        for name in process.args.iter().skip(1) {
            let path = process.path(name);
            let result = match process.files.metadata(&path) {
                Ok(meta) if !meta.directory => Err(FileError::NotDirectory),
                Ok(_) => process.files.remove(&path),
                Err(why) => Err(why),
            };
            if let Err(why) = result {
                complain(&process, &format!("rmdir: failed to remove '{name}': {why}")).await;
                code = 1;
            }
        }
        code
    })
}

/// Makes directories; `-p` those above too.
pub fn mkdir(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, names) = match options(&process, "pv", "m") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "mkdir", letter, 1).await,
        };
        let parents = found.iter().any(|(o, _)| *o == 'p');
        let mut code = 0;
        for name in names {
            let path = process.path(&name);
            let result = if parents { make_all(&process, &path) } else { process.files.make_directory(&path) };
            if let Err(why) = result {
                code = 1;
                complain(
                    &process,
                    &match dialect {
                        Dialect::Bash => format!("mkdir: cannot create directory \u{2018}{name}\u{2019}: {why}")
                            .replace(['\u{2018}', '\u{2019}'], "'"),
                        Dialect::Busybox => format!("mkdir: can't create directory '{name}': {why}"),
                    },
                )
                .await;
            }
        }
        code
    })
}

fn make_all(process: &Process, path: &str) -> Result<(), FileError> {
    let mut at = String::new();
    for part in path.split('/').filter(|p| !p.is_empty()) {
        at = format!("{at}/{part}");
        match process.files.metadata(&at) {
            Ok(meta) if meta.directory => {}
            Ok(_) => return Err(FileError::NotDirectory),
            Err(_) => process.files.make_directory(&at)?,
        }
    }
    Ok(())
}

/// Copies files into a file or a directory; `-r` directories too.
pub fn cp(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, mut names) = match options(&process, "rRafpv", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "cp", letter, 1).await,
        };
        let recursive = found.iter().any(|(o, _)| matches!(o, 'r' | 'R' | 'a'));
        let Some(target) = names.pop().filter(|_| !names.is_empty()) else {
            complain(&process, "cp: missing file operand\nTry 'cp --help' for more information.").await;
            return 1;
        };
        let mut code = 0;
        for name in names {
            let (from, to) = (process.path(&name), into(&process, &name, &target));
            let result = match process.files.metadata(&from) {
                Ok(meta) if meta.directory && !recursive => {
                    complain(&process, &format!("cp: -r not specified; omitting directory '{name}'")).await;
                    code = 1;
                    continue;
                }
                Ok(_) => copy(&process, &from, &to),
                Err(why) => Err(why),
            };
            if let Err(why) = result {
                code = 1;
                complain(
                    &process,
                    &match dialect {
                        Dialect::Bash => format!("cp: cannot stat '{name}': {why}"),
                        Dialect::Busybox => format!("cp: can't stat '{name}': {why}"),
                    },
                )
                .await;
            }
        }
        code
    })
}

fn copy(process: &Process, from: &str, to: &str) -> Result<(), FileError> {
    if process.files.metadata(from)?.directory {
        if process.files.metadata(to).is_err() {
            process.files.make_directory(to)?;
        }
        if to.starts_with(&format!("{from}/")) {
            return Err(FileError::Busy);
        }
        for name in process.files.list(from)? {
            copy(process, &clean(from, &name), &clean(to, &name))?;
        }
        return Ok(());
    }
    process.files.write(to, &process.files.read(from)?)
}

/// Where a file named `name` goes: into the target if that is a directory.
fn into(process: &Process, name: &str, target: &str) -> String {
    let path = process.path(target);
    match process.files.metadata(&path) {
        Ok(meta) if meta.directory => clean(&path, name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)),
        _ => path,
    }
}

/// Moves files.
pub fn mv(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (_, mut names) = match options(&process, "fnv", "") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "mv", letter, 1).await,
        };
        let Some(target) = names.pop().filter(|_| !names.is_empty()) else {
            complain(&process, "mv: missing file operand\nTry 'mv --help' for more information.").await;
            return 1;
        };
        let mut code = 0;
        for name in names {
            let (from, to) = (process.path(&name), into(&process, &name, &target));
            if let Err(why) = process.files.rename(&from, &to) {
                code = 1;
                complain(
                    &process,
                    &match dialect {
                        Dialect::Bash => format!("mv: cannot stat '{name}': {why}"),
                        Dialect::Busybox => format!("mv: can't rename '{name}': {why}"),
                    },
                )
                .await;
            }
        }
        code
    })
}
