//! What a program is started with: arguments, environment, files, and the three standard streams.

use crate::environment::Environment;
use crate::signals::Signals;
use sim::Ctx;
use sim::sync::Notify;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// A future of this single-threaded world.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A program: runs to its exit code. Dropping its future is what SIGKILL does.
pub type Program = Rc<dyn Fn(Ctx, Process) -> LocalFuture<'static, i32>>;

/// Why a file operation failed; `Display` gives the C library's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileError {
    /// ENOENT
    NotFound,
    /// EISDIR
    IsDirectory,
    /// ENOTDIR
    NotDirectory,
    /// EEXIST
    Exists,
    /// ENOTEMPTY
    NotEmpty,
    /// EACCES
    Denied,
    /// EROFS
    ReadOnly,
    /// ENOSPC
    NoSpace,
    /// EBUSY
    Busy,
}

impl FileError {
    /// The words of C and of busybox; Go writes them in lower case.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NotFound => "No such file or directory",
            Self::IsDirectory => "Is a directory",
            Self::NotDirectory => "Not a directory",
            Self::Exists => "File exists",
            Self::NotEmpty => "Directory not empty",
            Self::Denied => "Permission denied",
            Self::ReadOnly => "Read-only file system",
            Self::NoSpace => "No space left on device",
            Self::Busy => "Resource busy",
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// Whether it is a directory.
    pub directory: bool,
    /// Size in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// When it was changed last, in seconds since 1970.
    pub modified: i64,
}

/// A tree of files. Paths are absolute and clean (see [`clean`]); [`Process`] resolves those that are not.
pub trait Files {
    /// The whole content of a file.
    fn read(&self, path: &str) -> Result<Rc<[u8]>, FileError>;
    /// Makes or replaces a file.
    fn write(&self, path: &str, content: &[u8]) -> Result<(), FileError>;
    /// Adds to a file, made if absent.
    fn append(&self, path: &str, content: &[u8]) -> Result<(), FileError>;
    /// The names in a directory, sorted.
    fn list(&self, path: &str) -> Result<Vec<String>, FileError>;
    /// What stands there.
    fn metadata(&self, path: &str) -> Result<Metadata, FileError>;
    /// Makes a directory; its parent must be there.
    fn make_directory(&self, path: &str) -> Result<(), FileError>;
    /// Removes a file or an empty directory.
    fn remove(&self, path: &str) -> Result<(), FileError>;
    /// Moves a file or directory.
    fn rename(&self, from: &str, to: &str) -> Result<(), FileError>;
    /// Sets the permission bits.
    fn set_mode(&self, path: &str, mode: u32) -> Result<(), FileError>;
}

/// The reader of a stream is gone (EPIPE).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrokenPipe;

/// Where a program reads.
pub trait Input {
    /// The next bytes; none at the end.
    fn read(&self) -> LocalFuture<'_, Option<Rc<[u8]>>>;
    /// The next line with its newline, or what is left before the end; what follows stays for the next reader.
    fn read_line(&self) -> LocalFuture<'_, Option<String>>;
    /// Whether it is a terminal.
    fn is_terminal(&self) -> bool {
        false
    }
    /// Hands a terminal's keys on as they are typed, Ctrl+C and Ctrl+D among them (`cfmakeraw`), or no longer.
    fn set_raw(&self, _raw: bool) {}
    /// A shell reads from the terminal now: it gets the signals that keys stand for.
    fn enter(&self, _shell: &Signals) {}
    /// That shell no longer does.
    fn leave(&self, _shell: &Signals) {}
}

/// Takes the first line off `chunks`, which are what has been read so far; none if it has not ended yet.
fn split_line(chunks: &mut VecDeque<Rc<[u8]>>) -> Option<Vec<u8>> {
    let whole = chunks.iter().any(|c| c.contains(&b'\n'));
    if !whole {
        return None;
    }
    let mut line = Vec::new();
    while let Some(chunk) = chunks.pop_front() {
        match chunk.iter().position(|b| *b == b'\n') {
            None => line.extend_from_slice(&chunk),
            Some(end) => {
                let (now, later) = chunk.split_at(end + 1);
                line.extend_from_slice(now);
                if !later.is_empty() {
                    chunks.push_front(later.into());
                }
                return Some(line);
            }
        }
    }
    Some(line)
}

/// Where a program writes.
pub trait Output {
    /// Writes all, or finds that nobody reads any more. Waits while the pipe is full.
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>>;
    /// Whether it is a terminal.
    fn is_terminal(&self) -> bool {
        false
    }
}

