//! kubectl as a program of the world: its streams and files over a [`Process`]'.

use crate::programs::Found;
use kubectl::{Config, FileError, Io};
use shell::process::{self, LocalFuture, Process, Program};
use shell::{Dialect, Shell, Signals, Tools};
use sim::Ctx;
use sim::sync::{Notify, mpsc};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

enum Chunk {
    Out(Vec<u8>),
    Err(Vec<u8>),
}

struct Terminal {
    ctx: Ctx,
    editors: Editors,
    process: Process,
    stdin: Vec<u8>,
    sender: mpsc::UnboundedSender<Chunk>,
}

impl Io for Terminal {
    fn stdout(&self, bytes: &[u8]) {
        let _ = self.sender.unbounded_send(Chunk::Out(bytes.to_vec()));
    }
    fn stderr(&self, bytes: &[u8]) {
        let _ = self.sender.unbounded_send(Chunk::Err(bytes.to_vec()));
    }
    fn stdin(&self) -> Vec<u8> {
        self.stdin.clone()
    }
    fn read<'a>(&'a self) -> LocalFuture<'a, Option<Rc<[u8]>>> {
        self.process.stdin.read()
    }
    fn set_raw(&self, raw: bool) {
        self.process.stdin.set_raw(raw);
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let path = self.process.path(path);
        if self.process.files.metadata(&path).is_ok_and(|m| m.directory) {
            return Err(FileError::IS_DIRECTORY);
        }
        self.process.files.read(&path).map(|b| b.to_vec()).map_err(FileError)
    }
    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.process.path(path);
        match self.process.files.write(&path, bytes) {
            // kubectl makes the directories of its own files.
            Err(process::FileError::NotFound) => {
                let files = &self.process.files;
                let mut at = 1;
                while let Some(end) = path.get(at..).and_then(|rest| rest.find('/')).map(|i| at + i) {
                    let _ = path.get(..end).map(|dir| files.make_directory(dir));
                    at = end + 1;
                }
                files.write(&path, bytes).map_err(FileError)
            }
            other => other.map_err(FileError),
        }
    }
    fn list_dir(&self, path: &str) -> Result<Vec<(String, bool)>, FileError> {
        let path = self.process.path(path);
        let names = self.process.files.list(&path).map_err(FileError)?;
        let directory = |name: &str| {
            let full = process::clean(&path, name);
            self.process.files.metadata(&full).is_ok_and(|m| m.directory)
        };
        Ok(names.into_iter().map(|n| (n.clone(), directory(&n))).collect())
    }
    fn absolute(&self, path: &str) -> String {
        self.process.path(path)
    }
    fn env(&self, name: &str) -> Option<String> {
        self.process.env.get(name).cloned()
    }
    /// Runs what `KUBE_EDITOR` or `EDITOR` says, or `vi`, through a shell, as kubectl does.
    fn edit<'a>(&'a self, path: &'a str) -> LocalFuture<'a, Result<(), String>> {
        let env = &self.process.env;
        let editor = ["KUBE_EDITOR", "EDITOR"].iter().find_map(|n| env.get(n)).filter(|e| !e.is_empty()).cloned();
        Box::pin(async move {
            let tools = Rc::new(Found(self.editors.borrow().clone()));
            let editor = match editor {
                Some(editor) => editor,
                None if tools.find(VI).is_some() => VI.to_string(),
                None => return Err(format!("unable to launch the editor {VI:?}")),
            };
            let mut shell = Shell::new(&self.ctx, tools, Dialect::Bash, &self.process, Signals::default());
            let io = shell::Io {
                stdin: self.process.stdin.clone(),
                stdout: self.process.stdout.clone(),
                stderr: self.process.stderr.clone(),
            };
            shell.run(&format!("{editor} {path}"), &io).await;
            match shell.status() {
                0 => Ok(()),
                code => Err(format!("there was a problem with the editor {editor:?}: exit status {code}")),
            }
        })
    }
    fn is_tty(&self) -> bool {
        self.process.stdin.is_terminal()
    }
}

/// Whether a command line reads all of standard input before anything else.
fn reads_stdin(args: &[String]) -> bool {
    args.iter().take_while(|a| *a != "--").any(|a| a == "-" || a == "-f-" || a.ends_with("=-"))
}

/// The editors of the reader's machine; none where nobody could type into one.
pub(crate) type Editors = Rc<RefCell<BTreeMap<&'static str, Program>>>;

/// The editor that kubectl takes if no other is named.
pub(crate) const VI: &str = "vi";

/// kubectl with this kubeconfig.
pub fn kubectl(config: Config, editors: &Editors) -> Program {
    let (config, editors) = (Rc::new(config), editors.clone());
    Rc::new(move |ctx: Ctx, process: Process| -> LocalFuture<'static, i32> {
        let (config, editors) = (config.clone(), editors.clone());
        Box::pin(async move {
            let argv: Vec<String> = process.args.iter().skip(1).cloned().collect();
            let stdin = if reads_stdin(&argv) { process.read_all().await } else { Vec::new() };
            let (sender, mut chunks) = mpsc::unbounded();
            let (stdout, stderr) = (process.stdout.clone(), process.stderr.clone());
            let (broken, noticed) = (Rc::new(Cell::new(false)), Notify::new());
            let (flag, notice) = (broken.clone(), noticed.clone());
            // Output passes through a task of its own, in order, so that a full pipe holds back nobody's borrow.
            let pump = ctx.spawn("kubectl-output", async move {
                use futures_util::StreamExt;
                while let Some(chunk) = chunks.next().await {
                    let written = match chunk {
                        Chunk::Out(bytes) => stdout.write(&bytes).await,
                        Chunk::Err(bytes) => stderr.write(&bytes).await,
                    };
                    if written.is_err() {
                        flag.set(true);
                        notice.notify();
                        return;
                    }
                }
            });
            let terminal = Terminal { ctx: ctx.clone(), editors, process, stdin, sender };
            let code = {
                let run = std::pin::pin!(kubectl::run(&ctx, &config, &argv, &terminal));
                let broke = std::pin::pin!(noticed.notified());
                match futures_util::future::select(run, broke).await {
                    futures_util::future::Either::Left((code, _)) => code,
                    // SIGPIPE
                    futures_util::future::Either::Right(_) => 141,
                }
            };
            drop(terminal);
            let _ = pump.await;
            if broken.get() { 141 } else { code }
        })
    })
}
