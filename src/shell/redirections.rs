//! Where a command's streams lead.

use crate::expand;
use crate::interpreter::{Dialect, Io, Shell};
use crate::process::{BrokenPipe, Bytes, FileError, Files, LocalFuture, Output};
use crate::syntax::{Redirection, RedirectionKind};
use std::rc::Rc;

impl Shell {
    /// The streams after redirections, or the complaint.
    pub(crate) async fn redirect(&mut self, redirections: &[Redirection], io: &Io) -> Result<Io, String> {
        let mut own = io.clone();
        for Redirection { fd, kind } in redirections {
            let output = |own: &Io, n: u8| match n {
                1 => Some(own.stdout.clone()),
                2 => Some(own.stderr.clone()),
                _ => None,
            };
            match kind {
                RedirectionKind::Duplicate(0) if *fd == 0 => {}
                RedirectionKind::Duplicate(n) => {
                    let to = output(&own, *n).ok_or_else(|| self.complaint(&format!("{n}: Bad file descriptor")))?;
                    set_output(&mut own, *fd, to);
                }
                RedirectionKind::Close if *fd == 0 => own.stdin = Rc::new(Bytes::default()),
                RedirectionKind::Close => set_output(&mut own, *fd, Rc::new(Null)),
                RedirectionKind::Here(word) => {
                    let text = expand::one(self, word, io).await.map_err(|e| self.complaint(&e))?;
                    own.stdin = Rc::new(Bytes::new(text.into_bytes()));
                }
                RedirectionKind::Read(word) => {
                    let name = expand::one(self, word, io).await.map_err(|e| self.complaint(&e))?;
                    let path = crate::process::clean(&self.cwd, &name);
                    own.stdin = match path.as_str() {
                        "/dev/null" => Rc::new(Bytes::default()),
                        "/dev/stdin" => own.stdin,
                        _ => {
                            let content = self.files.read(&path);
                            Rc::new(Bytes::new(content.map_err(|e| self.cannot_open(&name, e, false))?))
                        }
                    };
                }
                RedirectionKind::Write(word) | RedirectionKind::Append(word) => {
                    let name = expand::one(self, word, io).await.map_err(|e| self.complaint(&e))?;
                    let path = crate::process::clean(&self.cwd, &name);
                    let to: Rc<dyn Output> = match path.as_str() {
                        "/dev/null" => Rc::new(Null),
                        "/dev/stdout" | "/proc/1/fd/1" => own.stdout.clone(),
                        "/dev/stderr" | "/proc/1/fd/2" => own.stderr.clone(),
                        _ => {
                            let append = matches!(kind, RedirectionKind::Append(_));
                            let opened =
                                if append { self.files.append(&path, b"") } else { self.files.write(&path, b"") };
                            opened.map_err(|e| self.cannot_open(&name, e, true))?;
                            Rc::new(FileOutput { files: self.files.clone(), path })
                        }
                    };
                    set_output(&mut own, *fd, to);
                }
            }
        }
        Ok(own)
    }
    fn cannot_open(&self, name: &str, error: FileError, create: bool) -> String {
        match self.dialect {
            Dialect::Bash => self.complaint(&format!("{name}: {error}")),
            Dialect::Busybox => {
                let words = if error == FileError::NotFound { "no such file".into() } else { error.to_string() };
                let verb = if create { "create" } else { "open" };
                let words = if create && error == FileError::NotFound { "nonexistent directory".into() } else { words };
                self.complaint(&format!("can't {verb} {name}: {words}"))
            }
        }
    }
}

fn set_output(io: &mut Io, fd: u8, to: Rc<dyn Output>) {
    match fd {
        1 => io.stdout = to,
        2 => io.stderr = to,
        _ => {}
    }
}

/// `/dev/null`
struct Null;

impl Output for Null {
    fn write<'a>(&'a self, _: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

struct FileOutput {
    files: Rc<dyn Files>,
    path: String,
}

impl Output for FileOutput {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        let done = self.files.append(&self.path, bytes).map_err(|_| BrokenPipe);
        Box::pin(std::future::ready(done))
    }
}