/// A program's surroundings.
#[derive(Clone)]
pub struct Process {
    /// The arguments, the program's name first.
    pub args: Vec<String>,
    /// The environment.
    pub env: Environment,
    /// The current directory, absolute.
    pub cwd: String,
    /// The files it sees.
    pub files: Rc<dyn Files>,
    /// Standard input.
    pub stdin: Rc<dyn Input>,
    /// Standard output.
    pub stdout: Rc<dyn Output>,
    /// Standard error.
    pub stderr: Rc<dyn Output>,
    /// The processes it descends from.
    pub family: Family,
}

/// Processes of one origin: how deep the one that has it is among them; and while it has it, it counts.
#[derive(Clone, Default)]
pub struct Family {
    depth: u32,
    /// Shared by all of them: how many there have been lately.
    forks: Rc<Cell<u32>>,
}

impl Family {
    /// How many processes may wait for one another: polls of futures nest on the stack, which is small in wasm.
    const DEPTH: u32 = 24;
    /// For what a process calls, if it is not too deep for that.
    pub fn child(&self) -> Option<Self> {
        (self.depth < Self::DEPTH).then(|| Self { depth: self.depth + 1, forks: self.forks.clone() })
    }
    /// How many there are.
    pub(crate) fn members(&self) -> usize {
        Rc::strong_count(&self.forks)
    }
    /// What the next of them waits for. Who does nothing but multiply must neither stop the world nor take all of the
    /// host's time; a few cost nothing.
    pub(crate) fn fork(&self) -> sim::Duration {
        const FEW: u32 = 64;
        let forks = self.forks.get().saturating_add(1);
        self.forks.set(forks);
        if forks <= FEW { sim::Duration::ZERO } else { sim::Duration::from_micros(5 * u64::from(forks.min(1_000))) }
    }
    /// Forgets how many there have been, at the origin.
    pub(crate) fn rest(&self) {
        if self.depth == 0 {
            self.forks.set(0);
        }
    }
}

impl Process {
    /// `path` as an absolute, clean one.
    pub fn path(&self, path: &str) -> String {
        clean(&self.cwd, path)
    }
    /// Reads standard input to its end.
    pub async fn read_all(&self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = self.stdin.read().await {
            all.extend_from_slice(&bytes);
        }
        all
    }
}

/// Joins and cleans: starts with `/`, without `.`, `..` or double slashes.
pub fn clean(cwd: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let start = if path.starts_with('/') { "" } else { cwd };
    for part in start.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Bytes that a pipe holds at most, as on Linux.
pub const PIPE_BYTES: usize = 65_536;

#[derive(Default)]
struct PipeState {
    chunks: RefCell<VecDeque<Rc<[u8]>>>,
    bytes: Cell<usize>,
    writers: Cell<usize>,
    reader_gone: Cell<bool>,
    changed: Notify,
}

/// The reading end of a pipe.
pub struct PipeReader(Rc<PipeState>);
/// A writing end of a pipe. Clones are more of them; the reader sees the end when all are gone.
pub struct PipeWriter(Rc<PipeState>);

/// A pipe of [`PIPE_BYTES`].
pub fn pipe() -> (PipeWriter, PipeReader) {
    let state = Rc::new(PipeState { writers: Cell::new(1), ..PipeState::default() });
    (PipeWriter(state.clone()), PipeReader(state))
}

impl Clone for PipeWriter {
    fn clone(&self) -> Self {
        self.0.writers.set(self.0.writers.get() + 1);
        Self(self.0.clone())
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.writers.set(self.0.writers.get().saturating_sub(1));
        self.0.changed.notify();
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.reader_gone.set(true);
        self.0.changed.notify();
    }
}

impl Output for PipeWriter {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        Box::pin(async move {
            let pipe = &self.0;
            for part in bytes.chunks(PIPE_BYTES) {
                loop {
                    if pipe.reader_gone.get() {
                        return Err(BrokenPipe);
                    }
                    if pipe.bytes.get() + part.len() <= PIPE_BYTES {
                        break;
                    }
                    pipe.changed.notified().await;
                }
                pipe.chunks.borrow_mut().push_back(part.into());
                pipe.bytes.set(pipe.bytes.get() + part.len());
                pipe.changed.notify();
            }
            Ok(())
        })
    }
}

