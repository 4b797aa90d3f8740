//! Runs programs: the state of a shell, and what each kind of command does to it.

use crate::builtins;
use crate::environment::Environment;
use crate::expand;
use crate::jobs::Job;
use crate::process::{Bytes, Family, FileError, Files, Input, LocalFuture, Output, Process, Program, pipe};
use crate::signals::Signals;
use crate::syntax::{self, Aliases, AndOr, Command, Joint, List, Part, Pipeline, Redirected, Redirection, Word};
use crate::tools;
use futures_util::future::join_all;
use sim::Ctx;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// Finds programs by name.
pub trait Tools {
    /// The program, if there is one of that name.
    fn find(&self, name: &str) -> Option<Program>;
    /// All names, sorted, for completion.
    fn names(&self) -> Vec<String>;
    /// Whose the shell's process is; 0 is root.
    fn user(&self) -> u32 {
        1000
    }
    /// What an interactive shell of that name asks with, unless `PS1` says otherwise (`interactive::expand`).
    fn prompt(&self, _shell: &str) -> &'static str {
        "\\$ "
    }
    /// Sends a signal, or looks only where there is none, to a process that is no job of the shell; whether there is
    /// such a process.
    fn signal(&self, _process: u32, _signal: Option<&'static str>) -> bool {
        false
    }
}

/// How a shell words its complaints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// `bash: line 1: nope: command not found`
    Bash,
    /// `sh: nope: not found`, as busybox.
    Busybox,
}

/// The standard streams of a command.
#[derive(Clone)]
pub struct Io {
    /// Standard input.
    pub stdin: Rc<dyn Input>,
    /// Standard output.
    pub stdout: Rc<dyn Output>,
    /// Standard error.
    pub stderr: Rc<dyn Output>,
}

impl Io {
    /// Writes to standard error; nobody is told if that fails.
    pub async fn complain(&self, text: &str) {
        let _ = self.stderr.write(text.as_bytes()).await;
    }
}

/// What comes after a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// The next one.
    Next,
    /// Nothing: the shell ends with its status.
    Exit,
    /// The end of so many loops.
    Break(u32),
    /// The next round of the loop so many levels up.
    Continue(u32),
    /// The end of the function.
    Return,
}

/// A shell: variables, functions, where it is, what its last command gave.
#[derive(Clone)]
pub struct Shell {
    pub(crate) ctx: Ctx,
    pub(crate) tools: Rc<dyn Tools>,
    pub(crate) dialect: Dialect,
    pub(crate) files: Rc<dyn Files>,
    pub(crate) signals: Signals,
    /// `$0`
    pub(crate) name: String,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) exported: BTreeSet<String>,
    pub(crate) functions: BTreeMap<String, Rc<Redirected>>,
    /// Shared with whoever completes its lines.
    pub(crate) aliases: Rc<RefCell<Aliases>>,
    pub(crate) positional: Vec<String>,
    /// The lines that were typed, oldest first, behind the number of the first of them.
    pub(crate) history: (usize, VecDeque<String>),
    pub(crate) status: i32,
    pub(crate) cwd: String,
    pub(crate) traps: BTreeMap<String, String>,
    /// `set -e`
    pub(crate) errexit: bool,
    /// `set -u`
    pub(crate) nounset: bool,
    /// `set -o pipefail`
    pub(crate) pipefail: bool,
    /// `set -x`
    pub(crate) trace: bool,
    /// Whether a failure is being asked about (`if`, `&&`, `!`), so that `set -e` does not act.
    asked: u32,
    pub(crate) jobs: Rc<RefCell<Vec<Job>>>,
    pub(crate) last_job: u32,
    /// Whether somebody types its lines.
    pub(crate) interactive: bool,
    /// Whether it is a part of another shell's process: signals to that are not for it.
    pub(crate) subshell: bool,
    family: Family,
}

/// Lines that are remembered at most (bash's HISTSIZE).
const HISTORY: usize = 500;
/// Jobs that are remembered at most.
const JOBS: usize = 256;
/// Bytes that the values of a shell's variables may be, all together.
const MEMORY: usize = 4 << 20;
/// The status of a command for which there is no process.
const NO_FORK: i32 = 254;
/// A shell and what it starts are so many processes at most; each level of a call counts as one.
const PROCESSES: usize = 512;

