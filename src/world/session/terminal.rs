//! The page's terminal: one shell on the reader's machine that lives as long as the world.

pub mod complete;

use crate::cluster::World;
use crate::programs;
use crate::terminal::VI;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use shell::process::{BrokenPipe, FileError, Input, LocalFuture, Output, Process, Program};
use shell::{Dialect, Io, Shell, Signals};
use sim::sync::{Notify, mpsc};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use view::{Stream, ToPage};

/// Bytes of output that wait for the page at most; more is dropped with a note.
const MAX_WAITING: usize = 1 << 20;

#[derive(Default)]
struct Screen {
    chunks: RefCell<Vec<(u32, Stream, String)>>,
    bytes: Cell<usize>,
    /// Which commands ended, with their codes and what they left unread.
    ended: RefCell<Vec<(u32, u8, String)>>,
    current: Cell<u32>,
}

/// A stream of the running command.
struct Writer(Rc<Screen>, Stream);

impl Output for Writer {
    fn is_terminal(&self) -> bool {
        true
    }
    fn write<'a>(&'a self, bytes: &'a [u8]) -> LocalFuture<'a, Result<(), BrokenPipe>> {
        let waiting = self.0.bytes.get();
        if waiting < MAX_WAITING {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.0.bytes.set(waiting + text.len());
            let id = self.0.current.get();
            self.0.chunks.borrow_mut().push((id, self.1, text));
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What the reader types while a command runs.
#[derive(Default)]
struct Keys {
    text: RefCell<VecDeque<u8>>,
    closed: Cell<bool>,
    /// How many reads wait for a key.
    waiting: Cell<u32>,
    /// A program takes the keys as they are typed.
    raw: Cell<bool>,
    /// Ctrl+C was typed since the last output.
    interrupted: Cell<bool>,
    changed: Notify,
}

struct Reader(Rc<Keys>);

/// A read that waits; a dropped one waits no more.
struct Waiting<'a>(&'a Keys);

impl<'a> Waiting<'a> {
    fn new(keys: &'a Keys) -> Waiting<'a> {
        keys.waiting.set(keys.waiting.get().saturating_add(1));
        Waiting(keys)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get().saturating_sub(1));
    }
}

impl Reader {
    async fn some(&self, whole_line: bool) -> Option<Vec<u8>> {
        loop {
            {
                let mut text = self.0.text.borrow_mut();
                let end = text.iter().position(|b| *b == b'\n').map(|i| i + 1);
                let take = if whole_line { end } else { Some(text.len()).filter(|n| *n > 0) };
                if let Some(take) = take {
                    return Some(text.drain(..take).collect());
                }
                if self.0.closed.get() {
                    let rest: Vec<u8> = text.drain(..).collect();
                    return (!rest.is_empty()).then_some(rest);
                }
            }
            let _waiting = Waiting::new(&self.0);
            self.0.changed.notified().await;
        }
    }
}

impl Input for Reader {
    fn is_terminal(&self) -> bool {
        true
    }
    fn set_raw(&self, raw: bool) {
        self.0.raw.set(raw);
    }
    fn read(&self) -> LocalFuture<'_, Option<Rc<[u8]>>> {
        Box::pin(async move { self.some(false).await.map(Into::into) })
    }
    fn read_line(&self) -> LocalFuture<'_, Option<String>> {
        Box::pin(async move { self.some(true).await.map(|b| String::from_utf8_lossy(&b).into_owned()) })
    }
}

/// A file that waits for the reader's editor.
struct Opened {
    path: String,
    text: String,
}

/// Where programs hand files to the reader's editor, one at a time.
#[derive(Default)]
struct Desk {
    opened: RefCell<Option<Opened>>,
    /// What the reader did with it: the new text, or none.
    left: RefCell<Option<Option<String>>>,
    changed: Notify,
}

/// `vi FILE`, which is the page's editor.
fn editor(desk: &Rc<Desk>) -> Program {
    let desk = desk.clone();
    Rc::new(move |_, process: Process| -> LocalFuture<'static, i32> {
        let desk = desk.clone();
        Box::pin(async move {
            let names: Vec<&String> = process.args.iter().skip(1).filter(|a| !a.starts_with(['-', '+'])).collect();
            let [name] = names.as_slice() else {
                let _ = process.stderr.write(b"vi: which file? (one at a time)\n").await;
                return 1;
            };
            let path = process.path(name);
            let text = match process.files.read(&path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(FileError::NotFound) => String::new(),
                Err(why) => {
                    let _ = process.stderr.write(format!("vi: {path}: {why}\n").as_bytes()).await;
                    return 1;
                }
            };
            *desk.left.borrow_mut() = None;
            *desk.opened.borrow_mut() = Some(Opened { path: path.clone(), text });
            let left = loop {
                if let Some(left) = desk.left.borrow_mut().take() {
                    break left;
                }
                desk.changed.notified().await;
            };
            match left.map(|text| process.files.write(&path, text.as_bytes())) {
                Some(Err(why)) => {
                    let _ = process.stderr.write(format!("vi: {path}: {why}\n").as_bytes()).await;
                    1
                }
                _ => 0,
            }
        })
    })
}

/// The terminal.
pub struct Terminal {
    commands: mpsc::UnboundedSender<(u32, String)>,
    screen: Rc<Screen>,
    keys: Rc<Keys>,
    desk: Rc<Desk>,
    stop: Notify,
    running: Option<u32>,
    /// The page was told that the running command waits for keys.
    told_waits: bool,
    /// Those of the shell, for completion.
    aliases: Rc<RefCell<shell::Aliases>>,
}

