//! What the reader's machine can run: kubectl, the fault command, sleep.

use crate::faults;
use crate::machine::Machines;
use shell::process::{LocalFuture, Process, Program};
use sim::{Ctx, ProcessId, Sim};
use std::cell::Cell;
use std::rc::Rc;

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

/// `sleep N...`
pub fn sleep() -> Program {
    Rc::new(|ctx: Ctx, process: Process| -> LocalFuture<'static, i32> {
        Box::pin(async move {
            let mut total = sim::Duration::ZERO;
            for word in process.args.iter().skip(1) {
                let time = faults::duration(word).or_else(|| faults::duration(&format!("{word}s")));
                let Some(time) = time else {
                    let text = format!("sleep: invalid time interval '{word}'\n");
                    let _ = process.stderr.write(text.as_bytes()).await;
                    return 1;
                };
                total += time;
            }
            if process.args.len() < 2 {
                let _ = process.stderr.write(b"sleep: missing operand\n").await;
                return 1;
            }
            ctx.sleep(total).named(process.args.join(" ")).await;
            0
        })
    })
}