impl Shell {
    /// A shell for the process `start`, whose arguments, environment, directory and files it takes over.
    pub fn new(ctx: &Ctx, tools: Rc<dyn Tools>, dialect: Dialect, start: &Process, signals: Signals) -> Self {
        let mut variables: BTreeMap<String, String> = start.env.iter().cloned().collect();
        variables.entry("IFS".into()).or_insert_with(|| " \t\n".into());
        variables.insert("PWD".into(), start.cwd.clone());
        Self {
            ctx: ctx.clone(),
            tools,
            dialect,
            files: start.files.clone(),
            signals,
            name: start.args.first().cloned().unwrap_or_default(),
            variables,
            exported: start.env.iter().map(|(name, _)| name.clone()).collect(),
            functions: BTreeMap::new(),
            aliases: Rc::default(),
            positional: Vec::new(),
            history: (1, VecDeque::new()),
            status: 0,
            cwd: start.cwd.clone(),
            traps: BTreeMap::new(),
            errexit: false,
            nounset: false,
            pipefail: false,
            trace: false,
            asked: 0,
            jobs: Rc::default(),
            last_job: 0,
            interactive: false,
            subshell: false,
            family: start.family.clone(),
        }
    }
    /// A shell in this one: what it does to itself stays there, and of the traps it has those that ignore. A complaint
    /// where there are too many already.
    pub(crate) async fn fork(&self) -> Result<Self, String> {
        if self.family.members() >= PROCESSES {
            return Err(match self.dialect {
                Dialect::Bash => "fork: Resource temporarily unavailable".into(),
                Dialect::Busybox => "can't fork: Resource temporarily unavailable".into(),
            });
        }
        let mut inner = self.clone();
        let wait = self.family.fork();
        if wait > sim::Duration::ZERO {
            self.ctx.sleep(wait).await;
        }
        inner.subshell = true;
        inner.aliases = Rc::new(RefCell::new(self.aliases.borrow().clone()));
        inner.traps.retain(|_, action| action.is_empty());
        Ok(inner)
    }
    /// The same, where a complaint is made at once.
    async fn fork_or_complain(&mut self, io: &Io) -> Option<Self> {
        match self.fork().await {
            Ok(inner) => Some(inner),
            Err(complaint) => {
                io.complain(&self.complaint(&complaint)).await;
                self.status = NO_FORK;
                None
            }
        }
    }
    /// The complaint of a shell that would need so many bytes.
    pub(crate) fn out_of_memory(&self, bytes: usize) -> String {
        match self.dialect {
            Dialect::Bash => format!("xrealloc: cannot allocate {bytes} bytes"),
            Dialect::Busybox => "out of memory".into(),
        }
    }
    /// Sets a variable, if there is memory for its value.
    pub(crate) fn assign(&mut self, name: &str, value: String) -> Result<(), String> {
        // Only what is large is worth counting for.
        if value.len() > 4096 {
            let others: usize = self.variables.values().map(String::len).sum();
            if others + value.len() > MEMORY {
                return Err(self.out_of_memory(others + value.len()));
            }
        }
        self.variables.insert(name.into(), value);
        Ok(())
    }
    /// The status of the last command.
    pub fn status(&self) -> i32 {
        self.status
    }
    /// Keeps its aliases there, where whoever completes its lines sees them.
    pub fn share_aliases(&mut self, aliases: Rc<RefCell<Aliases>>) {
        self.aliases = aliases;
    }
    /// Somebody types its lines: complaints don't say which line they are of.
    pub fn set_interactive(&mut self) {
        self.interactive = true;
    }
    /// Remembers a line that was typed, as `history` shows it.
    pub fn remember(&mut self, line: &str) {
        let (first, lines) = &mut self.history;
        let line = line.trim_end_matches('\n');
        if line.trim().is_empty() {
            return;
        }
        if lines.len() >= HISTORY {
            lines.pop_front();
            *first += 1;
        }
        lines.push_back(line.to_string());
    }
    pub(crate) fn set_status(&mut self, status: i32) {
        self.status = status;
    }
    /// What it asks the next line with, or a `further` line of the same command.
    pub(crate) fn prompt(&self, further: bool) -> String {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        let own = if further { "> " } else { self.tools.prompt(name) };
        let set = self.variables.get(if further { "PS2" } else { "PS1" });
        crate::interactive::expand(set.map_or(own, String::as_str), self.tools.user(), self)
    }
    /// The current directory.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }
    /// Sets `$0` and the positional parameters.
    pub fn set_arguments(&mut self, name: &str, arguments: Vec<String>) {
        self.name = name.into();
        self.positional = arguments;
    }
    /// Runs the text of a program; what comes after it.
    pub async fn run(&mut self, text: &str, io: &Io) -> Flow {
        self.family.rest();
        // bash replaces aliases only where somebody types.
        let on = self.interactive || self.dialect == Dialect::Busybox;
        let read = if on { syntax::parse(text, &self.aliases.borrow()) } else { syntax::parse(text, &Aliases::new()) };
        match read {
            Ok(list) => self.list(&list, io).await,
            Err(error) => {
                io.complain(&self.complaint(&error.to_string())).await;
                self.status = 2;
                Flow::Next
            }
        }
    }
    /// Tells of the jobs that have ended, as a shell does before it asks for the next line.
    pub async fn report_jobs(&mut self, io: &Io) {
        crate::jobs::report(self, io).await;
    }
    /// What `EXIT` traps do, at the end of a shell.
    pub async fn finish(&mut self, io: &Io) {
        if let Some(text) = self.traps.remove("EXIT") {
            let status = self.status;
            self.run(&text, io).await;
            self.status = status;
        }
    }
    /// Takes note that a signal has a trap, or has none any more.
    pub(crate) fn trapped(&self, name: &'static str, trapped: bool) {
        if !self.subshell {
            self.signals.handle(name, trapped);
        }
    }
    /// A complaint of the shell itself.
    pub(crate) fn complaint(&self, what: &str) -> String {
        match self.dialect {
            Dialect::Bash if self.interactive => format!("bash: {what}\n"),
            Dialect::Bash => format!("bash: line 1: {what}\n"),
            Dialect::Busybox => format!("sh: {what}\n"),
        }
    }
    pub(crate) fn environment(&self) -> Environment {
        let exported = self.exported.iter();
        exported.filter_map(|k| self.variables.get(k).map(|v| (k.clone(), v.clone()))).collect()
    }

