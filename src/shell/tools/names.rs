//! `basename`, `dirname`, `id`, `uname`, `whoami`

use super::{complain, say};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

/// The last part of a path, without a suffix.
pub fn basename(_: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let Some(path) = process.args.get(1) else {
            complain(&process, "basename: missing operand\nTry 'basename --help' for more information.").await;
            return 1;
        };
        let trimmed = path.trim_end_matches('/');
        let base =
            if trimmed.is_empty() && !path.is_empty() { "/" } else { trimmed.rsplit('/').next().unwrap_or(trimmed) };
        let base =
            process.args.get(2).and_then(|s| base.strip_suffix(s.as_str())).filter(|b| !b.is_empty()).unwrap_or(base);
        say(&process, format!("{base}\n").as_bytes()).await.err().unwrap_or(0)
    })
}

/// A path without its last part.
pub fn dirname(_: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let Some(path) = process.args.get(1) else {
            complain(&process, "dirname: missing operand\nTry 'dirname --help' for more information.").await;
            return 1;
        };
        let dir = match path.trim_end_matches('/').rsplit_once('/') {
            Some(("", _)) => "/",
            Some((dir, _)) => dir.trim_end_matches('/'),
            None if path.starts_with('/') => "/",
            None => ".",
        };
        say(&process, format!("{dir}\n").as_bytes()).await.err().unwrap_or(0)
    })
}

/// Everybody is root here.
pub fn id(_: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let out = match process.args.get(1).map(String::as_str) {
            Some("-u" | "-g") => "0",
            Some("-un" | "-gn") => "root",
            _ => "uid=0(root) gid=0(root) groups=0(root)",
        };
        say(&process, format!("{out}\n").as_bytes()).await.err().unwrap_or(0)
    })
}

/// The same by name.
pub fn whoami(_: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move { say(&process, b"root\n").await.err().unwrap_or(0) })
}

/// The system's name; `-a` all.
pub fn uname(ctx: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let host = process.env.get("HOSTNAME").cloned().unwrap_or_else(|| ctx.host_name().to_string());
        let out = match process.args.get(1).map(String::as_str) {
            Some("-a") => format!("Linux {host} 6.1.0-40-amd64 #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux"),
            Some("-n") => host,
            Some("-r") => "6.1.0-40-amd64".to_string(),
            Some("-m") => "x86_64".to_string(),
            _ => "Linux".to_string(),
        };
        say(&process, format!("{out}\n").as_bytes()).await.err().unwrap_or(0)
    })
}
