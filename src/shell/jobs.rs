//! Commands in the background: what a shell knows of them, says of them, and does to them.

use crate::builtins::{argument, print};
use crate::interpreter::{Dialect, Flow, Io, Shell};
use crate::signals;
use sim::JoinHandle;
use std::cell::Cell;
use std::rc::Rc;

/// A command in the background.
pub struct Job {
    /// Its number in the shell, from 1.
    pub number: u32,
    /// `$!`
    pub id: u32,
    /// How it ended.
    pub status: Rc<Cell<Option<i32>>>,
    /// What it is awaited and killed by.
    pub handle: JoinHandle<()>,
    /// The command as it was typed.
    pub text: Rc<str>,
}

impl Job {
    /// How it is: `Running`, `Done`, `Exit 3`, `Terminated`.
    fn state(&self, dialect: Dialect) -> String {
        match self.status.get() {
            None => "Running".into(),
            Some(0) => "Done".into(),
            Some(code) => match code.checked_sub(128).and_then(described) {
                Some(words) => words.into(),
                None if dialect == Dialect::Busybox => format!("Done({code})"),
                None => format!("Exit {code}"),
            },
        }
    }
}

/// What a shell calls the end of a process by a signal.
fn described(signal: i32) -> Option<&'static str> {
    match signal {
        1 => Some("Hangup"),
        3 => Some("Quit"),
        9 => Some("Killed"),
        10 => Some("User defined signal 1"),
        12 => Some("User defined signal 2"),
        15 => Some("Terminated"),
        _ => None,
    }
}

/// A job as a line of `jobs`; the marks are of the current one and of the one before.
fn line(shell: &Shell, jobs: &[Job], job: &Job, long: bool) -> String {
    let newest = |nth: usize| jobs.iter().rev().nth(nth).is_some_and(|other| other.number == job.number);
    let mark = if newest(0) {
        '+'
    } else if newest(1) {
        '-'
    } else {
        ' '
    };
    let bash = shell.dialect == Dialect::Bash;
    let on = if bash && job.status.get().is_none() { " &" } else { "" };
    let (id, width) = match (long, bash) {
        (true, true) => (format!("{} ", job.id), 24),
        (true, false) => (format!("{} ", job.id), 22),
        (false, true) => (String::new(), 24),
        (false, false) => (String::new(), 27),
    };
    format!("[{}]{mark}  {id}{:width$}{}{on}\n", job.number, job.state(shell.dialect), job.text)
}

/// Tells of the jobs that have ended, before the next line is asked for, and forgets them.
pub(crate) async fn report(shell: &mut Shell, io: &Io) {
    let text = {
        let mut jobs = shell.jobs.borrow_mut();
        let ended = jobs.iter().filter(|job| job.status.get().is_some());
        let text: String = ended.map(|job| line(shell, &jobs, job, false)).collect();
        jobs.retain(|job| job.status.get().is_none());
        text
    };
    io.complain(&text).await;
}

/// The number of the job that `%2`, `%%`, `%+`, `%-` or `%text` means; none if there is no such job.
fn meant(shell: &Shell, word: &str) -> Option<u32> {
    let jobs = shell.jobs.borrow();
    let newest = |nth: usize| jobs.iter().rev().nth(nth);
    let spec = word.strip_prefix('%')?;
    let found = match spec {
        "" | "%" | "+" => newest(0),
        "-" => newest(1).or_else(|| newest(0)),
        text => match text.parse::<u32>() {
            Ok(number) => jobs.iter().find(|job| job.number == number),
            Err(_) => jobs.iter().rev().find(|job| job.text.starts_with(text)),
        },
    };
    found.map(|job| job.number)
}

/// Complains of a job that is not there.
async fn no_job(shell: &mut Shell, builtin: &str, word: &str, io: &Io) {
    let current = matches!(word, "" | "%" | "%%" | "%+");
    let complaint = match (shell.dialect, word) {
        (Dialect::Busybox, _) if current => format!("{builtin}: No current job"),
        (_, "") => format!("{builtin}: current: no such job"),
        _ => format!("{builtin}: {word}: no such job"),
    };
    io.complain(&shell.complaint(&complaint)).await;
    shell.set_status(1);
}