    /// Runs commands one after the other.
    pub(crate) fn list<'a>(&'a mut self, list: &'a List, io: &'a Io) -> LocalFuture<'a, Flow> {
        Box::pin(async move {
            for and_or in list {
                let flow = if and_or.background {
                    self.background(and_or, io).await;
                    Flow::Next
                } else {
                    self.and_or(and_or, io).await
                };
                if flow != Flow::Next {
                    return flow;
                }
                let flow = self.take_signals(io).await;
                if flow != Flow::Next {
                    return flow;
                }
            }
            Flow::Next
        })
    }
    /// Runs the traps of signals that came, between commands; the end of a shell that one has killed.
    pub(crate) async fn take_signals(&mut self, io: &Io) -> Flow {
        if self.subshell {
            return Flow::Next;
        }
        if let Some(code) = self.signals.killed() {
            self.status = code;
            self.traps.clear();
            return Flow::Exit;
        }
        while let Some(signal) = self.signals.take(|s| self.traps.contains_key(s)) {
            let text = self.traps.get(signal).cloned().unwrap_or_default();
            let status = self.status;
            let flow = Box::pin(self.run(&text, io)).await;
            if flow != Flow::Next {
                return flow;
            }
            self.status = status;
        }
        Flow::Next
    }
    async fn background(&mut self, and_or: &AndOr, io: &Io) {
        let status = Rc::new(Cell::new(None));
        let Some(mut inner) = self.fork_or_complain(io).await else { return };
        self.last_job += 1;
        let id = 100 + self.last_job;
        let result = status.clone();
        inner.last_job = self.last_job;
        inner.jobs = Rc::default();
        let (mut and_or, text, mut own) = (and_or.clone(), and_or.text.clone(), io.clone());
        and_or.background = false;
        own.stdin = Rc::new(Bytes::default());
        let handle = self.ctx.spawn("job", async move {
            inner.and_or(&and_or, &own).await;
            inner.finish(&own).await;
            result.set(Some(inner.status));
        });
        let number = {
            let mut jobs = self.jobs.borrow_mut();
            if jobs.len() >= JOBS {
                jobs.remove(0);
            }
            let number = jobs.iter().map(|job| job.number).max().unwrap_or(0) + 1;
            jobs.push(Job { number, id, status, handle, text });
            number
        };
        // busybox says nothing.
        if self.interactive && !self.subshell && self.dialect == Dialect::Bash {
            io.complain(&format!("[{number}] {id}\n")).await;
        }
        self.variables.insert("!".into(), id.to_string());
        self.status = 0;
    }
    async fn and_or(&mut self, and_or: &AndOr, io: &Io) -> Flow {
        let last = and_or.rest.len();
        self.asked += u32::from(last > 0);
        let mut flow = self.pipeline(&and_or.first, io).await;
        self.asked -= u32::from(last > 0);
        let mut ran_last = last == 0;
        for (i, (joint, pipeline)) in and_or.rest.iter().enumerate() {
            if flow != Flow::Next {
                return flow;
            }
            if (*joint == Joint::And) != (self.status == 0) {
                continue;
            }
            let asked = u32::from(i + 1 < last);
            self.asked += asked;
            flow = self.pipeline(pipeline, io).await;
            self.asked -= asked;
            ran_last = i + 1 == last;
        }
        let negated = and_or.rest.last().map_or(&and_or.first, |(_, p)| p).negated;
        if flow == Flow::Next && self.errexit && self.asked == 0 && self.status != 0 && ran_last && !negated {
            return Flow::Exit;
        }
        flow
    }
    async fn pipeline(&mut self, pipeline: &Pipeline, io: &Io) -> Flow {
        self.asked += u32::from(pipeline.negated);
        let flow = match pipeline.commands.as_slice() {
            [one] => self.redirected(one, io).await,
            many => {
                self.piped(many, io).await;
                Flow::Next
            }
        };
        self.asked -= u32::from(pipeline.negated);
        if pipeline.negated && flow == Flow::Next {
            self.status = i32::from(self.status == 0);
        }
        flow
    }
    async fn piped(&mut self, commands: &[Redirected], io: &Io) {
        let mut stages = Vec::new();
        let mut stdin = io.stdin.clone();
        for (i, command) in commands.iter().enumerate() {
            let mut own = Io { stdin: stdin.clone(), stdout: io.stdout.clone(), stderr: io.stderr.clone() };
            if i + 1 < commands.len() {
                let (writer, reader) = pipe();
                own.stdout = Rc::new(writer);
                stdin = Rc::new(reader);
            }
            let Some(mut inner) = self.fork_or_complain(io).await else { return };
            stages.push(async move {
                inner.redirected(command, &own).await;
                inner.finish(&own).await;
                inner.status
            });
        }
        // The last reader belongs to its stage alone, so that its end is noticed.
        drop(stdin);
        let ends = join_all(stages).await;
        let failed = ends.iter().rev().find(|status| **status != 0);
        self.status = match (self.pipefail, failed) {
            (true, Some(status)) => *status,
            _ => ends.last().copied().unwrap_or(0),
        };
    }
    fn redirected<'a>(&'a mut self, command: &'a Redirected, io: &'a Io) -> LocalFuture<'a, Flow> {
        Box::pin(async move {
            if let Command::Simple(assignments, words) = &command.command {
                return self.simple(assignments, words, &command.redirections, io).await;
            }
            let io = match self.redirect(&command.redirections, io).await {
                Ok(io) => io,
                Err(complaint) => {
                    io.complain(&complaint).await;
                    self.status = 1;
                    return Flow::Next;
                }
            };
            self.compound(&command.command, &io).await
        })
    }
    async fn compound(&mut self, command: &Command, io: &Io) -> Flow {
        match command {
            Command::Simple(..) => Flow::Next,
            Command::Group(list) => self.list(list, io).await,
            Command::Subshell(list) => {
                let Some(mut inner) = self.fork_or_complain(io).await else { return Flow::Next };
                inner.list(list, io).await;
                inner.finish(io).await;
                self.status = inner.status;
                Flow::Next
            }
            Command::If(branches, otherwise) => {
                for (condition, branch) in branches {
                    self.asked += 1;
                    let flow = self.list(condition, io).await;
                    self.asked -= 1;
                    if flow != Flow::Next {
                        return flow;
                    }
                    if self.status == 0 {
                        return self.list(branch, io).await;
                    }
                }
                self.status = 0;
                match otherwise {
                    Some(list) => self.list(list, io).await,
                    None => Flow::Next,
                }
            }
            Command::While(until, condition, body) => self.while_loop(*until, condition, body, io).await,
            Command::For(name, words, body) => {
                let values = match words {
                    None => self.positional.clone(),
                    Some(words) => match expand::fields(self, words, io).await {
                        Ok(values) => values,
                        Err(complaint) => return self.fail(&complaint, io).await,
                    },
                };
                self.status = 0;
                for value in values {
                    self.variables.insert(name.clone(), value);
                    match round(self.list(body, io).await) {
                        Round::Next => {}
                        Round::Done => break,
                        Round::Out(flow) => return flow,
                    }
                    // A loop over nothing but built-ins costs time too, or it could never be interrupted.
                    self.ctx.yield_now().await;
                }
                Flow::Next
            }
            Command::Case(word, arms) => {
                let subject = match expand::one(self, word, io).await {
                    Ok(subject) => subject,
                    Err(complaint) => return self.fail(&complaint, io).await,
                };
                self.status = 0;
                for (patterns, list) in arms {
                    for pattern in patterns {
                        match expand::pattern(self, pattern, io).await {
                            Ok(pattern) if pattern.matches_str(&subject) => return self.list(list, io).await,
                            Ok(_) => {}
                            Err(complaint) => return self.fail(&complaint, io).await,
                        }
                    }
                }
                Flow::Next
            }
            Command::Function(name, body) => {
                self.functions.insert(name.clone(), body.clone());
                self.status = 0;
                Flow::Next
            }
        }
    }
    async fn while_loop(&mut self, until: bool, condition: &List, body: &List, io: &Io) -> Flow {
        let (mut status, mut rounds) = (0, 0);
        loop {
            self.asked += 1;
            let flow = self.list(condition, io).await;
            self.asked -= 1;
            match round(flow) {
                Round::Next => {}
                Round::Done => break,
                Round::Out(flow) => return flow,
            }
            if (self.status == 0) == until {
                break;
            }
            match round(self.list(body, io).await) {
                Round::Next => {}
                Round::Done => break,
                Round::Out(flow) => return flow,
            }
            status = self.status;
            // Every round costs time, a long loop's more: `while true; do :; done` keeps a core busy, it must neither
            // stop the world nor take all of the host's time.
            rounds = (rounds + 1).min(1_000);
            self.ctx.sleep(sim::Duration::from_micros(5 * rounds)).await;
        }
        self.status = status;
        Flow::Next
    }
    pub(crate) async fn fail(&mut self, complaint: &str, io: &Io) -> Flow {
        io.complain(&self.complaint(complaint)).await;
        self.status = 1;
        // An expansion error ends a shell that is not interactive.
        Flow::Exit
    }
    async fn simple(
        &mut self,
        assignments: &[(String, Word)],
        words: &[Word],
        redirections: &[Redirection],
        io: &Io,
    ) -> Flow {
        // Functions, evals and substitutions nest as processes do.
        let Some(deeper) = self.family.child() else {
            io.complain(&self.complaint("maximum function nesting level exceeded")).await;
            self.status = 1;
            return Flow::Exit;
        };
        let outer = std::mem::replace(&mut self.family, deeper);
        let flow = self.simple_inner(assignments, words, redirections, io).await;
        self.family = outer;
        flow
    }
    async fn simple_inner(
        &mut self,
        assignments: &[(String, Word)],
        words: &[Word],
        redirections: &[Redirection],
        io: &Io,
    ) -> Flow {
        let arguments = match expand::fields(self, words, io).await {
            Ok(arguments) => arguments,
            Err(complaint) => return self.fail(&complaint, io).await,
        };
        let own = match self.redirect(redirections, io).await {
            Ok(io) => io,
            Err(complaint) => {
                io.complain(&complaint).await;
                self.status = 1;
                return Flow::Next;
            }
        };
        let mut values = Vec::new();
        for (name, word) in assignments {
            match expand::one(self, word, &own).await {
                Ok(value) => values.push((name.clone(), value)),
                Err(complaint) => return self.fail(&complaint, io).await,
            }
        }
        if self.trace && !arguments.is_empty() {
            io.complain(&format!("+ {}\n", arguments.join(" "))).await;
        }
        let Some(name) = arguments.first().cloned() else {
            // The status of `x=$(false)` is that of the substitution.
            let substituted = assignments.iter().flat_map(|(_, w)| w).any(|p| matches!(p, Part::Command(..)));
            self.status = if substituted { self.status } else { 0 };
            for (name, value) in values {
                if let Err(complaint) = self.assign(&name, value) {
                    return self.fail(&complaint, io).await;
                }
            }
            return Flow::Next;
        };
        let function = self.functions.get(&name).cloned();
        let builtin = builtins::find(&name);
        if function.is_some() || builtin.is_some() {
            // Assignments before a function or built-in hold while it runs.
            let saved: Vec<_> = values.iter().map(|(k, _)| (k.clone(), self.variables.get(k).cloned())).collect();
            self.variables.extend(values);
            let flow = match (function, builtin) {
                (Some(body), _) => self.call(&body, arguments, &own).await,
                (None, Some(builtin)) => builtin(self, &arguments, &own).await,
                (None, None) => Flow::Next,
            };
            for (name, value) in saved {
                match value {
                    Some(value) => self.variables.insert(name, value),
                    None => self.variables.remove(&name),
                };
            }
            return flow;
        }
        let mut env = self.environment();
        env.extend(values);
        self.status = self.execute(arguments, env, &own).await;
        Flow::Next
    }
    /// Runs a program found by name.
    pub(crate) async fn execute(&self, args: Vec<String>, env: Environment, io: &Io) -> i32 {
        let name = args.first().map_or("", String::as_str);
        let base = name.rsplit('/').next().unwrap_or(name);
        let runner = || tools::find_runner(base, self.dialect, self.tools.clone());
        let Some(program) = self.tools.find(base).or_else(runner) else {
            return self.not_found(name, args.clone(), env, io).await;
        };
        let process = Process {
            args,
            env,
            cwd: self.cwd.clone(),
            files: self.files.clone(),
            stdin: io.stdin.clone(),
            stdout: io.stdout.clone(),
            stderr: io.stderr.clone(),
            family: self.family.clone(),
        };
        program(self.ctx.clone(), process).await
    }
    async fn not_found(&self, name: &str, args: Vec<String>, env: Environment, io: &Io) -> i32 {
        if name.contains('/') {
            let path = crate::process::clean(&self.cwd, name);
            match self.files.read(&path) {
                Ok(content) => {
                    let mut inner = self.clone();
                    inner.name = name.into();
                    inner.positional = args.into_iter().skip(1).collect();
                    inner.variables.extend(env.iter().cloned());
                    Box::pin(inner.run(&String::from_utf8_lossy(&content), io)).await;
                    inner.finish(io).await;
                    return inner.status;
                }
                Err(FileError::IsDirectory) => {
                    io.complain(&self.complaint(&format!("{name}: Is a directory"))).await;
                    return 126;
                }
                Err(_) => {
                    let words = match self.dialect {
                        Dialect::Bash => format!("{name}: No such file or directory"),
                        Dialect::Busybox => format!("{name}: not found"),
                    };
                    io.complain(&self.complaint(&words)).await;
                    return 127;
                }
            }
        }
        let words = match self.dialect {
            Dialect::Bash => format!("{name}: command not found"),
            Dialect::Busybox => format!("{name}: not found"),
        };
        io.complain(&self.complaint(&words)).await;
        127
    }
    async fn call(&mut self, body: &Redirected, arguments: Vec<String>, io: &Io) -> Flow {
        let outer = std::mem::replace(&mut self.positional, arguments.into_iter().skip(1).collect());
        let flow = self.redirected(body, io).await;
        self.positional = outer;
        match flow {
            Flow::Return => Flow::Next,
            flow => flow,
        }
    }
}

enum Round {
    Next,
    Done,
    Out(Flow),
}

fn round(flow: Flow) -> Round {
    match flow {
        Flow::Next | Flow::Continue(1) => Round::Next,
        Flow::Break(1) => Round::Done,
        Flow::Break(n) => Round::Out(Flow::Break(n - 1)),
        Flow::Continue(n) => Round::Out(Flow::Continue(n - 1)),
        flow => Round::Out(flow),
    }
}
