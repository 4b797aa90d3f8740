//! `ls`

use super::{complain, options, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Metadata, Process};
use sim::Ctx;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Seconds after which a file's time is told with its year: half of one.
const RECENT: i64 = 31_556_952 / 2;

/// Names, sorted, one a line, or in columns on a terminal; `-a` hidden ones too, `-l` with mode, size and time, `-h` with
/// sizes for people, `-t` the newest first, `-d` directories themselves.
pub fn run(ctx: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
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
        let now = ctx.unix_nanos().div_euclid(1_000_000_000);
        let list = |paths: &[(String, String)]| -> String {
            if !has('l') {
                return paths.iter().map(|(_, name)| format!("{name}\n")).collect();
            }
            let rows: Vec<(Metadata, &str)> = paths
                .iter()
                .filter_map(|(path, name)| Some((process.files.metadata(path).ok()?, name.as_str())))
                .collect();
            long(&rows, dialect, has('h'), now)
        };
        let ordered = |mut paths: Vec<(String, String)>| {
            if has('t') {
                // The newest first, those of one time by name; as texts, because texts are sorted here anyway.
                let key = |(path, name): &(String, String)| {
                    let time = process.files.metadata(path).map_or(0, |m| m.modified);
                    format!("{:020}{name}", i64::MAX.saturating_sub(time.max(0)))
                };
                let mut keys: Vec<String> = paths.iter().map(key).collect();
                keys.sort();
                let at = |path: &(String, String)| keys.binary_search(&key(path)).unwrap_or(0);
                let mut sorted = vec![None; paths.len()];
                for path in paths {
                    if let Some(place) = sorted.get_mut(at(&path)) {
                        *place = Some(path);
                    }
                }
                paths = sorted.into_iter().flatten().collect();
            }
            if has('r') {
                paths.reverse();
            }
            paths
        };
        let files = ordered(files.into_iter().map(|name: String| (process.path(&name), name)).collect());
        if short {
            out.push_str(&columns(&names_of(&files), dialect));
        } else {
            out.push_str(&list(&files));
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
            let inside = ordered(inside.into_iter().map(|name| (crate::process::clean(&path, &name), name)).collect());
            if short {
                out.push_str(&columns(&names_of(&inside), dialect));
                continue;
            }
            if has('l') {
                let blocks: u64 =
                    inside.iter().filter_map(|(p, _)| process.files.metadata(p).ok()).map(|m| blocks(&m)).sum();
                out.push_str(&format!("total {}\n", size_of(blocks * 1024, has('h'), 1024)));
            }
            out.push_str(&list(&inside));
        }
        say(&process, out.as_bytes()).await.err().unwrap_or(code)
    })
}

fn names_of(paths: &[(String, String)]) -> Vec<String> {
    paths.iter().map(|(_, name)| name.clone()).collect()
}

/// What an entry takes on the disk, in blocks of 1024 bytes; the disk gives out 4 KiB at a time.
fn blocks(meta: &Metadata) -> u64 {
    meta.size.div_ceil(4096) * 4
}

/// A size in bytes (or in `unit`s), or with a letter for people, rounded up as GNU does.
fn size_of(bytes: u64, human: bool, unit: u64) -> String {
    if !human || bytes == 0 {
        return (bytes / unit).to_string();
    }
    let (mut whole, mut letters) = (bytes, ["", "K", "M", "G", "T"].into_iter());
    let mut letter = letters.next().unwrap_or_default();
    let mut scale = 1u64;
    for next in letters {
        if whole < 1024 {
            break;
        }
        scale *= 1024;
        whole = bytes.div_ceil(scale);
        letter = next;
    }
    let tenths = (bytes * 10).div_ceil(scale);
    if letter.is_empty() || tenths >= 100 {
        format!("{whole}{letter}")
    } else {
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    }
}

/// `-l`, as coreutils 9.1 and busybox 1.36 write it.
fn long(rows: &[(Metadata, &str)], dialect: Dialect, human: bool, now: i64) -> String {
    let sizes: Vec<String> = rows.iter().map(|(meta, _)| size_of(meta.size, human, 1)).collect();
    // GNU's columns are as wide as they need to be, busybox' always alike.
    let width = sizes.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for ((meta, name), size) in rows.iter().zip(&sizes) {
        let mode = mode(meta);
        let time = time(meta.modified, now);
        out.push_str(&match dialect {
            Dialect::Bash => format!("{mode} 1 root root {size:>width$} {time} {name}\n"),
            Dialect::Busybox => format!("{mode} {:4} {:8} {:8} {size:>9} {time} {name}\n", 1, "root", "root"),
        });
    }
    out
}

/// `drwxr-xr-x`
fn mode(meta: &Metadata) -> String {
    let bits = (0..9).rev().zip("rwxrwxrwx".chars());
    let mut text: Vec<char> = bits.map(|(bit, c)| if meta.mode >> bit & 1 == 1 { c } else { '-' }).collect();
    // The sticky bit and those that lend an owner's rights stand in the place of x.
    for (bit, at, letter) in [(11, 2, 's'), (10, 5, 's'), (9, 8, 't')] {
        if meta.mode >> bit & 1 == 1
            && let Some(place) = text.get_mut(at)
        {
            *place = if *place == 'x' { letter } else { letter.to_ascii_uppercase() };
        }
    }
    text.insert(0, if meta.directory { 'd' } else { '-' });
    text.into_iter().collect()
}

/// `Nov 29 18:09`, or `Apr 16  2025` for what is half a year old or to come.
fn time(modified: i64, now: i64) -> String {
    let recent = modified <= now && now - modified < RECENT;
    super::date::write(modified.saturating_mul(1_000_000_000), if recent { "%b %e %H:%M" } else { "%b %e  %Y" })
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

    // As coreutils 9.1 and busybox 1.36 print them.
    #[test]
    fn long_rows_have_a_time() {
        let meta = |directory, size, mode, modified| Metadata { directory, size, mode, modified };
        let now = 1_796_040_000; // 30 November 2026, 12:00
        let rows = [
            (meta(true, 4096, 0o755, now - 60), "a"),
            (meta(false, 7, 0o644, 1_744_761_600), "file"),
            (meta(true, 4096, 0o1777, now - 24 * 3600 * 27), "tmp"),
        ];
        assert_eq!(
            long(&rows, Dialect::Bash, false, now),
            "drwxr-xr-x 1 root root 4096 Nov 30 11:59 a\n-rw-r--r-- 1 root root    7 Apr 16  2025 file\ndrwxrwxrwt 1 root root 4096 Nov  3 12:00 tmp\n"
        );
        assert_eq!(
            long(&rows, Dialect::Busybox, false, now),
            "drwxr-xr-x    1 root     root          4096 Nov 30 11:59 a\n-rw-r--r--    1 root     root             7 Apr 16  2025 file\ndrwxrwxrwt    1 root     root          4096 Nov  3 12:00 tmp\n"
        );
        assert_eq!(long(&rows[1..2], Dialect::Bash, true, now), "-rw-r--r-- 1 root root 7 Apr 16  2025 file\n");
        let human = |bytes| size_of(bytes, true, 1);
        assert_eq!(
            [0, 1023, 1024, 4096, 10_240, 1_048_575, 1_500_000].map(human),
            ["0", "1023", "1.0K", "4.0K", "10K", "1.0M", "1.5M"]
        );
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
