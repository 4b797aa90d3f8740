//! What the reader's machine can run: a shell with its tools, kubectl, the fault command.

use crate::faults;
use crate::machine::Machines;
use node::files::{Tree, View};
use shell::process::{Bytes, Files, LocalFuture, Output, Process, Program};
use shell::{Dialect, Tools};
use sim::{Ctx, ProcessId, Sim};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where the reader's files are.
const HOME: &str = "/home/reader";

/// What a shell on the reader's machine finds by name.
pub(crate) struct Found(pub(crate) BTreeMap<&'static str, Program>);

impl Tools for Found {
    fn find(&self, name: &str) -> Option<Program> {
        self.0.get(name).cloned().or_else(|| shell::tools::find(name, Dialect::Bash))
    }
    fn names(&self) -> Vec<String> {
        let own = self.0.keys().copied();
        let names: std::collections::BTreeSet<_> = own.chain(shell::tools::names()).collect();
        names.into_iter().map(String::from).collect()
    }
}

/// The reader's files: an empty home.
pub fn home(sim: &Sim) -> Rc<dyn Files> {
    let sim = sim.clone();
    let files = Tree::timed(&node::files::clock(move || sim.unix_nanos()));
    let _ = files.make_dirs(HOME, 0o755);
    let _ = files.make_dirs("/tmp", 0o777);
    Rc::new(View::new(files, false, Vec::new()))
}

/// What the reader's shell is started with: nothing to read, and the home that `home` gave.
pub fn bash(files: &Rc<dyn Files>, stdout: Rc<dyn Output>, stderr: Rc<dyn Output>) -> Process {
    Process {
        args: vec!["bash".into()],
        env: shell::Environment::from([("HOME".to_string(), HOME.to_string())]),
        cwd: HOME.into(),
        files: files.clone(),
        stdin: Rc::new(Bytes::default()),
        stdout,
        stderr,
        family: Default::default(),
    }
}

/// A program that runs.
pub struct Running {
    sim: Sim,
    process: ProcessId,
    code: Rc<Cell<Option<i32>>>,
}

impl Running {
    /// Its exit code, once it ended.
    pub fn exit_code(&self) -> Option<i32> {
        // A program that was killed from outside left no code.
        self.code.get().or_else(|| (!self.sim.alive(self.process)).then_some(137))
    }
    /// Whether it waits for connections of other programs.
    pub fn listens(&self) -> bool {
        self.sim.listens(self.process)
    }
    /// Ends it (SIGKILL).
    pub fn kill(&self) {
        self.sim.kill(self.process);
    }
    /// Starts `program` on the machine `host`.
    pub fn start(sim: &Sim, host: sim::HostId, name: &str, program: &Program, process: Process) -> Self {
        let code = Rc::new(Cell::new(None));
        let (result, program) = (code.clone(), program.clone());
        let process = sim.start(host, name, |ctx| async move {
            let end = program(ctx, process).await;
            result.set(Some(end));
        });
        Self { sim: sim.clone(), process, code }
    }
}

/// `cluster ...`, the fault command.
pub fn cluster(machines: &Rc<Machines>) -> Program {
    let machines = machines.clone();
    Rc::new(move |_ctx: Ctx, process: Process| -> LocalFuture<'static, i32> {
        let machines = machines.clone();
        Box::pin(async move {
            let words: Vec<&str> = process.args.iter().skip(1).map(String::as_str).collect();
            let done = match faults::parse(&words) {
                Ok(fault) => machines.apply(&fault).map_err(|e| format!("cluster: {e}\n")),
                Err(usage) => Err(format!("{usage}\n")),
            };
            match done {
                Ok(text) => {
                    let _ = process.stdout.write(text.as_bytes()).await;
                    0
                }
                Err(text) => {
                    let _ = process.stderr.write(text.as_bytes()).await;
                    1
                }
            }
        })
    })
}