impl Terminal {
    /// Starts the shell.
    pub fn new(world: &World) -> Terminal {
        let (commands, mut wanted) = mpsc::unbounded::<(u32, String)>();
        let (screen, keys, stop) = (Rc::new(Screen::default()), Rc::new(Keys::default()), Notify::new());
        let desk = Rc::new(Desk::default());
        world.add_editor(VI, editor(&desk));
        let tools = world.tools();
        let (shown, typed, stopped) = (screen.clone(), keys.clone(), stop.clone());
        let process = programs::bash(
            &programs::home(world.sim()),
            Rc::new(Writer(screen.clone(), Stream::Out)),
            Rc::new(Writer(screen.clone(), Stream::Err)),
        );
        let aliases = Rc::new(RefCell::new(shell::Aliases::new()));
        let own = aliases.clone();
        world.sim().start(world.workstation(), "terminal", move |ctx| async move {
            let mut shell = Shell::new(&ctx, tools, Dialect::Bash, &process, Signals::default());
            shell.set_interactive();
            shell.share_aliases(own);
            while let Some((id, text)) = wanted.next().await {
                shown.current.set(id);
                let io = Io {
                    stdin: Rc::new(Reader(typed.clone())),
                    stdout: Rc::new(Writer(shown.clone(), Stream::Out)),
                    stderr: Rc::new(Writer(shown.clone(), Stream::Err)),
                };
                shell.remember(&text);
                let ended = {
                    let run = std::pin::pin!(shell.run(&text, &io));
                    let stop = std::pin::pin!(stopped.notified());
                    matches!(select(run, stop).await, Either::Left(_))
                };
                let code = if ended { shell.status() } else { 130 };
                shell.report_jobs(&io).await;
                let left: Vec<u8> = typed.text.borrow_mut().drain(..).collect();
                // Keys of a program that takes them one by one are no lines.
                let unread = if ended && !typed.raw.get() { left } else { Vec::new() };
                typed.closed.set(false);
                typed.raw.set(false);
                typed.interrupted.set(false);
                shown.ended.borrow_mut().push((
                    id,
                    u8::try_from(code & 255).unwrap_or(255),
                    String::from_utf8_lossy(&unread).into_owned(),
                ));
            }
        });
        Terminal { commands, screen, keys, desk, stop, running: None, told_waits: false, aliases }
    }

    /// What could stand at the cursor.
    pub fn complete(&self, world: &World, id: u32, line: &str, cursor: usize) -> view::Completions {
        complete::complete(world, &self.aliases.borrow(), id, line, cursor)
    }

    /// Runs a command, or says that it needs more lines.
    pub fn run(&mut self, id: u32, text: &str) -> Option<ToPage> {
        if shell::is_incomplete(text) {
            return Some(ToPage::Incomplete { id });
        }
        self.running = Some(id);
        self.told_waits = false;
        if self.commands.unbounded_send((id, text.to_string())).is_err() {
            self.running = None;
            return Some(ToPage::Exit { id, code: 1 });
        }
        None
    }

    /// Keys for the running command; none close its input.
    pub fn stdin(&mut self, id: u32, text: &str) {
        if self.running != Some(id) {
            return;
        }
        if text.is_empty() && self.keys.raw.get() {
            self.keys.text.borrow_mut().push_back(shell::tty::END);
        } else if text.is_empty() {
            self.keys.closed.set(true);
        } else {
            self.keys.text.borrow_mut().extend(text.as_bytes());
        }
        self.keys.changed.notify();
    }

    /// The reader leaves the editor.
    pub fn edited(&mut self, id: u32, text: Option<String>) {
        if self.running == Some(id) {
            *self.desk.left.borrow_mut() = Some(text);
            self.desk.changed.notify();
        }
    }

    /// Ctrl+C. It is a key like others to a program that takes them as they are typed; a second one that this left
    /// unmoved ends the program, as closing the terminal's window would.
    pub fn interrupt(&mut self, id: u32) {
        if self.running != Some(id) {
            return;
        }
        if self.keys.raw.get() && !self.keys.interrupted.replace(true) {
            self.keys.text.borrow_mut().push_back(shell::tty::INTERRUPT);
            self.keys.changed.notify();
        } else {
            self.stop.notify();
        }
    }

    /// A command runs.
    pub fn busy(&self) -> bool {
        self.running.is_some()
    }

    /// Output and ends since the last time.
    pub fn collect(&mut self) -> Vec<ToPage> {
        let mut out: Vec<ToPage> = Vec::new();
        if self.screen.bytes.get() > 0 {
            self.keys.interrupted.set(false);
        }
        for (id, stream, text) in self.screen.chunks.take() {
            match out.last_mut() {
                Some(ToPage::Output { id: i, stream: s, text: t }) if *i == id && *s == stream => t.push_str(&text),
                _ => out.push(ToPage::Output { id, stream, text }),
            }
        }
        if self.screen.bytes.replace(0) >= MAX_WAITING
            && let Some(id) = self.running
        {
            let text = "[more output than fits: some was left out]\n".to_string();
            out.push(ToPage::Output { id, stream: Stream::Err, text });
        }
        if let (Some(id), Some(Opened { path, text })) = (self.running, self.desk.opened.take()) {
            out.push(ToPage::Edit { id, path, text });
        }
        for (id, code, text) in self.screen.ended.take() {
            if !text.is_empty() {
                out.push(ToPage::Unread { id, text });
            }
            if self.running == Some(id) {
                self.running = None;
            }
            out.push(ToPage::Exit { id, code });
        }
        let waits = self.keys.waiting.get() > 0;
        if let Some(id) = self.running
            && waits != self.told_waits
        {
            self.told_waits = waits;
            out.push(ToPage::Reading { id, waits });
        }
        out
    }
}