/// `jobs [-l|-p]`
pub(crate) async fn jobs(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let (long, ids) = (arguments.iter().any(|a| a == "-l"), arguments.iter().any(|a| a == "-p"));
    let text: String = {
        let mut jobs = shell.jobs.borrow_mut();
        let mut lines: Vec<String> =
            jobs.iter().map(|job| if ids { format!("{}\n", job.id) } else { line(shell, &jobs, job, long) }).collect();
        if shell.dialect == Dialect::Busybox {
            lines.reverse();
        }
        jobs.retain(|job| job.status.get().is_none());
        lines.concat()
    };
    print(shell, io, text.as_bytes()).await
}

/// Ends a job when it is dropped: with the one in front goes whoever waits for it.
struct InFront(Job);

impl Drop for InFront {
    fn drop(&mut self) {
        self.0.handle.abort();
    }
}

/// `fg [JOB]`: shows what it is and waits for it.
pub(crate) async fn fg(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let word = argument(arguments, 1);
    let Some(number) = meant(shell, &format!("%{}", word.trim_start_matches('%'))) else {
        no_job(shell, "fg", word, io).await;
        return Flow::Next;
    };
    let job = {
        let mut jobs = shell.jobs.borrow_mut();
        let at = jobs.iter().position(|job| job.number == number);
        at.map(|at| jobs.remove(at))
    };
    let Some(job) = job else { return Flow::Next };
    print(shell, io, format!("{}\n", job.text).as_bytes()).await;
    let mut front = InFront(job);
    let _ = (&mut front.0.handle).await;
    shell.set_status(front.0.status.get().unwrap_or(143));
    Flow::Next
}

/// `bg [JOB]`: nothing stops a job here, so there is none to continue.
pub(crate) async fn bg(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let word = argument(arguments, 1);
    match meant(shell, &format!("%{}", word.trim_start_matches('%'))) {
        Some(number) => {
            let complaint = format!("bg: job {number} already in background");
            io.complain(&shell.complaint(&complaint)).await;
            shell.set_status(0);
        }
        None => no_job(shell, "bg", word, io).await,
    }
    Flow::Next
}

/// `disown [JOB]`: forgets it.
pub(crate) async fn disown(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    if shell.dialect == Dialect::Busybox {
        io.complain(&shell.complaint("disown: not found")).await;
        shell.set_status(127);
        return Flow::Next;
    }
    let word = argument(arguments, 1);
    match meant(shell, if word.is_empty() { "%" } else { word }) {
        Some(number) => {
            shell.jobs.borrow_mut().retain(|job| job.number != number);
            shell.set_status(0);
        }
        None => no_job(shell, "disown", word, io).await,
    }
    Flow::Next
}

/// `wait [JOB|PID]...`
pub(crate) async fn wait(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let mut wanted = Vec::new();
    for word in arguments.iter().skip(1) {
        let number = if word.starts_with('%') { meant(shell, word) } else { None };
        let named = {
            let jobs = shell.jobs.borrow();
            let is = |job: &&Job| Some(job.number) == number || word.parse() == Ok(job.id);
            jobs.iter().find(is).map(|job| job.id)
        };
        match named {
            Some(id) => wanted.push(id),
            None if word.starts_with('%') => {
                no_job(shell, "wait", word, io).await;
                shell.set_status(127);
                return Flow::Next;
            }
            None => {
                if shell.dialect == Dialect::Bash {
                    let complaint = format!("wait: pid {word} is not a child of this shell");
                    io.complain(&shell.complaint(&complaint)).await;
                }
                shell.set_status(127);
                return Flow::Next;
            }
        }
    }
    shell.status = 0;
    loop {
        let next = {
            let mut jobs = shell.jobs.borrow_mut();
            let at = jobs.iter().position(|job| wanted.is_empty() || wanted.contains(&job.id));
            at.map(|at| jobs.remove(at))
        };
        let Some(mut job) = next else { return Flow::Next };
        // A signal with a trap interrupts the wait.
        let traps = shell.traps.clone();
        let signals = shell.signals.clone();
        let interrupted = {
            let signal = std::pin::pin!(signals.wait(|s| traps.contains_key(s)));
            match futures_util::future::select(signal, &mut job.handle).await {
                futures_util::future::Either::Left(_) => true,
                futures_util::future::Either::Right(_) => false,
            }
        };
        if interrupted {
            shell.jobs.borrow_mut().push(job);
            shell.status = 143;
            return shell.take_signals(io).await;
        }
        if !wanted.is_empty() {
            wanted.retain(|id| *id != job.id);
            shell.status = job.status.get().unwrap_or(143);
            if wanted.is_empty() {
                return Flow::Next;
            }
        }
    }
}