impl PipeReader {
    fn take_line(&self, ended: bool) -> Option<String> {
        let mut chunks = self.0.chunks.borrow_mut();
        let line = split_line(&mut chunks).or_else(|| {
            let rest: Vec<u8> = chunks.drain(..).flat_map(|c| c.to_vec()).collect();
            if ended && !rest.is_empty() {
                return Some(rest);
            }
            if !rest.is_empty() {
                chunks.push_back(rest.into());
            }
            None
        })?;
        self.0.bytes.set(self.0.bytes.get().saturating_sub(line.len()));
        drop(chunks);
        self.0.changed.notify();
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

impl Input for PipeReader {
    fn read_line(&self) -> LocalFuture<'_, Option<String>> {
        Box::pin(async move {
            loop {
                let full = self.0.bytes.get() >= PIPE_BYTES;
                let ended = self.0.writers.get() == 0;
                if let Some(line) = self.take_line(ended || full) {
                    return Some(line);
                }
                if ended {
                    return None;
                }
                self.0.changed.notified().await;
            }
        })
    }
    fn read(&self) -> LocalFuture<'_, Option<Rc<[u8]>>> {
        Box::pin(async move {
            let pipe = &self.0;
            loop {
                let chunk = pipe.chunks.borrow_mut().pop_front();
                if let Some(chunk) = chunk {
                    pipe.bytes.set(pipe.bytes.get().saturating_sub(chunk.len()));
                    pipe.changed.notify();
                    return Some(chunk);
                }
                if pipe.writers.get() == 0 {
                    return None;
                }
                pipe.changed.notified().await;
            }
        })
    }
}

/// `/dev/null`, and bytes that are at hand as input.
#[derive(Default)]
pub struct Bytes(RefCell<Option<Rc<[u8]>>>);

impl Bytes {
    /// An input that holds `bytes`.
    pub fn new(bytes: impl Into<Rc<[u8]>>) -> Self {
        Self(RefCell::new(Some(bytes.into())))
    }
}

impl Input for Bytes {
    fn read_line(&self) -> LocalFuture<'_, Option<String>> {
        let all = self.0.take().filter(|bytes| !bytes.is_empty());
        let line = all.map(|bytes| {
            let end = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| i + 1);
            let (line, rest) = bytes.split_at(end);
            *self.0.borrow_mut() = Some(rest.into());
            String::from_utf8_lossy(line).into_owned()
        });
        Box::pin(std::future::ready(line))
    }
    fn read(&self) -> LocalFuture<'_, Option<Rc<[u8]>>> {
        Box::pin(std::future::ready(self.0.take().filter(|bytes| !bytes.is_empty())))
    }
}

/// An output that keeps what is written, at most [`Buffer::BOUND`] bytes.
#[derive(Default)]
pub struct Buffer(RefCell<Vec<u8>>);

impl Buffer {
    /// What is kept at most, in bytes.
    pub const BOUND: usize = 16 << 20;
    /// Takes what was written so far.
    pub fn take(&self) -> Vec<u8> {
        self.0.take()
    }
}

impl Output for Buffer {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        let mut kept = self.0.borrow_mut();
        let room = Self::BOUND.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned() {
        assert_eq!(clean("/a/b", "../c/./d//e"), "/a/c/d/e");
        assert_eq!(clean("/a", "/x/../../y"), "/y");
        assert_eq!(clean("/", ""), "/");
    }

    #[test]
    fn a_pipe_holds_back_its_writer_and_ends() {
        let sim = sim::Sim::new(sim::Options::default());
        let host = sim.add_host("a", sim::Ip(1));
        let log = Rc::new(RefCell::new(Vec::new()));
        let out = log.clone();
        sim.start(host, "p", |ctx| async move {
            let (writer, reader) = pipe();
            let seen = out.clone();
            ctx.spawn("writer", async move {
                let big = vec![b'x'; PIPE_BYTES + 1];
                let done = writer.write(&big).await;
                seen.borrow_mut().push(format!("written {done:?}"));
            });
            ctx.sleep(sim::Duration::from_secs(1)).await;
            out.borrow_mut().push("reading".into());
            let mut total = 0;
            while let Some(bytes) = reader.read().await {
                total += bytes.len();
            }
            out.borrow_mut().push(total.to_string());
            let (writer, reader) = pipe();
            drop(reader);
            let broken = writer.write(b"y").await;
            out.borrow_mut().push(format!("{broken:?}"));
        });
        assert!(sim.run_for(sim::Duration::from_secs(2)).is_ok());
        assert_eq!(*log.borrow(), ["reading", "written Ok(())", "65537", "Err(BrokenPipe)"]);
    }
}
