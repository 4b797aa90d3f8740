//! `ls`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Names, sorted, one a line, or in columns on a terminal; `-a` hidden ones too, `-l` with mode and size, `-d` directories themselves.
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
        let short = process.stdout.is_terminal() && !has('1') && !has('l');
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
        if short {
            out.push_str(&columns(&files, dialect));
        } else {
            files.iter().for_each(|name| row(&mut out, &process.path(name), name));
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
            if short {
                out.push_str(&columns(&inside, dialect));
                continue;
            }
            for name in inside {
                row(&mut out, &crate::process::clean(&path, &name), &name);
            }
        }
        say(&process, out.as_bytes()).await.err().unwrap_or(code)
    })
}

/// Names in columns, down and then across: GNU's as wide as their names, busybox' all alike.
fn columns(names: &[String], dialect: Dialect) -> String {
    let length = |name: &String| name.chars().count();
    let layout = |rows: usize| -> Vec<usize> {
        let widest = |part: &[String]| part.iter().map(length).max().unwrap_or(0);
        match dialect {
            Dialect::Bash => names.chunks(rows).map(|part| widest(part) + 2).collect(),
            Dialect::Busybox => names.chunks(rows).map(|_| widest(names) + 2).collect(),
        }
    };
    let fits = |rows: &usize| {
        let widths = layout(*rows);
        let last = widths.len().saturating_sub(1);
        // GNU needs no gap after the last column.
        let spare = if dialect == Dialect::Bash { 2 } else { 0 };
        last == 0 || widths.iter().sum::<usize>() <= WIDTH + spare
    };
    let rows = (1..=names.len()).find(fits).unwrap_or(1);
    let widths = layout(rows);
    let mut out = String::new();
    for row in 0..rows.min(names.len()) {
        let mut gap = 0;
        for (name, width) in names.iter().skip(row).step_by(rows).zip(&widths) {
            out.extend(std::iter::repeat_n(' ', gap));
            out.push_str(name);
            gap = width.saturating_sub(length(name));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // As busybox 1.35 and coreutils 9.1 (without tabs) show them on a terminal of 80 columns.
    #[test]
    fn names_stand_in_columns() {
        let names: Vec<String> = NAMES.split(' ').map(str::to_string).collect();
        assert_eq!(columns(&names, Dialect::Busybox), BUSYBOX);
        assert_eq!(columns(&names, Dialect::Bash), GNU);
        assert_eq!(columns(&[], Dialect::Bash), "");
        let long = ["x".repeat(90), "y".repeat(90)];
        assert_eq!(columns(&long, Dialect::Busybox).lines().count(), 2);
    }

    const NAMES: &str = "bin boot dev docker-entrypoint.d docker-entrypoint.sh etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var";
    const BUSYBOX: &str = "bin                   lib                   run\n\
         boot                  lib64                 sbin\n\
         dev                   media                 srv\n\
         docker-entrypoint.d   mnt                   sys\n\
         docker-entrypoint.sh  opt                   tmp\n\
         etc                   proc                  usr\n\
         home                  root                  var\n";
    const GNU: &str = "bin   docker-entrypoint.d   home   media  proc  sbin  tmp\n\
         boot  docker-entrypoint.sh  lib    mnt    root  srv   usr\n\
         dev   etc                   lib64  opt    run   sys   var\n";
}