/// `kill [-SIGNAL] JOB|PID...`
pub(crate) async fn kill(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let mut words = arguments.iter().skip(1).peekable();
    let mut signal = Some("TERM");
    if argument(arguments, 1) == "-l" {
        return list_signals(shell, arguments.get(2..).unwrap_or_default(), io).await;
    }
    if let Some(word) = words.peek().and_then(|w| w.strip_prefix('-')).map(str::to_string) {
        words.next();
        let word = if word == "s" { words.next().cloned().unwrap_or_default() } else { word };
        match signals::named(&word) {
            Some((_, name)) => signal = Some(name),
            None if word == "0" => signal = None,
            None => {
                let complaint = match shell.dialect {
                    Dialect::Bash => format!("kill: {word}: invalid signal specification"),
                    Dialect::Busybox => format!("bad signal name '{word}'"),
                };
                io.complain(&shell.complaint(&complaint)).await;
                shell.status = 1;
                return Flow::Next;
            }
        }
    }
    shell.status = 0;
    for word in words {
        let id = match word.strip_prefix('%') {
            None => word.parse::<u32>().ok(),
            Some(_) => {
                let Some(number) = meant(shell, word) else {
                    no_job(shell, "kill", word, io).await;
                    continue;
                };
                shell.jobs.borrow().iter().find(|job| job.number == number).map(|job| job.id)
            }
        };
        if !id.is_some_and(|id| send(shell, id, signal)) {
            let complaint = match shell.dialect {
                Dialect::Bash => format!("kill: ({word}) - No such process"),
                Dialect::Busybox => format!("can't kill pid {word}: No such process"),
            };
            io.complain(&shell.complaint(&complaint)).await;
            shell.status = 1;
        }
    }
    Flow::Next
}

/// Sends a signal to the shell itself, to a job of its, or to another process; whether there is one.
fn send(shell: &Shell, id: u32, signal: Option<&'static str>) -> bool {
    if id == shell.signals.id() {
        signal.into_iter().for_each(|name| shell.signals.send(name));
        return true;
    }
    let jobs = shell.jobs.borrow();
    match jobs.iter().find(|job| job.id == id && job.status.get().is_none()) {
        None => shell.tools.signal(id, signal),
        Some(job) => {
            if let Some((number, _)) = signal.and_then(signals::named) {
                job.handle.abort();
                job.status.set(Some(128 + number));
            }
            true
        }
    }
}

/// `kill -l [SIGNAL...]`: names for numbers and numbers for names, or all.
async fn list_signals(shell: &mut Shell, words: &[String], io: &Io) -> Flow {
    let mut text = String::new();
    for word in words {
        // The status of a process that a signal ended names the signal too.
        let number = word.parse::<i32>().ok().map(|n| if n > 128 { n - 128 } else { n });
        let found = match number {
            Some(n) => signals::named(&n.to_string()).map(|(_, name)| name.to_string()),
            None => signals::named(word).map(|(number, _)| number.to_string()),
        };
        let Some(found) = found else {
            io.complain(&shell.complaint(&format!("kill: unknown signal '{word}'"))).await;
            shell.status = 1;
            return Flow::Next;
        };
        text.push_str(&found);
        text.push('\n');
    }
    if words.is_empty() {
        signals::NAMES.iter().for_each(|(number, name)| text.push_str(&format!("{number:2}) {name}\n")));
    }
    print(shell, io, text.as_bytes()).await
}
